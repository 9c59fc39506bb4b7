from collections import Counter
from itertools import combinations
from math import prod

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizer.data.errors import DataError
from synthesizer.data.table import Table
from synthesizer.measures.figure import plain
from synthesizer.measures.risk.suda import (
    affordable_size,
    data_intrusion_simulation,
    dis_suda_scores,
    score_exponent,
    special_uniques,
    suda,
)
from tests.reference_data import KEYS, REFERENCE, load_reference, needs_reference
from tests.tables import coded, numeric

UNKNOWN = object()


def slow_minimal(rows, max_size):
    """Minimal uniques of every record by plain loops: lists of tuples of key positions."""
    minimal = [[] for _ in rows]
    n_keys = len(rows[0])
    for size in range(1, max_size + 1):
        for subset in combinations(range(n_keys), size):
            values = [tuple(row[key] for key in subset) for row in rows]
            count = Counter(value for value in values if UNKNOWN not in value)
            for i, value in enumerate(values):
                inside = any(set(smaller) < set(subset) for smaller in minimal[i])
                if count.get(value) == 1 and not inside:
                    minimal[i].append(subset)
    return minimal


def slow_frequency(rows, row):
    """Records that have a record's observed values; 0 where it has none."""
    observed = [i for i, value in enumerate(row) if value is not UNKNOWN]
    return sum(all(other[i] == row[i] for i in observed) for other in rows) if observed else 0


def slow_weight(n_keys, size, max_size):
    return prod(n_keys - i for i in range(size, max_size))


def assert_as_slow(result, rows, max_size):
    n_keys = len(rows[0])
    minimal = slow_minimal(rows, max_size)
    frequency = np.array([slow_frequency(rows, row) for row in rows])
    weights = [[slow_weight(n_keys, len(s), max_size) for s in subsets] for subsets in minimal]
    np.testing.assert_array_equal(result.scores, [sum(weight) for weight in weights])
    np.testing.assert_array_equal(result.unique, frequency == 1)
    for size in range(1, max_size + 1):
        expected = [sum(len(s) == size for s in subsets) for subsets in minimal]
        np.testing.assert_array_equal(result.minimal[:, size - 1], expected)
    total = sum(map(sum, weights))
    uniques, paired = (frequency == 1).sum(), (frequency == 2).sum()
    if uniques:
        assert result.dis == pytest.approx(0.01 * uniques / (0.01 * uniques + 0.99 * paired))
    else:
        assert result.dis is None
    for position, key in enumerate(result.keys):
        parts = [
            sum(w for s, w in zip(subsets, weight, strict=True) if position in s)
            for subsets, weight in zip(minimal, weights, strict=True)
        ]
        if not total:
            assert result.contributions[key] is None
            continue
        assert result.contributions[key] == pytest.approx(sum(parts) / total)
        shares = [part / max(sum(w), 1) for part, w in zip(parts, weights, strict=True)]
        np.testing.assert_allclose(result.record_contributions[:, position], shares, rtol=1e-5)


@st.composite
def small_tables(draw):
    """Codes of up to 12 records and 5 keys with few levels; the last level is a missing code."""
    n, n_keys = draw(st.integers(1, 12)), draw(st.integers(1, 5))
    row = st.lists(st.integers(0, 3), min_size=n_keys, max_size=n_keys)
    return draw(st.lists(row, min_size=n, max_size=n))


def table_of(rows):
    """Every other key is numeric, with negative values."""
    columns = []
    for position, codes in enumerate(np.array(rows).T):
        if position % 2:
            states = (codes == 3).astype(int)
            columns.append(numeric(f"k{position}", codes * -1.5, states, missing=("N",)))
        else:
            columns.append(coded(f"k{position}", codes, ("a", "b", "c"), missing=("N",)))
    return Table(columns)


@settings(max_examples=60, deadline=None)
@given(small_tables(), st.sampled_from(["value", "unknown"]), st.integers(1, 5))
def test_equals_the_slow_search(rows, missing, max_size):
    table = table_of(rows)
    max_size = min(max_size, len(rows[0]))
    result = suda(table, table.names, max_size=max_size, missing=missing, record_contributions=True)
    if missing == "unknown":
        rows = [[UNKNOWN if code == 3 else code for code in row] for row in rows]
    assert_as_slow(result, [tuple(row) for row in rows], max_size)


def test_more_combinations_than_63_bits():
    rng = np.random.default_rng(3)
    data = rng.integers(0, 290, (300, 9))
    data[:40, :6] = data[260:, :6]
    table = Table([numeric(f"k{i}", column) for i, column in enumerate(data.T)])
    result = suda(table, table.names, max_size=2, record_contributions=True)
    assert_as_slow(result, [tuple(row) for row in data.tolist()], 2)


GUIDE = pd.DataFrame(
    {
        "residence": ["Urban"] * 4 + ["Rural"] + ["Urban"] * 5,
        "gender": [*"FFFMFMFMFF"],
        "education": ["si", "si", "pi", "sc", "sc", "sc", "pc", "ps", "si", "si"],
        "labour": ["E", "E", "N", "E", "U", "E", "N", "U", "N", "N"],
    }
)


def test_practice_guide():
    """Table 4.5 of the World Bank's practice guide (Benschop, Machingauta and Welch)."""
    for max_size in (3, 4):
        result = suda(GUIDE, list(GUIDE.columns), max_size=max_size)
        assert result.scores.tolist() == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]
    assert result.minimal[4].tolist() == [1, 3, 0, 0]
    assert result.dis == pytest.approx(0.04 / (0.04 + 6 * 0.99))


def test_practice_guide_dis():
    """The guide's DIS-SUDA scores rest on standardised scores, which follow its own definition."""
    dis = data_intrusion_simulation(4, 6, 0.01)
    scores = dis_suda_scores(np.array([1.75, 3.25, 1.75, 2.75]), dis, 4)
    assert scores.round(4).tolist() == [0.0051, 0.0107, 0.0051, 0.0088]


@needs_reference
def test_reference():
    table = load_reference("original.csv")
    result = suda(table, KEYS)
    expected = pd.read_csv(REFERENCE / "suda2.csv")
    np.testing.assert_array_equal(result.scores, expected["score"])
    np.testing.assert_allclose(result.dis_scores, expected["dis_score"], rtol=0, atol=1e-7)
    assert result.unique.sum() == 2010
    assert special_uniques(table, KEYS, suda=result).sum() == 208
    frame = suda(pd.read_csv(REFERENCE / "original.csv"), KEYS)
    np.testing.assert_array_equal(frame.scores, result.scores)
    order = [KEYS[i] for i in (3, 0, 5, 1, 4, 2)]
    np.testing.assert_array_equal(suda(table, order).scores, result.scores)


def test_all_alike_and_doubled():
    alike = suda(pd.DataFrame({"a": [1] * 5, "b": [2] * 5}), ["a", "b"])
    twice = suda(pd.concat([GUIDE, GUIDE]), list(GUIDE.columns))
    for result in (alike, twice):
        for part in (result.scores, result.unique, result.special, result.dis_scores):
            assert not part.any()
        assert result.dis is None
        assert set(result.contributions.values()) == {None}
        assert result.result.scores["median"] is None
        values = {figure.key: figure.value for figure in result.figures}
        assert (values["uniques"], values["share_unique"], values["special_uniques"]) == (0, 0, 0)
        assert values["largest_dis_suda"] is values["mean_dis_suda"] is None


def test_result_holds_no_records():
    result = suda(GUIDE, list(GUIDE.columns), sampling_fraction=0.5)
    written = plain(result.result)
    assert (written["uniques"], written["uniques_without_score"]) == (4, 0)
    assert written["minimal_uniques"][:2] == [
        {"size": 1, "found": 4, "records": 4},
        {"size": 2, "found": 5, "records": 2},
    ]
    assert written["scores"]["highest"] == 12
    assert sum(band["records"] for band in written["dis_scores"]) == 4
    values = {figure.key: figure.value for figure in result.figures}
    assert (values["uniques"], values["share_unique"]) == (4, 0.4)
    assert values["special_uniques"] == written["special_uniques"] == 1
    assert values["data_intrusion_simulation"] == pytest.approx(2 / (2 + 3))
    assert values["largest_dis_suda"] == result.dis_scores.max()
    assert values["mean_dis_suda"] == result.dis_scores[result.dis_scores > 0].mean()


def test_too_many_sets_are_refused():
    table = Table([numeric(f"k{i}", [0, 1]) for i in range(25)])
    with pytest.raises(DataError, match=r"33,554,431 sets.*max_size to at most 5"):
        suda(table, table.names)
    assert suda(table, table.names, max_size=2).scores.tolist() == [25 * 24] * 2
    assert [affordable_size(n, 7_000) for n in (1, 12, 13, 20)] == [1, 12, 6, 3]
    assert [affordable_size(n, 10**6) for n in (6, 8, 12)] == [6, 8, 3]


def test_dis_is_the_mean_ratio_of_wrong_to_right_matches():
    scores = np.array([1.0, 4.0, 30.0])
    assert data_intrusion_simulation(0, 10, 0.1) is None
    assert data_intrusion_simulation(5, 0, 0.1) == 1
    assert data_intrusion_simulation(5, 7, 1) == 1
    assert len(dis_suda_scores(np.empty(0), None, 3)) == 0
    for n_keys in (1, 6, 9, 40):
        p = dis_suda_scores(scores, 0.2, n_keys)
        assert np.mean((1 - p) / p) == pytest.approx(4)
        assert (np.diff(p) > 0).all()
        np.testing.assert_allclose(dis_suda_scores(scores * 7, 0.2, n_keys), p)
    assert score_exponent(6) == pytest.approx(1.1)
