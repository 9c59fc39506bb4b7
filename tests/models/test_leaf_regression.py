"""Trees with a leaf regression keep weak relations and margins, for every kind of target."""

from __future__ import annotations

import numpy as np
import pytest

from synthesizer.data.table import Kind, Table
from synthesizer.models.cart import Cart
from synthesizer.models.kit import regression_leaves
from synthesizer.models.kit.regression_leaves import RegressionLeaves
from tests.models.fits import coded, draw, fit, numeric

N = 4000


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
    lost, remaining = [], []
    for seed in range(4):
        table, y, group, strong = example(seed)
        if kind == "numbers":
            target = numeric("y", y)
        elif kind == "ordered":
            target = coded("y", np.digitize(y, np.arange(-8, 9)), 18, kind=Kind.ORDERED)
        else:
            target = coded("y", y > 0.5, 2)
        original = gap(np.asarray(target.data, dtype=float), group, strong)
        for has_regression, actual in ((False, lost), (True, remaining)):
            fitted = fit(Cart(leaf_regression=has_regression), table, target)
            drawn = fitted.sample(table, rng=np.random.default_rng(2))
            actual.append(gap(np.asarray(drawn.data, dtype=float), group, strong) / original)
    assert np.mean(lost) < 0.6
    assert np.mean(remaining) == pytest.approx(1.0, abs=0.3)  # standard error 0.08


@pytest.mark.parametrize("n", [61, 79, 120])
def test_numbers_of_small_files_hang_together(n: int) -> None:
    actual = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=n)
        y = np.round(0.9 * x + 0.44 * rng.normal(size=n), 4)
        table = Table([numeric("x", np.round(x, 4), decimals=4)])
        fitted = Cart().fit(table, numeric("y", y, decimals=4), rng=rng)
        actual.append(np.corrcoef(x, fitted.sample(table, rng=rng).data)[0, 1])
    assert 0.65 < np.mean(actual) < 0.95


def test_the_law_of_a_draw_does_not_depend_on_the_order_of_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Predictors that hang together less than in the data: as in the whole file, not in a block."""
    table, y, *_ = example(7)
    fitted = fit(Cart(leaf_regression=True), table, numeric("y", y))
    assert isinstance(fitted.leaves, RegressionLeaves)
    loose = Table(
        [numeric(c.name, 3 * np.asarray(c.data)) for c in table.columns if not c.is_coded]
    )
    loose = Table([*loose.columns, table["group"]])
    order = np.argsort(loose["strong"].data)
    leaves = fitted.leaves
    moved = leaves._moved(loose)
    factors = [
        (leaves._shift(some)(some) / moved[rows]).mean(axis=0)
        for some, rows in ((loose, slice(None)), (loose.take(order), order))
    ]
    assert np.min(factors[0]) < 0.7
    assert factors[0] == pytest.approx(factors[1], rel=0.05)
    monkeypatch.setattr(regression_leaves, "MAX_BLOCK_CELLS", 5_000)
    np.testing.assert_allclose(leaves._shift(loose)(loose), moved * factors[0], rtol=1e-4)


def test_small_leaves_keep_the_shares_of_rare_levels() -> None:
    rng = np.random.default_rng(7)
    table = Table([numeric(f"n{k}", rng.normal(size=N)) for k in range(4)])
    shares = np.array([0.91, 0.06, 0.03])
    codes = rng.choice(3, size=N, p=shares)
    fitted = fit(Cart(min_leaf=10), table, coded("y", codes, 3))
    drawn = np.concatenate([draw(fitted, table, seed) for seed in range(20)])
    actual = np.bincount(drawn, minlength=3) / np.bincount(codes, minlength=3) / 20
    assert np.abs(actual - 1).max() < 0.05
