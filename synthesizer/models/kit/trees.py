"""The structure of a binary tree in plain arrays.

Nodes are numbered depth-first: the left child of node i is i + 1, so only right children are
stored. Donors are kept in the order of the leaves, so that the donors of every node, leaf or
ancestor, are one contiguous range [start, end) and climbing the tree needs no further storage.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from synthesizer.data.table import Column, FloatArray
from synthesizer.models.kit.predictors import Float32Array

Nodes = npt.NDArray[np.intp]
LEAF = -1


@dataclass(frozen=True, eq=False)
class Tree:
    """A binary tree whose nodes hold ranges of donors.

    Parameters
    ----------
    feature : ndarray of int32
        Column that each node splits on, -1 for a leaf; shape (n_nodes,).
    threshold : ndarray of float64
        Rows with a value up to the threshold go left.
    right : ndarray of int32
        Right child of each node, -1 for a leaf; the left child is the next node.
    sizes : ndarray of int64
        Donors in each leaf, >= 1; 0 for other nodes.

    Raises
    ------
    ValueError
        If the arrays do not describe one tree in depth-first order.

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
    threshold: FloatArray
    right: npt.NDArray[np.int32]
    sizes: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64] = field(init=False)
    end: npt.NDArray[np.int64] = field(init=False)
    parent: npt.NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        self._check_nodes()
        object.__setattr__(self, "start", np.cumsum(self.sizes) - self.sizes)
        end, parent = self._descend()
        object.__setattr__(self, "end", end)
        object.__setattr__(self, "parent", parent)
        if not (self.start < self.end).all():
            raise ValueError("nodes of a tree must be numbered depth-first and hold donors")

    @property
    def n_donors(self) -> int:
        """Number of donors in all leaves."""
        return int(self.end[0])

    @property
    def count(self) -> npt.NDArray[np.int64]:
        """Donors below each node, shape (n_nodes,)."""
        return self.end - self.start

    def apply(self, matrix: Float32Array) -> Nodes:
        """Return the leaf of each row of ``matrix``, shape (n,)."""
        node = np.zeros(len(matrix), dtype=np.intp)
        rows = np.arange(len(matrix)) if self.feature[0] != LEAF else np.empty(0, dtype=np.intp)
        while len(rows):
            here = node[rows]
            goes_right = matrix[rows, self.feature[here]] > self.threshold[here]
            node[rows] = np.where(goes_right, self.right[here], here + 1)
            rows = rows[self.feature[node[rows]] != LEAF]
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

    def _descend(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """Find the end of every range and every parent, level by level."""
        end = np.full(len(self.feature), self.sizes.sum())
        parent = np.full(len(self.feature), -1, dtype=np.int32)
        level = np.zeros(1, dtype=np.intp)
        while len(level):
            inner = level[self.feature[level] != LEAF]
            left, right = inner + 1, self.right[inner].astype(np.intp)
            parent[left] = parent[right] = inner
            end[left], end[right] = self.start[right], end[inner]
            level = np.concatenate([left, right])
        return end, parent


def root_only(n_donors: int) -> Tree:
    """Return a tree without splits."""
    leaf = np.array([LEAF], dtype=np.int32)
    return Tree(leaf, np.zeros(1), leaf, np.array([n_donors]))


# Growing trees: scikit-learn finds the splits, our own arrays keep them.

MANY_LEVELS = 40  # from here on the projection is faster than the Gini index of all levels
PROJECTED_COLUMNS = 10


@dataclass(frozen=True, kw_only=True)
class Growth:
    """When a tree stops growing.

    Parameters
    ----------
    min_leaf : int
        Smallest number of rows in a leaf, >= 1.
    max_depth : int or None
        Largest number of splits above a leaf.
    complexity : float
        Least improvement by a split, as a share of the root's impurity, >= 0.
    penalty : float
        The same in units of 1 / n: a split of pure noise improves by about 1, >= 0.
    max_features : float or None
        Share of the predictors that are tried at a split, in (0, 1].
    """

    min_leaf: int
    max_depth: int | None = None
    complexity: float = 0.0
    penalty: float = 0.0
    max_features: float | None = None


def centred_response(target: Column, rng: np.random.Generator) -> FloatArray:
    """Return what the splits are to explain, shape (n, d), columns with mean zero.

    Numbers and two-level targets give one column, others one column per level that occurs.
    Numbers enter by their ranks: a few very large incomes would otherwise draw all splits to
    themselves, which costs utility elsewhere and tells most about those who stand out.
    Targets with many levels give a random projection of those columns to a few dimensions: the
    Gini index is the summed variance of the one-hot columns, and a random projection keeps
    distances, hence variances, nearly as they are (Johnson and Lindenstrauss 1984).
    """
    if not target.is_coded:
        response = rankdata(target.data)[:, None]
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
    growth: Growth,
    *,
    rows: npt.NDArray[np.integer] | None,
    rng: np.random.Generator,
) -> tuple[Tree, npt.NDArray[np.intp]]:
    """Grow a tree and sort the donors by leaf.

    Parameters
    ----------
    matrix : ndarray
        Encoded predictors, shape (n, p).
    target : Column
        n values.
    response : ndarray
        From `centred_response`, shape (n, d).
    growth : Growth
        When to stop.
    rows : ndarray or None
        Rows that the splits are learnt from; None for all. The leaves hold all n donors.
    rng : numpy.random.Generator
        Breaks ties between equally good splits.

    Returns
    -------
    tree : Tree
        The structure.
    order : ndarray
        Row of each donor, sorted by leaf and within a leaf by value; shape (n,).
    """
    seed = int(rng.integers(2**31))
    sample = slice(None) if rows is None else rows
    part = response[sample]
    impurity = part.var(axis=0)
    if matrix.shape[1] == 0 or len(part) < 2 * growth.min_leaf or not impurity.any():
        return root_only(len(target)), np.argsort(target.data, kind="stable")
    options: dict[str, Any] = {
        "min_samples_leaf": growth.min_leaf,
        "max_depth": growth.max_depth,
        "max_features": growth.max_features,
        "random_state": seed,
    }
    share = max(growth.complexity, growth.penalty / len(part))
    if target.is_coded and not _is_projected(target):
        codes = target.data[sample]
        frequencies = np.bincount(codes) / len(codes)
        options["min_impurity_decrease"] = share * (1.0 - (frequencies**2).sum())
        estimator = DecisionTreeClassifier(**options).fit(matrix[sample], codes, check_input=False)
    else:
        # Unit variance overall: scikit-learn stops at impurities below its epsilon.
        part = np.ascontiguousarray(part / np.sqrt(impurity.mean()))
        options["min_impurity_decrease"] = share
        estimator = DecisionTreeRegressor(**options).fit(matrix[sample], part, check_input=False)
    grown = estimator.tree_
    leaves = grown.apply(matrix)
    return _with_donors(grown, leaves), np.lexsort((target.data, leaves))


def _is_projected(target: Column) -> bool:
    return int(np.count_nonzero(np.bincount(target.data))) >= MANY_LEVELS


def _with_donors(grown: Any, leaves: Nodes) -> Tree:
    """Copy the structure; scikit-learn numbers nodes depth-first as we do."""
    is_leaf = grown.children_left < 0
    return Tree(
        np.where(is_leaf, LEAF, grown.feature).astype(np.int32),
        np.where(is_leaf, 0.0, grown.threshold),
        grown.children_right.astype(np.int32),
        np.bincount(leaves, minlength=grown.node_count),
    )
