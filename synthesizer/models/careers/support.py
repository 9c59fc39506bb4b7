"""Which states a run may have, and which choices lead into a dead end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

from synthesizer.data.table import BoolArray, IntArray
from synthesizer.models.careers.runs import Index, Runs


@dataclass(frozen=True, eq=False)
class Rules:
    """Rules that every drawn career obeys.

    Parameters
    ----------
    until : ndarray of int32, shape (A, T)
        For each state and period the period before which a run of this state that starts here
        must end, since then nobody of the confidential data is in it; the period itself if
        nobody is in it at once.
    allowed : ndarray of bool, shape (A, A)
        Which state may follow which; the diagonal is False. An absorbing state has a row of
        False.
    first : ndarray of bool, shape (A,)
        Which state may come first.
    """

    until: npt.NDArray[np.int32]
    allowed: BoolArray
    first: BoolArray

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

    def supported(self, start: IntArray, length: IntArray) -> BoolArray:
        """Return which states exist in every period of each run, shape (m, A)."""
        return np.asarray(self.until.T[start] >= (start + length)[:, None])

    def feasible(
        self,
        first: Index,
        counts: Index,
        start: Index,
        length: Index,
        within: BoolArray | None = None,
    ) -> BoolArray:
        """Return which states each run may have so that the rest of the career can follow.

        Parameters
        ----------
        first, counts : ndarray, shape (n,)
            Position of the first run of each person, and number of runs.
        start, length : ndarray, shape (R,)
            Of all runs.
        within : ndarray of bool, shape (R, A), optional
            Which states are wanted; all by default.

        Returns
        -------
        ndarray of bool, shape (R, A)
        """
        result = self.supported(start, length)
        if within is not None:
            result &= within
        result[first] &= self.first
        for r in range(int(counts.max(initial=1)) - 2, -1, -1):
            here = first[counts > r + 1] + r
            result[here] &= self._has_successor(result[here + 1])
        return result

    def may_follow(self, current: IntArray) -> BoolArray:
        """Return which states may follow each of the given ones, shape (m, A)."""
        return self.allowed[current]

    def _has_successor(self, later: BoolArray) -> BoolArray:
        """Return the states that some allowed later state can follow, shape (m, A)."""
        matrix, forbidden = self._sparse
        counts = (matrix @ later.T.astype(np.float32)).T
        if forbidden:
            return np.asarray(later.sum(axis=1, dtype=np.float32)[:, None] > counts)
        return np.asarray(counts > 0)

    @cached_property
    def _sparse(self) -> tuple[sparse.csr_array, bool]:
        """Return the transitions that are forbidden or those that are allowed: the fewer."""
        forbidden = bool(self.allowed.mean() > 0.5)
        chosen = ~self.allowed if forbidden else self.allowed
        return sparse.csr_array(chosen.astype(np.float32)), forbidden

    def violations(self, sequences: npt.NDArray[np.int32]) -> BoolArray:
        """Return which careers break a rule on first states or transitions, shape (n,)."""
        before, after = sequences[:, :-1], sequences[:, 1:]
        same = self.allowed.copy()
        np.fill_diagonal(same, True)
        return np.asarray(~self.first[sequences[:, 0]] | ~same[before, after].all(axis=1))


def fit_rules(
    sequences: npt.NDArray[np.int32],
    n_states: int,
    allowed: npt.ArrayLike | None = None,
    first_allowed: npt.ArrayLike | None = None,
) -> Rules:
    """Learn in which periods each state exists and take over the user's rules.

    Parameters
    ----------
    sequences : ndarray of int32, shape (n, T)
    n_states : int
        A.
    allowed : array_like of bool, shape (A, A), optional
        Which state may follow which; all by default.
    first_allowed : array_like of bool, shape (A,), optional
        Which state may come first; all by default.

    Raises
    ------
    ValueError
        If the rules have another shape.

    Examples
    --------
    >>> rules = fit_rules(np.array([[0, 0, 1]], dtype=np.int32), 2)
    >>> rules.until.tolist()
    [[2, 2, 2], [0, 1, 3]]
    """
    n_periods = sequences.shape[1]
    exists = np.zeros((n_states, n_periods), dtype=bool)
    for t in range(n_periods):
        exists[np.bincount(sequences[:, t], minlength=n_states) > 0, t] = True
    until = np.empty((n_states, n_periods), dtype=np.int32)
    ends = np.full(n_states, n_periods, dtype=np.int32)
    for t in range(n_periods - 1, -1, -1):
        ends = np.where(exists[:, t], ends, t).astype(np.int32)
        until[:, t] = ends
    shape = (n_states, n_states)
    matrix = np.ones(shape, dtype=bool) if allowed is None else np.array(allowed, dtype=bool)
    if matrix.shape != shape:
        raise ValueError(f"allowed (shape {matrix.shape}) must have shape {shape}")
    np.fill_diagonal(matrix, False)
    first = np.ones(n_states, bool) if first_allowed is None else np.array(first_allowed, bool)
    if first.shape != (n_states,):
        raise ValueError(f"first_allowed (shape {first.shape}) must have shape ({n_states},)")
    return Rules(until, matrix, first)


# First and last periods and states of careers: which can be had, and what leads there.


def possible_cells(
    cells: npt.NDArray[np.int64], rules: Rules, out_codes: Sequence[int]
) -> BoolArray:
    """Return for which cells there is a career, whatever its number of runs, shape (m,).

    Parameters
    ----------
    cells : ndarray of int64, shape (m, 4)
        First period at work and its state, last one and its state; -1 for persons who never work.
    rules : Rules
        Which state may come first, follow which, and exists when.
    out_codes : sequence of int
        Codes of absence.

    Examples
    --------
    >>> from synthesizer.models.careers.support import fit_rules
    >>> data = np.array([[0, 0, 1], [1, 1, 0]], dtype=np.int32)
    >>> rules = fit_rules(data, 2, allowed=[[True, True], [False, True]])
    >>> possible_cells(np.array([[0, 0, 2, 1], [0, 1, 2, 0]]), rules, ()).tolist()
    [True, False]
    """
    n_states, n_periods = rules.until.shape
    exists = np.asarray(rules.until > np.arange(n_periods)).T
    steps = rules.allowed | np.eye(n_states, dtype=bool)
    out = np.isin(np.arange(n_states), np.asarray(out_codes, dtype=np.int64))
    until, since = _absent_until(exists, steps, out, rules.first), _absent_since(exists, steps, out)
    result = np.zeros(len(cells), dtype=bool)
    result[cells[:, 0] < 0] = bool(until[n_periods].any())
    for start in np.unique(cells[cells[:, 0] >= 0, 0]).tolist():
        rows = np.flatnonzero(cells[:, 0] == start)
        codes, own = np.unique(cells[rows, 1], return_inverse=True)
        reached = np.zeros((len(codes), n_states), dtype=bool)
        reached[np.arange(len(codes)), codes] = (until[start] & exists[start])[codes]
        ends, states = cells[rows, 2], cells[rows, 3]
        for period in range(start, n_periods):
            if period > start:
                reached = _moved(reached, steps) & exists[period]
            here = ends == period
            state = states[here]
            result[rows[here]] = reached[own.reshape(-1)[here], state] & since[period + 1, state]
    return result


def wanted_states(
    cells: npt.NDArray[np.int64], runs: Runs, n_states: int, out_codes: Sequence[int]
) -> BoolArray:
    """Return the states that runs may have so that careers lie in given cells, shape (R, A).

    Parameters
    ----------
    cells : ndarray of int64, shape (n, 4)
        See `possible_cells`.
    runs : Runs
        Of n persons; their states are not used.
    n_states : int
        A.
    out_codes : sequence of int
        Codes of absence.

    Examples
    --------
    >>> from synthesizer.models.careers.runs import to_runs
    >>> runs = to_runs([[0, 1, 1, 0]])
    >>> wanted_states(np.array([[1, 2, 2, 2]]), runs, 3, [0]).astype(int).tolist()
    [[1, 0, 0], [0, 0, 1], [1, 0, 0]]
    """
    out = np.isin(np.arange(n_states), np.asarray(out_codes, dtype=np.int64))
    start, end = runs.start, runs.start + runs.length
    begin, one, last, other = cells[runs.person].T
    result = np.ones((len(start), n_states), dtype=bool)
    result[(start < begin) | (start > last)] = out
    for inside, edge, state in (
        ((start <= begin) & (begin < end), start == begin, one),
        ((start <= last) & (last < end), end == last + 1, other),
    ):
        rows = np.flatnonzero(inside)
        fits = state[rows, None] == np.arange(n_states)
        result[rows] &= fits & edge[rows, None]
    return result


def _moved(reached: BoolArray, steps: BoolArray) -> BoolArray:
    """Return the states one period after given ones, shape (k, A)."""
    return np.asarray(reached.astype(np.float32) @ steps.astype(np.float32) > 0)


def _absent_until(
    exists: BoolArray, steps: BoolArray, out: BoolArray, first: BoolArray
) -> BoolArray:
    """Return which states may come in a period if it is absence before, shape (T + 1, A).

    The last row holds the absence of those who are never at work.
    """
    found = np.empty((len(exists) + 1, len(out)), dtype=bool)
    found[0] = first
    for period, there in enumerate(exists):
        absent = found[period] & there & out
        found[period + 1] = _moved(absent[None, :], steps)[0]
    return found


def _absent_since(exists: BoolArray, steps: BoolArray, out: BoolArray) -> BoolArray:
    """Return after which states it may be absence from a period on to the end, (T + 1, A)."""
    found = np.empty((len(exists) + 1, len(out)), dtype=bool)
    found[-1] = True
    for period in range(len(exists) - 1, -1, -1):
        absent = found[period + 1] & exists[period] & out
        found[period] = _moved(absent[None, :], steps.T)[0]
    return found
