"""Jensen-Shannon distance of the contingency tables of all variables, original and synthetic.

With p_o and p_s the proportions of a cell and m = (p_o + p_s) / 2 it is
sqrt((KL(p_o, m) + KL(p_s, m)) / 2), base 2. Numbers are cut into quantile groups of the original;
each missing code is a group of its own.

Sources: Lin (1991), Divergence measures based on the Shannon entropy; as a measure of utility Chen,
Taub and Elliot (2019), Trade-off between information utility and disclosure risk in a GA synthetic
data generator (table 3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from synthesizer.data.pairs import Data
from synthesizer.data.table import Table
from synthesizer.measures.figure import Figure, Row, column
from synthesizer.measures.utility.cells import (
    Comparison,
    cell_counts,
    combine_datasets,
    compared,
    divergence,
    group_tables,
    table_problems,
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
        return float(np.mean([values.distance for values in self.datasets]))

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


def combine_distances(results: Sequence[DistanceResult]) -> DistanceResult:
    """Return results computed for one dataset after the other as one; see `combine_datasets`."""
    return combine_datasets(results, "groups")


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
