"""Plan the evolution of whole datasets: check the genetic section against the data."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from synthesizer.config.reading import load_config
from synthesizer.data.encoding import encode_like
from synthesizer.data.errors import DataError, Problems, plural
from synthesizer.data.guessing import Declaration
from synthesizer.data.panel.panel_table import are_numbers
from synthesizer.data.randomness import Seed
from synthesizer.data.sources import RawTable, read_path
from synthesizer.data.table import Kind, Schema, Table
from synthesizer.engine.genetic.genetic_options import GeneticOptions
from synthesizer.engine.genetic.genetic_source import Evolver, GeneticPlan, below_random
from synthesizer.engine.genetic.scores import (
    RISKS,
    Coding,
    Records,
    Sought,
    coding_problems,
    evolved_names,
)
from synthesizer.measures.scenario import Scenario
from synthesizer.models.step import Step
from synthesizer.plan.context import Context
from synthesizer.plan.inputs import declarations


def plan_genetic(
    context: Context,
    config: GeneticOptions,
    steps: Sequence[Step],
    scenarios: Sequence[Scenario],
) -> GeneticPlan | None:
    """Return what will be evolved, None where there are problems."""
    context.problems.at("genetic", _problems(context, config, steps))
    if context.problems or not context.columns.is_complete:
        return None
    if not scenarios:
        context.problems.append(
            "genetic: needs keys and a target, and none were found; name them under checks: keys, "
            "target"
        )
        return None
    main = scenarios[0]
    numbers = [n for n in (*main.keys, main.target) if not context.table[n].is_coded]
    if numbers:
        context.problems.append(
            f"genetic: {', '.join(numbers)} cannot be a key or the target of the evolution, which "
            "takes categories only; group numbers into intervals in the file, or name others under "
            "checks: keys, target"
        )
        return None
    context.problems.at("genetic", _scenario_problems(context.table, config, main))
    files: list[Records] = []
    if not isinstance(config.start, str):
        files = _files(config.start, context.table, context.problems)
    if context.problems:
        return None
    context.notes += [*_ignored(context, config), *_notes(context.table, config, main)]
    return GeneticPlan(options=config, keys=main.keys, target=main.target, files=tuple(files))


def _problems(context: Context, config: GeneticOptions, steps: Sequence[Step]) -> Iterator[str]:
    """Yield the reasons why no dataset can be evolved."""
    chain = context.config
    if context.is_panel:
        yield "persons with several rows cannot be evolved; take panel or genetic out"
        return
    categories = evolved_names(context.table)
    if len(categories) < 2:
        yield (
            "needs at least two categories, a key and a target; group numbers into intervals in "
            "the file, or declare them categorical if they are codes"
        )
    yield from coding_problems([context.table[name].variable for name in categories])
    kept = [step.variable for step in steps if step.model.abilities.copies_rows]
    if kept:
        yield f"{', '.join(kept)} cannot be kept row by row: records change places; take it out"
    derived = [
        step.variable
        for step in steps
        if step.model.abilities.deterministic and step.variable in categories
    ]
    if derived:
        yield (
            f"{', '.join(derived)} cannot be derived while cells change; drop it and compute it "
            "from the synthetic file"
        )
    if config.start == "chain" and chain.strata and drawn_after(context.table):
        yield "strata have a chain each, and numbers are drawn by one; take strata out"
    if chain.proper:
        yield "proper refits for every dataset of the population; take it out"
    yield from _size_problems(context, config)


def _size_problems(context: Context, config: GeneticOptions) -> Iterator[str]:
    """Yield the problems of the number of datasets and of their size."""
    chain, n = context.config, context.table.n_rows
    if config.mode == "pareto" and chain.m > 1:
        yield f"m ({chain.m}) must be 1 with mode pareto: its result is a frontier of datasets"
    elif config.start == "mutants" and chain.m > 1:
        yield (
            f"m ({chain.m}) must be 1 with start mutants: what several mutants have in common is "
            "the original; take m out, or say start: chain"
        )
    if config.start == "chain":
        return
    if chain.strata:
        yield "strata have a chain each, and no chain is fitted; say start: chain, or take them out"
    if config.start == "mutants" and chain.rows not in (None, n):
        yield f"rows ({chain.rows}) must be {n} or absent: mutants have the original's rows"
    elif config.start != "mutants" and chain.rows is not None:
        yield "rows cannot be set where datasets start from files, which have their own"


def drawn_after(table: Table) -> list[str]:
    """Return the numbers and dates, which the chain draws given the categories that evolved."""
    return [v.name for v in table.schema if not v.is_coded and v.kind is not Kind.ID]


FEW = 20
"""People below which a risk is mostly chance: one more or less moves it by 0.05."""

CHAIN_KEYS = ("default_method", "method", "models", "visit_sequence", "predictor_matrix")
"""What a configuration says of conditional models."""


def _ignored(context: Context, config: GeneticOptions) -> Iterator[str]:
    """Note settings of the chain that have no effect, since no chain is fitted."""
    unused = [key for key in CHAIN_KEYS if key in context.config.model_fields_set]
    unused += [
        f"variables.{name}.method"
        for name, settings in context.config.variables.items()
        if settings.method
    ]
    drawn = drawn_after(context.table)
    if drawn:
        yield (
            f"genetic: {', '.join(drawn)} do not evolve: models of the chain draw them given the "
            "categories of the result, which is what U and R are about"
        )
    elif unused and config.start != "chain":
        yield f"genetic: {', '.join(unused)}: not used, since no model is fitted; say start: chain"


def _scenario_problems(table: Table, config: GeneticOptions, scenario: Scenario) -> Iterator[str]:
    """Yield why the risk cannot be computed for this original."""
    target = table[scenario.target]
    if len(np.unique(target.data)) < 2:
        yield (
            f"target {scenario.target!r} has one value only, which everybody knows; name another "
            "one under checks.target"
        )
        return
    undefined = RISKS[config.risk](Sought.of(table, scenario.keys, scenario.target)).undefined
    if undefined:
        yield f"{undefined} (checks.keys: {', '.join(scenario.keys)})"


def _files(paths: Sequence[Path], table: Table, problems: Problems) -> list[Records]:
    """Read the start files and return their records."""
    place = "genetic.start"
    tables: dict[Path, Table] = {}
    for path in paths:
        if not os.path.exists(path):
            problems.append(
                f"{place}: {path} does not exist; say mutants, chain, or the paths of synthetic "
                "files"
            )
            continue
        with problems.gathered(place):
            tables[path] = like_original(read_path(path, min_rows=1), table)
    sizes = {str(path): synthetic.n_rows for path, synthetic in tables.items()}
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"{path} {n:,}" for path, n in sizes.items())
        problems.append(
            f"{place}: the files have different numbers of rows ({counts}), and datasets that "
            "swap records must have the same; leave some out"
        )
    if problems:
        return []
    coding = Coding.of([table[name].variable for name in evolved_names(table)])
    records = {path: coding.encode(synthetic) for path, synthetic in tables.items()}
    original = np.sort(coding.encode(table))
    problems += [
        f"{place}: {path} has the records of the original; name synthetic files"
        for path, cells in records.items()
        if np.array_equal(np.sort(cells), original)
    ]
    return list(records.values())


def declared_for_refining(path: Path, file: str) -> dict[str, Declaration]:
    """Return what a configuration says of the reading of variables.

    Raises
    ------
    DataError
        If it says what the refinement of the synthetic ``file`` would not keep.
    """
    config = load_config(path)
    if config.panel is not None:
        raise DataError("the configuration has a panel; persons with several rows are not evolved")
    if config.rules or config.forbid or config.support:
        raise DataError(
            "the configuration has rules, forbid or support, which refine does not keep; take them "
            f"out, or run it with genetic: {{start: [{file}], risk_at_most: ...}}"
        )
    return declarations(config)


def like_original(raw: RawTable, table: Table, *, codes: Collection[str] = ()) -> Table:
    """Encode a synthetic file with exactly the levels of the original.

    ``codes`` are variables whose numbers are taken for codes of categories.

    Raises
    ------
    DataError
        Naming every column that is missing, and every variable with levels that the original
        does not have.
    """
    names = evolved_names(table)
    schema = Schema(tuple(table[name].variable for name in names))
    absent = [name for name in names if name not in raw.names]
    if absent:
        raise DataError(
            f"{raw.origin}: column {name!r} is missing; it must have the original's variables"
            for name in absent
        )
    synthetic = encode_like(raw.select(names), schema)
    new = {name: count for name, count in _new_levels(table, synthetic).items() if count}
    numbers = [n for n in new if n in codes and are_numbers(table[n].variable.levels)]
    problems = [
        f"{raw.origin}: column {name!r} has {count:,} records with levels that the original does "
        "not have; write both alike, or declare all levels"
        for name, count in new.items()
        if name not in numbers
    ]
    if numbers:
        counts = ", ".join(f"{new[name]:,}" for name in numbers)
        problems.append(
            f"{raw.origin}: {', '.join(numbers)}: numbers that the original does not have "
            f"({counts} records), so that they are no codes; group these numbers in both files, or "
            "leave them out of this one"
        )
    if problems:
        raise DataError(problems)
    return synthetic


def _new_levels(table: Table, synthetic: Table) -> Mapping[str, int]:
    """Return the records with a label that the original's variable does not have."""
    counts = {}
    for name in synthetic.names:
        labels = set(table[name].variable.labels)
        new = np.array(
            [label not in labels for label in synthetic[name].variable.labels], dtype=bool
        )
        counts[name] = int(new[synthetic[name].data].sum())
    return counts


def _notes(table: Table, config: GeneticOptions, scenario: Scenario) -> Iterator[str]:
    """Yield what a steward should know of this evolution before it starts."""
    sought = Sought.of(table, scenario.keys, scenario.target)
    cells = len(np.unique(sought.records))
    # parents and children: their records, and counts of at most three margins
    size = 2.2 * config.population * (sought.records.nbytes + 24 * cells)
    yield (
        f"genetic: {config.population} datasets for up to {config.generations} generations, about "
        f"{max(size / 1e9, 0.1):.1f} GB for the candidates"
    )
    limit = config.risk_at_most
    people = RISKS[config.risk](sought).people
    few = "; so few say little: name more or finer keys under checks" if people < FEW else ""
    yield f"genetic: R rests on {plural(people, 'person', 'people')}{few}"
    if limit is not None:
        random = Evolver(sought, config).random_risk(Seed(0))
        if limit < random:
            yield below_random("genetic.risk_at_most", limit, random)
    if config.start == "mutants":
        what = "confidential records"
        what = f"in their categories {what}" if drawn_after(table) else what
        yield (
            "genetic: datasets start as mutants of the original, so most of their records are "
            f"{what} as they are: this is perturbation, not synthesis from a model; "
            "see the share of unchanged records in the report, or say genetic: {start: chain}"
        )
