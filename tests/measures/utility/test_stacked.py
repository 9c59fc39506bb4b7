from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizer.data.table import Table
from synthesizer.measures.utility.stacked import _solved, stacked_design
from tests.tables import coded, numeric, persons

NAMES = ("a", "b", "c")


def whole(design):
    units = np.eye(design.width)
    return np.column_stack([design.predictor(slice(0, design.n_rows), unit) for unit in units])


@st.composite
def tables(draw, levels):
    n = draw(st.integers(1, 12))
    codes = [
        draw(st.lists(st.integers(0, top), min_size=n, max_size=n))
        for top in (len(levels) - 1, 1, 2)
    ]
    values = draw(st.lists(st.integers(-5, 5), min_size=n, max_size=n))
    return Table(
        [
            coded("a", codes[0], levels),
            coded("b", codes[1], "pq"),
            numeric("c", values, codes[2], missing=("", "-8")),
        ]
    )


@settings(max_examples=25, deadline=None)
@given(st.tuples(tables("xyz"), tables("zyw")), st.integers(1, 3))
def test_columns_are_all_products_that_occur(both, order):
    each = [whole(stacked_design(*both, [name], limit=99))[:, 1:] for name in NAMES]
    expected = [np.ones(len(each[0]))]
    for size in range(1, order + 1):
        for chosen in combinations(each, size):
            expected += [np.prod(columns, axis=0) for columns in product(*(c.T for c in chosen))]
    design = whole(stacked_design(*both, NAMES, order=order, limit=10**6)).T
    nonzero = [column for column in expected if column.any()]
    # Columns of zeros add nothing to a model; numbers that are all 0 are left where they are.
    remaining = [column for column in design if column.any()]
    assert len(remaining) == len(nonzero)
    for column in nonzero:
        assert any(np.allclose(column, other) for other in remaining)


@pytest.mark.parametrize("most", [0, 2, 99])
def test_products_are_those_of_the_columns(monkeypatch, most):
    monkeypatch.setattr("synthesizer.measures.utility.stacked._NARROW", most)
    one, other = persons(60), persons(40, 1)
    design = stacked_design(one, other, one.names, order=2, limit=100)
    columns, rows = whole(design), slice(15, 90)
    monkeypatch.setattr("synthesizer.measures.utility.stacked._BLOCK", 7)
    np.testing.assert_array_equal(whole(design), columns)
    right, root = np.random.default_rng(1).random((2, 75))
    for roots, weights in ((None, np.ones(75)), (root, root**2)):
        gram, moments = design.products(rows, right, roots)
        np.testing.assert_allclose(gram, columns[rows].T @ (columns[rows] * weights[:, None]))
        np.testing.assert_allclose(moments, columns[rows].T @ right)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_limit_is_the_width(order):
    one, other = persons(60), persons(40, 1)
    width = stacked_design(one, other, one.names, order=order, limit=10**6).width
    assert stacked_design(one, other, one.names, order=order, limit=width).width == width
    assert stacked_design(one, other, one.names, order=order, limit=width - 1) is None


def test_equations_without_one_solution_have_the_shortest():
    singular, right = np.array([[2.0, 2.0], [2.0, 2.0]]), np.array([4.0, 4.0])
    np.testing.assert_allclose(_solved(singular, right), [1.0, 1.0])
    np.testing.assert_allclose(_solved(np.diag([2.0, 4.0]), right), [2.0, 1.0])
