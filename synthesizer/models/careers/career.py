"""Careers of a panel: presence and states of persons by period, and their continuation.

The states of a further period are drawn in two steps, as values of `LagOne` are: whether the state
changes, and the new state. Both are trees on the career so far and the last values of all other
variables. Absence is a state. The return to the state before a gap is a separate outcome, which a
tree on many states could not learn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthesizer.data.errors import RuleError
from synthesizer.data.options import options
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.panel.paths import OWN, PathRule, count_states, number_column
from synthesizer.data.table import BoolArray, Column, IntArray, Kind, Table, Variable
from synthesizer.models.base import Abilities, ConditionalModel
from synthesizer.models.careers.fitted_careers import CareerOptions, FittedCareers, fit_careers
from synthesizer.models.careers.runs import Codes
from synthesizer.models.histories.history import FittedCareerModel, HistoryModel, PathRules
from synthesizer.models.histories.parts import FittedPart, fit_codes, recent_starts, sign_column
from synthesizer.models.limits import Limits, redrawn

MAX_CAREER_TRIES = 50
"""Redraws for a person who is present in no period."""


@dataclass(frozen=True, eq=False)
class FittedCareer(FittedCareerModel):
    """The fitted model of careers, and the variable of their states."""

    careers: FittedCareers
    variable: Variable
    rules: tuple[PathRule, ...]

    def __post_init__(self) -> None:
        if self.careers.n_states <= self.absent:
            raise ValueError("the careers have other states than their variable")

    @property
    def absent(self) -> int:
        """Code of absence: one more than those of the states."""
        return count_states(self.variable)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the careers, with the name of their variable."""
        return tuple(f"careers of {self.variable.name!r}: {note}" for note in self.careers.notes)

    def open(
        self, persons: PanelTable, *, rng: np.random.Generator
    ) -> tuple[PanelIndex, Column | None]:
        """Draw the careers of n persons; see `FittedCareerModel.open`."""
        absent_persons = np.arange(persons.n_units)
        drawn = np.empty((len(absent_persons), self.careers.n_periods), dtype=np.int32)
        for _ in range(1 + MAX_CAREER_TRIES):
            first_rows = persons.first_rows.take(absent_persons)
            drawn[absent_persons] = self.careers.sample(first_rows, len(absent_persons), rng=rng)
            absent_persons = absent_persons[(drawn[absent_persons] >= self.absent).all(axis=1)]
            if not len(absent_persons):
                break
        if len(absent_persons):
            raise RuleError(
                f"variable {self.variable.name!r}: {len(absent_persons)} synthetic persons are "
                "present in no period after many draws; relax the rules of the careers"
            )
        index = PanelIndex.of_presence(drawn < self.absent, persons.index.times)
        if not self.variable.is_coded:
            return index, None
        return index, Column(self.variable, drawn[index.person, index.period].astype(np.int32))


@options
class Career(HistoryModel, CareerOptions):
    """Draw careers: the number of runs, their lengths, and their states.

    A run is a number of successive periods in one state. The number of runs G has its observed
    frequencies; the lengths Z given G a mixture of Dirichlet distributions, which also allows
    lengths that do not occur in the data. The states W are drawn run by run. Absence is a state. If
    a panel names no career variable, the careers are presence and absence. Source: Barrientos et
    al. (2018), section 3.2.1.

    Examples
    --------
    >>> from synthesizer.data.table import Kind
    >>> index = PanelIndex.of_presence(np.ones((40, 6), dtype=bool), np.arange(6.0))
    >>> state = Variable(name="state", kind=Kind.CATEGORICAL, levels=("school", "work"))
    >>> codes = np.repeat(np.array([[0, 0, 1, 1, 1, 1]], dtype=np.int32), 40, axis=0)
    >>> data = PanelTable((), index)
    >>> fitted = Career().fit(data, Column(state, codes.ravel()), rng=np.random.default_rng(1))
    >>> persons = PanelTable((), PanelIndex.of_persons(5, index.times))
    >>> opened, states = fitted.open(persons, rng=np.random.default_rng(2))
    >>> opened.n_rows, states.data.reshape(5, 6)[:, 0].tolist()
    (30, [0, 0, 0, 0, 0])
    """

    abilities = Abilities(panel=True, career=True)
    fitted_type = FittedCareer
    in_words = "a model of whole careers (number, lengths and states of their spells)"

    def tree_draws(self, *, has_predictors: bool) -> tuple[bool, bool] | None:
        """See `ConditionalModel.tree_draws`."""
        return (self.even, False) if has_predictors or self.transition == "cart" else None

    def fit_history(
        self, predictors: PanelTable, target: Column, rules: PathRules, *, rng: np.random.Generator
    ) -> FittedCareer:
        """Fit to the whole careers; see `HistoryModel.fit_history`."""
        index, variable = predictors.index, target.variable
        absent = count_states(variable)
        states = target.data if variable.is_coded else np.zeros(index.n_rows)
        sequences = index.matrix(states.astype(np.int32), absent)
        there = sequences < absent
        entries = there[:, 0] + (there[:, 1:] & ~there[:, :-1]).sum(axis=1)
        is_once = not self.new_moves and entries.max() == 1 and not there.all()
        is_limited = is_once or any(rule.allowed is not None for rule in rules)
        steps = _steps(rules, absent) if is_limited else None
        n_states = absent + 1 if steps is None else len(steps.allowed)
        careers = fit_careers(
            sequences if steps is None else steps.with_gaps(sequences),
            n_states,
            predictors.first_rows,
            self,
            allowed=None if steps is None else steps.allowed,
            first_allowed=None if steps is None else steps.first,
            out_codes=range(absent, n_states),
            rng=rng,
        )
        return FittedCareer(careers, variable, tuple(rules))


@dataclass(frozen=True, eq=False)
class _Steps:
    """Allowed transitions between states, with several codes of absence.

    Rules also hold across a gap. So each set of allowed next states has a code of absence; the
    first of these codes allows all states. A gap may always lead back to the state before it, since
    staying is no step: absorbing states may have gaps, too. The highest code is final absence.
    """

    allowed: BoolArray
    """Whether a code (column) may follow another (row), shape (A, A)."""
    group: IntArray
    """Code of absence after each of S states, shape (S,)."""

    @property
    def first(self) -> BoolArray:
        """Allowed first codes, shape (A,)."""
        return np.arange(len(self.allowed)) <= len(self.group)

    def with_gaps(self, sequences: IntArray) -> IntArray:
        """Return sequences, shape (n, T), with the code of each absence, not one for all."""
        states = len(self.group)
        there = sequences < states
        later = np.maximum.accumulate(there[:, ::-1], axis=1)[:, ::-1]
        last_period = np.maximum.accumulate(np.where(there, np.arange(there.shape[1]), -1), axis=1)
        before = np.take_along_axis(sequences, np.maximum(last_period, 0), axis=1)
        gap = np.append(self.group, states)[np.where(last_period < 0, states, before)]
        absence = np.where(later, gap, len(self.allowed) - 1)
        return np.where(there, sequences, absence).astype(np.int32)


def _steps(rules: PathRules, states: int) -> _Steps:
    """Return the allowed transitions between ``states`` codes, by the rules about steps."""
    matrices = [rule.allowed for rule in rules if rule.allowed is not None]
    reach = np.logical_and.reduce([np.ones((states, states), dtype=bool), *matrices])
    reach |= np.eye(states, dtype=bool)
    every_way = np.ones(states, dtype=bool)
    ways, group = np.unique(np.vstack([every_way, reach]), axis=0, return_inverse=True)
    ways, group = ways[::-1], len(ways) - 1 - group.ravel()  # all ways were sorted last
    gone = states + len(ways)
    allowed = np.zeros((gone + 1, gone + 1), dtype=bool)
    allowed[:states, :states] = reach
    allowed[:states, gone] = True
    absence_of_state = states + group[1:]
    allowed[np.arange(states), absence_of_state] = True
    allowed[states:gone, :states] = ways
    return _Steps(allowed, absence_of_state)


MAX_STATE_TRIES = 8
"""Draws of a new state; if all equal the old one, the person stays."""


@dataclass(frozen=True, eq=False)
class Past:
    """The past of n persons before the period that is drawn."""

    table: Table
    """Their last rows, and the time since."""
    last: Codes
    """Their last states, shape (n,)."""
    now: Codes
    """Their states in the period before, including absence, shape (n,)."""

    @classmethod
    def of(cls, panel: PanelTable, states: Codes, absent: int, moment: float) -> Past:
        """Return the past of persons with earlier rows; ``moment`` is the time of the draw."""
        index = panel.index
        ends = index.starts + index.counts - 1
        there = index.period[ends] == index.n_periods - 1
        away = number_column(OWN + "away", moment - index.times[index.period[ends]])
        last = states[ends]
        table = Table(panel.take(ends).columns, len(ends)).with_column(away)
        return cls(table, last, np.where(there, last, absent).astype(np.int32))

    def take(self, persons: IntArray) -> Past:
        """Return the past of some persons."""
        return Past(self.table.take(persons), self.last[persons], self.now[persons])


@dataclass(frozen=True, eq=False)
class Continuation:
    """The model of the states of one period given the past, and of new persons."""

    variable: Variable
    """A states, absence, and the return to the state before it."""
    moves: FittedPart
    """Draws whether a state changes."""
    states: FittedPart | None
    """Draws the new state; None if no person moved."""
    first: FittedPart | None
    """Draws the states of new persons; None if there are none."""
    allowed: BoolArray
    """Allowed states (columns) after those of the period before, (A + 1, A + 1)."""
    reach: BoolArray | None
    """Allowed states (columns) after the last one, (A, A); None for all."""
    reserve: Column
    """States to search if no drawn one is allowed."""

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
        if self.first is None:
            raise RuleError("careers: no person is new in the data")
        exists = np.asarray(self.allowed.any(axis=0))
        limits = Limits(lambda _, values: ~exists[values.data], self.reserve)
        drawn, _ = self.first.draw_allowed(persons, limits, rng)
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
        """Draw whether states change, and the new states; with ``widen`` only changes."""
        drawn = past.now.copy()
        if self.states is None:
            return Column(self.variable, drawn)
        movers = np.arange(len(drawn))
        if not widen:
            movers = np.flatnonzero(self.moves.draw(past.table, rng).data == 1)
        for attempt in range(MAX_STATE_TRIES):
            if not len(movers):
                break
            wide = max(0, widen - 1) + max(0, attempt - MAX_STATE_TRIES // 2)
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
    """Learn the states of the last period given the past.

    Parameters
    ----------
    before : PanelTable
        Persons with rows before the last period, in order, with all variables.
    panel : PanelTable
        All persons and periods, with the variables that are drawn before careers.
    states : array, shape (r,)
        States of the rows of ``panel``.
    absent : int
        Code of absence: one more than those of the states.
    rules : sequence of PathRule
        Rules about the states.
    models : pair of ConditionalModel
        Model of whether a state changes, and model of new states.
    rng : Generator
        Source of random numbers.
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
    allowed = np.eye(absent + 1, dtype=bool)  # transitions in the data, and staying
    has_begun = np.maximum.accumulate(matrix < absent, axis=1)[:, :-1]
    allowed[matrix[:, :-1][has_begun], matrix[:, 1:][has_begun]] = True
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
