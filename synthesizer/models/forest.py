"""Random forests: bagged trees that see only some predictors at each split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from synthesizer.data.options import Count, Repeats, Share, options
from synthesizer.data.table import Column, Table
from synthesizer.models.base import FittedNeighbourhoods
from synthesizer.models.kit.numbers import SafeNumbers, made_safe
from synthesizer.models.kit.numerics import rows_by_group
from synthesizer.models.kit.predictors import Encoding, Response
from synthesizer.models.kit.trees import Drawing, Leaves, TreeOptions, check_features, grow


@dataclass(frozen=True, eq=False)
class FittedEnsemble(FittedNeighbourhoods):
    """Trees over the same encoded predictors, each with all donors in its leaves."""

    encoding: Encoding
    trees: tuple[Leaves, ...]
    drawing: Drawing
    numbers: SafeNumbers | None = None
    """Replaces rare numbers."""

    def __post_init__(self) -> None:
        if not self.trees or len({leaves.donors.variable for leaves in self.trees}) > 1:
            raise ValueError("an ensemble must have trees, all of one target")
        for leaves in self.trees:
            check_features(self.encoding, leaves.tree)

    def sample_wider(self, predictors: Table, *, steps: int, rng: np.random.Generator) -> Column:
        """Draw a tree for each row, then a donor of the node ``steps`` above the leaf."""
        matrix = self.encoding.matrix(predictors)
        donors = self.trees[0].donors
        values = np.empty(len(matrix), dtype=donors.data.dtype)
        chosen = rng.integers(len(self.trees), size=len(matrix))
        for i, leaves in enumerate(self.trees):
            rows = np.flatnonzero(chosen == i)
            values[rows] = leaves.draw(matrix[rows], self.drawing, rng=rng, steps=steps).data
        return made_safe(Column(donors.variable, values), self.numbers, rng)


@options
class Ensemble(TreeOptions):
    """A model of several trees, whose splits are learnt from bootstrap samples of the rows.

    Parameters
    ----------
    n_trees : int
        Number of trees, from 1 to 10,000 (synthpop: ``ntree``).
    """

    fitted_type = FittedEnsemble
    option_aliases: ClassVar[Mapping[str, str]] = {**TreeOptions.option_aliases, "ntree": "n_trees"}
    public_options: ClassVar[tuple[str, ...]] = (*TreeOptions.public_options, "n_trees")

    min_leaf: Count = 20
    n_trees: Repeats = 10

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedEnsemble:
        """Grow the trees; all leaves contain all donors; see `ConditionalModel.fit`."""
        response = Response.of(target, rng)
        encoding, matrix, bins = Encoding.fit(predictors, response, prior=self.prior, rng=rng)
        n = len(target)
        weights = rng.standard_exponential(n) if self.proper else None
        trees = []
        for _ in range(self.n_trees):
            sample = self.structure_rows(n, rng)
            pool = np.arange(n) if sample is None else sample
            rows = pool[rng.integers(len(pool), size=len(pool))]
            tree, leaves = grow(matrix, bins, response, self, rows=rows, rng=rng)
            order = rows_by_group(leaves, target.data)
            donor_weights = None if weights is None else weights[order]
            trees.append(Leaves(tree, target.take(order), donor_weights))
        numbers = self.safe_numbers(predictors, target)
        return FittedEnsemble(encoding, tuple(trees), Drawing.of(self), numbers)


@options
class Forest(Ensemble):
    """Copy a donor from the leaf of a random tree of a random forest.

    Every tree is grown on a bootstrap sample, and each split is the best of a random subset of the
    predictors. The leaves contain all donors, so a fitted model is ``n_trees`` times as large as
    one tree. Sources: Breiman (2001); Caiola and Reiter (2010) for synthesis.

    Parameters
    ----------
    max_features : float
        Share of the predictors that are candidates for a split, > 0 and <= 1.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> age = Column(Variable(name="age", kind=Kind.NUMERIC), np.arange(40.0))
    >>> wage = Column(Variable(name="wage", kind=Kind.NUMERIC), np.arange(40.0) * 100)
    >>> fitted = Forest(n_trees=3).fit(Table([age]), wage, rng=np.random.default_rng(1))
    >>> len(fitted.sample(Table([age]), rng=np.random.default_rng(2)))
    40
    """

    in_words = "a random forest of {tree} trees"
    public_options = (*Ensemble.public_options, "max_features")

    max_features: Annotated[Share, Field(gt=0)] = 1 / 3

    @property
    def max_features_of_split(self) -> float:
        """See `TreeOptions.max_features_of_split`."""
        return self.max_features


@options
class Bagging(Ensemble):
    """Copy a donor from the leaf of a random tree; trees are grown on bootstrap samples.

    The leaves contain all donors, so a fitted model is ``n_trees`` times as large as one tree.
    Sources: Breiman (1996); Drechsler and Reiter (2011) for synthesis.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> age = Column(Variable(name="age", kind=Kind.NUMERIC), np.arange(40.0))
    >>> wage = Column(Variable(name="wage", kind=Kind.NUMERIC), np.arange(40.0) * 100)
    >>> fitted = Bagging(n_trees=3).fit(Table([age]), wage, rng=np.random.default_rng(1))
    >>> len(fitted.sample(Table([age]), rng=np.random.default_rng(2)))
    40
    """

    in_words = "a set of {tree} trees grown on bootstrap samples"
