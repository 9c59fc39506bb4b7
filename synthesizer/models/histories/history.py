"""The contract of a model of histories: a conditional model that sees persons and periods."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import field
from typing import ClassVar, Self

import numpy as np

from synthesizer.data.errors import ModelError, RuleError
from synthesizer.data.options import options
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.panel.paths import PathRule
from synthesizer.data.table import Column, IntArray, Table
from synthesizer.models.base import Abilities, ConditionalModel, FittedModel
from synthesizer.models.cart import Cart
from synthesizer.models.kit.numbers import SafeNumbers, min_holders_of
from synthesizer.models.limits import Limits

PathRules = Sequence[PathRule]


class FittedHistory(FittedModel):
    """What a model of histories learnt."""

    @abstractmethod
    def draw(self, predictors: PanelTable, limits: Limits, *, rng: np.random.Generator) -> Column:
        """Draw a value for every row, inside the rules and limits.

        Raises
        ------
        RuleError
            If nothing is allowed.
        """

    def follow(
        self,
        predictors: PanelTable,
        past: Column,
        limits: Limits,
        *,
        rng: np.random.Generator,
    ) -> Column:
        """Draw the rows of the last period, given those before it.

        ``past`` holds a value for every row; those of the last period mean nothing. The result has
        a value for each row of the last period. Models that `HistoryModel.fit_last` returns.
        """
        raise NotImplementedError

    def begun(
        self,
        predictors: PanelTable,
        drawn: Column,
        limits: Limits,
        *,
        rng: np.random.Generator,
    ) -> tuple[Column, IntArray]:
        """Draw whole histories of who is new in the last period, and tell who is not.

        ``drawn`` holds values of the rows of the last period; those of new persons are replaced.
        Also returns the places of the others among these rows.
        """
        index = predictors.index
        rows = index.by_period[-1]
        is_new = index.is_first[rows]
        if is_new.any():
            persons = index.person[rows[is_new]]
            theirs = limits.of_rows(index.rows_of(persons))
            new = self.draw(predictors.take_units(persons), theirs, rng=rng)
            drawn = drawn.replaced(np.flatnonzero(is_new), new)
        return drawn, np.flatnonzero(~is_new)

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

        Returns who is there when, r rows, and their states, None where careers are presence only.
        """

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:  # noqa: ARG002
        """Refuse: careers are opened, not drawn on rows that are there already."""
        raise ModelError("a career is drawn once a panel; name one career variable")


@options
class HistoryModel(ConditionalModel):
    """A conditional model that takes the persons and periods of a panel."""

    abilities = Abilities(panel=True)

    left_out: ClassVar[tuple[str, ...]] = ()
    """Predictors that the history would add and shall not: no option, `leaving_out` sets it."""

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

    def of_persons(self, persons: int) -> Self:
        """Return the model around one for so many persons; see `ConditionalModel.of_persons`."""
        return super().of_persons(persons).leaving_out(self.left_out)

    @abstractmethod
    def fit_history(
        self, predictors: PanelTable, target: Column, rules: PathRules, *, rng: np.random.Generator
    ) -> FittedModel:
        """Learn from the r rows of a confidential panel.

        ``target`` holds r values, missing codes included; draws keep the ``rules`` about it.

        Raises
        ------
        RuleError
            If no draw of the model could keep a rule.
        """

    def fit_last(
        self,
        predictors: PanelTable,  # noqa: ARG002 - for the models that override this
        target: Column,
        rules: PathRules,  # noqa: ARG002
        *,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> FittedHistory:
        """Learn how the last period follows from those before it, and who is new in it.

        What is learnt has `FittedHistory.follow`.

        Raises
        ------
        ModelError
            If the model draws whole histories only.
        """
        raise ModelError(
            f"variable {target.name!r}: its model draws whole histories and cannot go on from "
            "published ones; name another, such as lag_one"
        )

    @property
    def stepping(self) -> tuple[str, ...]:
        """Predictors that the options name for their changes from row to row."""
        return ()

    def doubts(
        self,
        predictors: PanelTable,  # noqa: ARG002 - for the models that override this
        target: Column,  # noqa: ARG002
    ) -> Iterator[str]:
        """Say what in the confidential data speaks against the model, with counts.

        The plan tells it as a note, before any fit.
        """
        yield from ()

    def rule_problems(
        self,
        variable: str,  # noqa: ARG002 - for the models that override this
        rules: PathRules,  # noqa: ARG002
    ) -> list[str]:
        """Say which rules about a variable no draw of this model could keep; none by default."""
        return []

    def refuse_rules(self, variable: str, rules: PathRules) -> None:
        """Raise RuleError if there are rules that no draw of this model could keep."""
        problems = self.rule_problems(variable, rules)
        if problems:
            raise RuleError(problems)

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedModel:
        """Learn without rules from period to period."""
        return self.fit_history(panel_of(predictors), target, (), rng=rng)


@options
class WrappedHistory(HistoryModel):
    """A model of histories around a model of single values.

    Parameters
    ----------
    base : model
        Model of single values: any conditional model.
    """

    base: ConditionalModel = field(default_factory=Cart)

    def safe_numbers(self, predictors: PanelTable, target: Column) -> SafeNumbers | None:
        """Return what replaces numbers that few persons hold in any period."""
        return SafeNumbers.of(target, min_holders_of(self.base), predictors.owners)


def panel_of(table: Table) -> PanelTable:
    """Return the panel; raises ModelError for a table without persons and periods."""
    if isinstance(table, PanelTable):
        return table
    raise ModelError(
        "this model needs persons and periods; declare them under `panel`, or use a model such "
        "as 'cart'"
    )
