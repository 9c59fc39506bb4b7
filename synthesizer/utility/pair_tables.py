"""Tables of two variables, original beside synthetic: what lies behind a pair's measures.

Rows and columns are decided by the original alone: quantile groups of numbers, the most frequent
levels, each missing code. Counts of the synthetic side are means over the datasets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synthesizer.data.comparable import check_comparable
from synthesizer.data.pairs import Data
from synthesizer.data.schema import Kind
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Table
from synthesizer.errors import DataError
from synthesizer.utility.cells import compared
from synthesizer.utility.fixed_groups import Codes, FixedGroups, level_groups, number_groups
from synthesizer.utility.grouping import breaks_of, interval_labels
from synthesizer.utility.number_cells import day_text

__all__ = ["PairCounter", "PairTable", "pair_tables"]


@dataclass(frozen=True)
class PairTable:
    """Counts of two variables' combinations.

    Parameters
    ----------
    variables : tuple of str
        The variable of the rows and that of the columns.
    rows, columns : tuple of str
        Groups: levels or intervals, then missing codes; an empty cell of the source is "(empty)".
    original : tuple of tuple of int
        Counts of the original records, one tuple for each row.
    synthetic : tuple of tuple of float
        Counts of the synthetic records, means over the datasets.
    """

    variables: tuple[str, str]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    original: tuple[tuple[int, ...], ...]
    synthetic: tuple[tuple[float, ...], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file: lists in place of tuples."""
        return {
            "variables": list(self.variables),
            "rows": list(self.rows),
            "columns": list(self.columns),
            "original": [list(row) for row in self.original],
            "synthetic": [list(row) for row in self.synthetic],
        }


class PairCounter:
    """Counts one synthetic dataset after the other; only counts stay in memory.

    Parameters
    ----------
    original : Table
        Confidential records, at least one.
    pairs : sequence of (str, str)
        Variables of the rows and of the columns of every table.
    groups : int
        Number of quantile groups of numeric variables, at least 2.
    most_levels : int
        Most levels with a row or column of their own, the most frequent; the rest are together.

    Raises
    ------
    DataError
        For unknown variables, a variable paired with itself and the like, all at once.

    Examples
    --------
    >>> from synthesizer.data.schema import Variable
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> job = Variable(name="job", kind=Kind.BOOLEAN, levels=("no", "yes"))
    >>> codes = np.array([0, 0, 1, 1], dtype=np.int32)
    >>> table = Table([Column(sex, codes), Column(job, codes[::-1])])
    >>> counter = PairCounter(table, [("sex", "job")])
    >>> for rows in ([0, 1], [0, 2]):
    ...     counter.add(table.take(rows))
    >>> counter.result()[0].original, counter.result()[0].synthetic
    (((0, 2), (2, 0)), ((0.0, 1.5), (0.5, 0.0)))
    """

    def __init__(
        self,
        original: Table,
        pairs: Sequence[tuple[str, str]],
        groups: int = 5,
        most_levels: int = 12,
    ) -> None:
        problems = [
            f"variable {name!r} is not in the data: name one of its columns"
            for name in _names(pairs)
            if name not in original
        ]
        problems += _problems(pairs, groups, most_levels)
        if not original.n_rows:
            problems.append("the original has no records: give it some")
        if problems:
            raise DataError(problems)
        self._original = original
        self._pairs = [(row, column) for row, column in pairs]
        self._groups = {
            name: _groups(original[name], groups, most_levels) for name in _names(pairs)
        }
        self._ours = self._counts(original)
        self._theirs = [np.zeros_like(counts) for counts in self._ours]
        self._datasets = 0

    def add(self, synthetic: Table) -> None:
        """Count the next dataset; raises DataError where its variables are missing or differ."""
        number = self._datasets + 1
        check_comparable(self._original, [synthetic], list(self._groups), first=number)
        self._datasets = number
        for total, counts in zip(self._theirs, self._counts(synthetic), strict=True):
            total += counts

    def result(self) -> tuple[PairTable, ...]:
        """Return one table for each pair, in order; raises DataError before the first dataset."""
        if not self._datasets:
            raise DataError("there is no synthetic dataset: generate at least one")
        counted = zip(self._pairs, self._ours, self._theirs, strict=True)
        return tuple(self._table(pair, ours, theirs) for pair, ours, theirs in counted)

    def _counts(self, table: Table) -> list[IntArray]:
        """Return the counts of every pair, shape (rows, columns) each."""
        codes = {name: groups.codes(table[name]) for name, groups in self._groups.items()}
        found: list[IntArray] = []
        for row, column in self._pairs:
            shape = self._groups[row].size, self._groups[column].size
            joint = _joint(codes[row], codes[column], shape)
            counts = np.bincount(joint, minlength=shape[0] * shape[1])
            found.append(counts.reshape(shape))
        return found

    def _table(self, pair: tuple[str, str], ours: IntArray, theirs: IntArray) -> PairTable:
        total = ours + theirs
        (rows, in_row), (columns, in_column) = (
            _shown(self._groups[name], total.sum(axis=1 - axis)) for axis, name in enumerate(pair)
        )
        chosen = np.ix_(in_row, in_column)
        means = theirs[chosen] / self._datasets
        return PairTable(
            variables=pair,
            rows=rows,
            columns=columns,
            original=tuple(tuple(row) for row in ours[chosen].tolist()),
            synthetic=tuple(tuple(row) for row in means.tolist()),
        )


def pair_tables(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    pairs: Sequence[tuple[str, str]],
    groups: int = 5,
    most_levels: int = 12,
) -> tuple[PairTable, ...]:
    """Return the tables of pairs of variables in the original and in the synthetic datasets.

    Parameters
    ----------
    original : Table, DataFrame or RawTable
        Confidential records, shape (n, p).
    synthetic : Table, DataFrame or RawTable, or sequence of them
        Synthetic datasets of any sizes.
    pairs : sequence of (str, str)
        Variables of the rows and of the columns of every table.
    groups : int
        Number of quantile groups of numeric variables, at least 2.
    most_levels : int
        Most levels with a row or column of their own, the most frequent; the rest are together.

    Returns
    -------
    tuple of PairTable
        One for each pair, in order.

    Raises
    ------
    DataError
        For unknown variables, empty or different tables, all problems at once.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "f", "m"], "age": [30, 41, 41]})
    >>> made = pd.DataFrame({"sex": ["f", "m", "x"], "age": [30, 41, 41]})
    >>> table = pair_tables(people, made, pairs=[("sex", "age")])[0]
    >>> table.rows, table.columns
    (('f', 'm', 'new levels'), ('below 41', '41 and above'))
    >>> table.original, table.synthetic
    (((1, 1), (0, 1), (0, 0)), ((1.0, 0.0), (0.0, 1.0), (0.0, 1.0)))
    """
    problems = _problems(pairs, groups, most_levels)
    original, tables, _ = compared(original, synthetic, _names(pairs), problems)
    counter = PairCounter(original, pairs, groups, most_levels)
    for table in tables:
        counter.add(table)
    return counter.result()


def _names(pairs: Sequence[tuple[str, str]]) -> list[str]:
    return list(dict.fromkeys(name for pair in pairs for name in pair))


def _problems(pairs: Sequence[tuple[str, str]], groups: int, most_levels: int) -> list[str]:
    problems = [
        f"pair {tuple(pair)!r} must be of two different variables"
        for pair in pairs
        if len(pair) != 2 or len(set(pair)) != 2
    ]
    if groups < 2:
        problems.append(f"groups ({groups}) must be at least 2")
    if most_levels < 1:
        problems.append(f"most_levels ({most_levels}) must be at least 1")
    return problems


def _groups(column: Column, groups: int, most_levels: int) -> FixedGroups:
    if column.is_coded:
        return level_groups(column, most_levels)
    values = column.data[column.is_observed].astype(np.float64)
    breaks = breaks_of(values, groups)
    if column.variable.kind is Kind.DATE:
        breaks, texts = _dates(values, breaks)
    else:
        texts = [f"{value:.10g}" for value in breaks]
    return number_groups(column.variable, breaks, interval_labels(texts))


def _dates(values: FloatArray, breaks: FloatArray) -> tuple[FloatArray, list[str]]:
    """Return breaks and how they are written; between whole days the next day is as good."""
    if (values == np.floor(values)).all():
        breaks = np.unique(np.ceil(breaks))
    return breaks, [day_text(value) for value in breaks]


def _joint(rows: Codes, columns: Codes, shape: tuple[int, int]) -> Codes:
    """Return the number of every record's combination, in the smallest type: half the time."""
    kind = np.min_scalar_type(shape[0] * shape[1])
    joint = rows.astype(kind)
    joint *= kind.type(shape[1])
    joint += columns
    return joint


def _shown(groups: FixedGroups, counts: IntArray) -> tuple[tuple[str, ...], BoolArray]:
    shown = groups.shown(counts)
    return tuple(np.array(groups.labels, dtype=object)[shown].tolist()), shown
