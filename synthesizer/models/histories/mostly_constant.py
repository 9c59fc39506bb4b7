"""A variable that most persons never change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from synthesizer.data.errors import RuleError
from synthesizer.data.options import options
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.panel.paths import PathRule
from synthesizer.data.panel.view import changers
from synthesizer.data.table import BoolArray, Column, IntArray, Table
from synthesizer.models.base import ConditionalModel
from synthesizer.models.cart import Cart
from synthesizer.models.histories.history import FittedHistory, HistoryModel, Limits
from synthesizer.models.histories.lag_one import FittedLagOne, LagOne
from synthesizer.models.histories.parts import (
    Part,
    changing_names,
    ever_names,
    fit_part,
    fit_sign,
    persons_with_changes,
    signs,
)
from synthesizer.models.histories.time_invariant import draw_persons

TRIES = 3
"""Histories drawn for a person who shall change before a change in a random row is imposed."""


def seen_again(index: PanelIndex) -> IntArray:
    """Return the persons with several rows, who could change; everybody where there are none."""
    found = np.flatnonzero(index.counts > 1)
    return found if len(found) else np.arange(index.n_persons)


def draw_changing(
    model: FittedLagOne,
    predictors: PanelTable,
    limits: Limits,
    rules: Sequence[PathRule],
    rng: np.random.Generator,
) -> Column:
    """Draw histories again until each has a change, shape (r,).

    After `TRIES` further draws a random later row of the person has to move.
    """
    drawn = model.draw_within(predictors, limits, rules, rng=rng)
    index = predictors.index
    for attempt in range(TRIES + 1):
        still = np.flatnonzero(~changers(index, drawn) & (index.counts > 1))
        if not len(still):
            break
        rows = index.rows_of(still)
        own = predictors.take_units(still)
        must = _one_row(own.index, rng) if attempt == TRIES else None
        again = model.draw_within(own, limits.of_rows(rows), rules, rng=rng, must=must)
        drawn = drawn.replaced(rows, again)
    return drawn


def _one_row(index: PanelIndex, rng: np.random.Generator) -> BoolArray:
    """Return a random row of each person that is not the first, shape (r,)."""
    chosen = index.starts + 1 + np.floor(rng.random(index.n_persons) * (index.counts - 1))
    must = np.zeros(index.n_rows, dtype=bool)
    must[chosen.astype(np.int64)] = True
    return must


class Parts:
    """The columns of groups of persons, put together."""

    def __init__(self, predictors: PanelTable, limits: Limits) -> None:
        self.predictors = predictors
        self.limits = limits
        self.columns: list[Column] = []
        self.rows: list[IntArray] = []

    def constant(self, value: Part, persons: IntArray, rng: np.random.Generator) -> IntArray:
        """Draw one value for each of some persons; return those for whom none is allowed."""
        if not len(persons):
            return persons
        rows = self.predictors.index.rows_of(persons)
        own = self.predictors.take_units(persons)
        drawn, bad = draw_persons(value, own, self.limits.of_rows(rows), rng)
        free = np.setdiff1d(np.arange(len(persons)), bad)
        kept = own.index.rows_of(free)
        self._add(own.spread(drawn).take(kept), rows[kept])
        return persons[bad]

    def history(
        self, model: FittedLagOne | None, persons: IntArray, rng: np.random.Generator
    ) -> Column:
        """Draw the histories of some persons, each with a change."""
        rows = self.predictors.index.rows_of(persons)
        own = self.predictors.take_units(persons)
        if model is None:
            raise RuleError(
                f"no value is allowed in all periods of {len(persons)} synthetic persons, and "
                "nobody changes in the data; relax the rules or the support"
            )
        drawn = draw_changing(model, own, self.limits.of_rows(rows), model.rules, rng)
        self._add(drawn, rows)
        return drawn

    def _add(self, column: Column, rows: IntArray) -> None:
        self.columns.append(column)
        self.rows.append(rows)

    def joined(self) -> Column:
        """Return the column of all rows."""
        order = np.argsort(np.concatenate(self.rows), kind="stable")
        return Column.concatenate(self.columns).take(order)


@dataclass(frozen=True, eq=False)
class FittedMostlyConstant(FittedHistory):
    """Whether a person ever changes, the value of those who do not, the histories of the others."""

    change: Part
    constant: Part | None
    history: FittedLagOne | None
    changing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.constant is None and self.history is None:
            raise ValueError("neither a constant nor a history was fitted")

    def draw(self, predictors: PanelTable, limits: Limits, *, rng: np.random.Generator) -> Column:
        """Draw who changes, then one value or a history.

        Who gets no value that is allowed in all periods changes, too.
        """
        index = predictors.index
        persons = persons_with_changes(predictors, self.changing)
        change = signs(self.change, persons, rng) & (index.counts > 1)
        if self.constant is None:
            change[:] = True
        if self.history is None:
            change[:] = False
        parts = Parts(predictors, limits)
        if self.constant is not None:
            left = parts.constant(self.constant, np.flatnonzero(~change), rng)
            change[left] = True
        moving = np.flatnonzero(change)
        if len(moving):
            parts.history(self.history, moving, rng)
        return parts.joined()


@options
class ByClass(HistoryModel):
    """A model that draws the class of a person first, then one value or a history.

    Parameters
    ----------
    base : model
        Any conditional model; also of the histories (see `LagOne`).
    """

    base: ConditionalModel = field(default_factory=Cart)

    def own_predictors(self, predictors: Sequence[str]) -> tuple[str, ...]:
        """Return what the histories add, and which of the predictors a person ever changes."""
        return (*LagOne().own_predictors(predictors), *ever_names(predictors))

    def constant(
        self, predictors: PanelTable, target: Column, persons: IntArray, rng: np.random.Generator
    ) -> Part | None:
        """Fit the value of persons who never change; None where there are none."""
        if not len(persons):
            return None
        values = target.take(predictors.index.starts[persons])
        return fit_part(self.base, predictors.first_rows.take(persons), values, rng)

    def history(
        self,
        model: LagOne,
        predictors: PanelTable,
        target: Column,
        persons: IntArray,
        rules: Sequence[PathRule],
        rng: np.random.Generator,
    ) -> FittedLagOne | None:
        """Fit the histories of some persons; None where there are none."""
        if not len(persons):
            return None
        values = target.take(predictors.index.rows_of(persons))
        own = predictors.take_units(persons)
        return model.leaving_out(self.left_out).fit_history(own, values, rules, rng=rng)

    def seen(self, predictors: PanelTable) -> tuple[Table, IntArray, tuple[str, ...]]:
        """Return the persons that classes are learnt from, who they are, and what changes."""
        names, seen = changing_names(predictors), seen_again(predictors.index)
        return persons_with_changes(predictors, names).take(seen), seen, names


@options
class MostlyConstant(ByClass):
    """First whether a person ever changes; who does not gets one value, the others a history.

    So the share of persons who ever change is kept. Source: Barrientos et al. (2018), section
    3.2.2 (race).

    Parameters
    ----------
    fit_by : {"pooled", "by_period"}
        As in `LagOne`, for those who change.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> index = PanelIndex.of_presence(np.ones((100, 2), dtype=bool), np.arange(2.0))
    >>> race = Variable(name="race", kind=Kind.CATEGORICAL, levels=("a", "b"))
    >>> codes = np.zeros((100, 2), dtype=np.int32)
    >>> codes[:10, 1] = 1
    >>> data, target = PanelTable((), index), Column(race, codes.ravel())
    >>> model = MostlyConstant(base=Cart(min_leaf=5))
    >>> fitted = model.fit(data, target, rng=np.random.default_rng(1))
    >>> drawn = fitted.sample(data, rng=np.random.default_rng(2))
    >>> bool(5 <= changers(index, drawn).sum() <= 15)
    True
    """

    fitted_type = FittedMostlyConstant
    in_words = "a model of whether a person's value ever changes, and of the values"
    option_aliases: ClassVar[Mapping[str, str]] = {"fit": "fit_by"}

    fit_by: Literal["pooled", "by_period"] = "pooled"

    def fit_history(
        self,
        predictors: PanelTable,
        target: Column,
        rules: Sequence[PathRule],
        *,
        rng: np.random.Generator,
    ) -> FittedMostlyConstant:
        """Fit the three parts; see `HistoryModel.fit_history`."""
        change = changers(predictors.index, target)
        constant = self.constant(predictors, target, np.flatnonzero(~change), rng)
        history = self.history(
            LagOne(base=self.base, fit_by=self.fit_by),
            predictors, target, np.flatnonzero(change), rules, rng,
        )  # fmt: skip
        persons, seen, names = self.seen(predictors)
        sign = fit_sign(self.base, persons, change[seen], rng, left_out=self.left_out)
        return FittedMostlyConstant(sign, constant, history, names)
