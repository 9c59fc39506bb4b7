"""Analysis 1: do cells of one person survive the synthesis, and do they show the person's level?

The attack: list the combinations of public variables that only one person has, look each up in
the synthetic data, and believe what is found there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthesizer.risk.agreement import agreement
from synthesizer.risk.public.cells import Cells

__all__ = ["CellUniqueness", "uniqueness"]


@dataclass(frozen=True)
class CellUniqueness:
    """Cells of the original and what the synthetic data show of them.

    Parameters
    ----------
    cells, synthetic_only : int
        Cells of the original, and cells that only the synthetic data have.
    absent, absent_share : int, float
        Cells of the original that the synthetic data lack.
    absent_mean : float or None
        Mean number of original records in them.
    uniques, present : int
        Original cells with one record, and those of them that the synthetic data show.
    right : float or None
        Of the present ones, the share whose level is the most frequent one of the synthetic cell
        (ties as in the classification rule): the report's figure.
    right_expected : float or None
        Mean share of the true level among the synthetic records of the cell: the chance that one
        of them, taken at random, shows it.
    once, right_once : int, float or None
        Of the present ones, those that one synthetic record shows, and the share of these whose
        record has the true level.
    chance : float or None
        Share right if guessed and true levels, as often as they are, had nothing to do with each
        other.
    counts : tuple of (int, int)
        Number of records in a cell, and number of original cells with that many.
    """

    cells: int
    synthetic_only: int
    absent: int
    absent_share: float
    absent_mean: float | None
    uniques: int
    present: int
    right: float | None
    right_expected: float | None
    once: int
    right_once: float | None
    chance: float | None
    counts: tuple[tuple[int, int], ...]


def uniqueness(cells: Cells) -> CellUniqueness:
    """Return analysis 1."""
    ours, theirs = cells.cell_ours, cells.cell_theirs
    known, absent = ours > 0, (ours > 0) & (theirs == 0)
    # The one pair of a unique cell that the original has holds the true level.
    unique = (cells.ours == 1) & (ours[cells.pairs.cell] == 1)
    pair = np.flatnonzero(unique & (theirs[cells.pairs.cell] > 0))
    cell, truth = cells.pairs.cell[pair], cells.pairs.level[pair]
    guess = cells.pairs.majority(cells.theirs, cells.preference)[cell]
    share, once = cells.theirs[pair] / theirs[cell], theirs[cell] == 1
    distinct, number = np.unique(ours[known], return_counts=True)
    return CellUniqueness(
        cells=int(known.sum()),
        synthetic_only=int((~known).sum()),
        absent=int(absent.sum()),
        absent_share=float(absent.sum() / known.sum()),
        absent_mean=float(ours[absent].mean()) if absent.any() else None,
        uniques=int(unique.sum()),
        present=len(pair),
        right=float((guess == truth).mean()) if len(pair) else None,
        right_expected=float(share.mean()) if len(pair) else None,
        once=int(once.sum()),
        right_once=float(share[once].mean()) if once.any() else None,
        chance=agreement(*(np.bincount(at, minlength=len(cells.levels)) for at in (truth, guess))),
        counts=tuple(zip(distinct.tolist(), number.tolist(), strict=True)),
    )
