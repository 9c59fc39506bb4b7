"""The pay plans of the simulated workforce: a formula for each table, and who is on which plan.

A table is linear in steps: pay(grade, step) = first(grade) (1 + (step - 1) increment), in
dollars of 2011. The first step of the General Schedule grows by 10.6 % a grade up to grade 11 and
by 18.7 % above, and its ten steps span 30 %; that is close to the published table. Plans
without steps have a fine grid of hidden steps and record step "00".
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["PLANS", "RULES", "Plan", "Rule"]


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

RULES: Final[tuple[Rule, ...]] = (
    Rule("GS", "P A T C O", ""),
    Rule("WG", "B", ""),
    Rule("AD", "P A", "ZZ NN HE AR DJUA", 0.08),
    Rule("AD", "905", "DJUA"),
    Rule("GG", "132 P A", "ARIN DD AFHQ DJFB", 0.25),
    Rule("DB", "P T", "AR NV AF", 0.09),
    Rule("NH", "1102 P A", "AR NV AF DD", 0.12, 1999),
    Rule("YA", "P A", "AR NV AF DD", 0.3, 2006, 2009),
    Rule("VN", "610", "VATA", 1.0, 1991),
    Rule("VM", "602 680", "VATA"),
    Rule("TP", "1710", "DDEA INBI"),
    Rule("SV", "P A T C O B", "HSTS TDTS"),
    Rule("FV", "P A T C", "TDFA", 1.0, 1996),
    Rule("AT", "2152", "TDFA", 1.0, 1996),
    Rule("FP", "130 P A", "ST ZZAM", 0.5),
    Rule("CG", "P A T C", "ZZFD ZZRT TRCC"),
    Rule("SK", "P A T C", "ZZSE", 1.0, 2002),
    Rule("IR", "512 592 A", "TRIR", 0.08, 2001),
)
"""Later rules take precedence; a share picks (agency, occupation) pairs, once for all."""
