"""Claims are decided by groups of persons: posterior, verdict, rates of wrong answers, words."""

from itertools import product

import numpy as np
import pytest
from partition_trials import SCHEMA

from synthesizer.extensions.verification.claims import (
    MIN_CERTAINTY,
    ClaimAnswer,
    shares_at_ends,
    verdict_of,
)
from synthesizer.extensions.verification.coefficient_questions import CoefficientRange, Statements
from synthesizer.extensions.verification.messages import WORDS
from synthesizer.extensions.verification.query import query_of


def likelihood(released, counts, scale):
    return np.exp(-np.abs(np.subtract(released, counts)).sum() / scale)


def by_hand(released, m, scale, *, grid=4_000):
    """P(r > 1/2) and mean of the share r within the end below, by all compositions and a grid."""
    r = (np.arange(grid) + 0.5) / grid
    density = np.zeros(grid)
    for counts in product(range(m + 1), repeat=len(released)):
        if sum(counts) != m:
            continue
        inner = counts[0] + (counts[2] if len(counts) == 4 else 0)
        below = counts[1]
        prior = 1.0 if len(counts) == 3 else 1 / (inner + 1)
        beta = r**inner * (1 - r) ** below
        density += prior * likelihood(released, counts, scale) * beta / beta.mean()
    return density[r > 0.5].sum() / density.sum(), density @ r / density.sum()


@pytest.mark.parametrize(
    ("released", "scale"),
    [((6, 1, 1), 2.0), ((3, 5, 0), 1.0), ((0, 2, 5, 1), 2.0), ((2, 2, 2, 3), 4.0)],
)
def test_the_probability_of_most_groups_by_brute_force(released, scale):
    first, *_ = shares_at_ends(released, 8, scale)
    computed = first.most_inside, first.inside.mean
    assert computed == pytest.approx(by_hand(released, 8, scale), abs=1e-4)
    assert first.most_inside == pytest.approx(first.inside.probability_above(0.5), abs=1e-12)
    assert abs(first.most_inside - by_hand(released, 8, scale / 3)[0]) > 1e-3


@pytest.mark.parametrize(
    ("counts", "verdict"),
    [
        ((46, 2, 2), "yes"),
        ((2, 46, 2), "no"),
        ((27, 23, 0), "open"),
        ((18, 16, 16, 0), "yes"),  # few groups lie in a narrow range whose claim is true
        ((10, 5, 35, 0), "no"),  # most lie above it
        ((12, 36, 2, 0), "no"),
        ((20, 5, 25, 0), "open"),
        ((12, 1, 37), "open"),  # most have no fit
        ((30, 0, 20), "yes"),
        ((-3, 55, 1), "no"),
    ],
)
def test_verdicts(counts, verdict):
    shares = shares_at_ends(counts, 50, 2.0 if len(counts) == 3 else 0.5)
    assert verdict_of(shares) == verdict


@pytest.mark.parametrize(("m", "scale"), [(20, 2.0), (50, 8.0), (100, 16.0), (200, 16.0)])
def test_a_border_at_the_true_value_gives_a_wrong_word_in_about_1_of_100(m, scale):
    """Each group falls on either side as a coin does, the worst case; the control forgets noise."""
    rng, n = np.random.default_rng([7, m]), 3_000
    inside = rng.binomial(m, 0.5, n)
    noise = rng.geometric(1 - np.exp(-1 / scale), (2, n, 3))
    counts = np.column_stack([inside, m - inside, 0 * inside])
    released = np.clip(counts + noise[0] - noise[1], 0, m).tolist()
    verdicts = [verdict_of(shares_at_ends(counts, m, scale)) for counts in released]
    careless = [verdict_of(shares_at_ends(counts, m, scale / 4)) for counts in released]
    for word in ("yes", "no"):
        assert verdicts.count(word) / n <= 0.016
        assert careless.count(word) / n > 0.02


def stated(low, high, estimate):
    where = CoefficientRange(low=low, high=high)
    holds = bool(where.holds(np.array([estimate]))[0])
    return Statements(SCHEMA, (f"sex[F] {where.words}",), (estimate,),
                      (holds,), (where,))  # fmt: skip


def answered(counts, low=None, high=None, estimate=-0.03):
    return ClaimAnswer.of(counts, 50, 2.0, "sex[F]", stated(low, high, estimate))


@pytest.mark.parametrize(
    ("counts", "low", "verdict", "what", "follows"),
    [
        ((46, 2, 2), None, "yes", "is at most -0.01", ["same"]),
        ((2, 46, 2), None, "no", "is above -0.01", ["other"]),
        ((2, 46, 1, 1), -0.05, "no", "is below -0.05", ["other"]),
        ((25, 24, 1), None, "open", "is at most -0.01", ["close", "open"]),
        ((9, 1, 40), None, "open", "is at most -0.01", ["unfitted", "open"]),
    ],
)
def test_an_answer_says_the_verdict_first_and_then_what_follows(
    counts, low, verdict, what, follows
):
    made = answered(counts, low=low, high=-0.01)
    assert made.verdict == verdict
    assert what in made.words[0]
    assert made.words[-1 - len(follows) : -1] == tuple(WORDS["claim"][key] for key in follows)
    assert made.unfitted == pytest.approx(counts[-1] / 50, abs=0.05)


def test_noise_that_hides_even_agreement_is_named():
    noisy = ClaimAnswer.of((50, 0, 0), 50, 40.0, "sex[F]", stated(None, -0.01, -0.03))
    assert (noisy.verdict, noisy.words[3]) == ("open", WORDS["claim"]["hidden"])


def test_an_answer_shows_every_end():
    made = answered((20, 14, 14, 2), low=-0.05, high=-0.01)
    (chart,) = made.blocks()
    for end, statement in zip(made.ends, ("is at least -0.05", "is at most -0.01"), strict=True):
        assert (end.statement, chart.svg.count(statement)) == (statement, 1)
        assert end.probability > MIN_CERTAINTY - 0.1


def test_a_share_of_the_synthetic_estimate_has_two_ends():
    ask = {"measure": "claim", "coefficient": "race[Black]", "share": 0.5}
    query = query_of({"formula": "pay ~ race", "ask": ask})
    where = query.ask.range_about(-0.04)
    assert where.ends == pytest.approx((-0.06, -0.02))
    assert query.content()["ask"] == {**ask, "below": None, "above": None, "between": None,
                                      "within": None}  # fmt: skip
