"""Analysis 4: how well do synthetic proportions tell one class from the others?

The attack: everybody in a cell whose synthetic proportion of the class lies above some threshold
is taken for a member of it. The ROC curve has one point for every threshold that makes a
difference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthesizer.data.codes import Codes
from synthesizer.data.table import FloatArray
from synthesizer.risk.public.cells import Cells

__all__ = ["MAX_POINTS", "RocCurve", "Scored", "roc"]

MAX_POINTS = 1000


@dataclass(frozen=True)
class RocCurve:
    """The ROC curve of one class against all others.

    The records are the original ones in cells that the synthetic data have. Whatever needs
    members and non-members of the class among them is None where one kind is lacking.

    Parameters
    ----------
    level : str
        The class.
    positives, negatives : int
        Classified original records in the class and not in it.
    left_out : int
        Original records in cells that the synthetic data lack.
    auc : float or None
        Area under the curve, from all thresholds; 0.5 says nothing about the class.
    auc_all : float or None
        The same with the records left out: they get the proportion among all synthetic records.
    auc_original, auc_original_of_present : float or None
        The same when the original is its own synthetic copy, of all records and of those in cells
        that the synthetic data have.
    thresholds : int
        Number of distinct synthetic proportions.
    best_threshold, best_tpr, best_tnr : float or None
        Proportion with the largest sum of true positive and true negative rate (the smallest of
        them), and these rates.
    curve : tuple of (float or None, float, float)
        Threshold, true positive rate, true negative rate, from (None, 1, 0), which takes everybody
        for a member, to one that nobody exceeds, with rates 0 and 1; of more than `MAX_POINTS`
        points at most as many, spread evenly along the curve.
    """

    level: str
    positives: int
    negatives: int
    left_out: int
    auc: float | None
    auc_all: float | None
    auc_original: float | None
    auc_original_of_present: float | None
    thresholds: int
    best_threshold: float | None
    best_tpr: float | None
    best_tnr: float | None
    curve: tuple[tuple[float | None, float, float], ...]


@dataclass(frozen=True, eq=False)
class Scored:
    """Members and non-members of a class by distinct proportion, ascending, shape (t,).

    Examples
    --------
    >>> shares = np.array([0.5, 0.0, 0.5])
    >>> Scored.of(shares, np.array([1, 0, 2]), np.array([0, 3, 1])).auc
    0.875
    """

    thresholds: FloatArray
    positives: Codes
    negatives: Codes

    @classmethod
    def of(cls, shares: FloatArray, positives: Codes, negatives: Codes) -> Scored:
        """Put cells with the same proportion together."""
        distinct, position = np.unique(shares, return_inverse=True)
        sums = (
            np.bincount(position, weights=counts, minlength=len(distinct)).astype(np.int64)
            for counts in (positives, negatives)
        )
        return cls(distinct, *sums)

    def with_cell(self, share: float, positives: int, negatives: int) -> Scored:
        """Return the same with one cell more."""
        return Scored.of(
            np.append(self.thresholds, share),
            np.append(self.positives, positives),
            np.append(self.negatives, negatives),
        )

    def classified(self) -> tuple[Codes, Codes]:
        """Return true positives and true negatives at every threshold, shape (t + 1,).

        The first entry takes everybody for a member; then come the thresholds.
        """
        rejected = np.append(0, np.cumsum(self.positives))
        return rejected[-1] - rejected, np.append(0, np.cumsum(self.negatives))

    @property
    def auc(self) -> float | None:
        """Area under the curve by trapezoids, None without members or without others."""
        hits, rejections = self.classified()
        if not hits[0] or not rejections[-1]:
            return None
        # Whole numbers, so that the same classification has the same area however it is grouped.
        twice = int((np.diff(rejections) * (hits[1:] + hits[:-1])).sum())
        return twice / (2 * int(rejections[-1]) * int(hits[0]))


def roc(cells: Cells) -> tuple[RocCurve, ...]:
    """Return analysis 4: of two levels the positive one, of more each against the rest."""
    levels = range(len(cells.levels))
    if len(levels) == 2 and cells.positive is not None:
        return (_curve(cells, cells.positive),)
    return tuple(_curve(cells, level) for level in levels)


def _curve(cells: Cells, level: int) -> RocCurve:
    scored = _scored(cells, level, cells.theirs, cells.cell_theirs)
    positives, negatives = int(scored.positives.sum()), int(scored.negatives.sum())
    members = int(cells.ours[cells.pairs.of_level(level)].sum())
    share = int(cells.theirs[cells.pairs.of_level(level)].sum()) / cells.n_synthetic
    everybody = scored.with_cell(share, members - positives, cells.n - members - negatives)
    found = {} if scored.auc is None else _found(scored)
    own = _scored(cells, level, cells.ours, cells.cell_ours)
    present = _scored(cells, level, cells.ours, np.where(cells.cell_theirs > 0, cells.cell_ours, 0))
    return RocCurve(
        level=cells.levels[level],
        positives=positives,
        negatives=negatives,
        left_out=cells.n - positives - negatives,
        auc=scored.auc,
        auc_all=everybody.auc,
        auc_original=own.auc,
        auc_original_of_present=present.auc,
        thresholds=len(scored.thresholds),
        best_threshold=found.get("threshold"),
        best_tpr=found.get("tpr"),
        best_tnr=found.get("tnr"),
        curve=() if scored.auc is None else _thinned(scored),
    )


def _scored(cells: Cells, level: int, counts: Codes, totals: Codes) -> Scored:
    """Return original records by the proportion of a class that ``counts`` show in their cell."""
    part = cells.pairs.of_level(level)
    cell, shown = cells.pairs.cell[part], totals > 0
    use = shown[cell]
    cell = cell[use]
    positives = cells.ours[part][use]
    scored = Scored.of(
        counts[part][use] / totals[cell], positives, cells.cell_ours[cell] - positives
    )
    if int(shown.sum()) == len(cell):
        return scored
    # All other cells have nobody of the class on either side: their proportion is 0.
    others = int(cells.cell_ours[shown].sum() - cells.cell_ours[cell].sum())
    return scored.with_cell(0.0, 0, others)


def _found(scored: Scored) -> dict[str, float]:
    """Return the threshold with the largest sum of the two rates, and the rates."""
    hits, rejections = scored.classified()
    # Whole numbers, so that equal sums are equal.
    best = int((hits * rejections[-1] + rejections * hits[0])[1:].argmax())
    return {
        "threshold": float(scored.thresholds[best]),
        "tpr": float(hits[best + 1] / hits[0]),
        "tnr": float(rejections[best + 1] / rejections[-1]),
    }


def _thinned(scored: Scored) -> tuple[tuple[float | None, float, float], ...]:
    hits, rejections = scored.classified()
    tpr, tnr = hits / hits[0], rejections / rejections[-1]
    kept = np.arange(len(tpr))
    if len(kept) > MAX_POINTS:
        # Along the curve TNR - TPR grows from -1 to 1 in steps of any size.
        kept = np.unique(np.searchsorted(tnr - tpr, np.linspace(-1, 1, MAX_POINTS)))
    thresholds = [None, *scored.thresholds.tolist()]
    return tuple((thresholds[i], float(tpr[i]), float(tnr[i])) for i in kept)
