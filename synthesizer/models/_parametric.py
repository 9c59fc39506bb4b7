"""What the parametric models share: options, choice of rows, the coded and the numeric ending."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from synthesizer.data.schema import Kind, Variable
from synthesizer.data.table import Column, FloatArray, Rows, Table
from synthesizer.models._design import Design
from synthesizer.models._numerics import checked_number
from synthesizer.models.base import ConditionalModel

__all__ = [
    "CODED_KINDS",
    "NUMERIC_KINDS",
    "IterativeModel",
    "Limits",
    "ParametricModel",
    "coded_column",
    "draw_positions",
    "numeric_column",
    "require_positive",
]

CODED_KINDS = frozenset({Kind.CATEGORICAL, Kind.ORDERED, Kind.BOOLEAN})
NUMERIC_KINDS = frozenset({Kind.NUMERIC, Kind.DATE})
MAX_CELLS = 50_000_000  # of a design matrix held in memory: 400 MB


@dataclass(frozen=True, kw_only=True)
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

    ridge: float = 0.1
    max_categories: int = 60
    min_frequency: int = 5

    def __post_init__(self) -> None:
        if not (math.isfinite(self.ridge) and self.ridge >= 0):
            raise ValueError(f"ridge ({self.ridge}) must be a finite number of at least 0")
        require_positive("max_categories", self.max_categories)
        require_positive("min_frequency", self.min_frequency)

    def design(self, predictors: Table) -> Design:
        """Learn the design matrix's columns from the confidential predictors."""
        return Design.fit(
            predictors, max_categories=self.max_categories, min_frequency=self.min_frequency
        )


@dataclass(frozen=True, kw_only=True)
class IterativeModel(ParametricModel):
    """Options of the models that are fitted by iteration.

    Parameters
    ----------
    max_fit_rows : int
        The coefficients are learnt from a random sample of so many rows if there are more, and
        of fewer where the design matrix would pass 400 MB.
    """

    max_fit_rows: int = 200_000

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive("max_fit_rows", self.max_fit_rows)

    def fit_rows(self, n_rows: int, n_columns: int, *, rng: np.random.Generator) -> Rows:
        """Choose the rows that the coefficients are learnt from."""
        limit = max(1, min(self.max_fit_rows, MAX_CELLS // n_columns))
        if n_rows <= limit:
            return slice(None)
        return np.sort(rng.choice(n_rows, size=limit, replace=False))


def require_positive(name: str, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} ({value}) must be a whole number of at least 1")


def draw_positions(probabilities: FloatArray, uniforms: FloatArray) -> npt.NDArray[np.intp]:
    """Draw a column number for each row of probabilities, shape (n, k), by inversion.

    Examples
    --------
    >>> draw_positions(np.array([[0.5, 0.5], [0.2, 0.8]]), np.array([0.4, 0.4])).tolist()
    [0, 1]
    """
    steps = np.cumsum(probabilities, axis=1)[:, :-1]
    return np.asarray((uniforms[:, None] >= steps).sum(axis=1), dtype=np.intp)


def coded_column(variable: Variable, codes: npt.NDArray[np.integer]) -> Column:
    """Return codes as a column."""
    return Column(variable, codes.astype(np.int32))


def numeric_column(variable: Variable, values: FloatArray) -> Column:
    """Return finite numbers as a column without missing codes."""
    states = np.zeros(len(values), dtype=np.int8) if variable.missing else None
    return Column(variable, values, states)


@dataclass(frozen=True, eq=False)
class Limits:
    """How a number drawn from a curve is made a value: rounded, then kept in the range.

    Parameters
    ----------
    decimals : int or None
        Decimals to round to.
    lower, upper : float or None
        Observed range, None where draws may leave it.
    """

    decimals: int | None
    lower: float | None
    upper: float | None

    @classmethod
    def fit(cls, target: Column, *, clip: bool) -> Self:
        """Learn the limits; dates that all fall on whole days stay on whole days."""
        decimals = target.variable.decimals
        values = target.data
        if decimals is None and target.variable.kind == Kind.DATE:
            decimals = 0 if bool((values == np.floor(values)).all()) else None
        if not clip:
            return cls(decimals, None, None)
        return cls(decimals, float(values.min()), float(values.max()))

    def apply(self, values: FloatArray) -> FloatArray:
        """Return rounded values within the range."""
        if self.decimals is not None:
            values = np.round(values, self.decimals) + 0.0  # + 0.0 turns -0.0 into 0.0
        if self.lower is not None and self.upper is not None:
            values = np.clip(values, self.lower, self.upper)
        return values

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"decimals": self.decimals, "lower": self.lower, "upper": self.upper}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild from ``to_dict``; raises ValueError on an impossible range."""
        decimals = None if state["decimals"] is None else int(state["decimals"])
        if state["lower"] is None or state["upper"] is None:
            return cls(decimals, None, None)
        lower = checked_number(state, "lower")
        return cls(decimals, lower, checked_number(state, "upper", least=lower))
