import numpy as np
import pytest

from synthesizer.data.table import Column, Kind, Variable
from synthesizer.measures.utility import cells
from synthesizer.measures.utility.cells import breaks_of, cell_counts, group_pair, group_tables
from tests.tables import persons


def test_levels_of_one_side_missing_codes_and_order():
    missing = Variable(name="x", kind=Kind.NUMERIC, missing=("", "-8"))
    ours = Column(missing, np.array([1.0, -2.0, np.nan]), np.array([0, 0, 1], dtype=np.int8))
    other = Variable(name="x", kind=Kind.NUMERIC, missing=("-8",))
    theirs = Column(other, np.array([1.0, np.nan]), np.array([0, 1], dtype=np.int8))
    pair = group_pair(ours, theirs)
    assert pair.labels == ("below 1", "1 and above", "", "-8")
    assert pair.original.tolist() == [1, 0, 2]
    assert pair.synthetic.tolist() == [1, 3]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3.0], []),
        ([], []),
        ([1.0, -1.0, 5.0], [1.0, 5.0]),
        (list(range(1, 11)), [2.8, 4.6, 6.4, 8.2]),
        ([*[0.0] * 90, 1, 2, 3, 4, 5, 10], [2.0, 4.0, 6.0, 8.0]),
    ],
)
def test_breaks(values, expected):
    assert breaks_of(np.array(values, dtype=float), 5).tolist() == pytest.approx(expected)


def test_quantiles_of_the_original_alone():
    variable = Variable(name="x", kind=Kind.DATE)
    ours = Column(variable, np.arange(100.0))
    pair = group_pair(ours, Column(variable, np.arange(100.0) + 1000), quantiles_of="original")
    assert np.bincount(pair.original, minlength=5).tolist() == [20] * 5
    assert set(pair.synthetic) == {4}


@pytest.mark.parametrize("seed", range(30))
def test_sparse_and_dense_counts_are_the_same(seed, monkeypatch):
    n = np.random.default_rng(seed).integers(1, 20, 2)
    grouped = group_tables(persons(n[0], seed), persons(n[1], seed + 99), persons(1).names)
    dense = cell_counts(grouped)
    monkeypatch.setattr(cells, "_DENSE_CELLS", 0)
    sparse = cell_counts(grouped)
    for one, other in zip(dense, sparse, strict=True):
        np.testing.assert_array_equal(one, other)
