"""A variable copied from those who agree on named variables."""

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

FEWEST = 3
"""Fewest units of a combination below which the plan warns."""
FIXED = 0.5
"""Share of equal values among pairs of donors of a combination from which on it fixes the value."""
PAIRS = 10
"""Pairs of donors that tell that."""
FAR = 0.05
"""How far the lag of a donor may be (of numbers above 0: as a share of it), unless those of
wider combinations are farther still."""
CLOSE = 0.005
"""How far a value may be from what is wanted before one is sought in a wider combination."""
NEIGHBOURS = 5
"""Donors, at most, among which one is drawn."""
ALIKE = 0.01
"""How much farther than the nearest one they may be."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """Donors, n of them, by combination and then by a number, so that the nearest are found fast.

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
    """Where the donors of each end."""
    places: FloatArray
    """The number of each donor, rising within a combination; shape (n,)."""
    values: FloatArray
    """What is copied from each donor, shape (n,)."""

    def __post_init__(self) -> None:
        check_floats("places", self.places, (-1,))
        check_floats("values", self.values, self.places.shape)
        check_rising("the combinations of donors", self.known)
        sizes = np.diff(self.ends, prepend=0)
        if len(sizes) != len(self.known) or (sizes <= 0).any() or sizes.sum() != len(self.places):
            raise ValueError("every combination needs donors")

    @classmethod
    def of(cls, table: Table, names: Sequence[str], places: FloatArray, values: FloatArray) -> Self:
        """Sort n >= 1 donors by their combination of ``names`` and their number."""
        cells = Combinations.of(table, names)
        numbers = cells.numbers(table)
        order = np.lexsort((values, places, numbers))
        known, counts = np.unique(numbers, return_counts=True)
        return cls(cells, known, np.cumsum(counts), places[order], values[order])

    def draw(
        self, table: Table, places: FloatArray, rng: np.random.Generator, *, most: int = NEIGHBOURS
    ) -> tuple[IntArray, FloatArray]:
        """Draw a donor of each row's combination among the ``most`` nearest, and how far it is.

        Returns positions, -1 where the combination has no donor, and distances, infinite there.
        """
        cell = self.cells.positions(table, self.known)
        low = np.append(0, self.ends)[cell]
        high = np.append(self.ends, 0)[cell]
        low = np.where(cell < 0, high, low)
        first = self._bisected(places, low, high, rightmost=False)
        last = self._bisected(places, low, high, rightmost=True)
        equal = first + np.floor(rng.random(len(cell)) * (last - first)).astype(np.int64)
        near = first[:, None] + np.arange(-most, most)
        near = np.where((last - first < most)[:, None], near, equal[:, None])
        inside = (near >= low[:, None]) & (near < high[:, None])
        near = np.clip(near, 0, len(self.places) - 1)
        far = np.where(inside, np.abs(self.places[near] - places[:, None]), np.inf)
        order = np.argsort(far, axis=1, kind="stable")[:, :most]
        near, far = np.take_along_axis(near, order, 1), np.take_along_axis(far, order, 1)
        alike = (far <= np.maximum(far[:, :1], ALIKE)) & np.isfinite(far)
        which = np.floor(rng.random(len(cell)) * alike.sum(axis=1)).astype(np.int64)
        rows = np.arange(len(cell))
        return np.where(inside.any(axis=1), near[rows, which], -1), far[rows, which]

    def _bisected(
        self, places: FloatArray, low: IntArray, high: IntArray, *, rightmost: bool
    ) -> IntArray:
        """Return where each number would stand between two positions, those equal before it or not.

        All rows are halved together.
        """
        low, high = low.copy(), high.copy()
        while (is_open := low < high).any():
            middle = (low + high) // 2
            here = self.places[np.minimum(middle, len(self.places) - 1)]
            above: BoolArray = is_open & (here <= places if rightmost else here < places)
            low = np.where(above, middle + 1, low)
            high = np.where(is_open & ~above, middle, high)
        return low


@dataclass(frozen=True, eq=False)
class Lagged:
    """How a value follows from another number, mostly the value before it.

    Numbers above 0 are compared by their logarithms, others in standard deviations.
    """

    near: str
    scale: float
    """What a difference is divided by; 0 for logarithms."""
    changed: tuple[str, ...]
    """Predictors that say what has changed of the combination."""
    fixed: BoolArray
    """Whether each known combination fixes the value."""
    steps: tuple[Nearest, ...]
    """Donors with a lag who agree on ever fewer variables, and on what has changed."""
    own: Nearest
    """Donors with a lag of the combination itself."""
    across: Nearest
    """Donors with a lag who agree on all but the first variable, and on what has changed."""
    values: tuple[Nearest, ...]
    """The distinct values of ever wider combinations."""

    def __post_init__(self) -> None:
        check_floats("scale", np.array([self.scale]), (1,))
        if self.scale < 0 or not self.steps or not self.values:
            raise ValueError("a lag needs a scale, donors and values")

    def draw(
        self, predictors: Table, cell: IntArray, drawn: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Return the values of rows with a lag, by their known combination, shape (n,).

        Where the combination fixes the value that of a donor with nearly the same lag, or else
        ``drawn``. Where it does not, the change of such a donor is added to the lag and the value
        nearest to that is looked up.
        """
        lag = _on_scale(np.asarray(predictors[self.near].data, dtype=np.float64), self.scale)
        out = np.array(drawn)
        fixed = self.fixed[cell]
        may_widen = ~fixed
        for name in self.changed:
            may_widen &= predictors[name].data == 0
        wanted = np.full(len(lag), np.nan)

        def follow(pool: Nearest, chosen: IntArray, bound: float) -> IntArray:
            """Look for donors, and return the rows that found none."""
            rows, far = pool.draw(predictors.take(chosen), lag[chosen], rng)
            found = (rows >= 0) & (far <= bound)
            here, rows = chosen[found], rows[found]
            wanted[here] = lag[here] + _on_scale(pool.values[rows], self.scale) - pool.places[rows]
            copied = fixed[here]
            out[here[copied]] = pool.values[rows[copied]]
            return chosen[~found]

        left: IntArray = np.arange(len(lag))
        for number, pool in enumerate(self.steps):
            left = follow(pool, left, np.inf if 0 < number == len(self.steps) - 1 else FAR)
            if number == 0:
                follow(self.across, left[~fixed[left] & ~may_widen[left]], np.inf)
            left = left[may_widen[left]]
        known = np.flatnonzero(~fixed & np.isfinite(wanted))
        out[known] = self._nearest(predictors.take(known), wanted[known], rng)
        left = np.flatnonzero(~fixed & np.isnan(wanted))
        rows, _ = self.own.draw(predictors.take(left), lag[left], rng, most=1)
        found = rows >= 0
        out[left[found]] = self.own.values[rows[found]]
        return out

    def _nearest(
        self, predictors: Table, wanted: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Return the value nearest to each wanted one, in the narrowest combination with one."""
        best = np.full(len(wanted), np.nan)
        distance = np.full(len(wanted), np.inf)
        for pool in self.values:
            left = np.flatnonzero(distance > CLOSE)
            if not len(left):
                break
            rows, far = pool.draw(predictors.take(left), wanted[left], rng, most=1)
            nearer = far < distance[left]
            best[left[nearer]] = pool.values[rows[nearer]]
            distance[left[nearer]] = far[nearer]
        return best


def _on_scale(numbers: FloatArray, scale: float) -> FloatArray:
    return np.asarray(numbers / scale if scale else np.log(np.maximum(numbers, 1e-300)))


@dataclass(frozen=True, eq=False)
class FittedNominal(FittedModel):
    """Donors by combination, and a base model for the combinations with too few of them."""

    cells: Combinations
    known: IntArray
    ends: IntArray
    donors: Column
    base: FittedModel
    lagged: Lagged | None = None

    def __post_init__(self) -> None:
        if self.lagged is not None and self.lagged.fixed.shape != self.known.shape:
            raise ValueError("every combination fixes its value or not")
        if len(self.known) != len(self.ends) or (np.diff(self.known) <= 0).any():
            raise ValueError("the combinations must rise and have an end each")
        sizes = np.diff(np.append(0, self.ends))
        if (sizes <= 0).any() or sizes.sum() != len(self.donors):
            raise ValueError("every combination needs donors")

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:
        """Copy a donor of the row's combination; by the base model where it has none.

        A random one, or by what it is to be near to.
        """
        cell = self.cells.positions(predictors, self.known)  # -1: no donors
        starts = np.append(0, self.ends)[cell]
        size = np.append(self.ends, 0)[cell] - starts
        place = starts + np.floor(rng.random(len(cell)) * size).astype(np.int64)
        outside = np.flatnonzero(cell < 0)
        if len(outside) == len(cell):
            return self.base.sample(predictors, rng=rng)
        drawn = self._near(predictors, cell, self.donors.take(np.where(cell < 0, 0, place)), rng)
        if not len(outside):
            return drawn
        return drawn.replaced(outside, self.base.sample(predictors.take(outside), rng=rng))

    def _near(
        self, predictors: Table, cell: IntArray, drawn: Column, rng: np.random.Generator
    ) -> Column:
        """Draw the rows of known combinations that have a lag by it."""
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
    """A number (or anything else) treated as nominal: copied from those who agree on ``given``.

    For values that come from a table, such as pay from plan, grade, step and year: what is drawn
    is in the table as often as in the data. Combinations that fewer than ``min_cell`` units have
    (rows, persons of a panel), and new ones, are drawn by ``base``. Source: Barrientos et al.
    (2018), section 3.2.3 (basic pay).

    With ``near`` it follows from the value before, too (equation 3 of the paper). Where
    combinations fix the value, donors are those whose lag is nearest. Where they do not, as in pay
    bands without steps, the change of a donor with nearly the same lag, who agrees on what has
    changed, is added to the lag (in proportion, of numbers above 0); where something has changed
    and there is none, that of the nearest donor of any period. Drawn is the value of the
    combination that is nearest to that, or of a wider one where it has none within half a per cent.
    So no value is drawn that the data do not have.

    Parameters
    ----------
    given : tuple of str
        Predictors that have to agree. For ``near`` the period first, then from the widest to the
        narrowest: wider combinations leave out the last ones.
    base : model
        For all other rows.
    min_cell : int
        Fewest rows of a combination, of a panel: fewest persons, >= 1. Below 3 the values of single
        persons come back: only for values that are public, such as those of a pay table.
    near : str or None
        Number that donors have nearly the same of: ``own.before`` as the base of `LagOne` without
        ``stay_or_move``. First values of persons, which have none, are random ones of their
        combination.

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
        """Say that values of single units come back."""
        if self.min_cell >= FEWEST:
            return ""
        return (
            f"'nominal' with min_cell {self.min_cell} copies values also where a single one has "
            f"this combination of {', '.join(self.given)}: only for values that are public, such "
            "as those of a pay table"
        )

    def unsuited(self, target: Variable, known: Mapping[str, Variable]) -> Iterator[str]:
        """Say that ``near`` is about numbers; see `ConditionalModel.unsuited`."""
        if self.near is None:
            return
        near = known.get(self.near)
        if target.is_coded or (near is not None and near.is_coded):
            yield (
                f"near ({self.near}) is for numbers and dates; both {self.near} and "
                f"{target.name!r} have to be one: take near out, or declare their kind"
            )

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedNominal:
        """Sort the donors by combination and fit the base model; see `ConditionalModel.fit`."""
        # codes follow from no number: missing codes, and whether a value changes at all
        is_lagged = (
            self.near is not None
            and not target.is_coded
            and (self.near in predictors or not self.near.startswith(OWN))
        )
        (self if is_lagged else replace(self, near=None)).require(predictors)
        cells = Combinations.of(predictors, self.given)
        keys = cells.numbers(predictors)
        numbers, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
        large = _holders(inverse, predictors.owners) >= self.min_cell
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
        """Learn from the donors, sorted by combination; None where none has a lag."""
        near = predictors[str(self.near)]
        if problems := list(self.unsuited(target.variable, {near.name: near.variable})):
            raise ModelError(f"variable {target.name!r}: {problem}" for problem in problems)
        values = np.asarray(target.data, dtype=np.float64)
        cell = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
        order = np.lexsort((values, cell))
        predictors, values, near = predictors.take(order), values[order], near.take(order)
        is_new = (np.diff(cell, prepend=-1) != 0) | (np.diff(values, prepend=np.nan) != 0)
        distinct = np.flatnonzero(is_new)
        lagged = np.flatnonzero(near.is_observed)
        if not len(lagged):
            return None
        lags = np.asarray(near.data, dtype=np.float64)[lagged]
        scale = 0.0
        if min(values.min(), lags.min()) <= 0:
            scale = float(values.std()) or 1.0
        changed = tuple(
            name for name in (f"{OWN}changed {g}" for g in self.given) if name in predictors
        )
        alike = (*changed, *(name for name in (f"{OWN}elapsed",) if name in predictors))
        with_lag, places = predictors.take(lagged), _on_scale(lags, scale)
        once = predictors.take(distinct)
        wider = [self.given[:k] for k in range(len(self.given), 0, -1)]
        return Lagged(
            near=near.name,
            scale=scale,
            changed=changed,
            fixed=self._fixed(predictors, distinct, ends),
            steps=tuple(
                Nearest.of(with_lag, (*names, *alike), places, values[lagged]) for names in wider
            ),
            own=Nearest.of(with_lag, self.given, places, values[lagged]),
            across=Nearest.of(with_lag, (*self.given[1:], *alike), places, values[lagged]),
            values=tuple(
                Nearest.of(once, names, _on_scale(values[distinct], scale), values[distinct])
                for names in wider
            ),
        )

    def _fixed(self, predictors: Table, distinct: IntArray, ends: IntArray) -> BoolArray:
        """Return whether combinations fix the value, shape (number of combinations,).

        The donors are sorted by combination and value; ``distinct`` is where another one begins.

        By the pairs of donors with equal values among all pairs of a combination and those that
        agree on all but the first variable, or on ever fewer, until there are enough pairs.
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
            share = np.where(np.isnan(share) & (many >= 2 * PAIRS), shares, share)
        return np.asarray(share >= FIXED)


def _holders(cell: IntArray, owners: IntArray | None) -> IntArray:
    """Return how many units, rows or persons, have each combination; every one has a row."""
    if owners is None:
        return np.bincount(cell)
    persons = int(owners.max(initial=0)) + 1
    pairs = np.unique(cell.astype(np.int64) * persons + owners)
    return np.bincount(pairs // persons)
