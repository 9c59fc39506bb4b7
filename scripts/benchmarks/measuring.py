"""What every benchmark shares: the table of jobs, rows, seconds and memory.

A job is a function in a file of this folder, named by both: `speed.wide`. Its parameters are what
`--set` changes; those of `@job(...)` are the values of `--small`. It yields rows. A row of a trial
states by ``holds`` whether its claim holds; a control holds where the trial finds what was planted.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from synthesizer.config.keys import Config
from synthesizer.config.reading import read_config
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Table
from synthesizer.plan.plan import Plan, prepare

N_JOBS = 2
PLAIN: dict[str, Any] = {"models": {"cart": {"leaf_regression": False}}}
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
UNITS = {"%", "1/1000", "GB", "SE", "min", "s", "us"}


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


def peak_gb() -> float:
    """Return the largest memory of this process so far, without that of its parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**20


def alone(function: Callable[..., Any], *words: Any) -> Any:
    """Call a function in a new process, so that its memory counts alone."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *words).result()


# Programs in processes of their own.

CPU_LIMIT, MEMORY_LIMIT = 1_200, 16
"""Seconds of CPU and GB after which a program is stopped."""
SPENT = """
from time import process_time

def spent(since):
    peak = next(line for line in open("/proc/self/status") if "VmHWM" in line).split()[1]
    print(process_time() - since, peak)
"""
COMMAND = """
import atexit
atexit.register(spent, 0.0)
from synthesizer.cli.commands import app
app()
"""
PEER = """
import sys, warnings
import pandas as pd
warnings.simplefilter("ignore")
frame, seed = pd.read_csv(sys.argv[1]), int(sys.argv[3])

def work(frame):
    {}

work(frame.head(500))
begin = process_time()
made = work(frame)
spent(begin)
made.to_csv(sys.argv[2], index=False)
"""
"""It works with some rows first, so that no library is loaded while the clock runs."""
R_PEER = """
a <- commandArgs(TRUE); library(synthpop)
d <- read.csv(a[1], stringsAsFactors = TRUE, check.names = FALSE)
work <- function(d) syn(d, seed = as.integer(a[3]), print.flag = FALSE, maxfaclevels = 500)
s <- work(head(d, 500)); begin <- sum(proc.time()[1:2]); s <- work(d)
peak <- grep("VmHWM", readLines("/proc/self/status"), value = TRUE)
cat("\\n", sum(proc.time()[1:2]) - begin, gsub("[^0-9]", "", peak), "\\n")
write.csv(s$syn, a[2], row.names = FALSE, na = "")
"""


def _in_python(words: str, python: str = sys.executable) -> list[str]:
    return [python, "-c", SPENT + PEER.format(words)]


SYNTHESIZER = (
    "from synthesizer import Synthesizer; "
    "return Synthesizer(seed=seed, workers=1, random_key='none'{}).fit(frame).generate()[0]"
)
SDV = (
    "from sdv import metadata, single_table; data = {{'data': frame}}; "
    "model = single_table.{}(metadata.Metadata.detect_from_dataframes(data)); "
    "model.fit(data); return model.sample(len(frame))['data']"
)
SDV_PYTHON = os.environ.get("SDV_PYTHON", sys.executable)
PROGRAMS = {
    "synthesizer, plain trees": _in_python(SYNTHESIZER.format(f", models={PLAIN['models']}")),
    "synthesizer": _in_python(SYNTHESIZER.format("")),
    "synthpop-py": _in_python(
        "from synthpop import Synthesiser; model = Synthesiser(random_seed=seed); "
        "model.fit(frame); return model.generate()"
    ),
    "R synthpop": ["Rscript", "-e", R_PEER],
    "SDV Gaussian copula": _in_python(SDV.format("GaussianCopulaSynthesizer"), SDV_PYTHON),
    "SDV CTGAN": _in_python(SDV.format("CTGANSynthesizer"), SDV_PYTHON),
}
"""Commands that get the original, the result and a seed; R_LIBS and PYTHONPATH name libraries."""


def program_cost(command: Sequence[str], folder: str | Path = ".") -> dict[str, Any]:
    """Return the whole seconds of CPU and peak GB that a program prints last, or why not."""
    limits = f'ulimit -S -t {CPU_LIMIT}; ulimit -d {MEMORY_LIMIT * 2**20}; exec "$@"'
    done = subprocess.run(
        ["sh", "-c", limits, "sh", *command],
        cwd=folder, env=os.environ | {"OMP_NUM_THREADS": "1", "LOKY_MAX_CPU_COUNT": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode in (0, 3):
        taken, peak = map(float, done.stdout.split()[-2:])
        return {"whole in s": taken, "peak in GB": peak / 2**20}
    if done.returncode == -signal.SIGXCPU:
        return {"whole in s": f"over {CPU_LIMIT}"}
    reason = done.stderr.strip().rpartition("\n")[2]
    is_absent = done.returncode == 127 or "No module named" in reason
    is_absent |= "there is no package" in done.stderr
    return {"whole in s": "not installed" if is_absent else f"failed: {reason}"}


def command_cost(folder: str | Path, *words: str) -> dict[str, Any]:
    """Return CPU seconds and peak GB of a `synthesizer` command in a folder."""
    return program_cost([sys.executable, "-c", SPENT + COMMAND, *words], folder)


# The ACS excerpt, and its synthesis.

NUMERIC = ("AGEP", "NPF", "NOC", "DENSITY", "PINCP", "POVPIP")
KEYS = ("PUMA", "AGEP", "SEX", "RAC1P", "MSP", "OWN_RENT")
TARGET = "EDU"


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
