"""A longitudinal variable given its nearest earlier value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from synthesizer.data.errors import RuleError
from synthesizer.data.options import Count, options
from synthesizer.data.panel.panel_table import PanelTable
from synthesizer.data.panel.paths import PAST, Memory, PathRule, past_columns
from synthesizer.data.panel.view import differing
from synthesizer.data.table import BoolArray, Column, IntArray, Table, Variable
from synthesizer.models.base import ConditionalModel
from synthesizer.models.cart import Cart
from synthesizer.models.histories.history import FittedHistory, HistoryModel, Limits
from synthesizer.models.histories.parts import (
    Part,
    change_names,
    changing_names,
    fit_part,
    fit_sign,
    signs,
    with_changes,
)
from synthesizer.models.limits import Judge, redrawn

# Drawing a variable period by period, each person from the value before.

REPEATS = (1, 1, 2, 4, 8, 16, 32, 64)
"""Whole steps, stay or move, that a refused row draws at once in every round.

The first that is allowed is taken, so that the step has the law of the model given that it is
allowed. Only where all of them are refused the step has to be a move, then to stay.
"""

MOST_REPEATS = 200_000
"""Whole steps that are drawn at once; fewer for each row where many rows are refused."""

DrawFirst = Callable[[Table, int], Column]
"""Draws the values of first rows, given the predictors and how much wider."""

DrawNext = Callable[[Table, Column, int, IntArray, int], Column]
"""Draws the values of later rows: predictors with the past, values before, period, rows, how
wide."""


def walked(
    predictors: PanelTable,
    variable: Variable,
    first: DrawFirst,
    later: DrawNext,
    *,
    rules: Sequence[PathRule] = (),
    limits: Limits,
    rng: np.random.Generator,
) -> Column:
    """Draw every period in turn; what a rule forbids is redrawn at once, before time goes on.

    Parameters
    ----------
    predictors : PanelTable
        r rows.
    variable : Variable
        What is drawn.
    first, later : callable
        Draw the values of a person's first row, and of the others.
    rules : sequence of PathRule
        From period to period.
    limits : Limits
        Structural zeros.
    rng : numpy.random.Generator
        Orders what is searched where redrawing does not help.

    Raises
    ------
    RuleError
        If nothing is allowed for some rows.
    """
    index = predictors.index
    memory = Memory(variable, index.n_persons)
    parts: list[Column] = []
    order: list[IntArray] = []
    for period, rows in enumerate(index.by_period):
        moment = float(index.times[period])
        for chosen, is_first in (
            (rows[index.is_first[rows]], True),
            (rows[~index.is_first[rows]], False),
        ):
            if not len(chosen):
                continue
            walk = _Moment(predictors.take(chosen), chosen, index.person[chosen], memory)
            drawn = (
                walk.first(first, limits, rng)
                if is_first
                else walk.later(later, period, moment, rules, limits, rng)
            )
            memory.learn(walk.persons, drawn, moment)
            parts.append(drawn)
            order.append(chosen)
    place = np.argsort(np.concatenate(order), kind="stable")
    return Column.concatenate(parts).take(place)


class _Moment:
    """The rows of one period that are drawn together."""

    def __init__(self, table: Table, rows: IntArray, persons: IntArray, memory: Memory) -> None:
        self.table = table
        self.rows = rows
        self.persons = persons
        self.memory = memory

    def first(self, draw: DrawFirst, limits: Limits, rng: np.random.Generator) -> Column:
        drawn = draw(self.table, 0)

        def again(rows: IntArray, widen: int) -> Column:
            return draw(self.table.take(rows), widen)

        return self._mended(drawn, again, self._judged(limits, None), limits, rng)

    def later(
        self,
        draw: DrawNext,
        period: int,
        moment: float,
        rules: Sequence[PathRule],
        limits: Limits,
        rng: np.random.Generator,
    ) -> Column:
        table = self.table
        for column in self.memory.columns(self.persons, moment):
            table = table.with_column(column)
        before = self.memory.last.take(self.persons)
        known = self.memory.known.take(self.persons)
        drawn = draw(table, before, period, self.rows, 0)

        def step(rows: IntArray, wide: int) -> Column:
            return draw(table.take(rows), before.take(rows), period, self.rows[rows], wide)

        held = _held(drawn, rules)
        behind = np.flatnonzero(held & ~before.is_observed)
        nearest = before.replaced(behind, known.take(behind))

        def again(rows: IntArray, widen: int) -> Column:
            if widen == 1:  # to stay is nearer than any wider neighbourhood
                return nearest.take(rows)
            return step(rows, max(1, widen))

        def steps(chosen: Sequence[PathRule], holding: BoolArray | None = None) -> Judge | None:
            def broken(rows: IntArray, values: Column) -> BoolArray:
                bad = np.zeros(len(rows), dtype=bool)
                for rule in chosen:
                    bad |= rule.broken(before.take(rows), known.take(rows), values)
                return bad if holding is None else bad | (holding[rows] & ~values.is_observed)

            return self._judged(limits, broken if chosen else None)

        firm = [rule for rule in rules if not rule.is_wish]
        every: IntArray = np.arange(len(drawn))
        all_kept = steps(rules, held)
        if all_kept is not None and (len(firm) < len(rules) or held.any()):
            drawn = _repeated(drawn, every, before, step, all_kept)
            drawn, every = redrawn(drawn, every, again, all_kept, rng, limits.reserve)
        firmly = steps(firm)
        if firmly is not None:
            drawn = _repeated(drawn, every, before, step, firmly)
        return self._mended(drawn, again, firmly, limits, rng, every)

    def _judged(self, limits: Limits, steps: Judge | None) -> Judge | None:
        judge = limits.judge
        if judge is None:
            return steps

        def both(rows: IntArray, values: Column) -> BoolArray:
            bad = judge(self.rows[rows], values)
            return bad if steps is None else bad | steps(rows, values)

        return both

    def _mended(
        self,
        drawn: Column,
        again: Callable[[IntArray, int], Column],
        judge: Judge | None,
        limits: Limits,
        rng: np.random.Generator,
        free: IntArray | None = None,
    ) -> Column:
        if judge is None:
            return drawn
        every = np.arange(len(drawn)) if free is None else free
        drawn, bad = redrawn(drawn, every, again, judge, rng, limits.reserve)
        if len(bad):
            raise RuleError(
                f"variable {drawn.name!r}: no allowed value is left for {len(bad)} synthetic rows "
                "of one period; relax the rules of the panel or the support, or put "
                f"{drawn.name!r} earlier in the order"
            )
        return drawn


def _held(drawn: Column, rules: Sequence[PathRule]) -> BoolArray:
    """Return which rows keep to an observed value, shape (n,).

    Missing codes are decided before the value. They never fall, so that a value that falls would
    be redrawn as one all too often: whether it is missing is what the model said at first.
    """
    if not drawn.variable.missing or not any(rule.non_decreasing for rule in rules):
        return np.zeros(len(drawn), dtype=bool)
    return np.asarray(drawn.is_observed)


def _repeated(
    drawn: Column,
    free: IntArray,
    before: Column,
    step: Callable[[IntArray, int], Column],
    judge: Judge,
) -> Column:
    """Draw the refused rows' steps again and again, whether they move and where to.

    Where staying is refused itself, all allowed steps are moves, and only moves are drawn.
    """
    bad = free[judge(free, drawn.take(free))]
    if not len(bad):
        return drawn
    must = judge(bad, before.take(bad))
    for rows, wide in ((bad[~must], 0), (bad[must], 1)):
        for repeats in REPEATS:
            if not len(rows):
                break
            copies = max(1, min(repeats, MOST_REPEATS // len(rows)))
            each = np.repeat(rows, copies)
            trial = step(each, wide)
            good = ~judge(each, trial).reshape(len(rows), copies)
            found = np.flatnonzero(good.any(axis=1))
            chosen = found * copies + good[found].argmax(axis=1)
            drawn = drawn.replaced(rows[found], trial.take(chosen))
            rows = np.delete(rows, found)
    return drawn


TRIES = 8
"""Draws of a new value before a move that leads back to the old one counts as staying."""

POOLED = -1
"""Stands for all periods together."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Steps:
    """How the value of a later row is drawn: whether it moves, and where to."""

    moves: Part | None
    values: Part | None


@dataclass(frozen=True, eq=False)
class FittedLagOne(FittedHistory):
    """The first value of a person, and the steps from period to period."""

    first: Part
    later: Mapping[int, Steps]
    rules: tuple[PathRule, ...]
    changes: tuple[str, ...] | None

    def draw(self, predictors: PanelTable, limits: Limits, *, rng: np.random.Generator) -> Column:
        """Draw the first value, then each one from the value before."""
        return self.draw_within(predictors, limits, self.rules, rng=rng)

    def draw_within(
        self,
        predictors: PanelTable,
        limits: Limits,
        rules: Sequence[PathRule],
        *,
        rng: np.random.Generator,
        must: BoolArray | None = None,
    ) -> Column:
        """Draw inside given rules; see `draw`. Rows where ``must`` is true have to move."""
        if self.changes is not None:
            predictors = with_changes(predictors, self.changes)

        def first(table: Table, widen: int) -> Column:
            return self.first.draw(table, rng, widen=widen)

        def later(table: Table, before: Column, period: int, rows: IntArray, widen: int) -> Column:
            steps = self.later.get(period, self.later.get(POOLED))
            if steps is None or steps.values is None:
                return before if not widen else self.first.draw(table, rng, widen=widen - 1)
            forced = None if must is None else must[rows]
            return _next(steps.moves, steps.values, table, before, forced, widen, rng)

        variable = self.first.step.variable
        return walked(predictors, variable, first, later, rules=rules, limits=limits, rng=rng)


def _next(
    moves: Part | None,
    values: Part,
    table: Table,
    before: Column,
    forced: BoolArray | None,
    widen: int,
    rng: np.random.Generator,
) -> Column:
    """Draw whether the value moves, and where to; only moves where it is drawn again."""
    if moves is None:
        return values.draw(table, rng, widen=max(0, widen - 1))
    if widen:
        movers = np.arange(len(before))
    else:
        move = signs(moves, table, rng)
        movers = np.flatnonzero(move if forced is None else move | forced)
    drawn = before
    for attempt in range(TRIES):
        if not len(movers):
            break
        steps = max(0, widen - 1) + max(0, attempt - TRIES // 2)
        drawn = drawn.replaced(movers, values.draw(table.take(movers), rng, widen=steps))
        movers = movers[~differing(drawn.take(movers), before.take(movers))]
    return drawn


@options
class LagOne(HistoryModel):
    """The first value by the base model; each later one given the nearest earlier value.

    Predictors are the earlier variables of the same period, attributes of the career, the
    person's value before, how often and how long ago it changed, the time since, and which of the
    earlier variables changed in this period. Source: Barrientos et al. (2018), section 3.2.

    Parameters
    ----------
    base : model
        Any conditional model.
    fit_by : {"pooled", "by_period"}
        Whether time is a predictor, or every period has a fit of its own (periods with fewer than
        ``min_rows`` rows share one).
    stay_or_move : bool
        Draw first whether the value changes, then the new value among those who changed.
    changes : bool
        Whether changes of earlier variables are predictors.
    min_rows : int
        Fewest rows of a period's own fit, >= 1.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> from synthesizer.data.panel.panel_table import PanelIndex
    >>> index = PanelIndex.of_presence(np.ones((60, 4), dtype=bool), np.arange(4.0))
    >>> grade = Variable(name="grade", kind=Kind.ORDERED, levels=("1", "2", "3", "4"))
    >>> data = PanelTable((), index)
    >>> target = Column(grade, np.tile(np.arange(4, dtype=np.int32), 60))
    >>> fitted = LagOne(base=Cart(min_leaf=5)).fit(data, target, rng=np.random.default_rng(1))
    >>> fitted.sample(data, rng=np.random.default_rng(2)).data[:4].tolist()
    [0, 1, 2, 3]
    """

    fitted_type = FittedLagOne
    in_words = "a model of each period's value given the person's value before it"

    base: ConditionalModel = field(default_factory=Cart)
    fit_by: Literal["pooled", "by_period"] = "pooled"
    stay_or_move: bool = True
    changes: bool = True
    min_rows: Count = 100

    option_aliases: ClassVar[Mapping[str, str]] = {"fit": "fit_by"}

    def own_predictors(self, predictors: Sequence[str]) -> tuple[str, ...]:
        """Return what looks back on the variable itself, and on changes of the predictors."""
        return (*PAST, *(change_names(predictors) if self.changes else ()))

    def fit_history(
        self,
        predictors: PanelTable,
        target: Column,
        rules: Sequence[PathRule],
        *,
        rng: np.random.Generator,
    ) -> FittedLagOne:
        """Fit the first values and the steps; see `HistoryModel.fit_history`."""
        index = predictors.index
        names = changing_names(predictors) if self.changes else None
        if names is not None:
            predictors = with_changes(predictors, names)
        first = self._part(predictors.take(index.starts), target.take(index.starts), rng)
        later = np.flatnonzero(~index.is_first)
        steps = {}
        if len(later):
            table = predictors.take(later)
            for column in past_columns(index, target, later):
                table = table.with_column(column)
            values = target.take(later)
            moved = differing(values, target.take(later - 1))
            for period, rows in self._fits(index.period[later]):
                steps[period] = self._steps(table.take(rows), values.take(rows), moved[rows], rng)
        return FittedLagOne(first, steps, tuple(rules), names)

    def _fits(self, periods: IntArray) -> Sequence[tuple[int, IntArray]]:
        """Return which rows are fitted together, under the number of their period."""
        if self.fit_by == "pooled":
            return [(POOLED, np.arange(len(periods)))]
        found = [(int(t), np.flatnonzero(periods == t)) for t in np.unique(periods)]
        large = [(t, rows) for t, rows in found if len(rows) >= self.min_rows]
        if len(large) == len(found):
            return large
        return [*large, (POOLED, np.arange(len(periods)))]

    def _steps(
        self, table: Table, values: Column, moved: BoolArray, rng: np.random.Generator
    ) -> Steps:
        if not self.stay_or_move:
            return Steps(moves=None, values=self._part(table, values, rng))
        moves = fit_sign(self.base, table, moved, rng, left_out=self.left_out)
        among = np.flatnonzero(moved)
        if not len(among):
            return Steps(moves=moves, values=None)
        return Steps(moves=moves, values=self._part(table.take(among), values.take(among), rng))

    def _part(self, table: Table, values: Column, rng: np.random.Generator) -> Part:
        return fit_part(self.base, table, values, rng, left_out=self.left_out)
