"""Linear regression with a weak ridge, fitted block by block of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import scipy

from synthesizer.data.options import Count, NotNegative, options
from synthesizer.data.table import Column, FloatArray, Kind, Rows, Table, Variable
from synthesizer.models.base import ConditionalModel
from synthesizer.models.kit.numerics import check_floats, solve_positive
from synthesizer.models.kit.predictors import Design


@dataclass(frozen=True, eq=False)
class Regression:
    """A normal linear model: mean ``x @ coefficients``, standard deviation ``sigma``.

    Examples
    --------
    >>> nothing = Table([], n_rows=3)
    >>> model = Regression.fit(Design.fit(nothing), nothing, np.array([1.0, 2.0, 3.0]), ridge=0.1)
    >>> model.coefficients, round(model.sigma, 6)
    (array([2.]), 1.0)
    """

    design: Design
    coefficients: FloatArray
    """One for each of the p columns of the design."""
    sigma: float
    """Residual standard deviation, 0 for a perfect fit."""

    def __post_init__(self) -> None:
        check_floats("coefficients", self.coefficients, (self.design.n_columns,))
        if not 0 <= self.sigma < math.inf:
            raise ValueError("sigma must be a finite number that is not below 0")

    @classmethod
    def fit(
        cls,
        design: Design,
        predictors: Table,
        y: FloatArray,
        *,
        ridge: float,
        weights: FloatArray | None = None,
    ) -> Self:
        """Fit by penalised least squares; ``y`` is finite, shape (n,), n >= 1.

        The ridge applies to ``y`` in units of its standard deviation, so that the fit does not
        depend on the unit of measurement. ``weights`` are at least 0, one for each row.
        """
        return cls.fit_and_draw(design, predictors, y, ridge=ridge, weights=weights, rng=None)[0]

    @classmethod
    def fit_and_draw(
        cls,
        design: Design,
        predictors: Table,
        y: FloatArray,
        *,
        ridge: float,
        weights: FloatArray | None = None,
        rng: np.random.Generator | None,
    ) -> tuple[Self, Self]:
        """Return the fit, and a draw from the posterior distribution of its parameters.

        Without a generator the fit itself comes twice. Source: Rubin (1987), Multiple Imputation
        for Nonresponse in Surveys, p. 167.
        """
        centre, spread = float(y.mean()), float(y.std())
        if spread <= 1e-12 * abs(centre):  # a constant, up to the rounding of its mean
            centre, spread = float(y[0]), 0.0
        scaled = (y - centre) / (spread or 1.0)
        gram, cross = _cross_products(design, predictors, scaled, weights)
        penalised = gram + np.diag(design.penalty(ridge, len(y)))
        beta = solve_positive(penalised, cross)
        residuals = scaled - design.predict(predictors, beta)
        squares = residuals**2 if weights is None else weights * residuals**2
        effective = float(np.trace(solve_positive(penalised, gram)))
        freedom = max(len(y) - effective, 1.0)
        sigma = spread * float(np.sqrt(squares.sum() / freedom))
        coefficients = beta * (spread or 1.0)
        coefficients[0] += centre
        fitted = cls(design, coefficients, sigma)
        if rng is None:
            return fitted, fitted
        sigma *= float(np.sqrt(freedom / rng.chisquare(freedom)))
        upper = scipy.linalg.cholesky(penalised)
        noise = scipy.linalg.solve_triangular(upper, rng.standard_normal(len(penalised)))
        return fitted, replace(fitted, coefficients=coefficients + sigma * noise, sigma=sigma)

    def mean(self, predictors: Table) -> FloatArray:
        """Return the predicted means, shape (n,)."""
        return self.design.predict(predictors, self.coefficients)

    def draw(self, predictors: Table, *, rng: np.random.Generator) -> FloatArray:
        """Draw one number for each row, shape (n,)."""
        return self.mean(predictors) + self.sigma * rng.standard_normal(predictors.n_rows)


def _cross_products(
    design: Design, predictors: Table, y: FloatArray, weights: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return X'WX, shape (p, p), and X'Wy, shape (p,)."""
    gram = np.zeros((design.n_columns, design.n_columns))
    cross = np.zeros(design.n_columns)
    for rows, matrix in design.blocks(predictors):
        weighted = matrix if weights is None else matrix * weights[rows, None]
        gram += weighted.T @ matrix
        cross += weighted.T @ y[rows]
    return gram, cross


CODED_KINDS = frozenset({Kind.CATEGORICAL, Kind.ORDERED, Kind.BOOLEAN})
NUMERIC_KINDS = frozenset({Kind.NUMERIC, Kind.DATE})
MAX_CELLS = 50_000_000  # of a design matrix held in memory: 400 MB


@options
class ParametricModel(ConditionalModel):
    """Options of every parametric model.

    Parameters
    ----------
    ridge : float
        Penalty ``ridge / 2 * sum(coefficients ** 2)`` on the log-likelihood; numeric predictors
        are standardised, the intercept is free. Keeps the fit finite under separation and
        collinearity.
    max_categories : int
        Most columns of one predictor in the design matrix; see `Design.fit`.
    min_frequency : int
        Levels of a predictor with fewer rows share one column.
    """

    told_options: ClassVar[tuple[str, ...]] = ("ridge", "max_categories", "min_frequency")

    ridge: NotNegative = 0.1
    max_categories: Count = 60
    min_frequency: Count = 5

    def design(self, predictors: Table) -> Design:
        """Learn the design matrix's columns from the confidential predictors."""
        return Design.fit(
            predictors, max_categories=self.max_categories, min_frequency=self.min_frequency
        )


@options
class IterativeModel(ParametricModel):
    """Options of the models that are fitted by iteration.

    Parameters
    ----------
    max_fit_rows : int
        The coefficients are learnt from a random sample of so many rows if there are more, and
        of fewer where the design matrix would pass 400 MB.
    """

    told_options: ClassVar[tuple[str, ...]] = (*ParametricModel.told_options, "max_fit_rows")

    max_fit_rows: Count = 200_000

    def fit_rows(self, n_rows: int, n_columns: int, *, rng: np.random.Generator) -> Rows:
        """Choose the rows that the coefficients are learnt from."""
        limit = max(1, min(self.max_fit_rows, MAX_CELLS // n_columns))
        if n_rows <= limit:
            return slice(None)
        return np.sort(rng.choice(n_rows, size=limit, replace=False))


def decimals_of(target: Column) -> int | None:
    """Return the decimals that draws keep to; dates that all fall on whole days stay there."""
    variable, values = target.variable, target.data
    if variable.decimals is None and variable.kind is Kind.DATE:
        return 0 if bool((values == np.floor(values)).all()) else None
    return variable.decimals


def observed_column(variable: Variable, values: FloatArray) -> Column:
    """Return codes or finite numbers, given as floats, as a column without missing states."""
    if variable.is_coded:
        return Column(variable, values.astype(np.int32))
    return numeric_column(variable, values)


def numeric_column(variable: Variable, values: FloatArray) -> Column:
    """Return finite numbers as a column without missing codes."""
    states = np.zeros(len(values), dtype=np.int8) if variable.missing else None
    return Column(variable, values, states)


@dataclass(frozen=True, eq=False)
class NumberForm:
    """How a number drawn from a curve is made a value: rounded, then kept in a range."""

    decimals: int | None
    """Decimals to round to."""
    lower: float | None
    """Smallest value, None where draws have no range."""
    upper: float | None
    """Largest value, or None."""

    def __post_init__(self) -> None:
        lower, upper = self.lower or 0.0, self.upper or 0.0
        if not (math.isfinite(lower) and math.isfinite(upper)):
            raise ValueError("the range must be finite")
        if None not in (self.lower, self.upper) and lower > upper:
            raise ValueError("the range must be finite and not end below its start")

    @classmethod
    def fit(cls, target: Column, ends: tuple[float, float] | None = None) -> Self:
        """Learn the decimals; ``ends`` are the smallest and the largest value of draws."""
        return cls(decimals_of(target), *(ends or (None, None)))

    def apply(self, values: FloatArray) -> FloatArray:
        """Return rounded values within the range."""
        if self.decimals is not None:
            values = np.round(values, self.decimals) + 0.0  # + 0.0 turns -0.0 into 0.0
        if self.lower is not None and self.upper is not None:
            values = np.clip(values, self.lower, self.upper)
        return values
