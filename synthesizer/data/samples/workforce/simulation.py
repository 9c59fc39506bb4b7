"""The simulator: blocks of persons, each from its own generator, as Arrow tables.

A block depends on the seed, its number, its persons and the years only; so neither the order in
which blocks are made nor the number of workers matters, and the first full blocks of a large file
are those of a smaller one.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from synthesizer.data.errors import DataError, Problems
from synthesizer.data.randomness import MAX_SEED
from synthesizer.data.samples.workforce import constants as p
from synthesizer.data.samples.workforce.constants import CATEGORIES, Integers
from synthesizer.data.samples.workforce.jobs import Jobs, simulate_jobs
from synthesizer.data.samples.workforce.persons import (
    Persons,
    allowed_educations,
    draw_persons,
    simulate_careers,
)
from synthesizer.data.samples.workforce.positions import (
    AMOUNTS,
    COLUMNS,
    PROGRAMS,
    levels,
    positions,
    programs,
)
from synthesizer.data.samples.workforce.world import FAMILIES, World, world

_RACE_WEIGHTS = np.cumsum((0.08, 0.1, 0.17, 0.25, 0.4))
_COLLEGE = 9  # index of the lowest level with a degree


def first_rows(person: Integers) -> Integers:
    """Return for every row the position of the first row of its person, shape (rows,)."""
    new = np.concatenate([[True], person[1:] != person[:-1]])
    return np.asarray(np.flatnonzero(new)[np.cumsum(new) - 1])


def recorded(
    world: World, persons: Persons, jobs: Jobs, year: Integers, rng: np.random.Generator
) -> dict[str, Integers]:
    """Return the codes of the variables of the person, each of shape (rows,)."""
    who = jobs.person
    first = first_rows(who)
    race = _race(persons, who, first, rng)
    education = _education(world, jobs, first, rng)
    age = year - persons.birth[who]
    return {
        "sex": persons.sex[who],
        "race": race,
        "race_bridge": _bridge(race, who, year, len(persons.sex), rng),
        "education": education,
        "age_range": np.clip(age // 5 - 3, 0, len(p.AGE_RANGES) - 1).astype(np.int8),
        "years_since_degree": _since_degree(jobs, education, year),
        "military_service": _military(persons, jobs, age, first, rng),
        "instructional_program": _program(world, persons, jobs, rng),
    }


def _race(persons: Persons, who: Integers, first: Integers, rng: np.random.Generator) -> Integers:
    """Return the recorded race: for a few it changes in some year, and back for half of them."""
    n = len(persons.race)
    rows = np.bincount(who, minlength=n)
    changes = (rng.random(n) < p.RACE_CHANGES) & (rows > 1)
    begin = 1 + (rng.random(n) * (rows - 1)).astype(np.int64)
    length = np.where(rng.random(n) < p.RACE_CHANGES_BACK, rng.integers(1, 5, n), 99)
    race = np.searchsorted(_RACE_WEIGHTS, rng.random(n), side="right").astype(np.int8)
    race = np.where(race == persons.race, (race + 2) % 5, race).astype(np.int8)
    position = np.arange(len(who)) - first
    hit = changes[who] & (position >= begin[who]) & (position < begin[who] + length[who])
    return np.where(hit, race[who], persons.race[who])


def _bridge(
    race: Integers, who: Integers, year: Integers, n: int, rng: np.random.Generator
) -> Integers:
    names = p.RACE_BRIDGES
    bridge = np.array([names.index(name) for name in p.RACES], dtype=np.int8)[race]
    u = rng.random(n)[who]
    late = year >= p.BRIDGE_SINCE
    islander = late & (race == p.RACES.index("Asian")) & (u < p.NHPI_AMONG_ASIAN)
    bridge[islander] = names.index("NHPI")
    bridge[late & (u > 1 - p.TWO_OR_MORE)] = names.index("two or more")
    return bridge


def _education(world: World, jobs: Jobs, first: Integers, rng: np.random.Generator) -> Integers:
    """Return the recorded level: seldom a lower one that the occupation admits, or missing."""
    level = jobs.states["education"].copy()
    allowed = allowed_educations()[world.needs[jobs.states["occupation"]]]
    later = np.arange(len(level)) > first
    rows = np.flatnonzero(later & (rng.random(len(level)) < 2 * p.EDUCATION_VIOLATIONS))
    lower = level[rows] - rng.integers(1, 4, len(rows)).astype(np.int8)
    fine = (lower >= 3) & allowed[rows, np.maximum(lower, 0)]
    level[rows[fine]] = lower[fine]
    always = rng.random(int(jobs.person[-1]) + 1)[jobs.person] < p.EDUCATION_ALWAYS_MISSING
    level[always | (rng.random(len(level)) < p.EDUCATION_MISSING)] = len(p.EDUCATIONS)
    return level


def _since_degree(jobs: Jobs, education: Integers, year: Integers) -> Integers:
    years = year - jobs.states["degree"]
    code = 1 + np.searchsorted((1, 5, 10, 15, 20, 25, 30), years, side="right")
    code = np.where(jobs.states["education"] < _COLLEGE, 0, code)
    code[education == len(p.EDUCATIONS)] = 9
    return np.asarray(code).astype(np.int8)


def _military(
    persons: Persons, jobs: Jobs, age: Integers, first: Integers, rng: np.random.Generator
) -> Integers:
    """Return months of service: they grow for a few (reserves) and fall in few records."""
    n = len(persons.sex)
    share = np.array([p.VETERANS[sex] for sex in p.SEXES])[persons.sex]
    veteran = rng.random(n) < share
    most = 12 * np.maximum(age[first] - 19, 0)
    months = 12 * rng.choice(np.array((2, 3, 4, 4, 6, 8, 20)), n) + rng.integers(0, 3, n)
    base = np.where(veteran, months, 0)[jobs.person]
    grows = veteran[jobs.person] & (rng.random(len(age)) < p.MILITARY_RISES)
    grows[first] = False
    total = np.cumsum(np.where(grows, 6, 0))
    months_served = np.minimum(base, most) + total - total[first]
    rows = np.flatnonzero((months_served > 12) & (rng.random(len(age)) < p.MILITARY_VIOLATIONS * 4))
    months_served[rows] -= 12
    return np.asarray(months_served).astype(np.int16)


def _program(world: World, persons: Persons, jobs: Jobs, rng: np.random.Generator) -> Integers:
    """Return the field of study: one a person, that of the first occupation for most."""
    n = len(persons.sex)
    fields = programs()
    natural = np.array([fields.index(family.program) for family in FAMILIES])
    field = natural[world.family[persons.occupation]]
    science = world.category[persons.occupation] == CATEGORIES.index("P")
    field = np.where(
        rng.random(n) < np.where(science, 0.9, 0.45), field, rng.integers(0, len(fields), n)
    )
    within = np.minimum(rng.geometric(0.35, n) - 1, PROGRAMS - 1)
    code = 1 + field[jobs.person] * PROGRAMS + within[jobs.person]
    code = np.where(jobs.states["education"] < _COLLEGE, 0, code)
    return np.asarray(code).astype(np.int16)


def simulate(
    persons: int,
    *,
    seed: int = 1,
    first_year: int = p.FIRST_YEAR,
    last_year: int = p.LAST_YEAR,
    block: int = p.BLOCK,
) -> pa.Table:
    """Return a simulated federal workforce; no record is of a real person.

    One row a person and year in post, ordered by person and year, about eight a person over 24
    years; columns COLUMNS. Coded variables are dictionaries, money is whole dollars of the year.
    ``block`` is the number of persons in a block; the result depends on it. 50,000 persons take
    about 300 MB.

    Examples
    --------
    >>> table = simulate(100, first_year=2000, last_year=2003)
    >>> table.column_names[:4], len(table.column_names)
    (['person', 'year', 'agency', 'sex'], 31)
    """
    Problems(problems(persons, seed, first_year, last_year, block)).settle(DataError)
    years = range(first_year, last_year + 1)
    return pa.concat_tables(
        simulate_block(number, size, seed=seed, years=years, block=block)
        for number, size in enumerate(block_sizes(persons, block))
    )


def problems(
    persons: int, seed: int, first_year: int, last_year: int, block: int = p.BLOCK
) -> list[str]:
    """Yield the problems of the arguments of `simulate`."""
    faults = []
    if not 1 <= persons <= p.MAX_PERSONS:
        faults.append(f"persons ({persons}) must be between 1 and {p.MAX_PERSONS}")
    if not 0 <= seed <= MAX_SEED:
        faults.append(f"seed ({seed}) must be between 0 and 2**63 - 1")
    for name, year in (("first_year", first_year), ("last_year", last_year)):
        if not p.FIRST_YEAR <= year <= p.LAST_YEAR:
            faults.append(f"{name} ({year}) must be between {p.FIRST_YEAR} and {p.LAST_YEAR}")
    if first_year > last_year:
        faults.append(f"first_year ({first_year}) must not be after last_year ({last_year})")
    if block < 1:
        faults.append(f"block ({block}) must be at least 1")
    return faults


def block_sizes(persons: int, block: int = p.BLOCK) -> list[int]:
    """Return the number of persons of every block; all but the last have ``block``."""
    full, remainder = divmod(persons, block)
    return [block] * full + [remainder] * (remainder > 0)


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
