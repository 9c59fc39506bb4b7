from __future__ import annotations

from typing import Any

import pytest

from synthesizer.report.risk_halves import (
    GROUPS_MOST_ROWS,
    MANY_SPLITS,
    differential_section,
    group_blocks,
)
from synthesizer.report.untyped import Record
from tests.report.risk_examples import charts, gaps, notes, record, risk, spoken, tables


def _section(content: dict[str, Any]) -> Any:
    section = differential_section(record(content))
    assert section is not None
    return section


def _split_again(content: dict[str, Any], repeats: int) -> None:
    """Pretend that the first comparison was repeated."""
    part = content["scenarios"][0]["differential_confidentiality"]
    part["comparisons"] = [
        row | {"repeat": repeat} for repeat in range(repeats) for row in part["comparisons"]
    ]
    part["groups"] = [
        row | {"repeat": repeat} for repeat in range(repeats) for row in part["groups"]
    ]
    for row in part["summary"]:
        row.update(repeats=repeats, covering_zero=1, difference_sd=0.0125)


def test_fitted_stand_beside_unseen_records() -> None:
    content = risk()
    section = _section(content)
    part = content["scenarios"][0]["differential_confidentiality"]
    row = next(r for r in part["summary"] if (r["m"], r["rule"]) == (3, "zero"))
    assert f"{row['mean_a']:.3f} for records that were fitted" in spoken(section)
    assert f"{row['mean_b']:.3f} for records that were not" in spoken(section)
    assert f"would add {part['released']:.3f}" in spoken(section)
    assert row["mean_b"] in [r[4] for r in charts(section)[0].table.rows]


def test_the_difference_is_drawn_with_its_interval_and_its_tests_behind() -> None:
    content = risk()
    chart = charts(_section(content))[1]
    first = content["scenarios"][0]["differential_confidentiality"]["comparisons"][0]
    assert chart.table is not None
    assert chart.table.rows[0][7:10] == (first["difference"], first["low"], first["high"])
    assert chart.table.rows[0][-1] == first["p"]
    assert "split 1" not in chart.svg


def test_repeats_are_told_and_drawn() -> None:
    content = risk()
    _split_again(content, 3)
    section = _section(content)
    assert "averages over 3 random splits; in 1 of them" in spoken(section)
    assert "varies by 0.013" in spoken(section) or "varies by 0.012" in spoken(section)
    assert ">split 3<" in charts(section)[1].svg
    assert "sex = f, split 2" in charts(section)[2].svg


def test_of_many_splits_the_averages_are_drawn() -> None:
    content = risk()
    _split_again(content, MANY_SPLITS + 1)
    assert "split 1<" not in charts(_section(content))[1].svg


def test_of_many_datasets_the_first_and_the_last_are_drawn() -> None:
    content = risk()
    part = content["scenarios"][0]["differential_confidentiality"]
    zero = next(r for r in part["summary"] if r["rule"] == "zero")
    part["summary"] = [zero | {"m": m} for m in range(1, 31)]
    picture = charts(_section(content))[0].svg
    assert ">1 dataset," in picture
    assert ">30 datasets," in picture
    assert ">10 datasets," not in picture


def test_groups_come_with_the_worst_first() -> None:
    content = risk()
    section = _section(content)
    chart = next(c for c in charts(section) if c.title == "Difference by group of sex")
    worst = content["scenarios"][0]["differential_confidentiality"]["worst_group"]
    assert chart.table is not None
    assert chart.table.rows[0][0] == worst["group"]
    assert f"that of {worst['group']}: {worst['difference']:.3f}" in chart.summary


def test_of_many_groups_the_worst_are_drawn() -> None:
    one = {"by": "town", "repeat": 0, "n_a": 20, "n_b": 20, "difference": 0.0}
    rows = [one | {"group": str(number)} for number in range(GROUPS_MOST_ROWS + 5)]
    (chart,) = group_blocks({"by": "town", "groups": rows, "worst_group": None})
    assert "5 more are in the table" in chart.reads  # type: ignore[union-attr]
    assert "no worst one is named" in chart.summary  # type: ignore[union-attr]


def test_groups_that_are_too_small_are_told() -> None:
    content = risk()
    part = content["scenarios"][0]["differential_confidentiality"]
    part.update(groups=[], worst_group=None)
    assert any("No group of sex is large enough" in n for n in notes(_section(content)))
    assert list(group_blocks({"by": None, "groups": []})) == []


def test_uniques_of_parts_of_other_sizes_are_not_compared() -> None:
    content = risk()
    for row in content["scenarios"][0]["differential_confidentiality"]["uniques"]:
        row["same_size"] = False
    section = _section(content)
    assert any("cannot be compared" in note for note in notes(section))
    table = next(t for t in tables(section) if t.caption.startswith("Records with a key of"))
    first = content["scenarios"][0]["differential_confidentiality"]["uniques"][0]
    assert table.rows[0][2] == first["fitted"]["uniques"]


def test_a_control_file_is_another_design() -> None:
    alone = Record(manifest={}, checks={"files": [{"name": "a.csv"}], **risk()})
    section = differential_section(alone)
    assert section is not None
    assert "control file" in spoken(section)
    assert "split at random into two halves" in spoken(_section(risk()))


@pytest.mark.parametrize(
    ("files", "words"), [([], "switch it on"), ([{"name": "a.csv"}], "give --control")]
)
def test_what_is_off_says_how_to_get_it(files: list[Any], words: str) -> None:
    content = risk()
    for scenario in content["scenarios"]:
        scenario["differential_confidentiality"] = None
    section = differential_section(Record(manifest={}, checks={"files": files, **content}))
    assert section is not None
    assert words in spoken(section)


def test_a_half_that_could_not_be_synthesised_is_a_gap() -> None:
    content = risk()
    for scenario in content["scenarios"]:
        scenario["differential_confidentiality"] = None
    content["failed"] = {"half split": "too few records"}
    assert all("too few records" in gap.why for gap in gaps(_section(content)))
    assert differential_section(record({})) is None


def test_very_long_tables_are_shortened_and_say_so() -> None:
    content = risk()
    _split_again(content, 100)
    table = next(t for t in tables(_section(content)) if t.caption.startswith("Every split"))
    assert table.caption.endswith("; 400 more rows are in checks.json")
    assert {row[1] for row in table.rows} == {3}
