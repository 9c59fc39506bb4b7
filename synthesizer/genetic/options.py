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
        ``single`` gives one dataset: that with the lowest F, or with the lowest utility under
        ``risk_at_most``; ``pareto`` gives all that no other one beats on both.
    utility, risk : str
        Measures of `synthesizer.genetic.objectives`.
    weight : float
        Weight of the utility in F; the risk has the rest.
    risk_at_most : float or None
        Highest risk that is accepted. The search then sorts by dominance in both modes: sorted by
        F, or by utility among those within the limit, it loses the best on the way to the limit.
    risk_floor : float or None
        Risk below which F does not reward less of it; None is that of a file whose variables are
        drawn from their margins alone, since below that nobody is safer; 0 is the paper's.
    population : int
        Candidates of a generation, at least 2.
    elites : int
        Best candidates that survive unchanged; where candidates are sorted by dominance parents
        compete with children instead.
    tournament : int
        Candidates of a tournament, at least 2; drawn with replacement.
    win : float
        p, the probability that the best of a tournament wins; 1 is deterministic.
    crossover : float
        Probability that two parents swap a record.
    mutation : float
        Probability that a cell is drawn anew.
    rates : {"varied", "fixed"}
        ``varied`` draws the probability of every child log-uniformly between a thousandth of
        ``mutation`` and ``mutation``; ``fixed`` is the paper's.
    redraw : {"uniform", "marginal"}
        From the levels alike, or as often as the original has them.
    aimed : float
        Largest share of the records that carry risk which a child has replaced by records drawn
        from its own; 0 is the algorithm of the paper.
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
    risk_floor: float | None = None
    population: int = 100
    elites: int = 2
    tournament: int = 2
    win: float = 1.0
    crossover: float = 0.1
    mutation: float = 0.001
    rates: Literal["varied", "fixed"] = "varied"
    redraw: Literal["uniform", "marginal"] = "uniform"
    aimed: float = 1.0
    generations: int = 100
    patience: int | None = 20
    seconds: float | None = None

    @property
    def sorts(self) -> bool:
        """Whether candidates are sorted by dominance (NSGA-II), not by F."""
        return self.mode == "pareto" or self.risk_at_most is not None

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
        names = ("weight", "win", "crossover", "mutation", "aimed", "risk_at_most", "risk_floor")
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
