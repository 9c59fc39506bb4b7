"""Fits against statsmodels, sandwiches by hand, indicators and numbers of pyfixest."""

import functools
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from effects import cases, package_fit

from synthesizer.data.errors import DataError
from synthesizer.measures.utility import fixed_effects
from synthesizer.measures.utility.fits import check_residuals, fit_model, informative
from synthesizer.measures.utility.fixed_effects import FixedEffects

sm = pytest.importorskip("statsmodels.api")


def sample(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [np.ones(n), 1e6 + 1e4 * rng.standard_normal(n), rng.integers(0, 2, n).astype(float)]
    )
    linear = 0.3 + (X[:, 1] - 1e6) / 2e4 - 0.5 * X[:, 2]
    responses = {
        "ols": linear + rng.standard_normal(n),
        "logit": (rng.random(n) < 1 / (1 + np.exp(-linear))).astype(float),
        "poisson": rng.poisson(np.exp(linear)).astype(float),
        "multinomial": rng.integers(0, 3, n).astype(float),
    }
    return X, responses, rng.integers(0, 40, n)


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("family", ["ols", "logit", "poisson", "multinomial"])
def test_where_a_column_begins_and_its_unit_change_no_fit(family, clustered):
    """Values around a million, and the same ones around nothing: fits as statsmodels has them."""
    X, responses, clusters = sample()
    scaled = X.copy()
    scaled[:, 1] = (X[:, 1] - 1e6) / 1e4
    options = {"clusters": clusters if clustered else None}
    fit, other = (
        fit_model(family, responses[family], each.copy(), ["Intercept", "a", "b"], **options)
        for each in (X, scaled)
    )
    beta, scaled_beta = (one.coefficients.reshape(-1, 3) for one in (fit, other))
    np.testing.assert_allclose(beta[:, 1:] * [1e4, 1], scaled_beta[:, 1:], rtol=1e-6)
    np.testing.assert_allclose(beta[:, 0], scaled_beta[:, 0] - 100 * scaled_beta[:, 1], rtol=1e-6)
    errors, others = (one.std_errors.reshape(-1, 3)[:, 1:] for one in (fit, other))
    np.testing.assert_allclose(errors * [1e4, 1], others, rtol=1e-5)
    assert fit.df == (297 if family == "ols" and not clustered else np.inf)


def test_redundant_columns_are_named():
    X, responses, _ = sample()
    X = np.column_stack([X, 2 * X[:, 1] - 3 * X[:, 2], np.full(len(X), 7.1)])
    with pytest.raises(DataError) as caught:
        fit_model("ols", responses["ols"], X, ["Intercept", "a", "b", "c", "never"])
    one, other = caught.value.problems
    assert one.startswith("the model is singular: never: one value in all complete records")
    assert re.match("the model is singular: [abc]: determined by the other columns", other)


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("family", ["ols", "logit", "poisson"])
def test_weighted_errors_are_the_sandwich_by_hand(family, clustered):
    X, responses, clusters = sample()
    X[:, 1] = (X[:, 1] - 1e6) / 1e4
    y, n = responses[family], len(X)
    w = np.random.default_rng(3).uniform(0.2, 5, n)
    fit = fit_model(family, y, X.copy(), "abc", weights=w, clusters=clusters if clustered else None)
    linear = X @ fit.coefficients
    mean, spread = {
        "ols": (linear, np.ones(n)),
        "logit": (1 / (1 + np.exp(-linear)), np.exp(-linear) / (1 + np.exp(-linear)) ** 2),
        "poisson": (np.exp(linear), np.exp(linear)),
    }[family]
    scores = (w * (y - mean))[:, None] * X
    np.testing.assert_allclose(scores.sum(axis=0), 0, atol=1e-5)
    bread = np.linalg.inv(X.T @ ((w * spread)[:, None] * X))
    correction = n / (n - 3)
    if clustered:
        scores = np.array([scores[clusters == unit].sum(axis=0) for unit in np.unique(clusters)])
        correction = len(scores) / (len(scores) - 1) * (n - 1) / (n - 3)
    covariance = correction * bread @ (scores.T @ scores) @ bread
    np.testing.assert_allclose(fit.covariance, covariance, rtol=1e-6, atol=1e-12)
    assert fit.df == np.inf
    scaled = fit_model(
        family, y, X.copy(), "abc", weights=7 * w, clusters=clusters if clustered else None
    )
    np.testing.assert_allclose(scaled.covariance, fit.covariance, rtol=1e-9)


def test_weighted_multinomial_fits_are_those_of_repeated_records_and_of_a_logit():
    X, responses, _ = sample()
    weights, y = np.arange(300) % 3 + 1.0, responses["multinomial"]
    twice = np.repeat(np.arange(300), np.arange(300) % 3 + 1)
    fit = fit_model("multinomial", y, X.copy(), "abc", weights=weights)
    repeated = fit_model("multinomial", y[twice], X[twice], "abc")
    np.testing.assert_allclose(fit.coefficients, repeated.coefficients, rtol=1e-8)
    errors = [
        fit_model(family, responses["logit"], X.copy(), "abc", weights=weights).covariance
        for family in ("multinomial", "logit")
    ]
    np.testing.assert_allclose(*errors, rtol=1e-6)


@pytest.mark.parametrize("family", ["logit", "poisson", "multinomial"])
def test_a_level_without_a_response_never_settles(family):
    X, responses, _ = sample()
    y = responses[family]
    y[X[:, 2] == 1] = 0
    with pytest.raises(
        DataError, match="does not converge: a value of the response does not occur with b"
    ):
        fit_model(family, y, X, ["Intercept", "a", "b"])


@pytest.mark.parametrize("n", [4, 400])
def test_how_small_residuals_are_but_rounding(n):
    y = np.tile([1.0, 5.0], n // 2)  # of variance 4
    check_residuals(y, np.full(n, 2.1e-9))
    with pytest.raises(DataError, match="determine the response exactly"):
        check_residuals(y, np.full(n, 1.9e-9))


NAMES = ("a", "b", "c")


def sample_with_effects(n=400, seed=0):
    """Three columns, two effects of 15 and 6 levels, clusters across the levels."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(5e3, 10, n), rng.standard_normal((n, 2))])
    effects = [rng.integers(0, 15, n), rng.integers(0, 6, n)]
    X[:, 1] += 0.2 * effects[0]
    linear = 0.02 * (X[:, 0] - 5e3) - 0.3 * X[:, 1] + 0.1 * effects[0] - 0.2 * effects[1]
    y = {
        "ols": linear + rng.standard_normal(n) * (1 + effects[1]),
        "poisson": rng.poisson(np.exp(linear)).astype(float),
    }
    return X, y, effects, rng.integers(0, 40, n), rng.uniform(0.5, 3, n)


def dummies(X, effects):
    """The columns (the first of moderate size) and an indicator for each level."""
    easy = X - np.array([5e3, 0, 0])
    levels = [pd.get_dummies(codes, drop_first=index > 0) for index, codes in enumerate(effects)]
    return np.column_stack([easy, *levels]).astype(float)


def sandwich(D, score, hessian, groups=None):
    """inv(H) (sum of the outer products of the clusters' scores) inv(H), without corrections."""
    if groups is not None:
        score = np.array([score[groups == group].sum(axis=0) for group in np.unique(groups)])
    return np.linalg.inv(hessian) @ (score.T @ score) @ np.linalg.inv(hessian)


def slowly(family, y, X, effects, clusters=None, weights=None, offset=None):
    """Coefficients and covariance with the documented corrections, from indicators."""
    D = dummies(X, effects)
    w = np.ones(len(y)) if weights is None else weights
    if family == "ols":
        result = sm.WLS(y, D, weights=w).fit()
        residual, hessian = w * (y - D @ result.params), D.T @ (w[:, None] * D)
    else:
        model = sm.GLM(y, D, sm.families.Poisson(), var_weights=w, offset=offset)
        result = model.fit(tol=1e-14, maxiter=100)
        fitted = result.fittedvalues
        residual, hessian = w * (y - fitted), D.T @ ((w * fitted)[:, None] * D)
    n, K = len(y), np.linalg.matrix_rank(D)
    if clusters is not None:
        G = len(np.unique(clusters))
        covariance = sandwich(D, residual[:, None] * D, hessian, clusters)
        covariance *= G / (G - 1) * (n - 1) / (n - K)
    elif weights is not None:
        covariance = sandwich(D, residual[:, None] * D, hessian) * n / (n - K)
    elif family == "ols":
        covariance = np.linalg.inv(hessian) * (residual @ residual) / (n - K)
    else:
        covariance = np.linalg.inv(hessian) * (n - 1) / (n - K)
    return np.asarray(result.params)[:3], covariance[:3, :3]


CASES = [(f, e) for f in ("ols", "poisson") for e in ("plain", "clusters", "weights", "both")]


@pytest.mark.parametrize(("family", "errors"), [*CASES, ("poisson", "offset")])
def test_coefficients_and_errors_are_those_of_indicators(family, errors):
    X, responses, effects, clusters, weights = sample_with_effects()
    options = {
        "clusters": clusters if errors in ("clusters", "both") else None,
        "weights": weights if errors in ("weights", "both") else None,
        "offset": np.linspace(-1, 1, 400) if errors == "offset" else None,
    }
    y = responses[family]
    expected, covariance = slowly(family, y, X, effects, **options)
    fit = fit_model(family, y, X.copy(), NAMES, effects=effects, **options)
    np.testing.assert_allclose(fit.coefficients, expected, rtol=1e-8)
    np.testing.assert_allclose(fit.covariance, covariance, rtol=1e-6, atol=1e-12)
    df = 39 if errors in ("clusters", "both") else 400 - 3 - 20
    n_clusters = len(np.unique(clusters))
    assert n_clusters == 40
    assert fit.df == (df if family == "ols" else np.inf)


def test_an_effect_within_clusters_counts_as_one_column():
    """Levels 0 to 14 of the first effect lie in 5 clusters: 15 levels count as 1 in K."""
    X, responses, effects, _, _ = sample_with_effects()
    options = {"effects": effects, "clusters": effects[0] // 3}
    _, covariance = slowly("ols", responses["ols"], X, **options)
    fit = fit_model("ols", responses["ols"], X.copy(), NAMES, **options)
    covariance *= (400 - (3 + 15 + 5)) / (400 - (3 + 1 + 5))
    np.testing.assert_allclose(fit.covariance, covariance, rtol=1e-6, atol=1e-12)


def test_records_that_say_nothing():
    one, other = np.array([0, 0, 0, 1, 2, 2, 3]), np.array([0, 0, 1, 0, 2, 2, 0])
    y = np.array([1.0, 2, 3, 4, 0, 0, 5])
    assert informative([one, other], y, "ols").tolist() == [1, 1, 0, 0, 1, 1, 0]
    assert informative([one, other], y, "poisson").tolist() == [1, 1, 0, 0, 0, 0, 0]
    chain = [np.array([0, 0, 1, 1, 2]), np.array([0, 1, 1, 2, 2])]
    assert not informative(chain, y[:5], "ols").any()


@pytest.mark.parametrize("family", ["ols", "poisson"])
def test_what_the_effects_absorb_is_named(family):
    X, responses, effects, _, _ = sample_with_effects()
    y = responses[family]
    X[:, 1] = effects[0] % 4 + 10.0 * effects[1]
    with pytest.raises(DataError, match="fixed effects determine b, alone or with other"):
        fit_model(family, y, X.copy(), NAMES, effects=effects)
    X[:, 2] = effects[1]
    only = X[:, 1:].copy()
    with pytest.raises(DataError, match="fixed effects determine b, c, alone"):
        fit_model(family, y, only, NAMES[1:], effects=effects)
    X[:, 0] = 3 * X[:, 1]
    with pytest.raises(DataError, match="the model is singular: [ab]: determined by the other"):
        fit_model(family, y, X.copy(), NAMES, effects=effects)


DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
# Made once with pyfixest 0.60.0 by `scripts/benchmark.py effects.recorded`: slopes and
# standard errors.
PYFIXEST = {
    "ma2019 ols": ([3592.7375906, -25.587304158, -15091.435936, -419.17417014],
        [312.945511, 3.1099753951, 6109.2242607, 111.08175938]),
    "ma2019 ols, clusters": ([3592.7375906, -25.587304158, -15091.435936, -419.17417014],
        [459.44547193, 4.731045965, 4928.6263467, 82.668489922]),
    "ma2019 ols, weights": ([3569.0924411, -25.214179415, -11818.759923, -417.40137827],
        [278.33807647, 2.9063752434, 5027.4245703, 99.81309047]),
    "ma2019 poisson, clusters": ([0.1666165143, -0.0023934269541, -0.045648883152],
        [0.0529127533, 0.00055949497427, 0.075117373573]),
    "sd2011 ols": ([13.416958642, 3.5242973551, 282.13519641, 7.8584038861],
        [3.1297750401, 1.5902489463, 54.614009401, 2.4859899375]),
    "sd2011 ols, clusters": ([13.416958642, 3.5242973551, 282.13519641, 7.8584038861],
        [3.7264423607, 1.8608093771, 44.094830519, 2.9097122132]),
    "sd2011 poisson": ([0.0080672956084, 0.0016539412471, 0.18177374853, 0.004401371702],
        [7.2834696082e-05, 3.5977290105e-05, 0.0012633652471, 5.213312217e-05]),
    "federal ols": ([0.014009775859, -0.00016496673327, -0.0051217113933, 0.0030827817995],
        [0.0013582183436, 1.3496154712e-05, 0.013632740864, 0.0088213620247]),
    "federal ols, clusters": (
        [0.014009775859, -0.00016496673327, -0.0051217113933, 0.0030827817995],
        [0.003940339368, 4.726093296e-05, 0.020857335724, 0.021731297927]),
    "federal poisson, clusters": (
        [-0.035428901513, 0.00032734735846, -0.23768139412, -0.017135698997],
        [0.017345596636, 0.00018558425461, 0.072799411046, 0.07742329637]),
}  # fmt: skip


models = functools.cache(cases)


@pytest.mark.parametrize("name", PYFIXEST)
def test_fits_are_those_of_pyfixest(name):
    files = DATA / "ma2019.csv", DATA / "sd2011.csv"
    source = name.split()[0]
    if source != "federal" and not all(path.exists() for path in files):
        pytest.skip("the data are not beside the repository")
    coefficients, errors = package_fit(models(*files, 500, source)[name])
    np.testing.assert_allclose(coefficients, PYFIXEST[name][0], rtol=1e-8)
    np.testing.assert_allclose(errors, PYFIXEST[name][1], rtol=1e-8)


def chain(n):
    """Two effects, every level of which has two records, each shared with one other level."""
    return [np.arange(n) // 2, (np.arange(n) + 1) // 2]


def crossed(n, *sizes):
    rng = np.random.default_rng(2)
    return [rng.integers(0, size, n) * 3 for size in sizes]


@pytest.mark.parametrize(
    "effects",
    [
        crossed(200, 30),
        crossed(200, 30, 7),
        crossed(300, 9, 40, 12),
        chain(200),
        # three parts that share no level, and an effect within the other
        [np.arange(200) // 10, np.arange(200) // 70],
    ],
    ids=["one", "two", "three", "chain", "apart"],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_sweeping_is_a_regression_on_indicators(effects, weighted):
    rng = np.random.default_rng(1)
    n = len(effects[0])
    columns = rng.standard_normal((n, 3)) * [1, 1e6, 1] + [0, 1e9, 0]
    columns[:, 2] = effects[0] + 2 * effects[-1]
    weights = rng.uniform(0.1, 10, n) if weighted else None
    D = np.column_stack([codes[:, None] == np.unique(codes) for codes in effects]).astype(float)
    root = np.ones(n) if weights is None else np.sqrt(weights)
    constants = np.linalg.lstsq(root[:, None] * D, root[:, None] * columns, rcond=1e-12)[0]
    swept = FixedEffects(effects).sweep(columns, weights)
    scale = np.abs(columns).max(axis=0)
    np.testing.assert_allclose(swept / scale, (columns - D @ constants) / scale, atol=1e-9)


def test_levels_are_counted():
    effects = FixedEffects([np.array([5, 5, 9, 9, 2]), np.array([0, 1, 0, 1, 1])])
    assert effects.n_levels == (3, 2)
    assert effects.n_free == 4
    assert effects.n_nested(np.array([7, 7, 8, 8, 8])) == 2
    assert effects.n_nested(np.array([7, 8, 8, 8, 8])) == 0
    assert effects.n_nested(np.zeros(5)) == 3


def test_constants_that_do_not_converge_are_refused(monkeypatch):
    monkeypatch.setattr(fixed_effects, "_MOST_STEPS", 20)
    column = np.random.default_rng(1).standard_normal((400, 1))
    with pytest.raises(DataError, match="too few records connect their levels; leave out"):
        FixedEffects(chain(400)).sweep(column)
