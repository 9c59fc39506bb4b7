"""Guess from names and counts what a file may be, such as a panel, and print a command for it."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import groupby, pairwise, product
from typing import Final

import numpy as np

from synthesizer.data.code_lists import TIME_NAMES, words_of
from synthesizer.data.derivations import numbers_of
from synthesizer.data.errors import plural
from synthesizer.data.missing_codes import far_codes, guessed_codes
from synthesizer.data.panel.panel_table import MONTHS
from synthesizer.data.plugins import arranging_keys
from synthesizer.data.table import Column, IntArray, Kind, Table
from synthesizer.plan.inputs import suggestions

_TIME_NAMES: Final = TIME_NAMES - {"day", "hour", "age"}
_WIDE: Final = 4
"""Fewest columns of one variable over time."""
_NEARER: Final = 0.05
"""Least difference in agreement between neighbouring and distant periods."""


def hints_of(
    table: Table, where: str, labels: Mapping[str, str], sections: Container[str], *, has_form: bool
) -> Iterator[str]:
    """Yield guesses on a file, each with the command to run instead.

    ``labels`` are labels of variables, ``sections`` are keys of extensions that are set already.
    ``has_form`` is whether an option groups the rows.
    """
    command = f"synthesizer init {where}"
    yield from _codes_in_doubt(table)
    if codes := guessed_codes(table):
        yield f"taken for missing codes: {codes}; delete them from `missing` where they are values"
    for _, what, setting in suggestions(table, labels, sections):
        yield f"{what}: {command} --set {setting}"
    if has_form:
        return
    for column, key in product(table.columns, arranging_keys().values()):
        if key.type.numbers(column):
            owners = np.unique(column.data, return_inverse=True)[1]
            what = repeated_hint(table, column.name, owners, where)
            yield f"{column.name} repeats like numbers of {key.type.unit}s: {what}"
    for columns in series(table):
        first, last, name = columns[0], columns[-1], _stem(columns)
        career = f" --set panel.career={name}" if table[first].is_coded else ""
        yield (
            f"{first} to {last} look like one variable in {len(columns)} periods: "
            f"{command} --wide '{name}={first}..{last}'{career}"
        )


def _codes_in_doubt(table: Table) -> Iterator[str]:
    """Return a question about numbers such as 99 far outside all others."""
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


def repeated_hint(table: Table, name: str, owners: IntArray, where: str) -> str:
    """Return what a repeated identifier may identify, with the command to run instead."""
    command = f"synthesizer init {where}"
    times = [c for c in table.columns if not _TIME_NAMES.isdisjoint(words_of(c.name))]
    once = next((c for c in times if _is_key(owners, c)), None)
    if once is not None:
        return f"persons in several periods: {command} --person {name} --time {once.name}"
    also = [f"persons in several periods ({command} --person {name} --time COLUMN)"]
    for key, section in arranging_keys().items():
        other = f"{command} --set {key}.{section.type.option}={name}"
        if section.type.suits(table, name, owners):
            return f"a {section.type.unit} file: {other}"
        also.append(f"members of {section.type.unit}s ({other})")
    return " or ".join(also)


def _is_key(owners: IntArray, column: Column) -> bool:
    """Whether no unit has a value of a column twice."""
    values = np.unique(column.data, return_inverse=True)[1]
    pairs = owners.astype(np.int64) * (int(values.max()) + 1) + values
    return len(np.unique(pairs)) == len(pairs)


def of_periods(table: Table, *, has_periods: bool) -> set[str]:
    """Return columns of periods, which are no useful keys.

    They are all columns but the last of a variable over time, and the time of repeated persons.
    """
    names = {name for columns in series(table) for name in columns[:-1]}
    times = {name for name in table.names if not _TIME_NAMES.isdisjoint(words_of(name))}
    return names | (times if has_periods else set())


def series(table: Table) -> Iterator[tuple[str, ...]]:
    """Yield neighbouring columns that seem to be one variable in several periods.

    Their names have consecutive numbers or months, and their kinds are equal. Neighbours agree more
    than distant columns, unlike items of a questionnaire.
    """
    parts = [(name, *_period(name)) for name in table.names]
    start = 0
    for end in range(1, len(parts) + 1):
        if end < len(parts) and _counts_on(parts[end - 1], parts[end], table):
            continue
        names = tuple(name for name, *_ in parts[start:end])
        if len(names) >= _WIDE and _fades(table, names):
            yield names
        start = end


def _period(name: str) -> tuple[str, int | None]:
    """Return the common part of a name and its period, if any.

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
    first, second = table[one[0]].variable, table[two[0]].variable
    if first.kind is not second.kind or first.kind is Kind.ID:
        return False
    return not first.is_coded or 2 * len({*first.levels} & {*second.levels}) > len(first.levels)


def _fades(table: Table, names: Sequence[str]) -> bool:
    """Whether neighbouring columns agree more than columns half the series apart."""
    half = len(names) // 2
    neighbours = [_agreement(table[a], table[b]) for a, b in pairwise(names)]
    distant = [_agreement(table[a], table[b]) for a, b in zip(names, names[half:], strict=False)]
    return float(np.mean(neighbours)) >= float(np.mean(distant)) + _NEARER


def _agreement(one: Column, two: Column) -> float:
    """Return the share of rows with the same label, or the correlation of numbers."""
    if one.is_coded:
        labels = {label: code for code, label in enumerate(one.variable.labels)}
        same = np.array([labels.get(label, -1) for label in two.variable.labels])
        return float((one.data == same[two.data]).mean())
    both = one.is_observed & two.is_observed
    first, second = one.data[both], two.data[both]
    if len(first) < _WIDE or not np.ptp(first) or not np.ptp(second):
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])


def _stem(columns: Sequence[str]) -> str:
    """Return a name for the variable of columns over time."""
    letters = ["".join(chars) for is_letter, chars in groupby(columns[0], str.isalpha) if is_letter]
    common = [text for text in letters if all(text in name for name in columns)]
    return common[0] if common else "state"
