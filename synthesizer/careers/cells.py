"""The probability of a composition: the mass of its cell under a density on the simplex.

The mass is the volume of the cell times the mean density over points that fill it evenly:

- Few compositions (at most 5,000): points spread evenly over the whole simplex, sorted by the
  cell that they fall into. The masses of all cells then sum to the integral of the density.
- Many: inside the simplex all cells are copies of one another (the Voronoi cell of the lattice
  A_{G-1}, of volume (N + 1)^-(G - 1) in the first G - 1 coordinates), so one set of offsets
  serves all of them. Offsets that lead out of the simplex are left out, and the volume is smaller
  in proportion: cells at the border are smaller.

Either way likelihoods of different models compare. Points come from a Kronecker sequence and are
always the same. Both are rough where a component is far narrower than a cell.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from synthesizer.careers.dirichlet import Mixture, log_densities
from synthesizer.careers.simplex import cell, centre, log_n_compositions, nearest
from synthesizer.data.table import FloatArray, IntArray

__all__ = ["CellPoints", "cell_matrix", "cell_offsets", "cell_points", "cell_probabilities"]

POINTS = 128  # in a cell
CANDIDATES = 2048  # offsets tried to find so many inside the simplex
FEW_COMPOSITIONS = 5_000
LEAST_POINTS, MAX_POINTS = 65_536, 400_000  # on a simplex
BLOCK = 4_000_000


class CellPoints:
    """Points that fill the cells of m compositions.

    Parameters
    ----------
    logs : ndarray, shape (S, G)
        Logarithms of the points, cell after cell.
    sizes : ndarray of int, shape (m,)
        Points of each cell, >= 1.
    log_volume : ndarray, shape (m,)
        Volume of each cell in the first G - 1 coordinates.
    """

    def __init__(self, logs: FloatArray, sizes: IntArray, log_volume: FloatArray) -> None:
        self.logs = logs
        self.sizes = sizes
        self.log_volume = log_volume
        self._ends = np.cumsum(sizes)

    def masses(self, alpha: FloatArray) -> FloatArray:
        """Return the probability of each cell under each Dirichlet, shape (m, K), at most 1."""
        m = len(self.sizes)
        result = np.empty((m, len(alpha)))
        begin = 0
        while begin < m:
            base = self._ends[begin] - self.sizes[begin]
            room = base + max(BLOCK // len(alpha), self.sizes[begin])
            end = max(int(np.searchsorted(self._ends, room, side="right")), begin + 1)
            values = log_densities(self.logs[base : self._ends[end - 1]], alpha)
            values += np.repeat(self.log_volume[begin:end], self.sizes[begin:end])[:, None]
            starts = self._ends[begin:end] - self.sizes[begin:end] - base
            sums = np.add.reduceat(np.exp(np.minimum(values, 700.0)), starts, axis=0)
            result[begin:end] = sums / self.sizes[begin:end, None]
            begin = end
        return np.minimum(result, 1.0)

    def mean_logs(self) -> FloatArray:
        """Return the mean over each cell of the logarithms of the coordinates, shape (m, G)."""
        sums = np.add.reduceat(self.logs, self._ends - self.sizes, axis=0)
        return np.asarray(sums / self.sizes[:, None])


def cell_points(excess: npt.NDArray[np.integer]) -> CellPoints:
    """Fill the cells of distinct compositions of one T and one G, shape (m, G), m >= 1."""
    n_parts, total = excess.shape[1], int(excess[0].sum())
    if n_parts == 1:
        one = np.ones(len(excess), dtype=np.int64)
        return CellPoints(np.zeros((len(excess), 1)), one, np.zeros(len(excess)))
    log_n_cells = float(log_n_compositions(total + n_parts, n_parts))
    if log_n_cells <= np.log(FEW_COMPOSITIONS):
        return _points_of_simplex(excess, total, round(np.exp(log_n_cells)))
    return _points_of_cells(excess, total)


def cell_matrix(excess: npt.NDArray[np.integer], alpha: FloatArray) -> FloatArray:
    """Return the probability of each composition under each Dirichlet distribution.

    Parameters
    ----------
    excess : ndarray of int, shape (m, G)
        Distinct compositions of one T and one G, as excess over length 1.
    alpha : ndarray, shape (K, G)
        Parameters, > 0.

    Returns
    -------
    ndarray, shape (m, K)

    Examples
    --------
    >>> from synthesizer.careers.simplex import compositions
    >>> float(cell_matrix(compositions(6, 3), np.ones((1, 3))).sum().round(3))
    1.0
    """
    return cell_points(excess).masses(alpha)


def cell_probabilities(excess: npt.NDArray[np.integer], mixture: Mixture) -> FloatArray:
    """Return the probability of each composition under a mixture, shape (m,)."""
    return np.asarray(cell_matrix(excess, mixture.alpha) @ mixture.weights)


def cell_offsets(count: int, size: int = CANDIDATES) -> FloatArray:
    """Return points that fill the cell around the origin evenly, shape (size, G), rows sum to 0.

    A point that is uniform modulo the lattice, minus its nearest lattice point, is uniform in the
    cell.

    Examples
    --------
    >>> offsets = cell_offsets(2, 8)
    >>> bool((abs(offsets) <= 0.5).all()), bool(np.allclose(offsets.sum(axis=1), 0))
    (True, True)
    """
    uniform = _kronecker(size, count - 1)
    points = np.column_stack([uniform, -uniform.sum(axis=1)])
    return np.asarray(points - nearest(points, 0))


def _kronecker(size: int, dimension: int) -> FloatArray:
    """Return evenly spread points of the unit cube: multiples of a root's powers, modulo 1.

    The root is that of x^(d + 1) = x + 1, for d = 1 the golden ratio.
    """
    root = 2.0
    for _ in range(60):
        root = (1.0 + root) ** (1.0 / (dimension + 1))
    steps = root ** -np.arange(1.0, dimension + 1)
    return np.asarray((0.5 + np.arange(1, size + 1)[:, None] * steps) % 1.0)


def _points_of_simplex(excess: npt.NDArray[np.integer], total: int, n_cells: int) -> CellPoints:
    """Spread points over the simplex (gaps of sorted uniforms) and keep those in the cells."""
    n_parts = excess.shape[1]
    size = min(max(POINTS * n_cells, LEAST_POINTS), MAX_POINTS)
    uniform = np.sort(_kronecker(size, n_parts - 1), axis=1)
    points = np.diff(np.pad(uniform, ((0, 0), (1, 1)), constant_values=((0, 0), (0, 1))), axis=1)
    points = np.vstack([np.maximum(points, 1e-12), centre(excess)])  # no cell stays empty
    rows = np.vstack([excess, cell(points, total)])
    codes = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    own, owner = codes[: len(excess)], codes[len(excess) :]
    sorter = np.argsort(own)
    place = np.minimum(np.searchsorted(own, owner, sorter=sorter), len(own) - 1)
    which = sorter[place]
    mine = own[which] == owner
    order = np.argsort(which[mine], kind="stable")
    sizes = np.bincount(which[mine], minlength=len(excess))
    log_volume = np.log(sizes / len(points)) - gammaln(n_parts)
    return CellPoints(np.log(points[mine][order]), sizes, log_volume)


def _points_of_cells(excess: npt.NDArray[np.integer], total: int) -> CellPoints:
    """Shift the same offsets to every cell; keep the first ones that lie in the simplex."""
    n_parts = excess.shape[1]
    offsets = cell_offsets(n_parts) / (total + 1)
    log_volume = np.full(len(excess), -(n_parts - 1) * np.log(total + 1))
    logs, sizes = [], np.empty(len(excess), dtype=np.int64)
    for i, middle in enumerate(centre(excess)):
        points = middle + offsets
        inside = np.flatnonzero((points > 0).all(axis=1))
        log_volume[i] += np.log(max(len(inside), 0.5) / CANDIDATES)
        chosen = points[inside[:POINTS]] if len(inside) else middle[None, :]
        logs.append(np.log(chosen))
        sizes[i] = len(chosen)
    return CellPoints(np.vstack(logs), sizes, log_volume)
