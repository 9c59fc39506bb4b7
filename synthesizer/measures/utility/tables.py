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

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from synthesizer.data.errors import DataError
from synthesizer.data.pairs import Data, check_comparable
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Kind, Table
from synthesizer.measures.utility.cells import (
    GroupedPair,
    QuantilesOf,
    breaks_of,
    cell_counts,
    compared,
    group_tables,
    interval_labels,
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
_TESTS = {"p": "VW", "p_chi_square": "chi_square"}


@dataclass(frozen=True, eq=False)
class TableUtility:
    """Measures of every table, worst first.

    Parameters
    ----------
    by_dataset : DataFrame
        One row per table and synthetic dataset: ``variables`` (names joined by ":"), ``names``
        (the same as a tuple: a name may hold a colon), ``ways``, ``dataset`` (from 1), the
        measures, ``p`` of the chi-square test of VW and ``p_chi_square`` of Pearson's.
    mean : DataFrame
        One row per table, averaged over datasets (without both p), sorted by S_pMSE, worst first.
    """

    by_dataset: pd.DataFrame
    mean: pd.DataFrame

    def worst(self, ways: int = 2, count: int = 10) -> pd.DataFrame:
        """Return the tables of the given order with the largest S_pMSE."""
        return self.mean[self.mean["ways"] == ways].head(count)

    def medians(self, column: str) -> list[float]:
        """Return the median over datasets for every table of `mean`, such as that of ``p``."""
        values: dict[tuple[str, ...], list[float]] = {}
        for names, value in zip(self.by_dataset["names"], self.by_dataset[column], strict=True):
            values.setdefault(names, []).append(value)
        return [float(np.median(values[names])) for names in self.mean["names"]]

    def without(self, copied: Collection[str]) -> TableUtility:
        """Return the tables that hold more than these variables, which are equal on both sides."""
        if not copied:
            return self
        kept = [not set(names) <= set(copied) for names in self.by_dataset["names"]]
        return _averaged(self.by_dataset[kept].reset_index(drop=True))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file: what is not a number is None."""
        return {name: _records(getattr(self, name)) for name in ("by_dataset", "mean")}


def table_utility(
    original: Table,
    synthetic: Sequence[Table],
    *,
    names: Sequence[str] | None = None,
    ways: Sequence[int] = (1, 2),
    groups: int = 5,
    quantiles_of: QuantilesOf = "both",
) -> TableUtility:
    """Compare all tables of the given orders.

    Parameters
    ----------
    original : Table
        Confidential records, shape (n_o, p).
    synthetic : sequence of Table
        Synthetic datasets of any sizes.
    names : sequence of str, optional
        Variables; default all but identifiers.
    ways : sequence of int
        Orders of the tables, of 1, 2 and 3.
    groups : int
        Number of groups for numeric variables, at least 2.
    quantiles_of : {"both", "original"}
        What the quantile groups are computed from, see `synthesizer.measures.utility.cells`.

    Raises
    ------
    DataError
        For unknown variables, empty or different tables, all problems at once.

    Examples
    --------
    >>> from synthesizer.data.table import Variable
    >>> from synthesizer.data.table import Column
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> table = Table([Column(sex, np.array([0, 1, 1, 0], dtype=np.int32))])
    >>> table_utility(table, [table]).mean[["variables", "S_pMSE", "df"]].to_numpy().tolist()
    [['sex', 0.0, 1.0]]
    """
    names = _checked_names(original, names, ways, groups)
    check_comparable(original, synthetic, names)
    rows = [
        row
        for dataset, made in enumerate(synthetic, start=1)
        for row in _rows(
            group_tables(original, made, names, groups=groups, quantiles_of=quantiles_of),
            ways,
            dataset,
        )
    ]
    columns = ["variables", "names", "ways", "dataset", *MEASURES]
    by_dataset = pd.DataFrame(rows, columns=columns)
    df = by_dataset["df"].where(by_dataset["df"] > 0)
    for name, statistic in _TESTS.items():
        by_dataset[name] = stats.chi2.sf(by_dataset[statistic], df)
    return _averaged(by_dataset)


def combine_tables(results: Sequence[TableUtility]) -> TableUtility:
    """Return results that were computed for one dataset after the other as one, in that order.

    Examples
    --------
    >>> from synthesizer.data.table import Variable
    >>> from synthesizer.data.table import Column
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> table = Table([Column(sex, np.array([0, 1], dtype=np.int32))])
    >>> result = table_utility(table, [table])
    >>> combine_tables([result, result]).by_dataset["dataset"].tolist()
    [1, 2]
    """
    frames, before = [], 0
    for result in results:
        shifted = result.by_dataset["dataset"] + before
        frames.append(result.by_dataset.assign(dataset=shifted))
        before = int(shifted.max())
    return _averaged(pd.concat(frames, ignore_index=True))


def _averaged(by_dataset: pd.DataFrame) -> TableUtility:
    # One number for each table: pandas would take tuples of names for several columns.
    numbers: dict[tuple[str, ...], int] = {}
    table = [numbers.setdefault(names, len(numbers)) for names in by_dataset["names"]]
    first = np.unique(table, return_index=True)[1]
    mean = by_dataset[["variables", "names", "ways"]].take(first).reset_index(drop=True)
    mean = mean.join(by_dataset[list(MEASURES)].groupby(np.array(table)).mean())
    mean = mean.sort_values("S_pMSE", ascending=False, kind="stable", ignore_index=True)
    return TableUtility(by_dataset=by_dataset, mean=mean)


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
    jsd = _divergence(shares_o, shares_s)
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


def _divergence(p: FloatArray, q: FloatArray) -> float:
    """Return the Jensen-Shannon divergence with base-2 logarithms, in [0, 1]."""
    middle = (p + q) / 2
    total = 0.0
    for share in (p, q):
        occurs = share > 0
        x = share[occurs]
        total += float(x @ np.log2(x / middle[occurs]))
    return max(total / 2, 0.0)


def _mann_whitney(o: FloatArray, s: FloatArray) -> float:
    """Return how many (synthetic, original) pairs the propensity score puts right, ties half."""
    # Equal fractions are equal floats: division is correctly rounded.
    score = s / (o + s)
    order = np.argsort(score)
    first = np.flatnonzero(np.diff(score[order], prepend=-1.0))
    o_tied, s_tied = (np.add.reduceat(counts[order], first) for counts in (o, s))
    return float(s_tied @ (np.cumsum(o_tied) - o_tied / 2))


def _rows(
    pairs: Sequence[GroupedPair], ways: Sequence[int], dataset: int
) -> Iterator[tuple[Any, ...]]:
    for order in ways:
        for chosen in combinations(pairs, order):
            names = tuple(pair.name for pair in chosen)
            measures = cell_measures(*cell_counts(chosen))
            yield (":".join(names), names, order, dataset, *measures)


def _checked_names(
    original: Table, names: Sequence[str] | None, ways: Sequence[int], groups: int
) -> list[str]:
    if names is None:
        names = [column.name for column in original.columns if column.variable.kind != Kind.ID]
    problems = [
        f"variable {name!r} is not in the data: name one of its columns"
        for name in dict.fromkeys(names)
        if name not in original
    ]
    if not names or not set(ways) <= {1, 2, 3}:
        problems.append("tables need at least one variable, and ways of 1, 2 or 3")
    if groups < 2:
        problems.append(f"groups ({groups}) must be at least 2")
    if problems:
        raise DataError(problems)
    return list(dict.fromkeys(names))


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    plain = frame.astype(object).where(frame.notna(), None)
    plain["names"] = [list(names) for names in frame["names"]]
    return [dict(zip(frame.columns, row, strict=True)) for row in plain.to_numpy().tolist()]


# Tables of two variables, original beside synthetic: what lies behind a pair's measures.


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
