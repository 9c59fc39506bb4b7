"""Screens of checks: the verdict, and all figures with their meanings."""

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

MAX_PAIRS = 3
MAX_HISTORIES = 5
MAX_WARNINGS = 3
PERIODS = "person-periods"
"""The unit of figures about single periods of a panel."""
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
    printed = " ".join(line.sentence for line in lines if ending.every)
    for number, advice in enumerate(worst := worst_things(decided, record, subjects=subjects), 1):
        (_, first), *others = advice.findings
        # sentences printed above are not repeated
        named = others or not advice.measured or first.sentence in printed
        tests = f"{advice.tests[:1].upper()}{advice.tests[1:]}. " if named else f"{first.sentence} "
        heading = "findings, the worst first: 1." if number == 1 else f"  {number}."
        heading = f"finding{'s' * bool(others)}:" if len(worst) == 1 else heading
        ending.say(f"{heading} {tests}{advice.change}".rstrip(), rank=number - 1, kind="finding")


def _in_short(one: VerdictLine) -> str:
    """Return the decisive figure of a line, and the tests that are missing."""
    return f"{sentence_of(one)} {one.missing}".strip() if drawn(one).measured else one.missing


def show_file_checks(
    checked: CheckedFiles, out: Path | None, *, every: bool, later: Sequence[str] = ()
) -> None:
    """Print the checks of files: the verdict first, then notes and figures.

    ``out`` is the written file; ``later`` are errors that the command prints below.
    """
    results, ending = checked.record.results, Ending(every=every, later=later)
    add_decision(ending, checked.record.verdict, checked.record, subjects=checked.subjects)
    for words in results.unlike:
        ending.say(words)
    main = results.risk.main
    if main is not None and not every:
        ending.say(f"intruder: {main.scenario.label}")
    for note in () if every else grouped(checked.notes):
        # always printed: a limit without a figure has not been met
        rank = 0 if note.startswith("limits.") else _RANK_NOTES
        ending.say(f"note: {note}", rank=rank, kind="note")
    if every:
        ending.add(lambda _: _show_all(results))
    else:
        _add_lines(ending, results, checked.notes)
    if out is not None:
        ending.say(written_line(out, "for the steward; mode 0600"))
    ending.show("all figures with their meanings: --all, or --json")


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


_RANK_FAILED, _RANK_FITS, _RANK_WORST, _RANK_NOTES, _RANK_FIGURES = 9, 10, 20, 30, 40
"""Ranks on a screen, after the worst findings."""


def _show_fit(fit: FitComparison, rows: int | None = None) -> None:
    """Print the first coefficients of a fit, or all with their intervals."""
    ends = ("original_low", "original_high", "synthetic_low", "synthetic_high")
    columns = ("name", "original", *ends[:2], "synthetic", *ends[2:], "overlap", "standardised")
    show_rows(
        fit.coefficients[:rows],
        f"{fit.family}: {fit.title} (rule {fit.rule})",
        *(name for name in columns if rows is None or name not in ends),
    )


def _add_lines(ending: Ending, results: CheckResults, printed: Collection[str]) -> None:
    """Add requested fits, the worst results and failures, without notes in ``printed``."""
    utility, panel = results.utility, results.panel
    for fit in () if utility is None else utility.fits:
        show = partial(_show_fit, fit)
        ending.add(show, rows=len(fit.coefficients), rank=_RANK_FITS, kind="coefficient")
    if panel is not None:
        ending.add(lambda _: show_panel(panel), rank=_RANK_WORST)
    lines = [] if utility is None else [*utility_lines(utility)]
    for line in (*risk_lines(results.risk), *lines):
        rank, noun = _RANK_WORST, ""
        if line.startswith("  note: "):
            rank, noun = _RANK_NOTES, "note"
        elif ": could not be computed: " in line:
            rank, noun = _RANK_FAILED, "failure"
        if line.removeprefix("  note: ") not in printed:
            ending.say(line, rank=rank, kind=noun)
    of_use = () if utility is None else utility.figures
    every = [(f"risk: {subject}", figure) for subject, figure in results.risk.figures]
    every += [(f"utility: {subject}", figure) for subject, figure in of_use]
    first = [(s, f) for s, f in every if (kind := FIGURES.get(f.key)) and kind.on_screen]
    for subject, figures in _by_subject(first).items():
        show = partial(_show_subject, subject, figures, results.risk.units)
        ending.add(show, rank=_RANK_FIGURES)


def show_panel(panel: PanelResult) -> None:
    """Print the figures of careers and histories of a panel."""
    if panel.sequences is not None:
        title = "careers and histories (lower is better; a ratio of about 1 is noise)"
        show_rows(panel.sequences.rows, title, "name", "mean", "floor", "ratio")
    show_rows(
        panel.worst[:MAX_HISTORIES],
        "histories with the largest differences (best: 0 points, and equal associations)",
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
    """Print every figure of utility with its meaning."""
    _show_figures("utility", utility.figures, utility.units)
    for line in utility_lines(utility):
        say(line)


def show_risk(risk: RiskResult) -> None:
    """Print every figure of risk by subject, with its meaning."""
    _show_figures("risk", risk.figures, risk.units)
    for line in risk_lines(risk):
        say(line)
    say(
        "baseline: guesses without a release (for CAP: by the distribution of the target); chance: "
        "a release without relation to the target; original: the confidential data, released"
    )


def _by_subject(figures: Sequence[tuple[str, Figure]]) -> dict[str, list[Figure]]:
    by_subject: dict[str, list[Figure]] = {}
    for subject, figure in figures:
        by_subject.setdefault(subject, []).append(figure)
    return by_subject


def _show_figures(axis: str, figures: Sequence[tuple[str, Figure]], units: str) -> None:
    """Print figures and conclusions by subject, then the meaning of each figure once."""
    for subject, members in _by_subject(figures).items():
        _show_subject(f"{axis}: {subject}", members, PERIODS if PERIODS in subject else units)
        for words in conclusions(members):
            say(f"  {words}")
    for name, meaning in {figure.name: figure.meaning for _, figure in figures}.items():
        say(f"  {name}: {meaning}")


def _show_subject(title: str, figures: Sequence[Figure], units: str, _: int = 1) -> None:
    table = figure_table([("", figure) for figure in figures], units, title)
    columns = slice(0, len(table.columns) - 1)  # meanings are printed once, below
    rows = [row[columns] for row in table.rows]
    show_table(
        replace(table, columns=table.columns[columns], forms=table.forms[columns], rows=rows)
    )


def risk_lines(risk: RiskResult) -> Iterator[str]:
    """Yield notes, warnings and failures of the risk checks."""
    yield from (f"  note: {note}" for note in (*risk.gaps, *risk.notes))
    for warning in risk.warnings[:MAX_WARNINGS]:
        yield f"  note: {warning}"
    if len(risk.warnings) > MAX_WARNINGS:
        more = len(risk.warnings) - MAX_WARNINGS
        yield f"  note: {more} more warnings are in checks.json (or --json)"
    for name, why in risk.failed.items():
        yield f"  {name}: could not be computed: {why}"


def utility_lines(utility: UtilityResult) -> Iterator[str]:
    """Yield worst pairs and variables, notes and failures of the utility checks."""
    if utility.tables is not None:
        for order, words in ((2, "pairs"), (1, "variables")):
            pairs = ", ".join(
                f"{' and '.join(row.variables)} {_ratio(row.s_pmse)}"
                for row in utility.tables.worst(order, MAX_PAIRS)
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
        f"  {listed(failed, MAX_NAMES)}: could not be computed: {why}"
        for why, failed in names.items()
    )


MAX_NAMES = 3
"""Names of measures that failed for one reason."""


def _ratio(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"
