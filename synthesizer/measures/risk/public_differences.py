"""Inference, analyses 2 and 3: which true levels do cells give away, and can a reader tell which?

Cells are small or large, and their classes are near or far from the truth. The more their sizes
scatter, the less a reader can tell which cells to believe.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import stats

from synthesizer.data.codes import Codes
from synthesizer.data.table import BoolArray, FloatArray
from synthesizer.measures.figure import Result
from synthesizer.measures.risk.public_cells import Cells

BANDS = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
"""Upper ends of the six bands of the difference between proportions; an end is in its band."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


class Distribution(Result):
    """A number over cells."""

    mean: float
    """Mean."""
    sd: float | None
    """Standard deviation; None for one value."""
    quantiles: tuple[float, ...]
    """The `QUANTILES`."""


class BandRow(Result):
    """Cells whose difference of proportions and whose number of original records are alike."""

    band_low: float
    """Lower end of the difference; it is in the band only where it is 0."""
    band_high: float
    """Upper end."""
    size_low: int
    """Fewest original records."""
    size_high: int
    """Most original records."""
    cells: int
    """Number of cells, at least 1."""
    difference: Distribution
    """Share of the synthetic records in the cell minus share of the original ones."""
    relative: Distribution
    """The same as a share of the latter; -1 or more."""


class Differences(Result):
    """Differences in size of the cells that both sides have, by difference of their proportions.

    The difference of proportions is that of the positive class in absolute value, or, where there
    are more than two levels and none was named positive, half the sum over the levels (total
    variation; the same for two).
    """

    cells: int
    """Number of cells compared."""
    original_only: int
    """Cells left out since the synthetic data lack them."""
    synthetic_only: int
    """Cells left out since the original lacks them."""
    marginal: float | None
    """Proportion of the positive class in the original."""
    own_proportion: tuple[BandRow, ...]
    """Synthetic against original proportion of the cell (figure 2)."""
    marginal_proportion: tuple[BandRow, ...]
    """Synthetic proportion of the cell against that of all original records (figure 3)."""


class Classification(Result):
    """Synthetic records that reveal a true level, as a share of all synthetic records.

    A cell reveals as many levels as it has synthetic records (the mean over the datasets where
    there are several), but no more than original records of its class. Cells that the original
    lacks reveal nothing and count.

    The share is meant for synthetic datasets with as many records as the original. Smaller ones
    have a larger share, since a cell with few synthetic records is rarely limited by the original
    ones of its class (half a copy of the original has a larger share than the copy); larger ones
    have a smaller share, since what one record has revealed the next one cannot (k copies stacked
    as one dataset come down to about one kth). ``chance`` moves with it, ``original`` does not.
    """

    n: int
    """Number of synthetic records in all datasets."""
    synthetic_only: int
    """Those of them in cells that the original lacks."""
    revealed: float
    """Share with the class of each cell."""
    chance: float
    """Expected share when the classes are kept and the true level of every original record is
    drawn from the distribution of all of them."""
    baseline: float
    """Share when every cell gets the level that is most frequent in the original: what published
    margins reveal."""
    original: float
    """Share when the original is its own synthetic copy."""


def differences(cells: Cells) -> Differences:
    """Return analysis 3."""
    known, shown = cells.cell_ours > 0, cells.cell_theirs > 0
    both = known & shown
    original = cells.cell_ours[both] / cells.n
    difference = cells.cell_theirs[both] / cells.n_synthetic - original
    values = np.stack([difference, difference / original])
    to_original, to_all = (
        tuple(_rows(d, cells.cell_ours[both], values)) for d in _distances(cells, both)
    )
    return Differences(
        cells=int(both.sum()),
        original_only=int((known & ~shown).sum()),
        synthetic_only=int((~known & shown).sum()),
        marginal=None if cells.positive is None else float(cells.marginal[cells.positive]),
        own_proportion=to_original,
        marginal_proportion=to_all,
    )


def _distances(cells: Cells, both: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return how far synthetic proportions are from own and from marginal ones, by cell."""
    pairs, compared = cells.pairs, both[cells.pairs.cell]
    if cells.positive is not None:
        compared = compared & (pairs.level == cells.positive)
    cell, share = pairs.cell[compared], cells.marginal[pairs.level[compared]]
    theirs = cells.theirs[compared] / cells.cell_theirs[cell]
    own = np.abs(theirs - cells.ours[compared] / cells.cell_ours[cell])
    # Levels that no record of a cell has are no pairs: their proportion there is 0.
    all_levels = 1.0 if cells.positive is None else float(cells.marginal[cells.positive])
    marginal = np.abs(theirs - share) - share
    scale = 0.5 if cells.positive is None else 1.0
    own_sum, marginal_sum = (
        np.bincount(cell, weights=part, minlength=pairs.n_cells)[both].astype(np.float64)
        for part in (own, marginal)
    )
    return scale * own_sum, scale * (marginal_sum + all_levels)


def _rows(distance: FloatArray, size: Codes, values: FloatArray) -> Iterator[BandRow]:
    """Yield a row for each band and size class that has cells; ``values`` has shape (2, cells)."""
    if not len(size):
        return
    # Rounding keeps 0.6 - 0.5 in the band that ends at 0.1.
    bands = np.searchsorted(BANDS, np.round(distance, 12), side="left")
    edges = _size_edges(int(size.max()))
    groups = bands * len(edges) + np.searchsorted(edges, size, side="right") - 1
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    for start, end in zip(starts, [*starts[1:], len(order)], strict=True):
        band, size_class = divmod(int(groups[order[start]]), len(edges))
        difference, relative = values[:, order[start:end]]
        yield BandRow(
            band_low=(0.0, *BANDS)[band],
            band_high=BANDS[band],
            size_low=int(edges[size_class]),
            size_high=int(edges[size_class + 1]) - 1,
            cells=int(end - start),
            difference=_distribution(difference),
            relative=_distribution(relative),
        )


def _size_edges(largest: int) -> Codes:
    """Return the smallest sizes of the size classes, two to a power of ten: 1, 4, 10, 32, 100."""
    powers = np.arange(2 * np.log10(largest) + 3)
    return np.ceil(np.round(10 ** (powers / 2), 6)).astype(np.int64)


def _distribution(values: FloatArray) -> Distribution:
    return Distribution(
        mean=float(values.mean()),
        sd=float(values.std(ddof=1)) if len(values) > 1 else None,
        quantiles=tuple(np.quantile(values, QUANTILES).tolist()),
    )


def classification(cells: Cells) -> Classification:
    """Return analysis 2."""
    pairs, n = cells.pairs, cells.n_synthetic
    most_frequent = int(cells.marginal.argmax())
    shown = pairs.majority(cells.theirs, cells.preference)
    known = pairs.majority(cells.ours, cells.preference)
    return Classification(
        n=n,
        synthetic_only=int(cells.cell_theirs[cells.cell_ours == 0].sum()),
        revealed=_revealed(cells, pairs.level == shown[pairs.cell]) / n,
        chance=_by_chance(cells, shown),
        baseline=_revealed(cells, pairs.level == most_frequent) / n,
        original=int(cells.ours[pairs.level == known[pairs.cell]].sum()) / cells.n,
    )


def _revealed(cells: Cells, of_class: BoolArray) -> int:
    # min(synthetic / m, original) with whole numbers: both are multiplied by m.
    visible = cells.cell_theirs[cells.pairs.cell[of_class]]
    return int(np.minimum(visible, cells.m * cells.ours[of_class]).sum())


def _by_chance(cells: Cells, guess: Codes) -> float:
    """Return the expected share of synthetic records that give away a true level.

    The guesses are kept; the true level of every original record is drawn from the distribution
    of all of them, so that a cell with n of them has X ~ Bin(n, p) of the guessed level, and with
    c synthetic records reveals E min(c, X) = n p P(Y + 1 <= c) + c P(X > c), Y ~ Bin(n - 1, p).
    Where true levels in fact follow the cells, synthetic levels at random reveal a little less
    than this: cells with fewer synthetic records than original ones cannot make up for others.
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
