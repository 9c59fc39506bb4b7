"""Secrets of evolutions, and what refining takes and refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from synthesizer import advise
from synthesizer.data.errors import ConfigError, SynthesizerError
from synthesizer.extensions.genetic.refine import refine, refine_file
from tests.cli.test_commands import ends_on_one_screen
from tests.end_to_end.commands import NO_HALVES, persons_frame
from tests.end_to_end.test_key import assert_in_manifest_only, assert_kept

pytestmark = pytest.mark.usefixtures("drawn_key")


def test_a_key_is_in_the_manifest_only(tmp_path: Path) -> None:
    genetic = {"population": 6, "generations": 2, "mode": "pareto", "risk": "cap"}
    checks = {"keys": ["sex", "region"], "target": "marital", "propensity": False} | NO_HALVES
    assert_in_manifest_only(tmp_path, genetic=genetic, drop=["age", "income"], checks=checks)


def test_settings_of_models_are_not_advised(tmp_path: Path) -> None:
    persons_frame(120).to_csv(tmp_path / "persons.csv", index=False)
    config = {
        "data": {"path": str(tmp_path / "persons.csv")},
        "drop": ["age", "income", "person_id"],
        "genetic": {"risk": "cap"},
        "checks": {"keys": ["sex"], "target": "marital"},
    }
    with pytest.raises(ConfigError, match="makes whole datasets"):
        advise(config)


@pytest.mark.parametrize("kind", [pd.Series, np.array, pd.array, pa.array])
def test_refining_shows_no_value_and_returns_its_kind(kind: Any) -> None:
    draws = np.random.default_rng(1)
    people = pd.DataFrame({"a": draws.integers(0, 40, 90), "b": draws.integers(0, 2, 90)})
    sound: dict[str, Any] = {"keys": ["a"], "target": "b", "codes": True, "generations": 2}
    column = kind(["canary-7f3a", "b"] * 18)
    for name in (*sound, "declared"):
        with pytest.raises((SynthesizerError, TypeError)) as caught:
            refine(people, people.head(80), **{**sound, name: column})
        assert "canary" not in str(caught.value)
    table = pa.Table.from_pandas(people)
    assert isinstance(refine(table, table.slice(0, 80), **sound, seed=1).data, pa.Table)


def test_refining_ends_on_one_screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    persons = persons_frame(120).drop(columns="person_id")
    persons.to_csv("persons.csv", index=False)
    persons.head(110).to_csv("made.csv", index=False)
    ends_on_one_screen(
        "refine persons.csv made.csv --keys sex,region --target marital --codes age,income "
        "--set risk=cap --set generations=2 --set population=10 -o x.csv --json x.json"
    )


def test_refining_draws_a_secret_and_repeats_from_its_record(tmp_path: Path) -> None:
    original, made = tmp_path / "persons.csv", tmp_path / "made.csv"
    persons_frame(120).drop(columns=["person_id", "income"]).to_csv(original, index=False)
    persons_frame(120).iloc[:, 1:5].head(110).to_csv(made, index=False)
    options: Any = {"keys": ["age"], "target": "marital", "codes": ["age"], "risk_at_most": 0.2}
    texts, key = [], None
    for name in "abc":
        out, record = tmp_path / f"{name}.csv", tmp_path / f"{name}.json"
        refine_file(
            original, made, out=out, record=record, random_key=key, generations=2, **options
        )
        texts.append(out.read_bytes())
        key = {"from": str(tmp_path / "a.json")} if name == "b" else None
    assert texts[0] == texts[2] != texts[1]
    drawn = json.loads((tmp_path / "a.json").read_text())["random_key"]
    assert_kept(drawn, tmp_path, "", {"a.json", "c.json"})
