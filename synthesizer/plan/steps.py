"""The steps of the chain: each variable's model with its options, and its predictors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from synthesizer.data.errors import ConfigError, ModelError
from synthesizer.data.panel.paths import OWN
from synthesizer.data.table import Kind, Variable
from synthesizer.engine.registry import DEFAULT_SET, DEFAULT_SETS, ROLES, default_method, described
from synthesizer.models.base import ConditionalModel
from synthesizer.models.histories.history import HistoryModel
from synthesizer.models.step import Step, state_variable
from synthesizer.plan.context import Context
from synthesizer.plan.methods import Method, default_for

FEW = 0.5
"""Up to this share of persons who ever change, it is drawn first whether a person changes."""

MOST_TOLD = 5
"""Names of predictors that a message lists."""

KindProblems = Callable[[Variable, str, ConditionalModel], list[str]]


def panel_method(context: Context, name: str, method: Method) -> Method:
    """Return the model of histories for a variable: as told, or one around the model told.

    The career variable gets the careers. A conditional model told for another variable becomes the
    base of the history that fits the data: one value where nobody changes, `mostly_constant` where
    few do, `lag_one` otherwise.
    """
    if name == context.career:
        return method if method.told else Method(ROLES["career"], method.options, told=False)
    abilities = context.registry.get(method.name).abilities
    if abilities.copies_rows or abilities.deterministic:
        return method
    if abilities.panel:
        if "base" not in described(context.registry.get(method.name)).types:
            return method
        return Method(method.name, _with_base(context, name, method.options), told=method.told)
    share = context.changing[name]
    role = "unchanging" if share == 0 else "rare" if share <= FEW else "changing"
    base = {"model": method.name, **context.options.get(method.name, {}), **method.options}
    return Method(ROLES[role], {"base": base}, told=method.told)


def _with_base(context: Context, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Complete the base model of a history: the default one where none is told; its options."""
    base = options.get("base", default_for(context, context.table[name].variable))
    if isinstance(base, str):
        base = {"model": base}
    if isinstance(base, Mapping):
        usual = context.options.get(str(base.get("model")), {})
        base = {**usual, **base}
    return {**options, "base": base}


def with_own_past(
    context: Context, name: str, model: HistoryModel, predictors: Sequence[str]
) -> HistoryModel:
    """Leave out what a steward does not want of the predictors that a history adds.

    Where ``predictors`` names some of them, the others are left out; ``exclude`` leaves out those
    that it names.
    """
    own = model.own_predictors(predictors)
    wanted = [other for other in context.wanted(name) or () if other.startswith(OWN)]
    excluded = [other for other in context.own(name).exclude if other.startswith(OWN)]
    context.problems += [
        f"variable {name!r}: {other!r} is no predictor that its model adds; "
        + (f"it adds {', '.join(own[:MOST_TOLD])}" if own else "take it out")
        for other in dict.fromkeys([*wanted, *excluded])
        if other not in own
    ]
    left_out = [o for o in own if o in excluded or (wanted and o not in wanted)]
    return model.leaving_out(left_out) if left_out else model


def base_problems(
    variable: Variable, model: ConditionalModel, kind_problems: KindProblems
) -> list[str]:
    """Say where the base model of a history cannot draw a variable."""
    base = getattr(model, "base", None)
    if not isinstance(base, ConditionalModel):
        return []
    if base.abilities.panel:
        return [
            f"variable {variable.name!r}: a model of histories cannot be the base of another one; "
            "name a conditional model such as 'cart'"
        ]
    return kind_problems(
        variable.observed() if not variable.is_coded else variable,
        type(base).__name__.lower(),
        base,
    )


def panel_problems(
    context: Context, order: list[str], steps: Mapping[str, ConditionalModel]
) -> None:
    """Tell what a panel does not allow: careers twice, and the wrong things before them."""
    career = context.career
    if career is None:
        return
    place = order.index(career) if career in order else 0
    for position, name in enumerate(order):
        model = steps.get(name)
        if model is None:
            continue
        abilities = model.abilities
        own = [rule for rule in context.paths if rule.variable == name]
        if isinstance(model, HistoryModel):
            context.problems += model.rule_problems(name, own)
        elif own:
            context.problems.append(
                f"variable {name!r}: it follows from other variables and cannot keep the rule "
                f"{own[0].text!r} of panel.rules; take the rule out"
            )
        if abilities.copies_rows:
            context.problems.append(
                f"variable {name!r}: variables of a panel cannot be kept as they are in this "
                "version; drop it, or model it"
            )
        if abilities.career != (name == career):
            context.problems.append(
                f"variable {name!r}: the careers are drawn once, for panel.career "
                f"({career!r}); "
                + ("give it the model 'career'" if name == career else "use another model")
            )
        if position < place and not abilities.person:
            context.problems.append(
                f"variable {name!r}: comes before the careers ({career!r}) in the order, where "
                "there is one value a person; use 'time_invariant', or put it later"
            )


def plan_steps(context: Context, order: list[str], methods: Mapping[str, Method]) -> list[Step]:
    """Build the step of every variable."""
    context.options = _model_options(context)
    steps = []
    first = True
    for position, name in enumerate(order):
        method = methods.get(name)
        if method is None:
            first = False
            continue
        if context.is_panel:
            method = panel_method(context, name, method)
        elif first and not method.told:
            method = Method(ROLES["first"], {}, told=False)
        first = False
        step = _step(context, name, method, context.earlier(order, position))
        if step is not None:
            steps.append(step)
    return steps


def _step(context: Context, name: str, method: Method, earlier: list[str]) -> Step | None:
    options = {**context.options.get(method.name, {}), **method.options}
    try:
        model = context.registry.build(method.name, options)
    except (ConfigError, ModelError) as error:
        # the planner tells what is wrong with options under ``models`` once, for all variables
        listed = context.options.get(method.name)
        told = listed is not None and set(options) <= set(listed)
        if isinstance(error, ModelError) or not told:
            context.problems.at(f"variable {name!r}", error.problems)
        return None
    variable = context.table[name].variable
    context.problems += _kind_problems(variable, method.name, model)
    if context.is_panel:
        context.problems += base_problems(variable, model, _kind_problems)
    if method.inputs is not None:
        predictors: tuple[str, ...] = tuple(n for n in earlier if n in method.inputs)
    else:
        predictors = _predictors(context, name, model, earlier)
    if isinstance(model, HistoryModel):
        model = with_own_past(context, name, model, predictors)
    context.problems += _absent_problems(name, model, predictors)
    cautions = dict.fromkeys(own.caution for own in model.with_bases() if own.caution)
    context.notes += [f"variable {name!r}: {caution}" for caution in cautions]
    missing_method, missing_model = _missing_model(context, variable, method.name, model)
    return Step(
        variable=name,
        method=method.name,
        model=model,
        predictors=predictors,
        missing_method=missing_method,
        missing_model=missing_model,
        paths=tuple(path for path in context.paths if path.variable == name),
    )


def _absent_problems(name: str, model: ConditionalModel, predictors: tuple[str, ...]) -> list[str]:
    """Say which predictors the options of a model name, or of its base model, that it has not.

    Those that a history adds (``own.``) are not known before the fit.
    """
    named = [need for own in model.with_bases() for need in own.needs]
    absent = [n for n in dict.fromkeys(named) if n not in predictors and not n.startswith(OWN)]
    if not absent:
        return []
    return [
        f"variable {name!r}: its options name {', '.join(absent)}, which must be predictors; put "
        f"them before {name!r} in the order, or mend their names"
    ]


def _predictors(
    context: Context, name: str, model: ConditionalModel, earlier: list[str]
) -> tuple[str, ...]:
    own, wanted = context.own(name), context.wanted(name)
    for other in wanted or ():
        if other == name:
            context.problems.append(f"variable {name!r}: cannot be its own predictor")
        elif other in earlier:
            continue
        elif other in context.names:
            context.problems.append(
                f"variable {name!r}: predictor {other!r} comes later in the order; "
                f"put it before {name!r} in visit_sequence or take it out"
            )
        elif other in context.frame.derived:
            context.problems.append(
                f"variable {name!r}: predictor {other!r} follows from the careers, which come "
                f"later in the order; put {name!r} after {context.career!r} or take it out"
            )
        elif context.takes_no_part(other):
            context.problems.append(
                f"variable {name!r}: predictor {other!r} is an id or dropped; take it out"
            )
    if not model.abilities.uses_predictors:
        return ()
    return tuple(n for n in earlier if (wanted is None or n in wanted) and n not in own.exclude)


def _missing_model(
    context: Context, variable: Variable, method: str, model: ConditionalModel
) -> tuple[str, ConditionalModel] | tuple[None, None]:
    """Return the model that draws the missing codes of a number, if not ``model`` itself."""
    abilities = model.abilities
    whole = abilities.copies_rows or abilities.deterministic or abilities.panel
    if variable.is_coded or not variable.missing or whole:
        return None, None
    states = state_variable(variable)
    own = context.own(variable.name)
    able = Kind.CATEGORICAL in abilities.kinds and not _too_many(states, model)
    default = context.config.default_method
    if isinstance(default, tuple):
        usual = default_for(context, states)
    else:
        known = isinstance(default, str) and default in DEFAULT_SETS
        usual = default_method(str(default) if known else DEFAULT_SET, states)
    name = own.missing_method or (method if able else usual)
    with context.problems.gathered(f"variables.{variable.name}.missing_method"):
        name = context.registry.canonical(name)
        chosen = context.registry.build(name, context.options.get(name, {}))
        if own.missing_method is not None or not able:
            context.problems += _kind_problems(states, name, chosen)
            return name, chosen
    return None, None


def _too_many(variable: Variable, model: ConditionalModel) -> bool:
    limit = model.abilities.max_levels
    return limit is not None and variable.n_codes > limit


def _kind_problems(variable: Variable, name: str, model: ConditionalModel) -> list[str]:
    kinds = model.abilities.kinds
    if variable.kind not in kinds:
        takes = ", ".join(sorted(kinds))
        return [
            f"variable {variable.name!r}: model {name!r} cannot draw kind {variable.kind.value}; "
            f"it takes {takes}"
        ]
    if variable.is_coded and _too_many(variable, model):
        return [
            f"variable {variable.name!r}: model {name!r} takes at most "
            f"{model.abilities.max_levels} levels, it has {variable.n_codes} with missing codes; "
            "use 'multinomial' or 'cart'"
        ]
    return []


def _model_options(context: Context) -> dict[str, dict[str, object]]:
    """Gather the options of every model under its registered name."""
    options: dict[str, dict[str, object]] = {}
    for name, given in context.config.models.items():
        with context.problems.gathered(f"models.{name}"):
            canonical = context.registry.canonical(name)
            options.setdefault(canonical, {}).update(given)
            context.registry.build(canonical, given)
    return options
