import math
import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, f, norm

from synthesizer.data.errors import DataError
from synthesizer.data.table import Column, Table
from synthesizer.measures.utility.compare_fit import (
    FitRequest,
    compare_fit,
    compare_fit_by,
)
from tests.tables import coded, numeric

smf = pytest.importorskip("statsmodels.formula.api")

FORMULAS = {
    "ols": ("pay ~ age*sex + area + I(age ** 2)", "pay ~ age*sex + area + I(age ** 2)"),
    "logit": ("smoker ~ age + area", "I(1*(smoker == 'yes')) ~ age + area"),
    "poisson": ("visits ~ age + sex", "visits ~ age + sex"),
    "multinomial": ("area ~ age + sex", "codes ~ age + sex"),
}


def people(n, seed):
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 70, n).astype(float)
    sex = rng.integers(0, 2, n)
    area = rng.integers(0, 3, n)
    smoker = rng.random(n) < 1 / (1 + np.exp(-(0.02 * age - 1 + 0.4 * area)))
    pay = 100 + 3 * age - 0.02 * age**2 + 5 * sex - 4 * area + 10 * rng.standard_normal(n)
    return Table(
        [
            numeric("age", age),
            coded("sex", sex, ("f", "m")),
            coded("area", area, ("east", "north", "west")),
            coded("smoker", smoker, ("no", "yes")),
            numeric("pay", np.round(pay), (rng.random(n) < 0.05), missing=("",)),
            numeric("visits", rng.poisson(np.exp(0.01 * age))),
            coded("person", rng.integers(0, n // 4, n), [f"p{i}" for i in range(n // 4)]),
        ]
    )


PEOPLE = people(50, 1)


def frame_of(table):
    columns = {}
    for column in table.columns:
        labels = np.array(column.variable.labels)
        columns[column.name] = labels[column.data] if column.is_coded else column.data
    frame = pd.DataFrame(columns)
    frame["codes"] = table["area"].data
    return frame


def directly(family, formula, frame, clustered=False):
    frame = frame.dropna()
    options = (
        {"cov_type": "cluster", "cov_kwds": {"groups": pd.factorize(frame["person"])[0]}}
        if clustered
        else {}
    )
    kinds = {"ols": smf.ols, "logit": smf.logit, "poisson": smf.poisson, "multinomial": smf.mnlogit}
    quiet = {} if family == "ols" else {"disp": 0}
    result = kinds[family](formula, frame).fit(**quiet, **options)
    names = list(result.params.index)
    order = [names.index(name) for name in sorted(names)]
    params, errors = (
        np.asarray(values).reshape(len(names), -1)[order].ravel(order="F")
        for values in (result.params, result.bse)
    )
    return sorted(names), params, errors, result


def sorted_coefficients(result, names):
    """Coefficients in the order of the sorted names of statsmodels, equation by equation."""
    spelled = {c.name: c for c in result.coefficients}
    prefixes = list(dict.fromkeys(c.name.rpartition(": ")[0] for c in result.coefficients))
    wanted = [name.replace("[T.", "[") for name in names]
    return [spelled[f"{p}: {name}" if p else name] for p in prefixes for name in wanted]


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("family", list(FORMULAS))
def test_coefficients_are_those_of_statsmodels_by_formula(family, clustered):
    original, made = people(600, 1), [people(500, 2), people(700, 3)]
    formula, reference = FORMULAS[family]
    result = compare_fit(
        original, made, formula, family=family, clusters="person" if clustered else None
    )
    tables = [original, *made]
    used = ["age", "sex", "area", "smoker", "visits", "codes", "person"]
    used += ["pay"] if family == "ols" else []
    fitted = [directly(family, reference, frame_of(table)[used], clustered) for table in tables]
    terms = sorted_coefficients(result, fitted[0][0])
    q = np.array([params for _, params, _, _ in fitted])
    errors = np.array([bse for _, _, bse, _ in fitted])
    np.testing.assert_allclose([c.original for c in terms], q[0], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose([c.original_error for c in terms], errors[0], rtol=1e-5)
    np.testing.assert_allclose([c.synthetic for c in terms], q[1:].mean(0), rtol=1e-6, atol=1e-9)
    if family != "multinomial":
        interval = fitted[0][3].conf_int().loc[fitted[0][0]].to_numpy()
        np.testing.assert_allclose([c.original_low for c in terms], interval[:, 0], rtol=1e-5)
    n = result.datasets[0].n
    ratios = np.array([data.n for data in result.datasets[1:]]) / n
    expected = np.sqrt((errors[1:] ** 2 * ratios[:, None]).mean(axis=0))
    np.testing.assert_allclose([c.synthetic_error for c in terms], expected, rtol=1e-5)
    total = (errors[1:] ** 2).mean(axis=0) * (ratios.mean() + 1 / 2)
    totals = dict(zip(result.combined.names, result.combined.total, strict=True))
    np.testing.assert_allclose([totals[c.name] for c in terms], total, rtol=1e-5)


def test_differences_overlap_and_lack_of_fit_by_hand():
    """Means of two files: the intercept of y ~ 1."""
    real, drawn = [1.0, 2, 3, 4, 6.5], [2.0, 3, 4, 5, 7, 9]
    result = compare_fit(
        Table([numeric("y", real)]), Table([numeric("y", drawn)]), "I(y) ~ 1", family="poisson"
    )
    (term,) = result.coefficients
    a, b = np.log(np.mean(real)), np.log(np.mean(drawn))
    error, made = 1 / math.sqrt(sum(real)), math.sqrt(6 / 5 / sum(drawn))
    z = norm.ppf(0.975)
    assert term.difference == pytest.approx(b - a)
    assert term.standardised == pytest.approx((b - a) / error)
    common = (a + z * error) - (b - z * made)
    assert term.overlap == pytest.approx((common / (2 * z * error) + common / (2 * z * made)) / 2)
    assert result.mean_overlap == term.overlap
    assert f"{result.lack_of_fit.p_value:.3f}" in result.figures[-1].meaning
    assert sorted(figure.value for figure in result.figures) == pytest.approx(
        sorted([term.overlap, term.overlap, abs(term.standardised), result.lack_of_fit.ratio])
    )
    assert result.lack_of_fit.ratio == result.lack_of_fit.statistic
    statistic = (b - a) ** 2 / (error**2 * 5 / 6)
    assert result.lack_of_fit.statistic == pytest.approx(statistic)
    assert result.lack_of_fit.p_value == pytest.approx(chi2.sf(statistic, 1))


@pytest.mark.parametrize("family", list(FORMULAS))
def test_the_original_as_its_own_copy(family):
    table = people(400, 4)
    result = compare_fit(table, [table, table], FORMULAS[family][0], family=family)
    assert result.mean_overlap == pytest.approx(1)
    assert result.mean_standardised == pytest.approx(0, abs=1e-9)
    assert result.lack_of_fit.p_value == pytest.approx(1)
    values = {figure.name: figure.value for figure in result.figures}
    assert values["lowest CI overlap"] == pytest.approx(1)
    assert values["lack of fit"] == pytest.approx(0, abs=1e-9)


def test_rules_for_several_datasets():
    original, made = people(300, 7), [people(300, seed) for seed in range(10, 16)]
    fully = compare_fit(original, made, "visits ~ age", rule="fully")
    simple = compare_fit(original, made, "visits ~ age", rule="simple")
    assert fully.lack_of_fit.statistic == pytest.approx(simple.lack_of_fit.statistic / 2)
    proper = compare_fit(original, made, "visits ~ age", rule="proper")
    assert proper.lack_of_fit == fully.lack_of_fit
    ratio = (1 + 2 / 6) / (1 + 1 / 6)
    assert proper.combined.total == pytest.approx([t * ratio for t in simple.combined.total])
    partially = compare_fit(original, made, "visits ~ age", rule="partially")
    test = partially.lack_of_fit
    q = np.array([compare_fit(original, m, "visits ~ age").combined.estimate for m in made])
    d = q.mean(axis=0) - [c.original for c in partially.coefficients]
    hotelling = 6 * d @ np.linalg.inv(np.cov(q.T)) @ d
    assert (test.df, test.df_error) == (2, 4)
    assert test.statistic == pytest.approx(hotelling * 4 / (2 * 5), rel=1e-6)
    assert test.p_value == pytest.approx(f.sf(test.statistic, 2, 4))
    few = compare_fit(original, made[:2], "visits ~ age", rule="partially")
    assert few.lack_of_fit is None
    assert few.figures[-1].value is None
    assert "needs more synthetic datasets (2) than coefficients (2)" in few.notes[0]
    same = compare_fit(original, [made[0]] * 3, "visits ~ age", rule="partially")
    assert "singular" in same.notes[0]


@pytest.mark.parametrize(
    ("rule", "m", "expected"),
    [("simple", 1, 0.796), ("simple", 5, 0.909), ("proper", 1, 0.712), ("partially", 2, None)],
)
def test_the_overlap_that_a_right_synthesis_has(rule, m, expected):
    original, made = people(300, 7), [people(300, seed) for seed in range(10, 10 + m)]
    overlap = compare_fit(original, made, "visits ~ age", rule=rule).figures[0]
    assert overlap.name == "mean CI overlap"
    assert overlap.chance == (expected and pytest.approx(expected, abs=1e-3))


def test_overlap_and_lack_of_fit_of_a_right_model_are_as_expected():
    """Synthetic data drawn from the model that is fitted, mean over repetitions."""
    rng, results = np.random.default_rng(1), []
    for _ in range(60):
        x = rng.normal(size=200)
        y = x + rng.normal(size=200)
        slope, start = np.polyfit(x, y, 1)
        sigma = np.sqrt(np.sum((y - start - slope * x) ** 2) / 198)
        made = []
        for size in (200, 300):
            drawn = rng.choice(x, size)
            new = start + slope * drawn + sigma * rng.normal(size=size)
            made.append(Table([numeric("x", drawn), numeric("y", new)]))
        results.append(compare_fit(Table([numeric("x", x), numeric("y", y)]), made, "y ~ x"))
    overlaps = [fit.mean_overlap for fit in results]
    assert np.mean(overlaps) == pytest.approx(results[0].expected_overlap, abs=0.03)
    # chi-square on as many degrees of freedom as coefficients; standard error 0.25
    assert np.mean([fit.lack_of_fit.statistic for fit in results]) == pytest.approx(2, abs=0.6)


def test_columns_drawn_independently_fail_the_test():
    table, rng = people(800, 5), np.random.default_rng(0)
    broken = Table([column.take(rng.permutation(800)) for column in table.columns])
    result = compare_fit(table, broken, "pay ~ age + area")
    assert result.mean_overlap < 0.6
    assert result.lack_of_fit.p_value < 1e-6
    assert min(c.overlap for c in result.coefficients) < 0


def broken(table, how):
    """A synthetic dataset that a logit of smoker on age, sex and area has no fit for."""
    age, area = table["age"].data, table["area"].data
    smoker = table["smoker"].variable
    if how == "separated":
        return table.with_column(Column(smoker, (age > 45).astype(np.int32)))
    if how == "constant outcome":
        return table.with_column(Column(smoker, np.zeros(len(age), dtype=np.int32)))
    if how == "collinear":
        return table.with_column(numeric("age", 30 + 5 * table["sex"].data))
    if how == "lost level":
        return table.take(area != 0)
    if how == "constant column":
        return table.with_column(numeric("age", np.full(len(age), 40.0)))
    return table.with_column(numeric("age", age, np.ones(len(age)), missing=("",)))


WHY = {
    "separated": "age separates the response",
    "constant outcome": "response smoker has one value",
    "collinear": "the model is singular",
    "lost level": "area[east]",
    "constant column": "age: one value",
    "nothing complete": "no record is complete",
}


@pytest.mark.parametrize("how", list(WHY))
def test_one_dataset_without_a_fit_does_not_stop_the_rest(how):
    original, good = people(300, 8), people(300, 9)
    bad = broken(people(300, 10), how)
    formula = "smoker ~ age + sex + area"
    result = compare_fit(original, [bad, good], formula, family="logit")
    assert result.notes[0].startswith("synthetic dataset 1 ")
    assert "1 of 2" in result.notes[1]
    assert [data.problem is None for data in result.datasets] == [True, False, True]
    assert WHY[how] in result.datasets[1].problem
    assert WHY[how] in result.notes[0]
    assert result.combined.m == 1
    assert (result.datasets[1].n > 0) == (how != "nothing complete")
    alone = compare_fit(original, good, formula, family="logit")
    assert result.coefficients == alone.coefficients
    if how != "lost level":
        with pytest.raises(DataError, match="original"):
            compare_fit(bad, good, formula, family="logit")


def test_weights_by_hand_and_their_faults():
    original, made = (
        people(300, seed).with_column(numeric("weight", np.arange(300) * 7 % 9 + 1))
        for seed in (1, 2)
    )
    result = compare_fit(original, made, "visits ~ age", weights="weight")
    frame = frame_of(original).assign(weight=original["weight"].data)
    expected = smf.wls("visits ~ age", frame, weights=frame["weight"]).fit(cov_type="HC1")
    assert [c.original for c in result.coefficients] == pytest.approx(list(expected.params))
    assert [c.original_error for c in result.coefficients] == pytest.approx(list(expected.bse))
    odd = numeric("weight", [0, 0, -1, *range(1, 298)], [0, 0, 0, 1, *[0] * 296], missing=("",))
    both = [made, made.with_column(odd)]
    weighted = compare_fit(original, both, "visits ~ age", weights="weight")
    assert "'weight': 1 missing, 1 negative of 300" in weighted.datasets[2].problem


@pytest.mark.parametrize(
    ("weights", "fitted"), [(None, [None, "w"]), (False, [None]), ("v", ["v"]), ("w", ["w"])]
)
def test_a_fit_is_made_without_and_with_the_survey_weight(weights, fitted):
    request = FitRequest(formula="visits ~ age", weights=weights)
    assert [fit.weight for fit in request.with_and_without("w")] == fitted
    assert request.with_and_without(None)[0].weight == (weights or None)


@pytest.mark.parametrize(("fit", "strata"), [
    ({"family": "poisson"}, "region"), ({"family": "poisson", "offset": "hours"}, None),
    ({"family": "multinomial"}, None), ({"clusters": "area"}, None),
    ({"formula": "visits ~ age | area"}, None),
])  # fmt: skip
def test_a_design_is_inherited_where_the_model_can_have_its_errors(fit, strata):
    request = FitRequest(**{"formula": "visits ~ age", **fit})
    assert request.with_and_without("w", strata="region")[-1].strata == strata


@pytest.mark.parametrize("offset", ["hours", "I(log(time))"])
def test_an_offset(offset):
    rng = np.random.default_rng(3)
    time = rng.uniform(1, 9, 300)
    original = people(300, 1)
    for column in (numeric("time", time), numeric("hours", np.log(time))):
        original = original.with_column(column)
    states = np.arange(300) < 7
    holes = original.with_column(numeric("time", time, states, missing=("",)))
    holes = holes.with_column(numeric("hours", np.log(time), states, missing=("",)))
    result = compare_fit(original, holes, "visits ~ age", family="poisson", offset=offset)
    frame = frame_of(original).assign(hours=np.log(time))
    expected = smf.poisson("visits ~ age", frame, offset=frame["hours"]).fit(disp=0)
    assert [c.original for c in result.coefficients] == pytest.approx(list(expected.params))
    assert (result.datasets[1].n, result.datasets[1].n_missing) == (293, 7)
    assert result.offset == offset


def test_groups_are_fitted_alone_as_if_their_records_were_all():
    original, made = frame_of(people(400, 1)), frame_of(people(400, 2))
    for frame in (original, made):
        frame["year"] = np.repeat([2001.0, 2002.0, 2003.0, 2004.0], 100)
    made = made[(made["sex"] == "f") | (made["year"] < 2004)]
    fits = compare_fit_by(original, made, "pay ~ age | area", ["sex", "year"], clusters="person")
    years = ("2001", "2002", "2003", "2004")
    assert list(fits) == [(sex, year) for sex in "fm" for year in years]
    for (sex, year), fit in fits.items():
        parts = [d[(d["sex"] == sex) & (d["year"] == float(year))] for d in (original, made)]
        if (sex, year) == ("m", "2004"):
            assert "no synthetic dataset has a record" in str(fit)
        else:
            alone = compare_fit(*parts, "pay ~ age | area", clusters="person")
            assert f"(sex {sex}, year {year})" in fit.title
            assert fit.coefficients == alone.coefficients
            assert fit.notes == alone.notes
    fits = compare_fit_by(original, [original, made], "pay ~ age", ["sex", "year"])
    words = "without a record of the group: 2"
    empty = {group for group, fit in fits.items() if any(words in note for note in fit.notes)}
    assert empty == {("m", "2004")}


def test_a_number_of_few_values_is_refused_with_its_remedy() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"y": rng.normal(size=90), "educ": np.arange(90) % 5 * 1.0})
    synthetic = frame.assign(educ=frame["educ"].clip(lower=1))
    remedy = {"educ": {"kind": "numeric"}}
    with pytest.raises(DataError, match=re.escape(f"declared={remedy}")):
        compare_fit(frame, synthetic, "y ~ educ")
    assert "educ" in set(
        compare_fit(frame, synthetic, "y ~ educ", declared=remedy).to_frame()["name"]
    )


@pytest.mark.parametrize("rule", ["imputed", "nested"])
def test_rules_of_completed_data_are_refused_with_the_function_to_use(rule):
    frame = pd.DataFrame({"y": np.arange(60.0), "x": np.arange(60) % 7})
    with pytest.raises(DataError, match=rf"combine\(q, u, rule='{rule}'"):
        compare_fit(frame, [frame, frame], "y ~ x", rule=rule)
