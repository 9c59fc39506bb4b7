from __future__ import annotations

import pytest

from synthesizer.report.page import Gap, Words
from synthesizer.report.risk import cap_section
from tests.report.risk_examples import (
    charts,
    gaps,
    one_dataset,
    record,
    risk,
    spoken,
    tables,
)


def test_every_subset_and_rule_has_a_panel_with_baseline_and_original() -> None:
    section = cap_section(record(risk()))
    assert section is not None
    picture = charts(section)[0].svg
    for words in ("all records", "uniques on the keys", "special uniques"):
        assert picture.count(f">{words}<") == 2
    assert picture.count("line-original dotted") == 6 + 1  # and the legend
    assert picture.count('class="line-synthetic"') == 6


def test_the_table_holds_the_numbers_of_the_file() -> None:
    content = risk()
    section = cap_section(record(content))
    assert section is not None
    table = charts(section)[0].table
    assert table is not None
    last = content["scenarios"][0]["cap"]["synthetic"][-1]
    row = next(r for r in table.rows if r[0] == "special uniques" and r[1] == 3)
    assert row[4:8] == (
        last["zero"],
        last["chance_zero"],
        last["undefined"],
        last["chance_undefined"],
    )


def test_the_summary_goes_from_one_dataset_to_all() -> None:
    content = risk()
    section = cap_section(record(content))
    assert section is not None
    rows = [r for r in content["scenarios"][0]["cap"]["synthetic"] if r["subset"] == "all"]
    told = f"All records: {rows[0]['zero']:.3f} with 1, {rows[-1]['zero']:.3f} with 3 datasets"
    assert charts(section)[0].summary.startswith(told)


def test_one_dataset_is_a_sentence_and_not_a_line() -> None:
    section = cap_section(record(one_dataset(risk())))
    assert section is not None
    assert charts(section) == []
    assert "with one dataset an intruder reads off" in spoken(section)


def test_datasets_by_themselves_are_shown_where_the_file_has_them() -> None:
    content = risk()
    single = {"dataset": 2, "subset": "all", "matched": 9, "zero": 0.123}
    content["scenarios"][0]["cap"]["singles"] = [single]
    section = cap_section(record(content))
    assert section is not None
    found = [t for t in tables(section) if t.caption.startswith("Mean CAP of each dataset")]
    assert found[0].rows == [("all records", 2, 9, 0.123, None, None, None)]


def test_the_line_on_m_is_shown_where_there_is_one() -> None:
    content = risk()
    section = cap_section(record(content))
    assert section is not None
    slope = content["scenarios"][0]["regression_on_m"][0]["line"]["slope"]
    table = next(t for t in tables(section) if t.caption.startswith("Straight line"))
    assert table.rows[0][4] == slope
    content["scenarios"][0]["regression_on_m"] = []
    again = cap_section(record(content))
    assert again is not None
    assert "it needs three of them" in spoken(again)


def test_a_tolerance_has_no_tcap() -> None:
    section = cap_section(record(risk()))
    assert section is not None
    assert sum(table.caption.startswith("TCAP") for table in tables(section)) == 2
    assert gaps(section) == []


@pytest.mark.parametrize("name", ["cap", "tcap"])
def test_what_failed_is_a_gap_with_the_reason(name: str) -> None:
    content = risk()
    content["scenarios"][0][name] = None
    content["failed"] = {f"{name} (town, age, sex -> job)": "it broke; mend it"}
    section = cap_section(record(content))
    assert section is not None
    assert "it broke; mend it" in gaps(section)[0].why


def test_what_is_off_is_a_sentence() -> None:
    content = risk()
    content["scenarios"][0].update(cap=None, tcap=None)
    section = cap_section(record(content))
    assert section is not None
    assert not any(isinstance(block, Gap) for block in section.blocks)
    assert any(isinstance(block, Words) for block in section.blocks)
    assert "unless checks.cap is false" in spoken(section)


def test_without_scenarios_there_is_no_section() -> None:
    assert cap_section(record({"scenarios": []})) is None
