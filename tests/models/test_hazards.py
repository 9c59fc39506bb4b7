"""Times to an event: Cox models that somebody fits to what was drawn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from statsmodels.duration.hazard_regression import PHReg

from synthesizer.data.table import Column, FloatArray, Kind, Table
from synthesizer.models.cart import Cart
from synthesizer.models.kit import features as module
from synthesizer.models.kit.features import Features, Hazards, cox
from tests.models.fits import coded, draw, fit, numeric

LOG_HAZARDS = np.array([0.31, 1.0])
"""Of a group and of a number: the strong one makes the weak one's gap depend on it."""


def followed_up(seed: int, n_rows: int = 4000) -> tuple[Table, Column, FloatArray]:
    """Return event and predictors, times rounded to ties, and the predictors' columns (n, 2)."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n_rows)
    x = np.column_stack([group, rng.normal(size=n_rows)])
    death = rng.exponential(10.0, n_rows) / np.exp(x @ LOG_HAZARDS)
    end = rng.uniform(1.0, 8.0, n_rows)
    event = coded("event", (death <= end).astype(int), 2)
    table = Table([coded("group", group, 2), numeric("x", x[:, 1]), event])
    return table, numeric("time", np.ceil(np.minimum(death, end) * 100)), x


def hazard_ratios(times: FloatArray, event: Column, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    fitted = PHReg(times, x, status=event.data).fit()  # ties by Breslow
    return fitted.params, fitted.bse


def test_the_model_is_that_of_statsmodels() -> None:
    table, time, x = followed_up(1, 800)
    original = cox(x - x.mean(axis=0), time.data, table["event"].data == 1, 0.0)
    np.testing.assert_allclose(original, hazard_ratios(time.data, table["event"], x)[0], atol=2e-3)


@pytest.mark.parametrize("ridge", [0.0, 7.0])
def test_coefficients_are_those_of_a_plain_search(ridge: float) -> None:
    """Breslow's likelihood, death by death, and a normal prior."""
    table, time, x = followed_up(3, 60)
    times, died = np.ceil(time.data / 60), table["event"].data == 1

    def loss(b: FloatArray) -> float:
        hazard = np.exp(x @ b)
        original = sum(
            np.log(hazard[times >= times[i]].sum()) - x[i] @ b for i in np.flatnonzero(died)
        )
        return float(original + ridge / 2 * b @ b)

    expected = minimize(loss, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-6}).x
    np.testing.assert_allclose(cox(x, times, died, ridge), expected, atol=1e-3)


def test_a_cox_model_of_drawn_times_holds() -> None:
    errors: dict[str | None, list[FloatArray]] = {None: [], "event": []}
    for seed in range(3):
        table, time, x = followed_up(seed)
        died = table["event"].data == 1
        expected, error = hazard_ratios(time.data, table["event"], x)
        for event, actual in errors.items():
            fitted = fit(Cart(event=event), table, time)
            for number in range(4):
                drawn = fitted.sample(table, rng=np.random.default_rng(number)).data
                actual.append((cox(x - x.mean(axis=0), drawn, died, 0.0) - expected) / error)
    with_pair, without = (np.abs(np.mean(errors[key], axis=0)) for key in ("event", None))
    assert with_pair.max() < 0.5
    assert with_pair.sum() < 0.6 * without.sum()


@pytest.mark.parametrize("codes", [[0] * 300, [0] * 290 + [1] * 10, [0, 1, 2] * 100])
def test_rare_and_competing_outcomes(codes: list[int]) -> None:
    rng = np.random.default_rng(3)
    event = coded("event", codes, 3, kind=Kind.CATEGORICAL)
    table = Table([numeric("x", rng.normal(size=300)), event])
    drawn = draw(fit(Cart(event="event"), table, numeric("time", rng.exponential(size=300))), table)
    assert np.isfinite(drawn).all()


def test_a_missing_time_is_drawn_without_hazards() -> None:
    table, *_ = followed_up(4, 600)
    states = coded("time", np.arange(600) % 2, 2)
    plain, reported = (
        draw(fit(Cart(event=event), table, states), table) for event in (None, "event")
    )
    assert (plain == reported).all()


def test_hazards_are_of_outcomes_with_enough_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty each, and the four most frequent at most; the event's own columns have no part."""
    rng = np.random.default_rng(1)
    codes = np.repeat(np.arange(7), [100, 19, 60, 50, 40, 30, 20])
    event = coded("event", codes, 7, kind=Kind.CATEGORICAL)
    table = Table([numeric("x", rng.normal(size=319)), event])
    features, columns = Features.fit(table)
    times, reported = rng.exponential(size=319), features.are_of("event")
    hazards, _ = Hazards.fit(features, columns, codes, reported, times, np.random.default_rng(1))
    used = features.linear & ~reported
    used[0] = False
    chosen = columns[:, used].astype(float)
    expected = [cox(chosen, times, codes == outcome, 1.0) for outcome in (0, 2, 3, 4)]
    np.testing.assert_allclose(hazards.log_hazards[used].T, expected, rtol=1e-5)
    assert not hazards.log_hazards[~used].any()
    monkeypatch.setattr(module, "MAX_HAZARD_ROWS", 200)
    some, _ = Hazards.fit(features, columns, codes, reported, times, np.random.default_rng(1))
    rows = np.sort(np.random.default_rng(1).choice(319, size=200, replace=False))
    first = cox(chosen[rows], times[rows], codes[rows] == 0, 1.0)
    np.testing.assert_allclose(some.log_hazards[used, 0], first, rtol=1e-5)
