"""At a glance, what was not measured, all figures, the glossary, what was run."""

from __future__ import annotations

from typing import Any

import pandas as pd

from synthesizer.measures.results import RiskResult
from synthesizer.measures.risk.copied import copied_uniques
from synthesizer.measures.utility.tables import OrderTables
from synthesizer.measures.verdict import CheckResults
from synthesizer.report.appendix import figures_section, run_section
from synthesizer.report.blocks import Block, Chart, DataTable, Fold, Note, Section
from synthesizer.report.glance import glance_section
from synthesizer.report.record import Record
from tests.report import risk_examples, utility_examples
from tests.report.blocks import html, of_kind
from tests.report.fixtures import EVIL
from tests.report.utility_examples import JOB, manifest, utility

LIMITS = {"limits": {"mean_two_way": 2.0, "cap": None}}
CONFIG = {"version": 1, "seed": 987654321, "m": 2}


def order(ways: int, mean: float | None, most: float | None) -> OrderTables:
    return OrderTables(
        ways=ways, s_pmse_mean=mean, s_pmse_max=most, worst=(JOB, "born")[:ways], roe_mean=0.8,
        rejected=0.1, rejected_vw=0.05,
    )  # fmt: skip


def tables(mean: float | None = 1.6) -> Any:
    orders = (order(1, 1.5, 4.1), order(2, mean, None if mean is None else 13.0))
    return utility_examples.tables().model_copy(update={"orders": orders})


def run(risk: RiskResult | None = None, exceeded: tuple[str, ...] = (), **changes: Any) -> Record:
    """Return a run with utility and, computed, risk; further keywords are parts of its utility."""
    facts = changes.pop("facts", None) or manifest(config=CONFIG | LIMITS)
    own = risk_examples.risk() if risk is None else risk
    found = utility(**({"tables": tables()} | changes))
    failed = {**own.failed, **found.failed}
    return Record(facts, CheckResults(risk=own, utility=found, failed=failed), exceeded)


# Limits, failures, copies.


def opened(section: Section, title: str) -> list[Block]:
    """Return what a fold of the section holds."""
    (fold,) = [b for b in section.blocks if isinstance(b, Fold) and b.title == title]
    return list(fold.blocks)


def test_what_looks_like_a_copy_comes_before_everything() -> None:
    people = pd.DataFrame({"pay": range(100)})
    risk = RiskResult(copied=copied_uniques(people, people, keys=["pay"]))
    section = glance_section(run(risk))
    first = section.blocks[0]
    assert isinstance(first, Chart)
    assert (first.title, first.word) == ("A person in the data", "fail")
    assert first.reads.startswith("Verbatim unique records: 100; the limit is ")
    told = opened(section, "Why")[0]
    assert isinstance(told, Note)
    assert (told.tone, told.start) == ("alert", "A person in the data: fail.")
    assert "100 of 100 records that nobody else shares" in told.text


# What no line of the verdict says.


# What was not measured.


# All figures and the glossary.


def test_every_figure_of_utility_and_risk_is_in_one_table() -> None:
    own = run()
    (found,) = of_kind(figures_section(own), DataTable)
    assert len(found.rows) == len(own.results.figures)
    assert found.sortable
    assert all(len(row) == len(found.columns) == len(found.forms) for row in found.rows)
    by_name = {row[0]: row for row in reversed(found.rows)}
    assert by_name["mean two-way S_pMSE"][1] == "tables"
    assert by_name["differential confidentiality"][1] == "scenario 1 (job)"
    assert not any("{record" in str(row[-1]) for row in found.rows)
    told = html(figures_section(own))
    assert "scenario 1 (job): Knowing town, age and sex, seeking job." in told


# What was run.


def test_configuration_is_escaped_yaml_without_the_seed() -> None:
    config = CONFIG | LIMITS | {"variables": {EVIL: {"kind": "numeric"}}}
    text = html(run_section(run(facts=manifest(config=config))))
    assert "limits:\n  mean_two_way: 2.0" in text
    assert EVIL not in text
    assert "987654321" not in text
    assert "seed: see manifest.json" in text
