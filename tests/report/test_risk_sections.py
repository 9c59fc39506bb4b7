from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synthesizer.report.page import Chart, DataTable, render
from synthesizer.report.risk import risk_sections
from synthesizer.report.untyped import Record
from tests.report.risk_examples import record, risk, tables

ANCHORS = ["risk", "cap", "differential", "identity", "uniques", "nearest", "inference", "attacks"]
NASTY = '</script><script>alert("x")</script>'


def _places(content: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value; of long lists the first two entries."""
    inner: list[tuple[Any, Any]] = []
    if isinstance(content, dict):
        inner = list(content.items())
    elif isinstance(content, list):
        inner = list(enumerate(content[:2]))
    return [path] + [place for key, value in inner for place in _places(value, (*path, key))]


def _small() -> dict[str, Any]:
    """Return a file with one of everything, quick to make a page of."""
    content = risk()
    content["scenarios"], content["inference"] = content["scenarios"][:1], content["inference"][:1]
    return content


CONTENT = _small()
PLACES = _places(CONTENT)[1:]
JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 10**9),
    st.floats(allow_nan=True, allow_infinity=True),
    st.text(max_size=8),
    st.just([]),
    st.just({}),
    st.just([[1, 2, 3], None, "x", {"name": "CAP", "value": -1e308}]),
    st.just({"synthetic": [{}], "mean": {"repu": "x"}, "summary": [{}], "n": 1, "share": 2}),
)


def _changed(places: list[tuple[Any, ...]], junk: list[Any]) -> dict[str, Any]:
    content = copy.deepcopy(CONTENT)
    for place, value in zip(places, junk, strict=True):
        inside: Any = content
        try:
            for step in place[:-1]:
                inside = inside[step]
            inside[place[-1]] = value
        except (TypeError, KeyError, IndexError):
            continue  # an earlier change took the place away
    return content


def test_every_section_is_there_in_order() -> None:
    sections = risk_sections(record(risk()))
    assert [section.anchor for section in sections] == ANCHORS
    assert all(section.lead and section.blocks for section in sections)


def test_tables_are_as_wide_as_their_headings() -> None:
    for section in risk_sections(record(risk())):
        for table in tables(section):
            assert len(table.columns) == len(table.forms)
            assert {len(row) for row in table.rows} <= {len(table.columns)}, table.caption


def test_every_chart_says_what_it_shows() -> None:
    for section in risk_sections(record(risk())):
        for block in section.blocks:
            if isinstance(block, Chart):
                assert block.reads.endswith(".")
                assert any(letter.isdigit() for letter in block.summary)
                assert "<title>" in block.svg
                assert "<desc>" in block.svg


def test_pictures_of_several_scenarios_have_names_of_their_own() -> None:
    for section in risk_sections(record(risk())):
        charts = [block.svg for block in section.blocks if isinstance(block, Chart)]
        if section.anchor in ("risk", "cap", "identity", "uniques"):
            names = [svg.split("<title>")[1].split("</title>")[0] for svg in charts]
            assert len(set(names)) == len(names)


def test_every_number_of_the_file_that_matters_is_in_a_table() -> None:
    content = risk()
    shown = {
        float(cell)
        for section in risk_sections(record(content))
        for table in tables(section)
        for row in table.rows
        for cell in row
        if isinstance(cell, int | float)
    }
    for scenario in content["scenarios"]:
        for name in ("identity", "attribute"):
            for row in (scenario[name] or {}).get("datasets", []):
                assert set(row.values()) - {None} <= shown, name
        for row in scenario["cap"]["synthetic"]:
            assert {v for k, v in row.items() if k != "subset"} - {None} <= shown
        for row in (scenario["tcap"] or {}).get("synthetic", []):
            assert set(row.values()) - {None} <= shown
        for row in scenario["differential_confidentiality"]["comparisons"]:
            numbers = {v for v in row.values() if isinstance(v, float)}
            assert numbers <= shown


def test_without_checks_one_section_says_so() -> None:
    sections = risk_sections(Record(manifest={}, checks={}))
    assert [section.anchor for section in sections] == ["risk"]


def test_everything_off_still_says_how_to_switch_on() -> None:
    off = {"scenarios": [], "inference": [], "replicated_uniques": None, "nearest": None}
    sections = risk_sections(record(off | {"attacks": None, "failed": {}, "notes": []}))
    assert [s.anchor for s in sections] == ["risk", "uniques", "nearest", "inference", "attacks"]


def test_names_and_levels_from_data_cannot_become_markup() -> None:
    text = json.dumps(risk())
    for name in ("town", "job", "sex", "cook", "baker"):
        text = text.replace(f'"{name}"', json.dumps(f"{name} {NASTY}"))
    page = render("Risk", risk_sections(record(json.loads(text))), banner="Confidential")
    assert "&lt;script&gt;alert" in page
    assert "<script>alert" not in page


@settings(
    deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
@given(st.data())
def test_whatever_the_file_holds_a_page_comes_out(data: Any) -> None:
    places = data.draw(st.lists(st.sampled_from(PLACES), min_size=1, max_size=6))
    junk = [data.draw(JUNK) for _ in places]
    page = render("Risk", risk_sections(record(_changed(places, junk))), banner="Mine")
    assert page.count("<section") >= 1


@pytest.mark.parametrize("junk", [None, 3, "x", [[1], {}], {"a": 1}])
def test_any_part_may_be_anything(junk: Any) -> None:
    top = [place for place in PLACES if len(place) <= 3 and place[-1] != 1]
    for start in range(8):
        places = top[start::8]
        sections = risk_sections(record(_changed(places, [junk] * len(places))))
        assert sections[0].anchor == "risk"


def test_tables_hold_nothing_but_cells() -> None:
    for section in risk_sections(record(risk())):
        for block in section.blocks:
            if isinstance(block, DataTable):
                cells = [cell for row in block.rows for cell in row]
                assert all(cell is None or isinstance(cell, str | int | float) for cell in cells)


def test_a_name_cannot_turn_the_numbers_after_it_around() -> None:
    text = json.dumps(risk()).replace('"town"', '"to\\u202ewn"').replace('"f"', '"f\\u2067"')
    page = render("Risk", risk_sections(record(json.loads(text))), banner="Confidential")
    assert "to\ufffdwn" in page
    assert "\u202e" not in page
    assert "\u2067" not in page
