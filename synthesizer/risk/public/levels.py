"""The levels of a sensitive variable: labels, missing codes, groups of numbers, single numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from synthesizer.data.codes import Codes, ColumnCoder, Groups
from synthesizer.data.schema import Kind
from synthesizer.data.table import Column

__all__ = ["MAX_LEVELS", "label_of", "level_codes", "number_of_levels", "stacked"]

MAX_LEVELS = 100
"""More levels than this are no classes to guess; every level also has a ROC curve of its own."""

_MICROSECONDS_A_DAY = 86_400_000_000


def level_codes(column: Column, groups: Groups | None = None) -> tuple[tuple[str, ...], Codes]:
    """Return the labels of the levels that occur, and the number of each record's level.

    Parameters
    ----------
    column : Column
        Missing codes are levels.
    groups : int or sequence of float, optional
        Quantile groups or cut points of numbers; others count by exact value.

    Examples
    --------
    >>> from synthesizer.data.schema import Variable
    >>> pay = Column(Variable(name="pay", kind=Kind.NUMERIC), np.array([-5.0, 900.0, 1000.0]))
    >>> labels, codes = level_codes(pay, [0, 500, 1000])
    >>> labels, codes.tolist()
    (('[-inf, 0)', '[500, 1000)', '[1000, inf)'), [0, 1, 2])
    """
    coder = ColumnCoder.fit(column, groups)
    codes = coder.encode(column)
    occurs = np.bincount(codes, minlength=coder.size) > 0
    number = np.cumsum(occurs) - 1
    is_date = column.variable.kind is Kind.DATE
    labels = tuple(_label(coder, int(code), is_date) for code in np.flatnonzero(occurs))
    return labels, number[codes]


def number_of_levels(column: Column, groups: Groups | None = None) -> int:
    """Return how many levels occur, without naming them (numbers may have very many)."""
    coder = ColumnCoder.fit(column, groups)
    return int((np.bincount(coder.encode(column), minlength=coder.size) > 0).sum())


def label_of(level: str | float) -> str:
    """Return the label that a level given as a text, a number or a truth value has.

    Examples
    --------
    >>> label_of("F"), label_of(2), label_of(True)
    ('F', '2', 'true')
    """
    if isinstance(level, str):
        return level
    return str(level).lower() if isinstance(level, bool) else format(level, ".15g")


def stacked(columns: Sequence[Column]) -> Column:
    """Stack columns of one variable whose levels and missing codes may differ, by label.

    Examples
    --------
    >>> from synthesizer.data.schema import Variable
    >>> one = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> other = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("m", "x"))
    >>> codes = np.array([0, 1], dtype=np.int32)
    >>> both = stacked([Column(one, codes), Column(other, codes)])
    >>> both.variable.labels, both.data.tolist()
    (('f', 'm', 'x'), [0, 1, 1, 2])
    """
    first = columns[0].variable
    data = np.concatenate([column.data for column in columns])
    if first.is_coded:
        labels, codes = _merged(
            [column.variable.labels for column in columns],
            [column.data.astype(np.int64) for column in columns],
        )
        return Column(replace(first, levels=labels, missing=()), codes.astype(np.int32))
    # State 0 is an observed value, on either side.
    missing, states = _merged(
        [(None, *column.variable.missing) for column in columns],
        [column.missing_state().astype(np.int64) for column in columns],
    )
    return Column(replace(first, missing=missing), data, states.astype(np.int8))


def _merged(
    labels: Sequence[Sequence[str | None]], codes: Sequence[Codes]
) -> tuple[tuple[str, ...], Codes]:
    """Return all labels (without None) and the codes by their number among all of them."""
    union = tuple(dict.fromkeys(label for own in labels for label in own))
    position = {label: code for code, label in enumerate(union)}
    parts = [
        np.array([position[label] for label in own], dtype=np.int64)[data]
        for own, data in zip(labels, codes, strict=True)
    ]
    return tuple(label for label in union if label is not None), np.concatenate(parts)


def _label(coder: ColumnCoder, code: int, is_date: bool) -> str:
    numbers = coder.size - len(coder.labels)
    if code >= numbers:
        return coder.labels[code - numbers]
    if coder.values is not None:
        return _number(float(coder.values[code]), is_date)
    ends = [-np.inf, *(coder.cuts if coder.cuts is not None else ()), np.inf]
    low, high = (_number(float(end), is_date) for end in ends[code : code + 2])
    return f"[{low}, {high})"


def _number(value: float, is_date: bool) -> str:
    if not is_date or not np.isfinite(value):
        return format(value, ".15g")
    day, rest = divmod(round(value * _MICROSECONDS_A_DAY), _MICROSECONDS_A_DAY)
    if not rest:
        return str(np.datetime64(day, "D"))
    return str(np.datetime64(day * _MICROSECONDS_A_DAY + rest, "us"))
