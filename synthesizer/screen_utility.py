"""What the command ``utility`` prints: figures, variables, worst pairs, models side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from synthesizer.screen import notes_told, say, show_panel, show_utility, tabulate
from synthesizer.screen_checks import HEADLINES

if TYPE_CHECKING:
    import pandas as pd

    from synthesizer.evaluate_files import FileUtility
    from synthesizer.figures import Figure
    from synthesizer.utility.fit_results import FitComparison
    from synthesizer.utility.tables import TableUtility

__all__ = ["show_file_utility"]

FIGURES = HEADLINES | {"ROE (one-way)", "pMSE", "standardised pMSE", "Jensen-Shannon distance"}
"""Figures that are shown without ``--all``."""
SHOWN = 10
"""Tables of an order that are shown without ``--all``, the worst ones."""
_TITLES = {1: "variables", 2: "pairs", 3: "triples"}


def show_file_utility(found: FileUtility, *, as_json: bool, every: bool) -> None:
    """Print the utility of files: notes first, since they may say that all is in vain."""
    if as_json:
        print(found.to_json(), end="")
        return
    notes_told(found.notes)
    utility = found.utility
    if utility.tables is not None:
        _show_tables(utility.tables, every=every)
    for fit in utility.fits:
        _show_fit(fit)
    show_utility(utility, choose=tuple if every else _chosen, explained=True)
    if found.panel is not None:
        show_panel(found.panel)
    if not every:
        say("all figures, variables and pairs: --all, or --json")


def _chosen(figures: Sequence[Figure]) -> list[Figure]:
    return [figure for figure in figures if figure.name in FIGURES]


def _show_tables(tables: TableUtility, *, every: bool) -> None:
    """Print the tables of every order, worst first; several datasets by means, p by medians."""
    for order, title in _TITLES.items():
        every_table = tables.mean.assign(p=tables.medians("p_chi_square"), p_vw=tables.medians("p"))
        mean = every_table[every_table["ways"] == order]
        if not len(mean):
            continue
        shown = mean if every else mean.head(SHOWN)
        rest = "" if len(shown) == len(mean) else f" (the worst {len(shown)} of {len(mean)})"
        columns = (title, "S_pMSE", "chi-square", "df", "p", "p of VW", "ROE", "SPECKS")
        tabulate(f"{title}{rest}", columns, list(_rows(shown)))


def _rows(mean: pd.DataFrame) -> Iterator[tuple[object, ...]]:
    for row in mean.to_dict(orient="records"):
        yield (
            " and ".join(row["names"]),
            _known(row["S_pMSE"]),
            row["chi_square"],
            f"{row['df']:g}",
            _known(row["p"]),
            _known(row["p_vw"]),
            row["ROE"],
            row["SPECKS"],
        )


def _known(value: float) -> float | None:
    """Return None where there is no number: a constant variable has no degree of freedom."""
    return None if value != value else float(value)


def _show_fit(fit: FitComparison) -> None:
    columns = (
        "coefficient",
        "original",
        "interval",
        "synthetic",
        "interval ",
        "overlap",
        "diff/se",
    )
    rows: Sequence[tuple[object, ...]] = [
        (
            own.name,
            own.original,
            f"{own.original_low:.3f} to {own.original_high:.3f}",
            own.synthetic,
            f"{own.synthetic_low:.3f} to {own.synthetic_high:.3f}",
            own.overlap,
            own.standardised,
        )
        for own in fit.coefficients
    ]
    tabulate(f"{fit.family}: {fit.formula} (rule {fit.rule})", columns, rows)
