"""The codebook of panels: what is inside models of histories, what was imposed, and clusters."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthesizer.config.reading import read_config
from synthesizer.data.table import Kind, Variable
from synthesizer.jobs.manifest import step_entry
from synthesizer.jobs.run import run
from synthesizer.measures.figure import plain
from synthesizer.models.cart import Cart
from synthesizer.models.grouped import Grouped
from synthesizer.models.histories.lag_one import LagOne
from synthesizer.models.step import Step
from synthesizer.report.record import DesignEntry, Manifest, StepEntry, VariableEntry
from tests import run_directories
from tests.report.codebook.books import book, executed, page_of
from tests.run_directories import REGISTRY, step, words_of

MARK = "MARKER"
EVEN = {"even": True, "leaf_regression": False}
TILTED = {"even": True, "leaf_regression": True}
ONE, LAG = "time_invariant", "lag_one"
LONG = (
    step("state", "categorical", "career", trees=EVEN),
    step("sex", "categorical", ONE, "state", base=["cart"], trees=TILTED, codes=9),
    step("job", "categorical", LAG, "state", "sex", base=["cart"], trees=TILTED, codes=2),
    step("pay", "numeric", LAG, "state", "sex", "job", base=["grouped", "cart"], trees=TILTED),
)


def redrawn(entry: StepEntry, **changes: Any) -> StepEntry:
    """Return a step with other models or trees; its words are those of the models."""
    names = (entry.model, *changes.get("base", entry.base))
    words = {"in_words": tuple(map(words_of, names))}
    return StepEntry.model_validate(plain(entry) | words | changes)


def long_frame(seed: int, n: int = 30) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    persons = np.repeat(np.arange(1, n + 1), rng.integers(1, 6, n))
    means = rng.normal(100, 20, n + 1)[persons]
    rows = len(persons)
    return pd.DataFrame(
        {
            "person": [f"P{number:04d}" for number in persons],
            "year": pd.Series(persons).groupby(persons).cumcount() + 1990,
            "state": rng.choice(["a", "b"], rows),
            "sex": np.where(persons % 2, "f", "m"),
            "job": rng.choice(["x", "y", "z"], rows),
            "pay": np.round(means + rng.normal(0, 1, rows), 2),
        }
    )


def wide_frame(seed: int, n: int = 30) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    states = {f"s{t}": rng.choice(["a", "b"], n) for t in (1, 2, 3)}
    return pd.DataFrame({"id": np.arange(1, n + 1), **states, "pay": rng.integers(1, 9, n)})


def manifest_of(chain: Sequence[StepEntry], panel: dict[str, Any], /, **config: Any) -> Manifest:
    config = {"output": {"publish_rows": True}} | config
    return run_directories.manifest_of(config, chain=chain, data={"rows": 987650}, panel=panel)


def long_codebook(
    folder: Path, chain: Sequence[StepEntry] = LONG, persons: int = 30, **config: Any
) -> dict[str, Any]:
    for number in (1, 2):
        long_frame(number).to_csv(folder / f"synthetic_{number}.csv", index=False)
    panel = {"person": "person", "time": "year", "career": "state", "periods": 987651}
    manifest = manifest_of(chain, panel | {"persons": persons}, **config)
    year = VariableEntry(name="year", kind="numeric", missing=(), date_format=None)
    manifest = manifest.model_copy(update={"variables": (*manifest.variables, year)})
    return book(manifest, sorted(folder.glob("synthetic_*")))


def wide_codebook(folder: Path, **config: Any) -> dict[str, Any]:
    for number in (1, 2):
        wide_frame(number).to_csv(folder / f"synthetic_{number}.csv", index=False)
    chain = [
        step("state", "categorical", "career", trees=EVEN, columns=["s1", "s2", "s3"]),
        step("pay", "numeric", ONE, "state", base=["pmm"]),
    ]
    panel = {"form": "wide", "career": "state", "persons": 30}
    return book(manifest_of(chain, panel, **config), sorted(folder.glob("synthetic_*")))


def made(content: dict[str, Any], name: str) -> dict[str, Any]:
    entry: dict[str, Any] = next(v["made"] for v in content["variables"] if v["name"] == name)
    return entry


def without_trees() -> list[StepEntry]:
    return [redrawn(entry, trees=None, base=["pmm"]) for entry in LONG]


# --- trees inside other models --------------------------------------------------------------------


def test_options_of_a_wrapped_model_are_listed(tmp_path: Path) -> None:
    """The manifest contains the public options of every model inside, and nothing else."""
    model = LagOne(base=Grouped(by=("sex",), base=Cart(min_leaf=3)))
    table = {"kind": Kind.NUMERIC, "name": "pay"}
    pay_step = Step(variable="pay", method=LAG, model=model, predictors=("sex",))
    entry = step_entry(pay_step, Variable(**table), REGISTRY)
    assert (entry.base, entry.options) == (("grouped", "cart"), {"min_leaf": 3})
    content = long_codebook(
        tmp_path,
        [*LONG[:3], entry],
        variables={"pay": {"options": {"base": {"model": "grouped", "by": [MARK]}}}},
    )
    assert made(content, "pay")["options"] == {"min_leaf": 3}
    assert "with a regression tree" in made(content, "pay")["words"]
    assert MARK not in json.dumps(content)


# --- what was imposed -----------------------------------------------------------------------------

RULES: list[dict[str, Any]] = [
    {"variable": "state", "absorbing": ["b", "gone"], "never": [["a", "c"]]},
    {"variable": "pay", "non_decreasing": True},
    {"variable": MARK, "absorbing": [MARK]},
]


def test_a_wide_file_without_a_career_variable_has_a_codebook(tmp_path: Path) -> None:
    wide_frame(1).to_csv(tmp_path / "wide.csv", index=False)
    config = {
        "data": {"path": str(tmp_path / "wide.csv")},
        "output": {"directory": str(tmp_path / "out")},
        "panel": {"wide": {"state": ["s1..s3"]}},
        "random_key": "none",
        "checks": False,
    }
    result = run(read_config(config))
    assert len(result.codebook) == 2
    content = json.loads((tmp_path / "out" / "codebook.json").read_text())
    assert [v["name"] for v in content["variables"]] == list(wide_frame(1))


# --- persons --------------------------------------------------------------------------------------


def clustered(frame: pd.DataFrame, values: pd.Series) -> float:
    """The variance of a mean of rows, person by person."""
    residuals = values - values.mean()
    sums = [residuals[frame["person"] == one].sum() for one in frame["person"].unique()]
    return len(sums) / (len(sums) - 1) * sum(s**2 for s in sums) / len(values) ** 2


def test_the_example_allows_for_clusters_of_persons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = long_codebook(tmp_path)
    analysis = content["analysis"]
    assert (analysis["k"], analysis["n"]) == (30, 30)
    assert "k is the number of persons" in " ".join(analysis["words"])
    assert "Count persons, not rows" in " ".join(analysis["words"])
    result = executed(analysis["code"], tmp_path, monkeypatch)
    frames = [long_frame(seed) for seed in (1, 2)]
    errors = [clustered(frame, frame["pay"]) for frame in frames]
    assert result.estimate == pytest.approx([np.mean([f["pay"].mean() for f in frames])])
    assert result.total == pytest.approx([np.mean(errors) * (1 + 1 / 2)])
    by_rows = [frame["pay"].var() / len(frame) for frame in frames]
    assert np.mean(errors) != pytest.approx(np.mean(by_rows), rel=0.2)


def test_the_errors_of_a_weighted_panel_are_weighted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The estimate and its linearised variance have the same weights; persons are the units."""
    frame = long_frame(1)[["person", "pay"]]
    frame["w"] = 1 + np.arange(len(frame)) % 7
    frame.to_csv(tmp_path / "synthetic_1.csv", index=False)
    given = manifest_of(
        [step("pay", "numeric", LAG), step("w", "numeric", LAG)],
        {"person": "person", "persons": 30},
    ).model_copy(update={"design": DesignEntry(weight="w")})
    analysis = book(given, [tmp_path / "synthetic_1.csv"])["analysis"]
    result = executed(analysis["code"], tmp_path, monkeypatch)
    share = frame["w"] / frame["w"].sum()
    mean = (share * frame["pay"]).sum()
    scores = share * (frame["pay"] - mean)
    sums = [scores[frame["person"] == one].sum() for one in frame["person"].unique()]
    assert result.estimate == pytest.approx([mean])
    error = len(sums) / (len(sums) - 1) * sum(s**2 for s in sums)
    assert result.total == pytest.approx([2 * error])


def test_persons_of_the_original_appear_only_if_they_are_published(tmp_path: Path) -> None:
    assert long_codebook(tmp_path, persons=987654)["analysis"]["n"] == 987654
    content = long_codebook(tmp_path, persons=987654, output={})
    assert content["analysis"]["n"] is None
    assert "number of original persons: ask the data holder" in content["analysis"]["code"]
    assert "98765" not in json.dumps(content)


def test_names_of_a_panel_that_are_not_released_do_not_appear(tmp_path: Path) -> None:
    long_frame(1).to_csv(tmp_path / "synthetic_1.csv", index=False)
    panel = {"person": MARK, "time": MARK, "career": MARK, "persons": 30}
    given = manifest_of(
        LONG, panel, structural_zeros=[[MARK]], panel={"rules": RULES[2:], MARK: MARK}
    )
    content = book(given, [tmp_path / "synthetic_1.csv"])
    assert MARK not in json.dumps(content)
    assert MARK not in page_of(content)


def test_clusters_of_values_with_missing_codes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that are left out do not shift the others to another person."""
    frame = long_frame(1)[["person", "pay"]]
    frame.loc[::3, "pay"] = -8
    frame.to_csv(tmp_path / "synthetic_1.csv", index=False)
    given = manifest_of(
        [step("pay", "numeric", LAG)],
        {"person": "person", "persons": 30},
        variables={"pay": {"missing": ["-8"]}},
    )
    analysis = book(given, [tmp_path / "synthetic_1.csv"])["analysis"]
    observed = frame[frame["pay"] != -8]
    result = executed(analysis["code"], tmp_path, monkeypatch)
    assert result.total == pytest.approx([2 * clustered(observed, observed["pay"])])
