"""May these data be released: the verdict, limits, missing checks, bad results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from synthesizer.data.errors import plural
from synthesizer.measures.catalogue import LIMITS
from synthesizer.measures.evidence import Evidence
from synthesizer.measures.utility.coefficients import FitComparison
from synthesizer.measures.verdict import AT_LEAST
from synthesizer.report.advice import worst_things
from synthesizer.report.blocks import (
    Added,
    Block,
    Fold,
    Gap,
    Note,
    Words,
    interval,
    row_table,
    section,
    stopped,
    with_minus,
    written,
)
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
    worst = [one for one in worst_things(record.verdict, record) if one.measured]
    if tries := [one.change for one in worst if one.change]:
        yield Fold("What to change", [Words(tries)])
    if missing := list(_missing(record)):
        yield Fold("What was not measured", missing)


def _alerts(record: Record) -> Iterator[str]:
    """Yield in a few words each what no reader may miss; the folds have it in full."""
    columns = sum(name.startswith("column ") for name in record.results.failed)
    tests = {e.key for line in record.verdict.lines for e in line.evidence}
    if record.exceeded:
        yield f"{plural(len(record.exceeded), 'limit')} exceeded"
    if record.changes:
        yield "files have changed"
    if columns:
        yield f"{plural(columns, 'column')} not compared"
    if "control" in tests:
        yield "the control is no new sample"
    if record.results.unlike:
        yield "missing values are coded differently"


def _reasons(record: Record) -> Iterator[Block]:
    """Yield what is behind the verdict: sentences, limits, bad results, every test."""
    lines, limits = record.verdict.lines, record.manifest.config.get("limits") or {}
    for line in lines:
        yield Note(with_minus(line.sentence), TONES[line.word], f"{line.title}: {line.word}.")
    yield Note(f"{record.verdict.source} ({record.verdict.terms})", start="Limits.")
    for words in (*record.exceeded, *record.results.unlike):
        yield Note(stopped(words), "alert")
    if (n := sum(limits.get(key) is not None for key in LIMITS)) and not record.exceeded:
        yield Note(f"Kept: {plural(n, 'limit')} of the configuration.", "good")
    yield from bad_utility(record)
    every = [(line.title, e) for line in lines for e in line.evidence if e.measured]
    if every:
        more = (
            Added("95 % interval", "text", lambda e: interval(e.low, e.high)),
            Added("Limit", "text", _limit),
            Added("Because", "text", lambda e: with_minus(e.sentence)),
        )
        table = row_table(
            [e for _, e in every],
            "Every test: its interval is compared with the limit (docs/decision.md)",
            names=("test", "word", "value"),
            more=more,
            highlight=[i for i, (_, e) in enumerate(every) if e.word == "fail"],
            labels=("About", [title for title, _ in every]),
        )
        yield replace(table, stacks=True, sortable=False)
    if record.units == "persons":
        yield Note(UNITS if record.manifest.household is None else UNITS_OF_HOUSEHOLDS)


def _limit(e: Evidence) -> str | None:
    """Return the limit of a test, and on which side of it the test passes."""
    if e.mark is None:
        return None
    side = "at least" if e.key in AT_LEAST else "at most"
    return f"{side} {written(e.mark) if e.mark >= 1 else f'{e.mark:.3g}'}"


def _missing(record: Record) -> Iterator[Block]:
    """Yield tests that were not made, what failed or was left out, and what to know of the rest."""
    every = [e for line in record.verdict.lines for e in line.evidence if not e.measured]
    if every:
        yield Words([f"{e.test[:1].upper()}{e.test[1:]}: turn on {e.sentence}." for e in every])
    yield from (Gap("certainty about the files", text, alert=True) for text in record.changes)
    for name, why in record.results.failed.items():
        yield Note(stopped(f"Not computed: {name}: {why}"), "alert")
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
    expected = expected_of(record)
    for row in tables_of(record, 1)[:1]:
        if row.s_pmse is not None and row.s_pmse > table_mark(expected):
            name = record.labels.variable(row.variables[0])
            said = f"{written(row.s_pmse)}: {distance_in_words(row.s_pmse, expected)}"
            yield Note(f"The worst variable is {name}, S_pMSE {said}.", "look")
    utility = record.results.utility
    for fit in () if utility is None else utility.fits:
        if is_bad_fit(fit):
            yield Note(_fit_in_words(fit), "look")


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
    mean, good = written(fit.mean_overlap, "share"), overlap_in_words(fit.expected_overlap)
    told = [f"Fit {fit.title}: the intervals overlap by {mean} on average ({good})"]
    if lowest := lowest_overlap(fit):
        apart = "; the two intervals do not touch" if lowest[1] < 0 else ""
        told.append(f"the lowest overlap is {written(lowest[1], 'share')}, of {lowest[0]}{apart}")
    return f"{', '.join(told)}. A researcher would draw other conclusions."
