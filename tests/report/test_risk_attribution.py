"""Differential confidentiality: the verdict, every split, groups."""

from __future__ import annotations

from typing import Any

import pytest

from synthesizer.measures.results import RiskResult
from synthesizer.measures.risk.differential import DifferentialResult, GroupComparison
from synthesizer.report.blocks import Section
from synthesizer.report.risk_attribution import MOST_GROUPS, MOST_SPLITS, differential_section
from tests.report.blocks import charts, notes, spoken, table
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


def test_fitted_stand_beside_unseen_records() -> None:
    own, result = section(), differential()
    row = next(row for row in result.summary if (row.m, row.rule) == (3, "zero"))
    assert f"would add {result.released:.3f}" in spoken(own)
    difference = charts(own)[0]
    assert [row.mean_a, row.mean_b] in [cells[3:5] for cells in difference.table.rows]
    assert "split 1" not in difference.svg
    every, first = table(own, "Every split"), result.comparisons[0]
    assert every.rows[0][7:10] == [first.difference, first.low, first.high]
    assert (every.rows[0][-1], every.forms[-1]) == (first.p, "p")


def test_repeats_are_told_and_drawn_where_there_is_room() -> None:
    own = section(repeated(3))
    first = dict(zip(charts(own)[0].table.columns, charts(own)[0].table.rows[0], strict=True))
    assert (first["Splits"], first["Splits that cover 0"]) == (3, 1)
    assert 0.0124 in first.values()
    assert ">split 3<" in charts(own)[0].svg
    assert "sex = f, split 2" in charts(own)[1].svg
    assert "split 1<" not in charts(section(repeated(MOST_SPLITS + 1)))[0].svg


def test_very_long_tables_are_shortened_and_say_so() -> None:
    every = table(section(repeated(100)), "Every split")
    assert every.caption.endswith("; 400 more rows are in checks.json")
    assert {row[1] for row in every.rows} == {3}


def test_of_many_datasets_the_first_and_the_last_are_drawn() -> None:
    zero = next(row for row in differential().summary if row.rule == "zero")
    many = tuple(zero.model_copy(update={"m": m}) for m in range(1, 31))
    picture = charts(section(half(summary=many)))[0].svg
    assert ">1 dataset," in picture
    assert ">30 datasets," in picture
    assert ">10 datasets," not in picture


def test_groups_come_with_the_worst_first() -> None:
    worst = differential().worst_group
    (chart,) = [c for c in charts(section()) if c.title == "Difference by group of sex"]
    assert chart.table.rows[0][0] == worst.group
    assert f"that of {worst.group}: {worst.difference:.3f}" in chart.summary


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


def test_groups_that_are_too_small_are_told_and_no_groups_are_not() -> None:
    lost = section(half(groups=(), worst_group=None))
    assert any("No group of sex is large enough" in note for note in notes(lost))
    none = section(half(groups=(), worst_group=None, by=None))
    assert not any("group" in note for note in notes(none))


def test_uniques_of_parts_of_other_sizes_are_not_compared() -> None:
    uniques = tuple(row.model_copy(update={"same_size": False}) for row in differential().uniques)
    own = section(half(uniques=uniques))
    assert any("cannot be compared" in note for note in notes(own))
    assert table(own, "Records with a key of").rows[0][2] == uniques[0].fitted.uniques
