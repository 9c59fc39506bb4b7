import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from synthesizer.data.table import Table
from synthesizer.models.kit import numerics as _numerics
from synthesizer.models.kit import predictors
from synthesizer.models.kit.predictors import Design
from tests.models.fits import coded, numeric


def test_missing_codes_of_a_coded_predictor_are_levels():
    table = Table([coded("a", [0, 0, 1, 2], 2, missing=("",))])
    matrix = Design.fit(table, min_frequency=1).matrix(table)
    assert matrix.tolist() == [[1, 0, 0], [1, 0, 0], [1, 1, 0], [1, 0, 1]]


def test_missing_numbers_are_the_mean_and_an_indicator_of_each_code():
    column = numeric("x", [1.0, np.nan, 5.0, np.nan], states=[0, 1, 0, 2], missing=("N", "-8"))
    matrix = Design.fit(Table([column]), min_frequency=1).matrix(Table([column]))
    assert matrix.tolist() == [[1, 0, 0, -1], [1, 1, 0, 0], [1, 0, 0, 1], [1, 0, 1, 0]]


def test_an_unseen_level_looks_like_the_reference():
    design = Design.fit(Table([coded("a", [0, 0, 1], 3)]), min_frequency=1)
    assert design.matrix(Table([coded("a", [0, 2], 3)])).tolist() == [[1, 0], [1, 0]]


def test_rare_levels_share_a_column():
    table = Table([coded("a", [0] * 9 + [1] * 4 + [2, 2, 3], 4)])
    matrix = Design.fit(table, min_frequency=3).matrix(table)
    assert matrix[-1].tolist() == matrix[-2].tolist() == [1, 0, 1]
    assert matrix[9].tolist() == [1, 1, 0]


@pytest.mark.parametrize("max_categories", [1, 7])
def test_a_predictor_with_many_levels_keeps_the_most_frequent(max_categories):
    codes = np.repeat(np.arange(50), np.arange(50, 0, -1))
    table = Table([coded("a", codes, 50)])
    design = Design.fit(table, max_categories=max_categories, min_frequency=1)
    assert design.n_columns == 1 + max_categories
    columns = design.matrix(table)[:, 1:].argmax(axis=1)
    assert (columns[codes >= max_categories] == max_categories - 1).all()
    assert (design.matrix(table)[codes == 0, 1:] == 0).all()


def test_a_number_that_is_always_missing_is_harmless():
    table = Table([numeric("x", [np.nan] * 6, states=[1] * 6, missing=("",))])
    assert Design.fit(table).matrix(table).tolist() == [[1, 0]] * 6


@settings(max_examples=40, deadline=None)
@given(
    codes=st.lists(st.integers(0, 9), min_size=1, max_size=40),
    max_categories=st.integers(1, 12),
    min_frequency=st.integers(1, 6),
)
def test_each_row_has_at_most_one_dummy_and_no_column_is_thin(codes, max_categories, min_frequency):
    table = Table([coded("a", codes, 10)])
    design = Design.fit(table, max_categories=max_categories, min_frequency=min_frequency)
    dummies = design.matrix(table)[:, 1:]
    assert dummies.shape[1] <= max_categories
    assert (dummies.sum(axis=1) <= 1).all()
    assert (dummies.sum(axis=0) >= min_frequency).all()


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_a_matrix_that_is_singular_is_hardly_changed(scale):
    matrix, right = np.full((2, 2), scale), np.full(2, 2 * scale)
    solved = matrix @ _numerics.solve_positive(matrix, right)
    np.testing.assert_allclose(solved, right, rtol=1e-9)


def test_newton_stops_at_a_singular_flat_minimum():
    flat = _numerics.newton(lambda x: (0.0, np.zeros(2), np.zeros((2, 2))), np.ones(2))
    assert flat.tolist() == [1.0, 1.0]


def test_quasi_newton_ends_where_the_gradient_is_small():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(500, 30)) * np.linspace(0.3, 3, 30)  # Hessian up to ten, not the identity
    y = rng.random(500) < 0.3

    def objective(point):
        scores = x @ point
        gradient = x.T @ (1 / (1 + np.exp(-scores)) - y) / 20 + point
        return (np.logaddexp(0, scores) - y * scores).sum() / 20 + point @ point / 2, gradient

    start = np.zeros(30)
    exact = optimize.minimize(objective, start, jac=True, options={"gtol": 1e-9}).x
    for tolerance in (0.1, 1e-6):
        point = _numerics.quasi_newton(
            objective, start, objective(start), tolerance=tolerance, iterations=100
        )
        assert np.sqrt((objective(point)[1] ** 2).mean()) <= 2 * tolerance  # a last step follows
        assert np.abs(point - exact).max() < 10 * tolerance


def test_newton_halves_steps_that_leave_the_domain():
    def objective(x):  # minimum of x - log x at 1; the full step from 3 leaves x > 0
        return None if x[0] <= 0 else (x[0] - np.log(x[0]), 1 - 1 / x, (1 / x**2)[:, None])

    np.testing.assert_allclose(_numerics.newton(objective, np.array([3.0])), 1.0, atol=1e-4)


def test_predictions_in_blocks_equal_those_of_the_matrix(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(5)
    x = rng.normal(size=300)
    x[::7] = np.nan
    number = numeric("x", x, states=np.isnan(x), missing=("NA",))
    codes = rng.integers(0, 6, 300)
    table = Table([number, coded("g", codes, 8)])
    monkeypatch.setattr(predictors, "BLOCK_ROWS", 64)
    design = Design.fit(table, max_categories=4)
    new = Table([number, coded("g", codes + 2, 8)])
    coefficients = rng.normal(size=design.n_columns)
    for part in (table, new, table.take(np.arange(0))):
        expected = design.matrix(part) @ coefficients
        np.testing.assert_allclose(design.predict(part, coefficients), expected, atol=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.1])
def test_a_constant_number_is_a_column_of_zeros(value):
    table = Table([numeric("x", [value] * 7)])
    assert np.abs(Design.fit(table).matrix(table)[:, 1]).max() < 1e-6
