"""The codebook of datasets that were evolved: no word that holds for a chain's draws only."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthesizer.jobs.run import run
from synthesizer.measures.settings import ALL_OFF
from synthesizer.report.record import Manifest
from tests import run_directories
from tests.report.codebook.books import book, run_book
from tests.run_directories import step

RULE = {"if": "age == 'old'", "then": {"job": "none"}}
FORBID = "age == 'young' and job == 'full'"


def frame(seed: int, n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "id": np.arange(1, n + 1),
            "age": rng.choice(["young", "middle", "old"], n),
            "sex": rng.choice(["f", "m"], n),
            "job": rng.choice(["none", "part", "full", "-8"], n),
        }
    )


MOVES = ("crossover", "mutation", "aimed")


def manifest(start: str | None, moves: Sequence[str] = MOVES, **more: Any) -> Manifest:
    """What a run leaves; the chain has models where one was fitted."""
    fitted = start in ("chain", None)
    predictors = {"age": (), "sex": ("age",), "job": ("age",)}
    config = {"strata": ["sex"], "rules": [RULE], "forbid": [FORBID]}
    facts = {"start": start, "mode": "pareto", "interrupted": False, "moves": moves}
    return run_directories.manifest_of(
        config | {"variables": {"job": {"missing": ["-8"]}}} | more,
        data={"rows": 60},
        maker=None if start is None else "genetic",
        extensions={} if start is None else {"genetic": facts},
        chain=[
            step(name, "categorical", "cart", *names)
            if fitted
            else step(name, "categorical", "genetic")
            for name, names in predictors.items()
        ],
    )


def codebook(folder: Path, start: str | None, m: int = 2, **more: Any) -> dict[str, Any]:
    paths = []
    for number in range(1, m + 1):
        paths.append(folder / f"synthetic_{number}.csv")
        frame(number).to_csv(paths[-1], index=False)
    return book(manifest(start, **more), paths)


def as_text(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False)


@pytest.mark.parametrize("start", ["mutants", "files", "chain"])
def test_no_rule_of_combination_is_offered(tmp_path: Path, start: str) -> None:
    content = codebook(tmp_path, start, 3)
    analysis = content["analysis"]
    assert (analysis["rule"], analysis["formula"], analysis["code"]) == (None, None, None)
    assert analysis["applies"] is False
    assert (analysis["m"], analysis["k"], analysis["n"]) == (3, 60, None)
    assert "T = U" not in as_text(content)


def test_no_setting_of_the_evolution_is_released_but_its_moves(tmp_path: Path) -> None:
    settings = {"risk_at_most": 0.31415, "population": 271828, "mutants": 0.16180, "seconds": 1414}
    sections: dict[str, Any] = {
        "checks": {"keys": ["age", "sex"], "target": "MARKER"},
        "genetic": settings | {"risk": "MARKER", "start": ["MARKER.csv"], "mutation": 0.0123},
    }
    for start in ("mutants", "files", "chain"):
        text = as_text(codebook(tmp_path, start, **sections))
        markers = ["MARKER", "0.31415", "271828", "0.1618", "1414", "0.0123", "cap_u", "pareto"]
        assert [word for word in markers if word in text] == []


def test_a_run_describes_its_datasets_and_not_its_frontier(tmp_path: Path) -> None:
    original = frame(0, 200)
    original["place"] = np.random.default_rng(9).choice([f"p{i}" for i in range(40)], 200)
    original.to_csv(tmp_path / "original.csv", index=False)
    content = {
        "data": {"path": str(tmp_path / "original.csv")},
        "output": {"directory": str(tmp_path / "pareto"), "report": False},
        "seed": 3,
        "variables": {"id": {"kind": "id"}},
        "checks": {"keys": ["age", "sex", "place"], "target": "job"} | ALL_OFF,
        "genetic": {"population": 4, "generations": 2, "mode": "pareto"},
    }
    result = run(content)
    content = run_book(result.directory)
    frontier = [path.name for path in result.directory.glob("frontier_*")]
    assert frontier
    assert content["datasets"]["files"] == [path.name for path in result.datasets]
    assert json.loads((result.directory / "codebook.json").read_text()) == content
    assert content["synthesis"]["lead"].startswith("Evolved from the confidential data")
    assert not content["synthesis"]["modelled"]
    texts = as_text(content) + (result.directory / "codebook.html").read_text()
    assert [name for name in frontier if name in texts] == []
    figures = json.loads((result.directory / "checks.json").read_text())["extensions"]
    figures = figures["genetic"]["datasets"][0]
    exact = [repr(figures[name]) for name in ("utility", "risk", "unchanged", "fitness")]
    assert [figure for figure in exact if len(figure) > 5 and figure in texts] == []
