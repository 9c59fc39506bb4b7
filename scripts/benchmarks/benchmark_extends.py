"""How near new periods come that are added to a published synthesis.

Usage::

    python scripts/benchmarks/benchmark_extends.py DATA_DIR [--seeds 5] [--persons 2000]

DATA_DIR holds ``mvad.csv`` and ``actcal.csv``; the workforce is simulated. The periods before the
new ones are synthesised as a whole, which stands for what was published, and then go on. Printed as
a Markdown table, as multiples of the noise floor (bootstraps of the persons), means of the seeds:

- of careers, headcounts, transitions and changes of the new periods, the steps given the state
  before, and the headcounts of the last published period, which the transitions inherit;
- of all variables, pairs of the value before and in a new period: mean ratio, the one of the last
  published period (published pairs), and the variable that is furthest off;
- seconds of the publication and of the extension, in one thread.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import yaml

from synthesizer.config.reading import read_config
from synthesizer.data.panel.arrangement import Frame
from synthesizer.data.panel.panel_table import PanelTable, as_panel
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Column, FloatArray, IntArray
from synthesizer.engine.extending import fit_extension, until
from synthesizer.engine.source import Request
from synthesizer.measures.utility.longitudinal import NewPeriodsCounter
from synthesizer.measures.utility.sequences import career_matrix
from synthesizer.plan.plan import Plan, prepare

CONFIGS = Path(__file__).resolve().parents[1] / "configs"
CASES = (
    ("mvad", 60, (72,)),
    ("mvad", 60, (61,)),
    ("actcal", 9, (12,)),
    ("federal_workforce", 22, (23,)),
    ("federal_workforce", 22, (23, 24)),
)
"""File, published periods, and periods after each extension."""
CLASSES = 20
"""Numbers are compared by so many classes of equal size."""
FLOORS = 10


def planned(name: str, folder: Path, persons: int) -> Plan:
    """Return the plan of a configuration, without its checks."""
    content: dict[str, Any] = yaml.safe_load((CONFIGS / f"{name}.yaml").read_text())
    content |= {"checks": False, "workers": 1}
    if "sample" in content["data"]:
        content["data"]["persons"] = persons
    return prepare(read_config(content, base=folder), check_directory=False)


def steps(panel: PanelTable, first: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield rows of each new period, and of the same persons in the period before it."""
    index = panel.index
    later = np.flatnonzero(~index.is_first & (index.period >= first))
    later = later[index.period[later] - index.period[later - 1] == 1]
    for period in range(first, index.n_periods):
        rows = later[index.period[later] == period]
        yield rows, rows - 1


def codes(column: Column, cuts: FloatArray) -> IntArray:
    """Return values as codes: numbers by classes, missing ones by their codes."""
    if column.is_coded:
        return np.asarray(column.data, dtype=np.int64)
    place = np.searchsorted(cuts, np.nan_to_num(column.data), side="right")
    return np.where(column.is_observed, place, len(cuts) + column.missing_state())


def pair_ratio(name: str, original: PanelTable, drawn: PanelTable, first: int) -> float | None:
    """Return the distance of pairs of a variable's values over its noise floor."""
    rng = np.random.default_rng(1)
    target = original[name]
    cuts = np.empty(0)
    if not target.is_coded:
        seen = target.data[target.is_observed]
        cuts = np.unique(np.quantile(seen, np.linspace(0, 1, CLASSES + 1)[1:-1]))

    def cells(panel: PanelTable) -> list[IntArray]:
        values = codes(panel[name], cuts)
        return [values[before] * 100_000 + values[rows] for rows, before in steps(panel, first)]

    def apart(one: IntArray, other: IntArray) -> float:
        both, where = np.unique(np.concatenate([one, other]), return_inverse=True)
        shares = [
            np.bincount(part, minlength=len(both)) / max(len(part), 1)
            for part in (where[: len(one)], where[len(one) :])
        ]
        return float(np.abs(shares[0] - shares[1]).sum() / 2)

    distance = floor = 0.0
    for one, other in zip(cells(original), cells(drawn), strict=True):
        distance += apart(one, other)
        draws = [rng.choice(one, len(other)) for _ in range(FLOORS)]
        floor += float(np.mean([apart(one, draw) for draw in draws]))
    return distance / floor if floor else None


def last_headcounts(original: PanelTable, drawn: PanelTable, career: str, period: int) -> float:
    """Return the distance of the states of a period over its noise floor."""
    rng = np.random.default_rng(2)
    ours, theirs = (career_matrix(panel, career)[:, period] for panel in (original, drawn))
    size = int(max(ours.max(), theirs.max())) + 1

    def shares(values: IntArray) -> FloatArray:
        return np.bincount(values, minlength=size) / len(values)

    floor = [np.abs(shares(rng.choice(ours, len(theirs))) - shares(ours)).sum() for _ in range(40)]
    return float(np.abs(shares(ours) - shares(theirs)).sum() / np.mean(floor))


def _one(drawn: PanelTable, _: Request) -> Iterator[PanelTable]:
    """Give back the dataset that was published."""
    return iter([drawn])


def measured(plan: Plan, first: int, ends: Sequence[int], number: int) -> dict[str, float]:
    """Publish the first periods, extend them, and return every figure."""
    frame, seed = plan.spec.frame, Seed(number)
    if not isinstance(frame, Frame):
        raise TypeError("needs a panel")
    whole = as_panel(plan.table)
    begin = process_time()
    chain = replace(plan.spec, frame=until(frame, first)).fit(whole.until(first), seed, n_jobs=1)
    drawn = as_panel(next(chain.generate(seed, n_jobs=1)))
    publishing = process_time() - begin
    figures = {}
    last = last_headcounts(whole.until(first), drawn, str(frame.career), first - 1)
    names = [name for name in whole.names if name != frame.time]
    before = [pair_ratio(name, whole.until(first), drawn, first - 1) for name in names]
    at, published = first, process_time()
    for end in ends:
        here = whole.until(end)
        spec = replace(plan.spec, frame=until(frame, end))
        given = partial(_one, drawn)
        source = fit_extension(spec, here, at, given, drawn.n_units, seed, n_jobs=1)
        drawn, at = as_panel(next(source.generate(seed, n_jobs=1))), end
    done = process_time()
    counter = NewPeriodsCounter(here, until(frame, at), first, 3)
    counter.add(drawn)
    for row in counter.result().rows:
        figures[row.name] = row.ratio or 0.0
    ratios = [pair_ratio(name, here, drawn, first) for name in names]
    kept = {n: r for n, r in zip(names, ratios, strict=True) if r is not None}
    figures |= {"last published": last, "variables": float(np.mean(list(kept.values())))}
    figures["published pairs"] = float(np.mean([r for r in before if r is not None]))
    figures |= {f"pair {name}": ratio for name, ratio in kept.items()}
    return figures | {"publish s": publishing, "extend s": done - published}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--persons", type=int, default=2000)
    parser.add_argument("--only", nargs="*", default=[name for name, *_ in CASES])
    asked = parser.parse_args()
    careers = ("last published", "headcounts", "transitions", "changes", "steps")
    shown = (*careers, "published pairs", "variables")
    times = ("publish s", "extend s")
    print("| file | periods |", " | ".join((*shown, "worst variable", *times)), "|")
    print("| --- | --- |", " ---: |" * (len(shown) + 3), sep="")
    for name, first, ends in CASES:
        if name not in asked.only:
            continue
        plan = planned(name, asked.folder.resolve(), asked.persons)
        runs = [measured(plan, first, ends, asked.first_seed + k) for k in range(asked.seeds)]
        means = {key: float(np.mean([run[key] for run in runs if key in run])) for key in runs[0]}
        worst = max((key for key in means if key.startswith("pair ")), key=lambda k: means[k])
        cells = [f"{means[key]:.2f}" for key in shown]
        cells.append(f"{worst.removeprefix('pair ')} {means[worst]:.2f}")
        cells += [f"{means[key]:.1f}" for key in times]
        periods = " + ".join(map(str, np.diff((0, first, *ends))))
        print(f"| {name} | {periods} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
