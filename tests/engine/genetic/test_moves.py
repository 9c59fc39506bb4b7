from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, chisquare

from synthesizer.engine.genetic.population import chosen, crossed, replaced
from tests.engine.genetic.slow_scores import frozen

RATES = st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0])
SEEDS = st.integers(0, 2**31)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_every_set_of_positions_has_its_probability(rate):
    """All 2^4 subsets, so that positions are chosen alike and independently."""
    n, rounds, rng = 4, 8000, np.random.default_rng(5)
    found = np.zeros(2**n)
    for _ in range(rounds):
        found[(1 << chosen(n, rate, rng)).sum()] += 1
    size = np.array([bin(subset).count("1") for subset in range(2**n)])
    expected = rate**size * (1 - rate) ** (n - size) * rounds
    common = expected > 5
    assert found[~common].sum() < 10
    scaled = expected[common] * found[common].sum() / expected[common].sum()
    assert chisquare(found[common], scaled).pvalue > 1e-3


@pytest.mark.parametrize("rate", [0.001, 0.1, 0.7])
def test_the_number_of_positions_is_binomial(rate):
    n, rng = 3000, np.random.default_rng(6)
    sizes = np.array([len(chosen(n, rate, rng)) for _ in range(1500)])
    edges = np.unique(binom.ppf(np.linspace(0.1, 0.9, 5), n, rate))
    shares = np.diff(np.concatenate(([0], binom.cdf(edges, n, rate), [1])))
    observed = np.bincount(np.searchsorted(edges, sizes), minlength=len(shares))
    assert chisquare(observed, shares * len(sizes)).pvalue > 1e-3


@given(st.integers(0, 300), st.floats(0, 1).filter(lambda rate: not 0 < rate < 1e-9), SEEDS)
def test_positions_rise_and_lie_inside(n, rate, seed):
    places = chosen(n, rate, np.random.default_rng(seed))
    assert places.dtype == np.int64
    assert (np.diff(places) > 0).all()
    assert not len(places) or 0 <= places[0] <= places[-1] < n


@pytest.mark.parametrize("n", [0, 1, 50])
def test_rates_of_nothing_and_everything(n):
    rng = np.random.default_rng(1)
    assert chosen(n, 0.0, rng).tolist() == []
    assert chosen(n, 1.0, rng).tolist() == list(range(n))
    assert chosen(n, np.nextafter(1, 0), rng).tolist() == list(range(n))


def test_gaps_are_drawn_until_the_end_is_reached():
    class Unlikely:
        """Draws the smallest gap whatever the rate, so that the first lot does not reach."""

        def geometric(self, rate, size):
            return np.ones(size, dtype=np.int64)

    assert chosen(500, 0.01, Unlikely()).tolist() == list(range(500))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_rates_next_to_nothing_choose_nothing(seed):
    assert chosen(100, 1e-19, np.random.default_rng(seed)).tolist() == []


@settings(max_examples=60)
@given(st.integers(0, 40), RATES, SEEDS)
def test_crossing_keeps_the_records_of_both_parents(n, rate, seed):
    rng = np.random.default_rng(seed)
    one, other = (frozen(rng.integers(0, 9, n)) for _ in range(2))
    first, second, rows = crossed(one, other, rate, rng)
    assert Counter([*first, *second]) == Counter([*one, *other])
    swapped = np.isin(np.arange(n), rows)
    np.testing.assert_array_equal(first, np.where(swapped, other, one))
    np.testing.assert_array_equal(second, np.where(swapped, one, other))
    assert len(rows) == (n if rate == 1 else 0 if rate == 0 else len(set(rows.tolist())))
    for child in (first, second):
        child[:] = -1  # children are their own: parents would complain
    assert first.dtype == one.dtype


def test_about_the_given_share_of_records_is_swapped():
    rng = np.random.default_rng(2)
    one, other = np.zeros(50_000, dtype=np.int32), np.ones(50_000, dtype=np.int32)
    first, second, rows = crossed(one, other, 0.1, rng)
    assert first.sum() == len(rows) == 50_000 - second.sum()
    assert len(rows) == pytest.approx(5000, abs=4 * np.sqrt(50_000 * 0.09))


@settings(max_examples=60)
@given(st.integers(1, 40), RATES, SEEDS)
def test_only_some_rows_are_replaced_by_donors(n, rate, seed):
    rng = np.random.default_rng(seed)
    records, donors = frozen(rng.integers(0, 9, n)), frozen(rng.integers(20, 29, 7))
    rows = np.flatnonzero(rng.random(n) < 0.5)
    after, taken = replaced(records, rows, rate, donors, rng)
    assert set(taken.tolist()) <= set(rows.tolist())
    assert (np.diff(taken) > 0).all()
    outside = np.setdiff1d(np.arange(n), taken)
    np.testing.assert_array_equal(after[outside], records[outside])
    assert set(after[taken].tolist()) <= set(donors.tolist())
    if rate == 0:
        assert after is records
    if rate == 1:
        assert taken.tolist() == rows.tolist()


def test_donors_are_drawn_alike():
    rng = np.random.default_rng(3)
    donors = np.array([0, 1, 2, 3, 3])
    after, _ = replaced(np.full(20_000, 9), np.arange(20_000), 1.0, donors, rng)
    assert chisquare(np.bincount(after), [4000, 4000, 4000, 8000]).pvalue > 1e-3


def test_a_dataset_is_its_own_donor():
    records = frozen([1, 2, 3, 4])
    after, taken = replaced(records, np.arange(4), 1.0, records, np.random.default_rng(4))
    assert taken.tolist() == [0, 1, 2, 3]
    assert set(after.tolist()) <= {1, 2, 3, 4}
