"""A variable that most persons never change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from synthesizer.data.errors import RuleError
from synthesizer.data.options import options
from synthesizer.data.panel.panel_table import PanelTable
from synthesizer.data.panel.view import changers
from synthesizer.data.table import Column, IntArray
from synthesizer.models.histories.history import FittedHistory, PathRules, WrappedHistory
from synthesizer.models.histories.lag_one import FittedLagOne, LagOne
from synthesizer.models.histories.parts import (
    Part,
    changing_names,
    ever_names,
    fit_codes,
    fit_part,
    of_persons,
    persons_with_changes,
    sign_column,
)
from synthesizer.models.histories.time_invariant import draw_persons
from synthesizer.models.limits import Limits

TRIES = 3
"""Histories drawn for a person who shall change before a change in a random row is imposed."""
FEW_PERSONS = 2_000
"""Fewer persons draw several histories at once: a walk takes as long for few as for many."""


@dataclass(frozen=True, eq=False)
class FittedByClass(FittedHistory):
    """The class of a person, the value of those who never change, the histories of the others."""

    classes: Part
    """Draws 0 for a constant value, k for history k - 1."""
    constant: Part | None
    """None where nobody is constant."""
    histories: tuple[FittedLagOne | None, ...]
    """One for each further class, None where nobody is in it."""
    changing: tuple[str, ...] = ()
    """Predictors of which the class knows whether the person ever changes them."""

    def __post_init__(self) -> None:
        if not any((self.constant, *self.histories)):
            raise ValueError("no class of persons was fitted")
        if self.classes.step.variable.n_codes != 1 + len(self.histories):
            raise ValueError("every class of persons must have a model")

    def draw(self, predictors: PanelTable, limits: Limits, *, rng: np.random.Generator) -> Column:
        """Draw the class of every person, then one value or a history.

        Who gets no value that is allowed in all periods gets a history instead.
        """
        return self.draw_by_class(predictors, limits, rng)[0]

    def draw_by_class(
        self, predictors: PanelTable, limits: Limits, rng: np.random.Generator
    ) -> tuple[Column, IntArray]:
        """Draw values, and return the classes of the persons, too; see `draw`."""
        index = predictors.index
        classes = self._draw_classes(predictors, rng)
        columns, rows = [], []
        same = np.flatnonzero(classes == 0)
        if self.constant is not None and len(same):
            its, panel = index.rows_of(same), predictors.take_units(same)
            firm = limits.strict if any(self.histories) else limits  # else nobody can change
            values, bad = draw_persons(self.constant, panel, firm.of_rows(its), rng)
            kept = panel.index.rows_of(np.setdiff1d(np.arange(len(same)), bad))
            columns.append(panel.spread(values).take(kept))
            rows.append(its[kept])
            classes[same[bad]] = self._first_fitted(self.histories) + 1
        for code, model in enumerate(self.histories, start=1):
            persons = np.flatnonzero(classes == code)
            if not len(persons):
                continue
            if model is None:
                raise RuleError(
                    f"no value is allowed in all periods of {len(persons)} synthetic persons, and "
                    "nobody changes in the data; relax the rules or the support"
                )
            its, panel = index.rows_of(persons), predictors.take_units(persons)
            columns.append(_draw_changing(model, panel, limits.of_rows(its), rng))
            rows.append(its)
        order = np.argsort(np.concatenate(rows))
        return Column.concatenate(columns).take(order), classes

    def _draw_classes(self, predictors: PanelTable, rng: np.random.Generator) -> IntArray:
        """Draw classes that were fitted; who is there once is constant where anybody is."""
        persons = persons_with_changes(predictors, self.changing)
        classes = self.classes.draw(persons, rng).data.astype(np.int64)
        classes[predictors.index.counts == 1] = 0
        models = (self.constant, *self.histories)
        usual = self._first_fitted(models)
        return np.array([usual if m is None else k for k, m in enumerate(models)])[classes]

    @staticmethod
    def _first_fitted(models: Sequence[object]) -> int:
        return next((k for k, model in enumerate(models) if model is not None), 0)


def _draw_changing(
    model: FittedLagOne, predictors: PanelTable, limits: Limits, rng: np.random.Generator
) -> Column:
    """Draw histories again until each has a change, shape (r,).

    After `TRIES` further draws a random later row of the person has to move. Few persons draw
    several histories at once, of which the first with a change counts.
    """
    index = predictors.index
    drawn: Column | None = None
    still, left = np.arange(index.n_persons), 1 + TRIES
    while drawn is None or (left and len(still)):
        copies = max(1, min(left, FEW_PERSONS // max(1, len(still))))
        left -= copies
        units = np.repeat(still, copies)
        panel, its = predictors.take_units(units), limits.of_rows(index.rows_of(units))
        values = model.draw(panel, its, rng=rng)
        changes = changers(panel.index, values).reshape(-1, copies)
        chosen = np.arange(len(still)) * copies + changes.argmax(axis=1)
        values = values.take(panel.index.rows_of(chosen))
        drawn = values if drawn is None else drawn.replaced(index.rows_of(still), values)
        still = still[~changes.any(axis=1) & (index.counts[still] > 1)]
    if not len(still):
        return drawn
    rows, panel = index.rows_of(still), predictors.take_units(still)
    # a random row of each person that is not the first
    chosen = panel.index.starts + 1 + np.floor(rng.random(len(still)) * (panel.index.counts - 1))
    must = np.isin(np.arange(panel.n_rows), chosen)
    again = model.draw_within(panel, limits.of_rows(rows), model.rules, rng=rng, must=must)
    return drawn.replaced(rows, again)


@options
class ByClass(WrappedHistory):
    """A model that draws the class of a person first, then one value or a history."""

    def own_predictors(self, predictors: Sequence[str]) -> tuple[str, ...]:
        """Return what the histories add, and which of the predictors a person ever changes."""
        return (*LagOne().own_predictors(predictors), *ever_names(predictors))

    def fit_classes(
        self,
        predictors: PanelTable,
        target: Column,
        classes: Column,
        model: LagOne,
        rules: Sequence[PathRules],
        rng: np.random.Generator,
    ) -> tuple[Part, Part | None, tuple[FittedLagOne | None, ...], tuple[str, ...]]:
        """Return the fields of `FittedByClass`: classes of n persons, values and histories.

        ``rules`` are those of each history. Classes are learnt from the persons with several rows,
        who could change; from everybody where there are none.
        """
        index, constant = predictors.index, None
        same = np.flatnonzero(classes.data == 0)
        numbers = self.safe_numbers(predictors, target)
        if len(same):
            table, values = predictors.first_rows.take(same), target.take(index.starts[same])
            constant = fit_part(of_persons(self.base), table, values, rng, numbers=numbers)
        histories: list[FittedLagOne | None] = []
        for code, own_rules in enumerate(rules, start=1):
            persons = np.flatnonzero(classes.data == code)
            if not len(persons):
                histories.append(None)
                continue
            panel, values = predictors.take_units(persons), target.take(index.rows_of(persons))
            history = model.leaving_out(self.left_out)
            histories.append(history.fit_safe(panel, values, own_rules, numbers, rng=rng))
        names = changing_names(predictors)
        several = np.flatnonzero(index.counts > 1)
        seen = several if len(several) else np.arange(index.n_persons)
        table = persons_with_changes(predictors, names).take(seen)
        classifier = fit_codes(self.base, table, classes.take(seen), rng, left_out=self.left_out)
        return classifier, constant, tuple(histories), names


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
    >>> from synthesizer.data.panel.panel_table import PanelIndex
    >>> from synthesizer.data.table import Kind, Variable
    >>> from synthesizer.models.cart import Cart
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

    fitted_type = FittedByClass
    in_words = "a model of whether a person's value ever changes, and of the values"
    option_aliases: ClassVar[Mapping[str, str]] = {"fit": "fit_by"}

    fit_by: Literal["pooled", "by_period"] = "pooled"

    def fit_history(
        self, predictors: PanelTable, target: Column, rules: PathRules, *, rng: np.random.Generator
    ) -> FittedByClass:
        """Fit the three parts; see `HistoryModel.fit_history`."""
        change = sign_column(changers(predictors.index, target))
        model = LagOne(base=self.base, fit_by=self.fit_by)
        return FittedByClass(*self.fit_classes(predictors, target, change, model, [rules], rng))
