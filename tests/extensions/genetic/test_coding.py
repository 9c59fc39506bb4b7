from collections import Counter
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizer.data.errors import DataError
from synthesizer.data.table import Kind, Table, Variable
from synthesizer.extensions.genetic import scores as margins
from synthesizer.extensions.genetic.scores import (
    CandidateMargin,
    Coding,
    coding_problems,
    sorted_cells,
)
from tests.extensions.genetic.small_files import coding_of, files, random_file
from tests.tables import assert_same, coded


def variables(counts, kind=Kind.CATEGORICAL):
    return [
        Variable(name=f"v{position}", kind=kind, levels=tuple(map(str, range(count))))
        for position, count in enumerate(counts)
    ]


@settings(max_examples=60, deadline=None)
@given(files())
def test_decode_gives_back_what_was_encoded(case):
    table = case[0]
    coding = coding_of(table)
    records = coding.encode(table)
    assert records.shape == (table.n_rows,)
    assert records.dtype == np.int32
    assert_same(coding.decode(records), table)
    every = np.stack([column.data for column in table.columns], axis=1)
    np.testing.assert_array_equal(coding.digits(records), every)
    for position, column in enumerate(table.columns):
        np.testing.assert_array_equal(coding.level(records, position), column.data)


def test_columns_in_another_order_give_the_same_numbers():
    table = random_file(20, [3, 2, 4])
    coding = coding_of(table)
    other = table.select(["v2", "v0", "v1"])
    np.testing.assert_array_equal(coding.encode(other), coding.encode(table))


@pytest.mark.parametrize(("binary", "wide"), [(30, np.int32), (31, np.int64), (62, np.int64)])
def test_numbers_are_as_narrow_as_they_can_be(binary, wide):
    coding = Coding.of(variables([2] * binary))
    assert coding.dtype is wide
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, 2, 50) for _ in range(binary)]
    columns = [np.append(column, [0, 1]) for column in columns]  # the first and the last number
    table = Table(coded(f"v{digit}", codes, ("0", "1")) for digit, codes in enumerate(columns))
    records = coding.encode(table)
    assert records.dtype == wide
    assert records[-1] == 2**binary - 1
    assert_same(coding.decode(records), table)


@pytest.mark.parametrize("counts", [[2] * 63, [10] * 310])
def test_too_many_combinations_are_refused(counts):
    """More than an integer holds, and more than a float does."""
    assert coding_problems(variables([2] * 62)) == []
    with pytest.raises(DataError, match="combinations of levels"):
        Coding.of(variables(counts))


def compact(*arguments):
    """Return a margin that looks up its own cells, not those of all variables."""
    with patch.object(margins, "MAX_DIRECT_CELLS", 0):
        return CandidateMargin(*arguments)


def sparse(*arguments):
    """Return a margin that searches its cells and does not look them up."""
    with patch.object(margins, "MAX_DIRECT_CELLS", 0), patch.object(margins, "MAX_DENSE_CELLS", 0):
        return CandidateMargin(*arguments)


def cells_of(table, positions):
    codes = np.stack([column.data for column in table.columns], axis=1)[:, list(positions)]
    return [tuple(row) for row in codes.tolist()]


@settings(max_examples=80, deadline=None)
@given(files(), st.data())
def test_counts_equal_slow_counting_both_ways(case, data):
    original, (made,), _, _ = case
    coding = coding_of(original)
    chosen = data.draw(st.permutations(range(len(original.names))))
    positions = chosen[: data.draw(st.integers(1, len(chosen)))]
    cells, counts = sorted_cells(coding, positions, coding.encode(original))
    # cells rise as tuples of codes do, in the order of the positions
    known = Counter(cells_of(original, positions))
    assert counts.tolist() == [known[cell] for cell in sorted(known)]
    records = coding.encode(made)
    observed = Counter(cells_of(made, positions))
    for margin in [make(coding, positions, cells) for make in (CandidateMargin, compact, sparse)]:
        assert margin.count(records).tolist() == [observed[cell] for cell in sorted(known)]
        order = sorted(known)
        expected = [order.index(c) if c in known else -1 for c in cells_of(made, positions)]
        assert margin.of(records).tolist() == expected


def test_numbers_beyond_32_bits():
    coding = Coding.of(variables([128] * 8))
    records = np.array([0, coding.n_cells - 1, coding.n_cells // 2], dtype=np.int64)
    positions = [7, 0, 3, 1, 2, 5, 4, 6]
    cells, counts = sorted_cells(coding, positions, np.repeat(records, 2))
    margin = CandidateMargin(coding, positions, cells)
    assert margin._lookup is None
    assert counts.tolist() == [2, 2, 2]
    assert margin.count(records).tolist() == [1, 1, 1]
    assert margin.count(np.array([1, 2**40, coding.n_cells - 2])).sum() == 0
