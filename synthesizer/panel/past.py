"""What a person's own past says of the next value: the nearest earlier value, and how it came."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from synthesizer.data.schema import Kind, Variable
from synthesizer.data.table import Column, FloatArray, IntArray
from synthesizer.panel.index import PanelIndex
from synthesizer.panel.view import changed_rows, differing

__all__ = ["OWN", "PAST", "Memory", "past_columns"]

OWN = "own."
"""What the names of these predictors start with."""

PAST = tuple(OWN + name for name in ("before", "changes", "since"))
"""The predictors that look back on a person's own values."""


def _number(name: str, values: FloatArray) -> Column:
    return Column(Variable(name=OWN + name, kind=Kind.NUMERIC), values)


def _columns(before: Column, changes: FloatArray, since: FloatArray) -> tuple[Column, ...]:
    value = Column(replace(before.variable, name=PAST[0]), before.data, before.states)
    return value, _number("changes", changes), _number("since", since)


def past_columns(index: PanelIndex, column: Column, rows: IntArray) -> tuple[Column, ...]:
    """Return the predictors that look back on a person's own values.

    The value of the row before, the number of changes before this row, and the time since the
    last one (or since the first row).

    Parameters
    ----------
    index : PanelIndex
        r rows.
    column : Column
        The variable, shape (r,).
    rows : ndarray of int
        Rows that are not the first of a person.
    """
    position = np.arange(index.n_rows)
    changed = changed_rows(column, np.maximum(position - 1, 0)) & ~index.is_first
    total = np.cumsum(changed)
    changes: IntArray = total - total[index.starts[index.person]]
    mark = np.maximum.accumulate(np.where(changed | index.is_first, position, 0))
    moment = index.times[index.period]
    since = moment[rows] - moment[mark[rows - 1]]
    return _columns(column.take(rows - 1), changes[rows - 1].astype(np.float64), since)


class Memory:
    """The same for every person while a panel is drawn period by period.

    Parameters
    ----------
    variable : Variable
        What is drawn.
    n_persons : int
        Persons.

    Examples
    --------
    >>> grade = Variable(name="grade", kind=Kind.NUMERIC, decimals=0)
    >>> memory, both = Memory(grade, 2), np.array([0, 1])
    >>> memory.learn(both, Column(grade, np.array([5.0, 7.0])), 0.0)
    >>> memory.learn(both, Column(grade, np.array([6.0, 7.0])), 1.0)
    >>> [column.data.tolist() for column in memory.columns(both, 2.0)]
    [[6.0, 7.0], [1.0, 0.0], [1.0, 2.0]]
    """

    def __init__(self, variable: Variable, n_persons: int) -> None:
        self.last = _blank(variable, n_persons)
        self.known = _blank(variable, n_persons)
        self.seen = np.zeros(n_persons, dtype=bool)
        self.changes = np.zeros(n_persons)
        self.since = np.zeros(n_persons)

    def columns(self, persons: IntArray, moment: float) -> tuple[Column, ...]:
        """Return what `past_columns` does, for rows of these persons at one moment."""
        since = moment - self.since[persons]
        return _columns(self.last.take(persons), self.changes[persons], since)

    def learn(self, persons: IntArray, values: Column, moment: float) -> None:
        """Take note of the values that were drawn for some persons at one moment."""
        new = ~self.seen[persons]
        moved = differing(values, self.last.take(persons)) & ~new
        self.since[persons[new | moved]] = moment
        self.changes[persons[moved]] += 1
        self.seen[persons] = True
        self.last = self.last.replaced(persons, values)
        told = values.is_observed | new
        self.known = self.known.replaced(persons[told], values.take(told))


def _blank(variable: Variable, n: int) -> Column:
    if variable.is_coded:
        return Column(variable, np.zeros(n, dtype=np.int32))
    states = np.zeros(n, dtype=np.int8) if variable.missing else None
    return Column(variable, np.zeros(n), states)
