"""The exact posterior of the share r, given a noisy count of M partitions.

S is the number of partitions of the confidential file in which the statement holds. Only
t = S + noise is released. With the uniform prior of r of Barrientos et al. (2018, eq. 4), S is
uniform on 0..M a priori, so given t

    r is a mixture of Beta(k + 1, M - k + 1),  k = 0..M,  with weights
    w_k proportional to exp(-abs(t - k) / scale)

and its density is M + 1 times the Bernstein polynomial with coefficients w_k. Everything below
follows from the weights, without Monte Carlo. (A published chain starts at the true S, which is not
private.) Noise that is clamped to 0..M gives the same weights, since the
constants of the two outer cells cancel, so clamping loses nothing. The weights rise and then fall,
so the density has one mode (variation diminishing, Schoenberg 1959).

With the third category, partitions where the model cannot be estimated, the three counts of
(in, out, error) have a uniform prior on the compositions of M, and each composition (a, b, c)
gives the share of "in" among the estimable ones a Beta(a + 1, b + 1) and that of errors a
Beta(c + 1, a + b + 2). Raised to degree M (Farouki 2012), the first is again a Bernstein
polynomial.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import scipy
from scipy.special import betainc, expit, gammaln, log_expit, logsumexp

from synthesizer.data.table import FloatArray

_MAX_LOG_ODDS = 700.0
"""Largest log odds in the search; beyond, a share is 0 or 1 as a double."""
_WEIGHT_TOLERANCE = 1e-12
"""Relative difference of weights below which they count as equal (rounding)."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior of a share in [0, 1]: a mixture of Beta(k + 1, n - k + 1), k = 0..n.

    Examples
    --------
    >>> known = posterior_of_count(45, m=50, scale=1.0)
    >>> round(known.mode, 3), [round(end, 3) for end in known.equal_tail]
    (0.901, [0.77, 0.967])
    >>> round(known.probability_above(0.5), 4)
    1.0
    """

    weights: FloatArray
    """Weights of the n + 1 components; they sum to 1."""

    @property
    def n(self) -> int:
        """Degree of the Bernstein polynomial."""
        return len(self.weights) - 1

    @cached_property
    def mode(self) -> float:
        """The most probable share: 0 or 1 if the density falls or rises throughout, 0.5 if flat.

        Root of sum (w_(k+1) - w_k) C(n-1, k) r^k (1-r)^(n-1-k) on the log odds of r. The logarithms
        of its rising and falling part are compared, since plain sums underflow.
        """
        steps = np.diff(self.weights)
        steps[
            np.abs(steps) < _WEIGHT_TOLERANCE * np.maximum(self.weights[1:], self.weights[:-1])
        ] = 0.0
        k = np.arange(self.n)
        choose = gammaln(self.n) - gammaln(k + 1) - gammaln(self.n - k)
        up, down = steps > 0, steps < 0
        if not up.any() or not down.any():
            return 0.5 + 0.5 * (float(up.any()) - float(down.any()))

        def above(odds: float) -> float:
            terms = choose + k * log_expit(odds) + (self.n - 1 - k) * log_expit(-odds)
            rising = logsumexp(terms[up] + np.log(steps[up]))
            return float(rising - logsumexp(terms[down] + np.log(-steps[down])))

        if above(-_MAX_LOG_ODDS) <= 0 or above(_MAX_LOG_ODDS) >= 0:
            return float(above(_MAX_LOG_ODDS) >= 0)
        return float(expit(scipy.optimize.brentq(above, -_MAX_LOG_ODDS, _MAX_LOG_ODDS, xtol=1e-12)))

    @property
    def mean(self) -> float:
        """Posterior mean."""
        return float(self.weights @ (np.arange(self.n + 1) + 1)) / (self.n + 2)

    def density(self, share: FloatArray) -> FloatArray:
        """Return the density at shares in [0, 1], shape (shares,)."""
        r = np.asarray(share, dtype=float)[:, None]
        k = np.arange(self.n + 1)
        choose = gammaln(self.n + 2) - gammaln(k + 1) - gammaln(self.n - k + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            low = np.where(k == 0, 0.0, k * np.log(r))
            high = np.where(k == self.n, 0.0, (self.n - k) * np.log1p(-r))
        density: FloatArray = np.exp(choose + low + high) @ self.weights
        return density

    def probability_above(self, share: float) -> float:
        """Return the probability that the share is above this one."""
        k = np.arange(self.n + 1)
        return float(self.weights @ betainc(self.n - k + 1, k + 1, 1 - share))

    def quantile(self, probability: float) -> float:
        """Return the quantile of the share at this probability."""
        if not 0 < probability < 1:
            return float(probability > 0)
        k = np.arange(self.n + 1)

        def excess(share: float) -> float:
            return float(self.weights @ betainc(k + 1, self.n - k + 1, share)) - probability

        return float(scipy.optimize.brentq(excess, 0.0, 1.0, xtol=1e-13))

    @cached_property
    def equal_tail(self) -> tuple[float, float]:
        """The 95 % interval with 2.5 % on either side."""
        return self.quantile(0.025), self.quantile(0.975)

    @cached_property
    def highest_density(self) -> tuple[float, float]:
        """The shortest 95 % interval: one end at 0 or 1, or equal densities at both ends."""

        def interval(below: float) -> tuple[float, float]:
            return self.quantile(below), self.quantile(below + 0.95)

        def excess(below: float) -> float:
            low, high = self.density(np.array(interval(below)))
            return float(low - high)

        candidates = [interval(0.0), interval(0.05), self.equal_tail]
        if excess(0.0) < 0 < excess(0.05):
            candidates.append(interval(float(scipy.optimize.brentq(excess, 0.0, 0.05, xtol=1e-13))))
        around = (ends for ends in candidates if ends[0] <= self.mode <= ends[1])
        # for a flat density the one in the middle
        return min(around, key=lambda e: (round(e[1] - e[0], 9), abs(sum(e) / 2 - self.mode)))


def posterior_of_count(released: float, *, m: int, scale: float) -> Posterior:
    """Return the posterior of the share r, given a released count of partitions.

    Parameters
    ----------
    released : float
        Number of partitions in which the statement holds, with noise; any real number.
    m : int
        Number of partitions.
    scale : float
        Scale of the noise: 1 / epsilon, if a person moves the count by at most 1.

    Examples
    --------
    >>> round(posterior_of_count(48.3, m=50, scale=1.0).mode, 4)
    0.9686
    """
    (count,) = clamped([released], m)
    weights = np.exp(-np.abs(count - np.arange(m + 1)) / scale)
    return Posterior(weights / weights.sum())


@dataclass(frozen=True, eq=False)
class Shares:
    """The joint posterior from three released counts."""

    weights: FloatArray
    """Weights by numbers of partitions in and out, shape (M + 1, M + 1); they sum to 1."""

    @property
    def _by_fitted(self) -> list[FloatArray]:
        """The weights of 0..n in, for each number n of partitions with a fit."""
        turned = self.weights[:, ::-1]
        return [turned.diagonal(len(turned) - 1 - n) for n in range(len(turned))]

    @cached_property
    def inside(self) -> Posterior:
        """Share of partitions in which the statement holds, among those with a fit."""
        inside = np.zeros(0)
        for weights in self._by_fitted:
            inside = _raised(inside) + weights
        return Posterior(inside)

    @cached_property
    def errors(self) -> Posterior:
        """Share of partitions without a fit."""
        return Posterior(np.array([0.0, *(w.sum() for w in self._by_fitted)])[::-1])

    @cached_property
    def most_inside(self) -> float:
        """Probability that the statement holds in most of the partitions with a fit."""
        return float((self.weights * _more_than_half(len(self.weights))).sum())


@lru_cache(maxsize=8)
def _more_than_half(size: int) -> FloatArray:
    """Return the probability that the share is above 1/2, by numbers in and out from 0."""
    k = np.arange(size)
    return np.asarray(betainc(k + 1, k[:, None] + 1, 0.5))


def posterior_of_categories(released: Sequence[float], *, m: int, scale: float) -> Shares:
    """Return the posteriors from the released counts (in, out, error) of partitions.

    Removing a person can turn a partition from "in" to "error": that moves two counts by 1, so the
    scale is 2 / epsilon.

    Of four counts (in, out, in as well, error) the third adds to the first: at one end of a range
    the partitions beyond its other end are on the inner side. The inner side, "out" and "error"
    have the uniform prior, and so has each split of the inner side into its two counts.

    Examples
    --------
    >>> known = posterior_of_categories((40, 5, 5), m=50, scale=2.0)
    >>> round(known.inside.mean, 2), round(known.errors.mean, 2)
    (0.87, 0.11)
    """
    near_in, near_out, *others, near_error = (
        np.exp(-np.abs(noisy - np.arange(m + 1)) / scale) for noisy in clamped(released, m)
    )
    for other in others:
        near_in = np.convolve(near_in, other)[: m + 1] / np.arange(1, m + 2)
    unfitted = m - np.add.outer(np.arange(m + 1), np.arange(m + 1))
    weights = np.outer(near_in, near_out) * np.where(unfitted >= 0, near_error[unfitted], 0.0)
    return Shares(weights / weights.sum())


def clamped(released: Sequence[float], m: int) -> Sequence[float]:
    """Return counts clipped to 0..M, without loss; values beyond would underflow."""
    return [min(max(0, count), m) for count in released]


def _raised(weights: FloatArray) -> FloatArray:
    """Return the weights of a mixture of Beta(k + 1, n - k + 1) for degree n + 1."""
    n = len(weights) - 1
    k = np.arange(n + 1)
    raised = np.zeros(n + 2)
    raised[:-1] = weights * (n + 1 - k) / (n + 2)
    raised[1:] += weights * (k + 1) / (n + 2)
    return raised
