"""Sequences as runs, and the states that runs may have."""

import numpy as np
import pytest

from synthesizer.models.careers.runs import fit_rules, to_runs, to_sequences


def random_sequences(seed):
    rng = np.random.default_rng(seed)
    n, periods, states = rng.integers(1, 40), rng.integers(1, 90), rng.integers(1, 6)
    return rng.integers(0, states, size=(n, periods)).astype(np.int32)


@pytest.mark.parametrize("seed", range(2))
def test_sequences_survive_the_way_to_runs_and_back(seed):
    data = random_sequences(seed)
    runs = to_runs(data)
    assert (to_sequences(runs, data.shape[1]) == data).all()


@pytest.mark.parametrize("seed", range(2))
def test_runs_agree_with_a_loop(seed):
    data = random_sequences(seed)
    runs = to_runs(data)
    expected = []
    for person, row in enumerate(data):
        starts = [t for t in range(len(row)) if t == 0 or row[t] != row[t - 1]]
        ends = [*starts[1:], len(row)]
        for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
            expected.append((person, index, start, end - start, row[start]))
    actual = zip(runs.person, runs.index, runs.start, runs.length, runs.state, strict=True)
    assert list(actual) == expected
    at = np.arange(len(expected))
    for steps in (1, 2, 3):
        for which, column, none in (("state", 4, 9), ("length", 3, 0)):
            earlier = [expected[i - steps][column] if expected[i][1] >= steps else none for i in at]
            before = runs.state_before(at, steps, 9), runs.length_after(at, -steps)
            assert before[which == "length"].tolist() == earlier
    later = [
        expected[i + 1][3] if i + 1 < len(at) and expected[i + 1][0] == expected[i][0] else 0
        for i in at
    ]
    assert runs.length_after(at, 1).tolist() == later


def test_no_persons():
    runs = to_runs(np.empty((0, 4), dtype=np.int32))
    assert runs.n_persons == 0
    assert to_sequences(runs, 4).shape == (0, 4)


@pytest.mark.parametrize("seed", range(2))
def test_feasible_states_agree_with_trying_all_careers(seed):
    rng = np.random.default_rng(seed)
    n_states, periods = 4, 6
    data = rng.integers(0, n_states, size=(3, periods)).astype(np.int32)
    allowed = rng.random((n_states, n_states)) < (0.8 if seed % 2 else 0.4)
    first = rng.random(n_states) < 0.7
    rules = fit_rules(data, n_states, allowed.astype(int), first.astype(int))
    drawn = rng.integers(0, 2, size=(20, periods))  # only its lengths are used
    runs = to_runs(drawn)
    actual = rules.feasible(runs)
    exists = np.array([[(data[:, t] == a).any() for t in range(periods)] for a in range(n_states)])

    def possible(j, state):
        start, end = runs.start[j], runs.start[j] + runs.length[j]
        if not exists[state, start:end].all():
            return False
        if runs.index[j] == 0 and not first[state]:
            return False
        if runs.index[j] == runs.counts[runs.person[j]] - 1:
            return True
        return any(b != state and allowed[state, b] and possible(j + 1, b) for b in range(n_states))

    expected = [[possible(j, a) for a in range(n_states)] for j in range(len(runs.length))]
    every = np.arange(len(runs.length))
    assert actual[every].tolist() == expected
    assert (
        rules.feasible(runs, np.ones((len(every), n_states), dtype=bool))[every].tolist()
        == expected
    )
    assert actual.any(runs.first).tolist() == [any(expected[j]) for j in runs.first]
    states = rng.integers(0, n_states, len(every))
    assert actual.allows(every, states).tolist() == [expected[j][a] for j, a in enumerate(states)]
