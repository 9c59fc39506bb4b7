"""Careers inside a panel: presence, gaps, rules, and the frame that they open."""

import numpy as np
import pytest

from synthesizer.data.schema import Kind
from synthesizer.errors import ModelError
from synthesizer.histories.base import Limits, panel_of
from synthesizer.histories.career import Career
from synthesizer.panel.index import PanelIndex
from synthesizer.panel.paths import PathRule, broken_steps
from tests.panel.panels import TIMES, full_index, panel, random_column, random_index
from tests.tables import coded, numeric


def opened(target, index, n=150, rules=(), seed=1, **options):
    model = Career(**options)
    fitted = model.fit_history(panel(index), target, rules, rng=np.random.default_rng(seed))
    persons = panel(PanelIndex.of_persons(n, index.times))
    return fitted.open(persons, rng=np.random.default_rng(seed + 1))


@pytest.mark.parametrize("transition", ["cart", "markov"])
def test_states_and_presence_are_as_frequent_as_in_the_data(transition):
    index = random_index(n=300, share=0.7, seed=1)
    column = random_column(index, Kind.CATEGORICAL, 1)
    found, states = opened(column, index, 300, transition=transition)
    assert abs(found.n_rows / 300 - index.n_rows / 300) < 0.35
    shares = [np.bincount(c.data, minlength=5) / len(c) for c in (column, states)]
    assert np.abs(shares[0] - shares[1]).max() < 0.08
    assert (found.counts > 0).all()


@pytest.mark.parametrize("transition", ["cart", "markov"])
def test_rules_are_kept_across_gaps(transition):
    index = random_index(n=200, share=0.6, seed=2)
    column = random_column(index, Kind.CATEGORICAL, 2)
    allowed = np.ones((5, 5), dtype=bool)
    allowed[0] = np.arange(5) == 0
    allowed[1, 2] = False
    rule = PathRule(variable="x", allowed=allowed, text="rule")
    assert broken_steps(index, column, [rule]).any()
    found, states = opened(column, index, rules=[rule], transition=transition)
    assert not broken_steps(found, states, [rule]).any()


def test_who_reaches_an_absorbing_state_may_leave_but_not_come_back():
    index = random_index(n=200, share=0.6, seed=3)
    column = random_column(index, Kind.CATEGORICAL, 3, missing=False)
    allowed = np.ones((3, 3), dtype=bool)
    allowed[0] = np.arange(3) == 0
    rule = PathRule(variable="x", allowed=allowed, text="never leaves a")
    found, states = opened(column, index, rules=[rule])
    matrix = found.matrix(states.data, 9)
    for row in matrix:
        held = np.flatnonzero(row == 0)
        if len(held):
            after = row[held[0] :]
            assert set(after.tolist()) <= {0, 9}
            assert (np.diff(after) >= 0).all()  # once gone, gone for good


def test_presence_only():
    index = random_index(n=120, share=0.5, seed=4)
    found, states = opened(numeric("year", TIMES[index.period]), index)
    assert states is None
    assert abs(found.counts.mean() - index.counts.mean()) < 0.5


@pytest.mark.parametrize("shape", [(40, 1), (1, 5), (1, 1)])
def test_one_period_and_one_person(shape):
    index = full_index(*shape)
    found, states = opened(coded("x", np.arange(index.n_rows) % 3, ("a", "b", "c")), index, 20)
    assert found.n_persons == 20
    assert np.isin(states.data, [0, 1, 2]).all()


def test_more_states_than_persons_and_one_seen_once():
    index = random_index(n=8, share=0.9, seed=5)
    levels = tuple(f"s{i}" for i in range(index.n_rows))
    found, states = opened(coded("x", np.arange(index.n_rows), levels), index)
    assert found.n_rows == len(states)
    once = np.where(np.arange(index.n_rows) == 3, 1, 0)
    opened(coded("x", once, ("a", "b")), index)


def test_a_career_is_opened_not_sampled():
    index = full_index(20, 3)
    column = coded("x", index.period % 2, ("a", "b"))
    fitted = Career().fit(panel(index), column, rng=np.random.default_rng(1))
    with pytest.raises(ModelError, match="drawn once"):
        fitted.sample(panel(index), rng=np.random.default_rng(1))
    with pytest.raises(ModelError, match="`panel`"):
        panel_of(panel(index).first_rows)


def test_limits_of_a_part_of_the_rows():
    limits = Limits(lambda rows, values: rows % 2 == 0)
    part = limits.of_rows(np.array([1, 2, 4]))
    assert part.judge(np.array([0, 1, 2]), None).tolist() == [False, True, True]
    assert Limits().of_rows(np.array([1])).judge is None
