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
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from synthesizer.data.options import Count, NotNegative, Share, options
from synthesizer.data.table import Column, FloatArray, IntArray
from synthesizer.models.base import OtherOptions
from synthesizer.models.kit import kernels
from synthesizer.models.kit.kernels import LEAF, Float32Array, Growth
from synthesizer.models.kit.numbers import DonorModel
from synthesizer.models.kit.numerics import check_floats, even_uniform
from synthesizer.models.kit.predictors import Bins, Encoding, Response

Nodes = npt.NDArray[np.intp]
AUTO_LEAF = (20, 50)
LARGE_LEAF, SMALL_LEAF = 100, 10
"""Leaf sizes from which proposals for lower risk and for higher utility are made."""
MIN_GAIN = 1e-10
"""Smaller improvements, as a share of the impurity of the root, are rounding."""


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

    @cached_property
    def end(self) -> npt.NDArray[np.int64]:
        """Position after the last donor of each node."""
        end = np.full(len(self.feature), self.sizes.sum())
        level = np.zeros(1, dtype=np.intp)
        while len(level):
            inner = level[self.feature[level] != LEAF]
            left_child, right = inner + 1, self.right[inner].astype(np.intp)
            end[left_child], end[right] = self.start[right], end[inner]
            level = np.concatenate([left_child, right])
        return end

    @cached_property
    def parent(self) -> npt.NDArray[np.int32]:
        """Parent of each node, -1 for the root."""
        parent = np.full(len(self.feature), -1, dtype=np.int32)
        inner = np.flatnonzero(self.feature != LEAF)
        parent[inner + 1] = parent[self.right[inner]] = inner
        return parent

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
        return kernels.find_leaves(matrix, self.feature, self.threshold, self.right)

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


def grow(
    matrix: Float32Array,
    bins: Sequence[Bins],
    response: Response,
    model: TreeOptions,
    *,
    rows: IntArray | None,
    rng: np.random.Generator,
) -> tuple[Tree, Nodes]:
    """Grow a tree; also return the leaf of each of n rows.

    ``matrix``, shape (n, p), contains the encoded predictors, also in ``bins``. The splits are
    learnt from ``rows``, None for all; the leaves contain all n donors. ``rng`` chooses the
    predictors that are candidates for a split.
    """
    key, n = int(rng.integers(2**63)), len(response)
    rows = np.arange(n) if rows is None else rows
    least = model.min_leaf or int(np.clip(len(rows) // 20, *model.leaf_bounds))
    splits = None
    if len(bins) and len(rows) >= 2 * least and not response.is_constant:
        values, width = response.whole_numbers
        share = max(model.complexity, model.penalty / len(rows), MIN_GAIN)
        features = model.max_features_of_split or 1.0
        growth = Growth(
            min_leaf=least,
            max_depth=model.max_depth,
            min_gain=share * _impurity(values[rows]),
            n_candidates=max(1, math.floor(features * len(bins))),
            key=key,
        )
        n_bins = np.array([len(of_feature.low) for of_feature in bins], dtype=np.int32)
        splits = kernels.grow(
            [of_feature.codes for of_feature in bins], n_bins, values, width, rows, growth
        )
    if splits is None or len(splits.feature) == 1:
        leaf = np.array([LEAF], dtype=np.int32)
        return Tree(leaf, np.zeros(1), leaf, np.array([n])), np.zeros(n, dtype=np.intp)
    threshold = np.zeros(len(splits.feature))
    for node in np.flatnonzero(splits.feature != LEAF):
        of_feature = bins[splits.feature[node]]
        ends = of_feature.high[splits.left_bin[node]], of_feature.low[splits.right_bin[node]]
        threshold[node] = (float(ends[0]) + float(ends[1])) / 2
    leaves = kernels.find_leaves(matrix, splits.feature, threshold, splits.right)
    sizes = np.bincount(leaves, minlength=len(threshold))
    return Tree(splits.feature, threshold, splits.right, sizes), leaves


def _impurity(values: npt.NDArray[np.integer]) -> float:
    """Return the sum of squares around the mean of the whole numbers that splits explain."""
    if values.ndim == 1:
        counts = np.bincount(values)
        return float(len(values) - (counts.astype(np.float64) ** 2).sum() / len(values))
    numbers = values.astype(np.float64)
    return float((numbers**2).sum() - (numbers.sum(axis=0) ** 2).sum() / len(values))


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
        stay = tree.count[parents] / (tree.count[parents] + shrinkage)
        stay[0] = 1.0  # rows stay in the root
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
