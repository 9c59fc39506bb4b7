"""Exact joint counts of first and last periods and states: filled, and which can be had."""

from itertools import product

import numpy as np
import pytest

from synthesizer.models.careers.quota import (
    Quota,
    draw_matched,
    match_cells,
    possible_cells,
    take_quota,
    unfilled,
    wanted_states,
)
from synthesizer.models.careers.runs import fit_rules, to_runs


@pytest.mark.parametrize("out_codes", [(), (0, 2)])
def test_cells_against_a_loop(out_codes):
    for row in product(range(3), repeat=4):
        work = [t for t, state in enumerate(row) if state not in out_codes]
        cell = [work[0], row[work[0]], work[-1], row[work[-1]]] if work else [-1] * 4
        assert match_cells([row], out_codes).tolist() == [cell]


def drawn(seed, n, periods=5):
    return np.random.default_rng(seed).integers(0, 3, size=(n, periods)).astype(np.int32)


def test_every_person_keeps_an_own_career():
    data = drawn(4, 200)
    quota = Quota.of(data, [0])
    owners = np.tile(np.arange(200), 5)
    cells = match_cells(drawn(5, 1000), [0])
    chosen = take_quota(quota, cells, owners, 200, rng=np.random.default_rng(1))
    assert (owners[chosen] == np.arange(200)).all()
    positions = {tuple(cell): k for k, cell in enumerate(quota.cells.tolist())}

    def misfit(rows):
        counts = np.zeros(len(positions) + 1)
        np.add.at(
            counts, [positions.get(tuple(c), len(positions)) for c in cells[rows].tolist()], 1
        )
        return np.abs(counts[:-1] - quota.counts).sum()

    assert misfit(chosen) < 0.6 * misfit(np.arange(200))


def test_quotas_are_scaled_to_another_size():
    quota = Quota(np.zeros((3, 4), dtype=int), np.array([5, 3, 2]))
    assert quota.scaled(10).tolist() == [5, 3, 2]
    assert quota.scaled(7).sum() == 7
    assert quota.scaled(20).tolist() == [10, 6, 4]


@pytest.mark.parametrize(("is_owned", "oversample"), [(False, 1), (True, 3)])
def test_places_that_stay_empty_are_drawn_for_on_purpose(is_owned, oversample):
    data, rng = drawn(1, 60), np.random.default_rng(2)
    quota = Quota.of(data, [0])
    known = match_cells(data, [0])

    def draw(people):
        return rng.integers(0, 3, size=(len(people), 5)).astype(np.int32)

    def draw_within(people, cells):
        assert len(people) == len(cells) < 60
        rows = [int(np.flatnonzero((known == cell).all(axis=1))[0]) for cell in cells]
        return data[rows], np.arange(len(cells)) > 0  # the first is not found

    actual = draw_matched(
        quota, draw, draw_within, [0], 60, oversample=oversample, is_owned=is_owned,
        rng=np.random.default_rng(3),
    )  # fmt: skip
    assert unfilled(quota, match_cells(actual, [0])) == 1


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("out_codes", [(), (0, 3)])
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


@pytest.mark.parametrize("out_codes", [(), (0, 2)])
def test_wanted_states_are_those_of_the_careers_in_a_cell(out_codes):
    every = np.array(list(product(range(3), repeat=4)), dtype=np.int32)
    runs, cells = to_runs(every), match_cells(every, out_codes)
    for cell in np.unique(cells, axis=0):
        wanted = wanted_states(np.tile(cell, (len(every), 1)), runs, 3, out_codes)
        fits = np.ones(len(every), dtype=bool)
        np.logical_and.at(fits, runs.person, wanted[np.arange(len(wanted)), runs.state])
        assert (fits == (cells == cell).all(axis=1)).all()


def test_quotas_are_filled_where_there_are_candidates():
    data, candidates = drawn(1, 50), np.concatenate([drawn(1, 50), drawn(2, 400)])
    quota = Quota.of(data, [0])
    cells = match_cells(candidates, [0])
    chosen = take_quota(quota, cells, None, 50, rng=np.random.default_rng(3))
    assert len(np.unique(chosen)) == 50
    again = Quota.of(candidates[chosen], [0])
    assert again.cells.tolist() == quota.cells.tolist()
    assert again.counts.tolist() == quota.counts.tolist()


def test_no_person_counts_twice_in_a_quota():
    """A person with three careers of a cell uses one place of it, so that others find theirs."""
    cells = np.array([[0, 1, 3, 1], [0, 2, 3, 2]])
    quota, n = Quota(cells, np.array([10, 30])), 40
    positions, owners = np.tile([0, 0, 0, 1], n), np.repeat(np.arange(n), 4)
    chosen = take_quota(quota, cells[positions], owners, n, rng=np.random.default_rng(1))
    assert np.bincount(positions[chosen]).tolist() == [10, 30]
