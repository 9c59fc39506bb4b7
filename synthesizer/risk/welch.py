"""Welch's t test of two means with unequal variances, and the scores that go into it."""

from __future__ import annotations

import numpy as np
from scipy import stats

from synthesizer.data.table import FloatArray, IntArray

__all__ = ["unit_means", "welch"]


def welch(a: FloatArray, b: FloatArray, level: float = 0.95) -> dict[str, float | None]:
    """Return Welch's t test of mean(a) - mean(b): t, df, p (two-sided), low and high.

    All are None with fewer than two scores on a side, and when all scores are the same. Where
    each side has one score throughout, and not the same, the interval is the difference itself.

    Examples
    --------
    >>> result = welch(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0]))
    >>> round(result["t"], 4), round(result["df"], 4)
    (1.2247, 4.0)
    """
    nothing: dict[str, float | None] = dict.fromkeys(("t", "df", "p", "low", "high"))
    if min(len(a), len(b)) < 2:
        return nothing
    square_a, square_b = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    error = float(np.sqrt(square_a + square_b))
    difference = float(a.mean() - b.mean())
    if error == 0:
        if difference == 0:
            return nothing
        return nothing | {"p": 0.0, "low": difference, "high": difference}
    df = float(error**4 / (square_a**2 / (len(a) - 1) + square_b**2 / (len(b) - 1)))
    reach = float(stats.t.ppf((1 + level) / 2, df)) * error
    t = difference / error
    p = float(2 * stats.t.sf(abs(t), df))
    return {"t": t, "df": df, "p": p, "low": difference - reach, "high": difference + reach}


def unit_means(scores: FloatArray, units: IntArray, rule: str) -> FloatArray:
    """Return one score per unit: NaN (no match) counts as 0, or is left out ("undefined").

    Examples
    --------
    >>> scores, units = np.array([1.0, np.nan, 0.5]), np.array([7, 7, 8])
    >>> unit_means(scores, units, "zero").tolist(), unit_means(scores, units, "undefined").tolist()
    ([0.5, 0.5], [1.0, 0.5])
    """
    use = np.ones(len(scores), dtype=bool) if rule == "zero" else ~np.isnan(scores)
    _, position = np.unique(units[use], return_inverse=True)
    sums = np.bincount(position, weights=np.nan_to_num(scores[use]))
    return np.asarray(sums / np.bincount(position))
