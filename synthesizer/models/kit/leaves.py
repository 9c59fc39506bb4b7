"""Drawing donors from the leaves of a tree, or from wider nodes around them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from synthesizer.data.table import Column, FloatArray, IntArray
from synthesizer.models.kit.numerics import check_floats, even_uniform
from synthesizer.models.kit.predictors import Float32Array
from synthesizer.models.kit.trees import Nodes, Tree, TreeOptions

NEIGHBOURS = 3  # donors in a group of even draws


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """How values are drawn once the leaf of a row is known."""

    shrinkage: float = 0.0
    """A row stays in a node whose parent has N donors with probability N / (N + shrinkage), and
    else moves on to an ancestor: hierarchical shrinkage (Agarwal et al. 2022) as a draw."""
    even: bool = False
    """Spread draws evenly over groups of three donors with neighbouring values."""

    def __post_init__(self) -> None:
        if not 0 <= self.shrinkage < math.inf:
            raise ValueError("shrinkage must be a number that is at least 0")

    @classmethod
    def of(cls, model: TreeOptions) -> Self:
        """Take over the options of a model."""
        return cls(shrinkage=model.shrinkage, even=model.even)


@dataclass(frozen=True, eq=False)
class Leaves:
    """A tree with its donors."""

    tree: Tree
    donors: Column
    """Confidential values sorted by leaf and by value within leaves, shape (n,)."""
    weights: FloatArray | None = None
    """Weights of the donors (Bayesian bootstrap), shape (n,); None if all are alike."""

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
        """Draw a value for each row of ``matrix``, ``steps`` nodes above its own."""
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
        # The parents of the root's children decide last: nothing lies above the root.
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

    A number or a rare level may belong to one person. Copied evenly, nearly all of them would
    return, so draws are random within a group. ``counts`` are the donors of each row's node.
    """
    groups = np.maximum(counts // NEIGHBOURS, 1)
    uniform = np.floor(even_uniform(nodes, rng) * groups)
    return np.asarray((uniform + rng.random(len(nodes))) / groups)
