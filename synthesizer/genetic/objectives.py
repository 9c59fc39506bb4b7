"""Measures that a candidate's counts give, and those of utility: what evolution minimises.

Every one lies in [0, 1], lower is better, and equals the measure of that name in
`synthesizer.risk` and `synthesizer.utility`; here it is computed from counts that follow a
candidate's changes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from synthesizer.errors import ConfigError
from synthesizer.genetic.coding import Coding, Integers, Records
from synthesizer.genetic.margins import Margin, sorted_cells

__all__ = ["UTILITIES", "Objective", "Sought", "make_utility", "named"]

Floats = npt.NDArray[np.float64]
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Sought:
    """The original, and what an intruder knows and seeks.

    Parameters
    ----------
    records : ndarray, shape (n,)
        Confidential records.
    coding : Coding
        Of all records.
    keys : tuple of int
        Positions of the key variables.
    target : int
        Position of the target.
    """

    records: Records
    coding: Coding
    keys: tuple[int, ...]
    target: int


class Objective(ABC):
    """A measure in [0, 1] from counts of cells, lower is better.

    Parameters
    ----------
    sought : Sought
        The original with its keys and target.
    """

    meaning: ClassVar[str]
    margins: tuple[Margin, ...]

    @abstractmethod
    def __init__(self, sought: Sought) -> None:
        """Prepare what does not depend on the candidate."""

    @abstractmethod
    def value(self, counts: Sequence[Integers], n: int) -> float:
        """Return the measure of a candidate with n records from the counts of the margins."""


class FullTable(Objective):
    """Jensen-Shannon distance (base 2) of the full contingency tables.

    Cells that the original does not have enter by their total only: whatever is spread over
    them, each record there adds the same.

    Source: Lin (1991); Endres and Schindelin (2003); Chen, Taub and Elliot (2019), equation 2.
    """

    meaning = "Jensen-Shannon distance of the tables of all variables"

    def __init__(self, sought: Sought) -> None:
        every = range(len(sought.coding.levels))
        self._tables = [_Distance(sought, places) for places in self._places(every)]
        self.margins = tuple(table.margin for table in self._tables)

    def _places(self, every: range) -> list[tuple[int, ...]]:
        return [tuple(every)]

    def value(self, counts: Sequence[Integers], n: int) -> float:
        """Return the distance, or the mean over the tables."""
        pairs = zip(self._tables, counts, strict=True)
        return float(np.mean([table.value(count, n) for table, count in pairs]))


class TwoWay(FullTable):
    """Mean Jensen-Shannon distance (base 2) of the tables of all pairs of variables."""

    meaning = "mean Jensen-Shannon distance of the tables of all pairs of variables"

    def _places(self, every: range) -> list[tuple[int, ...]]:
        return list(combinations(every, 2)) or [tuple(every)]


class _Distance:
    """The distance of one table."""

    def __init__(self, sought: Sought, places: tuple[int, ...]) -> None:
        cells, counts = sorted_cells(sought.coding, places, sought.records)
        self.margin = Margin(sought.coding, places, cells)
        self._share = counts / len(sought.records)
        self._own = self._share * np.log2(self._share)

    def value(self, counts: Integers, n: int) -> float:
        # sum p log p + sum q log q - sum (p + q) log ((p + q) / 2), and 1 for what lies outside
        q = counts / n
        both = self._share + q
        # plain sums: vectors this short would only wake the threads of BLAS, in any order
        total = float(self._own.sum()) + _entropy(q) - float(np.sum(both * np.log2(both / 2)))
        total += 1.0 - float(counts.sum()) / n
        return float(np.sqrt(min(max(total / 2, 0.0), 1.0)))


def _entropy(q: Floats) -> float:
    """Return the sum of q log2 q, where 0 log 0 is 0."""
    return float(np.sum(q * np.log2(q, out=np.zeros_like(q), where=q > 0)))


UTILITIES: Mapping[str, Callable[[Sought], Objective]] = {
    "full_table": FullTable,
    "two_way": TwoWay,
}


def make_utility(name: str, sought: Sought) -> Objective:
    """Return the measure of utility of that name.

    Raises
    ------
    ConfigError
        If there is none.
    """
    return named(name, UTILITIES, "utility")(sought)


def named(name: str, known: Mapping[str, T], what: str) -> T:
    """Return what has that name; raises ConfigError where nothing has."""
    if name not in known:
        raise ConfigError(f"{what} ({name}): unknown; known: {', '.join(known)}")
    return known[name]
