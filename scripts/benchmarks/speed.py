"""Seconds and memory of the main job and of the measures: docs/benchmarks.md.

All but `wide` use the ACS excerpt around Boston, ma2019.csv. Memory is that of a process that does
nothing else.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from measuring import (
    ACS,
    KEYS,
    PLAIN,
    TARGET,
    Row,
    Rows,
    acs_config,
    acs_plan,
    alone,
    command_cost,
    job,
    peak_gb,
    rows_of,
    seconds,
    synthesise,
)

from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.data.writing import to_frame
from synthesizer.jobs.run import run
from synthesizer.measures.risk.attribute import attribute
from synthesizer.measures.risk.cap import cap
from synthesizer.measures.risk.identity import identity
from synthesizer.measures.risk.public_inference import inference
from synthesizer.measures.risk.replicated import replicated_uniques
from synthesizer.measures.risk.suda import suda
from synthesizer.measures.risk.tcap import tcap

Measure = Callable[[Table, Table], Any]
Cost = dict[str, float]


@job(repeats=1)
def fit(data: Path, repeats: int = 5) -> Rows:
    """Measure seconds of fit and generation in process."""
    for name, options, numbers, times in (
        ("default", {}, (1, 5), repeats),
        ("plain trees", PLAIN, (1, 5), repeats),
        ("parametric", {"default_method": "parametric"}, (1,), 1),
    ):
        plan = acs_plan(data / ACS, **options)
        for m in numbers:
            taken = seconds(partial(synthesise, plan, plan.table, 1, m), times)
            yield Row(f"{name}, m = {m}", "fit and generate", taken, "s")


@job(repeats=1)
def command(data: Path, repeats: int = 3) -> Rows:
    """Measure the seconds of `synthesizer run` with m = 5, without checks and with them."""
    with tempfile.TemporaryDirectory() as directory:
        config = Path(directory) / "run.yaml"
        variables = acs_config(data / ACS).variables
        kinds = "\n".join(f"  {n}: {{kind: {entry.kind}}}" for n, entry in variables.items())
        path = (data / ACS).absolute()
        config.write_text(f"data: {{path: {path}}}\nseed: 1\nm: 5\nvariables:\n{kinds}\n")
        work = ["synthesizer", "run", str(config), "--overwrite", "--quiet"]
        for words in (["--no-checks"], []):
            taken = seconds(partial(subprocess.run, [*work, *words], check=True), repeats)
            yield Row(" ".join(["run", *words]), "whole command", taken, "s")


# Files with many columns or levels.

COMMANDS = {
    "init": ["init", "data.csv", "-o", "starter.yaml"],
    "plan": ["plan", "run.yaml"],
    "run --no-checks": ["run", "run.yaml", "--no-checks", "--quiet"],
}


def many_columns(n_rows: int, n_columns: int) -> pd.DataFrame:
    """Return numbers, and categories of two to six levels, by turns; ten factors join them."""
    rng = np.random.default_rng(1)
    factors = rng.normal(size=(n_rows, 10)) @ rng.normal(size=(10, n_columns)) / 3
    made: dict[str, object] = {}
    for j, column in enumerate((factors + rng.normal(size=factors.shape)).T):
        k = 2 + j // 2 % 5
        cuts = np.quantile(column, np.arange(1, k) / k)
        is_coded = j % 2
        made[f"v{j}"] = np.char.mod("c%d", np.searchsorted(cuts, column)) if is_coded else column
    return pd.DataFrame(made).round(3)


@job(n_columns=30)
def wide(n_columns: int = 200) -> Rows:
    """Measure CPU seconds and memory of the commands with wide files, one worker."""
    codes = np.random.default_rng(1).integers(500, size=(5_000, n_columns))
    levels = pd.DataFrame(codes).add_prefix("v").map("level {}".format)
    files = {
        f"{n_columns} variables x 500 even levels, 5,000 rows": levels,
        f"{10 * n_columns:,} columns, 1,000 rows": many_columns(1_000, 10 * n_columns),
    }
    for name, frame in files.items():
        with tempfile.TemporaryDirectory() as directory:
            frame.to_csv(Path(directory) / "data.csv", index=False)
            config = "data: {path: data.csv}\nseed: 1\nworkers: 1\noutput: {directory: out}\n"
            (Path(directory) / "run.yaml").write_text(config)
            for label, words in COMMANDS.items():
                taken, memory = alone(command_cost, directory, words)
                yield Row(name, f"{label}, CPU", taken, "s")
                yield Row(name, f"{label}, peak", memory, "GB")


@job(repeats=1, large=20_000)
def risk(data: Path, repeats: int = 5, large: int = 1_000_000) -> Rows:
    """Measure the seconds of each risk measure, and of CAP and SUDA2 with many records."""
    plan = acs_plan(data / ACS)
    table, made = plan.table, synthesise(plan, plan.table, 1)
    frames = [to_frame(one, plan.data.layout) for one in (table, made[0])]
    known: dict[str, Any] = {"keys": KEYS, "target": TARGET}
    public = ("PUMA", "AGEP", "EDU")
    works: dict[str, Callable[[], object]] = {
        "CAP, three scenarios": lambda: cap(table, made, **known),
        "CAP, three scenarios, frames": lambda: cap(*frames, **known),
        "TCAP": lambda: tcap(table, made, **known),
        "identity disclosure": lambda: identity(table, made, keys=KEYS),
        "attribute disclosure": lambda: attribute(table, made, **known),
        "replicated uniques": lambda: replicated_uniques(table, made),
        "inference": lambda: inference(table, made, sensitive="SEX", public=public),
        "SUDA2 and DIS-SUDA, 6 keys": lambda: suda(table, KEYS),
    }
    for name, work in works.items():
        yield Row(name, "7,634 records", seconds(work, repeats), "s")
    yield from rows_of(f"CAP, {large:,} and 5 x {large:,} records", alone(cost_of_cap, large))
    yield from rows_of(f"SUDA2, {large // 10:,} records, 10 keys", alone(cost_of_suda, large // 10))


def skewed(sizes: Sequence[int], n: int, seed: int) -> Table:
    """Return n records of variables with these numbers of levels, skewed like a census."""
    rng, columns = np.random.default_rng(seed), []
    for number, size in enumerate(sizes):
        share = 1 / np.arange(1, size + 1)
        codes = rng.choice(size, size=n, p=share / share.sum()).astype(np.int32)
        levels = tuple(f"{code:03d}" for code in range(size))
        columns.append(
            Column(Variable(name=f"key{number}", kind=Kind.CATEGORICAL, levels=levels), codes)
        )
    return Table(columns)


def cost_of_cap(size: int) -> Cost:
    """Compute the CAP table of an original and five synthetic datasets of this size."""
    original, *made = (skewed((30, 90, 2, 9, 5, 4, 15), size, seed) for seed in range(6))
    before, start = peak_gb(), perf_counter()
    cap(original, made, keys=original.names[:-1], target=original.names[-1])
    taken = perf_counter() - start
    return {"time in s": taken, "peak in GB": peak_gb(), "before it in GB": before}


def cost_of_suda(size: int) -> Cost:
    """Find the special uniques of records with ten keys, all 1,023 sets of them."""
    table, start = skewed((30, 90, 2, 9, 5, 4, 12, 7, 3, 20), size, 0), perf_counter()
    suda(table, table.names)
    return {"time in s": perf_counter() - start, "peak in GB": peak_gb()}


@job(repeats=1)
def checks(data: Path, repeats: int = 5) -> Rows:
    """Compare the seconds of all checks of a default run with those of its synthesis."""
    made, checked = [], []
    for _ in range(repeats + 1):  # the first is not counted
        with tempfile.TemporaryDirectory() as folder:
            scenario = {"keys": list(KEYS), "target": TARGET}
            output = {"directory": str(Path(folder) / "out")}
            config = acs_config(data / ACS, seed=1, checks=scenario, output=output)
            times = run(config).manifest.seconds
        made.append(times["fit"] + times["generate and write"])
        checked.append(times["check"])
    yield Row("default run", "synthesis", float(np.median(made[1:])), "s")
    yield Row("default run", "all checks", float(np.median(checked[1:])), "s")
