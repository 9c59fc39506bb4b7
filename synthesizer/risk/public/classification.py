"""Analysis 2: which share of the synthetic records gives away a true level?

The attack: everybody in a cell is taken for the class that most synthetic records of it show.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthesizer.data.codes import Codes
from synthesizer.data.table import BoolArray
from synthesizer.risk.public.cells import Cells

__all__ = ["Classification", "classification"]


@dataclass(frozen=True)
class Classification:
    """Synthetic records that reveal a true level, as a share of all synthetic records.

    A cell reveals as many levels as it has synthetic records (the mean over the datasets where
    there are several), but no more than original records of its class. Cells that the original
    lacks reveal nothing and count.

    Parameters
    ----------
    n : int
        Number of synthetic records in all datasets.
    synthetic_only : int
        Those of them in cells that the original lacks.
    revealed : float
        Share with the class of each cell.
    baseline : float
        Share when every cell gets the level that is most frequent in the original.
    original : float
        Share when the original is its own synthetic copy.
    """

    n: int
    synthetic_only: int
    revealed: float
    baseline: float
    original: float


def classification(cells: Cells) -> Classification:
    """Return analysis 2."""
    pairs, n = cells.pairs, cells.n_synthetic
    most_frequent = int(cells.marginal.argmax())
    return Classification(
        n=n,
        synthetic_only=int(cells.cell_theirs[cells.cell_ours == 0].sum()),
        revealed=_revealed(cells, _of_class(cells, cells.theirs)) / n,
        baseline=_revealed(cells, pairs.level == most_frequent) / n,
        original=int(cells.ours[_of_class(cells, cells.ours)].sum()) / cells.n,
    )


def _of_class(cells: Cells, counts: Codes) -> BoolArray:
    """Return which pairs hold the class of their cell."""
    chosen = cells.pairs.majority(counts, cells.preference)
    return np.asarray(cells.pairs.level == chosen[cells.pairs.cell])


def _revealed(cells: Cells, of_class: BoolArray) -> int:
    # min(synthetic / m, original) with whole numbers: both are multiplied by m.
    visible = cells.cell_theirs[cells.pairs.cell[of_class]]
    return int(np.minimum(visible, cells.m * cells.ours[of_class]).sum())
