"""Values by what they have to do with others': equal codes, and differences of numbers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from synthesizer.data.table import Column, IntArray, Kind, Table, Variable
from synthesizer.models.base import ConditionalModel
from synthesizer.models.cart import Cart
from synthesizer.models.difference import MAX_VARIANCE_RATIO, MIN_KAPPA, Difference
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
    assert strangers(Difference(of=("father", "mother"), base=Cart(leaf_regression=False))) < 0.005
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
    likest = sorted((name for name in others if kappas[name] > MIN_KAPPA), key=lambda n: -kappas[n])
    table = Table([coded(name, codes) for name, codes in others.items()])
    model = Difference(of=("missing", *others))
    assert model._equal_predictors(table, coded("y", target)) == tuple(likest)
    assert 0 < len(likest) < 6 or seed
    odd = Variable(name="g", kind=Kind.CATEGORICAL, levels=tuple("hgfedcba"))
    more = table.with_column(Column(odd, target.astype(np.int32)))  # of other levels: passed over
    assert Difference(of=("g", *others))._equal_predictors(more, coded("y", target)) == tuple(
        likest
    )


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
        if (~lost).sum() >= n / 2:  # rows without a value do not count
            spread = np.var(target.data[~lost])
            shares[name] = np.var((target.data - values)[~lost]) / spread
    best = min(shares, key=lambda name: shares[name])
    expected = best if shares[best] < MAX_VARIANCE_RATIO else ""
    model = Difference(of=tuple("xabcdef"))
    assert model.nearest(Table(columns), target) == expected
    same = [numeric("x", target.data, kind=Kind.DATE), *columns]  # of another kind: passed over
    assert model.nearest(Table(same), target) == expected
    assert model.nearest(Table(columns), coded("y", np.zeros(n))) == ""


def test_half_of_what_agreement_could_be_is_no_likeness_and_half_of_the_rows_are_enough() -> None:
    target, other = np.tile([0, 0, 1, 1], 5), np.tile([0, 0, 1, 0], 5)
    other[::20] = 1  # three of four agree, and two would by chance
    other[3::20] = 1
    assert cohen_kappa_score(other, target) == pytest.approx(MIN_KAPPA)
    assert (
        Difference(of=("f",))._equal_predictors(Table([coded("f", other)]), coded("y", target))
        == ()
    )
    age = numeric("y", np.arange(8.0))
    for n_lost, nearest in ((4, "x"), (5, "")):
        lost = np.arange(8) < n_lost
        twin = numeric("x", np.where(lost, np.nan, age.data), states=lost, missing=["?"])
        assert Difference(of=("x",)).nearest(Table([twin]), age) == nearest


def test_differences_are_drawn_within_the_range_and_make_new_values_as_the_model_says() -> None:
    rng = np.random.default_rng(3)
    mother = np.floor(rng.uniform(20, 80, 300))
    table, age = Table([numeric("mother", mother)]), numeric("age", mother - 18 - mother % 7)
    model = Difference(of=("mother",), base=Cart(leaf_regression=False, min_holders=0))
    drawn = model.fit(table, age, rng=rng).sample(Table([numeric("mother", mother + 1)]), rng=rng)
    gaps = mother + 1 - drawn.data
    inner = (drawn.data > age.data.min()) & (drawn.data < age.data.max())
    assert set(gaps[inner]) <= set(range(18, 25))
    assert inner.mean() > 0.9
    assert age.data.min() <= drawn.data.min() < drawn.data.max() <= age.data.max()
    assert not np.isin(drawn.data, age.data).all()
    assert model.makes_new_values
