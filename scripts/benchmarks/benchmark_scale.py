"""Every figure of docs/many-machines.md: files larger than memory, killed runs, more machines.

Usage::

    python scripts/benchmarks/benchmark_scale.py workforce DIRECTORY 20000 100000 [--checks]
    python scripts/benchmarks/benchmark_scale.py table DIRECTORY DATA.csv 1000000 [--plain]
    python scripts/benchmarks/benchmark_scale.py kills DIRECTORY DATA.csv --kills 30
    python scripts/benchmarks/benchmark_scale.py machines DATASET --network 0.05 --drawn-by 2

DIRECTORY is a place for files of many gigabytes; what is there already is used again. Each size is
a run of the command ``synthesizer run`` from Parquet to Parquet in a process of its own; memory is
that of the whole tree of processes, pages that they share counted once.
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
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep
from typing import Annotated, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import typer
import yaml
from benchmark import config_of
from measuring import markdown

from synthesizer.data.files import sha256
from synthesizer.data.samples.builtin import SAMPLES

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "scripts" / "configs" / "federal_workforce.yaml"
PIECE = 1_000_000
"""Rows of a file of the large table."""
LOOK = 2.0
"""Seconds between two looks at the memory."""

app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class Measured:
    """What a command took."""

    seconds: float
    gigabytes: float
    """Largest memory of its processes together."""


def measured(command: Sequence[str]) -> Measured:
    """Run a command and look at its memory."""
    start = perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        peaks = [0.0]
        watch = threading.Thread(target=_watch, args=(process, peaks))
        watch.start()
        code = process.wait()
        watch.join()
    if code not in (0, 3):
        sys.exit(f"{' '.join(command)}: exit code {code}")
    return Measured(perf_counter() - start, peaks[0])


def _watch(process: subprocess.Popen[Any], peaks: list[float]) -> None:
    while process.poll() is None:
        peaks[0] = max(peaks[0], sum(map(_proportional, _tree(process.pid))) / 1e9)
        sleep(LOOK)


def _tree(pid: int) -> list[int]:
    """Return a process and all that it started."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [one for child in task.read_text().split() for one in _tree(int(child))]
        except OSError:  # it has ended meanwhile
            continue
    return found


def _proportional(pid: int) -> int:
    """Return the bytes of a process; a page of n processes counts an n-th."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def synthesize(config: Path, *words: str) -> list[str]:
    """Return the command of a run."""
    command = Path(sys.executable).parent / "synthesizer"
    return [str(command), "run", str(config), "--quiet", *words]


def _row(name: str, config: Path, directory: Path, units: int, *words: str) -> tuple[object, ...]:
    """Run a configuration and return a row of a table."""
    shutil.rmtree(directory, ignore_errors=True)
    took = measured(synthesize(config, *words))
    manifest = json.loads((directory / "manifest.json").read_text())
    phases = manifest["seconds"]
    size = sum(f["bytes"] for f in manifest["files"] if f["name"].startswith("synthetic"))
    cells = [took.seconds, *(phases.get(phase, 0.0) for phase in PHASES)]
    whole, *single = (f"{cell:.0f}" for cell in cells)
    a_unit = f"{1000 * took.seconds / units:.3f}"
    return (name, whole, a_unit, *single, f"{took.gigabytes:.1f}", f"{size / 1e6:.0f}")


PHASES = ("read", "fit", "generate and write", "check")
HEADER = ("seconds", "ms a unit", *PHASES, "peak, GB", "MB")


@app.command()
def workforce(
    place: Path, sizes: list[int], checks: Annotated[bool, typer.Option("--checks")] = False
) -> None:
    """Synthesise simulated federal employees, all 29 variables of the shipped configuration."""
    rows = []
    for persons in sizes:
        source = place / f"workforce_{persons}"
        if not source.exists():
            script = str(ROOT / "scripts" / "simulate_federal_workforce.py")
            subprocess.run(
                [sys.executable, script, "--persons", str(persons), "--out", str(source),
                 "--workers", "2"],
                check=True, stdout=subprocess.DEVNULL,
            )  # fmt: skip
        output = place / f"synthetic_workforce_{persons}"
        config = place / f"workforce_{persons}.yaml"
        config.write_text(yaml.safe_dump(_of_workforce(source / "parts", output), sort_keys=False))
        rows.append(_row(f"{persons:,}", config, output, persons, *_checking(checks=checks)))
        print(rows[-1], file=sys.stderr, flush=True)
    _print(("persons", *HEADER), rows)


def _checking(*, checks: bool) -> tuple[str, ...]:
    return () if checks else ("--no-checks",)


def _of_workforce(source: Path, output: Path) -> dict[str, Any]:
    """Return the shipped configuration for Parquet files, which do not say what is ordered."""
    config: dict[str, Any] = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    config |= {"data": {"path": str(source)}, "output": {"directory": str(output)}, "workers": 2}
    for name, declared in SAMPLES["federal_workforce"].declarations.items():
        own = config["variables"].setdefault(name, {})
        if declared.kind is not None:
            own.setdefault("kind", declared.kind.value)
        if declared.levels is not None:
            own.setdefault("levels", list(declared.levels))
        if declared.missing is not None:
            own.setdefault("missing", list(declared.missing))
    return config


@app.command()
def table(
    place: Path,
    data: Path,
    sizes: list[int],
    plain: Annotated[bool, typer.Option("--plain", help="Trees without a tilt.")] = False,
) -> None:
    """Synthesise so many rows, drawn with replacement from a CSV file."""
    rows = []
    for n_rows in sizes:
        config, output = _of_table(place, data, n_rows, plain=plain)
        rows.append(_row(f"{n_rows:,}", config, output, n_rows, "--no-checks"))
        print(rows[-1], file=sys.stderr, flush=True)
    _print(("rows", *HEADER), rows)


def _of_table(
    place: Path, data: Path, n_rows: int, *, plain: bool, **more: Any
) -> tuple[Path, Path]:
    """Write a large table, and the configuration of its run."""
    source, output = place / f"table_{n_rows}", place / f"synthetic_table_{n_rows}"
    if not source.exists():
        source.mkdir(parents=True)
        arrow = pa.Table.from_pandas(pd.read_csv(data), preserve_index=False)
        rng = np.random.default_rng(1)
        for n, start in enumerate(range(0, n_rows, PIECE)):
            chosen = rng.integers(arrow.num_rows, size=min(PIECE, n_rows - start))
            pq.write_table(arrow.take(pa.array(chosen)), source / f"{n:04d}.parquet")
    kinds = {
        name: {"kind": v.kind.value} for name, v in config_of(data).variables.items() if v.kind
    }
    content = {
        "data": {"path": str(source)} | more,
        "output": {"directory": str(output)},
        "variables": kinds,
        "seed": 1,
        "secret": "none",
        "workers": 2,
        "models": {"cart": {"tilt": False}} if plain else {},
    }
    config = place / f"table_{n_rows}.yaml"
    config.write_text(yaml.safe_dump(content, sort_keys=False))
    return config, output


@app.command()
def kills(place: Path, data: Path, number: Annotated[int, typer.Option("--kills")] = 30) -> None:
    """Kill a run at random moments and go on with it; the bytes must be those of another run."""
    config, output = _of_table(place, data, 1_000_000, plain=True, fit_rows=5_000)
    kept = output.parent / f".{output.name}.parts"
    shutil.rmtree(output, ignore_errors=True)
    start = perf_counter()
    subprocess.run(synthesize(config, "--no-checks"), check=True)
    whole, right = perf_counter() - start, sha256(output / "synthetic_1")
    rng, found, wrong = random.Random(1), dict.fromkeys(("before", "fits", "parts"), 0), 0  # noqa: S311
    while sum(found.values()) < number:
        shutil.rmtree(output)
        start = perf_counter()
        with subprocess.Popen(synthesize(config, "--no-checks")) as process:
            with suppress(subprocess.TimeoutExpired):
                process.wait(rng.uniform(0.15, 1.0) * whole)
            process.send_signal(signal.SIGKILL)
        if output.exists():  # it was faster than the first one
            whole = min(whole, perf_counter() - start)
            continue
        found[_stage(kept)] += 1
        subprocess.run(synthesize(config, "--no-checks", "--resume"), check=True)
        wrong += sha256(output / "synthetic_1") != right or kept.exists()
    stages = ", ".join(f"{count} {stage}" for stage, count in found.items())
    print(f"{number} runs killed ({stages}): {wrong} are not that of an undisturbed run")


def _stage(kept: Path) -> str:
    """Say how far a killed run had come."""
    if any(kept.rglob("part-*.parquet")):
        return "parts"
    return "fits" if kept.exists() else "before"


@app.command()
def machines(
    dataset: Path,
    network: Annotated[float, typer.Option(help="Seconds that a task costs.")] = 0.05,
    drawn_by: Annotated[int, typer.Option(help="Workers of the run.")] = 1,
) -> None:
    """Compute what more workers would do, by list scheduling of measured times of parts.

    DATASET holds the parts of a run with W workers, each of which wrote one after the other: the
    time between a part and the W-th before it is about its own. Whoever is free gets the next
    part; each costs the network.
    """
    ends = np.sort([path.stat().st_mtime for path in dataset.glob("part-*.parquet")])
    times = (ends[drawn_by:] - ends[:-drawn_by]).tolist()
    rows = []
    for workers in (1, 2, 4, 10, 20, 40):
        taken = _scheduled([time + network for time in times], workers)
        rows.append((workers, f"{taken:.1f}", f"{sum(times) / taken:.1f}"))
    _print(("workers", "seconds", "workers' worth"), rows)


def _scheduled(times: Sequence[float], workers: int) -> float:
    free = [0.0] * workers
    for time in times:
        heapq.heappush(free, heapq.heappop(free) + time)
    return max(free)


def _print(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    for line in markdown(header, rows):
        print(line)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    app()
