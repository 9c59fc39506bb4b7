"""The risk-utility points."""

import pytest

from synthesizer.measures.results import RiskResult
from synthesizer.report.page import Chart, Gap
from synthesizer.report.points import dataset_risk, point_section, risk_utility_points
from tests.report.blocks import gaps, of_kind
from tests.report.fixtures import Page
from tests.report.utility_examples import manifest, run, scenario, step, table, tables

POINTS = [(1, 0.2 + 1 / 100, 2.1), (2, 0.2 + 2 / 100, 2.2)]


def without(*measures):
    own = scenario(**dict.fromkeys(measures))
    return run(risk=RiskResult(scenarios=(own,)))


def axis(record):
    return dataset_risk(record.results.risk.main)


def test_cap_of_every_dataset():
    risk = axis(run())
    assert (risk.name, risk.baseline, risk.chance, risk.original) == ("CAP", 0.2, 0.1, 0.6)
    assert risk_utility_points(run(), risk) == POINTS


def test_other_subsets_do_not_count():
    cap = scenario().cap
    uniques = cap.singles[0].model_copy(update={"subset": "uniques"})
    cap = cap.model_copy(update={"singles": (uniques, cap.singles[1])})
    assert list(dataset_risk(scenario(cap=cap)).values) == [2]


@pytest.mark.parametrize(
    ("lost", "name", "values", "original"),
    [
        (["cap"], "repU", {1: 0.05, 2: 0.06}, 0.3),
        (["cap", "identity"], "DiSCO", {1: 0.1, 2: 0.2}, 0.4),
    ],
)
def test_what_stands_in_for_cap(lost, name, values, original):
    risk = axis(without(*lost))
    assert (risk.name, dict(risk.values), risk.original) == (name, values, original)


def advice(record):
    (gap,) = of_kind(point_section(record), Gap)
    return gap.why


def test_the_advice_is_by_what_is_missing():
    assert "Name checks.keys (" in advice(run(risk=RiskResult()))
    alone = run(
        risk=RiskResult(),
        facts=manifest(chain=(step("age"),)),
        tables=tables(table("age", s_pmse=1.0)),
    )
    assert "A pair needs two variables, and age is the only one that is left." in advice(alone)
    assert "Switch on" not in advice(alone)
    assert "Switch on checks.cap." in advice(without("cap", "identity", "attribute"))
    single = tables(table("age", s_pmse=1.0)).model_copy(update={"by_dataset": ()})
    assert "Switch on checks.two_way." in advice(run(tables=single))


def test_the_plane_with_references():
    (chart,) = of_kind(point_section(run()), Chart)
    page = Page(chart.svg)
    assert len(page.all("circle")) == 2
    assert {"1", "2"} <= set(page.text("text"))
    assert any("guessing (0.200)" in text for text in page.text("text"))
    assert "guessing 0.200, by chance 0.100, the original itself 0.600" in chart.summary
    assert chart.table.rows == POINTS
    assert "lower left is better" in chart.reads


def test_one_dataset():
    cap = scenario().cap
    one = scenario(cap=cap.model_copy(update={"singles": cap.singles[:1]}))
    (chart,) = of_kind(point_section(run(risk=RiskResult(scenarios=(one,)))), Chart)
    assert len(Page(chart.svg).all("circle")) == 1
    assert chart.summary.startswith("1 dataset: CAP 0.210")


def test_gaps_without_risk_or_tables():
    for record in (without("cap", "identity", "attribute"), run(tables=None)):
        assert gaps(point_section(record)) == ["the risk-utility points"]
