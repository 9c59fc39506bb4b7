"""The commands ``compare`` and ``frontier``: files, exit codes, everything told at once."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path

import pytest

from synthesizer.jobs import frontier
from tests.end_to_end.commands import call, persons_frame, write_yaml

CHECKS = {
    "keys": ["sex", "age"],
    "target": "marital",
    "suda": False,
    "differential_confidentiality": False,
    "nearest": False,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration, and a finished grid of two settings."""
    where = tmp_path_factory.mktemp("frontier")
    persons_frame(200).to_csv(where / "persons.csv", index=False)
    content = {"data": {"path": "persons.csv"}, "seed": 3, "m": 2, "checks": CHECKS}
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


def test_progress_and_result_are_told(folder: Path) -> None:
    words = ["frontier", folder / "run.yaml", "--vary", "proper=true,false", "-m", 1]
    result = call(*words, "-o", folder / "proper", "--workers", 1, "--seed", 5)
    assert result.exit_code == 0, result.output
    for expected in (
        "2 settings, each a whole run (m = 1, 200 records, seed 5 for all)",
        "setting 1 of 2: proper=true",
        "the other one may take about",
        "settings that differ",
        "frontier: no other run is better",
        "frontier.html (confidential: not for release)",
    ):
        assert expected in result.output
    quiet = call(*words, "-o", folder / "proper", "--overwrite", "-q")
    assert (quiet.exit_code, quiet.output) == (0, "")


def test_plan_only(folder: Path) -> None:
    before = sorted(folder.iterdir())
    result = call(
        "frontier", folder / "run.yaml", "--vary", "cart.min_leaf=3,5", "--vary", "m=1,2", "--plan"
    )
    assert result.exit_code == 0
    assert "4 settings" in result.output
    assert "cart.min_leaf=3,m=2" in result.output
    assert sorted(folder.iterdir()) == before


def test_problems_of_the_grid_are_told_at_once(folder: Path) -> None:
    result = call(
        "frontier", folder / "run.yaml", "--vary", "seed=1,2", "--vary", "cart.min_leaf=0,5",
        "--vary", "nonsense", "-o", folder / "grid",
    )  # fmt: skip
    assert result.exit_code == 2
    assert "4 errors:" in result.output
    assert call("frontier", folder / "run.yaml").exit_code == 2


def test_a_failed_setting_ends_with_1(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from synthesizer.data.errors import ModelError

    real = frontier.run

    def fails(config, **given):  # type: ignore[no-untyped-def]
        if config.models["cart"]["min_leaf"] == 3:
            raise ModelError("no allowed value is left")
        return real(config, **given)

    monkeypatch.setattr(frontier, "run", fails)
    words = ["frontier", folder / "run.yaml", "--vary", "cart.min_leaf=3,5"]
    result = call(*words, "-o", folder / "failed")
    assert result.exit_code == 1
    assert "setting cart.min_leaf=3 failed: no allowed value is left" in result.output
    assert (folder / "failed" / "frontier.html").is_file()


def test_an_internal_error_ends_with_1_and_keeps_the_others(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = frontier.run

    def breaks(config, **given):  # type: ignore[no-untyped-def]
        if config.models["cart"]["min_leaf"] == 3:
            raise KeyError("married")
        return real(config, **given)

    monkeypatch.setattr(frontier, "run", breaks)
    words = ["frontier", folder / "run.yaml", "--vary", "cart.min_leaf=3,5", "--quiet"]
    result = call(*words, "-o", folder / "broken")
    assert result.exit_code == 1
    assert "setting cart.min_leaf=3 failed: internal error, KeyError in " in result.output
    assert "married" not in result.output
    assert "Traceback" not in result.output
    assert (folder / "broken" / "cart.min_leaf=5" / "synthetic_2.csv").is_file()
    assert "KeyError" in (folder / "broken" / "frontier.html").read_text()


def test_settings_without_effect_are_told_and_the_others_run(folder: Path) -> None:
    words = ["frontier", folder / "run.yaml", "-m", 1, "--vary", "cart.min_leaf=5,40"]
    result = call(*words, "--vary", "forest.n_trees=5,9", "-o", folder / "twins")
    assert result.exit_code == 0, result.output
    assert "2 settings, each a whole run" in result.output
    assert result.output.count("note: cart.min_leaf=5,forest.n_trees=9: left out") == 2
    assert (folder / "twins" / "cart.min_leaf=40,forest.n_trees=5").is_dir()
    alone = call("frontier", folder / "run.yaml", "--vary", "forest.n_trees=5,9", "--plan")
    assert alone.exit_code == 2
    assert "no two settings are left to compare" in alone.output


def test_an_interrupted_grid_says_where_it_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stops(config, **given):  # type: ignore[no-untyped-def]
        raise KeyboardInterrupt

    monkeypatch.setattr(frontier, "run", stops)
    words = ["frontier", folder / "run.yaml", "--vary", "cart.min_leaf=3,5"]
    result = call(*words, "-o", folder / "stopped")
    assert result.exit_code == 130
    assert "finished settings are kept in" in result.output
    assert (folder / "stopped.unfinished").is_dir()


def test_compare_prints_and_writes(folder: Path) -> None:
    runs = sorted((folder / "grid").glob("cart*"))
    page, numbers = folder / "map.html", folder / "map.json"
    result = call("compare", *runs, "-o", page, "--json", numbers)
    assert result.exit_code == 0, result.output
    assert "models.cart.min_leaf: 40" in result.output
    assert "note: All runs have the same seed" in result.output
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert json.loads(numbers.read_text())["differing"] == ["models.cart.min_leaf"]
    again = call("compare", *runs, "-o", page)
    assert again.exit_code == 2
    assert call("compare", *runs, "-o", page, "--overwrite").exit_code == 0


def test_compare_does_not_write_two_things_to_one_file(folder: Path) -> None:
    runs = sorted((folder / "grid").glob("cart*"))
    before = sorted(folder.iterdir())
    result = call("compare", *runs, "-o", folder / "one.html", "--json", folder / "one.html")
    assert result.exit_code == 2
    assert "one.html: is named twice" in result.output
    assert sorted(folder.iterdir()) == before


def test_compare_names_what_changed_since_the_run(folder: Path, tmp_path: Path) -> None:
    runs = [tmp_path / name for name in ("first", "second")]
    for run, made in zip(runs, sorted((folder / "grid").glob("cart*")), strict=True):
        shutil.copytree(made, run)
    whole = call("compare", *runs, "-o", tmp_path / "map.html")
    assert "is missing" not in whole.output
    (runs[0] / "checks.json").write_text((runs[0] / "checks.json").read_text() + " ")
    (runs[1] / "codebook.json").unlink()
    result = call("compare", *runs, "-o", tmp_path / "map2.html")
    assert result.exit_code == 0, result.output
    assert "note: first: checks.json has changed since the run" in result.output
    assert "note: second: codebook.json is gone and the manifest lists it" in result.output
    assert "run again with --overwrite" in result.output


def test_axes_are_chosen_on_the_command_line(folder: Path) -> None:
    runs = sorted((folder / "grid").glob("cart*"))
    page, numbers = folder / "axes.html", folder / "axes.json"
    words = ["compare", *runs, "-o", page, "--json", numbers]
    wrong = call(*words, "--risk", "kap", "--utility", "disco")
    assert wrong.exit_code == 2
    assert "2 errors:" in wrong.output
    assert not page.exists()
    result = call(*words, "--risk", "disco", "--utility", "roe_loss")
    assert result.exit_code == 0, result.output
    assert "no other run is better on both DiSCO and 1 - ratio of estimates" in result.output
    first = json.loads(numbers.read_text())["frontiers"][0]
    assert (first["risk"], first["utility"]) == ("disco", "roe_loss")


def test_axes_of_a_grid_are_checked_before_it_runs(folder: Path) -> None:
    words = ["frontier", folder / "run.yaml", "--vary", "rows=100,200", "-o", folder / "sizes"]
    wrong = call(*words, "--risk", "kap", "--plan")
    assert wrong.exit_code == 2
    assert "--risk kap: is no figure of risk" in wrong.output
    told = call(*words, "--risk", "disco", "--plan")
    assert "the datasets differ in size" in told.output
    assert not (folder / "sizes").exists()


def test_compare_tells_all_that_is_no_run(folder: Path) -> None:
    run = folder / "grid" / "cart.min_leaf=5"
    result = call(
        "compare", run, run, folder / "grid", folder / "nowhere", folder, "-o", folder / "x.html"
    )
    assert result.exit_code == 2
    assert "4 errors:" in result.output
    assert not (folder / "x.html").exists()
    alone = call("compare", run, "-o", folder / "x.html")
    assert "one run alone cannot be compared" in alone.output


def test_no_confidential_value_is_printed(folder: Path) -> None:
    """The screen shows settings and figures; levels and rows of the data stay in the page."""
    result = call("compare", *sorted((folder / "grid").glob("cart*")), "-o", folder / "y.html")
    assert result.exit_code == 0
    for level in ("married", "north", "south"):
        assert level not in result.output
