import re

import numpy as np
import pytest

from synthesizer.data.errors import DataError
from synthesizer.measures.utility import fits
from synthesizer.measures.utility.fits import fit_model

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


def directly(family, y, X, options):
    """statsmodels on columns of moderate size, shifted back by hand."""
    easy = X.copy()
    easy[:, 1] = (X[:, 1] - 1e6) / 1e4
    if family == "ols":
        return sm.OLS(y, easy).fit(**options)
    if family == "multinomial":
        return sm.MNLogit(y.astype(int), easy).fit(disp=0, **options)
    kind = {"logit": sm.Logit, "poisson": sm.Poisson}[family]
    return kind(y, easy).fit(disp=0, **options)


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("family", ["ols", "logit", "poisson", "multinomial"])
def test_coefficients_and_errors_are_those_of_statsmodels(family, clustered):
    X, responses, clusters = sample()
    y = responses[family]
    options = {"cov_type": "cluster", "cov_kwds": {"groups": clusters}} if clustered else {}
    expected = directly(family, y, X, options)
    fit = fit_model(
        family, y, X.copy(), ["Intercept", "a", "b"], clusters=clusters if clustered else None
    )
    slopes = np.asarray(expected.params).ravel(order="F")
    errors = np.asarray(expected.bse).ravel(order="F")
    for place in range(0, len(slopes), 3):
        own = slice(place + 1, place + 3)
        size = np.array([1e4, 1.0])
        np.testing.assert_allclose(fit.coefficients[own] * size, slopes[own], rtol=1e-6)
        np.testing.assert_allclose(fit.std_errors[own] * size, errors[own], rtol=1e-5)
        shifted = slopes[place] - 100 * slopes[place + 1]
        assert fit.coefficients[place] == pytest.approx(shifted, rel=1e-6)
    assert fit.df == (297 if family == "ols" and not clustered else np.inf)


def test_redundant_columns_are_named():
    X, responses, _ = sample()
    X = np.column_stack([X, 2 * X[:, 1] - 3 * X[:, 2], np.full(len(X), 7.1)])
    with pytest.raises(DataError) as caught:
        fit_model("ols", responses["ols"], X, ["Intercept", "a", "b", "c", "never"])
    one, other = caught.value.problems
    assert one.startswith("the model is singular: never: one value in all complete records")
    assert re.match("the model is singular: [abc]: determined by the other columns", other)


def test_too_few_records_or_clusters():
    X, responses, clusters = sample(3)
    with pytest.raises(DataError, match="3 complete records are too few for 3 columns"):
        fit_model("ols", responses["ols"], X, "abc")
    X, responses, clusters = sample()
    with pytest.raises(DataError, match="only one cluster"):
        fit_model("ols", responses["ols"], X, "abc", clusters=np.zeros_like(clusters))


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
    for family in ("ols", "logit", "poisson"):
        y = responses[family]
        fit = fit_model(family, y, X.copy(), "abc", weights=np.arange(300.0) % 3 + 1)
        repeated = fit_model(family, y[twice], X[twice], "abc")
        np.testing.assert_allclose(fit.coefficients, repeated.coefficients, rtol=1e-8)


def test_an_offset_is_added_to_the_linear_predictor():
    X, responses, _ = sample()
    X[:, 1] = (X[:, 1] - 1e6) / 1e4
    offset, y = np.linspace(-1, 2, 300), responses["poisson"]
    expected = sm.GLM(y, X, sm.families.Poisson(), offset=offset).fit(tol=1e-12)
    fit = fit_model("poisson", y, X.copy(), "abc", offset=offset)
    np.testing.assert_allclose(fit.coefficients, expected.params, rtol=1e-8)
    np.testing.assert_allclose(fit.std_errors, expected.bse, rtol=1e-6)


@pytest.mark.parametrize("family", ["logit", "poisson", "multinomial"])
def test_a_level_without_a_response_never_settles(family):
    X, responses, _ = sample()
    y = responses[family]
    y[X[:, 2] == 1] = 0
    with pytest.raises(DataError, match="does not converge: some response does not occur with b"):
        fit_model(family, y, X, ["Intercept", "a", "b"])


@pytest.mark.parametrize("family", ["logit", "multinomial"])
def test_perfect_separation_by_a_number(family):
    X, _, _ = sample()
    y = (X[:, 1] > 1e6).astype(float)
    if family == "multinomial":
        y += X[:, 1] > 1.01e6
    message = f"the {family} fit does not converge: a tells the response exactly; leave it out"
    with pytest.raises(DataError, match=message):
        fit_model(family, y, X, ["Intercept", "a", "b"])


def test_perfect_separation_by_several_columns():
    X, _, _ = sample()
    y = ((X[:, 1] - 1e6) / 1e4 + X[:, 2] > 0.5).astype(float)
    with pytest.raises(DataError, match="together some columns may tell the response exactly"):
        fit_model("logit", y, X, ["Intercept", "a", "b"])


def test_a_response_that_the_columns_determine():
    X, _, _ = sample()
    with pytest.raises(DataError, match="the columns determine the response exactly"):
        fit_model("ols", 3 * X[:, 1] - X[:, 2], X, ["Intercept", "a", "b"])


def test_coefficients_that_are_not_finite():
    X, responses, _ = sample()
    with pytest.raises(DataError, match="coefficients that are not finite: look for extreme"):
        fit_model("ols", responses["ols"] * 1e307, X, ["Intercept", "a", "b"])


def test_a_fit_that_statsmodels_gives_up_is_told(monkeypatch):
    def give_up(*_):
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr(fits, "_run", give_up)
    X, responses, _ = sample()
    with pytest.raises(DataError, match="the poisson fit does not converge"):
        fit_model("poisson", responses["poisson"], X, ["Intercept", "a", "b"])
