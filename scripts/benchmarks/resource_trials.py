"""Do the limits of a job reveal a person? Two neighbours at every limit, many runs of each.

The limits are the least at which the dry run still accepts the question, so the job is as near to
them as a question can come. A neighbour has one person more: of as many rows as is declared, of
100,000 rows, with a cell of 4 million characters, or with numbers that no sum can take. Counted are
the processes that died. Each control leaves a step out and must be found: without the rehearsal a
limit lies between the two files, without the bound on rows large persons end the process.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from measuring import Row, Rows, job
from scipy.stats import fisher_exact

from synthesizer.data.files import sha256
from synthesizer.extensions.verification.public_schema import PublicSchema, strictly
from synthesizer.extensions.verification.query import query_of
from synthesizer.extensions.verification.questions import write_prepared
from synthesizer.extensions.verification.server.runner import Task, run
from synthesizer.extensions.verification.server.server_config import JobLimits

KEY = bytes(range(32))
UNBOUND = 10_000
"""Rows of a person where their number has no bound: the most that a schema may declare."""
LARGE_PERSONS = 8
ROWS_PER_PERSON, PERSONS, LEVELS = 24, 300, 16
SIDE = {"kind": "categorical", "levels": [str(level) for level in range(LEVELS)]}
NUMBER = {"kind": "numeric", "low": -9.0, "high": 9.0}
SCHEMA: dict[str, Any] = {
    "person": "person",
    "rows_per_person": ROWS_PER_PERSON,
    "rows": 2 * PERSONS * ROWS_PER_PERSON,
    "variables": {"y": NUMBER, "x": NUMBER, "a": SIDE, "b": SIDE},
}
WIDE = {
    "formula": "y ~ x + a*b",
    "ask": {"measure": "interval", "coefficient": "x", "above": -1000.0},
    "partitions": 10,
}


def people(n: int, seed: int) -> pd.DataFrame:
    """Return n persons with all their rows."""
    rng, size = np.random.default_rng(seed), n * ROWS_PER_PERSON
    a, b = rng.integers(0, LEVELS, (2, size)).astype(str)
    y, x = rng.normal(size=(2, size)).round(3)
    person = np.repeat(np.arange(n), ROWS_PER_PERSON)
    return pd.DataFrame({"person": person, "y": y, "x": x, "a": a, "b": b})


def one_more(rows: int, **cells: Any) -> pd.DataFrame:
    """Return the rows of one person more, some of her cells as given."""
    made = people(-(-rows // ROWS_PER_PERSON), seed=9).iloc[:rows].assign(person=-1)
    return made.astype(object).assign(**cells)


NEIGHBOURS: Mapping[str, pd.DataFrame] = {
    "one person more, 24 rows": one_more(24),
    "of 100,000 rows": one_more(100_000),
    "with a cell of 4 million characters": one_more(1, a="x" * 4_000_000),
    "with 1e308, infinities and blanks": one_more(24, y="1e308", x="inf", a=""),
}


class Trial:
    """A question about files of a folder, and the limits at which its dry run accepts it.

    Parameters
    ----------
    folder : Path
        Empty.
    schema : mapping
        Public schema in plain values.
    """

    def __init__(self, folder: Path, schema: Mapping[str, Any] = SCHEMA) -> None:
        self.folder, self.schema = folder, strictly(PublicSchema, schema)
        self.synthetic = folder / "synthetic.csv"
        people(60, seed=2).to_csv(self.synthetic, index=False)

    def write(self, name: str, frame: pd.DataFrame) -> Path:
        """Return the prepared copy of a confidential file."""
        text, path = self.folder / f"{name}.csv", self.folder / f"{name}.arrow"
        frame.to_csv(text, index=False)
        write_prepared(path, self.schema.encoded(self.schema.read(text)), self.schema, KEY)
        text.unlink()
        return path

    def is_alive(self, prepared: Path | None, limits: JobLimits) -> bool:
        """Return whether a process lives to its end, and whether a dry run accepts the question."""
        task = Task(
            query=query_of(WIDE).bound(self.schema, sha256(self.synthetic)).content(),
            public_schema=self.schema.model_dump(mode="json"), synthetic=str(self.synthetic),
            prepared=prepared and str(prepared), key=KEY.hex(), rows=self.schema.rows or 0,
        )  # fmt: skip
        outcome = run(task, limits, seconds=300, is_stopped=lambda: False)
        return outcome is not None and not outcome.problems

    def least_limits(self) -> JobLimits:
        """Return the least memory, then the least time, that a dry run accepts."""
        memory = least(100, 3_000, lambda mb: self.is_alive(None, JobLimits(memory_mb=mb)))
        seconds = least(
            1, 60, lambda s: self.is_alive(None, JobLimits(memory_mb=memory, seconds=s))
        )
        return JobLimits(memory_mb=memory, seconds=seconds)

    def deaths(self, prepared: Path, limits: JobLimits, runs: int) -> int:
        """Return how many of ``runs`` processes died."""
        return sum(not self.is_alive(prepared, limits) for _ in range(runs))


def least(low: int, high: int, holds: Any) -> int:
    """Return the least whole number from low to high for which something holds."""
    return low + bisect_left(range(low, high), True, key=holds)


def p_of(deaths: int, others: int, runs: int) -> float:
    """Return the p-value of equal probabilities of a death (Fisher's exact test)."""
    table = [[deaths, runs - deaths], [others, runs - others]]
    return float(fisher_exact(table).pvalue)


def rows_at(trial: Trial, n: int) -> Path:
    """Return the copy of a file of n persons."""
    return trial.write(f"n{n}", people(n, seed=1))


def between(trial: Trial, limits: JobLimits) -> tuple[Path, Path]:
    """Return files that differ in one person, of which the smaller one lives under the limits."""
    last = least(60, 4_000, lambda n: not trial.is_alive(rows_at(trial, n), limits))
    return rows_at(trial, last - 1), rows_at(trial, last)


@job(runs=2)
def limits(runs: int = 100) -> Rows:
    """Count the processes that die at the least limits, for each pair of neighbours."""
    with TemporaryDirectory() as name:
        trial = Trial(Path(name))
        least_of_all, frame = trial.least_limits(), people(PERSONS, seed=1)
        yield Row("least limits", "memory", least_of_all.memory_mb, "MB")
        yield Row("least limits", "time", least_of_all.seconds, "s")
        deaths = trial.deaths(trial.write("file", frame), least_of_all, runs)
        for words, rows in NEIGHBOURS.items():
            other = trial.write("other", pd.concat([frame, rows]))
            yield from compared(words, deaths, trial.deaths(other, least_of_all, runs), runs)
        tight = JobLimits(memory_mb=110)
        smaller, larger = (trial.deaths(path, tight, runs) for path in between(trial, tight))
        yield from compared("control: without the rehearsal", smaller, larger, runs)
        free = Trial(Path(name), {**SCHEMA, "rows_per_person": UNBOUND})
        many = [one_more(UNBOUND).assign(person=-n) for n in range(1, LARGE_PERSONS + 1)]
        large = free.write("large", pd.concat([frame, *many]))
        others = free.deaths(large, least_of_all, runs)
        yield from compared("control: without the bound on rows", deaths, others, runs)


def compared(case: str, deaths: int, others: int, runs: int) -> Rows:
    """Yield the deaths of both sides and the p-value; a control must differ, if runs are many."""
    p = p_of(deaths, others, runs)
    differs = p < 1e-3 if runs >= 10 else deaths != others
    yield Row(case, "died, file", deaths)
    yield Row(case, "died, neighbour", others)
    yield Row(case, "p (Fisher)", p, holds=differs if case.startswith("control") else p > 0.01)
