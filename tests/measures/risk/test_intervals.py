import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from synthesizer.measures.risk.comparable import excess, relative_excess, wilson

shares = st.integers(0, 200)


@given(shares)
def test_wilson_is_that_of_scipy(count):
    expected = stats.binomtest(count, 200).proportion_ci(0.9, method="wilson")
    assert wilson(count / 200, 200, 0.9) == pytest.approx((expected.low, expected.high))


@given(shares, shares)
def test_excess_holds_its_value(successes, control):
    value, low, high = excess(successes / 200, 200, control / 200, 200)
    if control == 200:
        assert value is None
        assert low is None
        assert high is None
    else:
        assert low < value <= high <= 1
        assert value == pytest.approx(1 - (200 - successes) / (200 - control))


@pytest.mark.parametrize(("rate", "control"), [(0.01, 0.01), (0.3, 0.2), (0.9, 0.5), (0.2, 0.3)])
def test_excess_covers_the_truth_as_often_as_it_says(rate, control):
    rng = np.random.default_rng(7)
    n, truth = 300, (rate - control) / (1 - control)
    pairs = rng.binomial(n, [rate, control], size=(1000, 2)) / n
    found = [excess(one, n, other, n) for one, other in pairs]
    covered = np.mean([low <= truth <= high for _, low, high in found])
    assert 0.93 < covered < 0.99


def test_relative_excess_of_an_exact_original_is_the_share_rescaled():
    found = relative_excess((0.6, 0.55, 0.7), (0.9, 0.9, 0.9), 0.5)
    assert found == pytest.approx((0.25, 0.125, 0.5))
    found = relative_excess((0.4, 0.35, 0.5), (0.9, 0.9, 0.9), 0.5)
    assert found == pytest.approx((-0.25, -0.375, 0))
    for original in ((0.5, 0.5, 0.5), (0.6, 0.5, 0.7)):  # it may tell nothing itself
        assert relative_excess((0.6, 0.5, 0.7), original, 0.5) == (None, None, None)


@pytest.mark.parametrize("truth", [0.75, 0.6, 0.5, 0.3])
def test_relative_excess_covers_the_truth_as_often_as_it_says(truth):
    rng = np.random.default_rng(8)
    n, original = 800, 0.75
    covered = []
    for one, other in rng.binomial(n, [truth, original], size=(1000, 2)) / n:
        _, low, high = relative_excess((one, *wilson(one, n)), (other, *wilson(other, n)), 0.5)
        covered.append(low <= (truth - 0.5) / (original - 0.5) <= high)
    assert 0.93 < np.mean(covered) < 0.99


@pytest.mark.parametrize(("share", "farther", "nearer"), [(0.6, 0.2, 0.1), (0.4, 0.1, 0.2)])
def test_a_larger_original_brings_a_relative_excess_nearer_to_none(share, farther, nearer):
    value, low, high = relative_excess((share, share - 0.1, share + 0.1), (0.7, 0.6, 0.9), 0.5)
    assert value == pytest.approx((share - 0.5) / 0.2)
    assert low == pytest.approx(value - math.hypot(0.1, value * farther) / 0.2)
    assert high == pytest.approx(value + math.hypot(0.1, value * nearer) / 0.2)
