"""Rules from one period to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from synthesizer.data.table import BoolArray, Column
from synthesizer.panel.index import PanelIndex

__all__ = ["PathRule", "broken_steps", "last_observed"]


@dataclass(frozen=True, eq=False, kw_only=True)
class PathRule:
    """What the value of a variable may not do from a person's period to the next one.

    Parameters
    ----------
    variable : str
        A longitudinal variable.
    allowed : ndarray of bool, shape (n_codes, n_codes), or None
        Of a coded variable: whether a code (row) may be followed by another (column).
    non_decreasing : bool
        Whether an observed value may not fall below the nearest earlier observed one.
    text : str
        The rule in words.
    is_wish : bool
        Whether it gives way where other rules or structural zeros leave nothing else: what a model
        says of most persons, not what the configuration says of all.

    Examples
    --------
    >>> from synthesizer.data.schema import Kind, Variable
    >>> level = Variable(name="level", kind=Kind.ORDERED, levels=("low", "high"))
    >>> rule = PathRule(variable="level", non_decreasing=True, text="level never falls")
    >>> before = Column(level, np.array([0, 1], dtype=np.int32))
    >>> now = Column(level, np.array([1, 0], dtype=np.int32))
    >>> rule.broken(before, before, now).tolist()
    [False, True]
    """

    variable: str
    allowed: BoolArray | None = None
    non_decreasing: bool = False
    text: str = ""
    is_wish: bool = False

    def broken(self, before: Column, known: Column, now: Column) -> BoolArray:
        """Return where a step breaks the rule, shape (n,).

        Parameters
        ----------
        before : Column
            Values of the person's row before.
        known : Column
            The nearest earlier observed values; missing codes where there is none.
        now : Column
            Values of the row.
        """
        bad = np.zeros(len(now), dtype=bool)
        if self.allowed is not None:
            bad |= ~self.allowed[before.data.astype(np.intp), now.data.astype(np.intp)]
        if self.non_decreasing:
            bad |= known.is_observed & now.is_observed & (now.data < known.data)
        return bad

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a saved model."""
        return {
            "variable": self.variable,
            "allowed": None if self.allowed is None else self.allowed.astype(np.int8),
            "non_decreasing": self.non_decreasing,
            "text": self.text,
            "is_wish": self.is_wish,
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild from ``to_dict``; raises ValueError where the matrix is not square."""
        allowed = state["allowed"]
        if allowed is not None:
            allowed = np.asarray(allowed) != 0
            if allowed.ndim != 2 or allowed.shape[0] != allowed.shape[1]:
                raise ValueError("the matrix of allowed steps must be square")
        return cls(
            variable=str(state["variable"]),
            allowed=allowed,
            non_decreasing=bool(state["non_decreasing"]),
            text=str(state["text"]),
            is_wish=bool(state["is_wish"]),
        )


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
    known = last_observed(index, column).take(later)
    for rule in rules:
        bad[later] |= rule.broken(before, known, column.take(later))
    return bad
