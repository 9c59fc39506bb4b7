"""Whole-number codes for values and for combinations of values, fitted on one table.

A coder is fitted on the original table and applied to others. A value or combination that the
original lacks becomes -1. So tables are compared by label, not by position of a level, and the
product of all levels (which may exceed 2**63) is never needed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Table

Codes = npt.NDArray[np.int64]
Groups = int | Sequence[float]

# A dense lookup of up to 64 MB, and 64 entries a code, beats a binary search.
_DENSE, _DENSE_PER_CODE = 2**24, 64
_LARGEST = 2**62


def cut_points(column: Column, groups: Groups) -> FloatArray:
    """Return the inner cut points of numbers or dates, ascending, shape (c,).

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> pay = Column(Variable(name="pay", kind=Kind.NUMERIC), np.array([1.0, 2.0, 3.0, 4.0]))
    >>> cut_points(pay, 2).tolist(), cut_points(pay, [3, 2]).tolist()
    ([2.5], [2.0, 3.0])
    """
    if not isinstance(groups, int | np.integer):
        return np.unique(np.asarray(groups, dtype=np.float64))
    values = column.data[column.is_observed]
    if not len(values):
        return np.empty(0)
    return np.unique(np.quantile(values, np.arange(1, groups) / groups))


@dataclass(frozen=True, eq=False)
class ColumnCoder:
    """Coder of one variable: labels by text, numbers exactly or by group.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> pay = Variable(name="pay", kind=Kind.NUMERIC, missing=("",))
    >>> states = np.array([0, 0, 1], dtype=np.int8)
    >>> coder = ColumnCoder.fit(Column(pay, np.array([900.0, -5.0, np.nan]), states))
    >>> coder.encode(Column(pay, np.array([-5.0, np.nan, 7.0]), states[[0, 2, 0]])).tolist()
    [0, 2, -1]
    """

    size: int
    labels: tuple[str, ...]
    """Texts with a code: labels of a coded variable, or missing codes."""
    values: FloatArray | None = None
    """Distinct numbers of the original, ascending, if coded exactly."""
    cuts: FloatArray | None = None
    """Inner cut points if numbers are grouped; lower ends are included."""

    @classmethod
    def fit(cls, column: Column, groups: Groups | None = None) -> ColumnCoder:
        """Return the coder of an original column; ``groups`` is for numbers only."""
        variable = column.variable
        if column.is_coded:
            labels = tuple(dict.fromkeys(variable.labels))
            return cls(len(labels), labels)
        if groups is not None:
            cuts = cut_points(column, groups)
            return cls(len(cuts) + 1 + len(variable.missing), variable.missing, cuts=cuts)
        values = np.unique(column.data[column.is_observed].astype(np.float64))
        return cls(len(values) + len(variable.missing), variable.missing, values=values)

    def encode(self, column: Column) -> Codes:
        """Return codes in [0, size), -1 for values that the original lacks, shape (n,)."""
        if column.is_coded:
            return self._of_labels(column.variable.labels)[column.data]
        codes = self._of_numbers(np.asarray(column.data, dtype=np.float64))
        if column.states is not None:
            missing = column.states > 0
            first = self.size - len(self.labels)
            code_of_state = self._of_labels(column.variable.missing)
            code_of_state[code_of_state >= 0] += first
            codes[missing] = code_of_state[column.states[missing] - 1]
        return codes

    def _of_labels(self, labels: Sequence[str]) -> Codes:
        position = {label: code for code, label in enumerate(self.labels)}
        return np.array([position.get(label, -1) for label in labels], dtype=np.int64)

    def _of_numbers(self, data: FloatArray) -> Codes:
        if self.cuts is not None:
            return np.searchsorted(self.cuts, data, side="right").astype(np.int64)
        return positions_in(np.empty(0) if self.values is None else self.values, data)


def positions_in(rising: npt.NDArray[Any], values: npt.NDArray[Any]) -> Codes:
    """Return the position of each value in rising distinct ones, -1 for absent values."""
    if not len(rising):
        return np.full(len(values), -1)
    positions = np.minimum(np.searchsorted(rising, values), len(rising) - 1)
    return np.where(rising[positions] == values, positions, -1)


def numbered(values: npt.NDArray[Any], known: BoolArray) -> Codes:
    """Return the number of each known value among the distinct ones, -1 for the others."""
    codes = np.full(len(values), -1, dtype=np.int64)
    codes[known] = np.unique(values[known], return_inverse=True)[1]
    return codes


def counts_of(codes: Codes, size: int) -> Codes:
    """Return how often each code below ``size`` occurs; -1 is none."""
    return np.bincount(codes + 1, minlength=size + 1)[1:]


def ranges(first: IntArray, sizes: IntArray) -> IntArray:
    """Return the positions of ranges, one range after the other.

    Examples
    --------
    >>> ranges(np.array([5, 2]), np.array([2, 3])).tolist()
    [5, 6, 2, 3, 4]
    """
    return np.arange(sizes.sum()) + np.repeat(first - np.cumsum(sizes) + sizes, sizes)


def mean_ranks(values: npt.NDArray[Any]) -> FloatArray:
    """Return the rank of each value from 1; equal ones have their mean rank."""
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[codes]


class Dictionary:
    """Numbering 0, 1, ... of the distinct codes of one array, for look-up."""

    def __init__(self, codes: Codes, size: int) -> None:
        if size <= min(_DENSE, _DENSE_PER_CODE * len(codes)):
            self._known: Codes | None = None
            seen = np.zeros(size, dtype=bool)
            seen[codes] = True
            self._count = int(seen.sum())
            # One entry more than needed: position -1 stands for an unknown code.
            self._dense = np.full(size + 1, -1, dtype=np.int32)
            self._dense[:-1][seen] = np.arange(self._count, dtype=np.int32)
        else:
            # Sorting is far faster here than np.unique, which hashes (40 times, 6 million codes).
            ordered = np.sort(codes)
            self._known = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
            self._count = len(self._known)

    def __len__(self) -> int:
        return self._count

    def find(self, codes: Codes) -> Codes:
        """Return the number of each code; -1 if unknown, and for code -1."""
        if self._known is None:
            return self._dense[codes].astype(np.int64)
        if not self._count:
            return np.full(len(codes), -1, dtype=np.int64)
        # A binary search for ascending codes stays in the cache: 4 times faster with the sort.
        order = np.argsort(codes)
        positions = np.empty(len(codes), dtype=np.int64)
        positions[order] = np.searchsorted(self._known, codes[order])
        positions[positions == self._count] = 0
        return np.where(self._known[positions] == codes, positions, -1).astype(np.int64)


class JointCoder:
    """Numbering of the distinct combinations of several variables in the original table.

    Codes are combined variable by variable, and renumbered before they exceed 63 bits.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> table = Table([Column(sex, np.array([1, 1], dtype=np.int32))])
    >>> coder = JointCoder(table, ["sex"])
    >>> coder.size, coder.encode(table).tolist()
    (1, [0, 0])
    """

    def __init__(
        self, original: Table, names: Sequence[str], groups: Mapping[str, Groups] | None = None
    ) -> None:
        groups = groups or {}
        self._steps: list[tuple[str, ColumnCoder, Dictionary | None]] = []
        joint, size = np.zeros(original.n_rows, dtype=np.int64), 1
        for name in names:
            coder = ColumnCoder.fit(original[name], groups.get(name))
            renumber = None
            if size * coder.size > _LARGEST:
                renumber = Dictionary(joint, size)
                joint, size = renumber.find(joint), len(renumber)
            self._steps.append((name, coder, renumber))
            joint, size = joint * coder.size + coder.encode(original[name]), size * coder.size
        self._final = Dictionary(joint, size)
        self.size = len(self._final)
        self.codes = self._final.find(joint)

    def encode(self, table: Table) -> Codes:
        """Return the number of each row's combination in [0, size), -1 if the original lacks it."""
        joint = np.zeros(table.n_rows, dtype=np.int64)
        occurs = np.ones(table.n_rows, dtype=bool)
        for name, coder, renumber in self._steps:
            if renumber is not None:
                joint = renumber.find(joint)
                occurs &= joint >= 0
            codes = coder.encode(table[name])
            occurs &= codes >= 0
            joint = np.where(occurs, joint * coder.size + codes, 0)
        joint[~occurs] = -1
        return self._final.find(joint)

    def counts(self, table: Table) -> Codes:
        """Return how many rows of a table have each combination of the original."""
        return counts_of(self.encode(table), self.size)


OUTSIDE = -1
"""Number of a row with a value that the table of `Combinations.of` lacks."""

MAX_COUNTED = 2**62
"""Most combinations that are numbered exactly; more are numbered by a hash."""


@dataclass(frozen=True, eq=False)
class Combinations:
    """Distinct values of some variables, and a number for each combination."""

    names: tuple[str, ...]
    values: tuple[FloatArray, ...]
    """Distinct values, rising; missing codes of numbers come before all numbers."""

    def __post_init__(self) -> None:
        if len(self.values) != len(self.names) or any(not len(values) for values in self.values):
            raise ValueError("every variable of a combination needs values")
        if any((np.diff(values) <= 0).any() for values in self.values):
            raise ValueError("the values of a combination must rise")

    @classmethod
    def of(cls, table: Table, names: Sequence[str]) -> Self:
        """Return the possible combinations of the values of a table."""
        return cls(tuple(names), tuple(np.unique(column_values(table[name])) for name in names))

    @property
    def are_counted(self) -> bool:
        """Whether numbers of combinations are exact; otherwise they are hashes."""
        return math.prod(len(values) for values in self.values) < MAX_COUNTED

    def numbers(self, table: Table) -> IntArray:
        """Return the number of every row's combination, `OUTSIDE` where a value is new."""
        counted = self.are_counted
        keys: IntArray = np.zeros(table.n_rows, dtype=np.int64)
        outside = np.zeros(table.n_rows, dtype=bool)
        for name, values in zip(self.names, self.values, strict=True):
            column = column_values(table[name])
            positions = positions_in(values, column)
            outside |= positions < 0
            keys = keys * len(values) + positions if counted else _mixed(keys, positions)
        keys[outside] = OUTSIDE
        return keys

    def positions(self, table: Table, numbers: IntArray) -> IntArray:
        """Return the position of each row's combination in rising numbers, -1 if absent."""
        keys = self.numbers(table)
        return np.where(keys == OUTSIDE, -1, positions_in(numbers, keys))


def _mixed(keys: IntArray, positions: IntArray) -> IntArray:
    """Return a hash of 63 bits of each key and the next value."""
    mixed = splitmix(keys.astype(np.uint64) * GOLDEN + positions.astype(np.uint64))
    return (mixed >> np.uint64(1)).astype(np.int64)


GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""The odd number nearest to 2**64 divided by the golden ratio."""


def splitmix(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return well mixed bits of whole numbers (the finaliser of SplitMix64; Steele et al. 2014)."""
    mixed = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def column_values(column: Column) -> FloatArray:
    """Return a number for each value: codes and numbers as they are, never NaN."""
    if column.is_coded:
        return np.asarray(column.data, dtype=np.float64)
    lowest = np.finfo(np.float64).min
    missing = lowest * (1 - column.missing_state() * 1e-3)
    return np.where(column.is_observed, np.nan_to_num(column.data), missing)
