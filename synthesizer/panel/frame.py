"""What a panel's chain knows besides its variables: the periods, and which one is the career."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from synthesizer.data.schema import Kind, Variable
from synthesizer.data.table import Column, FloatArray
from synthesizer.panel.index import PanelIndex
from synthesizer.panel.summaries import person_summary, row_summary
from synthesizer.panel.table import PanelTable

__all__ = ["BLOCK_PERSONS", "Frame"]

BLOCK_PERSONS = 5_000
"""Persons drawn with one generator; a constant, since the draws depend on it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Frame:
    """The periods of a panel and its career variable.

    Parameters
    ----------
    periods : Column
        One row a period, in order: what the variable of time holds.
    times : ndarray of float, shape (T,)
        Moments of the periods.
    career : str or None
        The variable of the careers; None where only presence is a career.
    """

    periods: Column
    times: FloatArray
    career: str | None = None

    @property
    def time(self) -> str:
        """Name of the variable of time."""
        return self.periods.name

    @property
    def derived(self) -> tuple[str, ...]:
        """Names of what follows from the careers: time and their attributes."""
        return (self.time, *self.personal, *self._names[1])

    @property
    def personal(self) -> tuple[str, ...]:
        """Names of those attributes that are one value a person."""
        return self._names[0]

    @property
    def _names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the attributes of persons, and of those of rows."""
        seen = np.ones((1, 1), dtype=bool)
        index = PanelIndex.of_presence(seen, self.times[:1])
        states = None
        if self.career is not None:
            states = Column(
                Variable(name=self.career, kind=Kind.CATEGORICAL, levels=("",)),
                np.zeros(1, dtype=np.int32),
            )
        return (
            tuple(column.name for column in person_summary(index, states)),
            tuple(column.name for column in row_summary(index, states)),
        )

    def started(self, n_persons: int) -> PanelTable:
        """Return persons about whom nothing is drawn yet."""
        return PanelTable((), PanelIndex.of_persons(n_persons, self.times))

    def opened(self, table: PanelTable, index: PanelIndex, states: Column | None) -> PanelTable:
        """Return the rows of the careers, with everything that follows from them."""
        table = table.opened(index)
        if states is not None:
            table = table.with_column(states)
        return self.completed(table)

    def completed(self, table: PanelTable) -> PanelTable:
        """Add time and the attributes of the careers: predictors of what is drawn later."""
        index = table.index
        states = None if self.career is None else table[self.career]
        table = table.with_column(self.periods.take(index.period))
        for column in person_summary(index, states):
            table = table.with_column(table.spread(column))
        for column in row_summary(index, states):
            table = table.with_column(column)
        return table

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a saved model."""
        return {"periods": self.periods.to_dict(), "times": self.times, "career": self.career}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild from ``to_dict``; raises ValueError where the periods do not rise."""
        times = np.asarray(state["times"], dtype=np.float64)
        periods = Column.from_dict(state["periods"])
        if not len(times) or len(times) != len(periods) or (np.diff(times) <= 0).any():
            raise ValueError("the periods of a panel must rise")
        career = state["career"]
        return cls(periods=periods, times=times, career=None if career is None else str(career))
