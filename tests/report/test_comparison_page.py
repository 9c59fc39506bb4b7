"""The page that compares runs: map, tables, hostile text, gaps."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from synthesizer.jobs.compare import compare_runs, read_run
from synthesizer.measures.verdict import CheckResults
from synthesizer.report.blocks import Chart, DataTable, Gap, Note
from synthesizer.report.comparison import (
    ComparedRuns,
    comparison_page,
    map_section,
    run_table,
)
from tests.report.fixtures import Page
from tests.run_directories import checks_of, manifest_of, write_run

HOSTILE = "</script><script>alert(1)</script>\"'&\u2028"


def runs(where: Path, points: dict[str, tuple[float, float]], **changes: Any) -> ComparedRuns:
    """Return runs whose CAP and mean two-way S_pMSE are these, beside the numbers of rows."""
    read = []
    for n, (name, (cap, loss)) in enumerate(points.items(), 1):
        directory = write_run(
            where / str(n), manifest_of({"rows": n} | changes), checks_of(cap, loss)
        )
        read.append(read_run(directory, name))
    return compare_runs(read, risk="cap")


@pytest.fixture
def three(tmp_path: Path) -> ComparedRuns:
    return runs(tmp_path, {"a": (0.4, 1.0), "b": (0.3, 1.5), "c": (0.42, 1.6)})


def changed(compared: ComparedRuns, place: int, **changes: Any) -> ComparedRuns:
    """Return a comparison whose run at a place is another one."""
    own = list(compared.runs)
    own[place] = own[place].model_copy(update=changes)
    return compared.model_copy(update={"runs": tuple(own)})


def first_map(compared: ComparedRuns) -> Chart:
    chart = map_section(compared).blocks[0]
    assert isinstance(chart, Chart)
    return chart


def table(compared: ComparedRuns) -> DataTable:
    return run_table(compared, compared.differing, compared.axes)


def circles(picture: str, look: str) -> int:
    return picture.count(f'r="6" class="{look}')


def test_the_map_shows_frontier_beaten_runs_and_their_datasets(three: ComparedRuns) -> None:
    chart = first_map(three)
    assert (circles(chart.svg, "fill-s1"), circles(chart.svg, "line-s1")) == (2, 1)
    for name in "abc":
        assert f">{name}</text>" in chart.svg
    assert "On the frontier, by rising risk: b (risk 0.300; loss 1.500); a" in chart.summary
    assert "Beaten by another run: 1." in chart.summary
    assert (
        "For comparison: baseline (0.200), by chance (0.100), original released (0.900)."
        in chart.summary
    )
    assert "← by chance (0.100)" in chart.svg
    assert "original released (0.900) →" in chart.svg


def test_many_runs_are_named_where_there_is_room(tmp_path: Path) -> None:
    points = {f"r{n}": (0.2 + n / 100, 3 - n / 100) for n in range(15)}
    points |= {f"w{n}": (0.5, 4.0) for n in range(3)}
    chart = first_map(runs(tmp_path, points))
    named = re.findall(r">([rw]\d+)</text>", chart.svg)
    assert len(named) == len(set(named)) > 5
    assert chart.svg.count("<title>") == 1 + 18  # a reader can point at every run
    assert "and 7 other runs" in chart.summary
    assert "Beaten by another run: 3." in chart.summary


def test_a_run_without_figures_is_not_on_the_map(three: ComparedRuns) -> None:
    figures = {key: one for key, one in three.runs[2].figures.items() if key != "cap"}
    chart = first_map(changed(three, 2, figures=figures))
    assert "Without these figures: 1." in chart.summary
    assert ">c</text>" not in chart.svg


def test_the_interval_of_the_risk_is_drawn_and_told(tmp_path: Path) -> None:
    points = [
        read_run(write_run(tmp_path / name, manifest_of(), checks_of(0.3, loss)))
        for name, loss in (("a", 1.0), ("b", 2.0))
    ]
    chart = first_map(compare_runs(points))
    assert "a (risk 0.010, 95 % interval −0.010 to 0.030; loss 1)" in chart.summary
    assert chart.svg.count('class="line-s1 faint"') == 2


def test_each_run_has_its_settings_figures_and_the_words_of_its_verdict(
    three: ComparedRuns,
) -> None:
    found = table(three)
    assert list(found.columns[:3]) == ["run", "frontier", "rows"]
    assert list(found.columns[-2:]) == ["CAP, all datasets together", "mean two-way S_pMSE"]
    assert [row[:3] for row in found.rows] == [["a", "yes", 1], ["b", "yes", 2], ["c", "no", 3]]
    assert [row[3:6] for row in found.rows] == [["unclear"] * 3] * 3
    assert [row[-2:] for row in found.rows] == [[0.4, 1.0], [0.3, 1.5], [0.42, 1.6]]


def test_seeds_are_shown_where_they_differ(tmp_path: Path) -> None:
    points = [
        read_run(write_run(tmp_path / str(seed), manifest_of(seed=seed), checks_of(0.3, 1.0)))
        for seed in (1, 2)
    ]
    found = table(compare_runs(points))
    place = list(found.columns).index("seed")
    assert [row[place] for row in found.rows] == ["1", "2"]


def test_the_map_begins_with_the_chosen_axes(tmp_path: Path) -> None:
    points = [
        read_run(write_run(tmp_path / name, manifest_of(), checks_of(cap, 1.0)))
        for name, cap in (("a", 0.3), ("b", 0.2))
    ]
    chart = first_map(compare_runs(points, risk="disco", utility="worst_two_way"))
    assert ">risk: DiSCO (left is safer)<" in chart.svg
    assert ">utility loss: largest two-way S_pMSE" in chart.svg


def test_no_common_figures_leave_a_gap(three: ComparedRuns) -> None:
    none = three.model_copy(update={"risk": None, "frontier": ()})
    (gap,) = map_section(none).blocks
    assert isinstance(gap, Gap)
    assert "Not here: the map" in comparison_page(none)
    assert [row[1] for row in table(none).rows] == [None] * 3  # none is off the frontier


def test_the_page_requests_nothing_and_shows_runs_settings_and_figures(three: ComparedRuns) -> None:
    compared = changed(three, 0, exceeded=("limits.cap: CAP is above",))
    failed = {"leaf=0": ["no value is left"], "leaf=1": ["odd"]}
    page = comparison_page(compared, title="My grid", failed=failed)
    for words in (
        "default-src 'none'",
        "Confidential",
        "<h1>My grid</h1>",
        "limits.cap: CAP is above",
        "The setting leaf=0 failed and is not compared: no value is left",
        "The setting leaf=1 failed and is not compared: odd",
        "looks better than it is, the more so",
        "What the figures mean",
    ):
        assert words in page, words
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", page)
    assert not [tag for tag, attrs in Page(page).elements if "style" in attrs]


def test_reports_of_the_runs_are_linked(three: ComparedRuns) -> None:
    reports = {"a": "a/report.html", HOSTILE: '"><script>'}
    links = [attrs["href"] for attrs in Page(comparison_page(three, reports=reports)).all("a")]
    assert {"a/report.html", '"><script>'} <= set(links)


def test_dashes_where_there_is_no_limit_and_no_place(tmp_path: Path) -> None:
    limited = manifest_of({"limits": {"cap": 0.9}})
    lacking = CheckResults(risk=checks_of(0.1, 1.0).risk)
    points = [
        read_run(write_run(tmp_path / "a", limited, checks_of(0.3, 1.0))),
        read_run(write_run(tmp_path / "b", manifest_of(), checks_of(0.4, 2.0))),
        read_run(write_run(tmp_path / "c", manifest_of(), lacking)),
    ]
    found = table(compare_runs(points))
    places = [found.columns.index(name) for name in ("frontier", "limits exceeded")]
    shown = [tuple(row[place] for place in places) for row in found.rows]
    assert shown == [("yes", 0), ("no", None), (None, None)]


def test_names_and_settings_are_escaped(tmp_path: Path) -> None:
    compared = runs(
        tmp_path,
        {HOSTILE: (0.4, 1.0), "b": (0.3, 1.5)},
        models={HOSTILE: {"x": HOSTILE}},
    )
    for place in range(2):
        compared = changed(compared, place, differing={HOSTILE: HOSTILE})
    page = comparison_page(
        compared.model_copy(update={"differing": (HOSTILE,), "notes": (HOSTILE,)})
    )
    assert "<script>alert" not in page
    assert page.count("</script>") == 1  # the page's own


def test_limits_are_lines_and_without_a_setting_that_keeps_them_there_is_advice(
    tmp_path: Path,
) -> None:
    limits = {"cap": 0.35, "mean_two_way": 1.2}
    own = runs(tmp_path, {"a": (0.4, 1.0), "b": (0.3, 1.5)}, limits=limits)
    keeping, chart = map_section(own).blocks[:2]
    assert isinstance(keeping, Note)
    assert isinstance(chart, Chart)
    assert (keeping.text, keeping.tone) == ("Within the limits: a and b.", "good")
    assert chart.svg.count('class="line-bad"') == 2
    assert "limit (0.350)" in chart.svg
    one = changed(own, 0, exceeded=("limits.cap: CAP is 0.4",))
    assert map_section(one).blocks[0].text == "Within the limits: b."
    none = changed(one, 1, exceeded=("limits.cap: CAP is 0.4", "limits.repu: it is 1"))
    advice, _ = map_section(none).blocks[:2]
    assert isinstance(advice, Note)
    assert advice.tone == "alert"
    assert advice.text == "No setting keeps the limits. Fewest exceeded (1): a."
    alike = changed(none, 1, exceeded=("limits.cap: CAP is 0.4",))
    words = "No setting keeps the limits. Fewest exceeded (1): a and b."
    assert map_section(alike).blocks[0].text == words
