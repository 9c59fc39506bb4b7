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
from typing import TypeVar

import numpy as np
from scipy.special import chdtrc

from synthesizer.data.pairs import Data
from synthesizer.data.table import FloatArray, Table
from synthesizer.utility.cells import cell_counts, compared, table_problems, tables_of
from synthesizer.utility.estimates_result import (
    DistanceResult,
    DistanceValues,
    EqualityResult,
    EqualityTest,
    RatioResult,
    TableRatios,
    TableTests,
)
from synthesizer.utility.grouping import group_tables

__all__ = [
    "DistanceResult",
    "DistanceValues",
    "EqualityResult",
    "EqualityTest",
    "RatioResult",
    "TableRatios",
    "TableTests",
    "chi_square",
    "jensen_shannon",
    "ratio_of_estimates",
]

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
