"""Cells of numbers and dates for a histogram: few, equally wide, with edges that read well.

They reach from the 0.5 to the 99.5 per cent quantile, so that a few extreme values do not squeeze
all others into one cell; the first and the last cell hold what lies beyond. Whole numbers and days
with few distinct values have a cell each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Kind, Variable

_TAILS = (0.005, 0.995)
_NICE = (1.0, 2.0, 2.5, 5.0)
_MINUTES = (1, 5, 15, 60, 180, 360, 720)
_MINUTES_A_DAY = 1440
_MONTHS = (1, 3, 6, 12)
# 1970-01-01 was a Thursday: weeks begin 4 days later.
_MONDAY = 4
# Steps below this share of the numbers themselves are lost in their rounding.
_FINEST = 1e-12


@dataclass(frozen=True, eq=False)
class NumberCells:
    """Cells [edge, next edge); the first and the last are open."""

    edges: FloatArray
    """Ascending; dates in days since 1970-01-01, shape (cells + 1,)."""
    is_single: bool
    """Whether a cell is for one value, its lower edge."""
    is_date: bool
    """Whether labels are dates."""

    @property
    def breaks(self) -> FloatArray:
        """The inner edges."""
        return self.edges[1:-1]

    def reach(self, values: FloatArray) -> tuple[bool, bool, BoolArray]:
        """Return what labels depend on.

        Returns
        -------
        below, above : bool
            Whether values lie outside the edges.
        mixed : ndarray of bool, shape (cells,)
            Cells with a value other than their lower edge.
        """
        mixed = np.zeros(len(self.edges) - 1, dtype=np.bool_)
        if not len(values):
            return False, False, mixed
        if self.is_single:
            cells = np.searchsorted(self.breaks, values, side="right")
            mixed[cells[values != self.edges[cells]]] = True
        return bool(values.min() < self.edges[0]), bool(values.max() >= self.edges[-1]), mixed

    def labels(self, below: bool, above: bool, mixed: BoolArray) -> tuple[str, ...]:
        """Return what is in every cell in words, given what `reach` found in all datasets.

        Examples
        --------
        >>> cells = NumberCells(np.array([0.0, 5.0, 10.0, 15.0]), is_single=False, is_date=False)
        >>> cells.labels(below=True, above=False, mixed=np.ones(3, dtype=bool))
        ('below 5', '[5, 10)', '[10, 15)')
        """
        text = day_text if self.is_date else number_text
        texts = [text(edge) for edge in self.edges]
        labels = [f"[{low}, {high})" for low, high in pairwise(texts)]
        if self.is_single:
            parts = zip(labels, texts, mixed, strict=False)
            labels = [label if is_mixed else low for label, low, is_mixed in parts]
        if below and above and len(labels) == 1:
            return ("all values",)
        if below:
            labels[0] = f"below {texts[1]}"
        if above:
            labels[-1] = f"{texts[-2]} and above"
        return tuple(labels)


def number_cells(values: FloatArray, cells: int, *, is_date: bool = False) -> NumberCells | None:
    """Return cells for observed values, None where there is none.

    Parameters
    ----------
    values : ndarray of float
        The original's, without missing ones.
    cells : int
        Most cells, at least 2.
    is_date : bool
        Whether values are days, whose edges are those of weeks, months or years.

    Examples
    --------
    >>> number_cells(np.arange(95.0), 20).edges.tolist()[-3:]
    [85.0, 90.0, 95.0]
    >>> number_cells(np.array([1.0, 2.0, 4.0, 2.0]), 20).edges.tolist()
    [1.0, 2.0, 4.0, 5.0]
    """
    values = values[np.isfinite(values)]
    if not len(values):
        return None
    is_whole = bool((values == np.floor(values)).all())
    distinct = np.unique(values)
    if len(distinct) == 1 or (is_whole and len(distinct) <= cells):
        last = max(distinct[-1] + 1, np.nextafter(distinct[-1], np.inf))
        return NumberCells(np.append(distinct, last), is_single=True, is_date=is_date)
    low, high = (float(value) for value in np.quantile(values, _TAILS))
    if low == high:
        low, high = float(distinct[0]), float(distinct[-1])
    if is_whole:
        low, high = math.floor(low), math.ceil(high)
    candidates = _date_edges if is_date else _number_edges
    grids = candidates(low, high, cells, is_whole)
    edges = next(edges for edges in grids if len(edges) - 1 <= cells)
    is_single = is_whole and bool((np.diff(edges) == 1).all())
    return NumberCells(edges, is_single=is_single, is_date=is_date)


def _number_edges(low: float, high: float, cells: int, is_whole: bool) -> Iterator[FloatArray]:
    """Yield equally wide edges that hold both ends, from fine to coarse steps."""
    least = max(high / cells - low / cells, _FINEST * max(abs(low), abs(high)))
    least = max(least, 1.0 if is_whole else float(np.finfo(float).tiny))
    exponent = math.floor(math.log10(least))
    for power in range(exponent, exponent + 4):
        up, down = float(10 ** max(power, 0)), float(10 ** max(-power, 0))
        for nice in _NICE:
            step = nice * up / down
            if step < least or (is_whole and step != math.floor(step)):
                continue
            first, last = math.floor(low / step), math.floor(high / step) + 1
            numbers = np.arange(first, last + 1, dtype=np.float64) * nice
            # Division by a power of ten is correctly rounded: 0.3, not 0.30000000000000004.
            yield numbers * up / down


def _date_edges(low: float, high: float, cells: int, is_whole: bool) -> Iterator[FloatArray]:
    """Yield edges at minutes and hours, days, weeks, months and years that hold both ends."""
    steps = [] if is_whole else [(minutes / _MINUTES_A_DAY, 0) for minutes in _MINUTES]
    for step, start in [*steps, (1.0, 0), (7.0, _MONDAY)]:
        first, last = (math.floor((day - start) / step) for day in (low, high))
        if last - first < cells:
            yield start + np.arange(first, last + 2, dtype=np.float64) * step
    months = [_month(day) for day in (low, high)]
    years = (12 * int(nice * 10**power) for power in range(9) for nice in (1, 2, 5))
    for size in (*_MONTHS, *years):
        # Months count from January 1970, years from the year 0.
        start = 0 if size <= max(_MONTHS) else -12 * 1970
        first, last = ((month - start) // size for month in months)
        if last - first < cells:
            edges = start + np.arange(first, last + 2) * size
            yield edges.astype("datetime64[M]").astype("datetime64[D]").astype(np.float64)


def _month(day: float) -> int:
    return int(np.datetime64(math.floor(day), "D").astype("datetime64[M]").astype(np.int64))


def number_text(value: float) -> str:
    """Write a number as short as it is exact to 15 digits.

    Examples
    --------
    >>> number_text(1200000.0), number_text(0.25)
    ('1200000', '0.25')
    """
    return f"{value + 0.0:.15g}"


def day_text(day: float) -> str:
    """Write days since 1970-01-01 as ISO date, with the time where there is one.

    Examples
    --------
    >>> day_text(17000.0), day_text(17000.25)
    ('2016-07-18', '2016-07-18T06:00')
    """
    if day == math.floor(day):
        return str(np.datetime64(int(day), "D"))
    seconds = np.datetime64(round(day * 86_400), "s")
    return str(seconds).removesuffix(":00")


EMPTY = "(empty)"
"""How an empty cell is shown."""
NEW_LEVELS = "new levels"
OTHER_LEVELS = "other levels"
NEW_CODES = "new missing codes"

Codes = npt.NDArray[np.unsignedinteger]


@dataclass(frozen=True, eq=False)
class FixedGroups:
    """Groups of one variable; values are matched by label, never by position of a level."""

    labels: tuple[str, ...]
    """Names of all groups: those of values, then the missing codes."""
    n_values: int
    """How many groups are of values."""
    position: Mapping[str, int]
    """Group of every label of the original, as it is written in the source."""
    new_level: int | None = None
    """Group of levels that the original does not have; None for numbers."""
    others: int = 0
    """How many levels the last group of values stands for; 0 when there is no such group."""
    breaks: FloatArray | None = None
    """Inner breaks of numbers, ascending; a group holds its lower break."""

    @property
    def size(self) -> int:
        """Number of groups, with those that may turn out empty."""
        return len(self.labels)

    @property
    def is_missing(self) -> BoolArray:
        """Which groups are missing codes, shape (size,)."""
        return np.arange(self.size) >= self.n_values

    def codes(self, column: Column) -> Codes:
        """Return the group of every record, shape (n,), in the smallest type that holds them."""
        if column.is_coded:
            return self._by_label(column.variable)[column.data]
        codes = np.zeros(len(column), dtype=self._dtype)
        # A pass for each break is several times faster than a binary search for so few of them.
        for one in () if self.breaks is None else self.breaks:
            codes += column.data >= one
        if column.states is not None and column.variable.missing:
            missing = column.states > 0
            codes[missing] = self._by_label(column.variable)[column.states[missing] - 1]
        return codes

    def counts(self, column: Column) -> IntArray:
        """Return the number of records in every group, shape (size,)."""
        return np.bincount(self.codes(column), minlength=self.size)

    def shown(self, counts: IntArray) -> BoolArray:
        """Return which groups are shown, shape (size,): new ones only where there is a record.

        ``counts`` are the records of all datasets together, shape (size,).
        """
        is_new = np.zeros(self.size, dtype=np.bool_)
        is_new[-1] = True
        if self.new_level is not None:
            is_new[self.new_level] = True
        return np.asarray(~is_new | (counts > 0))

    @property
    def _dtype(self) -> np.dtype[np.unsignedinteger]:
        return np.min_scalar_type(self.size)

    def _by_label(self, variable: Variable) -> Codes:
        """Return the group of every level (numbers have none), then of every missing code."""
        new_code = self.size - 1
        new_level = new_code if self.new_level is None else self.new_level
        groups = [self.position.get(label, new_level) for label in variable.levels]
        groups += [self.position.get(label, new_code) for label in variable.missing]
        return np.array(groups, dtype=self._dtype)


def level_groups(column: Column, most: int) -> FixedGroups:
    """Return groups of a coded variable: its most frequent levels, the rest together.

    Levels are in their own order for ordered and boolean variables, else by size; at most ``most``
    of the original's have a group of their own.

    Examples
    --------
    >>> job = Variable(name="job", kind=Kind.CATEGORICAL, levels=("a", "b", "c"), missing=("",))
    >>> column = Column(job, np.array([0, 1, 1, 1, 2, 3], dtype=np.int32))
    >>> groups = level_groups(column, 1)
    >>> groups.labels, groups.others
    (('b', 'new levels', 'other levels', '(empty)', 'new missing codes'), 2)
    >>> groups.counts(column).tolist()
    [3, 0, 2, 1, 0]
    """
    variable = column.variable
    counts = np.bincount(column.data, minlength=variable.n_codes)[: len(variable.levels)]
    kept = np.argsort(-counts, kind="stable")[:most]
    if variable.kind is not Kind.CATEGORICAL:
        kept = np.sort(kept)
    labels = [variable.levels[code] for code in kept]
    others = len(variable.levels) - len(labels)
    values = [*labels, NEW_LEVELS, *([OTHER_LEVELS] if others else [])]
    position = dict.fromkeys(variable.levels, len(values) - 1)
    position |= {label: number for number, label in enumerate(labels)}
    return FixedGroups(
        labels=(*values, *_shown_codes(variable.missing), NEW_CODES),
        n_values=len(values),
        position=position | _positions(variable.missing, len(values)),
        new_level=len(labels),
        others=others,
    )


def number_groups(
    variable: Variable, breaks: FloatArray | None, labels: Sequence[str]
) -> FixedGroups:
    """Return groups of the original's number or date between ascending breaks; None for one group.

    There is one more label than breaks.

    Examples
    --------
    >>> pay = Variable(name="pay", kind=Kind.NUMERIC, missing=("-8",))
    >>> groups = number_groups(pay, np.array([10.0]), ["low", "high"])
    >>> states = np.array([0, 0, 1], dtype=np.int8)
    >>> groups.counts(Column(pay, np.array([9.0, 10.0, np.nan]), states)).tolist()
    [1, 1, 1, 0]
    """
    return FixedGroups(
        labels=(*labels, *_shown_codes(variable.missing), NEW_CODES),
        n_values=len(labels),
        position=_positions(variable.missing, len(labels)),
        breaks=breaks,
    )


def _positions(codes: Iterable[str], first: int) -> dict[str, int]:
    return {code: first + number for number, code in enumerate(codes)}


def _shown_codes(codes: Iterable[str]) -> list[str]:
    return [code or EMPTY for code in codes]
