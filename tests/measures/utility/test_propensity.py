import numpy as np
import pytest
import statsmodels.api as sm

from synthesizer.data.table import Table
from synthesizer.measures.utility.propensity import (
    Null,
    measured,
    pmse,
)
from tests.reference_data import expected_values, load_reference, needs_reference
from tests.tables import coded, numeric, persons


def simulated(seed, n, levels="xyz"):
    draw = np.random.default_rng(seed)
    return Table(
        [
            coded("a", draw.integers(0, 3, n), levels),
            numeric("b", draw.normal(-50, 3, n)),
            numeric("c", draw.normal(0, 1e5, n), draw.random(n) < 0.2, missing=("",)),
        ]
    )


def logit(original, made):
    (result,) = pmse(original, made).datasets
    return result


def tree(original, made, seed=1, **options):
    (result,) = pmse(original, made, model="cart", seed=seed, **options).datasets
    return result


def columns_by_hand(tables):
    """Dummies of the second and third level, numbers of moderate size, and missing codes."""
    labels = np.concatenate([np.array(t["a"].variable.labels)[t["a"].data] for t in tables])
    gone = np.concatenate([~table["c"].is_observed for table in tables])
    b, c = (np.concatenate([table[name].data for table in tables]) for name in "bc")
    a = [(labels == level) * 1.0 for level in "yz"]
    return [*a, (b + 50) / 3, np.where(gone, 0, c / 1e5), gone * 1.0]


@pytest.mark.parametrize("interactions", [1, 2])
def test_measures_equal_those_of_statsmodels_with_unequal_sizes(interactions):
    tables = simulated(1, 500), simulated(2, 300, levels="zxy")
    y, z, b, c, g = columns_by_hand(tables)
    products = [x * v for x in (y, z) for v in (b, c, g)] + [b * c, b * g]
    design = np.column_stack([np.ones(800), y, z, b, c, g, *(products * (interactions - 1))])
    truth, share = np.repeat([0.0, 1.0], [500, 300]), 300 / 800
    score = sm.GLM(truth, design, family=sm.families.Binomial()).fit(tol=1e-12).fittedvalues
    (result,) = pmse(*tables, interactions=interactions).datasets
    effects = design.shape[1] - 1
    assert result.parameters == effects + 1 == {1: 6, 2: 14}[interactions]
    assert (result.share, result.converged) == (share, True)
    assert result.pmse == pytest.approx(np.mean((score - share) ** 2), rel=1e-5)
    unit = (1 - share) ** 2 * share / 800
    assert result.expected == pytest.approx(effects * unit)
    assert result.deviation == pytest.approx(np.sqrt(2 * effects) * unit)
    assert result.s_pmse == pytest.approx(result.pmse / (effects * unit))
    z_pmse = (result.pmse - effects * unit) / (np.sqrt(2 * effects) * unit)
    assert result.z_pmse == pytest.approx(z_pmse)
    real, drawn = score[:500], score[500:]
    above = (drawn[:, None] > real[None, :]) + 0.5 * (drawn[:, None] == real[None, :])
    assert result.u == pytest.approx(above.sum(), abs=20)
    po50 = 100 * ((drawn > share).sum() + (real <= share).sum()) / 800 - 50
    assert result.po50 == pytest.approx(po50, abs=0.5)


def separable(n=200):
    """Few records for many pairs of levels: nearly all products occur on one side only."""
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


def test_a_separable_fit_settles_and_one_that_is_stopped_says_so(monkeypatch):
    """Without halved steps the fit would diverge and separate nothing in the end."""
    (result,) = pmse(*separable(), interactions=2).datasets
    assert result.converged
    assert result.specks == 1
    assert result.pmse == pytest.approx(0.25, rel=1e-4)
    monkeypatch.setattr("synthesizer.measures.utility.stacked._MOST_STEPS", 2)
    stopped = pmse(*separable())
    assert not stopped.datasets[0].converged
    assert all("1 of 1 datasets" in figure.meaning for figure in stopped.figures)


def models():
    """Both models, with generators of their own."""
    return ({}, {"model": "cart", "seed": 1, "permutations": 3})


def test_every_dataset_and_the_mean():
    table, made = persons(300), [persons(200, 1), persons(150, 2)]
    logit = pmse(table, made)
    assert logit.datasets == tuple(pmse(table, one).datasets[0] for one in made)
    trees = pmse(table, made, model="cart", permutations=5, seed=7)
    assert trees == pmse(table, made, model="cart", permutations=5, seed=7, n_jobs=2)
    assert trees != pmse(table, made, model="cart", permutations=5, seed=8)
    assert [(fit.model, fit.permutations) for fit in (logit, trees)] == [("logit", 0), ("cart", 5)]
    for result in (logit, trees):
        for name in ("pmse", "s_pmse", "z_pmse", "specks", "po50", "u", "expected"):
            values = [getattr(one, name) for one in result.datasets]
            assert getattr(result.mean, name) == pytest.approx(np.mean(values))
        assert (result.n, result.n_synthetic) == (300, (200, 150))


def test_both_ends():
    table = persons(200)
    foreign = Table([coded("sex", [0] * 100, ("z",))])
    for kwargs in models():
        copy = pmse(table, table, **kwargs)
        assert copy.mean.pmse == pytest.approx(0, abs=1e-15)
        assert copy.mean.s_pmse == pytest.approx(0, abs=1e-12)
        assert copy.mean.specks == pytest.approx(0, abs=1e-12)
        assert copy.datasets[0].converged
        apart = pmse(table, foreign, names=["sex"], **kwargs)
        assert apart.mean.pmse == pytest.approx(2 / 9, rel=1e-3)
        assert apart.mean.specks == 1


def test_records_of_one_distribution_have_a_tree_of_ratio_1():
    names = ["sex", "age", "marital"]
    ratios = [
        tree(persons(400, s).select(names), persons(400, s + 99), s, permutations=6, names=names)
        for s in range(12)
    ]
    assert np.mean([ratio.s_pmse for ratio in ratios]) == pytest.approx(1, abs=0.15)


def test_parameters_of_copied_variables_are_not_in_the_logits_null():
    """Two of six independent variables drawn anew from their law: the ratio is 1 on average."""
    ratios = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        columns = [coded(name, rng.integers(0, 3, 400), "abc") for name in "uvwxyz"]
        drawn = [coded(c.name, rng.choice(c.data, 400), "abc") for c in columns[4:]]
        both = Table(columns), Table([*columns[:4], *drawn])
        ratios.append(pmse(*both, copied="uvwx").mean.s_pmse)
    assert np.mean(ratios) == pytest.approx(1, abs=0.35)  # standard error 0.1
    # as if all six were drawn, three times as much is expected
    assert pmse(*both).mean.s_pmse == pytest.approx(ratios[-1] / 3)


def test_what_cannot_be_computed_is_none():
    constant = Table([coded("a", [0] * 30, "x"), numeric("b", [1] * 30)])
    for kwargs in models():
        result = pmse(constant, constant, **kwargs)
        assert (result.mean.s_pmse, result.mean.z_pmse, result.mean.pmse) == (None, None, 0)
        assert result.datasets[0].parameters == 1
        assert [figure.value for figure in result.figures] == [0, None, None, 0]
    table = persons(100)
    one = pmse(table, persons(90, 1), model="cart", permutations=1, seed=7)
    assert one.mean.s_pmse > 0
    assert one.mean.z_pmse is None


@needs_reference
@pytest.mark.parametrize("name", ["cart", "parametric"])
def test_equals_the_reference(name):
    expected = expected_values()[name]
    original, made = load_reference("original.csv"), load_reference(f"synthetic_{name}.csv")
    result = logit(original, made)
    assert result.pmse == pytest.approx(expected["pMSE_logit"], rel=1e-9)
    assert result.s_pmse == pytest.approx(expected["S_pMSE_logit"], rel=1e-9)
    assert result.specks == pytest.approx(expected["SPECKS"], rel=1e-9)
    assert result.po50 == pytest.approx(expected["PO50"], rel=1e-9)
    assert result.u == expected["U"]
    ratio = tree(original, made, permutations=2).s_pmse
    assert ratio > 2 if name == "parametric" else ratio < 1.2


def test_measures_of_scores_by_hand():
    """Half of the records are synthetic: a score of just that is no sign of being so."""
    score = np.array([0.5, 0.2, 0.5, 0.9])
    result = measured(score, 2, Null(0.02, 0.01), parameters=1)
    assert result.pmse == pytest.approx((0.3**2 + 0.4**2) / 4)
    assert result.s_pmse == pytest.approx(result.pmse / 0.02)
    assert result.z_pmse == pytest.approx((result.pmse - 0.02) / 0.01)
    assert (result.po50, result.u, result.specks) == (25.0, 3.5, 0.5)
    of_synthetic = dict(enumerate(result.synthetic_scores))
    assert (len(of_synthetic), of_synthetic[20], of_synthetic[36]) == (40, 0.5, 0.5)
    weighted = measured(score, 2, Null(None, None), parameters=1, weights=np.array([1, 2, 3, 4.0]))
    assert weighted.pmse == pytest.approx((2 * 0.3**2 + 4 * 0.4**2) / 10)
    assert (weighted.s_pmse, weighted.z_pmse) == (None, None)
