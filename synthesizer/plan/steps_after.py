"""Plan the steps after synthesis, and find everything that stands against them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from synthesizer.config.keys import NUMBER_STEPS, AfterConfig, BlankRareConfig, Config
from synthesizer.data.after import NO_CURE, After, blank_code
from synthesizer.data.expressions import Expression
from synthesizer.data.table import Kind, Variable
from synthesizer.data.values import rounded
from synthesizer.plan.context import Context


def plan_after(context: Context, after: AfterConfig | None, *, keeps: bool) -> After:
    """Return the steps by column of the files; faults become problems of the context."""
    if after is None:
        return After()
    for key in NUMBER_STEPS:
        context.problems += _number_problems(context, f"after.{key}", getattr(after, key))
    context.problems += _order_problems(after)
    rare = after.blank_rare
    if rare is not None:
        context.problems += _level_problems(context, rare.variables)
    context.problems += _label_problems(context, after.label)
    context.problems += _uniques_problems(context, after, keeps=keeps)
    context.problems += _extended_problems(context, after)
    context.notes += _notes(context, after)
    person = context.arrangement.person_column
    return After(
        round=_by_column(context, after.round),
        bottom=_by_column(context, after.bottom_code),
        top=_by_column(context, after.top_code),
        blank=() if rare is None else _columns(context, rare.variables),
        min_count=0 if rare is None else rare.min_count,
        person=None if context.is_household else person,
        drop_uniques=after.uniques == "drop",
        label=after.label,
    )


def _columns(context: Context, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(c for name in names for c in context.arrangement.columns_of(name))


def _by_column(context: Context, values: Mapping[str, float]) -> dict[str, float]:
    return {c: value for name, value in values.items() for c in _columns(context, [name])}


def _variable(context: Context, place: str, name: str) -> Variable | None:
    """Return a variable that can be changed; None, with a problem, where there is none."""
    if unknown := context.columns.unknown(place, name):
        context.problems += unknown
        return None
    if context.takes_no_part(name):
        context.problems.append(
            f"{place}: {name!r} is an id, a time or dropped and takes no part in the synthesis; "
            "take it out"
        )
        return None
    return context.table[name].variable if name in context.table else None  # a faulty column


def _number_problems(context: Context, place: str, values: Mapping[str, float]) -> Iterator[str]:
    """Yield variables that are no numbers, and values with too many decimals."""
    for name, value in values.items():
        variable = _variable(context, place, name)
        if variable is None:
            continue
        if variable.kind is not Kind.NUMERIC:
            yield (
                f"{place}: {name!r} is {variable.kind.value}, and only numbers can be rounded or "
                "coded at their ends; take it out, or see blank_rare for levels"
            )
        elif (
            variable.decimals is not None
            and float(rounded(np.array(value), variable.decimals)) != value
        ):
            yield (
                f"{place}: {value:g} has more decimals than {name!r}, which has "
                f"{variable.decimals}; name a value that it can have"
            )


def _order_problems(after: AfterConfig) -> Iterator[str]:
    for name, low in after.bottom_code.items():
        high = after.top_code.get(name)
        if high is not None and low >= high:
            yield (
                f"after: {name!r} has bottom_code {low:g}, which is not below its top_code "
                f"{high:g}; exchange them"
            )


def _level_problems(context: Context, names: Iterable[str]) -> Iterator[str]:
    """Yield variables without levels, and those of a panel that may not be blank."""
    place = "after.blank_rare"
    panel = context.config.panel
    for name in names:
        variable = _variable(context, place, name)
        if variable is None:
            continue
        if not variable.is_coded:
            yield (
                f"{place}: {name!r} is {variable.kind.value} and has no levels; take it out, or "
                "see round, top_code and bottom_code for numbers"
            )
        elif name == context.frame.career or (
            panel is not None and (blank_code(variable) or "") in panel.absent
        ):
            yield (
                f"{place}: {name!r} says who is there in which period, and a blank would say that "
                "nobody is; take it out, and group its rare levels before the fit"
            )


def _label_problems(context: Context, label: Mapping[str, str]) -> Iterator[str]:
    for name in label:
        if name in (context.columns.names or ()):
            yield f"after.label: there is a column {name!r} in the data; choose another name"


def _uniques_problems(context: Context, after: AfterConfig, *, keeps: bool) -> Iterator[str]:
    if after.uniques is None:
        return
    if keeps:
        yield (
            "after.uniques: variables are kept row by row, so no record can be left out; take "
            "uniques out, or keep nothing"
        )
    if context.is_household:
        yield (
            "after.uniques: a household would lose a member; take uniques out, or group what makes "
            "persons unique before the fit"
        )
    if context.data.whole is not None:
        yield (
            "after.uniques: the source is not read whole, so nobody knows which of its records "
            "are unique; take uniques out, or allow more rows (data.fit_rows)"
        )


def _extended_problems(context: Context, after: AfterConfig) -> Iterator[str]:
    """Yield steps that would change what is published: its numbers must come out as they are."""
    config = context.config
    if isinstance(config, Config) and config.extends is not None:
        for key in ("bottom_code", "top_code"):
            bounds = {n: b for n, b in getattr(after, key).items() if n in after.round}
            yield from (
                f"after.{key}: {bound:g} is no multiple of {after.round[name]:g}, to which "
                f"{name!r} is rounded, so rounding would move it once more in published periods; "
                "publish all periods anew, with a multiple"
                for name, bound in bounds.items()
                if not np.isclose(bound, np.rint(bound / after.round[name]) * after.round[name])
            )
        odd = [key for key in ("blank_rare", "uniques", "label") if getattr(after, key)]
        yield from (
            f"after.{key}: what is published stays byte for byte, and so this cannot be done to "
            "all of a dataset; take it out"
            for key in odd
        )


def _notes(context: Context, after: AfterConfig) -> Iterator[str]:
    """Yield what a steward should know of the steps."""
    if after.uniques is not None:
        yield f"after.uniques: {NO_CURE}"
    if after.blank_rare is not None:
        yield from _emptied(context, after.blank_rare)
    changed = {*after.round, *after.bottom_code, *after.top_code}
    for step, settings in context.config.variables.items():
        method = settings.method or context.config.named_methods.get(step, "")
        text = settings.derived or (method[1:] if method.startswith("~") else "")
        inputs = sorted(changed & {*_names(text)}) if step not in changed else []
        if inputs:
            yield (
                f"after: {step!r} is computed from {', '.join(inputs)} before the steps and shows "
                "what was there; change it too, or drop it"
            )


def _emptied(context: Context, rare: BlankRareConfig) -> Iterator[str]:
    """Yield variables of which nothing is left."""
    for name in rare.variables:
        column = context.table.get(name)
        if column is None or not column.is_coded:
            continue
        rows = np.bincount(column.data[column.is_observed], minlength=1)
        if rows.max() < rare.min_count:
            yield (
                f"after.blank_rare: no level of {name!r} has {rare.min_count} records in the data, "
                "so that its column will be empty; lower min_count, or drop it"
            )


def _names(text: str) -> frozenset[str]:
    return frozenset(Expression.parse(text).names) if text else frozenset()
