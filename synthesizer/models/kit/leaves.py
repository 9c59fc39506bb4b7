"""Drawing donors from the leaves of a tree, or from wider nodes around them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from synthesizer.data.table import Column, FloatArray, Kind, Table
from synthesizer.models.kit.numerics import check_floats
from synthesizer.models.kit.predictors import Design, Encoding, Float32Array
from synthesizer.models.kit.regression import Regression, decimals_of
from synthesizer.models.kit.trees import LEAF, Nodes, Smoothing, Tree, TreeOptions

MAX_CATEGORIES = 20  # of a predictor in the tilt; what many levels tell, the tree has told
RIDGE = 1.0
MOST = 0.5  # the larger, or the smaller, of two draws: a linear density cannot lean further
LEVEL = 1e-6  # slopes below change nothing

GOLDEN = (5**0.5 - 1) / 2
NEIGHBOURS = 3  # donors in a group of even draws


@dataclass(frozen=True, eq=False)
class Tilt:
    """A linear regression of what a tree leaves unexplained, which the draws follow.

    A tree splits where it gains most; a gap between groups given all else gains little anywhere
    and is flattened (trees with linear models: Chan and Loh 2004, J. Computational and Graphical
    Statistics 13). So a draw takes the larger of two random donors of its leaf with probability
    1/2 + a, and the smaller with 1/2 - a. That moves the mean by a times the leaf's Gini mean
    difference G, exactly (the quadratic rank transmutation map of Shaw and Buckley 2009,
    arXiv:0901.0434). a is linear in the predictors: the regression of residual / G, weighted by
    G, so that the sum of the drawn responses over every column of the regression is expected to
    be that of the data, as in a calibration (Deville and Saerndal 1992).
    """

    slope: Regression
    """Of a. The response is the rank of a number or the code of a level, the residual is that to
    the mean of the other donors of the leaf."""

    @classmethod
    def fit(
        cls,
        tree: Tree,
        order: npt.NDArray[np.intp],
        predictors: Table,
        target: Column,
        *,
        rows: npt.NDArray[np.intp] | None,
        rng: np.random.Generator | None,
    ) -> Self | None:
        """Fit the regression; None where the levels of the target have no order.

        ``order`` is the row of each donor in the order of the leaves, shape (n,); ``rows`` those
        of the regression, None for all. With ``rng`` the coefficients are drawn from their
        posterior distribution (proper synthesis).
        """
        response = _response(target)
        if response is None or not len(predictors):
            return None
        residual, spread = np.empty(len(order)), np.empty(len(order))
        residual[order], spread[order] = _leaf_figures(tree, response[order])
        if rows is not None:
            predictors, residual, spread = predictors.take(rows), residual[rows], spread[rows]
        if not (spread > 0).any():
            return None
        wanted = np.divide(residual, spread, out=np.zeros(len(spread)), where=spread > 0)
        weights = spread / spread.mean()
        design = Design.fit(predictors, max_categories=MAX_CATEGORIES)
        _, slope = Regression.fit_and_draw(
            design, predictors, wanted, ridge=RIDGE, weights=weights, rng=rng
        )
        return cls(slope)

    def slopes(self, predictors: Table) -> FloatArray:
        """Return a of every row, in [-1/2, 1/2]."""
        return np.asarray(np.clip(self.slope.mean(predictors), -MOST, MOST))


def tilted(uniform: FloatArray, slopes: FloatArray) -> FloatArray:
    """Return numbers in [0, 1) of density 1 + 2a(2u - 1) from even ones, shape (n,)."""
    steep = np.abs(slopes) > LEVEL
    a = np.where(steep, 2.0 * slopes, 1.0)
    root = np.sqrt((1.0 - a) ** 2 + 4.0 * a * uniform)
    return np.asarray(np.where(steep, (root - (1.0 - a)) / (2.0 * a), uniform))


def _response(target: Column) -> FloatArray | None:
    """Return what the regression is of, shape (n,); None where the levels have no order."""
    if not target.is_coded:
        return np.asarray(rankdata(target.data), dtype=np.float64)
    if target.variable.kind is Kind.ORDERED or target.variable.n_codes == 2:
        return np.asarray(target.data, dtype=np.float64)
    return None


def _leaf_figures(tree: Tree, response: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return residuals and the Gini mean difference of the leaf of every donor, shape (n,).

    ``response`` is in the order of the donors: by leaf, ascending within leaves. Who is alone in a
    leaf has no residual.
    """
    leaves = np.flatnonzero(tree.feature == LEAF)
    start, size = tree.start[leaves], tree.count[leaves]
    leaf = np.repeat(np.arange(len(leaves)), size)
    mean = np.add.reduceat(response, start) / size
    centred = response - mean[leaf]
    rank = np.arange(len(response)) - start[leaf]
    weighted = (2 * rank + 1 - size[leaf]) * centred
    spread = np.maximum(2 * np.add.reduceat(weighted, start) / size**2, 0.0)
    return centred * (size / np.maximum(size - 1, 1))[leaf], spread[leaf]


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """How values are drawn once the leaf of a row is known."""

    shrinkage: float = 0.0
    """A row stays in a node whose parent has N donors with probability N / (N + shrinkage), and
    else moves on to an ancestor: hierarchical shrinkage (Agarwal et al. 2022) as a draw."""
    even: bool = False
    """Spread draws evenly over groups of three donors with neighbouring values."""
    smoothing: Smoothing = "none"
    """"density" adds kernel noise within the range of the leaf, "none" copies donors."""

    def __post_init__(self) -> None:
        if not 0 <= self.shrinkage < math.inf:
            raise ValueError("shrinkage must be a number that is at least 0")

    @classmethod
    def of(cls, model: TreeOptions) -> Self:
        """Take over the options of a model."""
        return cls(shrinkage=model.shrinkage, even=model.even, smoothing=model.smoothing)


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
        self,
        matrix: Float32Array,
        drawing: Drawing,
        *,
        rng: np.random.Generator,
        steps: int = 0,
        slopes: FloatArray | None = None,
    ) -> npt.NDArray[np.int32] | FloatArray:
        """Draw a value for each row of ``matrix``, ``steps`` nodes above its own.

        ``slopes`` say how far each draw leans to large values, see `Tilt`. Donors of wider nodes
        are not sorted, so draws from there do not lean.
        """
        leaves = nodes = self.tree.apply(matrix)
        if drawing.shrinkage > 0:
            nodes = self._shrink(nodes, drawing.shrinkage, rng)
        if steps:
            nodes = self.tree.climb(nodes, steps)
        uniform = self._uniform(nodes, drawing.even, rng)
        if slopes is not None:
            uniform = tilted(uniform, np.where(nodes == leaves, slopes, 0.0))
        chosen = self._positions(nodes, uniform)
        values = self.donors.data[chosen]
        if drawing.smoothing == "density" and not self.donors.is_coded:
            return self._smooth(np.asarray(values, dtype=np.float64), chosen, rng)
        return values

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

    def _uniform(self, nodes: Nodes, even: bool, rng: np.random.Generator) -> FloatArray:
        """Return a number in [0, 1) for each row: its place in the range of its node."""
        if not even:
            return rng.random(len(nodes))
        # A number or a rare level may belong to one person. Copied evenly, nearly all of them
        # would return: be even over groups of neighbouring donors only, random within a group.
        groups = np.maximum(self.tree.count[nodes] // NEIGHBOURS, 1)
        uniform = np.floor(_even_uniform(nodes, rng) * groups)
        return np.asarray((uniform + rng.random(len(nodes))) / groups)

    def _positions(self, nodes: Nodes, uniform: FloatArray) -> npt.NDArray[np.intp]:
        start, end = self.tree.start[nodes], self.tree.end[nodes]
        if self._cumulated is None:
            chosen = start + (uniform * (end - start)).astype(np.intp)
        else:
            low, high = self._cumulated[start], self._cumulated[end]
            points = low + uniform * (high - low)
            chosen = np.searchsorted(self._cumulated, points, side="right") - 1
        return np.asarray(np.clip(chosen, start, end - 1), dtype=np.intp)

    def _smooth(
        self, values: FloatArray, chosen: npt.NDArray[np.intp], rng: np.random.Generator
    ) -> FloatArray:
        """Add normal noise with Silverman's (1986) bandwidth; stay in the donor's leaf."""
        leaves = np.flatnonzero(self.tree.feature == LEAF)
        start, end = self.tree.start[leaves], self.tree.end[leaves]
        data, size = np.asarray(self.donors.data, dtype=np.float64), end - start
        mean = np.add.reduceat(data, start) / size
        spread = np.sqrt(np.add.reduceat((data - np.repeat(mean, size)) ** 2, start) / size)
        quartiles = data[start + (3 * size) // 4 - (size > 3)] - data[start + size // 4]
        narrow = np.where(quartiles > 0, np.minimum(spread, quartiles / 1.34), spread)
        width = 0.9 * narrow * size**-0.2
        leaf = np.searchsorted(start, chosen, side="right") - 1
        noisy = values + width[leaf] * rng.standard_normal(len(values))
        decimals = decimals_of(self.donors)
        if decimals is not None:
            noisy = np.round(noisy, decimals)
        return np.asarray(np.clip(noisy, data[start[leaf]], data[end[leaf] - 1]))


def check_features(encoding: Encoding, leaves: Leaves) -> None:
    """Raise ValueError if a tree splits on a column that its predictors do not have."""
    if leaves.tree.feature.max() >= len(encoding.names):
        raise ValueError("tree does not fit its predictors")


def _even_uniform(nodes: Nodes, rng: np.random.Generator) -> FloatArray:
    """Return numbers in [0, 1) that are spread evenly over the rows of every node.

    Rows are taken node by node, in random order within a node, and get the multiples of the
    golden ratio modulo 1 (a Kronecker sequence): any run of rows covers [0, 1) evenly.
    """
    order = rng.permutation(len(nodes))
    order = order[np.argsort(nodes[order], kind="stable")]
    uniform = np.empty(len(nodes))
    uniform[order] = (rng.random() + GOLDEN * np.arange(len(nodes))) % 1.0
    return uniform
