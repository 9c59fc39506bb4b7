"""The linear predictor by look-up tables against the wide columns times the coefficients."""

from __future__ import annotations

import numpy as np
import pytest

from synthesizer.data.table import Kind, Table
from synthesizer.models.kit import leaf_regression as module
from synthesizer.models.kit.features import Features
from synthesizer.models.kit.leaf_regression import LinearPredictor
from tests.models.fits import coded, numeric

N = 400


def predictors(seed: int, n: int = N) -> Table:
    """Return every sort of predictor: levels, whole numbers, numbers with spikes, all missing."""
    rng = np.random.default_rng(seed)
    states = rng.integers(0, 3, n)
    wage = np.where(rng.random(n) < 0.3, 0.0, rng.lognormal(7, 1, n))
    age = np.where(states > 0, np.nan, rng.integers(18, 65, n))
    return Table(
        [
            coded("sex", rng.integers(0, 2, n), 2),
            coded("job", np.minimum(rng.geometric(0.1, n), 59), 60),
            coded("grade", rng.integers(0, 9, n), 9, kind=Kind.ORDERED),
            coded("one", np.zeros(n), 1),
            numeric("age", age, 0, states=states, missing=["?", "-"]),
            numeric("changed", rng.integers(0, 2, n), 0),
            numeric("wage", wage),
            numeric("gap", np.where(states == 1, np.nan, wage), states=states == 1, missing=["?"]),
        ]
    )


def slow(features: Features, coefficients: np.ndarray, table: Table) -> np.ndarray:
    return features.matrix(table).astype(np.float64) @ coefficients


@pytest.mark.parametrize("moderators", [(), ("sex", "age"), ("job", "sex", "changed")])
def test_tables_add_up_to_columns_times_coefficients(moderators: tuple[str, ...]) -> None:
    features, _ = Features.fit(predictors(1), moderators)
    assert bool(features.products) == bool(moderators)
    rng = np.random.default_rng(2)
    coefficients = rng.normal(size=(features.n_columns, 7)).astype(np.float32)
    predictor = LinearPredictor.of(features, coefficients)
    assert predictor.entries is not None
    for table in (predictors(1), predictors(3, 50), predictors(4, 1), predictors(5, 0)):
        actual = predictor(table)
        assert actual.dtype == np.float32
        np.testing.assert_allclose(actual, slow(features, coefficients, table), atol=2e-4)


@pytest.mark.parametrize("age", [40.5, 1e6])
def test_a_value_that_is_in_no_table_counts_as_the_columns_say(age: float) -> None:
    features, _ = Features.fit(predictors(1), ["sex"])
    coefficients = np.ones((features.n_columns, 2), dtype=np.float32)
    predictor = LinearPredictor.of(features, coefficients)
    table = predictors(3, 50)
    states = np.zeros(50)
    table = table.with_column(numeric("age", [age] * 50, states=states, missing=["?", "-"]))
    np.testing.assert_allclose(predictor(table), slow(features, coefficients, table), atol=2e-4)


@pytest.mark.parametrize("case", ["a moderator that is any number", "a table that is too large"])
def test_where_there_are_no_tables_columns_are_multiplied(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if case == "a table that is too large":
        monkeypatch.setattr(module, "MAX_CELLS", 100)
        moderators = ["sex"]
    else:
        moderators = ["wage"]
    features, _ = Features.fit(predictors(1), moderators)
    coefficients = np.ones((features.n_columns, 2), dtype=np.float32)
    predictor = LinearPredictor.of(features, coefficients)
    assert predictor.entries is None
    np.testing.assert_allclose(
        predictor(predictors(3)), slow(features, coefficients, predictors(3)), atol=2e-4
    )
