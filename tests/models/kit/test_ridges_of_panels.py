"""The ridge of the leaf regression in panels of few persons: its effect and its scope."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from synthesizer.data.randomness import seeded
from synthesizer.data.samples.workforce.positions import COLUMNS
from synthesizer.data.table import Table
from synthesizer.models.cart import Cart
from synthesizer.models.grouped import Grouped
from synthesizer.models.histories.lag_one import LagOne
from synthesizer.models.kit.leaf_regression import RegressionData, ridge_of_persons
from synthesizer.plan.plan import prepare
from tests.models.fits import coded, fit

PERSONS = 300


@pytest.fixture
def ridges(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The ridge of every leaf regression that is fitted."""
    actual: list[float] = []
    plain = RegressionData.fit

    def fitted(self: RegressionData, rng: np.random.Generator) -> Any:
        actual.append(self.ridge)
        return plain(self, rng)

    monkeypatch.setattr(RegressionData, "fit", fitted)
    return actual


def known_beyond(model: Cart) -> float:
    """Return how much more probable fitted persons are than unseen ones, where nothing relates."""
    rng = np.random.default_rng(8)
    halves = [
        (
            Table([coded(f"v{k}", rng.integers(0, 4, PERSONS), 4) for k in range(20)]),
            coded("y", rng.integers(0, 2, PERSONS), 2),
        )
        for _ in range(2)
    ]
    fitted = fit(model, *halves[0])
    mine, others = (fitted.log_likelihood(*half) for half in halves)
    assert mine is not None
    assert others is not None
    return float(mine.mean() - others.mean())


def test_few_persons_are_forgotten_and_without_the_ridge_they_are_not() -> None:
    small = known_beyond(Cart(min_leaf=PERSONS).of_persons(PERSONS))
    assert small < 0.1
    assert known_beyond(Cart(min_leaf=PERSONS, ridge=1.0).of_persons(PERSONS)) > 2 * small


def test_the_ridge_falls_to_that_of_records() -> None:
    assert Cart().of_persons(20_000) == Cart(ridge=1.0)
    every = [ridge_of_persons(n) for n in range(1, 25_000, 50)]
    assert every == sorted(every, reverse=True)
    assert (every[0], every[-1]) == (200.0, 1.0)


def test_models_inside_others_have_it_and_what_is_named_stays() -> None:
    history = LagOne(base=Grouped(by=("sex",), base=Cart())).leaving_out(("own.since",))
    few = history.of_persons(10_000)
    assert few == LagOne(base=Grouped(by=("sex",), base=Cart(ridge=4.0)))
    assert few.left_out == ("own.since",)
    assert Cart(ridge=2.0).of_persons(10) == Cart(ridge=2.0)


def configurations() -> Iterator[tuple[dict[str, Any], set[float]]]:
    common = {"default_method": "cart", "workers": 1, "checks": False}
    panel = {"person": "person", "time": "year", "career": "agency"}
    names = {"person", "year", "agency", "sex", "supervisory_status"}
    workforce = {
        "data": {"sample": "federal_workforce", "persons": 60},
        "drop": [name for name in COLUMNS if name not in names],
    }
    yield {**common, **workforce, "panel": panel}, {200.0}
    models = {"cart": {"ridge": 3.0}}
    yield {**common, **workforce, "panel": panel, "models": models}, {3.0}
    yield {**common, "data": {"sample": "fair"}}, {1.0}


@pytest.mark.parametrize(("config", "sought"), [*configurations()])
def test_a_run_fits_persons_in_periods_with_it_and_records_as_before(
    config: dict[str, Any], sought: set[float], ridges: list[float]
) -> None:
    plan = prepare(config, check_directory=False)
    plan.fit(seeded(1))
    assert set(ridges) == sought
