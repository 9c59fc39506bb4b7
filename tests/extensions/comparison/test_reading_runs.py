"""Reading directories of runs: figures, names, everything that is no run."""

from __future__ import annotations

from pathlib import Path

import pytest

from synthesizer.data.errors import DataError
from synthesizer.extensions.comparison.compare import figures_of, read_runs
from synthesizer.measures.catalogue import AXES
from tests.run_directories import checks_of, manifest_of, propensity_of, write_run


def test_figures() -> None:
    figures = figures_of(checks_of(0.3, 1.5), "persons")
    assert set(figures) <= set(AXES)
    cap = figures["cap"]
    assert (cap.value, cap.baseline, cap.chance, cap.original) == (0.3, 0.2, 0.1, 0.9)
    half = figures["differential_confidentiality"]
    assert (half.value, half.low, half.high) == (0.01, -0.01, 0.03)
    assert (figures["mean_two_way"].value, figures["worst_two_way"].value) == (1.5, 2.5)
    assert (figures["nearer_share"].low, figures["nearer_share"].chance) == (0.4, 0.5)
    assert "persons" in cap.meaning


def test_of_several_figures_with_one_key_the_largest_counts() -> None:
    low, high = propensity_of("logit"), propensity_of("cart")
    high = high.model_copy(
        update={"datasets": (high.datasets[0].model_copy(update={"s_pmse": 3.0}),)}
    )
    for order in ((low, high), (high, low)):
        figures = figures_of(checks_of(0.3, 1.5, propensity=order), "records")
        assert figures["pmse_ratio"].value == 3.0


def test_names_are_made_unique(tmp_path: Path) -> None:
    paths = [write_run(tmp_path / part, manifest_of()) for part in ("a/run", "b/run", "c")]
    assert [point.name for point in read_runs(paths)] == [path.as_posix() for path in paths]
    assert [point.name for point in read_runs(paths[1:])] == ["run", "c"]


def test_every_directory_that_is_no_run_is_refused_at_once(tmp_path: Path) -> None:
    names = ("good", "cut", "newer", "generated", "whole")
    good, cut, newer, generated, whole = (
        write_run(tmp_path / name, manifest_of()) for name in names
    )
    (tmp_path / "no run").mkdir()
    (cut / "checks.json").write_text((cut / "checks.json").read_text()[:-9])
    (newer / "checks.json").write_text('{"format": 99}')
    (generated / "checks.json").unlink()
    (whole / "frontier.json").write_text("{}")
    with pytest.raises(DataError) as caught:
        read_runs([good, *(tmp_path / name for name in ("no run", "nowhere", *names))])
    problems = "\n".join(caught.value.problems)
    assert len(caught.value.problems) == 7
    for words in ("the same directory", "no such directory", "it was damaged", "another version",
                  "made by 'generate'", "holds several runs", "no manifest.json"):  # fmt: skip
        assert words in problems
