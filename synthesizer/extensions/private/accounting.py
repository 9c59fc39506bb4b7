"""Zero-concentrated differential privacy (zCDP): conversions, and the accountant of a synthesis.

Two files are neighbours if one has one record more. A mechanism M is rho-zCDP if the Renyi
divergence of order a between M of two neighbours is at most rho a for every a > 1 (Bun and
Steinke 2016). It composes: mechanisms of rho_1 and rho_2, the second of which may depend on the
result of the first, are together (rho_1 + rho_2)-zCDP (lemma 2.3 there). What is computed from
results of mechanisms alone costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

ROUNDING = 1e-9
"""Share of rho that is left out, so that rounding cannot exceed delta."""
STEPS = 100
"""Steps of a search, each of which shortens its interval."""
GOLDEN = (math.sqrt(5) - 1) / 2
LOG_ORDERS = (-12.0, 14.0)
"""Logarithms of the orders less one, among which the best is sought."""


def delta_of(rho: float, epsilon: float) -> float:
    """Return a delta at which rho-zCDP implies (epsilon, delta)-differential privacy.

    The bound holds for every order; the order found numerically makes it small. Source: Canonne,
    Kamath and Steinke 2020, proposition 12.

    Examples
    --------
    >>> f"{delta_of(0.0244, 1.0):.1e}"
    '1.0e-06'
    """

    def log_delta(log_excess: float) -> float:
        excess = math.exp(log_excess)
        order = 1 + excess
        shrink = order * (log_excess - math.log1p(excess))
        return excess * (order * rho - epsilon) + shrink - log_excess

    return math.exp(min(0.0, _minimum(log_delta, *LOG_ORDERS)))


def rho_of(epsilon: float, delta: float) -> float:
    """Return the largest rho whose zCDP implies (epsilon, delta).

    Examples
    --------
    >>> round(rho_of(1.0, 1e-9), 4), round(rho_of(1.0, 1e-6), 4)
    (0.015, 0.0244)
    """
    low, high = 0.0, epsilon  # delta rises with rho
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle, epsilon) <= delta else (low, middle)
    return low * (1 - ROUNDING)


def epsilon_of(rho: float, delta: float) -> float:
    """Return the smallest epsilon, rounded up, at which rho-zCDP implies (epsilon, delta).

    Examples
    --------
    >>> round(epsilon_of(rho_of(2.0, 1e-9), 1e-9), 6)
    2.0
    """
    # the upper end is proposition 1.3 of Bun and Steinke 2016
    low, high = 0.0, rho + 2 * math.sqrt(rho * math.log(1 / delta))
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_of(rho, middle) <= delta else (middle, high)
    return high * (1 + ROUNDING)


def _minimum(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the least value of a function with one minimum (golden section)."""
    for _ in range(STEPS):
        remaining, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        low, high = (low, right) if function(remaining) < function(right) else (remaining, high)
    return function((low + high) / 2)


def sigma_of(rho: float) -> float:
    """Return the standard deviation of Gaussian noise for a table that costs ``rho``.

    A table of sensitivity 1 (L2) with noise of this size is 1 / (2 sigma squared)-zCDP.
    """
    return math.sqrt(0.5 / rho)


@dataclass(frozen=True)
class Charge:
    """What one mechanism cost."""

    step: str
    """Step of the synthesis: ``one-way tables``, ``selection`` or ``two-way tables``."""
    rho: Fraction


class BudgetError(RuntimeError):
    """A mechanism would spend more than is left; a fault of the program, not of the data."""


@dataclass
class Accountant:
    """The budget of one synthesis; it refuses a charge that exceeds what is left.

    Sums are exact fractions, so that no rounding grants more than ``rho``.

    Examples
    --------
    >>> accountant = Accountant(0.5)
    >>> accountant.spend("selection", 0.375)
    >>> accountant.remaining
    0.125
    >>> accountant.spend("selection", 0.25)
    Traceback (most recent call last):
      ...
    synthesizer.extensions.private.accounting.BudgetError: selection: a charge of 0.25 exceeds 0.125
    """

    rho: float
    charges: list[Charge] = field(default_factory=list)

    @property
    def spent(self) -> Fraction:
        """Exact sum of all charges."""
        return sum((charge.rho for charge in self.charges), Fraction(0))

    @property
    def remaining(self) -> float:
        """Budget that is left, rounded down."""
        remaining = Fraction(self.rho) - self.spent
        rounded = float(remaining)
        return math.nextafter(rounded, 0) if Fraction(rounded) > remaining else rounded

    def spend(self, step: str, rho: float) -> None:
        """Record a charge before its mechanism draws."""
        if not rho > 0 or Fraction(rho) > Fraction(self.rho) - self.spent:
            raise BudgetError(f"{step}: a charge of {rho:g} exceeds {self.remaining:g}")
        self.charges.append(Charge(step, Fraction(rho)))

    def shares(self) -> dict[str, tuple[int, float]]:
        """Return number of mechanisms and rho of each step."""
        steps: dict[str, tuple[int, float]] = {}
        for charge in self.charges:
            times, rho = steps.get(charge.step, (0, 0.0))
            steps[charge.step] = times + 1, rho + float(charge.rho)
        return steps
