"""The codebook for researchers: what it reveals, and above all what it does not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthesizer.data.errors import DataError
from synthesizer.measures.figure import plain
from synthesizer.report.codebook.conclusions import release_facts
from synthesizer.report.codebook.datasets import facts_of, read_released
from synthesizer.report.codebook.words import sentences
from synthesizer.report.codebook.write import (
    write_run_codebook,
)
from synthesizer.report.record import Manifest, StepEntry
from tests import run_directories
from tests.report.codebook.books import book, executed, run_book
from tests.run_directories import step

MARK = "MARKER"
STEPS = (
    step("sex", "categorical", "sample"),
    step("age", "numeric", "cart", "sex"),
    step("job", "ordered", "cart", "sex", "age"),
    step("pay", "numeric", "normrank", "age", model_of_missing_codes="multinomial"),
    step("born", "date", "cart", "sex", "age", "job", "pay"),
    step("double", "numeric", "derived", "age"),
)


def frame(seed: int, n: int = 40) -> pd.DataFrame:
    """A synthetic dataset as a run would write it: an identifier and every kind of variable."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 60, n)
    pay = np.char.mod("%.2f", np.round(rng.gamma(2, 1000, n), 2)).astype(object)
    pay[:4], pay[4] = "-8", ""
    return pd.DataFrame(
        {
            "id": np.arange(1, n + 1),
            "sex": rng.choice(["f", "m"], n),
            "age": age,
            "job": rng.choice(["none", "some", "10", "9"], n),
            "pay": pay,
            "born": pd.to_datetime("2000-02-28") + pd.to_timedelta(rng.integers(0, 9, n), "D"),
            "double": 2 * age,
        }
    )


def manifest_of(directory: Path, chain: Sequence[StepEntry] = STEPS, **config: Any) -> Manifest:
    """What a run writes beside such datasets."""
    files = run_directories.entries(directory)
    settings = {"version": 2, "m": len(files), "data": {"path": "original.csv"}}
    settings |= {"output": {"publish_rows": True}, **config}
    manifest = run_directories.manifest_of(
        settings, chain=chain, data={"rows": 40}, rows=40, m=len(files), files=files
    )
    return known(manifest, {"pay": ["-8"]})


def make_run(directory: Path, m: int = 2, **config: Any) -> Manifest:
    """Write m datasets and their manifest."""
    write(directory, *(frame(number) for number in range(1, m + 1)))
    return save(directory, manifest_of(directory, **config))


def write(directory: Path, *frames: pd.DataFrame, **how: Any) -> Path:
    directory.mkdir(exist_ok=True)
    for number, data in enumerate(frames, 1):
        data.to_csv(directory / f"synthetic_{number}.csv", index=False, **how)
    return directory


def save(directory: Path, manifest: Manifest) -> Manifest:
    (directory / "manifest.json").write_text(json.dumps(plain(manifest)), encoding="utf-8")
    return manifest


def known(manifest: Manifest, missing: dict[str, list[str]]) -> Manifest:
    """Return the manifest with missing codes of variables."""
    entries = [
        entry.model_copy(update={"missing": tuple(missing.get(entry.name, ()))})
        for entry in manifest.variables
    ]
    return manifest.model_copy(update={"variables": tuple(entries)})


def changed(manifest: Manifest, **changes: Any) -> Manifest:
    """Return the manifest with other values, of mappings only some."""
    content = plain(manifest)
    for key, value in changes.items():
        content[key] = content[key] | value if isinstance(value, dict) else value
    return Manifest.model_validate(content)


def paths_of(directory: Path) -> list[Path]:
    return sorted(directory.glob("synthetic_*"))


def variables(content: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {entry["name"]: entry for entry in content["variables"]}


def codebook(directory: Path, chain: Sequence[StepEntry] = STEPS, **config: Any) -> dict[str, Any]:
    """Return the codebook of a directory's datasets, made by a chain and a configuration."""
    return book(manifest_of(directory, chain, **config), paths_of(directory))


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two datasets and their manifest, which no test changes."""
    directory = tmp_path_factory.mktemp("two") / "run"
    make_run(directory)
    return directory


@pytest.fixture
def run(tmp_path: Path) -> Path:
    make_run(tmp_path / "run")
    return tmp_path / "run"


def test_values_are_those_of_the_synthetic_files(two: Path) -> None:
    content = codebook(two)
    both = pd.concat([frame(1), frame(2)])
    by_name = variables(content)
    assert list(by_name) == list(both.columns)
    assert content["datasets"]["rows"] == [40, 40]
    assert by_name["age"]["range"] == {"low": both["age"].min(), "high": both["age"].max()}
    assert by_name["age"]["decimals"] == 0
    pay = pd.to_numeric(both["pay"])
    assert by_name["pay"]["range"] == {"low": pay[pay > 0].min(), "high": pay.max()}
    assert by_name["pay"]["decimals"] == 2
    codes = {entry["code"]: entry["share"] for entry in by_name["pay"]["missing"]}
    assert codes == {"-8": 8 / 80, "": 2 / 80}
    born = by_name["born"]
    assert born["range"]["low"] == str(both["born"].min().date())
    assert born["range"]["high"] == str(both["born"].max().date())
    assert born["date_format"] == "%Y-%m-%d"
    shares = {entry["level"]: entry["share"] for entry in by_name["sex"]["levels"]}
    assert shares == both["sex"].value_counts(normalize=True).to_dict()
    assert [entry["level"] for entry in by_name["job"]["levels"]] == ["9", "10", "none", "some"]
    assert by_name["id"]["levels"] == []
    assert by_name["id"]["range"] is None
    assert by_name["id"]["made"]["how"] == "numbered"


def poisoned(manifest: Manifest) -> Manifest:
    """Put a marker wherever a manifest may hold something that is not for researchers."""
    bad = plain(manifest)
    bad |= {
        "created": MARK,
        "config_sha256": MARK,
        "data": {"origin": MARK, "sha256": MARK, "rows": 987651, "columns": 987652},
        "seed": 987653,
        "seed_of_fit": 987654,
        "m": 987655,
        "rows": 987656,
        "notes": [f"column {MARK!r}: 987657 levels of 1 column with fewer than 5 rows"],
        "seconds": {MARK: 987658.0},
        "python": MARK,
        "plugins": [MARK],
        "exceeded_limits": [MARK],
    }
    bad["packages"] |= {MARK: "1.0"}
    for entry in bad["files"]:
        entry["bytes"] = 987659
    bad["files"].append({"name": "checks.json", "sha256": MARK, "bytes": 1})
    for entry in bad["chain"]:
        entry["predictors"] = [*entry["predictors"], f"{MARK}_dropped"]
    for entry in bad["variables"]:
        entry["missing"] = ["-8", f"{MARK}_code"]
        entry["date_format"] = "%Y-%m-%d" if entry["kind"] == "date" else f"{MARK}_format"
    column = {"name": f"{MARK}_column", "kind": "categorical", "missing": [MARK]}
    bad["variables"].append(column | {"date_format": None})
    config = bad["config"]
    config |= {
        "seed": 987663,
        "data": {"path": MARK, "sql": {"url": MARK, "query": MARK}},
        "output": {"directory": MARK},
        "workers": 987664,
        "drop": [MARK],
        "checks": {"keys": [MARK], "target": MARK, "exclude": [{"target_level": MARK}]},
        "limits": {"cap": 987665},
        "visit_sequence": [MARK],
        "predictor_matrix": {MARK: [MARK]},
        "method": {MARK: MARK, "sex": MARK},
        "models": {"cart": {"path": MARK, "note": 987666}, MARK: {"min_leaf": 987667}},
        "keep": [MARK],
        "strata": [MARK],
        "rules": [
            {"if": f"{MARK} == 1", "then": {"sex": "f"}},
            {"if": "age > 1", "then": {MARK: "1"}},
        ],
        "forbid": [f"{MARK} == 1", f"not an expression {MARK} ("],
        MARK: MARK,
    }
    config["variables"] = {
        MARK: {"label": MARK, "level_labels": {MARK: MARK}, "levels": [MARK], "missing": [MARK]},
        "sex": {"options": {"path": MARK}, "note": MARK, "exclude": [MARK]},
        "double": {"derived": f"{MARK} * 2"},
        "born": {"kind": MARK, "predictors": [MARK], "decimals": 987668},
    }
    return Manifest.model_validate(bad)


def test_nothing_confidential_reaches_the_files(run: Path, tmp_path: Path) -> None:
    """Every field that is not on the allow list holds a marker; none comes out."""
    manifest = save(run, poisoned(manifest_of(run)))
    (run / "checks.json").write_text(json.dumps({"summary": {MARK: 987670}}))
    for path in write_run_codebook(run, tmp_path / "out"):
        text = path.read_text(encoding="utf-8")
        assert MARK not in text
        assert "98765" not in text
        assert "98766" not in text
        for entry in manifest.files:
            assert entry.sha256 not in text


def test_confidential_numbers_change_nothing(run: Path, tmp_path: Path) -> None:
    manifest = save(run, manifest_of(run, output={}))
    first = [path.read_bytes() for path in write_run_codebook(run, tmp_path / "first")]
    other = changed(
        manifest,
        seed=99,
        created="2027-01-01",
        notes=["7 rows break rule 1"],
        seconds={"fit": 9.0},
        config_sha256="f" * 64,
        exceeded_limits=["cap 0.4"],
        data={"origin": "other.csv", "sha256": "e" * 64, "rows": 123456, "columns": 99},
        config={"seed": 99, "limits": {"cap": 0.5}, "data": {"path": "secret.csv"}},
    )
    save(run, other)
    second = [path.read_bytes() for path in write_run_codebook(run, tmp_path / "second")]
    assert first == second


def test_original_rows_appear_only_if_the_steward_publishes_them(two: Path) -> None:
    published = changed(manifest_of(two), data={"rows": 4711})
    assert book(published, paths_of(two))["analysis"]["n"] == 4711
    config = {key: value for key, value in published.config.items() if key != "output"}
    analysis = book(published.model_copy(update={"config": config}), paths_of(two))["analysis"]
    assert analysis["n"] is None
    assert "4711" not in json.dumps(analysis)


def test_codes_and_levels_that_occur_only_in_the_manifest_stay_there(two: Path) -> None:
    manifest = known(manifest_of(two), {"pay": ["-8", "-7"], "sex": ["m", "unknown"]})
    by_name = variables(book(manifest, paths_of(two)))
    assert {entry["code"] for entry in by_name["pay"]["missing"]} == {"-8", ""}
    assert [entry["code"] for entry in by_name["sex"]["missing"]] == ["m"]
    assert [entry["level"] for entry in by_name["sex"]["levels"]] == ["f"]


def test_unused_categories_of_typed_files_do_not_appear(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    directory.mkdir()
    data = frame(1)
    data["sex"] = pd.Categorical(data["sex"], categories=["f", "m", MARK])
    data["pay"] = pd.to_numeric(data["pay"])
    data["born"] = data["born"] + pd.Timedelta(hours=1)
    data.to_parquet(directory / "synthetic_1.parquet")
    manifest = known(manifest_of(directory), {"pay": ["-8.0", ""]})
    content = book(manifest, paths_of(directory))
    assert MARK not in json.dumps(content)
    by_name = variables(content)
    assert by_name["pay"]["range"]["low"] > 0
    assert {entry["code"] for entry in by_name["pay"]["missing"]} == {"-8", ""}
    assert by_name["born"]["range"]["low"].endswith("T01:00:00")
    assert content["datasets"]["format"]["type"] == "parquet"
    assert "read_parquet" in content["analysis"]["code"]


def test_the_example_runs_as_it_stands(two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = codebook(two)["analysis"]
    assert (analysis["rule"], analysis["formula"]) == ("simple", "T = U (k/n + 1/m)")
    result = executed(analysis["code"], two, monkeypatch)
    means = [frame(seed)["age"].mean() for seed in (1, 2)]
    errors = [frame(seed)["age"].var() / 40 for seed in (1, 2)]
    assert result.estimate == pytest.approx([np.mean(means)])
    assert result.total == pytest.approx([np.mean(errors) * (1 + 1 / 2)])


def test_every_name_in_the_sentences_is_a_fact_of_a_release(two: Path) -> None:
    facts = facts_of(manifest_of(two).public)
    named = {*release_facts(facts, read_released(paths_of(two), facts))}
    named |= {"replicates", "replicate_method", "scale", "raked"}
    named |= {"evolved", "mutants", "files", "chain", "moves", "drawn_after"}
    named |= {"for_categories", "in_categories", "published_periods"}  # of extensions
    named |= {"private", "epsilon", "delta", "rho"}
    named |= {"rule", "formula", "applies", "single", "between", "sizes", "many_proper", "fully"}
    parts = [sentences()[part] for part in ("narrow", "analysis", "synthesis", "lead")]
    for caution in sentences()["cautions"]:
        parts.append([{caution.get("when", "modelled"): caution["title"]}, *caution["text"]])
    entries = [one if isinstance(one, dict) else {"": one} for part in parts for one in part]
    for when, text in (pair for entry in entries for pair in entry.items()):
        used = {name for _, name, _, _ in Formatter().parse(text) if name}
        used |= {name.removeprefix("not ") for name in when.split(", ") if name}
        assert used <= named, text


def test_odd_text_files_are_read_and_described(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = pd.DataFrame({"größe": [1.5, 2.25] * 5, "ort": ["Köln", "Bonn"] * 5})
    directory = write(tmp_path, data, sep=";", decimal=",", encoding="latin-1")
    chain = [step("größe", "numeric", "sample"), step("ort", "categorical", "cart", "größe")]
    manifest = manifest_of(directory, chain, data={"encoding": "latin-1", "delimiter": ";"})
    content = book(changed(manifest, data={"rows": 10}), paths_of(directory))
    layout = content["datasets"]["format"]
    assert (layout["delimiter"], layout["decimal_mark"]) == (";", ",")
    assert variables(content)["größe"]["range"] == {"low": 1.5, "high": 2.25}
    executed(content["analysis"]["code"], directory, monkeypatch)


def test_datasets_that_are_not_as_the_manifest_says(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    manifest = make_run(directory)
    frame(2).drop(columns="age").to_csv(directory / "synthetic_2.csv", index=False)
    with pytest.raises(DataError, match="other columns"):
        book(manifest, paths_of(directory))
    wrong = frame(1).assign(pay="secret words", born="never").drop(columns="double")
    wrong.to_csv(directory / "synthetic_1.csv", index=False)
    with pytest.raises(DataError) as caught:
        book(manifest, paths_of(directory)[:1])
    problems = "\n".join(caught.value.problems)
    for name in ("'pay'", "'born'", "'double'"):
        assert name in problems
    assert "secret" not in problems


@pytest.mark.parametrize("name", ["../elsewhere/synthetic_2.csv", "..\\synthetic_2.csv"])
def test_a_path_in_the_manifest_is_refused_and_not_passed_over(run: Path, name: str) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["files"][1]["name"] = name
    (run / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(DataError) as caught:
        run_book(run)
    (problem,) = caught.value.problems
    assert problem.startswith(f"{run / 'manifest.json'}: files.1.name: {name!r} is a path")


def test_datasets_that_are_left_out_changed_or_missing_are_refused(run: Path) -> None:
    save(run, changed(manifest_of(run), files=manifest_of(run).files[:1]))
    with pytest.raises(DataError, match="does not list 'synthetic_2.csv', which is in the"):
        run_book(run)
    save(run, manifest_of(run))
    (run / "synthetic_1.csv").unlink()
    with (run / "synthetic_2.csv").open("a") as file:
        file.write("41,f,20,none,1.00,2000-02-28,40\n")
    with pytest.raises(DataError) as caught:
        run_book(run)
    assert [p.split(": ")[1][:10] for p in caught.value.problems] == ["is missing", "differs fr"]
