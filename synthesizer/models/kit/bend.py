"""How far a tilt moves the moments of a target: read off tables, without the wide columns.

The columns of `Features` are mostly zeros and ones. What they add to a moment follows from the code
of a predictor, or from two codes where a moderator is multiplied, so it is looked up: a row has an
entry or a few for each predictor, not hundreds of columns. `Features.matrix` times the coefficients
is the same, slowly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt
import scipy

from synthesizer.data.table import Column, FloatArray, IntArray, Kind, Table, Variable
from synthesizer.models.kit.features import N_MOMENTS, Features, Levels, Number, moderating
from synthesizer.models.kit.predictors import Float32Array

Codes = npt.NDArray[np.int32]
Part = tuple[int | None, Float32Array]
"""Which moment is the weight, None for 1, and the columns of each code."""

MOST_WHOLE = 128
"""A number with whole values in so small a range is read off a table as levels are."""
MOST_CELLS = 2**19
"""Numbers in the table of one entry; where one were larger, the columns are multiplied."""


@dataclass(frozen=True, eq=False)
class Coded:
    """A predictor whose columns follow from a code: levels, or few whole numbers such as ages."""

    columns: Float32Array
    """Of each level, or of each value and then of each missing code, shape (n_codes, n_columns)."""
    low: float | None = None
    """The smallest number; None of levels."""
    high: float = 0.0

    @classmethod
    def of_levels(cls, term: Levels) -> Self:
        """Return the columns of every level."""
        codes = np.arange(len(term.indicator_of), dtype=np.int32)
        return cls(_filled(term, Column(_variable(term.name, Kind.CATEGORICAL), codes)))

    @classmethod
    def of_number(cls, term: Number) -> Self | None:
        """Return the columns of every value; None where there are many, or fractions."""
        low, high = float(term.quantiles[0]), float(term.quantiles[-1])
        if high - low > MOST_WHOLE or (term.quantiles != np.rint(term.quantiles)).any():
            return None
        if low >= 0 and high <= 1:
            low, high = 0.0, 1.0
        else:  # there may be others than those of the fit
            low, high = low - (high - low + 1), high + (high - low + 1)
        values = np.append(np.arange(low, high + 1), np.full(term.n_missing, np.nan))
        states = np.maximum(np.arange(len(values)) - (high - low), 0).astype(np.int8)
        variable = _variable(term.name, Kind.NUMERIC, term.n_missing)
        return cls(_filled(term, Column(variable, values, states)), low, high)

    @property
    def parts(self) -> list[Part]:
        """All columns: they have no weight."""
        return [(None, self.columns)]


@dataclass(frozen=True, eq=False)
class Measured:
    """Any other number: each moment is a weight; spikes and missing codes are codes."""

    term: Number

    @property
    def parts(self) -> list[Part]:
        """The columns of each moment, (1, n_columns), and of each state, (n_states, n_columns)."""
        every = np.eye(self.term.n_columns, dtype=np.float32)
        states = np.vstack([np.zeros_like(every[:1]), every[N_MOMENTS:]])
        return [*((j, every[j : j + 1]) for j in range(N_MOMENTS)), (None, states)]


Reader = Coded | Measured


def reader_of(term: Levels | Number) -> Reader:
    """Return how a predictor is read."""
    if isinstance(term, Levels):
        return Coded.of_levels(term)
    return Coded.of_number(term) or Measured(term)


@dataclass(frozen=True, eq=False)
class Reading:
    """Gathers the codes of all predictors at once."""

    levels: list[str]
    whole: list[str]
    """Numbers that are codes, and their bounds, (k, 1)."""
    low: FloatArray
    high: FloatArray
    measured: list[Number]

    @classmethod
    def of(cls, terms: Sequence[Levels | Number], readers: Sequence[Reader]) -> Self:
        """Sort predictors by how they are read."""
        levels, whole, bounds, measured = [], [], [], []
        for term, reader in zip(terms, readers, strict=True):
            if isinstance(reader, Measured):
                measured.append(reader.term)
            elif reader.low is None:
                levels.append(term.name)
            else:
                whole.append(term.name)
                bounds.append((reader.low, reader.high))
        low, high = np.array(bounds, dtype=np.float64).reshape(-1, 2, 1).swapaxes(0, 1)
        return cls(levels, whole, low, high, measured)

    @property
    def names(self) -> list[str]:
        """The predictors in the order of their rows of codes."""
        return [*self.levels, *self.whole, *(term.name for term in self.measured)]

    def read(self, predictors: Table) -> tuple[Codes, dict[str, list[Float32Array]]] | None:
        """Return zeros, below them the codes of each predictor, (1 + p, n), and moments.

        None where a number has no code.
        """
        numbers = np.empty((len(self.whole), predictors.n_rows))
        for row, name in enumerate(self.whole):
            numbers[row] = predictors[name].data
        if ((numbers < self.low) | (numbers > self.high)).any():
            return None
        for row, name in enumerate(self.whole):
            states = predictors[name].states
            if states is not None:
                missing = np.flatnonzero(states)
                numbers[row, missing] = self.high[row] + states[missing]
        codes = np.zeros((1 + len(self.names), predictors.n_rows), dtype=np.int32)
        for row, name in enumerate(self.levels, start=1):
            codes[row] = predictors[name].data
        at = 1 + len(self.levels)
        whole = codes[at : at + len(self.whole)]
        whole[:] = numbers
        if (whole != numbers).any():
            return None
        whole -= self.low.astype(np.int32)
        moments = {}
        for row, term in enumerate(self.measured, start=at + len(self.whole)):
            moments[term.name], codes[row] = term.measured(predictors[term.name])
        return codes, moments


@dataclass(frozen=True, eq=False)
class Entry:
    """What a row has of a predictor: a row of a table, times a weight."""

    term: str
    """The predictor."""
    moment: int | None
    """Which moment of a number is the weight; None for 1."""
    by: str | None
    """The moderator whose code comes before that of the predictor; None for none."""
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
    reading: Reading
    entries: tuple[Entry, ...] | None
    """None where a table would be too large."""
    tables: Float32Array
    """Those of all entries, one below the other."""

    @classmethod
    def of(cls, features: Features, coefficients: Float32Array) -> Self:
        """Add up what every code, or two of them, adds to each moment."""
        readers = [reader_of(term) for term in features.terms]
        entries = _entries(features, coefficients, readers)
        r = coefficients.shape[1]
        tables = [entry.table.reshape(-1, r) for entry in entries or ()]
        tables = [np.zeros((0, r), dtype=np.float32), *tables]
        return cls(
            features,
            coefficients,
            (coefficients[0] - features.means.astype(np.float64) @ coefficients).astype(np.float32),
            Reading.of(features.terms, readers),
            entries,
            np.ascontiguousarray(np.concatenate(tables)),
        )

    def __call__(self, predictors: Table) -> Float32Array:
        """Return how far each of n rows moves each moment, shape (n, r)."""
        read = None if self.entries is None else self.reading.read(predictors)
        if read is None:
            return np.asarray(self.features.matrix(predictors) @ self.coefficients)
        codes, moments = read
        own, by, sizes, starts = self._places
        places = codes[own]
        places += codes[by] * sizes
        places += starts
        weights = np.ones((predictors.n_rows, len(places)), dtype=np.float32)
        for k, entry in enumerate(self.entries or ()):
            if entry.moment is not None:
                weights[:, k] = moments[entry.term][entry.moment]
        ends = np.arange(len(weights) + 1, dtype=np.int32) * np.int32(len(places))
        rows = scipy.sparse.csr_array(
            (weights.ravel(), np.ascontiguousarray(places.T).ravel(), ends),
            shape=(len(weights), len(self.tables)),
        )
        return np.asarray(rows @ self.tables + self.constant, dtype=np.float32)

    @cached_property
    def _places(self) -> tuple[IntArray, IntArray, Codes, Codes]:
        """Return rows of codes of each entry and its moderator, its codes and its table's place."""
        entries = self.entries or ()
        rows = {name: row for row, name in enumerate(self.reading.names, start=1)}
        own = [0 if entry.moment is not None else rows[entry.term] for entry in entries]
        by = [0 if entry.by is None else rows[entry.by] for entry in entries]
        shapes = np.array([entry.table.shape[:2] for entry in entries]).reshape(-1, 2)
        ends = np.cumsum(shapes.prod(axis=1))
        return (
            np.array(own, dtype=np.intp),
            np.array(by, dtype=np.intp),
            shapes[:, 1:].astype(np.int32),
            np.append(0, ends)[:-1, None].astype(np.int32),
        )


def _entries(
    features: Features, coefficients: Float32Array, readers: Sequence[Reader]
) -> tuple[Entry, ...] | None:
    """Return the entries of a row; None where a table would be too large.

    The first product of a predictor holds what the predictor adds on its own, too.
    """
    alone = {
        (term, moment): columns @ coefficients[at]
        for term, at in features.columns_of_terms
        for moment, columns in readers[term].parts
    }
    names, entries = [term.name for term in features.terms], []
    for (moderator, other), at in features.columns_of_products:
        reader = readers[moderator]
        if isinstance(reader, Measured):
            return None
        left = reader.columns[:, moderating(features.terms[moderator])]
        linear = features.terms[other].linear
        own = coefficients[at].reshape(left.shape[1], int(linear.sum()), -1)
        for moment, columns in readers[other].parts:
            if len(left) * len(columns) * own.shape[2] > MOST_CELLS:
                return None
            table = np.tensordot(columns[:, linear], np.tensordot(left, own, (1, 0)), (1, 1))
            table = table.swapaxes(0, 1) + alone.pop((other, moment), np.float32(0))
            entries.append(Entry(names[other], moment, names[moderator], table))
    entries += [
        Entry(names[term], moment, None, table[None]) for (term, moment), table in alone.items()
    ]
    if any(entry.table.size > MOST_CELLS for entry in entries):
        return None
    return tuple(entry for entry in entries if entry.table.any())


def _filled(term: Levels | Number, column: Column) -> Float32Array:
    out = np.zeros((len(column), term.n_columns), dtype=np.float32)
    term.fill(column, out)
    return out


def _variable(name: str, kind: Kind, n_missing: int = 0) -> Variable:
    return Variable(name=name, kind=kind, missing=tuple(map(str, range(n_missing))))
