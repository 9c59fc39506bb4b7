"""The quota step: keep the careers that reproduce exact joint counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synthesizer.data.table import BoolArray
from synthesizer.models.careers.runs import Codes, Index, to_runs

# Person-level variables that follow from a career.


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


N_KEYS = 4
Cells = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Quota:
    """Exact joint counts of the confidential careers.

    Parameters
    ----------
    cells : ndarray of int64, shape (C, 4)
        First period at work, first state, last period at work, last state; distinct rows.
    counts : ndarray of int64, shape (C,)
        Persons in each cell.
    """

    cells: Cells
    counts: Index

    def __post_init__(self) -> None:
        if self.cells.shape != (len(self.counts), N_KEYS) or self.counts.ndim != 1:
            raise ValueError("a quota must have one count for each cell")
        if not len(self.counts) or self.counts.min() < 1:
            raise ValueError("counts of a quota must be at least 1")

    def scaled(self, n: int) -> Index:
        """Return counts for n careers: in proportion, largest remainders."""
        exact = self.counts * (n / self.counts.sum())
        base = np.floor(np.round(exact, 9)).astype(np.int64)
        order = np.argsort(base - exact, kind="stable")
        base[order[: n - int(base.sum())]] += 1
        return np.asarray(base)


def match_cells(sequences: npt.ArrayLike, out_codes: Sequence[int]) -> Cells:
    """Return the cell of each career, shape (n, 4), see `Quota`.

    Parameters
    ----------
    sequences : array_like of int, shape (n, T)
    out_codes : sequence of int
        Codes of absence; several where absence remembers the state before it.

    Examples
    --------
    >>> match_cells([[0, 1, 2, 0], [3, 1, 3, 2]], out_codes=[0, 3]).tolist()
    [[1, 1, 2, 2], [1, 1, 3, 2]]
    """
    array = np.asarray(sequences)
    if len(out_codes) > 1:
        array = np.where(np.isin(array, out_codes), out_codes[0], array)
    found = summary(array, out_codes[0] if len(out_codes) else None)
    columns = (found.first_period, found.first_state, found.last_period, found.last_state)
    return np.column_stack([column.astype(np.int64) for column in columns])


def fit_quota(sequences: npt.ArrayLike, out_codes: Sequence[int]) -> Quota:
    """Count the cells of the confidential careers."""
    cells, counts = np.unique(match_cells(sequences, out_codes), axis=0, return_counts=True)
    return Quota(cells, counts.astype(np.int64))


def draw_matched(
    quota: Quota,
    draw: Callable[[Index], Codes],
    draw_within: Callable[[Index, Cells], tuple[Codes, BoolArray]],
    cells_of: Callable[[Codes], Cells],
    n: int,
    *,
    oversample: int,
    is_owned: bool,
    rng: np.random.Generator,
) -> Codes:
    """Draw careers that fill the quota; places that stay empty are drawn for on purpose.

    Parameters
    ----------
    quota : Quota
    draw : callable
        Draws a career for each of some persons, 0 to n - 1.
    draw_within : callable
        Draws careers for persons in given cells, and tells for whom it found one.
    cells_of : callable
        Gives the cells of careers.
    n : int
        Number of careers wanted, >= 1.
    oversample : int
        Careers drawn for each person at first, >= 1.
    is_owned : bool
        Whether careers depend on persons.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int32, shape (n, T)
    """
    people = np.tile(np.arange(n), oversample)
    drawn = draw(people)
    owners = people if is_owned else None
    chosen = drawn[take_quota(quota, cells_of(drawn), owners, n, rng=rng)]
    room = np.append(quota.scaled(n), 0)
    which = _places(quota.cells, cells_of(chosen))
    over = np.flatnonzero(_rank(which) >= room[which])
    if len(over):
        empty = room - np.bincount(np.delete(which, over), minlength=len(room))
        places = rng.permutation(np.repeat(np.arange(len(room)), empty))
        more, found = draw_within(over, quota.cells[places])
        chosen[over[found]] = more[found]
    return chosen


def unfilled(quota: Quota, cells: Cells) -> int:
    """Return for how many of n drawn careers the quota has no place, so as many stay empty.

    Examples
    --------
    >>> quota = Quota(np.array([[0, 0, 1, 0], [0, 1, 1, 1]]), np.array([1, 1]))
    >>> unfilled(quota, np.array([[0, 0, 1, 0], [0, 0, 1, 0]]))
    1
    """
    room = np.append(quota.scaled(len(cells)), 0)
    which = _places(quota.cells, cells)
    return int((_rank(which) >= room[which]).sum())


def take_quota(
    quota: Quota,
    candidates: Cells,
    owners: Index | None,
    n: int,
    *,
    rng: np.random.Generator,
) -> Index:
    """Choose candidates that fill the quota; what stays empty is filled at random.

    Parameters
    ----------
    quota : Quota
    candidates : ndarray of int64, shape (m, 4)
        Cells of the candidates, m >= n.
    owners : ndarray of int64, shape (m,), or None
        Person, 0 to n - 1, whose predictors each candidate was drawn with: every person keeps
        one of the own candidates. None if careers do not depend on persons.
    n : int
        Number of careers wanted.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int64, shape (n,)
        Position of the candidate of each person.

    Examples
    --------
    >>> quota = Quota(np.array([[0, 0, 1, 0], [0, 1, 1, 1]]), np.array([1, 1]))
    >>> cells = np.array([[0, 0, 1, 0]] * 3 + [[0, 1, 1, 1]])
    >>> sorted(take_quota(quota, cells, None, 2, rng=np.random.default_rng(1)).tolist())[1]
    3
    """
    room = np.append(quota.scaled(n), 0)  # the last place is for cells that do not occur
    which = _places(quota.cells, candidates)
    if owners is None:
        return _take_any(room, which, n, rng)
    return _take_own(room, which, owners, n, rng)


def _take_any(room: Index, which: Index, n: int, rng: np.random.Generator) -> Index:
    order = rng.permutation(len(which))
    kept = _rank(which[order]) < room[which[order]]
    chosen, rest = order[kept], order[~kept]
    chosen = np.concatenate([chosen, rest[: n - len(chosen)]])
    return rng.permutation(chosen)


def _take_own(room: Index, which: Index, owners: Index, n: int, rng: np.random.Generator) -> Index:
    """Go through the candidates of all persons round by round."""
    order = rng.permutation(len(which))
    order = order[np.argsort(owners[order], kind="stable")]
    turn = _rank(owners[order])
    result = np.full(n, -1, dtype=np.int64)
    room = room.copy()
    for number in range(int(turn.max(initial=-1)) + 1):
        mine = order[turn == number]
        mine = rng.permutation(mine[result[owners[mine]] < 0])
        kept = mine[_rank(which[mine]) < room[which[mine]]]
        result[owners[kept]] = kept
        room -= np.bincount(which[kept], minlength=len(room))
    left = result < 0
    result[left] = order[turn == 0][left]  # any of the own candidates: they are in random order
    return result


def _places(cells: Cells, candidates: Cells) -> Index:
    """Return the row of ``cells`` that equals each candidate, len(cells) where none does."""
    both = np.concatenate([cells, candidates])
    codes = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)
    place = np.full(int(codes.max()) + 1, len(cells), dtype=np.int64)
    place[codes[: len(cells)]] = np.arange(len(cells))
    return place[codes[len(cells) :]]


def _rank(groups: Index) -> Index:
    """Return how many earlier rows have the same group, shape (m,)."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    new = np.ones(len(groups), dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    begin = np.flatnonzero(new)
    rank = np.arange(len(groups)) - np.repeat(begin, np.diff(np.append(begin, len(groups))))
    result = np.empty(len(groups), dtype=np.int64)
    result[order] = rank
    return result
