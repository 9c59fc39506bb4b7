"""Random forests: bagged trees that see only some predictors at each split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from synthesizer.data.table import Column, Table
from synthesizer.models._ensemble import FittedEnsemble
from synthesizer.models._options import EnsembleOptions, check_share
from synthesizer.models.base import Abilities, FittedModel

__all__ = ["Forest"]


@dataclass(frozen=True, kw_only=True)
class Forest(EnsembleOptions):
    """Draw a tree at random for each row, then a donor from the row's leaf in that tree.

    The splits of each tree come from a bootstrap sample, and each split is the best of a random
    subset of the predictors; the leaves hold all donors, so a fitted model is ``n_trees`` times
    as large as one tree. Sources: Breiman (2001); Caiola and Reiter (2010) for synthesis.

    Parameters
    ----------
    n_trees : int
        Number of trees, >= 1 (synthpop: ``ntree``).
    max_features : float
        Share of the predictors that are tried at a split, in (0, 1].
    min_leaf, max_depth, complexity, penalty, shrinkage, prior : int or float
        As in the model ``cart``.
    even, smoothing, proper, max_fit_rows : bool, str or int
        As in the model ``cart``.

    Examples
    --------
    >>> from synthesizer.data.schema import Kind, Variable
    >>> age = Column(Variable(name="age", kind=Kind.NUMERIC), np.arange(40.0))
    >>> wage = Column(Variable(name="wage", kind=Kind.NUMERIC), np.arange(40.0) * 100)
    >>> fitted = Forest(n_trees=3).fit(Table([age]), wage, rng=np.random.default_rng(1))
    >>> len(fitted.sample(Table([age]), rng=np.random.default_rng(2)))
    40
    """

    abilities: ClassVar[Abilities] = Abilities()
    fitted_type: ClassVar[type[FittedModel]] = FittedEnsemble

    max_features: float = 1 / 3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share("max_features", self.max_features)
        if not self.max_features:
            raise ValueError(
                "max_features (0) must be a share of the predictors above 0, at most 1"
            )

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedEnsemble:
        """Grow the trees; see `ConditionalModel.fit`."""
        return FittedEnsemble.grow(
            predictors,
            target,
            self.growth(self.max_features),
            self.drawing,
            n_trees=self.n_trees,
            prior=self.prior,
            proper=self.proper,
            max_fit_rows=self.max_fit_rows,
            rng=rng,
        )
