"""Files larger than memory, killed runs, more machines: docs/large-files.md.

``place`` is a directory for files of many gigabytes; what is there already is used again. Each size
is a run of the command ``synthesizer run`` from Parquet to Parquet in a process of its own; memory
is that of the whole tree of processes, pages that they share counted once.
"""

from __future__ import annotations

import heapq
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from measuring import ACS, PLAIN, Row, Rows, acs_config, job, rows_of

from synthesizer.data.files import sha256
from synthesizer.data.samples.builtin import SAMPLES

SCRIPTS = Path(__file__).resolve().parents[1]
PIECE = 1_000_000
"""Rows of a file of the large table."""
LOOK = 2.0
"""Seconds between two looks at the memory."""
HERE = Path("large_files")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # of the commands that are run


def measured(command: Sequence[str]) -> dict[str, float]:
    """Run a command; return its seconds and the largest memory of its processes together."""
    start = perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        peaks = [0.0]
        watch = threading.Thread(target=_watch, args=(process, peaks))
        watch.start()
        code = process.wait()
        watch.join()
    if code not in (0, 3):
        raise SystemExit(f"{' '.join(command)}: exit code {code}")
    return {"whole in s": perf_counter() - start, "peak in GB": peaks[0]}


def _watch(process: subprocess.Popen[Any], peaks: list[float]) -> None:
    while process.poll() is None:
        peaks[0] = max(peaks[0], sum(map(_proportional, _tree(process.pid))) / 1e9)
        sleep(LOOK)


def _tree(pid: int) -> list[int]:
    """Return a process and all that it started."""
    pids = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # it has ended meanwhile
            pids += [one for child in task.read_text().split() for one in _tree(int(child))]
    return pids


def _proportional(pid: int) -> int:
    """Return the bytes of a process; a page of n processes counts an n-th."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def command(config: Path, *words: str) -> list[str]:
    """Return the command of a run."""
    program = Path(sys.executable).parent / "synthesizer"
    return [str(program), "run", str(config), "--quiet", *words]


def run_of(case: str, content: dict[str, Any], output: Path, units: int, *words: str) -> Rows:
    """Run a configuration and yield what it took, and the seconds of its phases."""
    shutil.rmtree(output, ignore_errors=True)
    took = measured(command(written(content, output), *words))
    manifest = json.loads((output / "manifest.json").read_text())
    size = sum(f["bytes"] for f in manifest["files"] if f["name"].startswith("synthetic"))
    phases = {f"{name} in s": value for name, value in manifest["seconds"].items()}
    yield from rows_of(case, took | phases)
    yield Row(case, "per unit", 1000 * took["whole in s"] / units, "ms")
    yield Row(case, "written", size / 1e6, "MB")


def written(content: dict[str, Any], output: Path) -> Path:
    """Write a configuration beside its output."""
    config = output.with_suffix(".yaml")
    config.write_text(
        yaml.safe_dump(content | {"output": {"directory": str(output)}}, sort_keys=False)
    )
    return config


@job(sizes=[500])
def workforce(
    folder: Path = HERE, sizes: Sequence[int] = (20_000, 100_000), checks: bool = False
) -> Rows:
    """Synthesise simulated federal employees, all 29 variables of the shipped configuration."""
    folder.mkdir(exist_ok=True, parents=True)
    for persons in sizes:
        source = folder / f"workforce_{persons}"
        if not source.exists():
            script = [sys.executable, str(SCRIPTS / "simulate_federal_workforce.py")]
            words = ["--persons", str(persons), "--out", str(source), "--workers", "2"]
            subprocess.run([*script, *words], check=True, stdout=subprocess.DEVNULL)
        output = folder / f"synthetic_workforce_{persons}"
        content = workforce_config(source / "parts")
        more = () if checks else ("--no-checks",)
        yield from run_of(f"{persons:,} persons", content, output.absolute(), persons, *more)


def workforce_config(source: Path) -> dict[str, Any]:
    """Return the shipped configuration for Parquet files, which lack the order of levels."""
    text = (SCRIPTS / "configs" / "federal_workforce.yaml").read_text(encoding="utf-8")
    config: dict[str, Any] = yaml.safe_load(text)
    config |= {"data": {"path": str(source.absolute())}, "workers": 2}
    for name, declared in SAMPLES["federal_workforce"].declarations.items():
        variable = config["variables"].setdefault(name, {})
        for key in ("kind", "levels", "missing"):
            value = getattr(declared, key)
            if value is not None:
                variable.setdefault(key, value.value if key == "kind" else list(value))
    return config


@job(sizes=[20_000])
def table(
    data: Path, folder: Path = HERE, sizes: Sequence[int] = (1_000_000,), plain: bool = False
) -> Rows:
    """Synthesise rows of the ACS excerpt; `plain` means trees without leaf regression."""
    for n_rows in sizes:
        content, output = table_config(folder, data, n_rows, plain=plain)
        yield from run_of(f"{n_rows:,} rows", content, output, n_rows, "--no-checks")


def table_config(
    folder: Path, data: Path, n_rows: int, *, plain: bool, **more: Any
) -> tuple[dict[str, Any], Path]:
    """Write a large table, drawn with replacement; return the configuration and its output."""
    source = (folder / f"table_{n_rows}").absolute()
    if not source.exists():
        source.mkdir(parents=True)
        arrow = pa.Table.from_pandas(pd.read_csv(data / ACS), preserve_index=False)
        rng = np.random.default_rng(1)
        for n, start in enumerate(range(0, n_rows, PIECE)):
            chosen = rng.integers(arrow.num_rows, size=min(PIECE, n_rows - start))
            pq.write_table(arrow.take(pa.array(chosen)), source / f"{n:04d}.parquet")
    variables = acs_config(data / ACS).variables.items()
    content = {
        "data": {"path": str(source)} | more,
        "variables": {name: {"kind": v.kind.value} for name, v in variables if v.kind},
        "seed": 1,
        "random_key": "none",
        "workers": 2,
    }
    return content | (PLAIN if plain else {}), source.parent / f"synthetic_table_{n_rows}"


@job(number=2, n_rows=20_000)
def kills(data: Path, folder: Path = HERE, number: int = 30, n_rows: int = 1_000_000) -> Rows:
    """Kill a run at random moments and resume it; the bytes must be those of another run."""
    content, output = table_config(folder, data, n_rows, plain=True, fit_rows=5_000)
    config = written(content, output)
    parts = output.parent / f".{output.name}.parts"
    shutil.rmtree(output, ignore_errors=True)
    start = perf_counter()
    subprocess.run(command(config, "--no-checks"), check=True)
    whole, right = perf_counter() - start, sha256(output / "synthetic_1")
    rng, killed, wrong = random.Random(1), dict.fromkeys(("before", "fits", "parts"), 0), 0  # noqa: S311
    while sum(killed.values()) < number:
        shutil.rmtree(output)
        start = perf_counter()
        with subprocess.Popen(command(config, "--no-checks")) as process:
            with suppress(subprocess.TimeoutExpired):
                process.wait(rng.uniform(0.15, 1.0) * whole)
            process.send_signal(signal.SIGKILL)
        if output.exists():  # it was faster than the first one
            whole = min(whole, perf_counter() - start)
            continue
        stage = "fits" if parts.exists() else "before"
        killed["parts" if any(parts.rglob("part-*.parquet")) else stage] += 1
        subprocess.run(command(config, "--no-checks", "--resume"), check=True)
        wrong += sha256(output / "synthetic_1") != right or parts.exists()
    yield from rows_of("killed", killed)
    yield Row("resumed", "not the bytes of an undisturbed run", wrong, holds=not wrong)


@job(parts="large_files/synthetic_table_20000/synthetic_1")
def machines(parts: Path, network: float = 0.05, drawn_by: int = 1) -> Rows:
    """Compute what more workers would do, by list scheduling of measured times of parts.

    ``parts`` is the folder of the parts of a run with ``drawn_by`` workers, each of which wrote one
    after the other. The time of a part is about that since the part ``drawn_by`` before it. A free
    worker gets the next part; each costs ``network`` seconds.
    """
    ends = np.sort([path.stat().st_mtime for path in parts.glob("part-*.parquet")])
    times = (ends[drawn_by:] - ends[:-drawn_by]).tolist()
    for workers in (1, 2, 4, 10, 20, 40):
        free = [0.0] * workers
        for time in times:
            heapq.heappush(free, heapq.heappop(free) + time + network)
        worth = sum(times) / max(free) if times else None
        yield from rows_of(f"{workers} workers", {"time in s": max(free), "are worth": worth})
