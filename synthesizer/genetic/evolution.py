"""The loop: select, cross, mutate, score, until nothing is gained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from synthesizer.errors import Terminated
from synthesizer.genetic.options import Options
from synthesizer.genetic.population import Breeder, Candidate
from synthesizer.genetic.selection import Ranking, fitness, ranking, tournament
from synthesizer.randomness import Seed

__all__ = ["Evolved", "Generation", "evolve"]

INTERRUPTED = "interrupted"
LEAST_GAIN = 1e-6
"""Gains below this are rounding, or not worth a generation."""


@dataclass(frozen=True)
class Generation:
    """What is kept of a generation; generation 0 is the start population.

    Parameters
    ----------
    generation : int
        Its number.
    utility, risk, fitness : float
        Of the candidate that would be the result; F with the weights of the options, as in the
        paper: without the floor below which selection does not reward a lower risk.
    median_utility, median_risk : float
        Over all candidates.
    frontier : int
        Points that no other one beats on both.
    """

    generation: int
    utility: float
    risk: float
    fitness: float
    median_utility: float
    median_risk: float
    frontier: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return asdict(self)


Told = Callable[[Generation], None]


@dataclass(frozen=True, eq=False)
class Evolved:
    """What an evolution came to.

    Parameters
    ----------
    best : Candidate
        The one that the options ask for.
    frontier : tuple of Candidate
        Those that no other one beats on both objectives, by rising risk.
    history : tuple of Generation
        From the start population on.
    stopped : str
        Why it ended.
    """

    best: Candidate
    frontier: tuple[Candidate, ...]
    history: tuple[Generation, ...]
    stopped: str

    @property
    def interrupted(self) -> bool:
        """Whether somebody stopped it before its time."""
        return self.stopped == INTERRUPTED


def evolve(
    start: Sequence[Candidate],
    breeder: Breeder,
    seed: Seed,
    path: Sequence[str | int],
    *,
    n_jobs: int = 1,
    told: Told | None = None,
    keeps_best: bool = True,
) -> Evolved:
    """Evolve a population until a stop.

    Parameters
    ----------
    start : sequence of Candidate
        The start population, at least two.
    breeder : Breeder
        Makes children.
    seed : Seed
        Decides everything, together with ``path``.
    path : sequence of str or int
        Names this evolution among those of a seed.
    n_jobs : int
        Threads; they do not change the result.
    told : callable, optional
        Is called after every generation.
    keeps_best : bool
        Whether an interrupt keeps the last whole generation; otherwise it is passed on.
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
                if told is not None:
                    told(history[-1])
            except KeyboardInterrupt as stop:
                if not keeps_best or isinstance(stop, Terminated):
                    raise
                stopped = INTERRUPTED
                break
            gained = ranks.aim < lowest - LEAST_GAIN
            lowest, since = (ranks.aim, 0) if gained else (lowest, since + 1)
            stopped = _stop(options, number, since, perf_counter() - begin)
    front = [people[i] for i in np.flatnonzero(ranks.front == 0)]
    front = list({c.score: c for c in front}.values())  # equal scores are one point
    front.sort(key=lambda c: (c.score.risk, c.score.utility))
    return Evolved(people[ranks.chosen], tuple(front), tuple(history), stopped)


def _stop(options: Options, number: int, since: int, seconds: float) -> str | None:
    """Return why the evolution stops, None if it goes on."""
    if number >= options.generations:
        return f"{number} generations"
    if options.patience is not None and since >= options.patience:
        return f"no gain in {since} generations"
    if options.seconds is not None and seconds >= options.seconds:
        return f"{options.seconds:g} seconds"
    return None


def _points(people: Sequence[Candidate]) -> npt.NDArray[np.float64]:
    return np.array([(c.score.utility, c.score.risk) for c in people])


def _children(
    people: Sequence[Candidate],
    ranks: Ranking,
    breeder: Breeder,
    seed: Seed,
    path: Sequence[str | int],
    parallel: Parallel,
) -> list[Candidate]:
    """Return the children of a generation; every pair has a generator of its own."""
    options = breeder.options
    elites = 0 if options.sorts else options.elites
    wanted = len(people) - elites
    parents = tournament(
        ranks.place,
        2 * ((wanted + 1) // 2),
        size=options.tournament,
        probability=options.win,
        rng=seed.generator(*path, "parents"),
    )
    pairs = parents.reshape(-1, 2)
    born = parallel(
        delayed(breeder.pair)(people[one], people[other], seed.generator(*path, "pair", place))
        for place, (one, other) in enumerate(pairs)
    )
    return [child for both in born for child in both][:wanted]


def _survivors(
    people: Sequence[Candidate], ranks: Ranking, children: list[Candidate], options: Options
) -> tuple[list[Candidate], Ranking]:
    """Return the next generation: elites and children, or the best of parents and children."""
    if not options.sorts:
        elites = [people[i] for i in ranks.order[: options.elites]]
        kept = [*elites, *children]
        return kept, ranking(_points(kept), options)
    both = [*people, *children]
    ranks = ranking(_points(both), options)
    order = ranks.order[: len(people)]
    if ranks.chosen not in order:  # crowding must not lose the result
        order[-1] = ranks.chosen
    kept = [both[i] for i in order]
    return kept, ranking(_points(kept), options)


def _summary(
    number: int, people: Sequence[Candidate], ranks: Ranking, options: Options
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
