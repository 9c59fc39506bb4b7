import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.stats import chi2

from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.engine.testing import rebuilt
from synthesizer.models.kit.logit import _Problem
from synthesizer.models.ordinal import Ordinal


def ordered(codes, n_levels, missing=()):
    levels = tuple(f"l{i}" for i in range(n_levels))
    variable = Variable(name="grade", kind=Kind.ORDERED, levels=levels, missing=missing)
    return Column(variable, np.asarray(codes, dtype=np.int32))


def numbers(**columns):
    return Table(
        Column(Variable(name=name, kind=Kind.NUMERIC), np.asarray(values, dtype=np.float64))
        for name, values in columns.items()
    )


def simulated(n=500, seed=5, cuts=(-1.0, 0.0, 1.5)):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=n), rng.normal(size=n)
    latent = 0.8 * x - 0.5 * z + rng.logistic(size=n)
    return numbers(x=x, z=z), ordered(np.searchsorted(cuts, latent), len(cuts) + 1)


def fit(model, predictors, y, seed=1):
    return model.fit(predictors, y, rng=np.random.default_rng(seed))


def test_without_a_ridge_the_parameters_are_those_of_maximum_likelihood():
    miscmodels = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    table, y = simulated()
    fitted = fit(Ordinal(ridge=0), table, y)
    matrix = fitted.missing.design.matrix(table)[:, 1:]
    model = miscmodels.OrderedModel(y.data, matrix, distr="logit")
    params = model.fit(method="bfgs", disp=0, gtol=1e-8).params
    np.testing.assert_allclose(fitted.scale.coefficients[1:], params[:2], atol=1e-4)
    thresholds = model.transform_threshold_params(params)[1:-1]
    np.testing.assert_allclose(fitted.scale.thresholds, thresholds, atol=1e-4)


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


def test_known_parameters_are_recovered():
    table, y = simulated(n=40_000)
    scale = fit(Ordinal(), table, y).scale
    np.testing.assert_allclose(scale.coefficients[1:], [0.8, -0.5], atol=0.04)
    np.testing.assert_allclose(scale.thresholds, [-1.0, 0.0, 1.5], atol=0.05)


def test_draws_keep_the_marginal_distribution():
    table, y = simulated(n=10_000)
    drawn = fit(Ordinal(), table, y).sample(table, rng=np.random.default_rng(2)).data
    want, have = np.bincount(y.data), np.bincount(drawn, minlength=4)
    assert ((want - have) ** 2 / want).sum() < chi2.ppf(0.999, 3)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_separation_gives_the_right_levels(ridge):
    x = np.arange(300.0)
    y = ordered(x // 100, 3)
    table = numbers(x=x, copy=x)
    drawn = fit(Ordinal(ridge=ridge), table, y).sample(table, rng=np.random.default_rng(0)).data
    assert (drawn != y.data).mean() < 0.05


def test_missing_codes_are_drawn_by_their_own_regression():
    table, y = simulated(n=4000)
    x = table["x"].data
    codes = np.where(x > 0.5, 4, np.where(x < -1, 5, y.data))
    target = ordered(codes, 4, missing=("N", "-8"))
    drawn = fit(Ordinal(), table, target).sample(table, rng=np.random.default_rng(0)).data
    assert ((drawn == 4) == (codes == 4)).mean() > 0.97
    assert ((drawn == 5) == (codes == 5)).mean() > 0.97


def test_missing_codes_alone():
    target = ordered([2, 3, 3], 2, missing=("N", "-8"))
    fitted = fit(Ordinal(), numbers(x=[1.0, 2.0, 3.0]), target)
    drawn = fitted.sample(numbers(x=np.zeros(50)), rng=np.random.default_rng(0)).data
    assert set(drawn.tolist()) == {2, 3}
    assert rebuilt(fitted).scale is None


def test_levels_that_the_fit_does_not_see_are_not_drawn():
    fitted = fit(Ordinal(), Table([], n_rows=4), ordered([1, 3, 3, 1], 6))
    drawn = fitted.sample(Table([], n_rows=60), rng=np.random.default_rng(0)).data
    assert set(drawn.tolist()) == {1, 3}


@pytest.mark.parametrize("codes", [[1], [1, 1, 1]])
def test_one_level_one_row_no_row(codes):
    fitted = fit(Ordinal(), numbers(x=np.arange(len(codes))), ordered(codes, 3))
    assert fitted.sample(numbers(x=[1.0]), rng=np.random.default_rng(0)).data.tolist() == [1]
    assert len(fitted.sample(numbers(x=[]), rng=np.random.default_rng(0))) == 0


def test_ninety_levels():
    rng = np.random.default_rng(0)
    x = rng.normal(size=3000)
    y = ordered(np.clip(45 + 20 * x + 5 * rng.normal(size=3000), 0, 89), 90)
    drawn = fit(Ordinal(), numbers(x=x), y).sample(numbers(x=x), rng=rng).data
    assert np.corrcoef(drawn, y.data)[0, 1] > 0.9
