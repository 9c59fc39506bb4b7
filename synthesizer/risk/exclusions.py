"""Disclosures that do not count, since they tell nobody anything new.

Where all children have the education "not applicable", a key that holds a child's age gives the
education away, but everybody knew. Such target levels, or pairs of a key level and a target level,
can be named: their records do not count as disclosive, yet stay among the records that shares
are computed of.

Source: Raab, Nowok and Dibben (2025), Practical privacy metrics for synthetic data
(arXiv 2406.16826), on exclusions and missing values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from synthesizer.data.codes import Groups
from synthesizer.data.schema import Kind
from synthesizer.data.table import BoolArray, Column, Table
from synthesizer.errors import DataError

__all__ = ["Exclusion", "Level", "check_exclusions", "excluded_rows", "level_at", "level_rows"]

Level = str | float
"""A label or a missing code as text, a number, or a date as ISO text (``2019-02-28``)."""

_MICROSECONDS = 86_400_000_000


@dataclass(frozen=True, kw_only=True)
class Exclusion:
    """A level of the target that discloses nothing, for everybody or for one level of a key.

    Parameters
    ----------
    target_level : str or float
        Level of the target: a label or a missing code as text, a number (where the target is
        grouped: any number of the group), or a date as ISO text. synthpop: ``not.targetlev``,
        and with a key ``exclude.targetlevs``.
    key : str, optional
        Key of a two-way exclusion; synthpop: ``exclude.keys``.
    key_level : str or float, optional
        Level of that key; synthpop: ``exclude.keylevs``.

    Examples
    --------
    Levels are data: they are left out where an exclusion is printed.

    >>> Exclusion(target_level="not applicable", key="age", key_level=9)
    Exclusion(key='age')
    """

    target_level: Level = field(repr=False)
    key: str | None = None
    key_level: Level | None = field(default=None, repr=False)


def level_rows(column: Column, level: Level, groups: Groups | None = None) -> BoolArray:
    """Return where a column has a level, shape (n,).

    Parameters
    ----------
    column : Column
        Any kind.
    level : str or float
        See `Exclusion`.
    groups : sequence of float, optional
        Cut points of a numeric column: then the level stands for its group.

    Examples
    --------
    >>> from synthesizer.data.schema import Variable
    >>> pay = Variable(name="pay", kind=Kind.NUMERIC, missing=("-8",))
    >>> column = Column(pay, np.array([900.0, np.nan, 950.0]), np.array([0, 1, 0], dtype=np.int8))
    >>> level_rows(column, "-8").tolist(), level_rows(column, 900, [800.0]).tolist()
    ([False, True, False], [True, False, True])
    """
    variable = column.variable
    if column.is_coded:
        codes = [code for code, label in enumerate(variable.labels) if label == str(level)]
        return np.isin(column.data, codes)
    if str(level) in variable.missing:
        return np.asarray(column.missing_state() == variable.missing.index(str(level)) + 1)
    value = _number(level, variable.kind)
    if groups is None or isinstance(groups, int):
        return np.asarray(column.data == value)
    group = np.searchsorted(groups, value, side="right")
    same = np.searchsorted(groups, column.data, side="right") == group
    return np.asarray(same & column.is_observed & np.isfinite(value))


def level_at(column: Column, row: int) -> Level:
    """Return the level of one record, as `Exclusion` takes it. It is confidential."""
    variable = column.variable
    if column.is_coded:
        return variable.labels[int(column.data[row])]
    state = int(column.missing_state()[row])
    if state:
        return variable.missing[state - 1]
    value = float(column.data[row])
    if variable.kind is not Kind.DATE:
        return value
    stamp = np.datetime64(0, "us") + np.timedelta64(round(value * _MICROSECONDS), "us")
    return str(stamp.astype("datetime64[D]") if value.is_integer() else stamp)


def excluded_rows(
    table: Table,
    *,
    target: str,
    exclude: Sequence[Exclusion] = (),
    missing_out: Collection[str] = (),
    groups: Mapping[str, Groups] | None = None,
) -> BoolArray:
    """Return which records fall under an exclusion, shape (n,).

    Parameters
    ----------
    table : Table
        Original or synthetic records.
    target : str
        Variable that the intruder wants to learn.
    exclude : sequence of Exclusion
        Levels and pairs that do not count.
    missing_out : collection of str
        Variables whose missing codes do not count.
    groups : mapping of str to sequence of float, optional
        Cut points of numeric variables.
    """
    groups = groups or {}
    rows = np.zeros(table.n_rows, dtype=bool)
    for name in missing_out:
        rows |= ~table[name].is_observed
    for item in exclude:
        chosen = level_rows(table[target], item.target_level, groups.get(target))
        if item.key is not None and item.key_level is not None:
            chosen &= level_rows(table[item.key], item.key_level, groups.get(item.key))
        rows |= chosen
    return rows


def check_exclusions(
    tables: Sequence[Table], *, keys: Sequence[str], target: str, exclude: Sequence[Exclusion]
) -> None:
    """Raise one DataError that lists every exclusion that can have no effect.

    Examples
    --------
    >>> check_exclusions([], keys=["age"], target="pay", exclude=[Exclusion(target_level=0,
    ...     key="sex")])
    Traceback (most recent call last):
    ...
    synthesizer.errors.DataError: 3 problems:
    - exclusion 1 names 'sex', which is not among the keys: add it to them or leave it out
    - exclusion 1 has only one of key and key_level: give both or none
    - exclusion 1 names a level of 'pay' that no dataset has: check how it is written
    """
    problems = [
        f"exclusion {number} {problem}"
        for number, item in enumerate(exclude, start=1)
        for problem in _problems(item, tables, keys, target)
    ]
    if problems:
        raise DataError(problems)


def _problems(
    item: Exclusion, tables: Sequence[Table], keys: Sequence[str], target: str
) -> Iterator[str]:
    named = [(target, item.target_level)]
    if item.key is not None and item.key not in keys:
        yield f"names {item.key!r}, which is not among the keys: add it to them or leave it out"
    elif item.key is not None and item.key_level is not None:
        named.append((item.key, item.key_level))
    if (item.key is None) != (item.key_level is None):
        yield "has only one of key and key_level: give both or none"
    for name, level in named:
        if not any(_knows(table[name], level) for table in tables):
            yield f"names a level of {name!r} that no dataset has: check how it is written"


def _knows(column: Column, level: Level) -> bool:
    """Whether a level is possible: labels without a record are, numbers must be written right."""
    if column.is_coded:
        return str(level) in column.variable.labels
    number = _number(level, column.variable.kind)
    return str(level) in column.variable.missing or bool(np.isfinite(number))


def _number(level: Level, kind: Kind) -> float:
    """Return the number that a level stands for (dates in days), NaN if it stands for none."""
    try:
        if kind is Kind.DATE and isinstance(level, str):
            stamp = np.datetime64(level, "us")
            return np.nan if np.isnat(stamp) else float(stamp.astype(np.int64) / _MICROSECONDS)
        return float(level)
    except ValueError:
        return np.nan
