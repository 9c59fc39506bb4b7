"""Search for structural zeros: pairs and triples of variables with impossible combinations.

For two variables, let U be the expected share of rows with an unseen combination if the variables
were independent. Let g be the share of such rows in a new sample. g is estimated by the share of
rows with a combination that only one person has (Good 1953, The population frequencies of species,
Biometrika 40). If the variables are independent, U and g differ only by chance. If combinations
are impossible, or nearly so, U is larger. A pair is detected if U - g, in persons, exceeds
sqrt(2 V L) + D L. V is the variance of the number of persons behind g (ibid.). L is the logarithm
of the number of pairs divided by the level of the test (Bernstein's inequality with Bonferroni's
correction). D is the design effect of several rows for each person.

For three variables, U counts combinations in which each pair occurs. It is computed under the
log-linear model without the three-way interaction, fitted by iterative proportions (Deming and
Stephan 1940, Annals of Mathematical Statistics 11), so that zeros of pairs are not counted again.

Levels of only one person, and for triples pairs of only one person, are excluded from both shares:
the data contain no information about their other combinations.
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

TEST_LEVEL = 0.01
"""Probability of any detection among independent variables, half of it for triples."""
MIN_EXCESS = 0.005
"""Smallest difference U - g, as a share of rows."""
MAX_CLOSED = 0.01
"""Up to this g, no unseen combination may be drawn."""
RARE_CELL = 5
"""A combination of fewer persons is rare."""
MAX_VALUES = 60
"""Different values of a number that is searched."""
MAX_CELLS = 2**20
"""Combinations of a pair that is searched; four times as many for triples."""
MIN_SAMPLE_ROWS, MAX_SAMPLE_ROWS = 2_000, 50_000
"""Rows of the screening; its candidates are tested on all rows."""
MAX_WORK = 2_000_000_000
"""Rows and combinations counted in the screening; further sets are skipped."""
QUICK_WORK = 5_000_000
"""The same limit for `init`: some seconds."""
MAX_TRIPLES = 20_000
"""Triples that are screened: all of 50 variables."""
MAX_TESTED = 500
"""Pairs, and triples, tested on all rows: those with the largest excess."""
SCREEN_CYCLES, TEST_CYCLES = 15, 100
"""Rounds of iterative proportions in screening and test."""


@dataclass(frozen=True, kw_only=True)
class ZeroCells:
    """Two or three variables with structural zeros; shares are of rows."""

    names: tuple[str, ...]
    independent: float
    """U: expected rows with an unseen combination under independence."""
    new_sample: float
    """g: expected rows of a new sample with an unseen combination."""
    combinations: int
    """Combinations that occur in the data."""
    rare_cells: int
    """Combinations of fewer than five persons."""
    persons: int
    """Persons in rare cells."""
    rare_share: float
    """Rows in rare cells."""

    @property
    def opened(self) -> float:
        """Share of the unseen combinations that may be drawn.

        Independent draws then have as many new combinations as a new sample:
        g = opened U / (1 - U + opened U).
        """
        if self.new_sample <= MAX_CLOSED:
            return 0.0
        u, g = self.independent, self.new_sample
        return min(1.0, g * (1 - u) / (u * (1 - g)))


@dataclass(frozen=True)
class ZeroSearch:
    """The result of a search: pairs, then triples, each with the largest difference first."""

    zeros: tuple[ZeroCells, ...]
    skipped: int = 0
    """Pairs that were not searched."""
    skipped_triples: int = 0

    @property
    def pairs(self) -> tuple[ZeroCells, ...]:
        """The results for two variables."""
        return tuple(zero for zero in self.zeros if len(zero.names) == 2)

    @property
    def triples(self) -> tuple[ZeroCells, ...]:
        """The results for three variables."""
        return tuple(zero for zero in self.zeros if len(zero.names) == 3)

    @property
    def left_out(self) -> str:
        """The sets that were not searched, in words; empty if there are none."""
        counts = {"pairs": self.skipped, "triples": self.skipped_triples}
        texts = [f"{count:,} {name}" for name, count in counts.items() if count]
        return f"{' and '.join(texts)} of variables" if texts else ""


def structural_zeros(table: Table, *, triples: bool = True, work: int | None = None) -> ZeroSearch:
    """Return pairs and triples of variables with structural zeros.

    Variables with levels, and numbers with few values, are searched. Rows of one person
    (``table.owners``) count as one unit. ``work`` limits the rows and combinations that are
    counted (default `MAX_WORK`).

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
    work = MAX_WORK if work is None else work
    owners = np.arange(table.n_rows) if table.owners is None else np.asarray(table.owners)
    codes = {c.name: c for c in (_codes(c, owners) for c in table.columns) if c is not None}
    pairs = [
        (one, two)
        for one, two in combinations(codes.values(), 2)
        if one.size * two.size <= MAX_CELLS
    ]
    if not pairs:
        return ZeroSearch(())
    zeros, skipped = _search(pairs, len(pairs), owners, work)
    if not triples:
        return ZeroSearch(zeros, skipped)
    joined = {name for pair in zeros for name in pair.names}
    first = sorted(codes.values(), key=lambda one: one.name not in joined)
    n_triples = math.comb(len(first), 3)
    looked = [
        triple
        for triple in islice(combinations(first, 3), MAX_TRIPLES)
        if math.prod(one.n_common for one in triple) <= 4 * MAX_CELLS
    ]
    if not looked:
        return ZeroSearch(zeros, skipped, n_triples)
    threes, late = _search(looked, n_triples, owners, work)
    return ZeroSearch((*zeros, *threes), skipped, n_triples - len(looked) + late)


def _search(
    sets: Sequence[tuple[_Codes, ...]], n_tests: int, owners: IntArray, work: int
) -> tuple[tuple[ZeroCells, ...], int]:
    """Return the detected sets after screening and test, and the number of skipped sets."""
    log = math.log(2 * n_tests / TEST_LEVEL)
    sample = _sample(owners, max(MIN_SAMPLE_ROWS, min(MAX_SAMPLE_ROWS, work // (2 * len(sets)))))
    cost = np.cumsum([len(sample) + math.prod(one.n_common for one in each) for each in sets])
    looked = int(np.searchsorted(cost, work, side="right"))
    part: dict[str, _Codes] = {}
    for one in (one for each in sets[:looked] for one in each):
        if one.name not in part:
            part[one.name] = _Codes.of(one.name, one.size, one.data[sample], owners[sample])
    persons = _Persons.of(owners[sample])
    likely = []
    for each in sets[:looked]:
        excess = _Counted.of([part[one.name] for one in each], persons, SCREEN_CYCLES).excess(log)
        if excess > 0:
            likely.append((excess, each))
    likely.sort(key=lambda one: -one[0])
    persons = _Persons.of(owners)
    tested = (_tested(each, persons, log) for _, each in likely[:MAX_TESTED])
    zeros = [zero for zero in tested if zero is not None]
    zeros.sort(key=lambda zero: zero.new_sample - zero.independent)
    return tuple(zeros), len(sets) - looked + len(likely[MAX_TESTED:])


@dataclass(frozen=True, eq=False)
class _Codes:
    """A variable as codes without gaps."""

    name: str
    size: int
    data: IntArray
    ranks: IntArray
    """Ranks of values of several persons, from 0; else -1; shape (size,)."""

    @classmethod
    def of(cls, name: str, size: int, data: IntArray, owners: IntArray) -> Self:
        common = ~_alone(data, owners, size)
        return cls(name, size, data, np.where(common, np.cumsum(common) - 1, -1))

    @cached_property
    def n_common(self) -> int:
        """Number of values of more than one person."""
        return 1 + int(self.ranks.max())

    @cached_property
    def ranked(self) -> IntArray:
        """The rank of each row."""
        return self.ranks[self.data]

    @cached_property
    def shares(self) -> FloatArray:
        """Share of rows of each of these values."""
        return np.bincount(self.data, minlength=self.size)[self.ranks >= 0] / len(self.data)


def _codes(column: Column, owners: IntArray) -> _Codes | None:
    """Return the codes of a column; None for identifiers, many numbers, or a single value."""
    if column.variable.kind is Kind.ID:
        return None
    if column.is_coded:
        values = np.asarray(column.data, dtype=np.float64)
    else:
        lowest = np.finfo(np.float64).min * (1 - column.missing_state() * 1e-3)
        values = np.where(column.is_observed, column.data, lowest)
        if len(np.unique(values[:1_000])) > MAX_VALUES:
            return None
    distinct, codes = np.unique(values, return_inverse=True)
    if len(distinct) < 2 or (not column.is_coded and len(distinct) > MAX_VALUES):
        return None
    return _Codes.of(column.name, len(distinct), codes.astype(np.int64), owners)


def _sample(owners: IntArray, most: int) -> IntArray:
    """Return the rows of a sample of persons, about ``most`` rows, or all."""
    every = -(-len(owners) // most)
    return np.flatnonzero(owners % every == 0)


@dataclass(frozen=True, eq=False)
class _Persons:
    """The persons of the rows."""

    owners: IntArray
    n: int
    mean: float
    """Mean number of rows of a person."""
    design: float
    """Design effect of several rows for each person."""

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
    """Combination of each counted row, shape (k,)."""
    owners: IntArray
    rows: IntArray
    """Number of rows of each combination."""
    alone: BoolArray
    """Whether only one person has the combination."""
    independent: float
    new_sample: float
    persons: _Persons

    @classmethod
    def of(cls, codes: Sequence[_Codes], persons: _Persons, cycles: int) -> Self:
        """Return the counts of rows whose levels (for triples: pairs) several persons have."""
        sizes = [one.n_common for one in codes]
        ranks = [one.ranked for one in codes]
        keep: IntArray = np.flatnonzero(np.min(ranks, axis=0) >= 0)
        if len(codes) == 3:
            keep = _with_common_pairs(ranks, sizes, keep, persons.owners)
        owners, size = persons.owners[keep], math.prod(sizes)
        cells: IntArray = np.ravel_multi_index([rank[keep] for rank in ranks], sizes)
        rows = np.bincount(cells, minlength=size)
        alone, n = _alone(cells, owners, size), len(persons.owners)
        new_sample = float(rows[alone].sum() / n)
        if len(codes) == 2:
            one, two = codes
            independent = float(np.outer(one.shares, two.shares).ravel()[rows == 0].sum())
        else:
            independent = _unseen(rows.reshape(sizes), (new_sample + MIN_EXCESS) * n, cycles) / n
        return cls(cells, owners, rows, alone, independent, new_sample, persons)

    def excess(self, log: float, *, exact: bool = False) -> float:
        """Return the persons by which U - g exceeds its critical value; 0 if it does not.

        Without ``exact``, a lower bound of the variance of g is used, which is faster.
        """
        if self.independent - self.new_sample < MIN_EXCESS:
            return 0.0
        mean = self.persons.mean
        singles = np.bincount(self.owners, weights=self.alone[self.cells]) / mean
        variance = float((singles**2).sum())
        if exact:
            twice = _holders(self.cells, self.owners, len(self.rows)) == 2
            variance += float(((self.rows[twice] / mean) ** 2).sum() / 2)
        chance = math.sqrt(2 * variance * log) + self.persons.design * log
        return max(0.0, (self.independent - self.new_sample) * self.persons.n - chance)


def _with_common_pairs(
    ranks: Sequence[IntArray], sizes: Sequence[int], keep: IntArray, owners: IntArray
) -> IntArray:
    """Return the rows in which every pair of values occurs for more than one person."""
    common = np.ones(len(keep), dtype=bool)
    for one, two in combinations(range(3), 2):
        cells = ranks[one][keep] * sizes[two] + ranks[two][keep]
        common &= ~_alone(cells, owners[keep], sizes[one] * sizes[two])[cells]
    return keep[common]


def _unseen(rows: IntArray, least: float, cycles: int) -> float:
    """Return the expected rows with unseen combinations under the model without interaction.

    ``rows`` are counts, shape (i, j, k). The fit returns 0 as soon as fewer than ``least`` rows
    are expected.
    """
    sums = [rows.sum(axis=axis) for axis in range(3)]
    may = np.ones(rows.shape, dtype=bool)
    for axis, pair in enumerate(sums):
        may &= np.expand_dims(pair > 0, axis)
    cells = np.nonzero(may)
    unseen = rows[cells] == 0
    if not unseen.any():
        return 0.0
    others = [[k for k in range(3) if k != axis] for axis in range(3)]
    pairs = [
        np.ravel_multi_index((cells[j], cells[k]), (rows.shape[j], rows.shape[k]))
        for j, k in others
    ]
    fitted, expected = np.ones(len(unseen)), math.inf
    for _ in range(cycles):
        for pair, wanted in zip(pairs, sums, strict=True):
            sums_of_fit = np.bincount(pair, weights=fitted, minlength=wanted.size)
            ratio = np.divide(wanted.ravel(), sums_of_fit, out=sums_of_fit, where=sums_of_fit > 0)
            fitted *= ratio[pair]
        before, expected = expected, float(fitted[unseen].sum())
        if expected < least:
            return 0.0
        if abs(before - expected) < 1e-3 * least:
            break
    return expected


def _tested(codes: Sequence[_Codes], persons: _Persons, log: float) -> ZeroCells | None:
    """Return the result of a test on all rows; None if nothing is detected."""
    counted = _Counted.of(codes, persons, TEST_CYCLES)
    if not counted.excess(log, exact=True):
        return None
    every = np.ravel_multi_index([one.data for one in codes], [one.size for one in codes])
    every = np.unique(every, return_inverse=True)[1]
    holders = _holders(every, persons.owners, len(every))
    rare_cells = (holders > 0) & (holders < RARE_CELL)
    return ZeroCells(
        names=tuple(one.name for one in codes),
        independent=counted.independent,
        new_sample=counted.new_sample,
        combinations=int((holders > 0).sum()),
        rare_cells=int(rare_cells.sum()),
        persons=len(np.unique(persons.owners[rare_cells[every]])),
        rare_share=float(rare_cells[every].mean()),
    )


def _holders(codes: IntArray, owners: IntArray, size: int) -> IntArray:
    """Return the number of persons with each code, shape (size,)."""
    n = int(owners.max()) + 1
    return np.bincount(np.unique(codes * n + owners) // n, minlength=size)


def _alone(codes: IntArray, owners: IntArray, size: int) -> BoolArray:
    """Return which codes occur for exactly one person, shape (size,)."""
    first, last = np.full((2, size), -1)
    last[codes] = owners
    first[codes[::-1]] = owners[::-1]
    return np.asarray((first == last) & (first >= 0))
