"""Linear regression with normal residuals, of a number, its logarithm or its normal scores."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from synthesizer.data.encoding import RARE
from synthesizer.data.errors import ModelError
from synthesizer.data.options import Finite, options
from synthesizer.data.table import Column, FloatArray, IntArray, Table, Variable
from synthesizer.models.base import Abilities, FittedModel
from synthesizer.models.kit.numbers import DonorModel, SafeNumbers, made_safe
from synthesizer.models.kit.numerics import check_floats, check_rising
from synthesizer.models.kit.regression import (
    NUMERIC_KINDS,
    LinearRegression,
    NumberForm,
    ParametricModel,
    numeric_column,
)

LARGEST_LOG = 700.0  # exp of more is not finite


@dataclass(frozen=True, eq=False)
class FittedNormal(FittedModel):
    """A regression, of a number or of its logarithm, and the form of values; no rows."""

    variable: Variable
    regression: LinearRegression
    form: NumberForm
    log_shift: float | None
    """Added to values before taking logarithms; None without logarithms."""

    def __post_init__(self) -> None:
        if self.log_shift is not None and not math.isfinite(self.log_shift):
            raise ValueError("log_shift must be a finite number")

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:
        """Draw the predicted mean plus a normal residual for each row."""
        values = self.regression.draw(predictors, rng=rng)
        if self.log_shift is not None:
            values = np.exp(np.minimum(values, LARGEST_LOG)) - self.log_shift
        return numeric_column(self.variable, self.form.apply(values))


@options
class Normal(ParametricModel):
    """Draw from a linear regression with normal residuals of equal variance.

    Draws are rounded to the decimals of the variable. All rows enter the fit. Proper synthesis
    fits the model to a bootstrap sample.
    Source: Little and Rubin (2002), Statistical Analysis with Missing Data, section 4.3.

    Parameters
    ----------
    clip : bool
        Move draws outside the observed range to its ends, so that no age is negative. The ends are
        numbers of at least five persons, or replaced by similar ones. With fewer than ten persons
        there is no range.

    Examples
    --------
    >>> from synthesizer.data.table import Kind
    >>> age = Variable(name="age", kind=Kind.NUMERIC, decimals=0)
    >>> target = Column(age, np.repeat([20.0, 30.0, 60.0], 5))
    >>> rng = np.random.default_rng(1)
    >>> fitted = Normal().fit(Table([], n_rows=15), target, rng=rng)
    >>> fitted.sample(Table([], n_rows=4), rng=rng).data.tolist()
    [43.0, 51.0, 42.0, 20.0]
    """

    clip: bool = True

    abilities = Abilities(kinds=NUMERIC_KINDS, stores_values=False, new_values=True)
    fitted_type = FittedNormal
    in_words = "a linear regression with normal residuals"
    public_options = (*ParametricModel.public_options, "clip")

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedNormal:
        """Learn the regression; see `ConditionalModel.fit`."""
        design = self.design(predictors)
        values = np.asarray(target.data, dtype=np.float64)
        regression = LinearRegression.fit(design, predictors, values, ridge=self.ridge)
        form = _form(predictors, target, rng) if self.clip else NumberForm.fit(target)
        return FittedNormal(target.variable, regression, form, log_shift=None)


@options
class Lognormal(ParametricModel):
    """Draw from a linear regression of ``log(value + shift)`` with normal residuals.

    For positive, skewed variables. Draws are rounded to the decimals of the variable. All rows
    enter the fit.
    Source: Aitchison and Brown (1957), The Lognormal Distribution.

    Parameters
    ----------
    shift : float
        Added to every value before the logarithm and subtracted from draws. Every value must exceed
        ``-shift``; write 1 for amounts that may be 0. Codebooks contain it, so choose it without
        looking at the data.
    clip : bool
        Move draws outside the observed range to its ends; see `normal`.

    Examples
    --------
    >>> from synthesizer.data.table import Kind
    >>> income = Variable(name="income", kind=Kind.NUMERIC, decimals=0)
    >>> target = Column(income, np.repeat([900.0, 1500.0, 9000.0], 5))
    >>> rng = np.random.default_rng(1)
    >>> fitted = Lognormal().fit(Table([], n_rows=15), target, rng=rng)
    >>> bool((fitted.sample(Table([], n_rows=9), rng=rng).data >= 900).all())
    True
    """

    shift: Finite = 0.0
    clip: bool = True

    abilities = Abilities(kinds=NUMERIC_KINDS, stores_values=False, new_values=True)
    fitted_type = FittedNormal
    in_words = "a linear regression of its logarithm"
    public_options = (*ParametricModel.public_options, "clip", "shift")

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedNormal:
        """Learn the regression; raises ModelError where ``value + shift`` is not positive."""
        shifted = target.data + self.shift
        n_bad = int(np.count_nonzero(shifted <= 0))
        if n_bad:
            raise ModelError(
                f"variable {target.name!r} has {n_bad} values whose sum with shift ({self.shift}) "
                "is not positive, and model 'lognormal' needs their logarithm: set a larger "
                "shift, or choose 'normrank' or 'pmm'"
            )
        design = self.design(predictors)
        regression = LinearRegression.fit(design, predictors, np.log(shifted), ridge=self.ridge)
        form = _form(predictors, target, rng) if self.clip else NumberForm.fit(target)
        return FittedNormal(target.variable, regression, form, log_shift=self.shift)


def _form(predictors: Table, target: Column, rng: np.random.Generator) -> NumberForm:
    """Return the form of draws with a range whose ends are not numbers of few persons."""
    numbers = SafeNumbers.of(target, RARE, predictors.owners)
    if numbers is None or numbers.n_units < 2 * RARE:
        return NumberForm.fit(target)
    low, high = np.sort(numbers.replace(np.array(numbers.reach), rng)).tolist()
    return NumberForm.fit(target, (low, high))


# Linear regression of normal scores, mapped back to the observed values.

N_MEANS = 512  # quantiles of the predicted means of all rows
GRID = np.linspace(-6.0, 6.0, 1025)  # scores of the distribution function of draws


@dataclass(frozen=True, eq=False)
class FittedNormrank(FittedModel):
    """A regression of scores, the distribution of its draws, and the observed values."""

    variable: Variable
    regression: LinearRegression
    """Regression of the normal scores."""
    spread: FloatArray
    """Distribution function, on a grid from -6 to 6, of the scores drawn for the confidential
    predictors; shape (1025,)."""
    values: FloatArray
    """Distinct confidential values, increasing; shape (v,)."""
    counts: IntArray
    """Frequency of each value; shape (v,)."""
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
        indices = np.searchsorted(ends, ranks, side="right")
        donors = self.values[np.minimum(indices, len(self.values) - 1)]
        return made_safe(numeric_column(self.variable, donors), self.numbers, rng)


@options
class Normrank(ParametricModel, DonorModel):
    """Draw from a linear regression of normal scores and copy the observed value of that rank.

    The marginal distribution is that of the confidential values if the predictors are distributed
    as in the fit. Draws are observed values; a number of fewer than ``min_holders`` records is
    replaced by a similar one. The fitted model contains the observed values. Tied values have
    scores in random order. All rows enter the fit.
    Source: van der Waerden (1952), normal scores; Conover (1999), Practical Nonparametric
    Statistics.

    Examples
    --------
    >>> from synthesizer.data.table import Kind
    >>> income = Variable(name="income", kind=Kind.NUMERIC, decimals=0)
    >>> target = Column(income, np.array([0.0, 0.0, 900.0, 70000.0]))
    >>> rng = np.random.default_rng(1)
    >>> fitted = Normrank(min_holders=0).fit(Table([], n_rows=4), target, rng=rng)
    >>> np.unique(fitted.sample(Table([], n_rows=50), rng=rng).data).tolist()
    [0.0, 900.0, 70000.0]
    """

    abilities = Abilities(kinds=NUMERIC_KINDS)
    fitted_type = FittedNormrank
    in_words = "a linear regression of its ranks (normal scores)"
    public_options = (*ParametricModel.public_options, *DonorModel.public_options)

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedNormrank:
        """Learn scores and donors; see `ConditionalModel.fit`."""
        design = self.design(predictors)
        data = np.asarray(target.data, dtype=np.float64)
        scores = _normal_scores(data, rng=rng)
        regression = LinearRegression.fit(design, predictors, scores, ridge=self.ridge)
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

    Draws are normal only if the means are. Ranks of this mixture, not of the standard normal
    distribution, keep the marginal distribution for any predictors.
    """
    points = np.quantile(means, (np.arange(N_MEANS) + 0.5) / N_MEANS)
    width = max(sigma, 1e-6)  # a step, for a perfect fit
    return np.asarray(ndtr((GRID[:, None] - points) / width).mean(axis=1))
