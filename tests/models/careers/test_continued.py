"""How careers go on in one more period, beside a law that is known."""

import numpy as np
import pytest

from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.panel.paths import PathRule
from synthesizer.models.careers.career import Past, fit_continuation
from synthesizer.models.cart import Cart
from tests.tables import coded

ABSENT = 3
TIMES = np.array([2000.0, 2001.0, 2002.0, 2003.0])
MODELS = (Cart(), Cart(min_leaf=5, leaf_regression=False, min_holders=0))


def careers(n=4_000, seed=1):
    """Return sex and states of three years and of a fourth, which follows from them by a law.

    Who has 0 stays; from 1 half move to 2; of 2 three in ten leave; who was away last year alone
    comes back to the old state in eight of ten cases, who was longer never; new women begin with
    0 and new men with 1.
    """
    rng = np.random.default_rng(seed)
    sex, kind, u = rng.integers(0, 2, n), rng.random(n), rng.random(n)
    years = np.repeat(rng.integers(0, 3, (n, 1)), 4, axis=1)
    years[:, 1] = rng.integers(0, 3, n)
    years[:, 2] = np.where(kind < 0.6, rng.integers(0, 3, n), ABSENT)
    years[kind > 0.8, 1] = ABSENT
    years[kind > 0.9, 0] = ABSENT
    now = years[:, 2]
    years[:, 3] = now
    years[(now == 1) & (u < 0.5), 3] = 2
    years[(now == 2) & (u < 0.3), 3] = ABSENT
    back = (now == ABSENT) & (years[:, 1] < ABSENT) & (u < 0.8)
    years[back, 3] = years[back, 1]
    new = kind > 0.9
    years[new, 3] = sex[new]
    return sex, years.astype(np.int32)


def panel_of(sex, years, end):
    """Return sex and state of the persons who are there before a period."""
    years = years[:, :end]
    there = (years < ABSENT).any(axis=1)
    index = PanelIndex.of_presence(years[there] < ABSENT, TIMES[:end])
    states = years[there][index.person, index.period]
    columns = [
        coded("sex", sex[there][index.person], ["f", "m"]),
        coded("state", states, ["a", "b", "c"]),
    ]
    return PanelTable(columns, index), states


def fitted(sex, years, rules=()):
    panel, states = panel_of(sex, years, 4)
    before, _ = panel_of(sex, years, 3)
    persons = PanelTable(panel.select(["sex"]).columns, panel.index)
    rng = np.random.default_rng(1)
    return fit_continuation(before, persons, states, ABSENT, rules, MODELS, rng=rng)


def drawn(continuation, sex, years, seed=2):
    """Return the states before of persons who were there before, and the one that is drawn."""
    before, states = panel_of(sex, years, 3)
    past = Past.of(before, states, ABSENT, TIMES[3])
    known = years[(years[:, :3] < ABSENT).any(axis=1), :3]
    return known, continuation.draw(past, rng=np.random.default_rng(seed))


def test_moves_leavers_and_returns_follow_the_law():
    known, new = drawn(fitted(*careers()), *careers(seed=3))
    now = known[:, 2]
    assert (new[now == 0] == 0).all()
    assert set(new[now == 1]) == {1, 2}
    assert np.mean(new[now == 1] == 2) == pytest.approx(0.5, abs=0.06)
    assert set(new[now == 2]) == {2, ABSENT}
    assert np.mean(new[now == 2] == ABSENT) == pytest.approx(0.3, abs=0.06)
    just = (now == ABSENT) & (known[:, 1] < ABSENT)
    back = new[just] < ABSENT
    assert back.mean() == pytest.approx(0.8, abs=0.06)
    assert (new[just][back] == known[just, 1][back]).all()  # to the state before the gap
    longer = (now == ABSENT) & (known[:, 1] == ABSENT)
    assert (new[longer] == ABSENT).all()


def test_who_is_new_begins_as_the_new_ones_do():
    sex = np.arange(200) % 2
    persons = PanelTable([coded("sex", sex, ["f", "m"])], PanelIndex.of_persons(200, TIMES))
    continuation = fitted(*careers())
    assert (continuation.draw_first(persons, rng=np.random.default_rng(1)) == sex).all()


def test_steps_absent_from_the_data_are_not_allowed():
    """Into absence, too: of those who were always there all who leave leave from 2."""
    sex, years = careers()
    stays = (years[:, :3] < ABSENT).all(axis=1)
    for some in (stays, np.ones(len(years), dtype=bool)):
        slow = np.eye(ABSENT + 1, dtype=bool)
        for career in years[some].tolist():
            begun = next(t for t in range(4) if career[t] < ABSENT)
            for t in range(begun, 3):
                slow[career[t], career[t + 1]] = True
        slow &= np.isin(np.arange(ABSENT + 1), years[some, 3])
        actual = fitted(sex[some], years[some]).allowed
        assert actual.tolist() == slow.tolist()
        assert actual[:, ABSENT].all() != (some is stays)


def test_a_rule_holds_for_moves_and_for_returns_to_another_state():
    sex, years = careers()
    years[(years[:, 2] == ABSENT) & (years[:, 1] == 1) & (years[:, 3] == 1), 3] = 2
    allowed = np.ones((3, 3), dtype=bool)
    allowed[1, 2] = False
    known, new = drawn(fitted(sex, years), sex, years)
    last = np.where(known[:, 2] < ABSENT, known[:, 2], known[:, 1])
    assert ((last == 1) & (new == 2)).any()  # what the rule forbids would happen
    ruled = fitted(sex, years, [PathRule(variable="state", allowed=allowed)])
    known, new = drawn(ruled, sex, years)
    assert not ((last == 1) & (new == 2)).any()
    assert (new[known[:, 2] == 1] == 1).mean() > 0.99  # to leave is allowed
