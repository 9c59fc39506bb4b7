"""What a new sample shows, computed from the original alone."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from synthesizer.data.codes import mean_ranks
from synthesizer.data.table import Table
from synthesizer.measures.risk.cap import cap, cap_scores
from synthesizer.measures.risk.comparable import at_least
from synthesizer.measures.risk.copied import fresh_limit
from synthesizer.measures.risk.fresh_sample import beyond_fresh
from tests.tables import coded


def table(*columns):
    return Table(list(columns))


def people(n, seed):
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 12, n)
    ill = np.where(rng.random(n) < 0.7, town % 3, rng.integers(0, 3, n))
    return table(coded("town", town, list("abcdefghijkl")), coded("ill", ill, list("xyz")))


def by_hand(towns, ills, share):
    """Each record is attacked with the others, of which each is in the sample with a chance."""
    cap_of, disco = [], []
    for i in range(len(towns)):
        mates = [j for j in range(len(towns)) if j != i and towns[j] == towns[i]]
        sure = right = 0.0
        for there in product([0, 1], repeat=len(mates)):
            chance = np.prod([share if one else 1 - share for one in there])
            shown = [ills[j] == ills[i] for j, one in zip(mates, there, strict=True) if one]
            right += chance * (np.mean(shown) if shown else 0.0)
            sure += chance * (bool(shown) and all(shown))
        cap_of.append(right)
        disco.append(sure)
    return np.mean(cap_of), np.mean(disco)


@pytest.mark.parametrize(("size", "share"), [(29, 1.0), (400, 1.0), (29 * 0.4, 0.4)])
def test_a_fresh_sample_equals_every_sample_weighed_by_its_chance(size, share):
    original = people(30, 1)
    scores = cap_scores(original, people(30, 2), keys=["town"], target="ill")
    rows = beyond_fresh(scores.singles, scores.original, scores.keys, [size])
    expected = by_hand(original["town"].data, original["ill"].data, share)
    assert [row.fresh for row in rows] == pytest.approx(expected)
    assert rows[0].synthetic == pytest.approx(np.nan_to_num(scores.singles[0]).mean())


def test_fresh_samples_lie_within_their_interval_and_the_original_does_not():
    covered = 0
    for seed in range(40):
        original = people(300, 100 + seed)
        first = cap(original, people(300, 900 + seed), keys=["town"], target="ill").fresh[0]
        covered += first.low <= 0 <= first.high
    assert covered >= 34
    rng = np.random.default_rng(3)
    wide = table(coded("id", rng.permutation(90), [str(i) for i in range(90)]),
                 coded("ill", rng.integers(0, 3, 90), list("xyz")))  # fmt: skip
    copied = cap(wide, wide, keys=["id"], target="ill").fresh
    assert [row.fresh for row in copied] == [0.0, 0.0]
    assert all(row.low == row.difference == 1.0 for row in copied)


def test_ranks_and_tails_are_those_of_scipy():
    rng = np.random.default_rng(4)
    values = rng.integers(0, 9, 60) / 3
    np.testing.assert_array_equal(mean_ranks(values), stats.rankdata(values))
    n, p = rng.integers(0, 30, 300), rng.random(300)
    k = rng.integers(-2, 33, 300)
    np.testing.assert_allclose(at_least(k, n, p), stats.binom.sf(k - 1, n, p), atol=1e-14)
    for pairs, times, level in product((0, 3, 1_000), (0.01, 0.5, 5.0), (0.9, 0.999)):
        limit = stats.nbinom.ppf(level, pairs + 1, 1 / (1 + 2 * times))
        assert fresh_limit(pairs, times, level) == max(limit, 1)
