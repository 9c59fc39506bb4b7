"""Logistic regression for variables with two levels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from synthesizer.data.errors import ModelError
from synthesizer.data.options import options
from synthesizer.data.table import Column, FloatArray, IntArray, Table, Variable
from synthesizer.models.base import Abilities, FittedModel
from synthesizer.models.kit.numerics import check_codes, check_floats, newton
from synthesizer.models.kit.predictors import BLOCK_ROWS, Design
from synthesizer.models.kit.regression import CODED_KINDS, IterativeModel


@dataclass(frozen=True, eq=False)
class FittedLogistic(FittedModel):
    """Coefficients of the log-odds of the second level seen in the fit; no rows."""

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
    and a missing code needs `Multinomial`.
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

    Returns coefficients of shape (p,). A sample of a very rare level may lack it: half a row is
    added to either side of the intercept then.
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
