"""Reading directories of runs: figures of both formats, names, everything that is no run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from synthesizer.data.errors import DataError
from synthesizer.jobs.run_points import read_measures, read_run, read_runs
from synthesizer.measures.catalogue import MEASURES
from tests.run_directories import checks_of, manifest_of, write_run

OLD = {  # what runs wrote before checks had a format
    "summary": {"mean_two_way": 1.6, "cap": 0.28, "nearer_share": 0.53},
    "tables": {
        "columns": ["variables", "ways", "S_pMSE"],
        "mean": [["age:sex", 2, 1.0], ["age:ill", 2, 6.5], ["age", 1, 9.0]],
        "S_pMSE_by_dataset": [
            {"dataset": 1, "ways": 2, "mean": 1.5, "max": 6.0},
            {"dataset": 1, "ways": 1, "mean": 0.3, "max": 1.0},
        ],
    },
    "risk": {
        "scenarios": [
            {
                "cap": {
                    "synthetic": [
                        {"m": 1, "subset": "all", "zero": 0.24, "chance_zero": 0.07},
                        {"m": 1, "subset": "uniques", "zero": 0.9},
                        {"m": 2, "subset": "all", "zero": 0.28},
                    ]
                }
            }
        ]
    },
}


def test_figures_of_today() -> None:
    found = read_measures(checks_of(0.3, 1.5))
    cap = found["cap"]
    assert (cap.value, cap.baseline, cap.original) == (0.3, 0.1, 0.9)
    assert cap.datasets == pytest.approx((0.29, 0.28))
    assert found["cap_single"].value == pytest.approx(0.285)
    assert found["cap_single"].baseline == pytest.approx(0.09)
    assert found["mean_two_way"].datasets == (1.5, 1.5)
    assert found["worst_two_way"].datasets == (2.0, 2.0)
    assert found["repu"].datasets == (0.1, 0.2)
    half = found["differential_confidentiality"]
    assert (half.value, half.low, half.high) == (0.01, -0.01, 0.03)
    assert found["differential_single"].value == 0.005
    assert found["pmse_ratio_logit"].value == 1.2
    assert found["pmse_ratio_cart"].value is None
    assert found["roe_loss"].value == pytest.approx(0.1)
    assert found["overlap_loss"].value == 0.25
    assert (found["nearer_share"].low, found["nearer_share"].baseline) == (0.4, 0.5)


def test_figures_of_the_older_format() -> None:
    found = read_measures(OLD)
    assert found["mean_two_way"].value == 1.6
    assert found["mean_two_way"].datasets == (1.5,)
    assert found["worst_one_way"].datasets == (1.0,)
    # without single datasets the first one stands for them
    assert found["cap_single"].value == 0.24
    assert found["cap_single"].baseline == 0.07
    assert found["cap"].datasets == ()
    assert found["roe_loss"].value is None


@pytest.mark.parametrize(
    "checks",
    [
        {},
        {"summary": None, "risk": [], "utility": 3},
        {"summary": {"cap": "0.3", "repu": True}, "risk": {"scenarios": "x"}},
        {"risk": {"scenarios": [{"scenario": "x", "cap": {"singles": [1, None]}, "figures": {}}]}},
        {"utility": {"tables": {"by_dataset": [{"ways": 2}]}, "propensity": [{"model": []}]}},
        {"utility": {"tables": {"columns": 1, "mean": 2}}},
    ],
)
def test_parts_of_another_shape_count_as_missing(tmp_path: Path, checks: dict[str, Any]) -> None:
    assert set(read_measures(checks)) == set(MEASURES)
    assert all(found.value is None for found in read_measures(checks).values())
    point = read_run(write_run(tmp_path / "odd", {"config": 7, "m": "x"}, checks))
    assert (point.m, point.worst_pair, point.exceeded) == (None, (), ())


def test_a_run_as_a_point(tmp_path: Path) -> None:
    manifest = manifest_of({"models": {"cart": {"min_leaf": 3}}, "output": {"directory": "x"}})
    checks = checks_of(0.3, 1.5) | {"exceeded": ["limits.cap: too high"], "failed": {"suda": "?"}}
    point = read_run(write_run(tmp_path / "first", manifest, checks))
    assert point.name == "first"
    assert point.settings == {("models", "cart", "min_leaf"): 3, ("m",): 2}
    assert (point.seed, point.m, point.rows) == (1, 2, 100)
    assert point.variables == ("age", "sex", "ill")
    assert point.worst_pair == ("age", "ill")
    assert point.exceeded == ("limits.cap: too high",)
    assert point.failed == ("suda",)
    assert point.value("cap") == 0.3
    assert point.value("no such measure") is None
    assert read_run(write_run(tmp_path / "old", manifest, OLD)).worst_pair == ("age:ill",)


def test_numbers_that_no_file_of_ours_holds(tmp_path: Path) -> None:
    text = '{"summary": {"cap": NaN, "repu": 1e999, "disco": 1' + "0" * 400 + ', "tcap": 0.5}}'
    manifest = '{"config": {"rows": -Infinity, "models": {"cart": {"x": 1e999}}}, "m": 2}'
    point = read_run(write_run(tmp_path / "odd", manifest, text))
    assert {k: f.value for k, f in point.figures.items() if f.value is not None} == {"tcap": 0.5}
    assert point.settings == {("rows",): None, ("models", "cart", "x"): None, ("m",): 2}
    assert point.fingerprint is None


def test_questions_tell_what_can_be_compared(tmp_path: Path) -> None:
    first = read_run(write_run(tmp_path / "a", manifest_of(), checks_of(0.3, 1.5)))
    turned = checks_of(0.2, 1.0)
    turned["risk"]["scenarios"][0]["scenario"]["keys"] = ["sex", "age"]
    turned["risk"]["scenarios"][0]["scenario"]["reason"] = "another"
    same = read_run(write_run(tmp_path / "b", manifest_of(), turned))
    assert first.questions == same.questions  # the order of keys does not matter
    other = read_run(write_run(tmp_path / "c", manifest_of(m=3), turned))
    assert first.questions["scenario"] == other.questions["scenario"]
    assert first.questions["pooled"] != other.questions["pooled"]
    query = {"origin": "db", "sha256": None, "rows": 5, "columns": 2}
    fourth = read_run(write_run(tmp_path / "d", manifest_of(data=query), turned))
    assert fourth.questions["data"] != first.questions["data"]


def test_names_are_made_unique(tmp_path: Path) -> None:
    paths = [tmp_path / part for part in ("a/run", "b/run", "c")]
    for path in paths:
        write_run(path, manifest_of(), checks_of(0.3, 1.5))
    assert [point.name for point in read_runs(paths)] == ["a/run", "b/run", "c"]


def test_everything_that_is_no_run_is_told_at_once(tmp_path: Path) -> None:
    good = write_run(tmp_path / "good", manifest_of(), checks_of(0.3, 1.5))
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    cut = write_run(tmp_path / "cut", manifest_of(), json.dumps(checks_of(0.3, 1.5))[:-9])
    newer = write_run(tmp_path / "newer", manifest_of(), {"format": 99})
    lists = write_run(tmp_path / "lists", "[1]", "[2]")
    generated = write_run(tmp_path / "generated", manifest_of(), {})
    (generated / "checks.json").unlink()
    whole = write_run(tmp_path / "whole", manifest_of(), {})
    (whole / "frontier.json").write_text("{}")
    unreadable = write_run(tmp_path / "binary", manifest_of(), {})
    (unreadable / "checks.json").write_bytes(b"\xff\xfe\x00")
    names = ["nowhere", "file", "empty", "cut", "newer", "lists", "generated", "whole", "binary"]
    with pytest.raises(DataError) as caught:
        read_runs([good, good.parent / "." / "good", *(tmp_path / name for name in names)])
    told = "\n".join(caught.value.problems)
    assert len(caught.value.problems) == 11  # both files of 'lists'
    for words in (
        "is the same directory as",
        "there is no such directory",
        "is a file; name the directory",
        "no manifest.json",
        "cut/checks.json: is no JSON",
        "its format is not known",
        "lists/manifest.json: holds no result",
        "made by 'generate'",
        "holds several runs",
        "binary/checks.json: is no JSON",
    ):
        assert words in told
    assert str(cut) in told
    assert str(newer) in told
    assert str(lists) in told


def test_one_run_alone_and_none(tmp_path: Path) -> None:
    only = write_run(tmp_path / "only", manifest_of(), checks_of(0.3, 1.5))
    with pytest.raises(DataError, match="one run alone cannot be compared.*frontier"):
        read_runs([only])
    with pytest.raises(DataError, match="no runs are given"):
        read_runs([])


def test_a_name_that_the_system_refuses(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_run(tmp_path / ("x" * 5000))


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", manifest_of(), {})
    real = Path.read_text

    def refuse(path: Path, **given: Any) -> str:
        if path.name == "checks.json":
            raise PermissionError(13, "Permission denied")
        return real(path, **given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "read_text", refuse)
        with pytest.raises(DataError, match=r"checks\.json: cannot be read \(Permission denied\)"):
            read_run(run)
