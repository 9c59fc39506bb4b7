"""Linear regression with normal residuals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from synthesizer.data.schema import Variable
from synthesizer.data.table import Column, Table
from synthesizer.models._linear import Regression
from synthesizer.models._parametric import (
    NUMERIC_KINDS,
    Limits,
    ParametricModel,
    numeric_column,
)
from synthesizer.models.base import Abilities, FittedModel

__all__ = ["FittedNormal", "Normal"]


class FittedNormal(FittedModel):
    """Coefficients, residual standard deviation and the range that draws keep to; no rows."""

    def __init__(self, variable: Variable, regression: Regression, limits: Limits) -> None:
        self.variable = variable
        self.regression = regression
        self.limits = limits

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:
        """Draw the predicted mean plus a normal residual for each row."""
        values = self.regression.draw(predictors, rng=rng)
        return numeric_column(self.variable, self.limits.apply(values))

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters and what they belong to."""
        return {
            "variable": self.variable.to_dict(),
            "regression": self.regression.to_dict(),
            "limits": self.limits.to_dict(),
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild from ``to_dict``; raises ValueError on impossible parameters."""
        return cls(
            Variable.from_dict(state["variable"]),
            Regression.from_dict(state["regression"]),
            Limits.from_dict(state["limits"]),
        )


@dataclass(frozen=True, kw_only=True)
class Normal(ParametricModel):
    """Draw from a linear regression with normal residuals of equal variance.

    Draws are rounded to the decimals of the variable. All rows enter the fit. The parameters are
    those of the fit; synthesis with ``proper`` refits them on a bootstrap sample.
    Source: Little and Rubin (2002), Statistical Analysis with Missing Data, section 4.3.

    Parameters
    ----------
    ridge, max_categories, min_frequency
        See `ParametricModel`.
    clip : bool
        Move draws beyond the observed range to its ends, so that no age is negative. The fitted
        model then holds the smallest and the largest confidential value, and they occur among
        the draws.

    Examples
    --------
    >>> from synthesizer.data.schema import Kind
    >>> age = Variable(name="age", kind=Kind.NUMERIC, decimals=0)
    >>> target = Column(age, np.array([20.0, 30.0, 60.0]))
    >>> rng = np.random.default_rng(1)
    >>> fitted = Normal().fit(Table([], n_rows=3), target, rng=rng)
    >>> fitted.sample(Table([], n_rows=4), rng=rng).data.tolist()
    [44.0, 54.0, 44.0, 20.0]
    """

    clip: bool = True

    abilities: ClassVar[Abilities] = Abilities(
        kinds=NUMERIC_KINDS, stores_values=False, new_values=True
    )
    fitted_type: ClassVar[type[FittedModel]] = FittedNormal

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedNormal:  # noqa: ARG002
        """Learn the regression; see `ConditionalModel.fit`."""
        design = self.design(predictors)
        values = np.asarray(target.data, dtype=np.float64)
        regression = Regression.fit(design, predictors, values, ridge=self.ridge)
        return FittedNormal(target.variable, regression, Limits.fit(target, clip=self.clip))
