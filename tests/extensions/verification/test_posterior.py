"""The posterior against brute force, chains, simulation, and the table of the specification."""

import numpy as np
import pytest
from noise_trials import CASES, gibbs, quadrature, random_posteriors
from scipy import stats

from synthesizer.extensions.verification.posterior import (
    posterior_of_categories,
    posterior_of_count,
)

PRINTED = (
    (0.9686, 0.9442, 0.8485, 0.9958),
    (1.0, 0.9696, 0.8896, 0.9992),
    (0.4034, 0.4074, 0.2691, 0.5530),
    (0.0, 0.0869, 0.0022, 0.3154),
    (0.9046, 0.7710, 0.2780, 0.9889),
)


def known(case):
    return posterior_of_count(case[0], m=case[1], scale=1 / case[2])


@pytest.mark.parametrize(("case", "printed"), [*zip(CASES, PRINTED, strict=False)])
def test_the_printed_table(case, printed):
    posterior = known(case)
    summary = (posterior.mode, posterior.mean, *posterior.equal_tail)
    assert summary == pytest.approx(printed, abs=6e-5)


@pytest.mark.parametrize("case", CASES)
def test_brute_force_over_r_agrees(case):
    posterior = known(case)
    summary = np.array([posterior.mean, *posterior.equal_tail, posterior.mode])
    assert summary == pytest.approx(quadrature(*case, points=20_001), abs=1e-4)
    wrong = quadrature(case[0], case[1], case[2] / 3, points=2_001)
    assert np.abs(summary - wrong).max() > 1e-3


def test_a_chain_agrees():
    chain = gibbs(*CASES[2], draws=6_000, seed=1)
    assert [known(CASES[2]).mean, *known(CASES[2]).equal_tail] == pytest.approx(chain, abs=0.02)


def test_the_shortest_interval_is_the_highest():
    for posterior in random_posteriors(40, seed=5):
        low, high = posterior.highest_density
        held = posterior.probability_above(low) - posterior.probability_above(high)
        assert held == pytest.approx(0.95, abs=1e-9)
        assert high - low <= np.subtract(*posterior.equal_tail[::-1]) + 1e-12
        assert low <= posterior.mode <= high
        if low > 0 and high < 1:
            assert np.diff(posterior.density(np.array([low, high])))[0] == pytest.approx(
                0, abs=1e-6
            )


@pytest.mark.parametrize(
    ("released", "mode"), [((0, 0, 10), 0.5), ((-1.6, -1.3, 6), 0.5), ((10.3, 13.3, 5.4), 0.5)]
)
def test_a_flat_density_has_its_mode_in_the_middle_and_in_its_interval(released, mode):
    known = posterior_of_categories(released, m=10, scale=2.0).inside
    assert known.mode == mode
    assert known.highest_density == pytest.approx((0.025, 0.975))


@pytest.mark.parametrize(("beyond", "end"), [(-7.3, 0), (-1, 0), (51, 50), (1e9, 50)])
def test_what_lies_beyond_the_ends_tells_no_more(beyond, end):
    one, other = (posterior_of_count(t, m=50, scale=2.0) for t in (beyond, end))
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-12)
    assert one.mode == (end > 0)


def test_clamped_noise_gives_the_same_weights():
    """Bayes' rule with the law of the clamped noise, the two outer cells included."""
    m, alpha = 20, np.exp(-0.5)
    for t in (0, 1, 13, 20):
        k = np.arange(m + 1)
        law = (1 - alpha) / (1 + alpha) * alpha ** np.abs(t - k)
        if t in (0, m):
            law = alpha ** np.abs(t - k) / (1 + alpha)
        weights = posterior_of_count(t, m=m, scale=2.0).weights
        np.testing.assert_allclose(weights, law / law.sum(), rtol=1e-12)


def test_probabilities_are_those_of_the_mixture():
    posterior = known(CASES[2])
    k = np.arange(51)
    parts = stats.beta(k + 1, 51 - k)
    above = posterior.weights @ parts.sf(0.45)
    assert posterior.probability_above(0.45) == pytest.approx(above, abs=1e-12)
    ends = (posterior.probability_above(0), posterior.probability_above(1))
    assert ends == pytest.approx((1, 0), abs=1e-12)
    assert (posterior.quantile(0), posterior.quantile(1)) == (0, 1)


def test_three_categories_against_every_composition():
    released, m, scale = (9, -2, 4), 12, 1.5
    rows = [(a, b, m - a - b) for a in range(m + 1) for b in range(m + 1 - a)]
    logs = np.array([-np.abs(np.subtract(np.clip(released, 0, m), row)).sum() for row in rows])
    weights = np.exp(logs / scale) / np.exp(logs / scale).sum()
    grid = np.array([0.05, 0.4, 0.9])
    inside = sum(
        w * stats.beta.pdf(grid, a + 1, b + 1) for w, (a, b, _) in zip(weights, rows, strict=True)
    )
    errors = sum(
        w * stats.beta.pdf(grid, c + 1, m - c + 2) for w, (*_, c) in zip(weights, rows, strict=True)
    )
    shares = posterior_of_categories(released, m=m, scale=scale)
    np.testing.assert_allclose(shares.inside.density(grid), inside, rtol=1e-10)
    np.testing.assert_allclose(shares.errors.density(grid), errors, rtol=1e-10)


@pytest.mark.parametrize(
    ("m", "low"),
    [(20, (0.305, 0.745)), (50, (0.685, 0.89)), (100, (0.838, 0.943)), (200, (0.918, 0.971))],
)
def test_the_best_that_can_be_attained(m, low):
    best = [posterior_of_count(m, m=m, scale=1 / e).equal_tail[0] for e in (0.25, 1.0)]
    assert best == pytest.approx(low, abs=6e-4)
    with_errors = posterior_of_categories((m, 0, 0), m=m, scale=2.0).inside.equal_tail[0]
    assert with_errors == pytest.approx(low[1], abs=0.01)
    assert with_errors < best[1]
