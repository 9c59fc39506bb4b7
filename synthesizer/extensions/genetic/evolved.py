"""What an evolution of whole datasets came to: filled by the engine, told by the report.

Every rate lies in [0, 1]; of utility U and fitness F lower is better, of risk R lower is safer.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from synthesizer.data.displayed import Displayed

HISTORY = "history.csv"
"""What an evolution came to, generation by generation."""


class _Result(Displayed, BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Generation(_Result):
    """What is kept of a generation; generation 0 is the start population."""

    generation: int
    """Its number."""
    utility: float
    """Of the candidate that would be the result."""
    risk: float
    """Of the same candidate."""
    fitness: float
    """F of it with the weights of the options, without the floor of the risk."""
    median_utility: float
    """Over all candidates."""
    median_risk: float
    """Over all candidates."""
    frontier: int
    """Candidates that no other one beats on both."""


class Point(_Result):
    """Where a candidate lies, and how much of the start is left in it."""

    utility: float
    risk: float
    fitness: float
    unchanged: float | None = None
    """Share of the records of the original at their place; None where none started from it."""
    found: float | None = None
    """Share of the people sought whose keys are there; None where the measure has no keys."""
    right_of_found: float | None = None
    """Of these, the share whose target is right."""


class EvolvedDataset(Point):
    """One synthetic dataset, and how it was bred."""

    reached: bool | None
    """Whether its risk is within the highest one accepted; None where there is none."""
    stopped: str
    """Why the evolution ended, in words."""
    generations: int
    """How many were bred after the start population."""
    history: tuple[Generation, ...]
    frontier: tuple[Point, ...]
    """Candidates of the last generation that no other one beats."""


class FrontierFile(Point):
    """A dataset of the frontier that was written, to be picked."""

    file: str


class Utility(_Result):
    """The measure of utility that was lowered."""

    name: str
    meaning: str


class Risk(_Result):
    """The measure of risk that was lowered, with what it is to be compared with."""

    name: str
    meaning: str
    keys: tuple[str, ...]
    target: str
    people: int
    """Records that are sought."""
    baseline: float | None
    """Where targets are guessed from their distribution; None where the measure has none."""
    random: float
    """Of files whose variables are drawn from their margins, each by itself."""


class Evolution(_Result):
    """What was evolved, and what came out; the part ``genetic`` of ``checks.json``."""

    mode: str
    """``single`` or ``pareto``."""
    start: str
    """``mutants``, ``chain`` or ``files``."""
    population: int
    utility: Utility
    risk: Risk
    weight: float
    """Of U in F; that of R is one minus it."""
    risk_at_most: float | None
    """Highest risk accepted."""
    risk_floor: float
    """Below it a lower risk is not rewarded."""
    datasets: tuple[EvolvedDataset, ...]
    written: tuple[FrontierFile, ...] = ()
    """Files of the frontier, by rising risk."""

    @property
    def interrupted(self) -> bool:
        """Whether somebody stopped it before its time; the best so far was kept."""
        return any(dataset.stopped == "interrupted" for dataset in self.datasets)


def read_evolution(content: Any) -> Evolution:
    """Read what ``checks.json`` has of an evolution."""
    return Evolution.model_validate(content)


def history_text(datasets: Sequence[EvolvedDataset]) -> str:
    """Return the generations of all datasets as the text of a CSV file.

    Examples
    --------
    >>> print(history_text([]), end="")
    dataset,generation,utility,risk,fitness,median_utility,median_risk,frontier
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, ("dataset", *Generation.model_fields), lineterminator="\n")
    writer.writeheader()
    for number, dataset in enumerate(datasets, 1):
        for generation in dataset.history:
            writer.writerow({"dataset": number, **generation.model_dump()})
    return text.getvalue()
