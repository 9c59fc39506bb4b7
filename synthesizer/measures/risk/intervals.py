"""Intervals of shares that stay sensible at 0 and 1."""

from __future__ import annotations

import math

import numpy as np
import scipy

from synthesizer.data.table import FloatArray, IntArray

Interval = tuple[float, float, float]
"""A value with its low and high end."""
PerhapsInterval = Interval | tuple[None, None, None]


def wilson(share: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's score interval of a share of ``n`` independent records.

    Source: Wilson (1927), Probable inference, the law of succession, and statistical inference,
    Journal of the American Statistical Association 22. An effective number of records need not be
    whole.

    Examples
    --------
    >>> [round(end, 4) for end in wilson(0.0, 500)]
    [0.0, 0.0076]
    """
    z = float(scipy.special.ndtri((1 + level) / 2))
    centre = share + z * z / (2 * n)
    reach = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low, high = ((centre + sign * reach) / (1 + z * z / n) for sign in (-1, 1))
    # Rounding must not leave the share outside its own interval.
    return max(min(low, share), 0.0), min(max(high, share), 1.0)


def excess(
    share: float, n: int, control: float, n_control: int, level: float = 0.95
) -> PerhapsInterval:
    """Return (share - control) / (1 - control) with an interval: what is gained of what could be.

    The errors of both shares are propagated (Giomi et al. 2023), on each side that of
    Wilson's limits, as Newcombe (1998, Statistics in Medicine 17) does for differences: the
    interval has a width even where no attack or every attack succeeds.

    Returns
    -------
    tuple of float or None
        Value, at most 1 and below 0 where the control is attacked with more success, low and high;
        all None where the control is always successful, so that nothing is left to gain.

    Examples
    --------
    >>> [round(end, 3) for end in excess(0.5, 500, 0.2, 500)]
    [0.375, 0.313, 0.435]
    >>> excess(1.0, 500, 1.0, 500)
    (None, None, None)
    """
    if control >= 1:
        return None, None, None
    low, high = wilson(share, n, level)
    control_low, control_high = wilson(control, n_control, level)
    left = 1 - control
    weight = (1 - share) / left**2
    value = (share - control) / left
    below = math.hypot((share - low) / left, (control_high - control) * weight)
    above = math.hypot((high - share) / left, (control - control_low) * weight)
    return value, value - below, min(value + above, 1.0)


def relative_excess(share: Interval, original: Interval, baseline: float) -> PerhapsInterval:
    """Return (share - baseline) / (original - baseline) with an interval.

    Errors are propagated as in `excess`, those of both shares taken as independent. All are None
    unless the original's interval lies above the baseline, since nothing can be told from a share
    of an excess that may be none.

    Examples
    --------
    >>> [round(end, 3) for end in relative_excess((0.6, 0.57, 0.63), (0.7, 0.7, 0.7), 0.5)]
    [0.5, 0.35, 0.65]
    >>> relative_excess((0.6, 0.57, 0.63), (0.55, 0.49, 0.61), 0.5)
    (None, None, None)
    """
    if original[1] <= baseline:
        return None, None, None
    reach = original[0] - baseline
    value = (share[0] - baseline) / reach
    # A larger original makes the value smaller where it is positive, larger where it is negative.
    less, more = original[0] - original[1], original[2] - original[0]
    if value < 0:
        less, more = more, less
    below = math.hypot(share[0] - share[1], value * more) / reach
    above = math.hypot(share[2] - share[0], value * less) / reach
    return value, value - below, value + above


def welch(a: FloatArray, b: FloatArray, level: float = 0.95) -> dict[str, float | None]:
    """Return Welch's t test of mean(a) - mean(b): t, df, p (two-sided), low and high.

    All are None with fewer than two scores on a side, and when all scores are the same. Where
    each side has one score throughout, and not the same, the interval is the difference itself.
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
    reach = float(scipy.stats.t.ppf((1 + level) / 2, df)) * error
    t = difference / error
    p = float(2 * scipy.stats.t.sf(abs(t), df))
    return {"t": t, "df": df, "p": p, "low": difference - reach, "high": difference + reach}


def unit_means(scores: FloatArray, units: IntArray, rule: str) -> FloatArray:
    """Return one score per unit: NaN (no match) counts as 0, or is left out ("undefined")."""
    use = np.ones(len(scores), dtype=bool) if rule == "zero" else ~np.isnan(scores)
    _, position = np.unique(units[use], return_inverse=True)
    sums = np.bincount(position, weights=np.nan_to_num(scores[use]))
    return np.asarray(sums / np.bincount(position))
