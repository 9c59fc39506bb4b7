"""First and last periods and states of careers: which can be had, and what leads there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from synthesizer.careers.runs import Runs
from synthesizer.careers.support import Rules
from synthesizer.data.table import BoolArray

__all__ = ["possible_cells", "wanted_states"]


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
    >>> from synthesizer.careers.support import fit_rules
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
    >>> from synthesizer.careers.runs import to_runs
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
