"""Every speed of the utility section of docs/benchmarks.md.

Usage::

    python scripts/benchmarks/benchmark_utility.py DATA.csv small large

DATA.csv is the ACS excerpt around Boston (7,634 x 21; see docs/benchmarks.md). ``small`` measures
one synthetic dataset against it, ``large`` 1,000,000 resampled records of each, every measure in a
process of its own. Each prints a Markdown table, what was asked for beside what was found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from benchmark import N_JOBS, planned, synthesise
from measuring import alone, markdown, peak_gb, print_parts, seconds

from synthesizer.data.table import Table
from synthesizer.measures.utility.distributions import distributions, pair_tables
from synthesizer.measures.utility.propensity import pmse
from synthesizer.measures.utility.tables import jensen_shannon, table_utility

LARGE = 1_000_000
Work = Callable[[Table, Table], Any]


def _all_pairs(original: Table, made: Table) -> object:
    return pair_tables(original, made, pairs=list(combinations(original.names, 2)))


def _trees(original: Table, made: Table) -> object:
    return pmse(original, made, model="cart", permutations=10, seed=1, n_jobs=N_JOBS)


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
    rows = (
        (name, f"{seconds(partial(work, original, made)):.3f}", asked, other)
        for name, (work, asked, other) in SMALL.items()
    )
    size = f"{original.n_rows:,} x {len(original)}"
    yield from markdown((size, "seconds", "asked", "R synthpop"), rows)


def large(data: Path) -> Iterator[str]:
    """Seconds and the largest memory for files of a million records, each measure by itself."""
    rows = []
    for number, (name, (_, asked, memory)) in enumerate(BIG.items()):
        one = alone(__file__, data, f"one:{number}")
        used = f"{one['gb']:.1f} ({one['data']:.1f} of it before it)"
        rows.append((name, f"{one['seconds']:.1f}", asked, used, memory))
    yield from markdown((f"{LARGE:,} records", "seconds", "asked", "GB", "asked"), rows)


def measure_one(data: Path, number: int) -> dict[str, float]:
    """Measure one of `BIG` on resampled records; the median of two calls after the first."""
    rng = np.random.default_rng(1)
    original, made = (t.take(rng.integers(t.n_rows, size=LARGE)) for t in _both(data))
    work, before = list(BIG.values())[number][0], peak_gb()
    taken = seconds(partial(work, original, made), 2)
    return {"seconds": taken, "gb": peak_gb(), "data": before}


def _both(data: Path) -> tuple[Table, Table]:
    original, plan = planned(data)
    return original, synthesise(plan, original, 1)[0]


if __name__ == "__main__":
    print_parts(__doc__, {"small": small, "large": large}, {"one": measure_one})
