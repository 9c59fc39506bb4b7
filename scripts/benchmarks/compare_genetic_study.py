"""What is compared: a categorical file synthesised by four methods, and their measures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from synthesizer import Synthesizer
from synthesizer.data.encoding import encode
from synthesizer.data.errors import DataError, SynthesizerError
from synthesizer.data.evolved import EvolvedDataset
from synthesizer.data.guessing import Declaration
from synthesizer.data.pairs import as_tables, check_keys
from synthesizer.data.sources import RawTable, read_path
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.data.values import is_number
from synthesizer.engine.genetic.evolution import INTERRUPTED
from synthesizer.measures.figure import plain
from synthesizer.measures.risk import cap, statistical_uniques
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

MOST_NUMBERS = 100
"""Distinct numbers up to which a column is taken for codes."""
MOST_TEXTS = 1_000
"""Distinct texts up to which a column is taken for categories, if they are few for its records."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What may be chosen; the defaults are those of the paper where it tells them."""

    seed: int = 1
    generations: int = 57
    population: int = 100
    start: str = "mutants"
    """Mutants of the original, or datasets of a ``chain``."""
    redraw: str = "marginal"
    """Mutations draw all levels alike, or as often as the original has them (``marginal``)."""
    min_leaf: int = 5
    """Of CART."""
    workers: int | None = None


@dataclass(frozen=True, eq=False)
class Study:
    """The original, as categories, and what an intruder knows and seeks."""

    origin: str
    table: Table
    """Keys first and target last, which is the order of the chains."""
    frame: pd.DataFrame
    """The same as text."""
    keys: tuple[str, ...]
    target: str
    settings: Settings


def prepare(
    path: Path,
    keys: Sequence[str],
    target: str,
    settings: Settings,
    *,
    drop: Sequence[str] = (),
) -> Study:
    """Read a file whose columns are categories.

    Raises
    ------
    DataError
        With every problem of the file, the keys and the target.
    """
    raw = read_path(path)
    problems = [
        f"--drop: {name!r} is not in the data: name one of its columns"
        for name in drop
        if name not in raw.names
    ]
    raw = raw.select([name for name in raw.names if name not in drop])
    faulty = dict(_faulty_columns(raw))
    problems += [*_named_wrong(raw.names, keys, target), *faulty.values()]
    table = Table((), raw.n_rows)
    try:
        sound = raw.select([name for name in raw.names if name not in faulty])
        table = encode(sound, dict.fromkeys(sound.names, Declaration(kind=Kind.CATEGORICAL)))
        if not problems:
            check_keys(table, keys=keys, target=target)
            problems += _nobody_unique(table, keys)
    except SynthesizerError as error:
        problems += error.problems
    if problems:
        raise DataError(problems)
    others = [name for name in table.names if name not in (*keys, target)]
    table = table.select([*keys, *others, target])
    return Study(raw.origin, table, _as_text(table), tuple(keys), target, settings)


def _named_wrong(names: Sequence[str], keys: Sequence[str], target: str) -> tuple[str, ...]:
    """Return what is wrong with keys and target by name alone, whatever the columns hold."""
    nothing = np.zeros(0, dtype=np.int32)
    columns = [Column(Variable(name=name, kind=Kind.CATEGORICAL), nothing) for name in names]
    try:
        check_keys(Table(columns, 0), keys=keys, target=target)
    except DataError as error:
        return error.problems
    return ()


def _faulty_columns(raw: RawTable) -> Iterator[tuple[str, str]]:
    """Yield which columns are no categories, and why: measurements, names, dates."""
    for texts in raw.texts:
        values = texts.picked(texts.occurs)
        numbers = int(is_number(pa.array(values, pa.string()), texts.format).sum())
        if numbers > MOST_NUMBERS:
            told = f"{numbers:,} distinct numbers (at most {MOST_NUMBERS} are taken for codes)"
        elif len(values) > min(MOST_TEXTS, max(MOST_NUMBERS, raw.n_rows / 2)):
            told = f"{len(values):,} distinct values in {raw.n_rows:,} records, as names have"
        else:
            continue
        yield (
            texts.name,
            f"column {texts.name!r} has {told}: group it into classes first, or leave it out "
            "with --drop",
        )


def _nobody_unique(table: Table, keys: Sequence[str]) -> Iterator[str]:
    """Yield that there is nobody to protect."""
    if not statistical_uniques(table, keys).any():
        yield (
            f"no record is unique by the keys ({', '.join(keys)}), and CAP-U is about those that "
            "are: name more or finer keys under --keys"
        )


def _as_text(table: Table) -> pd.DataFrame:
    """Return a table of codes as text, so that 1 and 1.0 cannot be mixed up on the way."""
    return pd.DataFrame(
        {
            column.name: np.array(column.variable.labels, dtype=object)[column.data]
            for column in table.columns
        }
    )


PAPER, OWN, CART, PARAMETRIC = "genetic (paper)", "genetic (package)", "CART", "parametric"


def methods(settings: Settings) -> dict[str, dict[str, Any]]:
    """Return the options of each method, as `Synthesizer` takes them."""
    apart = {"sample": {"even": False}}  # independent draws, as synthpop has them
    cart = {"models": {"cart": {"min_leaf": settings.min_leaf, "even": False}, **apart}}
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
        "mutants": 0.02,  # how modest the start is, the paper does not say (docs/genetic.md)
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
        PARAMETRIC: {"default_method": "parametric", "models": apart},
    }


@dataclass(frozen=True, eq=False)
class Comparison:
    """Every measure of every method; datasets stand in the order of ``methods``."""

    study: Study
    methods: Mapping[str, Mapping[str, Any]]
    evolutions: Mapping[str, EvolvedDataset]
    tables: TableMeasures
    propensity: PmseResult | str
    """Or why there is none."""
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
    """Synthesise by every method and measure; distributions tell at most ``levels`` apart."""
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
