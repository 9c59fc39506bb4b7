"""Cells: records counted by public variables and by the level of the sensitive one.

A cell is a combination of the public variables that occurs in the original or in the synthetic
data. A pair is a cell with a level of the sensitive variable that occurs in it, in either. There
are at most as many pairs as records, however many cells and levels there are.

Analyses 1 to 3 of `inference`: what unique cells show, which true levels cells give away, and
whether a reader can tell which cells to believe. Cells are small or large, and their classes are
near or far from the truth; the more their sizes scatter, the less a reader can tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from pydantic import Field

from synthesizer.data.codes import Codes, ColumnCoder, Dictionary, Groups, JointCoder
from synthesizer.data.table import BoolArray, Column, FloatArray, Kind, Table
from synthesizer.measures.figure import Result, Row, column, nested
from synthesizer.measures.risk.comparable import GroupsOf, date_text, fixed_groups, stacked_columns
from synthesizer.measures.risk.tcap import agreement

MAX_LEVELS = 100
"""More levels than this are no classes to guess; every level also has a ROC curve of its own."""
BANDS = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
"""Upper ends of the six bands of the difference between proportions; an end is in its band."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def level_codes(column: Column, groups: Groups | None = None) -> tuple[tuple[str, ...], Codes]:
    """Return the labels of the levels that occur, and the number of each record's level.

    Missing codes are levels.
    """
    coder = ColumnCoder.fit(column, groups)
    codes = coder.encode(column)
    occurs = np.bincount(codes, minlength=coder.size) > 0
    number = np.cumsum(occurs) - 1
    is_date = column.variable.kind is Kind.DATE
    labels = tuple(_label(coder, int(code), is_date) for code in np.flatnonzero(occurs))
    return labels, number[codes]


def number_of_levels(column: Column, groups: Groups | None = None) -> int:
    """Return how many levels occur, without naming them (numbers may have very many)."""
    return len(np.unique(ColumnCoder.fit(column, groups).encode(column)))


def label_of(level: str | float) -> str:
    """Return the label that a level given as a text, a number or a truth value has."""
    if isinstance(level, str):
        return level
    return str(level).lower() if isinstance(level, bool) else format(level, ".15g")


def _label(coder: ColumnCoder, code: int, is_date: bool) -> str:
    numbers = coder.size - len(coder.labels)
    if code >= numbers:
        return coder.labels[code - numbers]
    if coder.values is not None:
        return _number(float(coder.values[code]), is_date)
    ends = [-np.inf, *(coder.cuts if coder.cuts is not None else ()), np.inf]
    low, high = (_number(float(end), is_date) for end in ends[code : code + 2])
    return f"[{low}, {high})"


def _number(value: float, is_date: bool) -> str:
    if not is_date or not np.isfinite(value):
        return format(value, ".15g")
    return date_text(value)


class Pairs:
    """Numbers the pairs of cell and level that occur, sorted by level and then by cell."""

    def __init__(self, cells: Codes, levels: Codes, n_cells: int, n_levels: int) -> None:
        joint = levels * n_cells + cells
        numbers = Dictionary(joint, n_cells * n_levels)
        self.n_cells, self.n_levels, self.size = n_cells, n_levels, len(numbers)
        self.of_record = numbers.find(joint)
        self.cell = np.empty(self.size, dtype=np.int64)
        self.level = np.empty(self.size, dtype=np.int64)
        self.cell[self.of_record], self.level[self.of_record] = cells, levels
        self._starts = np.searchsorted(self.level, np.arange(n_levels + 1))

    def of_level(self, level: int) -> slice:
        """Return where the pairs of one level are."""
        return slice(int(self._starts[level]), int(self._starts[level + 1]))

    def per_cell(self, counts: Codes) -> Codes:
        """Add up counts of pairs by cell, shape (n_cells,)."""
        # Sums of whole numbers below 2**53 are exact in floating point.
        return np.bincount(self.cell, weights=counts, minlength=self.n_cells).astype(np.int64)

    def majority(self, counts: Codes, preference: Sequence[int]) -> Codes:
        """Return the level with the largest count in each cell, -1 where all counts are zero.

        Of equal counts the level that comes first in ``preference`` wins.
        """
        best = np.zeros(self.n_cells, dtype=np.int64)
        chosen = np.full(self.n_cells, -1, dtype=np.int64)
        for level in preference:
            at_level = self.of_level(level)
            larger = counts[at_level] > best[self.cell[at_level]]
            cells = self.cell[at_level][larger]
            best[cells] = counts[at_level][larger]
            chosen[cells] = level
        return chosen


@dataclass(frozen=True, eq=False)
class PublicCells:
    """Counts of original and of pooled synthetic records by cell and by pair."""

    levels: tuple[str, ...]
    """Levels of the sensitive variable that occur, in either."""
    positive: int | None
    """The class whose proportion is looked at; None where there are more than two levels and none
    was named."""
    preference: tuple[int, ...]
    """Levels in the order that decides ties."""
    marginal: FloatArray
    """Share of each level in the original, shape (levels,)."""
    m: int
    """Number of synthetic datasets."""
    cell_of_original: Codes
    """Cell of each original record, shape (n,)."""
    pairs: Pairs
    """Of all records; the n original ones come first."""
    original_by_pair: Codes
    """Original records by pair."""
    synthetic_by_pair: Codes
    """Synthetic records by pair."""
    original_by_cell: Codes
    """Original records by cell."""
    synthetic_by_cell: Codes
    """Synthetic records by cell."""

    @property
    def n(self) -> int:
        """Number of original records."""
        return len(self.cell_of_original)

    @property
    def n_synthetic(self) -> int:
        """Number of synthetic records in all datasets."""
        return int(self.synthetic_by_cell.sum())

    @property
    def pair_of_original(self) -> Codes:
        """Pair of each original record, shape (n,)."""
        return self.pairs.of_record[: self.n]


def count_cells(
    original: Table,
    synthetic: Sequence[Table],
    *,
    sensitive: str,
    public: Sequence[str],
    positive: str | float | None = None,
    groups: GroupsOf = None,
) -> PublicCells:
    """Count records by cell and level; see `inference` for the parameters."""
    # Quantiles are those of the original alone.
    cuts = fixed_groups(original, groups)
    tables = [original, *synthetic]
    together = Table([stacked_columns([table[name] for table in tables]) for name in public])
    cells = JointCoder(together, public, cuts)
    sensitive_column = stacked_columns([table[sensitive] for table in tables])
    levels, level = level_codes(sensitive_column, cuts.get(sensitive))
    pairs = Pairs(cells.codes, level, cells.size, len(levels))
    n = original.n_rows
    original_by_pair = np.bincount(pairs.of_record[:n], minlength=pairs.size)
    synthetic_by_pair = np.bincount(pairs.of_record[n:], minlength=pairs.size)
    of_level = np.bincount(level[:n], minlength=len(levels))
    preference = np.argsort(-of_level, kind="stable").tolist()
    chosen = None if positive is None else levels.index(label_of(positive))
    if len(levels) == 2:
        chosen = preference[0] if chosen is None else chosen
        preference = [chosen, 1 - chosen]
    return PublicCells(
        levels=levels,
        positive=chosen,
        preference=tuple(preference),
        marginal=of_level / n,
        m=len(synthetic),
        cell_of_original=cells.codes[:n],
        pairs=pairs,
        original_by_pair=original_by_pair,
        synthetic_by_pair=synthetic_by_pair,
        original_by_cell=pairs.per_cell(original_by_pair),
        synthetic_by_cell=pairs.per_cell(synthetic_by_pair),
    )


class CellUniqueness(Result):
    """Combinations of public values, and what the synthetic data show of them.

    Analysis 1: cells of the original, of one person above all.
    """

    cells: int = column("combinations of public values in the original", "count")
    synthetic_only: int = column("combinations that only the synthetic data have", "count")
    absent: int = column("combinations of the original that the synthetic data lack", "count")
    absent_share: float = column("their share of the combinations of the original", "share")
    absent_mean: float | None = column("mean number of persons in one of them", "number")
    uniques: int = column("persons with a combination of their own", "count")
    present: int = column("of these, shown by the synthetic data", "count")
    right: float | None
    """Of the present ones, the share whose level is the most frequent one of the synthetic cell
    (ties as in the classification rule): the report's figure."""
    right_expected: float | None = column(
        "chance that one of the synthetic records with it shows the truth",
        "share",
        "mean share of the true level among the synthetic records of the cell",
    )
    once: int = column("shown by one synthetic record only", "count")
    right_once: float | None = column("share of these whose record shows the truth", "share")
    chance: float | None
    """Share right if guessed and true levels, as often as they are, had nothing to do with each
    other."""
    counts: tuple[tuple[int, int], ...]
    """Number of records in a cell, and number of original cells with that many."""


def uniqueness(cells: PublicCells) -> CellUniqueness:
    """Return analysis 1."""
    original_by_pair, synthetic_by_pair = cells.original_by_cell, cells.synthetic_by_cell
    present, absent = original_by_pair > 0, (original_by_pair > 0) & (synthetic_by_pair == 0)
    # The one pair of a unique cell that the original has holds the true level.
    unique = (cells.original_by_pair == 1) & (original_by_pair[cells.pairs.cell] == 1)
    pair = np.flatnonzero(unique & (synthetic_by_pair[cells.pairs.cell] > 0))
    cell, truth = cells.pairs.cell[pair], cells.pairs.level[pair]
    guess = cells.pairs.majority(cells.synthetic_by_pair, cells.preference)[cell]
    share, once = (
        cells.synthetic_by_pair[pair] / synthetic_by_pair[cell],
        synthetic_by_pair[cell] == 1,
    )
    distinct, number = np.unique(original_by_pair[present], return_counts=True)
    return CellUniqueness(
        cells=int(present.sum()),
        synthetic_only=int((~present).sum()),
        absent=int(absent.sum()),
        absent_share=float(absent.sum() / present.sum()),
        absent_mean=float(original_by_pair[absent].mean()) if absent.any() else None,
        uniques=int(unique.sum()),
        present=len(pair),
        right=float((guess == truth).mean()) if len(pair) else None,
        right_expected=float(share.mean()) if len(pair) else None,
        once=int(once.sum()),
        right_once=float(share[once].mean()) if once.any() else None,
        chance=agreement(*(np.bincount(at, minlength=len(cells.levels)) for at in (truth, guess))),
        counts=tuple(zip(distinct.tolist(), number.tolist(), strict=True)),
    )


class CellSpread(Row):
    """A number over cells."""

    mean: float = column("mean", "number")
    sd: float | None = column("SD", "number", "None for one value")
    quantiles: tuple[float, ...]
    """The `QUANTILES`."""


class BandRow(Row):
    """Cells whose difference of proportions and whose number of original records are alike."""

    band_low: float = column("Off from", "number", "in the band only where it is 0")
    band_high: float = column("Off to", "number")
    size_low: int = column("Fewest persons", "count", "of the original, in a cell")
    size_high: int = column("Most persons", "count")
    cells: int = column("Combinations", "count", "at least 1")
    difference: CellSpread = nested("Difference in size")
    """Share of the synthetic records in the cell minus share of the original ones."""
    relative: CellSpread = nested("As a share")
    """The same as a share of the latter; -1 or more."""


class Differences(Result):
    """Differences in size of the combinations that both sides have, by that of their proportions.

    The difference of proportions is that of the positive class in absolute value, or, where there
    are more than two levels and none was named positive, half the sum over the levels (total
    variation; the same for two).
    """

    cells: int = column("combinations that both sides have", "count")
    original_only: int = column("left out, since the synthetic data lack them", "count")
    synthetic_only: int = column("left out, since the original lacks them", "count")
    marginal: float | None
    """Proportion of the positive class in the original."""
    own_proportion: tuple[BandRow, ...] = Field(
        description="Sizes of combinations by distance from the original's proportions: share of "
        "the synthetic records minus share of the original ones, and as a share of the latter"
    )
    """Synthetic against original proportion of the cell (figure 2)."""
    marginal_proportion: tuple[BandRow, ...] = Field(
        description="The same by distance from the proportions of everybody"
    )
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


def differences(cells: PublicCells) -> Differences:
    """Return analysis 3."""
    present, shown = cells.original_by_cell > 0, cells.synthetic_by_cell > 0
    both = present & shown
    original = cells.original_by_cell[both] / cells.n
    difference = cells.synthetic_by_cell[both] / cells.n_synthetic - original
    values = np.stack([difference, difference / original])
    to_original, to_all = (
        tuple(_rows(d, cells.original_by_cell[both], values)) for d in _distances(cells, both)
    )
    return Differences(
        cells=int(both.sum()),
        original_only=int((present & ~shown).sum()),
        synthetic_only=int((~present & shown).sum()),
        marginal=None if cells.positive is None else float(cells.marginal[cells.positive]),
        own_proportion=to_original,
        marginal_proportion=to_all,
    )


def _distances(cells: PublicCells, both: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return how far synthetic proportions are from own and from marginal ones, by cell."""
    pairs, compared = cells.pairs, both[cells.pairs.cell]
    if cells.positive is not None:
        compared = compared & (pairs.level == cells.positive)
    cell, share = pairs.cell[compared], cells.marginal[pairs.level[compared]]
    synthetic_by_pair = cells.synthetic_by_pair[compared] / cells.synthetic_by_cell[cell]
    of_cell = np.abs(
        synthetic_by_pair - cells.original_by_pair[compared] / cells.original_by_cell[cell]
    )
    # Levels that no record of a cell has are no pairs: their proportion there is 0.
    all_levels = 1.0 if cells.positive is None else float(cells.marginal[cells.positive])
    marginal = np.abs(synthetic_by_pair - share) - share
    scale = 0.5 if cells.positive is None else 1.0
    own_sum, marginal_sum = (
        np.bincount(cell, weights=distances, minlength=pairs.n_cells)[both].astype(np.float64)
        for distances in (of_cell, marginal)
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


def _distribution(values: FloatArray) -> CellSpread:
    return CellSpread(
        mean=float(values.mean()),
        sd=float(values.std(ddof=1)) if len(values) > 1 else None,
        quantiles=tuple(np.quantile(values, QUANTILES).tolist()),
    )


def classification(cells: PublicCells) -> Classification:
    """Return analysis 2."""
    pairs, n = cells.pairs, cells.n_synthetic
    most_frequent = int(cells.marginal.argmax())
    shown = pairs.majority(cells.synthetic_by_pair, cells.preference)
    majority = pairs.majority(cells.original_by_pair, cells.preference)
    return Classification(
        n=n,
        synthetic_only=int(cells.synthetic_by_cell[cells.original_by_cell == 0].sum()),
        revealed=_revealed(cells, pairs.level == shown[pairs.cell]) / n,
        chance=_by_chance(cells, shown),
        baseline=_revealed(cells, pairs.level == most_frequent) / n,
        original=int(cells.original_by_pair[pairs.level == majority[pairs.cell]].sum()) / cells.n,
    )


def _revealed(cells: PublicCells, of_class: BoolArray) -> int:
    # min(synthetic / m, original) with whole numbers: both are multiplied by m.
    visible = cells.synthetic_by_cell[cells.pairs.cell[of_class]]
    return int(np.minimum(visible, cells.m * cells.original_by_pair[of_class]).sum())


def _by_chance(cells: PublicCells, guess: Codes) -> float:
    """Return the expected share of synthetic records that give away a true level.

    The guesses are kept; the true level of every original record is drawn from the distribution
    of all of them, so that a cell with n of them has X ~ Bin(n, p) of the guessed level, and with
    c synthetic records reveals E min(c, X) = n p P(Y + 1 <= c) + c P(X > c), Y ~ Bin(n - 1, p).
    Where true levels in fact follow the cells, synthetic levels at random reveal a little less
    than this: cells with fewer synthetic records than original ones cannot make up for others.
    """
    shown, original_by_pair, p = (
        cells.synthetic_by_cell,
        cells.original_by_cell,
        cells.marginal[guess],
    )
    expected = cells.m * original_by_pair * p
    # Only where a cell has fewer synthetic records (on average) than original ones do they limit.
    few = shown < cells.m * original_by_pair
    shown, original_by_pair, p = shown[few], original_by_pair[few], p[few]
    whole = shown // cells.m
    below = scipy.stats.binom.cdf(whole - 1, original_by_pair - 1, p)
    expected[few] = expected[few] * below + shown * scipy.stats.binom.sf(whole, original_by_pair, p)
    return float(expected.sum()) / cells.n_synthetic
