import numpy as np
import pytest

from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.models.kit.predictors import BLOCK_ROWS, Design
from synthesizer.models.kit.regression import Regression
from synthesizer.models.normal import Normal


def numeric(name, values, decimals=None, kind=Kind.NUMERIC, missing=()):
    variable = Variable(name=name, kind=kind, decimals=decimals, missing=missing)
    return Column(variable, np.asarray(values, dtype=np.float64))


def simulated(n=500, seed=5):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(50, 10, size=n), rng.normal(size=n)
    y = 3 + 2 * x - z + rng.normal(size=n)
    return Table([numeric("x", x), numeric("z", z)]), numeric("y", y)


def fit(model, predictors, y, seed=1):
    return model.fit(predictors, y, rng=np.random.default_rng(seed))


def test_coefficients_and_sigma_are_those_of_least_squares():
    sm = pytest.importorskip("statsmodels.api")
    table, y = simulated()
    fitted = fit(Normal(ridge=0), table, y).regression
    expected = sm.OLS(y.data, fitted.design.matrix(table)).fit()
    np.testing.assert_allclose(fitted.coefficients, expected.params, rtol=1e-6)
    assert fitted.sigma == pytest.approx(np.sqrt(expected.mse_resid), rel=1e-6)


def test_blocks_of_rows_give_the_same_as_one():
    table, y = simulated(2 * BLOCK_ROWS + 7)
    fitted = fit(Normal(ridge=0), table, y).regression
    matrix = fitted.design.matrix(table)
    expected, *_ = np.linalg.lstsq(matrix, y.data, rcond=None)
    np.testing.assert_allclose(fitted.coefficients, expected, rtol=1e-6)


def test_the_unit_of_measurement_does_not_matter():
    table, y = simulated()
    small, large = (fit(Normal(ridge=5.0), table, numeric("y", y.data * k)) for k in (1.0, 1e6))
    np.testing.assert_allclose(large.regression.coefficients, small.regression.coefficients * 1e6)


def test_draws_have_the_mean_and_the_spread_of_the_model():
    table, y = simulated(n=20_000)
    fitted = fit(Normal(clip=False), table, y)
    drawn = fitted.sample(table, rng=np.random.default_rng(1)).data
    residual = drawn - fitted.regression.mean(table)
    assert abs(residual.mean()) < 4 / np.sqrt(20_000)
    assert residual.std() == pytest.approx(1.0, abs=0.02)


def test_collinear_and_constant_predictors_change_nothing():
    table, y = simulated()
    plain = fit(Normal(ridge=0), table, y).regression.mean(table)
    useless = (numeric("copy", 2 * table["x"].data), numeric("one", np.ones(500)))
    more = Table([*table.columns, *useless])
    means = fit(Normal(ridge=0), more, y).regression.mean(more)
    np.testing.assert_allclose(means, plain, rtol=1e-5)


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    table = Table([numeric(f"x{i}", rng.normal(size=5)) for i in range(9)])
    drawn = fit(Normal(ridge=0), table, numeric("y", rng.normal(size=5))).sample(table, rng=rng)
    assert np.isfinite(drawn.data).all()


@pytest.mark.parametrize("value", [0.0, 0.1, -3e7])
@pytest.mark.parametrize("n", [1, 7])
def test_a_constant_target_is_drawn_exactly(value, n):
    table = Table([numeric("x", np.arange(n))])
    fitted = fit(Normal(), table, numeric("y", [value] * n))
    drawn = fitted.sample(Table([numeric("x", [4.0, 99.0])]), rng=np.random.default_rng(1))
    assert drawn.data.tolist() == [value, value]


def test_draws_have_the_decimals_and_the_range_of_the_target():
    table = Table([numeric("x", np.arange(100))])
    fitted = fit(Normal(), table, numeric("y", np.arange(100) % 7 + 0.5, decimals=1))
    drawn = fitted.sample(table, rng=np.random.default_rng(1)).data
    assert (np.round(drawn, 1) == drawn).all()
    assert drawn.min() >= 0.5
    assert drawn.max() <= 6.5


def test_without_clip_draws_leave_the_range():
    y = numeric("y", np.arange(50) % 2)
    fitted = fit(Normal(clip=False), Table([], 50), y)
    drawn = fitted.sample(Table([], 500), rng=np.random.default_rng(1)).data
    assert drawn.min() < 0
    assert drawn.max() > 1


def test_whole_days_stay_whole_and_times_of_day_do_not():
    days = np.arange(40.0)
    for target, whole in ((days, True), (days + 0.25, False)):
        fitted = fit(Normal(), Table([], 40), numeric("d", target, kind=Kind.DATE))
        drawn = fitted.sample(Table([], 40), rng=np.random.default_rng(1)).data
        assert bool((drawn == np.floor(drawn)).all()) is whole


def test_missing_codes_of_a_numeric_predictor_matter():
    values = np.where(np.arange(400) % 2, np.nan, 5.0)
    variable = Variable(name="x", kind=Kind.NUMERIC, missing=("",))
    column = Column(variable, values, np.isnan(values).astype(np.int8))
    y = numeric("y", np.where(np.isnan(values), 100.0, 0.0) + np.arange(400) % 3)
    drawn = fit(Normal(), Table([column]), y).sample(Table([column]), rng=np.random.default_rng(1))
    assert (drawn.data[np.isnan(values)] > 90).all()
    assert (drawn.data[~np.isnan(values)] < 10).all()


def test_no_rows_no_predictors():
    fitted = fit(Normal(), Table([], 3), numeric("y", [1.0, 2.0, 4.0], missing=("N",)))
    drawn = fitted.sample(Table([], 0), rng=np.random.default_rng(1))
    assert len(drawn) == len(drawn.states) == 0


def test_perturbed_parameters_have_the_spread_of_the_posterior():
    table, y = simulated(n=60)
    design = Design.fit(table)
    draws = []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        fitted, drawn = Regression.fit_and_draw(design, table, y.data, ridge=0.0, rng=rng)
        draws.append(drawn.coefficients)
    matrix = design.matrix(table)
    expected = fitted.sigma**2 * np.linalg.inv(matrix.T @ matrix)
    np.testing.assert_allclose(np.std(draws, axis=0), np.sqrt(np.diag(expected)), rtol=0.15)
    np.testing.assert_allclose(np.mean(draws, axis=0), fitted.coefficients, atol=0.05)
