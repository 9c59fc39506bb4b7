"""Donors that agree on some variables and are near in a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from synthesizer.data.codes import Combinations
from synthesizer.data.table import BoolArray, FloatArray, IntArray, Table
from synthesizer.models.kit.numerics import check_floats, check_rising

NEIGHBOURS = 5
"""Donors, at most, among which one is drawn."""
ALIKE = 0.01
"""How much farther than the nearest one they may be."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """Donors, n of them, by combination and then by a number, so that the nearest are found fast.

    Examples
    --------
    >>> from synthesizer.data.table import Column, Kind, Variable
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> table = Table([Column(sex, np.array([0, 0, 1], dtype=np.int32))])
    >>> near = Nearest.of(table, ("sex",), np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0]))
    >>> rows, far = near.draw(table, np.array([1.9, 1.1, 5.0]), np.random.default_rng(1))
    >>> near.values[rows].tolist(), far.round(1).tolist()
    ([20.0, 10.0, 30.0], [0.1, 0.1, 2.0])
    """

    cells: Combinations
    known: IntArray
    """Combinations with donors, rising."""
    ends: IntArray
    """Where the donors of each end."""
    places: FloatArray
    """The number of each donor, rising within a combination; shape (n,)."""
    values: FloatArray
    """What is copied from each donor, shape (n,)."""

    def __post_init__(self) -> None:
        check_floats("places", self.places, (-1,))
        check_floats("values", self.values, self.places.shape)
        check_rising("the combinations of donors", self.known)
        if len(self.ends) != len(self.known) or (np.diff(self.ends, prepend=0) <= 0).any():
            raise ValueError("every combination needs donors")
        if len(self.places) != self.ends[-1]:
            raise ValueError("every combination needs donors")

    @classmethod
    def of(cls, table: Table, names: Sequence[str], places: FloatArray, values: FloatArray) -> Self:
        """Sort n >= 1 donors by their combination of ``names`` and their number."""
        cells = Combinations.of(table, names)
        numbers = cells.numbers(table)
        order = np.lexsort((values, places, numbers))
        known, counts = np.unique(numbers, return_counts=True)
        return cls(cells, known, np.cumsum(counts), places[order], values[order])

    def draw(
        self, table: Table, places: FloatArray, rng: np.random.Generator, *, most: int = NEIGHBOURS
    ) -> tuple[IntArray, FloatArray]:
        """Draw a donor of each row's combination among the ``most`` nearest, and how far it is.

        Returns positions, -1 where the combination has no donor, and distances, infinite there.
        """
        cell = self.cells.places(table, self.known)
        low = np.append(0, self.ends)[cell]
        high = np.append(self.ends, 0)[cell]
        low = np.where(cell < 0, high, low)
        first = self._bisected(places, low, high, rightmost=False)
        last = self._bisected(places, low, high, rightmost=True)
        equal = first + np.floor(rng.random(len(cell)) * (last - first)).astype(np.int64)
        near = first[:, None] + np.arange(-most, most)
        near = np.where((last - first < most)[:, None], near, equal[:, None])
        inside = (near >= low[:, None]) & (near < high[:, None])
        near = np.clip(near, 0, len(self.places) - 1)
        far = np.where(inside, np.abs(self.places[near] - places[:, None]), np.inf)
        order = np.argsort(far, axis=1, kind="stable")[:, :most]
        near, far = np.take_along_axis(near, order, 1), np.take_along_axis(far, order, 1)
        alike = (far <= np.maximum(far[:, :1], ALIKE)) & np.isfinite(far)
        which = np.floor(rng.random(len(cell)) * alike.sum(axis=1)).astype(np.int64)
        rows = np.arange(len(cell))
        return np.where(inside.any(axis=1), near[rows, which], -1), far[rows, which]

    def _bisected(
        self, places: FloatArray, low: IntArray, high: IntArray, *, rightmost: bool
    ) -> IntArray:
        """Return where each number would stand between two positions, those equal before it or not.

        All rows are halved together.
        """
        low, high = low.copy(), high.copy()
        while (is_open := low < high).any():
            middle = (low + high) // 2
            here = self.places[np.minimum(middle, len(self.places) - 1)]
            above: BoolArray = is_open & (here <= places if rightmost else here < places)
            low = np.where(above, middle + 1, low)
            high = np.where(is_open & ~above, middle, high)
        return low
