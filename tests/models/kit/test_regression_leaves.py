"""Trees with a leaf regression: classes, features, nodes and the regression against slow code."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize
from scipy.special import logsumexp

from synthesizer.data.table import Kind, Table
from synthesizer.models.base import FittedModel
from synthesizer.models.cart import Cart, FittedCart
from synthesizer.models.kit import leaf_regression, regression_leaves
from synthesizer.models.kit.classes import TargetClasses
from synthesizer.models.kit.features import Features
from synthesizer.models.kit.kernels import drawn_classes
from synthesizer.models.kit.leaf_regression import RegressionData
from synthesizer.models.kit.regression_leaves import (
    RegressionLeaves,
    absent_pairs,
    node_probabilities,
    unseen_shares,
)
from tests.models.fits import coded, draw, fit, numeric
from tests.models.test_trees import tree_of


def test_spikes_intervals_and_borders_of_groups() -> None:
    rng = np.random.default_rng(1)
    wage = np.where(rng.random(3000) < 0.2, 0.0, np.round(rng.lognormal(7, 1, 3000)))
    edges = np.array([300.0, 1500.0])
    group = coded("g", np.searchsorted(edges, wage, side="right"), 3)
    classes = TargetClasses.of(numeric("wage", wage, 0), Table([group]))
    assert classes.spikes.tolist() == [0.0]
    positions = classes.classify(wage)
    low, high = classes.ranges(positions)
    assert ((low <= wage) & (wage <= high)).all()
    drawn = classes.draw(positions, rng.random(3000))
    assert (classes.classify(drawn) == positions).all()
    assert (np.searchsorted(edges, drawn, side="right") == group.data).all()
    assert np.bincount(positions)[1:].max() <= 3000 / 30 + 1
    for k in range(classes.n_classes):
        assert classes.centres[k] == pytest.approx(wage[positions == k].mean())


def test_few_values_and_codes_have_a_class_each() -> None:
    classes = TargetClasses.of(numeric("y", [3, 1, 1, 9]), Table([], n_rows=4))
    assert classes.classify(np.array([1.0, 3, 9, 2.9, 100, -5])).tolist() == [0, 1, 2, 1, 2, 0]
    assert classes.draw(np.array([2, 0]), np.zeros(2)).tolist() == [9, 1]


TREE = tree_of([0, -1, -1], [0.5, 0, 0], [2, -1, -1], [0, 4, 6])
LEAVES = np.repeat([1, 2], [4, 6])
CLASSES = np.array([0, 0, 0, 1, 0, 1, 1, 1, 1, 1])


@pytest.mark.parametrize("least", [0.0, 3.0])
def test_nodes_borrow_from_their_parents(least: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regression_leaves, "BORROWED_ROWS", (2.0,))
    p = node_probabilities(
        TREE, LEAVES, CLASSES, 2, weights=np.ones(10), min_effective_rows=1, least=least
    )  # fmt: skip
    b = max(2.0, least)
    np.testing.assert_allclose(p[0], [0.4, 0.6])
    np.testing.assert_allclose(p[1], [(3 + b * 0.4) / (4 + b), (1 + b * 0.6) / (4 + b)])
    np.testing.assert_allclose(p[2], [(1 + b * 0.4) / (6 + b), (5 + b * 0.6) / (6 + b)])


@pytest.mark.parametrize("seed", [0, 4])
def test_the_evidence_is_that_of_rows_left_out_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    leaves, classes = np.repeat([1, 2], [14, 16]), rng.integers(0, 3, 30)
    classes[14:] = np.where(rng.random(16) < seed / 6, 2, classes[14:])
    slow = {b: np.log(b) for b in regression_leaves.BORROWED_ROWS}
    for b in slow:
        for i in range(30):
            others = np.delete(np.arange(30), i)
            root = (np.sum(classes[others] == classes[i]) + 0.5 / 3) / (30 - 0.5)
            leaf = others[leaves[others] == leaves[i]]
            original = np.sum(classes[leaf] == classes[i])
            slow[b] += np.log((original + b * root) / (len(leaf) + b))
    counts = np.zeros((2, 3))
    np.add.at(counts, (leaves - 1, classes), 1)
    best = max(slow, key=lambda b: slow[b])
    root = (np.maximum(counts.sum(axis=0) - 1, 0) + 0.5 / 3) / (30 - 0.5)
    borrowed = regression_leaves._borrowed_rows(counts[None], counts.sum(axis=1)[None], root[None])
    assert borrowed.tolist() == [best]


def test_no_row_weighs_more_than_the_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    cap = 10
    monkeypatch.setattr(regression_leaves, "BORROWED_ROWS", (1.0,))
    sizes = [3, 5, 92, 300]
    tree = tree_of(
        [0, 0, 0, -1, -1, -1, -1], [0.7, 0.4, 0.2, 0, 0, 0, 0], [6, 5, 4, -1, -1, -1, -1],
        [0, 0, 0, *sizes],
    )  # fmt: skip
    leaves = np.repeat([3, 4, 5, 6], sizes)
    classes = np.random.default_rng(1).integers(0, 2, 400)

    def probabilities(codes: np.ndarray) -> np.ndarray:
        return node_probabilities(
            tree, leaves, codes, 2, weights=np.ones(400), min_effective_rows=cap, least=0
        )

    before = probabilities(classes)
    for row in (0, 3, 8, 150):
        changed = classes.copy()
        changed[row] = 1 - changed[row]
        moved = np.abs(probabilities(changed) - before).max()
        assert moved <= 1 / cap + 1e-9
        if row < 8:  # of small leaves the bound is reached
            assert moved == pytest.approx(1 / cap, rel=0.01)


@pytest.mark.parametrize(("n_codes", "n_classes", "rows"), [(40, 7, 900), (900_000, 5_000, 600)])
def test_pairs_that_never_occur_are_those_of_plain_counts(
    n_codes: int, n_classes: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Products of codes and classes are beyond the integers of 32 bits."""
    monkeypatch.setattr(regression_leaves, "MAX_BLOCK_CELLS", 3 * n_classes)
    rng = np.random.default_rng(rows)
    used = rng.choice(n_codes, 12, replace=False)
    codes = used[rng.integers(0, 12, rows) // rng.integers(1, 9, rows)].astype(np.int32)
    classes = (n_classes - 1 - (rng.integers(0, 6, rows) * (codes % 5 > 1))).astype(np.int32)
    totals = np.bincount(classes, minlength=n_classes)
    shares = totals / rows
    wanted = {}
    for code in used.tolist():
        counts = np.bincount(classes[codes == code], minlength=n_classes)
        factors = unseen_shares(counts.astype(float), counts.sum() * shares)
        wanted |= {(code, k): factors[k] for k in np.flatnonzero(factors < 1).tolist()}
    actual = absent_pairs(codes, classes, np.bincount(codes), totals)
    pairs = list(zip(actual[0].tolist(), actual[1].tolist(), strict=True))
    assert pairs == sorted(wanted)
    assert pairs
    np.testing.assert_allclose(np.exp(actual[2]), [wanted[pair] for pair in pairs], rtol=1e-5)


def test_a_number_of_many_heaps_and_blanks_is_a_predictor() -> None:
    heaps = 90
    rng = np.random.default_rng(heaps)
    states = (rng.random(6000) < 0.3).astype(int)
    x = np.where(states, np.nan, rng.integers(0, heaps, 6000) + (rng.random(6000) < 0.2) * 0.5)
    number = numeric("x", x, 1, states=states, missing=[""])
    y = np.where(states, 2, rng.integers(0, 2, 6000))
    drawn = draw(fit(Cart(), Table([number]), coded("y", y, 3)), Table([number]))
    assert (drawn[states == 1] == 2).mean() > 0.99
    assert (drawn[states == 0] == 2).mean() < 0.01


def problem(n: int = 300, *, shared: bool = False, effect: float = 1.0) -> RegressionData:
    rng = np.random.default_rng(5)
    x, z = rng.normal(size=n), rng.integers(0, 3, n)
    y = np.clip(np.round(2 + effect * (x + 0.7 * (z == 2)) + rng.normal(size=n)), 0, 4)
    features, matrix = Features.fit(Table([numeric("x", x), coded("z", z, 3)]))
    value = (np.arange(5.0) - 2) / 1.5
    moments = np.eye(5) if shared else np.column_stack([value, value**2])
    shares = np.bincount(y.astype(int), minlength=5) / n
    return RegressionData(
        matrix=matrix, groups=features.groups, linear=features.linear,
        moments=moments.astype(np.float32), n_linear=0 if shared else 1, shared=shared, ridge=1.0,
        offsets=np.log(np.tile(np.maximum(shares, 1e-6), (n, 1))).astype(np.float32),
        classes=y.astype(np.int64), weights=rng.uniform(0.5, 2, n).astype(np.float32),
    )  # fmt: skip


def slow_loss(it: RegressionData, coefficients: np.ndarray) -> float:
    scores = it.offsets.astype(float) + it.matrix.astype(float) @ coefficients @ it.moments.T
    original = scores[np.arange(len(scores)), it.classes]
    assert it.weights is not None
    return float(it.weights.astype(float) @ (logsumexp(scores, axis=1) - original))


@pytest.mark.parametrize(("shared", "weighted"), [(False, True), (True, False)])
def test_sums_over_blocks_of_rows_and_the_ridges_are_those_of_whole_matrices(
    shared: bool, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores, their variance, the method of moments, and the evidence (MacKay 1992)."""
    monkeypatch.setattr(leaf_regression, "CHUNK_CELLS", 500)
    it = problem(shared=shared, effect=0.3)
    it = replace(it, offsets=it.offsets + 0.7, weights=it.weights if weighted else None)
    x, w = it.matrix.astype(float), np.ones(300) if it.weights is None else it.weights.astype(float)
    m, p = it.moments.astype(float), np.exp(it.offsets.astype(float))
    p /= p.sum(axis=1, keepdims=True)
    (_, gradient), spread, gram = it._curvature(np.zeros((x.shape[1], m.shape[1])))
    scores = -gradient
    variance = p @ m**2 - (p @ m) ** 2
    np.testing.assert_allclose(spread, np.maximum(variance.mean(axis=0), 1e-4), rtol=1e-4)
    curvature = x.T @ ((w * variance.mean(axis=1) / variance.mean())[:, None] * x)
    np.testing.assert_allclose(gram, curvature, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(scores, x.T @ (w[:, None] * (m[it.classes] - p @ m)), atol=0.01)
    first = it._first_ridges(gram, spread, scores)
    penalty = it._penalty(first)
    coefficients = np.random.default_rng(1).normal(size=scores.shape) / 3
    actual = it._ridges_by_evidence(coefficients, it._whitening(gram, spread, first), first)
    for g, original in enumerate(it.groups):
        blocks = [size * gram[original, original] for size in spread]
        excess = [(scores[original, k] ** 2).sum() - np.trace(b) for k, b in enumerate(blocks)]
        scale = [(b**2).sum() for b in blocks]
        sizes = (coefficients[original] ** 2).sum(axis=0)
        curvature = [np.mean(spread)] * len(spread) if shared else spread
        free = [
            (1 - penalty[:, k] * np.diag(np.linalg.inv(c * gram + np.diag(penalty[:, k]))))[
                original
            ]
            for k, c in enumerate(curvature)
        ]
        if shared:
            moments = [sum(scale) / max(sum(excess), 1e-300)] * len(spread)
            evidence = [free[0].sum() * (len(spread) - 1) / sizes.sum()] * len(spread)
        else:
            moments = [s / max(e, 1e-300) for s, e in zip(scale, excess, strict=True)]
            evidence = [f.sum() / s for f, s in zip(free, sizes, strict=True)]
        ends = leaf_regression.MIN_RIDGE, leaf_regression.MAX_RIDGE
        np.testing.assert_allclose(first[g], np.clip(moments, *ends), rtol=1e-3)
        np.testing.assert_allclose(actual[g], np.clip(evidence, *ends), rtol=1e-3)
    for ridges in (first, actual):
        assert ((ridges > ends[0]) & (ridges < ends[1])).any()
    assert it._first_ridges(gram, spread, 1e3 * scores).min() == ends[0]


@pytest.mark.parametrize("shared", [False, True])
def test_the_maximum_is_that_of_a_plain_search(
    shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaf_regression, "TOLERANCE_STANDARD_ERRORS", 1e-4)
    it = problem(shared=shared)
    start = np.zeros((it.matrix.shape[1], it.moments.shape[1]))
    loss, spread, gram = it._curvature(start)
    ridges = it._first_ridges(gram, spread, loss[1])
    factors = it._whitening(gram, spread, ridges)
    actual = it._solve(start, loss, factors, ridges, iterations=500)
    again = it._solve(actual, it._loss(actual), factors, ridges, iterations=1)
    np.testing.assert_allclose(again, actual, atol=0.01)  # a start is where the search begins
    penalty = it._penalty(ridges)

    def objective(flat: np.ndarray) -> float:
        at = flat.reshape(start.shape)
        return slow_loss(it, at) + 0.5 * float((penalty * at**2).sum())

    slow = scipy.optimize.minimize(objective, start.ravel(), method="BFGS", options={"gtol": 1e-4})
    assert objective(actual.ravel()) == pytest.approx(slow.fun, abs=2e-3)


def test_sums_of_very_many_classes_stay_finite() -> None:
    classes = 20_000
    offsets = np.zeros((10, classes), dtype=np.float32)
    moments = np.ones((classes, 1), dtype=np.float32)
    it = replace(problem(10), moments=moments, offsets=offsets)
    steep = np.zeros((it.matrix.shape[1], 1))
    steep[0] = -1e4
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        loss, gradient = it._loss(steep)
    assert np.isfinite(loss)
    assert np.isfinite(gradient).all()


def test_linear_moments_are_those_of_the_data_and_nothing_is_learnt_from_nothing() -> None:
    it = problem(3000, effect=0.15)
    coefficients = it.fit(np.random.default_rng(1)).astype(float)
    scores = it.offsets.astype(float) + it.matrix.astype(float) @ coefficients @ it.moments.T
    p = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    assert it.weights is not None
    shares = (it.matrix * it.weights[:, None]).T @ (it.moments[it.classes] - p @ it.moments)
    gram = it.matrix.T @ (it.weights[:, None] * it.matrix)
    error = np.sqrt(np.diag(gram) * it.moments[:, 0].var())
    assert (np.abs(shares[it.linear, 0]) < 0.1 * error[it.linear] + 1.5).all()
    nothing = problem(3000, effect=0.0).fit(np.random.default_rng(1))
    assert np.abs(nothing).max() < 0.1


def test_draws_follow_the_probabilities() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=1500)
    target = coded("y", np.clip(np.round(x + rng.normal(size=1500)) + 2, 0, 4), 5)
    fitted = fit(Cart(even=False), Table([numeric("x", x)]), target)
    assert isinstance(fitted, FittedCart)
    assert isinstance(fitted.leaves, RegressionLeaves)
    leaves, row = fitted.leaves, Table([numeric("x", np.full(40_000, 0.3))])
    shifts = (leaves.features.matrix(row) @ leaves.coefficients @ leaves.moments.values.T)[0]
    for steps in (0, 60):
        nodes = leaves.tree.climb(leaves.tree.apply(fitted.encoding.matrix(row)), steps)
        scores = (leaves._offsets(row, nodes)[0] + shifts).astype(float)
        drawn = fitted.sample_wider(row, steps=steps, rng=rng).data
        p = np.exp(scores - logsumexp(scores))
        np.testing.assert_allclose(np.bincount(drawn, minlength=5) / 40_000, p, atol=0.012)
        if not steps:
            original = fitted.log_likelihood(row, target.take(np.zeros(40_000, dtype=int)))
            np.testing.assert_allclose(np.exp(original), p[target.data[0]], rtol=1e-4)
    assert (nodes == 0).all()


def test_proper_weights_move_the_distribution() -> None:
    target, table = coded("y", np.repeat([0, 1], 100), 2), Table([], n_rows=200)
    shares = [draw(fit(Cart(proper=True), table, target, seed), table).mean() for seed in range(8)]
    assert 0.01 < np.std(shares) < 0.1
    plain = [draw(fit(Cart(), table, target, seed), table).mean() for seed in range(4)]
    assert np.ptp([*plain, 0.5]) < 0.02


def test_a_group_and_its_number_agree_in_both_orders() -> None:
    income = numeric("income", np.round(np.random.default_rng(8).lognormal(10, 0.8, 3000)), 0)
    cuts = np.quantile(income.data, np.arange(1, 10) / 10)
    decile = coded("decile", np.searchsorted(cuts, income.data), 10, kind=Kind.ORDERED)
    number = draw(fit(Cart(), Table([decile]), income), Table([decile]))
    assert (np.searchsorted(cuts, number) != decile.data).mean() < 0.002
    group = draw(fit(Cart(), Table([income]), decile), Table([income]))
    assert (group != decile.data).mean() < 0.01


def _expected(fitted: FittedModel, table: Table) -> np.ndarray:
    """Return the probability of each class in each row."""
    assert isinstance(fitted, FittedCart)
    assert isinstance(fitted.leaves, RegressionLeaves)
    nodes = fitted.leaves.tree.apply(fitted.encoding.matrix(table))
    scores = fitted.leaves._scores(table, nodes)[0].astype(float)
    return np.exp(scores - logsumexp(scores, axis=1, keepdims=True))


def test_relations_differ_with_a_moderator() -> None:
    rng = np.random.default_rng(12)
    sex, race = rng.integers(0, 2, 6000), rng.integers(0, 2, 6000)
    y = (rng.random(6000) < 0.5 + 0.08 * (2 * sex - 1) * (2 * race - 1)).astype(int)
    table, one_leaf = Table([coded("sex", sex, 2), coded("race", race, 2)]), Cart(min_leaf=6000)

    def gaps(share: np.ndarray) -> list[float]:
        """Return the difference between the races, for each sex."""
        means = [[share[(sex == s) & (race == r)].mean() for r in (0, 1)] for s in (0, 1)]
        return [high - low for low, high in means]

    target = coded("y", y, 2)
    actual = gaps(_expected(fit(one_leaf.moderated(["sex"]), table, target), table)[:, 1])
    np.testing.assert_allclose(actual, gaps(y), atol=0.005)
    additive = gaps(_expected(fit(one_leaf, table, target), table)[:, 1])
    assert abs(additive[0] - gaps(y)[0]) > 0.1  # both sexes have the mean of the two


def test_classes_are_drawn_by_their_weights_whatever_the_rows_before() -> None:
    rng = np.random.default_rng(3)
    weights = rng.random((500, 6)).astype(np.float32) * (rng.random((500, 6)) < 0.6)
    weights[np.arange(500), rng.integers(0, 6, 500)] = 1.0
    weights[::7] *= 1e-9
    uniform = rng.random(500)
    uniform[:2] = 0.0, np.nextafter(1.0, 0.0)
    classes, rest = drawn_classes(weights, uniform)
    assert (weights[np.arange(500), classes] > 0).all()
    for row, u in enumerate(uniform[7:], start=7):
        if row % 7:
            ends = np.cumsum(weights[row].astype(float)) / weights[row].sum(dtype=float)
            k = int(np.searchsorted(ends, u, side="right"))
            assert classes[row] == k
            low = ends[k - 1] if k else 0.0
            assert rest[row] == pytest.approx((u - low) / (ends[k] - low), abs=1e-6)


@pytest.mark.parametrize(
    ("levels", "shared", "ridge", "most"),
    [(4, True, 1, 5), (2, True, 1, 1), (4, False, 1, 1), (4, True, 44, 44)],
)
def test_ridges_of_linear_terms_have_a_limit(
    levels: int, shared: bool, ridge: int, most: int
) -> None:
    moments = np.eye(levels, dtype=np.float32)
    it = replace(problem(shared=shared), moments=moments, n_linear=levels, ridge=ridge)
    penalty = it._penalty(np.full((len(it.groups), levels), 200.0))
    assert set(penalty[it.linear][1:].ravel()) == {most}
    assert set(penalty[0]) == {1.0}
    assert (penalty[~it.linear] == 200.0).all()
