from collections import Counter

import numpy as np
import pytest
from scipy.stats import kstest

from tests.extensions.genetic.breeding import assert_counted, breeder, sought, start_of

ORIGINAL = sought()


def test_aimed_moves_replace_records_that_carry_risk_by_others_of_the_file():
    maker = breeder(ORIGINAL, aimed=1.0, mutation=0.0)
    one = start_of(maker, ORIGINAL, rate=0.05)[0]
    risky = maker.scorer.risky(one.counts, one.records)
    assert 5 < len(risky) < len(one.records)
    moved = []
    for seed in range(30):
        child = maker.mutant(one.records, one.counts, np.random.default_rng(seed))
        changed = np.flatnonzero(child.records != one.records)
        assert set(changed) <= set(risky)
        assert set(child.records[changed]) <= set(one.records)
        assert_counted(child, maker.scorer)
        moved.append(len(changed) / len(risky))
    assert 0.35 < np.mean(moved) < 0.65  # the share is uniform up to all


@pytest.mark.parametrize(("mode", "goal"), [("single", 0.1), ("single", 1.0), ("pareto", 0.1)])
def test_aimed_moves_replace_about_the_share_by_which_risk_is_above_the_goal(mode, goal):
    """Up to half more or less; in mode pareto up to it; never above the option."""
    maker = breeder(ORIGINAL, risk_floor=goal, mode=mode, aimed=0.7)
    one = start_of(maker, ORIGINAL, rate=0.05)[0]
    rng = np.random.default_rng(1)
    aims = [maker._aim(one.counts, len(one.records), rng) for _ in range(400)]
    share = max(1 - goal / one.score.risk, 0)
    low, high = (0, share) if mode == "pareto" else (share / 2, share * 1.5)
    assert low <= min(aims) <= max(aims) <= min(high, 0.7)
    if share:
        assert min(aims) == pytest.approx(low, abs=0.02)
        assert max(aims) == pytest.approx(min(high, 0.7), abs=0.02)


def rates_of_children(**options):
    """Return the mutation rates of children."""
    maker = breeder(ORIGINAL, aimed=0.0, crossover=0.0, **options)
    one, rates = start_of(maker, ORIGINAL)[0], []

    class Recording:
        def mutated(self, records, rate, rng):
            rates.append(rate)
            return records, np.zeros(0, dtype=np.int64)

    maker.redraw = Recording()
    for seed in range(400):
        maker.mutant(one.records, one.counts, np.random.default_rng(seed))
    return np.array(rates)


def test_varied_rates_are_log_uniform_over_three_powers_of_ten():
    rates = rates_of_children(rates="varied", mutation=0.02)
    assert 2e-5 <= rates.min() < rates.max() <= 0.02
    assert kstest(1 + np.log10(rates / 0.02) / 3, "uniform").pvalue > 1e-3
    assert set(rates_of_children(rates="varied", mutation=0.0)) == {0.0}
    assert set(rates_of_children(rates="fixed", mutation=0.02)) == {0.02}


def even(records):
    """A rule that half of all records break."""
    return np.asarray(records % 2 == 0)


@pytest.mark.parametrize("aimed", [0.0, 1.0])
def test_changes_that_break_a_rule_are_taken_back(aimed):
    maker = breeder(ORIGINAL, allowed=even, aimed=aimed, mutation=0.5, rates="fixed")
    one, other, *_ = start_of(breeder(ORIGINAL), ORIGINAL)
    assert 10 < even(one.records).sum() < 50  # some parents' records break it themselves
    rng, changed = np.random.default_rng(5), 0
    for _ in range(10):
        for child in maker.pair(one, other, rng):
            inherited = (child.records == one.records) | (child.records == other.records)
            assert (even(child.records) | inherited).all()
            assert_counted(child, maker.scorer)
            changed += (~inherited).sum()
    assert changed > 50


def test_without_mutation_children_share_out_the_records_of_their_parents():
    maker = breeder(ORIGINAL, aimed=0.0, mutation=0.0, crossover=0.5)
    one, other, *_ = start_of(maker, ORIGINAL)
    first, second = maker.pair(one, other, np.random.default_rng(2))
    assert Counter([*first.records, *second.records]) == Counter([*one.records, *other.records])
    assert 0 < (first.records != one.records).sum() < (one.records != other.records).sum()
    # row by row: a child has a record where one of its parents has it
    assert ((first.records == one.records) | (first.records == other.records)).all()
