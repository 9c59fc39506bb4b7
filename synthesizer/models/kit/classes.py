"""Classes of a target: its levels, or the spikes and intervals of a number, and their moments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self, TypeVar

import numpy as np
import numpy.typing as npt

from synthesizer.data.table import Column, FloatArray, IntArray, Kind, Table
from synthesizer.models.kit.kernels import Float32Array
from synthesizer.models.kit.numbers import MANY_LEVELS, is_number_like
from synthesizer.models.kit.numerics import check_codes, check_floats, check_rising

AnyFloat = TypeVar("AnyFloat", np.float32, np.float64)

MAX_INTERVALS = 32
"""Intervals of a number, besides those at the borders of groups."""
MIN_INTERVAL_ROWS, MAX_SMALL_INTERVALS, MIN_SMALL_INTERVAL_ROWS = 40, 8, 8
"""Mean number of records of an interval; up to 8 intervals may have 8 records each."""
MIN_SPIKE_ROWS = 20
MIN_SPIKE_SHARE = 0.004
"""A number with 20 records and 0.4 % of all is a spike, with a separate class."""
MAX_BORDERS = 200
"""Levels of a predictor whose borders become borders of intervals."""
MIN_SLOPE, MAX_SLOPE = 1e-4, 50.0
"""Absolute slopes within an interval; below the first, draws are uniform."""
MAX_SD = 4.0
"""Standardised numbers are cut at this distance from their mean."""
MAX_END_SD = 12.0
"""Ends of intervals are cut at this distance, so that slopes inside stay finite."""
MAX_INDICATORS = 40
"""Levels with an indicator in the leaf regression."""
MAX_INDICATOR_VALUES = 12
"""Values of a scale that all have an indicator."""
MAX_SPIKES = 8
MIN_INDICATOR_SHARE = 0.03
"""Share of the records of a spike that has an indicator."""


@dataclass(frozen=True, eq=False)
class TargetClasses:
    """The classes of a target and the values in each.

    Codes, and numbers with at most 60 different values, have a class for each value that occurs.
    For other numbers each spike is a class; the rest lies in intervals with about the same
    number of records. If a predictor groups the number (deciles, age groups), the borders of groups
    are borders of intervals, so that a draw given the group stays in it.

    Examples
    --------
    >>> from synthesizer.data.table import Variable
    >>> wage = Variable(name="wage", kind=Kind.NUMERIC, decimals=0)
    >>> classes = TargetClasses.of(Column(wage, np.arange(200.0) ** 2), Table([], n_rows=200))
    >>> classes.n_classes, classes.classify(np.array([0.0, 39601.0])).tolist()
    (8, [0, 7])
    """

    spikes: FloatArray
    """Values with a separate class, rising; they are the first classes."""
    edges: FloatArray
    """Borders between the intervals, rising."""
    donors: FloatArray
    """Confidential values that are no spikes, sorted; shape (n,)."""
    starts: IntArray
    """Position of the first donor of each interval, and n."""

    def __post_init__(self) -> None:
        for name in ("spikes", "edges"):
            array = getattr(self, name)
            check_floats(name, array, (-1,))
            if len(array):
                check_rising(name, array)
        check_floats("donors", self.donors, (-1,))
        check_codes("starts", self.starts, len(self.donors) + 1)
        complete = len(self.starts) == len(self.edges) + 1 + bool(len(self.donors))
        rising = bool((np.diff(self.starts) > 0).all() and (np.diff(self.donors) >= 0).all())
        if not (
            complete and rising and self.starts[0] == 0 and self.starts[-1] == len(self.donors)
        ):
            raise ValueError("every interval must have donors, sorted")
        if not self.n_classes:
            raise ValueError("there must be at least one class")

    @classmethod
    def of(cls, target: Column, predictors: Table) -> Self:
        """Define the classes of n >= 1 values of a target."""
        values = np.asarray(target.data, dtype=np.float64)
        distinct, counts = np.unique(values, return_counts=True)
        if len(distinct) <= MANY_LEVELS or not is_number_like(target):
            return cls(distinct, np.empty(0), np.empty(0), np.zeros(1, dtype=np.int64))
        spikes = distinct[counts >= max(MIN_SPIKE_ROWS, MIN_SPIKE_SHARE * len(values))]
        donors = np.sort(values[~np.isin(values, spikes)])
        if not len(donors):
            return cls(spikes, np.empty(0), donors, np.zeros(1, dtype=np.int64))
        few = np.clip(len(donors) // MIN_SMALL_INTERVAL_ROWS, 1, MAX_SMALL_INTERVALS)
        n_intervals = int(np.clip(len(donors) // MIN_INTERVAL_ROWS, few, MAX_INTERVALS))
        cuts = np.quantile(donors, np.arange(1, n_intervals) / n_intervals)
        edges = np.unique(np.concatenate([cuts, group_borders(values, predictors)]))
        starts = np.searchsorted(donors, edges)  # a value on an edge lies above it
        first = np.unique(starts, return_index=True)[1]
        inner = first[(starts[first] > 0) & (starts[first] < len(donors))]
        ends = np.concatenate([[0], starts[inner], [len(donors)]])
        return cls(spikes, edges[inner], donors, ends)

    @property
    def n_classes(self) -> int:
        """Number of classes, K."""
        return len(self.spikes) + self.n_intervals

    @property
    def n_intervals(self) -> int:
        """Number of intervals; they are the last classes."""
        return len(self.starts) - 1

    def classify(self, values: FloatArray) -> IntArray:
        """Return the class of each value, shape (n,); the nearest class for new values."""
        numbers = np.asarray(values, dtype=np.float64)
        intervals = len(self.spikes) + np.searchsorted(self.edges, numbers, side="right")
        if not len(self.spikes):
            return np.asarray(intervals)
        above = np.minimum(np.searchsorted(self.spikes, numbers), len(self.spikes) - 1)
        below = np.maximum(above - 1, 0)
        nearer = numbers - self.spikes[below] < self.spikes[above] - numbers
        spikes = np.where(nearer, below, above)
        if not self.n_intervals:
            return np.asarray(spikes)
        return np.asarray(np.where(self.spikes[spikes] == numbers, spikes, intervals))

    def draw(self, classes: IntArray, indices: FloatArray) -> FloatArray:
        """Return a value of each class, shape (n,).

        ``indices`` in [0, 1) choose among the sorted donors of an interval.
        """
        if not self.n_intervals:
            return np.asarray(self.spikes[classes])
        out = np.empty(len(classes))
        is_spike = classes < len(self.spikes)
        out[is_spike] = self.spikes[classes[is_spike]]
        intervals = classes[~is_spike] - len(self.spikes)
        first, last = self.starts[intervals], self.starts[intervals + 1]
        chosen = first + (indices[~is_spike] * (last - first)).astype(np.int64)
        out[~is_spike] = self.donors[chosen]
        return out

    def ranges(self, classes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the smallest and the largest value of the class of each row, shape (n,)."""
        lows = np.concatenate([self.spikes, self.donors[self.starts[:-1]]])
        highs = np.concatenate([self.spikes, self.donors[self.starts[1:] - 1]])
        return lows[classes], highs[classes]

    def open_ranges(self, classes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return `ranges`; the first and the last interval have no end."""
        lows, highs = self.ranges(classes)
        if not self.n_intervals:
            return lows, highs
        lowest, highest = self.donors[[0, -1]]
        return np.where(lows == lowest, -np.inf, lows), np.where(highs == highest, np.inf, highs)

    def end(self, sign: int) -> int:
        """Return the class of the highest interval, or of the lowest if ``sign`` is -1."""
        return self.n_classes - 1 if sign > 0 else len(self.spikes)

    @cached_property
    def centres(self) -> FloatArray:
        """The mean value of each class, shape (K,)."""
        if not self.n_intervals:
            return self.spikes
        sums = np.add.reduceat(self.donors, self.starts[:-1])
        return np.concatenate([self.spikes, sums / np.diff(self.starts)])


def group_borders(values: FloatArray, predictors: Table) -> FloatArray:
    """Return the borders of coded predictors that group the number, such as deciles or age groups.

    A predictor with g levels is such a grouping if its codes change at most 2 g + 3 times when the
    n rows are sorted by the number.
    """
    order = np.argsort(values, kind="stable")
    rising = values[order]
    steps = np.diff(rising) > 0
    borders = [np.empty(0)]
    for column in predictors.columns:
        if not column.is_coded:
            continue
        codes = column.data[order]
        changes = np.diff(codes) != 0
        n_levels = int(np.count_nonzero(np.bincount(codes)))
        if 1 < n_levels <= MAX_BORDERS and np.count_nonzero(changes) <= 2 * n_levels + 3:
            at = np.flatnonzero(changes & steps)
            borders.append((rising[at] + rising[at + 1]) / 2)
    return np.concatenate(borders)


@dataclass(frozen=True, eq=False)
class TargetMoments:
    """The moments of a target in the leaf regression.

    Two levels have one contrast, unordered levels an indicator for each class. Ordered levels and
    numbers with few values also have their standardised value, in front. Other numbers have their
    standardised value, three polynomials of the rank, the square, and indicators of large spikes.
    The likelihood equations of this exponential family keep the products of moments and predictors
    as they are in the data.
    """

    values: Float32Array
    """Moments of each class, shape (K, r)."""
    across: Float32Array
    """Their growth across an interval, 0 for other classes; (K, r)."""
    n_linear: int
    """Number of moments, the first ones, that are targets of researchers' regressions."""

    def __post_init__(self) -> None:
        check_floats("values of moments", self.values, (-1, -1))
        check_floats("growth of moments", self.across, self.values.shape)

    @classmethod
    def of(cls, classes: TargetClasses, target: Column, labels: IntArray) -> Self:
        """Choose the moments for n confidential values; ``labels`` are the classes of rows."""
        n_classes = classes.n_classes
        shares = np.bincount(labels, minlength=n_classes) / len(labels)
        frequent = np.argsort(-shares, kind="stable")
        if n_classes == 2:  # of length 1, as two indicators with opposite coefficients
            return cls._fixed(np.array([[0.5**0.5], [-(0.5**0.5)]]), 1)
        if not is_scale(target):
            chosen = np.sort(frequent[:MAX_INDICATORS])
            return cls._fixed(np.eye(n_classes)[:, chosen], len(chosen))
        observed = np.ones(n_classes, dtype=bool)
        if target.is_coded:
            observed = classes.centres < len(target.variable.levels)
        value = standardised(classes.centres, shares * observed) * observed
        if n_classes <= MAX_INDICATOR_VALUES:
            return cls._fixed(np.column_stack([value, np.eye(n_classes)]), 1)
        order = np.argsort(classes.centres, kind="stable")
        above = np.empty(n_classes)
        above[order] = np.cumsum(shares[order])
        large = [k for k in frequent[:MAX_SPIKES] if shares[k] >= MIN_INDICATOR_SHARE]
        spikes = np.eye(n_classes)[:, large]
        curves = _curves(value, above - shares / 2)
        lows, highs = classes.ranges(np.arange(n_classes))
        scale = _slope_of(classes.centres, value)
        low, high = (value + scale * (ends - classes.centres) for ends in (lows, highs))
        low = _curves(np.clip(low, -MAX_END_SD, MAX_END_SD), above - shares)
        high = _curves(np.clip(high, -MAX_END_SD, MAX_END_SD), above)
        across = (high - low) * (highs > lows)[:, None]
        return cls(
            np.column_stack([curves, spikes]).astype(np.float32),
            np.column_stack([across, np.zeros_like(spikes)]).astype(np.float32),
            1,
        )

    @classmethod
    def _fixed(cls, values: FloatArray, n_linear: int) -> Self:
        """Return moments of classes that are single values."""
        return cls(values.astype(np.float32), np.zeros(values.shape, dtype=np.float32), n_linear)


@dataclass(frozen=True, eq=False)
class JoinedClasses:
    """The classes that a moment changes, and one in place of all others: the same likelihood."""

    is_changed: npt.NDArray[np.bool_]
    """Whether a moment, or the number of the others, keeps each class, shape (K,)."""

    @classmethod
    def of(cls, moments: Float32Array) -> Self:
        """Join the classes, shape (K, r), if two or more have no moment."""
        is_changed = np.asarray(moments.any(axis=1))
        return cls(is_changed if np.count_nonzero(~is_changed) > 1 else np.ones_like(is_changed))

    def classes(self, classes: IntArray) -> IntArray:
        """Return the joined class of each row, shape (n,)."""
        numbers = np.cumsum(self.is_changed)
        return np.where(self.is_changed, numbers - 1, numbers[-1])[classes]

    def moments(self, moments: Float32Array) -> Float32Array:
        """Return the moments of the joined classes, shape (k, r)."""
        return np.concatenate([moments[self.is_changed], moments[~self.is_changed][:1]])

    def offsets(self, offsets: Float32Array) -> Float32Array:
        """Return the log-probabilities of the joined classes, shape (n, k)."""
        if self.is_changed.all():
            return offsets
        rest = offsets[:, ~self.is_changed]
        largest = rest.max(axis=1, keepdims=True)
        together = np.exp(rest - largest).sum(axis=1, keepdims=True)
        return np.column_stack([offsets[:, self.is_changed], largest + np.log(together)])


def _curves(value: FloatArray, rank: FloatArray) -> FloatArray:
    """Return the moments of standardised values and their ranks, shape (K, 5)."""
    return np.column_stack([value, *rank_moments(rank), np.clip(value**2 / 2, 0.0, 6.0)])


def _slope_of(centres: FloatArray, value: FloatArray) -> float:
    """Return the scale of `standardised`, in standard deviations a unit."""
    inside = np.flatnonzero(np.abs(value) < MAX_SD)
    ends = inside[[np.argmin(centres[inside]), np.argmax(centres[inside])]]
    width = float(centres[ends[1]] - centres[ends[0]])
    return float(value[ends[1]] - value[ends[0]]) / width if width > 0 else 0.0


def exponential(uniform: FloatArray, slopes: FloatArray) -> FloatArray:
    """Return numbers in [0, 1) with density proportional to exp(slope u), from uniform ones, (n,).

    Examples
    --------
    >>> exponential(np.array([0.5, 0.5]), np.array([0.0, 2.0])).round(2).tolist()
    [0.5, 0.72]
    """
    steep = np.abs(slopes) > MIN_SLOPE
    slope = np.clip(np.where(steep, slopes, 1.0), -MAX_SLOPE, MAX_SLOPE)
    sloped = np.log1p(uniform * np.expm1(slope)) / slope
    return np.asarray(np.where(steep, np.clip(sloped, 0.0, 1.0 - 1e-12), uniform))


def evened(positions: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return positions in [0, 1) that are spread evenly, in the same order, shape (n,).

    Rows of the highest interval have steep slopes, which would draw too many of its extremes.
    """
    order = np.argsort(positions, kind="stable")
    out = np.empty(len(positions))
    out[order] = (np.arange(len(positions)) + rng.random(len(positions))) / len(positions)
    return out


def is_scale(target: Column) -> bool:
    """Whether the values of a target are numbers or have an order."""
    return not target.is_coded or target.variable.kind is Kind.ORDERED


def standardised(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return values in standard deviations from their weighted mean, cut at 4, shape (n,)."""
    total = float(weights.sum()) or 1.0
    mean = float(weights @ values) / total
    spread = float(weights @ (values - mean) ** 2 / total) ** 0.5
    return np.asarray(np.clip((values - mean) / (spread or 1.0), -MAX_SD, MAX_SD))


def rank_moments(middle: npt.NDArray[AnyFloat]) -> list[npt.NDArray[AnyFloat]]:
    """Return the first three Legendre polynomials of ranks in [0, 1], with variance about 1."""
    rank = 2 * middle - 1
    square = rank * rank
    return [1.7 * rank, 3.3 * square - 1.1, (6.5 * square - 3.9) * rank]
