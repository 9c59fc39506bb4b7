"""May these data be released: the verdict, limits, missing checks, bad results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from synthesizer.data.errors import plural
from synthesizer.measures.catalogue import LIMITS
from synthesizer.measures.utility.coefficients import FitComparison
from synthesizer.measures.verdict import AT_LEAST, Evidence
from synthesizer.report.advice import blame, worst_things
from synthesizer.report.expected import (
    UNITS,
    UNITS_OF_HOUSEHOLDS,
    copied_in_words,
    distance_in_words,
    expected_of,
    lost_fits,
    overlap_in_words,
    table_mark,
    tables_of,
)
from synthesizer.report.page import (
    Block,
    Cell,
    DataTable,
    Fold,
    Gap,
    Note,
    interval,
    section,
    stopped,
    with_minus,
    written,
)
from synthesizer.report.record import Record
from synthesizer.report.risk import TONES


@section("glance", "May these data be released?", "")
def glance_section(record: Record) -> Iterator[Block]:
    """Yield the verdict, what stands against a release, and on demand the tests behind it."""
    for line in record.verdict.lines:
        yield Note(with_minus(line.sentence), TONES[line.word], f"{line.title}: {line.word}.")
    yield from (Note(f"{words}.", "alert") for words in record.results.unlike)
    yield from _limits(record)
    yield from _missing(record)
    yield from bad_utility(record)
    worst = [advice for advice in worst_things(record.verdict, record) if advice.measured]
    if worst:
        tries = (
            f"{advice.tests[:1].upper()}{advice.tests[1:]}: {advice.remedy}." for advice in worst
        )
        yield Note(" ".join(tries), start="What to try.")
    if tests := list(_evidence(record)):
        yield Fold("The tests behind the three lines", tests)
    if record.results.utility is None:
        yield Gap("no figure of utility", "The checks were off or failed.")


def _evidence(record: Record) -> Iterator[Block]:
    """Yield the tests behind the verdict."""
    every = [(line, e) for line in record.verdict.lines for e in line.evidence if e.measured]
    rows: list[tuple[Cell, ...]] = [
        (
            line.title,
            e.test,
            e.word,
            e.value,
            interval(e.low, e.high),
            _good(e),
            with_minus(e.sentence),
        )
        for line, e in every
    ]
    if rows:
        yield DataTable(
            caption="Every test: its interval is held against the mark (docs/decision.md)",
            columns=("About", "Test", "Says", "Value", "95 % interval", "Good", "Because"),
            forms=("text", "text", "text", "figure", "text", "text", "text"),
            rows=rows,
            highlight=[i for i, (_, e) in enumerate(every) if e.word == "fail"],
            stacks=True,
        )
    if record.units == "persons":
        households = record.manifest.household is not None
        yield Note(UNITS_OF_HOUSEHOLDS if households else UNITS)


def _good(e: Evidence) -> str | None:
    """Say on which side of its mark a test is good."""
    if e.mark is None:
        return None
    side = "at least" if e.key in AT_LEAST else "at most"
    return f"{side} {written(e.mark) if e.mark >= 1 else f'{e.mark:.3g}'}"


def _limits(record: Record) -> Iterator[Block]:
    limits = record.manifest.config.get("limits") or {}
    count = sum(limits.get(key) is not None for key in LIMITS)
    if record.exceeded:
        yield Note(
            f"{plural(len(record.exceeded), 'figure')} above the limits of the configuration: by "
            "the steward's own rule these data are not to be released as they are.",
            "alert",
        )
        yield from (Note(text, "alert") for text in record.exceeded)
    elif count:
        kept = (
            "The limit that the configuration sets is"
            if count == 1
            else f"All {count} limits that the configuration sets are"
        )
        yield Note(f"{kept} kept.", "good")


def _missing(record: Record) -> Iterator[Block]:
    yield from (Gap("certainty about the files", text, alert=True) for text in record.changes)
    for name, why in record.results.failed.items():
        if name.startswith("column "):
            words = f"Not compared: {name}, and no figure of utility covers it. {why}"
        else:
            words = f"Could not be computed: {name}: {why}"
        yield Note(stopped(words), "alert")
    utility = record.results.utility
    if utility is None:
        return
    for fit in utility.fits:
        yield from (Note(words, "alert") for words in lost_fits(fit))
    if utility.kept:
        yield Note(copied_in_words(utility.kept))
    yield from (Note(note) for note in utility.notes)


_ONE_DATASET = 0.796
"""Mean overlap of a right synthesis of the original's size with one dataset."""


def bad_utility(record: Record) -> Iterator[Note]:
    """Yield what no line of the verdict says: the worst variable and each fit that is far off."""
    yield from _bad_variables(record)
    utility = record.results.utility
    for fit in () if utility is None else utility.fits:
        if is_bad_fit(fit):
            yield Note(_fit_in_words(fit, record), "look")


def _bad_variables(record: Record) -> Iterator[Note]:
    """Yield the worst variable where it is above the mark."""
    expected = expected_of(record)
    mark = table_mark(expected)
    bad = [row for row in tables_of(record, 1) if (row.s_pmse or 0) > mark]
    if not bad:
        return
    worst, others = bad[0], len(bad) - 1
    more = f"; so {'is' if others == 1 else 'are'} {plural(others, 'other variable')}"
    sentences = (
        f"The worst variable is {record.labels.variable(worst.variables[0])}, S_pMSE "
        f"{written(worst.s_pmse)}: {distance_in_words(worst.s_pmse, expected)}. Above "
        f"{written(mark)} a table is to be looked at{more if others else ''}.",
        blame(record, worst.variables),
    )
    yield Note(" ".join(filter(None, sentences)), "look")


def overlap_marks(expected: float | None) -> tuple[float, float]:
    """Return the overlap below which a fit's mean, and one coefficient's, is low.

    With equal widths an overlap of 0.5 is a synthetic estimate at the end of the original's
    interval, and below 0 the intervals do not touch. Both distances grow with what chance alone
    does where fewer records are synthesised, which the expected overlap of a right synthesis shows.
    """
    chance = 1.0 if expected is None else max(1.0, (1 - expected) / (1 - _ONE_DATASET))
    return 1 - chance / 2, 1 - chance


def lowest_overlap(fit: FitComparison) -> tuple[str, float] | None:
    """Return the coefficient whose intervals overlap least, and how much."""
    overlaps = [(row.name, row.overlap) for row in fit.coefficients if row.overlap is not None]
    return min(overlaps, key=lambda pair: pair[1], default=None)


def is_bad_fit(fit: FitComparison) -> bool:
    """Whether a fit's intervals overlap less than chance explains: on average, or in one place."""
    mean_mark, single_mark = overlap_marks(fit.expected_overlap)
    mean, lowest = fit.mean_overlap, lowest_overlap(fit)
    mean_is_low = mean is not None and mean < mean_mark
    return mean_is_low or (lowest is not None and lowest[1] < single_mark)


def _fit_in_words(fit: FitComparison, record: Record) -> str:
    sentences = [f"Fit {fit.title}:"]
    if fit.mean_overlap is not None:
        good = overlap_in_words(fit.expected_overlap)
        mean = written(fit.mean_overlap, "share")
        sentences.append(f"the intervals overlap by {mean} on average ({good}).")
    lowest = lowest_overlap(fit)
    if lowest is not None:
        name, overlap = lowest
        apart = "; the two intervals do not touch" if overlap < 0 else ""
        sentences.append(f"The lowest overlap is {written(overlap, 'share')}, of {name}{apart}.")
    sentences.append("A researcher would draw other conclusions.")
    return " ".join([*sentences, blame(record, _variables(fit, record))]).rstrip()


def _variables(fit: FitComparison, record: Record) -> list[str]:
    """Return the response and the variable of the coefficient that is furthest off."""
    chain = [step.variable for step in record.manifest.chain]
    response = _within(fit.formula.partition("~")[0], chain)
    overlaps = [
        (row.overlap, names)
        for row in fit.coefficients
        if row.overlap is not None and (names := _within(row.name, chain))
    ]
    furthest = min(overlaps, key=lambda pair: pair[0], default=(0.0, []))[1]
    return list(dict.fromkeys([*response, *furthest]))


def _within(text: str, names: Sequence[str]) -> list[str]:
    """Return the names that stand in a text as whole words."""
    return [name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)]
