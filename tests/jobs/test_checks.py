from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthesizer.config.reading import read_chain_config
from synthesizer.data.errors import DataError
from synthesizer.data.randomness import Seed
from synthesizer.data.sources import from_pandas
from synthesizer.data.table import Table
from synthesizer.engine.chain import ChainSpec
from synthesizer.engine.registry import Registry
from synthesizer.measures.results import checks_content
from synthesizer.measures.risk import cap as cap_measure
from synthesizer.measures.risk import differential
from synthesizer.measures.risk.cap import cap
from synthesizer.measures.settings import LimitConfig
from synthesizer.measures.utility import tables
from synthesizer.measures.utility.tables import table_utility
from synthesizer.measures.verdict import CheckResults
from synthesizer.plan.inputs import Input, read_frame
from synthesizer.plan.plan import make_plan
from tests.tables import persons

REGISTRY = Registry.load()
TABLE = persons(300)
SCENARIO = {"keys": ["sex", "age"], "target": "marital"}


def checked(m: int = 2, **options: Any) -> tuple[CheckResults, list[Table]]:
    config = read_chain_config({"m": m} | options)
    plan = make_plan(config, Input.of(TABLE), REGISTRY)
    made = list(plan.spec.fit(TABLE, Seed(1)).generate(Seed(1), m=m))
    checks = plan.checking(Seed(0))
    for table in made:
        checks.add(table)

    def synthesise(half: Table, count: int, repeat: int) -> list[Table]:
        spec: ChainSpec = plan.spec
        return list(spec.fit(half, Seed(repeat)).generate(Seed(repeat), m=count))

    return checks.finish(synthesise), made


def test_numbers_are_those_of_the_measures() -> None:
    results, made = checked(checks=SCENARIO)
    utility = table_utility(TABLE, made, quantiles_of="original")
    two = utility.mean.loc[utility.mean["ways"] == 2, "S_pMSE"]
    assert results.summary.mean_two_way == pytest.approx(two.mean())
    assert results.summary.worst_two_way == pytest.approx(two.max())
    expected = cap(TABLE, made, keys=["sex", "age"], target="marital")
    assert results.summary.cap == pytest.approx(expected.row(2).zero)
    assert results.summary.cap_baseline == pytest.approx(expected.baseline["all"])
    assert results.summary.cap_chance == pytest.approx(expected.row(2).chance_zero)
    low, high = results.summary.differential_low, results.summary.differential_high
    difference = results.summary.differential_confidentiality
    assert low < difference < high
    assert results.failed == {}


def test_repeats_of_the_half_split_have_a_mean_interval() -> None:
    settings = {"repeats": 2, "m": 1}
    results, _ = checked(checks=SCENARIO | {"differential_confidentiality": settings})
    low = results.summary.differential_low
    assert low < results.summary.differential_confidentiality


def test_checks_can_be_switched_off_one_by_one() -> None:
    results, _ = checked(checks=SCENARIO | {"cap": False, "two_way": False, "suda": False})
    main = results.risk.main
    assert (main.cap, main.tcap, main.suda) == (None, None, None)
    assert results.summary.mean_two_way is None
    assert results.summary.worst_one_way is not None
    off = {
        "differential_confidentiality": False,
        "nearest": False,
        "near_verbatim": False,
        "unseen": False,
        "guesses": False,
        "attacks": False,
        "replicated_uniques": False,
    }
    results, _ = checked(checks=SCENARIO | off | {"identity": False, "attribute": False})
    main = results.risk.main
    assert (main.differential, main.identity, main.attribute) == (None, None, None)
    assert (results.risk.nearest, results.risk.replicated) == (None, None)
    assert main.cap is not None
    results, _ = checked(checks=False)
    assert (results.figures, results.utility) == ((), None)
    assert set(results.summary.values()) == {None}


def test_several_scenarios_share_the_half_split_and_the_limits() -> None:
    more = {"scenarios": [{"keys": ["marital"], "target": "sex"}]}
    results, _ = checked(checks=SCENARIO | more | {"differential_confidentiality": {"by": "sex"}})
    first, second = results.risk.scenarios
    assert (first.scenario.target, second.scenario.target) == ("marital", "sex")
    assert second.differential.worst_group is not None
    assert first.cap is not None
    assert second.cap is not None
    values = [part.cap.row(2).zero for part in (first, second) if part.cap is not None]
    between = sum(value for value in values if value is not None) / 2
    (above,) = results.exceeded(LimitConfig(cap=between))
    assert results.risk.scenarios[values.index(max(values, key=float))].scenario.label in above


def test_inference_and_panels() -> None:
    asked = {"sensitive": "marital", "public": ["sex", "age"], "groups": {"age": 5}}
    panel = {"units": "age"}  # a stand-in for persons: people of one age go together
    results, _ = checked(
        checks=SCENARIO | {"inference": asked, "differential_confidentiality": panel}
    )
    assert results.summary.auc is not None
    assert results.summary.revealed_share is not None
    main = results.risk.main
    ages = len(np.unique(TABLE["age"].data))
    assert main.differential.comparisons[0].n_a == (ages + 1) // 2
    assert results.exceeded(LimitConfig(auc=0.0, revealed_share=0.0)) != ()
    told = results.summary.probability_above
    assert told == results.risk.inference[0].thresholds.rows[0].share
    assert results.exceeded(LimitConfig(probability_above=told)) == ()
    (above,) = results.exceeded(LimitConfig(probability_above=told - 0.01))
    assert "limits.probability_above" in above


def test_limits() -> None:
    results, _ = checked(checks=SCENARIO)
    cap_value = results.summary.cap
    assert results.exceeded(LimitConfig()) == ()
    assert results.exceeded(LimitConfig(cap=cap_value)) == ()
    (above,) = results.exceeded(LimitConfig(cap=cap_value - 0.01, worst_two_way=1e9))
    assert "limits.cap" in above
    assert f"{cap_value:.4f}" in above


def test_a_check_that_fails_is_told_and_counts_as_above_its_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise DataError(["first reason", "second reason"])

    monkeypatch.setattr(tables, "table_utility", broken)
    monkeypatch.setattr(cap_measure, "cap", broken)
    monkeypatch.setattr(differential, "compare_halves", broken)
    results, _ = checked(checks=SCENARIO)
    label = "(sex, age -> marital)"
    failed = {f"cap {label}", "tables", f"differential_confidentiality {label}"}
    assert set(results.failed) == failed
    assert results.failed["tables"] == "first reason; second reason"
    assert results.risk.failed | results.utility.failed == results.failed
    limits = LimitConfig(cap=1, mean_two_way=9, differential_confidentiality=1)
    exceeded = results.exceeded(limits)
    assert len(exceeded) == 3
    assert all("could not be computed" in words for words in exceeded)


def panel_frame(n: int = 120) -> pd.DataFrame:
    """Persons over six years: a state, a grade that rises, a sex."""
    rng = np.random.default_rng(3)
    rows = []
    for person in range(n):
        first, last = sorted(rng.integers(0, 6, 2))
        state, grade, sex = rng.choice(list("abc")), rng.integers(1, 4), rng.choice(["f", "m"])
        for year in range(first, last + 1):
            state = rng.choice(list("abc")) if rng.random() < 0.3 else state
            grade += rng.random() < 0.4
            rows.append((f"p{person}", 1990 + year, state, f"g{grade}", sex))
    return pd.DataFrame(rows, columns=["person", "year", "state", "grade", "sex"])


def checked_panel(frame: pd.DataFrame, m: int = 2, **options: Any) -> tuple[CheckResults, Table]:
    long = {"panel": {"person": "person", "time": "year", "career": "state"}}
    config = read_chain_config(long | {"m": m} | options)
    plan = make_plan(config, read_frame(from_pandas(frame), config), REGISTRY)
    checks = plan.checking(Seed(0))
    for table in plan.spec.fit(plan.table, Seed(1)).generate(Seed(1), m=m):
        checks.add(plan.viewed(table))
    return checks.finish(), plan.original


NO_HALVES = {
    "differential_confidentiality": False,
    "nearest": False,
    "near_verbatim": False,
    "unseen": False,
    "guesses": False,
    "attacks": False,
}
KEYS = {"keys": ["sex"], "target": "state@last"}


def test_a_panel_has_careers_and_histories() -> None:
    results, view = checked_panel(panel_frame(), checks=NO_HALVES | KEYS)
    assert results.panel.original.persons == view.n_rows == 120
    assert [own.name for own in results.panel.variables] == ["state", "grade", "sex"]
    assert results.panel.variables[2].is_constant
    assert len(results.panel.sequences.distances) == 2
    assert len(results.risk.careers.datasets) == 2
    content = json.loads(json.dumps(checks_content(results), allow_nan=False))
    assert content["summary"]["sequence_ratio"] == results.panel.sequences.worst_ratio
    assert content["summary"]["replicated_careers"] == results.risk.careers.figures[0].value
    assert results.failed == {}
    again, _ = checked_panel(panel_frame(), checks=NO_HALVES | KEYS)
    assert again == results


def test_checks_of_panels_can_be_switched_off_and_have_limits() -> None:
    off = {"sequences": False, "replicated_careers": False}
    results, _ = checked_panel(panel_frame(), m=1, checks=NO_HALVES | KEYS | off)
    assert (results.panel, results.risk.careers) == (None, None)
    limits = LimitConfig(sequence_ratio=1.0, replicated_careers=0.1)
    assert len(results.exceeded(limits)) == 2
    results, _ = checked_panel(panel_frame(), m=1, checks=NO_HALVES | KEYS)
    assert results.exceeded(LimitConfig(sequence_ratio=1e6, replicated_careers=1.0)) == ()
    above = results.exceeded(LimitConfig(sequence_ratio=0.0, replicated_careers=0.0))
    assert [words.partition(":")[0] for words in above] == [
        "limits.replicated_careers",
        "limits.sequence_ratio",
    ]


def test_a_plain_file_has_no_careers() -> None:
    results, _ = checked(checks=SCENARIO)
    assert (results.panel, results.risk.careers) == (None, None)


def slow_uniques(known: dict[str, tuple[str, ...]]) -> tuple[int, int]:
    """Count unique persons, and those whom a single point in time sets apart."""
    everybody = list(known.values())
    unique = [own for own in everybody if everybody.count(own) == 1]
    alone = [
        own
        for own in unique
        if any(sum(o[k] == own[k] for o in everybody) == 1 for k in range(len(own)))
    ]
    return len(unique), len(alone)


@pytest.mark.parametrize("form", ["long", "wide"])
def test_suda_on_three_points_in_time(form: str) -> None:
    frame = panel_frame(60)
    years = (1991, 1993, 1994)
    known: dict[str, tuple[str, ...]] = {}
    for person, own in frame.groupby("person", sort=False):
        states = dict(zip(own["year"], own["grade"], strict=True))
        known[str(person)] = tuple(str(states.get(year, "(absent)")) for year in years)
    if form == "long":
        panel = {"person": "person", "time": "year", "career": "state"}
        given = {"panel": panel | {"view": [str(year) for year in years]}}
        keys = [f"grade@{year}" for year in years]
        results, _ = checked_panel(
            frame, 1, checks=NO_HALVES | {"keys": keys, "target": "sex"}, **given
        )
    else:
        wide = frame.pivot_table(
            index="person", columns="year", values="grade", aggfunc="first"
        ).fillna("out")
        wide = wide.set_axis([f"y{year}" for year in wide.columns], axis=1)
        sexes = frame.drop_duplicates("person").set_index("person")["sex"]
        keys = [f"y{year}" for year in years]
        panel = {"wide": {"grade": ["y1990..y1995"]}, "absent": ["out"], "career": "grade"}
        results, _ = checked_panel(
            wide.join(sexes).reset_index(drop=True),
            1,
            checks=NO_HALVES | {"keys": keys, "target": "sex"},
            panel=panel,
        )
    (scenario,) = results.risk.scenarios
    unique, alone = slow_uniques(known)
    assert 0 < alone < unique < 60
    assert scenario.suda.uniques == unique
    assert scenario.suda.n == 60
    assert scenario.suda.minimal_uniques[0].records == alone
