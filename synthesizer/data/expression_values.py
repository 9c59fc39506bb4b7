"""Values inside an expression: numbers, conditions, labels, dates; converting and combining them.

All arrays have shape (n,), or () where a value is the same in every row. Missing numbers and dates
are NaN. Labels are codes into a tuple of labels, so that a comparison with a label costs
one look at each label, not at each row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import numpy as np
import numpy.typing as npt

from synthesizer.data.schema import Kind
from synthesizer.data.table import BoolArray, Column, FloatArray
from synthesizer.errors import ExpressionError

__all__ = [
    "UNKNOWN",
    "Type",
    "Value",
    "arithmetic",
    "as_dates",
    "as_numbers",
    "bool_mask",
    "defined",
    "either",
    "from_column",
    "is_boolean",
    "is_state",
    "label_number",
    "levels_of",
    "literal_value",
    "recode",
    "same_missing_code",
    "truth",
]

Labels = tuple[str | None, ...]
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TRUE = frozenset({"true", "t", "yes", "y", "1"})
_FALSE = frozenset({"false", "f", "no", "n", "0"})
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "//": np.floor_divide,
    "%": np.mod,
    "**": np.power,
}


class Type(Enum):
    """What a value is."""

    NUMBER = auto()
    CONDITION = auto()
    LABEL = auto()
    TEXT = auto()
    DATE = auto()
    UNKNOWN = auto()


@dataclass(frozen=True, eq=False)
class Value:
    """One value per row.

    Parameters
    ----------
    type : Type
        What the values are; UNKNOWN follows a problem that is reported already.
    data : ndarray
        float64 (numbers, dates), bool (conditions) or codes (labels); shape (n,) or ().
    labels : tuple of str or None
        Labels of the codes; None stands for an undefined label.
    n_levels : int
        Labels from here on are missing codes.
    literal : float, str, bool or None
        The constant that was written in the text.
    column : Column or None
        The variable that was named in the text.
    """

    type: Type
    data: npt.NDArray[Any]
    labels: Labels = ()
    n_levels: int = 0
    literal: float | str | bool | None = None
    column: Column | None = None

    @property
    def what(self) -> str:
        """How a message names the value."""
        if self.column is not None:
            return f"variable {self.column.name!r} ({self.column.variable.kind.value})"
        if self.literal is not None:
            return repr(self.literal)
        return {"TEXT": "a text"}.get(self.type.name, f"a {self.type.name.lower()}")


UNKNOWN = Value(Type.UNKNOWN, np.zeros(()))


def from_column(column: Column) -> Value:
    """Return the values of a variable."""
    variable = column.variable
    if variable.kind is Kind.ID:
        raise ExpressionError(
            f"variable {variable.name!r} is an identifier; use another variable in the expression"
        )
    if variable.is_coded:
        labels = variable.labels
        return Value(Type.LABEL, column.data, labels, len(variable.levels), column=column)
    data = column.data
    if column.states is not None:
        data = np.where(column.states == 0, data, np.nan)
    kind = Type.DATE if variable.kind is Kind.DATE else Type.NUMBER
    return Value(kind, data, column=column)


def literal_value(literal: float | str | bool) -> Value:
    """Return a constant of the text."""
    if isinstance(literal, bool):
        return Value(Type.CONDITION, np.asarray(literal), literal=literal)
    if isinstance(literal, str):
        return Value(Type.TEXT, np.zeros((), dtype=np.int32), (literal,), 1, literal)
    return Value(Type.NUMBER, np.asarray(literal, dtype=np.float64), literal=literal)


def defined(data: npt.ArrayLike, *inputs: npt.ArrayLike) -> FloatArray:
    """Turn infinite results into NaN, and results of missing inputs (numpy: nan ** 0 is 1)."""
    result = np.asarray(data, dtype=np.float64)
    good = np.isfinite(result)
    for values in inputs:
        good = good & ~np.isnan(values)
    return np.where(good, result, np.nan)


def label_number(label: str | None) -> float:
    """Return the number that a label spells, otherwise NaN."""
    if label is None or _NUMBER.fullmatch(label) is None:
        return np.nan
    return float(label)


def _label_numbers(value: Value) -> FloatArray | None:
    """Numbers of all labels (missing codes NaN); None unless every level spells a number."""
    numbers = np.array([label_number(label) for label in value.labels], dtype=np.float64)
    numbers[value.n_levels :] = np.nan
    usable = value.n_levels > 0 and not np.isnan(numbers[: value.n_levels]).any()
    return numbers if usable else None


def as_numbers(value: Value) -> FloatArray:
    """Return float64 numbers: of numbers, of conditions (0, 1), of labels that spell numbers."""
    if value.type in (Type.NUMBER, Type.CONDITION):
        return np.asarray(value.data, dtype=np.float64)
    if value.type is Type.LABEL:
        numbers = _label_numbers(value)
        if numbers is not None:
            return np.asarray(numbers[value.data])
    raise ExpressionError(f"{value.what} is no number; {_number_remedy(value)}")


def _number_remedy(value: Value) -> str:
    if value.type is Type.DATE:
        return "use year(), month() or day(), or subtract another date"
    if value.type is Type.TEXT:
        return "write numbers without quotation marks, and only declared missing codes with them"
    return "compare labels with == or != and a text in quotation marks"


def as_dates(value: Value) -> FloatArray:
    """Return days since 1970-01-01 of dates and of texts such as '2011-12-31'."""
    if value.type is Type.DATE:
        return np.asarray(value.data, dtype=np.float64)
    if isinstance(value.literal, str) and _DATE.fullmatch(value.literal):
        try:
            return np.asarray(np.datetime64(value.literal, "D").astype(np.float64))
        except ValueError:
            pass
    raise ExpressionError(f"{value.what} is no date; write dates as 'YYYY-MM-DD'")


def truth(value: Value) -> BoolArray:
    """Return where a condition, or a variable of kind boolean, is true."""
    if value.type is Type.CONDITION:
        return np.asarray(value.data, dtype=bool)
    if is_boolean(value):
        return np.asarray(bool_mask(value, True)[value.data])
    raise ExpressionError(f"{value.what} is no condition; compare it, for example with == or !=")


def is_boolean(value: Value) -> bool:
    """Whether the value is a variable of kind boolean."""
    return value.column is not None and value.column.variable.kind is Kind.BOOLEAN


def bool_mask(value: Value, wanted: bool) -> BoolArray:
    """Which labels mean true (or false)."""
    words = _TRUE if wanted else _FALSE
    known = [str(label).casefold() in _TRUE | _FALSE for label in value.labels[: value.n_levels]]
    if not all(known):
        raise ExpressionError(
            f"the levels of {value.what} do not say true or false; compare with == and a level "
            "in quotation marks"
        )
    mask = np.array([str(label).casefold() in words for label in value.labels], dtype=bool)
    mask[value.n_levels :] = False
    return mask


def same_missing_code(column: Column, literal: float | str | bool) -> int:
    """Return k if ``literal`` is missing code k - 1 of the variable, otherwise 0."""
    if isinstance(literal, bool):
        return 0
    for state, code in enumerate(column.variable.missing, start=1):
        if code == literal or (not isinstance(literal, str) and label_number(code) == literal):
            return state
    return 0


def is_state(column: Column, state: int) -> BoolArray:
    """Return where the value of a variable of any kind is missing code ``state`` - 1."""
    if column.is_coded:
        return np.asarray(column.data == len(column.variable.levels) + state - 1)
    return np.asarray(column.missing_state() == state)


def levels_of(value: Value) -> Labels:
    """Return the labels without the missing codes."""
    return value.labels[: value.n_levels]


def recode(value: Value, union: Sequence[str | None]) -> npt.NDArray[Any]:
    """Return codes into ``union``, which holds all labels of ``value``."""
    places = {label: place for place, label in enumerate(union)}
    table = np.array([places[label] for label in value.labels], dtype=np.int32)
    return np.asarray(table[value.data])


def arithmetic(symbol: str, left: Value, right: Value) -> Value:
    """Combine numbers; date - date is a number of days, date plus or minus days is a date."""
    dates = (left.type is Type.DATE, right.type is Type.DATE)
    if symbol == "-" and any(dates) and Type.NUMBER not in (left.type, right.type):
        return Value(Type.NUMBER, as_dates(left) - as_dates(right))
    shifted = (symbol in "+-" and dates == (True, False)) or (symbol == "+" and dates[1])
    if shifted and not all(dates):
        first = left.data if dates[0] else as_numbers(left)
        second = right.data if dates[1] else as_numbers(right)
        with np.errstate(all="ignore"):
            return Value(Type.DATE, defined(_ARITHMETIC[symbol](first, second)))
    first, second = as_numbers(left), as_numbers(right)
    with np.errstate(all="ignore"):
        result = _ARITHMETIC[symbol](first, second)
    return Value(Type.NUMBER, defined(result, first, second))


def either(condition: BoolArray, first: Value, second: Value) -> Value:
    """Take ``first`` where the condition holds, otherwise ``second``."""
    types = {first.type, second.type}
    if types <= {Type.LABEL, Type.TEXT}:
        return _either_label(condition, first, second)
    if Type.DATE in types:
        return Value(Type.DATE, np.where(condition, as_dates(first), as_dates(second)))
    if types == {Type.CONDITION}:
        return Value(Type.CONDITION, np.where(condition, first.data, second.data))
    return Value(Type.NUMBER, np.where(condition, as_numbers(first), as_numbers(second)))


def _either_label(condition: BoolArray, first: Value, second: Value) -> Value:
    levels = dict.fromkeys(levels_of(first) + levels_of(second))
    union = list(dict.fromkeys((*levels, *first.labels, *second.labels)))
    codes = np.where(condition, recode(first, union), recode(second, union))
    return Value(Type.LABEL, codes, tuple(union), len(levels))
