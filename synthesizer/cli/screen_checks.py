"""The checks in plain words: each figure with its direction and its baseline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from synthesizer.cli.screen import (
    notes_told,
    say,
    show_panel,
    show_utility,
    tabulate,
    utility_advice,
    utility_note,
)
from synthesizer.measures.catalogue import figure_kind
from synthesizer.measures.figure import Figure, in_units, is_above_chance, lies_above
from synthesizer.measures.results import RiskResult
from synthesizer.measures.utility.longitudinal import PanelResult
from synthesizer.measures.utility.suite import UtilityResult
from synthesizer.measures.utility.tables import TableRow, TableUtility

if TYPE_CHECKING:
    from synthesizer.jobs.check_files import FileChecks
    from synthesizer.measures.utility.coefficients import FitComparison


WORST_PAIRS = 3
WORST_VARIABLES = 5
MOST_WARNINGS = 3
FAR_OFF = 3.0
"""A one-way S_pMSE above it says that a distribution is visibly wrong."""


def headlines(figures: Iterable[Figure]) -> list[Figure]:
    """Return the figures that a summary shows."""
    return [figure for figure in figures if _shown_by(figure) == "run"]


def file_headlines(figures: Iterable[Figure]) -> list[Figure]:
    """Return the figures that a command shows which looks at files."""
    return [figure for figure in figures if _shown_by(figure)]


def _shown_by(figure: Figure) -> str:
    kind = figure_kind(figure.key)
    return "" if kind is None else kind.screen


def figure_table(
    figures: Sequence[Figure], units: str = "records"
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return columns and rows of a table of figures; empty columns are left out.

    ``units`` is what is counted.
    """
    columns: dict[str, list[str]] = {
        "figure": [f.name for f in figures],
        "value": [_number(f.value, f) for f in figures],
        "95 % interval": [_interval(f) for f in figures],
        "baseline": [_number(f.baseline, f) if f.baseline is not None else "" for f in figures],
        "original": [_number(f.original, f) if f.original is not None else "" for f in figures],
        units: [f"{f.n:,}" for f in figures],
        "reads": [f.direction for f in figures],
    }
    used = {name: cells for name, cells in columns.items() if any(cells)}
    return tuple(used), list(zip(*used.values(), strict=True))


def legend(figures: Sequence[Figure]) -> list[str]:
    """Say what each figure is, once."""
    told = {f.name: f.meaning for f in figures}
    return [f"  {name}: {what}" for name, what in told.items()]


def _number(value: float | None, figure: Figure) -> str:
    if value is None:
        return "none"
    return f"{value:,.0f}" if figure.direction == "a count" else f"{value:.4f}"


def _interval(figure: Figure) -> str:
    if figure.low is None or figure.high is None:
        return ""
    return f"{figure.low:.4f} to {figure.high:.4f}"


def risk_lines(risk: RiskResult) -> Iterator[str]:
    """Yield what must be known to read the figures: verdict, warnings, what failed."""
    for part in risk.scenarios:
        first = None if part.differential is None else part.differential.figures[0]
        if first is not None and first.low is not None and first.high is not None:
            where = f"{part.scenario.label}: the interval {first.low:.3f} to {first.high:.3f}"
            if first.low <= 0 <= first.high:
                yield (
                    f"  differentially confidential by this test for {where} covers 0; a "
                    f"difference of up to {first.high:.3f} is not excluded"
                )
            else:
                yield f"  not differentially confidential for {where} does not cover 0"
        worst = None if part.differential is None else part.differential.worst_group
        if worst is not None:
            counted = risk.units
            yield (
                f"  worst group of {worst.by}: {worst.group}, fitted {worst.mean_a:.3f}, unseen "
                f"{worst.mean_b:.3f} ({worst.n_a:,} and {worst.n_b:,} {counted})"
            )
    yield from _attention(risk)
    yield from (f"  note: {note}" for note in risk.notes)
    for warning in risk.warnings[:MOST_WARNINGS]:
        yield f"  note: {warning}"
    if len(risk.warnings) > MOST_WARNINGS:
        more = len(risk.warnings) - MOST_WARNINGS
        yield f"  note: {more} more of these are in checks.json (or --json)"
    for name, why in risk.failed.items():
        yield f"  {name}: could not be computed: {why}"


def _attention(risk: RiskResult) -> Iterator[str]:
    """Yield what the report marks too: differential confidentiality alone clears no release."""
    careers = None if risk.careers is None else risk.careers.figures[0]
    if careers is not None and is_above_chance(careers.value, careers.baseline, careers.n):
        yield (
            "  needs attention: synthetic careers repeat careers of single persons more often than "
            f"fresh persons would ({careers.value:.3f} against {careers.baseline:.3f}); a smaller "
            "theta of the model of careers makes it less"
        )
    nearest = None if risk.nearest is None else risk.nearest.figures[0]
    if nearest is not None and lies_above(nearest.low, nearest.baseline):
        told = (
            "synthetic {records} are nearer to those that the synthesis was fitted on than to "
            f"unseen ones (share {nearest.value:.3f}, interval {nearest.low:.3f} to "
            f"{nearest.high:.3f}; 0.5 is no)"
        )
        yield f"  needs attention: {in_units(told, risk.units)}"


def utility_lines(found: UtilityResult, *, start: str | None = None) -> Iterator[str]:
    """Yield what must be known to read the figures: worst pairs, what is far off, what failed.

    ``start`` is what datasets were evolved from, None where they were not.
    """
    if found.tables is not None:
        for order, words in ((2, "pairs"), (1, "variables")):
            told = ", ".join(
                f"{' and '.join(row.variables)} {_ratio(row.s_pmse)}"
                for row in found.tables.worst(order, WORST_PAIRS)
            )
            if told:
                yield f"  worst {words}: {told}"
        if _is_far_off(found.tables):
            yield f"  far off: look at the worst pairs; {utility_advice(start)}, at some risk"
    if found.figures and (note := utility_note(start)):
        yield note
    for fit in found.fits:
        yield from (f"  note: {fit.formula}: {note}" for note in fit.notes)
    yield from (f"  note: {note}" for note in found.notes)
    for name, why in found.failed.items():
        yield f"  {name}: could not be computed: {why}"


def career_table(panel: PanelResult) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """Return columns and rows of the distances of careers; no rows where there are none."""
    columns = ("careers", "distance", "noise floor", "ratio", "reads")
    found = panel.sequences
    if found is None:
        return columns, []
    return columns, [
        (
            name.replace("_", " "),
            _shown(getattr(found.mean, name)),
            _shown(getattr(found.floor, name)),
            _ratio(found.ratio(name)),
            "lower is better; a ratio of about 1 is noise",
        )
        for name in found.measures
    ]


def history_table(panel: PanelResult) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """Return columns and rows of the variables whose share ever changing is furthest off."""
    columns = ("variable", "ever changing", "synthetic", "points", "lag", "lag synthetic", "reads")
    return columns, [
        (
            own.name,
            _shown(own.changing),
            _shown(own.mean_changing),
            f"{own.difference:+.1f}",
            _shown(own.lag),
            _shown(own.mean_lag),
            "about 0 points is good; lags alike",
        )
        for own in panel.worst[:WORST_VARIABLES]
    ]


def panel_lines(panel: PanelResult) -> Iterator[str]:
    """Yield sizes, and what failed."""
    own = panel.original
    sizes = [part.rows_per_person for part in panel.synthetic]
    yield (
        f"  {own.persons:,} persons with {own.rows_per_person:.2f} periods each; synthetic "
        f"{panel.synthetic[0].persons:,} with {sum(sizes) / len(sizes):.2f}"
    )
    for name, why in panel.failed.items():
        yield f"  {name}: could not be computed: {why}"


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"


def _ratio(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"


def _is_far_off(tables: TableUtility) -> bool:
    """Whether a distribution is visibly wrong, or a pair by much."""
    largest = {order.ways: order.s_pmse_max or 0.0 for order in tables.orders}
    return max(largest.get(1, 0.0), largest.get(2, 0.0) / 5) > FAR_OFF


SHOWN = 10
"""Tables of an order that are shown without ``--all``, the worst ones."""
_TITLES = {1: "variables", 2: "pairs", 3: "triples"}


def show_file_utility(found: FileChecks, *, as_json: bool, every: bool) -> None:
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
    show_utility(utility, choose=tuple if every else file_headlines, explained=True)
    if found.results.panel is not None:
        show_panel(found.results.panel)
    if not every:
        say("all figures, variables and pairs: --all, or --json")


def _show_tables(tables: TableUtility, *, every: bool) -> None:
    """Print the tables of every order, worst first; several datasets by means, p by medians."""
    for order, title in _TITLES.items():
        rows = tables.of_order(order)
        if not rows:
            continue
        shown = rows if every else rows[:SHOWN]
        rest = "" if len(shown) == len(rows) else f" (the worst {len(shown)} of {len(rows)})"
        columns = (title, "S_pMSE", "chi-square", "df", "p", "p of VW", "ROE", "SPECKS")
        tabulate(f"{title}{rest}", columns, list(map(_cells, shown)))


def _cells(row: TableRow) -> tuple[object, ...]:
    """Return what is shown of a table; one with a single cell has no S_pMSE and no p."""
    names, df = " and ".join(row.variables), f"{row.df:g}"
    return names, row.s_pmse, row.chi_square, df, row.p, row.p_vw, row.roe, row.specks


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
