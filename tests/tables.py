"""Small tables for tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthesizer.data.encoding import encode
from synthesizer.data.sources import from_pandas, read_path
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.data.writing import to_frame, write


def coded(
    name: str,
    codes: Sequence[int] | np.ndarray,
    levels: Sequence[str],
    missing: Sequence[str] = (),
    kind: Kind = Kind.CATEGORICAL,
) -> Column:
    variable = Variable(name=name, kind=kind, levels=tuple(levels), missing=tuple(missing))
    return Column(variable, np.asarray(codes, dtype=np.int32))


def numeric(
    name: str,
    values: Sequence[float] | np.ndarray,
    states: Sequence[int] | np.ndarray | None = None,
    missing: Sequence[str] = (),
    decimals: int | None = 0,
) -> Column:
    variable = Variable(name=name, kind=Kind.NUMERIC, missing=tuple(missing), decimals=decimals)
    data = np.asarray(values, dtype=np.float64).copy()
    if states is None:
        return Column(variable, data)
    states = np.asarray(states, dtype=np.int8)
    data[states > 0] = np.nan
    return Column(variable, data, states)


def persons(n: int = 400, seed: int = 0) -> Table:
    """Sex, age, a marital status that depends on age, an income with two missing codes."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 90, n)
    married = (age >= 18) & (rng.random(n) < 0.6)
    income = np.round(rng.gamma(2, 1000, n) * (age >= 15))
    states = np.where(age < 15, 1, np.where(rng.random(n) < 0.1, 2, 0))
    return Table(
        [
            coded("sex", rng.integers(0, 2, n), ("f", "m")),
            numeric("age", age),
            coded("marital", married, ("single", "married")),
            numeric("income", income, states, missing=("", "-8")),
        ]
    )


def assert_same(one: Table, other: Table) -> None:
    """Raise AssertionError unless both tables hold the same bytes."""
    assert one.names == other.names
    for name in one.names:
        assert one[name].variable == other[name].variable
        np.testing.assert_array_equal(one[name].data, other[name].data)
        np.testing.assert_array_equal(one[name].missing_state(), other[name].missing_state())


def values_of(column: Column) -> list[Any]:
    """Return each value: a label, a number, or a missing code."""
    if column.is_coded:
        return [column.variable.labels[code] for code in column.data]
    states = column.missing_state()
    return [
        float(v) if s == 0 else column.variable.missing[s - 1]
        for v, s in zip(column.data, states, strict=True)
    ]


def copied(source: Path, **options: Any) -> tuple[Table, bytes]:
    """Return the table of a file, and the bytes of the file that is written from the table."""
    raw = read_path(source, **options)
    table = encode(raw)
    target = source.with_name(f"copy of {source.name}")
    write(table, target, raw.layout)
    return table, target.read_bytes()


def copied_frame(frame: pd.DataFrame, declared: Any = None) -> tuple[Table, pd.DataFrame]:
    """Return the table of a frame, and the frame that is made from the table."""
    raw = from_pandas(frame)
    table = encode(raw, declared)
    return table, to_frame(table, raw.layout)
