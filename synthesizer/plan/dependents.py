"""Find variables that are functions of others, and pairs of an event and its time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from synthesizer.data.derivations import needed
from synthesizer.data.expressions import Expression
from synthesizer.data.relations import Relation
from synthesizer.data.table import Column, Kind, Table
from synthesizer.engine.registry import DEFAULT_SET
from synthesizer.plan.context import Context, needed_as_drawn, set_or_redrawn
from synthesizer.plan.findings import Draft, Findings, problem

_PARTIAL = re.compile(r"/|\blog|\bsqrt")
"""Operations that are not defined for all numbers."""


def dependents(
    context: Context, drawn: Mapping[str, str], needs: Mapping[str, Collection[str]]
) -> Draft[dict[str, Relation]]:
    """Return variables that are functions of others in the data, each with its relation.

    ``drawn`` maps variables without a configured model to their default model; only these are
    computed. ``needs`` maps computed variables to their inputs. Notes list all such variables. A
    rule that sets a variable with a formula, or structural zeros that name it, are problems.
    """
    findings, table, computed = Findings(), context.table, dict[str, Relation]()
    as_drawn, by_entry = dict(needed_as_drawn(context)), dict(set_or_redrawn(context))
    for relation in (r for r in context.relations if r.key in ("derived", "follows")):
        name, is_formula = relation.name, relation.key == "derived"
        used = Expression.parse(relation.text).names if is_formula else {relation.text}
        inputs = " and ".join(repr(other) for other in sorted(used))
        groups = is_formula and "cut(" in relation.text
        is_what = f"contains groups of {inputs}" if groups else f"follows from {inputs}"
        settings, others = context.settings_of(name), ", ".join(sorted(used))
        is_circle = name in needs or name in needed(used, needs)
        if is_circle or (name not in drawn and name in context.config.keep):
            continue
        is_chosen = name not in drawn or settings.options
        why = "as its method or options require" if is_chosen else as_drawn.get(name)
        if not why and _moves(context, name, used):
            why = "because it comes before them in the order"
        if why:
            findings.note(
                "follows_and_is_drawn",
                name=name,
                is_what=is_what,
                why=why,
                inputs=inputs,
                text=f"{relation.key}: {relation.text}",
            )
        elif is_formula and not _is_defined(context, table, name, Expression.parse(relation.text)):
            findings.note("follows_but_undefined", name=name, is_what=is_what)
        elif entry := by_entry.get(name):
            if is_formula and not relation.whole:
                findings.problem(
                    "rule_on_derived", name=name, entry=entry, is_what=is_what, others=others
                )
        elif is_formula or _is_beside(context, name, relation.text):
            computed[name] = relation
            findings.note("follows_and_is_computed", name=name, is_what=is_what)
    return findings.of(computed)


def _is_beside(context: Context, name: str, code: str) -> bool:
    """Whether a variable and its code are both drawn for persons, or both for periods."""
    return (context.changing.get(name, 0) > 0) == (context.changing.get(code, 0) > 0)


def _moves(context: Context, name: str, used: Collection[str]) -> bool:
    """Whether the configured order or predictors need the variable before its inputs."""
    order = [context.listed(entry) for entry in context.config.visit_sequence or ()]
    if name in order:
        return not set(used) <= set(order[: order.index(name)])
    later = max(map(context.names.index, used)) > context.names.index(name)
    options = (one.options for one in context.config.variables.values())
    return later and (
        any(name in (context.wanted(other) or ()) for other in context.names)
        or name in {*_texts(options)}
    )


def _texts(options: Any) -> Iterator[str]:
    """Yield all texts of nested options, which may be names of predictors."""
    if isinstance(options, str):
        yield options
    elif isinstance(options, Mapping):
        yield from _texts(options.values())
    elif isinstance(options, Iterable):
        for each in options:
            yield from _texts(each)


def _is_defined(context: Context, table: Table, name: str, expression: Expression) -> bool:
    """Whether the expression has a value for all possible inputs."""
    if table[name].variable.missing or not _PARTIAL.search(expression.text):
        return True
    if context.config.default_method != DEFAULT_SET:
        return False  # other models may draw numbers outside the range of the data
    ranges = [
        table[other].data[table[other].is_observed]
        for other in expression.names
        if not table[other].is_coded
    ]
    return all(values.min() > 0 for values in ranges) or "/" not in expression.text


EVENT_WORDS = {
    "cens", "censor", "censored", "dead", "death", "deceased", "died", "event", "failed", "fstat",
    "relapse", "relapsed",
}  # fmt: skip
STATUS_LEVELS = ({"0", "1"}, {"1", "2"}, {"alive", "dead"}, {"false", "true"})
"""Levels of a variable named ``status`` that is an event."""
TIME_WORDS = {
    "days", "duration", "followup", "futime", "lenfol", "months", "os", "pfs", "rfs", "stime",
    "survival", "survtime", "time", "tte", "weeks",
}  # fmt: skip
MIN_TIMES = 20
"""Different values of a number that may be a time."""


def suggest_pair(table: Table) -> tuple[str, str] | None:
    """Return event and time of a table, if name and kind identify exactly one of each.

    Examples
    --------
    >>> import numpy as np
    >>> from synthesizer.data.table import Variable
    >>> death = Variable(name="death", kind=Kind.CATEGORICAL, levels=("no", "yes"))
    >>> time = Column(Variable(name="fu.time", kind=Kind.NUMERIC), np.arange(40.0))
    >>> suggest_pair(Table([time, Column(death, np.arange(40, dtype=np.int32) % 2)]))
    ('death', 'fu.time')
    """
    events = [column.name for column in table.columns if _is_event(column)]
    times = [column.name for column in table.columns if _is_time(column)]
    return (events[0], times[0]) if len(events) == len(times) == 1 else None


def _words(name: str) -> set[str]:
    return set(re.split(r"[\W_]+", name.lower()))


def _is_event(column: Column) -> bool:
    levels = column.variable.levels
    if not column.is_coded or len(levels) != 2:
        return False
    words = _words(column.name)
    is_status = "status" in words and {level.lower() for level in levels} in STATUS_LEVELS
    return is_status or bool(words & EVENT_WORDS)


def _is_time(column: Column) -> bool:
    if column.variable.kind is not Kind.NUMERIC or not _words(column.name) & TIME_WORDS:
        return False
    values = column.data[column.is_observed]
    return len(set(values.tolist())) >= MIN_TIMES and bool((values >= 0).all())


def survival_findings(context: Context) -> Draft[None]:
    """Return problems of ``survival``, and a note on a pair that is not configured."""
    pairs, findings = context.config.survival, Findings()
    if context.is_panel:
        return Draft(None, (problem("survival_in_panel"),) if pairs else ())
    pair = suggest_pair(context.table.select(context.names))
    if pair is not None and "survival" not in context.config.model_fields_set:
        findings.note("looks_like_survival", event=pair[0], time=pair[1])
    counts = Counter(name for pair in pairs for name in (pair.event, pair.time))
    for name, count in counts.items():
        if count > 1:
            findings.problem("survival_twice", name=name)
        if context.takes_no_part(name):
            findings.problem("takes_no_part", name=name, entry="survival")
    for one in pairs:
        findings.problems += _kind_problems(context, one.event, one.time)
    return findings.of(None)


def _kind_problems(context: Context, event: str, time: str) -> Iterator[str]:
    if event in context.names and not context.table[event].is_coded:
        yield problem(
            "event_without_levels", name=event, kind=context.table[event].variable.kind.value
        )
    if time in context.names and context.table[time].variable.kind is not Kind.NUMERIC:
        yield problem("time_not_numeric", name=time, kind=context.table[time].variable.kind.value)


def pairs_last(context: Context, names: Sequence[str]) -> list[str]:
    """Return the names with pairs at the end, each event before its time."""
    last = [
        name
        for pair in context.config.survival
        if pair.event in names and pair.time in names
        for name in (pair.event, pair.time)
    ]
    return [*(name for name in names if name not in last), *last]
