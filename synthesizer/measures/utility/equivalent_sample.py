"""Equivalent sample: the size of a random sample of the original that is as accurate.

All pairs of variables are tabulated, numbers in quantile groups of the original, and the shares of
the cells compared: the k-marginal score of the SDNist report (k = 2; Task, Bhagat and Howarth 2023,
SDNist v2: Deidentified Data Report Tool, National Institute of Standards and Technology) is 1 minus
half the sum of absolute differences, averaged over the pairs; SDNist writes it times 1,000. The
same score of random samples of the original, from 1 to 100 per cent, translates the score into a
sample size.

A cell's share p in a sample of f n of n records is off by p (1 - p) (1 - f) / (f n) in the mean
square, so that the distance is in proportion to x = sqrt((1 - f) / f), and between two samples f is
interpolated by x. For k synthetic records correct models with fixed parameters have p (1 - p) / k,
which is as accurate as a share 1 / (1 + n/k) of the original; a new sample of the population is as
accurate as 1 / (2 + n/k): for k = n a half and a third.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from synthesizer.data.codes import Codes
from synthesizer.data.randomness import AnySeed, seeded
from synthesizer.data.table import FloatArray, Table
from synthesizer.measures.figure import Figure, FigureKind, Measured, Row, column
from synthesizer.measures.measure import Measure
from synthesizer.measures.utility.cells import DatasetCounter, FixedGroups, table_problems
from synthesizer.measures.utility.distributions import pair_groups

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
MOST_PAIRS = 300
"""Largest number of pairs that are tabulated, taken at equal distances."""
MOST_LEVELS = 50


class SampleRow(Row):
    """Score of a random sample of the original."""

    share: float = column("Share of the original", "share")
    score: float = column("k-marginal", "share")


class SyntheticRow(Row):
    """Score of a synthetic dataset, and its equivalent sample."""

    score: float = column("k-marginal", "share", "1 for equal tables; SDNist multiplies by 1,000")
    sample: float = column("Equivalent sample", "share", "of the original records")


EQUIVALENT_SAMPLE = FigureKind(
    "equivalent_sample",
    "equivalent sample",
    "size of a random sample of the original, as a share of it, that is as accurate for two-way "
    "tables as a synthetic dataset",
    "about 1 is good",
    on_screen=True,
)
K_MARGINAL = FigureKind(
    "k_marginal",
    "k-marginal",
    "1 minus the mean total variation distance of two-way tables (the score of SDNist reports "
    "divided by 1,000)",
    "about 1 is good",
)


class EquivalentSample(Measured):
    """Samples of the original that are as accurate for two-way tables as the synthetic data."""

    n: int
    """Original records."""
    n_synthetic: tuple[int, ...]
    """Records of each dataset."""
    proper: bool
    """Whether parameters were drawn anew for each dataset."""
    pairs: int
    """Pairs of variables that were tabulated."""
    datasets: tuple[SyntheticRow, ...]
    """One for each synthetic dataset."""
    samples: tuple[SampleRow, ...]
    """Samples of the original, the smallest first."""

    @property
    def expected(self) -> tuple[float, float]:
        """Expected share with correct models, and of a new sample of the population."""
        ratio = self.n * len(self.n_synthetic) / sum(self.n_synthetic)
        fresh = 1 / (2 + ratio)
        return (fresh if self.proper else 1 / (1 + ratio), fresh)

    @property
    def sample(self) -> float:
        """Mean share over the datasets, in [0, 1]."""
        return float(np.mean([row.sample for row in self.datasets]))

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Equivalent sample, and k-marginal score."""
        right, fresh = self.expected
        n = self.n + sum(self.n_synthetic)
        return (
            EQUIVALENT_SAMPLE.of(
                self.sample,
                n,
                f"correct models have {right:.2f}, a new sample of the population {fresh:.2f}, the "
                "original 1",
                chance=right,
                original=1.0,
            ),
            K_MARGINAL.of(
                float(np.mean([row.score for row in self.datasets])),
                n,
                f"{self.pairs} tables",
                original=1.0,
            ),
        )


class SampleScale(DatasetCounter):
    """Equivalent samples of datasets that are added one by one; only scores stay in memory.

    ``groups`` is the number of quantile groups of numeric variables, at least 2.

    Examples
    --------
    >>> from synthesizer.data.table import Column, Kind, Variable
    >>> rng = np.random.default_rng(0)
    >>> table = Table([Column(Variable(name=name, kind=Kind.CATEGORICAL, levels=("f", "m")),
    ...                       rng.integers(0, 2, 400).astype(np.int32)) for name in "ab"])
    >>> scale = SampleScale(table, table.names, seed=1)
    >>> scale.add(table)
    >>> scale.result().datasets
    (SyntheticRow(score=1.0, sample=1.0),)
    """

    def __init__(
        self,
        original: Table,
        names: Sequence[str],
        *,
        groups: int = 5,
        proper: bool = False,
        seed: AnySeed = 0,
    ) -> None:
        names = list(dict.fromkeys(names))
        super().__init__(original, names, table_problems([2], groups))
        self._proper = proper
        pairs = list(combinations(names, 2))
        chosen = np.unique(np.linspace(0, len(pairs) - 1, min(MOST_PAIRS, len(pairs))).astype(int))
        self._pairs = [pairs[position] for position in chosen]
        self._compared = list(dict.fromkeys(name for pair in self._pairs for name in pair))
        self._groups = {
            name: pair_groups(original[name], groups, MOST_LEVELS) for name in self._compared
        }
        self._codes = _coded(self._groups, original)
        self._distances: list[float] = []
        rng = seeded(seed).generator("equivalent sample")
        self._scale = self._sampled(rng) if self._pairs else ()

    def _count(self, synthetic: Table) -> None:
        codes = _coded(self._groups, synthetic)
        apart = [
            _distance(self._counts(self._codes, pair), self._counts(codes, pair))
            for pair in self._pairs
        ]
        self._distances.append(float(np.mean(apart)) if apart else 0.0)

    def result(self) -> EquivalentSample | None:
        """Return the comparison of the datasets so far; None for a single variable."""
        if not self._pairs:
            return None
        return EquivalentSample(
            n=self._original.n_rows,
            n_synthetic=tuple(self._sizes),
            proper=self._proper,
            pairs=len(self._pairs),
            datasets=tuple(
                SyntheticRow(score=1 - distance, sample=_share_of(distance, self._scale))
                for distance in self._distances
            ),
            samples=tuple(SampleRow(share=f, score=1 - distance) for f, distance in self._scale),
        )

    def _counts(self, codes: dict[str, Codes], pair: tuple[str, str]) -> FloatArray:
        first, second = pair
        sizes = [self._groups[name].size for name in pair]
        joint = codes[first] * sizes[1] + codes[second]
        return np.bincount(joint, minlength=sizes[0] * sizes[1]).astype(np.float64)

    def _sampled(self, rng: np.random.Generator) -> tuple[tuple[float, float], ...]:
        """Return the shares of nested random samples, with their mean distances."""
        n = self._original.n_rows
        order = rng.permutation(n)
        ends = np.unique(np.maximum(1, np.round(np.array(SHARES) * n)).astype(int))
        ends = ends[ends < n]
        parts = np.split(order, ends)[:-1]
        shuffled = [{name: codes[part] for name, codes in self._codes.items()} for part in parts]
        apart = np.zeros(len(ends))
        for pair in self._pairs:
            whole = self._counts(self._codes, pair)
            counts = np.zeros_like(whole)
            for position, codes in enumerate(shuffled):
                counts = counts + self._counts(codes, pair)
                apart[position] += _distance(whole, counts)
        means = (apart / len(self._pairs)).tolist()
        return (*zip((ends / n).tolist(), means, strict=True), (1.0, 0.0))


def _coded(groups: dict[str, FixedGroups], table: Table) -> dict[str, Codes]:
    return {name: each.codes(table[name]).astype(np.int64) for name, each in groups.items()}


def _distance(of_original: FloatArray, of_synthetic: FloatArray) -> float:
    """Return half the sum of absolute differences of shares, in [0, 1]."""
    return float(
        np.abs(of_original / of_original.sum() - of_synthetic / of_synthetic.sum()).sum() / 2
    )


def _share_of(distance: float, scale: Sequence[tuple[float, float]]) -> float:
    """Return the share of the original whose samples have a distance.

    Beyond the smallest sample the distance is extrapolated in proportion.
    """
    shares, apart = (np.array(values) for values in zip(*reversed(scale), strict=True))
    apart = np.maximum.accumulate(apart)
    x = np.sqrt((1 - shares) / shares)
    if distance <= 0:
        return 1.0
    if distance > apart[-1] > 0:
        ratio = x[-1] * distance / apart[-1]
    else:
        ratio = float(np.interp(distance, apart, x))
    return float(1 / (1 + ratio * ratio))


MEASURES = (
    Measure(
        "equivalent_sample",
        "datasets",
        axis="utility",
        after="conditional_tables",
        words="size of a sample of the original that is as accurate for all two-way tables",
        needs=("names",),
        compute=lambda case: SampleScale(
            case.original,
            case.names,
            groups=case.settings.table_groups,
            proper=case.synthesis.proper,
            seed=case.seed,
        ),
        result=EquivalentSample,
        figures=(EQUIVALENT_SAMPLE, K_MARGINAL),
    ),
)
