"""What the files of a run tell of an evolution: results, points and generations that make sense."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synthesizer.report.record import Record, dig, listed, mappings, number, words

__all__ = [
    "Evolution",
    "Result",
    "Step",
    "rate",
    "read_evolution",
    "steps_of",
    "thinned",
]

MOST_GENERATIONS = 10_000_000
"""Above this a number of a generation is a slip of an editor."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One generation; every rate lies in [0, 1], lower is better.

    Parameters
    ----------
    generation : int
        Its number; 0 is the start population.
    utility, risk : float
        Of the candidate that would be the result.
    fitness, median_utility, median_risk : float or None
        F of that candidate, and medians over all candidates, where the file holds them.
    """

    generation: int
    utility: float
    risk: float
    fitness: float | None = None
    median_utility: float | None = None
    median_risk: float | None = None


def rate(content: Any, *path: str | int) -> float | None:
    """Return the number at a path if it lies in [0, 1]; None otherwise.

    Examples
    --------
    >>> rate({"risk": 0.3}, "risk"), rate({"risk": 7}, "risk"), rate({}, "risk")
    (0.3, None, None)
    """
    found = number(content, *path)
    return found if found is not None and 0 <= found <= 1 else None


def steps_of(history: Sequence[Any]) -> list[Step]:
    """Return the generations that have a number, utility and risk, in order.

    Examples
    --------
    >>> rows = [{"generation": 1, "utility": 0.2, "risk": 0.1}, {"generation": 0}, None]
    >>> [(step.generation, step.risk) for step in steps_of(rows)]
    [(1, 0.1)]
    """
    found = {step.generation: step for step in map(_step, history) if step is not None}
    return [found[generation] for generation in sorted(found)]


def _step(row: Mapping[str, Any]) -> Step | None:
    generation, utility, risk = number(row, "generation"), rate(row, "utility"), rate(row, "risk")
    if generation is None or not 0 <= generation <= MOST_GENERATIONS:
        return None
    if utility is None or risk is None:
        return None
    return Step(
        generation=round(generation),
        utility=utility,
        risk=risk,
        fitness=rate(row, "fitness"),
        median_utility=rate(row, "median_utility"),
        median_risk=rate(row, "median_risk"),
    )


def thinned(steps: Sequence[Step], most: int) -> list[Step]:
    """Return every so many-th generation and the last one, at most about ``most``.

    Examples
    --------
    >>> steps = [Step(generation=i, utility=0.1, risk=0.1) for i in range(10)]
    >>> [step.generation for step in thinned(steps, 4)]
    [0, 3, 6, 9]
    """
    every = max(1, -(-len(steps) // most))
    kept = list(steps[::every])
    return kept if not steps or kept[-1] is steps[-1] else [*kept, steps[-1]]


@dataclass(frozen=True, kw_only=True)
class Result:
    """A dataset of an evolution: the result, or one of the frontier; rates lie in [0, 1].

    Parameters
    ----------
    name : str
        Number of the dataset, or the file.
    utility, risk, fitness : float or None
        Lower is better; None where the file does not hold them.
    unchanged : float or None
        Share of the records that are still those of the original at their place; None also where
        datasets did not start from the original.
    reached : bool or None
        Whether the risk is within the limit; None where there is none.
    generations : float or None
        How many were bred.
    stopped : str
        Why the evolution ended, as the file says it.
    """

    name: str
    utility: float | None
    risk: float | None
    fitness: float | None
    unchanged: float | None
    reached: bool | None = None
    generations: float | None = None
    stopped: str = ""


@dataclass(frozen=True, kw_only=True)
class Evolution:
    """An evolution as the files of a run tell it.

    Parameters
    ----------
    told : mapping
        The part ``genetic`` of ``checks.json``; empty where that is none.
    start, mode : str
        As configured; empty where unknown.
    interrupted : bool
        Whether somebody stopped it before its time.
    limit, baseline, random : float or None
        Highest risk accepted; risk where targets are guessed; risk of files from the margins.
    results : list of Result
        One for each dataset.
    written : list of Result
        Files of the frontier, by rising risk.
    """

    told: Mapping[str, Any]
    start: str
    mode: str
    interrupted: bool
    limit: float | None
    baseline: float | None
    random: float | None
    results: list[Result]
    written: list[Result]

    @property
    def history(self) -> list[Any]:
        """Generations of the first dataset, as they are."""
        return listed(self.told, "datasets", 0, "history")

    @property
    def frontier(self) -> list[tuple[float, float]]:
        """Utility and risk of the frontier of the first dataset; those that make sense."""
        points = mappings(self.told, "datasets", 0, "frontier")
        found = [(rate(point, "utility"), rate(point, "risk")) for point in points]
        return [(u, r) for u, r in found if u is not None and r is not None]

    def known(self, name: str) -> list[float]:
        """Return a rate of all results, as far as the file holds it."""
        found = [getattr(result, name) for result in self.results]
        return [value for value in found if value is not None]


def read_evolution(record: Record) -> Evolution | None:
    """Return what a run tells of its evolution; None where nothing was evolved."""
    told, facts = record.checks.get("genetic"), record.manifest.get("genetic")
    if told is None and facts is None:
        return None
    told = told if isinstance(told, Mapping) else {}
    datasets = [
        _result(str(place), own) for place, own in enumerate(mappings(told, "datasets"), start=1)
    ]
    return Evolution(
        told=told,
        start=words(told, "start") or words(facts, "start"),
        mode=words(told, "mode") or words(facts, "mode"),
        interrupted=dig(facts, "interrupted") is True
        or any(own.stopped == "interrupted" for own in datasets),
        limit=rate(told, "risk_at_most"),
        baseline=rate(told, "risk", "baseline"),
        random=rate(told, "risk", "random"),
        results=datasets,
        written=[_result(words(own, "file"), own) for own in mappings(told, "written")],
    )


def _result(name: str, own: Mapping[str, Any]) -> Result:
    reached = dig(own, "reached")
    return Result(
        name=name,
        utility=rate(own, "utility"),
        risk=rate(own, "risk"),
        fitness=rate(own, "fitness"),
        unchanged=rate(own, "unchanged"),
        reached=reached if isinstance(reached, bool) else None,
        generations=number(own, "generations"),
        stopped=words(own, "stopped"),
    )
