"""No record of this simulation is of a real person: these invented, rounded numbers make them.

Shares are set by hand, rounded, so that sizes look like those of the federal civil service; years
and annual raises of the General Schedule are public facts. The longer tables, in the same
spirit, are the files in ``lists``.

Pay gaps: ``GAPS`` is what is injected, as a shift of the log pay towards which a person is
promoted, in the first and the last year with a straight line between. Since pay comes from a
table, a gap acts through the first grade and step and through the speed of promotion, so that a
regression finds nearly, not exactly, what was injected. ``COEFFICIENTS`` is what it finds.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from synthesizer.data.samples.workforce.code_lists import code_list

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer]
Booleans = npt.NDArray[np.bool_]

FIRST_YEAR: Final = 1988
LAST_YEAR: Final = 2011
MAX_PERSONS: Final = 50_000_000
BLOCK: Final = 50_000
"""Persons that are simulated together; block b holds persons b * BLOCK + 1 and on."""

# --- Who is there, and for how long -----------------------------------------------------------
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

# --- Who they are -------------------------------------------------------------------------------
SEXES: Final = ("F", "M")
RACES: Final = ("AIAN", "Asian", "Black", "Hispanic", "White", "unspecified")
RACE_BRIDGES: Final = (*RACES[:2], "NHPI", *RACES[2:5], "two or more", RACES[5])
RACE_BY_CATEGORY: Final[Mapping[str, tuple[float, float, float, float]]] = MappingProxyType(
    {
        "P": (0.012, 0.085, 0.090, 0.050),
        "A": (0.012, 0.035, 0.165, 0.070),
        "T": (0.030, 0.040, 0.210, 0.085),
        "C": (0.022, 0.035, 0.270, 0.080),
        "O": (0.020, 0.025, 0.180, 0.130),
        "B": (0.025, 0.050, 0.170, 0.075),
    }
)
"""Shares of the first four races in 2000 by occupational category; the rest is white."""
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
AGE_RANGES: Final = (
    *("15-19", "20-24", "25-29", "30-34", "35-39", "40-44", "45-49"),
    *("50-54", "55-59", "60-64", "65-69", "70-74", "75+"),
)

EDUCATIONS: Final = tuple(f"{code:02d}" for code in range(1, 23))
"""Codes of the Office of Personnel Management: 04 high school, 13 bachelor's, 17 master's, ..."""
EDUCATION_YEARS: Final = (
    *(0.0, 0.0, 0.0, 0.0, 0.5, 1.0, 0.5, 1.0, 2.0, 2.0, 3.0),
    *(4.0, 4.0, 5.0, 7.0, 8.0, 6.0, 7.0, 6.0, 7.0, 8.0, 9.0),
)
"""Years of schooling after high school, by level."""
EDUCATION_BY_CATEGORY: Final[Mapping[str, Mapping[int, float]]] = MappingProxyType(
    {
        "P": {10: 8, 12: 3, 13: 48, 14: 4, 15: 5, 16: 0.3, 17: 26, 18: 2, 21: 8, 22: 0.7},
        "A": {4: 22, 6: 1, 7: 5, 8: 4, 9: 4, 10: 7, 11: 3, 12: 3, 13: 33, 14: 2, 15: 1, 17: 16}
        | {18: 0.5, 19: 0.2, 20: 0.1, 21: 1},
        "T": {3: 1, 4: 46, 5: 1, 6: 5, 7: 8, 8: 6, 9: 6, 10: 12, 11: 3, 12: 2, 13: 9, 17: 1},
        "C": {3: 2, 4: 58, 5: 1, 6: 5, 7: 9, 8: 6, 9: 5, 10: 6, 11: 2, 12: 1, 13: 5, 17: 0.5},
        "O": {3: 1, 4: 40, 6: 2, 7: 9, 8: 7, 9: 7, 10: 9, 11: 3, 12: 2, 13: 18, 17: 2},
        "B": {1: 4, 2: 1, 3: 6, 4: 65, 5: 2, 6: 8, 7: 5, 8: 3, 9: 2, 10: 3, 13: 1},
    }
)
"""Relative frequency of levels among entrants, before what the occupation requires."""
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
EDUCATION_TYPICAL: Final[Mapping[str, float]] = MappingProxyType(
    {"P": 4.7, "A": 2.7, "T": 1.0, "C": 0.7, "O": 1.3, "B": 0.3}
)
"""Years of schooling after high school at which the aimed pay is that of the occupation."""
NEXT_EDUCATION: Final[Mapping[int, int]] = MappingProxyType(
    {4: 7, 5: 6, 6: 10, 7: 8, 8: 9, 9: 10, 10: 13, 11: 12, 12: 13, 13: 17, 14: 17, 15: 16}
    | {17: 18, 18: 21, 19: 20, 20: 21, 21: 22}
)
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

# --- Pay ----------------------------------------------------------------------------------------
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
GRADE_SHIFT: Final = MappingProxyType({"P": 0.4, "A": 0.4, "T": 0.7, "C": 1.2, "O": 0.5, "B": 0.2})
"""Added to the grades of ``occupations.py`` by occupational category."""
PERSON_SD: Final = MappingProxyType({"P": 0.17, "A": 0.17, "T": 0.1, "C": 0.1, "O": 0.1, "B": 0.1})
"""Standard deviation of the person effect on the aimed log pay, by first category."""
AGENCY_SD: Final = 0.03
ENTRY_DISCOUNT: Final = 0.12
"""Mean log distance below the aimed pay at which an entrant begins."""
PROMOTION: Final = (0.8, 0.11, 0.055)
"""Highest yearly share; shortfall of log pay at which half of it is promoted; width."""
DEMOTION: Final = 0.002
QUALITY_STEP: Final = 0.02
GAPS: Final[Mapping[tuple[str, str], tuple[float, float]]] = MappingProxyType(
    {
        ("M", "AIAN"): (-0.030, -0.008),
        ("M", "Asian"): (-0.055, -0.025),
        ("M", "Black"): (-0.045, -0.027),
        ("M", "Hispanic"): (-0.040, -0.018),
        ("F", "AIAN"): (-0.034, -0.020),
        ("F", "Asian"): (-0.018, -0.002),
        ("F", "Black"): (0.006, -0.012),
        ("F", "Hispanic"): (-0.026, -0.016),
    }
)
"""Gap of log pay to white persons of the same sex in 1988 and in 2011."""
COEFFICIENTS: Final[Mapping[str, Mapping[str, float]]] = MappingProxyType(
    {
        "M": {"AIAN": -0.0265, "Asian": -0.0428, "Black": -0.0418, "Hispanic": -0.0329}
        | {"age": 0.0410, "age2": -0.00035, "education": 0.0230},
        "F": {"AIAN": -0.0343, "Asian": -0.0120, "Black": -0.0048, "Hispanic": -0.0263}
        | {"age": 0.0419, "age2": -0.00035, "education": 0.0222},
    }
)
"""What the regression of log basic pay on race, age (middle of the range), its square and years of
education, with effects of year, agency and occupation, finds: the mean of two files of 600,000
persons. Tolerance, three standard errors (clustered by person) of one such file: 0.008 AIAN,
0.006 Asian, 0.003 Black, 0.005 Hispanic, 0.0005 age, 0.0008 education; it shrinks with the root of
the number of persons. Gaps of one year follow ``GAPS`` with some delay."""
COEFFICIENT_OF_WOMEN: Final = -0.024
"""The same for women among white persons of both sexes."""
LOCALITY_SINCE: Final = 1994
LOCALITIES: Final = (
    *((0.1416, 0.52), (0.2422, 0.20), (0.2872, 0.06), (0.2716, 0.06)),
    *((0.3515, 0.03), (0.2510, 0.05), (0.1943, 0.08)),
)
"""Rate in 2011 and share of persons of the locality areas; rates grow from 30 % of it in 1994."""
RETENTION: Final = 0.004
DIFFERENTIAL: Final = 0.01

# The pay plans of the simulated workforce: a formula for each table, and who is on which plan.


class Plan(NamedTuple):
    """A pay plan: labels of its grades, first steps in dollars of 2011, number of steps."""

    grades: tuple[str, ...]
    first: tuple[float, ...]
    steps: int
    increment: float
    stepped: bool = True
    hourly: bool = False
    two_step: bool = False
    lag: float = 0.0


class Rule(NamedTuple):
    """Who is on a plan: categories or series, departments or bureaus, share, years."""

    plan: str
    who: str
    where: str
    share: float = 1.0
    first: int = 0
    last: int = 9999


def _numbered(n: int) -> tuple[str, ...]:
    return tuple(f"{grade:02d}" for grade in range(1, n + 1))


def _geometric(first: float, ratio: float, n: int) -> tuple[float, ...]:
    return tuple(first * ratio**k for k in range(n))


_GENERAL: Final = tuple(
    27_400 * 1.106 ** (min(g, 11) - 5) * 1.187 ** max(g - 11, 0) for g in range(1, 16)
)
_LETTERS: Final = tuple("ABCDEFGHIJKLM")

PLANS: Final[dict[str, Plan]] = {
    "GS": Plan(_numbered(15), _GENERAL, 10, 1 / 30, two_step=True),
    "GM": Plan(_numbered(15), _GENERAL, 10, 1 / 30, stepped=False, two_step=True),
    "GG": Plan(_numbered(15), _GENERAL, 10, 1 / 30, two_step=True),
    "WG": Plan(_numbered(15), _geometric(24_500, 1.062, 15), 5, 0.04, hourly=True),
    "WL": Plan(_numbered(15), _geometric(27_000, 1.062, 15), 5, 0.04, hourly=True),
    "WS": Plan(_numbered(18), _geometric(34_500, 1.048, 18), 5, 0.04, hourly=True),
    "VN": Plan(_numbered(5), _geometric(44_000, 1.23, 5), 12, 0.03),
    "VM": Plan(("15",), (97_000.0,), 40, 0.025, stepped=False),
    "SV": Plan(_LETTERS, _geometric(17_000, 1.165, 13), 25, 0.02, stepped=False),
    "AT": Plan(_numbered(12), _geometric(36_000, 1.1, 12), 25, 0.02, stepped=False),
    "FV": Plan(_LETTERS, _geometric(19_000, 1.17, 13), 25, 0.02, stepped=False),
    "NH": Plan(_numbered(4), (17_803, 27_431, 60_274, 84_697), 60, 0.014, stepped=False),
    "YA": Plan(_numbered(3), (27_000, 41_000, 84_000), 60, 0.016, stepped=False),
    "DB": Plan(_numbered(5), (17_803, 33_900, 60_274, 84_697, 110_000), 50, 0.015, stepped=False),
    "AD": Plan(("00",), (20_000.0,), 120, 0.06, stepped=False),
    "TP": Plan(("00",), (38_000.0,), 15, 0.05, stepped=True),
    "FP": Plan(tuple(f"{g:02d}" for g in range(9, 0, -1)), _geometric(28_500, 1.18, 9), 14, 0.03),
    "CG": Plan(_numbered(15), _geometric(21_000, 1.14, 15), 25, 0.025, stepped=False),
    "SK": Plan(_numbered(17), _geometric(22_000, 1.125, 17), 31, 0.02),
    "IR": Plan(_numbered(9), _geometric(50_000, 1.12, 9), 20, 0.02, stepped=False),
    "ES": Plan(("00",), (119_554.0,), 25, 0.02, stepped=False, lag=0.1),
}

RULES: Final = code_list("plan_rules", Rule)
"""Later rules take precedence; a share picks (agency, occupation) pairs, once for all."""
