"""Changes of a table that must not matter to a measure, and all numbers of what it returns."""

from __future__ import annotations

from typing import Any

import numpy as np

from synthesizer.data.table import Column, Table
from synthesizer.measures.figure import Result, plain
from tests.tables import coded, numeric


def permuted(table: Table) -> Table:
    """Return the records in another order."""
    return table.take(np.random.default_rng(table.n_rows).permutation(table.n_rows))


def in_other_units(table: Table) -> Table:
    """Return numbers doubled and moved, days counted from another one; missing codes stay."""
    return Table(
        [c if c.is_coded else Column(c.variable, 2 * c.data + 64, c.states) for c in table.columns]
    )


def relabelled(table: Table) -> Table:
    """Return the five levels of the first variable, a town, in another order by other names."""
    town = table["town"].data
    codes = np.where(town < 5, 4 - town, town)
    return Table([coded("town", codes, "VWXYZ", ("-",)), *table.columns[1:]])


def widened(table: Table) -> Table:
    """Return the table with a variable more."""
    return table.with_column(numeric("more", np.arange(table.n_rows)))


def numbers(result: Any) -> list[float]:
    """Return all numbers of a result, without the words and without their order."""
    if isinstance(result, Result):
        return numbers(plain(result))
    if isinstance(result, dict | list | tuple):
        parts = result.values() if isinstance(result, dict) else result
        return sorted(number for part in parts for number in numbers(part))
    return [] if result is None or isinstance(result, str) else [float(result)]
