import numpy as np
import pytest

from synthesizer.measures.utility.sequences import (
    LINES,
    MEASURES,
    PERSONS_OF_A_LINE,
    career_lines,
    mean_distances,
    noise_floor,
    sequence_distances,
    sequence_distributions,
)
from tests.careers_by_hand import cells, distance


def drawn(seed, n, periods=6, states=3):
    return np.random.default_rng(seed).integers(0, states, size=(n, periods))


@pytest.mark.parametrize("seed", range(4))
def test_distances_agree_with_loops(seed):
    one, other = drawn(seed, 30), drawn(seed + 100, 45)
    found = sequence_distances(one, other, 3, out_code=1)
    for name in MEASURES:
        first, second = (cells(name, data.tolist(), out=1) for data in (one, other))
        assert getattr(found, name) == pytest.approx(distance(first, second)), name


def test_equal_careers_have_no_distance_whatever_their_order_and_number():
    data = drawn(1, 20)
    twice = np.concatenate([data[::-1], data])
    found = sequence_distances(data, twice, 3, out_code=0)
    assert all(getattr(found, name) == pytest.approx(0) for name in MEASURES)


def test_nothing_in_common():
    found = sequence_distances([[0, 0]], [[1, 2]], 3)
    assert found.headcounts == found.spells == found.first_last == found.n_moves == 1
    assert found.changes == 1
    assert found.entry is None


def test_one_period():
    found = sequence_distances([[0], [1]], [[0]], 2)
    assert (found.headcounts, found.transitions, found.changes) == (0.5, 0.0, 0.0)


def test_blocks_change_nothing(monkeypatch):
    data = drawn(2, 50)
    whole = sequence_distributions(data, 3, out_code=0)
    monkeypatch.setattr("synthesizer.measures.utility.sequences.BLOCK_PERSONS", 7)
    parts = sequence_distributions(data, 3, out_code=0)
    for name in MEASURES:
        assert np.allclose(whole[name], parts[name])


def test_the_noise_floor_falls_with_the_size():
    data = drawn(3, 100)
    small = noise_floor(data, 3, seed=1)
    large = noise_floor(data, 3, n_persons=10_000, seed=1)
    assert small.headcounts > 3 * large.headcounts > 0
    again = noise_floor(data, 3, seed=1)
    assert again == small


def test_means():
    one = sequence_distances([[0, 0]], [[0, 1]], 2)
    other = sequence_distances([[0, 0]], [[0, 0]], 2)
    assert mean_distances([one, other]).headcounts == 0.25


@pytest.mark.parametrize("data", [np.empty((0, 2), int), [[0, 3]], [[-1, 0]], [0, 1]])
def test_wrong_sequences_are_refused(data):
    with pytest.raises(ValueError, match="sequences must h"):
        sequence_distributions(data, 3)


def test_different_periods_are_refused():
    with pytest.raises(ValueError, match="same number of periods"):
        sequence_distances([[0, 1]], [[0]], 2)


def test_a_line_of_careers_is_that_of_ten_persons_or_more():
    rng = np.random.default_rng(1)
    usual = np.repeat([[0, 0, 1], [1, 1, 1]], 50, axis=0)
    lone = np.array([[2, 3, 2]])  # a career that one person has
    lines = career_lines(rng.permutation(np.concatenate([usual, lone])))
    assert len(lines) == 101 // PERSONS_OF_A_LINE
    assert {tuple(line) for line in lines.tolist()} == {(0, 0, 1), (1, 1, 1)}
    assert career_lines(usual[:9]).shape == (0, 3)
    assert len(career_lines(np.repeat(usual, 100, axis=0))) == LINES
