"""Distances of synthetic from original tables.

These are all tables of one, two or three variables, and the table of all variables. For the latter
the Jensen-Shannon distance is computed (Lin 1991, Divergence measures based on the Shannon entropy;
Chen, Taub and Elliot 2019, Trade-off between information utility and disclosure risk in a GA
synthetic data generator): sqrt((KL(p_o, m) + KL(p_s, m)) / 2), base 2, with p the proportions of a
cell and m their mean.

The counts of each table are compared by the measures of Raab, Nowok and Dibben
(2021), Assessing, visualizing and improving the utility of synthetic data; VW is due to Voas and
Williamson (2001), FT to Freeman and Tukey. Measures whose name begins with ``S_`` have an
expectation near 1 with correct models. `S_JSD` is divided by the constant of the reference values,
which is 4 per cent smaller than its null expectation.

With o and s the counts of a cell, n_o and n_s the records, r = n_s / n_o, c = n_s / (n_o + n_s),
e = c (o + s) and k the number of cells that occur on either side::

    VW       sum (s - r o)^2 / e                    df = k - 1
    FT       4 sum (sqrt(s) - sqrt(r o))^2          df
    G        2 sum s log(s / (r o)) over the cells that occur on both sides, r and dfG = their
             number - 1 from these cells alone
    pMSE     VW c (1 - c)^2 / (n_o + n_s): the propensity score of the saturated model
    JSD      Jensen-Shannon divergence of the shares, base 2
    MabsDD   sum |s / n_s - o / n_o|
    SPECKS   Kolmogorov-Smirnov distance of the two files' propensity scores, MabsDD / 2
    PO50     percentage above 50 that the propensity score classifies rightly, files equal
    WMabsDD  sqrt(pi / 2) sum |s - r o| / sqrt(e)
    U        Mann-Whitney statistic of the propensity scores
    dBhatt   Bhattacharyya (Hellinger) distance of the shares
    ROE      ratio of estimates: mean of min / max of the two shares of a cell (Taub et al. 2017)
    chi_square   Pearson's statistic of homogeneity of two independent samples, VW (1 - c)
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Annotated, Any

import numpy as np
import pandas as pd
import scipy
from pydantic import BeforeValidator, PlainSerializer

from synthesizer.data.errors import DataError
from synthesizer.data.pairs import Data
from synthesizer.data.table import FloatArray, IntArray, Table
from synthesizer.measures.figure import Figure, FigureKind, Limit, Result, Row, column
from synthesizer.measures.measure import Case, Collecting, Measure
from synthesizer.measures.utility.cells import (
    MAX_TABLES,
    WAYS,
    Comparison,
    QuantilesOf,
    cell_counts,
    combine_datasets,
    compared,
    divergence,
    group_tables,
    table_problems,
    tables_of,
)

CELL_MEASURES = (
    "VW", "FT", "JSD", "SPECKS", "WMabsDD", "U", "G", "pMSE", "PO50", "MabsDD", "dBhatt",
    "S_VW", "S_FT", "S_JSD", "S_WMabsDD", "S_G", "S_pMSE", "df", "dfG",
    "ROE", "chi_square",
)  # fmt: skip
ASSOCIATIONS = ("V_original", "V_synthetic")
"""Association of each pair, in the original and in the synthetic data."""
LEVEL = 0.05
"""Significance level of the tests."""
_TESTS = {"p": "VW", "p_chi_square": "chi_square"}
_DIGITS = 6
_ALL = {1: "single variables", 2: "pairs", 3: "triples"}
_GOOD = (
    "correct models: about 1, a proper synthesis and a new sample: 1 + k/n (k synthetic, n "
    "original {records})"
)


def _kinds(ways: int) -> dict[str, FigureKind]:
    """Return the kinds of figures of the tables of an order; those of triples have no limit."""
    way, tables, is_main = WAYS[ways], _ALL[ways], ways == 2
    of_worst: dict[str, Any] = (
        {"limit": Limit(high=None), "checks": (f"{way}_way",)} if ways < 3 else {}
    )
    name = f"{way}-way S_pMSE"
    return {
        "mean": FigureKind(
            f"mean_{way}_way",
            f"mean {name}",
            f"mean standardised distance (S_pMSE) of the tables of {tables} from the original's; "
            f"{_GOOD}",
            "lower is better",
            on_screen=is_main,
            is_axis=is_main,
            **(of_worst if is_main else {}),
        ),
        "worst": FigureKind(
            f"worst_{way}_way",
            f"largest {name}",
            f"largest standardised distance (S_pMSE) among the tables of {tables}",
            "lower is better",
            on_screen=ways < 3,
            is_axis=ways < 3,
            **of_worst,
        ),
        "roe": FigureKind(
            f"roe_{way}_way",
            f"ROE ({way}-way)",
            "ratio of estimates: the smaller of the original and the synthetic proportion of a "
            f"cell divided by the larger, mean over the cells of {tables}",
            "about 1 is good",
            summary={"roe_two_way": "value"} if is_main else {},
            on_screen=is_main,
        ),
        "rejected": FigureKind(
            f"chi_square_rejections_{way}_way",
            f"chi-square rejections ({way}-way)",
            f"share of the tables of {tables} that the chi-square test of two independent samples "
            "rejects at 5 %; a new sample: 0.05, correct models: fewer",
            "lower is better",
        ),
        "rejected_vw": FigureKind(
            f"vw_rejections_{way}_way",
            f"VW rejections ({way}-way)",
            f"share of the tables of {tables} that the Voas-Williamson test of draws from the "
            "original's proportions rejects at 5 %",
            "lower is better",
        ),
    }


KINDS = {ways: _kinds(ways) for ways in (2, 1, 3)}
"""Kinds of figures by the order of the tables, pairs first."""
JENSEN_SHANNON = FigureKind(
    "jensen_shannon_distance",
    "Jensen-Shannon distance",
    "Jensen-Shannon distance of the full contingency tables; 0: equal, 1: no common cell; near 1 "
    "for any synthesis of many variables",
    "lower is better",
)


class TableRow(Row):
    """Means of the measures of one table over the datasets, rounded to six digits."""

    variables: tuple[str, ...] = column("Variables", "text")
    ways: int = column("Order", "count", "number of variables")
    s_pmse: float | None = column("S_pMSE", "number", "none for a single cell, as all p-values")
    roe: float | None = column("ROE", "number")
    specks: float | None = column("SPECKS", "number")
    chi_square: float | None = column("Chi-square", "number")
    vw: float | None = column("VW (chi-square)", "number")
    df: float | None = column("df", "number")
    p: float | None = column("p, two samples", "p", "median over datasets, of chi_square")
    p_vw: float | None = column("p_VW, correct models", "p", "median over datasets, of VW")
    pmse: float | None = column("pMSE", "number")
    mabs_dd: float | None = column("MabsDD", "number")
    jsd: float | None = column("JSD", "number")
    v_original: float | None = column(
        "V, original", "share", "Cramer's V of a pair, corrected for bias", default=None
    )
    v_synthetic: float | None = column(
        "V, synthetic", "share", "Cramer's V of the synthetic records", default=None
    )


_NAMES = {"vw": "VW", "df": "df", "pmse": "pMSE", "s_pmse": "S_pMSE", "mabs_dd": "MabsDD",
          "specks": "SPECKS", "jsd": "JSD", "roe": "ROE", "chi_square": "chi_square",
          "v_original": "V_original", "v_synthetic": "V_synthetic"}  # fmt: skip


class DatasetTables(Row):
    """Means over the tables of one order with more than one cell, for one dataset."""

    dataset: int = column("Dataset", "count")
    ways: int = column("Variables", "count", "order of the tables")
    s_pmse_mean: float = column("Mean S_pMSE", "number")
    s_pmse_max: float = column("Largest S_pMSE", "number")
    roe_mean: float = column("Mean ROE", "share")


class OrderTables(Row):
    """Means over the tables of one order and the datasets; None if all have one cell."""

    ways: int = column("Variables", "count", "order of the tables")
    s_pmse_mean: float | None = column("Mean S_pMSE", "number")
    s_pmse_max: float | None = column("Largest S_pMSE", "number")
    worst: tuple[str, ...] = column("Of", "text", "variables of the table with the largest S_pMSE")
    roe_mean: float = column("Mean ROE", "share")
    rejected: float | None = column("p below 0.05", "share", "of all tables and datasets")
    rejected_vw: float | None = column("p_VW below 0.05", "share", "of all tables and datasets")


def _columns_and_rows(rows: Sequence[TableRow]) -> dict[str, Any]:
    names = tuple(TableRow.model_fields)
    return {"columns": names, "rows": [[getattr(row, name) for name in names] for row in rows]}


def _each_row(content: Any) -> Any:
    if not isinstance(content, Mapping):
        return content
    columns = content["columns"]
    return tuple(dict(zip(columns, row, strict=True)) for row in content["rows"])


Compact = Annotated[
    tuple[TableRow, ...], PlainSerializer(_columns_and_rows), BeforeValidator(_each_row)
]
"""Rows that are saved as names of columns and cells, in a third of the size."""


class TableUtility(Result):
    """Measures of all tables, the largest S_pMSE first, and their means."""

    rows: Compact
    """One for each table."""
    orders: tuple[OrderTables, ...]
    """One for each order of tables."""
    by_dataset: tuple[DatasetTables, ...]
    """One for each dataset and order."""

    def of_order(self, ways: int) -> tuple[TableRow, ...]:
        """Return the tables of an order, the largest S_pMSE first."""
        return tuple(row for row in self.rows if row.ways == ways)

    def worst(self, ways: int = 2, count: int = 10) -> tuple[TableRow, ...]:
        """Return the tables of the given order with the largest S_pMSE."""
        return self.of_order(ways)[:count]

    def sample(self, ways: int = 2) -> str:
        """Return how many tables of an order are compared; empty if all are."""
        every = math.comb(len({name for row in self.rows for name in row.variables}), ways)
        if every <= MAX_TABLES:
            return ""
        return f"a random sample of {len(self.of_order(ways)):,} of {every:,} {_ALL[ways]}"

    def figures(self, *, n: int, expected: float, fresh: float) -> Iterator[Figure]:
        """Yield the figures of all orders of tables."""
        good = (
            f"expected with correct models: {expected:.3g}, of a new sample of the "
            f"population {fresh:.3g}"
        )
        for order in self.orders:
            sample = self.sample(order.ways)
            detail = f"{good}; in {sample}" if sample else good
            yield from _order_figures(order, n, detail, expected)


def _order_figures(order: OrderTables, n: int, good: str, expected: float) -> Iterator[Figure]:
    kinds = KINDS[order.ways]
    where = f"; here {' and '.join(order.worst)}" if order.s_pmse_max is not None else ""
    yield kinds["mean"].of(order.s_pmse_mean, n, good, chance=expected)
    yield kinds["worst"].of(order.s_pmse_max, n, f"{good}{where}", chance=expected)
    yield kinds["roe"].of(order.roe_mean, n)
    yield kinds["rejected"].of(order.rejected, n, chance=LEVEL)
    yield kinds["rejected_vw"].of(order.rejected_vw, n, chance=LEVEL)


@dataclass(frozen=True, eq=False)
class TableMeasures:
    """All measures of all tables and datasets, as frames."""

    by_dataset: pd.DataFrame
    """One row per table and synthetic dataset: ``variables`` (names joined by ":"), ``names`` (a
    tuple, since names may have a colon), ``ways``, ``dataset`` (from 1), the measures, ``p`` of
    the chi-square test of VW and ``p_chi_square`` of Pearson's."""
    mean: pd.DataFrame
    """One row per table, averaged over datasets (without both p), sorted by S_pMSE, worst
    first."""

    def worst(self, ways: int = 2, count: int = 10) -> pd.DataFrame:
        """Return the tables of the given order with the largest S_pMSE."""
        return self.mean[self.mean["ways"] == ways].head(count)

    def medians(self, column: str) -> list[float]:
        """Return the median of a column over the datasets, for each table of `mean`."""
        row_of = {names: row for row, names in enumerate(self.mean["names"])}
        tables = np.array([row_of[names] for names in self.by_dataset["names"]])
        values = self.by_dataset[column].groupby(tables)
        return values.median().where(values.count() == values.size()).tolist()

    def without(self, copied: Collection[str]) -> TableMeasures:
        """Return the tables with other variables than these, which were kept."""
        if not copied:
            return self
        drawn = [not set(names) <= set(copied) for names in self.by_dataset["names"]]
        return _averaged(self.by_dataset[drawn].reset_index(drop=True))

    def result(self) -> TableUtility:
        """Return the means of each table, and of each dataset over the tables."""
        orders = (order for order in WAYS if (self.mean["ways"] == order).any())
        by_order = self.by_dataset.dropna(subset=["S_pMSE"]).groupby(["dataset", "ways"])
        means = by_order.agg(
            s_pmse_mean=("S_pMSE", "mean"), s_pmse_max=("S_pMSE", "max"), roe_mean=("ROE", "mean")
        ).reset_index()
        return TableUtility(
            rows=tuple(self._rows()),
            orders=tuple(self._order(order) for order in orders),
            by_dataset=tuple(
                DatasetTables.model_validate(row) for row in means.to_dict(orient="records")
            ),
        )

    def _rows(self) -> Iterator[TableRow]:
        chosen = self.mean[["names", "ways", *_NAMES.values()]]
        p, p_vw = self.medians("p_chi_square"), self.medians("p")
        frame = chosen.assign(p=p, p_vw=p_vw).round(_DIGITS)
        names = ("variables", "ways", *_NAMES, "p", "p_vw")
        for row in frame.astype(object).where(frame.notna(), None).to_numpy().tolist():
            yield TableRow(**dict(zip(names, row, strict=True)))

    def _order(self, order: int) -> OrderTables:
        mean = self.mean[self.mean["ways"] == order]
        standardised = mean["S_pMSE"].dropna()
        tested = self.by_dataset[self.by_dataset["ways"] == order]
        return OrderTables(
            ways=order,
            s_pmse_mean=float(standardised.mean()) if len(standardised) else None,
            s_pmse_max=float(standardised.max()) if len(standardised) else None,
            worst=mean["names"].iloc[0],
            roe_mean=float(mean["ROE"].mean()),
            rejected=_rejected(tested["p_chi_square"]),
            rejected_vw=_rejected(tested["p"]),
        )


def _rejected(p: pd.Series[float]) -> float | None:
    tested = p.dropna()
    return float((tested < LEVEL).mean()) if len(tested) else None


def table_utility(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    names: Sequence[str] | None = None,
    ways: Sequence[int] = (1, 2),
    groups: int = 5,
    quantiles_of: QuantilesOf = "both",
) -> TableMeasures:
    """Return the measures of all tables of the given orders.

    Parameters
    ----------
    original, synthetic, names
        See `cells.compared`.
    ways : sequence of int
        Orders of the tables: 1, 2 or 3.
    groups : int
        Number of groups for numeric variables, at least 2.
    quantiles_of : {"both", "original"}
        Records from which the quantile groups are computed.

    Examples
    --------
    >>> people = pd.DataFrame({"sex": ["f", "m", "m", "f"]})
    >>> table_utility(people, people).mean[["variables", "S_pMSE", "df"]].to_numpy().tolist()
    [['sex', 0.0, 1.0]]
    """
    original, tables, names = compared(original, synthetic, names, table_problems(ways, groups))
    rows = []
    for dataset, table in enumerate(tables, start=1):
        pairs = group_tables(original, table, names, groups=groups, quantiles_of=quantiles_of)
        for chosen, o, s, associations, times in tables_of(pairs, ways):
            of_table = ":".join(chosen), chosen, len(chosen), dataset
            rows.append((*of_table, *cell_measures(o, s, times), *associations))
    by_dataset = pd.DataFrame(
        rows, columns=["variables", "names", "ways", "dataset", *CELL_MEASURES, *ASSOCIATIONS]
    )
    for name, statistic in _TESTS.items():  # NaN without degrees of freedom
        df = by_dataset["df"].replace(0, np.nan)
        by_dataset[name] = scipy.special.chdtrc(df, by_dataset[statistic])
    return _averaged(by_dataset)


def combine_tables(results: Sequence[TableMeasures]) -> TableMeasures:
    """Return the measures of single datasets as one, in that order.

    Raises
    ------
    DataError
        If there is no table, since all variables were kept.

    Examples
    --------
    >>> people = pd.DataFrame({"sex": ["f", "m", "m", "f"]})
    >>> one = table_utility(people, people)
    >>> combine_tables([one, one]).mean["S_pMSE"].tolist()
    [0.0]
    """
    frames, before = [], 0
    for result in results:
        shifted = result.by_dataset["dataset"] + before
        frames.append(result.by_dataset.assign(dataset=shifted))
        if shifted.empty:
            raise DataError("there is no table: all variables are kept; keep fewer")
        before = int(shifted.max())
    return _averaged(pd.concat(frames, ignore_index=True))


def _averaged(by_dataset: pd.DataFrame) -> TableMeasures:
    # A number for each table: pandas reads tuples of names as several columns.
    numbers: dict[tuple[str, ...], int] = {}
    table = [numbers.setdefault(names, len(numbers)) for names in by_dataset["names"]]
    first = np.unique(table, return_index=True)[1]
    mean = by_dataset[["variables", "names", "ways"]].take(first).reset_index(drop=True)
    averaged = [*CELL_MEASURES, *ASSOCIATIONS]
    mean = mean.join(by_dataset[averaged].groupby(np.array(table)).mean())
    mean = mean.sort_values("S_pMSE", ascending=False, kind="stable", ignore_index=True)
    return TableMeasures(by_dataset=by_dataset, mean=mean)


def cell_measures(o: FloatArray, s: FloatArray, times: IntArray | None = None) -> tuple[float, ...]:
    """Return `CELL_MEASURES` for the counts of one table's cells.

    Parameters
    ----------
    o, s : ndarray of float, shape (cells,)
        Counts of the original and of the synthetic records; at least one record each.
    times : ndarray of int, shape (cells,), optional
        Number of cells with these counts; by default 1.

    Returns
    -------
    tuple of float
        In the order of `CELL_MEASURES`; standardised measures are NaN for a single cell.

    Examples
    --------
    >>> values = cell_measures(np.array([3.0, 1.0]), np.array([2.0, 2.0]))
    >>> measures = dict(zip(CELL_MEASURES, values))
    >>> round(measures["VW"], 6), measures["SPECKS"], measures["df"]
    (1.066667, 0.25, 1)
    """
    occurs = (o + s) > 0
    times = np.ones(np.count_nonzero(occurs), dtype=np.int64) if times is None else times[occurs]
    o, s = o[occurs], s[occurs]
    all_o, all_s = o * times, s * times
    n_o, n_s = all_o.sum(), all_s.sum()
    total, c = o + s, n_s / (n_o + n_s)
    expected, scaled = c * total, o * (n_s / n_o)
    gap = s - scaled
    both = (o > 0) & (s > 0)
    shares_o, shares_s = o / n_o, s / n_s
    n_cells = int(times.sum())
    df, df_g = n_cells - 1, int(times[both].sum()) - 1
    square = gap * gap / expected
    root = np.sqrt(s) - np.sqrt(scaled)

    vw = float((square * times).sum())
    ft = float(4 * ((root * times) @ root))
    jsd = divergence(shares_o, shares_s, times)
    distance = float((np.abs(shares_s - shares_o) * times).sum())
    weighted = float(np.sqrt(np.pi / 2) * (np.sqrt(square) * times).sum())
    common_o, common_s = all_o[both], all_s[both]
    g = float(2 * (common_s @ np.log((s[both] / common_s.sum()) / (o[both] / common_o.sum()))))
    pmse = vw * c * (1 - c) ** 2 / (n_o + n_s)
    bhattacharyya = float(np.sqrt(ft / (8 * n_s)))
    s_vw, s_ft, s_w = (_ratio(value, df) for value in (vw, ft, weighted))
    s_jsd = _ratio(4 * n_s * jsd / np.log(2), df)
    ratios = np.minimum(shares_o, shares_s) / np.maximum(shares_o, shares_s)
    return (
        vw, ft, jsd, distance / 2, weighted, _mann_whitney(all_o, all_s), g, float(pmse),
        25 * distance, distance, bhattacharyya, s_vw, s_ft, s_jsd, s_w, _ratio(g, df_g), s_vw, df,
        df_g, float((ratios * times).sum()) / n_cells, float(vw * (1 - c)),
    )  # fmt: skip


def _ratio(value: float, df: int) -> float:
    return float(value / df) if df > 0 else np.nan


def _mann_whitney(o: FloatArray, s: FloatArray) -> float:
    """Return the number of (synthetic, original) pairs in the right order; ties count half."""
    # Equal fractions are equal floats: division is correctly rounded.
    score = s / (o + s)
    order = np.argsort(score)
    first = np.flatnonzero(np.diff(score[order], prepend=-1.0))
    o_tied, s_tied = (np.add.reduceat(counts[order], first) for counts in (o, s))
    return float(s_tied @ (np.cumsum(o_tied) - o_tied / 2))


class DistanceValues(Row):
    """Distance of the full contingency table of one synthetic dataset from the original's."""

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
        return float(np.mean([values.distance for values in self.datasets]))

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The mean distance."""
        detail = f"{len(self.names)} variables together"
        return (JENSEN_SHANNON.of(self.mean, self.n_all, detail),)


def jensen_shannon(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    names: Sequence[str] | None = None,
    groups: int = 5,
) -> DistanceResult:
    """Return the Jensen-Shannon distance between the full contingency tables.

    Only cells that occur are counted, so that any number of variables is possible. Distances are
    in [0, 1]: 0 for equal tables, 1 without a common cell.

    Parameters
    ----------
    original, synthetic, names
        What is compared, by which variables, and what is refused: see `cells.compared`.
    groups : int
        Number of quantile groups of numeric variables, at least 2; quantiles are the original's.

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
    return DistanceResult(
        n=original.n_rows,
        n_synthetic=tuple(table.n_rows for table in tables),
        names=names,
        groups=groups,
        datasets=tuple(_distance(original, table, names, groups) for table in tables),
    )


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


@dataclass(frozen=True, kw_only=True, eq=False)
class TableCollecting(Collecting):
    """Measures of the tables of the datasets so far."""

    measured: list[TableMeasures]


def _tables(case: Case) -> TableCollecting | None:
    """Return the collector of tables; those of kept variables alone are left out."""
    settings, measured = case.settings, list[TableMeasures]()
    if not settings.ways:
        return None

    def add(synthetic: Table) -> None:
        dataset = table_utility(
            case.original,
            [synthetic],
            names=case.names,
            ways=settings.ways,
            groups=settings.table_groups,
            quantiles_of="original",  # as in the saved tables of pairs
        )
        measured.append(dataset.without(case.synthesis.kept))

    return TableCollecting(
        add=add, result=lambda: combine_tables(measured).result(), measured=measured
    )


def worst_pairs(case: Case, most: int) -> list[tuple[str, str]]:
    """Return the worst pairs of the first dataset, or the first pairs without such tables."""
    every = list(combinations(case.names, 2))
    tables: TableCollecting | None = case.done.get("tables")
    if len(every) <= most or tables is None or not tables.measured:
        return every[:most]
    return [(a, b) for a, b in tables.measured[0].worst(2, most)["names"]]


def _distances(case: Case) -> Collecting:
    """Return the collector of Jensen-Shannon distances."""
    results: list[DistanceResult] = []
    groups = case.settings.table_groups
    compare = partial(jensen_shannon, case.original, names=case.names, groups=groups)
    return Collecting(
        lambda synthetic: results.append(compare(synthetic)),
        lambda: combine_datasets(results, "groups"),
    )


MEASURES = (
    Measure(
        "tables",
        "datasets",
        axis="utility",
        switch=None,
        needs=("names",),
        compute=_tables,
        figures=tuple(kind for kinds in KINDS.values() for kind in kinds.values()),
    ),
    Measure(
        "full table",
        "datasets",
        axis="utility",
        after="propensity score by {}",
        result_field="distance",
        switch="full_table",
        words="Jensen-Shannon distance of the table of all variables",
        needs=("names",),
        compute=_distances,
        figures=(JENSEN_SHANNON,),
    ),
)
