"""Distributions of variables and pairs of variables in original and synthetic data.

Cells are defined by the original, see `utility.cells`. Each missing code is a cell. Levels and
missing codes that only synthetic data have are counted together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthesizer.data.errors import DataError
from synthesizer.data.pairs import Data
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Kind, Table
from synthesizer.measures.figure import Result, Row, collected, column
from synthesizer.measures.measure import Case, Collecting, Measure
from synthesizer.measures.utility.cells import (
    Codes,
    DatasetCounter,
    FixedGroups,
    NumberCells,
    breaks_of,
    compared,
    day_text,
    interval_labels,
    level_groups,
    number_cells,
    number_groups,
    table_problems,
)
from synthesizer.measures.utility.tables import TableCollecting, combine_tables, worst_pairs

_QUANTILES = {"min": 0.0, "q1": 0.25, "median": 0.5, "q3": 0.75, "max": 1.0}


class Statistics(Row):
    """Statistics of a number or date; None without observed values, or after an overflow."""

    mean: float | None = column("mean", "number")
    sd: float | None = column("sd", "number", "standard deviation")
    min: float | None = column("min", "number")
    q1: float | None = column("q1", "number", "lower quartile")
    median: float | None = column("median", "number")
    q3: float | None = column("q3", "number", "upper quartile")
    max: float | None = column("max", "number")


class NumberSummary(Result):
    """Statistics of the original, and of each synthetic dataset."""

    original: Statistics
    synthetic: tuple[Statistics, ...]


class Distribution(Result):
    """One variable's shares of records in cells, in [0, 1], missing codes included."""

    variable: str
    kind: str
    """Kind in the original."""
    labels: tuple[str, ...]
    """Labels of the cells; an empty text of the source is "(empty)"."""
    missing: tuple[bool, ...]
    """Which cells are missing codes; these come last."""
    edges: tuple[float, ...] | None
    """Edges of the cells of a number or date (days since 1970-01-01), one more than cells of
    values. The first and the last cell include values beyond. None for levels, and without an
    observed value in the original."""
    original: tuple[float, ...]
    """Shares of the original records."""
    synthetic: tuple[tuple[float, ...], ...]
    """Shares of the records of each synthetic dataset."""
    summary: NumberSummary | None
    """For numbers and dates."""
    others: int = 0
    """Number of levels in the cell "other levels"."""


class DistributionCounter(DatasetCounter):
    """`distributions` of datasets that are added one by one; only counts stay in memory.

    Identifiers are left out.

    Examples
    --------
    >>> from synthesizer.data.table import Variable
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> table = Table([Column(sex, np.array([0, 1, 1, 1], dtype=np.int32))])
    >>> counter = DistributionCounter(table)
    >>> counter.add(table.take([0, 1]))
    >>> counter.result()[0].synthetic
    ((0.5, 0.5),)
    """

    def __init__(
        self, original: Table, names: Sequence[str] | None = None, cells: int = 20
    ) -> None:
        names = list(dict.fromkeys(original.names if names is None else names))
        super().__init__(original, names, _problems(cells))
        self._counters = [
            _counter(original[name], cells)
            for name in names
            if original[name].variable.kind is not Kind.ID
        ]
        self._compared = [counter.name for counter in self._counters]

    def _count(self, synthetic: Table) -> None:
        for counter in self._counters:
            counter.add(synthetic[counter.name])

    def result(self) -> tuple[Distribution, ...]:
        """Return one distribution for each variable, in order."""
        return tuple(counter.result() for counter in self._counters)


def distributions(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    names: Sequence[str] | None = None,
    cells: int = 20,
) -> tuple[Distribution, ...]:
    """Return every variable's distribution in the original and in the synthetic datasets.

    Parameters
    ----------
    original, synthetic, names
        See `cells.compared`.
    cells : int
        Largest number of cells of a number, and of levels with a separate cell, at least 2.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [30, 31, 31, 40], "sex": ["f", "m", "m", "m"]})
    >>> age, sex = distributions(people, people[:2])
    >>> age.labels, age.original, age.synthetic
    (('30', '31', '40'), (0.25, 0.5, 0.25), ((0.5, 0.5, 0.0),))
    >>> age.summary.original.median, sex.labels
    (31.0, ('m', 'f'))
    """
    original, tables, names = compared(original, synthetic, names, _problems(cells))
    return collected(DistributionCounter(original, names, cells), tables)


class _LevelCounter:
    """Counts of a coded variable."""

    def __init__(self, original: Column, groups: FixedGroups) -> None:
        self.name = original.name
        self._kind = original.variable.kind
        self._groups = groups
        self._counts = [groups.counts(original)]

    def add(self, synthetic: Column) -> None:
        self._counts.append(self._groups.counts(synthetic))

    def result(self) -> Distribution:
        groups = self._groups
        return self._distribution(groups.labels[: groups.n_values], None, None)

    def _distribution(
        self, labels: tuple[str, ...], edges: FloatArray | None, summary: NumberSummary | None
    ) -> Distribution:
        groups = self._groups
        shown = groups.shown(np.sum(self._counts, axis=0))
        labels = (*labels, *groups.labels[groups.n_values :])
        original, *synthetic = (_shares(counts, shown) for counts in self._counts)
        return Distribution(
            variable=self.name,
            kind=self._kind.value,
            labels=tuple(label for label, is_in in zip(labels, shown, strict=True) if is_in),
            missing=tuple(groups.is_missing[shown].tolist()),
            edges=None if edges is None else tuple(edges.tolist()),
            original=original,
            synthetic=tuple(synthetic),
            summary=summary,
            others=groups.others,
        )


class _NumberCounter(_LevelCounter):
    """Counts and summaries of a number or date."""

    def __init__(self, original: Column, groups: FixedGroups, cells: NumberCells | None) -> None:
        super().__init__(original, groups)
        self._cells = cells
        self._below = self._above = False
        self._mixed = np.zeros(groups.n_values, dtype=np.bool_)
        self._statistics: list[Statistics] = []
        self._look(original)

    def add(self, synthetic: Column) -> None:
        super().add(synthetic)
        self._look(synthetic)

    def result(self) -> Distribution:
        original, *synthetic = self._statistics
        summary = NumberSummary(original=original, synthetic=tuple(synthetic))
        cells = self._cells
        if cells is None:
            return self._distribution(self._groups.labels[:1], None, summary)
        labels = cells.labels(self._below, self._above, self._mixed)
        return self._distribution(labels, cells.edges, summary)

    def _look(self, column: Column) -> None:
        values = column.data[column.is_observed].astype(np.float64)
        self._statistics.append(_statistics(values))
        if self._cells is not None:
            below, above, mixed = self._cells.reach(values)
            self._below |= below
            self._above |= above
            self._mixed |= mixed


def _counter(column: Column, cells: int) -> _LevelCounter:
    if column.is_coded:
        return _LevelCounter(column, level_groups(column, cells))
    values = column.data[column.is_observed].astype(np.float64)
    is_date = column.variable.kind is Kind.DATE
    grid = number_cells(values, cells, is_date=is_date)
    if grid is None:
        return _NumberCounter(column, number_groups(column.variable, None, ["all values"]), None)
    labels = [""] * (len(grid.edges) - 1)  # set after the last dataset
    return _NumberCounter(column, number_groups(column.variable, grid.breaks, labels), grid)


def _problems(cells: int) -> list[str]:
    return [f"cells ({cells}) must be at least 2"] if cells < 2 else []


def _shares(counts: IntArray, shown: BoolArray) -> tuple[float, ...]:
    return tuple((counts[shown] / counts.sum()).tolist())


def _statistics(values: FloatArray) -> Statistics:
    statistics: dict[str, float] = {}
    if len(values):
        quantiles = np.quantile(values, list(_QUANTILES.values())).tolist()
        statistics = dict(zip(_QUANTILES, quantiles, strict=True))
        with np.errstate(over="ignore", invalid="ignore"):
            statistics["mean"] = float(values.mean())
            if len(values) > 1:
                statistics["sd"] = float(values.std(ddof=1))
    return Statistics(
        **{
            name: v if (v := statistics.get(name)) is not None and np.isfinite(v) else None
            for name in Statistics.model_fields
        }
    )


class PairTable(Result):
    """Counts of the combinations of two variables in original and synthetic data."""

    variables: tuple[str, str]
    """The variable of the rows and that of the columns."""
    rows: tuple[str, ...]
    """Groups: levels or intervals, then missing codes; an empty cell of the source is "(empty)"."""
    columns: tuple[str, ...]
    """The same of the columns."""
    original: tuple[tuple[int, ...], ...]
    """Counts of the original records, one tuple for each row."""
    synthetic: tuple[tuple[float, ...], ...]
    """Counts of the synthetic records, means over the datasets."""


class PairCounter(DatasetCounter):
    """`pair_tables` of datasets that are added one by one; only counts stay in memory."""

    def __init__(
        self,
        original: Table,
        pairs: Sequence[tuple[str, str]],
        groups: int = 5,
        most_levels: int = 12,
    ) -> None:
        super().__init__(original, _pair_names(pairs), _pair_problems(pairs, groups, most_levels))
        self._pairs = list(pairs)
        self._groups = {
            name: pair_groups(original[name], groups, most_levels) for name in self._compared
        }
        self._ours = self._counts(original)
        self._theirs = [np.zeros_like(counts) for counts in self._ours]

    def _count(self, synthetic: Table) -> None:
        for total, counts in zip(self._theirs, self._counts(synthetic), strict=True):
            total += counts

    def result(self) -> tuple[PairTable, ...]:
        """Return one table for each pair, in order; raises DataError before the first dataset."""
        if not self._sizes:
            raise DataError("there is no synthetic dataset: generate at least one")
        counted = zip(self._pairs, self._ours, self._theirs, strict=True)
        return tuple(
            self._table(pair, of_original, of_synthetic)
            for pair, of_original, of_synthetic in counted
        )

    def _counts(self, table: Table) -> list[IntArray]:
        """Return the counts of every pair, shape (rows, columns) each."""
        codes = {name: groups.codes(table[name]) for name, groups in self._groups.items()}
        tables: list[IntArray] = []
        for pair in self._pairs:
            shape = self._groups[pair[0]].size, self._groups[pair[1]].size
            joint = _joint(codes[pair[0]], codes[pair[1]], shape)
            counts = np.bincount(joint, minlength=shape[0] * shape[1])
            tables.append(counts.reshape(shape))
        return tables

    def _table(
        self, pair: tuple[str, str], of_original: IntArray, of_synthetic: IntArray
    ) -> PairTable:
        total = of_original + of_synthetic
        (rows, in_row), (columns, in_column) = (
            _shown(self._groups[name], total.sum(axis=1 - axis)) for axis, name in enumerate(pair)
        )
        chosen = np.ix_(in_row, in_column)
        means = of_synthetic[chosen] / len(self._sizes)
        return PairTable(
            variables=pair,
            rows=rows,
            columns=columns,
            original=tuple(tuple(row) for row in of_original[chosen].tolist()),
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
    original, synthetic
        See `cells.compared`.
    pairs : sequence of (str, str)
        Variables of the rows and of the columns of every table.
    groups : int
        Number of quantile groups of numeric variables, at least 2.
    most_levels : int
        Largest number of levels with a separate row or column; the others are joined.

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
    problems = _pair_problems(pairs, groups, most_levels)
    original, tables, _ = compared(original, synthetic, _pair_names(pairs), problems)
    return collected(PairCounter(original, pairs, groups, most_levels), tables)


def _pair_names(pairs: Sequence[tuple[str, str]]) -> list[str]:
    return list(dict.fromkeys(name for pair in pairs for name in pair))


def _pair_problems(pairs: Sequence[tuple[str, str]], groups: int, most_levels: int) -> list[str]:
    problems = [
        f"pair {tuple(pair)!r} must be of two different variables"
        for pair in pairs
        if len(pair) != 2 or len(set(pair)) != 2
    ]
    problems += table_problems([1], groups)
    if most_levels < 1:
        problems.append(f"most_levels ({most_levels}) must be at least 1")
    return problems


def pair_groups(column: Column, groups: int, most_levels: int) -> FixedGroups:
    """Return the groups that a variable of the original has in tables of several variables."""
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
    """Return breaks and their texts; breaks between whole days are moved to the next day."""
    if (values == np.floor(values)).all():
        breaks = np.unique(np.ceil(breaks))
    return breaks, [day_text(value) for value in breaks]


def _joint(rows: Codes, columns: Codes, shape: tuple[int, int]) -> Codes:
    """Return the code of each record's combination, in the smallest type for speed."""
    kind = np.min_scalar_type(shape[0] * shape[1])
    joint = rows.astype(kind)
    joint *= kind.type(shape[1])
    joint += columns
    return joint


def _shown(groups: FixedGroups, counts: IntArray) -> tuple[tuple[str, ...], BoolArray]:
    shown = groups.shown(counts)
    return tuple(np.array(groups.labels, dtype=object)[shown].tolist()), shown


_CANDIDATES = 2
"""Ratio of the tables of pairs that are counted to those that are kept."""


def _pair_tables(case: Case) -> Collecting:
    """Return the collector of tables of all pairs, or of the worst over the datasets.

    Candidates are twice as many of the worst pairs of the first dataset.
    """
    settings, counters = case.settings, list[PairCounter]()
    most = settings.pair_tables

    def add(synthetic: Table) -> None:
        if not counters:
            pairs = worst_pairs(case, _CANDIDATES * most)
            counters.append(PairCounter(case.original, pairs, groups=settings.table_groups))
        counters[0].add(synthetic)

    def result() -> tuple[PairTable, ...]:
        counted = counters[0].result()
        tables: TableCollecting | None = case.done.get("tables")
        if len(counted) <= most or tables is None or not tables.measured:
            return counted[:most]
        worst = combine_tables(tables.measured).worst(2, most)["names"]
        by_names = {pair.variables: pair for pair in counted}
        return tuple(by_names[names] for names in worst if names in by_names)

    return Collecting(add, result)


MEASURES = (
    Measure(
        "distributions",
        "datasets",
        axis="utility",
        after="tables",
        switch="one_way",
        words="distribution of every variable",
        needs=("names",),
        compute=lambda case: DistributionCounter(case.original, case.names),
    ),
    Measure(
        "pairs",
        "datasets",
        axis="utility",
        after="distributions",
        switch="two_way",
        words="S_pMSE of all pairs of variables",
        needs=("names",),
        compute=_pair_tables,
    ),
)
