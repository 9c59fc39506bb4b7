"""The fixed set of functions of the expression language."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from synthesizer.data.expression_values import (
    Type,
    Value,
    as_dates,
    as_numbers,
    defined,
    is_state,
    same_missing_code,
)
from synthesizer.data.table import FloatArray
from synthesizer.errors import ExpressionError

__all__ = ["FUNCTIONS", "Arguments", "call"]

Arguments = Sequence[Value | list[Value]]
_MAX_DAYS = 3e6  # about 8,000 years on either side of 1970: calendars need whole numbers


def call(name: str, arguments: Arguments) -> Value:
    """Apply the function ``name``; raises ExpressionError for a wrong number or kind."""
    usage, least, most, function = FUNCTIONS[name]
    if not least <= len(arguments) <= most:
        raise ExpressionError(f"{name}() got {len(arguments)} values; write {usage}")
    lists = [isinstance(argument, list) for argument in arguments]
    if name != "cut" and any(lists):
        raise ExpressionError(f"{name}() takes no list; write {usage}")
    if name == "cut" and lists != [False, True, True]:
        raise ExpressionError(f"cut() needs two lists; write {usage}")
    return function(*arguments)


def _numeric(function: Callable[[Any], Any]) -> Callable[[Value], Value]:
    def apply(value: Value) -> Value:
        numbers = as_numbers(value)
        with np.errstate(all="ignore"):
            return Value(Type.NUMBER, defined(function(numbers), numbers))

    return apply


def _extreme(function: Callable[[Any, Any], Any]) -> Callable[..., Value]:
    def apply(*values: Value) -> Value:
        if all(value.type is Type.DATE for value in values):
            return Value(Type.DATE, functools.reduce(function, map(as_dates, values)))
        return Value(Type.NUMBER, functools.reduce(function, map(as_numbers, values)))

    return apply


def _round(value: Value, digits: Value | None = None) -> Value:
    places = 0.0 if digits is None else digits.literal
    if not isinstance(places, float) or places not in range(16):
        raise ExpressionError("round() needs a whole number of digits from 0 to 15")
    return _numeric(lambda numbers: np.round(numbers, int(places)))(value)


def _missing(value: Value, code: Value | None = None) -> Value:
    if code is not None:
        return _missing_code(value, code)
    if value.column is not None:
        return Value(Type.CONDITION, ~value.column.is_observed)
    if value.type in (Type.NUMBER, Type.DATE):
        return Value(Type.CONDITION, np.isnan(value.data))
    raise ExpressionError(f"missing() needs a variable or a number, not {value.what}")


def _missing_code(value: Value, code: Value) -> Value:
    if value.column is None or code.literal is None:
        raise ExpressionError("missing() needs a variable and one of its missing codes in quotes")
    state = same_missing_code(value.column, code.literal)
    if not state:
        raise ExpressionError(
            f"variable {value.column.name!r} has no missing code {code.literal!r}; "
            "declare the code or correct it"
        )
    return Value(Type.CONDITION, is_state(value.column, state))


def _calendar(part: Callable[[npt.NDArray[np.datetime64]], Any]) -> Callable[[Value], Value]:
    def apply(value: Value) -> Value:
        days = np.floor(as_dates(value))
        known = np.abs(days) < _MAX_DAYS
        dates = np.where(known, days, 0).astype(np.int64).astype("datetime64[D]")
        return Value(Type.NUMBER, np.where(known, part(dates), np.nan))

    return apply


def _months(dates: npt.NDArray[np.datetime64]) -> Any:
    return dates.astype("datetime64[M]").astype(np.int64)


def _day_of_month(dates: npt.NDArray[np.datetime64]) -> Any:
    return (dates - dates.astype("datetime64[M]")).astype(np.int64) + 1


def _cut(value: Value, breaks: list[Value], labels: list[Value]) -> Value:
    numbers = as_numbers(value)
    edges = np.array([item.literal for item in breaks if isinstance(item.literal, float)])
    texts = [item.literal for item in labels if isinstance(item.literal, str)]
    if len(edges) < len(breaks) or len(texts) < len(labels) or len(texts) != len(edges) + 1:
        raise ExpressionError(
            f"cut() got {len(breaks)} breaks and {len(labels)} labels; {len(breaks)} breaks "
            f"(numbers) need {len(breaks) + 1} labels (texts)"
        )
    if not len(edges) or np.any(np.diff(edges) <= 0) or len(set(texts)) < len(texts):
        raise ExpressionError("cut() needs rising breaks and distinct labels")
    return Value(Type.LABEL, _interval(numbers, edges), (*texts, None), len(texts))


def _interval(numbers: FloatArray, edges: FloatArray) -> npt.NDArray[np.int32]:
    codes = np.searchsorted(edges, numbers, side="right")
    return np.where(np.isnan(numbers), len(edges) + 1, codes).astype(np.int32)


FUNCTIONS: dict[str, tuple[str, int, int, Callable[..., Value]]] = {
    "abs": ("abs(x)", 1, 1, _numeric(np.abs)),
    "round": ("round(x) or round(x, digits)", 1, 2, _round),
    "floor": ("floor(x)", 1, 1, _numeric(np.floor)),
    "ceil": ("ceil(x)", 1, 1, _numeric(np.ceil)),
    "log": ("log(x)", 1, 1, _numeric(np.log)),
    "log10": ("log10(x)", 1, 1, _numeric(np.log10)),
    "exp": ("exp(x)", 1, 1, _numeric(np.exp)),
    "sqrt": ("sqrt(x)", 1, 1, _numeric(np.sqrt)),
    "min": ("min(x, y)", 2, 50, _extreme(np.minimum)),
    "max": ("max(x, y)", 2, 50, _extreme(np.maximum)),
    "missing": ("missing(x) or missing(x, 'CODE')", 1, 2, _missing),
    "year": ("year(d)", 1, 1, _calendar(lambda dates: _months(dates) // 12 + 1970)),
    "month": ("month(d)", 1, 1, _calendar(lambda dates: _months(dates) % 12 + 1)),
    "day": ("day(d)", 1, 1, _calendar(_day_of_month)),
    "cut": ("cut(x, [10, 20], ['low', 'middle', 'high'])", 3, 3, _cut),
}
