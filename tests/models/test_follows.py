"""A label follows its code, and is drawn where a code has several."""

import numpy as np
import pytest

from synthesizer.data.table import Table
from synthesizer.models.fixed import Follows
from tests.tables import coded, numeric

TOWN = np.repeat(np.arange(20), 40)


@pytest.mark.parametrize("lost", [False, True])
def test_each_code_keeps_its_value(lost):
    towns = coded("town", TOWN, [f"t{i}" for i in range(20)])
    county = coded("county", TOWN // 4 + lost * (TOWN == 19), "abcde", ["N"] if lost else [])
    rng = np.random.default_rng(1)
    fitted = Follows(of="town").fit(Table([towns]), county, rng=rng)
    assert fitted.sample(Table([towns]), rng=rng).equals(county)


def test_a_code_with_one_value_and_missing_cells_keeps_its_value():
    rng = np.random.default_rng(1)
    towns = coded("town", np.arange(3000) % 300, [f"t{i}" for i in range(300)])
    sex = rng.integers(0, 2, 3000)
    gaps = (sex == 1) & (rng.random(3000) < 0.3) & (towns.data > 9)
    gaps |= towns.data == 299  # this code has no value
    values = towns.data // 20
    target = coded("county", np.where(gaps, 20, values), [f"c{i:02}" for i in range(20)], [""])
    table = Table([coded("sex", sex, "fm"), towns])
    drawn = Follows(of="town").fit(table, target, rng=rng).sample(table, rng=rng)
    seen = drawn.is_observed
    assert (drawn.data[seen] == values[seen]).all()
    assert seen[towns.data < 10].all()
    assert not seen[towns.data == 299].any()
    others = (towns.data > 9) & (towns.data < 299)
    assert abs((~seen)[others & (sex == 1)].mean() - 0.3) < 0.05
    assert (~seen)[others & (sex == 0)].mean() < 0.02


def test_codes_with_several_values_are_drawn_given_the_other_variables():
    rng = np.random.default_rng(1)
    sex = rng.integers(0, 2, len(TOWN))
    towns = coded("town", np.minimum(TOWN, 10), [*(f"t{i}" for i in range(10)), "other"])
    codes = np.where(TOWN < 10, TOWN % 3, sex)  # in other towns the county is that of the sex
    county = coded("county", codes, "abc")
    table = Table([coded("sex", sex, "fm"), towns])
    drawn = Follows(of="town").fit(table, county, rng=rng).sample(table, rng=rng)
    assert (drawn.data[TOWN < 10] == codes[TOWN < 10]).all()
    assert (drawn.data[TOWN >= 10] == sex[TOWN >= 10]).mean() > 0.9


def test_numbers_of_few_records_are_not_copied():
    towns = coded("town", np.append(TOWN, [20] * 4), [f"t{i}" for i in range(21)])
    values = np.append(1000.0 + TOWN, [4321.0] * 4)
    rng = np.random.default_rng(1)
    fitted = Follows(of="town").fit(Table([towns]), numeric("size", values), rng=rng)
    drawn = fitted.sample(Table([towns]), rng=rng).data
    assert (drawn[:-4] == values[:-4]).all()
    assert (drawn[-4:] != 4321.0).all()
