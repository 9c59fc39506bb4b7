"""Counts of the cells of a table that matter, without laying the table out."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from synthesizer.genetic.coding import Coding, Integers, Records

__all__ = ["Margin", "cell_numbers", "sorted_cells"]

DIRECT = 1 << 17
"""Up to so many combinations of all levels, records are looked up in an array as they are."""

DENSE = 1 << 20
"""Up to so many combinations of the margin's own levels, its cells are looked up in an array."""


class Margin:
    """Some cells of the table of some variables: what is counted of a candidate.

    Nothing grows with the product of levels where that is large: records are then looked for
    among the cells that count.

    Parameters
    ----------
    coding : Coding
        Of the records.
    places : sequence of int
        Positions of the variables in the coding, at least one.
    cells : ndarray of int64, shape (c,)
        The cells that are counted, rising, as `cell_numbers` gives them.

    Examples
    --------
    >>> from synthesizer.data.schema import Kind, Variable
    >>> names = ("sex", "ill")
    >>> two = [Variable(name=n, kind=Kind.CATEGORICAL, levels=("no", "yes")) for n in names]
    >>> margin = Margin(Coding.of(two), [0], cells=np.array([1]))
    >>> margin.count(np.array([0, 2, 3])).tolist()
    [2]
    """

    def __init__(self, coding: Coding, places: Sequence[int], cells: Integers) -> None:
        self.coding, self.places, self.cells = coding, tuple(places), cells
        self._direct = coding.n_cells <= DIRECT
        self._lookup: npt.NDArray[np.int32] | None = None
        size = prod(int(coding.levels[place]) for place in self.places)
        if self._direct:
            every: Records = np.arange(coding.n_cells, dtype=np.int64)
            self._lookup = self._search(cell_numbers(coding, self.places, every)).astype(np.int32)
        elif size <= DENSE:
            self._lookup = np.full(size, -1, dtype=np.int32)
            self._lookup[cells] = np.arange(len(cells), dtype=np.int32)

    def of(self, records: Records) -> npt.NDArray[np.integer]:
        """Return which of the counted cells every record is in, -1 where in none, shape (n,)."""
        if self._direct and self._lookup is not None:
            return self._lookup[records]
        numbers = cell_numbers(self.coding, self.places, records)
        return self._search(numbers) if self._lookup is None else self._lookup[numbers]

    def count(self, records: Records) -> Integers:
        """Return the records in each of the cells, shape (c,)."""
        found = self.of(records)
        # one more bin takes what is in no cell, which is faster than leaving it out first
        return np.bincount(found + 1, minlength=len(self.cells) + 1)[1:]

    def _search(self, numbers: Integers) -> Integers:
        if not len(self.cells):
            return np.full(len(numbers), -1, dtype=np.int64)
        place = np.minimum(np.searchsorted(self.cells, numbers), len(self.cells) - 1)
        return np.where(self.cells[place] == numbers, place, -1)


def cell_numbers(coding: Coding, places: Sequence[int], records: Records) -> Integers:
    """Return the cell of every record in the table of some variables, shape (n,)."""
    if tuple(places) == tuple(range(len(coding.levels))):
        return np.asarray(records, dtype=np.int64)
    number = np.zeros(len(records), dtype=np.int64)
    for place in places:
        number = number * coding.levels[place] + coding.level(records, place)
    return number


def sorted_cells(
    coding: Coding, places: Sequence[int], original: Records
) -> tuple[Integers, Integers]:
    """Return the cells that occur in the original, rising, and their counts."""
    cells, counts = np.unique(cell_numbers(coding, places, original), return_counts=True)
    return cells, counts
