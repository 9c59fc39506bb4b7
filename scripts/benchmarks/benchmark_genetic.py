"""Figures of docs/genetic.md; those on the paper are by genetic_readings.py.

Usage::

    python scripts/benchmarks/benchmark_genetic.py DATA.csv frontier refine moves price large

DATA.csv is the ACS excerpt around Boston (see docs/benchmarks.md). From five of its variables,
recoded to the numbers of levels of the Scottish census of Chen, Taub and Elliot (2019), a
parametric chain draws 82,851 records: the original of every part. Each part prints a Markdown table
and runs in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import mean, median
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pandas as pd
from genetic_moves import MOVES
from measuring import markdown, peak_gb

from synthesizer import Synthesizer, read_config, run
from synthesizer.data.pairs import as_table
from synthesizer.data.randomness import NO_SECRET, Seed
from synthesizer.data.sources import from_pandas
from synthesizer.engine.genetic import evolution
from synthesizer.engine.genetic.evolution import Candidate, hypervolume
from synthesizer.engine.genetic.genetic_options import GeneticOptions, RiskName
from synthesizer.engine.genetic.genetic_source import Evolver
from synthesizer.engine.genetic.scores import RISKS, Score, Sought
from synthesizer.measures.settings import ALL_OFF
from synthesizer.plan.evolving import like_original
from synthesizer.plan.inputs import declarations

ROWS = 82_851
KEYS = ("parish", "sex", "marital", "age")
TARGET = "employ"
SEEDS = range(1, 6)
PAPER: dict[str, Any] = {
    "aimed": 0.0,
    "rates": "fixed",
    "risk_floor": 0.0,
    "patience": None,
    "generations": 57,
}
LARGEST = 0.05
METHODS: dict[str, dict[str, Any]] = {
    "CART, leaves of 5, as synthpop": {"models": {"cart": {"min_leaf": 5, "even": False}}},
    "CART, the package's": {},
    "parametric": {"default_method": "parametric"},
}
LEAVES = (5, 10, 20, 50, 100, 200, 400, 800, 1600, 3200)


def original(data: Path) -> pd.DataFrame:
    """Draw a file of the paper's shape: levels 29, 2, 5, 10 and 3."""
    read = pd.read_csv(data, dtype=str, keep_default_na=False)
    area = read["PUMA"] + ":" + read["NPF"]
    most = area.value_counts().index[:28]
    pay = pd.to_numeric(read["PINCP"], errors="coerce")
    frame = pd.DataFrame(
        {
            "parish": area.where(area.isin(most), "other"),
            "sex": read["SEX"],
            "marital": read["MSP"].replace({"N": "6", "5": "4"}),
            "age": np.minimum(read["AGEP"].astype(int) // 9, 9).astype(str),
            "employ": np.where(
                read["INDP_CAT"] == "N", "none", np.where(pay >= 30_000, "high", "low")
            ),
        }
    )
    return pd.DataFrame(synthesised(frame, 1, rows=ROWS, default_method="parametric"))


def synthesised(
    frame: pd.DataFrame, seed: int, rows: int | None = None, **options: Any
) -> pd.DataFrame:
    """Return one dataset of a chain."""
    kinds = {str(name): {"kind": "categorical"} for name in frame}
    chain = Synthesizer(seed=seed, secret=NO_SECRET, variables=kinds, **options).fit(frame)
    return pd.DataFrame(chain.generate(rows=rows)[0].astype(str))


class World:
    """The original as candidates are scored against it."""

    def __init__(self, data: Path) -> None:
        self.frame = original(data)
        declared = Synthesizer(variables={str(n): {"kind": "categorical"} for n in self.frame})
        self.table = as_table(self.frame, self.frame.columns, declarations(declared.config))
        self.sought: Sought = Sought.of(self.table, KEYS, TARGET)

    def records(self, made: pd.DataFrame) -> Any:
        """Return a synthetic frame as a candidate's records."""
        raw = from_pandas(made, min_rows=1)
        return self.sought.coding.encode(like_original(raw, self.table))

    def score(self, made: pd.DataFrame) -> Score:
        """Return utility and risk of a synthetic frame."""
        return Evolver(self.sought, GeneticOptions()).breeder.candidate(self.records(made)).score

    @property
    def baseline(self) -> float:
        """CAP-U if targets were guessed from their distribution."""
        return float(RISKS["cap_u"](self.sought).baseline or 0.0)

    def chain_start(self, count: int, seed: int) -> list[Any]:
        """Return the records of datasets of the synthpop-like chain."""
        kinds = {str(name): {"kind": "categorical"} for name in self.frame}
        chain = Synthesizer(
            seed=seed,
            secret=NO_SECRET,
            variables=kinds,
            models={"cart": {"min_leaf": 5, "even": False}},
        ).fit(self.frame)
        return [self.records(made.astype(str)) for made in chain.generate(m=count)]


def points_of(candidates: Sequence[Candidate]) -> Any:
    """Return utility and risk, shape (N, 2)."""
    return np.array([(c.score.utility, c.score.risk) for c in candidates])


def frontier(data: Path) -> Iterator[str]:
    """Mode pareto against ten datasets of each method."""
    world = World(data)
    others = {
        name: [world.score(synthesised(world.frame, seed, **how)) for seed in range(1, 11)]
        for name, how in METHODS.items()
    }
    rows: list[tuple[object, ...]] = [
        (
            name, "", f"{mean(s.utility for s in scores):.4f}",
            f"{mean(s.risk for s in scores):.4f}", "",
            f"{hypervolume(np.array([(s.utility, s.risk) for s in scores])):.4f}", "",
        )
        for name, scores in others.items()
    ]  # fmt: skip
    every = np.array([(s.utility, s.risk) for scores in others.values() for s in scores])
    rows.append(("all 30 together", "", "", "", "", f"{hypervolume(every):.4f}", ""))
    chain = world.chain_start(100, 1)
    for start in ("mutants", "chain"):
        for label, options in (
            ("paper's moves", PAPER),
            ("default moves, risk_floor 0", {"risk_floor": 0.0}),
            ("default", {}),
        ):
            rows.append(_frontier_row(world, every, start, label, options, chain))
    yield from markdown(
        ("what", "seconds", "lowest U", "lowest R", "points", "hypervolume", "most dominated"),
        rows,
    )


def _frontier_row(
    world: World, every: Any, start: str, label: str, options: Any, chain: Sequence[Any]
) -> tuple[object, ...]:
    """Return medians over seeds; ``points dominated`` is the largest number over seeds."""
    found = []
    for seed in SEEDS:
        evolver = Evolver(world.sought, GeneticOptions(**{**options, "mode": "pareto"}))
        begin = perf_counter()
        people = (
            evolver.mutants(Seed(seed), 0, LARGEST)
            if start == "mutants"
            else evolver.around(chain, Seed(seed), 0, LARGEST)
        )
        evolved = evolver.evolve(people, Seed(seed), 0)
        points = points_of(evolved.frontier)
        found.append(
            (
                perf_counter() - begin, points[:, 0].min(), points[:, 1].min(), len(points),
                hypervolume(points), dominated(points, every),
            )
        )  # fmt: skip
    taken, lowest_u, lowest_r, count, area, beaten = zip(*found, strict=True)
    return (
        f"pareto from {start}, {label}", f"{median(taken):.0f}", f"{median(lowest_u):.4f}",
        f"{median(lowest_r):.4f}", median(count), f"{min(area):.4f} to {max(area):.4f}",
        max(beaten),
    )  # fmt: skip


def dominated(points: Any, others: Any) -> int:
    """Count the points that some other one is nowhere worse and somewhere better than."""
    nowhere_worse = (others[:, None] <= points[None]).all(axis=2)
    better = (others[:, None] < points[None]).any(axis=2)
    return int((nowhere_worse & better).any(axis=0).sum())


def refine(data: Path) -> Iterator[str]:
    """A CART file brought down to the baseline, against larger leaves."""
    world = World(data)
    rows = []
    for seed in SEEDS:
        ladder = {
            leaf: synthesised(world.frame, seed, models={"cart": {"min_leaf": leaf, "even": False}})
            for leaf in LEAVES
        }
        scores = {leaf: world.score(made) for leaf, made in ladder.items()}
        base = next(iter(scores.values()))
        for limit in (world.baseline, 0.8 * base.risk):
            evolver = Evolver(world.sought, GeneticOptions(risk_at_most=limit))
            records = world.records(ladder[LEAVES[0]])
            start = evolver.around([records], Seed(seed), 0, LARGEST)
            begin = perf_counter()
            after = evolver.evolve(start, Seed(seed), 0).score
            taken = perf_counter() - begin
            leaf = next((leaf for leaf, s in scores.items() if s.risk <= limit), None)
            cost = after.utility - base.utility
            price = scores[leaf].utility - base.utility if leaf is not None else float("nan")
            rows.append(
                (
                    seed, f"{base.utility:.4f}", f"{base.risk:.4f}", f"{limit:.4f}",
                    f"{after.risk:.4f}", f"{cost:+.5f}", leaf or "none of them",
                    f"{price:+.5f}", f"{cost / price:.2f}" if price > 0 else "", f"{taken:.0f}",
                )
            )  # fmt: skip
    yield from markdown(
        (
            "seed", "U", "R", "limit", "R refined", "cost in U", "leaf that reaches it",
            "its cost in U", "ratio", "seconds",
        ),
        rows,
    )  # fmt: skip


def moves(data: Path) -> Iterator[str]:
    """Moves that were tried, each for the same processor time of one thread."""
    vars(evolution)["perf_counter"] = process_time  # fair on a busy machine
    world = World(data)
    chain = world.chain_start(100, 1)
    rows = []
    for start in ("mutants", "chain"):
        for label, (options, breeder) in MOVES.items():
            areas, generations = [], []
            for seed in SEEDS:
                settings = GeneticOptions(
                    **{
                        **options,
                        "mode": "pareto",
                        "seconds": 8,
                        "patience": None,
                        "risk_floor": 0.0,
                    },
                    generations=100_000,
                )
                evolver = Evolver(world.sought, settings)
                if breeder is not None:
                    evolver.breeder = breeder(evolver, chain)
                people = (
                    evolver.mutants(Seed(seed), 0, LARGEST)
                    if start == "mutants"
                    else [evolver.breeder.candidate(records) for records in chain]
                )
                evolved = evolver.evolve(people, Seed(seed), 0)
                areas.append(hypervolume(points_of(evolved.frontier)))
                generations.append(len(evolved.history) - 1)
            rows.append(
                (
                    start, label, f"{median(areas):.4f}",
                    f"{min(areas):.4f} to {max(areas):.4f}", median(generations),
                )
            )  # fmt: skip
    yield from markdown(("start", "moves", "hypervolume", "range", "generations"), rows)


def price(data: Path) -> Iterator[str]:
    """What the same U and R mean for measures that evolution did not look at."""
    world = World(data)
    chain = world.chain_start(100, 1)
    made = {"CART, leaves of 5, as synthpop": chain[0]}
    for start in ("mutants", "chain"):
        evolver = Evolver(world.sought, GeneticOptions(risk_at_most=world.baseline))
        people = (
            evolver.mutants(Seed(1), 0, LARGEST)
            if start == "mutants"
            else evolver.around(chain, Seed(1), 0, LARGEST)
        )
        made[f"down to the baseline, from {start}"] = evolver.evolve(
            people, Seed(1), 0
        ).best.records
    rows = []
    for label, records in made.items():
        cells = [f"{_measured(world, name, records):.4f}" for name in RISKS]
        utility = Evolver(world.sought, GeneticOptions()).breeder.candidate(records).score.utility
        unchanged = float(np.mean(records == world.sought.records))
        rows.append((label, f"{utility:.4f}", *cells, f"{unchanged:.3f}"))
    yield from markdown(("dataset", "U", *RISKS, "records as in the original, in place"), rows)
    yield "\nDifferential confidentiality (half split; 0 is the aim), CAP of all records\n"
    limit = {"risk_at_most": world.baseline}
    kinds: dict[str, dict[str, Any] | None] = {
        "CART, leaves of 5, as synthpop": None,
        "down to the baseline, from mutants": limit,
        "down to the baseline, from chain": {**limit, "start": "chain"},
    }
    split = [(label, *_half_split(world, genetic)) for label, genetic in kinds.items()]
    yield from markdown(("dataset", "difference", "95 % interval"), split)


def _half_split(world: World, genetic: dict[str, Any] | None) -> tuple[str, str]:
    """Return the difference of mean CAP between fitted and unseen records, and its interval."""
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        world.frame.to_csv(place / "original.csv", index=False)
        config = {
            "data": {"path": str(place / "original.csv")},
            "output": {"directory": str(place / "out"), "report": False, "codebook": False},
            "seed": 1,
            "secret": "none",
            "models": {"cart": {"min_leaf": 5, "even": False}},
            "variables": {str(name): {"kind": "categorical"} for name in world.frame},
            "checks": {**ALL_OFF, "keys": list(KEYS), "target": TARGET}
            | {"differential_confidentiality": True},
        }
        found = run(read_config(config | ({} if genetic is None else {"genetic": genetic})))
    summary = found.checks.summary
    low, high = summary.differential_low, summary.differential_high
    return f"{summary.differential_confidentiality:.4f}", f"{low:.4f} to {high:.4f}"


def _measured(world: World, name: RiskName, records: Any) -> float:
    """Return a measure of risk of a candidate's records."""
    return Evolver(world.sought, GeneticOptions(risk=name)).breeder.candidate(records).score.risk


def large(data: Path) -> Iterator[str]:
    """A million records, one thread and two."""
    world = World(data)
    many = np.tile(world.sought.records, 13)[:1_000_000]
    rng = Seed(1).generator("large")
    many = many[rng.permutation(len(many))]
    rows = []
    for workers in (1, 2):
        sought = Sought(many, world.sought.coding, world.sought.keys, world.sought.target)
        options = GeneticOptions(
            risk="cap", population=40, generations=10, aimed=0.0, rates="fixed", patience=None
        )
        evolver = Evolver(sought, options)
        start = evolver.mutants(Seed(1), 0, LARGEST)
        begin = perf_counter()
        evolver.evolve(start, Seed(1), 0, n_jobs=workers)
        rows.append((workers, f"{perf_counter() - begin:.1f}", f"{peak_gb():.2f}"))
    yield from markdown(("threads", "seconds, 40 candidates x 10 generations", "GB so far"), rows)


PARTS: dict[str, Callable[[Path], Iterator[str]]] = {
    "frontier": frontier,
    "refine": refine,
    "moves": moves,
    "price": price,
    "large": large,
}


def main() -> None:
    """Run the parts that are named; each in a process of its own."""
    data, *names = sys.argv[1:]
    if len(names) == 1:
        for text in PARTS[names[0]](Path(data)):
            print(text, flush=True)
        return
    for name in names:
        print(f"\n## {name}\n", flush=True)
        subprocess.run([sys.executable, __file__, data, name], check=True)


if __name__ == "__main__":
    main()
