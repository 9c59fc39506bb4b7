"""Pairs of values that the original lacks, with and without ``support: auto`` (docs/panels.md).

Usage::

    python scripts/benchmarks/benchmark_pairs.py [PERSONS] [SEED ...] [--config CONFIG]

Synthesises PERSONS (2,000) simulated federal employees once for each seed (1), by a configuration
without models unless CONFIG names one, and prints Markdown: for all pairs of variables the rows of
the synthetic file with a combination that no row of the original has, beside the same of a fresh
sample. Values that the original does not have at all are left out; numbers are in 20 groups.
"""

from __future__ import annotations

import argparse
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np

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
Shares = dict[tuple[str, str], float]


def main(persons: int, seeds: list[int], config: Path) -> None:
    """Print means over the seeds."""
    settings: dict[str, Any] = {"as it is": None, "support: auto": "auto"}
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
    print(f"{persons:,} persons, {len(seeds)} seeds, {len(shares['fresh'])} pairs.\n")
    print("| | pairs above fresh + 1 point | largest difference, points | drawing, s of CPU |")
    print("| --- | ---: | ---: | ---: |")
    for name in settings:
        above = {pair: share - shares["fresh"][pair] for pair, share in shares[name].items()}
        over = sum(value > 1 for value in above.values())
        print(f"| {name} | {over} | {max(above.values()):.1f} | {taken[name]:.0f} |")
    print(f"\n| pair | {' | '.join(shares)} |\n| --- |{' ---: |' * len(shares)}")
    plain, own = shares["as it is"], shares["fresh"]
    for pair in sorted(own, key=lambda pair: own[pair] - plain[pair])[:MOST]:
        values = " | ".join(f"{one[pair]:.2f}" for one in shares.values())
        print(f"| {' x '.join(pair)} | {values} |")


def planned(config: Path, persons: int, support: Any) -> Plan:
    """Return the plan of a configuration, or of one without models, beside what it supports."""
    overrides: dict[str, Any] = {"data": {"sample": "federal_workforce", "persons": persons}}
    first = prepare(config, Registry.load(), overrides=overrides, check_directory=False)
    if support is None:
        return first
    listed = first.settings.get("support", ())
    overrides["support"] = [support, *listed]
    return prepare(config, Registry.load(), overrides=overrides, check_directory=False)


def fresh(plan: Plan, persons: int, seed: int) -> PanelTable:
    """Return other persons of the same population."""
    raw = typed(simulate(persons, seed=seed), "parquet", "fresh sample")
    table = encode_like(raw, plan.data.table.schema, new_codes=1_000)
    return panel_of(plan.arrangement.modelled(table))


def lacking(original: PanelTable, other: PanelTable) -> Shares:
    """Return the rows of another panel whose pair of known values the original lacks, percent."""
    names = [name for name in original.names if name in other]
    columns = group_tables(original, other, names, groups=20, quantiles_of="original")
    shares = {}
    for one, two in combinations(columns, 2):
        known = np.zeros((one.size, two.size), dtype=bool)
        known[one.original, two.original] = True
        possible = np.outer(known.any(axis=1), known.any(axis=0))
        new = possible & ~known
        shares[one.name, two.name] = float(100 * new[one.synthetic, two.synthetic].mean())
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
