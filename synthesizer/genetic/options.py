"""What an evolution is told: frozen, checked, all problems at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from synthesizer.errors import ConfigError
from synthesizer.genetic.objectives import RISKS, UTILITIES

__all__ = ["Mode", "Options"]

Mode = Literal["single", "pareto"]


@dataclass(frozen=True, kw_only=True)
class Options:
    """Settings of an evolution; rates are probabilities in [0, 1].

    Parameters
    ----------
    mode : {"single", "pareto"}
        ``single`` minimises F, or the utility under ``risk_at_most``; ``pareto`` keeps the
        candidates that no other one beats on both (NSGA-II).
    utility, risk : str
        Measures of `synthesizer.genetic.objectives`.
    weight : float
        Weight of the utility in F; the risk has the rest.
    risk_at_most : float or None
        Highest risk that is accepted.
    population : int
        Candidates of a generation, at least 2.
    elites : int
        Best candidates that survive unchanged (mode single).
    tournament : int
        Candidates of a tournament, at least 2; drawn with replacement.
    win : float
        p, the probability that the best of a tournament wins; 1 is deterministic.
    crossover : float
        Probability that two parents swap a record.
    mutation : float
        Probability that a cell is drawn anew.
    redraw : {"uniform", "marginal"}
        From the levels alike, or as often as the original has them.
    aimed : float
        Largest share of the records that carry risk which a child has replaced by records drawn
        from its own; 0 is the algorithm of the paper.
    resample : float
        Probability that a record is replaced by one that the chain drew (start chain only).
    generations : int
        Most generations.
    patience : int or None
        Stop after so many generations without gain; None goes on.
    seconds : float or None
        Stop after so many seconds; results then depend on the machine.
    """

    mode: Mode = "single"
    utility: str = "full_table"
    risk: str = "cap_u"
    weight: float = 0.5
    risk_at_most: float | None = None
    population: int = 100
    elites: int = 2
    tournament: int = 2
    win: float = 1.0
    crossover: float = 0.1
    mutation: float = 0.001
    redraw: Literal["uniform", "marginal"] = "uniform"
    aimed: float = 0.0
    resample: float = 0.0
    generations: int = 100
    patience: int | None = 20
    seconds: float | None = None

    def __post_init__(self) -> None:
        problems = [*self._measures(), *self._rates(), *self._sizes()]
        if problems:
            raise ConfigError(problems)

    def _measures(self) -> list[str]:
        given = (("utility", self.utility, UTILITIES), ("risk", self.risk, RISKS))
        return [
            f"{key} ({name}): unknown measure; known: {', '.join(known)}"
            for key, name, known in given
            if name not in known
        ]

    def _rates(self) -> list[str]:
        names = ("weight", "win", "crossover", "mutation", "aimed", "resample", "risk_at_most")
        given = {name: getattr(self, name) for name in names}
        problems = [
            f"{name} ({value}) must be between 0 and 1"
            for name, value in given.items()
            if value is not None and not 0 <= value <= 1
        ]
        if self.win == 0:
            problems.append("win (0) must be above 0: somebody has to win a tournament")
        return problems

    def _sizes(self) -> list[str]:
        smallest = {"population": 2, "elites": 0, "tournament": 2, "generations": 1, "patience": 1}
        problems = [
            f"{name} ({value}) must be at least {least}"
            for name, least in smallest.items()
            if (value := getattr(self, name)) is not None and value < least
        ]
        if self.population >= 2 and self.elites >= self.population:
            problems.append(
                f"elites ({self.elites}) must be fewer than the population ({self.population}), "
                "or nothing changes"
            )
        if self.seconds is not None and not self.seconds > 0:
            problems.append(f"seconds ({self.seconds}) must be above 0")
        return problems
