"""Runs side by side: what differs, what shares an axis, who is on the frontier, what is told."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from synthesizer.cli import screen as screen_runs
from synthesizer.data import files as output
from synthesizer.data.errors import ConfigError, DataError, OutputError
from synthesizer.jobs.compare import (
    compare_runs,
    frontier_of,
    read_run,
    read_runs,
    write_comparison,
)
from synthesizer.measures.figure import plain, typed
from synthesizer.measures.results import UtilityResult
from synthesizer.measures.verdict import CheckResults
from synthesizer.report.comparison import ComparedRun, ComparedRuns
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
    return [point(tmp_path, f"leaf{leaf}", *own) for leaf, own in values.items()]


def two_with(where: Path, *settings: dict[str, Any]) -> ComparedRuns:
    """Compare runs that differ in their settings only."""
    return compare_runs(
        [point(where, f"leaf{n}", 0.3, 1.0, settings=own) for n, own in enumerate(settings, 1)]
    )


FIRST = ("cap", "mean_two_way")


@pytest.fixture
def four(points: list[ComparedRun]) -> ComparedRuns:
    return compare_runs(points, risk="cap")


def test_only_differing_settings(four: ComparedRuns) -> None:
    assert four.differing == ("models.cart.min_leaf",)
    assert [run.differing["models.cart.min_leaf"] for run in four.runs] == [3, 5, 7, 9]
    seeds, optimism = four.notes
    assert "same seed and secret" in seeds
    assert "another seed (--seed)" in optimism


def test_frontier(four: ComparedRuns) -> None:
    assert (four.risk, four.utility) == FIRST
    assert four.frontier == ("leaf5", "leaf3")  # by rising risk


def test_equal_runs_are_both_on_the_frontier(tmp_path: Path) -> None:
    runs = [point(tmp_path, f"leaf{n}", 0.3, 1.0) for n in (1, 2)]
    assert compare_runs(runs, risk="cap").frontier == ("leaf1", "leaf2")


def test_below_the_ideal_is_no_better(tmp_path: Path) -> None:
    runs = []
    for n, value in enumerate((-0.02, -0.001, 0.01), 1):
        checks = checks_of(0.3, 4.0 - n, difference=value)
        runs.append(point(tmp_path, f"leaf{n}", 0.3, 0, checks=checks))
    found = frontier_of(runs, "differential_confidentiality", "mean_two_way")
    assert found == ("leaf2", "leaf3")


def test_a_run_without_a_figure_is_left_out(tmp_path: Path) -> None:
    runs = [point(tmp_path, "leaf1", 0.3, 1.0), point(tmp_path, "leaf2", 0.2, 2.0)]
    risk = checks_of(0.1, 1.0).risk.model_copy(update={"nearest": None})
    lacking = CheckResults(
        risk=risk, utility=UtilityResult(n=1, n_synthetic=(1,), failed={"two_way": "?"})
    )
    runs.append(point(tmp_path, "leaf3", 0, 0, checks=lacking))
    found = compare_runs(runs, risk="cap")
    assert found.frontier == ("leaf2", "leaf1")
    assert "leaf3: could not be computed: two_way." in found.notes
    assert [run.name for run in found.placed] == ["leaf1", "leaf2"]
    off = compare_runs([*runs[:2], point(tmp_path, "leaf4", 0, 0, checks=NOTHING)], risk="cap")
    assert "leaf4: has no figures; its checks were off or failed." in off.notes


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
    found = compare_runs(runs)
    assert (found.risk, found.utility, found.frontier, found.placed) == (None, None, (), ())
    assert found.notes[0].startswith(f"The runs differ in: {what}. ")
    # a run without figures hinders no other
    runs[1] = point(tmp_path, "leaf2", 0, 0, **changes | {"checks": NOTHING})
    assert compare_runs(runs).frontier == ("leaf1",)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rows": 101}, "same seed"),  # as good as 100
        ({"seed": 2}, "different seeds"),
        ({"secret": "0f" * 32}, "different seeds"),
        # the checks are right about it, whatever the configuration says
        ({"checks": checks_of(0.3, 2.0, proper=True)}, "Some runs are proper"),
        ({"settings": {"checks": {"suda": False}}}, "same seed"),
        ({"settings": {"checks": {"keys": ["sex", "age"]}}}, "same seed"),
    ],
)
def test_other_differences_are_told_and_hinder_nothing(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    runs = [point(tmp_path, "leaf1", 0.3, 1.0), point(tmp_path, "leaf2", 0.2, 2.0, **changes)]
    found = compare_runs(runs, risk="cap")
    assert (found.risk, found.utility) == FIRST
    assert found.frontier
    assert any(words in note for note in found.notes)


def test_queries_have_no_hash(tmp_path: Path) -> None:
    data = {"origin": "db", "sha256": None}
    found = compare_runs([point(tmp_path, f"leaf{n}", 0.3, 1.0, data=data) for n in (1, 2)])
    assert found.frontier
    assert "whether all runs read the same records is unknown" in found.notes[0]


def test_sizes_may_differ_by_a_hundredth_only(tmp_path: Path) -> None:
    runs = [point(tmp_path, f"leaf{rows}", 0.3, 1.0, rows=rows) for rows in (1000, 1010, 1011)]
    assert compare_runs(runs[:2], risk="cap").frontier == ("leaf1000", "leaf1010")
    assert compare_runs(runs, risk="cap").frontier == ()


def test_axes_can_be_chosen(points: list[ComparedRun], four: ComparedRuns) -> None:
    usual = compare_runs(points)
    assert (usual.risk, usual.utility) == ("differential_confidentiality", "mean_two_way")
    found = compare_runs(points, risk="disco", utility="worst_two_way")
    assert (found.risk, found.utility) == ("disco", "worst_two_way")
    assert found.notes == four.notes


def test_a_chosen_axis_that_no_run_has_is_told(points: list[ComparedRun]) -> None:
    found = compare_runs(points, risk="auc", utility="sequence_ratio")
    assert found.risk == "differential_confidentiality"
    assert found.notes[:2] == (
        "No run has the figure auc; the map shows differential_confidentiality.",
        "No run has the figure sequence_ratio; the map shows mean_two_way.",
    )


def test_unknown_axes_are_told_with_those_there_are(points: list[ComparedRun]) -> None:
    with pytest.raises(ConfigError) as caught:
        compare_runs(points, risk="kap", utility="cap")
    of_risk, of_utility = caught.value.problems
    assert of_risk.startswith("--risk kap: ")
    assert "choose one of cap, cap_undefined" in of_risk
    assert of_utility.startswith("--utility cap: ")
    assert "mean_two_way" in of_utility


def test_settings_with_lists_and_dots(tmp_path: Path) -> None:
    one = {"keep": ["age"], "variables": {"Jul.93": {"method": "pmm"}}}
    two = {"keep": ["age"], "variables": {"Jul.93": {"method": "cart"}}}
    content = plain(two_with(tmp_path, one, two))
    assert content["differing"] == ["variables.`Jul.93`.method"]
    assert content["runs"][1]["differing"] == {"variables.`Jul.93`.method": "cart"}


def test_plain_values_hold_every_number(four: ComparedRuns) -> None:
    content = json.loads(json.dumps(plain(four), allow_nan=False))
    assert content["frontier"] == ["leaf5", "leaf3"]
    assert (content["risk"], content["utility"]) == FIRST
    first = content["runs"][0]["figures"]
    assert (first["cap"]["value"], first["cap"]["baseline"]) == (0.4, 0.2)
    assert first["differential_confidentiality"]["high"] == 0.03


def test_files_are_secret_and_not_overwritten(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / n, manifest_of(), checks_of(0.3, 1.5)) for n in ("a", "b")]
    page, numbers = tmp_path / "map.html", tmp_path / "map.json"
    found = write_comparison(runs, page, json=numbers)
    assert found.frontier == ("a", "b")
    for path in (page, numbers):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "Content-Security-Policy" in page.read_text()
    assert json.loads(numbers.read_text())["confidential"]
    with pytest.raises(DataError) as caught:
        write_comparison([runs[0], tmp_path / "c"], page, json=numbers, risk="kap")
    assert len(caught.value.problems) == 4
    write_comparison(runs, page, overwrite=True)
    assert compare_runs(read_runs(runs)) == found


def test_links_to_the_reports_that_there_are(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / n, manifest_of(), checks_of(0.3, 1.5)) for n in ("a b", "c")]
    (runs[0] / "report.html").write_text("")
    (tmp_path / "maps").mkdir()
    write_comparison(runs, tmp_path / "maps" / "map.html")
    page = (tmp_path / "maps" / "map.html").read_text()
    assert '<a href="../a%20b/report.html">a b</a>' in page
    assert "c/report.html" not in page


def shown_of(compared: ComparedRuns, capsys: pytest.CaptureFixture[str], **given: Any) -> str:
    screen_runs.show_comparison(compared, **given)
    return capsys.readouterr().out


def test_the_screen_shows_runs_limits_and_notes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    settings = {"forbid": ["age < 18 and marital == 'widowed' and sex == 'f'"]}
    runs = [
        point(tmp_path, "leaf1", 0.3, 1.0, exceeded=["limits.cap: above"], settings=settings),
        point(tmp_path, "leaf2", 0.2, 2.0, settings={}),
        point(tmp_path, "leaf3", 0, 0, checks=NOTHING),
    ]
    failed = {"leaf4": ["no leaf"]}
    shown = shown_of(compare_runs(runs[::-1], risk="cap"), capsys, every=True, failed=failed)
    for words in (
        "not set",
        "unclear",
        "limit exceeded: leaf1: limits.cap: above",
        "failed: leaf4: no leaf",
        "no other run is better on both",
        "note: leaf3: has no figures",
    ):
        assert words in shown
    rows = [line.split()[:2] for line in shown.splitlines() if line.startswith("leaf")]
    assert rows[:2] == [["leaf2", "yes"], ["leaf1", "yes"]]  # the frontier first
    assert rows[2][0] == "leaf3"


def test_the_screen_without_a_map_begins_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [
        point(tmp_path, "leaf1", 0.3, 1.0),
        point(tmp_path, "leaf2", 0.2, 2.0, data={"sha256": "def"}),
    ]
    shown = shown_of(compare_runs(runs), capsys)
    assert "note: The runs differ in: data." in shown
    assert "limits exceeded" not in shown  # no limits: neither 0 nor no


def keeping(where: Path, name: str, texts: dict[str, str], **changes: Any) -> Path:
    """Write a run with datasets that its manifest knows."""
    (where / name).mkdir()
    for file, text in texts.items():
        (where / name / file).write_text(text)
    settings = {"models": {"cart": {"min_leaf": len(name)}}}
    manifest = manifest_of(settings, files=entries(where / name), **changes)
    return write_run(where / name, manifest, checks_of(0.3, 1.0))


def test_files_that_changed_or_went_are_told(tmp_path: Path) -> None:
    runs = [
        keeping(tmp_path, name, {"synthetic_1.csv": f"{name}1", "synthetic_2.csv": f"{name}2"})
        for name in ("whole", "touched")
    ]
    assert not any("synthetic_" in note for note in compare_runs(read_runs(runs), risk="cap").notes)
    (runs[1] / "synthetic_1.csv").write_text("something else")
    (runs[1] / "synthetic_2.csv").unlink()
    changed, gone = compare_runs(read_runs(runs), risk="cap").notes[:2]
    assert changed.startswith("touched: synthetic_1.csv has changed since the run (its hash is")
    assert changed.endswith("run again with --overwrite.")
    assert gone.startswith("touched: synthetic_2.csv is gone and the manifest lists it")
    assert gone.endswith("restore it, or run again with --overwrite.")
    write_comparison(runs, tmp_path / "map.html")
    assert "touched: synthetic_2.csv is gone" in (tmp_path / "map.html").read_text()


def test_files_that_cannot_be_read_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [keeping(tmp_path, name, {"synthetic_1.csv": name}) for name in ("one", "other")]
    real = Path.open

    def refuse(path: Path, *words: Any, **given: Any) -> Any:
        if path == runs[1] / "synthetic_1.csv":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *words, **given)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match=r"other: synthetic_1\.csv cannot be read \(Permission den"):
        compare_runs(read_runs(runs))


def test_the_same_datasets_are_told(tmp_path: Path) -> None:
    texts = {"one": "a", "other": "a", "third": "b"}
    runs = [keeping(tmp_path, name, {"synthetic_1.csv": text}) for name, text in texts.items()]
    assert compare_runs(read_runs(runs)).notes[0].startswith("one; other: have the same datasets")
    assert not any("same datasets" in note for note in compare_runs(read_runs(runs[1:])).notes)


def of_other_data(where: Path) -> list[ComparedRun]:
    one = {"variables": {"age": {"kind": "numeric"}, "sex": {"label": "x"}}, "proper": True}
    two = {"variables": {"job": {"kind": "ordered"}}, "proper": False, "method": {"age": "pmm"}}
    return [
        point(where, "leaf1", 0.3, 1.0, settings=one),
        point(where, "leaf2", 0.2, 2.0, settings=two, data={"sha256": "def"}),
    ]


def test_declarations_of_different_data_are_not_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = compare_runs(of_other_data(tmp_path))
    assert found.differing == ("proper",)
    assert [run.differing["proper"] for run in found.runs] == [True, False]
    shown = shown_of(found, capsys)
    assert "variables." not in shown
    assert "method." not in shown
    content = plain(found)
    assert content["runs"][0]["settings"]["variables.age.kind"] == "numeric"  # in the file still


def test_declarations_of_the_same_data_are_listed(tmp_path: Path) -> None:
    found = two_with(
        tmp_path, *({"variables": {"age": {"kind": kind}}} for kind in ("numeric", "ordered"))
    )
    assert found.differing == ("variables.age.kind",)


def contents(where: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in where.rglob("*") if path.is_file()}


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(
    ("page", "numbers", "told"),
    [
        ("x.html", "x.html", "x.html is named twice"),
        ("x.html", "maps/../x.html", "x.html is named twice"),
        ("link/x.html", "maps/x.html", "x.html is named twice"),
        ("x.html", "maps", "maps is a directory"),
        ("maps", None, "maps is a directory"),
        ("x.html", "nowhere/x.json", "there is no such directory"),
        ("x.html", "a.csv/x.json", "there is no such directory"),
        ("x.html", "y" * 300, "cannot be written"),
        ("x.html", "y" * 250, "cannot be written"),  # with what the name of a draft has more
        ("x.html", "one/checks.json", "one of the files that are read"),
        ("one/synthetic_1.csv", None, "one of the files that are read"),
        ("link/../other/report.html", "x.json", "one of the files that are read"),
    ],
)
def test_files_that_clash_are_found_before_anything_is_written(
    tmp_path: Path, page: str, numbers: str | None, told: str, *, overwrite: bool
) -> None:
    runs = [keeping(tmp_path, name, {"synthetic_1.csv": name}) for name in ("one", "other")]
    (tmp_path / "maps").mkdir()
    (tmp_path / "link").symlink_to("maps")
    (tmp_path / "a.csv").write_text("a")
    (runs[1] / "report.html").write_text("report")
    before = contents(tmp_path)
    target = None if numbers is None else tmp_path / numbers
    with pytest.raises((DataError, OutputError)) as caught:
        write_comparison(runs, tmp_path / page, json=target, overwrite=overwrite)
    assert told in " ".join(caught.value.problems)
    assert contents(tmp_path) == before


def test_the_data_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("confidential")
    data = {"sha256": output.sha256(tmp_path / "a.csv")}
    runs = [keeping(tmp_path, name, {}, data=data) for name in ("one", "other")]
    with pytest.raises(DataError, match="holds the data that the runs were made from"):
        write_comparison(runs, tmp_path / "x.html", json=tmp_path / "a.csv", overwrite=True)
    assert (tmp_path / "a.csv").read_text() == "confidential"
    assert not (tmp_path / "x.html").exists()


def test_a_disk_that_is_full_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [keeping(tmp_path, name, {}) for name in ("one", "other")]
    page, numbers = tmp_path / "x.html", tmp_path / "x.json"
    page.write_text("older")
    real = os.replace

    def refuse(path: Path, target: Path) -> None:
        if Path(target).name == "x.json":  # the page has its new content by then
            raise OSError(28, "No space left on device")
        real(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        with pytest.raises(OutputError, match=r"x\.json: cannot be written \(No space left"):
            write_comparison(runs, page, json=numbers, overwrite=True)
    assert page.read_text().rstrip().endswith("</html>")  # new and whole
    assert sorted(os.listdir(tmp_path)) == ["one", "other", "x.html"]
    write_comparison(runs, page, json=numbers, overwrite=True)
    assert json.loads(numbers.read_text())["frontier"] == ["one", "other"]
