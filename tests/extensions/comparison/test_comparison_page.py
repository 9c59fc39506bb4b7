"""The page that compares runs: map, tables, hostile text, gaps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from synthesizer.extensions.comparison.compare import compare_runs, read_run
from synthesizer.extensions.comparison.comparison_page import (
    ComparedRuns,
    comparison_page,
    map_section,
)
from synthesizer.report.blocks import Chart
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


def changed(compared: ComparedRuns, position: int, **changes: Any) -> ComparedRuns:
    """Return the comparison with changes to the run at a position."""
    run_list = list(compared.runs)
    run_list[position] = run_list[position].model_copy(update=changes)
    return compared.model_copy(update={"runs": tuple(run_list)})


def first_map(compared: ComparedRuns) -> Chart:
    chart = map_section(compared).blocks[0]
    assert isinstance(chart, Chart)
    return chart


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


def test_names_and_settings_are_escaped(tmp_path: Path) -> None:
    compared = runs(
        tmp_path,
        {HOSTILE: (0.4, 1.0), "b": (0.3, 1.5)},
        models={HOSTILE: {"x": HOSTILE}},
    )
    for position in range(2):
        compared = changed(compared, position, differing={HOSTILE: HOSTILE})
    page = comparison_page(
        compared.model_copy(update={"differing": (HOSTILE,), "notes": (HOSTILE,)})
    )
    assert "<script>alert" not in page
    assert page.count("</script>") == 1  # the page's own


def test_a_notebook_shows_the_map_and_the_runs(three: ComparedRuns) -> None:
    html = three._repr_html_()
    assert "&lt;svg" in html
    assert {"a", "b", "c"} == {*three.to_frame("runs")["name"]}
