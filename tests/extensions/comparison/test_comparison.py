"""Runs side by side: their differences, common axes, frontier and notes."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from synthesizer.data import files as output
from synthesizer.data.errors import DataError, OutputError
from synthesizer.extensions.comparison.compare import (
    compare_runs,
    frontier_of,
    read_run,
    read_runs,
    write_comparison,
)
from synthesizer.extensions.comparison.comparison_page import ComparedRun
from synthesizer.measures.figure import plain, typed
from synthesizer.measures.results import UtilityResult
from synthesizer.measures.verdict import CheckResults
from tests.run_directories import (
    NOTHING,
    checks_of,
    entries,
    manifest_of,
    write_run,
)


def point(where: Path, name: str, cap: float, loss: float, **changes: Any) -> ComparedRun:
    settings = {"models": {"cart": {"min_leaf": int(name[-1])}}, "proper": True}
    checks, exceeded = changes.pop("checks", checks_of(cap, loss)), changes.pop("exceeded", ())
    manifest = manifest_of(changes.pop("settings", settings), **changes)
    return read_run(write_run(where / name, manifest, checks, exceeded))


@pytest.fixture
def points(tmp_path: Path) -> list[ComparedRun]:
    """The third is beaten by the second on both, the fourth on one of them only."""
    values = {3: (0.40, 1.0), 5: (0.30, 1.2), 7: (0.35, 1.3), 9: (0.30, 1.4)}
    return [point(tmp_path, f"leaf{leaf}", *figures) for leaf, figures in values.items()]


def test_below_the_ideal_is_no_better(tmp_path: Path) -> None:
    runs = []
    for n, value in enumerate((-0.02, -0.001, 0.01), 1):
        checks = checks_of(0.3, 4.0 - n, difference=value)
        runs.append(point(tmp_path, f"leaf{n}", 0.3, 0, checks=checks))
    frontier = frontier_of(runs, "differential_confidentiality", "mean_two_way")
    assert frontier == ("leaf2", "leaf3")


def test_a_run_without_a_figure_is_left_out(tmp_path: Path) -> None:
    runs = [point(tmp_path, "leaf1", 0.3, 1.0), point(tmp_path, "leaf2", 0.2, 2.0)]
    risk = checks_of(0.1, 1.0).risk.model_copy(update={"nearest": None})
    lacking = CheckResults(
        risk=risk, utility=UtilityResult(n=1, n_synthetic=(1,), failed={"two_way": "?"})
    )
    runs.append(point(tmp_path, "leaf3", 0, 0, checks=lacking))
    result = compare_runs(runs, risk="cap")
    assert result.frontier == ("leaf2", "leaf1")
    assert "leaf3: could not be computed: two_way." in result.notes
    assert [run.name for run in result.placed] == ["leaf1", "leaf2"]
    off = compare_runs([*runs[:2], point(tmp_path, "leaf4", 0, 0, checks=NOTHING)], risk="cap")
    assert "leaf4: no figures; the checks were off or failed." in off.notes


def other_groups() -> CheckResults:
    content = plain(checks_of(0.2, 2.0))
    content["risk"]["scenarios"][0]["scenario"]["groups"] = {"age": 10}
    return typed(CheckResults, content)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"data": {"origin": "b.csv", "sha256": "def"}}, "data"),
        ({"data": {"sha256": None}}, "data"),
        ({"checks": other_groups()}, "keys, target and groups"),
        ({"m": 5}, "number of datasets (m)"),
        # the smallest file would win: S_pMSE and CAP fall with the number of synthetic records
        ({"rows": 102}, "number of records in each dataset"),
        ({"settings": {"panel": {"person": "id"}}}, "panel"),
        ({"settings": {"checks": {"attacks": {"columns": 4}}}}, "options of the checks"),
    ],
)
def test_figures_that_depend_on_something_else_are_not_compared(
    tmp_path: Path, changes: dict[str, Any], what: str
) -> None:
    runs = [point(tmp_path, "leaf1", 0.3, 1.0), point(tmp_path, "leaf2", 0.2, 2.0, **changes)]
    result = compare_runs(runs)
    assert (result.risk, result.utility, result.frontier, result.placed) == (None, None, (), ())
    assert result.notes[0].startswith(f"The runs differ in: {what}. ")
    # a run without figures hinders no other
    runs[1] = point(tmp_path, "leaf2", 0, 0, **changes | {"checks": NOTHING})
    assert compare_runs(runs).frontier == ("leaf1",)


def test_files_are_private_and_not_overwritten(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / n, manifest_of(), checks_of(0.3, 1.5)) for n in ("a", "b")]
    page, numbers = tmp_path / "map.html", tmp_path / "map.json"
    result = write_comparison(runs, page, json=numbers)
    assert result.frontier == ("a", "b")
    for path in (page, numbers):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "Content-Security-Policy" in page.read_text()
    assert json.loads(numbers.read_text())["confidential"]
    with pytest.raises(DataError) as caught:
        write_comparison([runs[0], tmp_path / "c"], page, json=numbers, risk="kap")
    assert len(caught.value.problems) == 4
    write_comparison(runs, page, overwrite=True)
    assert compare_runs(read_runs(runs)) == result


def keeping(where: Path, name: str, texts: dict[str, str], **changes: Any) -> Path:
    """Write a run with datasets that its manifest knows."""
    (where / name).mkdir()
    for file, text in texts.items():
        (where / name / file).write_text(text)
    settings = {"models": {"cart": {"min_leaf": len(name)}}}
    manifest = manifest_of(settings, files=entries(where / name), **changes)
    return write_run(where / name, manifest, checks_of(0.3, 1.0))


def test_runs_with_the_same_datasets_are_noted(tmp_path: Path) -> None:
    texts = {"one": "a", "other": "a", "third": "b"}
    runs = [keeping(tmp_path, name, {"synthetic_1.csv": text}) for name, text in texts.items()]
    assert compare_runs(read_runs(runs)).notes[0].startswith("one; other: have the same datasets")
    assert not any("same datasets" in note for note in compare_runs(read_runs(runs[1:])).notes)


def contents(where: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in where.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("page", "numbers", "problem"),
    [
        ("link/x.html", "maps/x.html", "x.html is named twice"),
        ("x.html", "nowhere/x.json", "the directory does not exist"),
        ("link/../other/report.html", "x.json", "a directory that is read"),
    ],
)
def test_files_that_clash_are_found_before_anything_is_written(
    tmp_path: Path, page: str, numbers: str, problem: str
) -> None:
    runs = [keeping(tmp_path, name, {"synthetic_1.csv": name}) for name in ("one", "other")]
    (tmp_path / "maps").mkdir()
    (tmp_path / "link").symlink_to("maps")
    (runs[1] / "report.html").write_text("report")
    before = contents(tmp_path)
    with pytest.raises((DataError, OutputError)) as caught:
        write_comparison(runs, tmp_path / page, json=tmp_path / numbers, overwrite=True)
    assert problem in " ".join(caught.value.problems)
    assert contents(tmp_path) == before


def test_the_data_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("confidential")
    data = {"sha256": output.sha256(tmp_path / "a.csv")}
    runs = [keeping(tmp_path, name, {}, data=data) for name in ("one", "other")]
    with pytest.raises(DataError, match="holds the data of the runs"):
        write_comparison(runs, tmp_path / "x.html", json=tmp_path / "a.csv", overwrite=True)
    assert (tmp_path / "a.csv").read_text() == "confidential"
    assert not (tmp_path / "x.html").exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": 101},  # as good as 100
        {"seed": 2},
        {"random_key": "0f" * 32},
        # the results of the checks decide, not the configuration
        {"checks": checks_of(0.3, 2.0, proper=True)},
        {"settings": {"checks": {"keys": ["sex", "age"]}}},
    ],
)
def test_other_differences_hinder_nothing(tmp_path: Path, changes: dict[str, Any]) -> None:
    runs = [point(tmp_path, "leaf1", 0.3, 1.0), point(tmp_path, "leaf2", 0.2, 2.0, **changes)]
    result = compare_runs(runs, risk="cap")
    assert (result.risk, result.utility) == ("cap", "mean_two_way")
    assert result.frontier
    expected = {
        "seed": "different seeds",
        "random_key": "different seeds",
        "checks": "Some runs are proper",
    }
    (what,) = changes
    assert any(expected.get(what, "same seed") in note for note in result.notes)


def test_axes_frontier_and_what_differs(points: list[ComparedRun]) -> None:
    result = compare_runs(points, risk="cap")
    assert (result.risk, result.utility) == ("cap", "mean_two_way")
    assert result.frontier == ("leaf5", "leaf3")  # by rising risk
    assert result.differing == ("models.cart.min_leaf",)
    assert [run.differing["models.cart.min_leaf"] for run in result.runs] == [3, 5, 7, 9]
    usual = compare_runs(points)
    assert (usual.risk, usual.utility) == ("differential_confidentiality", "mean_two_way")
    chosen = compare_runs(points, risk="disco", utility="worst_two_way")
    assert (chosen.risk, chosen.utility) == ("disco", "worst_two_way")
    assert chosen.notes == result.notes


def test_settings_that_differ_are_named_as_they_are_written(tmp_path: Path) -> None:
    runs = [
        point(tmp_path, name, 0.3, 1.0, settings={"variables": {"Jul.93": {"method": method}}})
        for name, method in (("leaf1", "pmm"), ("leaf2", "cart"))
    ]
    assert compare_runs(runs).differing == ("variables.`Jul.93`.method",)
