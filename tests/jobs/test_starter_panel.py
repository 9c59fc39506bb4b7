from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthesizer import load_config, run
from synthesizer.data.errors import ConfigError
from synthesizer.jobs.starter import StarterOptions, panel_config, write_starter
from tests.end_to_end.commands import NO_HALVES, call
from tests.end_to_end.test_panel import YEARS, long_frame, wide_frame

OUTPUT = {"directory": "out", "report": False, "codebook": False}
OPTIONS = {"m": 1, "workers": 1, "output": OUTPUT}


def starter(folder: Path, frame: pd.DataFrame, **panel: object) -> Path:
    """Write a file and the configuration to begin with, and return its path."""
    frame.to_csv(folder / "people.csv", index=False)
    options = StarterOptions(panel=panel_config(**panel))  # type: ignore[arg-type]
    return write_starter(
        folder / "people.csv", folder / "people.yaml", options=options, overwrite=False
    ).path


def test_the_long_form_runs_without_editing(tmp_path: Path) -> None:
    frame = long_frame(80)
    frame.to_csv(tmp_path / "people.csv", index=False)
    path = tmp_path / "people.yaml"
    options = ["--person", "id", "--time", "year", "--set", "panel.career=grade"]
    result = call("init", tmp_path / "people.csv", "-o", path, *options)
    assert result.exit_code == 0, result.output
    config = load_config(path)
    assert (config.panel.person, config.panel.time, config.panel.career) == ("id", "year", "grade")
    assert str(config.variables["id"].kind) == "id"
    assert str(config.variables["grade"].kind) == "categorical"  # states, though numbers
    assert "@" in path.read_text().split("checks:")[1]  # keys of persons, at a period
    made = pd.read_csv(run(path, overrides=OPTIONS | {"checks": NO_HALVES}).datasets[0])
    assert list(made.columns) == list(frame.columns)
    assert made["id"].nunique() == 80


def test_the_wide_form_runs_without_editing(tmp_path: Path) -> None:
    columns = ["id", "sex", *(f"{kind}{t}" for kind in "sp" for t in range(1, 5))]
    frame = wide_frame(90)[columns].replace({"a": "1", "b": "2"})  # would be taken for numbers
    wide = ["state=s1..s4", "pay=p1, p2,p3,p4"]
    path = starter(tmp_path, frame, wide=wide, career="state", absent=["gone", "-1"])
    config = load_config(path)
    assert config.panel.wide == {"state": ("s1..s4",), "pay": ("p1", "p2", "p3", "p4")}
    assert config.panel.absent == ("gone", "-1")
    assert {"sex", "state", "pay"} <= {*config.variables}
    assert str(config.variables["state"].kind) == "categorical"
    made = pd.read_csv(run(path, overrides=OPTIONS | {"checks": False}).datasets[0])
    assert list(made.columns) == list(frame.columns)


def test_periods_that_are_words_get_an_order(tmp_path: Path) -> None:
    levels = ("2001Q4", "2002Q1", "2002Q2", "2002Q10")
    frame = long_frame()
    frame["quarter"] = frame.pop("year").map(dict(zip(YEARS, levels, strict=True)))
    path = starter(tmp_path, frame, person="id", time="quarter", career="grade")
    config = load_config(path)
    assert str(config.variables["quarter"].kind) == "ordered"
    assert config.variables["quarter"].levels == levels
    assert "check that levels are in order of time" in path.read_text()
    made = pd.read_csv(run(path, overrides=OPTIONS | {"checks": False}).datasets[0])
    assert set(made["quarter"]) <= set(levels)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"person": "who"}, "needs both person and time"),
        ({"wide": ["=jan"]}, "VARIABLE=FIRST..LAST"),
        ({"wide": ["a=b..c"], "time": "t"}, "needs either"),
    ],
)
def test_options_that_do_not_fit_together(options: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        panel_config(**options)  # type: ignore[arg-type]


def test_a_period_that_follows_from_the_career_is_not_offered(tmp_path: Path) -> None:
    """A run cannot keep its pair with the career, which is drawn as a whole; others it can."""
    frame = long_frame(200)[["id", "year", "sex", "grade"]]
    frame["grade"] = np.where(frame["year"] < 1992, "early", "late")
    assert (
        "structural_zeros: auto" in starter(tmp_path, frame, person="id", time="year").read_text()
    )
    (tmp_path / "people.yaml").unlink()
    roles = {"person": "id", "time": "year", "career": "grade"}
    assert "structural_zeros: auto" not in starter(tmp_path, frame, **roles).read_text()
