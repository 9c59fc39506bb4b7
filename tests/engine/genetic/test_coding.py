from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizer.data.errors import DataError
from synthesizer.data.table import Kind, Table, Variable
from synthesizer.engine.genetic.coding import Coding, coding_problems
from tests.engine.genetic.slow_scores import coding_of, file_of, files, random_file
from tests.tables import assert_same, coded


def variables(counts, kind=Kind.CATEGORICAL):
    return [
        Variable(name=f"v{place}", kind=kind, levels=tuple(map(str, range(count))))
        for place, count in enumerate(counts)
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
    for place, column in enumerate(table.columns):
        np.testing.assert_array_equal(coding.level(records, place), column.data)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_numbers_run_through_all_combinations_once_with_the_last_variable_fastest(counts):
    coding = Coding.of(variables(counts))
    assert coding.n_cells == prod(counts)
    every = np.arange(coding.n_cells)
    expected = list(np.ndindex(*counts))
    assert [tuple(row) for row in coding.digits(every).tolist()] == expected
    np.testing.assert_array_equal(coding.encode(coding.decode(every)), every)


def test_missing_codes_are_levels_of_their_own():
    table = file_of([[0, 1, 2, 3], [0, 0, 1, 1]], [2, 2], [("", "-8"), ()])
    coding = coding_of(table)
    assert coding.levels.tolist() == [4, 2]
    assert coding.encode(table).tolist() == [0, 2, 5, 7]
    assert coding.decode(np.array([7]))["v0"].missing_state().tolist() == [2]


def test_one_variable_with_one_level():
    table = file_of([[0, 0, 0]], [1])
    coding = coding_of(table)
    assert (coding.n_cells, coding.strides.tolist()) == (1, [1])
    assert coding.encode(table).tolist() == [0, 0, 0]
    assert_same(coding.decode(np.zeros(3, dtype=np.int32)), table)


def test_no_records():
    coding = Coding.of(variables([2, 3]))
    empty = coding.decode(np.zeros(0, dtype=np.int32))
    assert empty.n_rows == 0
    assert coding.encode(empty).shape == (0,)


def test_ordered_and_boolean_variables_are_categories():
    table = Table(
        coded(kind.value, [1, 0], ("no", "yes"), kind=kind)
        for kind in (Kind.CATEGORICAL, Kind.ORDERED, Kind.BOOLEAN)
    )
    assert coding_of(table).encode(table).tolist() == [7, 0]


def test_columns_in_another_order_give_the_same_numbers():
    table = random_file(20, [3, 2, 4])
    coding = coding_of(table)
    other = table.select(["v2", "v0", "v1"])
    np.testing.assert_array_equal(coding.encode(other), coding.encode(table))


@pytest.mark.parametrize(
    ("binary", "wide"), [(30, np.int32), (31, np.int64), (61, np.int64), (62, np.int64)]
)
def test_numbers_are_as_narrow_as_they_can_be(binary, wide):
    coding = Coding.of(variables([2] * binary))
    assert coding.dtype is wide
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, 2, 50) for _ in range(binary)]
    columns = [np.append(column, [0, 1]) for column in columns]  # the first and the last number
    table = Table(coded(f"v{place}", codes, ("0", "1")) for place, codes in enumerate(columns))
    records = coding.encode(table)
    assert records.dtype == wide
    assert records[-1] == 2**binary - 1
    assert_same(coding.decode(records), table)


def test_too_many_combinations_are_told():
    assert coding_problems(variables([2] * 62)) == []
    with pytest.raises(DataError, match=r"more than the 10\^18"):
        Coding.of(variables([2] * 63))


def test_more_combinations_than_a_float_holds_are_told():
    with pytest.raises(DataError, match="combinations of levels"):
        Coding.of(variables([10] * 310))


def test_all_numbers_and_dates_are_named_at_once():
    others = [
        Variable(name="income", kind=Kind.NUMERIC),
        Variable(name="born", kind=Kind.DATE),
        Variable(name="person", kind=Kind.ID),
    ]
    with pytest.raises(DataError) as caught:
        Coding.of([*variables([2] * 63), *others])
    text = str(caught.value)
    assert len(caught.value.problems) == 4
    for part in ("'income': is numeric", "'born': is date", "'person': is id", "drop variables"):
        assert part in text
    assert "'v0'" not in text
