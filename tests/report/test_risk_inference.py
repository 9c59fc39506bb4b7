from __future__ import annotations

from typing import Any

from synthesizer.report.charts import MOST_CURVES
from synthesizer.report.risk_disclosure import inference_section
from tests.report.risk_examples import charts, gaps, record, risk, spoken, tables


def _section(content: dict[str, Any]) -> Any:
    section = inference_section(record(content))
    assert section is not None
    return section


def test_two_levels_have_one_curve_and_the_diagonal() -> None:
    content = risk()
    curve = content["inference"][0]["roc"][0]
    chart = charts(_section(content))[0]
    assert chart.title == "ROC curve: sex from town, age"
    assert chart.svg.count("<polyline") == 1
    assert "guessing" in chart.svg
    assert f"AUC {curve['auc']:.3f} from the synthetic data" in chart.summary
    assert f"{curve['auc_original_of_present']:.3f} from the original" in chart.summary


def test_the_curve_runs_from_nobody_to_everybody() -> None:
    content = risk()
    content["inference"] = content["inference"][:1]
    chart = charts(_section(content))[0]
    points = chart.svg.split('<polyline points="')[1].split('"')[0].split(" ")
    assert points[0] == "400.0,34.0"  # everybody: both rates are 1
    assert points[-1] == "60.0,374.0"


def test_more_levels_have_a_curve_each_up_to_what_can_be_told_apart() -> None:
    content = risk()
    question = content["inference"][1]
    assert len(question["roc"]) == 4
    title = "ROC curve: job from town, sex"
    chart = next(c for c in charts(_section(content)) if c.title == title)
    assert chart.svg.count("<polyline") == 4
    assert "means over 4 levels" in chart.summary
    question["roc"] = question["roc"] * 2
    chart = next(c for c in charts(_section(content)) if c.title == title)
    assert chart.svg.count("<polyline") == MOST_CURVES
    assert "6 most frequent levels are drawn" in chart.reads
    assert chart.table is not None
    assert len(chart.table.rows) == 8


def test_rates_stand_beside_chance_margins_and_original() -> None:
    content = risk()
    first = content["inference"][0]
    table = next(t for t in tables(_section(content)) if t.columns[0] == "Rate")
    rows = {row[0]: row[1:] for row in table.rows}
    shown = first["classification"]
    assert rows["revealed share"] == (
        shown["revealed"],
        shown["chance"],
        shown["baseline"],
        shown["original"],
    )
    assert rows["told more"][0] == first["thresholds"]["higher"]
    assert "the distribution of sex within town" in spoken(_section(content))
    assert "the distribution of job of everybody" in spoken(_section(content))


def test_thresholds_and_combinations_are_shown() -> None:
    content = risk()
    found = tables(_section(content))
    first = content["inference"][0]
    thresholds = next(t for t in found if t.columns[0] == "Probability at least")
    assert [row[2] for row in thresholds.rows] == [r["share"] for r in first["thresholds"]["rows"]]
    cells = next(t for t in found if t.columns[0] == "What")
    assert cells.rows[0][1] == first["uniqueness"]["cells"]
    sizes = next(t for t in found if t.columns[0] == "Persons")
    assert [list(row) for row in sizes.rows] == first["uniqueness"]["counts"]


def test_sizes_of_combinations_are_drawn_with_their_spread() -> None:
    content = risk()
    first = content["inference"][0]["differences"]["own_proportion"][0]
    title = "Sizes by distance from the original's proportions"
    chart = next(c for c in charts(_section(content)) if c.title == title)
    assert chart.table is not None
    assert chart.table.rows[0][5] == first["relative"]["mean"]
    assert f"{first['size_low']} to {first['size_high']} persons" in chart.svg


def test_a_class_without_members_is_a_gap() -> None:
    content = risk()
    for curve in content["inference"][0]["roc"]:
        curve.update(auc=None, curve=[])
    content["inference"][0]["thresholds"]["rows"] = []
    assert [gap.what for gap in gaps(_section(content))] == ["The ROC curve"]


def test_not_asked_for_says_how_to_ask_and_failed_says_why() -> None:
    told = spoken(_section(risk() | {"inference": []}))
    assert "checks: {inference: {sensitive: VARIABLE, public: [VARIABLE, ...]}}" in told
    failed = _section(risk() | {"inference": [], "failed": {"inference (pay)": "too many levels"}})
    assert gaps(failed)[0].what == "Inference (pay)"
    assert "too many levels" in gaps(failed)[0].why
    assert inference_section(record({})) is None
