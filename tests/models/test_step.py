"""One variable of the chain: rules, structural zeros, missing codes first, errors with a place."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from synthesizer.data.errors import DataError, ModelError
from synthesizer.data.expressions import Expression
from synthesizer.data.table import Column, Kind, Table
from synthesizer.data.values import single_value
from synthesizer.models.cart import Cart
from synthesizer.models.constant import Constant
from synthesizer.models.keep import Keep
from synthesizer.models.sample import Sample
from synthesizer.models.step import FittedStep, Forbid, Rule, Step, error_context, forbidden_rows
from tests.models.fits import coded, numeric

RNG = np.random.default_rng(1)
X = coded("x", [0, 1, 2, 3], 5)
PAY = numeric("pay", [5, 6, np.nan, np.nan], 0, states=[0, 0, 1, 2], missing=("", "-8"))
TABLE = Table([X, PAY])
EXACT = Cart(min_leaf=1)


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


@pytest.mark.parametrize("missing_model", [None, EXACT])
def test_missing_codes_are_drawn_first_and_then_the_observed(missing_model: Cart | None) -> None:
    table = TABLE.take(np.repeat(np.arange(4), [5, 5, 5, 8]))
    name = None if missing_model is None else "forest"
    step = Step(
        variable="pay",
        method="cart",
        model=EXACT,
        predictors=("x",),
        missing_method=name,
        missing_model=missing_model,
    )
    fitted = step.fit(table, [], RNG)
    assert (fitted.method, fitted.missing_method) == ("cart", name or "cart")
    assert (fitted.variable, fitted.predictors) == (PAY.variable, ("x",))
    state_model: Any = fitted.state_model
    states = state_model.leaves.donors.variable
    assert (states.name, states.kind) == ("pay", Kind.CATEGORICAL)
    assert states.levels == ("observed", "", "-8")
    drawn = fitted.draw(TABLE, RNG)
    np.testing.assert_array_equal(drawn.data, PAY.data)
    assert drawn.missing_state().tolist() == [0, 0, 1, 2]
    assert drawn.variable == PAY.variable
    nobody = fitted.draw(TABLE.take(slice(2, 4)), RNG)
    assert nobody.missing_state().tolist() == [1, 2]


def test_the_model_of_missing_codes_is_its_own() -> None:
    never = Constant(value="observed")
    step = Step(variable="pay", method="sample", model=Sample(), missing_model=never)
    drawn = step.fit(TABLE, [], RNG).draw(Table([], 30), RNG)
    assert set(drawn.data) == {5.0, 6.0}


def test_what_cannot_be_learnt_is_told_at_the_draw() -> None:
    step = Step(variable="pay", method="sample", model=Sample())
    only_missing = step.fit(TABLE.take(slice(2, 4)), [], RNG)
    assert only_missing.value_model is None
    assert set(only_missing.draw(Table([], 30), RNG).missing_state()) == {1, 2}
    nothing = step.fit(TABLE, [rule("x != 'x4'")], RNG)
    assert nothing.value_model is nothing.state_model is None
    with pytest.raises(ModelError, match="'pay': no confidential row outside the rules"):
        nothing.draw(Table([], 2), RNG)


def test_a_partial_synthesis_keeps_the_column_and_asks_for_nothing() -> None:
    step = Step(variable="pay", method="keep", model=Keep(), predictors=("x",))
    fitted = step.fit(TABLE, [], RNG)
    assert fitted.kept is PAY
    assert (fitted.predictors, fitted.value_model) == ((), None)
    assert step.is_whole
    assert step.is_fixed


@pytest.mark.parametrize(("most", "n"), [(None, 3), (2, 2), (9, 3)])
def test_the_number_of_predictors(most: int | None, n: int) -> None:
    step = Step(variable="y", method="cart", model=EXACT, predictors=("a", "b", "c"), most=most)
    assert step.n_predictors == n
    assert not step.is_whole
    assert not step.is_fixed


def test_both_models_are_asked_for_the_same_ancestors() -> None:
    asked = []

    def model(column: Column) -> Any:
        def sample_wider(predictors: Table, *, steps: int, rng: object) -> Column:
            asked.append((predictors["x"].data.tolist(), steps, rng))
            return column

        return SimpleNamespace(sample_wider=sample_wider)

    fitted = FittedStep(
        variable=PAY.variable,
        method="",
        predictors=("x",),
        missing_method="",
        state_model=model(coded("pay", [0, 2, 1, 0], 3)),
        value_model=model(numeric("pay", [7, 8])),
    )
    drawn = fitted.draw(TABLE, RNG, widen=3)
    np.testing.assert_array_equal(drawn.data, [7, np.nan, np.nan, 8])
    assert drawn.missing_state().tolist() == [0, 2, 1, 0]
    assert asked == [([0, 1, 2, 3], 3, RNG), ([0, 3], 3, RNG)]
    asked.clear()
    fitted.draw(TABLE, RNG)
    assert [steps for _, steps, _ in asked] == [0, 0]


@pytest.mark.parametrize("kind", [ModelError, DataError, ZeroDivisionError])
def test_errors_say_where_they_happened(kind: type[Any]) -> None:
    with pytest.raises(kind) as caught, error_context("drawing", "pay", "cart", 1):
        raise kind(["no leaf", "variable 'pay' is odd"])
    assert caught.value.__notes__ == ["while drawing variable 'pay' with model 'cart', stratum 2"]
    if kind is not ZeroDivisionError:
        assert caught.value.problems == ("variable 'pay': no leaf", "variable 'pay' is odd")
        assert isinstance(caught.value.__cause__, kind)
