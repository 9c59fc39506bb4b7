import warnings

import numpy as np
import pandas as pd
import pytest

from synthesizer.data.errors import DataError
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.measures.utility import fits as fixed_effects
from synthesizer.measures.utility.compare_fit import compare_fit
from synthesizer.measures.utility.fits import fit_model, informative
from tests.tables import numeric

NAMES = ("a", "b", "c")


def sample(n=400, seed=0):
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
    sm = pytest.importorskip("statsmodels.api")
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
    pytest.importorskip("pyfixest")
    X, responses, effects, clusters, weights = sample()
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
    pytest.importorskip("pyfixest")
    X, responses, effects, _, _ = sample()
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


def test_an_effect_within_clusters_counts_as_one_column():
    """Levels 0 to 14 of the first effect lie in 5 clusters: 15 levels count as 1 in K."""
    pytest.importorskip("pyfixest")
    X, responses, effects, _, _ = sample()
    clusters = effects[0] // 3
    y = responses["ols"]
    _, covariance = slowly("ols", y, X, effects, clusters=clusters)
    fit = fit_model("ols", y, X.copy(), NAMES, effects=effects, clusters=clusters)
    all_columns, own_columns = 3 + 15 + 5, 3 + 1 + 5
    covariance *= (400 - all_columns) / (400 - own_columns)
    np.testing.assert_allclose(fit.covariance, covariance, rtol=1e-6, atol=1e-12)


def test_records_that_say_nothing():
    one, other = np.array([0, 0, 0, 1, 2, 2, 3]), np.array([0, 0, 1, 0, 2, 2, 0])
    y = np.array([1.0, 2, 3, 4, 0, 0, 5])
    assert informative([one, other], y, "ols").tolist() == [1, 1, 0, 0, 1, 1, 0]
    assert informative([one, other], y, "poisson").tolist() == [1, 1, 0, 0, 0, 0, 0]
    chain = [np.array([0, 0, 1, 1, 2]), np.array([0, 1, 1, 2, 2])]
    assert not informative(chain, y[:5], "ols").any()


def test_records_that_say_nothing_do_not_change_the_coefficients():
    pytest.importorskip("pyfixest")
    X, responses, effects, _, _ = sample()
    y = responses["ols"]
    effects[0][:3] = [20, 21, 22]
    kept = informative(effects, y, "ols")
    assert (~kept).sum() == 3
    expected, _ = slowly("ols", y, X, effects)
    fit = fit_model("ols", y[kept], X[kept], NAMES, effects=[codes[kept] for codes in effects])
    np.testing.assert_allclose(fit.coefficients, expected, rtol=1e-8)


@pytest.mark.parametrize("family", ["ols", "poisson"])
def test_what_the_effects_absorb_is_named(family):
    pytest.importorskip("pyfixest")
    X, responses, effects, _, _ = sample()
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


def test_what_has_no_fit():
    pytest.importorskip("pyfixest")
    X, responses, effects, clusters, _ = sample()
    y = responses["ols"]
    with pytest.raises(DataError, match="20 records are too few for 3 columns and 19 levels"):
        fit_model("ols", y[:20], X[:20], NAMES, effects=[np.arange(20) % 19, effects[1][:20] * 0])
    with pytest.raises(DataError, match="only one cluster"):
        fit_model("ols", y, X.copy(), NAMES, effects=effects, clusters=clusters * 0)
    with pytest.raises(DataError, match="determine the response exactly"):
        fit_model("ols", effects[0] * 1.5, X.copy(), NAMES, effects=effects)
    with pytest.raises(DataError, match="not finite: look for extreme"):
        fit_model("ols", y * 1e306, X.copy(), NAMES, effects=effects)


def test_a_poisson_coefficient_that_runs_off_is_told():
    """pyfixest's own check of the deviance takes this fit for settled."""
    pytest.importorskip("pyfixest")
    X, responses, effects, _, _ = sample()
    y = responses["poisson"]
    X[:, 1] = np.arange(400) % 9 == 0
    y[X[:, 1] == 1] = 0
    with pytest.raises(DataError, match="does not converge: some response does not occur with b"):
        fit_model("poisson", y, X, NAMES, effects=effects)


def test_a_fit_that_gives_no_finite_numbers_is_told(monkeypatch):
    class Odd:
        _beta_hat = np.array([np.nan])
        _vcov = np.ones((1, 1))
        _collin_vars = ()

    monkeypatch.setattr(fixed_effects, "_called", lambda *_: Odd())
    X, responses, effects, _, _ = sample()
    with pytest.raises(DataError, match="not finite: look for extreme"):
        fit_model("ols", responses["ols"], X[:, :1], ("a",), effects=effects)


def test_warnings_of_pyfixest_are_not_shown_and_others_are_left_alone(recwarn):
    pytest.importorskip("pyfixest")
    X, responses, effects, clusters, _ = sample()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        fit_model("ols", responses["ols"], X, NAMES, effects=effects, clusters=clusters)
    assert not recwarn.list


def people(n, seed, prefix="a"):
    rng = np.random.default_rng(seed)
    agency = rng.integers(0, 20, n)
    age = rng.integers(20, 60, n)
    sex = rng.integers(0, 2, n)
    return pd.DataFrame(
        {
            "pay": (1e3 + 10 * age + 30 * sex + 7 * agency + rng.normal(0, 50, n)).round(2),
            "visits": rng.poisson(np.exp(0.02 * age - 0.1 * agency)),
            "age": age,
            "sex": np.array(["f", "m"])[sex],
            "agency": [f"{prefix}{code}" for code in agency],
            "year": rng.integers(2000, 2006, n),
            "person": [f"{prefix}-{i // 4}" for i in range(n)],
            "weight": rng.uniform(0.5, 2, n).round(3),
        }
    )


@pytest.mark.parametrize("family", ["ols", "poisson"])
def test_levels_of_effects_need_not_be_those_of_the_original(family):
    pytest.importorskip("pyfixest")
    original, made = people(500, 1), people(600, 2, "other")
    response = "pay" if family == "ols" else "I(visits)"
    formula = f"{response} ~ age + sex | agency + C(year)"
    result = compare_fit(original, made, formula, family=family, clusters="person")
    again = compare_fit(
        original,
        made.assign(agency=made["agency"].str.replace("other", "a")),
        formula,
        family=family,
        clusters="person",
    )
    assert [own.name for own in result.coefficients] == ["age", "sex[m]"]
    assert result.combined.estimate == again.combined.estimate
    assert result.effects == ("agency", "year")
    assert 0.3 < result.mean_overlap <= 1
    assert "cluster-robust by person, times G / (G - 1) (n - 1) / (n - K)" in result.errors
    assert "levels of fixed effects that are not nested in clusters" in result.errors


def test_singletons_and_missing_levels_are_counted():
    pytest.importorskip("pyfixest")
    original, made = people(500, 1), people(600, 2)
    made.loc[:9, "agency"] = None
    made.loc[10:12, "agency"] = ["x", "y", "z"]
    result = compare_fit(original, made, "pay ~ age | agency + year", weights="weight")
    (ours, theirs) = result.datasets
    assert (ours.n, ours.n_missing, ours.n_uninformative) == (500, 0, 0)
    assert (theirs.n, theirs.n_missing, theirs.n_uninformative) == (587, 10, 3)


def test_an_effect_that_absorbs_a_term_in_one_synthetic_dataset_only():
    pytest.importorskip("pyfixest")
    original, good, bad = people(500, 1), people(500, 2), people(500, 3)
    bad["age"] = bad["year"] - 1960
    result = compare_fit(original, [bad, good], "pay ~ age + sex | agency + year")
    assert "synthetic dataset 1 is left out: the fixed effects determine age" in result.notes[0]
    assert result.combined.m == 1
    with pytest.raises(DataError, match="the original has no fit: the fixed effects determine age"):
        compare_fit(bad, good, "pay ~ age + sex | agency + year")


def test_persons_as_effects():
    pytest.importorskip("pyfixest")
    frame = people(400, 4)
    result = compare_fit(frame, frame, "pay ~ age | person")
    assert result.errors == (
        "of the model, times (n - 1) / (n - K) (n records, K coefficients and levels of fixed "
        "effects)"
    )
    assert result.mean_overlap == pytest.approx(1)
    assert result.lack_of_fit.p_value == pytest.approx(1)


def test_an_identifier_of_a_table_serves_as_effect():
    pytest.importorskip("pyfixest")
    rng = np.random.default_rng(0)
    id_ = Variable(name="id", kind=Kind.ID, decimals=0)
    table = Table(
        [
            Column(id_, np.repeat(np.arange(25.0), 4)),
            numeric("x", rng.standard_normal(100)),
            numeric("y", rng.standard_normal(100)),
        ]
    )
    result = compare_fit(table, table, "y ~ x | id", clusters="id")
    assert result.mean_overlap == pytest.approx(1)


@pytest.mark.parametrize("family", ["logit", "multinomial"])
def test_families_without_effects(family):
    frame = people(50, 1)
    with pytest.raises(DataError, match=f"for families 'ols' and 'poisson', not '{family}'"):
        compare_fit(frame, frame, "sex ~ age | agency", family=family)


def test_unknown_effects_come_with_the_nearest_name():
    frame = people(50, 1)
    with pytest.raises(DataError) as caught:
        compare_fit(frame, frame.drop(columns="agency"), "pay ~ age | agencyy + agency")
    assert "unknown variable 'agencyy'; did you mean 'agency'?" in caught.value.problems
    assert "column 'agency' is not in synthetic dataset 1: add it" in caught.value.problems


def test_a_missing_pyfixest_names_the_extra(monkeypatch):
    monkeypatch.setattr(fixed_effects, "find_spec", lambda name: None)
    frame = people(50, 1)
    with pytest.raises(DataError, match=r"need pyfixest: pip install 'synthesizer\[analysis\]'"):
        compare_fit(frame, frame, "pay ~ age | agency")


def test_names_never_reach_the_formula_of_pyfixest():
    pytest.importorskip("pyfixest")
    frame = people(300, 5).rename(
        columns={"agency": "__import__('os').system('x')", "age": "y ~ x | f"}
    )
    result = compare_fit(frame, frame, "pay ~ `y ~ x | f` | `__import__('os').system('x')`")
    assert result.coefficients[0].name == "y ~ x | f"
    assert result.mean_overlap == pytest.approx(1)
