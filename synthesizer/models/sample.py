"""Bootstrap of the marginal distribution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthesizer.data.options import options
from synthesizer.data.table import Column, Table
from synthesizer.models.base import Abilities, FittedModel
from synthesizer.models.kit.numbers import DonorModel, SafeNumbers, made_safe


@dataclass(frozen=True, eq=False)
class FittedSample(FittedModel):
    """Donors of one variable, drawn with replacement."""

    donors: Column
    numbers: SafeNumbers | None = None
    """Replaces rare numbers."""

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:
        """Copy one donor at random for each row."""
        drawn = self.donors.take(rng.integers(len(self.donors), size=predictors.n_rows))
        return made_safe(drawn, self.numbers, rng)


@options
class Sample(DonorModel):
    """Draw from the observed marginal distribution, whatever the predictors say.

    The first variable of a chain is drawn by it unless it is told otherwise.
    Source: Efron (1979), the bootstrap.
    """

    abilities = Abilities(uses_predictors=False)
    fitted_type = FittedSample
    in_words = "draws from its own distribution"

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedSample:  # noqa: ARG002
        """Keep the donors; see `ConditionalModel.fit`."""
        return FittedSample(target, self.safe_numbers(predictors, target))
