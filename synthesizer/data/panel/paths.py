"""Rules for changes from one period to the next, and predictors from the past."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synthesizer.data.panel.panel_table import PanelIndex
from synthesizer.data.panel.view import changed_rows, differing
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Kind, Variable


@dataclass(frozen=True, eq=False, kw_only=True)
class PathRule:
    """A rule about how a variable may change from one period of a person to the next."""

    variable: str
    """A longitudinal variable."""
    allowed: BoolArray | None = None
    """Allowed next codes (columns) after each code (rows), shape (n_codes, n_codes)."""
    non_decreasing: bool = False
    """Whether an observed value must be at least the last observed one."""
    text: str = ""
    """The rule in words."""
    is_wish: bool = False
    """Whether it may be broken if other rules leave no value: a rule of a model."""

    def __post_init__(self) -> None:
        if self.allowed is not None and self.allowed.shape != (len(self.allowed),) * 2:
            raise ValueError("the matrix of allowed steps must be square")

    def broken(self, before: Column, latest: Column, now: Column) -> BoolArray:
        """Return where a step breaks the rule, shape (n,); ``latest`` are last observed values."""
        bad = np.zeros(len(now), dtype=bool)
        if self.allowed is not None:
            bad |= ~self.allowed[before.data.astype(np.intp), now.data.astype(np.intp)]
        if self.non_decreasing:
            bad |= latest.is_observed & now.is_observed & (now.data < latest.data)
        return bad


def last_observed(index: PanelIndex, column: Column) -> Column:
    """Return the person's last earlier observed value for every row, shape (r,).

    Without one it is the person's first value: a missing code, or the value of the row itself.
    """
    position = np.arange(index.n_rows)
    here = np.where(column.is_observed, position, -1)
    before = np.concatenate([[-1], np.maximum.accumulate(here)[:-1]])
    start = index.starts[index.person]
    return column.take(np.where(before >= start, before, start))


def broken_steps(index: PanelIndex, column: Column, rules: Sequence[PathRule]) -> BoolArray:
    """Return the rows of a panel that break any rule about ``column``, shape (r,)."""
    bad = np.zeros(index.n_rows, dtype=bool)
    later = np.flatnonzero(~index.is_first)
    before = column.take(later - 1)
    latest = last_observed(index, column).take(later)
    for rule in rules:
        bad[later] |= rule.broken(before, latest, column.take(later))
    return bad


OWN = "own."
"""Prefix of the names of these predictors."""

FORMER = OWN + "former "
"""Prefix of the names of bounds in the previous row."""

PAST = tuple(OWN + name for name in ("before", "changes", "since", "missing"))
"""Predictors from a person's earlier values; the last one only for variables with missing codes."""


def count_states(variable: Variable) -> int:
    """Return the number of states of a career: presence is the only one of a number."""
    return variable.n_codes if variable.is_coded else 1


def number_column(name: str, values: FloatArray) -> Column:
    """Return numbers as a column."""
    return Column(Variable(name=name, kind=Kind.NUMERIC), values)


def _columns(
    last: Column, known: Column, changes: FloatArray, since: FloatArray
) -> tuple[Column, ...]:
    """Return the predictors from the rows before and the last observed values."""
    states = [last.missing_state().astype(np.float64)] if last.variable.missing else []
    numbers = map(number_column, PAST[1:], (changes, since, *states))
    return value_before(last, known).renamed(PAST[0]), *numbers


def value_before(last: Column, known: Column) -> Column:
    """Return the last earlier observed values, or the missing codes of the rows before."""
    return last.replaced(known.is_observed, known.take(known.is_observed))


def past_columns(index: PanelIndex, column: Column, rows: IntArray) -> tuple[Column, ...]:
    """Return predictors from the past, for rows that are not the first of a person.

    They are the last observed value, the number of earlier changes, and the time since the last
    change (or since the first row). For variables with missing codes, also that of the row before.
    """
    position = np.arange(index.n_rows)
    changed = changed_rows(column, np.maximum(position - 1, 0)) & ~index.is_first
    total = np.cumsum(changed)
    changes: IntArray = total - total[index.starts[index.person]]
    mark = np.maximum.accumulate(np.where(changed | index.is_first, position, 0))
    moment = index.times[index.period]
    since = moment[rows] - moment[mark[rows - 1]]
    last, known = column.take(rows - 1), last_observed(index, column).take(rows)
    return _columns(last, known, changes[rows - 1].astype(np.float64), since)


class PastValues:
    """Past values of each person while a panel is drawn period by period."""

    def __init__(self, variable: Variable, n_persons: int) -> None:
        self.last = Column.zeros(variable, n_persons)
        self.known = Column.zeros(variable, n_persons)
        self.seen = np.zeros(n_persons, dtype=bool)
        self.changes = np.zeros(n_persons)
        self.since = np.zeros(n_persons)

    def columns(self, persons: IntArray, moment: float) -> tuple[Column, ...]:
        """Return the predictors of `past_columns` for these persons at one time."""
        since = moment - self.since[persons]
        last, known = self.last.take(persons), self.known.take(persons)
        return _columns(last, known, self.changes[persons], since)

    def learn(self, persons: IntArray, values: Column, moment: float) -> None:
        """Record the drawn values of some persons at one time."""
        new = ~self.seen[persons]
        moved = differing(values, self.last.take(persons)) & ~new
        self.since[persons[new | moved]] = moment
        self.changes[persons[moved]] += 1
        self.seen[persons] = True
        self.last = self.last.replaced(persons, values)
        settled = values.is_observed | new
        self.known = self.known.replaced(persons[settled], values.take(settled))
