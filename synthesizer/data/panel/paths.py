"""Rules from one period to the next."""

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
    """Of a coded variable: whether a code (row) may be followed by another (column), shape
    (n_codes, n_codes)."""
    non_decreasing: bool = False
    """Whether an observed value may not fall below the nearest earlier observed one."""
    text: str = ""
    """The rule in words."""
    is_wish: bool = False
    """Whether it gives way where other rules or structural zeros leave nothing else: what a model
    declares for most persons, not for all."""

    def __post_init__(self) -> None:
        if self.allowed is not None and self.allowed.shape != (len(self.allowed),) * 2:
            raise ValueError("the matrix of allowed steps must be square")

    def broken(self, before: Column, latest: Column, now: Column) -> BoolArray:
        """Return where a step breaks the rule, shape (n,); ``latest``: the last observed value."""
        bad = np.zeros(len(now), dtype=bool)
        if self.allowed is not None:
            bad |= ~self.allowed[before.data.astype(np.intp), now.data.astype(np.intp)]
        if self.non_decreasing:
            bad |= latest.is_observed & now.is_observed & (now.data < latest.data)
        return bad


def last_observed(index: PanelIndex, column: Column) -> Column:
    """Return the person's nearest earlier observed value for every row, shape (r,).

    Where there is none, the person's first value, which is then a missing code or the row's own.
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
"""What the names of these predictors start with."""

FORMER = OWN + "former "
"""What the names of numbers start with that bounds had in the row before."""

PAST = tuple(OWN + name for name in ("before", "changes", "since"))
"""The predictors that look back on a person's own values."""


def _number(name: str, values: FloatArray) -> Column:
    return Column(Variable(name=OWN + name, kind=Kind.NUMERIC), values)


def _columns(before: Column, changes: FloatArray, since: FloatArray) -> tuple[Column, ...]:
    return before.renamed(PAST[0]), _number("changes", changes), _number("since", since)


def past_columns(index: PanelIndex, column: Column, rows: IntArray) -> tuple[Column, ...]:
    """Return the predictors that look back, for rows that are not the first of a person.

    The value of the row before, the number of changes before this row, and the time since the
    last one (or since the first row).
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
    """The past of every person while a panel is drawn period by period."""

    def __init__(self, variable: Variable, n_persons: int) -> None:
        self.last = Column.zeros(variable, n_persons)
        self.known = Column.zeros(variable, n_persons)
        self.seen = np.zeros(n_persons, dtype=bool)
        self.changes = np.zeros(n_persons)
        self.since = np.zeros(n_persons)

    def columns(self, persons: IntArray, moment: float) -> tuple[Column, ...]:
        """Return what `past_columns` does, for rows of these persons at one moment."""
        since = moment - self.since[persons]
        return _columns(self.last.take(persons), self.changes[persons], since)

    def learn(self, persons: IntArray, values: Column, moment: float) -> None:
        """Record the values that were drawn for some persons at one moment."""
        new = ~self.seen[persons]
        moved = differing(values, self.last.take(persons)) & ~new
        self.since[persons[new | moved]] = moment
        self.changes[persons[moved]] += 1
        self.seen[persons] = True
        self.last = self.last.replaced(persons, values)
        settled = values.is_observed | new
        self.known = self.known.replaced(persons[settled], values.take(settled))
