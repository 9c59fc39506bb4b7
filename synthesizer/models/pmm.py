"""Predictive mean matching: the value of a donor with a similar prediction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from synthesizer.data.options import Count, options
from synthesizer.data.table import Column, FloatArray, IntArray, Table, Variable
from synthesizer.models.base import Abilities, FittedModel
from synthesizer.models.kit.numbers import DonorModel, SafeNumbers, made_safe
from synthesizer.models.kit.numerics import check_floats
from synthesizer.models.kit.regression import (
    NUMERIC_KINDS,
    LinearRegression,
    ParametricModel,
    numeric_column,
)


@dataclass(frozen=True, eq=False)
class FittedPmm(FittedModel):
    """A regression, and the donors in the order of their predictions."""

    variable: Variable
    regression: LinearRegression
    """Predicts the means of synthetic rows."""
    predicted: FloatArray
    """Predicted means of the donors, not decreasing; shape (n,)."""
    donors: FloatArray
    """Confidential values in the same order; shape (n,)."""
    neighbours: int
    """Donors to choose from."""
    numbers: SafeNumbers | None = None
    """Replaces rare numbers."""

    def __post_init__(self) -> None:
        check_floats("donors", self.donors, (-1,))
        check_floats("predicted", self.predicted, self.donors.shape)
        if not len(self.donors) or (np.diff(self.predicted) < 0).any():
            raise ValueError("predicted must have at least one number and not decrease")
        if self.neighbours < 1:
            raise ValueError("neighbours must be at least 1")

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:
        """Copy one of the nearest donors for each row.

        One of the nearest predictions is drawn first, then a donor with this prediction: with few
        predictors, thousands of donors have the same one.
        """
        n_rows = predictors.n_rows
        width = min(self.neighbours, len(self.donors))
        first = _nearest_window(self.predicted, self.regression.mean(predictors), width)
        chosen = self.predicted[first + rng.integers(width, size=n_rows)]
        low = np.searchsorted(self.predicted, chosen)
        high = np.searchsorted(self.predicted, chosen, side="right")
        donors = self.donors[low + (rng.random(n_rows) * (high - low)).astype(np.intp)]
        return made_safe(numeric_column(self.variable, donors), self.numbers, rng)


@options
class Pmm(ParametricModel, DonorModel):
    """Copy the value of one of the k donors whose predicted means are nearest.

    Draws are observed values; a number of fewer than ``min_holders`` records is replaced by a
    similar one. The fitted model contains all observed values. All rows enter the fit.
    Sources: Rubin (1986), Statistical matching using file concatenation, JBES 4; Little (1988),
    Missing-data adjustments in large surveys, JBES 6.

    Parameters
    ----------
    neighbours : int
        Number of donors to draw from, k >= 1.
    draw_parameters : bool
        Predict synthetic rows with coefficients drawn once from their posterior distribution, and
        donors with the estimates (type 1 matching, van Buuren 2018, section 3.4.2). Proper
        synthesis has the same effect by its bootstrap.

    Examples
    --------
    >>> from synthesizer.data.table import Kind
    >>> age = Variable(name="age", kind=Kind.NUMERIC, decimals=0)
    >>> wage = Variable(name="wage", kind=Kind.NUMERIC, decimals=0)
    >>> ages = Table([Column(age, np.array([20.0, 30.0, 40.0]))])
    >>> target = Column(wage, np.array([10.0, 18.0, 30.0]))
    >>> rng = np.random.default_rng(1)
    >>> fitted = Pmm(neighbours=1, min_holders=0).fit(ages, target, rng=rng)
    >>> fitted.sample(ages, rng=rng).data.tolist()
    [10.0, 18.0, 30.0]
    """

    neighbours: Count = 5
    draw_parameters: bool = False

    abilities = Abilities(kinds=NUMERIC_KINDS)
    fitted_type = FittedPmm
    in_words = "predictive mean matching"
    public_options = (
        *ParametricModel.public_options,
        "neighbours",
        "draw_parameters",
        *DonorModel.public_options,
    )
    option_aliases: ClassVar[Mapping[str, str]] = {"donors": "neighbours"}

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedPmm:
        """Learn the regression and sort the donors; see `ConditionalModel.fit`."""
        design = self.design(predictors)
        values = np.asarray(target.data, dtype=np.float64)
        estimate, regression = LinearRegression.fit_and_draw(
            design, predictors, values, ridge=self.ridge, rng=rng if self.draw_parameters else None
        )
        predicted = _coarsen(estimate.mean(predictors))
        order = np.argsort(predicted, kind="stable")
        return FittedPmm(
            target.variable,
            regression,
            predicted[order],
            values[order],
            self.neighbours,
            self.safe_numbers(predictors, target),
        )


def _coarsen(predicted: FloatArray) -> FloatArray:
    """Round to about ten digits, so that rows with equal predictors tie in spite of rounding."""
    largest = float(np.abs(predicted).max(initial=0.0))
    if largest == 0.0:
        return predicted
    step = 2.0 ** np.ceil(np.log2(largest) - 33)
    return np.asarray(np.round(predicted / step) * step)


def _nearest_window(ordered: FloatArray, points: FloatArray, width: int) -> IntArray:
    """Return where the ``width`` entries of ``ordered`` nearest to each point begin.

    The window starts ``width`` entries before the point and moves right as long as the entry that
    it gains is nearer than the entry that it loses.
    """
    last = len(ordered) - width
    first = np.clip(np.searchsorted(ordered, points) - width, 0, last)
    for _ in range(width):
        gained = ordered[np.minimum(first + width, len(ordered) - 1)]
        move = (first < last) & (points - ordered[first] > gained - points)
        first = first + move
    return first
