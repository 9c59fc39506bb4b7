"""G and Z: how many runs a person has and how long they last."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from synthesizer.data.table import Column, FloatArray, IntArray, Kind, Table, Variable
from synthesizer.models.careers.career_options import CareerOptions
from synthesizer.models.careers.dirichlet import (
    cell,
    centre,
    check_alpha,
    draw_dirichlet,
    fit_mixture,
    log_densities,
    log_n_compositions,
    nearest,
)
from synthesizer.models.careers.runs import Index, Runs
from synthesizer.models.cart import Cart, FittedCart
from synthesizer.models.kit.numerics import check_rising

# The probability of a composition: the mass of its cell under a density on the simplex.

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
    >>> from synthesizer.models.careers.dirichlet import compositions
    >>> float(cell_matrix(compositions(6, 3), np.ones((1, 3))).sum().round(3))
    1.0
    """
    return cell_points(excess).masses(alpha)


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


# Components of the run lengths of persons with the same number of runs.

IndexArray = npt.NDArray[np.int64]


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
    patterns: IndexArray | None = None
    theta: float = math.inf
    alpha: FloatArray | None = None

    def __post_init__(self) -> None:
        if self.total < 0 or not self.theta >= 0:
            raise ValueError("components must have a total and a theta that are at least 0")
        if self.alpha is not None:
            check_alpha(self.alpha)
            return
        patterns = self._patterns
        if patterns.ndim != 2 or 0 in patterns.shape:
            raise ValueError("patterns must be a table of whole numbers")
        if patterns.min() < 0 or (patterns.sum(axis=1) != self.total).any():
            raise ValueError("patterns must sum to the same total and not be negative")

    def draw(self, component: IntArray, *, rng: np.random.Generator) -> IndexArray:
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
    def _patterns(self) -> IndexArray:
        return np.empty((0, 1), dtype=np.int64) if self.patterns is None else self.patterns

    def __len__(self) -> int:
        return len(self._patterns if self.alpha is None else self.alpha)

    @property
    def n_parts(self) -> int:
        """Number of runs, G."""
        return int((self._patterns if self.alpha is None else self.alpha).shape[1])


def distinct_patterns(excess: IntArray) -> tuple[IndexArray, IndexArray]:
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
    patterns: IndexArray, member: IndexArray, n_components: int, *, rng: np.random.Generator
) -> tuple[Components, IndexArray]:
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


def _principal_order(points: FloatArray, weights: npt.NDArray[Any]) -> IndexArray:
    """Sort points by their score on the first principal component (ties: as they come)."""
    share = weights / weights.sum()
    centred = points - share @ points
    values, vectors = np.linalg.eigh((centred * share[:, None]).T @ centred)
    direction = vectors[:, values.argmax()]
    direction = direction * (np.sign(direction[np.abs(direction).argmax()]) or 1.0)
    return np.argsort(np.round(centred @ direction, 9), kind="stable")


@dataclass(frozen=True, eq=False)
class FittedLengths:
    """G by a tree on the persons (observed frequencies without predictors), then Z given G.

    Parameters
    ----------
    n_periods : int
        T.
    groups : ndarray of int64, shape (M,)
        The numbers of runs that occur, ascending.
    count_tree : FittedCart
        Draws the position of G in ``groups``.
    component_trees : tuple of FittedCart, length M
        Draw the component of a person with this G.
    components : tuple of Components, length M
    """

    n_periods: int
    groups: Index
    count_tree: FittedCart
    component_trees: tuple[FittedCart, ...]
    components: tuple[Components, ...]

    def __post_init__(self) -> None:
        check_rising("numbers of runs", self.groups)
        if self.groups[0] < 1 or self.groups[-1] > self.n_periods:
            raise ValueError("numbers of runs must lie between 1 and the number of periods")
        if not len(self.component_trees) == len(self.components) == len(self.groups):
            raise ValueError("every number of runs must have components and a tree")
        check_donors(self.count_tree, len(self.groups))
        for count, tree, part in zip(
            self.groups.tolist(), self.component_trees, self.components, strict=True
        ):
            if part.n_parts != count or part.total != self.n_periods - count:
                raise ValueError("components must have as many parts as there are runs")
            check_donors(tree, len(part))

    def draw_counts(self, persons: Table, *, rng: np.random.Generator) -> Index:
        """Draw the number of runs of each person, shape (n,)."""
        drawn = self.count_tree.sample(persons, rng=rng).data
        return self.groups[drawn.astype(np.int64)]

    def draw_lengths(self, counts: Index, persons: Table, *, rng: np.random.Generator) -> Index:
        """Draw the run lengths of persons with given numbers of runs, flat, shape (R,)."""
        own = np.zeros(len(counts), dtype=np.int64)
        for count, tree in zip(self.groups.tolist(), self.component_trees, strict=True):
            rows = np.flatnonzero(counts == count)
            if len(rows):
                own[rows] = tree.sample(persons.take(rows), rng=rng).data.astype(np.int64)
        return self.redraw(counts, own, rng=rng)

    def redraw(self, counts: Index, own: Index, *, rng: np.random.Generator) -> Index:
        """Draw lengths from given components of persons, flat, shape (R,)."""
        first = np.cumsum(counts) - counts
        lengths = np.empty(int(counts.sum()), dtype=np.int64)
        for count, components in zip(self.groups.tolist(), self.components, strict=True):
            rows = np.flatnonzero(counts == count)
            if len(rows):
                excess = components.draw(own[rows], rng=rng)
                lengths[first[rows][:, None] + np.arange(count)] = excess + 1
        return lengths


def fit_lengths(
    runs: Runs,
    n_periods: int,
    persons: Table,
    options: CareerOptions,
    theta: float,
    *,
    rng: np.random.Generator,
) -> tuple[FittedLengths, Index, tuple[str, ...]]:
    """Fit G and Z; also return the component of each person, and notes on what was reduced.

    Parameters
    ----------
    runs : Runs
        Of n persons.
    n_periods : int
        T.
    persons : Table
        n rows of person-level predictors, maybe without columns.
    options : CareerOptions
    theta : float
        Already chosen if the option says "auto".
    rng : numpy.random.Generator
    """
    groups, position = np.unique(runs.counts, return_inverse=True)
    tree = Cart(min_leaf=options.person_min_leaf, even=options.even)
    target = _column("runs", Kind.CATEGORICAL, position.reshape(-1), len(groups))
    count_tree = tree.fit(persons, target, rng=rng)
    own = np.empty(runs.n_persons, dtype=np.int64)
    trees, parts, reduced = [], [], []
    for count in groups.tolist():
        rows = np.flatnonzero(runs.counts == count)
        patterns, member = distinct_patterns(runs.lengths_of(rows, count) - 1)
        if options.components == "patterns":
            part = Components(n_periods - count, patterns=patterns, theta=theta)
        else:
            part, member = fitted_components(patterns, member, options.components, rng=rng)
            if options.components > len(patterns):
                reduced.append(count)
        own[rows] = member
        target = _column("component", Kind.NUMERIC, member, len(part))
        trees.append(tree.fit(persons.take(rows), target, rng=rng))
        parts.append(part)
    fitted = FittedLengths(n_periods, groups, count_tree, tuple(trees), tuple(parts))
    return fitted, own, _notes(options, reduced)


def check_donors(tree: FittedCart, n_values: int) -> None:
    """Raise ValueError unless the donors of a saved tree are whole numbers in [0, n_values)."""
    data = tree.leaves.donors.data
    if (data < 0).any() or (data >= n_values).any() or (data != np.floor(data)).any():
        raise ValueError("donors of a career model are out of range")


def _column(name: str, kind: Kind, values: IntArray, n_values: int) -> Column:
    if kind is Kind.NUMERIC:
        return Column(Variable(name=name, kind=kind, decimals=0), values.astype(np.float64))
    levels = tuple(str(i) for i in range(n_values))
    codes: npt.NDArray[np.int32] = values.astype(np.int32)
    return Column(Variable(name=name, kind=kind, levels=levels), codes)


def _notes(options: CareerOptions, reduced: list[int]) -> tuple[str, ...]:
    notes = []
    if reduced:
        notes.append(
            f"components ({options.components}) is more than the distinct patterns of careers with "
            f"{len(reduced)} of the numbers of runs: they have one component for each pattern"
        )
    if options.components != "patterns" and options.theta not in ("auto", CareerOptions.theta):
        shown = "inf" if options.theta == math.inf else options.theta
        notes.append(f"theta ({shown}) has no effect, since components is a number")
    return tuple(notes)
