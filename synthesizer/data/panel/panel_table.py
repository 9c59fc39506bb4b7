"""Tables whose rows belong to persons and periods: what the models of histories see.

The periods have an order and times between them (`Moments`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from synthesizer.data.errors import DataError, plural
from synthesizer.data.table import (
    BoolArray,
    Column,
    FloatArray,
    IntArray,
    Kind,
    OwnedRows,
    Rows,
    Table,
)
from synthesizer.data.values import finite_number


@dataclass(frozen=True, eq=False, kw_only=True)
class PanelIndex:
    """The rows of a panel: sorted by person, and within a person by period."""

    person: IntArray
    """Person of each row, 0 to n_persons - 1, never falling; every person has a row, shape (r,)."""
    period: IntArray
    """Period of each row, 0 to T - 1, rising within a person, shape (r,)."""
    n_persons: int
    """Persons."""
    times: FloatArray
    """The moment of each period, rising; differences are elapsed time, shape (T,)."""
    is_open: bool = True
    """False before the careers are drawn: one row a person, and the period means nothing."""

    @classmethod
    def of_persons(cls, n_persons: int, times: FloatArray) -> PanelIndex:
        """Return one row a person, for what is drawn before the careers."""
        return cls(
            person=np.arange(n_persons),
            period=np.zeros(n_persons, dtype=np.int64),
            n_persons=n_persons,
            times=times,
            is_open=False,
        )

    @classmethod
    def of_presence(cls, present: BoolArray, times: FloatArray) -> PanelIndex:
        """Return the rows where ``present`` is true, shape (n, T)."""
        person, period = np.nonzero(present)
        return cls(person=person, period=period, n_persons=len(present), times=times)

    @property
    def n_rows(self) -> int:
        """Rows: persons times the periods in which they are seen."""
        return len(self.person)

    @property
    def n_periods(self) -> int:
        """Periods T."""
        return len(self.times)

    @cached_property
    def is_first(self) -> BoolArray:
        """Where a person is seen for the first time, shape (r,)."""
        return np.asarray(np.diff(self.person, prepend=-1) != 0)

    @cached_property
    def starts(self) -> IntArray:
        """The first row of each person, shape (n_persons,)."""
        return np.flatnonzero(self.is_first)

    @cached_property
    def counts(self) -> IntArray:
        """Rows of each person, shape (n_persons,)."""
        return np.diff(np.append(self.starts, self.n_rows))

    @cached_property
    def elapsed(self) -> FloatArray:
        """Time since the person's row before, 0 at the first one, shape (r,)."""
        step = np.diff(self.times[self.period], prepend=0.0)
        return np.where(self.is_first, 0.0, step)

    @cached_property
    def by_period(self) -> tuple[IntArray, ...]:
        """Row positions of each period, T arrays."""
        order = np.argsort(self.period, kind="stable")
        ends = np.cumsum(np.bincount(self.period, minlength=self.n_periods))[:-1]
        return tuple(np.split(order, ends))

    def rows_of(self, persons: IntArray) -> IntArray:
        """Return the row positions of the persons in the given order, all rows of each."""
        counts = self.counts[persons]
        ends = np.cumsum(counts)
        offsets = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)
        return np.asarray(np.repeat(self.starts[persons], counts) + offsets)

    def take_persons(self, persons: IntArray) -> PanelIndex:
        """Return the rows of some persons, numbered anew; a person may come more than once."""
        rows = self.rows_of(persons)
        return PanelIndex(
            person=np.repeat(np.arange(len(persons)), self.counts[persons]),
            period=self.period[rows],
            n_persons=len(persons),
            times=self.times,
            is_open=self.is_open,
        )

    def matrix(self, values: IntArray, absent: int) -> IntArray:
        """Return values by person and period, ``absent`` where there is no row, shape (n, T)."""
        full = np.full((self.n_persons, self.n_periods), absent, dtype=np.int32)
        full[self.person, self.period] = values
        return full


class PanelTable(Table):
    """A table with a row for each person and period; persons are its units."""

    def __init__(
        self, columns: Iterable[Column], index: PanelIndex, origins: IntArray | None = None
    ) -> None:
        super().__init__(columns, index.n_rows)
        self.index = index
        self._origins = origins  # of each person: whose copy she is in a bootstrap sample

    @property
    def n_units(self) -> int:
        """Persons."""
        return self.index.n_persons

    def _like(self, columns: dict[str, Column], rows: Rows | None = None) -> Table:
        """Return some rows of the panel: no panel any more, but each row keeps its person."""
        if rows is not None:
            return OwnedRows.of_rows(columns, self.owners[rows])
        table = PanelTable._of(columns, self.n_rows)
        table.index, table._origins = self.index, self._origins
        return table

    @property
    def owners(self) -> IntArray:
        """Number of the person of each row, shape (r,); copies of a person have hers."""
        person = self.index.person
        return person if self._origins is None else self._origins[person]

    def resampled(self, units: IntArray) -> PanelTable:
        """Return persons drawn with replacement, numbered anew, whose copies have one owner."""
        taken = self.take_units(units)
        return PanelTable(taken.columns, taken.index, units)

    def take_units(self, units: IntArray) -> PanelTable:
        """Return all rows of some persons, who are numbered anew."""
        rows = self.index.rows_of(units)
        origins = None if self._origins is None else self._origins[units]
        return PanelTable(self.take(rows).columns, self.index.take_persons(units), origins)

    @property
    def first_rows(self) -> Table:
        """The first row of every person, shape (n_persons, ...)."""
        return self.take(self.index.starts)

    unit_table = first_rows

    def spread(self, column: Column) -> Column:
        """Return a column with one value a person as one with a value a row."""
        return column.take(self.index.person)

    def until(self, end: int) -> PanelTable:
        """Return what there is before period ``end``; persons without a row are left out.

        Both keep their order.
        """
        index = self.index
        rows = np.flatnonzero(index.period < end)
        before = PanelIndex(
            person=np.unique(index.person[rows], return_inverse=True)[1],
            period=index.period[rows],
            n_persons=int((index.period[index.starts] < end).sum()),
            times=index.times[:end],
        )
        there = index.period[index.starts] < end
        origins = None if self._origins is None else self._origins[there]
        return PanelTable(self.take(rows).columns, before, origins)

    def opened(self, index: PanelIndex) -> PanelTable:
        """Return the person-level columns on the rows of the careers."""
        return PanelTable((column.take(index.person) for column in self.columns), index)

    @staticmethod
    def concatenate(tables: Sequence[Table]) -> PanelTable:
        """Stack panels with the same schema and periods; persons are numbered on."""
        parts = [table for table in tables if isinstance(table, PanelTable)]
        before = np.cumsum([0, *(panel.n_units for panel in parts)])
        index = PanelIndex(
            person=np.concatenate(
                [panel.index.person + n for panel, n in zip(parts, before[:-1], strict=True)]
            ),
            period=np.concatenate([panel.index.period for panel in parts]),
            n_persons=int(before[-1]),
            times=parts[0].index.times,
            is_open=parts[0].index.is_open,
        )
        names = parts[0].names
        return PanelTable(
            (Column.concatenate([panel[name] for panel in parts]) for name in names), index
        )


def as_panel(table: Table) -> PanelTable:
    """Return a table that is a panel, or raise TypeError: it was altered, or misplaced."""
    if not isinstance(table, PanelTable):
        raise TypeError("needs a PanelTable")
    return table


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
    """Return the number of rows, and the first of them as counted in the file, in words.

    Examples
    --------
    >>> row_numbers(np.array([4])), row_numbers(np.arange(5))
    ('1 row (number 5)', '5 rows (numbers 1, 2, 3, ...)')
    """
    word = "number" if len(rows) == 1 else "numbers"
    return f"{plural(len(rows), 'row')} ({word} {first_numbers(rows)})"


def missing_in(column: Column, key: str, needed: str, section: str = "panel") -> list[str]:
    """Yield problems of rows without a person or time."""
    rows = np.flatnonzero(~column.is_observed)
    if not len(rows):
        return []
    return [
        f"{section}.{key}: column {column.name!r} is missing in {row_numbers(rows)}; every "
        f"row needs a {needed}"
    ]


def missing_times(column: Column) -> list[str]:
    """Yield problems of rows without a period."""
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
    """Return a sentence about periods that are words, or about rows where they are not numbers."""
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
