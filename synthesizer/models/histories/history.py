"""The interface of a model of histories: a conditional model that uses persons and periods."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import field
from typing import ClassVar, Self

import numpy as np

from synthesizer.data.errors import ModelError, Problems, RuleError
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
    """The result of the fit of a model of histories."""

    @abstractmethod
    def draw(self, predictors: PanelTable, limits: Limits, *, rng: np.random.Generator) -> Column:
        """Draw a value for every row, within the rules and limits.

        Raises
        ------
        RuleError
            If no value is allowed in some row.
        """

    def follow(
        self, predictors: PanelTable, past: Column, limits: Limits, *, rng: np.random.Generator
    ) -> Column:
        """Return values of the rows of the last period, given those before it.

        ``past`` has a value for every row; those of the last period have no meaning. Only models
        that `HistoryModel.fit_last` returns have this method.
        """
        raise NotImplementedError

    def begun(
        self, predictors: PanelTable, drawn: Column, limits: Limits, *, rng: np.random.Generator
    ) -> tuple[Column, IntArray]:
        """Return values of the last period, with new draws for persons who are new in it.

        ``drawn`` are values of the rows of the last period; those of new persons are replaced. Also
        return the positions of the other persons among these rows.
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
    """The result of the fit of a model of careers: it draws rows of persons and their states."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Choices of the fit and problems of draws; no confidential values."""
        return ()

    @abstractmethod
    def open(
        self, persons: PanelTable, *, rng: np.random.Generator
    ) -> tuple[PanelIndex, Column | None]:
        """Draw a career for each of n persons; every person is present in at least one period.

        Return the r rows of persons and periods, and their states, None for presence only.
        """

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:  # noqa: ARG002
        """Raise ModelError: careers define the rows, so they cannot be drawn for given rows."""
        raise ModelError("a panel has one career; name one career variable")


@options
class HistoryModel(ConditionalModel):
    """A conditional model that takes the persons and periods of a panel."""

    abilities = Abilities(panel=True)

    left_out: ClassVar[tuple[str, ...]] = ()
    """Predictors that the history must not add; set by `leaving_out`, no option."""

    def own_predictors(self, predictors: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Return the names of the predictors that the history adds; none by default.

        Each starts with ``own.``. Users may name them under ``predictors`` and ``exclude``.
        """
        return ()

    def leaving_out(self, names: Iterable[str]) -> Self:
        """Return the model without some of the predictors that it adds."""
        model = copy(self)
        object.__setattr__(model, "left_out", tuple(names))
        return model

    def of_persons(self, persons: int) -> Self:
        """Return the model with the settings for a panel; see `ConditionalModel.of_persons`."""
        return super().of_persons(persons).leaving_out(self.left_out)

    @abstractmethod
    def fit_history(
        self, predictors: PanelTable, target: Column, rules: PathRules, *, rng: np.random.Generator
    ) -> FittedModel:
        """Learn from the r rows of a confidential panel.

        ``target`` has r values, including missing codes; draws satisfy the ``rules`` about it.

        Raises
        ------
        RuleError
            If the model cannot satisfy a rule.
        """

    def fit_last(
        self,
        predictors: PanelTable,  # noqa: ARG002 - for the models that override this
        target: Column,
        rules: PathRules,  # noqa: ARG002
        *,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> FittedHistory:
        """Learn the last period given those before it, and persons who are new in it.

        The result has `FittedHistory.follow`.

        Raises
        ------
        ModelError
            If the model draws whole histories only.
        """
        raise ModelError(
            f"variable {target.name!r}: its model draws whole histories and cannot continue "
            "published ones; choose another, such as lag_one"
        )

    @property
    def stepping(self) -> tuple[str, ...]:
        """Predictors whose changes from row to row the options refer to."""
        return ()

    def doubts(self, predictors: PanelTable, target: Column) -> Iterator[str]:  # noqa: ARG002
        """Yield evidence in the confidential data against the model, with counts.

        The plan prints it as a note, before any fit.
        """
        yield from ()

    def rule_problems(self, variable: str, rules: PathRules) -> list[str]:  # noqa: ARG002
        """Return problems with rules that this model cannot satisfy; none by default."""
        return []

    def refuse_rules(self, variable: str, rules: PathRules) -> None:
        """Raise RuleError if there are rules that this model cannot satisfy."""
        Problems(self.rule_problems(variable, rules)).settle(RuleError)

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
        """Return the replacement of numbers that are rare in all periods together."""
        return SafeNumbers.of(target, min_holders_of(self.base), predictors.owners)


def panel_of(table: Table) -> PanelTable:
    """Return the panel; raises ModelError for a table without persons and periods."""
    if isinstance(table, PanelTable):
        return table
    raise ModelError(
        "this model needs persons and periods; declare them under `panel`, or use a model such "
        "as 'cart'"
    )
