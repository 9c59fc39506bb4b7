"""What the simulated persons do: occupation, pay plan, grade and step from year to year.

Every year a person has an aimed pay: that of the occupation, an age curve, years of education,
the gap of sex and race, an agency effect and a person effect. Entrants are placed below it;
a promotion is the likelier the further pay is below the aim; steps come by waiting. So pay
always is that of a grade and step, and the gaps of the parameters act through both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from synthesizer.data.samples.workforce import constants as p
from synthesizer.data.samples.workforce import pay
from synthesizer.data.samples.workforce.constants import CATEGORIES, Booleans, Floats, Integers
from synthesizer.data.samples.workforce.persons import (
    Careers,
    Persons,
    allowed_educations,
    draw_occupation,
)
from synthesizer.data.samples.workforce.world import World

SAME_TABLE: Final = tuple(pay.PLAN_NAMES.index(name) for name in ("GS", "GM", "GG"))
"""Plans with the table of the General Schedule: changes between them keep grade and step."""


class State:
    """The current values of all persons, each of shape (n,); changed from year to year."""

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
        spread = np.array([category.person_sd for category in p.CATEGORY_TABLE])
        self.effect = rng.normal(0, spread[world.category[persons.occupation]])
        self.started = np.zeros(n, dtype=bool)


def _degrees(persons: Persons, years: range, rng: np.random.Generator) -> Integers:
    """Return the year of the degree: at the usual age or somewhat later, not after entry."""
    n = len(persons.start)
    age = np.array(p.EDUCATION_YEARS)[persons.education] + 18 + rng.gamma(1.2, 2.0, n)
    return np.minimum(persons.birth + age, persons.start + years[0]).astype(np.int16)


def _ladder(s: State, idx: Integers) -> Integers:
    return (s.world.category[s.occupation[idx]] < 2).astype(np.int8)


def enter(s: State, idx: Integers, plan: Integers, aim: Floats, rng: np.random.Generator) -> None:
    """Give entrants their first grade and step, those in post since long theirs."""
    n = len(idx)
    old = s.persons.in_stock[idx]
    below = np.where(old, rng.normal(0.02, 0.05, n), p.ENTRY_DISCOUNT * rng.gamma(2.0, 0.5, n))
    slack = np.minimum(rng.random(n) * np.where(old, 7.0, 2.5), pay.STEPS[plan] - 1)
    s.plan[idx] = plan
    s.grade[idx], s.step[idx] = pay.nearest_grade(plan, _ladder(s, idx), aim - below, slack)
    wait = pay.WAIT[plan, s.step[idx]] * rng.random(n)
    s.wait[idx] = np.where(old, wait, 0)
    s.since[idx] = old


def convert(s: State, idx: Integers, plan: Integers, rng: np.random.Generator) -> None:
    """Bring persons to another plan at about the same pay."""
    now = pay.log_pay(s.plan[idx], s.grade[idx], s.step[idx])
    s.plan[idx] = plan
    slack = rng.random(len(idx)) * 2
    s.grade[idx], s.step[idx] = pay.nearest_grade(plan, _ladder(s, idx), now + 0.01, slack)
    s.wait[idx] = 0
    s.since[idx] = 0


def progress(s: State, idx: Integers, aim: Floats, year: int, rng: np.random.Generator) -> None:
    """Promote some, give the others their step, demote a few."""
    plan, grade = s.plan[idx], s.grade[idx]
    now = pay.log_pay(plan, grade, s.step[idx])
    short = aim - now
    following = pay.NEXT[_ladder(s, idx), plan, grade]
    most, half, width = p.PROMOTION
    chance = most / (1 + np.exp(-(short - half) / width))
    chance[(following == grade) | (s.since[idx] < 1)] = 0
    chance[np.log(pay.FIRST[plan, following]) > now + 0.25] = 0
    up = rng.random(len(idx)) < chance
    _step_up(s, idx[~up], short[~up], rng)
    _promote(s, idx[up], following[up], now[up])
    down = ~up & (rng.random(len(idx)) < p.DEMOTION) & (grade > 0) & pay.STEPPED[plan]
    down &= np.isfinite(pay.FIRST[plan, grade - 1])
    _demote(s, idx[down], year)
    _make_executives(s, idx, short, rng)


def _promote(s: State, idx: Integers, following: Integers, now: Floats) -> None:
    """Pay after a promotion is at least two steps higher (one grade up at least)."""
    plan = s.plan[idx]
    rise = 2 * np.minimum(pay.INCREMENT[plan], 0.035) * pay.FIRST[plan, s.grade[idx]]
    s.grade[idx] = following
    s.step[idx] = pay.step_reaching(plan, following, np.log(np.exp(now) + rise))
    s.wait[idx] = 0
    s.since[idx] = 0


def _step_up(s: State, idx: Integers, short: Floats, rng: np.random.Generator) -> None:
    """Within-grade increases: by waiting; plans without steps reward by merit."""
    plan = s.plan[idx]
    s.since[idx] = np.minimum(s.since[idx] + 1, 100)
    s.wait[idx] += 1
    due = s.wait[idx] >= pay.WAIT[plan, s.step[idx]]
    u = rng.random(len(idx))
    due |= u < np.where(short > 0, 2 * p.QUALITY_STEP, 0.0)
    stepped = pay.STEPPED[plan]
    merit = np.where(u < 1 / (1 + np.exp(-short / 0.05)), rng.integers(1, 4, len(idx)), 0)
    rise = np.where(stepped, due, np.minimum(merit, 0.06 / pay.INCREMENT[plan]))
    top = pay.STEPS[plan] - 1
    moved = idx[due | ~stepped]
    s.step[idx] = np.minimum(s.step[idx] + rise.astype(np.int8), top)
    s.wait[moved] = 0


def _demote(s: State, idx: Integers, year: int) -> None:
    """One grade down on the ladder, at the step nearest to the old pay."""
    now = pay.log_pay(s.plan[idx], s.grade[idx], s.step[idx])
    s.grade[idx] -= 1
    s.step[idx] = pay.step_reaching(s.plan[idx], s.grade[idx], now)
    s.demoted[idx] = year
    s.wait[idx] = 0
    s.since[idx] = 0


def _make_executives(s: State, idx: Integers, short: Floats, rng: np.random.Generator) -> None:
    """A few at the top of the General Schedule enter the Senior Executive Service next year."""
    top = np.isin(s.plan[idx], SAME_TABLE) & (s.grade[idx] == 14) & (s.supervisor[idx] == 1)
    chance = np.where(top, 0.08, 0.0) * (1 + np.sign(short))
    s.executive[idx[rng.random(len(idx)) < chance]] = True


_GS, _GM, _ES = (pay.PLAN_NAMES.index(name) for name in ("GS", "GM", "ES"))
_WG, _WL, _WS = (pay.PLAN_NAMES.index(name) for name in ("WG", "WL", "WS"))
_REDRAWS = 6
_FALLBACK = ("0303", "0301")
_STATES = (
    *("occupation", "plan", "grade", "step", "supervisor", "schedule"),
    *("education", "degree", "demoted"),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Jobs:
    """One row a person and year in post, ordered by person and year; arrays of shape (rows,)."""

    person: Integers
    """Position of the person in the block."""
    period: Integers
    """From 0."""
    states: dict[str, Integers]
    """``agency``, ``service`` and the codes of occupation, plan, grade, step, supervisor (0/1),
    schedule, education (true level), degree (year of it), demoted (year, 0 never)."""


_NEXT_EDUCATION = np.array([p.EDUCATIONS.index(e.next) for e in p.EDUCATION_TABLE], dtype=np.int8)
_TYPICAL_YEARS = np.array([category.education for category in p.CATEGORY_TABLE])


def simulate_jobs(
    world: World, persons: Persons, careers: Careers, years: range, rng: np.random.Generator
) -> Jobs:
    """Follow the persons through the years in which they are in post."""
    state = State(world, persons, years, rng)
    rows: list[Integers] = []
    columns: dict[str, list[Integers]] = {name: [] for name in (*_STATES, "agency", "service")}
    for t, year in enumerate(years):
        idx = np.flatnonzero(careers.agency[t] >= 0)
        agency = careers.agency[t, idx]
        _advance(state, idx, agency, careers.service[t, idx], year, rng)
        rows.append(idx)
        columns["agency"].append(agency)
        columns["service"].append(careers.service[t, idx])
        for name in _STATES:
            columns[name].append(getattr(state, name)[idx])
    person = np.concatenate(rows).astype(np.int32)
    period = np.repeat(np.arange(len(years), dtype=np.int8), [len(idx) for idx in rows])
    order = np.argsort(person, kind="stable")
    states = {name: np.concatenate(parts)[order] for name, parts in columns.items()}
    return Jobs(person=person[order], period=period[order], states=states)


def _advance(
    s: State,
    idx: Integers,
    agency: Integers,
    service: Integers,
    year: int,
    rng: np.random.Generator,
) -> None:
    """Bring the persons at positions idx to this year."""
    fresh = ~s.started[idx]
    s.started[idx] = True
    _study(s, idx[~fresh], year, rng)
    _reschedule(s, idx[~fresh], rng)
    changed = _change_occupation(s, idx, agency, fresh, rng)
    _supervise(s, idx, service, fresh, rng)
    aim = _aim(s, idx, agency, year)
    plan = _plan_of(s, idx, agency, year)
    enter(s, idx[fresh], plan[fresh], aim[fresh], rng)
    stay = ~fresh
    moved = stay & (plan != s.plan[idx])
    same_table = np.isin(plan, SAME_TABLE) & np.isin(s.plan[idx], SAME_TABLE)
    s.plan[idx[moved & same_table]] = plan[moved & same_table]
    convert(s, idx[moved & ~same_table], plan[moved & ~same_table], rng)
    go = stay & ~moved
    progress(s, idx[go], aim[go], year, rng)
    # who changes the occupation may be promoted next year
    s.since[idx[changed]] = np.maximum(s.since[idx[changed]], 1)


def _study(s: State, idx: Integers, year: int, rng: np.random.Generator) -> None:
    young = year - s.persons.birth[idx] < 40
    up = idx[rng.random(len(idx)) < np.where(young, *p.EDUCATION_RISES)]
    following = _NEXT_EDUCATION[s.education[up]]
    fine = (following != s.education[up]) & _admits(s, s.occupation[up], following)
    s.education[up[fine]] = following[fine]
    s.degree[up[fine]] = year


def _reschedule(s: State, idx: Integers, rng: np.random.Generator) -> None:
    who = idx[rng.random(len(idx)) < p.SCHEDULE_CHANGES]
    s.schedule[who] = np.searchsorted(np.cumsum(p.SCHEDULES), rng.random(len(who)), side="right")


def _admits(s: State, occupation: Integers, education: Integers) -> Booleans:
    return np.asarray(allowed_educations()[s.world.needs[occupation], education])


def _change_occupation(
    s: State, idx: Integers, agency: Integers, fresh: Booleans, rng: np.random.Generator
) -> Booleans:
    """Redraw occupations that the agency does not have, and some others; return which."""
    foreign = s.world.mix[agency, s.occupation[idx]] <= 0
    willing = ~fresh & (rng.random(len(idx)) < p.CHANGE_OF_OCCUPATION)
    open_ = np.flatnonzero(foreign | willing)
    old = s.occupation[idx].copy()
    for _ in range(_REDRAWS):
        candidate = draw_occupation(s.world, agency[open_], rng.random(len(open_)))
        who = idx[open_]
        now = s.occupation[who]
        rise = s.world.grade[candidate] - s.world.grade[now]
        fine = _admits(s, candidate, s.education[who]) & (rise > -1.5) & (rise < 4)
        blue = CATEGORIES.index("B")
        fine &= (s.world.category[candidate] == blue) == (s.world.category[now] == blue)
        s.occupation[who[fine]] = candidate[fine]
        open_ = open_[~fine]
    lost = open_[foreign[open_]]
    clerk, specialist = (s.world.occupations.index(code) for code in _FALLBACK)
    low = s.world.grade[s.occupation[idx[lost]]] < 9
    s.occupation[idx[lost]] = np.where(low, clerk, specialist)
    return np.asarray(s.occupation[idx] != old)


def _supervise(
    s: State, idx: Integers, service: Integers, fresh: Booleans, rng: np.random.Generator
) -> None:
    category = s.world.category[s.occupation[idx]]
    grade = s.world.grade[s.occupation[idx]]
    rise = np.where(category < 2, np.where(grade >= 12, 0.028, 0.016), 0.008)
    rise = np.where(service >= 4, rise, 0.0)
    u = rng.random(len(idx))
    now = s.supervisor[idx]
    share = np.where(
        fresh & (service > 0), np.minimum(rise * 7, 0.25), np.where(now == 1, 0.97, rise)
    )
    s.supervisor[idx] = (u < share) | s.executive[idx]


def _aim(s: State, idx: Integers, agency: Integers, year: int) -> Floats:
    """Return the aimed log pay in dollars of 2011, shape (len(idx),)."""
    who, occupation = s.persons, s.occupation[idx]
    age = (year - who.birth[idx]).astype(np.float64)
    aim = np.log(pay.general_pay(s.world.grade))[occupation]
    aim += p.AGE_SLOPE * (age - p.AGE_OF_GRADE) + p.AGE_CURVE * (age**2 - p.AGE_OF_GRADE**2)
    typical = _TYPICAL_YEARS[s.world.category[occupation]]
    aim += p.EDUCATION_SLOPE * (np.array(p.EDUCATION_YEARS)[s.education[idx]] - typical)
    aim += _gaps(year)[who.sex[idx], who.race[idx]]
    aim += s.world.agency_effect[agency] + s.effect[idx]
    return np.asarray(aim)


def _gaps(year: int) -> Floats:
    """Return the injected gaps of a year by sex and race."""
    done = (year - p.FIRST_YEAR) / (p.LAST_YEAR - p.FIRST_YEAR)
    gaps = np.zeros((len(p.SEXES), len(p.RACES)))
    gaps[p.SEXES.index("F")] = p.WOMEN
    for gap in p.GAPS:
        cell = p.SEXES.index(gap.sex), p.RACES.index(gap.race)
        gaps[cell] += gap.first + done * (gap.last - gap.first)
    return gaps


def _plan_of(s: State, idx: Integers, agency: Integers, year: int) -> Integers:
    """Return the plan that agency, occupation and rank have in this year."""
    plan = s.world.plan[year - p.FIRST_YEAR, agency, s.occupation[idx]].copy()
    boss = s.supervisor[idx] == 1
    plan[(plan == _WG) & s.leader[idx]] = _WL
    plan[np.isin(plan, (_WG, _WL)) & boss] = _WS
    high = (s.grade[idx] >= 12) & (s.plan[idx] == _GS) | (s.plan[idx] == _GM)
    plan[(plan == _GS) & boss & high & (year <= 1993)] = _GM
    plan[s.executive[idx] & (s.world.category[s.occupation[idx]] < 2)] = _ES
    return np.asarray(plan)
