"""A conditional distribution by counts that are shrunk towards coarser cells.

Levels go from the finest cell to the overall margin. With n persons in the cell of a level the
probability is n / (n + c) times the cell's frequencies plus c / (n + c) times the probability of
the next coarser level. To draw from this a row stays in its cell with probability n / (n + c) and
else moves on, so that no table of probabilities is ever needed; probabilities are worked out only
for the few rows that have to be drawn under a mask.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from synthesizer.careers.runs import Codes, Index
from synthesizer.data.table import FloatArray, IntArray

__all__ = ["CountTable", "Hierarchy", "cell_keys", "fit_hierarchy"]

LARGEST_KEY = 2**62


def cell_keys(columns: Sequence[IntArray], sizes: Sequence[int]) -> Index:
    """Pack columns of codes into one number per row (mixed radix), shape (n,).

    Raises
    ------
    ValueError
        If the numbers would not fit into 64 bits.

    Examples
    --------
    >>> cell_keys([np.array([1, 0]), np.array([2, 3])], [2, 10]).tolist()
    [12, 3]
    """
    product = 1
    for size in sizes:
        product *= size
    if product > LARGEST_KEY:
        raise ValueError("sequences have too many periods and states for the Markov chain")
    keys = np.zeros(len(columns[0]), dtype=np.int64)
    for column, size in zip(columns, sizes, strict=True):
        keys = keys * size + column
    return keys


@dataclass(frozen=True, eq=False)
class CountTable:
    """Counts of states by cell.

    Parameters
    ----------
    cells : ndarray of int64, shape (C,)
        Keys of the cells, ascending.
    ends : ndarray of int64, shape (C,)
        Where the entries of each cell end.
    states : ndarray of int32, shape (E,)
        State of each entry.
    counts : ndarray of int64, shape (E,)
        Persons of each entry, >= 1.
    """

    cells: Index
    ends: Index
    states: Codes
    counts: Index

    def __post_init__(self) -> None:
        cumulated = np.concatenate([[0], np.cumsum(self.counts)])
        begins = np.concatenate([[0], self.ends[:-1]])
        object.__setattr__(self, "_cumulated", cumulated)
        object.__setattr__(self, "_low", cumulated[begins])
        object.__setattr__(self, "_high", cumulated[self.ends])
        object.__setattr__(self, "_begins", begins)

    _cumulated: Any = None
    _low: Any = None
    _high: Any = None
    _begins: Any = None

    def find(self, keys: Index) -> tuple[Index, Index]:
        """Return the cell of each key and its persons (0 where there is no such cell)."""
        cell = np.minimum(np.searchsorted(self.cells, keys), len(self.cells) - 1)
        found = self.cells[cell] == keys
        return cell, np.where(found, self._high[cell] - self._low[cell], 0)

    def draw(self, cell: Index, *, rng: np.random.Generator) -> Codes:
        """Draw a state by the frequencies of each cell, shape (m,)."""
        low, high = self._low[cell], self._high[cell]
        points = low + (rng.random(len(cell)) * (high - low)).astype(np.int64)
        entry = np.searchsorted(self._cumulated, np.minimum(points, high - 1), side="right") - 1
        return np.asarray(self.states[entry])

    def frequencies(self, cell: Index, n_states: int) -> FloatArray:
        """Return the counts of all states in the given cells, shape (m, A)."""
        begins, sizes = self._begins[cell], (self.ends - self._begins)[cell]
        rows = np.repeat(np.arange(len(cell)), sizes)
        offset = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        entry = np.repeat(begins, sizes) + offset
        result = np.zeros((len(cell), n_states))
        result[rows, self.states[entry]] = self.counts[entry]
        return result

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a saved model."""
        return {
            "cells": self.cells,
            "ends": self.ends,
            "states": self.states,
            "counts": self.counts,
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any], *, n_states: int) -> Self:
        """Rebuild from ``to_dict``; raises ValueError on anything that is not such a table."""
        cells, ends, counts = (
            np.asarray(state[key], dtype=np.int64) for key in ("cells", "ends", "counts")
        )
        states = np.asarray(state["states"], dtype=np.int32)
        if any(array.ndim != 1 or not len(array) for array in (cells, ends, states, counts)):
            raise ValueError("tables of counts must not be empty")
        if len(cells) != len(ends) or len(states) != len(counts) or ends[-1] != len(states):
            raise ValueError("tables of counts must have one end for each cell")
        if (np.diff(cells) <= 0).any() or (np.diff(ends, prepend=0) <= 0).any():
            raise ValueError("cells of tables of counts must be ascending")
        if counts.min() < 1 or float(counts.sum(dtype=np.float64)) > 2**62:
            raise ValueError("counts must be at least 1")
        if states.min() < 0 or states.max() >= n_states:
            raise ValueError("states of tables of counts are out of range")
        return cls(cells, ends, states, counts)


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Tables of counts from the finest level to the margin (one cell with key 0).

    Parameters
    ----------
    tables : sequence of CountTable
    concentration : float
        c > 0, in persons.
    n_states : int
        A.
    """

    tables: Sequence[CountTable]
    concentration: float
    n_states: int

    def draw(self, keys: Sequence[Index], *, rng: np.random.Generator) -> Codes:
        """Draw a state for each row; ``keys`` holds an array (m,) for each level."""
        result = np.empty(len(keys[0]), dtype=np.int32)
        left = np.arange(len(result))
        for level, table in enumerate(self.tables):
            cell, n = table.find(keys[level][left])
            stay = rng.random(len(left)) * (n + self.concentration) < n
            if level == len(self.tables) - 1:
                stay[:] = True
            result[left[stay]] = table.draw(cell[stay], rng=rng)
            left = left[~stay]
        return result

    def probabilities(self, keys: Sequence[Index]) -> FloatArray:
        """Return the probabilities of all states for each row, shape (m, A); for few rows."""
        result = np.zeros((len(keys[0]), self.n_states))
        for level in range(len(self.tables) - 1, -1, -1):
            table = self.tables[level]
            cell, n = table.find(keys[level])
            known = n > 0
            counts = table.frequencies(cell[known], self.n_states)
            c = 0.0 if level == len(self.tables) - 1 else self.concentration
            size = n[known][:, None]
            result[known] = (counts + c * result[known]) / (size + c)
        return result

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a saved model."""
        return {
            "tables": [table.to_dict() for table in self.tables],
            "concentration": self.concentration,
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any], *, n_states: int, n_levels: int) -> Self:
        """Rebuild from ``to_dict``; raises ValueError on anything that is no hierarchy."""
        tables = [CountTable.from_dict(t, n_states=n_states) for t in state["tables"]]
        concentration = float(state["concentration"])
        if len(tables) != n_levels or tables[-1].cells.tolist() != [0]:
            raise ValueError("a hierarchy of counts must end in a margin")
        if not 0 < concentration < np.inf:
            raise ValueError("concentration must be a number above 0")
        return cls(tables, concentration, n_states)


def fit_hierarchy(
    keys: Sequence[Index], states: npt.NDArray[np.integer], n_states: int, concentration: float
) -> Hierarchy:
    """Count states by the cells of every level, finest first.

    Examples
    --------
    >>> cells, margin = np.array([0, 0, 1, 1]), np.zeros(4, dtype=np.int64)
    >>> fitted = fit_hierarchy([cells, margin], np.array([0, 0, 1, 0]), 2, concentration=2.0)
    >>> fitted.probabilities([np.array([0, 1]), np.array([0, 0])]).tolist()
    [[0.875, 0.125], [0.625, 0.375]]
    """
    return Hierarchy([_count(level, states, n_states) for level in keys], concentration, n_states)


def _count(keys: Index, states: npt.NDArray[np.integer], n_states: int) -> CountTable:
    cells, cell = np.unique(keys, return_inverse=True)
    pairs, counts = np.unique(cell.reshape(-1) * n_states + states, return_counts=True)
    owner = pairs // n_states
    ends = np.searchsorted(owner, np.arange(len(cells)), side="right")
    return CountTable(
        cells.astype(np.int64),
        ends.astype(np.int64),
        (pairs % n_states).astype(np.int32),
        counts.astype(np.int64),
    )
