"""A longitudinal variable given its nearest earlier value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np

from synthesizer.data.table import BoolArray, Column, IntArray, Table
from synthesizer.histories.base import FittedHistory, HistoryModel, Limits, rules_from
from synthesizer.histories.changes import change_names, changing_names, with_changes
from synthesizer.histories.parts import Part, fit_part, fit_sign, signs
from synthesizer.histories.walk import walked
from synthesizer.models.base import ConditionalModel, FittedModel, FittedWrapper, ReadInner
from synthesizer.models.cart import Cart
from synthesizer.panel.past import PAST, past_columns
from synthesizer.panel.paths import PathRule
from synthesizer.panel.table import PanelTable
from synthesizer.panel.view import differing

__all__ = ["FittedLagOne", "LagOne"]

TRIES = 8
"""Draws of a new value before a move that leads back to the old one counts as staying."""

POOLED = -1
"""Stands for all periods together."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Steps:
    """How the value of a later row is drawn: whether it moves, and where to."""

    moves: Part | None
    values: Part | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "moves": None if self.moves is None else self.moves.to_dict(),
            "values": None if self.values is None else self.values.to_dict(),
        }

    @classmethod
    def read(cls, state: Mapping[str, Any], inner: ReadInner) -> Self:
        """Rebuild from ``to_dict``."""
        parts = {k: None if s is None else Part.read(s, inner) for k, s in state.items()}
        return cls(moves=parts["moves"], values=parts["values"])


class FittedLagOne(FittedWrapper, FittedHistory):
    """The first value of a person, and the steps from period to period."""

    def __init__(
        self,
        first: Part,
        later: Mapping[int, Steps],
        rules: Sequence[PathRule],
        *,
        changes: Sequence[str] | None,
    ) -> None:
        self.first = first
        self.later = later
        self.rules = tuple(rules)
        self.changes = None if changes is None else tuple(changes)

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

    def to_dict(self) -> dict[str, Any]:
        """Return the parts as plain values."""
        return {
            "first": self.first.to_dict(),
            "later": [[period, steps.to_dict()] for period, steps in self.later.items()],
            "rules": [rule.to_dict() for rule in self.rules],
            "changes": None if self.changes is None else list(self.changes),
        }

    @classmethod
    def read(cls, state: Mapping[str, Any], inner: ReadInner) -> Self:
        """Rebuild from ``to_dict``."""
        return cls(
            Part.read(state["first"], inner),
            {int(period): Steps.read(own, inner) for period, own in state["later"]},
            rules_from(state["rules"]),
            changes=None if state["changes"] is None else [str(n) for n in state["changes"]],
        )


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


@dataclass(frozen=True, kw_only=True)
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
    >>> from synthesizer.data.schema import Kind, Variable
    >>> from synthesizer.panel.index import PanelIndex
    >>> index = PanelIndex.of_presence(np.ones((60, 4), dtype=bool), np.arange(4.0))
    >>> grade = Variable(name="grade", kind=Kind.ORDERED, levels=("1", "2", "3", "4"))
    >>> data = PanelTable((), index)
    >>> target = Column(grade, np.tile(np.arange(4, dtype=np.int32), 60))
    >>> fitted = LagOne(base=Cart(min_leaf=5)).fit(data, target, rng=np.random.default_rng(1))
    >>> fitted.sample(data, rng=np.random.default_rng(2)).data[:4].tolist()
    [0, 1, 2, 3]
    """

    fitted_type: ClassVar[type[FittedModel]] = FittedLagOne

    base: ConditionalModel = field(default_factory=Cart)
    fit_by: Literal["pooled", "by_period"] = "pooled"
    stay_or_move: bool = True
    changes: bool = True
    min_rows: int = 100

    option_aliases: ClassVar[Mapping[str, str]] = {"fit": "fit_by"}

    def __post_init__(self) -> None:
        if self.min_rows < 1:
            raise ValueError(f"min_rows ({self.min_rows}) must be at least 1")

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
        return FittedLagOne(first, steps, rules, changes=names)

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
