"""The command ``utility``: any two files, a run, fits, limits, exit codes, secrecy."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.end_to_end.commands import call, persons_frame, write_yaml


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Original, a synthetic file of somebody else, and runs of our own."""
    where = tmp_path_factory.mktemp("utility")
    frame = persons_frame(300)
    frame.to_csv(where / "original.csv", index=False)
    rng = np.random.default_rng(1)
    frame.apply(lambda column: rng.permutation(column)).to_csv(where / "made.csv", index=False)
    content = {
        "data": {"path": "original.csv"},
        "output": {"directory": "out", "report": False},
        "seed": 3,
        "m": 2,
        "checks": {
            "keys": ["sex", "age"],
            "target": "marital",
            "propensity": "logit",
            "nearest": False,
            "near_verbatim": False,
            "unseen": False,
            "guesses": False,
            "attacks": False,
            "differential_confidentiality": False,
        },
        "limits": {"cap": 0.9, "mean_two_way": 1000.0},
        "variables": {"income": {"missing": ["-8"]}},
    }
    assert call("run", write_yaml(where / "run.yaml", content), "-q").exit_code == 0
    output = {"directory": "proper", "report": False}
    proper = content | {"proper": True, "output": output, "checks": False, "limits": {}}
    assert call("run", write_yaml(where / "proper.yaml", proper), "-q").exit_code == 0
    return where


def test_files_of_others(folder: Path) -> None:
    made = ["utility", folder / "original.csv", folder / "made.csv"]
    result = call(*made)
    assert result.exit_code == 0, result.output
    for words in ("worst pairs", "worst variables", "identifiers are not compared: person_id"):
        assert words in result.output
    assert "chi-square rejections" not in result.output
    result = call(*made, "--permutations", "3", "--all")
    for words in (
        "variables", "pairs", "ROE", "mean two-way S_pMSE", "pMSE ratio",
        "propensity score by cart",
        "standardised pMSE",  # with pMSE and its ratio: table 2 of the paper
    ):  # fmt: skip
        assert words in result.output
    every = call(
        "utility", folder / "original.csv", folder / "made.csv", "--model", "logit", "--all"
    )
    for words in (
        "Chi-square", "SPECKS", "about 1 is good", "chi-square rejections",
        "pMSE: how well a logit tells",
    ):  # fmt: skip
        assert words in every.output
    assert "propensity score by cart" not in every.output


def test_json_is_the_same_and_secret(folder: Path, tmp_path: Path) -> None:
    words = ["utility", folder / "original.csv", folder / "made.csv", "--model", "logit"]
    out = tmp_path / "utility.json"
    result = call(*words, "--variables", "sex,age", "--ways", "1,2", "--json", "-o", out)
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    assert json.loads(out.read_text()) == found
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    variables = [part["variable"] for part in found["results"]["utility"]["distributions"]]
    assert variables == ["sex", "age"]
    assert [len(entry["sha256"]) for entry in found["files"]] == [64, 64]
    again = call(*words, "-o", out)
    assert again.exit_code == 2
    assert "exists already" in again.output
    taken = call(*words, "-o", folder / "original.csv", "--overwrite")
    assert taken.exit_code == 2
    assert "one of the files that are read" in taken.output


def test_a_run_with_its_configuration(folder: Path) -> None:
    words = ["utility", folder / "original.csv", folder / "out", "--config", folder / "run.yaml"]
    result = call(*words)
    assert result.exit_code == 0, result.output
    assert "limits.cap is not looked at here" in result.output
    assert "propensity score by cart" not in result.output  # the configuration names logit


def test_a_limit_that_is_exceeded_is_exit_code_3(folder: Path, tmp_path: Path) -> None:
    content = {
        "data": {"path": str(folder / "original.csv")},
        "limits": {"mean_two_way": 0.001, "disco": 0.0},
    }
    config = write_yaml(tmp_path / "strict.yaml", content)
    result = call(
        "utility", folder / "original.csv", folder / "made.csv", "--config", config,
        "--model", "logit",
    )  # fmt: skip
    assert result.exit_code == 3
    assert "mean two-way S_pMSE is" in result.output
    assert "DiSCO" not in result.output.partition("error")[2]


def test_a_limit_does_not_hold_for_columns_that_could_not_be_compared(
    folder: Path, tmp_path: Path
) -> None:
    frame = pd.read_csv(folder / "made.csv")
    frame.assign(sex=frame["sex"].map({"f": "female", "m": "male"})).to_csv(
        tmp_path / "other.csv", index=False
    )
    content = {"data": {"path": str(folder / "original.csv")}, "limits": {"mean_two_way": 1000.0}}
    config = write_yaml(tmp_path / "strict.yaml", content)
    result = call(
        "utility", folder / "original.csv", tmp_path / "other.csv", "--config", config,
        "--model", "logit",
    )  # fmt: skip
    assert result.exit_code == 3
    assert "column 'sex' could not be compared" in result.output.replace("\n", " ")


def test_fits_by_the_rule_of_the_synthesis(folder: Path) -> None:
    words = ["utility", folder / "original.csv", "--fit", "income ~ age + sex"]
    words += ["--model", "logit", "--ways", "1"]
    ours = call(*words[:2], folder / "out", *words[2:])
    assert ours.exit_code == 0, ours.output
    assert "rule simple" in ours.output
    assert "Overlap" in ours.output
    proper = call(*words[:2], folder / "proper", *words[2:])
    assert "rule proper" in proper.output
    wrong = call(*words[:2], folder / "proper", *words[2:], "--rule", "simple")
    assert wrong.exit_code == 2
    assert "drawn anew" in wrong.output
    others = call(*words[:2], folder / "made.csv", *words[2:])
    assert "no manifest or configuration says how the data were synthesised" in others.output
    partly = call(*words[:2], folder / "made.csv", *words[2:], "--rule", "partially")
    assert "needs at least two synthetic datasets" in partly.output


def test_a_fit_that_is_not_to_be_had_loses_nothing_else(folder: Path) -> None:
    result = call(
        "utility", folder / "original.csv", folder / "made.csv", "--fit", "income ~ sex",
        "--family", "logit", "--model", "logit", "--all",
    )  # fmt: skip
    assert result.exit_code == 1, result.output
    assert "fit income ~ sex: has no result" in result.output
    assert "mean two-way S_pMSE" in result.output


def test_names_of_fits_are_looked_up_before_the_work(folder: Path) -> None:
    result = call(
        "utility", folder / "original.csv", folder / "made.csv", "--fit", "income ~ wealth + age",
        "--fit", "rent ~ age", "--clusters", "town", "--variables", "nothing",
    )  # fmt: skip
    assert result.exit_code == 2, result.output
    for fit, names in (("income ~ wealth + age", ("wealth", "town")), ("rent ~ age", ("rent",))):
        for name in names:
            assert f"fit '{fit}': column '{name}' is not in the original" in result.output
    assert "5 errors" in result.output


def test_bad_words_are_told_at_once(folder: Path) -> None:
    result = call(
        "utility", folder / "original.csv", folder / "made.csv", "--ways", "1,5",
        "--model", "forest", "--family", "gamma", "--rule", "all",
    )  # fmt: skip
    assert result.exit_code == 2
    assert "4 errors" in result.output
    missing = call(
        "utility", folder / "original.csv", folder / "nothing.csv", "--ways", "7",
        "--out", "nowhere/x.json", "--fit", "age ~", "--rule", "all",
    )  # fmt: skip
    assert missing.exit_code == 2
    for word in ("nothing.csv", "--ways", "nowhere", "formula 'age ~'", "rule", "5 errors"):
        assert word in missing.output
    formula = call(
        "utility", folder / "original.csv", folder / "made.csv", "--fit", "age ~ (", "--fit", "~ a"
    )
    assert formula.output.count("formula 'age ~ ('") == formula.output.count("formula '~ a'") == 1


def test_a_manifest_that_leads_out_of_the_run_is_refused(folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(folder / "out", run)
    manifest = json.loads((run / "manifest.json").read_text())
    shutil.move(run / "synthetic_2.csv", tmp_path / "synthetic_2.csv")
    for entry in manifest["files"]:
        if entry["name"] == "synthetic_2.csv":
            entry["name"] = "../synthetic_2.csv"
    (run / "manifest.json").write_text(json.dumps(manifest))
    result = call("utility", folder / "original.csv", run)
    assert result.exit_code == 2
    assert "files.1.name" in result.output
    assert "outside the run directory is refused" in result.output
