"""Every figure of the risk section of docs/benchmarks.md.

Usage::

    python scripts/benchmarks/benchmark_risk.py DATA.csv cap suda measures run

DATA.csv is the ACS excerpt around Boston (7,634 x 21; see docs/benchmarks.md). Each part prints a
Markdown table of median seconds and, for the large ones, the largest memory of a process that
does nothing else.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from benchmark import KEYS, TARGET, config_of, planned, seconds, synthesise

from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.data.writing import to_pandas
from synthesizer.jobs.run import run
from synthesizer.measures.risk import (
    attribute,
    cap,
    identity,
    inference,
    replicated_uniques,
    suda,
    tcap,
)

LARGE = 1_000_000
SIZES = (30, 90, 2, 9, 5, 4)
PUBLIC = ("PUMA", "AGEP", "EDU")


def persons(n: int, seed: int) -> Table:
    """Return n records with six keys and a target with 15 levels, skewed like a census."""
    rng = np.random.default_rng(seed)
    columns = [_skewed(f"key{i}", size, n, rng) for i, size in enumerate(SIZES)]
    return Table([*columns, _skewed("target", 15, n, rng)])


def _skewed(name: str, size: int, n: int, rng: np.random.Generator) -> Column:
    share = 1 / np.arange(1, size + 1)
    codes = rng.choice(size, size=n, p=share / share.sum()).astype(np.int32)
    levels = tuple(str(code) for code in range(size))
    return Column(Variable(name=name, kind=Kind.CATEGORICAL, levels=levels), codes)


def large_cap() -> None:
    """Compute the CAP table of 1 million and 5 x 1 million records; print time and memory."""
    original = persons(LARGE, 0)
    made = [persons(LARGE, seed) for seed in range(1, 6)]
    keys = original.names[:-1]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = perf_counter()
    result = cap(original, made, keys=keys, target="target")
    taken = perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps([taken, memory / 2**20, before / 2**20, len(result.synthetic)]))


def large_suda() -> None:
    """Find the special uniques of 100,000 records with ten keys; print time and memory."""
    rng = np.random.default_rng(0)
    sizes = (30, 90, 2, 9, 5, 4, 12, 7, 3, 20)
    table = Table([_skewed(f"key{i}", size, 100_000, rng) for i, size in enumerate(sizes)])
    start = perf_counter()
    result = suda(table, table.names)
    taken = perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps([taken, memory / 2**20, int(result.unique.sum())]))


def alone(part: str) -> list[float]:
    """Run a part in a process of its own."""
    words = [sys.executable, __file__, "-", part]
    found = subprocess.run(words, check=True, capture_output=True, text=True)
    values: list[float] = json.loads(found.stdout)
    return values


def caps(data: Path) -> Iterator[str]:
    """CAP with three scenarios, both non-match rules and nested m."""
    table, plan = planned(data)
    made = synthesise(plan, table, 1)
    layout = plan.data.layout
    frames = to_pandas(table, layout), to_pandas(made[0], layout)
    yield "| CAP table | seconds | GB |"
    yield "| --- | --- | --- |"
    small = seconds(lambda: cap(table, made, keys=KEYS, target=TARGET))
    yield f"| 7,634 and 7,634 records, tables | {small:.3f} | |"
    small = seconds(lambda: cap(*frames, keys=KEYS, target=TARGET))
    yield f"| 7,634 and 7,634 records, pandas frames | {small:.3f} | |"
    taken, memory, before, _ = alone("large-cap")
    yield (
        f"| 1,000,000 and 5 x 1,000,000 records | {taken:.1f} | {memory:.1f} "
        f"({before:.1f} of it the data) |"
    )


def special(data: Path) -> Iterator[str]:
    """SUDA2 and DIS-SUDA."""
    table, _ = planned(data)
    yield "| SUDA2 and DIS-SUDA | seconds | GB |"
    yield "| --- | --- | --- |"
    yield f"| 7,634 records, 6 keys | {seconds(lambda: suda(table, KEYS)):.3f} | |"
    taken, memory, _ = alone("large-suda")
    yield f"| 100,000 records, 10 keys, all 1,023 sets | {taken:.1f} | {memory:.1f} |"


def measures(data: Path) -> Iterator[str]:
    """One synthetic dataset against the original, tables of codes."""
    table, plan = planned(data)
    made = synthesise(plan, table, 1)
    known: dict[str, Any] = {"keys": KEYS, "target": TARGET}
    works: dict[str, Callable[[], object]] = {
        "cap (three scenarios)": lambda: cap(table, made, **known),
        "tcap": lambda: tcap(table, made, **known),
        "identity": lambda: identity(table, made, keys=KEYS),
        "attribute": lambda: attribute(table, made, **known),
        "replicated_uniques": lambda: replicated_uniques(table, made),
        "inference": lambda: inference(table, made, sensitive="SEX", public=PUBLIC),
    }
    yield "| measure | seconds |"
    yield "| --- | --- |"
    for name, work in works.items():
        yield f"| {name} | {seconds(work):.3f} |"


def whole_run(data: Path) -> Iterator[str]:
    """All checks of a default run against the synthesis itself."""
    found = []
    for _ in range(6):  # the first is not counted
        with tempfile.TemporaryDirectory() as folder:
            checks = {"keys": list(KEYS), "target": TARGET}
            output = {"directory": str(Path(folder) / "out")}
            config = config_of(data, seed=1, checks=checks, output=output)
            found.append(run(config).manifest.seconds)
    times = found[1:]
    made = float(np.median([t["fit"] + t["generate and write"] for t in times]))
    checked = float(np.median([t["check"] for t in times]))
    yield "| default run | seconds | checks relative to synthesis |"
    yield "| --- | --- | --- |"
    yield (
        f"| synthesis {made:.2f}, all checks {checked:.2f} | {made + checked:.2f} | "
        f"{checked / made:.1f} |"
    )


PARTS: dict[str, Callable[[Path], Iterator[str]]] = {
    "cap": caps,
    "suda": special,
    "measures": measures,
    "run": whole_run,
}
INNER = {"large-cap": large_cap, "large-suda": large_suda}


def main() -> None:
    if len(sys.argv) < 3 or not set(sys.argv[2:]) <= {*PARTS, *INNER}:
        sys.exit(__doc__)
    for part in sys.argv[2:]:
        if part in INNER:
            INNER[part]()
            continue
        for line in PARTS[part](Path(sys.argv[1])):
            print(line, flush=True)
        print()


if __name__ == "__main__":
    main()
