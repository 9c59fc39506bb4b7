"""Proportional odds: cumulative logits with thresholds and a ridge on the slopes.

With ``u`` and ``l`` the upper and lower threshold of a row's class minus its linear predictor and
``F`` the logistic function, the probability of the class is
``F(u) - F(l) = F(u) * F(-l) * (1 - exp(l - u))``. The logarithm of the last factor depends on the
class alone, so the log-likelihood and its derivatives need no difference of nearly equal numbers.
It is concave in thresholds and slopes together (Pratt 1981, Burridge 1981).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from synthesizer.data.table import FloatArray, IntArray
from synthesizer.models._numerics import newton, one_blas_thread

__all__ = ["cumulative_probabilities", "fit_cumulative"]


def cumulative_probabilities(score: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return P(class <= j) = F(threshold_j - score) for all j but the last, shape (n, k - 1)."""
    return np.asarray(expit(thresholds[None, :] - score[:, None]))


@one_blas_thread()
def fit_cumulative(
    matrix: FloatArray, classes: IntArray, penalty: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Maximise the penalised log-likelihood.

    Parameters
    ----------
    matrix : ndarray, shape (n, p)
        Design matrix without an intercept.
    classes : ndarray of int, shape (n,)
        Class numbers 0 to k - 1 in their order, each of them seen, k >= 2.
    penalty : ndarray, shape (p,)
        Ridge of each slope.

    Returns
    -------
    thresholds : ndarray, shape (k - 1,)
        Strictly increasing.
    slopes : ndarray, shape (p,)
        A larger ``x @ slopes`` makes higher classes more likely.
    """
    order = np.argsort(classes, kind="stable")
    counts = np.bincount(classes)
    problem = _Problem(matrix[order], classes[order], counts, penalty)
    below = np.cumsum(counts)[:-1] / len(classes)
    start = np.concatenate([np.log(below / (1 - below)), np.zeros(matrix.shape[1])])
    point = newton(problem.objective, start)
    return point[: len(below)], point[len(below) :]


@dataclass(frozen=True, eq=False)
class _Problem:
    """Rows sorted by class, so that sums by class are sums over slices."""

    matrix: FloatArray
    classes: IntArray
    counts: IntArray
    penalty: FloatArray

    def objective(self, point: FloatArray) -> tuple[float, FloatArray, FloatArray] | None:
        """Return value, gradient and Hessian; None where thresholds are not increasing."""
        n_thresholds = len(self.counts) - 1
        thresholds, slopes = point[:n_thresholds], point[n_thresholds:]
        gaps = np.diff(thresholds)
        if not (gaps > 0).all():
            return None
        score = self.matrix @ slopes
        ends = np.concatenate([[-np.inf], thresholds, [np.inf]])
        upper, lower = ends[self.classes + 1] - score, ends[self.classes] - score
        value = float(np.logaddexp(0, -upper).sum() + np.logaddexp(0, lower).sum())
        value -= float(self.counts[1:-1] @ np.log(-np.expm1(-gaps)))
        value += 0.5 * float(self.penalty @ slopes**2)
        return value, self._gradient(upper, lower, gaps, slopes), self._hessian(upper, lower, gaps)

    def _gradient(
        self, upper: FloatArray, lower: FloatArray, gaps: FloatArray, slopes: FloatArray
    ) -> FloatArray:
        """Return the gradient, shape (k - 1 + p,)."""
        above, below = expit(-upper), expit(lower)
        by_threshold = self._by_class(below)[1:] - self._by_class(above)[:-1]
        pull = -self.counts[1:-1] * np.exp(-gaps) / np.expm1(-gaps)
        by_threshold[1:] -= pull
        by_threshold[:-1] += pull
        by_slope = self.matrix.T @ (above - below) + self.penalty * slopes
        return np.concatenate([by_threshold, by_slope])

    def _hessian(self, upper: FloatArray, lower: FloatArray, gaps: FloatArray) -> FloatArray:
        """Return the Hessian: tridiagonal thresholds, their products with slopes, slopes."""
        n = len(gaps) + 1
        above = expit(upper) * expit(-upper)
        below = expit(lower) * expit(-lower)
        out = np.zeros((n + self.matrix.shape[1],) * 2)
        diagonal = self._by_class(above)[:-1] + self._by_class(below)[1:]
        bend = self.counts[1:-1] * np.exp(-gaps) / np.expm1(-gaps) ** 2
        diagonal[1:] += bend
        diagonal[:-1] += bend
        out[range(n), range(n)] = diagonal
        out[range(n - 1), range(1, n)] = out[range(1, n), range(n - 1)] = -bend
        if self.matrix.shape[1]:
            cross = self._by_class(below[:, None] * self.matrix)[1:]
            cross += self._by_class(above[:, None] * self.matrix)[:-1]
            out[:n, n:], out[n:, :n] = -cross, -cross.T
            weighted = self.matrix * np.sqrt(above + below)[:, None]
            out[n:, n:] = weighted.T @ weighted + np.diag(self.penalty)
        return out

    def _by_class(self, values: FloatArray) -> FloatArray:
        """Sum rows by class."""
        starts = np.concatenate([[0], np.cumsum(self.counts)[:-1]])
        return np.asarray(np.add.reduceat(values, starts, axis=0))
