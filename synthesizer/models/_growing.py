"""Growing trees: scikit-learn finds the splits, our own arrays keep them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from synthesizer.data.table import Column, FloatArray
from synthesizer.models._ordering import Float32Array
from synthesizer.models._tree import Nodes, Tree

__all__ = ["Growth", "centred_response", "grow"]

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
        tree = Tree([-1], [0.0], [-1], [len(target)])
        return tree, np.argsort(target.data, kind="stable")
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
        np.where(is_leaf, -1, grown.feature),
        np.where(is_leaf, 0.0, grown.threshold),
        grown.children_right,
        np.bincount(leaves, minlength=grown.node_count),
    )
