"""Wide files: many variables of many levels, and many columns; seconds of CPU and memory.

Usage::

    python scripts/benchmarks/benchmark_wide.py [NAME ...]

Each file is made, and every command is called with it in a process of its own, with one worker.
All names (see `FILES`) when none is given.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from measuring import alone, markdown

COMMANDS: Mapping[str, list[str]] = {
    "init": ["init", "data.csv", "-o", "starter.yaml"],
    "validate": ["validate", "run.yaml"],
    "plan": ["plan", "run.yaml"],
    "run --no-checks": ["run", "run.yaml", "--no-checks", "--quiet"],
}


def levels(
    shape: str, n_columns: int = 200, n_levels: int = 500, n_rows: int = 5_000
) -> pd.DataFrame:
    """Return categories: independent and even, independent and skewed (Zipf), or dependent.

    Dependent: ranks of a random walk over the columns, cut into levels whose order means nothing.
    """
    rng = np.random.default_rng(1)
    size = (n_rows, n_columns)
    if shape == "dependent":
        walk = rng.normal(0, 0.05, size=size).cumsum(axis=1) + rng.normal(size=(n_rows, 1))
        ranks = walk.argsort(axis=0).argsort(axis=0) * n_levels // n_rows
        codes = np.column_stack([rng.permutation(n_levels)[column] for column in ranks.T])
    else:
        share = np.ones(n_levels) if shape == "even" else 1.0 / np.arange(1, n_levels + 1)
        codes = rng.choice(n_levels, size=size, p=share / share.sum())
    labels = np.array([f"level {i}" for i in range(n_levels)])
    return pd.DataFrame(labels[codes], columns=[f"v{j}" for j in range(n_columns)])


def columns(n_columns: int = 2_000, n_rows: int = 1_000) -> pd.DataFrame:
    """Return numbers, and categories of two to six levels, by turns; ten factors join them."""
    rng = np.random.default_rng(1)
    factors = rng.normal(size=(n_rows, 10)) @ rng.normal(size=(10, n_columns)) / 3
    values = factors + rng.normal(size=(n_rows, n_columns))
    made: dict[str, object] = {}
    for j, column in enumerate(values.T):
        if j % 2:
            k = 2 + j // 2 % 5
            cuts = np.quantile(column, np.arange(1, k) / k)
            made[f"v{j}"] = [f"c{code}" for code in np.searchsorted(cuts, column)]
        else:
            made[f"v{j}"] = column.round(3)
    return pd.DataFrame(made)


FILES: Mapping[str, Callable[[], pd.DataFrame]] = {
    "200 variables x 500 even levels, 5,000 rows": partial(levels, "even"),
    "200 variables x 500 skewed levels, 5,000 rows": partial(levels, "skewed"),
    "200 variables x 500 dependent levels, 5,000 rows": partial(levels, "dependent"),
    "2,000 columns, 1,000 rows": columns,
}


def measured(name: str) -> Iterator[tuple[object, ...]]:
    """Yield seconds of CPU and memory of every command with a file."""
    with tempfile.TemporaryDirectory() as directory:
        FILES[name]().to_csv(Path(directory) / "data.csv", index=False)
        config = "data: {path: data.csv}\nseed: 1\nworkers: 1\noutput: {directory: out}\n"
        (Path(directory) / "run.yaml").write_text(config)
        for command, words in COMMANDS.items():
            used = alone(__file__, "--call", directory, *words)
            yield name, command, f"{used[0]:.0f}", f"{used[1]:.2f}"


def called(directory: str, words: list[str]) -> tuple[float, float]:
    """Run one command; return its seconds of CPU and its largest memory, GB."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", "from synthesizer.cli.commands import app; app()", *words]
    subprocess.run(command, cwd=directory, env=environment, check=True, capture_output=True)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20


if __name__ == "__main__":
    if sys.argv[1:2] == ["--call"]:
        print(list(called(sys.argv[2], sys.argv[3:])))
    else:
        rows = (row for name in sys.argv[1:] or FILES for row in measured(name))
        for line in markdown(("file", "command", "CPU seconds", "peak memory, GB"), rows):
            print(line, flush=True)
