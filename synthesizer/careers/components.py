"""Components of the run lengths of persons with the same number of runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from synthesizer.careers.cells import cell_points
from synthesizer.careers.dirichlet import Mixture, draw_dirichlet, fit_mixture, log_densities
from synthesizer.careers.simplex import cell, centre
from synthesizer.data.table import FloatArray, IntArray

__all__ = ["Components", "distinct_patterns", "fitted_components"]

Index = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Components:
    """K Dirichlet distributions around patterns, or with parameters of their own.

    Components are sorted by the first principal component of their means, so that neighbours
    are alike.

    Parameters
    ----------
    total : int
        N = T - G, the sum of every excess.
    patterns : ndarray of int64, shape (K, G), or None
        Excess of observed patterns; then the parameters are 1 + theta (N + 1) m(pattern).
    theta : float
        In [0, inf]; used with patterns.
    alpha : ndarray, shape (K, G), or None
        Parameters of fitted components.
    """

    total: int
    patterns: Index | None = None
    theta: float = math.inf
    alpha: FloatArray | None = None

    def draw(self, component: IntArray, *, rng: np.random.Generator) -> Index:
        """Draw an excess from the given components, shape (m, G)."""
        if self.alpha is None and math.isinf(self.theta):
            return self._patterns[component]
        points = draw_dirichlet(self.parameters(component), rng=rng)
        return cell(points, self.total)

    def parameters(self, component: IntArray | slice = slice(None)) -> FloatArray:
        """Return the Dirichlet parameters of components, shape (m, G); finite theta only."""
        if self.alpha is not None:
            return self.alpha[component]
        return 1.0 + self.theta * (self.total + 1) * centre(self._patterns[component])

    @property
    def _patterns(self) -> Index:
        return np.empty((0, 1), dtype=np.int64) if self.patterns is None else self.patterns

    def __len__(self) -> int:
        return len(self._patterns if self.alpha is None else self.alpha)

    @property
    def n_parts(self) -> int:
        """Number of runs, G."""
        return int((self._patterns if self.alpha is None else self.alpha).shape[1])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a saved model."""
        patterns = self.patterns
        if patterns is not None:
            patterns = patterns.astype(np.min_scalar_type(self.total))
        return {
            "total": self.total,
            "patterns": patterns,
            "theta": self.theta,
            "alpha": self.alpha,
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild from ``to_dict``; raises ValueError on values out of range."""
        total, theta = int(state["total"]), float(state["theta"])
        if total < 0 or not theta >= 0:
            raise ValueError("components must have a total and a theta that are at least 0")
        if state["alpha"] is not None:
            alpha = np.asarray(state["alpha"], dtype=np.float64)
            Mixture.from_dict({"weights": np.full(len(alpha), 1 / len(alpha)), "alpha": alpha})
            return cls(total, theta=theta, alpha=alpha)
        patterns = np.asarray(state["patterns"])
        if patterns.ndim != 2 or 0 in patterns.shape:
            raise ValueError("patterns must be a table of whole numbers")
        if not np.issubdtype(patterns.dtype, np.integer):
            raise ValueError("patterns must be a table of whole numbers")
        patterns = patterns.astype(np.int64)
        if patterns.min() < 0 or (patterns.sum(axis=1) != total).any():
            raise ValueError("patterns must sum to the same total and not be negative")
        return cls(total, patterns=patterns, theta=theta)


def distinct_patterns(excess: IntArray) -> tuple[Index, Index]:
    """Return the distinct rows in the order of their first principal component, and who has them.

    Parameters
    ----------
    excess : ndarray of int, shape (m, G)

    Returns
    -------
    patterns : ndarray of int64, shape (P, G)
    member : ndarray of int64, shape (m,)
        Row of ``patterns`` of each person.
    """
    patterns, member = np.unique(np.asarray(excess, np.int64), axis=0, return_inverse=True)
    order = _principal_order(patterns.astype(np.float64), np.bincount(member.reshape(-1)))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return patterns[order], place[member.reshape(-1)]


def fitted_components(
    patterns: Index, member: Index, n_components: int, *, rng: np.random.Generator
) -> tuple[Components, Index]:
    """Fit K components by EM and draw the component of each person given the pattern.

    Returns
    -------
    Components
        Those that at least one person is drawn into.
    ndarray of int64, shape (m,)
        Component of each person.
    """
    total = int(patterns[0].sum())
    mixture = fit_mixture(
        centre(patterns),
        np.bincount(member),
        n_components,
        mean_logs=cell_points(patterns).mean_logs(),
        rng=rng,
    )
    joint = log_densities(np.log(centre(patterns)), mixture.alpha) + np.log(mixture.weights)
    # The largest of joint + Gumbel noise is a draw with probabilities proportional to exp(joint).
    own = np.empty(len(member), dtype=np.int64)
    for start in range(0, len(member), 100_000):
        rows = slice(start, start + 100_000)
        noise = rng.gumbel(size=(len(member[rows]), len(mixture.alpha)))
        own[rows] = (joint[member[rows]] + noise).argmax(axis=1)
    means = mixture.alpha / mixture.alpha.sum(axis=1, keepdims=True)
    order = _principal_order(means, mixture.weights)
    order = order[np.isin(order, own)]
    place = np.full(len(mixture.alpha), -1, dtype=np.int64)
    place[order] = np.arange(len(order))
    return Components(total, alpha=mixture.alpha[order]), place[own]


def _principal_order(points: FloatArray, weights: npt.NDArray[Any]) -> Index:
    """Sort points by their score on the first principal component (ties: as they come)."""
    share = weights / weights.sum()
    centred = points - share @ points
    values, vectors = np.linalg.eigh((centred * share[:, None]).T @ centred)
    direction = vectors[:, values.argmax()]
    direction = direction * (np.sign(direction[np.abs(direction).argmax()]) or 1.0)
    return np.argsort(np.round(centred @ direction, 9), kind="stable")
