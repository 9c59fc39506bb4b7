"""Exact joint counts of the first and last periods at work and their states.

A cell is a row (first period at work, its state, last period at work, its state), -1 for persons
who never work. Absence may have several codes, by the state before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from synthesizer.data.table import BoolArray
from synthesizer.models.careers.runs import Codes, Index, Rules, Runs, rows_among

N_KEYS = 4
Cells = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Quota:
    """The wanted number of careers in each of C cells."""

    cells: Cells
    """Distinct rows, shape (C, 4)."""
    counts: Index
    """Persons in each cell, >= 1; shape (C,)."""

    def __post_init__(self) -> None:
        if self.cells.shape != (len(self.counts), N_KEYS) or self.counts.ndim != 1:
            raise ValueError("a quota must have one count for each cell")
        if not len(self.counts) or self.counts.min() < 1:
            raise ValueError("counts of a quota must be at least 1")

    @classmethod
    def of(cls, sequences: npt.ArrayLike, out_codes: Sequence[int]) -> Self:
        """Count the cells of the confidential careers."""
        cells, counts = np.unique(match_cells(sequences, out_codes), axis=0, return_counts=True)
        return cls(cells, counts.astype(np.int64))

    def scaled(self, n: int) -> Index:
        """Return proportional counts for n careers, by largest remainders."""
        exact = self.counts * (n / self.counts.sum())
        base = np.floor(np.round(exact, 9)).astype(np.int64)
        order = np.argsort(base - exact, kind="stable")
        base[order[: n - int(base.sum())]] += 1
        return np.asarray(base)


def match_cells(sequences: npt.ArrayLike, out_codes: Sequence[int]) -> Cells:
    """Return the cell of each career, shape (n, 4)."""
    array = np.asarray(sequences)
    at_work = ~np.isin(array, out_codes)
    first = at_work.argmax(axis=1)
    last = array.shape[1] - 1 - at_work[:, ::-1].argmax(axis=1)
    rows = np.arange(len(array))
    cells = np.column_stack([first, array[rows, first], last, array[rows, last]])
    cells[~at_work.any(axis=1)] = -1
    return cells.astype(np.int64)


def fit_quota(
    sequences: Codes, out_codes: Sequence[int], rules: Rules
) -> tuple[Quota | None, tuple[str, ...]]:
    """Return the quota of cells that the rules allow, and a note on persons in other cells.

    The counts of the other cells go to the allowed ones in proportion.
    """
    quota = Quota.of(sequences, out_codes)
    obeys = ~rules.violations(sequences)
    had = Quota.of(sequences[obeys], out_codes).cells if obeys.any() else quota.cells[:0]
    possible = rows_among(had, quota.cells) < len(had)
    doubtful = np.flatnonzero(~possible)
    possible[doubtful] = possible_cells(quota.cells[doubtful], rules, out_codes)
    if possible.all():
        return quota, ()
    persons = int(quota.counts[~possible].sum())
    note = (
        f"match: the rules allow no career with the first and last period and state of {persons} "
        "confidential persons; their counts go to the other combinations in proportion"
    )
    reduced = Quota(quota.cells[possible], quota.counts[possible]) if possible.any() else None
    return reduced, (note,)


def draw_matched(
    quota: Quota,
    draw: Callable[[Index], Codes],
    draw_within: Callable[[Index, Cells], tuple[Codes, BoolArray]],
    out_codes: Sequence[int],
    n: int,
    *,
    oversample: int,
    is_owned: bool,
    rng: np.random.Generator,
) -> Codes:
    """Draw n careers that fill the quota.

    ``draw`` draws a career for each of some persons, 0 to n - 1, first ``oversample`` times for
    each. ``draw_within`` then draws careers in the cells that are not full, and returns for which
    persons it found one. ``is_owned``: whether careers depend on persons.
    """
    people = np.tile(np.arange(n), oversample)
    drawn = draw(people)
    owners = people if is_owned else None
    chosen = drawn[take_quota(quota, match_cells(drawn, out_codes), owners, n, rng=rng)]
    which, room = _rows_and_room(quota, match_cells(chosen, out_codes), n)
    over = np.flatnonzero(_rank(which) >= room[which])
    if len(over):
        empty = room - np.bincount(np.delete(which, over), minlength=len(room))
        wanted = rng.permutation(np.repeat(np.arange(len(room)), empty))
        more, is_drawn = draw_within(over, quota.cells[wanted])
        chosen[over[is_drawn]] = more[is_drawn]
    return chosen


def unfilled(quota: Quota, cells: Cells) -> int:
    """Return the number of n drawn careers that exceed the quota of their cell."""
    which, room = _rows_and_room(quota, cells, len(cells))
    return int((_rank(which) >= room[which]).sum())


def take_quota(
    quota: Quota, candidates: Cells, owners: Index | None, n: int, *, rng: np.random.Generator
) -> Index:
    """Choose n candidates that fill the quota as far as possible, the others at random.

    ``candidates`` are the cells of m >= n careers. ``owners``, shape (m,), are the persons, 0 to
    n - 1, whose predictors were used; every person receives one of the careers drawn for that
    person. None if careers do not depend on persons.
    """
    which, room = _rows_and_room(quota, candidates, n)
    if owners is None:
        return _take_any(room, which, n, rng)
    return _take_own(room, which, owners, n, rng)


def _take_any(room: Index, which: Index, n: int, rng: np.random.Generator) -> Index:
    order = rng.permutation(len(which))
    fits = _rank(which[order]) < room[which[order]]
    chosen, others = order[fits], order[~fits]
    chosen = np.concatenate([chosen, others[: n - len(chosen)]])
    return rng.permutation(chosen)


def _take_own(room: Index, which: Index, owners: Index, n: int, rng: np.random.Generator) -> Index:
    """Choose among the candidates of all persons, round by round."""
    order = rng.permutation(len(which))
    order = order[np.argsort(owners[order], kind="stable")]
    turn = _rank(owners[order])
    result = np.full(n, -1, dtype=np.int64)
    room = room.copy()
    for number in range(int(turn.max(initial=-1)) + 1):
        mine = order[turn == number]
        mine = rng.permutation(mine[result[owners[mine]] < 0])
        taken = mine[_rank(which[mine]) < room[which[mine]]]
        result[owners[taken]] = taken
        room -= np.bincount(which[taken], minlength=len(room))
    is_open = result < 0
    result[is_open] = order[turn == 0][
        is_open
    ]  # any of the own candidates: they are in random order
    return result


def _rows_and_room(quota: Quota, cells: Cells, n: int) -> tuple[Index, Index]:
    """Return the row of each cell in the quota, and the counts of rows; 0 for unknown cells."""
    return rows_among(quota.cells, cells), np.append(quota.scaled(n), 0)


def _rank(groups: Index) -> Index:
    """Return the number of earlier rows with the same group, shape (m,)."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    begin = np.searchsorted(ordered, ordered)  # where the group of each row begins
    result = np.empty(len(groups), dtype=np.int64)
    result[order] = np.arange(len(groups)) - begin
    return result


def possible_cells(cells: Cells, rules: Rules, out_codes: Sequence[int]) -> BoolArray:
    """Return the cells that have a possible career with any number of runs, shape (m,)."""
    n_states, n_periods = rules.until.shape
    exists = np.asarray(rules.until > np.arange(n_periods)).T
    absence = exists & np.isin(np.arange(n_states), np.asarray(out_codes, dtype=np.int64))
    until = np.empty((n_periods + 1, n_states), dtype=bool)  # states possible after absence only
    until[0] = rules.first
    for period in range(n_periods):
        until[period + 1] = _moved((until[period] & absence[period])[None, :], rules.steps)[0]
    since = np.empty((n_periods + 1, n_states), dtype=bool)  # states possible before absence only
    since[-1] = True
    for period in range(n_periods - 1, -1, -1):
        since[period] = _moved((since[period + 1] & absence[period])[None, :], rules.steps.T)[0]
    result = np.zeros(len(cells), dtype=bool)
    result[cells[:, 0] < 0] = bool(until[n_periods].any())
    for start in np.unique(cells[cells[:, 0] >= 0, 0]).tolist():
        rows = np.flatnonzero(cells[:, 0] == start)
        codes, code_of_row = np.unique(cells[rows, 1], return_inverse=True)
        reached = np.zeros((len(codes), n_states), dtype=bool)
        reached[np.arange(len(codes)), codes] = (until[start] & exists[start])[codes]
        ends, states = cells[rows, 2], cells[rows, 3]
        for period in range(start, n_periods):
            if period > start:
                reached = _moved(reached, rules.steps) & exists[period]
            here = ends == period
            state = states[here]
            result[rows[here]] = (
                reached[code_of_row.reshape(-1)[here], state] & since[period + 1, state]
            )
    return result


def _moved(reached: BoolArray, steps: BoolArray) -> BoolArray:
    """Return the states that are possible one period later, shape (k, A)."""
    return np.asarray(reached.astype(np.float32) @ steps.astype(np.float32) > 0)


def wanted_states(cells: Cells, runs: Runs, n_states: int, out_codes: Sequence[int]) -> BoolArray:
    """Return the states of runs for careers in given cells, shape (R, A)."""
    start, end = runs.start, runs.start + runs.length
    begin, first_state, last, last_state = cells[runs.person].T
    result = np.ones((len(start), n_states), dtype=bool)
    result[(start < begin) | (start > last)] = np.isin(
        np.arange(n_states), np.asarray(out_codes, dtype=np.int64)
    )
    for inside, edge, state in (
        ((start <= begin) & (begin < end), start == begin, first_state),
        ((start <= last) & (last < end), end == last + 1, last_state),
    ):
        rows = np.flatnonzero(inside)
        fits = state[rows, None] == np.arange(n_states)
        result[rows] &= fits & edge[rows, None]
    return result
