"""One value as it is written in a configuration, as a column with one row."""

from __future__ import annotations

import math

import numpy as np

from synthesizer.data.schema import Kind, Variable
from synthesizer.data.table import Column
from synthesizer.errors import DataError

__all__ = ["single_value"]


def single_value(variable: Variable, text: str) -> Column:
    """Return the value that ``text`` stands for.

    Parameters
    ----------
    variable : Variable
        Of any kind but ``id``.
    text : str
        A label, a missing code, a number, or a date as YYYY-MM-DD.

    Raises
    ------
    DataError
        If the variable has no such label or code, or the text is no number or date.

    Examples
    --------
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"), missing=("",))
    >>> single_value(sex, "m").data.tolist(), single_value(sex, "").data.tolist()
    ([1], [2])
    """
    if variable.is_coded:
        if text not in variable.labels:
            raise DataError(
                f"{text!r} is no level and no missing code of variable {variable.name!r}; "
                "write a label as it stands in the data"
            )
        return Column(variable, np.array([variable.labels.index(text)], dtype=np.int32))
    if text in variable.missing:
        state = variable.missing.index(text) + 1
        return Column(variable, np.array([np.nan]), np.array([state], dtype=np.int8))
    states = np.zeros(1, dtype=np.int8) if variable.missing else None
    return Column(variable, np.array([_number(variable, text)]), states)


def _number(variable: Variable, text: str) -> float:
    try:
        if variable.kind is Kind.DATE:
            return float(np.datetime64(text, "D").astype(np.int64))
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        what = "date (YYYY-MM-DD)" if variable.kind is Kind.DATE else "number"
        raise DataError(f"{text!r} is no {what} and no missing code of variable {variable.name!r}")
    return value
