"""The order of the chain: kept variables first, then as told, derived ones after their inputs."""

from __future__ import annotations

from collections.abc import Mapping

from synthesizer.plan_context import Context
from synthesizer.plan_methods import Method
from synthesizer.registry import ROLES

__all__ = ["plan_order"]


def plan_order(context: Context, methods: Mapping[str, Method]) -> list[str]:
    """Return the order of the chain: kept first, then as told, derived after their inputs."""
    kept = [n for n in context.names if n in methods and methods[n].name == ROLES["keep"]]
    listed = _listed(context)
    rest = [n for n in context.names if n not in listed]
    order = [n for n in rest if n in kept] + listed + [n for n in rest if n not in kept]
    if context.frame is not None:
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
