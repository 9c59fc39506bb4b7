import numpy as np
import pytest

from synthesizer.models.careers.dirichlet import cell, draw_dirichlet
from synthesizer.models.careers.fitting import (
    choose_theta,
    held_out_bootstrap,
    held_out_groups,
    held_out_mixture,
)
from synthesizer.models.careers.runs import to_runs


def sequences_of(excess):
    lengths = excess + 1
    states = np.tile(np.arange(excess.shape[1]), (len(excess), 1))
    return np.repeat(states.ravel(), lengths.ravel()).reshape(len(excess), -1)


def groups_of(excess, seed=1):
    data = sequences_of(excess)
    return held_out_groups(to_runs(data), data.shape[1], rng=np.random.default_rng(seed))


def test_repeated_patterns_want_a_large_theta_and_spread_ones_a_small():
    rng = np.random.default_rng(1)
    spikes = np.repeat([[20, 2, 5], [3, 14, 10], [9, 9, 9]], 60, axis=0)
    spread = cell(draw_dirichlet(np.ones((150, 3)), rng=rng), 27)
    narrow, _ = choose_theta(groups_of(spikes), rng=rng)
    wide, _ = choose_theta(groups_of(spread), rng=rng)
    assert narrow >= 50 > 5 >= wide


def test_the_bootstrap_cannot_expect_new_patterns():
    rng = np.random.default_rng(2)
    groups = groups_of(cell(draw_dirichlet(np.ones((100, 4)), rng=rng), 30))
    assert held_out_bootstrap(groups, 0.0) == -np.inf
    assert held_out_bootstrap(groups, 10.0) > -1e4


@pytest.mark.parametrize("seed", range(3))
def test_a_mixture_beats_the_bootstrap_on_smooth_lengths(seed):
    rng = np.random.default_rng(seed)
    alpha = np.repeat([[8.0, 3.0, 2.0], [2.0, 6.0, 20.0]], 100, axis=0)
    groups = groups_of(cell(draw_dirichlet(alpha, rng=rng), 40))
    best = max(held_out_bootstrap(groups, a) for a in (1, 10, 100, 1000))
    assert held_out_mixture(groups, 2, rng=rng) > best


def test_a_mixture_never_loses_to_chance_by_much():
    """With three persons a component may not claim to know where the next one is."""
    groups = groups_of(np.array([[30, 1, 2, 0, 4], [3, 20, 5, 9, 0], [0, 0, 37, 0, 0]]))
    even = held_out_bootstrap(groups, 1e9)
    assert held_out_mixture(groups, 5, rng=np.random.default_rng(1)) > even - 12


def test_one_person_has_one_fold():
    groups = groups_of(np.array([[3, 2]]))
    assert len(groups) == 1
    theta, values = choose_theta(groups, (1.0, 5.0), rng=np.random.default_rng(1))
    assert theta in values
