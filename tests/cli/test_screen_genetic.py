"""What the terminal says of an evolution, before and after: never that a chain is fitted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthesizer.cli.screen import evolution_plan
from synthesizer.engine.genetic.genetic_options import GeneticOptions
from synthesizer.engine.genetic.genetic_source import GeneticPlan
from synthesizer.engine.registry import Registry
from synthesizer.plan.overview import plan_table
from synthesizer.plan.plan import prepare
from tests.end_to_end.commands import call, write_yaml


def people(n: int = 200, seed: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": rng.choice(["young", "middle", "old"], n),
            "place": rng.choice([f"p{i}" for i in range(40)], n),
            "job": rng.choice(["none", "part", "full"], n),
        }
    )


def configured(where: Path, name: str, *, m: int = 1, **genetic: Any) -> Path:
    content = {
        "data": {"path": "people.csv"},
        "output": {"directory": name},
        "seed": 2,
        "m": m,
        "forbid": ["age == 'young' and job == 'full'"],
        "rules": [{"if": "age == 'old'", "then": {"job": "none"}}],
        "on_violation": "ignore",
        "checks": {
            "keys": ["sex", "age", "place"],
            "target": "job",
            "differential_confidentiality": False,
            "nearest": False,
            "near_verbatim": False,
            "unseen": False,
            "guesses": False,
            "attacks": False,
        },
        "genetic": {"population": 6, "generations": 3, **genetic},
    }
    return write_yaml(where / f"{name}.yaml", content)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("screen")
    people().to_csv(where / "people.csv", index=False)
    people(seed=6).to_csv(where / "made.csv", index=False)
    return where


def output(*words: object) -> str:
    result = call(*words)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


@pytest.mark.parametrize("start", ["mutants", ["made.csv"]])
def test_a_plan_without_a_chain_shows_none(folder: Path, start: Any) -> None:
    told = output("plan", configured(folder, "plan", start=start, risk_at_most=0.25))
    for word in ("cart", "cost", "predictors", "plan for", "redraws", "is set"):
        assert word not in told
    for words in (
        "variables to evolve, 200 rows: no chain is fitted",
        "population 6",
        "generations 3",
        "patience 20",
        "full_table, Jensen-Shannon distance",
        "cap_u, mean CAP of people whose key nobody shares",
        "keys sex, age, place; target job",
        "mode single",
        "risk_at_most 0.25",
        "job is given (",
        "changes that break it are taken back",
        "rare levels: held by fewer than 5 rows",
    ):
        assert words in told
    assert ("start mutants" if start == "mutants" else "start files, 1 file") in told


def test_a_plan_after_a_chain_shows_both(folder: Path) -> None:
    told = output("plan", configured(folder, "both", start="chain"))
    for words in ("cart", "cost: share of", "start chain", "redraws"):
        assert words in told
    assert told.index("plan for 200 rows") < told.index("genetic: what will be evolved")


def test_rows_of_the_plan_have_no_model_that_is_not_fitted(folder: Path) -> None:
    rows = plan_table(prepare(configured(folder, "rows"), Registry.load()))
    assert [row.variable for row in rows] == ["sex", "age", "place", "job"]
    assert {(row.model, row.predictors, row.cost) for row in rows} == {("genetic", 0, 0.0)}
    chain = plan_table(prepare(configured(folder, "chained", start="chain"), Registry.load()))
    assert "genetic" not in {row.model for row in chain}


def plan(**settings: Any) -> GeneticPlan:
    options = GeneticOptions(**{"population": 8, "mutants": 0.005, "points": 3, **settings})
    return GeneticPlan(options=options, keys=("a", "b"), target="c")


def test_a_plan_shows_the_settings_that_count() -> None:
    values = dict(evolution_plan(plan(mode="pareto", patience=None, seconds=90.0), 1).rows)
    assert (values["mutants"], values["patience"], values["seconds"]) == (0.005, None, 90.0)
    assert (values["mode"], values["points"], values["risk_at_most"]) == ("pareto", 3, None)
    assert "points" not in dict(evolution_plan(plan(), 1).rows)


@pytest.mark.parametrize(
    ("risk", "keys", "target"),
    [("cap", True, True), ("repu", True, False), ("replicated_uniques", False, False)],
)
def test_only_what_the_risk_looks_at_is_named(risk: str, keys: bool, target: bool) -> None:
    line = str(dict(evolution_plan(plan(risk=risk), 1).rows)["risk R"])
    assert (("keys a, b" in line), ("target c" in line)) == (keys, target)


def test_what_a_run_leaves_is_marked(folder: Path) -> None:
    told = output("run", configured(folder, "out", mode="pareto", points=2), "--all")
    assert "models: genetic 4" in told
    assert "U R F Unchanged" in told
    assert "Perturbation, not synthesis" in told
    where = folder / "out"
    released, confidential = told.split("files in ")[1].split("confidential: ")
    for name in ("history.csv", "checks.json", "manifest.json", "report.html"):
        assert name in confidential
        assert name not in released
    frontier = sorted(where.glob("frontier_*"))
    assert frontier
    for path in frontier:
        assert path.name in told
    assert "confidential until one is picked" in told
    for name in ("synthetic_1.csv", "codebook.html", "codebook.json"):
        assert name in released
        assert name not in confidential
