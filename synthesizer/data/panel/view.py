"""Attributes of careers, and tables with one row per person for checks that count persons."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np

from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.table import (
    BoolArray,
    Column,
    FloatArray,
    IntArray,
    Kind,
    Rows,
    Table,
    Variable,
)
from synthesizer.data.writing import number_texts

PREFIX = "career."
"""Prefix of derived columns, which are never written to a dataset."""


def _number(name: str, values: IntArray | FloatArray) -> Column:
    whole = bool((values == np.rint(values)).all())
    variable = Variable(name=PREFIX + name, kind=Kind.NUMERIC, decimals=0 if whole else None)
    return Column(variable, np.asarray(values, dtype=np.float64))


def person_summary(index: PanelIndex, states: Column | None = None) -> tuple[Column, ...]:
    """Return attributes of careers, each with n_persons values.

    They are first and last period (as times), number of periods, and gaps. With ``states`` also the
    number of moves and of states, and the first, last and most frequent state (ties: the first
    level).
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
        variable = replace(states.variable, name=PREFIX + name, decimals=None, storage={})
        yield Column(variable, np.asarray(data, dtype=np.int32))


def moved(index: PanelIndex, states: Column) -> BoolArray:
    """Return where the state differs from that of the person's previous row, shape (r,)."""
    return np.asarray((np.diff(states.data, prepend=-1) != 0) & ~index.is_first)


def row_summary(index: PanelIndex, states: Column | None = None) -> tuple[Column, ...]:
    """Return attributes of every row from the past, shape (r,).

    They are the rows of the person so far; with ``states`` also the rows since the last move.
    """
    position = np.arange(index.n_rows)
    columns = [_number("so_far", position - index.starts[index.person] + 1)]
    if states is not None:
        fresh = index.is_first | moved(index, states)
        since = np.maximum.accumulate(np.where(fresh, position, 0))
        columns.append(_number("in_state", position - since))
    return tuple(columns)


ABSENT = "(absent)"
"""Missing code of a variable in a period when the person is absent."""
OTHERS = "(other states)"
"""Level of all rare states of careers."""


def period_labels(periods: Column) -> tuple[str, ...]:
    """Return the periods as they are written."""
    if periods.is_coded:
        return tuple(periods.variable.labels[code] for code in periods.data)
    values = np.asarray(periods.data, dtype=np.float64)
    return tuple(number_texts(periods.variable, values).to_pylist())


def constant_names(table: PanelTable) -> frozenset[str]:
    """Return the variables that no person ever changes."""
    index = table.index
    return frozenset(
        c.name for c in table.columns if not changed_rows(c, index.starts[index.person]).any()
    )


def seen_names(
    names: Sequence[str], variables: Collection[str], career: str | None
) -> tuple[str, ...]:
    """Return the columns of a table of persons that show some variables of a panel.

    Examples
    --------
    >>> seen_names(("career.first", "sex", "job@first", "job@last"), ["sex", "job"], "state")
    ('sex', 'job@first', 'job@last')
    """
    return tuple(
        name
        for name in names
        if name.partition("@")[0] in variables or (career in variables and name.startswith(PREFIX))
    )


def changed_rows(column: Column, other: IntArray) -> BoolArray:
    """Return where a row's value or missing code differs from that of row ``other``, shape (r,)."""
    return differing(column, column.take(other))


def changers(index: PanelIndex, column: Column) -> BoolArray:
    """Return which persons ever have another value than in their first row, shape (n_persons,)."""
    has_changed = changed_rows(column, index.starts[index.person])
    return np.asarray(np.bincount(index.person[has_changed], minlength=index.n_persons) > 0)


def differing(column: Column, other: Column) -> BoolArray:
    """Return where values or missing codes of two columns of a variable differ, shape (n,)."""
    same = column.data == other.data
    if column.states is not None or other.states is not None:
        states, others = column.missing_state(), other.missing_state()
        same = np.where(states == 0, same, True) & (states == others)
    return np.asarray(~same)


class View(Table):
    """A table with one row per person for the checks, with the rows of the chain behind it."""

    whose: ClassVar[str] = "persons"
    """Word for the units."""
    shared: frozenset[str] = frozenset()
    """Variables in which all persons of a group agree."""
    groups: IntArray | None = None
    """Group number of each person, sorted, shape (n,); None without groups."""

    @property
    def panel(self) -> PanelTable:
        """The rows behind these persons."""
        raise NotImplementedError

    @property
    def heads(self) -> Table:
        """The first person of every group."""
        return self

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the rows behind."""
        return self.panel.names

    def follows(self, name: str) -> bool:  # noqa: ARG002
        """Whether a column is derived from groups and not a variable of a file."""
        return False

    @abstractmethod
    def with_variables(self, names: Sequence[str]) -> Self:
        """Return the same persons with some of these variables only."""

    def whole(self, names: Sequence[str]) -> Table:
        """Return the same persons with some columns, and all rows behind."""
        return self.select(names)


def follows(data: object, name: str) -> bool:
    """Whether a column is derived from groups of persons."""
    return isinstance(data, View) and data.follows(name)


def groups_of(data: object) -> IntArray | None:
    """Return the number of each person's group; None without groups."""
    return data.groups if isinstance(data, View) else None


def heads_of(data: Table) -> Table:
    """Return the first person of every group; all without groups."""
    return data.heads if isinstance(data, View) else data


class PersonView(View):
    """A table with one row per person, and the panel behind it; parts keep their panel."""

    def __init__(self, columns: Iterable[Column], panel: PanelTable) -> None:
        super().__init__(columns, panel.n_units)
        self._panel = panel

    @property
    def panel(self) -> PanelTable:
        """The panel behind it."""
        return self._panel

    def whole(self, names: Sequence[str]) -> PersonView:
        """Return the same persons with some columns, and their whole panel."""
        return PersonView(self.select(names).columns, self._panel)

    def take(self, rows: Rows) -> PersonView:
        """Return some persons, with all rows of their panel."""
        persons = np.arange(self.n_rows)[rows]
        view = super().take(persons)
        return PersonView(view.columns, self.panel.take_units(persons))

    def with_variables(self, names: Sequence[str]) -> PersonView:
        """Return the same persons with some variables of their panel only."""
        return PersonView(self.columns, self.panel.select(names))


def panel_of(view: Table) -> PanelTable:
    """Return the panel behind persons."""
    if not isinstance(view, PersonView):
        raise TypeError("a panel is seen as persons")
    return view.panel


def person_view(
    table: PanelTable,
    *,
    career: str | None,
    constant: Collection[str],
    periods: Sequence[tuple[str, int]] = (),
    time: str | None = None,
) -> PersonView:
    """Return one row per person, shape (n_persons, ...).

    The columns: attributes of the career, variables that never change, and of the others the
    value in the person's first and last period (``name@first``, ``name@last``) and in chosen
    periods (``name@1995``), in which the missing code ``(absent)`` stands for who is not there.
    """
    index = table.index
    states = table[career] if career is not None else None
    ends = index.starts + index.counts - 1
    columns: list[Column] = list(person_summary(index, states))
    for column in table.columns:
        if column.name == time:
            continue
        if column.name in constant:
            columns.append(column.take(index.starts))
            continue
        columns.append(_named(column.take(index.starts), "first"))
        columns.append(_named(column.take(ends), "last"))
        columns += [_named(in_period(table, column, t), label) for label, t in periods]
    return PersonView(columns, table)


def _named(column: Column, label: str) -> Column:
    return column.renamed(f"{column.name}@{label}")


def in_period(table: PanelTable, column: Column, period: int) -> Column:
    """Return the value of every person in one period, ``(absent)`` if absent."""
    variable = replace(column.variable, missing=(*column.variable.missing, ABSENT))
    absent = variable.n_codes - 1 if column.is_coded else len(variable.missing)
    return at_period(table, column, period, variable, absent)


def at_period(
    table: PanelTable, column: Column, period: int, variable: Variable, absent: int
) -> Column:
    """Return the value of every person in one period, or ``absent``."""
    rows = table.index.by_period[period]
    persons = table.index.person[rows]
    if column.is_coded:
        data = np.full(table.n_units, absent, dtype=np.int32)
        data[persons] = column.data[rows]
        return Column(variable, data)
    numbers: FloatArray = np.full(table.n_units, np.nan)
    numbers[persons] = column.data[rows]
    if not variable.missing:
        return Column(variable, numbers)
    states = np.full(table.n_units, absent, dtype=np.int8)
    states[persons] = column.missing_state()[rows]
    return Column(variable, numbers, states)
