"""Values of an expression (numbers, conditions, labels, dates) and their operations.

All arrays have shape (n,), or () for a value that is the same in every row. Missing numbers and
dates are NaN. Labels are codes into a tuple of labels, so a comparison with a label is made once
per label, not per row.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import numpy as np
import numpy.typing as npt

from synthesizer.data.errors import ExpressionError, plural
from synthesizer.data.table import BoolArray, Column, FloatArray, Kind, Variable

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
    """Types of values."""

    NUMBER = auto()
    CONDITION = auto()
    LABEL = auto()
    TEXT = auto()
    DATE = auto()
    UNKNOWN = auto()


@dataclass(frozen=True, eq=False)
class Value:
    """One value per row."""

    type: Type
    """Type of the values; UNKNOWN after a problem that is already reported."""
    data: npt.NDArray[Any]
    """float64 (numbers, dates), bool (conditions) or codes (labels); shape (n,) or ()."""
    labels: Labels = ()
    """Labels of the codes; None stands for an undefined label."""
    n_levels: int = 0
    """Labels from here on are missing codes."""
    literal: float | str | bool | None = None
    """The constant in the text, if it is one."""
    column: Column | None = None
    """The variable in the text, if it is one."""

    @property
    def levels(self) -> Labels:
        """The labels without the missing codes."""
        return self.labels[: self.n_levels]

    @property
    def is_boolean(self) -> bool:
        """Whether it is a variable of kind boolean."""
        return self.column is not None and self.column.variable.kind is Kind.BOOLEAN

    @property
    def is_ordered(self) -> bool:
        """Whether it is a variable of kind ordered."""
        return self.column is not None and self.column.variable.kind is Kind.ORDERED

    @property
    def what(self) -> str:
        """Name of the value in messages."""
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
        raise ExpressionError(f"variable {variable.name!r} is an identifier; use another variable")
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
    """Return results with NaN for infinite ones and for missing inputs (numpy: nan ** 0 is 1)."""
    result = np.asarray(data, dtype=np.float64)
    good = np.isfinite(result)
    for values in inputs:
        good = good & ~np.isnan(values)
    return np.where(good, result, np.nan)


def label_number(label: str | None) -> float:
    """Return the number of a label, NaN if it is a word."""
    if label is None or _NUMBER.fullmatch(label) is None:
        return np.nan
    return float(label)


def _spells(label: str | None, literal: float | str | bool) -> bool:
    """Whether a label equals a text or number."""
    return label == literal if isinstance(literal, str) else label_number(label) == literal


def _label_numbers(value: Value) -> FloatArray | None:
    """Return the numbers of labels (missing codes NaN); None unless all levels are numbers."""
    numbers = np.array([label_number(label) for label in value.labels], dtype=np.float64)
    numbers[value.n_levels :] = np.nan
    usable = value.n_levels > 0 and not np.isnan(numbers[: value.n_levels]).any()
    return numbers if usable else None


def as_numbers(value: Value) -> FloatArray:
    """Return float64 numbers of numbers, of conditions (0, 1) or of labels that are numbers."""
    if value.type in (Type.NUMBER, Type.CONDITION):
        return np.asarray(value.data, dtype=np.float64)
    if value.type is Type.LABEL:
        numbers = _label_numbers(value)
        if numbers is not None:
            return np.asarray(numbers[value.data])
    raise ExpressionError(f"{value.what} is not a number; {_number_remedy(value)}")


def _number_remedy(value: Value) -> str:
    if value.type is Type.DATE:
        return "use year(), month() or day(), or subtract another date"
    if value.type is Type.TEXT:
        return "write numbers without quotation marks; only missing codes have them"
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
    raise ExpressionError(f"{value.what} is not a date; write dates as 'YYYY-MM-DD'")


def truth(value: Value) -> BoolArray:
    """Return where a condition, or a variable of kind boolean, is true."""
    if value.type is Type.CONDITION:
        return np.asarray(value.data, dtype=bool)
    if value.is_boolean:
        return np.asarray(bool_mask(value, True)[value.data])
    raise ExpressionError(f"{value.what} is not a condition; compare it, for example with ==")


def bool_mask(value: Value, wanted: bool) -> BoolArray:
    """Return which labels mean true (or false)."""
    words = _TRUE if wanted else _FALSE
    are_booleans = [str(label).casefold() in _TRUE | _FALSE for label in value.levels]
    if not all(are_booleans):
        raise ExpressionError(
            f"the levels of {value.what} are not true and false; compare it by == with a level "
            "in quotation marks"
        )
    mask = np.array([str(label).casefold() in words for label in value.labels], dtype=bool)
    mask[value.n_levels :] = False
    return mask


def same_missing_code(column: Column, literal: float | str | bool) -> int:
    """Return k if ``literal`` is missing code k - 1 of the variable, otherwise 0."""
    if isinstance(literal, bool):
        return 0
    same = [_spells(code, literal) for code in column.variable.missing]
    return same.index(True) + 1 if any(same) else 0


def recode(value: Value, union: Sequence[str | None]) -> npt.NDArray[Any]:
    """Return codes into ``union``, which contains all labels of ``value``."""
    code_of = {label: code for code, label in enumerate(union)}
    table = np.array([code_of[label] for label in value.labels], dtype=np.int32)
    return np.asarray(table[value.data])


def arithmetic(symbol: str, lhs: Value, rhs: Value) -> Value:
    """Return the result of an operation; date - date is days, date plus or minus days a date."""
    dates = (lhs.type is Type.DATE, rhs.type is Type.DATE)
    if symbol == "-" and any(dates) and Type.NUMBER not in (lhs.type, rhs.type):
        return Value(Type.NUMBER, as_dates(lhs) - as_dates(rhs))
    shifted = (symbol in "+-" and dates == (True, False)) or (symbol == "+" and dates[1])
    if shifted and not all(dates):
        first = lhs.data if dates[0] else as_numbers(lhs)
        second = rhs.data if dates[1] else as_numbers(rhs)
        with np.errstate(all="ignore"):
            return Value(Type.DATE, defined(_ARITHMETIC[symbol](first, second)))
    first, second = as_numbers(lhs), as_numbers(rhs)
    with np.errstate(all="ignore"):
        result = _ARITHMETIC[symbol](first, second)
    return Value(Type.NUMBER, defined(result, first, second))


def either(condition: BoolArray, first: Value, second: Value) -> Value:
    """Return ``first`` where the condition holds, otherwise ``second``."""
    types = {first.type, second.type}
    if types <= {Type.LABEL, Type.TEXT}:
        return _either_label(condition, first, second)
    if Type.DATE in types:
        return Value(Type.DATE, np.where(condition, as_dates(first), as_dates(second)))
    if types == {Type.CONDITION}:
        return Value(Type.CONDITION, np.where(condition, first.data, second.data))
    return Value(Type.NUMBER, np.where(condition, as_numbers(first), as_numbers(second)))


def _either_label(condition: BoolArray, first: Value, second: Value) -> Value:
    levels = dict.fromkeys(first.levels + second.levels)
    union = list(dict.fromkeys((*levels, *first.labels, *second.labels)))
    codes = np.where(condition, recode(first, union), recode(second, union))
    return Value(Type.LABEL, codes, tuple(union), len(levels))


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def compare(symbol: str, lhs: Value, rhs: Value) -> BoolArray:
    """Return the comparison row by row; missing numbers and dates always give False."""
    if lhs.literal is not None and rhs.literal is None:
        lhs, rhs, symbol = rhs, lhs, _MIRRORED[symbol]
    literal = rhs.literal if lhs.literal is None else None
    if literal is not None and symbol in ("==", "!="):
        if lhs.type is Type.LABEL:
            mask = _label_mask(lhs, literal)
            return np.asarray((mask if symbol == "==" else ~mask)[lhs.data])
        state = 0 if lhs.column is None else same_missing_code(lhs.column, literal)
        if lhs.column is not None and state:
            return np.asarray(_COMPARE[symbol](lhs.column.missing_state() == state, True))
    elif literal is not None and lhs.type is Type.LABEL:
        return _order_label(symbol, lhs, rhs)
    if {lhs.type, rhs.type} <= {Type.LABEL, Type.TEXT}:
        return _compare_labels(symbol, lhs, rhs)
    return _compare_numbers(symbol, lhs, rhs)


def _label_mask(value: Value, literal: float | str | bool) -> BoolArray:
    """Return which labels and missing codes equal a literal; a number equals labels in any format.

    True and False are the levels of a boolean variable.
    """
    if isinstance(literal, bool) and value.is_boolean:
        return bool_mask(value, literal)
    mask = np.array([_spells(label, literal) for label in value.labels], dtype=bool)
    if not mask.any():
        is_whole = isinstance(literal, float) and literal.is_integer()
        shown = f"{literal:.0f}" if is_whole else repr(literal)
        raise ExpressionError(
            f"{value.what} has no level or missing code {shown}; check its spelling"
        )
    return mask


def _order_label(symbol: str, lhs: Value, rhs: Value) -> BoolArray:
    """Return the comparison with a label: by level if ordered, by number if all are numbers."""
    literal, ordered = rhs.literal, lhs.is_ordered
    if ordered and literal is not None:
        spelled = [_spells(label, literal) for label in lhs.labels]
        if any(spelled[: lhs.n_levels]):
            positions = np.arange(len(lhs.labels), dtype=np.float64)
            positions[lhs.n_levels :] = np.nan
            mask = _COMPARE[symbol](positions, float(spelled.index(True)))
            return np.asarray(mask[lhs.data])
    if rhs.type is Type.NUMBER:
        return _compare_numbers(symbol, lhs, rhs)
    raise ExpressionError(
        f"{lhs.what} cannot be compared with {literal!r} by {symbol!r}; "
        + ("use one of its levels" if ordered else "declare it as ordered, or use == or in")
    )


def _compare_labels(symbol: str, lhs: Value, rhs: Value) -> BoolArray:
    if symbol in ("==", "!="):
        union = list(dict.fromkeys(lhs.labels + rhs.labels))
        first, second = (recode(value, union) for value in (lhs, rhs))
        return np.asarray(_COMPARE[symbol](first, second))
    if lhs.is_ordered and rhs.is_ordered and lhs.levels == rhs.levels:
        observed = (lhs.data < lhs.n_levels) & (rhs.data < rhs.n_levels)
        return np.asarray(_COMPARE[symbol](lhs.data, rhs.data) & observed)
    return _compare_numbers(symbol, lhs, rhs)


def _compare_numbers(symbol: str, lhs: Value, rhs: Value) -> BoolArray:
    dates = Type.DATE in (lhs.type, rhs.type)
    convert = as_dates if dates else as_numbers
    first, second = convert(lhs), convert(rhs)
    both_defined = ~(np.isnan(first) | np.isnan(second))  # nan != nan is true in numpy
    return np.asarray(_COMPARE[symbol](first, second) & both_defined)


Arguments = Sequence[Value | list[Value]]
_MAX_DAYS = 3e6  # about 8,000 years on either side of 1970: calendars need whole numbers


def call(name: str, arguments: Arguments) -> Value:
    """Return the result of the function ``name``.

    Raises
    ------
    ExpressionError
        For a wrong number or type of arguments.
    """
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
    decimals = 0.0 if digits is None else digits.literal
    if not isinstance(decimals, float) or decimals not in range(16):
        raise ExpressionError("round() needs a whole number of digits from 0 to 15")
    return _numeric(lambda numbers: np.round(numbers, int(decimals)))(value)


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
    return Value(Type.CONDITION, value.column.missing_state() == state)


def _calendar(field_of: Callable[[npt.NDArray[np.datetime64]], Any]) -> Callable[[Value], Value]:
    def apply(value: Value) -> Value:
        days = np.floor(as_dates(value))
        in_range = np.abs(days) < _MAX_DAYS
        dates = np.where(in_range, days, 0).astype(np.int64).astype("datetime64[D]")
        return Value(Type.NUMBER, np.where(in_range, field_of(dates), np.nan))

    return apply


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
    codes = np.searchsorted(edges, numbers, side="right")
    codes = np.where(np.isnan(numbers), len(texts), codes).astype(np.int32)
    return Value(Type.LABEL, codes, (*texts, None), len(texts))


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
    "year": ("year(d)", 1, 1, _calendar(lambda d: d.astype("M8[Y]").astype(int) + 1970)),
    "month": ("month(d)", 1, 1, _calendar(lambda d: d.astype("M8[M]").astype(int) % 12 + 1)),
    "day": ("day(d)", 1, 1, _calendar(lambda d: (d - d.astype("M8[M]")).astype(int) + 1)),
    "cut": ("cut(x, [10, 20], ['low', 'middle', 'high'])", 3, 3, _cut),
}


Codes = npt.NDArray[np.int32]
DIGITS = 15
"""Decimal digits that a float keeps."""


def to_column(value: Value, variable: Variable, n_rows: int) -> Column:
    """Return ``value`` as a column; undefined results become the first missing code."""
    if variable.is_coded:
        return _coded(np.broadcast_to(_codes(value, variable), n_rows), variable)
    convert = as_dates if variable.kind is Kind.DATE else as_numbers
    return _results_numeric(np.broadcast_to(convert(value), n_rows), variable)


def _results_numeric(data: FloatArray, variable: Variable) -> Column:
    if variable.kind is not Kind.DATE:
        with np.errstate(all="ignore"):
            data = _rounded(data, variable.decimals)
    undefined = ~np.isfinite(data)
    _check_undefined(int(undefined.sum()), variable)
    data = np.where(undefined, np.nan, data) + 0.0  # + 0.0 turns -0.0 into 0.0
    return Column(variable, data, undefined.astype(np.int8) if variable.missing else None)


def _rounded(data: FloatArray, decimals: int | None) -> FloatArray:
    """Return numbers rounded to 15 digits and then to decimals: 46.875, not 46.87499..9."""
    if decimals is not None:
        data = np.round(data, decimals)
    if decimals is not None and decimals < 6:
        return data
    out = data.copy()
    sizes = np.floor(np.log10(np.where(np.isfinite(data) & (data != 0), np.abs(data), 1.0)))
    for size in np.unique(sizes[np.abs(sizes) < DIGITS]):
        rows = sizes == size
        out[rows] = np.round(data[rows], DIGITS - 1 - int(size))
    return out


def _coded(codes: Codes, variable: Variable) -> Column:
    undefined = codes < 0
    _check_undefined(int(undefined.sum()), variable)
    return Column(variable, np.where(undefined, len(variable.levels), codes).astype(np.int32))


def _check_undefined(count: int, variable: Variable) -> None:
    if count and not variable.missing:
        raise ExpressionError(
            f"variable {variable.name!r}: the expression is undefined in "
            f"{plural(count, 'row')} (a missing input, a division by zero) and the variable has no "
            "missing code; cover these rows with 'x if condition else y'"
        )


def _codes(value: Value, variable: Variable) -> Codes:
    """Return codes of ``variable``, -1 where the result is undefined."""
    if value.type in (Type.LABEL, Type.TEXT):
        return np.asarray(_label_codes(value, variable)[value.data])
    if variable.kind is Kind.BOOLEAN and value.type is Type.CONDITION:
        return _boolean_codes(value, variable)
    return _number_codes(as_numbers(value), variable)


def _label_codes(value: Value, variable: Variable) -> Codes:
    """Return the code of each label; missing codes that the variable lacks are undefined."""
    code_of = {label: code for code, label in enumerate(variable.labels)}
    unknown = [x for x in value.levels if x not in code_of]
    if unknown and value.column is None:
        shown = ", ".join(map(repr, unknown))
        raise ExpressionError(f"variable {variable.name!r} has no level {shown}; use its levels")
    if unknown:
        raise ExpressionError(
            f"variable {variable.name!r} lacks {plural(len(unknown), 'level')} of {value.what}; "
            "declare both with the same levels"
        )
    codes = [-1 if label is None else code_of.get(label, -1) for label in value.labels]
    return np.array(codes, dtype=np.int32)


def _boolean_codes(value: Value, variable: Variable) -> Codes:
    column = Column.zeros(variable, 0)
    labels = Value(Type.LABEL, column.data, variable.labels, len(variable.levels), column=column)
    is_true = bool_mask(labels, True)[: len(variable.levels)].tolist()
    if sorted(is_true) != [False, True]:
        raise ExpressionError(f"variable {variable.name!r} needs the levels true and false")
    codes = np.array([is_true.index(False), is_true.index(True)], dtype=np.int32)
    return np.asarray(codes[truth(value).astype(np.int32)])


def _number_codes(numbers: FloatArray, variable: Variable) -> Codes:
    spelled = np.array([label_number(level) for level in variable.levels])
    if not len(spelled) or np.isnan(spelled).any():
        raise ExpressionError(
            f"variable {variable.name!r} has levels that are not numbers; the expression must "
            "return labels, for example 'yes' if x > 0 else 'no'"
        )
    distinct, inverse = np.unique(np.atleast_1d(numbers), return_inverse=True)
    is_level = distinct[:, None] == spelled[None, :]
    codes = np.where(is_level.any(axis=1), is_level.argmax(axis=1), -1).astype(np.int32)
    lost = np.isin(inverse.ravel(), np.flatnonzero((codes < 0) & ~np.isnan(distinct)))
    if lost.any():
        raise ExpressionError(
            f"variable {variable.name!r}: in {plural(int(lost.sum()), 'row')} the expression "
            "returns a number that is not a level; round it, or cover these rows with "
            "'x if condition else y'"
        )
    return np.asarray(codes[inverse.ravel()].reshape(np.shape(numbers)))
