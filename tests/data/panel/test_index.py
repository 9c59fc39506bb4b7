"""The index of a panel against slow loops over rows."""

import numpy as np
import pytest

from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from tests.data.panel.panels import TIMES, full_index, random_index

SEEDS = range(3)


@pytest.mark.parametrize("seed", SEEDS)
def test_positions_and_distances(seed):
    index = random_index(seed=seed)
    last: dict[int, int] = {}
    first, elapsed, counts = [], [], dict.fromkeys(range(index.n_persons), 0)
    for row, (person, period) in enumerate(zip(index.person, index.period, strict=True)):
        first.append(person not in last)
        elapsed.append(TIMES[period] - TIMES[last[person]] if person in last else 0.0)
        if person not in last:
            assert index.starts[person] == row
        last[person] = period
        counts[person] += 1
    assert index.is_first.tolist() == first
    assert index.elapsed.tolist() == elapsed
    assert index.counts.tolist() == list(counts.values())
    values = np.random.default_rng(seed).integers(0, 4, index.n_rows)
    matrix = np.full((index.n_persons, len(TIMES)), 9)
    for row in range(index.n_rows):
        matrix[index.person[row], index.period[row]] = values[row]
    assert index.matrix(values, 9).tolist() == matrix.tolist()
    again = PanelIndex.of_presence(index.matrix(np.zeros(index.n_rows), 1) == 0, TIMES)
    assert np.array_equal(again.person, index.person)
    assert np.array_equal(again.period, index.period)


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_by_period_and_by_person(seed):
    index = random_index(seed=seed)
    assert len(index.by_period) == len(TIMES)
    for period, rows in enumerate(index.by_period):
        assert rows.tolist() == [r for r in range(index.n_rows) if index.period[r] == period]
    chosen = np.random.default_rng(seed).integers(index.n_persons, size=12)
    slow = [r for p in chosen for r in range(index.n_rows) if index.person[r] == p]
    assert index.rows_of(chosen).tolist() == slow
    taken = index.take_persons(chosen)
    assert taken.n_persons == 12
    assert taken.period.tolist() == index.period[slow].tolist()
    assert taken.counts.tolist() == index.counts[chosen].tolist()
    assert (np.diff(taken.person) >= 0).all()
    assert taken.times is index.times


@pytest.mark.parametrize("seed", SEEDS)
def test_copies_of_a_person_in_a_bootstrap_sample_have_one_owner(seed):
    panel = PanelTable([], random_index(seed=seed))
    drawn = np.random.default_rng(seed).integers(panel.n_units, size=panel.n_units)
    sample = panel.resampled(drawn)
    assert sample.owners.tolist() == drawn[sample.index.person].tolist()
    some = np.arange(0, panel.n_units, 2)
    taken = sample.take_units(some)
    assert taken.owners.tolist() == drawn[some][taken.index.person].tolist()
    early = sample.until(2)
    assert early.owners.tolist() == sample.owners[sample.index.period < 2].tolist()


def test_one_person_and_one_period():
    index = full_index(1, 1)
    assert index.is_first.tolist() == [True]
    assert index.elapsed.tolist() == [0.0]
    closed = PanelIndex.of_persons(3, TIMES)
    empty = index.take_persons(np.zeros(0, dtype=np.int64))
    assert (empty.n_rows, empty.n_persons, [*map(len, empty.by_period)]) == (0, 0, [0])
    assert (closed.n_rows, closed.is_open, closed.is_first.all()) == (3, False, True)
