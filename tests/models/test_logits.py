"""Regressions of levels: logistic, multinomial and proportional odds."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import softmax
from scipy.stats import chi2

from synthesizer.data.errors import ModelError
from synthesizer.data.table import Kind, Table
from synthesizer.models.kit.regression import _Problem
from synthesizer.models.logistic import Logistic, Multinomial, Ordinal
from tests.models.fits import coded, draw, fit, numbers, numeric


def smokers(n=600, seed=5):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=n), rng.normal(2, 3, size=n)
    p = 1 / (1 + np.exp(-(0.5 + x - 0.4 * z)))
    return numbers(x=x, z=z), coded("smoker", rng.random(n) < p, 2)


def regions(n=800, seed=5, n_levels=3):
    rng = np.random.default_rng(seed)
    x, g = rng.normal(size=n), rng.integers(3, size=n)
    scores = np.outer(x, np.arange(n_levels)) * 0.5 + (g == 1)[:, None] * rng.normal(size=n_levels)
    steps = np.cumsum(softmax(scores, axis=1), axis=1)
    y = (rng.random(n)[:, None] >= steps[:, :-1]).sum(axis=1)
    return Table([numeric("x", x), coded("g", g, 3)]), coded("y", y, n_levels)


def probabilities(fitted, table):
    return softmax(fitted.softmax.design.matrix(table) @ fitted.softmax.coefficients, axis=1)


def ordered(codes, n_levels, missing=()):
    return coded("grade", codes, n_levels, missing, Kind.ORDERED)


def grades(n=500, seed=5, cuts=(-1.0, 0.0, 1.5)):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=n), rng.normal(size=n)
    latent = 0.8 * x - 0.5 * z + rng.logistic(size=n)
    return numbers(x=x, z=z), ordered(np.searchsorted(cuts, latent), len(cuts) + 1)


def test_without_a_ridge_the_coefficients_are_those_of_maximum_likelihood():
    sm = pytest.importorskip("statsmodels.api")
    table, y = smokers()
    fitted = fit(Logistic(ridge=0), table, y)
    expected = sm.Logit(y.data, fitted.design.matrix(table)).fit(disp=0, tol=1e-12).params
    np.testing.assert_allclose(fitted.coefficients, expected, rtol=1e-4, atol=1e-5)


def test_separation_leaves_finite_coefficients_and_the_right_levels():
    x = np.arange(200.0)
    table, y = numbers(x=x, copy=x, constant=np.ones(200)), coded("smoker", x >= 100, 2)
    fitted = fit(Logistic(ridge=0.0), table, y)
    assert np.isfinite(fitted.coefficients).all()
    drawn = draw(fitted, table, 2)
    assert (drawn != y.data).sum() <= 10


def test_three_levels_are_refused_with_the_name_and_the_remedy():
    target = coded("v", [0, 1, 2], 2, missing=("N",))
    with pytest.raises(ModelError, match=r"'v' has 3 levels .*'multinomial'"):
        fit(Logistic(), Table([], n_rows=3), target)


def test_without_a_ridge_the_contrasts_are_those_of_maximum_likelihood():
    sm = pytest.importorskip("statsmodels.api")
    table, y = regions()
    fitted = fit(Multinomial(ridge=0, tolerance=1e-6), table, y)
    matrix = fitted.softmax.design.matrix(table)
    expected = sm.MNLogit(y.data, matrix).fit(disp=0, method="newton", tol=1e-12).params
    coefficients = fitted.softmax.coefficients
    np.testing.assert_allclose(coefficients[:, 1:] - coefficients[:, :1], expected, atol=1e-3)


def test_the_default_tolerance_is_close_enough():
    table, y = regions(n_levels=8)
    rough, exact = (
        probabilities(fit(Multinomial(tolerance=tolerance), table, y), table)
        for tolerance in (0.03, 1e-6)
    )
    assert np.abs(rough - exact).max() < 0.01


def test_gradient_is_zero_at_the_maximum():
    table, y = regions(n_levels=5)
    fitted = fit(Multinomial(tolerance=1e-6, ridge=2.0), table, y)
    matrix, coefficients = fitted.softmax.design.matrix(table), fitted.softmax.coefficients
    residual = probabilities(fitted, table) - np.eye(5)[y.data]
    pull = np.array([0, 2.0, 2.0, 2.0])[:, None] * coefficients
    np.testing.assert_allclose(matrix.T @ residual + pull, 0, atol=1e-3)


def test_draws_agree_with_the_joint_distribution():
    rng = np.random.default_rng(3)
    g = rng.integers(3, size=6000)
    shares = rng.dirichlet(np.ones(5), size=3)
    y = (rng.random(6000)[:, None] >= np.cumsum(shares, axis=1)[g][:, :-1]).sum(axis=1)
    table = Table([coded("g", g, 3)])
    drawn = fit(Multinomial(), table, coded("y", y, 5)).sample(table, rng=rng).data
    want = np.bincount(g * 5 + y, minlength=15)
    have = np.bincount(g * 5 + drawn, minlength=15)
    statistic = ((have - want) ** 2 / np.maximum(want, 1)).sum()
    assert statistic < chi2.ppf(0.999, 12)


def test_only_levels_and_missing_codes_of_the_fit_are_drawn():
    table = Table([coded("g", [0, 1] * 50, 5)])
    y = coded("y", [1, 4] * 50, 4, missing=("N", "-8"))
    fitted = fit(Multinomial(), table, y)
    new = Table([coded("g", np.arange(100) % 5, 5)])
    drawn = fitted.sample(new, rng=np.random.default_rng(0))
    assert set(drawn.data.tolist()) == {1, 4}
    assert drawn.variable == y.variable


def test_without_a_ridge_thresholds_and_slopes_are_those_of_maximum_likelihood():
    miscmodels = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    table, y = grades()
    fitted = fit(Ordinal(ridge=0), table, y)
    matrix = fitted.missing.design.matrix(table)[:, 1:]
    model = miscmodels.OrderedModel(y.data, matrix, distr="logit")
    params = model.fit(method="bfgs", disp=0, gtol=1e-8).params
    np.testing.assert_allclose(fitted.scale.coefficients[1:], params[:2], atol=1e-4)
    thresholds = model.transform_threshold_params(params)[1:-1]
    np.testing.assert_allclose(fitted.scale.thresholds, thresholds, atol=1e-4)


def test_separation_gives_the_right_levels_in_order():
    x = np.arange(300.0)
    y = ordered(x // 100, 3)
    table = numbers(x=x, copy=x)
    drawn = draw(fit(Ordinal(ridge=0.0), table, y), table, 0)
    assert (drawn != y.data).mean() < 0.05


def test_missing_codes_are_drawn_by_their_own_regression():
    table, y = grades(n=4000)
    x = table["x"].data
    codes = np.where(x > 0.5, 4, np.where(x < -1, 5, y.data))
    target = ordered(codes, 4, missing=("N", "-8"))
    drawn = draw(fit(Ordinal(), table, target), table, 0)
    assert ((drawn == 4) == (codes == 4)).mean() > 0.97
    assert ((drawn == 5) == (codes == 5)).mean() > 0.97


@pytest.mark.parametrize("n_levels", [127, 128])
def test_missing_codes_come_after_any_number_of_levels(n_levels):
    codes = np.tile([0, n_levels - 1, n_levels, n_levels + 1], 100)
    target = ordered(codes, n_levels, missing=("N", "-8"))
    table = numbers(x=(codes - n_levels) * 1.0)
    drawn = draw(fit(Ordinal(), table, target), table, 0)
    assert set(drawn.tolist()) == set(codes.tolist())


def test_gradient_and_hessian_are_the_derivatives():
    rng = np.random.default_rng(1)
    classes = np.repeat([0, 1, 2, 3], [5, 8, 2, 6])
    problem = _Problem(rng.normal(size=(21, 3)), classes, np.bincount(classes), np.full(3, 0.7))
    point = np.array([-1.0, 0.2, 0.9, 0.3, -0.4, 1.1])

    def value(p):
        return problem.objective(p)[0]

    def gradient(p):
        return problem.objective(p)[1]

    assert check_grad(value, gradient, point) < 1e-5
    steps = 1e-6 * np.eye(6)
    numeric = [(gradient(point + step) - gradient(point - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(problem.objective(point)[2], numeric, atol=1e-6)


def test_a_sample_of_rows_that_lacks_a_level_is_no_failure():
    y = coded("smoker", [0] * 999 + [1], 2)
    fitted = fit(Logistic(max_fit_rows=10), numbers(x=np.arange(1000.0)), y)
    assert np.isfinite(fitted.coefficients).all()


def test_max_fit_rows_learns_nearly_the_same():
    table, y = regions(n=6000)
    whole, part = (
        probabilities(fit(Multinomial(max_fit_rows=n), table, y), table) for n in (10_000, 3000)
    )
    assert 0 < np.abs(whole - part).mean() < 0.03
