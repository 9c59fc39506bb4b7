"""Reading directories of runs: figures, names, everything that is no run."""

from __future__ import annotations

from pathlib import Path

import pytest

from synthesizer.data.errors import DataError
from synthesizer.jobs.compare import figures_of, read_run, read_runs
from synthesizer.measures.catalogue import AXES
from synthesizer.measures.figure import plain, typed
from synthesizer.measures.verdict import CheckResults
from tests.run_directories import checks_of, manifest_of, propensity_of, write_run


def test_figures() -> None:
    found = figures_of(checks_of(0.3, 1.5), "persons")
    assert set(found) <= set(AXES)
    cap = found["cap"]
    assert (cap.value, cap.baseline, cap.chance, cap.original) == (0.3, 0.2, 0.1, 0.9)
    half = found["differential_confidentiality"]
    assert (half.value, half.low, half.high) == (0.01, -0.01, 0.03)
    assert (found["mean_two_way"].value, found["worst_two_way"].value) == (1.5, 2.5)
    assert (found["nearer_share"].low, found["nearer_share"].chance) == (0.4, 0.5)
    assert "persons" in cap.meaning


def test_of_several_figures_with_one_key_the_largest_counts() -> None:
    low, high = propensity_of("logit"), propensity_of("cart")
    high = high.model_copy(
        update={"datasets": (high.datasets[0].model_copy(update={"s_pmse": 3.0}),)}
    )
    for order in ((low, high), (high, low)):
        found = figures_of(checks_of(0.3, 1.5, propensity=order), "records")
        assert found["pmse_ratio"].value == 3.0


def test_what_must_be_alike(tmp_path: Path) -> None:
    first = read_run(write_run(tmp_path / "a", manifest_of(), checks_of(0.3, 1.5)))
    content = plain(checks_of(0.2, 1.0))
    content["risk"]["scenarios"][0]["scenario"] |= {"keys": ["sex", "age"], "reason": "another"}
    turned = typed(CheckResults, content)
    same = read_run(write_run(tmp_path / "b", manifest_of(), turned))
    assert first.alike == same.alike  # the order of keys does not matter
    query = manifest_of(data={"origin": "db", "sha256": None})
    fourth = read_run(write_run(tmp_path / "d", query, turned))
    assert fourth.alike["data"] != first.alike["data"]


def test_names_are_made_unique(tmp_path: Path) -> None:
    paths = [write_run(tmp_path / part, manifest_of()) for part in ("a/run", "b/run", "c")]
    assert [point.name for point in read_runs(paths)] == [path.as_posix() for path in paths]
    assert [point.name for point in read_runs(paths[1:])] == ["run", "c"]


def test_everything_that_is_no_run_is_told_at_once(tmp_path: Path) -> None:
    good, cut, newer, generated, whole = (
        write_run(tmp_path / name, manifest_of())
        for name in ("good", "cut", "newer", "generated", "whole")
    )
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    (cut / "checks.json").write_text((cut / "checks.json").read_text()[:-9])
    (newer / "checks.json").write_text('{"format": 99}')
    (generated / "checks.json").unlink()
    (whole / "frontier.json").write_text("{}")
    names = ["nowhere", "file", "empty", "cut", "newer", "generated", "whole"]
    with pytest.raises(DataError) as caught:
        read_runs([good, good.parent / "." / "good", *(tmp_path / name for name in names)])
    told = "\n".join(caught.value.problems)
    assert len(caught.value.problems) == 8
    for words in (
        "is the same directory as",
        "there is no such directory",
        "is a file; name the directory",
        "no manifest.json",
        f"{cut / 'checks.json'} cannot be read: it was damaged",
        f"{newer / 'checks.json'} was written by another version",
        "made by 'generate'",
        "holds several runs",
    ):
        assert words in told
