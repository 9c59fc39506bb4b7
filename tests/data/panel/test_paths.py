"""Rules from period to period, and values computed from the past, against slow loops."""

import numpy as np
import pytest

from synthesizer.data.panel.paths import (
    PastValues,
    PathRule,
    broken_steps,
    last_observed,
    past_columns,
)
from synthesizer.data.table import Kind
from tests.data.panel.panels import TIMES, persons_of, random_column, random_index
from tests.tables import values_of


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
@pytest.mark.parametrize("seed", range(2))
def test_falls_below_the_nearest_earlier_observed_value(kind, missing, seed):
    index = random_index(seed=seed, n=60)
    column = random_column(index, kind, seed, missing=missing)
    rule = PathRule(variable="x", non_decreasing=True, text="x never falls")
    assert broken_steps(index, column, [rule]).tolist() == slow_falls(index, column)


@pytest.mark.parametrize("seed", range(2))
def test_steps_that_are_not_allowed(seed):
    index = random_index(seed=seed, n=60)
    column = random_column(index, Kind.CATEGORICAL, seed)
    allowed = np.random.default_rng(seed).random((5, 5)) < 0.6
    rule = PathRule(variable="x", allowed=allowed, text="some steps")
    with pytest.raises(ValueError, match="square"):
        PathRule(variable="x", allowed=allowed[:2])
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
    made = values_of(last_observed(index, column))
    slow = []
    for history in persons_of(index, column):
        periods = sorted(history)
        for period in range(len(periods)):
            earlier = [history[t] for t in periods[:period]]
            observed = [v for v in earlier if v not in ("", "-9")]
            slow.append(observed[-1] if observed else history[periods[0]])
    assert made == slow


CODES = ("", "-9")
KINDS = (Kind.CATEGORICAL, Kind.ORDERED, Kind.BOOLEAN, Kind.NUMERIC, Kind.DATE)


def slow_past(index, column):
    """Last observed value, changes, time since the last, code before: person by person."""
    rows = []
    for history in persons_of(index, column):
        periods = sorted(history)
        for number in range(1, len(periods)):
            earlier = [history[t] for t in periods[:number]]
            moves = [i for i in range(1, number) if earlier[i] != earlier[i - 1]]
            since = TIMES[periods[number]] - TIMES[periods[moves[-1] if moves else 0]]
            observed = [v for v in earlier if v not in CODES]
            before = observed[-1] if observed else earlier[-1]
            code = CODES.index(earlier[-1]) + 1.0 if earlier[-1] in CODES else 0.0
            rows.append((before, float(len(moves)), float(since), code))
    return rows


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("seed", range(2))
def test_columns_equal_slow_code_and_the_replay(kind, missing, seed):
    index = random_index(seed=seed)
    column = random_column(index, kind, seed, missing=missing)
    later = np.flatnonzero(~index.is_first)
    fast = past_columns(index, column, later)
    slow = slow_past(index, column)
    assert len(fast) == 3 + missing
    for number, past in enumerate(fast):
        assert values_of(past) == [row[number] for row in slow]

    memory = PastValues(column.variable, index.n_persons)
    position = {int(row): i for i, row in enumerate(later)}
    for period, rows in enumerate(index.by_period):
        known = rows[~index.is_first[rows]]
        if len(known):
            columns = memory.columns(index.person[known], float(TIMES[period]))
            where = [position[int(row)] for row in known]
            for one, other in zip(columns, fast, strict=True):
                assert one.variable == other.variable
                assert values_of(one) == values_of(other.take(np.array(where)))
        memory.learn(index.person[rows], column.take(rows), float(TIMES[period]))


def test_nearest_observed_value_is_remembered_under_missing_codes():
    index = random_index(n=60, seed=9, share=0.9)
    column = random_column(index, Kind.NUMERIC, 9)
    memory = PastValues(column.variable, index.n_persons)
    histories = persons_of(index, column)
    for period, rows in enumerate(index.by_period):
        memory.learn(index.person[rows], column.take(rows), float(TIMES[period]))
        for person in index.person[rows]:
            history = [v for t, v in sorted(histories[person].items()) if t <= period]
            observed = [v for v in history if not isinstance(v, str)]
            nearest = values_of(memory.known.take(np.array([person])))[0]
            assert nearest == (observed[-1] if observed else history[0])
