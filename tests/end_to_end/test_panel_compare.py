"""Runs of panels side by side, and what their checks say: persons, careers, fits to rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from synthesizer.report.record import read_record
from tests.end_to_end.commands import call, write_yaml
from tests.end_to_end.test_panel import LONG, long_frame

CHECKS: dict[str, Any] = {
    "keys": ["sex", "level@first"], "target": "state@last",
    "nearest": False, "near_verbatim": False,
    "unseen": False, "guesses": False, "attacks": False, "suda": False,
    "differential_confidentiality": {"units": "id"},
    "fits": [{"formula": "pay ~ age"}, {"formula": "`career.moves` ~ C(sex)"}],
}  # fmt: skip


def config_of(folder: Path, **changes: Any) -> Path:
    content = {
        "data": {"path": str(folder / "long.csv")},
        "output": {"directory": str(folder / "one"), "report": True, "codebook": False},
        "seed": 7,
        "m": 2,
        "workers": 1,
        "checks": CHECKS,
    }
    return write_yaml(folder / "run.yaml", content | LONG | changes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished grid of two settings of a panel, and what the screen said."""
    where = tmp_path_factory.mktemp("compare")
    long_frame(150).to_csv(where / "long.csv", index=False)
    words = ("frontier", config_of(where), "--vary", "career.theta=5,100", "-o", where / "grid")
    plan = call(*words, "--plan")
    assert "150 persons, one seed" in plan.output
    result = call(*words, "--all")
    assert result.exit_code == 0, result.output[-2000:]
    (where / "screen.txt").write_text(result.output, encoding="utf-8")
    return where


def test_numbers_and_page_of_a_grid(folder: Path) -> None:
    found = json.loads((folder / "grid/frontier.json").read_text(encoding="utf-8"))
    assert found["units"] == "persons"
    for run in found["runs"]:
        results = read_record(folder / "grid" / run["name"]).results
        ratio, careers = (run["figures"][key] for key in ("sequence_ratio", "replicated_careers"))
        assert ratio["value"] == results.panel.sequences.worst_ratio
        told = results.risk.careers
        figures = {own.name: own for own in told.figures}
        for part in ("value", "chance", "original"):
            assert careers[part] == getattr(figures["careers of one person"], part)
        assert run["rows"] == 150
    meanings = " ".join(own["meaning"] for run in found["runs"] for own in run["figures"].values())
    assert "record" not in meanings
    page = (folder / "grid/frontier.html").read_text(encoding="utf-8")
    for words in ("persons", "over noise", "careers of one"):
        assert words in page


def test_fits_of_a_run_are_of_rows_where_they_can_be(folder: Path) -> None:
    checks = folder / "grid/career.theta=100/checks.json"
    found = json.loads(checks.read_text(encoding="utf-8"))["results"]
    fits = {fit["formula"]: fit for fit in found["utility"]["fits"]}
    assert fits["pay ~ age"]["clusters"] == "id"
    assert fits["pay ~ age"]["datasets"][0]["n"] > 150
    assert fits["`career.moves` ~ C(sex)"]["clusters"] is None
    assert fits["`career.moves` ~ C(sex)"]["datasets"][0]["n"] == 150
    assert any("pay ~ age: fitted to the rows" in note for note in found["utility"]["notes"])
    assert found["failed"] == {}
