from collections import Counter
from itertools import permutations
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizer.engine.genetic import coding as margins
from synthesizer.engine.genetic.coding import Coding, Margin, cell_numbers, sorted_cells
from tests.engine.genetic.slow_scores import coding_of, files, random_file
from tests.engine.genetic.test_coding import variables


def own(*arguments):
    """A margin that looks up its own cells, not those of all variables."""
    with patch.object(margins, "DIRECT", 0):
        return Margin(*arguments)


def sparse(*arguments):
    """A margin whose cells are searched, not looked up."""
    with patch.object(margins, "DIRECT", 0), patch.object(margins, "DENSE", 0):
        return Margin(*arguments)


def cells_of(table, places):
    codes = np.stack([column.data for column in table.columns], axis=1)[:, list(places)]
    return [tuple(row) for row in codes.tolist()]


@settings(max_examples=80, deadline=None)
@given(files(), st.data())
def test_counts_equal_slow_counting_both_ways(case, data):
    original, (made,), _, _ = case
    coding = coding_of(original)
    chosen = data.draw(st.permutations(range(len(original.names))))
    places = chosen[: data.draw(st.integers(1, len(chosen)))]
    cells, counts = sorted_cells(coding, places, coding.encode(original))
    # cells rise as tuples of codes do, in the order of the places
    known = Counter(cells_of(original, places))
    assert counts.tolist() == [known[cell] for cell in sorted(known)]
    records = coding.encode(made)
    found = Counter(cells_of(made, places))
    for margin in [make(coding, places, cells) for make in (Margin, own, sparse)]:
        assert margin.count(records).tolist() == [found[cell] for cell in sorted(known)]
        order = sorted(known)
        expected = [order.index(c) if c in known else -1 for c in cells_of(made, places)]
        assert margin.of(records).tolist() == expected


@pytest.mark.parametrize("make", [Margin, own, sparse])
def test_no_cells_and_no_records(make):
    table = random_file(30, [3, 2])
    coding = coding_of(table)
    records, nothing = coding.encode(table), np.zeros(0, dtype=np.int64)
    empty = make(coding, [1], nothing)
    assert empty.count(records).shape == (0,)
    assert empty.of(records).tolist() == [-1] * 30
    one = make(coding, [1], np.array([1]))
    assert one.count(records[:0]).tolist() == [0]


@pytest.mark.parametrize("make", [Margin, own, sparse])
def test_some_cells_only(make):
    coding = Coding.of(variables([3, 2]))
    margin = make(coding, [0, 1], np.array([1, 4]))
    assert margin.count(np.array([0, 1, 1, 4, 5], dtype=np.int32)).tolist() == [2, 1]


def test_dense_and_sparse_are_what_they_say():
    coding = Coding.of(variables([3, 2]))
    assert len(Margin(coding, [0], np.array([1]))._lookup) == 6
    assert len(own(coding, [0], np.array([1]))._lookup) == 3
    assert sparse(coding, [0], np.array([1]))._lookup is None


def test_the_order_of_the_places_decides_the_numbers():
    coding = Coding.of(variables([2, 3, 4]))
    every = np.arange(coding.n_cells)
    digits, levels = coding.digits(every), coding.levels
    for places in permutations(range(3), 2):
        first, second = places
        expected = digits[:, first] * levels[second] + digits[:, second]
        np.testing.assert_array_equal(cell_numbers(coding, places, every), expected)


def test_numbers_beyond_32_bits():
    coding = Coding.of(variables([128] * 8))
    records = np.array([0, coding.n_cells - 1, coding.n_cells // 2], dtype=np.int64)
    places = [7, 0, 3, 1, 2, 5, 4, 6]
    cells, counts = sorted_cells(coding, places, np.repeat(records, 2))
    margin = Margin(coding, places, cells)
    assert margin._lookup is None
    assert counts.tolist() == [2, 2, 2]
    assert margin.count(records).tolist() == [1, 1, 1]
    assert margin.count(np.array([1, 2**40, coding.n_cells - 2])).sum() == 0
