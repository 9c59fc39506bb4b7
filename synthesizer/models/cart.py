"""Classification and regression trees, the default model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from synthesizer.data.options import Count, NotNegative, Strings, options
from synthesizer.data.table import Column, FloatArray, IntArray, Table, Variable
from synthesizer.models.base import FittedNeighbourhoods, OtherOptions
from synthesizer.models.domains import Chances
from synthesizer.models.kit import trees
from synthesizer.models.kit.leaf_regression import LINEAR_RIDGE, ridge_of_persons
from synthesizer.models.kit.line import LinearRelation
from synthesizer.models.kit.numbers import SafeNumbers, made_safe
from synthesizer.models.kit.numerics import rows_by_group
from synthesizer.models.kit.predictors import Encoding, Response
from synthesizer.models.kit.regression import observed_column
from synthesizer.models.kit.regression_leaves import RegressionLeaves

SAFER_EFFECTIVE_ROWS, TRUER_EFFECTIVE_ROWS = 100, 15
"""Values of min_effective_rows that are proposed for lower risk and for higher utility."""
MAX_RESIDUAL_DRAWS = 4
"""Draws of a residual before a rare number is replaced."""


@dataclass(frozen=True, eq=False)
class FittedCart(FittedNeighbourhoods):
    """A tree with donors in its leaves, or with a leaf regression."""

    variable: Variable
    encoding: Encoding
    leaves: trees.Leaves | RegressionLeaves
    drawing: trees.Drawing
    numbers: SafeNumbers | None = None
    """Replaces rare numbers."""
    line: LinearRelation | None = None
    """Linear relation whose residuals the leaves contain; None: the numbers."""
    lacking: FittedCart | None = None
    """Draws rows with a missing predictor of the line."""

    def __post_init__(self) -> None:
        trees.check_features(self.encoding, self.leaves.tree)
        known = set(self.encoding.names)
        if isinstance(self.leaves, RegressionLeaves) and self.leaves.names - known:
            raise ValueError("a leaf regression has an unknown predictor")
        if self.line is not None and not known >= set(self.line.names):
            raise ValueError("a line has an unknown predictor")

    @property
    def donors(self) -> Column:
        """The confidential values of a tree without a leaf regression."""
        if isinstance(self.leaves, RegressionLeaves):
            raise ValueError("a tree must have no leaf regression")
        return self.leaves.donors

    def sample_wider(self, predictors: Table, *, steps: int, rng: np.random.Generator) -> Column:
        """Draw a value from the node ``steps`` above the leaf of each row."""
        if self.line is not None and self.lacking is not None:
            whole = self.line.is_in(predictors)
            drawn = np.empty(len(whole))
            for model, part in ((replace(self, lacking=None), whole), (self.lacking, ~whole)):
                made = model.sample_wider(predictors.take(part), steps=steps, rng=rng)
                drawn[part] = made.data
            return observed_column(self.variable, drawn)
        matrix = self.encoding.some(predictors, self.leaves.tree.columns)
        if isinstance(self.leaves, trees.Leaves):
            copied = self.leaves.draw(matrix, self.drawing, rng=rng, steps=steps)
            return made_safe(copied, self.numbers, rng)
        line, drawing = self.line, self.drawing
        if line is None:
            values = self.leaves.draw(
                matrix, predictors, drawing=drawing, numbers=self.numbers, rng=rng, steps=steps
            )
            return observed_column(self.variable, values)
        values = np.empty(len(matrix))
        rows: IntArray = np.arange(len(matrix))
        for _ in range(MAX_RESIDUAL_DRAWS):
            table = predictors.take(rows)
            rest = self.leaves.draw(
                matrix[rows], table, drawing=drawing, numbers=line.residuals, rng=rng, steps=steps
            )
            drawn = line.numbers(table, rest)
            if self.variable.decimals is not None:
                drawn = np.round(drawn, self.variable.decimals)
            values[rows] = drawn
            if self.numbers is None or not len(rows := rows[self.numbers.is_rare(drawn)]):
                break
        return made_safe(observed_column(self.variable, values), self.numbers, rng)

    def chances(self, predictors: Table, *, steps: int) -> Chances | None:
        """Return the probabilities of codes with a leaf regression; see `FittedModel`."""
        if isinstance(self.leaves, trees.Leaves) or not self.variable.is_coded:
            return None
        matrix = self.encoding.some(predictors, self.leaves.tree.columns)
        chances = self.leaves.chances(matrix, predictors, self.variable.n_codes, steps=steps)
        return chances if self.drawing.even else replace(chances, groups=None)

    def log_likelihood(self, predictors: Table, target: Column) -> FloatArray | None:
        """Return that of each row's class with a leaf regression; see `FittedModel`."""
        if isinstance(self.leaves, trees.Leaves):
            return None
        matrix = self.encoding.some(predictors, self.leaves.tree.columns)
        target = target if self.line is None else self.line.rest(predictors, target)
        return self.leaves.log_likelihood(matrix, predictors, target)

    def log_density(self, predictors: Table, target: Column) -> FloatArray | None:
        """Return that of the class per unit of a line's residuals; see `FittedModel`."""
        out = self.log_likelihood(predictors, target)
        if out is None or self.line is None or isinstance(self.leaves, trees.Leaves):
            return out
        if self.lacking is not None and not self.line.is_in(predictors).all():
            return None
        return out - self.leaves.log_widths(self.line.rest(predictors, target))


@options
class Cart(trees.TreeOptions):
    """Draw from the leaf of a classification or regression tree, adjusted by a leaf regression.

    A split reduces the Gini index of a coded target (of a random projection from 40 levels on) or
    the variance of the ranks of a number, so that a few very large numbers do not take all splits.
    The distribution of a leaf is shrunk towards the nodes above it and adjusted by a multinomial
    regression on all rows. The regression keeps relations that are too weak for a split, and leaves
    can be so large that they do not reveal single persons. Sources: Breiman et al. (1984); Reiter
    (2005), CART synthesis; Agarwal et al. (2022), hierarchical shrinkage; Landwehr, Hall and Frank
    (2005), logistic model trees.

    Parameters
    ----------
    leaf_regression : bool
        Whether a multinomial regression on all rows adjusts the distributions of the leaves, which
        keeps weak relations. Without it a draw copies the value of a random row of the leaf; this
        is three to four times faster.
    min_effective_rows : int
        Lower bound on the effective number of rows behind the distribution of a leaf, >= 1. One row
        contributes at most ``1 / min_effective_rows`` to it. Smaller leaves borrow rows from the
        nodes above them. If ``min_leaf`` is None, a leaf has a twentieth of the rows, but at least
        2/3 and at most 5/3 of this number. No effect without ``leaf_regression``.
    event : str or None
        If the target is the time to an event: the predictor that records how the time ended (by
        the event, a competing event, or the end of observation). Draws then keep the relations of
        Cox models. No effect without ``leaf_regression``.
    moderators : tuple of str
        Predictors, such as sex, that may change the relations of the other predictors to the
        target. The leaf regression then includes the products of their columns. Names that are not
        among the predictors are ignored. No effect without ``leaf_regression``.
    balanced : bool
        Balance the draws, so that the two-way tables of a variable with its predictors have nearly
        the counts that the model expects. The datasets are then nearer to the population, and
        reveal nothing more than the model. Drawing takes three times as long. No effect without
        ``leaf_regression`` and ``even``, and for fewer than 100 rows.
    ridge : float or None
        Largest ridge of the linear terms of the leaf regression, >= 0. A larger ridge weakens the
        relations and reveals less about single records. None takes 1, and more in panels of fewer
        than 20,000 persons. No effect without ``leaf_regression``.

    Examples
    --------
    >>> from synthesizer.data.table import Kind
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> name = Variable(name="name", kind=Kind.CATEGORICAL, levels=("Ann", "Bob"))
    >>> codes = np.repeat(np.array([0, 1], dtype=np.int32), 50)
    >>> table = Table([Column(sex, codes)])
    >>> fitted = Cart().fit(table, Column(name, codes), rng=np.random.default_rng(1))
    >>> drawn = fitted.sample(table, rng=np.random.default_rng(2))
    >>> bool((drawn.data == codes).mean() > 0.95)
    True
    """

    fitted_type = FittedCart
    in_words = "a {tree} tree"
    public_options = (
        *trees.TreeOptions.public_options,
        "leaf_regression",
        "min_effective_rows",
        "event",
        "moderators",
        "balanced",
        "ridge",
    )
    predictor_option = "event"

    leaf_regression: bool = True
    min_effective_rows: Count = 30
    event: str | None = None
    moderators: Strings = ()
    balanced: bool = True
    ridge: NotNegative | None = None

    @property
    def mentions(self) -> tuple[str, ...]:
        """See `ConditionalModel.mentions`."""
        return self.moderators

    def safer(self) -> Sequence[OtherOptions]:
        """See `ConditionalModel.safer`."""
        min_leaf = None if self.leaf_regression else self.large_leaf
        return self._others(
            max(SAFER_EFFECTIVE_ROWS, 2 * self.min_effective_rows), min_leaf, "more"
        )

    def truer(self) -> Sequence[OtherOptions]:
        """See `ConditionalModel.truer`."""
        return self._others(
            min(TRUER_EFFECTIVE_ROWS, (self.min_effective_rows + 1) // 2), self.small_leaf, "fewer"
        )

    def _others(
        self, min_effective_rows: int, min_leaf: int | None, rows: str
    ) -> Sequence[OtherOptions]:
        defaults = {"leaf_regression": True, "min_leaf": None}
        return (
            OtherOptions(defaults, "the default leaves"),
            OtherOptions(
                defaults | {"min_effective_rows": min_effective_rows},
                f"{rows} rows behind each distribution",
            ),
            OtherOptions(
                {"leaf_regression": False, "min_leaf": min_leaf}, "no regression in the leaves"
            ),
        )

    def tree_draws(self, *, has_predictors: bool) -> tuple[bool, bool]:  # noqa: ARG002
        """See `ConditionalModel.tree_draws`."""
        return self.even, self.leaf_regression

    def moderated(self, names: Iterable[str]) -> Self:
        """Return the model with more moderators."""
        return replace(self, moderators=tuple(dict.fromkeys((*self.moderators, *names))))

    def of_persons(self, persons: int) -> Self:
        """Return the model with the ridge of a panel; see `ConditionalModel.of_persons`."""
        return self if self.ridge is not None else replace(self, ridge=ridge_of_persons(persons))

    @property
    def leaf_bounds(self) -> tuple[int, int]:
        """See `TreeOptions.leaf_bounds`."""
        return (
            (max(1, 2 * self.min_effective_rows // 3), 5 * self.min_effective_rows // 3)
            if self.leaf_regression
            else trees.AUTO_LEAF
        )

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedCart:
        """Grow the tree and learn the distributions of its leaves; see `ConditionalModel.fit`."""
        self.require(predictors)
        numbers = self.safe_numbers(predictors, target)
        has_line = self.leaf_regression and self.event is None
        line = LinearRelation.of(predictors, target, numbers) if has_line else None
        if line is None or (whole := line.is_in(predictors)).all():
            return self._grown(predictors, target, numbers, line, rng)
        parts = ((whole, line), (~whole, None))
        fits = [
            self._grown(predictors.take(rows), target.take(rows), numbers, one, rng)
            for rows, one in parts
        ]
        return replace(fits[0], lacking=fits[1])

    def _grown(
        self,
        predictors: Table,
        target: Column,
        numbers: SafeNumbers | None,
        line: LinearRelation | None,
        rng: np.random.Generator,
    ) -> FittedCart:
        """Grow the tree of the target, or of the residuals of a line."""
        variable = target.variable
        if line is not None:
            target = line.rest(predictors, target)
            residuals = self.safe_numbers(predictors, target)
            line = replace(line, residuals=residuals and residuals.without_far_tails())
        response = Response.of(target, rng)
        encoding, matrix, bins = Encoding.fit(predictors, response, prior=self.prior, rng=rng)
        rows = self.structure_rows(len(target), rng)
        tree, of_rows = trees.grow(matrix, bins, response, self, rows=rows, rng=rng)
        weights = rng.standard_exponential(len(target)) if self.proper else None
        if not self.leaf_regression:
            donors = target.take(rows_by_group(of_rows, target.data))
            leaves = trees.Leaves(tree, donors, weights)
            return FittedCart(target.variable, encoding, leaves, trees.Drawing.of(self), numbers)
        adjusted = RegressionLeaves.fit(
            tree,
            of_rows,
            predictors,
            target,
            min_effective_rows=self.min_effective_rows,
            borrowed=self.shrinkage,
            max_rows=self.max_fit_rows,
            weights=weights,
            event=self.event,
            moderators=self.moderators,
            ridge=LINEAR_RIDGE if self.ridge is None else self.ridge,
            rng=rng,
        )
        drawing = replace(trees.Drawing.of(self), balanced=self.balanced and self.even)
        return FittedCart(variable, encoding, adjusted, drawing, numbers, line)
