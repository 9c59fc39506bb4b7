from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizer.data.table import Table
from synthesizer.measures.risk.identity import (
    SharedCoder,
    identity,
    key_counts,
)
from tests.measures.risk.slow_rows import rows, tables_to_compare
from tests.reference_data import KEYS, expected_values, load_reference, needs_reference
from tests.tables import coded, numeric


def slow_identity(original, made, keys, cuts=None):
    ours, theirs = Counter(rows(original, keys, cuts)), Counter(rows(made, keys, cuts))
    unique = [key for key, count in ours.items() if count == 1]
    return (
        len(unique) / original.n_rows,
        sum(count == 1 for count in theirs.values()) / made.n_rows,
        sum(key in theirs for key in unique) / original.n_rows,
        sum(theirs[key] == 1 for key in unique) / original.n_rows,
    )


def shares(values):
    return values.uio, values.uis, values.uiois, values.repu


@settings(max_examples=25, deadline=None)
@given(tables_to_compare(), st.sampled_from([["a"], ["b"], ["b", "a"], ["a", "b", "t", "u"]]))
def test_equals_slow_counting(data, keys):
    original, made = data
    result = identity(original, made, keys=keys)
    expected = [slow_identity(original, table, keys) for table in made]
    assert [shares(values) for values in result.datasets] == expected
    means = np.mean(expected, axis=0).tolist()
    assert shares(result.mean) == pytest.approx(means)
    figures = {figure.name: figure for figure in result.figures}
    own = slow_identity(original, original, keys)
    n, n_made = original.n_rows, sum(table.n_rows for table in made)
    for name, value, mark in zip(("UiO", "UiS", "UiOiS", "repU"), means, own, strict=True):
        figure = figures[name]
        assert (figure.value, figure.original) == (pytest.approx(value), pytest.approx(mark))
        assert figure.n == (n_made if name == "UiS" else n)
    assert result.n_synthetic == tuple(table.n_rows for table in made)
    known = rows(original, keys)
    assert key_counts(original, keys).tolist() == [known.count(row) for row in known]


@settings(max_examples=20, deadline=None)
@given(tables_to_compare(), st.sampled_from([[0.0], [-1.0, 3.0]]))
def test_grouped_numbers_equal_slow_counting(data, cuts):
    original, made = data
    result = identity(original, made, keys=["b", "a"], groups={"b": cuts, "u": 3})
    expected = [slow_identity(original, table, ["b", "a"], {"b": cuts}) for table in made]
    assert [shares(values) for values in result.datasets] == expected


def test_shared_codes_tell_new_combinations_apart():
    original = Table([coded("a", [0, 1], "xy"), numeric("b", [1.0, 2.0])])
    made = Table([coded("a", [1, 0, 0, 1], "yz"), numeric("b", [9.0, 2.0, 1.0, 9.0])])
    codes, size = SharedCoder(original, ["a", "b"]).encode(made)
    assert (codes[1], size) == (1, 4)
    assert codes[0] == codes[3] >= 2
    assert codes[2] >= 2
    assert codes[2] != codes[0]


@needs_reference
@pytest.mark.parametrize("method", ["cart", "parametric"])
def test_equals_the_reference(method):
    original = load_reference("original.csv")
    expected = expected_values()[method]["ident"]
    values = identity(original, load_reference(f"synthetic_{method}.csv"), keys=KEYS).mean
    found = dict(zip(("UiO", "UiS", "UiOiS", "repU"), shares(values), strict=True))
    assert {name: 100 * share for name, share in found.items()} == pytest.approx(
        expected, rel=0, abs=1e-9
    )
