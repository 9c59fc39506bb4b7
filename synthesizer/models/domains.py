"""Allowed codes of each row, so that a model draws among them directly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from synthesizer.data.codes import Combinations, column_values, positions_in
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Table, Variable
from synthesizer.models.kit.kernels import Float32Array, drawn_classes
from synthesizer.models.kit.numerics import even_uniform

Mask = Callable[[IntArray], BoolArray]
"""Returns the allowed codes of the rows at some positions, shape (k, n_codes)."""

MAX_LOOKUP_CELLS = 2**26
"""Combinations of earlier variables times values in a look-up table."""
MAX_BLOCK_CELLS = 4_000_000
"""Rows times codes of one block."""
MIN_CHANCE = 0.01
"""If allowed codes have a smaller probability, use a wider neighbourhood."""
NEIGHBOURHOODS = (0, 2, 8)
"""Steps up; the last neighbourhood is used for any probability."""
MAX_ROUNDS, MAX_CHANGE = 20, 1e-3
"""Stopping rule of the proportional fitting."""
MAX_ODDS = 50.0
"""Largest factor of a code, and its inverse the smallest."""


@dataclass(frozen=True, eq=False)
class Chances:
    """The probability of each code in each row."""

    shares: Float32Array
    """Shape (n, n_codes); the rows sum to 1."""
    groups: IntArray | None = None
    """Draws within a group are even; None if all are independent."""

    @classmethod
    def concatenate(cls, parts: Sequence[Chances]) -> Self:
        """Stack parts; their groups stay separate."""
        groups, start = [], 0
        for part in parts:
            part_groups = np.arange(len(part.shares)) if part.groups is None else part.groups
            groups.append(part_groups + start)
            start += 1 + int(part_groups.max(initial=0))
        return cls(np.concatenate([part.shares for part in parts]), np.concatenate(groups))

    def take(self, rows: IntArray) -> Chances:
        """Return some rows."""
        return Chances(self.shares[rows], None if self.groups is None else self.groups[rows])

    def with_shares(self, shares: Float32Array) -> Chances:
        """Return the same rows with other probabilities."""
        return replace(self, shares=shares)

    def drawn(self, factors: Float32Array, rng: np.random.Generator) -> npt.NDArray[np.int32]:
        """Draw a code for each row with probability proportional to its share times a factor.

        ``factors`` have shape (n_codes,) or (1,). Some products must be above 0.
        """
        n_rows = len(self.shares)
        uniform = rng.random(n_rows) if self.groups is None else even_uniform(self.groups, rng)
        return np.asarray(drawn_classes(self.shares * factors, uniform)[0], dtype=np.int32)


ChancesOf = Callable[[IntArray, int], Chances | None]
"""Returns the probabilities of the rows at some positions, from a neighbourhood that is wider by a
number of steps; None if the model cannot compute them."""


def evened(shares: Float32Array, free: Float32Array) -> Float32Array:
    """Return factors of codes that keep their total frequency in spite of limits, (n_codes,).

    Rows draw with probabilities proportional to their ``shares``, (n, n_codes), times the factors;
    without limits they would draw by the ``free`` shares. The factors are found by iterative
    proportional fitting (Deming and Stephan 1940), within `MAX_ODDS`. The probability of codes that
    no row may have goes to the shares of the same row.

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
    for _ in range(MAX_ROUNDS):
        sums = factors * ((1.0 / np.maximum(shares @ factors, 1e-30)) @ shares)
        ratio = np.divide(wanted, sums, out=np.ones_like(wanted), where=sums > 0)
        before, factors = factors, np.clip(factors * ratio, 1.0 / MAX_ODDS, MAX_ODDS)
        factors = factors.astype(shares.dtype)
        if np.allclose(factors, before, rtol=MAX_CHANGE, atol=0.0):
            break
    return factors


@dataclass(frozen=True, eq=False)
class Masks:
    """Allowed codes of rows: firm limits, and soft limits that are dropped one by one."""

    variable: Variable
    firm: tuple[Mask, ...] = ()
    soft: tuple[Mask, ...] = ()

    def allowed(self, rows: IntArray) -> BoolArray:
        """Return the codes within all firm limits, and within soft limits if any code remains."""
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
        """The same limits, all firm."""
        return replace(self, firm=(*self.firm, *self.soft), soft=())

    def changed(self, change: Callable[[Mask], Mask]) -> Masks:
        """Return the masks after a change of each limit."""
        firm, soft = (tuple(map(change, masks)) for masks in (self.firm, self.soft))
        return replace(self, firm=firm, soft=soft)

    def of_rows(self, rows: IntArray) -> Masks:
        """Return the masks of some rows, whose positions count from 0."""
        return self.changed(lambda mask: lambda chosen: mask(rows[chosen]))

    def and_judge(self, judge: Callable[[IntArray, Column], BoolArray]) -> Masks:
        """Return the masks with one more firm limit, a judge of values."""
        return replace(self, firm=(*self.firm, mask_of(judge, self.variable)))

    def drawn(
        self,
        column: Column,
        rows: IntArray,
        chances: ChancesOf,
        reserve: Column | None,
        rng: np.random.Generator,
    ) -> tuple[Column, IntArray] | None:
        """Draw some rows among their allowed codes; also return the rows without one.

        If the model gives allowed codes no probability, they are as frequent as in the ``reserve``.
        In total each code is as frequent as without limits, if possible: codes that are forbidden
        in some rows become more frequent in others; see `evened`. None if the model cannot compute
        probabilities.
        """
        weights = np.full(self.variable.n_codes, 1e-9)
        if reserve is not None:
            weights += np.bincount(reserve.data, minlength=len(weights))
        without = []
        for part in np.array_split(rows, 1 + len(rows) * self.variable.n_codes // MAX_BLOCK_CELLS):
            allowed = self.allowed(part)
            is_open = allowed.any(axis=1)
            without.append(part[~is_open])
            part = part[is_open]
            usual = chances(part, NEIGHBOURHOODS[0])
            if usual is None:
                return None
            within = self._within(part, allowed[is_open], usual, chances, weights)
            if within is None:
                return None
            codes = usual.with_shares(within).drawn(evened(within, usual.shares), rng)
            column = column.replaced(part, Column(self.variable, codes))
        return column, np.sort(np.concatenate(without))

    def _within(
        self,
        rows: IntArray,
        allowed: BoolArray,
        usual: Chances,
        chances: ChancesOf,
        weights: FloatArray,
    ) -> Float32Array | None:
        """Return the probabilities of allowed codes in each row, shape (n, n_codes)."""
        within = np.zeros_like(usual.shares)
        todo: IntArray = np.arange(len(rows))
        for steps in NEIGHBOURHOODS:
            wider = usual if steps == NEIGHBOURHOODS[0] else chances(rows[todo], steps)
            if wider is None:
                return None
            inside = wider.shares * allowed[todo]
            total = inside.sum(axis=1)
            good = total >= MIN_CHANCE if steps < NEIGHBOURHOODS[-1] else total > 0.0
            within[todo[good]] = inside[good] / total[good, None]
            todo = todo[~good]
            if not len(todo):
                break
        within[todo] = allowed[todo] * weights
        within[todo] /= within[todo].sum(axis=1, keepdims=True)
        return within


def mask_of(judge: Callable[[IntArray, Column], BoolArray], variable: Variable) -> Mask:
    """Return the mask of a judge, which is called for all codes of each row."""

    def mask(rows: IntArray) -> BoolArray:
        codes = np.tile(np.arange(variable.n_codes, dtype=np.int32), len(rows))
        bad = judge(np.repeat(rows, variable.n_codes), Column(variable, codes))
        return ~bad.reshape(len(rows), variable.n_codes)

    return mask


@dataclass(frozen=True, eq=False)
class Lookup:
    """Allowed values of a variable, by the combination of other variables."""

    keys: IntArray
    """Combination of the other variables in each row, shape (n,)."""
    may: BoolArray
    """Whether a value is allowed; one row a combination, the last column: other values."""
    values: FloatArray
    """The values of the columns, rising."""

    @classmethod
    def of(
        cls, table: Table, combinations: Combinations, known: IntArray, *, excludes: bool
    ) -> Self | None:
        """Return the table of what ``known`` allows, or excludes; None if it would be too large.

        ``table`` has all variables but the last of the combinations.
        """
        values, n_values = combinations.values[-1], len(combinations.values[-1])
        others = Combinations(combinations.names[:-1], combinations.values[:-1])
        if not (combinations.are_counted and others.names and set(others.names) <= set(table)):
            return None
        numbers, keys = np.unique(others.numbers(table), return_inverse=True)
        if len(numbers) * (n_values + 1) > MAX_LOOKUP_CELLS:
            return None
        may = np.full((len(numbers), n_values + 1), excludes)
        indices = positions_in(numbers, known // n_values)
        there = indices >= 0
        may[indices[there], known[there] % n_values] = not excludes
        return cls(keys, may, values)

    def broken(self, rows: IntArray, column: Column) -> BoolArray:
        """Return which values are forbidden in the rows at some positions."""
        return ~self.may[self.keys[rows], positions_in(self.values, column_values(column))]

    def mask(self, variable: Variable) -> Mask:
        """Return the mask of allowed codes."""
        codes = np.arange(variable.n_codes, dtype=np.float64)
        may = self.may[:, positions_in(self.values, codes)]
        return lambda rows: may[self.keys[rows]]
