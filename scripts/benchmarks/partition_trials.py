"""Trials of partitions and their fits, T3 and T15 of docs/verification.md.

Tests run them small, the jobs at the end in full. Each attacks what is claimed and returns figures;
each has a control, something made wrong on purpose, that the same trial must find.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
from measuring import Row, Rows, job
from replay_trials import Exact
from scipy.stats import chi2

from synthesizer.data.table import Column, FloatArray, Table
from synthesizer.extensions.verification import partition_fits
from synthesizer.extensions.verification.coefficient_questions import OfCoefficient
from synthesizer.extensions.verification.mechanisms import Mechanism
from synthesizer.extensions.verification.partition_fits import PartitionFits, PartitionRows
from synthesizer.extensions.verification.public_schema import PublicSchema, SchemaVariable
from synthesizer.extensions.verification.query import Query, query_of
from synthesizer.extensions.verification.questions import QueryRows

Codes = npt.NDArray[np.int64]
RACES, JOBS, YEARS = ("White", "Black", "Asian"), tuple("abcdef"), (2001, 2002, 2003)
SCHEMA = PublicSchema(
    person="person",
    rows_per_person=3,
    variables={
        "pay": SchemaVariable(kind="numeric", low=0.0, high=100.0),
        "hours": SchemaVariable(kind="numeric", low=-1.0, high=1.0, whole=True),
        "race": SchemaVariable(kind="categorical", levels=RACES),
        "job": SchemaVariable(kind="categorical", levels=JOBS),
        "year": SchemaVariable(kind="numeric", low=2001.0, high=2003.0, whole=True),
    },
)
HOSTILE = (0.0, -0.0, 100.0, 1e308, -1e308, 1e150, np.inf, -np.inf, np.nan, 5e-324)
QUESTIONS: dict[str, dict[str, Any]] = {
    "below": {"formula": "pay ~ race + hours", "ask": {"measure": "interval", "below": -2.0}},
    "effects": {
        "formula": "pay ~ race | job + year",
        "ask": {"measure": "interval", "between": [-4.0, -1.0]},
    },
    "terms": {
        "formula": "I(log(pay)) ~ race + C(hours) + I(pay > 50):race + I(pay > 50)",
        "ask": {"measure": "tolerance", "within": 0.5},
    },
    "logit": {
        "formula": "I(pay > 50) ~ race + hours",
        "family": "logit",
        "ask": {"measure": "interval", "below": 0.0},
    },
    "trend": {
        "formula": "pay ~ race",
        "ask": {
            "measure": "trend",
            "over": "year",
            "periods": [{"first": 2001, "last": 2003, "slope": "rising"}],
        },
    },
    "test": {"formula": "pay ~ race | job", "ask": {"measure": "significance"}},
    "claim": {"formula": "pay ~ race + hours", "ask": {"measure": "claim", "below": -2.0}},
    "claim of two ends": {
        "formula": "pay ~ race + hours",
        "ask": {"measure": "claim", "between": [-3.0, -1.0]},
    },
}
"""One of each kind."""
Person = dict[str, FloatArray]
"""Rows of a person: values of each variable, shapes (rows,)."""


class Silence(Exact):
    """No noise, and the mechanisms are kept."""

    def __init__(self) -> None:
        self.asked: list[Mechanism] = []

    def draw(self, mechanism: Mechanism, values: Sequence[int]) -> tuple[int, ...]:
        """Return the values."""
        self.asked.append(mechanism)
        return super().draw(mechanism, values)


class Chunked(QueryRows):
    """The control: partitions by the place of rows in the file."""

    def partition(self, m: int) -> Codes:
        """Return chunks of equal size."""
        n = len(self.owners)
        return np.asarray(np.arange(n) * m // max(1, n), dtype=np.int64)


class Remainders(QueryRows):
    """The control: partitions by the remainder of the person's number."""

    @classmethod
    def of(cls, table: Table, names: Sequence[str], owners: Codes, key: bytes) -> Self:
        """Return persons with the numbers that they chose."""
        return cls(table, np.array([int(p.removeprefix("p")) for p in names]), owners, key)


def sane(rng: np.random.Generator) -> Person:
    """Return rows of a person: Black persons are paid less, by 2."""
    n = int(rng.integers(1, 4))
    race = np.repeat(float(rng.choice(3, p=[0.5, 0.3, 0.2])), n)
    hours = rng.integers(-1, 2, n).astype(float)
    return {
        "pay": 50 + hours - 2 * (race == 1) + rng.normal(0, 2, n),
        "hours": hours,
        "race": race,
        "job": rng.integers(0, len(JOBS), n).astype(float),
        "year": rng.choice(YEARS, n, replace=False).astype(float),
    }


def hostile(rng: np.random.Generator) -> Person:
    """Return rows of a person whose numbers are chosen to break something; levels may be none."""
    rows = sane(rng)
    n = len(rows["pay"])
    for name in ("pay", "hours", "year"):
        if rng.random() < 0.7:
            rows[name] = rng.choice(HOSTILE, n)
    for name, levels in (("race", RACES), ("job", JOBS)):
        rows[name] = rng.integers(0, len(levels) + 1, n).astype(float)
    return rows


def view_of(
    people: dict[str, Person],
    rng: np.random.Generator,
    key: bytes,
    kind: type[QueryRows] = QueryRows,
) -> QueryRows:
    """Return persons as a file with rows in any order."""
    names = tuple(people)
    owners = np.repeat(np.arange(len(names)), [len(rows["pay"]) for rows in people.values()])
    order = rng.permutation(len(owners)) if kind is QueryRows else np.arange(len(owners))
    columns = []
    for variable in SCHEMA.table_schema:
        values = np.concatenate([[], *(rows[variable.name] for rows in people.values())])[order]
        if variable.is_coded:
            columns.append(Column(variable, values.astype(np.int32)))
        else:
            columns.append(Column(variable, values, np.isnan(values).astype(np.int8)))
    return kind.of(Table(columns, len(owners)), names, owners[order].astype(np.int64), key)


def crowd(rng: np.random.Generator, n: int, share: float = 0.1) -> dict[str, Person]:
    """Return n persons, a share of them hostile."""
    return {f"p{i}": (hostile if rng.random() < share else sane)(rng) for i in range(n)}


def neighbour(people: dict[str, Person], rng: np.random.Generator) -> dict[str, Person]:
    """Return the file with one person added, taken out or with all rows changed."""
    who = str(rng.choice(list(people)))
    rows = (hostile if rng.random() < 0.5 else sane)(rng)
    chosen = rng.integers(3)
    if chosen == 0:
        return {name: person for name, person in people.items() if name != who}
    return {**people, (who if chosen == 1 else "new"): rows}


# T3: what one person moves.


@dataclass(frozen=True)
class Question:
    """A question that is ready to be asked about files."""

    query: Query
    prepared: Any

    @classmethod
    def of(cls, name: str, m: int) -> Question:
        """Prepare a question with synthetic data without hostile persons."""
        content = {"partitions": m, **QUESTIONS[name]}
        content["ask"] = {"coefficient": "race[Black]", **content["ask"]}
        query = query_of(content)
        if query.ask.reports_errors:
            query = query.model_copy(update={"errors": "report"})
        assert query.problems(SCHEMA) == []  # noqa: S101
        rng = np.random.default_rng(1)
        synthetic = view_of(crowd(rng, 400, share=0), rng, bytes(32))
        return cls(query, query.ask.prepare(query, SCHEMA, synthetic))

    def values(self, view: QueryRows) -> tuple[npt.NDArray[np.int64], int]:
        """Return the integers that would get noise, and by how much a person may move them."""
        noise = Silence()
        (values,) = self.query.ask.release(self.query, self.prepared, view, noise)
        return np.array(values, dtype=np.int64), noise.asked[0].distance


@dataclass(frozen=True)
class Moved:
    """The most that one person moved."""

    pairs: int
    changed: int
    """Pairs that differ at all."""
    first: int
    """Of the first number: partitions that answer yes, or the sum of t statistics."""
    all: int
    """Of all numbers together."""
    claimed: int
    """The distance that the noise covers."""


def moved_by_one(
    name: str, pairs: int, *, seed: int = 0, kind: type[QueryRows] = QueryRows, per_file: int = 50
) -> Moved:
    """Return what a person moves at most, in pairs of files that differ in her rows."""
    rng = np.random.default_rng([seed, *name.encode()])
    m = 10
    question = Question.of(name, m)
    first, total, changed, claimed = 0, 0, 0, 0
    for number in range(pairs):
        if number % per_file == 0:
            people, key = crowd(rng, int(rng.integers(2 * m, 10 * m))), rng.bytes(32)
            values, claimed = question.values(view_of(people, rng, key, kind))
        others, _ = question.values(view_of(neighbour(people, rng), rng, key, kind))
        apart = np.abs(others - values)
        first, total = max(first, int(apart[0])), max(total, int(apart.sum()))
        changed += bool(apart.any())
    return Moved(pairs, changed, first, total, claimed)


def orders(n_orders: int, *, seed: int = 0) -> tuple[int, int]:
    """Return how many vectors of categories n orders of a file's rows give: 1 if none matters.

    The threshold is the coefficient of a partition to its last digit, the worst place.
    Returns also how many thresholds were tried.
    """
    rng = np.random.default_rng(seed)
    people, key = crowd(rng, 60, share=0.0), rng.bytes(32)
    query = Question.of("effects", 10).query
    ask = query.ask
    assert isinstance(ask, OfCoefficient)  # noqa: S101

    def fits() -> PartitionFits:
        view = view_of(people, rng, key)
        return ask.fits(query, SCHEMA, view, view.partition(10), 10)

    thresholds = fits().coefficients[:, 0]
    thresholds = thresholds[np.isfinite(thresholds)]
    seen = {
        (fits().coefficients[:, :1] <= thresholds).tobytes()  # NaN is never below
        for _ in range(n_orders)
    }
    return len(seen), len(thresholds)


# T15: where persons fall.


def changed_partitions(keys: int, *, m: int = 10, kind: type[QueryRows] = QueryRows) -> int:
    """Return in how many partitions at most one person changes the rows, over keys and persons."""
    most = 0
    for number in range(keys):
        rng = np.random.default_rng([15, number])
        people, key = crowd(rng, 100), rng.bytes(32)
        before = _rows_of_partitions(view_of(people, rng, key, kind), m)
        after = _rows_of_partitions(view_of(neighbour(people, rng), rng, key, kind), m)
        most = max(most, sum(one != other for one, other in zip(before, after, strict=True)))
    return most


def _rows_of_partitions(view: QueryRows, m: int) -> list[list[tuple[int, bytes]]]:
    groups = view.partition(m)
    data = np.column_stack([column.data.astype(float) for column in view.table.columns])
    rows: list[list[tuple[int, bytes]]] = [[] for _ in range(m)]
    for group, owner, values in zip(groups, view.owners, data, strict=True):
        rows[group].append((int(view.persons[owner]), values.tobytes()))
    return [sorted(part) for part in rows]


def sizes_p(keys: int, *, m: int = 50, n: int = 2_000, kind: type[QueryRows] = QueryRows) -> float:
    """Return the p-value of even partitions of persons whose numbers somebody chose.

    He takes multiples of m, so that remainders are all 0.
    """
    names = tuple(f"p{m * i}" for i in range(n))
    table, owners = Table([], n), np.arange(n)
    statistic = 0.0
    for number in range(keys):
        key = np.random.default_rng([151, number]).bytes(32)
        counts = np.bincount(kind.of(table, names, owners, key).partition(m), minlength=m)
        statistic += float(((counts - n / m) ** 2 / (n / m)).sum())
    return float(chi2.sf(statistic, (m - 1) * keys))


# Precision of the fits.


def by_pyfixest(rows: PartitionRows, m: int) -> tuple[FloatArray, FloatArray]:
    """Return coefficients and errors of partition m as pyfixest fits them."""
    import pandas as pd
    import pyfixest as pf

    inside = rows.partition == m
    names = [f"x{j}" for j in range(rows.X.shape[1])]
    frame = pd.DataFrame(rows.X[inside], columns=names)
    frame["y"], frame["person"] = rows.y[inside], rows.persons[inside]
    effects = [f"f{j}" for j in range(len(rows.effects))]
    for name, codes in zip(effects, rows.effects, strict=True):
        frame[name] = codes[inside]
    fit: Any = pf.feols(
        f"y ~ {' + '.join(names)} | {' + '.join(effects)}",
        frame,
        vcov={"CRV1": "person"},
        fixef_rm="none",
        fixef_tol=1e-12,
        fixef_maxiter=100_000,
    )
    return fit.coef().to_numpy(), fit.se().to_numpy()


def distances(rows: PartitionRows, fits: PartitionFits) -> tuple[float, float]:
    """Return how far coefficients are from pyfixest's, and errors, in parts of theirs."""
    far, off = 0.0, 0.0
    for m in range(len(fits.coefficients)):
        coefficients, errors = by_pyfixest(rows, m)
        far = max(far, float(np.abs(fits.coefficients[m] - coefficients).max()))
        off = max(off, float(np.abs(fits.errors[m] / errors - 1).max()))
    return far, off


@job(pairs=800, n_orders=20)
def neighbours(pairs: int = 39_000, n_orders: int = 200) -> Rows:
    """T3: what one person moves, at most as claimed, and what the order of rows does."""
    each = pairs // len(QUESTIONS)
    for name in QUESTIONS:
        moved, broken = (
            moved_by_one(name, each),
            moved_by_one(name, max(each // 10, 400), kind=Chunked),
        )
        yield Row(name, f"differ, of {moved.pairs:,} pairs", moved.changed)
        yield Row(name, f"moved at most, claimed {moved.claimed}", moved.all,
                  holds=moved.all <= moved.claimed)  # fmt: skip
        yield Row(f"{name}, control: chunks", "moved at most", broken.all,
                  holds=broken.all > moved.claimed)  # fmt: skip
    vectors, tried = orders(n_orders)
    unsorted = patch.object(
        partition_fits, "_fingerprints", lambda columns, _: np.zeros(len(columns), np.uint64)
    )
    with unsorted:
        broken_found, _ = orders(n_orders)
    case = f"{n_orders} orders of rows, {tried} thresholds"
    yield Row(case, "vectors of categories", vectors, holds=vectors == 1)
    yield Row(f"{case}, control: as they stand", "vectors", broken_found, holds=broken_found > 1)


@job(keys=20)
def dealing(keys: int = 200) -> Rows:
    """T15: how many partitions a person changes, and whether sizes are even for chosen numbers."""
    changed, chunks = changed_partitions(keys), changed_partitions(20, kind=Chunked)
    yield Row(f"{keys} keys", "of 10 partitions a person changes", changed, holds=changed == 1)
    yield Row("control: chunks of the file", "of 10", chunks, holds=chunks > 1)
    p, aimed = sizes_p(keys), sizes_p(1, kind=Remainders)
    yield Row(f"{keys} keys", "p of the sizes of 50 partitions", p, holds=p > 1e-6)
    yield Row("control: remainders", "p of the sizes", aimed, holds=aimed < 1e-6)
