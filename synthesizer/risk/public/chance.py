"""What the analyses find by chance, where synthetic levels have nothing to do with true ones.

The combinations of public variables and their sizes stay as they are. Of a cell with one or two
synthetic records somebody's level is the only one shown quite often, though nobody looked: without
these numbers that reads as disclosure.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from synthesizer.data.codes import Codes
from synthesizer.risk.agreement import agreement
from synthesizer.risk.public.cells import Cells

__all__ = [
    "reaching_by_chance",
    "reaching_with_kept_shares",
    "revealed_by_chance",
    "right_by_chance",
]


def right_by_chance(cells: Cells, guess: Codes) -> float | None:
    """Return the expected share guessed right of the original records with a synthetic cell.

    Guessed and true levels are as frequent as they are, but independent of each other.

    Parameters
    ----------
    cells : Cells
        Counts of both sides.
    guess : ndarray of int, shape (cells,)
        Level that the synthetic records of each cell show most often, -1 where there are none.
    """
    shown, size = guess >= 0, len(cells.levels)
    guessed = _sums(guess[shown], cells.cell_ours[shown], size)
    use = shown[cells.pairs.cell]
    return agreement(guessed, _sums(cells.pairs.level[use], cells.ours[use], size))


def revealed_by_chance(cells: Cells, guess: Codes) -> float:
    """Return the expected share of synthetic records that give away a true level.

    The guesses are kept; the true level of every original record is drawn from the distribution
    of all of them, so that a cell with n of them has X ~ Bin(n, p) of the guessed level, and with
    c synthetic records reveals E min(c, X) = n p P(Y + 1 <= c) + c P(X > c), Y ~ Bin(n - 1, p).
    Where true levels in fact follow the cells, synthetic levels at random reveal a little less
    than this: cells with fewer synthetic records than original ones cannot make up for others.

    Parameters
    ----------
    cells : Cells
        Counts of both sides.
    guess : ndarray of int, shape (cells,)
        As in `right_by_chance`.
    """
    use = (cells.cell_theirs > 0) & (cells.cell_ours > 0)
    made, ours, p = cells.cell_theirs[use], cells.cell_ours[use], cells.marginal[guess[use]]
    expected = cells.m * ours * p
    # Only where a cell has fewer synthetic records (on average) than original ones do they limit.
    few = made < cells.m * ours
    made, ours, p = made[few], ours[few], p[few]
    whole = made // cells.m
    below = stats.binom.cdf(whole - 1, ours - 1, p)
    expected[few] = expected[few] * below + made * stats.binom.sf(whole, ours, p)
    return float(expected.sum()) / cells.n_synthetic


def reaching_by_chance(cells: Cells, thresholds: Sequence[float]) -> list[float]:
    """Return the expected shares of original records whose true level reaches a threshold.

    True levels are kept; the level of every synthetic record is drawn from the distribution of
    all of them, so that a cell with n of them has Bin(n, p) of a true level.

    Parameters
    ----------
    cells : Cells
        Counts of both sides.
    thresholds : sequence of float
        Shares of the true level among the synthetic records of the cell, in (0, 1].
    """
    pairs, size = cells.pairs, len(cells.levels)
    made = cells.cell_theirs[pairs.cell]
    use = (cells.ours > 0) & (made > 0)
    # Cells of the same size are alike: there are few sizes, however many cells.
    alike, position = np.unique(made[use] * size + pairs.level[use], return_inverse=True)
    records = np.bincount(position, weights=cells.ours[use], minlength=len(alike))
    n, level = np.divmod(alike, size)
    p = (_sums(pairs.level, cells.theirs, size) / cells.n_synthetic)[level]
    return [
        float(records @ stats.binom.sf(_fewest(n, threshold) - 1, n, p)) / cells.n
        for threshold in thresholds
    ]


def reaching_with_kept_shares(cells: Cells, thresholds: Sequence[float]) -> list[float]:
    """Return the expected shares of original records whose true level reaches a threshold.

    The synthetic records are kept; the true level of every original record is drawn from the
    distribution of all of them, as in `revealed_by_chance`.

    Parameters
    ----------
    cells : Cells
        Counts of both sides.
    thresholds : sequence of float
        As in `reaching_by_chance`.
    """
    pairs, shown = cells.pairs, cells.theirs > 0
    cell = pairs.cell[shown]
    share = cells.theirs[shown] / cells.cell_theirs[cell]
    expected = cells.cell_ours[cell] * cells.marginal[pairs.level[shown]]
    return [float(expected[share >= threshold].sum()) / cells.n for threshold in thresholds]


def _fewest(n: Codes, threshold: float) -> Codes:
    """Return the smallest k with k / n >= threshold as computers divide, shape of ``n``."""
    k = np.ceil(threshold * n)
    k -= (k - 1) / n >= threshold
    k += k / n < threshold
    return np.asarray(k, dtype=np.int64)


def _sums(levels: Codes, records: Codes, size: int) -> Codes:
    """Add up numbers of records by level, shape (size,)."""
    # Sums of whole numbers below 2**53 are exact in floating point.
    return np.bincount(levels, weights=records, minlength=size).astype(np.int64)
