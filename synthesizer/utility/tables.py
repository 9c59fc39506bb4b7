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

from synthesizer.data.comparable import check_comparable
from synthesizer.data.schema import Kind
from synthesizer.data.table import FloatArray, Table
from synthesizer.errors import DataError
from synthesizer.utility.cells import cell_counts
from synthesizer.utility.grouping import GroupedPair, QuantilesOf, group_tables

__all__ = ["MEASURES", "TableUtility", "cell_measures", "combine_tables", "table_utility"]

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
        What the quantile groups are computed from, see `synthesizer.utility.grouping`.

    Raises
    ------
    DataError
        For unknown variables, empty or different tables, all problems at once.

    Examples
    --------
    >>> from synthesizer.data.schema import Variable
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
    >>> from synthesizer.data.schema import Variable
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
