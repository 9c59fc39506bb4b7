from __future__ import annotations

import numpy as np
import pytest

from synthesizer.data.errors import ExpressionError
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.models.derived import Derived

A = Variable(name="a", kind=Kind.NUMERIC, decimals=0, missing=("",))
B = Variable(name="b", kind=Kind.NUMERIC, decimals=1)
SUM = Variable(name="sum", kind=Kind.NUMERIC, decimals=1, missing=("N",))
GROUP = Variable(name="group", kind=Kind.CATEGORICAL, levels=("low", "high"), missing=("N",))
RNG = np.random.default_rng(1)


@pytest.fixture
def predictors() -> Table:
    a = Column(A, np.array([1.0, 2.0, np.nan, 4.0]), np.array([0, 0, 1, 0], dtype=np.int8))
    return Table([a, Column(B, np.array([0.5, 1.5, 2.5, 3.5]))])


def test_draws_follow_the_expression(predictors: Table) -> None:
    target = Column(SUM, np.array([1.5, 3.5, np.nan, 7.5]), np.array([0, 0, 1, 0], dtype=np.int8))
    fitted = Derived(expression="a + b").fit(predictors, target, rng=RNG)
    assert fitted.mismatches == 0
    drawn = fitted.sample(predictors, rng=RNG)
    np.testing.assert_array_equal(drawn.data, target.data)
    np.testing.assert_array_equal(drawn.missing_state(), target.missing_state())
    assert len(fitted.sample(predictors.take(slice(0, 0)), rng=RNG)) == 0


def test_mismatches_are_counted(predictors: Table) -> None:
    wrong = Column(SUM, np.array([1.5, 9.9, 5.0, np.nan]), np.array([0, 0, 0, 1], dtype=np.int8))
    assert Derived(expression="a + b").fit(predictors, wrong, rng=RNG).mismatches == 3
    observed = Column(SUM.observed(), np.array([1.5, 3.5, 5.0, 7.5]))
    assert Derived(expression="a + b").fit(predictors, observed, rng=RNG).mismatches == 1
    group = Column(GROUP, np.array([0, 0, 2, 0], dtype=np.int32))
    model = Derived(expression="cut(a, [3], ['low', 'high'])")
    assert model.fit(predictors, group, rng=RNG).mismatches == 1


def test_options_are_checked_at_once() -> None:
    with pytest.raises(ValueError, match=r"expression \(''\) must be a text such as"):
        Derived()
    with pytest.raises(ExpressionError, match="write '=='"):
        Derived(expression="a = 3")


def test_abilities() -> None:
    assert Derived.abilities.deterministic
    assert not Derived.abilities.stores_values
