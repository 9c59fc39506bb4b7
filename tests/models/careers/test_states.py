"""States of runs: shrunk counts, and what trees know of the history."""

import numpy as np
import pytest

from synthesizer.data.table import Table
from synthesizer.models.careers.runs import to_runs
from synthesizer.models.careers.states import (
    RunsToDraw,
    _frequent,
    _spent_before,
    cell_keys,
    fit_chain,
    fit_hierarchy,
    later_predictors,
)


def test_the_chain_is_that_of_slow_counting_at_all_its_levels():
    """First states by (G, length), (G); later ones by what the docstring of `Chain` names."""
    rng = np.random.default_rng(4)
    data = np.repeat(rng.integers(0, 3, size=(150, 3)), 2, axis=1).astype(np.int32)
    data[:, 1] = rng.integers(0, 3, 150)
    runs, states = to_runs(data), 3
    chain = fit_chain(runs, states, 6, 4.0)
    start, length, state = runs.start.tolist(), runs.length.tolist(), runs.state.tolist()
    counts = runs.counts[runs.person].tolist()

    def levels(at):
        g = counts[at]
        if runs.index[at] == 0:
            return [(g, length[at]), (g,), ()]
        before = state[at - 1]
        fine = (before, start[at - 1], length[at - 1], length[at], g)
        return [fine, (before, g, start[at]), (before, start[at]), (before,), ()]

    for are_first in (True, False):
        every = np.flatnonzero((runs.index == 0) == are_first)
        keys = {at: levels(at) for at in every.tolist()}
        actual = chain.probabilities(RunsToDraw(runs, every[:40], np.empty((40, 0)), Table([], 40)))
        for at, chances in zip(every[:40].tolist(), actual, strict=True):
            p, concentration = np.zeros(states), 0.0
            for level in range(len(keys[at]) - 1, -1, -1):
                original = [state[o] for o in every.tolist() if keys[o][level] == keys[at][level]]
                tally = np.bincount(original, minlength=states)
                p = (tally + concentration * p) / (len(original) + concentration)
                concentration = 4.0
            assert chances == pytest.approx(p)
        query = RunsToDraw(runs, every[:1].repeat(20_000), np.empty((20_000, 0)), Table([], 20_000))
        drawn = chain.draw(query, steps=0, rng=rng)
        shares = np.bincount(drawn, minlength=states) / 20_000
        assert shares == pytest.approx(actual[0], abs=0.015)


def test_trees_see_the_history_as_a_loop_tells_it():
    data = np.random.default_rng(3).integers(0, 3, size=(40, 9)).astype(np.int32)
    runs, frequent = to_runs(data), np.array([2, 0], dtype=np.int32)
    at = np.flatnonzero(runs.index > 0)
    spent = _spent_before(runs, frequent)[at]
    table = later_predictors(RunsToDraw(runs, at, spent, Table([], len(at))), 3, frequent)
    for row, position in enumerate(at):
        r, first = runs.index[position], runs.first[runs.person[position]]
        original = slice(first, first + runs.counts[runs.person[position]])
        states, lengths = runs.state[original].tolist(), runs.length[original].tolist()
        expected = {
            "current": states[r - 1],
            "before": states[r - 2] if r > 1 else 3,
            "earlier": states[r - 3] if r > 2 else 3,
            "first": states[0],
            "start": sum(lengths[:r]),
            "current_length": lengths[r - 1],
            "before_length": lengths[r - 2] if r > 1 else 0,
            "length": lengths[r],
            "next_length": lengths[r + 1] if r + 1 < len(lengths) else 0,
            "runs": len(lengths),
            "left": len(lengths) - r - 1,
        }
        for code in (2, 0):
            own_time = [n for s, n in zip(states[:r], lengths[:r], strict=True) if s == code]
            expected[f"spent_{code}"] = sum(own_time)
        assert {name: table[name].data[row] for name in table} == expected


def test_frequent_states_are_those_of_most_periods():
    runs = to_runs([[0, 1, 1, 4, 4], [0, 2, 2, 2, 2], [5, 5, 5, 0, 5]])
    assert _frequent(runs, 7).tolist() == [2, 5, 0, 1, 4]
    many = to_runs(np.repeat([np.arange(12)], 2, axis=0))
    assert _frequent(many, 12).tolist() == list(range(8))


def test_unknown_cells_use_the_coarser_level():
    states, coarse = np.array([0, 0, 1, 2]), np.zeros(4, dtype=np.int64)
    model = fit_hierarchy([np.arange(4), coarse], states, 3, concentration=10.0)
    new = [np.array([10**6]), np.array([0])]
    assert model.probabilities(new)[0] == pytest.approx([0.5, 0.25, 0.25])


def test_keys_have_room_up_to_2_to_the_62():
    last = [np.array([0, 2**31 - 1])] * 2
    assert cell_keys(last, [2**31, 2**31]).tolist() == [0, 2**62 - 1]
    with pytest.raises(ValueError, match="too many"):
        cell_keys([*last, np.zeros(2, dtype=int)], [2**31, 2**31, 2])
