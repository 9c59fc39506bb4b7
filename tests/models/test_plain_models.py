"""Models that copy, set or compute a value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from synthesizer.data.errors import ModelError
from synthesizer.data.expressions import Expression
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.data.values import single_value
from synthesizer.engine.testing import rebuilt
from synthesizer.models.fixed import Constant, Derived, FittedKeep
from synthesizer.models.sample import Sample
from synthesizer.models.step import Rule, Step
from tests.models.fits import coded, numeric

CODED = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("1", "2"), missing=("N",))
FLAG = Variable(name="flag", kind=Kind.BOOLEAN, levels=("FALSE", "TRUE"))
NUMBER = Variable(name="income", kind=Kind.NUMERIC, missing=("", "-8"), decimals=0)
DATE = Variable(name="day", kind=Kind.DATE)
RNG = np.random.default_rng(1)
ROWS = Table([], 3)


def column(variable: Variable, *values: float) -> Column:
    return Column(variable, np.array(values, dtype=np.int32 if variable.is_coded else np.float64))


def test_another_number_of_rows_than_were_kept_is_refused() -> None:
    remaining = FittedKeep(numeric("income", [3.0, np.nan, 1.0], states=[0, 1, 0], missing=("-8",)))
    with pytest.raises(ModelError, match=r"'income' .* 3 rows, but 2"):
        remaining.sample(Table([], 2), rng=RNG)


@pytest.mark.parametrize(
    ("variable", "value", "data", "state"),
    [
        (CODED, 2.0, 1, 0),
        (CODED, "N", 2, 1),
        (FLAG, True, 1, 0),
        (NUMBER, "900", 900, 0),
        (NUMBER, -8, np.nan, 2),
        (DATE, "1970-01-03", 2, 0),
    ],
)
def test_a_constant_of_every_kind(variable: Variable, value: Any, data: float, state: int) -> None:
    fitted = Constant(value=value).fit(ROWS, column(variable, 0, 1), rng=RNG)
    drawn = rebuilt(fitted).sample(ROWS, rng=RNG)
    np.testing.assert_array_equal(drawn.data, [data] * 3)
    assert drawn.missing_state().tolist() == [state] * 3
    assert drawn.variable == variable


def test_the_single_observed_value_is_the_constant() -> None:
    fitted = Constant().fit(ROWS, column(NUMBER, 5, 5, 5), rng=RNG)
    assert fitted.sample(ROWS, rng=RNG).data.tolist() == [5, 5, 5]
    assert len(fitted.value) == 1
    missing = numeric("income", [np.nan] * 2, states=[2, 2], missing=("", "-8"))
    assert Constant().fit(ROWS, missing, rng=RNG).sample(ROWS, rng=RNG).missing_state()[0] == 2


@pytest.mark.parametrize(
    ("variable", "value", "named"),
    [
        (NUMBER, None, "2 distinct values"),
        (CODED, "3", "'3'"),
        (NUMBER, "x", "'x'"),
        (DATE, "tomorrow", "'tomorrow'"),
    ],
)
def test_constants_that_are_no_value_or_several_are_refused(
    variable: Variable, value: Any, named: str
) -> None:
    with pytest.raises(ModelError, match=f"'{variable.name}'.*{named}"):
        Constant(value=value).fit(ROWS, column(variable, 0, 1, 0), rng=RNG)


@pytest.mark.parametrize(
    ("conditions", "rows"),
    [(["b < 1", "b > 3"], [1, 2]), (["b > 0"], None)],
)
def test_a_fit_leaves_out_the_rows_that_rules_set(
    conditions: list[str], rows: list[int] | None
) -> None:
    group = coded("g", [0, 1, 2, 0], 3)
    value = single_value(group.variable, "g0")
    rules = [Rule(condition=Expression.parse(text), value=value) for text in conditions]
    rules.append(Rule(condition=Expression.parse("b > 0"), value=KNOWN["b"].take(slice(0, 1))))
    step = Step(variable="g", method="sample", model=Sample())
    model = step.fit(KNOWN.with_column(group), rules, RNG).value_model
    donors = None if model is None else model.donors.data.tolist()
    assert donors == (rows and sorted(group.data[rows].tolist()))


A = numeric("a", [1.0, 2.0, np.nan, 4.0], 0, states=[0, 0, 1, 0], missing=("",))
KNOWN = Table([A, numeric("b", [0.5, 1.5, 2.5, 3.5], 1)])


def test_derived_values_follow_the_expression() -> None:
    target = numeric("sum", [1.5, 3.5, np.nan, 7.5], 1, states=[0, 0, 1, 0], missing=("N",))
    fitted = Derived(expression="a + b").fit(KNOWN, target, rng=RNG)
    assert fitted.mismatches == 0
    drawn = fitted.sample(KNOWN, rng=RNG)
    np.testing.assert_array_equal(drawn.data, target.data)
    np.testing.assert_array_equal(drawn.missing_state(), target.missing_state())
    assert len(fitted.sample(KNOWN.take(slice(0, 0)), rng=RNG)) == 0


@pytest.mark.parametrize(
    ("expression", "target", "mismatches"),
    [
        ("a + b", numeric("s", [1.5, 9.9, 5, np.nan], 1, states=[0, 0, 0, 1], missing=("N",)), 3),
        ("a + b", numeric("s", [1.5, 3.5, 5.0, 7.5], 1), 1),
        ("cut(a, [3], ['g0', 'g1'])", coded("g", [0, 0, 2, 0], 2, missing=("N",)), 1),
    ],
)
def test_mismatches_are_counted(expression: str, target: Column, mismatches: int) -> None:
    assert Derived(expression=expression).fit(KNOWN, target, rng=RNG).mismatches == mismatches


def test_what_is_undefined_in_synthetic_rows_alone_is_no_fault_of_the_data() -> None:
    fitted = Derived(expression="1 / b").fit(KNOWN, numeric("c", [1.0] * 4), rng=RNG)
    with pytest.raises(ModelError, match="'c': .* undefined in 1 row"):
        fitted.sample(Table([A, numeric("b", [0.0, 1.5, 2.5, 3.5], 1)]), rng=RNG)
