"""What the terminal says of an evolution, before and after: never that a chain is fitted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthesizer.cli.screen import evolution_lines, frontier_lines, plan_lines
from synthesizer.data.evolved import Evolution, EvolvedDataset, FrontierFile, Risk, Utility
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
        "population: 6 datasets for up to 3 generations; ends after 20 without gain",
        "utility U: full_table, Jensen-Shannon distance",
        "risk R: cap_u, mean CAP of people whose key nobody shares",
        "keys sex, age, place; target job",
        "mode single: the dataset with the lowest U of those with R within risk_at_most",
        "risk_at_most: 0.25",
        "job is given (",
        "changes that break it are taken back",
        "rare levels: held by fewer than 5 rows",
    ):
        assert words in told
    first = "6 versions of the original, with up to 5 % of their cells drawn anew"
    assert (first if start == "mutants" else "1 file, and 5 versions of it") in told


def test_a_plan_after_a_chain_shows_both(folder: Path) -> None:
    told = output("plan", configured(folder, "both", start="chain"))
    for words in ("cart", "cost: share of", "6 datasets drawn from the chain above", "redraws"):
        assert words in told
    assert told.index("plan for 200 rows") < told.index("genetic: what will be evolved")


def test_rows_of_the_plan_have_no_model_that_is_not_fitted(folder: Path) -> None:
    rows = plan_table(prepare(configured(folder, "rows"), Registry.load()))
    assert [row.variable for row in rows] == ["sex", "age", "place", "job"]
    assert {(row.model, row.predictors, row.cost) for row in rows} == {("genetic", 0, 0.0)}
    chain = plan_table(prepare(configured(folder, "chained", start="chain"), Registry.load()))
    assert "genetic" not in {row.model for row in chain}


@pytest.mark.parametrize(("start", "what"), [("mutants", "evolve"), ("chain", "draw and evolve")])
def test_validate_says_what_is_done(folder: Path, start: str, what: str) -> None:
    told = output("validate", configured(folder, "valid", start=start))
    assert f"valid: 200 rows, 4 variables to {what}, m = 1" in told


def plan(**settings: Any) -> GeneticPlan:
    options = GeneticOptions(**{"population": 8, "mutants": 0.005, "points": 3, **settings})
    return GeneticPlan(options=options, keys=("a", "b"), target="c")


def test_plans_in_words() -> None:
    told = "\n".join(plan_lines(plan(mode="pareto", patience=None, seconds=90.0), 1))
    assert "up to 0.5 % of their cells" in told
    assert "ends after 90 seconds" in told
    assert "mode pareto: the dataset with the lowest F" in told
    assert "at most 3 datasets of the frontier" in told
    assert "confidential until one is picked" in told
    assert "risk_at_most: none" in told
    alone = "\n".join(plan_lines(plan(patience=None), 1))
    assert "ends after" not in alone
    assert "frontier" not in alone


@pytest.mark.parametrize(
    ("risk", "keys", "target"),
    [("cap", True, True), ("repu", True, False), ("replicated_uniques", False, False)],
)
def test_only_what_the_risk_looks_at_is_named(risk: str, keys: bool, target: bool) -> None:
    (line,) = [line for line in plan_lines(plan(risk=risk), 1) if "risk R" in line]
    assert (("keys a, b" in line), ("target c" in line)) == (keys, target)


def dataset(**more: Any) -> EvolvedDataset:
    given = {
        "utility": 0.12, "risk": 0.3, "fitness": 0.2, "generations": 57, "reached": None,
        "unchanged": 0.94, "stopped": "no gain in 20 generations", "history": (), "frontier": (),
    }  # fmt: skip
    return EvolvedDataset.model_validate(given | more)


def evolved(
    *datasets: EvolvedDataset, baseline: float | None = None, random: float = 0.1
) -> Evolution:
    return Evolution(
        mode="single",
        start="mutants",
        population=8,
        utility=Utility(name="full_table", meaning="distance"),
        risk=Risk(
            name="cap_u",
            meaning="CAP",
            keys=("a",),
            target="b",
            people=9,
            baseline=baseline,
            random=random,
        ),
        weight=0.5,
        risk_at_most=0.2,
        risk_floor=0.0,
        datasets=datasets,
    )


def test_what_became_of_a_dataset() -> None:
    (line,) = evolution_lines(evolved(dataset(), baseline=0.36, random=0.1))
    assert line == (
        "genetic: dataset 1: U 0.1200 (0 is the original's table), R 0.3000 (baseline 0.3600: "
        "targets guessed), after 57 generations: no gain in 20 generations; at least 94 % of its "
        "records are the original's"
    )
    ended = dataset(stopped="1 generations", generations=1, unchanged=None, reached=False)
    (line,) = evolution_lines(evolved(ended, baseline=None))
    assert line.endswith("R 0.3000, after 1 generation; NOT within risk_at_most (0.2)")
    (line,) = evolution_lines(evolved(dataset(stopped="interrupted")))
    assert "after 57 generations: interrupted" in line


def test_a_risk_below_that_of_random_files_is_no_success() -> None:
    lines = [*evolution_lines(evolved(dataset(risk=0.01), dataset(), random=0.2782))]
    assert lines[-1].startswith("genetic: the lowest R (0.01) is below 0.2782")
    assert "nobody needs less" in lines[-1]


def test_many_datasets_and_many_files_are_cut_short() -> None:
    lines = [*evolution_lines(evolved(*[dataset()] * 8))]
    assert len(lines) == 6
    assert lines[-1] == "genetic: 3 more in checks.json"
    files = [
        FrontierFile(file=f"frontier_{i:02}.csv", utility=0.1, risk=0.2, fitness=0.2)
        for i in range(1, 13)
    ]
    shown = [*frontier_lines(files, "out")]
    assert shown[0] == (
        "  out/frontier_01.csv (U 0.1000, R 0.2000; confidential until one is picked)"
    )
    assert shown[-1] == "  and 2 more, up to frontier_12.csv (confidential until one is picked)"
    assert not [*frontier_lines((), "out")]


def test_what_a_run_leaves_is_marked(folder: Path) -> None:
    told = output("run", configured(folder, "out", mode="pareto", points=2), "--all")
    assert "models: genetic 4" in told
    assert "genetic: dataset 1: U 0." in told
    assert "% of its records are the original's" in told
    where = folder / "out"
    released, confidential = told.split("files in ")[1].split("confidential: ")
    for name in ("history.csv", "checks.json", "manifest.json", "report.html"):
        assert name in confidential
        assert name not in released
    frontier = sorted(where.glob("frontier_*"))
    assert frontier
    for path in frontier:
        assert f"{path} (U 0." in told
    assert told.count("confidential until one is picked") == len(frontier)
    for name in ("synthetic_1.csv", "codebook.html", "codebook.json"):
        assert name in released
        assert name not in confidential
