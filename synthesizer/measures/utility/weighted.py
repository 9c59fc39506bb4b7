"""Estimates by the survey weight, original against synthetic, beside those without it.

Who analyses a survey weighs its records: shares of levels, tables of two variables, means and
totals must hold with the weights, which a synthesis draws like any variable. So everything is
compared twice, each file by its own weights. Tables are compared by their total variation, half the
sum of absolute differences of the shares of cells.

What is expected follows from the linearised variance of a weighted share p of a cell, sum w^2 (1 in
the cell - p)^2 / (sum w)^2, and of a weighted mean, sum w^2 (x - mean)^2 / (sum w)^2 (Särndal,
Swensson and Wretman 1992, Model assisted survey sampling, section 5.7), records taken as
independent: with n original and k synthetic records a right synthesis with fixed parameters is off
by n/k times it, a fresh sample of the population by 1 + n/k times it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from synthesizer.data.codes import Codes
from synthesizer.data.pairs import check_comparable
from synthesizer.data.table import FloatArray, Kind, Table
from synthesizer.measures.figure import Figure, Measured, Row, column
from synthesizer.measures.utility.cells import check_original, table_problems
from synthesizer.measures.utility.distributions import pair_groups
from synthesizer.measures.utility.equivalent_sample import MOST_LEVELS, MOST_PAIRS

_NORMAL = math.sqrt(2 / math.pi)
"""Mean size of a standard normal error."""


class WeightedTables(Row):
    """Total variation of all tables of one order, means over tables and datasets."""

    ways: int = column("Variables", "count", "order of the tables")
    unweighted: float = column("Unweighted", "share", "total variation; 0 is equal")
    unweighted_right: float = column("Right synthesis", "share", "expected without weights")
    weighted: float = column("Weighted", "share", "total variation of weighted shares")
    weighted_right: float = column("Right synthesis, weighted", "share", "expected with weights")


class WeightedVariable(Row):
    """One variable, means over the datasets; a variable with levels has no mean."""

    variable: str = column("Variable", "text")
    unweighted: float = column("Margin, unweighted", "share", "total variation of its shares")
    weighted: float = column("Margin, weighted", "share", "the same by weights")
    right: float = column("Right synthesis, weighted", "share", "expected with weights")
    original_mean: float | None = column("Original: weighted mean", "number")
    synthetic_mean: float | None = column("Synthetic: weighted mean", "number")
    unweighted_error: float | None = column(
        "Mean off in SE, unweighted", "number", "mean size, in standard errors of the original"
    )
    weighted_error: float | None = column("Mean off in SE, weighted", "number")
    total_ratio: float | None = column(
        "Total, ratio", "number", "weighted total of the synthetic data over the original's"
    )


class WeightedEstimates(Measured):
    """Shares, means and totals with and without the survey weight."""

    weight: str
    """The survey weight."""
    n: int
    """Original records."""
    n_synthetic: tuple[int, ...]
    """Records of each dataset."""
    proper: bool
    """Whether parameters were drawn anew for each dataset: right is then what a fresh sample is."""
    total_original: float
    """Sum of the weights in the original: how many it stands for."""
    total_synthetic: float
    """The same of the synthetic data, mean over the datasets."""
    tables: tuple[WeightedTables, ...]
    """Tables of one and of two variables."""
    variables: tuple[WeightedVariable, ...]
    """Every variable but the weight."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Weighted tables of pairs, weighted means, and the sum of the weights."""
        n = self.n + sum(self.n_synthetic)
        ratio = _off(self.n, self.n_synthetic, proper=self.proper)
        return (
            *self._of_pairs(n),
            *self._of_means(n, _NORMAL * math.sqrt(ratio)),
            Figure(
                key="weight_total",
                name="sum of weights",
                value=self.total_synthetic / self.total_original,
                meaning=f"sum of the weights ({self.weight}) in a synthetic dataset over that in "
                "the original; totals of numbers are off as much",
                direction="about 1 is good",
                n=n,
                original=1.0,
            ),
        )

    def _of_pairs(self, n: int) -> Iterator[Figure]:
        for row in self.tables:
            if row.ways == 2:
                yield Figure(
                    key="weighted_two_way",
                    name="weighted two-way distance",
                    value=row.weighted,
                    meaning=f"total variation of the tables of all pairs weighted by {self.weight},"
                    f" on average; of a right synthesis {row.weighted_right:.4f}; without weights "
                    f"{row.unweighted:.4f}, of a right synthesis {row.unweighted_right:.4f}",
                    direction="lower is better",
                    n=n,
                    chance=row.weighted_right,
                    original=0.0,
                )

    def _of_means(self, n: int, right: float) -> Iterator[Figure]:
        pairs = [
            (row.weighted_error, row.unweighted_error)
            for row in self.variables
            if row.weighted_error is not None and row.unweighted_error is not None
        ]
        if pairs:
            weighted, plain = np.mean(pairs, axis=0).tolist()
            yield Figure(
                key="weighted_means",
                name="weighted means off",
                value=weighted,
                meaning="mean size of the errors of the weighted means of numbers, in standard "
                f"errors of the original; of a right synthesis {right:.2f}; without weights "
                f"{plain:.2f}",
                direction="lower is better",
                n=n,
                chance=right,
                original=0.0,
            )


def _off(n: int, sizes: Sequence[int], *, proper: bool) -> float:
    """Return the variance of an estimate about the original's, in variances of the original's."""
    ratio = n * len(sizes) / sum(sizes)
    return 1 + ratio if proper else ratio


class _Shares(NamedTuple):
    """Shares of cells and their variances, shape (cells,)."""

    shares: FloatArray
    variances: FloatArray

    @classmethod
    def of(cls, codes: Codes, size: int, weights: FloatArray) -> _Shares:
        total = weights.sum()
        shares = np.bincount(codes, weights=weights, minlength=size) / total
        squares = np.bincount(codes, weights=weights**2, minlength=size) / total**2
        return cls(shares, (1 - 2 * shares) * squares + shares**2 * squares.sum())

    def distance(self, other: _Shares) -> float:
        """Return half the sum of absolute differences, in [0, 1]."""
        return float(np.abs(self.shares - other.shares).sum() / 2)

    @property
    def expected(self) -> float:
        """Distance of shares that are off by errors of these variances."""
        return float(_NORMAL * np.sqrt(np.maximum(self.variances, 0.0)).sum() / 2)


class _Mean(NamedTuple):
    """A mean, its standard error, and the total."""

    mean: float
    error: float
    total: float

    @classmethod
    def of(cls, values: FloatArray, weights: FloatArray) -> _Mean | None:
        total = weights.sum()
        if not total > 0:
            return None
        mean = float(weights @ values / total)
        spread = weights**2 @ (values - mean) ** 2
        error = math.sqrt(spread * len(values) / max(len(values) - 1, 1)) / total
        return cls(mean, error, mean * float(total))


class WeightedCounter:
    """Compares one dataset after the other; only shares and means stay in memory.

    Examples
    --------
    >>> from synthesizer.data.table import Column, Variable
    >>> sex = Column(Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m")),
    ...              np.array([0, 1, 1, 1], dtype=np.int32))
    >>> weight = Column(Variable(name="w", kind=Kind.NUMERIC), np.array([3.0, 1, 1, 1]))
    >>> table = Table([sex, weight])
    >>> counter = WeightedCounter(table, table.names, "w")
    >>> counter.add(Table([sex, Column(weight.variable, np.ones(4))]))
    >>> row = counter.result().variables[0]
    >>> row.unweighted, row.weighted
    (0.0, 0.25)
    """

    def __init__(
        self,
        original: Table,
        names: Sequence[str],
        weight: str,
        *,
        groups: int = 5,
        proper: bool = False,
    ) -> None:
        self._names = [name for name in dict.fromkeys(names) if name != weight]
        check_original(original, self._names, table_problems([2], groups))
        self._original, self._weight, self._proper = original, weight, proper
        self._groups = {n: pair_groups(original[n], groups, MOST_LEVELS) for n in self._names}
        pairs = list(combinations(self._names, 2))
        chosen = np.unique(np.linspace(0, len(pairs) - 1, min(MOST_PAIRS, len(pairs))).astype(int))
        self._cells = [*((name,) for name in self._names), *(pairs[place] for place in chosen)]
        self._ours = self._look(original)
        self._theirs: list[_Look] = []
        self._apart: list[FloatArray] = []

    def add(self, synthetic: Table) -> None:
        """Compare the next dataset."""
        names = [*self._names, self._weight]
        check_comparable(self._original, [synthetic], names, first=len(self._theirs) + 1)
        look = self._look(synthetic)
        self._apart.append(
            np.array(
                [
                    [ours.distance(theirs) for ours, theirs in zip(*both, strict=True)]
                    for both in zip(self._ours.shares, look.shares, strict=True)
                ]
            )
        )
        self._theirs.append(look._replace(shares=[]))

    def result(self) -> WeightedEstimates:
        """Return the comparison of the datasets so far, at least one."""
        sizes = [look.n for look in self._theirs]
        off = math.sqrt(_off(self._ours.n, sizes, proper=self._proper))
        apart = np.mean(self._apart, axis=0)
        right = off * np.array([[own.expected for own in both] for both in self._ours.shares])
        return WeightedEstimates(
            weight=self._weight,
            n=self._ours.n,
            n_synthetic=tuple(sizes),
            proper=self._proper,
            total_original=self._ours.total,
            total_synthetic=float(np.mean([look.total for look in self._theirs])),
            tables=tuple(self._tables(apart, right)),
            variables=tuple(
                self._variable(name, *values)
                for name, *values in zip(self._names, apart.tolist(), right.tolist(), strict=False)
            ),
        )

    def _look(self, table: Table) -> _Look:
        weight = table[self._weight]
        weights = np.where(weight.is_observed, weight.data, 0.0)
        both = (np.ones(table.n_rows), weights)
        codes = {name: each.codes(table[name]) for name, each in self._groups.items()}
        shares = []
        for names in self._cells:
            joint, size = np.zeros(table.n_rows, dtype=np.int64), 1
            for name in names:
                joint = joint * self._groups[name].size + codes[name]
                size *= self._groups[name].size
            shares.append([_Shares.of(joint, size, each) for each in both])
        means = {}
        for name in self._names:
            own = table[name]
            if own.variable.kind is Kind.NUMERIC:
                rows = own.is_observed
                values = np.asarray(own.data[rows], dtype=np.float64)
                means[name] = [_Mean.of(values, each[rows]) for each in both]
        total = float(weights.sum())
        return _Look(table.n_rows, total, shares, means)

    def _tables(self, apart: FloatArray, right: FloatArray) -> Iterator[WeightedTables]:
        orders = np.array([len(names) for names in self._cells])
        for ways in sorted(set(orders.tolist())):
            is_order = orders == ways
            plain, weighted = apart[is_order].mean(axis=0).tolist()
            plain_right, weighted_right = right[is_order].mean(axis=0).tolist()
            yield WeightedTables(
                ways=ways,
                unweighted=plain,
                unweighted_right=plain_right,
                weighted=weighted,
                weighted_right=weighted_right,
            )

    def _variable(self, name: str, apart: list[float], right: list[float]) -> WeightedVariable:
        ours = self._ours.means.get(name, [None, None])
        theirs = [look.means.get(name, [None, None]) for look in self._theirs]
        errors = [_error(own, [both[i] for both in theirs]) for i, own in enumerate(ours)]
        mean, total = (
            np.mean([getattr(both[1], of) for both in theirs if both[1]] or [np.nan])
            for of in ("mean", "total")
        )
        has_both = ours[1] is not None and bool(np.isfinite(mean))
        return WeightedVariable(
            variable=name,
            unweighted=apart[0],
            weighted=apart[1],
            right=right[1],
            original_mean=None if ours[1] is None else ours[1].mean,
            synthetic_mean=float(mean) if has_both else None,
            unweighted_error=errors[0],
            weighted_error=errors[1],
            total_ratio=(
                float(total / ours[1].total) if has_both and ours[1] and ours[1].total else None
            ),
        )


class _Look(NamedTuple):
    """What is kept of a file: for every table and number both ways, without and with weights."""

    n: int
    total: float
    shares: list[list[_Shares]]
    means: dict[str, list[_Mean | None]]


def _error(ours: _Mean | None, theirs: Sequence[_Mean | None]) -> float | None:
    """Return the mean size of the errors of a mean, in standard errors of the original."""
    if ours is None or not ours.error > 0:
        return None
    sizes = [abs(one.mean - ours.mean) / ours.error for one in theirs if one is not None]
    return float(np.mean(sizes)) if sizes else None
