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
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import numpy as np
from scipy.special import chdtrc

from synthesizer.data.errors import DataError
from synthesizer.data.pairs import Data
from synthesizer.data.table import FloatArray, Table
from synthesizer.measures.figure import Figure
from synthesizer.measures.utility.cells import (
    cell_counts,
    compared,
    group_tables,
    table_problems,
    tables_of,
)

# Results of measures of tables that a reader can interpret alone: ratios, distance, tests.

LEVEL = 0.05
"""Tables whose p is below this level are called rejected."""
_WAYS = {1: "one", 2: "two", 3: "three"}


@dataclass(frozen=True)
class TableRatios:
    """Ratio of estimates of one table.

    Parameters
    ----------
    variables : tuple of str
        Variables of the table.
    cells : tuple of int
        For each synthetic dataset, the number of cells that occur on either side.
    ratios : tuple of float
        For each synthetic dataset, the mean ratio over these cells, in [0, 1].
    mean : float
        Mean over the datasets.
    """

    variables: tuple[str, ...]
    cells: tuple[int, ...]
    ratios: tuple[float, ...]
    mean: float


@dataclass(frozen=True)
class RatioResult:
    """Ratio of estimates of all tables; 1 for a copy, 0 where nothing is shared.

    Parameters
    ----------
    groups : int
        Number of quantile groups of numeric variables.
    n : int
        Number of original records.
    n_synthetic : tuple of int
        Number of records of each synthetic dataset.
    tables : tuple of TableRatios
        One for each table, in the order of the variables.
    datasets : tuple of float
        For each synthetic dataset, the mean over the tables.
    mean : float
        Mean over tables and datasets.
    """

    groups: int
    n: int
    n_synthetic: tuple[int, ...]
    tables: tuple[TableRatios, ...]
    datasets: tuple[float, ...]
    mean: float

    @property
    def by_ways(self) -> dict[int, float]:
        """Mean over the tables of every order."""
        orders = sorted({len(table.variables) for table in self.tables})
        return {
            order: _mean([t.mean for t in self.tables if len(t.variables) == order])
            for order in orders
        }

    def worst(self, count: int = 10) -> tuple[TableRatios, ...]:
        """Return the tables with the lowest ratios, the lowest first."""
        return tuple(sorted(self.tables, key=lambda table: table.mean)[:count])

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The mean ratio of the tables of every order."""
        return tuple(
            Figure(
                name=f"ROE ({order}-way)",
                value=value,
                meaning=f"smaller of the original and the synthetic proportion divided by the "
                f"larger, averaged over the cells of all {_WAYS[order]}-way tables; 1: equal",
                direction="about 1 is good",
                n=self.n + sum(self.n_synthetic),
            )
            for order, value in self.by_ways.items()
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return _plain(asdict(self)) | {"by_ways": {str(k): v for k, v in self.by_ways.items()}}


@dataclass(frozen=True)
class DistanceValues:
    """Distance of one synthetic dataset's full contingency table from the original's.

    Parameters
    ----------
    distance : float
        Jensen-Shannon distance with base-2 logarithms, in [0, 1].
    cells_original, cells_synthetic, cells_both : int
        Numbers of cells that occur in the original, in the synthetic dataset and in both.
    """

    distance: float
    cells_original: int
    cells_synthetic: int
    cells_both: int


@dataclass(frozen=True)
class DistanceResult:
    """Jensen-Shannon distances of full contingency tables.

    Parameters
    ----------
    names : tuple of str
        Variables of the table.
    groups : int
        Number of quantile groups of numeric variables.
    n : int
        Number of original records.
    n_synthetic : tuple of int
        Number of records of each synthetic dataset.
    datasets : tuple of DistanceValues
        One for each synthetic dataset.
    mean : float
        Mean distance.
    """

    names: tuple[str, ...]
    groups: int
    n: int
    n_synthetic: tuple[int, ...]
    datasets: tuple[DistanceValues, ...]
    mean: float

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The mean distance."""
        figure = Figure(
            name="Jensen-Shannon distance",
            value=self.mean,
            meaning="distance between the full contingency tables of the original and the "
            f"synthetic data ({len(self.names)} variables together); 0: equal, 1: no cell shared. "
            "With many variables most cells hold one record, and it is near 1 for any honest "
            "synthesis",
            direction="lower is better",
            n=self.n + sum(self.n_synthetic),
        )
        return (figure,)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return _plain(asdict(self))


@dataclass(frozen=True)
class EqualityTest:
    """Chi-square tests of one table of one synthetic dataset.

    Parameters
    ----------
    chi_square : float
        Pearson's statistic of homogeneity of two independent samples.
    df : int
        Degrees of freedom: cells that occur on either side, minus 1.
    p : float or None
        Its p-value; None for a single cell.
    vw : float
        Statistic of Voas and Williamson, chi_square divided by 1 - c, c the synthetic share.
    p_vw : float or None
        Its p-value: against the synthetic data being drawn from the original's proportions.
    sparse : float
        Share of the expected counts below 5, in [0, 1]; beyond 0.2 p-values are rough.
    """

    chi_square: float
    df: int
    p: float | None
    vw: float
    p_vw: float | None
    sparse: float


@dataclass(frozen=True)
class TableTests:
    """Tests of one table, one for each synthetic dataset."""

    variables: tuple[str, ...]
    datasets: tuple[EqualityTest, ...]


@dataclass(frozen=True)
class EqualityResult:
    """Chi-square tests of equality of all tables.

    Parameters
    ----------
    groups : int
        Number of quantile groups of numeric variables.
    n : int
        Number of original records.
    n_synthetic : tuple of int
        Number of records of each synthetic dataset.
    tables : tuple of TableTests
        One for each table, in the order of the variables.
    """

    groups: int
    n: int
    n_synthetic: tuple[int, ...]
    tables: tuple[TableTests, ...]

    @property
    def rejected(self) -> dict[int, float | None]:
        """Share of the tests with p below 0.05, for every order; None where none has a p."""
        orders = sorted({len(table.variables) for table in self.tables})
        return {order: self._rejected(order) for order in orders}

    def _rejected(self, order: int) -> float | None:
        tests = [
            t for table in self.tables if len(table.variables) == order for t in table.datasets
        ]
        below = [test.p < LEVEL for test in tests if test.p is not None]
        return _mean(below) if below else None

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The share of rejected tables of every order."""
        return tuple(
            Figure(
                name=f"chi-square rejections ({order}-way)",
                value=value,
                meaning=f"share of the {_WAYS[order]}-way tables in which a chi-square test tells "
                "original and synthetic counts apart (p below 0.05)",
                direction="lower is better",
                n=self.n + sum(self.n_synthetic),
                baseline=LEVEL,
            )
            for order, value in self.rejected.items()
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return _plain(asdict(self)) | {"rejected": {str(k): v for k, v in self.rejected.items()}}


def combine_distances(results: Sequence[DistanceResult]) -> DistanceResult:
    """Return results computed for one dataset after the other as one, in that order.

    Parameters
    ----------
    results : sequence of DistanceResult
        At least one; all of the same original, variables and groups.

    Raises
    ------
    DataError
        When there is none, or they are of different variables.

    Examples
    --------
    >>> value = DistanceValues(0.25, cells_original=3, cells_synthetic=3, cells_both=2)
    >>> one = DistanceResult(("sex",), 5, 100, (90,), (value,), mean=0.25)
    >>> len(combine_distances([one, one, one]).datasets)
    3
    """
    if not results:
        raise DataError("there is no result to combine: give at least one")
    first = results[0]
    if any((r.n, r.groups, r.names) != (first.n, first.groups, first.names) for r in results):
        raise DataError("results to combine must be of the same original, variables and groups")
    datasets = tuple(values for result in results for values in result.datasets)
    return DistanceResult(
        names=first.names,
        groups=first.groups,
        n=first.n,
        n_synthetic=tuple(n for result in results for n in result.n_synthetic),
        datasets=datasets,
        mean=_mean([values.distance for values in datasets]),
    )


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Return the same with lists in place of tuples, as a file gives it back."""
    return {key: _listed(value) for key, value in values.items()}


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return _plain(value)
    return [_listed(item) for item in value] if isinstance(value, list | tuple) else value


T = TypeVar("T")

# Cochran's rule: where expected counts are smaller, the chi-square distribution is rough.
_SMALL_COUNT = 5


def ratio_of_estimates(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    names: Sequence[str] | None = None,
    ways: Sequence[int] = (1, 2),
    groups: int = 5,
) -> RatioResult:
    """Return the ratio of estimates (ROE) of every table, and its means.

    Parameters
    ----------
    original : Table, DataFrame or RawTable
        Confidential records, shape (n, p).
    synthetic : Table, DataFrame or RawTable, or sequence of them
        Synthetic datasets of any sizes.
    names : sequence of str, optional
        Variables; default all but identifiers.
    ways : sequence of int
        Orders of the tables, of 1, 2 and 3.
    groups : int
        Number of quantile groups of numeric variables, at least 2.

    Returns
    -------
    RatioResult
        Ratios in [0, 1]: 1 for equal proportions, 0 where no cell is shared.

    Raises
    ------
    DataError
        For unknown variables, empty or different tables, all problems at once.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "f", "m", "m"], "job": ["a", "b", "a", "b"]})
    >>> made = pd.DataFrame({"sex": ["f", "f", "m", "m"], "job": ["a", "a", "a", "b"]})
    >>> result = ratio_of_estimates(people, made)
    >>> [(table.variables, round(table.mean, 4)) for table in result.tables]
    [(('sex',), 1.0), (('job',), 0.5833), (('sex', 'job'), 0.625)]
    """
    problems = table_problems(ways, groups)
    original, tables, names = compared(original, synthetic, names, problems)
    rows = tuple(
        TableRatios(
            variables=variables,
            cells=tuple(len(ratios) for ratios in found),
            ratios=tuple(float(ratios.mean()) for ratios in found),
            mean=float(np.mean([ratios.mean() for ratios in found])),
        )
        for variables, found in _of_tables(_ratios, original, tables, names, ways, groups)
    )
    datasets = np.mean([row.ratios for row in rows], axis=0)
    return RatioResult(
        groups=groups,
        n=original.n_rows,
        n_synthetic=tuple(table.n_rows for table in tables),
        tables=rows,
        datasets=tuple(datasets.tolist()),
        mean=float(datasets.mean()),
    )


def jensen_shannon(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    names: Sequence[str] | None = None,
    groups: int = 5,
) -> DistanceResult:
    """Return the Jensen-Shannon distance between the full contingency tables.

    Only cells that occur are counted, so that any number of variables is possible.

    Parameters
    ----------
    original : Table, DataFrame or RawTable
        Confidential records, shape (n, p).
    synthetic : Table, DataFrame or RawTable, or sequence of them
        Synthetic datasets of any sizes.
    names : sequence of str, optional
        Variables of the table; default all but identifiers.
    groups : int
        Number of quantile groups of numeric variables, at least 2.

    Returns
    -------
    DistanceResult
        Distances in [0, 1]: 0 for equal tables, 1 where no cell is shared.

    Raises
    ------
    DataError
        For unknown variables, empty or different tables, all problems at once.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "f", "m", "m"], "job": ["a", "b", "a", "b"]})
    >>> made = pd.DataFrame({"sex": ["f", "f", "m", "m"], "job": ["a", "a", "a", "b"]})
    >>> result = jensen_shannon(people, [made, people])
    >>> [round(part.distance, 4) for part in result.datasets]
    [0.3945, 0.0]
    """
    problems = table_problems([1], groups)
    original, tables, names = compared(original, synthetic, names, problems)
    datasets = tuple(_distance(original, table, names, groups) for table in tables)
    return DistanceResult(
        names=names,
        groups=groups,
        n=original.n_rows,
        n_synthetic=tuple(table.n_rows for table in tables),
        datasets=datasets,
        mean=float(np.mean([values.distance for values in datasets])),
    )


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
    original : Table, DataFrame or RawTable
        Confidential records, shape (n, p).
    synthetic : Table, DataFrame or RawTable, or sequence of them
        Synthetic datasets of any sizes.
    names : sequence of str, optional
        Variables; default all but identifiers.
    ways : sequence of int
        Orders of the tables, of 1, 2 and 3.
    groups : int
        Number of quantile groups of numeric variables, at least 2.

    Returns
    -------
    EqualityResult
        Statistics, degrees of freedom and p-values of every table and dataset.

    Raises
    ------
    DataError
        For unknown variables, empty or different tables, all problems at once.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f"] * 30 + ["m"] * 10})
    >>> made = pd.DataFrame({"sex": ["f"] * 20 + ["m"] * 20})
    >>> test = chi_square(people, made).tables[0].datasets[0]
    >>> round(test.chi_square, 4), test.df, round(test.p, 4)
    (5.3333, 1, 0.0209)
    """
    problems = table_problems(ways, groups)
    original, tables, names = compared(original, synthetic, names, problems)
    return EqualityResult(
        groups=groups,
        n=original.n_rows,
        n_synthetic=tuple(table.n_rows for table in tables),
        tables=tuple(
            TableTests(variables, found)
            for variables, found in _of_tables(_test, original, tables, names, ways, groups)
        ),
    )


def _of_tables(
    measure: Callable[[FloatArray, FloatArray], T],
    original: Table,
    synthetic: Sequence[Table],
    names: Sequence[str],
    ways: Sequence[int],
    groups: int,
) -> list[tuple[tuple[str, ...], tuple[T, ...]]]:
    """Return for every table its variables and the measure of every dataset."""
    found: dict[tuple[str, ...], list[T]] = {}
    for made in synthetic:
        pairs = group_tables(original, made, names, groups=groups, quantiles_of="original")
        for variables, o, s in tables_of(pairs, ways):
            found.setdefault(variables, []).append(measure(o, s))
    return [(variables, tuple(values)) for variables, values in found.items()]


def _ratios(o: FloatArray, s: FloatArray) -> FloatArray:
    ours, theirs = o / o.sum(), s / s.sum()
    return np.asarray(np.minimum(ours, theirs) / np.maximum(ours, theirs))


def _distance(
    original: Table, synthetic: Table, names: Sequence[str], groups: int
) -> DistanceValues:
    pairs = group_tables(original, synthetic, names, groups=groups, quantiles_of="original")
    o, s = cell_counts(pairs)
    p, q = o / o.sum(), s / s.sum()
    middle = (p + q) / 2
    parts = (float(x[x > 0] @ np.log2(x[x > 0] / middle[x > 0])) for x in (p, q))
    # Rounding may leave it a little outside its range.
    divergence = min(max(sum(parts) / 2, 0.0), 1.0)
    return DistanceValues(
        distance=math.sqrt(divergence),
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
