"""At a glance, what was not measured, all figures, the glossary, what was run."""

from __future__ import annotations

from typing import Any

import pandas as pd

from synthesizer.measures.results import RiskResult
from synthesizer.measures.risk.copied import copied_uniques
from synthesizer.measures.verdict import CheckResults
from synthesizer.report.appendix import figures_section, run_section
from synthesizer.report.blocks import Chart, DataTable, Note
from synthesizer.report.decision import glance_section
from synthesizer.report.record import Record
from tests.report import risk_examples
from tests.report.blocks import html, of_kind
from tests.report.fixtures import EVIL
from tests.report.utility_examples import manifest, utility


def run(risk: RiskResult | None = None, **facts: Any) -> Record:
    """Return a run with utility and, computed, risk."""
    risks, use = risk_examples.risk() if risk is None else risk, utility()
    failed = {**risks.failed, **use.failed}
    return Record(manifest(**facts), CheckResults(risk=risks, utility=use, failed=failed))


# Limits, failures, copies.


def test_what_looks_like_a_copy_comes_before_everything() -> None:
    people = pd.DataFrame({"pay": range(100)})
    risk = RiskResult(copied=copied_uniques(people, people, keys=["pay"]))
    section = glance_section(run(risk))
    first = section.blocks[0]
    assert isinstance(first, Chart)
    assert (first.title, first.word) == ("A person in the data", "fail")
    assert first.reads.startswith("Unique records that occur in the synthetic data: 100; limit ")
    alert = next(note for note in of_kind(section, Note) if note.tone == "alert")
    assert (alert.tone, alert.start) == ("alert", "A person in the data: fail.")
    assert "100 of 100 records that are unique by pay" in alert.text


# What no line of the verdict contains.


# What was not measured.


# All figures and the glossary.


def test_every_figure_of_utility_and_risk_is_in_one_table() -> None:
    record = run()
    (listing,) = of_kind(figures_section(record), DataTable)
    assert len(listing.rows) == len(record.results.figures)
    assert all(len(row) == len(listing.columns) == len(listing.forms) for row in listing.rows)
    by_name = {row[0]: row for row in reversed(listing.rows)}
    assert by_name["differential confidentiality"][1] == "scenario 1 (job)"
    assert not any("{record" in str(row[-1]) for row in listing.rows)


# What was run.


def test_configuration_is_escaped_yaml_without_the_seed() -> None:
    config = {"version": 2, "seed": 987654321, "variables": {EVIL: {"kind": "numeric"}}}
    text = html(run_section(run(config=config)))
    assert "version: 2\n" in text
    assert EVIL not in text
    assert "987654321" not in text
    assert "seed: see manifest.json" in text
