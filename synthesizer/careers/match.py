"""The quota step: keep the careers that reproduce exact joint counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from synthesizer.careers.runs import Codes, Index
from synthesizer.careers.summary import summary
from synthesizer.data.table import BoolArray

__all__ = ["Quota", "draw_matched", "fit_quota", "match_cells", "take_quota", "unfilled"]

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

    def scaled(self, n: int) -> Index:
        """Return counts for n careers: in proportion, largest remainders."""
        exact = self.counts * (n / self.counts.sum())
        base = np.floor(np.round(exact, 9)).astype(np.int64)
        order = np.argsort(base - exact, kind="stable")
        base[order[: n - int(base.sum())]] += 1
        return np.asarray(base)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a saved model."""
        return {"cells": self.cells, "counts": self.counts}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild from ``to_dict``; raises ValueError on anything else."""
        cells = np.asarray(state["cells"], dtype=np.int64)
        counts = np.asarray(state["counts"], dtype=np.int64)
        if cells.ndim != 2 or cells.shape[1] != N_KEYS or counts.shape != cells.shape[:1]:
            raise ValueError("a quota must have one count for each cell")
        if not len(counts) or counts.min() < 1:
            raise ValueError("counts of a quota must be at least 1")
        return cls(cells, counts)


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
