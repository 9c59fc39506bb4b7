from itertools import product

import numpy as np
import pytest

from synthesizer.models.careers.match import match_cells
from synthesizer.models.careers.runs import to_runs
from synthesizer.models.careers.support import fit_rules, possible_cells, wanted_states


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("out_codes", [(), (0,), (0, 3)])
def test_possible_cells_agree_with_trying_all_careers(seed, out_codes):
    rng = np.random.default_rng(seed)
    n_states, periods = 4, 4
    data = rng.integers(0, n_states, size=(3, periods)).astype(np.int32)
    allowed = rng.random((n_states, n_states)) < (0.7 if seed % 2 else 0.3)
    first = rng.random(n_states) < 0.7
    rules = fit_rules(data, n_states, allowed, first)
    every = np.array(list(product(range(n_states), repeat=periods)), dtype=np.int32)
    exists = np.array([np.isin(every[:, t], data[:, t]) for t in range(periods)]).all(axis=0)
    legal = {
        tuple(cell) for cell in match_cells(every[exists & ~rules.violations(every)], out_codes)
    }
    cells = np.unique(match_cells(every, out_codes), axis=0)
    assert possible_cells(cells, rules, out_codes).tolist() == [tuple(c) in legal for c in cells]


def test_no_cells():
    rules = fit_rules(np.zeros((1, 3), dtype=np.int32), 2)
    assert possible_cells(np.empty((0, 4), dtype=np.int64), rules, ()).tolist() == []


@pytest.mark.parametrize("out_codes", [(), (0,), (0, 2)])
def test_wanted_states_are_those_of_the_careers_in_a_cell(out_codes):
    every = np.array(list(product(range(3), repeat=4)), dtype=np.int32)
    runs, cells = to_runs(every), match_cells(every, out_codes)
    for cell in np.unique(cells, axis=0):
        wanted = wanted_states(np.tile(cell, (len(every), 1)), runs, 3, out_codes)
        fits = np.ones(len(every), dtype=bool)
        np.logical_and.at(fits, runs.person, wanted[np.arange(len(wanted)), runs.state])
        assert (fits == (cells == cell).all(axis=1)).all()
