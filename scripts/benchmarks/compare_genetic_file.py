"""What is asked: a file whose columns are categories, keys and target, and settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from synthesizer.data.encoding import encode
from synthesizer.data.errors import DataError, SynthesizerError
from synthesizer.data.guessing import Declaration
from synthesizer.data.pairs import check_keys
from synthesizer.data.sources import RawTable, read_path
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.data.values import is_number
from synthesizer.measures.risk import statistical_uniques

MOST_NUMBERS = 100
"""Distinct numbers up to which a column is taken for codes."""
MOST_TEXTS = 1_000
"""Distinct texts up to which a column is taken for categories, if they are few for its records."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What may be chosen; the defaults are those of the paper where it tells them.

    Parameters
    ----------
    seed : int
        Of every synthesis.
    generations, population : int
        Of both evolutions.
    start : str
        ``mutants`` of the original, or datasets of a ``chain``.
    redraw : str
        Mutations draw all levels alike (``uniform``), or as often as the original has them
        (``marginal``).
    min_leaf : int
        Smallest leaf of CART.
    workers : int or None
        Parallel workers; all cores where absent.
    """

    seed: int = 1
    generations: int = 57
    population: int = 100
    start: str = "mutants"
    redraw: str = "uniform"
    min_leaf: int = 5
    workers: int | None = None


@dataclass(frozen=True, eq=False)
class Study:
    """The original, as categories, and what an intruder knows and seeks.

    Parameters
    ----------
    origin : str
        Name of the file.
    table : Table
        Keys first and target last, which is the order of the chains.
    frame : DataFrame
        The same as text.
    keys, target : tuple of str, str
        What an intruder knows, and seeks.
    settings : Settings
        What was chosen.
    """

    origin: str
    table: Table
    frame: pd.DataFrame
    keys: tuple[str, ...]
    target: str
    settings: Settings


def prepare(
    path: Path,
    keys: Sequence[str],
    target: str,
    settings: Settings,
    *,
    drop: Sequence[str] = (),
) -> Study:
    """Read a file whose columns are categories.

    Raises
    ------
    DataError
        With every problem of the file, the keys and the target.
    """
    raw = read_path(path)
    problems = [
        f"--drop: {name!r} is not in the data: name one of its columns"
        for name in drop
        if name not in raw.names
    ]
    raw = raw.select([name for name in raw.names if name not in drop])
    faulty = dict(_faulty_columns(raw))
    problems += [*_named_wrong(raw.names, keys, target), *faulty.values()]
    table = Table((), raw.n_rows)
    try:
        sound = raw.select([name for name in raw.names if name not in faulty])
        table = encode(sound, dict.fromkeys(sound.names, Declaration(kind=Kind.CATEGORICAL)))
        if not problems:
            check_keys(table, keys=keys, target=target)
            problems += _nobody_unique(table, keys)
    except SynthesizerError as error:
        problems += error.problems
    if problems:
        raise DataError(problems)
    others = [name for name in table.names if name not in (*keys, target)]
    table = table.select([*keys, *others, target])
    return Study(raw.origin, table, _as_text(table), tuple(keys), target, settings)


def _named_wrong(names: Sequence[str], keys: Sequence[str], target: str) -> tuple[str, ...]:
    """Return what is wrong with keys and target by name alone, whatever the columns hold."""
    nothing = np.zeros(0, dtype=np.int32)
    columns = [Column(Variable(name=name, kind=Kind.CATEGORICAL), nothing) for name in names]
    try:
        check_keys(Table(columns, 0), keys=keys, target=target)
    except DataError as error:
        return error.problems
    return ()


def _faulty_columns(raw: RawTable) -> Iterator[tuple[str, str]]:
    """Yield which columns are no categories, and why: measurements, names, dates."""
    for texts in raw.texts:
        values = texts.picked(texts.occurs)
        numbers = int(is_number(pa.array(values, pa.string()), texts.mark).sum())
        if numbers > MOST_NUMBERS:
            told = f"{numbers:,} distinct numbers (at most {MOST_NUMBERS} are taken for codes)"
        elif len(values) > min(MOST_TEXTS, max(MOST_NUMBERS, raw.n_rows / 2)):
            told = f"{len(values):,} distinct values in {raw.n_rows:,} records, as names have"
        else:
            continue
        yield (
            texts.name,
            f"column {texts.name!r} has {told}: group it into classes first, or leave it out "
            "with --drop",
        )


def _nobody_unique(table: Table, keys: Sequence[str]) -> Iterator[str]:
    """Yield that there is nobody to protect."""
    if not statistical_uniques(table, keys).any():
        yield (
            f"no record is unique by the keys ({', '.join(keys)}), and CAP-U is about those that "
            "are: name more or finer keys under --keys"
        )


def _as_text(table: Table) -> pd.DataFrame:
    """Return a table of codes as text, so that 1 and 1.0 cannot be mixed up on the way."""
    return pd.DataFrame(
        {
            column.name: np.array(column.variable.labels, dtype=object)[column.data]
            for column in table.columns
        }
    )
