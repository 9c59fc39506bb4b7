"""Tilted draws: exact where the mean can be computed, and no effect where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from synthesizer.data.table import Kind, Table
from synthesizer.models.cart import Cart
from synthesizer.models.kit.leaves import _leaf_figures, tilted
from tests.models.fits import coded, draw, fit, numeric
from tests.models.test_trees import tree_of

N = 4000


@pytest.mark.parametrize("slope", [-0.5, -0.3, -1e-9, 0.0, 0.1, 0.5])
def test_the_density_is_linear(slope: float) -> None:
    uniform = (np.arange(200_000) + 0.5) / 200_000
    drawn = tilted(uniform, np.full(len(uniform), slope))
    assert ((drawn >= 0) & (drawn < 1)).all()
    assert (np.diff(drawn) > 0).all()
    # mean of density 1 + 2a(2u - 1): 1/2 + a/3
    assert drawn.mean() == pytest.approx(0.5 + slope / 3, abs=1e-5)
    counts = np.histogram(drawn, bins=4, range=(0, 1))[0] / len(drawn)
    edges = np.linspace(0, 1, 5)
    expected = np.diff(edges + 2 * slope * (edges**2 - edges))
    np.testing.assert_allclose(counts, expected, atol=1e-4)


@pytest.mark.parametrize("values", [[0, 0, 1], [3, 3, 3], [1, 2, 4, 8, 8, 9], [5]])
def test_the_mean_of_a_leaf_moves_by_slope_times_gini(values: list[int]) -> None:
    leaf = np.sort(np.array(values, dtype=float))
    tree = tree_of([-1], [0], [-1], [len(leaf)])
    _, spread = _leaf_figures(tree, leaf)
    slow = np.mean([abs(a - b) for a in leaf for b in leaf])
    assert spread[0] == pytest.approx(slow)
    uniform = (np.arange(120_000) + 0.5) / 120_000
    for slope in (-0.4, 0.25):
        place = (tilted(uniform, np.full(len(uniform), slope)) * len(leaf)).astype(int)
        assert leaf[place].mean() == pytest.approx(leaf.mean() + slope * slow, abs=1e-3)


def test_means_of_the_other_donors() -> None:
    tree = tree_of([0, -1, -1], [0.5, 0, 0], [2, -1, -1], [0, 3, 1])
    response = np.array([1.0, 2.0, 6.0, 4.0])
    residual, spread = _leaf_figures(tree, response)
    assert residual.tolist() == [1 - 4.0, 2 - 3.5, 6 - 1.5, 0.0]  # who is alone has none
    np.testing.assert_allclose(spread, [20 / 9] * 3 + [0.0])


def gap(drawn: np.ndarray, group: np.ndarray, strong: np.ndarray) -> float:
    """Return the coefficient of the group given the strong predictor."""
    design = np.column_stack([np.ones(len(group)), group, strong])
    return float(np.linalg.lstsq(design, drawn, rcond=None)[0][1])


def example(seed: int) -> tuple[Table, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    strong = rng.normal(size=N)
    group = (rng.random(N) < 0.3).astype(int)
    y = 3 * strong + 0.2 * group + rng.normal(size=N)
    noise = [numeric(f"n{k}", rng.normal(size=N)) for k in range(4)]
    table = Table([numeric("strong", strong), coded("group", group, 2), *noise])
    return table, y, group, strong


@pytest.mark.parametrize("kind", ["numbers", "ordered", "two levels"])
def test_weak_gaps_are_kept(kind: str) -> None:
    lost, kept = [], []
    for seed in range(4):
        table, y, group, strong = example(seed)
        if kind == "numbers":
            target = numeric("y", y)
        elif kind == "ordered":
            target = coded("y", np.digitize(y, np.arange(-8, 9)), 18, kind=Kind.ORDERED)
        else:
            target = coded("y", y > 0.5, 2)
        own = gap(np.asarray(target.data, dtype=float), group, strong)
        for tilt, found in ((False, lost), (True, kept)):
            fitted = fit(Cart(tilt=tilt), table, target)
            drawn = fitted.sample(table, rng=np.random.default_rng(2))
            found.append(gap(np.asarray(drawn.data, dtype=float), group, strong) / own)
    assert np.mean(lost) < 0.6
    assert np.mean(kept) == pytest.approx(1.0, abs=0.17)


def test_levels_without_order_are_drawn_as_ever() -> None:
    table, y, *_ = example(5)
    target = coded("y", np.digitize(y, [-2, 0, 2]), 4)
    drawn = [
        fit(Cart(tilt=tilt), table, target)
        .sample(table, rng=np.random.default_rng(2)).data
        for tilt in (False, True)
    ]  # fmt: skip
    assert (drawn[0] == drawn[1]).all()


def test_margins_stay() -> None:
    table, y, *_ = example(6)
    target = numeric("y", y)
    fitted = fit(Cart(tilt=True), table, target)
    drawn = draw(fitted, table)
    assert drawn.mean() == pytest.approx(y.mean(), abs=0.05)
    assert drawn.std() == pytest.approx(y.std(), rel=0.02)
    assert np.isin(drawn, y).all()


def test_a_sample_of_rows_is_enough_for_the_regression() -> None:
    table, y, group, strong = example(8)
    fitted = fit(Cart(tilt=True, max_fit_rows=2000), table, numeric("y", y))
    drawn = draw(fitted, table)
    assert gap(drawn, group, strong) > 0.6 * gap(y, group, strong)
