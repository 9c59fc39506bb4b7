"""Models of histories with a base model: constant, mostly constant, rising, or free."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from synthesizer.data.errors import RuleError
from synthesizer.data.options import options
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.panel.paths import PathRule, broken_steps
from synthesizer.data.panel.view import changers, differing
from synthesizer.data.table import BoolArray, Column, IntArray, Kind, Table, Variable
from synthesizer.models.base import Abilities
from synthesizer.models.domains import Chances, Mask
from synthesizer.models.histories.history import FittedHistory, PathRules, WrappedHistory
from synthesizer.models.histories.lag_one import FittedLagOne, LagOne
from synthesizer.models.histories.parts import (
    FittedPart,
    changing_names,
    ever_names,
    first_observed,
    fit_codes,
    fit_part,
    of_persons,
    persons_with_changes,
    recent_starts,
    sign_column,
)
from synthesizer.models.limits import Judge, Limits, redrawn


@dataclass(frozen=True, eq=False)
class FittedTimeInvariant(FittedHistory):
    """A base model of one value a person."""

    value: FittedPart

    def draw(self, predictors: PanelTable, limits: Limits, *, rng: np.random.Generator) -> Column:
        """Draw a value for every person and repeat it in all rows of the person."""
        drawn, bad = draw_persons(self.value, predictors, limits, rng)
        self._refuse(len(bad))
        return predictors.spread(drawn)

    def follow(
        self, predictors: PanelTable, past: Column, limits: Limits, *, rng: np.random.Generator
    ) -> Column:
        """Return the value of each person, drawn for new persons; see `FittedHistory.follow`."""
        index = predictors.index
        rows = index.by_period[-1]
        values = past.take(index.starts[index.person[rows]])
        drawn, old = self.begun(predictors, values, limits, rng=rng)
        if limits.binding is not None:
            self._refuse(int(limits.binding(rows[old], drawn.take(old)).sum()))
        return drawn

    def _refuse(self, n_persons: int) -> None:
        if n_persons:
            raise RuleError(
                f"variable {self.value.step.variable.name!r}: no value is allowed in all periods "
                f"of {n_persons} synthetic persons; relax the rules or structural_zeros, draw it "
                "period by period (lag_one), or, if each number has few persons, release rare "
                "numbers (min_holders: 0 of its base model)"
            )


Path = Callable[[IntArray, Column], Column]
"""Returns the values of all rows of some persons, from one value of each."""


def draw_persons(
    value: FittedPart,
    predictors: PanelTable,
    limits: Limits,
    rng: np.random.Generator,
    path: Path | None = None,
) -> tuple[Column, IntArray]:
    """Draw a value for every person that is allowed in all rows; also return persons without one.

    ``path`` returns the values of rows from one value a person, who may be repeated; by default all
    rows have the same value.
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
    """Draw one value for all periods of a person, given the variables of the first period.

    If a person has several values in the confidential data, the first observed one counts.
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
    in_words = "a model of one value for all rows of a person or other unit"

    def doubts(self, predictors: PanelTable, target: Column) -> Iterator[str]:
        """Yield how many persons have several values; see `HistoryModel.doubts`."""
        index = predictors.index
        change = changers(index, target)
        several = int((index.counts > 1).sum())
        if change.sum() > several / 2:
            yield (
                f"it changes for {int(change.sum())} of {several} persons with several rows, but "
                "'time_invariant' draws one value a person; remove the model, or use 'lag_one'"
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
        return self.fit_history(predictors.take_units(persons), target.take(rows), rules, rng=rng)


@dataclass(frozen=True, eq=False)
class FittedEachPeriod(FittedHistory):
    """A base model of the value of a row."""

    value: FittedPart

    def draw(self, predictors: Table, limits: Limits, *, rng: np.random.Generator) -> Column:
        """Draw all rows at once."""
        drawn, bad = self.value.draw_allowed(predictors, limits, rng)
        if len(bad):
            raise RuleError(
                f"variable {drawn.name!r}: no allowed value is left for {len(bad)} synthetic rows; "
                f"relax the rules or structural_zeros, or put {drawn.name!r} earlier in the order"
            )
        return drawn

    def follow(
        self,
        predictors: PanelTable,
        past: Column,  # noqa: ARG002 - no lag
        limits: Limits,
        *,
        rng: np.random.Generator,
    ) -> Column:
        """Draw the rows of the last period; see `FittedHistory.follow`."""
        rows = predictors.index.by_period[-1]
        return self.draw(predictors.take(rows), limits.of_rows(rows), rng=rng)


@options
class EachPeriod(WrappedHistory):
    """Draw the value of every row given the earlier variables of the same period, without a lag.

    For values that depend on other variables of the period, such as pay on plan, grade and step.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> from synthesizer.data.panel.panel_table import PanelIndex
    >>> index = PanelIndex.of_presence(np.ones((50, 2), dtype=bool), np.arange(2.0))
    >>> pay = Variable(name="pay", kind=Kind.NUMERIC)
    >>> data = PanelTable((), index)
    >>> target = Column(pay, np.tile([100.0, 200.0], 50))
    >>> fitted = EachPeriod().fit(data, target, rng=np.random.default_rng(1))
    >>> sorted(set(fitted.sample(data, rng=np.random.default_rng(2)).data.tolist()))
    [100.0, 200.0]
    """

    fitted_type = FittedEachPeriod
    in_words = "a model of each period by itself"

    def rule_problems(self, variable: str, rules: PathRules) -> list[str]:
        """Refuse every rule; see `HistoryModel.rule_problems`."""
        return [
            f"variable {variable!r}: 'each_period' has no earlier value and cannot satisfy the "
            f"rule {rule.text!r}; use 'lag_one'"
            for rule in rules
        ]

    def fit_history(
        self, predictors: PanelTable, target: Column, rules: PathRules, *, rng: np.random.Generator
    ) -> FittedEachPeriod:
        """Fit the base model to all rows; see `HistoryModel.fit_history`."""
        self.refuse_rules(target.name, rules)
        return FittedEachPeriod(fit_part(self.base, predictors, target, rng))

    def fit_last(
        self, predictors: PanelTable, target: Column, rules: PathRules, *, rng: np.random.Generator
    ) -> FittedEachPeriod:
        """Fit the base model to the rows of the last period; see `HistoryModel.fit_last`."""
        self.refuse_rules(target.name, rules)
        rows = predictors.index.by_period[-1]
        return FittedEachPeriod(fit_part(self.base, predictors.take(rows), target.take(rows), rng))


MAX_TRIES = 3
"""Redraws of a history without a change, before one is imposed in a random row."""
MAX_REPEATED_PERSONS = 2_000
"""Fewer persons draw several histories at once, which takes no longer."""


@dataclass(frozen=True, eq=False)
class FittedByClass(FittedHistory):
    """The class of a person, constant values, and the histories of the other classes."""

    classes: FittedPart
    """Draws 0 for a constant value, k for history k - 1."""
    constant: FittedPart | None
    """Draws the constant values; None if there are none."""
    histories: tuple[FittedLagOne | None, ...]
    """One for each further class, None if it is empty."""
    changing: tuple[str, ...] = ()
    """Predictors whose changes are predictors of the class."""

    def __post_init__(self) -> None:
        if not any((self.constant, *self.histories)):
            raise ValueError("no class of persons was fitted")
        if self.classes.step.variable.n_codes != 1 + len(self.histories):
            raise ValueError("every class of persons must have a model")

    def draw(self, predictors: PanelTable, limits: Limits, *, rng: np.random.Generator) -> Column:
        """Draw the class of every person, then one value or a history.

        A person without a value that is allowed in all periods has a history instead.
        """
        return self.draw_by_class(predictors, limits, rng)[0]

    def draw_by_class(
        self, predictors: PanelTable, limits: Limits, rng: np.random.Generator
    ) -> tuple[Column, IntArray]:
        """Return drawn values, and the classes of the persons; see `draw`."""
        index = predictors.index
        classes = self._draw_classes(predictors, rng)
        columns, rows = [], []
        same = np.flatnonzero(classes == 0)
        if self.constant is not None and len(same):
            its, panel = index.rows_of(same), predictors.take_units(same)
            firm = limits.strict if any(self.histories) else limits
            values, bad = draw_persons(self.constant, panel, firm.of_rows(its), rng)
            allowed_rows = panel.index.rows_of(np.setdiff1d(np.arange(len(same)), bad))
            columns.append(panel.spread(values).take(allowed_rows))
            rows.append(its[allowed_rows])
            classes[same[bad]] = self._first_fitted(self.histories) + 1
        for code, model in enumerate(self.histories, start=1):
            persons = np.flatnonzero(classes == code)
            if not len(persons):
                continue
            if model is None:
                raise RuleError(
                    f"no value is allowed in all periods of {len(persons)} synthetic persons, and "
                    "it never changes in the data; relax the rules or the structural zeros"
                )
            its, panel = index.rows_of(persons), predictors.take_units(persons)
            columns.append(_draw_changing(model, panel, limits.of_rows(its), rng))
            rows.append(its)
        return Column.concatenate(columns).take(np.argsort(np.concatenate(rows))), classes

    def _draw_classes(self, predictors: PanelTable, rng: np.random.Generator) -> IntArray:
        """Draw classes that were fitted; persons with one row are constant if the class exists."""
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

    After `MAX_TRIES` further draws the value must change in a random later row of the person.
    """
    index = predictors.index
    drawn: Column | None = None
    still, tries = np.arange(index.n_persons), 1 + MAX_TRIES
    while drawn is None or (tries and len(still)):
        copies = max(1, min(tries, MAX_REPEATED_PERSONS // max(1, len(still))))
        tries -= copies
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

    def fit_last(
        self, predictors: PanelTable, target: Column, rules: PathRules, *, rng: np.random.Generator
    ) -> FittedHistory:
        """Learn steps of all persons, without classes, which need whole histories."""
        model = LagOne(base=self.base).leaving_out(self.left_out)
        return model.fit_last(predictors, target, rules, rng=rng)

    def own_predictors(self, predictors: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the history's predictors, and of those that ever change."""
        return (*LagOne().own_predictors(predictors), *ever_names(predictors))

    def fit_classes(
        self,
        predictors: PanelTable,
        target: Column,
        classes: Column,
        model: LagOne,
        rules: Sequence[PathRules],
        rng: np.random.Generator,
    ) -> tuple[FittedPart, FittedPart | None, tuple[FittedLagOne | None, ...], tuple[str, ...]]:
        """Return the fields of `FittedByClass`: classes of n persons, values and histories.

        ``rules`` are those of each history. Classes are learnt from persons with several rows, or
        from all persons if there are none.
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
    """Draw whether a person's value ever changes, then one value or a history.

    This keeps the share of persons whose value changes. Source: Barrientos et al. (2018), section
    3.2.2 (race).

    Parameters
    ----------
    fit_by : {"pooled", "by_period"}
        Fit of the histories of persons whose value changes: "pooled" fits one model to all periods,
        "by_period" one to each period; see ``lag_one``.

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


OTHER = 2
CLASSES = Variable(
    name="own.class", kind=Kind.CATEGORICAL, levels=("constant", "monotone", "other")
)


def _never_falls(column: Column, *, is_wish: bool = False) -> PathRule:
    return PathRule(variable=column.name, non_decreasing=True, text="never falls", is_wish=is_wish)


@dataclass(frozen=True, eq=False)
class FittedMonotone(FittedByClass):
    """Classes, values and histories; histories of the last class fall at most once."""

    def draw(self, predictors: PanelTable, limits: Limits, *, rng: np.random.Generator) -> Column:
        """Draw the class of every person, then one value or a history.

        A person without a value that is allowed in all periods is of the class "rising" instead.
        """
        drawn, classes = self.draw_by_class(predictors, limits, rng)
        model, others = self.histories[OTHER - 1], classes == OTHER
        if model is None or not others.any():
            return drawn
        return _at_most_one_fall(model, predictors, drawn, others, limits, rng)


def _at_most_one_fall(
    model: FittedLagOne,
    predictors: PanelTable,
    drawn: Column,
    persons: BoolArray,
    limits: Limits,
    rng: np.random.Generator,
) -> Column:
    """Return values of which those of some persons fall at most once, within rules and limits.

    If this breaks a rule or limit, the person is drawn again, without a fall if possible.
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
    """Return values without a second fall of some persons: they keep the value before it.

    In the data every person of the class falls at least once, so violations are not more frequent.
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
    """Draw the class of a person (constant, rising, or other), then one value or a history.

    A value of the class "rising" is not below the nearest earlier observed one, unless structural
    zeros leave no other. A history of the class "other" falls at most once. Source: Barrientos et
    al. (2018), section 3.2 (education).

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
        """Fit the steps into the last period, with falls if some fall; see `HistoryModel`."""
        index = predictors.index
        falls = broken_steps(index, target, [_never_falls(target)])[index.by_period[-1]].any()
        more = () if falls else (_never_falls(target, is_wish=True),)
        return super().fit_last(predictors, target, (*rules, *more), rng=rng)
