import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizer.data.errors import DataError
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.measures.figure import plain
from synthesizer.measures.risk import Tolerance, cap, cap_scores

# Tests are no package (importlib mode): the helper is loaded from its file.
_spec = importlib.util.spec_from_file_location(
    "reference_data", Path(__file__).resolve().parents[2] / "reference_data.py"
)
reference = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(reference)

KEYS = ["PUMA", "AGEP", "SEX", "RAC1P", "MSP", "OWN_RENT"]


def coded(name, codes, levels="abcdef", missing=()):
    variable = Variable(
        name=name, kind=Kind.CATEGORICAL, levels=tuple(levels), missing=tuple(missing)
    )
    return Column(variable, np.asarray(codes, dtype=np.int32))


def numeric(name, values, kind=Kind.NUMERIC):
    """None is the missing code ""."""
    states = np.array([value is None for value in values], dtype=np.int8)
    data = np.array([np.nan if value is None else value for value in values], dtype=float)
    return Column(Variable(name=name, kind=kind, missing=("",)), data, states)


def records(table, names):
    """Rows as tuples of labels and numbers, the slow way."""
    columns = []
    for name in names:
        column = table[name]
        if column.is_coded:
            columns.append([column.variable.labels[code] for code in column.data])
        else:
            states = column.missing_state()
            columns.append(
                [
                    column.variable.missing[s - 1] if s else float(v)
                    for v, s in zip(column.data, states, strict=True)
                ]
            )
    return list(zip(*columns, strict=True))


def slow_scores(original, synthetic, keys, target, right=lambda a, b: a == b):
    known, truth = records(original, keys), records(original, [target])
    rows = []
    for m in range(1, len(synthetic) + 1):
        pool = [
            pair
            for table in synthetic[:m]
            for pair in zip(records(table, keys), records(table, [target]), strict=True)
        ]
        row = []
        for key, (value,) in zip(known, truth, strict=True):
            matches = [other for k, (other,) in pool if k == key]
            hits = sum(right(value, other) for other in matches)
            row.append(hits / len(matches) if matches else np.nan)
        rows.append(row)
    return np.array(rows)


@st.composite
def tables(draw):
    def one(n, levels):
        codes = st.integers(0, len(levels))
        values = st.sampled_from([None, -2.0, -1.0, 0.0, 0.5, 3.0])
        pick = lambda kind: draw(st.lists(kind, min_size=n, max_size=n))  # noqa: E731
        return Table(
            [
                coded("a", pick(codes), levels, missing=("N",)),
                numeric("b", pick(values)),
                coded("t", pick(codes), levels, missing=("N",)),
                numeric("u", pick(values)),
            ]
        )

    sizes = draw(st.lists(st.integers(1, 12), min_size=2, max_size=4))
    return one(sizes[0], "xyz"), [one(n, "zwx") for n in sizes[1:]]


@settings(max_examples=60, deadline=None)
@given(tables())
def test_scores_equal_slow_counting(data):
    original, synthetic = data
    scores = cap_scores(original, synthetic, keys=["a", "b"], target="t", constant_target=True)
    np.testing.assert_allclose(
        scores.synthetic, slow_scores(original, synthetic, ["a", "b"], "t"), rtol=1e-12
    )
    np.testing.assert_allclose(
        scores.original, slow_scores(original, [original], ["a", "b"], "t")[0], rtol=1e-12
    )
    everyone = records(original, ["t"])
    expected = [everyone.count(value) / len(everyone) for value in everyone]
    np.testing.assert_allclose(scores.baseline, expected, rtol=1e-12)


@settings(max_examples=60, deadline=None)
@given(tables(), st.sampled_from([0.0, 0.5, 1.0, 10.0]), st.sampled_from([0.0, 0.5]))
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


def test_original_as_its_own_synthetic_copy_gives_the_original():
    rng = np.random.default_rng(2)
    table = Table([coded("k", rng.integers(0, 6, 200)), coded("t", rng.integers(0, 6, 200))])
    result = cap(table, [table], keys=["k"], target="t")
    assert result.row(1).zero == pytest.approx(result.original["all"], abs=1e-12)
    assert result.row(1).matched == 200


def test_independent_columns_give_about_the_baseline():
    rng = np.random.default_rng(2)
    share = [0.5, 0.3, 0.2]
    original, made = (
        Table([coded("k", rng.integers(0, 6, 40_000)), coded("t", rng.choice(3, 40_000, p=share))])
        for _ in range(2)
    )
    result = cap(original, [made], keys=["k"], target="t")
    assert result.baseline["all"] == pytest.approx(0.38, abs=0.01)
    assert result.row(1).zero == pytest.approx(result.baseline["all"], abs=0.01)


def test_no_match_is_zero_or_undefined():
    original = Table([coded("k", [0, 1]), coded("t", [0, 1])])
    made = Table([coded("k", [2, 3]), coded("t", [0, 1])])
    row = cap(original, [made], keys=["k"], target="t").row(1)
    assert (row.zero, row.undefined, row.matched) == (0.0, None, 0)


def test_one_record_and_dates_as_keys():
    day = numeric("day", [18_000.0], Kind.DATE)
    original = Table([day, coded("t", [0])])
    scores = cap_scores(original, [original], keys=["day"], target="t", constant_target=True)
    assert scores.synthetic.tolist() == [[1.0]]
    assert scores.uniques.tolist() == [True]


def test_groups_pool_numbers():
    original = Table([numeric("k", [-5.0, -4.0, 7.0, None]), coded("t", [0, 0, 1, 1])])
    made = Table([numeric("k", [-4.5, 9.0, None]), coded("t", [0, 1, 0])])
    exact = cap(original, [made], keys=["k"], target="t").row(1)
    grouped = cap(original, [made], keys=["k"], target="t", groups={"k": [0.0]}).row(1)
    assert (exact.matched, exact.zero) == (1, 0.0)
    assert (grouped.matched, grouped.zero) == (4, 0.75)


def test_keys_whose_levels_multiply_beyond_63_bits():
    rng = np.random.default_rng(4)
    keys = [f"k{i}" for i in range(6)]
    columns = [numeric(key, rng.permutation(3000).astype(float).tolist()) for key in keys]
    table = Table([*columns, coded("t", rng.integers(0, 3, 3000))])
    other = table.with_column(columns[5].take(np.roll(np.arange(3000), 1)))
    result = cap(table, [table, other], keys=keys, target="t")
    assert 3001**6 > 2**63
    assert result.sizes["uniques"] == 3000
    assert result.row(1).zero == 1.0
    assert cap(table, [other], keys=keys, target="t").row(1).matched == 0


def test_a_mask_chooses_records():
    table = Table([coded("k", [0, 0, 1, 1]), coded("t", [0, 1, 0, 0])])
    mask = np.array([False, False, True, True])
    result = cap(
        table, [table], keys=["k"], target="t", subsets={"mine": mask, "none": ~mask & mask}
    )
    assert result.row(1, "mine").zero == 1.0
    assert result.row(1, "none").zero is None
    assert json.dumps(plain(result), allow_nan=False)


def test_all_problems_are_told_at_once():
    table = Table([coded("k", [0, 1]), coded("t", [0, 0])])
    with pytest.raises(DataError) as caught:
        cap(table, [table], keys=["k", "t", "nowhere"], target="t", groups={"k": 3})
    text = str(caught.value)
    for part in ("'nowhere'", "also a key", "only one value", "not numeric"):
        assert part in text


def test_synthetic_tables_that_cannot_be_compared():
    original = Table([coded("k", [0, 1]), coded("t", [0, 1])])
    wrong = Table([numeric("k", [1.0, 2.0])])
    with pytest.raises(DataError) as caught:
        cap(original, [original.take(slice(0, 0)), wrong], keys=["k"], target="t")
    assert len(caught.value.problems) == 3
    assert "read both with the same schema" in str(caught.value)


@pytest.mark.parametrize("mask", [np.array([True]), np.array([1, 0])])
def test_a_mask_of_another_shape_or_type(mask):
    table = Table([coded("k", [0, 1]), coded("t", [0, 1])])
    with pytest.raises(DataError, match="boolean mask"):
        cap(table, [table], keys=["k"], target="t", subsets={"mine": mask})


@reference.needs_reference
def test_equals_the_reference():
    original = reference.load_reference("original.csv")
    synthetic = [reference.load_reference(f"synthetic_cart_{i}.csv") for i in range(1, 6)]
    expected = json.loads((reference.REFERENCE / "cap.json").read_text())
    result = cap(original, synthetic, keys=KEYS, target="EDU")
    for subset in ("all", "uniques"):
        assert result.sizes[subset] == expected["subset_sizes"][subset]
        assert result.original[subset] == pytest.approx(expected["original"][subset], abs=1e-9)
        assert result.baseline[subset] == pytest.approx(expected["baseline"][subset], abs=1e-9)
        for row in expected["synthetic"]:
            found = result.row(row["m"], subset)
            assert found.matched == row[subset]["matched"]
            assert found.zero == pytest.approx(row[subset]["zero"], abs=1e-9)
            assert found.undefined == pytest.approx(row[subset]["undefined"], abs=1e-9)
