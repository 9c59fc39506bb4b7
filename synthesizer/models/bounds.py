"""Numbers with bounds, given by earlier values of the same row: drawn as distances from the bound.

Rejecting draws that break ``a <= b`` biases the distribution: larger distances remain. If more than
a few draws would be rejected, the distance itself is drawn, from 0 upwards, given all predictors.
Rejection is used if test draws for the confidential rows show that it is closer to the data. Before
the distance the model draws whether the number equals its bound, is a very frequent value (a heap),
or is rounded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from synthesizer.data.codes import positions_in
from synthesizer.data.panel.paths import FORMER, PAST, number_column
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Kind, Table, Variable
from synthesizer.models.base import ConditionalModel, FittedModel
from synthesizer.models.cart import Cart
from synthesizer.models.kit.numbers import EPS, SafeNumbers, made_safe, min_holders_of
from synthesizer.models.kit.regression import decimals_of, numbers_of, numeric_column
from synthesizer.models.limits import WIDENINGS

MAX_TRIES = 20
"""Draws of a row before its value is moved to the bound."""
MAX_OUTSIDE_SHARE = 0.02
"""Up to this share of draws outside the bounds, rejection is used."""
MIN_GAIN = 0.02
"""Advantage of rejection, in Kolmogorov-Smirnov distance, for it to be used."""
MIN_ROWS = 10
"""Rows with the same bounds that have a separate model."""
MIN_STATE_SHARE = 0.01
"""Share of the rows with a heap or a precision."""
MAX_HEAPS = 20
"""Number of heaps, the most frequent values."""
N_NEIGHBOURS = 10
"""Distinct values on either side that a heap is compared with."""
MIN_PEAK_RATIO = 5.0
"""Frequency of a heap over that of its neighbours."""
MAX_SHIFT_UNITS = 3
"""Units of precision by which a rare sum is moved."""
MIN_EXCESS_RATIO = 1.5
"""Frequency of a precision over that by chance."""

_STATE, _ROOM, _BEFORE = "bounds.state", "bounds.room", "bounds.before"


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Predictors that are lower (``low``) or upper (``high``) bounds of a number."""

    low: tuple[str, ...] = ()
    high: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All bounds."""
        return (*self.low, *self.high)

    def among(self, names: tuple[str, ...]) -> Bounds | None:
        """Return the bounds that are among some predictors; None if none is."""
        low, high = (tuple(n for n in side if n in names) for side in (self.low, self.high))
        return Bounds(low=low, high=high) if low or high else None

    def limits(self, table: Table, when: str = "") -> FloatArray:
        """Return the least and the largest number of each row, (2, n); none by missing values."""
        ends = np.repeat([[-np.inf], [np.inf]], table.n_rows, axis=1)
        for name in self.low:
            ends[0] = np.fmax(ends[0], table[when + name].data)
        for name in self.high:
            ends[1] = np.fmin(ends[1], table[when + name].data)
        return ends


@dataclass(frozen=True, kw_only=True)
class Bounded(ConditionalModel):
    """The base model of a history, with the bounds of its variable, for `Step`."""

    base: ConditionalModel
    variable: str
    bounds: Bounds

    def __post_init__(self) -> None:
        object.__setattr__(self, "abilities", self.base.abilities)

    @property
    def former(self) -> tuple[str, ...]:
        """See `ConditionalModel.former`."""
        return self.bounds.names

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedModel:
        """Fit the base model without bounds, for targets other than the variable."""
        return self.base.fit(predictors, target, rng=rng)


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedSide:
    """The model of rows with the same kind of bounds."""

    side: int
    """1 with a lower bound, 2 with an upper one, 3 with both, 0 with none."""
    sizes: FloatArray
    """Precisions, the finest first; 0 for numbers without one."""
    heaps: FloatArray
    """Very frequent values."""
    states: FittedModel | None
    """Draws a precision, the lower bound, the upper bound, or a heap."""
    distances: FittedModel | None
    """Draws the distance from the bound; between two bounds, its share."""

    def __post_init__(self) -> None:
        if not 0 <= self.side <= 3 or not len(self.sizes):
            raise ValueError("a side must be 0 to 3, with a precision")

    @property
    def state(self) -> Variable:
        """The variable of precisions, bounds and heaps."""
        return _state_variable(len(self.sizes) + 2 + len(self.heaps))

    def draw(
        self,
        table: Table,
        ends: FloatArray,
        rng: np.random.Generator,
        *,
        steps: int,
        state: IntArray,
    ) -> tuple[FloatArray, BoolArray]:
        """Draw a number for each row; also return which ones are neither a bound nor a heap.

        Negative entries of ``state`` are replaced by drawn states.
        """
        (low, high), k = ends, len(self.sizes)
        new = np.flatnonzero(state < 0)
        state[new] = 0
        if self.states is not None and len(new):
            state[new] = self.states.sample_wider(table.take(new), steps=steps, rng=rng).data
        is_free = state < k
        copied = np.concatenate([np.zeros(k + 2), self.heaps])[state]
        values = np.where(state == k, low, np.where(state == k + 1, high, copied))
        rows = np.flatnonzero(is_free)
        if len(rows):
            if self.distances is None:
                values[rows] = low[rows] if self.side & 1 else high[rows]
                return values, is_free
            inner = table.take(rows).with_column(Column(self.state, state[rows].astype(np.int32)))
            distance = self.distances.sample_wider(inner, steps=steps, rng=rng)
            drawn = _from_distances(numbers_of(distance), ends[:, rows], self.side)
            for sizes in (np.full(len(rows), self.sizes[0]), self.sizes[state[rows]]):
                drawn = _rounded(drawn, sizes, ends[:, rows])
            values[rows] = drawn
        return values, is_free


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedBounds:
    """A number between bounds, after the fit."""

    bounds: Bounds
    variable: Variable
    reach: tuple[float, float]
    """Smallest and largest number of draws."""
    numbers: SafeNumbers | None
    """Replaces rare numbers."""
    sides: tuple[FittedSide, ...]
    other: FittedModel
    """Draws the number without bounds, for rows without a side."""

    @classmethod
    def of(
        cls,
        model: ConditionalModel,
        bounds: Bounds,
        predictors: Table,
        target: Column,
        rng: np.random.Generator,
    ) -> FittedBounds:
        """Learn from n >= 1 observed numbers; rows that break the bounds are ignored."""
        values, ends = numbers_of(target), bounds.limits(predictors)
        valid = (ends[0] <= values) & (values <= ends[1])
        if not valid.any():  # possible in a stratum; the plan refuses it for all rows
            valid[:] = True
        rows = np.flatnonzero(valid)
        predictors, target = predictors.take(rows), target.take(rows)
        values, ends = values[rows], ends[:, rows]
        numbers = SafeNumbers.of(target, min_holders_of(model), predictors.owners)
        other = model.fit(predictors, target, rng=rng)
        drawn = numbers_of(other.sample(predictors, rng=rng))
        binds = float(((drawn < ends[0]) | (drawn > ends[1])).mean()) > MAX_OUTSIDE_SHARE
        side = _sides(ends)
        sides = []
        for number in np.unique(side).tolist() if binds else ():
            chosen = np.flatnonzero(side == number)
            if len(chosen) >= MIN_ROWS:
                inner = ends[:, chosen]
                table = _with_room(predictors.take(chosen), bounds, inner, number)
                sides.append(_fit_side(model, number, table, target.take(chosen), inner, rng))
        fitted = cls(
            bounds=bounds,
            variable=target.variable,
            reach=(float(values.min()), float(values.max())) if numbers is None else numbers.reach,
            numbers=numbers,
            sides=tuple(sides),
            other=other,
        )
        if not sides:
            return fitted
        plain = replace(fitted, sides=())
        gaps = [x._gap(predictors, values, ends, rng) for x in (fitted, plain)]
        return plain if gaps[1] < gaps[0] - MIN_GAIN else fitted

    def _gap(
        self, predictors: Table, values: FloatArray, ends: FloatArray, rng: np.random.Generator
    ) -> float:
        """Return the largest Kolmogorov-Smirnov distance of the number and of its distances."""
        drawn, gaps = numbers_of(self.draw(predictors, rng)), []
        for bound in (np.zeros(len(values)), *ends):
            rows = np.isfinite(bound)
            if rows.any():
                one, two = (np.sort((x - bound)[rows]) for x in (values, drawn))
                both = np.concatenate([one, two])
                ranks = [np.searchsorted(x, both, side="right") for x in (one, two)]
                gaps.append(float(np.abs(ranks[0] - ranks[1]).max()) / len(one))
        return max(gaps)

    @property
    def decimals(self) -> int | None:
        """Decimals of the numbers; None without a fixed precision."""
        return 0 if self.numbers is None else self.numbers.precision

    def draw(self, predictors: Table, rng: np.random.Generator, *, widen: int = 0) -> Column:
        """Draw a number for every row, between its bounds if possible."""
        ends, values = self.bounds.limits(predictors), np.empty(predictors.n_rows)
        present = _sides(ends)
        for number in np.unique(present).tolist():  # by the side that shares most bounds with a row
            fits = [side for side in self.sides if side.side & number == side.side]
            best = max(fits, key=lambda side: side.side.bit_count(), default=None)
            rows = np.flatnonzero(present == number)
            values[rows] = self._drawn(best, predictors.take(rows), ends[:, rows], rng, widen)
        return numeric_column(self.variable, values)

    def _drawn(
        self,
        side: FittedSide | None,
        table: Table,
        ends: FloatArray,
        rng: np.random.Generator,
        widen: int,
    ) -> FloatArray:
        low, high = ends
        least, most = np.fmax(low, self.reach[0]), np.fmin(high, self.reach[1])
        # if a bound is outside the reach, only the bound counts
        inner = np.stack([np.where(least <= high, least, low), np.where(most >= low, most, high)])
        least, most = inner
        if side is not None:
            table = _with_room(table, self.bounds, ends, side.side)
        values = np.empty(len(low))
        todo, state = np.arange(len(low)), np.full(len(low), -1)
        for attempt in range(MAX_TRIES):
            part = table.take(todo)
            if side is None:
                column = self.other.sample_wider(part, steps=widen, rng=rng)
                drawn = numbers_of(made_safe(column, self.numbers, rng))
                is_free = np.zeros(len(todo), dtype=bool)
            else:
                new_state = state[todo]
                drawn, is_free = side.draw(part, ends[:, todo], rng, steps=widen, state=new_state)
                # keep rounded numbers; draw heaps outside the bounds again
                state[todo] = np.where(is_free, new_state, -1)
            rows = np.flatnonzero(is_free)
            is_bad = np.zeros(len(todo), dtype=bool)
            if side is not None and len(rows):
                sizes, of_rows = side.sizes[state[todo[rows]]], todo[rows]
                drawn[rows] = self._shifted(drawn[rows], sizes, inner[:, of_rows], rng)
                # rounding must not turn other numbers into a heap or a bound
                states = _states(drawn[rows], ends[:, of_rows], side.sizes, side.heaps)
                is_bad[rows] = states != new_state[rows]
            values[todo] = drawn
            todo = todo[is_bad | (drawn < least[todo]) | (drawn > most[todo])]
            if not len(todo):
                return values
            if attempt >= MAX_TRIES // 2:
                state[todo] = -1
        if side is None and widen < WIDENINGS[-1]:
            return values  # the caller draws from wider neighbourhoods
        # one unit inside the bound without a side, so that the two are not equal
        is_whole = side is None and self.decimals is not None
        aside = 10.0 ** -(self.decimals or 0) if is_whole else 0.0
        least, most = np.fmin(least + aside, most), np.fmax(most - aside, least)
        least, most = least[todo], most[todo]
        moved = np.fmax(np.fmin(values[todo], most), least)
        if self.numbers is not None:  # an end may be the number of one person
            safe = self.numbers.replace(moved, rng, (least, most))
            moved = np.where((safe >= least) & (safe <= most), safe, moved)
        values[todo] = moved
        return values

    def _shifted(
        self, values: FloatArray, sizes: FloatArray, ends: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Move rare numbers by a few units of their precision.

        They are not copies. Numbers without a free neighbour are replaced (`SafeNumbers.replace`).
        """
        if self.numbers is None:
            return values
        if self.numbers.precision is None:
            return self.numbers.replace(values, rng, (ends[0], ends[1]))
        (least, most), out, decimals = ends, np.array(values), self.numbers.precision
        todo = np.flatnonzero(self.numbers.is_rare(values))
        towards = np.where(rng.random(len(todo)) < 0.5, 1.0, -1.0)
        for offset in (sign * step for step in range(1, MAX_SHIFT_UNITS + 1) for sign in (1, -1)):
            trial = np.round(values[todo] + offset * towards * sizes[todo], decimals)
            fits = (trial >= least[todo]) & (trial <= most[todo]) & ~self.numbers.is_rare(trial)
            out[todo[fits]] = trial[fits]
            todo, towards = todo[~fits], towards[~fits]
        out[todo] = self.numbers.replace(out[todo], rng, (least[todo], most[todo]))
        return out


def _fit_side(
    model: ConditionalModel,
    side: int,
    table: Table,
    target: Column,
    ends: FloatArray,
    rng: np.random.Generator,
) -> FittedSide:
    values, decimals = numbers_of(target), decimals_of(target)
    sizes, heaps = _precisions(values, decimals), _heaps(values)
    if not side:  # no bounds
        sizes, heaps = sizes[:1], heaps[:0]
    state = _states(values, ends, sizes, heaps)
    present = np.unique(state)
    variable = _state_variable(len(sizes) + 2 + len(heaps))
    states = None
    if len(present) > 1:
        states = Cart().fit(table, Column(variable, state.astype(np.int32)), rng=rng)
    free = np.flatnonzero(state < len(sizes))
    distances = None
    if len(free):
        inner = table.take(free).with_column(Column(variable, state[free].astype(np.int32)))
        distance = _distances(values[free], ends[:, free], side)
        shared = None if side == 3 else _common_decimals(decimals, distance)
        if shared is not None:
            distance = np.round(distance, shared)  # differences of decimals are never exact
        number = Variable(name=target.name, kind=Kind.NUMERIC, decimals=shared)
        distances = model.fit(inner, Column(number, distance), rng=rng)
    return FittedSide(side=side, sizes=sizes, heaps=heaps, states=states, distances=distances)


def _state_variable(n: int) -> Variable:
    return Variable(name=_STATE, kind=Kind.CATEGORICAL, levels=tuple(map(str, range(n))))


def _with_room(table: Table, bounds: Bounds, ends: FloatArray, side: int) -> Table:
    """Add predictors of the distance: the room between bounds, and the distance before.

    The latter is that of the person's value before, from the bounds before, in a history.
    """
    if side == 3:
        table = table.with_column(number_column(_ROOM, ends[1] - ends[0]))
    before = table.get(PAST[0])
    if before is not None and side:
        if FORMER + bounds.names[0] in table:
            former = bounds.limits(table, FORMER)
            ends = np.where(np.isfinite(former), former, ends)
        distance = _distances(numbers_of(before), ends, 1 if side == 3 else side)
        table = table.with_column(number_column(_BEFORE, np.nan_to_num(distance, nan=0.0)))
    return table


def _sides(ends: FloatArray) -> IntArray:
    return np.asarray([1, 2] @ np.isfinite(ends), dtype=np.int64)


def _distances(values: FloatArray, ends: FloatArray, side: int) -> FloatArray:
    low, high = ends
    if side == 3:
        room = high - low
        return np.asarray(np.divide(values - low, room, out=np.zeros(len(values)), where=room > 0))
    if not side:
        return values
    return np.asarray(values - low if side == 1 else high - values)


def _from_distances(distances: FloatArray, ends: FloatArray, side: int) -> FloatArray:
    low, high = ends
    if side == 3:
        return np.asarray(low + distances * np.maximum(high - low, 0.0))
    if not side:
        return np.array(distances)
    return np.asarray(low + distances if side == 1 else high - distances)


def _common_decimals(decimals: int | None, distance: FloatArray) -> int | None:
    """Return the decimals of distances; None if the bound is finer than the number."""
    if decimals is None or not np.allclose(distance, np.round(distance, decimals), atol=1e-9):
        return None
    return decimals


def _precisions(values: FloatArray, decimals: int | None) -> FloatArray:
    """Return the sizes whose multiples occur more often than by chance, rising."""
    if decimals is None:
        return np.zeros(1)
    finest = 10.0**-decimals
    units = np.rint(values / finest)
    units = units[units != 0]
    sizes, before, share = [finest], 1, 1.0
    for size in (s for power in range(9) for s in (5 * 10**power, 10 ** (power + 1))):
        now = float(np.mean(units % size == 0)) if len(units) else 0.0
        if now < MIN_STATE_SHARE or now * len(units) < MIN_ROWS:
            break
        if now > MIN_EXCESS_RATIO * share * before / size:
            sizes.append(finest * size)
        before, share = size, now
    return np.array(sizes)


def _heaps(values: FloatArray) -> FloatArray:
    """Return the values that are far more frequent than their neighbours, rising."""
    distinct, counts = np.unique(values, return_counts=True)
    sums = np.concatenate([[0], np.cumsum(counts)])
    index = np.arange(len(counts))
    first = np.maximum(index - N_NEIGHBOURS, 0)
    last = np.minimum(index + N_NEIGHBOURS + 1, len(counts))
    beside = (sums[last] - sums[first] - counts) / np.maximum(last - first - 1, 1)
    least = max(MIN_ROWS, MIN_STATE_SHARE * len(values))
    tall = np.flatnonzero((counts >= least) & (counts >= MIN_PEAK_RATIO * np.maximum(beside, 1)))
    return np.sort(distinct[tall[np.argsort(-counts[tall], kind="stable")][:MAX_HEAPS]])


def _states(values: FloatArray, ends: FloatArray, sizes: FloatArray, heaps: FloatArray) -> IntArray:
    state = np.zeros(len(values), dtype=np.int64)
    for code, size in enumerate(sizes[1:].tolist(), 1):
        whole = np.rint(values / size)
        state[np.abs(values / size - whole) <= 4 * EPS * np.abs(whole)] = code
    heap = positions_in(heaps, values)
    state[heap >= 0] = len(sizes) + 2 + heap[heap >= 0]
    state[values == ends[1]] = len(sizes) + 1
    state[values == ends[0]] = len(sizes)
    return state


def _rounded(values: FloatArray, sizes: FloatArray, ends: FloatArray) -> FloatArray:
    """Round to multiples of sizes between the bounds, if there is one."""
    out = np.array(values)
    rows = np.flatnonzero(sizes > 0)
    size, (low, high) = sizes[rows], ends[:, rows]
    whole = np.rint(out[rows] / size)
    whole = np.where(whole * size < low, np.ceil(low / size - EPS), whole)
    whole = np.where(whole * size > high, np.floor(high / size + EPS), whole)
    # dividing by a whole number gives the exact decimal fraction
    trial = np.where(size < 1, whole / np.rint(1 / np.minimum(size, 1.0)), whole * size)
    fits = (trial >= low) & (trial <= high)
    out[rows[fits]] = trial[fits]
    return out
