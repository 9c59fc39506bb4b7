"""A complete plug-in: copy a random donor of the same class of one predictor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthesizer.data.table import Column, IntArray
from synthesizer.models.base import Abilities, ConditionalModel, FittedModel


@dataclass(frozen=True, eq=False)
class FittedHotDeck(FittedModel):
    """Donors sorted by class; those of class c are starts[c] .. starts[c + 1] - 1."""

    donors: Column
    starts: IntArray
    by: str

    def __post_init__(self):
        if np.any(np.diff(self.starts) < 0) or list(self.starts[[0, -1]]) != [0, len(self.donors)]:
            raise ValueError("starts must rise from 0 to the number of donors")

    def sample(self, predictors, *, rng):
        """Draw within the class of each row; from all donors where the class has none."""
        low, high = np.zeros(predictors.n_rows, int), np.full(predictors.n_rows, len(self.donors))
        if self.by in predictors:
            codes = predictors[self.by].data
            filled = self.starts[codes] < self.starts[codes + 1]
            low = np.where(filled, self.starts[codes], low)
            high = np.where(filled, self.starts[codes + 1], high)
        return self.donors.take(rng.integers(low, high))


@dataclass(frozen=True, kw_only=True)
class HotDeck(ConditionalModel):
    """Copy a random donor of the same class.

    Parameters
    ----------
    by : str
        The coded predictor whose codes are the classes; without it there is one class.
    """

    abilities = Abilities()
    fitted_type = FittedHotDeck
    by: str = ""

    def fit(self, predictors, target, *, rng):
        """Sort the donors by class; one class if the column is absent or holds no codes."""
        if self.by not in predictors or not predictors[self.by].is_coded:
            return FittedHotDeck(target, np.array([0, len(target)]), "")
        codes, n = predictors[self.by].data, predictors[self.by].variable.n_codes
        starts = np.searchsorted(np.sort(codes), np.arange(n + 1))
        return FittedHotDeck(target.take(np.argsort(codes, kind="stable")), starts, self.by)


MODELS = {"hotdeck": HotDeck}
