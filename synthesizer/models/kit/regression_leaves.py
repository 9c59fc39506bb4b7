"""A tree with a tilt: what it holds after the fit, and how values are drawn from it.

Every node has a distribution of classes, backed by the nodes above it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import scipy

from synthesizer.data.table import Column, FloatArray, IntArray, Table
from synthesizer.models.domains import Chances
from synthesizer.models.kit.classes import TargetClasses, TargetMoments, is_scale, truncated_exponential
from synthesizer.models.kit.features import Features, Hazards, widest
from synthesizer.models.kit.numbers import SafeNumbers
from synthesizer.models.kit.numerics import (
    check_codes,
    check_floats,
    check_rising,
    drawn_classes,
    even_uniform,
)
from synthesizer.models.kit.predictors import Float32Array
from synthesizer.models.kit.leaf_regression import LinearPredictor, RegressionData, is_identity
from synthesizer.models.kit.trees import LEAF, Nodes, Tree

BORROWED_ROWS = (5.0, 10.0, 20.0, 50.0, 150.0, 500.0, 2e3, 1e4, 1e6)
"""Rows that the children of a node may borrow from it; the evidence chooses."""
MIN_EXPECTED_ROWS = 10.0
"""A class, or several, that so many rows are expected to have, and none has, are held to be rare or
impossible there."""
PSEUDO_ROWS = 0.3
"""Rows that they are given in place of those expected."""
MIN_PROBABILITY = 1e-13
MIN_SPREAD_ROWS, MAX_SPREAD_RATIO, MAX_SPREAD_ROWS = 100, 1.2, 5_000
"""Rows drawn at once whose tilt varies at most so much more than in the fit: a regression on noisy
predictors is flatter (attenuation: Fuller 1987, Measurement Error Models). 5,000 tell how much."""
MAX_BLOCK_CELLS = 500_000
"""Rows times classes that are drawn at a time."""
MAX_FIT_CELLS = 40_000_000
"""Rows times columns, or classes, that a tilt is learnt from."""


@dataclass(frozen=True, eq=False)
class Absent:
    """Levels, or ranges, of one predictor and classes that hardly go together."""

    name: str
    edges: FloatArray
    """Borders between the ranges of a number, rising; none of a coded predictor."""
    codes: IntArray
    classes: IntArray
    """Both of shape (a,)."""
    left: Float32Array
    """Logarithm of what is left of the class, at most 0."""

    def __post_init__(self) -> None:
        check_floats("edges", self.edges, (-1,))
        if len(self.edges):
            check_rising("edges", self.edges)
        check_codes("codes", self.codes, 2**31)
        check_codes("classes", self.classes, 2**31)
        check_floats("left", self.left, self.codes.shape)
        if self.classes.shape != self.codes.shape or (self.left > 0).any():
            raise ValueError("pairs of levels and classes must each have a logarithm below 0")


@dataclass(frozen=True, eq=False)
class RegressionLeaves:
    """A tree whose leaves hold distributions over classes, bent by a regression on all rows."""

    tree: Tree
    classes: TargetClasses
    logarithms: Float32Array
    """Of the probabilities of each class in each node, shape (n_nodes, K)."""
    absent: tuple[Absent, ...]
    """Combinations with a predictor that never occur."""
    features: Features | Hazards
    moments: TargetMoments
    """What of the target the tilt moves: r columns."""
    coefficients: Float32Array
    """Of the tilt, shape (q, r)."""
    spread: Float32Array | None = None
    """Standard deviation of how far the rows of the fit move each moment, shape (r,)."""

    def __post_init__(self) -> None:
        n_classes = self.classes.n_classes
        check_floats("logarithms", self.logarithms, (len(self.tree.feature), n_classes))
        if len(self.moments.values) != n_classes:
            raise ValueError("every class must have moments")
        shape = (self.features.n_columns, self.moments.values.shape[1])
        check_floats("coefficients", self.coefficients, shape)
        for pairs in self.absent:
            check_codes("classes", pairs.classes, n_classes)

    @property
    def names(self) -> set[str]:
        """The predictors that the distributions depend on, besides those of the tree."""
        return {part.name for part in (*self.features.terms, *self.absent)}

    @classmethod
    def fit(
        cls,
        tree: Tree,
        matrix: Float32Array,
        predictors: Table,
        target: Column,
        *,
        min_effective_rows: float,
        borrowed: float,
        max_rows: int | None,
        weights: FloatArray | None,
        event: str | None,
        moderators: Sequence[str],
        ridge: float,
        rng: np.random.Generator,
    ) -> Self:
        """Learn distributions and tilt from n rows.

        ``matrix`` holds the encoded predictors of the tree, ``weights`` those of the rows, None if
        all are alike; the tilt is learnt from ``max_rows`` at most. ``event`` is the predictor that
        says how the time that a number is has ended; ``moderators`` are those by which others are
        multiplied in the tilt; ``ridge`` is the largest of its linear terms.
        """
        classes = TargetClasses.of(target, predictors)
        places = classes.place(np.asarray(target.data, dtype=np.float64))
        n_rows, n_classes = len(places), classes.n_classes
        leaves = tree.apply(matrix)
        even = np.ones(n_rows) if weights is None else weights
        logarithms = log_probabilities(
            node_probabilities(
                tree,
                leaves,
                places,
                n_classes,
                weights=even,
                min_effective_rows=min_effective_rows,
                least=borrowed,
            )
        )
        absent = tuple(_absent(predictors, places, n_classes))
        moments = TargetMoments.of(classes, target, places)
        most = max(1, MAX_FIT_CELLS // max(widest(predictors, moderators), n_classes))
        most = min(most, max_rows or most)
        rows: IntArray = np.arange(n_rows)
        if n_rows > most:
            rows = np.sort(rng.choice(n_rows, size=most, replace=False))
        taken = predictors if len(rows) == n_rows else predictors.take(rows)
        plain, columns = Features.fit(taken.select(taken if n_classes > 1 else ()), moderators)
        level = cls(
            tree, classes, logarithms, absent, plain, moments,
            np.zeros((plain.n_columns, moments.values.shape[1]), dtype=np.float32),
        )  # fmt: skip
        if not plain.terms:
            return level
        features: Features | Hazards = plain
        if event is not None and not target.is_coded:
            outcomes = np.asarray(taken[event].data, dtype=np.int64)
            times = np.asarray(target.data[rows], dtype=np.float64)
            features, columns = Hazards.fit(
                plain, columns, outcomes, plain.are_of(event), times, rng
            )
        problem = RegressionData(
            matrix=columns,
            groups=features.groups,
            linear=features.linear,
            moments=moments.values,
            n_linear=moments.n_linear,
            shared=not is_scale(target) or n_classes == 2,
            offsets=level._offsets(taken, leaves[rows]),
            classes=places[rows],
            weights=None if weights is None else weights[rows].astype(np.float32),
            ridge=ridge,
        )  # fmt: skip
        coefficients = problem.fit(rng)
        fitted = cls(tree, classes, logarithms, absent, features, moments, coefficients)
        return replace(fitted, spread=(columns @ coefficients).std(axis=0))

    def draw(
        self,
        matrix: Float32Array,
        predictors: Table,
        *,
        even: bool,
        numbers: SafeNumbers | None,
        rng: np.random.Generator,
        steps: int = 0,
    ) -> FloatArray:
        """Draw a value for each row from the node ``steps`` above its leaf; see `Leaves.draw`.

        ``even`` spreads the draws of each node evenly over its distribution; ``numbers`` replaces
        rare ones.
        """
        nodes = self.tree.climb(self.tree.apply(matrix), steps)
        uniform = even_uniform(nodes, rng) if even else rng.random(len(nodes))
        chosen = np.empty(len(nodes), dtype=np.intp)
        places = np.empty(len(nodes))
        narrowed = self._narrowed(predictors)
        for rows, table in self._blocks(predictors):
            scores, shifts = self._scores(table, nodes[rows], narrowed)
            classes, rest = drawn_classes(_exponentials(scores), uniform[rows])
            chosen[rows] = classes
            if self.classes.n_intervals:
                places[rows] = truncated_exponential(rest, (shifts * self.moments.across[classes]).sum(axis=1))
        values = self.classes.draw(chosen, places)
        return values if numbers is None else numbers.replace(
            values, rng, self.classes.ranges(chosen)
        )  # fmt: skip

    def chances(
        self, matrix: Float32Array, predictors: Table, n_codes: int, *, steps: int
    ) -> Chances:
        """Return the chance of each code of a coded target in each row, shape (n, n_codes)."""
        nodes = self.tree.climb(self.tree.apply(matrix), steps)
        codes = self.classes.spikes.astype(np.int32)
        has_all = len(codes) == n_codes
        shares = (np.empty if has_all else np.zeros)((len(nodes), n_codes), dtype=np.float32)
        narrowed = self._narrowed(predictors)
        for rows, table in self._blocks(predictors):
            weights = _exponentials(self._scores(table, nodes[rows], narrowed)[0])
            weights /= weights.sum(axis=1, keepdims=True)
            shares[rows, slice(None) if has_all else codes] = weights
        return Chances(shares, nodes)

    def log_likelihood(self, matrix: Float32Array, predictors: Table, target: Column) -> FloatArray:
        """Return the log-probability of each row's class, shape (n,); of a new level a floor."""
        nodes = self.tree.apply(matrix)
        places = self.classes.place(np.asarray(target.data, dtype=np.float64))
        out = np.empty(len(nodes))
        for rows, table in self._blocks(predictors):
            scores = self._scores(table, nodes[rows])[0].astype(np.float64)
            own = scores[np.arange(len(scores)), places[rows]]
            top = scores.max(axis=1)
            out[rows] = own - top - np.log(np.exp(scores - top[:, None]).sum(axis=1))
        if target.is_coded and not self.classes.n_intervals:
            out[self.classes.spikes[places] != target.data] = -np.inf
        return np.asarray(np.maximum(out, np.log(MIN_PROBABILITY)))

    def _scores(
        self, predictors: Table, nodes: Nodes, narrowed: Float32Array | float = 1.0
    ) -> tuple[Float32Array, Float32Array]:
        """Return logarithms of weights, (n, K), and how far each moment is moved, (n, r)."""
        scores = self._offsets(predictors, nodes)
        if not self.features.terms:
            return scores, np.zeros((len(nodes), self.coefficients.shape[1]), dtype=np.float32)
        shifts = self._moved(predictors)
        shifts *= narrowed
        scores += shifts if self._is_plain else shifts @ self.moments.values.T
        return scores, shifts

    def _moved(self, predictors: Table) -> Float32Array:
        """Return how far the tilt moves each moment in each row, shape (n, r)."""
        if self._predictor is not None:
            return self._predictor(predictors)
        return np.asarray(self.features.matrix(predictors) @ self.coefficients, dtype=np.float32)

    def _narrowed(self, predictors: Table) -> Float32Array | float:
        """Return what the tilt of each moment is multiplied by, shape (r,).

        Predictors that hang together less than in the data must not move a number to its ends.
        """
        n_rows = predictors.n_rows
        if self.spread is None or n_rows < MIN_SPREAD_ROWS:
            return 1.0
        rows = np.linspace(0, n_rows - 1, min(n_rows, MAX_SPREAD_ROWS)).astype(np.intp)
        spread = self._moved(predictors.take(rows)).std(axis=0)
        return np.asarray(np.minimum(1.0, MAX_SPREAD_RATIO * self.spread / np.maximum(spread, MIN_PROBABILITY)))

    @cached_property
    def _is_plain(self) -> bool:
        """Whether the moments are the classes themselves."""
        return is_identity(self.moments.values)

    @cached_property
    def _predictor(self) -> LinearPredictor | None:
        """Tables of how far rows move each moment; None with hazards, which multiply columns."""
        features = self.features
        return None if isinstance(features, Hazards) else LinearPredictor.of(features, self.coefficients)

    def _offsets(self, predictors: Table, nodes: Nodes) -> Float32Array:
        """Return the logarithms of the nodes' probabilities, without what never occurs, (n, K)."""
        if not self.absent:
            return self.logarithms[nodes]
        places, tables = self._tables
        which = np.empty((len(nodes), 1 + len(places)), dtype=np.int32)
        which[:, 0] = nodes
        for k, (pairs, place) in enumerate(zip(self.absent, places, strict=True), start=1):
            codes = _codes(predictors[pairs.name], pairs.edges)
            which[:, k] = place[np.minimum(codes, len(place) - 1)]
        there = which >= 0
        ends = np.append(0, np.cumsum(np.count_nonzero(there, axis=1)))
        chosen = which[there]
        ones = np.ones(len(chosen), dtype=np.float32)
        rows = scipy.sparse.csr_array((ones, chosen, ends), shape=(len(nodes), len(tables)))
        return np.asarray(rows @ tables, dtype=np.float32)

    @cached_property
    def _tables(self) -> tuple[list[IntArray], Float32Array]:
        """Return what is added to the classes: of each node, then of codes that lack some.

        Also which row of these goes with each code of a predictor, -1 for none.
        """
        places, tables, n_rows = [], [self.logarithms], len(self.logarithms)
        for pairs in self.absent:
            codes, at = np.unique(pairs.codes, return_inverse=True)
            place = np.full(codes[-1] + 2, -1, dtype=np.int32)
            place[codes] = np.arange(n_rows, n_rows + len(codes))
            table = np.zeros((len(codes), self.classes.n_classes), dtype=np.float32)
            table[at, pairs.classes] = pairs.left
            places.append(place)
            tables.append(table)
            n_rows += len(codes)
        return places, np.ascontiguousarray(np.concatenate(tables))

    def _blocks(self, predictors: Table) -> Iterator[tuple[slice, Table]]:
        """Yield blocks of rows whose scores fit into memory, and their predictors."""
        n_rows, length = predictors.n_rows, max(1, MAX_BLOCK_CELLS // self.classes.n_classes)
        for start in range(0, n_rows, length):
            rows = slice(start, start + length)
            yield rows, predictors if n_rows <= length else predictors.take(rows)


def _absent(predictors: Table, places: IntArray, n_classes: int) -> list[Absent]:
    """Return the absent combinations of every predictor that has some."""
    found = []
    for column in predictors.columns:
        edges = np.empty(0) if column.is_coded else _edges(column)
        codes = _codes(column, edges)
        pairs = absent_pairs(codes, places, n_classes)
        if len(pairs[0]):
            found.append(Absent(column.name, edges, *pairs))
    return found


def _edges(column: Column) -> FloatArray:
    """Return borders that part a number into the classes that it would have as a target."""
    observed = column.is_observed
    if not observed.any():
        return np.empty(0)
    values = Column(column.variable.observed(), column.data[observed])
    classes = TargetClasses.of(values, Table([], n_rows=len(values)))
    ends = np.nextafter(classes.spikes, np.inf) if classes.n_intervals else classes.spikes[:0]
    return np.unique(np.concatenate([classes.spikes, ends, classes.edges]))


def _codes(column: Column, edges: FloatArray) -> IntArray:
    """Return the level, or the range, of each row; after the ranges come the missing codes."""
    if column.is_coded:
        return np.asarray(column.data, dtype=np.int32)
    ranges = np.searchsorted(edges, column.data, side="right")
    states = column.missing_state().astype(np.int32)  # small integers would wrap in the sum
    return np.where(states > 0, len(edges) + states, ranges)


def _exponentials(scores: Float32Array) -> Float32Array:
    """Return numbers in proportion to the probabilities, at most 1, shape (n, K)."""
    scores -= scores.max(axis=1, keepdims=True)
    return np.asarray(np.exp(scores, out=scores))


def node_probabilities(
    tree: Tree,
    leaves: IntArray,
    classes: IntArray,
    n_classes: int,
    *,
    weights: FloatArray,
    min_effective_rows: float,
    least: float,
) -> FloatArray:
    """Return the probabilities of the classes in every node, shape (n_nodes, K).

    p(node) = (counts + b p(parent)) / (rows + b), from the root down: hierarchical shrinkage
    (Agarwal et al. 2022), which keeps what large nodes know where small ones know little. b is
    what the evidence prefers for the children of each node (`_borrowed_rows`), and more in nodes where
    a row would otherwise weigh more than 1 / min_effective_rows. What nobody in a node has is
    lowered, see `unseen_left`.

    Parameters
    ----------
    leaves : ndarray of int, shape (n,)
        Leaf of each row.
    classes : ndarray of int, shape (n,)
        Class of each row, below ``n_classes``.
    weights : ndarray, shape (n,)
        Of the rows.
    min_effective_rows : float
        At least 1; 1 for no bound.
    least : float
        Rows that every node borrows at least.
    """
    counts = np.zeros((len(tree.feature), n_classes))
    np.add.at(counts, (leaves, classes), weights)
    for node in range(len(counts) - 1, 0, -1):
        counts[tree.parent[node]] += counts[node]
    borrowed = _borrowed_rows(tree, counts)
    totals = counts.sum(axis=1)
    probabilities = np.empty_like(counts)
    probabilities[0] = counts[0] / totals[0]
    weight = np.empty(len(counts))
    weight[0] = 1.0 / totals[0]
    for node in range(1, len(counts)):
        parent = tree.parent[node]
        above = _without_impossible(probabilities[parent], counts[node], totals[node])
        borrowed = max(
            borrowed[node], least, _min_borrowed_rows(totals[node], weight[parent], min_effective_rows)
        )
        probabilities[node] = (counts[node] + borrowed * above) / (totals[node] + borrowed)
        weight[node] = (1.0 + borrowed * weight[parent]) / (totals[node] + borrowed)
    return probabilities


def _without_impossible(above: FloatArray, counts: FloatArray, total: float) -> FloatArray:
    """Return the parent's probabilities, those of classes that a node should hold lowered."""
    left = unseen_left(counts, total * above)
    if (left == 1.0).all():
        return above
    lowered = above * left
    return np.asarray(lowered / lowered.sum())


def unseen_left(counts: FloatArray, expected: FloatArray) -> FloatArray:
    """Return the share that is left of each class, 1 where nothing is known against it; (.., K).

    A class of which ten rows are expected and that none has keeps 0.3 of them. So do all classes
    together that none has, unless some class was seen once: what was seen once tells how much has
    not been seen yet (Good 1953, The population frequencies of species, Biometrika 40). Where some
    is left to see, lowering it for one predictor after the other would bend regressions.

    Examples
    --------
    >>> unseen_left(np.array([60.0, 0, 0, 0]), np.array([30.0, 15, 10, 5])).round(3).tolist()
    [1.0, 0.01, 0.01, 0.01]
    >>> unseen_left(np.array([59.0, 1, 0, 0]), np.array([30.0, 15, 10, 5])).round(3).tolist()
    [1.0, 1.0, 0.03, 1.0]
    """
    unseen = counts == 0
    left = np.where(unseen & (expected >= MIN_EXPECTED_ROWS), PSEUDO_ROWS / np.maximum(expected, PSEUDO_ROWS), 1.0)
    together = np.where(unseen, expected, 0.0).sum(axis=-1, keepdims=True)
    once = ((counts > 0) & (counts < 2)).any(axis=-1, keepdims=True)  # rows may have weights
    share = PSEUDO_ROWS / np.maximum(together, MIN_EXPECTED_ROWS)
    lowered = unseen & (together >= MIN_EXPECTED_ROWS) & ~once
    return np.asarray(np.where(lowered, np.minimum(left, share), left))


def _min_borrowed_rows(total: float, weight_above: float, min_effective_rows: float) -> float:
    """Return the rows to borrow for at least ``min_effective_rows`` behind a node."""
    if min_effective_rows <= 1 or total >= min_effective_rows:
        return 0.0
    room = 1.0 / min_effective_rows - weight_above
    # a parent that is as small itself cannot lend enough: nearly all comes from it
    return (1.0 - total / min_effective_rows) / room if room > 1e-9 else 1e9


def _borrowed_rows(tree: Tree, counts: FloatArray) -> FloatArray:
    """Return the rows that each node borrows, alike for the children of one node; (n_nodes,).

    It is the one of `BORROWED_ROWS` with the largest leave-one-out likelihood of the children's rows
    times itself: a prior that decides where the rows do not. A split of noise borrows all.
    """
    totals, choices = counts.sum(axis=1), np.array(BORROWED_ROWS)
    root = (np.maximum(counts[0] - 1.0, 0.0) + 0.5 / counts.shape[1]) / (totals[0] - 0.5)
    left_out, borrowed = {0: root}, np.zeros(len(counts))
    for parent in np.flatnonzero(tree.feature != LEAF).tolist():
        above = left_out.pop(parent)
        children = (parent + 1, int(tree.right[parent]))
        others = {child: max(totals[child] - 1.0, 0.0) for child in children}
        scores = np.log(choices)
        for child in children:
            there = np.flatnonzero(counts[child])
            own = counts[child, there]
            lent = np.maximum(own - 1.0, 0.0) + np.outer(choices, above[there])
            lent /= (others[child] + choices)[:, None]
            scores += np.log(np.maximum(lent, MIN_PROBABILITY)) @ own
        b = borrowed[list(children)] = choices[scores.argmax()]
        for child in children:
            left_out[child] = np.maximum(counts[child] - 1.0, 0.0) + b * above
            left_out[child] /= others[child] + b
    return borrowed


def log_probabilities(probabilities: FloatArray) -> Float32Array:
    """Return the logarithms of probabilities, those of zero at a floor."""
    return np.log(np.maximum(probabilities, MIN_PROBABILITY)).astype(np.float32)


def absent_pairs(
    codes: IntArray, classes: IntArray, n_classes: int
) -> tuple[IntArray, IntArray, Float32Array]:
    """Return pairs of a predictor's code and a class that never occur and should; `unseen_left`.

    With them comes the logarithm of what is left of the class there. Only codes of `MIN_EXPECTED_ROWS` rows
    or more can lack a class; they are counted in blocks, since all of them may not fit into memory.
    """
    sizes, totals = np.bincount(codes), np.bincount(classes, minlength=n_classes)
    frequent = np.flatnonzero(sizes >= MIN_EXPECTED_ROWS)
    found = [(frequent[:0], frequent[:0], np.empty(0, dtype=np.float32))]
    step = max(1, MAX_BLOCK_CELLS // n_classes)
    for some in (frequent[start : start + step] for start in range(0, len(frequent), step)):
        place = np.full(len(sizes), -1, dtype=np.int64)
        place[some] = np.arange(len(some))
        rows = np.flatnonzero(place[codes] >= 0)
        cells = place[codes[rows]] * n_classes + classes[rows]
        counts = np.bincount(cells, minlength=len(some) * n_classes).reshape(-1, n_classes)
        expected = np.outer(sizes[some], totals) / len(codes)
        left = unseen_left(counts.astype(np.float64), expected)
        of_code, of_class = np.nonzero(left < 1.0)
        kept = np.log(left[of_code, of_class]).astype(np.float32)
        found.append((some[of_code], of_class, kept))
    absent, never, logarithms = map(np.concatenate, zip(*found, strict=True))
    return absent, never, logarithms
