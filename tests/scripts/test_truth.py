"""The pure functions of the script that measures truth and memory, at both ends."""

import numpy as np
import pytest
import truth as script

from synthesizer.data.table import Table
from tests.tables import coded, persons

FORMULAS = ("income ~ age + sex", "logit marital ~ age + sex")


def test_equal_tables_score_1000_and_tables_without_a_common_cell_0():
    table = persons()
    assert script.k_marginal(table, table, table.names) == 1000
    others = Table([coded(name, np.zeros(9), ["elsewhere"]) for name in "abc"])
    here = Table([coded(name, np.zeros(5), ["here"]) for name in "abc"])
    assert script.k_marginal(here, others, here.names) == 0


def test_a_marginal_that_shares_half_its_records_scores_500():
    one, other = (Table([coded("a", codes, "xyz")]) for codes in ([0, 1], [1, 1, 2, 2]))
    assert script.k_marginal(one, other, ["a"], k=1) == 500


def test_more_marginals_than_asked_for_are_a_sample_that_stays():
    names, rng = "abcdef", np.random.default_rng(1)
    one, other = (
        Table([coded(name, rng.integers(0, 3, 50), "xyz") for name in names]) for _ in range(2)
    )
    few = [script.k_marginal(one, other, one.names, most=3) for _ in range(2)]
    assert few[0] == few[1] != script.k_marginal(one, other, one.names)


def test_impossible_pairs_are_those_without_records_though_many_are_expected():
    half = np.repeat([0, 1], 100)
    known = Table([coded("a", half, "xy"), coded("b", half, "xy")])
    other = Table([coded("a", [0, 0, 1, 1], "xy"), coded("b", [0, 1, 1, 1], "xy")])
    assert script.impossible_pairs(known, known) == 0
    assert script.impossible_pairs(known, other) == 1 / 4
    few = known.take(np.arange(80, 120))  # 10 expected in each cell
    assert script.impossible_pairs(few, other) == 0


def test_coefficients_of_the_same_file_have_no_error_and_those_of_another_some():
    table, other = persons(), persons(seed=1)
    assert script.coefficient_errors(table, table, FORMULAS) == pytest.approx(np.zeros(4))
    errors = script.coefficient_errors(table, other, FORMULAS)
    assert (np.abs(errors) > 0).all()


def test_a_synthesis_that_allows_no_fit_has_no_size():
    table = persons()
    single = table.with_column(coded("sex", np.zeros(table.n_rows), ("f", "m")))
    assert np.isnan(script.coefficient_errors(table, single, FORMULAS[:1])).all()


@pytest.mark.parametrize("name", ["fair", "anes96", "randhie"])
def test_every_regression_of_a_file_can_be_fitted(name, tmp_path):
    table = script.planned(name, tmp_path).table
    for formula in script.FILES[name].regressions:
        assert script.Regression.of(formula, table).fit(table) is not None
    assert set(script.FILES[name].keys.split()) < set(table.names)


def test_ratio_of_sums_and_its_error():
    assert script.ratio([1.0, 3.0], [2.0, 2.0])[0] == 1
    assert script.ratio([2.0, 2.0, 2.0], [1.0, 1.0, 1.0]) == (2, 0)
    assert script.ratio([1.0], [0.0]) == (None, None)


def test_settings_are_names_or_yaml():
    settings = script.settings_of(["plain", "fresh", "mine={cart: {min_leaf: 7}}"])
    assert settings == {
        "plain": '{"cart": {"leaf_regression": false}}', "fresh": None,
        "mine": '{"cart": {"min_leaf": 7}}',
    }  # fmt: skip
