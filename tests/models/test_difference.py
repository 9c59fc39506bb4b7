"""Values by what they have to do with others': equal codes, and numbers of few members."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.table import Column, IntArray, Kind, Table, Variable
from synthesizer.models.base import ConditionalModel
from synthesizer.models.cart import Cart
from synthesizer.models.difference import LIKE, NEAR, Difference
from synthesizer.models.histories.members import Member
from tests import tables
from tests.models.fits import numeric


def coded(name: str, codes: IntArray) -> Column:
    return tables.coded(name, codes, "abcdefgh")


def families(n: int = 600) -> tuple[Table, Column]:
    """Return fathers and mothers, and children who are of one group with one of the two."""
    rng = np.random.default_rng(1)
    father = np.minimum(rng.geometric(0.45, n) - 1, 7)
    mother = np.where(rng.random(n) < 0.8, father, np.minimum(rng.geometric(0.45, n) - 1, 7))
    child = np.where(rng.random(n) < 0.5, father, mother)
    return Table([coded("father", father), coded("mother", mother)]), coded("child", child)


def strangers(model: ConditionalModel) -> float:
    """Return the share of drawn children who are of neither group."""
    parents, child = families()
    fitted = model.fit(parents, child, rng=np.random.default_rng(2))
    drawn = fitted.sample(parents, rng=np.random.default_rng(3)).data
    shares = fitted.chances(parents, steps=0)
    if shares is not None:
        assert shares.shares.sum(axis=1) == pytest.approx(1.0, abs=1e-5)
        assert (shares.shares >= 0).all()
    both = (drawn != parents["father"].data) & (drawn != parents["mother"].data)
    return float(both.mean())


def test_children_are_of_a_parents_group():
    base = Cart()
    assert strangers(Difference(of=("father", "mother"), base=base)) < 0.005
    assert strangers(Difference(of=("father", "mother"), base=Cart(tilt=False))) < 0.005
    assert strangers(base) > 0.02  # the control: a tree alone mixes small groups


@pytest.mark.parametrize("seed", range(3))
def test_a_code_is_like_another_where_the_kappa_of_cohen_says_so(seed: int) -> None:
    """The reference is scikit-learn's; the likest comes first."""
    rng = np.random.default_rng(seed)
    n, shares = 200, rng.dirichlet(np.ones(8))
    target = rng.choice(8, n, p=shares)
    others = {
        name: np.where(rng.random(n) < share, target, rng.choice(8, n, p=shares))
        for name, share in zip("abcdef", rng.uniform(0.2, 0.95, 6), strict=True)
    }
    kappas = {name: cohen_kappa_score(codes, target) for name, codes in others.items()}
    likest = sorted((name for name in others if kappas[name] > LIKE), key=lambda n: -kappas[n])
    table = Table([coded(name, codes) for name, codes in others.items()])
    model = Difference(of=("missing", *others))
    assert model._like(table, coded("y", target)) == tuple(likest)
    assert 0 < len(likest) < 6 or seed
    odd = Variable(name="g", kind=Kind.CATEGORICAL, levels=tuple("hgfedcba"))
    more = table.with_column(Column(odd, target.astype(np.int32)))  # of other levels: passed over
    assert Difference(of=("g", *others))._like(more, coded("y", target)) == tuple(likest)


@pytest.mark.parametrize("seed", range(3))
def test_a_number_is_nearest_to_what_its_difference_varies_least_from(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 40
    target = numeric("y", rng.normal(size=n) * 3)
    columns, shares = [], {}
    for name in "abcdef":
        lost = rng.random(n) < rng.choice([0.0, 0.3, 0.45, 0.55, 0.98])
        values = target.data + rng.normal(size=n) * rng.uniform(0.5, 4)
        columns.append(numeric(name, np.where(lost, np.nan, values), states=lost, missing=["?"]))
        if (~lost).sum() >= n / 2:  # rows without a value tell nothing
            spread = np.var(target.data[~lost])
            shares[name] = np.var((target.data - values)[~lost]) / spread
    best = min(shares, key=lambda name: shares[name])
    expected = best if shares[best] < NEAR else ""
    model = Difference(of=tuple("xabcdef"))
    assert model.nearest(Table(columns), target) == expected
    same = [numeric("x", target.data, kind=Kind.DATE), *columns]  # of another kind: passed over
    assert model.nearest(Table(same), target) == expected
    assert model.nearest(Table(columns), coded("y", np.zeros(n))) == ""


def test_half_of_what_agreement_could_be_is_no_likeness_and_half_of_the_rows_are_enough() -> None:
    target, other = np.tile([0, 0, 1, 1], 5), np.tile([0, 0, 1, 0], 5)
    other[::20] = 1  # three of four agree, and two would by chance
    other[3::20] = 1
    assert cohen_kappa_score(other, target) == pytest.approx(LIKE)
    assert Difference(of=("f",))._like(Table([coded("f", other)]), coded("y", target)) == ()
    age = numeric("y", np.arange(8.0))
    for n_lost, nearest in ((4, "x"), (5, "")):
        lost = np.arange(8) < n_lost
        twin = numeric("x", np.where(lost, np.nan, age.data), states=lost, missing=["?"])
        assert Difference(of=("x",)).nearest(Table([twin]), age) == nearest


def test_differences_are_drawn_within_the_range_and_make_new_values_as_the_model_says() -> None:
    rng = np.random.default_rng(3)
    mother = np.floor(rng.uniform(20, 80, 300))
    table, age = Table([numeric("mother", mother)]), numeric("age", mother - 18 - mother % 7)
    model = Difference(of=("mother",), base=Cart(tilt=False, safe=0))
    drawn = model.fit(table, age, rng=rng).sample(Table([numeric("mother", mother + 1)]), rng=rng)
    gaps = mother + 1 - drawn.data
    inner = (drawn.data > age.data.min()) & (drawn.data < age.data.max())
    assert set(gaps[inner]) <= set(range(18, 25))
    assert inner.mean() > 0.9
    assert age.data.min() <= drawn.data.min() < drawn.data.max() <= age.data.max()
    assert not np.isin(drawn.data, age.data).all()
    assert model.makes_new_values


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
    _, open_ended = ages(Member(base=Cart(safe=0)))
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
    """An only child is 5 years old, the first of two is 30: nobody before them tells."""
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
