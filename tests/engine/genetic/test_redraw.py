import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from synthesizer.engine.genetic.coding import Coding
from synthesizer.engine.genetic.population import Redraw
from tests.engine.genetic.slow_scores import frozen
from tests.engine.genetic.test_coding import variables

N = 30_000


def skewed(n=1000):
    """Levels 3, 2 and 4; the first of one and the last of another never occur."""
    coding = Coding.of(variables([3, 2, 4]))
    rng = np.random.default_rng(1)
    parts = ([0, 0.8, 0.2], [0.9, 0.1], [0.3, 0.1, 0.6, 0])
    codes = [rng.choice(len(share), n, p=share) for share in parts]
    return coding, np.stack(codes, axis=1) @ coding.strides


def test_uniform_draws_every_combination_alike():
    coding, original = skewed(N)
    start = frozen(original)
    drawn, rows = Redraw.uniform(coding).mutated(start, 1.0, np.random.default_rng(2))
    assert rows.tolist() == list(range(N))
    assert chisquare(np.bincount(drawn, minlength=coding.n_cells)).pvalue > 1e-3


def test_marginal_draws_as_often_as_the_original_has_them():
    coding, original = skewed()
    redraw = Redraw.marginal(coding, original)
    drawn, _ = redraw.mutated(np.zeros(N, dtype=np.int64), 1.0, np.random.default_rng(3))
    shares = []
    for place, count in enumerate(coding.levels):
        own = np.bincount(coding.level(original, place), minlength=count) / len(original)
        shares.append(own)
        assert set(coding.level(drawn, place)) == set(np.flatnonzero(own))
    # variables are drawn for themselves: all combinations have the product of their shares
    expected = np.einsum("i,j,k->ijk", *shares).ravel() * N
    observed = np.bincount(drawn, minlength=coding.n_cells)
    occurs = expected > 0
    assert not observed[~occurs].any()
    assert chisquare(observed[occurs], expected[occurs]).pvalue > 1e-3


@pytest.mark.parametrize("redraw", ["uniform", "marginal"])
def test_levels_of_one_variable(redraw):
    coding, original = skewed()
    made = Redraw.uniform(coding) if redraw == "uniform" else Redraw.marginal(coding, original)
    for place, count in enumerate(coding.levels):
        found = made.levels(np.full(N, place), np.random.default_rng(4))
        share = np.bincount(coding.level(original, place), minlength=count) / len(original)
        expected = np.full(count, 1 / count) if redraw == "uniform" else share
        observed, occurs = np.bincount(found, minlength=count), expected > 0
        assert not observed[~occurs].any()
        assert chisquare(observed[occurs], expected[occurs] * N).pvalue > 1e-3


def test_cells_change_at_the_rate():
    """A cell drawn anew is another one with probability 1 - 1/L; cells are independent."""
    coding = Coding.of(variables([3, 2, 4]))
    start = frozen(np.full(N, 7))
    drawn, _ = Redraw.uniform(coding).mutated(start, 0.3, np.random.default_rng(5))
    changed = coding.digits(drawn) != coding.digits(start)
    chance = 0.3 * (1 - 1 / coding.levels)
    np.testing.assert_allclose(changed.mean(axis=0), chance, atol=4 * np.sqrt(0.25 / N))
    assert changed.all(axis=1).mean() == pytest.approx(chance.prod(), abs=4 * np.sqrt(0.01 / N))


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=5),
    st.integers(0, 30),
    st.sampled_from([0.0, 0.05, 0.5, 1.0]),
    st.booleans(),
    st.integers(0, 2**31),
)
def test_rows_told_hold_all_that_changed(counts, n, rate, uniform, seed):
    coding, rng = Coding.of(variables(counts)), np.random.default_rng(seed)
    records = frozen(rng.integers(0, coding.n_cells, n).astype(coding.dtype))
    redraw = Redraw.uniform(coding) if uniform or not n else Redraw.marginal(coding, records)
    after, rows = redraw.mutated(records, rate, rng)
    assert after.dtype == records.dtype
    assert (np.diff(rows) > 0).all()
    assert set(np.flatnonzero(after != records)) <= set(rows)
    assert ((after >= 0) & (after < coding.n_cells)).all()
    if rate == 0:
        assert after is records
        assert not len(rows)
    if rate == 1:
        assert len(rows) == n


@pytest.mark.parametrize("binary", [31, 62])
def test_wide_numbers_stay_inside(binary):
    coding = Coding.of(variables([2] * binary))
    records = frozen(np.random.default_rng(6).integers(0, coding.n_cells, 500))
    for rate in (0.3, 1.0):
        after, _ = Redraw.uniform(coding).mutated(records, rate, np.random.default_rng(7))
        assert ((after >= 0) & (after < coding.n_cells)).all()
        share = (coding.digits(after) != coding.digits(records)).mean()
        assert share == pytest.approx(rate / 2, abs=0.02)


def test_one_level_never_changes():
    coding = Coding.of(variables([1, 1]))
    after, rows = Redraw.uniform(coding).mutated(np.zeros(5, int), 1.0, np.random.default_rng(8))
    assert after.tolist() == [0] * 5
    assert rows.tolist() == [0, 1, 2, 3, 4]


def test_levels_that_never_occur_are_not_drawn_at_the_very_edge():
    class Lowest:
        """Draws 0, where the share of a first level ends that never occurs."""

        def random(self, size):
            return np.zeros(size)

    coding, original = skewed()
    redraw = Redraw.marginal(coding, original)
    assert redraw.levels(np.array([0, 1, 2, 0]), Lowest()).tolist() == [1, 0, 0, 1]
