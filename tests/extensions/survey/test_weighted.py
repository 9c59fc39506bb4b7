"""Weighted shares, means and totals against pandas, and what is expected against bootstraps."""

import numpy as np
import pandas as pd
import pytest

import synthesizer.extensions.survey as extension
from synthesizer import check
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Table
from synthesizer.extensions.survey.weighted import (
    Models,
    WeightedCounter,
    by_weighted_tree,
    design_mean,
)
from synthesizer.measures.settings import ALL_OFF
from synthesizer.measures.survey_design import SurveyDesign
from synthesizer.measures.utility.fits import fit_model
from synthesizer.measures.utility.propensity import pmse
from tests.end_to_end.commands import call
from tests.measures.defaults import lines_of
from tests.measures.utility.test_survey_fits import BRR, survey_frame, with_replicates
from tests.tables import coded, numeric


def survey(seed, n=300):
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 3, n)
    gone = rng.random(n) < 0.1
    return Table(
        [
            coded("town", town, "abc"),
            coded("sex", rng.integers(0, 2, n), "fm"),
            numeric("pay", rng.gamma(2, 50, n) + 20 * town, gone, missing=("-8",)),
            numeric("w", np.round(rng.gamma(3, 10, n) * (1 + town)) * (rng.random(n) > 0.05)),
        ]
    )


def compared(original, *made, **options):
    counter = WeightedCounter(original, original.names, "w", **options)
    for table in made:
        counter.add(table)
    return counter.result()


def figure_of(result, key):
    return next(figure for figure in result.figures if figure.key == key)


def shares(frame, names, weighted):
    weights = frame["w"] if weighted else pd.Series(1.0, frame.index)
    return weights.groupby([frame[name] for name in names]).sum() / weights.sum()


def test_shares_means_and_totals_are_those_of_pandas():
    original, made = survey(1), survey(2, 200)
    real, drawn = (pd.DataFrame({name: t[name].data for name in t.names}) for t in (original, made))
    result = compared(original, made)
    variables = {row.variable: row for row in result.variables}
    for name in ("town", "sex"):
        for weighted, value in (
            (False, variables[name].unweighted),
            (True, variables[name].weighted),
        ):
            apart = shares(real, [name], weighted) - shares(drawn, [name], weighted)
            assert value == pytest.approx(apart.abs().sum() / 2)
    levels_only = compared(*(t.select(["town", "sex", "w"]) for t in (original, made)))
    apart = shares(real, ["town", "sex"], True) - shares(drawn, ["town", "sex"], True)
    assert levels_only.tables[1].weighted == pytest.approx(apart.abs().sum() / 2)
    one, other = (frame.dropna() for frame in (real, drawn))
    means = [np.average(frame["pay"], weights=frame["w"]) for frame in (one, other)]
    pay = variables["pay"]
    assert (pay.original_mean, pay.synthetic_mean) == pytest.approx(means)
    w, x, n = one["w"], one["pay"] - means[0], len(one)
    error = np.sqrt(n / (n - 1) * (w**2 * x**2).sum()) / w.sum()
    assert pay.weighted_error == pytest.approx(abs(means[1] - means[0]) / error)
    totals = [(frame["pay"] * frame["w"]).sum() for frame in (one, other)]
    assert pay.total_ratio == pytest.approx(totals[1] / totals[0])
    total = figure_of(result, "weight_total")
    assert total.value == pytest.approx(drawn["w"].sum() / real["w"].sum())
    assert (total.original, figure_of(result, "weighted_s_pmse").chance) == (1, 1)
    proper = compared(original, made, proper=True)
    assert figure_of(proper, "weighted_s_pmse").chance == pytest.approx(1 + 200 / 300)
    assert variables["sex"].original_mean is None


def test_weighted_tables_equal_slow_code_with_levels_that_no_record_has():
    """S_pMSE: squared differences of shares over their variances, cell by cell that occurs."""
    original, made = (
        Table([coded("town", t["town"].data, "abcd", ("?",)), t["w"]])
        for t in (survey(1), survey(2, 200))
    )
    n, k = original.n_rows, made.n_rows
    row = compared(original, made).tables[0]
    for weighted, expected in ((False, row.unweighted_s_pmse), (True, row.weighted_s_pmse)):
        sides = [
            (t["town"].data, t["w"].data if weighted else np.ones(t.n_rows))
            for t in (original, made)
        ]
        squares = noise = 0.0
        for level in range(5):
            (codes, w), (theirs, v) = sides
            p, q = w[codes == level].sum() / w.sum(), v[theirs == level].sum() / v.sum()
            if not p + q:
                continue
            pooled = (n * p + k * q) / (n + k)
            error = sum(x**2 * ((c == level) - p) ** 2 for c, x in zip(codes, w, strict=True))
            squares += (p - q) ** 2 / pooled
            noise += error / w.sum() ** 2 / pooled * n / k
        assert expected == pytest.approx(squares / noise)


def test_what_is_expected_is_what_bootstraps_give():
    original = survey(1)
    rng = np.random.default_rng(5)
    made = [original.take(rng.integers(0, 300, 150)) for _ in range(150)]
    result = compared(original, *made)
    for row in result.tables:
        assert row.weighted == pytest.approx(row.weighted_right, rel=0.06)
        assert row.unweighted == pytest.approx(row.unweighted_right, rel=0.06)
        assert row.weighted_right > row.unweighted_right
        assert row.weighted_s_pmse == pytest.approx(1, rel=0.1)
        assert row.unweighted_s_pmse == pytest.approx(1, rel=0.1)
    pairs = [row.weighted_right for row in result.tables if row.ways == 2]
    assert figure_of(result, "weighted_two_way").chance in pairs
    means = figure_of(result, "weighted_means")
    assert means.value == pytest.approx(means.chance, rel=0.15)
    proper = compared(original, original, proper=True)
    assert figure_of(proper, "weighted_means").chance == pytest.approx(np.sqrt(2 / np.pi * 2))


def test_weights_that_are_wrong_show_with_weights_only():
    original = survey(1)
    shuffled = numeric("w", np.random.default_rng(1).permutation(original["w"].data))
    equal, wrong = compared(original, original), compared(original, original.with_column(shuffled))
    assert [(row.unweighted, row.weighted) for row in equal.tables] == [(0, 0), (0, 0)]
    for row in wrong.tables:
        assert row.unweighted == 0
        assert row.weighted > 1.5 * row.weighted_right
        assert (row.unweighted_s_pmse, row.weighted_s_pmse > 2) == (0, True)


def test_constant_weights_give_the_tree_without_weights():
    tables = [survey(s).with_column(numeric("w", np.full(300, 7.0))) for s in (1, 2)]
    names = ["town", "sex", "pay"]
    weighted = by_weighted_tree(*tables, names, "w", rng=np.random.default_rng(1))
    plain = pmse(*tables, model="cart", names=names, permutations=10).datasets[0]
    assert weighted.pmse == pytest.approx(plain.pmse)


def models_of(original, made):
    models = Models(
        *(original, original.names, "w"),
        proper=False, seed=Seed(1), regressions=True, propensity=True,
    )  # fmt: skip
    result = compared(original, made, models=models)
    ratio, beyond = (figure_of(result, f"weighted_{key}") for key in ("pmse_ratio", "beyond"))
    assert (ratio.value, ratio.chance) == (models.fields["propensity"], 1)
    assert (beyond.value, beyond.original) == (models.fields["beyond"], 0)
    return models.fields


def test_regressions_by_weight_are_weighted_fits_with_robust_errors():
    tables = [survey(seed, 400).select(["sex", "pay", "w"]) for seed in (1, 2)]
    tables = [table.take(np.flatnonzero(table["pay"].is_observed)) for table in tables]
    (row,) = (r for r in models_of(*tables)["regressions"] if r.response == "pay")
    fits = []
    for table in tables:
        use = table["w"].data > 0
        X = np.column_stack([np.ones(use.sum()), table["sex"].data[use] == 0])
        fits.append(
            fit_model("ols", table["pay"].data[use], X, ["1", "f"], weights=table["w"].data[use])
        )
    original, made = fits
    off = abs(made.coefficients[1] - original.coefficients[1]) / original.std_errors[1]
    assert row.error == pytest.approx(off, rel=1e-6)
    assert models_of(tables[0], tables[0])["beyond"] == 0


def test_a_weighted_tree_sees_weights_that_are_wrong():
    original, other = survey(1, 800), survey(2, 800)
    order = np.argsort(other["pay"].data)
    wrong = np.empty(800)
    wrong[order] = np.sort(other["w"].data)  # the rich stand for most
    wrong = other.with_column(numeric("w", wrong))
    fresh, shifted = (models_of(original, table)["propensity"] for table in (other, wrong))
    assert fresh < 1.6 < shifted


def test_errors_are_those_of_the_design_and_of_samples_drawn_anew():
    """Means of units that are alike: their errors are larger, and a correct model nearer."""
    original = survey(1)
    unit = np.argsort(np.argsort(original["pay"].data)) // 30
    design = SurveyDesign(None, unit)
    result = compared(original, survey(2), design=design, design_in_words="by unit")
    pay = next(row for row in result.variables if row.variable == "pay")
    rows = original["pay"].is_observed
    values = np.where(rows, original["pay"].data, 0.0)
    mean, error, total = design_mean(values, rows, original["w"].data, design)
    assert (pay.original_mean, pay.original_error) == pytest.approx((mean, error))
    assert pay.total_error == pytest.approx(total / (values @ original["w"].data))
    plain = compared(original, survey(2))
    alone = next(row for row in plain.variables if row.variable == "pay")
    assert (plain.errors, result.errors) == ("independent records", "by unit")
    factor = alone.original_error / error
    assert factor < 0.7
    assert pay.weighted_error == pytest.approx(alone.weighted_error * factor)
    assert result.means_right == pytest.approx(plain.means_right * factor)
    w, x = original["w"].data[rows], values[rows]
    random = (w @ (x - mean) ** 2) / w.sum() / rows.sum()
    again = compared(original, survey(2), design=design, redrawn=True, proper=True)
    right = np.sqrt(2 / np.pi * (error**2 + 2 * random)) / error
    assert again.means_right == pytest.approx(right)


def test_the_weight_is_none_of_its_replicates():
    """Where the pattern of the columns has its name, too."""
    original = pd.DataFrame({name: survey(1)[name].data for name in ("town", "pay", "w")})
    draws = np.random.default_rng(2)
    for name in ("w1", "w2", "w3", "w4"):
        original[name] = original["w"] * draws.choice([0.5, 1.5], len(original))
    made = original.drop(columns=["w1", "w2", "w3", "w4"])
    errors = []
    for columns in ("w*", ["w1", "w2", "w3", "w4"]):
        settings = ALL_OFF | {"two_way": True, "weight": "w", "weighted_estimates": True,
                              "replicates": {"columns": columns, "method": "brr"}}  # fmt: skip
        utility = check(original, made, settings=settings, only="utility").utility
        (pay,) = [
            row for row in utility.further["weighted_estimates"].variables if row.variable == "pay"
        ]
        errors.append(pay.original_error)
    assert errors[0] == errors[1] > 0


def test_means_and_totals_of_a_domain_are_those_of_r():
    """One unit has no record in it.

    In R: ``d <- svydesign(ids=~unit, strata=~stratum, weights=~w, data=d)``,
    ``svymean(~y, subset(d, ok))`` and ``svytotal``, and the same of the BRR design above.
    """
    frame = survey_frame()
    rows = (np.arange(120) % 7 != 0) & (frame.unit.to_numpy() != 4)
    values, weights = frame.y.to_numpy(), frame.w.to_numpy(dtype=float)
    design = SurveyDesign(frame.stratum.to_numpy(), frame.unit.to_numpy())
    estimates = design_mean(values, rows, weights, design)
    assert estimates == pytest.approx((5.7398688194, 0.2310368989, 908.36502352))
    columns = with_replicates(frame).filter(like="rep").to_numpy(dtype=float)
    replicated = SurveyDesign(None, None, columns, BRR.scales(12))
    estimates = design_mean(values, rows, weights, replicated)
    assert estimates == pytest.approx((5.7398688194, 0.0574838268, 2141.59729760))


def test_the_command_measures_files_where_a_weight_is_named(tmp_path):
    files = [tmp_path / "original.csv", tmp_path / "made.csv"]
    for seed, file in enumerate(files, 1):
        table = survey(seed)
        pd.DataFrame({name: table[name].data for name in table.names}).to_csv(file, index=False)
    for only, figure in (("utility", "weighted_beyond"), ("risk", "weight_matches")):
        checked = call("check", *files, "--only", only, "--set", "weight=w", "--json")
        assert checked.exit_code == 0, checked.output
        assert figure in checked.output


def test_defaults_and_ranges():
    of_measures = [line for line in lines_of(extension) if not line.startswith("Planned")]
    assert of_measures == [
        "Models(workers=1)",
        "WeightedCounter(design_in_words='')",
        "WeightedCounter(groups=5)",
        "WeightedCounter(proper=False)",
        "WeightedCounter(redrawn=False)",
        "WeightsOptions.draw: {'enum': ['last', 'design'], 'default': 'last'}",
        "by_weighted_tree(n_jobs=1)",
        "WeightedEstimates.errors = 'independent records'",
    ]
