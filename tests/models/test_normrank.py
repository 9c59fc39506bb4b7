import numpy as np
import pytest
from scipy.stats import ks_2samp, norm

from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.models.normrank import Normrank, _normal_scores


def numeric(name, values, decimals=None):
    variable = Variable(name=name, kind=Kind.NUMERIC, decimals=decimals)
    return Column(variable, np.asarray(values, dtype=np.float64))


def coded(name, codes, n_levels):
    levels = tuple(f"l{i}" for i in range(n_levels))
    variable = Variable(name=name, kind=Kind.CATEGORICAL, levels=levels)
    return Column(variable, np.asarray(codes, dtype=np.int32))


def fit(model, predictors, y, seed=1):
    return model.fit(predictors, y, rng=np.random.default_rng(seed))


def draw(fitted, predictors, seed=2):
    return fitted.sample(predictors, rng=np.random.default_rng(seed)).data


def semicontinuous(n=8000):
    rng = np.random.default_rng(3)
    g = (rng.random(n) < 0.2).astype(int)  # few rows with far larger values: no normal mixture
    y = np.where(rng.random(n) < 0.4, 0.0, np.round(np.exp(5 + 4 * g + rng.normal(size=n))))
    return Table([coded("g", g, 2)]), numeric("y", y, decimals=0)


def test_scores_are_normal_quantiles_with_ties_at_random():
    rng = np.random.default_rng(0)
    scores = _normal_scores(np.array([5.0, 1.0, 5.0, 9.0]), rng=rng)
    expected = norm.ppf([0.125, 0.375, 0.625, 0.875])
    np.testing.assert_allclose(np.sort(scores), expected)
    assert scores[1] == scores.min()
    assert scores[3] == scores.max()


def test_the_marginal_distribution_is_kept():
    table, y = semicontinuous()
    drawn = draw(fit(Normrank(), table, y), table)
    assert ks_2samp(drawn, y.data).pvalue > 0.01
    assert (drawn == 0).mean() == pytest.approx((y.data == 0).mean(), abs=0.02)


def test_the_marginal_distribution_is_kept_when_predictions_are_far_from_normal():
    rng = np.random.default_rng(4)
    g = (rng.random(6000) < 0.3).astype(int)
    y = numeric("y", 100 * g + rng.random(6000))
    table = Table([coded("g", g, 2)])
    drawn = draw(fit(Normrank(), table, y), table)
    assert ks_2samp(drawn, y.data).statistic < 0.02


def test_the_relation_to_a_predictor_is_kept():
    rng = np.random.default_rng(4)
    x = rng.normal(size=5000)
    y = numeric("y", np.exp(x + rng.normal(size=5000)))
    table = Table([numeric("x", x)])
    drawn = draw(fit(Normrank(), table, y), table)
    have, want = (np.corrcoef(np.log(v), x)[0, 1] for v in (drawn, y.data))
    assert have == pytest.approx(want, abs=0.03)


def test_only_observed_values_are_drawn():
    table, y = semicontinuous(500)
    assert np.isin(draw(fit(Normrank(), table, y), table), y.data).all()
    assert Normrank.abilities.stores_values
    assert not Normrank.abilities.new_values


@pytest.mark.parametrize("values", [[3.5], [3.5] * 6])
@pytest.mark.parametrize("n", [0, 1, 9])
def test_constant_targets_and_few_rows(values, n):
    fitted = fit(Normrank(), Table([], len(values)), numeric("y", values))
    assert draw(fitted, Table([], n)).tolist() == [3.5] * n


def test_a_perfect_predictor_gives_nearly_the_value():
    x = np.random.default_rng(0).permutation(norm.ppf((np.arange(1000) + 0.5) / 1000))
    table = Table([numeric("x", x)])
    drawn = draw(fit(Normrank(ridge=0), table, numeric("y", x)), table)
    assert np.abs(norm.cdf(drawn) - norm.cdf(x)).max() < 0.01
