"""Correct attribution probability (CAP): can a known key give away the target?

The attack: an intruder knows some key variables of a person, looks up the records with that key
and reads off the target. CAP is the share of those records that show the person's true target.
It is computed from the original data (the worst case), from synthetic data, and as a baseline
from the target's distribution alone.

Sources: Elliot (2014), Final report on the disclosure risk associated with the synthetic data
produced by the SYLLS team; Taub, Elliot, Pampaka and Smith (2018), Differential correct
attribution probability for synthetic data, equations 3 to 6.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from synthesizer.data.codes import Groups, JointCoder
from synthesizer.data.errors import DataError
from synthesizer.data.pairs import Data, as_table
from synthesizer.data.table import BoolArray, FloatArray
from synthesizer.measures.figure import Figure, Row, column
from synthesizer.measures.risk.comparable import OfTarget, checked_tables
from synthesizer.measures.risk.scenario import Tolerance, check_tolerance, hits_counter
from synthesizer.measures.risk.suda import affordable_size, suda

_FEWEST = 3
"""So many numbers of datasets are needed for a straight line."""


class CapMeans(Row):
    """Mean CAP of one subset of the original records; None where there is nothing to average.

    The baselines are the same with the baseline CAP of the records that match in place of the
    synthetic one: what matches would give if their targets were anybody's.
    """

    subset: str = column("Records", "text", "subset of the original records")
    size: int = column("Number", "count", "original records in the subset")
    matched: int = column("Matched", "count", "those whose key the synthetic data have")
    zero: float | None = column("CAP (0)", "share", "no match counts as 0")
    chance_zero: float | None = column("Baseline (0)", "share", "the same by chance")
    undefined: float | None = column("CAP (left out)", "share", "no match is left out")
    chance_undefined: float | None = column("Baseline (left out)", "share", "the same by chance")


class CapRow(CapMeans):
    """Mean CAP from the first ``m`` synthetic datasets pooled."""

    m: int = column("Datasets", "count", "the first m pooled")


class CapSingle(CapMeans):
    """Mean CAP from one synthetic dataset alone."""

    dataset: int = column("Dataset", "count", "its number, from 1")


class CapResult(OfTarget):
    """Mean CAP of subsets of the original records (tables 1, 5 and 6 of Taub et al. 2018)."""

    n: int
    """Number of original records."""
    sizes: dict[str, int]
    """Number of records in each subset."""
    original: dict[str, float | None]
    """Mean CAP by subset if the original were released, the upper mark; None for empty subsets."""
    baseline: dict[str, float | None]
    """Mean CAP by subset from the target's distribution alone, the lower mark."""
    synthetic: tuple[CapRow, ...]
    """By number of pooled datasets and subset."""
    singles: tuple[CapSingle, ...]
    """By dataset and subset: what each of them gives away alone."""

    def row(self, m: int, subset: str = "all") -> CapRow:
        """Return the row for ``m`` pooled datasets; raises KeyError if there is none."""
        for row in self.synthetic:
            if (row.m, row.subset) == (m, subset):
                return row
        raise KeyError(f"m = {m}, {subset!r}: there are m = 1 to {self.last}, {list(self.sizes)}")

    @property
    def last(self) -> int:
        """Number of datasets; their pool decides about a release."""
        return self.synthetic[-1].m

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Mean CAP of all datasets pooled, for every subset, and of matches."""
        zero = [self._figure(subset) for subset in _WORDS if subset in self.sizes]
        whole = self.row(self.last)
        matches = Figure(
            key="cap_undefined",
            name="CAP of matches",
            value=whole.undefined,
            meaning=f"the same, {{records}} without a match left out ({whole.matched:,} match)",
            direction="lower is safer",
            n=whole.matched,
            baseline=whole.chance_undefined,
            original=self.original["all"],
        )
        return (zero[0], matches, *zero[1:])

    def _figure(self, subset: str) -> Figure:
        key, name, whose = _WORDS[subset]
        row = self.row(self.last, subset)
        return Figure(
            key=key,
            name=name,
            value=row.zero,
            meaning=f"how often an intruder with the keys reads off the right {self.target} "
            f"of {whose} in all datasets pooled, non-matches as zero; baseline: the target of "
            "those that match guessed from its distribution",
            direction="lower is safer",
            n=self.sizes[subset],
            baseline=row.chance_zero,
            original=self.original[subset],
        )


_WORDS = {
    "all": ("cap", "CAP", "all {records}"),
    "uniques": ("cap_u", "CAP-U", "{records} whose key nobody shares"),
    "special_uniques": (
        "cap_special_uniques",
        "CAP of special uniques",
        "the most special of them (SUDA)",
    ),
}
"""Key and name of the figure of a subset, and whose CAP it is."""


@dataclass(frozen=True, eq=False)
class CapScores:
    """CAP of every original record."""

    original: FloatArray
    """From the original data, shape (n,), in (0, 1]."""
    baseline: FloatArray
    """From the target's distribution alone, shape (n,), in (0, 1]."""
    synthetic: FloatArray
    """From the first 1, ..., M synthetic datasets pooled, shape (M, n); NaN without a match."""
    singles: FloatArray
    """From each synthetic dataset alone, shape (M, n); NaN without a match."""
    uniques: BoolArray
    """Where the key occurs once in the original, shape (n,)."""


def cap_scores(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    keys: Sequence[str],
    target: str,
    groups: Mapping[str, Groups] | None = None,
    tolerance: Tolerance | None = None,
    constant_target: bool = False,
) -> CapScores:
    """Return the CAP of every original record; see `cap` for the parameters.

    ``constant_target`` allows a target with one value, for parts of a table that has more.
    Time is that of sorting; memory does not grow with the number of synthetic datasets (except
    for the scores themselves).
    """
    original, synthetic = checked_tables(
        original,
        synthetic,
        keys=keys,
        target=target,
        groups=groups,
        constant_target=constant_target,
    )
    check_tolerance(original[target], tolerance)
    groups = groups or {}
    coder = JointCoder(original, keys, groups)
    ours, truth = coder.codes, original[target]
    size_of_key = np.bincount(ours, minlength=coder.size)[ours]
    hits = hits_counter(ours, truth, groups.get(target), tolerance)
    one_key = np.zeros_like(ours)
    everywhere = hits_counter(one_key, truth, groups.get(target), tolerance)

    matched = np.zeros(original.n_rows, dtype=np.int64)
    right = np.zeros(original.n_rows, dtype=np.int64)
    scores = np.full((len(synthetic), original.n_rows), np.nan)
    singles = scores.copy()
    for position, table in enumerate(synthetic):
        theirs = coder.encode(table)
        single_matched = np.bincount(theirs[theirs >= 0], minlength=coder.size)[ours]
        single_right = hits.count(theirs, table[target])
        np.divide(single_right, single_matched, out=singles[position], where=single_matched > 0)
        matched += single_matched
        right += single_right
        np.divide(right, matched, out=scores[position], where=matched > 0)
    return CapScores(
        original=hits.count(ours, truth) / size_of_key,
        baseline=everywhere.count(one_key, truth) / original.n_rows,
        synthetic=scores,
        singles=singles,
        uniques=size_of_key == 1,
    )


def cap(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    keys: Sequence[str],
    target: str,
    groups: Mapping[str, Groups] | None = None,
    tolerance: Tolerance | None = None,
    special_uniques: bool = True,
    subsets: Mapping[str, BoolArray] | None = None,
) -> CapResult:
    """Return the mean CAP of original, baseline and synthetic data for nested m = 1, ..., M.

    Parameters
    ----------
    original : Table or DataFrame
        Confidential records, shape (n, p).
    synthetic : Table, DataFrame or sequence of them
        M synthetic datasets of any sizes; dataset 1 to m are pooled by concatenation.
    keys : sequence of str
        Variables that the intruder knows.
    target : str
        Variable that the intruder wants to learn.
    groups : mapping of str to int or sequence of float, optional
        Number of quantile groups of the original, or cut points, for numeric keys and target;
        others count by exact value. Missing codes are values.
    tolerance : Tolerance, optional
        How near a numeric target must be to be right, in place of groups.
    special_uniques : bool
        Whether special uniques (`risk.suda`) are a subset too; minimal uniques are
        looked for among as many keys as is affordable.
    subsets : mapping of str to ndarray of bool, shape (n,), optional
        Further subsets of the original records, beside "all", "uniques" and "special_uniques".

    Returns
    -------
    CapResult
        Values in [0, 1]; higher is riskier.

    Raises
    ------
    DataError
        For unknown keys or target, an empty synthetic dataset and the like, all at once.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"key": list("aabb"), "secret": ["no", "no", "no", "yes"]})
    >>> made = pd.DataFrame({"key": list("aa"), "secret": ["no", "yes"]})
    >>> result = cap(people, made, keys=["key"], target="secret")
    >>> result.original["all"], result.baseline["all"]
    (0.75, 0.625)
    >>> result.row(1).zero, result.row(1).undefined, result.row(1).matched
    (0.25, 0.5, 2)
    """
    table = as_table(original, [*keys, target])
    scores = cap_scores(
        original, synthetic, keys=keys, target=target, groups=groups, tolerance=tolerance
    )
    masks = {"all": np.ones(table.n_rows, dtype=bool), "uniques": scores.uniques}
    masks |= _checked_subsets(subsets or {}, table.n_rows)
    if special_uniques and "special_uniques" not in masks:
        size = affordable_size(len(keys), table.n_rows)
        masks["special_uniques"] = suda(table, keys, groups=groups, max_size=size).special
    return CapResult(
        keys=tuple(keys),
        target=target,
        n=table.n_rows,
        sizes={name: int(mask.sum()) for name, mask in masks.items()},
        original={name: mean_or_none(scores.original[mask]) for name, mask in masks.items()},
        baseline={name: mean_or_none(scores.baseline[mask]) for name, mask in masks.items()},
        synthetic=tuple(
            CapRow(m=m, **row) for m, row in _rows(scores.synthetic, scores.baseline, masks)
        ),
        singles=tuple(
            CapSingle(dataset=number, **row)
            for number, row in _rows(scores.singles, scores.baseline, masks)
        ),
    )


def mean_or_none(values: FloatArray | BoolArray) -> float | None:
    """Return the mean, None where there is nothing to average (NaN is no number in a file)."""
    return float(values.mean()) if len(values) else None


def _rows(
    scores: FloatArray, baseline: FloatArray, masks: Mapping[str, BoolArray]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of every row of scores, from 1, and its means by subset."""
    for number, row in enumerate(scores, start=1):
        matched = ~np.isnan(row)
        for name, mask in masks.items():
            size, use = int(mask.sum()), mask & matched
            right, chance = row[use], baseline[use]
            yield (
                number,
                {
                    "subset": name,
                    "size": size,
                    "matched": len(right),
                    "zero": float(right.sum() / size) if size else None,
                    "undefined": mean_or_none(right),
                    "chance_zero": float(chance.sum() / size) if size else None,
                    "chance_undefined": mean_or_none(chance),
                },
            )


def _checked_subsets(subsets: Mapping[str, BoolArray], n: int) -> dict[str, BoolArray]:
    problems = []
    for name, mask in subsets.items():
        if name in ("all", "uniques"):
            problems.append(f"subset {name!r} is built in: choose another name")
        elif np.shape(mask) != (n,) or np.asarray(mask).dtype != np.bool_:
            problems.append(f"subset {name!r} must be a boolean mask with one value per record")
    if problems:
        raise DataError(problems)
    return {name: np.asarray(mask) for name, mask in subsets.items()}


class CapUResult(OfTarget):
    """Mean CAP of the statistical uniques of the original, non-matches as zero."""

    uniques: int
    """Original records whose key nobody shares."""
    baseline: float | None
    """Their mean baseline CAP; None where there are no uniques. The original itself has 1."""
    synthetic: tuple[CapRow, ...]
    """By number of pooled datasets; ``zero`` is CAP-U, None where there are no uniques."""

    @property
    def value(self) -> float | None:
        """CAP-U of all datasets together."""
        return self.synthetic[-1].zero

    @property
    def figures(self) -> tuple[Figure, ...]:
        """CAP-U of all datasets together."""
        figure = Figure(
            key="cap_u",
            name="CAP-U",
            value=self.value,
            meaning=f"mean CAP of {self.target} for people whose key nobody shares, "
            "non-matches as zero",
            direction="lower is safer",
            n=self.uniques,
            baseline=self.synthetic[-1].chance_zero,
            original=1.0 if self.uniques else None,
        )
        return (figure,)


def cap_u(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    keys: Sequence[str],
    target: str,
    groups: Mapping[str, Groups] | None = None,
    tolerance: Tolerance | None = None,
) -> CapUResult:
    """Return CAP-U for nested m = 1, ..., M: the mean CAP of uniques, non-matches as zero.

    Parameters and errors are those of `cap`.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"town": list("aabc"), "ill": ["yes", "no", "no", "yes"]})
    >>> made = pd.DataFrame({"town": list("ab"), "ill": ["no", "no"]})
    >>> result = cap_u(people, made, keys=["town"], target="ill")
    >>> result.uniques, result.value
    (2, 0.5)
    """
    asked: dict[str, Any] = {"keys": keys, "target": target, "groups": groups}
    result = cap(original, synthetic, **asked, tolerance=tolerance, special_uniques=False)
    return CapUResult(
        keys=result.keys,
        target=target,
        uniques=result.sizes["uniques"],
        baseline=result.baseline["uniques"],
        synthetic=tuple(row for row in result.synthetic if row.subset == "uniques"),
    )


class Line(Row):
    """Ordinary least squares of a mean on m = 1, ..., M; p-values from t with M - 2 df.

    A p-value is None where every point lies on the line: there is no error to compare with.
    """

    intercept: float = column("Start", "number")
    intercept_error: float = column("Its error", "number")
    slope: float = column("Rise for each", "number")
    slope_error: float = column("Its error (rise)", "number")
    intercept_p: float | None = column("p of the start", "number")
    slope_p: float | None = column("p of the rise", "number")
    r2: float = column("R²", "number")
    df: int = column("df", "count")


class CapRegression(Row):
    """Does the mean CAP of one subset rise with the number of datasets?"""

    subset: str = column("Records", "text", "subset of the original records")
    rule: str = column("Rule", "text", 'how no match counts: as "zero", or "undefined"')
    n_m: int = column("Numbers of datasets", "count", "points of the line")
    line: Line | None
    """None with fewer than three m, a mean that is undefined, or means that are all equal."""


def regress_on_m(means: Sequence[float | None]) -> Line | None:
    """Fit a straight line to the means of m = 1, ..., M; None where there is no line.

    Examples
    --------
    >>> line = regress_on_m([0.1, 0.2, 0.2, 0.3])
    >>> round(line.slope, 3), round(line.slope_p, 3), line.df
    (0.06, 0.051, 2)
    >>> regress_on_m([0.1, None, 0.2]) is None
    True
    """
    known = [mean for mean in means if mean is not None]
    if len(known) < len(means) or len(known) < _FEWEST or len(set(known)) == 1:
        return None
    fit = stats.linregress(np.arange(1, len(known) + 1), known)
    df = len(known) - 2
    return Line(
        intercept=float(fit.intercept),
        slope=float(fit.slope),
        intercept_error=float(fit.intercept_stderr),
        slope_error=float(fit.stderr),
        intercept_p=_p_value(fit.intercept, fit.intercept_stderr, df),
        slope_p=_p_value(fit.slope, fit.stderr, df),
        r2=float(fit.rvalue**2),
        df=df,
    )


def cap_regression(result: CapResult) -> tuple[CapRegression, ...]:
    """Regress the mean CAP on m, for each subset and each rule for non-matches.

    Parameters
    ----------
    result : CapResult
        From `cap` with at least three datasets.

    Returns
    -------
    tuple of CapRegression
        Subsets in the order of the result, "zero" before "undefined".

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"town": list("aabc"), "ill": ["yes", "no", "no", "yes"]})
    >>> made = [people.iloc[[0]], people.iloc[[1]], people.iloc[[2]]]
    >>> zero, *others = cap_regression(cap(people, made, keys=["town"], target="ill"))
    >>> zero.subset, zero.rule, round(zero.line.slope, 3)
    ('all', 'zero', 0.125)
    """
    rows = sorted(result.synthetic, key=lambda row: row.m)
    means = {
        (subset, rule): [getattr(row, rule) for row in rows if row.subset == subset]
        for subset in result.sizes
        for rule in ("zero", "undefined")
    }
    return tuple(
        CapRegression(subset=subset, rule=rule, n_m=len(points), line=regress_on_m(points))
        for (subset, rule), points in means.items()
    )


def _p_value(estimate: float, error: float, df: int) -> float | None:
    return float(2 * stats.t.sf(abs(estimate / error), df)) if error > 0 else None
