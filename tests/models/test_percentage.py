"""An amount that is a percentage of another number is drawn as one."""

import numpy as np
import pytest

from synthesizer.data.table import Table
from synthesizer.models.cart import Cart
from synthesizer.models.histories.lag_one import LagOne
from synthesizer.models.kit.numbers import min_holders_of
from synthesizer.models.percentage import Percentage, fewest_points
from tests.data.panel.panels import full_index, panel
from tests.models.fits import draw, fit, numeric
from tests.models.histories.drawing import drawn_by

RATES = np.array([0.0, 0.0425, 0.09, 0.1416])


def pay_of(n, seed=1):
    return np.round(np.random.default_rng(seed).lognormal(10.6, 0.4, n))


def amounts(n=800, seed=1):
    pay = numeric("pay", pay_of(n, seed), decimals=0)
    chosen = np.random.default_rng(seed + 1).integers(0, 4, n)
    return Table([pay]), numeric("local", np.round(pay.data * RATES[chosen]), decimals=0)


def test_amounts_are_rates_of_the_present_number():
    table, target = amounts()
    fitted = fit(Percentage(of="pay"), table, target)
    assert fitted.rates.tolist() == RATES.tolist()
    new, _ = amounts(seed=5)
    drawn = draw(fitted, new)
    exact = np.round(new["pay"].data[:, None] * RATES) == drawn[:, None]
    assert exact.any(axis=1).all()
    assert np.abs(exact.mean(axis=0) - 0.25).max() < 0.06


def test_fewest_points_hit_every_interval():
    rng = np.random.default_rng(3)
    low = rng.random(300)
    high = low + 0.1 * rng.random(300)
    points = fewest_points(low, high, 300)
    assert ((low[:, None] <= points) & (points <= high[:, None])).any(axis=1).all()
    assert not len(fewest_points(low, high, len(points) - 1))


def test_rare_rates_become_the_nearest_and_amounts_without_rates_are_drawn():
    table, target = amounts()
    odd = target.replaced(slice(0, 3), numeric("local", table["pay"].data[:3] // 2, decimals=0))
    assert fit(Percentage(of="pay"), table, odd).rates.tolist() == RATES.tolist()
    free = numeric("local", np.round(np.random.default_rng(1).lognormal(8, 1, 800)), decimals=0)
    fitted = fit(Percentage(of="pay"), table, free)
    assert not len(fitted.rates)
    drawn = np.quantile(draw(fitted, table), [0.1, 0.5, 0.9])
    assert np.abs(np.log(drawn / np.quantile(free.data, [0.1, 0.5, 0.9]))).max() < 0.2
    assert min_holders_of(Percentage(of="pay")) == 0


def test_a_missing_or_zero_number_has_the_amount_zero():
    table, target = amounts()
    states = (np.arange(800) % 8 == 0).astype(np.int8)
    values = np.where(states > 0, np.nan, np.where(np.arange(800) % 8 == 1, 0, table["pay"].data))
    pay = numeric("pay", values, 0, states=states, missing=("",))
    known = np.nan_to_num(values) > 0
    fitted = fit(Percentage(of="pay"), Table([pay]), numeric("local", target.data * known, 0))
    assert not draw(fitted, Table([pay]))[~known].any()


@pytest.mark.parametrize("first_apart", [True, False])
def test_in_a_history_the_rate_before_is_a_predictor(first_apart):
    index = full_index(200, 6)
    pay = numeric("pay", pay_of(1200), decimals=0)
    area = np.repeat(np.random.default_rng(2).integers(0, 4, 200), 6)
    target = numeric("local", np.round(pay.data * RATES[area]), decimals=0)
    model = LagOne(
        stay_or_move=False,
        first_apart=first_apart,
        base=Percentage(of="pay", base=Cart(min_leaf=5, leaf_regression=False)),
    )
    drawn = drawn_by(model, panel(index, pay), target)
    chosen = np.abs(drawn.data[:, None] - pay.data[:, None] * RATES).argmin(axis=1).reshape(200, 6)
    assert np.mean(chosen[:, 1:] == chosen[:, :-1]) > 0.97
