"""Proposals of `init` for households, from names and counts: head, size, rules.

They are only lines of a configuration or of the screen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from synthesizer.data.code_lists import words_of
from synthesizer.data.derivations import numbers_of
from synthesizer.data.expressions import Expression, quote_name
from synthesizer.data.table import BoolArray, Column, IntArray, Kind, Table
from synthesizer.jobs.starter import as_yaml

_HOUSE_NAMES: Final = re.compile(
    r"(id)?(hh|hid|hous\w*|famil\w*|serial\w*|dwelling|hogar|menage)\w*"
)
_MEMBER_NAMES: Final = re.compile(r"rel(at|p|ship)?\w*|head|hhsize|npers|npf|members?|pernum|size")
_MAX_MEMBERS: Final = 30
"""Largest household."""
_MIN_HOUSEHOLDS: Final = 50
"""Fewest households."""
_RELATION_NAMES: Final = re.compile(r"rel(at|p|ship)?\w*|\w*head\w*")
_MAX_LEVELS: Final = 30
_MIN_RULE_HOUSEHOLDS: Final = 20
"""Fewest households with such a member for a proposed rule."""
_MIN_PARENT_YEARS: Final = 12
"""Fewest years between parent and child for a proposed rule."""
_MIN_RULE_SHARE: Final = 0.99
"""Share of members that satisfy a proposed rule; the others may be errors."""


def lines(
    table: Table, household: str, size: str | None, head: str, more: Mapping[str, Any]
) -> Iterator[str]:
    """Yield the lines of the section; ``more`` are options from the user."""
    yield f"id: {as_yaml(household)}"
    if size is not None:
        yield f"size: {as_yaml(size)}   # is counted"
    if head:
        yield f"head: {as_yaml(head)}   # one in each household: is it the head?"
    else:
        yield "# head: relation == 1   # the head; if absent, the first member"
    yield from (f"{key}: {as_yaml(value)}" for key, value in more.items())
    why = {"at_most": "holds in the data; is it a rule?", "order": "of the members but the head"}
    for rule in _rules(table, household, head):
        words = why.get(rule.partition(":")[0], "nearly always; belongs below")
        yield f"# {rule}   # {words}"


def numbers_households(column: Column) -> bool:
    """Whether a column has a name of households, and few rows share each of its values."""
    if column.is_coded or not any(_HOUSE_NAMES.fullmatch(word) for word in words_of(column.name)):
        return False
    times = np.unique(column.data[column.is_observed], return_counts=True)[1]
    return len(times) > _MIN_HOUSEHOLDS and 1 < times.max() <= _MAX_MEMBERS and times.mean() > 1


def suits(table: Table, name: str, owners: IntArray) -> bool:
    """Whether a table looks like one of households, by names or a column of sizes."""
    named = any(_HOUSE_NAMES.fullmatch(word) for word in words_of(name))
    members = any(_MEMBER_NAMES.fullmatch(w) for c in table.columns for w in words_of(c.name))
    counted = _size_column(table, owners) is not None
    return bool(np.bincount(owners).max() <= _MAX_MEMBERS) and (named or members or counted)


def size_of(table: Table, household: str) -> str | None:
    """Return the column with the number of members of each household, if there is one."""
    return _size_column(table, np.unique(table[household].data, return_inverse=True)[1])


def _size_column(table: Table, owners: IntArray) -> str | None:
    sizes = np.bincount(owners)[owners]
    if len(np.unique(sizes)) < 2:
        return None
    for column in table.columns:
        numbers = numbers_of(column)
        if numbers is not None and bool((numbers == sizes).all()):
            return column.name
    return None


def head_of(table: Table, household: str) -> str:
    """Return the condition that one member of each household satisfies; empty if there is none.

    Columns with a name of relations come first.
    """
    owners = np.unique(table[household].data, return_inverse=True)[1]
    n = int(owners.max(initial=-1)) + 1
    candidates: list[tuple[bool, str]] = []
    for column in table.columns:
        for text, is_so in _conditions(column):
            if len(np.unique(owners[is_so])) == n == int(is_so.sum()) < len(owners):
                candidates.append((not _RELATION_NAMES.fullmatch(column.name.lower()), text))
                break
    return min(candidates, key=lambda item: item[0], default=(True, ""))[1]


def _rules(table: Table, household: str, head: str) -> Iterator[str]:
    """Propose rules of composition that hold in the data, as lines of a configuration."""
    name = min(Expression.parse(head).names, default="") if head else ""
    if not name or not table[name].is_coded:
        return
    owners = np.unique(table[household].data, return_inverse=True)[1]
    is_head = Expression.parse(head).condition(table)
    ages = [c for c in table.columns if c.name.lower() == "age" and c.variable.kind is Kind.NUMERIC]
    of_head = np.zeros(int(owners.max()) + 1)
    single, younger = [], []
    for text, is_so in _conditions(table[name]):
        theirs = np.bincount(owners[is_so])
        if is_so[is_head].any() or (theirs > 0).sum() < _MIN_RULE_HOUSEHOLDS:
            continue
        if theirs.max() == 1:
            single.append(f"{text}: 1")
        for age in ages:
            of_head[owners[is_head]] = age.data[is_head]
            gap = of_head[owners[is_so]] - age.data[is_so]
            if np.nanmean(gap >= _MIN_PARENT_YEARS) >= _MIN_RULE_SHARE:
                younger.append(
                    f"{text} and {quote_name(age.name)} > `head.{age.name}` - {_MIN_PARENT_YEARS}"
                )
    if single:
        yield f"at_most: {{{', '.join(single)}}}"
    yield from (f"order: [{name}, -{age.name}]" for age in ages)
    yield from (f"forbid: {text}" for text in younger)


def _conditions(column: Column) -> Iterator[tuple[str, BoolArray]]:
    """Yield conditions on one value of a column with few values, and the rows that satisfy them."""
    name, kind = quote_name(column.name), column.variable.kind
    if column.is_coded:
        for code, level in enumerate(column.variable.levels[:_MAX_LEVELS]):
            text = level if level.isdecimal() else repr(level)
            if "'" not in level:
                yield f"{name} == {text}", np.asarray(column.data == code)
    elif kind is Kind.NUMERIC:
        values = np.unique(column.data[column.is_observed])
        for value in values[:1] if len(values) <= _MAX_LEVELS else ():
            yield f"{name} == {value:g}", np.asarray(column.data == value)
