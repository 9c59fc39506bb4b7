"""Tables with rows by person and period, for the models of histories."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from synthesizer.data.codes import ranges
from synthesizer.data.errors import DataError, Problems, plural
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
    """Person of each row, 0 to n_persons - 1, sorted, shape (r,)."""
    period: IntArray
    """Period of each row, 0 to T - 1, rising within a person, shape (r,)."""
    n_persons: int
    """Number of persons, each with at least one row."""
    times: FloatArray
    """Time of each period as a number, rising, shape (T,)."""
    is_open: bool = True
    """False before careers are drawn: one row per person, without a period."""

    @classmethod
    def of_persons(cls, n_persons: int, times: FloatArray) -> PanelIndex:
        """Return one row per person, for draws before the careers."""
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
        """Number of rows."""
        return len(self.person)

    @property
    def n_periods(self) -> int:
        """Number of periods T."""
        return len(self.times)

    @cached_property
    def is_first(self) -> BoolArray:
        """Which rows are the first of a person, shape (r,)."""
        return np.asarray(np.diff(self.person, prepend=-1) != 0)

    @cached_property
    def starts(self) -> IntArray:
        """The first row of each person, shape (n_persons,)."""
        return np.flatnonzero(self.is_first)

    @cached_property
    def counts(self) -> IntArray:
        """Number of rows of each person, shape (n_persons,)."""
        return np.diff(np.append(self.starts, self.n_rows))

    @cached_property
    def elapsed(self) -> FloatArray:
        """Time since the person's previous row, 0 at the first one, shape (r,)."""
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
        return ranges(self.starts[persons], self.counts[persons])

    def take_persons(self, persons: IntArray) -> PanelIndex:
        """Return the rows of some persons, renumbered; a person may occur more than once."""
        rows = self.rows_of(persons)
        person = np.repeat(np.arange(len(persons)), self.counts[persons])
        return replace(self, person=person, period=self.period[rows], n_persons=len(persons))

    def matrix(self, values: IntArray, absent: int) -> IntArray:
        """Return values by person and period, ``absent`` where there is no row, shape (n, T)."""
        full = np.full((self.n_persons, self.n_periods), absent, dtype=np.int32)
        full[self.person, self.period] = values
        return full


class PanelTable(Table):
    """A table with one row per person and period, whose units are persons."""

    def __init__(
        self, columns: Iterable[Column], index: PanelIndex, origins: IntArray | None = None
    ) -> None:
        super().__init__(columns, index.n_rows)
        self.index = index
        self._origins = origins  # of each person: the original person in a bootstrap sample

    @property
    def n_units(self) -> int:
        """Persons."""
        return self.index.n_persons

    def _like(self, columns: dict[str, Column], rows: Rows | None = None) -> Table:
        """Return some rows as a plain table, in which each row keeps its person."""
        if rows is not None:
            return OwnedRows.of_rows(columns, self.owners[rows])
        table = PanelTable._of(columns, self.n_rows)
        table.index, table._origins = self.index, self._origins
        return table

    @property
    def owners(self) -> IntArray:
        """Number of the person of each row, shape (r,); copies of a person share it."""
        person = self.index.person
        return person if self._origins is None else self._origins[person]

    def resampled(self, units: IntArray) -> PanelTable:
        """Return persons drawn with replacement, renumbered; copies share one owner."""
        taken = self.take_units(units)
        return PanelTable(taken.columns, taken.index, units)

    def take_units(self, units: IntArray) -> PanelTable:
        """Return all rows of some persons, renumbered."""
        rows = self.index.rows_of(units)
        origins = None if self._origins is None else self._origins[units]
        return PanelTable(self.take(rows).columns, self.index.take_persons(units), origins)

    @property
    def first_rows(self) -> Table:
        """The first row of every person, shape (n_persons, ...)."""
        return self.take(self.index.starts)

    unit_table = first_rows

    def spread(self, column: Column) -> Column:
        """Return a column with one value per person as one with a value per row."""
        return column.take(self.index.person)

    def until(self, end: int) -> PanelTable:
        """Return the rows before period ``end``, in order, without persons that have none."""
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
        """Return the columns of persons repeated on the rows of careers."""
        return PanelTable((column.take(index.person) for column in self.columns), index)

    @staticmethod
    def concatenate(tables: Sequence[Table]) -> PanelTable:
        """Return stacked panels with the same schema and periods; numbering continues."""
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
        return PanelTable((Column.concatenate([p[name] for p in parts]) for name in names), index)


def as_panel(table: Table) -> PanelTable:
    """Return a table that is a panel; raise TypeError on other tables."""
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
    """Values as written, one row per period, in order."""
    times: FloatArray
    """Numbers and days; positions if periods are words, shape (T,)."""

    @property
    def gaps(self) -> int:
        """Number of steps between neighbouring periods that are longer than the usual one.

        Dates on the same day of the month are counted in months.
        """
        times = self.times
        if self.column.variable.kind is Kind.DATE:
            months = _months(times)
            times = times if months is None else months
        steps = np.diff(times)
        return int((steps > np.median(steps)).sum()) if len(steps) else 0


def _months(days: FloatArray) -> FloatArray | None:
    """Return dates in months since 1970, None if they are not all on one day of the month.

    The last day of a shorter month counts as that day.

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
    """Return the numbers of the first of some rows in the file."""
    return f"{', '.join(map(str, np.sort(rows)[:3] + 1))}{', ...' if len(rows) > 3 else ''}"


def row_numbers(rows: IntArray) -> str:
    """Return the number of rows, and the numbers of the first in the file.

    Examples
    --------
    >>> row_numbers(np.array([4])), row_numbers(np.arange(5))
    ('1 row (number 5)', '5 rows (numbers 1, 2, 3, ...)')
    """
    word = "number" if len(rows) == 1 else "numbers"
    return f"{plural(len(rows), 'row')} ({word} {first_numbers(rows)})"


def missing_in(column: Column, key: str, needed: str, section: str = "panel") -> list[str]:
    """Return the problem of rows without a value in a key column of person or time."""
    rows = np.flatnonzero(~column.is_observed)
    if not len(rows):
        return []
    return [
        f"{section}.{key}: column {column.name!r} is missing in {row_numbers(rows)}; every "
        f"row needs a {needed}"
    ]


def missing_times(column: Column) -> list[str]:
    """Return the problem of rows without a period."""
    return missing_in(column, "time", "period: fill it in, or remove these rows from the file")


def moments_of(column: Column) -> Moments:
    """Return the periods of a time column.

    Numbers, dates, ordered levels, and levels that are numbers have an order.
    """
    problems = Problems(missing_times(column))
    kind = column.variable.kind
    if kind is Kind.CATEGORICAL and not are_numbers(column.variable.levels):
        problems.append(_unordered(column))
    if kind is Kind.ID:
        problems.append(
            f"panel.time: column {column.name!r} was read as an identifier; declare its kind: "
            "numeric, date or ordered"
        )
    problems.settle(DataError)
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
    """Return the problem of periods that are words; if most are numbers, of the other rows."""
    name, levels = column.name, column.variable.levels
    declare = (
        f"declare variables.{name}.kind: ordered, and variables.{name}.levels: all in order of time"
    )
    odd = [code for code, level in enumerate(levels) if not are_numbers((level,))]
    rows = np.flatnonzero(np.isin(column.data, odd))
    if 2 * len(rows) < len(column):
        return (
            f"panel.time: column {name!r} has a period that is not a number in "
            f"{row_numbers(rows)}; correct these cells, or remove the rows from the "
            f"file. If these are periods, too, {declare}"
        )
    return (
        f"panel.time: the periods of column {name!r} are words without an order; {declare}, or, "
        "if they are dates, kind: date and their date_format"
    )


def are_numbers(levels: Iterable[str]) -> bool:
    """Whether all of some levels are finite numbers."""
    return all(finite_number(level) is not None for level in levels)


def natural_order(period: str) -> tuple[list[int], list[tuple[int, int, str]]]:
    """Return the sort key of periods that are words: year, then numbers, then names of months.

    The order is a guess.

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
