"""Cells: counts of records by public variables and by the level of the sensitive variable.

A cell is a combination of public values that occurs in the original or in the synthetic data. A
pair is a cell with a level of the sensitive variable that occurs in it. There are at most as many
pairs as records.

Analyses 1 to 3 of `inference`: what unique cells reveal, which true levels cells reveal, and
whether the sizes of cells show which of them are near the truth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from synthesizer.data.codes import Codes, ColumnCoder, Dictionary, Groups, JointCoder
from synthesizer.data.table import BoolArray, Column, FloatArray, Kind, Table
from synthesizer.measures.figure import Result, Row, column, nested
from synthesizer.measures.risk.comparable import (
    GroupsOf,
    at_least,
    date_text,
    fixed_groups,
    stacked_columns,
)
from synthesizer.measures.risk.tcap import agreement

MAX_LEVELS = 100
"""Largest number of levels of a sensitive variable; each has a ROC curve."""
BANDS = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
"""Upper ends (included) of the six bands of differences between proportions."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def level_codes(column: Column, groups: Groups | None = None) -> tuple[tuple[str, ...], Codes]:
    """Return the labels of the levels that occur, and the code of each record.

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
    """Return the number of levels that occur, without their labels."""
    return len(np.unique(ColumnCoder.fit(column, groups).encode(column)))


def label_of(level: str | float) -> str:
    """Return the label of a level that is a text, a number or a truth value."""
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
    """Codes of the pairs of cell and level that occur, sorted by level and then by cell."""

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
        """Return the slice of the pairs of one level."""
        return slice(int(self._starts[level]), int(self._starts[level + 1]))

    def per_cell(self, counts: Codes) -> Codes:
        """Return the counts by cell, shape (n_cells,)."""
        # Sums of whole numbers below 2**53 are exact in floating point.
        return np.bincount(self.cell, weights=counts, minlength=self.n_cells).astype(np.int64)

    def majority(self, counts: Codes, preference: Sequence[int]) -> Codes:
        """Return the level with the largest count in each cell, -1 if all counts are 0.

        Ties go to the level that comes first in ``preference``.
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
    """Levels of the sensitive variable that occur in either file."""
    positive: int | None
    """Level whose proportion is compared; None for more than two levels without a choice."""
    preference: tuple[int, ...]
    """Levels in the order for ties."""
    marginal: FloatArray
    """Share of each level in the original, shape (levels,)."""
    m: int
    """Number of synthetic datasets."""
    cell_of_original: Codes
    """Cell of each original record, shape (n,)."""
    pairs: Pairs
    """Pairs of all records, the n original ones first."""
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
    """Return the counts of records by cell and level; see `inference` for the parameters."""
    # Quantiles are those of the original.
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
    """Analysis 1: combinations of public values, above all those of one person."""

    cells: int = column("combinations of public values in the original", "count")
    synthetic_only: int = column("combinations that only the synthetic data have", "count")
    absent: int = column("combinations of the original that the synthetic data lack", "count")
    absent_share: float = column("their share of the combinations of the original", "share")
    absent_mean: float | None = column("mean number of persons in one of them", "number")
    uniques: int = column("persons with a unique combination", "count")
    present: int = column("of these, combinations in the synthetic data", "count")
    right: float | None
    """Share of the present ones whose level is the most frequent one of the synthetic cell (ties as
    in the classification rule)."""
    right_expected: float | None = column(
        "probability that a random synthetic record with it has the true level",
        "share",
        "mean share of the true level among the synthetic records of the cell",
    )
    once: int = column("in one synthetic record only", "count")
    right_once: float | None = column("share of these with the true level", "share")
    chance: float | None
    """Share right if guesses were independent of true levels."""
    counts: tuple[tuple[int, int], ...]
    """Sizes of cells, and number of original cells of each size."""


def uniqueness(cells: PublicCells) -> CellUniqueness:
    """Return analysis 1."""
    original_by_pair, synthetic_by_pair = cells.original_by_cell, cells.synthetic_by_cell
    present, absent = original_by_pair > 0, (original_by_pair > 0) & (synthetic_by_pair == 0)
    # The only original pair of a unique cell has the true level.
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
    """Distribution of a number over cells."""

    mean: float = column("mean", "number")
    sd: float | None = column("SD", "number", "None for one value")
    quantiles: tuple[float, ...]
    """The `QUANTILES`."""


class BandRow(Row):
    """Cells of one band of differences of proportions and one class of sizes."""

    band_low: float = column("Difference from", "number", "included only if it is 0")
    band_high: float = column("Difference to", "number")
    size_low: int = column("Fewest persons", "count", "of the original, in a cell")
    size_high: int = column("Most persons", "count")
    cells: int = column("Combinations", "count", "at least 1")
    difference: CellSpread = nested("Difference in size")
    """Share of the synthetic records in the cell minus share of the original ones."""
    relative: CellSpread = nested("As a share")
    """The difference divided by the original share; -1 or more."""


class Differences(Result):
    """Analysis 3: differences in size of the combinations of both files, by their proportions.

    The difference of proportions is the absolute difference for the positive level, or, for more
    than two levels without a choice, the total variation distance (equal for two levels).
    """

    cells: int = column("combinations that both files have", "count")
    original_only: int = column("left out, since the synthetic data lack them", "count")
    synthetic_only: int = column("left out, since the original lacks them", "count")
    marginal: float | None
    """Proportion of the positive class in the original."""
    own_proportion: tuple[BandRow, ...] = Field(
        description="Sizes of combinations by distance from their original proportions: share of "
        "the synthetic records minus share of the original ones, and relative to the latter"
    )
    """Synthetic against original proportion of the cell (figure 2)."""
    marginal_proportion: tuple[BandRow, ...] = Field(
        description="Sizes of combinations by distance from the proportions of all persons"
    )
    """Synthetic proportion of the cell against that of all original records (figure 3)."""


class Classification(Result):
    """Analysis 2: share of the synthetic records that reveal a true level.

    Each cell is classified by its most frequent synthetic level. It reveals as many levels as it
    has synthetic records (mean over the datasets), but at most as many as it has original records
    of this level. Cells that the original lacks reveal none and count in the denominator.

    The share is comparable for datasets of the original's size only. Smaller datasets have a larger
    share, since the number of original records limits a small cell rarely. Larger ones have a
    smaller share, since each true level is revealed once (k stacked copies: about one kth).
    ``chance`` changes with it, ``original`` does not.
    """

    n: int
    """Number of synthetic records in all datasets."""
    synthetic_only: int
    """Number of them in cells that the original lacks."""
    revealed: float
    """Share with the level of each cell."""
    chance: float
    """Expected share if true levels were drawn from the overall distribution, given the levels of
    cells."""
    baseline: float
    """Share if each cell gets the most frequent level of the original, from published margins."""
    original: float
    """Share of releasing the original."""


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
    """Return the distances of synthetic from original proportions of cell and file, by cell."""
    pairs, compared = cells.pairs, both[cells.pairs.cell]
    if cells.positive is not None:
        compared = compared & (pairs.level == cells.positive)
    cell, share = pairs.cell[compared], cells.marginal[pairs.level[compared]]
    synthetic_by_pair = cells.synthetic_by_pair[compared] / cells.synthetic_by_cell[cell]
    of_cell = np.abs(
        synthetic_by_pair - cells.original_by_pair[compared] / cells.original_by_cell[cell]
    )
    # Levels that do not occur in a cell have a proportion of 0.
    all_levels = 1.0 if cells.positive is None else float(cells.marginal[cells.positive])
    marginal = np.abs(synthetic_by_pair - share) - share
    scale = 0.5 if cells.positive is None else 1.0
    own_sum, marginal_sum = (
        np.bincount(cell, weights=distances, minlength=pairs.n_cells)[both].astype(np.float64)
        for distances in (of_cell, marginal)
    )
    return scale * own_sum, scale * (marginal_sum + all_levels)


def _rows(distance: FloatArray, size: Codes, values: FloatArray) -> Iterator[BandRow]:
    """Yield a row for each band and class of sizes with cells; ``values`` has shape (2, cells)."""
    if not len(size):
        return
    # Rounding puts 0.6 - 0.5 into the band that ends at 0.1.
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
    """Return the lower ends of the classes of sizes, two per power of ten: 1, 4, 10, 32, 100."""
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
    """Return the expected share of synthetic records that reveal a true level by chance.

    True levels are drawn from the overall distribution, given the guesses. A cell with n original
    records then has X ~ Bin(n, p) of the guessed level, and with c synthetic records it reveals
    E min(c, X) = n p P(Y + 1 <= c) + c P(X > c), Y ~ Bin(n - 1, p). If true levels depend on the
    cells, random synthetic levels reveal a little less.
    """
    shown, original_by_pair, p = (
        cells.synthetic_by_cell,
        cells.original_by_cell,
        cells.marginal[guess],
    )
    expected = cells.m * original_by_pair * p
    # The minimum matters only in cells with fewer synthetic than original records.
    few = shown < cells.m * original_by_pair
    shown, original_by_pair, p = shown[few], original_by_pair[few], p[few]
    whole = shown // cells.m
    below = 1 - at_least(whole, original_by_pair - 1, p)
    expected[few] = expected[few] * below + shown * at_least(whole + 1, original_by_pair, p)
    return float(expected.sum()) / cells.n_synthetic
