"""Limits: every scenario is held against them, and what could not be computed counts as above."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
import pytest

from synthesizer.data.table import FloatArray, Table
from synthesizer.measures.catalogue import AXES, CHECKS, FIGURES, LIMITS, MEASURES, SUMMARY
from synthesizer.measures.checks import Checks
from synthesizer.measures.figure import in_units, typed
from synthesizer.measures.halves import FromHalf
from synthesizer.measures.results import RiskResult, checks_content
from synthesizer.measures.risk.scenario_risk import ScenarioRisk
from synthesizer.measures.scenario import Scenario, Tolerance
from synthesizer.measures.settings import ALL_OFF, CheckSettings, LimitConfig
from synthesizer.measures.verdict import CheckResults
from tests.tables import persons

ORIGINAL, MADE = persons(200), persons(200, 1)


def checked(made: Table, *scenarios: Scenario, **options: Any) -> CheckResults:
    checks = Checks(ORIGINAL, CheckSettings(**options), scenarios=scenarios)
    checks.add(made)
    return checks.finish(lambda half, m, repeat: FromHalf([half] * m, sexes))


def sexes(table: Table) -> Iterator[tuple[str, FloatArray]]:
    """Yield the log-probabilities of one variable, by a coin."""
    yield "sex", np.full(table.n_rows, np.log(0.5))


def risk_of(keys: tuple[str, ...], target: str, tolerance: Tolerance | None = None) -> ScenarioRisk:
    scenario = Scenario(keys=keys, target=target, tolerance=tolerance)
    return checked(MADE, scenario).risk.scenarios[0]


def results(*scenarios: ScenarioRisk) -> CheckResults:
    return CheckResults(risk=RiskResult(scenarios=scenarios), utility=None)


FIRST = risk_of(("sex", "age"), "marital")
SECOND = risk_of(("age", "marital"), "sex")


@cache
def everything() -> CheckResults:
    """Every measure of a plain file."""
    return checked(
        MADE,
        FIRST.scenario,
        attacks={"attempts": 20},
        differential_confidentiality={"by": "sex"},
        inference={"sensitive": "marital", "public": ["sex", "age"], "groups": {"age": 3}},
        fits="age ~ sex",
        propensity=["logit", "cart"],
    )


def test_the_catalogue_says_everything_once() -> None:
    keys = [kind.key for measure in MEASURES.values() for kind in measure.figures]
    assert len(keys) == len(set(keys)) == len(FIGURES)
    checks = [measure.check for measure in MEASURES.values() if measure.words]
    assert len(checks) == len(set(checks))
    assert {measure.check for measure in MEASURES.values()} - {None} == set(CHECKS)
    assert set(CHECKS) < set(CheckSettings.model_fields)
    assert set(LimitConfig.model_fields) == {*LIMITS, "profile", "purpose", "release"}
    assert set(LIMITS) <= set(SUMMARY)
    assert all(kind.title and kind.meaning for kind in AXES.values())
    off = CheckSettings(**ALL_OFF)
    assert not any(measure.runs(off) for measure in MEASURES.values() if measure.check)
    assert (off.needs_halves, off.needs_scenario) == (False, False)


def test_every_figure_has_a_kind_with_its_name() -> None:
    for _, figure in everything().figures:
        (kind,) = (
            kind
            for kind in FIGURES.values()
            if re.fullmatch(re.escape(kind.key).replace(r"\{\}", "[^_]+"), figure.key)
        )
        name = re.escape(in_units(kind.name, "records")).replace(r"\{\}", ".+")
        assert re.fullmatch(rf"{name}( \(all \d+ datasets together\))?", figure.name)
        assert figure.meaning.startswith(in_units(kind.meaning, "records"))
        assert figure.direction == kind.direction


def test_every_figure_is_in_the_file_and_is_read_back() -> None:
    checked = everything()
    assert checked.failed == {}
    content = json.loads(json.dumps(checks_content(checked), allow_nan=False))
    assert typed(CheckResults, content["results"]) == checked
    risk, utility = checked.risk, checked.utility
    assert utility is not None
    of_risk = (risk.copied, risk.nearest, risk.replicated, risk.attacks, *risk.inference)
    parts = (*of_risk, utility.distance, *risk.further.values(), *utility.further.values())
    every = (*risk.scenarios, *filter(None, parts), *utility.propensity, *utility.fits)
    computed = list(chain.from_iterable(part.figures for part in every))
    listed = {(row["key"], row["name"], row["value"], row["n"]) for row in content["figures"]}
    assert {(f.key, f.name, f.value, f.n) for f in computed} <= listed
    tables = [row for row in content["figures"] if row["place"] == "tables"]
    assert len(computed) + len(tables) == len(content["figures"])
    assert all(row["key"] and row["meaning"] for row in content["figures"])
    # each figure of the catalogue is there, but those of a panel
    absent = {"conditional_spread"}  # no number nearly determines another one here
    absent |= {key for key in FIGURES if "three_way" in key or "{}" in key}
    others = {"panel", "weight"}
    of_others = [m for m in MEASURES.values() if m.view or others.intersection(m.needs)]
    absent |= {kind.key for measure in of_others for kind in measure.figures}
    assert set(FIGURES) - absent <= {row["key"] for row in content["figures"]}


def test_a_measure_that_failed_in_one_scenario_counts_as_above() -> None:
    failed = SECOND.model_copy(update={"attribute": None})
    assert results(FIRST, SECOND).exceeded(LimitConfig(disco=1.0)) == ()
    (words,) = results(FIRST, failed).exceeded(LimitConfig(disco=1.0))
    assert "age, marital -> sex" in words
    assert "could not be computed" in words


@pytest.mark.parametrize("limit", ["cap", "cap_undefined", "cap_u", "tcap", "repu", "disco"])
def test_limits_are_those_of_the_figures(limit: str) -> None:
    checked = results(FIRST, SECOND)
    values = [figure.value for _, figure in checked.limited(limit) if figure is not None]
    assert len(values) == 2
    assert getattr(checked.summary, limit) == values[0]
    assert checked.exceeded(LimitConfig(**{limit: max(values)})) == ()
    assert len(checked.exceeded(LimitConfig(**{limit: min(values) / 2}))) == 2
