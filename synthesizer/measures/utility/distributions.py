"""The distribution of every variable, original beside synthetic, as shares of records in cells.

The original alone decides the cells, see `utility.number_cells`. Every missing code is a cell of
its own. Levels and missing codes that only synthetic data have are counted together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthesizer.data.pairs import Data, check_comparable
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Kind, Table
from synthesizer.measures.figure import Result, Row, column
from synthesizer.measures.utility.cells import check_original, compared
from synthesizer.measures.utility.number_cells import (
    FixedGroups,
    NumberCells,
    level_groups,
    number_cells,
    number_groups,
)

_QUANTILES = {"min": 0.0, "q1": 0.25, "median": 0.5, "q3": 0.75, "max": 1.0}


class Statistics(Row):
    """Observed values of a number or date; None where there are none, or they overflow."""

    mean: float | None = column("mean", "number")
    sd: float | None = column("sd", "number", "standard deviation")
    min: float | None = column("min", "number")
    q1: float | None = column("q1", "number", "lower quartile")
    median: float | None = column("median", "number")
    q3: float | None = column("q3", "number", "upper quartile")
    max: float | None = column("max", "number")


class Summary(Result):
    """Statistics of the original, and of each synthetic dataset."""

    original: Statistics
    synthetic: tuple[Statistics, ...]


class Distribution(Result):
    """One variable's shares of records in cells, in [0, 1], missing codes included."""

    variable: str
    kind: str
    """Kind in the original."""
    labels: tuple[str, ...]
    """What is in every cell; an empty cell of the source is "(empty)"."""
    missing: tuple[bool, ...]
    """Which cells are missing codes; they are the last."""
    edges: tuple[float, ...] | None
    """Edges of the cells of a number or date (days since 1970-01-01), one more than the cells that
    are not missing codes. The first and the last cell hold what lies beyond, as their labels say
    then. None for levels, and where the original has no observed value."""
    original: tuple[float, ...]
    """Shares of the original records."""
    synthetic: tuple[tuple[float, ...], ...]
    """Shares of the records of each synthetic dataset."""
    summary: Summary | None
    """For numbers and dates."""
    others: int = 0
    """How many levels the label "other levels", the last before the missing codes, stands for."""


class DistributionCounter:
    """`distributions` of one dataset after the other; only counts stay in memory.

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
        check_original(original, names, _problems(cells))
        self._original = original
        self._counters = [
            _counter(original[name], cells)
            for name in names
            if original[name].variable.kind is not Kind.ID
        ]
        self._datasets = 0

    def add(self, synthetic: Table) -> None:
        """Count the next dataset; raises DataError where its variables are missing or differ."""
        names = [counter.name for counter in self._counters]
        self._datasets += 1
        check_comparable(self._original, [synthetic], names, first=self._datasets)
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
        What is compared, by which variables, and what is refused: see `cells.compared`.
    cells : int
        Most cells of numbers and most levels with a cell of their own, at least 2.

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
    counter = DistributionCounter(original, names, cells)
    for table in tables:
        counter.add(table)
    return counter.result()


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
        self,
        labels: tuple[str, ...],
        edges: FloatArray | None,
        summary: Summary | None,
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
        summary = Summary(original=original, synthetic=tuple(synthetic))
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
    labels = [""] * (len(grid.edges) - 1)  # known when all datasets have been seen
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
