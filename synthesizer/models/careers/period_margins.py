"""Careers from margins: the length of each history, and the state of each period by itself.

A low-fidelity file keeps no relation between variables, and so none between periods of a person
(Raab, McCall and Cavin 2025, arXiv 2503.14211). A history has no gaps. Its first period has the
distribution of first periods, among those that leave room for its length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthesizer.data.options import NotNegativeCount, options
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.panel.paths import PathRule, count_states
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Variable
from synthesizer.models.base import Abilities
from synthesizer.models.histories.history import FittedCareerModel, HistoryModel, PathRules
from synthesizer.models.kit.numerics import check_floats


@dataclass(frozen=True, eq=False)
class FittedPeriodMargins(FittedCareerModel):
    """Shares of lengths, of first periods, and of the states of each period."""

    variable: Variable
    lengths: FloatArray
    """Share of persons with 1, ..., T rows, shape (T,)."""
    firsts: FloatArray
    """Share of persons whose first row is in each period, shape (T,)."""
    states: FloatArray
    """Share of each of S states, by period, shape (T, S)."""
    rules: tuple[PathRule, ...]

    def __post_init__(self) -> None:
        n_periods, n_states = len(self.lengths), count_states(self.variable)
        shapes = {"lengths": (-1,), "firsts": (n_periods,), "states": (n_periods, n_states)}
        for name, shape in shapes.items():
            check_floats(name, shares := getattr(self, name), shape)
            if (shares < 0).any() or not np.allclose(shares.sum(axis=-1), 1):
                raise ValueError(f"{name} must lie in [0, 1] and add up to 1")

    def open(
        self, persons: PanelTable, *, rng: np.random.Generator
    ) -> tuple[PanelIndex, Column | None]:
        """Draw the careers of n persons; see `FittedCareerModel.open`."""
        n, n_periods = persons.n_units, len(self.lengths)
        lengths = 1 + rng.choice(n_periods, n, p=self.lengths)
        periods = np.arange(n_periods)
        fits = periods + lengths[:, None] <= n_periods
        starts = _drawn(fits * self.firsts, fits, rng)
        present = (periods >= starts[:, None]) & (periods < (starts + lengths)[:, None])
        index = PanelIndex.of_presence(present, persons.index.times)
        states = self._states(present, rng)[present].astype(np.int32)
        return index, Column(self.variable, states) if self.variable.is_coded else None

    def _states(self, present: BoolArray, rng: np.random.Generator) -> IntArray:
        """Return a state for each person and period; each step obeys the rules, or is none."""
        stay = np.eye(self.states.shape[1], dtype=bool)
        matrices = [rule.allowed for rule in self.rules if rule.allowed is not None]
        reach = stay | np.logical_and.reduce([np.ones_like(stay), *matrices])
        states = np.zeros(present.shape, dtype=np.int64)
        for period, shares in enumerate(self.states):
            before = states[:, period - 1]
            may = reach[before] | ~present[:, [period - 1]] | (period == 0)
            states[:, period] = _drawn(may * shares, stay[before], rng)
        return states


def _drawn(weights: FloatArray, instead: BoolArray, rng: np.random.Generator) -> IntArray:
    """Draw a column for each row by its weights, shape (n, k); by ``instead`` if all are 0."""
    weights = np.where(weights.sum(axis=1, keepdims=True) > 0, weights, instead)
    ends = np.cumsum(weights, axis=1)
    points = rng.random(len(weights)) * ends[:, -1]
    return np.asarray((points[:, None] >= ends).sum(axis=1))


@options
class PeriodMargins(HistoryModel):
    """Draw lengths of histories, and states of each period, independently of all else.

    Parameters
    ----------
    min_holders : int
        Fewest persons with a length, a first period, or a state in a period. Lengths of fewer
        persons join the nearest one; rarer first periods and states of a period are not drawn
        there. 0 releases all.

    Examples
    --------
    >>> from synthesizer.data.table import Kind
    >>> index = PanelIndex.of_presence(np.ones((40, 3), dtype=bool), np.arange(3.0))
    >>> state = Variable(name="state", kind=Kind.CATEGORICAL, levels=("school", "work"))
    >>> codes = np.tile(np.array([0, 0, 1], dtype=np.int32), 40)
    >>> fitted = PeriodMargins().fit(
    ...     PanelTable((), index), Column(state, codes), rng=np.random.default_rng(1)
    ... )
    >>> persons = PanelTable((), PanelIndex.of_persons(5, index.times))
    >>> fitted.open(persons, rng=np.random.default_rng(2))[1].data[:3].tolist()
    [0, 0, 1]
    """

    abilities = Abilities(panel=True, career=True, stores_values=False)
    fitted_type = FittedPeriodMargins
    in_words = "the distributions of lengths of histories and of the states of each period"

    min_holders: NotNegativeCount = 5

    def fit_history(
        self,
        predictors: PanelTable,
        target: Column,
        rules: PathRules,
        *,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> FittedPeriodMargins:
        """Count persons by length, first period, and state of a period."""
        index, variable = predictors.index, target.variable
        n_periods, n_states = index.n_periods, count_states(variable)
        codes = target.data if variable.is_coded else np.zeros(index.n_rows)
        cells = index.period * n_states + codes.astype(np.int64)
        counts = np.bincount(cells, minlength=n_periods * n_states).reshape(n_periods, n_states)
        pooled = self._held(counts.sum(axis=0))
        held = np.array([self._held(row, pooled) for row in counts])
        firsts = np.bincount(index.period[index.starts], minlength=n_periods)
        ends = self._lengths(index), self._held(firsts)
        return FittedPeriodMargins(variable, *ends, held, tuple(rules))

    def _held(self, counts: IntArray, instead: FloatArray | None = None) -> FloatArray:
        """Return shares without those of fewer persons; ``instead`` if none is left."""
        held = np.where(counts >= self.min_holders, counts, 0)
        if not held.sum():
            held = np.where(counts > 0, 1, 0) if instead is None else instead
        return np.asarray(held / held.sum())

    def _lengths(self, index: PanelIndex) -> FloatArray:
        """Return the shares of lengths; rare ones join the nearest length of many persons."""
        counts = np.bincount(index.counts, minlength=index.n_periods + 1)[1:]
        many = np.flatnonzero(counts >= max(self.min_holders, 1))
        if not len(many):
            return self._held(counts)
        nearest = many[np.argmin(np.abs(np.arange(len(counts))[:, None] - many), axis=1)]
        return np.asarray(np.bincount(nearest, counts / counts.sum(), len(counts)), np.float64)
