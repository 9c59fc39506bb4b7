import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizer.engine.genetic.scores import RISKS, UTILITIES, Scorer
from tests.engine.genetic.slow_scores import Slow, files, frozen, random_file, sought_of
from tests.engine.genetic.slow_scores import value_of as value


def scorer_of(sought, utility="full_table", risk="cap_u"):
    return Scorer(UTILITIES[utility](sought), RISKS[risk](sought))


def assert_equal_counts(counts, others):
    assert len(counts) == len(others)
    for own, other in zip(counts, others, strict=True):
        np.testing.assert_array_equal(own, other)


@settings(max_examples=60, deadline=None)
@given(files(), st.sampled_from([*UTILITIES]), st.sampled_from([*RISKS]), st.integers(0, 2**31))
def test_counts_kept_up_to_date_equal_counting_from_nothing(case, utility, risk, seed):
    original, (made,), keys, target = case
    sought = sought_of(original, keys, target)
    scorer = scorer_of(sought, utility, risk)
    rng = np.random.default_rng(seed)
    records = frozen(sought.coding.encode(made))
    counts = tuple(frozen(part) for part in scorer.count(records))
    for _ in range(6):
        moved = np.array(records)
        where = np.flatnonzero(rng.random(len(records)) < 0.4)
        moved[where] = rng.integers(0, sought.coding.n_cells, len(where))
        expected = scorer.count(moved)
        # rows that have not changed may be told as well
        told = np.union1d(where, np.flatnonzero(rng.random(len(records)) < 0.3))
        counts_after = scorer.recounted(counts, records[told], moved[told])
        assert_equal_counts(counts_after, expected)
        gain = scorer.change(records[told], moved[told])
        assert_equal_counts(gain, [a - b for a, b in zip(expected, counts, strict=True)])
        records, counts = frozen(moved), tuple(frozen(part) for part in counts_after)
    score = scorer.score(counts, len(records))
    assert score.utility == value(scorer.utility, records)
    assert score.risk == pytest.approx(value(scorer.risk, records), nan_ok=True, abs=0)


def test_no_change_gains_nothing():
    sought = sought_of(random_file(30, [4, 3, 2]), [0, 1], 2)
    scorer = scorer_of(sought)
    nothing = sought.records[:0]
    assert all(not part.any() for part in scorer.change(nothing, nothing))
    assert all(not part.any() for part in scorer.change(sought.records, sought.records[::-1]))


def slow_risky(name, slow, targets):
    """Rows that carry risk, by what makes up each measure."""
    everyone, uniques = set(slow.people), set(slow.uniques)
    pairs = list(zip(slow.made_keys, targets, strict=True))
    lone = {record for record in slow.all if slow.all.count(record) == 1}
    carries = {
        "cap": [pair in everyone for pair in pairs],
        "cap_u": [pair in uniques for pair in pairs],
        "disco": [pair in everyone and set(slow.shown[pair[0]]) == {pair[1]} for pair in pairs],
        "repu": [slow.ours[key] == 1 and slow.theirs[key] == 1 for key, _ in pairs],
        "replicated_uniques": [
            record in lone and slow.made_all.count(record) == 1 for record in slow.made_all
        ],
    }
    return np.flatnonzero(carries[name]).tolist()


@settings(max_examples=100, deadline=None)
@given(files(), st.sampled_from([*RISKS]))
def test_risky_rows_equal_a_slow_loop(case, name):
    original, (made,), keys, target = case
    sought = sought_of(original, keys, target)
    scorer = scorer_of(sought, risk=name)
    records = sought.coding.encode(made)
    slow = Slow(original, made, keys, target)
    column = made[f"v{target}"]
    targets = [column.variable.labels[code] for code in column.data]
    found = scorer.risky(scorer.count(records), records)
    assert found.tolist() == slow_risky(name, slow, targets)


def test_margins_of_utility_and_risk_are_not_mixed_up():
    sought = sought_of(random_file(80, [6, 5, 3], 4), [0, 1], 2)
    made = sought.coding.encode(random_file(80, [6, 5, 3], 5))
    for utility in UTILITIES:
        for risk in RISKS:
            scorer = scorer_of(sought, utility, risk)
            score = scorer.score(scorer.count(made), len(made))
            assert score.utility == value(UTILITIES[utility](sought), made)
            assert score.risk == value(RISKS[risk](sought), made)
