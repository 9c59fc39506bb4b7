"""Features of predictors in the leaf regression, and hazards for times to an event.

The score of a Cox model with log-hazard b'x compares, for each x, the events with the sum of
x exp(b'x) H(t) over all rows, where H is the cumulative baseline hazard (Cox 1972, JRSS B 34;
Breslow 1974, Biometrics 30). The model that draws the event keeps the first part. The leaf
regression keeps the products of the time and its features. So it keeps the sum, as far as H is
linear in t, if its features include x exp(b'x). White and Royston (2009, Statistics in Medicine 28)
impute by the same argument.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from synthesizer.data.codes import positions_in
from synthesizer.data.table import (
    Column,
    FloatArray,
    IntArray,
    Kind,
    Table,
    Variable,
    once_a_column,
)
from synthesizer.data.values import finite_number
from synthesizer.models.kit.classes import MAX_SD, rank_moments, standardised
from synthesizer.models.kit.kernels import Float32Array
from synthesizer.models.kit.numerics import check_codes, check_floats, check_rising, newton, product
from synthesizer.models.kit.predictors import consecutive

MIN_LEVEL_ROWS = 20
"""Levels with fewer records share an indicator, or have none."""
MAX_LEVELS = 30
"""Levels of a predictor with an indicator."""
MAX_COLUMNS = 720
"""Columns of all predictors: the time of a fit grows with their cube."""
MIN_LEVELS = 5
MAX_LINEAR_LEVELS = 20
"""Up to this number of indicators, researchers' regressions may use the predictor."""
MAX_SPIKES = 8
MIN_SPIKE_ROWS = 30
MIN_SPIKE_SHARE = 0.02
N_MOMENTS = 5
"""Columns of a number besides its missing codes and spikes."""
N_QUANTILES = 512
"""Ranks are interpolated between these quantiles."""
MIN_GAP = 1e-300
"""Nearer numbers are equal: the slope between them would be infinite."""
MIN_NUMBER_SHARE = 0.8
"""Levels have a score if this share of them are numbers."""


@dataclass(frozen=True, eq=False)
class Levels:
    """The columns of a coded predictor: indicators, and a score if levels are on a scale."""

    name: str
    indicator_of: npt.NDArray[np.int32]
    """Number of the indicator of each code, -1 for none; shape (c,)."""
    score: FloatArray | None
    """Standardised score of each code, 0 for codes off the scale; (c,)."""

    def __post_init__(self) -> None:
        check_codes("indicator_of", self.indicator_of, len(self.indicator_of), least=-1)
        if self.score is not None:
            check_floats("score", self.score, self.indicator_of.shape)

    @classmethod
    def of(cls, column: Column, most: int = MAX_LEVELS) -> Self:
        """Learn the columns of a confidential predictor: ``most`` indicators and one for others."""
        variable, codes = column.variable, np.asarray(column.data)
        counts = np.bincount(codes, minlength=variable.n_codes)
        order = np.argsort(-counts, kind="stable")
        chosen = order[counts[order] >= MIN_LEVEL_ROWS][:most]
        indicator_of = np.full(variable.n_codes, -1, dtype=np.int32)
        indicator_of[chosen] = np.arange(len(chosen))
        rest = indicator_of < 0
        n_columns = len(chosen)
        if counts[rest].sum() >= MIN_LEVEL_ROWS:
            indicator_of[rest] = n_columns
            n_columns += 1
        if n_columns == 1:
            indicator_of[:] = -1
        scale = _scale(variable, chosen)
        score = None
        if scale is not None:
            known = np.isfinite(scale)
            filled = np.where(known, scale, 0.0)
            score = standardised(filled, np.asarray(counts * known, dtype=np.float64)) * known
        return cls(variable.name, indicator_of, score)

    @property
    def n_indicators(self) -> int:
        """Number of columns of zeros and ones."""
        return int(self.indicator_of.max(initial=-1)) + 1

    @property
    def n_columns(self) -> int:
        """Number of columns in all."""
        return self.n_indicators + (self.score is not None)

    @property
    def linear(self) -> npt.NDArray[np.bool_]:
        """Which columns a researcher's regression may use, shape (n_columns,)."""
        linear = np.full(self.n_columns, self.n_indicators <= MAX_LINEAR_LEVELS)
        if self.score is not None:
            linear[-1] = True
        return linear

    def fill(self, column: Column, out: Float32Array) -> None:
        """Write the columns into zeros of shape (n, n_columns)."""
        codes = np.asarray(column.data)
        numbers = self.indicator_of[codes]
        rows = np.flatnonzero(numbers >= 0)
        out[rows, numbers[rows]] = 1.0
        if self.score is not None:
            out[:, -1] = self.score[codes]


@dataclass(frozen=True, eq=False)
class Number:
    """The columns of a numeric predictor.

    Its standardised value and the square, three polynomials of its rank, and indicators of its
    missing codes and of its spikes. A missing value has zeros in all other columns.
    """

    name: str
    mean: float
    """Mean of the observed values."""
    spread: float
    """Their standard deviation, above 0."""
    quantiles: FloatArray
    """Quantiles of the observed values, rising."""
    ranks: FloatArray
    """Rank of each quantile, in [0, 1]."""
    spikes: FloatArray
    """Values of many records."""
    n_missing: int
    """Number of missing codes."""

    def __post_init__(self) -> None:
        check_floats("quantiles", self.quantiles, (-1,))
        check_floats("spikes", self.spikes, (-1,))
        check_rising("quantiles", self.quantiles)
        check_floats("ranks", self.ranks, self.quantiles.shape)
        if (np.diff(self.ranks) < 0).any() or self.ranks[0] < 0 or self.ranks[-1] > 1:
            raise ValueError("ranks must rise within 0 and 1")
        if not (math.isfinite(self.mean) and 0 < self.spread < math.inf and self.n_missing >= 0):
            raise ValueError("mean and spread must be finite numbers, the spread above 0")

    @classmethod
    def of(cls, column: Column) -> Self:
        """Learn the columns of a confidential predictor."""
        values = np.asarray(column.data[column.is_observed], dtype=np.float64)
        n_missing = len(column.variable.missing)
        if not len(values):
            return cls(column.name, 0.0, 1.0, np.zeros(1), np.zeros(1), np.empty(0), n_missing)
        rising = np.sort(values)
        starts = np.flatnonzero(np.append(True, np.diff(rising) > MIN_GAP))
        counts = np.diff(np.append(starts, len(rising)))
        least = max(MIN_SPIKE_ROWS, MIN_SPIKE_SHARE * len(column))
        large = np.argsort(-counts, kind="stable")[:MAX_SPIKES]
        large = large[counts[large] >= least] if len(counts) > 2 else large[:0]
        middle = (starts + counts / 2) / len(rising)
        chosen = np.arange(len(starts))
        if len(starts) > N_QUANTILES:  # evenly spaced in rank, not in value
            spaced = np.linspace(middle[0], middle[-1], N_QUANTILES)
            chosen = np.unique(np.searchsorted(middle, spaced))
        mean, spread = float(values.mean()), float(values.std())
        return cls(
            column.name,
            mean,
            spread if spread > 1e-12 * abs(mean) else 1.0,
            rising[starts[chosen]],
            middle[chosen],
            np.sort(rising[starts[large]]),
            n_missing,
        )

    @cached_property
    def n_moments(self) -> int:
        """Number of columns of values and ranks; all are the same with two values."""
        return N_MOMENTS if len(self.quantiles) > 2 else 1

    @property
    def n_columns(self) -> int:
        """Number of columns in all."""
        return self.n_moments + self.n_missing + len(self.spikes)

    @property
    def linear(self) -> npt.NDArray[np.bool_]:
        """Which columns a researcher's regression may use, shape (n_columns,)."""
        linear = np.zeros(self.n_columns, dtype=bool)
        linear[0] = True
        linear[self.n_moments : self.n_moments + self.n_missing] = True
        return linear

    def fill(self, column: Column, out: Float32Array) -> None:
        """Write the columns into zeros of shape (n, n_columns)."""
        moments, states = measured(column, self)
        for j, moment in enumerate(moments[: self.n_moments]):
            out[:, j] = moment
        for state in range(1, self.n_columns - self.n_moments + 1):
            out[:, self.n_moments - 1 + state] = states == state


@once_a_column
def _learnt(column: Column, most: int | None) -> Levels | Number:
    return Number.of(column) if most is None else Levels.of(column, most)


@once_a_column
def filled(column: Column, term: Levels | Number) -> Float32Array:
    """Return the columns of a predictor, not centred, shape (n, n_columns)."""
    out = np.zeros((len(column), term.n_columns), dtype=np.float32)
    term.fill(column, out)
    return out


@once_a_column
def measured(column: Column, term: Number) -> tuple[list[Float32Array], npt.NDArray[np.int32]]:
    """Return the moments of n rows, each of shape (n,), and the number of their indicator.

    Indicators are counted from 1: missing codes, then spikes. 0 if a row has none.
    """
    missing = None if column.states is None else np.flatnonzero(column.states)
    values = np.array(column.data, dtype=np.float64)
    if missing is not None:
        values[missing] = term.mean
    value = ((values - term.mean) / term.spread).astype(np.float32)
    np.clip(value, -MAX_SD, MAX_SD, out=value)
    rank = np.interp(values, term.quantiles, term.ranks).astype(np.float32)
    moments = [value, *rank_moments(rank), np.minimum(value**2 / 2, np.float32(4))]
    spike = positions_in(term.spikes, values)
    states = np.where(spike >= 0, 1 + term.n_missing + spike, 0).astype(np.int32)
    if missing is not None and column.states is not None:
        for moment in moments:
            moment[missing] = 0.0
        states[missing] = column.states[missing]
    return moments, states


@dataclass(frozen=True, eq=False)
class Features:
    """A column of ones, the columns of all predictors, and products, centred at their means.

    A product multiplies a column of a moderator by one of another predictor, so that the relation
    with that predictor may differ with the moderator. Both are columns that regressions use.
    """

    terms: tuple[Levels | Number, ...]
    means: Float32Array
    """Means of the columns in the fit, shape (q,)."""
    products: tuple[tuple[int, int], ...] = ()
    """Positions of the terms that are multiplied, the moderator first."""

    def __post_init__(self) -> None:
        if any(not 0 <= n < len(self.terms) for pair in self.products for n in pair):
            raise ValueError("products must name two terms")
        check_floats("means", self.means, (self.n_columns,))

    @classmethod
    def fit(cls, predictors: Table, moderators: Sequence[str] = ()) -> tuple[Self, Float32Array]:
        """Learn the columns of n rows of predictors; also return them, shape (n, q).

        The ``moderators`` that are predictors are multiplied by the others, in this order. Products
        that would exceed `MAX_COLUMNS` columns are left out.
        """
        share = MAX_COLUMNS // max(len(predictors), 1)
        most = min(MAX_LEVELS, max(MIN_LEVELS, share))
        terms = tuple(
            _learnt(column, most if column.is_coded else None) for column in predictors.columns
        )
        width = 1 + sum(term.n_columns for term in terms)
        products = []
        for pair in _pairs(predictors.names, moderators):
            size = _size(terms, pair)
            if size and width + size <= MAX_COLUMNS:
                products.append(pair)
                width += size
        raw = cls(terms, np.zeros(width, dtype=np.float32), tuple(products))
        matrix = raw.matrix(predictors)
        means = product(np.full(len(matrix), 1 / max(len(matrix), 1), dtype=np.float32), matrix)
        means[0] = 0.0
        matrix -= means
        return cls(terms, means, raw.products), matrix

    @cached_property
    def n_columns(self) -> int:
        """Number of columns, q."""
        sizes = (_size(self.terms, pair) for pair in self.products)
        return 1 + sum(term.n_columns for term in self.terms) + sum(sizes)

    @property
    def groups(self) -> list[slice]:
        """The column of ones, then the columns of each predictor and product."""
        columns = (columns for _, columns in (*self._columns, *self.columns_of_products))
        return [slice(0, 1), *columns]

    @property
    def linear(self) -> npt.NDArray[np.bool_]:
        """Which columns a researcher's regression may use, shape (q,)."""
        out = np.ones(self.n_columns, dtype=bool)
        for term, columns in self._columns:
            out[columns] = term.linear
        return out

    def are_of(self, name: str) -> npt.NDArray[np.bool_]:
        """Whether each column belongs to a predictor, shape (q,)."""
        out = np.zeros(self.n_columns, dtype=bool)
        for term, columns in self._columns:
            out[columns] = term.name == name
        for pair, columns in self.columns_of_products:
            out[columns] = name in {self.terms[n].name for n in pair}
        return out

    def matrix(self, predictors: Table) -> Float32Array:
        """Return the columns of some rows, shape (n, q)."""
        out = np.zeros((predictors.n_rows, self.n_columns), dtype=np.float32)
        out[:, 0] = 1.0
        for term, columns in self._columns:
            out[:, columns] = filled(predictors[term.name], term)
        first, second = self._factors
        if len(first):
            out[:, -len(first) :] = out[:, first] * out[:, second]
        if self.means.any():
            out -= self.means
        return out

    @cached_property
    def _factors(self) -> tuple[IntArray, IntArray]:
        """Return the columns of moderators and of the other factors of all products, each (p,)."""
        numbers = {term.name: np.arange(at.start, at.stop) for term, at in self._columns}
        factors: list[tuple[IntArray, IntArray]] = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
        for pair, _ in self.columns_of_products:
            moderator, other = (self.terms[n] for n in pair)
            first = numbers[moderator.name][multiplied_columns(moderator)]
            second = numbers[other.name][other.linear]
            factors.append((np.repeat(first, len(second)), np.tile(second, len(first))))
        first, second = (np.concatenate(side) for side in zip(*factors, strict=True))
        return first, second

    @property
    def columns_of_terms(self) -> Iterator[tuple[int, slice]]:
        """Positions of the terms that have columns, and their columns."""
        numbers = {term.name: number for number, term in enumerate(self.terms)}
        return ((numbers[term.name], columns) for term, columns in self._columns)

    @property
    def columns_of_products(self) -> Iterator[tuple[tuple[int, int], slice]]:
        """Positions of the terms of each product, the moderator first, and its columns."""
        start = 1 + sum(term.n_columns for term in self.terms)
        sizes = (_size(self.terms, pair) for pair in self.products)
        return zip(self.products, consecutive(start, sizes), strict=True)

    @cached_property
    def _columns(self) -> list[tuple[Levels | Number, slice]]:
        """Return the terms that have columns, and their columns."""
        columns = consecutive(1, (term.n_columns for term in self.terms))
        return [pair for pair in zip(self.terms, columns, strict=True) if pair[0].n_columns]


def _pairs(names: Sequence[str], moderators: Sequence[str]) -> list[tuple[int, int]]:
    """Return the positions of each moderator and every other predictor, no pair twice."""
    pairs: dict[frozenset[int], tuple[int, int]] = {}
    for moderator in moderators:
        first = names.index(moderator) if moderator in names else None
        for other in range(len(names)):
            if first is not None and other != first:
                pairs.setdefault(frozenset((first, other)), (first, other))
    return list(pairs.values())


def multiplied_columns(term: Levels | Number) -> npt.NDArray[np.bool_]:
    """Return which columns of a moderator multiply others: all but the most frequent level."""
    chosen = term.linear.copy()
    if isinstance(term, Levels) and len(chosen):
        chosen[0] = False
    return chosen


def _size(terms: Sequence[Levels | Number], pair: tuple[int, int]) -> int:
    """Return the number of columns of a product."""
    moderator, other = (terms[n] for n in pair)
    return int(multiplied_columns(moderator).sum() * other.linear.sum())


def _scale(variable: Variable, frequent: npt.NDArray[np.integer]) -> FloatArray | None:
    """Return the score of each code on a scale, NaN for codes off it; None without a scale."""
    if variable.kind is Kind.ORDERED and len(variable.levels) > 2:
        indices = np.arange(variable.n_codes, dtype=np.float64)
        indices[len(variable.levels) :] = np.nan
        return indices
    if len(frequent) <= 5:
        return None
    numbers = np.array([_number(label) for label in variable.labels])
    return numbers if np.isfinite(numbers[frequent]).mean() > MIN_NUMBER_SHARE else None


def _number(label: str) -> float:
    number = finite_number(label)
    return math.nan if number is None or abs(number) >= 1e100 else number


def max_columns(predictors: Table, moderators: Sequence[str] = ()) -> int:
    """Return the largest possible number of columns of the features of a table."""
    plain = 1 + sum(
        min(column.variable.n_codes, MAX_LEVELS) + 2
        if column.is_coded
        else 5 + len(column.variable.missing) + MAX_SPIKES
        for column in predictors.columns
    )
    return max(plain, MAX_COLUMNS) if any(name in predictors for name in moderators) else plain


MAX_HAZARD_ROWS = 20_000
"""Rows that hazards are learnt from."""
HAZARD_RIDGE = 1.0
MAX_OUTCOMES = 4
"""Outcomes with a hazard: the most frequent, with at least `MIN_LEVEL_ROWS` rows."""
MAX_LOG_HAZARD = 4.0
"""Log-hazards are cut at this distance from their mean."""


@dataclass(frozen=True, eq=False)
class Hazards:
    """Features, and their products with the hazard of each outcome.

    An outcome is a level of the event variable: the event, the end of observation, or a competing
    risk. Every outcome has a Cox model, so users need not declare which level is the event.
    """

    features: Features
    log_hazards: Float32Array
    """Coefficients of the features, shape (q, outcomes)."""
    means: Float32Array
    """Means of the products in the fit, shape (products,)."""
    spreads: Float32Array
    """Their standard deviations, above 0."""

    def __post_init__(self) -> None:
        check_floats("log_hazards", self.log_hazards, (self.features.n_columns, -1))
        n_products = self._n_linear * self.log_hazards.shape[1]
        check_floats("means", self.means, (n_products,))
        check_floats("spreads", self.spreads, (n_products,))
        if not (self.spreads > 0).all():
            raise ValueError("spreads must be above 0")

    @classmethod
    def fit(
        cls,
        features: Features,
        columns: Float32Array,
        event: IntArray,
        is_event: npt.NDArray[np.bool_],
        times: FloatArray,
        rng: np.random.Generator,
    ) -> tuple[Self, Float32Array]:
        """Learn the hazards of n times; also return all columns, shape (n, q + products).

        ``columns`` are those of ``features``, ``event`` is the outcome of each row. ``is_event``
        marks the columns of the event, which its hazard does not use.
        """
        counts = np.bincount(event)
        outcomes = np.argsort(-counts, kind="stable")[:MAX_OUTCOMES]
        outcomes = np.sort(outcomes[counts[outcomes] >= MIN_LEVEL_ROWS])
        rows: IntArray = np.arange(len(times))
        if len(times) > MAX_HAZARD_ROWS:
            rows = np.sort(rng.choice(len(times), size=MAX_HAZARD_ROWS, replace=False))
        log_hazards = np.zeros((features.n_columns, len(outcomes)), dtype=np.float32)
        used = features.linear & ~is_event
        used[0] = False  # the column of ones
        chosen = columns[np.ix_(rows, np.flatnonzero(used))].astype(np.float64)
        for j, outcome in enumerate(outcomes):
            log_hazards[used, j] = cox(chosen, times[rows], event[rows] == outcome, HAZARD_RIDGE)
        size = int(features.linear.sum()) * len(outcomes)
        unscaled = cls(features, log_hazards, np.zeros(size, np.float32), np.ones(size, np.float32))
        products = unscaled._products(columns)
        means = products.mean(axis=0, dtype=np.float64).astype(np.float32)
        spreads = products.std(axis=0, dtype=np.float64).astype(np.float32)
        fitted = cls(features, log_hazards, means, np.where(spreads > 0, spreads, np.float32(1)))
        return fitted, np.hstack([columns, fitted._products(columns)])

    @property
    def terms(self) -> tuple[Levels | Number, ...]:
        """The predictors."""
        return self.features.terms

    @property
    def n_columns(self) -> int:
        """Number of columns, products included."""
        return self.features.n_columns + len(self.means)

    @property
    def groups(self) -> list[slice]:
        """The columns of each predictor, and the products of each outcome."""
        starts = range(self.features.n_columns, self.n_columns, self._n_linear)
        return [*self.features.groups, *(slice(at, at + self._n_linear) for at in starts)]

    @property
    def linear(self) -> npt.NDArray[np.bool_]:
        """Which columns a researcher's regression may use; Cox models use the products."""
        return np.append(self.features.linear, np.ones(len(self.means), dtype=bool))

    def matrix(self, predictors: Table) -> Float32Array:
        """Return the columns of some rows, shape (n, n_columns)."""
        columns = self.features.matrix(predictors)
        return np.hstack([columns, self._products(columns)])

    @property
    def _n_linear(self) -> int:
        return int(self.features.linear.sum())

    def _products(self, columns: Float32Array) -> Float32Array:
        hazards = np.exp(np.clip(columns @ self.log_hazards, -MAX_LOG_HAZARD, MAX_LOG_HAZARD))
        linear = columns[:, self.features.linear]
        products = (hazards[:, :, None] * linear[:, None, :]).reshape(len(columns), -1)
        return np.asarray((products - self.means) / self.spreads, dtype=np.float32)


def cox(
    columns: FloatArray, times: FloatArray, event: npt.NDArray[np.bool_], ridge: float
) -> FloatArray:
    """Return the coefficients of a Cox model, shape (q,): Breslow's method for ties, normal prior.

    The curvature is that of a Poisson regression on the cumulative hazard, an upper bound.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(4000, 1))
    >>> times = rng.exponential(size=4000) / np.exp(0.5 * x[:, 0])
    >>> cox(x, np.minimum(times, 1.0), times < 1.0, 0.0).round(1).tolist()
    [0.5]
    """
    order = np.argsort(times, kind="stable")
    x, rising, died = columns[order], times[order], event[order].astype(np.float64)
    first = np.searchsorted(rising, rising, side="left")
    last = np.searchsorted(rising, rising, side="right") - 1

    def objective(point: FloatArray) -> tuple[float, FloatArray, FloatArray] | None:
        scores = x @ point
        if np.abs(scores).max(initial=0.0) > 50:
            return None
        hazard = np.exp(scores)
        at_risk = np.cumsum(hazard[::-1])[::-1][first]
        expected = hazard * np.cumsum(died / at_risk)[last]
        loss = died @ (np.log(at_risk) - scores) + 0.5 * ridge * point @ point
        gradient = x.T @ (expected - died) + ridge * point
        curvature = (x * expected[:, None]).T @ x + (ridge + 1e-9) * np.eye(len(point))
        return float(loss), gradient, curvature

    return newton(objective, np.zeros(columns.shape[1]), tolerance=1e-6)
