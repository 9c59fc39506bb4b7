"""Fits that a configuration asks for: formulas, names and rules are checked before the run."""

from __future__ import annotations

from typing import Any

from synthesizer.config.reading import read_chain_config
from synthesizer.data.errors import ConfigError
from synthesizer.data.randomness import Seed
from synthesizer.engine.registry import Registry
from synthesizer.measures.utility.compare_fit import FitRequest
from synthesizer.measures.utility.requested_fits import requested_fits
from synthesizer.plan.inputs import Input
from synthesizer.plan.plan import Plan, make_plan
from tests.tables import persons

REGISTRY = Registry.load()
TABLE = persons(300)


def planned(**options: Any) -> tuple[Any, tuple[str, ...]]:
    try:
        return make_plan(read_chain_config(options), Input.of(TABLE), REGISTRY), ()
    except ConfigError as error:
        return None, error.problems


def fits_of(plan: Plan) -> list[FitRequest]:
    """Return the fits as the checks compute them."""
    return [request for _, (request, _, _) in requested_fits(plan.checking(Seed(0)).case)]


def test_a_formula_alone_a_list_and_settings() -> None:
    plan, problems = planned(checks={"fits": "income ~ age"})
    assert problems == ()
    assert [(fit.formula, fit.rule) for fit in fits_of(plan)] == [("income ~ age", "simple")]
    settings = {"formula": "age ~ sex", "family": "poisson", "clusters": "marital"}
    plan, problems = planned(checks={"fits": ["income ~ age", settings]}, m=2, proper=True)
    assert problems == ()
    assert [(fit.family, fit.rule, fit.clusters) for fit in fits_of(plan)] == [
        ("ols", "proper", None),
        ("poisson", "proper", "marital"),
    ]
    plan, _ = planned(checks={"fits": "income ~ age"}, keep=["sex"], m=3)
    assert fits_of(plan)[0].rule == "partially"
