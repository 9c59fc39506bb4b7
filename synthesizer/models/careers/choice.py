"""Choice of one of several careers drawn for each person, so that their means are as in the data.

Small errors of single steps add up over a career, and so does copying. So K careers are drawn for
each person, and one is chosen with probability proportional to exp(b f). The vector f counts:
states by period, time in each state (absence is one), runs and moves, first and last state, moments
of the time between two other states (of a gap, if absent) and of the first periods in two states,
states times features of the person, and equal careers in the data. b is fitted so that the means
of f over chosen careers equal those of the data: an exponential family with a ridge.
Independent choices would have sampling noise. So the persons choose again, one after the other,
with probability proportional to exp(b f - d / 2), where d is the squared distance between the means
of all chosen careers and of the data: a Gibbs sampler (Geman and Geman 1984).

States times features are not multiplied out: the features of a person are multiplied once by the
coefficients, or by the sums beyond the data, for all K careers.

Chosen careers equal careers of the data (meet them) as often as a person of the data meets the
others. Careers of a single person are met no more often than by a model that was not fitted to that
person; two fits to halves of the persons measure this.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy
from scipy.special import logsumexp

from synthesizer.data.codes import GOLDEN, positions_in, splitmix
from synthesizer.data.table import BoolArray, FloatArray, Table
from synthesizer.models.careers.runs import Codes, Index, Runs, to_runs
from synthesizer.models.kit.features import Features
from synthesizer.models.kit.kernels import Float32Array, choose_rows
from synthesizer.models.kit.numerics import check_floats, check_rising

Sparse: TypeAlias = Any
"""A sparse array (csr)."""
Draw = Callable[[Table, int], Codes]
"""Draws K careers for each of n persons, shape (n * K, T), sorted by person."""

MAX_PERIOD_GROUPS, MAX_STRETCHES = 72, 6
"""Groups of periods in which states are counted, in total and by features of persons."""
MAX_STATES_APART, N_MOMENTS = 8, 4
"""New states of a person between which the periods are counted, and moments of each count."""
MIN_PERSONS = 5
"""Persons with a count for it to be used."""
GRIDS = ((1, True), (1, False))
"""Definitions of equal careers: periods of a group (0: any start of runs), and whether states must
be equal. The first is the same career, the second the same periods of moves."""
RIDGE, MEETING_RIDGE = 300.0, 3.0
"""Ridges of coefficients of standardised counts, and of meetings."""
MAX_FIT_CAREERS = 320_000
"""Careers that coefficients are learnt from."""
BLOCK_CAREERS = 20_000
"""Careers that are counted at a time."""
DRAWS_OF_HALF = 16
MAX_ITERATIONS = 100
N_SWEEPS, PULL, MEETING_WEIGHT, MIN_SCALE_PERSONS = 2, 5.0, 5.0, 500
"""Rounds of the Gibbs sampler, weight of the distance, factor of meetings, and number of persons
below which the weight does not grow."""


@dataclass(frozen=True, eq=False)
class Counted:
    """The counts of K careers of each of n persons, shape (n * K, q) with q columns.

    Columns of products are not multiplied: a product is what a career has of a state and a stretch
    times a feature of the person.
    """

    alone: Sparse
    """Counts without features of persons, shape (n * K, q)."""
    spent: Sparse
    """What is multiplied: periods in each state, and the first run, shape (n * K, W)."""
    known: FloatArray
    """Features of persons, shape (n, F)."""
    columns: Index
    """Column of each product, 0 for none, shape (F, W)."""
    weights: FloatArray
    """Weight of each product, 0 for none, shape (F, W)."""

    @classmethod
    def stacked(cls, parts: Sequence[Counted]) -> Self:
        """Return the counts of all persons of some parts."""
        alone, spent = (
            scipy.sparse.vstack([getattr(part, name) for part in parts], format="csr")
            for name in ("alone", "spent")
        )
        known = np.concatenate([part.known for part in parts])
        return cls(alone, spent, known, parts[0].columns, parts[0].weights)

    def scaled(self, scale: FloatArray) -> Counted:
        """Return the counts times a number for each column."""
        alone = self.alone.astype(np.float64)
        alone.data *= scale[alone.indices]
        return replace(self, alone=alone, weights=self.weights * scale[self.columns])

    def scores(self, coefficients: FloatArray) -> FloatArray:
        """Return the product of each row with the coefficients of all columns, (n * K,)."""
        by_person = self.known @ (self.weights * coefficients[self.columns])
        return np.asarray(self.alone @ coefficients + self._by_person @ by_person.ravel())

    def sums(self, odds: FloatArray) -> FloatArray:
        """Return the sum of the rows times some numbers, shape (q,)."""
        by_person = (odds @ self._by_person).reshape(len(self.known), -1)
        products = self.weights * (self.known.T @ by_person)
        added = np.bincount(self.columns.ravel(), products.ravel(), self.alone.shape[1])
        return np.asarray(odds @ self.alone + added)

    @cached_property
    def _by_person(self) -> Sparse:
        """What is multiplied, with W columns for each person, shape (n * K, n * W)."""
        n, (n_rows, width) = len(self.known), self.spent.shape
        person = np.repeat(np.arange(n_rows) // (n_rows // max(n, 1)), np.diff(self.spent.indptr))
        indices = self.spent.indices + width * person
        return scipy.sparse.csr_array(
            (self.spent.data, indices, self.spent.indptr), (n_rows, n * width)
        )


@dataclass(frozen=True, eq=False)
class CareerCounts:
    """The counts of careers, and their variation in the data."""

    n_states: int
    """A."""
    n_periods: int
    """T."""
    features: Features
    """Features of persons."""
    cells: Index
    """Numbers of the counts with enough persons, ascending, shape (q,)."""
    spread: FloatArray
    """Their standard deviations, shape (q,)."""

    def __post_init__(self) -> None:
        if len(self.cells):  # none if all careers are equal
            check_rising("cells of counts", self.cells)
        check_floats("spread", self.spread, self.cells.shape)
        if self.n_states < 1 or self.n_periods < 1:
            raise ValueError("counts of careers must have states and periods")

    @classmethod
    def of(cls, careers: Codes, n_states: int, persons: Table) -> Self:
        """Choose the counts of n careers."""
        features, n = Features.fit(persons)[0], len(careers)
        runs = to_runs(careers)
        row, cell, value = _entries(runs, careers, n_states)
        present, column = np.unique(cell, return_inverse=True)
        exact = value.astype(np.float64)  # small variances are differences of squares
        counts = scipy.sparse.csr_array((exact, (row, column)), shape=(n, len(present)))
        known = _known(features, persons)
        spent = _spent(runs, careers, n_states).T.tocsr().astype(np.float64)
        mean, square, holders = (
            np.append(alone, (times @ of_persons).T.ravel())
            for alone, times, of_persons in (
                (counts.sum(axis=0) / n, spent, known / n),
                ((counts**2).sum(axis=0) / n, spent**2, known**2 / n),
                (
                    np.bincount(counts.indices, minlength=len(present)),
                    1.0 * (spent != 0),
                    known != 0,
                ),
            )
        )
        spread = np.sqrt(np.maximum(square - mean**2, 0.0))
        products = _begins(n_states, careers.shape[1])[-1] + np.arange(len(mean) - len(present))
        is_counted = (holders >= MIN_PERSONS) & (spread > 1e-6)
        cells = np.append(present, products)[is_counted]
        return cls(n_states, careers.shape[1], features, cells, spread[is_counted])

    def __call__(self, careers: Codes, persons: Table, met: Sequence[KnownCareers] = ()) -> Counted:
        """Return the counts of K careers of each person in units of their spread, and meetings."""
        runs, k = to_runs(careers), len(careers) // persons.n_rows
        row, cell, value = _entries(runs, careers, self.n_states)
        spent, known = _spent(runs, careers, self.n_states), _known(self.features, persons)
        columns = self._columns[self._begin :].reshape(-1, spent.shape[1])
        if k * MAX_STRETCHES * len(columns) < spent.shape[1]:  # fewer products than their factors
            of = np.repeat(np.arange(len(careers)), np.diff(spent.indptr))
            at, term = np.nonzero(known[of // k])
            row = np.append(row, of[at])
            cell = np.append(cell, self._begin + term * spent.shape[1] + spent.indices[at])
            value = np.append(value, spent.data[at] * known[of[at] // k, term])
            spent, known, columns = spent[:, :0], known[:, :0], columns[:0, :0]
        column = self._columns.take(cell)
        is_counted = np.flatnonzero(column >= 0)
        row, column = row.take(is_counted), column.take(is_counted)
        value = value.take(is_counted) * self._weights.take(column)
        width = len(self.cells)
        for one in met:
            some, kind = np.nonzero(meetings := one(runs))
            row, column = np.append(row, some), np.append(column, kind + width)
            value = np.append(value, meetings[some, kind])
            width += meetings.shape[1]
        alone = scipy.sparse.csr_array((value, (row, column)), shape=(len(careers), width))
        weights = np.append(self._weights, 0.0)[columns]  # 0 for the column -1
        return Counted(alone, spent, known, np.maximum(columns, 0), weights)

    @property
    def _begin(self) -> int:
        """Number of the first product with a feature of persons."""
        return int(_begins(self.n_states, self.n_periods)[-1])

    @cached_property
    def _columns(self) -> npt.NDArray[np.int32]:
        """Column of each cell, -1 for none."""
        n_features = int(np.count_nonzero(self.features.linear)) - 1
        size = self._begin + n_features * (MAX_STRETCHES * self.n_states + 1)
        columns = np.full(size, -1, dtype=np.int32)
        columns[self.cells] = np.arange(len(self.cells))
        return columns

    @cached_property
    def _weights(self) -> Float32Array:
        return (1.0 / self.spread).astype(np.float32)


def _begins(k: int, periods: int) -> Index:
    """Return the first cell of each kind of counts; the last ones are products."""
    by_length = k * (periods + 1)
    by_period = k * min(periods, MAX_PERIOD_GROUPS)
    sizes = (by_period, by_length, by_length, k * k, k * k, N_MOMENTS * k, N_MOMENTS * k * k)
    return np.cumsum((0, *sizes))


def _known(features: Features, persons: Table) -> FloatArray:
    """Return the features of persons that are multiplied, shape (n, F)."""
    used = features.matrix(persons)[:, features.linear][:, 1:]
    return np.ascontiguousarray(used, dtype=np.float64)


def _spent(runs: Runs, careers: Codes, k: int) -> Sparse:
    """Return the periods in each state and stretch, and the first run if a person moves, (n, W)."""
    n, periods = careers.shape
    cells = (_stretches(periods, MAX_STRETCHES) * k + careers).ravel()
    moved = np.flatnonzero(runs.counts > 1)
    row = np.append(np.repeat(np.arange(n), periods), moved)
    cell = np.append(cells, np.full(len(moved), MAX_STRETCHES * k))
    much = np.append(np.ones(n * periods), runs.length[runs.first[moved]])
    return scipy.sparse.csr_array((much, (row, cell)), shape=(n, MAX_STRETCHES * k + 1))


def _entries(
    runs: Runs, careers: Codes, k: int
) -> tuple[npt.NDArray[np.int32], Index, Float32Array]:
    """Return the counts of careers without features: row of the career, cell, and value."""
    n, periods = careers.shape
    moves = np.flatnonzero(runs.index > 0)
    person = runs.person.astype(np.int32)
    inner = moves[runs.index[moves] < runs.counts[runs.person[moves]] - 1]
    every = np.arange(n, dtype=np.int32)
    rows = np.repeat(every, periods)
    spell, visits, of_state = np.unique(
        runs.person * k + runs.state, return_index=True, return_inverse=True
    )
    time = np.bincount(of_state, weights=runs.length).astype(np.int64)
    parts = [
        (rows, (_stretches(periods, MAX_PERIOD_GROUPS) * k + careers).ravel()),
        ((spell // k).astype(np.int32), spell % k * (periods + 1) + time),
        (person, runs.state * (periods + 1) + runs.length),
        (person[moves], runs.state[moves - 1] * np.int64(k) + runs.state[moves]),
        (every, careers[:, 0] * np.int64(k) + careers[:, -1]),
    ]
    begins = _begins(k, periods)
    row = np.concatenate([of for of, _ in parts])
    cell = np.concatenate([c + at for (_, c), at in zip(parts, begins, strict=False)])
    value = np.ones(len(row), dtype=np.float32)
    lengths = runs.length[inner, None] ** np.arange(N_MOMENTS)
    between, lasting, powers = _moments(person[inner], runs.state[inner], lengths)
    timed, timing, moment = _timings(runs, np.sort(visits), k)
    row = np.concatenate([row, between, timed])
    cell = np.concatenate([cell, begins[-3] + lasting, begins[-2] + timing])
    value = np.concatenate([value, powers, moment])
    return row, cell, value


def _timings(
    runs: Runs, visits: Index, k: int
) -> tuple[npt.NDArray[np.int32], Index, Float32Array]:
    """Return moments of the first periods in two states: row of the person, cell, and value.

    ``visits`` are the first runs in each state, in the order of ``runs``. The four moments of two
    states are: both occur, sum and difference of the first periods, and the squared difference.
    """
    person, pairs = runs.person[visits], []
    for steps in range(1, MAX_STATES_APART + 1):
        earlier = np.flatnonzero(person[steps:] == person[:-steps])
        pairs.append((visits[earlier], visits[earlier + steps]))
    earlier, later = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    total = runs.start[later] + runs.start[earlier]
    gap = runs.start[later] - runs.start[earlier]
    moments = np.column_stack([np.ones_like(gap), total, gap, gap**2])
    pair = runs.state[earlier] * np.int64(k) + runs.state[later]
    return _moments(runs.person[earlier], pair, moments)


def _moments(
    person: npt.NDArray[Any], what: npt.NDArray[Any], moments: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.int32], Index, Float32Array]:
    """Return row, cell and value of the moments of each person, shape (r, `N_MOMENTS`)."""
    cell = what.astype(np.int64)[:, None] * N_MOMENTS + np.arange(N_MOMENTS)
    row = np.repeat(person.astype(np.int32), N_MOMENTS)
    return row, cell.ravel(), moments.astype(np.float32).ravel()


def _stretches(n_periods: int, most: int) -> Index:
    """Return the group of each period, at most ``most`` groups, shape (T,)."""
    return np.arange(n_periods) * min(n_periods, most) // n_periods


@dataclass(frozen=True, eq=False)
class KnownCareers:
    """Careers of the data, with starts of runs rounded to a grid of periods."""

    grid: int
    states: bool
    """Whether states must be equal."""
    keys: Index
    """Keys of C careers, ascending."""
    single: BoolArray
    """Whether exactly one person has the career, shape (C,)."""

    def __post_init__(self) -> None:
        check_rising("keys of careers", self.keys)
        if self.grid < 0 or self.single.shape != self.keys.shape:
            raise ValueError("careers that may be met must each have one mark")

    @classmethod
    def of(cls, runs: Runs, grid: int, states: bool) -> tuple[Self, Float32Array]:
        """Return the careers, and the meetings of each person with the others, shape (n, 2)."""
        keys, position, counts = np.unique(
            _keys(runs, grid, states), return_inverse=True, return_counts=True
        )
        others = counts[position] - 1
        return cls(grid, states, keys, counts == 1), np.column_stack(
            [others == 1, others > 1]
        ).astype("f4")

    def __call__(self, runs: Runs) -> Float32Array:
        """Return whether each career equals one of a single person, or of several, (n, 2)."""
        position = positions_in(self.keys, _keys(runs, self.grid, self.states))
        there, single = position >= 0, self.single[position]
        return np.column_stack([there & single, there & ~single]).astype(np.float32)


def _keys(runs: Runs, grid: int, states: bool) -> Index:
    """Return a hash of the states and starts of runs of each person, shape (n,)."""
    start = (runs.start + grid // 2) // grid if grid else np.zeros_like(runs.start)
    mixed = runs.index.astype(np.uint64)
    for part in (runs.state, start) if states else (start,):
        mixed = splitmix(mixed * GOLDEN + part.astype(np.uint64))
    return np.add.reduceat(mixed, runs.first).view(np.int64)


@dataclass(frozen=True, eq=False)
class Choice:
    """Chooses one of K careers drawn for each person."""

    candidates: int
    """K."""
    counts: CareerCounts
    met: tuple[KnownCareers, ...]
    coefficients: Float32Array
    """b, shape (q,)."""
    means: Float32Array
    """Means of the counts in the data, shape (q,)."""

    def __post_init__(self) -> None:
        width = len(self.counts.cells) + 2 * len(self.met)
        check_floats("coefficients", self.coefficients, (width,))
        check_floats("means", self.means, (width,))
        if self.candidates < 1:
            raise ValueError("there must be a career to choose")

    def choose(self, careers: Codes, persons: Table, rng: np.random.Generator) -> Index:
        """Return the row of the chosen career of each person; careers are sorted by person."""
        n, k = len(careers) // self.candidates, self.candidates
        values = Counted.stacked(
            [self.counts(*block, self.met) for block in _blocks(careers, persons)]
        )
        odds = values.scores(self.coefficients.astype(np.float64)).reshape(n, k)
        best = (odds + rng.gumbel(size=(n, k))).argmax(axis=1)  # the largest is a draw by the odds
        scale = np.full(len(self.means), math.sqrt(PULL / max(n, MIN_SCALE_PERSONS)))
        scale[len(self.counts.cells) :] *= MEETING_WEIGHT
        values = values.scaled(scale)
        is_chosen = np.zeros(n * k)
        is_chosen[np.arange(n) * k + best] = 1.0
        beyond = values.sums(is_chosen) - n * self.means * scale
        for _ in range(N_SWEEPS):
            worth = odds + rng.gumbel(size=(n, k))
            choose_rows(rng.permutation(n), values, worth, beyond, best)
        return np.asarray(np.arange(n) * k + best)


def fit_choice(
    careers: Codes,
    n_states: int,
    persons: Table,
    draw: Draw,
    halves: Iterable[tuple[Index, Draw]],
    candidates: int,
    rng: np.random.Generator,
) -> Choice:
    """Learn the choice among careers of ``draw``.

    ``halves`` are persons, each with draws of a model that was fitted to them only.
    """
    thinning = _thinnings(careers, persons, halves)
    counts = CareerCounts.of(careers, n_states, persons)
    runs = to_runs(careers)
    met, meetings = zip(*(KnownCareers.of(runs, *grid) for grid in GRIDS), strict=True)
    width = len(counts.cells)
    n = len(careers)
    mean = (
        sum(counts(*block).sums(np.ones(len(block[0]))) for block in _blocks(careers, persons)) / n
    )
    target = np.concatenate([mean, *(part.mean(axis=0) for part in meetings)])
    order, most = rng.permutation(n), max(1, MAX_FIT_CAREERS // candidates)
    drawn_mean, learnt = np.zeros(len(target)), []
    for begin in range(0, n, BLOCK_CAREERS // candidates + 1):
        rows: Index = order[begin : begin + BLOCK_CAREERS // candidates + 1]
        drawn = draw(persons.take(rows), candidates)
        values = counts(drawn, persons.take(rows), met)
        drawn_mean += values.sums(np.ones(len(drawn))) / (n * candidates)
        if begin < most:
            learnt.append(values)
    values = Counted.stacked(learnt)
    singles = width + 2 * np.arange(len(met))
    target[singles] = np.minimum(target[singles], thinning * drawn_mean[singles])
    ridge = np.full(len(target), RIDGE)
    ridge[width:] = MEETING_RIDGE
    coefficients = _fit(values, candidates, target - drawn_mean, ridge)
    return Choice(
        candidates, counts, met, coefficients.astype(np.float32), target.astype(np.float32)
    )


def _blocks(careers: Codes, persons: Table) -> Iterator[tuple[Codes, Table]]:
    """Yield blocks of persons and all their careers, which are sorted by person."""
    k = len(careers) // persons.n_rows
    step = max(1, BLOCK_CAREERS // k)
    for begin in range(0, persons.n_rows, step):
        rows = np.arange(begin, min(begin + step, persons.n_rows))
        yield careers[begin * k : (begin + step) * k], persons.take(rows)


def _thinnings(careers: Codes, persons: Table, halves: Iterable[tuple[Index, Draw]]) -> FloatArray:
    """Return factors of meetings with careers of single persons, at most 1, shape (grids,).

    With them, training persons are met no more often than holdout persons.
    """
    times: dict[tuple[int, bool], list[FloatArray]] = {}
    for rows, draw in halves:
        drawn = to_runs(draw(persons.take(rows), DRAWS_OF_HALF))
        for is_fitted, part in ((True, careers[rows]), (False, np.delete(careers, rows, axis=0))):
            for i, kind in enumerate(GRIDS):
                met = KnownCareers.of(to_runs(part), *kind)[0]
                position = positions_in(met.keys, _keys(drawn, *kind))
                counts = np.bincount(position[position >= 0], minlength=len(met.keys))[met.single]
                times.setdefault((i, is_fitted), []).append(counts / DRAWS_OF_HALF)
    if not times:
        return np.ones(len(GRIDS))
    return np.array(
        [
            _thinning(*(np.concatenate(times[i, fitted]) for fitted in (True, False)))
            for i in range(len(GRIDS))
        ]
    )


def _thinning(fitted: FloatArray, unseen: FloatArray) -> float:
    """Return the factor, at most 1, with which training and holdout persons are met equally often.

    Both arrays are the expected number of meetings of each person.
    """
    share = -np.expm1(-unseen).sum() / max(len(unseen), 1) * len(fitted)
    low, high = 0.0, 1.0
    if -np.expm1(-fitted).sum() <= share:
        return 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if -np.expm1(-middle * fitted).sum() > share else (middle, high)
    return high


def _fit(values: Counted, candidates: int, gap: FloatArray, ridge: FloatArray) -> FloatArray:
    """Return coefficients that move the mean of chosen rows, of (n * K, q), by ``gap``."""
    n = len(values.known)
    scale = 1.0 / np.sqrt(ridge)
    wanted = n * gap + values.sums(np.full(n * candidates, 1.0 / candidates))
    values = values.scaled(np.ones(len(gap)))  # in double precision

    def loss(scaled: FloatArray) -> tuple[float, FloatArray]:
        b = scaled * scale
        scores = values.scores(b).reshape(n, candidates)
        total = logsumexp(scores, axis=1, keepdims=True)
        odds = np.exp(scores - total).ravel()
        value = float(wanted @ b) - float(total.sum()) - float(scaled @ scaled) / 2
        return -value, np.asarray(scaled - (wanted - values.sums(odds)) * scale)

    start = np.zeros(len(gap))
    result = scipy.optimize.minimize(
        loss, start, jac=True, method="L-BFGS-B", options={"maxiter": MAX_ITERATIONS}
    )
    return np.asarray(result.x * scale)
