"""Proportional odds regression for ordered variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from synthesizer.data.options import options
from synthesizer.data.table import Column, FloatArray, IntArray, Table, Variable
from synthesizer.models.base import Abilities, FittedModel
from synthesizer.models.kit.numerics import check_codes, check_floats
from synthesizer.models.kit.predictors import Design
from synthesizer.models.kit.regression import (
    CODED_KINDS,
    IterativeModel,
    Softmax,
    fit_cumulative,
    fit_softmax,
)


@dataclass(frozen=True, eq=False)
class _Scale:
    """Proportional odds of the k levels seen: thresholds (k - 1,) and coefficients (p,)."""

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
    """Missing states seen in the fit: 0 for a level, k for ``variable.missing[k - 1]``."""
    missing: Softmax
    """Probabilities of ``states``."""
    scale: _Scale | None
    """Of the levels; None if the fit saw missing codes alone."""

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
        """Draw whether and how a value is missing, then a level where it is not."""
        states = self.states[self.missing.draw(predictors, rng=rng)]
        codes = len(self.variable.levels) - 1 + states
        if self.scale is not None:
            levels = self.scale.draw(self.missing.design, predictors, rng=rng)
            codes = np.where(states == 0, levels, codes)
        return Column(self.variable, codes.astype(np.int32))


@options
class Ordinal(IterativeModel):
    """Draw a level from a proportional odds regression with a ridge.

    Levels are taken in their order. Missing codes have no place in the order: a multinomial
    regression draws first whether and how a value is missing.
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
    """Fit the levels that are seen; the intercept's coefficient is 0, thresholds stand for it."""
    seen, classes = np.unique(codes, return_inverse=True)
    coefficients = np.zeros(matrix.shape[1])
    thresholds = np.zeros(len(seen) - 1)
    if len(seen) > 1:
        thresholds, coefficients[1:] = fit_cumulative(matrix[:, 1:], classes, penalty[1:])
    return _Scale(seen.astype(np.int32), thresholds, coefficients)
