"""May these data be released: the verdict, limits, missing checks, bad results."""

from __future__ import annotations

from collections.abc import Iterator

from synthesizer.data.errors import plural
from synthesizer.measures.catalogue import LIMITS
from synthesizer.measures.utility.coefficients import FitComparison
from synthesizer.measures.verdict import AT_LEAST, Evidence
from synthesizer.report.advice import worst_things
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
    DataTable,
    Fold,
    Gap,
    Note,
    Words,
    interval,
    section,
    stopped,
    with_minus,
    written,
)
from synthesizer.report.record import Record
from synthesizer.report.risk import TONES
from synthesizer.report.scale import verdict_charts


@section("glance", "May these data be released?", "")
def glance_section(record: Record) -> Iterator[Block]:
    """Yield the verdict: a word, a sentence and a picture a line; all else is opened on demand.

    What is seen at once has at most 80 words.
    """
    yield from verdict_charts(record.verdict)
    if alerts := list(_alerts(record)):
        yield Note(f"{'; '.join(alerts)}.", "alert", "Mind:")
    yield Fold("Why", list(_reasons(record)))
    worst = [advice for advice in worst_things(record.verdict, record) if advice.measured]
    if worst:
        tries = [f"{one.tests[:1].upper()}{one.tests[1:]}: {one.remedy}." for one in worst]
        yield Fold("What to change", [Words(tries)])
    if missing := list(_missing(record)):
        yield Fold("What was not measured", missing)


def _alerts(record: Record) -> Iterator[str]:
    """Yield in a few words each what no reader may miss; the folds have it in full."""
    columns = sum(name.startswith("column ") for name in record.results.failed)
    every = {e.key for line in record.verdict.lines for e in line.evidence}
    if record.exceeded:
        yield f"{plural(len(record.exceeded), 'limit')} exceeded"
    if record.changes:
        yield "files have changed"
    if columns:
        yield f"{plural(columns, 'column')} not compared"
    if "control" in every:
        yield "the control is no new sample"
    if record.results.unlike:
        yield "missing values are coded differently"


def _reasons(record: Record) -> Iterator[Block]:
    """Yield what is behind the verdict: limits, sentences, bad results, every test."""
    yield from _limits(record)
    yield from (
        Note(with_minus(line.sentence), TONES[line.word], f"{line.title}: {line.word}.")
        for line in record.verdict.lines
    )
    yield from (Note(f"{words}.", "alert") for words in record.results.unlike)
    yield from bad_utility(record)
    yield from _evidence(record)


def _evidence(record: Record) -> Iterator[Block]:
    """Yield the tests behind the verdict."""
    every = [(line, e) for line in record.verdict.lines for e in line.evidence if e.measured]
    rows = [
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
    if record.exceeded:
        yield Note("These data exceed limits that the configuration sets.", "alert")
        yield from (Note(text, "alert") for text in record.exceeded)
    elif count := sum(limits.get(key) is not None for key in LIMITS):
        yield Note(f"Kept: {plural(count, 'limit')} of the configuration.", "good")


def _missing(record: Record) -> Iterator[Block]:
    """Yield tests that were not made, what failed or was left out, and what to know of the rest."""
    every = [e for line in record.verdict.lines for e in line.evidence if not e.measured]
    if every:
        yield Words([f"{e.test[:1].upper()}{e.test[1:]}: turn on {e.sentence}." for e in every])
    yield from (Gap("certainty about the files", text, alert=True) for text in record.changes)
    for name, why in record.results.failed.items():
        if name.startswith("column "):
            words = f"Not compared: {name}, and no figure of utility covers it. {why}"
        else:
            words = f"Could not be computed: {name}: {why}"
        yield Note(stopped(words), "alert")
    utility = record.results.utility
    if utility is None:
        yield Gap("no figure of utility", "The checks were off or failed.")
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
            yield Note(_fit_in_words(fit), "look")


def _bad_variables(record: Record) -> Iterator[Note]:
    """Yield the worst variable where it is above the mark."""
    expected = expected_of(record)
    mark = table_mark(expected)
    bad = [row for row in tables_of(record, 1) if (row.s_pmse or 0) > mark]
    if not bad:
        return
    worst, others = bad[0], len(bad) - 1
    more = f"; so {'is' if others == 1 else 'are'} {plural(others, 'other variable')}"
    yield Note(
        f"The worst variable is {record.labels.variable(worst.variables[0])}, S_pMSE "
        f"{written(worst.s_pmse)}: {distance_in_words(worst.s_pmse, expected)}. Above "
        f"{written(mark)} a table is to be looked at{more if others else ''}.",
        "look",
    )


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


def _fit_in_words(fit: FitComparison) -> str:
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
    return " ".join(sentences)
