"""A variable that rises or stays, but for a few persons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthesizer.data.options import options
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.panel.paths import PathRule, broken_steps
from synthesizer.data.panel.view import changers, differing
from synthesizer.data.table import BoolArray, Column, IntArray, Kind, Variable
from synthesizer.models.base import Abilities
from synthesizer.models.histories.history import FittedHistory, PathRules
from synthesizer.models.histories.lag_one import FittedLagOne, LagOne
from synthesizer.models.histories.mostly_constant import ByClass, FittedByClass
from synthesizer.models.limits import Limits

OTHER = 2
CLASSES = Variable(
    name="own.class", kind=Kind.CATEGORICAL, levels=("constant", "monotone", "other")
)


def _never_falls(column: Column, *, is_wish: bool = False) -> PathRule:
    return PathRule(variable=column.name, non_decreasing=True, text="never falls", is_wish=is_wish)


@dataclass(frozen=True, eq=False)
class FittedMonotone(FittedByClass):
    """Classes, values and histories, of which the last falls once at most."""

    def draw(self, predictors: PanelTable, limits: Limits, *, rng: np.random.Generator) -> Column:
        """Draw the class of every person, then one value or a history.

        Who gets no value that is allowed in all periods rises instead.
        """
        drawn, classes = self.draw_by_class(predictors, limits, rng)
        model, others = self.histories[OTHER - 1], classes == OTHER
        if model is None or not others.any():
            return drawn
        return _kept(model, predictors, drawn, others, limits, rng)


def _kept(
    model: FittedLagOne,
    predictors: PanelTable,
    drawn: Column,
    persons: BoolArray,
    limits: Limits,
    rng: np.random.Generator,
) -> Column:
    """Let some persons fall once at most, inside the rules and structural zeros.

    Where a value that stays breaks them the person is drawn again, without a fall wherever that is
    allowed.
    """
    index = predictors.index
    once = _one_fall(index, drawn, persons)
    bad = broken_steps(index, once, model.rules)
    if limits.judge is not None:
        bad |= limits.judge(np.arange(len(once)), once)
    changed = np.bincount(index.person[differing(once, drawn)], minlength=index.n_persons) > 0
    again = np.unique(index.person[bad & changed[index.person]])
    if not len(again):
        return once
    rows, panel = index.rows_of(again), predictors.take_units(again)
    rules = [*model.rules, _never_falls(drawn, is_wish=True)]
    return once.replaced(rows, model.draw_within(panel, limits.of_rows(rows), rules, rng=rng))


def _one_fall(index: PanelIndex, drawn: Column, persons: BoolArray) -> Column:
    """Let values after the second fall of some persons stay: at most one violation each.

    Every person of the class falls at least once in the data, so there are no more violations
    than the data have for as many such persons.
    """
    is_candidate = persons[index.person]
    while True:
        falls = broken_steps(index, drawn, [_never_falls(drawn)])
        total = np.cumsum(falls)
        so_far: IntArray = total - (total - falls)[index.starts[index.person]]
        rows = np.flatnonzero(falls & (so_far > 1) & is_candidate)
        if not len(rows):
            return drawn
        drawn = drawn.replaced(rows, drawn.take(rows - 1))


@options
class Monotone(ByClass):
    """The class of a person first: constant, rising, or other; then a value or a history.

    Rising persons only get values that are not below the nearest earlier observed one, unless
    structural zeros leave nothing else. Those of the class "other" fall once at most. Source:
    Barrientos et al. (2018), section 3.2 (education).

    Examples
    --------
    >>> from synthesizer.models.cart import Cart
    >>> index = PanelIndex.of_presence(np.ones((60, 4), dtype=bool), np.arange(4.0))
    >>> level = Variable(name="level", kind=Kind.ORDERED, levels=("1", "2", "3", "4"))
    >>> data = PanelTable((), index)
    >>> target = Column(level, np.tile(np.arange(4, dtype=np.int32), 60))
    >>> fitted = Monotone(base=Cart(min_leaf=30)).fit(data, target, rng=np.random.default_rng(1))
    >>> drawn = fitted.sample(data, rng=np.random.default_rng(2)).data.reshape(60, 4)
    >>> bool((np.diff(drawn) >= 0).all())
    True
    """

    abilities = Abilities(kinds=frozenset({Kind.ORDERED, Kind.NUMERIC, Kind.DATE}), panel=True)
    fitted_type = FittedMonotone
    in_words = "a model of values that most persons only ever raise"

    def fit_history(
        self, predictors: PanelTable, target: Column, rules: PathRules, *, rng: np.random.Generator
    ) -> FittedMonotone:
        """Fit classes, values and histories; see `HistoryModel.fit_history`."""
        index = predictors.index
        fallen = index.person[broken_steps(index, target, [_never_falls(target)])]
        falls = np.bincount(fallen, minlength=index.n_persons) > 0
        codes = np.where(falls, OTHER, changers(index, target)).astype(np.int32)
        rises = [*rules, _never_falls(target, is_wish=True)]
        return FittedMonotone(
            *self.fit_classes(
                predictors,
                target,
                Column(CLASSES, codes),
                LagOne(base=self.base),
                [rises, rules],
                rng,
            )
        )

    def fit_last(
        self, predictors: PanelTable, target: Column, rules: PathRules, *, rng: np.random.Generator
    ) -> FittedHistory:
        """Fit the steps into the last period, with falls where some fall; see `HistoryModel`."""
        index = predictors.index
        falls = broken_steps(index, target, [_never_falls(target)])[index.by_period[-1]].any()
        more = () if falls else (_never_falls(target, is_wish=True),)
        return super().fit_last(predictors, target, (*rules, *more), rng=rng)
