"""What the past says of the next value: fitted on the whole panel, replayed in drawing."""

import numpy as np
import pytest

from synthesizer.data.panel.paths import Memory, past_columns
from synthesizer.data.table import Kind
from tests.data.panel.panels import TIMES, persons_of, random_column, random_index, values_of

KINDS = (Kind.CATEGORICAL, Kind.ORDERED, Kind.BOOLEAN, Kind.NUMERIC, Kind.DATE)


def slow_past(index, column):
    """Value before, changes before, time since the last change: person by person."""
    found = []
    for history in persons_of(index, column):
        periods = sorted(history)
        for place in range(1, len(periods)):
            earlier = [history[t] for t in periods[:place]]
            moves = [i for i in range(1, place) if earlier[i] != earlier[i - 1]]
            since = TIMES[periods[place]] - TIMES[periods[moves[-1] if moves else 0]]
            found.append((earlier[-1], float(len(moves)), float(since)))
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_columns_equal_slow_code_and_the_replay(kind, missing, seed):
    index = random_index(seed=seed)
    column = random_column(index, kind, seed, missing=missing)
    later = np.flatnonzero(~index.is_first)
    before, changes, since = past_columns(index, column, later)
    slow = slow_past(index, column)
    assert values_of(before) == [row[0] for row in slow]
    assert changes.data.tolist() == [row[1] for row in slow]
    assert since.data.tolist() == [row[2] for row in slow]

    memory = Memory(column.variable, index.n_persons)
    place = {int(row): i for i, row in enumerate(later)}
    for period, rows in enumerate(index.by_period):
        known = rows[~index.is_first[rows]]
        if len(known):
            told = memory.columns(index.person[known], float(TIMES[period]))
            where = [place[int(row)] for row in known]
            for one, other in zip(told, (before, changes, since), strict=True):
                assert one.variable == other.variable
                assert values_of(one) == values_of(other.take(np.array(where)))
        memory.learn(index.person[rows], column.take(rows), float(TIMES[period]))


def test_nearest_observed_value_is_remembered_under_missing_codes():
    index = random_index(n=60, seed=9, share=0.9)
    column = random_column(index, Kind.NUMERIC, 9)
    memory = Memory(column.variable, index.n_persons)
    histories = persons_of(index, column)
    for period, rows in enumerate(index.by_period):
        memory.learn(index.person[rows], column.take(rows), float(TIMES[period]))
        for person in index.person[rows]:
            own = [v for t, v in sorted(histories[person].items()) if t <= period]
            observed = [v for v in own if not isinstance(v, str)]
            told = values_of(memory.known.take(np.array([person])))[0]
            assert told == (observed[-1] if observed else own[0])
