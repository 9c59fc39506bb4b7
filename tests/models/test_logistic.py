import numpy as np
import pytest
from scipy.stats import chi2

from synthesizer.data.errors import ModelError
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.models.logistic import Logistic

YES_NO = Variable(name="smoker", kind=Kind.CATEGORICAL, levels=("no", "yes"))


def target(codes, variable=YES_NO):
    return Column(variable, np.asarray(codes, dtype=np.int32))


def numbers(**columns):
    return Table(
        Column(Variable(name=name, kind=Kind.NUMERIC), np.asarray(values, dtype=np.float64))
        for name, values in columns.items()
    )


def simulated(n=600, seed=5):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=n), rng.normal(2, 3, size=n)
    p = 1 / (1 + np.exp(-(0.5 + x - 0.4 * z)))
    return numbers(x=x, z=z), target(rng.random(n) < p)


def fit(model, predictors, y, seed=1):
    return model.fit(predictors, y, rng=np.random.default_rng(seed))


def test_without_a_ridge_the_coefficients_are_those_of_maximum_likelihood():
    sm = pytest.importorskip("statsmodels.api")
    table, y = simulated()
    fitted = fit(Logistic(ridge=0), table, y)
    expected = sm.Logit(y.data, fitted.design.matrix(table)).fit(disp=0, tol=1e-12).params
    np.testing.assert_allclose(fitted.coefficients, expected, rtol=1e-4, atol=1e-5)


def test_known_coefficients_are_recovered():
    table, y = simulated(n=40_000)
    fitted = fit(Logistic(), table, y)
    slopes = fitted.coefficients[1:] / [term.scale for term in fitted.design.terms]
    np.testing.assert_allclose(slopes, [1.0, -0.4], atol=0.05)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_separation_leaves_finite_coefficients_and_the_right_levels(ridge):
    x = np.arange(200.0)
    table, y = numbers(x=x, copy=x, constant=np.ones(200)), target(x >= 100)
    fitted = fit(Logistic(ridge=ridge), table, y)
    assert np.isfinite(fitted.coefficients).all()
    drawn = fitted.sample(table, rng=np.random.default_rng(2)).data
    assert (drawn != y.data).sum() <= 10


def test_draws_agree_with_the_shares_of_each_predictor_level():
    rng = np.random.default_rng(8)
    region = Variable(name="r", kind=Kind.CATEGORICAL, levels=("a", "b", "c"), missing=("",))
    codes = rng.integers(4, size=8000)
    share = np.array([0.1, 0.5, 0.8, 0.3])
    table = Table([Column(region, codes.astype(np.int32))])
    y = target(rng.random(8000) < share[codes])
    drawn = fit(Logistic(), table, y).sample(table, rng=rng).data
    n = np.bincount(codes)
    p = np.bincount(codes, weights=y.data) / n
    statistic = ((np.bincount(codes, weights=drawn) - n * p) ** 2 / (n * p * (1 - p))).sum()
    assert statistic < chi2.ppf(0.999, 4)


def test_one_level_is_drawn_for_ever():
    fitted = fit(Logistic(), numbers(x=[1.0, 2.0]), target([1, 1]))
    drawn = fitted.sample(numbers(x=[5.0, 6.0, 7.0]), rng=np.random.default_rng(0))
    assert drawn.data.tolist() == [1, 1, 1]


@pytest.mark.parametrize("n", [0, 1])
def test_few_rows(n):
    fitted = fit(Logistic(), numbers(x=[1.0]), target([0]))
    assert len(fitted.sample(numbers(x=[1.0] * n), rng=np.random.default_rng(0))) == n
    table, y = simulated(n=50)
    drawn = fit(Logistic(), table, y).sample(table.take(slice(n)), rng=np.random.default_rng(0))
    assert drawn.data.dtype == np.int32
    assert len(drawn) == n


def test_two_missing_codes_may_be_the_two_levels():
    variable = Variable(name="v", kind=Kind.CATEGORICAL, levels=("a",), missing=("N", "-8"))
    fitted = fit(Logistic(), Table([], n_rows=4), target([1, 2, 1, 2], variable))
    drawn = fitted.sample(Table([], n_rows=40), rng=np.random.default_rng(0)).data
    assert set(drawn.tolist()) == {1, 2}


def test_three_levels_are_refused_with_the_name_and_the_remedy():
    variable = Variable(name="v", kind=Kind.CATEGORICAL, levels=("a", "b"), missing=("N",))
    with pytest.raises(ModelError, match=r"'v' has 3 levels .* choose 'multinomial'"):
        fit(Logistic(), Table([], n_rows=3), target([0, 1, 2], variable))


def test_a_sample_of_rows_that_lacks_a_level_is_no_failure():
    y = target([0] * 999 + [1])
    fitted = fit(Logistic(max_fit_rows=10), numbers(x=np.arange(1000.0)), y)
    assert np.isfinite(fitted.coefficients).all()
