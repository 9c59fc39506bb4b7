"""The lag-one model against slow obvious code on simulated Markov chains."""

from itertools import pairwise

import numpy as np
import pytest

from synthesizer.data.panel.panel_table import PanelIndex
from synthesizer.data.panel.paths import PathRule, broken_steps, last_observed
from synthesizer.data.table import Kind
from synthesizer.models.cart import Cart
from synthesizer.models.histories.lag_one import LagOne
from tests.data.panel.panels import full_index, panel, persons_of, random_index
from tests.models.histories.drawing import drawn_by
from tests.tables import coded, numeric

BASE = Cart(min_leaf=5)
RULE = PathRule(variable="x", non_decreasing=True, text="x never falls")
STEPS = np.array([[0.8, 0.15, 0.05], [0.1, 0.7, 0.2], [0.3, 0.0, 0.7]])


def markov(n=600, periods=8, seed=1, steps=STEPS):
    rng = np.random.default_rng(seed)
    states = np.zeros((n, periods), dtype=np.int32)
    states[:, 0] = rng.integers(0, 3, n)
    for t in range(1, periods):
        cuts = np.cumsum(steps[states[:, t - 1]], axis=1)
        states[:, t] = (rng.random((n, 1)) > cuts).sum(axis=1)
    return full_index(n, periods), coded("x", states.ravel(), ("a", "b", "c"))


def transitions(index, column):
    """Shares of the next state, by nested loops."""
    counts = np.zeros((3, 3))
    for history in persons_of(index, column):
        periods = sorted(history)
        for one, two in pairwise(periods):
            counts["abc".index(history[one]), "abc".index(history[two])] += 1
    return counts / counts.sum(axis=1, keepdims=True), counts.sum(axis=1)


@pytest.mark.parametrize(
    ("stay_or_move", "fit_by"), [(True, "pooled"), (False, "pooled"), (True, "by_period")]
)
def test_transitions_are_those_of_the_chain(stay_or_move, fit_by):
    index, column = markov()
    model = LagOne(base=BASE, stay_or_move=stay_or_move, fit_by=fit_by)
    drawn = drawn_by(model, panel(index), column)
    wanted, rows = transitions(index, column)
    actual, _ = transitions(index, drawn)
    error = np.sqrt(2 * wanted * (1 - wanted) / rows[:, None])
    assert (np.abs(actual - wanted) < 5 * error + 0.02).all()
    assert actual[2, 1] == 0  # a step that never occurs is never drawn


def test_a_period_of_its_own():
    index, column = markov(n=300, periods=6)
    states = column.data.reshape(300, 6).copy()
    states[:, 3] = (states[:, 2] + 1) % 3  # everybody moves on, in this period only
    states[:, 4:] = states[:, 3:4]
    column = coded("x", states.ravel(), ("a", "b", "c"))
    model = LagOne(base=BASE, fit_by="by_period")
    drawn = drawn_by(model, panel(index), column).data.reshape(300, 6)
    assert ((drawn[:, 3] - drawn[:, 2]) % 3 == 1).all()
    assert (drawn[:, 4:] == drawn[:, 3:4]).all()


FROM_C = np.array([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.45, 0.2, 0.35]])


def not_from_c_to(*codes):
    allowed = np.ones((3, 3), dtype=bool)
    allowed[2, list(codes)] = False
    return PathRule(variable="x", allowed=allowed, text="never")


@pytest.mark.parametrize(
    ("stay_or_move", "codes"), [(True, (1,)), (True, (0, 1)), (False, (0, 1)), (False, (2,))]
)
def test_forbidden_steps_leave_the_law_of_the_others(stay_or_move, codes):
    index, column = markov(n=4000, periods=5, steps=FROM_C)
    rule = not_from_c_to(*codes)
    model = LagOne(base=BASE, stay_or_move=stay_or_move)
    drawn = drawn_by(model, panel(index), column, rules=[rule])
    wanted, original = transitions(index, column)
    wanted = np.where(rule.allowed, wanted, 0)
    wanted /= wanted.sum(axis=1, keepdims=True)
    actual, rows = transitions(index, drawn)
    error = np.sqrt(wanted * (1 - wanted) * (1 / rows + 1 / original)[:, None])
    assert (np.abs(actual - wanted) <= 4 * error).all()


def test_forbidden_falls_leave_the_law_of_the_rises():
    index = full_index(3000, 5)
    rng = np.random.default_rng(5)
    steps = rng.choice([-2, 0, 1, 2], p=[0.6, 0.05, 0.25, 0.1], size=(3000, 5))
    values = 100 + np.cumsum(steps, axis=1)
    drawn = drawn_by(
        LagOne(base=Cart(min_leaf=5)), panel(index), numeric("x", values.ravel()), rules=[RULE]
    )
    early = np.diff(drawn.data.reshape(3000, 5)[:, :2], axis=1)
    shares = [(early == step).mean() for step in (0, 1, 2)]
    assert np.abs(np.array(shares) - [0.125, 0.625, 0.25]).max() < 0.04


def test_the_lag_is_the_nearest_earlier_period_across_gaps():
    index = random_index(n=200, share=0.5, seed=2)
    original = np.random.default_rng(3).integers(0, 3, 200)
    column = coded("x", original[index.person], ("a", "b", "c"))
    for model in (LagOne(base=BASE), LagOne(base=BASE, stay_or_move=False)):
        drawn = drawn_by(model, panel(index), column)
        for history in persons_of(index, drawn):
            assert len(set(history.values())) == 1


def test_numbers_rise_by_what_they_rise_in_the_data():
    index = full_index(100, 4)
    start = np.random.default_rng(4).integers(0, 5, 100)
    values = (10 * start[:, None] + np.arange(4)).ravel()
    drawn = drawn_by(
        LagOne(base=Cart(min_leaf=2, leaf_regression=False)), panel(index), numeric("x", values)
    )
    steps = np.diff(drawn.data.reshape(100, 4), axis=1)
    assert (steps == 1).all()


def test_no_row_has_a_lag():
    present = np.eye(5, dtype=bool)[np.arange(60) % 5]
    index = PanelIndex.of_presence(present, np.arange(5.0))
    column = coded("x", np.arange(60) % 3, ("a", "b", "c"))
    fitted = LagOne(base=BASE).fit(panel(index), column, rng=np.random.default_rng(1))
    drawn = fitted.sample(panel(index), rng=np.random.default_rng(2))
    assert len(drawn) == 60
    # synthetic persons who have one hold on to their value: there is nothing to learn a move from
    full = full_index(20, 5)
    held = fitted.sample(panel(full), rng=np.random.default_rng(2)).data.reshape(20, 5)
    assert (held == held[:, :1]).all()


def test_changes_of_earlier_variables_are_seen():
    index, column = markov(n=300, periods=5)
    shift = coded("y", (column.data + 1) % 3, ("p", "q", "r"))
    moved = np.diff(column.data.reshape(300, 5), axis=1) != 0
    drawn = drawn_by(LagOne(base=BASE), panel(index, column), shift).data.reshape(300, 5)
    assert ((np.diff(drawn, axis=1) != 0) == moved).mean() > 0.97


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


@pytest.mark.parametrize(("kind", "stay_or_move"), [(Kind.NUMERIC, True), (Kind.ORDERED, False)])
def test_a_redraw_does_not_escape_into_missing_codes(kind, stay_or_move):
    index, column = noisy(kind)
    model = LagOne(base=Cart(min_leaf=10), stay_or_move=stay_or_move)
    drawn = drawn_by(model, panel(index), column, rules=[RULE])
    assert not broken_steps(index, drawn, [RULE]).any()
    for code, share in enumerate(SHARES):
        actual = (
            np.mean(drawn.missing_state() == code + 1)
            if kind is Kind.NUMERIC
            else np.mean(drawn.data == 5 + code)
        )
        assert abs(actual - share) < 0.015, (code, actual)


@pytest.mark.parametrize("stay_or_move", [True, False])
def test_persons_keep_their_value_across_missing_ones(stay_or_move):
    rng = np.random.default_rng(5)
    index = full_index(400, 8)
    states = (rng.random(index.n_rows) < 0.1).astype(np.int8)
    level = np.repeat(rng.integers(0, 40, 400), 8).astype(float)
    target = numeric("x", np.where(states > 0, np.nan, level), states, missing=("",))
    drawn = drawn_by(LagOne(base=BASE, stay_or_move=stay_or_move), panel(index), target)
    assert abs(drawn.is_observed.mean() - 0.9) < 0.02
    later = np.flatnonzero(~index.is_first & drawn.is_observed)
    after = later[~drawn.is_observed[later - 1]]
    change = drawn.data[after] - last_observed(index, drawn).data[after]
    assert np.mean(np.abs(change[np.isfinite(change)]) < 3) > 0.9


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


def test_new_moves_are_made_only_where_they_may_be():
    index, column = markov(steps=np.array([[0.6, 0.2, 0.2], [0.3, 0.7, 0.0], [0.0, 0.3, 0.7]]))
    coarse = Cart(min_leaf=10**6, leaf_regression=False)  # knows no value before
    free = drawn_by(LagOne(base=coarse), panel(index), column)
    remaining = drawn_by(LagOne(base=coarse, new_moves=False), panel(index), column)
    assert transitions(index, free)[0][1, 2] > 0.05
    actual, _ = transitions(index, remaining)
    assert actual[1, 2] == actual[2, 0] == 0.0
    assert actual[1, 0] > 0.05 < actual[2, 1]  # the other moves are still made
    unsuited = LagOne(new_moves=False).unsuited
    assert "kind numeric has none" in next(unsuited(numeric("pay", [1.0]).variable, {}))
    assert list(unsuited(column.variable, {})) == []
