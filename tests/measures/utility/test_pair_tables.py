from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from synthesizer.data.errors import DataError
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.measures.utility.cells import group_pair
from synthesizer.measures.utility.tables import PairCounter, pair_tables
from tests.tables import coded, numeric, persons


def crossed(pairs, shown):
    """Count a cross table of two grouped variables on both sides, by the labels shown."""
    named = [tuple(label or "(empty)" for label in pair.labels) for pair in pairs]
    chosen = np.ix_(*([own.index(x) for x in axis] for own, axis in zip(named, shown, strict=True)))
    for side in ("original", "synthetic"):
        counts = np.zeros([pair.size for pair in pairs])
        np.add.at(counts, tuple(getattr(pair, side) for pair in pairs), 1)
        yield counts[chosen]


def test_counts_equal_those_of_grouped_pairs():
    original, made = persons(500), [persons(300, 1), persons(200, 2)]
    pairs = list(combinations(original.names, 2))
    found = pair_tables(original, made, pairs=pairs)
    assert [table.variables for table in found] == pairs
    for table in found:
        theirs = []
        for data in made:
            grouped = [
                group_pair(original[name], data[name], quantiles_of="original")
                for name in table.variables
            ]
            ours, counts = crossed(grouped, (table.rows, table.columns))
            np.testing.assert_array_equal(np.array(table.original), ours)
            theirs.append(counts)
        np.testing.assert_allclose(np.array(table.synthetic), np.mean(theirs, axis=0))
        assert np.sum(table.original) == 500
        assert np.sum(table.synthetic) == 250


def test_levels_are_capped_and_new_ones_shown_only_where_they_occur():
    letters = "abcdefghijklmnopqrstuvwxyz"
    codes = np.repeat(np.arange(26), np.arange(1, 27))
    sex = np.arange(len(codes)) % 2
    original = Table([coded("x", codes, letters), coded("sex", sex, "fm")])
    plain = pair_tables(original, original, pairs=[("x", "sex")])[0]
    assert plain.rows == (*"zyxwvutsrqpo", "other levels")
    assert set(plain.columns) == {"m", "f"}
    assert sum(plain.original[-1]) == sum(range(1, 15))
    made = Table([coded("x", [0, 1], ["?", "z"]), coded("sex", [0, 1], "mf", missing=("-1",))])
    table = pair_tables(original, made, pairs=[("x", "sex")], most_levels=1)[0]
    assert table.rows == ("z", "new levels", "other levels")
    assert np.sum(table.synthetic, axis=1).tolist() == [1, 1, 0]


def test_dates_have_iso_labels_in_the_groups_of_numbers():
    variable = Variable(name="born", kind=Kind.DATE)
    days = Column(variable, np.arange(17000.0, 17012))
    table = Table([days, coded("a", np.arange(12) % 2, "xy")])
    found = pair_tables(table, table, pairs=[("born", "a")], groups=4)[0]
    grouped = group_pair(days, days, groups=4, quantiles_of="original")
    assert found.rows[0] == "below 2016-07-21"
    sizes = np.bincount(grouped.original, minlength=4)
    assert np.sum(found.original, axis=1).tolist() == sizes.tolist()
    times = Table([Column(variable, days.data / 24), table["a"]])
    found = pair_tables(times, times, pairs=[("born", "a")], groups=2)[0]
    assert found.rows[0].startswith("below 1971-12-")
    assert "T" in found.rows[0]


def test_datasets_come_one_by_one_and_values_are_plain():
    original = persons(100)
    counter = PairCounter(original, [("sex", "income")], groups=3)
    with pytest.raises(DataError, match="generate at least one"):
        counter.result()
    for seed in (1, 2):
        counter.add(persons(60, seed))
    (found,) = counter.result()
    both = pair_tables(
        original, [persons(60, 1), persons(60, 2)], pairs=[("sex", "income")], groups=3
    )
    assert (found,) == both
    with pytest.raises(DataError, match="synthetic dataset 3"):
        counter.add(original.select(["sex"]))


def test_empty_and_constant_columns():
    table = Table(
        [
            numeric("empty", [0, 0], [1, 1], missing=("",)),
            numeric("same", [4, 4]),
            coded("one", [0, 0], "a"),
        ]
    )
    found = pair_tables(table, table.take([0]), pairs=[("empty", "same"), ("one", "same")])
    assert found[0].rows == ("all values", "(empty)")
    assert found[0].original == ((0,), (2,))
    assert found[1].synthetic == ((1.0,),)


def test_many_levels_do_not_overflow():
    levels = [str(number) for number in range(300)]
    codes = np.arange(300)
    table = Table([coded("a", codes, levels), coded("b", codes, levels)])
    found = pair_tables(table, table, pairs=[("a", "b")], most_levels=300)[0]
    np.testing.assert_array_equal(np.array(found.original), np.eye(300))


def test_frames_are_read():
    frame = pd.DataFrame({"sex": ["f", "m", "m"], "age": [20, 30, 30]})
    found = pair_tables(frame, [frame], pairs=[("age", "sex")])[0]
    assert found.columns == ("m", "f")


def test_all_problems_are_told_at_once():
    table = persons(20)
    with pytest.raises(DataError) as caught:
        pair_tables(table, table, pairs=[("sex", "sex"), ("age", "no")], groups=1, most_levels=0)
    assert len(caught.value.problems) == 4
    with pytest.raises(DataError) as caught:
        PairCounter(table.take(slice(0, 0)), [("sex", "no"), ("age",)])
    assert len(caught.value.problems) == 3
