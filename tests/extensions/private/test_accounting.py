"""The budget: conversions, the accountant, and what a whole synthesis spends."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from synthesizer.extensions.private.accounting import (
    Accountant,
    BudgetError,
    delta_of,
    epsilon_of,
    rho_of,
)
from synthesizer.extensions.private.adaptive import synthesise
from tests.extensions.private.small_private import SeededNoise, plain_sizes, records

GRID = [(e, d) for e in (1e-3, 0.1, 0.3, 1.0, 3.0, 20.0) for d in (1e-2, 1e-6, 1e-9, 1e-30)]


def slow_delta(rho: float, epsilon: float) -> float:
    """Return the bound of Canonne, Kamath and Steinke by trying orders."""
    orders = 1 + np.exp(np.linspace(-12, 14, 20_001))
    logs = (orders - 1) * (orders * rho - epsilon) - np.log(orders - 1)
    logs += orders * np.log1p(-1 / orders)
    return math.exp(min(0.0, float(logs.min())))


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_rho_is_the_largest_that_implies_epsilon_and_delta(epsilon: float, delta: float) -> None:
    rho = rho_of(epsilon, delta)
    assert slow_delta(rho, epsilon) <= delta * (1 + 1e-4)
    assert slow_delta(rho * 1.001, epsilon) > delta
    # Bun and Steinke 2016, proposition 1.3, grants less
    assert rho + 2 * math.sqrt(rho * math.log(1 / delta)) >= epsilon * (1 - 1e-6)
    assert epsilon_of(rho, delta) == pytest.approx(epsilon, rel=1e-6)


def test_a_larger_budget_never_has_a_smaller_delta() -> None:
    deltas = [delta_of(rho, 1.0) for rho in np.geomspace(1e-5, 1, 40)]
    assert deltas == sorted(deltas)


def test_the_accountant_spends_to_the_last_bit_and_no_more() -> None:
    accountant = Accountant(0.1)
    for _ in range(9):
        accountant.spend("tables", 0.01)
    last = accountant.remaining
    assert Fraction(last) <= Fraction(0.1) - 9 * Fraction(0.01)
    with pytest.raises(BudgetError):
        accountant.spend("tables", math.nextafter(last, 1) + 1e-18)
    accountant.spend("tables", last)
    with pytest.raises(BudgetError):
        accountant.spend("tables", 5e-324 if accountant.remaining == 0 else 0.01)
    assert accountant.spent <= Fraction(0.1)


@pytest.mark.parametrize("rho", [0.0, -1.0, math.nan])
def test_a_charge_is_positive(rho: float) -> None:
    with pytest.raises(BudgetError):
        Accountant(1.0).spend("tables", rho)


@pytest.mark.parametrize("sizes", [(5,), (3, 4), (2, 3, 4, 5, 6, 7), (4,) * 12, (2, 40, 3, 9)])
@pytest.mark.parametrize("rho", [1e-6, 0.015, 2.0])
def test_a_synthesis_spends_its_budget_and_charges_before_it_draws(
    sizes: tuple[int, ...], rho: float
) -> None:
    accountant, noise = Accountant(rho), SeededNoise(1)
    synthesise(records(1, 500, sizes), plain_sizes(sizes), accountant, noise)
    assert [float(charge.rho) for charge in accountant.charges] == noise.costs
    assert accountant.spent <= Fraction(rho)
    # rounds that choose nothing at once leave their part
    steps = accountant.shares()
    if "two-way tables" in steps or len(sizes) == 1:
        assert float(accountant.spent) >= 0.4 * rho


def test_a_usual_budget_is_spent_wholly() -> None:
    sizes = (3, 4, 5, 4, 3, 6)
    accountant = Accountant(0.5)
    synthesise(records(2, 3000, sizes), plain_sizes(sizes), accountant, SeededNoise(2))
    assert float(accountant.spent) == pytest.approx(0.5, rel=1e-9)
    shares = {name: rho / 0.5 for name, (_, rho) in accountant.shares().items()}
    assert shares["one-way tables"] == pytest.approx(0.45, rel=1e-6)
    assert shares["selection"] <= 0.1 * (1 + 1e-6)


def test_one_way_tables_of_a_single_variable_take_all() -> None:
    accountant = Accountant(0.2)
    synthesise(records(2, 300, (6,)), plain_sizes((6,)), accountant, SeededNoise(2))
    assert float(accountant.spent) == pytest.approx(0.2, rel=1e-9)
