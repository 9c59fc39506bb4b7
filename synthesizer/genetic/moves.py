"""How candidates change: records swapped between two, cells drawn anew, records replaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from synthesizer.genetic.coding import Coding, Integers, Records

__all__ = ["Redraw", "chosen", "crossed", "replaced"]


def chosen(n: int, rate: float, rng: np.random.Generator) -> Integers:
    """Return each of n positions with probability ``rate``, rising.

    Gaps between chosen positions are geometric, so that the work grows with what is chosen.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> chosen(5, 1.0, rng).tolist(), len(chosen(5, 0.0, rng))
    ([0, 1, 2, 3, 4], 0)
    """
    if rate <= 0 or not n:
        return np.zeros(0, dtype=np.int64)
    if rate >= 1:
        return np.arange(n)
    expected = n * rate
    size = int(expected + 6 * np.sqrt(expected) + 10)
    # a gap beyond the end may have any size: cut off, sums stay within the integers
    places = np.cumsum(np.minimum(rng.geometric(rate, size), n + 1)) - 1
    while places[-1] < n:
        gaps = np.minimum(rng.geometric(rate, size), n + 1)
        places = np.append(places, places[-1] + np.cumsum(gaps))
    return np.asarray(places[: np.searchsorted(places, n)], dtype=np.int64)


def crossed(
    one: Records, other: Records, rate: float, rng: np.random.Generator
) -> tuple[Records, Records, Integers]:
    """Swap each record of two candidates with probability ``rate`` (whole-case crossover).

    Returns
    -------
    tuple
        Both children, and the rows that changed places.
    """
    rows = chosen(len(one), rate, rng)
    first, second = one.copy(), other.copy()
    first[rows], second[rows] = other[rows], one[rows]
    return first, second, rows


class Redraw:
    """Draws cells anew: uniformly from the levels of a variable, or from its margin.

    Parameters
    ----------
    coding : Coding
        Of the records.
    shares : sequence of ndarray
        Probability of every level, for each variable.

    Examples
    --------
    >>> from synthesizer.data.schema import Kind, Variable
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> redraw = Redraw.uniform(Coding.of([sex]))
    >>> records, rows = redraw.mutated(np.zeros(4, dtype=int), 1.0, np.random.default_rng(3))
    >>> rows.tolist(), int(records.max())
    ([0, 1, 2, 3], 1)
    """

    def __init__(self, coding: Coding, shares: Sequence[npt.NDArray[np.float64]]) -> None:
        self._coding = coding
        self._first = np.concatenate(([0], np.cumsum(coding.levels)[:-1]))
        # variable j has its cumulative shares between j and j + 1, so that one search does for all
        parts = [place + np.cumsum(own) / own.sum() for place, own in enumerate(shares)]
        self._cumulative = np.concatenate(parts)

    @classmethod
    def uniform(cls, coding: Coding) -> Self:
        """Return what draws every level alike."""
        return cls(coding, [np.ones(count) for count in coding.levels])

    @classmethod
    def marginal(cls, coding: Coding, original: Records) -> Self:
        """Return what draws levels as often as the original has them."""
        counts = [
            np.bincount(coding.level(original, place), minlength=count).astype(np.float64)
            for place, count in enumerate(coding.levels)
        ]
        return cls(coding, counts)

    def levels(self, places: Integers, rng: np.random.Generator) -> Integers:
        """Draw a level of the variable at each place, shape (k,)."""
        found = np.searchsorted(self._cumulative, places + rng.random(len(places)), side="right")
        last = self._first[places] + self._coding.levels[places] - 1
        return np.asarray(np.minimum(found, last) - self._first[places], dtype=np.int64)

    def mutated(
        self, records: Records, rate: float, rng: np.random.Generator
    ) -> tuple[Records, Integers]:
        """Draw each cell anew with probability ``rate``; return the rows that may have changed."""
        p = len(self._coding.levels)
        cells = chosen(len(records) * p, rate, rng)
        if not len(cells):
            return records, cells
        rows, places = np.divmod(cells, p)
        stride, count = self._coding.strides[places], self._coding.levels[places]
        gain = (self.levels(places, rng) - records[rows] // stride % count) * stride
        out = records.copy()
        np.add.at(out, rows, gain.astype(out.dtype))
        return out, rows[np.diff(rows, prepend=-1) > 0]


def replaced(
    records: Records,
    rows: Integers,
    rate: float,
    donors: Records,
    rng: np.random.Generator,
) -> tuple[Records, Integers]:
    """Replace each of some rows with probability ``rate`` by a record drawn from ``donors``."""
    taken = rows[chosen(len(rows), rate, rng)]
    if not len(taken):
        return records, taken
    out = records.copy()
    out[taken] = donors[rng.integers(len(donors), size=len(taken))]
    return out, taken
