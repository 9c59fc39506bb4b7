"""The risk-utility points."""

import pytest

from synthesizer.report.page import Chart, Gap
from synthesizer.report.untyped import Record
from synthesizer.report.utility import point_section, points, risk_axis
from tests.report.blocks import gaps, of_kind
from tests.report.fixtures import Page, checks, first_format, manifest, record, tables

POINTS = [(1, 0.2 + 1 / 100, 2.1), (2, 0.2 + 2 / 100, 2.2)]


def without(*measures):
    content = checks()
    for name in measures:
        content["risk"]["scenarios"][0][name] = None
    return Record(manifest(), content)


def test_cap_of_every_dataset():
    own = record()
    axis = risk_axis(own)
    assert (axis.name, axis.baseline, axis.original) == ("CAP", 0.1, 0.6)
    assert points(own, axis) == POINTS


def test_other_subsets_do_not_count():
    own = record()
    singles = own.checks["risk"]["scenarios"][0]["cap"]["singles"]
    singles[0]["subset"] = "uniques"
    assert list(risk_axis(own).values) == [2]


@pytest.mark.parametrize(
    ("lost", "name", "values", "original"),
    [
        (["cap"], "repU", {1: 0.05, 2: 0.06}, 0.3),
        (["cap", "identity"], "DiSCO", {1: 0.1, 2: 0.2}, 0.4),
    ],
)
def test_what_stands_in_for_cap(lost, name, values, original):
    axis = risk_axis(without(*lost))
    assert (axis.name, dict(axis.values), axis.original) == (name, values, original)


def advice(own):
    (gap,) = of_kind(point_section(own), Gap)
    return gap.why


def test_the_advice_is_by_what_is_missing():
    content = checks()
    content["risk"]["scenarios"] = []
    assert "Name checks.keys (" in advice(Record({**manifest(), "config": {}}, content))
    assert "Switch on" not in advice(Record(manifest(), content))
    content["utility"]["tables"]["mean"] = content["utility"]["tables"]["mean"][:1]
    told = advice(Record(manifest(), content))
    assert "A pair needs two variables, and age is the only one that is left." in told
    assert "Switch on" not in told
    assert "Switch on checks.cap." in advice(without("cap", "identity", "attribute"))
    singles = {**tables(), "mean": tables()["mean"][:4], "by_dataset": []}
    assert "Switch on checks.two_way." in advice(record(tables=singles))


def test_two_panels_with_references():
    (chart,) = of_kind(point_section(record()), Chart)
    page = Page(chart.svg)
    assert len(page.all("circle")) == 4
    assert {"guessing", "original", "In context"} <= set(page.text("text"))
    assert "guessing gives 0.100, the original itself 0.600" in chart.summary
    assert chart.table.rows == [list(point) for point in POINTS]
    assert "lower left is better" in chart.reads


def test_one_dataset_has_one_panel():
    own = record()
    del own.checks["risk"]["scenarios"][0]["cap"]["singles"][1]
    (chart,) = of_kind(point_section(own), Chart)
    assert len(Page(chart.svg).all("circle")) == 1
    assert chart.summary.startswith("1 dataset: CAP 0.210")


def test_equal_datasets_and_no_references():
    own = without("cap")
    scenario = own.checks["risk"]["scenarios"][0]
    scenario["identity"] = {"datasets": [{"repu": 0.0}, {"repu": 0.0}]}
    (chart,) = of_kind(point_section(own), Chart)
    assert "original itself" not in chart.summary
    assert "repU 0.000" in chart.summary


def test_gaps_without_risk_or_tables():
    assert gaps(point_section(without("cap", "identity", "attribute"))) == [
        "the risk-utility points"
    ]
    assert gaps(point_section(record(tables=None))) == ["the risk-utility points"]


def test_first_format():
    assert points(first_format(), risk_axis(first_format())) == POINTS
