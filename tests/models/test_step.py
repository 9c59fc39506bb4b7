"""One variable of the chain: rules, structural zeros, missing codes first, errors with a place."""

from typing import Any

import numpy as np
import pytest

from synthesizer.data.errors import DataError, ModelError
from synthesizer.data.expressions import Expression
from synthesizer.data.table import Column, Kind, Table
from synthesizer.data.values import single_value
from synthesizer.models.cart import Cart
from synthesizer.models.fixed import Constant, Keep
from synthesizer.models.grouped import Grouped
from synthesizer.models.sample import Sample
from synthesizer.models.step import Rule, Step, error_context
from tests.models.fits import coded, numeric

RNG = np.random.default_rng(1)
X = coded("x", [0, 1, 2, 3], 5)
PAY = numeric("pay", [5, 6, np.nan, np.nan], 0, states=[0, 0, 1, 2], missing=("", "-8"))
TABLE = Table([X, PAY])
EXACT = Cart(min_leaf=1, leaf_regression=False, min_holders=0)


def rule(text: str, value: str = "1") -> Rule:
    return Rule(condition=Expression.parse(text), value=single_value(PAY.variable, value))


def test_a_rule_sets_its_value_where_it_holds() -> None:
    assert rule("x == 'x0'").variable == "pay"
    assert rule("x == 'x4'").apply(PAY, TABLE) is PAY
    drawn = rule("x in ['x1', 'x2']", "-8").apply(PAY, TABLE)
    np.testing.assert_array_equal(drawn.data, [5, np.nan, np.nan, np.nan])
    assert drawn.missing_state().tolist() == [0, 2, 2, 2]


def test_missing_codes_are_drawn_first_and_then_the_observed() -> None:
    table = TABLE.take(np.repeat(np.arange(4), [5, 5, 5, 8]))
    fitted = Step(variable="pay", method="cart", model=EXACT, predictors=("x",)).fit(table, [], RNG)
    assert (fitted.method, fitted.missing_method, fitted.predictors) == ("cart", "cart", ("x",))
    state_model: Any = fitted.state_model
    states = state_model.donors.variable
    assert (states.name, states.kind) == ("pay", Kind.CATEGORICAL)
    assert states.levels == ("observed", "", "-8")
    for rows in (slice(0, 4), slice(2, 4)):
        drawn, expected = fitted.draw(TABLE.take(rows), RNG), PAY.take(rows)
        np.testing.assert_array_equal(drawn.data, expected.data)
        assert drawn.missing_state().tolist() == expected.missing_state().tolist()
        assert drawn.variable == PAY.variable
    never = Constant(value="observed")
    step = Step(
        variable="pay",
        method="a",
        model=Sample(min_holders=0),
        missing_method="b",
        missing_model=never,
    )
    fitted = step.fit(TABLE, [], RNG)
    assert fitted.missing_method == "b"
    assert set(fitted.draw(Table([], 30), RNG).data) == {5.0, 6.0}


def test_what_cannot_be_learnt_is_reported_at_the_draw() -> None:
    step = Step(
        variable="pay", method="sample", model=Sample(), predictors=("x",), max_predictors=9
    )
    assert (step.n_predictors, step.is_whole, step.is_fixed) == (1, False, False)
    only_missing = step.fit(TABLE.take(slice(2, 4)), [], RNG)
    assert only_missing.value_model is None
    assert set(only_missing.draw(TABLE, RNG).missing_state()) <= {1, 2}
    nothing = step.fit(TABLE, [rule("x != 'x4'")], RNG)
    assert nothing.value_model is nothing.state_model is None
    with pytest.raises(ModelError, match="'pay': every confidential row"):
        nothing.draw(TABLE, RNG)
    remaining = Step(variable="pay", method="keep", model=Keep(), predictors=("x",)).fit(
        TABLE, [], RNG
    )
    assert (remaining.copied_column, remaining.predictors, remaining.value_model) == (PAY, (), None)


def test_likelihoods_are_those_of_the_missing_code_and_then_of_the_value() -> None:
    states = np.repeat([0, 0, 1, 2], [100, 300, 200, 400])
    values = np.repeat([5.0, 6.0, np.nan, np.nan], [100, 300, 200, 400])
    table = Table([numeric("pay", values, 0, states=states, missing=("", "-8"))])
    tree = Cart(min_leaf=1000, min_holders=0)
    fitted = Step(variable="pay", method="cart", model=tree).fit(table, [], RNG)
    some = table.take([999, 0, 400, 100])
    reported = fitted.log_likelihood(some)
    assert reported is not None
    assert np.exp(reported) == pytest.approx([0.4, 0.1, 0.2, 0.3], rel=0.02)
    whole = table.take(slice(0, 400))
    seen = Table([Column(PAY.variable.observed(), whole["pay"].data)])
    alone = Step(variable="pay", method="cart", model=tree).fit(seen, [], RNG)
    assert np.exp(alone.log_likelihood(seen.take([0, 399]))) == pytest.approx(
        [0.25, 0.75], rel=0.02
    )
    for model in (Keep(), Sample()):
        step = Step(variable="pay", method="x", model=model).fit(table, [], RNG)
        assert step.log_likelihood(some) is None


def test_every_large_group_is_drawn_from_its_own_rows_and_others_from_all() -> None:
    rng = np.random.default_rng(2)
    one, two = rng.integers(0, 3, 90), rng.integers(0, 2, 90)
    two[one == 2] = 1
    table = Table([coded("one", one, 4), coded("more", rng.integers(0, 9, 90), 9),
                   coded("two", two, 2)])  # fmt: skip
    counts = [int(((one == a) & (two == b)).sum()) for a in range(3) for b in range(2)]
    least = sorted(counts)[3]  # this number of rows is enough
    target = numeric("y", 1000 * one + 100 * two + np.arange(90) % 7)
    model = Grouped(by=("one", "two"), base=Sample(min_holders=0), min_rows=least)
    fitted = model.fit(table, target, rng=rng)
    assert len(fitted.models) == sum(count >= least for count in counts) == 3
    wanted = Table([coded("two", np.arange(800) % 2, 2), coded("one", np.arange(800) // 2 % 4, 4)])
    for steps in (0, 2):
        drawn = fitted.sample_wider(wanted, steps=steps, rng=rng).data
        for a in range(4):
            for b in range(2):
                rows = (wanted["one"].data == a) & (wanted["two"].data == b)
                original = target.data[(one == a) & (two == b)]
                donors = original if len(original) >= least else target.data
                assert set(drawn[rows]) <= set(donors)
                assert (len(set(drawn[rows] // 100)) == 1) == (len(original) >= least)
    with pytest.raises(ValueError, match=r"by \(one\) must be predictors"):
        Grouped(by=("one",)).fit(Table([], 90), target, rng=rng)


@pytest.mark.parametrize("kind", [ModelError, DataError, ZeroDivisionError])
def test_errors_say_where_they_happened(kind: type[Any]) -> None:
    with pytest.raises(kind) as caught, error_context("drawing", "pay", "cart", 1):
        raise kind(["no leaf", "variable 'pay' is odd"])
    assert caught.value.__notes__ == ["while drawing variable 'pay' with model 'cart', stratum 2"]
    if kind is not ZeroDivisionError:
        assert caught.value.problems == ("variable 'pay': no leaf", "variable 'pay' is odd")
        assert isinstance(caught.value.__cause__, kind)
