"""Results of expressions -> columns of a variable."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from synthesizer.data.expression_values import (
    Type,
    Value,
    as_dates,
    as_numbers,
    label_number,
    truth,
)
from synthesizer.data.schema import Kind, Variable
from synthesizer.data.table import Column, FloatArray
from synthesizer.errors import ExpressionError

__all__ = ["to_column"]

Codes = npt.NDArray[np.int32]


def to_column(value: Value, variable: Variable, n_rows: int) -> Column:
    """Return ``value`` as a column; undefined results become the first missing code."""
    if variable.is_coded:
        return _coded(np.broadcast_to(_codes(value, variable), n_rows), variable)
    convert = as_dates if variable.kind is Kind.DATE else as_numbers
    return _numeric(np.broadcast_to(convert(value), n_rows), variable)


def _numeric(data: FloatArray, variable: Variable) -> Column:
    if variable.decimals is not None and variable.kind is not Kind.DATE:
        with np.errstate(all="ignore"):
            data = np.round(data, variable.decimals)
    undefined = ~np.isfinite(data)
    _check_undefined(int(undefined.sum()), variable)
    data = np.where(undefined, np.nan, data) + 0.0  # + 0.0 turns -0.0 into 0.0
    return Column(variable, data, undefined.astype(np.int8) if variable.missing else None)


def _coded(codes: Codes, variable: Variable) -> Column:
    undefined = codes < 0
    _check_undefined(int(undefined.sum()), variable)
    return Column(variable, np.where(undefined, len(variable.levels), codes).astype(np.int32))


def _check_undefined(count: int, variable: Variable) -> None:
    if count and not variable.missing:
        raise ExpressionError(
            f"variable {variable.name!r}: the expression is undefined in {count} rows (a missing "
            "input, a division by zero) and the variable has no missing code; cover these rows "
            "with 'x if condition else y'"
        )


def _codes(value: Value, variable: Variable) -> Codes:
    """Codes of ``variable``, -1 where the result is undefined."""
    if value.type in (Type.LABEL, Type.TEXT):
        return np.asarray(_label_codes(value, variable)[value.data])
    if variable.kind is Kind.BOOLEAN and value.type is Type.CONDITION:
        return _boolean_codes(value, variable)
    return _number_codes(as_numbers(value), variable)


def _label_codes(value: Value, variable: Variable) -> Codes:
    """For each label its code; missing codes that the variable does not know are undefined."""
    places = {label: code for code, label in enumerate(variable.labels)}
    unknown = [x for x in value.labels[: value.n_levels] if x not in places]
    if unknown and value.column is None:
        shown = ", ".join(map(repr, unknown))
        raise ExpressionError(f"variable {variable.name!r} has no level {shown}; use its levels")
    if unknown:
        raise ExpressionError(
            f"variable {variable.name!r} lacks {len(unknown)} levels of {value.what}; declare "
            "both with the same levels"
        )
    known = [-1 if label is None else places.get(label, -1) for label in value.labels]
    return np.array(known, dtype=np.int32)


def _boolean_codes(value: Value, variable: Variable) -> Codes:
    levels = Column(variable, np.arange(len(variable.levels), dtype=np.int32))
    from_levels = Value(Type.LABEL, levels.data, variable.labels, len(variable.levels),
                        column=levels)  # fmt: skip
    is_true = truth(from_levels).tolist()
    if sorted(is_true) != [False, True]:
        raise ExpressionError(f"variable {variable.name!r} needs the levels true and false")
    codes = np.array([is_true.index(False), is_true.index(True)], dtype=np.int32)
    return np.asarray(codes[truth(value).astype(np.int32)])


def _number_codes(numbers: FloatArray, variable: Variable) -> Codes:
    spelled = np.array([label_number(level) for level in variable.levels])
    if not len(spelled) or np.isnan(spelled).any():
        raise ExpressionError(
            f"variable {variable.name!r} has levels that are no numbers; the expression must "
            "give labels, for example 'yes' if x > 0 else 'no'"
        )
    distinct, inverse = np.unique(np.atleast_1d(numbers), return_inverse=True)
    found = distinct[:, None] == spelled[None, :]
    codes = np.where(found.any(axis=1), found.argmax(axis=1), -1).astype(np.int32)
    lost = np.isin(inverse.ravel(), np.flatnonzero((codes < 0) & ~np.isnan(distinct)))
    if lost.any():
        raise ExpressionError(
            f"variable {variable.name!r}: the expression gives a number that is no level in "
            f"{int(lost.sum())} rows; round it, or cover these rows with 'x if condition else y'"
        )
    return np.asarray(codes[inverse.ravel()].reshape(np.shape(numbers)))
