"""Numbers that give nobody away: what few persons hold is drawn anew between its neighbours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from synthesizer.data.options import NotNegativeCount, options
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Kind, Table
from synthesizer.data.values import MICROSECONDS_A_DAY, is_of_months, resolution_of
from synthesizer.models.base import ConditionalModel
from synthesizer.models.kit.numerics import check_floats, check_rising
from synthesizer.models.kit.regression import decimals_of

MANY_LEVELS = 60
"""Ordered codes with more levels are treated as numbers."""
COARSEST = 9
"""Numbers are told to be multiples of at most 5 times 10 to this power."""
PROBES = 8
"""Steps of the grid, up and down, in which a number of the same precision is sought."""
NEAR, CROWDS = 4, (8, 24)
FEW_SHARE = 0.02
"""A number stays within 2 % of the records, at least k and at most 4 k of them, or its precision
gives way. A crowd has so many rare numbers in a row, at least 8 k and at most 24 k."""
CROWDED, FEW = 0.5, 100
"""Share of rare numbers around one of a crowd; with fewer than 100 k units that makes a crowd."""
EPS = float(np.finfo(np.float64).eps)
TWINS = 1e-9
"""Numbers that differ by so small a share are one number with an error of rounding."""
MOST_DECIMALS = 15
"""Numbers written with more are finer than floats."""


@dataclass(frozen=True, eq=False)
class SafeNumbers:
    """The distribution of a number, by which values of few persons are replaced.

    A value that at least k units (records; persons of a panel) hold is common and stays: spikes
    and heaps survive. Any other is rare. It is replaced by a number that is interpolated between
    the k-th records on either side of it in the order of all records, but never beyond the k-th
    smallest and largest unit, and given the precision of the value itself: 43,000 becomes another
    multiple of 1,000, 1,237 no multiple of 5. Where that number is rare too, the nearest that is
    not is taken. So no rare number leaves, which would single out a person or a small group (the
    attack of Giomi et al. 2023 by one column), unless it is of a crowd. The bounds are those of
    top- and bottom-coding by k records (Hundepool et al. 2012, Statistical Disclosure Control,
    section 3.3).

    A crowd are rare values that leave hardly another number: more than half of all numbers of the
    file's precision between the k-th neighbours are rare, at least three. In files of 100 k units
    or more they also are among 8 k to 24 k rare numbers in a row (2 % of the units): serial numbers
    are so, hardly ever a sample of amounts. In panels the neighbours are those of about 2 k
    persons, of whom k must differ. A value of a crowd becomes any number between its k-th
    neighbours, each with the same chance. Hence a rare number comes out as often as by naming
    numbers there at random, which tells nothing about persons. To avoid rare numbers in a crowd
    would leave heaps of the few others.

    Fewer than 2 k units tell nothing but their mean, rounded to its first digit: all rare values
    become that number.

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
    """Units that hold each, at least 1; shape (v,)."""
    k: int
    """Units that must share a number for it to leave."""
    decimals: int | None
    """Decimals of the file; None where numbers have no fixed precision."""
    bounds: tuple[float, float]
    """Smallest and largest number that leaves: those of the k-th units from either end. With fewer
    than 2 k units the whole range, which then bounds nothing."""
    n_units: int
    """Units in all."""
    crowded: BoolArray
    """Which values are of a crowd, shape (v,)."""
    unit: int | None = None
    """Of dates: microseconds of a unit in which all this is, 0 for months; see `_in_units_of`."""
    digits: int | None = None
    """Digits behind the first where the file writes all numbers in scientific notation."""

    def __post_init__(self) -> None:
        check_floats("values", self.values, (-1,))
        check_rising("values", self.values)
        check_floats("counts", self.counts, self.values.shape)
        check_floats("crowded", self.crowded, self.values.shape)
        if (self.counts < 1).any() or self.k < 1 or self.n_units < 1:
            raise ValueError("counts, n_units and k must be at least 1")
        if not self.values[0] <= self.bounds[0] <= self.bounds[1] <= self.values[-1]:
            raise ValueError("bounds must rise and lie among the values")
        if self.decimals is not None and not 0 <= self.decimals <= MOST_DECIMALS:
            raise ValueError(f"decimals must be 0 to {MOST_DECIMALS}")

    @classmethod
    def of(cls, target: Column, k: int, owners: IntArray | None = None) -> Self | None:
        """Learn the distribution of the observed values; None where codes have no distances.

        ``owners`` are the persons of a panel's rows, None where each row is a unit.
        """
        seen = _number_rows(target)
        if k < 1 or not seen.any():
            return None
        decimals = 0 if target.is_coded else decimals_of(target)
        if decimals is not None and decimals > MOST_DECIMALS:
            decimals = None  # finer than the grid of floats
        values, unit = np.asarray(target.data[seen], dtype=np.float64), _unit_of(target)
        found = cls.of_values(
            values if unit is None else _in_units_of(unit, values),
            k=k,
            decimals=decimals if unit is None else 0,
            owners=None if owners is None else owners[seen],
        )
        style = str(target.variable.storage.get("style", ""))
        digits = (
            int(style[1:].rstrip("s")) if decimals is None and style[:1] in ("e", "E") else None
        )
        return replace(found, unit=unit, digits=digits)

    @classmethod
    def of_values(
        cls, values: FloatArray, *, k: int, decimals: int | None, owners: IntArray | None = None
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
        found = cls(distinct, counts, k, decimals, bounds, n_units, crowded)
        if decimals is None or n_units < 2 * k:
            return found
        holders = None if owners is None else owners[np.argsort(values, kind="stable")]
        return replace(found, crowded=found._in_crowds(holders))

    def _in_crowds(self, holders: IntArray | None) -> BoolArray:
        """Return which values are of a crowd; ``holders`` are the persons of the sorted records."""
        width = self.k * (1 if holders is None else 2 * -(-len(holders) // self.n_units))
        lows, highs = (np.full(len(self.values), bound) for bound in self.bounds)
        first, last = self._window(np.clip(self.values, *self.bounds), lows, highs, width)
        low, high = self._in_units(self._at(first)), self._in_units(self._at(last))
        held = np.searchsorted(self._rare_units, high, side="right")
        held -= np.searchsorted(self._rare_units, low)
        crowded = (self.counts < self.k) & (held > np.maximum(CROWDED * (high - low + 1), 2))
        if self.n_units >= FEW * self.k:
            run = np.cumsum(np.diff(self._rare_units, prepend=np.nan) != 1) - 1
            own = np.searchsorted(self._rare_units, self._in_units(self.values[crowded]))
            least = np.clip(FEW_SHARE * self.n_units, *np.multiply(CROWDS, self.k))
            crowded[crowded] = np.bincount(run)[run[own]] >= least
        if holders is not None:  # a crowd is of many persons
            block, size = np.arange(len(holders)) // width, int(holders.max()) + 1
            n_holders = np.bincount(np.unique(block * size + holders) // size)
            crowded &= n_holders[(self._ends - 1) // width] >= self.k
        return np.asarray(crowded)

    def _in_units(self, values: FloatArray) -> FloatArray:
        """Return numbers in units of the last decimal, shape (n,)."""
        return np.asarray(np.rint(values * 10.0 ** (self.decimals or 0)))

    @cached_property
    def _ends(self) -> IntArray:
        """Records up to each value."""
        return np.cumsum(self.counts)

    @cached_property
    def _rare(self) -> FloatArray:
        """Values that fewer units hold."""
        return self.values[self.counts < self.k]

    @cached_property
    def _coarse(self) -> float:
        """The mean, rounded to its first digit, or the nearest such number that is not rare."""
        mean = float(self.values @ self.counts / self._ends[-1])
        size = 10.0 ** max(np.floor(np.log10(abs(mean))) if mean else 0, -(self.decimals or 0))
        multiples = np.round(mean / size) + np.arange(-2 * self.k, 2 * self.k + 1)
        numbers = multiples * size if size >= 1 else multiples / np.round(1 / size)
        is_possible = ~_among(numbers, self._rare)
        if self.values[0] >= 0:
            is_possible &= numbers >= 0
        elif self.values[-1] <= 0:
            is_possible &= numbers <= 0
        numbers = numbers[is_possible]
        return float(numbers[np.argmin(np.abs(numbers - mean))])

    @property
    def _near(self) -> int:
        """Records within which a number stays."""
        return int(np.clip(FEW_SHARE * self._ends[-1], self.k, NEAR * self.k))

    @cached_property
    def _rare_units(self) -> FloatArray:
        """The same in units of the last decimal, rising."""
        return np.unique(self._in_units(self._rare))

    @cached_property
    def _steps(self) -> FloatArray:
        """Precision of each rare value; see `steps_of`. Dates have one."""
        if self.unit is not None:
            return np.ones(len(self._rare))
        return steps_of(self._rare, self.decimals or 0)

    @cached_property
    def _gaps(self) -> dict[float, tuple[FloatArray, FloatArray, FloatArray]]:
        """For steps in units: rare multiples, and those before and after their unbroken runs."""
        return {}

    def is_rare(self, values: FloatArray) -> BoolArray:
        """Return which values too few units hold, shape (n,)."""
        return _among(self._own(values), self._rare)

    @property
    def reach(self) -> tuple[float, float]:
        """Smallest and largest value that leaves."""
        low, high = self._values(np.array(self.bounds))
        return float(low), float(high)

    @property
    def precision(self) -> int | None:
        """Decimals of values; None without fixed ones, and of dates that are no whole days."""
        return self.decimals if self.unit in (None, MICROSECONDS_A_DAY) else None

    def _own(self, values: FloatArray) -> FloatArray:
        return values if self.unit is None else _in_units_of(self.unit, values)

    def _values(self, own: FloatArray) -> FloatArray:
        return own if self.unit is None else _days_of(self.unit, own)

    def replace(
        self,
        values: FloatArray,
        rng: np.random.Generator,
        ranges: tuple[FloatArray, FloatArray] | None = None,
    ) -> FloatArray:
        """Return values that were copied from the data, shape (n,), those of few persons anew.

        ``ranges`` holds the smallest and the largest number that each may become; one of a single
        number, or beyond the bounds, gives way to them.
        """
        rare = np.flatnonzero(self.is_rare(values))
        if not len(rare):
            return values
        out = np.array(values, dtype=np.float64)
        ends = None if ranges is None else (self._own(ranges[0][rare]), self._own(ranges[1][rare]))
        out[rare] = self._values(self._replaced(self._own(out[rare]), rng, ends))
        return out

    def _replaced(
        self,
        values: FloatArray,
        rng: np.random.Generator,
        ranges: tuple[FloatArray, FloatArray] | None,
    ) -> FloatArray:
        """Return rare values anew, all in the units of this object."""
        if self.n_units < 2 * self.k:
            return np.full(len(values), self._coarse)
        order = np.argsort(values)  # neighbours are looked up together: faster
        values = values[order]
        lows, highs = (np.full(len(values), bound) for bound in self.bounds)
        if ranges is not None:
            own = [np.clip(ends[order], *self.bounds) for ends in ranges]
            is_wide = own[0] < own[1]
            lows, highs = np.where(is_wide, own[0], lows), np.where(is_wide, own[1], highs)
        first, last = self._window(values, lows, highs, self.k)
        drawn = self._at(first + rng.random(len(values)) * (last - first))
        if self.decimals is None:
            drawn = self._between(drawn, lows, highs, rng)
        else:
            is_crowded = self.crowded[np.searchsorted(self.values, values)]
            left, crowd = np.flatnonzero(~is_crowded), np.flatnonzero(is_crowded)
            drawn[left] = self._on_grid(values[left], drawn[left], lows[left], highs[left], rng)
            low, high = (self._in_units(self._at(ranks[crowd])) for ranks in (first, last))
            units = low + np.floor(rng.random(len(crowd)) * (high - low + 1))
            drawn[crowd] = np.round(units / 10.0**self.decimals, self.decimals)
        out = np.empty(len(values))
        out[order] = drawn
        return out

    def _window(
        self, values: FloatArray, low: FloatArray, high: FloatArray, width: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return the ranks so many records below and above some values, inside their limits."""
        starts = self._ends - self.counts
        places = np.searchsorted(self.values, values)
        first = starts[np.searchsorted(self.values, low)]
        last = self._ends[np.searchsorted(self.values, high, side="right") - 1] - 1
        last = np.maximum(first, last)
        below = np.clip(starts[places] - width, first, last)
        above = np.clip(self._ends[places] - 1 + width, first, last)
        return below.astype(np.float64), above.astype(np.float64)

    def _on_grid(
        self,
        values: FloatArray,
        drawn: FloatArray,
        low: FloatArray,
        high: FloatArray,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Round draws to the precision of the rare values that they replace, or a finer one."""
        decimals = self.decimals or 0
        out = np.clip(np.round(drawn, decimals), low, high)
        steps = self._steps[np.searchsorted(self._rare, values)]
        near_low, near_high = (
            self._at(rank) for rank in self._window(values, low, high, self._near)
        )
        is_left = np.ones(len(values), dtype=bool)
        for size in _sizes(decimals, float(steps.max(initial=0))):
            rows = np.flatnonzero(is_left & (steps >= size * (1 - EPS)))
            if len(rows):
                found = self._free(drawn[rows], size, near_low[rows], near_high[rows], rng)
                settled = np.isfinite(found)
                out[rows[settled]] = found[settled]
                is_left[rows[settled]] = False
        left = np.flatnonzero(is_left)
        finest = 10.0**-decimals
        for lows, highs in ((low, high), tuple(np.full(len(low), b) for b in self.bounds)):
            found = self._free(drawn[left], finest, lows[left], highs[left], rng)
            settled = np.isfinite(found)
            out[left[settled]] = found[settled]
            left = left[~settled]
        out[left] = self._coarse  # every number between the bounds is one of few
        return out

    def _free(
        self,
        drawn: FloatArray,
        size: float,
        low: FloatArray,
        high: FloatArray,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Return multiples of a step near some numbers that are not rare; NaN where none is.

        Those that are no multiple of a larger step come first.
        """
        decimals = self.decimals or 0
        unit = float(np.rint(size * 10.0**decimals))
        lowest = np.ceil(low / size * (1 - EPS * np.sign(low)))
        highest = np.floor(high / size * (1 + EPS * np.sign(high)))
        place = np.clip(np.rint(drawn / size), lowest, highest)
        towards = np.where(rng.random(len(drawn)) < 0.5, 1.0, -1.0)
        found = self._beside_runs(place, unit, lowest, highest, towards)
        left = np.flatnonzero(np.isfinite(found) & ~_is_exact(found, size))
        for offset in sorted(range(-PROBES, PROBES + 1), key=abs):
            if not len(left):
                break
            trial = place[left] + offset * towards[left]
            good = (trial >= lowest[left]) & (trial <= highest[left]) & _is_exact(trial, size)
            good &= ~_among(trial * unit, self._rare_units)
            found[left[good]] = trial[good]
            left = left[~good]
        return np.asarray(np.round(found * size, decimals) + 0.0)

    def _beside_runs(
        self,
        place: FloatArray,
        unit: float,
        lowest: FloatArray,
        highest: FloatArray,
        towards: FloatArray,
    ) -> FloatArray:
        """Return the multiples of a unit nearest to some that are not rare; NaN for none."""
        if unit not in self._gaps:
            rare = self._rare_units[self._rare_units % unit == 0] / unit
            breaks = np.flatnonzero(np.diff(rare) != 1)
            starts = rare[np.append(0, breaks + 1)] if len(rare) else rare
            ends = rare[np.append(breaks, -1)] if len(rare) else rare
            self._gaps[unit] = rare, starts - 1, ends + 1
        rare, before, after = self._gaps[unit]
        found = np.where(lowest <= highest, place, np.nan)
        held = np.flatnonzero(_among(found, rare))
        if len(held):
            run = np.searchsorted(before, place[held]) - 1
            below, above = before[run], after[run]
            may_fall, may_rise = below >= lowest[held], above <= highest[held]
            further = (place[held] - below) - (above - place[held])
            falls = may_fall & (~may_rise | (further + 0.5 * towards[held] < 0))
            found[held] = np.where(falls, below, np.where(may_rise, above, np.nan))
        return found

    def _between(
        self, drawn: FloatArray, low: FloatArray, high: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Move draws that are rare values, or their twins, somewhere between their neighbours."""
        out = np.clip(drawn, low, high)
        if self.digits is not None:
            return self._of_digits(out, low, high, rng)
        ends = out * (1 - TWINS * np.sign(out)), out * (1 + TWINS * np.sign(out))
        places = (
            np.searchsorted(self._rare, ends[0]),
            np.searchsorted(self._rare, ends[1], "right"),
        )
        held = np.flatnonzero(places[0] < places[1])
        if not len(held):
            return out
        place = np.searchsorted(self.values, ends[1][held], side="right")
        above = self.values[np.minimum(place, len(self.values) - 1)]
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
        """Round draws to the digits of the file; a rare one becomes the nearest that is not."""
        out = _significant(drawn, self.digits)
        with np.errstate(divide="ignore"):
            steps = 10.0 ** (np.floor(np.log10(np.abs(out))) - (self.digits or 0))
        steps *= np.where(rng.random(len(out)) < 0.5, 1.0, -1.0)
        left = np.flatnonzero(_among(out, self._rare))
        for offset in sorted(range(-PROBES, PROBES + 1), key=abs):
            trial = _significant(out[left] + offset * steps[left], self.digits)
            good = (trial >= low[left]) & (trial <= high[left]) & ~_among(trial, self._rare)
            out[left[good]] = trial[good]
            left = left[~good]
        return out

    def _at(self, ranks: FloatArray) -> FloatArray:
        """Return the number at each rank of the records, from 0, interpolated; shape (n,)."""
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
        """Return what replaces rare numbers of the target; None where nothing does."""
        return SafeNumbers.of(target, self.min_holders, predictors.owners)

    @property
    def makes_new_values(self) -> bool:
        """Whether rare numbers are replaced; see `ConditionalModel.makes_new_values`."""
        return self.min_holders > 0 or super().makes_new_values


def min_holders_of(model: ConditionalModel) -> int:
    """Return ``min_holders`` of a model or of the models that it wraps; 0 if none has it."""
    return max(
        (one.min_holders for one in model.with_bases() if isinstance(one, DonorModel)), default=0
    )


def is_number_like(target: Column) -> bool:
    """Whether values are numbers, dates, or ordered codes with very many levels that occur."""
    return not (target.is_coded and target.variable.missing) and bool(_number_rows(target).any())


def made_safe(column: Column, numbers: SafeNumbers | None, rng: np.random.Generator) -> Column:
    """Return a drawn column with its rare numbers replaced."""
    if numbers is None:
        return column
    safe = numbers.replace(np.asarray(column.data, dtype=np.float64), rng)
    data = safe.astype(np.int32) if column.is_coded else safe
    return Column(column.variable, data, column.states)


def _unit_of(target: Column) -> int | None:
    """Return microseconds of the unit in which dates are written, 0 for months; None of numbers."""
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
    """Return the day, or the moment, on which units begin."""
    if unit:
        return np.asarray(units * unit / MICROSECONDS_A_DAY)
    return np.rint(units).astype("datetime64[M]").astype("datetime64[D]").astype(np.float64)


def steps_of(values: FloatArray, decimals: int) -> FloatArray:
    """Return the largest of 1, 2.5 and 5 times powers of ten that values are multiples of, (n,).

    At least the last decimal of the file; 1 for zero.

    Examples
    --------
    >>> steps_of(np.array([43000.0, 12.5, 7.0, 0.0, -75.0, 1e9 + 1e4]), 1).tolist()
    [1000.0, 2.5, 1.0, 1.0, 25.0, 10000.0]
    """
    steps = np.full(len(values), 10.0**-decimals)
    tens = fives = np.flatnonzero(values != 0)
    for power in range(-decimals, COARSEST + 1):
        tens = tens[_is_multiple(values[tens], 10.0**power)]
        steps[tens] = 10.0**power
        if power > -decimals:
            quarters = fives[_is_multiple(values[fives], 2.5 * 10.0**power)]
            steps[quarters] = 2.5 * 10.0**power
        fives = tens[_is_multiple(values[tens], 5.0 * 10.0**power)]
        steps[fives] = 5.0 * 10.0**power
    return np.where(values == 0, np.maximum(steps, 1.0), steps)


def _significant(values: FloatArray, digits: int | None) -> FloatArray:
    """Return numbers with so many digits behind the first, shape (n,)."""
    return np.array([float(f"{value:.{digits}e}") for value in values.tolist()])


def _is_multiple(values: FloatArray, size: float) -> BoolArray:
    """Whether values are whole multiples of a size, up to the rounding of both, shape (n,)."""
    quotients = np.abs(values / size)
    return np.asarray(np.abs(quotients - np.rint(quotients)) <= 2 * EPS * quotients)


def _sizes(decimals: int, largest: float) -> list[float]:
    """Return the steps of `steps_of`, from the largest down to the last decimal."""
    sizes = [
        mantissa * 10.0**power
        for power in range(-decimals, COARSEST + 1)
        for mantissa in (1.0, 2.5, 5.0)
        if power > -decimals or mantissa != 2.5
    ]
    return [size for size in reversed(sizes) if size <= largest * (1 + EPS)]


def _is_exact(multiples: FloatArray, size: float) -> BoolArray:
    """Whether some multiples of a step are none of the next larger ones, shape (n,)."""
    mantissa = f"{size:e}"[:3]
    nothing = np.zeros(len(multiples), dtype=bool)
    half = nothing if mantissa == "1.0" else multiples % 2 == 0
    fifth = nothing if mantissa == "2.5" else multiples % 5 == 0
    return ~(fifth | half)


def _number_rows(target: Column) -> BoolArray:
    """Return which rows hold values with distances, shape (n,): none of codes with few levels."""
    if not target.is_coded:
        return target.is_observed
    seen = target.data < len(target.variable.levels)
    n_levels = int(np.count_nonzero(np.bincount(target.data[seen])))
    is_scale = target.variable.kind is Kind.ORDERED and n_levels > MANY_LEVELS
    return np.asarray(seen & is_scale)


def _among(values: FloatArray, rising: FloatArray) -> npt.NDArray[np.bool_]:
    """Whether each value is one of some rising numbers, shape (n,)."""
    if not len(rising):
        return np.zeros(len(values), dtype=bool)
    places = np.minimum(np.searchsorted(rising, values), len(rising) - 1)
    return np.asarray(rising[places] == values)
