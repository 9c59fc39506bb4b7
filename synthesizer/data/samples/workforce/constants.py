"""No record of this simulation is of a real person: these invented, rounded numbers make them.

Shares are set by hand, rounded, so that sizes look like those of the federal civil service; years
and annual raises of the General Schedule are public facts. The longer tables, in the same
spirit, are the files in ``lists``.

Pay gaps: ``GAPS`` is what is injected, as a shift of the log pay towards which a person is
promoted, in the first and the last year with a straight line between. Since pay comes from a
table, a gap acts through the first grade and step and through the speed of promotion, so that a
regression finds nearly, not exactly, what was injected.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar, get_type_hints

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer]
Booleans = npt.NDArray[np.bool_]
R = TypeVar("R")

_READ: Final[Mapping[object, Callable[[str], Any]]] = {
    str: str,
    int: int,
    float: float,
    bool: lambda text: text == "1",
    tuple[str, ...]: lambda text: tuple(text.split("|") if "|" in text else text.split()),
    tuple[float, ...]: lambda text: tuple(map(float, text.split())),
}


def code_list(name: str, kind: Callable[..., R]) -> tuple[R, ...]:
    """Return the rows of a file in ``lists``, with fields of the annotated types."""
    hints = get_type_hints(kind)
    text = files(__package__).joinpath("lists", f"{name}.csv").read_text(encoding="utf-8")
    return tuple(
        kind(**{field: _READ[hints[field]](row[field]) for field in hints})
        for row in csv.DictReader(text.splitlines())
    )


FIRST_YEAR: Final = 1988
LAST_YEAR: Final = 2011
MAX_PERSONS: Final = 50_000_000
BLOCK: Final = 50_000
"""Persons that are simulated together; block b holds persons b * BLOCK + 1 and on."""

STOCK: Final = 10.9
"""Persons in post in the first year, in multiples of a year's mean number of entrants."""
ENTRIES: Final[Mapping[int, float]] = MappingProxyType(
    {1988: 1.2, 1992: 1.0, 1994: 0.7, 1999: 0.75, 2002: 1.25, 2006: 1.05, 2009: 1.4, 2011: 1.0}
)
"""Entrants relative to the mean; straight lines between these years."""
EXIT_BY_SERVICE: Final = (0.21, 0.145, 0.105, 0.09, 0.075, 0.065, 0.055, 0.05, 0.043, 0.037)
"""Share that leaves after 1, 2, ... years of service; the last holds from 10 years on."""
EXIT_BY_AGE: Final = ((55, 0.045), (60, 0.07), (65, 0.1))
"""Added from this age on, for those with ten years of service (retirement)."""
EXIT_OF_TEMPORARY: Final = 0.45
EXIT_WITH_ADMINISTRATION: Final = 0.85
NEW_ADMINISTRATIONS: Final = (1989, 1993, 2001, 2009)
RETURN: Final = 0.17
"""Share of those who leave before 55 who come back; years out are geometric, at least one."""
RETURN_PER_YEAR: Final = 0.4
RETURN_ELSEWHERE: Final = 0.3
"""Share of those who come back to another agency."""
MOVE: Final = (0.035, 0.013)
"""Share that changes the agency in a year: in the first five years of service, later."""
MOVE_WITHIN_DEPARTMENT: Final = 0.6
LEAVE_CLOSED_AGENCY: Final = 0.5
CHANGE_OF_OCCUPATION: Final = 0.025
TEMPORARY: Final = 0.12
"""Share of entrants on nonpermanent appointments."""
POLITICAL: Final = 0.004
NONCAREER: Final = 0.35
"""Share of political appointees in the Senior Executive Service."""
EXECUTIVES: Final = 0.009
"""Share of executives among specialists of high grades already in post in the first year."""
LEADERS: Final = 0.06
"""Share of blue-collar workers who lead others."""
SCHEDULES: Final = (0.925, 0.035, 0.015, 0.025)
"""Full-time, part-time, intermittent, seasonal."""
SCHEDULE_CHANGES: Final = 0.02
"""Share whose schedule is drawn anew in a year."""


class FileVariable(NamedTuple):
    """A variable of the simulated file; some levels follow from the other lists."""

    name: str
    kind: str
    """``coded``, ``ordered`` or ``amount``, a whole number."""
    levels: tuple[str, ...]
    meaning: str


VARIABLES: Final = {variable.name: variable for variable in code_list("variables", FileVariable)}
"""The 29 variables in column order."""
SEXES: Final = VARIABLES["sex"].levels
RACES: Final = VARIABLES["race"].levels
RACE_BRIDGES: Final = VARIABLES["race_bridge"].levels
AGE_RANGES: Final = VARIABLES["age_range"].levels


class Category(NamedTuple):
    """An occupational category: who is in it, and how they are paid."""

    code: str
    races: tuple[float, ...]
    """Shares of the first four races in 2000; the rest is white."""
    education: float
    """Years of schooling after high school at which the aimed pay is that of the occupation."""
    grade_shift: float
    """Added to the grades of the occupations."""
    person_sd: float
    """Standard deviation of the person effect on the aimed log pay, by first category."""


CATEGORY_TABLE: Final = code_list("categories", Category)
CATEGORIES: Final = tuple(category.code for category in CATEGORY_TABLE)
"""Professional, administrative, technical, clerical, other white-collar, blue-collar."""
RACE_TREND: Final = 0.012
"""Yearly change of the log odds of the first four races among those who enter."""
RACE_UNSPECIFIED: Final = 0.0006
RACE_CHANGES: Final = 0.0317
"""Share of persons with two years or more whose recorded race changes (2.7 % of all persons)."""
RACE_CHANGES_BACK: Final = 0.5
NATIVE_SERVICES: Final = 0.6
"""Share of AIAN in the Bureau of Indian Affairs and the Indian Health Service."""
TWO_OR_MORE: Final = 0.012
NHPI_AMONG_ASIAN: Final = 0.07
BRIDGE_SINCE: Final = 2006

ENTRANT_AGE: Final = (19, 15.5, 1.7)
"""Lowest, mean years above it, shape of the gamma distribution."""
STOCK_AGE: Final = (43.0, 10.5)
AGE_LIMITS: Final = (17, 72)
STOCK_SERVICE: Final = 12.0


class Education(NamedTuple):
    """A level: years of schooling after high school, and the level that follows it."""

    code: str
    years: float
    next: str
    entrants: tuple[float, ...]
    """Frequency among entrants by category, before what the occupation requires."""


EDUCATION_TABLE: Final = code_list("educations", Education)
EDUCATIONS: Final = tuple(level.code for level in EDUCATION_TABLE)
"""Codes of the Office of Personnel Management: 04 high school, 13 bachelor's, 17 master's, ..."""
EDUCATION_YEARS: Final = tuple(level.years for level in EDUCATION_TABLE)
REQUIREMENTS: Final[Mapping[str, tuple[int, ...]]] = MappingProxyType(
    {
        "none": tuple(range(1, 23)),
        "school": tuple(range(4, 23)),
        "college": tuple(range(10, 23)),
        "bachelor": tuple(range(13, 23)),
        "professional": (15, 16, 21, 22),
    }
)
"""Levels that an occupation admits; all other pairs are impossible."""
EDUCATION_RISES: Final = (0.025, 0.006)
"""Yearly share that reaches the next level: below 40 years of age, later."""
EDUCATION_ALWAYS_MISSING: Final = 0.01
EDUCATION_MISSING: Final = 0.009
EDUCATION_VIOLATIONS: Final = 0.0025
"""Share of records that report a lower level than an earlier record."""
MISSING: Final = "*"

VETERANS: Final[Mapping[str, float]] = MappingProxyType({"F": 0.1, "M": 0.42})
MILITARY_RISES: Final = 0.012
MILITARY_VIOLATIONS: Final = 0.0015

RAISES: Final = (
    *(2.0, 4.1, 3.6, 4.1, 4.2, 3.7, 0.0, 2.0, 2.0, 2.3, 2.3, 3.1),
    *(3.8, 2.7, 3.6, 3.1, 2.7, 2.5, 2.1, 1.7, 2.5, 2.9, 1.5, 0.0),
)
"""Raise of the General Schedule in January of 1988 ... 2011, per cent."""
PAY_DEVIATIONS: Final = 0.02
"""Share of records of plans with steps that hold the pay of a neighbouring step."""
WAITS: Final = (1, 1, 1, 2, 2, 2, 3, 3, 3)
"""Years in steps 1 ... 9 of the General Schedule before the next."""
AGE_OF_GRADE: Final = 39
"""Age at which the aimed pay is that of the grade of the occupation."""
AGE_SLOPE: Final = 0.036
AGE_CURVE: Final = -0.00034
EDUCATION_SLOPE: Final = 0.021
WOMEN: Final = -0.02
"""Injected: log pay of women relative to men of the same race group, all years."""
AGENCY_SD: Final = 0.03
ENTRY_DISCOUNT: Final = 0.12
"""Mean log distance below the aimed pay at which an entrant begins."""
PROMOTION: Final = (0.8, 0.11, 0.055)
"""Highest yearly share; shortfall of log pay at which half of it is promoted; width."""
DEMOTION: Final = 0.002
QUALITY_STEP: Final = 0.02


class PayGap(NamedTuple):
    """Gap of log pay to white persons of the same sex in 1988 and in 2011."""

    sex: str
    race: str
    first: float
    last: float


GAPS: Final = code_list("gaps", PayGap)
LOCALITY_SINCE: Final = 1994
LOCALITIES: Final = (
    *((0.1416, 0.52), (0.2422, 0.20), (0.2872, 0.06), (0.2716, 0.06)),
    *((0.3515, 0.03), (0.2510, 0.05), (0.1943, 0.08)),
)
"""Rate in 2011 and share of persons of the locality areas; rates grow from 30 % of it in 1994."""
RETENTION: Final = 0.004
DIFFERENTIAL: Final = 0.01


class PayPlan(NamedTuple):
    """A pay plan: labels of its grades, and a formula for its table."""

    code: str
    grades: tuple[str, ...]
    first: tuple[float, ...]
    """First steps in dollars of 2011: of every grade, of the first one if there is a ratio; none
    where the table is that of the General Schedule."""
    ratio: str
    """Of the first step of a grade to that of the grade below."""
    steps: int
    increment: float
    stepped: bool
    hourly: bool
    two_step: bool

    def first_steps(self) -> tuple[float, ...]:
        """Return the first step of every grade in dollars of 2011."""
        if not self.first:
            return tuple(
                27_400 * 1.106 ** (min(g, 11) - 5) * 1.187 ** max(g - 11, 0) for g in range(1, 16)
            )
        if not self.ratio:
            return self.first
        return tuple(self.first[0] * float(self.ratio) ** k for k in range(len(self.grades)))


PLANS: Final = {plan.code: plan for plan in code_list("plans", PayPlan)}
