"""What is compared: a categorical file synthesised by four methods, and their measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd
from compare_genetic_file import Settings, Study

from synthesizer import Synthesizer
from synthesizer.data.errors import DataError
from synthesizer.data.evolved import EvolvedDataset
from synthesizer.data.pairs import as_tables
from synthesizer.data.table import Table
from synthesizer.engine.genetic.evolution import INTERRUPTED
from synthesizer.measures.figure import plain
from synthesizer.measures.risk import cap
from synthesizer.measures.risk.cap import CapResult, CapSingle
from synthesizer.measures.utility import (
    DistanceResult,
    TableMeasures,
    distributions,
    jensen_shannon,
    pmse,
    table_utility,
)
from synthesizer.measures.utility.distributions import Distribution
from synthesizer.measures.utility.propensity import PmseResult

PAPER, OWN, CART, PARAMETRIC = "genetic (paper)", "genetic (package)", "CART", "parametric"


def methods(settings: Settings) -> dict[str, dict[str, Any]]:
    """Return the options of each method, as `Synthesizer` takes them."""
    cart = {"models": {"cart": {"min_leaf": settings.min_leaf, "even": False}}}
    shared = {
        "start": settings.start,
        "generations": settings.generations,
        "population": settings.population,
        "redraw": settings.redraw,
    }
    # Written out although most are defaults: these are the paper's, whatever the defaults become.
    paper = {
        "crossover": 0.1,
        "mutation": 0.001,
        "aimed": 0,
        "rates": "fixed",
        "risk_floor": 0,
        "patience": None,
    }
    chain = cart if settings.start == "chain" else {}
    return {
        PAPER: {"genetic": {**shared, **paper}, **chain},
        OWN: {"genetic": shared, **chain},
        CART: cart,
        PARAMETRIC: {"default_method": "parametric"},
    }


@dataclass(frozen=True, eq=False)
class Comparison:
    """Every measure of every method; datasets stand in the order of ``methods``.

    Parameters
    ----------
    study : Study
        What was asked.
    methods : mapping of str to mapping
        Options of each method.
    evolutions : mapping of str to EvolvedDataset
        What became of each evolution, with its ``history``.
    tables : TableMeasures
        Chi-square tests of every variable, and ratios of estimates of all pairs.
    propensity : PmseResult or str
        Propensity scores, or why there are none.
    caps : CapResult
        CAP, for each dataset alone in ``singles``.
    distances : DistanceResult
        U of every dataset.
    shapes : tuple of Distribution
        Shares of the levels.
    """

    study: Study
    methods: Mapping[str, Mapping[str, Any]]
    evolutions: Mapping[str, EvolvedDataset]
    tables: TableMeasures
    propensity: PmseResult | str
    caps: CapResult
    distances: DistanceResult
    shapes: tuple[Distribution, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The methods."""
        return tuple(self.methods)

    def of_tables(self, ways: int) -> dict[tuple[str, ...], list[Mapping[Any, Any]]]:
        """Return the measures of every dataset by the variables of the tables of an order."""
        tables: dict[tuple[str, ...], list[Mapping[Any, Any]]] = {}
        for row in self.tables.by_dataset.to_dict(orient="records"):
            if row["ways"] == ways:
                tables.setdefault(row["names"], []).append(row)
        return tables

    def single(self, name: str, subset: str) -> CapSingle:
        """Return the mean CAP of one method's dataset alone."""
        number = self.names.index(name) + 1
        found = (c for c in self.caps.singles if (c.dataset, c.subset) == (number, subset))
        return next(found)

    def distance(self, name: str) -> float:
        """Return U of a method's dataset."""
        return self.distances.datasets[self.names.index(name)].distance

    def point(self, name: str) -> tuple[str, float, float]:
        """Return where a method's dataset lies: name, U and R."""
        return name, self.distance(name), self.single(name, "uniques").zero or 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        study, told = self.study, self.propensity
        return {
            "data": study.origin,
            "records": study.table.n_rows,
            "variables": list(study.table.names),
            "settings": asdict(study.settings),
            "methods": {name: dict(options) for name, options in self.methods.items()},
            "tables": plain(self.tables.result()),
            "propensity": {"failed": told} if isinstance(told, str) else plain(told),
            "cap": plain(self.caps),
            "jensen_shannon": plain(self.distances),
            "distributions": [plain(shape) for shape in self.shapes],
            "evolutions": {
                name: own.model_dump(mode="json") for name, own in self.evolutions.items()
            },
        }


def compare(study: Study, *, levels: int = 20) -> Comparison:
    """Synthesise by every method and measure.

    Parameters
    ----------
    study : Study
        The original and what is asked.
    levels : int
        Most levels of a variable that are told apart in the distributions.
    """
    options = methods(study.settings)
    frames, evolutions = [], {}
    for name, own in options.items():
        frame, evolution = synthesise(study, own)
        frames.append(frame)
        if evolution is not None:
            evolutions[name] = evolution
    table = study.table
    _, made = as_tables(table, frames, table.names)
    return Comparison(
        study=study,
        methods=options,
        evolutions=evolutions,
        tables=table_utility(table, made, quantiles_of="original"),
        propensity=_propensity(table, made),
        caps=cap(table, made, keys=study.keys, target=study.target, special_uniques=False),
        distances=jensen_shannon(table, made),
        shapes=distributions(table, made, cells=levels),
    )


def synthesise(
    study: Study, options: Mapping[str, Any]
) -> tuple[pd.DataFrame, EvolvedDataset | None]:
    """Return one dataset, and what became of its evolution."""
    settings = study.settings
    kinds = {
        v.name: {"kind": "categorical", "missing": list(v.missing)} for v in study.table.schema
    }
    synthesizer = Synthesizer(
        variables=kinds,
        checks={"keys": list(study.keys), "target": study.target},
        seed=settings.seed,
        workers=settings.workers,
        **options,
    )
    (made,) = synthesizer.fit(study.frame).generate()
    if "genetic" not in options:
        return made, None
    (evolution,) = synthesizer.evolution.datasets
    if evolution.stopped == INTERRUPTED:  # it ends with the best so far: no comparison
        raise KeyboardInterrupt
    return made, evolution


def _propensity(table: Table, made: Sequence[Table]) -> PmseResult | str:
    """Return propensity scores, or why a logit cannot be fitted."""
    try:
        return pmse(table, made)
    except DataError as error:
        return "; ".join(error.problems)
