"""Bad input: a clear answer, all problems at once, exit code 2, nothing written, no data shown."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.commands import call, write_yaml
from tests.plan.sources import GOOD, HIDDEN, text_of


def output_of(folder: Path, config: dict[str, Any], data: str | bytes, command: str = "run") -> str:
    """Run a command on bad input and return its output."""
    raw = data if isinstance(data, bytes) else data.encode()
    (folder / "data.csv").write_bytes(raw)
    full = {"data": {"path": "data.csv"}, "output": {"directory": "out"}, "seed": 1} | config
    path = write_yaml(folder / "run.yaml", full)
    before = sorted(entry.name for entry in folder.iterdir())
    result = call(command, path)
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    assert HIDDEN not in result.output
    assert sorted(entry.name for entry in folder.iterdir()) == before
    return result.output


DATA_CASES: dict[str, tuple[str | bytes, list[str]]] = {
    "one row": (f"a,b\n{HIDDEN},1\n", ["1 data row", "at least 2"]),
    "column twice": (f"a,b,a\n{HIDDEN},1,2\n{HIDDEN},2,3\n", ["columns 1, 3", "same name"]),
    "infinite": (text_of(age=["inf", *GOOD["age"][1:]]), ["'age'", "infinite", "row 1", "missing"]),
    "mixed types": (
        text_of(pay=[*GOOD["pay"][:-1], HIDDEN]),
        ["'pay'", "mixes numbers with text", "row 60", "missing"],
    ),
}


@pytest.mark.parametrize("case", DATA_CASES)
def test_problems_of_configuration_and_data_are_printed_together(case: str, tmp_path: Path) -> None:
    data, words = DATA_CASES[case]
    config = {
        "m": 0,
        "rowz": 5,
        "variables": {"town": {"method": "crat"}},
        "checks": {"keys": ["sex"], "target": "sex"},
        "default_method": "carrt",
    }
    output = output_of(tmp_path, config, data)
    for word in [*words, "m: ", "'rows'", "'crat'", "also a key", "'carrt'"]:
        assert word in output
    assert output_of(tmp_path, config, data, "plan") == output


def test_output_that_cannot_be_written(tmp_path: Path) -> None:
    output = output_of(tmp_path, {"output": {"directory": "data.csv/out"}}, text_of())
    assert "data.csv" in output
    assert "directory" in output
    output = output_of(tmp_path, {"output": {"directory": "run.yaml"}}, text_of())
    assert "run.yaml" in output
    assert "another directory" in output


def test_no_command_replaces_what_it_reads(tmp_path: Path) -> None:
    data, config = tmp_path / "data.csv", tmp_path / "run.yaml"
    data.write_text(text_of())
    write_yaml(config, {"data": {"path": "data.csv"}, "checks": False})
    before = {path: path.read_bytes() for path in (data, config)}
    for words in (
        ("init", data, "-o", data),
        ("fit", config, "-o", data),
        ("fit", config, "-o", config),
        ("fit", config, "-o", tmp_path),
    ):
        result = call(*words, "--overwrite")
        assert result.exit_code == 2, (words, result.output)
        assert "name " in result.output
        assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("text", ["", "m: 1\nm: 2\n", "1: 2\nnull: 3\ndata: {sample: fair}\n"])
def test_files_that_are_no_configuration(text: str, tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(text)
    for command in ("plan", "run"):
        result = call(command, path)
        assert result.exit_code == 2, result.output
        assert "error" in result.output
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.yaml"]


def test_generate_from_a_bad_model_or_into_a_bad_place(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(text_of())
    config = write_yaml(tmp_path / "run.yaml", {"data": {"path": "data.csv"}, "seed": 1})
    model, short = tmp_path / "model.syn", tmp_path / "short.syn"
    assert call("fit", config, "-o", model, "-q").exit_code == 0
    short.write_bytes(model.read_bytes()[:-9])
    for words in ([short], [tmp_path / "absent.syn"], [model, "--rows", 0], [model, "-m", 0]):
        result = call("generate", *words, "-o", tmp_path / "out")
        assert result.exit_code == 2, (words, result.output)
        assert HIDDEN not in result.output
        assert not (tmp_path / "out").exists()


CONSTANT = {"data": {"path": "data.csv"}, "output": {"directory": "out"}, "m": 2}


def test_a_pipe_is_no_input(tmp_path: Path) -> None:
    """A program that reads one may wait for ever."""
    (tmp_path / "data.csv").write_text(text_of(sex=["f", "m"] * 30))
    pipe, config = tmp_path / "pipe.json", write_yaml(tmp_path / "run.yaml", CONSTANT)
    os.mkfifo(pipe)
    for words in [
        ("plan", pipe),
        ("run", config, "--set", f"random_key.from={pipe}"),
        ("generate", pipe, "-o", tmp_path / "new"),
    ]:
        result = call(*words)
        assert result.exit_code == 2, result.output
        assert "a device or a pipe" in " ".join(result.output.split())


def test_a_file_without_any_difference_has_a_report(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,b\n" + "1,x\n" * 50)
    assert call("run", write_yaml(tmp_path / "run.yaml", CONSTANT)).exit_code == 0
    assert (tmp_path / "out" / "report.html").exists()
