"""Predictors as numbers that a tree can split: every column becomes one float32 column.

The levels of a categorical predictor get positions on a line, so that a split between two
neighbours separates levels with a low and a high response. For two-level and numeric targets the
position is the mean response, which makes the best binary split of the levels one of the cuts
(Breiman et al. 1984); for more levels it is the score on the first principal component of the
levels' mean responses (Coppersmith, Hong and Hosking 1999).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from synthesizer.data.schema import Kind
from synthesizer.data.table import Column, FloatArray, Table

__all__ = ["Encoding", "level_scores"]

Float32Array = npt.NDArray[np.float32]
FLOAT32_MAX = float(np.finfo(np.float32).max)


@dataclass(frozen=True, eq=False)
class Encoding:
    """Where every code of every predictor lies.

    Parameters
    ----------
    names : tuple of str
        Predictors in column order.
    positions : tuple of ndarray
        For each predictor a float32 array: the position of each code of a coded variable, or of
        each missing code of a numeric one (numbers themselves are their own position).
    """

    names: tuple[str, ...]
    positions: tuple[Float32Array, ...]

    @classmethod
    def learn(cls, predictors: Table, response: FloatArray, *, prior: float) -> Self:
        """Place the codes of ``predictors`` by ``response``, shape (n, d), centred columns.

        Parameters
        ----------
        predictors : Table
            n rows.
        response : ndarray
            What the tree is to explain, see `level_scores`.
        prior : float
            Rows with the overall mean response that every level is given in addition, >= 0.
        """
        positions = tuple(_positions(column, response, prior) for column in predictors.columns)
        return cls(predictors.names, positions)

    def matrix(self, predictors: Table) -> Float32Array:
        """Return the predictors as a float32 matrix, shape (n, p), row after row in memory."""
        matrix = np.empty((predictors.n_rows, len(self.names)), dtype=np.float32)
        for j, (name, positions) in enumerate(zip(self.names, self.positions, strict=True)):
            matrix[:, j] = _encode(predictors[name], positions)
        return matrix

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a saved model."""
        return {"names": list(self.names), "positions": list(self.positions)}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild from ``to_dict``; raises ValueError on positions that are no numbers."""
        names = tuple(str(name) for name in state["names"])
        positions = tuple(np.asarray(p, dtype=np.float32) for p in state["positions"])
        if len(names) != len(positions):
            raise ValueError("every predictor of a tree must have positions")
        if not all(p.ndim == 1 and np.isfinite(p).all() for p in positions):
            raise ValueError("positions of predictors must be finite numbers")
        return cls(names, positions)


def level_scores(
    codes: npt.NDArray[np.int32], n_codes: int, response: FloatArray, prior: float
) -> FloatArray:
    """Score the levels of a categorical predictor by the response of their rows.

    Parameters
    ----------
    codes : ndarray
        Codes in [0, n_codes), shape (n,).
    n_codes : int
        Number of codes; codes that never occur get 0, the overall mean.
    response : ndarray
        Centred responses, shape (n, d): one-hot columns of a coded target, or a number.
    prior : float
        Rows with the overall mean (zero) added to each level, so that rare levels do not end up
        at the extremes by chance.

    Returns
    -------
    ndarray
        Shape (n_codes,): the mean response if d = 1, else its first principal component.

    Examples
    --------
    >>> codes = np.array([0, 0, 1, 1], dtype=np.int32)
    >>> response = np.array([[-1.0], [0.0], [0.0], [1.0]])
    >>> level_scores(codes, 3, response, prior=0.0).tolist()
    [-0.5, 0.5, 0.0]
    """
    sizes = np.bincount(codes, minlength=n_codes)
    sums = np.empty((n_codes, response.shape[1]))
    for k in range(response.shape[1]):
        sums[:, k] = np.bincount(codes, weights=response[:, k], minlength=n_codes)
    means = sums / np.maximum(sizes + prior, 1e-300)[:, None]
    if means.shape[1] == 1:
        return np.asarray(means[:, 0])
    weighted = means * np.sqrt(sizes)[:, None]
    direction = np.linalg.svd(weighted, full_matrices=False)[2][0]
    # The sign of a singular vector is arbitrary: fix it, so that fits are reproducible.
    direction *= np.sign(direction[np.abs(direction).argmax()]) or 1.0
    return np.asarray(means @ direction)


def _positions(column: Column, response: FloatArray, prior: float) -> Float32Array:
    if column.variable.kind is Kind.ORDERED:
        return np.arange(column.variable.n_codes, dtype=np.float32)
    if column.is_coded:
        codes = np.asarray(column.data, dtype=np.int32)
        scores = level_scores(codes, column.variable.n_codes, response, prior)
        scale = np.abs(scores).max(initial=0.0)
        # float32 must keep neighbours apart whatever the units of the target are.
        return (scores / scale if scale > 0 else scores).astype(np.float32)
    return _missing_positions(column)


def _missing_positions(column: Column) -> Float32Array:
    """Put each missing code below the range of the numbers, one range apart."""
    observed = column.data[column.is_observed]
    low, high = (observed.min(), observed.max()) if len(observed) else (0.0, 0.0)
    span = max(high - low, 1.0, abs(low) * 1e-3)
    steps = np.arange(1, len(column.variable.missing) + 1)
    return _to_float32(low - steps * span)


def _encode(column: Column, positions: Float32Array) -> Float32Array:
    if column.is_coded:
        return positions[column.data]
    values = _to_float32(np.asarray(column.data))
    if column.states is not None and len(positions):
        missing = column.states > 0
        values[missing] = positions[column.states[missing] - 1]
    return values


def _to_float32(values: FloatArray | Sequence[float]) -> Float32Array:
    return np.clip(values, -FLOAT32_MAX, FLOAT32_MAX).astype(np.float32)
