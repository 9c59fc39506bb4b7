"""Linear regression with a weak ridge, fitted block by block of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.linalg

from synthesizer.data.table import FloatArray, Table
from synthesizer.models._design import Design, Prediction
from synthesizer.models._numerics import (
    checked_floats,
    checked_number,
    one_blas_thread,
    solve_positive,
)

__all__ = ["Regression"]


@dataclass(frozen=True, eq=False)
class Regression:
    """A normal linear model: mean ``x @ coefficients``, standard deviation ``sigma``.

    Parameters
    ----------
    design : Design
        How predictors become columns.
    coefficients : ndarray, shape (p,)
        One for each column.
    sigma : float
        Residual standard deviation, 0 for a perfect fit.

    Examples
    --------
    >>> nothing = Table([], n_rows=3)
    >>> model = Regression.fit(Design.fit(nothing), nothing, np.array([1.0, 2.0, 3.0]), ridge=0.1)
    >>> model.coefficients, round(model.sigma, 6)
    (array([2.]), 1.0)
    """

    design: Design
    coefficients: FloatArray
    sigma: float

    @classmethod
    @one_blas_thread()
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
        return cls._fit(design, predictors, y, ridge, weights)[0]

    @classmethod
    @one_blas_thread()
    def fit_and_perturb(
        cls,
        design: Design,
        predictors: Table,
        y: FloatArray,
        *,
        ridge: float,
        rng: np.random.Generator,
        weights: FloatArray | None = None,
    ) -> tuple[Self, Self]:
        """Return the fit and a draw from the posterior distribution of its parameters.

        Source: Rubin (1987), Multiple Imputation for Nonresponse in Surveys, p. 167.
        """
        fitted, gram, freedom = cls._fit(design, predictors, y, ridge, weights)
        sigma = fitted.sigma * float(np.sqrt(freedom / rng.chisquare(freedom)))
        upper = scipy.linalg.cholesky(gram)
        noise = scipy.linalg.solve_triangular(upper, rng.standard_normal(len(gram)))
        coefficients = fitted.coefficients + sigma * noise
        return fitted, replace(fitted, coefficients=coefficients, sigma=sigma)

    @classmethod
    def _fit(
        cls,
        design: Design,
        predictors: Table,
        y: FloatArray,
        ridge: float,
        weights: FloatArray | None,
    ) -> tuple[Self, FloatArray, float]:
        """Return the fit, the penalised cross products (p, p) and the degrees of freedom."""
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
        return cls(design, coefficients, sigma), penalised, freedom

    @cached_property
    def _prediction(self) -> Prediction:
        return Prediction.of(self.design, self.coefficients)

    def mean(self, predictors: Table) -> FloatArray:
        """Return the predicted means, shape (n,)."""
        return self._prediction.of_rows(predictors)

    def draw(self, predictors: Table, *, rng: np.random.Generator) -> FloatArray:
        """Draw one number for each row, shape (n,)."""
        return self.mean(predictors) + self.sigma * rng.standard_normal(predictors.n_rows)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "design": self.design.to_dict(),
            "coefficients": self.coefficients,
            "sigma": self.sigma,
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild from ``to_dict``; raises ValueError on impossible parameters."""
        design = Design.from_dict(state["design"])
        coefficients = checked_floats(state, "coefficients", (design.n_columns,))
        return cls(design, coefficients, checked_number(state, "sigma", least=0.0))


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
