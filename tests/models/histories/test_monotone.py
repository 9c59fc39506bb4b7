"""Variables that rise or stay, but for a few persons."""

import numpy as np
import pytest

from synthesizer.data.panel.paths import PathRule, broken_steps
from synthesizer.data.table import Kind
from synthesizer.models.cart import Cart
from synthesizer.models.histories.monotone import Monotone
from synthesizer.models.histories.mostly_constant import changers
from tests.data.panel.panels import full_index, panel, random_column, random_index
from tests.models.histories.drawing import drawn_by
from tests.tables import coded, numeric

BASE = Cart(min_leaf=5)
RISES = PathRule(variable="x", non_decreasing=True, text="x never falls")
LEVELS = tuple("abcdef")


def education(n=500, share=0.04, seed=1):
    """Half never change, the others rise, a few fall once."""
    index = random_index(n=n, share=0.9, seed=seed)
    rng = np.random.default_rng(seed)
    up = (rng.random(n) < 0.5)[index.person] * (index.period >= rng.integers(1, 5, n)[index.person])
    value = rng.integers(1, 4, n)[index.person] + up * rng.integers(1, 3, n)[index.person]
    falls = (rng.random(n) < share)[index.person] & (index.period == 4)
    return index, np.where(falls, 0, value)


def falls_of(index, column):
    broken = broken_steps(index, column, [RISES])
    return np.bincount(index.person[broken], minlength=index.n_persons)


@pytest.mark.parametrize("as_number", [True, False])
def test_falls_are_as_rare_as_in_the_data_and_at_most_one_each(as_number):
    index, values = education()
    kind = Kind.ORDERED
    column = numeric("x", values) if as_number else coded("x", values, LEVELS, kind=kind)
    wanted = falls_of(index, column)
    shares = []
    for seed in range(3):
        drawn = drawn_by(Monotone(base=BASE), panel(index), column, seed=seed)
        falls = falls_of(index, drawn)
        assert falls.max() <= 1
        shares.append((falls > 0).mean())
    assert abs(np.mean(shares) - (wanted > 0).mean()) < 0.025
    assert abs(changers(index, drawn).mean() - changers(index, column).mean()) < 0.08


def test_nobody_falls_where_nobody_does():
    index, values = education(share=0.0)
    drawn = drawn_by(Monotone(base=BASE), panel(index), numeric("x", values))
    assert falls_of(index, drawn).max() == 0
    assert changers(index, drawn).any()


@pytest.mark.parametrize("kind", [Kind.ORDERED, Kind.NUMERIC, Kind.DATE])
def test_wild_histories_fall_once_at_most(kind):
    index = random_index(n=150, share=0.9, seed=4)
    drawn = drawn_by(Monotone(base=BASE), panel(index), random_column(index, kind, 4))
    assert falls_of(index, drawn).max() == 1


def test_everybody_is_constant_everybody_rises_everybody_falls():
    index = full_index(60, 3)
    for values, check in (
        (index.person % 4, lambda c: not changers(index, c).any()),
        (index.person % 4 + index.period, lambda c: changers(index, c).all()),
        (index.person % 4 - index.period + 3, lambda c: (falls_of(index, c) == 1).all()),
    ):
        drawn = drawn_by(Monotone(base=BASE), panel(index), numeric("x", values))
        assert check(drawn)


def test_one_period_and_one_person():
    for index in (full_index(40, 1), full_index(1, 4), full_index(1, 1)):
        column = numeric("x", np.arange(index.n_rows))
        drawn = drawn_by(Monotone(base=BASE), panel(index), column)
        assert np.isin(drawn.data, column.data).all()
        assert falls_of(index, drawn).max() == 0
