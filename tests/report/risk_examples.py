"""Checks with every measure of risk, as the package writes them."""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from synthesizer import assess
from synthesizer.jobs.assess import Question
from synthesizer.measures.risk.attacks import Attack, AttackResult
from synthesizer.measures.risk.dominance import Exclusion
from synthesizer.measures.risk.scenario import Scenario, Tolerance
from synthesizer.report.page import Chart, DataTable, Gap, Note, Section, Words
from synthesizer.report.untyped import Record

KEYS = ("town", "age", "sex")


def people(n: int, seed: int) -> pd.DataFrame:
    """Persons whose job depends on their town; many are unique by age."""
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 4, n)
    job = np.where(rng.random(n) < 0.6, town, rng.integers(0, 4, n))
    return pd.DataFrame(
        {
            "town": np.array(list("abcd"))[town],
            "age": rng.integers(18, 60, n),
            "sex": np.array(["f", "m"])[rng.integers(0, 2, n)],
            "job": np.array(["cook", "smith", "nurse", "baker"])[job],
            "pay": rng.normal(100, 20, n).round(),
        }
    )


@cache
def _risk() -> str:
    original = people(300, 1)
    synthetic = [pd.concat([original[:60], people(240, seed)]) for seed in (2, 3, 4)]
    result = assess(
        original,
        synthetic,
        keys=KEYS,
        target="job",
        exclude=(Exclusion(target_level="cook", key="town", key_level="a"),),
        scenarios=[
            Scenario(keys=KEYS, target="pay", tolerance=Tolerance(relative=0.05)),
            Scenario(keys=("town", "age"), target="pay", groups={"pay": 3, "age": (30.0, 40.0)}),
        ],
        questions=[
            Question(sensitive="sex", public=("town", "age"), baseline=("town",)),
            Question(sensitive="job", public=("town", "sex")),
        ],
        control=people(300, 9),
        by="sex",
    )
    return json.dumps(result.to_dict() | {"attacks": attacks().to_dict()})


def attacks() -> AttackResult:
    """Attacks with a clear risk, none at all, a weak one, and one that could not be made."""
    common: dict[str, Any] = {"asked": 500, "confidence": 0.95}
    return AttackResult(
        keys=KEYS,
        target="job",
        linked=(("town",), ("age", "sex")),
        records=300,
        all_fitted=300,
        all_unseen=300,
        synthetic=300,
        max_attempts=50_000,
        confidence=0.95,
        attacks=(
            Attack.of(
                "singling out by rare values",
                n=100,
                successes=80,
                control_successes=20,
                baseline=0.02,
                fitted_kept=0.5,
                **common,
            ),
            Attack.of("linkability", n=200, successes=4, control_successes=4, baseline=0, **common),
            Attack.of("inference", n=200, successes=4, control_successes=4, baseline=1, **common),
            Attack.of(
                "singling out by combinations",
                n=0,
                successes=0,
                control_successes=0,
                baseline=None,
                **common,
            ),
        ),
    )


def risk() -> dict[str, Any]:
    """Return the part about risk; the caller may change it."""
    return copy.deepcopy(json.loads(_risk()))


def record(part: Any) -> Record:
    """Return a run with a part about risk."""
    return Record(manifest={}, checks={"format": 2, "risk": part})


def figure(part: dict[str, Any], name: str, scenario: int = 0) -> dict[str, Any]:
    """Return a figure of a scenario, to be changed."""
    return next(f for f in part["scenarios"][scenario]["figures"] if f["name"] == name)


def one_dataset(part: dict[str, Any]) -> dict[str, Any]:
    """Leave the first dataset only."""
    for scenario in part["scenarios"]:
        scenario["cap"]["synthetic"] = [r for r in scenario["cap"]["synthetic"] if r["m"] == 1]
        scenario["regression_on_m"] = []
    return part


def tables(section: Section) -> list[DataTable]:
    """Return every table of a section, those behind its charts too."""
    own = [block for block in section.blocks if isinstance(block, DataTable)]
    behind = [chart.table for chart in charts(section) if chart.table is not None]
    return own + behind


def charts(section: Section) -> list[Chart]:
    """Return the charts of a section."""
    return [block for block in section.blocks if isinstance(block, Chart)]


def gaps(section: Section) -> list[Gap]:
    """Return what a section says is missing."""
    return [block for block in section.blocks if isinstance(block, Gap)]


def notes(section: Section, tone: str = "") -> list[str]:
    """Return the notes of a section, of one tone where it is given."""
    found = [block for block in section.blocks if isinstance(block, Note)]
    return [note.text for note in found if not tone or note.tone == tone]


def spoken(section: Section) -> str:
    """Return the paragraphs of a section as one text."""
    return " ".join(
        paragraph
        for block in section.blocks
        if isinstance(block, Words)
        for paragraph in block.paragraphs
    )
