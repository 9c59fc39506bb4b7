from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizer.data.table import Table
from synthesizer.measures.risk.determined import KeyDetermination, determined, told_share
from tests.tables import coded, numeric


def slow(keys, targets):
    """Shared, determined, told and guessed records, the chance by the sum, the told share."""
    levels = defaultdict(list)
    for key, target in zip(keys, targets, strict=True):
        levels[key].append(target)
    shared = [level for level in levels.values() if len(level) > 1]
    pure = sum(len(level) for level in shared if len(set(level)) == 1)
    chance = 1.0
    for level in shared:
        chance *= sum((targets.count(t) / len(targets)) ** len(level) for t in set(targets))
    told = sum(max(level.count(t) for t in level) for level in shared)
    mode = max(sorted(set(targets)), key=targets.count)
    guessed = sum(level.count(mode) for level in shared)
    share = (told + sum(len(level) == 1 for level in levels.values())) / len(keys)
    return (sum(len(level) for level in shared), pure, told, guessed), chance, share


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_equals_slow_counting(data):
    n = data.draw(st.integers(2, 25))
    a, b, t = (data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)) for _ in range(3))
    if len(set(t)) == 1:
        return
    table = Table([coded("a", a, "wxy", missing=("N",)), numeric("b", b), coded("t", t, "wxyz")])
    result = determined(table, ["a", "b"], "t")
    every = [(a, result.single[0]), (b, result.single[1])]
    every.append((list(zip(a, b, strict=True)), result.together))
    for keys, found in every:
        expected, chance, _ = slow(keys, t)
        assert (found.shared, found.determined, found.told, found.guessed) == expected
        assert found.chance == pytest.approx(chance, rel=1e-9)
    assert told_share(table["a"], table["t"]) == pytest.approx(slow(a, t)[2])


def test_rules_with_exceptions_are_not_taken_for_construction():
    """Keys that tell 95 of 100 targets, and few that share a key: that none differs is chance."""
    rng = np.random.default_rng(4)
    flagged = 0
    for _ in range(50):
        first, second = rng.integers(0, 120, 400), rng.integers(0, 100, 400)
        noisy = np.where(rng.random(400) < 0.95, (first + second) % 5, rng.integers(0, 5, 400))
        table = Table([numeric("a", first), numeric("b", second), coded("t", noisy, list("vwxyz"))])
        flagged += bool(determined(table, ["a", "b"], "t").telling)
    assert flagged == 0


def test_two_keys_that_tell_together_are_named():
    rng = np.random.default_rng(5)
    n = 500
    one, two = rng.integers(0, 5, n), rng.integers(0, 4, n)
    table = Table(
        [
            coded("one", one, "abcde"),
            coded("two", two, "abcd"),
            numeric("all", np.arange(n)),
            coded("t", (one + two) % 3, "xyz"),
        ]
    )
    result = determined(table, ["one", "two", "all"], "t")
    assert result.telling == (("one", "two"),)


def test_limits_of_what_is_enough_nearly_and_by_chance():
    def entry(shared, told, guessed, chance=0.0):
        return KeyDetermination(
            keys=("k",), shared=shared, determined=told, told=told, guessed=guessed, chance=chance
        )

    assert entry(90, 90, 0).by_construction
    assert not entry(89, 89, 0).by_construction
    assert not entry(90, 90, 0, chance=0.001).by_construction
    assert entry(90, 90, 0, chance=0.00099).by_construction
    # Two exceptions in 200, and ten times as many by guessing.
    assert entry(200, 198, 179).nearly
    assert not entry(200, 198, 180).nearly
    assert not entry(200, 197, 100).nearly
    assert not entry(89, 89, 0).nearly


@pytest.mark.parametrize(("n_keys", "pairs"), [(12, 66), (13, 0)])
def test_pairs_of_up_to_twelve_keys_are_looked_at(n_keys, pairs):
    keys = [f"k{place}" for place in range(n_keys)]
    table = Table([coded(name, [0, 1, 1], "ab") for name in (*keys, "t")])
    assert len(determined(table, keys, "t").pairs) == pairs
