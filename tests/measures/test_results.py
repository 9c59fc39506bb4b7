"""Limits: every scenario is held against them, and what could not be computed counts as above."""

from __future__ import annotations

from dataclasses import replace

import pytest

from synthesizer.data.table import Table
from synthesizer.measures.figure import Attempts
from synthesizer.measures.results import LIMITED, CheckResults, RiskResult, exceeded_limits
from synthesizer.measures.risk import Scenario, Tolerance
from synthesizer.measures.risk.scenario_risk import Measures, ScenarioRisk, scenario_risk
from synthesizer.measures.settings import LimitConfig
from tests.tables import coded, persons

ORIGINAL, MADE = persons(200), persons(200, 1)


def risk_of(keys: tuple[str, ...], target: str, tolerance: Tolerance | None = None) -> ScenarioRisk:
    scenario = Scenario(keys=keys, target=target, tolerance=tolerance)
    return scenario_risk(ORIGINAL, [MADE], scenario, Measures(), Attempts())


def results(*scenarios: ScenarioRisk) -> CheckResults:
    return CheckResults(risk=RiskResult(scenarios=scenarios), utility=None, failed={})


FIRST = risk_of(("sex", "age"), "marital")
SECOND = risk_of(("age", "marital"), "sex")


def test_every_limit_is_about_a_figure() -> None:
    assert set(LIMITED) == set(LimitConfig.model_fields) - {
        "mean_two_way",
        "worst_two_way",
        "worst_one_way",
        "pmse_ratio",
        "sequence_ratio",
    }


def test_a_measure_that_failed_in_one_scenario_counts_as_above() -> None:
    failed = replace(SECOND, attribute=None)
    assert exceeded_limits(results(FIRST, SECOND), LimitConfig(disco=1.0)) == ()
    (words,) = exceeded_limits(results(FIRST, failed), LimitConfig(disco=1.0))
    assert "age, marital -> sex" in words
    assert "could not be computed" in words


def test_a_tolerance_has_no_classes_and_is_not_held_against_their_limits() -> None:
    close = risk_of(("sex", "age"), "income", Tolerance(relative=0.1))
    limits = LimitConfig(tcap=1.0, disco=1.0, cap=1.0)
    assert exceeded_limits(results(FIRST, close), limits) == ()
    assert len(exceeded_limits(results(close), LimitConfig(disco=1.0))) == 1
    (words,) = exceeded_limits(results(close), LimitConfig(cap=0.0))
    assert "sex, age -> income" in words


def test_where_nobody_is_unique_nobody_is_told() -> None:
    coarse = risk_of(("sex",), "marital")
    assert coarse.cap is not None
    assert coarse.cap.sizes["uniques"] == 0
    limits = LimitConfig(cap_u=0.1, cap_special_uniques=0.1, tcap=0.1)
    assert exceeded_limits(results(coarse), limits) == ()


def test_without_any_scenario_every_limit_counts_as_above() -> None:
    limits = LimitConfig(nearer_share=0.9, cap=1.0, auc=1.0)
    above = exceeded_limits(results(), limits)
    assert len(above) == 3
    assert all("could not be computed" in words for words in above)


@pytest.mark.parametrize("limit", ["cap", "cap_undefined", "cap_u", "tcap", "repu", "disco"])
def test_limits_are_those_of_the_figures(limit: str) -> None:
    found = results(FIRST, SECOND)
    values = [value for _, value in found.limited(limit) if value is not None]
    assert len(values) == 2
    assert getattr(found.summary, limit) == values[0]
    assert exceeded_limits(found, LimitConfig(**{limit: max(values)})) == ()
    assert len(exceeded_limits(found, LimitConfig(**{limit: min(values) / 2}))) == 2


def test_values_that_the_original_lacks_are_told() -> None:
    other = MADE.with_column(coded("sex", [0] * 150 + [1] * 50, ("F", "m")))
    found = scenario_risk(ORIGINAL, [Table(other.columns)], FIRST.scenario, Measures(), Attempts())
    assert found.unfamiliar == {"sex": 0.75}
    assert any("75% of the synthetic records have a value of 'sex'" in w for w in found.warnings)
    assert FIRST.unfamiliar == {}
