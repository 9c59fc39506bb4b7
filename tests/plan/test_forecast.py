"""What a run will take: the arithmetic, with a clock of the test."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthesizer.config.reading import read_config
from synthesizer.data.panel.arrangement import BLOCK_PERSONS
from synthesizer.data.workers import Silent
from synthesizer.engine.source import Source
from synthesizer.plan import forecast as ahead
from synthesizer.plan.extended import Fitting, Planned
from synthesizer.plan.forecast import Forecast, forecast, print_forecast, work
from synthesizer.plan.plan import Plan, prepare
from tests.plan.sources import careers

N = 300


def planned(folder: Path, **options: Any) -> Plan:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(N, 8)).round(2), columns=list("abcdefgh"))
    frame["sex"] = rng.choice(["f", "m"], N)
    frame["region"] = rng.choice(["n", "e", "s"], N)
    frame.to_csv(folder / "data.csv", index=False)
    config = {"data": {"path": str(folder / "data.csv")}, "checks": False, "workers": 1}
    return prepare(read_config(config | options), check_directory=False)


def ticking() -> Any:
    """Return a clock on which a second passes between any two looks."""
    return map(float, count(5_000)).__next__


def test_fits_and_draws_are_scaled_by_their_work(tmp_path: Path) -> None:
    plan = planned(tmp_path, m=4, rows=2 * N)
    steps = {step.variable: step for step in plan.spec.steps}
    works = {name: work(step, plan.table[name]) for name, step in steps.items()}
    # numbers have most of the work; of the seven that have predictors, and the first, three are
    # timed, a second each; then the time is up
    numbers = sorted("bcdefgh", key=works.__getitem__)
    timed = [numbers[i] for i in (3, 1, 5)]
    times = forecast(plan, spent=100.0, clock=ticking())
    assert times is not None
    fits = 3 / sum(works[name] for name in timed) * sum(works.values())
    cells = N * sum(1 + len(steps[name].predictors) for name in timed)
    draws = 3 / cells * 2 * N * 4 * sum(1 + len(step.predictors) for step in steps.values())
    assert times.parallel == pytest.approx(fits + draws, rel=0.02)
    assert 100 < times.alone < 101  # reading and a little, however old the process is
    assert times.workers == 1


def test_work_grows_with_rows_predictors_and_outputs_and_the_checks_add_to_it(
    tmp_path: Path,
) -> None:
    plan = planned(tmp_path, keep=["a"], m=2)
    by_name = {step.variable: step for step in plan.spec.steps}
    few, many = (work(by_name[name], plan.table[name]) for name in ("d", "g"))
    assert many / few == pytest.approx(len(by_name["g"].predictors) / len(by_name["d"].predictors))
    assert work(by_name["a"], plan.table["a"]) == 0
    region = plan.table["region"]
    step = by_name["region"]
    assert 2 < work(step, region, 2 * N) / work(step, region, N) < 2.5
    assert work(step, region, 2_000_000) < 4 * work(step, region, 200_000)  # max_fit_rows
    plain = forecast(plan, clock=lambda: 1.0, measured=False)
    checked = forecast(
        planned(tmp_path, keep=["a"], m=2, checks=True), clock=lambda: 1.0, measured=False
    )
    assert plain is not None
    assert checked is not None
    assert checked.parallel == plain.parallel
    assert checked.alone > plain.alone + plain.parallel / 2
    proper = forecast(planned(tmp_path, keep=["a"], m=2, proper=True), measured=False)
    assert proper is not None
    assert plain.parallel < proper.parallel < 2 * plain.parallel
    assert proper.memory > 0


def test_a_run_says_it_at_its_start_if_it_is_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Heard(Silent):
        def __init__(self) -> None:
            self.lines: list[str] = []

        def say(self, text: str) -> None:
            self.lines.append(text)

    heard, plan = Heard(), planned(tmp_path)
    monkeypatch.setattr(ahead, "free_memory", lambda: 10**13)
    print_forecast(plan, heard, 0.0)
    assert heard.lines == []
    monkeypatch.setattr(ahead, "MIN_ANNOUNCED_SECONDS", 0.0)
    print_forecast(plan, heard, 0.0)
    assert [line.partition(":")[0] for line in heard.lines] == ["forecast"]
    short = Forecast(parallel=1, alone=1, workers=1, memory=10**15, free=10**9)
    assert short.is_long
    assert [*short.lines][1].startswith("forecast: only 1.0 GB of memory is free; use fewer")


class Another(Planned):
    """What makes datasets in place of the chain."""

    def source(self, fitting: Fitting) -> Source:
        raise NotImplementedError


def test_of_a_panel_the_whole_chain_is_timed_and_of_an_evolution_nothing(tmp_path: Path) -> None:
    careers(60)[["person", "year", "state"]].to_csv(tmp_path / "panel.csv", index=False)
    config: dict[str, Any] = {
        "data": {"path": str(tmp_path / "panel.csv")},
        "panel": {"person": "person", "time": "year"},
        "checks": False,
    }
    plan = prepare(read_config(config), check_directory=False)
    times = forecast(plan, clock=ticking())
    assert times is not None
    # twenty persons take as long as all 60 with this clock: a second, whatever their number
    assert times.parallel == pytest.approx(2, rel=0.01)
    large = forecast(replace(plan, rows=3 * 60 * BLOCK_PERSONS), clock=ticking())
    assert large is not None
    assert large.parallel == pytest.approx(1 + 60 * 3, rel=0.2)
    assert forecast(replace(plan, extended={"another": Another()})) is None
