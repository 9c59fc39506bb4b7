"""Comparisons whose pages stand in the golden file of all pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from synthesizer.extensions.comparison.comparison_page import ComparedRuns, comparison_page
from tests.extensions.comparison.test_comparison_page import changed, runs


def three_runs(folder: Path, **changes: Any) -> ComparedRuns:
    points = {"a": (0.4, 1.0), "b": (0.3, 1.5), "c": (0.42, 1.6)}
    return runs(folder, points, **changes)


def above(folder: Path, *positions: int) -> ComparedRuns:
    """Return three runs with limits; the runs at ``positions`` are above one."""
    compared = three_runs(folder, limits={"cap": 0.35, "mean_two_way": 1.2})
    for position in positions:
        compared = changed(compared, position, exceeded=("limits.cap: CAP is 0.4",))
    return compared


COMPARISONS: dict[str, Callable[[Path], str]] = {
    "three runs": lambda folder: comparison_page(
        three_runs(folder), title="My grid", failed={"leaf=0": ["no value is left"]}
    ),
    "limits that two runs keep": lambda folder: comparison_page(above(folder, 0)),
    "limits that no run keeps": lambda folder: comparison_page(above(folder, 0, 1, 2)),
    "no common figures": lambda folder: comparison_page(
        three_runs(folder).model_copy(update={"risk": None, "frontier": ()})
    ),
}
