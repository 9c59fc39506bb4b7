"""Linear regression of normal scores, mapped back to the observed values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from synthesizer.data.options import options
from synthesizer.data.table import Column, FloatArray, IntArray, Table, Variable
from synthesizer.models.base import Abilities, FittedModel
from synthesizer.models.kit.numbers import DonorModel, SafeNumbers, made_safe
from synthesizer.models.kit.numerics import check_floats, check_rising
from synthesizer.models.kit.regression import (
    NUMERIC_KINDS,
    ParametricModel,
    Regression,
    numeric_column,
)

MEANS = 512  # quantiles that stand for the predicted means of all rows
GRID = np.linspace(-6.0, 6.0, 1025)  # scores at which the distribution of draws is known


@dataclass(frozen=True, eq=False)
class FittedNormrank(FittedModel):
    """A regression of scores, the distribution of its draws, and the observed values."""

    variable: Variable
    regression: Regression
    """Of the normal scores."""
    spread: FloatArray
    """Distribution function, on a grid from -6 to 6, of the scores drawn for the confidential
    predictors; shape (1025,)."""
    values: FloatArray
    """Distinct confidential values, increasing; shape (v,)."""
    counts: IntArray
    """How often each occurs; shape (v,)."""
    numbers: SafeNumbers | None = None
    """Replaces rare numbers."""

    def __post_init__(self) -> None:
        check_floats("values", self.values, (-1,))
        check_rising("values", self.values)
        check_floats("counts", self.counts, self.values.shape)
        check_floats("spread", self.spread, GRID.shape)
        if (self.counts < 1).any():
            raise ValueError("values must each be counted at least once")
        if (np.diff(self.spread) < 0).any() or self.spread[0] < 0 or self.spread[-1] > 1:
            raise ValueError("spread must increase from 0 to 1")

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:
        """Draw a score for each row and return the observed value of the same rank."""
        scores = self.regression.draw(predictors, rng=rng)
        ends = np.cumsum(self.counts)
        ranks = np.interp(scores, GRID, self.spread) * ends[-1]
        places = np.searchsorted(ends, ranks, side="right")
        donors = self.values[np.minimum(places, len(self.values) - 1)]
        return made_safe(numeric_column(self.variable, donors), self.numbers, rng)


@options
class Normrank(ParametricModel, DonorModel):
    """Draw from a linear regression of normal scores and copy the observed value of that rank.

    The marginal distribution is that of the confidential values, whatever its shape, when the
    predictors are distributed as they were in the fit. Only observed values are drawn, and numbers
    between them where few records share one (``safe``); the fitted model holds them. Tied values
    get scores in random order. All rows enter the fit.
    Source: van der Waerden (1952), normal scores; Conover (1999), Practical Nonparametric
    Statistics.

    Examples
    --------
    >>> from synthesizer.data.table import Kind
    >>> income = Variable(name="income", kind=Kind.NUMERIC, decimals=0)
    >>> target = Column(income, np.array([0.0, 0.0, 900.0, 70000.0]))
    >>> rng = np.random.default_rng(1)
    >>> fitted = Normrank(safe=0).fit(Table([], n_rows=4), target, rng=rng)
    >>> np.unique(fitted.sample(Table([], n_rows=50), rng=rng).data).tolist()
    [0.0, 900.0, 70000.0]
    """

    abilities = Abilities(kinds=NUMERIC_KINDS)
    fitted_type = FittedNormrank
    in_words = "a linear regression of its ranks (normal scores)"
    told_options = (*ParametricModel.told_options, *DonorModel.told_options)

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedNormrank:
        """Learn scores and donors; see `ConditionalModel.fit`."""
        design = self.design(predictors)
        data = np.asarray(target.data, dtype=np.float64)
        scores = _normal_scores(data, rng=rng)
        regression = Regression.fit(design, predictors, scores, ridge=self.ridge)
        spread = _spread(regression.mean(predictors), regression.sigma)
        values, counts = np.unique(data, return_counts=True)
        numbers = self.safe_numbers(predictors, target)
        return FittedNormrank(target.variable, regression, spread, values, counts, numbers)


def _normal_scores(values: FloatArray, *, rng: np.random.Generator) -> FloatArray:
    """Return the normal quantile of each value's rank, ties in random order, shape (n,)."""
    order = np.lexsort((rng.random(len(values)), values))
    scores = np.empty(len(values))
    scores[order] = ndtri((np.arange(len(values)) + 0.5) / len(values))
    return scores


def _spread(means: FloatArray, sigma: float) -> FloatArray:
    """Return the distribution function on GRID of ``mean + sigma * normal`` over all rows.

    Draws are normal only if the means are. Ranks taken from the mixture, not from the standard
    normal distribution, keep the marginal distribution whatever the predictors.
    """
    points = np.quantile(means, (np.arange(MEANS) + 0.5) / MEANS)
    width = max(sigma, 1e-6)  # a step, for a perfect fit
    return np.asarray(ndtr((GRID[:, None] - points) / width).mean(axis=1))
