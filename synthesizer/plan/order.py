"""The order of the chain: kept variables first, then as told, derived ones after their inputs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from synthesizer.engine.registry import ROLES
from synthesizer.models.step import Step
from synthesizer.plan.context import Context
from synthesizer.plan.methods import Method


def plan_order(context: Context, methods: Mapping[str, Method]) -> list[str]:
    """Return the order of the chain: kept first, then as told, derived after their inputs."""
    kept = [n for n in context.names if n in methods and methods[n].name == ROLES["keep"]]
    listed = _listed(context)
    rest = [n for n in context.names if n not in listed]
    order = [n for n in rest if n in kept] + listed + [n for n in rest if n not in kept]
    if context.is_panel:
        order = _panel_order(context, listed, rest)
    if listed and rest:
        context.notes.append(
            f"visit_sequence leaves out {len(rest)} variables; kept ones come first, "
            f"the others last, in file order: {', '.join(rest)}"
        )
    inputs = {n: set(methods[n].inputs or ()) for n in order if n in methods and methods[n].inputs}
    return _after_inputs(context, order, inputs, set(listed))


def _panel_order(context: Context, listed: list[str], rest: list[str]) -> list[str]:
    """Return the careers first unless told otherwise, then what nobody changes, then the others."""
    career = str(context.career)
    head = [] if career in listed else [career]
    rest = [name for name in rest if name != career]
    constant = [name for name in rest if context.changing[name] == 0]
    return [*head, *listed, *constant, *(name for name in rest if name not in constant)]


def _listed(context: Context) -> list[str]:
    listed: list[str] = []
    for entry in context.config.visit_sequence or ():
        name = _entry(context, entry)
        if name in listed:
            context.problems.append(f"visit_sequence: variable {name!r} is there twice")
        elif name in context.names:
            listed.append(name)
        elif context.takes_no_part(name):
            context.notes.append(f"visit_sequence: {name!r} is an id or dropped, and left out")
        else:
            context.problems += context.columns.unknown("visit_sequence", name)
    return listed


def _entry(context: Context, entry: str) -> str:
    """Return the variable at a place of visit_sequence: a name, or a position from 1."""
    names = context.columns.names or ()
    if entry not in names and entry.isdecimal() and 1 <= int(entry) <= len(names):
        return names[int(entry) - 1]
    return entry


def _after_inputs(
    context: Context, order: list[str], inputs: Mapping[str, set[str]], listed: set[str]
) -> list[str]:
    """Move derived variables behind their inputs where nobody told their place."""
    placed: list[str] = []
    waiting = list(order)
    while waiting:
        ready = next((n for n in waiting if inputs.get(n, set()) <= set(placed)), None)
        if ready is None:
            context.problems.append(
                f"derived variables {', '.join(waiting[:5])} depend on each other in a circle; "
                "model one of them instead"
            )
            return order
        if ready != waiting[0] and waiting[0] in listed and ready in listed:
            late = sorted(inputs[waiting[0]] - set(placed))
            context.problems.append(
                f"visit_sequence: derived variable {waiting[0]!r} comes before its inputs "
                f"{', '.join(late)}; move it behind them"
            )
            return order
        placed.append(ready)
        waiting.remove(ready)
    return placed


@dataclass(frozen=True, kw_only=True)
class Places:
    """What the chain knows at its end, in order, and what may not be touched."""

    order: tuple[str, ...]
    """Variables and what follows from them."""
    fixed: frozenset[str]
    """What is kept or derived, the careers, and what follows from them."""
    career: str | None = None
    """What the careers of a panel draw."""
    following: frozenset[str] = frozenset()
    """Time and attributes of the careers."""
    single: frozenset[str] = frozenset()
    """Variables of a panel that are drawn as one value a person."""
    personal: frozenset[str] = frozenset()
    """These, and all that follows from them or is one value a person anyway."""
    rare: frozenset[str] = frozenset()
    """Variables of a panel of which first is drawn whether a person changes them."""

    @classmethod
    def of(cls, context: Context, order: Sequence[str], steps: Sequence[Step]) -> Self:
        """Return the places of a planned chain."""
        known = tuple(context.earlier(order, len(order)))
        fixed = frozenset(step.variable for step in steps if step.is_fixed)
        frame = context.frame
        personal = set(frame.personal)
        for step in steps:
            abilities = step.model.abilities
            follows = abilities.deterministic and personal.issuperset(step.predictors)
            if abilities.person or follows:
                personal.add(step.variable)
        return cls(
            order=known,
            fixed=fixed | set(frame.derived),
            career=context.career,
            following=frozenset(frame.derived),
            single=frozenset(s.variable for s in steps if s.model.abilities.person),
            personal=frozenset(personal),
            rare=frozenset(s.variable for s in steps if s.method == ROLES["rare"]),
        )

    def setting_problem(self, name: str, used: Collection[str]) -> str | None:
        """Say why no rule can set a variable; ``used`` are the variables of its condition."""
        if name not in self.order:
            return f"{name!r} is no variable of the synthesis; name one that is"
        if name == self.career:
            return (
                f"variable {name!r} is the career, which is drawn as a whole and cannot be set; "
                "say under panel.rules what it never does (never, absorbing)"
            )
        if name in self.following:
            return f"{name!r} follows from the careers and cannot be set; remove the rule"
        if name in self.fixed:
            return f"variable {name!r} is kept or derived and cannot be set; remove the rule"
        late = sorted(set(used) - set(self.order[: self.order.index(name)]))
        if late:
            return (
                f"its condition uses {', '.join(late)}, which must come before {name!r} in "
                "the order; change visit_sequence"
            )
        changing = sorted(set(used) - self.personal)
        if name in self.single and changing:
            return (
                f"{name!r} is one value a person, and the condition uses {', '.join(changing)}, "
                "which changes from period to period, so that a person would get several values; "
                f"use what is the same in all periods, or give {name!r} another model"
            )
        return None

    def redrawing_problem(self, names: Collection[str]) -> str | None:
        """Say why no value of the last of some variables can be redrawn."""
        ordered = sorted(names, key=self.order.index)
        last = ordered[-1]
        if last not in self.fixed:
            return None
        free = [name for name in ordered if name not in self.fixed]
        if last != self.career and last not in self.following:
            return (
                f"its last variable in the order, {last!r}, is kept or derived and cannot be "
                "redrawn; write the condition with variables that are drawn"
            )
        if free:
            return (
                f"its last variable in the order, {last!r}, belongs to the careers and cannot be "
                f"redrawn; put {free[-1]!r} after {self.career!r} in visit_sequence"
            )
        if self.career not in ordered:
            rules = "; take it out"
        else:
            rules = (
                "; say under panel.rules what the career never does (never, absorbing), or take "
                "it out"
            )
        return (
            f"uses only the career and what follows from it ({', '.join(ordered)}), which is drawn "
            f"as a whole and cannot be redrawn, whatever the order{rules}"
        )
