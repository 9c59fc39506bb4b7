"""Combinations of the values of several variables as whole numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from synthesizer.data.table import Column, FloatArray, IntArray, Table

__all__ = ["OUTSIDE", "Combinations"]

OUTSIDE = -1
"""The number of a row with a value that the table of `Combinations.of` did not have."""

MOST = 2**62
"""Combinations that are counted through; so many more that 63 bits of a hash tell them apart."""


@dataclass(frozen=True, eq=False)
class Combinations:
    """The distinct values of some variables, and a number for every combination of them.

    Parameters
    ----------
    names : tuple of str
        The variables.
    values : tuple of ndarray
        Distinct values of each, rising; missing codes of numbers lie below all numbers.

    Examples
    --------
    >>> from synthesizer.data.schema import Kind, Variable
    >>> grade = Variable(name="grade", kind=Kind.NUMERIC)
    >>> table = Table([Column(grade, np.array([7.0, 5.0, 7.0]))])
    >>> Combinations.of(table, ["grade"]).numbers(table).tolist()
    [1, 0, 1]
    """

    names: tuple[str, ...]
    values: tuple[FloatArray, ...]

    @classmethod
    def of(cls, table: Table, names: Sequence[str]) -> Self:
        """Return the combinations that the values of a table can make."""
        return cls(tuple(names), tuple(np.unique(_values(table[name])) for name in names))

    def numbers(self, table: Table) -> IntArray:
        """Return the number of every row's combination, `OUTSIDE` where a value is new."""
        keys: IntArray = np.zeros(table.n_rows, dtype=np.int64)
        outside = np.zeros(table.n_rows, dtype=bool)
        for name, own in zip(self.names, self.values, strict=True):
            found = _values(table[name])
            place = np.minimum(np.searchsorted(own, found), len(own) - 1)
            outside |= own[place] != found
            keys = keys * len(own) + place if self._is_small else _mixed(keys, place)
        keys[outside] = OUTSIDE
        return keys

    def places(self, table: Table, known: IntArray) -> IntArray:
        """Return where every row's combination stands in rising numbers, -1 where it does not."""
        if not len(known):
            return np.full(table.n_rows, -1)
        keys = self.numbers(table)
        place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        return np.where((known[place] == keys) & (keys != OUTSIDE), place, -1)

    @property
    def _is_small(self) -> bool:
        """Whether all combinations have a number of their own; otherwise they are hashed."""
        return math.prod(len(own) for own in self.values) < MOST

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a saved model."""
        return {"names": list(self.names), "values": list(self.values)}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild from ``to_dict``; raises ValueError where the parts do not fit together."""
        names = tuple(str(name) for name in state["names"])
        values = tuple(np.asarray(part, dtype=np.float64) for part in state["values"])
        if len(values) != len(names) or any(not len(part) for part in values):
            raise ValueError("every variable of a combination needs values")
        if any((np.diff(part) <= 0).any() for part in values):
            raise ValueError("the values of a combination must rise")
        return cls(names, values)


def _mixed(keys: IntArray, place: IntArray) -> IntArray:
    """Return a hash of 63 bits of each key and the next value (the finaliser of splitmix64)."""
    mixed = keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + place.astype(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(1)).astype(np.int64)


def _values(column: Column) -> FloatArray:
    """Return a number for each value: codes and numbers as they are, never NaN."""
    if column.is_coded:
        return np.asarray(column.data, dtype=np.float64)
    lowest = np.finfo(np.float64).min
    missing = lowest * (1 - column.missing_state() * 1e-3)
    return np.where(column.is_observed, np.nan_to_num(column.data), missing)
