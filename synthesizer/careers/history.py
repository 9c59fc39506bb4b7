"""What is known of a career when the state of its next run is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from synthesizer.careers.runs import Codes, Index, Runs
from synthesizer.data.schema import Kind, Variable
from synthesizer.data.table import Column, FloatArray, IntArray, Table

__all__ = ["FIRST", "LATER", "STATES", "Career", "Features"]

FIRST = ("runs", "length")
STATES = ("current", "before", "earlier", "first")
LATER = ("start", "current_length", "before_length", "length", "next_length", "runs", "left")
PERSON = "person:"  # so that a variable called "first" does not hide what is known of runs


class Career:
    """Careers whose run lengths are known and whose states are filled in run by run.

    Parameters
    ----------
    counts : ndarray of int64, shape (n,)
        Number of runs of each person.
    length : ndarray of int64, shape (R,)
        Lengths of all runs, person after person.
    n_states : int
        A; the code A stands for "no such run".
    state : ndarray of int32, shape (R,), optional
        States that are known already.
    """

    def __init__(
        self, counts: Index, length: Index, n_states: int, state: Codes | None = None
    ) -> None:
        empty = np.full(len(length), n_states, dtype=np.int32)
        self.runs = Runs(counts, length, empty if state is None else state)
        self.n_states = n_states

    def state_before(self, at: Index, r: IntArray, steps: int) -> Codes:
        """Return the state ``steps`` runs before run ``r`` at position ``at``, else A."""
        found = self.runs.state[np.maximum(at - steps, 0)]
        return np.where(r >= steps, found, np.int32(self.n_states))

    def length_at(self, at: Index, r: IntArray, steps: int) -> Index:
        """Return the length of the run ``steps`` after (before, if negative) run ``r``, else 0."""
        runs = self.runs
        inside = (r + steps >= 0) & (r + steps < runs.counts[runs.person[at]])
        place = np.clip(at + steps, 0, len(runs.length) - 1)
        return np.where(inside, runs.length[place], 0)


@dataclass(frozen=True, eq=False)
class Features:
    """Which predictors the trees of states see.

    Parameters
    ----------
    n_states : int
        A.
    frequent : ndarray of int32, shape (F,)
        The most frequent states (in periods): time spent in each so far is a predictor.
    """

    n_states: int
    frequent: Codes

    def first(self, career: Career, at: Index, persons: Table) -> Table:
        """Return the predictors of the first state of persons at run positions ``at``."""
        runs = career.runs
        # The lengths of later runs were tried as well: no better, and worse with small leaves.
        numbers = dict(zip(FIRST, (runs.counts[runs.person[at]], runs.length[at]), strict=True))
        return self._table({}, numbers, persons, len(at))

    def next(self, career: Career, at: Index, spent: FloatArray, persons: Table) -> Table:
        """Return the predictors of the states of the runs at positions ``at`` (not first runs).

        Parameters
        ----------
        career : Career
            With the states before the runs.
        at : ndarray of int64, shape (m,)
        spent : ndarray, shape (m, F)
            Periods spent so far in each frequent state.
        persons : Table
            m rows.
        """
        runs = career.runs
        r, counts = runs.index[at], runs.counts[runs.person[at]]
        before = [career.state_before(at, r, steps) for steps in (1, 2, 3)]
        states = dict(zip(STATES, (*before, runs.state[at - r]), strict=True))
        known: list[npt.NDArray[Any]] = [
            runs.start[at],
            runs.length[at - 1],
            career.length_at(at, r, -2),
            runs.length[at],
            career.length_at(at, r, 1),
            counts,
            counts - r - 1,
        ]
        numbers = dict(zip(LATER, known, strict=True))
        numbers |= dict(zip(self.spent_names, spent.T, strict=True))
        return self._table(states, numbers, persons, len(at))

    @property
    def spent_names(self) -> tuple[str, ...]:
        """Names of the predictors that say how long a person was in each frequent state."""
        return tuple(f"spent_{code}" for code in self.frequent.tolist())

    def check_encoding(
        self,
        names: Sequence[str],
        positions: Sequence[npt.NDArray[Any]],
        known: Sequence[str],
    ) -> None:
        """Raise ValueError if a saved tree asks for predictors that there will not be."""
        for name, places in zip(names, positions, strict=True):
            if not name.startswith(PERSON) and name not in known:
                raise ValueError("a tree of careers has an unknown predictor")
            if name in STATES and len(places) != self.n_states + 1:
                raise ValueError("a tree of careers must have a position for every state")

    def spent_before(self, career: Career) -> FloatArray:
        """Return the periods spent in each frequent state before each run, shape (R, F)."""
        runs = career.runs
        result = np.empty((len(runs.length), len(self.frequent)), dtype=np.float64)
        for k, code in enumerate(self.frequent):
            own = np.where(runs.state == code, runs.length, 0)
            before = np.cumsum(own) - own
            result[:, k] = before - np.repeat(before[runs.first], runs.counts)
        return result

    def _table(
        self,
        states: Mapping[str, Codes],
        numbers: Mapping[str, npt.NDArray[Any]],
        persons: Table,
        n_rows: int,
    ) -> Table:
        levels = tuple(str(i) for i in range(self.n_states + 1))
        columns = [
            Column(Variable(name=name, kind=Kind.CATEGORICAL, levels=levels), codes)
            for name, codes in states.items()
        ]
        columns += [
            Column(Variable(name=name, kind=Kind.NUMERIC), values.astype(np.float64))
            for name, values in numbers.items()
        ]
        for column in persons.columns:
            variable = replace(column.variable, name=f"{PERSON}{column.name}")
            columns.append(replace(column, variable=variable))
        return Table(columns, n_rows)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a saved model."""
        return {"frequent": self.frequent}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any], *, n_states: int) -> Self:
        """Rebuild from ``to_dict``; raises ValueError on codes out of range."""
        frequent = np.asarray(state["frequent"], dtype=np.int32)
        if frequent.ndim != 1 or (frequent < 0).any() or (frequent >= n_states).any():
            raise ValueError("frequent states are out of range")
        return cls(n_states, frequent)
