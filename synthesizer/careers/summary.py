"""Person-level variables that follow from a career."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synthesizer.careers.runs import Codes, Index, to_runs

__all__ = ["CareerSummary", "summary"]


@dataclass(frozen=True, eq=False)
class CareerSummary:
    """Variables of n persons, each an array of shape (n,); periods count from 0.

    "At work" means in any state but ``out``. Persons who never work have -1 in ``first_period``,
    ``last_period``, ``first_state``, ``last_state`` and ``most_frequent_state``, and 0 elsewhere.

    Parameters
    ----------
    first_period, last_period : ndarray of int64
        First and last period at work.
    periods_at_work : ndarray of int64
    n_states : ndarray of int64
        Different states at work.
    n_moves : ndarray of int64
        Changes of state from one period to the next, with those from and to ``out`` between the
        first and the last period at work.
    first_state, last_state : ndarray of int32
        States of the first and last period at work.
    most_frequent_state : ndarray of int32
        State at work with the most periods; of several the one with the lowest code.
    n_gaps : ndarray of int64
        Stretches of ``out`` between two periods at work.
    """

    first_period: Index
    last_period: Index
    periods_at_work: Index
    n_states: Index
    n_moves: Index
    first_state: Codes
    last_state: Codes
    most_frequent_state: Codes
    n_gaps: Index


def summary(sequences: npt.ArrayLike, out_code: int | None) -> CareerSummary:
    """Return the person-level variables of careers.

    Parameters
    ----------
    sequences : array_like of int, shape (n, T)
        State codes, T >= 1.
    out_code : int or None
        Code of the state ``out``; None if there is no such state.

    Examples
    --------
    >>> found = summary([[0, 1, 1, 0, 2, 0], [0, 0, 0, 0, 0, 0]], out_code=0)
    >>> found.first_period.tolist(), found.last_period.tolist(), found.n_gaps.tolist()
    ([1, -1], [4, -1], [1, 0])
    >>> found.n_moves.tolist(), found.most_frequent_state.tolist()
    ([2, 0], [1, -1])
    """
    array = np.asarray(sequences)
    runs = to_runs(array)
    n = len(array)
    code = -1 if out_code is None else out_code
    work = np.flatnonzero(runs.state != code)
    person, start, end = runs.person[work], runs.start[work], (runs.start + runs.length)[work]
    head, tail = _ends(person)
    workers = person[head]

    def spread(values: npt.NDArray[np.integer], missing: int) -> Index:
        result = np.full(n, missing, dtype=np.int64)
        result[workers] = values
        return result

    index = runs.index[work]
    moves = index[tail] - index[head]
    spells = tail - head + 1
    owner, states, periods = _by_state(person, runs.state[work], runs.length[work])
    # Sorted by periods and, of equal ones, by falling code: the last entry of a person is chosen.
    order = np.lexsort((-states, periods, owner))
    most = states[order][_ends(owner)[1]]
    return CareerSummary(
        first_period=spread(start[head], -1),
        last_period=spread(end[tail] - 1, -1),
        periods_at_work=np.bincount(person, runs.length[work], minlength=n).astype(np.int64),
        n_states=np.bincount(owner, minlength=n).astype(np.int64),
        n_moves=spread(moves, 0),
        first_state=spread(runs.state[work][head], -1).astype(np.int32),
        last_state=spread(runs.state[work][tail], -1).astype(np.int32),
        most_frequent_state=spread(most, -1).astype(np.int32),
        # Between two spells at work lies a gap, unless they touch: a move within work.
        n_gaps=spread(moves - (spells - 1), 0),
    )


def _ends(person: Index) -> tuple[Index, Index]:
    """Return the first and last position of each person in a sorted array."""
    edges = np.flatnonzero(np.diff(person)) + 1
    if not len(person):
        return edges, edges
    return np.concatenate([[0], edges]), np.concatenate([edges - 1, [len(person) - 1]])


def _by_state(person: Index, state: Codes, length: Index) -> tuple[Index, Codes, Index]:
    """Add up the periods of each person in each state; sorted by person and state."""
    order = np.lexsort((state, person))
    person, state, length = person[order], state[order], length[order]
    new = np.ones(len(person), dtype=bool)
    new[1:] = (person[1:] != person[:-1]) | (state[1:] != state[:-1])
    starts = np.flatnonzero(new)
    periods = np.add.reduceat(length, starts) if len(starts) else length
    return person[starts], state[starts], periods
