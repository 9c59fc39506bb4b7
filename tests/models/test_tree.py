"""The structure of trees: descent, ranges, climbing and the refusal of broken files."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeRegressor

from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.models.kit.predictors import Encoding, level_scores
from synthesizer.models.kit.trees import Tree


def tree_of(feature, threshold, right, sizes):
    return Tree(
        np.array(feature, dtype=np.int32),
        np.array(threshold, dtype=np.float64),
        np.array(right, dtype=np.int32),
        np.array(sizes, dtype=np.int64),
    )


def grown(seed: int) -> tuple[Tree, np.ndarray, np.ndarray]:
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


def test_the_range_of_a_node_is_the_union_of_the_ranges_of_its_children():
    tree, _, _ = grown(1)
    for node in np.flatnonzero(tree.feature >= 0):
        left, right = node + 1, tree.right[node]
        assert tree.start[node] == tree.start[left]
        assert tree.end[left] == tree.start[right]
        assert tree.end[node] == tree.end[right]
        assert tree.parent[left] == tree.parent[right] == node


def test_climbing_ends_at_the_root():
    tree, matrix, leaves = grown(2)
    assert (tree.climb(leaves, 1) == tree.parent[leaves]).all()
    assert (tree.climb(leaves, 1000) == 0).all()
    assert (tree.climb(tree.apply(matrix), 0) == leaves).all()


@pytest.mark.parametrize(
    "change",
    [
        {"right": [0, -1, -1]},  # a loop
        {"right": [1, -1, -1]},  # two parents
        {"right": [9, -1, -1]},  # out of bounds
        {"right": [-5, -1, -1]},
        {"feature": [-2, -1, -1]},
        {"threshold": [float("nan"), 0.0, 0.0]},
        {"sizes": [0, 3, 0]},
        {"sizes": [0, 3, -2]},
        {"sizes": [1, 3, 2]},
        {"sizes": [0, 2**62, 2**62]},
        {"sizes": [0, 3]},
        {"feature": [], "threshold": [], "right": [], "sizes": []},
        {"feature": 0},
    ],
)
def test_broken_arrays_are_refused(change):
    good = {"feature": [0, -1, -1], "threshold": [0.5, 0, 0], "right": [2, -1, -1]}
    good["sizes"] = [0, 3, 2]
    assert tree_of(**good).n_donors == 5
    with pytest.raises(ValueError, match="tree"):
        tree_of(**good | change)


def test_crossing_branches_are_refused():
    with pytest.raises(ValueError, match="depth-first"):
        tree_of([0, 0, -1, -1, -1], [0.0] * 5, [3, 4, -1, -1, -1], [0, 0, 1, 1, 1])


def test_levels_of_a_two_level_target_are_sorted_by_their_mean():
    codes = np.array([0, 0, 1, 1, 2, 2], dtype=np.int32)
    target = np.array([1.0, 1, 0, 0, 0, 1])
    scores = level_scores(codes, 3, (target - target.mean())[:, None], 0.0)
    assert np.argsort(scores).tolist() == [1, 2, 0]


def best_gain(response, codes, sides):
    """Largest drop of the summed squares by a split of the levels into one side and the rest."""
    gains = []
    for side in sides:
        left = np.isin(codes, list(side))
        parts = (response[left], response[~left])
        gains.append((response**2).sum() - sum(((p - p.mean()) ** 2).sum() for p in parts))
    return max(gains, default=0.0)


@pytest.mark.parametrize("two_levels", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_the_best_cut_of_ordered_levels_is_the_best_of_all_subsets(seed, two_levels):
    rng = np.random.default_rng(seed)
    codes = rng.choice(8, 60, p=rng.dirichlet(np.ones(8))).astype(np.int32)  # common and rare
    effects = np.cumsum(rng.exponential(size=8) ** 3)  # far out on one side only
    if two_levels:
        response = (rng.random(60) < (effects / effects[-1])[codes]).astype(float)
    else:
        response = effects[codes] + rng.random(60)
    response = response - response.mean()
    scores = level_scores(codes, 8, response[:, None], 0.0)
    order = [code for code in np.argsort(scores) if code in codes]
    cuts = [order[:size] for size in range(1, len(order))]
    subsets = [s for size in range(1, len(order)) for s in combinations(order, size)]
    expected = best_gain(response, codes, subsets)
    assert best_gain(response, codes, cuts) == pytest.approx(expected, abs=1e-9)


def test_levels_with_like_profiles_are_neighbours():
    codes = np.repeat(np.arange(4, dtype=np.int32), 50)
    target = np.repeat([0, 1, 0, 1], 50)
    response = np.eye(3)[target]
    scores = level_scores(codes, 4, response - response.mean(0), 0.0)
    assert scores[0] == pytest.approx(scores[2])
    assert scores[1] == pytest.approx(scores[3])
    assert abs(scores[0] - scores[1]) > 0.5


def test_a_prior_moves_rare_levels_to_the_middle():
    codes = np.array([0] * 50 + [1], dtype=np.int32)
    response = np.array([0.1] * 50 + [-5.0])[:, None]
    free, shrunk = (level_scores(codes, 2, response, prior) for prior in (0.0, 10.0))
    assert abs(shrunk[1]) < abs(free[1]) / 5
    assert shrunk[0] == pytest.approx(free[0], rel=0.2)


def test_missing_codes_of_numbers_have_places_of_their_own():
    variable = Variable(name="x", kind=Kind.NUMERIC, missing=("", "-8"))
    column = Column(variable, np.array([2.0, np.nan, np.nan, 5.0]), np.array([0, 1, 2, 0], np.int8))
    table = Table([column])
    matrix = Encoding.learn(table, np.ones((4, 1)), prior=0.0).matrix(table)[:, 0]
    assert len(set(matrix.tolist())) == 4
    assert max(matrix[1:3]) < 2


def test_ordered_levels_keep_their_order_and_unseen_ones_lie_in_the_middle():
    ordered = Variable(name="o", kind=Kind.ORDERED, levels=("low", "mid", "high"))
    named = Variable(name="c", kind=Kind.CATEGORICAL, levels=("a", "b", "never"))
    table = Table(
        [
            Column(ordered, np.array([2, 0, 1, 1], dtype=np.int32)),
            Column(named, np.array([0, 0, 1, 1], dtype=np.int32)),
        ]
    )
    response = np.array([1.0, 1.0, -1.0, -1.0])[:, None]
    encoding = Encoding.learn(table, response, prior=0.0)
    assert encoding.positions[0].tolist() == [0, 1, 2]
    assert encoding.positions[1].tolist() == [1, -1, 0]
