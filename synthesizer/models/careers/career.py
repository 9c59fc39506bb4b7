"""The careers of a panel: who is there when, and in which state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from synthesizer.data.errors import RuleError
from synthesizer.data.options import options
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.panel.paths import PathRule
from synthesizer.data.table import BoolArray, Column, IntArray, Kind, Variable
from synthesizer.models.base import Abilities, FittedModel
from synthesizer.models.careers.career_options import CareerOptions
from synthesizer.models.careers.fitted import FittedCareers
from synthesizer.models.careers.fitting import fit_careers
from synthesizer.models.histories.history import FittedCareerModel, HistoryModel

TRIES = 50
"""Careers drawn for a person who is never there before the run stops."""


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
        """Code of absence: one more than the codes of the variable."""
        return self.variable.n_codes if self.variable.is_coded else 1

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the careers, under the name of their variable."""
        return tuple(f"careers of {self.variable.name!r}: {note}" for note in self.careers.notes)

    def open(
        self, persons: PanelTable, *, rng: np.random.Generator
    ) -> tuple[PanelIndex, Column | None]:
        """Draw the careers of n persons; see `FittedCareerModel.open`."""
        n = persons.n_units
        drawn = self.careers.sample(persons.first_rows, n, rng=rng)
        nobody = np.flatnonzero((drawn >= self.absent).all(axis=1))
        for _ in range(TRIES):
            if not len(nobody):
                break
            own = persons.first_rows.take(nobody)
            drawn[nobody] = self.careers.sample(own, len(nobody), rng=rng)
            nobody = nobody[(drawn[nobody] >= self.absent).all(axis=1)]
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

    abilities: ClassVar[Abilities] = Abilities(
        kinds=frozenset({Kind.CATEGORICAL, Kind.ORDERED, Kind.BOOLEAN, Kind.NUMERIC, Kind.DATE}),
        panel=True,
        career=True,
    )
    fitted_type: ClassVar[type[FittedModel]] = FittedCareer
    in_words: ClassVar[str] = (
        "a model of whole careers (number, lengths and states of their spells)"
    )

    def fit_history(
        self,
        predictors: PanelTable,
        target: Column,
        rules: Sequence[PathRule],
        *,
        rng: np.random.Generator,
    ) -> FittedCareer:
        """Fit to the whole careers; see `HistoryModel.fit_history`."""
        index, variable = predictors.index, target.variable
        absent = variable.n_codes if variable.is_coded else 1
        states = target.data if variable.is_coded else np.zeros(index.n_rows, dtype=np.int32)
        sequences = index.matrix(np.asarray(states, dtype=np.int32), absent)
        steps = _steps(rules, absent)
        if steps is not None:
            sequences = steps.with_gaps(sequences)
        careers = fit_careers(
            sequences,
            absent + 1 if steps is None else len(steps.allowed),
            predictors.first_rows,
            self,
            allowed=None if steps is None else steps.allowed,
            first_allowed=None if steps is None else steps.first,
            out_codes=range(absent, absent + 1 if steps is None else len(steps.allowed)),
            rng=rng,
        )
        return FittedCareer(careers, variable, tuple(rules))


@dataclass(frozen=True, eq=False)
class _Steps:
    """Which state may follow which, where absence remembers what it may lead to.

    A rule holds across a gap, too, so that states after which the same states may come share a
    code of absence; the first of these codes is absence after which anything may come. A gap may
    always lead back to the state before it, since staying is never a step: an absorbing state may
    have gaps, too. Absence for good is the highest code.

    Parameters
    ----------
    allowed : ndarray of bool, shape (A, A)
        Which code may follow which.
    group : ndarray of int, shape (S,)
        Code of absence after each of S states.
    """

    allowed: BoolArray
    group: IntArray

    @property
    def first(self) -> BoolArray:
        """Which codes may come first, shape (A,)."""
        states = len(self.group)
        return np.arange(len(self.allowed)) <= states

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


def _steps(rules: Sequence[PathRule], states: int) -> _Steps | None:
    """Return which of ``states`` codes may follow which; None where all may."""
    matrices = [rule.allowed for rule in rules if rule.allowed is not None]
    if not matrices:
        return None
    reach = np.logical_and.reduce(matrices) | np.eye(states, dtype=bool)
    ways, group = np.unique(
        np.vstack([np.ones(states, dtype=bool), reach]), axis=0, return_inverse=True
    )
    ways, group = (
        ways[::-1],
        len(ways) - 1 - group.ravel(),
    )  # all ways are the last of the sorted rows
    gone = states + len(ways)
    allowed = np.zeros((gone + 1, gone + 1), dtype=bool)
    allowed[:states, :states] = reach
    allowed[:states, gone] = True
    own = states + group[1:]
    allowed[np.arange(states), own] = True
    allowed[states:gone, :states] = ways
    return _Steps(allowed, own)
