"""Careers as keys: persons singled out by a few periods, and guesses of their other periods.

The attack: an intruder knows a person's states in k periods, or in consecutive periods, the periods
of all moves, or the order of the states. A person who is unique by these in the original can be
singled out. The intruder takes a synthetic person with the same values and guesses the other
periods from them. Many guesses are right with new persons, too, since careers change slowly; the
release adds the excess over a new sample of the same population.

What a new person reveals about a unique one is estimated without bias by leaving one person out:
it is what one of two original persons with the same key reveals about the other (Good 1953). The
variance has terms of persons who share a key by two and by three; they follow from Poisson counts,
as those of Robbins (1968) for unseen species.

Sources: k points of a trajectory and the share of persons whom they single out (unicity): de
Montjoye, Hidalgo, Verleysen and Blondel (2013), Unique in the crowd, Scientific Reports 3, 1376.
Minimal sets that single a person out, here of periods: Elliot, Manning and Ford (2002), Int. J.
Uncertainty, Fuzziness and Knowledge-Based Systems 10. Attributes guessed from unique matches:
Little, Elliot and Allmendinger (2022), Comparing the utility and disclosure risk of synthetic data
with samples of microdata, Privacy in Statistical Databases. Good (1953), The population frequencies
of species, Biometrika 40; Robbins (1968), Annals of Mathematical Statistics 39.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb

import numpy as np
from pydantic import Field

from synthesizer.data.options import MAX_REPEATS
from synthesizer.data.randomness import AnySeed, Seed, seeded
from synthesizer.data.table import Column, FloatArray, IntArray, Kind, Table, Variable
from synthesizer.measures.figure import TWO_SIDED, Figure, FigureKind, Limit, Measured, Row, column
from synthesizer.measures.measure import Case, Collecting, Measure, seeing
from synthesizer.measures.measure_options import Switched
from synthesizer.measures.risk.comparable import numbered_rows, wilson
from synthesizer.measures.risk.suda import SudaSize, affordable_size, suda
from synthesizer.measures.utility.sequences import career_of

_MAX_LOOKS = 2_000_000
"""Persons times sets of periods of one kind, beyond which fewer sets are drawn."""
_MIN_DRAWS = 3
MOVES = "periods of the moves"
"""Knowledge of an intruder without states."""


class TrajectoryOptions(Switched):
    """Options of the intruder who knows parts of a career."""

    points: int = Field(4, ge=1, le=20, description="largest number of random periods known")
    stretch: int | None = Field(
        None, ge=2, description="number of consecutive periods known; a quarter of all when absent"
    )
    draws: int = Field(
        50, ge=1, le=MAX_REPEATS, description="number of random sets of periods; at most all"
    )
    worst: int = Field(10, ge=0, le=1000, description="number of persons at highest risk to list")


class KnownRow(Row):
    """One kind of knowledge: persons singled out by it, and guesses of their other periods.

    A hit is a synthetic person with the known values of exactly one original person. The guess is
    the other periods of the synthetic person.
    """

    known: str = column("Known", "text")
    sets: int = column("Sets", "count", "number of sets of periods")
    unique: float = column("Unique", "share", "original {records} with unique known values")
    found: float | None = column("Repeated", "share", "of these, those that a dataset has")
    most: float | None = column("New sample, at most", "share", "repeated by a new sample, at most")
    hits: float = column("Hits", "share", "synthetic {records} that match exactly one original")
    chance_hits: float = column("New sample, hits", "share", "hits of a new sample")
    right: float | None = column("Right", "share", "right guesses of other periods, of hits")
    chance_right: float | None = column("New sample, right", "share", "right guesses, of its hits")
    told: float = column("Guessed", "share", "hits times right")
    chance: float = column("New sample, guessed", "share", "its hits times right")
    low: float = column("Excess, low", "number", "guessed minus new sample: 95 % interval")
    high: float = column("Excess, high", "number", "upper end")


class PersonRow(Row):
    """Persons at highest risk, by position in the column of persons, or of the row of a wide file

    The risk is the share of the unknown periods that an intruder guesses right. It is 0 for sets of
    periods by which a person is not unique or which no synthetic person has.
    """

    position: int = column("Person", "count", "from 1")
    unique: float = column("Unique", "share", "of the sets of periods")
    found: float = column("Repeated", "share", "of the sets, in a dataset")
    risk: float = column("Risk", "share", "periods guessed right, mean over the sets")
    low: float = column("Low", "share", "of the 95 % interval over sets of periods")
    high: float = column("High", "share")
    suda: float = column("SUDA", "number", "score by sets of periods")


UNICITY = FigureKind(
    "unicity",
    "unicity of careers",
    "share of the original {records} whose states in {} are unique, mean over random periods",
    on_screen=True,
)
_GUESSED = (
    "share of the other periods of a career that an intruder who knows {} guesses right from "
    "synthetic {records} that point to one original {record}; chance: from a new sample"
)
CAREERS_GUESSED = FigureKind("careers_told", "careers guessed from {}", _GUESSED, on_screen=True)
MOVES_GUESSED = FigureKind("moves_told", "careers guessed from moves", _GUESSED, on_screen=True)
LARGEST_CAREER_RISK = FigureKind(
    "largest_career_risk",
    "risk of the {record} most at risk",
    "share of the other periods that an intruder who knows {} guesses right, for the {record} "
    "where it is largest, mean over random periods",
)
_BEYOND = (
    "panels: share of a career that an intruder who knows {what} guesses right, training {records} "
    "minus holdout {records}; below 0 is as good as 0"
)
CAREERS_BEYOND = FigureKind(
    "careers_beyond",
    "excess guessed from {}",
    _BEYOND.replace("{what}", "a few periods of it"),
    title="careers guessed from a few periods, training minus holdout",
    ideal=0.0,
    checks=("trajectories", "differential_confidentiality"),
    limit=Limit(low=-1, judged="low"),
    is_axis=True,
)
MOVES_BEYOND = replace(
    CAREERS_BEYOND,
    key="moves_beyond",
    name="excess guessed from moves",
    meaning=_BEYOND.replace("{what}", "the periods of all moves"),
    title="careers guessed from moves, training minus holdout",
)


class Trajectories(Measured):
    """Careers as keys: {records} singled out by parts of them, and guesses from the datasets."""

    n: int
    """Persons of the original."""
    n_synthetic: int
    """Persons of all datasets."""
    points: int
    """Largest number of random periods known."""
    known: tuple[KnownRow, ...] = Field(
        description="Persons singled out by kinds of knowledge, and guesses of their other periods "
        "compared with a new sample: an excess of about 0 is good, an interval above 0 is a leak"
    )
    minimal: tuple[SudaSize, ...] = Field(
        description="Minimal sets of periods that single a person out (SUDA), by size"
    )
    worst: tuple[PersonRow, ...]
    """Persons at highest risk by ``points`` random periods, the highest first."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Unicity, guesses from random periods and from moves, and the largest risk of a person."""
        row = self.known[self.points - 1]
        moves = next(kind for kind in self.known if kind.known == MOVES)
        figures = [
            UNICITY.of(row.unique, self.n, item=row.known),
            self._guessed(CAREERS_GUESSED, row),
            self._guessed(MOVES_GUESSED, moves),
        ]
        if self.worst:
            first = self.worst[0]
            figures.append(
                LARGEST_CAREER_RISK.of(
                    first.risk, self.n, item=row.known, low=first.low, high=first.high
                )
            )
        return tuple(figures)

    def _guessed(self, kind: FigureKind, row: KnownRow) -> Figure:
        return kind.of(
            row.told, self.n_synthetic, item=row.known, chance=row.chance, original=row.unique
        )

    @property
    def cautions(self) -> tuple[str, ...]:
        """Warning about guesses as good as from the original."""
        return tuple(
            f"careers: an intruder who knows {row.known} guesses {row.told:.4f} of the other "
            f"periods, at least as much as from the original ({row.unique:.4f}). A copy gives this "
            "value, and so do careers that repeat those of single {records}"
            for row in self.known
            if row.told >= row.unique > 0
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the tables."""
        return (
            "Absence is a state that may be known. The value of a new sample is estimated by "
            "leaving one original person out; it is high if careers change slowly. Higher values "
            "come from repeated persons, or from careers that vary more than in the population: "
            "the train-holdout test distinguishes these.",
        )


class HalvesRow(Row):
    """Guesses about training and about holdout {records}, by one kind of knowledge."""

    known: str = column("Known", "text")
    fitted: float = column("Training", "share", "periods guessed of training {records}")
    unseen: float = column("Holdout", "share", "periods guessed of holdout {records}")
    low: float = column("Excess, low", "number", "training minus holdout: 95 % interval")
    high: float = column("Excess, high", "number", "upper end")


class TrajectoryHalves(Measured):
    """Careers as keys, of a training and of a holdout half."""

    n: int
    """Persons of each half."""
    n_synthetic: int
    """Synthetic persons made from the training half."""
    points: int
    """Largest number of random periods known."""
    known: tuple[HalvesRow, ...] = Field(
        description="Guesses about training and about holdout {records}, by what an intruder "
        "knows: the difference is the risk that the release adds, about 0 is good"
    )

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Differences for random periods, and for moves."""
        moves = next(kind for kind in self.known if kind.known == MOVES)
        rows = ((CAREERS_BEYOND, self.known[self.points - 1]), (MOVES_BEYOND, moves))
        return tuple(
            kind.of(
                row.fitted - row.unseen,
                2 * self.n,
                item=row.known,
                low=row.low,
                high=row.high,
                chance=0.0,
            )
            for kind, row in rows
        )


Form = Callable[[IntArray], IntArray]


@dataclass(frozen=True)
class _Known:
    """A kind of knowledge: a form of careers, and sets of its columns."""

    name: str
    sets: Sequence[IntArray]
    form: Form = lambda careers: careers
    in_periods: bool = True
    """Whether the columns are periods, which need no guess."""
    is_whole: bool = False
    """Whether these are all sets, not a random choice."""

    def keys(self, careers: IntArray) -> Iterator[tuple[IntArray, int]]:
        """Yield for each set the codes of careers by it, and the number of known periods."""
        looked = self.form(careers)
        for chosen in self.sets:
            yield numbered_rows(looked[:, chosen]), len(chosen) if self.in_periods else 0


def _moves(careers: IntArray) -> IntArray:
    return np.asarray(np.diff(careers, axis=1) != 0).astype(np.int64)


def _order(careers: IntArray) -> IntArray:
    """Return the states of the spells in order, then zeros."""
    starts = np.column_stack([np.ones(len(careers), dtype=bool), _moves(careers) > 0])
    states = np.zeros(careers.shape, dtype=np.int64)
    last_of_spell = np.cumsum(starts, axis=1) - 1
    person = np.nonzero(starts)[0]
    states[person, last_of_spell[starts]] = careers[starts] + 1
    return states


def knowledge(
    n_periods: int, n: int, options: TrajectoryOptions, rng: np.random.Generator
) -> Iterator[_Known]:
    """Yield the kinds of knowledge; random periods first, from one period on."""
    draws = min(options.draws, max(_MAX_LOOKS // n, _MIN_DRAWS))
    for points in range(1, min(options.points, n_periods - 1) + 1):
        is_whole = comb(n_periods, points) <= draws
        sets = (
            [np.array(chosen) for chosen in combinations(range(n_periods), points)]
            if is_whole
            else [np.sort(rng.choice(n_periods, points, replace=False)) for _ in range(draws)]
        )
        yield _Known(f"{points} period{'s' * (points > 1)}", sets, is_whole=is_whole)
    length = min(options.stretch or max(2, n_periods // 4), n_periods - 1)
    starts = np.arange(n_periods - length + 1)
    if len(starts) > draws:
        starts = np.sort(rng.choice(starts, draws, replace=False))
    yield _Known(f"{length} periods in a row", [start + np.arange(length) for start in starts])
    yield _Known(MOVES, [np.arange(n_periods - 1)], _moves, in_periods=False)
    yield _Known("order of the states", [np.arange(n_periods)], _order, in_periods=False)


def _alike(one: IntArray, other: IntArray, n_known: int) -> FloatArray:
    """Return the share of the other periods in which careers agree, shape (r,)."""
    same = (one == other).sum(axis=1) - n_known
    return np.asarray(same / (one.shape[1] - n_known))


@dataclass(frozen=True, eq=False)
class _Matches:
    """Guesses about original careers by one kind of knowledge, means over its sets."""

    right: FloatArray
    """For each synthetic person the share of right guesses, 0 without a hit, shape (s,)."""
    hits: float
    """Number of synthetic persons that match one original person."""
    repeated: FloatArray
    """For each original person the share of sets in which they are unique and repeated."""
    risk: FloatArray
    """For each original person the share of right guesses, mean over their matches."""
    weight: FloatArray
    """For each original person the sum of right guesses."""

    @classmethod
    def of(cls, known: _Known, original: IntArray, careers: IntArray) -> _Matches:
        n, sets = len(original), len(known.sets)
        right, hits = np.zeros(len(careers)), 0
        repeated, risk, weight = np.zeros((3, n))
        for codes, periods in known.keys(np.concatenate([original, careers])):
            of_original, of_synthetic = codes[:n], codes[n:]
            alone = np.bincount(of_original, minlength=int(codes.max()) + 1) == 1
            owner = np.empty(len(alone), dtype=np.int64)
            owner[of_original] = np.arange(n)
            hit = np.flatnonzero(alone[of_synthetic])
            person = owner[of_synthetic[hit]]
            share = _alike(original[person], careers[hit], periods)
            right[hit] += share
            hits += len(hit)
            matches = np.bincount(person, minlength=n)
            rights = np.bincount(person, weights=share, minlength=n)
            repeated += matches > 0
            risk += rights / np.maximum(matches, 1)
            weight += rights
        return cls(right / sets, hits / sets, repeated / sets, risk / sets, weight / sets)

    @property
    def spread(self) -> float:
        """Variance of the sum over samples of original persons, who may be unique or not.

        Sums of squares without the part of the sampling of synthetic persons.
        """
        return max(float((self.weight**2).sum() - (self.right**2).sum()), 0.0)


@dataclass(eq=False)
class _Seen:
    """Sums over datasets of one kind of knowledge."""

    n: int = 0
    hits: float = 0.0
    right: float = 0.0
    squares: float = 0.0
    repeated: float = 0.0

    def add(self, dataset: _Matches) -> None:
        self.n += len(dataset.right)
        self.hits += dataset.hits
        self.right += float(dataset.right.sum())
        self.squares += float((dataset.right**2).sum())
        self.repeated += float(dataset.repeated.sum())

    @property
    def mean(self) -> float:
        return self.right / self.n

    @property
    def variance(self) -> float:
        """Variance of the mean over synthetic persons."""
        return max(self.squares / self.n - self.mean**2, 0.0) / max(self.n - 1, 1)


@dataclass(frozen=True)
class _Fresh:
    """Uniques of the original, and estimates for new samples."""

    unique: float
    hits: float
    right: float
    variance: float
    """Variance of ``right``: see the module."""


class TrajectoryIntruder:
    """Compare careers of datasets that are added one by one and not stored.

    Parameters
    ----------
    original : ndarray of int, shape (n, T)
        States from 0 on by person and period, of at least 2 periods.
    options : TrajectoryOptions, optional
        Knowledge of the intruder, and number of sets of periods.
    seed : int or Seed
        Seed of the sets.

    Examples
    --------
    >>> careers = np.array([[0, 0, 1], [0, 0, 0], [1, 1, 1], [1, 1, 1]])
    >>> intruder = TrajectoryIntruder(careers, seed=1)
    >>> intruder.add(careers)
    >>> row = intruder.result().known[1]
    >>> row.known, round(row.unique, 3), row.found, round(row.told, 3)
    ('2 periods', 0.333, 1.0, 0.333)
    """

    def __init__(
        self, original: IntArray, options: TrajectoryOptions | None = None, *, seed: AnySeed = 0
    ) -> None:
        self._original = np.asarray(original)
        self.options = options or TrajectoryOptions()
        n, n_periods = self._original.shape
        rng = seeded(seed).generator("trajectories")
        self._known = tuple(knowledge(n_periods, n, self.options, rng))
        self._points = min(self.options.points, n_periods - 1)
        # sums by person, for the largest number of random periods
        self._unique, self._repeated, self._risk = np.zeros((3, n))
        self._fresh = [self._of_original(kind) for kind in range(len(self._known))]
        self._seen, self._datasets = [_Seen() for _ in self._known], 0

    def _of_original(self, kind: int) -> _Fresh:
        """Return the share of unique persons, and leave-one-out estimates for a new sample."""
        careers, known = self._original, self._known[kind]
        n, sets = len(careers), len(known.sets)
        unique, twins = 0, 0
        # by person: right guesses from one, and from two other persons with the same key
        by_two, by_three = np.zeros((2, n))
        for codes, n_known in known.keys(careers):
            counts = np.bincount(codes)[codes]
            unique += int((counts == 1).sum())
            if kind == self._points - 1:
                self._unique += counts == 1
            for size, sums in ((2, by_two), (3, by_three)):
                members = np.flatnonzero(counts == size)
                groups = members[np.argsort(codes[members], kind="stable")].reshape(-1, size)
                pairs = [
                    _alike(careers[groups[:, a]], careers[groups[:, b]], n_known)
                    for a, b in combinations(range(size), 2)
                ]
                if len(groups):
                    sums[groups] += np.mean(pairs, axis=0)[:, None]
                twins += len(members) if size == 2 else 0
        by_two, by_three = by_two / sets, by_three / sets
        spread = 2 * float((by_two**2).sum() + (by_three**2).sum())
        return _Fresh(
            unique=unique / sets / n,
            hits=twins / sets / n,
            right=float(by_two.sum()) / n,
            variance=max(spread, 1.0) / n**2,
        )

    def add(self, synthetic: IntArray) -> None:
        """Add the next dataset, with the same states and periods."""
        careers = np.asarray(synthetic)
        for kind, (known, seen) in enumerate(zip(self._known, self._seen, strict=True)):
            matches = _Matches.of(known, self._original, careers)
            seen.add(matches)
            if kind == self._points - 1:
                self._repeated += matches.repeated
                self._risk += matches.risk
        self._datasets += 1

    def result(self) -> Trajectories:
        """Return the result of the datasets so far, at least one."""
        minimal, scores = self._suda()
        return Trajectories(
            n=len(self._original),
            n_synthetic=self._seen[0].n,
            points=self._points,
            known=tuple(self._row(kind) for kind in range(len(self._known))),
            minimal=minimal,
            worst=tuple(self._worst(scores)),
        )

    def _row(self, kind: int) -> KnownRow:
        known, seen, fresh = self._known[kind], self._seen[kind], self._fresh[kind]
        error = TWO_SIDED * float(np.sqrt(seen.variance + fresh.variance))
        hits, beyond = seen.hits / seen.n, seen.mean - fresh.right
        unique = fresh.unique * len(self._original) * self._datasets
        repeated = seen.repeated / unique if unique else None
        most = fresh.hits * seen.n / (unique or 1)
        return KnownRow(
            known=known.name,
            sets=len(known.sets),
            unique=fresh.unique,
            found=repeated,
            most=None if repeated is None else min(most, 1.0),
            hits=hits,
            chance_hits=fresh.hits,
            right=seen.mean / hits if hits else None,
            chance_right=fresh.right / fresh.hits if fresh.hits else None,
            told=seen.mean,
            chance=fresh.right,
            low=beyond - error,
            high=beyond + error,
        )

    def _worst(self, scores: FloatArray) -> Iterator[PersonRow]:
        known = self._known[self._points - 1]
        sets = len(known.sets)
        risk, repeated = self._risk / self._datasets, self._repeated / self._datasets
        for person in np.argsort(-risk, kind="stable")[: self.options.worst]:
            value = float(risk[person])
            if not value:
                return
            low, high = (value, value) if known.is_whole else wilson(value, sets)
            yield PersonRow(
                position=int(person) + 1,
                unique=float(self._unique[person] / sets),
                found=float(repeated[person]),
                risk=value,
                low=low,
                high=high,
                suda=float(scores[person]),
            )

    def _suda(self) -> tuple[tuple[SudaSize, ...], FloatArray]:
        """Return the minimal sets of periods that single a person out, and scores by person."""
        n, n_periods = self._original.shape
        levels = tuple(map(str, range(int(self._original.max()) + 1)))
        periods = Table(
            Column(
                Variable(name=str(t), kind=Kind.CATEGORICAL, levels=levels),
                np.asarray(self._original[:, t], dtype=np.int32),
            )
            for t in range(n_periods)
        )
        size = min(self._points, affordable_size(n_periods, n))
        scores = suda(periods, periods.names, max_size=size)
        return scores.result.minimal_uniques, scores.scores


def trajectories_of_halves(
    fitted: IntArray,
    unseen: IntArray,
    *synthetic: IntArray,
    options: TrajectoryOptions | None = None,
    seed: AnySeed = 0,
) -> TrajectoryHalves:
    """Return guesses about training and about holdout careers, shapes (n, T).

    The larger side is cut at random to the size of the smaller. The variance of the difference has
    a part from synthetic persons, who give guesses about both sides, and a part from the persons
    of both sides who may be unique or not (Poisson counts).

    Examples
    --------
    >>> people = np.array([[0, 1, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    >>> others = np.array([[1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    >>> found = trajectories_of_halves(people, others, people, seed=1)
    >>> [round(row.fitted - row.unseen, 2) for row in found.known][-2:]
    [0.33, 0.33]
    """
    options, n = options or TrajectoryOptions(), min(len(fitted), len(unseen))
    rng = seeded(seed).generator("trajectories")
    sides = [
        side if len(side) == n else side[np.sort(rng.choice(len(side), n, replace=False))]
        for side in (fitted, unseen)
    ]
    made, n_periods = np.concatenate(synthetic), fitted.shape[1]
    rows = []
    for known in knowledge(n_periods, n, options, rng):
        seen, other = (_Matches.of(known, side, made) for side in sides)
        difference = seen.right - other.right
        variance = difference.var(ddof=1) / len(made) if len(made) > 1 else 0.0
        variance += (seen.spread + other.spread) / len(made) ** 2
        beyond = float(difference.mean())
        error = TWO_SIDED * float(np.sqrt(max(variance, 1 / n**2)))
        rows.append(
            HalvesRow(
                known=known.name,
                fitted=float(seen.right.mean()),
                unseen=float(other.right.mean()),
                low=beyond - error,
                high=beyond + error,
            )
        )
    return TrajectoryHalves(
        n=n, n_synthetic=len(made), points=min(options.points, n_periods - 1), known=tuple(rows)
    )


_OF_PERIODS = Seed(0)
"""Known periods do not depend on the seed of the run, so that runs can be compared."""


def _measured(case: Case) -> Collecting | None:
    if len(case.periods.times) < 2:
        return None
    career = career_of(case)
    original, options = career(case.original), case.settings.trajectories
    return seeing(career, TrajectoryIntruder(original, options, seed=_OF_PERIODS))


def _measured_halves(case: Case) -> TrajectoryHalves | None:
    run, options = case.halves, case.settings.trajectories
    if len(case.periods.times) < 2 or not options.enabled:
        return None
    careers = map(career_of(case), (run.fitted, run.unseen, *run.synthetic))
    return trajectories_of_halves(*careers, options=options, seed=_OF_PERIODS)


MEASURES = (
    Measure(
        "trajectories",
        "datasets",
        after="replicated_careers",
        of_person=True,
        words="panels: persons singled out by parts of careers, and guesses of the other periods",
        options=TrajectoryOptions,
        needs=("panel",),
        compute=_measured,
        result=Trajectories,
        figures=(UNICITY, CAREERS_GUESSED, MOVES_GUESSED, LARGEST_CAREER_RISK),
    ),
    Measure(
        "trajectories of halves",
        "halves",
        after="trajectories",
        switch=None,
        needs=("panel",),
        compute=_measured_halves,
        result=TrajectoryHalves,
        figures=(CAREERS_BEYOND, MOVES_BEYOND),
    ),
)
