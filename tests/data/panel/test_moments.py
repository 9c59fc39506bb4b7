"""The periods of a column of times: order, distances, and what is wrong with it."""

import numpy as np
import pytest

from synthesizer.data.errors import DataError
from synthesizer.data.panel.panel_table import moments_of, natural_order
from synthesizer.data.table import Column, Kind, Variable
from tests.tables import coded, numeric


def test_words_that_are_numbers_are_ordered_by_value():
    column = coded("wave", [2, 0, 1, 2], ("10", "2", "1"))
    moments = moments_of(column)
    assert moments.times.tolist() == [1.0, 2.0, 10.0]
    assert moments.period.tolist() == [0, 2, 1, 0]
    labels = [moments.column.variable.levels[code] for code in moments.column.data]
    assert labels == ["1", "2", "10"]
    assert moments.gaps == 1


def test_ordered_words_count_positions_of_the_levels_that_occur():
    column = coded("wave", [3, 1, 3], ("a", "b", "c", "d"), kind=Kind.ORDERED)
    moments = moments_of(column)
    assert moments.times.tolist() == [0.0, 1.0]
    assert moments.period.tolist() == [1, 0, 1]
    assert moments_of(numeric("year", [1.0, 3.0, 5.0])).gaps == 0


def test_words_are_sorted_by_year_number_and_month():
    names = "Jan february MAR apr May June jul aug sep oct nov dec"
    months = [f"{name} 2001" for name in names.split()]
    assert sorted(sorted(months), key=natural_order) == months
    assert sorted(["Q10 2001", "Q9 2001", "x", "Q1 2000"], key=natural_order)[-2:] == [
        "Q9 2001",
        "Q10 2001",
    ]


@pytest.mark.parametrize(
    ("dates", "gaps"),
    [
        (["2001-01-01", "2001-02-01", "2001-03-01", "2001-04-01"], 0),
        (["2001-10-01", "2002-01-01", "2002-04-01", "2002-07-01", "2002-10-01"], 0),
        (["2001-01-31", "2001-02-28", "2001-03-31", "2001-04-30"], 0),
        (["2003-02-15", "2004-02-15", "2005-02-15"], 0),
        (["1971-01-01", "1970-01-01", "1970-02-01"], 1),
        (["2001-01-01", "2001-02-01", "2001-03-01", "2001-07-01"], 1),
        (["2001-01-01", "2001-01-08", "2001-01-15", "2001-01-29"], 1),
    ],
)
def test_months_are_of_one_length_for_gaps(dates, gaps):
    days = np.array(dates, dtype="datetime64[D]").astype(np.float64)
    moments = moments_of(Column(Variable(name="day", kind=Kind.DATE), days))
    assert moments.gaps == gaps
    assert moments.times.tolist() == sorted(days)  # what advances uses days


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (
            coded("t", [0, 1], ("spring", "autumn")),
            ["without an order", "variables.t.levels", "kind: date"],
        ),
        (
            coded("t", [0, 1, 0, 2, 1], ("2000", "2001", "abc")),
            ["not a number in 1 row", "number 4", "correct", "variables.t.levels"],
        ),
        (coded("t", [0, 1], ("1990",), ("",)), ["missing in 1 row", "number 2"]),
        (numeric("t", [1.0, 2.0], [0, 1], missing=("",)), ["missing in 1 row"]),
        (Column(Variable(name="t", kind=Kind.ID), np.arange(2.0)), ["identifier", "kind"]),
        (coded("t", [0, 1], ("2000", "2000.0")), ["the same period"]),
    ],
)
def test_problems_name_the_column_and_the_remedy(column, words):
    with pytest.raises(DataError) as caught:
        moments_of(column)
    for word in words:
        assert word in str(caught.value)
