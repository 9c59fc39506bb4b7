"""Comparisons inside an expression."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from synthesizer.data.expression_values import (
    Type,
    Value,
    as_dates,
    as_numbers,
    bool_mask,
    is_boolean,
    is_state,
    label_number,
    levels_of,
    recode,
    same_missing_code,
)
from synthesizer.data.schema import Kind
from synthesizer.data.table import BoolArray
from synthesizer.errors import ExpressionError

__all__ = ["compare"]

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def compare(symbol: str, left: Value, right: Value) -> BoolArray:
    """Compare row by row; missing numbers and dates compare False with everything."""
    if left.literal is not None and right.literal is None:
        left, right, symbol = right, left, _MIRRORED[symbol]
    if right.literal is not None and left.literal is None:
        return _compare_literal(symbol, left, right)
    return _compare_values(symbol, left, right)


def _compare_literal(symbol: str, left: Value, right: Value) -> BoolArray:
    literal, equality = right.literal, symbol in ("==", "!=")
    if literal is None or not equality:
        by_label = left.type is Type.LABEL
        return (
            _order_label(symbol, left, right) if by_label else _compare_values(symbol, left, right)
        )
    if left.type is Type.LABEL:
        return _compare_label(symbol, left, literal)
    state = 0 if left.column is None else same_missing_code(left.column, literal)
    if left.column is not None and state:
        return np.asarray(_COMPARE[symbol](is_state(left.column, state), True))
    return _compare_values(symbol, left, right)


def _compare_values(symbol: str, left: Value, right: Value) -> BoolArray:
    if {left.type, right.type} <= {Type.LABEL, Type.TEXT}:
        return _compare_labels(symbol, left, right)
    return _compare_numbers(symbol, left, right)


def _compare_label(symbol: str, value: Value, literal: float | str | bool) -> BoolArray:
    mask = _label_mask(value, literal)
    return np.asarray((mask if symbol == "==" else ~mask)[value.data])


def _label_mask(value: Value, literal: float | str | bool) -> BoolArray:
    """Which labels equal a literal, shape (number of labels,).

    A text must equal the label; a number equals every label that spells it, missing codes too;
    True and False stand for the levels of a boolean variable.
    """
    if isinstance(literal, bool) and is_boolean(value):
        return bool_mask(value, literal)
    if isinstance(literal, str):
        mask = np.array([label == literal for label in value.labels], dtype=bool)
    else:
        mask = np.array([label_number(label) == literal for label in value.labels], dtype=bool)
    if not mask.any():
        raise ExpressionError(
            f"{value.what} has no level or missing code {literal!r}; check its spelling"
        )
    return mask


def _order_label(symbol: str, left: Value, right: Value) -> BoolArray:
    """Order by level for ordered variables, by number where all levels spell numbers."""
    literal, ordered = right.literal, _is_ordered(left)
    if ordered and literal is not None:
        spelled = [label == literal or label_number(label) == literal for label in left.labels]
        if any(spelled[: left.n_levels]):
            positions = np.arange(len(left.labels), dtype=np.float64)
            positions[left.n_levels :] = np.nan
            mask = _COMPARE[symbol](positions, float(spelled.index(True)))
            return np.asarray(mask[left.data])
    if right.type is Type.NUMBER:
        return _compare_numbers(symbol, left, right)
    raise ExpressionError(
        f"{left.what} cannot be compared with {literal!r} by {symbol!r}; "
        + ("use one of its levels" if ordered else "declare it as ordered, or use == or in")
    )


def _is_ordered(value: Value) -> bool:
    return value.column is not None and value.column.variable.kind is Kind.ORDERED


def _compare_labels(symbol: str, left: Value, right: Value) -> BoolArray:
    if symbol in ("==", "!="):
        union = list(dict.fromkeys(left.labels + right.labels))
        first, second = (recode(value, union) for value in (left, right))
        return np.asarray(_COMPARE[symbol](first, second))
    if _is_ordered(left) and _is_ordered(right) and levels_of(left) == levels_of(right):
        observed = (left.data < left.n_levels) & (right.data < right.n_levels)
        return np.asarray(_COMPARE[symbol](left.data, right.data) & observed)
    return _compare_numbers(symbol, left, right)


def _compare_numbers(symbol: str, left: Value, right: Value) -> BoolArray:
    dates = Type.DATE in (left.type, right.type)
    convert = as_dates if dates else as_numbers
    first, second = convert(left), convert(right)
    known = ~(np.isnan(first) | np.isnan(second))  # numpy says nan != nan is true
    return np.asarray(_COMPARE[symbol](first, second) & known)
