"""Combinations without records hardly occur in draws, even from larger leaves."""

from __future__ import annotations

import numpy as np
import pytest

from synthesizer.data.table import FloatArray, Table
from synthesizer.models.cart import Cart
from synthesizer.models.kit.regression_leaves import EXPECTED_ROWS, PSEUDO_ROWS, unseen_shares
from tests.tables import coded, numeric


def slow(counts: FloatArray, expected: FloatArray) -> list[float]:
    """Class by class."""
    unseen = [k for k in range(len(counts)) if counts[k] == 0]
    together = sum(expected[k] for k in unseen)
    once = any(0 < count < 2 for count in counts)
    factors = []
    for k in range(len(counts)):
        shares = [1.0]
        if k in unseen and expected[k] >= EXPECTED_ROWS:
            shares.append(PSEUDO_ROWS / expected[k])
        if k in unseen and together >= EXPECTED_ROWS and not once:
            shares.append(PSEUDO_ROWS / together)
        factors.append(min(shares))
    return factors


def test_what_is_left_of_unseen_classes() -> None:
    rng = np.random.default_rng(3)
    counts = rng.poisson(rng.gamma(0.4, 4.0, (60, 9))).astype(float)
    expected = rng.gamma(0.7, 6.0, (60, 9))
    shares = unseen_shares(counts, expected)
    assert shares.tolist() == [
        pytest.approx(slow(*row)) for row in zip(counts, expected, strict=True)
    ]
    assert 0 < (shares < 1).any(axis=1).sum() < len(shares)


RARE = 30  # rows, fewer than a leaf has


@pytest.mark.parametrize("kind", ["level", "number", "missing code"])
def test_rows_fewer_than_a_leaf_keep_the_one_value_that_they_share(kind: str) -> None:
    """The housing of 30 rows implies that they have no family; the tree cannot separate them."""
    n, rng = 1200, np.random.default_rng(4)
    is_rare = np.arange(n) < RARE
    sizes = np.where(is_rare, 0, rng.integers(0, 12, n))
    size = coded("size", sizes, "abcdefghijkl")
    values = np.where(is_rare, 0, rng.integers(1, 5, n))
    if kind == "level":
        housing = coded("housing", values, "vwxyz")
    elif kind == "number":
        housing = numeric("housing", values)
    else:
        lost = np.where(is_rare, np.nan, values)
        housing = numeric("housing", lost, is_rare.astype(np.int8), missing=("N",))
    fitted = Cart().fit(Table([housing]), size, rng=rng)
    rows = np.tile(np.arange(RARE), 30)
    drawn = fitted.sample(Table([housing.take(rows)]), rng=rng)
    assert (drawn.data != 0).mean() < 0.1
    others = fitted.sample(Table([housing.take(np.arange(RARE, n))]), rng=rng)
    assert abs((others.data == 0).mean() - (sizes[RARE:] == 0).mean()) < 0.03
