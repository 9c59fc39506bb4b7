"""Columns of hundreds of levels: what is independent stays so, what goes together stays so."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp

from synthesizer.data.table import Table
from synthesizer.measures.halves import control_run
from synthesizer.measures.risk.near_verbatim import near_verbatim
from synthesizer.models.cart import Cart
from synthesizer.models.kit.predictors import Response, chance_prior
from tests.tables import coded, numeric

ROWS, LEVELS = 3000, 300
NAMES = [f"o{level:03d}" for level in range(LEVELS)]
EFFECTS = np.random.default_rng(77).normal(size=LEVELS)


def sample(seed: int, *, skewed: bool = False, effect: float = 0.0) -> Table:
    """Return 3,000 records of a law; without an effect of levels on pay all are independent."""
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1.0, LEVELS + 1) if skewed else np.ones(LEVELS)
    occ = rng.choice(LEVELS, size=ROWS, p=shares / shares.sum())
    return Table(
        [
            numeric("age", rng.integers(16, 95, ROWS)),
            coded("sex", rng.integers(0, 2, ROWS), "fm"),
            coded("occ", occ, NAMES),
            numeric("pay", np.round(np.exp(rng.normal(8, 0.6, ROWS) + effect * EFFECTS[occ]))),
        ]
    )


def synthesis(original: Table, model: Cart, seed: int) -> Table:
    """Draw age and sex as they are, in another order, and then the others given all before."""
    rng = np.random.default_rng(seed)
    made = Table([column.take(rng.permutation(ROWS)) for column in original.columns[:2]])
    for column in original.columns[2:]:
        predictors = original.select(made.names)
        fitted = model.fit(predictors, column, rng=rng)
        made = Table([*made.columns, fitted.sample(made, rng=rng)])
    return made


def excess(original: Table, made: Table, seed: int, *, skewed: bool) -> float:
    """Return to which share of the original a record points, beyond that of a holdout."""
    holdout = sample(seed + 100, skewed=skewed)
    actual = near_verbatim(control_run(original, holdout, (made,)), original.names)
    assert actual is not None
    return actual.looks[2].excess


@pytest.mark.parametrize("skewed", [False, True])
def test_independent_levels_match_records_as_a_new_sample_does(skewed: bool) -> None:
    actual: dict[str, list[float]] = {"model": [], "new sample": [], "leaves copied": []}
    copies = Cart(leaf_regression=False, min_leaf=5)
    for seed in range(3):
        original = sample(seed, skewed=skewed)
        for name, made in (
            ("new sample", sample(seed + 50, skewed=skewed)),
            ("model", synthesis(original, Cart(), seed)),
            ("leaves copied", synthesis(original, copies, seed)),
        ):
            actual[name].append(excess(original, made, seed, skewed=skewed))
    means = {name: float(np.mean(values)) for name, values in actual.items()}
    assert abs(means["new sample"]) < 0.02
    assert means["model"] < 0.04
    assert means["leaves copied"] > 0.2


@pytest.mark.parametrize("effect", [0.0, 0.6])
def test_levels_help_with_records_never_seen_where_they_mean_something(effect: float) -> None:
    seen, others = sample(1, effect=effect), sample(2, effect=effect)

    def gain(table: Table) -> float:
        """Nats per record that the levels add to a model of pay by age and sex."""
        means = []
        for names in (["age", "sex", "occ"], ["age", "sex"]):
            fitted = Cart().fit(seen.select(names), seen["pay"], rng=np.random.default_rng(3))
            values = fitted.log_likelihood(table.select(names), table["pay"])
            assert values is not None
            means.append(float(values.mean()))
        return means[0] - means[1]

    assert gain(others) > (0.15 if effect else -0.03)
    assert gain(seen) - gain(others) < (0.25 if effect else 0.06)


@pytest.mark.parametrize("late", [0.0, 0.5])
@pytest.mark.parametrize("years", [8, 50])
def test_a_panel_keeps_its_years_though_each_country_has_each_year_once(
    years: int, late: float
) -> None:
    """Where the others of a country lie low a row lies high: no tree may split by that."""
    starts = np.where(np.arange(60) < late * 60, years // 2, 0)
    codes = np.concatenate([np.full(years - start, c) for c, start in enumerate(starts)])
    year = np.concatenate([np.arange(start, years) for start in starts]).astype(float)
    table = Table([coded("country", codes, NAMES[:60])])
    fitted = Cart().fit(table, numeric("year", year), rng=np.random.default_rng(1))
    drawn = fitted.sample(table, rng=np.random.default_rng(2)).data
    assert ks_2samp(year, drawn, method="asymp").statistic < 0.05
    means = [np.bincount(codes, weights=values) / np.bincount(codes) for values in (year, drawn)]
    if late:
        assert np.corrcoef(*means)[0, 1] > 0.8


def test_levels_that_differ_by_chance_are_drawn_to_the_mean_and_others_are_not() -> None:
    rng = np.random.default_rng(5)
    codes = np.repeat(np.arange(100, dtype=np.int32), 20)
    noise = rng.normal(size=(2000, 1))
    effects = rng.normal(size=100)[codes][:, None]
    assert chance_prior(codes, 100, Response.of_numbers(noise - noise.mean())) > 50
    both = noise + effects
    prior = chance_prior(codes, 100, Response.of_numbers(both - both.mean()))
    assert prior == pytest.approx(1, rel=0.3)
