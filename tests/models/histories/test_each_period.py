"""Values of a period alone, and values copied from a cell."""

from dataclasses import replace

import numpy as np
import pytest

from synthesizer.models.cart import Cart
from synthesizer.models.histories.each_period import EachPeriod
from synthesizer.models.nominal import Nominal
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
    found: dict[tuple, list[float]] = {}
    for key, value in zip(keys, column.data, strict=True):
        found.setdefault(key, []).append(float(value))
    return found


@pytest.mark.parametrize("wrapped", [True, False])
def test_nominal_copies_from_its_cell(wrapped):
    table = pay_table()
    nominal = Nominal(given=("grade", "step"), base=BASE)
    if wrapped:
        drawn = drawn_by(EachPeriod(base=nominal), table, table["x"])
    else:
        rng = np.random.default_rng(1)
        known = table.select(("grade", "step"))
        drawn = nominal.fit(known, table["x"], rng=rng).sample(known, rng=rng)
    original = cells_of(table, table["x"])
    for key, values in cells_of(table, drawn).items():
        assert set(values) <= set(original[key])
        off = np.mean([v % 10 != 0 for v in values])
        assert abs(off - np.mean([v % 10 != 0 for v in original[key]])) < 0.2


def test_small_and_new_cells_are_drawn_by_the_base():
    table = pay_table()
    rng = np.random.default_rng(2)
    known = table.select(("grade", "step"))
    base = Cart(min_leaf=5, safe=0)
    fitted = Nominal(given=("grade", "step"), base=base, min_cell=10_000).fit(
        known, table["x"], rng=rng
    )
    drawn = fitted.sample(known, rng=rng)
    assert np.isin(drawn.data, table["x"].data).all()
    fitted = Nominal(given=("grade", "step"), base=base).fit(known, table["x"], rng=rng)
    new = known.with_column(numeric("step", np.full(table.n_rows, 99.0)))
    assert np.isin(fitted.sample(new, rng=rng).data, table["x"].data).all()


def test_nominal_keeps_missing_codes_of_its_cell():
    table = pay_table()
    states = np.where(table["step"].data == 3, 1, 0)
    pay = numeric("x", table["x"].data, states, missing=("",))
    nominal = Nominal(given=("grade", "step"), base=BASE)
    drawn = drawn_by(EachPeriod(base=nominal), table, pay)
    assert (drawn.missing_state() == states).mean() > 0.99


def test_given_must_be_a_predictor():
    table = pay_table()
    with pytest.raises(ValueError, match=r"given \(grade\) must be predictors"):
        Nominal(given=("grade",)).fit(
            table.select(["step"]), table["x"], rng=np.random.default_rng(1)
        )


def test_each_period_follows_from_the_period_alone():
    index = full_index(100, 3)
    step = coded("step", (index.person + index.period) % 3, ("1", "2", "3"))
    pay = numeric("x", 100.0 * step.data)
    drawn = drawn_by(EachPeriod(base=BASE), panel(index, step), pay)
    assert drawn.data.tolist() == pay.data.tolist()


@pytest.mark.parametrize("gaps", [False, True])
def test_a_combination_counts_persons_not_rows(gaps):
    index = full_index(40, 6)
    nation = coded("nation", np.where(index.person == 0, 1, 0), ("here", "far"))
    income = np.random.default_rng(3).normal(100, 9, index.n_rows)
    income[index.person == 0] = 1_000 + np.arange(6)
    states = (np.arange(index.n_rows) % 3 == 0).astype(np.int8) if gaps else None
    target = numeric("x", income, states, missing=("",)) if gaps else numeric("x", income)
    table = panel(index, nation)
    nominal = Nominal(given=("nation",), base=Cart(min_leaf=40))
    drawn = drawn_by(EachPeriod(base=nominal), table, target)
    own = drawn.data[(index.person == 0) & drawn.is_observed]
    assert (own > 500).mean() < 0.5  # from a leaf of many, not from the one person
    one = drawn_by(EachPeriod(base=replace(nominal, min_cell=1)), table, target)
    own = one.data[(index.person == 0) & one.is_observed]
    assert (own >= 1_000).all()


def test_small_cells_are_cautioned():
    assert Nominal(given=("a", "b")).caution == ""
    assert "a, b: only for values that are public" in Nominal(given=("a", "b"), min_cell=2).caution
    model = EachPeriod(base=Nominal(given=("a",), min_cell=1, base=BASE))
    assert [type(m).__name__ for m in model.with_bases()] == ["EachPeriod", "Nominal", "Cart"]
