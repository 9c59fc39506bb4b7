"""Small panels for tests."""

from __future__ import annotations

import numpy as np

from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.table import Column, Kind, Variable
from tests.tables import values_of

TIMES = np.array([1990.0, 1991.0, 1993.0, 1994.0, 1998.0])


def random_index(
    n: int = 30, times: np.ndarray = TIMES, seed: int = 0, share: float = 0.6
) -> PanelIndex:
    """Who is seen when, at random, everybody at least once: gaps, late starts, single periods."""
    rng = np.random.default_rng(seed)
    present = rng.random((n, len(times))) < share
    present[np.arange(n), rng.integers(len(times), size=n)] = True
    return PanelIndex.of_presence(present, times)


def full_index(n: int, periods: int) -> PanelIndex:
    """Everybody in every period."""
    return PanelIndex.of_presence(np.ones((n, periods), dtype=bool), np.arange(float(periods)))


def random_column(index: PanelIndex, kind: Kind, seed: int = 0, *, missing: bool = True) -> Column:
    """Values that stay as often as they change; a quarter is missing, under two codes."""
    rng = np.random.default_rng(seed)
    codes = ("", "-9") if missing else ()
    n = index.n_rows
    if kind.is_coded:
        levels = ("false", "true") if kind is Kind.BOOLEAN else ("a", "b", "c")
        variable = Variable(name="x", kind=kind, levels=levels, missing=codes)
        return Column(variable, rng.integers(0, variable.n_codes, n).astype(np.int32))
    variable = Variable(name="x", kind=kind, missing=codes, decimals=0)
    states = np.where(rng.random(n) < 0.25, rng.integers(1, 3, n), 0).astype(np.int8)
    values = rng.integers(0, 3, n).astype(np.float64)
    if not missing:
        return Column(variable, values)
    return Column(variable, np.where(states > 0, np.nan, values), states)


def persons_of(index: PanelIndex, column: Column) -> list[dict[int, object]]:
    """The values of each person by period."""
    histories: list[dict[int, object]] = [{} for _ in range(index.n_persons)]
    for person, period, value in zip(index.person, index.period, values_of(column), strict=True):
        histories[person][int(period)] = value
    return histories


def panel(index: PanelIndex, *columns: Column) -> PanelTable:
    return PanelTable(columns, index)
