"""What a panel's chain knows besides its variables: the periods, and which one is the career."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from synthesizer.data.panel.panel_table import PanelIndex, PanelTable, as_panel
from synthesizer.data.table import (
    BoolArray,
    Column,
    FloatArray,
    IntArray,
    Kind,
    Schema,
    Table,
    Variable,
)

PREFIX = "career."
"""What the names of derived columns start with; they are never written to a dataset."""


def _number(name: str, values: IntArray | FloatArray) -> Column:
    whole = bool((values == np.rint(values)).all())
    variable = Variable(name=PREFIX + name, kind=Kind.NUMERIC, decimals=0 if whole else None)
    return Column(variable, np.asarray(values, dtype=np.float64))


def person_summary(index: PanelIndex, states: Column | None = None) -> tuple[Column, ...]:
    """Return person-level attributes of the careers, each with n_persons values.

    First and last period (as moments), periods, gaps; with ``states`` also the number of moves
    and of states, and the first, last and most frequent state (ties: the one earlier in the
    alphabet of the variable).

    Examples
    --------
    >>> seen = np.array([[True, False, True], [False, True, False]])
    >>> index = PanelIndex.of_presence(seen, np.arange(3.0))
    >>> {column.name: column.data.tolist() for column in person_summary(index)}
    {'career.first': [0.0, 1.0], 'career.last': [2.0, 1.0], 'career.periods': [2.0, 1.0], \
'career.gaps': [1.0, 0.0]}
    """
    ends = index.starts + index.counts - 1
    jumps = (np.diff(index.period, prepend=0) > 1) & ~index.is_first
    columns = [
        _number("first", index.times[index.period[index.starts]]),
        _number("last", index.times[index.period[ends]]),
        _number("periods", index.counts),
        _number("gaps", _count(index, jumps)),
    ]
    if states is not None:
        columns += _of_states(index, states, ends)
    return tuple(columns)


def _count(index: PanelIndex, rows: BoolArray) -> IntArray:
    return np.bincount(index.person[rows], minlength=index.n_persons)


def _of_states(index: PanelIndex, states: Column, ends: IntArray) -> Iterator[Column]:
    codes = np.asarray(states.data, dtype=np.int64)
    n_codes = states.variable.n_codes
    pairs, counts = np.unique(index.person * n_codes + codes, return_counts=True)
    person = pairs // n_codes
    # the last write wins: rising counts, so the most frequent state of a person stays
    order = np.lexsort((-pairs, counts))
    main = np.empty(index.n_persons, dtype=np.int32)
    main[person[order]] = pairs[order] % n_codes
    yield _number("moves", _count(index, moved(index, states)))
    yield _number("states", np.bincount(person, minlength=index.n_persons))
    for name, data in (
        ("first_state", states.data[index.starts]),
        ("last_state", states.data[ends]),
        ("main_state", main),
    ):
        yield Column(_state_variable(states.variable, name), np.asarray(data, dtype=np.int32))


def _state_variable(variable: Variable, name: str) -> Variable:
    return Variable(
        name=PREFIX + name, kind=variable.kind, levels=variable.levels, missing=variable.missing
    )


def moved(index: PanelIndex, states: Column) -> BoolArray:
    """Return where the state is another one than in the person's row before, shape (r,)."""
    return np.asarray((np.diff(states.data, prepend=-1) != 0) & ~index.is_first)


def row_summary(index: PanelIndex, states: Column | None = None) -> tuple[Column, ...]:
    """Return attributes of every row, which only look back: shape (r,).

    Rows of the person so far; with ``states`` also the rows since the last move.

    Examples
    --------
    >>> seen = np.array([[True, False, True], [False, True, False]])
    >>> index = PanelIndex.of_presence(seen, np.arange(3.0))
    >>> {column.name: column.data.tolist() for column in row_summary(index)}
    {'career.so_far': [1.0, 2.0, 1.0]}
    """
    position = np.arange(index.n_rows)
    columns = [_number("so_far", position - index.starts[index.person] + 1)]
    if states is not None:
        fresh = index.is_first | moved(index, states)
        since = np.maximum.accumulate(np.where(fresh, position, 0))
        columns.append(_number("in_state", position - since))
    return tuple(columns)


BLOCK_ROWS, BLOCK_PERSONS = 50_000, 5_000
"""Rows, or persons, drawn with one generator; constants, since the draws depend on them."""


@dataclass(frozen=True)
class RowFrame:
    """The frame of a plain table: a row is a unit, and there are no careers.

    Examples
    --------
    >>> ROWS.started(3).n_rows, ROWS.derived
    (3, ())
    """

    career = time = None
    derived: ClassVar[tuple[str, ...]] = ()
    personal: ClassVar[tuple[str, ...]] = ()
    n_careers = 0

    @property
    def block(self) -> int:
        """Rows drawn with one generator."""
        return BLOCK_ROWS

    def started(self, n_rows: int) -> Table:
        """Return rows of which nothing is drawn yet."""
        return Table((), n_rows)

    def opened(self, *careers: object) -> Table:  # noqa: ARG002
        """Refuse careers: the chain was altered."""
        raise TypeError("rows have no careers")

    def completed(self, table: Table) -> Table:
        """Return the table as it is."""
        return table

    def finished(self, table: Table, schema: Schema) -> Table:
        """Return the schema's columns of what was drawn, with ids numbered from 1."""
        numbers = np.arange(1, table.n_rows + 1, dtype=np.float64)
        return Table(
            (
                Column(variable, numbers) if variable.kind is Kind.ID else table[variable.name]
                for variable in schema
            ),
            table.n_rows,
        )


ROWS: Final = RowFrame()


@dataclass(frozen=True, eq=False, kw_only=True)
class Frame:
    """The periods of a panel and its career variable."""

    periods: Column
    """One row a period, in order: what the variable of time holds."""
    times: FloatArray
    """Moments of the periods, shape (T,)."""
    career: str | None = None
    """The variable of the careers; None where only presence is a career."""
    n_careers: ClassVar[int] = 1

    def __post_init__(self) -> None:
        rising = len(self.times) and (np.diff(self.times) > 0).all()
        if not rising or len(self.times) != len(self.periods):
            raise ValueError("the periods of a panel must rise")

    @property
    def block(self) -> int:
        """Persons drawn with one generator."""
        return BLOCK_PERSONS

    @property
    def time(self) -> str:
        """Name of the variable of time."""
        return self.periods.name

    @property
    def derived(self) -> tuple[str, ...]:
        """Names of what follows from the careers: time and their attributes."""
        return (self.time, *self.personal, *self._names[1])

    @property
    def personal(self) -> tuple[str, ...]:
        """Names of those attributes that are one value a person."""
        return self._names[0]

    @property
    def _names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the attributes of persons, and of those of rows."""
        seen = np.ones((1, 1), dtype=bool)
        index = PanelIndex.of_presence(seen, self.times[:1])
        states = None
        if self.career is not None:
            states = Column(
                Variable(name=self.career, kind=Kind.CATEGORICAL, levels=("",)),
                np.zeros(1, dtype=np.int32),
            )
        return (
            tuple(column.name for column in person_summary(index, states)),
            tuple(column.name for column in row_summary(index, states)),
        )

    def started(self, n_persons: int) -> PanelTable:
        """Return persons about whom nothing is drawn yet."""
        return PanelTable((), PanelIndex.of_persons(n_persons, self.times))

    def opened(self, table: Table, index: PanelIndex, states: Column | None) -> PanelTable:
        """Return the rows of the careers, with everything that follows from them."""
        panel = as_panel(table).opened(index)
        return self.completed(panel if states is None else panel.with_column(states))

    def completed(self, table: Table) -> PanelTable:
        """Add time and the attributes of the careers: predictors of what is drawn later."""
        table = as_panel(table)
        index = table.index
        states = None if self.career is None else table[self.career]
        table = table.with_column(self.periods.take(index.period))
        for column in person_summary(index, states):
            table = table.with_column(table.spread(column))
        for column in row_summary(index, states):
            table = table.with_column(column)
        return table

    def finished(self, table: Table, schema: Schema) -> Table:
        """Return the schema's columns of what was drawn; the form numbers the persons."""
        return table.select(schema.names)
