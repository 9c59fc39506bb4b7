"""What a release shows about anybody, beside what a new sample of the same population shows.

The attack: an intruder knows the keys of a person and reads the target off the records that have
them. Much of what is read off so is knowledge of the population, which any sample would give. How
much, the original tells by itself: each of its n records is attacked with the other n - 1, which
are a new sample as far as this record is concerned. If s others have its keys, and h of these its
target too, a new sample with a share f of the n - 1 records has a match with probability
1 - (1 - f)^s, and CAP is then h / s in expectation, since matches are alike by chance; it shows one
target only, the true one (DiSCO), with probability (1 - f)^(s - h) (1 - (1 - f)^h). Nothing is
drawn. A synthetic dataset with more records than the original is held against f = 1, which a fresh
sample of its size would exceed.

Sources: Taub, Elliot, Pampaka and Smith (2018) for CAP; Raab, Nowok and Dibben (2024), Practical
privacy metrics for synthetic data, for DiSCO; leaving out one after the other: Lachenbruch and
Mickey (1968), Technometrics 10. The interval takes records with the same keys as one cluster (Liang
and Zeger 1986, Biometrika 73).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthesizer.data.codes import Codes
from synthesizer.data.table import FloatArray
from synthesizer.measures.figure import TWO_SIDED, Figure, FigureKind, Limit, Row, column

BEYOND = {
    name: FigureKind(
        f"{name.lower()}_beyond",
        f"{name} beyond a new sample",
        f"{name} of one dataset (mean over the datasets) minus that of a new sample of the same "
        "size, estimated by leaving one original {record} out; below 0 is as good as 0",
        "about 0 is good",
        limit=Limit(low=-1),
    )
    for name in ("CAP", "DiSCO")
}
"""The figure of each of the two."""


class FreshRow(Row):
    """What is read off, beside a new sample of the same population."""

    name: str = column("Measure", "text", "CAP (no match counts as 0), or DiSCO")
    n: int = column("Records", "count", "of the original, which are attacked")
    synthetic: float = column("Synthetic", "share", "mean over the datasets, each alone")
    fresh: float = column("New sample", "share", "of the same population, of the same size")
    released: float = column("Original", "share", "if the original itself were released")
    difference: float = column("Difference", "share", "synthetic minus fresh")
    low: float | None = column("From", "share", "lower end of its 95 % interval")
    high: float | None = column("To", "share", "upper end")

    @property
    def figure(self) -> Figure:
        """The difference as a figure."""
        return BEYOND[self.name].of(
            self.difference,
            self.n,
            low=self.low,
            high=self.high,
            chance=0.0,
            original=self.released - self.fresh,
        )


def beyond_fresh(
    scores: FloatArray, original: FloatArray, keys: Codes, sizes: Sequence[int]
) -> tuple[FreshRow, ...]:
    """Compare CAP and DiSCO of datasets with those of new samples.

    Parameters
    ----------
    scores : ndarray, shape (M, n)
        CAP of each original record from each dataset alone; NaN without a match.
    original : ndarray, shape (n,)
        CAP of each record from the original itself.
    keys : ndarray of int, shape (n,)
        Combination of keys of each record.
    sizes : sequence of int, length M
        Records of each dataset.

    Returns
    -------
    tuple of FreshRow
        CAP and DiSCO; empty where the original has one record.

    Examples
    --------
    >>> keys = np.array([0, 0, 1, 1])  # each record has the keys and the target of one other
    >>> cap, disco = beyond_fresh(np.ones((1, 4)), np.ones(4), keys, [4])
    >>> cap.fresh, cap.difference, disco.fresh
    (1.0, 0.0, 1.0)
    """
    n = len(original)
    if n < 2:
        return ()
    matched = np.nan_to_num(scores)
    every = {size: expected_of_new(original, keys, size) for size in {*sizes}}
    cap, disco = np.mean([every[size] for size in sizes], axis=0)
    return tuple(
        _compared(name, synthetic.mean(axis=0), fresh, float(released.mean()), keys)
        for name, synthetic, fresh, released in (
            ("CAP", matched, cap, original),
            ("DiSCO", matched == 1, disco, original == 1),
        )
    )


def expected_of_new(original: FloatArray, keys: Codes, size: int) -> tuple[FloatArray, FloatArray]:
    """Return what is expected of each record from a new sample with ``size`` records.

    ``original`` is its CAP from the original, ``keys`` its combination of keys, shape (n,); CAP and
    the probability of DiSCO are returned.

    Examples
    --------
    >>> expected_of_new(np.array([0.5, 0.5, 1.0, 1.0]), np.array([0, 0, 1, 1]), 4)[0].tolist()
    [0.0, 0.0, 1.0, 1.0]
    """
    n, mates = len(original), np.bincount(keys)[keys] - 1
    alike = np.round(original * (mates + 1)) - 1
    share = np.divide(alike, mates, out=np.zeros(n), where=mates > 0)
    f = max(0.0, 1 - size / max(n - 1, 1))
    disco = np.asarray(f ** (mates - alike) * (1 - f**alike), dtype=np.float64)
    return np.asarray((1 - f**mates) * share, dtype=np.float64), disco


def _compared(
    name: str, synthetic: FloatArray, fresh: FloatArray, released: float, keys: Codes
) -> FreshRow:
    apart = synthetic - fresh
    n, difference = len(apart), float(apart.mean())
    low, high = _interval(apart, keys)
    return FreshRow(
        name=name,
        n=n,
        synthetic=float(synthetic.mean()),
        fresh=float(fresh.mean()),
        released=released,
        difference=difference,
        low=low,
        high=high,
    )


def _interval(apart: FloatArray, keys: Codes) -> tuple[float, float] | tuple[None, None]:
    """Return the ends of the interval of a mean; records with the same keys vary together."""
    _, clusters = np.unique(keys, return_inverse=True)
    sums = np.bincount(clusters, weights=apart - apart.mean())
    if len(sums) < 2:
        return None, None
    error = float(np.sqrt((sums**2).sum() * len(sums) / (len(sums) - 1))) / len(apart)
    mean = float(apart.mean())
    return mean - TWO_SIDED * error, mean + TWO_SIDED * error
