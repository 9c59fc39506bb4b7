from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from synthesizer.extensions.genetic.evolution import (
    Candidate,
    _survivors,
    crowding,
    fitness,
    fronts,
    hypervolume,
    ranking,
    tournament,
)
from synthesizer.extensions.genetic.genetic_options import GeneticOptions
from synthesizer.extensions.genetic.scores import Score

GRID = 8
POINTS = st.lists(
    st.tuples(st.integers(0, GRID), st.integers(0, GRID)), min_size=1, max_size=14
).map(lambda points: np.array(points) / GRID)


@given(POINTS, st.floats(0, 1))
def test_fitness_is_the_weighted_distance_from_the_origin(points, weight):
    for (u, r), value, even in zip(
        points, fitness(points, weight=weight), fitness(points), strict=True
    ):
        assert value == pytest.approx(np.sqrt(weight * u**2 + (1 - weight) * r**2), abs=1e-9)
        assert even == pytest.approx(np.hypot(u, r) / np.sqrt(2), abs=1e-12)
        assert 0 <= value <= 1 + 1e-12


def winning(positions, size, probability):
    """The chance of every candidate to win, by all tournaments there are."""
    n = len(positions)
    chance = np.zeros(n)
    by_rank = [probability * (1 - probability) ** rank for rank in range(size)]
    by_rank[-1] += 1 - sum(by_rank)
    for entered in product(range(n), repeat=size):
        for rank, one in enumerate(sorted(entered, key=lambda c: positions[c])):
            chance[one] += by_rank[rank] / n**size
    return chance


@pytest.mark.parametrize(("size", "probability"), [(2, 1.0), (3, 0.6)])
def test_shares_of_wins(size, probability):
    positions, n_wins = np.array([2, 0, 3, 1]), 40_000
    rng = np.random.default_rng(size)
    wins = tournament(positions, n_wins, size=size, probability=probability, rng=rng)
    assert wins.shape == (n_wins,)
    observed = np.bincount(wins, minlength=4)
    assert chisquare(observed, winning(positions, size, probability) * n_wins).pvalue > 1e-3


def dominates(one, other):
    return all(a <= b for a, b in zip(one, other, strict=True)) and any(
        a < b for a, b in zip(one, other, strict=True)
    )


def slow_fronts(points):
    remaining, front, number = set(range(len(points))), {}, 0
    while remaining:
        best = {i for i in remaining if not any(dominates(points[j], points[i]) for j in remaining)}
        front |= dict.fromkeys(best, number)
        remaining, number = remaining - best, number + 1
    return [front[i] for i in range(len(points))]


@settings(max_examples=150)
@given(POINTS)
def test_fronts_equal_the_definition(points):
    assert fronts(points).tolist() == slow_fronts(points.tolist())


def slow_crowding(points, front):
    """Deb et al. (2002), section III-B, for points without ties."""
    distance = [0.0] * len(points)
    for number in set(front):
        members = [i for i in range(len(points)) if front[i] == number]
        for objective in range(2):
            order = sorted(members, key=lambda i: points[i][objective])
            first, last = points[order[0]][objective], points[order[-1]][objective]
            distance[order[0]] = distance[order[-1]] = np.inf
            for before, middle, after in zip(order, order[1:], order[2:], strict=False):
                gap = points[after][objective] - points[before][objective]
                distance[middle] += gap / (last - first)
    return distance


@settings(max_examples=100)
@given(st.integers(1, 20), st.integers(0, 2**31))
def test_crowding_equals_the_definition(n, seed):
    points = np.random.default_rng(seed).permutation(2 * n).reshape(n, 2) / (2 * n)
    front = fronts(points)
    expected = slow_crowding(points.tolist(), front.tolist())
    np.testing.assert_allclose(crowding(points, front), expected, atol=1e-12)


def test_crowding_of_equal_points():
    """No width is no distance; what lies between two equal points has none either."""
    same = crowding(np.full((4, 2), 0.5), np.zeros(4, dtype=int))
    assert sorted(same.tolist()) == [0, 0, np.inf, np.inf]
    points = np.array([[0.0, 1.0], [0.4, 0.5], [0.4, 0.5], [0.4, 0.5], [1.0, 0.0]])
    assert min(crowding(points, np.zeros(5, dtype=int))[1:4]) == 0


@settings(max_examples=150)
@given(POINTS)
def test_hypervolume_equals_counting_squares(points):
    corners = np.round(points * GRID).astype(int)
    beaten = sum(
        any(u <= x and r <= y for u, r in corners) for x in range(GRID) for y in range(GRID)
    )
    assert hypervolume(points) == pytest.approx(beaten / GRID**2, abs=1e-12)


LIMITS = st.sampled_from([0.0, 0.25, 0.5, 1.0])


def assert_places(ranks, n):
    assert sorted(ranks.order.tolist()) == list(range(n))
    assert [int(ranks.positions[i]) for i in ranks.order] == list(range(n))


def floored(points, floor):
    return np.maximum(points, [0.0, floor])


@given(POINTS, st.sampled_from([0.0, 0.3, 0.5, 1.0]), LIMITS)
def test_single_sorts_by_fitness(points, weight, floor):
    ranks = ranking(points, GeneticOptions(weight=weight, risk_floor=floor))
    value = fitness(floored(points, floor), weight=weight)
    assert_places(ranks, len(points))
    assert (np.diff(value[ranks.order]) >= 0).all()
    assert value[ranks.chosen] == ranks.aim == value.min()
    assert ranks.chosen == ranks.order[0]
    np.testing.assert_array_equal(ranks.front, fronts(points))


def assert_by_dominance(ranks, points):
    front, distance = fronts(points), crowding(points, fronts(points))
    assert_places(ranks, len(points))
    np.testing.assert_array_equal(ranks.front, front)
    for one, other in zip(ranks.order, ranks.order[1:], strict=False):
        assert (front[one], -distance[one]) <= (front[other], -distance[other])


@settings(max_examples=80)
@given(POINTS, LIMITS | st.none())
def test_pareto_sorts_by_front_and_crowding(points, limit):
    ranks = ranking(points, GeneticOptions(mode="pareto", risk_at_most=limit))
    assert_by_dominance(ranks, points)
    assert ranks.aim == -hypervolume(points)


@settings(max_examples=80)
@given(POINTS, LIMITS)
def test_a_limit_is_searched_by_dominance_and_less_risk_is_worth_nothing(points, limit):
    floored = np.column_stack((points[:, 0], np.maximum(points[:, 1], limit)))
    ranks = ranking(points, GeneticOptions(risk_at_most=limit))
    assert ranks.front.tolist() == fronts(points).tolist()
    assert_by_dominance(replace(ranks, front=fronts(floored)), floored)


@given(POINTS, LIMITS, st.sampled_from(["single", "pareto"]))
def test_chosen_is_the_most_useful_within_the_limit_or_the_safest(points, limit, mode):
    ranks = ranking(points, GeneticOptions(mode=mode, risk_at_most=limit))
    utility, risk = points[ranks.chosen]
    within = points[points[:, 1] <= limit]
    if len(within):
        assert risk <= limit
        assert utility == within[:, 0].min()
    else:
        assert risk == points[:, 1].min()


@given(POINTS)
def test_without_a_limit_the_lowest_fitness_is_chosen(points):
    chosen = ranking(points, GeneticOptions(mode="pareto", weight=0.3)).chosen
    value = fitness(points, weight=0.3)
    assert value[chosen] == value.min()


@given(POINTS, st.sampled_from(["single", "pareto"]))
def test_below_the_floor_utility_decides(points, mode):
    utility, risk = points[ranking(points, GeneticOptions(mode=mode, risk_floor=0.5)).chosen]
    safe = points[points[:, 1] <= 0.5]
    if risk <= 0.5:
        assert utility == safe[:, 0].min()
    else:  # it must be the more useful
        assert not len(safe) or utility < safe[:, 0].min()


def test_the_aim_falls_from_risk_to_utility_when_the_limit_is_met():
    options = GeneticOptions(risk_at_most=0.4)
    above = ranking(np.array([[0.1, 0.9], [0.2, 0.5]]), options)
    below = ranking(np.array([[0.1, 0.9], [0.95, 0.4]]), options)
    assert (above.aim, above.chosen) == (1.5, 1)
    assert (below.aim, below.chosen) == (0.95, 1)
    assert below.aim < above.aim


def test_the_result_takes_the_place_of_the_last_who_would_stay():
    """Five on the front, of whom three stay; by utility and risk the crowded one is best."""
    points = [(0.0, 1.0), (1.0, 0.0), (0.3, 0.3), (0.29, 0.32), (0.32, 0.29)]
    people = [Candidate(None, (), Score(*point)) for point in points]
    options = GeneticOptions(mode="pareto", risk_floor=0.0)
    first = ranking(np.array(points), options)
    assert (first.chosen, first.order[-1]) == (2, 2)
    survivors, ranks = _survivors(people[:3], first, people[3:], options)
    assert survivors == [*(people[i] for i in first.order[:2]), people[2]]
    assert ranks.chosen == 2
