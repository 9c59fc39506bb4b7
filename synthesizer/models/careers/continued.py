"""Careers that go on: who is there in the next period, and in which state, given the past.

The states of the next period are drawn in two steps, as values of `LagOne` are: whether the state
changes, and where to. Both are trees on all that is known of a person up to the period before: the
career so far and the last values of all other variables. Absence is a state, and a return to the
state before a gap a case of its own, which a tree on many states could not tell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthesizer.data.errors import RuleError
from synthesizer.data.panel.panel_table import PanelTable
from synthesizer.data.panel.paths import OWN
from synthesizer.data.table import BoolArray, Column, IntArray, Kind, Table, Variable
from synthesizer.models.base import ConditionalModel
from synthesizer.models.careers.runs import Codes
from synthesizer.models.histories.history import PathRules
from synthesizer.models.histories.parts import Part, fit_codes, recent_starts, sign_column
from synthesizer.models.limits import Limits, redrawn

TRIES = 8
"""Draws of a new state before a move that leads back to the old one counts as staying."""


@dataclass(frozen=True, eq=False)
class Past:
    """What is known of n persons before the period that is drawn."""

    table: Table
    """Their last rows, and how long ago these are."""
    last: Codes
    """Their last states, shape (n,)."""
    now: Codes
    """Their states in the period before, absence among them, shape (n,)."""

    @classmethod
    def of(cls, panel: PanelTable, states: Codes, absent: int, moment: float) -> Past:
        """Return the past of persons who were there before; ``moment`` is that of the draw."""
        index = panel.index
        ends = index.starts + index.counts - 1
        there = index.period[ends] == index.n_periods - 1
        away = Column(
            Variable(name=OWN + "away", kind=Kind.NUMERIC),
            moment - index.times[index.period[ends]],
        )
        last = states[ends]
        table = Table(panel.take(ends).columns, len(ends)).with_column(away)
        return cls(table, last, np.where(there, last, absent).astype(np.int32))

    def take(self, persons: IntArray) -> Past:
        """Return the past of some persons."""
        return Past(self.table.take(persons), self.last[persons], self.now[persons])


@dataclass(frozen=True, eq=False)
class Continuation:
    """How the states of one period follow from what was before, and those of who is new."""

    variable: Variable
    """A states, absence, and the return to the state before it."""
    moves: Part
    states: Part | None
    """Where to; None where nobody moved."""
    first: Part | None
    """The states of who is new; None where nobody ever is."""
    allowed: BoolArray
    """Which state may come in this period (column) after which in the one before it (row), shape
    (A + 1, A + 1)."""
    reach: BoolArray | None
    """Which state may come after which last one, however long ago, shape (A, A); None for all."""
    reserve: Column
    """States to search where none that is drawn is allowed."""

    @property
    def absent(self) -> int:
        """Code of absence."""
        return len(self.allowed) - 1

    def draw(self, past: Past, *, rng: np.random.Generator) -> Codes:
        """Draw the next states of n persons, shape (n,)."""

        def again(persons: IntArray, widen: int) -> Column:
            return self._step(past.take(persons), rng, widen)

        drawn, bad = redrawn(self._step(past, rng, 0), again, self._limits(past), rng)
        if len(bad):
            raise RuleError(
                f"careers: no state is allowed in the new period for {len(bad)} synthetic "
                "persons; relax the rules of the careers"
            )
        return np.asarray(drawn.data, dtype=np.int32)

    def draw_first(self, persons: Table, *, rng: np.random.Generator) -> Codes:
        """Draw the first states of persons who are new, shape (n,)."""
        first = self.first
        if first is None:
            raise RuleError("careers: nobody is new in the data")
        exists = np.asarray(self.allowed.any(axis=0))

        def again(rows: IntArray, widen: int) -> Column:
            return first.draw(persons.take(rows), rng, widen=widen)

        limits = Limits(lambda _, values: ~exists[values.data], self.reserve)
        drawn, _ = redrawn(first.draw(persons, rng), again, limits, rng)
        return np.asarray(drawn.data, dtype=np.int32)

    def _limits(self, past: Past) -> Limits:
        def judge(persons: IntArray, values: Column) -> BoolArray:
            code = values.data
            bad = ~self.allowed[past.now[persons], code]
            if self.reach is not None:
                there = np.minimum(code, self.absent - 1)
                bad |= (code < self.absent) & ~self.reach[past.last[persons], there]
            return np.asarray(bad)

        return Limits(judge, self.reserve)

    def _step(self, past: Past, rng: np.random.Generator, widen: int) -> Column:
        """Draw whether states change, and where to; only changes where they are drawn again."""
        drawn = past.now.copy()
        if self.states is None:
            return Column(self.variable, drawn)
        movers = np.arange(len(drawn))
        if not widen:
            movers = np.flatnonzero(self.moves.draw(past.table, rng).data == 1)
        for attempt in range(TRIES):
            if not len(movers):
                break
            wide = max(0, widen - 1) + max(0, attempt - TRIES // 2)
            new = self.states.draw(past.table.take(movers), rng, widen=wide).data
            drawn[movers] = np.where(new > self.absent, past.last[movers], new)
            movers = movers[drawn[movers] == past.now[movers]]
        return Column(self.variable, drawn)


def fit_continuation(
    before: PanelTable,
    panel: PanelTable,
    states: Codes,
    absent: int,
    rules: PathRules,
    models: tuple[ConditionalModel, ConditionalModel],
    *,
    rng: np.random.Generator,
) -> Continuation:
    """Learn how the states of the last period follow from the past.

    Parameters
    ----------
    before : PanelTable
        Who is there before the last period, in order, with all that is known then.
    panel : PanelTable
        All persons and periods, with what is drawn before careers.
    states : array, shape (r,)
        States of the rows of ``panel``.
    absent : int
        Code of absence: one more than those of the states.
    rules : sequence of PathRule
        Rules about the states.
    models : pair of ConditionalModel
        Of whether a state changes, and of the states of who changes or is new.
    rng : Generator
        Decides what is random.
    """
    index = panel.index
    matrix = index.matrix(states, absent)
    began = index.period[index.starts] < index.n_periods - 1
    earlier = states[index.period < index.n_periods - 1]
    past = Past.of(before, earlier, absent, float(index.times[-1]))
    target = matrix[began, -1]
    variable = Variable(
        name="career",
        kind=Kind.CATEGORICAL,
        levels=(*(str(code) for code in range(absent)), "absent", "back"),
    )
    moved = target != past.now
    moves = fit_codes(models[0], past.table, sign_column(moved), rng)
    movers = np.flatnonzero(moved)
    values = None
    if len(movers):
        back = (past.now == absent) & (target == past.last)
        where = np.where(back, absent + 1, target)[movers].astype(np.int32)
        values = fit_codes(models[1], past.table.take(movers), Column(variable, where), rng)
    starts = recent_starts(index)
    first = None
    if (index.period[starts] > 0).any():
        table = Table(panel.take(starts).columns, len(starts))
        first = fit_codes(models[1], table, Column(variable, states[starts].astype(np.int32)), rng)
    allowed = _steps_taken(matrix, absent)
    allowed &= np.bincount(matrix[:, -1], minlength=absent + 1) > 0
    allowed[:, absent] &= bool((target == absent).any())
    reach = [rule.allowed for rule in rules if rule.allowed is not None]
    return Continuation(
        variable,
        moves,
        values,
        first,
        allowed,
        np.logical_and.reduce(reach) | np.eye(absent, dtype=bool) if reach else None,
        Column(variable, matrix[:, -1][matrix[:, -1] < absent].astype(np.int32)),
    )


def _steps_taken(matrix: IntArray, absent: int) -> BoolArray:
    """Return which state somebody has right after which, or stays in, shape (A + 1, A + 1)."""
    taken = np.eye(absent + 1, dtype=bool)
    began = np.maximum.accumulate(matrix < absent, axis=1)[:, :-1]
    taken[matrix[:, :-1][began], matrix[:, 1:][began]] = True
    return taken
