"""From run lengths to the simplex and back: the cell map of the career model.

G run lengths d sum to T. Their excess e = d - 1 sums to N = T - G and is a lattice point. It owns
the cell of points u of the simplex that are nearer to it than to other lattice points once u is
stretched to u (N + 1) - 1/G; the centre of that cell is m(e) = (e + 1/G) / (N + 1).

Border: a stretched coordinate may be as low as -1/G, and rounding it down would give a negative
excess. Largest remainders never do, outside of the corners of the simplex: a coordinate below 0
has a remainder of at least 1 - 1/G, and if k coordinates are rounded up while it is not, all k + 1
have such remainders, whose sum is then at least (k + 1)(1 - 1/G) but must be k, which leaves
k = G - 1 and all remainders equal: the corners. There the tie is broken in favour of zero.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from synthesizer.data.table import FloatArray, IntArray

__all__ = ["cell", "centre", "compositions", "log_n_compositions", "nearest"]

DECIMALS = 9  # remainders that agree so far are ties: rounding errors must not decide


def centre(excess: npt.ArrayLike) -> FloatArray:
    """Return m(e), the centre of the cell of each excess, shape (m, G); rows sum to 1.

    Examples
    --------
    >>> centre([[2, 0]]).round(3).tolist()
    [[0.833, 0.167]]
    """
    e = np.asarray(excess, dtype=np.float64)
    return np.asarray((e + 1.0 / e.shape[1]) / (e.sum(axis=1, keepdims=True) + 1.0))


def cell(u: npt.ArrayLike, total: int) -> npt.NDArray[np.int64]:
    """Return c(u), the excess whose cell each point of the simplex lies in.

    Parameters
    ----------
    u : array_like, shape (m, G)
        Points of the simplex: not negative, rows sum to 1.
    total : int
        N = T - G >= 0, the sum of every excess.

    Returns
    -------
    ndarray of int64, shape (m, G)
        Not negative, rows sum to ``total``. Ties go to the earlier run.

    Examples
    --------
    >>> cell([[0.8, 0.2], [0.5, 0.5], [1.0, 0.0]], 2).tolist()
    [[2, 0], [1, 1], [2, 0]]
    """
    points = np.asarray(u, dtype=np.float64)
    stretched = points * (total + 1) - 1.0 / points.shape[1]
    return _round_to_sum(stretched, total, lowest=0)


def nearest(x: npt.ArrayLike, total: int) -> npt.NDArray[np.int64]:
    """Return the nearest lattice point with sum ``total`` to each row of ``x`` with that sum.

    Largest remainders: every coordinate is rounded down, then those with the largest remainders
    go up by one until the sum is right. Coordinates may be negative.

    Examples
    --------
    >>> nearest([[-0.7, 0.3, 0.4]], 0).tolist()
    [[-1, 0, 1]]
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
    order = np.argsort(-remainder, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(x.shape[1])[None, :], axis=1)
    return np.asarray(base + (rank < missing[:, None]))


def compositions(n_periods: int, count: int) -> npt.NDArray[np.int64]:
    """Return the excess of every way to split ``n_periods`` into ``count`` runs, in order.

    There are (T - 1 choose G - 1) of them: for small cases.

    Examples
    --------
    >>> compositions(4, 2).tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    cuts = list(combinations(range(1, n_periods), count - 1))
    inner = np.array(cuts, dtype=np.int64).reshape(len(cuts), count - 1)
    edges = np.pad(inner, ((0, 0), (1, 1)), constant_values=((0, 0), (0, n_periods)))
    return np.diff(edges, axis=1) - 1


def log_n_compositions(n_periods: int, count: int | IntArray) -> FloatArray:
    """Return the logarithm of the number of ways to split T periods into G runs.

    Examples
    --------
    >>> round(float(np.exp(log_n_compositions(6, 3))))
    10
    """
    g = np.asarray(count, dtype=np.float64)
    return np.asarray(gammaln(n_periods) - gammaln(g) - gammaln(n_periods - g + 1))
