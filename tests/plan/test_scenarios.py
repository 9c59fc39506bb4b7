"""Problems of the checks before anything is fitted: all of them, each with its key."""

from __future__ import annotations

from typing import Any

import numpy as np

from synthesizer.config.reading import read_chain_config
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.engine.registry import Registry
from synthesizer.measures.catalogue import CHECKS, LIMITS
from synthesizer.plan.context import Context
from synthesizer.plan.inputs import Input
from synthesizer.plan.scenarios import plan_scenarios
from tests.tables import persons

PERSON = Variable(name="person", kind=Kind.ID)
TABLE = persons(200).with_column(Column(PERSON, np.repeat(np.arange(100.0), 2)))
KNOWN: dict[str, Any] = {"keys": ["sex", "age"], "target": "marital"}


def planned(checks: Any, table: Table = TABLE, **further: Any) -> tuple[Any, list[str], list[str]]:
    config = read_chain_config({"checks": checks} | further)
    context = Context(config=config, data=Input.of(table), registry=Registry())
    scenarios = plan_scenarios(context)
    return scenarios.made, [*scenarios.notes], [*scenarios.problems]


def test_scenarios_are_as_configured() -> None:
    checks = KNOWN | {
        "groups": {"age": [20, 40]},
        "exclude": [{"target_level": "single", "key": "age", "key_level": 3}],
        "scenarios": [{"keys": ["sex"], "target": "income", "tolerance": {"relative": 0.1}}],
    }
    (first, second), _, problems = planned(checks)
    assert problems == []
    assert first.groups == {"age": (20, 40)}
    assert first.exclude[0].key == "age"
    assert (second.target, second.tolerance.relative) == ("income", 0.1)


EVERYTHING: dict[str, Any] = KNOWN | {
    "attacks": True,
    "inference": {"sensitive": "marital", "public": ["sex"]},
    "differential_confidentiality": {"by": "sex", "units": "person"},
}


def test_a_limit_whose_check_is_off_is_refused() -> None:
    lacking = {"panel": "needs ", "view": "needs ", "weight": "needs a survey weight"}
    for key, (measure, kind, _) in LIMITS.items():
        limits = {"limits": {key: 0.5}}
        needed = [check for check in (measure.check, *kind.checks) if check is not None]
        assert needed
        for check in needed:
            off = EVERYTHING | {check: [] if CHECKS[check].several else False}
            sentence = f"limits.{key}: the check {check!r} is off; switch it on or remove the"
            assert any(problem.startswith(sentence) for problem in planned(off, **limits)[2]), key
        problems = planned(EVERYTHING, **limits)[2]
        needs = {*measure.needs, *(["view"] if measure.view else [])}
        starts = [f"limits.{key}: {lacking[what]}" for what in lacking if what in needs]
        assert len(problems) == len(starts), key
        assert all(words in problem for words, problem in zip(starts, problems, strict=True))
