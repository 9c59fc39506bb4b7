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
class Cells:
    """The distinct combinations of all keys: those of one record first, then the shared ones.

    Parameters
    ----------
    columns : ndarray of int32, shape (keys, c)
        Code of each key in each combination.
    sizes : tuple of int
        Number of codes of each key.
    observed : ndarray of bool, shape (keys, c)
        Where the key can identify a record.
    records : ndarray of int, shape (u,)
        The record of each of the first u combinations.
    frequency : ndarray of int, shape (n,)
        Number of records that share a record's key, itself included; 0 where nothing of it is
        observed.
    """

    columns: npt.NDArray[np.int32]
    sizes: tuple[int, ...]
    observed: BoolArray
    records: IntArray
    frequency: Codes

    @classmethod
    def of(
        cls,
        table: Table,
        keys: Sequence[str],
        groups: Mapping[str, Groups] | None = None,
        *,
        unknown: bool = False,
    ) -> Cells:
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
    """Minimal uniques of the u records of ``Cells.records``.

    Parameters
    ----------
    counts : ndarray of int32, shape (u, max_size)
        By number of keys.
    by_key : ndarray of float, shape (keys,)
        Sum of the weights of all minimal uniques with the key.
    by_record : ndarray of float32, shape (u, keys), or None
        The same for each record, where asked for.
    """

    counts: npt.NDArray[np.int32]
    by_key: FloatArray
    by_record: npt.NDArray[np.float32] | None


def minimal_uniques(
    cells: Cells,
    weights: Sequence[float],
    *,
    by_record: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> MinimalUniques:
    """Find the minimal uniques on all sets of up to ``len(weights)`` keys.

    Parameters
    ----------
    cells : Cells
        The records.
    weights : sequence of float
        What a minimal unique of 1, 2, ... keys counts in the sums by key.
    by_record : bool
        Whether these sums are kept for each record.
    progress : function of (done: int, total: int), optional
        Told after each set of keys.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> from synthesizer.data.table import Column
    >>> age = Column(Variable(name="age", kind=Kind.NUMERIC), np.array([30.0, 41.0, 30.0]))
    >>> cells = Cells.of(Table([age]), ["age"])
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


def _alive_on_parts(cells: Cells, subset: Subset, above: Mapping[Subset, Bits]) -> Bits | None:
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


def _count(cells: Cells, subset: Subset, alive: Bits) -> tuple[IntArray, Bits]:
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
        own = pattern_of[rows] == number
        result[rows[own]] = totals[codes[own]]
    return result


# Data intrusion simulation (DIS): how often is a unique match the right person?


def data_intrusion_simulation(uniques: int, paired: int, sampling_fraction: float) -> float | None:
    """Estimate the probability that a unique match between a sample and a known person is right.

    Parameters
    ----------
    uniques : int
        Records whose key no other record has, U.
    paired : int
        Records whose key exactly one other record has, P.
    sampling_fraction : float
        Share f of the population that is in the sample, in (0, 1].

    Returns
    -------
    float or None
        U f / (U f + P (1 - f)), in (0, 1]; None without uniques. It is 1 for a whole population,
        and also where there are no pairs to tell from how many keys the population shares.

    Examples
    --------
    >>> data_intrusion_simulation(30, 30, 0.1), data_intrusion_simulation(30, 30, 1.0)
    (0.1, 1.0)
    """
    right = uniques * sampling_fraction
    return right / (right + paired * (1 - sampling_fraction)) if uniques else None


def score_exponent(n_keys: int) -> float:
    """Return the power of the SUDA score that the odds of a right match are proportional to.

    Inferred, not taken from a paper: published scores of sdcMicro for 3, 4 and 6 keys obey
    1 + (8 - n_keys) / 20 to every digit given; other numbers of keys
    follow the same line. It is held above 0, so that the odds never fall with the score (from 28
    keys on). This affects how DIS is spread, not DIS itself.

    Examples
    --------
    >>> [round(score_exponent(n_keys), 2) for n_keys in (3, 4, 6, 12)]
    [1.25, 1.2, 1.1, 0.8]
    """
    return max(1, 28 - n_keys) / 20


def dis_suda_scores(scores: FloatArray, dis: float | None, n_keys: int) -> FloatArray:
    """Spread the file's DIS over its uniques by their SUDA scores (DIS-SUDA).

    Among unique matches of a record there are (1 - p) / p wrong ones for each right one. This
    ratio is taken to be proportional to score ** -exponent, and its mean over the records is that
    of the whole file, (1 - dis) / dis.

    Parameters
    ----------
    scores : ndarray of float, shape (u,)
        SUDA scores of the uniques, above 0.
    dis : float or None
        `data_intrusion_simulation` of the file; None only without uniques.
    n_keys : int
        Number of keys that the scores were computed with.

    Returns
    -------
    ndarray of float, shape (u,)
        Probabilities p in (0, 1] that a unique match with the record is right.

    Examples
    --------
    >>> dis_suda_scores(np.array([2.0, 2.0]), 0.25, 6).tolist()
    [0.25, 0.25]
    >>> dis_suda_scores(np.array([1.0, 3.0]), 0.25, 8).tolist()
    [0.18181818181818182, 0.4]
    """
    if dis is None or not len(scores):
        return np.empty(0)
    weights = scores ** -score_exponent(n_keys)
    return np.asarray(1 / (1 + (1 - dis) / dis * weights / weights.mean()))
