"""Cells: records counted by public variables and by the level of the sensitive one.

A cell is a combination of the public variables that occurs in the original or in the synthetic
data. A pair is a cell with a level of the sensitive variable that occurs in it, in either. There
are at most as many pairs as records, however many cells and levels there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from synthesizer.data.codes import Codes, Dictionary, Groups, JointCoder, cut_points
from synthesizer.data.table import FloatArray, Table
from synthesizer.risk.public.levels import label_of, level_codes, stacked

__all__ = ["Cells", "Pairs", "count_cells"]


class Pairs:
    """Numbers the pairs of cell and level that occur, sorted by level and then by cell.

    Parameters
    ----------
    cells, levels : ndarray of int, shape (n,)
        Of each record.
    n_cells, n_levels : int
        Their numbers.

    Examples
    --------
    >>> pairs = Pairs(np.array([0, 1, 1, 1]), np.array([1, 0, 1, 1]), n_cells=2, n_levels=2)
    >>> pairs.of_record.tolist(), pairs.cell.tolist(), pairs.level.tolist()
    ([1, 0, 2, 2], [1, 0, 1], [0, 1, 1])
    >>> counts = np.bincount(pairs.of_record)
    >>> pairs.majority(counts, preference=[0, 1]).tolist()
    [1, 1]
    """

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
            part = self.of_level(level)
            larger = counts[part] > best[self.cell[part]]
            cells = self.cell[part][larger]
            best[cells] = counts[part][larger]
            chosen[cells] = level
        return chosen


@dataclass(frozen=True, eq=False)
class Cells:
    """Counts of original and of pooled synthetic records by cell and by pair.

    Parameters
    ----------
    levels : tuple of str
        Levels of the sensitive variable that occur, in either.
    positive : int or None
        The class whose proportion is looked at; None where there are more than two levels and
        none was named.
    preference : tuple of int
        Levels in the order that decides ties.
    marginal : ndarray of float, shape (levels,)
        Share of each level in the original.
    m : int
        Number of synthetic datasets.
    cell_of_original : ndarray of int, shape (n,)
        Cell of each original record.
    pairs : Pairs
        Of all records; the n original ones come first.
    ours, theirs : ndarray of int, shape (pairs,)
        Original and synthetic records.
    cell_ours, cell_theirs : ndarray of int, shape (cells,)
        Original and synthetic records.
    """

    levels: tuple[str, ...]
    positive: int | None
    preference: tuple[int, ...]
    marginal: FloatArray
    m: int
    cell_of_original: Codes
    pairs: Pairs
    ours: Codes
    theirs: Codes
    cell_ours: Codes
    cell_theirs: Codes

    @property
    def n(self) -> int:
        """Number of original records."""
        return len(self.cell_of_original)

    @property
    def n_synthetic(self) -> int:
        """Number of synthetic records in all datasets."""
        return int(self.cell_theirs.sum())

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
    groups: Mapping[str, Groups] | None = None,
) -> Cells:
    """Count records by cell and level; see `inference` for the parameters."""
    # Quantiles are those of the original alone.
    cuts: dict[str, Groups] = {
        name: tuple(cut_points(original[name], wanted).tolist())
        for name, wanted in (groups or {}).items()
    }
    tables = [original, *synthetic]
    together = Table([stacked([table[name] for table in tables]) for name in public])
    cells = JointCoder(together, public, cuts)
    levels, level = level_codes(
        stacked([table[sensitive] for table in tables]), cuts.get(sensitive)
    )
    pairs = Pairs(cells.codes, level, cells.size, len(levels))
    n = original.n_rows
    ours = np.bincount(pairs.of_record[:n], minlength=pairs.size)
    theirs = np.bincount(pairs.of_record[n:], minlength=pairs.size)
    of_level = np.bincount(level[:n], minlength=len(levels))
    chosen = _positive(levels, positive, of_level)
    return Cells(
        levels=levels,
        positive=chosen,
        preference=_preference(of_level, chosen),
        marginal=of_level / n,
        m=len(synthetic),
        cell_of_original=cells.codes[:n],
        pairs=pairs,
        ours=ours,
        theirs=theirs,
        cell_ours=pairs.per_cell(ours),
        cell_theirs=pairs.per_cell(theirs),
    )


def _positive(levels: tuple[str, ...], positive: str | float | None, of_level: Codes) -> int | None:
    """Return the named class; of two levels the more frequent one where none was named."""
    if positive is not None:
        return levels.index(label_of(positive))
    return int(of_level.argmax()) if len(levels) == 2 else None


def _preference(of_level: Codes, positive: int | None) -> tuple[int, ...]:
    order = np.argsort(-of_level, kind="stable").tolist()
    if len(order) == 2 and positive is not None:
        return (positive, 1 - positive)
    return tuple(order)
