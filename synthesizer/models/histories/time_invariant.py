"""One value a person."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from synthesizer.data.errors import RuleError
from synthesizer.data.options import options
from synthesizer.data.panel.panel_table import PanelTable
from synthesizer.data.panel.view import changers
from synthesizer.data.table import BoolArray, Column, IntArray
from synthesizer.models.base import Abilities
from synthesizer.models.domains import Chances, Mask
from synthesizer.models.histories.history import FittedHistory, PathRules, WrappedHistory
from synthesizer.models.histories.parts import (
    Part,
    first_observed,
    fit_part,
    of_persons,
    recent_starts,
)
from synthesizer.models.limits import Judge, Limits, redrawn


@dataclass(frozen=True, eq=False)
class FittedTimeInvariant(FittedHistory):
    """A base model of one value a person."""

    value: Part

    def draw(self, predictors: PanelTable, limits: Limits, *, rng: np.random.Generator) -> Column:
        """Draw a value for every person and write it in all its rows."""
        drawn, bad = draw_persons(self.value, predictors, limits, rng)
        self._refuse(len(bad))
        return predictors.spread(drawn)

    def follow(
        self,
        predictors: PanelTable,
        past: Column,
        limits: Limits,
        *,
        rng: np.random.Generator,
    ) -> Column:
        """Keep the value of a person, and draw one for who is new; see `FittedHistory.follow`."""
        index = predictors.index
        rows = index.by_period[-1]
        kept = past.take(index.starts[index.person[rows]])
        drawn, old = self.begun(predictors, kept, limits, rng=rng)
        if limits.binding is not None:
            self._refuse(int(limits.binding(rows[old], drawn.take(old)).sum()))
        return drawn

    def _refuse(self, n_persons: int) -> None:
        if n_persons:
            raise RuleError(
                f"variable {self.value.step.variable.name!r}: no value is allowed in all periods "
                f"of {n_persons} synthetic persons; relax the rules or the support, draw it "
                "period by period (lag_one), or, where few persons hold each number, allow these "
                "(safe: 0 of its base model)"
            )


Path = Callable[[IntArray, Column], Column]
"""Gives the values of all rows of some persons, from the one value of each."""


def draw_persons(
    value: Part,
    predictors: PanelTable,
    limits: Limits,
    rng: np.random.Generator,
    path: Path | None = None,
) -> tuple[Column, IntArray]:
    """Draw a value for every person, allowed in each of her rows; also return whom nothing fits.

    ``path`` says what a value becomes over time, for persons of whom some may come more than once;
    the same value in all rows by default.
    """
    index, persons = predictors.index, predictors.first_rows
    drawn = value.draw(persons, rng)

    def again(chosen: IntArray, widen: int) -> Column:
        return value.draw(persons.take(chosen), rng, widen=widen)

    def in_any_row(judge: Judge) -> Judge:
        def judged(chosen: IntArray, values: Column) -> BoolArray:
            counts = index.counts[chosen]
            owner = np.repeat(np.arange(len(chosen)), counts)
            histories = values.take(owner) if path is None else path(chosen, values)
            bad = judge(index.rows_of(chosen), histories)
            return np.asarray(np.bincount(owner[bad], minlength=len(chosen)) > 0)

        return judged

    def in_all_rows(mask: Mask) -> Mask:
        def masked(chosen: IntArray) -> BoolArray:
            starts = np.cumsum(index.counts[chosen]) - index.counts[chosen]
            return np.logical_and.reduceat(mask(index.rows_of(chosen)), starts, axis=0)

        return masked

    def chances(chosen: IntArray, widen: int) -> Chances | None:
        return value.chances(persons.take(chosen), widen=widen)

    masks = None if path is not None else limits.masks and limits.masks.changed(in_all_rows)
    its = replace(limits.changed(in_any_row), masks=masks)
    return redrawn(drawn, again, its, rng, None, chances)


@options
class TimeInvariant(WrappedHistory):
    """One value a person, given what is known at the person's first period.

    Where the confidential data have several values for a person, the first observed one counts.
    Source: Barrientos et al. (2018), section 3.2 (sex).

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> from synthesizer.data.panel.panel_table import PanelIndex
    >>> index = PanelIndex.of_presence(np.ones((50, 2), dtype=bool), np.arange(2.0))
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> data = PanelTable((), index)
    >>> target = Column(sex, np.repeat(np.array([0, 1], dtype=np.int32), 50))
    >>> fitted = TimeInvariant().fit(data, target, rng=np.random.default_rng(1))
    >>> drawn = fitted.sample(data, rng=np.random.default_rng(2)).data
    >>> bool((drawn[::2] == drawn[1::2]).all())
    True
    """

    abilities = Abilities(panel=True, person=True)
    fitted_type = FittedTimeInvariant
    in_words = "a model of one value for all rows of a person, or household"

    def doubts(self, predictors: PanelTable, target: Column) -> Iterator[str]:
        """Say how many persons lose their later values; see `HistoryModel.doubts`."""
        index = predictors.index
        change = changers(index, target)
        several = int((index.counts > 1).sum())
        if change.sum() > several / 2:
            yield (
                f"{int(change.sum())} of {several} persons with several rows change it, and with "
                "'time_invariant' nobody does; leave the model out, or use 'lag_one'"
            )

    def fit_history(
        self,
        predictors: PanelTable,
        target: Column,
        rules: PathRules,  # noqa: ARG002 - one value breaks no rule between periods
        *,
        rng: np.random.Generator,
    ) -> FittedTimeInvariant:
        """Fit the base model to one row a person; see `HistoryModel.fit_history`."""
        value = target.take(first_observed(predictors.index, target))
        return FittedTimeInvariant(
            fit_part(of_persons(self.base), predictors.first_rows, value, rng)
        )

    def fit_last(
        self, predictors: PanelTable, target: Column, rules: PathRules, *, rng: np.random.Generator
    ) -> FittedTimeInvariant:
        """Fit the base model to persons who are new; see `HistoryModel.fit_last`."""
        persons = predictors.index.person[recent_starts(predictors.index)]
        rows = predictors.index.rows_of(persons)
        new = predictors.take_units(persons)
        return self.fit_history(new, target.take(rows), rules, rng=rng)
