"""Models of the variables of a panel: which history wraps which base model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from synthesizer.data.schema import Variable
from synthesizer.histories.base import HistoryModel
from synthesizer.model_options import described
from synthesizer.models.base import ConditionalModel
from synthesizer.panel.past import OWN
from synthesizer.plan_context import Context
from synthesizer.plan_methods import Method, default_for
from synthesizer.registry import ROLES

__all__ = ["FEW", "base_problems", "panel_method", "panel_problems", "with_own_past"]

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
