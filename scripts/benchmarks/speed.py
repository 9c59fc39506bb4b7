"""CPU seconds and memory, beside other programs: the tables and the chart of docs/benchmarks.md.

One worker, one thread; each work has a process of its own. DIR contains `ma2019.csv` and
`national2019.csv`; without the second, the first is drawn with replacement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
import yaml
from measuring import (
    KEYS,
    NUMERIC,
    PLAIN,
    PROGRAMS,
    TARGET,
    Rows,
    alone,
    command_cost,
    job,
    peak_gb,
    program_cost,
    rows_of,
)

from synthesizer.config.reading import read_config
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.measures.risk.cap import cap
from synthesizer.models.careers.fitted_careers import CareerOptions, fit_careers
from synthesizer.plan.forecast import forecast
from synthesizer.plan.plan import prepare

Cost = dict[str, Any]
MA, NAT, NAT_ROWS = "ma2019", "national2019", 27_253
APART = ("INDP", "PWGTP", "WGTP")
"""Codes with hundreds of levels, and weights."""
OPTIONS: dict[str, dict[str, Any]] = {"synthesizer, plain trees": PLAIN, "synthesizer": {}}
REFERENCE, SLOW = "R synthpop", 120
"""A program that needs more seconds is not repeated, and is not run with a longer file."""
CONFIGS = Path(__file__).resolve().parents[1] / "configs"
FEDERAL_PERSONS = 3_511_824


@contextmanager
def original(data: Path, name: str, n_rows: int | None = None) -> Iterator[Path]:
    """Write a file that each program reads alike: codes are text, and missing numbers empty.

    With ``n_rows`` its rows are drawn with replacement, and numbers differ by some percent.
    """
    path = data / f"{name}.csv"
    if name == NAT and not path.is_file():
        path, n_rows = data / f"{MA}.csv", n_rows or NAT_ROWS
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    frame = frame.drop(columns=[*APART], errors="ignore")
    rng = np.random.default_rng(1)
    if n_rows is not None:
        frame = frame.iloc[rng.integers(len(frame), size=n_rows)].reset_index(drop=True)
    for column in frame:
        if column in NUMERIC:
            values = pd.to_numeric(frame[column].replace("N", None))
            if n_rows is not None:
                values = (values * rng.normal(1, 0.02, n_rows)).round()
            frame[column] = values
        else:
            frame[column] = "c" + frame[column]
    with TemporaryDirectory() as folder:
        frame.to_csv(Path(folder) / "data.csv", index=False)
        yield Path(folder) / "data.csv"


def chain_cost(path: Path, options: dict[str, Any]) -> Cost:
    """Fit a planned chain and draw a dataset, after a fit to some rows that is not counted."""
    config = {"data": {"path": str(path)}, "random_key": "none", "workers": 1, **options}
    plan = prepare(read_config(config), check_directory=False)
    plan.spec.fit(plan.table.take(np.arange(500)), Seed(1), n_jobs=1)
    begin = process_time()
    chain = plan.spec.fit(plan.table, Seed(1), n_jobs=1)
    middle = process_time()
    next(chain.generate(Seed(1), n_jobs=1))
    taken = {"fit in s": middle - begin, "draw in s": process_time() - middle}
    return taken | {"peak in GB": peak_gb()}


def medians(costs: Sequence[Cost]) -> Cost:
    """Return the median of each figure, or the reason why there is none."""
    return {
        name: value if isinstance(value, str) else median(cost[name] for cost in costs)
        for name, value in costs[0].items()
    }


@job(files=[MA], programs=list(OPTIONS), repeats=1)
def synthesis(
    data: Path,
    files: Sequence[str] = (MA, NAT),
    programs: Sequence[str] = tuple(PROGRAMS),
    repeats: int = 3,
) -> Rows:
    """Measure a synthesis, m = 1, from a frame to a frame, by each program in turn."""
    slow: set[str] = set()
    for name in files:
        costs: dict[str, list[Cost]] = {one: [] for one in programs if one not in slow}
        with original(data, name) as path:
            words = [str(path), str(path.with_name("made.csv")), "1"]
            for program in [one for _ in range(repeats) for one in costs]:
                if program not in slow:
                    cost = program_cost([*PROGRAMS[program], *words])
                    if program in OPTIONS:
                        parts = alone(chain_cost, path, OPTIONS[program])
                        cost |= {name: parts[name] for name in ("fit in s", "draw in s")}
                    costs[program].append(cost)
                    if isinstance(cost["whole in s"], str) or cost["whole in s"] > SLOW:
                        slow.add(program)
        results = {program: medians(each) for program, each in costs.items()}
        reference = results.get(REFERENCE, {}).get("whole in s")
        for program, figures in results.items():
            if isinstance(reference, float) and isinstance(figures["whole in s"], float):
                figures[f"{REFERENCE} over whole"] = reference / figures["whole in s"]
                if program in OPTIONS:
                    both = figures["fit in s"] + figures["draw in s"]
                    figures[f"{REFERENCE} over fit and draw"] = reference / both
            yield from rows_of(f"{name}, {program}", figures)


@job(n_rows=20_000)
def million(data: Path, n_rows: int = 1_000_000) -> Rows:
    """Measure fit, draw and memory of many rows, drawn with replacement and varied."""
    with original(data, NAT, n_rows) as path:
        for case, options in OPTIONS.items():
            yield from rows_of(f"{n_rows:,} x 21, {case}", alone(chain_cost, path, options))


def configured(path: Path, **content: Any) -> str:
    """Write a configuration beside a file, and return its name."""
    content = {"seed": 1, "workers": 1, "output": {"directory": "out"}} | content
    text = yaml.safe_dump({"data": {"path": str(path)}, **content})
    path.with_name("run.yaml").write_text(text, encoding="utf-8")
    return "run.yaml"


def run_cost(path: Path, *words: str, **content: Any) -> Cost:
    """Return the cost of the command `run` with a configuration."""
    run = ["run", configured(path, **content), "--overwrite", "--quiet", *words]
    return command_cost(path.parent, *run)


def forecast_of(config: Path) -> float | None:
    """Return the seconds of CPU that a forecast names for a run."""
    begin = process_time()
    plan = prepare(config, check_directory=False)
    ahead = forecast(plan, spent=process_time() - begin)
    return None if ahead is None else ahead.seconds


@job(file=MA)
def commands(data: Path, file: str = NAT) -> Rows:
    """Measure whole commands, with their start, and the forecast of the seconds they take."""
    checks = {"keys": [*KEYS], "target": TARGET}
    with original(data, file) as path:
        for m in (5, 1):
            figures = run_cost(path, m=m, checks=checks)
            ahead = alone(forecast_of, path.with_name("run.yaml"))
            figures |= {"forecast in s": ahead}
            figures["forecast over whole"] = ahead / figures["whole in s"]
            yield from rows_of(f"{file}, m = {m}, all checks", figures)
        few = pd.read_csv(path, nrows=500, usecols=[*KEYS, TARGET, "PINCP"])
        few.to_csv(path, index=False)
        yield from rows_of("500 x 8, m = 5, no checks", run_cost(path, "--no-checks", m=5))
        yield from rows_of("500 x 8, m = 5, all checks", run_cost(path, m=5, checks=checks))


def careers_cost(n_persons: int) -> Cost:
    """Fit and draw careers of 25 periods and 16 states that depend on three covariates."""
    rng, n_states = np.random.default_rng(1), 16
    codes = [rng.integers(k, size=n_persons).astype(np.int32) for k in (2, 5, 8)]
    known = [
        Column(Variable(name=f"known{k}", kind=Kind.CATEGORICAL, levels=tuple("abcdefgh"[:k])), x)
        for k, x in zip((2, 5, 8), codes, strict=True)
    ]
    careers = np.empty((n_persons, 25), dtype=np.int32)
    careers[:, 0] = (sum(codes) + rng.integers(4, size=n_persons)) % n_states
    for t in range(1, careers.shape[1]):
        moved = (careers[:, t - 1] + codes[1] + rng.integers(4, size=n_persons)) % n_states
        careers[:, t] = np.where(rng.random(n_persons) < 0.15, moved, careers[:, t - 1])
    persons, begin = Table(known, n_persons), process_time()
    fitted = fit_careers(careers, n_states, persons, CareerOptions(), rng=rng)
    middle = process_time()
    fitted.sample(persons, n_persons, rng=rng)
    return {"fit in s": middle - begin, "draw in s": process_time() - middle}


def panel_cost(persons: int, drawn: int) -> Cost:
    """Fit the chain of the federal workforce to persons, and draw others in one part."""
    content = yaml.safe_load((CONFIGS / "federal_workforce.yaml").read_text(encoding="utf-8"))
    content["data"]["persons"] = persons
    config = read_config(content | {"checks": False, "workers": 1}, base=CONFIGS)
    plan, begin = prepare(config, check_directory=False), process_time()
    chain = plan.spec.fit(plan.table, Seed(1), n_jobs=1)
    middle = process_time()
    table = chain.part(Seed(1), 0, 0, drawn)
    taken = process_time() - middle
    values = table.n_rows * len(plan.spec.steps)
    minutes = taken / drawn * FEDERAL_PERSONS / 2 / 60
    return {
        "fit in s": middle - begin,
        "draw in s": taken,
        "draw of a value in us": 1e6 * taken / values,
        f"draw of {FEDERAL_PERSONS:,} persons by two cores, computed in min": minutes,
        "peak in GB": peak_gb(),
    }


@job(persons=150, drawn=[150], n_careers=200)
def panels(
    persons: int = 5_000, drawn: Sequence[int] = (5_000, 20_000), n_careers: int = 2_000
) -> Rows:
    """Measure careers with covariates, and fit and draw of the simulated federal workforce."""
    yield from rows_of(f"careers, {n_careers:,} x 25", alone(careers_cost, n_careers))
    for number in drawn:
        case = f"workforce, {persons:,} persons fitted, {number:,} drawn"
        yield from rows_of(case, alone(panel_cost, persons, number))


def skewed(sizes: Sequence[int], n: int, seed: int) -> Table:
    """Return n records of variables with these numbers of levels, skewed like a census."""
    rng, columns = np.random.default_rng(seed), []
    for number, size in enumerate(sizes):
        share = 1 / np.arange(1, size + 1)
        codes = rng.choice(size, size=n, p=share / share.sum()).astype(np.int32)
        levels = tuple(f"{code:03d}" for code in range(size))
        columns.append(
            Column(Variable(name=f"key{number}", kind=Kind.CATEGORICAL, levels=levels), codes)
        )
    return Table(columns)


def cap_cost(n_rows: int) -> Cost:
    """Compute the CAP table of an original and five synthetic datasets of this size."""
    original, *made = (skewed((30, 90, 2, 9, 5, 4, 15), n_rows, seed) for seed in range(6))
    begin = process_time()
    cap(original, made, keys=original.names[:-1], target=original.names[-1])
    return {"whole in s": process_time() - begin, "peak in GB": peak_gb()}


@job(n_rows=20_000)
def risk(n_rows: int = 1_000_000) -> Rows:
    """Measure the CAP table of six keys with many records."""
    yield from rows_of(f"CAP, {n_rows:,} and 5 x {n_rows:,}, 6 keys", alone(cap_cost, n_rows))


def many_columns(n_rows: int, n_columns: int) -> pd.DataFrame:
    """Return numbers, and categories of two to six levels, by turns; ten factors join them."""
    rng = np.random.default_rng(1)
    factors = rng.normal(size=(n_rows, 10)) @ rng.normal(size=(10, n_columns)) / 3
    made: dict[str, object] = {}
    for j, column in enumerate((factors + rng.normal(size=factors.shape)).T):
        k = 2 + j // 2 % 5
        cuts = np.quantile(column, np.arange(1, k) / k)
        is_coded = j % 2
        made[f"v{j}"] = np.char.mod("c%d", np.searchsorted(cuts, column)) if is_coded else column
    return pd.DataFrame(made).round(3)


def many_levels(n_rows: int, n_columns: int, n_levels: int) -> pd.DataFrame:
    """Return variables of levels that are equally frequent."""
    codes = np.random.default_rng(1).integers(n_levels, size=(n_rows, n_columns))
    return pd.DataFrame(codes).add_prefix("v").map("level {}".format)


@job(part=20)
def wide(part: int = 1) -> Rows:
    """Measure whole commands with many columns or levels; ``part`` divides their columns."""
    for frame, levels, words, m in (
        (many_levels(5_000, 200 // part, 500), ", 500 levels", [], 5),
        (many_columns(1_000, 2_000 // part), "", ["--no-checks"], 1),
        (many_columns(1_000, 1_000 // part), "", [], 1),
        (many_levels(20_000, 6, 5_000 // part), f", {5_000 // part:,} levels", ["--no-checks"], 1),
    ):
        n_rows, n_columns = frame.shape
        with TemporaryDirectory() as folder:
            path = Path(folder) / "data.csv"
            frame.to_csv(path, index=False)
            case = f"{n_rows:,} x {n_columns:,}{levels}, m = {m}, {'no' if words else 'all'} checks"
            yield from rows_of(case, run_cost(path, *words, m=m))
