"""How far a tilt moves the moments of a target: read off tables, without the wide columns.

The columns of `Features` are mostly zeros and ones. What they add to a moment follows from the code
of a predictor, or from two codes where a moderator is multiplied, so it is looked up: a row has an
entry or a few for each predictor, not hundreds of columns. `Features.matrix` times the coefficients
is the same, slowly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import scipy.sparse

from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.models.kit.features import N_MOMENTS, Features, Levels, Number, moderating
from synthesizer.models.kit.predictors import Float32Array

Codes = npt.NDArray[np.int32]
Read = tuple[Float32Array | None, Codes]
"""Of each row a weight, None for 1, and a code."""

MOST_WHOLE = 128
"""A number with whole values in so small a range is read off a table as levels are."""
MOST_CELLS = 2**19
"""Numbers in the table of one entry; where one were larger, the columns are multiplied."""


@dataclass(frozen=True, eq=False)
class LevelsReader:
    """A coded predictor."""

    columns: tuple[Float32Array, ...]
    """Those of each code, shape (n_codes, n_columns)."""

    @classmethod
    def of(cls, term: Levels) -> Self:
        """Return the columns of every code."""
        codes = np.arange(len(term.indicator_of), dtype=np.int32)
        return cls((_filled(term, Column(_variable(term.name, Kind.CATEGORICAL), codes)),))

    def read(self, column: Column) -> list[Read] | None:
        """Return the codes of some rows."""
        return [(None, np.asarray(column.data, dtype=np.int32))]


@dataclass(frozen=True, eq=False)
class WholeReader:
    """A number with few whole values, such as an age or whether something has changed."""

    columns: tuple[Float32Array, ...]
    """Those of each value, then of each missing code, shape (n_codes, n_columns)."""
    low: int
    """The smallest value."""
    high: int

    @classmethod
    def of(cls, term: Number) -> Self | None:
        """Return the columns of every value; None where there are many, or fractions."""
        low, high = float(term.quantiles[0]), float(term.quantiles[-1])
        if high - low > MOST_WHOLE or (term.quantiles != np.rint(term.quantiles)).any():
            return None
        if low >= 0 and high <= 1:
            low, high = 0.0, 1.0
        else:  # there may be others than those of the fit
            low, high = low - (high - low + 1), high + (high - low + 1)
        values = np.append(np.arange(low, high + 1), np.full(term.n_missing, np.nan))
        states = np.arange(len(values)) - (len(values) - 1 - term.n_missing)
        column = Column(
            _variable(term.name, Kind.NUMERIC, term.n_missing),
            values,
            np.maximum(states, 0).astype(np.int8),
        )
        return cls((_filled(term, column),), int(low), int(high))

    def read(self, column: Column) -> list[Read] | None:
        """Return which value, or missing code, each row holds; None where one is another one."""
        values = column.data
        missing = None if column.states is None else np.flatnonzero(column.states)
        if missing is not None:
            values = values.copy()
            values[missing] = self.low
        if len(values) and not self.low <= values.min() <= values.max() <= self.high:
            return None
        codes = values.astype(np.int32)
        if (codes != values).any():
            return None
        codes -= self.low
        if missing is not None and column.states is not None:
            codes[missing] = self.high - self.low + column.states[missing].astype(np.int32)
        return [(None, codes)]


@dataclass(frozen=True, eq=False)
class NumberReader:
    """Any number: its moments are weights, its missing codes and spikes are codes."""

    columns: tuple[Float32Array, ...]
    """Those of each moment, shape (1, n_columns), and of each state, (n_states, n_columns)."""
    term: Number

    @classmethod
    def of(cls, term: Number) -> Self:
        """Return the columns of every moment and of every state."""
        every = np.eye(term.n_columns, dtype=np.float32)
        moments = tuple(every[j : j + 1] for j in range(N_MOMENTS))
        states = np.vstack([np.zeros_like(every[:1]), every[N_MOMENTS:]])
        return cls((*moments, states) if len(states) > 1 else moments, term)

    def read(self, column: Column) -> list[Read] | None:
        """Return the moments of some rows, and their states."""
        moments, states = self.term.measured(column)
        none = np.zeros(1, dtype=np.int32)
        return [*((moment, none) for moment in moments), (None, states)][: len(self.columns)]


Reader = LevelsReader | WholeReader | NumberReader


def reader_of(term: Levels | Number) -> Reader:
    """Return what reads a predictor."""
    if isinstance(term, Levels):
        return LevelsReader.of(term)
    return WholeReader.of(term) or NumberReader.of(term)


@dataclass(frozen=True, eq=False)
class Entry:
    """What a row has of a predictor: a row of a table, times a weight."""

    term: int
    """Number of the predictor."""
    part: int
    """Which of the weights and codes that its reader gives."""
    by: int | None
    """Number of the moderator whose code comes before it; None for none."""
    table: Float32Array
    """Of each code of the moderator and each code, shape (codes, codes, r)."""


@dataclass(frozen=True, eq=False)
class Bend:
    """Features times coefficients, for one table of predictors after the other.

    Examples
    --------
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> table = Table([Column(sex, np.repeat(np.array([0, 1], dtype=np.int32), 20))])
    >>> features, columns = Features.fit(table)
    >>> coefficients = np.ones((features.n_columns, 1), dtype=np.float32)
    >>> coefficients[1] = 3
    >>> bend = Bend.of(features, coefficients)
    >>> bend(table)[[0, -1]].tolist(), (columns @ coefficients)[[0, -1]].tolist()
    ([[2.0], [0.0]], [[2.0], [0.0]])
    """

    features: Features
    coefficients: Float32Array
    """Of shape (q, r)."""
    constant: Float32Array
    """What the column of ones and the means add, shape (r,)."""
    readers: tuple[Reader, ...]
    """Of each predictor."""
    entries: tuple[Entry, ...] | None
    """None where a table would be too large."""
    tables: Float32Array
    """Those of all entries, one below the other."""
    starts: tuple[int, ...]
    """Where each of them begins."""

    @classmethod
    def of(cls, features: Features, coefficients: Float32Array) -> Self:
        """Add up what every code, or two of them, adds to each moment."""
        readers = tuple(reader_of(term) for term in features.terms)
        entries = _entries(features, coefficients, readers)
        r = coefficients.shape[1]
        tables = [entry.table.reshape(-1, r) for entry in entries or ()]
        return cls(
            features,
            coefficients,
            (coefficients[0] - features.means.astype(np.float64) @ coefficients).astype(np.float32),
            readers,
            entries,
            np.ascontiguousarray(np.concatenate([np.zeros((0, r), dtype=np.float32), *tables])),
            tuple(np.cumsum([0, *map(len, tables)]).tolist()),
        )

    def __call__(self, predictors: Table) -> Float32Array:
        """Return how far each of n rows moves each moment, shape (n, r)."""
        reads = None if self.entries is None else self._reads(predictors)
        if reads is None or self.entries is None:
            return np.asarray(self.features.matrix(predictors) @ self.coefficients)
        shape = predictors.n_rows, len(self.entries)
        places, weights = np.empty(shape, dtype=np.int32), np.ones(shape, dtype=np.float32)
        for k, (entry, start) in enumerate(zip(self.entries, self.starts, strict=False)):
            weight, codes = reads[entry.term][entry.part]
            if entry.by is not None:
                codes = codes + reads[entry.by][0][1] * np.int32(entry.table.shape[1])
            np.add(codes, np.int32(start), out=places[:, k])
            if weight is not None:
                weights[:, k] = weight
        ends = np.arange(shape[0] + 1, dtype=np.int32) * np.int32(shape[1])
        rows = scipy.sparse.csr_array(
            (weights.ravel(), places.ravel(), ends), shape=(shape[0], len(self.tables))
        )
        return np.asarray(rows @ self.tables + self.constant, dtype=np.float32)

    def _reads(self, predictors: Table) -> list[list[Read]] | None:
        """Return what there is of each predictor; None where a value is in no table."""
        reads = []
        for term, reader in zip(self.features.terms, self.readers, strict=True):
            read = reader.read(predictors[term.name])
            if read is None:
                return None
            reads.append(read)
        return reads


def _entries(
    features: Features, coefficients: Float32Array, readers: Sequence[Reader]
) -> tuple[Entry, ...] | None:
    """Return the entries of a row; None where a table would be too large.

    The first product of a predictor holds what the predictor adds on its own, too.
    """
    r = coefficients.shape[1]
    alone = {
        (term, part): columns @ coefficients[at]
        for term, at in features.columns_of_terms
        for part, columns in enumerate(readers[term].columns)
    }
    entries = []
    for (moderator, other), at in features.columns_of_products:
        if isinstance(readers[moderator], NumberReader):
            return None
        left = readers[moderator].columns[0][:, moderating(features.terms[moderator])]
        linear = features.terms[other].linear
        own = coefficients[at].reshape(left.shape[1], int(linear.sum()), r)
        for part, columns in enumerate(readers[other].columns):
            if len(left) * len(columns) * r > MOST_CELLS:
                return None
            table = np.einsum("ma,abr,cb->mcr", left, own, columns[:, linear], optimize=True)
            table = table + alone.pop((other, part), np.zeros(1, dtype=np.float32))
            if table.any():
                entries.append(Entry(other, part, moderator, table.astype(np.float32)))
    entries += [Entry(*place, None, table[None]) for place, table in alone.items() if table.any()]
    if any(math.prod(entry.table.shape) > MOST_CELLS for entry in entries):
        return None
    return tuple(entries)


def _filled(term: Levels | Number, column: Column) -> Float32Array:
    out = np.zeros((len(column), term.n_columns), dtype=np.float32)
    term.fill(column, out)
    return out


def _variable(name: str, kind: Kind, n_missing: int = 0) -> Variable:
    return Variable(name=name, kind=kind, missing=tuple(map(str, range(n_missing))))
