"""Rules from period to period against slow loops."""

import numpy as np
import pytest

from synthesizer.data.codec import Codec
from synthesizer.data.panel.paths import PathRule, broken_steps, last_observed
from synthesizer.data.table import Kind
from tests.data.panel.panels import full_index, persons_of, random_column, random_index, values_of
from tests.tables import coded


def slow_falls(index, column):
    rank = {label: code for code, label in enumerate(column.variable.levels)}
    falls = []
    for history in persons_of(index, column):
        highest = None
        for period in sorted(history):
            value = history[period]
            observed = value not in column.variable.missing
            now = rank[value] if observed and column.is_coded else value
            falls.append(bool(observed and highest is not None and now < highest))
            if observed:
                highest = now
    return falls


@pytest.mark.parametrize("kind", [Kind.ORDERED, Kind.NUMERIC, Kind.DATE])
@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_falls_below_the_nearest_earlier_observed_value(kind, missing, seed):
    index = random_index(seed=seed, n=60)
    column = random_column(index, kind, seed, missing=missing)
    rule = PathRule(variable="x", non_decreasing=True, text="x never falls")
    assert broken_steps(index, column, [rule]).tolist() == slow_falls(index, column)


@pytest.mark.parametrize("seed", range(3))
def test_steps_that_are_not_allowed(seed):
    index = random_index(seed=seed, n=60)
    column = random_column(index, Kind.CATEGORICAL, seed)
    allowed = np.random.default_rng(seed).random((5, 5)) < 0.6
    rule = PathRule(variable="x", allowed=allowed, text="some steps")
    slow = []
    for history in persons_of(index, column):
        before = None
        for period in sorted(history):
            code = column.variable.labels.index(history[period])
            slow.append(bool(before is not None and not allowed[before, code]))
            before = code
    assert broken_steps(index, column, [rule]).tolist() == slow


@pytest.mark.parametrize("kind", [Kind.ORDERED, Kind.NUMERIC])
def test_last_observed(kind):
    index = random_index(seed=4, n=60)
    column = random_column(index, kind, 4)
    found = values_of(last_observed(index, column))
    slow = []
    for history in persons_of(index, column):
        periods = sorted(history)
        for place in range(len(periods)):
            earlier = [history[t] for t in periods[:place]]
            observed = [v for v in earlier if v not in ("", "-9")]
            slow.append(observed[-1] if observed else history[periods[0]])
    assert found == slow


def test_saved_and_read():
    allowed = np.array([[True, False], [True, True]])
    for rule in (
        PathRule(variable="x", allowed=allowed, text="a never b"),
        PathRule(variable="x", non_decreasing=True, text="never falls"),
    ):
        again = Codec().typed(PathRule, Codec().plain(PathRule, rule))
        column = coded("x", [0, 1, 1, 0], ("a", "b"), kind=Kind.ORDERED)
        index = full_index(2, 2)
        assert broken_steps(index, column, [again]).tolist() == (
            broken_steps(index, column, [rule]).tolist()
        )
    with pytest.raises(ValueError, match="square"):
        PathRule(variable="x", allowed=np.ones((2, 3), dtype=bool))
