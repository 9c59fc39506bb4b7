"""Candidates, and the loop: select, cross, mutate, score, until there is no more gain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from time import perf_counter
from typing import Self

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from synthesizer.data.errors import Terminated
from synthesizer.data.randomness import Seed
from synthesizer.data.table import BoolArray
from synthesizer.extensions.genetic.evolved import EvolvedDataset, Generation, Point
from synthesizer.extensions.genetic.genetic_options import GeneticOptions
from synthesizer.extensions.genetic.scores import (
    Coding,
    Counts,
    Floats,
    Integers,
    Records,
    Score,
    Scorer,
)


def chosen(n: int, rate: float, rng: np.random.Generator) -> Integers:
    """Return each of n positions with probability ``rate``, rising.

    Gaps between chosen positions are geometric, so the work grows with the number of positions.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> chosen(5, 1.0, rng).tolist(), len(chosen(5, 0.0, rng))
    ([0, 1, 2, 3, 4], 0)
    """
    if rate <= 0 or not n:
        return np.zeros(0, dtype=np.int64)
    if rate >= 1:
        return np.arange(n)
    expected = n * rate
    size = int(expected + 6 * np.sqrt(expected) + 10)
    # gaps beyond the end are cut off, so sums stay within the integers
    positions = np.cumsum(np.minimum(rng.geometric(rate, size), n + 1)) - 1
    while positions[-1] < n:
        gaps = np.minimum(rng.geometric(rate, size), n + 1)
        positions = np.append(positions, positions[-1] + np.cumsum(gaps))
    return np.asarray(positions[: np.searchsorted(positions, n)], dtype=np.int64)


def crossed(
    mother: Records, father: Records, rate: float, rng: np.random.Generator
) -> tuple[Records, Records, Integers]:
    """Swap each record of two candidates with probability ``rate`` (whole-case crossover).

    Return both children, and the swapped rows.
    """
    rows = chosen(len(mother), rate, rng)
    first, second = mother.copy(), father.copy()
    first[rows], second[rows] = father[rows], mother[rows]
    return first, second, rows


class Redraw:
    """Redraws cells with a probability of every level, for each variable.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> redraw = Redraw.uniform(Coding.of([sex]))
    >>> records, rows = redraw.mutated(np.zeros(4, dtype=int), 1.0, np.random.default_rng(3))
    >>> rows.tolist(), int(records.max())
    ([0, 1, 2, 3], 1)
    """

    def __init__(self, coding: Coding, shares: Sequence[npt.NDArray[np.float64]]) -> None:
        self._coding = coding
        self._first = np.concatenate(([0], np.cumsum(coding.levels)[:-1]))
        # variable j has its cumulative shares between j and j + 1, so that one search does for all
        parts = [index + np.cumsum(weights) / weights.sum() for index, weights in enumerate(shares)]
        self._cumulative = np.concatenate(parts)

    @classmethod
    def uniform(cls, coding: Coding) -> Self:
        """Return redraws with equal probability of every level."""
        return cls(coding, [np.ones(count) for count in coding.levels])

    @classmethod
    def marginal(cls, coding: Coding, original: Records) -> Self:
        """Return redraws with the frequencies of levels in the original."""
        counts = [
            np.bincount(coding.level(original, index), minlength=count).astype(np.float64)
            for index, count in enumerate(coding.levels)
        ]
        return cls(coding, counts)

    def levels(self, positions: Integers, rng: np.random.Generator) -> Integers:
        """Draw a level of the variable at each position, shape (k,)."""
        index = np.searchsorted(
            self._cumulative, positions + rng.random(len(positions)), side="right"
        )
        last = self._first[positions] + self._coding.levels[positions] - 1
        return np.asarray(np.minimum(index, last) - self._first[positions], dtype=np.int64)

    def mutated(
        self, records: Records, rate: float, rng: np.random.Generator
    ) -> tuple[Records, Integers]:
        """Redraw each cell with probability ``rate``; return the rows that may have changed."""
        p = len(self._coding.levels)
        cells = chosen(len(records) * p, rate, rng)
        if not len(cells):
            return records, cells
        rows, variables = np.divmod(cells, p)
        stride, count = self._coding.strides[variables], self._coding.levels[variables]
        gain = (self.levels(variables, rng) - records[rows] // stride % count) * stride
        out = records.copy()
        np.add.at(out, rows, gain.astype(out.dtype))
        return out, rows[np.diff(rows, prepend=-1) > 0]


def replaced(
    records: Records, rows: Integers, rate: float, donors: Records, rng: np.random.Generator
) -> tuple[Records, Integers]:
    """Replace each of some rows with probability ``rate`` by a record drawn from ``donors``."""
    taken = rows[chosen(len(rows), rate, rng)]
    if not len(taken):
        return records, taken
    out = records.copy()
    out[taken] = donors[rng.integers(len(donors), size=len(taken))]
    return out, taken


DECADES = 3.0
"""Powers of ten between the highest and lowest rate of a child."""

Allowed = Callable[[Records], BoolArray]
"""Test of which records satisfy the rules."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A dataset with its counts and its score."""

    records: Records
    counts: Counts
    score: Score


class Breeder:
    """Makes children of two candidates; moves that break a rule are undone."""

    def __init__(
        self,
        scorer: Scorer,
        options: GeneticOptions,
        redraw: Redraw,
        *,
        allowed: Allowed | None = None,
    ) -> None:
        self.scorer, self.options, self.redraw = scorer, options, redraw
        self.allowed = allowed

    def with_options(self, options: GeneticOptions) -> Self:
        """Return a copy of the breeder with other options."""
        changed = copy(self)
        changed.options = options
        return changed

    def candidate(self, records: Records) -> Candidate:
        """Count and score a dataset from scratch."""
        counts = self.scorer.count(records)
        return Candidate(records, counts, self.scorer.score(counts, len(records)))

    def pair(
        self, mother: Candidate, father: Candidate, rng: np.random.Generator
    ) -> tuple[Candidate, Candidate]:
        """Return two children: crossed, mutated and scored."""
        scorer = self.scorer
        first, second, rows = crossed(mother.records, father.records, self.options.crossover, rng)
        gained = scorer.change(mother.records[rows], father.records[rows])
        counts = (
            tuple(count + more for count, more in zip(mother.counts, gained, strict=True)),
            tuple(count - more for count, more in zip(father.counts, gained, strict=True)),
        )
        return self.mutant(first, counts[0], rng), self.mutant(second, counts[1], rng)

    def mutant(self, records: Records, counts: Counts, rng: np.random.Generator) -> Candidate:
        """Return a candidate after all moves but crossover."""
        options = self.options
        share = self._aim(counts, len(records), rng) if options.aimed else 0.0
        if share:
            risky = self.scorer.risky(counts, records)
            records, counts = self.moved(
                records, counts, replaced(records, risky, share, records, rng)
            )
        rate = self._rate(options.mutation, rng)
        records, counts = self.moved(records, counts, self.redraw.mutated(records, rate, rng))
        return Candidate(records, counts, self.scorer.score(counts, len(records)))

    def _aim(self, counts: Counts, n: int, rng: np.random.Generator) -> float:
        """Return the share of the risky records that a child replaces."""
        goal = self.options.goal
        if not goal:
            return self.options.aimed * rng.random()
        risk = self.scorer.risk_of(counts, n)
        if risk <= goal:
            return 0.0
        if self.options.mode == "pareto":
            return min(self.options.aimed, (1 - goal / risk) * rng.random())
        # roughly the share needed: most risks fall in proportion to the risky records
        return min(self.options.aimed, (1 - goal / risk) * (0.5 + rng.random()))

    def _rate(self, highest: float, rng: np.random.Generator) -> float:
        """Return the rate of one child."""
        if self.options.rates == "fixed":
            return highest
        return float(highest * 10 ** (-DECADES * rng.random()))

    def within_rules(self, before: Records, move: tuple[Records, Integers]) -> Records:
        """Return the records after a move, without changes that would break a rule."""
        after, rows = move
        if self.allowed is not None and len(rows):
            wrong = rows[~self.allowed(after[rows])]
            after[wrong] = before[wrong]
        return after

    def moved(
        self, before: Records, counts: Counts, move: tuple[Records, Integers]
    ) -> tuple[Records, Counts]:
        """Return records and counts after a move, within the rules."""
        after, rows = self.within_rules(before, move), move[1]
        if not len(rows):
            return before, counts
        return after, self.scorer.recounted(counts, before[rows], after[rows])


def fitness(points: Floats, *, weight: float = 0.5) -> Floats:
    """Return F in [0, 1], lower is better: the weighted distance from the origin, shape (N,).

    ``points`` are utility and risk, shape (N, 2); ``weight`` is that of the utility, in [0, 1].
    With equal weights F is sqrt(U^2 + R^2) / sqrt(2) (Chen, Taub and Elliot 2019, section 3.1).

    Examples
    --------
    >>> fitness(np.array([[0.6, 0.8]])).round(4).tolist()
    [0.7071]
    """
    return np.asarray(np.sqrt(points**2 @ np.array([weight, 1 - weight])))


def tournament(
    positions: Integers, n_wins: int, *, size: int, probability: float, rng: np.random.Generator
) -> Integers:
    """Return the winners of tournaments, positions of candidates, shape (n_wins,).

    ``positions``: rank of each candidate, 0 the best. Candidates enter with replacement. The one of
    rank r within its tournament wins with probability p (1 - p)^r; the last one gets the rest.
    With p = 1 the best one always wins.

    Examples
    --------
    >>> positions, rng = np.array([2, 0, 1]), np.random.default_rng(1)
    >>> wins = tournament(positions, 900, size=2, probability=1.0, rng=rng)
    >>> (np.bincount(wins) / 100).round().tolist()
    [1.0, 5.0, 3.0]
    """
    entered = rng.integers(len(positions), size=(n_wins, size))
    order = np.argsort(positions[entered], axis=1)
    if probability >= 1:
        rank = np.zeros(n_wins, dtype=np.int64)
    else:
        rank = np.minimum(rng.geometric(probability, n_wins) - 1, size - 1)
    row = np.arange(n_wins)
    return np.asarray(entered[row, order[row, rank]])


def fronts(points: Floats) -> Integers:
    """Return the number of the front of every point, 0 for nondominated points, shape (N,).

    A point dominates another one if it is not worse in any objective and better in one; lower is
    better (Deb et al. 2002, NSGA-II).

    Examples
    --------
    >>> fronts(np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [2.0, 2.0]])).tolist()
    [0, 0, 1, 2]
    """
    first, second = points[:, None, :], points[None, :, :]
    dominates = np.asarray((first <= second).all(axis=2) & (first < second).any(axis=2))
    front = np.full(len(points), -1, dtype=np.int64)
    number = 0
    while (front < 0).any():
        remaining = front < 0
        front[remaining & ~dominates[remaining].any(axis=0)] = number
        number += 1
    return front


def crowding(points: Floats, front: Integers) -> Floats:
    """Return the crowding distance of every point in its front, infinite at the ends, shape (N,).

    Examples
    --------
    >>> crowding(np.array([[0.0, 1.0], [0.5, 0.4], [1.0, 0.0]]), np.zeros(3, dtype=int)).tolist()
    [inf, 2.0, inf]
    """
    distance = np.zeros(len(points))
    for number in range(int(front.max()) + 1):
        members = np.flatnonzero(front == number)
        for values in points[members].T:
            order = np.argsort(values, kind="stable")
            ordered = members[order]
            distance[ordered[[0, -1]]] = np.inf
            width = values[order[-1]] - values[order[0]]
            if width > 0:
                distance[ordered[1:-1]] += (values[order[2:]] - values[order[:-2]]) / width
    return distance


def hypervolume(points: Floats) -> float:
    """Return the dominated area of the unit square, in [0, 1], higher is better.

    Source: Zitzler and Thiele (1998); the reference point is (1, 1).

    Examples
    --------
    >>> hypervolume(np.array([[0.5, 0.5], [0.0, 0.75]])), hypervolume(np.zeros((0, 2)))
    (0.375, 0.0)
    """
    area, lowest = 0.0, 1.0
    for utility, risk in points[np.lexsort((points[:, 1], points[:, 0]))]:
        lower = min(risk, lowest)
        area += (1.0 - utility) * (lowest - lower)
        lowest = lower
    return float(area)


@dataclass(frozen=True, eq=False)
class Ranking:
    """The candidates of a generation in order; all arrays have shape (N,)."""

    order: Integers
    """Positions of the candidates, the best parent first."""
    positions: Integers
    """Rank of every candidate in that order."""
    chosen: int
    """Position of the current result."""
    front: Integers
    """Number of the front."""
    aim: float
    """Value to minimise: that of the result, or the undominated area."""


def ranking(points: Floats, options: GeneticOptions) -> Ranking:
    """Rank candidates by utility and risk, shape (N, 2)."""
    floored = np.column_stack((points[:, 0], np.maximum(points[:, 1], options.risk_floor or 0.0)))
    value = fitness(floored, weight=options.weight)
    if options.risk_at_most is not None:
        # within the limit by utility, then the others by their risk (Deb 2000)
        within = points[:, 1] <= options.risk_at_most
        value = np.where(within, points[:, 0], 1.0 + points[:, 1])
    # below the goal less risk has no value, or it would cost utility
    sought = np.column_stack((points[:, 0], np.maximum(points[:, 1], options.goal or 0.0)))
    if options.sorts:
        ahead = fronts(sought)
        order = np.lexsort((value, -crowding(sought, ahead), ahead))
    else:
        order = np.argsort(value, kind="stable")
    # the area down to the goal: less risk than that adds nothing
    aim = -hypervolume(sought) if options.mode == "pareto" else float(value.min())
    return Ranking(order, np.argsort(order), int(np.argmin(value)), fronts(points), aim)


INTERRUPTED = "interrupted"
MIN_GAIN = 1e-6
"""Smaller gains are rounding errors, or not worth a generation."""


@dataclass(frozen=True, eq=False)
class EvolutionOutcome:
    """The outcome of one start population."""

    best: Candidate
    """The resulting candidate."""
    frontier: tuple[Candidate, ...]
    """Nondominated candidates, by rising risk."""
    history: tuple[Generation, ...]
    """All generations, with the start population."""
    stopped: str
    """Reason of the end."""
    options: GeneticOptions
    """The options, with the risk floor as a number."""
    scorer: Scorer
    origin: Records | None = None
    """Original of mutants, for `unchanged`; None for other starts."""

    @property
    def interrupted(self) -> bool:
        """Whether a user stopped it early."""
        return self.stopped == INTERRUPTED

    @property
    def score(self) -> Score:
        """Utility and risk of the result."""
        return self.best.score

    @property
    def reached(self) -> bool | None:
        """Whether the risk is within ``risk_at_most``; None without such a limit."""
        limit = self.options.risk_at_most
        return None if limit is None else self.score.risk <= limit

    def unchanged(self, candidate: Candidate) -> float | None:
        """Return the share of records that equal those of the start in the same row."""
        if self.origin is None or len(self.origin) != len(candidate.records):
            return None
        return float(np.mean(candidate.records == self.origin))

    def point(self, candidate: Candidate) -> Point:
        """Return utility and risk of a candidate, and its share of unchanged records."""
        score = candidate.score
        stated, right = self.scorer.matches(candidate.counts) or (None, None)
        value = fitness(np.array([[score.utility, score.risk]]), weight=self.options.weight)
        return Point(
            utility=score.utility,
            risk=score.risk,
            fitness=float(value[0]),
            unchanged=self.unchanged(candidate),
            found=stated,
            right_of_found=right,
        )

    @property
    def dataset(self) -> EvolvedDataset:
        """The result and its history, for files."""
        return EvolvedDataset(
            **self.point(self.best).model_dump(),
            reached=self.reached,
            stopped=self.stopped,
            generations=len(self.history) - 1,
            history=self.history,
            frontier=tuple(self.point(candidate) for candidate in self.frontier),
        )


GenerationListener = Callable[[Generation], None]


def evolve(
    start: Sequence[Candidate],
    breeder: Breeder,
    seed: Seed,
    path: Sequence[str | int],
    *,
    origin: Records | None = None,
    n_jobs: int = 1,
    listener: GenerationListener | None = None,
    keeps_best: bool = True,
) -> EvolutionOutcome:
    """Evolve a population of at least two until a stop.

    ``path`` identifies this evolution among those of a seed; threads do not change its result.
    ``listener`` is called after every generation. With ``keeps_best`` an interrupt returns the last
    whole generation; otherwise it is raised.
    """
    options, begin = breeder.options, perf_counter()
    people = list(start)
    ranks = ranking(_points(people), options)
    history = [_summary(0, people, ranks, options)]
    lowest, since, stopped = ranks.aim, 0, None
    with Parallel(n_jobs=n_jobs, prefer="threads") as parallel:
        while stopped is None:
            number = len(history)
            try:
                children = _children(people, ranks, breeder, seed, (*path, number), parallel)
                people, ranks = _survivors(people, ranks, children, options)
                history.append(_summary(number, people, ranks, options))
                if listener is not None:
                    listener(history[-1])
            except KeyboardInterrupt as stop:
                if not keeps_best or isinstance(stop, Terminated):
                    raise
                stopped = INTERRUPTED
                break
            gained = ranks.aim < lowest - MIN_GAIN
            lowest, since = (ranks.aim, 0) if gained else (lowest, since + 1)
            stopped = _stop(options, number, since, perf_counter() - begin)
    front = [people[i] for i in np.flatnonzero(ranks.front == 0)]
    front = list({c.score: c for c in front}.values())  # equal scores are one point
    front.sort(key=lambda c: (c.score.risk, c.score.utility))
    return EvolutionOutcome(
        best=people[ranks.chosen],
        frontier=tuple(front),
        history=tuple(history),
        stopped=stopped,
        options=options,
        scorer=breeder.scorer,
        origin=origin,
    )


def _stop(options: GeneticOptions, number: int, since: int, seconds: float) -> str | None:
    """Return why the evolution stops, None if it continues."""
    if number >= options.generations:
        return f"{number} generations"
    if options.patience is not None and since >= options.patience:
        return f"no gain in {since} generations"
    if options.seconds is not None and seconds >= options.seconds:
        return f"{options.seconds:g} seconds"
    return None


def _points(people: Sequence[Candidate]) -> Floats:
    return np.array([(c.score.utility, c.score.risk) for c in people])


def _children(
    people: Sequence[Candidate],
    ranks: Ranking,
    breeder: Breeder,
    seed: Seed,
    path: Sequence[str | int],
    parallel: Parallel,
) -> list[Candidate]:
    """Return the children of a generation; every pair has a separate generator."""
    options = breeder.options
    elites = 0 if options.sorts else options.elites
    wanted = len(people) - elites
    parents = tournament(
        ranks.positions,
        2 * ((wanted + 1) // 2),
        size=options.tournament,
        probability=options.win,
        rng=seed.generator(*path, "parents"),
    )
    pairs = parents.reshape(-1, 2)
    born = parallel(
        delayed(breeder.pair)(people[mother], people[father], seed.generator(*path, "pair", number))
        for number, (mother, father) in enumerate(pairs)
    )
    return [child for both in born for child in both][:wanted]


def _survivors(
    people: Sequence[Candidate], ranks: Ranking, children: list[Candidate], options: GeneticOptions
) -> tuple[list[Candidate], Ranking]:
    """Return the next generation: elites and children, or the best of parents and children."""
    if not options.sorts:
        elites = [people[i] for i in ranks.order[: options.elites]]
        survivors = [*elites, *children]
        return survivors, ranking(_points(survivors), options)
    both = [*people, *children]
    ranks = ranking(_points(both), options)
    order = ranks.order[: len(people)]
    if ranks.chosen not in order:  # crowding must not lose the result
        order[-1] = ranks.chosen
    survivors = [both[i] for i in order]
    return survivors, ranking(_points(survivors), options)


def _summary(
    number: int, people: Sequence[Candidate], ranks: Ranking, options: GeneticOptions
) -> Generation:
    points = _points(people)
    best = points[ranks.chosen]
    middle = np.median(points, axis=0)
    return Generation(
        generation=number,
        utility=float(best[0]),
        risk=float(best[1]),
        fitness=float(fitness(best[None], weight=options.weight)[0]),
        median_utility=float(middle[0]),
        median_risk=float(middle[1]),
        frontier=len(np.unique(points[ranks.front == 0], axis=0)),
    )
