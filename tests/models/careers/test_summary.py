import itertools

import numpy as np
import pytest

from synthesizer.models.careers import replication, summary

FIELDS = (
    "first_period", "last_period", "periods_at_work", "n_states", "n_moves", "first_state",
    "last_state", "most_frequent_state", "n_gaps",
)  # fmt: skip


def slow(row, out):
    """Say the definitions again, one person at a time."""
    work = [t for t, state in enumerate(row) if state != out]
    if not work:
        return (-1, -1, 0, 0, 0, -1, -1, -1, 0)
    first, last = work[0], work[-1]
    inner = row[first : last + 1]
    states = [s for s in row if s != out]
    most = min(set(states), key=lambda s: (-states.count(s), s))
    gaps = sum(1 for s, _ in itertools.groupby(inner) if s == out)
    moves = sum(a != b for a, b in itertools.pairwise(inner))
    return (first, last, len(work), len(set(states)), moves, row[first], row[last], most, gaps)


@pytest.mark.parametrize("out", [0, 2, None])
@pytest.mark.parametrize("seed", range(5))
def test_summary_agrees_with_the_definitions(seed, out):
    data = np.random.default_rng(seed).integers(0, 3, size=(60, 7))
    found = summary(data, out)
    table = np.column_stack([getattr(found, name) for name in FIELDS])
    assert table.tolist() == [list(slow(row, out)) for row in data.tolist()]


def test_nobody_works():
    found = summary(np.zeros((3, 4), dtype=int), 0)
    assert found.first_period.tolist() == [-1] * 3
    assert found.periods_at_work.tolist() == [0] * 3


def test_replication_by_hand():
    data = [[0, 0], [0, 1], [0, 1], [300, 2]]
    drawn = [[0, 0], [0, 0], [0, 1], [1, 1], [300, 2]]
    found = replication(data, drawn)
    assert (found.n_synthetic, found.n_unique) == (5, 2)
    assert found.in_data == pytest.approx(4 / 5)
    assert found.new == pytest.approx(1 / 5)
    assert found.unique == pytest.approx(3 / 5)
    assert found.uniques_replicated == 1.0


def test_replication_of_nothing():
    found = replication([[0, 1]], np.empty((0, 2), dtype=int))
    assert (found.in_data, found.unique, found.uniques_replicated) == (0.0, 0.0, 0.0)
