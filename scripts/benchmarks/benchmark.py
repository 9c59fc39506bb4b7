"""Every figure of docs/benchmarks.md: speed of the main job.

Usage::

    python scripts/benchmarks/benchmark.py DATA.csv speed scale levels command

DATA.csv is the ACS excerpt around Boston (7,634 x 21; see docs/benchmarks.md). Each part prints a
Markdown table. Parts that measure memory run in a process of their own.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from measuring import alone, markdown, peak_gb, print_parts, seconds

from synthesizer.config.reading import read_config
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.engine.registry import Registry
from synthesizer.plan.plan import Plan, prepare

NUMERIC = ("AGEP", "NPF", "NOC", "DENSITY", "PINCP", "POVPIP")
KEYS = ("PUMA", "AGEP", "SEX", "RAC1P", "MSP", "OWN_RENT")
TARGET = "EDU"
N_JOBS = 2
PLAIN: dict[str, Any] = {"models": {"cart": {"tilt": False}}}


def config_of(data: Path, **options: Any) -> Any:
    """Return the configuration: numbers are numbers, all other columns are categories."""
    header = data.read_text(encoding="utf-8").partition("\n")[0]
    names = [name.strip('"\r') for name in header.split(",")]
    kinds = {name: {"kind": "numeric" if name in NUMERIC else "categorical"} for name in names}
    return read_config({"data": {"path": str(data)}, "variables": kinds, **options})


def planned(data: Path, **options: Any) -> tuple[Table, Plan]:
    """Read the data and plan the chain."""
    plan = prepare(config_of(data, **options), check_directory=False)
    return plan.table, plan


def synthesise(plan: Plan, table: Table, seed: int, m: int = 1) -> list[Table]:
    """Fit and generate."""
    chain = plan.spec.fit(table, Seed(seed), n_jobs=N_JOBS)
    return list(chain.generate(Seed(seed), m=m, n_jobs=N_JOBS))


def speed(data: Path) -> Iterator[str]:
    """Fit and generate in process."""
    rows: list[tuple[object, ...]] = []
    for name, options, numbers, repeats in (
        ("default", {}, (1, 5), 5),
        ("plain trees", PLAIN, (1, 5), 5),
        ("parametric", {"default_method": "parametric"}, (1,), 1),
    ):
        table, plan = planned(data, **options)
        for m in numbers:
            taken = seconds(partial(synthesise, plan, table, 1, m), repeats)
            rows.append((name, m, f"{taken:.2f}"))
    yield from markdown(("setting", "m", "seconds, fit and generate"), rows)


def command(data: Path) -> Iterator[str]:
    """Time the whole command without checks and with them, in a new process."""
    with tempfile.TemporaryDirectory() as directory:
        config = Path(directory) / "run.yaml"
        kinds = "\n".join(
            f"  {name}: {{kind: {entry.kind}}}" for name, entry in config_of(data).variables.items()
        )
        config.write_text(
            f"data: {{path: {data.absolute()}}}\nseed: 1\nm: 5\nvariables:\n{kinds}\n"
        )
        work = ["synthesizer", "run", str(config), "--overwrite", "--quiet"]
        rows = [
            (" ".join(("run", *words)), f"{seconds(partial(called, *work, *words), 3):.1f}")
            for words in (("--no-checks",), ())
        ]
    yield from markdown(("command, m = 5", "seconds"), rows)


def called(*words: str) -> None:
    """Run a command."""
    subprocess.run(words, check=True)


def scale(data: Path) -> Iterator[str]:
    """Time and memory at 250,000, 500,000 and 1,000,000 rows."""
    rows = []
    for size in (250_000, 500_000, 1_000_000):
        one = alone(__file__, data, f"scale_one:{size}")
        rows.append((f"{size:,}", *(f"{one[name]:.1f}" for name in ("fit", "generate", "gb"))))
    yield from markdown(("rows", "fit, s", "generate, s", "peak memory, GB"), rows)


def scale_one(data: Path, rows: int) -> dict[str, float]:
    """Draw a large file from the fitted chain, then synthesise it."""
    table, plan = planned(data)
    chain = plan.spec.fit(table, Seed(1), n_jobs=N_JOBS)
    large = next(chain.generate(Seed(1), rows=rows, n_jobs=N_JOBS))
    start = perf_counter()
    fitted = plan.spec.fit(large, Seed(2), n_jobs=N_JOBS)
    middle = perf_counter()
    next(fitted.generate(Seed(2), n_jobs=N_JOBS))
    return {"fit": middle - start, "generate": perf_counter() - middle, "gb": peak_gb()}


def levels(data: Path) -> Iterator[str]:
    """Time of one variable with 800 levels and predictors with 600 levels."""
    one = alone(__file__, data, "levels_one:1000000")
    columns = ("rows", "levels of the target", "seconds, fit and draw", "peak memory, GB")
    yield from markdown(
        columns, [("1,000,000", 800, *(f"{one[name]:.1f}" for name in ("seconds", "gb")))]
    )


def levels_one(_: Path, rows: int) -> dict[str, float]:
    """Simulate occupations that depend on two agencies-like predictors and a number."""
    rng = np.random.default_rng(1)
    first, second = rng.integers(600, size=rows), rng.integers(600, size=rows)
    number = rng.normal(size=rows)
    target = (first * 4 // 3 + rng.geometric(0.05, size=rows) + (number > 0) * 7) % 800
    table = Table(
        [
            _coded("first", first, 600),
            _coded("second", second, 600),
            Column(Variable(name="number", kind=Kind.NUMERIC), number),
        ]
    )
    model = Registry.load().build("cart")
    start = perf_counter()
    fitted = model.fit(table, _coded("target", target, 800), rng=rng)
    fitted.sample(table, rng=rng)
    return {"seconds": perf_counter() - start, "gb": peak_gb()}


def _coded(name: str, codes: np.ndarray[Any, Any], size: int) -> Column:
    labels = tuple(f"{code:03d}" for code in range(size))
    return Column(Variable(name=name, kind=Kind.CATEGORICAL, levels=labels), codes.astype(np.int32))


PARTS = {
    "speed": speed,
    "command": command,
    "scale": scale,
    "levels": levels,
}
SINGLE = {"scale_one": scale_one, "levels_one": levels_one}


if __name__ == "__main__":
    print_parts(__doc__, PARTS, SINGLE)
