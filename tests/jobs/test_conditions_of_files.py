"""Conditions in files, in Python, on the command line and in a YAML."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from synthesizer import Synthesizer, run
from synthesizer.cli.arguments import settings_in
from synthesizer.cli.commands import app
from synthesizer.data.errors import ConfigError, ModelError, Problems
from synthesizer.jobs.run import fit

WHERE = "sex == 'f' and age >= 60"


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    sex, age = rng.choice(["f", "m"], 600), rng.integers(20, 90, 600)
    pay = np.where(rng.random(600) < 0.1, -8, 1000 + 20 * age + 300 * (sex == "m"))
    return pd.DataFrame({"id": range(600), "sex": sex, "age": age, "pay": pay})


@pytest.fixture(scope="module")
def fitted(people: pd.DataFrame) -> Synthesizer:
    declared = {"id": {"kind": "id"}, "pay": {"missing": ["-8"]}}
    return Synthesizer(seed=1, random_key="none", workers=1, variables=declared).fit(people)


def test_the_command_line_gives_the_frames_of_python(fitted: Synthesizer, tmp_path: Path) -> None:
    model, given, margins = tmp_path / "a.model", tmp_path / "given.csv", tmp_path / "sex.csv"
    fitted.save(model)
    frame = pd.DataFrame({"sex": ["f", None, "m"], "age": [70, 31, None], "pay": [None, -8, None]})
    given.write_text("sex,age,pay\nf,70,\n,31,-8\nm,,\n")
    margins.write_text("sex,count\nf,30\nm,20\n")
    for name, typed, options in (
        ("given", ["--given", str(given), "--rows", "9"], {"given": frame, "rows": 9}),
        ("where", ["--where", WHERE, "--rows", "50"], {"where": WHERE, "rows": 50}),
        ("margins", ["--margins", str(margins)], {"margins": [margins]}),
    ):
        out = tmp_path / name
        done = CliRunner().invoke(app, ["generate", str(model), "-o", str(out), *typed])
        assert done.exit_code == 0, done.output
        with (
            pytest.warns(UserWarning, match="Rare conditions") if name == "given" else np.errstate()
        ):
            (made,) = fitted.generate(**options)
        pd.testing.assert_frame_equal(pd.read_csv(out / "synthetic_1.csv"), made, check_dtype=False)
        manifest = json.loads((out / "manifest.json").read_text())
        assert manifest["rows"] == len(made)
        assert manifest["conditions"]["datasets"][0]["candidates"] > 0
    rows = pd.read_csv(tmp_path / "given" / "synthetic_1.csv")
    assert (rows["age"][::3] == 70).all()
    assert (rows["pay"][1::3] == -8).all()
    assert (rows["sex"][2::3] == "m").all()


def test_a_run_has_conditions_and_counts_rare_ones(people: pd.DataFrame, tmp_path: Path) -> None:
    data, given = tmp_path / "people.csv", tmp_path / "given.csv"
    people.to_csv(data, index=False)
    given.write_text("sex,age\nf,70\nm,\nm,\n")
    config = {
        "data": {"path": str(data)}, "seed": 1, "random_key": "none", "workers": 1,
        "conditions": {"given": str(given)}, "rows": 60, "checks": {"attacks": False},
        "output": {"directory": str(tmp_path / "made")},
    }  # fmt: skip
    with pytest.raises(ModelError, match="a saved model has none"):
        fit(config)
    result = run(config)
    rows = pd.read_csv(result.datasets[0])
    assert rows["sex"].tolist() == ["f", "m", "m"] * 20
    assert (rows["age"][::3] == 70).all()
    (note,) = (note for note in result.manifest.notes if note.startswith("Rare conditions"))
    n = int(((people["sex"] == "f") & (people["age"] == 70)).sum())
    assert 0 < n < 20
    assert "1 of 2 conditions" in note
    assert "values of sex, age were given" in result.manifest.after[0]
    assert "Rare conditions" in (tmp_path / "made" / "report.html").read_text()
    assert result.checks is not None
    assert result.checks.risk.conditions == ((0, 1, 0, 1) if n < 5 else (0, 0, 1, 1))
    tests = {e.key: e.word for line in result.verdict.lines for e in line.evidence}
    assert tests["conditions"] == "unclear"
    assert "regressions_beyond" not in tests
    assert tests["rare_conditions"] == ("fail" if n < 5 else "unclear")


def test_problems_come_before_any_draw(
    fitted: Synthesizer, people: pd.DataFrame, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="id") as error:
        fitted.generate(given=pd.DataFrame({"id": [1], "agee": [3]}), where="1 +")
    assert len(error.value.problems) == 3
    with pytest.raises(ModelError, match="where"), pytest.warns(UserWarning, match="1 for none"):
        fitted.generate(where="age > 500", rows=2)
    data = tmp_path / "people.csv"
    people.to_csv(data, index=False)
    config = {"data": {"path": str(data)}, "strata": ["sex"], "conditions": {"where": "agee > 3"}}
    with pytest.raises(ConfigError) as error:
        run({**config, "output": {"directory": str(tmp_path / "no")}})
    assert len(error.value.problems) == 2
    assert not (tmp_path / "no").exists()


def test_paths_of_margins_are_absolute_on_the_command_line() -> None:
    made = settings_in(["conditions.margins=[a.csv, /b.csv]", "m=2"], Problems())
    assert made == {"conditions": {"margins": [str(Path("a.csv").absolute()), "/b.csv"]}, "m": 2}
