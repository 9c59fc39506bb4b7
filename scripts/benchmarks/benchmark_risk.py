"""Every figure of the risk section of docs/benchmarks.md.

Usage::

    python scripts/benchmarks/benchmark_risk.py DATA.csv cap suda measures run

DATA.csv is the ACS excerpt around Boston (7,634 x 21; see docs/benchmarks.md). Each part prints a
Markdown table of median seconds and, for the large ones, the largest memory of a process that
does nothing else.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from benchmark import KEYS, TARGET, config_of, planned, synthesise
from measuring import alone, markdown, peak_gb, print_parts, seconds

from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.data.writing import to_frame
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


def large_cap(_: Path, size: int) -> dict[str, float]:
    """Compute the CAP table of an original and five synthetic datasets of this size."""
    original = persons(size, 0)
    made = [persons(size, seed) for seed in range(1, 6)]
    before = peak_gb()
    start = perf_counter()
    cap(original, made, keys=original.names[:-1], target="target")
    return {"seconds": perf_counter() - start, "gb": peak_gb(), "data": before}


def large_suda(_: Path, size: int) -> dict[str, float]:
    """Find the special uniques of records with ten keys."""
    rng = np.random.default_rng(0)
    sizes = (30, 90, 2, 9, 5, 4, 12, 7, 3, 20)
    table = Table([_skewed(f"key{i}", levels, size, rng) for i, levels in enumerate(sizes)])
    start = perf_counter()
    suda(table, table.names)
    return {"seconds": perf_counter() - start, "gb": peak_gb()}


def caps(data: Path) -> Iterator[str]:
    """CAP with three scenarios, both non-match rules and nested m."""
    table, plan = planned(data)
    made = synthesise(plan, table, 1)
    layout = plan.data.layout
    kinds: dict[str, tuple[Any, Any]] = {
        "tables": (table, made),
        "pandas frames": (to_frame(table, layout), to_frame(made[0], layout)),
    }
    rows = []
    for name, pair in kinds.items():
        taken = seconds(partial(cap, *pair, keys=KEYS, target=TARGET))
        rows.append((f"7,634 and 7,634 records, {name}", f"{taken:.3f}", ""))
    large = alone(__file__, data, "large-cap:1000000")
    memory = f"{large['gb']:.1f} ({large['data']:.1f} of it the data)"
    rows.append(("1,000,000 and 5 x 1,000,000 records", f"{large['seconds']:.1f}", memory))
    yield from markdown(("CAP table", "seconds", "GB"), rows)


def special(data: Path) -> Iterator[str]:
    """SUDA2 and DIS-SUDA."""
    table, _ = planned(data)
    large = alone(__file__, data, "large-suda:100000")
    rows = [
        ("7,634 records, 6 keys", f"{seconds(lambda: suda(table, KEYS)):.3f}", ""),
        (
            "100,000 records, 10 keys, all 1,023 sets",
            f"{large['seconds']:.1f}",
            f"{large['gb']:.1f}",
        ),
    ]
    yield from markdown(("SUDA2 and DIS-SUDA", "seconds", "GB"), rows)


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
    rows = ((name, f"{seconds(work):.3f}") for name, work in works.items())
    yield from markdown(("measure", "seconds"), rows)


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
    what = f"synthesis {made:.2f}, all checks {checked:.2f}"
    yield from markdown(
        ("default run", "seconds", "checks relative to synthesis"),
        [(what, f"{made + checked:.2f}", f"{checked / made:.1f}")],
    )


PARTS: dict[str, Callable[[Path], Iterator[str]]] = {
    "cap": caps,
    "suda": special,
    "measures": measures,
    "run": whole_run,
}
INNER = {"large-cap": large_cap, "large-suda": large_suda}


if __name__ == "__main__":
    print_parts(__doc__, PARTS, INNER)
