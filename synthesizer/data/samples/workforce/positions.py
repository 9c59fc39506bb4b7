"""What is recorded about the position: appointment, tenure, rank, unit, pay and its supplements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final

import numpy as np

from synthesizer.data.samples.workforce import constants as p
from synthesizer.data.samples.workforce import pay
from synthesizer.data.samples.workforce.constants import Booleans, Floats, Integers
from synthesizer.data.samples.workforce.jobs import Jobs
from synthesizer.data.samples.workforce.persons import Persons
from synthesizer.data.samples.workforce.world import DEPARTMENTS, FAMILIES, World, world

COLUMNS: Final = ("person", "year", *p.VARIABLES)
AMOUNTS: Final = tuple(v.name for v in p.VARIABLES.values() if v.kind == "amount")
"""Variables that are whole numbers; all others are coded."""
APPOINTMENTS: Final = p.VARIABLES["appointment_type"].levels
UNITS: Final = 6
PROGRAMS: Final = 8


def programs() -> tuple[int, ...]:
    """Return the two-digit fields of study in order; the codes of ``instructional_program``."""
    return tuple(sorted({family.program for family in FAMILIES}))


@lru_cache(maxsize=1)
def levels() -> Mapping[str, tuple[str, ...]]:
    """Return the levels of every coded variable."""
    units = (f"{d + 1:02d}{u}0" for d in range(len(DEPARTMENTS)) for u in range(UNITS))
    fields = (f"{field:02d}.{k:02d}" for field in programs() for k in range(1, PROGRAMS + 1))
    generated = {
        "agency": world().agencies,
        "occupation": world().occupations,
        "instructional_program": ("00.00", *fields),
        "bargaining_unit": ("7777", "8888", *units),
        "pay_plan": tuple(p.PLANS),
    }
    return MappingProxyType(
        {v.name: v.levels or generated[v.name] for v in p.VARIABLES.values() if v.kind != "amount"}
    )


_P, _A, _T, _C, _O, _B = range(len(p.CATEGORIES))
_EXCEPTED = "DJFB DDEA ARNG AFNG HSTS TDTS TDFA ARIN STST ZZ"
_SCIENCE = (4, 8, 13, 15)
_SPECIAL = (6, 8, 15, 22)
_ES, _GM = pay.PLAN_NAMES.index("ES"), pay.PLAN_NAMES.index("GM")
_VM = pay.PLAN_NAMES.index("VM")
_HOURLY = np.array([plan.hourly for plan in p.PLANS.values()])


@dataclass(frozen=True, kw_only=True, eq=False)
class _Rows:
    """What the functions below need of every row; arrays of shape (rows,)."""

    person: Integers
    n: int
    year: Integers
    agency: Integers
    occupation: Integers
    service: Integers
    plan: Integers
    grade: Integers
    category: Integers
    supervisor: Booleans
    temporary: Booleans
    political: Booleans
    executive: Booleans
    rng: np.random.Generator

    def fixed(self) -> Floats:
        """Return a uniform number for every person, repeated on the rows."""
        return self.rng.random(self.n)[self.person]


def positions(
    world: World, persons: Persons, jobs: Jobs, year: Integers, rng: np.random.Generator
) -> dict[str, Integers]:
    """Return the codes and amounts of the variables of the position, each of shape (rows,)."""
    s = jobs.states
    rows = _Rows(
        person=jobs.person,
        n=len(persons.sex),
        year=year,
        **{name: s[name] for name in ("agency", "occupation", "service", "plan", "grade")},
        category=world.category[s["occupation"]],
        supervisor=s["supervisor"] == 1,
        temporary=persons.temporary[jobs.person],
        political=persons.political[jobs.person],
        executive=s["plan"] == _ES,
        rng=rng,
    )
    appointment, tenure = _appointment(world, rows)
    status = _status(rows)
    basic = _basic_pay(rows, s["step"])
    return {
        "agency": rows.agency,
        "occupation": rows.occupation,
        "occupational_category": rows.category,
        "functional_class": _function(world, rows),
        "flsa": _flsa(rows),
        "appointment_type": appointment,
        "political_appointee": np.where(rows.political, 1 + rows.executive, 0).astype(np.int8),
        "position_occupied": _occupied(rows, appointment),
        "tenure": tenure,
        "supervisory_status": status,
        "bargaining_unit": _unit(world, rows),
        "pay_plan": rows.plan,
        "grade": _grade_codes()[rows.plan, rows.grade],
        "step": np.where(pay.STEPPED[rows.plan], s["step"] + 1, 0).astype(np.int8),
        "pay_basis": _HOURLY[rows.plan].astype(np.int8),
        "work_schedule": s["schedule"],
        "pay_rate_determinant": _determinant(world, rows, s["demoted"]),
        "basic_pay": basic,
        **_supplements(world, rows, basic),
    }


def _grade_codes() -> Integers:
    """Return the code of the grade's label by plan and grade."""
    labels = p.VARIABLES["grade"].levels
    codes = np.zeros(pay.FIRST.shape, dtype=np.int8)
    for row, plan in enumerate(p.PLANS.values()):
        codes[row, : len(plan.grades)] = [labels.index(grade) for grade in plan.grades]
    return codes


def _appointment(world: World, rows: _Rows) -> tuple[Integers, Integers]:
    code = {name: number for number, name in enumerate(APPOINTMENTS)}
    career = rows.service >= 3
    excepted = world.agencies_of(_EXCEPTED)[rows.agency]
    medical = np.array([family.code == 6 for family in FAMILIES])[world.family[rows.occupation]]
    excepted |= medical & (world.category[rows.occupation] == _P)
    excepted |= np.array([o in ("0905", "0904") for o in world.occupations])[rows.occupation]
    schedule_a = rows.fixed() < 0.15
    authority = np.where(career, code["10"], code["15"])
    authority = np.where(excepted | (rows.fixed() < 0.03), code["38"], authority)
    authority = np.where((authority == code["38"]) & schedule_a, code["30"], authority)
    lasting = authority < code["30"]
    lasting &= rows.fixed() < 0.6
    brief = np.where(schedule_a, code["40"], code["48"])
    brief = np.where(lasting, code["20"], brief)
    authority = np.where(rows.temporary, brief, authority)
    authority = np.where(rows.political, code["44"], authority)
    senior = np.where(rows.political, code["55"], code["50"])
    authority = np.where(rows.executive, senior, authority).astype(np.int8)
    tenure = np.where(rows.temporary, np.where(schedule_a, 3, 0), np.where(career, 1, 2))
    tenure = np.where(rows.political, 0, np.where(rows.executive, 1, tenure))
    return authority, tenure.astype(np.int8)


def _occupied(rows: _Rows, appointment: Integers) -> Integers:
    competitive = appointment <= APPOINTMENTS.index("20")
    senior = np.where(rows.fixed() < 0.5, 2, 3)
    return np.where(rows.executive, senior, np.where(competitive, 0, 1)).astype(np.int8)


def _status(rows: _Rows) -> Integers:
    kind = rows.fixed()
    boss = np.where(kind < 0.85, 0, np.where(kind < 0.94, 1, 2))
    leader = np.isin(rows.plan, (pay.PLAN_NAMES.index("WL"),))
    team = np.isin(rows.category, (_P, _A)) & (kind > 0.955) & (rows.service >= 3)
    others = np.where(leader, 3, np.where(team, 4, 5))
    return np.where(rows.supervisor, boss, others).astype(np.int8)


def _function(world: World, rows: _Rows) -> Integers:
    """Return the functional class of specialists in science and engineering; 0 for others."""
    families = np.array([family.code in _SCIENCE for family in FAMILIES])
    science = families[world.family[rows.occupation]] & (rows.category == _P)
    n_classes = len(p.VARIABLES["functional_class"].levels) - 1
    usual = (rows.agency * 7 + rows.occupation * 3) % n_classes
    personal = (rows.fixed() * n_classes).astype(np.int64)
    classes = np.where(rows.fixed() < 0.6, usual, personal)
    random = rows.rng.integers(0, n_classes, len(classes))
    classes = np.where(rows.rng.random(len(classes)) < 0.03, random, classes)
    return np.where(science, 1 + classes, 0).astype(np.int8)


def _flsa(rows: _Rows) -> Integers:
    general = pay.TWO_STEP[rows.plan]
    high = np.where(general, rows.grade >= 10, np.isin(rows.category, (_P, _A)))
    high = high & np.isin(rows.category, (_P, _A)) | rows.supervisor | rows.executive
    return np.asarray(high == (rows.fixed() < 0.03)).astype(np.int8)


def _unit(world: World, rows: _Rows) -> Integers:
    department = world.department[rows.agency].astype(np.int64)
    unit = (rows.agency + np.where(rows.category == _B, 1, 0) + 2 * (rows.category == _P)) % UNITS
    organised = np.where(rows.category == _B, 0.92, np.where(rows.category == _P, 0.7, 0.82))
    code = np.where(rows.fixed() < organised, 2 + department * UNITS + unit, 0)
    barred = rows.supervisor | rows.executive | rows.political | rows.temporary
    intelligence = world.agencies_of("DJFB ARIN ZZNU")[rows.agency]
    top = len(DEPARTMENTS) * UNITS + 1
    return np.where(barred | intelligence, 1, np.minimum(code, top)).astype(np.int16)


def _determinant(world: World, rows: _Rows, demoted: Integers) -> Integers:
    special = np.array([family.code in _SPECIAL for family in FAMILIES])
    special_rate = special[world.family[rows.occupation]] & (rows.fixed() < 0.2)
    special_rate &= pay.TWO_STEP[rows.plan] & (rows.grade <= 10)
    since = rows.year - demoted
    retained = np.where(since < 2, 2, np.where(since < 4, 3, 0))
    return np.where(retained > 0, retained, special_rate).astype(np.int8)


def _basic_pay(rows: _Rows, step: Integers) -> Integers:
    """Look the pay up; a few records of plans with steps hold that of a neighbouring step."""
    u = rows.rng.random(len(step))
    top = pay.STEPS[rows.plan] - 1
    aside = np.where(u < p.PAY_DEVIATIONS / 2, -1, 1)
    aside = np.where(step == 0, 1, np.where(step == top, -1, aside))
    odd = (u < p.PAY_DEVIATIONS) & pay.STEPPED[rows.plan]
    return pay.basic_pay(rows.plan, rows.grade, np.where(odd, step + aside, step), rows.year)


def _supplements(world: World, rows: _Rows, basic: Integers) -> dict[str, Integers]:
    rates = np.array([rate for rate, _ in p.LOCALITIES])
    shares = np.cumsum([share for _, share in p.LOCALITIES])
    area = np.searchsorted(shares, (rows.fixed() + rows.agency * 0.137) % 1, side="right")
    done = (rows.year - p.LOCALITY_SINCE) / (p.LAST_YEAR - p.LOCALITY_SINCE)
    rate = rates[np.minimum(area, len(rates) - 1)] * (0.3 + 0.7 * done)
    senior = rows.executive & (rows.year >= 2004)
    none = (rows.year < p.LOCALITY_SINCE) | _HOURLY[rows.plan] | senior | (rows.plan == _VM)
    scarce = (world.grade[rows.occupation] >= 13) & (rows.category == _P)
    has_allowance = rows.fixed() < p.RETENTION * np.where(scarce, 4, 1)
    percent = 5 * (1 + (rows.fixed() * 5).astype(np.int64))
    allowance = np.where(has_allowance & (rows.service >= 2), basic * percent // 100, 0)
    extra = rows.supervisor & (rows.fixed() < p.DIFFERENTIAL) & ~rows.executive
    differential = np.where(extra, 100 * (5 + (rows.fixed() * 40).astype(np.int64)), 0)
    return {
        "locality_adjustment": np.where(none, 0, np.rint(basic * rate)).astype(np.int32),
        "retention_allowance": allowance.astype(np.int32),
        "supervisory_differential": differential.astype(np.int32),
    }
