"""Files of margins: what is refused, which models draw rows alone, and how the file differs.

A low-fidelity file is released with a list of its differences from the original, which contains no
value of the data (Raab, McCall and Cavin 2025, arXiv 2503.14211; ADR UK Synthetic Data Working
Group 2025, doi 10.5281/zenodo.17980237).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synthesizer.config.keys import FULL
from synthesizer.data.encoding import NEAREST
from synthesizer.data.errors import plural
from synthesizer.data.table import Kind
from synthesizer.engine.registry import ROLES, option_types
from synthesizer.models.kit.numbers import min_holders_of
from synthesizer.models.step import Step
from synthesizer.plan.context import Context
from synthesizer.plan.findings import note, problem

_WITH_RELATIONS = ("keep", "strata", "predictor_matrix", "survival", "maker")
"""Keys of relations, and of records that are copied."""


def is_of_margins(context: Context) -> bool:
    """Whether every variable is drawn by itself."""
    return context.config.fidelity != FULL


def relation_problems(context: Context) -> Iterator[str]:
    """Yield a problem for each key that a file of margins cannot respect."""
    if not is_of_margins(context):
        return
    config, known = context.config, context.registry
    entries = [key for key in _WITH_RELATIONS if getattr(config, key)]
    models = {f"method.{name}": model for name, model in config.named_methods.items()}
    for name, one in config.variables.items():
        models[f"variables.{name}.method"] = one.method or ""
        entries += [f"variables.{name}.predictors"] * bool(one.predictors)
    of_panels = {m for m in models.values() if m in known.names and known.get(m).abilities.panel}
    for entry in (*entries, *(entry for entry, model in models.items() if model in of_panels)):
        yield problem("relation_in_margins", entry=entry, fidelity=config.fidelity)


def history_alone(
    context: Context, name: str, base: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return model and options of a variable of a panel whose rows are drawn independently.

    ``base`` is the model of its values with its options.
    """
    roles = {**ROLES, "career": "period_margins", **context.arranged.models}
    role, options = "unchanging", dict[str, Any]()
    if name == context.career:
        role = "career"
    elif context.changing[name]:
        role, options = "changing", context.arranged.options(name, context.table)
        options |= context.arranged.alone
    model = roles[role]
    if "base" in option_types(context.registry.get(model)):
        options["base"] = dict(base)
    return model, options


def differences(context: Context, steps: Sequence[Step], notes: Sequence[str]) -> Iterator[str]:
    """Yield how datasets of margins differ from the original, in sentences for release.

    ``notes`` are those of the plan. No sentence contains a value of the data.
    """
    if not is_of_margins(context):
        return
    config, arranged, table = context.config, context.arrangement, context.table
    units = f"{arranged.unit}s" if context.is_panel else "records"
    declared = any(step.model.abilities.deterministic for step in steps)
    declared |= bool(config.rules or config.forbid or config.structural_zeros)
    yield note("drawn_alone_but_rules") if declared else note("drawn_alone")
    rare = config.rare
    if rare is not None and (n := sum(text.startswith("rare: ") for text in notes)):
        facts = {"n": rare.min_count, "units": units, "where": plural(n, "variable")}
        is_nearest = rare.to == NEAREST
        yield note("levels_joined", **facts) if is_nearest else note("levels_grouped", **facts)
    numbers = [s for s in steps if s.variable in table and not table[s.variable].is_coded]
    if held := [n for step in numbers if (n := min_holders_of(step.model))]:
        yield note("ends_guarded", n=max(held), units=units, where=plural(len(held), "variable"))
    if config.panel is not None:
        yield note("histories_alone")
    elif context.is_panel:
        yield note("members_alone", unit=arranged.unit)
    if ids := sum(c.variable.kind is Kind.ID for c in context.data.table.columns):
        yield note("ids_anew", where=plural(ids, "variable"))
    if config.drop:
        yield note("columns_dropped", where=plural(len(config.drop), "column"))
    yield note("results_meaningless")
