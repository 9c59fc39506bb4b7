from __future__ import annotations

from typing import Any

from synthesizer.report.risk_disclosure import uniques_section
from tests.report.risk_examples import charts, gaps, record, risk, spoken, tables


def _section(content: dict[str, Any]) -> Any:
    section = uniques_section(record(content))
    assert section is not None
    return section


def test_uniques_and_special_uniques_are_counted() -> None:
    content = risk()
    suda = content["scenarios"][0]["suda"]
    told = spoken(_section(content))
    assert f"{suda['uniques']} of 300 original records" in told
    assert f"{suda['special_uniques']} of them are special uniques" in told
    dis = next(f["value"] for f in suda["figures"] if f["name"] == "DIS")
    assert f"{dis:.3f} over the file" in told
    assert "no score" not in told


def test_dis_bands_and_contributions_are_drawn() -> None:
    content = risk()
    suda = content["scenarios"][0]["suda"]
    bands, keys = charts(_section(content))[:2]
    assert bands.table is not None
    assert [row[1] for row in bands.table.rows] == [b["records"] for b in suda["dis_scores"]]
    assert keys.table is not None
    assert dict(keys.table.rows) == suda["contributions"]
    assert keys.table.rows[0][1] == max(suda["contributions"].values())


def test_scores_and_minimal_uniques_are_tables() -> None:
    content = risk()
    suda = content["scenarios"][0]["suda"]
    found = {table.columns[0]: table for table in tables(_section(content))}
    assert len(found["Keys in the set"].rows) == len(
        content["scenarios"][2]["suda"]["minimal_uniques"]
    )
    scores = next(t for t in tables(_section(content)) if t.columns == ("Point", "Score"))
    assert dict(scores.rows) == suda["scores"]


def test_uniques_without_a_score_are_told() -> None:
    content = risk()
    content["scenarios"][0]["suda"]["uniques_without_score"] = 7
    assert "7 uniques have no score" in spoken(_section(content))


def test_no_unique_at_all_leaves_out_the_pictures_that_need_one() -> None:
    content = risk()
    content["scenarios"] = content["scenarios"][:1]
    suda = content["scenarios"][0]["suda"]
    suda["contributions"] = dict.fromkeys(suda["contributions"])
    assert len(charts(_section(content))) == 1


def test_replicated_uniques_by_dataset() -> None:
    content = risk()
    datasets = content["replicated_uniques"]["datasets"]
    table = next(t for t in tables(_section(content)) if t.columns[-1] == "Replicated uniques")
    assert [row[-1] for row in table.rows] == [d["replicated"] for d in datasets]
    assert "Whole records: " in spoken(_section(content))


def test_what_failed_is_a_gap_and_what_is_off_a_sentence() -> None:
    content = risk()
    content["replicated_uniques"] = content["scenarios"][0]["suda"] = None
    told = spoken(_section(content))
    assert "unless checks.suda is false" in told
    assert "unless checks.replicated_uniques is false" in told
    content["failed"] = {
        "suda (town, age, sex -> job)": "first",
        "replicated_uniques": "second",
    }
    assert [gap.why[-6:] for gap in gaps(_section(content))] == [" first", "second"]
    assert uniques_section(record({})) is None
