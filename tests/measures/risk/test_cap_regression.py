import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from synthesizer.measures.figure import plain
from synthesizer.measures.risk.cap import cap, cap_regression, regress_on_m

# Mean CAP of m = 1, ..., 10 as Taub et al. (2018), table 1, print it.
PAPER = {
    ("cart", "zero", "all"): (
        0.334, 0.393, 0.416, 0.435, 0.443, 0.448, 0.453, 0.459, 0.463, 0.465,
    ),
    ("cart", "zero", "uniques"): (
        0.180, 0.273, 0.324, 0.361, 0.380, 0.388, 0.397, 0.411, 0.421, 0.427,
    ),
    ("cart", "zero", "special"): (
        0.074, 0.110, 0.154, 0.162, 0.176, 0.192, 0.212, 0.218, 0.242, 0.242,
    ),
    ("cart", "undefined", "all"): (
        0.498, 0.503, 0.501, 0.505, 0.502, 0.501, 0.500, 0.502, 0.502, 0.502,
    ),
    ("cart", "undefined", "uniques"): (
        0.548, 0.554, 0.549, 0.545, 0.537, 0.532, 0.524, 0.529, 0.529, 0.528,
    ),
    ("cart", "undefined", "special"): (
        0.549, 0.530, 0.568, 0.535, 0.525, 0.525, 0.522, 0.507, 0.523, 0.519,
    ),
    ("parametric", "zero", "all"): (
        0.296, 0.346, 0.364, 0.378, 0.388, 0.393, 0.397, 0.403, 0.406, 0.420,
    ),
    ("parametric", "zero", "uniques"): (
        0.138, 0.208, 0.251, 0.277, 0.295, 0.304, 0.315, 0.324, 0.328, 0.355,
    ),
    ("parametric", "zero", "special"): (
        0.0418, 0.0531, 0.0774, 0.0817, 0.0920, 0.101, 0.0987, 0.108, 0.115, 0.142,
    ),
    ("parametric", "undefined", "all"): (
        0.459, 0.460, 0.452, 0.450, 0.449, 0.447, 0.445, 0.447, 0.446, 0.455,
    ),
    ("parametric", "undefined", "uniques"): (
        0.433, 0.433, 0.435, 0.434, 0.431, 0.426, 0.427, 0.428, 0.424, 0.437,
    ),
    ("parametric", "undefined", "special"): (
        0.525, 0.430, 0.485, 0.437, 0.436, 0.408, 0.393, 0.394, 0.384, 0.410,
    ),
}  # fmt: skip
# Table 2 of the paper: intercept and slope. Of twelve lines four follow from table 1 within its
# rounding; the printed parametric line of the full set repeats that of CART.
TABLE_2 = {
    ("cart", "zero", "all"): (0.367, 0.0117),
    ("cart", "zero", "special"): (0.0809, 0.0177),
    ("cart", "undefined", "all"): (0.501, 5.64e-05),
    ("cart", "undefined", "special"): (0.552, -0.00393),
}
# Significant at 5 % in the paper, and in the lines fitted to its table 1.
STARS = [key for key in PAPER if key[1] == "zero"] + [("cart", "undefined", "uniques")]


@pytest.mark.parametrize("key", TABLE_2)
def test_published_lines_follow_from_published_means(key):
    line = regress_on_m(PAPER[key])
    intercept, slope = TABLE_2[key]
    # What rounding of the means to half a unit of the third decimal can do, and of the printed
    # numbers themselves.
    weights = np.abs(np.linalg.pinv(np.column_stack([np.ones(10), np.arange(1, 11)]))).sum(axis=1)
    assert line.intercept == pytest.approx(intercept, abs=0.0005 * weights[0] + 0.0005)
    assert line.slope == pytest.approx(slope, abs=0.0005 * weights[1] + 0.00005)


def test_published_significance():
    for key in STARS:
        assert regress_on_m(PAPER[key]).slope_p < 0.05
    assert regress_on_m(PAPER["cart", "undefined", "all"]).slope_p > 0.5


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(0, 1000), min_size=3, max_size=12))
def test_equals_least_squares_by_the_formulas(thousandths):
    means = [value / 1000 for value in thousandths]
    line = regress_on_m(means)
    if len(set(means)) == 1:
        assert line is None
        return
    x = np.column_stack([np.ones(len(means)), np.arange(1, len(means) + 1)])
    beta, *_ = np.linalg.lstsq(x, np.array(means), rcond=None)
    rest = np.array(means) - x @ beta
    df = len(means) - 2
    errors = np.sqrt(np.diag(np.linalg.inv(x.T @ x)) * (rest @ rest) / df)
    assert (line.intercept, line.slope) == pytest.approx(tuple(beta), abs=1e-12)
    assert (line.intercept_error, line.slope_error) == pytest.approx(tuple(errors), abs=1e-7)
    if errors.min() > 1e-6:
        p = 2 * stats.t.sf(np.abs(beta / errors), df)
        assert (line.intercept_p, line.slope_p) == pytest.approx(tuple(p), rel=1e-6)


def test_equals_statsmodels():
    api = pytest.importorskip("statsmodels.api")
    for means in PAPER.values():
        found = api.OLS(np.array(means), api.add_constant(np.arange(1.0, 11.0))).fit()
        line = regress_on_m(means)
        assert (line.intercept, line.slope) == pytest.approx(tuple(found.params), rel=1e-9)
        assert (line.intercept_error, line.slope_error) == pytest.approx(tuple(found.bse), rel=1e-9)
        assert (line.intercept_p, line.slope_p) == pytest.approx(tuple(found.pvalues), rel=1e-6)
        assert line.r2 == pytest.approx(found.rsquared, rel=1e-9)
        assert line.df == found.df_resid


@pytest.mark.parametrize(
    "means", [[], [0.1, 0.2], [0.1, None, 0.2, 0.3], [0.3, 0.3, 0.3], [None, None, None]]
)
def test_nothing_to_fit(means):
    assert regress_on_m(means) is None


def test_a_perfect_line_has_no_p_value():
    line = regress_on_m([0.25, 0.5, 0.75])
    assert (line.intercept, line.slope, line.slope_error) == (0.0, 0.25, 0.0)
    assert (line.intercept_p, line.slope_p) == (None, None)


def test_rows_of_a_result():
    rng = np.random.default_rng(8)

    def draw(n):
        return pd.DataFrame(
            {"town": rng.choice(list("abcdefghij"), n), "ill": rng.choice(list("xy"), n)}
        )

    original, made = draw(12), [draw(3) for _ in range(5)]
    nobody = np.zeros(12, dtype=bool)
    result = cap(original, made, keys=["town"], target="ill", subsets={"nobody": nobody})
    rows = cap_regression(result)
    assert [(row.subset, row.rule) for row in rows] == [
        (subset, rule)
        for subset in ("all", "uniques", "nobody", "special_uniques")
        for rule in ("zero", "undefined")
    ]
    for row in rows:
        means = [getattr(result.row(m, row.subset), row.rule) for m in range(1, 6)]
        assert row.line == regress_on_m(means)
        assert row.n_m == 5
    assert rows[0].line is not None
    assert rows[4].line is None
    assert json.dumps([plain(row) for row in rows], allow_nan=False)
