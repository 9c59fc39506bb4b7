import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizer.data.table import Table
from synthesizer.measures.utility.propensity import _features, _permuted, cart_pmse
from synthesizer.measures.utility.tables import MEASURES, cell_measures
from tests.tables import coded, numeric, persons


def rng(seed=1):
    return np.random.default_rng(seed)


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


def test_a_copy_cannot_be_told_apart():
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
