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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import stats

from synthesizer.data.codes import Groups, JointCoder, cut_points
from synthesizer.data.errors import DataError
from synthesizer.data.pairs import Data, as_tables, check_comparable, check_keys
from synthesizer.data.table import BoolArray, FloatArray, Table
from synthesizer.measures.figure import Figure
from synthesizer.measures.risk.scenario import Tolerance, check_tolerance, hits_counter
from synthesizer.measures.risk.suda import affordable_size, suda

# Mean CAP by number of datasets and subset of the records, and its figures.


@dataclass(frozen=True, kw_only=True)
class CapMeans:
    """Mean CAP of one subset of the original records.

    ``zero`` counts records without a match as 0, ``undefined`` leaves them out (None when no
    record is matched). ``chance_zero`` and ``chance_undefined`` are the same with the baseline
    CAP of the records that match in place of the synthetic one: what matches would give if their
    targets were anybody's.
    """

    subset: str
    size: int
    matched: int
    zero: float | None
    undefined: float | None
    chance_zero: float | None
    chance_undefined: float | None


@dataclass(frozen=True, kw_only=True)
class CapRow(CapMeans):
    """Mean CAP from the first ``m`` synthetic datasets pooled."""

    m: int


@dataclass(frozen=True, kw_only=True)
class CapSingle(CapMeans):
    """Mean CAP from one synthetic dataset alone, numbered from 1."""

    dataset: int


@dataclass(frozen=True)
class CapResult:
    """Mean CAP of subsets of the original records (tables 1, 5 and 6 of Taub et al. 2018).

    Parameters
    ----------
    keys, target : tuple of str, str
        What the intruder knows, and wants to learn.
    n : int
        Number of original records.
    sizes : dict of str to int
        Number of records in each subset.
    original, baseline : dict of str to float
        Mean CAP by subset, the upper and the lower mark; None for empty subsets.
    synthetic : tuple of CapRow
        By number of pooled datasets and subset.
    singles : tuple of CapSingle
        By dataset and subset: what each of them gives away alone.
    """

    keys: tuple[str, ...]
    target: str
    n: int
    sizes: dict[str, int]
    original: dict[str, float | None]
    baseline: dict[str, float | None]
    synthetic: tuple[CapRow, ...]
    singles: tuple[CapSingle, ...]

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
        zero = [self._figure(name, words) for name, words in _WORDS.items() if name in self.sizes]
        whole = self.row(self.last)
        matches = Figure(
            name="CAP of matches",
            value=whole.undefined,
            meaning=f"the same, records without a match left out ({whole.matched:,} match)",
            direction="lower is safer",
            n=whole.matched,
            baseline=whole.chance_undefined,
            original=self.original["all"],
        )
        return (zero[0], matches, *zero[1:])

    def _figure(self, subset: str, words: tuple[str, str]) -> Figure:
        name, whose = words
        row = self.row(self.last, subset)
        return Figure(
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

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return asdict(self) | {"keys": list(self.keys)}


_WORDS = {
    "all": ("CAP", "all records"),
    "uniques": ("CAP-U", "records whose key nobody shares"),
    "special_uniques": ("CAP of special uniques", "the most special of them (SUDA)"),
}


@dataclass(frozen=True, eq=False)
class CapScores:
    """CAP of every original record.

    Parameters
    ----------
    original, baseline : ndarray of float, shape (n,)
        From the original data, and from the target's distribution alone; in (0, 1].
    synthetic : ndarray of float, shape (M, n)
        From the first 1, ..., M synthetic datasets pooled; NaN where no synthetic record has
        the key.
    singles : ndarray of float, shape (M, n)
        The same from each synthetic dataset alone.
    uniques : ndarray of bool, shape (n,)
        Where the key occurs once in the original.
    """

    original: FloatArray
    baseline: FloatArray
    synthetic: FloatArray
    singles: FloatArray
    uniques: BoolArray


def fixed_groups(table: Table, groups: Mapping[str, Groups] | None) -> dict[str, Groups]:
    """Return the groups as cut points computed from ``table``, to be used for parts of it."""
    return {
        name: tuple(cut_points(table[name], wanted).tolist())
        for name, wanted in (groups or {}).items()
    }


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
    original, synthetic = as_tables(original, synthetic, [*keys, target])
    check_keys(original, keys=keys, target=target, groups=groups, constant_target=constant_target)
    check_tolerance(original[target], tolerance)
    check_comparable(original, synthetic, [*keys, target])
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
        own_matched = np.bincount(theirs[theirs >= 0], minlength=coder.size)[ours]
        own_right = hits.count(theirs, table[target])
        np.divide(own_right, own_matched, out=singles[position], where=own_matched > 0)
        matched += own_matched
        right += own_right
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
    >>> from synthesizer.data.table import Kind, Variable
    >>> from synthesizer.data.table import Column
    >>> def column(name, codes):
    ...     variable = Variable(name=name, kind=Kind.CATEGORICAL, levels=("a", "b"))
    ...     return Column(variable, np.array(codes, dtype=np.int32))
    >>> original = Table([column("key", [0, 0, 1, 1]), column("secret", [0, 0, 0, 1])])
    >>> made = Table([column("key", [0, 0]), column("secret", [0, 1])])
    >>> result = cap(original, [made], keys=["key"], target="secret")
    >>> result.original["all"], result.baseline["all"]
    (0.75, 0.625)
    >>> result.row(1).zero, result.row(1).undefined, result.row(1).matched
    (0.25, 0.5, 2)
    """
    original, synthetic = as_tables(original, synthetic, [*keys, target])
    scores = cap_scores(
        original, synthetic, keys=keys, target=target, groups=groups, tolerance=tolerance
    )
    masks = {"all": np.ones(original.n_rows, dtype=bool), "uniques": scores.uniques}
    masks |= _checked_subsets(subsets or {}, original.n_rows)
    if special_uniques and "special_uniques" not in masks:
        size = affordable_size(len(keys), original.n_rows)
        masks["special_uniques"] = suda(original, keys, groups=groups, max_size=size).special
    return CapResult(
        keys=tuple(keys),
        target=target,
        n=original.n_rows,
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


def mean_or_none(values: FloatArray) -> float | None:
    """Return the mean, None where there is nothing to average (NaN is no number in a file)."""
    return float(values.mean()) if len(values) else None


def _rows(
    scores: FloatArray, baseline: FloatArray, masks: Mapping[str, BoolArray]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of every row of scores, from 1, and its means by subset."""
    for number, found in enumerate(scores, start=1):
        matched = ~np.isnan(found)
        for name, mask in masks.items():
            size, use = int(mask.sum()), mask & matched
            right, chance = found[use], baseline[use]
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


# CAP-U: the correct attribution probability of people whose key nobody shares.


@dataclass(frozen=True)
class CapUResult:
    """Mean CAP of the statistical uniques of the original, non-matches as zero.

    Parameters
    ----------
    keys, target : tuple of str, str
        What the intruder knows, and wants to learn.
    uniques : int
        Original records whose key nobody shares.
    baseline : float or None
        Their mean baseline CAP; None where there are no uniques. The original itself has 1.
    synthetic : tuple of CapRow
        By number of pooled datasets; ``zero`` is CAP-U, None where there are no uniques.
    """

    keys: tuple[str, ...]
    target: str
    uniques: int
    baseline: float | None
    synthetic: tuple[CapRow, ...]

    @property
    def value(self) -> float | None:
        """CAP-U of all datasets together."""
        return self.synthetic[-1].zero

    @property
    def figures(self) -> tuple[Figure, ...]:
        """CAP-U of all datasets together."""
        figure = Figure(
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

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return asdict(self) | {
            "keys": list(self.keys),
            "value": self.value,
            "synthetic": [asdict(row) for row in self.synthetic],
        }


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

    Parameters and errors are those of `synthesizer.measures.risk.cap.cap`.

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
        keys=tuple(keys),
        target=target,
        uniques=result.sizes["uniques"],
        baseline=result.baseline["uniques"],
        synthetic=tuple(row for row in result.synthetic if row.subset == "uniques"),
    )


# Does the mean CAP rise with the number of datasets? A straight line through m = 1, ..., M.

_FEWEST = 3


@dataclass(frozen=True)
class Line:
    """Ordinary least squares of a mean on m = 1, ..., M; p-values from t with M - 2 df.

    A p-value is None where every point lies on the line: there is no error to compare with.
    """

    intercept: float
    slope: float
    intercept_error: float
    slope_error: float
    intercept_p: float | None
    slope_p: float | None
    r2: float
    df: int


@dataclass(frozen=True)
class CapRegression:
    """The line of one subset under one rule for non-matches ("zero" or "undefined").

    ``line`` is None where none can be fitted: fewer than three m, a mean that is undefined, or
    means that are all equal. ``n_m`` is the number of m.
    """

    subset: str
    rule: str
    n_m: int
    line: Line | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return asdict(self)


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
    found = stats.linregress(np.arange(1, len(known) + 1), known)
    df = len(known) - 2
    return Line(
        intercept=float(found.intercept),
        slope=float(found.slope),
        intercept_error=float(found.intercept_stderr),
        slope_error=float(found.stderr),
        intercept_p=_p_value(found.intercept, found.intercept_stderr, df),
        slope_p=_p_value(found.slope, found.stderr, df),
        r2=float(found.rvalue**2),
        df=df,
    )


def cap_regression(result: CapResult) -> tuple[CapRegression, ...]:
    """Regress the mean CAP on m, for each subset and each rule for non-matches.

    Parameters
    ----------
    result : CapResult
        From `synthesizer.measures.risk.cap.cap` with at least three datasets.

    Returns
    -------
    tuple of CapRegression
        Subsets in the order of the result, "zero" before "undefined".

    Examples
    --------
    >>> import pandas as pd
    >>> from synthesizer.measures.risk.cap import cap
    >>> people = pd.DataFrame({"town": list("aabc"), "ill": ["yes", "no", "no", "yes"]})
    >>> made = [people.iloc[[0]], people.iloc[[1]], people.iloc[[2]]]
    >>> zero, *others = cap_regression(cap(people, made, keys=["town"], target="ill"))
    >>> zero.subset, zero.rule, round(zero.line.slope, 3)
    ('all', 'zero', 0.125)
    """
    rows = [
        CapRegression(subset, rule, len(means), regress_on_m(means))
        for subset in result.sizes
        for rule, means in _means(result, subset)
    ]
    return tuple(rows)


def _means(result: CapResult, subset: str) -> Iterable[tuple[str, list[float | None]]]:
    rows = sorted((row for row in result.synthetic if row.subset == subset), key=lambda r: r.m)
    return (("zero", [r.zero for r in rows]), ("undefined", [r.undefined for r in rows]))


def _p_value(estimate: float, error: float, df: int) -> float | None:
    return float(2 * stats.t.sf(abs(estimate / error), df)) if error > 0 else None
