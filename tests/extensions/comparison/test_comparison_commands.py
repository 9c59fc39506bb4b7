"""The commands that set runs side by side: their screens, axes, exit codes and key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from synthesizer import run
from synthesizer.extensions.comparison import frontier
from synthesizer.extensions.comparison.frontier import plan_frontier, workshop
from tests.cli.test_commands import ends_on_one_screen, made  # noqa: F401 - a fixture
from tests.end_to_end.commands import call
from tests.end_to_end.test_key import assert_kept, config_for
from tests.end_to_end.test_plugin import MODULE, command, folder  # noqa: F401 - a fixture


@pytest.fixture(scope="module")
def grid(made: Path) -> list[Path]:  # noqa: F811
    done = call("frontier", made / "quick.yaml", "--vary", "cart.min_leaf=5,20", "-q")
    assert done.exit_code == 0, done.output
    return sorted((made / "out_frontier").glob("cart*"))


def test_every_command_ends_on_one_screen(
    grid: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    where = grid[0].parents[1]
    monkeypatch.chdir(where)
    runs = " ".join(str(one.relative_to(where)) for one in grid)
    ends_on_one_screen(f"compare {runs} --json {tmp_path / 'x.json'}")
    ends_on_one_screen(f"frontier quick.yaml --vary rows=30,40 -o {tmp_path / 'x'}")


def test_axes_are_chosen_on_the_command_line(grid: list[Path], tmp_path: Path) -> None:
    page, numbers = tmp_path / "axes.html", tmp_path / "axes.json"
    words = ["compare", *grid, "-o", page, "--json", numbers]
    wrong = call(*words, "--risk", "kap", "--utility", "disco")
    assert (wrong.exit_code, "2 errors:" in wrong.output) == (2, True)
    assert not page.exists()
    result = call(*words, "--risk", "disco", "--utility", "worst_two_way")
    assert result.exit_code == 0, result.output
    assert "DiSCO: " in result.output
    content = json.loads(numbers.read_text())
    assert (content["risk"], content["utility"]) == ("disco", "worst_two_way")
    for level in ("married", "north", "south"):  # levels of the data stay in the page
        assert level not in result.output


def test_a_grid_ends_with_3_above_a_limit_and_with_1_where_a_setting_failed(
    made: Path,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    grid = ["frontier", made / "quick.yaml", "--vary", "rows=30,40", "-o"]
    above = call(*grid, tmp_path / "above", "--set", "limits.mean_two_way=0")
    assert (above.exit_code, "no setting is within the limits" in above.output) == (3, True)
    real = frontier.run

    def fails(config: Any, **given: Any) -> Any:
        if config.rows == 30:
            raise KeyError("married")
        return real(config, **given)

    monkeypatch.setattr(frontier, "run", fails)
    failed = call(*grid, tmp_path / "failed", "--quiet")
    assert failed.exit_code == 1
    assert "setting rows=30 failed: internal error, KeyError in " in failed.output
    assert "married" not in failed.output
    assert (tmp_path / "failed" / "rows=40" / "synthetic_1.csv").is_file()


@pytest.mark.usefixtures("folder")
def test_a_grid_knows_the_plugins_of_its_configuration() -> None:
    words = ("frontier", "run.yaml", "--set", f"plugins=[{MODULE}]", "--plan", "--vary", "m=1,3")
    assert "2 settings" in command(0, *words)


@pytest.mark.usefixtures("drawn_key")
def test_a_grid_shares_one_key_and_goes_on_with_it(tmp_path: Path) -> None:
    """A finished one keeps it in the manifests of its settings alone."""
    config, grid = config_for(tmp_path, seed=None), tmp_path / "grid"
    vary = {"cart.min_leaf": [5, 40]}
    plan = plan_frontier(config, vary, directory=grid)
    setting = plan.settings[0]
    directory = {"directory": workshop(grid) / setting.name}
    output = setting.config.output.model_copy(update=directory)
    run(setting.config.model_copy(update={"output": output}), seed=plan.seed)
    (workshop(grid) / "grid.json").write_text("{}")
    again = plan_frontier(config, vary, directory=grid)
    assert (again.seed, again.finished) == (plan.seed, (setting.name,))
    bare = plan_frontier(config, vary, directory=grid, overrides={"random_key": "none"})
    assert (bare.seed.random_key, bare.finished) == (None, ())
    printed = call("frontier", config, "--vary", "cart.min_leaf=5,40", "-o", grid).output
    runs = [grid / f"cart.min_leaf={leaf}" for leaf in (5, 40)]
    printed += call("compare", *runs, "-o", grid / "map.html", "--json", grid / "map.json").output
    assert printed.count("All runs have the same seed and key") == 2
    key = str(plan.seed.random_key)
    assert_kept(key, grid, printed, {f"{run.name}/manifest.json" for run in runs})
