"""One check of what every comparison of an original with synthetic tables needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from synthesizer.data.codes import Groups
from synthesizer.data.table import Column, Table
from synthesizer.errors import DataError

__all__ = ["check_comparable", "check_keys"]


def check_keys(
    table: Table,
    *,
    keys: Sequence[str],
    target: str | None = None,
    groups: Mapping[str, Groups] | None = None,
    constant_target: bool = False,
) -> None:
    """Raise one DataError that lists every problem of keys, target and groups.

    ``constant_target`` allows a target with one value, for parts of a table that has more.

    Examples
    --------
    >>> check_keys(Table([], n_rows=3), keys=["age"])
    Traceback (most recent call last):
    ...
    synthesizer.errors.DataError: key 'age' is not in the data: name one of its columns
    """
    problems = [*_key_problems(table, keys, target), *_group_problems(table, groups or {})]
    known = None if target is None else table.get(target)
    if known is not None and not constant_target and _is_constant(known):
        problems.append(f"target {target!r} has only one value: choose one with at least two")
    if problems:
        raise DataError(problems)


def check_comparable(
    original: Table,
    synthetic: Sequence[Table],
    names: Sequence[str] | None = None,
    *,
    first: int = 1,
) -> None:
    """Raise one DataError that lists every reason why tables cannot be compared.

    Levels and missing codes may differ, since values are matched by label; kinds may not.

    Parameters
    ----------
    original : Table
        Original records, at least one.
    synthetic : sequence of Table
        Synthetic tables, each with at least one record and the named variables.
    names : sequence of str, optional
        Variables to be compared; default all of the original.
    first : int
        Number of the first of these datasets, for messages where they come one by one.
    """
    problems = [] if original.n_rows else ["the original has no records: give it some"]
    if not synthetic:
        problems.append("there is no synthetic dataset: generate at least one")
    names = original.names if names is None else names
    for number, table in enumerate(synthetic, start=first):
        if not table.n_rows:
            problems.append(f"synthetic dataset {number} has no records: generate it again")
        problems.extend(_column_problems(original, table, names, number))
    if problems:
        raise DataError(dict.fromkeys(problems))


def _key_problems(table: Table, keys: Sequence[str], target: str | None) -> Iterator[str]:
    if isinstance(keys, str):
        yield f"keys must be a list of names, not one text: write [{keys!r}]"
        return
    if not len(keys):
        yield "there are no keys: name at least one variable that an intruder may know"
    for key in dict.fromkeys(keys):
        if key not in table:
            yield f"key {key!r} is not in the data: name one of its columns"
        if list(keys).count(key) > 1:
            yield f"key {key!r} is named twice: name it once"
    if target is None:
        return
    if target in keys:
        yield f"target {target!r} is also a key: remove it from the keys or choose another target"
    if target not in table:
        yield f"target {target!r} is not in the data: name one of its columns"


def _group_problems(table: Table, groups: Any) -> Iterator[str]:
    if not isinstance(groups, Mapping):
        yield "groups must be a map from variable to a number of groups or cut points"
        return
    for name, wanted in groups.items():
        if name not in table:
            yield f"groups name {name!r}, which is not in the data: name one of its columns"
        elif table[name].is_coded:
            yield f"groups name {name!r}, which is not numeric: remove it from the groups"
        yield from (f"groups of {name!r} {problem}" for problem in _size_problems(wanted))


def _size_problems(wanted: object) -> Iterator[str]:
    if isinstance(wanted, bool) or not isinstance(wanted, int | np.integer | Sequence | np.ndarray):
        yield "must be a whole number or a list of cut points"
    elif isinstance(wanted, str):
        yield "must be a whole number or a list of cut points, not text"
    elif isinstance(wanted, int | np.integer):
        if wanted < 1:
            yield f"({wanted}) must be at least 1"
    elif not np.isfinite(np.asarray(wanted, dtype=np.float64)).all():
        yield "must be finite cut points"


def _is_constant(column: Column) -> bool:
    if len(column) == 0:
        return False
    states = column.missing_state()
    if (states != states[0]).any():
        return False
    return bool(states[0] > 0 or (column.data == column.data[0]).all())


def _column_problems(
    original: Table, table: Table, names: Sequence[str], number: int
) -> Iterator[str]:
    for name in names:
        if name not in table:
            yield f"column {name!r} is not in synthetic dataset {number}: generate it too"
            continue
        ours, theirs = original[name].variable.kind, table[name].variable.kind
        if ours != theirs and not (ours.is_coded and theirs.is_coded):
            yield (
                f"column {name!r} is {ours} in the original and {theirs} in synthetic dataset "
                f"{number}: read both with the same schema"
            )
