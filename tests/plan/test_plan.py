from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from synthesizer.config.reading import read_chain_config, read_config
from synthesizer.data.errors import ConfigError
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.engine.registry import Registry
from synthesizer.measures.utility.requested_fits import requested_fits
from synthesizer.plan.inputs import Columns, Input
from synthesizer.plan.plan import Plan, make_plan, plain_config
from tests.tables import coded, numeric, persons

REGISTRY = Registry.load()
TABLE = persons(200)


def plan(table: Table = TABLE, **options: Any) -> Plan:
    return make_plan(read_chain_config(options), Input.of(table), REGISTRY)


def problems(table: Table = TABLE, **options: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        plan(table, **options)
    return str(caught.value)


def methods(made: Plan) -> dict[str, str]:
    return {step.variable: step.method for step in made.spec.steps}


def predictors(made: Plan) -> dict[str, tuple[str, ...]]:
    return {step.variable: step.predictors for step in made.spec.steps}


def test_file_order_first_sampled_and_all_earlier_predict() -> None:
    made = plan()
    assert made.spec.order == ("sex", "age", "marital", "income")
    assert methods(made) == dict.fromkeys(TABLE, "cart") | {"sex": "sample"}
    assert predictors(made)["marital"] == ("sex", "age")


def test_four_models_as_in_synthpop_are_the_parametric_set() -> None:
    four = ["normrank", "logreg", "polyreg", "polr"]
    grade = coded("grade", [i % 3 for i in range(200)], "abc", kind=Kind.ORDERED)
    table = TABLE.with_column(grade)
    listed, named = (plan(table, default_method=models) for models in (four, "parametric"))
    assert methods(named) == {
        "sex": "sample", "age": "normrank", "marital": "logistic", "income": "normrank",
        "grade": "ordinal",
    }  # fmt: skip
    assert methods(listed) == methods(named)
    missing = [[step.missing_method for step in each.spec.steps] for each in (listed, named)]
    assert missing[0] == missing[1]
    assert {*missing[0]} & {"multinomial", "logistic"}


def test_models_by_position_of_the_columns() -> None:
    made = plan(method=["sample", "norm", "", "~ age * 2"])
    assert methods(made) == {
        "marital": "keep", "sex": "sample", "age": "normal", "income": "derived",
    }  # fmt: skip
    assert made.spec.order[0] == "marital"
    assert plan(method=["", "norm", "", ""], keep=["sex"]).spec.order[0] == "sex"


def test_a_model_for_each_kind_and_options_of_models() -> None:
    made = plan(
        default_method={"numeric": "pmm", "categorical": "rf"},
        models={"cart": {"min_leaf": 9}},
        variables={"income": {"method": "cart", "options": {"min_leaf": 3}}},
        method={"marital": "ctree"},
    )
    assert methods(made) == {"sex": "sample", "age": "pmm", "marital": "cart", "income": "cart"}
    leaves = {s.variable: getattr(s.model, "min_leaf", None) for s in made.spec.steps}
    assert (leaves["marital"], leaves["income"]) == (9, 3)


def test_predictors_and_exclusions() -> None:
    made = plan(
        predictor_matrix={"marital": ["age"]},
        variables={"income": {"exclude": ["marital"]}},
    )
    assert predictors(made)["marital"] == ("age",)
    assert predictors(made)["income"] == ("sex", "age")


WHOLE = "0 if missing(income) else income / 100"


def test_derived_variables_move_behind_their_inputs() -> None:
    made = plan(variables={"sex": {"kind": "categorical"}, "age": {"derived": WHOLE}})
    assert made.spec.order == ("sex", "marital", "income", "age")
    assert methods(made)["age"] == "derived"
    assert predictors(made)["age"] == ("income",)
    assert methods(plan(method={"age": f"~ {WHOLE}"}))["age"] == "derived"


def test_ids_take_no_part() -> None:
    ids = Column(Variable(name="id", kind=Kind.ID), numeric("id", range(200)).data)
    assert "id" not in plan(Table([ids, *TABLE.columns])).spec.order


def faulty(data: Input, options: dict[str, Any]) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        make_plan(read_chain_config(options), data, REGISTRY)
    return caught.value.problems


def test_plan_with_faulty_columns_tells_the_other_problems_only() -> None:
    columns = Columns(names=(*TABLE.names, "bad"), sound=frozenset(TABLE))
    options = {
        "keep": ["bad"],
        "visit_sequence": ["bad", 5, "sex"],
        "variables": {"bad": {"method": "crat"}, "age": {"derived": "bad * 2"}},
        "forbid": ["bad > 1 and age > 3"],
        "rules": [{"if": "bad > 1", "then": {"income": 1}}, {"if": "age > 1", "then": {"bad": 1}}],
        "checks": {"keys": ["bad"], "target": "sex"},
        "strata": ["worse"],
    }
    problems = faulty(Input(table=TABLE, columns=columns), options)
    assert len(problems) == 2, problems
    assert "'cart'" in problems[0] + problems[1]
    assert "'worse'" in problems[0] + problems[1]


def test_a_configuration_is_repeated_in_its_own_words_and_without_a_password() -> None:
    content = {
        "data": {"sql": {"url": "postgresql://ann:hidden@host/db", "query": "SELECT 1"}},
        "random_key": {"from": "/out/manifest.json"},
        "rules": [{"if": "age < 15", "then": {"income": "5"}}],
    }
    config = read_config(content)
    text = plain_config(config)
    assert "hidden" not in str(text)
    assert {key: text[key] for key in ("rules", "random_key")} == {
        key: content[key] for key in ("rules", "random_key")
    }


@pytest.mark.parametrize(
    "options", [{"variables": {"double": {"derived": "age * 2"}}},
                {"method": {"double": "~ age * 2"}}]
)  # fmt: skip
def test_what_is_computed_before_numbers_are_rounded_is_noted(options: dict[str, Any]) -> None:
    double = numeric("double", TABLE["age"].data * 2)
    made = plan(Table([*TABLE.columns, double]), after={"round": {"age": 5}}, **options)
    assert sum("double" in note and "age" in note for note in made.notes) == 1


@pytest.mark.parametrize(
    ("after", "sentence"),
    [
        ({"top_code": {"high": 60}}, "high >= low"),
        ({"round": {"age": 5}}, "twice = 2 * age"),
        ({"blank_rare": {"variables": ["town"]}}, "county follows from town"),
        ({"bottom_code": {"other": 3}}, ""),
    ],
)
def test_steps_after_the_synthesis_that_may_break_a_relation_are_noted(after, sentence) -> None:
    rng = np.random.default_rng(1)
    low, town, age = rng.integers(0, 90, 200), rng.integers(0, 12, 200), rng.integers(0, 70, 200)
    high = numeric("high", low + rng.integers(0, 9, 200))
    columns = [numeric("low", low), high, numeric("age", age), numeric("twice", 2 * age)]
    columns += [coded("town", town, "abcdefghijkl"), coded("county", town // 4, "xyz")]
    made = plan(Table([*columns, numeric("other", rng.integers(0, 9, 200))]), after=after)
    notes = [note for note in made.notes if note.startswith("after: changes variables")]
    assert [sentence in note for note in notes] == [True] * bool(sentence)


def test_kept_variables_come_first_and_others_as_named_by_name_or_position() -> None:
    made = plan(keep=["marital"])
    assert made.spec.order == ("marital", "sex", "age", "income")
    assert methods(made)["marital"] == "keep"
    for given in (["income", "sex"], [4, 1]):
        made = plan(visit_sequence=given)
        assert made.spec.order == ("income", "sex", "age", "marital")
        assert any("2 variables are not listed" in note for note in made.notes)


def test_fits_are_a_formula_alone_or_a_list_with_settings() -> None:
    """As the checks compute them, by the rule of the synthesis."""

    def fits(requests: Any, **options: Any) -> list[tuple[Any, ...]]:
        case = plan(checks={"fits": requests}, **options).checking(Seed(0)).case
        listed = [request for _, (request, _, _) in requested_fits(case)]
        return [(fit.formula, fit.family, fit.rule, fit.clusters) for fit in listed]

    assert fits("income ~ age") == [("income ~ age", "ols", "simple", None)]
    settings = {"formula": "age ~ sex", "family": "poisson", "clusters": "marital"}
    assert fits(["income ~ age", settings], m=2, proper=True) == [
        ("income ~ age", "ols", "proper", None),
        ("age ~ sex", "poisson", "proper", "marital"),
    ]
    assert fits("income ~ age", keep=["sex"], m=3)[0][2] == "partially"
