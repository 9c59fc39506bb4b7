import math
from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.measures.utility import cells, tables
from synthesizer.measures.utility.cells import cramers_v
from synthesizer.measures.utility.tables import (
    CELL_MEASURES,
    cell_measures,
    combine_tables,
    jensen_shannon,
    table_utility,
)
from tests.measures.risk.slow_rows import tables_to_compare
from tests.reference_data import REFERENCE, load_reference, needs_reference
from tests.tables import coded, persons, values_of


def measures(o, s):
    values = cell_measures(np.array(o, dtype=float), np.array(s, dtype=float))
    return dict(zip(CELL_MEASURES, values, strict=True))


counts = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=8).filter(
    lambda cells: all(sum(side) > 0 for side in zip(*cells, strict=True))
)


@settings(max_examples=40, deadline=None)
@given(counts)
def test_measures_equal_record_by_record_computation(cells):
    """The propensity score of the saturated model is a cell's share of synthetic records."""
    o, s = zip(*cells, strict=True)
    real = [b / (a + b) for a, b in cells for _ in range(a)]
    drawn = [b / (a + b) for a, b in cells for _ in range(b)]
    n, c = len(real) + len(drawn), len(drawn) / (len(real) + len(drawn))
    pmse = sum((p - c) ** 2 for p in real + drawn) / n
    values = measures(o, s)
    assert values["pMSE"] == pytest.approx(pmse, abs=1e-12)
    pairs = [(p > q) + (p == q) / 2 for p in drawn for q in real]
    assert values["U"] == pytest.approx(sum(pairs))
    right = [np.mean([((p > c) + (p >= c)) / 2 for p in side]) for side in (drawn, real)]
    assert values["PO50"] == pytest.approx(50 * (right[0] - right[1]))
    both = np.array([cell for cell in cells if all(cell)]).reshape(-1, 2)
    ratios = both[:, 1] / both[:, 0] * both[:, 0].sum() / max(both[:, 1].sum(), 1)
    assert values["G"] == pytest.approx(2 * both[:, 1] @ np.log(ratios), abs=1e-9)
    assert values["dfG"] == len(both) - 1
    thresholds = sorted({*real, *drawn})
    gaps = [
        abs(sum(p <= x for p in real) / len(real) - sum(p <= x for p in drawn) / len(drawn))
        for x in thresholds
    ]
    assert values["SPECKS"] == pytest.approx(max(gaps), abs=1e-12)
    shares = [(a / len(real), b / len(drawn)) for a, b in cells]
    coefficient = sum(math.sqrt(p * q) for p, q in shares)
    assert values["dBhatt"] == pytest.approx(math.sqrt(max(1 - coefficient, 0)), abs=1e-6)
    assert values["FT"] == pytest.approx(8 * len(drawn) * (1 - coefficient), abs=1e-9)
    apart = [x * math.log2(2 * x / (p + q)) / 2 for p, q in shares for x in (p, q) if x]
    assert values["JSD"] == pytest.approx(sum(apart), abs=1e-12)
    assert values["MabsDD"] == pytest.approx(sum(abs(p - q) for p, q in shares))
    weighted = [abs(q - p) * len(drawn) / math.sqrt(c * (a + b))
                for (p, q), (a, b) in zip(shares, cells, strict=True) if a + b]  # fmt: skip
    assert values["WMabsDD"] == pytest.approx(math.sqrt(math.pi / 2) * sum(weighted))
    if values["df"] > 0:
        null = values["df"] * (1 - c) ** 2 * c / n
        assert values["S_pMSE"] == pytest.approx(pmse / null, abs=1e-9)
        assert values["S_FT"] * values["df"] == pytest.approx(values["FT"])
        scaled = 4 * len(drawn) * sum(apart) / math.log(2)
        assert values["S_JSD"] * values["df"] == pytest.approx(scaled, abs=1e-9)


@pytest.mark.parametrize("n_s", [500, 2000, 8000])
def test_standardised_measures_are_one_on_average_for_a_right_synthesis(n_s):
    """Synthesis from the original's own shares, of other sizes than the original too."""
    rng = np.random.default_rng(n_s)
    o = rng.multinomial(20_000, [0.1, 0.2, 0.3, 0.15, 0.25])
    runs = pd.DataFrame([measures(o, rng.multinomial(n_s, o / o.sum())) for _ in range(1500)])
    # Given the original the variance is that of the synthetic counts; e pools both, hence near 1.
    for name in ("S_VW", "S_FT", "S_G", "S_pMSE"):
        assert runs[name].mean() == pytest.approx(1, abs=0.1)


def test_p_values_have_the_right_size():
    """Independent samples suit Pearson's test, draws from the original's shares that of VW."""
    rng, weights = np.random.default_rng(5), [0.4, 0.3, 0.2, 0.1]
    low = {"chi_square": [], "VW": []}
    for _ in range(300):
        o = rng.multinomial(500, weights)
        for name, shares in (("chi_square", weights), ("VW", o / 500)):
            statistic = measures(o, rng.multinomial(800, shares))[name]
            low[name].append(stats.chi2.sf(statistic, 3) < 0.2)
    assert [np.mean(share) for share in low.values()] == pytest.approx([0.2, 0.2], abs=0.08)


def test_association_of_a_pair_is_cramers_v_corrected_for_bias():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.integers(0, 3, 400).astype(str)})
    frame["b"] = np.where(rng.random(400) < 0.6, frame["a"], rng.integers(0, 4, 400).astype(str))
    alone = frame.assign(b=rng.permutation(frame["b"]))
    result = table_utility(frame, alone).result()
    ((row,), single) = (result.of_order(ways) for ways in (2, 1))
    tables = [pd.crosstab(f["a"], f["b"]).to_numpy(float) for f in (frame, alone)]
    expected = [cramers_v(t.ravel(), *np.indices(t.shape).reshape(2, -1)) for t in tables]
    assert [row.v_original, row.v_synthetic] == pytest.approx(expected, abs=1e-6)
    assert {row.v_original for row in single} == {None}


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
    assert both.mean["variables"].size == 3 + 3 + 1  # without the identifier
    assert both.mean["S_pMSE"].is_monotonic_decreasing
    one = both.by_dataset[both.by_dataset["variables"] == "a:b"]
    row = both.mean.set_index("variables").loc["a:b"]
    assert row["VW"] == pytest.approx(one["VW"].mean())
    both = table_utility(original, [first, second, first], ways=[1, 2, 3])
    apart = [table_utility(original, [t], ways=[1, 2, 3]) for t in (first, second, first)]
    joined = combine_tables(apart)
    key = ["variables", "dataset"]
    pd.testing.assert_frame_equal(
        joined.by_dataset.sort_values(key, ignore_index=True),
        both.by_dataset.sort_values(key, ignore_index=True),
    )
    assert joined.worst(2, 1)["variables"].tolist() == both.worst(2, 1)["variables"].tolist()


def test_a_constant_variable_has_no_degrees_of_freedom():
    table = Table([coded("a", [0, 0, 0], "xy")])
    result = table_utility(table, [table])
    (row,) = result.result().rows
    assert (row.s_pmse, row.p, row.p_vw, row.df) == (None, None, None, 0)
    assert result.result().orders[0].s_pmse_max is None
    (row,) = table_utility(table, [table, Table([coded("a", [1], "xy")])]).result().rows
    assert row.s_pmse is not None
    assert (row.p, row.p_vw) == (None, None)  # the median of two, one of which is unknown


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
    computed = result.mean.set_index("variables").loc[expected.index, list(expected.columns)]
    np.testing.assert_allclose(
        computed.to_numpy(dtype=float), expected.to_numpy(dtype=float), rtol=1e-9
    )
    np.testing.assert_allclose(result.mean["chi_square"], result.mean["VW"] / 2, rtol=1e-12)


def rows_of(original, made, ways=(1, 2)):
    """Return the measures of every table of one dataset, by the quantiles of the original."""
    rows = table_utility(original, made, ways=ways, quantiles_of="original").by_dataset
    return rows.to_dict(orient="records")


def labels_of(table, original, name):
    """Return labels; numbers that the original lacks join its groups below them."""
    column = original[name]
    known = sorted(set(column.data[column.is_observed])) if not column.is_coded else []

    def group(value):
        if isinstance(value, str) or table[name].is_coded:
            return value
        return max([k for k in known if k <= value], default=known[0]) if known else "any"

    return [group(value) for value in values_of(table[name])]


def slow_counts(original, made, names):
    real, drawn = (
        Counter(zip(*(labels_of(table, original, name) for name in names), strict=True))
        for table in (original, made)
    )
    return {cell: (real[cell], drawn[cell]) for cell in {*real, *drawn}}


@settings(max_examples=25, deadline=None)
@given(tables_to_compare())
def test_ratios_and_tests_equal_slow_code_and_scipy(both):
    original, (made, *_) = both
    rows = rows_of(original, made, ways=(1, 2, 3))
    orders = [c for size in (1, 2, 3) for c in combinations("abtu", size)]
    assert [row["names"] for row in rows] == orders
    for row in rows:
        cells = list(slow_counts(original, made, row["names"]).values())
        shares = [(o / original.n_rows, s / made.n_rows) for o, s in cells]
        ratios = [min(pair) / max(pair) for pair in shares]
        assert row["ROE"] == pytest.approx(sum(ratios) / len(ratios), abs=1e-12)
        assert row["df"] == len(cells) - 1
        if not row["df"]:
            assert row["chi_square"] == pytest.approx(0)
            assert np.isnan([row["p"], row["p_chi_square"]]).all()
            continue
        expected = stats.chi2_contingency(np.array(cells).T, correction=False)
        assert row["chi_square"] == pytest.approx(expected.statistic, abs=1e-9)
        assert row["p_chi_square"] == pytest.approx(expected.pvalue, abs=1e-9)
        share = made.n_rows / (original.n_rows + made.n_rows)
        assert row["VW"] == pytest.approx(row["chi_square"] / (1 - share))


@settings(max_examples=25, deadline=None)
@given(tables_to_compare())
def test_distance_equals_slow_code(both):
    original, (made, *_) = both
    divergence = 0.0
    counts = slow_counts(original, made, "abtu").values()
    for o, s in counts:
        p, q = o / original.n_rows, s / made.n_rows
        divergence += sum(x * math.log2(2 * x / (p + q)) / 2 for x in (p, q) if x)
    (values,) = jensen_shannon(original, made).datasets
    assert values.distance == pytest.approx(math.sqrt(max(divergence, 0)), abs=1e-7)
    assert values.cells_original == sum(o > 0 for o, _ in counts)
    assert values.cells_synthetic == sum(s > 0 for _, s in counts)
    assert values.cells_both == sum(o > 0 and s > 0 for o, s in counts)


def test_both_ends():
    table = persons(300)
    assert jensen_shannon(table, table).mean == 0
    for row in rows_of(table, table):
        assert (row["ROE"], row["p"], row["p_chi_square"]) == (1, 1, 1)
    original = Table([coded("a", [0, 1] * 50, "xy"), coded("b", [0] * 100, "p")])
    made = Table([coded("a", [0, 1] * 30, "uv"), coded("b", [0] * 60, "q")])
    (distance,) = jensen_shannon(original, made).datasets
    assert (distance.distance, distance.cells_both) == (1.0, 0)
    for row in rows_of(original, made):
        assert row["ROE"] == 0
        assert row["p_chi_square"] < 0.05


def test_tables_of_many_levels_equal_those_of_all_cells(monkeypatch):
    rng = np.random.default_rng(1)
    frames = [
        pd.DataFrame(rng.integers(k, size=(n, 3))).astype(str) for k, n in ((40, 90), (50, 70))
    ]
    frames = [frame.rename(columns=str) for frame in frames]
    sparse = table_utility(*frames).mean
    monkeypatch.setattr(cells, "SPARSE_CELLS", 1e9)
    pd.testing.assert_frame_equal(sparse, table_utility(*frames).mean)


def test_a_sample_of_many_pairs_is_the_same_in_each_dataset_and_is_named(monkeypatch):
    frame = pd.DataFrame(np.random.default_rng(1).integers(2, size=(30, 8))).rename(columns=str)
    every = table_utility(frame, frame[::-1]).result()
    assert every.sample() == ""
    for module in (cells, tables):
        monkeypatch.setattr(module, "MAX_TABLES", 20)
    some = table_utility(frame, [frame[:20], frame[5:]])
    assert len(some.mean) == 8 + 20
    result = some.result()
    assert result.sample() == "a random sample of 20 of 28 pairs"
    assert result.sample(1) == ""
    figures = {figure.key: figure for figure in result.figures(n=30, expected=1.0, fresh=2.0)}
    assert result.sample() in figures["mean_two_way"].meaning
