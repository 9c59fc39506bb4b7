"""Differential confidentiality: does a release say more about those it was fitted on?

The records are split at random into halves A and B, synthetic data are made from A alone, and the
CAP of A's records is compared with that of B's. What the synthesis says about B it says about
anybody; what it says about A beyond that is the risk of having been in the data. This is a test
after the fact, not a guarantee, and no differential privacy.

Source: Taub, Elliot, Pampaka and Smith (2018), section 4.3 and table 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from synthesizer.data.codes import Groups
from synthesizer.data.comparable import check_keys
from synthesizer.data.table import BoolArray, FloatArray, IntArray, Table
from synthesizer.errors import DataError
from synthesizer.risk.attribution import Tolerance
from synthesizer.risk.cap import cap_scores, fixed_groups
from synthesizer.risk.uniques import ReproducedUniques, reproduced_uniques
from synthesizer.risk.welch import welch

__all__ = [
    "DifferentialResult",
    "HalfComparison",
    "HalfUniques",
    "Spread",
    "Synthesise",
    "differential_confidentiality",
    "half_split",
]

Synthesise = Callable[[Table, int, int], list[Table]]


@dataclass(frozen=True)
class HalfComparison:
    """Mean CAP of the fitted half A and the unseen half B, Welch's t test of their difference.

    ``n_a`` and ``n_b`` are the scores compared (records, or units where units are given; matched
    ones under the rule "undefined"). What cannot be computed, for want of scores, is None.
    """

    repeat: int
    m: int
    rule: str
    n_a: int
    n_b: int
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    t: float | None
    df: float | None
    p: float | None
    low: float | None
    high: float | None

    @property
    def covers_zero(self) -> bool | None:
        """Whether the 95 % interval holds 0: called differentially confidential for the keys.

        None where there is no interval: nothing computed is no good news.
        """
        if self.low is None or self.high is None:
            return None
        return self.low <= 0 <= self.high


@dataclass(frozen=True)
class HalfUniques:
    """Key-uniques of the fitted half and of the unseen half that one synthesis reproduces."""

    repeat: int
    m: int
    fitted: ReproducedUniques
    unseen: ReproducedUniques


@dataclass(frozen=True)
class Spread:
    """Averages over repeats; ``difference_sd`` is their standard deviation (None for one)."""

    m: int
    rule: str
    repeats: int
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    difference_sd: float | None
    covering_zero: int


@dataclass(frozen=True)
class DifferentialResult:
    """Everything one call of `differential_confidentiality` found."""

    keys: tuple[str, ...]
    target: str
    comparisons: tuple[HalfComparison, ...]
    uniques: tuple[HalfUniques, ...]
    summary: tuple[Spread, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        comparisons = [asdict(c) | {"covers_zero": c.covers_zero} for c in self.comparisons]
        return asdict(self) | {"keys": list(self.keys), "comparisons": comparisons}


def half_split(units: IntArray, rng: np.random.Generator) -> BoolArray:
    """Return where a record belongs to half A; all records of a unit go together.

    Parameters
    ----------
    units : ndarray of int, shape (n,)
        The unit (person) that each record belongs to.
    rng : numpy.random.Generator
        Draws the split. Of an odd number of units A gets one more.

    Examples
    --------
    >>> in_a = half_split(np.array([7, 8, 8, 9, 9]), np.random.default_rng(1))
    >>> bool(in_a[1] == in_a[2]), bool(in_a[3] == in_a[4])
    (True, True)
    """
    known, position = np.unique(units, return_inverse=True)
    chosen = np.zeros(len(known), dtype=bool)
    chosen[rng.permutation(len(known))[: (len(known) + 1) // 2]] = True
    return np.asarray(chosen[position])


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
) -> DifferentialResult:
    """Compare the CAP of records that a synthesis was fitted on with that of unseen ones.

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

    Returns
    -------
    DifferentialResult
        Differences above 0 mean that the release says more about the fitted half.

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
    _check(table, keys, target, groups, m, repeats, units)
    units = np.arange(table.n_rows) if units is None else np.asarray(units)
    settings: dict[str, Any] = {"keys": keys, "target": target, "tolerance": tolerance}
    settings["groups"] = fixed_groups(table, groups)
    comparisons: list[HalfComparison] = []
    uniques: list[HalfUniques] = []
    for repeat in range(repeats):
        in_a = half_split(units, rng)
        half_a, half_b = table.take(in_a), table.take(~in_a)
        made = synthesise(half_a, m, repeat)
        comparisons += _compare(
            repeat,
            (_scores(half_a, made, settings), units[in_a]),
            (_scores(half_b, made, settings), units[~in_a]),
        )
        uniques += _uniques(repeat, half_a, half_b, made, settings)
    return DifferentialResult(
        tuple(keys), target, tuple(comparisons), tuple(uniques), _summary(comparisons)
    )


def _check(
    table: Table,
    keys: Sequence[str],
    target: str,
    groups: Mapping[str, Groups] | None,
    m: int,
    repeats: int,
    units: IntArray | None,
) -> None:
    check_keys(table, keys=keys, target=target, groups=groups)
    problems = []
    if units is not None and np.shape(units) != (table.n_rows,):
        problems.append("units must have one value per record")
    if (table.n_rows if units is None else len(np.unique(units))) < 2:
        problems.append("a half split needs at least two records (units): use more data")
    for name, value in (("m", m), ("repeats", repeats)):
        if value < 1:
            problems.append(f"{name} ({value}) must be at least 1")
    if problems:
        raise DataError(problems)


def _scores(half: Table, made: Sequence[Table], settings: Mapping[str, Any]) -> FloatArray:
    return cap_scores(half, made, **settings, constant_target=True).synthetic


def _compare(
    repeat: int, a: tuple[FloatArray, IntArray], b: tuple[FloatArray, IntArray]
) -> list[HalfComparison]:
    results = []
    for m in range(1, len(a[0]) + 1):
        for rule in ("zero", "undefined"):
            left = _per_unit(a[0][m - 1], a[1], rule)
            right = _per_unit(b[0][m - 1], b[1], rule)
            results.append(_comparison(repeat, m, rule, left, right))
    return results


def _comparison(repeat: int, m: int, rule: str, a: FloatArray, b: FloatArray) -> HalfComparison:
    mean_a = float(a.mean()) if len(a) else None
    mean_b = float(b.mean()) if len(b) else None
    difference = None if mean_a is None or mean_b is None else mean_a - mean_b
    test = welch(a, b)
    return HalfComparison(repeat, m, rule, len(a), len(b), mean_a, mean_b, difference, **test)


def _per_unit(scores: FloatArray, units: IntArray, rule: str) -> FloatArray:
    """Return one score per unit: non-matches count as 0, or are left out."""
    use = np.ones(len(scores), dtype=bool) if rule == "zero" else ~np.isnan(scores)
    _, position = np.unique(units[use], return_inverse=True)
    sums = np.bincount(position, weights=np.nan_to_num(scores[use]))
    return np.asarray(sums / np.bincount(position))


def _uniques(
    repeat: int, a: Table, b: Table, made: Sequence[Table], settings: Mapping[str, Any]
) -> list[HalfUniques]:
    choice = {"keys": settings["keys"], "groups": settings["groups"]}
    fitted, unseen = (reproduced_uniques(half, made, **choice) for half in (a, b))
    return [HalfUniques(repeat, f.m, f, u) for f, u in zip(fitted, unseen, strict=True)]


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
        covering_zero=sum(bool(c.covers_zero) for c in same),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
