"""Whole numbers for codes and for combinations of values, against lists and sets of tuples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizer.data.codec import Codec
from synthesizer.data.codes import MAX_COUNTED, OUTSIDE, Combinations, Dictionary
from synthesizer.data.table import Table
from tests.tables import coded, numeric

CODES = st.lists(st.integers(0, 60), max_size=30)


@pytest.mark.parametrize("size", [61, 2**40])
@settings(max_examples=40, deadline=None)
@given(known=CODES, wanted=st.lists(st.integers(-1, 60), max_size=30))
def test_dictionary_numbers_distinct_codes_in_order(size, known, wanted):
    dictionary = Dictionary(np.array(known, dtype=np.int64), size)
    expected = sorted(set(known))
    assert len(dictionary) == len(expected)
    positions = dictionary.find(np.array(wanted, dtype=np.int64))
    assert positions.dtype == np.int64
    assert positions.tolist() == [expected.index(c) if c in expected else -1 for c in wanted]


def mixed_table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    states = np.where(rng.random(n) < 0.3, rng.integers(1, 3, n), 0)
    return Table(
        [
            coded("a", rng.integers(0, 4, n), ("x", "y", "z"), ("",)),
            numeric("b", rng.integers(-2, 3, n), states, missing=("", "-9")),
            numeric("c", rng.normal(size=n).round(1), decimals=1),
        ]
    )


def keys_of(table, names):
    parts = [
        zip(table[n].missing_state().tolist(), np.nan_to_num(table[n].data).tolist(), strict=True)
        for n in names
    ]
    return list(zip(*parts, strict=True))


@pytest.mark.parametrize("names", [["a"], ["b"], ["a", "b"], ["c", "b", "a"]])
def test_equal_numbers_are_equal_combinations(names):
    table = mixed_table()
    numbers = Combinations.of(table, names).numbers(table).tolist()
    keys = keys_of(table, names)
    assert min(numbers) >= 0
    assert len(set(numbers)) == len(set(keys)) == len(set(zip(numbers, keys, strict=True)))


def test_values_that_are_new_are_outside():
    table, other = mixed_table(seed=0), mixed_table(seed=1)
    names = ["c", "a"]
    combinations = Combinations.of(table, names)
    known = set(table["c"].data.tolist())
    numbers = combinations.numbers(other)
    gaps = Table([numeric("b", [0, 0, 0, 1], [0, 1, 2, 0], missing=("", "-9"))])
    observed = Combinations.of(gaps.take(np.array([0, 3])), ["b"]).numbers(gaps)
    assert (observed == OUTSIDE).tolist() == [False, True, True, False]  # codes are values, too
    new = [value not in known for value in other["c"].data.tolist()]
    assert any(new)
    assert (numbers == OUTSIDE).tolist() == new
    again = Codec().typed(Combinations, Codec().plain(Combinations, combinations))
    assert again.numbers(other).tolist() == numbers.tolist()


def test_more_combinations_than_a_whole_number_holds():
    """Eight variables of 2**8 values: counted through they would repeat after 2**64."""
    rng = np.random.default_rng(3)
    columns = [numeric(f"v{i}", np.resize(np.arange(256.0), 3000)) for i in range(9)]
    table = Table([numeric(c.name, rng.permutation(c.data)) for c in columns])
    combinations = Combinations.of(table, table.names)
    assert MAX_COUNTED < 256**9
    numbers = combinations.numbers(table)
    assert len(np.unique(numbers)) == 3000
    assert numbers.min() >= 0
    assert np.array_equal(combinations.numbers(table.take(slice(0, 9))), numbers[:9])


def test_altered_state_is_refused():
    one = np.array([1.0])
    for values in ([one], [np.array([2.0, 1.0]), one], [np.zeros(0), one]):
        with pytest.raises(ValueError, match=r"rise|needs values"):
            Combinations(names=("a", "b"), values=values)
