"""Differential confidentiality by group: who is told apart most when they were in the data?

Means hide groups: a synthesis may be safe on average and tell on a minority. Intervals are
widened for the number of groups (Bonferroni), since the worst of many is never zero by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synthesizer.data.codes import Codes, ColumnCoder, cut_points
from synthesizer.data.comparable import check_keys
from synthesizer.data.table import FloatArray, Table
from synthesizer.figures import Figure
from synthesizer.risk.halves import HalfRun
from synthesizer.risk.welch import unit_means, welch

__all__ = ["MIN_UNITS", "GroupComparison", "Grouping", "compare_groups", "worst_group"]

MIN_UNITS = 20
"""Smaller groups say nothing: their difference is noise, and their label might name somebody."""
FIFTHS = 5
MANY_VALUES = 10


@dataclass(frozen=True)
class GroupComparison:
    """Mean CAP (non-matches zero, all datasets pooled) of one group's fitted and unseen records.

    ``low`` and ``high`` hold for all groups of a split together with 95 % confidence; None
    where there is no interval. ``repeat`` is None for an average over splits, of the ends of the
    intervals too.
    """

    by: str
    group: str
    repeat: int | None
    n_a: int
    n_b: int
    mean_a: float
    mean_b: float
    difference: float
    low: float | None
    high: float | None

    @property
    def figure(self) -> Figure:
        """The difference as a figure of the report."""
        return Figure(
            name="worst group",
            value=self.difference,
            low=self.low,
            high=self.high,
            n=self.n_a + self.n_b,
            direction="about 0 is good",
            meaning="largest difference of mean CAP between fitted and unseen records of one "
            f"group of {self.by} ({self.group}); the largest of many is above 0 by chance: look "
            "at the lower end of the interval, which holds for all groups together",
        )


@dataclass(frozen=True, eq=False)
class Grouping:
    """Groups of the records by one variable, fixed by the whole table.

    Examples
    --------
    >>> from synthesizer.data.schema import Kind, Variable
    >>> from synthesizer.data.table import Column
    >>> age = Column(Variable(name="age", kind=Kind.NUMERIC), np.arange(50.0))
    >>> Grouping.of(Table([age]), "age").labels[0]
    'fifth 1 of 5'
    """

    name: str
    coder: ColumnCoder
    labels: tuple[str, ...]

    @classmethod
    def of(cls, table: Table, name: str) -> Grouping:
        """Return the groups of a variable: its levels, or fifths of many numbers.

        Raises
        ------
        DataError
            If the table does not have the variable.
        """
        check_keys(table, keys=[name])
        column = table[name]
        coder = ColumnCoder.fit(column)
        if column.is_coded:
            return cls(name, coder, coder.labels)
        if coder.values is not None and len(coder.values) <= MANY_VALUES:
            return cls(name, coder, (*(f"{value:g}" for value in coder.values), *coder.labels))
        coder = ColumnCoder.fit(column, tuple(cut_points(column, FIFTHS)))
        count = coder.size - len(coder.labels)
        fifths = (f"fifth {number} of {count}" for number in range(1, count + 1))
        return cls(name, coder, (*fifths, *coder.labels))

    def codes(self, table: Table) -> Codes:
        """Return the group of each record, shape (n,)."""
        return self.coder.encode(table[self.name])


def compare_groups(
    run: HalfRun, by: Grouping, a: FloatArray, b: FloatArray
) -> tuple[GroupComparison, ...]:
    """Compare the halves in each group that has at least `MIN_UNITS` units in both.

    Parameters
    ----------
    run : HalfRun
        The records of both halves.
    by : Grouping
        The groups.
    a, b : ndarray of float, shape (records of the half,)
        CAP of fitted and of unseen records; NaN where nothing matches.
    """
    left, right = by.codes(run.fitted), by.codes(run.unseen)
    pairs = {}
    for code, label in enumerate(by.labels):
        own, other = left == code, right == code
        scores_a = unit_means(a[own], run.fitted_units[own], "zero")
        scores_b = unit_means(b[other], run.unseen_units[other], "zero")
        if min(len(scores_a), len(scores_b)) >= MIN_UNITS:
            pairs[label or "empty"] = (scores_a, scores_b)
    level = 1 - 0.05 / max(len(pairs), 1)
    return tuple(
        _comparison(run.repeat, by.name, label, one, other, level)
        for label, (one, other) in pairs.items()
    )


def _comparison(
    repeat: int, by: str, label: str, a: FloatArray, b: FloatArray, level: float
) -> GroupComparison:
    test = welch(a, b, level)
    mean_a, mean_b = float(a.mean()), float(b.mean())
    low, high = test["low"], test["high"]
    if low is None and mean_a == mean_b:  # every score of the group is the same in both halves
        low = high = 0.0
    return GroupComparison(
        by, label, repeat, len(a), len(b), mean_a, mean_b, mean_a - mean_b, low, high
    )


def worst_group(rows: Sequence[GroupComparison]) -> GroupComparison | None:
    """Return the group with the largest difference, averaged over splits; None without groups."""
    together: dict[str, list[GroupComparison]] = {}
    for row in rows:
        together.setdefault(row.group, []).append(row)
    averages = [same[0] if len(same) == 1 else _average(same) for same in together.values()]
    return max(averages, key=lambda row: row.difference, default=None)


def _average(same: Sequence[GroupComparison]) -> GroupComparison:
    def mean(name: str) -> float:
        return float(np.mean([getattr(row, name) for row in same]))

    def end(name: str) -> float | None:
        return None if any(getattr(row, name) is None for row in same) else mean(name)

    return GroupComparison(
        by=same[0].by,
        group=same[0].group,
        repeat=None,
        n_a=round(mean("n_a")),
        n_b=round(mean("n_b")),
        mean_a=mean("mean_a"),
        mean_b=mean("mean_b"),
        difference=mean("difference"),
        low=end("low"),
        high=end("high"),
    )
