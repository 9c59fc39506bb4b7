"""The tree model: what it learns, how it draws, what it saves."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.models.cart import Cart
from synthesizer.models.kit.leaves import Drawing, Leaves, _even_uniform
from tests.models.test_tree import tree_of

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


def leaf_impurity(tree, codes, matrix):
    """Gini index within the leaves, weighted by rows."""
    leaves = tree.apply(matrix)
    counts = np.zeros((leaves.max() + 1, codes.max() + 1))
    np.add.at(counts, (leaves, codes), 1)
    sizes = counts.sum(axis=1)
    return (sizes - (counts**2).sum(axis=1) / np.maximum(sizes, 1)).sum() / len(codes)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_projected_trees_are_nearly_as_pure_as_trees_by_the_gini_index(seed):
    r = rng(seed)
    table = Table([numeric(name, r.normal(size=4000)) for name in "abc"])
    place = table["a"].data + table["b"].data * (table["c"].data > 0) + 0.3 * r.normal(size=4000)
    codes = np.digitize(place, np.quantile(place, np.linspace(0, 1, 61)[1:-1]))
    target = categorical("t", codes, 60)
    fitted = Cart(min_leaf=20).fit(table, target, rng=rng(seed))
    matrix = fitted.encoding.matrix(table)
    gini = DecisionTreeClassifier(min_samples_leaf=20, random_state=0).fit(matrix, codes).tree_
    reached = leaf_impurity(fitted.leaves.tree, codes, matrix)
    best = leaf_impurity(gini, codes, matrix)
    root = 1 - (np.bincount(codes) ** 2).sum() / 4000**2
    assert root - reached > 0.9 * (root - best)


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


def leaf_shares(**options):
    """Shares of the second value in both leaves, over 200 fits and draws of 500 rows each."""
    x = np.repeat([0, 1], 60)
    y = np.where(x == 0, np.arange(120) % 4 == 0, np.arange(120) % 4 > 0)
    table, target = Table([categorical("x", x, 2)]), categorical("y", y, 2)
    many = Table([categorical("x", np.repeat([0, 1], 500), 2)])
    draws = [
        Cart(**options).fit(table, target, rng=rng(i)).sample(many, rng=rng(1000 + i)).data
        for i in range(200)
    ]
    return np.reshape(draws, (200, 2, 500)).mean(axis=2)


def test_the_bayesian_bootstrap_varies_the_shares_of_a_leaf_by_the_right_amount():
    plain, proper = leaf_shares(even=False), leaf_shares(even=False, proper=True)
    np.testing.assert_allclose(proper.mean(axis=0), [0.25, 0.75], atol=0.015)
    drawn = 0.25 * 0.75 / 500
    weights = 0.25 * 0.75 / 61  # Rubin (1981): Dirichlet weights of 60 donors
    np.testing.assert_allclose(plain.var(axis=0), drawn, rtol=0.35)
    np.testing.assert_allclose(proper.var(axis=0), drawn + weights, rtol=0.35)
    assert (proper.var(axis=0) > 4 * plain.var(axis=0)).all()


@pytest.mark.parametrize("proper", [False, True])
def test_even_draws_expect_every_value_as_often_as_independent_ones_and_vary_less(proper):
    donors = numeric("y", np.sort(rng().integers(0, 8, 41)).astype(float))
    tree = tree_of([0, -1, -1], [0.5, 0, 0], [2, -1, -1], [0, 17, 24])
    weights = rng(5).standard_exponential(41) if proper else None
    leaves = Leaves(tree, donors, weights)
    matrix = np.repeat(np.float32([[0.0], [1.0]]), 30, axis=0)
    sure = np.zeros((2, 8))
    for leaf, part in enumerate((slice(0, 17), slice(17, 41))):
        own = np.ones(41)[part] if weights is None else weights[part]
        sure[leaf] = 30 * np.bincount(donors.data[part].astype(int), own, 8) / own.sum()

    def counts(even):
        drawing = Drawing(even=even)
        draws = (leaves.draw(matrix, drawing, rng=rng(i)).astype(int) for i in range(2000))
        return np.array([[np.bincount(d[:30], minlength=8), np.bincount(d[30:], minlength=8)]
                         for d in draws])  # fmt: skip

    spread, independent = counts(even=True), counts(even=False)
    error = independent.std(axis=0) / np.sqrt(2000)
    assert (np.abs(spread.mean(axis=0) - sure) <= 4.5 * error).all()
    assert (np.abs(independent.mean(axis=0) - sure) <= 4.5 * error).all()
    assert spread.var(axis=0).sum() < 0.5 * independent.var(axis=0).sum()


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


@pytest.mark.parametrize(("shift", "whole"), [(0.0, True), (0.25, False)])
def test_smoothed_dates_are_whole_days_where_all_donors_are(shift, whole):
    days = np.round(rng().normal(18_000, 400, N)) + shift * (np.arange(N) % 2)
    born = Column(Variable(name="born", kind=Kind.DATE, decimals=None), days)
    table = example()[0]
    drawn = Cart(smoothing="density").fit(table, born, rng=rng()).sample(table, rng=rng(2)).data
    assert (drawn == np.round(drawn)).all() == whole
    assert not np.isin(drawn, days).all()


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
