"""Differential confidentiality: the verdict, every split, groups."""

from __future__ import annotations

from typing import Any

import pytest

from synthesizer.measures.results import RiskResult
from synthesizer.measures.risk.differential import DifferentialResult, GroupComparison
from synthesizer.report.blocks import Section
from synthesizer.report.risk_attribution import MOST_GROUPS, MOST_SPLITS, differential_section
from tests.report.blocks import charts, notes
from tests.report.risk_examples import half, record, risk


def differential() -> DifferentialResult:
    return risk().scenarios[0].differential


def section(result: RiskResult | None = None) -> Section:
    return differential_section(record(half() if result is None else result))


def repeated(repeats: int) -> RiskResult:
    """Pretend that the first comparison was repeated."""
    own = differential()
    split = {"repeats": repeats, "covering_zero": 1, "difference_sd": 0.0124}
    again = range(repeats)
    return half(
        comparisons=tuple(
            row.model_copy(update={"repeat": i}) for i in again for row in own.comparisons
        ),
        groups=tuple(row.model_copy(update={"repeat": i}) for i in again for row in own.groups),
        summary=tuple(row.model_copy(update=split) for row in own.summary),
    )


def with_interval(low: float | None, high: float | None) -> RiskResult:
    ends = {"low": low, "high": high}
    return half(
        summary=tuple(row.model_copy(update=ends) for row in differential().summary),
        comparisons=tuple(row.model_copy(update=ends) for row in differential().comparisons),
    )


@pytest.mark.parametrize(
    ("low", "high", "tone"),
    [(-0.01, 0.02, "good"), (0.8, 0.9, "alert"), (-0.1, 0.9, "look"), (None, None, "look")],
)
def test_the_part_has_the_words_and_the_colour_of_the_verdict(low: Any, high: Any, tone: str):
    ends = "no interval" if low is None else f"{low:.2f} to {high:.2f}"
    first, *_ = notes(section(with_interval(low, high)), tone)
    assert f" is {ends} ".replace("-", "−") in first


@pytest.mark.parametrize(("low", "is_told"), [(-0.1, False), (0.9, True), (None, False)])
def test_a_group_that_is_told_apart_is_named(low: Any, is_told: bool) -> None:
    worst = differential().worst_group
    own = half(worst_group=worst.model_copy(update={"low": low, "high": 0.95}))
    named = [n for n in notes(section(own), "alert") if n.startswith("In group ")]
    assert (len(named) == 1) is is_told


def test_repeats_are_told_and_drawn_where_there_is_room() -> None:
    own = section(repeated(3))
    first = dict(zip(charts(own)[0].table.columns, charts(own)[0].table.rows[0], strict=True))
    assert (first["Splits"], first["Splits that cover 0"]) == (3, 1)
    assert 0.0124 in first.values()
    assert ">split 3<" in charts(own)[0].svg
    assert "sex = f, split 2" in charts(own)[1].svg
    assert "split 1<" not in charts(section(repeated(MOST_SPLITS + 1)))[0].svg


def test_of_many_groups_the_worst_are_drawn() -> None:
    rows = tuple(
        GroupComparison(
            by="town", group=str(number), repeat=0, n_a=20, n_b=20, mean_a=0.1, mean_b=0.1,
            difference=0.0, low=None, high=None,
        )
        for number in range(MOST_GROUPS + 5)
    )  # fmt: skip
    own = section(half(by="town", groups=rows, worst_group=None))
    (chart,) = [c for c in charts(own) if c.title == "Difference by group of town"]
    assert "5 more are in the table" in chart.reads
    assert "no worst one is named" in chart.summary
