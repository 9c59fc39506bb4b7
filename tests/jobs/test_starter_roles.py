"""For any file, `init` writes a configuration that runs, and prints what to look at."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from synthesizer import run
from synthesizer.data.errors import ConfigError, DataError
from synthesizer.data.guessing import infer
from synthesizer.data.sources import read_path
from synthesizer.jobs.starter import (
    Starter,
    StarterOptions,
    make_starter,
    write_starter,
)
from tests.end_to_end.commands import call, persons_frame

N = 400


def nasty_frame() -> pd.DataFrame:
    """Columns that a run refuses to guess, beside ordinary ones."""
    rng = np.random.default_rng(1)
    minutes = pd.to_timedelta(rng.integers(0, 900_000, N), "min")
    stamps = (pd.Timestamp("2019-01-01") + pd.Series(minutes)).dt.strftime("%d/%m/%Y %H:%M")
    numbers = rng.integers(0, 300, N).astype(str)
    return persons_frame(N)[["sex", "age"]].assign(
        comment=[f"free text {max(i, 40)}" for i in range(N)],
        stamp=stamps,
        late=np.where(rng.random(N) < 0.03, "not yet", stamps),
        day=["01/02/2020", "03/04/2021"] * (N // 2),
        refused=np.where(rng.random(N) < 0.03, "refused", numbers),
        odd=np.where(rng.random(N) < 0.08, np.char.add("r", numbers), numbers),
        endless=np.where(rng.random(N) < 0.03, "inf", numbers),
        large=[2**60 + i // 2 for i in range(N)],
        hid=[1000 + i // 3 for i in range(N)],
        constant=1,
        empty="",
    )


def started(folder: Path, frame: pd.DataFrame, **options: object) -> Starter:
    frame.to_csv(folder / "data.csv", index=False)
    settings = StarterOptions(**options)  # type: ignore[arg-type]
    return make_starter(folder / "data.csv", folder / "data.yaml", settings)


def test_every_column_has_a_role_and_a_run_goes_through(tmp_path: Path) -> None:
    nasty_frame().to_csv(tmp_path / "data.csv", index=False)
    printed = call("init", tmp_path / "data.csv", "-o", tmp_path / "run.yaml")
    assert printed.exit_code == 0, printed.output
    assert "check 9 of 13 columns" in printed.output
    content = yaml.safe_load((tmp_path / "run.yaml").read_text())
    dropped = ["comment", "odd", "large", "hid", "empty"]
    assert sorted(content["drop"]) == sorted(dropped)
    assert content["variables"]["refused"]["missing"] == ["refused"]
    assert content["variables"]["endless"]["missing"] == ["inf"]
    assert content["variables"]["late"]["missing"] == ["not yet"]
    assert content["variables"]["day"]["date_format"] == "%d/%m/%Y"
    assert content["variables"]["stamp"]["kind"] == "date"
    for name in [*dropped, "late", "day", "refused", "endless"]:
        assert f"\n  {name}: " in printed.output
    overrides = {"m": 1, "workers": 1, "output": {"directory": "out"}, "checks": False}
    made = pd.read_csv(run(tmp_path / "run.yaml", overrides=overrides).datasets[0], dtype=str)
    assert list(made) == [name for name in nasty_frame() if name not in dropped]
    assert made["stamp"].str.fullmatch(r"\d{2}/\d{2}/\d{4} \d{2}:\d{2}").all()
    # a control: a run does not guess any of it
    with pytest.raises(DataError) as caught:
        infer(read_path(tmp_path / "data.csv"))
    assert len(caught.value.problems) == 8


@pytest.mark.parametrize(
    ("encoding", "named", "key"),
    [
        ("utf-16", "rows, utf-16", None),
        ("utf-16-le", "rows, utf-16-le", "utf-16-le"),
        ("latin-1", "note: the file is not UTF-8", "cp1252"),
    ],
)
def test_the_encoding_is_found_named_and_kept(
    encoding: str, named: str, key: str | None, tmp_path: Path
) -> None:
    town = np.random.default_rng(0).choice(["Köln", "Zürich", "Bonn"], 90)
    frame = persons_frame(90)[["sex", "age"]].assign(town=town)
    frame.to_csv(tmp_path / "d.csv", index=False, encoding=encoding, sep=";")
    printed = call("init", tmp_path / "d.csv", "-o", tmp_path / "d.yaml")
    assert named in printed.output
    assert yaml.safe_load((tmp_path / "d.yaml").read_text())["data"].get("encoding") == key
    result = run(tmp_path / "d.yaml", overrides={"m": 1, "workers": 1, "checks": False})
    made = pd.read_csv(result.datasets[0], sep=";", encoding=encoding)
    assert set(made["town"]) <= set(town)


def test_a_query_is_described_like_a_file(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "people.db") as database:
        persons_frame(90).to_sql("people", database, index=False)
    url, query = f"sqlite:///{tmp_path}/people.db", "SELECT sex, age FROM people"
    printed = call("init", "--sql", url, query, "-o", tmp_path / "q.yaml")
    assert printed.exit_code == 0, printed.output
    content = yaml.safe_load((tmp_path / "q.yaml").read_text())
    assert content["data"] == {"sql": {"url": url, "query": query}}
    result = run(tmp_path / "q.yaml", overrides={"m": 1, "workers": 1, "checks": False})
    assert list(pd.read_csv(result.datasets[0])) == ["sex", "age"]
    assert "not both" in call("init").output


def test_options_that_contradict_are_refused_at_once_and_nothing_is_written(tmp_path: Path) -> None:
    persons_frame(60)[["sex", "age"]].to_csv(tmp_path / "d.csv", index=False)
    settings = StarterOptions(drop=("sex", "agge"), ids=("sex",))
    with pytest.raises((ConfigError, DataError)) as caught:
        write_starter(tmp_path / "d.csv", tmp_path / "d.yaml", options=settings, overwrite=False)
    for word, problem in zip(
        ("did you mean 'age'", "--drop and --id both name 'sex'"),
        caught.value.problems,
        strict=True,
    ):
        assert word in problem
    assert not (tmp_path / "d.yaml").exists()


def test_what_a_file_looks_like_is_noted_with_the_command(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    states = np.cumsum(rng.random((N, 16)) < 0.1, axis=1) % 3
    items = rng.integers(1, 4, (N, 16))  # of a questionnaire: all alike, near or far
    wide = persons_frame(N)[["sex", "age"]].assign(
        **{f"a{15 + j}": np.array(list("xyz"))[states[:, j]] for j in range(16)},
        **{f"q{j}": items[:, j] for j in range(16)},
    )
    notes = "\n".join(started(tmp_path, wide).notes)
    assert "--wide 'a=a15..a30' --set panel.career=a" in notes
    assert "=q" not in notes
    long = pd.DataFrame({"pid": np.arange(N) // 4, "wave": np.arange(N) % 4, "x": states[:, 0]})
    assert "--person pid --time wave" in started(tmp_path, long).looks["pid"]


def test_without_the_panel_no_middle_period_is_the_target(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    states = rng.choice(list("wsh"), N)
    wide = persons_frame(N)[["sex"]]
    for month in range(1, 9):
        states = np.where(rng.random(N) < 0.9, states, rng.choice(list("wsh"), N))
        wide[f"m{month}"] = states
    checks = yaml.safe_load(started(tmp_path, wide).text)["checks"]
    assert {*checks["keys"], checks["target"]} == {"sex", "m8"}
    long = wide.melt(["sex"], ignore_index=False, var_name="year", value_name="state")
    long["year"] = long["year"].str[1:]
    checks = yaml.safe_load(started(tmp_path, long.reset_index(names="pid")).text)["checks"]
    assert {*checks["keys"], checks["target"]} == {"sex", "state"}
