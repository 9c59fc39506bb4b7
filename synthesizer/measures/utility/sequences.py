"""Distances between two sets of sequences, and what bootstraps of the persons give for them.

Every measure is the total-variation distance, half the sum of absolute differences, of two
distributions: 0 if they agree, 1 if they have nothing in common.

================  ============================================================================
measure           distribution
================  ============================================================================
``headcounts``    state by period: the mean over the periods
``transitions``   states of two adjacent periods, all periods together
``changes``       the same among adjacent periods in different states
``n_moves``       number of changes of state of a person
``spells``        state and length of the runs
``first_last``    first and last state of a person
``entry``         first period at work and the state in it (persons who never work are a cell)
``exit``          last period at work and the state in it
================  ============================================================================

The noise floor of a measure is its mean between the data and bootstraps of the persons: what a
perfect model would give that draws careers independently.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synthesizer.data.table import FloatArray

MEASURES = (
    "headcounts",
    "transitions",
    "changes",
    "n_moves",
    "spells",
    "first_last",
    "entry",
    "exit",
)
BLOCK_PERSONS = 200_000


@dataclass(frozen=True, kw_only=True)
class SequenceDistances:
    """Total-variation distances in [0, 1]; see the module for what each compares.

    ``entry`` and ``exit`` are None if there is no state ``out``.
    """

    headcounts: float
    transitions: float
    changes: float
    n_moves: float
    spells: float
    first_last: float
    entry: float | None
    exit: float | None


@dataclass(frozen=True, kw_only=True, eq=False)
class SequenceDistributions:
    """Shares of persons (of periods, of runs) behind the measures; each sums to 1.

    ``changes`` sums to 0 if nobody changes state. Shapes: (T, A), (A, A), (A, A), (T,), (A, T),
    (A, A), (T * A + 1,), (T * A + 1,).
    """

    headcounts: FloatArray
    transitions: FloatArray
    changes: FloatArray
    n_moves: FloatArray
    spells: FloatArray
    first_last: FloatArray
    entry: FloatArray | None
    exit: FloatArray | None


def sequence_distributions(
    sequences: npt.ArrayLike, n_states: int, *, out_code: int | None = None
) -> SequenceDistributions:
    """Count what the measures compare; persons are taken in blocks, so that n may be large.

    Parameters
    ----------
    sequences : array_like of int, shape (n, T)
        State codes in [0, n_states); n and T >= 1.
    n_states : int
        A.
    out_code : int, optional
        Code of the state ``out``.

    Raises
    ------
    ValueError
        If the array is empty or holds other codes.
    """
    array = np.asarray(sequences)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError("sequences must have at least one person and one period")
    if array.min() < 0 or array.max() >= n_states:
        raise ValueError(f"sequences must hold codes from 0 to {n_states - 1}")
    counts: dict[str, FloatArray] = {}
    for start in range(0, len(array), BLOCK_PERSONS):
        block = _counts(array[start : start + BLOCK_PERSONS], n_states, out_code)
        counts = {name: counts.get(name, 0.0) + values for name, values in block.items()}
    shares = {name: values / max(values.sum(), 1.0) for name, values in counts.items()}
    return SequenceDistributions(
        headcounts=shares["headcounts"],
        transitions=shares["transitions"],
        changes=shares["changes"],
        n_moves=shares["n_moves"],
        spells=shares["spells"],
        first_last=shares["first_last"],
        entry=shares.get("entry"),
        exit=shares.get("exit"),
    )


def distances_between(
    one: SequenceDistributions, other: SequenceDistributions
) -> SequenceDistances:
    """Return the distances of two sets of distributions of the same periods and states."""
    has_out = one.entry is not None and other.entry is not None
    return SequenceDistances(
        headcounts=_distance(one.headcounts, other.headcounts),
        transitions=_distance(one.transitions, other.transitions),
        changes=_distance(one.changes, other.changes),
        n_moves=_distance(one.n_moves, other.n_moves),
        spells=_distance(one.spells, other.spells),
        first_last=_distance(one.first_last, other.first_last),
        entry=_distance(one.entry, other.entry) if has_out else None,
        exit=_distance(one.exit, other.exit) if has_out else None,
    )


def sequence_distances(
    one: npt.ArrayLike, other: npt.ArrayLike, n_states: int, *, out_code: int | None = None
) -> SequenceDistances:
    """Compare two sets of sequences, of n and m persons over the same T periods.

    Parameters
    ----------
    one, other : array_like of int, shapes (n, T) and (m, T)
        State codes in [0, n_states).
    n_states : int
        A.
    out_code : int, optional
        Code of the state ``out``: entry and exit are compared too.

    Raises
    ------
    ValueError
        If the arrays are empty, hold other codes or have different numbers of periods.

    Examples
    --------
    >>> found = sequence_distances([[0, 1], [0, 0]], [[0, 1]], n_states=2)
    >>> found.headcounts, found.transitions, found.first_last
    (0.25, 0.5, 0.5)
    """
    if np.shape(one)[1:] != np.shape(other)[1:]:
        raise ValueError("sequences must have the same number of periods")
    first = sequence_distributions(one, n_states, out_code=out_code)
    return distances_between(first, sequence_distributions(other, n_states, out_code=out_code))


def noise_floor(
    sequences: npt.ArrayLike,
    n_states: int,
    *,
    out_code: int | None = None,
    n_persons: int | None = None,
    repeats: int = 20,
    rng: np.random.Generator,
) -> SequenceDistances:
    """Return the mean distances between the data and bootstraps of their persons.

    Parameters
    ----------
    sequences : array_like of int, shape (n, T)
    n_states : int
        A.
    out_code : int, optional
    n_persons : int, optional
        Size of a bootstrap; n by default. Take the number of synthetic persons.
    repeats : int
        Bootstraps, >= 1.
    rng : numpy.random.Generator

    Examples
    --------
    >>> floor = noise_floor([[0, 1], [0, 1]], 2, rng=np.random.default_rng(1))
    >>> floor.headcounts, floor.n_moves
    (0.0, 0.0)
    """
    array = np.asarray(sequences)
    size = len(array) if n_persons is None else n_persons
    own = sequence_distributions(array, n_states, out_code=out_code)
    drawn = []
    for _ in range(repeats):
        rows = rng.integers(len(array), size=size)
        bootstrap = sequence_distributions(array[rows], n_states, out_code=out_code)
        drawn.append(distances_between(own, bootstrap))
    return mean_distances(drawn)


def mean_distances(distances: Iterable[SequenceDistances]) -> SequenceDistances:
    """Average each measure over several comparisons (at least one)."""
    listed = list(distances)

    def mean(name: str) -> float:
        return float(np.mean([getattr(one, name) for one in listed]))

    has_out = listed[0].entry is not None
    return SequenceDistances(
        headcounts=mean("headcounts"),
        transitions=mean("transitions"),
        changes=mean("changes"),
        n_moves=mean("n_moves"),
        spells=mean("spells"),
        first_last=mean("first_last"),
        entry=mean("entry") if has_out else None,
        exit=mean("exit") if has_out else None,
    )


def _counts(
    array: npt.NDArray[np.integer], n_states: int, out_code: int | None
) -> dict[str, FloatArray]:
    """Count the cells of every measure, as floats of the shapes in `SequenceDistributions`."""
    n, n_periods = array.shape
    codes = array.astype(np.int64)
    pairs = _cells(codes[:, :-1] * n_states + codes[:, 1:], (n_states, n_states))
    changed = codes[:, 1:] != codes[:, :-1]
    starts = np.flatnonzero(np.column_stack([np.ones(n, dtype=bool), changed]))
    length = np.diff(starts, append=n * n_periods)
    spells = codes.reshape(-1)[starts] * n_periods + length - 1
    counts = {
        "headcounts": _cells(np.arange(n_periods) * n_states + codes, (n_periods, n_states)),
        "transitions": pairs,
        "changes": pairs - np.diag(pairs.diagonal()),
        "n_moves": _cells(changed.sum(axis=1), (n_periods,)),
        "spells": _cells(spells, (n_states, n_periods)),
        "first_last": _cells(codes[:, 0] * n_states + codes[:, -1], (n_states, n_states)),
    }
    if out_code is not None:
        works = codes != out_code
        last = n_periods - 1 - works[:, ::-1].argmax(axis=1)
        for name, period in (("entry", works.argmax(axis=1)), ("exit", last)):
            cell = period * n_states + codes[np.arange(n), period]
            cell = np.where(works.any(axis=1), cell, n_periods * n_states)
            counts[name] = _cells(cell, (n_periods * n_states + 1,))
    return counts


def _cells(cells: npt.NDArray[np.integer], shape: tuple[int, ...]) -> FloatArray:
    size = int(np.prod(shape))
    return np.bincount(cells.reshape(-1), minlength=size).reshape(shape).astype(np.float64)


def _distance(one: FloatArray | None, other: FloatArray | None) -> float:
    if one is None or other is None:
        return 0.0
    if (one.sum() > 0) != (other.sum() > 0):
        return 1.0  # changes of state in one of the two only
    return float(np.abs(one - other).sum() / 2)
