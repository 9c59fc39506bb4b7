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
    """What `cart`, `bagging` and `forest` can be told; `Cart` says what each option means."""

    option_aliases: ClassVar[Mapping[str, str]] = {
        "minbucket": "min_leaf",
        "maxdepth": "max_depth",
        "cp": "complexity",
    }

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
    """What models of several trees can be told in addition."""

    option_aliases: ClassVar[Mapping[str, str]] = {
        **TreeOptions.option_aliases,
        "ntree": "n_trees",
    }

    min_leaf: Count = 20
    n_trees: Count = 10


def structure_rows(
    n_rows: int, max_rows: int | None, rng: np.random.Generator
) -> npt.NDArray[np.intp] | None:
    """Choose the rows that the splits are learnt from, in row order; None for all."""
    if max_rows is None or n_rows <= max_rows:
        return None
    return np.sort(rng.choice(n_rows, size=max_rows, replace=False, shuffle=False))
