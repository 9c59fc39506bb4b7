import numpy as np
import pytest
from scipy import stats

from synthesizer.models.careers.dirichlet import Mixture, draw_dirichlet, fit_mixture, log_densities


def test_densities_agree_with_scipy():
    rng = np.random.default_rng(1)
    alpha = rng.uniform(0.2, 8, size=(3, 4))
    points = rng.dirichlet(np.ones(4), size=5)
    expected = [[stats.dirichlet(a).logpdf(p) for a in alpha] for p in points]
    assert np.allclose(log_densities(np.log(points), alpha), expected)


@pytest.mark.parametrize("alpha", [[0.2, 0.3], [0.3, 2.0], [5.0, 1.0]])
def test_draws_have_the_right_law(alpha):
    points = draw_dirichlet(np.tile(alpha, (4_000, 1)), rng=np.random.default_rng(2))
    assert np.allclose(points.sum(axis=1), 1)
    test = stats.kstest(points[:, 0], stats.beta(*alpha).cdf)
    assert test.pvalue > 0.001


def test_em_finds_two_groups():
    rng = np.random.default_rng(3)
    true = np.array([[20.0, 5.0, 5.0], [3.0, 3.0, 30.0]])
    points = draw_dirichlet(np.repeat(true, [600, 200], axis=0), rng=rng)
    mixture = fit_mixture(points, np.ones(800, dtype=int), 2, rng=rng)
    order = np.argsort(-mixture.weights)[:2]
    assert np.allclose(mixture.weights[order], [0.75, 0.25], atol=0.06)
    assert np.allclose(mixture.alpha[order], true, rtol=0.35)


def test_the_likelihood_is_no_worse_than_that_of_the_truth():
    rng = np.random.default_rng(4)
    true = Mixture(np.array([0.5, 0.5]), np.array([[8.0, 2.0], [2.0, 8.0]]))
    points = draw_dirichlet(np.repeat(true.alpha, 300, axis=0), rng=rng)
    fitted = fit_mixture(points, np.ones(600, dtype=int), 2, rng=rng)
    logs = np.log(points)
    assert fitted.log_density(logs).sum() > true.log_density(logs).sum() - 2


def test_equal_points_do_not_make_a_component_degenerate():
    rng = np.random.default_rng(5)
    points = np.array([[0.7, 0.3], [0.2, 0.8]])
    mixture = fit_mixture(points, np.array([500, 3]), 5, rng=rng)
    assert np.isfinite(mixture.alpha).all()
    assert mixture.alpha.max() < 1e6
    assert len(mixture.alpha) <= 3


def test_the_last_component_is_uniform_and_counts():
    rng = np.random.default_rng(6)
    points = draw_dirichlet(np.tile([50.0, 50.0, 50.0], (20, 1)), rng=rng)
    mixture = fit_mixture(points, np.ones(20, dtype=int), 1, rng=rng)
    assert mixture.alpha[-1].tolist() == [1, 1, 1]
    assert 0.01 < mixture.weights[-1] < 0.2


def test_tiny_parameters_do_not_underflow():
    points = draw_dirichlet(np.full((2_000, 3), 0.001), rng=np.random.default_rng(7))
    assert np.allclose(points.sum(axis=1), 1)
