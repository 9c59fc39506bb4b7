"""Columns of an original and a synthetic table as codes of the same groups.

Coded variables keep their labels. Numbers are cut into quantile groups; each missing code is a
group of its own. Quantiles are those of both tables together, as in the tables of Raab, Nowok and
Dibben (2021), or of the original alone, which keeps the groups the same for all datasets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from synthesizer.data.table import Column, FloatArray, Table

__all__ = [
    "GroupedPair",
    "QuantilesOf",
    "breaks_of",
    "group_pair",
    "group_tables",
    "interval_labels",
]

QuantilesOf = Literal["both", "original"]

# With fewer groups than this, quantiles have collapsed on a frequent value.
_FEWEST_GROUPS = 3


@dataclass(frozen=True, eq=False)
class GroupedPair:
    """One variable of both tables as codes in [0, size), shapes (n_o,) and (n_s,).

    ``labels`` name the groups: levels, intervals such as "[19, 37)", and missing codes.
    """

    name: str
    size: int
    original: npt.NDArray[np.intp]
    synthetic: npt.NDArray[np.intp]
    labels: tuple[str, ...]


def breaks_of(values: FloatArray, groups: int) -> FloatArray:
    """Return the inner breaks between groups of numbers; a group holds its lower break.

    At most ``groups`` distinct values are groups of their own. Otherwise quantiles; where they
    collapse to fewer than three groups because one value is so frequent, intervals of equal width.

    Parameters
    ----------
    values : ndarray of float
        Observed numbers, without missing ones.
    groups : int
        Number of groups wanted, at least 1.

    Examples
    --------
    >>> breaks_of(np.array([1.0, 2.0, 3.0, 4.0]), 2).tolist()
    [2.5]
    >>> breaks_of(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 10.0]), 2).tolist()
    [5.0]
    """
    few = _few_distinct(values, groups)
    if few is not None:
        return few[1:]
    quantiles = np.unique(np.quantile(values, np.arange(groups + 1) / groups))
    if len(quantiles) - 1 < min(_FEWEST_GROUPS, groups):
        quantiles = np.linspace(quantiles[0], quantiles[-1], groups + 1)
    return np.asarray(quantiles[1:-1])


def group_pair(
    original: Column, synthetic: Column, *, groups: int = 5, quantiles_of: QuantilesOf = "both"
) -> GroupedPair:
    """Return one variable of both tables in the same groups, matched by label.

    Examples
    --------
    >>> from synthesizer.data.schema import Kind, Variable
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> other = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("m", "x"))
    >>> codes = np.array([0, 1], dtype=np.int32)
    >>> pair = group_pair(Column(sex, codes), Column(other, codes))
    >>> pair.labels, pair.original.tolist(), pair.synthetic.tolist()
    (('f', 'm', 'x'), [0, 1], [1, 2])
    """
    if original.is_coded:
        texts = _union(original.variable.labels, synthetic.variable.labels)
        ours, theirs = (_by_label(column, texts) for column in (original, synthetic))
        return GroupedPair(original.name, len(texts), ours, theirs, texts)
    values = original.data[original.is_observed].astype(np.float64)
    if quantiles_of == "both":
        values = np.concatenate([values, synthetic.data[synthetic.is_observed]])
    breaks = breaks_of(values, groups)
    texts = _union(original.variable.missing, synthetic.variable.missing)
    ours, theirs = (_by_break(column, breaks, texts) for column in (original, synthetic))
    labels = (*interval_labels([f"{value:.10g}" for value in breaks]), *texts)
    return GroupedPair(original.name, len(labels), ours, theirs, labels)


def group_tables(
    original: Table,
    synthetic: Table,
    names: Sequence[str],
    *,
    groups: int = 5,
    quantiles_of: QuantilesOf = "both",
) -> tuple[GroupedPair, ...]:
    """Return the named variables in order; see `group_pair`."""
    return tuple(
        group_pair(original[name], synthetic[name], groups=groups, quantiles_of=quantiles_of)
        for name in names
    )


def _few_distinct(values: FloatArray, groups: int) -> FloatArray | None:
    """Return the distinct values when there are at most ``groups``, else None.

    A few values at the beginning mostly settle it, which spares sorting a million.
    """
    if len(np.unique(values[:1000])) > groups:
        return None
    distinct = np.unique(values)
    return distinct if len(distinct) <= groups else None


def _union(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))


def _positions(labels: tuple[str, ...], texts: tuple[str, ...]) -> npt.NDArray[np.intp]:
    position = {text: code for code, text in enumerate(texts)}
    return np.array([position[label] for label in labels], dtype=np.intp)


def _by_label(column: Column, texts: tuple[str, ...]) -> npt.NDArray[np.intp]:
    return np.asarray(_positions(column.variable.labels, texts)[column.data])


def _by_break(column: Column, breaks: FloatArray, texts: tuple[str, ...]) -> npt.NDArray[np.intp]:
    codes = np.searchsorted(breaks, column.data, side="right")
    if column.states is not None and column.variable.missing:
        missing = column.states > 0
        positions = len(breaks) + 1 + _positions(column.variable.missing, texts)
        codes[missing] = positions[column.states[missing] - 1]
    return codes


def interval_labels(breaks: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the groups between breaks, which are given as they are to be written.

    Examples
    --------
    >>> interval_labels(["19", "37"])
    ('below 19', '[19, 37)', '37 and above')
    """
    if not breaks:
        return ("all values",)
    inner = [f"[{low}, {high})" for low, high in pairwise(breaks)]
    return (f"below {breaks[0]}", *inner, f"{breaks[-1]} and above")
