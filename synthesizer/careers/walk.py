"""Drawing the states of careers run by run, within the rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from synthesizer.careers.history import Career
from synthesizer.careers.runs import Codes, Index
from synthesizer.careers.support import Rules
from synthesizer.careers.transitions import Chain, Transitions
from synthesizer.data.table import BoolArray, FloatArray, Table

__all__ = ["draw_states"]

REDRAWS = 20  # wider neighbourhoods know less of the history: only where these do not help
WIDER_STEPS = (1, 2, 4, 8)
MASKED_CELLS = 20_000_000  # rows times states drawn under a mask at a time


@dataclass(frozen=True, eq=False)
class _Walk:
    """What every step needs."""

    career: Career
    feasible: BoolArray
    rules: Rules
    chain: Chain
    rng: np.random.Generator

    def states(self, at: Index, draw: Callable[[Index, int], Codes], *, is_first: bool) -> Codes:
        """Draw a feasible state for each run: redrawn, then wider, then from the masked chain."""
        result = draw(np.arange(len(at)), 0)
        left = self._refused(at, result, np.arange(len(at)), is_first=is_first)
        for steps in (0,) * REDRAWS + WIDER_STEPS:
            if not len(left):
                return result
            result[left] = draw(left, steps)
            left = self._refused(at, result, left, is_first=is_first)
        size = max(1, MASKED_CELLS // self.rules.n_states)
        for begin in range(0, len(left), size):
            rows = left[begin : begin + size]
            result[rows] = self._masked(at[rows], is_first=is_first)
        return result

    def _refused(self, at: Index, states: Codes, rows: Index, *, is_first: bool) -> Index:
        """Return those of the rows whose state breaks a rule or leads into a dead end."""
        place, drawn = at[rows], states[rows]
        good = self.feasible[place, drawn]
        if not is_first:
            good = good & self.rules.allowed[self.career.runs.state[place - 1], drawn]
        return rows[~good]

    def _masked(self, at: Index, *, is_first: bool) -> Codes:
        mask = self.feasible[at]
        if not is_first:
            mask = mask & self.rules.may_follow(self.career.runs.state[at - 1])
        odds = self.chain.probabilities(self.career, at, is_first=is_first) * mask
        # The chain may never have seen what the rules leave: then all that is left is alike.
        odds = np.where(odds.sum(axis=1, keepdims=True) > 0, odds, mask)
        cumulated = np.cumsum(odds, axis=1)
        points = (1.0 - self.rng.random(len(at))) * cumulated[:, -1]  # never 0
        return np.asarray((cumulated < points[:, None]).sum(axis=1), dtype=np.int32)


def draw_states(
    career: Career,
    feasible: BoolArray,
    rules: Rules,
    model: Transitions,
    chain: Chain,
    frequent: Codes,
    persons: Table,
    *,
    rng: np.random.Generator,
) -> Codes:
    """Fill in the states of all runs of ``career``, all persons at once, run by run.

    Parameters
    ----------
    career : Career
        With lengths only; its states are written.
    feasible : ndarray of bool, shape (R, A)
        From `Rules.feasible`; every first run has a feasible state.
    rules : Rules
    model : Transitions
        Draws states.
    chain : Chain
        Its probabilities are used where the model draws nothing that is feasible.
    frequent : ndarray of int32, shape (F,)
        States whose time so far the model asks for.
    persons : Table
        n rows.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int32, shape (R,)
    """
    runs = career.runs
    walk = _Walk(career, feasible, rules, chain, rng)
    spent: FloatArray = np.zeros((runs.n_persons, len(frequent)))
    for r in range(int(runs.counts.max(initial=0))):
        rows = np.flatnonzero(runs.counts > r)
        at = runs.first[rows] + r
        people = persons.take(rows) if r else persons

        def draw(
            chosen: Index, steps: int, at: Index = at, rows: Index = rows, people: Table = people
        ) -> Codes:
            place, who = at[chosen], people.take(chosen)
            if not runs.index[at[0]]:
                return model.draw_first(career, place, who, steps=steps, rng=rng)
            return model.draw_next(career, place, spent[rows[chosen]], who, steps=steps, rng=rng)

        runs.state[at] = walk.states(at, draw, is_first=r == 0)
        spent[rows] += (runs.state[at][:, None] == frequent) * runs.length[at][:, None]
    return runs.state
