from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from synthesizer.data.errors import ModelError
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.engine.testing import rebuilt
from synthesizer.models.constant import Constant

CODED = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("1", "2"), missing=("N",))
FLAG = Variable(name="flag", kind=Kind.BOOLEAN, levels=("FALSE", "TRUE"))
NUMBER = Variable(name="income", kind=Kind.NUMERIC, missing=("", "-8"), decimals=0)
DATE = Variable(name="day", kind=Kind.DATE)
RNG = np.random.default_rng(1)
ROWS = Table([], 3)


def column(variable: Variable, *values: float) -> Column:
    return Column(variable, np.array(values, dtype=np.int32 if variable.is_coded else np.float64))


@pytest.mark.parametrize(
    ("variable", "value", "data", "state"),
    [
        (CODED, "2", 1, 0),
        (CODED, 2, 1, 0),
        (CODED, 2.0, 1, 0),
        (CODED, "N", 2, 1),
        (FLAG, True, 1, 0),
        (NUMBER, 900, 900, 0),
        (NUMBER, "900", 900, 0),
        (NUMBER, -8, np.nan, 2),
        (NUMBER, "", np.nan, 1),
        (DATE, "1970-01-03", 2, 0),
    ],
)
def test_value_of_every_kind(variable: Variable, value: Any, data: float, state: int) -> None:
    target = column(variable, 0, 1)
    fitted = Constant(value=value).fit(ROWS, target, rng=RNG)
    drawn = rebuilt(fitted).sample(ROWS, rng=RNG)
    np.testing.assert_array_equal(drawn.data, [data] * 3)
    assert drawn.missing_state().tolist() == [state] * 3
    assert drawn.variable == variable


def test_single_observed_value() -> None:
    fitted = Constant().fit(ROWS, column(NUMBER, 5, 5, 5), rng=RNG)
    assert fitted.sample(ROWS, rng=RNG).data.tolist() == [5, 5, 5]
    assert len(fitted.value) == 1
    missing = Column(NUMBER, np.full(2, np.nan), np.array([2, 2], dtype=np.int8))
    assert Constant().fit(ROWS, missing, rng=RNG).sample(ROWS, rng=RNG).missing_state()[0] == 2


def test_several_observed_values_need_the_option() -> None:
    with pytest.raises(ModelError, match=r"'income' has 2 distinct values, .* option 'value'"):
        Constant().fit(ROWS, column(NUMBER, 5, 6, 5), rng=RNG)


@pytest.mark.parametrize(("variable", "value"), [(CODED, "3"), (NUMBER, "x"), (DATE, "2020")])
def test_impossible_values(variable: Variable, value: str) -> None:
    if variable is DATE:
        value = "tomorrow"
    with pytest.raises(ModelError, match=f"'constant' of variable '{variable.name}' cannot use"):
        Constant(value=value).fit(ROWS, column(variable, 0), rng=RNG)
