"""From a configuration and a table to a chain, with all problems at once.

Nothing is fitted here. What the plan needs of the data is their schema, and counts for the rules.
One file for each question: `plan_methods`, `plan_order`, `plan_steps`, `plan_rules`,
`plan_scenario`,
`plan_fits`, `plan_genetic`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthesizer.config.keys import ChainConfig
from synthesizer.data.errors import ConfigError
from synthesizer.data.panel.frame import Frame
from synthesizer.data.panel.view import period_labels
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Table
from synthesizer.engine.chain import ChainSpec, Progress
from synthesizer.engine.drawing import split_strata, whole_number_problems
from synthesizer.engine.genetic.source import Evolving, GeneticPlan, Source, Words, keeping
from synthesizer.engine.registry import NO_MODELS, Registry
from synthesizer.measures.risk.scenario import Scenario
from synthesizer.models.histories.history import panel_of
from synthesizer.models.step import Step
from synthesizer.plan.columns import Columns, unknown_models, unknown_variables
from synthesizer.plan.context import Context
from synthesizer.plan.evolving import plan_genetic
from synthesizer.plan.methods import plan_methods
from synthesizer.plan.order import Places, plan_order
from synthesizer.plan.rules import overridden, plan_paths, plan_rules
from synthesizer.plan.scenarios import fit_problems, plan_scenarios
from synthesizer.plan.steps import panel_problems, plan_steps

MIN_STRATUM_ROWS = 10
"""A chain needs 10 rows and 10 for every variable, as in synthpop, unless told otherwise."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What will be fitted, and what the checks will assume.

    Parameters
    ----------
    spec : ChainSpec
        The chain.
    scenarios : tuple of Scenario
        Keys and target of the disclosure checks, the main one first; empty when there are none
        to be had.
    notes : tuple of str
        What a steward should know and need not change.
    genetic : GeneticPlan or None
        How whole datasets are evolved, in place of the chain or after it.
    """

    spec: ChainSpec
    scenarios: tuple[Scenario, ...]
    notes: tuple[str, ...]
    genetic: GeneticPlan | None = None

    @property
    def kept(self) -> tuple[str, ...]:
        """Variables whose values are copied row by row."""
        return tuple(s.variable for s in self.spec.steps if s.model.abilities.copies_rows)


def make_plan(config: ChainConfig, table: Table, registry: Registry) -> Plan:
    """Plan a chain for the confidential ``table``.

    Raises
    ------
    ConfigError
        With every problem of the configuration in view of these data.
    """
    plan, problems = try_plan(config, table, registry)
    if plan is None:
        raise ConfigError(problems)
    return plan


def try_plan(
    config: ChainConfig,
    table: Table,
    registry: Registry,
    columns: Columns | None = None,
    *,
    frame: Frame | None = None,
    view: Table | None = None,
) -> tuple[Plan | None, list[str]]:
    """Return a plan, or None and every problem.

    ``columns`` says which columns the source has, where ``table`` holds only those that could be
    read; the plan is then good for its problems only. Of a panel, ``table`` is a `PanelTable`,
    ``frame`` its periods and ``view`` one row a person, which the checks look at.
    """
    if not registry.names:
        return None, [NO_MODELS]
    columns = columns or Columns.of(table.names)
    context = Context(config=config, table=table, registry=registry, columns=columns, frame=frame)
    _check_names(context)
    plan_paths(context)
    methods = plan_methods(context)
    order = plan_order(context, methods)
    steps = plan_steps(context, order, methods)
    panel_problems(context, order, {step.variable: step.model for step in steps})
    problems = context.problems
    problems += _row_problems(config, context, steps)
    places = Places.of(context, order, steps)
    whole = table if frame is None else frame.completed(panel_of(table))
    ruled = columns if frame is None else columns.joined(whole.names)
    rules, zeros, notes, found = plan_rules(config, whole, places, ruled)
    problems += [*found, *overridden(context.paths, rules)]
    seen = table if view is None else view
    # a panel is planned with all of its columns: what the view lacks is unknown to the checks
    shown = columns
    if view is not None and frame is not None:
        shown = columns.seen(table.names, view.names, period_labels(frame.periods))
    scenarios, scenario_notes, found = plan_scenarios(config, seen, shown)
    problems += found
    keeps = any(step.model.abilities.copies_rows for step in steps)
    problems += fit_problems(config, shown, table, view, keeps=keeps)
    genetic = plan_genetic(context, steps, scenarios)
    if problems:
        return None, problems
    spec = ChainSpec(
        steps=tuple(steps),
        rules=rules,
        forbids=zeros,
        strata=config.strata,
        proper=config.proper,
        frame=frame,
    )
    notes = (*context.notes, *notes, *scenario_notes)
    return Plan(spec=spec, scenarios=scenarios, notes=notes, genetic=genetic), []


def _check_names(context: Context) -> None:
    """Report names of variables and models that are unknown, and variables out of place."""
    config = context.config
    following = () if context.frame is None else context.frame.derived
    context.problems += unknown_variables(config, context.columns, following)
    context.problems += unknown_models(config, context.registry, context.names)
    for place, names in (("keep", config.keep), ("strata", config.strata)):
        for name in names:
            if name in context.table and name not in context.names:
                context.problems.append(
                    f"{place}: variable {name!r} is an id or dropped and takes no part in "
                    "the synthesis; take it out of the list"
                )
    if not context.names and context.columns.is_complete:
        context.problems.append("no variable is left to synthesise; drop fewer or declare kinds")


def _row_problems(config: ChainConfig, context: Context, steps: list[Step]) -> list[str]:
    """Check what concerns numbers of rows (persons of a panel): kept variables, strata, workers."""
    table = context.table
    problems = whole_number_problems(rows=config.rows)
    keeps = any(step.model.abilities.copies_rows for step in steps)
    if keeps and config.rows not in (None, table.n_rows):
        problems.append(
            f"rows ({config.rows}) must be {table.n_rows} or absent: variables are kept row by "
            "row (partial synthesis)"
        )
    if config.workers == 0:
        problems.append("workers (0) must be at least 1, or -1 for all cores")
    changing = [name for name in config.strata if context.changing.get(name, 0) > 0]
    if changing:
        problems.append(
            f"strata: {', '.join(changing)} change within persons, who would be torn apart; name "
            "variables that nobody changes"
        )
    elif all(name in table for name in config.strata):
        sizes = np.array([len(u) for u in split_strata(table.unit_table, config.strata)])
        needed = config.min_stratum_rows or MIN_STRATUM_ROWS * (1 + len(steps))
        small = int((sizes < needed).sum())
        if small and config.strata:
            problems.append(
                f"strata: {small} of {len(sizes)} strata have fewer than {needed} rows; use "
                "fewer or coarser variables, or set min_stratum_rows and accept that small strata "
                "repeat persons"
            )
    return problems


def fitted_source(
    plan: Plan,
    table: Table,
    seed: Seed,
    *,
    replicates: int,
    n_jobs: int,
    progress: Progress | None = None,
    told: Words | None = None,
    keeps_best: bool = True,
) -> Source:
    """Fit what datasets are drawn from.

    Parameters
    ----------
    plan : Plan
        Says whether the chain is fitted, and whether datasets are evolved.
    table : Table
        Confidential data.
    seed, replicates, n_jobs, progress
        As for `ChainSpec.fit`.
    told : callable, optional
        Is told how far an evolution has come.
    keeps_best : bool
        Whether an interrupt of an evolution keeps the best so far.
    """
    genetic, chain = plan.genetic, None
    if genetic is None or genetic.start == "chain":
        chain = plan.spec.fit(table, seed, replicates=replicates, n_jobs=n_jobs, progress=progress)
    if genetic is None:
        assert chain is not None  # noqa: S101 - for the type checker
        return chain
    rules, zeros = plan.spec.rules, plan.spec.forbids
    return Evolving(
        plan=genetic,
        table=table,
        chain=chain,
        allowed=keeping(rules, zeros, table),
        told=told,
        keeps_best=keeps_best,
    )
