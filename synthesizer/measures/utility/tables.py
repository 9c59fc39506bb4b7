"""How far one-, two- and three-way tables of synthetic data are from those of the original.

For every table the counts of the cells are compared by the measures of Raab, Nowok and Dibben
(2021), Assessing, visualizing and improving the utility of synthetic data; VW is due to Voas and
Williamson (2001), FT to Freeman and Tukey. A synthesis from the true distribution, fitted on the
original, has expectation near 1 for the measures whose name begins with ``S_``. `S_JSD` divides by
the constant of the reference values, which is 4 per cent smaller than its null expectation.

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

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import BeforeValidator, PlainSerializer
from scipy import stats

from synthesizer.data.errors import DataError
from synthesizer.data.pairs import Data, check_comparable
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Kind, Table
from synthesizer.measures.figure import Direction, Figure, Result, Row, column
from synthesizer.measures.utility.cells import (
    WAYS,
    QuantilesOf,
    breaks_of,
    check_original,
    compared,
    divergence,
    group_tables,
    interval_labels,
    table_problems,
    tables_of,
)
from synthesizer.measures.utility.number_cells import (
    Codes,
    FixedGroups,
    day_text,
    level_groups,
    number_groups,
)

MEASURES = (
    "VW", "FT", "JSD", "SPECKS", "WMabsDD", "U", "G", "pMSE", "PO50", "MabsDD", "dBhatt",
    "S_VW", "S_FT", "S_JSD", "S_WMabsDD", "S_G", "S_pMSE", "df", "dfG",
    "ROE", "chi_square",
)  # fmt: skip
LEVEL = 0.05
"""Tables whose p is below this level are called rejected."""
_TESTS = {"p": "VW", "p_chi_square": "chi_square"}
_DIGITS = 6
_ALL = {1: "the distributions of all variables", 2: "all pairs", 3: "all triples"}
_REJECTIONS = {
    "chi-square": "Pearson's test of two independent samples has p below 0.05; a right synthesis "
    "with fixed parameters is nearer than that, and hardly ever rejected",
    "VW": "the test of draws from a right model with fixed parameters has p below 0.05",
}


class TableRow(Row):
    """One table: means over the datasets, rounded to six digits; see the module for the measures.

    What is not held here can be recomputed, and a wide file has many pairs.
    """

    variables: tuple[str, ...] = column("Variables", "text")
    ways: int = column("Order", "count", "number of variables")
    s_pmse: float | None = column("S_pMSE", "number", "None for a single cell, as every p is")
    roe: float | None = column("ROE", "number")
    specks: float | None = column("SPECKS", "number")
    chi_square: float | None = column("Chi-square", "number")
    vw: float | None = column("VW (chi-square)", "number")
    df: float | None = column("df", "count")
    p: float | None = column("p, two samples", "p", "median over datasets, of chi_square")
    p_vw: float | None = column("p_VW, right synthesis", "p", "median over datasets, of VW")
    pmse: float | None = column("pMSE", "number")
    mabs_dd: float | None = column("MabsDD", "number")
    jsd: float | None = column("JSD", "number")


_NAMES = {"vw": "VW", "df": "df", "pmse": "pMSE", "s_pmse": "S_pMSE", "mabs_dd": "MabsDD",
          "specks": "SPECKS", "jsd": "JSD", "roe": "ROE", "chi_square": "chi_square"}  # fmt: skip


class DatasetTables(Row):
    """The tables of one order of one dataset, those with more than one cell."""

    dataset: int = column("Dataset", "count")
    ways: int = column("Variables", "count", "order of the tables")
    s_pmse_mean: float = column("Mean S_pMSE", "number")
    s_pmse_max: float = column("Largest S_pMSE", "number")
    roe_mean: float = column("Mean ROE", "share")


class OrderTables(Row):
    """The tables of one order, averaged over the datasets; None where every one has one cell."""

    ways: int = column("Variables", "count", "order of the tables")
    s_pmse_mean: float | None = column("Mean S_pMSE", "number")
    s_pmse_max: float | None = column("Largest S_pMSE", "number")
    worst: tuple[str, ...] = column("Of", "text", "variables of the table where it is largest")
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
"""Rows that a file holds as names of columns and cells: a third of the size."""


class TableUtility(Result):
    """Measures of every table, worst S_pMSE first, and how they are on the whole."""

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

    def figures(self, *, n: int, expected: float, fresh: float) -> Iterator[Figure]:
        """Yield the figures of every order of tables.

        Parameters
        ----------
        n : int
            Records of all files.
        expected, fresh : float
            S_pMSE that a right synthesis of this kind has, and a fresh sample of the population.
        """
        good = (
            f"expected of a right synthesis is {expected:.3g}, of a fresh sample of the "
            f"population {fresh:.3g}"
        )
        for order in self.orders:
            yield from _order_figures(order, n, good, expected)


def _order_figures(order: OrderTables, n: int, good: str, expected: float) -> Iterator[Figure]:
    way, tables = WAYS[order.ways], _ALL[order.ways]

    def figure(
        name: str,
        key: str,
        value: float | None,
        meaning: str,
        direction: Direction = "lower is better",
        baseline: float | None = None,
    ) -> Figure:
        return Figure(
            key=f"{key}_{way}_way", name=name, value=value, meaning=meaning,
            direction=direction, n=n, baseline=baseline,
        )  # fmt: skip

    what = f"distance of synthetic from original counts in {tables}, over what chance gives; {good}"
    where = f"; here {' and '.join(order.worst)}" if order.s_pmse_max is not None else ""
    name = f"{way}-way S_pMSE"
    yield figure(f"mean {name}", "mean", order.s_pmse_mean, f"mean {what}", baseline=expected)
    yield figure(
        f"largest {name}", "worst", order.s_pmse_max, f"largest {what}{where}", baseline=expected
    )
    yield figure(
        f"ROE ({way}-way)",
        "roe",
        order.roe_mean,
        "smaller of the original and the synthetic proportion of a cell divided by the larger, "
        f"averaged over the cells of {tables}; 1: equal, and small cells pull it down",
        "about 1 is good",
    )
    shares = (order.rejected, order.rejected_vw)
    for share, (test, reference) in zip(shares, _REJECTIONS.items(), strict=True):
        key = f"{test.lower().replace('-', '_')}_rejections"
        meaning = f"share of {tables} in which {reference}"
        yield figure(f"{test} rejections ({way}-way)", key, share, meaning, baseline=LEVEL)


@dataclass(frozen=True, eq=False)
class TableMeasures:
    """All measures of every table and dataset, as frames."""

    by_dataset: pd.DataFrame
    """One row per table and synthetic dataset: ``variables`` (names joined by ":"), ``names``
    (the same as a tuple: a name may hold a colon), ``ways``, ``dataset`` (from 1), the measures,
    ``p`` of the chi-square test of VW and ``p_chi_square`` of Pearson's."""
    mean: pd.DataFrame
    """One row per table, averaged over datasets (without both p), sorted by S_pMSE, worst
    first."""

    def worst(self, ways: int = 2, count: int = 10) -> pd.DataFrame:
        """Return the tables of the given order with the largest S_pMSE."""
        return self.mean[self.mean["ways"] == ways].head(count)

    def medians(self, column: str) -> list[float]:
        """Return the median over datasets for every table of `mean`, such as that of ``p``."""
        number = {names: place for place, names in enumerate(self.mean["names"])}
        tables = np.array([number[names] for names in self.by_dataset["names"]])
        values = self.by_dataset[column].groupby(tables)
        return values.median().where(values.count() == values.size()).tolist()

    def without(self, copied: Collection[str]) -> TableMeasures:
        """Return the tables that hold more than these variables, which are equal on both sides."""
        if not copied:
            return self
        kept = [not set(names) <= set(copied) for names in self.by_dataset["names"]]
        return _averaged(self.by_dataset[kept].reset_index(drop=True))

    def result(self) -> TableUtility:
        """Return what is kept of them: means of every table, and of every dataset over tables."""
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
        known = len(standardised) > 0
        return OrderTables(
            ways=order,
            s_pmse_mean=float(standardised.mean()) if known else None,
            s_pmse_max=float(standardised.max()) if known else None,
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
    """Compare all tables of the given orders.

    Parameters
    ----------
    original, synthetic, names
        What is compared, by which variables, and what is refused: see `cells.compared`.
    ways : sequence of int
        Orders of the tables, of 1, 2 and 3.
    groups : int
        Number of groups for numeric variables, at least 2.
    quantiles_of : {"both", "original"}
        What the quantile groups are computed from.

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
        for chosen, o, s in tables_of(pairs, ways):
            rows.append((":".join(chosen), chosen, len(chosen), dataset, *cell_measures(o, s)))
    by_dataset = pd.DataFrame(rows, columns=["variables", "names", "ways", "dataset", *MEASURES])
    df = by_dataset["df"].where(by_dataset["df"] > 0)
    for name, statistic in _TESTS.items():
        by_dataset[name] = stats.chi2.sf(by_dataset[statistic], df)
    return _averaged(by_dataset)


def combine_tables(results: Sequence[TableMeasures]) -> TableMeasures:
    """Return measures that were computed for one dataset after the other as one, in that order.

    Examples
    --------
    >>> people = pd.DataFrame({"sex": ["f", "m"]})
    >>> result = table_utility(people, people)
    >>> combine_tables([result, result]).by_dataset["dataset"].tolist()
    [1, 2]
    """
    frames, before = [], 0
    for result in results:
        shifted = result.by_dataset["dataset"] + before
        frames.append(result.by_dataset.assign(dataset=shifted))
        before = int(shifted.max())
    return _averaged(pd.concat(frames, ignore_index=True))


def _averaged(by_dataset: pd.DataFrame) -> TableMeasures:
    # One number for each table: pandas would take tuples of names for several columns.
    numbers: dict[tuple[str, ...], int] = {}
    table = [numbers.setdefault(names, len(numbers)) for names in by_dataset["names"]]
    first = np.unique(table, return_index=True)[1]
    mean = by_dataset[["variables", "names", "ways"]].take(first).reset_index(drop=True)
    mean = mean.join(by_dataset[list(MEASURES)].groupby(np.array(table)).mean())
    mean = mean.sort_values("S_pMSE", ascending=False, kind="stable", ignore_index=True)
    return TableMeasures(by_dataset=by_dataset, mean=mean)


def cell_measures(o: FloatArray, s: FloatArray) -> tuple[float, ...]:
    """Return `MEASURES` for the counts of one table's cells.

    Parameters
    ----------
    o, s : ndarray of float, shape (cells,)
        Counts of the original and of the synthetic records; at least one record each.

    Returns
    -------
    tuple of float
        In the order of `MEASURES`; standardised measures are NaN for a single cell.

    Examples
    --------
    >>> measures = dict(zip(MEASURES, cell_measures(np.array([3.0, 1.0]), np.array([2.0, 2.0]))))
    >>> round(measures["VW"], 6), measures["SPECKS"], measures["df"]
    (1.066667, 0.25, 1)
    """
    occurs = (o + s) > 0
    o, s = o[occurs], s[occurs]
    n_o, n_s = o.sum(), s.sum()
    total, c = o + s, n_s / (n_o + n_s)
    expected, scaled = c * total, o * (n_s / n_o)
    gap = s - scaled
    both = (o > 0) & (s > 0)
    shares_o, shares_s = o / n_o, s / n_s
    df, df_g = len(o) - 1, int(both.sum()) - 1
    square = gap * gap / expected
    root = np.sqrt(s) - np.sqrt(scaled)

    vw = float(square.sum())
    ft = float(4 * (root @ root))
    jsd = divergence(shares_o, shares_s)
    distance = float(np.abs(shares_s - shares_o).sum())
    weighted = float(np.sqrt(np.pi / 2) * np.sqrt(square).sum())
    g = _likelihood_ratio(o[both], s[both])
    pmse = vw * c * (1 - c) ** 2 / (n_o + n_s)
    bhattacharyya = float(np.sqrt(ft / (8 * n_s)))
    s_vw, s_ft, s_w = (_ratio(value, df) for value in (vw, ft, weighted))
    s_jsd = _ratio(4 * n_s * jsd / np.log(2), df)
    ratios = np.minimum(shares_o, shares_s) / np.maximum(shares_o, shares_s)
    return (
        vw, ft, jsd, distance / 2, weighted, _mann_whitney(o, s), g, float(pmse), 25 * distance,
        distance, bhattacharyya, s_vw, s_ft, s_jsd, s_w, _ratio(g, df_g), s_vw, df, df_g,
        float(ratios.sum()) / len(o), float(vw * (1 - c)),
    )  # fmt: skip


def _ratio(value: float, df: int) -> float:
    return float(value / df) if df > 0 else float("nan")


def _likelihood_ratio(o: FloatArray, s: FloatArray) -> float:
    """Return G for cells that occur on both sides."""
    return float(2 * (s @ np.log((s / s.sum()) / (o / o.sum())))) if len(o) else 0.0


def _mann_whitney(o: FloatArray, s: FloatArray) -> float:
    """Return how many (synthetic, original) pairs the propensity score puts right, ties half."""
    # Equal fractions are equal floats: division is correctly rounded.
    score = s / (o + s)
    order = np.argsort(score)
    first = np.flatnonzero(np.diff(score[order], prepend=-1.0))
    o_tied, s_tied = (np.add.reduceat(counts[order], first) for counts in (o, s))
    return float(s_tied @ (np.cumsum(o_tied) - o_tied / 2))


class PairTable(Result):
    """Counts of two variables' combinations, original beside synthetic."""

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


class PairCounter:
    """`pair_tables` of one dataset after the other; only counts stay in memory.

    Examples
    --------
    >>> from synthesizer.data.table import Variable
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
        check_original(original, _names(pairs), _problems(pairs, groups, most_levels))
        self._original = original
        self._pairs = list(pairs)
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
        tables: list[IntArray] = []
        for pair in self._pairs:
            shape = self._groups[pair[0]].size, self._groups[pair[1]].size
            joint = _joint(codes[pair[0]], codes[pair[1]], shape)
            counts = np.bincount(joint, minlength=shape[0] * shape[1])
            tables.append(counts.reshape(shape))
        return tables

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
    original, synthetic
        What is compared, and what is refused: see `cells.compared`.
    pairs : sequence of (str, str)
        Variables of the rows and of the columns of every table.
    groups : int
        Number of quantile groups of numeric variables, at least 2.
    most_levels : int
        Most levels with a row or column of their own, the most frequent; the rest are together.

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
    problems += table_problems([1], groups)
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
