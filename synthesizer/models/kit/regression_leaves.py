"""A tree with a leaf regression: the distributions of its nodes, their fit, and draws from them.

The distribution of a node is shrunk towards that of its parent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Self

import numpy as np

from synthesizer.data.table import Column, FloatArray, IntArray, Table, once_a_column
from synthesizer.models.domains import Chances
from synthesizer.models.kit.balance import Balance, Groups
from synthesizer.models.kit.classes import (
    JoinedClasses,
    TargetClasses,
    TargetMoments,
    evened,
    exponential,
    is_scale,
)
from synthesizer.models.kit.features import Features, Hazards, max_columns
from synthesizer.models.kit.kernels import LEAF, Float32Array, add_rows, drawn_classes, softmax
from synthesizer.models.kit.leaf_regression import LinearPredictor, RegressionData, is_identity
from synthesizer.models.kit.numbers import SafeNumbers
from synthesizer.models.kit.numerics import (
    check_codes,
    check_floats,
    check_rising,
    even_uniform,
    product,
    whole_codes,
)
from synthesizer.models.kit.trees import Drawing, Nodes, Tree

BORROWED_ROWS = (5.0, 10.0, 20.0, 50.0, 150.0, 500.0, 2e3, 1e4, 1e6)
"""Choices for the rows that the children of a node borrow from it."""
EXPECTED_ROWS = 10.0
"""If this many rows are expected and none is seen, treat the class as impossible."""
PSEUDO_ROWS = 0.3
"""Pseudo-count of such a class."""
MIN_P = 1e-13
MIN_SPREAD_ROWS, MAX_RATIO, MAX_SPREAD_ROWS = 100, 1.2, 5_000
"""The linear predictor of 100 or more drawn rows has at most 1.2 times the standard deviation of
the fit, measured in 5,000 rows. A regression on noisy predictors is flatter (attenuation: Fuller
1987, Measurement Error Models)."""
MAX_BLOCK_CELLS = 500_000
"""Rows times classes of one block."""
MAX_FIT_CELLS = 40_000_000
"""Rows times columns, or classes, of the fit."""


@dataclass(frozen=True, eq=False)
class AbsentPairs:
    """Pairs of a level, or range, of one predictor and a class that hardly occur together."""

    name: str
    """The predictor."""
    edges: FloatArray
    """Borders between the ranges of a number, rising; empty for levels."""
    codes: IntArray
    """Level or range, shape (a,)."""
    classes: IntArray
    """Class, shape (a,)."""
    log_share: Float32Array
    """Logarithm of the factor of the class probability, at most 0."""

    def __post_init__(self) -> None:
        check_floats("edges", self.edges, (-1,))
        if len(self.edges):
            check_rising("edges", self.edges)
        check_codes("codes", self.codes, 2**31)
        check_codes("classes", self.classes, 2**31)
        check_floats("left", self.log_share, self.codes.shape)
        if self.classes.shape != self.codes.shape or (self.log_share > 0).any():
            raise ValueError("pairs of levels and classes must each have a logarithm below 0")


@dataclass(frozen=True, eq=False)
class RegressionLeaves:
    """A tree whose leaf distributions are adjusted by one regression on all rows."""

    tree: Tree
    classes: TargetClasses
    logarithms: Float32Array
    """Log-probabilities of the classes in each node, shape (n_nodes, K)."""
    absent: tuple[AbsentPairs, ...]
    """Combinations with a predictor that never occur."""
    features: Features | Hazards
    moments: TargetMoments
    """The r moments of the target."""
    coefficients: Float32Array
    """Coefficients of the regression, shape (q, r)."""
    spread: Float32Array | None = None
    """Standard deviation of the linear predictor in the fit, shape (r,)."""

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
        """Predictors of the regression and of the absent pairs."""
        return {part.name for part in (*self.features.terms, *self.absent)}

    @classmethod
    def fit(
        cls,
        tree: Tree,
        leaves: Nodes,
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
        """Learn the distributions and the regression from n rows.

        ``leaves`` are the leaves of the rows, shape (n,); ``weights`` are those of the rows,
        None if all are equal. The regression is fitted to at most ``max_rows`` rows. ``event``,
        ``moderators`` and ``ridge`` are options of `synthesizer.models.cart.Cart`.
        """
        classes = TargetClasses.of(target, predictors)
        labels = classes.classify(np.asarray(target.data, dtype=np.float64))
        n_rows, n_classes = len(labels), classes.n_classes
        logarithms = log_probabilities(
            node_probabilities(
                tree,
                leaves,
                labels,
                n_classes,
                weights=np.ones(n_rows) if weights is None else weights,
                min_effective_rows=min_effective_rows,
                least=borrowed,
            )
        )
        absent = tuple(_absent(predictors, labels, n_classes))
        moments = TargetMoments.of(classes, target, labels)
        most = max(1, MAX_FIT_CELLS // max(max_columns(predictors, moderators), n_classes))
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
        joined, nodes = JoinedClasses.of(moments.values), leaves[rows]
        parts = level._blocks(taken)
        offsets = [joined.offsets(level._offsets(part, nodes[at])) for at, part in parts]
        problem = RegressionData(
            matrix=columns,
            groups=features.groups,
            linear=features.linear,
            moments=joined.moments(moments.values),
            n_linear=moments.n_linear,
            shared=not is_scale(target) or n_classes == 2,
            offsets=np.concatenate(offsets),
            classes=joined.classes(labels[rows]),
            weights=None if weights is None else weights[rows].astype(np.float32),
            ridge=ridge,
        )  # fmt: skip
        coefficients = problem.fit(rng)
        fitted = cls(tree, classes, logarithms, absent, features, moments, coefficients)
        return replace(fitted, spread=product(columns, coefficients).std(axis=0))

    def draw(
        self,
        matrix: Float32Array,
        predictors: Table,
        *,
        drawing: Drawing,
        numbers: SafeNumbers | None,
        rng: np.random.Generator,
        steps: int = 0,
    ) -> FloatArray:
        """Draw a value for each row from the node ``steps`` above its leaf; see `Leaves.draw`.

        ``drawing`` may spread the draws of each node evenly over its distribution, or balance them
        over all predictors; ``numbers`` replaces rare numbers.
        """
        nodes = self.tree.climb(self.tree.apply(matrix), steps)
        uniform = even_uniform(nodes, rng) if drawing.even else rng.random(len(nodes))
        chosen = np.empty(len(nodes), dtype=np.intp)
        at = np.empty(len(nodes))
        shift = self._shift(predictors)
        balance = self._balance(predictors, nodes) if drawing.balanced and not steps else None
        for rows, table in self._blocks(predictors):
            weights, shifts = self._scores(table, nodes[rows], shift)
            softmax(weights)
            classes, rest = drawn_classes(weights, uniform[rows])
            if balance is not None:
                classes = balance.balanced(weights, classes, rows, rng)
            chosen[rows] = classes
            if self.classes.n_intervals:
                at[rows] = exponential(rest, (shifts * self.moments.across[classes]).sum(axis=1))
        if numbers is None:
            return self.classes.draw(chosen, at)
        for tail in numbers.tails:
            far = np.flatnonzero(chosen == self.classes.end(tail.sign))
            at[far] = evened(at[far], rng)
        values = self.classes.draw(chosen, at)
        return numbers.replace(values, rng, self.classes.open_ranges(chosen))

    def _balance(self, predictors: Table, nodes: Nodes) -> Balance | None:
        """Return the balance of drawn rows over their predictors and nodes.

        Numbers and levels are in order, missing codes follow the numbers.
        """
        order = np.argsort(self.classes.centres, kind="stable")
        factors = chain([Groups.of(nodes)], map(_balanced_groups, predictors.columns))
        return Balance.of(factors, len(nodes), np.exp(self.logarithms[0]), order)

    def chances(
        self, matrix: Float32Array, predictors: Table, n_codes: int, *, steps: int
    ) -> Chances:
        """Return the probability of each code of a coded target in each row, (n, n_codes)."""
        nodes = self.tree.climb(self.tree.apply(matrix), steps)
        codes = self.classes.spikes.astype(np.int32)
        has_all = len(codes) == n_codes
        shares = (np.empty if has_all else np.zeros)((len(nodes), n_codes), dtype=np.float32)
        shift = self._shift(predictors)
        for rows, table in self._blocks(predictors):
            weights = self._scores(table, nodes[rows], shift)[0]
            softmax(weights)
            shares[rows, slice(None) if has_all else codes] = weights
        return Chances(shares, nodes)

    def log_likelihood(self, matrix: Float32Array, predictors: Table, target: Column) -> FloatArray:
        """Return the log-probability of each row's class, shape (n,); a floor for new levels."""
        nodes = self.tree.apply(matrix)
        labels = self.classes.classify(np.asarray(target.data, dtype=np.float64))
        out = np.empty(len(nodes))
        for rows, table in self._blocks(predictors):
            scores = self._scores(table, nodes[rows])[0].astype(np.float64)
            observed = scores[np.arange(len(scores)), labels[rows]]
            top = scores.max(axis=1)
            out[rows] = observed - top - np.log(np.exp(scores - top[:, None]).sum(axis=1))
        if target.is_coded and not self.classes.n_intervals:
            out[self.classes.spikes[labels] != target.data] = -np.inf
        return np.asarray(np.maximum(out, np.log(MIN_P)))

    def log_widths(self, target: Column) -> FloatArray:
        """Return the logarithm of the width of each number's class.

        It is infinite for numbers that are beyond all others by more than the width of their class.
        """
        values = np.asarray(target.data, dtype=np.float64)
        classes = self.classes
        low, high = classes.ranges(classes.classify(values))
        ends = classes.ranges(np.arange(classes.n_classes))
        decimals = target.variable.decimals
        width = np.maximum(high - low, MIN_P if decimals is None else 10.0**-decimals)
        outside = (values < ends[0].min() - width) | (values > ends[1].max() + width)
        return np.asarray(np.where(outside, np.inf, np.log(width)))

    def _scores(
        self,
        predictors: Table,
        nodes: Nodes,
        shift: Callable[[Table], Float32Array] | None = None,
    ) -> tuple[Float32Array, Float32Array]:
        """Return unnormalised log-probabilities, (n, K), and the linear predictor, (n, r)."""
        scores = self._offsets(predictors, nodes)
        if not self.features.terms:
            return scores, np.zeros((len(nodes), self.coefficients.shape[1]), dtype=np.float32)
        shifts = (shift or self._moved)(predictors)
        scores += shifts if self._is_plain else shifts @ self.moments.values.T
        return scores, shifts

    def _moved(self, predictors: Table) -> Float32Array:
        """Return the linear predictor of each moment in each row, shape (n, r)."""
        if self._predictor is not None:
            return self._predictor(predictors)
        return product(self.features.matrix(predictors), self.coefficients)

    def _shift(self, predictors: Table) -> Callable[[Table], Float32Array]:
        """Return a function of a block of rows: the linear predictor times a factor of at most 1.

        Weakly correlated synthetic predictors must not push numbers to the ends of their range.
        """
        n_rows = predictors.n_rows
        if self.spread is None or n_rows < MIN_SPREAD_ROWS:
            return self._moved
        rows = np.linspace(0, n_rows - 1, min(n_rows, MAX_SPREAD_ROWS)).astype(np.intp)
        is_one_block = n_rows <= self._block_rows
        moved = self._moved(predictors if is_one_block else predictors.take(rows))
        spread = (moved[rows] if is_one_block else moved).std(axis=0)
        factor = np.minimum(1.0, MAX_RATIO * self.spread / np.maximum(spread, MIN_P))
        factor = factor.astype(np.float32)
        return lambda table: (moved if is_one_block else self._moved(table)) * factor

    @cached_property
    def _is_plain(self) -> bool:
        """Whether the moments are the classes themselves."""
        return is_identity(self.moments.values)

    @cached_property
    def _predictor(self) -> LinearPredictor | None:
        """The linear predictor by look-up tables; None with hazards, which multiply columns."""
        if isinstance(self.features, Hazards):
            return None
        return LinearPredictor.of(self.features, self.coefficients)

    def _offsets(self, predictors: Table, nodes: Nodes) -> Float32Array:
        """Return the nodes' log-probabilities, lowered for absent combinations, shape (n, K)."""
        if not self.absent:
            return self.logarithms[nodes]
        code_rows, tables = self._tables
        positions = np.empty((1 + len(code_rows), len(nodes)), dtype=np.int32)
        positions[0] = nodes
        for k, (pairs, code_row) in enumerate(zip(self.absent, code_rows, strict=True), start=1):
            codes = _codes(predictors[pairs.name], pairs.edges)
            positions[k] = code_row[np.minimum(codes, len(code_row) - 1)]
        out = np.zeros((len(nodes), self.classes.n_classes), dtype=np.float32)
        add_rows(out, tables, positions)
        return out

    @cached_property
    def _tables(self) -> tuple[list[IntArray], Float32Array]:
        """Return the row of each code of each predictor, -1 for none, and all rows of terms.

        Rows are added to the log-probabilities: first those of nodes, then those of codes.
        """
        code_rows, tables, n_rows = [], [self.logarithms], len(self.logarithms)
        for pairs in self.absent:
            codes, at = np.unique(pairs.codes, return_inverse=True)
            code_row = np.full(codes[-1] + 2, -1, dtype=np.int32)
            code_row[codes] = np.arange(n_rows, n_rows + len(codes))
            table = np.zeros((len(codes), self.classes.n_classes), dtype=np.float32)
            table[at, pairs.classes] = pairs.log_share
            code_rows.append(code_row)
            tables.append(table)
            n_rows += len(codes)
        return code_rows, np.ascontiguousarray(np.concatenate(tables))

    @property
    def _block_rows(self) -> int:
        return max(1, MAX_BLOCK_CELLS // self.classes.n_classes)

    def _blocks(self, predictors: Table) -> Iterator[tuple[slice, Table]]:
        """Yield blocks of rows and their predictors, so that scores fit into memory."""
        n_rows, length = predictors.n_rows, self._block_rows
        for start in range(0, n_rows, length):
            rows = slice(start, start + length)
            yield rows, predictors if n_rows <= length else predictors.take(rows)


def _absent(predictors: Table, labels: IntArray, n_classes: int) -> list[AbsentPairs]:
    """Return the absent pairs of every predictor that has any."""
    absent, totals = [], np.bincount(labels, minlength=n_classes)
    for column in predictors.columns:
        edges, codes, sizes = _ranges(column)
        pairs = absent_pairs(codes, labels, sizes, totals)
        if len(pairs[0]):
            absent.append(AbsentPairs(column.name, edges, *pairs))
    return absent


@once_a_column
def _ranges(column: Column) -> tuple[FloatArray, IntArray, IntArray]:
    """Return borders between the ranges of a number, the level or range of each row, and sizes."""
    edges = np.empty(0) if column.is_coded else _edges(column)
    codes = _codes(column, edges)
    return edges, codes, np.bincount(codes)


def _edges(column: Column) -> FloatArray:
    """Return the borders of the classes that a number would have as a target."""
    observed = column.is_observed
    if not observed.any():
        return np.empty(0)
    values = Column(column.variable.observed(), column.data[observed])
    classes = TargetClasses.of(values, Table([], n_rows=len(values)))
    ends = np.nextafter(classes.spikes, np.inf) if classes.n_intervals else classes.spikes[:0]
    return np.unique(np.concatenate([classes.spikes, ends, classes.edges]))


def _codes(column: Column, edges: FloatArray) -> IntArray:
    """Return the level, or the range or missing code, of each row, shape (n,)."""
    if column.is_coded:
        return np.asarray(column.data, dtype=np.int32)
    return _ranges_of(column, edges.tobytes())


@once_a_column
def _ranges_of(column: Column, edges: bytes) -> IntArray:
    borders = np.frombuffer(edges)
    ranges = np.searchsorted(borders, column.data, side="right").astype(np.int32)
    states = column.missing_state().astype(np.int32)  # small integers would wrap in the sum
    return np.where(states > 0, len(borders) + states, ranges)


@once_a_column
def _balanced_groups(column: Column) -> Groups:
    """Return groups in the order of the values of a column; missing codes come last."""
    if column.is_coded:
        return Groups.of(np.asarray(column.data))
    states, ranks = column.missing_state(), whole_codes(column.data)
    if ranks is None:
        ranks = np.unique(column.data, return_inverse=True)[1]
    return Groups.of(np.where(states > 0, ranks.max(initial=0) + states.astype(np.int64), ranks))


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
    (Agarwal et al. 2022). b maximises the evidence for the children of each node
    (`_borrowed_rows`); it is larger if a row would otherwise weigh more than
    1 / min_effective_rows. Classes that no row of a node has are lowered (`unseen_shares`).

    Parameters
    ----------
    leaves : ndarray of int, shape (n,)
        Leaf of each row.
    classes : ndarray of int, shape (n,)
        Class of each row, below ``n_classes``.
    weights : ndarray, shape (n,)
        Weights of the rows.
    min_effective_rows : float
        At least 1; 1 for no bound.
    least : float
        Least number of rows that every node borrows.
    """
    n_nodes = len(tree.feature)
    cells = leaves * n_classes + classes
    counts = np.asarray(np.bincount(cells, weights, n_nodes * n_classes), dtype=np.float64)
    counts = counts.reshape(n_nodes, n_classes)
    levels = list(_inner_levels(tree))
    for inner in reversed(levels):
        counts[inner] = counts[inner + 1] + counts[tree.right[inner]]
    totals = counts.sum(axis=1)
    probabilities, weight = np.empty_like(counts), np.empty(len(counts))
    probabilities[0], weight[0] = counts[0] / totals[0], 1.0 / totals[0]
    left_out = np.empty_like(counts)
    left_out[0] = (np.maximum(counts[0] - 1.0, 0.0) + 0.5 / n_classes) / (totals[0] - 0.5)
    for inner in levels:
        children = np.column_stack([inner + 1, tree.right[inner]])
        counted, total = counts[children], totals[children]
        preferred = _borrowed_rows(counted, total, left_out[inner])[:, None]
        others = np.maximum(total - 1.0, 0.0)
        left_out[children] = _lent(counted, others, left_out[inner], preferred)
        above = _without_impossible(probabilities[inner], counted, total)
        needed = _min_borrowed_rows(total, weight[inner, None], min_effective_rows)
        borrowed = np.maximum(np.maximum(preferred, least), needed)
        rows = total + borrowed
        probabilities[children] = (counted + borrowed[..., None] * above) / rows[..., None]
        weight[children] = (1.0 + borrowed * weight[inner, None]) / rows
    return probabilities


def _inner_levels(tree: Tree) -> Iterator[IntArray]:
    """Yield the nodes with children, level by level."""
    level = np.zeros(1, dtype=np.intp)
    while len(inner := level[tree.feature[level] != LEAF]):
        yield inner
        level = np.concatenate([inner + 1, tree.right[inner]])


def _without_impossible(above: FloatArray, counts: FloatArray, totals: FloatArray) -> FloatArray:
    """Return the parents' probabilities, lowered for classes that a child should have but lacks.

    ``above`` has shape (parents, K), ``counts`` and the result (parents, 2, K).
    """
    above = np.broadcast_to(above[:, None], counts.shape)
    shares = unseen_shares(counts, totals[..., None] * above)
    if (shares == 1.0).all():
        return above
    lowered = above * shares
    lowered /= lowered.sum(axis=-1, keepdims=True)
    return np.where((shares < 1.0).any(axis=-1, keepdims=True), lowered, above)


def unseen_shares(counts: FloatArray, expected: FloatArray) -> FloatArray:
    """Return the factor of each class probability, 1 unless the class seems impossible; (.., K).

    A class with ten expected rows and none seen keeps 0.3 rows. All unseen classes together do so,
    too, unless some class was seen once. Then the probability of unseen classes is not small (Good
    1953, The population frequencies of species, Biometrika 40), and lowering it for one predictor
    after the other would bias regressions.

    Examples
    --------
    >>> unseen_shares(np.array([60.0, 0, 0, 0]), np.array([30.0, 15, 10, 5])).round(3).tolist()
    [1.0, 0.01, 0.01, 0.01]
    >>> unseen_shares(np.array([59.0, 1, 0, 0]), np.array([30.0, 15, 10, 5])).round(3).tolist()
    [1.0, 1.0, 0.03, 1.0]
    """
    unseen = counts == 0
    together = np.where(unseen, expected, 0.0).sum(axis=-1, keepdims=True)
    if not (together >= EXPECTED_ROWS).any():
        return np.ones(expected.shape)
    shares = np.where(
        unseen & (expected >= EXPECTED_ROWS), PSEUDO_ROWS / np.maximum(expected, PSEUDO_ROWS), 1.0
    )
    once = ((counts > 0) & (counts < 2)).any(axis=-1, keepdims=True)  # rows may have weights
    share = PSEUDO_ROWS / np.maximum(together, EXPECTED_ROWS)
    lowered = unseen & (together >= EXPECTED_ROWS) & ~once
    return np.asarray(np.where(lowered, np.minimum(shares, share), shares))


def _min_borrowed_rows(
    totals: FloatArray, weights_above: FloatArray, min_effective_rows: float
) -> FloatArray:
    """Return the rows to borrow so that a node has ``min_effective_rows``."""
    if min_effective_rows <= 1:
        return np.zeros_like(totals)
    room = 1.0 / min_effective_rows - weights_above
    # a parent that is as small itself cannot lend needed: take nearly all from it
    rows = (1.0 - totals / min_effective_rows) / np.maximum(room, 1e-9)
    return np.where(totals < min_effective_rows, np.where(room > 1e-9, rows, 1e9), 0.0)


def _borrowed_rows(counts: FloatArray, totals: FloatArray, above: FloatArray) -> FloatArray:
    """Return the rows that the children of each node borrow, equal for both; shape (parents,).

    The number of `BORROWED_ROWS` that maximises the leave-one-out likelihood of the children's rows
    times the number itself, a prior for few rows. The children of a split of noise borrow most.
    ``counts`` has shape (parents, 2, K), ``above`` are left-one-out probabilities of the parents.
    """
    parents, _, classes = at = counts.nonzero()
    starts = np.searchsorted(parents, np.arange(len(counts)))
    rows = np.array(BORROWED_ROWS)[:, None]
    lent = np.maximum(counts[at] - 1.0, 0.0) + rows * above[parents, classes]
    scores = np.add.reduceat(counts[at] * np.log(np.maximum(lent, MIN_P)), starts, axis=1)
    others = np.maximum(totals - 1.0, 0.0)
    scores += np.log(rows) - (totals * np.log(others + rows[..., None])).sum(axis=-1)
    return np.asarray(rows[scores.argmax(axis=0), 0])


def _lent(
    counts: FloatArray, others: FloatArray, above: FloatArray, rows: FloatArray
) -> FloatArray:
    """Return the probabilities of children without the row itself, shape (parents, 2, K).

    ``rows`` are those that both children of each parent borrow, shape (parents, 1).
    """
    lent = np.maximum(counts - 1.0, 0.0) + rows[..., None] * above[:, None]
    return np.asarray(lent / (others + rows)[..., None])


def log_probabilities(probabilities: FloatArray) -> Float32Array:
    """Return the logarithms of probabilities; a floor for zero."""
    return np.log(np.maximum(probabilities, MIN_P)).astype(np.float32)


def absent_pairs(
    codes: IntArray, classes: IntArray, sizes: IntArray, totals: IntArray
) -> tuple[IntArray, IntArray, Float32Array]:
    """Return codes and classes that are expected together but never occur, and log factors.

    ``sizes`` and ``totals`` are the numbers of rows with each code and each class. The factors are
    those of `unseen_shares`. Only codes with at least `EXPECTED_ROWS` rows can lack a class. They
    are counted in blocks, since all of them may not fit into memory.
    """
    n_classes = len(totals)
    frequent = np.flatnonzero(sizes >= EXPECTED_ROWS)
    parts = [(frequent[:0], frequent[:0], np.empty(0, dtype=np.float32))]
    step = max(1, MAX_BLOCK_CELLS // n_classes)
    for some in (frequent[start : start + step] for start in range(0, len(frequent), step)):
        first = np.full(len(sizes), len(some) * n_classes)  # the last row counts all other codes
        first[some] = np.arange(0, len(some) * n_classes, n_classes)
        cells = first.take(codes) + classes
        counts = np.bincount(cells, None, (len(some) + 1) * n_classes).reshape(-1, n_classes)[:-1]
        expected = np.outer(sizes[some] / len(codes), totals)
        shares = unseen_shares(counts.astype(np.float64), expected)
        of_code, of_class = np.nonzero(shares < 1.0)
        logs = np.log(shares[of_code, of_class]).astype(np.float32)
        parts.append((some[of_code], of_class, logs))
    absent, never, logarithms = map(np.concatenate, zip(*parts, strict=True))
    return absent, never, logarithms
