"""Dirichlet distributions, their mixtures, and the map between run lengths and the simplex.

The excess of a run is its length minus 1. The excesses of a person with G runs sum to N = T - G;
each vector of excesses is the centre of a cell of the simplex with G parts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, gammaln, logsumexp, polygamma

from synthesizer.data.table import FloatArray, IntArray

MAX_STEPS = 200
NEWTON_STEPS = 5
TOLERANCE = 1e-7  # of the mean log likelihood
MIN_ALPHA = 0.05
RESTARTS = 3
SHAPE_PRIOR = 0.02  # persons of the uniform distribution in every component
BACKGROUND_PRIOR = 1.0  # persons in the uniform component before any is seen
START_PRECISION = 1e4
MIN_COMPONENT_PERSONS = 10  # for each component


@dataclass(frozen=True, eq=False)
class Mixture:
    """A mixture of K Dirichlet distributions on the simplex with G parts."""

    weights: FloatArray
    """Positive, sum 1; shape (K,)."""
    alpha: FloatArray
    """Parameters, > 0; shape (K, G)."""


def log_densities(log_points: FloatArray, alpha: FloatArray) -> FloatArray:
    """Return the log density of each of K distributions at each of m points, shape (m, K).

    ``log_points``, shape (m, G), are logarithms of the coordinates. Densities are with respect to
    the first G - 1 of them.
    """
    constant = gammaln(alpha.sum(axis=1)) - gammaln(alpha).sum(axis=1)
    return np.asarray(log_points @ (alpha - 1.0).T + constant)


def draw_dirichlet(alpha: FloatArray, *, rng: np.random.Generator) -> FloatArray:
    """Draw one point of the simplex for each row of parameters, shape (m, G).

    Small parameters are drawn through logarithms, Gamma(a) = Gamma(a + 1) U^(1/a), so that a row
    never underflows to zeros only.
    """
    small = alpha < 1.0
    if not small.any():
        gamma = rng.standard_gamma(alpha)
        return np.asarray(gamma / gamma.sum(axis=1, keepdims=True))
    logs = np.log(rng.standard_gamma(alpha + small))
    logs[small] += np.log1p(-rng.random(int(small.sum()))) / alpha[small]
    points = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(points / points.sum(axis=1, keepdims=True))


def fit_mixture(
    points: FloatArray,
    counts: npt.NDArray[np.integer],
    n_components: int,
    *,
    mean_logs: FloatArray | None = None,
    rng: np.random.Generator,
) -> Mixture:
    """Fit a mixture of Dirichlet distributions by EM, the best of three starts.

    The M step is Newton's method for a Dirichlet distribution (Minka 2000), or its fixed point if
    Newton leaves the domain. One more component is uniform; its weight is learnt, starting from one
    person, and keeps every point possible. The others cannot shrink onto one point: each has a
    conjugate prior of a fiftieth of a person, and ``mean_logs`` cannot be matched with infinite
    precision. Components that lose all their points are dropped.

    ``points``, shape (P, G), are distinct and inside the simplex, ``counts`` the persons at each.
    ``n_components`` is reduced to P, and to one for every ten persons. ``mean_logs``, shape (P, G),
    are the mean logarithms of the coordinates over the surroundings of each point; by default those
    of the point itself.
    """
    k = min(n_components, len(points), max(1, int(counts.sum()) // MIN_COMPONENT_PERSONS))
    if points.shape[1] == 1:
        return Mixture(np.ones(1), np.ones((1, 1)))
    logs = np.log(points) if mean_logs is None else mean_logs
    weights = counts / counts.sum()
    n_persons = float(counts.sum())
    fits = [
        _em(_start(points, weights, k, rng), logs, weights, n_persons)
        for _ in range(RESTARTS if 1 < k < len(points) else 1)
    ]
    return max(fits, key=lambda fit: fit[1])[0]


def _start(points: FloatArray, weights: FloatArray, k: int, rng: np.random.Generator) -> Mixture:
    """Choose K points far from each other (k-means++) and group the others around them."""
    roots = np.sqrt(points)
    seeds = [int(rng.choice(len(points), p=weights))]
    distance = ((roots - roots[seeds[0]]) ** 2).sum(axis=1)
    for _ in range(k - 1):
        odds = weights * distance
        seeds.append(int(rng.choice(len(points), p=odds / odds.sum())))
        distance = np.minimum(distance, ((roots - roots[seeds[-1]]) ** 2).sum(axis=1))
        distance[seeds] = 0.0  # exact zeros: no point is chosen twice
    gaps = roots @ roots[seeds].T  # Bhattacharyya: large when near
    member = np.eye(k)[gaps.argmax(axis=1)] * weights[:, None]
    share = np.maximum(member.sum(axis=0), 1e-9)
    mean = np.maximum(member.T @ points / share[:, None], 1e-9)
    spread = np.maximum(member.T @ points**2 / share[:, None] - mean**2, 1e-12)
    precision = (mean * (1 - mean)).sum(axis=1) / spread.sum(axis=1) - 1  # by moments
    precision = np.clip(precision, 1.0, START_PRECISION)
    alpha = np.maximum(mean * precision[:, None], MIN_ALPHA)
    shares = np.append(share, 0.1)
    return Mixture(shares / shares.sum(), np.vstack([alpha, np.ones(points.shape[1])]))


def _em(
    mixture: Mixture, logs: FloatArray, weights: FloatArray, n_persons: float
) -> tuple[Mixture, float]:
    """Run EM from ``mixture``, whose last component is uniform and stays so."""
    n_parts = logs.shape[1]
    even = np.full((1, n_parts), digamma(1.0) - digamma(float(n_parts)))  # its mean logarithms
    prior, background = SHAPE_PRIOR / n_persons, BACKGROUND_PRIOR / n_persons
    value = -np.inf
    for _ in range(MAX_STEPS):
        joint = log_densities(logs, mixture.alpha) + np.log(mixture.weights)
        total = logsumexp(joint, axis=1, keepdims=True)
        new_value = float(weights @ total[:, 0])
        new_value += prior * float(log_densities(even, mixture.alpha[:-1]).sum())
        new_value += background * float(np.log(mixture.weights[-1]))
        if new_value - value < TOLERANCE * abs(new_value):
            return mixture, max(value, new_value)
        value = new_value
        share = np.exp(joint - total) * weights[:, None]
        size = share.sum(axis=0)
        size[-1] += background
        is_used = size > 1e-3 * weights.min()
        sums = share[:, is_used][:, :-1].T @ logs + prior * even
        sizes = size[is_used][:-1, None]
        alpha = _m_step(mixture.alpha[is_used][:-1], sums / (sizes + prior))
        mixture = Mixture(size[is_used] / size[is_used].sum(), np.vstack([alpha, np.ones(n_parts)]))
    return mixture, value


def _m_step(alpha: FloatArray, mean_logs: FloatArray) -> FloatArray:
    """Improve the parameters for given mean log coordinates, both of shape (K, G)."""
    for _ in range(NEWTON_STEPS):
        total = alpha.sum(axis=1, keepdims=True)
        gradient = digamma(total) - digamma(alpha) + mean_logs
        curvature = -polygamma(1, alpha)
        common = 1.0 / polygamma(1, total)
        shift = (gradient / curvature).sum(axis=1, keepdims=True)
        shift = shift / (common + (1.0 / curvature).sum(axis=1, keepdims=True))
        step = alpha - (gradient - shift) / curvature
        outside = ~((step > 0) & (step < 1e3 * total)).all(axis=1)
        if outside.any():
            step[outside] = _inverse_digamma(digamma(total[outside]) + mean_logs[outside])
        alpha = np.maximum(step, MIN_ALPHA)
    return alpha


def _inverse_digamma(y: FloatArray) -> FloatArray:
    """Invert the digamma function by Newton's method (Minka 2000, appendix C)."""
    x = np.where(y >= -2.22, np.exp(np.minimum(y, 50.0)) + 0.5, -1.0 / (y - digamma(1.0)))
    for _ in range(5):
        x = x - (digamma(x) - y) / polygamma(1, x)
    return np.asarray(x)


DECIMALS = 9  # equal remainders are ties in spite of rounding errors


def centre(excess: npt.ArrayLike) -> FloatArray:
    """Return m(e), the centre of the cell of each excess, shape (m, G); rows sum to 1."""
    e = np.asarray(excess, dtype=np.float64)
    return np.asarray((e + 1.0 / e.shape[1]) / (e.sum(axis=1, keepdims=True) + 1.0))


def cell(u: npt.ArrayLike, total: int) -> npt.NDArray[np.int64]:
    """Return c(u), the excess whose cell contains each point of the simplex, shape (m, G).

    Rows of ``u`` sum to 1, those of the result to ``total``, N >= 0. Ties go to the earlier run.
    """
    points = np.asarray(u, dtype=np.float64)
    return _round_to_sum(points * (total + 1) - 1.0 / points.shape[1], total, lowest=0)


def nearest(x: npt.ArrayLike, total: int) -> npt.NDArray[np.int64]:
    """Return the nearest lattice point with sum ``total`` to each row of ``x`` with that sum.

    Largest remainders: every coordinate is rounded down, then those with the largest remainders
    go up by one until the sum is right. Coordinates may be negative.
    """
    return _round_to_sum(np.asarray(x, dtype=np.float64), total, lowest=None)


def _round_to_sum(x: FloatArray, total: int, *, lowest: int | None) -> npt.NDArray[np.int64]:
    x = np.round(x, DECIMALS)
    base = np.floor(x)
    if lowest is not None:
        base = np.maximum(base, lowest)
    remainder = np.round(x - base, DECIMALS)
    base = base.astype(np.int64)
    missing = total - base.sum(axis=1)
    rank = np.argsort(np.argsort(-remainder, axis=1, kind="stable"), axis=1)
    return np.asarray(base + (rank < missing[:, None]))


def log_n_compositions(n_periods: int, count: int | IntArray) -> FloatArray:
    """Return the logarithm of the number of ways to split T periods into G runs."""
    g = np.asarray(count, dtype=np.float64)
    return np.asarray(gammaln(n_periods) - gammaln(g) - gammaln(n_periods - g + 1))
