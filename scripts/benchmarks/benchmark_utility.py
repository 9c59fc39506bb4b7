"""Every speed of the utility section of docs/benchmarks.md.

Usage::

    python scripts/benchmarks/benchmark_utility.py DATA.csv small large

DATA.csv is the ACS excerpt around Boston (7,634 x 21; see docs/benchmarks.md). ``small`` measures
one synthetic dataset against it, ``large`` 1,000,000 resampled records of each, every measure in a
process of its own. Each prints a Markdown table, what was asked for beside what was found.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from benchmark import N_JOBS, planned, seconds, synthesise

from synthesizer.data.table import Table
from synthesizer.measures.utility.distributions import distributions
from synthesizer.measures.utility.estimates import chi_square, jensen_shannon, ratio_of_estimates
from synthesizer.measures.utility.propensity import pmse
from synthesizer.measures.utility.tables import pair_tables, table_utility

LARGE = 1_000_000
Work = Callable[[Table, Table], Any]


def _all_pairs(original: Table, made: Table) -> object:
    return pair_tables(original, made, pairs=list(combinations(original.names, 2)))


def _trees(original: Table, made: Table) -> object:
    rng = np.random.default_rng(1)
    return pmse(original, made, model="cart", permutations=10, rng=rng, n_jobs=N_JOBS)


# What is measured, seconds asked for, seconds of R's synthpop 1.9-3 on such a machine.
SMALL: dict[str, tuple[Work, str, str]] = {
    "two-way tables, all measures": (
        lambda o, s: table_utility(o, [s], ways=[2]), "0.6", "3.2",
    ),
    "one- and two-way tables, all measures": (
        lambda o, s: table_utility(o, [s], ways=[1, 2]), "", "",
    ),
    "three-way tables, all measures": (lambda o, s: table_utility(o, [s], ways=[3]), "", ""),
    "pMSE by trees, 10 permutations": (_trees, "2", "9.0"),
    "pMSE by logit, main effects": (pmse, "0.3", "1.6"),
    "ratio of estimates, one and two ways": (ratio_of_estimates, "", ""),
    "chi-square tests, one way": (chi_square, "", ""),
    "Jensen-Shannon distance of the full table": (jensen_shannon, "", ""),
    "distributions of all variables": (distributions, "", ""),
    "tables of all pairs, original beside synthetic": (_all_pairs, "", ""),
}  # fmt: skip
# What is measured, seconds and GB asked for.
BIG: dict[str, tuple[Work, str, str]] = {
    "two-way tables, all measures": (SMALL["two-way tables, all measures"][0], "40", "4"),
    "pMSE by logit, main effects": (pmse, "", ""),
    "Jensen-Shannon distance of the full table": (jensen_shannon, "", ""),
    "distributions of all variables": (distributions, "", ""),
    "tables of all pairs, original beside synthetic": (_all_pairs, "", ""),
}


def small(data: Path) -> Iterator[str]:
    """Median seconds for one synthetic dataset of the size of the data."""
    original, made = _both(data)
    yield f"| {original.n_rows:,} x {len(original)} | seconds | asked | R synthpop |"
    yield "| --- | --- | --- | --- |"
    for name, (work, asked, other) in SMALL.items():
        taken = seconds(lambda work=work: work(original, made))  # type: ignore[misc]
        yield f"| {name} | {taken:.3f} | {asked} | {other} |"


def large(data: Path) -> Iterator[str]:
    """Seconds and the largest memory for files of a million records, each measure by itself."""
    yield f"| {LARGE:,} records | seconds | asked | GB | asked |"
    yield "| --- | --- | --- | --- | --- |"
    for number, (name, (_, asked, memory)) in enumerate(BIG.items()):
        words = [sys.executable, __file__, str(data), f"one:{number}"]
        done = subprocess.run(words, check=True, capture_output=True, text=True)
        found: dict[str, float] = json.loads(done.stdout)
        taken = f"{found['seconds']:.1f} | {asked} | {found['gb']:.1f} ({found['data']:.1f} of it"
        yield f"| {name} | {taken} before it) | {memory} |"


def one(data: Path, number: int) -> dict[str, float]:
    """Measure one of `BIG` on resampled records; the median of three calls."""
    rng = np.random.default_rng(1)
    tables = (table.take(rng.integers(table.n_rows, size=LARGE)) for table in _both(data))
    original, made = tables
    work = list(BIG.values())[number][0]
    before, taken = _peak_gb(), []
    for _ in range(3):
        start = perf_counter()
        work(original, made)
        taken.append(perf_counter() - start)
    return {"seconds": float(np.median(taken)), "gb": _peak_gb(), "data": before}


def _both(data: Path) -> tuple[Table, Table]:
    original, plan = planned(data)
    return original, synthesise(plan, original, 1)[0]


def _peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


PARTS = {"small": small, "large": large}


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    data = Path(sys.argv[1])
    for part in sys.argv[2:]:
        name, _, number = part.partition(":")
        if name == "one":
            print(json.dumps(one(data, int(number))))
            continue
        if name not in PARTS:
            sys.exit(__doc__)
        for line in PARTS[name](data):
            print(line, flush=True)
        print()


if __name__ == "__main__":
    main()
