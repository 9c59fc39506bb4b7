"""The command ``check``: any files, a run, settings by key, exit codes, secrecy, every problem."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthesizer.measures.figure import typed
from synthesizer.measures.results import UtilityResult
from tests.end_to_end.commands import NO_HALVES, call, persons_frame, write_yaml

KNOWN = ["--keys", "sex, age,region", "--target", "marital"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Original, two synthetic files of somebody else, a control, and a run of our own."""
    where = tmp_path_factory.mktemp("check")
    frame = persons_frame(300)
    frame.to_csv(where / "original.csv", index=False)
    rng = np.random.default_rng(1)
    frame.apply(lambda column: rng.permutation(column)).to_csv(where / "made.csv", index=False)
    frame.sample(200, random_state=1).to_parquet(where / "sample.parquet", index=False)
    persons_frame(300, seed=9).to_csv(where / "control.csv", index=False)
    content = {
        "data": {"path": "original.csv"},
        "output": {"directory": "out", "report": False},
        "seed": 3,
        "random_key": "none",
        "m": 2,
        "checks": {"keys": ["sex", "age", "region"], "target": "marital", "propensity": "logit"}
        | NO_HALVES,
        "limits": {"cap": 0.9},
        "variables": {"income": {"missing": ["-8"]}},
    }
    assert call("run", write_yaml(where / "run.yaml", content), "-q").exit_code == 0
    return where


def files(folder: Path, *names: str) -> list[object]:
    return ["check", folder / "original.csv", *(folder / name for name in names or ("made.csv",))]


def read(*words: object, exit_code: int = 0) -> dict[str, Any]:
    """Return the JSON that a command prints."""
    result = call(*words, "--json")
    assert result.exit_code == exit_code, result.output
    content: dict[str, Any] = json.loads(result.stdout)
    return content


def test_the_screen_has_the_verdict_first(folder: Path) -> None:
    result = call(*files(folder), *KNOWN)
    assert result.exit_code == 0, result.output
    starts = [result.output.index(words) for words in ("A person in the data:", "Anybody:", "Use:")]
    assert starts == sorted(starts)
    assert starts[0] == 0
    copied = files(folder, "original.csv")
    refused = call(*copied, *KNOWN, "--only", "risk", "--fail-on", "fail")
    assert refused.exit_code == 3
    assert "\nUse:" not in refused.output
    assert call(*copied, "--only", "utility", "--fail-on", "fail").exit_code == 0
    every = call(*files(folder), *KNOWN, "--all").output
    for name in ("TCAP", "repU", "largest DIS-SUDA", "Chi-square", "SPECKS", "ROE", "S_pMSE"):
        assert name in every
    assert call(*files(folder), *KNOWN, "-q").output == ""


def test_a_control_adds_what_the_release_adds(folder: Path) -> None:
    words = [*files(folder, "sample.parquet"), *KNOWN, "--control", folder / "control.csv"]
    content = read(*words, "--set", "differential_confidentiality.by=sex")
    main = content["results"]["risk"]["scenarios"][0]
    assert main["differential"]["worst_group"]["by"] == "sex"
    attacks = content["results"]["risk"]["attacks"]["attacks"]
    assert len(attacks) == 4
    assert all(each["asked"] == 5000 >= each["n"] > 0 for each in attacks)
    assert content["results"]["utility"]["further"]["unseen"]
    assert content["verdict"]["lines"][0]["word"] == "fail"  # all of it are records of the original
    without = read(*words, "--set", "attacks=false")
    assert without["results"]["risk"]["attacks"] is None


def test_json_is_the_same_and_private(folder: Path, tmp_path: Path) -> None:
    words = [*files(folder, "made.csv", "sample.parquet"), *KNOWN, "--set", "seed=2"]
    words += ["--set", "groups={age: [20, 40]}", "--set", "three_way=true"]
    words += ["--set", "inference={sensitive: sex, public: [age, region], groups: {age: 4}}"]
    out = tmp_path / "found.json"
    content = read(*words, "-o", out)
    assert json.loads(out.read_text()) == content
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert content["confidential"]
    assert content["seed"] == 2
    assert [entry["name"] for entry in content["files"]] == [str(path) for path in words[1:4]]
    assert [len(entry["sha256"]) for entry in content["files"]] == [64] * 3
    risk, use = content["results"]["risk"], content["results"]["utility"]
    (main,) = risk["scenarios"]
    assert [row["m"] for row in main["cap"]["synthetic"] if row["subset"] == "all"] == [1, 2]
    assert main["scenario"]["groups"] == {"age": [20.0, 40.0]}
    assert risk["inference"][0]["sensitive"] == "sex"
    assert typed(UtilityResult, use).tables.of_order(3)
    assert content["results"]["failed"] == {}
    before = out.read_bytes()
    assert "exists already" in call(*words, "-o", out).output
    assert call(*files(folder), "--keys", "x", "-o", out, "--overwrite").exit_code == 2
    assert out.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["found.json"]


def test_a_page_about_files_of_others(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    words = [*files(folder), "--control", folder / "control.csv", *KNOWN]
    result = call(*words, "-o", page, "--set", "limits.profile=elemam")
    assert result.exit_code == 0, result.output
    assert str(page) in result.output
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    text = page.read_text(encoding="utf-8")
    for shown in ("<h1>Synthetic data from", "Use: ", "elemam", "near copies"):
        assert shown in text
    # without its models there is no advice on them, no seed, no chain
    for words_of_runs in ("min_leaf", "visit_sequence", "Key for exact repetition", "The chain"):
        assert words_of_runs not in text


def test_a_run_is_what_its_own_checks_found(folder: Path) -> None:
    words = [*files(folder, "out"), "--config", folder / "run.yaml"]
    content = read(*words, "--set", "seed=3")
    run = json.loads((folder / "out" / "checks.json").read_text())
    first = {(f["place"], f["key"]): f["value"] for f in run["figures"]}
    again = {(f["place"], f["key"]): f["value"] for f in content["figures"]}
    assert again == first
    assert "propensity score by cart" not in call(*words, "--all").output
    limits = ["--set", "limits.cap=0.0", "--set", "limits.nearer_share=0.1"]
    limited = read(*words, *limits, "--set", "limits.mean_two_way=0.001", exit_code=3)
    assert len(limited["exceeded"]) == 2
    (dropped,) = [note for note in limited["notes"] if note.startswith("limits.")]
    assert "limits.nearer_share" in dropped  # there is no control
    limits += ["--set", "limits.mean_two_way=0.001"]
    (alone,) = read(*words, *limits, "--only", "utility", exit_code=3)["exceeded"]
    assert "limits.mean_two_way" in alone


def test_settings_go_before_the_configuration(folder: Path) -> None:
    checks = {
        "keys": ["sex", "age"],
        "target": "region",
        "scenarios": [{"keys": ["sex", "age"], "target": "marital"}],
        "tau": 0.7,
        "identity": False,
    }
    content = {"data": {"path": "original.csv"}, "checks": checks, "limits": {"cap": 0.0}}
    config = write_yaml(folder / "more.yaml", content)
    content = read(*files(folder), "--config", config, "--only", "risk", exit_code=3)
    first, second = content["results"]["risk"]["scenarios"]
    assert (first["tcap"]["tau"], first["identity"]) == (0.7, None)
    assert second["scenario"]["target"] == "marital"
    assert len(content["exceeded"]) == 2  # of both scenarios
    words = ["--target", "marital", "--set", "checks.tau=0.9", "--set", "scenarios=[]"]
    words += ["--set", "limits.cap=1", "--keys", "'sex', age"]
    (main,) = read(*files(folder), "--config", config, *words)["results"]["risk"]["scenarios"]
    assert (main["scenario"]["target"], main["scenario"]["keys"]) == ("marital", ["sex", "age"])
    assert main["tcap"]["tau"] == 0.9


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--keys", "sex,`age", "--target="], ["--keys: write names as A,B,C", "--target"]),
        (["--set", "tau=0.5", "--set", "checks.tau=0.6"], ["--set checks.tau: is given twice"]),
        (["--set", "keys=[sex]", *KNOWN], ["--set keys: is given twice"]),
        (["--set", "tau=2", "--set", "fits=age ~ (", "--control", "absent.csv", "--out",
          "nowhere/risk.json", "--keys", "sexx", "--set", "weight=w"],
         ["checks.tau", "checks.fits.1", "absent.csv", "nowhere", "'sexx'", "'w'"]),
        (["--out", "page.txt"], ["page.txt must be named .html"]),
    ],
)  # fmt: skip
def test_bad_words_are_refused_at_once_by_their_keys(
    folder: Path, words: list[str], expected: list[str]
) -> None:
    result = call(*files(folder), *words)
    assert result.exit_code == 2, result.output
    for word in expected:
        assert word in result.output


def test_bad_files_are_errors(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("sex,age,region,marital\n")
    lacking = pd.read_csv(folder / "made.csv").drop(columns=["age", "marital"])
    lacking.to_csv(tmp_path / "lacking.csv", index=False)
    result = call(*files(folder), tmp_path / "empty.csv", tmp_path / "none.csv", *KNOWN)
    assert result.exit_code == 2
    assert "empty.csv" in result.output
    assert "none.csv" in result.output
    result = call("check", folder / "original.csv", tmp_path / "lacking.csv", *KNOWN)
    assert (result.exit_code, "'age', 'marital'" in result.output) == (2, True)


def test_no_input_is_overwritten_and_no_control_is_an_input(folder: Path, tmp_path: Path) -> None:
    original = tmp_path / "original.json"
    original.write_bytes((folder / "original.csv").read_bytes())
    for source in (folder / "out" / "manifest.json", folder / "run.yaml", original):
        before = source.read_bytes()
        options = [*files(folder, "out"), "--config", folder / "run.yaml", "--control", original]
        assert call(*options, "-o", source, "--overwrite").exit_code == 2
        assert source.read_bytes() == before
    same = call(*files(folder), *KNOWN, "--control", folder / "original.csv")
    assert same.exit_code == 2
    assert "is one of the other files" in same.output


def test_a_failed_fit_loses_nothing_else_and_ends_with_1(folder: Path) -> None:
    lost = call(*files(folder), "--set", "fits={formula: income ~ sex, family: logit}", "--all")
    assert lost.exit_code == 1, lost.output
    assert "fit income ~ sex: has no result" in lost.output
    assert "mean two-way S_pMSE" in lost.output
