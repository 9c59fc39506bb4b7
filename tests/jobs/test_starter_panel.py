from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from synthesizer import load_config, run
from synthesizer.cli.commands import app
from synthesizer.data.errors import ConfigError
from synthesizer.jobs.starter import panel_config, write_starter

OUTPUT = {"directory": "out", "report": False, "codebook": False}
OPTIONS = {"m": 1, "workers": 1, "output": OUTPUT}


def long_frame(n: int = 80, periods: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "who": np.repeat(np.arange(n) + 500, periods),
            "year": np.tile(np.arange(2001, 2001 + periods), n),
            "sex": np.repeat(rng.choice(["f", "m"], n), periods),
            "post": rng.integers(1, 4, n * periods),
            "pay": rng.normal(100, 9, n * periods).round(1),
        }
    )
    return frame[rng.random(len(frame)) < 0.9]


def wide_frame(n: int = 90) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], n)})
    for month in ("jan", "feb", "mar", "apr"):
        # the states of April alone would be taken for numbers
        frame[month] = rng.choice(["1", "2"] if month == "apr" else ["work", "school", "gone"], n)
        frame[f"pay_{month}"] = np.where(frame[month] == "gone", "", rng.integers(10, 90, n))
    return frame[["sex", "jan", "feb", "mar", "apr", *sorted(frame.filter(like="pay"))]]


def starter(folder: Path, frame: pd.DataFrame, **panel: object) -> Path:
    """Write a file and the configuration to begin with, and return its path."""
    frame.to_csv(folder / "people.csv", index=False)
    options = panel_config(**panel)  # type: ignore[arg-type]
    return write_starter(
        folder / "people.csv", folder / "people.yaml", panel=options, overwrite=False
    ).path


def test_the_long_form_runs_without_editing(tmp_path: Path) -> None:
    long_frame().to_csv(tmp_path / "people.csv", index=False)
    path = tmp_path / "people.yaml"
    options = ["--person", "who", "--time", "year", "--set", "panel.career=post"]
    told = CliRunner().invoke(
        app, ["init", str(tmp_path / "people.csv"), "-o", str(path), *options]
    )
    assert told.exit_code == 0, told.output
    config = load_config(path)
    assert (config.panel.person, config.panel.time, config.panel.career) == ("who", "year", "post")
    assert str(config.variables["who"].kind) == "id"
    assert str(config.variables["post"].kind) == "categorical"  # states, though numbers
    assert "@" in path.read_text().split("checks:")[1]  # keys of persons, at a period
    result = run(path, overrides=OPTIONS)
    made = pd.read_csv(result.datasets[0])
    assert list(made.columns) == list(long_frame().columns)
    assert made["who"].nunique() == long_frame()["who"].nunique()


def test_the_wide_form_runs_without_editing(tmp_path: Path) -> None:
    wide = ["state=jan..apr", "pay=pay_jan, pay_feb,pay_mar,pay_apr"]
    path = starter(tmp_path, wide_frame(), wide=wide, career="state", absent=["gone", ""])
    config = load_config(path)
    assert config.panel.wide == {
        "state": ("jan..apr",),
        "pay": ("pay_jan", "pay_feb", "pay_mar", "pay_apr"),
    }
    assert config.panel.absent == ("gone", "")
    assert list(config.variables) == ["sex", "state", "pay"]
    assert str(config.variables["state"].kind) == "categorical"
    made = pd.read_csv(run(path, overrides=OPTIONS | {"checks": False}).datasets[0])
    assert list(made.columns) == list(wide_frame().columns)


def test_periods_that_are_words_get_an_order(tmp_path: Path) -> None:
    frame = long_frame(periods=4)
    frame["quarter"] = frame.pop("year").map(
        {2001: "2001Q4", 2002: "2002Q1", 2003: "2002Q10", 2004: "2002Q2"}
    )
    path = starter(tmp_path, frame, person="who", time="quarter", career="post")
    config = load_config(path)
    levels = ("2001Q4", "2002Q1", "2002Q2", "2002Q10")
    assert str(config.variables["quarter"].kind) == "ordered"
    assert config.variables["quarter"].levels == levels
    assert "check that they are in order of time" in path.read_text()
    made = pd.read_csv(run(path, overrides=OPTIONS | {"checks": False}).datasets[0])
    assert set(made["quarter"]) <= set(levels)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"person": "who"}, "needs both person and time"),
        ({"career": "post"}, "needs person and time"),
        ({"wide": ["jan..apr"]}, "VARIABLE=FIRST..LAST"),
        ({"wide": ["=jan"]}, "VARIABLE=FIRST..LAST"),
        ({"wide": ["a=b..c", "a=d..e"]}, "'a' is given twice"),
        ({"wide": ["a=b..c"], "time": "t"}, "not both"),
    ],
)
def test_options_that_do_not_fit_together(options: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        panel_config(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("career", ["state", None])
def test_a_period_that_is_no_column_is_not_offered(tmp_path: Path, career: str | None) -> None:
    """Early states do not occur late, but no column of the file is the period."""
    rng = np.random.default_rng(3)
    levels = {"jan": ["a", "b"], "feb": ["a", "b"], "mar": ["b", "c"], "apr": ["b", "c"]}
    frame = pd.DataFrame({month: rng.choice(of, 300) for month, of in levels.items()})
    text = starter(tmp_path, frame, wide=["state=jan..apr"], career=career).read_text()
    assert "support: auto" not in text
    assert "# support: [[a, b]]" in text


def test_a_period_that_follows_from_the_career_is_not_offered(tmp_path: Path) -> None:
    """A run cannot keep its pair with the career, which is drawn as a whole; others it can."""
    frame = long_frame(200)
    frame["post"] = np.where(frame["year"] < 2003, "early", "late")
    assert "support: auto" in starter(tmp_path, frame, person="who", time="year").read_text()
    (tmp_path / "people.yaml").unlink()
    roles = {"person": "who", "time": "year", "career": "post"}
    assert "support: auto" not in starter(tmp_path, frame, **roles).read_text()
