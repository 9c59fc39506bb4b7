"""Half splits: syntheses of a random half of the records, to be held against both halves.

What a synthesis says about the half that it never saw it says about anybody; what it says about
the fitted half beyond that is the risk of having been in the data (Taub et al. 2018, section 4.3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from synthesizer.data.table import BoolArray, Column, IntArray, Table
from synthesizer.errors import DataError

__all__ = ["HalfRun", "Synthesise", "control_run", "half_runs", "half_split", "units_of"]

Synthesise = Callable[[Table, int, int], list[Table]]


@dataclass(frozen=True, eq=False)
class HalfRun:
    """Synthetic data made from one part of the records, and both parts.

    Parameters
    ----------
    repeat : int
        Number of the split, from 0.
    fitted, unseen : Table
        The records that the synthesis was fitted on, and those that it was not.
    synthetic : tuple of Table
        m synthetic datasets made from ``fitted`` alone. Only the first need have every column.
    fitted_units, unseen_units : ndarray of int
        The unit (person) of each record; records count by themselves when each is its own unit.
    """

    repeat: int
    fitted: Table
    unseen: Table
    synthetic: tuple[Table, ...]
    fitted_units: IntArray
    unseen_units: IntArray


def half_split(units: IntArray, rng: np.random.Generator) -> BoolArray:
    """Return where a record belongs to half A; all records of a unit go together.

    Parameters
    ----------
    units : ndarray of int, shape (n,)
        The unit (person) that each record belongs to.
    rng : numpy.random.Generator
        Draws the split. Of an odd number of units A gets one more.

    Examples
    --------
    >>> in_a = half_split(np.array([7, 8, 8, 9, 9]), np.random.default_rng(1))
    >>> bool(in_a[1] == in_a[2]), bool(in_a[3] == in_a[4])
    (True, True)
    """
    known, position = np.unique(units, return_inverse=True)
    chosen = np.zeros(len(known), dtype=bool)
    chosen[rng.permutation(len(known))[: (len(known) + 1) // 2]] = True
    return np.asarray(chosen[position])


def half_runs(
    table: Table,
    synthesise: Synthesise,
    *,
    m: int = 1,
    repeats: int = 1,
    rng: np.random.Generator,
    units: IntArray | None = None,
) -> Iterator[HalfRun]:
    """Split, synthesise one half, and yield what the measures need, one split at a time.

    Parameters
    ----------
    table : Table
        All confidential records, shape (n, p), at least two units.
    synthesise : function of (half: Table, m: int, repeat: int) -> list of Table
        Makes m synthetic datasets from one half; repeats count from 0.
    m, repeats : int
        Number of datasets from each half, and of random splits; at least 1.
    rng : numpy.random.Generator
        Draws the splits.
    units : ndarray of int, shape (n,), optional
        Person of each record where the data are a panel: persons are split, not records.

    Raises
    ------
    DataError
        With every problem of the arguments, before anything is synthesised.

    Examples
    --------
    >>> from synthesizer.data.schema import Kind, Variable
    >>> from synthesizer.data.table import Column
    >>> age = Column(Variable(name="age", kind=Kind.NUMERIC), np.arange(9.0))
    >>> runs = half_runs(Table([age]), lambda half, m, repeat: [half] * m,
    ...                  rng=np.random.default_rng(1))
    >>> [(run.fitted.n_rows, run.unseen.n_rows) for run in runs]
    [(5, 4)]
    """
    problems = _problems(table, m, repeats, units)
    if problems:
        raise DataError(problems)
    persons = np.arange(table.n_rows) if units is None else np.asarray(units)
    return _runs(table, synthesise, m, repeats, rng, persons)


def _runs(
    table: Table,
    synthesise: Synthesise,
    m: int,
    repeats: int,
    rng: np.random.Generator,
    units: IntArray,
) -> Iterator[HalfRun]:
    for repeat in range(repeats):
        in_a = half_split(units, rng)
        fitted, unseen = table.take(in_a), table.take(~in_a)
        made = tuple(synthesise(fitted, m, repeat))
        yield HalfRun(repeat, fitted, unseen, made, units[in_a], units[~in_a])


def units_of(column: Column) -> IntArray:
    """Number the persons that a column names; a record that names none is one of its own.

    Examples
    --------
    >>> from synthesizer.data.schema import Kind, Variable
    >>> person = Variable(name="person", kind=Kind.NUMERIC, missing=("",))
    >>> units_of(Column(person, np.array([7.0, np.nan, 7.0]), np.array([0, 1, 0]))).tolist()
    [0, 1, 0]
    """
    known = column.is_observed
    _, persons = np.unique(column.data[known], return_inverse=True)
    # persons have the lowest numbers, records without one those after them
    numbers = len(column) + np.arange(len(column), dtype=np.int64)
    numbers[known] = persons
    _, units = np.unique(numbers, return_inverse=True)
    return np.asarray(units)


def control_run(
    fitted: Table, control: Table, synthetic: tuple[Table, ...], units: str | None = None
) -> HalfRun:
    """Return a run for records that somebody else kept out of a synthesis.

    ``control`` must be a random sample of the same population as ``fitted``; ``units`` is the
    variable that names the person of each record in both.
    """
    if units is None:
        persons: list[IntArray] = [np.arange(table.n_rows) for table in (fitted, control)]
    else:
        persons = [units_of(table[units]) for table in (fitted, control)]
    return HalfRun(0, fitted, control, synthetic, *persons)


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
