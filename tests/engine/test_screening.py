"""The choice of predictors in wide files, against textbook statistics and in the chain."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synthesizer.config.reading import read_config
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Table
from synthesizer.engine import chain
from synthesizer.engine.chain import Associations, ChainSpec, _deviates, _orthonormal
from synthesizer.models.cart import Cart
from synthesizer.models.sample import Sample
from synthesizer.models.step import Step
from synthesizer.plan.forecast import forecast
from synthesizer.plan.plan import prepare
from tests.tables import coded, numeric

N = 600


@pytest.fixture(scope="module")
def table() -> Table:
    rng = np.random.default_rng(1)
    x = rng.normal(size=N).round(2)
    group = np.digitize(x + rng.normal(size=N), [-0.5, 0.5])
    other = np.where(rng.random(N) < 0.3, group, rng.integers(3, size=N))
    many = 20 * group + rng.integers(20, size=N)
    return Table(
        [
            numeric("x", x, decimals=2),
            numeric("y", x**3 + rng.normal(size=N), decimals=None),
            coded("group", group, ("a", "b", "c")),
            coded("other", other, ("a", "b", "c")),
            coded("many", many, [f"l{i}" for i in range(60)]),
            numeric("part", x, (rng.random(N) < 0.2 + 0.2 * group).astype(int), missing=("",)),
            coded("same", np.zeros(N), ("a",)),
            numeric("noise", rng.normal(size=N)),
        ]
    )


def test_associations_are_those_of_the_textbooks(table: Table) -> None:
    x, y, group, other = (np.asarray(table[name].data) for name in ("x", "y", "group", "other"))
    crossed = stats.chi2_contingency(pd.crosstab(group, other), correction=False).statistic
    kruskal = stats.kruskal(*(x[group == g] for g in range(3))).statistic
    expected = {
        ("group", "other"): (crossed, 4),
        ("x", "group"): (kruskal * N / (N - 1), 2),
        ("x", "y"): (stats.spearmanr(x, y).statistic ** 2 * N, 1),
    }
    screen = Associations.of(table, table.names, np.random.default_rng(1))
    for (one, two), (statistic, freedom) in expected.items():
        value = screen.deviates[screen.positions[one], screen.positions[two]]
        deviate = _deviates(np.array([statistic]), np.array([freedom]))[0]
        assert value == pytest.approx(deviate, rel=1e-4)
        assert value == pytest.approx(screen.deviates[screen.positions[two], screen.positions[one]])


def test_neither_blocks_nor_cells_change_a_deviate_and_large_files_are_sampled(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [name for name in table.names if name != "many"]

    def deviates(rows: Table) -> np.ndarray:
        return Associations.of(rows, names, np.random.default_rng(1)).deviates

    whole = deviates(table)
    monkeypatch.setattr(chain, "BLOCK_VARIABLES", 3)
    np.testing.assert_allclose(deviates(table), whole, rtol=1e-4, atol=1e-4)
    rows = np.sort(np.random.default_rng(1).choice(N, size=200, replace=False))
    part = deviates(table.take(rows))
    width = 1 + 1 + 2 + 2 + 2 + 0 + 1
    for limits in ({"MAX_SCREEN_ROWS": 200}, {"MAX_SCREEN_CELLS": 200 * width}):
        with monkeypatch.context() as patch:
            for name, value in limits.items():
                patch.setattr(chain, name, value)
            np.testing.assert_array_equal(deviates(table), part)


def test_deviates_are_those_of_the_normal_distribution() -> None:
    for freedom in (1, 4, 100, 10_000):
        for share in (0.5, 0.95, 0.999):
            statistic = stats.chi2.ppf(share, freedom)
            value = _deviates(np.array([statistic]), np.array([freedom]))[0]
            assert value == pytest.approx(stats.norm.ppf(share), abs=0.12)


def test_neither_many_levels_nor_missing_codes_hide_or_feign_an_association(table: Table) -> None:
    screen = Associations.of(table, table.names, np.random.default_rng(1))
    others = tuple(name for name in table.names if name != "group")
    assert set(screen.closest("group", others, 5)) == {"x", "y", "other", "many", "part"}
    assert screen.closest("group", others, 6)[-1] == "noise"  # before what never varies
    assert screen.closest("x", ("noise", "same", "part"), 1) == ("part",)
    assert screen.closest("x", ("noise", "same", "part"), 1, {"noise"}) == ("noise",)
    rng = np.random.default_rng(2)
    levels = [str(k) for k in range(50)]
    noise = Table([coded(f"v{i}", rng.integers(50, size=N), levels) for i in range(40)])
    deviates = Associations.of(noise, noise.names, rng).deviates[np.triu_indices(40, 1)]
    assert abs(deviates.mean()) < 0.15
    assert deviates.std() == pytest.approx(1, abs=0.15)
    screen = Associations.of(noise, noise.names, rng)
    related = [len(screen.closest(name, noise.names, 40)) - 1 for name in noise.names]
    assert np.mean(related) < 5  # of 39 that are related by chance alone


def test_a_chain_gives_its_models_no_more_than_they_ask_for(table: Table) -> None:
    first, *others = table.names
    steps = [Step(variable=first, method="sample", model=Sample())]
    for i, name in enumerate(others, 1):
        step = Step(variable=name, method="cart", model=Cart(), predictors=table.names[:i])
        steps.append(replace(step, max_predictors=2))
    fitted = ChainSpec(steps=tuple(steps)).fit(table, Seed(1), n_jobs=2)
    predictors_of = {step.variable.name: step.predictors for step in fitted.strata[0].replicates[0]}
    assert predictors_of["group"] == ("x", "y")
    assert all(len(predictors) <= min(2, i) for i, predictors in enumerate(predictors_of.values()))
    assert "same" not in predictors_of["noise"]


def test_which_steps_of_a_plan_are_screened(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.integers(3, size=(100, 64)), columns=[f"v{i}" for i in range(64)])
    frame.to_csv(path, index=False)

    def most(**options: object) -> dict[str, int | None]:
        plan = prepare(read_config({"data": {"path": str(path)}, **options}), check_directory=False)
        assert any("max_predictors" in note for note in plan.notes) == any(
            step.max_predictors for step in plan.spec.steps
        )
        return {
            step.variable: step.max_predictors for step in plan.spec.steps if step.max_predictors
        }

    assert most() == {"v61": 60, "v62": 60, "v63": 60}
    assert most(max_predictors="all") == {}
    added = {"v62": {"predictors": ["v1"]}, "v63": {"exclude": ["v1"]}}
    assert most(max_predictors=61, variables=added) == {}
    assert most(max_predictors=60, keep=["v63"], variables={"v62": added["v62"]}) == {
        "v60": 60,
        "v61": 60,
    }


def test_a_screen_and_a_forecast_include_what_a_model_names(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.integers(30, size=(200, 8)), columns=list("abcdefgh"))
    path = tmp_path / "data.csv"
    frame.assign(y=frame["h"] * 7).to_csv(path, index=False)
    follows = {"method": "follows", "options": {"of": "g"}}
    moderated = {"method": "cart", "options": {"moderators": ["f"]}}
    config = {"data": {"path": str(path)}, "max_predictors": 1, "relations": "none"}
    config["variables"] = {"y": follows, "h": moderated}
    plan = prepare(read_config(config), check_directory=False)
    steps = {step.variable: step for step in plan.spec.steps}
    assert (steps["y"].needed, steps["h"].needed) == (("g",), ("f",))
    assert forecast(plan) is not None
    fitted = plan.spec.fit(plan.table, Seed(1), n_jobs=1).strata[0].replicates[0]
    of = {step.variable.name: step.predictors for step in fitted}
    assert (of["y"], of["h"]) == (("g",), ("f",))
    two = replace(steps["y"], missing_model=Cart(moderators=("b", "a", "own.changed e")))
    assert (two.needed, two.n_predictors) == (("a", "b", "e", "g"), 4)


def test_a_basis_leaves_out_constant_and_repeated_columns() -> None:
    one, two = np.random.default_rng(1).normal(size=(2, 50))
    columns = np.column_stack([one, np.full(50, 3.0), two, 5 - one])
    basis = _orthonormal(columns).astype(np.float64)
    assert basis.T @ basis == pytest.approx(np.eye(2), abs=1e-5)
    centred = columns - columns.mean(axis=0)
    assert basis @ (basis.T @ centred) == pytest.approx(centred, abs=1e-4)
    assert not _orthonormal(columns[:, 1:2]).any()
