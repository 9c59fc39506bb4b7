"""Drawing a variable period by period, each person from the value before."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from synthesizer.data.schema import Variable
from synthesizer.data.table import BoolArray, Column, IntArray, Table
from synthesizer.errors import RuleError
from synthesizer.histories.base import Limits
from synthesizer.panel.past import Memory
from synthesizer.panel.paths import PathRule
from synthesizer.panel.table import PanelTable
from synthesizer.redrawing import Judge, redrawn

__all__ = ["DrawFirst", "DrawNext", "walked"]

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
