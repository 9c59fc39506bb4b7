from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizer.data.errors import DataError
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.measures.utility import (
    MEASURES,
    cell_measures,
    combine_tables,
    table_utility,
)
from synthesizer.measures.utility.cells import group_pair
from synthesizer.measures.utility.distributions import PairCounter, pair_tables
from tests.reference_data import REFERENCE, load_reference, needs_reference
from tests.tables import coded, numeric, persons


def measures(o, s):
    found = cell_measures(np.array(o, dtype=float), np.array(s, dtype=float))
    return dict(zip(MEASURES, found, strict=True))


counts = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=8).filter(
    lambda cells: all(sum(side) > 0 for side in zip(*cells, strict=True))
)


@settings(max_examples=80, deadline=None)
@given(counts)
def test_measures_equal_record_by_record_computation(cells):
    """The propensity score of the saturated model is a cell's share of synthetic records."""
    o, s = zip(*cells, strict=True)
    ours = [b / (a + b) for a, b in cells for _ in range(a)]
    theirs = [b / (a + b) for a, b in cells for _ in range(b)]
    n, c = len(ours) + len(theirs), len(theirs) / (len(ours) + len(theirs))
    pmse = sum((p - c) ** 2 for p in ours + theirs) / n
    found = measures(o, s)
    assert found["pMSE"] == pytest.approx(pmse, abs=1e-12)
    pairs = [(p > q) + (p == q) / 2 for p in theirs for q in ours]
    assert found["U"] == pytest.approx(sum(pairs))
    thresholds = sorted({*ours, *theirs})
    gaps = [
        abs(sum(p <= x for p in ours) / len(ours) - sum(p <= x for p in theirs) / len(theirs))
        for x in thresholds
    ]
    assert found["SPECKS"] == pytest.approx(max(gaps), abs=1e-12)
    if found["df"] > 0:
        null = found["df"] * (1 - c) ** 2 * c / n
        assert found["S_pMSE"] == pytest.approx(pmse / null, abs=1e-9)


@pytest.mark.parametrize("n_s", [500, 2000, 8000])
def test_standardised_measures_are_one_on_average_for_a_right_synthesis(n_s):
    """Synthesis from the original's own shares, of other sizes than the original too."""
    rng = np.random.default_rng(n_s)
    o = rng.multinomial(20_000, [0.1, 0.2, 0.3, 0.15, 0.25])
    runs = pd.DataFrame([measures(o, rng.multinomial(n_s, o / o.sum())) for _ in range(1500)])
    # Given the original the variance is that of the synthetic counts; e pools both, hence near 1.
    for name in ("S_VW", "S_FT", "S_G", "S_pMSE"):
        assert runs[name].mean() == pytest.approx(1, abs=0.1)


def test_the_same_table_is_perfect():
    found = measures([3, 0, 2], [3, 0, 2])
    for name in ("VW", "FT", "JSD", "SPECKS", "G", "pMSE", "PO50", "MabsDD", "WMabsDD", "dBhatt"):
        assert found[name] == pytest.approx(0, abs=1e-12)
    assert found["U"] == 12.5
    assert found["df"] == 1


def test_tables_without_a_common_cell_are_as_far_as_can_be():
    found = measures([4, 0], [0, 6])
    assert found["SPECKS"] == 1
    assert found["PO50"] == 50
    assert found["JSD"] == pytest.approx(1)
    assert (found["G"], found["dfG"]) == (0, -1)
    assert np.isnan(found["S_G"])


def random_table(seed, n=300):
    rng = np.random.default_rng(seed)
    return Table(
        [
            coded("a", rng.integers(0, 3, n), "xyz"),
            coded("b", rng.integers(0, 2, n), "pq"),
            Column(Variable(name="c", kind=Kind.NUMERIC), rng.normal(size=n)),
            Column(Variable(name="who", kind=Kind.ID), np.arange(float(n))),
        ]
    )


def test_datasets_are_averaged_and_combined():
    original, first, second = (random_table(seed) for seed in range(3))
    both = table_utility(original, [first, second], ways=[1, 2, 3])
    assert both.mean["variables"].size == 3 + 3 + 1
    assert not both.mean["variables"].str.contains("who").any()
    assert both.mean["S_pMSE"].is_monotonic_decreasing
    one = both.by_dataset[both.by_dataset["variables"] == "a:b"]
    row = both.mean.set_index("variables").loc["a:b"]
    assert row["VW"] == pytest.approx(one["VW"].mean())
    assert one["p"].between(0, 1).all()
    assert set(one["names"]) == {("a", "b")}
    assert row["names"] == ("a", "b")
    assert (one["p_chi_square"] >= one["p"]).all()
    apart = [table_utility(original, [t], ways=[1, 2, 3]) for t in (first, second)]
    joined = combine_tables(apart)
    key = ["variables", "dataset"]
    pd.testing.assert_frame_equal(
        joined.by_dataset.sort_values(key, ignore_index=True),
        both.by_dataset.sort_values(key, ignore_index=True),
    )
    assert joined.worst(2, 1)["variables"].tolist() == both.worst(2, 1)["variables"].tolist()


def test_names_that_hold_a_colon_are_not_mixed_up():
    codes = np.arange(12)
    names = ("a", "b:c", "a:b", "c")
    table = Table([coded(name, codes % (2 + n), "uvwxy") for n, name in enumerate(names)])
    result = table_utility(table, [table, table], ways=[2])
    assert len(result.mean) == 6
    mixed = result.mean[result.mean["variables"] == "a:b:c"]
    assert set(mixed["names"]) == {("a", "b:c"), ("a:b", "c")}
    assert mixed["df"].nunique() == 2
    assert [row.variables for row in result.result().rows] == list(result.mean["names"])


def test_one_record_empty_columns_and_levels_of_one_side_are_no_errors():
    empty = Variable(name="e", kind=Kind.NUMERIC, missing=("",))
    none = Column(empty, np.array([np.nan]), np.array([1], dtype=np.int8))
    original = Table([coded("a", [0], "x"), none])
    made = Table([coded("a", [0], "y"), none])
    mean = table_utility(original, [made]).mean.set_index("variables")
    assert (mean.loc["a", "ROE"], mean.loc["a", "df"]) == (0, 1)
    assert (mean.loc["e", "ROE"], mean.loc["e", "chi_square"]) == (1, 0)
    assert np.isnan(mean.loc["e", "S_pMSE"])


def test_a_constant_variable_has_no_degrees_of_freedom():
    table = Table([coded("a", [0, 0, 0], "xy")])
    result = table_utility(table, [table])
    assert np.isnan(result.mean["S_pMSE"][0])
    (row,) = result.result().rows
    assert (row.s_pmse, row.p, row.p_vw, row.df) == (None, None, None, 0)
    assert result.result().orders[0].s_pmse_max is None


def test_all_problems_are_told_at_once():
    table = random_table(0)
    with pytest.raises(DataError) as caught:
        table_utility(table, [table], names=["a", "nowhere"], ways=[4], groups=1)
    assert len(caught.value.problems) == 3
    with pytest.raises(DataError, match="generate it again"):
        table_utility(table, [table.take(slice(0, 0))])


@needs_reference
@pytest.mark.parametrize(
    ("file", "made", "ways"),
    [
        ("oneway_cart.csv", "synthetic_cart.csv", 1),
        ("twoway_cart.csv", "synthetic_cart.csv", 2),
        ("twoway_parametric.csv", "synthetic_parametric.csv", 2),
    ],
)
def test_equals_the_reference(file, made, ways):
    expected = pd.read_csv(REFERENCE / file, index_col=0)
    expected.index = [
        ":".join(part.split(".", 1)[1] for part in name.split(":")) for name in expected.index
    ]
    original = load_reference("original.csv")
    result = table_utility(original, [load_reference(made)], ways=[ways])
    found = result.mean.set_index("variables").loc[expected.index, list(expected.columns)]
    np.testing.assert_allclose(
        found.to_numpy(dtype=float), expected.to_numpy(dtype=float), rtol=1e-9
    )
    np.testing.assert_allclose(result.mean["chi_square"], result.mean["VW"] / 2, rtol=1e-12)


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


def test_all_problems_of_pairs_are_told_at_once():
    table = persons(20)
    with pytest.raises(DataError) as caught:
        pair_tables(table, table, pairs=[("sex", "sex"), ("age", "no")], groups=1, most_levels=0)
    assert len(caught.value.problems) == 4
    with pytest.raises(DataError) as caught:
        PairCounter(table.take(slice(0, 0)), [("sex", "no"), ("age",)])
    assert len(caught.value.problems) == 3
