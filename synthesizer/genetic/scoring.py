"""Utility and risk of a candidate, kept up to date by the records that changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthesizer.genetic.coding import Integers, Records
from synthesizer.genetic.margins import Margin
from synthesizer.genetic.objectives import Objective
from synthesizer.genetic.risks import Risk

__all__ = ["Counts", "Score", "Scorer"]

Counts = tuple[Integers, ...]
"""Records of a candidate in the cells of every margin."""


@dataclass(frozen=True)
class Score:
    """Both objectives in [0, 1], lower is better."""

    utility: float
    risk: float


class Scorer:
    """Scores candidates against one original.

    Parameters
    ----------
    utility : Objective
        What tells how far a candidate is from the original.
    risk : Risk
        What tells how much it gives away.
    """

    def __init__(self, utility: Objective, risk: Risk) -> None:
        self.utility, self.risk = utility, risk
        self.margins: tuple[Margin, ...] = (*utility.margins, *risk.margins)
        self._split = len(utility.margins)

    def count(self, records: Records) -> Counts:
        """Count a candidate, or a part of one."""
        return tuple(margin.count(records) for margin in self.margins)

    def recounted(self, counts: Counts, old: Records, new: Records) -> Counts:
        """Return the counts after the records ``old`` became ``new``."""
        gained = self.change(old, new)
        return tuple(own + more for own, more in zip(counts, gained, strict=True))

    def change(self, old: Records, new: Records) -> Counts:
        """Return what counts gain when the records ``old`` become ``new``."""
        pairs = zip(self.count(new), self.count(old), strict=True)
        return tuple(after - before for after, before in pairs)

    def score(self, counts: Counts, n: int) -> Score:
        """Return utility and risk of a candidate with ``n`` records."""
        return Score(self.utility.value(counts[: self._split], n), self.risk_of(counts, n))

    def risk_of(self, counts: Counts, n: int) -> float:
        """Return the risk alone of a candidate with ``n`` records."""
        return self.risk.value(counts[self._split :], n)

    def found(self, counts: Counts) -> tuple[float, float | None] | None:
        """Return the share of people whose key is there, and their mean CAP, where it has any."""
        return self.risk.found(counts[self._split :])

    def risky(self, counts: Counts, records: Records) -> Integers:
        """Return the rows of a candidate that carry risk, rising."""
        cell = self.risk.carrier.of(records)
        carries = self.risk.carriers(counts[self._split :])
        # the last entry answers for -1, which is in no cell
        return np.flatnonzero(np.append(carries, False)[cell])
