"""Values copied from those who agree, near to another number: against laws and pairs by hand."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from synthesizer.data.table import Column, FloatArray, IntArray, Table
from synthesizer.models.nominal import MIN_EQUAL_SHARE, MIN_PAIRS, FittedNominal, Nominal
from tests.tables import coded, numeric

NAMES = ("year", "grade", "step")


def cells(*codes: IntArray) -> list[Column]:
    levels = "abcd"
    return [coded(name, list(c), levels) for name, c in zip(NAMES, codes, strict=False)]


def with_lag(columns: list[Column], lag: FloatArray) -> Table:
    """NaN for no lag, as of first rows of persons."""
    none = np.isnan(lag)
    lags = numeric("before", np.where(none, 0, lag), none.astype(int), missing=("-8",))
    return Table([*columns, lags])


def fitted(table: Table, pay: FloatArray, *given: str) -> FittedNominal:
    model = Nominal(given=given, near="before", min_cell=1)
    return model.fit(table, numeric("pay", pay), rng=np.random.default_rng(1))


def drawn(model: FittedNominal, table: Table) -> list[float]:
    return model.sample(table, rng=np.random.default_rng(2)).data.tolist()


@pytest.mark.parametrize("n_given", [1, 2, 3])
def test_a_combination_fixes_its_value_by_its_pairs_or_those_of_wider_ones(n_given: int) -> None:
    rng = np.random.default_rng(n_given)
    codes = rng.integers(0, 4, (3, 200)) * rng.integers(0, 2, (3, 200))
    pay = 10.0 + np.where(
        codes[int(n_given > 1)] > 1, rng.integers(0, 9, 200), rng.random(200) < 0.3
    )
    given = NAMES[:n_given]
    model = fitted(with_lag(cells(*codes), pay), pay, *given)
    original = [tuple(one) for one in codes[:n_given].T.tolist()]
    values: dict[tuple[int, ...], list[float]] = {one: [] for one in sorted(set(original))}
    for one, value in zip(original, pay.tolist(), strict=True):
        values[one].append(value)

    def is_fixed(one: tuple[int, ...]) -> bool:
        for last in range(n_given, min(n_given, 2) - 1, -1):
            agree = slice(1, last) if n_given > 1 else slice(0, 1)
            alike = [values[other] for other in values if other[agree] == one[agree]]
            equal = [a == b for each in alike for a, b in permutations(each, 2)]
            if len(equal) >= 2 * MIN_PAIRS:
                return float(np.mean(equal)) >= MIN_EQUAL_SHARE
        return False

    one_each = Table(cells(*np.array(list(values)).T))
    positions = model.cells.places(one_each, model.known)
    assert model.lagged is not None
    expected = [is_fixed(one) for one in values]
    assert model.lagged.fixed[positions].tolist() == expected
    assert len(set(expected)) == 2


def test_a_fixed_value_is_that_of_the_donor_with_the_nearest_lag() -> None:
    pay, lag = np.repeat([100.0, 140.0], [30, 10]), np.repeat([90.0, 120.0], [30, 10])
    grade = np.zeros(40, dtype=int)
    model = fitted(with_lag(cells(grade, grade), lag), pay, "year", "grade")
    new = np.array([91.0, 119.0, 90.0, 121.0] * 5)
    one = np.zeros(20, dtype=int)
    assert drawn(model, with_lag(cells(one, one), new)) == [100, 140, 100, 140] * 5
    # no donor has nearly such a lag, nor has anybody without a lag one: random values of all
    for lags in (np.full(400, 10.0), np.full(400, np.nan)):
        many = np.zeros(400, dtype=int)
        values = drawn(model, with_lag(cells(many, many), lags))
        assert np.mean(np.array(values) == 140) == pytest.approx(0.25, abs=0.1)


@pytest.mark.parametrize("least", [100.0, 0.0, -140.0])
def test_where_no_value_is_fixed_the_change_of_a_donor_is_added(least: float) -> None:
    """All rise by a tenth, or, where some are not above 0, by 7; newcomers lie between them."""
    lag = np.linspace(least, least + 40, 41)

    def risen(numbers: FloatArray) -> FloatArray:
        return numbers * 1.1 if least > 0 else numbers + 7

    pay = np.append(risen(lag), risen(lag + 0.5))
    grade = np.zeros(82, dtype=int)
    table = with_lag(cells(grade, grade), np.append(lag, np.full(41, np.nan)))
    model = fitted(table, pay, "year", "grade")
    new, one = np.arange(40) + least + 0.5, np.zeros(40, dtype=int)
    # the nearest of what the data have, and never another number
    assert drawn(model, with_lag(cells(one, one), new)) == pytest.approx(risen(new).tolist())


def test_what_a_combination_has_not_comes_from_a_wider_one() -> None:
    """No row of grade b has a lag; one of its values is near the wanted one, one far away."""
    lag = np.linspace(100, 140, 41)
    pay = np.append(lag * 1.1, [111.0, 500.0])
    grade = np.repeat([0, 1], [41, 2])
    table = with_lag(cells(np.zeros(43, dtype=int), grade), np.append(lag, [np.nan] * 2))
    model = fitted(table, pay, "year", "grade")
    one = np.array([0, 0])
    new = with_lag(cells(one, one + 1), np.array([101.0, 130.0]))
    assert drawn(model, new) == pytest.approx([111.0, 143.0])


def test_where_something_has_changed_the_change_of_another_period_is_added() -> None:
    """No row of the second period has a lag near 100; one of the first period has."""
    year, grade = np.array([0, 0, 1, 1]).repeat(8), np.zeros(32, dtype=int)
    lag = np.repeat([100.0, 200.0, 200.0, 200.0], 8)
    pay = lag * 1.1 + np.tile(np.arange(8), 4)
    pay[24:] = np.arange(106, 122, 2)  # first values of the second period: what may be drawn
    lag[24:] = np.nan
    changed = numeric("own.changed grade", np.ones(32))
    table = Table([*with_lag(cells(year, grade), lag).columns, changed])
    model = fitted(table, pay, "year", "grade")
    wanted = table.take(np.arange(16, 24)).with_column(with_lag([], np.full(8, 100.0))["before"])
    assert set(drawn(model, wanted)) <= {110.0, 112.0, 114.0, 116.0, 118.0}
