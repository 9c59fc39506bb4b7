"""Regressions of numbers: normal, lognormal, predictive mean matching and normal scores."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import ks_2samp, norm

from synthesizer.data.errors import ModelError
from synthesizer.data.table import Kind, Table
from synthesizer.models.kit.predictors import BLOCK_ROWS, Design
from synthesizer.models.kit.regression import LinearRegression
from synthesizer.models.normal import GRID, Lognormal, Normal, Normrank, _normal_scores, _spread
from synthesizer.models.pmm import Pmm, _coarsen, _nearest_window
from tests.models.fits import coded, draw, fit, numbers, numeric


def simulated(n=500, seed=5):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(50, 10, size=n), rng.normal(size=n)
    return numbers(x=x, z=z), numeric("y", 3 + 2 * x - z + rng.normal(size=n))


def incomes(n=20_000):
    rng = np.random.default_rng(3)
    x = rng.normal(size=n)
    return numbers(x=x), numeric("income", np.exp(8 + 0.5 * x + 0.7 * rng.normal(size=n)))


def wages(n=400):
    rng = np.random.default_rng(3)
    x = rng.normal(size=n)
    return numbers(x=x), numeric("y", np.round(10 * x + rng.normal(size=n), 1))


@pytest.mark.parametrize("ridge", [0.0, 5.0])
def test_a_ridge_is_that_of_the_normal_equations(ridge):
    table, y = simulated(n=40)
    design = Design.fit(table)
    assert design.penalty(ridge, 40).tolist() == [0.0, *[max(ridge, 4e-7)] * 2]
    fitted = LinearRegression.fit(design, table, y.data, ridge=ridge)
    matrix, scaled = design.matrix(table), (y.data - y.data.mean()) / y.data.std()
    gram = matrix.T @ matrix
    inverse = np.linalg.inv(gram + np.diag([0.0, ridge, ridge]))
    beta = inverse @ matrix.T @ scaled
    squares = ((scaled - matrix @ beta) ** 2).sum()
    sigma = y.data.std() * np.sqrt(squares / (40 - np.trace(inverse @ gram)))
    expected = beta * y.data.std() + np.array([y.data.mean(), 0, 0])
    np.testing.assert_allclose(fitted.coefficients, expected, rtol=1e-5)
    assert fitted.sigma == pytest.approx(sigma, rel=1e-5)


def test_blocks_of_rows_give_the_same_as_one():
    table, y = simulated(2 * BLOCK_ROWS + 7)
    fitted = fit(Normal(ridge=0), table, y).regression
    matrix = fitted.design.matrix(table)
    expected, *_ = np.linalg.lstsq(matrix, y.data, rcond=None)
    np.testing.assert_allclose(fitted.coefficients, expected, rtol=1e-6)


def test_the_unit_of_measurement_does_not_matter():
    table, y = simulated()
    small, large = (fit(Normal(ridge=5.0), table, numeric("y", y.data * k)) for k in (1.0, 1e6))
    np.testing.assert_allclose(large.regression.coefficients, small.regression.coefficients * 1e6)


def test_draws_have_the_mean_and_the_spread_of_the_model():
    table, y = simulated(n=20_000)
    fitted = fit(Normal(clip=False), table, y)
    drawn = draw(fitted, table, 1)
    residual = drawn - fitted.regression.mean(table)
    assert abs(residual.mean()) < 4 / np.sqrt(20_000)
    assert residual.std() == pytest.approx(1.0, abs=0.02)


def test_collinear_and_constant_predictors_change_nothing():
    table, y = simulated()
    plain = fit(Normal(ridge=0), table, y).regression.mean(table)
    useless = (numeric("copy", 2 * table["x"].data), numeric("one", np.ones(500)))
    more = Table([*table.columns, *useless])
    means = fit(Normal(ridge=0), more, y).regression.mean(more)
    np.testing.assert_allclose(means, plain, rtol=1e-5)


@pytest.mark.parametrize("model", [Normal(), Lognormal()])
def test_draws_end_at_numbers_of_no_single_person(model):
    incomes = np.random.default_rng(3).permutation(np.arange(1_000, 91_000, 90)) + 7.0
    fitted = fit(model, Table([], 1_000), numeric("y", incomes, decimals=0))
    drawn = draw(fitted, Table([], 4_000), 1)
    ends = np.sort(incomes)[[4, -5]]
    assert ends[0] <= drawn.min() < drawn.max() <= ends[1]
    assert (drawn == drawn.max()).sum() > 20  # draws beyond the end
    assert drawn.max() not in incomes


def test_without_clip_draws_leave_the_range():
    y = numeric("y", np.arange(50) % 2)
    fitted = fit(Normal(clip=False), Table([], 50), y)
    drawn = draw(fitted, Table([], 500), 1)
    assert drawn.min() < 0
    assert drawn.max() > 1


def test_whole_days_stay_whole_and_times_of_day_do_not():
    days = np.arange(40.0)
    for target, whole in ((days, True), (days + 0.25, False)):
        fitted = fit(Normal(), Table([], 40), numeric("d", target, kind=Kind.DATE))
        drawn = draw(fitted, Table([], 40), 1)
        assert bool((drawn == np.floor(drawn)).all()) is whole


def test_perturbed_parameters_have_the_spread_of_the_posterior():
    table, y = simulated(n=60)
    design = Design.fit(table)
    draws = []
    for seed in range(250):
        rng = np.random.default_rng(seed)
        fitted, drawn = LinearRegression.fit_and_draw(design, table, y.data, ridge=0.0, rng=rng)
        draws.append(drawn.coefficients)
    matrix = design.matrix(table)
    expected = fitted.sigma**2 * np.linalg.inv(matrix.T @ matrix)
    np.testing.assert_allclose(np.std(draws, axis=0), np.sqrt(np.diag(expected)), rtol=0.15)
    np.testing.assert_allclose(np.mean(draws, axis=0), fitted.coefficients, atol=0.05)


def test_coefficients_and_sigma_are_those_of_least_squares_on_logs():
    shift = 2.5
    sm = pytest.importorskip("statsmodels.api")
    table, y = incomes(500)
    fitted = fit(Lognormal(ridge=0, shift=shift), table, y).regression
    expected = sm.OLS(np.log(y.data + shift), fitted.design.matrix(table)).fit()
    np.testing.assert_allclose(fitted.coefficients, expected.params, rtol=1e-6)
    assert fitted.sigma == pytest.approx(np.sqrt(expected.mse_resid), rel=1e-6)


def test_values_that_are_not_positive_are_refused_by_count():
    with pytest.raises(ModelError, match=r"'income' has 2 values .* set a larger shift") as caught:
        fit(Lognormal(), Table([], 3), numeric("income", [-77.0, 0.0, 5.0]))
    assert "77" not in str(caught.value)


def test_a_shift_admits_zeros():
    fitted = fit(Lognormal(shift=1.0, clip=False), Table([], 40), numeric("y", np.arange(40)))
    assert draw(fitted, Table([], 400), 1).min() > -1.0


def test_wild_predictors_give_finite_numbers():
    table, y = incomes(100)
    fitted = fit(Lognormal(clip=False), table, y)
    drawn = fitted.sample(Table([numeric("x", [1e9])]), rng=np.random.default_rng(1))
    assert np.isfinite(drawn.data).all()


@settings(max_examples=100, deadline=None)
@given(
    ordered=st.lists(st.integers(-5, 5), min_size=1, max_size=15),
    point=st.integers(-7, 7),
    width=st.integers(1, 6),
)
def test_window_holds_the_nearest(ordered, point, width):
    ordered, width = np.sort(np.array(ordered, dtype=float)), min(width, len(ordered))
    first = _nearest_window(ordered, np.array([point + 0.25]), width)[0]
    distances = np.abs(ordered - point - 0.25)
    actual = np.sort(distances[first : first + width])
    np.testing.assert_allclose(actual, np.sort(distances)[:width])


def test_only_donors_are_drawn_and_they_are_near():
    table, y = wages()
    fitted = fit(Pmm(neighbours=5, min_holders=0), table, y)
    means = fitted.regression.mean(table)
    for seed in range(5):
        for value, mean in zip(draw(fitted, table, seed), means, strict=True):
            nearest = fitted.donors[np.argsort(np.abs(fitted.predicted - mean))[:6]]
            assert value in nearest
    assert Pmm.abilities.stores_values


def test_one_neighbour_is_the_row_itself():
    table, y = wages()
    assert (draw(fit(Pmm(neighbours=1, min_holders=0), table, y), table) == y.data).all()


def test_tied_donors_have_the_same_chance():
    g = np.repeat([0, 1], 500)
    table = Table([coded("g", g, 2)])
    y = numeric("y", np.concatenate([np.arange(500), 1000 + np.arange(500)]))
    drawn = draw(fit(Pmm(min_holders=0), table, y), Table([coded("g", np.zeros(20_000), 2)]))
    counts = np.bincount(drawn.astype(int), minlength=1500)
    assert (counts[500:] == 0).all()
    assert ((counts[:500] - 40) ** 2 / 40).sum() < 499 + 4 * np.sqrt(2 * 499)


def test_rounding_errors_do_not_part_equal_predictions():
    values = np.array([0.1 + 0.2, 0.3, 1e6, -4.0])
    coarse = _coarsen(values)
    assert coarse[0] == coarse[1]
    assert np.abs(coarse - values).max() < 1e-3
    assert _coarsen(np.zeros(3)).tolist() == [0, 0, 0]


def test_drawn_parameters_differ_by_fit_and_not_by_draw():
    table, y = wages(60)
    model = Pmm(draw_parameters=True)
    one, two, three = fit(model, table, y), fit(model, table, y), fit(model, table, y, seed=9)
    assert (draw(one, table) == draw(two, table)).all()
    assert (one.predicted == three.predicted).all()
    assert (one.regression.coefficients != three.regression.coefficients).all()


def test_scores_are_normal_quantiles_with_ties_at_random():
    rng = np.random.default_rng(0)
    scores = _normal_scores(np.array([5.0, 1.0, 5.0, 9.0]), rng=rng)
    expected = norm.ppf([0.125, 0.375, 0.625, 0.875])
    np.testing.assert_allclose(np.sort(scores), expected)
    assert scores[1] == scores.min()
    assert scores[3] == scores.max()
    tied = _normal_scores(np.zeros(50), rng=rng)
    assert 10 < (np.diff(tied) > 0).sum() < 40


def test_the_marginal_distribution_is_kept_when_predictions_are_far_from_normal():
    rng = np.random.default_rng(4)
    g = (rng.random(6000) < 0.3).astype(int)
    y = numeric("y", 100 * g + rng.random(6000))
    table = Table([coded("g", g, 2)])
    drawn = draw(fit(Normrank(), table, y), table)
    assert ks_2samp(drawn, y.data).statistic < 0.02


def test_a_perfect_predictor_gives_nearly_the_value():
    x = np.random.default_rng(0).permutation(norm.ppf((np.arange(1000) + 0.5) / 1000))
    table = Table([numeric("x", x)])
    drawn = draw(fit(Normrank(ridge=0), table, numeric("y", x)), table)
    assert np.abs(norm.cdf(drawn) - norm.cdf(x)).max() < 0.01


def test_the_distribution_of_draws_is_that_of_all_means():
    means = np.linspace(-1, 1, 5000)
    slow = ndtr((GRID[:, None] - means) / 0.3).mean(axis=1)
    np.testing.assert_allclose(_spread(means, 0.3), slow, atol=1e-4)


def semicontinuous(n=8000):
    rng = np.random.default_rng(3)
    g = (rng.random(n) < 0.2).astype(int)  # few rows with far larger values: no normal mixture
    y = np.where(rng.random(n) < 0.4, 0.0, np.round(np.exp(5 + 4 * g + rng.normal(size=n))))
    return Table([coded("g", g, 2)]), numeric("y", y, decimals=0)


def test_the_marginal_distribution_is_kept():
    table, y = semicontinuous()
    drawn = draw(fit(Normrank(), table, y), table)
    assert ks_2samp(drawn, y.data).pvalue > 0.01
    assert (drawn == 0).mean() == pytest.approx((y.data == 0).mean(), abs=0.02)
