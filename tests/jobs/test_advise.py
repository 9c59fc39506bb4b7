"""Settings are tried for the worst finding, all on the same half, and nothing else is written."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthesizer import advise
from synthesizer.data.errors import ConfigError
from synthesizer.data.table import Table
from synthesizer.jobs.advise import MAX_OTHERS, PRESENT
from synthesizer.plan.plan import Plan

DRAWS = {"seed": 5, "random_key": "none"}
CHECKS = {"attacks": False, "suda": False, "cap": False}


@pytest.fixture
def people(tmp_path: Path) -> dict[str, Any]:
    """A configuration of 400 persons, whose variables go together."""
    rng = np.random.default_rng(1)
    age = rng.integers(20, 70, 400)
    school = np.where(age + rng.normal(0, 6, 400) > 45, "long", "short")
    work = np.where((school == "long") ^ (rng.random(400) < 0.1), "desk", "field")
    pay = 10 * age + 200 * (work == "desk") + rng.integers(0, 50, 400)
    frame = pd.DataFrame({"age": age, "school": school, "work": work, "pay": pay})
    for number in range(6):
        frame[f"answer{number}"] = np.where(rng.random(400) < 0.5, "yes", "no")
    frame.to_csv(tmp_path / "people.csv", index=False)
    return {
        "data": {"path": str(tmp_path / "people.csv")},
        "output": {"directory": str(tmp_path / "out")},
        "checks": CHECKS, "workers": 1, **DRAWS,
    }  # fmt: skip


def test_the_best_of_the_table_is_advised_and_nothing_is_left_behind(
    people: dict[str, Any], tmp_path: Path
) -> None:
    target = tmp_path / "advice.json"
    result = advise({**people, "default_method": "sample"}, json=target)
    assert result.subject == "use"
    present, *others = result.trials
    assert present.setting == PRESENT
    assert present.word == "fail"
    assert 1 <= len(others) <= MAX_OTHERS
    assert result.advised == result.best.setting == "default_method=cart"
    assert result.best.word != "fail"
    assert result.best.use is not None
    assert present.use is not None
    assert result.best.use == min(t.use for t in result.trials if t.use) < present.use
    assert [trial.setting for trial in result.again] == [PRESENT, result.advised]
    assert {path.name for path in tmp_path.iterdir()} == {"people.csv", "advice.json"}
    assert os.stat(target).st_mode & 0o777 == 0o600
    content = json.loads(target.read_text())
    assert content["advised"] == result.advised
    assert [row["setting"] for row in content["trials"]] == [t.setting for t in result.trials]
    assert result.to_frame("trials")["word"].tolist() == [t.word for t in result.trials]


def test_all_settings_have_the_same_half_and_what_is_advised_is_a_setting(
    people: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Any, ...]] = []
    refit = Plan.refit

    def spied(self: Plan, source: Any, seed: Any, half: Table, m: int, repeat: int) -> Any:
        seen.append((seed, m, tuple(half["age"].data), tuple(half["pay"].data)))
        return refit(self, source, seed, half, m, repeat)

    monkeypatch.setattr(Plan, "refit", spied)
    config = {
        **people,
        "models": {"cart": {"min_leaf": 1, "leaf_regression": False, "min_holders": 1}},
    }
    result = advise(config)
    assert result.subject == "person"
    first, again = len(result.trials), len(result.again)
    assert len(seen) == first + again
    assert len(set(seen[:first])) == 1
    assert len(seen[0][2]) == 200
    assert len(set(seen[first:])) == 1
    assert seen[first] not in seen[:first]
    assert result.advised is not None
    settings = dict(pair.split("=") for pair in result.advised.split(", "))
    assert set(settings) <= {
        f"models.cart.{key}" for key in ("leaf_regression", "min_effective_rows", "min_leaf")
    }
    chosen, present = result.best, result.trials[0]
    assert chosen is not None
    assert (present.word, chosen.word) == ("fail", "pass")
    assert chosen.persons is not None
    assert present.low is not None
    assert chosen.persons < present.low
    assert advise(config) == result  # the same draws, the same advice


def test_every_problem_is_reported_before_anything_is_fitted(
    people: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(Plan, "refit")
    target = tmp_path / "advice.json"
    target.write_text("mine")
    with pytest.raises(ConfigError) as caught:
        advise({**people, "m": 0, "visit_sequence": ["age", "wage"]}, json=target)
    problems = "; ".join(caught.value.problems)
    assert all(word in problems for word in ("advice.json exists", "m:", "wage"))
    assert target.read_text() == "mine"


def test_where_settings_mend_nothing_none_is_tried(people: dict[str, Any], tmp_path: Path) -> None:
    frame = pd.read_csv(tmp_path / "people.csv").head(60)
    frame.to_csv(tmp_path / "few.csv", index=False)
    few = {**people, "data": {"path": str(tmp_path / "few.csv")}, "checks": False}
    result = advise(few)
    assert (result.finding, result.trials, result.advised) == (None, (), None)
    assert "Nothing to try" in result.sentence
