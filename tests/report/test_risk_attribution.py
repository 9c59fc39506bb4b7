"""Differential confidentiality: the verdict, every split, groups."""

from __future__ import annotations

from typing import Any

import pytest

from synthesizer.measures.results import RiskResult
from synthesizer.measures.risk.differential import DifferentialResult
from synthesizer.report.blocks import Section
from synthesizer.report.risk_attribution import differential_section
from tests.report.blocks import notes
from tests.report.risk_examples import half, record, risk


def differential() -> DifferentialResult:
    return risk().scenarios[0].differential


def section(result: RiskResult | None = None) -> Section:
    return differential_section(record(half() if result is None else result))


@pytest.mark.parametrize(("low", "is_told"), [(-0.1, False), (0.9, True), (None, False)])
def test_a_group_that_is_told_apart_is_named(low: Any, is_told: bool) -> None:
    worst = differential().worst_group
    own = half(worst_group=worst.model_copy(update={"low": low, "high": 0.95}))
    named = [n for n in notes(section(own), "alert") if n.startswith("In group ")]
    assert (len(named) == 1) is is_told
