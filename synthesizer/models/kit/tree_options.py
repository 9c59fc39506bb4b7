"""Options that the tree models share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from synthesizer.data.options import Count, NotNegative, Share, options
from synthesizer.models.base import ConditionalModel
from synthesizer.models.kit.leaves import Drawing, Smoothing
from synthesizer.models.kit.trees import Growth


@options
class TreeOptions(ConditionalModel):
    """Options of models that are trees.

    Parameters
    ----------
    min_leaf : int
        Smallest number of rows in a leaf, >= 1 (synthpop: ``minbucket``, there 5), counted among
        the rows that the splits are learnt from (``max_fit_rows``). The default keeps draws from
        repeating single persons; smaller leaves follow the data more closely.
    max_depth : int or None
        Largest number of splits above a leaf, >= 1.
    complexity : float
        Least improvement by a split as a share of the root's impurity, in [0, 1]
        (synthpop: ``cp``).
    penalty : float
        Least improvement by a split in units of what a split of noise gives, >= 0.
    shrinkage : float
        With probability shrinkage / (shrinkage + N), N being the donors of the parent, a draw
        leaves a node for its parent, >= 0: small groups are blurred, large ones are not.
    prior : float
        Rows with the overall mean that every level of a categorical predictor is given in
        addition when levels are ordered, >= 0.
    even : bool
        Spread draws evenly over the donors of a leaf (over groups of three with neighbouring
        values) instead of drawing them independently. It removes most of the noise of drawing,
        also from the margins: turn it off where that noise counts as protection.
    smoothing : {"none", "density"}
        Whether numbers are copied or get kernel noise within the range of their leaf.
    proper : bool
        Weight the donors of the fit at random (Bayesian bootstrap, Rubin 1981).
    max_fit_rows : int or None
        The splits are learnt from a random sample of so many rows; leaves hold all donors.
    """

    option_aliases: ClassVar[Mapping[str, str]] = {
        "minbucket": "min_leaf",
        "maxdepth": "max_depth",
        "cp": "complexity",
    }

    told_options: ClassVar[tuple[str, ...]] = (
        "min_leaf", "max_depth", "complexity", "penalty", "shrinkage", "prior", "even",
        "smoothing", "proper", "max_fit_rows",
    )  # fmt: skip

    min_leaf: Count = 50
    max_depth: Count | None = None
    complexity: Share = 0.0
    penalty: NotNegative = 0.0
    shrinkage: NotNegative = 0.0
    prior: NotNegative = 0.0
    even: bool = True
    smoothing: Smoothing = "none"
    proper: bool = False
    max_fit_rows: Count | None = 100_000

    def growth(self, max_features: float | None = None) -> Growth:
        """Return when a tree stops growing."""
        return Growth(
            min_leaf=self.min_leaf,
            max_depth=self.max_depth,
            complexity=self.complexity,
            penalty=self.penalty,
            max_features=max_features,
        )

    @property
    def drawing(self) -> Drawing:
        """How values are drawn from the leaves."""
        return Drawing(shrinkage=self.shrinkage, even=self.even, smoothing=self.smoothing)


@options
class EnsembleOptions(TreeOptions):
    """Options of models of several trees.

    Parameters
    ----------
    n_trees : int
        Number of trees, >= 1 (synthpop: ``ntree``).
    """

    option_aliases: ClassVar[Mapping[str, str]] = {
        **TreeOptions.option_aliases,
        "ntree": "n_trees",
    }

    told_options: ClassVar[tuple[str, ...]] = (*TreeOptions.told_options, "n_trees")

    min_leaf: Count = 20
    n_trees: Count = 10


def structure_rows(
    n_rows: int, max_rows: int | None, rng: np.random.Generator
) -> npt.NDArray[np.intp] | None:
    """Choose the rows that the splits are learnt from, in row order; None for all."""
    if max_rows is None or n_rows <= max_rows:
        return None
    return np.sort(rng.choice(n_rows, size=max_rows, replace=False, shuffle=False))
