"""Pay tables as arrays: looking pay up, and finding the grade and step that pay best fits."""

from __future__ import annotations

from typing import Final

import numpy as np

from synthesizer.data.samples.workforce import constants as p
from synthesizer.data.samples.workforce.constants import Booleans, Floats, Integers

PLAN_NAMES: Final = tuple(p.PLANS)
_PLANS: Final = tuple(p.PLANS.values())
_MOST: Final = max(len(plan.grades) for plan in _PLANS)

FIRST: Final[Floats] = np.array(
    [(*plan.first_steps(), *([np.inf] * (_MOST - len(plan.grades)))) for plan in _PLANS]
)
"""First step in dollars of 2011 by plan and grade; infinite where there is no such grade."""
INCREMENT: Final[Floats] = np.array([plan.increment for plan in _PLANS])
STEPS: Final[Integers] = np.array([plan.steps for plan in _PLANS])
STEPPED: Final[Booleans] = np.array([plan.stepped for plan in _PLANS])
TWO_STEP: Final[Booleans] = np.array([plan.two_step for plan in _PLANS])

_LADDER: Final = (4, 6, 8, 10, 11, 12, 13, 14)  # grades 5, 7, 9, 11, 12, ... of specialists


def _allowed() -> Booleans:
    """Return the grades by ladder (0 every grade, 1 two-grade intervals) and plan."""
    allowed = np.broadcast_to(np.isfinite(FIRST), (2, *FIRST.shape)).copy()
    rare = np.ones(_MOST, dtype=bool)
    rare[list(_LADDER)] = False
    allowed[1][np.ix_(TWO_STEP, rare)] = False
    allowed[:, PLAN_NAMES.index("GM"), :12] = False  # merit pay begins at grade 13
    return allowed


ALLOWED: Final[Booleans] = _allowed()


def _next() -> Integers:
    """Return the next higher grade by ladder, plan and grade; the same grade at the top."""
    following = np.empty(ALLOWED.shape, dtype=np.int8)
    for ladder, plan, grade in np.ndindex(*ALLOWED.shape):
        above = np.flatnonzero(ALLOWED[ladder, plan, grade + 1 :])
        following[ladder, plan, grade] = grade + 1 + above[0] if len(above) else grade
    return following


NEXT: Final[Integers] = _next()


def _waits() -> Integers:
    waits = np.full((len(_PLANS), int(STEPS.max())), 3, dtype=np.int8)
    waits[:, : len(p.WAITS)] = p.WAITS
    blue = [plan.hourly for plan in _PLANS]
    waits[blue, :5] = (1, 2, 2, 2, 2)
    return waits


WAIT: Final[Integers] = _waits()
"""Years in a step before the next, by plan and step."""

_INDEX: Final[Floats] = 1 / np.cumprod(1 + np.array((*p.RAISES[1:], 0.0))[::-1] / 100)[::-1]


def general_pay(grade: Floats) -> Floats:
    """Return the pay of a (possibly fractional) General Schedule grade, step 4, 2011 dollars."""
    low = np.minimum(grade, 11)
    return np.asarray(27_400 * 1.1 * 1.106 ** (low - 5) * 1.187 ** np.maximum(grade - 11, 0))


def log_pay(plan: Integers, grade: Integers, step: Integers) -> Floats:
    """Return the log pay in dollars of 2011 (codes from 0)."""
    return np.asarray(np.log(FIRST[plan, grade] * (1 + step * INCREMENT[plan])))


def basic_pay(plan: Integers, grade: Integers, step: Integers, year: Integers) -> Integers:
    """Return the basic pay of a year, whole dollars; plan, grade and step are codes from 0."""
    pay = FIRST[plan, grade] * (1 + step * INCREMENT[plan]) * _INDEX[year - p.FIRST_YEAR]
    return np.asarray(np.rint(pay)).astype(np.int32)


def nearest_grade(
    plan: Integers, ladder: Integers, wanted: Floats, slack: Floats
) -> tuple[Integers, Integers]:
    """Return the grade and step whose pay is nearest to the wanted log pay, in dollars of 2011.

    The grade is the highest whose step 1 + ``slack`` is not above it; ``ladder`` is 1 where
    promotions go by two-grade intervals.
    """
    pay = np.exp(wanted)
    floor = FIRST[plan] * (1 + slack * INCREMENT[plan])[:, None]
    allowed = ALLOWED[ladder, plan]
    fits = allowed & (floor <= pay[:, None])
    highest = fits.shape[1] - 1 - fits[:, ::-1].argmax(axis=1)
    grade = np.where(fits.any(axis=1), highest, allowed.argmax(axis=1)).astype(np.int8)
    step = np.rint((pay / FIRST[plan, grade] - 1) / INCREMENT[plan])
    return grade, np.clip(step, 0, STEPS[plan] - 1).astype(np.int8)


def step_reaching(plan: Integers, grade: Integers, log: Floats) -> Integers:
    """Return the lowest step whose pay reaches a log pay (the top step if none does)."""
    step = np.ceil((np.exp(log) / FIRST[plan, grade] - 1) / INCREMENT[plan] - 1e-6)
    return np.clip(step, 0, STEPS[plan] - 1).astype(np.int8)
