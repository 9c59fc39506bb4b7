import math

import numpy as np
import pytest
from scipy import stats

from synthesizer.data.codec import Codec
from synthesizer.models.careers.dirichlet import cell, compositions, draw_dirichlet
from synthesizer.models.careers.lengths import Components, distinct_patterns, fitted_components

RNG_SEED = 5
CODEC = Codec()


def frequencies(drawn, every):
    return np.array([(drawn == one).all(axis=1).sum() for one in every])


@pytest.mark.parametrize("count", range(1, 7))
def test_theta_zero_is_a_rounded_uniform_point(count):
    every = compositions(6, count)
    part = Components(6 - count, patterns=every[:1], theta=0.0)
    rng = np.random.default_rng(RNG_SEED)
    drawn = part.draw(np.zeros(20_000, dtype=np.int64), rng=rng)
    direct = cell(draw_dirichlet(np.ones((20_000, count)), rng=rng), 6 - count)
    table = np.array([frequencies(drawn, every), frequencies(direct, every)])
    if len(every) > 1:
        assert stats.chi2_contingency(table).pvalue > 0.001


@pytest.mark.parametrize("count", range(1, 7))
def test_every_composition_is_reached_at_theta_five(count):
    every = compositions(6, count)
    part = Components(6 - count, patterns=every, theta=5.0)
    rng = np.random.default_rng(RNG_SEED)
    for start in range(len(every)):
        drawn = part.draw(np.full(30_000, start), rng=rng)
        near = np.abs(every - every[start]).sum(axis=1) <= 2
        assert (frequencies(drawn, every)[near] > 0).all()
    drawn = part.draw(rng.integers(len(every), size=30_000), rng=rng)
    assert (frequencies(drawn, every) > 0).all()


def test_near_compositions_are_more_likely_than_far_ones():
    every = compositions(12, 2)
    part = Components(10, patterns=every[5:6], theta=2.0)
    counts = frequencies(part.draw(np.zeros(50_000, int), rng=np.random.default_rng(1)), every)
    assert counts[5] > counts[4] > counts[3] > counts[2]


def test_infinite_theta_returns_the_patterns():
    every = compositions(7, 3)
    part = Components(4, patterns=every, theta=math.inf)
    chosen = np.arange(len(every))[::-1]
    assert (part.draw(chosen, rng=np.random.default_rng(1)) == every[::-1]).all()


def test_distinct_patterns_are_in_order():
    excess = np.array([[3, 1], [0, 4], [3, 1], [2, 2]])
    patterns, member = distinct_patterns(excess)
    assert (patterns[member] == excess).all()
    steps = np.diff(patterns[:, 0])
    assert (steps > 0).all() or (steps < 0).all()


def test_fitted_components_serve_every_person():
    rng = np.random.default_rng(2)
    excess = np.vstack([compositions(20, 3), compositions(20, 3)[:40]])
    patterns, member = distinct_patterns(excess)
    parts, own = fitted_components(patterns, member, 4, rng=rng)
    assert len(own) == len(excess)
    assert sorted(np.unique(own).tolist()) == list(range(len(parts)))
    drawn = parts.draw(own, rng=rng)
    assert drawn.min() >= 0
    assert (drawn.sum(axis=1) == 17).all()
    again = CODEC.typed(Components, CODEC.plain(Components, parts))
    assert (again.parameters() == parts.parameters()).all()
