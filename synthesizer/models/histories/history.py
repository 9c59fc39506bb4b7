"""The contract of a model of histories: a conditional model that sees persons and periods."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from synthesizer.data.errors import ModelError
from synthesizer.data.options import options
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.panel.paths import PathRule
from synthesizer.data.table import Column, IntArray, Table
from synthesizer.models.base import Abilities, ConditionalModel, FittedModel
from synthesizer.models.limits import Judge

RESERVE = 2_000
"""Random values that a reserve holds, beside one of each of the most frequent `MOST_VALUES`."""

MOST_VALUES = 5_000


@dataclass(frozen=True, eq=False)
class Limits:
    """What a draw has to keep to.

    Parameters
    ----------
    judge : callable or None
        Says which of the values drawn for some rows of the panel are structural zeros.
    reserve : Column or None
        Values that are searched where the model offers nothing that is allowed.
    """

    judge: Judge | None = None
    reserve: Column | None = None

    def of_rows(self, rows: IntArray) -> Limits:
        """Return the limits of a part of the rows, counted within the part."""
        judge = self.judge
        if judge is None:
            return self
        return Limits(lambda chosen, values: judge(rows[chosen], values), self.reserve)


def reserve_of(target: Column, rng: np.random.Generator) -> Column:
    """Return random values of a variable, and one of each of its most frequent ones."""
    pairs = np.stack([np.nan_to_num(np.asarray(target.data, float)), target.missing_state()])
    _, first, counts = np.unique(pairs, axis=1, return_index=True, return_counts=True)
    each = first[np.argsort(-counts, kind="stable")][:MOST_VALUES]
    return target.take(np.concatenate([rng.integers(len(target), size=RESERVE), each]))


class FittedHistory(FittedModel):
    """What a model of histories learnt."""

    @abstractmethod
    def draw(self, predictors: PanelTable, limits: Limits, *, rng: np.random.Generator) -> Column:
        """Draw a value for every row, inside the rules.

        Parameters
        ----------
        predictors : PanelTable
            r rows of n persons.
        limits : Limits
            Structural zeros.

        Returns
        -------
        Column
            Of the target's variable, r values.

        Raises
        ------
        RuleError
            If nothing is allowed.
        """

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:
        """Draw a value for every row; see `draw`."""
        return self.draw(panel_of(predictors), Limits(), rng=rng)


class FittedCareerModel(FittedModel):
    """What a model of careers learnt: it draws which rows there are, and their states."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the fit chose, or what a draw cannot do; no confidential values."""
        return ()

    @abstractmethod
    def open(
        self, persons: PanelTable, *, rng: np.random.Generator
    ) -> tuple[PanelIndex, Column | None]:
        """Draw a career for each of n persons; everybody is there in one period at least.

        Returns
        -------
        PanelIndex
            Who is there when, r rows.
        Column or None
            The states, r values; None where careers are presence only.
        """

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:  # noqa: ARG002
        """Refuse: careers are opened, not drawn on rows that are there already."""
        raise ModelError("a career is drawn once a panel; name one career variable")


@options
class HistoryModel(ConditionalModel):
    """Options of a model of histories.

    Attributes
    ----------
    left_out : tuple of str
        Predictors that the history would add and shall not; no option, see `leaving_out`.
    """

    abilities = Abilities(panel=True, stores_values=True)

    # no field of the dataclass, which holds options only: `leaving_out` sets it for a copy
    left_out: ClassVar[tuple[str, ...]] = ()

    def own_predictors(
        self,
        predictors: Sequence[str],  # noqa: ARG002 - for the models that override this
    ) -> tuple[str, ...]:
        """Return the names of what the history adds to some predictors; nothing by default.

        Each starts with ``own.``. A steward may name them under ``predictors`` and ``exclude``.
        """
        return ()

    def leaving_out(self, names: Iterable[str]) -> Self:
        """Return the model without some of the predictors that it adds."""
        model = copy(self)
        object.__setattr__(model, "left_out", tuple(names))
        return model

    @abstractmethod
    def fit_history(
        self,
        predictors: PanelTable,
        target: Column,
        rules: Sequence[PathRule],
        *,
        rng: np.random.Generator,
    ) -> FittedModel:
        """Learn from the r rows of a confidential panel.

        Parameters
        ----------
        predictors : PanelTable
            r rows.
        target : Column
            r values, missing codes included.
        rules : sequence of PathRule
            About the target; draws keep them.
        rng : numpy.random.Generator
            For whatever the fit draws.
        """

    def rule_problems(
        self,
        variable: str,  # noqa: ARG002 - for the models that override this
        rules: Sequence[PathRule],  # noqa: ARG002
    ) -> list[str]:
        """Say which rules about a variable no draw of this model could keep; none by default."""
        return []

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedModel:
        """Learn without rules from period to period."""
        return self.fit_history(panel_of(predictors), target, (), rng=rng)


def panel_of(table: Table) -> PanelTable:
    """Return the panel, or refuse a table without persons and periods.

    Raises
    ------
    ModelError
        If the table is none.
    """
    if isinstance(table, PanelTable):
        return table
    raise ModelError(
        "this model needs persons and periods; declare them under `panel`, or use a model such "
        "as 'cart'"
    )
