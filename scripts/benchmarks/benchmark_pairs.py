"""Pairs and triples of values that the original lacks, with ``support: auto`` and without it.

The figures stand in docs/careers.md.

Usage::

    python scripts/benchmarks/benchmark_pairs.py [PERSONS] [SEED ...] [--config CONFIG]

Synthesises PERSONS (2,000) simulated federal employees once for each seed (1), by a configuration
without models unless CONFIG names one, and prints Markdown: for all pairs of variables the rows of
the synthetic file with a combination that no row of the original has, beside the same of a fresh
sample, and for all triples. Values that the original does not have at all are left out; numbers are
in 20 groups.
"""

from __future__ import annotations

import argparse
import math
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np

from synthesizer.config.reading import load_config
from synthesizer.data.encoding import encode_like
from synthesizer.data.panel.panel_table import PanelTable
from synthesizer.data.randomness import Seed
from synthesizer.data.samples.workforce.simulation import simulate
from synthesizer.data.sources import typed
from synthesizer.engine.registry import Registry
from synthesizer.measures.utility.cells import group_tables
from synthesizer.models.histories.history import panel_of
from synthesizer.plan.plan import Plan, prepare

PANEL = """\
version: 1
data: {sample: federal_workforce}
secret: none
m: 1
panel: {person: person, time: year, career: agency}
"""
MOST = 12
"""Pairs that are printed."""
FRESH = 1_000
"""Added to a seed: that of the fresh sample."""
MOST_CELLS = 2**24
"""Combinations of three variables that are counted."""
Shares = dict[tuple[str, ...], float]


def main(persons: int, seeds: list[int], config: Path) -> None:
    """Print means over the seeds."""
    settings: dict[str, Any] = {"without": False, "support: auto": True}
    found: dict[str, list[Shares]] = {name: [] for name in (*settings, "fresh")}
    taken = dict.fromkeys(settings, 0.0)
    for seed in seeds:
        for name, support in settings.items():
            plan = planned(config, persons, support)
            chain = plan.spec.fit(plan.table, Seed(seed), n_jobs=1)
            start = process_time()
            made = panel_of(next(chain.generate(Seed(seed), n_jobs=1)))
            taken[name] += (process_time() - start) / len(seeds)
            found[name].append(lacking(panel_of(plan.table), made))
        found["fresh"].append(lacking(panel_of(plan.table), fresh(plan, persons, FRESH + seed)))
    shares = {name: mean(several) for name, several in found.items()}
    print(f"{persons:,} persons, {len(seeds)} seeds.\n")
    print(
        "| | pairs above fresh + 1 point | largest difference, points | triples above "
        "| largest difference | drawing, s of CPU |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name in settings:
        above = {each: share - shares["fresh"][each] for each, share in shares[name].items()}
        texts = []
        for size in (2, 3):
            values = [value for each, value in above.items() if len(each) == size]
            texts.append(f"{sum(v > 1 for v in values)} of {len(values)} | {max(values):.1f}")
        print(f"| {name} | {' | '.join(texts)} | {taken[name]:.0f} |")
    own = shares["fresh"]
    for size, of in ((2, "without"), (2, "support: auto"), (3, "without"), (3, "support: auto")):
        print(f"\nLargest {of}:\n\n| | {' | '.join(shares)} |\n| --- |{' ---: |' * len(shares)}")
        sets = sorted((own[each] - shares[of][each], each) for each in own if len(each) == size)
        for _, each in sets[:MOST]:
            row = " | ".join(f"{one[each]:.2f}" for one in shares.values())
            print(f"| {' x '.join(each)} | {row} |")


def planned(config: Path, persons: int, finds: bool) -> Plan:
    """Return the plan of a configuration with its lists of supports, and ``auto`` or not."""
    overrides: dict[str, Any] = {"data": {"sample": "federal_workforce", "persons": persons}}
    support = load_config(config).support
    listed = [] if isinstance(support, str) else [each for each in support if each != "auto"]
    overrides["support"] = ["auto", *listed] if finds else listed
    return prepare(config, Registry.load(), overrides=overrides, check_directory=False)


def fresh(plan: Plan, persons: int, seed: int) -> PanelTable:
    """Return other persons of the same population."""
    raw = typed(simulate(persons, seed=seed), "parquet", "fresh sample")
    table = encode_like(raw, plan.data.table.schema, new_codes=1_000)
    return panel_of(plan.arrangement.modelled(table))


def lacking(original: PanelTable, other: PanelTable) -> Shares:
    """Return the rows of another panel that combine known values as no row of the original does.

    In percent, for all pairs and triples. A triple counts whether its pairs are there or not: a
    support of pairs turns rows with a new pair into rows with known pairs, of which some are new.
    """
    names = [name for name in original.names if name in other]
    columns = group_tables(original, other, names, groups=20, quantiles_of="original")
    shares: Shares = {}
    for several in (*combinations(columns, 2), *combinations(columns, 3)):
        sizes = [column.size for column in several]
        if len(several) > 2 and math.prod(sizes) > MOST_CELLS:
            continue
        known = np.zeros(sizes, dtype=bool)
        known[*(column.original for column in several)] = True
        new = ~known
        for axis in range(len(sizes)):
            others = tuple(k for k in range(len(sizes)) if k != axis)
            new &= known.any(axis=others, keepdims=True)
        cells = new[*(column.synthetic for column in several)]
        shares[tuple(column.name for column in several)] = float(100 * cells.mean())
    return shares


def mean(several: list[Shares]) -> Shares:
    """Return means over the seeds."""
    return {pair: float(np.mean([one[pair] for one in several])) for pair in several[0]}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("persons", type=int, nargs="?", default=2_000)
    parser.add_argument("seeds", type=int, nargs="*", default=[1])
    parser.add_argument("--config", type=Path)
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        plain = Path(folder) / "panel.yaml"
        plain.write_text(PANEL)
        main(given.persons, given.seeds, given.config or plain)
