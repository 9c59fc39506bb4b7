"""Files of households: rules that hold, units of the checks, bad input, the same bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from tests.end_to_end.commands import call, hashes, write_yaml
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
    """Of members in any order, whose households are texts; a saved model draws the same."""
    frame = household_frame(400).assign(hhid=lambda f: "H" + f["hhid"].astype(str))
    frame.loc[frame.index[frame["relation"] == 3][:8], "age"] = 60  # what the rule forbids
    write(tmp_path, frame.sample(frac=1.0, random_state=1), **RULES)
    made = synthetic(tmp_path, "--workers", "1")
    assert problems_of(made) == []
    assert list(made.columns) == list(frame.columns)
    assert made["hhid"].nunique() == 400
    assert (made.groupby("hhid", sort=False)["relation"].first() == 1).all()
    assert set(made["hhsize"]) <= set(frame["hhsize"])
    first = hashes(tmp_path / "out")
    synthetic(tmp_path, "--workers", "2")
    assert hashes(tmp_path / "out") == first
    model = tmp_path / "model.synth"
    assert call("fit", tmp_path / "run.yaml", "--out", model).exit_code == 0
    assert call("generate", model, "--out", tmp_path / "again", "-m", "1").exit_code == 0
    assert hashes(tmp_path / "again") == first
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


def test_init_finds_head_and_size_and_proposes_rules(tmp_path):
    household_frame(150).to_csv(tmp_path / "data.csv", index=False)
    path = tmp_path / "run.yaml"
    result = call("init", tmp_path / "data.csv", "--household", "hhid", "--out", path)
    assert result.exit_code == 0, result.output
    text = path.read_text(encoding="utf-8")
    content = yaml.safe_load(text)
    assert content["household"] == {"id": "hhid", "size": "hhsize", "head": "relation == 1"}
    assert "# at_most: {relation == 2: 1}" in text
    assert "# order: [relation, -age]" in text
    assert "# forbid: relation == 3 and age > `head.age` - 12" in text
    assert not any(name.startswith("head.") for name in content["checks"]["keys"])
    assert call("plan", path).exit_code == 0


def test_a_number_of_members_that_init_takes_for_the_head_runs(tmp_path):
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 5, 80)
    frame = pd.DataFrame({"hid": np.repeat(np.arange(80), sizes)})
    frame["line"] = frame.groupby("hid").cumcount() + 1
    frame["age"], frame["sex"] = (
        rng.integers(18, 90, len(frame)),
        rng.choice(["f", "m"], len(frame)),
    )
    frame.to_csv(tmp_path / "data.csv", index=False)
    path = tmp_path / "run.yaml"
    assert call("init", tmp_path / "data.csv", "--household", "hid", "--out", path).exit_code == 0
    assert 'head: "line == 1"' in path.read_text(encoding="utf-8")
    result = call("run", path, "--no-checks")
    assert result.exit_code == 0, result.output
    made = pd.read_csv(next(tmp_path.glob("**/synthetic_1.csv")))
    assert (made["line"] == made.groupby("hid").cumcount() + 1).all()


def test_a_household_of_sixty_strata_and_kept_variables_work(tmp_path):
    frame = household_frame(300)
    large = frame.iloc[[0] * 60].assign(hhid=5, hhsize=60, relation=[1, *[3] * 59], age=30)
    frame = pd.concat([frame, large])
    variables = {"variables": RULES["variables"], "household": HOUSEHOLD}
    write(tmp_path, frame, **variables, strata=["region"], min_stratum_rows=10)
    result = call("plan", tmp_path / "run.yaml")
    assert "1 household" in result.output
    made = synthetic(tmp_path)
    assert {problem.partition(": ")[2] for problem in problems_of(made)} <= {"ages", "spouses"}
    assert made.groupby("hhid").size().max() < 60
    write(tmp_path, household_frame(200), **variables, keep=["region"])
    made = synthetic(tmp_path)
    of_heads = made[made["relation"] == 1]["region"].tolist()
    assert of_heads == household_frame(200).drop_duplicates("hhid")["region"].tolist()


def test_broken_rules_are_told_with_their_rows_and_households(tmp_path):
    frame = household_frame(60)
    frame.loc[frame.index[frame["relation"] == 3][1:3], "age"] = 90
    frame.loc[frame.index[frame["relation"] == 3][:1], "relation"] = 2
    write(tmp_path, frame, **RULES, on_violation="error")
    result = call("plan", tmp_path / "run.yaml")
    words = "1 household of the data has more than 1, in 2 rows (numbers 2, 3)"
    assert result.exit_code == 2
    assert words in " ".join(result.output.split())
    assert "2 confidential rows of 2 households" in " ".join(result.output.split())


CHECKED = {
    "checks": {
        "keys": ["age", "sex"],
        "target": "education",
        "scenarios": [{"keys": ["region", "household.size", "head.age"], "target": "income"}],
    }
}


def test_risk_and_utility_of_files_know_households(tmp_path):
    path, made = write(tmp_path, household_frame(120), **RULES, **CHECKED), tmp_path / "made.csv"
    household_frame(100, seed=4).sample(frac=1.0, random_state=1).to_csv(made, index=False)
    household_frame(90, seed=5).to_csv(tmp_path / "control.csv", index=False)
    files = [tmp_path / "data.csv", made, "--config", path, "--out"]
    out = tmp_path / "found.json"
    checked = call("check", *files, out, "--control", tmp_path / "control.csv")
    assert checked.exit_code == 0, checked.output
    results = json.loads(out.read_text(encoding="utf-8"))["results"]
    found = results["risk"]
    assert found["units"] == "persons"
    _, of_households = found["scenarios"]
    assert of_households["cap"]["n"] == 120
    found = results["utility"]
    assert "head.age" not in json.dumps(found["tables"])  # what follows is no variable of its own
    torn = household_frame(100, seed=4).assign(relation=3)
    torn.to_csv(made, index=False)
    result = call("check", *files, out, "--overwrite", "--all")
    assert "100 households without a head" in " ".join(result.output.split())
    torn.drop(columns="hhid").to_csv(made, index=False)
    result = call("check", *files, out, "--overwrite")
    assert result.exit_code == 2
    assert "column 'hhid' is missing" in " ".join(result.output.split())
