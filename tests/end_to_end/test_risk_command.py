"""The command ``risk``: any two files, exit codes, secrecy, wrong order, limits."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.end_to_end.commands import call, persons_frame, write_yaml

KNOWN = ["--keys", "sex, age,region", "--target", "marital"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Original, two synthetic files of somebody else, a control file, and a run of our own."""
    where = tmp_path_factory.mktemp("risk")
    frame = persons_frame(300)
    frame.to_csv(where / "original.csv", index=False)
    rng = np.random.default_rng(1)
    shuffled = frame.apply(lambda column: rng.permutation(column))
    shuffled.to_csv(where / "made.csv", index=False)
    frame.sample(200, random_state=1).to_parquet(where / "sample.parquet")
    persons_frame(300, seed=9).to_csv(where / "control.csv", index=False)
    content = {
        "data": {"path": "original.csv"},
        "output": {"directory": "out"},
        "seed": 3,
        "m": 2,
        "checks": {"keys": ["sex", "age", "region"], "target": "marital"},
        "limits": {"cap": 0.9},
        "variables": {"income": {"missing": ["-8"]}},
    }
    config = write_yaml(where / "run.yaml", content)
    assert call("run", config, "-q").exit_code == 0
    return where


def test_files_of_others(folder: Path) -> None:
    result = call("risk", folder / "original.csv", folder / "made.csv", *KNOWN)
    assert result.exit_code == 0, result.output
    assert "asked: sex, age, region -> marital" in result.output
    assert "largest DIS-SUDA" not in result.output
    assert "this looks like a copy" not in result.output
    copied = call("risk", folder / "original.csv", folder / "original.csv", *KNOWN)
    assert copied.exit_code == 0
    assert copied.output.startswith("A person in the data: FAIL.")  # before every note and figure
    refused = call(
        "risk", folder / "original.csv", folder / "original.csv", *KNOWN, "--fail-on", "fail"
    )
    assert refused.exit_code == 3
    assert "Use:" not in refused.output  # not measured here
    assert "use is not looked at here: synthesizer utility, or report" in refused.output
    every = call("risk", folder / "original.csv", folder / "made.csv", *KNOWN, "--all")
    for words in (
        "CAP", "TCAP", "DiSCO", "repU", "special uniques", "largest DIS-SUDA", "lower is safer",
        "baseline:", "chance:",
    ):  # fmt: skip
        assert words in every.output
    assert (
        "nearer to the fitted" not in result.output
    )  # no control file: nothing to hold it against


@pytest.mark.parametrize("how", ["--encoding", "--config"])
def test_text_that_is_not_utf_8_is_read_as_named(how: str, folder: Path, tmp_path: Path) -> None:
    frame = persons_frame(60).replace({"region": {"north": "Łódź"}})
    original, made = tmp_path / "original.csv", tmp_path / "made.csv"
    frame.to_csv(original, index=False, encoding="cp1250")
    frame.to_csv(made, index=False)  # a release may well be UTF-8
    config = write_yaml(
        tmp_path / "c.yaml", {"data": {"path": str(original), "encoding": "cp1250"}}
    )
    words = ["risk", original, made, *KNOWN]
    assert "set --encoding cp12" in call(*words).output
    result = call(*words, how, "cp1250" if how == "--encoding" else config)
    assert result.exit_code == 0, result.output
    assert "60 of 60 records" in result.output  # all of them are there again


def test_a_page_about_files_of_others(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    files = ["--original", folder / "original.csv", "--control", folder / "control.csv"]
    names = ["--keys", "sex,age,region", "--target", "marital", "-o", page]
    result = call("report", *files, "--synthetic", folder / "made.csv", *names)
    assert result.exit_code == 0, result.output
    assert result.output.startswith("A person in the data: ")
    text = page.read_text(encoding="utf-8")
    assert "<h1>Synthetic data from" in text
    for words in ("Use: ", "docs/decision.md", "near-verbatim records", "checked "):
        assert words in text
    # nothing is known of its models: no advice on them, no seed, no chain
    for words in ("min_leaf", "the model of", "visit_sequence", "Secret of the draws", "The chain"):
        assert words not in text
    both = call("report", folder / "out", *files)
    assert both.exit_code == 2
    assert "--original, --control: only of files" in both.output
    neither = call("report", "--original", folder / "original.csv")
    assert "name the result directory of a run, or files" in neither.output
    other = call("report", *files[:2], "--synthetic", folder / "made.csv", "-o", tmp_path / "p.txt")
    assert "must be named .html" in other.output


def test_attacks_are_made_by_a_run_and_on_files(folder: Path, tmp_path: Path) -> None:
    files = [folder / "original.csv", folder / "made.csv", "--control", folder / "control.csv"]
    result = call("risk", *files, *KNOWN, "--json")
    assert result.exit_code == 0, result.output
    without = call("risk", *files, *KNOWN, "--json", "--no-attacks")
    assert json.loads(without.output)["results"]["risk"]["attacks"] is None
    checks = {"keys": ["sex", "age", "region"], "target": "marital", "attacks": {"attempts": 60}}
    content = {
        "data": {"path": str(folder / "original.csv")},
        "output": {"directory": "out"},
        "seed": 3,
        "checks": checks,
    }
    assert call("run", write_yaml(tmp_path / "run.yaml", content), "-q").exit_code == 0
    of_run = json.loads((tmp_path / "out" / "checks.json").read_text())
    for found, asked in ((json.loads(result.output), 5000), (of_run, 60)):
        attacks = found["results"]["risk"]["attacks"]
        assert len(attacks["attacks"]) == 4
        assert all(each["asked"] == asked >= each["n"] > 0 for each in attacks["attacks"])


@pytest.mark.parametrize("command", ["risk", "utility"])
def test_missing_values_written_in_two_ways_come_after_the_verdict(
    folder: Path, tmp_path: Path, command: str
) -> None:
    original = pd.read_csv(folder / "original.csv", dtype=str, keep_default_na=False)
    original.loc[original.index[:60], "region"] = ""
    for name, code in (("original", ""), ("made", "N")):
        path = tmp_path / f"{name}.csv"
        original.assign(region=original["region"].replace("", code)).to_csv(path, index=False)
    known = KNOWN if command == "risk" else []
    result = call(command, tmp_path / "original.csv", tmp_path / "made.csv", *known)
    assert result.exit_code == 0, result.output
    told = "missing values of 'region' are '' in the original and 'N' in synthetic dataset 1"
    assert f"\n{told}" in result.output
    assert result.output.startswith("A person" if command == "risk" else "Use: ")
    same = call(command, tmp_path / "original.csv", tmp_path / "original.csv", *known)
    assert "missing values of" not in same.output


def test_json_is_the_same_with_every_number(folder: Path) -> None:
    words = ["risk", folder / "original.csv", folder / "made.csv", folder / "sample.parquet"]
    asked = ["--sensitive", "sex", "--public", "age,region", "--groups", "age=4", "--json"]
    result = call(*words, *KNOWN, *asked)
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)["results"]["risk"]
    (main,) = found["scenarios"]
    assert [row["m"] for row in main["cap"]["synthetic"] if row["subset"] == "all"] == [1, 2]
    assert main["scenario"]["groups"] == {"age": 4}
    assert found["inference"][0]["sensitive"] == "sex"
    assert found["failed"] == {}
    assert call(*words, *KNOWN, *asked).output == result.output


def test_a_control_file_adds_what_the_release_adds(folder: Path) -> None:
    words = ["risk", folder / "original.csv", folder / "sample.parquet", *KNOWN]
    result = call(*words, "--control", folder / "control.csv", "--by", "sex", "--all")
    assert result.exit_code == 0, result.output
    for expected in ("differential confidentiality", "worst group", "share nearer to the fitted"):
        assert expected in result.output
    assert "not differentially confidential" in result.output
    # all records of the original were fitted
    assert "half" not in result.output.partition("risk: ")[2]


def test_the_directory_of_a_run_and_its_configuration(folder: Path) -> None:
    words = ["risk", folder / "original.csv", folder / "out", "--config", folder / "run.yaml"]
    result = call(*words, "--all")
    assert result.exit_code == 0, result.output
    checks = json.loads((folder / "out" / "checks.json").read_text())
    assert f"{checks['summary']['cap']:.4f}" in result.output
    assert "note" not in result.output.replace("note: dataset", "")
    strict = write_yaml(
        folder / "strict.yaml",
        {"data": {"path": "original.csv"}, "limits": {"cap": 0.0, "mean_two_way": 0.0}},
    )
    limited = call("risk", folder / "original.csv", folder / "out", "--config", strict, *KNOWN)
    assert limited.exit_code == 3
    assert "limits.cap" in limited.output
    assert "limits.mean_two_way is not looked at here" in limited.output
    assert limited.output.count("two_way") == 1


def test_files_in_the_wrong_order_are_told(folder: Path) -> None:
    made = folder / "out" / "synthetic_1.csv"
    result = call("risk", made, folder / "original.csv", *KNOWN)
    assert result.exit_code == 0
    assert "is a synthetic dataset by the manifest beside it" in result.output
    assert "the original that the other files were made from" in result.output
    result = call("risk", folder / "control.csv", made, *KNOWN)
    assert "come from another file" in result.output
    assert call("risk", folder / "original.csv", made, *KNOWN).output.count("manifest") == 0


def test_the_file_is_secret_and_never_half_written(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "risk.json"
    words = ["risk", folder / "original.csv", folder / "made.csv", *KNOWN, "--out", out]
    assert call(*words).exit_code == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert json.loads(out.read_text())["confidential"]
    before = out.read_bytes()
    refused = call(*words)
    assert refused.exit_code == 2
    assert "exists already" in refused.output
    faulty = ["risk", folder / "original.csv", folder / "made.csv", "--keys", "x", "--target", "y"]
    assert call(*faulty, "--out", out, "--overwrite").exit_code == 2
    assert out.read_bytes() == before
    assert call(*words, "--overwrite").exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["risk.json"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--keys", "sexx,agee", "--target", "marital"], ["'sexx'", "'agee'"]),
        (["--keys", "sex,marital", "--target", "marital"], ["also a key"]),
        (["--keys", "sex", "--target", "marital", "--groups", "age:5"], ["--groups"]),
        (["--keys", "sex", "--target", "marital", "--groups", "sex=5"], ["not numeric"]),
        ([*KNOWN, "--public", "age"], ["--public", "--sensitive"]),
        ([*KNOWN, "--periods", "--thresholds", "0.5"], ["--periods", "--thresholds"]),
        (
            [*KNOWN, "--sensitive", "sex", "--public", "age", "--periods"],
            ["only a panel has periods"],
        ),
        (
            [*KNOWN, "--sensitive", "sex", "--public", "age", "--thresholds", "1"],
            ["threshold (1.0) must be at least 0 and below 1"],
        ),
        ([*KNOWN, "--sensitive", "sex", "--public", "age", "--thresholds", "x"], ["thresholds"]),
        ([*KNOWN, "--positive", "f", "--baseline", "age"], ["--positive, --baseline"]),
        ([*KNOWN, "--groups", "income=4"], ["'income' is neither a key"]),
        (["--keys", ",,", "--target", "marital"], ["A,B,C"]),
        (
            [
                "--keys",
                "sex,`age",
                "--groups",
                "age:5",
                "--public",
                "sex",
                "--tau",
                "2",
                "--control",
                "absent.csv",
                "--out",
                "nowhere/risk.json",
            ],
            ["backtick", "--groups must look", "--sensitive", "tau", "absent.csv", "nowhere"],
        ),
        (["--keys", "a,sex", "--target", "b", "--groups", "c=2"], ["'a'", "'b'", "'c' is neither"]),
        ([*KNOWN, "--groups", "age=1000000000"], ["--groups"]),
        (["--keys", "sex,`age", "--target", "marital"], ["between backticks"]),
        ([*KNOWN, "--groups", "age=3,age=4"], ["twice"]),
        ([*KNOWN, "--units", "person_id"], ["units needs a control file"]),
        ([*KNOWN, "--sensitive", "sex", "--public", "nowhere"], ["'nowhere'"]),
        ([*KNOWN, "--attacks"], ["control"]),
        ([*KNOWN, "--by", "sex"], ["control"]),
        ([*KNOWN, "--control", "nowhere.csv"], ["nowhere.csv"]),
        ([*KNOWN, "--tau", "1.5"], ["tau"]),
        ([*KNOWN, "--max-size", "0"], ["--max-size: must"]),
        ([*KNOWN, "--seed", "-1"], ["seed"]),
        ([*KNOWN, "--out", "nowhere/risk.json"], ["no such directory"]),
    ],
)
def test_bad_words_are_errors(folder: Path, words: list[str], expected: list[str]) -> None:
    result = call("risk", folder / "original.csv", folder / "made.csv", *words)
    assert result.exit_code == 2, result.output
    for word in expected:
        assert word in result.output


def test_bad_files_are_errors(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("sex,age,region,marital\n")
    lacking = pd.read_csv(folder / "made.csv").drop(columns=["age", "marital"])
    lacking.to_csv(tmp_path / "lacking.csv", index=False)
    original = folder / "original.csv"
    result = call("risk", original, tmp_path / "empty.csv", tmp_path / "none.csv", *KNOWN)
    assert result.exit_code == 2
    assert "empty.csv" in result.output
    assert "none.csv" in result.output
    result = call("risk", original, tmp_path / "lacking.csv", *KNOWN)
    assert result.exit_code == 2
    assert "has no columns 'age', 'marital'; name" in result.output


def test_keys_are_suggested_and_told(folder: Path) -> None:
    result = call("risk", folder / "original.csv", folder / "made.csv")
    assert result.exit_code == 0, result.output
    assert "Name your own to replace them" in result.output


def test_the_configuration_says_what_is_looked_at(folder: Path) -> None:
    config = write_yaml(
        folder / "more.yaml",
        {
            "data": {"path": "original.csv"},
            "checks": {
                "keys": ["sex", "age", "region"],
                "target": "marital",
                "scenarios": [{"keys": ["sex", "age"], "target": "region"}],
                "inference": [
                    {"sensitive": "sex", "public": ["age"]},
                    {"sensitive": "income", "public": ["region"], "groups": {"income": 3}},
                ],
                "suda": {"max_size": 2, "sampling_fraction": 0.1},
                "tau": 0.7,
                "identity": False,
                "differential_confidentiality": {"by": "sex", "units": "person_id"},
            },
            "limits": {"cap": 0.0, "nearer_share": 0.1},
        },
    )
    words = ["risk", folder / "original.csv", folder / "made.csv", "--config", config, "--json"]
    result = call(*words)
    assert result.exit_code == 3
    text = result.output[: result.output.rindex("}") + 1]
    found = json.loads(text)
    risk = found["results"]["risk"]
    first, second = risk["scenarios"]
    assert (first["suda"]["max_size"], first["suda"]["sampling_fraction"]) == (2, 0.1)
    assert (first["tcap"]["tau"], first["identity"]) == (0.7, None)
    assert second["scenario"]["target"] == "region"
    assert [part["sensitive"] for part in risk["inference"]] == ["sex", "income"]
    assert len(found["exceeded"]) == 2  # of both scenarios; nothing to hold nearest records against
    assert any("limits.nearer_share is not looked at" in note for note in found["notes"])
    assert [entry["name"] for entry in found["files"]] == [str(words[1]), str(words[2])]
    held = call(*words, "--control", folder / "control.csv", "--tau", "0.9")
    again = json.loads(held.output[: held.output.rindex("}") + 1])
    main = again["results"]["risk"]["scenarios"][0]
    assert main["tcap"]["tau"] == 0.9
    assert main["differential"]["worst_group"]["by"] == "sex"
    assert len(again["exceeded"]) == 3


def test_no_input_is_overwritten_and_no_control_is_an_input(folder: Path, tmp_path: Path) -> None:
    original = tmp_path / "original.csv"
    original.write_bytes((folder / "original.csv").read_bytes())
    before = original.read_bytes()
    words = ["risk", original, folder / "made.csv", *KNOWN]
    refused = call(*words, "-o", original, "--overwrite")
    assert refused.exit_code == 2
    assert "one of the files that are read" in refused.output
    for kept in (folder / "out" / "manifest.json", folder / "run.yaml"):
        content = kept.read_bytes()
        asked = ["risk", original, folder / "out", "--config", folder / "run.yaml"]
        assert call(*asked, "-o", kept, "--overwrite").exit_code == 2
        assert kept.read_bytes() == content
    assert original.read_bytes() == before
    same = call(*words, "--control", folder / "original.csv")
    assert same.exit_code == 2
    assert "must be of others" in same.output


def test_names_with_commas_and_cut_points(folder: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(folder / "original.csv").rename(columns={"age": "age, years"})
    frame.to_csv(tmp_path / "odd.csv", index=False)
    asked = ["--keys", "sex,`age, years`", "--target", "marital", "--groups", "`age, years`=20/40"]
    result = call("risk", tmp_path / "odd.csv", tmp_path / "odd.csv", *asked, "--json")
    assert result.exit_code == 0, result.output
    scenario = json.loads(result.output)["results"]["risk"]["scenarios"][0]["scenario"]
    assert scenario["keys"] == ["sex", "age, years"]
    assert scenario["groups"] == {"age, years": [20.0, 40.0]}
