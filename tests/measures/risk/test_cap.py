import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizer.data.table import Table
from synthesizer.measures.risk.cap import cap, cap_regression, cap_scores, regress_on_m
from synthesizer.measures.risk.suda import special_uniques
from synthesizer.measures.scenario import Tolerance
from tests.measures.risk.slow_rows import rows, tables_to_compare
from tests.reference_data import KEYS, expected_values, load_reference, needs_reference
from tests.tables import coded, numeric


def letters(name, codes):
    return coded(name, codes, "abcdef")


def slow_scores(original, synthetic, keys, target, right=lambda a, b: a == b):
    known, truth = rows(original, keys), rows(original, [target])
    scores = []
    for m in range(1, len(synthetic) + 1):
        pool = [
            pair
            for table in synthetic[:m]
            for pair in zip(rows(table, keys), rows(table, [target]), strict=True)
        ]
        row = []
        for key, (value,) in zip(known, truth, strict=True):
            matches = [other for k, (other,) in pool if k == key]
            hits = sum(right(value, other) for other in matches)
            row.append(hits / len(matches) if matches else np.nan)
        scores.append(row)
    return np.array(scores)


def mean(values):
    return pytest.approx(np.mean(values), rel=1e-12) if len(values) else None


def assert_means(row, scores, baseline, mask):
    """One row of a result against the scores of its subset, NaN where nothing matches."""
    matched = mask & ~np.isnan(scores)
    whole = np.where(matched, scores, 0)[mask]
    chance = np.where(matched, baseline, 0)[mask]
    assert (row.size, row.matched) == (mask.sum(), matched.sum())
    assert (row.zero, row.chance_zero) == (mean(whole), mean(chance))
    assert (row.undefined, row.chance_undefined) == (mean(scores[matched]), mean(baseline[matched]))


@settings(max_examples=25, deadline=None)
@given(tables_to_compare(two_levels=True))
def test_scores_and_means_equal_slow_counting(data):
    original, synthetic = data
    keys = {"keys": ["a", "b"], "target": "t"}
    pooled = slow_scores(original, synthetic, ["a", "b"], "t")
    singles = [slow_scores(original, [table], ["a", "b"], "t")[0] for table in synthetic]
    released = slow_scores(original, [original], ["a", "b"], "t")[0]
    known, everyone = rows(original, ["a", "b"]), rows(original, ["t"])
    baseline = np.array([everyone.count(value) / len(everyone) for value in everyone])
    unique = np.array([known.count(key) == 1 for key in known])
    scores = cap_scores(original, synthetic, **keys)
    np.testing.assert_allclose(scores.synthetic, pooled, rtol=1e-12)
    np.testing.assert_allclose(scores.singles, singles, rtol=1e-12)
    np.testing.assert_allclose(scores.original, released, rtol=1e-12)
    np.testing.assert_allclose(scores.baseline, baseline, rtol=1e-12)
    assert scores.uniques.tolist() == unique.tolist()
    special = special_uniques(original, ["a", "b"])
    masks = {"all": np.ones(len(unique), bool), "uniques": unique, "special_uniques": special}
    result = cap(original, synthetic, **keys)
    assert result.sizes == {name: mask.sum() for name, mask in masks.items()}
    for name, mask in masks.items():
        assert (result.original[name], result.baseline[name]) == (
            mean(released[mask]), mean(baseline[mask]),
        )  # fmt: skip
        for m, own in enumerate(pooled, 1):
            assert_means(result.row(m, name), own, baseline, mask)
    for row in result.singles:
        assert_means(row, singles[row.dataset - 1], baseline, masks[row.subset])
    last = result.row(len(synthetic))
    figures = {figure.key: figure for figure in result.figures}
    beyond = ["cap_beyond", "disco_beyond"]
    assert list(figures) == [
        "cap", "cap_undefined", "identity_disclosure", "cap_u", "cap_special_uniques", *beyond,
    ]  # fmt: skip
    # slow: the chance to pick a record among its equals, times that of the right target
    picked = [known.count(key) for key in known]
    right = [0.0 if np.isnan(score) else score for score in pooled[-1]]
    assert figures["identity_disclosure"].value == mean(np.array(right) / np.array(picked))
    matches = figures["cap_undefined"]
    assert (matches.value, matches.n, matches.original) == (
        last.undefined, last.matched, result.original["all"],
    )  # fmt: skip
    # equation 5 over the records that match is what these matches give by chance
    assert (matches.baseline, matches.chance) == (last.chance_undefined,) * 2
    for key, subset in (("cap", "all"), ("cap_u", "uniques"), ("cap_special_uniques",) * 2):
        figure, row = figures[key], result.row(last.m, subset.removeprefix("cap_"))
        assert (figure.value, figure.chance, figure.n) == (row.zero, row.chance_zero, row.size)
        assert (figure.baseline, figure.original) == (
            result.baseline[row.subset], result.original[row.subset],
        )  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(tables_to_compare(), st.sampled_from([0.0, 0.5, 1.0, 10.0]), st.sampled_from([0.0, 0.5]))
def test_tolerance_equals_slow_counting(data, absolute, relative):
    def right(a, b):
        if isinstance(a, str) or isinstance(b, str):
            return a == b
        return abs(a - b) <= max(absolute, relative * abs(a))

    original, synthetic = data
    scores = cap_scores(
        original,
        synthetic,
        keys=["a"],
        target="u",
        tolerance=Tolerance(absolute=absolute, relative=relative),
        constant_target=True,
    )
    expected = slow_scores(original, synthetic, ["a"], "u", right)
    np.testing.assert_allclose(scores.synthetic, expected, rtol=1e-12)


def test_keys_whose_levels_multiply_beyond_63_bits():
    rng = np.random.default_rng(4)
    keys = [f"k{i}" for i in range(6)]
    columns = [numeric(key, rng.permutation(3000).astype(float).tolist()) for key in keys]
    table = Table([*columns, letters("t", rng.integers(0, 3, 3000))])
    other = table.with_column(columns[5].take(np.roll(np.arange(3000), 1)))
    result = cap(table, [table, other], keys=keys, target="t")
    assert 3001**6 > 2**63
    assert result.sizes["uniques"] == 3000
    assert result.row(1).zero == 1.0
    assert cap(table, [other], keys=keys, target="t").row(1).matched == 0


def test_a_mask_chooses_rows():
    table = Table([letters("k", [0, 0, 1, 1]), letters("t", [0, 1, 0, 0])])
    mask = np.array([False, False, True, True])
    asked = {"keys": ["k"], "target": "t", "subsets": {"mine": mask, "none": ~mask & mask}}
    result = cap(table, [table], **asked)
    assert result.row(1, "mine").zero == 1.0
    assert result.row(1, "none").zero is None
    less = cap(table, [table], **asked, special_uniques=False)
    assert set(less.sizes) == {"all", "uniques", "mine", "none"}
    known = cap(table, [table], keys=["k"], target="t", subsets={"special_uniques": mask})
    assert known.sizes["special_uniques"] == 2


@needs_reference
def test_equals_the_reference():
    original = load_reference("original.csv")
    synthetic = [load_reference(f"synthetic_cart_{i}.csv") for i in range(1, 6)]
    expected = expected_values("cap.json")
    result = cap(original, synthetic, keys=KEYS, target="EDU")
    for subset in ("all", "uniques", "special_uniques"):
        assert result.sizes[subset] == expected["subset_sizes"][subset]
        assert result.original[subset] == pytest.approx(expected["original"][subset], abs=1e-9)
        assert result.baseline[subset] == pytest.approx(expected["baseline"][subset], abs=1e-9)
        for row in expected["synthetic"]:
            found = result.row(row["m"], subset)
            assert found.matched == row[subset]["matched"]
            assert found.zero == pytest.approx(row[subset]["zero"], abs=1e-9)
            assert found.undefined == pytest.approx(row[subset]["undefined"], abs=1e-9)
    # the most special records: the distribution of EDU tells more, chance less (issue 13)
    special = next(figure for figure in result.figures if figure.key == "cap_special_uniques")
    marks = special.value, special.baseline, special.chance
    assert marks == pytest.approx((0.0457, 0.1182, 0.0296), abs=5e-5)


# Mean CAP of m = 1, ..., 10 as Taub et al. (2018), table 1, print it.
PAPER = {
    ("cart", "zero", "all"): (
        0.334, 0.393, 0.416, 0.435, 0.443, 0.448, 0.453, 0.459, 0.463, 0.465,
    ),
    ("cart", "zero", "special"): (
        0.074, 0.110, 0.154, 0.162, 0.176, 0.192, 0.212, 0.218, 0.242, 0.242,
    ),
    ("cart", "undefined", "all"): (
        0.498, 0.503, 0.501, 0.505, 0.502, 0.501, 0.500, 0.502, 0.502, 0.502,
    ),
    ("cart", "undefined", "special"): (
        0.549, 0.530, 0.568, 0.535, 0.525, 0.525, 0.522, 0.507, 0.523, 0.519,
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


@pytest.mark.parametrize("key", TABLE_2)
def test_published_lines_follow_from_published_means(key):
    line = regress_on_m(PAPER[key])
    intercept, slope = TABLE_2[key]
    # What rounding of the means to half a unit of the third decimal can do, and of the printed
    # numbers themselves.
    weights = np.abs(np.linalg.pinv(np.column_stack([np.ones(10), np.arange(1, 11)]))).sum(axis=1)
    assert line.intercept == pytest.approx(intercept, abs=0.0005 * weights[0] + 0.0005)
    assert line.slope == pytest.approx(slope, abs=0.0005 * weights[1] + 0.00005)


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


def test_what_there_is_not_is_told():
    people = pd.DataFrame({"town": list("aab"), "ill": ["yes", "no", "no"]})
    with pytest.raises(KeyError, match="there are m = 1 to 2"):
        cap(people, [people] * 2, keys=["town"], target="ill").row(3)
    assert regress_on_m([0.1, None, 0.2, 0.3]) is regress_on_m([0.3] * 3) is None
    nothing = cap(people, people, keys=["town"], target="ill").model_copy(update={"synthetic": ()})
    assert nothing.figures == ()
    assert cap_regression(cap(people, [people] * 3, keys=["town"], target="ill"))[0].n_m == 3
