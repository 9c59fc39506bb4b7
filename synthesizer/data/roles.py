"""The kind of every column for a starter configuration, and what the steward should check.

A run refuses an ambiguous column. A starter configuration must run: it reads such a column in the
way that loses least, or drops it, and gives the reason.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from synthesizer.data.errors import DataError, Problems
from synthesizer.data.guessing import Declaration, Inferred, infer_each
from synthesizer.data.sources import RawTable
from synthesizer.data.table import Kind

REPEATS: Final = "an identifier whose values repeat"


@dataclass(frozen=True, kw_only=True)
class Roles:
    """How each column of a source is read."""

    raw: RawTable
    """The columns that stay."""
    declared: Mapping[str, Declaration]
    """Declarations that these columns need."""
    inferred: tuple[Inferred, ...]
    """The variables of these columns, in order."""
    dropped: Mapping[str, str] = field(default_factory=dict)
    """Columns that are left out, with the reason."""
    looks: Mapping[str, str] = field(default_factory=dict)
    """Columns that the steward should check, with the reason."""


def roles_of(
    raw: RawTable,
    declared: Mapping[str, Declaration],
    *,
    drop: Collection[str] = (),
    fixed: Collection[str] = (),
    repeats: bool = False,
) -> Roles:
    """Return how each column is read.

    Parameters
    ----------
    raw : RawTable
        The source.
    declared : mapping
        Declarations by column.
    drop : collection of str
        Columns to leave out unread.
    fixed : collection of str
        Columns that must stay: their problems are errors.
    repeats : bool
        Whether identifiers may repeat, as they do where units have several rows.

    Raises
    ------
    DataError
        With every problem of the fixed columns, or if no column is left.
    """
    wanted = raw.select([name for name in raw.names if name not in drop])
    declared, dropped, looks = dict(declared), dict.fromkeys(drop, ""), {}
    inferred: dict[str, Inferred] = {}
    problems = Problems()
    for name, item in infer_each(wanted, declared):
        if isinstance(item, Inferred):
            inferred[name] = item
            if item.repeats and not repeats and name not in fixed:
                dropped[name] = REPEATS
            elif item.doubt or (item.variable.kind is Kind.ID and name not in declared):
                looks[name] = item.reason.replace("; if wrong", ". If wrong")
            elif item.variable.kind is Kind.CATEGORICAL and (spellings := _spellings(item)):
                looks[name] = spellings
        elif name in fixed:
            sentence = item.in_every_row if declared[name].every_row else str(item)
            problems.append(f"{raw.origin}: column {name!r} {sentence}")
        elif item.cure is not None and (cured := _cured(wanted, name, item.cure)):
            inferred[name] = cured
            declared[name], looks[name] = item.cure, f"{item.fault}: {item.cured}"
        else:
            dropped[name] = item.fault
    problems.settle(DataError)
    usable = wanted.select([name for name in wanted.names if name not in dropped])
    if not usable.names:
        raise DataError(_no_column(raw, dropped, drop))
    return Roles(
        raw=usable,
        declared={name: one for name, one in declared.items() if name in usable.names},
        inferred=tuple(inferred[name] for name in usable.names),
        dropped=dropped,
        looks=looks | {n: f"left out: {why}" for n, why in dropped.items() if n not in drop},
    )


def _spellings(item: Inferred) -> str:
    """Return a note on levels that differ by case or outer blanks only; empty without any."""
    levels = item.variable.levels
    n_more = len(levels) - len({level.strip().casefold() for level in levels})
    words = f"{n_more} of {len(levels)} levels repeat another one in other case or with blanks"
    return f"{words}: write them alike in the file" if n_more else ""


def _cured(raw: RawTable, name: str, cure: Declaration) -> Inferred | None:
    """Return a column read with the declaration that cures its problem; None if it fails."""
    ((_, again),) = infer_each(raw.select([name]), {name: cure})
    return again if isinstance(again, Inferred) else None


def _no_column(raw: RawTable, dropped: Mapping[str, str], drop: Collection[str]) -> list[str]:
    """Return the problems of a source without a usable column."""
    if set(drop) >= set(raw.names):
        return [f"{raw.origin}: every column is dropped; keep one that can be synthesised"]
    return [
        f"{raw.origin}: no column can be synthesised; name the identifiers of persons (--id)"
    ] + [
        f"{raw.origin}: column {name!r} {why}" for name, why in dropped.items() if name not in drop
    ]
