"""Every figure of docs/benchmarks.md: speed, utility and risk of the main job.

Usage::

    python scripts/benchmarks/benchmark.py DATA.csv speed utility risk scale levels command

DATA.csv is the ACS excerpt around Boston (7,634 x 21; see docs/benchmarks.md). Each part prints a
Markdown table. Parts that measure memory run in a process of their own.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from measuring import alone, markdown, peak_gb, print_parts, seconds

from synthesizer.config.reading import read_config
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.engine.registry import Registry
from synthesizer.measures.risk.attribute import attribute
from synthesizer.measures.risk.differential import differential_confidentiality
from synthesizer.measures.utility.propensity import pmse
from synthesizer.measures.utility.tables import table_utility
from synthesizer.plan.plan import Plan, prepare

NUMERIC = ("AGEP", "NPF", "NOC", "DENSITY", "PINCP", "POVPIP")
KEYS = ("PUMA", "AGEP", "SEX", "RAC1P", "MSP", "OWN_RENT")
TARGET = "EDU"
N_JOBS = 2
LIGHT: dict[str, Any] = {"models": {"cart": {"min_leaf": 5}}}
# what R's synthpop 1.9-3 needs and reaches on the same file, on a machine of two cores
SYNTHPOP = "| R synthpop 1.9-3, cart | 5 | 1.80 | 7.4 | 0.268, 0.219 | 0.049 | | 9.4 |"


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
        ("min_leaf 5", LIGHT, (1, 5), 5),
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


def utility(data: Path) -> Iterator[str]:
    """Two-way S_pMSE and logit S_pMSE over seeds 1 to 10."""
    worst: dict[str, float] = {}
    rows: list[tuple[object, ...]] = []
    for name, options in (("default", {}), ("min_leaf 5", LIGHT)):
        table, plan = planned(data, **options)
        pairs, logits, discos = [], [], []
        for seed in range(1, 11):
            made = synthesise(plan, table, seed)
            pairs.append(table_utility(table, made, ways=[2]).mean)
            logits.append(pmse(table, made[0]).mean.s_pmse or float("nan"))
            discos.append(disco(table, made[0]))
        means = [float(frame["S_pMSE"].mean()) for frame in pairs]
        tops = [float(frame["S_pMSE"].max()) for frame in pairs]
        if options:
            tops_of_pairs = pd.concat(pairs).groupby("variables")["S_pMSE"].max()
            worst = {str(pair): float(value) for pair, value in tops_of_pairs.items()}
        rows.append(
            (
                name,
                f"{np.mean(means):.2f}",
                f"{min(means):.2f} to {max(means):.2f}",
                f"{min(tops):.1f} to {max(tops):.1f}",
                f"{np.mean(logits):.2f}",
                f"{np.mean(discos):.1f}",
            )
        )
    rng = np.random.default_rng(1)
    boots = [_bootstrap(table, rng) for _ in range(5)]
    spread = f"{min(boots):.2f} to {max(boots):.2f}"
    rows.append(("bootstrap of the data", f"{np.mean(boots):.2f}", spread, "", "", ""))
    columns = "setting, mean two-way S_pMSE, lowest to highest seed, worst pair of each seed"
    yield from markdown((*columns.split(", "), "logit S_pMSE", "DiSCO, %"), rows)
    yield "Worst case of every pair over the ten seeds, min_leaf 5 (largest first):"
    yield ""
    order = sorted(worst.items(), key=lambda item: -item[1])
    yield ", ".join(f"{pair} {value:.2f}" for pair, value in order)


def disco(original: Table, synthetic: Table) -> float:
    """Return DiSCO in percent, for the five keys that synthpop's figure is for."""
    keys = [name for name in KEYS if name != "OWN_RENT"]
    return 100 * attribute(original, synthetic, keys=keys, target=TARGET).mean.disco


def _bootstrap(table: Table, rng: np.random.Generator) -> float:
    again = table.take(rng.integers(table.n_rows, size=table.n_rows))
    return float(table_utility(table, [again], ways=[2]).mean["S_pMSE"].mean())


def risk(data: Path) -> Iterator[str]:
    """Risk and utility over a grid of settings: ten seeds, ten half splits."""
    yield (
        "| setting | min_leaf | two-way S_pMSE | worst pair | CAP of fitted and unseen half | "
        "difference | uniques reproduced, fitted and unseen | seconds |"
    )
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    yield SYNTHPOP
    table, _ = planned(data)
    few_first = sorted(table.names, key=lambda name: len(np.unique(table[name].data)))
    for name, options in settings():
        order = {"visit_sequence": few_first} if name.startswith("order") else {}
        method = {"default_method": name} if name in OTHERS else {}
        models = {name if method else "cart": options} if options else {}
        table, plan = planned(data, models=models, **order, **method)
        yield _risk_row(name, options, table, plan)


def settings() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the settings that the table compares."""
    yield "default", {}
    for leaf in (3, 5, 10, 20, 30, 40, 50, 80):
        yield "even draws", {"min_leaf": leaf}
    for leaf in (3, 5, 10, 20, 50):
        yield "independent draws", {"min_leaf": leaf, "even": False}
    for leaf in (5, 20):
        yield "shrinkage 10", {"min_leaf": leaf, "shrinkage": 10.0}
        yield "shrinkage 30", {"min_leaf": leaf, "shrinkage": 30.0}
        yield "penalty 1", {"min_leaf": leaf, "penalty": 1.0}
        yield "penalty 2", {"min_leaf": leaf, "penalty": 2.0}
        yield "Bayesian bootstrap of leaves", {"min_leaf": leaf, "proper": True}
        yield "prior 10 in the ordering of levels", {"min_leaf": leaf, "prior": 10.0}
    for leaf in (5, 20, 50):
        yield "order: fewest levels first", {"min_leaf": leaf}
    yield "bagging", {"min_leaf": 20}
    yield "forest", {"min_leaf": 20}
    yield "parametric", {}


OTHERS = ("forest", "bagging", "parametric")


def _risk_row(name: str, options: Mapping[str, Any], table: Table, plan: Plan) -> str:
    means, tops = [], []
    start = perf_counter()
    for seed in range(1, 11):
        pairs = table_utility(table, synthesise(plan, table, seed), ways=[2]).mean
        means.append(float(pairs["S_pMSE"].mean()))
        tops.append(float(pairs["S_pMSE"].max()))
    taken = (perf_counter() - start) / 10
    found = differential_confidentiality(
        table,
        lambda half, m, repeat: synthesise(plan, half, 100 + repeat, m),
        keys=KEYS,
        target=TARGET,
        repeats=10,
        rng=np.random.default_rng(11),
    )
    spread = next(row for row in found.summary if row.rule == "zero")
    fitted = statistics.mean(row.fitted.present for row in found.uniques)
    unseen = statistics.mean(row.unseen.present for row in found.uniques)
    return (
        f"| {name} | {options.get('min_leaf', '')} | {np.mean(means):.2f} | {max(tops):.1f} | "
        f"{spread.mean_a:.3f}, {spread.mean_b:.3f} | {spread.difference:.3f} | "
        f"{fitted:.0f}, {unseen:.0f} | {taken:.2f} |"
    )


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
    "utility": utility,
    "risk": risk,
    "scale": scale,
    "levels": levels,
}
SINGLE = {"scale_one": scale_one, "levels_one": levels_one}


if __name__ == "__main__":
    print_parts(__doc__, PARTS, SINGLE)
