"""The careers of a panel: who is there when, and in which state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthesizer.data.errors import RuleError
from synthesizer.data.options import options
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.panel.paths import PathRule
from synthesizer.data.table import BoolArray, Column, IntArray, Variable
from synthesizer.models.base import Abilities
from synthesizer.models.careers.fitted_careers import CareerOptions, FittedCareers, fit_careers
from synthesizer.models.histories.history import FittedCareerModel, HistoryModel, PathRules

TRIES = 50
"""Careers drawn again for a person who is never there before the run stops."""


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
        """Code of absence, see `_absence`."""
        return _absence(self.variable)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the careers, under the name of their variable."""
        return tuple(f"careers of {self.variable.name!r}: {note}" for note in self.careers.notes)

    def open(
        self, persons: PanelTable, *, rng: np.random.Generator
    ) -> tuple[PanelIndex, Column | None]:
        """Draw the careers of n persons; see `FittedCareerModel.open`."""
        nobody = np.arange(persons.n_units)
        drawn = np.empty((len(nobody), self.careers.n_periods), dtype=np.int32)
        for _ in range(1 + TRIES):
            first_rows = persons.first_rows.take(nobody)
            drawn[nobody] = self.careers.sample(first_rows, len(nobody), rng=rng)
            nobody = nobody[(drawn[nobody] >= self.absent).all(axis=1)]
            if not len(nobody):
                break
        if len(nobody):
            raise RuleError(
                f"variable {self.variable.name!r}: {len(nobody)} synthetic persons are in no "
                "period at all after many draws; relax the rules of the careers"
            )
        index = PanelIndex.of_presence(drawn < self.absent, persons.index.times)
        if not self.variable.is_coded:
            return index, None
        states = drawn[index.person, index.period].astype(np.int32)
        return index, Column(self.variable, states)


@options
class Career(HistoryModel, CareerOptions):
    """Careers as number of runs G, their lengths Z, and their states W.

    G by its observed frequencies; Z given G by a mixture of Dirichlet distributions on the
    simplex, which gives positive probability to lengths that nobody has; W given Z and G run by
    run. Absence is a state. Where a panel names no career variable, being there is the career.
    Source: Barrientos et al. (2018), section 3.2.1.

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

    def fit_history(
        self, predictors: PanelTable, target: Column, rules: PathRules, *, rng: np.random.Generator
    ) -> FittedCareer:
        """Fit to the whole careers; see `HistoryModel.fit_history`."""
        index, variable = predictors.index, target.variable
        absent = _absence(variable)
        states = target.data if variable.is_coded else np.zeros(index.n_rows)
        sequences = index.matrix(states.astype(np.int32), absent)
        is_once = not self.new_moves and _is_once(sequences < absent)
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


def _absence(variable: Variable) -> int:
    """Return the code of absence: one more than the codes of the variable."""
    return variable.n_codes if variable.is_coded else 1


@dataclass(frozen=True, eq=False)
class _Steps:
    """Which state may follow which, where absence remembers what it may lead to.

    A rule holds across a gap, too, so that states after which the same states may come share a
    code of absence; the first of these codes is absence after which anything may come. A gap may
    always lead back to the state before it, since staying is never a step: an absorbing state may
    have gaps, too. Absence for good is the highest code.
    """

    allowed: BoolArray
    """Which code may follow which, shape (A, A)."""
    group: IntArray
    """Code of absence after each of S states, shape (S,)."""

    @property
    def first(self) -> BoolArray:
        """Which codes may come first, shape (A,)."""
        return np.arange(len(self.allowed)) <= len(self.group)

    def with_gaps(self, sequences: IntArray) -> IntArray:
        """Write the codes of absence into sequences that have one for all, shape (n, T)."""
        states = len(self.group)
        there = sequences < states
        later = np.maximum.accumulate(there[:, ::-1], axis=1)[:, ::-1]
        place = np.maximum.accumulate(np.where(there, np.arange(there.shape[1]), -1), axis=1)
        before = np.take_along_axis(sequences, np.maximum(place, 0), axis=1)
        gap = np.append(self.group, states)[np.where(place < 0, states, before)]
        absence = np.where(later, gap, len(self.allowed) - 1)
        return np.where(there, sequences, absence).astype(np.int32)


def _is_once(there: BoolArray) -> bool:
    """Whether persons come and go, but nobody comes back, by who is there when, shape (n, T)."""
    comes = there[:, 0] + (there[:, 1:] & ~there[:, :-1]).sum(axis=1)
    return bool(comes.max() == 1 and not there.all())


def _steps(rules: PathRules, states: int) -> _Steps:
    """Return which of ``states`` codes may follow which, by the rules about steps."""
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
