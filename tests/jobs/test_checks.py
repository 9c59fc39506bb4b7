from __future__ import annotations

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
from synthesizer.measures.risk import cap as cap_measure
from synthesizer.measures.risk import differential
from synthesizer.measures.settings import LimitConfig
from synthesizer.measures.utility import tables
from synthesizer.measures.verdict import CheckResults
from synthesizer.plan.inputs import Input, read_frame
from synthesizer.plan.plan import make_plan
from tests.end_to_end.commands import NO_HALVES
from tests.end_to_end.test_panel import LONG_PANEL, YEARS, long_frame
from tests.tables import persons

REGISTRY = Registry.load()
TABLE = persons(300)
SCENARIO = NO_HALVES | {"keys": ["sex", "age"], "target": "marital"}


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


def test_checks_can_be_switched_off_one_by_one() -> None:
    results, _ = checked(checks=SCENARIO | {"cap": False, "two_way": False, "suda": False})
    main = results.risk.main
    assert (main.cap, main.tcap, main.suda) == (None, None, None)
    assert results.summary.mean_two_way is None
    assert results.summary.worst_one_way is not None
    off = {
        **NO_HALVES,
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


def test_inference_and_panels() -> None:
    question = {"sensitive": "marital", "public": ["sex", "age"], "groups": {"age": 5}}
    panel = {"units": "age"}  # a stand-in for persons: people of one age go together
    results, _ = checked(
        checks=SCENARIO | {"inference": question, "differential_confidentiality": panel}
    )
    assert results.summary.auc is not None
    assert results.summary.revealed_share is not None
    main = results.risk.main
    ages = len(np.unique(TABLE["age"].data))
    assert main.differential.comparisons[0].n_a == (ages + 1) // 2
    assert results.exceeded(LimitConfig(auc=0.0, revealed_share=0.0)) != ()
    share = results.summary.probability_above
    assert share == results.risk.inference[0].thresholds.rows[0].share
    assert results.exceeded(LimitConfig(probability_above=share)) == ()
    (above,) = results.exceeded(LimitConfig(probability_above=share - 0.01))
    assert "limits.probability_above" in above


def test_a_check_that_fails_is_reported_and_counts_as_above_its_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise DataError(["first reason", "second reason"])

    monkeypatch.setattr(tables, "table_utility", broken)
    monkeypatch.setattr(cap_measure, "cap", broken)
    monkeypatch.setattr(differential, "compare_halves", broken)
    results, _ = checked(checks=SCENARIO | {"differential_confidentiality": True})
    label = "(sex, age -> marital)"
    failed = {f"cap {label}", "tables", f"differential_confidentiality {label}"}
    assert set(results.failed) == failed
    assert results.failed["tables"] == "first reason; second reason"
    assert results.risk.failed | results.utility.failed == results.failed
    limits = LimitConfig(cap=1, mean_two_way=9, differential_confidentiality=1)
    exceeded = results.exceeded(limits)
    assert len(exceeded) == 3
    assert all("could not be computed" in words for words in exceeded)


def checked_panel(frame: pd.DataFrame, m: int = 2, **options: Any) -> tuple[CheckResults, Table]:
    long = {"panel": LONG_PANEL}
    config = read_chain_config(long | {"m": m} | options)
    plan = make_plan(config, read_frame(from_pandas(frame), config), REGISTRY)
    checks = plan.checking(Seed(0))
    for table in plan.spec.fit(plan.table, Seed(1)).generate(Seed(1), m=m):
        checks.add(plan.viewed(table))
    return checks.finish(), plan.original


def test_checks_of_panels_can_be_switched_off_and_have_limits() -> None:
    base = NO_HALVES | {"keys": ["sex"], "target": "state@last"}
    off = {"sequences": False, "replicated_careers": False}
    results, _ = checked_panel(long_frame(), m=1, checks=base | off)
    assert (results.panel, results.risk.careers) == (None, None)
    limits = LimitConfig(sequence_ratio=1.0, replicated_careers=0.1)
    assert len(results.exceeded(limits)) == 2
    results, _ = checked_panel(long_frame(), m=1, checks=base)
    assert results.exceeded(LimitConfig(sequence_ratio=1e6, replicated_careers=1.0)) == ()
    above = results.exceeded(LimitConfig(sequence_ratio=0.0, replicated_careers=0.0))
    assert [words.partition(":")[0] for words in above] == [
        "limits.replicated_careers",
        "limits.sequence_ratio",
    ]


@pytest.mark.parametrize("form", ["long", "wide"])
def test_suda_on_three_points_in_time(form: str) -> None:
    """Unique persons, and those whom a single point in time sets apart, by slow counting."""
    frame, years = long_frame(60).astype(str), [str(year) for year in YEARS[:3]]
    wide = frame.pivot_table(index="id", columns="year", values="grade", aggfunc="first")
    wide = wide.fillna("out").add_prefix("y")
    known = [tuple(career) for career in wide[[f"y{year}" for year in years]].to_numpy()]
    unique = [career for career in known if known.count(career) == 1]
    alone = [career for career in unique
             if any(sum(o[k] == career[k] for o in known) == 1 for k in range(3))]  # fmt: skip
    checks = NO_HALVES | {"target": "sex"}
    if form == "long":
        checks["keys"] = [f"grade@{year}" for year in years]
        results, _ = checked_panel(frame, 1, checks=checks, panel=LONG_PANEL | {"view": years})
    else:
        checks["keys"] = [f"y{year}" for year in years]
        panel = {"wide": {"grade": ["y1990..y1994"]}, "absent": ["out"], "career": "grade"}
        sexes = frame.drop_duplicates("id").set_index("id")["sex"]
        rows = wide.join(sexes).reset_index(drop=True)
        results, _ = checked_panel(rows, 1, checks=checks, panel=panel)
    suda = results.risk.main.suda
    assert 0 < len(unique) < 60
    assert (suda.n, suda.uniques) == (60, len(unique))
    assert suda.minimal_uniques[0].records == len(alone)
