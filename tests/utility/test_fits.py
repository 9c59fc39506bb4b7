import numpy as np
import pytest

from synthesizer.errors import DataError
from synthesizer.utility.fits import fit_model

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
    with pytest.raises(DataError, match="singular") as caught:
        fit_model("ols", responses["ols"], X, ["Intercept", "a", "b", "c", "never"])
    assert "never" in str(caught.value)


def test_too_few_records_or_clusters():
    X, responses, clusters = sample(3)
    with pytest.raises(DataError, match="3 complete records are too few for 3 columns"):
        fit_model("ols", responses["ols"], X, "abc")
    X, responses, clusters = sample()
    with pytest.raises(DataError, match="only one cluster"):
        fit_model("ols", responses["ols"], X, "abc", clusters=np.zeros_like(clusters))


@pytest.mark.parametrize("family", ["logit", "poisson", "multinomial"])
def test_a_level_without_a_response_never_settles(family):
    X, responses, _ = sample()
    y = responses[family]
    y[X[:, 2] == 1] = 0
    with pytest.raises(DataError, match="does not converge: some response does not occur with b"):
        fit_model(family, y, X, ["Intercept", "a", "b"])


def test_perfect_separation_by_a_number():
    X, _, _ = sample()
    y = (X[:, 1] > 1e6).astype(float)
    with pytest.raises(DataError, match="does not converge: leave out variables"):
        fit_model("logit", y, X, ["Intercept", "a", "b"])
