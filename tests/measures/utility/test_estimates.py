import math
from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from synthesizer.data.errors import DataError
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.measures.utility.estimates import (
    chi_square,
    combine_distances,
    jensen_shannon,
    ratio_of_estimates,
)
from tests.reference_data import REFERENCE, load_reference, needs_reference
from tests.tables import coded, numeric, persons

MEASURES = (ratio_of_estimates, jensen_shannon, chi_square)


@st.composite
def tables(draw, levels, missing):
    n = draw(st.integers(1, 14))
    codes = draw(st.lists(st.integers(0, len(levels) - 1), min_size=n, max_size=n))
    others = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    # At most five distinct numbers are groups of their own, which a slow judge can tell.
    values = draw(st.lists(st.sampled_from([-2.0, 0.0, 1.5]), min_size=n, max_size=n))
    states = draw(st.lists(st.integers(0, len(missing)), min_size=n, max_size=n))
    return Table(
        [
            coded("a", codes, levels),
            coded("b", others, ("no",), missing=("?",)),
            numeric("c", values, states, missing=missing),
        ]
    )


def slow_rows(table, original):
    """Return rows of labels and numbers; those the original lacks join its groups below them."""
    known = sorted(set(original["c"].data[original["c"].is_observed]))
    found = []
    for row in range(table.n_rows):
        number = table["c"]
        state = number.missing_state()[row]
        value = number.data[row]
        group = ("code", number.variable.missing[state - 1]) if state else value
        if not state and known:
            group = max([k for k in known if k <= value], default=known[0])
        elif not state:
            group = "any"
        found.append(
            {
                "a": table["a"].variable.labels[table["a"].data[row]],
                "b": table["b"].variable.labels[table["b"].data[row]],
                "c": group,
            }
        )
    return found


def slow_counts(original, made, names):
    ours, theirs = (
        Counter(tuple(row[name] for name in names) for row in slow_rows(table, original))
        for table in (original, made)
    )
    return {cell: (ours[cell], theirs[cell]) for cell in {*ours, *theirs}}


pairs = st.tuples(tables(("x", "y", "z"), ("", "-8")), tables(("z", "y", "w"), ("-8", "-9")))


@settings(max_examples=60, deadline=None)
@given(pairs)
def test_ratios_equal_slow_code(both):
    original, made = both
    result = ratio_of_estimates(original, made, ways=(1, 2, 3))
    orders = [c for size in (1, 2, 3) for c in combinations("abc", size)]
    assert [table.variables for table in result.tables] == orders
    for table in result.tables:
        counts = slow_counts(original, made, table.variables).values()
        shares = [(o / original.n_rows, s / made.n_rows) for o, s in counts]
        ratios = [min(pair) / max(pair) for pair in shares]
        assert table.cells == (len(ratios),)
        assert table.mean == pytest.approx(sum(ratios) / len(ratios), abs=1e-12)
    assert result.mean == pytest.approx(np.mean([table.mean for table in result.tables]))


@settings(max_examples=60, deadline=None)
@given(pairs)
def test_distance_equals_slow_code(both):
    original, made = both
    divergence = 0.0
    counts = slow_counts(original, made, "abc").values()
    for o, s in counts:
        p, q = o / original.n_rows, s / made.n_rows
        divergence += sum(x * math.log2(2 * x / (p + q)) / 2 for x in (p, q) if x)
    (values,) = jensen_shannon(original, made).datasets
    assert values.distance == pytest.approx(math.sqrt(max(divergence, 0)), abs=1e-7)
    assert values.cells_original == sum(o > 0 for o, _ in counts)
    assert values.cells_synthetic == sum(s > 0 for _, s in counts)
    assert values.cells_both == sum(o > 0 and s > 0 for o, s in counts)


@settings(max_examples=60, deadline=None)
@given(pairs)
def test_tests_equal_scipy(both):
    original, made = both
    for table in chi_square(original, made, ways=(1, 2, 3)).tables:
        counts = np.array(list(slow_counts(original, made, table.variables).values())).T
        (test,) = table.datasets
        assert test.df == counts.shape[1] - 1
        if not test.df:
            assert (test.chi_square, test.p, test.p_vw) == (pytest.approx(0), None, None)
            continue
        expected = stats.chi2_contingency(counts, correction=False)
        assert test.chi_square == pytest.approx(expected.statistic, abs=1e-9)
        assert test.p == pytest.approx(expected.pvalue, abs=1e-9)
        assert test.sparse == pytest.approx((expected.expected_freq < 5).mean())
        share = made.n_rows / (original.n_rows + made.n_rows)
        assert test.vw == pytest.approx(test.chi_square / (1 - share))


def test_a_copy_is_equal():
    table = persons(300)
    assert ratio_of_estimates(table, [table, table]).datasets == (1.0, 1.0)
    assert jensen_shannon(table, table).mean == 0
    result = chi_square(table, table, ways=(1, 2))
    assert result.rejected == {1: 0, 2: 0}
    assert all(test.p == 1 for t in result.tables for test in t.datasets)


def test_disjoint_tables_share_nothing():
    original = Table([coded("a", [0, 1] * 50, "xy"), coded("b", [0] * 100, "p")])
    made = Table([coded("a", [0, 1] * 30, "uv"), coded("b", [0] * 60, "q")])
    ratios = ratio_of_estimates(original, made)
    assert (ratios.mean, ratios.by_ways) == (0.0, {1: 0.0, 2: 0.0})
    assert jensen_shannon(original, made).datasets[0].distance == 1.0
    assert jensen_shannon(original, made).datasets[0].cells_both == 0
    assert chi_square(original, made, ways=(1, 2, 3)).rejected == {1: 1.0, 2: 1.0}


def test_quantiles_are_those_of_the_original():
    original = Table([numeric("pay", np.arange(100.0))])
    made = Table([numeric("pay", np.arange(100.0) + 1000)])
    # All synthetic numbers are in the last fifth: 0.2 / 1 in one cell of five.
    assert ratio_of_estimates(original, made).mean == pytest.approx(0.04)


def test_missing_codes_are_groups_of_their_own():
    original = Table([numeric("pay", [1, 1, 1, 1], [0, 0, 1, 2], missing=("", "-8"))])
    made = Table([numeric("pay", [1, 1, 1, 1], [0, 0, 1, 1], missing=("-8", ""))])
    ratios = ratio_of_estimates(original, made).tables[0]
    assert (ratios.cells, ratios.mean) == ((3,), pytest.approx((1 + 0 + 0.5) / 3))


def test_many_variables_need_no_dense_product():
    rng = np.random.default_rng(1)
    levels = [str(level) for level in range(50)]
    names = [f"v{number}" for number in range(40)]
    original, made = (
        Table([coded(name, rng.integers(0, 50, 30), levels) for name in names]) for _ in range(2)
    )
    assert jensen_shannon(original, made).mean == pytest.approx(1)
    assert jensen_shannon(original, original).mean == 0
    assert jensen_shannon(original, original.take(slice(15))).datasets[0].cells_both == 15


def test_every_dataset_and_the_mean():
    table, one, other = persons(200), persons(150, 1), persons(90, 2)
    several = ratio_of_estimates(table, [one, other])
    alone = [ratio_of_estimates(table, made) for made in (one, other)]
    assert several.datasets == pytest.approx([result.mean for result in alone])
    assert several.mean == pytest.approx(np.mean(several.datasets))
    assert several.n_synthetic == (150, 90)
    for number, table_ratios in enumerate(several.tables):
        assert table_ratios.ratios == tuple(r.tables[number].mean for r in alone)
    distances = jensen_shannon(table, [one, other])
    assert distances.mean == pytest.approx(np.mean([d.distance for d in distances.datasets]))
    tests = chi_square(table, [one, other]).tables
    assert tests[0].datasets[1] == chi_square(table, other).tables[0].datasets[0]


def test_worst_tables_come_first():
    result = ratio_of_estimates(persons(200), persons(150, 1))
    means = [table.mean for table in result.worst(4)]
    assert means == sorted(table.mean for table in result.tables)[:4]


def test_frames_equal_tables_and_identifiers_are_left_out():
    rng = np.random.default_rng(3)
    frames = [
        pd.DataFrame(
            {
                "person": [f"P{number:05d}" for number in range(start, start + 200)],
                "sex": rng.choice(["f", "m"], 200),
                "born": pd.to_datetime("1990-01-01")
                + pd.to_timedelta(rng.integers(0, 9, 200), "D"),
            }
        )
        for start in (0, 500)
    ]
    result = ratio_of_estimates(*frames)
    assert [table.variables for table in result.tables] == [("sex",), ("born",), ("sex", "born")]
    counts = [frame["sex"].value_counts(normalize=True) for frame in frames]
    low, high = (f(*counts) for f in (np.minimum, np.maximum))
    assert result.tables[0].mean == pytest.approx((low / high).mean())


def test_one_row_and_one_level():
    table = Table([coded("a", [0], "x")])
    assert ratio_of_estimates(table, table).mean == 1
    result = chi_square(table, table)
    assert result.rejected == {1: None}
    assert result.figures[0].value is None
    assert (result.tables[0].datasets[0].p, result.tables[0].datasets[0].df) == (None, 0)


@pytest.mark.parametrize("measure", MEASURES)
def test_figures_say_how_to_read_them(measure):
    result = measure(persons(50), [persons(40, 1), persons(40, 2)])
    for figure in result.figures:
        assert figure.n == 130
        assert 0 <= figure.value <= 1
        assert figure.meaning


@pytest.mark.parametrize("measure", MEASURES)
def test_all_problems_at_once(measure):
    table = persons(20)
    with pytest.raises(DataError) as caught:
        measure(table, table, names=["sex", "nowhere", "nobody"], groups=1)
    problems = "\n".join(caught.value.problems)
    assert len(caught.value.problems) == 3
    assert "'nowhere'" in problems
    assert "groups (1)" in problems
    with pytest.raises(DataError, match="no variable to compare"):
        measure(table, table, names=[])
    with pytest.raises(DataError, match="write \\['sex'\\]"):
        measure(table, table, names="sex")
    with pytest.raises(DataError, match="no synthetic dataset"):
        measure(table, [])
    with pytest.raises(DataError, match="column 'age' is not in synthetic dataset 2"):
        measure(table, [table, table.select(["sex"])], names=["sex", "age"])


@pytest.mark.parametrize("measure", [ratio_of_estimates, chi_square])
@pytest.mark.parametrize("ways", [(), (0,), (1, 4)])
def test_orders_are_checked(measure, ways):
    table = persons(20)
    with pytest.raises(DataError, match="ways must be of 1, 2 and 3"):
        measure(table, table, ways=ways)


def test_identifiers_of_tables_are_left_out():
    variable = Variable(name="person", kind=Kind.ID)
    number = Column(variable, np.arange(20.0))
    table = persons(20).with_column(number)
    assert jensen_shannon(table, table).names == ("sex", "age", "marital", "income")
    with pytest.raises(DataError, match="no variable to compare"):
        jensen_shannon(Table([number]), Table([number]))


def test_p_values_have_the_right_size():
    """Independent samples suit p, samples from the original's own proportions suit p_vw."""
    rng = np.random.default_rng(5)
    levels, weights = "abcd", [0.4, 0.3, 0.2, 0.1]

    def sample(shares, n):
        return Table([coded("a", rng.choice(4, n, p=shares), levels)])

    low = {"p": [], "p_vw": []}
    for _ in range(300):
        original = sample(weights, 500)
        shares = np.bincount(original["a"].data, minlength=4) / 500
        (alike,) = chi_square(original, sample(weights, 800)).tables[0].datasets
        (drawn,) = chi_square(original, sample(shares, 800)).tables[0].datasets
        low["p"].append(alike.p < 0.2)
        low["p_vw"].append(drawn.p_vw < 0.2)
    assert np.mean(low["p"]) == pytest.approx(0.2, abs=0.08)
    assert np.mean(low["p_vw"]) == pytest.approx(0.2, abs=0.08)


@needs_reference
def test_statistic_equals_the_reference_where_quantiles_do_not_matter():
    original, made = (load_reference(f"{name}.csv") for name in ("original", "synthetic_cart"))
    expected = pd.read_csv(REFERENCE / "oneway_cart.csv")
    expected = dict(zip(expected["var"].str.slice(3), expected["VW"], strict=True))
    names = [name for name in original.names if original[name].is_coded]
    assert len(names) == 15
    for table in chi_square(original, made, names=names).tables:
        (test,) = table.datasets
        assert test.vw == pytest.approx(expected[table.variables[0]], rel=1e-9)
        assert test.chi_square == pytest.approx(test.vw / 2, rel=1e-12)


def test_distances_of_single_datasets_combine_to_that_of_all():
    original, made = persons(200), [persons(n, n) for n in (50, 120, 90)]
    combined = combine_distances([jensen_shannon(original, table) for table in made])
    assert combined == jensen_shannon(original, made)
    assert combine_distances([combined]) == combined


def test_only_distances_about_the_same_are_combined():
    original = persons(60)
    with pytest.raises(DataError, match="give at least one"):
        combine_distances([])
    results = [jensen_shannon(original, original, names=[name]) for name in ("sex", "age")]
    with pytest.raises(DataError, match="same original, variables and groups"):
        combine_distances(results)
