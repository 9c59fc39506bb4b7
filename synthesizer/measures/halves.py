"""Half splits: syntheses of a random half of the records, to be held against both halves.

What a synthesis says about the half that it never saw it says about anybody; what it says about
the fitted half beyond that is the risk of having been in the data (Taub et al. 2018, section 4.3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from synthesizer.data.errors import DataError, SynthesizerError
from synthesizer.data.pairs import Data, as_tables, check_comparable, column_names
from synthesizer.data.randomness import AnySeed, seeded
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Kind, Table

LogLikelihoods = Callable[[Table], Iterable[tuple[str, FloatArray]]]
"""Returns, for each variable whose model can tell, the log-probabilities of records."""


@dataclass(frozen=True, eq=False)
class FromHalf:
    """What was made from a half by somebody who can say how probable records were."""

    tables: Iterable[Table]
    """The synthetic datasets."""
    log_likelihoods: LogLikelihoods | None = None
    """Of the models that were fitted on the half; None where there are none to ask."""

    @classmethod
    def of(cls, made: FromHalf | Iterable[Table]) -> FromHalf:
        """Return it as it is, or what holds datasets alone."""
        return made if isinstance(made, FromHalf) else cls(made)


Synthesise = Callable[[Table, int, int], FromHalf | Iterable[Table]]
"""Synthesises a part of the records: takes the part, the number of datasets, and that of the
split, from 0."""
_Side = tuple[Table, IntArray]
"""Records of a half, and the unit of each."""


@dataclass(frozen=True, eq=False)
class HalfRun:
    """Synthetic data made from one part of the records, and both parts."""

    repeat: int
    """Number of the split, from 0."""
    fitted: Table
    """The records that the synthesis was fitted on."""
    unseen: Table
    """Those that it was not fitted on."""
    synthetic: tuple[Table, ...]
    """m datasets made from ``fitted`` alone; those of the first split have every column."""
    fitted_units: IntArray
    """The unit (person) of each fitted record; of its own where records count."""
    unseen_units: IntArray
    """The unit of each unseen record."""
    log_likelihoods: LogLikelihoods | None = None
    """Of the models that were fitted on ``fitted``; None of data that somebody else made."""
    others: tuple[HalfRun, ...] = ()
    """The same with the halves exchanged, and both ways round for further splits."""


def half_split(units: IntArray, rng: np.random.Generator) -> BoolArray:
    """Return where a record belongs to half A; all records of a unit go together.

    Of an odd number of units A gets one more.
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
    """Split, synthesise one half, and yield what the measures need, one split at a time.

    Parameters
    ----------
    table : Table
        All confidential records, shape (n, p), at least two units.
    synthesise : function of (half: Table, m: int, repeat: int) -> iterable of Table, or FromHalf
        Makes m synthetic datasets from one half; repeats count from 0.
    m, repeats : int
        Number of datasets from each half, and of random splits; at least 1.
    seed : int or Seed
        Draws the splits.
    units : ndarray of int, shape (n,), optional
        Person of each record where the data are a panel: persons are split, not records.
    exchanges : int
        Splits of which both halves are synthesised, as splits ``repeats`` and more: the first one,
        and further ones. They are the ``others`` of the first run.

    Returns
    -------
    iterator of HalfRun
        One for each split, when it is asked for.

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
    problems = _problems(table, m, repeats, units)
    if problems:
        raise DataError(problems)
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
            with suppress(SynthesizerError):  # a half can be too small for what the whole keeps
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
    """Number the persons that a column names; a record that names none is one of its own."""
    observed = column.is_observed
    # persons have the lowest numbers, records without one those after them
    numbers = len(column) + np.arange(len(column), dtype=np.int64)
    numbers[observed] = np.unique(column.data[observed], return_inverse=True)[1]
    return np.asarray(np.unique(numbers, return_inverse=True)[1])


def control_run(
    fitted: Table, control: Table, synthetic: tuple[Table, ...], units: str | None = None
) -> HalfRun:
    """Return a run for records that somebody else kept out of a synthesis.

    Parameters
    ----------
    fitted : Table
        Records that the synthesis was made from, shape (n, p).
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
        problems.append("a half split needs at least two records (units): use more data")
    for name, value in (("m", m), ("repeats", repeats)):
        if value < 1:
            problems.append(f"{name} ({value}) must be at least 1")
    return problems


def all_names(data: Data) -> tuple[str, ...]:
    """Return the names of all variables; of tables without identifiers, which are made anew."""
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
                f"column {name!r} is not in the fitted half: name one of its columns"
                for name in unknown
            )
        check_comparable(seen, [held_out], names)
    except DataError as error:
        # The unseen half takes the place of a synthetic dataset here; readers must not see that.
        raise DataError(
            problem.replace("synthetic dataset 1", "the unseen half") for problem in error.problems
        ) from None
    _, tables = as_tables(seen, synthetic, names)
    check_comparable(seen, tables, names)
    return seen.select(names), held_out.select(names), tuple(t.select(names) for t in tables)


def equal_sizes(halves: tuple[Table, Table], rng: np.random.Generator) -> tuple[Table, Table]:
    """Return samples of equal size: that of the smaller half."""
    size = min(half.n_rows for half in halves)
    first, second = (pooled([half], size, rng)[0] for half in halves)
    return first, second


def pooled(tables: Sequence[Table], largest: int, rng: np.random.Generator) -> tuple[Table, ...]:
    """Return a sample of all records of several tables, ``largest`` at most."""
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
