"""An amount as a percentage of another number: allowances, taxes and local supplements of pay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from synthesizer.data.options import NotNegativeCount, options
from synthesizer.data.panel.paths import FORMER, PAST
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Kind, Table, Variable
from synthesizer.models.base import Abilities, ConditionalModel, FittedModel
from synthesizer.models.cart import Cart
from synthesizer.models.kit.numerics import check_floats, check_rising
from synthesizer.models.kit.regression import numeric_column
from synthesizer.models.nominal import holders_of

MAX_RATES, MIN_RECORDS_PER_RATE = 1_000, 20
"""Most rates of an amount, and fewest records per rate on average."""
MAX_RARE_SHARE = 0.05
"""Largest share of records with a rate of few persons."""
MAX_DIGITS = 12
"""Most decimals of a rate."""


@dataclass(frozen=True, eq=False)
class FittedPercentage(FittedModel):
    """A model of rates, or of the amounts if they have none."""

    of: str
    variable: Variable
    rates: FloatArray
    """The rates, rising; empty if the amounts have none."""
    base: FittedModel

    def __post_init__(self) -> None:
        check_floats("rates", self.rates, (-1,))
        if len(self.rates):
            check_rising("rates", self.rates)

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:
        """Draw the rate and multiply it by the other number."""
        return self.sample_wider(predictors, steps=0, rng=rng)

    def sample_wider(self, predictors: Table, *, steps: int, rng: np.random.Generator) -> Column:
        """Draw the rate from a wider neighbourhood; see `sample`."""
        if not len(self.rates):
            return self.base.sample_wider(predictors, steps=steps, rng=rng)
        table = _with_rate_before(predictors, self.of, self.rates)
        drawn = self.base.sample_wider(table, steps=steps, rng=rng).data
        amounts = drawn * np.nan_to_num(_numbers(predictors[self.of]))
        return numeric_column(self.variable, np.round(amounts, self.variable.decimals or 0))


@options
class Percentage(ConditionalModel):
    """Draw an amount as a percentage of a predictor, such as a local supplement to pay.

    The rates are the fewest that reproduce all amounts after rounding. The base model draws one of
    them; in a history, its value before is the rate before. If the predictor is missing or 0, the
    amount is 0. The base model draws the amount itself if there are more than 1,000 rates, fewer
    than 20 records per rate, half as many as for permuted amounts, or too many records without a
    common rate (5 %).

    Parameters
    ----------
    of : str
        Numeric predictor that the rate is multiplied by.
    min_holders : int
        Smallest number of records (of persons in a panel) with a rate, >= 0. A rarer rate is
        replaced by the nearest other one.
    base : model
        Model of the rate: any conditional model of numbers.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> pay, local = (Variable(name=n, kind=Kind.NUMERIC, decimals=0) for n in ("pay", "local"))
    >>> table = Table([Column(pay, np.floor(1e4 + 9e4 * rng.random(400)))])
    >>> rates = np.array([0.0, 0.05, 0.125])[np.arange(400) % 3]
    >>> target = Column(local, np.round(table["pay"].data * rates))
    >>> Percentage(of="pay").fit(table, target, rng=rng).rates.tolist()
    [0.0, 0.05, 0.125]
    """

    abilities = Abilities(kinds=frozenset({Kind.NUMERIC}), new_values=True, rescales=True)
    fitted_type = FittedPercentage
    in_words = "a percentage of another number"
    public_options = ("min_holders",)
    predictor_option = "of"

    of: str
    min_holders: NotNegativeCount = 5
    base: ConditionalModel = field(default_factory=Cart)

    @property
    def former(self) -> tuple[str, ...]:
        """See `ConditionalModel.former`."""
        return (self.of,)

    def unsuited(self, target: Variable, known: Mapping[str, Variable]) -> Iterator[str]:
        """Yield that ``of`` needs a number; see `ConditionalModel.unsuited`."""
        if self.of in known and known[self.of].kind is not Kind.NUMERIC:
            yield f"of ({self.of}) must be a number; write kind: numeric, or use another model"

    def fit(
        self, predictors: Table, target: Column, *, rng: np.random.Generator
    ) -> FittedPercentage:
        """Find the rates, and fit the base model to them; see `ConditionalModel.fit`."""
        self.require(predictors)
        values, rates = self._rates(predictors, target, rng)
        if not len(rates):
            base = self.base.fit(predictors, target, rng=rng)
            return FittedPercentage(self.of, target.variable, rates, base)
        table = _with_rate_before(predictors, self.of, rates)
        variable = replace(target.variable, decimals=None)
        base = self.base.fit(table, numeric_column(variable, values), rng=rng)
        return FittedPercentage(self.of, target.variable, rates, base)

    def _rates(
        self, predictors: Table, target: Column, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Return the rate of each row, and all rates; none if the amounts have none."""
        other, amounts, none = _numbers(predictors[self.of]), _numbers(target), np.empty(0)
        known = _is_factor(other)
        if target.variable.decimals is None or not known.any() or amounts[~known].any():
            return none, none
        half = 0.5 * 10.0**-target.variable.decimals
        most = min(MAX_RATES, int(known.sum()) // MIN_RECORDS_PER_RATE)
        points = _points(amounts[known], other[known], half, most)
        by_chance = _points(rng.permutation(amounts[known]), other[known], half, 2 * len(points))
        if not len(points) or len(by_chance):
            return none, none
        chosen = nearest(points, np.divide(amounts, other, out=np.zeros(len(other)), where=known))
        used, codes = np.unique(chosen, return_inverse=True)
        is_rare = holders_of(codes, predictors.owners) < self.min_holders
        if is_rare.all() or is_rare[codes].mean() > MAX_RARE_SHARE:
            return none, none
        rates = points[used[~is_rare]]
        return rates[nearest(rates, points[chosen])], rates


def _points(amounts: FloatArray, other: FloatArray, half: float, most: int) -> FloatArray:
    """Return the fewest rates that reproduce amounts up to half a unit; none if too many."""
    low, high = np.sort([(amounts - half) / other, (amounts + half) / other], axis=0)
    return fewest_points(low, high, most)


def fewest_points(low: FloatArray, high: FloatArray, most: int) -> FloatArray:
    """Return the fewest numbers, rising, of which each interval contains one; none if too many.

    Each is the shortest decimal that its intervals have in common.

    Examples
    --------
    >>> fewest_points(np.array([0.1, 0.2, 0.9]), np.array([0.3, 0.4, 1.2]), 5).tolist()
    [0.2, 1.0]
    """
    order, points = np.argsort(high, kind="stable"), list[float]()
    low, high = low[order], high[order]
    while len(high):
        inside = low <= high[0]
        points.append(_short(float(low[inside].max()), float(high[0])))
        if len(points) > most:
            return np.empty(0)
        low, high = low[~inside], high[~inside]
    return np.unique(points)


def _short(low: float, high: float) -> float:
    """Return the shortest decimal of an interval, nearest to its middle."""
    middle = (low + high) / 2
    decimals = (round(middle, digits) for digits in range(MAX_DIGITS + 1))
    return next((decimal for decimal in decimals if low <= decimal <= high), middle)


def nearest(points: FloatArray, values: FloatArray) -> IntArray:
    """Return the position of the nearest of some rising numbers, shape (n,)."""
    return np.asarray(np.searchsorted((points[1:] + points[:-1]) / 2, values))


def _numbers(column: Column) -> FloatArray:
    return np.asarray(column.data, dtype=np.float64)


def _is_factor(numbers: FloatArray) -> BoolArray:
    """Return which numbers are neither missing nor 0."""
    return np.asarray(np.nan_to_num(numbers) != 0)


def _with_rate_before(table: Table, of: str, rates: FloatArray) -> Table:
    """Replace the amount before by the rate before, in a history."""
    before, former = table.get(PAST[0]), table.get(FORMER + of)
    if before is None or former is None:
        return table
    values, others = _numbers(before).copy(), _numbers(former)
    known = before.is_observed & _is_factor(others)
    values[known] = rates[nearest(rates, values[known] / others[known])]
    return table.with_column(Column(before.variable, values, before.states))
