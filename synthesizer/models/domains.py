"""Which codes each row may have, so that a model can draw among these at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from synthesizer.data.codes import Combinations, column_values
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Table, Variable

Mask = Callable[[IntArray], BoolArray]
"""Says which codes the rows at some positions may have, shape (k, n_codes)."""

Within = Callable[[IntArray, BoolArray, int], tuple[Column, FloatArray] | None]
"""Draws for the rows at some positions among the codes that each may have, so many steps wider than
the row's own neighbourhood; with the chance of any of these codes. None where a model cannot."""

MOST_CELLS = 2**26
"""Combinations of the earlier variables that occur, times values, that are looked up."""
AT_ONCE = 4_000_000
"""Rows times codes that are held at once."""
LEAST_CHANCE = 0.01
"""Chance of what is allowed, below which a wider neighbourhood is asked."""
STEPS = (0, 2, 8)
"""Neighbourhoods that are asked; the last one decides whatever its chance."""


@dataclass(frozen=True, eq=False)
class Masks:
    """The codes that rows may have: firm limits, and others that give way one by one."""

    variable: Variable
    firm: tuple[Mask, ...] = ()
    soft: tuple[Mask, ...] = ()

    def allowed(self, rows: IntArray) -> BoolArray:
        """Return the codes that keep to the firm limits, and to each other that leaves some."""
        may = np.ones((len(rows), self.variable.n_codes), dtype=bool)
        for mask in self.firm:
            may &= mask(rows)
        for mask in self.soft:
            narrower = may & mask(rows)
            some = narrower.any(axis=1)
            may[some] = narrower[some]
        return may

    @property
    def strict(self) -> Masks:
        """The same, all of them firm."""
        return replace(self, firm=(*self.firm, *self.soft), soft=())

    def changed(self, change: Callable[[Mask], Mask]) -> Masks:
        """Return other masks of each limit."""
        firm, soft = (tuple(map(change, masks)) for masks in (self.firm, self.soft))
        return replace(self, firm=firm, soft=soft)

    def of_rows(self, rows: IntArray) -> Masks:
        """Return the masks of a part of the rows, counted within the part."""
        return self.changed(lambda mask: lambda chosen: mask(rows[chosen]))

    def and_judge(self, judge: Callable[[IntArray, Column], BoolArray]) -> Masks:
        """Return masks that hold to a judge of values, too."""
        return replace(self, firm=(*self.firm, mask_of(judge, self.variable)))

    def drawn(
        self,
        column: Column,
        bad: IntArray,
        within: Within,
        reserve: Column | None,
        rng: np.random.Generator,
    ) -> tuple[Column, IntArray] | None:
        """Draw some rows among what they may have, and return for which there is nothing.

        Where the model leaves no chance values are as frequent as in the ``reserve``. None where
        the model cannot draw so.
        """
        weights = np.full(self.variable.n_codes, 1e-9)
        if reserve is not None:
            weights += np.bincount(reserve.data, minlength=len(weights))
        left = []
        for rows in np.array_split(bad, 1 + len(bad) * self.variable.n_codes // AT_ONCE):
            allowed = self.allowed(rows)
            open_to = np.flatnonzero(allowed.any(axis=1))
            left.append(np.delete(rows, open_to))
            for steps in STEPS:
                if not len(open_to):
                    break
                drawn = within(rows[open_to], allowed[open_to], steps)
                if drawn is None:
                    return None
                values, chance = drawn
                good = chance >= LEAST_CHANCE if steps < STEPS[-1] else chance > 0.0
                column = column.replaced(rows[open_to[good]], values.take(good))
                open_to = open_to[~good]
            cumulated = np.cumsum(allowed[open_to] * weights, axis=1)
            points = rng.random(len(open_to)) * cumulated[:, -1]
            codes = (points[:, None] >= cumulated).sum(axis=1).astype(np.int32)
            column = column.replaced(rows[open_to], Column(self.variable, codes))
        return column, np.sort(np.concatenate(left))


def mask_of(judge: Callable[[IntArray, Column], BoolArray], variable: Variable) -> Mask:
    """Return the codes of each row that a judge allows, all of which it is asked about."""

    def mask(rows: IntArray) -> BoolArray:
        codes = np.tile(np.arange(variable.n_codes, dtype=np.int32), len(rows))
        bad = judge(np.repeat(rows, variable.n_codes), Column(variable, codes))
        return ~bad.reshape(len(rows), variable.n_codes)

    return mask


@dataclass(frozen=True, eq=False)
class Lookup:
    """Combinations with a variable, looked up for rows whose other values are known."""

    keys: IntArray
    """Which of the combinations of the other variables each row has, shape (n,)."""
    may: BoolArray
    """Whether a value goes with each of these; the last one stands for all other values."""
    values: FloatArray
    """Those values, rising."""

    @classmethod
    def of(
        cls, table: Table, combinations: Combinations, known: IntArray, *, excludes: bool
    ) -> Self | None:
        """Look up what ``known`` allows, or excludes; None where that is too much.

        ``table`` holds all variables but the last of the combinations.
        """
        values, n_values = combinations.values[-1], len(combinations.values[-1])
        others = Combinations(combinations.names[:-1], combinations.values[:-1])
        if not (combinations.are_counted and others.names and set(others.names) <= set(table)):
            return None
        numbers, keys = np.unique(others.numbers(table), return_inverse=True)
        if len(numbers) * (n_values + 1) > MOST_CELLS:
            return None
        may = np.full((len(numbers), n_values + 1), excludes)
        place = np.minimum(np.searchsorted(numbers, known // n_values), len(numbers) - 1)
        there = numbers[place] == known // n_values
        may[place[there], known[there] % n_values] = not excludes
        return cls(keys, may, values)

    def broken(self, rows: IntArray, column: Column) -> BoolArray:
        """Return which values may not be drawn for the rows at some positions."""
        return ~self.may[self.keys[rows], self._places(column_values(column))]

    def mask(self, variable: Variable) -> Mask:
        """Return which codes rows may have."""
        may = self.may[:, self._places(np.arange(variable.n_codes, dtype=np.float64))]
        return lambda rows: may[self.keys[rows]]

    def _places(self, values: FloatArray) -> Sequence[int] | IntArray:
        place = np.minimum(np.searchsorted(self.values, values), len(self.values) - 1)
        return np.where(self.values[place] == values, place, len(self.values))
