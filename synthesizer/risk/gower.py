"""Mixed-type records as arrays, and the nearest of them under Gower's distance.

A record's distance to another is the sum over the variables of: 0 or 1 for labels (equal or not);
for two numbers the share of real records between them; and for missing codes, which are values of
their own, 0 to the same code and 1 to everything else. Divided by the number of variables it is
one minus Gower's coefficient of similarity, for ranks.

Source: Gower (1971), A general coefficient of similarity and some of its properties, Biometrics
27.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synthesizer.data.codes import Codes
from synthesizer.data.table import Column, FloatArray, IntArray, Table

__all__ = ["MixedRecords", "mixed_records", "nearest", "nearest_places", "stacked"]

# Pairs of records worked on at once, and how many others they are of: distances stay in the
# processor's cache, and rows are long enough for its vector instructions.
_PAIRS = 2**18
_OTHERS = 2**13


@dataclass(frozen=True, eq=False)
class MixedRecords:
    """The records of one table, coded alike for all tables that were coded together.

    Parameters
    ----------
    labels : dict of str to ndarray of int, each shape (n,)
        Codes of the coded variables.
    numbers : dict of str to ndarray of int, each shape (n,)
        Ranks of the others, in [0, unit]; missing code k (from 1) is 2 * k * unit.
    unit : int
        The distance of two unequal labels: twice the number of real records.
    n_rows : int
        Number of records, n.
    """

    labels: dict[str, IntArray]
    numbers: dict[str, IntArray]
    unit: int
    n_rows: int

    def take(self, rows: Codes, names: Sequence[str] | None = None) -> MixedRecords:
        """Return some records, and of these some variables if any are named."""
        return MixedRecords(
            {n: v[rows] for n, v in self.labels.items() if names is None or n in names},
            {n: v[rows] for n, v in self.numbers.items() if names is None or n in names},
            self.unit,
            len(rows),
        )


def mixed_records(
    tables: Sequence[Table], names: Sequence[str], *, real: int = 2
) -> list[MixedRecords]:
    """Code tables alike: labels by text, numbers by their rank among the real records.

    A rank is the number of real records below, twice, and of those equal to it. Ranks make the
    scale independent of single large values, which would bring all other differences close to 0;
    and as whole numbers, of a type that holds their sums, they add up exactly, so that equal
    distances are found to be equal.

    Parameters
    ----------
    tables : sequence of Table
        Tables with the named variables, of the same kinds.
    names : sequence of str
        Variables to code.
    real : int
        How many of the tables, from the first, hold the real records that numbers are ranked by.

    Examples
    --------
    >>> from synthesizer.data.schema import Kind, Variable
    >>> pay = Variable(name="pay", kind=Kind.NUMERIC)
    >>> tables = [Table([Column(pay, np.array(values))]) for values in ([1.0, 9e9], [5.0, 5.0])]
    >>> [records.numbers["pay"].tolist() for records in mixed_records(tables, ["pay"])]
    [[1, 7], [4, 4]]
    """
    unit = 2 * sum(table.n_rows for table in tables[:real])
    labels: list[dict[str, IntArray]] = [{} for _ in tables]
    numbers: list[dict[str, IntArray]] = [{} for _ in tables]
    kind = _number_type(tables, names, unit)
    for name in names:
        columns = [table[name] for table in tables]
        if columns[0].is_coded:
            for found, codes in zip(labels, _label_codes(columns), strict=True):
                found[name] = codes
        else:
            for scaled, ranks in zip(numbers, _ranks(columns, real, unit), strict=True):
                scaled[name] = ranks.astype(kind)
    return [
        MixedRecords(found, scaled, unit, table.n_rows)
        for found, scaled, table in zip(labels, numbers, tables, strict=True)
    ]


def stacked(parts: Sequence[MixedRecords]) -> MixedRecords:
    """Return the records of several tables that were coded together as one."""
    first = parts[0]
    return MixedRecords(
        {name: np.concatenate([part.labels[name] for part in parts]) for name in first.labels},
        {name: np.concatenate([part.numbers[name] for part in parts]) for name in first.numbers},
        first.unit,
        sum(part.n_rows for part in parts),
    )


def nearest(records: MixedRecords, others: MixedRecords) -> tuple[FloatArray, Codes]:
    """Return each record's distance to its nearest other, and the place of the first such.

    Every pair is compared, in blocks and column by column: exact, and for mixed types with many
    ties faster than trees. Time grows with pairs times variables, memory does not.

    Returns
    -------
    tuple of ndarray, each shape (n,)
        Distances in [0, number of variables] and positions.

    Examples
    --------
    >>> from synthesizer.data.schema import Kind, Variable
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> tables = [Table([Column(sex, np.array(codes, dtype=np.int32))]) for codes in ([1], [0, 1])]
    >>> one, two = mixed_records(tables, ["sex"])
    >>> nearest(one, two)
    (array([0.]), array([1]))
    """
    compare = _Comparison(records, others)
    smallest = np.full(records.n_rows, np.iinfo(np.int64).max)
    places = np.zeros(records.n_rows, dtype=np.int64)
    width = min(others.n_rows, _OTHERS)
    for rows in _slices(records.n_rows, max(1, _PAIRS // width)):
        for columns in _slices(others.n_rows, width):
            block = compare.distances(rows, columns)
            found = block.argmin(axis=1)
            distances = block[np.arange(len(found)), found]
            nearer = distances < smallest[rows]
            smallest[rows][nearer] = distances[nearer]
            places[rows][nearer] = columns.start + found[nearer]
    return smallest / records.unit, places


def nearest_places(records: MixedRecords, others: MixedRecords, k: int) -> Codes:
    """Return the places of each record's k nearest others, in any order, shape (n, k).

    Of several nearest ones the first is taken if k is 1, any of them otherwise.

    Examples
    --------
    >>> from synthesizer.data.schema import Kind, Variable
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> tables = [Table([Column(sex, np.array(c, dtype=np.int32))]) for c in ([1], [0, 1, 1])]
    >>> one, two = mixed_records(tables, ["sex"])
    >>> np.sort(nearest_places(one, two, 2)).tolist()
    [[1, 2]]
    """
    if k == 1:
        return nearest(records, others)[1][:, None]
    compare = _Comparison(records, others)
    every = slice(0, others.n_rows)
    places = np.empty((records.n_rows, k), dtype=np.int64)
    for rows in _slices(records.n_rows, max(1, _PAIRS // others.n_rows)):
        block = compare.distances(rows, every)
        places[rows] = np.argpartition(block, k - 1, axis=1)[:, :k]
    return places


class _Comparison:
    """Compares blocks of records, column by column, in the smallest types that hold the sums."""

    def __init__(self, records: MixedRecords, others: MixedRecords) -> None:
        self.records, self.others, self.unit = records, others, records.unit
        self.kind = _sum_type(records)
        self.capped = [name for name in records.numbers if _has_missing(name, records, others)]

    def distances(self, rows: slice, columns: slice) -> IntArray:
        """Return distances in units, shape (rows, columns)."""
        block = self._unequal_labels(rows, columns).astype(self.kind)
        block *= self.unit
        difference = np.empty_like(block)
        # An array, since the minimum of an array and a number is not vectorised: 3 times slower.
        unit = np.full(block.shape[1], self.unit, dtype=self.kind)
        for name, values in self.records.numbers.items():
            np.subtract(values[rows, None], self.others.numbers[name][columns], out=difference)
            np.abs(difference, out=difference)
            if name in self.capped:
                # Missing codes lie at least one unit from each other and from any number.
                np.minimum(difference, unit, out=difference)
            np.add(block, difference, out=block)
        return block

    def _unequal_labels(self, rows: slice, columns: slice) -> IntArray:
        shape = (rows.stop - rows.start, columns.stop - columns.start)
        counts = np.zeros(shape, dtype=np.min_scalar_type(len(self.records.labels)))
        differ = np.empty(shape, dtype=np.bool_)
        for name, codes in self.records.labels.items():
            np.not_equal(codes[rows, None], self.others.labels[name][columns], out=differ)
            # As bytes: adding truth values to numbers takes twice as long.
            np.add(counts, differ.view(np.uint8), out=counts)
        return counts


def _slices(size: int, step: int) -> list[slice]:
    return [slice(start, min(start + step, size)) for start in range(0, size, step)]


def _has_missing(name: str, *parts: MixedRecords) -> bool:
    return any(bool((part.numbers[name] > part.unit).any()) for part in parts)


def _sum_type(records: MixedRecords) -> np.dtype[Any]:
    """Return the smallest type that holds every number and the largest distance."""
    largest = records.unit * (len(records.labels) + len(records.numbers))
    kinds = (values.dtype for values in records.numbers.values())
    return np.result_type(np.min_scalar_type(-largest), *kinds)


def _number_type(tables: Sequence[Table], names: Sequence[str], unit: int) -> np.dtype[Any]:
    """Return the smallest type that holds every rank and every missing code."""
    most = max(sum(len(table[name].variable.missing) for table in tables) for name in names)
    return np.min_scalar_type(-unit * max(1, 2 * most))


def _label_codes(columns: Sequence[Column]) -> list[IntArray]:
    labels = dict.fromkeys(label for column in columns for label in column.variable.labels)
    position = {label: code for code, label in enumerate(labels)}
    kind = np.min_scalar_type(len(position))
    return [
        np.array([position[label] for label in column.variable.labels], dtype=kind)[column.data]
        for column in columns
    ]


def _ranks(columns: Sequence[Column], real: int, unit: int) -> list[Codes]:
    missing = dict.fromkeys(code for column in columns for code in column.variable.missing)
    position = {code: place for place, code in enumerate(missing, start=1)}
    numbers = np.concatenate([c.data[c.is_observed].astype(np.float64) for c in columns])
    n_real = sum(int(c.is_observed.sum()) for c in columns[:real])
    values, codes = np.unique(numbers, return_inverse=True)
    counts = np.bincount(codes[:n_real], minlength=len(values))
    # Those below twice and those equal once: those up to here twice, those equal taken off.
    ranks = (2 * np.cumsum(counts) - counts)[codes]
    ranked, start = [], 0
    for column in columns:
        places = [0, *(2 * unit * position[code] for code in column.variable.missing)]
        found = np.array(places, dtype=np.int64)[column.missing_state()]
        observed = column.is_observed
        end = start + int(observed.sum())
        found[observed] = ranks[start:end]
        ranked.append(found)
        start = end
    return ranked
