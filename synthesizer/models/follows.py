"""A variable of which each code of another one has one value: its label, or its group."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from synthesizer.data.codes import Combinations
from synthesizer.data.options import options
from synthesizer.data.relations import rows_off
from synthesizer.data.table import Column, IntArray, Table
from synthesizer.models.base import ConditionalModel, FittedModel
from synthesizer.models.cart import Cart
from synthesizer.models.kit.numbers import safe_of
from synthesizer.models.sample import Sample


@dataclass(frozen=True, eq=False)
class FittedFollows(FittedModel):
    """The value of each code that has one, and a model of the records with other codes."""

    codes: Combinations
    """The values of the other variable."""
    known: IntArray
    """Those that have one value, rising."""
    values: Column
    """Their value."""
    others: FittedModel

    def __post_init__(self) -> None:
        if len(self.known) != len(self.values) or (np.diff(self.known) <= 0).any():
            raise ValueError("every code needs a value")

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:
        """Return the value of each record's code."""
        return self.sample_wider(predictors, steps=0, rng=rng)

    def sample_wider(self, predictors: Table, *, steps: int, rng: np.random.Generator) -> Column:
        """Return the value of each record's code; draw it where the code has several."""
        place = self.codes.places(predictors, self.known)
        rows = np.flatnonzero(place < 0)
        if len(rows) == len(place):
            return self.others.sample_wider(predictors, steps=steps, rng=rng)
        column = self.values.take(np.maximum(place, 0))
        if not len(rows):
            return column
        drawn = self.others.sample_wider(predictors.take(rows), steps=steps, rng=rng)
        return column.replaced(rows, drawn)


@options
class Follows(ConditionalModel):
    """The label of a code, or its group: each code has the value that its records have.

    Codes whose records have several values, such as rare codes under one name, have theirs drawn by
    the base model, which learns from these records. A number follows from a code of enough records.

    Parameters
    ----------
    of : str
        The predictor that holds the codes.
    base : model
        Draws the value where a code has several.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> town = Variable(name="town", kind=Kind.CATEGORICAL, levels=("101", "102", "201"))
    >>> county = Variable(name="county", kind=Kind.CATEGORICAL, levels=("North", "South"))
    >>> codes = np.arange(60, dtype=np.int32) % 3
    >>> table = Table([Column(town, codes)])
    >>> target = Column(county, (codes > 1).astype(np.int32))
    >>> fitted = Follows(of="town").fit(table, target, rng=np.random.default_rng(1))
    >>> fitted.sample(table, rng=np.random.default_rng(2)).equals(target)
    True
    """

    fitted_type = FittedFollows
    in_words = "a table of the value of each code"
    predictor_option = "of"

    of: str
    base: ConditionalModel = field(default_factory=Cart)

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedFollows:
        """Learn the value of each code, and the base model; see `ConditionalModel.fit`."""
        self.require(predictors)
        codes = Combinations.of(predictors, [self.of])
        numbers = codes.numbers(predictors)
        known, first, counts = np.unique(numbers, return_index=True, return_counts=True)
        several = np.isin(known, numbers[rows_off(predictors[self.of], target)])
        few = counts < safe_of(self.base) if not target.is_coded else np.zeros_like(several)
        is_known = ~(several | few)
        rest = np.flatnonzero(~np.isin(numbers, known[is_known]))
        if len(rest):
            others = self.base.fit(predictors.take(rest), target.take(rest), rng=rng)
        else:
            others = Sample().fit(predictors, target, rng=rng)
        return FittedFollows(codes, known[is_known], target.take(first[is_known]), others)
