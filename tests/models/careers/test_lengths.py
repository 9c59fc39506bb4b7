"""Run lengths: masses of cells, components, and the choice of theta."""

import math

import numpy as np
import pytest
from scipy import stats

from synthesizer.data.codec import Codec
from synthesizer.data.table import Table
from synthesizer.models.careers import lengths
from synthesizer.models.careers.dirichlet import cell, centre, draw_dirichlet
from synthesizer.models.careers.lengths import (
    Components,
    cell_points,
    distinct_patterns,
    fitted_components,
    held_out_groups,
    held_out_patterns,
)
from synthesizer.models.careers.runs import to_runs
from synthesizer.models.cart import Cart
from tests.models.careers.test_dirichlet import compositions
from tests.tables import coded

RNG_SEED = 5
CODEC = Codec()


def frequencies(drawn, every):
    """How often each of some compositions, in order, is drawn."""
    radix = (every.sum(axis=1).max() + 1) ** np.arange(every.shape[1])[::-1]
    keys = every @ radix
    assert (np.diff(keys) > 0).all()
    return np.bincount(np.searchsorted(keys, drawn @ radix), minlength=len(every))


def simulated(alpha, total, every, draws=100_000):
    points = draw_dirichlet(np.tile(alpha, (draws, 1)), rng=np.random.default_rng(1))
    return frequencies(cell(points, total), every) / draws


@pytest.mark.parametrize(("count", "theta"), [(1, 1.0), (3, 20.0), (6, 0.0)])
def test_masses_agree_with_simulation_at_six_periods(count, theta):
    every = compositions(6, count)
    for pattern in (every[0], every[len(every) // 2]):
        alpha = 1 + theta * (7 - count) * centre(pattern[None, :])
        masses = cell_points(every).masses(alpha)[:, 0]
        assert np.abs(masses - simulated(alpha, 6 - count, every)).max() < 0.02
        assert masses.sum() == pytest.approx(1, abs=0.03)


def test_masses_agree_with_simulation_where_cells_are_shifted(monkeypatch):
    theta = 5.0
    monkeypatch.setattr(lengths, "MAX_SIMPLEX_CELLS", 1)
    every = compositions(20, 4)
    pattern = np.array([[8, 0, 3, 5]])
    alpha = 1 + theta * 17 * centre(pattern)
    masses = cell_points(every).masses(alpha)[:, 0]
    expected = simulated(alpha, 16, every)
    assert masses.sum() == pytest.approx(1, abs=0.02)
    assert np.abs(masses - expected).max() < 0.004


@pytest.mark.parametrize(
    ("few", "block"), [(lengths.MAX_SIMPLEX_CELLS, lengths.BLOCK_CELLS), (1, 300)]
)
def test_cells_of_two_runs_are_intervals(few, block, monkeypatch):
    """Of length 1 / (N + 1): masses and mean logarithms are known."""
    monkeypatch.setattr(lengths, "MAX_SIMPLEX_CELLS", few)
    monkeypatch.setattr(lengths, "BLOCK_CELLS", block)
    every, edges = compositions(10, 2), np.arange(10) / 9
    points = cell_points(every[::-1])
    alpha = np.array([[1.0, 1.0], [4.0, 2.0], [0.5, 3.0]])
    expected = np.diff(stats.beta(*alpha.T[:, :, None]).cdf(edges)).T
    gaps = np.abs(points.masses(alpha)[::-1] - expected).max(axis=0)
    assert (gaps < [0.002, 0.002, 0.04]).all()
    area = np.where(edges > 0, edges * np.log(np.maximum(edges, 1e-300)) - edges, 0)
    logs = np.diff(area) * 9
    assert np.abs(points.mean_logs() - np.column_stack([logs[::-1], logs])).max() < 0.03


@pytest.mark.parametrize("count", [2, 4])
def test_every_composition_is_reached_at_theta_five(count):
    every = compositions(6, count)
    part = Components(6 - count, patterns=every, theta=5.0)
    rng = np.random.default_rng(RNG_SEED)
    for start in range(len(every)):
        drawn = part.draw(np.full(30_000, start), rng=rng)
        close = np.abs(every - every[start]).sum(axis=1) <= 2
        assert (frequencies(drawn, every)[close] > 0).all()
    drawn = part.draw(rng.integers(len(every), size=30_000), rng=rng)
    assert (frequencies(drawn, every) > 0).all()


def test_fitted_components_serve_every_person():
    rng = np.random.default_rng(2)
    excess = np.vstack([compositions(20, 3), compositions(20, 3)[:40]])
    patterns, member = distinct_patterns(excess)
    parts, original = fitted_components(patterns, member, 4, rng=rng)
    assert len(original) == len(excess)
    assert sorted(np.unique(original).tolist()) == list(range(len(parts)))
    of_pattern = [set(original[member == pattern]) for pattern in range(len(patterns))]
    assert max(map(len, of_pattern)) > 1  # each person's component is drawn for herself
    drawn = parts.draw(original, rng=rng)
    assert drawn.min() >= 0
    assert (drawn.sum(axis=1) == 17).all()
    again = CODEC.typed(Components, CODEC.plain(Components, parts))
    assert (again.parameters() == parts.parameters()).all()


def sequences_of(excess):
    states = np.tile(np.arange(excess.shape[1]), (len(excess), 1))
    return np.repeat(states.ravel(), (excess + 1).ravel()).reshape(len(excess), -1)


def groups_of(excess, seed=1):
    return held_out_groups(to_runs(sequences_of(excess)), rng=np.random.default_rng(seed))


def best_theta(groups, rng):
    values = held_out_patterns(groups, rng=rng)
    return max(values, key=values.get)


def test_repeated_patterns_want_a_large_theta_and_spread_ones_a_small():
    rng = np.random.default_rng(1)
    spikes = np.repeat([[20, 2, 5], [3, 14, 10], [9, 9, 9]], 30, axis=0)
    spread = cell(draw_dirichlet(np.ones((80, 3)), rng=rng), 27)
    assert best_theta(groups_of(spikes), rng) >= 50 > 5 >= best_theta(groups_of(spread), rng)


def test_of_many_persons_a_sample_without_duplicates_is_held_out(monkeypatch):
    monkeypatch.setattr(lengths, "MAX_PERSONS", 30)
    runs = to_runs((np.arange(60) > np.arange(50)[:, None]).astype(np.int32))
    (group,) = held_out_groups(runs, rng=np.random.default_rng(1))
    assert len(group.patterns) == 30
    assert group.folds.sum(axis=0).tolist() == [1] * 30


def test_held_out_likelihood_of_two_runs_by_beta_distributions():
    """Each pattern's component gives each cell, an interval, the mass of a beta distribution."""
    edges = np.arange(10) / 9
    excess = np.array([[0, 8], [0, 8], [3, 5], [4, 4], [4, 4], [4, 4], [8, 0]])
    groups = groups_of(excess)
    (group,) = groups
    assert group.folds.shape == (5, 4)
    actual = held_out_patterns(groups, (0.05, 0.5, 1.0, 5.0), rng=np.random.default_rng(1))
    first, every = group.patterns[:, 0], np.arange(4)
    assert group.folds.sum(axis=0).tolist() == [(excess[:, 0] == e).sum() for e in first]
    for theta, value in actual.items():
        alpha = 1 + theta * 9 * (group.patterns + 0.5) / 9
        cdf = stats.beta(*alpha.T[:, :, None]).cdf(edges)
        masses = np.diff(cdf)[:, first]  # of component i in cell j
        expected = 0.0
        for held in group.folds:
            share = (group.folds.sum(axis=0) - held) / (7 - held.sum())
            expected += sum(held[j] * np.log(share @ masses[:, j]) for j in every if held[j])
        assert value == pytest.approx(expected, abs=0.5)
    alone = lengths._pattern_masses(np.array([[5]]), None, 1.0, None)
    assert alone.tolist() == [[1.0]]
    original = lengths._pattern_masses(
        group.patterns, cell_points(group.patterns), 100.0, np.random.default_rng(1)
    )
    alpha = 1 + 100.0 * (group.patterns + 0.5)
    cdf = stats.beta(*alpha.T[:, :, None]).cdf(edges)
    assert original.diagonal() == pytest.approx(np.diff(cdf)[every, first], abs=0.08)


def test_fitted_lengths_reproduce_who_has_which():
    """With leaves of one person the sex determines the number of runs, and then the pattern."""
    data = np.repeat([[0, 0, 0, 0, 0], [0, 0, 1, 1, 1], [0, 1, 2, 2, 2]], 4, axis=0)
    person = Table([coded("g", np.repeat(np.arange(3), 4), "abc")])
    fitted, component = lengths.fit_lengths(
        to_runs(data), 5, person, Cart(min_leaf=1, leaf_regression=False, min_holders=0), None,
        math.inf,
        rng=np.random.default_rng(1),
    )  # fmt: skip
    assert fitted.groups.tolist() == [1, 2, 3]
    assert component.shape == (12,)
    assert [part.total for part in fitted.components] == [4, 3, 2]
    counts = fitted.draw_counts(person, rng=np.random.default_rng(2))
    assert counts.tolist() == np.repeat([1, 2, 3], 4).tolist()
    drawn = fitted.draw_lengths(counts, person, rng=np.random.default_rng(3))
    sums = np.add.reduceat(drawn, np.cumsum(counts) - counts)
    assert sums.tolist() == [5] * 12
    assert component.tolist() == [0] * 12
    assert drawn.tolist() == [5] * 4 + [2, 3] * 4 + [1, 1, 3] * 4
    assert (fitted.redraw(counts, component, rng=np.random.default_rng(4)) == drawn).all()


def test_patterns_are_in_the_order_of_their_first_principal_component():
    rng = np.random.default_rng(4)
    points, weights = rng.random((20, 3)), rng.integers(1, 9, 20)
    each = np.repeat(points, weights, axis=0)
    direction = np.linalg.svd(each - each.mean(axis=0))[2][0]
    direction *= np.sign(direction[np.abs(direction).argmax()])
    assert (
        lengths._principal_order(points, weights).tolist()
        == np.argsort(points @ direction).tolist()
    )
    assert lengths._principal_order(np.ones((3, 2)), np.ones(3)).tolist() == [0, 1, 2]
