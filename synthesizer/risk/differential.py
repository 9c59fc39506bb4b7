"""Differential confidentiality: does a release say more about those it was fitted on?

The records are split at random into halves A and B, synthetic data are made from A alone, and the
CAP of A's records is compared with that of B's. What the synthesis says about B it says about
anybody; what it says about A beyond that is the risk of having been in the data. This is a test
after the fact, not a guarantee, and no differential privacy.

Source: Taub, Elliot, Pampaka and Smith (2018), section 4.3 and table 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from synthesizer.data.codes import Groups
from synthesizer.data.comparable import check_keys
from synthesizer.data.table import FloatArray, IntArray, Table
from synthesizer.risk.attribution import Tolerance
from synthesizer.risk.cap import CapScores, cap_scores, fixed_groups
from synthesizer.risk.half_groups import GroupComparison, Grouping, compare_groups
from synthesizer.risk.half_results import (
    DifferentialResult,
    HalfComparison,
    HalfPart,
    HalfUniques,
    gather,
)
from synthesizer.risk.halves import HalfRun, Synthesise, half_runs
from synthesizer.risk.scenario import Scenario
from synthesizer.risk.uniques import reproduced_uniques
from synthesizer.risk.welch import unit_means, welch

__all__ = ["compare_halves", "differential_confidentiality", "with_cut_points"]

RULES = ("zero", "undefined")
ALIKE = 1.05
"""Largest ratio of the sizes of halves whose uniques can be compared."""


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
    keys, target : sequence of str, str
        What the intruder knows, and wants to learn.
    m : int
        Number of datasets; results are given for the first 1, ..., m pooled.
    repeats : int
        Number of random splits.
    rng : numpy.random.Generator
        Draws the splits.
    groups, tolerance
        For numeric keys and target, as in `synthesizer.risk.cap.cap`; quantiles are those of
        the whole table.
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
    >>> from synthesizer.data.schema import Kind, Variable
    >>> from synthesizer.data.table import Column
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
    given = Scenario(keys=tuple(keys), target=target, groups=groups or {}, tolerance=tolerance)
    scenario = with_cut_points(given, table)
    runs = half_runs(table, synthesise, m=m, repeats=repeats, rng=rng, units=units)
    return gather(scenario, (compare_halves(run, scenario, grouping) for run in runs), by)


def with_cut_points(scenario: Scenario, table: Table) -> Scenario:
    """Return the scenario with the quantiles of the whole table, for parts of it."""
    return replace(scenario, groups=fixed_groups(table, scenario.groups))


def compare_halves(run: HalfRun, scenario: Scenario, by: Grouping | None = None) -> HalfPart:
    """Compare both parts of a run for one scenario, whose groups must be cut points.

    Parameters
    ----------
    run : HalfRun
        Fitted and unseen records, and what was made of the fitted.
    scenario : Scenario
        Keys and target, from `with_cut_points`.
    by : Grouping, optional
        Groups to look at one by one.
    """
    a = _scores(run.fitted, run.synthetic, scenario)
    b = _scores(run.unseen, run.synthetic, scenario)
    copied = _scores(run.unseen, [run.fitted], scenario).synthetic[0]
    released = _difference(
        unit_means(a.original, run.fitted_units, "zero"),
        unit_means(copied, run.unseen_units, "zero"),
    )
    found: tuple[GroupComparison, ...] = ()
    if by is not None:
        found = compare_groups(run, by, a.synthetic[-1], b.synthetic[-1])
    return HalfPart(
        comparisons=tuple(_compare(run, a.synthetic, b.synthetic)),
        uniques=tuple(_uniques(run, scenario)),
        groups=found,
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
    mean_a = float(a.mean()) if len(a) else None
    mean_b = float(b.mean()) if len(b) else None
    difference = _difference(a, b)
    test = welch(a, b)
    return HalfComparison(repeat, m, rule, len(a), len(b), mean_a, mean_b, difference, **test)


def _uniques(run: HalfRun, scenario: Scenario) -> list[HalfUniques]:
    fitted, unseen = (
        reproduced_uniques(half, run.synthetic, keys=scenario.keys, groups=scenario.groups)
        for half in (run.fitted, run.unseen)
    )
    sizes = sorted((run.fitted.n_rows, run.unseen.n_rows))
    alike = sizes[1] <= ALIKE * sizes[0]
    return [HalfUniques(run.repeat, f.m, f, u, alike) for f, u in zip(fitted, unseen, strict=True)]
