"""A variable that rises or stays, but for a few persons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synthesizer.data.options import options
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.panel.paths import PathRule, broken_steps
from synthesizer.data.panel.view import changers, differing
from synthesizer.data.table import BoolArray, Column, IntArray, Kind, Variable
from synthesizer.models.base import (
    Abilities,
)
from synthesizer.models.histories.history import FittedHistory, Limits
from synthesizer.models.histories.lag_one import FittedLagOne, LagOne
from synthesizer.models.histories.mostly_constant import ByClass, Parts
from synthesizer.models.histories.parts import (
    Part,
    fit_part,
    persons_with_changes,
)

_CLASSES = ("constant", "monotone", "other")
_RISES = "never falls"


def _class_column(index: PanelIndex, target: Column) -> Column:
    """Return the class of every person, shape (n_persons,)."""
    rule = PathRule(variable=target.name, non_decreasing=True, text=_RISES)
    falls = np.bincount(
        index.person[broken_steps(index, target, [rule])], minlength=index.n_persons
    )
    codes = np.where(falls > 0, 2, changers(index, target).astype(np.int32)).astype(np.int32)
    variable = Variable(name="own.class", kind=Kind.CATEGORICAL, levels=_CLASSES)
    return Column(variable, codes)


@dataclass(frozen=True, eq=False)
class FittedMonotone(FittedHistory):
    """The class of a person, the value of the constant ones, the histories of the others."""

    classes: Part
    constant: Part | None
    rising: FittedLagOne | None
    other: FittedLagOne | None
    changing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not any((self.constant, self.rising, self.other)):
            raise ValueError("no class of persons was fitted")
        if self.classes.step.variable.n_codes != len(_CLASSES):
            raise ValueError("there must be three classes of persons")

    def draw(self, predictors: PanelTable, limits: Limits, *, rng: np.random.Generator) -> Column:
        """Draw the class of every person, then one value or a history.

        Who gets no value that is allowed in all periods rises instead.
        """
        index = predictors.index
        classes = self.classes.draw(
            persons_with_changes(predictors, self.changing), rng
        ).data.astype(np.int64)
        classes[index.counts == 1] = 0
        classes = np.array(self._places())[classes]
        parts = Parts(predictors, limits)
        if self.constant is not None:
            left = parts.constant(self.constant, np.flatnonzero(classes == 0), rng)
            classes[left] = 1 if self.rising is not None else 2
        for code, model in ((1, self.rising), (2, self.other)):
            persons = np.flatnonzero(classes == code)
            if len(persons):
                parts.history(model, persons, rng)
        joined = parts.joined()
        if self.other is None or not (classes == 2).any():
            return joined
        return _kept(self.other, predictors, joined, classes == 2, limits, rng)

    def _places(self) -> list[int]:
        """Return the class that stands for each one; the first fitted where there was nobody."""
        fitted = [self.constant is not None, self.rising is not None, self.other is not None]
        return [code if fitted[code] else fitted.index(True) for code in range(3)]


def _kept(
    other: FittedLagOne,
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
    bad = broken_steps(index, once, other.rules)
    if limits.judge is not None:
        bad |= limits.judge(np.arange(len(once)), once)
    again = np.unique(index.person[bad & _in_changed_persons(index, once, drawn)])
    if not len(again):
        return once
    rows, own = index.rows_of(again), predictors.take_units(again)
    rises = PathRule(variable=drawn.name, non_decreasing=True, text=_RISES, is_wish=True)
    rising = other.draw_within(own, limits.of_rows(rows), [*other.rules, rises], rng=rng)
    return once.replaced(rows, rising)


def _in_changed_persons(index: PanelIndex, one: Column, other: Column) -> BoolArray:
    """Return the rows of persons who have another value in any row of two columns, shape (r,)."""
    other_rows = index.person[differing(one, other)]
    return np.asarray(np.bincount(other_rows, minlength=index.n_persons)[index.person] > 0)


def _one_fall(index: PanelIndex, drawn: Column, persons: BoolArray) -> Column:
    """Let values after the second fall of some persons stay: at most one violation each.

    Every person of the class falls at least once in the data, so there are no more violations
    than the data have for as many such persons.
    """
    rule = PathRule(variable=drawn.name, non_decreasing=True, text=_RISES)
    own = persons[index.person]
    while True:
        falls = broken_steps(index, drawn, [rule])
        total = np.cumsum(falls)
        so_far: IntArray = total - (total - falls)[index.starts[index.person]]
        again: BoolArray = falls & (so_far > 1) & own
        if not again.any():
            return drawn
        rows = np.flatnonzero(again)
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
        self,
        predictors: PanelTable,
        target: Column,
        rules: Sequence[PathRule],
        *,
        rng: np.random.Generator,
    ) -> FittedMonotone:
        """Fit classes, values and histories; see `HistoryModel.fit_history`."""
        classes = _class_column(predictors.index, target)
        rises = PathRule(variable=target.name, non_decreasing=True, text=_RISES, is_wish=True)
        same, rising, other = (np.flatnonzero(classes.data == code) for code in range(3))
        constant = self.constant(predictors, target, same, rng)
        model = LagOne(base=self.base)
        risen = self.history(model, predictors, target, rising, [*rules, rises], rng)
        others = self.history(model, predictors, target, other, rules, rng)
        persons, seen, names = self.seen(predictors)
        fitted = fit_part(self.base, persons, classes.take(seen), rng, left_out=self.left_out)
        return FittedMonotone(fitted, constant, risen, others, names)
