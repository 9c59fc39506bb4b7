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
from synthesizer.extensions.genetic.genetic_options import GeneticOptions
from synthesizer.extensions.genetic.genetic_source import Evolver, GeneticPlan, below_random
from synthesizer.extensions.genetic.scores import (
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
from synthesizer.plan.extended import PlanRequest
from synthesizer.plan.findings import Draft, Findings, note, problem
from synthesizer.plan.inputs import declarations


def plan_genetic(request: PlanRequest) -> Draft[GeneticPlan | None]:
    """Return the plan of the evolution, None if there are problems."""
    context, config, scenarios = request.context, request.options, request.scenarios
    steps, is_sound = request.chain.steps, request.is_sound
    findings = Findings()
    findings.problems.at("genetic", _problems(context, config, steps))
    if findings.problems or not is_sound or not context.columns.is_complete:
        return findings.of(None)
    if not scenarios:
        return Draft(None, (problem("genetic_needs_scenario"),))
    main = scenarios[0]
    numbers = [n for n in (*main.keys, main.target) if not context.table[n].is_coded]
    if numbers:
        return Draft(None, (problem("genetic_scenario_numbers", names=numbers),))
    findings.problems.at("genetic", _scenario_problems(context.table, config, main))
    files: list[Records] = []
    if not isinstance(config.start, str):
        files = _files(config.start, context.table, findings.problems)
    if findings.problems:
        return findings.of(None)
    findings.notes += [*_ignored(context, config), *_notes(context.table, config, main)]
    made = GeneticPlan(
        fits_categories=config.start == "chain",
        keeps_rules=True,
        options=config,
        keys=main.keys,
        target=main.target,
        files=tuple(files),
    )
    return findings.of(made)


def _problems(context: Context, config: GeneticOptions, steps: Sequence[Step]) -> Iterator[str]:
    """Yield the reasons why no dataset can be evolved."""
    chain = context.config
    if context.is_panel:
        yield problem("genetic_panel")
        return
    categories = evolved_names(context.table)
    if len(categories) < 2:
        yield problem("genetic_few_categories")
    yield from coding_problems([context.table[name].variable for name in categories])
    copied = [step.variable for step in steps if step.model.abilities.copies_rows]
    if copied:
        yield problem("genetic_kept", names=copied)
    derived = [
        step.variable
        for step in steps
        if step.model.abilities.deterministic and step.variable in categories
    ]
    if derived:
        yield problem("genetic_derived", names=derived)
    if config.start == "chain" and chain.strata and drawn_after(context.table):
        yield problem("genetic_strata")
    if chain.proper:
        yield problem("genetic_proper")
    yield from _size_problems(context, config)


def _size_problems(context: Context, config: GeneticOptions) -> Iterator[str]:
    """Yield the problems of the number of datasets and of their size."""
    chain, n = context.config, context.table.n_rows
    if config.mode == "pareto" and chain.m > 1:
        yield problem("genetic_m_pareto", m=chain.m)
    elif config.start == "mutants" and chain.m > 1:
        yield problem("genetic_m_mutants", m=chain.m)
    if config.start == "chain":
        return
    if chain.strata:
        yield problem("genetic_strata_without_chain")
    if config.start == "mutants" and chain.rows not in (None, n):
        yield problem("genetic_rows_of_mutants", rows=chain.rows, n=n)
    elif config.start != "mutants" and chain.rows is not None:
        yield problem("genetic_rows_of_files")


def drawn_after(table: Table) -> list[str]:
    """Return the numbers and dates, which the chain draws given the evolved categories."""
    return [v.name for v in table.schema if not v.is_coded and v.kind is not Kind.ID]


MIN_PEOPLE = 20
"""With fewer people the risk is mostly chance: one person moves it by 0.05."""

CHAIN_KEYS = ("default_method", "method", "models", "visit_sequence", "predictor_matrix")
"""Keys about conditional models."""


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
        yield note("genetic_draws_numbers", drawn=", ".join(drawn))
    elif unused and config.start != "chain":
        yield note("genetic_without_models", unused=", ".join(unused))


def _scenario_problems(table: Table, config: GeneticOptions, scenario: Scenario) -> Iterator[str]:
    """Yield why the risk cannot be computed for this original."""
    target = table[scenario.target]
    if len(np.unique(target.data)) < 2:
        yield problem("genetic_target_constant", name=scenario.target)
        return
    undefined = RISKS[config.risk](Sought.of(table, scenario.keys, scenario.target)).undefined
    if undefined:
        yield problem(
            "genetic_risk_undefined",
            name=scenario.target,
            undefined=undefined,
            keys=", ".join(scenario.keys),
        )


def _files(paths: Sequence[Path], table: Table, problems: Problems) -> list[Records]:
    """Read the start files and return their records."""
    key = "genetic.start"
    tables: dict[Path, Table] = {}
    for path in paths:
        if not os.path.exists(path):
            problems.append(problem("no_such_file", place=key, path=path))
            continue
        with problems.gathered(key):
            tables[path] = like_original(read_path(path, min_rows=1), table)
    sizes = {str(path): synthetic.n_rows for path, synthetic in tables.items()}
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"{path} {n:,}" for path, n in sizes.items())
        problems.append(problem("genetic_files_differ", place=key, counts=counts))
    if problems:
        return []
    coding = Coding.of([table[name].variable for name in evolved_names(table)])
    records = {path: coding.encode(synthetic) for path, synthetic in tables.items()}
    original = np.sort(coding.encode(table))
    problems += [
        problem("genetic_file_is_original", place=key, path=path)
        for path, cells in records.items()
        if np.array_equal(np.sort(cells), original)
    ]
    return list(records.values())


def declared_for_refining(path: Path, file: str) -> dict[str, Declaration]:
    """Return the settings of a configuration for reading variables.

    Raises
    ------
    DataError
        If it has rules that the refinement of the synthetic ``file`` would ignore.
    """
    config = load_config(path)
    if config.panel is not None:
        raise DataError(problem("refine_panel"))
    if config.rules or config.forbid or config.structural_zeros:
        raise DataError(problem("refine_rules", file=file))
    return declarations(config)


def like_original(raw: RawTable, table: Table, *, codes: Collection[str] = ()) -> Table:
    """Encode a synthetic file with exactly the levels of the original.

    ``codes`` are variables whose numbers are codes of categories.

    Raises
    ------
    DataError
        With every missing column, and every variable with levels that the original does not have.
    """
    names = evolved_names(table)
    schema = Schema(tuple(table[name].variable for name in names))
    absent = (name for name in names if name not in raw.names)
    Problems(
        problem("refine_column_missing", name=name, origin=raw.origin) for name in absent
    ).settle(DataError)
    synthetic = encode_like(raw.select(names), schema)
    new = {name: count for name, count in _new_levels(table, synthetic).items() if count}
    numbers = [n for n in new if n in codes and are_numbers(table[n].variable.levels)]
    problems = Problems(
        problem("new_levels", name=name, origin=raw.origin, count=count)
        for name, count in new.items()
        if name not in numbers
    )
    if numbers:
        counts = ", ".join(f"{new[name]:,}" for name in numbers)
        problems.append(problem("new_numbers", names=numbers, origin=raw.origin, counts=counts))
    problems.settle(DataError)
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
    """Yield notes about this evolution before it starts."""
    sought = Sought.of(table, scenario.keys, scenario.target)
    cells = len(np.unique(sought.records))
    # parents and children: their records, and counts of at most three margins
    size = 2.2 * config.population * (sought.records.nbytes + 24 * cells)
    yield note(
        "genetic_size",
        population=config.population,
        generations=config.generations,
        size=max(size / 1e9, 0.1),
    )
    limit = config.risk_at_most
    people = RISKS[config.risk](sought).people
    few = (
        ", too few for a stable risk: name more or finer keys under checks"
        if people < MIN_PEOPLE
        else ""
    )
    yield note("genetic_few_people", persons=plural(people, "person", "people"), few=few)
    if limit is not None:
        random = Evolver(sought, config).random_risk(Seed(0))
        if limit < random:
            yield below_random("genetic.risk_at_most", limit, random)
    if config.start == "mutants":
        what = "confidential records"
        what = f"in their categories {what}" if drawn_after(table) else what
        yield note("genetic_mutants", what=what)
