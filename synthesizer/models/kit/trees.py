"""Trees: their options, their structure as arrays, their growth, and draws from leaves.

Nodes are numbered depth-first: the left child of node i is i + 1, so only right children are
stored. Donors are sorted by leaf, so that the donors of every node, leaf or ancestor, are one
contiguous range [start, end). Donors are drawn from a leaf or from a node above it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy

from synthesizer.data.options import Count, NotNegative, Share, options
from synthesizer.data.table import Column, FloatArray, IntArray
from synthesizer.models.base import OtherOptions
from synthesizer.models.kit.numbers import DonorModel
from synthesizer.models.kit.numerics import check_floats, even_uniform
from synthesizer.models.kit.predictors import MANY_LEVELS, Encoding, Float32Array

Nodes = npt.NDArray[np.intp]
LEAF = -1
AUTO_LEAF = (20, 50)
LARGE_LEAF, SMALL_LEAF = 100, 10
"""Leaf sizes from which proposals for lower risk and for higher utility are made."""
PROJECTED_COLUMNS = 10


@options
class TreeOptions(DonorModel):
    """Options of models that are trees.

    Parameters
    ----------
    min_leaf : int or None
        Smallest number of rows in a leaf, >= 1 (synthpop: ``minbucket``, 5), among the rows that
        the splits are learnt from (``max_fit_rows``). None takes a twentieth of these rows, but at
        least 20 and at most 50.
    max_depth : int or None
        Largest number of splits above a leaf, >= 1; None for no limit.
    complexity : float
        Smallest improvement by a split, as a share of the impurity of the root, in [0, 1]
        (synthpop: ``cp``).
    penalty : float
        Smallest improvement by a split, in multiples of the impurity of the root divided by the
        number of rows, >= 0.
    shrinkage : float
        Smooths small leaves, >= 0. A draw moves from a node to its parent with probability
        ``shrinkage / (shrinkage + N)``, where N is the number of donors of the parent. With
        ``leaf_regression``: least number of rows that a node borrows from its parent.
    prior : float
        Number of rows with the overall mean that are added to each level when the levels of a
        categorical predictor are sorted, >= 0. It keeps rare levels from the ends.
    even : bool
        Spread the draws of a leaf evenly over its donors (over groups of three with neighbouring
        values) or its distribution, instead of drawing independently. This removes most of the
        sampling noise, also from the margins. Write false if this noise is to protect persons.
    proper : bool
        Weight the rows at random (Bayesian bootstrap, Rubin 1981), for proper synthesis.
    max_fit_rows : int or None
        Largest number of rows that splits (and a leaf regression) are learnt from, a random sample,
        >= 1; None for all. Leaves contain all donors.
    """

    option_aliases: ClassVar[Mapping[str, str]] = {
        "minbucket": "min_leaf",
        "maxdepth": "max_depth",
        "cp": "complexity",
    }
    public_options: ClassVar[tuple[str, ...]] = (
        "min_leaf", "max_depth", "complexity", "penalty", "shrinkage", "prior", "even",
        "proper", "max_fit_rows", "min_holders",
    )  # fmt: skip

    min_leaf: Count | None = None
    max_depth: Count | None = None
    complexity: Share = 0.0
    penalty: NotNegative = 0.0
    shrinkage: NotNegative = 0.0
    prior: NotNegative = 0.0
    even: bool = True
    proper: bool = False
    max_fit_rows: Count | None = 100_000

    def safer(self) -> Sequence[OtherOptions]:
        """See `ConditionalModel.safer`."""
        return (OtherOptions({"min_leaf": self.large_leaf}, "larger leaves"),)

    def truer(self) -> Sequence[OtherOptions]:
        """See `ConditionalModel.truer`."""
        return (OtherOptions({"min_leaf": self.small_leaf}, "smaller leaves"),)

    def tree_draws(self, *, has_predictors: bool) -> tuple[bool, bool]:  # noqa: ARG002
        """See `ConditionalModel.tree_draws`."""
        return self.even, False

    @property
    def large_leaf(self) -> int:
        """Proposed leaf size for lower risk, at least twice the present one."""
        return max(LARGE_LEAF, 2 * (self.min_leaf or 0))

    @property
    def small_leaf(self) -> int:
        """Proposed leaf size for higher utility, at most half the present one."""
        return max(1, min(SMALL_LEAF, self.min_leaf or SMALL_LEAF) // 2)

    def leaf_rows(self, n_rows: int) -> int:
        """Return the smallest number of rows in a leaf if ``n_rows`` are fitted."""
        return self.min_leaf or int(np.clip(n_rows // 20, *self.leaf_bounds))

    @property
    def leaf_bounds(self) -> tuple[int, int]:
        """Range of the smallest number of rows in a leaf if ``min_leaf`` is None."""
        return AUTO_LEAF

    @property
    def max_features_of_split(self) -> float | None:
        """Share of the predictors that are candidates for a split; None for all."""
        return None

    def structure_rows(self, n_rows: int, rng: np.random.Generator) -> Nodes | None:
        """Draw the rows that the splits are learnt from, in row order; None for all."""
        if self.max_fit_rows is None or n_rows <= self.max_fit_rows:
            return None
        return np.sort(rng.choice(n_rows, size=self.max_fit_rows, replace=False, shuffle=False))


@dataclass(frozen=True, eq=False)
class Tree:
    """A binary tree whose nodes hold ranges of donors.

    Examples
    --------
    >>> tree = Tree(np.array([0, -1, -1]), np.array([0.5, 0, 0]), np.array([2, -1, -1]),
    ...             np.array([0, 3, 2]))
    >>> tree.apply(np.array([[0.0], [1.0]], dtype=np.float32)).tolist()
    [1, 2]
    >>> tree.start.tolist(), tree.end.tolist()
    ([0, 0, 3], [5, 3, 5])
    """

    feature: npt.NDArray[np.int32]
    """Column that each node splits on, -1 for a leaf; shape (n_nodes,)."""
    threshold: FloatArray
    """Rows with a value up to the threshold go left."""
    right: npt.NDArray[np.int32]
    """Right child of each node, -1 for a leaf; the left child is the next node."""
    sizes: npt.NDArray[np.int64]
    """Donors in each leaf, >= 1; 0 for other nodes."""

    def __post_init__(self) -> None:
        self._check_nodes()
        if not (self.start < self.end).all():
            raise ValueError("nodes of a tree must be numbered depth-first and hold donors")

    @cached_property
    def start(self) -> npt.NDArray[np.int64]:
        """Position of the first donor of each node."""
        return np.cumsum(self.sizes) - self.sizes

    @property
    def end(self) -> npt.NDArray[np.int64]:
        """Position after the last donor of each node."""
        return self._ends_and_parents[0]

    @property
    def parent(self) -> npt.NDArray[np.int32]:
        """Parent of each node, -1 for the root."""
        return self._ends_and_parents[1]

    @property
    def n_donors(self) -> int:
        """Number of donors in all leaves."""
        return int(self.end[0])

    @property
    def count(self) -> npt.NDArray[np.int64]:
        """Donors below each node, shape (n_nodes,)."""
        return self.end - self.start

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """Columns with a split."""
        return tuple(np.unique(self.feature[self.feature != LEAF]).tolist())

    def apply(self, matrix: Float32Array) -> Nodes:
        """Return the leaf of each row of ``matrix``, shape (n,)."""
        n, width = matrix.shape
        node = np.zeros(n, dtype=np.intp)
        is_inner = self.feature != LEAF
        if not is_inner[0]:
            return node
        # a flat index is faster than two indices
        by_column = matrix.flags.f_contiguous
        flat = (matrix.T if by_column else matrix).ravel()
        column = np.where(is_inner, self.feature, 0) * np.intp(n if by_column else 1)
        further = self.right - np.arange(len(self.right)) - 1  # than the left child
        rows, here = np.arange(n), node.copy()
        while len(rows):
            number = flat.take(column.take(here) + (rows if by_column else rows * width))
            here += 1 + further.take(here) * (number > self.threshold.take(here))
            goes_on = is_inner.take(here)
            if not goes_on.all():
                node[rows] = here
                rows, here = rows[goes_on], here[goes_on]
        return node

    def climb(self, nodes: Nodes, steps: int) -> Nodes:
        """Return the ancestors ``steps`` above ``nodes``, the root at most."""
        for _ in range(steps):
            nodes = np.maximum(self.parent[nodes], 0)
        return nodes

    def _check_nodes(self) -> None:
        shape = (len(self.feature),) if self.feature.ndim else ()
        arrays = (self.feature, self.threshold, self.right, self.sizes)
        if not shape or not shape[0] or any(array.shape != shape for array in arrays):
            raise ValueError("arrays of a tree must have one length, at least 1")
        inner = np.flatnonzero(self.feature != LEAF)
        children = np.concatenate([inner + 1, self.right[inner]])
        if self.feature.min() < LEAF or not np.isfinite(self.threshold).all():
            raise ValueError("splits of a tree must name a column and a finite threshold")
        if (self.right[inner] <= inner).any() or (children >= shape[0]).any():
            raise ValueError("children in a tree must be nodes after their parent")
        # One parent each and numbers that grow: neither a loop nor a shared branch is possible.
        if (np.bincount(children, minlength=shape[0])[1:] != 1).any():
            raise ValueError("nodes of a tree must have one parent")
        is_leaf = self.feature == LEAF
        if (self.sizes[is_leaf] < 1).any() or self.sizes[~is_leaf].any():
            raise ValueError("leaves of a tree, and only they, must have donors")
        if self.sizes.sum(dtype=np.float64) > np.iinfo(np.int64).max / 2:
            raise ValueError("leaves of a tree have too many donors")

    @cached_property
    def _ends_and_parents(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """Return the end of the range and the parent of every node."""
        end = np.full(len(self.feature), self.sizes.sum())
        parent = np.full(len(self.feature), -1, dtype=np.int32)
        level = np.zeros(1, dtype=np.intp)
        while len(level):
            inner = level[self.feature[level] != LEAF]
            left_child, right = inner + 1, self.right[inner].astype(np.intp)
            parent[left_child] = parent[right] = inner
            end[left_child], end[right] = self.start[right], end[inner]
            level = np.concatenate([left_child, right])
        return end, parent


def centred_response(target: Column, rng: np.random.Generator) -> FloatArray:
    """Return the response that splits explain, shape (n, d), columns with mean zero.

    Numbers and two-level targets have one column, others one column per level that occurs.
    Numbers enter by their ranks: otherwise a few very large incomes take all splits, which costs
    utility and reveals these persons. Targets with many levels have a random projection of the
    columns to a few dimensions. The Gini index is the summed variance of the one-hot columns, and a
    random projection nearly keeps variances (Johnson and Lindenstrauss 1984).
    """
    if not target.is_coded:
        response = scipy.stats.rankdata(target.data)[:, None]
    else:
        levels, codes = np.unique(target.data, return_inverse=True)
        if len(levels) == 2:
            table = np.array([[0.0], [1.0]])
        elif len(levels) < MANY_LEVELS:
            table = np.eye(len(levels))
        else:
            table = rng.standard_normal((len(levels), PROJECTED_COLUMNS))
        response = table[codes]
    return np.asarray(response - response.mean(axis=0))


def grow(
    matrix: Float32Array,
    target: Column,
    response: FloatArray,
    model: TreeOptions,
    *,
    rows: npt.NDArray[np.integer] | None,
    rng: np.random.Generator,
) -> tuple[Tree, npt.NDArray[np.intp]]:
    """Grow a tree; also return the rows of the donors, sorted by leaf and value, shape (n,).

    ``matrix``, shape (n, p), contains the encoded predictors, ``response``, shape (n, d), is that
    of `centred_response`. The splits are learnt from ``rows``, None for all; the leaves contain all
    n donors. ``rng`` breaks ties between equally good splits.
    """
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    seed = int(rng.integers(2**31))
    sample = slice(None) if rows is None else rows
    sampled = response[sample]
    least = model.leaf_rows(len(sampled))
    impurity = sampled.var(axis=0)
    if matrix.shape[1] == 0 or len(sampled) < 2 * least or not impurity.any():
        leaf = np.array([LEAF], dtype=np.int32)
        root = Tree(leaf, np.zeros(1), leaf, np.array([len(target)]))
        return root, np.argsort(target.data, kind="stable")
    settings: dict[str, Any] = {
        "min_samples_leaf": least,
        "max_depth": model.max_depth,
        "max_features": model.max_features_of_split,
        "random_state": seed,
    }
    share = max(model.complexity, model.penalty / len(sampled))
    codes = target.data[sample]
    if target.is_coded and not _is_projected(target) and 2 * len(np.unique(codes)) <= len(codes):
        frequencies = np.bincount(codes) / len(codes)
        settings["min_impurity_decrease"] = share * (1.0 - (frequencies**2).sum())
        estimator = DecisionTreeClassifier(**settings).fit(matrix[sample], codes, check_input=False)
    else:
        # Also if most levels are rare: the classifier would warn.
        # Unit variance: scikit-learn stops at impurities below its epsilon.
        sampled = np.ascontiguousarray(sampled / np.sqrt(impurity.mean()))
        settings["min_impurity_decrease"] = share
        estimator = DecisionTreeRegressor(**settings).fit(
            matrix[sample], sampled, check_input=False
        )
    grown = estimator.tree_  # scikit-learn numbers nodes depth-first as we do
    leaves, is_leaf = grown.apply(matrix), grown.children_left < 0
    tree = Tree(
        np.where(is_leaf, LEAF, grown.feature).astype(np.int32),
        np.where(is_leaf, 0.0, grown.threshold),
        grown.children_right.astype(np.int32),
        np.bincount(leaves, minlength=grown.node_count),
    )
    return tree, np.lexsort((target.data, leaves))


def _is_projected(target: Column) -> bool:
    return int(np.count_nonzero(np.bincount(target.data))) >= MANY_LEVELS


def check_features(encoding: Encoding, tree: Tree) -> None:
    """Raise ValueError if a tree splits on a column that its predictors do not have."""
    if tree.feature.max() >= len(encoding.names):
        raise ValueError("tree does not fit its predictors")


NEIGHBOURS = 3  # donors in a group of even draws


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """How values are drawn from the leaf of a row."""

    shrinkage: float = 0.0
    """A row moves from a node to its parent of N donors with probability shrinkage / (shrinkage +
    N): hierarchical shrinkage (Agarwal et al. 2022) as a draw."""
    even: bool = False
    """Whether draws are spread evenly over groups of three neighbouring donors."""
    balanced: bool = False
    """Whether a leaf regression balances draws over all predictors."""

    def __post_init__(self) -> None:
        if not 0 <= self.shrinkage < math.inf:
            raise ValueError("shrinkage must be a number that is at least 0")

    @classmethod
    def of(cls, model: TreeOptions) -> Self:
        """Return the drawing options of a model."""
        return cls(shrinkage=model.shrinkage, even=model.even)


@dataclass(frozen=True, eq=False)
class Leaves:
    """A tree with its donors."""

    tree: Tree
    donors: Column
    """Confidential values sorted by leaf and by value within leaves, shape (n,)."""
    weights: FloatArray | None = None
    """Weights of the donors (Bayesian bootstrap), shape (n,); None if all are equal."""

    def __post_init__(self) -> None:
        check_floats("donors", self.donors.data, (self.tree.n_donors,))
        if self.weights is None:
            return
        check_floats("weights", self.weights, (self.tree.n_donors,))
        if not (self.weights > 0).all() or not self.weights.sum() < np.inf:
            raise ValueError("weights of donors must be positive")

    @cached_property
    def _cumulated(self) -> FloatArray | None:
        if self.weights is None:
            return None
        return np.concatenate([[0.0], self.weights.cumsum()])

    def draw(
        self, matrix: Float32Array, drawing: Drawing, *, rng: np.random.Generator, steps: int = 0
    ) -> Column:
        """Draw a value for each row of ``matrix`` from the node ``steps`` above its leaf."""
        nodes = self.tree.apply(matrix)
        if drawing.shrinkage > 0:
            nodes = self._shrink(nodes, drawing.shrinkage, rng)
        if steps:
            nodes = self.tree.climb(nodes, steps)
        if drawing.even:
            uniform = even_over_neighbours(nodes, self.tree.count[nodes], rng)
        else:
            uniform = rng.random(len(nodes))
        return self.donors.take(self._positions(nodes, uniform))

    def _shrink(self, nodes: Nodes, shrinkage: float, rng: np.random.Generator) -> Nodes:
        """Climb while the parent is too small for the row's uniform number."""
        tree, nodes = self.tree, nodes.copy()
        parents = np.maximum(tree.parent, 0)
        # rows stay in the root
        stay = np.where(tree.parent < 0, 1.0, tree.count[parents])
        stay = np.where(tree.parent < 0, 1.0, stay / (stay + shrinkage))
        uniform = rng.random(len(nodes))
        rows = np.flatnonzero(uniform >= stay[nodes])
        while len(rows):
            nodes[rows] = parents[nodes[rows]]
            rows = rows[uniform[rows] >= stay[nodes[rows]]]
        return nodes

    def _positions(self, nodes: Nodes, uniform: FloatArray) -> npt.NDArray[np.intp]:
        start, end = self.tree.start[nodes], self.tree.end[nodes]
        if self._cumulated is None:
            chosen = start + (uniform * (end - start)).astype(np.intp)
        else:
            low, high = self._cumulated[start], self._cumulated[end]
            points = low + uniform * (high - low)
            chosen = np.searchsorted(self._cumulated, points, side="right") - 1
        return np.asarray(np.clip(chosen, start, end - 1), dtype=np.intp)


def even_over_neighbours(nodes: Nodes, counts: IntArray, rng: np.random.Generator) -> FloatArray:
    """Return numbers in [0, 1) that are even over groups of neighbouring donors of each node.

    Draws are random within a group: otherwise nearly all values of single persons would be copied.
    ``counts`` are the donors of each row's node.
    """
    groups = np.maximum(counts // NEIGHBOURS, 1)
    uniform = np.floor(even_uniform(nodes, rng) * groups)
    return np.asarray((uniform + rng.random(len(nodes))) / groups)
