"""Careers with given first and last periods and states."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from synthesizer.careers.lengths import FittedLengths
from synthesizer.careers.reach import wanted_states
from synthesizer.careers.runs import Codes, Index, Runs
from synthesizer.careers.support import Rules
from synthesizer.data.table import BoolArray, Table

__all__ = ["draw_within"]

DRAWS = (1, 4, 16, 64, 256, 256)  # of G and Z at once
MOST_CELLS = 100_000_000  # runs times states held as booleans at a time

Walk = Callable[[Index, Index, BoolArray, Table, np.random.Generator], Codes]


def draw_within(
    cells: Index,
    persons: Table,
    lengths: FittedLengths,
    rules: Rules,
    out_codes: Sequence[int],
    walk: Walk,
    *,
    rng: np.random.Generator,
) -> tuple[Codes, BoolArray]:
    """Draw numbers and lengths of runs until they fit, then states among those that lead there.

    Parameters
    ----------
    cells : ndarray of int64, shape (n, 4)
        First period at work and its state, last one and its state.
    persons : Table
        n rows.
    lengths : FittedLengths
    rules : Rules
    out_codes : sequence of int
        Codes of absence.
    walk : callable
        Draws states, from counts and lengths of runs, their feasible states and persons.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int32, shape (n, T)
        Careers.
    ndarray of bool, shape (n,)
        For whom one was found; the other rows mean nothing.
    """
    n_states, n_periods = rules.until.shape
    result = np.zeros((len(cells), n_periods), dtype=np.int32)
    left = np.arange(len(cells))
    for draws in DRAWS:
        if not len(left):
            break
        copies = max(1, min(draws, MOST_CELLS // (len(left) * n_periods * n_states)))
        owner = np.repeat(left, copies)
        people = persons.take(owner)
        counts = lengths.draw_counts(people, rng=rng)
        drawn = lengths.draw_lengths(counts, people, rng=rng)
        runs = Runs(counts, drawn, np.empty(0, dtype=np.int32))
        wanted = wanted_states(cells[owner], runs, n_states, out_codes)
        feasible = rules.feasible(runs.first, counts, runs.start, drawn, wanted)
        fits = feasible[runs.first].any(axis=1).reshape(len(left), copies)
        found = np.flatnonzero(fits.any(axis=1))
        chosen = found * copies + fits[found].argmax(axis=1)
        own = np.isin(runs.person, chosen)
        if len(found):
            result[left[found]] = walk(
                counts[chosen], drawn[own], feasible[own], people.take(chosen), rng
            )
        left = np.delete(left, found)
    return result, ~np.isin(np.arange(len(cells)), left)
