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

from synthesizer.data.codes import Groups, JointCoder, cut_points
from synthesizer.data.comparable import check_comparable, check_keys
from synthesizer.data.pairs import Data, as_tables
from synthesizer.data.table import BoolArray, FloatArray, Table
from synthesizer.errors import DataError
from synthesizer.risk.attribution import Tolerance, check_tolerance, hits_counter
from synthesizer.risk.cap_result import CapResult, CapRow, CapSingle
from synthesizer.risk.suda import affordable_size, suda

__all__ = ["CapResult", "CapRow", "CapScores", "CapSingle", "cap", "cap_scores", "fixed_groups"]


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
        Whether special uniques (`synthesizer.risk.suda`) are a subset too; minimal uniques are
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
    >>> from synthesizer.data.schema import Kind, Variable
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
