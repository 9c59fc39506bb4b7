"""The codebook of datasets that were evolved: no word that holds for a chain's draws only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthesizer.jobs.run import run
from synthesizer.report.record import Manifest
from tests import run_directories
from tests.report.codebook.books import book, run_book
from tests.run_directories import step

UNFITTED = ("mutants", "files")
STARTS = (*UNFITTED, "chain")
RULE = {"if": "age == 'old'", "then": {"job": "none"}}
FORBID = "age == 'young' and job == 'full'"
CHAIN_WORDS = (
    "one after the other",
    "same fitted models",
    "models of its own",
    "modelled together",
    "stands for nobody",
    "Records are drawn",
    "extension that is no part",
    "Drawn by",
    "it is set to",
    "leads to no person",
    "A model smooths",
)
"""What is wrong where no model was fitted."""


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


def manifest(start: str | None, **more: Any) -> Manifest:
    """What a run leaves; the chain has models where one was fitted."""
    fitted = start in ("chain", None)
    predictors = {"age": (), "sex": ("age",), "job": ("age",)}
    config = {"strata": ["sex"], "rules": [RULE], "forbid": [FORBID]}
    genetic = {"start": start, "mode": "single", "interrupted": False}
    return run_directories.manifest_of(
        config | {"variables": {"job": {"missing": ["-8"]}}} | more,
        data={"rows": 60},
        genetic=None if start is None else genetic,
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


def told(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False)


def titles(content: dict[str, Any]) -> list[str]:
    return [entry["title"] for entry in content["cautions"]]


def made(content: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {entry["name"]: entry["made"] for entry in content["variables"]}


@pytest.mark.parametrize("start", UNFITTED)
@pytest.mark.parametrize("m", [1, 2])
def test_nothing_is_told_of_models_where_none_was_fitted(
    tmp_path: Path, start: str, m: int
) -> None:
    content = codebook(tmp_path, start, m)
    assert [words for words in CHAIN_WORDS if words in told(content)] == []
    assert content["synthesis"]["evolved"] == start
    assert content["synthesis"]["even"] is None
    assert content["synthesis"]["strata"] == []
    assert "Records may be real" in titles(content)
    assert all(not entry["not_modelled_with"] for entry in content["variables"])
    for name, own in made(content).items():
        assert own["how"] == ("numbered" if name == "id" else "evolved")
        assert (own["model"], own["predictors"], own["options"]) == (None, [], {})
    assert ("Do not stack the datasets" in titles(content)) == (m > 1)


def test_mutants_are_told_to_be_the_originals_records(tmp_path: Path) -> None:
    content = codebook(tmp_path, "mutants")
    words = " ".join(content["synthesis"]["words"])
    assert "evolved from the confidential data by a genetic algorithm; no model was fitted" in words
    assert "perturbed data" in words
    assert "Usually most records are unchanged" in words
    assert made(content)["age"]["words"].startswith(
        "The values of the confidential data, except for"
    )
    assert made(content)["job"]["words"].endswith("Missing codes were treated like levels.")
    assert "may be that of a real person" in made(content)["id"]["words"]


def test_of_start_files_nothing_is_known(tmp_path: Path) -> None:
    content = codebook(tmp_path, "files")
    words = " ".join(content["synthesis"]["words"])
    assert "How these files were made is not published" in words
    assert "began as versions of the confidential data" not in words
    assert "The values of the files that the datasets began as" in made(content)["age"]["words"]


def test_datasets_of_a_chain_keep_its_words_and_get_more(tmp_path: Path) -> None:
    content, plain = codebook(tmp_path, "chain"), codebook(tmp_path, None)
    words, before = content["synthesis"]["words"], plain["synthesis"]["words"]
    assert words[: len(before)] == before
    assert words[len(before)].startswith("Then a whole population of such datasets")
    assert "Records are drawn" in titles(content)
    assert "Standard errors are not known" in titles(content)
    assert "Intervals can be too narrow" in titles(plain)
    assert "Intervals can be too narrow" not in titles(content)
    drawn = made(content)["age"]["words"]
    assert drawn.startswith(made(plain)["age"]["words"].split(".")[0])
    assert "Afterwards, when whole datasets were evolved" in drawn
    assert content["synthesis"]["rules"] == plain["synthesis"]["rules"] != []
    assert "Selection may have favoured it" not in told(plain)


def test_a_pair_that_was_not_modelled_can_come_in_by_selection(tmp_path: Path) -> None:
    content = codebook(tmp_path, "chain", strata=[])
    assert content["variables"][2]["not_modelled_with"] == ["job"]
    assert "Selection may have favoured it by chance" in told(content)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("m", [1, 3])
def test_no_rule_of_combination_is_offered(tmp_path: Path, start: str, m: int) -> None:
    content = codebook(tmp_path, start, m)
    found = content["analysis"]
    assert (found["rule"], found["formula"], found["code"]) == (None, None, None)
    assert found["applies"] is False
    assert (found["m"], found["k"], found["n"]) == (m, 60, None)
    assert "T = U" not in told(content)
    assert ("mean of the 3 estimates" in told(found)) == (m == 3)


@pytest.mark.parametrize("start", UNFITTED)
def test_rules_are_no_promise_where_no_model_drew_the_records(tmp_path: Path, start: str) -> None:
    content = codebook(tmp_path, start)
    assert content["synthesis"]["rules"] == content["synthesis"]["forbidden"] == []
    assert "What was imposed is no finding" not in titles(content)
    (words,) = [w for w in content["synthesis"]["words"] if "The rules:" in w]
    assert "records that broke one from the beginning were replaced" in words
    assert "If age == 'old', then job is none." in words
    assert f"No record has: {FORBID}." in words


def test_moves_that_were_switched_off_are_not_told(tmp_path: Path) -> None:
    off = {"crossover": 0, "mutation": 0.0, "aimed": 0}
    assert "pairs of datasets swapped" in told(codebook(tmp_path, "mutants"))
    content = codebook(tmp_path, "mutants", genetic=off)
    assert "From one generation to the next" not in told(content)
    assert "some values had been drawn anew" in told(content)
    chain = codebook(tmp_path, "chain", genetic=off)
    assert "Afterwards" not in told(chain)
    only = codebook(tmp_path, "mutants", genetic={"crossover": 0, "mutation": 0})
    assert "From one generation to the next records that carried a disclosure risk" in told(only)


def test_no_setting_of_the_evolution_is_told_but_its_moves(tmp_path: Path) -> None:
    settings = {"risk_at_most": 0.31415, "population": 271828, "mutants": 0.16180, "seconds": 1414}
    secret: dict[str, Any] = {
        "checks": {"keys": ["age", "sex"], "target": "MARKER"},
        "genetic": settings | {"risk": "MARKER", "start": ["MARKER.csv"], "mutation": 0.0123},
    }
    for start in STARTS:
        text = told(codebook(tmp_path, start, **secret))
        found = ["MARKER", "0.31415", "271828", "0.1618", "1414", "0.0123", "cap_u", "pareto"]
        assert [word for word in found if word in text] == []


def config(folder: Path, name: str, **genetic: Any) -> Path:
    content = {
        "data": {"path": "original.csv"},
        "output": {"directory": name, "report": False},
        "seed": 3,
        "variables": {"id": {"kind": "id"}},
        "checks": {
            "keys": ["age", "sex", "place"],
            "target": "job",
            "differential_confidentiality": False,
            "nearest": False,
            "near_verbatim": False,
            "unseen": False,
            "guesses": False,
            "attacks": False,
            "propensity": False,
        },
        "genetic": {"population": 4, "generations": 2, **genetic},
    }
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("evolved")
    original = frame(0, 200)
    original["place"] = np.random.default_rng(9).choice([f"p{i}" for i in range(40)], 200)
    original.to_csv(where / "original.csv", index=False)
    return where


def test_a_run_describes_its_datasets_and_not_its_frontier(folder: Path) -> None:
    result = run(config(folder, "pareto", mode="pareto"))
    content = run_book(result.directory)
    frontier = [path.name for path in result.directory.glob("frontier_*")]
    assert frontier
    assert content["datasets"]["files"] == [path.name for path in result.datasets]
    assert json.loads((result.directory / "codebook.json").read_text()) == content
    assert content["synthesis"]["evolved"] == "mutants"
    page = (result.directory / "codebook.html").read_text()
    assert [words for words in (*CHAIN_WORDS, "A chain of models") if words in page] == []
    texts = told(content) + page
    assert [name for name in frontier if name in texts] == []
    figures = json.loads((result.directory / "checks.json").read_text())["genetic"]["datasets"][0]
    exact = [repr(figures[name]) for name in ("utility", "risk", "unchanged", "fitness")]
    assert [figure for figure in exact if len(figure) > 5 and figure in texts] == []


def test_a_run_from_the_chain_and_from_files(folder: Path) -> None:
    chain = run_book(run(config(folder, "chain", start="chain")).directory)
    assert chain["synthesis"]["evolved"] == "chain"
    assert "Records are drawn" in titles(chain)
    start = str(folder / "chain" / "synthetic_1.csv")
    files = run_book(run(config(folder, "files", start=[start])).directory)
    assert files["synthesis"]["evolved"] == "files"
    assert "Records may be real" in titles(files)
