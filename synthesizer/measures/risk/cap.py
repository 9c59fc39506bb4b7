"""Correct attribution probability (CAP): do known keys reveal the target?

The attack: an intruder knows the keys of a person, looks up the records with these key values and
guesses the target from them. CAP is the share of those records that have the person's true target.
It is computed from the original (the worst case) and from synthetic data. It has two comparisons:

- the baseline of the paper, equation 5: the share of all original records that have the person's
  target. This is the success of guessing from the distribution of the target alone;
- chance: the expectation with the same matches if their targets were drawn at random. Records
  without a match have no guess, so that chance is below the baseline if they count as 0.

A CAP below the baseline reveals less than the distribution of the target. A CAP above chance shows
that keys and target are associated in the matches. If records without a match are left out,
equation 5 is averaged over the matched records, and baseline and chance are equal.

Sources: Elliot (2014), Final report on the disclosure risk associated with the synthetic data
produced by the SYLLS team; Taub, Elliot, Pampaka and Smith (2018), Differential correct
attribution probability for synthetic data, equations 3 to 6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import scipy

from synthesizer.data.codes import Codes, ColumnCoder, Dictionary, Groups, JointCoder, counts_of
from synthesizer.data.errors import DataError, Problems
from synthesizer.data.pairs import Data, as_table
from synthesizer.data.table import BoolArray, Column, FloatArray, Table
from synthesizer.measures.figure import Figure, FigureKind, Limit, Row, column, nested
from synthesizer.measures.measure import Case, Measure
from synthesizer.measures.risk.comparable import GroupsOf, OfTarget, Synthetic, checked_tables
from synthesizer.measures.risk.fresh_sample import BEYOND, FreshRow, beyond_fresh, expected_of_new
from synthesizer.measures.risk.suda import affordable_size, suda
from synthesizer.measures.scenario import Tolerance

_MIN_POINTS = 3
"""Points that a straight line needs."""


SUBSETS = {
    "all": "all records", "uniques": "uniques on the keys", "special_uniques": "special uniques",
}  # fmt: skip
"""Titles of subsets of the original records."""
RULES = {"zero": "no match counts as 0", "undefined": "no match is left out"}
"""Titles of the rules for records without a match."""


class CapMeans(Row):
    """Mean CAP of one subset of the original records; None without records to average.

    Chance has the baseline CAP (eq. 5) of matched records in place of their synthetic CAP. The
    baseline of all records of the subset is `CapResult.baseline`, that of the matched records
    ``chance_undefined``.
    """

    subset: str = column("Records", "text", "subset of the original records", show=SUBSETS.get)
    size: int = column("Number", "count", "original records in the subset")
    matched: int = column("Matched", "count", "records whose keys occur in the synthetic data")
    zero: float | None = column("CAP, no match = 0", "share", "no match counts as 0")
    chance_zero: float | None = column("Chance, no match = 0", "share", "the same by chance")
    undefined: float | None = column("CAP, matches only", "share", "no match is left out")
    chance_undefined: float | None = column(
        "Chance, matches only", "share", "by chance, which is the baseline of matched records"
    )


class CapRow(CapMeans):
    """Mean CAP from the first ``m`` synthetic datasets pooled."""

    m: int = column("Datasets", "count", "the first m pooled")


class CapSingle(CapMeans):
    """Mean CAP from a single synthetic dataset."""

    dataset: int = column("Dataset", "count", "number of the dataset, from 1")


CAP = FigureKind(
    "cap",
    "CAP",
    "probability that an intruder who knows the keys guesses the target right from all datasets; "
    "0 for {records} without a match",
    title="CAP, all datasets together",
    limit=Limit(),
    summary={"cap_original": "original", "cap_baseline": "baseline", "cap_chance": "chance"},
    is_axis=True,
)
CAP_OF_MATCHES = FigureKind(
    "cap_undefined",
    "CAP of matches",
    "probability that the intruder guesses the target right, for {records} whose key values occur "
    "in the synthetic data",
    title="CAP of matches, all datasets together",
    limit=Limit(),
    is_axis=True,
)
CAP_U = FigureKind(
    "cap_u",
    "CAP-U",
    "probability that the intruder guesses the target right, for {records} with unique key values",
    title="CAP of uniques, all datasets together",
    limit=Limit(some=True),
    is_axis=True,
)
CAP_OF_SPECIAL_UNIQUES = FigureKind(
    "cap_special_uniques",
    "CAP of special uniques",
    "probability that the intruder guesses the target right, for the special uniques (SUDA)",
    title="CAP of special uniques, all datasets together",
    limit=Limit(some=True),
    checks=("suda",),
    is_axis=True,
)
IDENTITY_DISCLOSURE = FigureKind(
    "identity_disclosure",
    "identity disclosure",
    "probability that an intruder who knows the keys picks the right {record} among those that "
    "share them and guesses the target right",
    limit=Limit(),
)
_OF_SUBSET = {"all": CAP, "uniques": CAP_U, "special_uniques": CAP_OF_SPECIAL_UNIQUES}
"""The figure of each subset."""


class CapResult(OfTarget):
    """Mean CAP of subsets of the original records (tables 1, 5 and 6 of Taub et al. 2018)."""

    n: int
    """Number of original records."""
    sizes: dict[str, int]
    """Number of records in each subset."""
    original: dict[str, float | None]
    """Mean CAP by subset of releasing the original; None for empty subsets."""
    baseline: dict[str, float | None]
    """Mean baseline CAP (eq. 5) by subset: guesses from the distribution of the target."""
    synthetic: tuple[CapRow, ...]
    """By number of pooled datasets and subset."""
    singles: tuple[CapSingle, ...]
    """By dataset and subset, from single datasets."""
    identity: float | None = None
    """Mean of CAP divided by the number of {records} with the same keys.

    This is at least the risk of El Emam et al. (2020) for a target with levels. Theirs is lower
    by errors of matching and verification, larger groups in the population, and targets that
    reveal nothing new. For numbers they count similar values; here groups count."""
    identity_new_sample: float | None = None
    """Value from a new sample with as many records, at most as many as the original.

    Estimated by leaving one record out, which is a little low for rare keys. A holdout corrects
    it by the ratio of its value to the leave-one-out estimate for its size."""
    identity_original: float | None = None
    """Value of releasing the original."""
    fresh: tuple[FreshRow, ...] = ()
    """CAP and DiSCO beside those of a new sample of the same population."""

    def row(self, m: int, subset: str = "all") -> CapRow:
        """Return the row for ``m`` pooled datasets; raises KeyError without one."""
        for row in self.synthetic:
            if (row.m, row.subset) == (m, subset):
                return row
        raise KeyError(f"m = {m}, {subset!r}: there are m = 1 to {self.last}, {list(self.sizes)}")

    @property
    def last(self) -> int:
        """Number of datasets."""
        return self.synthetic[-1].m

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Mean CAP of all datasets pooled, of each subset and of matches."""
        if not self.synthetic:
            return ()
        zero = [
            _figure(
                self.row(self.last, subset),
                self.target,
                baseline=self.baseline[subset],
                original=self.original[subset],
            )
            for subset in _OF_SUBSET
            if subset in self.sizes
        ]
        whole = self.row(self.last)
        matches = CAP_OF_MATCHES.of(
            whole.undefined,
            whole.matched,
            f"{whole.matched:,} match; baseline and chance are theirs, and equal",
            datasets=self.last,
            baseline=whole.chance_undefined,
            chance=whole.chance_undefined,
            original=self.original["all"],
        )
        identity = IDENTITY_DISCLOSURE.of(
            self.identity,
            self.n,
            datasets=self.last,
            original=self.identity_original,
            new_sample=self.identity_new_sample,
        )
        return (zero[0], matches, identity, *zero[1:], *(row.figure for row in self.fresh))


def _figure(row: CapRow, target: str, **marks: Any) -> Figure:
    kind = _OF_SUBSET[row.subset]
    return kind.of(
        row.zero,
        row.size,
        f"baseline: {target} guessed from its distribution; chance: the same matches with random "
        f"values of {target}",
        datasets=row.m,
        chance=row.chance_zero,
        **marks,
    )


@dataclass(frozen=True, eq=False)
class CapScores:
    """CAP of each original record."""

    original: FloatArray
    """From the original data, shape (n,), in (0, 1]."""
    baseline: FloatArray
    """From the distribution of the target alone, shape (n,), in (0, 1]."""
    synthetic: FloatArray
    """From the first 1, ..., M synthetic datasets pooled, shape (M, n); NaN without a match."""
    singles: FloatArray
    """From each synthetic dataset alone, shape (M, n); NaN without a match."""
    uniques: BoolArray
    """Which key values occur once in the original, shape (n,)."""
    keys: Codes
    """Combination of keys of each original record, shape (n,)."""
    sizes: tuple[int, ...]
    """Records of each synthetic dataset."""


def cap_scores(
    original: Data,
    synthetic: Synthetic,
    *,
    keys: Sequence[str],
    target: str,
    groups: GroupsOf = None,
    tolerance: Tolerance | None = None,
    constant_target: bool = False,
) -> CapScores:
    """Return the CAP of each original record; see `cap` for parameters and errors.

    ``constant_target`` allows a target with one value, for parts of a table with several. Time is
    that of sorting; apart from the scores, memory does not grow with the number of datasets.

    Returns
    -------
    CapScores
        Scores in [0, 1], NaN without a synthetic match.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"town": list("aabc"), "ill": ["yes", "no", "no", "yes"]})
    >>> made = pd.DataFrame({"town": list("ab"), "ill": ["no", "no"]})
    >>> cap_scores(people, made, keys=["town"], target="ill").synthetic[0].tolist()
    [0.0, 1.0, 1.0, nan]
    """
    original, tables = checked_tables(
        original,
        synthetic,
        keys=keys,
        target=target,
        groups=groups,
        constant_target=constant_target,
    )
    truth = original[target]
    _check_tolerance(truth, tolerance)
    coder = JointCoder(original, keys, groups)
    codes_of_original = coder.codes
    size_of_key = np.bincount(codes_of_original, minlength=coder.size)[codes_of_original]
    exact = partial(_exact, target=truth, groups=(groups or {}).get(target))
    counter = partial(_within, target=truth, tolerance=tolerance) if tolerance else exact
    hits = counter(codes_of_original)
    one_key = np.zeros_like(codes_of_original)

    matched = np.zeros(original.n_rows, dtype=np.int64)
    right = np.zeros(original.n_rows, dtype=np.int64)
    scores = np.full((len(tables), original.n_rows), np.nan)
    singles = scores.copy()
    for position, table in enumerate(tables):
        theirs = coder.encode(table)
        single_matched = counts_of(theirs, coder.size)[codes_of_original]
        single_right = hits(theirs, table[target])
        np.divide(single_right, single_matched, out=singles[position], where=single_matched > 0)
        matched += single_matched
        right += single_right
        np.divide(right, matched, out=scores[position], where=matched > 0)
    return CapScores(
        original=hits(codes_of_original, truth) / size_of_key,
        baseline=counter(one_key)(one_key, truth) / original.n_rows,
        synthetic=scores,
        singles=singles,
        uniques=size_of_key == 1,
        keys=codes_of_original,
        sizes=tuple(table.n_rows for table in tables),
    )


def _check_tolerance(target: Column, tolerance: Tolerance | None) -> None:
    if tolerance is not None and not isinstance(tolerance, Tolerance):
        raise DataError("tolerance must be Tolerance(absolute=..., relative=...)")
    if tolerance is not None and target.is_coded:
        raise DataError(f"target {target.name!r} is not numeric: remove the tolerance")


_Count = Callable[[Codes, Column], Codes]
"""Takes keys and target of records; returns how many have the keys and target of each original
record, shape (n,). Keys of -1 never match."""


def _exact(keys: Codes, target: Column, groups: Groups | None = None) -> _Count:
    """Return a count of targets with the same value, group or missing code."""
    coder = ColumnCoder.fit(target, groups)
    pairs = keys * coder.size + coder.encode(target)
    dictionary = Dictionary(pairs, (int(keys.max(initial=0)) + 1) * coder.size)
    our_pairs = dictionary.find(pairs)

    def count(keys: Codes, target: Column) -> Codes:
        codes = coder.encode(target)
        theirs = np.where((keys >= 0) & (codes >= 0), keys * coder.size + codes, -1)
        return counts_of(dictionary.find(theirs), len(dictionary))[our_pairs]

    return count


def _within(keys: Codes, target: Column, tolerance: Tolerance) -> _Count:
    """Return a count of numbers within a tolerance; missing codes must be equal.

    The records are sorted by key and value, so that two binary searches give each interval.
    """
    observed = target.is_observed
    low, high = tolerance.around(target.data[observed].astype(np.float64))
    wanted = keys[observed]
    missing = _exact(keys, _missing_part(target))

    def count(keys: Codes, target: Column) -> Codes:
        counts = missing(keys, _missing_part(target))
        use = target.is_observed & (keys >= 0)
        values = target.data[use]
        ranked = np.sort(values)
        width = len(ranked) + 1
        ranks = np.sort(keys[use] * width + np.searchsorted(ranked, values))
        first = np.searchsorted(ranks, wanted * width + np.searchsorted(ranked, low, side="left"))
        last = np.searchsorted(ranks, wanted * width + np.searchsorted(ranked, high, side="right"))
        counts[observed] = last - first
        return counts

    return count


def _missing_part(column: Column) -> Column:
    """Return the column with all observed numbers set to 0, so that only missing codes differ."""
    data = np.where(column.is_observed, 0.0, np.nan)
    return Column(column.variable, data, column.states)


def cap(
    original: Data,
    synthetic: Synthetic,
    *,
    keys: Sequence[str],
    target: str,
    groups: GroupsOf = None,
    tolerance: Tolerance | None = None,
    special_uniques: bool = True,
    subsets: Mapping[str, BoolArray] | None = None,
    control: Table | None = None,
) -> CapResult:
    """Return the mean CAP of original, baseline and chance, and of m = 1, ..., M datasets pooled.

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
        other numbers are compared by exact value. Missing codes are values.
    tolerance : Tolerance, optional
        Largest error of a right guess of a numeric target, in place of groups.
    special_uniques : bool
        Whether special uniques (`risk.suda`) are a subset, too; the number of keys of minimal
        uniques is limited by computing time.
    subsets : mapping of str to ndarray of bool, shape (n,), optional
        Further subsets of the original records, beside "all", "uniques" and "special_uniques".
    control : Table, optional
        Holdout records, which correct the estimates for a new sample.

    Returns
    -------
    CapResult
        Values in [0, 1]; higher is riskier.

    Raises
    ------
    DataError
        With all problems, such as unknown keys or target, or an empty synthetic dataset.

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
    means = partial(_means, baseline=scores.baseline, masks=masks)
    sizes = np.bincount(scores.keys)[scores.keys]

    def identity(scores_of: FloatArray) -> float:
        return float(np.mean(np.nan_to_num(scores_of) / sizes))

    expected = partial(expected_of_new, scores.original, scores.keys)
    new_sample = identity(expected(sum(scores.sizes))[0])
    if control is not None and (of_control := identity(expected(control.n_rows)[0])):
        held_out = cap_scores(
            original, control, keys=keys, target=target, groups=groups, tolerance=tolerance
        )
        new_sample *= identity(held_out.singles[0]) / of_control
    return CapResult(
        keys=tuple(keys),
        target=target,
        n=table.n_rows,
        sizes={name: int(mask.sum()) for name, mask in masks.items()},
        original={name: mean_or_none(scores.original[mask]) for name, mask in masks.items()},
        baseline={name: mean_or_none(scores.baseline[mask]) for name, mask in masks.items()},
        synthetic=tuple(
            CapRow(m=m, **row)
            for m, values in enumerate(scores.synthetic, 1)
            for row in means(values)
        ),
        singles=tuple(
            CapSingle(dataset=number, **row)
            for number, values in enumerate(scores.singles, 1)
            for row in means(values)
        ),
        identity=identity(scores.synthetic[-1]),
        identity_new_sample=new_sample,
        identity_original=identity(scores.original),
        fresh=beyond_fresh(scores.singles, scores.original, scores.keys, scores.sizes),
    )


def mean_or_none(values: FloatArray | BoolArray) -> float | None:
    """Return the mean, None without values (JSON has no NaN)."""
    return float(values.mean()) if len(values) else None


def _means(
    scores: FloatArray, baseline: FloatArray, masks: Mapping[str, BoolArray]
) -> Iterator[dict[str, Any]]:
    """Yield the fields of `CapMeans` for each subset."""
    matched = ~np.isnan(scores)
    for name, mask in masks.items():
        size, use = int(mask.sum()), mask & matched
        right, chance = scores[use], baseline[use]
        yield {
            "subset": name,
            "size": size,
            "matched": len(right),
            "zero": float(right.sum() / size) if size else None,
            "undefined": mean_or_none(right),
            "chance_zero": float(chance.sum() / size) if size else None,
            "chance_undefined": mean_or_none(chance),
        }


def _checked_subsets(subsets: Mapping[str, BoolArray], n: int) -> dict[str, BoolArray]:
    problems = Problems()
    for name, mask in subsets.items():
        if name in ("all", "uniques"):
            problems.append(f"subset {name!r} is built in: choose another name")
        elif np.shape(mask) != (n,) or np.asarray(mask).dtype != np.bool_:
            problems.append(f"subset {name!r} must be a boolean mask with one value per record")
    problems.settle(DataError)
    return {name: np.asarray(mask) for name, mask in subsets.items()}


class CapUResult(OfTarget):
    """Mean CAP of the statistical uniques of the original; no match counts as 0."""

    uniques: int
    """Original records with unique key values."""
    baseline: float | None
    """Their mean baseline CAP; None without uniques. Releasing the original has 1."""
    synthetic: tuple[CapRow, ...]
    """By number of pooled datasets; ``zero`` is CAP-U, None without uniques."""

    @property
    def value(self) -> float | None:
        """CAP-U of all datasets together."""
        return self.synthetic[-1].zero

    @property
    def figures(self) -> tuple[Figure, ...]:
        """CAP-U of all datasets together."""
        original = 1.0 if self.uniques else None
        row = self.synthetic[-1]
        return (_figure(row, self.target, baseline=self.baseline, original=original),)


def cap_u(
    original: Data,
    synthetic: Synthetic,
    *,
    keys: Sequence[str],
    target: str,
    groups: GroupsOf = None,
    tolerance: Tolerance | None = None,
) -> CapUResult:
    """Return CAP-U, the mean CAP of uniques (no match counts as 0), of m = 1, ..., M datasets.

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
    result = cap(
        original,
        synthetic,
        keys=keys,
        target=target,
        groups=groups,
        tolerance=tolerance,
        special_uniques=False,
    )
    return CapUResult(
        keys=result.keys,
        target=result.target,
        uniques=result.sizes["uniques"],
        baseline=result.baseline["uniques"],
        synthetic=tuple(row for row in result.synthetic if row.subset == "uniques"),
    )


class Line(Row):
    """Ordinary least squares of a mean on m = 1, ..., M; p-values from t with M - 2 df.

    A p-value is None if all points lie on the line.
    """

    intercept: float = column("Start", "number")
    intercept_error: float = column("Its error", "number")
    slope: float = column("Rise for each", "number")
    slope_error: float = column("Its error (rise)", "number")
    intercept_p: float | None = column("p of the start", "p")
    slope_p: float | None = column("p of the rise", "p")
    r2: float = column("R²", "number")
    df: int = column("df", "count")


class CapRegression(Row):
    """Regression of the mean CAP of one subset on the number of datasets."""

    subset: str = column("Records", "text", "subset of the original records", show=SUBSETS.get)
    rule: str = column("Rule", "text", "rule for records without a match", show=RULES.get)
    n_m: int = column("Numbers of datasets", "count", "points of the line")
    line: Line | None = nested()
    """None with fewer than three m, an undefined mean, or equal means."""


def regress_on_m(means: Sequence[float | None]) -> Line | None:
    """Return a straight line through the means of m = 1, ..., M; None without one.

    Examples
    --------
    >>> line = regress_on_m([0.1, 0.2, 0.2, 0.3])
    >>> round(line.slope, 3), round(line.slope_p, 3), line.df
    (0.06, 0.051, 2)
    >>> regress_on_m([0.1, None, 0.2]) is None
    True
    """
    defined = [mean for mean in means if mean is not None]
    if len(defined) < len(means) or len(defined) < _MIN_POINTS or len(set(defined)) == 1:
        return None
    numbers, df = np.arange(1, len(defined) + 1), len(defined) - 2
    (square, common), (_, of_means) = np.cov(numbers, defined, bias=True)
    slope, r2 = common / square, min(common**2 / (square * of_means), 1.0)
    intercept = np.mean(defined) - slope * numbers.mean()
    error = np.sqrt((1 - r2) * of_means / square / df)
    intercept_error = error * np.sqrt(square + numbers.mean() ** 2)
    return Line(
        intercept=float(intercept),
        slope=float(slope),
        intercept_error=float(intercept_error),
        slope_error=float(error),
        intercept_p=_p_value(intercept, intercept_error, df),
        slope_p=_p_value(slope, error, df),
        r2=float(r2),
        df=df,
    )


def cap_regression(result: CapResult) -> tuple[CapRegression, ...]:
    """Return the regressions of the mean CAP on m, for each subset and rule.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"town": list("aabc"), "ill": ["yes", "no", "no", "yes"]})
    >>> made = [people.iloc[[0]], people.iloc[[1]], people.iloc[[2]]]
    >>> zero, *others = cap_regression(cap(people, made, keys=["town"], target="ill"))
    >>> zero.subset, zero.rule, round(zero.line.slope, 3)
    ('all', 'zero', 0.125)
    """
    regressions = []
    for subset, rule in product(result.sizes, RULES):
        means = [getattr(row, rule) for row in result.synthetic if row.subset == subset]
        line = regress_on_m(means)
        regressions.append(CapRegression(subset=subset, rule=rule, n_m=len(means), line=line))
    return tuple(regressions)


def _p_value(estimate: float, error: float, df: int) -> float | None:
    return float(2 * scipy.special.stdtr(df, -abs(estimate / error))) if error > 0 else None


def _measured(case: Case) -> CapResult:
    special = case.done.get("suda")
    masks = {} if special is None else {"special_uniques": special.special}
    options = {**case.required_scenario.settings, "control": case.control}
    return cap(*case.pair, **options, special_uniques=False, subsets=masks)


MEASURES = (
    Measure(
        "cap",
        "scenario",
        after="suda",
        words="correct attribution probability, TCAP and CAP_u",
        compute=_measured,
        figures=(
            CAP,
            CAP_OF_MATCHES,
            CAP_U,
            CAP_OF_SPECIAL_UNIQUES,
            IDENTITY_DISCLOSURE,
            *BEYOND.values(),
        ),
    ),
    Measure(
        "regression on m",
        "scenario",
        after="cap",
        result_field="regression",
        switch="cap",
        compute=lambda case: cap_regression(case.done["cap"]) if "cap" in case.done else None,
    ),
)
