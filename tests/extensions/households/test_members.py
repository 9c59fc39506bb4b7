"""Members of households: numbers of few of them, siblings, and who is still to come."""

from __future__ import annotations

import numpy as np

from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.table import Column, Kind, Variable
from synthesizer.extensions.households.members import Member
from synthesizer.models.cart import Cart


def ages(model: Member) -> tuple[Column, Column]:
    """Return heads and their only child, of whom few are very old, and what is drawn."""
    rng = np.random.default_rng(4)
    n = 300
    index = PanelIndex.of_presence(np.ones((n, 2), dtype=bool), np.arange(2.0))
    head = np.floor(rng.uniform(20, 90, n))
    head[:3] = [101.0, 102.0, 103.0]  # of one household each
    child = np.where(rng.random(n) < 0.06, np.floor(rng.uniform(60, 85, n)), 10.0)
    age = Variable(name="age", kind=Kind.NUMERIC, decimals=0)
    target = Column(age, np.stack([head, child], axis=1).ravel())
    fitted = model.fit(PanelTable((), index), target, rng=rng)
    return target, fitted.sample(PanelTable((), index), rng=np.random.default_rng(5))


def test_numbers_of_few_members_that_others_have_are_kept():
    target, drawn = ages(Member())
    old = drawn.data[1::2] > 75
    assert 0 < old.sum() <= 3 * (target.data[1::2] > 75).sum()
    assert drawn.data.max() < 101  # what three households have leaves nowhere
    _, open_ended = ages(Member(base=Cart(min_holders=0)))
    assert open_ended.data.max() > 100  # the control
    _, narrow = ages(Member(apart=0))
    assert narrow.data[1::2].max() < drawn.data[1::2].max()  # safe within 18 members alone


def test_siblings_keep_their_distance_among_many_lodgers():
    """Lodgers have nothing to do with anybody, and must not hide what siblings have."""
    rng = np.random.default_rng(6)
    n = 150  # households: a head, two children three years apart, four lodgers
    index = PanelIndex.of_presence(np.ones((n, 7), dtype=bool), np.arange(7.0))
    older = np.floor(rng.uniform(5, 40, n))
    others = np.floor(rng.uniform(20, 90, (n, 5)))
    age = np.column_stack([others[:, 0], older, older - 3, others[:, 1:]]).ravel()
    kinds = Variable(name="who", kind=Kind.CATEGORICAL, levels=("head", "child", "lodger"))
    who = Column(kinds, np.tile(np.array([0, 1, 1, 2, 2, 2, 2], dtype=np.int32), n))
    table = PanelTable([who], index)
    target = Column(Variable(name="age", kind=Kind.NUMERIC, decimals=0), age)

    def as_in_the_data(apart: int) -> float:
        fitted = Member(counted=("who",), apart=apart).fit(table, target, rng=rng)
        drawn = fitted.sample(table, rng=np.random.default_rng(7)).data.reshape(n, 7)
        return float((drawn[:, 1] - drawn[:, 2] == 3).mean())

    assert as_in_the_data(50) > 0.9
    assert as_in_the_data(0) < 0.5  # the control: one fit for all


def test_who_is_still_to_come_is_known():
    """An only child is 5 years old, the first of two is 30: no earlier member shows which."""
    n = 200
    two = np.arange(n) % 2 == 0
    index = PanelIndex.of_presence(np.ones((n, 3), dtype=bool), np.arange(3.0))
    kinds = Variable(name="who", kind=Kind.CATEGORICAL, levels=("head", "child", "lodger"))
    third = np.where(two, 1, 2)
    codes = np.column_stack([np.zeros(n), np.ones(n), third]).ravel().astype(np.int32)
    age = np.column_stack([np.full(n, 50.0), np.where(two, 30.0, 5.0), np.full(n, 20.0)]).ravel()
    target = Column(Variable(name="age", kind=Kind.NUMERIC, decimals=0), age)
    table = PanelTable([Column(kinds, codes)], index)
    fitted = Member(counted=("who",)).fit(table, target, rng=np.random.default_rng(8))
    drawn = fitted.sample(table, rng=np.random.default_rng(9)).data.reshape(n, 3)[:, 1]
    assert ((drawn == 30) == two).mean() > 0.95
