"""A run with every measure of risk, computed once on small data."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from synthesizer import check
from synthesizer.measures.results import RiskResult
from synthesizer.measures.risk.attacks import Attack, AttackResult
from synthesizer.measures.scenario import Exclusion, Question, Tolerance
from synthesizer.measures.verdict import CheckResults
from synthesizer.report import build
from synthesizer.report.blocks import Section
from synthesizer.report.record import Record
from tests.report.utility_examples import manifest

KEYS = ("town", "age", "sex")


def people(n: int, seed: int, town: str = "town") -> pd.DataFrame:
    """Persons whose job depends on their town; many are unique by age."""
    rng = np.random.default_rng(seed)
    towns = rng.integers(0, 4, n)
    job = np.where(rng.random(n) < 0.6, towns, rng.integers(0, 4, n))
    return pd.DataFrame(
        {
            town: np.array(list("abcd"))[towns],
            "age": rng.integers(18, 60, n),
            "sex": np.array(["f", "m"])[rng.integers(0, 2, n)],
            "job": np.array(["cook", "smith", "nurse", "baker"])[job],
            "pay": rng.normal(100, 20, n).round(),
        }
    )


@cache
def _risk(town: str) -> RiskResult:
    original, keys = people(300, 1, town), (town, *KEYS[1:])
    settings = {
        "exclude": [Exclusion(target_level="cook", key=town, key_level="a")],
        "scenarios": [
            {"keys": keys, "target": "pay", "tolerance": Tolerance(relative=0.05)},
            {"keys": (town, "age"), "target": "pay", "groups": {"pay": 3, "age": (30.0, 40.0)}},
        ],
        "inference": [
            Question(sensitive="sex", public=(town, "age"), baseline=(town,)),
            Question(sensitive="job", public=(town, "sex")),
        ],
        "differential_confidentiality": {"by": "sex"},
    }
    result = check(
        original,
        [pd.concat([original[:60], people(240, seed, town)]) for seed in (2, 3, 4)],
        people(300, 9, town),
        keys=keys,
        target="job",
        settings=settings,
        only="risk",
    ).risk
    return result.model_copy(update={"attacks": attacks()})


def attacks() -> AttackResult:
    """Attacks with a clear risk, none at all, a weak one, and one that could not be made."""
    common: dict[str, Any] = {"asked": 500, "confidence": 0.95}
    even: dict[str, Any] = {"n": 200, "successes": 4, "control_successes": 4, **common}
    none: dict[str, Any] = {"n": 0, "successes": 0, "control_successes": 0, **common}
    rare = {"n": 100, "successes": 80, "control_successes": 20, "fitted_kept": 0.5, **common}
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
            Attack.of("singling out by rare values", baseline=0.02, **rare),
            Attack.of("linkability", baseline=0, **even),
            Attack.of("inference", baseline=1, **even),
            Attack.of("singling out by combinations", baseline=None, **none),
        ),
    )


def risk(town: str = "town", **changes: Any) -> RiskResult:
    """Return every measure of risk; ``town`` is the name of a variable."""
    return _risk(town).model_copy(update=changes)


def scenario(number: int = 0, **changes: Any) -> RiskResult:
    """Return every measure of risk of one scenario, with other results."""
    part = risk().scenarios[number].model_copy(update=changes)
    return risk(scenarios=(part,))


def half(**changes: Any) -> RiskResult:
    """Return the first scenario with another comparison of halves."""
    differential = risk().scenarios[0].differential
    return scenario(differential=differential.model_copy(update=changes))


def record(result: RiskResult | None = None, **facts: Any) -> Record:
    """Return a run with risk and nothing else."""
    risks = risk() if result is None else result
    results = CheckResults(risk=risks, failed=risks.failed)
    return Record(manifest(**facts), results)


ANCHORS = ("risk", "cap", "differential", "identity", "uniques", "nearest", "inference", "attacks",
           "further-risk")  # fmt: skip


def risk_sections(record: Record) -> list[Section]:
    """Return the sections of the report about risk."""
    return [section for section in build.sections(record) if section.anchor in ANCHORS]
