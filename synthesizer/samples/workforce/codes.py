"""The columns of the simulated file and the levels of the coded ones."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from synthesizer.samples.workforce import parameters as p
from synthesizer.samples.workforce.agencies import DEPARTMENTS
from synthesizer.samples.workforce.occupations import CATEGORIES, FAMILIES
from synthesizer.samples.workforce.plans import PLANS
from synthesizer.samples.workforce.world import world

__all__ = ["AMOUNTS", "APPOINTMENTS", "COLUMNS", "LEVELS_OF", "VARIABLES", "levels"]

VARIABLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "agency": "Bureau; the first two characters are the department",
        "sex": "F or M",
        "race": "Race or national origin as recorded",
        "race_bridge": "Race and ethnicity; NHPI and two or more since 2006",
        "education": "Education level, 01-22; * is missing",
        "age_range": "Age in ranges of five years",
        "years_since_degree": "Years since the degree; none without one, * is missing",
        "military_service": "Months of military service",
        "occupation": "Occupational series; the first two digits are the family",
        "instructional_program": "Field of study; 00.00 without college",
        "occupational_category": "P, A, T, C, O or B (PATCOB)",
        "functional_class": "Work of scientists and engineers; 00 for others",
        "flsa": "E exempt from or N covered by the Fair Labor Standards Act",
        "appointment_type": "Type of appointment",
        "political_appointee": "Type of political appointment",
        "position_occupied": "1 competitive, 2 excepted, 3-4 Senior Executive Service",
        "tenure": "0 none, 1 permanent, 2 conditional, 3 indefinite",
        "supervisory_status": "2-5 supervisors, 6-7 leaders, 8 all others",
        "bargaining_unit": "Unit; 7777 eligible without a unit, 8888 not eligible",
        "pay_plan": "Pay plan",
        "grade": "Grade, class or band of the pay plan",
        "step": "Step; 00 in plans without steps",
        "pay_basis": "PA per annum, PH per hour",
        "work_schedule": "F full-time, P part-time, I intermittent, G seasonal",
        "pay_rate_determinant": "0 regular, 6 special rate, A retained grade, J retained pay",
        "locality_adjustment": "Locality pay, dollars a year (since 1994)",
        "basic_pay": "Basic pay of the plan's table, dollars a year",
        "retention_allowance": "Dollars a year",
        "supervisory_differential": "Dollars a year",
    }
)
"""The 29 variables in column order, with what they are."""

COLUMNS: Final = ("person", "year", *VARIABLES)
AMOUNTS: Final = (
    *("military_service", "locality_adjustment", "basic_pay"),
    *("retention_allowance", "supervisory_differential"),
)
"""Variables that are whole numbers; all others are coded."""

APPOINTMENTS: Final = ("10", "15", "20", "30", "38", "40", "44", "48", "50", "55")
"""10 career, 15 career-conditional, 20 nonpermanent competitive; 30, 38 excepted permanent, 40, 48
excepted nonpermanent, 44 schedule C; 50 career and 55 noncareer senior executives."""

DEGREES: Final = ("none", "0", "1-4", "5-9", "10-14", "15-19", "20-24", "25-29", "30+", p.MISSING)
UNITS: Final = 6
PROGRAMS: Final = 8

LEVELS_OF: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "sex": p.SEXES,
        "race": p.RACES,
        "race_bridge": p.RACE_BRIDGES,
        "education": (*p.EDUCATIONS, p.MISSING),
        "age_range": p.AGE_RANGES,
        "years_since_degree": DEGREES,
        "occupational_category": CATEGORIES,
        "functional_class": (
            "00",
            "11",
            "12",
            "13",
            "14",
            "21",
            "22",
            "31",
            "32",
            "41",
            "51",
            "91",
        ),
        "flsa": ("E", "N"),
        "appointment_type": APPOINTMENTS,
        "political_appointee": ("none", "schedule C", "noncareer SES"),
        "position_occupied": ("1", "2", "3", "4"),
        "tenure": ("0", "1", "2", "3"),
        "supervisory_status": ("2", "4", "5", "6", "7", "8"),
        "bargaining_unit": (
            *("7777", "8888"),
            *(f"{d + 1:02d}{u}0" for d in range(len(DEPARTMENTS)) for u in range(UNITS)),
        ),
        "pay_plan": tuple(PLANS),
        "grade": ("00", *(f"{g:02d}" for g in range(1, 19)), *"ABCDEFGHIJKLM"),
        "step": tuple(f"{s:02d}" for s in range(32)),
        "pay_basis": ("PA", "PH"),
        "work_schedule": ("F", "P", "I", "G"),
        "pay_rate_determinant": ("0", "6", "A", "J"),
    }
)
"""Levels that do not depend on the world."""


def programs() -> tuple[int, ...]:
    """Return the two-digit fields of study in order; the codes of ``instructional_program``."""
    return tuple(sorted({family.program for family in FAMILIES}))


@lru_cache(maxsize=1)
def levels() -> Mapping[str, tuple[str, ...]]:
    """Return the levels of every coded variable."""
    fields = (f"{field:02d}.{k:02d}" for field in programs() for k in range(1, PROGRAMS + 1))
    found = {
        "agency": world().agencies,
        "occupation": world().occupations,
        "instructional_program": ("00.00", *fields),
        **LEVELS_OF,
    }
    return MappingProxyType({name: found[name] for name in VARIABLES if name in found})
