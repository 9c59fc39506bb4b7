"""The confidential records behind mechanisms, and their one-way tables.

`Confidential` is the only object with the records. What leaves it are noisy tables, and positions
of noisy choices; each is charged to the accountant before it is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from synthesizer.extensions.private.accounting import Accountant, sigma_of
from synthesizer.extensions.private.estimating import Groups, Measurement, grouped, one_hot
from synthesizer.extensions.private.even_draws import Codes, even_draws
from synthesizer.extensions.private.junction import Array, Clique
from synthesizer.extensions.private.noise import Noise, in_thousandths

ONE_WAY = "one-way tables"
SELECTION = "selection"
TWO_WAY = "two-way tables"
SIZE_POWER = 2 / 3
"""Budget by cells to this power minimises the sum of absolute errors."""
RARE_SIGMAS = 3.0
"""Levels with noisy counts below this number of standard deviations are merged."""
MEAN_NOISE = math.sqrt(2 / math.pi)
"""Mean absolute value of a standard normal variable."""

Option = tuple[Clique, int, int]
"""A pair of variables, with the number of the version of each."""


@dataclass(frozen=True)
class Sizes:
    """Codes of each variable; the first ``ordered`` ones are in order."""

    codes: tuple[int, ...]
    ordered: tuple[int, ...]

    def of(self, clique: Clique) -> tuple[int, ...]:
        """Return the shape of a table."""
        return tuple(self.codes[i] for i in clique)


class Confidential:
    """The confidential records; every result costs budget."""

    def __init__(self, codes: Codes, sizes: Sizes, accountant: Accountant, noise: Noise) -> None:
        self._codes, self.sizes, self.accountant, self._noise = codes, sizes, accountant, noise
        self._tables: dict[Clique, Array] = {}

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return len(self.sizes.codes)

    def _table(self, clique: Clique) -> Array:
        """Return an exact table: each record is in one cell, so one more moves one count by 1."""
        if clique not in self._tables:
            shape = self.sizes.of(clique)
            cells = np.ravel_multi_index([self._codes[:, i] for i in clique], shape)
            counts = np.bincount(cells, minlength=math.prod(shape))
            self._tables[clique] = counts.astype(float).reshape(shape)
        return self._tables[clique]

    def measure(
        self, step: str, clique: Clique, rho: float, groups: Sequence[Groups | None] | None = None
    ) -> Measurement:
        """Return a table with Gaussian noise at a cost of at most ``rho``.

        Groups of levels are sums of cells, so a record is in one group; they must be public.
        """
        every = tuple(groups) if groups is not None else (None,) * len(clique)
        exact = np.rint(grouped(self._table(clique), one_hot(every))).astype(np.int64)
        self.accountant.spend(step, self._noise.table_cost(exact.size, rho))
        noisy = self._noise.table(exact.ravel(), rho).astype(float).reshape(exact.shape)
        return Measurement(clique, every, noisy, sigma_of(rho))

    def recoded(self, maps: Sequence[Groups]) -> Confidential:
        """Return the same records with merged levels; the maps must be public."""
        codes = np.column_stack([m[self._codes[:, i]] for i, m in enumerate(maps)])
        ordered = tuple(
            len(np.unique(m[:k])) if k else 0 for m, k in zip(maps, self.sizes.ordered, strict=True)
        )
        sizes = Sizes(tuple(int(m.max()) + 1 for m in maps), ordered)
        return Confidential(codes.astype(np.int32), sizes, self.accountant, self._noise)

    def gains(
        self, expected: dict[Clique, Array], versions: Sequence[Sequence[Array]], penalty: float
    ) -> Scores:
        """Return how badly expected tables fit, as scores that only a choice may read.

        The score of a pair in two versions is the sum of |count - expected| over the cells, less
        ``penalty`` for each cell.
        """
        options: list[Option] = []
        scores: list[float] = []
        for (a, b), mean in expected.items():
            difference = self._table((a, b)) - mean
            for r, remaining in enumerate(versions[a]):
                part = remaining.T @ difference
                for s, right in enumerate(versions[b]):
                    sums = part @ right
                    options.append(((a, b), r, s))
                    scores.append(float(np.abs(sums).sum()) - penalty * sums.size)
        return Scores(options, np.array(scores), self.accountant, self._noise)


class Scores:
    """Scores of sensitivity 1; only the position of a noisy best one leaves them."""

    def __init__(
        self, options: list[Option], scores: Array, accountant: Accountant, noise: Noise
    ) -> None:
        self.options, self._scores = options, in_thousandths(scores)
        self._accountant, self._noise = accountant, noise

    def best(self, allowed: Callable[[Clique], bool], rho: float) -> Option | None:
        """Choose an allowed option at a cost of at most ``rho``; None is worth a score of 0.

        ``allowed`` must be public. Without an allowed option nothing is read, and nothing costs.
        """
        is_allowed: dict[Clique, bool] = {}
        for pair, _, _ in self.options:
            if pair not in is_allowed:
                is_allowed[pair] = allowed(pair)
        remaining = [k for k, option in enumerate(self.options) if is_allowed[option[0]]]
        if not remaining:
            return None
        self._accountant.spend(SELECTION, self._noise.choice_cost(rho))
        chosen = self._noise.choice(np.append(self._scores[remaining], 0), rho)
        return self.options[remaining[chosen]] if chosen < len(remaining) else None


@dataclass(frozen=True)
class OneWay:
    """Noisy one-way tables, the number of records, and merged levels."""

    measured: list[Measurement]
    total: float
    counts: list[Array]
    """Counts of all levels, not negative, before levels are merged."""
    maps: list[Groups]

    def spread(self, codes: Codes, rng: np.random.Generator) -> Codes:
        """Replace merged levels by levels in proportion to their noisy counts."""
        columns = []
        for i, (mapping, counts) in enumerate(zip(self.maps, self.counts, strict=True)):
            weights = np.zeros((int(mapping.max()) + 1, len(mapping)))
            weights[mapping, np.arange(len(mapping))] = np.maximum(counts, 1e-9)
            columns.append(even_draws(weights, codes[:, i].astype(np.intp), rng))
        return np.column_stack(columns).astype(np.int32)


def shares_by_size(sizes: Sequence[int]) -> Array:
    """Return the shares of a budget by number of cells."""
    powers: Array = np.asarray(sizes, float) ** SIZE_POWER
    shares: Array = powers / powers.sum()
    return shares


def one_way_error(sizes: Sequence[int], rho: float, rows: float) -> float:
    """Return the expected mean distance (0 to 1) of noisy one-way tables before they are adjusted.

    It depends on public facts only.
    """
    shares = shares_by_size(sizes)
    errors = [
        0.5 * size * MEAN_NOISE * sigma_of(rho * share) / rows
        for size, share in zip(sizes, shares, strict=True)
    ]
    return float(np.mean(errors))


def measure_one_way(records: Confidential, rho: float, public_rows: int | None) -> OneWay:
    """Measure all one-way tables at a total cost of ``rho``, and merge rare levels."""
    shares = shares_by_size(records.sizes.codes)
    measured = [records.measure(ONE_WAY, (i,), rho * share) for i, share in enumerate(shares)]
    sums = np.array([m.values.sum() for m in measured])
    precision = np.array([1 / (m.sigma**2 * m.values.size) for m in measured])
    total = max(1.0, float((sums * precision).sum() / precision.sum()))
    total = total if public_rows is None else float(public_rows)
    counts = [to_simplex(m.values, total) for m in measured]
    merged, maps = [], []
    for m, ordered in zip(measured, records.sizes.ordered, strict=True):
        mapping = merged_levels(m.values, ordered, RARE_SIGMAS * m.sigma)
        values = np.bincount(mapping, m.values).astype(float)
        # sums of k levels have k times the variance; one sigma a table is their mean
        sigma = m.sigma * math.sqrt(float(np.mean(np.bincount(mapping))))
        merged.append(Measurement(m.clique, (None,), values, sigma))
        maps.append(mapping)
    return OneWay(merged, total, counts, maps)


def to_simplex(values: Array, total: float) -> Array:
    """Return the nearest non-negative values with this sum.

    Examples
    --------
    >>> to_simplex(np.array([3.0, 1.0, -2.0]), 3.0).tolist()
    [2.5, 0.5, 0.0]
    """
    flat = np.sort(values.ravel())[::-1]
    excess = np.cumsum(flat) - total
    k = np.arange(1, len(flat) + 1)
    last = np.nonzero(flat - excess / k > 0)[0]
    shift = excess[last[-1]] / (last[-1] + 1) if len(last) else 0.0
    return np.maximum(values - shift, 0.0)


def merged_levels(values: Array, ordered: int, least: float) -> Groups:
    """Return the new level of each level; those with noisy counts below ``least`` are merged.

    Rare ordered levels join the smaller neighbour; other rare levels join each other.

    Examples
    --------
    >>> merged_levels(np.array([50.0, 1.0, 40.0, 2.0, 3.0]), 3, 10.0).tolist()
    [0, 1, 1, 2, 2]
    """
    blocks: list[list[int]] = [[i] for i in range(ordered)]
    masses = [float(values[i]) for i in range(ordered)]
    while len(blocks) > 1 and min(masses) < least:
        k = int(np.argmin(masses))
        sides = [j for j in (k - 1, k + 1) if 0 <= j < len(blocks)]
        other = min(sides, key=lambda j: masses[j])
        low, high = min(k, other), max(k, other)
        blocks[low] += blocks.pop(high)
        masses[low] += masses.pop(high)
    rare = [i for i in range(ordered, len(values)) if values[i] < least]
    blocks += [[i] for i in range(ordered, len(values)) if values[i] >= least]
    if rare:
        blocks.append(rare)
    mapping = np.empty(len(values), np.intp)
    for new, block in enumerate(blocks):
        mapping[block] = new
    return mapping
