import numpy as np
import pytest

from synthesizer.data.errors import DataError
from synthesizer.models.careers.runs import check_sequences, pattern_keys, to_runs, to_sequences


def random_sequences(seed):
    rng = np.random.default_rng(seed)
    n, periods, states = rng.integers(1, 40), rng.integers(1, 90), rng.integers(1, 6)
    return rng.integers(0, states, size=(n, periods)).astype(np.int32)


@pytest.mark.parametrize("seed", range(30))
def test_sequences_survive_the_way_to_runs_and_back(seed):
    data = random_sequences(seed)
    runs = to_runs(data)
    assert (to_sequences(runs, data.shape[1]) == data).all()
    again = to_runs(to_sequences(runs, data.shape[1]))
    for name in ("counts", "length", "state", "person", "index", "start", "first"):
        assert (getattr(again, name) == getattr(runs, name)).all(), name


@pytest.mark.parametrize("seed", range(5))
def test_runs_agree_with_a_loop(seed):
    data = random_sequences(seed)
    runs = to_runs(data)
    expected = []
    for person, row in enumerate(data):
        starts = [t for t in range(len(row)) if t == 0 or row[t] != row[t - 1]]
        ends = [*starts[1:], len(row)]
        for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
            expected.append((person, index, start, end - start, row[start]))
    found = zip(runs.person, runs.index, runs.start, runs.length, runs.state, strict=True)
    assert list(found) == expected


def test_the_careers_of_the_paper():
    """Table 1 of the paper: 0 is out of work, A, B, C are 1, 2, 3."""
    runs = to_runs([[0, 0, 1, 1, 0, 0, 3, 3, 3, 3]])
    assert runs.start.tolist() == [0, 2, 4, 6]
    assert runs.state.tolist() == [0, 1, 0, 3]


def test_equal_keys_mean_equal_lengths():
    data = random_sequences(3)
    keys, runs = pattern_keys(data), to_runs(data)
    for i in range(len(data)):
        for j in range(len(data)):
            same = runs.length[runs.person == i].tolist() == runs.length[runs.person == j].tolist()
            assert bool(keys[i] == keys[j]) == same


def test_nobody():
    runs = to_runs(np.empty((0, 4), dtype=np.int32))
    assert runs.n_persons == 0
    assert to_sequences(runs, 4).shape == (0, 4)


@pytest.mark.parametrize(
    "data", [np.empty((0, 3), int), np.zeros((3, 0), int), [[0.5]], [[-1]], [[2]], [0, 1]]
)
def test_bad_sequences_are_refused(data):
    with pytest.raises(DataError, match="sequences must h"):
        check_sequences(data, 2)
