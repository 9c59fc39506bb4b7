"""What every benchmark shares: the table of jobs, rows, seconds and memory.

A job is a function in a file of this folder, named by both: `speed.wide`. Its parameters are what
`--set` changes; those of `@job(...)` are the values of `--small`. It yields rows. A row of a trial
states by ``holds`` whether its claim holds; a control holds where the trial finds what was planted.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from synthesizer.config.keys import Config
from synthesizer.config.reading import read_config
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Table
from synthesizer.plan.plan import Plan, prepare

N_JOBS = 2
ACS = "ma2019.csv"
"""The ACS excerpt around Boston, 7,634 persons x 21 or 24 variables."""


class Row(NamedTuple):
    """One figure of a benchmark."""

    case: str
    figure: str
    value: float | int | str | None
    unit: str = ""
    holds: bool | None = None


Rows = Iterator[Row]
UNITS = {"%", "1/1000", "GB", "SE", "s"}


@dataclass(frozen=True)
class Job:
    """A benchmark that can be run by its name."""

    name: str
    run: Callable[..., Rows]
    small: dict[str, Any]


JOBS: dict[str, Job] = {}
"""All jobs of the files that were imported, by name."""


def job(**small: Any) -> Callable[[Callable[..., Rows]], Callable[..., Rows]]:
    """Enter a function in the table of jobs, with the settings of its smallest run."""

    def enter(run: Callable[..., Rows]) -> Callable[..., Rows]:
        name = f"{run.__module__}.{run.__name__}"
        JOBS[name] = Job(name, run, small)
        return run

    return enter


def rows_of(case: str, figures: Mapping[str, Any]) -> Rows:
    """Yield a row for each figure of a case; a name like ``fit in s`` holds the unit."""
    for name, value in figures.items():
        figure, _, unit = name.rpartition(" in ")
        yield Row(case, figure, value, unit) if unit in UNITS else Row(case, name, value)


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """Return the median seconds of a call, after a first call that is not counted."""
    work()
    times = []
    for _ in range(repeats):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return statistics.median(times)


def peak_gb() -> float:
    """Return the largest memory of this process so far, without that of its parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**20


def alone(function: Callable[..., Any], *words: Any) -> Any:
    """Call a function in a new process, so that its memory counts alone."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *words).result()


def command_cost(folder: str, words: Sequence[str]) -> tuple[float, float]:
    """Return CPU seconds and peak GB of a `synthesizer` command; call it by `alone`."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", "from synthesizer.cli.commands import app; app()", *words]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20


# The ACS excerpt, and its synthesis.

NUMERIC = ("AGEP", "NPF", "NOC", "DENSITY", "PINCP", "POVPIP")
KEYS = ("PUMA", "AGEP", "SEX", "RAC1P", "MSP", "OWN_RENT")
TARGET = "EDU"
PLAIN: dict[str, Any] = {"models": {"cart": {"leaf_regression": False}}}


def acs_config(path: Path, **options: Any) -> Config:
    """Return a configuration in which numbers are numeric and all other columns categories."""
    header = path.read_text(encoding="utf-8").partition("\n")[0]
    names = [name.strip('"\r') for name in header.split(",")]
    kinds = {name: {"kind": "numeric" if name in NUMERIC else "categorical"} for name in names}
    return read_config({"data": {"path": str(path)}, "variables": kinds, **options})


def acs_plan(path: Path, **options: Any) -> Plan:
    """Read the data and plan the chain."""
    return prepare(acs_config(path, **options), check_directory=False)


def synthesise(
    plan: Plan, table: Table, seed: int, m: int = 1, n_jobs: int = N_JOBS
) -> list[Table]:
    """Fit the planned chain to a table and return m datasets."""
    chain = plan.spec.fit(table, Seed(seed), n_jobs=n_jobs)
    return list(chain.generate(Seed(seed), m=m, n_jobs=n_jobs))
