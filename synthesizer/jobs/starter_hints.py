"""What a file looks like: a panel, households, what extensions find; and the command that says so.

All of it is guessed from names and counts, and nothing follows from it but a line on the screen.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Final

import numpy as np

from synthesizer.config.section import section_keys
from synthesizer.data.code_lists import TIME_NAMES, words_of
from synthesizer.data.derivations import numbers_of
from synthesizer.data.errors import plural
from synthesizer.data.expressions import Expression, quote_name
from synthesizer.data.missing_codes import far_codes, guessed_codes
from synthesizer.data.panel.panel_table import MONTHS
from synthesizer.data.table import BoolArray, Column, IntArray, Kind, Table

_TIME_NAMES: Final = TIME_NAMES - {"day", "hour", "age"}
_HOUSE_NAMES: Final = re.compile(
    r"(id)?(hh|hid|hous\w*|famil\w*|serial\w*|dwelling|hogar|menage)\w*"
)
_MEMBER_NAMES: Final = re.compile(r"rel(at|p|ship)?\w*|head|hhsize|npers|npf|members?|pernum|size")
_LARGEST: Final = 30
"""Members of a household at most."""
_MANY: Final = 50
"""Households at least."""
_WIDE: Final = 4
"""Columns of one variable over time, at least."""
_NEARER: Final = 0.05
"""By how much neighbouring periods agree more than distant ones, at least."""


def hints_of(
    table: Table, where: str, labels: Mapping[str, str], said: Container[str], *, has_form: bool
) -> Iterator[str]:
    """Yield what a file looks like, and the command to run instead.

    ``labels`` are those of variables, where the file has some; ``said`` are keys of extensions
    that are there already, and ``has_form`` says whether a panel or households are.
    """
    command = f"synthesizer init {where}"
    yield from _codes_in_doubt(table)
    if codes := guessed_codes(table):
        yield f"taken for missing codes: {codes}; take them out of `missing` where they are values"
    for key, section in section_keys().items():
        if key not in said:
            for what, setting in section.suggested(table, labels):
                yield f"{what}: {command} --set {setting}"
    if has_form:
        return
    for column in table.columns:
        if _numbers_households(column):
            owners = np.unique(column.data, return_inverse=True)[1]
            what = repeated_hint(table, column.name, owners, where)
            yield f"{column.name} repeats like numbers of households: {what}"
    for columns in series(table):
        first, last, name = columns[0], columns[-1], _stem(columns)
        career = f" --set panel.career={name}" if table[first].is_coded else ""
        yield (
            f"{first} to {last} look like one variable in {len(columns)} periods: "
            f"{command} --wide '{name}={first}..{last}'{career}"
        )


def _codes_in_doubt(table: Table) -> Iterator[str]:
    """Ask about numbers such as 99 that lie far outside all others."""
    named = []
    for column in table.columns:
        if (numbers := numbers_of(column)) is not None:
            numbers = numbers[column.is_observed]
            rows = [(code, int((numbers == code).sum())) for code in far_codes(numbers)]
            named += [f"{column.name} {code:.10g} in {plural(n, 'row')}" for code, n in rows]
    if named:
        yield (
            f"far outside all other values: {'; '.join(named)}; write `missing: [CODE]` under the "
            "variables where these mean missing"
        )


def _numbers_households(column: Column) -> bool:
    """Whether a number is named like a household, and few rows share each of its values."""
    if column.is_coded or not any(_HOUSE_NAMES.fullmatch(word) for word in words_of(column.name)):
        return False
    times = np.unique(column.data[column.is_observed], return_counts=True)[1]
    return len(times) > _MANY and 1 < times.max() <= _LARGEST and times.mean() > 1


def repeated_hint(table: Table, name: str, owners: IntArray, where: str) -> str:
    """Say what an identifier that repeats is likely to be of, and the command to run instead."""
    command = f"synthesizer init {where}"
    times = [c for c in table.columns if not _TIME_NAMES.isdisjoint(words_of(c.name))]
    once = next((c for c in times if _is_key(owners, c)), None)
    if once is not None:
        return f"persons in several periods: {command} --person {name} --time {once.name}"
    sizes = np.bincount(owners)
    named = any(_HOUSE_NAMES.fullmatch(word) for word in words_of(name))
    members = any(_MEMBER_NAMES.fullmatch(w) for c in table.columns for w in words_of(c.name))
    counted = _size_column(table, owners) is not None
    if sizes.max() <= _LARGEST and (named or members or counted):
        return f"a household file: {command} --household {name}"
    return (
        f"persons in several periods ({command} --person {name} --time COLUMN) or members of "
        f"households ({command} --household {name})"
    )


def household_size(table: Table, household: str) -> str | None:
    """Return the column that holds the number of members of each household, if there is one."""
    owners = np.unique(table[household].data, return_inverse=True)[1]
    return _size_column(table, owners)


def _size_column(table: Table, owners: IntArray) -> str | None:
    sizes = np.bincount(owners)[owners]
    if len(np.unique(sizes)) < 2:
        return None
    for column in table.columns:
        numbers = numbers_of(column)
        if numbers is not None and bool((numbers == sizes).all()):
            return column.name
    return None


def _is_key(owners: IntArray, column: Column) -> bool:
    """Whether no owner has a value of a column twice."""
    values = np.unique(column.data, return_inverse=True)[1]
    pairs = owners.astype(np.int64) * (int(values.max()) + 1) + values
    return len(np.unique(pairs)) == len(pairs)


def of_periods(table: Table, *, has_periods: bool) -> set[str]:
    """Return columns that tell of periods, so that they say little of a single record.

    Those of a variable over time but the last; where persons seem to be in several periods, also
    the time.
    """
    names = {name for columns in series(table) for name in columns[:-1]}
    times = {name for name in table.names if not _TIME_NAMES.isdisjoint(words_of(name))}
    return names | (times if has_periods else set())


def series(table: Table) -> Iterator[tuple[str, ...]]:
    """Yield columns in a row that hold one variable in period after period.

    Their names count on, in numbers or months, they hold the same, and neighbours agree more
    closely than columns far apart, which items of a questionnaire do not.
    """
    places = [(name, *_period(name)) for name in table.names]
    start = 0
    for end in range(1, len(places) + 1):
        if end < len(places) and _counts_on(places[end - 1], places[end], table):
            continue
        names = tuple(name for name, *_ in places[start:end])
        if len(names) >= _WIDE and _fades(table, names):
            yield names
        start = end


def _period(name: str) -> tuple[str, int | None]:
    """Return what a name has in common with others, and which period it names, if any.

    Examples
    --------
    >>> _period("a15"), _period("Jul.93"), _period("jan00"), _period("sex")
    (('a#', 15), ('month', 1122), ('month', 0), ('sex', None))
    """
    month = re.fullmatch(r"([a-z]{3,9})[._ ]?(\d{2,4})", name.lower())
    if month and month[1][:3] in MONTHS:
        return "month", int(month[2]) * 12 + MONTHS.index(month[1][:3])
    parts = re.findall(r"\d+|\D+", name)
    numbers = [i for i, part in enumerate(parts) if part.isdigit()]
    if not numbers:
        return name, None
    last = numbers[-1]
    return "".join([*parts[:last], "#", *parts[last + 1 :]]), int(parts[last])


def _counts_on(
    one: tuple[str, str, int | None], two: tuple[str, str, int | None], table: Table
) -> bool:
    """Whether a column is the period after another, of the same variable."""
    if one[1] != two[1] or one[2] is None or two[2] != one[2] + 1:
        return False
    left, right = table[one[0]].variable, table[two[0]].variable
    if left.kind is not right.kind or left.kind is Kind.ID:
        return False
    return not left.is_coded or 2 * len({*left.levels} & {*right.levels}) > len(left.levels)


def _fades(table: Table, names: Sequence[str]) -> bool:
    """Whether neighbouring columns agree more than those that are half the series apart."""
    half = len(names) // 2
    near = [_agreement(table[a], table[b]) for a, b in pairwise(names)]
    far = [_agreement(table[a], table[b]) for a, b in zip(names, names[half:], strict=False)]
    return float(np.mean(near)) >= float(np.mean(far)) + _NEARER


def _agreement(one: Column, two: Column) -> float:
    """Return the share of rows with the same label, or the correlation of numbers."""
    if one.is_coded:
        labels = {label: code for code, label in enumerate(one.variable.labels)}
        same = np.array([labels.get(label, -1) for label in two.variable.labels])
        return float((one.data == same[two.data]).mean())
    both = one.is_observed & two.is_observed
    left, right = one.data[both], two.data[both]
    if len(left) < _WIDE or not np.ptp(left) or not np.ptp(right):
        return 0.0
    return float(np.corrcoef(left, right)[0, 1])


def _stem(columns: Sequence[str]) -> str:
    """Return a name for the variable that some columns hold over time."""
    letters = ["".join(chars) for is_letter, chars in groupby(columns[0], str.isalpha) if is_letter]
    common = [text for text in letters if all(text in name for name in columns)]
    return common[0] if common else "state"


_RELATION_NAMES: Final = re.compile(r"rel(at|p|ship)?\w*|\w*head\w*")
_MOST_LEVELS: Final = 30
_FEWEST: Final = 20
"""Households with such a member, from which on a rule about them is proposed."""
_YEARS: Final = 12
"""Years between a parent and a child, at least, where a rule is proposed."""
_NEARLY_ALL: Final = 0.99
"""Share of the members who keep to a rule that is proposed; the others may be errors."""


def household_head(table: Table, household: str) -> str:
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


def household_rules(table: Table, household: str, head: str) -> Iterator[str]:
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
