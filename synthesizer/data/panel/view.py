"""One row a person: what checks that count persons look at."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np

from synthesizer.data.panel.frame import person_summary
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Rows, Table
from synthesizer.data.writing import number_texts

ABSENT = "(absent)"
"""Missing code of a variable in a period in which the person is not there."""
OTHERS = "(other states)"
"""Rare states of careers together."""


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


def changed_rows(column: Column, other: IntArray) -> BoolArray:
    """Return where a row's value or missing code differs from that of row ``other``, shape (r,)."""
    return differing(column, column.take(other))


def changers(index: PanelIndex, column: Column) -> BoolArray:
    """Return which persons ever have another value than in their first row, shape (n_persons,)."""
    other = changed_rows(column, index.starts[index.person])
    return np.asarray(np.bincount(index.person[other], minlength=index.n_persons) > 0)


def differing(column: Column, other: Column) -> BoolArray:
    """Return where values or missing codes of two columns of a variable differ, shape (n,).

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> pay = Variable(name="pay", kind=Kind.NUMERIC)
    >>> one = Column(pay, np.array([1.0, 2.0]))
    >>> differing(one, one.take(np.array([0, 0]))).tolist()
    [False, True]
    """
    same = column.data == other.data
    if column.states is not None or other.states is not None:
        states, others = column.missing_state(), other.missing_state()
        same = np.where(states == 0, same, True) & (states == others)
    return np.asarray(~same)


class PersonView(Table):
    """One row a person, which knows the panel behind it: parts of it are parts of the panel."""

    def __init__(self, columns: Iterable[Column], panel: PanelTable) -> None:
        super().__init__(columns, panel.n_units)
        self.panel = panel

    def take(self, rows: Rows) -> PersonView:
        """Return some persons, with all rows of their panel."""
        persons = np.arange(self.n_rows)[rows]
        own = super().take(persons)
        return PersonView(own.columns, self.panel.take_units(persons))

    def with_variables(self, names: Sequence[str]) -> PersonView:
        """Return the same persons with some variables of their panel only."""
        return PersonView(self.columns, self.panel.select(names))


def person_view(
    table: PanelTable,
    *,
    career: str | None,
    constant: Collection[str],
    periods: Sequence[tuple[str, int]] = (),
    time: str | None = None,
) -> PersonView:
    """Return one row a person, shape (n_persons, ...).

    The columns: attributes of the career, the variables that nobody changes, and of the others the
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
        columns += [_named(at_period(table, column, t), label) for label, t in periods]
    return PersonView(columns, table)


def _named(column: Column, label: str) -> Column:
    variable = replace(column.variable, name=f"{column.name}@{label}")
    return Column(variable, column.data, column.states)


def at_period(table: PanelTable, column: Column, period: int) -> Column:
    """Return the value of every person in one period, ``(absent)`` where there is none."""
    rows = table.index.by_period[period]
    persons = table.index.person[rows]
    variable = replace(column.variable, missing=(*column.variable.missing, ABSENT))
    n = table.n_units
    if column.is_coded:
        data = np.full(n, variable.n_codes - 1, dtype=np.int32)
        data[persons] = column.data[rows]
        return Column(variable, data)
    numbers: FloatArray = np.full(n, np.nan)
    numbers[persons] = column.data[rows]
    states = np.full(n, len(variable.missing), dtype=np.int8)
    states[persons] = column.missing_state()[rows]
    return Column(variable, numbers, states)
