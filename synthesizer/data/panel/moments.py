"""The periods of a panel: their order and the time between them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from synthesizer.data.errors import DataError, plural
from synthesizer.data.table import Column, FloatArray, IntArray, Kind
from synthesizer.data.values import finite_number

_COUNTED = (Kind.NUMERIC, Kind.DATE)


@dataclass(frozen=True, eq=False, kw_only=True)
class Moments:
    """The distinct periods of a column of times."""

    period: IntArray
    """Period of each row, shape (n,)."""
    column: Column
    """One row a period, in order: what is written for it."""
    times: FloatArray
    """Numbers and days as they are; positions where the periods are words, shape (T,)."""

    @property
    def gaps(self) -> int:
        """Steps between neighbouring periods that are longer than the usual one.

        Dates on one day of the month are counted in months, which are of different lengths.
        """
        times = self.times
        if self.column.variable.kind is Kind.DATE:
            months = _months(times)
            times = times if months is None else months
        steps = np.diff(times)
        return int((steps > np.median(steps)).sum()) if len(steps) else 0


def _months(days: FloatArray) -> FloatArray | None:
    """Return dates in months since 1970, None where they are not all on one day of the month.

    The last day of a shorter month stands for that day, too.

    Examples
    --------
    >>> _months(np.array([30.0, 58.0, 89.0]))  # the ends of January, February and March
    array([0., 1., 2.])
    >>> _months(np.array([0.0, 7.0])) is None
    True
    """
    dates = np.floor(days).astype(np.int64).astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    first = months.astype("datetime64[D]")
    length = ((months + 1).astype("datetime64[D]") - first).astype(np.int64)
    day = (dates - first).astype(np.int64) + 1
    if (np.minimum(day.max(initial=1), length) != day).any() or (days != np.floor(days)).any():
        return None
    return np.asarray(months.astype(np.int64), dtype=np.float64)


def first_numbers(rows: IntArray) -> str:
    """Return the first of some rows as they are counted in the file."""
    return f"{', '.join(map(str, np.sort(rows)[:3] + 1))}{', ...' if len(rows) > 3 else ''}"


def row_numbers(rows: IntArray) -> str:
    """Say how many rows there are, and name the first of them as they are counted in the file.

    Examples
    --------
    >>> row_numbers(np.array([4])), row_numbers(np.arange(5))
    ('1 row (number 5)', '5 rows (numbers 1, 2, 3, ...)')
    """
    word = "number" if len(rows) == 1 else "numbers"
    return f"{plural(len(rows), 'row')} ({word} {first_numbers(rows)})"


def missing_in(column: Column, key: str, needed: str, section: str = "panel") -> list[str]:
    """Say in which rows a column that tells who or when has no value."""
    rows = np.flatnonzero(~column.is_observed)
    if not len(rows):
        return []
    return [
        f"{section}.{key}: column {column.name!r} is missing in {row_numbers(rows)}; every "
        f"row needs a {needed}"
    ]


def missing_times(column: Column) -> list[str]:
    """Say in which rows there is no period."""
    return missing_in(column, "time", "period: fill it in, or leave these rows out of the file")


def moments_of(column: Column) -> Moments:
    """Return the periods of a column of times.

    Numbers, dates and ordered levels have an order; so have words that are numbers.
    """
    problems = missing_times(column)
    kind = column.variable.kind
    if kind is Kind.CATEGORICAL and not are_numbers(column.variable.levels):
        problems.append(_unordered(column))
    if kind is Kind.ID:
        problems.append(
            f"panel.time: column {column.name!r} is taken for an identifier; declare its kind: "
            "numeric, date or ordered"
        )
    if problems:
        raise DataError(problems)
    values, first, period = np.unique(column.data, return_index=True, return_inverse=True)
    times = values.astype(np.float64)
    if kind is Kind.CATEGORICAL:
        numbers = np.array([float(column.variable.levels[int(code)]) for code in values])
        order = np.argsort(numbers, kind="stable")
        times, first = numbers[order], first[order]
        period = np.argsort(order)[period]
        if (np.diff(times) <= 0).any():
            raise DataError(
                f"panel.time: column {column.name!r} writes the same period in more than one way, "
                "such as 1 and 1.0; write it alike in all rows"
            )
    elif kind not in _COUNTED:
        times = np.arange(len(values), dtype=np.float64)
    return Moments(period=period, column=column.take(first), times=times)


def _unordered(column: Column) -> str:
    """Say that periods are words; where most are numbers, in which rows they are not."""
    name, levels = column.name, column.variable.levels
    declare = (
        f"declare variables.{name}.kind: ordered, and variables.{name}.levels: all in order of time"
    )
    odd = [code for code, level in enumerate(levels) if not are_numbers((level,))]
    rows = np.flatnonzero(np.isin(column.data, odd))
    if 2 * len(rows) < len(column):
        return (
            f"panel.time: column {name!r} has a period that is no number in "
            f"{row_numbers(rows)}; correct these cells, or leave the rows out of the "
            f"file. If these are periods too, {declare}"
        )
    return (
        f"panel.time: the periods of column {name!r} are words without an order; {declare}, or, "
        "if they are dates, kind: date and their date_format"
    )


def are_numbers(levels: Iterable[str]) -> bool:
    """Whether all of some levels are finite numbers."""
    return all(finite_number(level) is not None for level in levels)


def natural_order(period: str) -> tuple[list[int], list[tuple[int, int, str]]]:
    """Return what sorts periods that are words: years first, numbers by value, months by name.

    A guess from how they are written.

    Examples
    --------
    >>> sorted(["Q1 2002", "Q3 2001", "Q10 2001"], key=natural_order)
    ['Q3 2001', 'Q10 2001', 'Q1 2002']
    >>> sorted(["Sep 2001", "Jan 2001", "Dec 2000"], key=natural_order)
    ['Dec 2000', 'Jan 2001', 'Sep 2001']
    """
    years: list[int] = []
    parts: list[tuple[int, int, str]] = []
    for word in re.findall(r"[0-9]+|[^\W\d_]+", period):
        if word.isdigit() and len(word) == 4:
            years.append(int(word))
        elif word.isdigit():
            parts.append((0, int(word), word))
        elif (month := word[:3].lower()) in MONTHS:
            parts.append((0, MONTHS.index(month), ""))
        else:
            parts.append((1, 0, word.lower()))
    return years, parts


MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
