"""The commands ``compare`` and ``frontier``: files, exit codes, everything told at once."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
import yaml

from synthesizer.extensions.comparison import frontier
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


def test_a_grid_leaves_runs_page_and_numbers(folder: Path) -> None:
    grid = folder / "grid"
    for name in ("cart.min_leaf=5", "cart.min_leaf=40"):
        assert (grid / name / "synthetic_2.csv").is_file()
    for name in ("frontier.html", "frontier.json"):
        assert stat.S_IMODE((grid / name).stat().st_mode) == 0o600
    assert json.loads((grid / "frontier.json").read_text())["frontier"]
    page = (grid / "frontier.html").read_text()
    assert '<a href="cart.min_leaf%3D5/report.html">cart.min_leaf=5</a>' in page


def test_a_grid_of_which_no_setting_keeps_the_limits_ends_with_3(folder: Path) -> None:
    content = yaml.safe_load((folder / "run.yaml").read_text()) | {"limits": {"mean_two_way": 0}}
    config = write_yaml(folder / "limits.yaml", content)
    result = call("frontier", config, "--vary", "proper=true,false", "-o", folder / "limits")
    assert result.exit_code == 3
    assert "no setting keeps the limits" in result.output
    assert "No setting keeps the limits" in (folder / "limits" / "frontier.html").read_text()


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
    assert wrong.exit_code == 2
    assert "2 errors:" in wrong.output
    assert not page.exists()
    result = call(*words, "--risk", "disco", "--utility", "worst_two_way")
    assert result.exit_code == 0, result.output
    assert "DiSCO: " in result.output
    assert "largest two-way S_pMSE: " in result.output
    found = json.loads(numbers.read_text())
    assert (found["risk"], found["utility"]) == ("disco", "worst_two_way")


def test_no_confidential_value_is_printed(folder: Path) -> None:
    """The screen shows settings and figures; levels and rows of the data stay in the page."""
    result = call("compare", *sorted((folder / "grid").glob("cart*")), "-o", folder / "y.html")
    assert result.exit_code == 0
    for level in ("married", "north", "south"):
        assert level not in result.output
