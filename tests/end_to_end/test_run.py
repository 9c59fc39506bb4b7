"""The main job from outside: files, manifest, checks, exit codes, and the same bytes."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from synthesizer import Synthesizer, run
from synthesizer.jobs.run import RunResult
from tests.end_to_end.commands import NO_HALVES, call, hashes, persons_frame, write_yaml

VARIABLES = {
    "person_id": {"kind": "id"},
    "age": {"kind": "numeric"},
    "income": {"kind": "numeric", "missing": ["-8"]},
}
CHECKS = {"keys": ["sex", "age", "region"], "target": "marital"}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "persons.csv"
    persons_frame().to_csv(path, index=False)
    return path


def config_for(folder: Path, source: Path, /, **changes: Any) -> Path:
    content = {
        "data": {"path": str(source)},
        "output": {"directory": "out"},
        "seed": 7,
        "workers": 1,
        "variables": VARIABLES,
        "checks": CHECKS,
    }
    return write_yaml(folder / "run.yaml", content | changes)


def made(folder: Path, source: Path, /, **changes: Any) -> RunResult:
    """Run without checks, report and codebook, unless they are asked for."""
    output = {"directory": "out", "report": False, "codebook": False, **changes.pop("output", {})}
    return run(config_for(folder, source, **({"checks": False, "output": output} | changes)))


def frames(result: RunResult) -> list[pd.DataFrame]:
    return [pd.read_csv(path) for path in result.datasets]


def test_outputs_manifest_and_checks(data: Path, tmp_path: Path) -> None:
    result = call("run", config_for(tmp_path, data, m=2), "--all")
    assert result.exit_code == 0, result.output
    out = tmp_path / "out"
    names = [
        "checks.json", "codebook.html", "codebook.json", "manifest.json", "report.html",
        "synthetic_1.csv", "synthetic_2.csv",
    ]  # fmt: skip
    assert sorted(path.name for path in out.iterdir()) == names
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    manifest = json.loads((out / "manifest.json").read_text())
    for entry in manifest["files"]:
        content = (out / entry["name"]).read_bytes()
        assert entry["sha256"] == hashlib.sha256(content).hexdigest()
        assert entry["bytes"] == len(content)
    assert {entry["name"] for entry in manifest["files"]} == set(names) - {
        "manifest.json",
        "report.html",  # made from the others, at any time
    }
    assert manifest["data"]["sha256"] == hashlib.sha256(data.read_bytes()).hexdigest()
    assert (manifest["seed"], manifest["m"], manifest["rows"]) == (7, 2, 300)
    assert [step["variable"] for step in manifest["chain"]] == [
        "sex", "age", "marital", "region", "income",
    ]  # fmt: skip
    assert manifest["chain"][1]["predictors"] == ["sex"]
    assert {"microdata-synthesizer", "numpy", "pyarrow"} <= set(manifest["packages"])
    assert manifest["config"]["seed"] == 7
    checks = json.loads((out / "checks.json").read_text())
    summary = checks["summary"]
    assert checks["results"]["failed"] == {}
    assert None not in {summary[name] for name in ("mean_two_way", "pmse_ratio", "cap", "disco")}
    assert str(out) in result.output


def test_datasets_look_like_the_source(data: Path, tmp_path: Path) -> None:
    """Of one file of CSV and of a directory of parts in parquet; without pages, if not wanted."""
    original = pd.read_csv(data)
    result = made(tmp_path, data)
    (synthetic,) = frames(result)
    assert list(synthetic.columns) == list(original.columns)
    assert list(synthetic.dtypes) == list(original.dtypes)
    assert synthetic["person_id"].tolist() == list(range(1, 301))
    assert set(synthetic["sex"]) == {"f", "m"}
    assert (synthetic["income"] == -8).any()
    assert not synthetic.equals(original)
    names = sorted(path.name for path in result.directory.iterdir())
    assert names == ["checks.json", "manifest.json", "synthetic_1.csv"]
    (parts := tmp_path / "parts").mkdir()
    original.iloc[:100].to_parquet(parts / "a.parquet", index=False)
    original.iloc[100:].to_parquet(parts / "b.parquet", index=False)
    of_parts = made(tmp_path, parts, output={"directory": "parts_out"})
    pd.testing.assert_frame_equal(pd.read_parquet(of_parts.datasets[0]), synthetic)


def test_exit_code_three_and_outputs_for_a_limit_that_is_exceeded(
    data: Path, tmp_path: Path
) -> None:
    limits = {"cap": 0.0, "mean_two_way": 1000}
    config = config_for(tmp_path, data, limits=limits, checks=CHECKS | NO_HALVES)
    result = call("run", config)
    assert result.exit_code == 3
    assert "limits.cap" in result.output
    assert "limits.mean_two_way" not in result.output
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert len(manifest["exceeded_limits"]) == 1


def test_an_existing_result_is_refused_and_replaced_on_demand(data: Path, tmp_path: Path) -> None:
    config = config_for(tmp_path, data, checks=False)
    assert call("run", config).exit_code == 0
    before = hashes(tmp_path / "out")
    refused = call("run", config, "--seed", 8)
    assert (refused.exit_code, "--overwrite" in refused.output) == (2, True)
    assert hashes(tmp_path / "out") == before
    assert call("run", config, "--seed", 8, "--overwrite", "-q").output == ""
    assert hashes(tmp_path / "out") != before


def test_options_replace_keys_of_the_file(data: Path, tmp_path: Path) -> None:
    config = config_for(tmp_path, data)
    words = ["-m", 2, "--set", "rows=40", "--seed", 5, "--out", tmp_path / "other", "--workers", 1]
    assert call("run", config, *words, "--no-checks").exit_code == 0
    manifest = json.loads((tmp_path / "other" / "manifest.json").read_text())
    assert (manifest["m"], manifest["rows"], manifest["seed"]) == (2, 40, 5)
    assert [len(pd.read_csv(p)) for p in sorted((tmp_path / "other").glob("*.csv"))] == [40, 40]
    checks = json.loads((tmp_path / "other" / "checks.json").read_text())
    assert (checks["results"]["risk"]["scenarios"], checks["summary"]["cap"]) == ([], None)
    assert not (tmp_path / "out").exists()


def test_datasets_are_nested_for_any_number_of_workers(data: Path, tmp_path: Path) -> None:
    one = made(tmp_path, data)
    three = made(tmp_path, data, m=3, workers=2, output={"directory": "three"})
    same = made(tmp_path, data, m=3, workers=1, output={"directory": "same"})
    assert hashes(one.directory)["synthetic_1.csv"] == hashes(three.directory)["synthetic_1.csv"]
    assert hashes(three.directory) == hashes(same.directory)
    assert len(set(hashes(three.directory).values())) == 3


def test_partial_synthesis_keeps_rows_aligned(data: Path, tmp_path: Path) -> None:
    original = pd.read_csv(data)
    result = made(tmp_path, data, keep=["sex", "region"], strata=["sex"], m=2)
    for synthetic in frames(result):
        assert synthetic["sex"].equals(original["sex"])
        assert synthetic["region"].equals(original["region"])
        assert not synthetic["age"].equals(original["age"])


def test_strata_rows_and_proper(data: Path, tmp_path: Path) -> None:
    original = pd.read_csv(data)
    result = made(tmp_path, data, strata=["sex"], rows=600, proper=True, m=2)
    first, second = frames(result)
    expected = 2 * (original["sex"] == "f").sum()
    assert len(first) == len(second) == 600
    for frame in (first, second):  # drawn, not exact: exact sizes would be published
        assert abs((frame["sex"] == "f").sum() - expected) < 60
    assert not first.equals(second)


def test_rules_forbids_derived_and_drop(data: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(data)
    frame["double"] = 2 * frame["age"]
    source = tmp_path / "more.csv"
    frame.to_csv(source, index=False)
    result = made(
        tmp_path,
        source,
        variables=VARIABLES | {"double": {"kind": "numeric", "derived": "age * 2"}},
        rules=[{"if": "age < 15", "then": {"income": "-8"}}],
        forbid=["age < 18 and marital == 'married'", "region == 'west' and sex == 'f'"],
        drop=["person_id"],
        rows=2000,
    )
    (synthetic,) = frames(result)
    assert "person_id" not in synthetic
    assert (synthetic["double"] == 2 * synthetic["age"]).all()
    assert (synthetic["income"][synthetic["age"] < 15] == -8).all()
    assert not ((synthetic["age"] < 18) & (synthetic["marital"] == "married")).any()
    assert not ((synthetic["region"] == "west") & (synthetic["sex"] == "f")).any()
    assert any("rule on 'income'" in note for note in result.manifest.notes)


@pytest.mark.parametrize(
    "options",
    [
        {"strata": ["sex"], "rows": 50},
        {"default_method": "parametric", "visit_sequence": ["age", "sex"], "proper": True},
    ],
    ids=str,
)
def test_library_and_command_give_the_same_data(
    options: dict[str, Any], data: Path, tmp_path: Path
) -> None:
    expected = frames(made(tmp_path, data, m=2, **options))
    synthesizer = Synthesizer(variables=VARIABLES, seed=7, m=2, **options)
    drawn = synthesizer.fit(pd.read_csv(data)).generate()
    for one, other in zip(expected, drawn, strict=True):
        pd.testing.assert_frame_equal(one, other)


def test_fit_and_generate_give_the_bytes_of_run(data: Path, tmp_path: Path) -> None:
    result = made(tmp_path, data, m=2)
    model, config = tmp_path / "persons.model", tmp_path / "run.yaml"
    assert call("fit", config, "-o", model).exit_code == 0
    assert model.stat().st_mode & 0o777 == 0o600
    assert call("generate", model, "-m", 2, "-o", tmp_path / "drawn").exit_code == 0
    assert hashes(tmp_path / "drawn") == hashes(result.directory)
    manifest = json.loads((tmp_path / "drawn" / "manifest.json").read_text())
    assert (manifest["seed"], manifest["seed_of_fit"], manifest["m"]) == (7, 7, 2)
    assert call("fit", config, "-o", model).exit_code == 2
    assert call("generate", model, "-o", tmp_path / "drawn").exit_code == 2


def test_the_command_in_a_process_of_its_own(data: Path, tmp_path: Path) -> None:
    checks = CHECKS | NO_HALVES | {"propensity": False}
    config = config_for(tmp_path, data, m=2, workers=2, checks=checks, random_key="none")
    code = "from synthesizer.cli import main; main()"
    words = [sys.executable, "-W", "error", "-c", code, "run", str(config)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(line.endswith(" s") for line in done.stderr.splitlines())  # phases, no warning
    inside = made(tmp_path, data, m=2, random_key="none", output={"directory": "inside"})
    assert hashes(tmp_path / "out") == hashes(inside.directory)


def test_only_the_datasets_are_readable_by_others(data: Path, tmp_path: Path) -> None:
    result = made(tmp_path, data)
    for name in ("checks.json", "manifest.json"):
        path = result.directory / name
        assert path.stat().st_mode & 0o777 == 0o600
        assert "confidential" in json.loads(path.read_text())


def test_the_half_split_uses_the_rows_of_the_release(data: Path, tmp_path: Path) -> None:
    def fitted_half(name: str, rows: int | None) -> float:
        (tmp_path / name).mkdir()
        checks = CHECKS | NO_HALVES | {"differential_confidentiality": True, "suda": False}
        result = made(tmp_path / name, data, rows=rows, checks=checks)
        mean = result.checks.risk.main.differential.comparisons[0].mean_a
        assert mean is not None
        return mean

    assert fitted_half("few", 20) < fitted_half("all", None)  # fewer rows match fewer keys
