import re

import numpy as np
import pandas as pd
import pytest

from synthesizer.data.errors import DataError
from synthesizer.measures.utility.fits import check_residuals, fit_model, informative

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
    near = X.copy()
    near[:, 1] = (X[:, 1] - 1e6) / 1e4
    options = {"clusters": clusters if clustered else None}
    fit, other = (
        fit_model(family, responses[family], each.copy(), ["Intercept", "a", "b"], **options)
        for each in (X, near)
    )
    ours, theirs = (one.coefficients.reshape(-1, 3) for one in (fit, other))
    np.testing.assert_allclose(ours[:, 1:] * [1e4, 1], theirs[:, 1:], rtol=1e-6)
    np.testing.assert_allclose(ours[:, 0], theirs[:, 0] - 100 * theirs[:, 1], rtol=1e-6)
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
        scores = np.array([scores[clusters == own].sum(axis=0) for own in np.unique(clusters)])
        correction = len(scores) / (len(scores) - 1) * (n - 1) / (n - 3)
    covariance = correction * bread @ (scores.T @ scores) @ bread
    np.testing.assert_allclose(fit.covariance, covariance, rtol=1e-6, atol=1e-12)
    assert fit.df == np.inf
    scaled = fit_model(
        family, y, X.copy(), "abc", weights=7 * w, clusters=clusters if clustered else None
    )
    np.testing.assert_allclose(scaled.covariance, fit.covariance, rtol=1e-9)


def test_weights_count_records_several_times_in_coefficients():
    X, responses, _ = sample()
    twice = np.repeat(np.arange(300), np.arange(300) % 3 + 1)
    for family in ("ols", "logit", "poisson", "multinomial"):
        y = responses[family]
        fit = fit_model(family, y, X.copy(), "abc", weights=np.arange(300.0) % 3 + 1)
        repeated = fit_model(family, y[twice], X[twice], "abc")
        np.testing.assert_allclose(fit.coefficients, repeated.coefficients, rtol=1e-8)


@pytest.mark.parametrize("family", ["logit", "poisson", "multinomial"])
def test_a_level_without_a_response_never_settles(family):
    X, responses, _ = sample()
    y = responses[family]
    y[X[:, 2] == 1] = 0
    with pytest.raises(DataError, match="does not converge: some response does not occur with b"):
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
    levels = [pd.get_dummies(codes, drop_first=place > 0) for place, codes in enumerate(effects)]
    return np.column_stack([easy, *levels]).astype(float)


def sandwich(D, score, hessian, groups=None):
    """inv(H) (sum of the outer products of the clusters' scores) inv(H), without corrections."""
    if groups is not None:
        score = np.array([score[groups == own].sum(axis=0) for own in np.unique(groups)])
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


@pytest.mark.parametrize("errors", ["plain", "clusters", "weights", "both"])
@pytest.mark.parametrize("family", ["ols", "poisson"])
def test_coefficients_and_errors_are_those_of_indicators(family, errors):
    X, responses, effects, clusters, weights = sample_with_effects()
    options = {
        "clusters": clusters if errors in ("clusters", "both") else None,
        "weights": weights if errors in ("weights", "both") else None,
    }
    y = responses[family]
    expected, covariance = slowly(family, y, X, effects, **options)
    fit = fit_model(family, y, X.copy(), NAMES, effects=effects, **options)
    np.testing.assert_allclose(fit.coefficients, expected, rtol=1e-8)
    np.testing.assert_allclose(fit.covariance, covariance, rtol=1e-6, atol=1e-12)
    df = {"plain": 400 - 3 - 20, "clusters": 39, "both": 39, "weights": 400 - 3 - 20}[errors]
    n_clusters = len(np.unique(clusters))
    assert n_clusters == 40
    assert fit.df == (df if family == "ols" else np.inf)


def test_an_offset_and_weights_that_count_records_twice():
    X, responses, effects, _, _ = sample_with_effects()
    y, offset = responses["poisson"], np.linspace(-1, 1, 400)
    expected, covariance = slowly("poisson", y, X, effects, offset=offset)
    fit = fit_model("poisson", y, X.copy(), NAMES, effects=effects, offset=offset)
    np.testing.assert_allclose(fit.coefficients, expected, rtol=1e-8)
    np.testing.assert_allclose(fit.covariance, covariance, rtol=1e-6, atol=1e-12)
    twice = np.repeat(np.arange(400), 2)
    doubled = fit_model(
        "poisson", y[twice], X[twice], NAMES, effects=[codes[twice] for codes in effects]
    )
    weighted = fit_model("poisson", y, X.copy(), NAMES, effects=effects, weights=np.full(400, 2.0))
    np.testing.assert_allclose(weighted.coefficients, doubled.coefficients, rtol=1e-8)


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
