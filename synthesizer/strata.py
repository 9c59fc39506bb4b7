"""Strata: which rows belong together, how many synthetic rows each gets, blocks of rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthesizer.data.table import IntArray, Table

__all__ = ["BLOCK_ROWS", "allocate", "row_blocks", "split_strata", "whole_number_problems"]

BLOCK_ROWS = 50_000
"""Rows drawn with one generator; a constant, since the draws depend on it."""

MAX_ROWS = 100_000_000
"""More rows than that in one dataset do not fit into the memory of any usual machine."""


def row_blocks(sizes: Sequence[int], length: int) -> list[tuple[int, int, int]]:
    """Return (stratum, first unit, end unit), units counted within the stratum."""
    return [
        (s, start, min(start + length, size))
        for s, size in enumerate(sizes)
        for start in range(0, size, length)
    ]


def split_strata(table: Table, names: Sequence[str]) -> list[IntArray]:
    """Return the row positions of every stratum: every combination of the named variables."""
    if not names:
        return [np.arange(table.n_rows)]
    codes = np.zeros(table.n_rows, dtype=np.int64)
    for name in names:
        column = table[name]
        value = np.nan_to_num(np.asarray(column.data, dtype=np.float64), nan=-np.inf)
        state = column.missing_state().astype(np.int64)
        key = np.unique(value, return_inverse=True)[1] * (state.max(initial=0) + 1) + state
        codes = np.unique(codes * (key.max(initial=0) + 1) + key, return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)


def allocate(rows: int, sizes: Sequence[int]) -> list[int]:
    """Share ``rows`` out in proportion to ``sizes`` by largest remainders.

    Examples
    --------
    >>> allocate(10, [50, 25, 25])
    [5, 3, 2]
    """
    exact = np.asarray(sizes) * (rows / sum(sizes))
    floors = np.floor(exact).astype(int)
    order = np.argsort(-(exact - floors), kind="stable")
    floors[order[: rows - floors.sum()]] += 1
    return [int(size) for size in floors]


def whole_number_problems(**numbers: object) -> list[str]:
    """Say which numbers of datasets or rows are none; None stands for the default.

    Examples
    --------
    >>> whole_number_problems(m=0, rows=None)
    ['m (0) must be at least 1']
    """
    problems = []
    for name, number in numbers.items():
        if number is None:
            continue
        if isinstance(number, bool) or not isinstance(number, int | np.integer):
            problems.append(f"{name} ({number!r}) must be a whole number")
        elif number < 1:
            problems.append(f"{name} ({number}) must be at least 1")
        elif number > MAX_ROWS:
            problems.append(f"{name} ({number}) must be at most {MAX_ROWS}; ask for several runs")
    return problems
