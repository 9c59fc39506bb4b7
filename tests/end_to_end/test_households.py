"""Files of households: rules that hold, units of the checks, bad input, the same bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from tests.end_to_end.commands import call, write_yaml
from tests.household_file import HOUSEHOLD, RULES, household_frame, problems_of


def write(folder: Path, frame: pd.DataFrame, **config: Any) -> Path:
    frame.to_csv(folder / "data.csv", index=False)
    content = {
        "data": {"path": "data.csv"},
        "output": {"directory": "out", "report": False},
        "seed": 1,
        "secret": "none",
        "checks": False,
    }
    return write_yaml(folder / "run.yaml", content | config)


def synthetic(folder: Path, *options: str) -> pd.DataFrame:
    result = call("run", folder / "run.yaml", "--overwrite", *options)
    assert result.exit_code == 0, result.output
    return pd.read_csv(folder / "out" / "synthetic_1.csv")


def test_composition_sizes_and_numbers(tmp_path):
    frame = household_frame(400)
    frame.loc[frame.index[frame["relation"] == 3][:8], "age"] = 60  # what the rule forbids
    write(tmp_path, frame, **RULES)
    made = synthetic(tmp_path, "--workers", "1")
    assert problems_of(made) == []
    assert list(made.columns) == list(frame.columns)
    assert made["hhid"].drop_duplicates().tolist() == list(range(1, 401))
    assert made["hhid"].is_monotonic_increasing
    assert (made.groupby("hhid")["relation"].first() == 1).all()
    assert set(made["hhsize"]) <= set(frame["hhsize"])
    first = (tmp_path / "out" / "synthetic_1.csv").read_bytes()
    synthetic(tmp_path, "--workers", "2")
    assert (tmp_path / "out" / "synthetic_1.csv").read_bytes() == first
    codebook = json.loads((tmp_path / "out" / "codebook.json").read_text(encoding="utf-8"))
    assert "head.age" not in json.dumps(codebook)
    assert "clusters by hhid" in json.dumps(codebook)


def test_without_the_rules_they_are_broken(tmp_path):
    """The control of the test above: the rules bind."""
    frame = household_frame(400)
    frame.loc[frame.index[frame["relation"] == 3][:8], "age"] = 60
    write(tmp_path, frame, household=HOUSEHOLD, variables=RULES["variables"])
    broken = problems_of(synthetic(tmp_path))
    assert any("ages" in problem for problem in broken)
    assert not any("heads" in problem or "size" in problem for problem in broken)


def test_saved_model_draws_the_same(tmp_path):
    write(tmp_path, household_frame(150), **RULES)
    made = synthetic(tmp_path)
    result = call("fit", tmp_path / "run.yaml", "--out", tmp_path / "model.synth")
    assert result.exit_code == 0, result.output
    result = call("generate", tmp_path / "model.synth", "--out", tmp_path / "again", "-m", "1")
    assert result.exit_code == 0, result.output
    again = pd.read_csv(next((tmp_path / "again").glob("synthetic_*.csv")))
    pd.testing.assert_frame_equal(made, again)
