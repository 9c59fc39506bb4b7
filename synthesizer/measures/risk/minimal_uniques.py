"""Search for minimal sample uniques on all sets of keys.

Source: Manning, Haglin and Keane (2008), A recursive search algorithm for statistical disclosure
assessment, Data Mining and Knowledge Discovery 16, 165-196 (the rule that prunes the sets).
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
from synthesizer.measures.risk.comparable import GroupsOf

_LARGEST = 2**62
# Largest ratio of counts to codes at which counting by position is faster than sorting.
_DENSE = 8
# Slots of the hash table per value, and its factor (Fibonacci hashing: Knuth 1998, section 6.4).
_SLOTS_A_VALUE, _MULTIPLIER = 4, np.uint64(0x9E3779B97F4A7C15)

Subset = tuple[int, ...]
Bits = npt.NDArray[np.uint8]


def count_sets(n_keys: int, max_size: int) -> int:
    """Return the number of sets of at most ``max_size`` keys."""
    return sum(comb(n_keys, size) for size in range(1, max_size + 1))


@dataclass(frozen=True, eq=False)
class KeyCells:
    """The distinct combinations of all keys: first those of one record, then the others."""

    columns: npt.NDArray[np.int32]
    """Code of each key in each combination, shape (keys, c)."""
    sizes: tuple[int, ...]
    """Number of codes of each key."""
    observed: BoolArray
    """Which keys can identify a record, shape (keys, c)."""
    records: IntArray
    """Record of each of the first u combinations, shape (u,)."""
    frequency: Codes
    """Number of records with the keys of each record, itself included, shape (n,); 0 if all its
    keys are missing."""

    @classmethod
    def of(cls, table: Table, keys: Sequence[str], groups: GroupsOf, *, unknown: bool) -> KeyCells:
        """Return the combinations of a table; ``unknown``: missing codes do not identify."""
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


def minimal_uniques(
    cells: KeyCells,
    weights: Sequence[float],
    by_record: bool,
    progress: Callable[[int, int], None] | None,
) -> tuple[npt.NDArray[np.int32], FloatArray, npt.NDArray[np.float32] | None]:
    """Return the minimal uniques of the u unique cells on sets of up to ``len(weights)`` keys.

    A record that is unique on a set of keys is unique on every larger set. So a record is "alive"
    on a set only if it is not unique on any part of the set. Records that are not alive are unique
    on the set, and need not be counted. An alive record that is unique on the set is a minimal
    unique. Manning, Haglin and Keane (2008) prune their recursion by the same rule.

    ``weights`` are the weights of minimal uniques of 1, 2, ... keys in the sums by key. Returned
    are the numbers of minimal uniques by size, shape (u, sizes), the sums by key, shape (keys,),
    and with ``by_record`` these sums for each record, shape (u, keys).
    """
    n_keys, n_uniques = len(cells.sizes), len(cells.records)
    counts = np.zeros((n_uniques, len(weights)), dtype=np.int32)
    by_key = np.zeros(n_keys)
    shares = np.zeros((n_uniques, n_keys), dtype=np.float32) if by_record else None
    done, total = 0, count_sets(n_keys, len(weights))
    prefixes = _Prefixes(cells)
    above: dict[Subset, Bits] = {}
    for size, weight in enumerate(weights, start=1):
        level: dict[Subset, Bits] = {}
        for subset in combinations(range(n_keys), size):
            alive = _alive_on_parts(cells, subset, above)
            if alive is not None:
                alone, level[subset] = _count(cells, prefixes, subset, alive)
                counts[alone, size - 1] += 1
                by_key[list(subset)] += weight * len(alone)
                if shares is not None:
                    shares[alone[:, None], list(subset)] += weight
            done += 1
            if progress is not None:
                progress(done, total)
        above = {subset: alive for subset, alive in level.items() if alive.any()}
    return counts, by_key, shares


def _alive_on_parts(cells: KeyCells, subset: Subset, above: Mapping[Subset, Bits]) -> Bits | None:
    """Return which records are alive on all parts with one key less, as bits; None without any."""
    if len(subset) == 1:
        return np.packbits(cells.observed[subset[0]])
    alive = None
    for i in range(len(subset)):
        survivors = above.get(subset[:i] + subset[i + 1 :])
        if survivors is None:
            return None
        alive = survivors if alive is None else alive & survivors
    return alive


def _count(
    cells: KeyCells, prefixes: _Prefixes, keys: Subset, alive: Bits
) -> tuple[IntArray, Bits]:
    """Return which records are unique on the keys, and as bits which stay alive."""
    mask = np.unpackbits(alive, count=cells.columns.shape[1]).view(bool)
    rows = np.flatnonzero(mask)
    split = int(np.searchsorted(rows, len(cells.records)))
    joint, size = prefixes.codes(keys)
    codes, size = _countable(joint if len(rows) == len(joint) else joint[rows], size)
    uniques, shared = codes[:split], codes[split:]
    counts = np.bincount(uniques, minlength=size)
    # Shared combinations matter only if an alive record has the same values.
    met = counts[shared] > 0
    counts[shared] = 2
    alone = counts[uniques] == 1
    mask[rows[:split]] = ~alone
    mask[rows[split:]] = met
    if not mask[: len(cells.records)].any():
        mask[:] = False
    return rows[:split][alone], np.packbits(mask)


class _Prefixes:
    """Codes of all combinations on the first keys of a set, for all sets that begin so."""

    def __init__(self, cells: KeyCells) -> None:
        self._cells = cells
        self._kept: list[tuple[int, Codes, int]] = []

    def codes(self, subset: Subset) -> tuple[Codes, int]:
        """Return a code in [0, size) of each combination on the keys, and the size."""
        *before, last = subset
        same = 0
        while same < min(len(before), len(self._kept)) and self._kept[same][0] == before[same]:
            same += 1
        del self._kept[same:]
        for key in before[same:]:
            self._kept.append((key, *self._with(key)))
        return self._with(last)

    def _with(self, key: int) -> tuple[Codes, int]:
        column, levels = self._cells.columns[key], self._cells.sizes[key]
        if not self._kept:
            return column.astype(np.int64), levels
        _, joint, size = self._kept[-1]
        return _joined(joint, size, column, levels)


def _encoded(
    table: Table, keys: Sequence[str], groups: Mapping[str, Groups]
) -> tuple[list[npt.NDArray[np.int32]], tuple[int, ...]]:
    """Return the codes of each key, numbered without gaps, and the number of codes."""
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
    """Return a code in [0, size) for the values of several keys, and the size.

    The size allows counting by position.
    """
    joint, size = columns[subset[0]][rows].astype(np.int64), sizes[subset[0]]
    for key in subset[1:]:
        joint, size = _joined(joint, size, columns[key][rows], sizes[key])
    return _countable(joint, size)


def _joined(joint: Codes, n: int, column: npt.NDArray[np.int32], levels: int) -> tuple[Codes, int]:
    """Return a code for the values of some keys and a further one, and its size."""
    if n * levels > _LARGEST:
        joint, n = _dense(joint)
    return joint * levels + column, n * levels


def _countable(joint: Codes, size: int) -> tuple[Codes, int]:
    """Return codes that allow counting by position, and their size."""
    return _dense(joint) if size > _DENSE * len(joint) else (joint, size)


def _dense(joint: Codes) -> tuple[Codes, int]:
    """Return smaller codes for the same values, and their size.

    A code is a slot of a hash table. The few values that collide are numbered by sorting, which
    takes a third of the time of sorting all.
    """
    bits = (_SLOTS_A_VALUE * len(joint)).bit_length()
    slot = (joint.astype(np.uint64) * _MULTIPLIER >> np.uint64(64 - bits)).astype(np.int64)
    owner = np.empty(1 << bits, dtype=np.int64)
    owner[slot] = joint
    others = np.flatnonzero(owner[slot] != joint)
    distinct, codes = np.unique(joint[others], return_inverse=True)
    slot[others] = len(owner) + codes
    return slot, len(owner) + len(distinct)


def _observed_frequency(
    columns: npt.NDArray[np.int32], sizes: Sequence[int], observed: BoolArray, counts: Codes
) -> Codes:
    """Return the number of records with the observed values of each combination, shape (c,).

    Each pattern of missing codes counts the records in which its observed keys are all observed.
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
