"""Counts of the cells of a table that matter, without laying the table out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from synthesizer.genetic.coding import Coding, Integers, Records

__all__ = ["Margin", "sorted_cells"]

DENSE = 1 << 22
"""Up to so many combinations of all levels, cells are looked up in an array."""


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
    cells : ndarray of int64, shape (c,), optional
        The cells that are counted, rising, as `numbers` gives them; those of ``of`` otherwise.

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
        self._lookup: npt.NDArray[np.int32] | None = None
        if coding.n_cells <= DENSE:
            every: Records = np.arange(coding.n_cells, dtype=np.int64)
            self._lookup = self._search(self.numbers(every)).astype(np.int32)

    def numbers(self, records: Records) -> Integers:
        """Return the cell of every record in the table of these variables, shape (n,)."""
        if self.places == tuple(range(len(self.coding.levels))):
            return np.asarray(records, dtype=np.int64)
        number = np.zeros(len(records), dtype=np.int64)
        for place in self.places:
            number = number * self.coding.levels[place] + self.coding.level(records, place)
        return number

    def of(self, records: Records) -> npt.NDArray[np.integer]:
        """Return which of the counted cells every record is in, -1 where in none, shape (n,)."""
        if self._lookup is not None:
            return self._lookup[records]
        return self._search(self.numbers(records))

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


def sorted_cells(
    coding: Coding, places: Sequence[int], original: Records
) -> tuple[Integers, Integers]:
    """Return the cells that occur in the original, rising, and their counts."""
    empty = np.zeros(0, dtype=np.int64)
    numbers = Margin(coding, places, empty).numbers(original)
    cells, counts = np.unique(numbers, return_counts=True)
    return cells, counts
