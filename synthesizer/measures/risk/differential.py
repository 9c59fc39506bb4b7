"""Differential confidentiality: is the CAP of training records above that of holdout records?

The records are split at random into halves A (training) and B (holdout), and synthetic data are
made from A. The CAP of B's records exists for everyone in the population; what A's CAP has beyond
it is the risk of having been in the data. This is a test of given data: no guarantee, and not
differential privacy.

Source: Taub, Elliot, Pampaka and Smith (2018), section 4.3 and table 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pydantic import Field

from synthesizer.data.codes import Codes, ColumnCoder
from synthesizer.data.options import MAX_REPEATS
from synthesizer.data.pairs import check_keys
from synthesizer.data.randomness import AnySeed
from synthesizer.data.table import FloatArray, IntArray, Table
from synthesizer.measures.figure import Figure, FigureKind, Limit, Row, column, nested
from synthesizer.measures.halves import HalfRun, Synthesise, half_runs
from synthesizer.measures.measure import Case, Measure
from synthesizer.measures.measure_options import Label, Switched
from synthesizer.measures.risk.cap import RULES, cap_scores, mean_or_none
from synthesizer.measures.risk.comparable import GroupsOf, OfTarget, fixed_groups, unit_means, welch
from synthesizer.measures.risk.identity import ReproducedUniques, reproduced_uniques
from synthesizer.measures.scenario import Scenario, Tolerance
from synthesizer.measures.utility.cells import EMPTY, mean_of_known

MAX_SIZE_RATIO = 1.05
"""Largest ratio of the sizes of halves whose uniques are compared."""
MIN_UNITS = 20
"""Smallest group that is compared: smaller ones have noise only, and may identify a person."""
FIFTHS = 5
MANY_VALUES = 10


class DifferentialOptions(Switched):
    """The train-holdout test of differential confidentiality."""

    repeats: int = Field(1, ge=1, le=100, description="number of random splits")
    m: int | None = Field(
        None, ge=1, le=MAX_REPEATS, description="datasets from each half; m of the run when absent"
    )
    units: Label | None = Field(
        None, description="variable of the person of each record, so that persons are split"
    )
    by: Label | None = Field(
        None, description="variable whose groups are compared to find the worst"
    )


def _from_one(repeat: int | None) -> int:
    """Return the number of a split, from 1, for tables."""
    return 1 + (repeat or 0)


class HalfComparison(Row):
    """Mean CAP of the training half A and the holdout half B, with Welch's t test.

    Values are None without enough scores.
    """

    repeat: int = column("Split", "count", "number of the split, from 0", show=_from_one)
    m: int = column("Datasets", "count", "the first m pooled")
    rule: str = column("No match", "text", "rule for records without a match", show=RULES.get)
    n_a: int = column("Training, number", "count", "scores of records, or of units")
    n_b: int = column("Holdout, number", "count", "scores of records, or of units")
    mean_a: float | None = column("Training", "share", "mean CAP of the training half")
    mean_b: float | None = column("Holdout", "share", "mean CAP of the holdout half")
    difference: float | None = column("Difference", "share", "training minus holdout")
    low: float | None = column("From", "share", "lower end of its 95 % interval")
    high: float | None = column("To", "share", "upper end")
    t: float | None = column("t", "number", "Welch's")
    df: float | None = column("df", "number", "degrees of freedom")
    p: float | None = column("p", "p", "two-sided")

    @property
    def covers_zero(self) -> bool | None:
        """Whether the 95 % interval covers 0; None without an interval, which is no good news."""
        if self.low is None or self.high is None:
            return None
        return self.low <= 0 <= self.high


class HalfUniques(Row):
    """Key-uniques of the training and of the holdout half that one synthesis reproduces."""

    repeat: int = column("Split", "count", "number of the split, from 0", show=_from_one)
    m: int = column("Datasets", "count", "the first m pooled")
    fitted: ReproducedUniques = nested("Training")
    unseen: ReproducedUniques = nested("Holdout")
    same_size: bool
    """Whether the sizes of both halves differ by at most 5 %."""


class Spread(Row):
    """Averages over splits.

    The ends of the interval are means over the splits. It is conservative, since the mean of
    several splits varies less than a single one.
    """

    m: int = column("Datasets", "count", "the first m pooled")
    rule: str = column("No match", "text", "rule for records without a match", show=RULES.get)
    repeats: int = column("Splits", "count", "number of random splits")
    mean_a: float | None = column("Training", "share", "mean CAP of the training halves")
    mean_b: float | None = column("Holdout", "share", "mean CAP of the holdout halves")
    difference: float | None = column("Difference", "share", "training minus holdout")
    difference_sd: float | None = column(
        "Its SD over splits", "number", "standard deviation; none with one split"
    )
    low: float | None = column("From", "share", "mean lower end of the 95 % intervals")
    high: float | None = column("To", "share", "mean upper end")
    covering_zero: int = column("Splits that cover 0", "count", "splits whose interval holds 0")


DIFFERENTIAL_CONFIDENTIALITY = FigureKind(
    "differential_confidentiality",
    "differential confidentiality",
    "mean CAP of training {records} minus mean CAP of holdout {records}, the risk that the release "
    "adds; below 0 is as good as 0",
    "about 0 is good",
    ideal=0.0,
    limit=Limit(low=-1),
    summary={"differential_low": "low", "differential_high": "high"},
    is_axis=True,
)
REPRODUCED_UNIQUES = FigureKind(
    "reproduced_uniques",
    "reproduced uniques of training {records}",
    "share of training {records} with unique key values whose key values occur in the synthetic "
    "data; chance: the same share of holdout {records}",
)
WORST_GROUP = FigureKind(
    "worst_group",
    "worst group",
    "differential confidentiality of the group where it is largest; the limit applies to the lower "
    "end of the interval, which is simultaneous for all groups",
    "about 0 is good",
    limit=Limit(low=-1, judged="low", option="differential_confidentiality.by"),
)


class GroupComparison(Row):
    """Mean CAP (no match counts as 0, all datasets pooled) of a group in both halves.

    Intervals are simultaneous for all groups of a split, at 95 %.
    """

    by: str
    """Variable whose groups are compared."""
    group: str = column("Group", "text", "level; an empty text is shown as empty")
    repeat: int | None = column(
        "Split", "count", "from 0; none for an average over splits", show=_from_one
    )
    n_a: int = column("Training, number", "count", "units compared")
    n_b: int = column("Holdout, number", "count", "units compared")
    mean_a: float = column("Training", "share", "mean CAP of training records")
    mean_b: float = column("Holdout", "share", "mean CAP of holdout records")
    difference: float = column("Difference", "share", "training minus holdout")
    low: float | None = column("From", "share", "lower end of its interval, if there is one")
    high: float | None = column("To", "share", "upper end")

    @property
    def figure(self) -> Figure:
        """The difference as a figure of the report."""
        return WORST_GROUP.of(
            self.difference,
            self.n_a + self.n_b,
            f"here {self.by}: {self.group}",
            low=self.low,
            high=self.high,
        )


@dataclass(frozen=True)
class HalfPart:
    """Result of one split for one scenario."""

    comparisons: tuple[HalfComparison, ...]
    uniques: tuple[HalfUniques, ...]
    groups: tuple[GroupComparison, ...]
    released: float | None
    """Difference if half A were released."""


class DifferentialResult(OfTarget):
    """Result of all splits for one scenario."""

    comparisons: tuple[HalfComparison, ...]
    """By split, number of datasets and rule (table 4 of Taub et al. 2018)."""
    uniques: tuple[HalfUniques, ...]
    """Key-uniques of both halves that the syntheses reproduce."""
    summary: tuple[Spread, ...]
    """Averages over splits."""
    groups: tuple[GroupComparison, ...]
    """By split and group, all datasets pooled, no match counts as 0; empty without ``by``."""
    worst_group: GroupComparison | None
    """Group with the largest mean difference over splits; None without a group of enough units."""
    released: float | None
    """Difference (no match counts as 0) if half A were released."""
    by: str | None = None
    """Variable of the groups."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Difference, reproduced uniques and worst group."""
        last = [row for row in self.comparisons if row.rule == "zero"][-1]
        spread = next(s for s in self.summary if (s.m, s.rule) == (last.m, "zero"))
        figures = [
            DIFFERENTIAL_CONFIDENTIALITY.of(
                spread.difference,
                last.n_a + last.n_b,
                low=spread.low,
                high=spread.high,
                chance=0.0,
                original=self.released,
            ),
            self._uniques_figure(last.m),
        ]
        if self.worst_group is not None:
            figures.append(self.worst_group.figure)
        return tuple(figures)

    def _uniques_figure(self, m: int) -> Figure:
        rows = [row for row in self.uniques if row.m == m]
        alike = all(row.same_size for row in rows)
        return REPRODUCED_UNIQUES.of(
            mean_of_known([row.fitted.share for row in rows]),
            sum(row.fitted.uniques for row in rows),
            # uniques of fewer records have commoner key values: no comparison
            chance=mean_of_known([row.unseen.share for row in rows]) if alike else None,
            original=1.0,
        )


def differential_confidentiality(
    table: Table,
    synthesise: Synthesise,
    *,
    keys: Sequence[str],
    target: str,
    m: int = 1,
    repeats: int = 1,
    seed: AnySeed = 0,
    groups: GroupsOf = None,
    tolerance: Tolerance | None = None,
    units: IntArray | None = None,
    by: str | None = None,
) -> DifferentialResult:
    """Return the comparison of the CAP of training and holdout records.

    For several keys and targets from the same splits use `half_runs`, `compare_halves` and
    `gather`.

    Parameters
    ----------
    table : Table
        All confidential records, shape (n, p), at least two units.
    synthesise, repeats, seed
        As in `synthesizer.measures.halves.half_runs`.
    keys, target, groups, tolerance
        As in `synthesizer.measures.risk.cap.cap`; quantiles are those of the whole table.
    m : int
        Number of datasets; results are given for the first 1, ..., m pooled.
    units : ndarray of int, shape (n,), optional
        Person of each record of a panel: persons are split, and the test uses their mean scores.
    by : str, optional
        Variable whose groups are compared, too; numbers are grouped by fifths.

    Returns
    -------
    DifferentialResult
        Differences above 0 mean a higher risk of training records.

    Raises
    ------
    DataError
        With all problems, such as unknown names, or m or repeats below 1.

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
    ...     table, lambda half, m, repeat: [half] * m, keys=["key"], target="secret", seed=1)
    >>> result.comparisons[0].difference > 0.1, result.comparisons[0].covers_zero
    (True, False)
    """
    check_keys(table, keys=keys, target=target, groups=groups)
    grouping = None if by is None else Grouping.of(table, by)
    scenario = with_cut_points(
        Scenario(keys=tuple(keys), target=target, groups=groups or {}, tolerance=tolerance), table
    )
    runs = half_runs(table, synthesise, m=m, repeats=repeats, seed=seed, units=units)
    return gather(scenario, (compare_halves(run, scenario, grouping) for run in runs), by)


def with_cut_points(scenario: Scenario, table: Table) -> Scenario:
    """Return the scenario with quantile groups as cut points of the whole table."""
    return replace(scenario, groups=fixed_groups(table, scenario.groups))


def compare_halves(run: HalfRun, scenario: Scenario, by: Grouping | None = None) -> HalfPart:
    """Return the comparison of both parts of a run for one scenario with cut points.

    Parameters
    ----------
    run : HalfRun
        Of `half_runs` or `control_run`.
    scenario : Scenario
        Keys and target; `with_cut_points` makes quantiles cut points.
    by : Grouping, optional
        Groups that are compared, too.

    Returns
    -------
    HalfPart
        For `gather`.

    Examples
    --------
    >>> from synthesizer.data.pairs import as_table
    >>> from synthesizer.measures.halves import control_run
    >>> import pandas as pd
    >>> people = pd.DataFrame({"town": list("abcd") * 20, "ill": ["no", "yes"] * 40})
    >>> table = as_table(people, ["town", "ill"])
    >>> run = control_run(table.take(slice(0, 40)), table.take(slice(40, 80)), (table,))
    >>> scenario = Scenario(keys=("town",), target="ill")
    >>> result = gather(scenario, [compare_halves(run, scenario)])
    >>> result.comparisons[0].difference
    0.0
    """
    a, b, copied = (
        cap_scores(records, synthetic, **scenario.settings, constant_target=True)
        for records, synthetic in (
            (run.fitted, run.synthetic),
            (run.unseen, run.synthetic),
            (run.unseen, [run.fitted]),
        )
    )

    def sides(one: FloatArray, other: FloatArray, rule: str) -> tuple[FloatArray, FloatArray]:
        return unit_means(one, run.fitted_units, rule), unit_means(other, run.unseen_units, rule)

    return HalfPart(
        comparisons=tuple(
            HalfComparison(repeat=run.repeat, m=m, rule=rule, **_compared(*sides(one, other, rule)))
            for m, (one, other) in enumerate(zip(a.synthetic, b.synthetic, strict=True), start=1)
            for rule in RULES
        ),
        uniques=tuple(_uniques(run, scenario)),
        groups=() if by is None else _compare_groups(run, by, a.synthetic[-1], b.synthetic[-1]),
        released=_compared(*sides(a.original, copied.synthetic[0], "zero"))["difference"],
    )


def _compared(a: FloatArray, b: FloatArray, level: float = 0.95) -> dict[str, Any]:
    """Return the fields that compare the scores of training and holdout records."""
    difference = float(a.mean() - b.mean()) if len(a) and len(b) else None
    return {
        "n_a": len(a),
        "n_b": len(b),
        "mean_a": mean_or_none(a),
        "mean_b": mean_or_none(b),
        "difference": difference,
        **welch(a, b, level),
    }


def _uniques(run: HalfRun, scenario: Scenario) -> Iterator[HalfUniques]:
    fitted, unseen = (
        reproduced_uniques(half, run.synthetic, keys=scenario.keys, groups=scenario.groups)
        for half in (run.fitted, run.unseen)
    )
    sizes = sorted((run.fitted.n_rows, run.unseen.n_rows))
    alike = sizes[1] <= MAX_SIZE_RATIO * sizes[0]
    for f, u in zip(fitted, unseen, strict=True):
        yield HalfUniques(repeat=run.repeat, m=f.m, fitted=f, unseen=u, same_size=alike)


def gather(
    scenario: Scenario, parts: Iterable[HalfPart], by: str | None = None
) -> DifferentialResult:
    """Return the result of all splits of one scenario; `compare_halves` gives an example.

    Parameters
    ----------
    scenario : Scenario
        Keys and target.
    parts : iterable of HalfPart
        Of `compare_halves`, one for each split.
    by : str, optional
        Variable of the groups that were compared.

    Returns
    -------
    DifferentialResult
        Differences in [-1, 1]; above 0 means a higher risk of training records.
    """
    parts = list(parts)
    splits: dict[tuple[int, str], list[HalfComparison]] = {}
    groups: dict[str, list[GroupComparison]] = {}
    for split in parts:
        for row in split.comparisons:
            splits.setdefault((row.m, row.rule), []).append(row)
        for group in split.groups:
            groups.setdefault(group.group, []).append(group)
    averages = [same[0] if len(same) == 1 else _average(same) for same in groups.values()]
    return DifferentialResult(
        keys=scenario.keys,
        target=scenario.target,
        comparisons=tuple(row for split in parts for row in split.comparisons),
        uniques=tuple(row for split in parts for row in split.uniques),
        summary=tuple(_spread(m, rule, same) for (m, rule), same in splits.items()),
        groups=tuple(row for split in parts for row in split.groups),
        worst_group=max(averages, key=lambda row: row.difference, default=None),
        released=mean_of_known([split.released for split in parts]),
        by=by,
    )


def _spread(m: int, rule: str, same: Sequence[HalfComparison]) -> Spread:
    differences = [c.difference for c in same if c.difference is not None]
    return Spread(
        m=m,
        rule=rule,
        repeats=len(same),
        mean_a=mean_of_known([c.mean_a for c in same]),
        mean_b=mean_of_known([c.mean_b for c in same]),
        difference=mean_of_known(differences),
        difference_sd=float(np.std(differences, ddof=1)) if len(differences) > 1 else None,
        low=mean_of_known([c.low for c in same]),
        high=mean_of_known([c.high for c in same]),
        covering_zero=sum(bool(c.covers_zero) for c in same),
    )


@dataclass(frozen=True, eq=False)
class Grouping:
    """Groups of records by one variable, defined on the whole table."""

    name: str
    coder: ColumnCoder
    labels: tuple[str, ...]

    @classmethod
    def of(cls, table: Table, name: str) -> Grouping:
        """Return the groups of a variable: its levels, or fifths of more than 10 numbers.

        Raises
        ------
        DataError
            If the table lacks the variable.
        """
        check_keys(table, keys=[name])
        column = table[name]
        coder = ColumnCoder.fit(column)
        if column.is_coded:
            return cls(name, coder, coder.labels)
        if coder.values is not None and len(coder.values) <= MANY_VALUES:
            return cls(name, coder, (*(f"{value:g}" for value in coder.values), *coder.labels))
        coder = ColumnCoder.fit(column, FIFTHS)
        count = coder.size - len(coder.labels)
        fifths = (f"fifth {number} of {count}" for number in range(1, count + 1))
        return cls(name, coder, (*fifths, *coder.labels))

    def codes(self, table: Table) -> Codes:
        """Return the group of each record, shape (n,)."""
        return self.coder.encode(table[self.name])


def _compare_groups(
    run: HalfRun, by: Grouping, a: FloatArray, b: FloatArray
) -> tuple[GroupComparison, ...]:
    """Return the comparison in each group with at least `MIN_UNITS` units in both halves.

    ``a`` and ``b`` are the CAP of training and holdout records, NaN without a match.
    """
    groups_fitted, groups_unseen = by.codes(run.fitted), by.codes(run.unseen)
    pairs = []
    for code, label in enumerate(by.labels):
        in_a, in_b = groups_fitted == code, groups_unseen == code
        scores_a = unit_means(a[in_a], run.fitted_units[in_a], "zero")
        scores_b = unit_means(b[in_b], run.unseen_units[in_b], "zero")
        if min(len(scores_a), len(scores_b)) >= MIN_UNITS:
            pairs.append((label or EMPTY, (scores_a, scores_b)))
    level = 1 - 0.05 / max(len(pairs), 1)
    return tuple(
        GroupComparison(by=by.name, group=label, repeat=run.repeat, **_group_fields(*sides, level))
        for label, sides in pairs
    )


def _group_fields(a: FloatArray, b: FloatArray, level: float) -> dict[str, Any]:
    fields = _compared(a, b, level)
    if fields["low"] is None and not fields["difference"]:
        # all scores of the group are equal
        fields |= {"low": 0.0, "high": 0.0}
    return {name: value for name, value in fields.items() if name not in ("t", "df", "p")}


def _average(same: Sequence[GroupComparison]) -> GroupComparison:
    """Return the mean over splits; ends of the interval are None if one split lacks them."""
    means: dict[str, Any] = {}
    for name in ("n_a", "n_b", "mean_a", "mean_b", "difference", "low", "high"):
        values = [getattr(row, name) for row in same]
        means[name] = None if None in values else float(np.mean(values))
    means |= {name: round(means[name]) for name in ("n_a", "n_b")}
    return GroupComparison(by=same[0].by, group=same[0].group, repeat=None, **means)


def _split(case: Case) -> HalfPart:
    by = case.settings.differential_confidentiality.by
    grouping = None if by is None else Grouping.of(case.original, by)
    return compare_halves(
        case.halves, with_cut_points(case.required_scenario, case.original), grouping
    )


def _gathered(case: Case, parts: Sequence[HalfPart]) -> DifferentialResult:
    fixed = with_cut_points(case.required_scenario, case.original)
    return gather(fixed, parts, case.settings.differential_confidentiality.by)


MEASURES = (
    Measure(
        "differential_confidentiality",
        "splits",
        after="tcap",
        result_field="differential",
        words="differential confidentiality: CAP of training and of holdout records",
        options=DifferentialOptions,
        compute=_split,
        gather=_gathered,
        figures=(DIFFERENTIAL_CONFIDENTIALITY, WORST_GROUP, REPRODUCED_UNIQUES),
    ),
)
