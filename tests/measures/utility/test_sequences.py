import numpy as np
import pytest

from synthesizer.measures.utility.sequences import (
    LINES,
    PERSONS_OF_A_LINE,
    career_lines,
    sequence_distances,
    sequence_distributions,
)


def drawn(seed, n, periods=6, states=3):
    return np.random.default_rng(seed).integers(0, states, size=(n, periods))


def test_nothing_in_common():
    found = sequence_distances([[0, 0]], [[1, 2]], 3)
    assert found.headcounts == found.spells == found.first_last == found.n_moves == 1
    assert found.changes == 1
    assert found.entry is None


def test_one_period_and_what_is_no_matrix_of_states():
    found = sequence_distances([[0], [1]], [[0]], 2)
    assert (found.headcounts, found.transitions, found.changes) == (0.5, 0.0, 0.0)
    for wrong in (np.empty((0, 2), int), [[0, 3]], [[-1, 0]], [0, 1]):
        with pytest.raises(ValueError, match="sequences"):
            sequence_distributions(wrong, 3)
    with pytest.raises(ValueError, match="periods"):
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
