"""Steps after synthesis: what is checked is what goes out, whatever draws it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthesizer.config.reading import read_config
from synthesizer.data import after
from synthesizer.engine.registry import Registry
from synthesizer.engine.saved import load_model, save_model
from synthesizer.jobs.generate import generate
from synthesizer.jobs.run import fit, run
from synthesizer.jobs.synthesizer import Synthesizer
from synthesizer.measures.risk.replicated import replicated_uniques
from synthesizer.measures.settings import ALL_OFF

N = 400
KINDS = {"age": {"kind": "numeric"}, "id": {"kind": "id"}}
STEPS = {
    "round": {"pay": 50},
    "bottom_code": {"pay": 1000},
    "top_code": {"pay": 4000, "age": 80},
    "blank_rare": {"variables": ["job"], "min_count": 20},
    "label": {"what": "Synthetic data, no real persons"},
}


def people(n: int = N) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"id": np.arange(n) + 1000, "age": rng.integers(18, 99, n)})
    frame["pay"] = (1500 + 30 * frame["age"] + rng.normal(0, 900, n)).round(0)
    frame.loc[::17, "pay"] = np.nan
    frame["job"] = rng.choice(["cook", "nurse", "judge", "pilot"], n, p=[0.5, 0.46, 0.03, 0.01])
    return frame


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "people.csv"
    people().to_csv(path, index=False)
    return path


def config(source: Path, folder: Path, **keys: Any) -> Any:
    settings = {
        "data": {"path": str(source)},
        "output": {"directory": str(folder / "out"), "report": False},
        "seed": 2,
        "random_key": "none",
        "workers": 1,
        "variables": KINDS,
        "checks": dict(ALL_OFF) | {"one_way": True},
        "after": STEPS,
    }
    return read_config(settings | keys)


def is_treated(frame: pd.DataFrame, rare: int = 20) -> bool:
    """Whether a file keeps to the steps."""
    pay = frame["pay"].dropna()
    counts = frame["job"].value_counts()
    inside = pay.between(1000, 4000).all() and frame["age"].max() <= 80
    return bool(inside and (pay % 50 == 0).all() and counts.min() >= rare)


def test_the_file_that_is_checked_is_the_file_that_goes_out(data, tmp_path, monkeypatch):
    result = run(config(data, tmp_path, m=2, output={"directory": str(tmp_path / "out")}))
    frames = [pd.read_csv(path) for path in result.datasets]
    assert all(map(is_treated, frames))
    for frame in frames:
        assert set(frame["what"]) == {"Synthetic data, no real persons"}
        assert (frame["pay"] == 4000).sum() > 10
        assert frame["id"].tolist() == list(range(1, N + 1))
    seen = {cells.variable: cells for cells in result.checks.utility.distributions}
    job, age = seen["job"], seen["age"]
    for frame, shares in zip(frames, job.synthetic, strict=True):
        of_file = frame["job"].value_counts() / len(frame)
        assert dict(zip(job.labels, shares, strict=True)) == {
            "cook": of_file["cook"], "nurse": of_file["nurse"], "judge": 0, "pilot": 0,
            "(empty)": frame["job"].isna().mean(),
        }  # fmt: skip
    assert max(s.max for s in age.summary.synthetic) == 80
    assert result.manifest.after == (
        "pay: rounded to multiples of 50 (round).",
        "pay: values below 1,000 became 1,000 (bottom_code).",
        "pay: values above 4,000 became 4,000 (top_code).",
        "age: values above 80 became 80 (top_code).",
        "job: levels of fewer than 20 records of a dataset were blanked (blank_rare).",
        "what: is 'Synthetic data, no real persons' in every record (label).",
    )
    assert "After the synthesis" in (tmp_path / "out" / "report.html").read_text()
    book = json.loads((tmp_path / "out" / "codebook.json").read_text())
    assert book["synthesis"]["after"] == list(result.manifest.after)
    what = next(v for v in book["variables"] if v["name"] == "what")
    assert (what["made"]["how"], what["kind"]) == ("constant", "categorical")
    # the control: without the steps the same draws do not pass
    monkeypatch.setattr(after.After, "applied", lambda self, table, rare=None: table)
    untouched = run(config(data, tmp_path / "..", output={"directory": str(tmp_path / "bare")}))
    assert not is_treated(pd.read_csv(untouched.datasets[0]))


def test_a_saved_model_takes_its_steps_along(data, tmp_path):
    model = fit(config(data, tmp_path))
    save_model(tmp_path / "model", model, Registry.load())
    loaded = load_model(tmp_path / "model", Registry.load())
    (path,) = generate(loaded, tmp_path / "drawn", seed=9)
    frame = pd.read_csv(path)
    assert is_treated(frame)
    assert "what" in frame
    assert json.loads((tmp_path / "drawn" / "manifest.json").read_text())["after"]


@pytest.mark.filterwarnings("ignore:taken for identifiers")
def test_frames_have_the_steps_too():
    options = {"after": STEPS, "variables": {"age": {"kind": "numeric"}}, "seed": 3}
    made = Synthesizer(**options, checks=dict(ALL_OFF) | {"one_way": True}).fit(people())
    (frame,) = made.generate()
    assert is_treated(frame)
    assert list(frame.columns) == ["id", "age", "pay", "job", "what"]
    assert made.checks.utility.distributions[0].summary.synthetic[0].max == 80


def stars(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.integers(0, 12, n), "b": rng.integers(0, 12, n)})
    return frame.assign(c=rng.choice(["x", "y"], n))


def test_uniques_that_the_original_has_are_left_out(tmp_path):
    stars().to_csv(tmp_path / "stars.csv", index=False)
    kinds = {name: {"kind": "categorical"} for name in "abc"}
    both = [
        run(config(tmp_path / "stars.csv", tmp_path, variables=kinds, after=steps,
                   checks=dict(ALL_OFF) | {"replicated_uniques": True},
                   output={"directory": str(tmp_path / name), "report": False}))
        for name, steps in {"with": None, "without": {"uniques": "drop"}}.items()
    ]  # fmt: skip
    whole, dropped = (pd.read_csv(result.datasets[0], dtype=str) for result in both)
    original = stars().astype(str)
    copies = replicated_uniques(original, whole).datasets[0].replicated
    assert copies > 5  # the control: there is something to leave out
    assert len(dropped) == len(whole) - copies
    assert replicated_uniques(original, dropped).datasets[0].replicated == 0
    assert both[1].checks.risk.replicated.datasets[0].replicated == 0
    notes = " ".join(both[1].manifest.notes)
    assert f"{copies} of 300 records were left out" in notes
    assert "this is no cure" in notes
    assert "arXiv 2312.05114" in notes


PANEL = {"panel": {"person": "who", "time": "year"}, "variables": {}, "default_method": "sample"}


def careers(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    who = np.repeat(np.arange(n), 3)
    frame = pd.DataFrame({"who": who, "year": np.tile([2001, 2002, 2003], n)})
    frame["sex"] = np.repeat(rng.choice(["f", "m"], n), 3)
    frame["pay"] = np.exp(rng.normal(8, 0.5, len(frame))).round(0)
    frame["job"] = rng.choice(["cook", "nurse", "judge"], len(frame), p=[0.6, 0.38, 0.02])
    return frame


STEPS_OF_PANEL = {
    "top_code": {"pay": 4000},
    "round": {"pay": 10},
    "blank_rare": {"variables": ["job"], "min_count": 15},
    "label": {"what": "synthetic"},
}


@pytest.mark.parametrize("form", ["long", "wide"])
def test_panels(tmp_path, form):
    frame, keys = careers(), dict(PANEL)
    if form == "wide":
        frame = frame.set_index(["who", "sex", "year"]).unstack()  # noqa: PD010
        frame.columns = [f"{name}{year}" for name, year in frame.columns]
        frame = frame.reset_index().drop(columns="who").astype(object)
        frame.loc[::9, ["pay2003", "job2003"]] = "gone"
        wide = {v: [f"{v}{y}" for y in (2001, 2002, 2003)] for v in ("pay", "job")}
        keys["panel"] = {"wide": wide, "absent": ["gone"]}
        kinds = {"pay": "numeric", "job": "categorical"}
        keys["variables"] = {v: {"kind": kind, "missing": ["gone"]} for v, kind in kinds.items()}
    frame.to_csv(tmp_path / "panel.csv", index=False)
    checks = dict(ALL_OFF) | {"one_way": True}
    result = run(
        config(tmp_path / "panel.csv", tmp_path, **keys, after=STEPS_OF_PANEL, checks=checks)
    )
    made = pd.read_csv(result.datasets[0])
    pays = made.filter(regex="^pay").replace("gone", np.nan).astype(float).to_numpy().ravel()
    assert np.nanmax(pays) == 4000
    assert (pays[~np.isnan(pays)] % 10 == 0).all()
    for name in made.filter(regex="^job"):
        if form == "wide":
            assert made[name][made[name] != "gone"].value_counts().min() >= 15
        else:
            assert made.groupby(name)["who"].nunique().min() >= 15
    assert set(made["what"]) == {"synthetic"}
    seen = {cells.variable: cells for cells in result.checks.utility.distributions}
    pays_seen = [c for name, c in seen.items() if name.startswith("pay") and c.summary]
    assert pays_seen
    assert max(s.max for cells in pays_seen for s in cells.summary.synthetic) == 4000
