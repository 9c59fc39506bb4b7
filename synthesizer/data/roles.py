"""A role for every column, also for those that no guess is safe for, and what a person should see.

A run refuses a column that it cannot read for certain. A starter configuration has to run, so here
such a column is read in the way that loses least, with the reason, or left out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from synthesizer.data.errors import DataError
from synthesizer.data.guessing import Declaration, Inferred, infer_each
from synthesizer.data.sources import RawTable
from synthesizer.data.table import Kind

REPEATS: Final = "an identifier whose values repeat"


@dataclass(frozen=True, kw_only=True)
class Roles:
    """What is made of the columns of a source."""

    raw: RawTable
    """The columns that stay."""
    declared: Mapping[str, Declaration]
    """What has to be said of them, so that they can be read."""
    inferred: tuple[Inferred, ...]
    """These columns, in order."""
    dropped: Mapping[str, str] = field(default_factory=dict)
    """Columns that are left out, and why."""
    looks: Mapping[str, str] = field(default_factory=dict)
    """Columns of which a person should decide something, and what."""


def roles_of(
    raw: RawTable,
    declared: Mapping[str, Declaration],
    *,
    drop: Collection[str] = (),
    fixed: Collection[str] = (),
    repeats: bool = False,
) -> Roles:
    """Give every column a role.

    Parameters
    ----------
    raw : RawTable
        The source.
    declared : mapping
        What is known of columns.
    drop : collection of str
        Columns that somebody has asked to leave out; they are not looked at.
    fixed : collection of str
        Columns that cannot be left out: their problems are errors.
    repeats : bool
        Whether identifiers may repeat: units have several rows.

    Raises
    ------
    DataError
        With every problem of the fixed columns, and where no column is left.
    """
    kept = raw.select([name for name in raw.names if name not in drop])
    declared, dropped, looks = dict(declared), dict.fromkeys(drop, ""), {}
    inferred: dict[str, Inferred] = {}
    problems = []
    for name, found in infer_each(kept, declared):
        if isinstance(found, Inferred):
            inferred[name] = found
            if found.repeats and not repeats and name not in fixed:
                dropped[name] = REPEATS
            elif found.doubt or (found.variable.kind is Kind.ID and name not in declared):
                looks[name] = found.reason.replace("; but ", ". If wrong, write ")
        elif name in fixed:
            sentence = found.in_every_row if declared[name].every_row else str(found)
            problems.append(f"{raw.origin}: column {name!r} {sentence}")
        elif found.cure is not None and (cured := _cured(kept, name, found.cure)):
            inferred[name] = cured
            declared[name], looks[name] = found.cure, f"{found.fault}: {found.cured}"
        else:
            dropped[name] = found.fault
    if problems:
        raise DataError(problems)
    left = kept.select([name for name in kept.names if name not in dropped])
    if not left.names:
        raise DataError(_nothing_left(raw, dropped, drop))
    declared = {name: said for name, said in declared.items() if name in left.names}
    return Roles(
        raw=left,
        declared=declared,
        inferred=tuple(inferred[name] for name in left.names),
        dropped=dropped,
        looks=looks | {n: f"left out: {why}" for n, why in dropped.items() if n not in drop},
    )


def _cured(raw: RawTable, name: str, cure: Declaration) -> Inferred | None:
    """Return a column read with the declaration that its problem suggests; None if impossible."""
    ((_, again),) = infer_each(raw.select([name]), {name: cure})
    return again if isinstance(again, Inferred) else None


def _nothing_left(raw: RawTable, dropped: Mapping[str, str], drop: Collection[str]) -> list[str]:
    """Return a sentence about the reasons why no column is left."""
    if set(drop) >= set(raw.names):
        return [f"{raw.origin}: every column is dropped; keep one that can be synthesised"]
    return [f"{raw.origin}: no column can be synthesised; declare the columns (--id)"] + [
        f"{raw.origin}: column {name!r} {why}" for name, why in dropped.items() if name not in drop
    ]
