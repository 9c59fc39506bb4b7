"""Classification and regression trees: the workhorse of the chain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthesizer.data.options import options
from synthesizer.data.table import Column, Table
from synthesizer.models.base import FittedModel
from synthesizer.models.kit.leaves import Drawing, Leaves, Tilt, check_features
from synthesizer.models.kit.predictors import Encoding
from synthesizer.models.kit.trees import TreeOptions, centred_response, grow


@dataclass(frozen=True, eq=False)
class FittedCart(FittedModel):
    """A tree whose leaves hold the confidential values of the target (donors)."""

    encoding: Encoding
    leaves: Leaves
    drawing: Drawing
    tilt: Tilt | None = None

    def __post_init__(self) -> None:
        check_features(self.encoding, self.leaves)

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:
        """Copy a random donor of the leaf of each row."""
        return self.sample_wider(predictors, steps=0, rng=rng)

    def sample_wider(self, predictors: Table, *, steps: int, rng: np.random.Generator) -> Column:
        """Copy a random donor of the node ``steps`` above the leaf of each row."""
        matrix = self.encoding.matrix(predictors)
        slopes = None if self.tilt is None else self.tilt.slopes(predictors)
        values = self.leaves.draw(matrix, self.drawing, rng=rng, steps=steps, slopes=slopes)
        return Column(self.leaves.donors.variable, values)


@options
class Cart(TreeOptions):
    """A tree finds groups of similar rows; a draw copies a random value of the row's group.

    Splits lower the Gini index of coded targets (of a random projection of it from 40 levels on)
    and the variance of the ranks of numbers, so that a few very large ones do not draw all splits
    to themselves. Sources: Breiman et al. (1984); Reiter (2005), CART synthesis; Agarwal et al.
    (2022), hierarchical shrinkage.

    Parameters
    ----------
    tilt : bool
        Let the draws within a leaf follow a linear regression of what the tree leaves
        unexplained, for numbers, ordered and two-level targets. Weak effects, such as a gap
        between groups given all else, are then not flattened, also with large leaves; it takes
        the time of a regression on all predictors.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> name = Variable(name="name", kind=Kind.CATEGORICAL, levels=("Ann", "Bob"))
    >>> codes = np.repeat(np.array([0, 1], dtype=np.int32), 50)
    >>> table = Table([Column(sex, codes)])
    >>> model = Cart(shrinkage=0.0)
    >>> fitted = model.fit(table, Column(name, codes), rng=np.random.default_rng(1))
    >>> drawn = fitted.sample(table, rng=np.random.default_rng(2))
    >>> bool((drawn.data == codes).all())
    True
    """

    fitted_type = FittedCart
    in_words = "a {tree} tree"
    told_options = (*TreeOptions.told_options, "tilt")

    tilt: bool = False

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedCart:
        """Grow the tree and sort the donors by leaf; see `ConditionalModel.fit`."""
        response = centred_response(target, rng)
        encoding = Encoding.learn(predictors, response, prior=self.prior)
        rows = self.structure_rows(len(target), rng)
        matrix = encoding.matrix(predictors)
        tree, order = grow(matrix, target, response, self, rows=rows, rng=rng)
        weights = rng.standard_exponential(len(target)) if self.proper else None
        leaves = Leaves(tree, target.take(order), weights)
        tilt = None
        if self.tilt:
            posterior = rng if self.proper else None
            tilt = Tilt.fit(tree, order, predictors, target, rows=rows, rng=posterior)
        return FittedCart(encoding, leaves, Drawing.of(self), tilt)
