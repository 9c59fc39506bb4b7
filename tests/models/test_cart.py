"""The tree model: what it learns, how it draws, what it saves."""

import numpy as np
import pytest

from synthesizer.data.schema import Kind, Variable
from synthesizer.data.table import Column, Table
from synthesizer.models._leaves import _even_uniform
from synthesizer.models.cart import Cart, FittedCart

N = 2000


def categorical(name, codes, n_levels):
    levels = tuple(f"{name}{i}" for i in range(n_levels))
    variable = Variable(name=name, kind=Kind.CATEGORICAL, levels=levels)
    return Column(variable, np.asarray(codes, dtype=np.int32))


def numeric(name, values, decimals=None):
    variable = Variable(name=name, kind=Kind.NUMERIC, decimals=decimals)
    return Column(variable, np.asarray(values, dtype=np.float64))


def example(seed=0, n=N):
    rng = np.random.default_rng(seed)
    group = rng.integers(6, size=n)
    age = rng.integers(0, 90, size=n).astype(float)
    table = Table([categorical("g", group, 6), numeric("age", age, 0)])
    job = (group % 3 + (age > 40) + (rng.random(n) < 0.1)) % 4
    wage = np.round(100 * group + 10 * age + rng.normal(0, 5, n), 1)
    return table, categorical("job", job, 4), numeric("wage", wage, 1)


def rng(seed=1):
    return np.random.default_rng(seed)


def test_it_learns_what_depends_on_the_predictors():
    table, job, wage = example()
    drawn = Cart().fit(table, job, rng=rng()).sample(table, rng=rng(2))
    assert (drawn.data == job.data).mean() > 0.75
    drawn = Cart().fit(table, wage, rng=rng()).sample(table, rng=rng(2))
    assert np.corrcoef(drawn.data, wage.data)[0, 1] > 0.95


@pytest.mark.parametrize("which", [1, 2])
@pytest.mark.parametrize("options", [{}, {"even": False}, {"shrinkage": 5.0}, {"proper": True}])
def test_draws_are_donors_and_repeat_with_the_generator(which, options):
    table, target = example()[0], example()[which]
    fitted = Cart(**options).fit(table, target, rng=rng())
    drawn = fitted.sample(table, rng=rng(3))
    assert np.isin(drawn.data, target.data).all()
    assert (drawn.data == fitted.sample(table, rng=rng(3)).data).all()
    assert (drawn.data != fitted.sample(table, rng=rng(4)).data).any()


@pytest.mark.parametrize("which", [1, 2])
@pytest.mark.parametrize("options", [{}, {"proper": True, "smoothing": "density"}])
def test_a_saved_model_draws_the_same(which, options):
    table, target = example()[0], example()[which]
    fitted = Cart(**options).fit(table, target, rng=rng())
    again = FittedCart.from_dict(fitted.to_dict())
    assert (fitted.sample(table, rng=rng(3)).data == again.sample(table, rng=rng(3)).data).all()


def test_every_leaf_has_at_least_min_leaf_donors():
    table, job, _ = example()
    tree = Cart(min_leaf=17).fit(table, job, rng=rng()).leaves.tree
    assert tree.sizes[tree.feature < 0].min() >= 17
    assert tree.n_donors == N


def test_stopping_options_make_smaller_trees():
    table, _, wage = example()
    sizes = [
        len(Cart(min_leaf=5, **options).fit(table, wage, rng=rng()).leaves.tree.feature)
        for options in ({}, {"penalty": 2.0}, {"complexity": 0.05}, {"max_depth": 1})
    ]
    assert sizes[0] > sizes[1] > sizes[2] >= 3 == sizes[3]


def test_the_structure_may_come_from_a_sample_but_all_rows_are_donors():
    table, _, wage = example()
    tree = Cart(min_leaf=5, max_fit_rows=100).fit(table, wage, rng=rng()).leaves.tree
    assert len(tree.feature) < 40
    assert tree.n_donors == N


def test_targets_with_many_levels_are_learnt_through_a_projection():
    group = rng().integers(300, size=6000)
    table = Table([categorical("g", group, 300)])
    target = categorical("t", (group * 7) % 300, 300)
    drawn = Cart(min_leaf=5).fit(table, target, rng=rng()).sample(table, rng=rng(2))
    assert (drawn.data == target.data).mean() > 0.8


def test_wider_draws_end_at_the_margin():
    table, job, _ = example()
    fitted = Cart().fit(table, job, rng=rng())
    matched = [
        (fitted.sample_wider(table, steps=steps, rng=rng(2)).data == job.data).mean()
        for steps in (1, 100)
    ]
    assert matched[0] > 0.5
    assert matched[1] < 0.4


def test_shrinkage_draws_from_ancestors_with_the_stated_probability():
    codes = np.repeat([0, 1], 100)
    table, target = Table([categorical("x", codes, 2)]), categorical("y", codes, 2)
    fitted = Cart(shrinkage=200.0, even=False).fit(table, target, rng=rng())
    many = Table([categorical("x", np.zeros(40_000), 2)])
    # The root has 200 donors: half of the draws leave for it, half of those find the other level.
    assert fitted.sample(many, rng=rng(2)).data.mean() == pytest.approx(0.25, abs=0.01)


def test_even_draws_repeat_the_margin_nearly():
    table, job, _ = example()
    counts = np.bincount(job.data)
    errors = []
    for even in (True, False):
        fitted = Cart(even=even).fit(table, job, rng=rng())
        drawn = [fitted.sample(table, rng=rng(i)).data for i in range(20)]
        errors.append(np.mean([np.abs(np.bincount(d) - counts).max() for d in drawn]))
    assert errors[0] < errors[1] / 3


def test_even_numbers_are_even_within_every_node_and_differ_between_seeds():
    nodes = rng().integers(3, size=3000)
    first, second = _even_uniform(nodes, rng(1)), _even_uniform(nodes, rng(2))
    for node in range(3):
        bins = np.bincount((first[nodes == node] * 10).astype(int))
        assert np.ptp(bins) <= 5
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.1


def test_smoothed_numbers_stay_in_range_and_keep_their_decimals():
    table, _, wage = example()
    fitted = Cart(smoothing="density").fit(table, wage, rng=rng())
    drawn = fitted.sample(table, rng=rng(2)).data
    assert wage.data.min() <= drawn.min() <= drawn.max() <= wage.data.max()
    assert np.allclose(drawn, np.round(drawn, 1))
    assert not np.isin(drawn, wage.data).all()


@pytest.mark.parametrize("n", [1, 2, 50])
def test_small_and_constant_inputs(n):
    table, job, wage = example(n=n)
    bare = Table([], n)
    for predictors in (table, bare):
        for target in (job, wage, numeric("c", np.full(n, 7.0)), categorical("k", np.zeros(n), 1)):
            fitted = Cart(min_leaf=1, smoothing="density").fit(predictors, target, rng=rng())
            assert len(fitted.sample(predictors, rng=rng())) == n
            assert len(fitted.sample(predictors.take(slice(0, 0)), rng=rng())) == 0
    drawn = Cart().fit(table, numeric("c", np.full(n, 7.0)), rng=rng()).sample(table, rng=rng())
    assert (drawn.data == 7).all()


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s["leaves"]["donors"].update(data=s["leaves"]["donors"]["data"][:-1]),
        lambda s: s["leaves"]["donors"].update(data=np.full(N, 99)),
        lambda s: s["leaves"].update(weights=np.zeros(N)),
        lambda s: s["encoding"].update(names=["g"]),
        lambda s: s["encoding"].update(positions=[[np.nan], [0.0]]),
        lambda s: s["drawing"].update(shrinkage=-1.0),
        lambda s: s["drawing"].update(smoothing="spline"),
    ],
)
def test_broken_saved_models_are_refused(change):
    table, job, _ = example()
    state = Cart().fit(table, job, rng=rng()).to_dict()
    change(state)
    with pytest.raises(ValueError, match=r"[a-z]"):
        FittedCart.from_dict(state)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_leaf": 0}, "min_leaf (0) must be a whole number that is at least 1"),
        ({"max_depth": 1.5}, "max_depth (1.5) must be a whole number that is at least 1"),
        ({"complexity": 2}, "complexity (2) must be a number from 0 to 1"),
        ({"shrinkage": -1}, "shrinkage (-1) must be a number that is at least 0"),
        ({"smoothing": "loess"}, "smoothing ('loess') must be one of: none, density"),
        ({"even": 1}, "even (1) must be true or false"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match="must be") as error:
        Cart(**options)
    assert str(error.value) == message
