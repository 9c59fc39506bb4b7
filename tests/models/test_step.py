"""One variable of the chain: rules, structural zeros, missing codes first, errors with a place."""

from typing import Any

import numpy as np
import pytest

from synthesizer.data.errors import DataError, ModelError
from synthesizer.data.expressions import Expression
from synthesizer.data.table import Kind, Table
from synthesizer.data.values import single_value
from synthesizer.models.cart import Cart
from synthesizer.models.constant import Constant
from synthesizer.models.keep import Keep
from synthesizer.models.sample import Sample
from synthesizer.models.step import Forbid, Rule, Step, error_context, forbidden_rows
from tests.models.fits import coded, numeric

RNG = np.random.default_rng(1)
X = coded("x", [0, 1, 2, 3], 5)
PAY = numeric("pay", [5, 6, np.nan, np.nan], 0, states=[0, 0, 1, 2], missing=("", "-8"))
TABLE = Table([X, PAY])
EXACT = Cart(min_leaf=1, tilt=False, safe=0)


def rule(text: str, value: str = "1") -> Rule:
    return Rule(condition=Expression.parse(text), value=single_value(PAY.variable, value))


def test_a_rule_sets_its_value_where_it_holds() -> None:
    assert rule("x == 'x0'").variable == "pay"
    assert rule("x == 'x4'").apply(PAY, TABLE) is PAY
    drawn = rule("x in ['x1', 'x2']", "-8").apply(PAY, TABLE)
    np.testing.assert_array_equal(drawn.data, [5, np.nan, np.nan, np.nan])
    assert drawn.missing_state().tolist() == [0, 2, 2, 2]


def test_structural_zeros_are_told_row_by_row() -> None:
    zeros = [Forbid(condition=Expression.parse(f"x == '{x}'"), variable="x") for x in ("x0", "x2")]
    assert zeros[0].broken(TABLE).tolist() == [True, False, False, False]
    assert forbidden_rows(zeros, TABLE).tolist() == [True, False, True, False]
    assert forbidden_rows([], TABLE).tolist() == [False] * 4
    assert (zeros[0].names, zeros[0].text) == (frozenset({"x"}), "forbid \"x == 'x0'\"")


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
        variable="pay", method="a", model=Sample(safe=0), missing_method="b", missing_model=never
    )
    fitted = step.fit(TABLE, [], RNG)
    assert fitted.missing_method == "b"
    assert set(fitted.draw(Table([], 30), RNG).data) == {5.0, 6.0}


def test_what_cannot_be_learnt_is_told_at_the_draw() -> None:
    step = Step(variable="pay", method="sample", model=Sample(), predictors=("x",), most=9)
    assert (step.n_predictors, step.is_whole, step.is_fixed) == (1, False, False)
    only_missing = step.fit(TABLE.take(slice(2, 4)), [], RNG)
    assert only_missing.value_model is None
    assert set(only_missing.draw(TABLE, RNG).missing_state()) <= {1, 2}
    nothing = step.fit(TABLE, [rule("x != 'x4'")], RNG)
    assert nothing.value_model is nothing.state_model is None
    with pytest.raises(ModelError, match="'pay': no confidential row outside the rules"):
        nothing.draw(TABLE, RNG)
    kept = Step(variable="pay", method="keep", model=Keep(), predictors=("x",)).fit(TABLE, [], RNG)
    assert (kept.kept, kept.predictors, kept.value_model) == (PAY, (), None)


@pytest.mark.parametrize("kind", [ModelError, DataError, ZeroDivisionError])
def test_errors_say_where_they_happened(kind: type[Any]) -> None:
    with pytest.raises(kind) as caught, error_context("drawing", "pay", "cart", 1):
        raise kind(["no leaf", "variable 'pay' is odd"])
    assert caught.value.__notes__ == ["while drawing variable 'pay' with model 'cart', stratum 2"]
    if kind is not ZeroDivisionError:
        assert caught.value.problems == ("variable 'pay': no leaf", "variable 'pay' is odd")
        assert isinstance(caught.value.__cause__, kind)
