"""Number G and lengths Z of the runs of a person.

A composition is the excess (length minus 1) of each of the G runs of a person over T periods; its
probability is the mass of its cell under a density on the simplex.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from synthesizer.data.panel.paths import number_column
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Kind, Table, Variable
from synthesizer.models.careers import dirichlet
from synthesizer.models.careers.runs import Index, Runs, blocks_of, rows_among
from synthesizer.models.cart import Cart, FittedCart
from synthesizer.models.kit.numerics import check_rising

POINTS_PER_CELL = 128
N_OFFSETS = 2048  # candidates for points of a cell
MAX_SIMPLEX_CELLS = 5_000
MIN_POINTS, MAX_POINTS = 65_536, 400_000  # on a simplex
BLOCK_CELLS = 4_000_000


@dataclass(frozen=True, eq=False)
class CellPoints:
    """Points that fill the cells of m compositions."""

    logs: FloatArray
    """Logarithms of the points, cell after cell; shape (S, G)."""
    sizes: IntArray
    """Points of each cell, >= 1; shape (m,)."""
    log_volume: FloatArray
    """Volume of each cell in the first G - 1 coordinates; shape (m,)."""

    @cached_property
    def _ends(self) -> IntArray:
        return np.cumsum(self.sizes)

    def masses(self, alpha: FloatArray) -> FloatArray:
        """Return the probability of each cell under each Dirichlet, shape (m, K), at most 1."""
        result = np.empty((len(self.sizes), len(alpha)))
        for cells in blocks_of(self.sizes, BLOCK_CELLS // len(alpha)):
            sizes, ends = self.sizes[cells], self._ends[cells]
            starts = ends - sizes
            values = dirichlet.log_densities(self.logs[starts[0] : ends[-1]], alpha)
            values += np.repeat(self.log_volume[cells], sizes)[:, None]
            values = np.exp(np.minimum(values, 700.0))
            sums = np.add.reduceat(values, starts - starts[0], axis=0)
            result[cells] = sums / sizes[:, None]
        return np.minimum(result, 1.0)

    def mean_logs(self) -> FloatArray:
        """Return the mean over each cell of the logarithms of the coordinates, shape (m, G)."""
        sums = np.add.reduceat(self.logs, self._ends - self.sizes, axis=0)
        return np.asarray(sums / self.sizes[:, None])


def cell_points(excess: IntArray) -> CellPoints:
    """Fill the cells of distinct compositions of one T and one G, shape (m, G), m >= 1."""
    n_parts, total = excess.shape[1], int(excess[0].sum())
    if n_parts == 1:
        ones = np.ones(len(excess), dtype=np.int64)
        return CellPoints(np.zeros((len(excess), 1)), ones, np.zeros(len(excess)))
    log_n_cells = float(dirichlet.log_n_compositions(total + n_parts, n_parts))
    if log_n_cells <= np.log(MAX_SIMPLEX_CELLS):
        return _points_of_simplex(excess, total, round(np.exp(log_n_cells)))
    return _points_of_cells(excess, total)


def _cell_offsets(count: int) -> FloatArray:
    """Return points that fill the cell around the origin evenly, shape (S, G), rows sum to 0.

    A point that is uniform modulo the lattice, minus its nearest lattice point, is uniform in the
    cell.
    """
    uniform = _kronecker(N_OFFSETS, count - 1)
    points = np.column_stack([uniform, -uniform.sum(axis=1)])
    return np.asarray(points - dirichlet.nearest(points, 0))


def _kronecker(size: int, dimension: int) -> FloatArray:
    """Return evenly spread points of the unit cube: multiples of a root's powers, modulo 1.

    The root is that of x^(d + 1) = x + 1, for d = 1 the golden ratio.
    """
    root = 2.0
    for _ in range(60):
        root = (1.0 + root) ** (1.0 / (dimension + 1))
    steps = root ** -np.arange(1.0, dimension + 1)
    return np.asarray((0.5 + np.arange(1, size + 1)[:, None] * steps) % 1.0)


def _points_of_simplex(excess: IntArray, total: int, n_cells: int) -> CellPoints:
    """Spread points over the simplex (gaps of sorted uniforms) and keep those in the cells."""
    n_parts = excess.shape[1]
    size = min(max(POINTS_PER_CELL * n_cells, MIN_POINTS), MAX_POINTS)
    uniform = np.sort(_kronecker(size, n_parts - 1), axis=1)
    points = np.diff(np.pad(uniform, ((0, 0), (1, 1)), constant_values=((0, 0), (0, 1))), axis=1)
    points = np.vstack([np.maximum(points, 1e-12), dirichlet.centre(excess)])  # no cell stays empty
    which = rows_among(excess, dirichlet.cell(points, total))
    mine = which < len(excess)
    order = np.argsort(which[mine], kind="stable")
    sizes = np.bincount(which[mine], minlength=len(excess))
    log_volume = np.log(sizes / len(points)) - gammaln(n_parts)
    return CellPoints(np.log(points[mine][order]), sizes, log_volume)


def _points_of_cells(excess: IntArray, total: int) -> CellPoints:
    """Shift the same offsets to every cell; keep the first ones that lie in the simplex."""
    n_parts = excess.shape[1]
    offsets = _cell_offsets(n_parts) / (total + 1)
    log_volume = np.full(len(excess), -(n_parts - 1) * np.log(total + 1))
    logs, sizes = [], np.empty(len(excess), dtype=np.int64)
    for i, middle in enumerate(dirichlet.centre(excess)):
        points = middle + offsets
        inside = np.flatnonzero((points > 0).all(axis=1))
        log_volume[i] += np.log(max(len(inside), 0.5) / N_OFFSETS)
        chosen = points[inside[:POINTS_PER_CELL]] if len(inside) else middle[None, :]
        logs.append(np.log(chosen))
        sizes[i] = len(chosen)
    return CellPoints(np.vstack(logs), sizes, log_volume)


@dataclass(frozen=True, eq=False)
class Components:
    """K Dirichlet distributions around patterns, or with fitted parameters.

    Components are sorted by the first principal component of their means, so that neighbours
    are similar.
    """

    total: int
    """N = T - G, the sum of every excess."""
    patterns: Index | None = None
    """Excess of observed patterns e, shape (K, G); the parameters are 1 + theta (N + 1) m(e)."""
    theta: float = math.inf
    """In [0, inf]; used with patterns."""
    alpha: FloatArray | None = None
    """Parameters of fitted components, shape (K, G)."""

    def __post_init__(self) -> None:
        if self.total < 0 or not self.theta >= 0:
            raise ValueError("components must have a total and a theta that are at least 0")
        if self.patterns is None:
            if self._rows.ndim != 2 or 0 in self._rows.shape:
                raise ValueError("components must have parameters for each run")
            if not (np.isfinite(self._rows).all() and (self._rows > 0).all()):
                raise ValueError("parameters of components must be positive numbers")
            return
        patterns = self.patterns
        if patterns.ndim != 2 or 0 in patterns.shape:
            raise ValueError("patterns must be a table of whole numbers")
        if patterns.min() < 0 or (patterns.sum(axis=1) != self.total).any():
            raise ValueError("patterns must sum to the same total and not be negative")

    def draw(self, component: IntArray, *, rng: np.random.Generator) -> Index:
        """Draw an excess from the given components, shape (m, G)."""
        if self.patterns is not None and math.isinf(self.theta):
            return self.patterns[component]
        return dirichlet.cell(
            dirichlet.draw_dirichlet(self.parameters(component), rng=rng), self.total
        )

    def parameters(self, component: IntArray | slice = slice(None)) -> FloatArray:
        """Return the Dirichlet parameters of components, shape (m, G); finite theta only."""
        rows = self._rows[component]
        if self.patterns is None:
            return rows
        return 1.0 + self.theta * (self.total + 1) * dirichlet.centre(rows)

    @property
    def _rows(self) -> npt.NDArray[Any]:
        if self.patterns is not None:
            return self.patterns
        return np.empty((0, 1)) if self.alpha is None else self.alpha

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def n_parts(self) -> int:
        """Number of runs, G."""
        return int(self._rows.shape[1])


def distinct_patterns(excess: IntArray) -> tuple[Index, Index]:
    """Return the distinct rows, shape (P, G), and the number of each person's row, shape (m,).

    Rows are sorted by their first principal component.
    """
    patterns, member = np.unique(np.asarray(excess, np.int64), axis=0, return_inverse=True)
    order = _principal_order(patterns, np.bincount(member.reshape(-1)))
    return patterns[order], np.argsort(order)[member.reshape(-1)]


def fitted_components(
    patterns: Index, member: Index, n_components: int, *, rng: np.random.Generator
) -> tuple[Components, Index]:
    """Fit K components by EM and draw the component of each person given the pattern.

    Return the components with at least one person, and the component of each person, shape (m,).
    """
    total = int(patterns[0].sum())
    mixture = dirichlet.fit_mixture(
        dirichlet.centre(patterns),
        np.bincount(member),
        n_components,
        mean_logs=cell_points(patterns).mean_logs(),
        rng=rng,
    )
    joint = dirichlet.log_densities(np.log(dirichlet.centre(patterns)), mixture.alpha) + np.log(
        mixture.weights
    )
    # The largest of joint + Gumbel noise is a draw with probabilities proportional to exp(joint).
    component = np.empty(len(member), dtype=np.int64)
    for start in range(0, len(member), 100_000):
        rows = slice(start, start + 100_000)
        noise = rng.gumbel(size=(len(member[rows]), len(mixture.alpha)))
        component[rows] = (joint[member[rows]] + noise).argmax(axis=1)
    means = mixture.alpha / mixture.alpha.sum(axis=1, keepdims=True)
    order = _principal_order(means, mixture.weights)
    order = order[np.isin(order, component)]
    index = np.full(len(mixture.alpha), -1, dtype=np.int64)
    index[order] = np.arange(len(order))
    return Components(total, alpha=mixture.alpha[order]), index[component]


def _principal_order(points: npt.NDArray[Any], weights: npt.NDArray[Any]) -> Index:
    """Return the order of points by their score on the first principal component."""
    share = weights / weights.sum()
    centred = points - share @ points
    values, vectors = np.linalg.eigh((centred * share[:, None]).T @ centred)
    direction = vectors[:, values.argmax()]
    direction = direction * (np.sign(direction[np.abs(direction).argmax()]) or 1.0)
    return np.argsort(np.round(centred @ direction, 9), kind="stable")


@dataclass(frozen=True, eq=False)
class FittedLengths:
    """G by a tree on features of persons, or by observed frequencies; then Z given G."""

    n_periods: int
    """T."""
    groups: Index
    """The numbers of runs that occur, ascending; shape (M,)."""
    count_tree: FittedCart
    """Draws the position of G in ``groups``."""
    component_trees: tuple[FittedCart, ...]
    """Draw the component of a person, one tree for each G."""
    components: tuple[Components, ...]
    """One set for each G."""

    def __post_init__(self) -> None:
        check_rising("numbers of runs", self.groups)
        if self.groups[0] < 1 or self.groups[-1] > self.n_periods:
            raise ValueError("numbers of runs must lie between 1 and the number of periods")
        if not len(self.component_trees) == len(self.components) == len(self.groups):
            raise ValueError("every number of runs must have components and a tree")
        _check_donors(self.count_tree, len(self.groups))
        for count, tree, components in zip(
            self.groups.tolist(), self.component_trees, self.components, strict=True
        ):
            if components.n_parts != count or components.total != self.n_periods - count:
                raise ValueError("components must have as many parts as there are runs")
            _check_donors(tree, len(components))

    def draw_counts(self, persons: Table, *, rng: np.random.Generator) -> Index:
        """Draw the number of runs of each person, shape (n,)."""
        return self.groups[self.count_tree.sample(persons, rng=rng).data.astype(np.int64)]

    def draw_lengths(self, counts: Index, persons: Table, *, rng: np.random.Generator) -> Index:
        """Draw the run lengths of persons with given numbers of runs, flat, shape (R,)."""
        component = np.zeros(len(counts), dtype=np.int64)
        for count, tree in zip(self.groups.tolist(), self.component_trees, strict=True):
            rows = np.flatnonzero(counts == count)
            if len(rows):
                component[rows] = tree.sample(persons.take(rows), rng=rng).data.astype(np.int64)
        return self.redraw(counts, component, rng=rng)

    def redraw(self, counts: Index, component: Index, *, rng: np.random.Generator) -> Index:
        """Draw lengths from the given component of each person, flat, shape (R,)."""
        first = np.cumsum(counts) - counts
        lengths = np.empty(int(counts.sum()), dtype=np.int64)
        for count, components in zip(self.groups.tolist(), self.components, strict=True):
            rows = np.flatnonzero(counts == count)
            if len(rows):
                excess = components.draw(component[rows], rng=rng)
                lengths[first[rows][:, None] + np.arange(count)] = excess + 1
        return lengths


def fit_lengths(
    runs: Runs,
    n_periods: int,
    persons: Table,
    tree: Cart,
    n_components: int | None,
    theta: float,
    *,
    rng: np.random.Generator,
) -> tuple[FittedLengths, Index]:
    """Fit G and Z to n persons; also return the component of each, shape (n,).

    ``n_components`` are fitted by EM for each number of runs; None puts one on each pattern, with
    concentration ``theta``.
    """
    groups, index = np.unique(runs.counts, return_inverse=True)
    levels = tuple(str(i) for i in range(len(groups)))
    variable = Variable(name="runs", kind=Kind.CATEGORICAL, levels=levels)
    target = Column(variable, index.reshape(-1).astype(np.int32))
    count_tree = tree.fit(persons, target, rng=rng)
    component = np.empty(runs.n_persons, dtype=np.int64)
    trees, parts = [], []
    for count in groups.tolist():
        rows = np.flatnonzero(runs.counts == count)
        patterns, member = distinct_patterns(runs.lengths_of(rows, count) - 1)
        if n_components is None:
            components = Components(n_periods - count, patterns=patterns, theta=theta)
        else:
            components, member = fitted_components(patterns, member, n_components, rng=rng)
        component[rows] = member
        target = number_column("component", member.astype(np.float64))
        trees.append(tree.fit(persons.take(rows), target, rng=rng))
        parts.append(components)
    return FittedLengths(n_periods, groups, count_tree, tuple(trees), tuple(parts)), component


def _check_donors(tree: FittedCart, n_values: int) -> None:
    """Raise ValueError unless the donors of a saved tree are whole numbers in [0, n_values)."""
    data = tree.donors.data
    if (data < 0).any() or (data >= n_values).any() or (data != np.floor(data)).any():
        raise ValueError("donors of a career model are out of range")


THETAS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)
N_FOLDS = 5
MAX_PERSONS = 400  # of one number of runs: the work grows with the square of the distinct patterns
DRAWS_PER_PATTERN = 256
MIN_MASS = 1e-300


@dataclass(frozen=True, eq=False)
class Group:
    """Persons with the same number of runs, by fold."""

    patterns: Index
    """Distinct compositions, shape (P, G)."""
    folds: Index
    """Persons of each fold with each pattern, shape (F, P)."""


def held_out_groups(runs: Runs, *, rng: np.random.Generator) -> list[Group]:
    """Return persons in folds of about equal size, grouped by their number of runs.

    Large groups are sampled; with more persons theta would be slightly larger.
    """
    n_folds = min(N_FOLDS, runs.n_persons)
    fold = rng.permutation(np.arange(runs.n_persons) % n_folds)
    groups = []
    for count in np.unique(runs.counts).tolist():
        rows = np.flatnonzero(runs.counts == count)
        if len(rows) > MAX_PERSONS:
            rows = rng.choice(rows, size=MAX_PERSONS, replace=False)
        patterns, member = distinct_patterns(runs.lengths_of(rows, count) - 1)
        cells = np.bincount(fold[rows] * len(patterns) + member, minlength=n_folds * len(patterns))
        groups.append(Group(patterns, cells.reshape(n_folds, -1)))
    return groups


def held_out_patterns(
    groups: Sequence[Group], thetas: Sequence[float] = THETAS, *, rng: np.random.Generator
) -> dict[float, float]:
    """Return the held-out log likelihood of ``components: patterns`` for each theta (finite)."""
    values = dict.fromkeys(thetas, 0.0)
    for group in groups:
        points = cell_points(group.patterns)
        flat = points.masses(np.ones((1, group.patterns.shape[1])))[:, 0]
        for theta in thetas:
            masses = _pattern_masses(group.patterns, points, theta, rng)
            for held in group.folds:
                fitted = group.folds.sum(axis=0) - held
                n = fitted.sum()
                mass = masses @ (fitted / n) if n else flat
                values[theta] += log_likelihood(held, mass)
    return values


def chosen_theta(runs: Runs, *, rng: np.random.Generator) -> tuple[float, str]:
    """Return the theta that maximises the likelihood of held-out persons, and a note on it."""
    values = held_out_patterns(held_out_groups(runs, rng=rng), rng=rng)
    theta = max(values, key=lambda theta: values[theta])
    edge = " among those tried" if theta in (min(THETAS), max(THETAS)) else ""
    return theta, f"theta {theta:g} maximises the likelihood of held-out persons{edge}"


def _pattern_masses(
    patterns: Index, points: CellPoints, theta: float, rng: np.random.Generator
) -> FloatArray:
    """Return the mass of each pattern's cell under each pattern's component, shape (P, P).

    On the diagonal it is the share of draws in the cell: with a large theta the component is too
    narrow for the points that fill the cell.
    """
    if patterns.shape[1] == 1:
        return np.ones((1, 1))
    total = int(patterns[0].sum())
    alpha = 1.0 + theta * (total + 1) * dirichlet.centre(patterns)
    masses = points.masses(alpha)
    drawn = dirichlet.draw_dirichlet(np.repeat(alpha, DRAWS_PER_PATTERN, axis=0), rng=rng)
    targets = np.repeat(patterns, DRAWS_PER_PATTERN, axis=0)
    hits: BoolArray = (dirichlet.cell(drawn, total) == targets).all(axis=1)
    share = (hits.reshape(-1, DRAWS_PER_PATTERN).sum(axis=1) + 0.5) / (DRAWS_PER_PATTERN + 1)
    # with few hits the component is wide, and the points are precise
    diagonal = np.where(share > 0.1, share, masses.diagonal())
    np.fill_diagonal(masses, diagonal)
    return masses


def log_likelihood(held: Index, mass: FloatArray) -> float:
    """Return the log likelihood of persons held out under the masses of their patterns."""
    seen = held > 0
    return float(held[seen] @ np.log(np.maximum(mass[seen], MIN_MASS)))
