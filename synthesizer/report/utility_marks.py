"""What is badly off in the utility of a run: the worst tables and fits, and what to try."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from synthesizer.report.blame import blame
from synthesizer.report.fit_words import overlap_expected, overlap_in_words
from synthesizer.report.numbers import plural, written
from synthesizer.report.parts import Note
from synthesizer.report.record import Record, mappings, number, words
from synthesizer.report.utility_expected import distance_in_words, expected_of, table_mark
from synthesizer.report.utility_tables import by_ways, table_rows, utility_of

__all__ = ["bad_utility", "is_bad_fit", "lowest_overlap", "overlap_marks"]

_ONE_DATASET = 0.796
"""Mean overlap of a right synthesis of the original's size with one dataset."""


def bad_utility(record: Record) -> Iterator[Note]:
    """Yield an alert for the worst variable, the worst pair and each fit that is far off.

    Parameters
    ----------
    record : Record
        A run; its tables, fits and chain are read.
    """
    yield from _tables(record, 1, "variable")
    yield from _tables(record, 2, "pair")
    for fit in mappings(utility_of(record), "fits"):
        if is_bad_fit(fit):
            yield Note(_fit_in_words(fit, record), "alert")


def _tables(record: Record, ways: int, noun: str) -> Iterator[Note]:
    """Yield an alert on the worst table of an order where it is above the mark."""
    expected = expected_of(record)
    mark = table_mark(expected)
    bad = [
        row for row in by_ways(table_rows(record), ways)
        if row.standardised is not None and row.standardised > mark
    ]  # fmt: skip
    if not bad:
        return
    worst = bad[0]
    others = len(bad) - 1
    verb = "is" if others == 1 else "are"
    more = f"; so {verb} {plural(others, f'other {noun}')}" if others else ""
    told = (
        f"The worst {noun} is {' with '.join(worst.names)}, S_pMSE {written(worst.standardised)}: "
        f"{distance_in_words(worst.standardised, expected)}. Above {written(mark)} a table is to "
        f"be looked at{more}."
    )
    yield Note(" ".join(filter(None, (told, blame(record, worst.names)))), "alert")


def overlap_marks(good: float | None) -> tuple[float, float]:
    """Return the overlap below which a fit's mean, and one coefficient's, is low.

    With equal widths an overlap of 0.5 is a synthetic estimate at the end of the original's
    interval, and below 0 the intervals do not touch. Both distances grow with what chance alone
    does where fewer records are synthesised, which the expected overlap shows.

    Parameters
    ----------
    good : float or None
        Mean overlap of a right synthesis, where it is known.

    Examples
    --------
    >>> overlap_marks(0.88), overlap_marks(None)
    ((0.5, 0.0), (0.5, 0.0))
    >>> [round(mark, 2) for mark in overlap_marks(0.49)]
    [-0.25, -1.5]
    """
    chance = 1.0 if good is None else max(1.0, (1 - good) / (1 - _ONE_DATASET))
    return 1 - chance / 2, 1 - chance


def lowest_overlap(fit: Mapping[str, Any]) -> tuple[str, float] | None:
    """Return the coefficient whose intervals overlap least, and how much."""
    found = [
        (words(own, "name"), value)
        for own in mappings(fit, "coefficients")
        if (value := number(own, "overlap")) is not None
    ]
    return min(found, key=lambda pair: pair[1], default=None)


def is_bad_fit(fit: Mapping[str, Any]) -> bool:
    """Whether a fit's intervals overlap less than chance explains: on average, or in one place."""
    mean_low, single_low = overlap_marks(overlap_expected(fit))
    mean, lowest = number(fit, "mean_overlap"), lowest_overlap(fit)
    return (mean is not None and mean < mean_low) or (lowest is not None and lowest[1] < single_low)


def _fit_in_words(fit: Mapping[str, Any], record: Record) -> str:
    mean, lowest = number(fit, "mean_overlap"), lowest_overlap(fit)
    told = [f"Fit {words(fit, 'formula') or 'without formula'}: "]
    if mean is not None:
        good = overlap_in_words(overlap_expected(fit))
        told.append(f"the intervals overlap by {written(mean, 'share')} on average ({good}). ")
    if lowest is not None:
        apart = "; the two intervals do not touch" if lowest[1] < 0 else ""
        told.append(f"The lowest overlap is {written(lowest[1], 'share')}, of {lowest[0]}{apart}. ")
    told.append("A researcher would draw other conclusions. ")
    return ("".join(told) + blame(record, _variables(fit, record))).rstrip()


def _variables(fit: Mapping[str, Any], record: Record) -> list[str]:
    """Return the response and the variable of the coefficient that is furthest off."""
    chain = [words(step, "variable") for step in mappings(record.manifest, "chain")]
    response = _within(words(fit, "formula").partition("~")[0], chain)
    found = [
        (number(own, "overlap"), _within(words(own, "name"), chain))
        for own in mappings(fit, "coefficients")
    ]
    known = [(value, names) for value, names in found if value is not None and names]
    worst = min(known, key=lambda pair: pair[0], default=(0.0, []))[1]
    return list(dict.fromkeys([*response, *worst]))


def _within(text: str, names: list[str]) -> list[str]:
    """Return the names that stand in a text as whole words."""
    return [name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)]
