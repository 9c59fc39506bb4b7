"""A grid of runs: plan, resumption, failures, one result at the end."""

from __future__ import annotations

import dataclasses
import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synthesizer.data.errors import ConfigError, OutputError
from synthesizer.data.files import own_directory
from synthesizer.data.table import Column, Table
from synthesizer.data.workers import Listener, silent
from synthesizer.engine.registry import Registry
from synthesizer.extensions.comparison import frontier
from synthesizer.extensions.comparison.frontier import Frontier, plan_frontier, workshop
from synthesizer.jobs.grid import plans_of
from synthesizer.jobs.run import run
from synthesizer.models.base import FittedModel
from synthesizer.models.sample import Sample
from tests.end_to_end.commands import NO_HALVES, hashes, persons_config, persons_frame

LEAVES = {"cart.min_leaf": [5, 40]}
NAMES = ["cart.min_leaf=5", "cart.min_leaf=40"]


def configured(where: Path) -> Path:
    quick = {"keys": ["sex", "age"], "target": "marital", "suda": False, "propensity": False}
    output = {"directory": "out", "report": False, "codebook": False}
    return persons_config(where, seed=3, output=output, checks=NO_HALVES | quick)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return configured(tmp_path)


def interrupts_at(number: int) -> Callable[[], Any]:
    """Give listeners that stop the whole call when setting ``number`` begins."""
    begun = 0

    @contextmanager
    def listening() -> Iterator[Listener]:
        nonlocal begun
        begun += 1
        if begun == number:
            raise KeyboardInterrupt
        yield silent

    return listening


def run_grid(config: Any, vary: Any, **options: Any) -> Frontier:
    """Plan and run a grid; ``show`` and ``listening`` are of the run."""
    shown = {name: options.pop(name) for name in ("show", "listening") if name in options}
    return frontier.run_frontier(plan_frontier(config, vary, **options), **shown)


def interrupted(config: Path, where: Path, vary: Any = LEAVES) -> Path:
    """Stop a grid when its second setting begins; return where the first one waits."""
    with pytest.raises(KeyboardInterrupt, match="finished settings are in"):
        run_grid(
            config, vary, directory=where, overrides={"workers": 1}, listening=interrupts_at(2)
        )
    assert not where.exists()
    return workshop(where) / NAMES[0]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Frontier, list[str]]:
    log: list[str] = []
    config = configured(tmp_path_factory.mktemp("finished"))
    return run_grid(config, LEAVES, overrides={"m": 2, "workers": 1}, show=log.append), log


def test_every_setting_is_a_whole_run(finished):
    grid, log = finished
    where = grid.directory
    assert where.name == "out_frontier"
    assert grid.failed == {}
    assert [point.name for point in grid.comparison.runs] == NAMES
    assert set(grid.comparison.frontier) <= set(NAMES)
    assert grid.comparison.differing == ("models.cart.min_leaf",)
    for name in NAMES:
        files = {path.name for path in (where / name).iterdir()}
        assert files >= {"synthetic_1.csv", "synthetic_2.csv", "checks.json", "manifest.json"}
    for name in ("frontier.html", "frontier.json", "manifest.json"):
        assert stat.S_IMODE((where / name).stat().st_mode) == 0o600
    numbers = json.loads((where / "frontier.json").read_text())
    assert numbers["failed"] == {}
    assert numbers["frontier"] == list(grid.comparison.frontier)
    assert json.loads((where / "manifest.json").read_text())["kind"] == "frontier"
    assert not workshop(where).exists()
    assert log[0].startswith("2 settings, each a whole run (m = 2, 100 records, one seed for all)")
    assert "setting 2 of 2: cart.min_leaf=40" in log


def test_a_setting_is_what_run_makes_of_it(finished):
    where = finished[0].directory
    models = {"cart": {"min_leaf": 5}}
    changed = {"m": 2, "models": models, "output": {"directory": str(where.parent / "alone")}}
    alone = run(where.parent / "run.yaml", overrides=changed)
    assert hashes(where / NAMES[0]) == hashes(alone.directory)


def test_a_result_is_replaced_only_when_asked_to(finished):
    where = finished[0].directory
    with pytest.raises(ConfigError, match="exists already"):
        plan_frontier(where.parent / "run.yaml", LEAVES)
    assert plan_frontier(where.parent / "run.yaml", LEAVES, overwrite=True).overwrite


def test_all_problems_before_anything_runs(config: Path, tmp_path: Path) -> None:
    config.write_text(config.read_text().replace("seed: 3", "sead: 3"))
    (tmp_path / "out_frontier").write_text("a file")
    vary = {
        "cart.min_leaf": [0, 5],
        "nosuch": [1],
        "m": [1, "x"],
        "variables.wage.method": ["cart", "pmm"],
        "default_method": ["cart", "magic"],
    }
    with pytest.raises(ConfigError) as caught:
        run_grid(config, vary, overrides={"workers": 1})
    problems = "\n".join(caught.value.problems)
    for words in ("'seed'", "--vary nosuch", "output", "m=x,", "min_leaf (0)", "'magic'", "'wage'"):
        assert words in problems
    assert not workshop(tmp_path / "out_frontier").exists()


def test_settings_that_make_the_same_data_are_left_out(config: Path, tmp_path: Path) -> None:
    log: list[str] = []
    vary = {"cart.min_leaf": [5, 40], "forest.n_trees": [5, 9]}
    grid = run_grid(config, vary, overrides={"workers": 1}, show=log.append)
    twins = {f"{name},forest.n_trees=9": f"{name},forest.n_trees=5" for name in NAMES}
    assert [point.name for point in grid.comparison.runs] == list(twins.values())
    assert {path.name for path in grid.directory.iterdir() if path.is_dir()} == {*twins.values()}
    assert log[0].startswith("2 settings, each a whole run")
    for name, twin in twins.items():
        note = f"{name}: left out, since it makes the same data as {twin}: "
        assert any(line.startswith(f"note: {note}") for line in log)
        assert any(line.startswith(note) for line in grid.comparison.notes)
        assert note in (grid.directory / "frontier.html").read_text()
    with pytest.raises(ConfigError, match="same data as forest.n_trees=5"):  # nothing is left
        plan_frontier(config, {"forest.n_trees": [5, 9]}, directory=tmp_path / "other")


def test_settings_of_rare_levels_are_each_read_and_run(config: Path) -> None:
    plan = plan_frontier(config, {"rare.min_count": [2, 60]})
    assert (plan.dropped, len(plan.settings)) == ({}, 2)
    plans, _, _ = plans_of(plan.settings, plan.registry, plan.seed)
    few, many = (sum(c.variable.n_codes for c in plan_of_setting.table.columns if c.is_coded)
                 for _, plan_of_setting in plans.values())  # fmt: skip
    assert few > many


def test_an_interrupted_grid_goes_on(config: Path, tmp_path: Path) -> None:
    where = tmp_path / "grid"
    vary = {"cart.min_leaf": [5, 20, 40]}
    first = interrupted(config, where, vary)
    made = (first / "manifest.json").stat().st_ino
    assert stat.S_IMODE(workshop(where).stat().st_mode) == 0o700
    log: list[str] = []
    grid = run_grid(config, vary, directory=where, overrides={"workers": 2}, show=log.append)
    assert len(grid.comparison.runs) == 3
    assert "1 of them are finished in" in log[1]
    assert "setting 1 of 2: cart.min_leaf=20" in log
    assert (where / NAMES[0] / "manifest.json").stat().st_ino == made  # the same file, moved
    assert not workshop(where).exists()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Breaks(Sample):
    """Has a fault: raises what no model should, with a value of the data in it."""

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedModel:
        raise ZeroDivisionError("income of 4711")


def test_an_internal_error_loses_no_other_setting(config: Path) -> None:
    registry, log = Registry.load(), list[str]()
    registry.register("breaks", Breaks)
    vary = {"variables.income.method": ["breaks", "sample", "cart"]}
    grid = run_grid(config, vary, overrides={"workers": 2}, registry=registry, show=log.append)
    ((name, (why,)),) = grid.failed.items()
    assert name == "variables.income.method=breaks"
    assert "internal error, ZeroDivisionError in " in why
    assert len(grid.comparison.runs) == 2
    assert f"  failed: {why}" in log
    assert not (grid.directory / name).exists()
    assert (grid.directory / "variables.income.method=sample" / "synthetic_1.csv").is_file()
    for file in ("frontier.html", "frontier.json"):
        text = (grid.directory / file).read_text()
        assert "ZeroDivisionError" in text
        assert "income of 4711" not in text + why


def test_a_result_does_not_replace_what_it_is_made_of(config: Path, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}")  # looks like an older result
    with pytest.raises(ConfigError) as caught:
        run_grid(config, LEAVES, directory=tmp_path / "x" / "..", overwrite=True)
    problems = [problem for problem in caught.value.problems if "which is read" in problem]
    assert len(problems) == 2
    assert "run.yaml" in problems[0]
    assert "persons.csv" in problems[1]
    assert (tmp_path / "persons.csv").is_file()


def test_two_processes_do_not_share_a_grid(config: Path, tmp_path: Path) -> None:
    waiting = workshop(tmp_path / "out_frontier")
    waiting.mkdir()
    (waiting / "grid.json").write_text("{}")
    with own_directory(waiting, {}), pytest.raises(OutputError, match="another process is writing"):
        run_grid(config, LEAVES)
    (waiting / "grid.json").write_text("[]")
    with pytest.raises(ConfigError, match="holds no unfinished grid"):
        run_grid(config, LEAVES)


def test_without_links_files_are_copied(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError

    monkeypatch.setattr(os, "link", refuse)
    where = run_grid(config, LEAVES, overrides={"workers": 1}).directory
    checks = where / NAMES[0] / "checks.json"
    assert stat.S_IMODE(checks.stat().st_mode) == 0o600


def test_a_failure_at_the_end_loses_no_run(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(frontier, "write_json", refuse)
        with pytest.raises(OutputError, match="No space left"):
            run_grid(config, LEAVES, overrides={"workers": 1})
    assert not (tmp_path / "out_frontier").exists()
    assert plan_frontier(config, LEAVES).finished == tuple(NAMES)
    assert len(run_grid(config, LEAVES, overrides={"workers": 1}).comparison.runs) == 2


def test_what_was_finished_otherwise_or_damaged_runs_again(config: Path, tmp_path: Path) -> None:
    where = tmp_path / "grid"
    made = interrupted(config, where) / "synthetic_1.csv"

    def finished_names(**overrides: Any) -> tuple[str, ...]:
        return plan_frontier(config, LEAVES, directory=where, overrides=overrides).finished

    assert finished_names() == (NAMES[0],)
    assert finished_names(m=2) == finished_names(seed=9) == ()
    whole = made.read_bytes()
    made.write_bytes(whole[:50])
    assert finished_names() == ()
    run_grid(config, LEAVES, directory=where, overrides={"workers": 1})
    assert (where / NAMES[0] / "synthetic_1.csv").read_bytes() == whole
    again = tmp_path / "again"
    interrupted(config, again)
    persons_frame(100, seed=5).to_csv(tmp_path / "persons.csv", index=False)
    assert plan_frontier(config, LEAVES, directory=again).finished == ()
