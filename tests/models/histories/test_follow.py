"""Histories that go on: the last period given those before it."""

from __future__ import annotations

import numpy as np
import pytest

from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.table import Column, Kind, Variable
from synthesizer.models.cart import Cart
from synthesizer.models.histories.advance import Advance
from synthesizer.models.histories.history import WrappedHistory
from synthesizer.models.histories.lag_one import LagOne
from synthesizer.models.histories.wrapped import EachPeriod, Monotone, MostlyConstant, TimeInvariant
from synthesizer.models.limits import Limits

N, PERIODS = 120, 5
BASE = Cart(min_leaf=5, leaf_regression=False, min_holders=0)
ORDER = tuple("abcdefgh")


def present() -> np.ndarray:
    """Most are there from the start; the last 30 are new in the last period."""
    there = np.ones((N, PERIODS), dtype=bool)
    there[-30:, :-1] = False
    there[:10, 2] = False  # a gap
    return there


def followed(model: WrappedHistory, codes: np.ndarray, variable: Variable) -> tuple[Column, ...]:
    """What is drawn for the last period, and the values of the data there."""
    index = PanelIndex.of_presence(present(), np.arange(float(PERIODS)))
    data = PanelTable((), index)
    values = codes[index.person, index.period]
    kind = np.int32 if variable.is_coded else np.float64
    target = Column(variable, values.astype(kind))
    fitted = model.fit_last(data, target, (), rng=np.random.default_rng(1))
    rows = index.by_period[-1]
    blank = target.take(index.starts[index.person[rows]])
    past = target.replaced(rows, blank)
    drawn = fitted.follow(data, past, Limits(), rng=np.random.default_rng(2))
    return drawn, target.take(rows)


def ordered(levels: tuple[str, ...] = ORDER) -> Variable:
    return Variable(name="x", kind=Kind.ORDERED, levels=levels)


START = np.random.default_rng(3).integers(0, 3, N)
CONSTANT = np.repeat(START[:, None], PERIODS, axis=1)
COUNTING = START[:, None] + np.arange(PERIODS)


@pytest.mark.parametrize(
    ("model", "codes"),
    [
        (TimeInvariant(base=BASE), CONSTANT),
        (MostlyConstant(base=BASE), CONSTANT),
        (Monotone(base=BASE), COUNTING),
        (LagOne(base=BASE), COUNTING),
        (Advance(base=BASE, width=1.0), COUNTING),
    ],
    ids=["time_invariant", "mostly_constant", "monotone", "lag_one", "advance"],
)
def test_what_is_sure_goes_on(model: WrappedHistory, codes: np.ndarray) -> None:
    drawn, data = followed(model, codes, ordered())
    known = slice(0, N - 30)
    assert drawn.data[known].tolist() == data.data[known].tolist()
    # who is new is like those who were new in the data
    assert set(drawn.data[N - 30 :]) <= set(data.data[N - 30 :])


def test_numbers_advance_from_the_last_value_that_is_known() -> None:
    age = Variable(name="x", kind=Kind.NUMERIC, decimals=1)
    drawn, data = followed(Advance(base=BASE, rate=0.5), 20 + 0.5 * COUNTING, age)
    assert drawn.data[: N - 30].tolist() == data.data[: N - 30].tolist()


def test_levels_of_several_years_hold_what_earlier_ones_say() -> None:
    years = np.random.default_rng(4).integers(0, 9, N)[:, None] + np.arange(PERIODS)
    drawn, _ = followed(Advance(base=BASE, width=3.0), years // 3, ordered())
    before, known = years[: N - 30] // 3, drawn.data[: N - 30]
    moved = before[:, 3] != before[:, 2]
    assert (known >= before[:, 3]).all()
    assert (known <= before[:, 3] + 1).all()
    assert (known[10:][moved[10:]] == before[10:, 3][moved[10:]]).all()  # entered a year ago
    long = (before[:, 1] == before[:, 3]) & (before[:, 0] != before[:, 1])
    assert (known[10:][long[10:]] == before[10:, 3][long[10:]] + 1).all()  # three years in it


def test_each_period_looks_at_the_last_one_only() -> None:
    codes = np.repeat(np.arange(PERIODS)[None, :], N, axis=0)
    drawn, _ = followed(EachPeriod(base=BASE), codes, ordered())
    assert set(drawn.data) == {PERIODS - 1}
