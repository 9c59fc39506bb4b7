"""Plan the changes to datasets under ``after``, and their ``conditions``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from synthesizer.config.keys import NUMBER_STEPS, AfterConfig, BlankRareConfig, Config
from synthesizer.data.after import NO_CURE, After, blank_code
from synthesizer.data.errors import listed
from synthesizer.data.expressions import Expression
from synthesizer.data.panel.arrangement import FEW_PERSONS, NO_RELEASE, RARE_PERIOD
from synthesizer.data.table import Kind, Table, Variable
from synthesizer.data.values import rounded
from synthesizer.engine.chain import ChainSpec
from synthesizer.engine.condition_tables import Drawable, read_conditions
from synthesizer.engine.conditions import Conditions
from synthesizer.plan.context import Context
from synthesizer.plan.extended import Planned
from synthesizer.plan.findings import Draft, Findings, note, problem


def plan_after(context: Context, after: AfterConfig | None, *, keeps: bool) -> Draft[After]:
    """Return the changes by column of the files."""
    if after is None:
        return Draft(After())
    findings = Findings()
    for key in NUMBER_STEPS:
        findings.problems += _number_problems(context, f"after.{key}", getattr(after, key))
    findings.problems += _order_problems(after)
    rare = after.blank_rare
    if rare is not None:
        findings.problems += _level_problems(context, rare.variables)
    findings.problems += _label_problems(context, after.label)
    findings.problems += _uniques_problems(context, after, keeps=keeps)
    findings.notes += _notes(context, after)
    person = context.arrangement.person_column
    made = After(
        round=_by_column(context, after.round),
        bottom=_by_column(context, after.bottom_code),
        top=_by_column(context, after.top_code),
        blank=() if rare is None else _columns(context, rare.variables),
        min_count=0 if rare is None else rare.min_count,
        person=None if context.has_groups else person,
        drop_uniques=after.uniques == "drop",
        label=after.label,
    )
    return findings.of(made)


def plan_conditions(
    context: Context, chain: ChainSpec, after: After, extended: Mapping[str, Planned]
) -> Draft[Conditions | None]:
    """Return the conditions of every dataset, with a note on those of few persons."""
    options = context.config.conditions if isinstance(context.config, Config) else None
    if options is None:
        return Draft(None)
    findings = Findings()
    findings.problems += (
        problem("conditions_beside", key=key) for key, one in extended.items() if one.draws
    )
    drawable, request = Drawable.of_spec(chain, context.completed.schema), dict(options)
    made = findings.problems.attempt(read_conditions, drawable, *request.values(), after)
    if made is not None:
        findings.notes += rare_conditions(made, context.completed, context.arrangement.unit)
    return findings.of(made)


def rare_conditions(conditions: Conditions, data: Table | None, unit: str) -> Iterator[str]:
    """Yield a note on conditions that few units of the data satisfy, or on unknown data."""
    if data is None:
        yield note("uncounted_conditions", units=f"{unit}s")
        return
    none, few, rare, frequent = held_by(conditions, data)
    if total := none + few + rare:
        facts = {"none": none, "few": few, "rare": rare, "units": f"{unit}s"}
        yield note("rare_conditions", total=total, of=total + frequent, **facts, end=NO_RELEASE)


def held_by(conditions: Conditions, data: Table) -> tuple[int, ...]:
    """Return how many conditions 0, 1 to 4, 5 to 19, and more units of the data satisfy."""
    bands = np.searchsorted([1, RARE_PERIOD, FEW_PERSONS], conditions.persons(data), side="right")
    return tuple(map(int, np.bincount(bands, minlength=4)))


def _columns(context: Context, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(c for name in names for c in context.arrangement.columns_of(name))


def _by_column(context: Context, values: Mapping[str, float]) -> dict[str, float]:
    return {c: value for name, value in values.items() for c in _columns(context, [name])}


def _changed(context: Context, name: str) -> Variable | None:
    """Return a variable that can be changed; None for others and for faulty columns."""
    return context.table[name].variable if name in context.names else None


def _number_problems(context: Context, entry: str, values: Mapping[str, float]) -> Iterator[str]:
    """Yield problems of variables that are no numbers, and of values with too many decimals."""
    for name, value in values.items():
        yield from context.unusable(entry, name)
        variable = _changed(context, name)
        if variable is None:
            continue
        if variable.kind is not Kind.NUMERIC:
            yield problem("after_needs_number", name=name, entry=entry, kind=variable.kind.value)
        elif (
            variable.decimals is not None
            and float(rounded(np.array(value), variable.decimals)) != value
        ):
            yield problem(
                "after_decimals", name=name, entry=entry, value=value, decimals=variable.decimals
            )


def _order_problems(after: AfterConfig) -> Iterator[str]:
    for name, low in after.bottom_code.items():
        high = after.top_code.get(name)
        if high is not None and low >= high:
            yield problem("after_bounds_crossed", name=name, low=low, high=high)


def _level_problems(context: Context, names: Iterable[str]) -> Iterator[str]:
    """Yield problems of variables without levels, and of panel variables that must not be blank."""
    entry = "after.blank_rare"
    panel = context.config.panel
    for name in names:
        yield from context.unusable(entry, name)
        variable = _changed(context, name)
        if variable is None:
            continue
        if not variable.is_coded:
            yield problem("after_needs_levels", name=name, entry=entry, kind=variable.kind.value)
        elif name == context.frame.career or (
            panel is not None and (blank_code(variable) or "") in panel.absent
        ):
            yield problem("after_blanks_presence", name=name, entry=entry)


def _label_problems(context: Context, label: Mapping[str, str]) -> Iterator[str]:
    for name in label:
        if name in (context.columns.names or ()):
            yield problem("after_label_taken", name=name)


def _uniques_problems(context: Context, after: AfterConfig, *, keeps: bool) -> Iterator[str]:
    if after.uniques is None:
        return
    if keeps:
        yield problem("after_uniques_kept")
    if context.has_groups:
        yield problem("after_uniques_group", unit=context.arrangement.unit)


def _notes(context: Context, after: AfterConfig) -> Iterator[str]:
    """Yield notes on the changes."""
    if after.uniques is not None:
        yield f"after.uniques: {NO_CURE}"
    if after.blank_rare is not None:
        yield from _emptied(context, after.blank_rare)
    changed = {*after.round, *after.bottom_code, *after.top_code}
    variables = context.config.variables.items()
    methods = {name: f"~{one.derived}" if one.derived else one.method for name, one in variables}
    noted = set[str]()
    for step, method in {**methods, **context.config.named_methods}.items():
        text = method[1:].strip() if method and method.startswith("~") else ""
        names = Expression.parse(text).names if text else ()
        if step not in changed and (inputs := sorted(changed.intersection(names))):
            noted.add(step)
            yield note("computed_before_steps", step=step, inputs=", ".join(inputs))
    changed |= {*(() if after.blank_rare is None else after.blank_rare.variables)}
    relations = (r for r in context.relations if r.name not in noted)
    broken = [r.sentence for r in relations if not changed.isdisjoint(r.names)]
    if broken:
        yield note("relations_before_steps", broken=listed([*dict.fromkeys(broken)], 5, "; "))


def _emptied(context: Context, rare: BlankRareConfig) -> Iterator[str]:
    """Yield notes on variables whose column will be empty."""
    for name in rare.variables:
        column = context.table.get(name)
        if column is None or not column.is_coded:
            continue
        rows = np.bincount(column.data[column.is_observed], minlength=1)
        if rows.max() < rare.min_count:
            yield note("column_will_be_empty", name=name, min_count=rare.min_count)
