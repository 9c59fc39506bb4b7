"""The compiled functions and their numpy forms return the same bytes; slow code judges trees."""

import numpy as np
import pytest
from scipy.special import logsumexp

from synthesizer.data import workers as library
from synthesizer.models.kit import kernels
from synthesizer.models.kit.kernels import Growth, Splits
from synthesizer.models.kit.predictors import Bins

compiled = pytest.mark.skipif(kernels.LIBRARY is None, reason="no compiler when it was installed")


@pytest.fixture
def both(monkeypatch):
    """Return a function that calls another one with and without the compiled library."""

    def call(function, *arguments):
        with_library = function(*arguments)
        monkeypatch.setattr(kernels, "LIBRARY", None)
        without = function(*arguments)
        monkeypatch.undo()
        return with_library, without

    return call


def example(seed, *, n=400, p=5, width=3, kind="classes"):
    rng = np.random.default_rng(seed)
    n_bins = rng.integers(1, 12, size=p).astype(np.int32)
    n_bins[0] = rng.choice([2, 1024])
    bins = [rng.integers(b, size=n).astype(np.uint16) for b in n_bins]
    signal = sum(b.astype(int) for b in bins[:2]) + rng.integers(4, size=n)
    if kind == "classes":
        response = (signal % width).astype(np.int32)
    else:
        response = signal[:, None] * rng.integers(-(2**20), 2**20, size=width)
    rows = rng.integers(n, size=n) if seed % 2 else np.arange(n)
    return bins, n_bins, response, width, rows


def grown(data, **changed):
    settings = {"min_leaf": 5, "max_depth": None, "min_gain": 1e-6, "n_candidates": 99, "key": 7}
    return kernels.grow(*data, Growth(**settings | changed))


def assert_same(one: Splits, other: Splits):
    inner = one.feature >= 0
    for name in ("feature", "right"):
        assert (getattr(one, name) == getattr(other, name)).all()
    for name in ("left_bin", "right_bin"):
        assert (getattr(one, name)[inner] == getattr(other, name)[inner]).all()


@compiled
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_trees_are_the_same_without_a_compiler(both, seed, kind):
    changes = [{}, {"min_leaf": 1}, {"max_depth": 3}, {"n_candidates": 2}, {"min_gain": 1e9}]
    changed = changes[seed % len(changes)]
    data = example(seed, width=1 + seed % 11, kind=kind)
    one, other = both(lambda: grown(data, **changed))
    assert_same(one, other)
    assert len(one.feature) > 3 or "min_gain" in changed or data[3] == 1


@compiled
def test_tables_that_are_too_large_for_children_change_nothing(monkeypatch, both):
    data = example(1, n=3_000)
    one, blocks = both(lambda: grown(data))
    monkeypatch.setattr(kernels, "MAX_CELLS", 10)
    assert_same(one, grown(data))
    monkeypatch.setattr(kernels, "MAX_LEVEL_CELLS", 5_000)
    monkeypatch.setattr(kernels, "LIBRARY", None)
    assert_same(blocks, grown(data))


def slow_splits(data, growth, rows=None, depth=0):
    """Return the splits of a tree by trying all of them, depth-first."""
    bins, _, response, width, root = data
    rows = root if rows is None else rows

    def score(part):
        if response.ndim == 1:
            return sum(np.count_nonzero(response[part] == k) ** 2 for k in range(width)) / len(part)
        return float((response[part].sum(axis=0).astype(float) ** 2).sum()) / len(part)

    best = (score(rows) + growth.min_gain, None)
    for feature in range(len(bins)):
        for last in np.unique(bins[feature][rows])[:-1]:
            is_left = bins[feature][rows] <= last
            if min(is_left.sum(), (~is_left).sum()) >= growth.min_leaf:
                value = score(rows[is_left]) + score(rows[~is_left])
                if value > best[0]:
                    best = (value, (feature, int(last), is_left))
    if best[1] is None or depth == growth.max_depth:
        return [(-1, -1)]
    feature, last, is_left = best[1]
    sides = (rows[is_left], rows[~is_left])
    return [(feature, last)] + [
        node for side in sides for node in slow_splits(data, growth, side, depth + 1)
    ]


@pytest.mark.parametrize("kind", ["classes", "numbers"])
@pytest.mark.parametrize("max_depth", [None, 2])
@pytest.mark.parametrize("without", [False, True])
def test_trees_are_those_of_slow_code(monkeypatch, kind, max_depth, without):
    if without:
        monkeypatch.setattr(kernels, "LIBRARY", None)
    for seed in range(4):
        data = example(seed, kind=kind, n=200)
        growth = Growth(min_leaf=8, max_depth=max_depth, min_gain=0.5, n_candidates=9, key=1)
        splits = kernels.grow(*data, growth)
        expected = slow_splits(data, growth)
        assert splits.feature.tolist() == [feature for feature, _ in expected]
        inner = splits.feature >= 0
        assert splits.left_bin[inner].tolist() == [last for _, last in expected if last >= 0]


@pytest.mark.parametrize("without", [False, True])
def test_candidates_are_a_random_part_of_the_features(monkeypatch, without):
    if without:
        monkeypatch.setattr(kernels, "LIBRARY", None)
    n, p = 100, 8
    rng = np.random.default_rng(1)
    bins = [rng.integers(2, size=n).astype(np.uint16) for _ in range(p)]
    bins[3] = np.repeat([0, 1], n // 2).astype(np.uint16)
    bins[5][:] = 0  # of one candidate without a split another feature takes the place
    data = (bins, np.full(p, 2, dtype=np.int32), bins[3].astype(np.int32), 2, np.arange(n))
    roots = [int(grown(data, n_candidates=2, key=key).feature[0]) for key in range(400)]
    assert 60 < roots.count(3) < 140  # two of eight
    assert 5 not in roots
    assert len(set(roots)) >= p - 2
    assert -1 not in [int(grown(data, n_candidates=1, key=key).feature[0]) for key in range(50)]


@compiled
@pytest.mark.parametrize("order", ["C", "F"])
def test_leaves_are_those_of_a_walk(both, order):
    rng = np.random.default_rng(1)
    data = example(2, n=2_000, width=4)
    splits = grown(data)
    matrix = np.asarray(rng.random((500, 5)) * data[1], dtype=np.float32, order=order)
    threshold = np.where(splits.feature < 0, 0.0, splits.left_bin + 0.5)

    def leaf(row):
        node = 0
        while splits.feature[node] >= 0:
            is_left = row[splits.feature[node]] <= threshold[node]
            node = node + 1 if is_left else splits.right[node]
        return node

    leaves, slow = both(
        lambda: kernels.find_leaves(matrix, splits.feature, threshold, splits.right)
    )
    assert leaves.tolist() == slow.tolist() == [leaf(row) for row in matrix]
    assert len(np.unique(leaves)) > 10


def test_exponentials_are_those_of_numpy():
    x = np.concatenate([np.linspace(-86.9, 88, 100_001), [0, -0.0, 1, -1]]).astype(np.float32)
    expected = np.exp(x.astype(np.float64))
    assert (np.abs(kernels.exponential(x) / expected - 1) < 2e-7).all()
    assert kernels.exponential(np.array([0, -88, -np.inf], dtype=np.float32)).tolist() == [1, 0, 0]


@compiled
@pytest.mark.parametrize("k", [1, 2, 7, 300])
def test_probabilities_and_draws_are_the_same_without_a_compiler(both, k):
    rng = np.random.default_rng(k)
    scores = (rng.normal(size=(500, k)) * 20).astype(np.float32)
    scores[rng.random(scores.shape) < 0.1] = -1e4
    offsets, classes = rng.normal(size=scores.shape).astype(np.float32), rng.integers(k, size=500)

    def probabilities(*arguments):
        made = scores.copy()
        return made, kernels.softmax(made, *arguments)

    for arguments in ((), (offsets,), (offsets, classes)):
        (one, logs), (other, slow_logs) = both(probabilities, *arguments)
        assert (one == other).all()
        assert (logs == slow_logs).all()
    exact = scores.astype(np.float64) + offsets
    exact -= logsumexp(exact, axis=1, keepdims=True)
    np.testing.assert_allclose(one, np.exp(exact), atol=1e-3)  # scores of 10,000
    np.testing.assert_allclose(logs, exact[np.arange(500), classes], rtol=1e-4, atol=1e-3)
    uniform = rng.random(500)
    uniform[:2] = 0, 1 - 1e-16
    drawn, slow = both(kernels.drawn_classes, one, uniform)
    assert (drawn[0] == slow[0]).all()
    assert (drawn[1] == slow[1]).all()
    assert (one[np.arange(500), drawn[0]] > 0).all()


@compiled
def test_balanced_choices_are_the_same_without_a_compiler(both):
    rng = np.random.default_rng(3)
    n, n_factors, n_groups, n_cells = 700, 4, 6, 30
    logs = np.log(rng.dirichlet(np.ones(n_groups), size=n)).astype(np.float32)
    logs[:50, 0] = -np.inf
    chosen = rng.integers(1, n_groups, size=n)
    cells = rng.integers(n_cells, size=(n, n_factors)).astype(np.int32)
    excess = rng.normal(size=(n_cells, n_groups)).astype(np.float32)
    pull = (rng.random((n_cells, n_groups)) / 5).astype(np.float32)
    order, ends = rng.permutation(n)[:600], 15 * np.arange(1, 41)

    def call():
        counts = excess.copy()
        new = kernels.choose_again(
            logs, chosen, cells, counts, pull, order, ends, np.linspace(0, 0.999, 600)
        )
        return new, counts

    one, other = both(call)
    assert (one[0] == other[0]).all()
    assert (one[1] == other[1]).all()
    assert (one[0] != chosen).any()
    assert one[0][:50].min() > 0


def test_sums_of_table_rows_are_those_of_slow_code(both):
    rng = np.random.default_rng(4)
    table, weights = rng.normal(size=(30, 5)).astype("f4"), rng.normal(size=700).astype("f4")
    positions = rng.integers(-1, 30, size=(4, 700)).astype(np.int32)

    def call():
        out = np.zeros((700, 5), dtype=np.float32)
        kernels.add_rows(out, table, positions, {2: weights})
        return out

    one, other = both(call)
    assert (one == other).all()
    factors = [np.where(row >= 0, 1, 0) for row in positions]
    factors[2] = factors[2] * weights
    slow = sum(f[:, None] * table[row] for f, row in zip(factors, positions, strict=True))
    np.testing.assert_allclose(one, slow, atol=1e-5)


def test_data_out_of_range_are_refused():
    bins, n_bins, response, width, rows = example(0)
    for wrong in (
        ([bins[0] + n_bins[0], *bins[1:]], n_bins, response, width, rows),
        (bins, n_bins, response + 1, width, rows),
        (bins, np.full_like(n_bins, 1025), response, width, rows),
    ):
        with pytest.raises(ValueError, match="out of range"):
            grown(wrong)


@pytest.mark.parametrize("n", [1024, 1025, 2049])
def test_a_last_code_without_rows_is_in_no_bin_beyond_the_last(n):
    bins = Bins.of_codes(np.arange(n - 1, dtype=np.int32), np.arange(n, dtype=np.float32))
    assert len(bins.low) <= kernels.MAX_BINS


@compiled
def test_a_library_of_another_source_is_not_used(monkeypatch):
    monkeypatch.setattr(library, "VERSION", 0)
    assert library._load() is None
