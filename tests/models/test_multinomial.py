import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import chi2
from threadpoolctl import threadpool_limits

from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.engine.testing import rebuilt
from synthesizer.models.kit.logit import fit_softmax
from synthesizer.models.logistic import Logistic
from synthesizer.models.multinomial import Multinomial


def coded(name, codes, n_levels, missing=()):
    levels = tuple(f"l{i}" for i in range(n_levels))
    variable = Variable(name=name, kind=Kind.CATEGORICAL, levels=levels, missing=missing)
    return Column(variable, np.asarray(codes, dtype=np.int32))


def numeric(name, values):
    return Column(Variable(name=name, kind=Kind.NUMERIC), np.asarray(values, dtype=np.float64))


def simulated(n=800, seed=5, n_levels=3):
    rng = np.random.default_rng(seed)
    x, g = rng.normal(size=n), rng.integers(3, size=n)
    scores = np.outer(x, np.arange(n_levels)) * 0.5 + (g == 1)[:, None] * rng.normal(size=n_levels)
    p = np.exp(scores)
    steps = np.cumsum(p / p.sum(axis=1, keepdims=True), axis=1)
    y = (rng.random(n)[:, None] >= steps[:, :-1]).sum(axis=1)
    return Table([numeric("x", x), coded("g", g, 3)]), coded("y", y, n_levels)


def fit(model, predictors, y, seed=1):
    return model.fit(predictors, y, rng=np.random.default_rng(seed))


def probabilities(fitted, table):
    return softmax(fitted.softmax.design.matrix(table) @ fitted.softmax.coefficients, axis=1)


def test_without_a_ridge_the_contrasts_are_those_of_maximum_likelihood():
    sm = pytest.importorskip("statsmodels.api")
    table, y = simulated()
    fitted = fit(Multinomial(ridge=0, tolerance=1e-6), table, y)
    matrix = fitted.softmax.design.matrix(table)
    expected = sm.MNLogit(y.data, matrix).fit(disp=0, method="newton", tol=1e-12).params
    coefficients = fitted.softmax.coefficients
    np.testing.assert_allclose(coefficients[:, 1:] - coefficients[:, :1], expected, atol=1e-3)


def test_the_default_tolerance_is_close_enough():
    table, y = simulated(n_levels=8)
    rough, exact = (
        probabilities(fit(Multinomial(tolerance=tolerance), table, y), table)
        for tolerance in (0.03, 1e-6)
    )
    assert np.abs(rough - exact).max() < 0.01


def test_gradient_is_zero_at_the_maximum():
    table, y = simulated(n_levels=5)
    fitted = fit(Multinomial(tolerance=1e-6, ridge=2.0), table, y)
    matrix, coefficients = fitted.softmax.design.matrix(table), fitted.softmax.coefficients
    residual = probabilities(fitted, table) - np.eye(5)[y.data]
    pull = np.array([0, 2.0, 2.0, 2.0])[:, None] * coefficients
    np.testing.assert_allclose(matrix.T @ residual + pull, 0, atol=1e-3)


def test_two_levels_agree_with_logistic_regression():
    table, y = simulated(n_levels=2)
    two = fit(Multinomial(ridge=0, tolerance=1e-6), table, y).softmax.coefficients
    one = fit(Logistic(ridge=0), table, y).coefficients
    np.testing.assert_allclose(two[:, 1] - two[:, 0], one, atol=1e-4)


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


def test_separation_gives_the_right_levels():
    g = np.repeat([0, 1, 2], 100)
    table = Table([coded("g", g, 3)])
    drawn = fit(Multinomial(), table, coded("y", g, 3)).sample(table, rng=np.random.default_rng(0))
    assert (drawn.data != g).sum() <= 5


def test_only_levels_and_missing_codes_of_the_fit_are_drawn():
    table = Table([coded("g", [0, 1] * 50, 5)])
    y = coded("y", [1, 4] * 50, 4, missing=("N", "-8"))
    fitted = fit(Multinomial(), table, y)
    new = Table([coded("g", np.arange(100) % 5, 5)])
    drawn = fitted.sample(new, rng=np.random.default_rng(0))
    assert set(drawn.data.tolist()) == {1, 4}
    assert drawn.variable == y.variable


@pytest.mark.parametrize("predictors", [Table([], n_rows=1), Table([numeric("x", [3.0])])])
def test_one_row_and_none(predictors):
    fitted = fit(Multinomial(), predictors, coded("y", [2], 3))
    assert fitted.sample(predictors, rng=np.random.default_rng(0)).data.tolist() == [2]
    assert len(fitted.sample(predictors.take(slice(0)), rng=np.random.default_rng(0))) == 0


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    table = Table([numeric(f"x{i}", rng.normal(size=6)) for i in range(12)])
    fitted = fit(Multinomial(ridge=0), table, coded("y", [0, 1, 2, 0, 1, 2], 3))
    assert np.isfinite(fitted.softmax.coefficients).all()


def test_max_fit_rows_learns_nearly_the_same():
    table, y = simulated(n=6000)
    whole, part = (
        probabilities(fit(Multinomial(max_fit_rows=n), table, y), table) for n in (10_000, 3000)
    )
    assert 0 < np.abs(whole - part).mean() < 0.03


def test_same_generator_same_draw_and_saved_form_draws_the_same():
    table, y = simulated()
    fitted = fit(Multinomial(), table, y)
    again = rebuilt(fitted)
    draws = [m.sample(table, rng=np.random.default_rng(4)).data for m in (fitted, fitted, again)]
    assert (draws[0] == draws[1]).all()
    assert (draws[0] == draws[2]).all()


def test_no_number_of_blas_threads_changes_a_bit():
    rng = np.random.default_rng(2)
    matrix = np.column_stack([np.ones(5000), rng.normal(size=(5000, 60))])
    classes = rng.integers(20, size=5000)
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            results.append(fit_softmax(matrix, classes, np.full(61, 0.1), tolerance=0.3))
    assert (results[0] == results[1]).all()
