"""What follows from another variable is computed, unless the configuration wants it drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from synthesizer.config.reading import read_chain_config
from synthesizer.data.errors import ConfigError
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Table
from synthesizer.engine.registry import Registry
from synthesizer.plan.inputs import Input
from synthesizer.plan.plan import Plan, make_plan
from tests.tables import coded, numeric

N = 400
RNG = np.random.default_rng(5)
INCOME = RNG.lognormal(8, 1, N).round(-1)
GROUP = np.digitize(INCOME, [1000, 3000, 8000])
TABLE = Table(
    [
        coded("sex", RNG.integers(0, 2, N), "fm"),
        coded("band", GROUP, ["low", "middle", "high", "top"]),
        numeric("income", INCOME),
        numeric("hours", RNG.integers(0, 60, N)),
        numeric("wage", INCOME / (1 + RNG.integers(0, 2, N)), decimals=2),
    ]
)


def plan(table: Table = TABLE, **options: Any) -> Plan:
    config = read_chain_config({"random_key": "none", "default_method": "cart"} | options)
    return make_plan(config, Input.of(table), Registry.load())


def computed(made: Plan) -> list[str]:
    return [step.variable for step in made.spec.steps if step.method == "derived"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"method": {"band": "cart"}}, "as its method or options require"),
        ({"strata": ["band"], "min_stratum_rows": 1}, "because strata uses it"),
        ({"visit_sequence": ["band", "income"]}, "because it comes before them in the order"),
        ({"variables": {"income": {"predictors": ["band"]}}}, "because it comes before them"),
        ({"keep": ["band"]}, ""),
    ],
)
def test_what_the_configuration_asks_for_comes_first(options: dict[str, Any], reason: str) -> None:
    made = plan(**options)
    assert computed(made) == []
    notes = [note for note in made.notes if "in the data, but is drawn, " in note]
    assert [f"but is drawn, {reason}" in note for note in notes] == ([True] if reason else [])


@pytest.mark.parametrize(
    "options",
    [
        {"rules": [{"if": "sex == 'f'", "then": {"band": "low"}}]},
        {"structural_zeros": ["auto", ["sex", "hours"], ["sex", "band"]]},
    ],
)
def test_what_is_computed_is_neither_set_nor_redrawn(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        plan(**options)
    (problem,) = caught.value.problems
    assert "variable 'band' contains groups of 'income' in the data" in problem
    assert not computed(plan(**options, method={"band": "cart"}))


@pytest.mark.parametrize(
    "options",
    [
        {"visit_sequence": ["3", "2"]},
        {"rules": ["band != 'low' or hours < 10"], "on_violation": "ignore"},
        {
            "forbid": ["band == 'low' and hours > 40"],
            "visit_sequence": ["hours", "income", "band"],
            "on_violation": "ignore",
        },
    ],
)
def test_rules_and_orders_leave_it_computed_and_hold(options: dict[str, Any]) -> None:
    made = plan(**options)
    assert computed(made) == ["band"]
    drawn = next(iter(made.spec.fit(TABLE, Seed(1), n_jobs=1).generate(Seed(1), m=1, n_jobs=1)))
    expected = np.digitize(drawn["income"].data, [1000, 3000, 8000])
    np.testing.assert_array_equal(drawn["band"].data, expected)
    if "rules" in options or "forbid" in options:
        most = 9 if "rules" in options else 40
        assert drawn["hours"].data[expected == 0].max() <= most


def test_an_expression_that_may_be_undefined_is_noted_and_not_computed() -> None:
    hours = TABLE["hours"].data - 30.5  # of both signs, so that a draw may be zero
    parts = numeric("part", hours, decimals=1), numeric("rate", INCOME / hours, decimals=None)
    table = Table([TABLE["income"], *parts])
    assert not computed(made := plan(table))
    assert any("may have no value" in note for note in made.notes)
    positive = numeric("part", np.abs(hours), decimals=1)
    rate = numeric("rate", INCOME / np.abs(hours), decimals=None)
    assert computed(plan(Table([TABLE["income"], positive, rate]))) == ["rate"]
    assert not computed(plan(Table([TABLE["income"], positive, rate]), default_method="parametric"))


def test_a_bare_configuration_computes_a_band_of_its_income() -> None:
    made = plan()
    assert made.spec.order == ("sex", "income", "band", "hours", "wage")
    assert computed(made) == ["band"]
    (note,) = [note for note in made.notes if "'band'" in note]
    assert "so it is computed; to draw it, name a method" in note
