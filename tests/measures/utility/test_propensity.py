import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import parallel_config

from synthesizer.data.errors import DataError
from synthesizer.data.sources import from_pandas
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.measures.figure import plain, typed
from synthesizer.measures.utility.propensity import (
    PmseResult,
    _features,
    _permuted,
    cart_pmse,
    combine_pmse,
    logit_pmse,
    pmse,
)
from synthesizer.measures.utility.tables import MEASURES, cell_measures
from tests.backends import BACKENDS, FORKS
from tests.reference_data import REFERENCE, load_reference, needs_reference
from tests.tables import coded, numeric, persons


def rng(seed=1):
    return np.random.default_rng(seed)


def simulated(seed, n, levels="xyz"):
    draw = np.random.default_rng(seed)
    return Table(
        [
            coded("a", draw.integers(0, 3, n), levels),
            numeric("b", draw.normal(-50, 3, n)),
            numeric("c", draw.normal(0, 1e5, n), draw.random(n) < 0.2, missing=("",)),
        ]
    )


def test_main_effects_are_those_of_logit_pmse():
    one, other = persons(300), persons(200, 1)
    result = pmse(one, other)
    assert result.datasets == (logit_pmse(one, other),)
    assert (result.model, result.permutations, result.names) == ("logit", 0, one.names)


def test_interactions_equal_statsmodels():
    original, made = simulated(1, 500), simulated(2, 300, levels="zxy")
    dummies, numbers, gone = [], [], []
    for table in (original, made):
        labels = np.array(table["a"].variable.labels)[table["a"].data]
        dummies.append(np.column_stack([labels == "y", labels == "z"]))
        gone.append(~table["c"].is_observed)
        numbers.append(
            np.column_stack(
                [(table["b"].data + 50) / 3, np.where(gone[-1], 0, table["c"].data / 1e5)]
            )
        )
    a, (b, c), g = np.vstack(dummies) * 1.0, np.vstack(numbers).T, np.concatenate(gone) * 1.0
    main = [np.ones(800), *a.T, b, c, g]
    products = [x * y for x in a.T for y in (b, c, g)] + [b * c, b * g]
    truth = np.repeat([0.0, 1.0], [500, 300])
    design = np.column_stack(main + products)
    fit = sm.GLM(truth, design, family=sm.families.Binomial()).fit(tol=1e-12)
    (result,) = pmse(original, made, interactions=2).datasets
    share = 300 / 800
    assert result.parameters == design.shape[1] == 14
    assert result.pmse == pytest.approx(np.mean((fit.fittedvalues - share) ** 2), rel=1e-5)
    expected = 13 * (1 - share) ** 2 * share / 800
    assert result.expected == pytest.approx(expected)
    assert result.s_pmse == pytest.approx(result.pmse / expected)
    deviation = np.sqrt(2 * 13) * (1 - share) ** 2 * share / 800
    assert result.z_pmse == pytest.approx((result.pmse - expected) / deviation)


def test_interactions_find_what_main_effects_cannot():
    draws = np.random.default_rng(2).integers(0, 2, (2, 1000))
    original = Table([coded("a", draws[0], "xy"), coded("b", draws[1], "pq")])
    made = Table([coded("a", draws[0], "xy"), coded("b", draws[0], "pq")])
    assert pmse(original, made).mean.s_pmse < 3
    assert pmse(original, made, interactions=2).mean.s_pmse > 20


def test_a_saturated_logit_is_the_table():
    draws = np.random.default_rng(3)
    tables = [
        Table([coded(name, draws.integers(0, 3, n), "xyz") for name in "abc"]) for n in (900, 600)
    ]
    result = pmse(*tables, interactions=3)
    o, s = (
        np.bincount(np.ravel_multi_index([t[n].data for n in "abc"], (3, 3, 3)), minlength=27)
        for t in tables
    )
    expected = np.sum((o + s) * (s / (o + s) - 0.4) ** 2) / 1500
    assert result.datasets[0].parameters == 27
    assert result.mean.pmse == pytest.approx(expected, rel=1e-6)


def separable(n=200):
    """Few records for so many pairs of levels: nearly all products are on one side only."""
    draw = np.random.default_rng(0)
    return [
        Table(
            [
                *(coded(f"v{j}", np.minimum(draw.poisson(mean, n), 3), "abcd") for j in range(6)),
                *(numeric(f"n{j}", draw.gamma(mean, size=n) ** 3) for j in range(2)),
            ]
        )
        for mean in (1.0, 1.4)
    ]


def test_a_separable_fit_settles():
    """Without halved steps it would run away, and tell nothing apart in the end."""
    (result,) = pmse(*separable(), interactions=2).datasets
    assert result.converged
    assert result.specks == 1
    assert result.pmse == pytest.approx(0.25, rel=1e-4)


def test_a_fit_that_does_not_settle_says_so(monkeypatch):
    monkeypatch.setattr("synthesizer.measures.utility.stacked._MOST_STEPS", 2)
    result = pmse(*separable())
    assert not result.datasets[0].converged
    assert all("did not settle for 1 of 1 datasets" in f.meaning for f in result.figures)


def test_every_dataset_and_the_mean():
    table, made = persons(300), [persons(200, 1), persons(150, 2)]
    result = pmse(table, made)
    assert result.datasets == tuple(pmse(table, one).datasets[0] for one in made)
    for name in ("pmse", "s_pmse", "z_pmse", "specks", "po50", "u", "expected"):
        values = [getattr(one, name) for one in result.datasets]
        assert getattr(result.mean, name) == pytest.approx(np.mean(values))
    assert (result.n, result.n_synthetic) == (300, (200, 150))


def test_trees():
    table, made = persons(300), [persons(200, 1), persons(150, 2)]
    result = pmse(table, made, model="cart", permutations=5, rng=rng())
    assert result == pmse(table, made, model="cart", permutations=5, rng=rng(), n_jobs=2)
    assert (result.model, result.permutations, len(result.datasets)) == ("cart", 5, 2)
    assert result.mean.pmse == pytest.approx(np.mean([one.pmse for one in result.datasets]))
    assert "tree" in result.figures[0].meaning


def test_both_ends():
    table = persons(200)
    foreign = Table([coded("sex", [0] * 100, ("z",))])
    for kwargs in ({}, {"model": "cart", "rng": rng(), "permutations": 3}):
        assert pmse(table, table, **kwargs).mean.pmse == pytest.approx(0, abs=1e-15)
        apart = pmse(table, foreign, names=["sex"], **kwargs)
        assert apart.mean.pmse == pytest.approx(2 / 9, rel=1e-3)
        assert apart.mean.specks == 1


def test_what_cannot_be_computed_is_none():
    constant = Table([coded("a", [0] * 30, "x")])
    result = pmse(constant, constant)
    assert (result.mean.s_pmse, result.mean.z_pmse, result.mean.pmse) == (None, None, 0)
    assert [figure.value for figure in result.figures] == [0, None, None, 0]
    table = persons(100)
    without = pmse(table, table, model="cart", permutations=0, rng=rng())
    assert (without.mean.s_pmse, without.mean.expected) == (None, None)
    one = pmse(table, persons(90, 1), model="cart", permutations=1, rng=rng())
    assert one.mean.s_pmse > 0
    assert one.mean.z_pmse is None


@pytest.mark.parametrize("kwargs", [{}, {"model": "cart", "rng": rng(), "permutations": 2}])
def test_results_can_be_written_and_read(kwargs):
    result = pmse(persons(90), [persons(80, 1), persons(70, 2)], **kwargs)
    assert typed(PmseResult, json.loads(json.dumps(plain(result), allow_nan=False))) == result
    directions = {figure.name: figure.direction for figure in result.figures}
    assert directions["pMSE"] == "lower is better"
    assert directions["pMSE ratio"] == "about 1 is good"
    assert all(figure.n == 240 for figure in result.figures)


@pytest.mark.parametrize("interactions", [1, 2])
def test_threads_do_not_change_a_bit(monkeypatch, interactions):
    one, other = persons(300), persons(200, 1)
    whole = pmse(one, other, interactions=interactions).mean
    monkeypatch.setattr("synthesizer.measures.utility.stacked._PART", 64)
    alone, several = (pmse(one, other, interactions=interactions, n_jobs=n) for n in (1, 3))
    assert alone == several
    assert alone.mean.pmse == pytest.approx(whole.pmse, rel=1e-9)


@FORKS
@pytest.mark.parametrize(("backend", "n_jobs"), BACKENDS)
def test_no_backend_changes_a_bit(monkeypatch, backend, n_jobs):
    one, other = persons(300), persons(200, 1)
    monkeypatch.setattr("synthesizer.measures.utility.stacked._PART", 64)
    asked = [{"interactions": 2, "n_jobs": n_jobs}]
    asked += [{"model": "cart", "permutations": 3, "n_jobs": n_jobs}]
    expected = [pmse(one, other, rng=rng(), **own | {"n_jobs": 1}) for own in asked]
    with parallel_config(backend=backend):
        assert [pmse(one, other, rng=rng(), **own) for own in asked] == expected


def test_frames_equal_tables():
    draw = rng()
    frames = [
        pd.DataFrame({"sex": draw.choice(["f", "m"], n), "age": draw.integers(0, 90, n)})
        for n in (200, 150)
    ]
    tables = [
        Table([coded("sex", frame["sex"] == "m", "fm"), numeric("age", frame["age"])])
        for frame in frames
    ]
    assert pmse(*frames).mean.pmse == pytest.approx(pmse(*tables).mean.pmse, rel=1e-9)
    assert pmse(*map(from_pandas, frames)).mean == pmse(*frames).mean
    kwargs = {"model": "cart", "permutations": 2}
    assert pmse(*frames, rng=rng(), **kwargs).mean == pmse(*tables, rng=rng(), **kwargs).mean


def test_all_problems_at_once():
    table = persons(20)
    with pytest.raises(DataError) as caught:
        pmse(
            table, table, model="cart", interactions=2, permutations=-1, min_leaf=0,
            names=["nowhere"],
        )  # fmt: skip
    text = str(caught.value)
    for part in ("'nowhere'", "permutations (-1)", "min_leaf (0)", "hand in rng", "interactions"):
        assert part in text
    with pytest.raises(DataError, match="model 'forest' is unknown"):
        pmse(table, table, model="forest")
    with pytest.raises(DataError, match="interactions \\(0\\) must be at least 1"):
        pmse(table, table, interactions=0)
    with pytest.raises(DataError, match="a pandas DataFrame is needed, not ndarray"):
        pmse(np.zeros((3, 2)), table)
    with pytest.raises(DataError, match="is numeric in the original"):
        pmse(table, table.with_column(coded("age", [0] * 20, "x")))


def test_too_many_parameters():
    table = persons(400)
    with pytest.raises(DataError, match="order 2 .* more than 10 parameters .* model 'cart'"):
        pmse(table, table, interactions=2, max_parameters=10)
    wide = table.with_column(coded("job", np.arange(400) % 9, "abcdefghi"))
    with pytest.raises(DataError, match="main effects .* \\(first 'job', 'sex', 'marital'\\), or"):
        pmse(wide, wide, names=["sex", "marital", "job"], max_parameters=9)
    few = Table([coded("a", [0, 1, 2, 3], "wxyz")])
    other = Table([coded("a", [0, 1, 2, 3], "abcd")])
    with pytest.raises(DataError, match="tells any 8 records apart"):
        pmse(few, other)
    assert logit_pmse(few, other).parameters == 8


@needs_reference
@pytest.mark.parametrize("name", ["cart", "parametric"])
def test_equals_the_reference(name):
    expected = json.loads((REFERENCE / "expected.json").read_text())[name]
    original, made = load_reference("original.csv"), load_reference(f"synthetic_{name}.csv")
    result = pmse(original, made)
    assert result.mean.pmse == pytest.approx(expected["pMSE_logit"], rel=1e-9)
    assert result.mean.s_pmse == pytest.approx(expected["S_pMSE_logit"], rel=1e-9)
    assert result.mean.u == expected["U"]
    tree = pmse(original, made, model="cart", permutations=2, rng=rng())
    assert tree.mean.s_pmse > 2 if name == "parametric" else tree.mean.s_pmse < 1.2


@pytest.mark.parametrize("permutations", [0, 4])
def test_results_of_single_datasets_combine_to_that_of_all(permutations):
    original, made = persons(200), [persons(n, n) for n in (150, 120)]
    assert combine_pmse([pmse(original, table) for table in made]) == pmse(original, made)
    one, other = rng(), rng()
    options = {"model": "cart", "permutations": permutations}
    apart = [pmse(original, table, rng=one, **options) for table in made]
    assert combine_pmse(apart) == pmse(original, made, rng=other, **options)


def test_only_results_of_the_same_model_are_combined():
    original = persons(60)
    with pytest.raises(DataError, match="give at least one"):
        combine_pmse([])
    results = [pmse(original, original, names=names) for names in (["sex"], ["sex", "age"])]
    with pytest.raises(DataError, match="same original, variables and model"):
        combine_pmse(results)


def small_table(seed, n, levels="xyz"):
    rng = np.random.default_rng(seed)
    missing = rng.random(n) < 0.2
    values = np.where(missing, np.nan, rng.normal(-1000, 1e4, n))
    number = Variable(name="c", kind=Kind.NUMERIC, missing=("",))
    return Table(
        [coded("a", rng.integers(0, 3, n), levels), Column(number, values, missing.astype(np.int8))]
    )


def test_equals_statsmodels_with_unequal_sizes():
    original, made = small_table(1, 500), small_table(2, 300, levels="zxy")
    frame = []
    for table in (original, made):
        labels = np.array(table["a"].variable.labels)[table["a"].data]
        data, gone = table["c"].data, ~table["c"].is_observed
        frame.append(
            np.column_stack(
                [
                    labels == "y",
                    labels == "z",
                    np.where(gone, 0, data / 1e4),
                    gone,
                    np.ones(len(data)),
                ]
            ).astype(float)
        )
    truth = np.repeat([0.0, 1.0], [500, 300])
    fit = sm.GLM(truth, np.vstack(frame), family=sm.families.Binomial()).fit(tol=1e-12)
    c = 300 / 800
    pmse = np.mean((fit.fittedvalues - c) ** 2)
    result = logit_pmse(original, made)
    assert result.parameters == 5
    assert result.share == c
    assert result.pmse == pytest.approx(pmse, rel=1e-6)
    assert result.s_pmse == pytest.approx(pmse * 800 / (4 * (1 - c) ** 2 * c), rel=1e-6)
    ours, theirs = fit.fittedvalues[:500], fit.fittedvalues[500:]
    above = (theirs[:, None] > ours[None, :]) + 0.5 * (theirs[:, None] == ours[None, :])
    assert result.u == pytest.approx(above.sum(), abs=20)
    assert result.po50 == pytest.approx(
        100 * ((theirs > c).sum() + (ours <= c).sum()) / 800 - 50, abs=0.5
    )


def test_a_logit_tells_no_copy_apart():
    table = small_table(1, 200)
    result = logit_pmse(table, table)
    assert result.pmse == pytest.approx(0, abs=1e-15)
    assert result.converged


def test_redundant_columns_do_not_count():
    table, made = small_table(1, 200), small_table(2, 200)
    again = Variable(name="b", kind=Kind.CATEGORICAL, levels=("x", "y", "z"))
    twice = [t.with_column(Column(again, t["a"].data)) for t in (table, made)]
    assert logit_pmse(*twice).parameters == logit_pmse(table, made).parameters
    assert logit_pmse(*twice).pmse == pytest.approx(logit_pmse(table, made).pmse, rel=1e-9)


def test_a_level_on_one_side_only_settles():
    rng = np.random.default_rng(1)
    original = Table([coded("a", rng.integers(0, 2, 100), "xy"), coded("b", [0] * 100, "p")])
    made = Table([coded("a", rng.integers(0, 2, 100), "xn"), coded("b", [0] * 100, "p")])
    result = logit_pmse(original, made)
    assert result.converged
    assert 0 < result.pmse <= 0.25
    assert json.dumps(plain(result), allow_nan=False)


def test_nothing_to_fit():
    table = Table([coded("a", [0, 0], "x")])
    result = logit_pmse(table, table)
    assert (result.s_pmse, result.z_pmse, result.parameters) == (None, None, 1)


def test_unknown_variables_are_told():
    table = Table([coded("a", [0, 0], "x")])
    with pytest.raises(DataError, match="'nowhere'"):
        logit_pmse(table, table, names=["nowhere"])


@needs_reference
@pytest.mark.parametrize("name", ["cart", "parametric"])
def test_the_logit_equals_the_reference(name):
    expected = json.loads((REFERENCE / "expected.json").read_text())[name]
    original = load_reference("original.csv")
    result = logit_pmse(original, load_reference(f"synthetic_{name}.csv"))
    assert result.pmse == pytest.approx(expected["pMSE_logit"], rel=1e-9)
    assert result.s_pmse == pytest.approx(expected["S_pMSE_logit"], rel=1e-9)
    assert result.specks == pytest.approx(expected["SPECKS"], rel=1e-9)
    assert result.po50 == pytest.approx(expected["PO50"], rel=1e-9)
    assert result.u == expected["U"]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, 3), min_size=2, max_size=30),
    st.lists(st.integers(0, 3), min_size=2, max_size=30),
)
def test_a_full_tree_of_one_variable_is_its_table(ours, theirs):
    original, made = Table([coded("a", ours, "wxyz")]), Table([coded("a", theirs, "wxyz")])
    result = cart_pmse(original, made, ["a"], rng=rng(), permutations=0, min_leaf=1)
    o, s = (np.bincount(codes, minlength=4).astype(float) for codes in (ours, theirs))
    expected = dict(zip(MEASURES, cell_measures(o, s), strict=True))
    assert result.pmse == pytest.approx(expected["pMSE"], abs=1e-12)
    assert result.specks == pytest.approx(expected["SPECKS"], abs=1e-12)
    # A tree does not split leaves that are all of one side.
    shares = set(s / np.maximum(o + s, 1))
    assert len(shares - {0}) <= result.parameters <= len(np.unique([*ours, *theirs]))


def slow_pmse(labels, leaves):
    """Mean squared distance of each leaf's share from the whole's, record by record."""
    share = sum(labels) / len(labels)
    total = 0.0
    for leaf in leaves:
        members = [label for label, own in zip(labels, leaves, strict=True) if own == leaf]
        total += (sum(members) / len(members) - share) ** 2
    return total / len(labels)


def test_one_cut_is_found_by_hand():
    original = Table([numeric("pay", [1, 2, 3, 9])])
    made = Table([numeric("pay", [7, 8, 9, 10])])
    result = cart_pmse(original, made, ["pay"], rng=rng(), permutations=0, min_leaf=3)
    # The cut that tells best leaves three records below 7.
    labels, leaves = [0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1, 1]
    assert result.pmse == pytest.approx(slow_pmse(labels, leaves))
    assert (result.parameters, result.share, result.converged) == (2, 0.5, True)


def test_a_tree_tells_no_copy_apart():
    table = persons(200)
    result = cart_pmse(table, table, table.names, rng=rng(), permutations=5)
    assert result.pmse == 0
    assert result.s_pmse == 0
    assert result.specks == 0


def test_disjoint_tables_are_told_apart():
    original = Table([coded("a", [0] * 40, "x"), numeric("b", [0] * 40)])
    made = Table([coded("a", [0] * 20, "y"), numeric("b", [0] * 20)])
    result = cart_pmse(original, made, ["a", "b"], rng=rng(), permutations=20)
    share = 20 / 60
    assert result.pmse == pytest.approx((40 * share**2 + 20 * (1 - share) ** 2) / 60)
    assert result.specks == 1
    assert result.z_pmse > 5


def test_an_interaction_is_found():
    draws = np.random.default_rng(2).integers(0, 2, (2, 1000))
    original = Table([coded("a", draws[0], "xy"), coded("b", draws[1], "pq")])
    made = Table([coded("a", draws[0], "xy"), coded("b", draws[0], "pq")])
    result = cart_pmse(original, made, ["a", "b"], rng=rng(), permutations=10)
    assert result.s_pmse > 20


def test_missing_codes_are_told_apart_by_label():
    values = [5.0] * 40
    original = Table([numeric("pay", values, [1, 2] * 20, missing=("", "-8"))])
    swapped = Table([numeric("pay", values, [2, 1] * 20, missing=("-8", ""))])
    other = Table([numeric("pay", values, [1, 2] * 20, missing=("", "-9"))])
    observed = Table([numeric("pay", values, [0, 1] * 20, missing=("",))])
    kwargs = {"permutations": 0, "min_leaf": 1}
    same = cart_pmse(original, swapped, ["pay"], rng=rng(), **kwargs)
    assert same.pmse == 0
    for made in (other, observed):
        # Half of the records are alike: two thirds of what these mix is of neither side.
        result = cart_pmse(original, made, ["pay"], rng=rng(), **kwargs)
        assert result.pmse == pytest.approx(0.125)


def test_numbers_are_ranks_however_large_and_close():
    base = 2.0**52
    original = Table([numeric("pay", [base, base + 1])])
    made = Table([numeric("pay", [base + 2, base + 3])])
    assert _features(original, made, ["pay"])[:, 0].tolist() == [0, 1, 2, 3]


def test_null_of_permutations():
    assert _permuted([]).expected is None
    assert _permuted([0.5]).deviation is None
    null = _permuted([1.0, 2.0, 4.0])
    assert null.expected == pytest.approx(7 / 3)
    assert null.deviation == pytest.approx(np.std([1, 2, 4], ddof=1))


def test_nothing_to_tell():
    table = Table([coded("a", [0] * 9, "x"), numeric("b", [1] * 9)])
    result = cart_pmse(table, table, table.names, rng=rng(), permutations=3)
    assert (result.pmse, result.s_pmse, result.z_pmse, result.parameters) == (0, None, None, 1)


def test_threads_and_repetition_give_the_same():
    one, other = persons(300), persons(200, 1)
    results = [
        cart_pmse(one, other, one.names, rng=rng(7), permutations=6, n_jobs=jobs)
        for jobs in (1, 2, 1)
    ]
    assert results[0] == results[1] == results[2]
    assert results[0] != cart_pmse(one, other, one.names, rng=rng(8), permutations=6)


def test_records_of_one_distribution_have_ratio_1():
    ratios = [
        cart_pmse(persons(400, s), persons(400, s + 99), ["sex", "age", "marital"], rng=rng(s),
                  permutations=6).s_pmse
        for s in range(12)
    ]  # fmt: skip
    assert np.mean(ratios) == pytest.approx(1, abs=0.15)
