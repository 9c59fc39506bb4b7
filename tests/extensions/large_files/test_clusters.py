"""Parts that the workers of a Dask cluster draw: the same bytes, whichever worker dies."""

import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer

from synthesizer.config.reading import read_config
from synthesizer.data.errors import ConfigError
from synthesizer.engine.registry import Registry
from synthesizer.engine.saved import save_model
from synthesizer.extensions.large_files import dataset_parts as parts
from synthesizer.jobs.run import fit, run
from synthesizer.measures.settings import ALL_OFF
from tests.end_to_end.commands import hashes
from tests.end_to_end.test_plugin import EXAMPLE, MODULE, command, searched
from tests.end_to_end.test_plugin import folder as folder_of_plugin

distributed = pytest.importorskip("distributed")
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(1)
    path = tmp_path_factory.mktemp("source") / "rows.parquet"
    pq.write_table(pa.table({name: rng.integers(0, 9, 2_000) for name in "abc"}), path)
    return path


@pytest.fixture(scope="module")
def local() -> Iterator[Any]:
    """A scheduler and two workers, each a process."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        yield cluster


def _config(source: Path, output: Path, workers: Any) -> Any:
    return read_config(
        {
            "data": {"path": str(source), "fit_rows": 1_000},
            "output": {"directory": str(output), "report": False, "codebook": False},
            "seed": 3,
            "rows": 1_000_000,
            "workers": workers,
            "default_method": "sample",
            "checks": dict(ALL_OFF),
        }
    )


def _bytes(path: Path) -> dict[str, bytes]:
    return {part.name: part.read_bytes() for part in (path / "synthetic_1").iterdir()}


def test_a_cluster_gives_the_bytes_of_one_process_even_where_a_worker_dies(
    source: Path, tmp_path: Path, local: Any
) -> None:
    run(_config(source, tmp_path / "one", 1))
    killed = []

    def kill() -> None:
        """Kill a worker when the first part is there, and the one that replaces it."""
        directory = parts.kept_directory(tmp_path / "many")
        while not any(directory.rglob("part-*.parquet")):
            time.sleep(0.01)
        victim = next(iter(local.workers.values())).pid
        killed.append((victim, len(list(directory.rglob("part-*.parquet")))))
        os.kill(victim, signal.SIGKILL)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    run(_config(source, tmp_path / "many", {"dask": local.scheduler_address}))
    thread.join()
    assert len(_bytes(tmp_path / "one")) == 4
    assert killed[0][1] < 4
    assert _bytes(tmp_path / "many") == _bytes(tmp_path / "one")


def test_a_cluster_without_workers_is_refused(source: Path, tmp_path: Path) -> None:
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0", processes=False) as empty,
        pytest.raises(ConfigError, match="has no workers; start some"),
    ):
        run(_config(source, tmp_path / "out", {"dask": empty.scheduler_address}))


def test_datasets_of_a_saved_model_are_drawn_by_a_cluster_from_its_path(
    source: Path, tmp_path: Path, local: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    config = _config(source, tmp_path / "out", 1).model_copy(update={"rows": None})
    save_model(tmp_path / "model", fit(config), Registry.load())
    script = runpy.run_path(str(ROOT / "scripts" / "generate_parallel.py"))["main"]
    script(tmp_path / "model", tmp_path / "here", m=3, backend="sequential", workers=1)
    address = local.scheduler_address
    script(tmp_path / "model", tmp_path / "there", m=3, backend="dask", scheduler=address)
    names = [f"synthetic_{d}.parquet" for d in (1, 2, 3)]
    datasets = [[(tmp_path / d / n).read_bytes() for n in names] for d in ("here", "there")]
    assert datasets[0] == datasets[1]
    assert len(set(datasets[0])) == 3
    with pytest.raises(typer.Exit):
        script(tmp_path / "model", tmp_path / "no", m=3, backend="dask")
    assert "(--scheduler)" in capsys.readouterr().err
    assert not (tmp_path / "no").exists()


plugin = folder_of_plugin


def test_worker_processes_know_plugins(plugin: Path) -> None:
    command(0, "run", "run.yaml", "--set", f"plugins=[{MODULE}]", "-o", "run")
    command(0, "fit", "run.yaml", "--set", f"plugins=[{MODULE}]", "-o", "model")
    words = ["model", "loky", "-m", "2", "--backend", "loky", "--workers", "2", "--plugin", MODULE]
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "generate_parallel.py"), *words],
        env=os.environ | {"PYTHONPATH": searched(EXAMPLE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert hashes(plugin / "loky") == hashes(plugin / "run")
