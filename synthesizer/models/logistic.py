"""Logistic, multinomial and proportional odds regression of levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from synthesizer.data.errors import ModelError
from synthesizer.data.options import Positive, options
from synthesizer.data.table import Column, FloatArray, IntArray, Table, Variable
from synthesizer.models.base import Abilities, FittedModel
from synthesizer.models.kit.numerics import check_codes, check_floats, newton
from synthesizer.models.kit.predictors import BLOCK_ROWS, Design
from synthesizer.models.kit.regression import (
    CODED_KINDS,
    IterativeModel,
    Softmax,
    fit_cumulative,
    fit_softmax,
)


@dataclass(frozen=True, eq=False)
class FittedLogistic(FittedModel):
    """Coefficients of the log-odds of the second level; no rows."""

    variable: Variable
    codes: IntArray
    design: Design
    coefficients: FloatArray

    def __post_init__(self) -> None:
        check_codes("codes", self.codes, self.variable.n_codes)
        if len(self.codes) not in (1, 2):
            raise ValueError("codes must name one level or two")
        check_floats("coefficients", self.coefficients, (self.design.n_columns,))

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:
        """Draw a level for each row from its predicted probability."""
        uniforms = rng.random(predictors.n_rows)
        is_second = uniforms < expit(self.design.predict(predictors, self.coefficients))
        codes = np.where(is_second, self.codes[-1], self.codes[0])
        return Column(self.variable, codes.astype(np.int32))


@options
class Logistic(IterativeModel):
    """Draw one of two levels from a logistic regression with a ridge.

    The ridge keeps the coefficients finite when predictors separate the levels, as Firth's
    penalty does, at no cost in time. Missing codes count as levels: a variable with two levels
    and a missing code needs `multinomial`.
    Sources: Heinze and Schemper (2002), A solution to the problem of separation in logistic
    regression, Statistics in Medicine 21; le Cessie and van Houwelingen (1992), Ridge estimators
    in logistic regression, Applied Statistics 41.

    Examples
    --------
    >>> from synthesizer.data.table import Kind
    >>> smoker = Variable(name="smoker", kind=Kind.BOOLEAN, levels=("no", "yes"))
    >>> target = Column(smoker, np.array([0, 0, 0, 1], dtype=np.int32))
    >>> fitted = Logistic().fit(Table([], n_rows=4), target, rng=np.random.default_rng(1))
    >>> fitted.coefficients.round(3)  # the log of the odds 1 : 3
    array([-1.099])
    """

    abilities = Abilities(kinds=CODED_KINDS, max_levels=2, stores_values=False)
    fitted_type = FittedLogistic
    in_words = "a logistic regression"

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedLogistic:
        """Learn the coefficients; raises ModelError if the target has more than two levels."""
        codes = np.flatnonzero(np.bincount(target.data)).astype(np.int32)
        if len(codes) > 2:
            raise ModelError(
                f"variable {target.name!r} has {len(codes)} levels and missing codes, but model "
                "'logistic' draws two: choose 'multinomial' or 'ordinal'"
            )
        design = self.design(predictors)
        coefficients = np.zeros(design.n_columns)
        if len(codes) == 2:
            rows = self.fit_rows(len(target), design.n_columns, rng=rng)
            second = (target.data[rows] == codes[1]).astype(np.float64)
            penalty = design.penalty(self.ridge, len(second))
            coefficients = fit_logistic(design.matrix(predictors.take(rows)), second, penalty)
        return FittedLogistic(target.variable, codes, design, coefficients)


def fit_logistic(matrix: FloatArray, y: FloatArray, penalty: FloatArray) -> FloatArray:
    """Maximise the penalised log-likelihood of ``y`` (zeros and ones, shape (n,)).

    Returns coefficients of shape (p,). If a sample lacks a very rare level, half a row of each
    level is added for the intercept.
    """
    share = (y.sum() + 0.5) / (len(y) + 1.0)
    start = np.zeros(matrix.shape[1])
    start[0] = np.log(share / (1 - share))
    if not 0 < y.sum() < len(y):
        return start
    return newton(lambda point: _objective(matrix, y, penalty, point), start)


def _objective(
    matrix: FloatArray, y: FloatArray, penalty: FloatArray, point: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Return the penalised negative log-likelihood, its gradient and its Hessian."""
    value = 0.5 * float(penalty @ point**2)
    gradient = penalty * point
    hessian = np.diag(penalty)
    for first in range(0, len(y), BLOCK_ROWS):
        chunk, observed = matrix[first : first + BLOCK_ROWS], y[first : first + BLOCK_ROWS]
        score = chunk @ point
        probability = expit(score)
        value += float((np.logaddexp(0.0, score) - observed * score).sum())
        gradient = gradient + chunk.T @ (probability - observed)
        weighted = chunk * np.sqrt(probability * (1 - probability))[:, None]
        hessian += weighted.T @ weighted
    return value, gradient, hessian


# Multinomial logistic regression for variables with any number of levels.


@dataclass(frozen=True, eq=False)
class FittedMultinomial(FittedModel):
    """Coefficients of each level of the fit; no rows."""

    variable: Variable
    codes: IntArray
    softmax: Softmax

    def __post_init__(self) -> None:
        check_codes("codes", self.codes, self.variable.n_codes)
        if not 0 < len(self.codes) == self.softmax.n_classes:
            raise ValueError("codes must name at least one level, each with coefficients")

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:
        """Draw a level for each row from its predicted probabilities."""
        codes = self.codes[self.softmax.draw(predictors, rng=rng)]
        return Column(self.variable, codes.astype(np.int32))


@options
class Multinomial(IterativeModel):
    """Draw a level from a multinomial logistic regression with a ridge.

    Missing codes count as levels. A level that does not occur in the fit is never drawn. With more
    than ``max_fit_rows`` rows a very rare level may be absent from the sample.
    Sources: McFadden (1974), conditional logit analysis; le Cessie and van Houwelingen (1992),
    Ridge estimators in logistic regression, Applied Statistics 41.

    Parameters
    ----------
    tolerance : float
        Stop when every coefficient is about this number of standard errors (of a fit to at most
        10,000 rows) from its optimum, > 0. A tenth of the default triples the time and changes
        probabilities by about 0.0003 on average.

    Examples
    --------
    >>> from synthesizer.data.table import Kind
    >>> region = Variable(name="region", kind=Kind.CATEGORICAL, levels=("n", "s", "w"))
    >>> target = Column(region, np.array([0, 2, 2, 0], dtype=np.int32))
    >>> rng = np.random.default_rng(1)
    >>> fitted = Multinomial().fit(Table([], n_rows=4), target, rng=rng)
    >>> sorted(set(fitted.sample(Table([], n_rows=50), rng=rng).data.tolist()))
    [0, 2]
    """

    tolerance: Positive = 0.03

    abilities = Abilities(kinds=CODED_KINDS, stores_values=False)
    fitted_type = FittedMultinomial
    in_words = "a multinomial logistic regression"
    public_options = (*IterativeModel.public_options, "tolerance")

    def fit(
        self, predictors: Table, target: Column, *, rng: np.random.Generator
    ) -> FittedMultinomial:
        """Learn the coefficients; see `ConditionalModel.fit`."""
        design = self.design(predictors)
        rows = self.fit_rows(len(target), design.n_columns, rng=rng)
        codes, classes = np.unique(target.data[rows], return_inverse=True)
        coefficients = np.zeros((design.n_columns, len(codes)))
        if len(codes) > 1:
            penalty = design.penalty(self.ridge, len(classes))
            matrix = design.matrix(predictors.take(rows))
            coefficients = fit_softmax(matrix, classes, penalty, tolerance=self.tolerance)
        return FittedMultinomial(
            target.variable, codes.astype(np.int32), Softmax(design, coefficients)
        )


# Proportional odds regression for ordered variables.


@dataclass(frozen=True, eq=False)
class _Scale:
    """Proportional odds of the k levels that occur: thresholds (k - 1,), coefficients (p,)."""

    codes: IntArray
    thresholds: FloatArray
    coefficients: FloatArray

    def __post_init__(self) -> None:
        if not len(self.codes):
            raise ValueError("codes must name at least one level")
        check_floats("thresholds", self.thresholds, (len(self.codes) - 1,))
        if not (np.diff(self.thresholds) > 0).all():
            raise ValueError("thresholds must increase")

    def draw(
        self, design: Design, predictors: Table, *, rng: np.random.Generator
    ) -> npt.NDArray[np.int32]:
        """Draw a level for each row, shape (n,)."""
        uniforms = rng.random(predictors.n_rows)
        out = np.empty(predictors.n_rows, dtype=np.int32)
        for rows, matrix in design.blocks(predictors):
            below = expit(self.thresholds - (matrix @ self.coefficients)[:, None])
            out[rows] = self.codes[(uniforms[rows, None] >= below).sum(axis=1)]
        return out


@dataclass(frozen=True, eq=False)
class FittedOrdinal(FittedModel):
    """Thresholds and slopes of the levels, and a model of the missing codes; no rows."""

    variable: Variable
    states: IntArray
    """Missing states in the fit: 0 for a level, k for ``variable.missing[k - 1]``."""
    missing: Softmax
    """Probabilities of ``states``."""
    scale: _Scale | None
    """Proportional odds of levels; None if only missing codes occur."""

    def __post_init__(self) -> None:
        check_codes("states", self.states, len(self.variable.missing) + 1)
        if len(self.states) != self.missing.n_classes:
            raise ValueError("states need coefficients")
        if self.scale is None:
            if not len(self.states) or (self.states == 0).any():
                raise ValueError("states need at least one entry, and a scale where one is 0")
            return
        check_codes("codes", self.scale.codes, len(self.variable.levels))
        check_floats("coefficients", self.scale.coefficients, (self.missing.design.n_columns,))

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:
        """Draw whether a value is missing and its code, then a level for the others."""
        states = self.states[self.missing.draw(predictors, rng=rng)]
        codes = len(self.variable.levels) - 1 + states
        if self.scale is not None:
            levels = self.scale.draw(self.missing.design, predictors, rng=rng)
            codes = np.where(states == 0, levels, codes)
        return Column(self.variable, codes.astype(np.int32))


@options
class Ordinal(IterativeModel):
    """Draw a level from a proportional odds regression with a ridge.

    Levels have their order. Missing codes are not part of the order: a multinomial regression draws
    first whether a value is missing and its code.
    Source: McCullagh (1980), Regression models for ordinal data, JRSS B 42.

    Examples
    --------
    >>> from synthesizer.data.table import Kind
    >>> grade = Variable(name="grade", kind=Kind.ORDERED, levels=("low", "mid", "high"))
    >>> target = Column(grade, np.array([0, 1, 1, 2], dtype=np.int32))
    >>> fitted = Ordinal().fit(Table([], n_rows=4), target, rng=np.random.default_rng(1))
    >>> fitted.scale.thresholds.round(3)  # the log of the odds 1 : 3 and 3 : 1
    array([-1.099,  1.099])
    """

    abilities = Abilities(kinds=CODED_KINDS, stores_values=False)
    fitted_type = FittedOrdinal
    in_words = "a proportional odds regression"

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedOrdinal:
        """Learn both parts; see `ConditionalModel.fit`."""
        design = self.design(predictors)
        rows = self.fit_rows(len(target), design.n_columns, rng=rng)
        target = target.take(rows)
        matrix = design.matrix(predictors.take(rows))
        penalty = design.penalty(self.ridge, len(target))
        states, classes = np.unique(target.missing_state(), return_inverse=True)
        missing = np.zeros((design.n_columns, len(states)))
        if len(states) > 1:
            missing = fit_softmax(matrix, classes, penalty)
        seen = target.is_observed
        scale = _fit_scale(matrix[seen], target.data[seen], penalty) if seen.any() else None
        return FittedOrdinal(
            target.variable, states.astype(np.int32), Softmax(design, missing), scale
        )


def _fit_scale(matrix: FloatArray, codes: npt.NDArray[Any], penalty: FloatArray) -> _Scale:
    """Fit the levels that occur; thresholds replace the intercept, whose coefficient is 0."""
    seen, classes = np.unique(codes, return_inverse=True)
    coefficients = np.zeros(matrix.shape[1])
    thresholds = np.zeros(len(seen) - 1)
    if len(seen) > 1:
        thresholds, coefficients[1:] = fit_cumulative(matrix[:, 1:], classes, penalty[1:])
    return _Scale(seen.astype(np.int32), thresholds, coefficients)
