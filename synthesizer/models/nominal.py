"""A variable copied from those who agree on named variables."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from synthesizer.data.codes import Combinations
from synthesizer.data.options import Count, Names, options
from synthesizer.data.table import Column, IntArray, Table
from synthesizer.models.base import ConditionalModel, FittedModel
from synthesizer.models.cart import Cart

FEWEST = 3
"""Fewest units of a combination below which the plan warns."""


@dataclass(frozen=True, eq=False)
class FittedNominal(FittedModel):
    """Donors by combination, and a base model for the combinations with too few of them."""

    cells: Combinations
    known: IntArray
    ends: IntArray
    donors: Column
    base: FittedModel

    def __post_init__(self) -> None:
        if len(self.known) != len(self.ends) or (np.diff(self.known) <= 0).any():
            raise ValueError("the combinations must rise and have an end each")
        sizes = np.diff(np.append(0, self.ends))
        if (sizes <= 0).any() or sizes.sum() != len(self.donors):
            raise ValueError("every combination needs donors")

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:
        """Copy a random donor of the row's combination; by the base model where it has none."""
        cell = self.cells.places(predictors, self.known)  # -1: no donors
        starts = np.append(0, self.ends)[cell]
        size = np.append(self.ends, 0)[cell] - starts
        place = starts + np.floor(rng.random(len(cell)) * size).astype(np.int64)
        outside = np.flatnonzero(cell < 0)
        if len(outside) == len(cell):
            return self.base.sample(predictors, rng=rng)
        drawn = self.donors.take(np.where(cell < 0, 0, place))
        if not len(outside):
            return drawn
        return drawn.replaced(outside, self.base.sample(predictors.take(outside), rng=rng))

    def sample_wider(self, predictors: Table, *, steps: int, rng: np.random.Generator) -> Column:
        """Draw by the base model."""
        if steps == 0:
            return self.sample(predictors, rng=rng)
        return self.base.sample_wider(predictors, steps=steps - 1, rng=rng)


@options
class Nominal(ConditionalModel):
    """A number (or anything else) treated as nominal: copied from those who agree on ``given``.

    For values that come from a table, such as pay from plan, grade, step and year: what is drawn
    is in the table as often as in the data. Combinations that fewer than ``min_cell`` units have
    (rows, persons of a panel), and new ones, are drawn by ``base``. Source: Barrientos et al.
    (2018), section 3.2.3 (basic pay).

    Parameters
    ----------
    given : tuple of str
        Predictors that have to agree.
    base : model
        For all other rows.
    min_cell : int
        Fewest rows of a combination, of a panel: fewest persons, >= 1. Below 3 the values of single
        persons come back: only for values that are public, such as those of a pay table.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> grade = Variable(name="grade", kind=Kind.CATEGORICAL, levels=("5", "7"))
    >>> pay = Variable(name="pay", kind=Kind.NUMERIC)
    >>> table = Table([Column(grade, np.repeat(np.array([0, 1], dtype=np.int32), 20))])
    >>> target = Column(pay, np.repeat([27000.0, 33500.0], 20))
    >>> fitted = Nominal(given=("grade",)).fit(table, target, rng=np.random.default_rng(1))
    >>> bool((fitted.sample(table, rng=np.random.default_rng(2)).data == target.data).all())
    True
    """

    fitted_type = FittedNominal
    in_words = "copies from records that agree on named variables"
    predictor_option = "given"

    given: Names
    base: ConditionalModel = field(default_factory=Cart)
    min_cell: Count = 5

    @property
    def caution(self) -> str:
        """Say that values of single units come back."""
        if self.min_cell >= FEWEST:
            return ""
        return (
            f"'nominal' with min_cell {self.min_cell} copies values also where a single one has "
            f"this combination of {', '.join(self.given)}: only for values that are public, such "
            "as those of a pay table"
        )

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedNominal:
        """Sort the donors by combination and fit the base model; see `ConditionalModel.fit`."""
        self.require(predictors)
        cells = Combinations.of(predictors, self.given)
        keys = cells.numbers(predictors)
        numbers, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
        large = _holders(inverse, predictors.owners) >= self.min_cell
        rows = np.flatnonzero(large[inverse])
        order = rows[np.argsort(inverse[rows], kind="stable")]
        return FittedNominal(
            cells=cells,
            known=numbers[large],
            ends=np.cumsum(counts[large]),
            donors=target.take(order),
            base=self.base.fit(predictors, target, rng=rng),
        )


def _holders(cell: IntArray, owners: IntArray | None) -> IntArray:
    """Return how many units, rows or persons, have each combination; every one has a row."""
    if owners is None:
        return np.bincount(cell)
    persons = int(owners.max(initial=0)) + 1
    pairs = np.unique(cell.astype(np.int64) * persons + owners)
    return np.bincount(pairs // persons)
