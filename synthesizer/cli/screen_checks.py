"""The checks in plain words: each figure with its direction, its baseline and chance."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from synthesizer.cli.printing import notes_told, say, show_rows, tabulate
from synthesizer.measures.catalogue import FIGURES
from synthesizer.measures.figure import Figure, conclusions, in_units, is_above_chance, lies_above
from synthesizer.measures.verdict import TITLES
from synthesizer.report.page import Added

if TYPE_CHECKING:
    from synthesizer.jobs.check_files import FileChecks
    from synthesizer.measures.results import CheckResults, RiskResult
    from synthesizer.measures.utility.longitudinal import PanelResult
    from synthesizer.measures.utility.suite import UtilityResult
    from synthesizer.measures.utility.tables import TableUtility
    from synthesizer.measures.verdict import Verdict

WORST_PAIRS = 3
WORST_VARIABLES = 5
MOST_WARNINGS = 3
FAR_OFF = 3.0
"""A one-way S_pMSE above it says that a distribution is visibly wrong."""
PERIODS = "person-periods"
"""What is counted of a panel where the place of figures says so."""
SHOWN = 10
"""Tables of an order that are shown without ``--all``, the worst ones."""
_TITLES = {1: "variables", 2: "pairs", 3: "triples"}

Choice = Callable[[Iterable[Figure]], Sequence[Figure]]
"""Which figures are shown."""


def show_checks(results: CheckResults, start: str | None) -> None:
    """Print the figures that decide about a release; ``start`` as in `show_utility`."""
    say("checks:" if results.figures or results.failed else "checks: none was run")
    if results.utility is not None:
        show_utility(results.utility, headlines, start=start)
    if results.panel is not None:
        show_panel(results.panel)
    show_risk(results.risk, headlines)


def show_verdict(decided: Verdict, subjects: Collection[str] = TITLES) -> None:
    """Print what comes before everything else: may the data be released?"""
    for line in decided.lines:
        if line.subject in subjects:
            say(line.sentence, start=f"{line.title}:", word=line.said.upper(), colour=line.colour)


def show_file_checks(checks: FileChecks, *, as_json: bool, every: bool) -> None:
    """Print the checks of files: alarms and notes first, which may say that all is in vain."""
    if as_json:
        print(checks.text, end="")
        return
    results = checks.results
    show_verdict(checks.verdict, TITLES if results.utility is None else ("use",))
    for words in results.unlike:
        say(words)
    notes_told(checks.notes)
    if results.utility is None:
        show_risk(results.risk, tuple if every else headlines, explained=True)
    else:
        _show_files_utility(results.utility, every=every)
        if results.panel is not None:
            show_panel(results.panel)
    if not every:
        what = "figures" if results.utility is None else "figures, variables and pairs"
        say(f"all {what}: --all, or --json")


def _show_files_utility(utility: UtilityResult, *, every: bool) -> None:
    """Print tables of every order, worst first, fits and figures."""
    for order, title in _TITLES.items() if utility.tables is not None else ():
        rows = utility.tables.of_order(order) if utility.tables is not None else []
        shown = rows if every else rows[:SHOWN]
        rest = "" if len(shown) == len(rows) else f" (the worst {len(shown)} of {len(rows)})"
        show_rows(
            shown,
            f"{title}{rest}",
            *("variables", "s_pmse", "chi_square", "df", "p", "p_vw", "roe", "specks"),
        )
    for fit in utility.fits:
        show_rows(
            fit.coefficients,
            f"{fit.family}: {fit.title} (rule {fit.rule})",
            *("name", "original", "original_low", "original_high"),
            *("synthetic", "synthetic_low", "synthetic_high", "overlap", "standardised"),
        )
    show_utility(utility, tuple if every else file_headlines, explained=True)


def show_panel(panel: PanelResult) -> None:
    """Print what the careers and histories of a panel look like."""
    reads = Added("reads", "text", lambda _: "lower is better; a ratio of about 1 is noise")
    if panel.sequences is not None:
        columns = ("name", "mean", "floor", "ratio", reads)
        show_rows(panel.sequences.rows, "careers and histories", *columns)
    show_rows(
        panel.worst[:WORST_VARIABLES],
        "histories furthest off (share of persons who ever change; lag association)",
        *("name", "changing", "mean_changing"),
        Added("points", "text", lambda row: f"{row.difference:+.1f}"),
        Added("lag", "share", lambda row: row.lag),
        Added("lag synthetic", "share", lambda row: row.mean_lag),
        Added("reads", "text", lambda _: "about 0 points is good; lags alike"),
    )
    original = panel.original
    sizes = [dataset.rows_per_person for dataset in panel.synthetic]
    say(
        f"  {original.persons:,} persons with {original.rows_per_person:.2f} periods each; "
        f"synthetic {panel.synthetic[0].persons:,} with {sum(sizes) / len(sizes):.2f}"
    )
    for name, why in panel.failed.items():
        say(f"  {name}: could not be computed: {why}")


def show_utility(
    utility: UtilityResult,
    choose: Choice,
    *,
    explained: bool = False,
    start: str | None = None,
) -> None:
    """Print utility figures, and what is needed to read them.

    ``start`` is what datasets were evolved from, None where they were not.
    """
    chosen = [
        (place, figure)
        for place, figures in _by_place(utility.figures).items()
        for figure in choose(figures)
    ]
    if chosen:
        units = "persons or rows" if utility.units == "persons" and utility.fits else utility.units
        figures = [figure for _, figure in chosen]
        table = figure_table(figures, units, chance="right synthesis")
        table = {"figure": table.pop("figure"), "of": [place for place, _ in chosen], **table}
        tabulate("utility", [*table], [*zip(*table.values(), strict=True)])
    for line in utility_lines(utility, start=start):
        say(line)
    if explained:
        say_legend(_named_by_place(chosen))


def show_risk(risk: RiskResult, choose: Choice, *, explained: bool = False) -> None:
    """Print risk figures by what they are about, and what is needed to read them."""
    shown: list[Figure] = []
    for place, figures in _by_place(risk.figures).items():
        if chosen := choose(figures):
            shown += chosen
            table = figure_table(chosen, PERIODS if PERIODS in place else risk.units)
            tabulate(f"risk: {place}", [*table], [*zip(*table.values(), strict=True)])
            for words in conclusions(chosen):
                say(f"  {words}")
    for line in risk_lines(risk):
        say(line)
    if explained:
        say(
            "baseline: who has no release and guesses, of CAP by the distribution of the target; "
            "chance: the same release if it had nothing to do with what is sought; original: the "
            "data released as they are"
        )
        say_legend(shown)


def _named_by_place(chosen: Sequence[tuple[str, Figure]]) -> list[Figure]:
    """Add the place to names that mean another thing elsewhere: the pMSE of another model."""
    meanings: dict[str, set[str]] = {}
    for _, figure in chosen:
        meanings.setdefault(figure.name, set()).add(figure.meaning)
    return [
        figure.model_copy(update={"name": f"{figure.name}, {place}"})
        if len(meanings[figure.name]) > 1
        else figure
        for place, figure in chosen
    ]


def _by_place(figures: Sequence[tuple[str, Figure]]) -> dict[str, list[Figure]]:
    places: dict[str, list[Figure]] = {}
    for place, figure in figures:
        places.setdefault(place, []).append(figure)
    return places


def headlines(figures: Iterable[Figure]) -> list[Figure]:
    """Return the figures that a summary shows."""
    return [figure for figure in figures if _shown_by(figure) == "run"]


def file_headlines(figures: Iterable[Figure]) -> list[Figure]:
    """Return the figures that a command shows which looks at files."""
    return [figure for figure in figures if _shown_by(figure)]


def _shown_by(figure: Figure) -> str:
    kind = FIGURES.get(figure.key)
    return "" if kind is None else kind.screen


def figure_table(
    figures: Sequence[Figure], units: str, chance: str = "chance"
) -> dict[str, list[str]]:
    """Return the columns of a table of figures, without empty ones; ``units`` are counted."""
    columns: dict[str, list[str]] = {
        "figure": [f.name for f in figures],
        "value": ["none" if f.value is None else _number(f.value, f) for f in figures],
        "95 % interval": [_interval(f) for f in figures],
        "baseline": ["" if f.baseline is None else _number(f.baseline, f) for f in figures],
        chance: ["" if f.chance is None else _number(f.chance, f) for f in figures],
        "original": ["" if f.original is None else _number(f.original, f) for f in figures],
        units: [f"{f.n:,}" for f in figures],
        "reads": [f.direction for f in figures],
    }
    return {name: cells for name, cells in columns.items() if any(cells)}


def say_legend(figures: Sequence[Figure]) -> None:
    """Say what each figure is, once."""
    for name, meaning in {f.name: f.meaning for f in figures}.items():
        say(f"  {name}: {meaning}")


def _number(value: float, figure: Figure) -> str:
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
    yield from (f"  note: {note}" for note in (*risk.gaps, *risk.notes))
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
    if careers is not None and is_above_chance(careers.value, careers.chance, careers.n):
        yield (
            "  needs attention: synthetic careers repeat careers of single persons more often than "
            f"fresh persons would ({careers.value:.3f} against {careers.chance:.3f}); a smaller "
            "theta of the model of careers makes it less"
        )
    beyond = [f for _, f in risk.other_figures if f.key in ("careers_beyond", "moves_beyond")]
    for figure in beyond:
        if lies_above(figure.low, 0.0):
            yield (
                "  needs attention: synthetic careers tell more of persons who were fitted than of "
                f"others ({figure.name}: {figure.value:.3f}, interval {figure.low:.3f} to "
                f"{figure.high:.3f}); a smaller theta of the model of careers makes it less"
            )
    nearest = None if risk.nearest is None else risk.nearest.figures[0]
    if nearest is not None and lies_above(nearest.low, nearest.chance):
        warning = (
            "synthetic {records} are nearer to those that the synthesis was fitted on than to "
            f"unseen ones (share {nearest.value:.3f}, interval {nearest.low:.3f} to "
            f"{nearest.high:.3f}; 0.5 is no)"
        )
        yield f"  needs attention: {in_units(warning, risk.units)}"


def utility_lines(utility: UtilityResult, *, start: str | None = None) -> Iterator[str]:
    """Yield what must be known to read the figures: worst pairs, what is far off, what failed.

    ``start`` is what datasets were evolved from, None where they were not.
    """
    if utility.tables is not None:
        for order, words in ((2, "pairs"), (1, "variables")):
            pairs = ", ".join(
                f"{' and '.join(row.variables)} {_ratio(row.s_pmse)}"
                for row in utility.tables.worst(order, WORST_PAIRS)
            )
            if pairs:
                yield f"  worst {words}: {pairs}"
        if _is_far_off(utility.tables):
            yield f"  far off: look at the worst pairs; {utility_advice(start)}, at some risk"
    if utility.figures and (note := utility_note(start)):
        yield note
    for fit in utility.fits:
        yield from (f"  note: {fit.title}: {note}" for note in fit.notes)
    yield from (f"  note: {note}" for note in utility.notes)
    by_reason: dict[str, list[str]] = {}
    for name, why in utility.failed.items():
        by_reason.setdefault(why, []).append(name)
    for why, names in by_reason.items():
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        yield f"  {', '.join(names[:MOST_NAMES])}{more}: could not be computed: {why}"


MOST_NAMES = 3
"""Measures that failed for one reason and are named, such as fits of many groups."""


def utility_advice(start: str | None) -> str:
    """Return what may bring data nearer to the original; ``start`` is None without evolution."""
    if start in ("mutants", "files"):
        return "more generations, a higher risk_at_most or weight, or a lower aimed may help"
    return "a smaller min_leaf, another order of the variables or forbid: may help"


def utility_note(start: str | None) -> str | None:
    """Return how to read expectations of evolved datasets; None without evolution."""
    if start is None:
        return None
    return (
        "  note: 1, and what a right synthesis gives, stand for fresh draws from a model; datasets "
        "that were selected for their closeness to the original may well lie below"
    )


def _ratio(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"


def _is_far_off(tables: TableUtility) -> bool:
    """Whether a distribution is visibly wrong, or a pair by much."""
    largest = {order.ways: order.s_pmse_max or 0.0 for order in tables.orders}
    return max(largest.get(1, 0.0), largest.get(2, 0.0) / 5) > FAR_OFF
