"""The simulator: blocks of persons, each from its own generator, as Arrow tables.

A block depends on the seed, its number, its persons and the years only; so neither the order in
which blocks are made nor the number of workers matters, and the first full blocks of a large file
are those of a smaller one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from synthesizer.errors import DataError
from synthesizer.samples.workforce import parameters as p
from synthesizer.samples.workforce.careers import simulate_careers
from synthesizer.samples.workforce.codes import AMOUNTS, COLUMNS, levels
from synthesizer.samples.workforce.jobs import simulate_jobs
from synthesizer.samples.workforce.persons import draw_persons
from synthesizer.samples.workforce.positions import positions
from synthesizer.samples.workforce.recorded import recorded
from synthesizer.samples.workforce.world import world

__all__ = ["block_sizes", "blocks", "problems", "simulate", "simulate_block"]

_MAX_SEED = 2**63 - 1


def simulate(
    persons: int,
    *,
    seed: int = 1,
    first_year: int = p.FIRST_YEAR,
    last_year: int = p.LAST_YEAR,
) -> pa.Table:
    """Return a simulated federal workforce; no record is of a real person.

    Parameters
    ----------
    persons : int
        Number of persons, 1 to 50,000,000; about eight rows each over 24 years.
    seed : int
        0 to 2**63 - 1.
    first_year, last_year : int
        Fiscal years, within 1988-2011.

    Returns
    -------
    pyarrow.Table
        One row a person and year in post, ordered by person and year; columns COLUMNS. Coded
        variables are dictionaries, money is whole dollars of the year.

    Raises
    ------
    DataError
        If an argument is out of its range; all problems at once.

    Examples
    --------
    >>> table = simulate(100, first_year=2000, last_year=2003)
    >>> table.column_names[:4], len(table.column_names)
    (['person', 'year', 'agency', 'sex'], 31)
    """
    chosen = {"seed": seed, "first_year": first_year, "last_year": last_year}
    parts = blocks(persons, **chosen)
    return pa.concat_tables(parts)


def blocks(
    persons: int,
    *,
    seed: int = 1,
    first_year: int = p.FIRST_YEAR,
    last_year: int = p.LAST_YEAR,
    block: int = p.BLOCK,
) -> Iterator[pa.Table]:
    """Return the same rows as `simulate`, block by block, in bounded memory.

    Parameters
    ----------
    persons, seed, first_year, last_year
        See `simulate`.
    block : int
        Persons in a block; the result depends on it. 50,000 persons take about 300 MB.

    Raises
    ------
    DataError
        If an argument is out of its range, at once.
    """
    found = problems(persons, seed, first_year, last_year, block)
    if found:
        raise DataError(found)
    years = range(first_year, last_year + 1)
    sizes = block_sizes(persons, block)
    return (
        simulate_block(number, size, seed=seed, years=years, block=block)
        for number, size in enumerate(sizes)
    )


def problems(
    persons: int, seed: int, first_year: int, last_year: int, block: int = p.BLOCK
) -> list[str]:
    """Say what is wrong with the arguments of `simulate` and `blocks`."""
    found = []
    if not 1 <= persons <= p.MAX_PERSONS:
        found.append(f"persons ({persons}) must be between 1 and {p.MAX_PERSONS}")
    if not 0 <= seed <= _MAX_SEED:
        found.append(f"seed ({seed}) must be between 0 and 2**63 - 1")
    for name, year in (("first_year", first_year), ("last_year", last_year)):
        if not p.FIRST_YEAR <= year <= p.LAST_YEAR:
            found.append(f"{name} ({year}) must be between {p.FIRST_YEAR} and {p.LAST_YEAR}")
    if first_year > last_year:
        found.append(f"first_year ({first_year}) must not be after last_year ({last_year})")
    if block < 1:
        found.append(f"block ({block}) must be at least 1")
    return found


def block_sizes(persons: int, block: int = p.BLOCK) -> list[int]:
    """Return the number of persons of every block; all but the last have ``block``."""
    full, rest = divmod(persons, block)
    return [block] * full + [rest] * (rest > 0)


def simulate_block(
    number: int, size: int, *, seed: int, years: range, block: int = p.BLOCK
) -> pa.Table:
    """Simulate block ``number`` (from 0): persons number * block + 1 and on."""
    sequence = np.random.SeedSequence(seed, spawn_key=(number,))
    rng = np.random.Generator(np.random.PCG64DXSM(sequence))
    fixed = world()
    persons = draw_persons(fixed, size, years, rng)
    careers = simulate_careers(fixed, persons, years, rng)
    jobs = simulate_jobs(fixed, persons, careers, years, rng)
    year = (jobs.period.astype(np.int16) + np.int16(years[0])).astype(np.int16)
    columns: dict[str, np.ndarray] = {
        "person": jobs.person + np.int32(number * block + 1),
        "year": year,
        **recorded(fixed, persons, jobs, year, rng),
        **positions(fixed, persons, jobs, year, rng),
    }
    return pa.table({name: _arrow(name, columns[name]) for name in COLUMNS})


def _arrow(name: str, values: np.ndarray) -> pa.Array:
    if name in ("person", "year") or name in AMOUNTS:
        return pa.array(values)
    labels = levels()[name]
    width = np.int8 if len(labels) <= 127 else np.int16
    return pa.DictionaryArray.from_arrays(pa.array(values.astype(width)), pa.array(labels))
