"""Search for pairs of variables with combinations that cannot occur.

Of two variables, let U be the share of records that would have a combination which nobody in the
data has, if the variables were independent, and g the share that a fresh sample of persons would
have. g is estimated, whatever the variables, by what only one person has (Good 1953, The population
frequencies of species, Biometrika 40). Where the variables are independent both are the same but
for chance; where combinations are impossible, or next to it, U is larger, and what a model draws
lies in between. A pair is found where U - g, counted in persons, exceeds sqrt(2 V L) + D L: V is
the variance of the number of persons behind g (ibid.), L the logarithm of the number of pairs over
the level of the test (Bernstein's inequality, with Bonferroni's correction), and D the design
effect of several rows a person.

Levels that only one person has are left out on both sides: a pair says nothing about them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Self

import numpy as np

from synthesizer.data.table import BoolArray, Column, IntArray, Kind, Table

LEVEL = 0.01
"""Chance that anything is found among variables that are all independent."""
LEAST = 0.005
"""Share of records, at least, by which independence goes beyond the truth."""
CLOSED = 0.01
"""Where a fresh sample would have no more new combinations than that, none may be drawn."""
FEW = 5
"""Persons of a combination below which a support tells of few."""
MOST_LEVELS = 60
"""Different numbers of a variable that is looked at."""
MOST_CELLS = 2**20
"""Combinations of a pair that is looked at."""
LEAST_ROWS, MOST_ROWS = 2_000, 50_000
"""Rows on which pairs are screened; those that may be found are looked at on all."""
MOST_WORK = 2_000_000_000
"""Rows and combinations that are counted in the screening; further pairs are not looked at."""
MOST_FOUND = 500
"""Pairs that are looked at on all rows, the largest differences in the screening."""


@dataclass(frozen=True, kw_only=True)
class ZeroPair:
    """Two variables with combinations that cannot occur, or hardly; shares are of rows."""

    names: tuple[str, str]
    independent: float
    """U: rows with a combination that nobody has, if the variables were independent."""
    fresh: float
    """g: rows of a fresh sample with one."""
    combinations: int
    """That the data have."""
    few: int
    """Of these, held by fewer than five persons."""
    held: float
    """Rows of the data with one of those."""

    @property
    def opened(self) -> float:
        """Share of the other combinations that may be drawn.

        If so many are open, and variables are drawn as if independent, as many new combinations
        are drawn as a fresh sample has: g = opened U / (1 - U + opened U).
        """
        if self.fresh <= CLOSED:
            return 0.0
        u, g = self.independent, self.fresh
        return min(1.0, g * (1 - u) / (u * (1 - g)))


@dataclass(frozen=True)
class ZeroPairs:
    """What a search found, the largest difference first, and how many pairs it left out."""

    found: tuple[ZeroPair, ...]
    skipped: int = 0


def structural_zeros(table: Table) -> ZeroPairs:
    """Find pairs of codes, or of numbers with few values, with combinations that cannot occur.

    Rows of one person (``table.owners``) count as one unit.

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
    >>> [pair.names for pair in structural_zeros(Table(columns)).found]
    [('job', 'branch'), ('branch', 'other')]
    """
    owners = np.arange(table.n_rows) if table.owners is None else np.asarray(table.owners)
    codes = {c.name: c for c in (_codes(c, owners) for c in table.columns) if c is not None}
    pairs = [
        (one, two)
        for one, two in combinations(codes.values(), 2)
        if one.size * two.size <= MOST_CELLS
    ]
    if not pairs:
        return ZeroPairs(())
    log = math.log(len(pairs) / LEVEL)
    sample = _sample(owners, max(LEAST_ROWS, min(MOST_ROWS, MOST_WORK // (2 * len(pairs)))))
    cost = np.cumsum([len(sample) + one.size * two.size for one, two in pairs])
    looked = int(np.searchsorted(cost, MOST_WORK, side="right"))
    part = {n: _Codes.of(n, c.size, c.data[sample], owners[sample]) for n, c in codes.items()}
    screened = [
        _counted(part[one.name], part[two.name], owners[sample], log, exact=False)
        for one, two in islice(pairs, looked)
    ]
    likely = sorted((pair for pair in screened if pair is not None), key=_difference)
    counted = [
        _counted(codes[pair.names[0]], codes[pair.names[1]], owners, log, exact=True)
        for pair in likely[:MOST_FOUND]
    ]
    found = sorted((pair for pair in counted if pair is not None), key=_difference)
    return ZeroPairs(tuple(found), len(pairs) - looked + len(likely[MOST_FOUND:]))


def _difference(pair: ZeroPair) -> float:
    """Return what orders pairs, the largest difference first."""
    return pair.fresh - pair.independent


@dataclass(frozen=True, eq=False)
class _Codes:
    """A variable as codes without gaps."""

    name: str
    size: int
    data: IntArray
    common: BoolArray
    """The values that more than one person has, shape (size,)."""

    @classmethod
    def of(cls, name: str, size: int, data: IntArray, owners: IntArray) -> Self:
        return cls(name, size, data, ~_alone(data, owners, size))


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


def _counted(
    one: _Codes, two: _Codes, owners: IntArray, log: float, *, exact: bool
) -> ZeroPair | None:
    """Count a pair; None where it shows nothing impossible.

    Unless ``exact``, the variance of g is that of a lower bound, which spares a sort.
    """
    cells = one.data * two.size + two.data
    shape = (one.size, two.size)
    rows = np.bincount(cells, minlength=one.size * two.size)
    common = np.outer(one.common, two.common).ravel()
    n = len(cells)
    counts = rows.reshape(shape)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)).ravel() / n
    independent = float(expected[common & (rows == 0)].sum() / n)
    if independent < LEAST:
        return None
    alone = _alone(cells, owners, len(rows)) & common
    fresh = float(rows[alone].sum() / n)
    if independent - fresh < LEAST:
        return None
    n_rows = np.bincount(owners)  # of every person
    n_rows = n_rows[n_rows > 0]
    mean = n / len(n_rows)
    design = float((n_rows.astype(np.float64) ** 2).mean() / mean**2)
    singles = np.bincount(owners, weights=alone[cells]) / mean
    variance = float((singles**2).sum())
    holders: IntArray = np.zeros(len(rows), dtype=np.int64)
    if exact:
        persons = int(owners.max()) + 1
        holders = np.bincount(np.unique(cells * persons + owners) // persons, minlength=len(rows))
        variance += float(((rows[(holders == 2) & common] / mean) ** 2).sum() / 2)
    excess = (independent - fresh) * len(n_rows)
    if excess < math.sqrt(2 * variance * log) + design * log:
        return None
    few = (holders > 0) & (holders < FEW)
    return ZeroPair(
        names=(one.name, two.name),
        independent=independent,
        fresh=fresh,
        combinations=int((rows > 0).sum()),
        few=int(few.sum()),
        held=float(rows[few].sum() / n),
    )


def _alone(codes: IntArray, owners: IntArray, size: int) -> BoolArray:
    """Return the codes that occur and that one person has alone, shape (size,)."""
    first, last = np.full((2, size), -1)
    last[codes] = owners
    first[codes[::-1]] = owners[::-1]
    return np.asarray((first == last) & (first >= 0))
