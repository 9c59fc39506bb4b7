"""What an evolution is told: frozen, checked, all problems at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from synthesizer.data.errors import ConfigError
from synthesizer.engine.genetic.scores import RISKS, UTILITIES

Mode = Literal["single", "pareto"]


@dataclass(frozen=True, kw_only=True)
class GeneticOptions:
    """Settings of an evolution; rates are probabilities in [0, 1].

    Parameters
    ----------
    mode : {"single", "pareto"}
        ``single`` gives one dataset: that with the lowest F, or with the lowest utility under
        ``risk_at_most``; ``pareto`` gives all that no other one beats on both.
    utility, risk : str
        Measures of `synthesizer.engine.genetic.scores`.
    weight : float
        Weight of the utility in F; the risk has the rest.
    risk_at_most : float or None
        Highest risk that is accepted. The search then sorts by dominance in both modes: sorted by
        F, or by utility among those within the limit, it loses the best on the way to the limit.
    risk_floor : float or None
        Risk below which less is worth nothing, in F and on the frontier; None is that of a file
        whose variables are drawn from their margins alone; 0 is the paper's. A limit
        (``risk_at_most`` in mode single) takes its place.
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
        from its own; 0 is the algorithm of the paper. In mode single it is about what comes down
        to the limit, or to the floor; in mode pareto any share.
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

    @property
    def goal(self) -> float | None:
        """The risk below which less is worth nothing, and to which aimed moves lead."""
        if self.mode == "pareto" or self.risk_at_most is None:
            return self.risk_floor
        return self.risk_at_most

    def __post_init__(self) -> None:
        problems = [*self._words(), *self._rates(), *self._sizes()]
        if problems:
            raise ConfigError(problems)

    def _words(self) -> Iterator[str]:
        for name, known in _WORDS.items():
            if getattr(self, name) not in known:
                yield f"{name} ({getattr(self, name)}): unknown; known: {', '.join(known)}"

    def _rates(self) -> Iterator[str]:
        for name in _RATES:
            value = getattr(self, name)
            if value is None and name in _OPTIONAL:
                continue
            if not _is_number(value):
                yield f"{name} ({value!r}) must be a number between 0 and 1"
            elif not 0 <= value <= 1:
                yield f"{name} ({value}) must be between 0 and 1"
            elif name == "win" and value == 0:
                yield "win (0) must be above 0: somebody has to win a tournament"
        if self.seconds is not None and not (_is_number(self.seconds) and self.seconds > 0):
            yield f"seconds ({self.seconds}) must be a number above 0"

    def _sizes(self) -> Iterator[str]:
        for name, least in _WHOLE.items():
            value = getattr(self, name)
            if value is None and name in _OPTIONAL:
                continue
            if not _is_whole(value):
                yield f"{name} ({value!r}) must be a whole number"
            elif value < least:
                yield f"{name} ({value}) must be at least {least}"
        counted = _is_whole(self.population) and _is_whole(self.elites)
        if counted and not self.sorts and 2 <= self.population <= self.elites:
            yield (
                f"elites ({self.elites}) must be fewer than the population ({self.population}), "
                "or nothing changes; set fewer elites"
            )


_WORDS: Mapping[str, Collection[str]] = {
    "mode": ("single", "pareto"),
    "utility": tuple(UTILITIES),
    "risk": tuple(RISKS),
    "rates": ("varied", "fixed"),
    "redraw": ("uniform", "marginal"),
}
_RATES = ("weight", "win", "crossover", "mutation", "aimed", "risk_at_most", "risk_floor")
_OPTIONAL = ("risk_at_most", "risk_floor", "patience")
_WHOLE = {"population": 2, "elites": 0, "tournament": 2, "generations": 1, "patience": 1}
"""Whole numbers and the smallest that makes sense."""


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return _is_whole(value) or isinstance(value, float | np.floating)
