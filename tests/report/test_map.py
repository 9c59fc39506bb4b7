"""The risk-utility map and the page around it: places, frontier, names, hostile text, gaps."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from synthesizer.jobs.compare import compare_points
from synthesizer.jobs.run_points import Found, read_run
from synthesizer.measures.results import CheckResults
from synthesizer.report.axes import axes_of
from synthesizer.report.comparison import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    comparison_page,
    frontier_path,
    map_data,
    map_section,
    runs_section,
    standing_words,
)
from synthesizer.report.page import DataTable, Gap
from synthesizer.report.plane import place_labels
from tests.run_directories import checks_of, manifest_of, write_run

HOSTILE = "</script><script>alert(1)</script>\"'&\u2028"


def content_of(where: Path, runs: dict[str, tuple[float, float]], **changes: Any) -> dict[str, Any]:
    points = [
        read_run(
            write_run(where / str(n), manifest_of({"rows": n} | changes), checks_of(cap, loss)),
            name,
        )
        for n, (name, (cap, loss)) in enumerate(runs.items(), 1)
    ]
    return compare_points(points).to_dict()


@pytest.fixture
def content(tmp_path: Path) -> dict[str, Any]:
    return content_of(tmp_path, {"a": (0.4, 1.0), "b": (0.3, 1.5), "c": (0.42, 1.6)})


class Reader(HTMLParser):
    """Collects start tags, and the text of scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def with_attribute(self, name: str) -> list[dict[str, str | None]]:
        return [attrs for _, attrs in self.tags if name in attrs]


def test_places_are_inside_the_frame_and_in_order(content: dict[str, Any]) -> None:
    data = map_data(content)
    assert data is not None
    x, y = data.across["cap"], data.up["mean_two_way"]
    assert x.places[1] < x.places[0] < x.places[2]  # type: ignore[operator]
    assert y.places[0] > y.places[1] > y.places[2]  # type: ignore[operator] # small loss is low
    for axis in data.across.values():
        inside = [p for part in (axis.places, *axis.dots) for p in part if p is not None]
        assert all(LEFT < place < RIGHT for place in inside)
    for axis in data.up.values():
        assert all(TOP < place < BOTTOM for place in axis.places if place is not None)


def test_every_pair_has_its_frontier(content: dict[str, Any]) -> None:
    data = map_data(content)
    assert data is not None
    assert len(data.pairs) == len(data.across) * len(data.up)
    first = data.pairs["cap|mean_two_way"]
    assert first["on"] == [1, 0]
    assert {label[0] for label in first["labels"]} == {0, 1, 2}
    assert "On the frontier, by rising risk: b (risk 0.300, loss 1.500); a" in first["words"]
    assert "1 run beaten by others" in first["words"]
    assert first["path"].startswith(f"M{data.across['cap'].places[1]:g} {TOP}V")
    json.dumps(data.to_dict(), allow_nan=False)


def test_frontier_of_one_and_of_none() -> None:
    assert frontier_path([(100, 200)]) == f"M100 {TOP}V200H{RIGHT}"
    assert frontier_path([]) == ""


def test_picture_shows_the_first_pair_only(content: dict[str, Any]) -> None:
    reader = Reader(str(map_section(content, map_data(content)).blocks[1].svg))  # type: ignore[union-attr]
    for name, shown in (("data-across", "cap"), ("data-up", "mean_two_way")):
        groups = reader.with_attribute(name)
        assert [g[name] for g in groups if g.get("display") != "none"] == [shown]
        assert len(groups) > 3
    runs = reader.with_attribute("data-run")
    assert len(runs) == 3
    circles = [a["class"] for tag, a in reader.tags if tag == "circle" and a["r"] == "6.5"]
    assert circles == ["fill-s1", "fill-s1", "line-s1"]
    dots = reader.with_attribute("data-dot")
    assert len(dots) == 6
    assert all(dot.get("display") is None for dot in dots)


def test_marks_out_of_reach_are_told_at_the_edge(content: dict[str, Any]) -> None:
    data = map_data(content)
    assert data is not None
    cap = data.across["cap"]
    assert [mark.look for mark in cap.marks] == []
    assert {mark.look for mark in cap.far} == {"baseline", "original"}
    picture = str(map_section(content, data).blocks[1].svg)  # type: ignore[union-attr]
    assert "← nothing learnt (0.100)" in picture
    assert "original released (0.900) →" in picture
    nearer = data.across["nearer_share"]
    assert [mark.value for mark in nearer.marks] == [0.5]
    low, high = nearer.ends[0]
    assert low is not None
    assert high is not None
    assert low < high


TITLES = {key: {"title": "a figure", "meaning": "what it says"} for key in ("cap", "disco")}


def with_figures(**figures: Found) -> dict[str, Any]:
    return {"figures": {key: one.to_dict() for key, one in figures.items()}}


def test_equal_values_stand_in_the_middle() -> None:
    runs = [with_figures(cap=Found(value=0.3))] * 2
    assert axes_of(runs, TITLES, ["cap"], (0, 100), 5)["cap"].places == (50.0, 50.0)
    zero = axes_of([with_figures(cap=Found(value=0))], TITLES, ["cap"], (0, 100), 5)["cap"]
    assert zero.places == (50.0,)


def test_dots_are_limited() -> None:
    run = with_figures(cap=Found(value=0.3, datasets=(0.3,) * 500), disco=Found())
    axis = axes_of([run], TITLES, ["cap", "disco"], (0, 100), 400)
    assert list(axis) == ["cap"]
    assert len(axis["cap"].dots[0]) == 50
    assert axis["cap"].dot(0, 50) is None


def test_names_hide_neither_each_other_nor_dots() -> None:
    dots = [(i, 100.0 + 9 * i, 200.0 + 3 * i) for i in range(6)]
    names = {i: f"setting {i}" for i in range(5)}
    labels = place_labels(dots, [], names, (0, 0, 600, 400))
    assert [label[0] for label in labels] == [0, 1, 2, 3, 4]
    assert len({(label[1], label[2]) for label in labels}) == 5


def test_names_stay_inside_the_frame() -> None:
    ((_, x, _, anchor),) = place_labels([(0, 5, 50)], [], {0: "long name"}, (0, 0, 300, 100))
    assert (anchor, x > 5) == ("start", True)
    ((_, x, _, anchor),) = place_labels([(0, 295, 50)], [], {0: "long name"}, (0, 0, 300, 100))
    assert (anchor, x < 295) == ("end", True)


def test_many_runs_are_named_on_the_frontier_only(tmp_path: Path) -> None:
    runs = {f"r{n}": (0.2 + n / 100, 3 - n / 100) for n in range(15)}
    runs |= {f"w{n}": (0.5, 4.0) for n in range(3)}
    data = map_data(content_of(tmp_path, runs))
    assert data is not None
    first = data.pairs["cap|mean_two_way"]
    assert len(first["on"]) == 15
    named = [label[0] for label in first["labels"]]
    assert set(named) <= set(first["on"])
    assert named[:2] == [0, 14]  # the ends of the frontier come first
    assert "and 7 other runs" in first["words"]
    assert "3 runs beaten" in first["words"]


def test_a_run_without_figures_is_hidden(content: dict[str, Any]) -> None:
    content["runs"][2]["figures"]["cap"]["value"] = None
    data = map_data(content)
    assert data is not None
    assert "1 run without these figures" in data.pairs["cap|mean_two_way"]["words"]
    reader = Reader(str(map_section(content, data).blocks[1].svg))  # type: ignore[union-attr]
    assert [a.get("display") for a in reader.with_attribute("data-run")] == [None, None, "none"]


def test_ties_are_told_beside_the_map_and_in_the_table(tmp_path: Path) -> None:
    content = content_of(tmp_path, {"a": (0.4, 1.0), "b": (0.395, 1.5), "c": (0.2, 3.0)})
    data = map_data(content)
    assert data is not None
    first = data.pairs["cap|mean_two_way"]["words"]
    assert "b (risk 0.395, loss 1.500; tie with a in risk)" in first
    assert "c (risk 0.200, loss 3)" in first  # told apart: nothing to add
    assert "spread unknown in risk" in data.pairs["replicated_uniques|mean_two_way"]["words"]
    table = runs_section(content).blocks[0]
    assert isinstance(table, DataTable)
    place = list(table.columns).index("tie")
    assert [row[place] for row in table.rows] == [
        "tie with b in risk",
        "tie with a in risk",
        "no tie",
    ]


def test_many_ties_are_counted() -> None:
    ties = [{"run": f"r{n}", "in": ["risk", "utility"]} for n in range(5)]
    told = standing_words({"run": "a", "ties": ties, "unknown": []})
    assert told.endswith("tie with r2 in risk and utility; and with 2 other runs")


def test_without_a_frontier_nobody_is_off_it(tmp_path: Path) -> None:
    runs = {"a": (0.4, 1.0), "b": (0.3, 1.5)}
    content = content_of(tmp_path, runs)
    content["axes"], content["frontiers"] = {"risk": [], "utility": []}, []
    table = runs_section(content).blocks[0]
    assert isinstance(table, DataTable)
    assert [row[1:3] for row in table.rows] == [[None, None]] * 2


def test_the_map_begins_with_the_chosen_axes(tmp_path: Path) -> None:
    points = [
        read_run(write_run(tmp_path / name, manifest_of(), checks_of(cap, 1.0)))
        for name, cap in (("a", 0.3), ("b", 0.2))
    ]
    data = map_data(compare_points(points, risk="disco", utility="roe_loss").to_dict())
    assert data is not None
    assert next(iter(data.pairs)) == "disco|roe_loss"
    assert data.to_dict()["across"][0]["key"] == "disco"
    assert data.to_dict()["up"][0]["key"] == "roe_loss"


def test_no_common_figures_leave_a_gap(content: dict[str, Any]) -> None:
    content["axes"] = {"risk": [], "utility": ["mean_two_way"]}
    content["frontiers"] = []
    section = map_section(content, map_data(content))
    (gap,) = section.blocks
    assert isinstance(gap, Gap)
    assert "no figure of risk that means the same" in gap.why
    page = comparison_page(content)
    assert 'id="map-controls"' not in page
    assert "Not here: the map" in page


def test_page_forbids_requests_and_lets_its_scripts_in(content: dict[str, Any]) -> None:
    page = comparison_page(content)
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
    assert "map-controls" in page
    assert "Confidential" in page
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", page)
    assert not Reader(page).with_attribute("style")


def test_page_shows_runs_settings_and_figures(content: dict[str, Any]) -> None:
    content["runs"][0]["exceeded"] = ["limits.cap: CAP is above"]
    content["failed"] = {"leaf=0": ["no value is left"], "leaf=1": ["odd"]}
    page = comparison_page(content, title="My grid")
    for words in (
        "<h1>My grid</h1>",
        "Settings that are not the same in all runs",
        "limits.cap: CAP is above",
        "The setting leaf=0 failed and is not compared: no value is left",
        "The setting leaf=1 failed and is not compared: odd",
        "age and ill",
        "looks better than it is, the more so",
        "its spread over datasets",
        "comparable between datasets of different sizes",
        "What the figures mean",
    ):
        assert words in page


def test_reports_of_the_runs_are_linked(content: dict[str, Any]) -> None:
    content["reports"] = {"a": "a/report.html", HOSTILE: '"><script>'}
    reader = Reader(comparison_page(content))
    links = [attrs["href"] for tag, attrs in reader.tags if tag == "a"]
    assert "a/report.html" in links
    assert '"><script>' in links


def test_runs_with_equal_settings(tmp_path: Path) -> None:
    page = comparison_page(content_of(tmp_path, {"a": (0.4, 1.0), "b": (0.3, 1.5)}, rows=5))
    assert "The settings of all runs are the same." in page
    assert "Settings that all runs share" in page


def test_what_is_declared_of_different_data_is_not_shared(tmp_path: Path) -> None:
    runs = []
    for name, kind in (("a", "numeric"), ("b", "ordered")):
        settings = {"variables": {"age": {"kind": kind}}, "proper": True}
        manifest = manifest_of(settings, data={"sha256": name})
        runs.append(read_run(write_run(tmp_path / name, manifest, checks_of(0.3, 1.0))))
    page = comparison_page(compare_points(runs).to_dict())
    assert "The settings of all runs are the same but what is declared of single" in page
    assert "variables.age.kind" not in page
    assert "Settings that all runs share" in page  # proper


def test_dashes_where_there_is_no_limit_and_no_place(tmp_path: Path) -> None:
    limited = manifest_of({"limits": {"cap": 0.9}})
    lacking = CheckResults(risk=checks_of(0.1, 1.0).risk)
    points = [
        read_run(write_run(tmp_path / "a", limited, checks_of(0.3, 1.0))),
        read_run(write_run(tmp_path / "b", manifest_of(), checks_of(0.4, 2.0))),
        read_run(write_run(tmp_path / "c", manifest_of(), lacking)),
    ]
    table = runs_section(compare_points(points).to_dict()).blocks[0]
    assert isinstance(table, DataTable)
    places = {name: table.columns.index(name) for name in ("on the frontier", "limits exceeded")}
    shown = [tuple(row[place] for place in places.values()) for row in table.rows]
    assert shown == [("yes", 0), ("no", None), (None, None)]


def test_many_runs_are_rows_of_the_table_of_figures(tmp_path: Path) -> None:
    few = comparison_page(content_of(tmp_path / "x", {"a": (0.4, 1.0), "b": (0.3, 1.5)}))
    runs = {f"r{n}": (0.2 + n / 100, 2.0) for n in range(9)}
    many = comparison_page(content_of(tmp_path / "y", runs))
    assert '<th scope="col" class="number">a</th>' in few
    assert '<th scope="col" class="number">r0</th>' not in many


def test_names_and_settings_are_escaped(tmp_path: Path) -> None:
    runs = {HOSTILE: (0.4, 1.0), "b": (0.3, 1.5)}
    content = content_of(tmp_path, runs, models={HOSTILE: {"x": HOSTILE}})
    for run in content["runs"]:
        run["differing"] = {HOSTILE: HOSTILE}
    content["differing"] = [HOSTILE]
    content["notes"] = [HOSTILE]
    page = comparison_page(content)
    assert "<script>alert" not in page
    assert page.count("</script>") == 2  # data and the page's own
    scripts = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert scripts is not None
    assert json.loads(scripts[1])["map"]["across"]
