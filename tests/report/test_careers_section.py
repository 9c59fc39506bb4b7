"""The careers of a panel on the page."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest

from synthesizer.report.build import build_report
from synthesizer.report.careers import (
    MATCHED,
    career_lines,
    careers_section,
    is_above_chance,
    noise_in_words,
    paired_bars,
    read_careers,
    state_stacks,
    unit_words,
    was_matched,
)
from synthesizer.report.page import Chart, DataTable, Note
from synthesizer.report.risk_figures import Rate
from synthesizer.report.untyped import Record
from tests.report.blocks import gaps, html, of_kind, table, told
from tests.report.fixtures import EVIL, Page, checks, figure, manifest

STATES = ("work", EVIL, "(absent)")
PERIODS = ("1990", "1991", "1992")


def shares(shift: float = 0.0) -> dict[str, Any]:
    heads = [[0.5 + shift, 0.3 - shift, 0.2], [0.6, 0.2, 0.2], [0.7 - shift, 0.1 + shift, 0.2]]
    return {
        "headcounts": heads,
        "transitions": [[0.4 + shift, 0.1 - shift, 0.0], [0.1, 0.2, 0.0], [0.0, 0.0, 0.2]],
        "n_moves": [0.5, 0.3, 0.2],
        "spells": [[0.1, 0.1, 0.3], [0.2, 0.1, 0.0], [0.0, 0.0, 0.2]],
        "first_last": [[0.5, 0.0, 0.0], [0.2, 0.1, 0.0], [0.0, 0.0, 0.2]],
        "entry": [0.8, 0.0, 0.0, 0.2],
        "exit": [0.0, 0.0, 0.8, 0.2],
        "spell_lengths": [2.4 + shift, 1.3, None],
    }


def measure(name: str, mean: float, floor: float | None) -> dict[str, Any]:
    return {
        "name": name,
        "meaning": f"what {name} is",
        "datasets": [mean, mean + 0.02],
        "mean": mean,
        "floor": floor,
        "ratio": mean / floor if floor else None,
    }


def variable(name: str, points: float, *, constant: bool = False) -> dict[str, Any]:
    return {
        "variable": name,
        "kind": "categorical",
        "association": "Cramer's V",
        "constant": constant,
        "changing": {
            "original": 0.4,
            "synthetic": [0.4 + points / 100],
            "mean": 0.4 + points / 100,
            "difference_points": points,
        },
        "lag": {"original": 0.9, "synthetic": [0.85], "mean": 0.85},
    }


def panel() -> dict[str, Any]:
    sequences = {
        "career": "state",
        "periods": list(PERIODS),
        "states": list(STATES),
        "n_states": 3,
        "floor_persons": 100,
        "measures": [measure("headcounts", 0.02, 0.02), measure("spells", 0.4, 0.1)],
        "worst_ratio": 4.0,
        "original": shares(),
        "synthetic": shares(0.05),
        "sample": [[0, 0, 1], [2, 2, 0], [1, 1, 1]],
    }
    size = {"persons": 100, "rows": 240, "rows_per_person": 2.4}
    return {
        "original": size,
        "synthetic": [size, {**size, "rows_per_person": 2.6}],
        "figures": [{"place": "careers", **figure("careers: spells", 0.4, baseline=0.1)}],
        "sequences": sequences,
        "variables": [
            variable("state", 1.0), variable(EVIL, -7.0), variable("sex", 0.0, constant=True)
        ],
        "failed": {},
    }  # fmt: skip


def replicated(value: float = 0.3) -> dict[str, Any]:
    return {
        "n": 100, "n_periods": 3, "uniques": 40, "shared": 0.6, "twins": 0.1, "datasets": [],
        "figures": [
            figure("careers of one person", value, baseline=0.1, original=0.4, n=200),
            figure("careers in the data", 0.6, baseline=0.6, original=1.0, n=200),
        ],
    }  # fmt: skip


def record(own: dict[str, Any] | None = None, **facts: Any) -> Record:
    content = checks() | {"panel": panel() if own is None else own}
    content["risk"] |= {"replicated_careers": replicated()}
    who = {"form": "long", "person": "id", "time": "year", "career": "state", "persons": 100}
    return Record(manifest() | {"panel": {**who, "periods": 3}} | facts, content)


def test_no_panel_no_section() -> None:
    assert careers_section(Record(manifest(), checks())) is None
    assert unit_words(Record(manifest(), checks())) == "records"
    assert "records each" in build_report(Record(manifest(), checks()))


def test_all_parts_are_there_with_a_text_alternative() -> None:
    section = careers_section(record())
    titles = [chart.title for chart in of_kind(section, Chart)]
    assert titles == [
        "Share of persons in each state, period by period",
        "How often persons change state",
        "How long spells last",
        "Synthetic careers, one person a line",
    ]
    assert all(chart.summary and chart.reads for chart in of_kind(section, Chart))
    assert all(chart.table is not None for chart in of_kind(section, Chart)[:3])
    assert gaps(section) == []
    assert EVIL not in html(section)
    assert "2.400 periods" in html(section)
    assert "2.500." in html(section)


def test_the_page_shows_the_section_and_speaks_of_persons() -> None:
    page = build_report(record())
    assert '<section id="careers"' in page
    assert "100 persons each" in page
    assert "figures count persons" in page
    assert "Careers, largest distance over its noise floor" in page
    assert "Careers of one person" in page
    assert "careers: spells" in page
    assert "Original persons" in page
    assert EVIL not in page
    Page(page)


def test_distances_come_with_noise_floor_ratio_and_words() -> None:
    found = table(careers_section(record()), "Distance of synthetic")
    assert found.columns == ["What", "Distance", "Datasets", "Noise floor", "Ratio", "In words"]
    assert found.rows[0] == [
        "What headcounts is", 0.02, "0.020 to 0.040", 0.02, 1.0, "as near as chance allows",
    ]  # fmt: skip
    assert found.rows[1][-1] == "far off: more than chance explains"
    assert found.highlight == [1]
    single = panel()
    for own in single["sequences"]["measures"]:
        own["datasets"] = own["datasets"][:1]
    assert "Datasets" not in table(careers_section(record(single)), "Distance of").columns


@pytest.mark.parametrize(
    ("ratio", "distance", "words"),
    [
        (0.2, 0.1, "nearer than chance"),
        (1.25, 0.1, "as near as chance"),
        (1.9, 0.1, "a little further off"),
        (2.5, 0.1, "clearly off"),
        (3.5, 0.1, "far off"),
        (None, 0.0, "equal"),
        (None, 0.1, "never do"),
        (None, None, "no good news"),
    ],
)
def test_ratios_in_words(ratio: float | None, distance: float | None, words: str) -> None:
    assert words in noise_in_words(ratio, distance)


def test_steps_are_shares_of_those_in_the_state_before() -> None:
    found = table(careers_section(record()), "From one period")
    first = found.rows[0]
    assert first[:2] == ["work", "work"]
    assert first[2:] == pytest.approx([0.5, 0.8, 0.9])


def test_variables_the_furthest_off_first_and_constant_ones_named() -> None:
    section = careers_section(record())
    found = table(section, "Values within persons")
    assert [row[0] for row in found.rows] == [EVIL, "state"]
    assert found.rows[0][3] == -7.0
    assert list(found.highlight) == [0]
    assert "Nobody changes sex" in told(list(section.blocks))


def test_match_is_told() -> None:
    chain = [{"variable": "state", "model": "career", "predictors": []}]
    config = {"models": {"career": {"match": True}}}
    notes = of_kind(careers_section(record(config=config, chain=chain)), Note)
    assert Note(MATCHED, "alert") in notes
    own = {"variables": {"state": {"options": {"match": True}}}}
    assert was_matched(record(config=own, chain=chain))
    assert not was_matched(record(config=own, chain=[]))
    off = {**config, "variables": {"state": {"options": {"match": False}}}}
    assert not was_matched(record(config=off, chain=chain))
    assert MATCHED not in told(list(careers_section(record()).blocks))


def test_copied_careers_are_an_alert_and_few_are_not() -> None:
    notes = of_kind(careers_section(record()), Note)
    assert [note.tone for note in notes] == ["alert"]
    content = record()
    content.checks["risk"]["replicated_careers"] = replicated(0.11)
    assert [note.tone for note in of_kind(careers_section(content), Note)] == ["good"]
    rate = Rate(name="careers", value=0.11, baseline=0.1, n=200)
    assert not is_above_chance(rate)
    assert not is_above_chance(Rate(name="careers", value=0.9))


def test_switched_off_is_a_gap() -> None:
    content = record()
    del content.checks["panel"]
    del content.checks["risk"]["replicated_careers"]
    section = careers_section(content)
    assert len(gaps(section)) == 2
    assert "checks.sequences" in html(section)


def test_failures_are_told() -> None:
    own = panel() | {"sequences": None, "failed": {"careers": "too few"}}
    section = careers_section(record(own))
    assert "Could not be computed: careers: too few." in told(list(section.blocks))
    assert of_kind(section, Chart) == []
    assert table(section, "Values within persons")


@pytest.mark.parametrize("key", ["headcounts", "transitions", "n_moves", "spell_lengths"])
@pytest.mark.parametrize("broken", [None, "words", [], [[1.0]], [None], {"a": 1}])
def test_broken_files_break_nothing(key: str, broken: Any) -> None:
    own = panel()
    own["sequences"]["synthetic"][key] = broken
    page = build_report(record(own))
    assert '<section id="careers"' in page
    assert "holds something here that this version cannot read" not in page


@pytest.mark.parametrize("key", list(panel()["sequences"]))
def test_missing_parts_break_nothing(key: str) -> None:
    own = panel()
    del own["sequences"][key]
    page = build_report(record(own))
    assert "holds something here that this version cannot read" not in page


@pytest.mark.parametrize("key", [*panel(), "panel"])
def test_odd_parts_break_nothing(key: str) -> None:
    for odd in (7, "x", [1], [{}], {}, None):
        own = panel() | {key: odd} if key != "panel" else odd
        content = record(own if isinstance(own, dict) else {})
        if not isinstance(own, dict):
            content.checks["panel"] = own
        page = build_report(content)
        assert "holds something here that this version cannot read" not in page, odd


def test_careers_out_of_range_are_left_out() -> None:
    own = panel()
    own["sequences"]["sample"] = [[0, 0, 9], [0, 1], "x", [0, 0, 1]]
    assert read_careers(record(own)).sample == [[0, 0, 1]]


def test_of_many_states_the_largest_are_shown_and_the_others_together() -> None:
    own = panel()
    told_by = own["sequences"]
    labels = [f"s{k}" for k in range(14)]
    told_by["states"] = [*labels, "(other states)", "(absent)"]
    row = [0.05] * 14 + [0.1, 0.2]
    for side in ("original", "synthetic"):
        told_by[side] |= {"headcounts": [row] * 3, "transitions": [], "spell_lengths": []}
    told_by["sample"] = [[0, 13, 15]]
    found = read_careers(record(own))
    assert found.states == (*labels[:9], "(other states)", "(absent)")
    assert found.headcounts[0][0] == pytest.approx([0.05] * 9 + [0.05 * 5 + 0.1, 0.2])
    assert found.sample == [[0, 9, 10]]
    assert len(set(found.colours)) == 11
    told_by["states"] = labels[:10]
    for side in ("original", "synthetic"):
        told_by[side]["headcounts"] = [[0.1] * 10] * 3
    assert read_careers(record(own)).states == tuple(labels[:10])


def test_the_wide_form_names_periods_by_its_columns() -> None:
    chain = [{"variable": "state", "model": "career", "columns": ["Jul.93", "Aug.93", "Sep.93"]}]
    found = read_careers(record(chain=chain))
    assert found.periods == ("Jul.93", "Aug.93", "Sep.93")


def test_stacks_fill_the_picture() -> None:
    heads = shares()["headcounts"]
    drawn = state_stacks(
        [("original", heads), ("synthetic", heads)],
        periods=PERIODS,
        states=STATES,
        colours=("fill-s1", "fill-s2", "fill-grid"),
        title="t",
        description="d",
    )
    page = Page(drawn)
    polygons = page.all("polygon")
    assert [p["class"] for p in polygons] == ["fill-s1", "fill-s2", "fill-grid"] * 2
    places = [
        np.array([[float(v) for v in point.split(",")] for point in str(p["points"]).split()])
        for p in polygons
    ]
    # a share's height is its part of the whole picture, and the stack ends at 1
    tall = places[0][:, 1].max() - places[2][:, 1].min()
    first = places[0][:, 1].max() - places[0][0, 1]
    assert first / tall == pytest.approx(heads[0][0], abs=0.01)
    assert places[2][:, 1].min() == pytest.approx(30.0)
    assert page.text("title")[0] == "t"


def test_lines_have_a_piece_for_every_spell() -> None:
    careers = [[0, 0, 1], [2, 2, 0], [1, 1, 1]]
    page = Page(
        career_lines(
            careers,
            periods=PERIODS,
            states=STATES,
            colours=("fill-s1", "fill-s2", "fill-grid"),
            title="t",
            description="d",
        )
    )
    pieces = [r for r in page.all("rect") if r["height"] == "7"]
    assert [r["class"] for r in pieces] == ["fill-s1", "fill-s2", "fill-s2", "fill-grid", "fill-s1"]
    widths = [float(str(r["width"])) for r in pieces]
    assert widths[2] == pytest.approx(3 * widths[1], abs=0.02)


def test_bars_are_as_long_as_their_values() -> None:
    rows = [("a", 1.0, 0.5), ("b", None, 0.25)]
    page = Page(paired_bars(rows, label="l", title="t", description="d"))
    bars = [r for r in page.all("rect") if r["height"] == "9"]
    widths = [float(str(r["width"])) for r in bars]
    assert np.array(widths) / widths[0] == pytest.approx([1.0, 0.5, 0.0, 0.25], abs=0.01)


def test_everybody_always_there_has_no_career_to_compare() -> None:
    own = panel()
    heads = [[1.0]] * 3
    own["sequences"] |= {"states": ["present"], "career": None, "sample": [[0, 0, 0]]}
    for side in ("original", "synthetic"):
        own["sequences"][side] |= {"headcounts": heads}
    section = careers_section(record(own))
    assert "no careers to compare" in html(section)
    assert of_kind(section, Chart) == []


def test_many_moves_are_one_bar() -> None:
    own = panel()
    for side in ("original", "synthetic"):
        own["sequences"][side]["n_moves"] = [0.05] * 20
    (chart,) = [c for c in of_kind(careers_section(record(own)), Chart) if "change" in c.title]
    assert isinstance(chart.table, DataTable)
    assert chart.table.rows[-1][0] == "12 or more"
    assert chart.table.rows[-1][1] == pytest.approx(0.4)


def test_nothing_of_the_record_is_changed() -> None:
    content = record()
    before = copy.deepcopy(content.checks)
    careers_section(content)
    assert json.dumps(before) == json.dumps(content.checks)
