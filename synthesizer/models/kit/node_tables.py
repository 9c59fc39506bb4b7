"""The distribution of classes in every node of a tree, backed by the nodes above it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from synthesizer.data.table import FloatArray, IntArray
from synthesizer.models.kit.trees import LEAF, Tree

BACKING = (5.0, 10.0, 20.0)
"""Rows that a node may borrow from its parent; the evidence chooses."""
EXPECTED = 10.0
"""A class, or several, that so many rows are expected to have, and none has, are held to be rare or
impossible there."""
LEFT = 0.3
"""Rows that they are given in place of those expected."""
LEAST = 1e-13


def node_probabilities(
    tree: Tree,
    leaves: IntArray,
    classes: IntArray,
    n_classes: int,
    *,
    weights: FloatArray,
    cap: float,
    least: float,
) -> FloatArray:
    """Return the probabilities of the classes in every node, shape (n_nodes, K).

    p(node) = (counts + b p(parent)) / (rows + b), from the root down: hierarchical shrinkage
    (Agarwal et al. 2022), which keeps what large nodes know where small ones know little. b is the
    one of `BACKING` with the largest leave-one-out likelihood, and more in nodes where a row would
    otherwise weigh more than 1 / cap in the distribution. What nobody in a node has is lowered, see
    `unseen_left`.

    Parameters
    ----------
    leaves : ndarray of int, shape (n,)
        Leaf of each row.
    classes : ndarray of int, shape (n,)
        Class of each row, below ``n_classes``.
    weights : ndarray, shape (n,)
        Of the rows.
    cap : float
        At least 1; 1 for no bound.
    least : float
        Rows that every node borrows at least.
    """
    counts = np.zeros((len(tree.feature), n_classes))
    np.add.at(counts, (leaves, classes), weights)
    for node in range(len(counts) - 1, 0, -1):
        counts[tree.parent[node]] += counts[node]
    backing = max(BACKING, key=lambda b: _left_out(tree, counts, b))
    totals = counts.sum(axis=1)
    probabilities = np.empty_like(counts)
    probabilities[0] = counts[0] / totals[0]
    weight = np.empty(len(counts))
    weight[0] = 1.0 / totals[0]
    for node in range(1, len(counts)):
        parent = tree.parent[node]
        above = _without_impossible(probabilities[parent], counts[node], totals[node])
        borrowed = max(backing, least, _least_backing(totals[node], weight[parent], cap))
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
    left = np.where(unseen & (expected >= EXPECTED), LEFT / np.maximum(expected, LEFT), 1.0)
    together = np.where(unseen, expected, 0.0).sum(axis=-1, keepdims=True)
    once = ((counts > 0) & (counts < 2)).any(axis=-1, keepdims=True)  # rows may have weights
    share = LEFT / np.maximum(together, EXPECTED)
    lowered = unseen & (together >= EXPECTED) & ~once
    return np.asarray(np.where(lowered, np.minimum(left, share), left))


def _least_backing(total: float, weight_above: float, cap: float) -> float:
    """Return the rows to borrow so that no row of a node weighs more than 1 / cap."""
    if cap <= 1 or total >= cap:
        return 0.0
    room = 1.0 / cap - weight_above
    # a parent that is as small itself cannot lend enough: nearly all comes from it
    return (1.0 - total / cap) / room if room > 1e-9 else 1e9


def _left_out(tree: Tree, counts: FloatArray, backing: float) -> float:
    """Return the log-likelihood of every row given the others, in all nodes above its leaf."""
    leaves = np.flatnonzero(tree.feature == LEAF)
    places, classes = np.nonzero(counts[leaves])
    totals = counts.sum(axis=1)
    nodes = leaves[places]
    path = [nodes]
    while (nodes > 0).any():
        nodes = np.maximum(tree.parent[nodes], 0)
        path.append(nodes)
    own = counts[leaves[places], classes]
    n_classes = counts.shape[1]
    p = (np.maximum(counts[0, classes] - 1.0, 0.0) + 0.5 / n_classes) / (totals[0] - 0.5)
    done = np.zeros(len(places), dtype=np.intp)
    for nodes in reversed(path):
        below = (nodes > 0) & (nodes != done)
        lent = (np.maximum(counts[nodes, classes] - 1.0, 0.0) + backing * p) / (
            np.maximum(totals[nodes] - 1.0, 0.0) + backing
        )
        p = np.where(below, lent, p)
        done = nodes
    return float(own @ np.log(np.maximum(p, LEAST)))


def log_probabilities(probabilities: FloatArray) -> npt.NDArray[np.float32]:
    """Return the logarithms of probabilities, those of zero at a floor."""
    return np.log(np.maximum(probabilities, LEAST)).astype(np.float32)


def absent_pairs(
    codes: IntArray, n_codes: int, classes: IntArray, n_classes: int
) -> tuple[IntArray, IntArray, npt.NDArray[np.float32]]:
    """Return pairs of a predictor's code and a class that never occur and should; `unseen_left`.

    With them comes the logarithm of what is left of the class there.
    """
    counts = np.bincount(codes * n_classes + classes, minlength=n_codes * n_classes)
    counts = counts.reshape(n_codes, n_classes)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / len(codes)
    left = unseen_left(counts.astype(np.float64), expected)
    rows, columns = np.nonzero(left < 1.0)
    return rows, columns, np.log(left[rows, columns]).astype(np.float32)
