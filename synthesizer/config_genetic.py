"""The part of a configuration that makes whole datasets by a genetic algorithm."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from synthesizer.config_parts import Part
from synthesizer.errors import ConfigError
from synthesizer.genetic.objectives import UTILITIES
from synthesizer.genetic.options import Options
from synthesizer.genetic.risks import RISKS

__all__ = ["GeneticConfig"]


def _no_boolean(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("must be a number")
    return value


def _paths(value: object) -> object:
    """Take one file for a list of one; ``mutants`` and ``chain`` are words."""
    return [value] if isinstance(value, str) and value not in ("mutants", "chain") else value


def _known(measures: Collection[str]) -> AfterValidator:
    def check(name: str) -> str:
        if name not in measures:
            raise ValueError(f"unknown measure; known: {', '.join(measures)}")
        return name

    return AfterValidator(check)


Whole = Annotated[int, BeforeValidator(_no_boolean)]
Number = Annotated[float, BeforeValidator(_no_boolean)]
Rate = Annotated[Number, Field(ge=0, le=1, allow_inf_nan=False)]
Start = Annotated[
    Literal["mutants", "chain"] | tuple[Path, ...], BeforeValidator(_paths), Field(min_length=1)
]


class GeneticConfig(Part):
    """Evolve whole datasets in place of a chain, or after one.

    Examples
    --------
    >>> GeneticConfig(risk_at_most=0.3).options.population
    100
    """

    start: Start = Field(
        "mutants",
        description="mutants of the original; chain: datasets of the chain; or synthetic files",
    )
    mode: Literal["single", "pareto"] = Field(
        "single", description="one dataset, or the frontier of utility and risk"
    )
    risk_at_most: Rate | None = Field(
        None, description="highest risk that is accepted; F decides when absent"
    )
    risk_floor: Rate | None = Field(
        None,
        description="risk below which less is worth nothing; that of a file drawn from the margins "
        "when absent; 0 is the algorithm of the paper",
    )
    utility: Annotated[str, _known(UTILITIES)] = Field(
        "full_table", description="measure of utility: full_table, two_way"
    )
    risk: Annotated[str, _known(RISKS)] = Field(
        "cap_u", description="measure of risk: cap_u, cap, disco, repu, replicated_uniques"
    )
    weight: Rate = Field(0.5, description="weight of the utility in F, in [0, 1]")
    population: Whole = Field(100, ge=2, description="datasets of a generation, at least 2")
    mutants: Rate = Field(
        0.05, gt=0, description="start mutants: largest share of cells that are drawn anew"
    )
    elites: Whole = Field(
        2, ge=0, description="without a limit, mode single: best datasets that survive unchanged"
    )
    tournament: Whole = Field(2, ge=2, description="datasets of a tournament, at least 2")
    win: Rate = Field(1.0, gt=0, description="probability that the best one wins a tournament")
    crossover: Rate = Field(0.1, description="probability that two parents swap a record")
    mutation: Rate = Field(0.001, description="probability that a cell is drawn anew")
    rates: Literal["varied", "fixed"] = Field(
        "varied", description="varied: every child has its own, up to the rate; fixed: the paper's"
    )
    redraw: Literal["uniform", "marginal"] = Field(
        "uniform", description="levels alike, or as often as the original has them"
    )
    aimed: Rate = Field(
        1.0,
        description="largest share of the records that carry risk which a child has replaced; "
        "0 is the algorithm of the paper",
    )
    generations: Whole = Field(100, ge=1, description="most generations")
    patience: Whole | None = Field(
        20, ge=1, description="stop after so many generations without gain; null goes on"
    )
    seconds: Number | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="stop after so many seconds; results then depend on the machine",
    )
    points: Whole = Field(
        10, ge=1, le=1000, description="mode pareto: most datasets of the frontier that are written"
    )

    @model_validator(mode="after")
    def _sound(self) -> GeneticConfig:
        """Check the settings together: the elites against the population."""
        try:
            _ = self.options
        except ConfigError as error:
            raise ValueError("; ".join(error.problems)) from None
        return self

    @property
    def options(self) -> Options:
        """The settings of an evolution."""
        own: dict[str, Any] = {name: getattr(self, name) for name in Options.__dataclass_fields__}
        return Options(**own)
