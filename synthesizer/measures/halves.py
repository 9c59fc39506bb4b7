"""Train-holdout test: fit on a random half of the records, compare risks of both halves.

The risk of the holdout half exists for everyone in the population. What the training half has
beyond it is the risk of having been in the data (Taub et al. 2018, section 4.3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from synthesizer.data.errors import DataError, Problems, SynthesizerError
from synthesizer.data.pairs import Data, as_tables, check_comparable, column_names
from synthesizer.data.randomness import AnySeed, seeded
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Kind, Table

LogLikelihoods = Callable[[Table], Iterable[tuple[str, FloatArray]]]
"""Returns the log-likelihoods of records by variable, for models that have a likelihood."""


@dataclass(frozen=True, eq=False)
class FromHalf:
    """Datasets made from a half, and the likelihoods of their models."""

    tables: Iterable[Table]
    """The synthetic datasets."""
    log_likelihoods: LogLikelihoods | None = None
    """Of the models that were fitted to the half; None without models."""

    @classmethod
    def of(cls, made: FromHalf | Iterable[Table]) -> FromHalf:
        """Return ``made`` as it is, or wrap its datasets."""
        return made if isinstance(made, FromHalf) else cls(made)


Synthesise = Callable[[Table, int, int], FromHalf | Iterable[Table]]
"""Synthesises a part of the records: (part, number of datasets, number of the split from 0)."""
_Side = tuple[Table, IntArray]
"""Records of a half, and the unit of each."""


@dataclass(frozen=True, eq=False)
class HalfRun:
    """Synthetic data made from one part of the records, and both parts."""

    repeat: int
    """Number of the split, from 0."""
    fitted: Table
    """Training records."""
    unseen: Table
    """Holdout records."""
    synthetic: tuple[Table, ...]
    """m datasets made from ``fitted``; those of the first split have all columns."""
    fitted_units: IntArray
    """Unit (person) of each training record; one per record if records count."""
    unseen_units: IntArray
    """Unit of each holdout record."""
    log_likelihoods: LogLikelihoods | None = None
    """Of the models that were fitted to ``fitted``; None without models."""
    others: tuple[HalfRun, ...] = ()
    """Runs with the halves exchanged, and of further splits in both directions."""


def half_split(units: IntArray, rng: np.random.Generator) -> BoolArray:
    """Return which records belong to half A, shape (n,); units are not divided.

    With an odd number of units A gets one more.
    """
    persons, position = np.unique(units, return_inverse=True)
    chosen = np.zeros(len(persons), dtype=bool)
    chosen[rng.permutation(len(persons))[: (len(persons) + 1) // 2]] = True
    return np.asarray(chosen[position])


def half_runs(
    table: Table,
    synthesise: Synthesise,
    *,
    m: int = 1,
    repeats: int = 1,
    seed: AnySeed = 0,
    units: IntArray | None = None,
    exchanges: int = 0,
) -> Iterator[HalfRun]:
    """Split the records, synthesise one half, and yield a run for each split.

    Parameters
    ----------
    table : Table
        All confidential records, shape (n, p), at least two units.
    synthesise : function of (half: Table, m: int, repeat: int) -> iterable of Table, or FromHalf
        Makes m synthetic datasets from one half; repeats count from 0.
    m, repeats : int
        Number of datasets from each half, and of random splits; at least 1.
    seed : int or Seed
        Seed of the splits.
    units : ndarray of int, shape (n,), optional
        Person of each record of a panel: persons are split, not records.
    exchanges : int
        Number of splits of which both halves are synthesised, the first included. Their runs are
        the ``others`` of the first run.

    Returns
    -------
    iterator of HalfRun
        One for each split, computed on demand.

    Raises
    ------
    DataError
        With every problem of the arguments, before anything is synthesised.

    Examples
    --------
    >>> from synthesizer.data.table import Column, Kind, Variable
    >>> age = Column(Variable(name="age", kind=Kind.NUMERIC), np.arange(9.0))
    >>> runs = half_runs(Table([age]), lambda half, m, repeat: [half] * m,
    ...                  seed=1)
    >>> [(run.fitted.n_rows, run.unseen.n_rows) for run in runs]
    [(5, 4)]
    """
    Problems(_problems(table, m, repeats, units)).settle(DataError)
    persons = np.arange(table.n_rows) if units is None else np.asarray(units)
    rng = seeded(seed).generator("checks")

    def sides_of(rng: np.random.Generator) -> tuple[_Side, _Side]:
        in_a = half_split(persons, rng)
        return (table.take(in_a), persons[in_a]), (table.take(~in_a), persons[~in_a])

    def runs() -> Iterator[HalfRun]:
        for repeat in range(repeats):
            sides = sides_of(rng)
            others = [] if repeat else others_of(sides)
            yield made_of(repeat, *sides, tuple(others))

    def others_of(first: tuple[_Side, _Side]) -> Iterator[HalfRun]:
        further = seeded(seed).generator("further splits")
        for split in range(exchanges):
            one, other = sides_of(further) if split else first
            orders = [(one, other), (other, one)] if split else [(other, one)]
            with suppress(SynthesizerError):  # a half can be too small for the model
                yield from [
                    made_of(repeats + 2 * split + number, *order)
                    for number, order in enumerate(orders)
                ]

    def made_of(
        repeat: int, fitted: _Side, unseen: _Side, others: tuple[HalfRun, ...] = ()
    ) -> HalfRun:
        (half, units), (rest, rest_units) = fitted, unseen
        made = FromHalf.of(synthesise(half, m, repeat))
        tables = tuple(made.tables)
        return HalfRun(repeat, half, rest, tables, units, rest_units, made.log_likelihoods, others)

    return runs()


def units_of(column: Column) -> IntArray:
    """Return the number of the person of each record; a record without person is its own unit."""
    observed = column.is_observed
    # persons have the lowest numbers, records without one those after them
    numbers = len(column) + np.arange(len(column), dtype=np.int64)
    numbers[observed] = np.unique(column.data[observed], return_inverse=True)[1]
    return np.asarray(np.unique(numbers, return_inverse=True)[1])


def control_run(
    fitted: Table, control: Table, synthetic: tuple[Table, ...], units: str | None = None
) -> HalfRun:
    """Return a run for a holdout that was kept out of a synthesis.

    Parameters
    ----------
    fitted : Table
        Training records, shape (n, p).
    control : Table
        A random sample of the same population, with the same variables.
    synthetic : tuple of Table
        Datasets made from ``fitted``.
    units : str, optional
        Variable that names the person of each record in both.

    Returns
    -------
    HalfRun
        For `synthesizer.measures.risk.differential.compare_halves`, which gives an example.
    """
    seen, kept_out = (
        np.arange(table.n_rows) if units is None else units_of(table[units])
        for table in (fitted, control)
    )
    return HalfRun(0, fitted, control, synthetic, seen, kept_out)


def _problems(table: Table, m: int, repeats: int, units: IntArray | None) -> list[str]:
    problems = []
    if units is not None and np.shape(units) != (table.n_rows,):
        problems.append("units must have one value per record")
    elif (table.n_rows if units is None else len(np.unique(units))) < 2:
        problems.append("a train-holdout test needs at least two records (units): use more data")
    for name, value in (("m", m), ("repeats", repeats)):
        if value < 1:
            problems.append(f"{name} ({value}) must be at least 1")
    return problems


def all_names(data: Data) -> tuple[str, ...]:
    """Return the names of all variables but the identifiers of tables."""
    if isinstance(data, Table):
        return tuple(c.name for c in data.columns if c.variable.kind is not Kind.ID)
    return column_names(data)


def as_halves(
    fitted: Data, unseen: Data, synthetic: Data | Sequence[Data], names: Sequence[str]
) -> tuple[Table, Table, tuple[Table, ...]]:
    """Return both halves and the synthetic datasets as tables of the named variables, checked."""
    if not names:
        raise DataError("there is no variable to compare: name at least one")
    try:
        seen, (held_out,) = as_tables(fitted, unseen, names)
        unknown = [name for name in names if name not in seen]
        if unknown:
            raise DataError(
                f"column {name!r} is not in the training records: name one of their columns"
                for name in unknown
            )
        check_comparable(seen, [held_out], names)
    except DataError as error:
        # The check takes the holdout for a synthetic dataset; messages must not.
        raise DataError(
            problem.replace("synthetic dataset 1", "the holdout") for problem in error.problems
        ) from None
    _, tables = as_tables(seen, synthetic, names)
    check_comparable(seen, tables, names)
    return seen.select(names), held_out.select(names), tuple(t.select(names) for t in tables)


def equal_sizes(halves: tuple[Table, Table], rng: np.random.Generator) -> tuple[Table, Table]:
    """Return both halves, the larger one cut at random to the size of the smaller."""
    size = min(half.n_rows for half in halves)
    first, second = (pooled([half], size, rng)[0] for half in halves)
    return first, second


def pooled(tables: Sequence[Table], largest: int, rng: np.random.Generator) -> tuple[Table, ...]:
    """Return a random sample of at most ``largest`` records of several tables together."""
    sizes = [table.n_rows for table in tables]
    if sum(sizes) <= largest:
        return tuple(tables)
    chosen = np.sort(rng.choice(sum(sizes), size=largest, replace=False))
    ends = np.cumsum(sizes)
    parts = np.split(chosen, np.searchsorted(chosen, ends[:-1]))
    return tuple(
        table.take(rows - end + table.n_rows)
        for table, rows, end in zip(tables, parts, ends, strict=True)
    )
