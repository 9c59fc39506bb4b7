"""Equivalence classes: synthetic records with one key, and the target most of them show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthesizer.data.codes import Codes, ColumnCoder, Groups, cut_points
from synthesizer.data.table import Column, FloatArray

__all__ = ["Classes", "target_codes"]


def target_codes(columns: Sequence[Column], groups: Groups | None = None) -> tuple[Codes, ...]:
    """Return codes of the same target in several tables; values of any of them have a code.

    A value that the original (the first) lacks must have its own code: it decides whether a class
    agrees. Groups are those of the original.
    """
    first = columns[0]
    if first.is_coded:
        labels = dict.fromkeys(label for c in columns for label in c.variable.labels)
        coder = ColumnCoder(len(labels), tuple(labels))
    else:
        labels = dict.fromkeys(code for c in columns for code in c.variable.missing)
        if groups is None:
            values, cuts = _distinct(columns), None
            size = len(values)
        else:
            values, cuts = None, cut_points(first, groups)
            size = len(cuts) + 1
        coder = ColumnCoder(size + len(labels), tuple(labels), values, cuts)
    return tuple(coder.encode(column) for column in columns)


def _distinct(columns: Sequence[Column]) -> FloatArray:
    return np.unique(np.concatenate([c.data[c.is_observed].astype(np.float64) for c in columns]))


class Classes:
    """How often each target occurs in each key's class, over all datasets added so far.

    Examples
    --------
    >>> classes = Classes(n_keys=3, n_targets=5)
    >>> classes.add(np.array([0, 0, 2, -1]), np.array([4, 1, 3, 3]))
    >>> classes.add(np.array([0]), np.array([4]))
    >>> [part.tolist() for part in classes.modal()]
    [[3, 0, 1], [4, -1, 3], [2, 0, 1]]
    """

    def __init__(self, n_keys: int, n_targets: int) -> None:
        self._n_keys, self._n_targets = n_keys, n_targets
        self._pairs = np.empty(0, dtype=np.int64)
        self._counts = np.empty(0, dtype=np.int64)

    def add(self, keys: Codes, targets: Codes) -> None:
        """Count more records; keys of -1 belong to no class."""
        use = keys >= 0
        pairs, counts = np.unique(keys[use] * self._n_targets + targets[use], return_counts=True)
        every = np.concatenate([self._pairs, pairs])
        self._pairs, position = np.unique(every, return_inverse=True)
        weights = np.concatenate([self._counts, counts])
        self._counts = np.bincount(position, weights=weights).astype(np.int64)

    def modal(self) -> tuple[Codes, Codes, Codes]:
        """Return per key the size of its class, its most frequent target and that one's count.

        Of equally frequent targets the one with the lowest code; -1 for an empty class.
        """
        keys = self._pairs // self._n_targets
        # The sort is stable and pairs ascend: of equal counts the first target comes first.
        order = np.lexsort((-self._counts, keys))
        first = order[np.flatnonzero(np.diff(keys[order], prepend=-1))]
        size = np.bincount(keys, weights=self._counts, minlength=self._n_keys).astype(np.int64)
        target, top = np.full(self._n_keys, -1), np.zeros(self._n_keys, dtype=np.int64)
        target[keys[first]] = self._pairs[first] % self._n_targets
        top[keys[first]] = self._counts[first]
        return size, target, top
