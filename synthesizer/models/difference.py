"""A value as its difference from another, or as equal to another: ages and races of relatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from synthesizer.data.options import Strings, options
from synthesizer.data.panel.paths import OWN
from synthesizer.data.table import Column, FloatArray, IntArray, Kind, Rows, Table, Variable
from synthesizer.models.base import Abilities, ConditionalModel, FittedModel
from synthesizer.models.cart import Cart
from synthesizer.models.domains import Chances
from synthesizer.models.kit.numbers import EPS

MAX_VARIANCE_RATIO = 0.25
"""Largest variance of the difference, as a share of that of the number.

That is half its standard deviation. With more, many draws would leave the range of the number, and
repeating them would change its distribution.
"""
MIN_KAPPA = 0.5
"""Cohen's kappa from which a code is drawn as equal to another."""
MAX_TRIES = 20
"""Draws of a row before its value is moved to the end of the range."""
_AGREE = Variable(name=f"{OWN}agree", kind=Kind.CATEGORICAL, levels=("no", "yes"))


@dataclass(frozen=True, eq=False)
class FittedDifference(FittedModel):
    """A base model of the value, and one of its difference from another variable.

    For codes, the second model draws which other variable the code equals, if any; the first is
    learnt from rows in which it equals none.
    """

    value: FittedModel
    difference: FittedModel | None
    names: tuple[str, ...]
    """Variables that the value is compared with; one for numbers."""
    variable: Variable
    low: float
    """Smallest confidential number."""
    high: float
    """Largest confidential number."""

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:
        """Draw the difference and add it to the other value; see `FittedModel.sample`."""
        return self.sample_wider(predictors, steps=0, rng=rng)

    def sample_wider(self, predictors: Table, *, steps: int, rng: np.random.Generator) -> Column:
        """Draw the difference from a wider neighbourhood, or the number if the other is missing."""
        if self.difference is None:
            return self.value.sample_wider(predictors, steps=steps, rng=rng)
        chances = self.chances(predictors, steps=steps)
        if chances is not None:
            every = np.ones(self.variable.n_codes, dtype=np.float32)
            return Column(self.variable, chances.drawn(every, rng))
        drawn = self.value.sample_wider(predictors, steps=steps, rng=rng)
        if self.variable.is_coded:
            table = _with_agreement(predictors, self.names)
            which = self.difference.sample_wider(table, steps=steps, rng=rng).data
            known = np.stack([drawn.data, *(predictors[name].data for name in self.names)])
            return Column(self.variable, known[which, np.arange(len(which))].astype(np.int32))
        other = predictors[self.names[0]]
        data, rows = _floats(drawn).copy(), np.flatnonzero(other.is_observed)
        todo: IntArray = rows
        for _ in range(MAX_TRIES):
            if not len(todo):
                break
            apart = self.difference.sample_wider(predictors.take(todo), steps=steps, rng=rng)
            sums = _floats(apart) + _floats(other, todo)
            data[todo] = sums
            todo = todo[(sums < self.low) | (sums > self.high)]
        data[rows] = np.clip(data[rows], self.low, self.high)
        decimals = drawn.variable.decimals
        return Column(drawn.variable, data if decimals is None else np.round(data, decimals))

    def chances(self, predictors: Table, *, steps: int) -> Chances | None:
        """Return the probabilities of codes; see `FittedModel.chances`."""
        if self.difference is None:
            return self.value.chances(predictors, steps=steps)
        if not self.variable.is_coded:
            return None
        table = _with_agreement(predictors, self.names)
        which = self.difference.chances(table, steps=steps)
        other = self.value.chances(predictors, steps=steps)
        if which is None or other is None:
            return None
        rows, shares = np.arange(predictors.n_rows), other.shares.copy()
        known = [predictors[name].data for name in self.names]
        for codes in known:
            shares[rows, codes] = 0.0
        total = shares.sum(axis=1)
        shares *= (which.shares[:, 0] / np.where(total > 0, total, 1.0))[:, None]
        for number, codes in enumerate(known, start=1):
            shares[rows, codes] += which.shares[:, number]
        rest = 1.0 - shares.sum(axis=1)  # where the value has no other code
        shares[rows, known[0]] += np.maximum(rest, 0.0)
        return which.with_shares(shares)


def _with_agreement(predictors: Table, names: Sequence[str]) -> Table:
    """Add whether all codes of a row are equal, which no single split separates."""
    if len(names) < 2:
        return predictors
    first, *others = (predictors[name].data for name in names)
    agree = np.logical_and.reduce([first == other for other in others])
    return predictors.with_column(Column(_AGREE, agree.astype(np.int32)))


def _floats(column: Column, rows: Rows = slice(None)) -> FloatArray:
    return np.asarray(column.data[rows], dtype=np.float64)


def _shares_of(column: Column) -> FloatArray:
    return np.bincount(column.data, minlength=column.variable.n_codes) / max(len(column), 1)


@options
class Difference(ConditionalModel):
    """Draw a number as its difference from a predictor, if the difference varies less.

    Among several predictors, the one with the smallest variance of the difference is used. Draws
    outside the range of the numbers are repeated. For a code the model draws which predictor it
    equals, if Cohen's kappa with one exceeds 0.5 (Cohen 1960, A coefficient of agreement for
    nominal scales); the base model draws codes that equal none. This keeps small groups of equal
    codes, which leaves of a tree mix. If the target is close to no predictor, the base model draws
    it.

    Parameters
    ----------
    of : tuple of str
        Predictors that the target is compared with. Predictors of another kind, or with other
        levels, are ignored.
    base : model
        Model of the value and of the difference: any conditional model.

    Examples
    --------
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
    in_words = "a difference from another value"

    of: Strings = ()
    base: ConditionalModel = field(default_factory=Cart)

    def fit(
        self, predictors: Table, target: Column, *, rng: np.random.Generator
    ) -> FittedDifference:
        """Fit the base model to the number, and to the difference; see `ConditionalModel.fit`."""
        if target.is_coded:
            return self._of_codes(predictors, target, rng)
        value = self.base.fit(predictors, target, rng=rng)
        name = self.nearest(predictors, target)
        if not name:
            return FittedDifference(value, None, (), target.variable, 0.0, 0.0)
        rows = np.flatnonzero(predictors[name].is_observed)
        column = Column(
            replace(target.variable, kind=Kind.NUMERIC),
            _floats(target, rows) - _floats(predictors[name], rows),
        )
        difference = self.base.fit(predictors.take(rows), column, rng=rng)
        low, high = float(target.data.min()), float(target.data.max())
        return FittedDifference(value, difference, (name,), target.variable, low, high)

    def _of_codes(
        self, predictors: Table, target: Column, rng: np.random.Generator
    ) -> FittedDifference:
        names = self._equal_predictors(predictors, target)
        if not names:
            value = self.base.fit(predictors, target, rng=rng)
            return FittedDifference(value, None, (), target.variable, 0.0, 0.0)
        which = np.zeros(len(target), dtype=np.int32)
        for number, name in reversed([*enumerate(names, start=1)]):
            which[target.data == predictors[name].data] = number
        levels = ("none", *names)
        column = Column(Variable(name="which", kind=Kind.CATEGORICAL, levels=levels), which)
        difference = self.base.fit(_with_agreement(predictors, names), column, rng=rng)
        others = np.flatnonzero(which == 0)
        rows = others if len(others) > 1 else np.arange(len(target))
        value = self.base.fit(predictors.take(rows), target.take(rows), rng=rng)
        return FittedDifference(value, difference, names, target.variable, 0.0, 0.0)

    def _equal_predictors(self, predictors: Table, target: Column) -> tuple[str, ...]:
        """Return the predictors that the code often equals, the largest kappa first."""
        similar, shares = [], _shares_of(target)
        for name in self.of:
            column = predictors.get(name)
            if column is None or column.variable.labels != target.variable.labels:
                continue
            chance = float(shares @ _shares_of(column))
            agree = float((column.data == target.data).mean())
            kappa = (agree - chance) / max(1.0 - chance, EPS)
            if kappa > MIN_KAPPA:
                similar.append((-kappa, name))
        return tuple(name for _, name in sorted(similar))

    def nearest(self, predictors: Table, target: Column) -> str:
        """Return the predictor with the smallest variance of the difference, or an empty text."""
        best, nearest = MAX_VARIANCE_RATIO, ""
        if target.is_coded:
            return nearest
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
