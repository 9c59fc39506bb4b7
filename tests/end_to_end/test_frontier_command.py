"""The commands ``compare`` and ``frontier``: files, exit codes, everything told at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from synthesizer.jobs import frontier
from tests.end_to_end.commands import NO_HALVES, call, persons_frame, write_yaml

CHECKS = {
    "keys": ["sex", "age"],
    "target": "marital",
    "suda": False,
    **NO_HALVES,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration, and a finished grid of two settings."""
    where = tmp_path_factory.mktemp("frontier")
    persons_frame(120).to_csv(where / "persons.csv", index=False)
    content = {
        "data": {"path": "persons.csv"},
        "output": {"directory": "out", "codebook": False},
        "seed": 3,
        "m": 2,
        "checks": CHECKS,
    }
    config = write_yaml(where / "run.yaml", content)
    result = call("frontier", config, "--vary", "cart.min_leaf=5,40", "-o", where / "grid")
    assert result.exit_code == 0, result.output
    return where


def test_a_failed_setting_ends_with_1_and_keeps_the_others(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = frontier.run

    def fails(config, **given):  # type: ignore[no-untyped-def]
        if config.models["cart"]["min_leaf"] == 3:
            raise KeyError("married")
        return real(config, **given)

    monkeypatch.setattr(frontier, "run", fails)
    grid = ["frontier", folder / "run.yaml", "--vary", "cart.min_leaf=3,5", "--quiet"]
    result = call(*grid, "-o", tmp_path / "failed")
    assert result.exit_code == 1
    assert "setting cart.min_leaf=3 failed: internal error, KeyError in " in result.output
    assert "married" not in result.output
    assert "Traceback" not in result.output
    assert (tmp_path / "failed" / "cart.min_leaf=5" / "synthetic_2.csv").is_file()
    assert "KeyError" in (tmp_path / "failed" / "frontier.html").read_text()


def test_axes_are_chosen_on_the_command_line(folder: Path) -> None:
    runs = sorted((folder / "grid").glob("cart*"))
    page, numbers = folder / "axes.html", folder / "axes.json"
    words = ["compare", *runs, "-o", page, "--json", numbers]
    wrong = call(*words, "--risk", "kap", "--utility", "disco")
    assert (wrong.exit_code, "2 errors:" in wrong.output) == (2, True)
    assert not page.exists()
    result = call(*words, "--risk", "disco", "--utility", "worst_two_way")
    assert result.exit_code == 0, result.output
    assert "DiSCO: " in result.output
    found = json.loads(numbers.read_text())
    assert (found["risk"], found["utility"]) == ("disco", "worst_two_way")
    for level in ("married", "north", "south"):  # levels of the data stay in the page
        assert level not in result.output


def test_a_grid_of_which_no_setting_keeps_the_limits_ends_with_3(folder: Path) -> None:
    content = yaml.safe_load((folder / "run.yaml").read_text()) | {"limits": {"mean_two_way": 0}}
    config = write_yaml(folder / "limits.yaml", content)
    result = call("frontier", config, "--vary", "proper=true,false", "-o", folder / "limits")
    assert (result.exit_code, "no setting keeps the limits" in result.output) == (3, True)
