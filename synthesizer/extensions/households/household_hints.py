"""What `init` guesses of households, from names and counts: head, size, rules.

All of it is a proposal, and nothing follows from it but lines of a configuration or of the screen.
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
_LARGEST: Final = 30
"""Members of a household at most."""
_MANY: Final = 50
"""Households at least."""
_RELATION_NAMES: Final = re.compile(r"rel(at|p|ship)?\w*|\w*head\w*")
_MOST_LEVELS: Final = 30
_FEWEST: Final = 20
"""Households with such a member, from which on a rule about them is proposed."""
_YEARS: Final = 12
"""Years between a parent and a child, at least, where a rule is proposed."""
_NEARLY_ALL: Final = 0.99
"""Share of the members who keep to a rule that is proposed; the others may be errors."""


def lines(
    table: Table, household: str, size: str | None, head: str, more: Mapping[str, Any]
) -> Iterator[str]:
    """Yield the lines of the section; ``more`` are options that somebody named."""
    yield f"id: {as_yaml(household)}"
    if size is not None:
        yield f"size: {as_yaml(size)}   # is counted"
    if head:
        yield f"head: {as_yaml(head)}   # one in each household: is it the head?"
    else:
        yield "# head: relation == 1   # who the head is; the first of each household when absent"
    yield from (f"{key}: {as_yaml(value)}" for key, value in more.items())
    why = {"at_most": "holds in the data; is it a rule?", "order": "of the members but the head"}
    for rule in _rules(table, household, head):
        words = why.get(rule.partition(":")[0], "nearly always; belongs below")
        yield f"# {rule}   # {words}"


def numbers_households(column: Column) -> bool:
    """Whether a number is named like a household, and few rows share each of its values."""
    if column.is_coded or not any(_HOUSE_NAMES.fullmatch(word) for word in words_of(column.name)):
        return False
    times = np.unique(column.data[column.is_observed], return_counts=True)[1]
    return len(times) > _MANY and 1 < times.max() <= _LARGEST and times.mean() > 1


def suits(table: Table, name: str, owners: IntArray) -> bool:
    """Whether a table looks like one of households, by names or a column of sizes."""
    named = any(_HOUSE_NAMES.fullmatch(word) for word in words_of(name))
    members = any(_MEMBER_NAMES.fullmatch(w) for c in table.columns for w in words_of(c.name))
    counted = _size_column(table, owners) is not None
    return bool(np.bincount(owners).max() <= _LARGEST) and (named or members or counted)


def size_of(table: Table, household: str) -> str | None:
    """Return the column that holds the number of members of each household, if there is one."""
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
    """Return the condition that one member of each household satisfies; empty where none is found.

    Columns that are named like a relation come first.
    """
    owners = np.unique(table[household].data, return_inverse=True)[1]
    n = int(owners.max(initial=-1)) + 1
    found: list[tuple[bool, str]] = []
    for column in table.columns:
        for text, is_so in _conditions(column):
            if len(np.unique(owners[is_so])) == n == int(is_so.sum()) < len(owners):
                odd = not _RELATION_NAMES.fullmatch(column.name.lower())
                found.append((odd, text))
                break
    return min(found, key=lambda item: item[0], default=(True, ""))[1]


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
        if is_so[is_head].any() or (theirs > 0).sum() < _FEWEST:
            continue
        if theirs.max() == 1:
            single.append(f"{text}: 1")
        for age in ages:
            of_head[owners[is_head]] = age.data[is_head]
            gap = of_head[owners[is_so]] - age.data[is_so]
            if np.nanmean(gap >= _YEARS) >= _NEARLY_ALL:
                younger.append(f"{text} and {quote_name(age.name)} > `head.{age.name}` - {_YEARS}")
    if single:
        yield f"at_most: {{{', '.join(single)}}}"
    yield from (f"order: [{name}, -{age.name}]" for age in ages)
    yield from (f"forbid: {text}" for text in younger)


def _conditions(column: Column) -> Iterator[tuple[str, BoolArray]]:
    """Yield conditions on one value of a column that has few, and where they hold."""
    name, kind = quote_name(column.name), column.variable.kind
    if column.is_coded:
        for code, level in enumerate(column.variable.levels[:_MOST_LEVELS]):
            text = level if level.isdecimal() else repr(level)
            if "'" not in level:
                yield f"{name} == {text}", np.asarray(column.data == code)
    elif kind is Kind.NUMERIC:
        values = np.unique(column.data[column.is_observed])
        for value in values[:1] if len(values) <= _MOST_LEVELS else ():
            yield f"{name} == {value:g}", np.asarray(column.data == value)
