"""Differential confidentiality: does a release say more about those it was fitted on?

The records are split at random into halves A and B, synthetic data are made from A alone, and the
CAP of A's records is compared with that of B's. What the synthesis says about B it says about
anybody; what it says about A beyond that is the risk of having been in the data. This is a test
after the fact, not a guarantee, and no differential privacy.

Source: Taub, Elliot, Pampaka and Smith (2018), section 4.3 and table 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from pydantic import Field

from synthesizer.data.codes import Codes, ColumnCoder, Groups, cut_points
from synthesizer.data.pairs import check_keys
from synthesizer.data.table import FloatArray, IntArray, Table
from synthesizer.measures.figure import Figure, Row, column, nested
from synthesizer.measures.measure_options import Label, Switched
from synthesizer.measures.risk.cap import RULES, CapScores, cap_scores, mean_or_none
from synthesizer.measures.risk.comparable import OfTarget, fixed_groups
from synthesizer.measures.risk.halves import HalfRun, Synthesise, half_runs
from synthesizer.measures.risk.identity import ReproducedUniques, reproduced_uniques
from synthesizer.measures.risk.intervals import unit_means, welch
from synthesizer.measures.risk.scenario import Scenario, Tolerance

ALIKE = 1.05
"""Largest ratio of the sizes of halves whose uniques can be compared."""
MIN_UNITS = 20
"""Smaller groups say nothing: their difference is noise, and their label might name somebody."""
FIFTHS = 5
MANY_VALUES = 10


class DifferentialOptions(Switched):
    """The half split of the differential confidentiality check."""

    repeats: int = Field(1, ge=1, le=100, description="number of random splits")
    m: int | None = Field(None, ge=1, description="datasets from each half; m of the run")
    units: Label | None = Field(
        None, description="variable that names the person of each record: persons are split"
    )
    by: Label | None = Field(
        None, description="variable among whose groups the worst is looked for"
    )


def _from_one(repeat: int | None) -> int:
    """Return the number of a split as it is shown."""
    return 1 + (repeat or 0)


class HalfComparison(Row):
    """Mean CAP of the fitted half A and the unseen half B, Welch's t test of their difference.

    What cannot be computed, for want of scores, is None.
    """

    repeat: int = column("Split", "count", "number of the split, from 0", show=_from_one)
    m: int = column("Datasets", "count", "the first m pooled")
    rule: str = column("No match", "text", "how no match counts", show=RULES.get)
    n_a: int = column("Fitted, number", "count", "scores compared: of records, or of units")
    n_b: int = column("Unseen, number", "count", "scores compared")
    mean_a: float | None = column("Fitted", "share", "mean CAP of the fitted half")
    mean_b: float | None = column("Unseen", "share", "mean CAP of the unseen half")
    difference: float | None = column("Difference", "share", "fitted minus unseen")
    low: float | None = column("From", "share", "lower end of its 95 % interval")
    high: float | None = column("To", "share", "upper end")
    t: float | None = column("t", "number", "Welch's")
    df: float | None = column("df", "number", "degrees of freedom")
    p: float | None = column("p", "p", "two-sided")

    @property
    def covers_zero(self) -> bool | None:
        """Whether the 95 % interval holds 0: called differentially confidential for the keys.

        None where there is no interval: nothing computed is no good news.
        """
        if self.low is None or self.high is None:
            return None
        return self.low <= 0 <= self.high


class HalfUniques(Row):
    """Key-uniques of the fitted half and of the unseen half that one synthesis reproduces."""

    repeat: int = column("Split", "count", "number of the split, from 0", show=_from_one)
    m: int = column("Datasets", "count", "the first m pooled")
    fitted: ReproducedUniques = nested("Fitted")
    unseen: ReproducedUniques = nested("Unseen")
    same_size: bool
    """Whether both have about as many records, within 5 %."""


class Spread(Row):
    """Averages over repeats.

    The ends of the interval are mean ends: too wide rather than too narrow, since the mean of
    several splits varies less than one.
    """

    m: int = column("Datasets", "count", "the first m pooled")
    rule: str = column("No match", "text", "how no match counts", show=RULES.get)
    repeats: int = column("Splits", "count", "number of random splits")
    mean_a: float | None = column("Fitted", "share", "mean CAP of the fitted halves")
    mean_b: float | None = column("Unseen", "share", "mean CAP of the unseen halves")
    difference: float | None = column("Difference", "share", "fitted minus unseen")
    difference_sd: float | None = column(
        "Its SD over splits", "number", "standard deviation; none with one split"
    )
    low: float | None = column("From", "share", "mean lower end of the 95 % intervals")
    high: float | None = column("To", "share", "mean upper end")
    covering_zero: int = column("Splits that cover 0", "count", "splits whose interval holds 0")


class GroupComparison(Row):
    """Mean CAP (non-matches zero, all datasets pooled) of one group's fitted and unseen records.

    The interval holds for all groups of a split together with 95 % confidence.
    """

    by: str
    """The variable whose groups are compared."""
    group: str = column("Group", "text", "its level", show=lambda group: group or "empty")
    repeat: int | None = column(
        "Split", "count", "from 0; none for an average over splits", show=_from_one
    )
    n_a: int = column("Fitted, number", "count", "units compared")
    n_b: int = column("Unseen, number", "count", "units compared")
    mean_a: float = column("Fitted", "share", "mean CAP of the fitted records")
    mean_b: float = column("Unseen", "share", "mean CAP of the unseen records")
    difference: float = column("Difference", "share", "fitted minus unseen")
    low: float | None = column("From", "share", "lower end of its interval, if there is one")
    high: float | None = column("To", "share", "upper end")

    @property
    def figure(self) -> Figure:
        """The difference as a figure of the report."""
        return Figure(
            key="worst_group",
            name="worst group",
            value=self.difference,
            low=self.low,
            high=self.high,
            n=self.n_a + self.n_b,
            direction="about 0 is good",
            meaning="largest difference of mean CAP between fitted and unseen {records} of one "
            f"group of {self.by} ({self.group}); the largest of many is above 0 by chance: look "
            "at the lower end of the interval, which holds for all groups together",
        )


@dataclass(frozen=True)
class HalfPart:
    """What one split says about one scenario."""

    comparisons: tuple[HalfComparison, ...]
    uniques: tuple[HalfUniques, ...]
    groups: tuple[GroupComparison, ...]
    released: float | None
    """The difference if half A were released as it is."""


class DifferentialResult(OfTarget):
    """What all splits together say about one scenario."""

    comparisons: tuple[HalfComparison, ...]
    """By split, number of datasets and non-match rule (table 4 of Taub et al. 2018)."""
    uniques: tuple[HalfUniques, ...]
    """Key-uniques of both halves that the syntheses reproduce."""
    summary: tuple[Spread, ...]
    """Averages over splits."""
    groups: tuple[GroupComparison, ...]
    """By split and group, all datasets pooled, non-matches zero; empty without ``by``."""
    worst_group: GroupComparison | None
    """The group with the largest mean difference over splits; None also where no group has
    enough units in both halves."""
    released: float | None
    """The difference (non-matches zero) if half A were released as it is."""
    by: str | None = None
    """Variable whose groups were asked for."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The difference, the uniques of both halves and the worst group."""
        last = [row for row in self.comparisons if row.rule == "zero"][-1]
        spread = next(s for s in self.summary if (s.m, s.rule) == (last.m, "zero"))
        figures = [
            Figure(
                key="differential_confidentiality",
                name="differential confidentiality",
                value=spread.difference,
                low=spread.low,
                high=spread.high,
                baseline=0.0,
                original=self.released,
                n=last.n_a + last.n_b,
                direction="about 0 is good",
                meaning="mean CAP (non-matches zero) of fitted minus unseen {records}",
            ),
            self._uniques_figure(last.m),
        ]
        if self.worst_group is not None:
            figures.append(self.worst_group.figure)
        return tuple(figures)

    def _uniques_figure(self, m: int) -> Figure:
        rows = [row for row in self.uniques if row.m == m]
        alike = all(row.same_size for row in rows)
        return Figure(
            key="reproduced_uniques",
            name="reproduced uniques of the fitted {records}",
            value=_mean([_share(row.fitted) for row in rows]),
            # fewer records have commoner keys among their uniques: then nothing to compare with
            baseline=_mean([_share(row.unseen) for row in rows]) if alike else None,
            original=1.0,
            n=sum(row.fitted.uniques for row in rows),
            direction="lower is safer",
            meaning="share of key-unique fitted {records} whose key the synthesis shows; the "
            "baseline is that of unseen {records}",
        )


def differential_confidentiality(
    table: Table,
    synthesise: Synthesise,
    *,
    keys: Sequence[str],
    target: str,
    m: int = 1,
    repeats: int = 1,
    rng: np.random.Generator,
    groups: Mapping[str, Groups] | None = None,
    tolerance: Tolerance | None = None,
    units: IntArray | None = None,
    by: str | None = None,
) -> DifferentialResult:
    """Compare the CAP of records that a synthesis was fitted on with that of unseen ones.

    For several keys and targets from the same splits use `half_runs`, `compare_halves` and
    `gather`.

    Parameters
    ----------
    table : Table
        All confidential records, shape (n, p), at least two units.
    synthesise : function of (half: Table, m: int, repeat: int) -> list of Table
        Makes m synthetic datasets from one half; repeats count from 0.
    keys, target, groups, tolerance
        As in `synthesizer.measures.risk.cap.cap`; quantiles are those of the whole table.
    m : int
        Number of datasets; results are given for the first 1, ..., m pooled.
    repeats : int
        Number of random splits.
    rng : numpy.random.Generator
        Draws the splits.
    units : ndarray of int, shape (n,), optional
        Person of each record where the data are a panel: persons are split, and a person's
        scores are averaged before the test, so that persons count, not records.
    by : str, optional
        Variable whose groups are compared too, to find the one with the largest difference;
        numbers are grouped by fifths.

    Returns
    -------
    DifferentialResult
        Differences above 0 mean that the release says more about the fitted half.

    Raises
    ------
    DataError
        For unknown names, m or repeats below 1 and the like, all at once.

    Examples
    --------
    >>> from synthesizer.data.table import Column, Kind, Variable
    >>> rng = np.random.default_rng(5)
    >>> def column(name, size):
    ...     levels = tuple(str(code) for code in range(size))
    ...     variable = Variable(name=name, kind=Kind.CATEGORICAL, levels=levels)
    ...     return Column(variable, rng.integers(0, size, 400).astype(np.int32))
    >>> table = Table([column("key", 90), column("secret", 3)])
    >>> result = differential_confidentiality(
    ...     table, lambda half, m, repeat: [half] * m, keys=["key"], target="secret", rng=rng)
    >>> result.comparisons[0].difference > 0.1, result.comparisons[0].covers_zero
    (True, False)
    """
    check_keys(table, keys=keys, target=target, groups=groups)
    grouping = None if by is None else Grouping.of(table, by)
    scenario = with_cut_points(
        Scenario(keys=tuple(keys), target=target, groups=groups or {}, tolerance=tolerance), table
    )
    runs = half_runs(table, synthesise, m=m, repeats=repeats, rng=rng, units=units)
    return gather(scenario, (compare_halves(run, scenario, grouping) for run in runs), by)


def with_cut_points(scenario: Scenario, table: Table) -> Scenario:
    """Return the scenario with the quantiles of the whole table, for parts of it."""
    return replace(scenario, groups=fixed_groups(table, scenario.groups))


def compare_halves(run: HalfRun, scenario: Scenario, by: Grouping | None = None) -> HalfPart:
    """Compare both parts of a run for one scenario, whose groups must be cut points."""
    a = _scores(run.fitted, run.synthetic, scenario)
    b = _scores(run.unseen, run.synthetic, scenario)
    copied = _scores(run.unseen, [run.fitted], scenario).synthetic[0]
    released = _difference(
        unit_means(a.original, run.fitted_units, "zero"),
        unit_means(copied, run.unseen_units, "zero"),
    )
    return HalfPart(
        comparisons=tuple(_compare(run, a.synthetic, b.synthetic)),
        uniques=tuple(_uniques(run, scenario)),
        groups=() if by is None else compare_groups(run, by, a.synthetic[-1], b.synthetic[-1]),
        released=released,
    )


def _scores(records: Table, made: Sequence[Table], scenario: Scenario) -> CapScores:
    return cap_scores(records, made, **scenario.settings, constant_target=True)


def _difference(a: FloatArray, b: FloatArray) -> float | None:
    return float(a.mean() - b.mean()) if len(a) and len(b) else None


def _compare(run: HalfRun, a: FloatArray, b: FloatArray) -> list[HalfComparison]:
    results = []
    for m in range(1, len(a) + 1):
        for rule in RULES:
            left = unit_means(a[m - 1], run.fitted_units, rule)
            right = unit_means(b[m - 1], run.unseen_units, rule)
            results.append(_comparison(run.repeat, m, rule, left, right))
    return results


def _comparison(repeat: int, m: int, rule: str, a: FloatArray, b: FloatArray) -> HalfComparison:
    return HalfComparison(
        repeat=repeat,
        m=m,
        rule=rule,
        n_a=len(a),
        n_b=len(b),
        mean_a=mean_or_none(a),
        mean_b=mean_or_none(b),
        difference=_difference(a, b),
        **welch(a, b),
    )


def _uniques(run: HalfRun, scenario: Scenario) -> list[HalfUniques]:
    fitted, unseen = (
        reproduced_uniques(half, run.synthetic, keys=scenario.keys, groups=scenario.groups)
        for half in (run.fitted, run.unseen)
    )
    sizes = sorted((run.fitted.n_rows, run.unseen.n_rows))
    alike = sizes[1] <= ALIKE * sizes[0]
    return [
        HalfUniques(repeat=run.repeat, m=f.m, fitted=f, unseen=u, same_size=alike)
        for f, u in zip(fitted, unseen, strict=True)
    ]


def gather(
    scenario: Scenario, parts: Iterable[HalfPart], by: str | None = None
) -> DifferentialResult:
    """Return the result of all splits of one scenario; ``by`` is the variable of its groups."""
    parts = list(parts)
    comparisons = [row for part in parts for row in part.comparisons]
    groups = tuple(row for part in parts for row in part.groups)
    return DifferentialResult(
        keys=scenario.keys,
        target=scenario.target,
        comparisons=tuple(comparisons),
        uniques=tuple(row for part in parts for row in part.uniques),
        summary=_summary(comparisons),
        groups=groups,
        worst_group=worst_group(groups),
        released=_mean([part.released for part in parts]),
        by=by,
    )


def _share(row: ReproducedUniques) -> float | None:
    return row.present / row.uniques if row.uniques else None


def _summary(comparisons: Sequence[HalfComparison]) -> tuple[Spread, ...]:
    together: dict[tuple[int, str], list[HalfComparison]] = {}
    for comparison in comparisons:
        together.setdefault((comparison.m, comparison.rule), []).append(comparison)
    return tuple(_spread(m, rule, same) for (m, rule), same in together.items())


def _spread(m: int, rule: str, same: Sequence[HalfComparison]) -> Spread:
    differences = [c.difference for c in same if c.difference is not None]
    return Spread(
        m=m,
        rule=rule,
        repeats=len(same),
        mean_a=_mean([c.mean_a for c in same]),
        mean_b=_mean([c.mean_b for c in same]),
        difference=_mean(differences),
        difference_sd=float(np.std(differences, ddof=1)) if len(differences) > 1 else None,
        low=_mean([c.low for c in same]),
        high=_mean([c.high for c in same]),
        covering_zero=sum(bool(c.covers_zero) for c in same),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


@dataclass(frozen=True, eq=False)
class Grouping:
    """Groups of the records by one variable, fixed by the whole table.

    Examples
    --------
    >>> from synthesizer.data.table import Column, Kind, Variable
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

    ``a`` and ``b`` hold the CAP of fitted and of unseen records, NaN where nothing matches.
    """
    left, right = by.codes(run.fitted), by.codes(run.unseen)
    pairs = {}
    for code, label in enumerate(by.labels):
        in_a, in_b = left == code, right == code
        scores_a = unit_means(a[in_a], run.fitted_units[in_a], "zero")
        scores_b = unit_means(b[in_b], run.unseen_units[in_b], "zero")
        if min(len(scores_a), len(scores_b)) >= MIN_UNITS:
            pairs[label or "empty"] = (scores_a, scores_b)
    level = 1 - 0.05 / max(len(pairs), 1)
    return tuple(
        _compared_group(run.repeat, by.name, label, one, other, level)
        for label, (one, other) in pairs.items()
    )


def _compared_group(
    repeat: int, by: str, label: str, a: FloatArray, b: FloatArray, level: float
) -> GroupComparison:
    test = welch(a, b, level)
    mean_a, mean_b = float(a.mean()), float(b.mean())
    low, high = test["low"], test["high"]
    if low is None and mean_a == mean_b:  # every score of the group is the same in both halves
        low = high = 0.0
    return GroupComparison(
        by=by,
        group=label,
        repeat=repeat,
        n_a=len(a),
        n_b=len(b),
        mean_a=mean_a,
        mean_b=mean_b,
        difference=mean_a - mean_b,
        low=low,
        high=high,
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
