"""Bagged trees: every tree learns from another bootstrap sample of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from synthesizer.data.table import Column, Table
from synthesizer.models._ensemble import FittedEnsemble
from synthesizer.models._options import EnsembleOptions
from synthesizer.models.base import Abilities, FittedModel

__all__ = ["Bagging"]


@dataclass(frozen=True, kw_only=True)
class Bagging(EnsembleOptions):
    """Draw a tree at random for each row, then a donor from the row's leaf in that tree.

    The splits of each tree come from a bootstrap sample; its leaves hold all donors, so a fitted
    model is ``n_trees`` times as large as one tree. Sources: Breiman (1996); Drechsler and
    Reiter (2011) for synthesis.

    Parameters
    ----------
    n_trees : int
        Number of trees, >= 1 (synthpop: ``ntree``).
    min_leaf, max_depth, complexity, penalty, shrinkage, prior : int or float
        As in the model ``cart``.
    even, smoothing, proper, max_fit_rows : bool, str or int
        As in the model ``cart``.

    Examples
    --------
    >>> from synthesizer.data.schema import Kind, Variable
    >>> age = Column(Variable(name="age", kind=Kind.NUMERIC), np.arange(40.0))
    >>> wage = Column(Variable(name="wage", kind=Kind.NUMERIC), np.arange(40.0) * 100)
    >>> fitted = Bagging(n_trees=3).fit(Table([age]), wage, rng=np.random.default_rng(1))
    >>> len(fitted.sample(Table([age]), rng=np.random.default_rng(2)))
    40
    """

    abilities: ClassVar[Abilities] = Abilities()
    fitted_type: ClassVar[type[FittedModel]] = FittedEnsemble

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedEnsemble:
        """Grow the trees; see `ConditionalModel.fit`."""
        return FittedEnsemble.grow(
            predictors,
            target,
            self.growth(),
            self.drawing,
            n_trees=self.n_trees,
            prior=self.prior,
            proper=self.proper,
            max_fit_rows=self.max_fit_rows,
            rng=rng,
        )
