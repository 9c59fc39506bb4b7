"""Results of measures of tables that a reader can interpret alone: ratios, distance, tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from synthesizer.errors import DataError
from synthesizer.figures import Figure

__all__ = [
    "DistanceResult",
    "DistanceValues",
    "EqualityResult",
    "EqualityTest",
    "RatioResult",
    "TableRatios",
    "TableTests",
    "combine_distances",
]

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
