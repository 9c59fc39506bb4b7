from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from synthesizer.engine.genetic.evolution import crowding, fitness, fronts, hypervolume, tournament

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


def test_weights_at_both_ends():
    points = np.array([[0.2, 0.9], [0.7, 0.1]])
    np.testing.assert_allclose(fitness(points, weight=1.0), [0.2, 0.7])
    np.testing.assert_allclose(fitness(points, weight=0.0), [0.9, 0.1])


def winning(place, size, probability):
    """The chance of every candidate to win, by all tournaments there are."""
    n = len(place)
    chance = np.zeros(n)
    by_rank = [probability * (1 - probability) ** rank for rank in range(size)]
    by_rank[-1] += 1 - sum(by_rank)
    for entered in product(range(n), repeat=size):
        for rank, one in enumerate(sorted(entered, key=lambda c: place[c])):
            chance[one] += by_rank[rank] / n**size
    return chance


@pytest.mark.parametrize("probability", [0.6, 0.9, 1.0])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_shares_of_wins(size, probability):
    place, n_wins = np.array([2, 0, 3, 1]), 40_000
    rng = np.random.default_rng(size)
    wins = tournament(place, n_wins, size=size, probability=probability, rng=rng)
    assert wins.shape == (n_wins,)
    observed = np.bincount(wins, minlength=4)
    assert chisquare(observed, winning(place, size, probability) * n_wins).pvalue > 1e-3


def test_candidates_of_the_same_place_win_alike():
    wins = tournament(
        np.zeros(5, dtype=int), 20_000, size=3, probability=1.0, rng=np.random.default_rng(1)
    )
    assert chisquare(np.bincount(wins, minlength=5)).pvalue > 1e-3


def test_tournaments_of_one_and_none():
    rng = np.random.default_rng(2)
    assert tournament(np.array([0]), 5, size=2, probability=0.5, rng=rng).tolist() == [0] * 5
    assert tournament(np.array([1, 0]), 0, size=2, probability=1.0, rng=rng).tolist() == []


def dominates(one, other):
    return all(a <= b for a, b in zip(one, other, strict=True)) and any(
        a < b for a, b in zip(one, other, strict=True)
    )


def slow_fronts(points):
    left, front, number = set(range(len(points))), {}, 0
    while left:
        best = {i for i in left if not any(dominates(points[j], points[i]) for j in left)}
        front |= dict.fromkeys(best, number)
        left, number = left - best, number + 1
    return [front[i] for i in range(len(points))]


@settings(max_examples=150)
@given(POINTS)
def test_fronts_equal_the_definition(points):
    assert fronts(points).tolist() == slow_fronts(points.tolist())


def test_equal_points_share_a_front():
    assert fronts(np.full((4, 2), 0.3)).tolist() == [0, 0, 0, 0]
    assert fronts(np.array([[0.1, 0.5], [0.1, 0.4], [0.2, 0.4]])).tolist() == [1, 0, 1]


def slow_crowding(points, front):
    """Deb et al. (2002), section III-B, for points without ties."""
    distance = [0.0] * len(points)
    for number in set(front):
        members = [i for i in range(len(points)) if front[i] == number]
        for objective in range(2):
            order = sorted(members, key=lambda i: points[i][objective])
            first, last = points[order[0]][objective], points[order[-1]][objective]
            distance[order[0]] = distance[order[-1]] = np.inf
            for before, own, after in zip(order, order[1:], order[2:], strict=False):
                gap = points[after][objective] - points[before][objective]
                distance[own] += gap / (last - first)
    return distance


@settings(max_examples=100)
@given(st.integers(1, 20), st.integers(0, 2**31))
def test_crowding_equals_the_definition(n, seed):
    points = np.random.default_rng(seed).permutation(2 * n).reshape(n, 2) / (2 * n)
    front = fronts(points)
    expected = slow_crowding(points.tolist(), front.tolist())
    np.testing.assert_allclose(crowding(points, front), expected, atol=1e-12)


def test_crowding_by_hand():
    points = np.array([[0.0, 1.0], [0.1, 0.6], [0.5, 0.5], [0.9, 0.2], [1.0, 0.0]])
    found = crowding(points, np.zeros(5, dtype=int))
    np.testing.assert_allclose(found, [np.inf, 1.0, 1.2, 1.0, np.inf], atol=1e-12)


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


@settings(max_examples=60)
@given(POINTS, st.randoms())
def test_hypervolume_asks_neither_for_the_order_nor_for_what_is_beaten(points, random):
    order = list(range(len(points)))
    random.shuffle(order)
    volume = hypervolume(points)
    assert hypervolume(points[order]) == pytest.approx(volume, abs=1e-12)
    assert hypervolume(points[fronts(points) == 0]) == pytest.approx(volume, abs=1e-12)
    assert hypervolume(points[:-1]) <= volume + 1e-12


def test_hypervolume_by_simulation():
    points = np.random.default_rng(3).random((6, 2))
    thrown = np.random.default_rng(4).random((40_000, 1, 2))
    share = (points <= thrown).all(axis=2).any(axis=1).mean()
    assert hypervolume(points) == pytest.approx(share, abs=0.01)


def test_hypervolume_at_both_ends():
    assert hypervolume(np.zeros((3, 2))) == 1.0
    assert hypervolume(np.array([[1.0, 0.0], [0.0, 1.0]])) == 0.0
