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
from synthesizer.jobs.compare import compare_points, frontier_of, write_comparison
from synthesizer.jobs.run_points import RunPoint, read_run, read_runs
from synthesizer.measures.figure import plain, typed
from synthesizer.measures.results import CheckResults
from synthesizer.measures.utility.suite import UtilityResult
from synthesizer.report.comparison import ComparedRuns, RunFigure, Standing
from tests.run_directories import (
    CHAIN,
    NOTHING,
    checks_of,
    entries,
    fit_of,
    manifest_of,
    propensity_of,
    step,
    write_run,
)

WORDS = {
    "data": "made from different data",
    "question": "different keys, targets or groups",
    "m": "different numbers of datasets",
    "variables": "do not synthesise the same variables",
    "rows": "datasets of different sizes",
    "proper": "Some runs are proper",
    "fits": "different fits",
    "propensity": "different propensity models",
    "one dataset": "(m = 1:",
    "seeds": "different seeds",
}


def point(where: Path, name: str, cap: float, loss: float, **changes: Any) -> RunPoint:
    settings = {"models": {"cart": {"min_leaf": int(name[-1])}}, "proper": True}
    checks, exceeded = changes.pop("checks", checks_of(cap, loss)), changes.pop("exceeded", ())
    manifest = manifest_of(changes.pop("settings", settings), **changes)
    return read_run(write_run(where / name, manifest, checks, exceeded))


@pytest.fixture
def points(tmp_path: Path) -> list[RunPoint]:
    """The third is beaten by the second on both, the fourth on one of them only."""
    values = {3: (0.40, 1.0), 5: (0.30, 1.2), 7: (0.35, 1.3), 9: (0.30, 1.4)}
    return [point(tmp_path, f"leaf{leaf}", *own) for leaf, own in values.items()]


def two_with(where: Path, *settings: dict[str, Any]) -> ComparedRuns:
    """Compare runs that differ in their settings only."""
    return compare_points(
        [point(where, f"leaf{n}", 0.3, 1.0, settings=own) for n, own in enumerate(settings, 1)]
    )


@pytest.fixture
def four(points: list[RunPoint]) -> ComparedRuns:
    return compare_points(points, risk="cap")


def told(comparison: ComparedRuns) -> set[str]:
    notes = " ".join(comparison.notes)
    return {name for name, words in WORDS.items() if words in notes}


def test_only_differing_settings(four: ComparedRuns) -> None:
    assert four.differing == ("models.cart.min_leaf",)
    assert [run.differing["models.cart.min_leaf"] for run in four.runs] == [3, 5, 7, 9]
    assert told(four) == set()
    assert "same seed and secret (common random numbers)" in four.notes[0]
    assert "a part of the luck only" in four.notes[0]
    assert "another seed (--seed)" in four.notes[-1]
    assert "rely on differential confidentiality" in four.notes[-1]


def test_frontier(four: ComparedRuns) -> None:
    assert four.axes.risk[0] == "cap"
    assert four.axes.utility[0] == "mean_two_way"
    assert four.frontier == ("leaf5", "leaf3")  # by rising risk


def test_equal_runs_are_both_on_the_frontier(tmp_path: Path) -> None:
    runs = [point(tmp_path, f"leaf{n}", 0.3, 1.0) for n in (1, 2)]
    assert compare_points(runs, risk="cap").frontier == ("leaf1", "leaf2")


def test_below_the_ideal_is_no_better(tmp_path: Path) -> None:
    runs = []
    for n, value in enumerate((-0.02, -0.001, 0.01), 1):
        checks = checks_of(0.3, 4.0 - n, difference=value)
        runs.append(point(tmp_path, f"leaf{n}", 0.3, 0, checks=checks))
    found = frontier_of(runs, "differential_confidentiality", "mean_two_way")
    assert found.runs == ("leaf2", "leaf3")


def test_a_run_without_a_figure_is_left_out(tmp_path: Path) -> None:
    runs = [point(tmp_path, "leaf1", 0.3, 1.0), point(tmp_path, "leaf2", 0.2, 2.0)]
    risk = checks_of(0.1, 1.0).risk.model_copy(update={"nearest": None})
    lacking = CheckResults(
        risk=risk, utility=UtilityResult(n=1, n_synthetic=(1,), failed={"two_way": "?"})
    )
    runs.append(point(tmp_path, "leaf3", 0, 0, checks=lacking))
    found = compare_points(runs, risk="cap")
    assert found.frontier == ("leaf2", "leaf1")
    assert "leaf3: could not be computed: two_way." in found.notes
    # what all runs have comes first
    assert found.axes.risk[0] == "cap"
    assert found.axes.risk[-1] == "nearer_share"
    off = compare_points([*runs[:2], point(tmp_path, "leaf4", 0, 0, checks=NOTHING)], risk="cap")
    assert "leaf4: has no figures; its checks were off or failed." in off.notes


def other_groups() -> CheckResults:
    content = plain(checks_of(0.2, 2.0))
    content["risk"]["scenarios"][0]["scenario"]["groups"] = {"age": 10}
    return typed(CheckResults, content)


COPIED = [step("age", model="keep"), *CHAIN[1:]]
FIRST = ("cap", "mean_two_way")


@pytest.mark.parametrize(
    ("changes", "notes", "first", "words"),
    [
        ({"data": {"origin": "b.csv", "sha256": "def"}}, "data", (None, None), ""),
        ({"checks": other_groups()}, "question", ("replicated_uniques", FIRST[1]), ""),
        ({"m": 5}, "m", ("cap_single", FIRST[1]), ""),
        ({"m": 1}, "m, one dataset", ("cap_single", FIRST[1]), "(m = 1: leaf2)"),
        ({"chain": CHAIN[:1], "seed": 2}, "variables, seeds", FIRST, ""),
        ({"secret": "0f" * 32}, "seeds", FIRST, ""),
        ({"chain": COPIED}, "variables", FIRST, ""),
        ({"rows": 101}, "", FIRST, ""),  # as good as 100
        # the smallest file would win: S_pMSE and CAP fall with the number of synthetic records
        ({"rows": 5000}, "rows", ("nearer_share", None), "(100 to 5,000 records)"),
        # the checks know best
        ({"checks": checks_of(0.3, 2.0, proper=True)}, "proper", FIRST, "a proper run, here 2 "),
    ],
)
def test_what_differs_decides_about_the_axes(tmp_path, changes, notes, first, words):
    runs = [point(tmp_path, "leaf1", 0.3, 1.0), point(tmp_path, "leaf2", 0.2, 2.0, **changes)]
    found = compare_points(runs, risk="cap")
    assert told(found) == set(filter(None, notes.split(", ")))
    assert any(words in note for note in found.notes)
    assert [*found.axes.risk, None][0] == first[0]
    assert [*found.axes.utility, None][0] == first[1]
    assert bool(found.frontier) == (None not in first)


def test_queries_have_no_hash(tmp_path):
    data = {"origin": "db", "sha256": None}
    found = compare_points(
        [point(tmp_path, f"leaf{n}", 0.3, 1.0, data=data) for n in (1, 2)], risk="cap"
    )
    assert found.axes.risk[0] == "cap"
    assert "cannot be seen" in found.notes[0]


def test_m_leaves_no_common_axis_of_what_depends_on_it(tmp_path):
    runs = [point(tmp_path, "leaf1", 0.3, 1.0), point(tmp_path, "leaf2", 0.2, 2.0, m=5)]
    found = compare_points(runs, risk="cap")
    assert [run.differing["m"] for run in found.runs] == [2, 5]
    assert "cap" not in found.axes.risk
    assert set(found.axes.utility) == {"mean_two_way", "pmse_ratio_logit", "roe_loss"}
    alone = [point(tmp_path, f"leaf{n}", 0.3, 1.0, m=5) for n in (3, 4)]
    assert set(compare_points(alone, risk="cap").axes.utility) >= {"overlap_loss", "worst_two_way"}


@pytest.mark.parametrize(
    ("part", "other", "measure"),
    [
        ("fits", fit_of("ill ~ sex", 0.8), "overlap_loss"),
        ("fits", fit_of("ill ~ age", 0.8, family="logit"), "overlap_loss"),
        ("propensity", propensity_of("logit", interactions=2), "pmse_ratio_logit"),
    ],
)
def test_other_models_of_a_check_share_no_axis(tmp_path, part, other, measure):
    checks = checks_of(0.2, 2.0, **{part: (other,)})
    runs = [point(tmp_path, "leaf1", 0.3, 1.0), point(tmp_path, "leaf2", 0, 0, checks=checks)]
    found = compare_points(runs, risk="cap")
    assert told(found) == {part}
    assert measure not in found.axes.utility
    assert found.axes.utility[0] == "mean_two_way"


def test_sizes_may_differ_by_a_hundredth_only(tmp_path):
    runs = [point(tmp_path, f"leaf{rows}", 0.3, 1.0, rows=rows) for rows in (1000, 1010, 1011)]
    assert compare_points(runs[:2], risk="cap").frontier == ("leaf1000", "leaf1010")
    assert compare_points(runs, risk="cap").frontier == ()


def test_few_runs_of_one_dataset_are_named(tmp_path):
    many = [point(tmp_path / f"x{n}", "leaf1", 0.3, 1.0, m=1) for n in range(6)]
    assert "(m = 1: all runs)" in " ".join(compare_points(many).notes)
    other = point(tmp_path, "leaf2", 0.2, 2.0)
    assert "(m = 1: 6 runs)" in " ".join(compare_points([*many, other]).notes)


def test_axes_can_be_chosen(points: list[RunPoint], four: ComparedRuns) -> None:
    found = compare_points(points, risk="disco", utility="worst_two_way")
    assert (found.axes.risk[0], found.axes.utility[0]) == ("disco", "worst_two_way")
    assert set(found.axes.risk) == set(four.axes.risk)
    first = found.frontiers[0]
    assert (first.risk, first.utility) == ("disco", "worst_two_way")
    assert found.notes == four.notes


def test_a_chosen_axis_that_is_not_shared_is_told(points: list[RunPoint]) -> None:
    found = compare_points(points, risk="auc", utility="pmse_ratio_cart")
    assert found.axes.risk[0] == "cap"
    assert "auc, is none that these runs share" in found.notes[0]
    assert "the map shows mean two-way S_pMSE" in found.notes[1]


@pytest.mark.parametrize(
    ("axis", "figure", "changes", "reason"),
    [
        ("risk", "auc", {}, "no run has the figure"),
        ("risk", "cap", {"rows": 2000}, "the datasets of the runs differ in size"),
        ("utility", "worst_two_way", {"m": 5}, "the runs differ in the number of datasets"),
    ],
)
def test_a_chosen_axis_that_is_not_shared_has_one_reason(
    tmp_path: Path, axis: Any, figure: str, changes: dict[str, Any], reason: str
) -> None:
    runs = [point(tmp_path, "leaf1", 0.3, 1.0), point(tmp_path, "leaf2", 0.3, 1.0, **changes)]
    note = compare_points(runs, **{axis: figure}).notes[0]
    assert f"{figure}, is none that these runs share: {reason}" in note


def test_unknown_axes_are_told_with_those_there_are(points: list[RunPoint]) -> None:
    with pytest.raises(ConfigError) as caught:
        compare_points(points, risk="kap", utility="cap")
    of_risk, of_utility = caught.value.problems
    assert of_risk.startswith("--risk kap: ")
    assert "choose one of cap, cap_single, cap_undefined" in of_risk
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
    pairs = len(content["axes"]["risk"]) * len(content["axes"]["utility"])
    assert len(content["frontiers"]) == pairs
    first = content["runs"][0]
    assert first["figures"]["cap"]["datasets"] == pytest.approx([0.395, 0.405])
    assert first["worst_pair"] == ["age", "ill"]


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
    assert compare_points(read_runs(runs)) == found


def test_links_to_the_reports_that_there_are(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / n, manifest_of(), checks_of(0.3, 1.5)) for n in ("a b", "c")]
    (runs[0] / "report.html").write_text("")
    (tmp_path / "maps").mkdir()
    write_comparison(runs, tmp_path / "maps" / "map.html")
    page = (tmp_path / "maps" / "map.html").read_text()
    assert '<a href="../a%20b/report.html">a b</a>' in page
    assert "c/report.html" not in page


def test_the_screen_shows_runs_limits_and_notes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {"forbid": ["age < 18 and marital == 'widowed' and sex == 'f'"]}
    runs = [
        point(tmp_path, "leaf1", 0.3, 1.0, exceeded=["limits.cap: above"], settings=settings),
        point(tmp_path, "leaf2", 0.2, 2.0, settings={}),
        point(tmp_path, "leaf3", 0, 0, checks=NOTHING),
    ]
    screen_runs.show_comparison(compare_points(runs), every=True)
    shown = capsys.readouterr().out
    for words in ("not set", "…", "0.010", "-0.010", "leaf1  limits.cap: above"):
        assert words in shown
    assert "the frontier is that of CAP" in shown
    assert "no other run is better on both" in shown
    assert "tie with" not in shown
    assert "note: leaf3: has no figures" in shown


def test_the_screen_without_a_common_axis(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = {"sha256": "def"}
    runs = [point(tmp_path, "leaf1", 0.3, 1.0), point(tmp_path, "leaf2", 0.2, 2.0, data=data)]
    screen_runs.show_comparison(compare_points(runs), every=True)
    shown = capsys.readouterr().out
    assert "the frontier is that of no common figures" in shown
    assert "no other run" not in shown
    # no limits and no frontier: neither 0 nor no
    assert "limits exceeded" not in shown


def used(shown: str) -> list[list[str]]:
    """Return name, place on the frontier, tie and limits of each run."""
    lines = shown.partition("Usefulness")[2].partition("Risk")[0].replace("no tie", "none")
    return [line.split()[:4] for line in lines.splitlines() if line.startswith("leaf")]


def test_the_screen_tells_no_limits_from_none_exceeded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limited = {"limits": {"cap": 0.9}}
    no_tables = CheckResults(risk=checks_of(0.1, 1.0).risk)
    runs = [
        point(tmp_path, "leaf1", 0.3, 1.0, settings=limited),
        point(tmp_path, "leaf2", 0.4, 2.0),
        point(tmp_path, "leaf3", 0, 0, checks=no_tables),
    ]
    screen_runs.show_comparison(compare_points(runs), every=True)
    shown = capsys.readouterr().out
    rows = [[on, limits] for _, on, _, limits in used(shown)]
    assert rows == [["yes", "0"], ["no", "–"], ["–", "–"]]


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
    assert not any(
        "synthetic_" in note for note in compare_points(read_runs(runs), risk="cap").notes
    )
    (runs[1] / "synthetic_1.csv").write_text("something else")
    (runs[1] / "synthetic_2.csv").unlink()
    changed, gone = compare_points(read_runs(runs), risk="cap").notes[:2]
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
        compare_points(read_runs(runs))


def test_the_same_datasets_are_told(tmp_path: Path) -> None:
    texts = {"one": "a", "other": "a", "third": "b"}
    runs = [keeping(tmp_path, name, {"synthetic_1.csv": text}) for name, text in texts.items()]
    assert compare_points(read_runs(runs)).notes[0].startswith("one; other: have the same datasets")
    assert not any("same datasets" in note for note in compare_points(read_runs(runs[1:])).notes)


def of_other_data(where: Path) -> list[RunPoint]:
    one = {"variables": {"age": {"kind": "numeric"}, "sex": {"label": "x"}}, "proper": True}
    two = {"variables": {"job": {"kind": "ordered"}}, "proper": False, "method": {"age": "pmm"}}
    return [
        point(where, "leaf1", 0.3, 1.0, settings=one),
        point(where, "leaf2", 0.2, 2.0, settings=two, data={"sha256": "def"}),
    ]


def test_declarations_of_different_data_are_not_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = compare_points(of_other_data(tmp_path))
    assert found.differing == ("proper",)
    assert [run.differing["proper"] for run in found.runs] == [True, False]
    told = [note for note in found.notes if "declare of single variables differs" in note]
    assert len(told) == 1
    assert "(3 variables)" in told[0]
    screen_runs.show_comparison(found)
    shown = capsys.readouterr().out
    assert "variables." not in shown
    assert "method." not in shown
    content = plain(found)
    assert "variables.age.kind" in content["left_out"]
    assert content["runs"][0]["settings"]["variables.age.kind"] == "numeric"  # in the file still


def test_declarations_of_the_same_data_are_listed(tmp_path: Path) -> None:
    found = two_with(
        tmp_path, *({"variables": {"age": {"kind": kind}}} for kind in ("numeric", "ordered"))
    )
    assert found.differing == ("variables.age.kind",)
    assert found.left_out == ()


def contents(where: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in where.rglob("*") if path.is_file()}


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(
    ("page", "numbers", "told"),
    [
        ("x.html", "x.html", "x.html: is named twice"),
        ("x.html", "maps/../x.html", "x.html: is named twice"),
        ("link/x.html", "maps/x.html", "x.html: is named twice"),
        ("x.html", "maps", "maps is a directory"),
        ("maps", None, "maps is a directory"),
        ("x.html", "nowhere/x.json", "there is no such directory"),
        ("x.html", "a.csv/x.json", "there is no such directory"),
        ("x.html", "y" * 300, "cannot be written"),
        ("x.html", "y" * 250, "cannot be written"),  # with what the name of a draft has more
        ("x.html", "one/checks.json", "a file of the run"),
        ("one/synthetic_1.csv", None, "a file of the run"),
        ("link/../other/report.html", "x.json", "a file of the run"),
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


# Which runs of a frontier are told apart from their neighbours.


def of_spreads(where: Path, **runs: tuple[float, float, float, float]) -> ComparedRuns:
    """Give runs by risk, loss and how much their two datasets differ in either."""
    points = []
    for name, (cap, loss, cap_range, loss_range) in runs.items():
        checks = checks_of(cap, loss, cap_range=cap_range, loss_range=loss_range)
        points.append(read_run(write_run(where / name, manifest_of(), checks)))
    return compare_points(points, risk="cap")


def standings(found: ComparedRuns, risk: str, utility: str) -> tuple[Standing, ...]:
    (pair,) = [own for own in found.frontiers if (own.risk, own.utility) == (risk, utility)]
    return pair.standings


def ties(found: ComparedRuns) -> dict[str, tuple[tuple[str, tuple[str, ...]], ...]]:
    return {
        one.run: tuple((tie.run, tie.axes) for tie in one.ties) for one in standings(found, *FIRST)
    }


def test_neighbours_on_the_frontier_are_a_tie_in_one_figure_or_both(tmp_path: Path) -> None:
    found = of_spreads(
        tmp_path,
        a=(0.20, 3.0, 0.03, 0.1),
        b=(0.22, 2.0, 0.01, 0.1),  # risk within the spread of a
        c=(0.40, 1.0, 0.01, 0.1),  # far from both
        d=(0.41, 0.95, 0.02, 0.1),  # within both spreads of c
    )
    assert found.frontier == ("a", "b", "c", "d")
    assert ties(found) == {
        "a": (("b", ("risk",)),),
        "b": (("a", ("risk",)),),
        "c": (("d", ("risk", "utility")),),
        "d": (("c", ("risk", "utility")),),
    }


def test_a_beaten_run_is_a_tie_only_in_both(tmp_path: Path) -> None:
    found = of_spreads(
        tmp_path,
        best=(0.20, 1.0, 0.02, 0.2),
        close=(0.21, 1.1, 0.02, 0.2),
        useless=(0.21, 2.0, 0.02, 0.2),
    )
    assert found.frontier == ("best",)
    assert ties(found) == {"best": (("close", ("risk", "utility")),)}


def test_the_larger_spread_of_two_decides(tmp_path: Path) -> None:
    found = of_spreads(tmp_path, a=(0.2, 3.0, 0.0, 0.0), b=(0.3, 2.0, 0.2, 0.0))
    assert ties(found)["a"] == (("b", ("risk",)),)


def test_the_choice_of_figures_decides(tmp_path: Path) -> None:
    """All have the same differential confidentiality: there the most useful run beats all."""
    found = of_spreads(tmp_path, a=(0.2, 3.0, 0.0, 0.0), b=(0.3, 2.0, 0.0, 0.0))
    (only,) = standings(found, "differential_confidentiality", "mean_two_way")
    assert (only.run, only.ties, only.unknown) == ("b", (), ())


def test_a_spread_that_is_unknown_is_told(tmp_path: Path) -> None:
    found = of_spreads(tmp_path, a=(0.2, 3.0, 0.0, 0.0), b=(0.3, 2.0, 0.0, 0.0))
    first, _ = standings(found, "cap", "mean_two_way")
    assert first.unknown == ()
    (only,) = standings(found, "replicated_uniques", "pmse_ratio_logit")[:1]
    assert only.unknown == ("risk", "utility")
    assert plain(only) == {
        "run": "a",
        "ties": [{"run": "b", "in": ["risk", "utility"]}],  # equal values are a tie all the same
        "unknown": ["risk", "utility"],
    }


@pytest.mark.parametrize(
    ("found", "spread"),
    [
        (RunFigure(value=1.0, low=0.9, high=1.3, datasets=(0.0, 9.0)), 0.2),
        (RunFigure(value=1.0, low=0.9, datasets=(0.5, None, 0.75)), 0.25),
        (RunFigure(value=1.0, datasets=(0.5, None)), None),
        (RunFigure(value=1.0), None),
    ],
)
def test_spread(found: RunFigure, spread: float | None) -> None:
    assert found.spread == (None if spread is None else pytest.approx(spread))
    assert plain(found)["spread"] == found.spread
