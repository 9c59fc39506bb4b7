import numpy as np
import pytest

from synthesizer.models.careers.runs import to_runs
from synthesizer.models.careers.support import fit_rules

DATA = np.array([[0, 0, 1, 1], [2, 2, 2, 0]], dtype=np.int32)


def test_states_are_supported_where_somebody_is_in_them():
    rules = fit_rules(DATA, 3)
    found = rules.supported(np.array([0, 2, 3, 0]), np.array([2, 2, 1, 4]))
    assert found.tolist() == [
        [True, False, True],
        [False, True, False],
        [True, True, False],
        [False, False, False],
    ]


@pytest.mark.parametrize("seed", range(6))
def test_feasible_states_agree_with_trying_all_careers(seed):
    rng = np.random.default_rng(seed)
    n_states, periods = 4, 6
    data = rng.integers(0, n_states, size=(3, periods)).astype(np.int32)
    allowed = rng.random((n_states, n_states)) < (0.8 if seed % 2 else 0.4)
    first = rng.random(n_states) < 0.7
    rules = fit_rules(data, n_states, allowed, first)
    drawn = rng.integers(0, 2, size=(20, periods))  # only its lengths are used
    runs = to_runs(drawn)
    found = rules.feasible(runs.first, runs.counts, runs.start, runs.length)
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
    assert found.tolist() == expected


def test_rules_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"allowed \(shape"):
        fit_rules(DATA, 3, np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"first_allowed \(shape"):
        fit_rules(DATA, 3, None, np.ones(2))
