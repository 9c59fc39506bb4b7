"""Runs side by side: what differs, what shares an axis, who is on the frontier, what is told."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from synthesizer import screen_runs
from synthesizer.errors import ConfigError, DataError
from synthesizer.runs.comparison import Comparison, compare_points, compare_runs, write_comparison
from synthesizer.runs.points import RunPoint, read_run
from tests.run_directories import checks_of, manifest_of, write_run

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
    checks = changes.pop("checks", None) or checks_of(cap, loss)
    manifest = manifest_of(changes.pop("settings", settings), **changes)
    return read_run(write_run(where / name, manifest, checks))


@pytest.fixture
def four(tmp_path: Path) -> Comparison:
    """The third is beaten by the second on both, the fourth on one of them only."""
    return compare_points(
        [
            point(tmp_path, "leaf3", 0.40, 1.0),
            point(tmp_path, "leaf5", 0.30, 1.2),
            point(tmp_path, "leaf7", 0.35, 1.3),
            point(tmp_path, "leaf9", 0.30, 1.4),
        ]
    )


def told(comparison: Comparison) -> set[str]:
    notes = " ".join(comparison.notes)
    return {name for name, words in WORDS.items() if words in notes}


def test_only_differing_settings(four: Comparison) -> None:
    assert four.differing == {("models", "cart", "min_leaf"): (3, 5, 7, 9)}
    assert told(four) == set()
    assert "same seed (common random numbers)" in four.notes[0]
    assert "a part of the luck only" in four.notes[0]
    assert "another seed (--seed)" in four.notes[-1]
    assert "(--risk differential_confidentiality)" in four.notes[-1]


def test_frontier(four: Comparison) -> None:
    assert four.risk[0].key == "cap"
    assert four.utility[0].key == "mean_two_way"
    assert four.frontier == ("leaf5", "leaf3")  # by rising risk


def test_equal_runs_are_both_on_the_frontier(tmp_path: Path) -> None:
    runs = [point(tmp_path, f"leaf{n}", 0.3, 1.0) for n in (1, 2)]
    assert compare_points(runs).frontier == ("leaf1", "leaf2")


def test_below_the_ideal_is_no_better(tmp_path: Path) -> None:
    runs = []
    for n, value in enumerate((-0.02, -0.001, 0.01), 1):
        checks = checks_of(0.3, 4.0 - n, differential_confidentiality=value)
        runs.append(point(tmp_path, f"leaf{n}", 0.3, 0, checks=checks))
    found = compare_points(runs).frontier_of("differential_confidentiality", "mean_two_way")
    assert [one.name for one in found] == ["leaf2", "leaf3"]


def test_a_run_without_a_figure_is_left_out(tmp_path: Path) -> None:
    runs = [point(tmp_path, "leaf1", 0.3, 1.0), point(tmp_path, "leaf2", 0.2, 2.0)]
    checks = {"summary": {"cap": 0.1}, "failed": {"two_way": "?"}, "format": 2}
    checks["risk"] = checks_of(0.1, 1.0)["risk"]
    runs.append(point(tmp_path, "leaf3", 0, 0, checks=checks))
    found = compare_points(runs)
    assert found.frontier == ("leaf2", "leaf1")
    assert "leaf3: could not be computed: two_way." in found.notes
    # what all runs have comes first
    assert found.risk[0].key == "cap"
    assert found.risk[-1].key == "nearer_share"


def test_other_data_have_no_common_axis(tmp_path: Path) -> None:
    data = {"origin": "b.csv", "sha256": "def", "rows": 100, "columns": 3}
    runs = [point(tmp_path, "leaf1", 0.3, 1.0), point(tmp_path, "leaf2", 0.2, 2.0, data=data)]
    found = compare_points(runs)
    assert told(found) == {"data"}
    assert (found.risk, found.utility, found.frontier) == ((), (), ())


def test_queries_have_no_hash(tmp_path: Path) -> None:
    data = {"origin": "db", "sha256": None, "rows": 100, "columns": 3}
    runs = [point(tmp_path, f"leaf{n}", 0.3, 1.0, data=data) for n in (1, 2)]
    found = compare_points(runs)
    assert found.risk[0].key == "cap"
    assert "cannot be seen" in found.notes[0]


def test_other_questions_share_what_does_not_depend_on_them(tmp_path: Path) -> None:
    checks = checks_of(0.2, 2.0)
    checks["risk"]["scenarios"][0]["scenario"]["groups"] = {"age": 10}
    runs = [
        point(tmp_path, "leaf1", 0.3, 1.0),
        point(tmp_path, "leaf2", 0, 0, checks=checks),
    ]
    found = compare_points(runs)
    assert told(found) == {"question"}
    assert [one.key for one in found.risk] == ["replicated_uniques", "nearer_share"]
    assert found.utility[0].key == "mean_two_way"
    assert len(found.frontier) == 1


def test_other_m_takes_single_datasets(tmp_path: Path) -> None:
    runs = [point(tmp_path, "leaf1", 0.3, 1.0), point(tmp_path, "leaf2", 0.2, 2.0, m=5)]
    found = compare_points(runs)
    assert told(found) == {"m"}
    assert found.risk[0].key == "cap_single"
    assert "cap" not in {one.key for one in found.risk}
    assert found.differing[("m",)] == (2, 5)


def test_m_leaves_no_common_axis_of_overlap_and_of_largest_means(tmp_path: Path) -> None:
    runs = [point(tmp_path, "leaf1", 0.3, 1.0), point(tmp_path, "leaf2", 0.2, 2.0, m=5)]
    shared = {one.key for one in compare_points(runs).utility}
    assert shared == {"mean_two_way", "pmse_ratio_logit", "roe_loss"}
    alone = [point(tmp_path, f"leaf{n}", 0.3, 1.0, m=5) for n in (3, 4)]
    assert {one.key for one in compare_points(alone).utility} >= {"overlap_loss", "worst_two_way"}


@pytest.mark.parametrize(
    ("part", "key", "measure"),
    [
        ("fits", {"formula": "ill ~ sex", "mean_overlap": 0.8}, "overlap_loss"),
        ("fits", {"formula": "ill ~ age", "mean_overlap": 0.8, "family": "logit"}, "overlap_loss"),
        (
            "propensity",
            {"model": "logit", "interactions": 2, "mean": {"s_pmse": 1.0}},
            "pmse_ratio_logit",
        ),
    ],
)
def test_other_models_of_a_check_share_no_axis(
    tmp_path: Path, part: str, key: dict[str, Any], measure: str
) -> None:
    checks = checks_of(0.2, 2.0)
    checks["utility"][part] = [key]
    runs = [point(tmp_path, "leaf1", 0.3, 1.0), point(tmp_path, "leaf2", 0, 0, checks=checks)]
    found = compare_points(runs)
    assert told(found) == {part}
    assert measure not in {one.key for one in found.utility}
    assert found.utility[0].key == "mean_two_way"


def test_other_variables_and_seeds_are_told(tmp_path: Path) -> None:
    copied = [{"variable": "age", "kept": True}, {"variable": "sex"}, {"variable": "ill"}]
    runs = [
        point(tmp_path, "leaf1", 0.3, 1.0),
        point(tmp_path, "leaf2", 0.2, 2.0, chain=[{"variable": "age"}], seed=2),
        point(tmp_path, "leaf3", 0.2, 2.0, chain=copied),
    ]
    assert told(compare_points(runs)) == {"variables", "seeds"}
    assert told(compare_points([runs[0], runs[2]])) == {"variables"}


def test_datasets_of_other_sizes_have_no_map(tmp_path: Path) -> None:
    """The smallest file would win: S_pMSE and CAP fall with the number of synthetic records."""
    sizes = ((200, 0.05, 0.6), (5000, 0.3, 1.4), (20000, 0.35, 3.0))
    runs = [
        point(tmp_path, f"leaf{n}", cap, loss, rows=rows)
        for n, (rows, cap, loss) in enumerate(sizes)
    ]
    found = compare_points(runs)
    assert told(found) == {"rows"}
    assert "(200 to 20,000 records)" in found.notes[0]
    assert "--rows" in found.notes[0]
    assert (found.utility, found.frontier) == ((), ())
    assert [one.key for one in found.risk] == ["nearer_share"]


def test_sizes_may_differ_by_a_hundredth(tmp_path: Path) -> None:
    runs = [point(tmp_path, f"leaf{n}", 0.3, 1.0, rows=rows) for n, rows in ((1, 1000), (2, 1010))]
    assert compare_points(runs).frontier == ("leaf1", "leaf2")
    runs.append(point(tmp_path, "leaf3", 0.3, 1.0, rows=1011))
    assert compare_points(runs).frontier == ()


def test_sizes_that_only_the_checks_know(tmp_path: Path) -> None:
    runs = []
    for n, rows in ((1, 100), (2, 300)):
        checks = checks_of(0.3, 1.0)
        checks["utility"]["n_synthetic"] = [rows, rows]
        runs.append(point(tmp_path, f"leaf{n}", 0, 0, checks=checks, rows=None))
    assert told(compare_points(runs)) == {"rows"}


def test_proper_and_other_runs_share_an_axis_with_a_note(tmp_path: Path) -> None:
    checks = checks_of(0.3, 1.0)
    checks["utility"]["proper"] = False  # the checks know best
    runs = [point(tmp_path, "leaf1", 0.3, 2.0), point(tmp_path, "leaf2", 0, 0, checks=checks)]
    found = compare_points(runs)
    assert [one.proper for one in runs] == [True, False]
    assert told(found) == {"proper"}
    assert "1 + k/n for a proper run, here 2 " in found.notes[0]
    assert found.utility[0].key == "mean_two_way"


def test_one_dataset_has_no_spread(tmp_path: Path) -> None:
    runs = [point(tmp_path, "leaf1", 0.3, 1.0, m=1), point(tmp_path, "leaf2", 0.2, 2.0)]
    found = compare_points(runs)
    assert told(found) == {"m", "one dataset"}
    assert "(m = 1: leaf1)" in " ".join(found.notes)
    both = [runs[0], point(tmp_path, "leaf3", 0.3, 1.0, m=1)]
    assert "(m = 1: all runs)" in " ".join(compare_points(both).notes)
    many = [point(tmp_path / f"x{n}", "leaf1", 0.3, 1.0, m=1) for n in range(6)]
    assert "(m = 1: 6 runs)" in " ".join(compare_points([*many, runs[1]]).notes)


def test_axes_can_be_chosen(four: Comparison) -> None:
    found = compare_points(four.points, risk="disco", utility="worst_two_way")
    assert (found.risk[0].key, found.utility[0].key) == ("disco", "worst_two_way")
    assert {one.key for one in found.risk} == {one.key for one in four.risk}
    first = found.to_dict()["frontiers"][0]
    assert (first["risk"], first["utility"]) == ("disco", "worst_two_way")
    assert found.notes == four.notes


def test_a_chosen_axis_that_is_not_shared_is_told(four: Comparison) -> None:
    found = compare_points(four.points, risk="auc", utility="pmse_ratio_cart")
    assert found.risk[0].key == "cap"
    assert "auc, is none that these runs share" in found.notes[0]
    assert "the map shows mean two-way S_pMSE" in found.notes[1]


def test_unknown_axes_are_told_with_those_there_are(four: Comparison) -> None:
    with pytest.raises(ConfigError) as caught:
        compare_points(four.points, risk="kap", utility="cap")
    assert [problem.split(":")[0] for problem in caught.value.problems] == [
        "--risk kap",
        "--utility cap",
    ]
    assert "cap, cap_single, differential_confidentiality" in caught.value.problems[0]
    assert "mean_two_way" in caught.value.problems[1]


def test_checks_that_were_off(tmp_path: Path) -> None:
    runs = [
        point(tmp_path, "leaf1", 0.3, 1.0),
        point(tmp_path, "leaf2", 0, 0, checks={"format": 2, "summary": {}}),
    ]
    notes = compare_points(runs).notes
    assert "leaf2: has no figures; its checks were off or failed." in notes


def test_settings_with_lists_and_dots(tmp_path: Path) -> None:
    one = {"keep": ["age"], "variables": {"Jul.93": {"method": "pmm"}}}
    two = {"keep": ["age"], "variables": {"Jul.93": {"method": "cart"}}}
    runs = [point(tmp_path, f"leaf{n}", 0.3, 1.0, settings=s) for n, s in ((1, one), (2, two))]
    content = compare_points(runs).to_dict()
    assert content["differing"] == ["variables.`Jul.93`.method"]
    assert content["runs"][1]["differing"] == {"variables.`Jul.93`.method": "cart"}


def test_plain_values_hold_every_number(four: Comparison) -> None:
    content = json.loads(json.dumps(four.to_dict(), allow_nan=False))
    assert content["frontier"] == ["leaf5", "leaf3"]
    pairs = len(content["axes"]["risk"]) * len(content["axes"]["utility"])
    assert len(content["frontiers"]) == pairs
    first = content["runs"][0]
    assert first["figures"]["cap"]["datasets"] == pytest.approx([0.39, 0.38])
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
    assert compare_runs(runs) == found


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
    checks = checks_of(0.3, 1.0) | {"exceeded": ["limits.cap: above"]}
    settings = {"forbid": ["age < 18 and marital == 'widowed' and sex == 'f'"]}
    runs = [
        point(tmp_path, "leaf1", 0, 0, checks=checks, settings=settings),
        point(tmp_path, "leaf2", 0.2, 2.0, settings={}),
        point(tmp_path, "leaf3", 0, 0, checks={"format": 2}),
    ]
    screen_runs.show_comparison(compare_points(runs))
    shown = capsys.readouterr().out
    for words in ("not set", "…", "0.010 (-0.010 to 0.030)", "leaf1: exceeds limits.cap"):
        assert words in shown
    assert "frontier: no other run is better on both CAP" in shown
    assert "leaf2: tie with leaf1 in utility" not in shown
    assert "  leaf1: no tie" in shown
    assert "unknown" in shown  # the third has no datasets
    assert "note: leaf3: has no figures" in shown


def test_the_screen_without_a_common_axis(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = {"sha256": "def"}
    runs = [point(tmp_path, "leaf1", 0.3, 1.0), point(tmp_path, "leaf2", 0.2, 2.0, data=data)]
    screen_runs.show_comparison(compare_points(runs))
    shown = capsys.readouterr().out
    assert "frontier:" not in shown
    assert "no common axes" in shown
