"""Steps of several variables that have to be seen together, against slow obvious code."""

from itertools import pairwise, product

import numpy as np
import pytest

from synthesizer.models.cart import Cart
from synthesizer.models.domains import Masks
from synthesizer.models.histories.lag_one import LagOne
from synthesizer.models.histories.moves import SeenMoves
from tests.data.panel.panels import full_index, panel, random_index
from tests.models.histories.drawing import drawn_by
from tests.tables import coded

COARSE = Cart(min_leaf=10**6, leaf_regression=False)
"""Knows neither the value before nor any other variable."""
LEVELS = tuple("abcdef")


def ladders(n=500, periods=6):
    """Return plans and grades: plan 1 has the grades of plan 0 in another order."""
    rng = np.random.default_rng(3)
    plans = np.zeros((n, periods), dtype=np.int32)
    grades = np.zeros((n, periods), dtype=np.int32)
    grades[:, 0] = rng.integers(0, 6, n)
    for t in range(1, periods):
        plans[:, t] = np.where(rng.random(n) < 0.1, 1 - plans[:, t - 1], plans[:, t - 1])
        rises = (plans[:, t] == plans[:, t - 1]) & (rng.random(n) < 0.2)
        grades[:, t] = np.where(rises, np.minimum(grades[:, t - 1] + 1, 5), grades[:, t - 1])
        moves = plans[:, t] != plans[:, t - 1]
        grades[moves, t] = 5 - grades[moves, t - 1]
    index = full_index(n, periods)
    return index, coded("plan", plans.ravel(), ("0", "1")), coded("grade", grades.ravel(), LEVELS)


def steps_of(index, plan, grade):
    """Return all steps of both together, by loops."""
    return {
        (*map(int, plan.data[[one, two]]), *map(int, grade.data[[one, two]]))
        for one, two in pairwise(range(index.n_rows))
        if index.person[one] == index.person[two]
    }


def test_steps_are_seen_together_where_that_is_asked_for():
    index, plan, grade = ladders()
    data, seen = panel(index, plan), steps_of(index, plan, grade)
    together = LagOne(base=COARSE, new_moves=False, moves_with=("plan",))
    drawn = drawn_by(together, data, grade)
    actual = steps_of(index, plan, drawn)
    assert {step for step in actual - seen if step[0] != step[1] or step[2] != step[3]} == set()
    rises = np.diff(drawn.data.reshape(index.n_persons, -1), axis=1) > 0
    assert rises.mean() > 0.1  # the others are still made
    alone = drawn_by(LagOne(base=COARSE, new_moves=False), data, grade)
    assert len(steps_of(index, plan, alone) - seen) > 5


@pytest.mark.parametrize("masked", [False, True])
def test_what_is_ahead_is_what_paths_lead_on_from(masked):
    """All paths of every person are walked."""
    rng = np.random.default_rng(4)
    index = random_index(200)
    plan = coded("plan", rng.integers(0, 3, index.n_rows), ("0", "1", "2"))
    grade = coded("grade", rng.integers(0, 3, index.n_rows), ("a", "b", "c"))
    few = np.flatnonzero(index.person < 30)
    moves = SeenMoves.of(panel(index, plan).take_units(np.arange(30)), grade.take(few), ("plan",))
    assert moves is not None
    steps = steps_of(index.take_persons(np.arange(30)), plan, grade)
    contexts = {step[:2] for step in steps}
    closed = rng.random((index.n_rows, 3)) < 0.3 * masked
    closed[closed.all(axis=1)] = False
    ahead = moves.ahead(panel(index, plan), Masks(grade.variable, (lambda rows: ~closed[rows],)))
    assert ahead is not None
    plans = plan.data
    n_narrow = 0
    for start, count in zip(index.starts, index.counts, strict=True):
        rows = range(start, start + count)
        fine = [
            path
            for path in product(range(3), repeat=int(count))
            if not any(closed[row, code] for row, code in zip(rows[1:], path[1:], strict=True))
            and all(
                (one, two, before, after) in steps
                or (one == two and before == after)
                or (one, two) not in contexts
                for (one, before), (two, after) in pairwise(
                    zip(plans[start : start + count], path, strict=True)
                )
            )
        ]
        if fine:
            assert set(np.flatnonzero(ahead[start])) == {path[0] for path in fine}
            n_narrow += len({path[0] for path in fine}) < 3
    assert n_narrow > 20


def test_what_is_ahead_gives_way_where_there_is_no_path():
    index, plan, grade = ladders(n=100)
    moves = SeenMoves.of(panel(index, plan), grade, ("plan",))
    assert moves is not None
    closed = Masks(grade.variable, (lambda rows: np.zeros((len(rows), 6), dtype=bool),))
    assert moves.ahead(panel(index, plan), closed).all()
    alone = SeenMoves.of(panel(index, plan), grade, ())
    assert alone is not None
    assert alone.ahead(panel(index), None) is None


def test_steps_of_one_variable_lead_on_inside_its_limits():
    """Plan a ends in the last period; only b, not c, continues from there: no person is stuck."""
    index = full_index(200, 3)
    rng = np.random.default_rng(5)
    paths = np.array([[0, 1, 1], [0, 0, 1], [1, 1, 1], [2, 2, 2]])[rng.integers(0, 4, 200)]
    plan = coded("plan", paths.ravel(), ("a", "b", "c"))
    moves = SeenMoves.of(panel(index), plan, ())
    assert moves is not None

    def open_codes(rows):
        may = np.ones((len(rows), 3), dtype=bool)
        may[index.period[rows] == 2] = [False, False, True]
        return may

    ahead = moves.ahead(panel(index), Masks(plan.variable, (open_codes,)))
    assert ahead is not None
    assert ahead[index.period == 1].tolist() == [[False, False, True]] * 200
    assert ahead[index.is_first].tolist() == [[False, False, True]] * 200
