import numpy as np
import pytest

from synthesizer.measures.risk.replicated import replication


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
