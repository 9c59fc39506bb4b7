from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, chisquare

from synthesizer.extensions.genetic.evolution import Redraw, chosen, crossed, replaced
from synthesizer.extensions.genetic.scores import Coding
from tests.extensions.genetic.small_files import frozen
from tests.extensions.genetic.test_coding import variables

RATES = st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0])
SEEDS = st.integers(0, 2**31)


@pytest.mark.parametrize("rate", [0.1, 0.9])
def test_every_set_of_positions_has_its_probability(rate):
    """All 2^4 subsets, so that positions are chosen alike and independently."""
    n, rounds, rng = 4, 8000, np.random.default_rng(5)
    observed = np.zeros(2**n)
    for _ in range(rounds):
        observed[(1 << chosen(n, rate, rng)).sum()] += 1
    size = np.array([bin(subset).count("1") for subset in range(2**n)])
    expected = rate**size * (1 - rate) ** (n - size) * rounds
    common = expected > 5
    assert observed[~common].sum() < 10
    scaled = expected[common] * observed[common].sum() / expected[common].sum()
    assert chisquare(observed[common], scaled).pvalue > 1e-3


@pytest.mark.parametrize("rate", [0.001, 0.7])
def test_the_number_of_positions_is_binomial(rate):
    n, rng = 3000, np.random.default_rng(6)
    sizes = np.array([len(chosen(n, rate, rng)) for _ in range(1500)])
    edges = np.unique(binom.ppf(np.linspace(0.1, 0.9, 5), n, rate))
    shares = np.diff(np.concatenate(([0], binom.cdf(edges, n, rate), [1])))
    observed = np.bincount(np.searchsorted(edges, sizes), minlength=len(shares))
    assert chisquare(observed, shares * len(sizes)).pvalue > 1e-3


@pytest.mark.parametrize("n", [0, 50])
def test_rates_of_nothing_next_to_nothing_and_everything(n):
    rng = np.random.default_rng(1)
    assert chosen(n, 0.0, rng).tolist() == chosen(2 * n, 1e-19, rng).tolist() == []
    assert chosen(n, 1.0, rng).tolist() == list(range(n))
    assert chosen(n, np.nextafter(1, 0), rng).tolist() == list(range(n))


def test_gaps_are_drawn_until_the_end_is_reached():
    class Unlikely:
        """Draws the smallest gap whatever the rate, so that the first lot does not reach."""

        def geometric(self, rate, size):
            return np.ones(size, dtype=np.int64)

    assert chosen(500, 0.01, Unlikely()).tolist() == list(range(500))


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


def test_donors_are_drawn_alike():
    rng = np.random.default_rng(3)
    donors = np.array([0, 1, 2, 3, 3])
    after, _ = replaced(np.full(20_000, 9), np.arange(20_000), 1.0, donors, rng)
    assert chisquare(np.bincount(after), [4000, 4000, 4000, 8000]).pvalue > 1e-3


N = 30_000


def skewed(n=1000):
    """Levels 3, 2 and 4; the first of one and the last of another never occur."""
    coding = Coding.of(variables([3, 2, 4]))
    rng = np.random.default_rng(1)
    parts = ([0, 0.8, 0.2], [0.9, 0.1], [0.3, 0.1, 0.6, 0])
    codes = [rng.choice(len(share), n, p=share) for share in parts]
    return coding, np.stack(codes, axis=1) @ coding.strides


@pytest.mark.parametrize("kind", ["uniform", "marginal"])
def test_levels_are_drawn_alike_or_as_often_as_the_original_has_them(kind):
    """Levels of one variable, and combinations of all, as often as the product of their shares."""
    coding, original = skewed()
    shares = [
        np.full(count, 1 / count)
        if kind == "uniform"
        else np.bincount(coding.level(original, position), minlength=count) / len(original)
        for position, count in enumerate(coding.levels)
    ]
    redraw = Redraw.uniform(coding) if kind == "uniform" else Redraw.marginal(coding, original)
    drawn, rows = redraw.mutated(frozen(np.zeros(N, int)), 1.0, np.random.default_rng(3))
    assert rows.tolist() == list(range(N))
    draws = [(drawn, np.einsum("i,j,k->ijk", *shares).ravel())]
    for position, share in enumerate(shares):
        draws.append((redraw.levels(np.full(N, position), np.random.default_rng(4)), share))
    for values, share in draws:
        observed, occurs = np.bincount(values, minlength=len(share)), share > 0
        assert not observed[~occurs].any()
        assert chisquare(observed[occurs], share[occurs] * N).pvalue > 1e-3


def test_wide_numbers_stay_inside():
    coding = Coding.of(variables([2] * 62))
    records = frozen(np.random.default_rng(6).integers(0, coding.n_cells, 500))
    for rate in (0.3, 1.0):
        after, _ = Redraw.uniform(coding).mutated(records, rate, np.random.default_rng(7))
        assert ((after >= 0) & (after < coding.n_cells)).all()
        share = (coding.digits(after) != coding.digits(records)).mean()
        assert share == pytest.approx(rate / 2, abs=0.02)


def test_levels_that_never_occur_are_not_drawn_at_the_very_edge():
    class Lowest:
        """Draws 0, where the share of a first level ends that never occurs."""

        def random(self, size):
            return np.zeros(size)

    coding, original = skewed()
    redraw = Redraw.marginal(coding, original)
    assert redraw.levels(np.array([0, 1, 2, 0]), Lowest()).tolist() == [1, 0, 0, 1]
