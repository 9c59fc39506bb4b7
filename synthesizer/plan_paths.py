"""Rules from period to period: checked against the variables, and counted on the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from synthesizer.config_panel import PathRuleConfig
from synthesizer.data.schema import Kind, Variable
from synthesizer.data.table import BoolArray
from synthesizer.histories.base import panel_of
from synthesizer.panel.paths import PathRule, broken_steps
from synthesizer.plan_context import Context
from synthesizer.plan_rules import REMEDY
from synthesizer.rules import Rule

__all__ = ["overridden", "plan_paths"]


def plan_paths(context: Context) -> None:
    """Set the rules from period to period; tell problems, and how often the data break them."""
    panel = context.config.panel
    if panel is None or context.frame is None:
        return
    rules: dict[PathRule, str] = {}
    for number, given in enumerate(panel.rules, 1):
        place = f"panel.rules.{number}"
        problems = list(_problems(context, place, given))
        context.problems += problems
        if not problems:
            compiled = _compiled(context.table[given.variable].variable, given)
            rules |= dict.fromkeys(compiled, place)
    context.paths = tuple(rules)
    _count(context, rules)


def overridden(paths: Sequence[PathRule], rules: Sequence[Rule]) -> Iterator[str]:
    """Say which rules across time could be broken by values that rules set in single rows."""
    for name in dict.fromkeys(rule.variable for rule in rules):
        for path in paths:
            if path.variable == name:
                yield (
                    f"panel.rules: {path.text!r} could be broken by values of {name!r} that "
                    "'rules' set in single periods; take out one of the two"
                )


def _problems(context: Context, place: str, given: PathRuleConfig) -> Iterator[str]:
    name = given.variable
    panel, frame = context.config.panel, context.frame
    if panel is not None and name == panel.person:
        yield f"{place}: {name!r} tells persons apart and has no states; name another variable"
        return
    if frame is not None and name == frame.time:
        yield f"{place}: {name!r} is time, which always rises; take the rule out"
        return
    if name not in context.table or context.takes_no_part(name):
        yield from context.columns.unknown(place, name) or [
            f"{place}: {name!r} is an id or dropped and takes no part in the synthesis; name "
            "another variable"
        ]
        return
    variable = context.table[name].variable
    is_career = name == context.career
    if given.non_decreasing and (variable.kind in (Kind.CATEGORICAL, Kind.BOOLEAN) or is_career):
        yield (
            f"{place}: {name!r} has no order that could rise; declare variables.{name}.kind: "
            "ordered with its levels, or use never"
        )
    labels = [*given.absorbing, *(label for pair in given.never for label in pair)]
    if labels and not variable.is_coded:
        yield f"{place}: {name!r} is a number; absorbing and never need states"
        return
    unknown = sorted({label for label in labels if label not in variable.labels})
    if unknown:
        yield (
            f"{place}: variable {name!r} has no state {', '.join(map(repr, unknown))}; write "
            "them as they stand in the data"
        )
    for same in dict.fromkeys(one for one, other in given.never if one == other):
        yield (
            f"{place}: never forbids staying in {same!r}, which would be a rule about how long "
            "states last; take the pair out"
        )


def _compiled(variable: Variable, given: PathRuleConfig) -> Iterator[PathRule]:
    name = variable.name
    if given.absorbing or given.never:
        yield PathRule(variable=name, allowed=_matrix(variable, given), text=_text(given))
    if given.non_decreasing:
        yield PathRule(variable=name, non_decreasing=True, text=f"{name} never falls")


def _matrix(variable: Variable, given: PathRuleConfig) -> BoolArray:
    allowed = np.ones((variable.n_codes, variable.n_codes), dtype=bool)
    for label in given.absorbing:
        code = variable.labels.index(label)
        allowed[code] = False
        allowed[code, code] = True
    for one, other in given.never:
        allowed[variable.labels.index(one), variable.labels.index(other)] = False
    return allowed


def _text(given: PathRuleConfig) -> str:
    parts = [f"{given.variable} never leaves {label!r}" for label in given.absorbing]
    parts += [f"{given.variable} never goes from {a!r} to {b!r}" for a, b in given.never]
    return " and ".join(parts)


def _count(context: Context, places: Mapping[PathRule, str]) -> None:
    """Count on the confidential data what breaks each rule, before anything is fitted."""
    policy = context.config.on_violation
    if policy == "ignore":
        return
    panel = panel_of(context.table)
    told, remedy = (context.notes, "") if policy == "warn" else (context.problems, f"; {REMEDY}")
    for rule, place in places.items():
        broken = broken_steps(panel.index, panel[rule.variable], [rule])
        if broken.any():
            persons = len(np.unique(panel.index.person[broken]))
            told.append(
                f"{place} '{rule.text}': {int(broken.sum())} confidential rows of "
                f"{persons} persons break it; no synthetic row will{remedy}"
            )
