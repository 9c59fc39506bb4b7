"""Trees: structure, encoding of predictors, growth, and how donors of a leaf are drawn."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from synthesizer.data.table import Kind, Table
from synthesizer.models.cart import Cart
from synthesizer.models.forest import Bagging, Forest
from synthesizer.models.kit.predictors import Bins, Encoding, Response, level_scores
from synthesizer.models.kit.trees import Drawing, Leaves, Tree
from tests.models.fits import coded, numeric

N = 2000
COPIES = {"leaf_regression": False, "min_holders": 0}
"""Options of a plain tree that copies donors as they are."""


def rng(seed=1):
    return np.random.default_rng(seed)


def tree_of(feature, threshold, right, sizes):
    return Tree(
        np.array(feature, dtype=np.int32),
        np.array(threshold, dtype=np.float64),
        np.array(right, dtype=np.int32),
        np.array(sizes, dtype=np.int64),
    )


def grown(seed):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(200, 3)).astype(np.float32)
    fitted = DecisionTreeRegressor(min_samples_leaf=3, random_state=0).fit(
        matrix, rng.normal(size=200)
    )
    inner = fitted.tree_
    leaves = inner.apply(matrix)
    leaf = inner.children_left < 0
    tree = tree_of(
        np.where(leaf, -1, inner.feature),
        np.where(leaf, 0, inner.threshold),
        inner.children_right,
        np.bincount(leaves, minlength=inner.node_count),
    )
    return tree, matrix, leaves


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000))
def test_apply_agrees_with_scikit_learn(seed):
    tree, matrix, leaves = grown(seed)
    assert (tree.apply(matrix) == leaves).all()
    assert (tree.apply(np.asfortranarray(matrix)) == leaves).all()


def test_nodes_climb_to_parents_whose_range_is_the_union_of_those_of_their_children():
    tree, matrix, leaves = grown(1)
    assert (tree.climb(tree.apply(matrix), 0) == leaves).all()
    assert (tree.climb(leaves, 1) == tree.parent[leaves]).all()
    assert (tree.climb(leaves, 1000) == 0).all()
    for node in np.flatnonzero(tree.feature >= 0):
        rest, right = node + 1, tree.right[node]
        assert tree.start[node] == tree.start[rest]
        assert tree.end[rest] == tree.start[right]
        assert tree.end[node] == tree.end[right]
        assert tree.parent[rest] == tree.parent[right] == node


@pytest.mark.parametrize(
    "change",
    [
        {"right": [0, -1, -1]},  # a loop
        {"right": [1, -1, -1]},  # two parents
        {"right": [9, -1, -1]},  # out of bounds
        {"sizes": [1, 3, 2]},
        {"feature": [0, 0, -1, -1, -1], "threshold": [0.0] * 5, "right": [3, 4, -1, -1, -1],
         "sizes": [0, 0, 1, 1, 1]},  # branches that cross
    ],
)  # fmt: skip
def test_broken_arrays_are_refused(change):
    good = {"feature": [0, -1, -1], "threshold": [0.5, 0, 0], "right": [2, -1, -1]}
    good["sizes"] = [0, 3, 2]
    assert tree_of(**good).n_donors == 5
    with pytest.raises(ValueError, match="tree"):
        tree_of(**good | change)


def rows_of(response):
    """Return the rows of a response, shape (n, d), by single directions."""
    d = response.sums(np.zeros(len(response), dtype=np.int32), 1).shape[1]
    return np.column_stack([response.along(axis) for axis in np.eye(d)])


def test_responses_are_centred_ranks_or_levels():
    ranks = Response.of(numeric("y", [5.0, 70.0, 5.0, 9.0]), rng())
    assert rows_of(ranks).tolist() == [[-1.0], [1.5], [-1.0], [0.5]]
    assert ranks.whole_numbers[0].tolist() == [[-2], [3], [-2], [1]]
    two = Response.of(coded("y", [4, 1, 1, 1], 6), rng())
    assert rows_of(two).tolist() == [[0.75], [-0.25], [-0.25], [-0.25]]
    codes = np.array([2, 0, 4, 4])
    three = Response.of(coded("y", codes, 5), rng())
    assert (rows_of(three) * 4).tolist() == [[-1, 3, -2], [3, -1, -2], [-1, -1, 2], [-1, -1, 2]]
    assert three.whole_numbers[0].tolist() == [1, 0, 2, 2]
    assert three.sums(np.array([0, 1, 1, 1]), 2).tolist() == [
        [-0.25, 0.75, -0.5],
        [0.25, -0.75, 0.5],
    ]
    assert three.squares == pytest.approx((rows_of(three) ** 2).sum())
    few, many = (np.repeat(np.arange(n), 3) for n in (39, 40))
    assert rows_of(Response.of(coded("y", few, 50), rng())).shape == (117, 39)
    projected = rows_of(Response.of(coded("y", many, 50), rng(3)))
    expected = rng(3).standard_normal((40, projected.shape[1]))[many]
    np.testing.assert_allclose(projected, expected - expected.mean(axis=0))


def test_bins_are_distinct_values_or_groups_of_similar_size():
    few = Bins.of(np.array([2.5, -1, 2.5, 0], dtype=np.float32))
    assert few.codes.tolist() == [2, 0, 2, 1]
    assert few.low.tolist() == few.high.tolist() == [-1, 0, 2.5]
    values = rng().normal(size=20_000).astype(np.float32)
    bins = Bins.of(values)
    assert len(bins.low) == 1024
    assert (bins.high[:-1] < bins.low[1:]).all()
    assert (values >= bins.low[bins.codes]).all()
    assert (values <= bins.high[bins.codes]).all()
    assert np.bincount(bins.codes).max() < 30
    codes = np.array([3, 0, 1, 1], dtype=np.int32)
    of_codes = Bins.of_codes(codes, np.array([5, 7, 6, 5], dtype=np.float32))  # 0 and 3 are equal
    assert of_codes.codes.tolist() == [0, 0, 2, 2]
    assert of_codes.low.tolist() == [5, 6, 7]


def best_gain(response, codes, sides):
    """Largest drop of the summed squares by a split of the levels into one side and the rest."""
    gains = []
    for side in sides:
        rest = np.isin(codes, list(side))
        parts = (response[rest], response[~rest])
        gains.append((response**2).sum() - sum(((p - p.mean()) ** 2).sum() for p in parts))
    return max(gains, default=0.0)


@pytest.mark.parametrize("two_levels", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_best_cut_of_ordered_levels_is_the_best_of_all_subsets(seed, two_levels):
    rng = np.random.default_rng(seed)
    codes = rng.choice(8, 60, p=rng.dirichlet(np.ones(8))).astype(np.int32)  # common and rare
    effects = np.cumsum(rng.exponential(size=8) ** 3)  # far out on one side only
    if two_levels:
        response = (rng.random(60) < (effects / effects[-1])[codes]).astype(float)
    else:
        response = effects[codes] + rng.random(60)
    response = response - response.mean()
    scores = level_scores(codes, 8, Response.of_numbers(response[:, None]), 0.0)
    order = [code for code in np.argsort(scores) if code in codes]
    cuts = [order[:size] for size in range(1, len(order))]
    subsets = [s for size in range(1, len(order)) for s in combinations(order, size)]
    expected = best_gain(response, codes, subsets)
    assert best_gain(response, codes, cuts) == pytest.approx(expected, abs=1e-9)


def test_scores_are_the_first_principal_component_of_the_level_means():
    prior = 3.0
    codes = rng().choice(6, 80, p=[0.4, 0.3, 0.1, 0.1, 0.1, 0.0])
    response = rng(2).normal(size=(80, 3)) + np.eye(6, 3)[codes]
    response -= response.mean(axis=0)
    actual = level_scores(codes.astype(np.int32), 6, Response.of_numbers(response), prior)
    sizes = np.bincount(codes, minlength=6)
    means = np.array(
        [response[codes == k].sum(axis=0) / max(sizes[k] + prior, 1) for k in range(6)]
    )
    direction = np.linalg.eigh(means.T @ np.diag(sizes) @ means)[1][:, -1]
    direction *= np.sign(direction[np.abs(direction).argmax()])
    np.testing.assert_allclose(actual, means @ direction, atol=1e-12)


@pytest.mark.parametrize("levels", [3, 8])
def test_levels_that_tell_the_target_equally_well_have_places_of_their_own(levels):
    """All axes are of the same strength: rounding must not choose one on which levels meet."""
    codes = np.repeat(np.arange(levels), 4).astype(np.int32)
    response = np.eye(levels)[codes] - 1 / levels
    scores = level_scores(codes, levels, Response.of_numbers(response), 0.0)
    assert np.diff(np.sort(scores)).min() > 0.01
    nudged = response * (1 + 1e-13 * rng().normal(size=response.shape))
    np.testing.assert_allclose(
        level_scores(codes, levels, Response.of_numbers(nudged), 0.0), scores, atol=1e-9
    )


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        ([2.0, 5.0], [-1, -4]),
        ([4e6, 4e6], [3_996_000, 3_992_000]),
        ([], [-1, -2]),
    ],
)
def test_places_of_missing_codes_are_one_range_apart(observed, expected):
    values = [*observed, np.nan, np.nan]
    column = numeric("x", values, states=[0] * len(observed) + [1, 2], missing=("", "-8"))
    response = Response.of_numbers(np.ones((len(values), 1)))
    encoding = Encoding.fit(Table([column]), response, prior=0.0, rng=rng())[0]
    assert encoding.positions[0].tolist() == expected


def test_ordered_levels_keep_their_order_and_unseen_ones_lie_in_the_middle():
    ordered = coded("o", [2, 0, 1, 1], 3, kind=Kind.ORDERED)
    table = Table([ordered, coded("c", [0, 0, 1, 1], 3)])
    response = np.array([1.0, 1.0, -1.0, -1.0])[:, None]
    encoding = Encoding.fit(table, Response.of_numbers(response), prior=0.0, rng=rng())[0]
    assert encoding.positions[0].tolist() == [0, 1, 2]
    assert encoding.positions[1].tolist() == [1, -1, 0]


def example(seed=0, n=N):
    rng = np.random.default_rng(seed)
    group = rng.integers(6, size=n)
    age = rng.integers(0, 90, size=n).astype(float)
    table = Table([coded("g", group, 6), numeric("age", age, 0)])
    job = (group % 3 + (age > 40) + (rng.random(n) < 0.1)) % 4
    wage = np.round(100 * group + 10 * age + rng.normal(0, 5, n), 1)
    return table, coded("job", job, 4), numeric("wage", wage, 1)


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


def test_a_level_for_every_second_row_is_learnt_without_a_warning():
    codes = np.arange(36) // 6 * 5 + np.arange(36) % 5
    table = Table([numeric("x", np.arange(36.0))])
    leaves = Cart(min_leaf=6, **COPIES).fit(table, coded("t", codes, 30), rng=rng()).leaves
    assert (leaves.tree.sizes[leaves.tree.feature < 0] == 6).all()


def leaf_impurity(tree, codes, matrix):
    """Gini index within the leaves, weighted by rows."""
    leaves = tree.apply(matrix)
    counts = np.zeros((leaves.max() + 1, codes.max() + 1))
    np.add.at(counts, (leaves, codes), 1)
    sizes = counts.sum(axis=1)
    return (sizes - (counts**2).sum(axis=1) / np.maximum(sizes, 1)).sum() / len(codes)


def test_projected_trees_are_nearly_as_pure_as_trees_by_the_gini_index():
    seed = 1
    r = rng(seed)
    table = Table([numeric(name, r.normal(size=4000)) for name in "abc"])
    position = table["a"].data + table["b"].data * (table["c"].data > 0) + 0.3 * r.normal(size=4000)
    codes = np.digitize(position, np.quantile(position, np.linspace(0, 1, 61)[1:-1]))
    target = coded("t", codes, 60)
    fitted = Cart(min_leaf=20, leaf_regression=False).fit(table, target, rng=rng(seed))
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
    table, target = Table([coded("x", codes, 2)]), coded("y", codes, 2)
    fitted = Cart(shrinkage=200.0, even=False, leaf_regression=False).fit(table, target, rng=rng())
    many = Table([coded("x", np.zeros(40_000), 2)])
    # The root has 200 donors: half of the draws leave for it, half of those find the other level.
    assert fitted.sample(many, rng=rng(2)).data.mean() == pytest.approx(0.25, abs=0.01)


def leaf_shares(**options):
    """Shares of the second value in both leaves, over 120 fits and draws of 500 rows each."""
    x = np.repeat([0, 1], 60)
    y = np.where(x == 0, np.arange(120) % 4 == 0, np.arange(120) % 4 > 0)
    table, target = Table([coded("x", x, 2)]), coded("y", y, 2)
    many = Table([coded("x", np.repeat([0, 1], 500), 2)])
    draws = [
        Cart(**options).fit(table, target, rng=rng(i)).sample(many, rng=rng(1000 + i)).data
        for i in range(120)
    ]
    return np.reshape(draws, (120, 2, 500)).mean(axis=2)


def test_the_bayesian_bootstrap_varies_the_shares_of_a_leaf_by_the_right_amount():
    plain, proper = leaf_shares(even=False), leaf_shares(even=False, proper=True)
    np.testing.assert_allclose(proper.mean(axis=0), [0.25, 0.75], atol=0.015)
    drawn = 0.25 * 0.75 / 500
    weights = 0.25 * 0.75 / 61  # Rubin (1981): Dirichlet weights of 60 donors
    np.testing.assert_allclose(plain.var(axis=0), drawn, rtol=0.4)
    np.testing.assert_allclose(proper.var(axis=0), drawn + weights, rtol=0.4)
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
        original = np.ones(41)[part] if weights is None else weights[part]
        sure[leaf] = 30 * np.bincount(donors.data[part].astype(int), original, 8) / original.sum()

    def counts(even):
        drawing = Drawing(even=even)
        draws = (leaves.draw(matrix, drawing, rng=rng(i)).data.astype(int) for i in range(600))
        return np.array([[np.bincount(d[:30], minlength=8), np.bincount(d[30:], minlength=8)]
                         for d in draws])  # fmt: skip

    spread, independent = counts(even=True), counts(even=False)
    error = independent.std(axis=0) / np.sqrt(600)
    assert (np.abs(spread.mean(axis=0) - sure) <= 4.5 * error).all()
    assert (np.abs(independent.mean(axis=0) - sure) <= 4.5 * error).all()
    assert spread.var(axis=0).sum() < 0.5 * independent.var(axis=0).sum()


@pytest.mark.parametrize("size", [31, 600])
def test_even_draws_do_not_return_every_single_donor(size):
    """A value that one person has is drawn at random within its group of three neighbours."""
    leaves = Leaves(tree_of([-1], [0], [-1], [size]), numeric("y", np.arange(float(size))))
    matrix = np.zeros((size, 1), dtype=np.float32)
    shares = [
        len(np.unique(leaves.draw(matrix, Drawing(even=True), rng=rng(seed)).data)) / size
        for seed in range(60)
    ]
    assert np.mean(shares) == pytest.approx(1 - (2 / 3) ** 3, abs=0.05)
    assert max(shares) < 0.95


@pytest.mark.parametrize("model", [Bagging(n_trees=4, min_leaf=5), Forest(n_trees=4, min_leaf=5)])
def test_every_tree_of_a_forest_holds_all_donors_and_trees_differ(model):
    table, job, wage = example()
    for target in (job, wage):
        drawn = model.fit(table, target, rng=rng()).sample(table, rng=rng(2))
        assert np.corrcoef(drawn.data, target.data)[0, 1] > 0.5
    fitted = model.fit(table, job, rng=rng())
    assert [leaves.tree.n_donors for leaves in fitted.trees] == [N] * 4
    assert len({leaves.tree.threshold.tobytes() for leaves in fitted.trees}) == 4
