"""Tables of original and synthetic data side by side: ratios of estimates, distance, tests.

With p_o and p_s the proportions of a cell, over the cells that occur on either side::

    ROE             mean of min(p_o, p_s) / max(p_o, p_s): 0 for a cell that one side lacks
    Jensen-Shannon  sqrt((KL(p_o, m) + KL(p_s, m)) / 2), m = (p_o + p_s) / 2, base 2
    chi-square      Pearson's test of homogeneity of two samples

Numbers are cut into quantile groups of the original; each missing code is a group of its own.

Sources: Taub, Elliot and Sakshaug (2017), A study of the impact of synthetic data generation
techniques on data utility using the 1991 UK Samples of Anonymised Records (ROE); Chen, Taub and
Elliot (2019), Trade-off between information utility and disclosure risk in a GA synthetic data
generator (tables 1 and 3); Lin (1991), Divergence measures based on the Shannon entropy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from scipy.special import chdtrc

from synthesizer.data.pairs import Data
from synthesizer.data.table import FloatArray, Table
from synthesizer.measures.figure import Figure, Result, Row, column
from synthesizer.measures.utility.cells import (
    WAYS,
    Comparison,
    cell_counts,
    combine_datasets,
    compared,
    divergence,
    group_tables,
    table_problems,
    tables_of,
)

LEVEL = 0.05
"""Tables whose p is below this level are called rejected."""
# Cochran's rule: where expected counts are smaller, the chi-square distribution is rough.
_SMALL_COUNT = 5

T = TypeVar("T")


class TableRatios(Result):
    """Ratio of estimates of one table."""

    variables: tuple[str, ...]
    """Variables of the table."""
    cells: tuple[int, ...]
    """For each synthetic dataset, the number of cells that occur on either side."""
    ratios: tuple[float, ...]
    """For each synthetic dataset, the mean ratio over these cells, in [0, 1]."""

    @property
    def mean(self) -> float:
        """Mean over the datasets."""
        return _mean(self.ratios)


class RatioResult(Comparison):
    """Ratio of estimates of all tables; 1 for a copy, 0 where nothing is shared."""

    groups: int
    """Number of quantile groups of numeric variables."""
    tables: tuple[TableRatios, ...]
    """One for each table, in the order of the variables."""

    @property
    def datasets(self) -> tuple[float, ...]:
        """For each synthetic dataset, the mean over the tables."""
        return tuple(np.mean([table.ratios for table in self.tables], axis=0).tolist())

    @property
    def mean(self) -> float:
        """Mean over tables and datasets."""
        return _mean(self.datasets)

    @property
    def by_ways(self) -> dict[int, float]:
        """Mean over the tables of every order."""
        return {
            order: _mean([table.mean for table in tables])
            for order, tables in _by_order(self.tables).items()
        }

    def worst(self, count: int = 10) -> tuple[TableRatios, ...]:
        """Return the tables with the lowest ratios, the lowest first."""
        return tuple(sorted(self.tables, key=lambda table: table.mean)[:count])

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The mean ratio of the tables of every order."""
        return tuple(
            Figure(
                key=f"roe_{WAYS[order]}_way",
                name=f"ROE ({order}-way)",
                value=value,
                meaning=f"smaller of the original and the synthetic proportion divided by the "
                f"larger, averaged over the cells of all {WAYS[order]}-way tables; 1: equal",
                direction="about 1 is good",
                n=self.n_all,
            )
            for order, value in self.by_ways.items()
        )


class DistanceValues(Row):
    """Distance of one synthetic dataset's full contingency table from the original's."""

    distance: float = column("Distance", "share", "Jensen-Shannon, base-2 logarithms, in [0, 1]")
    cells_original: int = column("In the original", "count", "cells that occur there")
    cells_synthetic: int = column("In the synthetic", "count", "cells that occur there")
    cells_both: int = column("In both", "count", "cells that occur in both")


class DistanceResult(Comparison):
    """Jensen-Shannon distances of full contingency tables."""

    names: tuple[str, ...]
    """Variables of the table."""
    groups: int
    """Number of quantile groups of numeric variables."""
    datasets: tuple[DistanceValues, ...]
    """One for each synthetic dataset."""

    @property
    def mean(self) -> float:
        """Mean distance."""
        return _mean([values.distance for values in self.datasets])

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The mean distance."""
        figure = Figure(
            key="jensen_shannon_distance",
            name="Jensen-Shannon distance",
            value=self.mean,
            meaning="distance between the full contingency tables of the original and the "
            f"synthetic data ({len(self.names)} variables together); 0: equal, 1: no cell shared. "
            "With many variables most cells hold one {record}, and it is near 1 for any honest "
            "synthesis",
            direction="lower is better",
            n=self.n_all,
        )
        return (figure,)


class EqualityTest(Result):
    """Chi-square tests of one table of one synthetic dataset."""

    chi_square: float
    """Pearson's statistic of homogeneity of two independent samples."""
    df: int
    """Degrees of freedom: cells that occur on either side, minus 1."""
    p: float | None
    """Its p-value; None for a single cell."""
    vw: float
    """Statistic of Voas and Williamson, chi_square divided by 1 - c, c the synthetic share."""
    p_vw: float | None
    """Its p-value: against the synthetic data being drawn from the original's proportions."""
    sparse: float
    """Share of the expected counts below 5, in [0, 1]; beyond 0.2 p-values are rough."""


class TableTests(Result):
    """Tests of one table, one for each synthetic dataset."""

    variables: tuple[str, ...]
    datasets: tuple[EqualityTest, ...]


class EqualityResult(Comparison):
    """Chi-square tests of equality of all tables."""

    groups: int
    """Number of quantile groups of numeric variables."""
    tables: tuple[TableTests, ...]
    """One for each table, in the order of the variables."""

    @property
    def rejected(self) -> dict[int, float | None]:
        """Share of the tests with p below 0.05, for every order; None where none has a p."""
        p = {
            order: [test.p for table in tables for test in table.datasets if test.p is not None]
            for order, tables in _by_order(self.tables).items()
        }
        return {o: _mean([value < LEVEL for value in own]) if own else None for o, own in p.items()}

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The share of rejected tables of every order."""
        return tuple(
            Figure(
                key=f"chi_square_rejections_{WAYS[order]}_way",
                name=f"chi-square rejections ({order}-way)",
                value=value,
                meaning=f"share of the {WAYS[order]}-way tables in which a chi-square test tells "
                "original and synthetic counts apart (p below 0.05)",
                direction="lower is better",
                n=self.n_all,
                baseline=LEVEL,
            )
            for order, value in self.rejected.items()
        )


A = TypeVar("A", TableRatios, TableTests)


def _by_order(tables: Iterable[A]) -> dict[int, list[A]]:
    """Return the tables of each number of variables, in ascending order."""
    orders: dict[int, list[A]] = {}
    for table in sorted(tables, key=lambda table: len(table.variables)):
        orders.setdefault(len(table.variables), []).append(table)
    return orders


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def combine_distances(results: Sequence[DistanceResult]) -> DistanceResult:
    """Return results computed for one dataset after the other as one; see `combine_datasets`.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m"]})
    >>> one = jensen_shannon(people, people)
    >>> len(combine_distances([one, one, one]).datasets)
    3
    """
    return combine_datasets(results, "groups")


def ratio_of_estimates(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    names: Sequence[str] | None = None,
    ways: Sequence[int] = (1, 2),
    groups: int = 5,
) -> RatioResult:
    """Return the ratio of estimates (ROE) of every table, and its means.

    Ratios are in [0, 1]: 1 for equal proportions, 0 where no cell is shared.

    Parameters
    ----------
    original, synthetic, names
        What is compared, by which variables, and what is refused: see `cells.compared`.
    ways : sequence of int
        Orders of the tables, of 1, 2 and 3.
    groups : int
        Number of quantile groups of numeric variables, at least 2.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "f", "m", "m"], "job": ["a", "b", "a", "b"]})
    >>> made = pd.DataFrame({"sex": ["f", "f", "m", "m"], "job": ["a", "a", "a", "b"]})
    >>> result = ratio_of_estimates(people, made)
    >>> [(table.variables, round(table.mean, 4)) for table in result.tables]
    [(('sex',), 1.0), (('job',), 0.5833), (('sex', 'job'), 0.625)]
    """
    frame, measured = _of_tables(_ratio, original, synthetic, names, ways, groups)
    tables = []
    for variables, values in measured.items():
        cells, ratios = zip(*values, strict=True)
        tables.append(TableRatios(variables=variables, cells=cells, ratios=ratios))
    return RatioResult(**frame, tables=tuple(tables))


def jensen_shannon(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    names: Sequence[str] | None = None,
    groups: int = 5,
) -> DistanceResult:
    """Return the Jensen-Shannon distance between the full contingency tables.

    Only cells that occur are counted, so that any number of variables is possible. Distances are
    in [0, 1]: 0 for equal tables, 1 where no cell is shared.

    Parameters
    ----------
    original, synthetic, names, groups
        As in `ratio_of_estimates`.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "f", "m", "m"], "job": ["a", "b", "a", "b"]})
    >>> made = pd.DataFrame({"sex": ["f", "f", "m", "m"], "job": ["a", "a", "a", "b"]})
    >>> result = jensen_shannon(people, [made, people])
    >>> [round(part.distance, 4) for part in result.datasets]
    [0.3945, 0.0]
    """
    original, tables, names = compared(original, synthetic, names, table_problems([1], groups))
    datasets = tuple(_distance(original, table, names, groups) for table in tables)
    return DistanceResult(names=names, datasets=datasets, **_frame(original, tables, groups))


def chi_square(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    names: Sequence[str] | None = None,
    ways: Sequence[int] = (1,),
    groups: int = 5,
) -> EqualityResult:
    """Return chi-square tests of equality of the original's and the synthetic tables.

    ``p`` takes both for independent samples. A synthesis from the original's own estimates is
    closer to it than that: ``p_vw`` tests for it, and has the right size then.

    Parameters
    ----------
    original, synthetic, names, ways, groups
        As in `ratio_of_estimates`.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f"] * 30 + ["m"] * 10})
    >>> made = pd.DataFrame({"sex": ["f"] * 20 + ["m"] * 20})
    >>> test = chi_square(people, made).tables[0].datasets[0]
    >>> round(test.chi_square, 4), test.df, round(test.p, 4)
    (5.3333, 1, 0.0209)
    """
    frame, measured = _of_tables(_test, original, synthetic, names, ways, groups)
    tables = (TableTests(variables=v, datasets=tuple(tests)) for v, tests in measured.items())
    return EqualityResult(**frame, tables=tuple(tables))


def _of_tables(
    measure: Callable[[FloatArray, FloatArray], T],
    original: Data,
    synthetic: Data | Sequence[Data],
    names: Sequence[str] | None,
    ways: Sequence[int],
    groups: int,
) -> tuple[dict[str, Any], dict[tuple[str, ...], list[T]]]:
    """Return groups and sizes, and for every table the measure of every dataset."""
    problems = table_problems(ways, groups)
    original, tables, names = compared(original, synthetic, names, problems)
    measured: dict[tuple[str, ...], list[T]] = {}
    for table in tables:
        pairs = group_tables(original, table, names, groups=groups, quantiles_of="original")
        for variables, o, s in tables_of(pairs, ways):
            measured.setdefault(variables, []).append(measure(o, s))
    return _frame(original, tables, groups), measured


def _frame(original: Table, synthetic: Sequence[Table], groups: int) -> dict[str, Any]:
    sizes = tuple(table.n_rows for table in synthetic)
    return {"groups": groups, "n": original.n_rows, "n_synthetic": sizes}


def _ratio(o: FloatArray, s: FloatArray) -> tuple[int, float]:
    """Return the number of cells and their mean ratio."""
    ours, theirs = o / o.sum(), s / s.sum()
    return len(o), _mean(np.minimum(ours, theirs) / np.maximum(ours, theirs))


def _distance(
    original: Table, synthetic: Table, names: Sequence[str], groups: int
) -> DistanceValues:
    pairs = group_tables(original, synthetic, names, groups=groups, quantiles_of="original")
    o, s = cell_counts(pairs)
    return DistanceValues(
        distance=math.sqrt(divergence(o / o.sum(), s / s.sum())),
        cells_original=int((o > 0).sum()),
        cells_synthetic=int((s > 0).sum()),
        cells_both=int(((o > 0) & (s > 0)).sum()),
    )


def _test(o: FloatArray, s: FloatArray) -> EqualityTest:
    total, share = o + s, float(s.sum() / (o.sum() + s.sum()))
    expected = np.concatenate([(1 - share) * total, share * total])
    statistic = float((((np.concatenate([o, s]) - expected) ** 2) / expected).sum())
    vw, df = statistic / (1 - share), len(total) - 1
    return EqualityTest(
        chi_square=statistic,
        df=df,
        p=float(chdtrc(df, statistic)) if df else None,
        vw=vw,
        p_vw=float(chdtrc(df, vw)) if df else None,
        sparse=float((expected < _SMALL_COUNT).mean()),
    )
