"""What changes from year to year about a person in post."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from synthesizer.data.samples.workforce import constants as p
from synthesizer.data.samples.workforce.persons import Persons
from synthesizer.data.samples.workforce.world import CATEGORIES, World

Integers = npt.NDArray[np.integer]


class State:
    """The current values of all persons, each of shape (n,); changed from year to year.

    Parameters
    ----------
    world, persons
        Where and who they are; not changed.
    years : range
        Fiscal years.
    """

    def __init__(
        self, world: World, persons: Persons, years: range, rng: np.random.Generator
    ) -> None:
        n = len(persons.start)
        self.world = world
        self.persons = persons
        self.occupation = persons.occupation.copy()
        self.education = persons.education.copy()
        self.degree = _degrees(persons, years, rng)
        self.plan = np.zeros(n, dtype=np.int8)
        self.grade = np.zeros(n, dtype=np.int8)
        self.step = np.zeros(n, dtype=np.int8)
        self.wait = np.zeros(n, dtype=np.int8)
        self.since = np.zeros(n, dtype=np.int8)  # years in grade
        self.demoted = np.zeros(n, dtype=np.int16)
        ready = persons.in_stock & (world.grade[persons.occupation] >= 12)
        chance = np.where(persons.political, p.NONCAREER, np.where(ready, p.EXECUTIVES, 0.0))
        self.executive = rng.random(n) < chance
        self.supervisor = np.zeros(n, dtype=np.int8)
        schedule = np.searchsorted(np.cumsum(p.SCHEDULES), rng.random(n), side="right")
        self.schedule = schedule.astype(np.int8)
        self.leader = rng.random(n) < p.LEADERS
        spread = np.array([p.PERSON_SD[c] for c in CATEGORIES])
        self.effect = rng.normal(0, spread[world.category[persons.occupation]])
        self.started = np.zeros(n, dtype=bool)


def _degrees(persons: Persons, years: range, rng: np.random.Generator) -> Integers:
    """Return the year of the degree: at the usual age or somewhat later, not after entry."""
    n = len(persons.start)
    age = np.array(p.EDUCATION_YEARS)[persons.education] + 18 + rng.gamma(1.2, 2.0, n)
    return np.minimum(persons.birth + age, persons.start + years[0]).astype(np.int16)
