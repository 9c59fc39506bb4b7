"""The fixed world of the simulated workforce: its agencies, its occupations, which go together.

Everything here is the same for every seed of the simulator, so that files of different size and
seed have the same codes, the same impossible pairs and the same agency effects.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from synthesizer.data.samples.workforce import constants as p
from synthesizer.data.samples.workforce.constants import Booleans, Floats, Integers


class Department(NamedTuple):
    """A department, and the yearly trend of its entrants."""

    code: str
    trend: float


class Bureau(NamedTuple):
    """An agency; closed after ``last``, its people go to ``heirs``."""

    code: str
    size: float
    first: int
    last: int
    heirs: tuple[str, ...]


DEPARTMENTS: Final = {d.code: d for d in p.code_list("departments", Department)}

BUREAUS: Final = p.code_list("bureaus", Bureau)
"""The 607 agencies, those of a department together."""


class OccupationGroup(NamedTuple):
    """An occupational group, and where it is at home."""

    code: int
    home: str
    program: int


class Occupation(NamedTuple):
    """An occupation; ``only`` restricts it to departments or bureaus."""

    code: int
    size: float
    category: str
    grade: float
    women: float
    needs: str
    only: str


FAMILIES: Final = p.code_list("families", OccupationGroup)

SERIES: Final = p.code_list("series", Occupation)
"""The 803 occupations in order of their code."""


class PlanRule(NamedTuple):
    """Who is on a plan: categories or series, departments or bureaus, share, years."""

    plan: str
    who: str
    where: str
    share: float
    first: int
    last: int


RULES: Final = p.code_list("plan_rules", PlanRule)
"""Later rules take precedence; a share picks (agency, occupation) pairs, once for all."""


_SEED = 1988
_DRAWN = 4_519
"""Numbers that were drawn for the lists of agencies and occupations, before all others."""
_YEARS = range(p.FIRST_YEAR, p.LAST_YEAR + 1)
_EVERYWHERE = (301, 303, 318, 341, 343, 501, 905, 2210)
_HOME = 8.0
_ABROAD_BLUE = 0.05
_STOCK = 1.2e6


@dataclass(frozen=True, kw_only=True, eq=False)
class World:
    """Tables of the fixed world; A agencies, O occupations, Y years from FIRST_YEAR."""

    agencies: tuple[str, ...]
    department: Integers
    """Index of the department; agencies of one department are neighbours, shape (A,)."""
    first: Integers
    last: Integers
    """Years in which the agency exists, shape (A,)."""
    heirs: tuple[tuple[int, ...], ...]
    """Agencies that take over the people when it closes."""
    size: Floats
    """Share of the agency among entrants of a year; rows sum to 1, shape (Y, A)."""
    agency_effect: Floats
    """Shift of log pay, shape (A,)."""
    occupations: tuple[str, ...]
    """Codes in order; A = 607 and O = 803."""
    mix: Floats
    """Share of each occupation in an agency; 0 for pairs that do not occur, shape (A, O)."""
    family: Integers
    category: Integers
    needs: Integers
    """Indices of FAMILIES, p.CATEGORIES, REQUIREMENTS, shape (O,)."""
    grade: Floats
    women: Floats
    """Aimed grade (General Schedule), share of women, shape (O,)."""
    plan: Integers
    """Index of the pay plan, shape (Y, A, O)."""

    def agencies_of(self, tokens: str) -> Booleans:
        """Return which agencies begin with one of the codes (all, if there is none)."""
        return _agencies_of(self.agencies, tokens)


@lru_cache(maxsize=1)
def world() -> World:
    """Build the world (a second of work), or return the one built before."""
    rng = np.random.Generator(np.random.PCG64DXSM(_SEED).advance(_DRAWN))
    codes = tuple(bureau.code for bureau in BUREAUS)
    order = {code: number for number, code in enumerate(codes)}
    groups = [family.code for family in FAMILIES]
    family = np.array([groups.index(item.code // 100) for item in SERIES], dtype=np.int8)
    departments = [tuple(DEPARTMENTS).index(code[:2]) for code in codes]
    size = _sizes()
    category = np.array([p.CATEGORIES.index(s.category) for s in SERIES], dtype=np.int8)
    return World(
        agencies=codes,
        department=np.array(departments, dtype=np.int16),
        first=np.array([bureau.first for bureau in BUREAUS], dtype=np.int16),
        last=np.array([bureau.last for bureau in BUREAUS], dtype=np.int16),
        heirs=tuple(tuple(order[heir] for heir in bureau.heirs) for bureau in BUREAUS),
        size=size,
        agency_effect=rng.normal(0, p.AGENCY_SD, len(codes)),
        occupations=tuple(f"{s.code:04d}" for s in SERIES),
        mix=_mix(rng, codes, size.mean(axis=0), family),
        family=family,
        category=category,
        needs=np.array([tuple(p.REQUIREMENTS).index(s.needs) for s in SERIES], dtype=np.int8),
        grade=np.array(
            [s.grade + p.CATEGORY_TABLE[p.CATEGORIES.index(s.category)].grade_shift for s in SERIES]
        ),
        women=np.array([s.women for s in SERIES]),
        plan=_plans(rng, codes),
    )


def _sizes() -> Floats:
    years = np.array(_YEARS)[:, None]
    size = np.array([bureau.size for bureau in BUREAUS])
    first = np.array([bureau.first for bureau in BUREAUS])
    last = np.array([bureau.last for bureau in BUREAUS])
    trend = np.array([DEPARTMENTS[bureau.code[:2]].trend for bureau in BUREAUS])
    there = (first <= years) & (years <= last)
    size = np.where(there, size * np.exp(trend * (years - 2000)), 0.0)
    return np.asarray(size / size.sum(axis=1, keepdims=True))


def _agencies_of(codes: tuple[str, ...], tokens: str) -> Booleans:
    starts = tuple(tokens.split())
    return np.array([not starts or code.startswith(starts) for code in codes])


def _mix(
    rng: np.random.Generator, codes: tuple[str, ...], size: Floats, family: Integers
) -> Floats:
    """Fit shares of occupations by agency to the sizes of both (iterative proportional fitting)."""
    jobs = np.array([s.size for s in SERIES])
    jobs = jobs / jobs.sum()
    like = np.empty((len(codes), len(SERIES)))
    for o, (item, group) in enumerate(zip(SERIES, family, strict=True)):
        home = _agencies_of(codes, item.only or FAMILIES[group].home)
        away = 0.0 if item.only else _ABROAD_BLUE if item.category == "B" else 1 / _HOME
        like[:, o] = np.where(home, 1.0, away)
    like *= np.exp(rng.normal(0, 0.5, like.shape))
    expected = _STOCK * size[:, None] * jobs * like
    sparse = rng.random(like.shape) > expected / 1.5 + 0.01
    everywhere = np.array([s.code in _EVERYWHERE for s in SERIES])
    like[sparse & ~everywhere] = 0.0
    for a, bureau in enumerate(BUREAUS):  # the heir of a renamed bureau has the same occupations
        if bureau.code[2].isdigit() and bureau.heirs:
            like[codes.index(bureau.heirs[0])] = like[a]
    for _ in range(30):
        like *= jobs / np.maximum((size[:, None] * like).sum(axis=0), 1e-12)
        like /= like.sum(axis=1, keepdims=True)
    return like


def _plans(rng: np.random.Generator, codes: tuple[str, ...]) -> Integers:
    """Return the plan of every year, agency and occupation by the rules."""
    chance = rng.random((len(codes), len(SERIES)))
    plan = np.zeros((len(_YEARS), len(codes), len(SERIES)), dtype=np.int8)
    for rule in RULES:
        who = rule.who.split()
        rows = _agencies_of(codes, rule.where)[:, None]
        columns = np.array([s.category in who or str(s.code) in who for s in SERIES])
        hit = rows & columns & (chance < rule.share)
        for t, year in enumerate(_YEARS):
            if rule.first <= year <= rule.last:
                plan[t][hit] = tuple(p.PLANS).index(rule.plan)
    return plan
