"""Small tables for tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthesizer.data.table import Column, Kind, Table, Variable


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
