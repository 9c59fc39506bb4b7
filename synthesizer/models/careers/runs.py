"""Sequences as runs, that is (G, Z, W) of the career model, and the feasible states of runs.

A run is a number of successive periods in one state. A person's sequence and the triple (G, Z, W)
determine each other: G is the number of runs, Z their lengths, which sum to T, W their states.
Persons have different numbers of runs, so runs are stored as flat arrays, person after person.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy

from synthesizer.data.table import BoolArray, IntArray

Codes = npt.NDArray[np.int32]
Index = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of n persons over T periods, R runs in all, in the order of persons and periods.

    Examples
    --------
    >>> runs = to_runs(np.array([[0, 0, 1], [2, 2, 2]]))
    >>> runs.counts.tolist(), runs.length.tolist(), runs.state.tolist()
    ([2, 1], [2, 1, 3], [0, 1, 2])
    >>> runs.person.tolist(), runs.index.tolist(), runs.start.tolist()
    ([0, 0, 1], [0, 1, 0], [0, 2, 0])
    """

    counts: Index
    """G: the number of runs of each person, >= 1; shape (n,)."""
    length: Index
    """Periods that each run lasts, >= 1; those of a person sum to T; shape (R,)."""
    state: Codes
    """W: the state of each run; shape (R,), or (0,) if only lengths are known."""

    @classmethod
    def without_states(cls, counts: Index, length: Index) -> Runs:
        """Return runs without states."""
        return cls(counts, length, np.empty(0, dtype=np.int32))

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

    def of_persons(self, chosen: BoolArray) -> Runs:
        """Return the runs of some persons, without states."""
        return Runs.without_states(self.counts[chosen], self.length[chosen[self.person]])

    def state_before(self, at: Index, steps: int, none: int) -> Codes:
        """Return the state ``steps`` runs before the runs at ``at``, ``none`` before the first."""
        earlier = self.state[np.maximum(at - steps, 0)]
        return np.where(self.index[at] >= steps, earlier, np.int32(none))

    def length_after(self, at: Index, steps: int) -> Index:
        """Return the length ``steps`` runs after (before, if negative) those at ``at``, else 0."""
        position = self.index[at] + steps
        inside = (position >= 0) & (position < self.counts[self.person[at]])
        return np.where(inside, self.length[np.clip(at + steps, 0, len(self.length) - 1)], 0)


def rows_among(rows: IntArray, candidates: IntArray) -> Index:
    """Return which of some distinct rows equals each candidate, len(rows) for none."""
    both = np.concatenate([rows, candidates])
    codes = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)
    row_of = np.full(int(codes.max()) + 1, len(rows), dtype=np.int64)
    row_of[codes[: len(rows)]] = np.arange(len(rows))
    return row_of[codes[len(rows) :]]


def blocks_of(counts: IntArray, most: int) -> Iterator[slice]:
    """Yield blocks (of at least one) whose counts add up to at most ``most``."""
    ends = np.append(0, np.cumsum(counts))
    begin = 0
    while begin < len(counts):
        end = int(np.searchsorted(ends, ends[begin] + most, side="right")) - 1
        yield slice(begin, max(end, begin + 1))
        begin = max(end, begin + 1)


def to_runs(sequences: npt.ArrayLike) -> Runs:
    """Split sequences of codes, shape (n, T), into runs; n may be 0."""
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
    """Write runs as sequences, shape (n, n_periods): the inverse of `to_runs`."""
    return np.repeat(runs.state, runs.length).reshape(runs.n_persons, n_periods)


@dataclass(frozen=True, eq=False)
class Feasible:
    """The feasible states of R runs, stored once for runs with the same future (course)."""

    states: BoolArray
    """Feasible states of each course, shape (courses, A)."""
    course: Index
    """Course of each run, shape (R,)."""

    def __getitem__(self, at: IntArray) -> BoolArray:
        """Return the states of the runs at some positions, shape (m, A)."""
        return np.asarray(self.states[self.course[at]])

    def allows(self, at: IntArray, state: IntArray) -> BoolArray:
        """Return whether the runs at some positions may have these states, shape (m,)."""
        return np.asarray(self.states[self.course[at], state])

    def any(self, at: IntArray) -> BoolArray:
        """Return whether the runs at some positions may have any state, shape (m,)."""
        possible: BoolArray = np.asarray(self.states.any(axis=1))
        return possible[self.course[at]]

    def of(self, chosen: BoolArray) -> Feasible:
        """Return some of the runs."""
        return Feasible(self.states, self.course[chosen])

    def replaced(self, at: IntArray, other: Feasible) -> Feasible:
        """Return a copy with other states for the runs at some positions."""
        course = self.course.copy()
        course[at] = len(self.states) + other.course
        return Feasible(np.concatenate([self.states, other.states]), course)


@dataclass(frozen=True, eq=False)
class Rules:
    """Rules that every drawn career obeys, for A states and T periods."""

    until: npt.NDArray[np.int32]
    """First period without the state in the data, from each period on; shape (A, T)."""
    allowed: BoolArray
    """Allowed transitions, shape (A, A); False on the diagonal and after absorbing states."""
    first: BoolArray
    """Allowed first states, shape (A,)."""

    def __post_init__(self) -> None:
        n, n_periods = len(self.first), self.until.shape[-1]
        shapes = (self.first.shape, self.allowed.shape, self.until.shape)
        if not n or shapes != ((n,), (n, n), (n, n_periods)):
            raise ValueError("rules of careers must have one row for each state")
        if not 0 <= self.until.min(initial=0) <= self.until.max(initial=0) <= n_periods:
            raise ValueError("rules of careers are out of range")
        if self.allowed.diagonal().any():
            raise ValueError("a state must not follow itself")

    @property
    def n_states(self) -> int:
        """Number of states, A."""
        return len(self.until)

    def as_seen(self, sequences: npt.NDArray[np.int32]) -> Rules:
        """Return the rules without transitions that are absent from sequences, shape (n, T)."""
        seen = np.zeros_like(self.allowed)
        seen[sequences[:, :-1], sequences[:, 1:]] = True
        return replace(self, allowed=self.allowed & seen)

    @cached_property
    def steps(self) -> BoolArray:
        """Allowed states one period later, including staying, shape (A, A)."""
        return np.asarray(self.allowed | np.eye(self.n_states, dtype=bool))

    def supported(self, start: IntArray, length: IntArray) -> BoolArray:
        """Return which states exist in every period of each run, shape (m, A)."""
        return np.asarray(self.until.T[start] >= (start + length)[:, None])

    def feasible(self, runs: Runs, within: BoolArray | None = None) -> Feasible:
        """Return the states of each run with which the career can continue to its end.

        ``within``, shape (R, A), are the wanted states; all by default. Without it, runs with equal
        lengths from there on (a course) have the same states, which are computed once, starting
        from the last runs of careers.
        """
        if within is None:
            return self._by_course(runs)
        result = self.supported(runs.start, runs.length) & within
        result[runs.first] &= self.first
        for r in range(int(runs.counts.max(initial=1)) - 2, -1, -1):
            here = runs.first[runs.counts > r + 1] + r
            result[here] &= self._has_successor(result[here + 1])
        return Feasible(result, np.arange(len(result)))

    def _by_course(self, runs: Runs) -> Feasible:
        course = np.zeros(len(runs.length), dtype=np.int64)
        tables = [np.zeros((0, self.n_states), dtype=bool)]
        last, n_before = runs.first + runs.counts - 1, 0
        for runs_after in range(int(runs.counts.max(initial=0))):
            at = last[runs.counts > runs_after] - runs_after
            later = course[at + 1] - n_before if runs_after else np.zeros_like(at)
            course_keys = np.stack([runs.start[at], runs.length[at], later, runs.index[at] == 0])
            _, chosen, position = np.unique(
                np.ravel_multi_index(tuple(course_keys), tuple(course_keys.max(axis=1) + 1)),
                return_index=True,
                return_inverse=True,
            )
            start, length, later, is_first = course_keys[:, chosen]
            states = self.supported(start, length)
            states[is_first == 1] &= self.first
            if runs_after:
                states &= self._has_successor(tables[-1])[later]
            n_before = sum(map(len, tables))
            course[at] = n_before + position
            tables.append(states)
        return Feasible(np.concatenate(tables), course)

    def _has_successor(self, later: BoolArray) -> BoolArray:
        """Return the states that some allowed later state can follow, shape (m, A)."""
        matrix, is_forbidden = self._sparse
        counts = (matrix @ later.T.astype(np.float32)).T
        if is_forbidden:
            return np.asarray(later.sum(axis=1, dtype=np.float32)[:, None] > counts)
        return np.asarray(counts > 0)

    @cached_property
    def _sparse(self) -> tuple[scipy.sparse.csr_array, bool]:
        """Return the forbidden or the allowed transitions, whichever are fewer."""
        is_forbidden = bool(self.allowed.mean() > 0.5)
        chosen = ~self.allowed if is_forbidden else self.allowed
        return scipy.sparse.csr_array(chosen.astype(np.float32)), is_forbidden

    def violations(self, sequences: npt.NDArray[np.int32]) -> BoolArray:
        """Return which careers break a rule on first states or transitions, shape (n,)."""
        steps = self.steps[sequences[:, :-1], sequences[:, 1:]]
        return np.asarray(~self.first[sequences[:, 0]] | ~steps.all(axis=1))


def fit_rules(
    sequences: npt.NDArray[np.int32],
    n_states: int,
    allowed: npt.ArrayLike | None = None,
    first_allowed: npt.ArrayLike | None = None,
) -> Rules:
    """Return the user's rules with the periods in which each state occurs in sequences, (n, T).

    ``allowed``, (A, A), and ``first_allowed``, (A,), allow all by default.
    """
    n_periods = sequences.shape[1]
    until = np.empty((n_states, n_periods), dtype=np.int32)
    ends = np.full(n_states, n_periods)
    for t in range(n_periods - 1, -1, -1):
        ends = np.where(np.bincount(sequences[:, t], minlength=n_states) > 0, ends, t)
        until[:, t] = ends
    shape = (n_states, n_states)
    matrix = np.ones(shape, dtype=bool) if allowed is None else np.array(allowed, dtype=bool)
    np.fill_diagonal(matrix, False)
    first = np.ones(n_states, bool) if first_allowed is None else np.array(first_allowed, bool)
    return Rules(until, matrix, first)
