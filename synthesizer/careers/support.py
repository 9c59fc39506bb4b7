"""Which states a run may have, and which choices lead into a dead end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from synthesizer.careers.runs import Index
from synthesizer.data.table import BoolArray, IntArray

__all__ = ["Rules", "fit_rules"]


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

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a saved model."""
        return {
            "until": self.until,
            "allowed": self.allowed.astype(np.int8),
            "first": self.first.astype(np.int8),
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any], *, n_periods: int) -> Self:
        """Rebuild from ``to_dict``; raises ValueError on arrays that do not fit."""
        until = np.asarray(state["until"], dtype=np.int32)
        allowed = np.asarray(state["allowed"]).astype(bool)
        first = np.asarray(state["first"]).astype(bool)
        n = len(first)
        if until.shape != (n, n_periods) or allowed.shape != (n, n) or first.shape != (n,) or not n:
            raise ValueError("rules of careers must have one row for each state")
        if until.min() < 0 or until.max() > n_periods or allowed.diagonal().any():
            raise ValueError("rules of careers are out of range")
        return cls(until, allowed, first)


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
