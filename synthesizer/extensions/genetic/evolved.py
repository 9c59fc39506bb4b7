"""The record of an evolution of whole datasets, for the report.

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
"""File with the generations of all evolutions."""


class _Result(Displayed, BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Generation(_Result):
    """Summary of a generation; generation 0 is the start population."""

    generation: int
    """Its number."""
    utility: float
    """Utility of the current result."""
    risk: float
    """Risk of the current result."""
    fitness: float
    """F of it with the weights of the options, without the floor of the risk."""
    median_utility: float
    """Over all candidates."""
    median_risk: float
    """Over all candidates."""
    frontier: int
    """Number of nondominated candidates."""


class Point(_Result):
    """Utility and risk of a candidate, and its share of unchanged records."""

    utility: float
    risk: float
    fitness: float
    unchanged: float | None = None
    """Share of records of the original in the same row; None for other starts."""
    found: float | None = None
    """Share of target persons whose keys occur; None for measures without keys."""
    right_of_found: float | None = None
    """Share of these persons whose target is right."""


class EvolvedDataset(Point):
    """One synthetic dataset and its history."""

    reached: bool | None
    """Whether its risk is within the limit; None without a limit."""
    stopped: str
    """Reason of the end."""
    generations: int
    """Number of generations after the start population."""
    history: tuple[Generation, ...]
    frontier: tuple[Point, ...]
    """Nondominated candidates of the last generation."""


class FrontierFile(Point):
    """A written dataset of the frontier, to choose from."""

    file: str


class Utility(_Result):
    """The measure of utility that was minimised."""

    name: str
    meaning: str


class Risk(_Result):
    """The measure of risk that was minimised, with its references."""

    name: str
    meaning: str
    keys: tuple[str, ...]
    target: str
    people: int
    """Number of target records."""
    baseline: float | None
    """Risk of guessing targets from their distribution; None without a target."""
    random: float
    """Risk of files whose variables are drawn from their margins independently."""


class Evolution(_Result):
    """The settings and results of an evolution: ``genetic`` in ``checks.json``."""

    mode: str
    """``single`` or ``pareto``."""
    start: str
    """``mutants``, ``chain`` or ``files``."""
    population: int
    utility: Utility
    risk: Risk
    weight: float
    """Weight of U in F; that of R is one minus it."""
    risk_at_most: float | None
    """Limit of the risk."""
    risk_floor: float
    """Below it a lower risk is not rewarded."""
    datasets: tuple[EvolvedDataset, ...]
    written: tuple[FrontierFile, ...] = ()
    """Files of the frontier, by rising risk."""

    @property
    def interrupted(self) -> bool:
        """Whether a user stopped it early, with the best candidate so far."""
        return any(dataset.stopped == "interrupted" for dataset in self.datasets)


def read_evolution(content: Any) -> Evolution:
    """Return the evolution in the content of ``checks.json``."""
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
