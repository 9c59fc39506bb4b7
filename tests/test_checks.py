from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from synthesizer import checks as checks_module
from synthesizer.chain import ChainSpec
from synthesizer.checks import Checker, CheckResults, exceeded_limits
from synthesizer.config_checks import LimitConfig
from synthesizer.config_reading import read_chain_config
from synthesizer.data.table import Table
from synthesizer.errors import DataError
from synthesizer.plan import make_plan
from synthesizer.randomness import Seed
from synthesizer.registry import Registry
from synthesizer.risk.cap import cap
from synthesizer.utility.tables import table_utility
from tests.tables import persons

REGISTRY = Registry.load()
TABLE = persons(300)
SCENARIO = {"keys": ["sex", "age"], "target": "marital"}


def checked(m: int = 2, **options: Any) -> tuple[CheckResults, list[Table]]:
    config = read_chain_config({"m": m} | options)
    plan = make_plan(config, TABLE, REGISTRY)
    made = list(plan.spec.fit(TABLE, Seed(1)).generate(Seed(1), m=m))
    checker = Checker(config, TABLE, plan)
    for table in made:
        checker.add(table)

    def synthesise(half: Table, count: int, repeat: int) -> list[Table]:
        spec: ChainSpec = plan.spec
        return list(spec.fit(half, Seed(repeat)).generate(Seed(repeat), m=count))

    return checker.finish(synthesise, np.random.default_rng(0)), made


def test_numbers_are_those_of_the_measures() -> None:
    results, made = checked(checks=SCENARIO)
    utility = table_utility(TABLE, made)
    two = utility.mean.loc[utility.mean["ways"] == 2, "S_pMSE"]
    assert results.summary.mean_two_way == pytest.approx(two.mean())
    assert results.summary.worst_two_way == pytest.approx(two.max())
    expected = cap(TABLE, made, keys=["sex", "age"], target="marital")
    assert results.summary.cap == pytest.approx(expected.row(2).zero)
    assert results.summary.cap_baseline == pytest.approx(expected.baseline["all"])
    low, high = results.summary.differential_low, results.summary.differential_high
    difference = results.summary.differential_confidentiality
    assert low is not None
    assert high is not None
    assert difference is not None
    assert low < difference < high
    assert results.failed == {}


def test_repeats_of_the_half_split_have_no_single_interval() -> None:
    settings = {"repeats": 2, "m": 1}
    results, _ = checked(checks=SCENARIO | {"differential_confidentiality": settings})
    assert results.summary.differential_confidentiality is not None
    assert results.summary.differential_low is None


def test_checks_can_be_switched_off_one_by_one() -> None:
    results, _ = checked(checks=SCENARIO | {"cap": False, "two_way": False})
    assert results.cap is None
    assert results.summary.mean_two_way is None
    assert results.summary.worst_one_way is not None
    assert results.differential is not None
    results, _ = checked(checks=SCENARIO | {"differential_confidentiality": False})
    assert results.differential is None
    assert results.cap is not None
    results, _ = checked(checks=False)
    assert (results.cap, results.differential, results.tables) == (None, None, None)
    assert set(results.to_dict()["summary"].values()) == {None}


def test_limits() -> None:
    results, _ = checked(checks=SCENARIO)
    cap_value = results.summary.cap
    assert cap_value is not None
    assert exceeded_limits(results, LimitConfig()) == ()
    assert exceeded_limits(results, LimitConfig(cap=cap_value)) == ()
    (above,) = exceeded_limits(results, LimitConfig(cap=cap_value - 0.01, worst_two_way=1e9))
    assert "limits.cap" in above
    assert f"{cap_value:.4f}" in above


def test_a_check_that_fails_is_told_and_counts_as_above_its_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise DataError(["first reason", "second reason"])

    for name in ("cap", "table_utility", "differential_confidentiality"):
        monkeypatch.setattr(checks_module, name, broken)
    results, _ = checked(checks=SCENARIO)
    assert set(results.failed) == {"cap", "tables", "differential_confidentiality"}
    assert results.failed["cap"] == "first reason; second reason"
    assert results.to_dict()["failed"] == results.failed
    limits = LimitConfig(cap=1, mean_two_way=9, differential_confidentiality=1)
    exceeded = exceeded_limits(results, limits)
    assert len(exceeded) == 3
    assert all("could not be computed" in words for words in exceeded)
