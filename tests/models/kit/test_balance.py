"""Balanced draws: the sampler against slow code, its tables, and what it must not change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthesizer import Synthesizer
from synthesizer.data.table import Table
from synthesizer.models.cart import Cart
from synthesizer.models.kit import balance as kit
from synthesizer.models.kit.balance import Balance, Groups
from synthesizer.models.kit.kernels import MAX_TILT, choose_again, drawn_classes
from synthesizer.models.kit.numerics import joined
from tests.models.fits import coded, draw, fit, numeric


def problem(seed: int, n: int, n_classes: int = 4) -> tuple[list[np.ndarray], np.ndarray]:
    """Return two factors, and probabilities that depend on them; class 0 is impossible at times."""
    rng = np.random.default_rng(seed)
    factors = [rng.integers(0, 3, n), rng.integers(0, 5, n)]
    scores = (
        rng.normal(size=(3, n_classes))[factors[0]] + rng.normal(size=(5, n_classes))[factors[1]]
    )
    weights = np.exp(scores + rng.normal(size=scores.shape))
    weights[factors[0] == 1, 0] = 0.0
    return factors, weights.astype(np.float32)


def started(
    factors: list[np.ndarray], weights: np.ndarray, seed: int
) -> tuple[Balance, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    classes = drawn_classes(weights, rng.random(len(weights)))[0]
    shares, order = weights.mean(axis=0, dtype=np.float64), np.arange(weights.shape[1])
    balance = Balance.of([Groups.of(codes) for codes in factors], len(factors[0]), shares, order)
    assert balance is not None
    return balance, classes, rng


def excess_of(balance: Balance, weights: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return counts minus expectations, row by row."""
    chances = weights / weights.sum(axis=1, keepdims=True)
    excess = np.zeros(balance.excess.shape)
    for row, cells in enumerate(balance.cells):
        for cell in cells:
            excess[cell, balance.groups[classes[row]]] += 1
            for k, chance in enumerate(chances[row]):
                excess[cell, balance.groups[k]] -= chance
    return excess


def test_rows_choose_by_the_model_and_the_squared_distance() -> None:
    factors, weights = problem(1, 150)
    balance, first, _ = started(factors, weights, 2)
    chances = weights / weights.sum(axis=1, keepdims=True)
    pull = np.random.default_rng(3).random(balance.excess.shape).astype(np.float32)
    excess = excess_of(balance, weights, first)
    rng, slow = np.random.default_rng(4), first.copy()
    free = np.flatnonzero(chances.max(axis=1) < 1 - kit.MIN_CHANCE)
    order, uniform = rng.permutation(free), rng.random(len(free))
    with np.errstate(divide="ignore"):
        logs = np.log(chances)
    chosen = choose_again(
        logs, first, balance.cells, excess.astype(np.float32), pull,
        order, np.arange(len(order)) + 1, uniform,
    )  # fmt: skip
    for row, u in zip(order, uniform, strict=True):
        density = np.zeros(weights.shape[1])
        for k in range(weights.shape[1]):
            without = excess.copy()
            without[balance.cells[row], slow[row]] -= 1
            there = without.copy()
            there[balance.cells[row], k] += 1
            cost = (pull * (there**2 - without**2)).sum() / 2
            density[k] = chances[row, k] * np.exp(-np.clip(cost, -MAX_TILT, MAX_TILT))
        new = np.searchsorted(density.cumsum(), u * density.sum(), side="right")
        excess[balance.cells[row], slow[row]] -= 1
        excess[balance.cells[row], new] += 1
        slow[row] = new
    np.testing.assert_array_equal(chosen, slow)


def test_counts_of_blocks_are_carried_on_and_tables_come_near_their_expectation() -> None:
    factors, weights = problem(5, 2000)
    balance, first, rng = started(factors, weights, 6)
    before = (excess_of(balance, weights, first) ** 2).sum()
    parts = [slice(0, 1200), slice(1200, 2000)]
    chosen = np.concatenate([balance.balanced(weights[p], first[p], p, rng) for p in parts])
    excess = excess_of(balance, weights, chosen)
    np.testing.assert_allclose(balance.excess, excess, atol=0.05)
    assert (excess**2).sum() < before / 5
    assert weights[np.arange(2000), chosen].min() > 0


@pytest.mark.parametrize("length", [600, 50])
def test_rows_keep_their_probabilities(length: int) -> None:
    """Also in blocks; without the term of the row itself they would be 15 % flatter."""
    factors, weights = problem(7, 600)
    chances = weights / weights.sum(axis=1, keepdims=True)
    counts = np.zeros(weights.shape)
    for seed in range(100):
        balance, first, rng = started(factors, weights, seed)
        parts = [slice(start, start + length) for start in range(0, 600, length)]
        chosen = [balance.balanced(weights[p], first[p], p, rng) for p in parts]
        counts[np.arange(600), np.concatenate(chosen)] += 1
    slope = np.polyfit(chances.ravel(), counts.ravel() / 100, 1)[0]
    assert slope == pytest.approx(1.0, abs=0.05)
    assert np.abs(counts.mean(axis=0) / 100 - chances.mean(axis=0)).max() < 0.005


def test_neighbouring_classes_are_joined_by_their_shares() -> None:
    shares = np.random.default_rng(1).dirichlet(np.ones(60))
    groups = joined(shares, 8)
    assert (np.diff(groups) >= 0).all()
    assert groups[-1] < 8
    assert np.bincount(groups, weights=shares).max() < 1 / 8 + 2 * shares.max()


def test_few_rows_and_one_class_have_no_balance() -> None:
    few = kit.MIN_BALANCED_ROWS - 1
    shares, order = np.full(2, 0.5), np.arange(2)
    one, more = (Groups.of(np.zeros(n, dtype=int)) for n in (few, few + 1))
    assert Balance.of([one], few, shares, order) is None
    assert Balance.of([more], few + 1, shares, order) is not None
    assert Balance.of([more], few + 1, shares[:1], order[:1]) is None


@pytest.mark.parametrize("is_number", [True, False])
def test_tables_of_a_tree_vary_less_and_have_the_same_mean(is_number: bool) -> None:
    """Against independent draws; the mean also of cells of both predictors."""
    rng = np.random.default_rng(8)
    a, b = rng.integers(0, 4, 1500), np.round(rng.gamma(2, 10, 1500))
    score = a + 0.05 * b + rng.normal(size=1500)
    table = Table([coded("a", a, 4), numeric("b", b, 0)])
    target = numeric("y", np.round(100 * score)) if is_number else coded("y", score > 2.5, 2)
    cuts = np.quantile(target.data, [0.25, 0.5, 0.75]) if is_number else np.array([0.5])
    cells = 5 * a + np.searchsorted(np.quantile(b, [0.2, 0.4, 0.6, 0.8]), b)
    tables: dict[bool, Any] = {}
    for balanced in (False, True):
        fitted = fit(Cart(even=balanced, balanced=balanced), table, target)
        draws = [np.searchsorted(cuts, draw(fitted, table, seed)) for seed in range(60)]
        tables[balanced] = np.array([np.bincount(a * 4 + y, minlength=16) for y in draws])
        full = [np.bincount(cells * 4 + y, minlength=80) for y in draws]
        tables[balanced] = tables[balanced], np.mean(full, axis=0)
    (plain, every), (balanced, every_balanced) = tables[False], tables[True]
    assert balanced.var(axis=0).sum() < plain.var(axis=0).sum() / 3
    np.testing.assert_allclose(balanced.mean(axis=0), plain.mean(axis=0), atol=6)
    assert np.abs(every - every_balanced).sum() / 1500 < 0.04


def frame(n: int = 600) -> pd.DataFrame:
    """Persons with a pair of levels that does not occur, blanks, and heaped numbers."""
    rng = np.random.default_rng(9)
    area = rng.choice(["n", "e", "s"], n)
    job = np.where(area == "s", rng.choice(["a", "b"], n), rng.choice(["a", "b", "c"], n))
    pay = np.round(rng.lognormal(7, 0.5, n) + 300 * (job == "c"), -1)
    pay[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame(
        {"area": area, "job": job, "age": rng.integers(18, 80, n), "pay": pay, "k": rng.random(n)}
    )


def test_workers_and_saving_change_no_byte_and_zeros_hold(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "models": {"cart": {"balanced": True}},
        "structural_zeros": [["area", "job"]],
        "forbid": ["age < 20 and job == 'b'"],
        "keep": ["k"],
        "on_violation": "ignore",
        "seed": 1,
        "random_key": "none",
        "infer_missing": False,
    }
    data = frame()
    made = [Synthesizer(**options, workers=w, m=2).fit(data) for w in (1, 2)]
    one, two = (synthesizer.generate() for synthesizer in made)
    made[0].save(tmp_path / "model")
    again = Synthesizer.load(tmp_path / "model").generate(2, seed=1)
    even = (
        Synthesizer(**options | {"models": {"cart": {"balanced": False}}}, m=1)
        .fit(data)
        .generate()[0]
    )
    for first, right, loaded in zip(one, two, again, strict=True):
        pd.testing.assert_frame_equal(first, right)
        pd.testing.assert_frame_equal(first, loaded)
        assert not ((first["area"] == "s") & (first["job"] == "c")).any()
        assert not ((first["age"] < 20) & (first["job"] == "b")).any()
        pd.testing.assert_series_equal(first["k"], data["k"])
    assert not one[0].equals(one[1])
    assert not one[0].equals(even)


@pytest.mark.parametrize("n_holders", [1, 5, 20])
def test_a_rare_level_of_a_large_file_stays_as_rare(n_holders: int) -> None:
    """Rows of a batch choose at once: all of them once chose the level that one row lacked."""
    codes = np.zeros(7_425, dtype=np.int32)
    codes[:n_holders] = 1
    counts = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = coded("x", rng.integers(3, size=len(codes)), 3)
        fitted = Cart().fit(Table([x]), coded("y", rng.permutation(codes), 2), rng=rng)
        counts.append(int(fitted.sample(Table([x]), rng=rng).data.sum()))
    assert abs(np.mean(counts) - n_holders) < 0.5 + 0.15 * n_holders
    assert max(counts) < n_holders + 4 * n_holders**0.5
