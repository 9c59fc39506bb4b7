"""Numbering codes: the dense table and the sorted one give the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthesizer.data.codes import Dictionary

CODES = st.lists(st.integers(0, 60), max_size=30)


@pytest.mark.parametrize("size", [61, 2**40])
@given(known=CODES, asked=st.lists(st.integers(-1, 60), max_size=30))
def test_dictionary_numbers_distinct_codes_in_order(size, known, asked):
    dictionary = Dictionary(np.array(known, dtype=np.int64), size)
    expected = sorted(set(known))
    assert len(dictionary) == len(expected)
    found = dictionary.find(np.array(asked, dtype=np.int64))
    assert found.dtype == np.int64
    assert found.tolist() == [expected.index(c) if c in expected else -1 for c in asked]
