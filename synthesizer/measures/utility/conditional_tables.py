"""Conditional tables: the worst pairs within the groups of a third variable.

The table of a pair may differ from the original because its margins do, or because the association
does. A pair may also agree although its association given a third variable is wrong. So the worst
pairs of the first dataset are tabulated within the groups of a third variable: the one whose
smaller Cramér's V (Cramér 1946, Mathematical Methods of Statistics, 21.9) with one of the pair is
largest in the original.

Within each group the counts are compared as in `utility.tables`, given the size of the group in
both files. The conditional S_pMSE is the sum of VW divided by the sum of degrees of freedom, with
expectation 1 for correct models with fixed parameters, and 1 + k/n for a new sample. Groups of one
file only are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from synthesizer.data.table import FloatArray, Table
from synthesizer.measures.figure import Figure, FigureKind, Measured, Row, column
from synthesizer.measures.measure import Case, Collecting, Measure
from synthesizer.measures.utility.cells import Codes, DatasetCounter, table_problems
from synthesizer.measures.utility.distributions import pair_groups
from synthesizer.measures.utility.longitudinal import cramers_v
from synthesizer.measures.utility.tables import CELL_MEASURES, cell_measures, worst_pairs

MOST_PAIRS = 10
MOST_LEVELS = 12
MOST_GROUPS = 6
"""Largest number of groups of the third variable; other levels are one."""


class ConditionalRow(Row):
    """A pair of variables within the groups of a third one; means over the datasets."""

    variables: tuple[str, ...] = column("Pair", "text")
    given: str = column("Within groups of", "text", "variable that is associated with both")
    groups: int = column("Groups", "count", "of the original")
    s_pmse: float | None = column("Conditional S_pMSE", "number", "none for a single cell")


CONDITIONAL_MEAN = FigureKind(
    "conditional_mean",
    "mean conditional S_pMSE",
    "mean S_pMSE of the tables of the worst pairs, within groups of a third variable that is "
    "associated with both",
    "lower is better",
    on_screen=True,
)
CONDITIONAL_WORST = FigureKind(
    "conditional_worst",
    "largest conditional S_pMSE",
    "S_pMSE of the pair where it is largest, within groups of a third variable",
    "lower is better",
)


class ConditionalTables(Measured):
    """The worst pairs of variables within the groups of a third one."""

    n: int
    """Records of all files."""
    expected: tuple[float, float]
    """Expected S_pMSE with correct models, and of a new sample of the population."""
    rows: tuple[ConditionalRow, ...]
    """The pairs, the worst of the first dataset first."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Mean and largest conditional S_pMSE."""
        rows = [(row.s_pmse, row) for row in self.rows if row.s_pmse is not None]
        if not rows:
            return ()
        largest, worst = max(rows, key=lambda pair: pair[0])
        right, fresh = self.expected
        good = f"expected with correct models: {right:.3g}, of a new sample: {fresh:.3g}"
        mean, pair = float(np.mean([value for value, _ in rows])), " and ".join(worst.variables)
        marks: dict[str, Any] = {"chance": right, "original": 0.0}
        where = f"{good}; here {pair} within the groups of {worst.given}"
        return (
            CONDITIONAL_MEAN.of(mean, self.n, f"{len(rows)} pairs; {good}", **marks),
            CONDITIONAL_WORST.of(largest, self.n, where, **marks),
        )


class ConditionalCounter(DatasetCounter):
    """Conditional tables of datasets that are added one by one; only counts stay in memory.

    Parameters
    ----------
    original : Table
        Confidential records, shape (n, p), p at least 3.
    pairs : sequence of pairs of str
        Pairs to be tabulated.
    names : sequence of str
        Candidates for the third variable.
    groups : int
        Quantile groups of numeric variables, at least 2.
    proper : bool
        Whether parameters were drawn anew for each dataset.

    Examples
    --------
    >>> from synthesizer.data.table import Column, Kind, Variable
    >>> rng = np.random.default_rng(0)
    >>> table = Table([Column(Variable(name=name, kind=Kind.CATEGORICAL, levels=("f", "m")),
    ...                       rng.integers(0, 2, 400).astype(np.int32)) for name in "abc"])
    >>> counter = ConditionalCounter(table, [("a", "b")], table.names)
    >>> counter.add(table)
    >>> [(row.given, row.s_pmse) for row in counter.result().rows]
    [('c', 0.0)]
    """

    def __init__(
        self,
        original: Table,
        pairs: Sequence[tuple[str, str]],
        names: Sequence[str],
        *,
        groups: int = 5,
        proper: bool = False,
    ) -> None:
        names = list(dict.fromkeys((*names, *(name for pair in pairs for name in pair))))
        super().__init__(original, names, table_problems([3], groups))
        self._proper = proper
        self._groups = {name: pair_groups(original[name], groups, MOST_LEVELS) for name in names}
        self._thirds = {
            name: pair_groups(original[name], min(groups, MOST_GROUPS), MOST_GROUPS)
            for name in names
        }
        codes = {name: each.codes(original[name]) for name, each in self._groups.items()}
        self._triples = [(*pair, third) for pair in pairs if (third := _third(codes, pair))]
        self._compared = list(dict.fromkeys(name for triple in self._triples for name in triple))
        self._ours = self._counts(original)
        self._values: list[list[float]] = []

    def _count(self, synthetic: Table) -> None:
        of_synthetic = self._counts(synthetic)
        self._values.append(
            [conditional_s(*both) for both in zip(self._ours, of_synthetic, strict=True)]
        )

    def result(self) -> ConditionalTables | None:
        """Return the comparison of the datasets so far; None without a third variable."""
        if not self._triples:
            return None
        means = np.array(self._values).mean(axis=0)
        n = self._original.n_rows
        fresh = 1 + sum(self._sizes) / len(self._sizes) / n
        counted = zip(self._triples, self._ours, means.tolist(), strict=True)
        return ConditionalTables(
            n=n + sum(self._sizes),
            expected=(fresh if self._proper else 1.0, fresh),
            rows=tuple(
                ConditionalRow(
                    variables=triple[:2],
                    given=triple[2],
                    groups=int((counts.sum(axis=1) > 0).sum()),
                    s_pmse=value if np.isfinite(value) else None,
                )
                for triple, counts, value in counted
            ),
        )

    def _counts(self, table: Table) -> list[FloatArray]:
        """Return the counts of every triple, shape (groups, cells) each."""
        results = []
        for first, second, third in self._triples:
            chosen = (self._thirds[third], self._groups[first], self._groups[second])
            names = (third, first, second)
            shape = [one.size for one in chosen]
            codes = [
                one.codes(table[name]).astype(np.int64)
                for one, name in zip(chosen, names, strict=True)
            ]
            joint = (codes[0] * shape[1] + codes[1]) * shape[2] + codes[2]
            counts = np.bincount(joint, minlength=shape[0] * shape[1] * shape[2])
            results.append(counts.reshape(shape[0], -1).astype(np.float64))
        return results


def conditional_s(of_original: FloatArray, of_synthetic: FloatArray) -> float:
    """Return the sum of VW divided by the sum of degrees of freedom, NaN without any.

    ``ours`` and ``theirs`` are counts, shape (groups, cells).
    """
    total, df = 0.0, 0.0
    for o, s in zip(of_original, of_synthetic, strict=True):
        if o.any() and s.any():
            measures = dict(zip(CELL_MEASURES, cell_measures(o, s), strict=True))
            total, df = total + measures["VW"], df + measures["df"]
    return total / df if df else float("nan")


def _third(codes: dict[str, Codes], pair: tuple[str, str]) -> str | None:
    """Return the variable whose smaller association with one of a pair is the largest."""
    strengths = {
        name: min(cramers_v(other, codes[one]) or 0.0 for one in pair)
        for name, other in codes.items()
        if name not in pair
    }
    return max(strengths, key=lambda name: strengths[name], default=None)


def _conditional_tables(case: Case) -> Collecting:
    """Collect the worst pairs of the first dataset within the groups of a third variable."""
    settings, counters = case.settings, list[ConditionalCounter]()

    def add(synthetic: Table) -> None:
        if not counters:
            counter = ConditionalCounter(
                case.original,
                worst_pairs(case, MOST_PAIRS),
                case.names,
                groups=settings.table_groups,
                proper=case.synthesis.proper,
            )
            counters.append(counter)
        counters[0].add(synthetic)

    return Collecting(add, lambda: counters[0].result())


MEASURES = (
    Measure(
        "conditional_tables",
        "datasets",
        axis="utility",
        after="pairs",
        words="S_pMSE of the worst pairs within the groups of a third variable",
        needs=("names",),
        compute=_conditional_tables,
        result=ConditionalTables,
        figures=(CONDITIONAL_MEAN, CONDITIONAL_WORST),
    ),
)
