"""What an evolution is told: frozen, checked, all problems at once."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    Strict,
    model_serializer,
)

from synthesizer.data.options import options


def _paths(value: object) -> object:
    """Take one file for a list of one; ``mutants`` and ``chain`` are words."""
    return [value] if isinstance(value, str) and value not in ("mutants", "chain") else value


Whole = Annotated[int, Strict()]
Rate = Annotated[float, Strict(), Field(ge=0, le=1)]
UtilityName = Literal["full_table", "two_way"]
RiskName = Literal["cap_u", "cap", "disco", "repu", "replicated_uniques"]
Start = Annotated[
    Literal["mutants", "chain"] | tuple[Path, ...], BeforeValidator(_paths), Field(min_length=1)
]


@options(strict=False)
class GeneticOptions:
    """Evolve whole datasets in place of a chain, or after one; rates are probabilities.

    With ``risk_at_most`` the search sorts by dominance in both modes: sorted by F, or by utility
    among those within the limit, it loses the best on the way to the limit. A limit in mode single
    takes the place of ``risk_floor``. Tournaments are drawn with replacement. Where candidates are
    sorted by dominance parents compete with children instead of ``elites``. Aimed moves lead down
    to the limit, or to the floor, in mode single; in mode pareto any share is taken.

    Examples
    --------
    >>> GeneticOptions(risk_at_most=0.3).population
    100
    """

    start: Annotated[
        Start,
        Field(
            description="mutants of the original; chain: datasets of the chain; or synthetic files"
        ),
    ] = "mutants"
    mode: Annotated[
        Literal["single", "pareto"],
        Field(description="one dataset, or the frontier of utility and risk"),
    ] = "single"
    risk_at_most: Annotated[
        Rate | None, Field(description="highest risk that is accepted; F decides when absent")
    ] = None
    risk_floor: Annotated[
        Rate | None,
        Field(
            description="risk below which less is worth nothing; that of a file drawn from the "
            "margins when absent; 0 is the algorithm of the paper"
        ),
    ] = None
    utility: Annotated[UtilityName, Field(description="measure of utility")] = "full_table"
    risk: Annotated[RiskName, Field(description="measure of risk")] = "cap_u"
    weight: Annotated[Rate, Field(description="weight of the utility in F, in [0, 1]")] = 0.5
    population: Annotated[
        Whole, Field(ge=2, description="datasets of a generation, at least 2")
    ] = 100
    mutants: Annotated[
        Rate, Field(gt=0, description="start mutants: largest share of cells that are drawn anew")
    ] = 0.05
    elites: Annotated[
        Whole,
        Field(
            ge=0, description="without a limit, mode single: best datasets that survive unchanged"
        ),
    ] = 2
    tournament: Annotated[
        Whole, Field(ge=2, description="datasets of a tournament, at least 2")
    ] = 2
    win: Annotated[
        Rate, Field(gt=0, description="probability that the best one wins a tournament")
    ] = 1.0
    crossover: Annotated[Rate, Field(description="probability that two parents swap a record")] = (
        0.1
    )
    mutation: Annotated[Rate, Field(description="probability that a cell is drawn anew")] = 0.001
    rates: Annotated[
        Literal["varied", "fixed"],
        Field(
            description="varied: every child has its own, log-uniform from a thousandth of the "
            "rate up to it; fixed: the paper's"
        ),
    ] = "varied"
    redraw: Annotated[
        Literal["uniform", "marginal"],
        Field(description="levels alike, or as often as the original has them"),
    ] = "uniform"
    aimed: Annotated[
        Rate,
        Field(
            description="largest share of the records that carry risk which a child has replaced; "
            "0 is the algorithm of the paper"
        ),
    ] = 1.0
    generations: Annotated[Whole, Field(ge=1, description="most generations")] = 100
    patience: Annotated[
        Annotated[Whole, Field(ge=1)] | None,
        Field(description="stop after so many generations without gain; null goes on"),
    ] = 20
    seconds: Annotated[
        Annotated[float, Strict(), Field(gt=0, allow_inf_nan=False)] | None,
        Field(description="stop after so many seconds; results then depend on the machine"),
    ] = None
    points: Annotated[
        Whole,
        Field(
            ge=1,
            le=1000,
            description="mode pareto: most datasets of the frontier that are written",
        ),
    ] = 10

    @model_serializer(mode="wrap")
    def _chosen(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Write what differs from the defaults, as other parts of a configuration do."""
        usual = {item.name: item.default for item in fields(self)}
        return {
            name: value for name, value in dump(self).items() if getattr(self, name) != usual[name]
        }

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
        if not self.sorts and self.population <= self.elites:
            raise ValueError(
                f"elites ({self.elites}) must be fewer than the population ({self.population}), "
                "or nothing changes; set fewer elites"
            )


STARTS = ("start", "mutants", "points")
"""What is about a whole run; to refine a file takes the others."""
