"""What the tests of the contract share, for models of tables and of panels."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from synthesizer.data.archive import read_archive, write_archive
from synthesizer.data.schema import Variable
from synthesizer.data.table import Column, Table
from synthesizer.models.base import Abilities, ConditionalModel, FittedModel
from synthesizer.registry import Registry
from synthesizer.saved import read_nested

__all__ = [
    "check_column",
    "equal",
    "read_only",
    "rebuilt",
    "require",
    "require_no_frame",
    "unchanged",
]


def require(holds: object, reason: str) -> None:
    """Raise on purpose: an assert statement would be silent under ``python -O``."""
    if not holds:
        raise AssertionError(reason)


def rebuilt(model: ConditionalModel, fitted: FittedModel) -> FittedModel:
    """Return a fitted model after it was written to a file and read again.

    Models that it wraps are looked up among the registered ones, as in a saved model.
    """
    registry = Registry.load()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "model"
        write_archive(path, fitted.to_dict(), kind="check")
        state = read_archive(path, kind="check")
    return model.fitted_type.read(state, lambda own: read_nested(own, registry))


def read_only(table: Table, target: Column) -> None:
    """Make the arrays of a table and of a target read-only."""
    for column in (*table.columns, target):
        column.data.flags.writeable = False
        if column.states is not None:
            column.states.flags.writeable = False


def copies(table: Table, target: Column) -> list[Column]:
    """Return copies of the columns of a table and of a target."""
    return [
        Column(c.variable, c.data.copy(), None if c.states is None else c.states.copy())
        for c in (*table.columns, target)
    ]


def unchanged(before: list[Column], table: Table, target: Column) -> None:
    """Require that a table and a target are what ``copies`` found."""
    for old, new in zip(before, (*table.columns, target), strict=True):
        require(equal(old, new), f"variable {new.name!r} changed")


def check_column(
    drawn: Column, variable: Variable, n: int, *, donors: Column, abilities: Abilities
) -> None:
    """Require ``n`` allowed values of a variable; known ones where the abilities say so."""
    require(isinstance(drawn, Column), f"the result is a {type(drawn).__name__}")
    require(drawn.variable == variable, "the result is not of the target's variable")
    require(len(drawn) == n, f"{len(drawn)} values were drawn for {n} rows")
    dtype = np.dtype(np.int32 if variable.is_coded else np.float64)
    require(drawn.data.dtype == dtype, f"values are {drawn.data.dtype}, wanted is {dtype}")
    if variable.is_coded:
        inside = (drawn.data >= 0) & (drawn.data < variable.n_codes)
        require(inside.all(), "codes are out of range")
    else:
        states = drawn.missing_state()
        require(((states >= 0) & (states <= len(variable.missing))).all(), "odd missing codes")
        _check_numbers(drawn.take(drawn.is_observed), donors, abilities)


def _check_numbers(drawn: Column, donors: Column, abilities: Abilities) -> None:
    decimals = drawn.variable.decimals
    require(np.isfinite(drawn.data).all(), "values are not finite")
    if not (abilities.new_values or abilities.deterministic):
        known = np.isin(drawn.data, donors.data)
        require(known.all(), "values are new, which the abilities do not declare")
    if decimals is not None:
        same = np.array_equal(drawn.data, np.round(drawn.data, decimals))
        require(same, f"values have more than {decimals} decimals")


def equal(first: Column, second: Column) -> bool:
    """Compare values and missing codes."""
    return np.array_equal(first.data, second.data, equal_nan=True) and np.array_equal(
        first.missing_state(), second.missing_state()
    )


def require_no_frame(fitted: FittedModel, predictors: Table) -> None:
    """Require that a fitted model holds none of the confidential predictors."""
    names = set(predictors)
    for value in _reachable(fitted, set()):
        require(not isinstance(value, Table), "it holds a table")
        if isinstance(value, Column):
            require(value.name not in names, f"it holds the column {value.name!r}")
        if isinstance(value, np.ndarray) and value.shape[:1] == (predictors.n_rows,):
            for column in predictors.columns:
                require(
                    not _has_column(value, column.data), f"it holds the values of {column.name}"
                )


def _has_column(array: npt.NDArray[Any], data: npt.NDArray[Any]) -> bool:
    wide = array.reshape(len(data), -1)
    if wide.dtype.kind not in "iuf":
        return False
    numbers = wide.astype(np.float64).T
    exact = data.astype(np.float64)
    return any(np.array_equal(column, exact, equal_nan=True) for column in numbers)


def _reachable(value: object, seen: set[int]) -> Iterator[object]:
    """Walk through attributes, mappings and sequences."""
    if id(value) in seen or isinstance(value, str | bytes | int | float | type):
        return
    seen.add(id(value))
    yield value
    for part in _parts(value):
        yield from _reachable(part, seen)


def _parts(value: object) -> list[object]:
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    slots = getattr(type(value), "__slots__", ())
    names = [slots] if isinstance(slots, str) else list(slots)
    return [*getattr(value, "__dict__", {}).values(), *(getattr(value, n, None) for n in names)]
