"""Whether a value is missing is decided before the value, also where values may not fall."""

import numpy as np
import pytest

from synthesizer.data.panel.paths import PathRule, broken_steps
from synthesizer.data.table import Kind
from synthesizer.models.cart import Cart
from synthesizer.models.histories.lag_one import LagOne
from tests.data.panel.panels import full_index, panel
from tests.models.histories.drawing import drawn_by
from tests.tables import coded, numeric

RULE = PathRule(variable="x", non_decreasing=True, text="x never falls")
SHARES = (0.06, 0.03)


def noisy(kind, n=500, periods=8):
    """Values that fall as often as they rise, some of them missing under two codes."""
    rng = np.random.default_rng(3)
    index = full_index(n, periods)
    size = index.n_rows
    states = rng.choice(3, size=size, p=[1 - sum(SHARES), *SHARES])
    if kind is Kind.NUMERIC:
        level = np.repeat(rng.normal(100, 20, n), periods)
        values = np.where(states > 0, np.nan, (level + rng.normal(0, 5, size)).round(1))
        return index, numeric("x", values, states, missing=("-8", ""))
    codes = np.where(states > 0, 4 + states, rng.integers(0, 5, size))
    levels = ("1", "2", "3", "4", "5")
    return index, coded("x", codes, levels, ("-8", ""), kind=Kind.ORDERED)


@pytest.mark.parametrize("kind", [Kind.NUMERIC, Kind.ORDERED])
@pytest.mark.parametrize("stay_or_move", [True, False])
def test_a_redraw_does_not_escape_into_missing_codes(kind, stay_or_move):
    index, column = noisy(kind)
    model = LagOne(base=Cart(min_leaf=10), stay_or_move=stay_or_move)
    drawn = drawn_by(model, panel(index), column, rules=[RULE])
    assert not broken_steps(index, drawn, [RULE]).any()
    for code, share in enumerate(SHARES):
        found = (
            np.mean(drawn.missing_state() == code + 1)
            if kind is Kind.NUMERIC
            else np.mean(drawn.data == 5 + code)
        )
        assert abs(found - share) < 0.015, (code, found)


def test_a_missing_code_is_the_last_resort():
    index, column = noisy(Kind.ORDERED)
    odd = index.person % 10 == 0
    drawn = drawn_by(
        LagOne(base=Cart(min_leaf=10)),
        panel(index),
        column,
        rules=[RULE],
        judge=lambda rows, values: odd[rows] & values.is_observed,
    )
    assert not drawn.is_observed[odd].any()
    assert drawn.is_observed[~odd].mean() > 0.88
