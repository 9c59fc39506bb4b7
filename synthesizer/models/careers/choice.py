"""Of several careers drawn for a person one is chosen, so that all together are like the data.

What single steps of a model get a little wrong adds up over a career, and what they copy adds up
too. So K careers are drawn for each person and one is chosen with odds exp(b f), where f counts
what a career has: its states by period, its spells and moves, its first and last state, its states
times what is known of the person, and how near it comes to careers of the data. b makes the
chosen careers agree with the data in the mean of each f: an exponential family on top of the model,
with a ridge that leaves alone what the data cannot tell.

Nearness is that of a fresh person. Each person of the data is looked for among all the others, and
the chosen careers shall meet a career as often; one that only one person has they shall meet, in
addition, no oftener than a model that never saw the person does, which two fits to halves tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import logsumexp

from synthesizer.data.table import BoolArray, FloatArray, IntArray, Table
from synthesizer.models.careers.runs import Codes, Index, Runs, to_runs
from synthesizer.models.kit.features import Features
from synthesizer.models.kit.numerics import check_codes, check_floats, check_rising
from synthesizer.models.kit.predictors import Float32Array

Draw = Callable[[Table, int], Codes]
"""Draws a number of careers for each of n persons, shape (n * K, T), those of a person together."""

MOST_COUNTS = 720
"""States times stretches of periods that are counted."""
MOST_KNOWN = 1440
"""States times stretches times what is known of persons."""
MOST_STATES, MOST_PAIRED = 30, 12
"""States that are counted, the most frequent; those whose moves and first and last are."""
STRETCHES = 6
"""Of periods, in which states are counted by what is known of persons."""
LENGTHS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 18, 21, 24, 30, 36, 42, 48, 60)
"""Shortest lengths of classes of spells."""
LEAST_PERSONS = 5
"""What fewer persons have is not counted."""
GRIDS = (1,)
"""Careers meet that have the same states in the same order and start them in the same of so many
periods together: 1 is the same career. Wider ones (3, 6) cost more in distances than they save."""
RIDGE, NEAR_RIDGE = 300.0, 3.0
"""Of coefficients of standardised counts, and of nearness."""
FIT_CELLS = 40_000_000
"""Careers times counts that coefficients are learnt from."""
BLOCK_CELLS = 20_000_000
HALF_DRAWS = 16
STEPS = 100


@dataclass(frozen=True, eq=False)
class Counts:
    """What of a career is counted, and how it varies in the data."""

    states: Codes
    """Most frequent ones, shape (F,); the others count as one."""
    n_states: int
    """A."""
    n_periods: int
    """T."""
    features: Features
    """What is known of persons."""
    kept: BoolArray
    """Which counts have enough persons, shape (q,)."""
    spread: Float32Array
    """Standard deviations of those that are kept."""

    def __post_init__(self) -> None:
        check_codes("states", self.states, self.n_states)
        check_floats("spread", self.spread, (int(self.kept.sum()),))
        if self.kept.ndim != 1 or not len(self.states) or self.n_periods < 1:
            raise ValueError("counts of careers must have states and periods")

    @classmethod
    def of(cls, careers: Codes, n_states: int, persons: Table) -> tuple[Self, Float32Array]:
        """Choose the counts of n careers; also return them, shape (n, kept)."""
        frequency = np.bincount(careers.ravel(), minlength=n_states)
        order = np.argsort(-frequency, kind="stable")[:MOST_STATES]
        states: Codes = order[frequency[order] > 0].astype(np.int32)
        features = Features.fit(persons)[0]
        none = np.zeros(0, dtype=np.float32)
        raw = cls(states, n_states, careers.shape[1], features, np.zeros(0, dtype=bool), none)
        counts = raw._all(careers, persons)
        spread = counts.std(axis=0)
        kept = (spread > 1e-6) & (np.count_nonzero(counts, axis=0) >= LEAST_PERSONS)
        chosen = cls(states, n_states, careers.shape[1], features, kept, spread[kept])
        return chosen, counts[:, kept] / spread[kept]

    def __call__(self, careers: Codes, persons: Table) -> Float32Array:
        """Return the counts of n careers in units of their spread, shape (n, kept)."""
        return np.asarray(self._all(careers, persons)[:, self.kept] / self.spread)

    def _all(self, careers: Codes, persons: Table) -> Float32Array:
        codes = self._codes(careers)
        runs = to_runs(codes)
        k = len(self.states) + 1
        lengths = np.searchsorted(LENGTHS, runs.length, side="right")
        few = np.minimum(codes, MOST_PAIRED)
        moves = np.flatnonzero(runs.index > 0)
        before, after = (np.minimum(runs.state[at], MOST_PAIRED) for at in (moves - 1, moves))
        pairs = (MOST_PAIRED + 1) ** 2
        ends = few[:, 0] * (MOST_PAIRED + 1) + few[:, -1]
        parts = [
            self._in_stretches(codes, MOST_COUNTS // k).reshape(len(codes), -1),
            _tally(runs.person, runs.state * (len(LENGTHS) + 1) + lengths, len(codes),
                   k * (len(LENGTHS) + 1)),
            _tally(runs.person[moves], before * (MOST_PAIRED + 1) + after, len(codes), pairs),
            _tally(np.arange(len(codes)), ends, len(codes), pairs),
        ]  # fmt: skip
        if self.features.terms:
            known = self.features.matrix(persons)[:, self.features.linear][:, 1:]
            width = max(1, min(k, MOST_KNOWN // max(known.shape[1], 1) // STRETCHES))
            there = self._in_stretches(np.minimum(codes, width), STRETCHES, width)
            parts.append(known[:, :, None] * there.reshape(len(codes), 1, -1))
        return np.concatenate([part.reshape(len(codes), -1) for part in parts], axis=1)

    def _codes(self, careers: Codes) -> Codes:
        place = np.full(self.n_states, len(self.states), dtype=np.int32)
        place[self.states] = np.arange(len(self.states))
        return np.asarray(place[careers])

    def _in_stretches(self, codes: Codes, most: int, width: int | None = None) -> Float32Array:
        """Return the periods in each state in each of at most so many stretches, (n, B, k)."""
        n, k = len(codes), len(self.states) + 1 if width is None else width + 1
        n_stretches = max(1, min(self.n_periods, most))
        stretch = np.arange(self.n_periods) * n_stretches // self.n_periods
        cells = (np.arange(n)[:, None] * n_stretches + stretch) * k + codes
        counted = np.bincount(cells.ravel(), minlength=n * n_stretches * k)
        return counted.reshape(n, n_stretches, k).astype(np.float32)


def _tally(person: IntArray, cell: IntArray, n: int, n_cells: int) -> Float32Array:
    """Count the cells of each person, shape (n, n_cells)."""
    counted = np.bincount(person * n_cells + cell, minlength=n * n_cells)
    return counted.reshape(n, n_cells).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Met:
    """Careers of the data, as coarse as a grid of periods makes them."""

    grid: int
    keys: Index
    """Of C careers, ascending."""
    single: BoolArray
    """Whether exactly one person has it, shape (C,)."""

    def __post_init__(self) -> None:
        check_rising("keys of careers", self.keys)
        if self.grid < 0 or self.single.shape != self.keys.shape:
            raise ValueError("careers that may be met must each have one mark")

    @classmethod
    def of(cls, runs: Runs, grid: int) -> tuple[Self, Float32Array]:
        """Gather the careers; also return what each person meets among the others, (n, 2)."""
        keys, place, counts = np.unique(_keys(runs, grid), return_inverse=True, return_counts=True)
        others = counts[place] - 1
        return cls(grid, keys, counts == 1), np.column_stack([others == 1, others > 1]).astype("f4")

    def __call__(self, runs: Runs) -> Float32Array:
        """Return whether each person meets a career of one person, or of several, (n, 2)."""
        keys = _keys(runs, self.grid)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        there = self.keys[place] == keys
        single = self.single[place]
        return np.column_stack([there & single, there & ~single]).astype(np.float32)


def _keys(runs: Runs, grid: int) -> Index:
    """Return one number for each person's states in order and when they start, shape (n,)."""
    start = (runs.start + grid // 2) // grid if grid else np.zeros_like(runs.start)
    mixed = runs.index.astype(np.uint64)
    for part in (runs.state, start):
        mixed = _mix(mixed * np.uint64(0x9E3779B97F4A7C15) + part.astype(np.uint64))
    return np.add.reduceat(mixed, runs.first).view(np.int64)


def _mix(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Scatter whole numbers (the finaliser of splitmix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(values ^ (values >> np.uint64(31)))


@dataclass(frozen=True, eq=False)
class Choice:
    """Chooses one of K careers drawn for each person."""

    candidates: int
    """K."""
    counts: Counts
    met: tuple[Met, ...]
    coefficients: Float32Array
    """b, shape (q,)."""

    def __post_init__(self) -> None:
        width = len(self.counts.spread) + 2 * len(self.met)
        check_floats("coefficients", self.coefficients, (width,))
        if self.candidates < 1:
            raise ValueError("there must be a career to choose")

    def choose(self, careers: Codes, persons: Table, rng: np.random.Generator) -> Index:
        """Return the row of one of the K careers of each person, those of a person together."""
        scores: FloatArray = rng.gumbel(size=len(careers))  # the largest sum is a draw by the odds
        size = max(1, BLOCK_CELLS // (len(self.counts.kept) + 1))
        for begin in range(0, len(careers), size):
            rows = slice(begin, begin + size)
            scores[rows] += self._values(careers[rows], persons.take(rows)) @ self.coefficients
        best = scores.reshape(-1, self.candidates).argmax(axis=1)
        return np.asarray(np.arange(len(best)) * self.candidates + best)

    def _values(self, careers: Codes, persons: Table) -> Float32Array:
        runs = to_runs(careers)
        parts = [self.counts(careers, persons), *(met(runs) for met in self.met)]
        return np.concatenate(parts, axis=1)


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
    counts, own = Counts.of(careers, n_states, persons)
    runs = to_runs(careers)
    met, near = zip(*(Met.of(runs, grid) for grid in GRIDS), strict=True)
    n, width = len(careers), own.shape[1]
    most = max(1, FIT_CELLS // (candidates * (len(counts.kept) + 1)))
    rows: Index = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
    people = persons.take(np.repeat(rows, candidates))
    drawn = draw(persons.take(rows), candidates)
    choice = Choice(candidates, counts, met, np.zeros(width + 2 * len(met), dtype=np.float32))
    offered = choice._values(drawn, people)
    target = np.concatenate([own, *near], axis=1)[rows].mean(axis=0, dtype=np.float64)
    singles = width + 2 * np.arange(len(met))
    found = offered.mean(axis=0, dtype=np.float64)
    target[singles] = np.minimum(target[singles], kept * found[singles])
    ridge = np.full(len(target), RIDGE)
    ridge[width:] = NEAR_RIDGE
    values = offered.reshape(len(rows), candidates, -1)
    values -= values.mean(axis=1, keepdims=True)  # only differences within a person matter
    coefficients = _fit(values, len(rows) * (target - found), ridge)
    return Choice(candidates, counts, met, coefficients.astype(np.float32))


def _kept(careers: Codes, persons: Table, halves: Iterable[tuple[Index, Draw]]) -> FloatArray:
    """Return what shall be left of the careers that meet one of a single person, shape (grids,).

    So much that no more of the fitted persons are met than of unseen ones.
    """
    times: dict[tuple[int, bool], list[FloatArray]] = {}
    for rows, draw in halves:
        drawn = to_runs(draw(persons.take(rows), HALF_DRAWS))
        for is_fitted, part in ((True, careers[rows]), (False, np.delete(careers, rows, axis=0))):
            for i, grid in enumerate(GRIDS):
                met = Met.of(to_runs(part), grid)[0]
                found = _keys(drawn, grid)
                place = np.minimum(np.searchsorted(met.keys, found), len(met.keys) - 1)
                place = place[met.keys[place] == found]
                counts = np.bincount(place, minlength=len(met.keys))[met.single]
                times.setdefault((i, is_fitted), []).append(counts / HALF_DRAWS)
    if not times:
        return np.ones(len(GRIDS))
    return np.array(
        [
            _thinning(*(np.concatenate(times[i, fitted]) for fitted in (True, False)))
            for i in range(len(GRIDS))
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


def _fit(values: npt.NDArray[np.float32], gap: FloatArray, ridge: FloatArray) -> FloatArray:
    """Maximise gap b - sum of log mean exp(values b) - ridge b^2 / 2; values (n, K, q)."""
    n, k, q = values.shape
    flat = values.reshape(n * k, q)
    scale = 1.0 / np.sqrt(ridge)

    def loss(scaled: FloatArray) -> tuple[float, FloatArray]:
        b = scaled * scale
        scores = (flat @ b.astype(np.float32)).reshape(n, k).astype(np.float64)
        total = logsumexp(scores, axis=1, keepdims=True)
        odds = np.exp(scores - total).reshape(-1).astype(np.float32)
        value = float(gap @ b) - float(total.sum()) - float(scaled @ scaled) / 2
        return -value, np.asarray(scaled - (gap - odds @ flat) * scale)

    found = minimize(loss, np.zeros(q), jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    return np.asarray(found.x * scale)
