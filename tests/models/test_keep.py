from __future__ import annotations

import numpy as np
import pytest

from synthesizer.data.errors import ModelError
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.engine.testing import rebuilt
from synthesizer.models.keep import FittedKeep, Keep

INCOME = Variable(name="income", kind=Kind.NUMERIC, missing=("-8",))
COLUMN = Column(INCOME, np.array([3.0, np.nan, 1.0]), np.array([0, 1, 0], dtype=np.int8))
RNG = np.random.default_rng(1)


def test_rows_stay_in_place() -> None:
    fitted = Keep().fit(Table([], 3), COLUMN, rng=RNG)
    drawn = rebuilt(fitted).sample(Table([], 3), rng=RNG)
    np.testing.assert_array_equal(drawn.data, COLUMN.data)
    assert drawn.missing_state().tolist() == [0, 1, 0]
    assert fitted.column.take(slice(1, 3)).missing_state().tolist() == [1, 0]


@pytest.mark.parametrize("n_rows", [0, 2, 4])
def test_another_number_of_rows_is_refused(n_rows: int) -> None:
    with pytest.raises(ModelError, match=rf"'income' .* 3 rows and {n_rows} are asked for"):
        FittedKeep(COLUMN).sample(Table([], n_rows), rng=RNG)


def test_abilities() -> None:
    assert Keep.abilities.copies_rows
    assert Keep.abilities.stores_values
