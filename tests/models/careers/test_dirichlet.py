"""Dirichlet distributions and their mixtures, and the cells of compositions on the simplex."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from synthesizer.models.careers.dirichlet import (
    _start,
    cell,
    centre,
    draw_dirichlet,
    fit_mixture,
    log_densities,
    log_n_compositions,
)


def compositions(n_periods, count):
    """Return the excess of every way to split ``n_periods`` into ``count`` runs, in order."""
    cuts = [(0, *inner, n_periods) for inner in combinations(range(1, n_periods), count - 1)]
    return np.diff(np.array(cuts), axis=1) - 1


def test_densities_agree_with_scipy():
    rng = np.random.default_rng(1)
    alpha = rng.uniform(0.2, 8, size=(3, 4))
    points = rng.dirichlet(np.ones(4), size=5)
    expected = [[stats.dirichlet(a).logpdf(p) for a in alpha] for p in points]
    assert np.allclose(log_densities(np.log(points), alpha), expected)


@pytest.mark.parametrize("alpha", [[0.2, 0.3], [5.0, 1.0]])
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


def test_equal_points_do_not_make_a_component_degenerate():
    rng = np.random.default_rng(5)
    points = np.array([[0.7, 0.3], [0.2, 0.8]])
    mixture = fit_mixture(points, np.array([500, 3]), 5, rng=rng)
    assert np.isfinite(mixture.alpha).all()
    assert mixture.alpha.max() < 1e6
    assert len(mixture.alpha) <= 3


@pytest.mark.parametrize("precision", [0.5, 40.0])
def test_one_group_has_its_precision(precision):
    mean = np.array([0.5, 0.3, 0.2])
    points = draw_dirichlet(np.tile(precision * mean, (4_000, 1)), rng=np.random.default_rng(8))
    mixture = fit_mixture(points, np.ones(4_000, int), 1, rng=np.random.default_rng(9))
    assert np.allclose(mixture.alpha[0], precision * mean, rtol=0.07)


def test_em_ends_at_the_maximum_of_what_it_says():
    """Likelihood, a fiftieth of a uniform person in each component, one in the uniform one."""
    rng = np.random.default_rng(6)
    points = rng.dirichlet([30, 20, 10], size=15)
    counts = rng.integers(1, 4, size=15)
    actual = fit_mixture(points, counts, 1, rng=rng)
    uniform = rng.dirichlet(np.ones(3), size=200_000)

    def terms(alpha, weight):
        densities = log_densities(np.log(points), np.vstack([alpha, np.ones(3)]))
        likelihood = counts @ logsumexp(densities + np.log([1 - weight, weight]), axis=1)
        shape = 0.02 * log_densities(np.log(uniform), alpha[None]).mean()
        return np.array([likelihood, shape, np.log(weight)])

    alpha, weight = actual.alpha[0], actual.weights[-1]
    by_precision = terms(alpha * 1.001, weight) - terms(alpha / 1.001, weight)
    by_weight = terms(alpha, weight * 1.001) - terms(alpha, weight / 1.001)
    assert abs(by_precision.sum()) < 0.05 * abs(by_precision[1])
    assert abs(by_weight.sum()) < 0.05 * abs(by_weight[2])


@pytest.mark.parametrize("count", [1, 3, 6])
def test_every_centre_lies_in_its_cell(count):
    every = compositions(6, count)
    assert len(every) == math.comb(5, count - 1) == round(np.exp(log_n_compositions(6, count)))
    assert np.allclose(centre(every).sum(axis=1), 1)
    assert (cell(centre(every), 6 - count) == every).all()


@pytest.mark.parametrize(("count", "total"), [(2, 70), (6, 0), (12, 60)])
def test_cells_are_never_negative_even_at_the_border(count, total):
    rng = np.random.default_rng(2)
    inner = draw_dirichlet(np.full((5_000, count), 0.05), rng=rng)
    corners = np.eye(count)
    edges = (corners[:, None, :] + corners[None, :, :]).reshape(-1, count) / 2
    for points in (inner, corners, edges):
        actual = cell(points, total)
        assert actual.min() >= 0
        assert (actual.sum(axis=1) == total).all()


def test_cells_are_nearest_lattice_points():
    rng = np.random.default_rng(3)
    every = compositions(8, 3)
    points = draw_dirichlet(np.ones((500, 3)), rng=rng)
    stretched = points * (5 + 1) - 1 / 3
    gaps = ((stretched[:, None, :] - every) ** 2).sum(axis=2)
    assert (every[gaps.argmin(axis=1)] == cell(points, 5)).all()


def test_ties_go_to_the_earlier_run_whatever_the_rounding_error():
    for wobble in (0.0, 1e-14, -1e-14):
        points = np.array([[0.5 + wobble, 0.5 - wobble]])
        assert cell(points, 3).tolist() == [[2, 1]]


def test_the_last_component_is_uniform_and_counts():
    rng = np.random.default_rng(6)
    points = draw_dirichlet(np.tile([50.0, 50.0, 50.0], (20, 1)), rng=rng)
    mixture = fit_mixture(points, np.ones(20, dtype=int), 1, rng=rng)
    assert mixture.alpha[-1].tolist() == [1, 1, 1]
    assert 0.01 < mixture.weights[-1] < 0.2


def test_every_component_starts_at_a_point_of_its_own():
    points = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    for seed in range(20):
        start = _start(points, np.full(3, 1 / 3), 3, np.random.default_rng(seed))
        *original, uniform = start.alpha.tolist()
        assert sorted(np.argmax(original, axis=1)) == [0, 1, 2]
        assert uniform == [1, 1, 1]
