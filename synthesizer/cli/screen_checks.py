"""The checks in plain words: each figure with its direction, its baseline and chance."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from synthesizer.cli.arguments import written_line
from synthesizer.cli.printing import Ending, grouped, say, show_rows, show_table
from synthesizer.data.errors import listed
from synthesizer.measures.catalogue import FIGURES
from synthesizer.measures.figure import Figure, conclusions
from synthesizer.measures.verdict import TITLES
from synthesizer.report.decision import worst_things
from synthesizer.report.figures import figure_table
from synthesizer.report.scale import LEGEND, drawn, in_letters, sentence_of

if TYPE_CHECKING:
    from pathlib import Path

    from synthesizer.jobs.check import CheckedFiles
    from synthesizer.measures.results import RiskResult, UtilityResult
    from synthesizer.measures.utility.coefficients import FitComparison
    from synthesizer.measures.utility.longitudinal import PanelResult
    from synthesizer.measures.verdict import CheckResults, Subject, Verdict, VerdictLine
    from synthesizer.report.record import Record

WORST_PAIRS = 3
WORST_VARIABLES = 5
MOST_WARNINGS = 3
PERIODS = "person-periods"
"""What is counted of a panel where the place of figures says so."""
_TITLES = {1: "variables", 2: "pairs", 3: "triples"}


def show_checks(results: CheckResults) -> None:
    """Print every figure."""
    say("checks:" if results.figures or results.failed else "checks: none was run")
    if results.utility is not None:
        show_utility(results.utility)
    if results.panel is not None:
        show_panel(results.panel)
    if results.risk.figures or results.utility is None:
        show_risk(results.risk)


def add_decision(
    ending: Ending,
    decided: Verdict,
    record: Record | None = None,
    *,
    subjects: Collection[Subject] = tuple(TITLES),
) -> None:
    """Add what comes before everything else: may the data be released, and what is worst?

    ``subjects`` are the lines that were measured, which worst things are about.
    """
    lines = [line for line in decided.lines if line.subject in subjects]
    for one in lines:
        words = f"{one.sentence if ending.every else _in_short(one)}\n{in_letters(drawn(one))}"
        ending.say(words.strip(), start=f"{one.title}:", word=one.word.upper(), colour=one.colour)
    ending.say(f"limits: {decided.terms}{f'. {decided.source}' if ending.every else ''}")
    ending.say(LEGEND)
    told = " ".join(line.sentence for line in lines if ending.every)
    for number, advice in enumerate(worst := worst_things(decided, record, subjects=subjects), 1):
        (_, first), *others = advice.findings
        # what the lines above say already is only named
        named = others or not advice.measured or first.sentence in told
        tests = f"{advice.tests[:1].upper()}{advice.tests[1:]}. " if named else f"{first.sentence} "
        heading = "findings, the worst first: 1." if number == 1 else f"  {number}."
        heading = f"finding{'s' * bool(others)}:" if len(worst) == 1 else heading
        ending.say(f"{heading} {tests}{advice.change}".rstrip(), rank=number - 1, kind="finding")


def _in_short(one: VerdictLine) -> str:
    """Return what decides a line, and what was not measured."""
    return f"{sentence_of(one)} {one.missing}".strip() if drawn(one).measured else one.missing


def show_file_checks(
    checked: CheckedFiles, out: Path | None, *, every: bool, later: Sequence[str] = ()
) -> None:
    """Print the checks of files: the verdict first, then what may make all of it wrong.

    ``out`` is the file that was written, ``later`` are errors that are printed below it.
    """
    results, ending = checked.record.results, Ending(every=every, later=later)
    add_decision(ending, checked.record.verdict, checked.record, subjects=checked.subjects)
    for words in results.unlike:
        ending.say(words)
    main = results.risk.main
    if main is not None and not every:
        ending.say(f"asked: {main.scenario.label}")
    for note in () if every else grouped(checked.notes):
        # a limit that is not looked at must not be taken for one that is kept
        rank = 0 if note.startswith("limits.") else _NOTES
        ending.say(f"note: {note}", rank=rank, kind="note")
    if every:
        ending.add(lambda _: _show_all(results))
    else:
        _add_lines(ending, results, checked.notes)
    if out is not None:
        ending.say(written_line(out, "for the steward; mode 0600"))
    ending.show("all figures, and what each one is: --all, or --json")


def _show_all(results: CheckResults) -> None:
    utility = results.utility
    tables = None if utility is None else utility.tables
    for order, title in _TITLES.items():
        more = ("chi_square", "df", "p", "p_vw", "roe", "specks")
        rows = () if tables is None else tables.of_order(order)
        show_rows(rows, title, "variables", "s_pmse", *more)
    for fit in () if utility is None else utility.fits:
        _show_fit(fit)
    show_checks(results)


_FAILED, _FITS, _WORST, _NOTES, _FIGURES = 9, 10, 20, 30, 40
"""Ranks on a screen, after the worst things."""


def _show_fit(fit: FitComparison, rows: int | None = None) -> None:
    """Print the first coefficients of a fit; with their intervals where all are asked for."""
    ends = ("original_low", "original_high", "synthetic_low", "synthetic_high")
    columns = ("name", "original", *ends[:2], "synthetic", *ends[2:], "overlap", "standardised")
    show_rows(
        fit.coefficients[:rows],
        f"{fit.family}: {fit.title} (rule {fit.rule})",
        *(name for name in columns if rows is None or name not in ends),
    )


def _add_lines(ending: Ending, results: CheckResults, told: Collection[str]) -> None:
    """Add the fits that were asked for, what is farthest off, and what failed.

    Notes that were ``told`` are left out.
    """
    utility, panel = results.utility, results.panel
    for fit in () if utility is None else utility.fits:
        show = partial(_show_fit, fit)
        ending.add(show, rows=len(fit.coefficients), rank=_FITS, kind="coefficient")
    if panel is not None:
        ending.add(lambda _: show_panel(panel), rank=_WORST)
    lines = [] if utility is None else [*utility_lines(utility)]
    for line in (*risk_lines(results.risk), *lines):
        rank, noun = _WORST, ""
        if line.startswith("  note: "):
            rank, noun = _NOTES, "note"
        elif ": could not be computed: " in line:
            rank, noun = _FAILED, "failure"
        if line.removeprefix("  note: ") not in told:
            ending.say(line, rank=rank, kind=noun)
    of_use = () if utility is None else utility.figures
    every = [(f"risk: {place}", figure) for place, figure in results.risk.figures]
    every += [(f"utility: {place}", figure) for place, figure in of_use]
    first = [(p, f) for p, f in every if (kind := FIGURES.get(f.key)) and kind.on_screen]
    for place, found in _by_place(first).items():
        ending.add(partial(_show_place, place, found, results.risk.units), rank=_FIGURES)


def show_panel(panel: PanelResult) -> None:
    """Print what the careers and histories of a panel look like."""
    if panel.sequences is not None:
        title = "careers and histories (lower is better; a ratio of about 1 is noise)"
        show_rows(panel.sequences.rows, title, "name", "mean", "floor", "ratio")
    show_rows(
        panel.worst[:WORST_VARIABLES],
        "histories furthest off (about 0 points is good; associations should be alike)",
        *("name", "changing", "mean_changing", "difference", "lag", "mean_lag"),
    )
    sizes = [dataset.rows_per_person for dataset in panel.synthetic]
    say(
        f"  {panel.original.persons:,} persons with {panel.original.rows_per_person:.2f} periods "
        f"each; synthetic {panel.synthetic[0].persons:,} with {sum(sizes) / len(sizes):.2f}"
    )
    for name, why in panel.failed.items():
        say(f"  {name}: could not be computed: {why}")


def show_utility(utility: UtilityResult) -> None:
    """Print every figure of utility, and how to read it."""
    _show_figures("utility", utility.figures, utility.units)
    for line in utility_lines(utility):
        say(line)


def show_risk(risk: RiskResult) -> None:
    """Print every figure of risk by what it is about, and how to read it."""
    _show_figures("risk", risk.figures, risk.units)
    for line in risk_lines(risk):
        say(line)
    say(
        "baseline: who has no release and guesses, of CAP by the distribution of the target; "
        "chance: the same release if it had nothing to do with what is sought; original: the "
        "data released as they are"
    )


def _by_place(figures: Sequence[tuple[str, Figure]]) -> dict[str, list[Figure]]:
    places: dict[str, list[Figure]] = {}
    for place, figure in figures:
        places.setdefault(place, []).append(figure)
    return places


def _show_figures(axis: str, figures: Sequence[tuple[str, Figure]], units: str) -> None:
    """Print figures by what they are about, and what follows from them; what each is, once."""
    for place, found in _by_place(figures).items():
        _show_place(f"{axis}: {place}", found, PERIODS if PERIODS in place else units)
        for words in conclusions(found):
            say(f"  {words}")
    for name, meaning in {figure.name: figure.meaning for _, figure in figures}.items():
        say(f"  {name}: {meaning}")


def _show_place(title: str, figures: Sequence[Figure], units: str, _: int = 1) -> None:
    table = figure_table([("", figure) for figure in figures], units, title)
    columns = slice(0, len(table.columns) - 1)  # meanings are printed once, below
    rows = [row[columns] for row in table.rows]
    show_table(
        replace(table, columns=table.columns[columns], forms=table.forms[columns], rows=rows)
    )


def risk_lines(risk: RiskResult) -> Iterator[str]:
    """Yield what must be known to read the figures: gaps, warnings, what failed."""
    yield from (f"  note: {note}" for note in (*risk.gaps, *risk.notes))
    for warning in risk.warnings[:MOST_WARNINGS]:
        yield f"  note: {warning}"
    if len(risk.warnings) > MOST_WARNINGS:
        more = len(risk.warnings) - MOST_WARNINGS
        yield f"  note: {more} more of these are in checks.json (or --json)"
    for name, why in risk.failed.items():
        yield f"  {name}: could not be computed: {why}"


def utility_lines(utility: UtilityResult) -> Iterator[str]:
    """Yield what must be known to read the figures: worst pairs, what is far off, what failed."""
    if utility.tables is not None:
        for order, words in ((2, "pairs"), (1, "variables")):
            pairs = ", ".join(
                f"{' and '.join(row.variables)} {_ratio(row.s_pmse)}"
                for row in utility.tables.worst(order, WORST_PAIRS)
            )
            if pairs:
                yield f"  worst {words}: {pairs}"
    for fit in utility.fits:
        yield from (f"  note: {fit.title}: {note}" for note in fit.notes)
    yield from (f"  note: {note}" for note in utility.notes)
    names: dict[str, list[str]] = {}
    for name, why in utility.failed.items():
        names.setdefault(why, []).append(name)
    yield from (
        f"  {listed(failed, MOST_NAMES)}: could not be computed: {why}"
        for why, failed in names.items()
    )


MOST_NAMES = 3
"""Measures that failed for one reason and are named, such as fits of many groups."""


def _ratio(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"
