"""Partial synthesis: the confidential column itself, row by row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthesizer.data.errors import ModelError
from synthesizer.data.options import options
from synthesizer.data.table import Column, Table
from synthesizer.models.base import Abilities, ConditionalModel, FittedModel


@dataclass(frozen=True, eq=False)
class FittedKeep(FittedModel):
    """The confidential column; the engine slices ``column`` itself when it works in blocks."""

    column: Column

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:  # noqa: ARG002
        """Return the column; raises ModelError if another number of rows is asked for."""
        if predictors.n_rows != len(self.column):
            raise ModelError(
                f"variable {self.column.name!r} is kept row by row: it has {len(self.column)} "
                f"rows and {predictors.n_rows} are asked for; leave 'rows' unset, or choose a "
                "model that draws"
            )
        return self.column


@options
class Keep(ConditionalModel):
    """Copy the confidential values: the variable is not protected at all.

    Source: Reiter (2003), partially synthetic data.
    """

    abilities = Abilities(uses_predictors=False, copies_rows=True)
    fitted_type = FittedKeep

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedKeep:  # noqa: ARG002
        """Keep the column; see `ConditionalModel.fit`. ``target`` may hold missing states."""
        return FittedKeep(target)
