"""Bootstrap of the marginal distribution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthesizer.data.options import options
from synthesizer.data.table import Column, Table
from synthesizer.models.base import Abilities, FittedModel
from synthesizer.models.kit.numbers import DonorModel, SafeNumbers, made_safe
from synthesizer.models.kit.trees import even_over_neighbours


@dataclass(frozen=True, eq=False)
class FittedSample(FittedModel):
    """Donors of one variable, drawn with replacement."""

    donors: Column
    """Confidential values, sorted."""
    numbers: SafeNumbers | None = None
    """Replaces rare numbers."""
    even: bool = True
    """Whether draws are spread evenly over groups of neighbouring donors."""

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:
        """Copy one donor for each row."""
        n_rows, n_donors = predictors.n_rows, len(self.donors)
        if self.even:
            one, count = np.zeros(n_rows, dtype=np.intp), np.full(n_rows, n_donors)
            uniform = even_over_neighbours(one, count, rng)
        else:
            uniform = rng.random(n_rows)
        chosen = np.minimum((uniform * n_donors).astype(np.intp), n_donors - 1)
        return made_safe(self.donors.take(chosen), self.numbers, rng)


@options
class Sample(DonorModel):
    """Draw from the observed marginal distribution; predictors have no effect.

    It is the default model of the first variable of a chain.
    Source: Efron (1979), the bootstrap.

    Parameters
    ----------
    even : bool
        Spread draws evenly over the donors (over groups of three with neighbouring values) instead
        of drawing independently. This removes most of the sampling noise.
    """

    abilities = Abilities(uses_predictors=False)
    fitted_type = FittedSample
    in_words = "draws from its own distribution"
    public_options = (*DonorModel.public_options, "even")

    even: bool = True

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedSample:  # noqa: ARG002
        """Sort the donors; see `ConditionalModel.fit`."""
        order = np.lexsort((target.data, target.missing_state()))
        return FittedSample(target.take(order), self.safe_numbers(predictors, target), self.even)
