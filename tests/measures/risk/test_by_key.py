"""What keys give away: CAP, TCAP, identity and determined targets, against slow counting."""

from collections import Counter, defaultdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizer.data.table import Table
from synthesizer.measures.risk.cap import (
    cap,
    cap_regression,
    cap_scores,
    cap_u,
    regress_on_m,
)
from synthesizer.measures.risk.determined import KeyDetermination, determined, share_right_by_key
from synthesizer.measures.risk.identity import identity, key_counts
from synthesizer.measures.risk.suda import special_uniques
from synthesizer.measures.risk.tcap import tcap
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
        for m, values in enumerate(pooled, 1):
            assert_means(result.row(m, name), values, baseline, mask)
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
    arguments = {"keys": ["k"], "target": "t", "subsets": {"mine": mask, "none": ~mask & mask}}
    result = cap(table, [table], **arguments)
    assert result.row(1, "mine").zero == 1.0
    assert result.row(1, "none").zero is None
    less = cap(table, [table], **arguments, special_uniques=False)
    assert set(less.sizes) == {"all", "uniques", "mine", "none"}
    known = cap(table, [table], keys=["k"], target="t", subsets={"special_uniques": mask})
    assert known.sizes["special_uniques"] == 2


@needs_reference
def test_cap_equals_the_reference():
    original = load_reference("original.csv")
    synthetic = [load_reference(f"synthetic_cart_{i}.csv") for i in range(1, 6)]
    expected = expected_values("cap.json")
    result = cap(original, synthetic, keys=KEYS, target="EDU")
    for subset in ("all", "uniques", "special_uniques"):
        assert result.sizes[subset] == expected["subset_sizes"][subset]
        assert result.original[subset] == pytest.approx(expected["original"][subset], abs=1e-9)
        assert result.baseline[subset] == pytest.approx(expected["baseline"][subset], abs=1e-9)
        for row in expected["synthetic"]:
            cap_row = result.row(row["m"], subset)
            assert cap_row.matched == row[subset]["matched"]
            assert cap_row.zero == pytest.approx(row[subset]["zero"], abs=1e-9)
            assert cap_row.undefined == pytest.approx(row[subset]["undefined"], abs=1e-9)
    # the most special records: above chance, below the distribution of EDU (issue 13)
    special = next(figure for figure in result.figures if figure.key == "cap_special_uniques")
    marks = special.value, special.baseline, special.chance
    assert marks == pytest.approx((0.0457, 0.1182, 0.0296), abs=5e-5)


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
# Slopes to which the paper gives a star (p < 0.05).
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
    assert [key for key in STARS if regress_on_m(PAPER[key]).slope_p >= 0.05] == []
    assert regress_on_m(PAPER["cart", "undefined", "all"]).slope_p > 0.5


def test_equals_statsmodels():
    api = pytest.importorskip("statsmodels.api")
    for means in PAPER.values():
        fit = api.OLS(np.array(means), api.add_constant(np.arange(1.0, 11.0))).fit()
        line = regress_on_m(means)
        assert (line.intercept, line.slope) == pytest.approx(tuple(fit.params), rel=1e-9)
        assert (line.intercept_error, line.slope_error) == pytest.approx(tuple(fit.bse), rel=1e-9)
        assert (line.intercept_p, line.slope_p) == pytest.approx(tuple(fit.pvalues), rel=1e-6)
        assert line.r2 == pytest.approx(fit.rsquared, rel=1e-9)
        assert line.df == fit.df_resid


def test_an_absent_row_is_refused_and_what_has_no_value_is_none():
    people = pd.DataFrame({"town": list("aab"), "ill": ["yes", "no", "no"]})
    with pytest.raises(KeyError, match="there are m = 1 to 2"):
        cap(people, [people] * 2, keys=["town"], target="ill").row(3)
    assert regress_on_m([0.1, None, 0.2, 0.3]) is regress_on_m([0.3] * 3) is None
    nothing = cap(people, people, keys=["town"], target="ill").model_copy(update={"synthetic": ()})
    assert nothing.figures == ()
    line = regress_on_m([0.25, 0.5, 0.75])  # a perfect one has no p-value
    assert (line.intercept, line.slope, line.slope_error, line.slope_p) == (0, 0.25, 0, None)


def test_rows_of_a_result_are_the_lines_of_its_means():
    rng = np.random.default_rng(8)
    sizes = (12, 3, 3, 3, 3, 3)
    original, *made = (Table([letters(k, rng.integers(0, 6, n)) for k in "kt"]) for n in sizes)
    result = cap(original, made, keys=["k"], target="t", subsets={"none": np.zeros(12, bool)})
    for row in cap_regression(result):
        means = [getattr(result.row(m, row.subset), row.rule) for m in range(1, 6)]
        assert (row.line, row.n_m) == (regress_on_m(means), 5)
        assert (row.line is None) == (row.subset == "none")


def slow_row(original, synthetic, keys, target, tau, order):
    """What a row of the result holds, by plain loops."""
    pool = {}
    for table in synthetic:
        for key, (value,) in zip(rows(table, keys), rows(table, [target]), strict=True):
            pool.setdefault(key, []).append(value)
    truth = [value for (value,) in rows(original, [target])]
    mode = max(order, key=lambda value: (truth.count(value), -order.index(value)))
    matched, pairs = 0, []
    for key, value in zip(rows(original, keys), truth, strict=True):
        levels = Counter(pool.get(key, []))
        if not levels:
            continue
        matched += 1
        top = max(levels.values())
        if top / sum(levels.values()) >= tau:
            pairs.append((min((v for v in levels if levels[v] == top), key=order.index), value))
    correct = sum(guess == value for guess, value in pairs)
    by_chance = [guess == value for guess, _ in pairs for _, value in pairs]
    return {
        "records": len(truth),
        "matched": matched,
        "attributed": len(pairs),
        "correct": correct,
        "guessed": sum(value == mode for _, value in pairs),
        "baseline": mean([truth.count(value) / len(truth) for _, value in pairs]),
        "chance": mean(by_chance),
        "tcap": correct / len(pairs) if pairs else None,
        "of_matched": correct / matched if matched else None,
        "of_records": correct / len(truth),
        "guess": mean([value == mode for _, value in pairs]),
    }


def assert_row(row, expected):
    assert {name: getattr(row, name) for name in expected} == expected


TARGETS = {"t": ["x", "y", "z", "N", "w", ""], "u": [-2.0, -1.0, 0.0, 0.5, 1.0, 3.0, "N", ""]}


@settings(max_examples=30, deadline=None)
@given(
    tables_to_compare(two_levels=True),
    st.sampled_from([0.3, 0.5, 0.6, 0.75, 1.0]),
    st.sampled_from(["t", "u"]),
)
def test_tcap_equals_slow_counting(data, tau, target):
    original, synthetic = data
    result = tcap(original, synthetic, keys=["a", "b"], target=target, tau=tau)
    assert [row.m for row in result.synthetic] == list(range(1, len(synthetic) + 1))
    for m, row in enumerate(result.synthetic, start=1):
        assert_row(row, slow_row(original, synthetic[:m], ["a", "b"], target, tau, TARGETS[target]))
    last, released = result.synthetic[-1], result.original
    assert_row(released, slow_row(original, [original], ["a", "b"], target, tau, TARGETS[target]))
    attributed, matched = result.figures
    assert (attributed.key, attributed.value, attributed.n) == ("tcap", last.tcap, last.attributed)
    assert (attributed.baseline, attributed.chance) == (last.baseline, last.chance)
    assert attributed.original == released.tcap
    assert (matched.key, matched.value, matched.n) == (
        "tcap_of_matched", last.of_matched, last.matched,
    )  # fmt: skip
    # An attacker who guesses attributes no more records than the one who looks them up.
    if last.attributed:
        share = last.attributed / last.matched
        assert matched.chance == pytest.approx(last.chance * share, rel=1e-12)
    else:
        assert matched.chance is None
    assert matched.original == released.of_matched


def test_tau_is_reached_exactly():
    made = Table([coded("k", [0] * 10, "ab"), coded("t", [0] * 7 + [1] * 3, "xy")])
    original = made.take(np.array([0, 9]))
    for tau, attributed in ((0.7, 2), (0.71, 0)):
        row = tcap(original, made, keys=["k"], target="t", tau=tau).synthetic[0]
        assert (row.attributed, row.correct) == (attributed, attributed // 2)


def test_cap_u_counts_uniques_with_non_matches_as_zero():
    original = Table([coded("k", [0, 0, 1, 2], "abc"), coded("t", [0, 1, 1, 0], "xy")])
    first = Table([coded("k", [1, 1], "abc"), coded("t", [1, 0], "xy")])
    second = Table([coded("k", [2], "abc"), coded("t", [0], "xy")])
    result = cap_u(original, [first, second], keys=["k"], target="t")
    assert [row.zero for row in result.synthetic] == [0.25, 0.75]
    assert (result.uniques, result.value, result.baseline) == (2, 0.75, 0.5)
    (figure,) = result.figures
    assert (figure.value, figure.original, figure.n, figure.baseline) == (0.75, 1.0, 2, 0.5)
    assert cap_u(original, original, keys=["k"], target="t").value == 1.0


@needs_reference
@pytest.mark.parametrize("name", ["cart", "parametric"])
def test_tcap_equals_the_reference(name):
    original = load_reference("original.csv")
    expected = expected_values()[name]
    made = load_reference(f"synthetic_{name}.csv")
    result = tcap(original, made, keys=KEYS, target="EDU")
    row = result.synthetic[0]
    assert 100 * row.of_matched == pytest.approx(expected["caps"]["TCAP"], abs=1e-6)
    assert 100 * row.of_records == pytest.approx(expected["attrib"]["DiSCO"], abs=1e-6)
    assert 100 * row.attributed / row.records == pytest.approx(expected["attrib"]["DiS"], abs=1e-6)
    assert 100 * row.matched / row.records == pytest.approx(expected["attrib"]["iS"], abs=1e-6)
    assert 100 * result.original.of_records == pytest.approx(expected["attrib"]["Dorig"], abs=1e-6)


def slow_identity(original, made, keys, cuts=None):
    real, synthetic = Counter(rows(original, keys, cuts)), Counter(rows(made, keys, cuts))
    unique = [key for key, count in real.items() if count == 1]
    return (
        len(unique) / original.n_rows,
        sum(count == 1 for count in synthetic.values()) / made.n_rows,
        sum(key in synthetic for key in unique) / original.n_rows,
        sum(synthetic[key] == 1 for key in unique) / original.n_rows,
    )


def shares(values):
    return values.uio, values.uis, values.uiois, values.repu


@settings(max_examples=25, deadline=None)
@given(
    tables_to_compare(),
    st.sampled_from([["a"], ["b"], ["b", "a"], ["a", "b", "t", "u"]]),
    st.sampled_from([{}, {"b": [0.0]}, {"b": [-1.0, 3.0], "u": [0.5]}]),
)
def test_identity_equals_slow_counting(data, keys, cuts):
    original, made = data
    result = identity(original, made, keys=keys, groups=cuts)
    expected = [slow_identity(original, table, keys, cuts) for table in made]
    assert [shares(values) for values in result.datasets] == expected
    means = np.mean(expected, axis=0).tolist()
    assert shares(result.mean) == pytest.approx(means)
    figures = {figure.name: figure for figure in result.figures}
    released = slow_identity(original, original, keys, cuts)
    n, n_made = original.n_rows, sum(table.n_rows for table in made)
    for name, value, mark in zip(("UiO", "UiS", "UiOiS", "repU"), means, released, strict=True):
        figure = figures[name]
        assert (figure.value, figure.original) == (pytest.approx(value), pytest.approx(mark))
        assert figure.n == (n_made if name == "UiS" else n)
    assert result.n_synthetic == tuple(table.n_rows for table in made)
    known = rows(original, keys)
    assert key_counts(original, keys).tolist() == [known.count(row) for row in known]


@needs_reference
@pytest.mark.parametrize("method", ["cart", "parametric"])
def test_identity_equals_the_reference(method):
    original = load_reference("original.csv")
    expected = expected_values()[method]["ident"]
    values = identity(original, load_reference(f"synthetic_{method}.csv"), keys=KEYS).mean
    measures = dict(zip(("UiO", "UiS", "UiOiS", "repU"), shares(values), strict=True))
    assert {name: 100 * share for name, share in measures.items()} == pytest.approx(
        expected, rel=0, abs=1e-9
    )


def slow_determined(keys, targets):
    """Counts (shared, determined, right, guessed), the chance by the sum, the right share."""
    levels = defaultdict(list)
    for key, target in zip(keys, targets, strict=True):
        levels[key].append(target)
    shared = [level for level in levels.values() if len(level) > 1]
    pure = sum(len(level) for level in shared if len(set(level)) == 1)
    chance = 1.0
    for level in shared:
        chance *= sum((targets.count(t) / len(targets)) ** len(level) for t in set(targets))
    right = sum(max(level.count(t) for t in level) for level in shared)
    mode = max(sorted(set(targets)), key=targets.count)
    guessed = sum(level.count(mode) for level in shared)
    share = (right + sum(len(level) == 1 for level in levels.values())) / len(keys)
    return (sum(len(level) for level in shared), pure, right, guessed), chance, share


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_determined_equals_slow_counting(data):
    n = data.draw(st.integers(2, 25))
    a, b, t = (data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)) for _ in range(3))
    if len(set(t)) == 1:
        return
    table = Table([coded("a", a, "wxy", missing=("N",)), numeric("b", b), coded("t", t, "wxyz")])
    result = determined(table, ["a", "b"], "t")
    every = [(a, result.single[0]), (b, result.single[1])]
    every.append((list(zip(a, b, strict=True)), result.together))
    for keys, entry in every:
        expected, chance, _ = slow_determined(keys, t)
        assert (entry.shared, entry.determined, entry.told, entry.guessed) == expected
        assert entry.chance == pytest.approx(chance, rel=1e-9)
    assert share_right_by_key(table["a"], table["t"]) == pytest.approx(slow_determined(a, t)[2])


def test_large_levels_do_not_underflow():
    halves = np.arange(100_000) % 2
    table = Table([coded("k", halves, "ab"), coded("t", halves, "xy")])
    (entry,) = determined(table, ["k"], "t").single
    assert 0 < entry.chance < 1e-300
    assert entry.by_construction


def test_rules_with_exceptions_are_not_taken_for_construction():
    """Keys determine 95 of 100 targets; few records share a key, so none differs by chance."""
    rng = np.random.default_rng(4)
    flagged = 0
    for _ in range(50):
        first, second = rng.integers(0, 120, 400), rng.integers(0, 100, 400)
        noisy = np.where(rng.random(400) < 0.95, (first + second) % 5, rng.integers(0, 5, 400))
        table = Table([numeric("a", first), numeric("b", second), coded("t", noisy, list("vwxyz"))])
        flagged += bool(determined(table, ["a", "b"], "t").telling)
    assert flagged == 0


def test_two_keys_that_tell_together_are_named():
    rng = np.random.default_rng(5)
    n = 500
    one, two = rng.integers(0, 5, n), rng.integers(0, 4, n)
    table = Table(
        [
            coded("one", one, "abcde"),
            coded("two", two, "abcd"),
            numeric("all", np.arange(n)),
            coded("t", (one + two) % 3, "xyz"),
        ]
    )
    result = determined(table, ["one", "two", "all"], "t")
    assert result.telling == (("one", "two"),)


def test_limits_of_what_is_enough_nearly_and_by_chance():
    def entry(shared, right, guessed, chance=0.0):
        return KeyDetermination(
            keys=("k",), shared=shared, determined=right, told=right, guessed=guessed, chance=chance
        )

    assert entry(90, 90, 0).by_construction
    assert not entry(89, 89, 0).by_construction
    assert not entry(90, 90, 0, chance=0.001).by_construction
    assert entry(90, 90, 0, chance=0.00099).by_construction
    # Two exceptions in 200, and ten times as many by guessing.
    assert entry(200, 198, 179).nearly
    assert not entry(200, 198, 180).nearly
    assert not entry(200, 197, 100).nearly
    assert not entry(89, 89, 0).nearly


@pytest.mark.parametrize(("n_keys", "pairs"), [(12, 66), (13, 0)])
def test_pairs_of_up_to_twelve_keys_are_looked_at(n_keys, pairs):
    keys = [f"k{number}" for number in range(n_keys)]
    table = Table([coded(name, [0, 1, 1], "ab") for name in (*keys, "t")])
    assert len(determined(table, keys, "t").pairs) == pairs
