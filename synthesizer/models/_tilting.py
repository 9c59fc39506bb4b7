"""Tilting the draws of a leaf, so that weak effects that no split is made for are not lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from synthesizer.data.schema import Kind
from synthesizer.data.table import Column, FloatArray, Table
from synthesizer.models._design import Design
from synthesizer.models._linear import Regression
from synthesizer.models._tree import LEAF, Tree

__all__ = ["Tilt", "tilted"]

MAX_CATEGORIES = 20  # of a predictor in the regression; what many levels tell, the tree has told
RIDGE = 1.0
MOST = 0.5  # the larger, or the smaller, of two draws: a linear density cannot lean further
LEVEL = 1e-6  # slopes below change nothing


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

    Parameters
    ----------
    slope : Regression
        Of a. The response is the rank of a number or the code of a level, the residual is that
        to the mean of the other donors of the leaf.
    """

    slope: Regression

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

        Parameters
        ----------
        tree : Tree
            Grown already.
        order : ndarray
            Row of each donor in the order of the leaves, shape (n,).
        predictors, target : Table, Column
            n rows.
        rows : ndarray or None
            Rows of the regression; None for all.
        rng : numpy.random.Generator or None
            Draws the coefficients from their posterior distribution (proper synthesis).
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
        if rng is None:
            return cls(Regression.fit(design, predictors, wanted, ridge=RIDGE, weights=weights))
        _, drawn = Regression.fit_and_perturb(
            design, predictors, wanted, ridge=RIDGE, weights=weights, rng=rng
        )
        return cls(drawn)

    def slopes(self, predictors: Table) -> FloatArray:
        """Return a of every row, in [-1/2, 1/2]."""
        return np.asarray(np.clip(self.slope.mean(predictors), -MOST, MOST))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"slope": self.slope.to_dict()}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild from ``to_dict``; raises ValueError on anything that is not such a tilt."""
        return cls(Regression.from_dict(state["slope"]))


def tilted(uniform: FloatArray, slopes: FloatArray) -> FloatArray:
    """Return numbers in [0, 1) of density 1 + 2a(2u - 1) from even ones, shape (n,).

    Examples
    --------
    >>> tilted(np.array([0.25, 0.25]), np.array([0.0, 0.5])).tolist()
    [0.25, 0.5]
    """
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
    own = np.repeat(np.arange(len(leaves)), size)
    mean = np.add.reduceat(response, start) / size
    centred = response - mean[own]
    rank = np.arange(len(response)) - start[own]
    weighted = (2 * rank + 1 - size[own]) * centred
    spread = np.maximum(2 * np.add.reduceat(weighted, start) / size**2, 0.0)
    return centred * (size / np.maximum(size - 1, 1))[own], spread[own]
