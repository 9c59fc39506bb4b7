"""The public domain: levels, missing codes and bins that a configuration declares.

Nothing here is learnt from the data. A record is encoded by itself: numbers beyond the range are
moved to its end, and a missing code that is not declared counts as the first declared one, or as
the first level if none is declared. So two files that differ in one record have the same codes
except in this record.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from synthesizer.data.table import Column, Kind, Variable

Codes = npt.NDArray[np.int32]
MAX_CELLS = 2_000
"""Most levels and bins of one variable."""
MOST_STEPS = 2**50
"""Most values of a number; with more decimals the last ones are left out."""


@dataclass(frozen=True)
class Grid:
    """The values of a number: ``low``, then steps of the last decimal, in bins.

    ``starts`` are positions of the first value of each bin, and the position after the last value.

    Examples
    --------
    >>> ages = Grid.of([0, 99], decimals=0, bins=4)
    >>> ages.bin_of(np.array([-5.0, 24.0, 25.0, 120.0])).tolist()
    [0, 0, 1, 3]
    """

    low: float
    decimals: int
    starts: tuple[int, ...]

    @classmethod
    def of(cls, given: Sequence[float | str], decimals: int, bins: int) -> Grid:
        """Return equal bins between two ends; with more ends, they are the edges of the bins.

        The last edge belongs to the last bin; repeated, it is a bin of its own. Dates have no
        decimals: they are whole days.

        Raises
        ------
        ValueError
            If ends do not rise.
        """
        ends = [end_of(end) for end in given]
        while decimals and (ends[-1] - ends[0]) * 10**decimals > MOST_STEPS:
            decimals -= 1
        scale = 10**decimals
        points = [round((end - ends[0]) * scale) for end in ends]
        rising = points[:-1] if len(points) > 2 and points[-2] == points[-1] else points
        if len(rising) < 2 or any(b <= a for a, b in pairwise(rising)):
            raise ValueError("must be rising numbers: [LOW, HIGH], or the edges of bins")
        last = points[-1] + 1
        if len(points) == 2:
            n_bins = min(bins, last)
            points = [k * last // n_bins for k in range(n_bins)]
        else:
            points = points[:-1]
        return cls(float(ends[0]), decimals, (*points, last))

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return len(self.starts) - 1

    def bin_of(self, numbers: npt.NDArray[np.float64]) -> Codes:
        """Return the bin of each number; numbers beyond the range are moved to its end."""
        scale = 10.0**self.decimals
        high = self.low + (self.starts[-1] - 1) / scale
        inside = np.clip(np.nan_to_num(numbers, nan=self.low), self.low, high)
        points = np.rint((inside - self.low) * scale)
        return (np.searchsorted(self.starts[1:-1], points, side="right")).astype(np.int32)

    def drawn(self, bins: Codes, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        """Return a number for each bin, every value of the bin alike."""
        starts = np.array(self.starts, dtype=np.int64)
        points = rng.integers(starts[bins], starts[bins + 1])
        drawn: npt.NDArray[np.float64] = np.round(
            self.low + points / 10.0**self.decimals, self.decimals
        )
        return drawn


@dataclass(frozen=True)
class PublicVariable:
    """The declared facts about one variable."""

    name: str
    levels: tuple[str, ...]
    """Levels of a categorical variable; empty for numbers."""
    missing: tuple[str, ...]
    is_ordered: bool = False
    grid: Grid | None = None
    """Values of a number or date; None for levels."""

    @property
    def n_values(self) -> int:
        """Levels, or bins of a number."""
        return len(self.levels) if self.grid is None else self.grid.n_bins

    @property
    def size(self) -> int:
        """Codes: levels or bins, then missing codes."""
        return self.n_values + len(self.missing)

    @property
    def n_ordered(self) -> int:
        """Codes in order, which come first."""
        return self.n_values if self.grid is not None or self.is_ordered else 0

    @property
    def unknown(self) -> int:
        """Code of a value that is not declared."""
        return self.n_values if self.missing else 0

    def encode(self, column: Column) -> Codes:
        """Return the code of each cell."""
        variable = column.variable
        if self.grid is None:
            where = {label: code for code, label in enumerate((*self.levels, *self.missing))}
            lookup = [where.get(label, self.unknown) for label in variable.labels]
            return np.array(lookup, dtype=np.int32)[column.data]
        codes = self.grid.bin_of(column.data.astype(np.float64))
        declared = {code: self.n_values + k for k, code in enumerate(self.missing)}
        of_state = [0, *(declared.get(code, self.unknown) for code in variable.missing)]
        state = column.missing_state()
        return np.where(state > 0, np.array(of_state, dtype=np.int32)[state], codes)

    def decode(self, codes: Codes, variable: Variable, rng: np.random.Generator) -> Column:
        """Return a column of ``variable``, the form of the source, from codes."""
        if self.grid is None:
            where = {label: code for code, label in enumerate(variable.labels)}
            lookup = np.array([where[x] for x in (*self.levels, *self.missing)], dtype=np.int32)
            return Column(variable, lookup[codes])
        is_value = codes < self.n_values
        data = np.full(len(codes), np.nan)
        data[is_value] = self.grid.drawn(codes[is_value], rng)
        if not variable.missing:
            return Column(variable, data)
        at = [variable.missing.index(code) + 1 for code in self.missing]
        states = np.array([*[0] * self.n_values, *at], dtype=np.int8)[codes]
        return Column(variable, data, states)


def end_of(value: Any) -> float:
    """Return a number, or the days since 1970 of a date such as 2001-01-31.

    Examples
    --------
    >>> end_of("1970-01-11"), end_of(3)
    (10.0, 3.0)
    """
    if isinstance(value, str):
        return float(np.datetime64(value, "D").astype(np.int64))
    number = float(value)
    if not math.isfinite(number):
        raise ValueError("must be finite")
    return number


@dataclass(frozen=True)
class Domain:
    """The declared variables in the order of the file, without identifiers."""

    variables: tuple[PublicVariable, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(variable.name for variable in self.variables)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of codes of each variable."""
        return tuple(variable.size for variable in self.variables)

    @property
    def ordered(self) -> tuple[int, ...]:
        """Number of ordered codes of each variable, which come first."""
        return tuple(variable.n_ordered for variable in self.variables)

    def encode(self, table: Mapping[str, Column]) -> Codes:
        """Return the codes of a table, shape (rows, variables)."""
        return np.column_stack([v.encode(table[v.name]) for v in self.variables])

    def decode(
        self, codes: Codes, table: Mapping[str, Column], rng: np.random.Generator
    ) -> Iterator[Column]:
        """Yield columns from codes, in the form of the columns of ``table``."""
        for position, variable in enumerate(self.variables):
            yield variable.decode(codes[:, position], table[variable.name].variable, rng)


NEEDED_BY_KIND = {
    Kind.NUMERIC: ("missing", "decimals"),
    Kind.DATE: ("missing", "date_format"),
    Kind.ID: (),
}
"""Settings under ``variables`` that each kind needs; others need missing and levels."""
