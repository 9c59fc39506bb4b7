"""May these data be released: the verdict, limits, missing checks, bad results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from synthesizer.data.errors import plural
from synthesizer.measures.utility.coefficients import FitComparison
from synthesizer.measures.utility.equivalent_sample import EquivalentSample
from synthesizer.measures.utility.household_pairs import HouseholdPairs
from synthesizer.measures.utility.regressions import Regressions
from synthesizer.measures.utility.suite import UtilityResult
from synthesizer.measures.verdict import Word
from synthesizer.report.advice import blame, worst_things
from synthesizer.report.expected import (
    FAR,
    UNITS,
    UNITS_OF_HOUSEHOLDS,
    copied_in_words,
    distance_in_words,
    expected_of,
    lost_fits,
    mean_mark,
    noise_in_words,
    overlap_in_words,
    regressions_in_words,
    table_mark,
    tables_of,
)
from synthesizer.report.figures import figure_of
from synthesizer.report.page import (
    Block,
    DataTable,
    Fold,
    Gap,
    Note,
    interval,
    section,
    stopped,
    written,
)
from synthesizer.report.propensity_scores import MODELS, only_margins, ratio_in_words
from synthesizer.report.record import Record

_HIGH = 3.0
"""Ratio of a tree, whose fresh sample has 1, from which the data are told apart by far."""


class _Headline(NamedTuple):
    """One row: figure, value, what it means, what is good."""

    name: str
    value: float | None
    words: str
    good: float | None = None
    alert: bool = False


@section("glance", "May these data be released?", "")
def glance_section(record: Record) -> Iterator[Block]:
    """Yield the verdict, what stands against a release, and on demand the tests behind it."""
    for line in record.verdict.lines:
        yield Note(line.sentence, TONES[line.word], f"{line.title}: {line.said}.")
    yield from (Note(f"{words}.", "alert") for words in record.results.unlike)
    yield from _limits(record)
    yield from _missing(record)
    yield from bad_utility(record)
    worst = [advice for advice in worst_things(record.verdict, record) if advice.measured]
    if worst:
        tries = (f"{_start(advice.tests)}: {advice.remedy}." for advice in worst)
        yield Note(" ".join(tries), start="What to try.")
    if tests := list(_evidence(record)):
        yield Fold("The tests behind the three lines", tests)
    if rows := list(_useful(record)):
        yield Fold("More figures of use", [_table(rows)])
    else:
        yield Gap("no figure of utility", "The checks were off or failed.")


TONES: Mapping[Word, Literal["good", "look", "alert"]] = {
    "safe": "good", "look": "look", "stop": "alert",
}  # fmt: skip
"""How the words of the verdict look."""


def _evidence(record: Record) -> Iterator[Block]:
    """Yield the tests behind the verdict."""
    rows = [(line, e) for line in record.verdict.lines for e in line.evidence if e.measured]
    if rows:
        yield DataTable(
            caption="Every test: its interval is held against the mark (docs/decision.md)",
            columns=("About", "Test", "Says", "Value", "95 % interval", "Mark", "Because"),
            forms=("text", "text", "text", "share", "text", "share", "text"),
            rows=[
                (line.title, e.test, e.word, e.value, interval(e.low, e.high, "share"), e.mark,
                 e.sentence)
                for line, e in rows
            ],
            highlight=[i for i, (_, e) in enumerate(rows) if e.word == "stop"],
            stacks=True,
        )  # fmt: skip
    if record.units == "persons":
        households = record.manifest.household is not None
        yield Note(UNITS_OF_HOUSEHOLDS if households else UNITS)


def _limits(record: Record) -> Iterator[Block]:
    limits = record.manifest.config.get("limits") or {}
    count = sum(limit is not None for limit in limits.values())
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


def _table(rows: Sequence[_Headline]) -> DataTable:
    return DataTable(
        caption="How useful the data are",
        columns=("Figure", "Value", "Good is", "In words"),
        forms=("text", "share", "share", "text"),
        rows=[[row.name, row.value, row.good, row.words] for row in rows],
        highlight=[i for i, row in enumerate(rows) if row.alert],
        stacks=True,
    )


def _useful(record: Record) -> Iterator[_Headline]:
    utility, expected = record.results.utility, expected_of(record)
    figures = [] if utility is None else [figure for _, figure in utility.figures]
    single = table_mark(expected)
    for key, name, mark in (
        ("mean_two_way", "Pairs of variables, mean S_pMSE", mean_mark(expected)),
        ("worst_two_way", "Worst pair, S_pMSE", single),
        ("worst_one_way", "Worst variable, S_pMSE", single),
    ):
        figure = figure_of(figures, key)
        if figure is not None:
            value = figure.value
            words = f"{_start(distance_in_words(value, expected))}."
            alert = value is not None and value > mark
            yield _Headline(name, value, words, expected.right, alert=alert)
    yield from _equivalent(utility)
    yield from _households(utility)
    yield from _regressions(utility)
    yield from _propensities(record)
    yield from _careers(record)
    yield from _overlaps(record)


def _equivalent(utility: UtilityResult | None) -> Iterator[_Headline]:
    """Yield how large a sample of the original tells as much of pairs."""
    result = None if utility is None else utility.further.get("equivalent_sample")
    if isinstance(result, EquivalentSample):
        right, fresh = result.expected
        words = (
            f"A random sample of {result.sample:.0%} of the original tells as much of all pairs; a "
            f"right synthesis is as good as {right:.0%} of it, a fresh sample of the population as "
            f"{fresh:.0%}."
        )
        name = "Pairs, as good as this share of the original"
        yield _Headline(name, result.sample, words, right, alert=result.sample < fresh / 2)


def _households(utility: UtilityResult | None) -> Iterator[_Headline]:
    """Yield how far what members of a household have together is off, and who they are."""
    result = None if utility is None else utility.further.get("household_pairs")
    if not isinstance(result, HouseholdPairs):
        return
    figures = {figure.key: figure for figure in result.figures}
    for key, name, words, fresh in (
        ("household_pairs", "Members of a household, mean S_pMSE over a bootstrap's",
         "Tables of what two members have are {} as far off as those of bootstrapped households; "
         "a fresh sample of the population is about 2 times.", 2.0),
        ("household_composition", "Sizes and members of households, total-variation distance",
         "{} of the households would need another size, or other members, to be like the "
         "original's.", 2.0 * result.composition[1]),
    ):  # fmt: skip
        figure = figures.get(key)
        if figure is not None and figure.value is not None:
            value = figure.value
            amount = f"{value:.2f} times" if key == "household_pairs" else f"{value:.1%}"
            alert = value > 2 * fresh
            yield _Headline(name, value, words.format(amount), figure.chance, alert=alert)


def _regressions(utility: UtilityResult | None) -> Iterator[_Headline]:
    """Yield how many coefficients of the regressions that the file suggests are off."""
    result = None if utility is None else utility.further.get("regressions")
    if isinstance(result, Regressions) and result.rows:
        right, fresh = result.expected_shares
        words = f"{_start(regressions_in_words(result))}."
        value = result.beyond or 0.0
        name = "Regressions, coefficients off by more than 1.96 standard errors"
        yield _Headline(name, value, words, right, alert=value > 2 * fresh)


def _propensities(record: Record) -> Iterator[_Headline]:
    utility, expected = record.results.utility, expected_of(record)
    for scores in () if utility is None else utility.propensity:
        scope = "Margins" if only_margins(scores) else "All variables at once"
        good, mark = (1.0, _HIGH) if scores.permutations else (expected.right, mean_mark(expected))
        value = scores.mean.s_pmse
        yield _Headline(
            f"{scope}, pMSE ratio by {MODELS[scores.model]}",
            value,
            f"{_start(ratio_in_words(scores, record))}.",
            good,
            alert=value is not None and value > mark,
        )


def _careers(record: Record) -> Iterator[_Headline]:
    panel = record.results.panel
    sequences = None if panel is None else panel.sequences
    rows = [] if sequences is None else [row for row in sequences.rows if row.ratio is not None]
    if rows:
        worst = max(rows, key=lambda row: row.ratio or 0.0)
        words = f"{_start(noise_in_words(worst.ratio))}. It is the {worst.meaning}."
        name = "Careers, largest distance over its noise floor"
        alert = worst.ratio is not None and worst.ratio > FAR
        yield _Headline(name, worst.ratio, words, 1.0, alert=alert)


def _overlaps(record: Record) -> Iterator[_Headline]:
    utility = record.results.utility
    fits = () if utility is None else utility.fits
    overlaps = [(fit.mean_overlap, fit) for fit in fits if fit.mean_overlap is not None]
    if overlaps:
        value, fit = min(overlaps, key=lambda pair: pair[0])
        words = "How much of each confidence interval original and synthetic data share; "
        words += f"{overlap_in_words(fit.expected_overlap)}."
        if len(fits) > 1:
            words += f" It is the fit {fit.title}."
        name, alert = "Models, lowest mean overlap of intervals", any(map(is_bad_fit, fits))
        yield _Headline(name, value, words, fit.expected_overlap, alert=alert)


def _start(words: str) -> str:
    return words[:1].upper() + words[1:]


_ONE_DATASET = 0.796
"""Mean overlap of a right synthesis of the original's size with one dataset."""


def bad_utility(record: Record) -> Iterator[Note]:
    """Yield an alert for the worst variable, the worst pair and each fit that is far off."""
    yield from _bad_tables(record, 1, "variable")
    yield from _bad_tables(record, 2, "pair")
    utility = record.results.utility
    for fit in () if utility is None else utility.fits:
        if is_bad_fit(fit):
            yield Note(_fit_in_words(fit, record), "alert")


def _bad_tables(record: Record, ways: int, noun: str) -> Iterator[Note]:
    """Yield an alert on the worst table of an order where it is above the mark."""
    expected = expected_of(record)
    mark = table_mark(expected)
    bad = [row for row in tables_of(record, ways) if (row.s_pmse or 0) > mark]
    if not bad:
        return
    worst, others = bad[0], len(bad) - 1
    verb = "is" if others == 1 else "are"
    more = f"; so {verb} {plural(others, f'other {noun}')}" if others else ""
    names = map(record.labels.variable, worst.variables)
    sentences = (
        f"The worst {noun} is {' with '.join(names)}, S_pMSE {written(worst.s_pmse)}: "
        f"{distance_in_words(worst.s_pmse, expected)}. Above {written(mark)} a table is to be "
        f"looked at{more}.",
        blame(record, worst.variables),
    )
    yield Note(" ".join(filter(None, sentences)), "alert")


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
