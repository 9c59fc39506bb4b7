"""Coefficients of the original beside those of synthetic datasets: differences and their test."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2, f, t

from synthesizer.data.table import FloatArray
from synthesizer.utility.combining import Rule
from synthesizer.utility.fit_results import CoefficientComparison, LackOfFit
from synthesizer.utility.fits import Fit

__all__ = ["compare_coefficients", "lack_of_fit"]


def compare_coefficients(
    names: tuple[str, ...],
    ours: Fit,
    synthetic: FloatArray,
    expected: FloatArray,
    level: float,
) -> tuple[CoefficientComparison, ...]:
    """Compare coefficients one by one.

    Parameters
    ----------
    names : tuple of str
        Names of the q coefficients.
    ours : Fit
        The original's.
    synthetic, expected : ndarray
        Mean coefficients of the synthetic datasets and the standard errors that they lead to
        expect of the original's, shape (q,).
    level : float
        Confidence level of the intervals.

    Examples
    --------
    >>> fit = Fit(np.array([1.0]), np.array([[0.25]]), np.inf)
    >>> (own,) = compare_coefficients(("age",), fit, np.array([2.0]), np.array([0.5]), 0.95)
    >>> own.difference, own.standardised, round(own.overlap, 3)
    (1.0, 2.0, 0.49)
    """
    half = t.ppf((1 + level) / 2, ours.df)
    error = ours.std_errors
    low, high = ours.coefficients - half * error, ours.coefficients + half * error
    made_low, made_high = synthetic - half * expected, synthetic + half * expected
    difference = synthetic - ours.coefficients
    common = np.minimum(high, made_high) - np.maximum(low, made_low)
    with np.errstate(all="ignore"):
        standardised = difference / error
        overlap = (common / (high - low) + common / (made_high - made_low)) / 2
    return tuple(
        CoefficientComparison(
            name=name,
            original=float(ours.coefficients[i]),
            original_error=float(error[i]),
            original_low=float(low[i]),
            original_high=float(high[i]),
            synthetic=float(synthetic[i]),
            synthetic_error=float(expected[i]),
            synthetic_low=float(made_low[i]),
            synthetic_high=float(made_high[i]),
            difference=float(difference[i]),
            standardised=_defined(standardised[i]),
            overlap=_defined(overlap[i]),
        )
        for i, name in enumerate(names)
    )


def _defined(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def lack_of_fit(
    ours: Fit, q: FloatArray, rule: Rule, ratios: FloatArray
) -> tuple[LackOfFit | None, str | None]:
    """Return the lack-of-fit test, or why there is none.

    Parameters
    ----------
    ours : Fit
        The original's.
    q : ndarray
        Coefficients of m datasets, shape (m, p).
    rule : str
        How the data were synthesised.
    ratios : ndarray
        n/k of each dataset, shape (m,).

    Examples
    --------
    >>> fit = Fit(np.array([1.0]), np.array([[0.25]]), np.inf)
    >>> test, _ = lack_of_fit(fit, np.array([[2.0]]), "simple", np.array([1.0]))
    >>> test.statistic, test.df, round(test.p_value, 4)
    (4.0, 1, 0.0455)
    """
    m, p = q.shape
    difference = q.mean(axis=0) - ours.coefficients
    if rule == "partially":
        if m <= p:
            return None, (
                f"no lack-of-fit test: rule 'partially' needs more synthetic datasets ({m}) than "
                f"coefficients ({p})"
            )
        covariance = np.atleast_2d(np.cov(q, rowvar=False)) / m
    else:
        extra = ratios if rule == "simple" else 1 + ratios  # parameters drawn anew
        covariance = ours.covariance * extra.mean() / m
    distance = _distance(difference, covariance)
    if distance is None:
        return None, (
            "no lack-of-fit test: the covariance of the differences is singular (too few "
            "clusters, or datasets that do not differ)"
        )
    if rule == "partially":
        statistic = distance * (m - p) / (p * (m - 1))
        return LackOfFit(statistic, p, m - p, float(f.sf(statistic, p, m - p))), None
    return LackOfFit(distance, p, None, float(chi2.sf(distance, p))), None


def _distance(difference: FloatArray, covariance: FloatArray) -> float | None:
    """Return the squared distance d' V^-1 d, None if V is singular."""
    spread = np.sqrt(np.diag(covariance))
    if not (spread > 0).all():
        return None
    correlation = covariance / np.outer(spread, spread)
    if np.linalg.matrix_rank(correlation, hermitian=True) < len(spread):
        return None
    scaled = difference / spread
    return max(float(scaled @ np.linalg.solve(correlation, scaled)), 0.0)
