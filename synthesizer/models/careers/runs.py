"""Sequences as runs: (G, Z, W) of the career model, both ways.

A run is a stretch of periods in one state. A person's sequence and the triple (G, Z, W) determine
each other: G is the number of runs, Z the periods at which a new run starts (equivalently the
lengths d of the runs, which sum to T), W the states of the runs. Persons have different numbers
of runs, so runs are kept as flat arrays, person after person.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from synthesizer.data.errors import DataError
from synthesizer.data.table import BoolArray, IntArray

Codes = npt.NDArray[np.int32]
Index = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of n persons over T periods, R runs in all, in the order of persons and periods.

    Parameters
    ----------
    counts : ndarray of int64, shape (n,)
        G: the number of runs of each person, >= 1.
    length : ndarray of int64, shape (R,)
        Periods that each run lasts, >= 1; those of a person sum to T.
    state : ndarray of int32, shape (R,)
        W: the state of each run.

    Examples
    --------
    >>> runs = to_runs(np.array([[0, 0, 1], [2, 2, 2]]))
    >>> runs.counts.tolist(), runs.length.tolist(), runs.state.tolist()
    ([2, 1], [2, 1, 3], [0, 1, 2])
    >>> runs.person.tolist(), runs.index.tolist(), runs.start.tolist()
    ([0, 0, 1], [0, 1, 0], [0, 2, 0])
    """

    counts: Index
    length: Index
    state: Codes

    @cached_property
    def first(self) -> Index:
        """Position of the first run of each person, shape (n,)."""
        return np.asarray(np.cumsum(self.counts) - self.counts)

    @cached_property
    def person(self) -> Index:
        """Row of the person of each run, shape (R,)."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    @cached_property
    def index(self) -> Index:
        """Number of each run among its person's, from 0, shape (R,)."""
        return np.asarray(np.arange(len(self.length)) - np.repeat(self.first, self.counts))

    @cached_property
    def start(self) -> Index:
        """Period at which each run starts, from 0, shape (R,)."""
        ends = np.cumsum(self.length)
        before = (ends - self.length)[self.first]
        return np.asarray(ends - self.length - np.repeat(before, self.counts))

    @property
    def n_persons(self) -> int:
        """Number of persons, n."""
        return len(self.counts)

    def lengths_of(self, persons: IntArray, count: int) -> Index:
        """Return the run lengths of persons who have ``count`` runs each, shape (m, count)."""
        return np.asarray(self.length[self.first[persons][:, None] + np.arange(count)])


def to_runs(sequences: npt.ArrayLike) -> Runs:
    """Split sequences into runs.

    Parameters
    ----------
    sequences : array_like of int, shape (n, T)
        State codes; T >= 1, n may be 0.

    Returns
    -------
    Runs
    """
    array = np.asarray(sequences)
    n, periods = array.shape
    starts = np.ones((n, periods), dtype=bool)
    np.not_equal(array[:, 1:], array[:, :-1], out=starts[:, 1:])
    flat = np.flatnonzero(starts)
    return Runs(
        counts=np.count_nonzero(starts, axis=1).astype(np.int64),
        length=np.diff(flat, append=n * periods).astype(np.int64),
        state=array.reshape(-1)[flat].astype(np.int32),
    )


def to_sequences(runs: Runs, n_periods: int) -> Codes:
    """Write runs as sequences, shape (n, n_periods): the inverse of `to_runs`.

    Examples
    --------
    >>> to_sequences(to_runs([[4, 4, 1], [2, 1, 2]]), 3).tolist()
    [[4, 4, 1], [2, 1, 2]]
    """
    return np.repeat(runs.state, runs.length).reshape(runs.n_persons, n_periods)


def pattern_keys(sequences: npt.ArrayLike) -> npt.NDArray[np.void]:
    """Return a key of (G, Z) for every person, shape (n,): equal keys, equal run lengths.

    Examples
    --------
    >>> keys = pattern_keys([[0, 0, 1], [2, 2, 0], [0, 1, 1]])
    >>> bool(keys[0] == keys[1]), bool(keys[0] == keys[2])
    (True, False)
    """
    array = np.asarray(sequences)
    return _as_keys(array[:, 1:] != array[:, :-1])


def _as_keys(changes: BoolArray) -> npt.NDArray[np.void]:
    packed = np.packbits(changes, axis=1)
    if packed.shape[1] == 0:
        packed = np.zeros((len(changes), 1), dtype=np.uint8)
    return np.ascontiguousarray(packed).view(f"V{packed.shape[1]}")[:, 0]


def check_sequences(sequences: npt.ArrayLike, n_states: int) -> Codes:
    """Return sequences as int32 codes; raises DataError if they are not what a fit needs."""
    array = np.asarray(sequences)
    if array.ndim != 2 or 0 in array.shape:
        raise DataError("sequences must have at least one person and one period")
    if not np.issubdtype(array.dtype, np.integer):
        raise DataError("sequences must hold whole codes of states")
    if array.min() < 0 or array.max() >= n_states:
        raise DataError(f"sequences must hold codes of states from 0 to {n_states - 1}")
    return array.astype(np.int32, copy=False)
