"""A number as its difference from another: the age of a child from that of a parent."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from synthesizer.data.options import Strings, options
from synthesizer.data.table import Column, FloatArray, IntArray, Kind, Rows, Table
from synthesizer.models.base import Abilities, ConditionalModel, FittedModel
from synthesizer.models.cart import Cart
from synthesizer.models.domains import Chances
from synthesizer.models.kit.numbers import EPS

NEAR = 0.5
"""A difference is drawn where its variance is less than so much of that of the number itself."""
TRIES = 20
"""Draws of a row before it is put on the end of the range that it leaves."""


@dataclass(frozen=True, eq=False)
class FittedDifference(FittedModel):
    """A base model of the number, and one of the difference where that varies less."""

    value: FittedModel
    difference: FittedModel | None
    name: str
    """What the difference is from."""
    low: float
    high: float
    """The range of the confidential numbers."""

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:
        """Draw the difference and add it; see `FittedModel.sample`."""
        return self.sample_wider(predictors, steps=0, rng=rng)

    def sample_wider(self, predictors: Table, *, steps: int, rng: np.random.Generator) -> Column:
        """Draw a difference from a wider neighbourhood; the number where the other is missing."""
        drawn = self.value.sample_wider(predictors, steps=steps, rng=rng)
        if self.difference is None:
            return drawn
        other = predictors[self.name]
        data, rows = _floats(drawn).copy(), np.flatnonzero(other.is_observed)
        left: IntArray = rows
        for _ in range(TRIES):
            if not len(left):
                break
            apart = self.difference.sample_wider(predictors.take(left), steps=steps, rng=rng)
            sums = _floats(apart) + _floats(other, left)
            data[left] = sums
            left = left[(sums < self.low) | (sums > self.high)]
        data[rows] = np.clip(data[rows], self.low, self.high)
        decimals = drawn.variable.decimals
        return Column(drawn.variable, data if decimals is None else np.round(data, decimals))

    def chances(self, predictors: Table, *, steps: int) -> Chances | None:
        """Return the chances of codes, which have no difference; see `FittedModel.chances`."""
        return None if self.difference is not None else self.value.chances(predictors, steps=steps)


def _floats(column: Column, rows: Rows = slice(None)) -> FloatArray:
    return np.asarray(column.data[rows], dtype=np.float64)


@options
class Difference(ConditionalModel):
    """A number as its difference from a predictor, where that varies less than the number does.

    Of several predictors the one is taken with the least variance of the difference. Codes, and
    numbers that no difference makes narrower, are drawn by the base model. What lies beyond the
    range of the numbers is drawn again.

    Parameters
    ----------
    of : tuple of str
        Predictors that it may be the difference from; those of another kind are passed over.
    base : model
        Draws the number, or the difference.

    Examples
    --------
    >>> from synthesizer.data.table import Variable
    >>> rng = np.random.default_rng(1)
    >>> mother, age = (Variable(name=n, kind=Kind.NUMERIC, decimals=0) for n in ("mother", "age"))
    >>> table = Table([Column(mother, np.floor(20.0 + 60 * rng.random(500)))])
    >>> target = Column(age, table["mother"].data - 20 - np.floor(10 * rng.random(500)))
    >>> fitted = Difference(of=("mother",)).fit(table, target, rng=rng)
    >>> gap = table["mother"].data - fitted.sample(table, rng=rng).data
    >>> bool(gap.min() >= 20), bool(gap.max() <= 29)
    (True, True)
    """

    abilities = Abilities(new_values=True)
    fitted_type = FittedDifference
    in_words = "a difference from another number"

    of: Strings = ()
    base: ConditionalModel = field(default_factory=Cart)

    def fit(
        self, predictors: Table, target: Column, *, rng: np.random.Generator
    ) -> FittedDifference:
        """Fit the base model to the number, and to the difference; see `ConditionalModel.fit`."""
        value = self.base.fit(predictors, target, rng=rng)
        name = "" if target.is_coded else self._nearest(predictors, target)
        if not name:
            return FittedDifference(value, None, "", 0.0, 0.0)
        rows = np.flatnonzero(predictors[name].is_observed)
        column = Column(
            replace(target.variable, kind=Kind.NUMERIC),
            _floats(target, rows) - _floats(predictors[name], rows),
        )
        difference = self.base.fit(predictors.take(rows), column, rng=rng)
        low, high = float(target.data.min()), float(target.data.max())
        return FittedDifference(value, difference, name, low, high)

    def _nearest(self, predictors: Table, target: Column) -> str:
        """Return what the number is nearest to; nothing where nothing is near enough."""
        best, nearest = NEAR, ""
        for name in self.of:
            column = predictors.get(name)
            if column is None or column.variable.kind is not target.variable.kind:
                continue
            rows = np.flatnonzero(column.is_observed)
            if len(rows) < max(2, len(target) / 2):
                continue
            values = _floats(target, rows)
            spread = max(float(np.var(values)), EPS)
            share = float(np.var(values - _floats(column, rows))) / spread
            if share < best:
                best, nearest = share, name
        return nearest
