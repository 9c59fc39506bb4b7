"""The codebook for researchers, written by a run and by the command."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.commands import call, persons_frame, write_yaml

FILES = ("codebook.html", "codebook.json")


def configure(where: Path, **more: Any) -> Path:
    frame = persons_frame(300)
    frame["region"] = frame["region"].mask(frame.index == 7, "only-one-person")
    frame.to_csv(where / "confidential_original.csv", index=False)
    content = {
        "data": {"path": "confidential_original.csv"},
        "output": {"directory": "out"},
        "seed": 314159265,
        "m": 2,
        "checks": False,
        "variables": {
            "income": {
                "missing": ["-8"],
                "label": "Income per year",
                "unit": "EUR",
                "level_labels": {-8: "refused"},
            },
            "sex": {"level_labels": {"f": "female", "m": "male"}},
        },
        "forbid": ["age < 18 and marital == 'married'"],
        **more,
    }
    return write_yaml(where / "run.yaml", content)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("codebook")
    result = call("run", configure(where), "-q")
    assert result.exit_code == 0, result.output
    return where


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def test_a_run_writes_it_beside_the_datasets(folder: Path) -> None:
    out = folder / "out"
    data_mode = stat.S_IMODE((out / "synthetic_1.csv").stat().st_mode)
    listed = [entry["name"] for entry in read(out / "manifest.json")["files"]]
    for name in FILES:
        assert stat.S_IMODE((out / name).stat().st_mode) == data_mode
        assert name in listed
    income = next(v for v in read(out / "codebook.json")["variables"] if v["name"] == "income")
    assert (income["label"], income["unit"]) == ("Income per year", "EUR")
    assert {code["code"]: code["label"] for code in income["missing"]} == {"-8": "refused"}


def test_the_command_writes_the_same(folder: Path) -> None:
    target = folder / "again"
    result = call("codebook", folder / "out", "-o", target)
    assert result.exit_code == 0, result.output
    for name in FILES:
        assert (target / name).read_bytes() == (folder / "out" / name).read_bytes()
    again = call("codebook", folder / "out", "-o", target)
    assert again.exit_code == 2
    assert "exists already" in again.output
    assert call("codebook", folder / "out", "-o", target, "--overwrite").exit_code == 0


def test_a_data_file_keeps_the_confidential_look(folder: Path) -> None:
    result = call("codebook", folder / "confidential_original.csv")
    assert result.exit_code == 0
    assert "CONFIDENTIAL" in result.output
    refused = call("codebook", folder / "confidential_original.csv", "-o", folder / "x")
    assert refused.exit_code == 2
    assert not (folder / "x").exists()


def test_a_saved_model_gives_datasets_with_a_codebook(tmp_path: Path) -> None:
    """The size of the original is not told when more or fewer records were drawn."""
    assert call("fit", configure(tmp_path), "-o", tmp_path / "m.model", "-q").exit_code == 0
    drawn = tmp_path / "drawn"
    words = ("generate", tmp_path / "m.model", "-m", 3, "--rows", 77, "-o", drawn, "-q")
    assert call(*words).exit_code == 0
    assert call("codebook", drawn, "-o", tmp_path / "book").exit_code == 0
    found = read(tmp_path / "book" / "codebook.json")
    assert found["datasets"]["rows"] == [77, 77, 77]
    assert found["analysis"]["n"] is None
    assert "300" not in json.dumps(found["analysis"])
