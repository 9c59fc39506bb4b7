"""A variable copied from donors with the same values of named variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from synthesizer.data.codes import Combinations
from synthesizer.data.errors import ModelError
from synthesizer.data.options import Count, Names, options
from synthesizer.data.panel.paths import OWN
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Table, Variable
from synthesizer.models.base import ConditionalModel, FittedModel
from synthesizer.models.cart import Cart
from synthesizer.models.kit.numerics import check_floats, check_rising
from synthesizer.models.kit.regression import observed_column

MIN_CELL_UNITS = 3
"""Units of a combination below which the plan warns."""
MIN_EQUAL_SHARE = 0.5
"""Share of pairs of donors with equal values from which a combination fixes the value."""
MIN_PAIRS = 10
"""Pairs of donors that are needed for this share."""
MAX_LAG = 0.05
"""Largest distance of the lag of a donor (a share for positive numbers)."""
MAX_VALUE_DISTANCE = 0.005
"""Distance of a value from the wanted one above which wider combinations are searched."""
N_NEIGHBOURS = 5
"""Donors, at most, among which one is drawn."""
EQUAL_DISTANCE = 0.01
"""Donors up to this distance count as nearest."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """n donors sorted by combination and then by a number, for fast nearest-neighbour search.

    Examples
    --------
    >>> from synthesizer.data.table import Column, Kind, Variable
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> table = Table([Column(sex, np.array([0, 0, 1], dtype=np.int32))])
    >>> near = Nearest.of(table, ("sex",), np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0]))
    >>> rows, far = near.draw(table, np.array([1.9, 1.1, 5.0]), np.random.default_rng(1))
    >>> near.values[rows].tolist(), far.round(1).tolist()
    ([20.0, 10.0, 30.0], [0.1, 0.1, 2.0])
    """

    cells: Combinations
    known: IntArray
    """Combinations with donors, rising."""
    ends: IntArray
    """Position after the last donor of each combination."""
    keys: FloatArray
    """The number of each donor, rising within a combination; shape (n,)."""
    values: FloatArray
    """Value of each donor, which is copied; shape (n,)."""

    def __post_init__(self) -> None:
        check_floats("keys", self.keys, (-1,))
        check_floats("values", self.values, self.keys.shape)
        check_rising("the combinations of donors", self.known)
        sizes = np.diff(self.ends, prepend=0)
        if len(sizes) != len(self.known) or (sizes <= 0).any() or sizes.sum() != len(self.keys):
            raise ValueError("every combination needs donors")

    @classmethod
    def of(cls, table: Table, names: Sequence[str], keys: FloatArray, values: FloatArray) -> Self:
        """Sort n >= 1 donors by their combination of ``names`` and their number."""
        cells = Combinations.of(table, names)
        cell = cells.numbers(table)
        order = np.lexsort((values, keys, cell))
        known, counts = np.unique(cell, return_counts=True)
        return cls(cells, known, np.cumsum(counts), keys[order], values[order])

    def draw(
        self, table: Table, keys: FloatArray, rng: np.random.Generator, *, most: int = N_NEIGHBOURS
    ) -> tuple[IntArray, FloatArray]:
        """Return a donor of each row's combination among the ``most`` nearest, and its distance.

        Positions are -1, and distances infinite, if the combination has no donor.
        """
        cell = self.cells.positions(table, self.known)
        low = np.append(0, self.ends)[cell]
        high = np.append(self.ends, 0)[cell]
        low = np.where(cell < 0, high, low)
        first = self._bisected(keys, low, high, rightmost=False)
        last = self._bisected(keys, low, high, rightmost=True)
        equal = first + np.floor(rng.random(len(cell)) * (last - first)).astype(np.int64)
        pool = first[:, None] + np.arange(-most, most)
        pool = np.where((last - first < most)[:, None], pool, equal[:, None])
        inside = (pool >= low[:, None]) & (pool < high[:, None])
        pool = np.clip(pool, 0, len(self.keys) - 1)
        far = np.where(inside, np.abs(self.keys[pool] - keys[:, None]), np.inf)
        order = np.argsort(far, axis=1, kind="stable")[:, :most]
        pool, far = np.take_along_axis(pool, order, 1), np.take_along_axis(far, order, 1)
        alike = (far <= np.maximum(far[:, :1], EQUAL_DISTANCE)) & np.isfinite(far)
        which = np.floor(rng.random(len(cell)) * alike.sum(axis=1)).astype(np.int64)
        rows = np.arange(len(cell))
        return np.where(inside.any(axis=1), pool[rows, which], -1), far[rows, which]

    def _bisected(
        self, keys: FloatArray, low: IntArray, high: IntArray, *, rightmost: bool
    ) -> IntArray:
        """Return the insertion point of each number between two positions (see `bisect`).

        Equal numbers come before the point if ``rightmost``. All rows are bisected together.
        """
        low, high = low.copy(), high.copy()
        while (is_open := low < high).any():
            middle = (low + high) // 2
            here = self.keys[np.minimum(middle, len(self.keys) - 1)]
            above: BoolArray = is_open & (here <= keys if rightmost else here < keys)
            low = np.where(above, middle + 1, low)
            high = np.where(is_open & ~above, middle, high)
        return low


@dataclass(frozen=True, eq=False)
class Lagged:
    """Dependence of a value on another number, the lag, usually the person's value before.

    Positive numbers are compared by their logarithms, others in standard deviations.
    """

    near: str
    """Predictor that is the lag."""
    scale: float
    """Divisor of differences; 0 for logarithms."""
    changed: tuple[str, ...]
    """Predictors that record which variables of the combination changed."""
    fixed: BoolArray
    """Whether each known combination fixes the value."""
    steps: tuple[Nearest, ...]
    """Donors of ever wider combinations with the same changes."""
    same: Nearest
    """Donors of the same combination, with any changes."""
    across: Nearest
    """Donors that may differ in the first variable only, with the same changes."""
    values: tuple[Nearest, ...]
    """The distinct values of ever wider combinations."""

    def __post_init__(self) -> None:
        check_floats("scale", np.array([self.scale]), (1,))
        if self.scale < 0 or not self.steps or not self.values:
            raise ValueError("a lag needs a scale, donors and values")

    def draw(
        self, predictors: Table, cell: IntArray, drawn: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Return the values of rows with a lag and a known combination, shape (n,).

        If the combination fixes the value: that of a donor with nearly the same lag, or else
        ``drawn``. Otherwise the change of such a donor is added to the lag, and the nearest value
        of the combination is returned.
        """
        lag = _on_scale(np.asarray(predictors[self.near].data, dtype=np.float64), self.scale)
        out = np.array(drawn)
        fixed = self.fixed[cell]
        may_widen = ~fixed
        for name in self.changed:
            may_widen &= predictors[name].data == 0
        wanted = np.full(len(lag), np.nan)

        def follow(pool: Nearest, chosen: IntArray, bound: float) -> IntArray:
            """Find donors; return the rows without one."""
            rows, far = pool.draw(predictors.take(chosen), lag[chosen], rng)
            is_hit = (rows >= 0) & (far <= bound)
            here, rows = chosen[is_hit], rows[is_hit]
            wanted[here] = lag[here] + _on_scale(pool.values[rows], self.scale) - pool.keys[rows]
            copied = fixed[here]
            out[here[copied]] = pool.values[rows[copied]]
            return chosen[~is_hit]

        todo: IntArray = np.arange(len(lag))
        for number, pool in enumerate(self.steps):
            todo = follow(pool, todo, np.inf if 0 < number == len(self.steps) - 1 else MAX_LAG)
            if number == 0:
                follow(self.across, todo[~fixed[todo] & ~may_widen[todo]], np.inf)
            todo = todo[may_widen[todo]]
        known = np.flatnonzero(~fixed & np.isfinite(wanted))
        out[known] = self._nearest(predictors.take(known), wanted[known], rng)
        todo = np.flatnonzero(~fixed & np.isnan(wanted))
        rows, _ = self.same.draw(predictors.take(todo), lag[todo], rng, most=1)
        is_hit = rows >= 0
        out[todo[is_hit]] = self.same.values[rows[is_hit]]
        return out

    def _nearest(
        self, predictors: Table, wanted: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Return the value nearest to each wanted one, from the narrowest combination."""
        best = np.full(len(wanted), np.nan)
        distance = np.full(len(wanted), np.inf)
        for pool in self.values:
            todo = np.flatnonzero(distance > MAX_VALUE_DISTANCE)
            if not len(todo):
                break
            rows, far = pool.draw(predictors.take(todo), wanted[todo], rng, most=1)
            nearer = far < distance[todo]
            best[todo[nearer]] = pool.values[rows[nearer]]
            distance[todo[nearer]] = far[nearer]
        return best


def _on_scale(numbers: FloatArray, scale: float) -> FloatArray:
    return np.asarray(numbers / scale if scale else np.log(np.maximum(numbers, 1e-300)))


@dataclass(frozen=True, eq=False)
class FittedNominal(FittedModel):
    """Donors by combination, and a base model for combinations with too few donors."""

    cells: Combinations
    known: IntArray
    ends: IntArray
    donors: Column
    base: FittedModel
    lagged: Lagged | None = None

    def __post_init__(self) -> None:
        if self.lagged is not None and self.lagged.fixed.shape != self.known.shape:
            raise ValueError("every combination needs a mark whether it fixes its value")
        if len(self.known) != len(self.ends) or (np.diff(self.known) <= 0).any():
            raise ValueError("the combinations must rise and have an end each")
        sizes = np.diff(np.append(0, self.ends))
        if (sizes <= 0).any() or sizes.sum() != len(self.donors):
            raise ValueError("every combination needs donors")

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:
        """Copy a random or near donor of the combination; by the base model without donors."""
        cell = self.cells.positions(predictors, self.known)  # -1: no donors
        starts = np.append(0, self.ends)[cell]
        size = np.append(self.ends, 0)[cell] - starts
        index = starts + np.floor(rng.random(len(cell)) * size).astype(np.int64)
        outside = np.flatnonzero(cell < 0)
        if len(outside) == len(cell):
            return self.base.sample(predictors, rng=rng)
        drawn = self._by_lag(predictors, cell, self.donors.take(np.where(cell < 0, 0, index)), rng)
        if not len(outside):
            return drawn
        return drawn.replaced(outside, self.base.sample(predictors.take(outside), rng=rng))

    def _by_lag(
        self, predictors: Table, cell: IntArray, drawn: Column, rng: np.random.Generator
    ) -> Column:
        """Redraw rows that have a lag and a combination that occurs in the data."""
        if self.lagged is None:
            return drawn
        rows = np.flatnonzero((cell >= 0) & predictors[self.lagged.near].is_observed)
        numbers = np.asarray(drawn.data[rows], dtype=np.float64)
        values = self.lagged.draw(predictors.take(rows), cell[rows], numbers, rng)
        return drawn.replaced(rows, observed_column(drawn.variable, values))

    def sample_wider(self, predictors: Table, *, steps: int, rng: np.random.Generator) -> Column:
        """Draw by the base model."""
        if steps == 0:
            return self.sample(predictors, rng=rng)
        return self.base.sample_wider(predictors, steps=steps - 1, rng=rng)


@options
class Nominal(ConditionalModel):
    """Copy the value of a donor with the same values of the variables ``given``.

    For values that come from a table, such as pay from plan, grade, step and year: draws are in the
    table as often as the data are. ``base`` draws new combinations and those of fewer than
    ``min_cell`` rows (persons in a panel). Source: Barrientos et al. (2018), section 3.2.3 (basic
    pay).

    With ``near`` the value also depends on the person's value before, the lag (equation 3 of the
    paper). If a combination fixes the value, the donors with the nearest lag are used. If not (as
    in pay bands without steps), find a donor with nearly the same lag and the same changes of
    variables. Add the donor's change to the lag; for positive numbers, multiply. If no such donor
    exists although a variable changed, the nearest donor of any period is used. The draw is the
    nearest value of the combination, or of a wider one if it has none within half a per cent. So
    every drawn value occurs in the data.

    Parameters
    ----------
    given : tuple of str
        Predictors whose values must be equal. With ``near``: the period first, then from the most
        general to the most specific; wider combinations leave out the last ones.
    base : model
        Model of all other rows: any conditional model.
    min_cell : int
        Smallest number of rows (of persons in a panel) with a combination, >= 1. Below 3, values
        of single persons are copied: use this only for public values, such as a pay table.
    near : str or None
        Numeric predictor in which donors must be similar: ``own.before`` if this model is the base
        of ``lag_one`` without ``stay_or_move``. First values of persons, without a value before,
        are those of a random donor of the combination.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> grade = Variable(name="grade", kind=Kind.CATEGORICAL, levels=("5", "7"))
    >>> pay = Variable(name="pay", kind=Kind.NUMERIC)
    >>> table = Table([Column(grade, np.repeat(np.array([0, 1], dtype=np.int32), 20))])
    >>> target = Column(pay, np.repeat([27000.0, 33500.0], 20))
    >>> fitted = Nominal(given=("grade",)).fit(table, target, rng=np.random.default_rng(1))
    >>> bool((fitted.sample(table, rng=np.random.default_rng(2)).data == target.data).all())
    True
    """

    fitted_type = FittedNominal
    in_words = "copies from records that agree on named variables"
    predictor_option = "given"

    given: Names
    base: ConditionalModel = field(default_factory=Cart)
    min_cell: Count = 5
    near: str | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        """See `ConditionalModel.needs`."""
        return self.given if self.near is None else (*self.given, self.near)

    @property
    def caution(self) -> str:
        """Warn that values of single units are copied."""
        if self.min_cell >= MIN_CELL_UNITS:
            return ""
        return (
            f"'nominal' with min_cell {self.min_cell} copies values of a single row or person with "
            f"a combination of {', '.join(self.given)}: use it only for public values, such as a "
            "pay table"
        )

    def unsuited(self, target: Variable, known: Mapping[str, Variable]) -> Iterator[str]:
        """Yield that ``near`` needs numbers; see `ConditionalModel.unsuited`."""
        if self.near is None:
            return
        near = known.get(self.near)
        if target.is_coded or (near is not None and near.is_coded):
            yield (
                f"near ({self.near}) is for numbers and dates, and {self.near} or "
                f"{target.name!r} is neither: remove near, or declare their kind"
            )

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedNominal:
        """Sort the donors by combination and fit the base model; see `ConditionalModel.fit`."""
        # no lag for codes: missing codes, and whether a value changes
        is_lagged = (
            self.near is not None
            and not target.is_coded
            and (self.near in predictors or not self.near.startswith(OWN))
        )
        (self if is_lagged else replace(self, near=None)).require(predictors)
        cells = Combinations.of(predictors, self.given)
        keys = cells.numbers(predictors)
        numbers, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
        large = holders_of(inverse, predictors.owners) >= self.min_cell
        rows = np.flatnonzero(large[inverse])
        order = rows[np.argsort(inverse[rows], kind="stable")]
        ends = np.cumsum(counts[large])
        return FittedNominal(
            cells=cells,
            known=numbers[large],
            ends=ends,
            donors=target.take(order),
            base=self.base.fit(predictors, target, rng=rng),
            lagged=self._lagged(predictors.take(order), target.take(order), ends)
            if is_lagged
            else None,
        )

    def _lagged(self, predictors: Table, target: Column, ends: IntArray) -> Lagged | None:
        """Learn from the donors, sorted by combination; None if none has a lag."""
        lag = predictors[str(self.near)]
        if problems := list(self.unsuited(target.variable, {lag.name: lag.variable})):
            raise ModelError(f"variable {target.name!r}: {problem}" for problem in problems)
        values = np.asarray(target.data, dtype=np.float64)
        cell = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
        order = np.lexsort((values, cell))
        predictors, values, lag = (predictors.take(order), values[order], lag.take(order))
        is_new = (np.diff(cell, prepend=-1) != 0) | (np.diff(values, prepend=np.nan) != 0)
        distinct = np.flatnonzero(is_new)
        lagged = np.flatnonzero(lag.is_observed)
        if not len(lagged):
            return None
        lags = np.asarray(lag.data, dtype=np.float64)[lagged]
        scale = 0.0
        if min(values.min(), lags.min()) <= 0:
            scale = float(values.std()) or 1.0
        changed = tuple(
            name for name in (f"{OWN}changed {g}" for g in self.given) if name in predictors
        )
        alike = (*changed, *(name for name in (f"{OWN}elapsed",) if name in predictors))
        with_lag, lags = predictors.take(lagged), _on_scale(lags, scale)
        once = predictors.take(distinct)
        wider = [self.given[:k] for k in range(len(self.given), 0, -1)]
        return Lagged(
            near=lag.name,
            scale=scale,
            changed=changed,
            fixed=self._fixed(predictors, distinct, ends),
            steps=tuple(
                Nearest.of(with_lag, (*names, *alike), lags, values[lagged]) for names in wider
            ),
            same=Nearest.of(with_lag, self.given, lags, values[lagged]),
            across=Nearest.of(with_lag, (*self.given[1:], *alike), lags, values[lagged]),
            values=tuple(
                Nearest.of(once, names, _on_scale(values[distinct], scale), values[distinct])
                for names in wider
            ),
        )

    def _fixed(self, predictors: Table, distinct: IntArray, ends: IntArray) -> BoolArray:
        """Return whether combinations fix the value, shape (number of combinations,).

        A combination does if enough pairs of its donors have equal values. Pairs of wider
        combinations are added until they are enough. The donors are sorted by combination and
        value; ``distinct`` are the positions at which a new value begins.
        """
        sizes = np.diff(ends, prepend=0)
        same = np.diff(np.append(distinct, ends[-1]))
        equal = np.add.reduceat(same * (same - 1.0), np.searchsorted(distinct, ends - sizes))
        pairs = sizes * (sizes - 1.0)
        one_each = predictors.take(ends - 1)
        share = np.full(len(ends), np.nan)
        for k in range(len(self.given), 1 if len(self.given) > 1 else 0, -1):
            names = self.given[1:k] or self.given
            _, group = np.unique(
                Combinations.of(one_each, names).numbers(one_each), return_inverse=True
            )
            many = np.bincount(group, weights=pairs)[group]
            shares = np.bincount(group, weights=equal)[group] / np.maximum(many, 1)
            share = np.where(np.isnan(share) & (many >= 2 * MIN_PAIRS), shares, share)
        return np.asarray(share >= MIN_EQUAL_SHARE)


def holders_of(cell: IntArray, owners: IntArray | None) -> IntArray:
    """Return the number of units (rows or persons) with each combination."""
    if owners is None:
        return np.bincount(cell)
    persons = int(owners.max(initial=0)) + 1
    return np.bincount(np.unique(cell.astype(np.int64) * persons + owners) // persons)
