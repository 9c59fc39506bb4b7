"""The page that compares runs: map, tables, hostile text, gaps."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from synthesizer.jobs.compare import compare_points
from synthesizer.jobs.run_points import read_run
from synthesizer.measures.results import CheckResults
from synthesizer.report.comparison import (
    ComparedRuns,
    SharedAxes,
    Standing,
    Tie,
    comparison_page,
    map_section,
    runs_section,
)
from synthesizer.report.page import Chart, DataTable, Gap, Note
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
    return compare_points(read, risk="cap")


@pytest.fixture
def three(tmp_path: Path) -> ComparedRuns:
    return runs(tmp_path, {"a": (0.4, 1.0), "b": (0.3, 1.5), "c": (0.42, 1.6)})


def changed(compared: ComparedRuns, place: int, **changes: Any) -> ComparedRuns:
    """Return a comparison whose run at a place is another one."""
    own = list(compared.runs)
    own[place] = own[place].model_copy(update=changes)
    return compared.model_copy(update={"runs": tuple(own)})


def without_axes(compared: ComparedRuns, **axes: tuple[str, ...]) -> ComparedRuns:
    shared = SharedAxes(**{"risk": (), "utility": ()} | axes)
    return compared.model_copy(update={"axes": shared, "frontiers": ()})


def first_map(compared: ComparedRuns) -> Chart:
    chart = map_section(compared).blocks[0]
    assert isinstance(chart, Chart)
    return chart


def table(compared: ComparedRuns) -> DataTable:
    first = runs_section(compared, {}).blocks[0]
    assert isinstance(first, DataTable)
    return first


def circles(picture: str, look: str) -> int:
    return picture.count(f'r="6" class="{look}')


def test_the_map_shows_frontier_beaten_runs_and_their_datasets(three: ComparedRuns) -> None:
    chart = first_map(three)
    assert (circles(chart.svg, "fill-s1"), circles(chart.svg, "line-s1")) == (2, 1)
    assert chart.svg.count('r="2.6"') == 6
    for name in "abc":
        assert f">{name}</text>" in chart.svg
    assert "On the frontier, by rising risk: b (risk 0.300, loss 1.500); a" in chart.summary
    assert "1 run beaten by others" in chart.summary
    assert (
        "For comparison: baseline (0.200), by chance (0.100), original released (0.900)."
        in chart.summary
    )
    assert "← by chance (0.100)" in chart.svg
    assert "original released (0.900) →" in chart.svg


def test_every_other_figure_has_a_map_and_every_pair_its_frontier(three: ComparedRuns) -> None:
    _, maps, frontiers = map_section(three).blocks
    others = len(three.axes.risk) + len(three.axes.utility) - 2
    assert str(maps).count("<figure>") == others > 3
    assert str(frontiers).count("<tr>") == 1 + len(three.frontiers)
    assert "<td>b, a</td>" in str(frontiers)


def test_many_runs_are_named_on_the_frontier_only(tmp_path: Path) -> None:
    points = {f"r{n}": (0.2 + n / 100, 3 - n / 100) for n in range(15)}
    points |= {f"w{n}": (0.5, 4.0) for n in range(3)}
    chart = first_map(runs(tmp_path, points))
    named = re.findall(r">([rw]\d+)</text>", chart.svg)
    assert {"r0", "r14"} <= set(named)  # the ends of the frontier come first
    assert not [name for name in named if name.startswith("w")]
    assert "and 7 other runs" in chart.summary
    assert "3 runs beaten" in chart.summary


def test_a_run_without_figures_is_not_on_the_map(three: ComparedRuns) -> None:
    figures = dict(three.runs[2].figures)
    figures["cap"] = figures["cap"].model_copy(update={"value": None})
    chart = first_map(changed(three, 2, figures=figures))
    assert "1 run without these figures" in chart.summary
    assert ">c</text>" not in chart.svg


def test_ties_are_told_beside_the_map_and_in_the_table(tmp_path: Path) -> None:
    compared = runs(tmp_path, {"a": (0.4, 1.0), "b": (0.395, 1.5), "c": (0.2, 3.0)})
    words = first_map(compared).summary
    assert "b (risk 0.395, loss 1.500; tie with a in risk)" in words
    assert "c (risk 0.200, loss 3)" in words  # told apart: nothing to add
    assert "spread unknown in risk" in str(map_section(compared).blocks[1])
    place = list(table(compared).columns).index("tie")
    ties = ["tie with b in risk", "tie with a in risk", "no tie"]
    assert [row[place] for row in table(compared).rows] == ties


def test_many_ties_are_counted() -> None:
    ties = tuple(Tie(run=f"r{n}", axes=("risk", "utility")) for n in range(5))
    words = Standing(run="a", ties=ties).in_words
    assert words.endswith("tie with r2 in risk and utility; and with 2 other runs")


def test_each_run_has_the_words_of_its_verdict(three: ComparedRuns) -> None:
    words = runs_section(three, {}).blocks[-1]
    assert isinstance(words, DataTable)
    assert [row[1:] for row in words.rows] == [["unclear"] * 3] * 3


def test_without_a_frontier_nobody_is_off_it(three: ComparedRuns) -> None:
    assert [row[1:3] for row in table(without_axes(three)).rows] == [[None, None]] * 3


def test_the_map_begins_with_the_chosen_axes(tmp_path: Path) -> None:
    points = [
        read_run(write_run(tmp_path / name, manifest_of(), checks_of(cap, 1.0)))
        for name, cap in (("a", 0.3), ("b", 0.2))
    ]
    chart = first_map(compare_points(points, risk="disco", utility="roe_loss"))
    assert ">risk: DiSCO (left is safer)<" in chart.svg
    assert ">utility loss: 1 - ratio of estimates" in chart.svg


def test_no_common_figures_leave_a_gap(three: ComparedRuns) -> None:
    none = without_axes(three, utility=("mean_two_way",))
    (gap,) = map_section(none).blocks
    assert isinstance(gap, Gap)
    assert "no figure of risk that means the same" in gap.why
    assert "Not here: the map" in comparison_page(none)


def test_the_page_requests_nothing_and_shows_runs_settings_and_figures(three: ComparedRuns) -> None:
    compared = changed(three, 0, exceeded=("limits.cap: CAP is above",))
    failed = {"leaf=0": ["no value is left"], "leaf=1": ["odd"]}
    page = comparison_page(compared, title="My grid", failed=failed)
    for words in (
        "default-src 'none'",
        "Confidential",
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
        assert words in page, words
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", page)
    assert not [tag for tag, attrs in Page(page).elements if "style" in attrs]


def test_reports_of_the_runs_are_linked(three: ComparedRuns) -> None:
    reports = {"a": "a/report.html", HOSTILE: '"><script>'}
    links = [attrs["href"] for attrs in Page(comparison_page(three, reports=reports)).all("a")]
    assert {"a/report.html", '"><script>'} <= set(links)


def test_runs_with_equal_settings(tmp_path: Path) -> None:
    page = comparison_page(runs(tmp_path, {"a": (0.4, 1.0), "b": (0.3, 1.5)}, rows=5))
    assert "The settings of all runs are the same." in page
    assert "Settings that all runs share" in page


def test_what_is_declared_of_different_data_is_not_shared(tmp_path: Path) -> None:
    points = []
    for name, kind in (("a", "numeric"), ("b", "ordered")):
        settings = {"variables": {"age": {"kind": kind}}, "proper": True}
        manifest = manifest_of(settings, data={"sha256": name})
        points.append(read_run(write_run(tmp_path / name, manifest, checks_of(0.3, 1.0))))
    page = comparison_page(compare_points(points))
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
    found = table(compare_points(points))
    places = [found.columns.index(name) for name in ("on the frontier", "limits exceeded")]
    shown = [tuple(row[place] for place in places) for row in found.rows]
    assert shown == [("yes", 0), ("no", None), (None, None)]


def test_many_runs_are_rows_of_the_table_of_figures(tmp_path: Path, three: ComparedRuns) -> None:
    many = runs(tmp_path / "y", {f"r{n}": (0.2 + n / 100, 2.0) for n in range(9)})
    assert '<th scope="col" class="number">a</th>' in comparison_page(three)
    assert '<th scope="col" class="number">r0</th>' not in comparison_page(many)


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
    assert (keeping.text, keeping.tone) == ("a and b keep the limits.", "good")
    assert chart.svg.count('class="line-bad"') == 2
    assert "limit (0.350)" in chart.svg
    one = changed(own, 0, exceeded=("limits.cap: CAP is 0.4",))
    assert map_section(one).blocks[0].text == "b keeps the limits."
    none = changed(one, 1, exceeded=("limits.cap: CAP is 0.4", "limits.repu: it is 1"))
    advice, _ = map_section(none).blocks[:2]
    assert isinstance(advice, Note)
    assert advice.tone == "alert"
    assert advice.text.startswith("No setting keeps the limits: a exceeds the fewest (1 limit).")
    assert advice.text.endswith("beyond the values tried of rows.")  # and no guess
    both = changed(none, 0, limits={"cap": 0.35, "mean_two_way": 0.9})
    assert "For more use" in map_section(both).blocks[0].text
    alike = changed(none, 1, exceeded=("limits.cap: CAP is 0.4",))
    words = "No setting keeps the limits: a and b exceed the fewest (1 limit each)."
    assert map_section(alike).blocks[0].text.startswith(words)
