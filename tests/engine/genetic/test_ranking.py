from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizer.engine.genetic.evolution import crowding, fitness, fronts, hypervolume, ranking
from synthesizer.engine.genetic.genetic_options import GeneticOptions
from tests.engine.genetic.test_selection import POINTS

LIMITS = st.sampled_from([0.0, 0.25, 0.5, 1.0])


def assert_places(ranks, n):
    assert sorted(ranks.order.tolist()) == list(range(n))
    assert [int(ranks.place[i]) for i in ranks.order] == list(range(n))


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


def test_a_floor_of_nothing_is_the_algorithm_of_the_paper():
    points = np.array([[0.3, 0.0], [0.2, 0.2]])
    assert ranking(points, GeneticOptions(risk_floor=0.0)).chosen == 1
    assert ranking(points, GeneticOptions(risk_floor=0.2)).chosen == 1
    points = np.array([[0.3, 0.0], [0.29, 0.1]])
    assert ranking(points, GeneticOptions(risk_floor=0.0)).chosen == 0
    assert ranking(points, GeneticOptions(risk_floor=0.1)).chosen == 1


def test_the_aim_falls_from_risk_to_utility_when_the_limit_is_met():
    options = GeneticOptions(risk_at_most=0.4)
    above = ranking(np.array([[0.1, 0.9], [0.2, 0.5]]), options)
    below = ranking(np.array([[0.1, 0.9], [0.95, 0.4]]), options)
    assert (above.aim, above.chosen) == (1.5, 1)
    assert (below.aim, below.chosen) == (0.95, 1)
    assert below.aim < above.aim


def test_a_limit_is_met_by_what_equals_it():
    assert (
        ranking(np.array([[0.5, 0.3], [0.1, 0.31]]), GeneticOptions(risk_at_most=0.3)).chosen == 0
    )
