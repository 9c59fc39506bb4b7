"""Numbers that give nobody away: what few persons hold is drawn anew between its neighbours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from synthesizer.data.options import NotNegativeCount, options
from synthesizer.data.table import Column, FloatArray, IntArray, Kind
from synthesizer.models.base import ConditionalModel
from synthesizer.models.kit.numerics import check_floats, check_rising
from synthesizer.models.kit.regression import decimals_of

MANY_LEVELS = 60
"""Ordered codes with more levels are treated as numbers."""
COARSEST = 9
"""Numbers are told to be multiples of at most 10 to this power."""
ATTEMPTS = 100
"""Steps of the grid in which a number that nobody, or enough persons, hold is sought."""


@dataclass(frozen=True, eq=False)
class SafeNumbers:
    """The distribution of a number, by which values of few persons are replaced.

    A value that at least k records hold is common and stays: spikes and heaps survive. Any other
    is replaced by one that is interpolated between the k-th records on either side of it in the
    order of all records, rounded to the precision of the value itself (43,000 stays a multiple of
    1,000), and never beyond the k-th smallest and largest record. Where rounding gives a number
    that fewer than k records hold, the nearest on the grid that nobody or enough records hold is
    taken. So no number leaves that singles out a person or a small group (the attack of Giomi et
    al. 2023 by one column). The bounds are those of top- and bottom-coding by k records
    (Hundepool et al. 2012, Statistical Disclosure Control, section 3.3).

    Examples
    --------
    >>> ages = np.repeat([20.0, 30.0, 40.0], 5)
    >>> safe = SafeNumbers.of_values(np.append(ages, [31.0, 99.0]), k=5, decimals=0)
    >>> drawn = safe.replace(np.array([20.0, 31.0, 99.0]), np.random.default_rng(1))
    >>> bool(drawn[0] == 20.0), bool(drawn.max() <= 40.0), 31.0 in drawn.tolist()
    (True, True, False)
    """

    values: FloatArray
    """Distinct confidential values, rising; shape (v,)."""
    counts: IntArray
    """Records that hold each, at least 1; shape (v,)."""
    k: int
    """Records that must share a number for it to leave."""
    decimals: int | None
    """Decimals of the file; None where numbers have no fixed precision."""

    def __post_init__(self) -> None:
        check_floats("values", self.values, (-1,))
        check_rising("values", self.values)
        check_floats("counts", self.counts, self.values.shape)
        if (self.counts < 1).any() or self.k < 1:
            raise ValueError("counts and k must be at least 1")

    @classmethod
    def of(cls, target: Column, k: int) -> Self | None:
        """Learn the distribution of n observed values; None where codes have no distances."""
        if k < 1 or not len(target) or not is_number_like(target):
            return None
        decimals = 0 if target.is_coded else decimals_of(target)
        return cls.of_values(np.asarray(target.data, dtype=np.float64), k=k, decimals=decimals)

    @classmethod
    def of_values(cls, values: FloatArray, *, k: int, decimals: int | None) -> Self:
        """Learn the distribution of finite numbers, shape (n,), n >= 1."""
        distinct, counts = np.unique(values, return_counts=True)
        return cls(distinct, counts, k, decimals)

    @cached_property
    def _ends(self) -> IntArray:
        """Records up to each value."""
        return np.cumsum(self.counts)

    @cached_property
    def _common(self) -> FloatArray:
        """Values that enough records hold."""
        return self.values[self.counts >= self.k]

    @cached_property
    def _rare(self) -> FloatArray:
        """Values that fewer records hold."""
        return self.values[self.counts < self.k]

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """The k-th smallest and the k-th largest record; the median where they cross."""
        n = int(self._ends[-1])
        if n < 2 * self.k:
            middle = float(self._at(np.array([(n - 1) / 2]))[0])
            return middle, middle
        low, high = self._at(np.array([self.k - 1.0, n - float(self.k)]))
        return float(low), float(high)

    def replace(
        self,
        values: FloatArray,
        rng: np.random.Generator,
        ranges: tuple[FloatArray, FloatArray] | None = None,
    ) -> FloatArray:
        """Return values that were copied from the data, shape (n,), those of few persons anew.

        ``ranges`` holds the smallest and the largest number that each may become.
        """
        rare = np.flatnonzero(_among(values, self._rare))
        if not len(rare):
            return values
        out = np.array(values, dtype=np.float64)
        lows, highs = (np.broadcast_to(bound, len(rare)) for bound in self.bounds)
        if ranges is not None:
            narrow_low, narrow_high = ranges[0][rare], ranges[1][rare]
            # a range that lies beyond the bounds gives way to them
            lows = np.minimum(np.maximum(lows, narrow_low), highs)
            highs = np.maximum(np.minimum(highs, narrow_high), lows)
        out[rare] = self._anew(out[rare], lows, highs, rng)
        return out

    def _anew(
        self, values: FloatArray, low: FloatArray, high: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Draw a number near each of some confidential values, within its range."""
        places = np.searchsorted(self.values, values)
        last = self._ends[places] - 1.0
        first = last - self.counts[places] + 1.0
        uniform = rng.random(len(values))
        drawn = self._at(first - self.k + uniform * (last - first + 2 * self.k))
        drawn = np.clip(drawn, low, high)
        if self.decimals is None:
            return self._settled(drawn, 0.0, low, high)
        fine = 10.0**-self.decimals
        for step in (steps_of(values, self.decimals), np.full(len(values), fine)):
            rounded = np.round(np.round(drawn / step) * step, self.decimals)
            inside = (rounded >= low) & (rounded <= high)
            drawn = np.where(inside, rounded, drawn)
        return self._settled(drawn, fine, low, high)

    def _settled(
        self, drawn: FloatArray, step: float, low: FloatArray, high: FloatArray
    ) -> FloatArray:
        """Move numbers that few records hold to the nearest that nobody or enough hold."""
        out = drawn
        for i in range(1, ATTEMPTS + 1) if step else ():
            for sign in (1, -1):
                held = np.flatnonzero(_among(out, self._rare))
                if not len(held):
                    return out
                moved = np.round(drawn[held] + sign * i * step, self.decimals or 0)
                good = (moved >= low[held]) & (moved <= high[held]) & ~_among(moved, self._rare)
                out = out.copy()
                out[held[good]] = moved[good]
        held = np.flatnonzero(_among(out, self._rare))
        if len(held) and len(self._common):
            out = out.copy()
            out[held] = _nearest(self._common, out[held])
        return out

    def _at(self, ranks: FloatArray) -> FloatArray:
        """Return the number at each rank of the records, from 0, interpolated; shape (n,)."""
        ranks = np.clip(ranks, 0, self._ends[-1] - 1)
        below = np.floor(ranks)
        low = self.values[np.searchsorted(self._ends, below, side="right")]
        above = np.minimum(below + 1, self._ends[-1] - 1)
        high = self.values[np.searchsorted(self._ends, above, side="right")]
        return np.asarray(low + (ranks - below) * (high - low))


@options
class DonorModel(ConditionalModel):
    """Options of models that copy values of donors.

    Parameters
    ----------
    safe : int
        Least records that must share a number for it to be drawn, >= 0; a rarer one is replaced by
        one near it, as are those of dates and of ordered codes with more than 60 levels; see
        `SafeNumbers`. 0 copies all numbers as they are.
    """

    told_options: ClassVar[tuple[str, ...]] = ("safe",)

    safe: NotNegativeCount = 5

    def safe_numbers(self, target: Column) -> SafeNumbers | None:
        """Return what replaces rare numbers of the target; None where nothing does."""
        return SafeNumbers.of(target, self.safe)

    @property
    def makes_new_values(self) -> bool:
        """Whether rare numbers are replaced; see `ConditionalModel.makes_new_values`."""
        return self.safe > 0 or super().makes_new_values


def is_number_like(target: Column) -> bool:
    """Whether values are numbers, dates, or ordered codes with very many levels that occur."""
    if not target.is_coded:
        return True
    is_ordered = target.variable.kind is Kind.ORDERED and not target.variable.missing
    return is_ordered and int(np.count_nonzero(np.bincount(target.data))) > MANY_LEVELS


def made_safe(column: Column, numbers: SafeNumbers | None, rng: np.random.Generator) -> Column:
    """Return a drawn column with its rare numbers replaced."""
    if numbers is None:
        return column
    safe = numbers.replace(np.asarray(column.data, dtype=np.float64), rng)
    data = safe.astype(np.int32) if column.is_coded else safe
    return Column(column.variable, data, column.states)


def steps_of(values: FloatArray, decimals: int) -> FloatArray:
    """Return the largest power of ten that each value is a multiple of, shape (n,).

    At least the last decimal of the file; 1 for zero.

    Examples
    --------
    >>> steps_of(np.array([43000.0, 12.5, 7.0]), 1).tolist()
    [1000.0, 0.1, 1.0]
    """
    steps = np.full(len(values), 10.0**-decimals)
    for power in range(1 - decimals, COARSEST + 1):
        size = 10.0**power
        multiples = np.abs(values / size - np.round(values / size)) < 1e-9 * math.sqrt(size)
        steps[multiples & (values != 0) & (steps == size / 10)] = size
    return np.where(values == 0, np.maximum(steps, 1.0), steps)


def _among(values: FloatArray, rising: FloatArray) -> npt.NDArray[np.bool_]:
    """Whether each value is one of some rising numbers, shape (n,)."""
    if not len(rising):
        return np.zeros(len(values), dtype=bool)
    places = np.minimum(np.searchsorted(rising, values), len(rising) - 1)
    return np.asarray(rising[places] == values)


def _nearest(rising: FloatArray, values: FloatArray) -> FloatArray:
    """Return the number nearest to each value, shape (n,)."""
    right = np.clip(np.searchsorted(rising, values), 1, len(rising) - 1) if len(rising) > 1 else 0
    left = np.maximum(right - 1, 0)
    nearer = values - rising[left] <= rising[right] - values
    return np.asarray(np.where(nearer, rising[left], rising[right]))
