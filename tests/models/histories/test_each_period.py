"""Values of a period alone, and values copied from a cell."""

from dataclasses import replace

import numpy as np
import pytest

from synthesizer.data.errors import ModelError
from synthesizer.models.cart import Cart
from synthesizer.models.histories.lag_one import LagOne
from synthesizer.models.histories.wrapped import EachPeriod
from synthesizer.models.nominal import Nearest, Nominal
from tests.data.panel.panels import full_index, panel, random_index
from tests.models.histories.drawing import drawn_by
from tests.tables import coded, numeric

BASE = Cart(min_leaf=5)


def pay_table(n=200, seed=1):
    """Grade, step, and a pay that follows from them but for a tenth of the rows."""
    index = random_index(n=n, share=0.9, seed=seed)
    rng = np.random.default_rng(seed)
    grade = coded("grade", rng.integers(0, 4, index.n_rows), tuple("5679"))
    step = numeric("step", rng.integers(1, 4, index.n_rows))
    off = rng.random(index.n_rows) < 0.1
    pay = numeric("x", 1000 * (grade.data + 1) + 10 * step.data + off)
    return panel(index, grade, step, pay)


def cells_of(table, column):
    keys = zip(table["grade"].data, table["step"].data, strict=True)
    actual: dict[tuple, list[float]] = {}
    for key, value in zip(keys, column.data, strict=True):
        actual.setdefault(key, []).append(float(value))
    return actual


def test_nominal_copies_from_its_cell():
    table = pay_table()
    nominal = Nominal(given=("grade", "step"), base=BASE)
    drawn = drawn_by(EachPeriod(base=nominal), table, table["x"])
    original = cells_of(table, table["x"])
    for key, values in cells_of(table, drawn).items():
        assert set(values) <= set(original[key])
        off = np.mean([v % 10 != 0 for v in values])
        assert abs(off - np.mean([v % 10 != 0 for v in original[key]])) < 0.2


def test_small_and_new_cells_are_drawn_by_the_base():
    table = pay_table()
    rng = np.random.default_rng(2)
    known = table.select(("grade", "step"))
    base = Cart(min_leaf=5, min_holders=0)
    fitted = Nominal(given=("grade", "step"), base=base, min_cell=10_000).fit(
        known, table["x"], rng=rng
    )
    drawn = fitted.sample(known, rng=rng)
    assert np.isin(drawn.data, table["x"].data).all()
    fitted = Nominal(given=("grade", "step"), base=base).fit(known, table["x"], rng=rng)
    new = known.with_column(numeric("step", np.full(table.n_rows, 99.0)))
    assert np.isin(fitted.sample(new, rng=rng).data, table["x"].data).all()


def test_each_period_follows_from_the_period_alone():
    index = full_index(100, 3)
    step = coded("step", (index.person + index.period) % 3, ("1", "2", "3"))
    pay = numeric("x", 100.0 * step.data)
    drawn = drawn_by(EachPeriod(base=BASE), panel(index, step), pay)
    assert drawn.data.tolist() == pay.data.tolist()


def test_a_combination_counts_persons_not_rows():
    index = full_index(40, 6)
    nation = coded("nation", np.where(index.person == 0, 1, 0), ("here", "far"))
    income = np.random.default_rng(3).normal(100, 9, index.n_rows)
    income[index.person == 0] = 1_000 + np.arange(6)
    states = (np.arange(index.n_rows) % 3 == 0).astype(np.int8)
    target = numeric("x", income, states, missing=("",))
    table = panel(index, nation)
    nominal = Nominal(given=("nation",), base=Cart(min_leaf=40))
    drawn = drawn_by(EachPeriod(base=nominal), table, target)
    observed = drawn.data[(index.person == 0) & drawn.is_observed]
    assert (observed > 500).mean() < 0.5  # from a leaf of many, not from the one person
    one = drawn_by(EachPeriod(base=replace(nominal, min_cell=1)), table, target)
    observed = one.data[(index.person == 0) & one.is_observed]
    assert (observed >= 1_000).all()


def test_small_cells_are_cautioned():
    assert Nominal(given=("a", "b")).caution == ""
    assert "a, b" in Nominal(given=("a", "b"), min_cell=2).caution


def bands(n=300, periods=6, *, below=0.0, seed=1):
    """A plan with a table, one in 25 a step aside, and one with a band: all rise by 3 % a year."""
    index = full_index(n, periods)
    rng = np.random.default_rng(seed)
    plan = coded("plan", index.person % 2, ("GS", "NH"))
    start = np.where(plan.data == 0, 100.0, rng.integers(50, 100, n)[index.person] * 2)
    start = start + 5 * ((plan.data == 0) & (rng.random(index.n_rows) < 0.04))
    pay = numeric("x", np.rint(100 * start * 1.03**index.period) - below)
    return panel(index, numeric("wave", index.period), plan, pay)


LAGGED = LagOne(
    stay_or_move=False,
    first_apart=False,
    base=Nominal(given=("wave", "plan"), min_cell=1, near="own.before", base=Cart(min_holders=0)),
)


def test_what_is_near_goes_on_from_the_value_before():
    below = 15_000.0
    table = bands(below=below)
    before = np.arange(table.n_rows) % 6 > 0
    band = table["plan"].data == 1

    def rises(column):
        return np.diff(column.data, prepend=0)[before & band]

    drawn = drawn_by(LAGGED, table, table["x"])
    assert np.isin(drawn.data, table["x"].data).all()
    wanted = rises(table["x"])
    assert abs(rises(drawn).mean() / wanted.mean() - 1) < 0.03
    assert (rises(drawn) < 0).mean() < 0.02
    alone = drawn_by(EachPeriod(base=LAGGED.base.base), table, table["x"])
    assert (rises(alone) < 0).mean() > 0.2
    in_table = np.isin(drawn.data[~band], [np.rint(1e4 * 1.03**t) - below for t in range(6)])
    assert 0.92 < in_table.mean() < 0.99  # steps aside do not go on


def test_a_lag_that_is_no_number_or_not_there():
    table = bands(n=30)
    with pytest.raises(ModelError, match="plan"):
        Nominal(given=("wave",), near="plan").fit(table, table["x"], rng=np.random.default_rng(1))
    lag = numeric("lag", np.full(table.n_rows, np.nan), np.ones(table.n_rows), missing=("",))
    fitted = Nominal(given=("wave", "plan"), near="lag").fit(
        table.with_column(lag), table["x"], rng=np.random.default_rng(1)
    )
    assert fitted.lagged is None


def test_codes_beside_a_lag_are_those_of_the_combination():
    """Missing codes, and whether a value changes, follow from no number."""
    table = bands(n=60)
    hidden = (table["plan"].data == 0) & (table["wave"].data == 2)
    pay = numeric("x", np.where(hidden, np.nan, table["x"].data), hidden, missing=("-8",))
    model = replace(LAGGED, stay_or_move=True, first_apart=True)
    drawn = drawn_by(model, table.with_column(pay), pay)
    np.testing.assert_array_equal(drawn.is_observed, ~hidden)


def test_nearest_donors_are_those_of_slow_code():
    rng = np.random.default_rng(1)
    n, most = 200, 3
    group = coded("g", rng.integers(0, 4, n), tuple("abcd"))
    positions = np.rint(rng.normal(0, 20, n))
    table = panel(full_index(n, 1), group)
    close = Nearest.of(table, ("g",), positions, np.arange(float(n)))
    requested = panel(full_index(n, 1), coded("g", rng.integers(0, 5, n), tuple("abcde")))
    wanted = rng.normal(0, 25, n)
    rows, far = close.draw(requested, wanted, rng, most=most)
    for row in range(n):
        observed = np.sort(np.abs(positions[group.data == requested["g"].data[row]] - wanted[row]))
        if not len(observed):
            assert rows[row] == -1
            continue
        donor = int(close.values[rows[row]])
        assert group.data[donor] == requested["g"].data[row]
        assert far[row] == abs(positions[donor] - wanted[row])
        assert far[row] <= max(observed[0], 0.01) + 1e-12


def test_equal_donors_are_drawn_evenly():
    n = 50
    table = panel(full_index(n, 1), coded("g", np.zeros(n), ("a",)))
    close = Nearest.of(table, ("g",), np.ones(n), np.arange(float(n)))
    rng = np.random.default_rng(1)
    drawn = [close.values[close.draw(table, np.ones(n), rng)[0]] for _ in range(40)]
    counts = np.bincount(np.concatenate(drawn).astype(int), minlength=n)
    assert counts.min() > 10
    assert counts.max() < 80
