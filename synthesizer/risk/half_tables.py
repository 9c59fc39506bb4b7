"""Both halves of a half split and the synthetic data as comparable tables of bearable size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthesizer.data.comparable import check_comparable
from synthesizer.data.pairs import Data, as_tables, column_names
from synthesizer.data.schema import Kind
from synthesizer.data.table import Table
from synthesizer.errors import DataError

__all__ = ["all_names", "as_halves", "equal_sizes", "pooled"]


def all_names(data: Data) -> tuple[str, ...]:
    """Return the names of all variables; of tables without identifiers, which are made anew."""
    if isinstance(data, Table):
        return tuple(c.name for c in data.columns if c.variable.kind is not Kind.ID)
    return column_names(data)


def as_halves(
    fitted: Data, unseen: Data, synthetic: Data | Sequence[Data], names: Sequence[str]
) -> tuple[Table, Table, tuple[Table, ...]]:
    """Return both halves and the synthetic datasets as tables of the named variables, checked.

    Raises
    ------
    DataError
        With every problem of the halves, or else with every problem of the synthetic datasets.
    """
    if not names:
        raise DataError("there is no variable to compare: name at least one")
    try:
        known, (held_out,) = as_tables(fitted, unseen, names)
        _check_names(known, names)
        check_comparable(known, [held_out], names)
    except DataError as error:
        # The unseen half takes the place of a synthetic dataset here; readers must not see that.
        raise DataError(
            problem.replace("synthetic dataset 1", "the unseen half") for problem in error.problems
        ) from None
    _, tables = as_tables(known, synthetic, names)
    check_comparable(known, tables, names)
    return known.select(names), held_out.select(names), tuple(t.select(names) for t in tables)


def equal_sizes(halves: tuple[Table, Table], rng: np.random.Generator) -> tuple[Table, Table]:
    """Return samples of equal size: that of the smaller half."""
    size = min(half.n_rows for half in halves)
    first, second = (_sample(half, size, rng) for half in halves)
    return first, second


def pooled(tables: Sequence[Table], largest: int, rng: np.random.Generator) -> tuple[Table, ...]:
    """Return a sample of all records of several tables, ``largest`` at most."""
    sizes = [table.n_rows for table in tables]
    if sum(sizes) <= largest:
        return tuple(tables)
    places = np.sort(rng.choice(sum(sizes), size=largest, replace=False))
    ends = np.cumsum(sizes)
    parts = []
    for table, end in zip(tables, ends, strict=True):
        own = places[(places >= end - table.n_rows) & (places < end)] - (end - table.n_rows)
        parts.append(table.take(own))
    return tuple(parts)


def _check_names(table: Table, names: Sequence[str]) -> None:
    unknown = [name for name in names if name not in table]
    if unknown:
        raise DataError(
            f"column {name!r} is not in the fitted half: name one of its columns"
            for name in unknown
        )


def _sample(table: Table, size: int, rng: np.random.Generator) -> Table:
    if table.n_rows <= size:
        return table
    return table.take(np.sort(rng.choice(table.n_rows, size=size, replace=False)))
