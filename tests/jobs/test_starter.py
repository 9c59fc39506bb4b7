from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from synthesizer import load_config, run
from synthesizer.data.errors import OutputError
from synthesizer.jobs.starter import write_starter
from tests.end_to_end.commands import NO_HALVES, persons_frame


def odd_frame(n: int = 120) -> pd.DataFrame:
    """Names and values that YAML would take for something else."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "yes": rng.choice(["on", "off", "null"], n),
            "1": rng.choice(["01", "02", "10"], n),
            "a: b": rng.integers(0, 50, n),
            "#x": rng.choice(["{", "}", "'", '"', "ä\\"], n),
            "date": pd.Series(pd.date_range("2000-01-01", periods=n)).dt.strftime("%d.%m.%Y"),
            "x.y": np.where(rng.random(n) < 0.1, "-8", rng.integers(10, 90, n).astype(str)),
            "~": rng.choice(["true", "false", ""], n),
            "id": np.arange(n) + 1000,
        }
    )


PERSONS = persons_frame(90)
FRAMES = {
    "persons": PERSONS,
    "odd": odd_frame(),
    "tiny": persons_frame(4)[["sex", "age"]].assign(sex="f"),
    "gaps": PERSONS.assign(region=[None, "x", "y"] * 30),
}


@pytest.mark.parametrize(
    ("shape", "form"), [("odd", "csv"), ("tiny", "csv"), ("gaps", "csv"), ("odd", "parquet")]
)
def test_what_init_writes_runs_without_editing(shape: str, form: str, tmp_path: Path) -> None:
    frame, data = FRAMES[shape], tmp_path / f"data.{form}"
    write = frame.to_csv if form == "csv" else frame.to_parquet
    write(data, index=False)
    path = write_starter(data, tmp_path / "deep.yaml", overwrite=False).path
    config = load_config(path)
    assert list(config.variables) == list(frame.columns)
    output = {"directory": "out", "report": False, "codebook": False}
    checks = NO_HALVES if (shape, form) == ("odd", "csv") else False
    options = {"m": 1, "workers": 1, "output": output, "checks": checks}
    result = run(path, overrides=options)
    read = pd.read_csv if form == "csv" else pd.read_parquet
    assert list(read(result.datasets[0]).columns) == list(frame.columns)


def test_derived_variables_are_found(tmp_path: Path) -> None:
    frame = persons_frame()
    frame["height"] = 150 + frame["age"] % 50
    frame["weight"] = 50 + (frame["income"] % 40)
    frame["bmi"] = (frame["weight"] / (frame["height"] / 100) ** 2).round(6)
    frame.to_csv(tmp_path / "data.csv", index=False)
    path = write_starter(tmp_path / "data.csv", tmp_path / "run.yaml", overwrite=False).path
    assert "weight" in (load_config(path).variables["bmi"].derived or "")
    made = pd.read_csv(run(path, overrides={"m": 1, "checks": False}).datasets[0])
    expected = made["weight"] / (made["height"] / 100) ** 2
    np.testing.assert_allclose(made["bmi"], expected, atol=1e-6)


def test_existing_files_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    persons_frame(30).to_csv("persons.csv", index=False)
    path = write_starter(Path("persons.csv"), None, overwrite=False).path
    assert path == Path("persons.yaml")
    assert yaml.safe_load(path.read_text())["data"] == {"path": "persons.csv"}
    with pytest.raises(OutputError, match="exists already"):
        write_starter(Path("persons.csv"), None, overwrite=False)
    write_starter(Path("persons.csv"), None, overwrite=True)
    with pytest.raises(OutputError, match="directory does not exist"):
        write_starter(Path("persons.csv"), Path("absent/run.yaml"), overwrite=False)
