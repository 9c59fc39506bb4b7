"""Which history each variable of a panel gets, in which order, and the rules across time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthesizer.config.reading import read_chain_config
from synthesizer.data.errors import ConfigError
from synthesizer.data.sources import from_pandas
from synthesizer.engine.registry import Registry
from synthesizer.plan.inputs import read_frame
from synthesizer.plan.plan import Plan, make_plan
from tests.plan.sources import careers as frame

REGISTRY = Registry.load()


PANEL = {"person": "person", "time": "year", "career": "state"}


def planned(data: pd.DataFrame | None = None, **options: Any) -> Plan:
    options = {"panel": PANEL, "min_stratum_rows": 1} | options
    config = read_chain_config(options)
    raw = from_pandas(frame() if data is None else data)
    return make_plan(config, read_frame(raw, config), REGISTRY)


def models(plan: Plan) -> dict[str, str]:
    return {step.variable: step.method for step in plan.spec.steps}


def step(plan: Plan, name: str) -> Any:
    return next(s for s in plan.spec.steps if s.variable == name)


def test_histories_follow_from_how_many_persons_change() -> None:
    plan = planned()
    assert models(plan) == {
        "state": "career",
        "sex": "time_invariant",
        "grade": "lag_one",
        "race": "mostly_constant",
    }
    assert list(models(plan)) == ["sex", "state", "grade", "race"]


@pytest.mark.parametrize(
    "options",
    [
        {"visit_sequence": ["state"]},
        {"variables": {"sex": {"predictors": ["career.moves"]}}},
        {"forbid": ["sex == 'f' and state == 'work'"]},
        {"structural_zeros": [["sex", "state"]]},
    ],
)
def test_what_hangs_on_the_careers_comes_after_them(options: dict[str, Any]) -> None:
    plan = planned(on_violation="ignore", **options)
    assert list(models(plan))[:2] == ["state", "sex"]


def test_presence_is_the_career_where_none_is_named() -> None:
    plan = planned(panel={"person": "person", "time": "year"})
    assert models(plan) == {
        "year": "career",
        "sex": "time_invariant",
        "state": "lag_one",
        "grade": "lag_one",
        "race": "mostly_constant",
    }


def test_a_plain_model_becomes_the_base() -> None:
    plan = planned(
        variables={"grade": {"method": "forest", "options": {"n_trees": 3}}},
        models={"forest": {"min_leaf": 7}, "cart": {"min_leaf": 11}},
    )
    base = step(plan, "grade").model.base
    assert (type(base).__name__, base.n_trees, base.min_leaf) == ("Forest", 3, 7)
    assert models(plan)["grade"] == "lag_one"
    assert step(plan, "race").model.base.min_leaf == 11


def test_predictors_are_earlier_variables_and_what_follows_from_the_careers() -> None:
    plan = planned(visit_sequence=["state", "sex"])
    assert step(plan, "state").predictors == ()
    derived = {"year", "career.first", "career.last", "career.gaps", "career.moves"}
    assert derived | {"state"} <= set(step(plan, "sex").predictors)
    assert {"sex", "state"} | derived <= set(step(plan, "grade").predictors)
    assert "race" not in step(plan, "grade").predictors
    variables = {
        "grade": {"predictors": ["sex", "own.before", "career.moves", "own.changed sex"]},
        "race": {"exclude": ["career.moves", "own.since", "own.ever sex"]},
    }
    plan = planned(variables=variables)
    assert step(plan, "grade").predictors == ("sex", "career.moves")
    assert "career.moves" not in step(plan, "race").predictors
    assert step(plan, "race").model.left_out == ("own.since", "own.ever sex")


def test_rules_are_compiled_for_their_variable_and_counted() -> None:
    rules = [
        {"variable": "state", "absorbing": ["work"], "never": [["school", "work"]]},
        {"variable": "grade", "non_decreasing": True},
    ]
    options: dict[str, Any] = {"panel": PANEL | {"rules": rules}}
    options["variables"] = {"grade": {"kind": "numeric"}}
    plan = planned(**options)
    (state,) = step(plan, "state").paths
    school, work = (("school", "work").index(s) for s in ("school", "work"))
    assert not state.allowed[work, school]
    assert not state.allowed[school, work]
    assert state.allowed.diagonal().all()
    (grade,) = step(plan, "grade").paths
    assert grade.non_decreasing
    assert not step(plan, "sex").paths
    falls = frame().groupby("person")["grade"].diff() < 0
    persons = frame().loc[falls, "person"].nunique()
    (rule_note,) = [note for note in plan.notes if "'grade never falls'" in note]
    assert f"{falls.sum()} rows of {persons} persons" in rule_note
    assert not any(
        "never falls" in note for note in planned(**options, on_violation="ignore").notes
    )


def test_support_is_planned_on_its_last_variable() -> None:
    plan = planned(structural_zeros=[["sex", "race"], ["grade", "year"]])
    assert [(s.text, s.variable) for s in plan.spec.forbids] == [
        ("structural_zeros [sex, race]", "race"),
        ("structural_zeros [year, grade]", "grade"),
    ]


def with_branches(n: int = 300) -> pd.DataFrame:
    """Persons with a branch and one of its two jobs, each of which some change together."""
    data = frame(n)
    rng = np.random.default_rng(0)
    branch = np.where(
        (data.person % 3 == 0) & (data.year == 2003),
        rng.integers(0, 8, len(data)),
        data.person % 8,
    )
    job = np.where(data.person % 2 == 0, branch, branch + 8)
    data = data.assign(branch=branch, job=[f"job {number}" for number in job])
    data = data.astype({"branch": str})
    return data.drop(columns=["grade", "race"])


def test_impossible_pairs_are_found_and_kept_with_those_that_are_listed() -> None:
    data = with_branches()
    plan = planned(data, structural_zeros="auto")
    zeros = {zero.combinations.names: zero for zero in plan.spec.forbids}
    assert not zeros["branch", "job"].is_firm
    made = next(plan.spec.fit(plan.table, plan.seed, n_jobs=1).generate(plan.seed, n_jobs=1))
    assert not zeros["branch", "job"].broken(made).any()
    listed = planned(data, structural_zeros=["auto", ["branch", "job"]])
    firm = {zero.combinations.names: zero.is_firm for zero in listed.spec.forbids}
    assert firm["branch", "job"]
    assert not planned(data).spec.forbids
    other = planned(data.drop(columns="job"), structural_zeros="auto").spec.forbids
    # who changes the branch is at school then: at work branches go with sexes
    assert {zero.combinations.names for zero in other} == {("sex", "state", "branch")}


def test_what_is_kept_comes_first_and_is_noted() -> None:
    plan = planned(keep=["sex"])
    assert plan.spec.order[:2] == ("sex", "state")
    assert plan.copied == ("sex",)
    assert step(plan, "state").predictors == ("sex",)
    assert any("real values of real persons" in note for note in plan.notes)
    whole = planned(keep=["grade", "state"])
    assert whole.spec.order[:2] == ("state", "grade")
    assert planned(keep=["sex"], rows=60).rows == 60


def test_what_follows_may_name_time_and_careers() -> None:
    data = frame()
    data["seniority"] = data["year"] - 2001 + 1
    follows = {"seniority": {"derived": "year - `career.first` + 1"}}
    plan = planned(data, variables=follows, visit_sequence=["seniority", "grade"])
    assert plan.spec.order.index("state") < plan.spec.order.index("seniority")
    assert set(step(plan, "seniority").predictors) == {"year", "career.first"}


def test_moderators_need_not_be_predictors_but_have_to_be_there() -> None:
    known = ["sex", "career.periods"]
    plan = planned(models={"cart": {"moderators": known}})
    assert step(plan, "sex").model.base.moderators == tuple(known)
    with pytest.raises(ConfigError) as error:
        planned(models={"cart": {"moderators": ["sexx"]}})
    assert len(error.value.problems) == 1, error.value.problems


def test_rules_about_what_few_persons_change_are_noted() -> None:
    plan = planned(rules=[{"if": "state == 'work'", "then": {"race": "a"}}])
    assert any("sets 'race', which few persons ever change" in note for note in plan.notes)
    plan = planned(rules=[{"if": "sex == 'm'", "then": {"race": "a"}}])
    assert not any("few persons ever change" in note for note in plan.notes)


def ages(scale: float, *, rises: bool = True) -> pd.DataFrame:
    """Six years of 60 persons at ages in classes of five years, time in years times a scale."""
    person, year = np.repeat(np.arange(60), 6), np.tile(np.arange(6), 60)
    age = person % 20 + (year if rises else 0)
    data = {"person": person, "year": (year * scale).round(), "age": [f"c{a // 5}" for a in age]}
    return pd.DataFrame(data | {"exact": age, "sex": person % 2}).astype({"sex": str})


@pytest.mark.parametrize(
    ("scale", "rises", "options", "noted"),
    [
        (365.25, True, {"width": 1826}, False),
        (365.25, True, {"width": 5}, True),
        (1, False, {"width": [5, 5, 5, 5, 5]}, True),
        (1, True, {"rate": 1}, False),
        (365.25, True, {"rate": 1}, True),
    ],
)
def test_variables_that_advance_otherwise_are_noted(
    scale: float, rises: bool, options: dict[str, Any], noted: bool
) -> None:
    name = "exact" if "rate" in options else "age"
    kinds = {"age": {"kind": "ordered", "levels": [f"c{k}" for k in range(5)]}, "exact": {}}
    variables = kinds | {name: kinds[name] | {"method": "advance", "options": options}}
    panel = {"person": "person", "time": "year"}
    plan = planned(ages(scale, rises=rises), panel=panel, variables=variables)
    notes = [note for note in plan.notes if "or use another model" in note]
    assert len(notes) == noted
    assert all("days" in note or "per day" in note for note in notes)
