"""Of several careers drawn for a person one is chosen, so that all together are like the data.

What single steps of a model get a little wrong adds up over a career, and what they copy adds up
too. So K careers are drawn for each person and one is chosen with odds exp(b f), where f counts
what a career has: its states by period, the time in each (absence is one), its spells and moves,
its first and last state, states between two others (absence there is a gap), its states times what
is known of the person, and how near it comes to careers of the data. b makes the chosen careers
agree with the data in the mean of each f: an exponential family on top of the model, with a ridge
that leaves alone what the data cannot tell.
These are odds; the noise of choosing by them, person by person, would be that of a sample. So
persons choose again, one after the other, with the odds times exp(-d / 2), d the squared distance
of all together from the data: a Gibbs sampler (Geman and Geman 1984).

Nearness is that of a fresh person. Each person of the data is looked for among all the others, and
the chosen careers shall meet a career as often; one that only one person has they shall meet, in
addition, no oftener than a model that never saw the person does, which two fits to halves tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy
from scipy import sparse
from scipy.special import logsumexp

from synthesizer.data.codes import GOLDEN, splitmix
from synthesizer.data.table import BoolArray, FloatArray, Table
from synthesizer.models.careers.runs import Codes, Index, Runs, to_runs
from synthesizer.models.kit.features import Features
from synthesizer.models.kit.numerics import check_floats, check_rising
from synthesizer.models.kit.predictors import Float32Array

Counted: TypeAlias = Any
"""A sparse array (csr) of counts of careers, shape (n, q)."""
Entries: TypeAlias = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], Float32Array]
Draw = Callable[[Table, int], Codes]
"""Draws a number of careers for each of n persons, shape (n * K, T), those of a person together."""

PERIODS, STRETCHES = 72, 6
"""Stretches of periods in which states are counted, of all persons and by what is known of them."""
LEAST_PERSONS = 5
"""What fewer persons have is not counted."""
KINDS = ((1, True), (1, False))
"""Careers meet that start their runs in the same of so many periods together (0: whenever), and
have the same states in order or, False, any: the same career, and the same periods of moves."""
RIDGE, NEAR_RIDGE = 300.0, 3.0
"""Of coefficients of standardised counts, and of nearness."""
FIT_CAREERS = 320_000
"""That coefficients are learnt from."""
BLOCK = 20_000
"""Careers that are counted at a time."""
HALF_DRAWS = 16
STEPS = 100
SWEEPS, PULL, NEAR_WEIGHT, SMALLEST = 2, 5.0, 5.0, 500
"""Times that all persons choose again, how strongly all together are held to the data, how much
more to its nearness, and persons from whom on so strongly."""


@dataclass(frozen=True, eq=False)
class Counts:
    """What of a career is counted, and how it varies in the data."""

    n_states: int
    """A."""
    n_periods: int
    """T."""
    features: Features
    """What is known of persons."""
    cells: Index
    """Which counts have enough persons, ascending, shape (q,)."""
    spread: FloatArray
    """Their standard deviations, shape (q,)."""

    def __post_init__(self) -> None:
        if len(self.cells):  # none where all careers are alike
            check_rising("cells of counts", self.cells)
        check_floats("spread", self.spread, self.cells.shape)
        if self.n_states < 1 or self.n_periods < 1:
            raise ValueError("counts of careers must have states and periods")

    @classmethod
    def of(cls, careers: Codes, n_states: int, persons: Table) -> Self:
        """Choose the counts of n careers."""
        features = Features.fit(persons)[0]
        row, cell, value = _entries(to_runs(careers), careers, n_states, features, persons)
        found, place = np.unique(cell, return_inverse=True)
        exact = value.astype(np.float64)  # what hardly varies is a small difference of squares
        counts = sparse.csr_array((exact, (row, place)), shape=(len(careers), len(found)))
        squares = (counts * counts).mean(axis=0)
        spread = np.sqrt(np.maximum(squares - counts.mean(axis=0) ** 2, 0.0))
        holders = np.bincount(counts.indices, minlength=len(found))
        kept = (holders >= LEAST_PERSONS) & (spread > 1e-6)
        return cls(n_states, careers.shape[1], features, found[kept], spread[kept])

    def __call__(self, careers: Codes, persons: Table) -> Counted:
        """Return the counts of n careers in units of their spread, shape (n, q)."""
        entries = self.entries(to_runs(careers), careers, persons)
        return _matrix([entries], len(careers), len(self.cells))

    def entries(self, runs: Runs, careers: Codes, persons: Table) -> Entries:
        """Return the counts as rows, columns and numbers, which add up where they meet."""
        row, cell, value = _entries(runs, careers, self.n_states, self.features, persons)
        place = self._places.take(cell, mode="clip")
        there = np.flatnonzero(place >= 0)
        place = place.take(there)
        return row.take(there), place, value.take(there) * self._weights.take(place)

    @cached_property
    def _places(self) -> npt.NDArray[np.int32]:
        """Which column each cell is, -1 for none and for all beyond the last one."""
        places = np.full(int(self.cells.max(initial=-1)) + 2, -1, dtype=np.int32)
        places[self.cells] = np.arange(len(self.cells))
        return places

    @cached_property
    def _weights(self) -> Float32Array:
        return (1.0 / self.spread).astype(np.float32)


def _matrix(entries: Sequence[Entries], n: int, width: int) -> Counted:
    """Return a sparse array of some entries, shape (n, width)."""
    row, place, value = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    return sparse.csr_array((value, (row, place)), shape=(n, width))


def _entries(
    runs: Runs, careers: Codes, k: int, features: Features, persons: Table
) -> tuple[npt.NDArray[np.int32], Index, Float32Array]:
    """Return what each person has: her row, what it is (a cell), and how much of it."""
    n, periods = careers.shape
    moves = np.flatnonzero(runs.index > 0)
    person = runs.person.astype(np.int32)
    inner = moves[runs.index[moves] < runs.counts[runs.person[moves]] - 1]
    every = np.arange(n, dtype=np.int32)
    rows = np.repeat(every, periods)
    spell, of_state = np.unique(runs.person * k + runs.state, return_inverse=True)
    time = np.bincount(of_state, weights=runs.length).astype(np.int64)
    parts = [
        (rows, (_stretches(periods, PERIODS) * k + careers).ravel()),
        ((spell // k).astype(np.int32), spell % k * (periods + 1) + time),
        (person, runs.state * (periods + 1) + runs.length),
        (person[moves], runs.state[moves - 1] * np.int64(k) + runs.state[moves]),
        (every, careers[:, 0] * np.int64(k) + careers[:, -1]),
        (person[inner], runs.state[inner].astype(np.int64)),
    ]
    by_length = k * (periods + 1)
    sizes = (k * min(periods, PERIODS), by_length, by_length, k * k, k * k, k)
    begins = np.cumsum((0, *sizes))
    row = np.concatenate([of for of, _ in parts])
    cell = np.concatenate([c + at for (_, c), at in zip(parts, begins, strict=False)])
    value = np.ones(len(row), dtype=np.float32)
    if features.terms:
        known = features.matrix(persons)[:, features.linear][:, 1:]
        stretch = np.tile(_stretches(periods, STRETCHES), n)
        there = np.ones(n * periods, dtype=np.float32), (rows, stretch * k + careers.ravel())
        spent = sparse.csr_array(there, shape=(n, STRETCHES * k)).tocoo()
        moved = np.flatnonzero(runs.counts > 1)
        of = np.concatenate([spent.row, moved])
        what = np.concatenate([spent.col, np.full(len(moved), STRETCHES * k)])
        much = np.concatenate([spent.data, runs.length[runs.first[moved]]]).astype(np.float32)
        at, term = np.nonzero(known[of])
        row = np.concatenate([row, of[at].astype(np.int32)])
        cell = np.concatenate([cell, begins[-1] + term * (STRETCHES * k + 1) + what[at]])
        value = np.concatenate([value, much[at] * known[of[at], term]])
    return row, cell, value


def _stretches(n_periods: int, most: int) -> Index:
    """Return in which of at most so many stretches each period lies, shape (T,)."""
    return np.arange(n_periods) * min(n_periods, most) // n_periods


@dataclass(frozen=True, eq=False)
class Met:
    """Careers of the data, as coarse as a grid of periods makes them."""

    grid: int
    states: bool
    keys: Index
    """Of C careers, ascending."""
    single: BoolArray
    """Whether exactly one person has it, shape (C,)."""

    def __post_init__(self) -> None:
        check_rising("keys of careers", self.keys)
        if self.grid < 0 or self.single.shape != self.keys.shape:
            raise ValueError("careers that may be met must each have one mark")

    @classmethod
    def of(cls, runs: Runs, grid: int, states: bool) -> tuple[Self, Float32Array]:
        """Gather the careers; also return what each person meets among the others, (n, 2)."""
        keys, place, counts = np.unique(
            _keys(runs, grid, states), return_inverse=True, return_counts=True
        )
        others = counts[place] - 1
        return cls(grid, states, keys, counts == 1), np.column_stack(
            [others == 1, others > 1]
        ).astype("f4")

    def __call__(self, runs: Runs) -> Float32Array:
        """Return whether each person meets a career of one person, or of several, (n, 2)."""
        keys = _keys(runs, self.grid, self.states)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        there = self.keys[place] == keys
        single = self.single[place]
        return np.column_stack([there & single, there & ~single]).astype(np.float32)


def _keys(runs: Runs, grid: int, states: bool) -> Index:
    """Return one number for each person's states in order and when they start, shape (n,)."""
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
    counts: Counts
    met: tuple[Met, ...]
    coefficients: Float32Array
    """b, shape (q,)."""
    means: Float32Array
    """Of the counts that the data have, shape (q,)."""

    def __post_init__(self) -> None:
        width = len(self.counts.cells) + 2 * len(self.met)
        check_floats("coefficients", self.coefficients, (width,))
        check_floats("means", self.means, (width,))
        if self.candidates < 1:
            raise ValueError("there must be a career to choose")

    def choose(self, careers: Codes, persons: Table, rng: np.random.Generator) -> Index:
        """Return the row of one of the K careers of each person, those of a person together."""
        n, k = len(careers) // self.candidates, self.candidates
        parts = [self._values(*block) for block in _blocks(careers, persons)]
        values = sparse.vstack(parts, format="csr")
        odds = (values @ self.coefficients).reshape(n, k)
        best = (odds + rng.gumbel(size=(n, k))).argmax(axis=1)  # the largest is a draw by the odds
        scale = np.full(len(self.means), math.sqrt(PULL / max(n, SMALLEST)))
        scale[len(self.counts.cells) :] *= NEAR_WEIGHT
        values.data *= scale[values.indices]
        squares = sparse.csr_array((values.data**2, values.indices, values.indptr), values.shape)
        squares = squares.sum(axis=1).reshape(n, k)
        beyond = values[np.arange(n) * k + best].sum(axis=0) - n * self.means * scale
        cells, numbers, ends = values.indices, values.data, values.indptr
        owner = np.repeat(np.arange(n * k) % k, np.diff(ends))
        bounds = ends.tolist()
        for _ in range(SWEEPS):
            loose = odds - squares / 2 + rng.gumbel(size=(n, k))
            for i in rng.permutation(n).tolist():
                mine = slice(bounds[i * k + best[i]], bounds[i * k + best[i] + 1])
                beyond[cells[mine]] -= numbers[mine]
                its = slice(bounds[i * k], bounds[i * k + k])
                pull = np.bincount(owner[its], numbers[its] * beyond[cells[its]], k)
                best[i] = (loose[i] - pull).argmax()
                mine = slice(bounds[i * k + best[i]], bounds[i * k + best[i] + 1])
                beyond[cells[mine]] += numbers[mine]
        return np.asarray(np.arange(n) * k + best)

    def _values(self, careers: Codes, persons: Table) -> Counted:
        runs, width = to_runs(careers), len(self.counts.cells)
        entries = [self.counts.entries(runs, careers, persons)]
        for met in self.met:
            row, column = np.nonzero(near := met(runs))
            place = (column + width).astype(np.int32)
            entries.append((row.astype(np.int32), place, near[row, column]))
            width += near.shape[1]
        return _matrix(entries, len(careers), width)


def fit_choice(
    careers: Codes,
    n_states: int,
    persons: Table,
    draw: Draw,
    halves: Iterable[tuple[Index, Draw]],
    candidates: int,
    rng: np.random.Generator,
) -> Choice:
    """Learn how to choose among careers of ``draw``.

    ``halves`` are persons, and draws of a model that was fitted to them alone.
    """
    kept = _kept(careers, persons, halves)
    counts = Counts.of(careers, n_states, persons)
    runs = to_runs(careers)
    met, near = zip(*(Met.of(runs, *kind) for kind in KINDS), strict=True)
    width = len(counts.cells)
    nothing = np.zeros(width + 2 * len(met), dtype=np.float32)
    choice = Choice(candidates, counts, met, nothing, nothing)
    n = len(careers)
    mean = sum(counts(*block).sum(axis=0) for block in _blocks(careers, persons)) / n
    target = np.concatenate([mean, *(part.mean(axis=0) for part in near)])
    order, most = rng.permutation(n), max(1, FIT_CAREERS // candidates)
    found, learnt = np.zeros(len(target)), []
    for begin in range(0, n, BLOCK // candidates + 1):
        rows: Index = order[begin : begin + BLOCK // candidates + 1]
        drawn = draw(persons.take(rows), candidates)
        values = choice._values(drawn, persons.take(np.repeat(rows, candidates)))
        found += values.sum(axis=0) / (n * candidates)
        if begin < most:
            learnt.append(values)
    values = sparse.vstack(learnt, format="csr")
    singles = width + 2 * np.arange(len(met))
    target[singles] = np.minimum(target[singles], kept * found[singles])
    ridge = np.full(len(target), RIDGE)
    ridge[width:] = NEAR_RIDGE
    coefficients = _fit(values, candidates, target - found, ridge)
    return Choice(
        candidates, counts, met, coefficients.astype(np.float32), target.astype(np.float32)
    )


def _blocks(careers: Codes, persons: Table) -> Iterable[tuple[Codes, Table]]:
    for begin in range(0, len(careers), BLOCK):
        rows = np.arange(begin, min(begin + BLOCK, len(careers)))
        yield careers[rows], persons.take(rows)


def _kept(careers: Codes, persons: Table, halves: Iterable[tuple[Index, Draw]]) -> FloatArray:
    """Return what shall be left of the careers that meet one of a single person, shape (kinds,).

    So much that no more of the fitted persons are met than of unseen ones.
    """
    times: dict[tuple[int, bool], list[FloatArray]] = {}
    for rows, draw in halves:
        drawn = to_runs(draw(persons.take(rows), HALF_DRAWS))
        for is_fitted, part in ((True, careers[rows]), (False, np.delete(careers, rows, axis=0))):
            for i, kind in enumerate(KINDS):
                met = Met.of(to_runs(part), *kind)[0]
                found = _keys(drawn, *kind)
                place = np.minimum(np.searchsorted(met.keys, found), len(met.keys) - 1)
                place = place[met.keys[place] == found]
                counts = np.bincount(place, minlength=len(met.keys))[met.single]
                times.setdefault((i, is_fitted), []).append(counts / HALF_DRAWS)
    if not times:
        return np.ones(len(KINDS))
    return np.array(
        [
            _thinning(*(np.concatenate(times[i, fitted]) for fitted in (True, False)))
            for i in range(len(KINDS))
        ]
    )


def _thinning(fitted: FloatArray, unseen: FloatArray) -> float:
    """Return the factor, at most 1, by which as many fitted persons are met as unseen ones.

    Both hold how often each person is expected to be met.
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
    """Move the mean of the chosen rows of values, (n * K, q), by ``gap``, with a ridge."""
    n = values.shape[0] // candidates
    scale = 1.0 / np.sqrt(ridge)
    wanted = n * gap + values.sum(axis=0) / candidates

    def loss(scaled: FloatArray) -> tuple[float, FloatArray]:
        b = scaled * scale
        scores = (values @ b).reshape(n, candidates)
        total = logsumexp(scores, axis=1, keepdims=True)
        odds = np.exp(scores - total).ravel()
        value = float(wanted @ b) - float(total.sum()) - float(scaled @ scaled) / 2
        return -value, np.asarray(scaled - (wanted - odds @ values) * scale)

    start = np.zeros(len(gap))
    found = scipy.optimize.minimize(
        loss, start, jac=True, method="L-BFGS-B", options={"maxiter": STEPS}
    )
    return np.asarray(found.x * scale)
