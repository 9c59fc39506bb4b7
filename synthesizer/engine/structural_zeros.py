"""Search for variables, two or three together, with combinations that cannot occur.

Of two variables, let U be the share of records that would have a combination which nobody in the
data has, if the variables were independent, and g the share that a new sample of persons would
have. g is estimated, whatever the variables, by what only one person has (Good 1953, The population
frequencies of species, Biometrika 40). Where the variables are independent both are the same but
for chance; where combinations are impossible, or next to it, U is larger, and what a model draws
lies in between. A pair is found where U - g, counted in persons, exceeds sqrt(2 V L) + D L: V is
the variance of the number of persons behind g (ibid.), L the logarithm of the number of pairs over
the level of the test (Bernstein's inequality, with Bonferroni's correction), and D the design
effect of several rows a person.

Of three variables U counts combinations of which each pair occurs, if nothing joined the three but
what joins every two of them: the log-linear model without an interaction of all three, fitted by
iterative proportions (Deming and Stephan 1940, Annals of Mathematical Statistics 11). So what pairs
explain is not found again.

Levels that only one person has, and of three variables pairs that only one person has, are left
out on both sides: the data say nothing about what else could go with them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice
from typing import Self

import numpy as np

from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Kind, Table

LEVEL = 0.01
"""Chance that anything is found among variables that are all independent; half of it for triples,
which are found only where more than pairs joins them."""
LEAST = 0.005
"""Share of records, at least, by which independence goes beyond the truth."""
CLOSED = 0.01
"""Where a new sample would have no more new combinations than that, none may be drawn."""
FEW = 5
"""Persons of a combination below which structural zeros reveal few persons."""
MOST_LEVELS = 60
"""Different numbers of a variable that is looked at."""
MOST_CELLS = 2**20
"""Combinations of a pair that is looked at; of three variables four times as many."""
LEAST_ROWS, MOST_ROWS = 2_000, 50_000
"""Rows on which combinations are screened; those that may be found are looked at on all."""
MOST_WORK = 2_000_000_000
"""Rows and combinations that are counted in the screening; further ones are not looked at."""
QUICK_WORK = 5_000_000
"""The same where pairs are only mentioned: seconds."""
MOST_TRIPLES = 20_000
"""Triples that are looked at: all of 50 variables."""
MOST_FOUND = 500
"""Pairs, and triples, that are looked at on all rows, the largest differences in the screening."""
CYCLES = 15, 100
"""Rounds of iterative proportions in the screening, and on all rows."""


@dataclass(frozen=True, kw_only=True)
class ZeroCells:
    """Two or three variables with combinations that cannot occur, or hardly; shares are of rows."""

    names: tuple[str, ...]
    independent: float
    """U: rows with a combination that nobody has, if nothing joined the variables, or all three."""
    fresh: float
    """g: rows of a new sample with one."""
    combinations: int
    """That the data have."""
    few: int
    """Of these, held by fewer than five persons."""
    persons: int
    """Who hold one of those few."""
    held: float
    """Rows of the data with one of those."""

    @property
    def opened(self) -> float:
        """Share of the other combinations that may be drawn.

        If so many are open, and variables are drawn as if independent, as many new combinations
        are drawn as a new sample has: g = opened U / (1 - U + opened U).
        """
        if self.fresh <= CLOSED:
            return 0.0
        u, g = self.independent, self.fresh
        return min(1.0, g * (1 - u) / (u * (1 - g)))


@dataclass(frozen=True)
class ZeroSearch:
    """What a search found, pairs before triples, each by the difference, and what it left out."""

    found: tuple[ZeroCells, ...]
    skipped: int = 0
    """Pairs that were not looked at."""
    skipped_triples: int = 0

    @property
    def pairs(self) -> tuple[ZeroCells, ...]:
        """What was found of two variables."""
        return tuple(zero for zero in self.found if len(zero.names) == 2)

    @property
    def triples(self) -> tuple[ZeroCells, ...]:
        """What was found of three variables."""
        return tuple(zero for zero in self.found if len(zero.names) == 3)

    @property
    def left_out(self) -> str:
        """What was not looked at, in words; empty where that is nothing."""
        counts = {"pairs": self.skipped, "triples": self.skipped_triples}
        texts = [f"{count:,} {name}" for name, count in counts.items() if count]
        return f"{' and '.join(texts)} of variables" if texts else ""


def structural_zeros(table: Table, *, triples: bool = True, work: int | None = None) -> ZeroSearch:
    """Find pairs and triples of codes, or of numbers with few values, that cannot always occur.

    Rows of one person (``table.owners``) count as one unit. ``work`` are the rows and combinations
    that may be counted (`MOST_WORK` when None).

    Examples
    --------
    >>> from synthesizer.data.table import Variable
    >>> rng = np.random.default_rng(0)
    >>> levels = tuple("abcdef")
    >>> codes = rng.integers(0, 6, size=(2, 500)).astype(np.int32)
    >>> codes = [codes[0], codes[0] // 2 * 2 + codes[1] % 2, codes[1]]
    >>> columns = [
    ...     Column(Variable(name=name, kind=Kind.CATEGORICAL, levels=levels), data)
    ...     for name, data in zip(["job", "branch", "other"], codes, strict=True)
    ... ]
    >>> [pair.names for pair in structural_zeros(Table(columns)).pairs]
    [('job', 'branch'), ('branch', 'other')]
    """
    work = MOST_WORK if work is None else work
    owners = np.arange(table.n_rows) if table.owners is None else np.asarray(table.owners)
    codes = {c.name: c for c in (_codes(c, owners) for c in table.columns) if c is not None}
    pairs = [
        (one, two)
        for one, two in combinations(codes.values(), 2)
        if one.size * two.size <= MOST_CELLS
    ]
    if not pairs:
        return ZeroSearch(())
    found, skipped = _search(pairs, len(pairs), owners, work)
    if not triples:
        return ZeroSearch(found, skipped)
    joined = {name for pair in found for name in pair.names}
    first = sorted(codes.values(), key=lambda one: one.name not in joined)
    n_triples = math.comb(len(first), 3)
    looked = [
        triple
        for triple in islice(combinations(first, 3), MOST_TRIPLES)
        if math.prod(one.n_common for one in triple) <= 4 * MOST_CELLS
    ]
    if not looked:
        return ZeroSearch(found, skipped, n_triples)
    threes, late = _search(looked, n_triples, owners, work)
    return ZeroSearch((*found, *threes), skipped, n_triples - len(looked) + late)


def _search(
    sets: Sequence[tuple[_Codes, ...]], n_tests: int, owners: IntArray, work: int
) -> tuple[tuple[ZeroCells, ...], int]:
    """Screen pairs, or triples, and test those that are left; also say how many were left out."""
    log = math.log(2 * n_tests / LEVEL)
    sample = _sample(owners, max(LEAST_ROWS, min(MOST_ROWS, work // (2 * len(sets)))))
    cost = np.cumsum([len(sample) + math.prod(one.n_common for one in each) for each in sets])
    looked = int(np.searchsorted(cost, work, side="right"))
    part: dict[str, _Codes] = {}
    for one in (one for each in sets[:looked] for one in each):
        if one.name not in part:
            part[one.name] = _Codes.of(one.name, one.size, one.data[sample], owners[sample])
    persons = _Persons.of(owners[sample])
    likely = []
    for each in sets[:looked]:
        excess = _Counted.of([part[one.name] for one in each], persons, CYCLES[0]).excess(log)
        if excess > 0:
            likely.append((excess, each))
    likely.sort(key=lambda one: -one[0])
    persons = _Persons.of(owners)
    tested = (_tested(each, persons, log) for _, each in likely[:MOST_FOUND])
    found = sorted((zero for zero in tested if zero is not None), key=_difference)
    return tuple(found), len(sets) - looked + len(likely[MOST_FOUND:])


def _difference(zero: ZeroCells) -> float:
    """Return what orders what is found, the largest difference first."""
    return zero.fresh - zero.independent


@dataclass(frozen=True, eq=False)
class _Codes:
    """A variable as codes without gaps."""

    name: str
    size: int
    data: IntArray
    ranks: IntArray
    """Of the values that more than one person has, from 0; -1 for the others, shape (size,)."""

    @classmethod
    def of(cls, name: str, size: int, data: IntArray, owners: IntArray) -> Self:
        common = ~_alone(data, owners, size)
        return cls(name, size, data, np.where(common, np.cumsum(common) - 1, -1))

    @cached_property
    def n_common(self) -> int:
        """Values that more than one person has."""
        return 1 + int(self.ranks.max())

    @cached_property
    def ranked(self) -> IntArray:
        """The rank of each row."""
        return self.ranks[self.data]

    @cached_property
    def shares(self) -> FloatArray:
        """Rows with each of those, as a share."""
        return np.bincount(self.data, minlength=self.size)[self.ranks >= 0] / len(self.data)


def _codes(column: Column, owners: IntArray) -> _Codes | None:
    """Return the codes of a column, None of ids, of many numbers, and of what has one value."""
    if column.variable.kind is Kind.ID:
        return None
    if column.is_coded:
        values = np.asarray(column.data, dtype=np.float64)
    else:
        lowest = np.finfo(np.float64).min * (1 - column.missing_state() * 1e-3)
        values = np.where(column.is_observed, column.data, lowest)
        if len(np.unique(values[:1_000])) > MOST_LEVELS:
            return None
    distinct, codes = np.unique(values, return_inverse=True)
    if len(distinct) < 2 or (not column.is_coded and len(distinct) > MOST_LEVELS):
        return None
    return _Codes.of(column.name, len(distinct), codes.astype(np.int64), owners)


def _sample(owners: IntArray, most: int) -> IntArray:
    """Return the rows of so many persons that they are about so many rows, or all."""
    every = -(-len(owners) // most)
    return np.flatnonzero(owners % every == 0)


@dataclass(frozen=True, eq=False)
class _Persons:
    """Whose the rows are."""

    owners: IntArray
    n: int
    mean: float
    """Rows of a person."""
    design: float

    @classmethod
    def of(cls, owners: IntArray) -> Self:
        n_rows = np.bincount(owners)
        n_rows = n_rows[n_rows > 0]
        mean = len(owners) / len(n_rows)
        design = float((n_rows.astype(np.float64) ** 2).mean() / mean**2)
        return cls(owners, len(n_rows), mean, design)


@dataclass(frozen=True, eq=False)
class _Counted:
    """The combinations of two or three variables."""

    cells: IntArray
    """Of the rows that count, shape (k,)."""
    owners: IntArray
    rows: IntArray
    """Of each combination."""
    alone: BoolArray
    """The combinations that one person has."""
    independent: float
    fresh: float
    persons: _Persons

    @classmethod
    def of(cls, codes: Sequence[_Codes], persons: _Persons, cycles: int) -> Self:
        """Count the rows whose levels, and of three variables pairs, more than one person has."""
        sizes = [one.n_common for one in codes]
        ranks = [one.ranked for one in codes]
        keep: IntArray = np.flatnonzero(np.min(ranks, axis=0) >= 0)
        if len(codes) == 3:
            keep = _with_common_pairs(ranks, sizes, keep, persons.owners)
        owners, size = persons.owners[keep], math.prod(sizes)
        cells: IntArray = np.ravel_multi_index([rank[keep] for rank in ranks], sizes)
        rows = np.bincount(cells, minlength=size)
        alone, n = _alone(cells, owners, size), len(persons.owners)
        fresh = float(rows[alone].sum() / n)
        if len(codes) == 2:
            one, two = codes
            independent = float(np.outer(one.shares, two.shares).ravel()[rows == 0].sum())
        else:
            independent = _unseen(rows.reshape(sizes), (fresh + LEAST) * n, cycles) / n
        return cls(cells, owners, rows, alone, independent, fresh, persons)

    def excess(self, log: float, *, exact: bool = False) -> float:
        """Return by how many persons U - g goes beyond what chance makes; 0 where it does not.

        Unless ``exact``, the variance of g is that of a lower bound, which spares a sort.
        """
        if self.independent - self.fresh < LEAST:
            return 0.0
        mean = self.persons.mean
        singles = np.bincount(self.owners, weights=self.alone[self.cells]) / mean
        variance = float((singles**2).sum())
        if exact:
            twice = _holders(self.cells, self.owners, len(self.rows)) == 2
            variance += float(((self.rows[twice] / mean) ** 2).sum() / 2)
        chance = math.sqrt(2 * variance * log) + self.persons.design * log
        return max(0.0, (self.independent - self.fresh) * self.persons.n - chance)


def _with_common_pairs(
    ranks: Sequence[IntArray], sizes: Sequence[int], keep: IntArray, owners: IntArray
) -> IntArray:
    """Return the rows of which more than one person has each pair of values."""
    common = np.ones(len(keep), dtype=bool)
    for one, two in combinations(range(3), 2):
        cells = ranks[one][keep] * sizes[two] + ranks[two][keep]
        common &= ~_alone(cells, owners[keep], sizes[one] * sizes[two])[cells]
    return keep[common]


def _unseen(rows: IntArray, least: float, cycles: int) -> float:
    """Return the rows with combinations that are not seen, if only pairs were joined; (i, j, k).

    The fit ends early, with 0, where fewer than ``least`` rows are left.
    """
    sums = [rows.sum(axis=axis) for axis in range(3)]
    may = np.ones(rows.shape, dtype=bool)
    for axis, pair in enumerate(sums):
        may &= np.expand_dims(pair > 0, axis)
    places = np.nonzero(may)
    unseen = rows[places] == 0
    if not unseen.any():
        return 0.0
    others = [[k for k in range(3) if k != axis] for axis in range(3)]
    pairs = [
        np.ravel_multi_index((places[j], places[k]), (rows.shape[j], rows.shape[k]))
        for j, k in others
    ]
    fitted, left = np.ones(len(unseen)), math.inf
    for _ in range(cycles):
        for pair, wanted in zip(pairs, sums, strict=True):
            there = np.bincount(pair, weights=fitted, minlength=wanted.size)
            ratio = np.divide(wanted.ravel(), there, out=there, where=there > 0)
            fitted *= ratio[pair]
        before, left = left, float(fitted[unseen].sum())
        if left < least:
            return 0.0
        if abs(before - left) < 1e-3 * least:
            break
    return left


def _tested(codes: Sequence[_Codes], persons: _Persons, log: float) -> ZeroCells | None:
    """Count all rows; None where they show nothing impossible."""
    counted = _Counted.of(codes, persons, CYCLES[1])
    if not counted.excess(log, exact=True):
        return None
    every = np.ravel_multi_index([one.data for one in codes], [one.size for one in codes])
    every = np.unique(every, return_inverse=True)[1]
    holders = _holders(every, persons.owners, len(every))
    few = (holders > 0) & (holders < FEW)
    return ZeroCells(
        names=tuple(one.name for one in codes),
        independent=counted.independent,
        fresh=counted.fresh,
        combinations=int((holders > 0).sum()),
        few=int(few.sum()),
        persons=len(np.unique(persons.owners[few[every]])),
        held=float(few[every].mean()),
    )


def _holders(codes: IntArray, owners: IntArray, size: int) -> IntArray:
    """Return how many persons have each code, shape (size,)."""
    n = int(owners.max()) + 1
    return np.bincount(np.unique(codes * n + owners) // n, minlength=size)


def _alone(codes: IntArray, owners: IntArray, size: int) -> BoolArray:
    """Return the codes that occur and that one person has alone, shape (size,)."""
    first, last = np.full((2, size), -1)
    last[codes] = owners
    first[codes[::-1]] = owners[::-1]
    return np.asarray((first == last) & (first >= 0))
