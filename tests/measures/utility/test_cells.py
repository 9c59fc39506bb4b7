import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizer.data.table import Column, Kind, Variable
from synthesizer.measures.utility import cells
from synthesizer.measures.utility.cells import (
    breaks_of,
    cell_counts,
    cramers_v,
    day_text,
    group_pair,
    group_tables,
    number_cells,
)
from tests.tables import persons


def test_levels_of_one_side_missing_codes_and_order():
    missing = Variable(name="x", kind=Kind.NUMERIC, missing=("", "-8"))
    original = Column(missing, np.array([1.0, -2.0, np.nan]), np.array([0, 0, 1], dtype=np.int8))
    other = Variable(name="x", kind=Kind.NUMERIC, missing=("-8",))
    synthetic = Column(other, np.array([1.0, np.nan]), np.array([0, 1], dtype=np.int8))
    pair = group_pair(original, synthetic)
    assert pair.labels == ("below 1", "1 and above", "", "-8")
    assert pair.original.tolist() == [1, 0, 2]
    assert pair.synthetic.tolist() == [1, 3]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3.0], []),
        ([], []),
        ([1.0, -1.0, 5.0], [1.0, 5.0]),
        (list(range(1, 11)), [2.8, 4.6, 6.4, 8.2]),
        ([*[0.0] * 90, 1, 2, 3, 4, 5, 10], [2.0, 4.0, 6.0, 8.0]),
    ],
)
def test_breaks(values, expected):
    assert breaks_of(np.array(values, dtype=float), 5).tolist() == pytest.approx(expected)


def test_sparse_and_dense_counts_are_the_same(monkeypatch):
    sizes = np.random.default_rng(1).integers(1, 20, (20, 2))
    pairs = [(persons(n, seed), persons(k, seed + 99)) for seed, (n, k) in enumerate(sizes)]
    grouped = [group_tables(*pair, persons(1).names) for pair in pairs]
    dense = [cell_counts(each) for each in grouped]
    monkeypatch.setattr(cells, "SPARSE_CELLS", 0)
    monkeypatch.setattr(cells, "MAX_CELLS", 1)
    for each, expected in zip(grouped, dense, strict=True):
        for one, other in zip(cell_counts(each), expected, strict=True):
            np.testing.assert_array_equal(one, other)


def day(text):
    return float(np.datetime64(text, "D").astype(np.int64))


def labels_of(cells, values):
    return cells.labels(*cells.reach(np.asarray(values, dtype=float)))


numbers = st.one_of(
    st.integers(-(10**6), 10**6).map(float),
    st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 3)),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(numbers, min_size=1, max_size=60), st.integers(2, 30), st.booleans())
def test_cells_are_few_ascending_and_hold_the_middle(values, most, is_date):
    values = np.array(values)
    cells = number_cells(values, most, is_date=is_date)
    assert 1 <= len(cells.edges) - 1 <= most
    assert (np.diff(cells.edges) > 0).all()
    low, high = np.quantile(values, [0.005, 0.995])
    assert cells.edges[0] <= low
    assert cells.edges[-1] > high
    labels = labels_of(cells, values)
    assert len(labels) == len(set(labels)) == len(cells.edges) - 1
    if not cells.is_single and not is_date:
        np.testing.assert_allclose(np.diff(cells.edges), cells.edges[1] - cells.edges[0])


# Numbers and most cells; edges, and labels for some of the numbers.
EDGES = {
    "nice": (np.linspace(0.013, 0.187, 500), 10, np.arange(11) / 50, {3: "[0.06, 0.08)"}),
    "whole": (np.arange(46.0), 20, range(0, 51, 5), {-1: "[45, 50)"}),
    "one each": (np.array([3.0, 1, 10, 3]), 20, [1, 3, 10, 11], {0: "1", 1: "3", 2: "10"}),
    "far ends": (np.append(np.linspace(0, 99.5, 995), [1e9, -1e9]), 20, range(0, 101, 5),
                 {0: "below 5", -1: "95 and above"}),
    "a constant": (np.full(3, 3.7), 20, [3.7, 4.7], {0: "3.7"}),
}  # fmt: skip


@pytest.mark.parametrize("name", EDGES)
def test_edges_and_labels_of_numbers(name):
    values, most, edges, labels = EDGES[name]
    cells = number_cells(values, most)
    assert cells.edges.tolist() == pytest.approx([*edges])
    shown = labels_of(cells, values)
    assert {position: shown[position] for position in labels} == labels


def slow_v(counts):
    """Cramer's V, corrected as Bergsma (2013) does; None where one of both has one value."""
    counts = [row for row in counts.tolist() if sum(row)]
    columns = [column for column in zip(*counts, strict=True) if sum(column)]
    r, k, n = len(counts), len(columns), sum(map(sum, counts))
    if min(r, k) < 2:
        return None
    expected = [[sum(row) * sum(column) / n for column in columns] for row in counts]
    cells = [[column[i] for column in columns] for i in range(r)]
    square = sum(
        (o - e) ** 2 / e
        for seen, right in zip(cells, expected, strict=True)
        for o, e in zip(seen, right, strict=True)
    )
    phi = max(0, square / n - (r - 1) * (k - 1) / (n - 1))
    least = min(size - (size - 1) ** 2 / (n - 1) for size in (r, k)) - 1
    return min(math.sqrt(phi / least), 1) if least > 0 else None


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=1, max_size=4))
def test_cramers_v_equals_slow_code(counts):
    counts = np.array(counts, dtype=float)
    at = np.indices(counts.shape).reshape(2, -1)
    value, expected = cramers_v(counts.ravel(), *at), slow_v(counts)
    assert math.isnan(value) if expected is None else value == pytest.approx(expected, abs=1e-6)


def test_nothing_observed_has_no_cells():
    assert number_cells(np.empty(0), 20) is None
    assert number_cells(np.array([np.nan, np.inf]), 20) is None


@pytest.mark.parametrize(
    ("first", "last", "edges"),
    [
        ("2020-01-30", "2020-02-02", ["2020-01-30", "2020-01-31", "2020-02-01", "2020-02-02"]),
        ("2020-03-02", "2020-04-12", ["2020-03-02", "2020-03-09", "2020-03-16"]),
        ("2020-01-15", "2020-09-15", ["2020-01-01", "2020-02-01", "2020-03-01"]),
        ("1969-11-15", "1972-11-15", ["1969-10-01", "1970-01-01", "1970-04-01"]),
        ("1931-05-05", "2009-05-05", ["1930-01-01", "1935-01-01", "1940-01-01"]),
    ],
)
def test_dates_have_edges_of_the_calendar(first, last, edges):
    days = np.arange(day(first), day(last) + 1)
    cells = number_cells(days, 20, is_date=True)
    assert [day_text(edge) for edge in cells.edges[: len(edges)]] == edges
    assert cells.edges[-1] > day(last)
