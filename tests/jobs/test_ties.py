"""Which runs of a frontier are told apart from their neighbours."""

from __future__ import annotations

from pathlib import Path

import pytest

from synthesizer.jobs.compare import compare_points
from synthesizer.jobs.run_points import read_run
from synthesizer.measures.figure import plain
from synthesizer.report.comparison import ComparedRuns, RunFigure, Standing
from tests.run_directories import checks_of, manifest_of, write_run

AXES = ("cap", "mean_two_way")


def compared(where: Path, **runs: tuple[float, float, float, float]) -> ComparedRuns:
    """Give runs by risk, loss and how much their two datasets differ in either."""
    points = []
    for name, (cap, loss, cap_range, loss_range) in runs.items():
        checks = checks_of(cap, loss, cap_range=cap_range, loss_range=loss_range)
        points.append(read_run(write_run(where / name, manifest_of(), checks)))
    return compare_points(points)


def standings(found: ComparedRuns, risk: str, utility: str) -> tuple[Standing, ...]:
    (pair,) = [own for own in found.frontiers if (own.risk, own.utility) == (risk, utility)]
    return pair.standings


def ties(found: ComparedRuns) -> dict[str, tuple[tuple[str, tuple[str, ...]], ...]]:
    return {
        one.run: tuple((tie.run, tie.axes) for tie in one.ties) for one in standings(found, *AXES)
    }


def test_neighbours_on_the_frontier_are_a_tie_in_one_figure_or_both(tmp_path: Path) -> None:
    found = compared(
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
    found = compared(
        tmp_path,
        best=(0.20, 1.0, 0.02, 0.2),
        close=(0.21, 1.1, 0.02, 0.2),
        useless=(0.21, 2.0, 0.02, 0.2),
    )
    assert found.frontier == ("best",)
    assert ties(found) == {"best": (("close", ("risk", "utility")),)}


def test_the_larger_spread_of_two_decides(tmp_path: Path) -> None:
    found = compared(tmp_path, a=(0.2, 3.0, 0.0, 0.0), b=(0.3, 2.0, 0.2, 0.0))
    assert ties(found)["a"] == (("b", ("risk",)),)


def test_the_choice_of_figures_decides(tmp_path: Path) -> None:
    """All have the same differential confidentiality: there the most useful run beats all."""
    found = compared(tmp_path, a=(0.2, 3.0, 0.0, 0.0), b=(0.3, 2.0, 0.0, 0.0))
    (only,) = standings(found, "differential_confidentiality", "mean_two_way")
    assert (only.run, only.ties, only.unknown) == ("b", (), ())


def test_a_spread_that_is_unknown_is_told(tmp_path: Path) -> None:
    found = compared(tmp_path, a=(0.2, 3.0, 0.0, 0.0), b=(0.3, 2.0, 0.0, 0.0))
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
