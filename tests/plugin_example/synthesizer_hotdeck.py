"""A complete plug-in: copy a random donor of the same class of one predictor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthesizer.data.table import Column
from synthesizer.models.base import Abilities, ConditionalModel, FittedModel


class FittedHotDeck(FittedModel):
    """Donors sorted by class; those of class c are starts[c] .. starts[c + 1] - 1."""

    def __init__(self, donors, starts, by):
        self.donors, self.starts, self.by = donors, starts, by

    def sample(self, predictors, *, rng):
        """Draw within the class of each row; from all donors where the class has none."""
        low, high = np.zeros(predictors.n_rows, int), np.full(predictors.n_rows, len(self.donors))
        if self.by in predictors:
            codes = predictors[self.by].data
            filled = self.starts[codes] < self.starts[codes + 1]
            low = np.where(filled, self.starts[codes], low)
            high = np.where(filled, self.starts[codes + 1], high)
        return self.donors.take(rng.integers(low, high))

    def to_dict(self):
        return {"donors": self.donors.to_dict(), "starts": self.starts, "by": self.by}

    @classmethod
    def from_dict(cls, state):
        donors, starts = Column.from_dict(state["donors"]), np.asarray(state["starts"])
        if np.any(np.diff(starts) < 0) or np.any(starts[[0, -1]] != [0, len(donors)]):
            raise ValueError("starts must rise from 0 to the number of donors")
        return cls(donors, starts, str(state["by"]))


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
