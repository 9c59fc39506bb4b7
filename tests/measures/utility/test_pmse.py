import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from joblib import parallel_config

from synthesizer.data.errors import DataError
from synthesizer.data.sources import from_pandas
from synthesizer.data.table import Table
from synthesizer.measures.figure import plain, typed
from synthesizer.measures.utility.propensity import PmseResult, combine_pmse, logit_pmse, pmse
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
