"""Residuals of columns after regression on fixed effects of many levels.

The constants of all levels are the least-squares solution of one sparse system. The effect with
the most levels is eliminated exactly; the conjugate gradient method, one run for each column, finds
the constants of the others. The time of a step depends on the number of pairs of levels, not of
records. Without the acceleration these would be the alternating projections of Gaure
(2013), OLS with multiple high dimensional category variables, Computational Statistics and Data
Analysis 66. Sources: Abowd, Creecy and Kramarz (2002), Computing person and firm effects using
linked longitudinal employer-employee data, for conjugate gradients; Correia (2017), Linear models
with high-dimensional fixed effects, for the acceleration of symmetric projections; Bergé (2018),
Efficient estimation of maximum likelihood models with multiple fixed-effects, CREA discussion
paper 13; Fong and Saunders (2011), LSMR, SIAM J. Scientific Computing 33(5), for where to stop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from synthesizer.data.errors import DataError
from synthesizer.data.table import FloatArray

Codes = npt.NDArray[np.integer[Any]]

# Largest relative weighted length of a residual along the levels.
_SWEPT = 1e-12
_MOST_STEPS = 20_000
# Further passes remove rounding errors of long columns.
_PASSES = 3


class FixedEffects:
    """Fixed effects of the records of one dataset.

    Parameters
    ----------
    effects : sequence of arrays of int
        Level of each record for each effect, shapes (n,), 0 or larger; levels may be unused.

    Examples
    --------
    >>> effects = FixedEffects([np.array([0, 0, 1, 1])])
    >>> effects.sweep(np.array([[1.0], [3.0], [5.0], [5.0]])).ravel().tolist()
    [-1.0, 1.0, 0.0, 0.0]
    """

    def __init__(self, effects: Sequence[Codes]) -> None:
        used = [np.unique(codes, return_inverse=True) for codes in effects]
        self.n_levels = tuple(len(levels) for levels, _ in used)
        """Number of levels of each effect that occur."""
        self.codes = tuple(codes.astype(np.int32) for _, codes in used)
        order = np.argsort(self.n_levels, kind="stable")[::-1]
        self._first = self.n_levels[order[0]]
        starts = np.concatenate([[0], np.cumsum([self.n_levels[effect] for effect in order])])
        columns = [self.codes[effect] + start for effect, start in zip(order, starts, strict=False)]
        n, n_effects = len(columns[0]), len(columns)
        indices = np.column_stack(columns).ravel()
        bounds = np.arange(0, n * n_effects + 1, n_effects)
        shape = (n, int(starts[-1]))
        # The effect with the most levels comes first.
        self._indicators = scipy.sparse.csr_array((np.ones(n * n_effects), indices, bounds), shape)
        self._transposed = self._indicators.T.tocsr()

    @property
    def n_free(self) -> int:
        """Number of free constants: one less for each further effect."""
        return max(0, sum(self.n_levels) - (len(self.n_levels) - 1))

    def n_nested(self, clusters: Codes) -> int:
        """Number of constants of effects that are nested in clusters; an effect counts as one."""
        nested = 0
        for codes, n_levels in zip(self.codes, self.n_levels, strict=True):
            cluster = np.empty(n_levels, dtype=clusters.dtype)
            cluster[codes] = clusters
            if (cluster[codes] == clusters).all():
                nested += n_levels - 1
        return nested

    def sweep(self, columns: FloatArray, weights: FloatArray | None = None) -> FloatArray:
        """Return the residuals of columns, shape (n, k), in a regression on all levels.

        Parameters
        ----------
        columns : array of float
            Shape (n, k).
        weights : array of float, optional
            Positive weights of the records, shape (n,).

        Raises
        ------
        DataError
            If the constants of the levels do not converge.
        """
        w = np.ones(len(columns)) if weights is None else weights
        system = _System(self._transposed, self._indicators, w, self._first)
        length = np.sqrt(w @ columns**2)
        swept = columns
        for _ in range(_PASSES):
            sums = self._transposed @ (w[:, None] * swept)
            if system.is_swept(sums, length):
                break
            swept = swept - self._indicators @ system.constants(sums, length)
        return swept


class _System:
    """Normal equations of the levels, the first block of which is diagonal."""

    def __init__(self, transposed: Any, indicators: Any, w: FloatArray, first: int) -> None:
        self._first = first
        self._sizes = np.asarray(transposed @ w)
        self._scale = np.sqrt(self._sizes[first:])
        if len(self._scale):
            rest = indicators[:, first:]
            weighted = scipy.sparse.diags_array(w) @ rest
            scaled = scipy.sparse.diags_array(1 / self._scale)
            self._within = (scaled @ (rest.T @ weighted) @ scaled).tocsr()
            root = scipy.sparse.diags_array(1 / np.sqrt(self._sizes[:first]))
            self._across = (root @ (transposed[:first] @ weighted) @ scaled).tocsr()
            self._back = self._across.T.tocsr()

    def is_swept(self, sums: FloatArray, length: FloatArray) -> bool:
        """Whether the residuals along the levels are rounding errors."""
        projection = np.linalg.norm(sums / np.sqrt(self._sizes)[:, None], axis=0)
        return bool((projection <= _SWEPT * length).all())

    def constants(self, sums: FloatArray, length: FloatArray) -> FloatArray:
        """Return the constants of the levels from weighted sums, shapes (levels, k)."""
        first = self._sizes[: self._first, None]
        if not len(self._scale):
            return np.asarray(sums / first)
        root, scale = np.sqrt(first), self._scale[:, None]
        of_first = sums[: self._first] / root
        right = sums[self._first :] / scale - self._back @ of_first
        rest = self._conjugate_gradients(right, _SWEPT / 4 * length)
        return np.vstack([(of_first - self._across @ rest) / root, rest / scale])

    def _conjugate_gradients(self, right: FloatArray, limits: FloatArray) -> FloatArray:
        """Return the solution for each column; a column stops at its limit, since the system is
        singular and further steps would follow rounding errors.
        """
        solution, residual = np.zeros_like(right), right.copy()
        direction, size = right.copy(), (right**2).sum(axis=0)
        for _ in range(_MOST_STEPS):
            active = size > limits**2
            if not active.any():
                return solution
            along = self._within @ direction - self._back @ (self._across @ direction)
            bend = (direction * along).sum(axis=0)
            active &= bend > 0
            step = np.divide(size, bend, out=np.zeros_like(size), where=active)
            solution += step * direction
            residual -= step * along
            before, size = size, (residual**2).sum(axis=0)
            direction *= np.divide(size, before, out=np.zeros_like(size), where=active)
            direction += residual
        raise DataError(
            "the fixed effects cannot be separated: too few records connect their levels; leave "
            "out an effect or join its levels"
        )
