"""Rules from period to period and structural zeros: never broken in what is drawn."""

import numpy as np
import pytest

from synthesizer.data.errors import RuleError
from synthesizer.data.panel.paths import PathRule, broken_steps
from synthesizer.data.table import Kind
from synthesizer.models.cart import Cart
from synthesizer.models.histories.advance import Advance
from synthesizer.models.histories.lag_one import LagOne
from synthesizer.models.histories.wrapped import EachPeriod, Monotone, MostlyConstant, TimeInvariant
from synthesizer.models.limits import StructuralZeros
from tests.data.panel.panels import full_index, panel, random_column, random_index
from tests.models.histories.drawing import drawn_by
from tests.tables import coded, numeric

BASE = Cart(min_leaf=5)
WALKS = {
    "lag_one": LagOne(base=BASE),
    "one stage": LagOne(base=BASE, stay_or_move=False),
    "by period": LagOne(base=BASE, fit_by="by_period", min_rows=20),
    "mostly_constant": MostlyConstant(base=BASE),
    "time_invariant": TimeInvariant(base=BASE),
}
HISTORIES = WALKS | {
    "monotone": Monotone(base=BASE),
    "each_period": EachPeriod(base=BASE),
    "advance": Advance(base=BASE),
}


def absorbing(code, size):
    allowed = np.ones((size, size), dtype=bool)
    allowed[code] = np.arange(size) == code
    return PathRule(variable="x", allowed=allowed, text=f"never leaves {code}")


def never(one, two, size):
    allowed = np.ones((size, size), dtype=bool)
    allowed[one, two] = False
    return PathRule(variable="x", allowed=allowed, text=f"never from {one} to {two}")


RISES = PathRule(variable="x", non_decreasing=True, text="x never falls")


@pytest.mark.parametrize("name", ["lag_one", "one stage", "mostly_constant"])
@pytest.mark.parametrize(
    "rules", [[never(0, 1, 5), never(2, 0, 5)], [absorbing(2, 5), RISES]], ids=["never", "two"]
)
def test_rules_that_the_data_break_are_kept(name, rules):
    index = random_index(n=120, share=0.8, seed=1)
    column = random_column(index, Kind.ORDERED, 1)
    assert broken_steps(index, column, rules).any()
    drawn = drawn_by(HISTORIES[name], panel(index), column, rules=rules)
    assert not broken_steps(index, drawn, rules).any()


@pytest.mark.parametrize("model", [EachPeriod(base=BASE), Advance(base=BASE, width=1)])
def test_models_that_cannot_keep_a_rule_refuse_it(model):
    index = full_index(20, 3)
    column = coded("x", np.tile([0, 1, 1], 20), ("a", "b", "c"), kind=Kind.ORDERED)
    with pytest.raises(RuleError, match=r"'x'.*never leaves 0"):
        drawn_by(model, panel(index), column, rules=[absorbing(0, 3)])


def test_what_advances_may_never_fall():
    index = full_index(20, 3)
    column = numeric("x", np.arange(60) // 3 + index.period)
    drawn = drawn_by(Advance(base=BASE), panel(index), column, rules=[RISES])
    assert not broken_steps(index, drawn, [RISES]).any()


def judging(zeros, table):
    return lambda rows, values: zeros.broken(table.take(rows).with_column(values))


def with_occupation(seed=3, n=150):
    """An ordered level that follows from a changing occupation, but for one pair in ten."""
    index = random_index(n=n, share=0.8, seed=seed)
    rng = np.random.default_rng(seed)
    occupation = coded("occupation", rng.integers(0, 4, index.n_rows), tuple("pqrs"))
    level = np.minimum(occupation.data // 2 + rng.integers(0, 2, index.n_rows), 2)
    return panel(index, occupation, coded("x", level, ("a", "b", "c"), kind=Kind.ORDERED))


@pytest.mark.parametrize("name", ["one stage", "by period", "time_invariant", "monotone"])
def test_support_is_never_broken(name):
    table = with_occupation()
    if name == "time_invariant":  # a pair that every occupation has
        original = coded("occupation", table.index.person % 4, tuple("pqrs"))
        table = table.with_column(original)
    zeros = StructuralZeros.of(table, ("occupation", "x"), "x")
    drawn = drawn_by(HISTORIES[name], table, table["x"], judge=judging(zeros, table))
    assert not zeros.broken(table.with_column(drawn)).any()


def test_support_of_what_advances_holds_in_all_periods():
    index = full_index(150, 4)
    start = np.random.default_rng(1).integers(20, 30, 150)
    age = numeric("x", start[index.person] + index.period)
    school = coded("school", (age.data < 26).astype(int), ("no", "yes"))
    table = panel(index, school, age)
    zeros = StructuralZeros.of(table, ("school", "x"), "x")
    for model in (Advance(base=Cart(min_leaf=50)), Advance(base=Cart(min_leaf=2))):
        drawn = drawn_by(model, table, age, judge=judging(zeros, table))
        assert not zeros.broken(table.with_column(drawn)).any()
        assert (np.diff(drawn.data.reshape(150, 4), axis=1) == 1).all()


@pytest.mark.parametrize("name", ["lag_one", "monotone", "advance"])
def test_nothing_is_allowed(name):
    table = with_occupation(n=20)

    def judge(rows, values):
        return table.index.period[rows] == 2

    with pytest.raises(RuleError, match="'x'"):
        drawn_by(HISTORIES[name], table, table["x"], judge=judge)


def test_falls_that_stay_keep_rules_and_support():
    """At most one fall each must not be bought with steps or pairs that do not exist."""
    table = with_occupation(n=300)
    zeros = StructuralZeros.of(table, ("occupation", "x"), "x")
    rule = never(1, 2, 3)
    drawn = drawn_by(
        Monotone(base=BASE), table, table["x"], judge=judging(zeros, table), rules=[rule]
    )
    assert not zeros.broken(table.with_column(drawn)).any()
    assert not broken_steps(table.index, drawn, [rule]).any()
