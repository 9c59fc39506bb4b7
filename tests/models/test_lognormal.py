import numpy as np
import pytest

from synthesizer.data.errors import ModelError
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.models.normal import Lognormal


def numeric(name, values, decimals=None):
    variable = Variable(name=name, kind=Kind.NUMERIC, decimals=decimals)
    return Column(variable, np.asarray(values, dtype=np.float64))


def fit(model, predictors, y):
    return model.fit(predictors, y, rng=np.random.default_rng(1))


def simulated(n=20_000):
    rng = np.random.default_rng(3)
    x = rng.normal(size=n)
    logs = 8 + 0.5 * x + 0.7 * rng.normal(size=n)
    return Table([numeric("x", x)]), numeric("income", np.exp(logs))


def test_known_parameters_are_recovered_and_drawn_from():
    table, y = simulated()
    fitted = fit(Lognormal(clip=False), table, y)
    np.testing.assert_allclose(fitted.regression.coefficients, [8, 0.5], atol=0.03)
    assert fitted.regression.sigma == pytest.approx(0.7, abs=0.02)
    logs = np.log(fitted.sample(table, rng=np.random.default_rng(2)).data)
    assert logs.std() == pytest.approx(np.hypot(0.5, 0.7), abs=0.02)


@pytest.mark.parametrize("shift", [0.0, 2.5])
def test_coefficients_and_sigma_are_those_of_least_squares_on_logs(shift):
    sm = pytest.importorskip("statsmodels.api")
    table, y = simulated(500)
    fitted = fit(Lognormal(ridge=0, shift=shift), table, y).regression
    expected = sm.OLS(np.log(y.data + shift), fitted.design.matrix(table)).fit()
    np.testing.assert_allclose(fitted.coefficients, expected.params, rtol=1e-6)
    assert fitted.sigma == pytest.approx(np.sqrt(expected.mse_resid), rel=1e-6)


def test_draws_are_rounded_and_in_the_range():
    table, y = simulated(500)
    target = numeric("income", np.round(y.data, 2), decimals=2)
    drawn = fit(Lognormal(), table, target).sample(table, rng=np.random.default_rng(2)).data
    assert (np.round(drawn, 2) == drawn).all()
    assert target.data.min() <= drawn.min() <= drawn.max() <= target.data.max()


def test_values_that_are_not_positive_are_refused_by_count():
    with pytest.raises(ModelError, match=r"'income' has 2 values .* set a larger shift") as caught:
        fit(Lognormal(), Table([], 3), numeric("income", [-77.0, 0.0, 5.0]))
    assert "77" not in str(caught.value)


def test_a_shift_admits_zeros():
    fitted = fit(Lognormal(shift=1.0, clip=False), Table([], 40), numeric("y", np.arange(40)))
    assert fitted.sample(Table([], 400), rng=np.random.default_rng(1)).data.min() > -1.0


@pytest.mark.parametrize("n", [0, 1])
def test_few_rows_and_a_constant(n):
    fitted = fit(Lognormal(), Table([], 1), numeric("y", [7.0]))
    drawn = fitted.sample(Table([], n), rng=np.random.default_rng(1))
    assert drawn.data.tolist() == [7.0] * n


def test_wild_predictors_give_finite_numbers():
    table, y = simulated(100)
    fitted = fit(Lognormal(clip=False), table, y)
    drawn = fitted.sample(Table([numeric("x", [1e9])]), rng=np.random.default_rng(1))
    assert np.isfinite(drawn.data).all()
