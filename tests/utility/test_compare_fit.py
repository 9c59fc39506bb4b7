import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, f, norm

from synthesizer.data.schema import Kind, Variable
from synthesizer.data.table import Column, Table
from synthesizer.errors import DataError
from synthesizer.utility import fits
from synthesizer.utility.compare_fit import compare_fit
from tests.reference_data import load_reference, needs_reference
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


def sorted_ours(result, names):
    """Coefficients in the order of the sorted names of statsmodels, equation by equation."""
    spelled = {c.name: c for c in result.coefficients}
    prefixes = list(dict.fromkeys(c.name.rpartition(": ")[0] for c in result.coefficients))
    wanted = [name.replace("[T.", "[") for name in names]
    return [spelled[f"{p}: {name}" if p else name] for p in prefixes for name in wanted]


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("family", list(FORMULAS))
def test_coefficients_are_those_of_statsmodels_by_formula(family, clustered):
    original, made = people(600, 1), [people(500, 2), people(700, 3)]
    ours, theirs = FORMULAS[family]
    result = compare_fit(
        original, made, ours, family=family, clusters="person" if clustered else None
    )
    tables = [original, *made]
    used = ["age", "sex", "area", "smoker", "visits", "codes", "person"]
    used += ["pay"] if family == "ols" else []
    fitted = [directly(family, theirs, frame_of(own)[used], clustered) for own in tables]
    own = sorted_ours(result, fitted[0][0])
    q = np.array([params for _, params, _, _ in fitted])
    errors = np.array([bse for _, _, bse, _ in fitted])
    np.testing.assert_allclose([c.original for c in own], q[0], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose([c.original_error for c in own], errors[0], rtol=1e-5)
    np.testing.assert_allclose([c.synthetic for c in own], q[1:].mean(axis=0), rtol=1e-6, atol=1e-9)
    if family != "multinomial":
        interval = fitted[0][3].conf_int().loc[fitted[0][0]].to_numpy()
        np.testing.assert_allclose([c.original_low for c in own], interval[:, 0], rtol=1e-5)
    n = result.datasets[0].n
    ratios = np.array([own.n for own in result.datasets[1:]]) / n
    expected = np.sqrt((errors[1:] ** 2 * ratios[:, None]).mean(axis=0))
    np.testing.assert_allclose([c.synthetic_error for c in own], expected, rtol=1e-5)
    total = (errors[1:] ** 2).mean(axis=0) * (ratios.mean() + 1 / 2)
    ours_total = dict(zip(result.combined.names, result.combined.total, strict=True))
    np.testing.assert_allclose([ours_total[c.name] for c in own], total, rtol=1e-5)


def test_differences_overlap_and_lack_of_fit_by_hand():
    """Means of two files: the intercept of y ~ 1."""
    ours, theirs = [1.0, 2, 3, 4, 6.5], [2.0, 3, 4, 5, 7, 9]
    result = compare_fit(
        Table([numeric("y", ours)]), Table([numeric("y", theirs)]), "I(y) ~ 1", family="poisson"
    )
    (own,) = result.coefficients
    a, b = np.log(np.mean(ours)), np.log(np.mean(theirs))
    error, made = 1 / math.sqrt(sum(ours)), math.sqrt(6 / 5 / sum(theirs))
    z = norm.ppf(0.975)
    assert own.difference == pytest.approx(b - a)
    assert own.standardised == pytest.approx((b - a) / error)
    common = (a + z * error) - (b - z * made)
    assert own.overlap == pytest.approx((common / (2 * z * error) + common / (2 * z * made)) / 2)
    assert result.mean_overlap == own.overlap
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
    json.dumps(result.to_dict(), allow_nan=False)


def test_columns_drawn_independently_fail_the_test():
    table = people(800, 5)
    rng = np.random.default_rng(0)
    broken = Table([column.take(rng.permutation(800)) for column in table.columns])
    result = compare_fit(table, broken, "pay ~ age + area")
    assert result.mean_overlap < 0.6
    assert result.lack_of_fit.p_value < 1e-6
    assert min(c.overlap for c in result.coefficients) < 0


def test_lack_of_fit_under_a_correct_synthesis_has_its_distribution():
    """Mean chi-square of samples from the fitted model is about its degrees of freedom."""
    rng = np.random.default_rng(1)
    table = people(400, 6)
    age, n = table["age"].data, 400
    y = 1 + 0.1 * age + rng.standard_normal(n)
    original = Table([table["age"], numeric("y", y)])
    slope, start = np.polyfit(age, y, 1)
    sigma = np.std(y - start - slope * age, ddof=2)
    ratios = []
    for _ in range(150):
        x = rng.choice(age, 2 * n)
        response = start + slope * x + sigma * rng.standard_normal(2 * n)
        made = Table([numeric("age", x), numeric("y", response)])
        ratios.append(compare_fit(original, made, "y ~ age").lack_of_fit.statistic)
    assert np.mean(ratios) == pytest.approx(2, abs=0.6)


def test_rules_for_several_datasets():
    original, made = people(300, 7), [people(300, seed) for seed in range(10, 16)]
    fully = compare_fit(original, made, "visits ~ age", rule="fully")
    simple = compare_fit(original, made, "visits ~ age", rule="simple")
    assert fully.lack_of_fit.statistic == pytest.approx(simple.lack_of_fit.statistic / 2)
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


def test_a_dataset_without_a_fit_is_left_out_and_told():
    original, good = people(300, 8), people(300, 9)
    area = good["area"].data
    bad = good.take(area != 2)
    worse = good.with_column(Column(good["smoker"].variable, (area == 1).astype(np.int32)))
    result = compare_fit(original, [good, bad, worse], "smoker ~ area", family="logit")
    assert result.combined.m == 1
    assert (
        result.combined.estimate
        == compare_fit(original, good, "smoker ~ area", family="logit").combined.estimate
    )
    assert [own.problem is None for own in result.datasets] == [True, True, False, False]
    assert "synthetic dataset 2 is left out: the model is singular: area[west]" in result.notes[0]
    assert "synthetic dataset 3 is left out: the logit fit does not converge" in result.notes[1]
    assert result.notes[2] == "the results are of 1 of 3 synthetic datasets"
    with pytest.raises(DataError, match="needs at least two synthetic datasets") as caught:
        compare_fit(original, [good, bad], "visits ~ area", rule="fully")
    assert len(caught.value.problems) == 2
    with pytest.raises(DataError, match="no synthetic dataset has a fit"):
        compare_fit(original, bad, "visits ~ area")
    with pytest.raises(DataError, match="the original has no fit: the logit fit"):
        compare_fit(worse, good, "smoker ~ area", family="logit")


def test_clusters_of_frames_need_no_common_values_and_may_be_missing():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "person": [f"a{i // 5}" for i in range(200)],
            "x": rng.standard_normal(200).round(3),
            "y": rng.standard_normal(200).round(3),
        }
    )
    made = frame.assign(person=[f"s{i // 5}" for i in range(200)])
    made.loc[:9, "person"] = None
    result = compare_fit(frame, made, "y ~ x", clusters="person")
    assert [own.n_missing for own in result.datasets] == [0, 10]
    alone = compare_fit(frame, made[10:], "y ~ x", clusters="person")
    assert alone.combined.estimate == pytest.approx(result.combined.estimate)
    assert result.clusters == "person"
    few = frame.assign(person=["a", "b"] * 100)
    assert "too few clusters" in compare_fit(few, few, "y ~ x", clusters="person").notes[0]


def test_an_identifier_of_a_table_serves_as_cluster():
    id_ = Variable(name="id", kind=Kind.ID, decimals=0)
    table = people(100, 3).with_column(Column(id_, np.repeat(np.arange(25.0), 4)))
    result = compare_fit(table, table, "visits ~ age", clusters="id")
    assert result.mean_overlap == pytest.approx(1)


def test_all_problems_of_a_request_are_told_at_once():
    table = people(50, 1)
    with pytest.raises(DataError) as caught:
        compare_fit(
            table,
            [table.take(slice(0, 9)), table],
            "payy ~ agee + sex",
            family="probit",
            rule="partially",
            clusters="persn",
            level=2,
        )
    text = str(caught.value)
    for part in (
        "family ('probit') must be one of",
        "synthetic dataset 1 has 9, not 50",
        "unknown variable 'payy'; did you mean 'pay'?",
        "unknown variable 'agee'; did you mean 'age'?",
        "unknown variable 'persn'; did you mean 'person'?",
        "level (2)",
        "'persn' is not in synthetic dataset 2",
    ):
        assert part in text


def test_other_bad_input():
    table = people(50, 1)
    with pytest.raises(DataError, match="frames are needed, not dict"):
        compare_fit(table, [{}, table], "pay ~ sex")
    with pytest.raises(DataError, match="2 problems") as caught:
        compare_fit(table, table, "pay ~ log(age)", family="gamma")
    assert "stands inside I" in str(caught.value)
    with pytest.raises(DataError, match="'sex' is not in synthetic dataset 1"):
        compare_fit(table, table.select(["pay", "age"]), "pay ~ sex")
    with pytest.raises(DataError, match="no synthetic dataset"):
        compare_fit(table, [], "pay ~ sex")
    with pytest.raises(DataError, match="too few"):
        compare_fit(table.take(slice(0, 2)), table, "visits ~ age")
    with pytest.raises(DataError, match="needs at least two synthetic datasets, there is one"):
        compare_fit(table, table, "pay ~ sex", rule="fully")


def test_a_missing_statsmodels_names_the_extra(monkeypatch):
    monkeypatch.setattr(fits, "find_spec", lambda name: None)
    table = people(50, 1)
    with pytest.raises(DataError, match=r"pip install 'synthesizer\[analysis\]'"):
        compare_fit(table, table, "pay ~ sex")


@needs_reference
def test_a_model_of_the_reference_data():
    original = load_reference("original.csv")
    made = [load_reference(f"synthetic_cart_{number}.csv") for number in range(1, 6)]
    result = compare_fit(original, made, "PINCP ~ AGEP + I(AGEP ** 2) + SEX*HISP")
    assert result.datasets[0].n == (original["PINCP"].is_observed).sum()
    assert 0.5 < result.mean_overlap < 1
    assert result.notes == ()
