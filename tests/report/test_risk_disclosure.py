from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from synthesizer.report.risk_disclosure import (
    determined_blocks,
    disclosure_section,
    dominance_blocks,
)
from synthesizer.report.risk_figures import ScenarioPart
from tests.report.risk_examples import charts, gaps, notes, record, risk, spoken, tables

PAIR = {
    "dataset": 1,
    "target": "job",
    "key": "town",
    "records": 40,
    "share": 0.5,
    "prior": 0.9,
    "confidential": {"target_level": 'cook "x": #1', "key_level": 17.0},
}


def _section(content: dict[str, Any]) -> Any:
    section = disclosure_section(record(content))
    assert section is not None
    return section


def test_the_original_stands_beside_each_dataset_and_the_mean() -> None:
    content = risk()
    identity, attribute = charts(_section(content))[:2]
    stored = content["scenarios"][0]
    assert identity.table is not None
    assert attribute.table is not None
    assert identity.table.rows[0][1] == stored["identity"]["mean"]["repu"]
    assert identity.table.rows[2][1] == stored["identity"]["datasets"][1]["repu"]
    assert attribute.table.rows[0][1] == stored["attribute"]["mean"]["disco"]
    original = stored["attribute"]["mean"]["dorig"]
    assert f"(original {original:.3f})" in attribute.summary
    assert identity.svg.count("faint") == 4 * 3 + 1  # small dots, and the legend


def test_each_measure_is_explained() -> None:
    table = next(
        t for t in tables(_section(risk())) if t.caption.startswith("Attribute disclosure in words")
    )
    assert [row[0] for row in table.rows] == ["DiSCO", "DiSDiO", "DiS", "iS", "Dorig", "Dsyn"]
    assert table.rows[3][3] == 1.0


def test_exclusions_are_counted() -> None:
    content = risk()
    excluded = content["scenarios"][0]["attribute"]["excluded"]
    told = spoken(_section(content))
    assert f"1 exclusion(s) of levels known to everybody (checks.exclude) leave out {excluded}" in (
        told
    )
    assert "Nothing is excluded" in told  # of the third scenario


def test_a_tolerance_has_no_attribute_measures() -> None:
    told = spoken(_section(risk()))
    assert "need groups of pay in place of the tolerance" in told


@pytest.mark.parametrize("name", ["identity", "attribute"])
def test_what_failed_is_a_gap_and_what_is_off_a_sentence(name: str) -> None:
    content = risk()
    content["scenarios"][0][name] = None
    assert f"unless checks.{name} is false" in spoken(_section(content))
    content["failed"] = {f"{name} (town, age, sex -> job)": "it broke"}
    assert "it broke" in gaps(_section(content))[0].why


def test_levels_that_dominate_are_shown_once_with_the_line_that_excludes_them() -> None:
    note, table = dominance_blocks([PAIR, PAIR | {"dataset": 2, "share": 0.6}])
    (row,) = table.rows  # type: ignore[union-attr]
    assert row[5] == 2
    assert row[7] == 0.6
    assert yaml.safe_load(str(row[4])) == [
        {"target_level": 'cook "x": #1', "key": "town", "key_level": 17.0}
    ]
    assert "common" in note.text  # type: ignore[union-attr]


def test_a_target_level_alone_has_no_key() -> None:
    alone = {k: v for k, v in PAIR.items() if k != "key"}
    _, table = dominance_blocks([alone | {"confidential": {"target_level": "N"}}])
    row = table.rows[0]  # type: ignore[union-attr]
    assert (row[2], row[3]) == (None, None)
    assert yaml.safe_load(str(row[4])) == [{"target_level": "N"}]
    assert list(dominance_blocks([])) == []


def test_warnings_of_the_measures_reach_the_section() -> None:
    content = risk()
    content["scenarios"][0]["attribute"]["warnings"] = [PAIR]
    assert any("Few levels stand behind" in note for note in notes(_section(content)))


def test_keys_that_give_the_target_away_are_told() -> None:
    entry = {"keys": ["town"], "shared": 9, "determined": 9, "share": 1.0}
    found = {
        "single": [entry | {"by_construction": True}, entry | {"nearly": True}],
        "together": entry,
    }
    (table,) = determined_blocks(ScenarioPart({"determined": found}))
    assert [row[1] for row in table.rows] == ["yes", "nearly", "no"]  # type: ignore[union-attr]
    assert list(determined_blocks(ScenarioPart({}))) == []


def test_without_scenarios_there_is_no_section() -> None:
    assert disclosure_section(record({"scenarios": []})) is None
    assert json.dumps(PAIR)  # what the example holds is what a file can hold
