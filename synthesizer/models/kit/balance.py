"""Balanced draws: two-way tables of a target with its predictors have nearly expected counts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy

from synthesizer.data.table import FloatArray, IntArray
from synthesizer.models.kit.kernels import Float32Array, Int32Array, choose_again, drawn_classes
from synthesizer.models.kit.numerics import even_uniform, joined

MIN_BALANCED_ROWS = 100
"""Fewer rows are drawn without balance."""
MAX_GROUPS, MIN_CELL_ROWS = 20, 6
"""Groups of a variable in a balanced table; mean number of rows in a cell of two variables."""
PULL, SWEEPS, BATCHES = 60.0, 1, 150
"""Strength of the pull towards expected counts, rounds over all rows, and parts of a round. A part
is drawn at once: a pull above `BATCHES` would overshoot, as would a large one of few rows, which
`kernels.MAX_TILT` limits."""
MIN_CHANCE = 1e-7
"""A row does not move to classes that are less probable."""


@dataclass(frozen=True, eq=False)
class Groups:
    """A factor whose table with the target is balanced: neighbouring codes are one group."""

    group: Int32Array
    """Group of each row, shape (n,)."""
    n_groups: int

    @classmethod
    def of(cls, codes: IntArray) -> Self:
        """Join the neighbouring codes of n rows."""
        counts = np.bincount(codes)
        occurs = counts > 0
        group = np.zeros(len(counts), dtype=np.int32)
        group[occurs] = joined(counts[occurs].astype(np.float64), _most_groups(len(codes)))
        return cls(group[codes], int(group.max(initial=-1)) + 1)


def _most_groups(n_rows: int) -> int:
    return min(MAX_GROUPS, int((n_rows / MIN_CELL_ROWS) ** 0.5))


@dataclass(frozen=True, eq=False)
class Balance:
    """Balances the draws of a target: its tables with each factor have nearly expected counts.

    A factor is a grouping of the rows, such as a predictor in 20 groups. Independent draws of n
    rows give every two-way table the noise of a sample of n. Here the rows choose again, one after
    the other, with probability proportional to p exp(-d / 2), where p is the model's probability
    and d the weighted sum of squared differences between all counts and their expectations: a
    Gibbs sampler (Geman and Geman 1984, IEEE PAMI 6) for balanced sampling (Deville and Tille 2004,
    Biometrika 91). Expectations come from the model and the drawn predictors alone.
    """

    cells: IntArray
    """The group of each row in each factor, numbered over all factors, shape (n, J)."""
    groups: IntArray
    """The group of each class of the target, shape (K,)."""
    excess: Float32Array
    """Counts minus expectations, shape (cells, groups); of the rows that were drawn before."""

    @classmethod
    def of(
        cls, factors: Iterable[Groups], n_rows: int, shares: FloatArray, order: IntArray
    ) -> Self | None:
        """Return the balance of n rows; None for few rows, or a target with one group.

        The classes of the target have ``shares`` and an ``order``, both of shape (K,);
        neighbouring ones are joined to groups.
        """
        groups = np.empty(len(shares), dtype=np.int64)
        groups[order] = joined(shares[order], _most_groups(n_rows))
        if n_rows < MIN_BALANCED_ROWS or not groups.any():
            return None
        factors = [*factors]
        first = np.append(0, np.cumsum([factor.n_groups for factor in factors])).astype(np.int32)
        cells = np.empty((n_rows, len(factors)), dtype=np.int32)
        for j, factor in enumerate(factors):
            np.add(factor.group, first[j], out=cells[:, j])
        return cls(cells, groups, np.zeros((first[-1], int(groups.max()) + 1), dtype=np.float32))

    def balanced(
        self, weights: Float32Array, classes: IntArray, rows: slice, rng: np.random.Generator
    ) -> IntArray:
        """Return the classes of some rows after the rows have chosen again.

        ``weights``, shape (k, K), are proportional to the model's probabilities, from which
        ``classes`` were drawn. The counts of earlier calls stay as they are.
        """
        cells, excess = self.cells[rows], self.excess
        n_rows, n_factors = cells.shape
        codes = np.eye(excess.shape[1], dtype=np.float32)
        chances = weights @ codes[self.groups]
        chances /= chances @ np.ones((len(codes), 1), dtype=np.float32)
        first = self.groups[classes]
        ends = np.arange(0, n_rows * n_factors + 1, n_factors)
        ones = np.ones(cells.size, dtype=np.float32)
        members = scipy.sparse.csr_array((ones, cells.ravel(), ends), (n_rows, len(excess))).T
        share = n_rows / len(self.cells)
        parts = np.concatenate([codes[first] - chances, chances * (1 - chances)], axis=1)
        beyond, variance = np.split(members @ parts, 2, axis=1)
        excess += beyond
        variance = np.maximum(variance / np.float32(share), np.float32(1))  # of all rows
        pull = PULL / n_factors / np.sqrt(variance * variance.mean(dtype=np.float64))
        pull = pull.astype(np.float32)
        chosen = first
        logs = np.where(chances > MIN_CHANCE, np.log(np.maximum(chances, MIN_CHANCE)), -np.inf)
        free = np.delete(np.arange(n_rows), np.nonzero(chances >= 1.0 - MIN_CHANCE)[0])
        for _ in range(SWEEPS):
            n_batches = min(math.ceil(BATCHES * share), len(free)) or 1
            ends = len(free) * np.arange(1, n_batches + 1) // n_batches
            order, uniform = rng.permutation(free), rng.random(len(free))
            chosen = choose_again(logs, chosen, cells, excess, pull, order, ends, uniform)
        if len(codes) == len(self.groups):  # a class each
            return np.asarray(np.argsort(self.groups)[chosen])
        result, moved = classes.copy(), np.flatnonzero(chosen != first)
        uniform = even_uniform(chosen[moved], rng)
        for group in range(len(codes)):
            inside, at = np.flatnonzero(self.groups == group), chosen[moved] == group
            shares = weights[np.ix_(moved[at], inside)]
            result[moved[at]] = inside[drawn_classes(shares, uniform[at])[0]]
        return result
