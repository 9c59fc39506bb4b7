"""What is printed before a run: the variables, the plan, the models."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from synthesizer.panel.table import PanelTable
from synthesizer.screen import notes_told, say, say_json, tabulate

if TYPE_CHECKING:
    from synthesizer.codebook import Codebook
    from synthesizer.data.table import Table
    from synthesizer.plan_table import PlanRow
    from synthesizer.preparation import Prepared
    from synthesizer.registry import Registry

__all__ = ["show_codebook", "show_model", "show_models", "show_plan", "show_valid"]


def show_codebook(codebook: Codebook, *, as_json: bool) -> None:
    """Print what is known of every variable of a file."""
    if as_json:
        say_json(codebook.to_dict())
        return
    rows = [
        (v.name, v.kind, v.levels, v.missing, v.missing_codes, v.shows, v.reason)
        for v in codebook.variables
    ]
    title = f"{codebook.origin}: {codebook.n_rows:,} rows (CONFIDENTIAL: computed from the data)"
    columns = ("variable", "kind", "values", "missing rows", "codes", "levels or range", "why")
    tabulate(title, columns, rows)
    notes_told(codebook.notes)


def show_valid(ready: Prepared) -> None:
    """Say that a run can start."""
    config, genetic = ready.config, ready.plan.genetic
    notes_told([*ready.source.notes, *ready.plan.notes])
    if genetic is None:
        what = "to draw"
    else:
        what = "to draw and evolve" if genetic.start == "chain" else "to evolve"
    say(
        f"valid: {_size(ready.table)}, {len(ready.plan.spec.steps)} variables {what}, "
        f"m = {config.m}; output goes to {config.output.directory}"
    )


def _size(table: Table) -> str:
    """Say how many rows there are, and persons of a panel."""
    rows = f"{table.n_rows:,} rows"
    return f"{table.n_units:,} persons, {rows}" if isinstance(table, PanelTable) else rows


def show_plan(ready: Prepared, rows: Sequence[PlanRow]) -> None:
    """Print the chain in order, and what is evolved after it or in its place."""
    from synthesizer.codebook import RARE

    genetic = ready.plan.genetic
    if genetic is None or genetic.start == "chain":
        _show_chain(ready, rows)
        cost = "; cost: share of the fit's work"
    else:
        _show_variables(ready, rows)
        cost = ""
    if genetic is not None:
        from synthesizer.screen_genetic import plan_lines

        for line in plan_lines(genetic, ready.config.m):
            say(line)
    for scenario in ready.plan.scenarios:
        say(f"checks: keys {', '.join(scenario.keys)}; target {scenario.target}")
    notes_told([*ready.source.notes, *ready.plan.notes])
    units = "persons" if isinstance(ready.table, PanelTable) else "rows"
    say(f"rare levels: held by fewer than {RARE} {units}{cost}")


def _show_chain(ready: Prepared, rows: Sequence[PlanRow]) -> None:
    """Print the models in order, and what they have to keep to."""
    columns = (
        "#", "variable", "kind", "model", "predictors", "levels", "missing rows", "rare levels",
        "cost",
    )  # fmt: skip
    cells = [
        (
            row.position, row.variable, row.kind, row.model, row.predictors, row.levels,
            row.missing, row.rare, f"{row.cost:.1%}",
        )
        for row in rows
    ]  # fmt: skip
    tabulate(f"plan for {_size(ready.table)}", columns, cells)
    spec = ready.plan.spec
    if spec.strata:
        say(f"strata: a chain for every combination of {', '.join(spec.strata)}")
    for rule in spec.rules:
        count = rule.condition.count(ready.table)
        say(f"rule: where {rule.condition.text}, {rule.variable} is set ({count:,} rows)")
    for forbid in spec.forbids:
        say(f"{forbid.text} (redraws {forbid.variable})")


def _show_variables(ready: Prepared, rows: Sequence[PlanRow]) -> None:
    """Print the variables where no chain is fitted, and which changes are taken back."""
    columns = ("variable", "kind", "levels", "missing rows", "rare levels")
    cells = [(row.variable, row.kind, row.levels, row.missing, row.rare) for row in rows]
    tabulate(f"variables to evolve, {_size(ready.table)}: no chain is fitted", columns, cells)
    spec = ready.plan.spec
    if spec.strata:
        say(f"strata: not used ({', '.join(spec.strata)}), since no chain is fitted")
    for rule in spec.rules:
        count = rule.condition.count(ready.table)
        where = f"where {rule.condition.text}, {rule.variable} is given ({count:,} rows)"
        say(f"rule: {where}; changes that break it are taken back")
    for forbid in spec.forbids:
        say(f"{forbid.text} (changes that break it are taken back)")


def show_models(registry: Registry) -> None:
    """Print the registry."""
    rows = [
        (
            entry.name,
            f"{entry.package} {entry.version}",
            ", ".join(sorted(entry.abilities.kinds)),
            "yes" if entry.abilities.stores_values else "no",
            entry.summary,
        )
        for entry in registry.entries()
    ]
    tabulate("models", ("name", "package", "kinds", "stores values", "what it does"), rows)


def show_model(registry: Registry, name: str) -> None:
    """Print what a model does and its options."""
    text = inspect.getdoc(registry.get(name)) or name
    say(text.partition("\nExamples\n")[0])
    options = registry.options_schema(name)["properties"]
    rows = [(option, json.dumps(entry.get("default"))) for option, entry in options.items()]
    tabulate("options", ("option", "default"), rows)
