"""A first look at a file: what each variable is taken for, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from synthesizer.data.encoding import data_notes, encode_inferred
from synthesizer.data.inference import Declaration, Inferred, infer
from synthesizer.data.schema import Kind
from synthesizer.data.sources import RawTable, read_path
from synthesizer.data.table import Column, Table

__all__ = ["Codebook", "CodebookVariable", "make_codebook"]

SHOWN_LEVELS = 12
RARE = 5
"""A level held by fewer rows is rare: it may point to persons, so it is counted, not named."""


@dataclass(frozen=True, kw_only=True)
class CodebookVariable:
    """One variable of a file.

    Parameters
    ----------
    name, kind : str
        What it is called and taken for.
    levels : int
        Distinct values that occur, without missing codes.
    missing : int
        Rows with a missing code.
    missing_codes : str
        The codes as they are written; an empty cell is shown as (empty).
    shows : str
        Frequent levels, or the 5th, 50th and 95th percentile.
    reason : str
        Why this kind.
    """

    name: str
    kind: str
    levels: int
    missing: int
    missing_codes: str
    shows: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Codebook:
    """All variables of a file; confidential, since it is computed from the data."""

    origin: str
    n_rows: int
    variables: tuple[CodebookVariable, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self) | {"confidential": True}


def make_codebook(path: Path, declared: Mapping[str, Declaration] | None = None) -> Codebook:
    """Describe a CSV or Parquet file.

    Raises
    ------
    DataError
        If the file cannot be read or encoded, with every problem.
    """
    raw = read_path(path)
    return describe(raw, declared or {})


def describe(raw: RawTable, declared: Mapping[str, Declaration]) -> Codebook:
    """Describe a source that was read already."""
    inferred = infer(raw, declared)
    return describe_encoded(raw, inferred, encode_inferred(raw, inferred))


def describe_encoded(raw: RawTable, inferred: Sequence[Inferred], table: Table) -> Codebook:
    """Describe a source that was encoded already."""
    variables = tuple(_variable(found, table[found.variable.name]) for found in inferred)
    return Codebook(
        origin=raw.origin,
        n_rows=table.n_rows,
        variables=variables,
        notes=tuple(data_notes(raw, table)),
    )


def _variable(inferred: Inferred, column: Column) -> CodebookVariable:
    variable = column.variable
    is_id = variable.kind is Kind.ID
    return CodebookVariable(
        name=variable.name,
        kind=variable.kind.value,
        levels=_distinct(column),
        missing=int((~column.is_observed).sum()),
        missing_codes=", ".join(code or "(empty)" for code in variable.missing),
        shows="numbered anew" if is_id else _shown(column),
        reason=inferred.reason,
    )


def _distinct(column: Column) -> int:
    return len(np.unique(column.data[column.is_observed]))


def _shown(column: Column) -> str:
    return _levels(column) if column.is_coded else _percentiles(column)


def _levels(column: Column) -> str:
    """Name the frequent levels; rare ones are only counted, for they may point to persons."""
    labels = column.variable.levels
    counts = np.bincount(column.data[column.is_observed], minlength=len(labels))
    frequent = [i for i in np.argsort(-counts, kind="stable") if counts[i] >= RARE]
    named = ", ".join(labels[i] for i in frequent[:SHOWN_LEVELS])
    rest = int((counts > 0).sum()) - min(len(frequent), SHOWN_LEVELS)
    return f"{named} and {rest} more" if rest else named


def _percentiles(column: Column) -> str:
    values = column.data[column.is_observed]
    if not len(values):
        return ""
    points = np.percentile(values, [5, 50, 95], method="nearest")
    if column.variable.kind is Kind.DATE:
        shown = [str(np.datetime64(int(day), "D")) for day in np.floor(points)]
    else:
        shown = [f"{point:g}" for point in points]
    named = zip(("5 %", "median", "95 %"), shown, strict=True)
    return ", ".join(f"{name}: {value}" for name, value in named)
