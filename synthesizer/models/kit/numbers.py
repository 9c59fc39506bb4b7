"""Replacement of rare numbers: a number of few persons is drawn anew between its neighbours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from synthesizer.data.codes import positions_in
from synthesizer.data.options import NotNegativeCount, options
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Kind, Table
from synthesizer.data.values import MICROSECONDS_A_DAY, is_of_months, resolution_of
from synthesizer.models.base import ConditionalModel
from synthesizer.models.kit.numerics import check_floats, check_rising
from synthesizer.models.kit.regression import decimals_of
from synthesizer.models.kit.tails import Tail

MANY_LEVELS = 60
"""Ordered codes with more levels are treated as numbers."""
MAX_POWER = 9
"""The largest step is 5 times 10 to this power."""
PROBES = 8
"""Steps up and down in which a free number of the same precision is searched."""
MAX_RANKS_PER_K, CROWD_RUNS_PER_K = 4, (8, 24)
RANK_SHARE = 0.02
"""A new number lies within 2 % of the records (from k to 4 k), or its precision is reduced. A crowd
has a run of 2 % of the units as rare numbers (from 8 k to 24 k)."""
CROWD_SHARE, MIN_UNITS_PER_K = 0.5, 100
"""Share of rare numbers around a number of a crowd; the run matters from 100 k units on."""
EPS = float(np.finfo(np.float64).eps)
EQUAL_SHARE = 1e-9
"""Numbers with a smaller relative difference are equal up to rounding."""
MAX_DECIMALS = 15
"""More decimals are finer than floats."""


@dataclass(frozen=True, eq=False)
class SafeNumbers:
    """The distribution of a number, which replaces values of few persons.

    A value of at least k units (records; persons of a panel) is common and stays, so spikes and
    heaps are kept. Any other value is rare. It is replaced by a number that is interpolated between
    the k-th records below and above it, but not outside the k-th smallest and largest unit. Where
    this would lose 1 % of the variance, the extremes come from a fitted tail (`Tail`). The new
    number has the precision of the old one: 43,000 becomes another multiple of 1,000, and 1,237 no
    multiple of 5. If it is rare too, the nearest number that is not rare is taken. So no rare
    number is released, which would single out a person (the attack of Giomi et al. 2023 by one
    column), unless it is in a crowd. The bounds are those of top- and bottom-coding by k records
    (Hundepool et al. 2012, Statistical Disclosure Control, section 3.3).

    A crowd is a set of rare values between which hardly any other number exists: more than half of
    all numbers between the k-th neighbours are rare, and at least three. In files of 100 k units or
    more the crowd also needs a run of 8 k to 24 k successive rare numbers (2 % of the units), as
    serial numbers have. In panels the neighbours are those of about 2 k persons, of whom k must
    differ. A value of a crowd becomes any number between its k-th neighbours with equal
    probability. So a rare number is drawn as often as by guessing, which reveals nothing about
    persons. Avoiding rare numbers in a crowd would make heaps of the few others.

    With fewer than 2 k units all rare values become the mean, rounded to its first digit.

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
    """Units with each value, at least 1; shape (v,)."""
    k: int
    """Smallest number of units with a common number."""
    decimals: int | None
    """Decimals of the file; None without a fixed precision."""
    bounds: tuple[float, float]
    """Numbers of the k-th units from either end, which draws exceed in tails only. The whole range
    with fewer than 2 k units."""
    n_units: int
    """Number of units."""
    crowded: BoolArray
    """Which values are in a crowd, shape (v,)."""
    unit: int | None = None
    """For dates: microseconds of the unit of all fields, 0 for months."""
    digits: int | None = None
    """Digits after the first in a file with scientific notation."""
    tails: tuple[Tail, ...] = ()
    """Fitted heavy tails, at most one at either end."""

    def __post_init__(self) -> None:
        check_floats("values", self.values, (-1,))
        check_rising("values", self.values)
        check_floats("counts", self.counts, self.values.shape)
        check_floats("crowded", self.crowded, self.values.shape)
        if (self.counts < 1).any() or self.k < 1 or self.n_units < 1:
            raise ValueError("counts, n_units and k must be at least 1")
        if not self.values[0] <= self.bounds[0] <= self.bounds[1] <= self.values[-1]:
            raise ValueError("bounds must rise and lie among the values")
        if self.decimals is not None and not 0 <= self.decimals <= MAX_DECIMALS:
            raise ValueError(f"decimals must be 0 to {MAX_DECIMALS}")

    @classmethod
    def of(cls, target: Column, k: int, owners: IntArray | None = None) -> Self | None:
        """Learn the distribution of the observed values; None for codes without distances.

        ``owners`` are the persons of the rows of a panel, None if each row is a unit.
        """
        seen = _number_rows(target)
        if k < 1 or not seen.any():
            return None
        decimals = 0 if target.is_coded else decimals_of(target)
        if decimals is not None and decimals > MAX_DECIMALS:
            decimals = None  # finer than the grid of floats
        values, unit = np.asarray(target.data[seen], dtype=np.float64), _unit_of(target)
        fitted = cls.of_values(
            values if unit is None else _in_units_of(unit, values),
            k=k,
            decimals=decimals if unit is None else 0,
            owners=None if owners is None else owners[seen],
            has_tails=target.variable.kind is Kind.NUMERIC,
        )
        style = str(target.variable.storage.get("style", ""))
        digits = (
            int(style[1:].rstrip("s")) if decimals is None and style[:1] in ("e", "E") else None
        )
        return replace(fitted, unit=unit, digits=digits)

    @classmethod
    def of_values(
        cls,
        values: FloatArray,
        *,
        k: int,
        decimals: int | None,
        owners: IntArray | None = None,
        has_tails: bool = True,
    ) -> Self:
        """Learn the distribution of finite numbers, shape (n,), n >= 1."""
        lows = highs = np.sort(values)
        if owners is not None:
            order = np.lexsort((values, owners))
            values, owners = values[order], owners[order]
            starts = np.flatnonzero(np.append(True, np.diff(owners) != 0))
            lows = np.sort(values[starts])
            highs = np.sort(values[np.append(starts[1:], len(values)) - 1])
            once = np.append(True, (np.diff(owners) != 0) | (np.diff(values) != 0))
            values, owners = values[once], owners[once]
        distinct, counts = np.unique(values, return_counts=True)
        n_units, crowded = len(lows), np.zeros(len(distinct), dtype=bool)
        low, high = float(distinct[0]), float(distinct[-1])
        if n_units >= 2 * k:
            low, high = float(lows[k - 1]), float(highs[-k])
        bounds = min(low, high), max(low, high)
        fitted = cls(distinct, counts, k, decimals, bounds, n_units, crowded)
        if n_units < 2 * k:
            return fitted
        holders = None if owners is None else owners[np.argsort(values, kind="stable")]
        if decimals is not None:
            fitted = replace(fitted, crowded=fitted._in_crowds(holders))
        if not has_tails:
            return fitted
        rising, is_crowded = np.repeat(distinct, counts), fitted.crowded
        both = (Tail.of(rising, holders, k=k, decimals=decimals, sign=side) for side in (-1, 1))
        tails = (tail for tail in both if tail and not is_crowded[tail.has(distinct)].any())
        return replace(fitted, tails=tuple(tails))

    def _in_crowds(self, holders: IntArray | None) -> BoolArray:
        """Return which values are in a crowd; ``holders`` are the persons of the sorted records."""
        width = self.k * (1 if holders is None else 2 * -(-len(holders) // self.n_units))
        lows, highs = (np.full(len(self.values), bound) for bound in self.bounds)
        first, last = self._window(np.clip(self.values, *self.bounds), lows, highs, width)
        low, high = self._in_units(self._at(first)), self._in_units(self._at(last))
        n_rare = np.searchsorted(self._rare_units, high, side="right")
        n_rare -= np.searchsorted(self._rare_units, low)
        crowded = (self.counts < self.k) & (n_rare > np.maximum(CROWD_SHARE * (high - low + 1), 2))
        if self.n_units >= MIN_UNITS_PER_K * self.k:
            run = np.cumsum(np.diff(self._rare_units, prepend=np.nan) != 1) - 1
            run_of_value = np.searchsorted(self._rare_units, self._in_units(self.values[crowded]))
            least = np.clip(RANK_SHARE * self.n_units, *np.multiply(CROWD_RUNS_PER_K, self.k))
            crowded[crowded] = np.bincount(run)[run[run_of_value]] >= least
        if holders is not None:  # a crowd has many persons
            block, size = np.arange(len(holders)) // width, int(holders.max()) + 1
            n_holders = np.bincount(np.unique(block * size + holders) // size)
            crowded &= n_holders[(self._ends - 1) // width] >= self.k
        return np.asarray(crowded)

    def _in_units(self, values: FloatArray) -> FloatArray:
        """Return numbers in units of the last decimal, shape (n,)."""
        return np.asarray(np.rint(values * 10.0 ** (self.decimals or 0)))

    @cached_property
    def _ends(self) -> IntArray:
        """Number of records up to each value."""
        return np.cumsum(self.counts)

    @cached_property
    def _rare(self) -> FloatArray:
        """Values of fewer than k units."""
        return self.values[self.counts < self.k]

    @cached_property
    def _coarse(self) -> float:
        """The mean rounded to its first digit, or the nearest such number that is not rare."""
        mean = float(self.values @ self.counts / self._ends[-1])
        size = 10.0 ** max(np.floor(np.log10(abs(mean))) if mean else 0, -(self.decimals or 0))
        reach = 2 * self.k + len(self._rare)  # more numbers than there are rare ones
        trial_ = np.round(mean / size) + np.arange(-reach, reach + 1)
        numbers = trial_ * size if size >= 1 else trial_ / np.round(1 / size)
        is_possible = ~_among(numbers, self._rare)
        if self.values[0] >= 0:
            is_possible &= numbers >= 0
        elif self.values[-1] <= 0:
            is_possible &= numbers <= 0
        numbers = numbers[is_possible]
        return float(numbers[np.argmin(np.abs(numbers - mean))])

    @property
    def _width(self) -> int:
        """Largest distance of a new number, in ranks."""
        return int(np.clip(RANK_SHARE * self._ends[-1], self.k, MAX_RANKS_PER_K * self.k))

    @cached_property
    def _rare_units(self) -> FloatArray:
        """Rare values in units of the last decimal, rising."""
        return np.unique(self._in_units(self._rare))

    @cached_property
    def _steps(self) -> FloatArray:
        """Precision of each rare value; see `steps_of`. It is 1 for dates."""
        if self.unit is not None:
            return np.ones(len(self._rare))
        return steps_of(self._rare, self.decimals or 0)

    @cached_property
    def _gaps(self) -> dict[float, tuple[FloatArray, FloatArray, FloatArray]]:
        """By step: rare multiples, and those before and after each run of them."""
        return {}

    def without_far_tails(self) -> Self:
        """Return the numbers without tails that a few exceptions far away would stretch."""
        return replace(self, tails=tuple(t for t in self.tails if t.fits(self.values)))

    def is_rare(self, values: FloatArray) -> BoolArray:
        """Return which values are rare, shape (n,)."""
        return _among(self._scaled(values), self._rare)

    @property
    def reach(self) -> tuple[float, float]:
        """Smallest and largest released value."""
        low, high = self._from_units(np.array(self.bounds))
        ends = [float(low), float(high), *(tail.end for tail in self.tails)]
        return min(ends), max(ends)

    @property
    def precision(self) -> int | None:
        """Decimals of values; None without fixed ones, and for dates finer or coarser than days."""
        return self.decimals if self.unit in (None, MICROSECONDS_A_DAY) else None

    def _scaled(self, values: FloatArray) -> FloatArray:
        return values if self.unit is None else _in_units_of(self.unit, values)

    def _from_units(self, units: FloatArray) -> FloatArray:
        return units if self.unit is None else _days_of(self.unit, units)

    def replace(
        self,
        values: FloatArray,
        rng: np.random.Generator,
        ranges: tuple[FloatArray, FloatArray] | None = None,
    ) -> FloatArray:
        """Return values with the rare ones replaced, shape (n,).

        ``ranges`` are the smallest and the largest replacement of each value. A range of a single
        number, or outside the bounds, is ignored.
        """
        rare = np.flatnonzero(self.is_rare(values))
        if not len(rare):
            return values
        out = np.array(values, dtype=np.float64)
        ends = np.repeat([[-np.inf], [np.inf]], len(rare), axis=1)
        if ranges is not None:
            ends = np.stack([self._scaled(end[rare]) for end in ranges])
        out[rare] = self._from_units(self._replaced(self._scaled(out[rare]), rng, ends))
        return out

    def _replaced(
        self, values: FloatArray, rng: np.random.Generator, ranges: FloatArray
    ) -> FloatArray:
        """Return replacements of rare values inside ranges (2, n), in the units of this object."""
        if self.n_units < 2 * self.k:
            return np.full(len(values), self._coarse)
        order = np.argsort(values)  # neighbours are looked up together: faster
        values, ranges = values[order], ranges[:, order]
        lows, highs = _inside(ranges, *self.bounds)
        first, last = self._window(values, lows, highs, self.k)
        drawn = self._at(first + rng.random(len(values)) * (last - first))
        far = np.zeros(len(values), dtype=bool)
        for tail in self.tails:
            rows = np.flatnonzero(tail.has(values))
            drawn[rows], lows[rows], highs[rows] = self._beyond(
                tail, values[rows], ranges[:, rows], rng
            )
            far[rows] = True
        if self.decimals is None:
            drawn = self._between(drawn, lows, highs, rng)
        else:
            is_crowded = self.crowded[np.searchsorted(self.values, values)]
            rest, crowd = np.flatnonzero(~is_crowded), np.flatnonzero(is_crowded)
            ends = lows[rest], highs[rest]
            drawn[rest] = self._on_grid(values[rest], drawn[rest], *ends, far[rest], rng)
            low, high = (self._in_units(self._at(ranks[crowd])) for ranks in (first, last))
            units = low + np.floor(rng.random(len(crowd)) * (high - low + 1))
            drawn[crowd] = np.round(units / 10.0**self.decimals, self.decimals)
        out = np.empty(len(values))
        out[order] = drawn
        return out

    def _beyond(
        self, tail: Tail, values: FloatArray, ranges: FloatArray, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return draws in the place of rare values of a tail, and their limits."""
        ends = min(tail.start, tail.end), max(tail.start, tail.end)
        lows, highs = _inside(ranges, *ends)
        before = np.append(0, self._ends)  # records below each value
        below = before[np.searchsorted(self.values, values)]
        ranks = below + rng.random(len(values)) * (
            before[np.searchsorted(self.values, values, "right")] - below
        )
        first = np.where(lows > ends[0], before[np.searchsorted(self.values, lows)], 0)
        last = np.where(
            highs < ends[1], before[np.searchsorted(self.values, highs, "right")], before[-1]
        )
        if tail.sign > 0:
            start = before[-1] - tail.n_records
            ranks, limits = ranks - start, (first - start, last - start)
        else:
            start = tail.n_records
            ranks, limits = start - ranks, (start - last, start - first)
        return tail.draw(ranks, self.k, limits, rng), lows, highs

    def _window(
        self, values: FloatArray, low: FloatArray, high: FloatArray, width: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return the ranks ``width`` records below and above some values, inside their limits."""
        starts = self._ends - self.counts
        indices = np.searchsorted(self.values, values)
        first = starts[np.searchsorted(self.values, low)]
        last = self._ends[np.searchsorted(self.values, high, side="right") - 1] - 1
        last = np.maximum(first, last)
        below = np.clip(starts[indices] - width, first, last)
        above = np.clip(self._ends[indices] - 1 + width, first, last)
        return below.astype(np.float64), above.astype(np.float64)

    def _on_grid(
        self,
        values: FloatArray,
        drawn: FloatArray,
        low: FloatArray,
        high: FloatArray,
        far: BoolArray,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Round draws to the precision of the rare values that they replace, or to a finer one.

        Draws of tails, ``far``, may lie beyond the neighbours.
        """
        decimals = self.decimals or 0
        out = np.clip(np.round(drawn, decimals), low, high)
        steps = self._steps[np.searchsorted(self._rare, values)]
        first, last = (np.clip(end, self.values[0], self.values[-1]) for end in (low, high))
        lower, upper = (self._at(rank) for rank in self._window(values, first, last, self._width))
        lower = np.where(far, np.maximum(low, drawn - steps), lower)
        upper = np.where(far, np.minimum(high, drawn + steps), upper)
        is_pending = np.ones(len(values), dtype=bool)
        for size in _sizes(decimals, float(steps.max(initial=0))):
            rows = np.flatnonzero(is_pending & (steps >= size * (1 - EPS)))
            if len(rows):
                free = self._free(drawn[rows], size, lower[rows], upper[rows], rng)
                settled = np.isfinite(free)
                out[rows[settled]] = free[settled]
                is_pending[rows[settled]] = False
        todo = np.flatnonzero(is_pending)
        finest = 10.0**-decimals
        for lows, highs in ((low, high), tuple(np.full(len(low), b) for b in self.bounds)):
            free = self._free(drawn[todo], finest, lows[todo], highs[todo], rng)
            settled = np.isfinite(free)
            out[todo[settled]] = free[settled]
            todo = todo[~settled]
        out[todo] = self._coarse  # every number between the bounds is rare
        return out

    def _free(
        self,
        drawn: FloatArray,
        size: float,
        low: FloatArray,
        high: FloatArray,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Return the nearest multiples of a step that are not rare; NaN for none.

        Multiples of a larger step are avoided if possible.
        """
        decimals = self.decimals or 0
        unit = float(np.rint(size * 10.0**decimals))
        lowest = np.ceil(low / size * (1 - EPS * np.sign(low)))
        highest = np.floor(high / size * (1 + EPS * np.sign(high)))
        index = np.clip(np.rint(drawn / size), lowest, highest)
        towards = np.where(rng.random(len(drawn)) < 0.5, 1.0, -1.0)
        trial_ = self._beside_runs(index, unit, lowest, highest, towards)
        todo = np.flatnonzero(np.isfinite(trial_) & ~_is_exact(trial_, size))
        for offset in sorted(range(-PROBES, PROBES + 1), key=abs):
            if not len(todo):
                break
            trial = index[todo] + offset * towards[todo]
            good = (trial >= lowest[todo]) & (trial <= highest[todo]) & _is_exact(trial, size)
            good &= ~_among(trial * unit, self._rare_units)
            trial_[todo[good]] = trial[good]
            todo = todo[~good]
        return np.asarray(np.round(trial_ * size, decimals) + 0.0)

    def _beside_runs(
        self,
        index: FloatArray,
        unit: float,
        lowest: FloatArray,
        highest: FloatArray,
        towards: FloatArray,
    ) -> FloatArray:
        """Return the nearest multiples of a unit that are not rare; NaN for none."""
        if unit not in self._gaps:
            rare = self._rare_units[self._rare_units % unit == 0] / unit
            breaks = np.flatnonzero(np.diff(rare) != 1)
            starts = rare[np.append(0, breaks + 1)] if len(rare) else rare
            ends = rare[np.append(breaks, -1)] if len(rare) else rare
            self._gaps[unit] = rare, starts - 1, ends + 1
        rare, before, after = self._gaps[unit]
        trial_ = np.where(lowest <= highest, index, np.nan)
        held = np.flatnonzero(_among(trial_, rare))
        if len(held):
            run = np.searchsorted(before, index[held]) - 1
            below, above = before[run], after[run]
            may_fall, may_rise = below >= lowest[held], above <= highest[held]
            further = (index[held] - below) - (above - index[held])
            falls = may_fall & (~may_rise | (further + 0.5 * towards[held] < 0))
            trial_[held] = np.where(falls, below, np.where(may_rise, above, np.nan))
        return trial_

    def _between(
        self, drawn: FloatArray, low: FloatArray, high: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Move draws that equal rare values, up to rounding, between their neighbours."""
        out = np.clip(drawn, low, high)
        if self.digits is not None:
            return self._of_digits(out, low, high, rng)
        ends = out * (1 - EQUAL_SHARE * np.sign(out)), out * (1 + EQUAL_SHARE * np.sign(out))
        before = np.searchsorted(self._rare, ends[0])
        held = np.flatnonzero(before < np.searchsorted(self._rare, ends[1], "right"))
        if not len(held):
            return out
        position = np.searchsorted(self.values, ends[1][held], side="right")
        above = self.values[np.minimum(position, len(self.values) - 1)]
        below = self.values[np.maximum(np.searchsorted(self.values, ends[0][held]) - 1, 0)]
        rises = (above > out[held]) & (above <= high[held])
        falls = (below < out[held]) & (below >= low[held])
        up = rises & (~falls | (rng.random(len(held)) < 0.5))
        other = np.where(up, above, np.where(falls, below, out[held]))
        out[held] += (0.05 + 0.9 * rng.random(len(held))) * (other - out[held])
        out[held[~(up | falls)]] = self._coarse  # the bounds are one number
        return out

    def _of_digits(
        self, drawn: FloatArray, low: FloatArray, high: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Round draws to the digits of the file; rare ones become the nearest that are not rare."""
        out = _significant(drawn, self.digits)
        with np.errstate(divide="ignore"):
            steps = 10.0 ** (np.floor(np.log10(np.abs(out))) - (self.digits or 0))
        steps *= np.where(rng.random(len(out)) < 0.5, 1.0, -1.0)
        todo = np.flatnonzero(_among(out, self._rare))
        for offset in sorted(range(-PROBES, PROBES + 1), key=abs):
            trial = _significant(out[todo] + offset * steps[todo], self.digits)
            good = (trial >= low[todo]) & (trial <= high[todo]) & ~_among(trial, self._rare)
            out[todo[good]] = trial[good]
            todo = todo[~good]
        return out

    def _at(self, ranks: FloatArray) -> FloatArray:
        """Return the interpolated number at each rank of the records, from 0; shape (n,)."""
        ranks = np.clip(ranks, 0, self._ends[-1] - 1)
        below = np.floor(ranks)
        low = self.values[np.searchsorted(self._ends, below, side="right")]
        above = np.minimum(below + 1, self._ends[-1] - 1)
        high = self.values[np.searchsorted(self._ends, above, side="right")]
        share = ranks - below
        return np.asarray((1 - share) * low + share * high)


@options
class DonorModel(ConditionalModel):
    """Options of models that copy values of donors.

    Parameters
    ----------
    min_holders : int
        Smallest number of records (of persons in a panel) that must have a number before it may be
        drawn, >= 0. A rarer number is replaced by a similar one. Dates, and levels of ordered
        variables with more than 60 levels, count as numbers. 0 replaces no number.
    """

    public_options: ClassVar[tuple[str, ...]] = ("min_holders",)

    min_holders: NotNegativeCount = 5

    def safe_numbers(self, predictors: Table, target: Column) -> SafeNumbers | None:
        """Return the replacement of rare numbers of the target; None if nothing is replaced."""
        return SafeNumbers.of(target, self.min_holders, predictors.owners)

    @property
    def makes_new_values(self) -> bool:
        """Whether rare numbers are replaced; see `ConditionalModel.makes_new_values`."""
        return self.min_holders > 0 or super().makes_new_values


def min_holders_of(model: ConditionalModel) -> int:
    """Return ``min_holders`` of a model or of its base models; 0 if none has it.

    Base models that draw another number do not count.
    """
    models = takewhile(lambda one: not one.abilities.rescales, model.with_bases())
    return max((one.min_holders for one in models if isinstance(one, DonorModel)), default=0)


def is_number_like(target: Column) -> bool:
    """Whether values are numbers, dates, or ordered codes with more than 60 levels."""
    return not (target.is_coded and target.variable.missing) and bool(_number_rows(target).any())


def made_safe(column: Column, numbers: SafeNumbers | None, rng: np.random.Generator) -> Column:
    """Return a drawn column with its rare numbers replaced."""
    if numbers is None:
        return column
    safe = numbers.replace(np.asarray(column.data, dtype=np.float64), rng)
    data = safe.astype(np.int32) if column.is_coded else safe
    return Column(column.variable, data, column.states)


def _inside(ranges: FloatArray, low: float, high: float) -> FloatArray:
    """Return the parts of ranges between two numbers, (2, n); both numbers for a part of one."""
    parts = np.clip(ranges, low, high)
    return np.where(parts[0] < parts[1], parts, [[low], [high]])


def _unit_of(target: Column) -> int | None:
    """Return microseconds of the unit of dates, 0 for months; None for numbers."""
    if target.variable.kind is not Kind.DATE:
        return None
    if is_of_months(str(target.variable.storage.get("date_format", "%d"))):
        return 0
    return resolution_of(np.asarray(target.data[target.is_observed], dtype=np.float64))


def _in_units_of(unit: int, days: FloatArray) -> FloatArray:
    """Return days since 1970 in whole units."""
    if unit:
        return np.rint(days * (MICROSECONDS_A_DAY / unit))
    return np.floor(days).astype("datetime64[D]").astype("datetime64[M]").astype(np.float64)


def _days_of(unit: int, units: FloatArray) -> FloatArray:
    """Return the day, or the moment, at which units begin."""
    if unit:
        return np.asarray(units * unit / MICROSECONDS_A_DAY)
    return np.rint(units).astype("datetime64[M]").astype("datetime64[D]").astype(np.float64)


def steps_of(values: FloatArray, decimals: int) -> FloatArray:
    """Return the precision of values: the largest 1, 2.5 or 5 times a power of ten, shape (n,).

    Each value is a multiple of its precision, which is at least the last decimal of the file, and 1
    for zero.

    Examples
    --------
    >>> steps_of(np.array([43000.0, 12.5, 7.0, 0.0, -75.0, 1e9 + 1e4]), 1).tolist()
    [1000.0, 2.5, 1.0, 1.0, 25.0, 10000.0]
    """
    steps = np.full(len(values), 10.0**-decimals)
    tens = fives = np.flatnonzero(values != 0)
    for power in range(-decimals, MAX_POWER + 1):
        tens = tens[_is_multiple(values[tens], 10.0**power)]
        steps[tens] = 10.0**power
        if power > -decimals:
            quarters = fives[_is_multiple(values[fives], 2.5 * 10.0**power)]
            steps[quarters] = 2.5 * 10.0**power
        fives = tens[_is_multiple(values[tens], 5.0 * 10.0**power)]
        steps[fives] = 5.0 * 10.0**power
    return np.where(values == 0, np.maximum(steps, 1.0), steps)


def _significant(values: FloatArray, digits: int | None) -> FloatArray:
    """Return numbers rounded to this number of digits after the first, shape (n,)."""
    return np.array([float(f"{value:.{digits}e}") for value in values.tolist()])


def _is_multiple(values: FloatArray, size: float) -> BoolArray:
    """Return which values are whole multiples of a size, up to rounding, shape (n,)."""
    quotients = np.abs(values / size)
    return np.asarray(np.abs(quotients - np.rint(quotients)) <= 2 * EPS * quotients)


def _sizes(decimals: int, largest: float) -> list[float]:
    """Return the steps of `steps_of`, from the largest to the last decimal."""
    sizes = [
        mantissa * 10.0**power
        for power in range(-decimals, MAX_POWER + 1)
        for mantissa in (1.0, 2.5, 5.0)
        if power > -decimals or mantissa != 2.5
    ]
    return [size for size in reversed(sizes) if size <= largest * (1 + EPS)]


def _is_exact(trial_: FloatArray, size: float) -> BoolArray:
    """Return which multiples of a step are no multiples of a larger step, shape (n,)."""
    mantissa = f"{size:e}"[:3]
    nothing = np.zeros(len(trial_), dtype=bool)
    half = nothing if mantissa == "1.0" else trial_ % 2 == 0
    return ~((nothing if mantissa == "2.5" else trial_ % 5 == 0) | half)


def _number_rows(target: Column) -> BoolArray:
    """Return which rows have values with distances, shape (n,); none for codes with few levels."""
    if not target.is_coded:
        return target.is_observed
    seen = target.data < len(target.variable.levels)
    n_levels = int(np.count_nonzero(np.bincount(target.data[seen])))
    return np.asarray(seen & (target.variable.kind is Kind.ORDERED and n_levels > MANY_LEVELS))


def _among(values: FloatArray, rising: FloatArray) -> npt.NDArray[np.bool_]:
    """Return which values are among some rising numbers, shape (n,)."""
    return np.asarray(positions_in(rising, values) >= 0)
