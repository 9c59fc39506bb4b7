"""Panels from outside: long and wide runs, saved models, the Python interface, bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthesizer import Synthesizer
from tests.end_to_end.commands import call, hashes, write_yaml

YEARS = (1990, 1991, 1992, 1994)


def long_frame(n: int = 120, seed: int = 0) -> pd.DataFrame:
    """Persons in up to four years: state, sex, a rising level, age, a grade and its pay."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(1, n + 1):
        present = rng.random(4) < 0.8
        present[rng.integers(4)] = True
        sex = rng.choice(["f", "m"])
        age, level, grade = rng.integers(20, 60), rng.integers(0, 3), rng.integers(1, 4)
        state = rng.choice(["school", "work"])
        for year in np.array(YEARS)[present]:
            state = "work" if rng.random() < 0.5 else state
            level = min(level + (rng.random() < 0.2), 3)
            grade = min(grade + (rng.random() < 0.3), 4)
            pay = -9 if rng.random() < 0.05 else 1000 * grade + 10 * (rng.random() < 0.3)
            rows.append(
                (person, year, state, sex, "abcd"[level], age + year - 1990, grade, int(pay))
            )
    names = ["id", "year", "state", "sex", "level", "age", "grade", "pay"]
    return pd.DataFrame(rows, columns=names)


def wide_frame(n: int = 150, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = {"id": np.arange(1, n + 1), "sex": rng.choice(["f", "m"], n)}
    state = rng.choice(["a", "b"], n)
    start = rng.integers(0, 2, n)
    for t in range(1, 5):
        state = np.where(rng.random(n) < 0.3, "b", state)
        frame[f"s{t}"] = np.where(t <= start, "gone", state)
        frame[f"p{t}"] = np.where(t <= start, -1, 10 * t + rng.integers(0, 3, n))
    return pd.DataFrame(frame)


LONG_PANEL = {"person": "id", "time": "year", "career": "state"}
LONG = {
    "panel": LONG_PANEL,
    "variables": {
        "id": {"kind": "id"},
        "year": {"kind": "numeric"},
        "level": {"kind": "ordered", "levels": list("abcd"), "method": "monotone"},
        "age": {"kind": "numeric", "method": "advance"},
        "grade": {"kind": "categorical"},
        "pay": {
            "kind": "numeric",
            "missing": ["-9"],
            "method": "each_period",
            "options": {"base": {"model": "nominal", "given": ["grade"]}},
        },
    },
    "models": {"cart": {"min_leaf": 5, "leaf_regression": False}, "career": {"candidates": 1}},
    "structural_zeros": [["sex", "grade"], ["grade", "pay"]],
}
WIDE = {
    "panel": {"wide": {"state": ["s1", "s2", "s3", "s4"], "pay": ["p1", "p2", "p3", "p4"]},
              "absent": ["gone", "-1"], "career": "state"},
    "variables": {"id": {"kind": "id"}}
    | {f"p{t}": {"kind": "numeric", "missing": ["gone", "-1"]} for t in range(1, 5)},
    "models": {"cart": {"min_leaf": 5, "leaf_regression": False}, "career": {"candidates": 1}},
}  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("panel")
    long_frame().to_csv(folder / "long.csv", index=False)
    wide = wide_frame().astype(str)
    for t in range(1, 5):  # one word stands for absence in all columns
        wide[f"p{t}"] = wide[f"p{t}"].replace("-1", "gone")
    wide.to_csv(folder / "wide.csv", index=False)
    return folder


def config_of(folder: Path, source: Path, /, form: dict[str, Any], **changes: Any) -> Path:
    content = {
        "data": {"path": str(source)},
        "output": {"directory": "out", "report": False, "codebook": False},
        "seed": 7,
        "workers": 1,
        "checks": False,
    }
    folder.mkdir(exist_ok=True)
    return write_yaml(folder / "run.yaml", content | form | changes)


def made(folder: Path, source: Path, /, form: dict[str, Any], **changes: Any) -> Path:
    result = call("run", config_of(folder, source, form, **changes))
    assert result.exit_code == 0, result.output
    return folder / "out"


def texts(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def check_long(frame: pd.DataFrame, original: pd.DataFrame) -> None:
    """What must hold of every synthetic dataset of the long form."""
    assert list(frame.columns) == list(original.columns)
    assert not frame.duplicated(["id", "year"]).any()
    for name in ("year", "state", "sex", "level", "grade", "pay"):
        assert set(frame[name]) <= set(original[name]), name
    assert not (frame["sex"] != frame.groupby("id")["sex"].transform("first")).any()
    numbers = frame.assign(born=frame["year"].astype(int) - frame["age"].astype(int))
    assert not (numbers["born"] != numbers.groupby("id")["born"].transform("first")).any()
    falls = frame.groupby("id")["level"].apply(lambda x: (x < x.shift()).sum())
    assert falls.max() == 0
    pairs = {tuple(pair) for pair in original[["grade", "pay"]].to_numpy()}
    assert {tuple(pair) for pair in frame[["grade", "pay"]].to_numpy()} <= pairs


def test_wide_run(data: Path, tmp_path: Path) -> None:
    out = made(tmp_path, data / "wide.csv", WIDE, m=2)
    original = texts(data / "wide.csv")
    for number in (1, 2):
        frame = texts(out / f"synthetic_{number}.csv")
        assert list(frame.columns) == list(original.columns)
        assert frame["id"].tolist() == original["id"].tolist()
        for t in range(1, 5):
            gone = frame[f"s{t}"] == "gone"
            assert (gone == (frame[f"p{t}"] == "gone")).all()
            assert set(frame[f"s{t}"]) <= {"a", "b", "gone"}
    assert call("fit", tmp_path / "run.yaml", "-o", tmp_path / "m.syn", "-q").exit_code == 0
    assert call("generate", tmp_path / "m.syn", "-m", 2, "-o", tmp_path / "again").exit_code == 0
    assert hashes(tmp_path / "again") == hashes(out)
    fewer = made(tmp_path / "b", data / "wide.csv", WIDE, rows=17)
    assert len(texts(fewer / "synthetic_1.csv")) == 17


@pytest.mark.parametrize("form", ["long", "wide"])
def test_workers_and_nested_datasets(data: Path, tmp_path: Path, form: str) -> None:
    options = LONG if form == "long" else WIDE
    source = data / f"{form}.csv"
    one = made(tmp_path / "a", source, options, m=1)
    two = made(tmp_path / "b", source, options, m=2, workers=2)
    assert hashes(one)["synthetic_1.csv"] == hashes(two)["synthetic_1.csv"]
    assert hashes(two)["synthetic_1.csv"] != hashes(two)["synthetic_2.csv"]


def test_proper_synthesis_resamples_persons(data: Path, tmp_path: Path) -> None:
    out = made(tmp_path / "a", data / "long.csv", LONG, m=2, proper=True)
    again = made(tmp_path / "b", data / "long.csv", LONG, m=2, proper=True, workers=2)
    plain = made(tmp_path / "c", data / "long.csv", LONG, m=2)
    assert hashes(out) == hashes(again)
    assert not set(hashes(out).values()) & set(hashes(plain).values())
    for path in sorted(out.glob("synthetic_*")):
        check_long(texts(path), texts(data / "long.csv"))


def test_strata_of_persons(data: Path, tmp_path: Path) -> None:
    out = made(tmp_path, data / "long.csv", LONG, strata=["sex"], min_stratum_rows=10)
    frame = texts(out / "synthetic_1.csv")
    check_long(frame, texts(data / "long.csv"))
    assert frame["sex"].nunique() == 2
    assert frame["id"].nunique() == 120


@pytest.mark.parametrize("rows", [1, 400])
def test_fewer_and_more_persons(data: Path, tmp_path: Path, rows: int) -> None:
    out = made(tmp_path / "a", data / "long.csv", LONG, rows=rows)
    frame = texts(out / "synthetic_1.csv")
    assert frame["id"].astype(int).unique().tolist() == list(range(1, rows + 1))


def every_history() -> dict[str, Any]:
    """A configuration that uses every model of histories."""
    variables: dict[str, Any] = {name: dict(value) for name, value in LONG["variables"].items()}
    variables["sex"] = {"method": "time_invariant"}
    options = {"fit": "by_period", "min_rows": 20}
    variables["grade"] = {"kind": "numeric", "method": "lag_one", "options": options}
    variables["level"]["method"] = "mostly_constant"
    variables["more"] = {"kind": "numeric", "missing": ["-9"], "method": "monotone"}
    return LONG | {"variables": variables}


@pytest.fixture(scope="module")
def model(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run with every history, and the model that `fit` saves of the same configuration."""
    folder = tmp_path_factory.mktemp("model")
    frame = long_frame()
    frame["more"] = frame["pay"]
    frame.to_csv(folder / "long.csv", index=False)
    path = config_of(folder, folder / "long.csv", every_history())
    out = made(folder, folder / "long.csv", every_history())
    result = call("fit", path, "-o", folder / "model.syn", "-q")
    assert result.exit_code == 0, result.output
    return folder / "model.syn", out


def test_generate_from_a_saved_model(model: tuple[Path, Path], tmp_path: Path) -> None:
    path, out = model
    result = call("generate", path, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert list(hashes(tmp_path / "out").values()) == list(hashes(out).values())
    result = call("generate", path, "-o", tmp_path / "more", "--rows", 33, "-m", 2, "--seed", 5)
    assert result.exit_code == 0, result.output
    for written in (tmp_path / "more").glob("synthetic_*"):
        assert texts(written)["id"].nunique() == 33


def test_python_interface_long() -> None:
    frame = long_frame()
    options = {key: value for key, value in LONG.items() if key != "structural_zeros"}
    synthesizer = Synthesizer(seed=3, **options).fit(frame.sample(frac=1.0, random_state=1))
    one, two = synthesizer.generate(m=2)
    assert list(one.columns) == list(frame.columns)
    assert one.dtypes.to_dict() == frame.dtypes.to_dict()
    assert not one.equals(two)
    assert one.equals(synthesizer.generate(m=1)[0])
    assert synthesizer.generate(rows=20)[0]["id"].nunique() == 20
    check_long(one.astype(str), frame.astype(str))
