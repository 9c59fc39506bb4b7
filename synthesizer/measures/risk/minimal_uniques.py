"""The search for minimal sample uniques: level by level over the sets of keys.

What is unique on a set of keys is unique on every larger set. So a record counts on a set only
while it shares each part of the set with somebody: it is alive there. A record that is not alive
cannot share the set with anybody, hence need not be counted for others either. An alive record
that turns out to be alone is a minimal unique. Manning, Haglin and Keane (2008) prune their
recursion by the same rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from synthesizer.data.codes import Codes, ColumnCoder, Dictionary, Groups
from synthesizer.data.table import BoolArray, FloatArray, IntArray, Table

_LARGEST = 2**62
# Counting by position beats sorting until the counts are this many times as long as the codes.
_DENSE = 8

Subset = tuple[int, ...]
Bits = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Combinations:
    """The distinct combinations of all keys: those of one record first, then the shared ones."""

    columns: npt.NDArray[np.int32]
    """Code of each key in each combination, shape (keys, c)."""
    sizes: tuple[int, ...]
    """Number of codes of each key."""
    observed: BoolArray
    """Where the key can identify a record, shape (keys, c)."""
    records: IntArray
    """The record of each of the first u combinations, shape (u,)."""
    frequency: Codes
    """Number of records that share a record's key, itself included, shape (n,); 0 where nothing
    of it is observed."""

    @classmethod
    def of(
        cls,
        table: Table,
        keys: Sequence[str],
        groups: Mapping[str, Groups] | None = None,
        *,
        unknown: bool = False,
    ) -> Combinations:
        """Find the combinations in a table; ``unknown``: missing codes identify nobody."""
        full, sizes = _encoded(table, keys, groups or {})
        number, size = _combined(full, sizes, tuple(range(len(keys))), slice(None))
        counts = np.bincount(number, minlength=size)
        representative = np.empty(size, dtype=np.int64)
        representative[number] = np.arange(table.n_rows)
        order = np.concatenate([np.flatnonzero(counts == 1), np.flatnonzero(counts > 1)])
        rows = representative[order]
        columns = np.stack([column[rows] for column in full])
        observed = np.ones(columns.shape, dtype=bool)
        frequency = counts
        if unknown:
            observed = np.stack([table[key].is_observed[rows] for key in keys])
            frequency = np.empty_like(counts)
            frequency[order] = _observed_frequency(columns, sizes, observed, counts[order])
        return cls(columns, sizes, observed, rows[: (counts == 1).sum()], frequency[number])


@dataclass(frozen=True, eq=False)
class MinimalUniques:
    """Minimal uniques of the u records of ``Combinations.records``."""

    counts: npt.NDArray[np.int32]
    """By number of keys, shape (u, max_size)."""
    by_key: FloatArray
    """Sum of the weights of all minimal uniques with the key, shape (keys,)."""
    by_record: npt.NDArray[np.float32] | None
    """The same for each record, shape (u, keys), where asked for."""


def minimal_uniques(
    cells: Combinations,
    weights: Sequence[float],
    *,
    by_record: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> MinimalUniques:
    """Find the minimal uniques on all sets of up to ``len(weights)`` keys.

    The weights say what a minimal unique of 1, 2, ... keys counts in the sums by key, which are
    kept for each record where asked for. ``progress`` is told after each set of keys.

    Examples
    --------
    >>> from synthesizer.data.table import Column, Kind, Variable
    >>> age = Column(Variable(name="age", kind=Kind.NUMERIC), np.array([30.0, 41.0, 30.0]))
    >>> cells = Combinations.of(Table([age]), ["age"])
    >>> cells.records.tolist(), minimal_uniques(cells, [1.0]).counts.tolist()
    ([1], [[1]])
    """
    n_keys, n_uniques = len(cells.sizes), len(cells.records)
    counts = np.zeros((n_uniques, len(weights)), dtype=np.int32)
    by_key = np.zeros(n_keys)
    shares = np.zeros((n_uniques, n_keys), dtype=np.float32) if by_record else None
    done, total = 0, sum(comb(n_keys, size) for size in range(1, len(weights) + 1))
    above: dict[Subset, Bits] = {}
    for size, weight in enumerate(weights, start=1):
        level: dict[Subset, Bits] = {}
        for subset in combinations(range(n_keys), size):
            alive = _alive_on_parts(cells, subset, above)
            if alive is not None:
                alone, level[subset] = _count(cells, subset, alive)
                counts[alone, size - 1] += 1
                by_key[list(subset)] += weight * len(alone)
                if shares is not None:
                    shares[alone[:, None], list(subset)] += weight
            done += 1
            if progress is not None:
                progress(done, total)
        above = {subset: alive for subset, alive in level.items() if alive.any()}
    return MinimalUniques(counts, by_key, shares)


def _alive_on_parts(
    cells: Combinations, subset: Subset, above: Mapping[Subset, Bits]
) -> Bits | None:
    """Return who is alive on every part with one key less, as bits; None where nobody is."""
    if len(subset) == 1:
        return np.packbits(cells.observed[subset[0]])
    parts = [above.get(subset[:i] + subset[i + 1 :]) for i in range(len(subset))]
    alive = None
    for part in parts:
        if part is None:
            return None
        alive = part if alive is None else alive & part
    return alive


def _count(cells: Combinations, subset: Subset, alive: Bits) -> tuple[IntArray, Bits]:
    """Return who is alone on the keys, and as bits who remains alive."""
    mask = np.unpackbits(alive, count=cells.columns.shape[1]).view(bool)
    everybody = bool(mask.all())
    rows = np.arange(len(mask)) if everybody else np.flatnonzero(mask)
    split = int(np.searchsorted(rows, len(cells.records)))
    codes, size = _combined(cells.columns, cells.sizes, subset, slice(None) if everybody else rows)
    uniques, shared = codes[:split], codes[split:]
    counts = np.bincount(uniques, minlength=size)
    # A shared combination matters only while a record that may be unique has its values.
    met = counts[shared] > 0
    counts[shared] = 2
    alone = counts[uniques] == 1
    mask[rows[:split]] = ~alone
    mask[rows[split:]] = met
    if not mask[: len(cells.records)].any():
        mask[:] = False
    return rows[:split][alone], np.packbits(mask)


def _encoded(
    table: Table, keys: Sequence[str], groups: Mapping[str, Groups]
) -> tuple[list[npt.NDArray[np.int32]], tuple[int, ...]]:
    """Return each key's codes of all records, numbered without gaps, and how many there are."""
    columns, sizes = [], []
    for key in keys:
        coder = ColumnCoder.fit(table[key], groups.get(key))
        codes = coder.encode(table[key])
        dictionary = Dictionary(codes, coder.size)
        columns.append(dictionary.find(codes).astype(np.int32))
        sizes.append(len(dictionary))
    return columns, tuple(sizes)


def _combined(
    columns: Sequence[npt.NDArray[np.int32]] | npt.NDArray[np.int32],
    sizes: Sequence[int],
    subset: Subset,
    rows: IntArray | slice,
) -> tuple[Codes, int]:
    """Return one code in [0, size) for the values of several keys, and the size.

    The size is small enough to count by position.
    """
    joint, size = columns[subset[0]][rows].astype(np.int64), sizes[subset[0]]
    for key in subset[1:]:
        if size * sizes[key] > _LARGEST:
            known, joint = np.unique(joint, return_inverse=True)
            size = len(known)
        joint *= sizes[key]
        joint += columns[key][rows]
        size *= sizes[key]
    if size > _DENSE * len(joint):
        known, joint = np.unique(joint, return_inverse=True)
        size = len(known)
    return joint, size


def _observed_frequency(
    columns: npt.NDArray[np.int32], sizes: Sequence[int], observed: BoolArray, counts: Codes
) -> Codes:
    """Return how many records have a combination's observed values, shape (c,).

    For every pattern of missing codes the records are counted that have all of its keys observed.
    """
    result = np.zeros(len(counts), dtype=np.int64)
    patterns, pattern_of = np.unique(observed, axis=1, return_inverse=True)
    for number, pattern in enumerate(patterns.T):
        subset = tuple(np.flatnonzero(pattern).tolist())
        if not subset:
            continue
        rows = np.flatnonzero(observed[list(subset)].all(axis=0))
        codes, _ = _combined(columns, sizes, subset, rows)
        totals = np.bincount(codes, weights=counts[rows]).astype(np.int64)
        exact = pattern_of[rows] == number
        result[rows[exact]] = totals[codes[exact]]
    return result
