"""Analysis 2: which share of the synthetic records gives away a true level?

The attack: everybody in a cell is taken for the class that most synthetic records of it show.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthesizer.data.table import BoolArray
from synthesizer.risk.public.cells import Cells
from synthesizer.risk.public.chance import revealed_by_chance

__all__ = ["Classification", "classification"]


@dataclass(frozen=True)
class Classification:
    """Synthetic records that reveal a true level, as a share of all synthetic records.

    A cell reveals as many levels as it has synthetic records (the mean over the datasets where
    there are several), but no more than original records of its class. Cells that the original
    lacks reveal nothing and count.

    The share is meant for synthetic datasets with as many records as the original. Smaller ones
    have a larger share, since a cell with few synthetic records is rarely limited by the original
    ones of its class (half a copy of the original has a larger share than the copy); larger ones
    have a smaller share, since what one record has revealed the next one cannot (k copies stacked
    as one dataset come down to about one kth). ``chance`` moves with it, ``original`` does not.

    Parameters
    ----------
    n : int
        Number of synthetic records in all datasets.
    synthetic_only : int
        Those of them in cells that the original lacks.
    revealed : float
        Share with the class of each cell.
    chance : float
        Expected share when the classes are kept and the true level of every original record is
        drawn from the distribution of all of them.
    baseline : float
        Share when every cell gets the level that is most frequent in the original: what published
        margins reveal.
    original : float
        Share when the original is its own synthetic copy.
    """

    n: int
    synthetic_only: int
    revealed: float
    chance: float
    baseline: float
    original: float


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
        chance=revealed_by_chance(cells, shown),
        baseline=_revealed(cells, pairs.level == most_frequent) / n,
        original=int(cells.ours[pairs.level == known[pairs.cell]].sum()) / cells.n,
    )


def _revealed(cells: Cells, of_class: BoolArray) -> int:
    # min(synthetic / m, original) with whole numbers: both are multiplied by m.
    visible = cells.cell_theirs[cells.pairs.cell[of_class]]
    return int(np.minimum(visible, cells.m * cells.ours[of_class]).sum())
