"""Who enters the simulated workforce: first agency and occupation, sex, race, education, age."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from synthesizer.samples.workforce import parameters as p
from synthesizer.samples.workforce.occupations import CATEGORIES
from synthesizer.samples.workforce.world import World

__all__ = ["Persons", "allowed_educations", "draw_agency", "draw_occupation", "draw_persons"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer]
Booleans = npt.NDArray[np.bool_]

_NATIVE = "INBI HEIH"


@dataclass(frozen=True, kw_only=True, eq=False)
class Persons:
    """Persons at their first period; arrays of shape (n,).

    Parameters
    ----------
    start : ndarray of int16
        Period of entry, from 0; those in post in the first year have 0.
    in_stock : ndarray of bool
        Whether they were in post before the first year.
    agency, occupation : ndarray of int16
        First agency and occupation.
    sex, race, education : ndarray of int8
        Indices of SEXES, RACES and EDUCATIONS.
    birth : ndarray of int16
        Year of birth.
    service : ndarray of int8
        Years of service before the first period.
    temporary, political : ndarray of bool
        Nonpermanent and political appointments.
    """

    start: Integers
    in_stock: Booleans
    agency: Integers
    occupation: Integers
    sex: Integers
    race: Integers
    education: Integers
    birth: Integers
    service: Integers
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
    found = np.searchsorted(cumulative, agency + np.minimum(u, 1 - 1e-9), side="right")
    return np.asarray(found - agency.astype(np.int64) * width).astype(np.int16)


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
    for column, category in enumerate(CATEGORIES):
        for level, weight in p.EDUCATION_BY_CATEGORY[category].items():
            table[:, column, level - 1] = weight
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
    """Return ages at the first period; nobody is too young for the education."""
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
    base = np.array([p.RACE_BY_CATEGORY[c] for c in CATEGORIES])[category]
    base = base * np.exp(p.RACE_TREND * (year - 2000.0))[:, None]
    native = world.places(_NATIVE)[agency]
    base[native] *= 0.5
    base[native, 0] = p.NATIVE_SERVICES
    race = (np.cumsum(base, axis=1) <= rng.random(len(base))[:, None]).sum(axis=1)
    race[rng.random(len(base)) < p.RACE_UNSPECIFIED] = len(p.RACES) - 1
    return np.asarray(race).astype(np.int8)
