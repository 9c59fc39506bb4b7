"""The options of an evolution: frozen and checked, with all problems at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, SerializerFunctionWrapHandler, Strict, model_serializer

from synthesizer.data.options import MAX_REPEATS, Count, Positive, Share, options


def _paths(value: object) -> object:
    """Return a list of one file; ``mutants`` and ``chain`` stay words."""
    if not isinstance(value, str | Path | list | tuple):
        raise ValueError("must be mutants, chain, or the paths of synthetic files")
    return value if value in ("mutants", "chain") or isinstance(value, list | tuple) else [value]


Whole = Annotated[int, Strict()]
UtilityName = Literal["full_table", "two_way"]
RiskName = Literal["cap_u", "cap", "disco", "tcap", "repu", "replicated_uniques"]
Start = Annotated[
    Literal["mutants", "chain"] | tuple[Path, ...], BeforeValidator(_paths), Field(min_length=1)
]


@options(strict=False)
class GeneticOptions:
    """Evolve whole datasets in place of a chain, or after one; rates are probabilities.

    F is the weighted mean of utility and risk (``weight``). With ``risk_at_most`` the search sorts
    by dominance in both modes: sorting by F, or by utility within the limit, would lose the best
    candidates on the way to the limit. In mode single the limit replaces ``risk_floor``.
    Tournaments are drawn with replacement. If candidates are sorted by dominance, parents compete
    with children, without ``elites``. In mode single aimed moves lower the risk to the limit or
    the floor; in mode pareto they may replace values of any share of the records.

    Examples
    --------
    >>> GeneticOptions(risk_at_most=0.3).population
    100
    """

    start: Start = Field(
        "mutants",
        description="mutants of the original; chain: datasets of the chain; or synthetic files",
    )
    mode: Literal["single", "pareto"] = Field(
        "single", description="one dataset, or the frontier of utility and risk"
    )
    risk_at_most: Share | None = Field(None, description="limit of the risk; none: see weight")
    risk_floor: Share | None = Field(
        None,
        description="risk below which less is worth nothing; that of a file drawn from the margins "
        "when absent; 0 is the algorithm of the paper",
    )
    utility: UtilityName = Field("full_table", description="measure of utility")
    risk: RiskName = Field("cap_u", description="measure of risk")
    weight: Share = Field(0.5, description="weight of the utility in F, in [0, 1]")
    population: Whole = Field(
        100, ge=2, le=MAX_REPEATS, description="datasets of a generation, 2 to 10,000"
    )
    mutants: Share = Field(0.05, gt=0, description="start mutants: largest share of redrawn cells")
    elites: Whole = Field(
        2, ge=0, description="without a limit, mode single: best datasets that survive unchanged"
    )
    tournament: Whole = Field(
        2, ge=2, le=MAX_REPEATS, description="datasets of a tournament, 2 to 10,000"
    )
    win: Share = Field(1.0, gt=0, description="probability that the best one wins a tournament")
    crossover: Share = Field(0.1, description="probability that two parents swap a record")
    mutation: Share = Field(0.001, description="probability that a cell is redrawn")
    rates: Literal["varied", "fixed"] = Field(
        "varied",
        description="varied: every child has its own, log-uniform from a thousandth of the rate up "
        "to it; fixed: the paper's",
    )
    redraw: Literal["uniform", "marginal"] = Field(
        "uniform", description="levels alike, or as often as the original has them"
    )
    aimed: Share = Field(
        1.0,
        description="largest share of the records that carry risk which a child has replaced; 0 is "
        "the algorithm of the paper",
    )
    generations: Whole = Field(100, ge=1, le=1_000_000, description="most generations")
    patience: Count | None = Field(
        20, description="stop after this number of generations without gain; null never stops"
    )
    seconds: Positive | None = Field(
        None, description="stop after this number of seconds; results then depend on the machine"
    )
    points: Whole = Field(
        10, ge=1, le=1000, description="mode pareto: most datasets of the frontier that are written"
    )

    @model_serializer(mode="wrap")
    def _chosen(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return only the options that differ from the defaults, like other sections."""
        usual = type(self)()
        return {
            name: value
            for name, value in dump(self).items()
            if getattr(self, name) != getattr(usual, name)
        }

    @property
    def sorts(self) -> bool:
        """Whether candidates are sorted by dominance (NSGA-II), not by F."""
        return self.mode == "pareto" or self.risk_at_most is not None

    @property
    def goal(self) -> float | None:
        """The risk to which aimed moves lead; lower risk has no value."""
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
"""Options of a whole run; refining a file accepts the others."""
