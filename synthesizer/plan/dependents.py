"""Variables that follow from others: found in the data, and computed in place of drawn."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from synthesizer.data.derivations import needed, suggest_derivations
from synthesizer.data.expressions import Expression
from synthesizer.data.table import Table
from synthesizer.engine.registry import DEFAULT_SET
from synthesizer.plan.context import Context
from synthesizer.plan.findings import Findings, Found

_PARTIAL = re.compile(r"/|\blog|\bsqrt")
"""What is not defined for all numbers."""


def dependents(
    context: Context, drawn: Mapping[str, str], needs: Mapping[str, Collection[str]]
) -> Found[dict[str, Expression]]:
    """Return the variables that the data show to follow from others, each with its expression.

    ``drawn`` has the models of variables for which the configuration names none; only these are
    computed. ``needs`` has what others are computed from, as the configuration says. What else
    follows from others is told in a note, as is what is computed; that a rule sets it or a support
    names it is a problem. Datasets that evolve cannot compute anything.
    """
    if context.config.genetic is not None:
        return Found({})
    found = Findings()
    table = context.table.select(
        [name for name in context.names if not context.columns.any_faulty([name])]
    )
    computed: dict[str, Expression] = {}
    busy, named = dict(_busy(context)), dict(_named(context))
    weighting = context.config.weighting
    weight = () if weighting is None else (weighting.variable,)
    for name, text in suggest_derivations(table, drawn=weight).items():
        expression = Expression.parse(text)
        groups = "cut(" in text
        inputs = " and ".join(repr(other) for other in sorted(expression.names))
        is_what = f"holds groups of {inputs}" if groups else f"follows from {inputs}"
        own, others = context.own(name), ", ".join(sorted(expression.names))
        is_circle = name in needs or name in needed(expression.names, needs)
        if is_circle or (name not in drawn and name in context.config.keep):
            continue
        why = "as its method or options ask" if name not in drawn or own.options else busy.get(name)
        if not why and _moves(context, name, expression):
            why = "as it stands before them in the order"
        if why:
            found.note(
                "follows_and_is_drawn",
                name=name,
                is_what=is_what,
                why=why,
                inputs=inputs,
                text=text,
            )
        elif not _is_defined(context, table, name, expression):
            found.note("follows_but_undefined", name=name, is_what=is_what)
        elif place := named.get(name):
            found.problem("rule_on_derived", name=name, place=place, is_what=is_what, others=others)
        else:
            computed[name] = expression
            found.note("follows_and_is_computed", name=name, is_what=is_what)
    return found.of(computed)


def _busy(context: Context) -> Iterator[tuple[str, str]]:
    """Yield variables that something else sets, redraws or takes as it is, and what does."""
    config = context.config
    yield from ((name, "as strata name it") for name in config.strata)
    if context.career is not None:
        yield context.career, "as the career"
    if config.panel is not None:
        yield from ((rule.variable, "as panel.rules names it") for rule in config.panel.rules)


def _named(context: Context) -> Iterator[tuple[str, str]]:
    """Yield variables that a rule sets or a support redraws, and the place of it."""
    for number, rule in enumerate(context.config.rules, 1):
        yield from ((name, f"rule {number}") for name in rule.then)
    for number, names in enumerate(context.config.support_lists, 1):
        yield from ((name, f"support {number}") for name in names)


def _moves(context: Context, name: str, expression: Expression) -> bool:
    """Whether it stands before its inputs where the configuration has an order or predictors."""
    order = [context.listed(entry) for entry in context.config.visit_sequence or ()]
    if name in order:
        return not expression.names <= set(order[: order.index(name)])
    later = max(map(context.names.index, expression.names)) > context.names.index(name)
    return later and any(name in (context.wanted(other) or ()) for other in context.names)


def _is_defined(context: Context, table: Table, name: str, expression: Expression) -> bool:
    """Whether the expression has a value for whatever is drawn for its inputs."""
    if table[name].variable.missing or not _PARTIAL.search(expression.text):
        return True
    if context.config.default_method != DEFAULT_SET:
        return False  # models that may draw numbers beyond those of the data
    ranges = [
        table[other].data[table[other].is_observed]
        for other in expression.names
        if not table[other].is_coded
    ]
    return all(values.min() > 0 for values in ranges) or "/" not in expression.text
