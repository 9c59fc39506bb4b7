"""A separate model for every group, which keeps small differences between groups."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from synthesizer.data.codes import Combinations
from synthesizer.data.options import Count, Names, options
from synthesizer.data.table import Column, IntArray, Table
from synthesizer.models.base import ConditionalModel, FittedModel
from synthesizer.models.cart import Cart
from synthesizer.models.domains import Chances


@dataclass(frozen=True, eq=False)
class FittedGrouped(FittedModel):
    """A fitted base model for every large group, and one of all rows for the others."""

    groups: Combinations
    known: IntArray
    """Numbers of the large groups, rising."""
    models: tuple[FittedModel, ...]
    """Model of each large group."""
    others: FittedModel

    def __post_init__(self) -> None:
        if len(self.known) != len(self.models) or (np.diff(self.known) <= 0).any():
            raise ValueError("every group needs a model")

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:
        """Draw by the model of each row's group."""
        return self.sample_wider(predictors, steps=0, rng=rng)

    def sample_wider(self, predictors: Table, *, steps: int, rng: np.random.Generator) -> Column:
        """Draw by the model of each row's group, from a wider neighbourhood."""
        groups, order = self._groups(predictors)
        parts = [model.sample_wider(table, steps=steps, rng=rng) for model, table in groups]
        return Column.concatenate(parts).take(order)

    def chances(self, predictors: Table, *, steps: int) -> Chances | None:
        """Return the probability of each code by the model of the group; see `FittedModel`."""
        groups, order = self._groups(predictors)
        parts = [model.chances(table, steps=steps) for model, table in groups]
        known = [part for part in parts if part is not None]
        return Chances.concatenate(known).take(order) if len(known) == len(parts) else None

    def _groups(self, predictors: Table) -> tuple[list[tuple[FittedModel, Table]], IntArray]:
        """Return the model and the rows of each group that occurs, and the order of the rows."""
        index = self.groups.positions(predictors, self.known)  # -1: a small group
        numbers = np.unique(index).tolist() or [-1]
        groups = [
            (self.others if n < 0 else self.models[n], predictors.take(np.flatnonzero(index == n)))
            for n in numbers
        ]
        return groups, np.argsort(np.argsort(index, kind="stable"), kind="stable")


@options
class Grouped(ConditionalModel):
    """Fit a separate base model to every group that is defined by some predictors.

    A tree loses weak differences, such as that of pay by sex given everything else; separate models
    keep them. Groups with fewer than ``min_rows`` rows share one model of all rows. Strata (Raab,
    Nowok and Dibben 2016) do this for all variables, this model for one.

    Parameters
    ----------
    by : tuple of str
        Predictors whose combinations of values are the groups.
    base : model
        Model of each group: any conditional model.
    min_rows : int
        Smallest number of rows of a group with a separate model, >= 1.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> pay = Variable(name="pay", kind=Kind.NUMERIC)
    >>> table = Table([Column(sex, np.repeat(np.array([0, 1], dtype=np.int32), 30))])
    >>> target = Column(pay, np.repeat([100.0, 101.0], 30))
    >>> model = Grouped(by=("sex",), min_rows=20)
    >>> fitted = model.fit(table, target, rng=np.random.default_rng(1))
    >>> bool((fitted.sample(table, rng=np.random.default_rng(2)).data == target.data).all())
    True
    """

    fitted_type = FittedGrouped
    in_words = "a model of its own for each group of records"
    predictor_option = "by"

    by: Names
    base: ConditionalModel = field(default_factory=Cart)
    min_rows: Count = 500

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedGrouped:
        """Fit the base model to every group, and to all rows; see `ConditionalModel.fit`."""
        self.require(predictors)
        large = self.rows_of(predictors)
        fitted = [
            self.base.fit(predictors.take(rows), target.take(rows), rng=rng)
            for rows in large.values()
        ]
        others = self.base.fit(predictors, target, rng=rng)
        groups = Combinations.of(predictors, self.by)
        return FittedGrouped(groups, np.array([*large], dtype=np.int64), tuple(fitted), others)

    def rows_of(self, predictors: Table) -> dict[int, IntArray]:
        """Return the rows of each large group by its number, rising."""
        numbers = Combinations.of(predictors, self.by).numbers(predictors)
        values, counts = np.unique(numbers, return_counts=True)
        return {
            number: np.flatnonzero(numbers == number)
            for number in values[counts >= self.min_rows].tolist()
        }
