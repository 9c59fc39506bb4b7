"""Whole histories as keys: who is found by a few periods of a career, and what is told of the rest.

The attack: somebody knows a person's state in k periods, a stretch of consecutive periods, when she
moved, or the order of her states. Where nobody else of the original has the same, she stands out.
The intruder looks for a synthetic person who has the same and takes the rest of that person's
history for hers. Much of it will be right with fresh persons too, since careers are slow: what the
release adds is what it tells beyond a new sample of the same population.

A fresh person tells of a unique one what one of two original persons who share a key tells of the
other: leaving out one person after the other, the rest being the data, gives without bias what a
new sample would show (Good 1953). Its error has the terms of those who share a key by two and by
three; they follow from Poisson counts, as those of Robbins (1968) for unseen species do.

Sources: k points of a trajectory and the share of persons whom they single out (unicity): de
Montjoye, Hidalgo, Verleysen and Blondel (2013), Unique in the crowd, Scientific Reports 3, 1376.
Minimal sets that single somebody out, here of periods: Elliot, Manning and Ford (2002), Int. J.
Uncertainty, Fuzziness and Knowledge-Based Systems 10. Attributes read off matches that are unique:
Little, Elliot and Allmendinger (2022), Comparing the utility and disclosure risk of synthetic data
with samples of microdata, Privacy in Statistical Databases. Good (1953), The population frequencies
of species, Biometrika 40; Robbins (1968), Annals of Mathematical Statistics 39.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
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
from synthesizer.measures.risk.comparable import wilson
from synthesizer.measures.risk.suda import SudaSize, affordable_size, suda
from synthesizer.measures.utility.sequences import career_of

_LOOKS = 2_000_000
"""Persons times sets of periods of one kind, beyond which fewer sets are drawn."""
_FEWEST = 3
_LARGEST = 2**62
MOVES = "periods of the moves"
"""What is known of somebody whose states are not."""


class TrajectoryOptions(Switched):
    """Options of the intruder who knows parts of a history."""

    points: int = Field(4, ge=1, le=20, description="most periods that an intruder knows")
    stretch: int | None = Field(
        None, ge=2, description="consecutive periods that an intruder knows; a quarter of all"
    )
    draws: int = Field(
        50, ge=1, le=MAX_REPEATS, description="random sets of periods; all where there are fewer"
    )
    worst: int = Field(10, ge=0, le=1000, description="persons most at risk who are listed")


class KnownRow(Row):
    """What an intruder knows of a career, whom it singles out, and what the synthetic data tell.

    Told are the periods that the intruder does not know and reads off a synthetic person who shares
    what he knows with exactly one original person.
    """

    known: str = column("Known", "text")
    sets: int = column("Sets", "count", "sets of periods that were looked at")
    unique: float = column("Unique", "share", "{records} whom nobody shares it with")
    found: float | None = column("There again", "share", "of these, those whom a dataset has")
    most: float | None = column("Fresh, at most", "share", "the same of a new sample, at most")
    hits: float = column("Hits", "share", "synthetic {records} who share it with exactly one")
    chance_hits: float = column("Fresh hits", "share", "the same of fresh {records}")
    right: float | None = column("Rest right", "share", "of hits: other periods that are right")
    chance_right: float | None = column("Fresh, right", "share", "the same of fresh {records}")
    told: float = column("Told", "share", "hits times the rest right")
    chance: float = column("Fresh told", "share", "the same of a new sample")
    low: float = column("Beyond, low", "number", "told minus that of a new sample: 95 %")
    high: float = column("Beyond, high", "number", "upper end")


class PersonRow(Row):
    """Those most at risk, by position: the order of the column of persons, or of the rows if wide.

    The risk is the share of the unknown periods that an intruder gets right: 0 in sets of periods
    by which a person is not unique or that no synthetic person has.
    """

    position: int = column("Person", "count", "from 1")
    unique: float = column("Unique", "share", "of the sets of periods")
    found: float = column("There again", "share", "of the sets, in a dataset")
    risk: float = column("Risk", "share", "periods told, mean over the sets")
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
MOVES_BEYOND = FigureKind(
    "moves_beyond",
    "excess guessed from moves",
    _BEYOND.replace("{what}", "the periods of all moves"),
    title="careers guessed from moves, training minus holdout",
    ideal=0.0,
    checks=("trajectories", "differential_confidentiality"),
    limit=Limit(low=-1, judged="low"),
    is_axis=True,
)


class Trajectories(Measured):
    """Careers as keys: {records} who stand out by parts of them, and what the datasets tell."""

    n: int
    """Persons of the original."""
    n_synthetic: int
    """Persons of all datasets."""
    points: int
    """Most periods that are known."""
    known: tuple[KnownRow, ...] = Field(
        description="What an intruder may know, whom it singles out, and what the synthetic data "
        "tell beside a new sample: beyond it about 0 is good, and an interval above 0 is a leak"
    )
    minimal: tuple[SudaSize, ...] = Field(
        description="Minimal sets of periods that single somebody out (SUDA), by their size"
    )
    worst: tuple[PersonRow, ...]
    """Those most at risk by so many random periods, the first one most."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Who is unique, what is told by random periods and by moves, and who is told most."""
        row = self.known[self.points - 1]
        moves = next(kind for kind in self.known if kind.known == MOVES)
        figures = [
            UNICITY.of(row.unique, self.n, item=row.known),
            self._told(CAREERS_GUESSED, row),
            self._told(MOVES_GUESSED, moves),
        ]
        if self.worst:
            first = self.worst[0]
            figures.append(
                LARGEST_CAREER_RISK.of(
                    first.risk, self.n, item=row.known, low=first.low, high=first.high
                )
            )
        return tuple(figures)

    def _told(self, kind: FigureKind, row: KnownRow) -> Figure:
        return kind.of(
            row.told, self.n_synthetic, item=row.known, chance=row.chance, original=row.unique
        )

    @property
    def cautions(self) -> tuple[str, ...]:
        """Where an intruder is told no less than the original itself would tell."""
        return tuple(
            f"careers: who knows {row.known} is told {row.told:.4f}, no less than by the original "
            f"itself ({row.unique:.4f}): a copy tells so much, and so do careers that repeat those "
            "of single {records}, whatever a new sample would tell"
            for row in self.known
            if row.told >= row.unique > 0
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What the tables rest on."""
        return (
            "Absence is a state that may be known. A new sample is what one original person "
            "tells of another who shares what is known, each left out in turn: it tells much "
            "where careers are slow, and nothing about anybody in the data. Above it lie syntheses "
            "that repeat persons, and those whose careers are more varied than the population's: "
            "the half split tells which.",
        )


class HalvesRow(Row):
    """What is told of {records} who were fitted and of those who were not, by one synthesis."""

    known: str = column("Known", "text")
    fitted: float = column("Told of fitted", "share", "told, as of the whole original")
    unseen: float = column("Told of unseen", "share", "the same of {records} not fitted")
    low: float = column("Beyond, low", "number", "fitted minus unseen: 95 % interval")
    high: float = column("Beyond, high", "number", "upper end")


class TrajectoryHalves(Measured):
    """Careers as keys, of a fitted and of an unseen half: what is told beyond anybody's career."""

    n: int
    """Persons of each half."""
    n_synthetic: int
    """Synthetic persons made from the fitted half."""
    points: int
    """Most periods that are known."""
    known: tuple[HalvesRow, ...] = Field(
        description="What the synthetic data tell of {records} that they were made from and of "
        "others, by what an intruder knows: the difference is the risk that the release adds, "
        "about 0 is good"
    )

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The differences by random periods, and by moves."""
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
    """A kind of knowledge: what is looked at of careers, and sets of its columns."""

    name: str
    sets: Sequence[IntArray]
    form: Form = lambda careers: careers
    in_periods: bool = True
    """Whether the columns are periods, which nobody has to guess."""
    is_whole: bool = False
    """Whether these are all sets that there are, so that nothing is left to chance."""

    def keys(self, careers: IntArray) -> Iterator[tuple[IntArray, int]]:
        """Yield for each set numbers of careers that are alike, and how many periods it tells."""
        looked = self.form(careers)
        for chosen in self.sets:
            yield _numbered(looked[:, chosen]), len(chosen) if self.in_periods else 0


def _numbered(cells: IntArray) -> IntArray:
    """Number rows, equal ones alike, shape (r,)."""
    base = int(cells.max()) + 1
    codes, size = cells[:, 0].astype(np.int64), base
    for values in cells.T[1:]:
        if size > _LARGEST // base:
            codes = np.unique(codes, return_inverse=True)[1]
            size = len(codes)
        codes, size = codes * base + values, size * base
    return np.asarray(np.unique(codes, return_inverse=True)[1])


def _moves(careers: IntArray) -> IntArray:
    return np.asarray(np.diff(careers, axis=1) != 0).astype(np.int64)


def _order(careers: IntArray) -> IntArray:
    """Return the states of the runs one after the other, then zeros."""
    starts = np.column_stack([np.ones(len(careers), dtype=bool), _moves(careers) > 0])
    states = np.zeros(careers.shape, dtype=np.int64)
    place = np.cumsum(starts, axis=1) - 1
    person = np.nonzero(starts)[0]
    states[person, place[starts]] = careers[starts] + 1
    return states


def knowledge(
    n_periods: int, n: int, options: TrajectoryOptions, rng: np.random.Generator
) -> Iterator[_Known]:
    """Yield what an intruder may know; random periods first, from one on."""
    draws = min(options.draws, max(_LOOKS // n, _FEWEST))
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


def _alike(one: IntArray, other: IntArray, told: int) -> FloatArray:
    """Return the share of the periods that are not told in which careers agree, shape (r,)."""
    same = (one == other).sum(axis=1) - told
    return np.asarray(same / (one.shape[1] - told))


@dataclass(frozen=True, eq=False)
class _Matches:
    """What careers tell of original ones by one kind of knowledge, means over its sets."""

    told: FloatArray
    """Of every synthetic person: share of the rest that is right, 0 without a hit, shape (s,)."""
    hits: float
    """Synthetic persons who point to one original person."""
    found: FloatArray
    """Of every original person: share of the sets in which she is unique and there again."""
    risk: FloatArray
    """Of every original person: share of the rest that is right, mean over her matches."""
    weight: FloatArray
    """Of every original person: the sum of what is told of her."""

    @classmethod
    def of(cls, known: _Known, original: IntArray, careers: IntArray) -> _Matches:
        n, sets = len(original), len(known.sets)
        told, hits = np.zeros(len(careers)), 0
        found, risk, weight = np.zeros((3, n))
        for codes, periods in known.keys(np.concatenate([original, careers])):
            ours, theirs = codes[:n], codes[n:]
            alone = np.bincount(ours, minlength=int(codes.max()) + 1) == 1
            owner = np.empty(len(alone), dtype=np.int64)
            owner[ours] = np.arange(n)
            hit = np.flatnonzero(alone[theirs])
            person = owner[theirs[hit]]
            right = _alike(original[person], careers[hit], periods)
            told[hit] += right
            hits += len(hit)
            matches = np.bincount(person, minlength=n)
            rights = np.bincount(person, weights=right, minlength=n)
            found += matches > 0
            risk += rights / np.maximum(matches, 1)
            weight += rights
        return cls(told / sets, hits / sets, found / sets, risk / sets, weight / sets)

    @property
    def spread(self) -> float:
        """Variance of the sum, over which original persons there are and happen to be unique.

        Sums of squares without the part that comes from which synthetic persons were drawn.
        """
        return max(float((self.weight**2).sum() - (self.told**2).sum()), 0.0)


@dataclass(eq=False)
class _Seen:
    """Sums over datasets of one kind of knowledge."""

    n: int = 0
    hits: float = 0.0
    told: float = 0.0
    squares: float = 0.0
    found: float = 0.0

    def add(self, dataset: _Matches) -> None:
        self.n += len(dataset.told)
        self.hits += dataset.hits
        self.told += float(dataset.told.sum())
        self.squares += float((dataset.told**2).sum())
        self.found += float(dataset.found.sum())

    @property
    def mean(self) -> float:
        return self.told / self.n

    @property
    def variance(self) -> float:
        """Of the mean, from the spread over synthetic persons."""
        return max(self.squares / self.n - self.mean**2, 0.0) / max(self.n - 1, 1)


@dataclass(frozen=True)
class _Fresh:
    """What the original says of itself and of new samples."""

    unique: float
    hits: float
    told: float
    variance: float
    """Of what a new sample tells: see the module."""


class TrajectoryIntruder:
    """Looks at careers of datasets that come in one by one; none of them is kept.

    Parameters
    ----------
    original : ndarray of int, shape (n, T)
        States from 0 on by person and period, of at least 2 periods.
    options : TrajectoryOptions, optional
        How much is known, and how many sets of periods are looked at.
    seed : int or Seed
        Draws the sets.

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
        self,
        original: IntArray,
        options: TrajectoryOptions | None = None,
        *,
        seed: AnySeed = 0,
    ) -> None:
        self._original = np.asarray(original)
        self.options = options or TrajectoryOptions()
        n, n_periods = self._original.shape
        rng = seeded(seed).generator("trajectories")
        self._known = tuple(knowledge(n_periods, n, self.options, rng))
        self._points = min(self.options.points, n_periods - 1)
        # of every person, by the most random periods
        self._unique, self._found, self._risk = np.zeros((3, n))
        self._fresh = [self._of_original(place) for place in range(len(self._known))]
        self._seen, self._datasets = [_Seen() for _ in self._known], 0

    def _of_original(self, place: int) -> _Fresh:
        """Return what is unique, and what one person tells of another, each left out in turn."""
        careers, known = self._original, self._known[place]
        n, sets = len(careers), len(known.sets)
        unique, twins = 0, 0
        # of every person: what one who alone shares it tells of her, and what two do
        by_two, by_three = np.zeros((2, n))
        for codes, told in known.keys(careers):
            counts = np.bincount(codes)[codes]
            unique += int((counts == 1).sum())
            if place == self._points - 1:
                self._unique += counts == 1
            for size, sums in ((2, by_two), (3, by_three)):
                members = np.flatnonzero(counts == size)
                groups = members[np.argsort(codes[members], kind="stable")].reshape(-1, size)
                pairs = [
                    _alike(careers[groups[:, a]], careers[groups[:, b]], told)
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
            told=float(by_two.sum()) / n,
            variance=max(spread, 1.0) / n**2,
        )

    def add(self, synthetic: IntArray) -> None:
        """Look at the next dataset, of the same states and periods."""
        careers = np.asarray(synthetic)
        for place, (known, seen) in enumerate(zip(self._known, self._seen, strict=True)):
            told = _Matches.of(known, self._original, careers)
            seen.add(told)
            if place == self._points - 1:
                self._found += told.found
                self._risk += told.risk
        self._datasets += 1

    def result(self) -> Trajectories:
        """Return what the datasets so far tell, at least one."""
        minimal, scores = self._suda()
        return Trajectories(
            n=len(self._original),
            n_synthetic=self._seen[0].n,
            points=self._points,
            known=tuple(self._row(place) for place in range(len(self._known))),
            minimal=minimal,
            worst=tuple(self._worst(scores)),
        )

    def _row(self, place: int) -> KnownRow:
        known, seen, fresh = self._known[place], self._seen[place], self._fresh[place]
        error = TWO_SIDED * float(np.sqrt(seen.variance + fresh.variance))
        hits, beyond = seen.hits / seen.n, seen.mean - fresh.told
        unique = fresh.unique * len(self._original) * self._datasets
        found = seen.found / unique if unique else None
        most = fresh.hits * seen.n / (unique or 1)
        return KnownRow(
            known=known.name,
            sets=len(known.sets),
            unique=fresh.unique,
            found=found,
            most=None if found is None else min(most, 1.0),
            hits=hits,
            chance_hits=fresh.hits,
            right=seen.mean / hits if hits else None,
            chance_right=fresh.told / fresh.hits if fresh.hits else None,
            told=seen.mean,
            chance=fresh.told,
            low=beyond - error,
            high=beyond + error,
        )

    def _worst(self, scores: FloatArray) -> Iterator[PersonRow]:
        known = self._known[self._points - 1]
        sets = len(known.sets)
        risk, found = self._risk / self._datasets, self._found / self._datasets
        for person in np.argsort(-risk, kind="stable")[: self.options.worst]:
            value = float(risk[person])
            if not value:
                return
            low, high = (value, value) if known.is_whole else wilson(value, sets)
            yield PersonRow(
                position=int(person) + 1,
                unique=float(self._unique[person] / sets),
                found=float(found[person]),
                risk=value,
                low=low,
                high=high,
                suda=float(scores[person]),
            )

    def _suda(self) -> tuple[tuple[SudaSize, ...], FloatArray]:
        """Return the minimal sets of periods that single somebody out, and everybody's score."""
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
    """Return what careers tell of those they were made from and of others, shapes (n, T).

    Of the larger side as many persons are taken as of the smaller. The error of the difference has
    the spread over synthetic persons, of whom each tells of both sides, and that over the persons
    of both sides who happen to be unique, as Poisson counts have it.

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
        difference = seen.told - other.told
        variance = difference.var(ddof=1) / len(made) if len(made) > 1 else 0.0
        variance += (seen.spread + other.spread) / len(made) ** 2
        beyond = float(difference.mean())
        error = TWO_SIDED * float(np.sqrt(max(variance, 1 / n**2)))
        rows.append(
            HalvesRow(
                known=known.name,
                fitted=float(seen.told.mean()),
                unseen=float(other.told.mean()),
                low=beyond - error,
                high=beyond + error,
            )
        )
    return TrajectoryHalves(
        n=n, n_synthetic=len(made), points=min(options.points, n_periods - 1), known=tuple(rows)
    )


_OF_PERIODS = Seed(0)
"""Periods that an intruder knows are the same whatever the seed, so that runs can be compared."""


def _told(case: Case) -> Collecting | None:
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
        words="panels: persons found by parts of their careers, and what is told of the rest",
        options=TrajectoryOptions,
        needs=("panel",),
        compute=_told,
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
