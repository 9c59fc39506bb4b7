from __future__ import annotations

from typing import Any

import pytest

from synthesizer.report.risk import glance_section, rate_chart
from synthesizer.report.risk_figures import Rate, auc, inference_rates, other_rates
from synthesizer.report.untyped import Record
from tests.report.risk_examples import (
    charts,
    figure,
    gaps,
    notes,
    record,
    risk,
    spoken,
    tables,
)


def test_every_rate_stands_with_its_baseline_and_its_original() -> None:
    content = risk()
    chart = charts(glance_section(record(content)))[0]
    assert chart.table is not None
    rows = {row[0]: row for row in chart.table.rows}
    for name in ("CAP", "CAP of matches", "CAP-U", "CAP of special uniques", "TCAP", "repU"):
        stored = figure(content, name)
        assert list(rows[name][1:6]) == [
            stored[key] for key in ("value", "low", "high", "baseline", "original")
        ]
    assert "UiO" not in rows
    assert "uniques" not in rows
    assert f"CAP {figure(content, 'CAP')['value']:.3f}" in chart.summary


def test_each_figure_is_explained_with_the_words_of_the_file() -> None:
    content = risk()
    said = next(t for t in tables(glance_section(record(content))) if "In words" in t.columns)
    meanings = {row[0]: row[1] for row in said.rows}
    assert meanings["DiSCO"] == figure(content, "DiSCO")["meaning"]
    assert {row[2] for row in said.rows} == {"lower is safer", "about 0 is good"}


def test_scenarios_have_headings_and_their_warnings_are_notes() -> None:
    content = risk()
    section = glance_section(record(content))
    headings = [str(block) for block in section.blocks if "<h3>" in str(block)]
    assert "<h3>Knowing town, age and sex, seeking job</h3>" in headings
    assert len(headings) == 4
    assert content["scenarios"][1]["warnings"][0] in notes(section)


@pytest.mark.parametrize(
    ("low", "high", "tone", "words"),
    [
        (-0.01, 0.02, "good", "covers 0. A difference of up to 0.020 is not excluded"),
        (0.01, 0.02, "alert", "does not cover 0"),
        (-0.03, -0.01, "alert", "lies below 0"),
        (None, None, "alert", "no good news"),
    ],
)
def test_the_verdict_follows_the_interval(low: Any, high: Any, tone: str, words: str) -> None:
    content = risk()
    figure(content, "differential confidentiality").update(low=low, high=high)
    found = notes(glance_section(record(content)), tone)
    assert any(words in note for note in found)


def test_without_a_comparison_nothing_is_promised() -> None:
    content = risk()
    content["scenarios"] = content["scenarios"][:1]
    figure(content, "differential confidentiality")["name"] = "something else"
    assert "not known" in notes(glance_section(record(content)))[0]


@pytest.mark.parametrize(
    ("low", "high", "tone", "words"),
    [
        (-0.1, 0.2, "plain", "does not lie above 0"),
        (0.1, 0.2, "alert", "this group is told apart"),
        (None, None, "alert", "nothing can be concluded"),
    ],
)
def test_the_worst_group_is_named(low: Any, high: Any, tone: str, words: str) -> None:
    content = risk()
    figure(content, "worst group").update(low=low, high=high)
    found = [n for n in notes(glance_section(record(content)), tone) if "Worst group (sex" in n]
    assert words in found[0]


def test_a_suggested_scenario_says_why() -> None:
    content = risk()
    content["scenarios"][0]["scenario"]["reason"] = "The keys are what others may know."
    assert "Why these: The keys are" in spoken(glance_section(record(content)))
    assert "as configured" not in spoken(glance_section(record(risk())))


def test_whole_records_sensitive_variables_and_attacks_have_their_own_picture() -> None:
    content = risk()
    found = {entry.name: entry for entry in other_rates(record(content))}
    assert found["share nearer to the fitted half"].value == content["nearest"]["share"]
    assert found["linkability: risk"].value == 0.0
    first = content["inference"][0]
    assert (
        found["guessed right (sex from town, age)"].value
        == (first["thresholds"]["right_of_present"])
    )
    assert charts(glance_section(record(content)))[-1].title.startswith("Whole records")


def test_the_rates_of_inference_are_those_of_the_package() -> None:
    from synthesizer.jobs.assess import Question
    from synthesizer.measures.risk.inference import inference
    from tests.report.risk_examples import people

    question = Question(sensitive="job", public=("town", "sex"))
    result = inference(
        people(200, 1), people(200, 2), sensitive=question.sensitive, public=question.public
    )
    own = {f.name: f for f in result.figures}
    for entry in inference_rates(result.to_dict()):
        same = own[entry.name]
        assert entry.value == pytest.approx(same.value)
        assert entry.baseline == pytest.approx(same.baseline)
        assert entry.original == pytest.approx(same.original)
        assert entry.n == same.n


def test_the_area_needs_members() -> None:
    assert auc({"roc": [{"level": "a", "auc": 0.7, "positives": 0}]}) is None


def test_notes_and_failures_are_told() -> None:
    content = risk()
    content["notes"] = ["the control has other columns"]
    content["failed"] = {"determined (a -> b)": "no records", "suda (x)": None}
    section = glance_section(record(content))
    assert "the control has other columns" in notes(section)
    assert [gap.what for gap in gaps(section)] == ["determined (a -> b)", "suda (x)"]
    assert "no reason was stored" in gaps(section)[1].why


def test_without_any_measure_the_section_says_how_to_get_them() -> None:
    for checks in ({}, {"risk": {"attacks": None}}, {"risk": 3}):
        section = glance_section(Record(manifest={}, checks=checks))
        assert "No measure of risk was computed" in spoken(section)


def test_without_keys_the_section_says_what_to_name() -> None:
    section = glance_section(Record(manifest={}, checks={"risk": {"scenarios": []}}))
    (gap,) = gaps(section)
    assert "Name checks.keys (" in gap.why
    assert "No measure of risk was computed" not in spoken(section)


def test_a_figure_without_a_value_is_drawn_as_not_computed() -> None:
    chart = rate_chart([Rate(name="TCAP", value=None, baseline=0.2, original=1.0)], "Rates")
    assert "not computed" in chart.svg
    assert chart.summary == "TCAP not computed (baseline 0.200, original 1.000)"
