"""Regressions with a ridge: linear, multinomial logistic, and proportional odds."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy

from synthesizer.data.options import Count, NotNegative, options
from synthesizer.data.table import Column, FloatArray, IntArray, Kind, Rows, Table, Variable
from synthesizer.models.base import ConditionalModel
from synthesizer.models.kit.numerics import check_floats, newton, solve_positive
from synthesizer.models.kit.predictors import Design


@dataclass(frozen=True, eq=False)
class LinearRegression:
    """A normal linear model: mean ``x @ coefficients``, standard deviation ``sigma``.

    Examples
    --------
    >>> nothing = Table([], n_rows=3)
    >>> model = LinearRegression.fit(Design.fit(nothing), nothing, np.arange(1.0, 4), ridge=0.1)
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
    def fit(cls, design: Design, predictors: Table, y: FloatArray, *, ridge: float) -> Self:
        """Fit by penalised least squares; ``y`` is finite, shape (n,), n >= 1.

        The ridge applies to ``y`` in standard deviations, so that the unit of measurement has no
        effect.
        """
        return cls.fit_and_draw(design, predictors, y, ridge=ridge, rng=None)[0]

    @classmethod
    def fit_and_draw(
        cls,
        design: Design,
        predictors: Table,
        y: FloatArray,
        *,
        ridge: float,
        rng: np.random.Generator | None,
    ) -> tuple[Self, Self]:
        """Return the fit, and a draw from the posterior distribution of its parameters.

        Without a generator the fit is returned twice. Source: Rubin (1987), Multiple Imputation for
        Nonresponse in Surveys, p. 167.
        """
        centre, spread = float(y.mean()), float(y.std())
        if spread <= 1e-12 * abs(centre):  # a constant, up to the rounding of its mean
            centre, spread = float(y[0]), 0.0
        scaled = (y - centre) / (spread or 1.0)
        gram, cross = _cross_products(design, predictors, scaled)
        penalised = gram + np.diag(design.penalty(ridge, len(y)))
        beta = solve_positive(penalised, cross)
        residuals = scaled - design.predict(predictors, beta)
        effective = float(np.trace(solve_positive(penalised, gram)))
        freedom = max(len(y) - effective, 1.0)
        sigma = spread * float(np.sqrt((residuals**2).sum() / freedom))
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
    design: Design, predictors: Table, y: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return X'X, shape (p, p), and X'y, shape (p,)."""
    gram = np.zeros((design.n_columns, design.n_columns))
    cross = np.zeros(design.n_columns)
    for rows, matrix in design.blocks(predictors):
        gram += matrix.T @ matrix
        cross += matrix.T @ y[rows]
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
        Ridge penalty, >= 0: ``ridge / 2 * sum(coefficients ** 2)`` is subtracted from the
        log-likelihood. Numeric predictors are standardised; the intercept has no penalty. The ridge
        keeps coefficients finite under separation and collinearity.
    max_categories : int
        Largest number of columns for the levels of one predictor, >= 1. Rarer levels share one
        column.
    min_frequency : int
        Levels of a predictor with fewer rows share one column, >= 1.
    """

    public_options: ClassVar[tuple[str, ...]] = ("ridge", "max_categories", "min_frequency")

    ridge: NotNegative = 0.1
    max_categories: Count = 60
    min_frequency: Count = 5

    def design(self, predictors: Table) -> Design:
        """Learn the columns of the design matrix from the confidential predictors."""
        return Design.fit(
            predictors, max_categories=self.max_categories, min_frequency=self.min_frequency
        )


@options
class IterativeModel(ParametricModel):
    """Options of the models that are fitted by iteration.

    Parameters
    ----------
    max_fit_rows : int
        Largest number of rows that the coefficients are learnt from, a random sample, >= 1. Fewer
        if the design matrix would exceed 400 MB.
    """

    public_options: ClassVar[tuple[str, ...]] = (*ParametricModel.public_options, "max_fit_rows")

    max_fit_rows: Count = 200_000

    def fit_rows(self, n_rows: int, n_columns: int, *, rng: np.random.Generator) -> Rows:
        """Draw the rows that the coefficients are learnt from."""
        limit = max(1, min(self.max_fit_rows, MAX_CELLS // n_columns))
        if n_rows <= limit:
            return slice(None)
        return np.sort(rng.choice(n_rows, size=limit, replace=False))


def decimals_of(target: Column) -> int | None:
    """Return the decimals of draws: 0 for dates if all are whole days; None for any."""
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
    """The form of values: draws are rounded, then moved into a range."""

    decimals: int | None
    """Decimals to round to."""
    lower: float | None
    """Smallest value, None without a range."""
    upper: float | None
    """Largest value, None without a range."""

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


CHUNK_ROWS = 2_048  # scores of one chunk stay in the processor's cache
MAX_ITERATIONS = 500
FULL_PRECISION_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class Softmax:
    """Probabilities of k classes: proportional to ``exp(x @ coefficients)``."""

    design: Design
    coefficients: FloatArray
    """One column for each class, shape (p, k); unused with one class."""

    def __post_init__(self) -> None:
        check_floats("coefficients", self.coefficients, (self.design.n_columns, -1))

    @property
    def n_classes(self) -> int:
        """Number of classes, k."""
        return int(self.coefficients.shape[1])

    def draw(self, predictors: Table, *, rng: np.random.Generator) -> npt.NDArray[np.intp]:
        """Draw the number of a class for each row, shape (n,)."""
        uniforms = rng.random(predictors.n_rows)
        out = np.zeros(predictors.n_rows, dtype=np.intp)
        if self.n_classes == 1:
            return out
        for rows, matrix in self.design.blocks(predictors):
            steps = np.cumsum(_softmax(matrix @ self.coefficients)[0], axis=1)[:, :-1]
            out[rows] = (uniforms[rows, None] >= steps).sum(axis=1)
        return out


def fit_softmax(
    matrix: FloatArray, classes: IntArray, penalty: FloatArray, *, tolerance: float = 0.03
) -> FloatArray:
    """Return the coefficients that maximise the penalised multinomial likelihood, shape (p, k).

    All k classes have coefficients; the ridge makes them unique. L-BFGS runs on coefficients that
    are scaled and rotated by the eigenvectors of X'X. Then the Hessian is close to the identity
    (after the bound of Boehning 1992), and few iterations are enough.

    Parameters
    ----------
    matrix : ndarray, shape (n, p)
        Design matrix.
    classes : ndarray of int, shape (n,)
        Class numbers 0 to k - 1, each of them seen.
    penalty : ndarray, shape (p,)
        Ridge of each column, at least 0.
    tolerance : float
        Stop when all coordinates of the scaled gradient fall below it. A coordinate is about the
        distance from the maximum in standard errors. Beyond 10,000 rows it grows with their square
        root, so that the precision of probabilities stays the same.
    """
    shares = np.bincount(classes) / len(classes)
    rotation, scale = _preconditioner(matrix, shares, penalty)
    start = np.zeros_like(scale)
    start[0] = np.log(shares)
    whitened = (rotation.T @ start) / scale

    def objective(flat: FloatArray) -> tuple[float, FloatArray]:
        coefficients = rotation @ (scale * flat.reshape(scale.shape))
        loss, gradient = _loss(matrix, classes, coefficients)
        pull = penalty[:, None] * coefficients
        gradient = scale * (rotation.T @ (gradient + pull))
        return loss + 0.5 * float((pull * coefficients).sum()), gradient.ravel()

    growth = max(1.0, len(classes) / FULL_PRECISION_ROWS) ** 0.5
    result = scipy.optimize.minimize(
        objective,
        whitened.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={
            "gtol": tolerance * growth,
            "ftol": 1e-14,
            "maxiter": MAX_ITERATIONS,
            "maxcor": 20,
        },
    )
    return np.asarray(rotation @ (scale * result.x.reshape(scale.shape)))


def _preconditioner(
    matrix: FloatArray, shares: FloatArray, penalty: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return rotation (p, p) and scale (p, k): their product whitens the Hessian at the start."""
    curvature = np.zeros((matrix.shape[1], matrix.shape[1]))
    for start in range(0, len(matrix), CHUNK_ROWS):
        chunk = matrix[start : start + CHUNK_ROWS]
        curvature += chunk.T @ chunk
    values, rotation = np.linalg.eigh(curvature)
    weight = shares * (1 - shares)
    scale = np.maximum(values, 0.0)[:, None] * weight + max(float(penalty.max()), 1e-8)
    return rotation, 1 / np.sqrt(scale)


def _loss(
    matrix: FloatArray, classes: IntArray, coefficients: FloatArray
) -> tuple[float, FloatArray]:
    """Return the negative log-likelihood and its gradient, shape (p, k)."""
    loss = 0.0
    gradient = np.zeros_like(coefficients)
    for start in range(0, len(matrix), CHUNK_ROWS):
        chunk = matrix[start : start + CHUNK_ROWS]
        observed = classes[start : start + CHUNK_ROWS]
        rows = np.arange(len(observed))
        scores = chunk @ coefficients
        chosen = scores[rows, observed]
        probabilities, log_sum = _softmax(scores)
        loss += float((log_sum - chosen).sum())
        probabilities[rows, observed] -= 1.0
        gradient += chunk.T @ probabilities
    return loss, gradient


def _softmax(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return probabilities (n, k) and the logarithm of the summed exponentials (n,)."""
    top = scores.max(axis=1)
    scaled = np.exp(scores - top[:, None])
    total = scaled.sum(axis=1)
    return scaled / total[:, None], np.log(total) + top


def fit_cumulative(
    matrix: FloatArray, classes: IntArray, penalty: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return rising thresholds, shape (k - 1,), and slopes, shape (p,), of proportional odds.

    Classes are numbered 0 to k - 1 in their order, k >= 2; all occur. ``matrix``, shape (n, p), has
    no intercept; ``penalty``, shape (p,), is the ridge of each slope. A larger ``x @ slopes`` makes
    higher classes more likely.
    """
    order = np.argsort(classes, kind="stable")
    counts = np.bincount(classes)
    problem = _Problem(matrix[order], classes[order], counts, penalty)
    below = np.cumsum(counts)[:-1] / len(classes)
    start = np.concatenate([np.log(below / (1 - below)), np.zeros(matrix.shape[1])])
    point = newton(problem.objective, start)
    return point[: len(below)], point[len(below) :]


@dataclass(frozen=True, eq=False)
class _Problem:
    """Rows sorted by class, so that sums by class are sums over slices."""

    matrix: FloatArray
    classes: IntArray
    counts: IntArray
    penalty: FloatArray

    def objective(self, point: FloatArray) -> tuple[float, FloatArray, FloatArray] | None:
        """Return value, gradient and Hessian; None if thresholds do not increase."""
        n_thresholds = len(self.counts) - 1
        thresholds, slopes = point[:n_thresholds], point[n_thresholds:]
        gaps = np.diff(thresholds)
        if not (gaps > 0).all():
            return None
        score = self.matrix @ slopes
        ends = np.concatenate([[-np.inf], thresholds, [np.inf]])
        upper, lower = ends[self.classes + 1] - score, ends[self.classes] - score
        value = float(np.logaddexp(0, -upper).sum() + np.logaddexp(0, lower).sum())
        value -= float(self.counts[1:-1] @ np.log(-np.expm1(-gaps)))
        value += 0.5 * float(self.penalty @ slopes**2)
        return value, self._gradient(upper, lower, gaps, slopes), self._hessian(upper, lower, gaps)

    def _gradient(
        self, upper: FloatArray, lower: FloatArray, gaps: FloatArray, slopes: FloatArray
    ) -> FloatArray:
        """Return the gradient, shape (k - 1 + p,)."""
        above, below = scipy.special.expit(-upper), scipy.special.expit(lower)
        by_threshold = self._by_class(below)[1:] - self._by_class(above)[:-1]
        pull = -self.counts[1:-1] * np.exp(-gaps) / np.expm1(-gaps)
        by_threshold[1:] -= pull
        by_threshold[:-1] += pull
        by_slope = self.matrix.T @ (above - below) + self.penalty * slopes
        return np.concatenate([by_threshold, by_slope])

    def _hessian(self, upper: FloatArray, lower: FloatArray, gaps: FloatArray) -> FloatArray:
        """Return the Hessian: tridiagonal thresholds, their products with slopes, slopes."""
        n = len(gaps) + 1
        above = scipy.special.expit(upper) * scipy.special.expit(-upper)
        below = scipy.special.expit(lower) * scipy.special.expit(-lower)
        out = np.zeros((n + self.matrix.shape[1],) * 2)
        diagonal = self._by_class(above)[:-1] + self._by_class(below)[1:]
        cross_terms = self.counts[1:-1] * np.exp(-gaps) / np.expm1(-gaps) ** 2
        diagonal[1:] += cross_terms
        diagonal[:-1] += cross_terms
        out[range(n), range(n)] = diagonal
        out[range(n - 1), range(1, n)] = out[range(1, n), range(n - 1)] = -cross_terms
        if self.matrix.shape[1]:
            cross = self._by_class(below[:, None] * self.matrix)[1:]
            cross += self._by_class(above[:, None] * self.matrix)[:-1]
            out[:n, n:], out[n:, :n] = -cross, -cross.T
            weighted = self.matrix * np.sqrt(above + below)[:, None]
            out[n:, n:] = weighted.T @ weighted + np.diag(self.penalty)
        return out

    def _by_class(self, values: FloatArray) -> FloatArray:
        """Sum rows by class."""
        starts = np.concatenate([[0], np.cumsum(self.counts)[:-1]])
        return np.asarray(np.add.reduceat(values, starts, axis=0))
