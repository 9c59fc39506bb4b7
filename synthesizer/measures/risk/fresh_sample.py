"""CAP and DiSCO beyond those of a new sample of the same population.

The attack: an intruder knows the keys of a person and guesses the target from the records that
have them. Much of this success comes from the population: any sample would give it. The original
itself gives an estimate: each of its n records is attacked with the other n - 1, which are a new
sample for this record. If s of these have its keys, and h its target, too, a new sample with a
share f of the n - 1 records has a match with probability 1 - (1 - f)^s, and CAP is then h / s in
expectation. It has one target only, the true one (DiSCO), with probability
(1 - f)^(s - h) (1 - (1 - f)^h). These are exact expectations, not simulations. A dataset with more
records than the original is compared with f = 1, which is conservative.

Sources: Taub, Elliot, Pampaka and Smith (2018) for CAP; Raab, Nowok and Dibben (2024), Practical
privacy metrics for synthetic data, for DiSCO; Lachenbruch and Mickey (1968), Technometrics 10, for
leave-one-out. The interval treats records with the same keys as a cluster (Liang and Zeger 1986,
Biometrika 73).
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
"""Kinds of figures of CAP and DiSCO."""


class FreshRow(Row):
    """CAP or DiSCO of the synthetic data and of a new sample of the same population."""

    name: str = column("Measure", "text", "CAP (no match counts as 0), or DiSCO")
    n: int = column("Records", "count", "original records that are attacked")
    synthetic: float = column("Synthetic", "share", "mean over single datasets")
    fresh: float = column("New sample", "share", "of the same population and size")
    released: float = column("Original", "share", "of releasing the original")
    difference: float = column("Difference", "share", "synthetic minus new sample")
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
    """Return CAP and DiSCO of datasets, compared with those of new samples.

    Parameters
    ----------
    scores : ndarray, shape (M, n)
        CAP of each original record from each single dataset; NaN without a match.
    original : ndarray, shape (n,)
        CAP of each record from the original.
    keys : ndarray of int, shape (n,)
        Combination of keys of each record.
    sizes : sequence of int, length M
        Records of each dataset.

    Returns
    -------
    tuple of FreshRow
        CAP and DiSCO; empty if the original has one record.

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
    """Return the expected CAP and DiSCO of each record from a new sample of ``size`` records.

    ``original`` is its CAP from the original, ``keys`` its combination of keys, shapes (n,).

    Examples
    --------
    >>> expected_of_new(np.array([0.5, 0.5, 1.0, 1.0]), np.array([0, 0, 1, 1]), 4)[0].tolist()
    [0.0, 0.0, 1.0, 1.0]
    """
    n, mates = len(original), np.bincount(keys)[keys] - 1
    alike = np.rint(original * (mates + 1)).astype(np.int64) - 1
    share = np.divide(alike, mates, out=np.zeros(n), where=mates > 0)
    absent = max(0.0, 1 - size / max(n - 1, 1)) ** np.arange(mates.max(initial=0) + 1)
    return (1 - absent[mates]) * share, absent[mates - alike] * (1 - absent[alike])


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
    """Return the ends of the interval of a mean, with clusters of records with the same keys."""
    _, clusters = np.unique(keys, return_inverse=True)
    sums = np.bincount(clusters, weights=apart - apart.mean())
    if len(sums) < 2:
        return None, None
    error = float(np.sqrt((sums**2).sum() * len(sums) / (len(sums) - 1))) / len(apart)
    mean = float(apart.mean())
    return mean - TWO_SIDED * error, mean + TWO_SIDED * error
