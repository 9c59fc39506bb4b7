"""What stands against a run in parts, and what it takes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthesizer.data.errors import ConfigError
from synthesizer.extensions.large_files import dask_cluster, planned_parts
from synthesizer.extensions.large_files.planned_parts import refuse_too_large
from synthesizer.plan import forecast as ahead
from synthesizer.plan.forecast import forecast
from synthesizer.plan.plan import prepare
from tests.plan.test_forecast import planned


def test_a_run_in_parts_that_cannot_fit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    pd.DataFrame({name: rng.integers(0, 9, 4_000) for name in "abc"}).to_parquet(
        tmp_path / "rows.parquet"
    )
    data = {"path": str(tmp_path / "rows.parquet"), "fit_rows": 1_000}
    output = {"directory": str(tmp_path / "new" / "out")}
    whole = (tmp_path / "rows.parquet").stat().st_size
    plan = planned(tmp_path, data=data, output=output, rows=40_000_000, m=3)
    expected = forecast(plan, measured=False)
    assert expected is not None
    assert expected.disk == pytest.approx(3 * whole * 10_000, rel=0.001)
    # parts bound the memory: a hundred times the rows take no more of it
    fewer = forecast(replace(plan, rows=400_000), measured=False)
    assert fewer is not None
    assert fewer.memory == pytest.approx(expected.memory, rel=0.01)
    monkeypatch.setattr(planned_parts, "free_space", lambda _: expected.disk - 1)
    monkeypatch.setattr(ahead, "free_memory", lambda: 10_000_000)
    monkeypatch.setattr(ahead, "used_memory", lambda: 0)
    with pytest.raises(ConfigError) as caught:
        refuse_too_large(plan)
    memory, disk = caught.value.problems
    assert "use fewer workers (1 now), fewer rows for the models (data.fit_rows)" in memory
    assert "output.directory: the datasets need about" in disk
    monkeypatch.setattr(planned_parts, "free_space", lambda _: expected.disk)
    monkeypatch.setattr(ahead, "free_memory", lambda: None)  # if it is unknown, the run is tried
    refuse_too_large(plan)
    monkeypatch.setattr(planned_parts, "free_space", lambda _: expected.disk - 10)
    refuse_too_large(plan, done=10)


def problems_of(config: dict[str, Any]) -> dict[str, str]:
    """Return the problems of a configuration, by the key that each begins with."""
    with pytest.raises(ConfigError) as caught:
        prepare({"random_key": "none", "seed": 1} | config, check_directory=False)
    return {problem.partition(":")[0]: problem for problem in caught.value.problems}


def test_households_and_uniques_need_the_whole_source(tmp_path: Path) -> None:
    pytest.importorskip("synthesizer.extensions.households")
    from tests.extensions.households.household_file import HOUSEHOLD, household_frame

    household_frame(900).to_parquet(tmp_path / "homes.parquet", index=False)
    data = {"path": str(tmp_path / "homes.parquet"), "fit_rows": 1_000}
    problems = problems_of({"data": data, "household": HOUSEHOLD, "after": {"uniques": "drop"}})
    assert "is not read whole, so datasets are drawn in parts" in problems["household"]
    assert "after.uniques" in problems


def test_a_silent_scheduler_and_a_source_without_parts_are_refused_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_cluster, "SECONDS_TO_CONNECT", 0.1)
    with pytest.raises(ConfigError) as caught:
        planned(tmp_path, workers={"dask": "tcp://127.0.0.1:8786"}, output={"resume": True})
    answer, source, resumed = caught.value.problems
    assert answer.startswith("workers.dask: no Dask scheduler answers at tcp://127.0.0.1:8786;")
    assert source.startswith("workers.dask: parts of datasets are drawn from a Parquet source only")
    assert "such a run stores nothing" in resumed
