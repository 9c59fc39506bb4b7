"""Comparable data sets, groups of their variables, and counts of cells.

The cells of a table are those that occur in either file. A table with few possible cells is counted
as an array, any other by sorting the records; the full table of all variables is never allocated.

Cells of numbers and dates for a histogram are few, equally wide, with edges that read well. They
reach from the 0.5 to the 99.5 per cent quantile, so that a few extreme values do not squeeze all
others into one cell; the first and the last cell hold what lies beyond. Whole numbers and days with
few distinct values have a cell each.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from synthesizer.data.errors import DataError, Problems
from synthesizer.data.pairs import (
    Data,
    as_table,
    as_tables,
    check_comparable,
    column_names,
    list_problems,
)
from synthesizer.data.randomness import Seed
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Kind, Table, Variable
from synthesizer.measures.figure import Result

QuantilesOf = Literal["both", "original"]
"""Records from which quantile groups of numbers are computed."""
WAYS = {1: "one", 2: "two", 3: "three"}
"""Orders of tables, in words."""

# With fewer quantile groups (because of a frequent value) intervals of equal width are used.
_MIN_GROUPS = 3
SPARSE_CELLS = 8
"""Tables with more possible cells a record are counted by sorting the records."""
MAX_CELLS = 2**30
"""Most possible cells before a further variable joins them."""
MAX_TABLES = 5_000
"""Most tables of one order that are compared; else a random sample."""


class Comparison(Result):
    """Sizes of the original and of the synthetic datasets of a comparison."""

    n: int
    """Number of original records."""
    n_synthetic: tuple[int, ...]
    """Number of records of each synthetic dataset."""

    @property
    def n_all(self) -> int:
        """Records of all files together."""
        return self.n + sum(self.n_synthetic)


def mean_of_known(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are there; None without any."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


C = TypeVar("C", bound=Comparison)


def combine_datasets(results: Sequence[C], last: str) -> C:
    """Return the results of single datasets as one result, in that order."""
    if not results:
        raise DataError("there is no result to combine: give at least one")
    none: dict[str, Any] = {"n_synthetic": (), "datasets": ()}
    frame = results[0].model_copy(update=none)
    if any(result.model_copy(update=none) != frame for result in results):
        raise DataError(f"results to combine must have the same original, variables and {last}")
    joined = {name: tuple(v for r in results for v in getattr(r, name)) for name in none}
    return frame.model_copy(update=joined)


@dataclass(frozen=True, eq=False)
class GroupedPair:
    """One variable of both tables as codes in [0, size), shapes (n_o,) and (n_s,).

    ``labels`` name the groups: levels, intervals such as "[19, 37)", and missing codes.
    """

    name: str
    size: int
    original: npt.NDArray[np.intp]
    synthetic: npt.NDArray[np.intp]
    labels: tuple[str, ...]

    @property
    def sides(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """The codes of the original and of the synthetic records."""
        return self.original, self.synthetic


def breaks_of(values: FloatArray, groups: int) -> FloatArray:
    """Return the inner breaks between groups of numbers; a group holds its lower break.

    Each value is a group if there are at most ``groups``. Else groups are quantiles, or intervals
    of equal width if a frequent value leaves fewer than three quantile groups.
    """
    few = _few_distinct(values, groups)
    if few is not None:
        return few[1:]
    quantiles = np.unique(np.quantile(values, np.arange(groups + 1) / groups))
    if len(quantiles) - 1 < min(_MIN_GROUPS, groups):
        quantiles = np.linspace(quantiles[0], quantiles[-1], groups + 1)
    return np.asarray(quantiles[1:-1])


def group_pair(
    original: Column, synthetic: Column, *, groups: int = 5, quantiles_of: QuantilesOf = "both"
) -> GroupedPair:
    """Return one variable of both tables in the same groups, matched by label."""
    if original.is_coded:
        texts = _union(original.variable.labels, synthetic.variable.labels)
        of_original, of_synthetic = (_by_label(column, texts) for column in (original, synthetic))
        return GroupedPair(original.name, len(texts), of_original, of_synthetic, texts)
    values = original.data[original.is_observed].astype(np.float64)
    if quantiles_of == "both":
        values = np.concatenate([values, synthetic.data[synthetic.is_observed]])
    breaks = breaks_of(values, groups)
    texts = _union(original.variable.missing, synthetic.variable.missing)
    of_original, of_synthetic = (_by_break(one, breaks, texts) for one in (original, synthetic))
    labels = (*interval_labels([f"{value:.10g}" for value in breaks]), *texts)
    return GroupedPair(original.name, len(labels), of_original, of_synthetic, labels)


def group_tables(
    original: Table,
    synthetic: Table,
    names: Sequence[str],
    *,
    groups: int = 5,
    quantiles_of: QuantilesOf = "both",
) -> tuple[GroupedPair, ...]:
    """Return the named variables in order; see `group_pair`."""
    return tuple(
        group_pair(original[name], synthetic[name], groups=groups, quantiles_of=quantiles_of)
        for name in names
    )


def _few_distinct(values: FloatArray, groups: int) -> FloatArray | None:
    """Return the distinct values if there are at most ``groups``, else None.

    The first values are checked before all values are sorted.
    """
    if len(np.unique(values[:1000])) > groups:
        return None
    distinct = np.unique(values)
    return distinct if len(distinct) <= groups else None


def _union(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """Return the labels of both sides, each once, those of the first side first."""
    return tuple(dict.fromkeys((*first, *second)))


def _positions(labels: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.intp]:
    """Return the positions of labels among texts."""
    position = {text: code for code, text in enumerate(texts)}
    return np.array([position[label] for label in labels], dtype=np.intp)


def stacked_codes(original: Column, synthetic: Column) -> npt.NDArray[np.intp]:
    """Return the codes of both sides matched by label, the original's first, shape (n_o + n_s,).

    Observed numbers have code 0, and each missing code has a further one.
    """
    sides = [_states(column) for column in (original, synthetic)]
    texts = _union(sides[0][0], sides[1][0])
    return np.concatenate([_positions(labels, texts)[codes] for labels, codes in sides])


def _states(column: Column) -> tuple[Sequence[str], npt.NDArray[Any]]:
    """Return labels and codes; for numbers an observed one, then the missing codes."""
    if column.is_coded:
        return column.variable.labels, column.data
    return ("", *(f"code {code}" for code in column.variable.missing)), column.missing_state()


def _by_label(column: Column, texts: tuple[str, ...]) -> npt.NDArray[np.intp]:
    return np.asarray(_positions(column.variable.labels, texts)[column.data])


def _by_break(column: Column, breaks: FloatArray, texts: tuple[str, ...]) -> npt.NDArray[np.intp]:
    codes = np.searchsorted(breaks, column.data, side="right")
    if column.states is not None and column.variable.missing:
        missing = column.states > 0
        positions = len(breaks) + 1 + _positions(column.variable.missing, texts)
        codes[missing] = positions[column.states[missing] - 1]
    return codes


def interval_labels(breaks: Sequence[str]) -> tuple[str, ...]:
    """Return the labels of the groups between breaks, which are texts."""
    if not breaks:
        return ("all values",)
    inner = [f"[{low}, {high})" for low, high in pairwise(breaks)]
    return (f"below {breaks[0]}", *inner, f"{breaks[-1]} and above")


def compared(
    original: Data,
    synthetic: Data | Sequence[Data],
    names: Sequence[str] | None,
    problems: Sequence[str] = (),
) -> tuple[Table, tuple[Table, ...], tuple[str, ...]]:
    """Return the original, the synthetic datasets and the variables to compare, all checked.

    Every measure of this folder takes these three arguments.

    Parameters
    ----------
    original : Table, DataFrame or RawTable
        Confidential records, shape (n, p).
    synthetic : the same, or a sequence of them
        Synthetic datasets of any sizes.
    names : sequence of str, optional
        Variables; by default all but identifiers.
    problems : sequence of str
        Problems with other arguments, to be raised together.

    Raises
    ------
    DataError
        With all problems, such as unknown variables, or empty or different tables.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m", "m"], "age": [30, 41, 41]})
    >>> table, (made,), names = compared(people, people[:2], None)
    >>> made.n_rows, names
    (2, ('sex', 'age'))
    """
    if not isinstance(original, Data):
        raise DataError(f"a pandas DataFrame is needed, not {type(original).__name__}")
    if names is None:
        original = as_table(original, column_names(original), ids=False)
        names = original.names
    problems = [*problems, *_list_problems(names), *name_problems(names, column_names(original))]
    Problems(problems).settle(DataError)
    names = tuple(dict.fromkeys(names))
    table, tables = as_tables(original, synthetic, names)
    check_comparable(table, tables, names)
    return table, tables, names


def check_original(original: Table, names: Sequence[str], problems: Sequence[str]) -> None:
    """Raise DataError with these problems, unknown variables, and an empty table."""
    problems = Problems([*name_problems(names, original.names), *problems])
    if not original.n_rows:
        problems.append("the original has no records: add at least one")
    problems.settle(DataError)


class DatasetCounter:
    """A comparison of the original with datasets that are added one by one and not stored."""

    def __init__(self, original: Table, names: Sequence[str], problems: Sequence[str]) -> None:
        check_original(original, names, problems)
        self._original, self._compared = original, list(names)
        self._sizes: list[int] = []

    def add(self, synthetic: Table) -> None:
        """Add the next dataset; raise DataError if its variables are missing or differ."""
        check_comparable(self._original, [synthetic], self._compared, first=len(self._sizes) + 1)
        self._sizes.append(synthetic.n_rows)
        self._count(synthetic)

    def _count(self, synthetic: Table) -> None:
        raise NotImplementedError


def table_problems(ways: Sequence[int], groups: int) -> list[str]:
    """Return the problems with the orders of tables and the number of groups."""
    problems = []
    if not ways or not set(ways) <= set(WAYS):
        problems.append("ways must have at least one of 1, 2 and 3")
    if groups < 2:
        problems.append(f"groups ({groups}) must be at least 2")
    return problems


_NONE = (math.nan, math.nan)


class Cells(NamedTuple):
    """One table: variables, counts of cells, and association of two variables."""

    names: tuple[str, ...]
    original: FloatArray
    """Counts of the cells that occur on either side."""
    synthetic: FloatArray
    associations: tuple[float, float] = _NONE
    """Cramer's V of the original and of the synthetic records; see `cramers_v`."""
    times: IntArray | None = None
    """Number of cells with these counts; None if each has one."""


def tables_of(pairs: Sequence[GroupedPair], ways: Sequence[int]) -> Iterator[Cells]:
    """Yield the tables of the given orders; a random sample of more than `MAX_TABLES`."""
    for order in sorted(set(ways)):
        count, tables = math.comb(len(pairs), order), combinations(pairs, order)
        numbers: Container[int] = range(count)
        if count > MAX_TABLES:  # the same in every dataset
            rng = Seed(0).generator("tables")
            numbers = set(rng.choice(count, MAX_TABLES, replace=False, shuffle=False).tolist())
        yield from (_cells(chosen) for k, chosen in enumerate(tables) if k in numbers)


def _cells(pairs: Sequence[GroupedPair]) -> Cells:
    cells, o, s = _occurring(pairs)
    at, times = np.divmod(cells, pairs[-1].size), None
    associations = (cramers_v(o, *at), cramers_v(s, *at)) if len(pairs) == 2 else _NONE
    if _is_sparse(pairs):
        most = s.max() + 1
        both, times = np.unique(o * most + s, return_counts=True)
        o, s = np.divmod(both, most)
    return Cells(tuple(pair.name for pair in pairs), o, s, associations, times)


def cramers_v(counts: FloatArray, rows: IntArray, columns: IntArray) -> float:
    """Return Cramer's V of cells, corrected for its bias: 0 is no association, 1 is complete.

    The correction is Bergsma's (2013, Journal of the Korean Statistical Society 42): without it
    tables of many cells seem associated by chance. NaN where a variable has one value.

    Examples
    --------
    >>> rows, columns = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> cramers_v(np.array([50.0, 0, 0, 50]), rows, columns)
    1.0
    >>> cramers_v(np.array([20.0, 30, 20, 30]), rows, columns)
    0.0
    """
    of_rows, of_columns = (np.bincount(codes, weights=counts) for codes in (rows, columns))
    sizes, n = [np.count_nonzero(side) for side in (of_rows, of_columns)], of_rows.sum()
    if min(sizes) < 2 or n < 2:
        return math.nan
    square = float((counts**2 / np.maximum(of_rows[rows] * of_columns[columns], 1)).sum()) - 1
    square = max(square - (sizes[0] - 1) * (sizes[1] - 1) / (n - 1), 0.0)
    fewest = min(size - (size - 1) ** 2 / (n - 1) for size in sizes)
    return math.sqrt(min(square / (fewest - 1), 1.0)) if fewest > 1 else math.nan


def cell_counts(pairs: Sequence[GroupedPair]) -> tuple[FloatArray, FloatArray]:
    """Return the original and the synthetic counts of the cells that occur on either side."""
    return _occurring(pairs)[1:]


def _is_sparse(pairs: Sequence[GroupedPair]) -> bool:
    """Whether a table has many more possible cells than records."""
    n_records = sum(map(len, pairs[0].sides))
    return math.prod(pair.size for pair in pairs) > SPARSE_CELLS * n_records


def _occurring(pairs: Sequence[GroupedPair]) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the cells that occur on either side, rising, and their counts on both."""
    (original, synthetic), size = pairs[0].sides, pairs[0].size
    for pair in pairs[1:]:
        if size > MAX_CELLS:  # cells of the product of all variables would have no number
            both = np.concatenate([original, synthetic])
            distinct, both = np.unique(both, return_inverse=True)
            (original, synthetic), size = np.split(both, [len(original)]), len(distinct)
        original = original * pair.size + pair.original
        synthetic = synthetic * pair.size + pair.synthetic
        size *= pair.size
    if not _is_sparse(pairs):
        o, s = (np.bincount(codes, minlength=size) for codes in (original, synthetic))
        cells = np.flatnonzero(o + s)
        return cells, o[cells].astype(np.float64), s[cells].astype(np.float64)
    keys = np.concatenate([2 * original, 2 * synthetic + 1])
    keys.sort()
    cells = keys >> 1
    starts = np.flatnonzero(np.append(True, cells[1:] != cells[:-1]))
    s = np.add.reduceat(keys & 1, starts)
    o = np.append(starts[1:], len(keys)) - starts - s
    return cells[starts], o.astype(np.float64), s.astype(np.float64)


def divergence(p: FloatArray, q: FloatArray, times: IntArray | int = 1) -> float:
    """Return the Jensen-Shannon divergence of shares with base-2 logarithms, in [0, 1].

    ``times`` are the numbers of cells with these shares.
    """
    middle = (p + q) / 2
    parts = (float((x * times)[x > 0] @ np.log2(x[x > 0] / middle[x > 0])) for x in (p, q))
    # Rounding may leave it slightly outside [0, 1].
    return min(max(sum(parts) / 2, 0.0), 1.0)


def _list_problems(names: Sequence[str]) -> Iterator[str]:
    if isinstance(names, str):
        yield from list_problems("names", names)
    elif not names:
        yield "there is no variable to compare: name at least one"


def name_problems(names: Sequence[str], columns: Collection[str]) -> list[str]:
    """Return a problem for each unknown name, or for a text in place of a list."""
    each = () if isinstance(names, str) else dict.fromkeys(names)
    return [
        f"variable {name!r} is not in the data: name one of its columns"
        for name in each
        if name not in columns
    ]


_TAILS = (0.005, 0.995)
_NICE = (1.0, 2.0, 2.5, 5.0)
_MINUTES = (1, 5, 15, 60, 180, 360, 720)
_MINUTES_A_DAY = 1440
_MONTHS = (1, 3, 6, 12)
# 1970-01-01 was a Thursday: weeks begin 4 days later.
_MONDAY = 4
# Smallest relative step that rounding does not hide.
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
        """Return whether there are values below or above, and which cells have several values."""
        mixed = np.zeros(len(self.edges) - 1, dtype=np.bool_)
        if not len(values):
            return False, False, mixed
        if self.is_single:
            cells = np.searchsorted(self.breaks, values, side="right")
            mixed[cells[values != self.edges[cells]]] = True
        return bool(values.min() < self.edges[0]), bool(values.max() >= self.edges[-1]), mixed

    def labels(self, below: bool, above: bool, mixed: BoolArray) -> tuple[str, ...]:
        """Return the labels of the cells, from the results of `reach` over all datasets."""
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
    """Return cells for observed values, None without any.

    Parameters
    ----------
    values : ndarray of float
        Observed values of the original.
    cells : int
        Largest number of cells, at least 2.
    is_date : bool
        Whether values are days; edges are then those of weeks, months or years.

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
    """Yield edges of equal width that include both ends, from fine to coarse steps."""
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
    """Yield edges at minutes, hours, days, weeks, months and years that include both ends."""
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
    """Return the shortest text of a number that is exact to 15 digits."""
    return f"{value + 0.0:.15g}"


def day_text(day: float) -> str:
    """Return days since 1970-01-01 as an ISO date, with the time if there is one.

    >>> day_text(1.0), day_text(0.5)
    ('1970-01-02', '1970-01-01T12:00')
    """
    if day == math.floor(day):
        return str(np.datetime64(int(day), "D"))
    seconds = np.datetime64(round(day * 86_400), "s")
    return str(seconds).removesuffix(":00")


EMPTY = "(empty)"
"""Label of an empty cell."""
NEW_LEVELS = "new levels"
OTHER_LEVELS = "other levels"
NEW_CODES = "new missing codes"

Codes = npt.NDArray[np.unsignedinteger]


@dataclass(frozen=True, eq=False)
class FixedGroups:
    """Groups of one variable; values are matched by label."""

    labels: tuple[str, ...]
    """Names of all groups: those of values, then the missing codes."""
    n_values: int
    """Number of groups of values."""
    position: Mapping[str, int]
    """Group of each label of the original, as in the source."""
    new_level: int | None = None
    """Group of levels that the original lacks; None for numbers."""
    others: int = 0
    """Number of levels that the last group of values joins; 0 without such a group."""
    breaks: FloatArray | None = None
    """Inner breaks of numbers, ascending; a group holds its lower break."""

    @property
    def size(self) -> int:
        """Number of groups, including empty ones."""
        return len(self.labels)

    @property
    def is_missing(self) -> BoolArray:
        """Which groups are missing codes, shape (size,)."""
        return np.arange(self.size) >= self.n_values

    def codes(self, column: Column) -> Codes:
        """Return the group of each record, shape (n,), in the smallest integer type."""
        if column.is_coded:
            return self._by_label(column.variable)[column.data]
        codes = np.zeros(len(column), dtype=self._dtype)
        # For few breaks a pass for each is several times faster than a binary search.
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
        """Return which groups are shown, shape (size,): new ones only if they have records.

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
    """Return groups of a coded variable: up to ``most`` frequent levels, and all others together.

    Levels of ordered and boolean variables are in their order, others by size.
    """
    variable = column.variable
    counts = np.bincount(column.data, minlength=variable.n_codes)[: len(variable.levels)]
    largest = np.argsort(-counts, kind="stable")[:most]
    if variable.kind is not Kind.CATEGORICAL:
        largest = np.sort(largest)
    labels = [variable.levels[code] for code in largest]
    others = len(variable.levels) - len(labels)
    values = [*labels, NEW_LEVELS, *([OTHER_LEVELS] if others else [])]
    position = dict.fromkeys(variable.levels, len(values) - 1)
    position |= {label: number for number, label in enumerate(labels)}
    return FixedGroups(
        labels=(*values, *_shown_codes(variable.missing), NEW_CODES),
        n_values=len(values),
        position=position | _numbered(variable.missing, len(values)),
        new_level=len(labels),
        others=others,
    )


def number_groups(
    variable: Variable, breaks: FloatArray | None, labels: Sequence[str]
) -> FixedGroups:
    """Return labelled groups of a number or date between ascending breaks; None for one."""
    return FixedGroups(
        labels=(*labels, *_shown_codes(variable.missing), NEW_CODES),
        n_values=len(labels),
        position=_numbered(variable.missing, len(labels)),
        breaks=breaks,
    )


def _numbered(codes: Iterable[str], first: int) -> dict[str, int]:
    return {code: first + number for number, code in enumerate(codes)}


def _shown_codes(codes: Iterable[str]) -> list[str]:
    return [code or EMPTY for code in codes]
