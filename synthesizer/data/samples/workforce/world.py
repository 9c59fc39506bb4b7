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
from synthesizer.data.samples.workforce.constants import (
    CATEGORIES,
    PLANS,
    Booleans,
    Floats,
    Integers,
    code_list,
)


class Department(NamedTuple):
    """A department: size and number of its unnamed bureaus, yearly trend of its entrants."""

    code: str
    rest: float
    bureaus: int
    trend: float
    first: int = 0


class Bureau(NamedTuple):
    """A bureau that is set by hand; closed after ``last``, its people go to ``heirs``."""

    code: str
    size: float
    first: int = 0
    last: int = 9999
    heirs: tuple[str, ...] = ()


class Small(NamedTuple):
    """Rules for the unnamed bureaus."""

    spread: float
    renamed: float
    founded: float
    closed: float


N_AGENCIES: Final = 607
SMALL: Final = Small(spread=1.7, renamed=0.12, founded=0.12, closed=0.08)
"""Standard deviation of log size; shares renamed, founded, closed in 1990-2010."""

DEPARTMENTS: Final = {d.code: d for d in code_list("departments", Department)}
"""The unnamed bureaus of ``ZZ`` are as many as bring the number of agencies to N_AGENCIES."""

BUREAUS: Final = code_list("bureaus", Bureau)

N_OCCUPATIONS: Final = 803


class Family(NamedTuple):
    """An occupational group: its unnamed series, and where the group is at home."""

    code: int
    rest: float
    series: int
    category: str
    grade: float
    women: float
    needs: str
    home: str
    program: int


class Series(NamedTuple):
    """An occupation; ``only`` restricts it to departments or bureaus."""

    code: int
    size: float
    category: str
    grade: float
    women: float
    needs: str
    only: str = ""


FAMILIES: Final = code_list("families", Family)

SERIES: Final = code_list("series", Series)


class Rule(NamedTuple):
    """Who is on a plan: categories or series, departments or bureaus, share, years."""

    plan: str
    who: str
    where: str
    share: float
    first: int
    last: int


RULES: Final = code_list("plan_rules", Rule)
"""Later rules take precedence; a share picks (agency, occupation) pairs, once for all."""


_SEED = 1988
_SMALLEST = 0.004
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
    """Indices of FAMILIES, CATEGORIES, REQUIREMENTS, shape (O,)."""
    grade: Floats
    women: Floats
    """Aimed grade (General Schedule), share of women, shape (O,)."""
    plan: Integers
    """Index of the pay plan, shape (Y, A, O)."""

    def places(self, tokens: str) -> Booleans:
        """Return which agencies begin with one of the codes (all, if there is none)."""
        return _places(self.agencies, tokens)


@lru_cache(maxsize=1)
def world() -> World:
    """Build the world (a second of work), or return the one built before."""
    rng = np.random.Generator(np.random.PCG64DXSM(_SEED))
    bureaus = _bureaus(rng)
    codes = tuple(bureau.code for bureau in bureaus)
    order = {code: number for number, code in enumerate(codes)}
    series, family = _series(rng)
    departments = [tuple(DEPARTMENTS).index(code[:2]) for code in codes]
    size = _sizes(bureaus)
    category = np.array([CATEGORIES.index(s.category) for s in series], dtype=np.int8)
    return World(
        agencies=codes,
        department=np.array(departments, dtype=np.int16),
        first=np.array([bureau.first for bureau in bureaus], dtype=np.int16),
        last=np.array([bureau.last for bureau in bureaus], dtype=np.int16),
        heirs=tuple(tuple(order[heir] for heir in bureau.heirs) for bureau in bureaus),
        size=size,
        agency_effect=rng.normal(0, p.AGENCY_SD, len(codes)),
        occupations=tuple(f"{s.code:04d}" for s in series),
        mix=_mix(rng, bureaus, size.mean(axis=0), series, family),
        family=family,
        category=category,
        needs=np.array([tuple(p.REQUIREMENTS).index(s.needs) for s in series], dtype=np.int8),
        grade=np.array(
            [s.grade + p.CATEGORY_TABLE[CATEGORIES.index(s.category)].grade_shift for s in series]
        ),
        women=np.array([s.women for s in series]),
        plan=_plans(rng, codes, series),
    )


def _bureaus(rng: np.random.Generator) -> list[Bureau]:
    """Return all agencies, those of a department together."""
    unnamed = {code: d.bureaus for code, d in DEPARTMENTS.items()}
    renamed = {code: round(SMALL.renamed * n) for code, n in unnamed.items()}
    left = N_AGENCIES - len(BUREAUS) - sum(unnamed.values()) - sum(renamed.values())
    renamed["ZZ"] = round(left * SMALL.renamed / (1 + SMALL.renamed))
    unnamed["ZZ"] = left - renamed["ZZ"]
    bureaus = []
    for code, department in DEPARTMENTS.items():
        bureaus += [b for b in BUREAUS if b.code[:2] == code]
        bureaus += _small(rng, code, department.rest, unnamed[code], renamed[code])
    return bureaus


def _small(
    rng: np.random.Generator, code: str, total: float, number: int, renamed: int
) -> list[Bureau]:
    """Draw the unnamed bureaus of a department; the first ``renamed`` change their code."""
    weights = np.exp(SMALL.spread * rng.normal(size=number))
    sizes = np.maximum(total * weights / weights.sum(), _SMALLEST)
    years = rng.integers(1990, 2010, number)
    fate = rng.random(number)
    names = [f"{code}{k // 26}{chr(65 + k % 26)}" for k in range(number + renamed)]
    start = DEPARTMENTS[code].first
    bureaus = []
    for k in range(number):
        first, last, heirs = start, 9999, ()
        year = max(int(years[k]), start + 2)
        if k < renamed:
            bureaus.append(Bureau(names[k], sizes[k], start, year, (names[number + k],)))
            bureaus.append(Bureau(names[number + k], sizes[k], year + 1))
            continue
        if fate[k] < SMALL.founded:
            first = year
        elif fate[k] < SMALL.founded + SMALL.closed:
            last = year
        bureaus.append(Bureau(names[k], sizes[k], first, last, heirs))
    return bureaus


def _sizes(bureaus: list[Bureau]) -> Floats:
    years = np.array(_YEARS)[:, None]
    size = np.array([bureau.size for bureau in bureaus])
    first = np.array([bureau.first for bureau in bureaus])
    last = np.array([bureau.last for bureau in bureaus])
    trend = np.array([DEPARTMENTS[bureau.code[:2]].trend for bureau in bureaus])
    there = (first <= years) & (years <= last)
    size = np.where(there, size * np.exp(trend * (years - 2000)), 0.0)
    return np.asarray(size / size.sum(axis=1, keepdims=True))


def _series(rng: np.random.Generator) -> tuple[list[Series], Integers]:
    """Return all occupations in order of their code, and the family of each."""
    series = {s.code: s for s in SERIES}
    for family in FAMILIES:
        weights = np.exp(1.3 * rng.normal(size=family.series))
        sizes = np.maximum(family.rest * weights / max(weights.sum(), 1e-9), _SMALLEST)
        free = [c for c in range(family.code * 100, family.code * 100 + 99) if c not in series]
        codes = rng.choice(np.array(free), family.series, replace=False)
        kind = rng.random(family.series)
        shift = rng.normal(0, 0.8, family.series)
        women = np.clip(family.women * np.exp(rng.normal(0, 0.3, family.series)), 0.01, 0.97)
        for k, code in enumerate(codes):
            category, grade, needs = family.category, family.grade + shift[k], family.needs
            if category in "PA" and kind[k] < 0.28:  # assistants beside the specialists
                category, needs = ("T" if kind[k] < 0.2 else "C"), "none"
                grade = 7.0 + shift[k] if category == "T" else 5.0 + 0.5 * shift[k]
            low = 1.0 if category == "B" else 3.0
            grade = float(np.clip(grade, low, 15))
            item = Series(int(code), sizes[k], category, grade, float(women[k]), needs)
            series[int(code)] = item
    if len(series) != N_OCCUPATIONS:
        raise AssertionError(f"there are {len(series)} occupations, not {N_OCCUPATIONS}")
    groups = [family.code for family in FAMILIES]
    codes_in_order = sorted(series)
    family_of = np.array([groups.index(code // 100) for code in codes_in_order], dtype=np.int8)
    return [series[code] for code in codes_in_order], family_of


def _places(codes: tuple[str, ...], tokens: str) -> Booleans:
    starts = tuple(tokens.split())
    return np.array([not starts or code.startswith(starts) for code in codes])


def _mix(
    rng: np.random.Generator,
    bureaus: list[Bureau],
    size: Floats,
    series: list[Series],
    family: Integers,
) -> Floats:
    """Fit shares of occupations by agency to the sizes of both (iterative proportional fitting)."""
    codes = tuple(bureau.code for bureau in bureaus)
    jobs = np.array([s.size for s in series])
    jobs = jobs / jobs.sum()
    like = np.empty((len(codes), len(series)))
    for o, (item, group) in enumerate(zip(series, family, strict=True)):
        home = _places(codes, item.only or FAMILIES[group].home)
        away = 0.0 if item.only else _ABROAD_BLUE if item.category == "B" else 1 / _HOME
        like[:, o] = np.where(home, 1.0, away)
    like *= np.exp(rng.normal(0, 0.5, like.shape))
    expected = _STOCK * size[:, None] * jobs * like
    sparse = rng.random(like.shape) > expected / 1.5 + 0.01
    everywhere = np.array([s.code in _EVERYWHERE for s in series])
    like[sparse & ~everywhere] = 0.0
    _inherit(like, bureaus, codes)
    for _ in range(30):
        like *= jobs / np.maximum((size[:, None] * like).sum(axis=0), 1e-12)
        like /= like.sum(axis=1, keepdims=True)
    return like


def _inherit(like: Floats, bureaus: list[Bureau], codes: tuple[str, ...]) -> None:
    """Give the heir of a renamed bureau the same occupations."""
    for a, bureau in enumerate(bureaus):
        if bureau.code[2].isdigit() and bureau.heirs:
            like[codes.index(bureau.heirs[0])] = like[a]


def _plans(rng: np.random.Generator, codes: tuple[str, ...], series: list[Series]) -> Integers:
    """Return the plan of every year, agency and occupation by the rules."""
    chance = rng.random((len(codes), len(series)))
    plan = np.zeros((len(_YEARS), len(codes), len(series)), dtype=np.int8)
    for rule in RULES:
        who = rule.who.split()
        rows = _places(codes, rule.where)[:, None]
        columns = np.array([s.category in who or str(s.code) in who for s in series])
        hit = rows & columns & (chance < rule.share)
        for t, year in enumerate(_YEARS):
            if rule.first <= year <= rule.last:
                plan[t][hit] = tuple(PLANS).index(rule.plan)
    return plan
