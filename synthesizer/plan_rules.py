"""Rules and structural zeros of a configuration, checked against each other and the data."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from synthesizer.config import ChainConfig
from synthesizer.data.expressions import Expression
from synthesizer.data.literals import single_value
from synthesizer.data.table import BoolArray, Table
from synthesizer.errors import DataError, ExpressionError
from synthesizer.plan_names import Columns
from synthesizer.rules import Forbid, Rule
from synthesizer.support import Support

__all__ = ["plan_rules"]

Planned = tuple[tuple[Rule, ...], tuple[Forbid | Support, ...], tuple[str, ...], list[str]]


def plan_rules(
    config: ChainConfig, table: Table, order: Sequence[str], fixed: set[str], columns: Columns
) -> Planned:
    """Return the rules, the structural zeros, notes and problems.

    Parameters
    ----------
    config : ChainConfig
        Holds ``rules``, ``forbid`` and ``on_violation``.
    table : Table
        Confidential data.
    order : sequence of str
        Variables in the order of the chain.
    fixed : set of str
        Variables that are kept or derived, which nothing may set or redraw.
    columns : Columns
        Tells columns that are unknown from those that could not be read.
    """
    rules, problems = _rules(config, table, order, fixed, columns)
    forbids, found = _forbids(config, table, order, fixed, columns)
    problems += found
    problems += _contradictions(rules, forbids, table)
    supports, found = _supports(config, table, order, fixed, columns)
    problems += found
    notes: list[str] = []
    if config.on_violation != "ignore":
        broken = [*_broken_rules(rules, table), *_broken_forbids(forbids, table)]
        (problems if config.on_violation == "error" else notes).extend(broken)
    return tuple(rules), (*forbids, *supports), tuple(notes), problems


def _condition(
    place: str, text: str, table: Table, columns: Columns
) -> tuple[Expression | None, list[str]]:
    try:
        expression = Expression.parse(text)
    except ExpressionError as error:
        return None, [f"{place}: {problem}" for problem in error.problems]
    problems = [p for name in sorted(expression.names) for p in columns.unknown("condition", name)]
    if not problems and not columns.any_faulty(expression.names):
        problems = expression.problems(table.schema, condition=True)
    usable = not problems and expression.names <= set(table)
    return (expression if usable else None), [f"{place}: {problem}" for problem in problems]


def _rules(
    config: ChainConfig, table: Table, order: Sequence[str], fixed: set[str], columns: Columns
) -> tuple[list[Rule], list[str]]:
    rules: list[Rule] = []
    problems: list[str] = []
    for number, given in enumerate(config.rules, 1):
        place = f"rule {number}"
        condition, found = _condition(f"{place}, if", given.condition, table, columns)
        problems += found
        if condition is not None and not condition.count(table):
            problems.append(
                f"{place}: no confidential row satisfies {given.condition!r}; remove the rule or "
                "mend its condition"
            )
        for name, value in given.then.items():
            if columns.is_faulty(name):
                continue
            found = columns.unknown(place, name) or _target_problems(
                place, name, condition, order, fixed
            )
            problems += found
            if found or condition is None:
                continue
            try:
                column = single_value(table[name].variable, value)
                rules.append(Rule(condition=condition, value=column))
            except DataError as error:
                problems += [f"{place}: {problem}" for problem in error.problems]
    return rules, problems


def _target_problems(
    place: str, name: str, condition: Expression | None, order: Sequence[str], fixed: set[str]
) -> list[str]:
    if name not in order:
        return [f"{place}: {name!r} is no variable of the synthesis; name one that is"]
    if name in fixed:
        return [f"{place}: variable {name!r} is kept or derived and cannot be set; remove the rule"]
    earlier = order[: order.index(name)]
    late = sorted((condition.names if condition else frozenset()) - set(earlier))
    if late:
        return [
            f"{place}: its condition uses {', '.join(late)}, which must come before {name!r} in "
            "the order; change visit_sequence"
        ]
    return []


def _forbids(
    config: ChainConfig, table: Table, order: Sequence[str], fixed: set[str], columns: Columns
) -> tuple[list[Forbid], list[str]]:
    forbids: list[Forbid] = []
    problems: list[str] = []
    for number, text in enumerate(config.forbid, 1):
        place = f"forbid {number}"
        condition, found = _condition(place, text, table, columns)
        problems += found
        if condition is None:
            continue
        if not condition.names or not condition.names <= set(order):
            problems.append(f"{place}: must use variables of the synthesis, and at least one")
            continue
        last = max(condition.names, key=order.index)
        if last in fixed:
            problems.append(
                f"{place}: its last variable in the order, {last!r}, is kept or derived and "
                "cannot be redrawn; write the condition with variables that are drawn"
            )
        elif condition.condition(table).all():
            problems.append(f"{place}: every confidential row satisfies it; mend the condition")
        else:
            forbids.append(Forbid(condition=condition, variable=last))
    return forbids, problems


def _supports(
    config: ChainConfig, table: Table, order: Sequence[str], fixed: set[str], columns: Columns
) -> tuple[list[Support], list[str]]:
    """Return the combinations that the data have, for each list of variables."""
    wanted: list[tuple[str, ...]] = []
    problems: list[str] = []
    for number, names in enumerate(config.support, 1):
        place = f"support {number}"
        found = [problem for name in names for problem in columns.unknown(place, name)]
        if not found and len(set(names)) < 2:
            found = [f"{place}: needs at least two variables"]
        absent = [n for n in names if n not in order and columns.is_known(n)]
        if not found and absent:
            found = [
                f"{place}: {', '.join(absent)} take no part in the synthesis; name other variables"
            ]
        problems += found
        if found or columns.any_faulty(names) or not set(names) <= set(table):
            continue
        ordered = sorted(set(names), key=order.index)
        if ordered[-1] in fixed:
            problems.append(
                f"{place}: its last variable in the order, {ordered[-1]!r}, is kept, derived or "
                "the career and cannot be redrawn; change the order"
            )
            continue
        # each beginning, too: else a later variable may find no value that fits the earlier ones
        wanted += [
            tuple(ordered[:k]) for k in range(2, len(ordered) + 1) if ordered[k - 1] not in fixed
        ]
    supports = [Support.of(table, names, names[-1]) for names in dict.fromkeys(wanted)]
    return supports, problems


def _contradictions(rules: list[Rule], forbids: list[Forbid], table: Table) -> list[str]:
    problems = []
    for (i, one), (j, other) in combinations(enumerate(rules, 1), 2):
        if one.variable != other.variable or _same_value(one, other):
            continue
        both = one.condition.condition(table) & other.condition.condition(table)
        if both.any():
            problems.append(
                f"rules contradict each other: settings {i} and {j} give variable "
                f"{one.variable!r} different values on {both.sum()} confidential rows; "
                "make their conditions exclude each other"
            )
    for rule in rules:
        ruled = rule.condition.condition(table)
        after = table.with_column(rule.apply(table[rule.variable], table)).take(ruled)
        for number, forbid in enumerate(forbids, 1):
            if rule.variable in forbid.condition.names and forbid.condition.count(after):
                problems.append(
                    f"the rule that sets {rule.variable!r} where {rule.condition.text!r} gives "
                    f"what forbid {number} forbids; mend one of them"
                )
    return problems


def _same_value(one: Rule, other: Rule) -> bool:
    return np.array_equal(one.value.data, other.value.data, equal_nan=True) and np.array_equal(
        one.value.missing_state(), other.value.missing_state()
    )


def _broken_rules(rules: list[Rule], table: Table) -> list[str]:
    notes = []
    for rule in rules:
        column = table[rule.variable]
        ruled = rule.apply(column, table)
        differs = ~((column.data == ruled.data) | (np.isnan(column.data) & np.isnan(ruled.data)))
        broken = differs | (column.missing_state() != ruled.missing_state())
        if broken.any():
            notes.append(
                f"rule on {rule.variable!r}: {_rows(broken)} satisfy {rule.condition.text!r} and "
                "hold another value; synthetic rows will hold the rule's"
            )
    return notes


def _broken_forbids(forbids: list[Forbid], table: Table) -> list[str]:
    notes = []
    for forbid in forbids:
        broken = forbid.condition.condition(table)
        if broken.any():
            notes.append(
                f"forbid {forbid.condition.text!r}: {_rows(broken)} satisfy it; "
                "no synthetic row will"
            )
    return notes


def _rows(mask: BoolArray) -> str:
    first = np.flatnonzero(mask)[:3] + 1
    more = ", ..." if mask.sum() > len(first) else ""
    return f"{mask.sum()} confidential rows (numbers {', '.join(map(str, first))}{more})"
