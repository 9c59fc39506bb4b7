"""What is recorded about the person: sex, race, education, age, degree, military service.

Recorded values differ a little from true ones: race that is recorded otherwise for a while,
education and military service that fall, education that is missing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from synthesizer.samples.workforce import parameters as p
from synthesizer.samples.workforce.codes import PROGRAMS, programs
from synthesizer.samples.workforce.jobs import Jobs
from synthesizer.samples.workforce.occupations import CATEGORIES, FAMILIES
from synthesizer.samples.workforce.persons import Persons, allowed_educations
from synthesizer.samples.workforce.world import World

__all__ = ["first_rows", "recorded"]

Integers = npt.NDArray[np.integer]
Booleans = npt.NDArray[np.bool_]

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
    other = np.searchsorted(_RACE_WEIGHTS, rng.random(n), side="right").astype(np.int8)
    other = np.where(other == persons.race, (other + 2) % 5, other).astype(np.int8)
    place = np.arange(len(who)) - first
    hit = changes[who] & (place >= begin[who]) & (place < begin[who] + length[who])
    return np.where(hit, other[who], persons.race[who])


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
    found = np.minimum(base, most) + total - total[first]
    rows = np.flatnonzero((found > 12) & (rng.random(len(age)) < p.MILITARY_VIOLATIONS * 4))
    found[rows] -= 12
    return np.asarray(found).astype(np.int16)


def _program(world: World, persons: Persons, jobs: Jobs, rng: np.random.Generator) -> Integers:
    """Return the field of study: one a person, that of the first occupation for most."""
    n = len(persons.sex)
    fields = programs()
    natural = np.array([fields.index(family.program) for family in FAMILIES])
    own = natural[world.family[persons.occupation]]
    science = world.category[persons.occupation] == CATEGORIES.index("P")
    own = np.where(
        rng.random(n) < np.where(science, 0.9, 0.45), own, rng.integers(0, len(fields), n)
    )
    within = np.minimum(rng.geometric(0.35, n) - 1, PROGRAMS - 1)
    code = 1 + own[jobs.person] * PROGRAMS + within[jobs.person]
    code = np.where(jobs.states["education"] < _COLLEGE, 0, code)
    return np.asarray(code).astype(np.int16)
