"""Who enters the simulated workforce: first agency and occupation, sex, race, education, age."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from synthesizer.data.samples.workforce import constants as p
from synthesizer.data.samples.workforce.constants import CATEGORIES, Booleans, Floats, Integers
from synthesizer.data.samples.workforce.world import World

_NATIVE = "INBI HEIH"


@dataclass(frozen=True, kw_only=True, eq=False)
class Persons:
    """Persons at their first period; arrays of shape (n,)."""

    start: Integers
    """Period of entry, from 0; those in post in the first year have 0."""
    in_stock: Booleans
    """Whether they were in post before the first year."""
    agency: Integers
    occupation: Integers
    """First agency and occupation."""
    sex: Integers
    race: Integers
    education: Integers
    """Indices of SEXES, RACES and EDUCATIONS."""
    birth: Integers
    service: Integers
    """Years of service before the first period."""
    temporary: Booleans
    political: Booleans


def draw_persons(world: World, n: int, years: range, rng: np.random.Generator) -> Persons:
    """Draw n persons who are there in some of the years."""
    start, in_stock = _starts(n, years, rng)
    agency = np.empty(n, dtype=np.int16)
    for t, year in enumerate(years):
        rows = np.flatnonzero(start == t)
        agency[rows] = draw_agency(world, year, rng.random(len(rows)))
    occupation = draw_occupation(world, agency, rng.random(n))
    category = world.category[occupation]
    political = (rng.random(n) < p.POLITICAL) & np.isin(category, (0, 1))
    education = _draw(_education_table(), rng.random(n), world.needs[occupation], category)
    age = _ages(in_stock, education, rng)
    service = np.minimum(rng.exponential(p.STOCK_SERVICE, n), age - 20)
    service = np.where(in_stock & ~political, np.maximum(service, 0), 0)
    return Persons(
        start=start,
        in_stock=in_stock,
        agency=agency,
        occupation=occupation,
        sex=(rng.random(n) >= world.women[occupation]).astype(np.int8),
        race=_races(world, agency, category, start + years[0], rng),
        education=education,
        birth=(start + years[0] - age).astype(np.int16),
        service=service.astype(np.int8),
        temporary=(rng.random(n) < np.where(in_stock, 0.3, 1.0) * p.TEMPORARY) & ~political,
        political=political,
    )


def draw_agency(world: World, year: int, u: Floats) -> Integers:
    """Return agencies that exist in the year, drawn by size."""
    total = np.cumsum(world.size[year - p.FIRST_YEAR])
    return np.asarray(np.searchsorted(total, u * total[-1], side="right")).astype(np.int16)


def draw_occupation(world: World, agency: Integers, u: Floats) -> Integers:
    """Return occupations of the agencies, drawn by their share."""
    cumulative = _cumulative_mix(world)
    width = world.mix.shape[1]
    position = np.searchsorted(cumulative, agency + np.minimum(u, 1 - 1e-9), side="right")
    return np.asarray(position - agency.astype(np.int64) * width).astype(np.int16)


@lru_cache(maxsize=1)
def _cumulative_mix(world: World) -> Floats:
    """Return cumulative shares of all agencies in one ascending array, shape (A * O,)."""
    total = np.cumsum(world.mix, axis=1)
    total /= total[:, -1:]
    return np.asarray((total + np.arange(len(total))[:, None]).ravel())


def allowed_educations() -> Booleans:
    """Return which levels a requirement admits, shape (requirements, levels)."""
    allowed = np.zeros((len(p.REQUIREMENTS), len(p.EDUCATIONS)), dtype=bool)
    for row, levels in enumerate(p.REQUIREMENTS.values()):
        allowed[row, np.array(levels) - 1] = True
    return allowed


@lru_cache(maxsize=1)
def _education_table() -> Floats:
    """Return cumulative shares of levels, shape (requirements, categories, levels)."""
    table = np.zeros((len(p.REQUIREMENTS), len(CATEGORIES), len(p.EDUCATIONS)))
    table[:] = np.array([level.entrants for level in p.EDUCATION_TABLE]).T
    table *= allowed_educations()[:, None, :]
    sums = table.sum(axis=2, keepdims=True)
    bachelor = np.zeros(len(p.EDUCATIONS))
    bachelor[14] = 1.0  # a category whose usual levels are all too low: a first degree in law
    table = np.where(sums > 0, table, bachelor)
    total = table.cumsum(axis=2)
    return np.asarray(total / total[..., -1:])


def _draw(cumulative: Floats, u: Floats, *rows: Integers) -> Integers:
    """Draw codes from cumulative shares, one row of them for each u."""
    return np.asarray((cumulative[rows] <= u[:, None]).sum(axis=1)).astype(np.int8)


def _starts(n: int, years: range, rng: np.random.Generator) -> tuple[Integers, Booleans]:
    knots = p.ENTRIES
    weights = np.interp(np.array(years), list(knots), list(knots.values()))
    weights = np.concatenate([[p.STOCK], weights[1:]])
    drawn = np.searchsorted(np.cumsum(weights) / weights.sum(), rng.random(n), side="right")
    start = np.minimum(drawn, len(years) - 1)
    return start.astype(np.int16), start == 0


def _ages(in_stock: Booleans, education: Integers, rng: np.random.Generator) -> Integers:
    """Return ages at the first period, which are high enough for the education."""
    n = len(education)
    low, mean, shape = p.ENTRANT_AGE
    fresh = low + rng.gamma(shape, mean / shape, n)
    stock = rng.normal(*p.STOCK_AGE, n)
    youngest = 18 + np.array(p.EDUCATION_YEARS)[education]
    age = np.maximum(np.where(in_stock, stock, fresh), youngest + rng.integers(0, 3, n))
    return np.asarray(np.clip(age, *p.AGE_LIMITS)).astype(np.int16)


def _races(
    world: World, agency: Integers, category: Integers, year: Integers, rng: np.random.Generator
) -> Integers:
    base = np.array([row.races for row in p.CATEGORY_TABLE])[category]
    base = base * np.exp(p.RACE_TREND * (year - 2000.0))[:, None]
    native = world.agencies_of(_NATIVE)[agency]
    base[native] *= 0.5
    base[native, 0] = p.NATIVE_SERVICES
    race = (np.cumsum(base, axis=1) <= rng.random(len(base))[:, None]).sum(axis=1)
    race[rng.random(len(base)) < p.RACE_UNSPECIFIED] = len(p.RACES) - 1
    return np.asarray(race).astype(np.int8)


_NEVER = 127


@dataclass(frozen=True, kw_only=True, eq=False)
class Careers:
    """Careers of n persons over T periods."""

    agency: Integers
    """The agency, -1 in years out, shape (T, n)."""
    service: Integers
    """Years of service completed, shape (T, n)."""


def simulate_careers(
    world: World, persons: Persons, years: range, rng: np.random.Generator
) -> Careers:
    """Follow the persons year by year."""
    n = len(persons.start)
    agency, service = persons.agency.copy(), persons.service.copy()
    active = np.zeros(n, dtype=bool)
    back = np.full(n, _NEVER, dtype=np.int8)
    path = np.full((len(years), n), -1, dtype=np.int16)
    served = np.zeros((len(years), n), dtype=np.int8)
    for t, year in enumerate(years):
        fresh = persons.start == t
        returned = back == t
        stayed = active.copy()
        active |= fresh | returned
        moving = stayed & (rng.random(n) < np.where(service < 5, *p.MOVE))
        moving |= returned & (rng.random(n) < p.RETURN_ELSEWHERE)
        rows = np.flatnonzero(moving)
        agency[rows] = _elsewhere(world, agency[rows], year, rng)
        _leave_closed(world, agency, active, year, rng)
        path[t, active] = agency[active]
        served[t] = service
        service += active
        leaving = active & (rng.random(n) < _hazard(persons, service, year))
        active &= ~leaving
        _plan_returns(back, np.flatnonzero(leaving & (year - persons.birth < 55)), t, rng)
    return Careers(agency=path, service=served)


def _hazard(persons: Persons, service: Integers, year: int) -> Floats:
    """Return the probability of leaving after this year, shape (n,)."""
    table = np.array(p.EXIT_BY_SERVICE)
    hazard = table[np.clip(service, 1, len(table)) - 1]
    age = year - persons.birth
    for limit, more in p.EXIT_BY_AGE:
        hazard += np.where((age >= limit) & (service >= 10), more, 0.0)
    hazard[persons.temporary] = p.EXIT_OF_TEMPORARY
    if year + 1 in p.NEW_ADMINISTRATIONS:
        hazard[persons.political] = p.EXIT_WITH_ADMINISTRATION
    return hazard


def _plan_returns(back: Integers, rows: Integers, t: int, rng: np.random.Generator) -> None:
    """Decide who of the persons that leave in period t comes back, and when."""
    away = np.minimum(rng.geometric(p.RETURN_PER_YEAR, len(rows)), 50)
    back[rows] = np.where(rng.random(len(rows)) < p.RETURN, t + 1 + away, _NEVER)


def _elsewhere(world: World, agency: Integers, year: int, rng: np.random.Generator) -> Integers:
    """Draw another agency: of the same department for some, any for the others."""
    anywhere = draw_agency(world, year, rng.random(len(agency)))
    total = np.concatenate([[0.0], np.cumsum(world.size[year - p.FIRST_YEAR])])
    low = np.searchsorted(world.department, world.department[agency], side="left")
    high = np.searchsorted(world.department, world.department[agency], side="right")
    u = total[low] + rng.random(len(agency)) * (total[high] - total[low])
    nearby = np.searchsorted(total[1:], u, side="right").astype(np.int16)
    inside = (rng.random(len(agency)) < p.MOVE_WITHIN_DEPARTMENT) & (total[high] > total[low])
    return np.where(inside, nearby, anywhere)


def _leave_closed(
    world: World, agency: Integers, active: Booleans, year: int, rng: np.random.Generator
) -> None:
    """Bring the people of closed agencies to the heirs, or to other agencies, or out."""
    for _ in range(3):  # the heir of a closed agency may be closed by now
        rows = np.flatnonzero(active & (world.last[agency] < year))
        for closed in np.unique(agency[rows]):
            people = rows[agency[rows] == closed]
            agency[people] = _heirs(world, int(closed), year, rng, len(people))
            if not world.heirs[closed]:
                active[people] = rng.random(len(people)) >= p.LEAVE_CLOSED_AGENCY


def _heirs(world: World, closed: int, year: int, rng: np.random.Generator, n: int) -> Integers:
    heirs = np.array(world.heirs[closed], dtype=np.int16)
    if not len(heirs):
        return draw_agency(world, year, rng.random(n))
    size = world.size[year - p.FIRST_YEAR, heirs] + 1e-12
    return heirs[np.searchsorted(np.cumsum(size) / size.sum(), rng.random(n), side="right")]
