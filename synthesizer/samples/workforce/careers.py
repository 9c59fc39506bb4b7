"""In which years the simulated persons are in post, and where: entries, moves, gaps, exits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synthesizer.samples.workforce import parameters as p
from synthesizer.samples.workforce.persons import Persons, draw_agency
from synthesizer.samples.workforce.world import World

__all__ = ["Careers", "simulate_careers"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer]
Booleans = npt.NDArray[np.bool_]

_NEVER = 127


@dataclass(frozen=True, kw_only=True, eq=False)
class Careers:
    """Careers of n persons over T periods.

    Parameters
    ----------
    agency : ndarray of int16, shape (T, n)
        The agency, -1 in years out.
    service : ndarray of int8, shape (T, n)
        Years of service completed.
    """

    agency: Integers
    service: Integers


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
    near = np.searchsorted(total[1:], u, side="right").astype(np.int16)
    inside = (rng.random(len(agency)) < p.MOVE_WITHIN_DEPARTMENT) & (total[high] > total[low])
    return np.where(inside, near, anywhere)


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
