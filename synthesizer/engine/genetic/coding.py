"""Records of categorical variables as single numbers, so that a dataset is one vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log10, prod
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from synthesizer.data.errors import DataError
from synthesizer.data.table import Column, Table, Variable

Records = npt.NDArray[np.signedinteger[Any]]
"""A dataset: one number a record, shape (n,)."""

Integers = npt.NDArray[np.int64]

MOST_CELLS = 2**62
"""Most combinations of levels that a number can tell apart."""


def coding_problems(variables: Sequence[Variable]) -> list[str]:
    """Return the reasons why candidates cannot have these categories."""
    if prod(v.n_codes for v in variables) <= MOST_CELLS:
        return []
    powers = sum(log10(v.n_codes) for v in variables)
    return [
        f"the variables have about 10^{powers:.0f} combinations of levels, more than the 10^18 "
        "that candidates are coded by; drop variables or join levels"
    ]


@dataclass(frozen=True, eq=False)
class Coding:
    """A mixed-radix number for every combination of levels; missing codes are levels.

    Examples
    --------
    >>> from synthesizer.data.table import Kind
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> age = Variable(name="age", kind=Kind.ORDERED, levels=("young", "middle", "old"))
    >>> coding = Coding.of([sex, age])
    >>> coding.n_cells, coding.digits(np.array([5])).tolist()
    (6, [[1, 2]])
    """

    variables: tuple[Variable, ...]
    """Categorical, ordered or boolean, the last one the fastest digit."""
    levels: Integers
    """Number of levels of each variable, shape (p,)."""
    strides: Integers
    """What one level more adds to the number, shape (p,)."""

    @classmethod
    def of(cls, variables: Sequence[Variable]) -> Self:
        """Return the coding of some categories.

        Raises
        ------
        DataError
            If there are too many combinations.
        """
        problems = coding_problems(variables)
        if problems:
            raise DataError(problems)
        levels = np.array([v.n_codes for v in variables], dtype=np.int64)
        strides = np.cumprod(np.concatenate(([1], levels[:0:-1])))[::-1]
        return cls(tuple(variables), levels, strides.astype(np.int64))

    @property
    def n_cells(self) -> int:
        """Combinations of levels, of which most may never occur."""
        return prod(int(count) for count in self.levels)

    @property
    def dtype(self) -> type[np.int32] | type[np.int64]:
        """The narrowest type of the numbers: a population is many datasets."""
        return np.int32 if self.n_cells < 2**31 else np.int64

    def encode(self, table: Table) -> Records:
        """Return the records of a table with these variables, shape (n,)."""
        records = np.zeros(table.n_rows, dtype=np.int64)
        for variable, stride in zip(self.variables, self.strides, strict=True):
            records += np.asarray(table[variable.name].data, dtype=np.int64) * stride
        return np.asarray(records, dtype=self.dtype)

    def level(self, records: Records, place: int) -> Integers:
        """Return the codes of one variable, shape (n,)."""
        return np.asarray(records // self.strides[place] % self.levels[place])

    def digits(self, records: Records) -> Integers:
        """Return the codes of all variables, shape (n, p)."""
        return np.asarray(records[:, None] // self.strides % self.levels)

    def decode(self, records: Records) -> Table:
        """Return the table of some records."""
        columns = [
            Column(variable, self.level(records, place).astype(np.int32))
            for place, variable in enumerate(self.variables)
        ]
        return Table(columns, len(records))


DIRECT = 1 << 17
"""Up to so many combinations of all levels, records are looked up in an array as they are."""

DENSE = 1 << 20
"""Up to so many combinations of the margin's own levels, its cells are looked up in an array."""


class Margin:
    """Cells of a table of some variables, in which records of a candidate are counted.

    The cells rise, as `cell_numbers` gives them. Nothing grows with the product of levels where
    that is large: records are then looked for among the cells that count.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
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
        places = self.of(records)
        # one more bin takes what is in no cell, which is faster than leaving it out first
        return np.bincount(places + 1, minlength=len(self.cells) + 1)[1:]

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
