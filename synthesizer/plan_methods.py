"""Which model draws each variable: as configured, or the default of its kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from synthesizer.data.expressions import Expression
from synthesizer.data.schema import Kind, Variable
from synthesizer.errors import SynthesizerError
from synthesizer.plan_context import Context
from synthesizer.registry import DEFAULT_SETS, ROLES, default_method

__all__ = ["Method", "plan_methods"]


@dataclass(frozen=True)
class Method:
    """The model asked for one variable, before it is built.

    ``told`` says whether the configuration named it; ``inputs`` are the variables of a derived one.
    """

    name: str
    options: Mapping[str, object]
    told: bool
    inputs: frozenset[str] | None = None


def plan_methods(context: Context) -> dict[str, Method]:
    """Return the model asked for every variable."""
    _check_default(context)
    found = {name: _method(context, name) for name in context.names}
    return {name: method for name, method in found.items() if method is not None}


def _check_default(context: Context) -> None:
    default = context.config.default_method
    names = [default] if isinstance(default, str) else list(default.values())
    if not isinstance(default, str):
        context.problems += [
            f"default_method.{kind}: unknown kind; known: {', '.join(list(Kind)[:-1])}"
            for kind in default
            if kind not in list(Kind)[:-1]
        ]
    for name in names:
        if name not in DEFAULT_SETS:
            try:
                context.registry.canonical(name)
            except SynthesizerError as error:
                context.tell("default_method", error.problems)


def _method(context: Context, name: str) -> Method | None:
    own = context.own(name)
    told = {
        "keep": ROLES["keep"] if name in context.config.keep else None,
        f"variables.{name}.method": own.method,
        f"variables.{name}.derived": None if own.derived is None else f"~{own.derived}",
        f"method.{name}": context.config.method.get(name),
    }
    given = {place: value for place, value in told.items() if value is not None}
    if len(set(given.values())) > 1:
        context.problems.append(f"variable {name!r}: {' and '.join(given)} disagree; keep one")
        return None
    if not given:
        return Method(_default_for(context, context.table[name].variable), own.options, told=False)
    place, value = next(iter(given.items()))
    if value.startswith("~"):
        return _derived(context, name, place, value[1:].strip())
    try:
        return Method(context.registry.canonical(value), own.options, told=True)
    except SynthesizerError as error:
        context.tell(place, error.problems)
        return None


def _default_for(context: Context, variable: Variable) -> str:
    default = context.config.default_method
    if not isinstance(default, str):
        default = default.get(variable.kind.value, "cart")
    if default in DEFAULT_SETS:
        return default_method(default, variable)
    try:
        return context.registry.canonical(default)
    except SynthesizerError:  # told already
        return default_method("cart", variable)


def _derived(context: Context, name: str, place: str, text: str) -> Method | None:
    try:
        expression = Expression.parse(text)
    except SynthesizerError as error:
        context.tell(place, error.problems)
        return None
    found = [f"{place}: {p}" for p in _expression_problems(context, name, expression)]
    context.problems += found
    if found or context.columns.any_faulty(expression.names):
        return None
    options = {"expression": text}
    return Method(ROLES["derived"], options, told=True, inputs=expression.names)


def _expression_problems(context: Context, name: str, expression: Expression) -> list[str]:
    outside = [other for other in sorted(expression.names) if other not in context.names]
    if outside:
        return [p for other in outside for p in _outside(context, other)]
    variable = context.table[name].variable
    return expression.problems(context.table.schema, condition=False, target=variable)


def _outside(context: Context, name: str) -> list[str]:
    """Say why an expression cannot use a variable that takes no part in the synthesis."""
    if context.takes_no_part(name):
        return [f"{name!r} is an id or dropped and cannot be used; declare another kind"]
    return context.columns.unknown("expression", name)
