"""Which codes each row may have, so that a model can draw among these at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from synthesizer.data.codes import Combinations, column_values
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Table, Variable
from synthesizer.models.kit.numerics import drawn_classes, even_uniform
from synthesizer.models.kit.predictors import Float32Array

Mask = Callable[[IntArray], BoolArray]
"""Says which codes the rows at some positions may have, shape (k, n_codes)."""

MOST_CELLS = 2**26
"""Combinations of the earlier variables that occur, times values, that are looked up."""
AT_ONCE = 4_000_000
"""Rows times codes that are held at once."""
LEAST_CHANCE = 0.01
"""Chance of what is allowed, below which a wider neighbourhood is asked."""
STEPS = (0, 2, 8)
"""Neighbourhoods that are asked; the last one decides whatever its chance."""
ROUNDS, CLOSE = 20, 1e-3
"""Of the proportional fitting of what is refused: rounds, and change that ends it."""
MOST_ODDS = 50.0
"""How much more, or less, often it makes a code at most."""


@dataclass(frozen=True, eq=False)
class Chances:
    """How likely a model draws each code in each row."""

    shares: Float32Array
    """Shape (n, n_codes); the rows sum to 1."""
    groups: IntArray | None = None
    """The draws of rows with the same number are spread evenly; None if all are independent."""

    @classmethod
    def concatenate(cls, parts: Sequence[Chances]) -> Self:
        """Stack rows; those of different parts are of different groups."""
        groups, start = [], 0
        for part in parts:
            own = np.arange(len(part.shares)) if part.groups is None else part.groups
            groups.append(own + start)
            start += 1 + int(own.max(initial=0))
        return cls(np.concatenate([part.shares for part in parts]), np.concatenate(groups))

    def take(self, rows: IntArray) -> Chances:
        """Return some rows."""
        groups = None if self.groups is None else self.groups[rows]
        return Chances(self.shares[rows], groups)

    def with_shares(self, shares: Float32Array) -> Chances:
        """Return other chances of the same rows."""
        return replace(self, shares=shares)

    def drawn(self, factors: Float32Array, rng: np.random.Generator) -> npt.NDArray[np.int32]:
        """Draw a code for each row in proportion to its chances times factors, (n_codes,) or (1,).

        Some of them must be above 0.
        """
        n_rows = len(self.shares)
        uniform = rng.random(n_rows) if self.groups is None else even_uniform(self.groups, rng)
        weights = self.shares * factors
        return np.asarray(drawn_classes(weights, uniform)[0], dtype=np.int32)


ChancesOf = Callable[[IntArray, int], Chances | None]
"""Tells the chances of the rows at some positions, so many steps wider than the row's own
neighbourhood; None where a model cannot."""


def evened(shares: Float32Array, free: Float32Array) -> Float32Array:
    """Return factors with which limited rows draw each code as often as free ones, (n_codes,).

    Rows draw in proportion to their ``shares``, (n, n_codes), times the factors; without limits
    they would draw by the ``free`` ones: iterative proportional fitting (Deming and Stephan 1940),
    within `MOST_ODDS`. What is free in a row but no row may have, or is not counted, is drawn by
    the shares of that row.

    Examples
    --------
    >>> limited = np.array([[0.8, 0.2], [1.0, 0.0]])
    >>> odds = limited[0] * evened(limited, np.array([[0.8, 0.2], [0.7, 0.3]]))
    >>> (odds / odds.sum()).round(2).tolist()
    [0.5, 0.5]
    """
    counted = shares.any(axis=0).astype(shares.dtype)
    wanted = free.sum(axis=0, dtype=np.float64) * counted + (1.0 - free @ counted) @ shares
    factors = np.ones(len(wanted), dtype=shares.dtype)
    for _ in range(ROUNDS):
        sums = factors * ((1.0 / np.maximum(shares @ factors, 1e-30)) @ shares)
        ratio = np.divide(wanted, sums, out=np.ones_like(wanted), where=sums > 0)
        before, factors = factors, np.clip(factors * ratio, 1.0 / MOST_ODDS, MOST_ODDS)
        factors = factors.astype(shares.dtype)
        if np.allclose(factors, before, rtol=CLOSE, atol=0.0):
            break
    return factors


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
        rows: IntArray,
        chances: ChancesOf,
        reserve: Column | None,
        rng: np.random.Generator,
    ) -> tuple[Column, IntArray] | None:
        """Draw some rows among what they may have, and return for which there is nothing.

        Where the model leaves no chance values are as frequent as in the ``reserve``. All together
        draw each code as often as they would without limits, in so far as these leave that: what is
        refused in some rows is drawn the more often in others; see `evened`. None where the model
        cannot tell chances.
        """
        weights = np.full(self.variable.n_codes, 1e-9)
        if reserve is not None:
            weights += np.bincount(reserve.data, minlength=len(weights))
        left = []
        for part in np.array_split(rows, 1 + len(rows) * self.variable.n_codes // AT_ONCE):
            allowed = self.allowed(part)
            is_open = allowed.any(axis=1)
            left.append(part[~is_open])
            part = part[is_open]
            own = chances(part, STEPS[0])
            if own is None:
                return None
            within = self._within(part, allowed[is_open], own, chances, weights)
            if within is None:
                return None
            codes = own.with_shares(within).drawn(evened(within, own.shares), rng)
            column = column.replaced(part, Column(self.variable, codes))
        return column, np.sort(np.concatenate(left))

    def _within(
        self,
        rows: IntArray,
        allowed: BoolArray,
        own: Chances,
        chances: ChancesOf,
        weights: FloatArray,
    ) -> Float32Array | None:
        """Return the shares of what is allowed in each row, shape (n, n_codes)."""
        within = np.zeros_like(own.shares)
        places: IntArray = np.arange(len(rows))
        for steps in STEPS:
            wider = own if steps == STEPS[0] else chances(rows[places], steps)
            if wider is None:
                return None
            inside = wider.shares * allowed[places]
            total = inside.sum(axis=1)
            good = total >= LEAST_CHANCE if steps < STEPS[-1] else total > 0.0
            within[places[good]] = inside[good] / total[good, None]
            places = places[~good]
            if not len(places):
                break
        within[places] = allowed[places] * weights
        within[places] /= within[places].sum(axis=1, keepdims=True)
        return within


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
