"""Group or blank levels that few persons have, before anything is fitted.

What a model never saw it cannot show. A level of few may be put together with others under a name,
or become a missing code; a level of an ordered variable joins the one beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from synthesizer.data.after import blank_code, with_blank
from synthesizer.data.errors import plural
from synthesizer.data.table import Column, IntArray, Kind, Table

MISSING: Final = "missing"
"""What levels become that are blanked."""


def group_rare(
    table: Table,
    min_count: int,
    to: str,
    *,
    columns: Mapping[str, Sequence[str]] | None = None,
    persons: str | None = None,
) -> tuple[Table, list[str]]:
    """Return a table without levels that fewer than ``min_count`` persons have, and what was done.

    Parameters
    ----------
    table : Table
        The confidential data.
    min_count : int
        Persons that a level needs.
    to : str
        Name of the level that rare ones become, or ``missing``. Where even together fewer persons
        have them, the next smallest levels join them.
    columns : mapping, optional
        Variables that several columns hold over time, which are grouped alike.
    persons : str, optional
        Column that tells persons apart; each row is a person when absent.

    Examples
    --------
    >>> from synthesizer.data.table import Variable
    >>> job = Variable(name="job", kind=Kind.CATEGORICAL, levels=("cook", "judge", "pope"))
    >>> people = Table([Column(job, np.array([0] * 9 + [1] * 4 + [2], dtype=np.int32))])
    >>> grouped, notes = group_rare(people, 5, "other")
    >>> grouped["job"].variable.levels, notes
    (('cook', 'other'), ["rare: 2 levels of 'job' of fewer than 5 became 'other'"])
    """
    owners = np.arange(table.n_rows)
    if persons is not None:
        owners = np.unique(table[persons].data, return_inverse=True)[1]
    wide = dict(columns or {})
    cells = {cell for names in wide.values() for cell in names}
    groups = wide | {name: (name,) for name in table.names if name not in cells}
    changed: list[Column] = []
    notes = []
    for name, members in groups.items():
        parts = [table[cell] for cell in members if cell in table]
        if not parts or parts[0].variable.kind not in (Kind.CATEGORICAL, Kind.ORDERED):
            continue
        new, n_rare = _new_levels(parts, owners, min_count, to)
        if n_rare:
            changed += [_recoded(part, new, to) for part in parts]
            joins = to != MISSING and _is_ordered(parts)
            what = "joined the next level" if joins else f"became {to!r}"
            merged = sum(label == to != level for level, label in new.items())
            n_more = 0 if joins else merged - n_rare
            more = f", and so did {n_more} more: together they were still few" if n_more > 0 else ""
            notes.append(
                f"rare: {plural(n_rare, 'level')} of {name!r} of fewer than {min_count} {what}"
                + more
            )
    return table.with_columns(changed), notes


def _is_ordered(parts: Sequence[Column]) -> bool:
    return parts[0].variable.kind is Kind.ORDERED


def _new_levels(
    parts: Sequence[Column], owners: IntArray, min_count: int, to: str
) -> tuple[dict[str, str | None], int]:
    """Return what every level becomes, None where it is blanked, and how many levels are rare."""
    levels = list(dict.fromkeys(level for part in parts for level in part.variable.levels))
    holders = {level: _holders(parts, owners, [level]) for level in levels}
    rare = [level for level in levels if 0 < holders[level] < min_count]
    new: dict[str, str | None] = {level: level for level in levels}
    if not rare:
        return new, 0
    if to == MISSING:
        return new | dict.fromkeys(rare), len(rare)
    if _is_ordered(parts):
        return _joined(holders, parts, owners, min_count), len(rare)
    grouped = [*rare, *(level for level in levels if level == to and level not in rare)]
    others = sorted((n, level) for level, n in holders.items() if n and level not in grouped)
    while others and _holders(parts, owners, grouped) < min_count:
        grouped.append(others.pop(0)[1])
    return new | dict.fromkeys(grouped, to), len(rare)


def _joined(
    holders: Mapping[str, int], parts: Sequence[Column], owners: IntArray, min_count: int
) -> dict[str, str | None]:
    """Let the rarest level join the smaller of those beside it, until none is rare."""
    runs = [[level] for level, n in holders.items() if n]
    sizes = [holders[level] for (level,) in runs]
    while len(runs) > 1:
        least = int(np.argmin(sizes))
        if sizes[least] >= min_count:
            break
        beside = [i for i in (least - 1, least + 1) if 0 <= i < len(runs)]
        other = min(beside, key=lambda i: sizes[i])
        low = min(least, other)
        joined = runs[low] + runs[low + 1]
        runs[low : low + 2], sizes[low : low + 2] = [joined], [_holders(parts, owners, joined)]
    new: dict[str, str | None] = {level: level for level in holders}
    for run in runs:
        new |= dict.fromkeys(run, max(run, key=lambda level: holders[level]))
    return new


def _holders(parts: Sequence[Column], owners: IntArray, levels: Sequence[str]) -> int:
    """Return how many persons have any of some levels in any column."""
    has = np.zeros(len(owners), dtype=np.bool_)
    for part in parts:
        codes = [i for i, level in enumerate(part.variable.levels) if level in levels]
        has |= np.isin(part.data, codes)
    return len(np.unique(owners[has]))


def _recoded(column: Column, new: Mapping[str, str | None], to: str) -> Column:
    """Return a column in which every level is what it became."""
    old = column.variable
    variable = with_blank(old) if None in new.values() else old
    blank = blank_code(variable) or ""
    wanted = [blank if (label := new[level]) is None else label for level in old.levels]
    levels = [level for level in old.levels if level in wanted]
    if to in wanted and to not in (*levels, *variable.missing):
        levels.append(to)
    variable = replace(variable, levels=tuple(levels))
    where = {label: code for code, label in enumerate(variable.labels)}
    lookup = np.array([where[label] for label in (*wanted, *old.missing)], dtype=np.int32)
    return Column(variable, lookup[column.data])
