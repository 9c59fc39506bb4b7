"""What the terminal prints of an evolution, before and after: never that a chain is fitted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from synthesizer.engine.registry import Registry
from synthesizer.plan.overview import plan_table
from synthesizer.plan.plan import prepare
from tests.end_to_end.commands import call, write_yaml
from tests.extensions.genetic.test_runs import QUICK, people


def configured(where: Path, name: str, **genetic: Any) -> Path:
    content = {
        "data": {"path": "people.csv"},
        "output": {"directory": name},
        "forbid": ["age == 'young' and job == 'yes'"],
        "rules": [{"if": "age == 'old'", "then": {"job": "no"}}],
        "on_violation": "ignore",
        "checks": QUICK,
        "genetic": {"population": 6, "generations": 3, **genetic},
    }
    return write_yaml(where / f"{name}.yaml", content)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("screen")
    people(300).to_csv(where / "people.csv", index=False)
    return where


def output(*words: object) -> str:
    result = call(*words)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def test_what_a_run_leaves_is_marked(folder: Path) -> None:
    printed = output("run", configured(folder, "out", mode="pareto", points=2), "--all")
    assert "Perturbation, not synthesis" in printed
    assert "synthesizer advise" not in printed  # which refuses it
    released, confidential = printed.split("files in ")[1].split("confidential: ")
    for name in ("history.csv", "checks.json", "manifest.json", "report.html"):
        assert name in confidential
        assert name not in released
    frontier = sorted((folder / "out").glob("frontier_*"))
    assert frontier
    assert all(path.name in printed for path in frontier)
    assert "confidential until one is picked" in printed
    for name in ("synthetic_1.csv", "codebook.html", "codebook.json"):
        assert name in released
        assert name not in confidential


@pytest.mark.parametrize("start", ["mutants", "chain"])
def test_a_plan_shows_a_chain_where_one_is_fitted(folder: Path, start: str) -> None:
    path = configured(folder, "plan", start=start, risk_at_most=0.25)
    printed = output("plan", path)
    for word in ("cart", "cost: share of", "predictors", "drawn again"):
        assert (word in printed) == (start == "chain")
    for words in ("population 6", "keys town, sex, age; target job", "risk_at_most 0.25"):
        assert words in printed
    models = {row.model for row in plan_table(prepare(path, Registry.load()))}
    assert (models == {"genetic"}) == (start == "mutants")


def test_options_of_refining_have_one_place(folder: Path) -> None:
    files = (folder / "people.csv", folder / "people.csv")
    words = [word for key in ("risk_at_most=0.1", "keys=[sex]", "genertions=2")
             for word in ("--set", key)]  # fmt: skip
    result = call("refine", *files, "--keys", "sex", "--target", "job", *words)
    assert (result.exit_code, result.output.count("unknown key")) == (2, 3)
    assert "did you mean 'genetic.generations'" in " ".join(result.output.split())
