"""Grades and steps: where entrants begin, promotions, within-grade increases, conversions."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from synthesizer.samples.workforce import parameters as p
from synthesizer.samples.workforce import pay
from synthesizer.samples.workforce.state import State

__all__ = ["SAME_TABLE", "convert", "enter", "progress"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer]

SAME_TABLE: Final = tuple(pay.PLAN_NAMES.index(name) for name in ("GS", "GM", "GG"))
"""Plans with the table of the General Schedule: changes between them keep grade and step."""


def _ladder(s: State, idx: Integers) -> Integers:
    return (s.world.category[s.occupation[idx]] < 2).astype(np.int8)


def enter(s: State, idx: Integers, plan: Integers, aim: Floats, rng: np.random.Generator) -> None:
    """Give entrants their first grade and step, those in post since long theirs."""
    n = len(idx)
    old = s.persons.in_stock[idx]
    below = np.where(old, rng.normal(0.02, 0.05, n), p.ENTRY_DISCOUNT * rng.gamma(2.0, 0.5, n))
    slack = np.minimum(rng.random(n) * np.where(old, 7.0, 2.5), pay.STEPS[plan] - 1)
    s.plan[idx] = plan
    s.grade[idx], s.step[idx] = pay.place(plan, _ladder(s, idx), aim - below, slack)
    wait = pay.WAIT[plan, s.step[idx]] * rng.random(n)
    s.wait[idx] = np.where(old, wait, 0)
    s.since[idx] = old


def convert(s: State, idx: Integers, plan: Integers, rng: np.random.Generator) -> None:
    """Bring persons to another plan at about the same pay."""
    now = pay.log_pay(s.plan[idx], s.grade[idx], s.step[idx])
    s.plan[idx] = plan
    slack = rng.random(len(idx)) * 2
    s.grade[idx], s.step[idx] = pay.place(plan, _ladder(s, idx), now + 0.01, slack)
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
