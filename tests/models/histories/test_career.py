"""Careers inside a panel: presence, gaps, rules, and the frame that they open."""

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest

from synthesizer.data.panel.panel_table import PanelIndex
from synthesizer.data.panel.paths import PathRule, broken_steps
from synthesizer.data.table import Kind
from synthesizer.models.careers.career import Career, _steps
from synthesizer.models.careers.runs import fit_rules
from tests.data.panel.panels import TIMES, panel, random_column, random_index
from tests.tables import coded, numeric


def fitted_careers(target, index, rules=(), seed=1, **options):
    model = Career(**options)
    return model.fit_history(panel(index), target, rules, rng=np.random.default_rng(seed))


def opened(target, index, n=150, rules=(), seed=1, **options):
    return drawn_from(fitted_careers(target, index, rules, seed, **options), index, n, seed)


def drawn_from(fitted, index, n, seed=1):
    persons = panel(PanelIndex.of_persons(n, index.times))
    return fitted.open(persons, rng=np.random.default_rng(seed + 1))


@pytest.mark.parametrize("transition", ["cart", "markov"])
def test_states_and_presence_are_as_frequent_as_in_the_data(transition):
    index = random_index(n=300, share=0.7, seed=1)
    column = random_column(index, Kind.CATEGORICAL, 1)
    actual, states = opened(column, index, 300, transition=transition)
    assert abs(actual.n_rows / 300 - index.n_rows / 300) < 0.35
    shares = [np.bincount(c.data, minlength=5) / len(c) for c in (column, states)]
    assert np.abs(shares[0] - shares[1]).max() < 0.08
    assert (actual.counts > 0).all()


@pytest.mark.parametrize("transition", ["cart", "markov"])
def test_rules_are_kept_across_gaps(transition):
    index = random_index(n=200, share=0.6, seed=2)
    column = random_column(index, Kind.CATEGORICAL, 2)
    allowed = np.ones((5, 5), dtype=bool)
    allowed[0] = np.arange(5) == 0
    allowed[1, 2] = False
    rule = PathRule(variable="x", allowed=allowed, text="rule")
    assert broken_steps(index, column, [rule]).any()
    actual, states = opened(column, index, rules=[rule], transition=transition)
    assert not broken_steps(actual, states, [rule]).any()


@pytest.mark.parametrize("seed", range(3))
def test_careers_are_legal_exactly_where_no_row_breaks_a_rule(seed):
    rng = np.random.default_rng(seed)
    n, periods = 3, 4
    allowed = (rng.random((n, n)) < 0.6) | np.eye(n, dtype=bool)
    steps = _steps([PathRule(variable="x", allowed=allowed)], n)
    every = np.array(list(product(range(n + 1), repeat=periods)), dtype=np.int32)
    every = every[(every < n).any(axis=1)]
    coded_gaps = steps.with_gaps(every)
    rules = fit_rules(coded_gaps, len(steps.allowed), steps.allowed, steps.first)
    for plain, bad in zip(every, rules.violations(coded_gaps), strict=True):
        seen = plain[plain < n]
        assert bad == (not allowed[seen[:-1], seen[1:]].all())
    # and no other code of absence stands for the same career
    whole = np.array(list(product(range(len(allowed) + 2), repeat=3)), dtype=np.int32)
    whole = whole[whole.max(axis=1) < len(steps.allowed)]
    legal = whole[~rules.violations(whole) & (whole[:, -1] < n)]
    assert (steps.with_gaps(np.minimum(legal, n)) == legal).all()


def with_retirement(seed=2, n=1000, periods=8):
    """Working x or y, never back from y to x; retired for good; in a fifth of periods absent."""
    rng = np.random.default_rng(seed)
    sequences = np.full((n, periods), 3)
    for person in range(n):
        start, state = rng.integers(0, 4), 0
        for t in range(start, periods):
            if state < 2 and rng.random() < 0.06:
                state = 2
            elif state < 2 and rng.random() < 0.2:
                state = 1
            if t == start or rng.random() > 0.2:
                sequences[person, t] = state
    index = PanelIndex.of_presence(sequences < 3, np.arange(float(periods)))
    return index, coded("x", sequences[sequences < 3], ("x", "y", "retired"))


def retired(index, states):
    """Share of persons ever retired, and steps of 100 persons from there across a gap."""
    held = states.data == 2
    ever = len(np.unique(index.person[held])) / index.n_persons
    later = np.flatnonzero(~index.is_first)
    gap = index.period[later] - index.period[later - 1] > 1
    return ever, 100 * (gap & held[later] & held[later - 1]).sum() / index.n_persons


ABSORBING = np.array([[True, True, True], [True, True, True], [False, False, True]])
NO_WAY_BACK = np.array([[True, True, True], [False, True, True], [True, True, True]])


@pytest.mark.parametrize(
    ("transition", "theta", "allowed"),
    [
        ("cart", 100.0, ABSORBING & NO_WAY_BACK),
        ("cart", math.inf, ABSORBING),
        ("markov", 100.0, ABSORBING),
    ],
)
def test_an_absorbing_state_keeps_its_share_and_its_gaps(transition, theta, allowed):
    index, column = with_retirement()
    rule = PathRule(variable="x", allowed=allowed, text="rule")
    assert not broken_steps(index, column, [rule]).any()
    actual, states = opened(column, index, 1000, [rule], transition=transition, theta=theta)
    assert not broken_steps(actual, states, [rule]).any()
    (original, gaps), (ever, again) = retired(index, column), retired(actual, states)
    assert abs(ever - original) < 0.05
    assert 0.7 * gaps < again < 1.4 * gaps


def with_gaps(index):
    """Return the share of persons who leave and come back."""
    spans = index.period[index.starts + index.counts - 1] - index.period[index.starts] + 1
    return (index.counts < spans).mean()


def test_without_returns_in_the_data_no_person_returns():
    rng = np.random.default_rng(1)
    begin, end = np.sort(rng.integers(0, 8, size=(2, 60)), axis=0)
    periods = np.arange(8)
    index = PanelIndex.of_presence((begin[:, None] <= periods) & (periods <= end[:, None]), periods)
    column = coded("x", rng.integers(0, 2, index.n_rows), ("x", "y"))
    drawn = {is_new: opened(column, index, 400, new_moves=is_new)[0] for is_new in (False, True)}
    assert with_gaps(drawn[False]) == 0 < with_gaps(drawn[True])
    starts = [np.bincount(i.period[i.starts], minlength=8) for i in (index, drawn[False])]
    assert np.abs(starts[0] / 60 - starts[1] / 400).max() < 0.1


def ends(index, states):
    last = index.starts + index.counts - 1
    parts = (index.period[index.starts], states.data[index.starts])
    return Counter(zip(*parts, index.period[last], states.data[last], strict=True))


@pytest.mark.parametrize(("theta", "rules"), [(5.0, []), (100.0, [ABSORBING, NO_WAY_BACK])])
def test_matching_gives_the_exact_joint_counts_of_first_and_last(theta, rules):
    index, column = with_retirement(n=600)
    reported = [PathRule(variable="x", allowed=allowed, text="rule") for allowed in rules]
    fitted = fitted_careers(column, index, reported, match=True, theta=theta)
    actual, states = drawn_from(fitted, index, 600)
    assert not broken_steps(actual, states, reported).any()
    original, drawn = ends(index, column), ends(actual, states)
    assert sum(abs(original[cell] - drawn[cell]) for cell in original | drawn) == 0
    assert fitted.notes == ()


def test_presence_only():
    index = random_index(n=120, share=0.5, seed=4)
    actual, states = opened(numeric("year", TIMES[index.period]), index)
    assert states is None
    assert abs(actual.counts.mean() - index.counts.mean()) < 0.5
