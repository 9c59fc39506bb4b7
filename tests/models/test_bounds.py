"""Numbers between bounds are drawn as distances, without bias."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

from synthesizer.data.table import Kind, Table, Variable
from synthesizer.jobs.synthesizer import Synthesizer
from synthesizer.models import bounds
from synthesizer.models.bounds import Bounds, FittedBounds
from synthesizer.models.cart import Cart
from synthesizer.models.kit.numbers import SafeNumbers
from tests.models.fits import numeric

PLAIN: dict[str, Any] = {"seed": 1, "models": {"cart": {"leaf_regression": False}}, "checks": {}}


def synthetic(frame: pd.DataFrame, **options: Any) -> pd.DataFrame:
    (made,) = Synthesizer(**(PLAIN | {"m": 1} | options)).fit(frame).generate()
    return made


def chain(n: int = 1_000, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    b = a + np.where(rng.random(n) < 0.2, 0.0, rng.exponential(0.06, n))
    return pd.DataFrame({"a": a, "b": b, "c": b + rng.exponential(0.1, n)}).round(4)


@pytest.mark.parametrize("order", ["acb", "cba"])
def test_a_chain_of_inequalities_holds_and_bends_nothing(order: str) -> None:
    original = chain()
    made = synthetic(original, rules="a <= b <= c", visit_sequence=list(order))
    assert ((made.a <= made.b) & (made.b <= made.c)).all()
    for of in (
        lambda d: d.a, lambda d: d.b, lambda d: d.c, lambda d: d.b - d.a, lambda d: d.c - d.b
    ):  # fmt: skip
        assert ks_2samp(of(original), of(made)).pvalue > 0.05
    assert np.mean(made.a == made.b) == pytest.approx(0.2, abs=0.04)


def test_missing_values_bound_nothing_and_keep_their_share() -> None:
    rng = np.random.default_rng(2)
    original = chain()[["a", "b"]]
    original.loc[rng.random(1_000) < 0.2, "a"] = np.nan
    original.loc[rng.random(1_000) < 0.1, "b"] = np.nan
    made = synthetic(original, rules=["a <= b"])
    both = made.a.notna() & made.b.notna()
    assert (made.a <= made.b)[both].all()
    assert made.a.isna().mean() == pytest.approx(0.2, abs=0.03)
    for has in (True, False):  # beside a missing bound the number is drawn as it is
        actual, theirs = (d.b[d.a.notna() == has].dropna() for d in (original, made))
        assert ks_2samp(actual, theirs).pvalue > 0.05


def test_heaps_and_precision_of_the_later_number_survive() -> None:
    rng = np.random.default_rng(3)
    income = np.round(np.exp(rng.normal(10, 0.6, 1_500)))
    tax = income * rng.beta(9, 1.5, 1_500)
    tax = np.where(rng.random(1_500) < 0.6, np.round(tax, -2), np.round(tax))
    tax[rng.random(1_500) < 0.3] = 0
    original = pd.DataFrame({"income": income, "tax": np.minimum(tax, income)})
    made = synthetic(original, rules=["tax <= income"])
    assert (made.tax <= made.income).all()
    for share in (lambda d: np.mean(d.tax == 0), lambda d: np.mean(d.tax % 100 == 0)):
        assert share(made) == pytest.approx(share(original), abs=0.04)
    assert ks_2samp(original.tax, made.tax).pvalue > 0.05


def test_dates_and_strict_inequalities() -> None:
    rng = np.random.default_rng(4)
    start = pd.Timestamp("2000-01-01") + pd.to_timedelta(rng.integers(0, 3000, 800), "D")
    end = start + pd.to_timedelta(rng.integers(1, 40, 800), "D")
    original = pd.DataFrame({"start": start, "end": end})
    made = synthetic(original, rules=["start < end"])
    actual, theirs = ((d.end - d.start).dt.days for d in (original, made))
    assert theirs.min() >= 1
    assert ks_2samp(actual, theirs).pvalue > 0.05


@pytest.mark.parametrize("base", ["normal", "pmm"])
def test_any_model_of_numbers_draws_the_distance(base: str) -> None:
    made = synthetic(chain(300)[["a", "b"]], rules=["a <= b"], method={"b": base})
    assert (made.a <= made.b).all()


def test_draws_equal_slow_arithmetic(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one value of the distance the sum is known, row by row."""
    low = np.array([0.0, 5.0, 2.0, 9.0] * 5)
    table = Table([numeric("a", low, 0), numeric("d", low + 7, 0)])
    target = numeric("b", low + 3, 0)
    rng = np.random.default_rng(1)
    model = Cart(min_holders=0, leaf_regression=False)
    fitted = FittedBounds.of(model, Bounds(low=("a",)), table, target, rng)
    assert fitted.draw(table, rng).data.tolist() == [value + 3 for value in low]
    below = FittedBounds.of(model, Bounds(high=("d",)), table, target, rng)
    assert below.draw(table, rng).data.tolist() == [value + 7 - 4 for value in low]
    between = FittedBounds.of(model, Bounds(low=("a",), high=("d",)), table, target, rng)
    assert between.draw(table, rng).data.tolist() == [value + 3 for value in low]


def test_rows_that_break_the_bounds_teach_nothing_unless_all_do() -> None:
    rng, model = np.random.default_rng(1), Cart(min_holders=0, leaf_regression=False)
    low = np.tile([0.0, 10.0], 50)
    values = np.where(np.arange(100) < 40, low - 7, low + 3)  # the first forty break them
    table, bounds = Table([numeric("a", low, 0)]), Bounds(low=("a",))
    fitted = FittedBounds.of(model, bounds, table, numeric("b", values, 0), rng)
    assert fitted.reach == (3, 13)
    assert (fitted.draw(table, rng).data == low + 3).all()
    broken = table.take(slice(0, 40)), numeric("b", values[:40], 0)
    fitted = FittedBounds.of(model, bounds, *broken, rng)
    assert fitted.reach == (-7, 3)
    equal = numeric("b", low, 0)  # a number at its bound keeps it
    fitted = FittedBounds.of(model, Bounds(low=("a",), high=("a",)), table, equal, rng)
    assert (fitted.draw(table, rng).data == low).all()


@pytest.mark.parametrize("seed", range(2))
def test_heaps_and_precisions_equal_slow_counting(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(300, 80, 700))
    values[:60] = 250.0
    values[60:300] = np.round(values[60:300], -1)
    distinct = sorted(set(values.tolist()))
    counts = {v: values.tolist().count(v) for v in distinct}
    heaps = []
    for position, value in enumerate(distinct):
        first = max(position - bounds.N_NEIGHBOURS, 0)
        around = (
            distinct[first:position] + distinct[position + 1 : position + bounds.N_NEIGHBOURS + 1]
        )
        usual = max(sum(counts[v] for v in around) / len(around), 1)
        if (
            counts[value] >= max(bounds.MIN_ROWS, 7)
            and counts[value] >= bounds.MIN_PEAK_RATIO * usual
        ):
            heaps.append(value)
    assert bounds._heaps(values).tolist() == heaps[: bounds.MAX_HEAPS]
    assert 250.0 in heaps
    assert 10.0 in bounds._precisions(values, 0)
    assert bounds._precisions(np.arange(1.0, 1001.0), 0).tolist() == [1.0]


def test_no_sum_is_a_number_of_few_where_most_beside_it_are() -> None:
    rng = np.random.default_rng(3)
    low = np.exp(rng.normal(7, 0.6, 2000)).astype(int)
    frame = pd.DataFrame({"low": low, "high": low + np.exp(rng.normal(6, 0.8, 2000)).astype(int)})
    made = synthetic(frame, forbid=["high < low"])
    counts = frame["high"].value_counts()
    assert not made["high"].isin(counts.index[counts < 5]).any()
    assert ks_2samp(frame["high"], made["high"]).pvalue > 0.05


def test_sums_of_floats_that_few_hold_are_moved() -> None:
    rng = np.random.default_rng(8)
    values = np.float32(np.round(rng.uniform(1, 9, 200), 2)).astype(np.float64)
    numbers = SafeNumbers.of_values(values, k=5, decimals=None)
    other = Cart().fit(Table([], n_rows=2), numeric("x", [1, 2]), rng=rng)
    fitted = FittedBounds(
        bounds=Bounds(low=("low",)), variable=Variable(name="x", kind=Kind.NUMERIC),
        reach=numbers.reach, numbers=numbers, sides=(), other=other,
    )  # fmt: skip
    ends = np.full(200, values.min()), np.full(200, values.max())
    moved = fitted._shifted(values, np.zeros(200), np.stack(ends), rng)
    assert numbers.is_rare(values).mean() > 0.9
    assert not numbers.is_rare(moved).any()


def test_a_panel_keeps_to_values_of_the_person() -> None:
    """Hired in or before the first year: the year is time, the hire one value a person."""
    rng = np.random.default_rng(6)
    n = 300
    first = rng.integers(2000, 2006, n)
    rows = np.repeat(np.arange(n), 4)
    year = first[rows] + np.tile(np.arange(4), n)
    hire = (first - np.minimum(rng.geometric(0.4, n) - 1, 9))[rows]
    state = np.where((rows + year) % 3 == 0, "x", "y")
    frame = pd.DataFrame({"who": rows, "year": year, "state": state, "hire": hire})
    made = synthetic(
        frame, panel={"person": "who", "time": "year", "career": "state"}, rules="hire <= year"
    )
    assert (made.hire <= made.year).all()
    actual, theirs = (
        d.groupby("who").agg({"hire": "first", "year": "first"}) for d in (frame, made)
    )
    gaps = [d.year - d.hire for d in (actual, theirs)]
    assert ks_2samp(*gaps).pvalue > 0.05


def test_a_distance_follows_the_distance_before() -> None:
    rng = np.random.default_rng(8)
    low = np.cumsum(rng.integers(0, 40, (300, 4)), axis=1) + rng.integers(0, 500, (300, 1))
    gaps = [np.abs(rng.normal(0, 15, 300))]
    for _ in range(3):
        gaps.append(np.maximum(gaps[-1] + rng.normal(0, 5, 300), 0))
    gap = np.stack(gaps, axis=1).astype(int)
    frame = pd.DataFrame(
        {
            "who": np.repeat(np.arange(300), 4),
            "year": np.tile(np.arange(2001, 2005), 300),
            "state": rng.choice(["x", "y"], 1_200),
            "low": low.ravel(),
            "high": (low + gap).ravel(),
        }
    )
    panel = {"person": "who", "time": "year", "career": "state"}
    made = synthetic(frame, panel=panel, rules="low <= high")
    distances = [(d.high - d.low).to_numpy().reshape(-1, 4) for d in (frame, made)]
    correlations = [np.corrcoef(d[:, :-1].ravel(), d[:, 1:].ravel())[0, 1] for d in distances]
    assert correlations[1] > correlations[0] - 0.1
    for before, now in zip(*(d.T for d in distances), strict=True):
        assert ks_2samp(before, now).pvalue > 0.05
        assert np.mean(now == 0) == pytest.approx(np.mean(before == 0), abs=0.05)


def test_the_ends_of_a_chain_hold_where_its_middle_is_missing() -> None:
    original = chain()
    original["a"] *= 0.1  # close to each other, so that draws would cross
    original.loc[np.random.default_rng(3).random(1_000) < 0.3, "b"] = np.nan
    original["c"] = original.a + original.c.abs() * 0.01
    original["b"] = np.where(original.b.notna(), (original.a + original.c) / 2, np.nan)
    made = synthetic(original.round(4), rules="a <= b <= c")
    assert (made.a <= made.c).all()


def test_a_saved_model_draws_the_same(tmp_path: Path) -> None:
    rules = ["a <= b <= c", "total > b"]
    options = PLAIN | {"m": 1, "random_key": "none", "rules": rules, "on_violation": "ignore"}
    original = chain(200).assign(total=lambda table: (table.a + table.c).round(4))
    model = Synthesizer(**options).fit(original)
    assert (model.generate(seed=3)[0].eval("total > b or a + c - b < .0002")).all()
    model.save(tmp_path / "model")
    (again,) = Synthesizer.load(tmp_path / "model").generate(seed=3)
    pd.testing.assert_frame_equal(model.generate(seed=3)[0], again)
