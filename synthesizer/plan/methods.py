"""Which model draws each variable: as configured, or the default of its kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from synthesizer.data.errors import ConfigError, SynthesizerError
from synthesizer.data.expressions import Expression
from synthesizer.data.table import Kind, Variable
from synthesizer.engine.registry import DEFAULT_SET, DEFAULT_SETS, ROLES, default_method
from synthesizer.plan.context import Context


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
    _check_smoothing(context)
    by_position = _by_position(context)
    found = {name: _method(context, name, by_position) for name in context.names}
    return {name: method for name, method in found.items() if method is not None}


def _check_default(context: Context) -> None:
    default = context.config.default_method
    names = [default] if isinstance(default, str) else list(default)
    if isinstance(default, dict):
        names = list(default.values())
        context.problems += [
            f"default_method.{kind}: unknown kind; known: {', '.join(list(Kind)[:-1])}"
            for kind in default
            if kind not in list(Kind)[:-1]
        ]
    for name in names:
        if not name:
            context.problems.append(
                "default_method: '' would keep variables as they are; name them under keep"
            )
        elif name not in DEFAULT_SETS:
            _canonical(context, "default_method", name)


def _check_smoothing(context: Context) -> None:
    """Say where smoothing is asked for and does nothing, as synthpop does."""
    coded = [n for n in context.names if context.table[n].variable.is_coded]
    asked = [n for n in coded if context.own(n).options.get("smoothing", "none") != "none"]
    context.notes += [
        f"variables.{name}.options.smoothing: only numbers and dates are smoothed; {name!r} is "
        f"{context.table[name].variable.kind.value}"
        for name in asked
    ]


def _by_position(context: Context) -> dict[str, tuple[str, str]]:
    """Return place and model of every column where ``method`` is a list."""
    models, names = context.config.method, context.columns.names
    if isinstance(models, dict) or names is None:
        return {}
    if context.columns.owners:
        context.problems.append(
            "method: a list is about single columns, and those of panel.wide are drawn together; "
            "give a map from variable to model"
        )
        return {}
    if len(models) != len(names):
        context.problems.append(
            f"method: has {len(models)} models and the data have {len(names)} columns; give one "
            "for each column ('' keeps it), or a map from variable to model"
        )
        return {}
    pairs = enumerate(zip(names, models, strict=True), 1)
    found = {name: (f"method, column {i} ({name})", model) for i, (name, model) in pairs}
    for name in names:
        if name not in context.names and not found[name][1].startswith("~"):
            _canonical(context, *found[name])
    return found


def _canonical(context: Context, place: str, model: str) -> str | None:
    """Return the registered name of a model; None, and a problem, if it is unknown."""
    with context.problems.gathered(place):
        return context.registry.canonical(model)
    return None


def _method(
    context: Context, name: str, by_position: Mapping[str, tuple[str, str]]
) -> Method | None:
    own = context.own(name)
    column, listed = by_position.get(name, ("method", None))
    told = {
        "keep": ROLES["keep"] if name in context.config.keep else None,
        f"variables.{name}.method": own.method,
        f"variables.{name}.derived": None if own.derived is None else f"~{own.derived}",
        f"method.{name}": context.config.named_methods.get(name),
        column: listed,
    }
    # an empty text is synthpop's word for a variable that is kept
    given = {place: text or ROLES["keep"] for place, text in told.items() if text is not None}
    if len(set(given.values())) > 1:
        context.problems.append(f"variable {name!r}: {' and '.join(given)} disagree; keep one")
        return None
    if not given:
        return Method(default_for(context, context.table[name].variable), own.options, told=False)
    place, value = next(iter(given.items()))
    if value.startswith("~"):
        return _derived(context, name, place, value[1:].strip())
    model = _canonical(context, place, value)
    return None if model is None else Method(model, own.options, told=True)


def default_for(context: Context, variable: Variable) -> str:
    """Return the registered model that ``default_method`` gives to a variable."""
    default = context.config.default_method
    if isinstance(default, tuple):
        default = default[_place_among_four(variable)]
    elif isinstance(default, dict):
        default = default.get(variable.kind.value, DEFAULT_SET)
    if default in DEFAULT_SETS:
        return default_method(default, variable)
    try:
        return context.registry.canonical(default)
    except SynthesizerError:  # told already
        return default_method(DEFAULT_SET, variable)


def _place_among_four(variable: Variable) -> int:
    """Return 0 for numbers and dates, 1 for two codes, 2 for more codes, 3 for ordered ones."""
    if not variable.is_coded:
        return 0
    if variable.n_codes <= 2:
        return 1
    return 3 if variable.kind is Kind.ORDERED else 2


def _derived(context: Context, name: str, place: str, text: str) -> Method | None:
    with context.problems.gathered(place):
        expression = Expression.parse(text)
        if problems := _expression_problems(context, name, expression):
            raise ConfigError(problems)
        if not context.columns.any_faulty(expression.names):
            options = {"expression": text}
            return Method(ROLES["derived"], options, told=True, inputs=expression.names)
    return None


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
