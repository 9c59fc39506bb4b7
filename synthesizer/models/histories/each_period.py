"""A variable drawn anew in every period."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthesizer.data.errors import RuleError
from synthesizer.data.options import options
from synthesizer.data.panel.panel_table import PanelTable
from synthesizer.data.table import Column, Table
from synthesizer.models.histories.history import FittedHistory, PathRules, WrappedHistory
from synthesizer.models.histories.parts import Part, fit_part
from synthesizer.models.limits import Limits


@dataclass(frozen=True, eq=False)
class FittedEachPeriod(FittedHistory):
    """A base model of the value of a row."""

    value: Part

    def draw(self, predictors: PanelTable, limits: Limits, *, rng: np.random.Generator) -> Column:
        """Draw all rows at once."""
        return self._rows(predictors, limits, rng)

    def follow(
        self,
        predictors: PanelTable,
        past: Column,  # noqa: ARG002 - no lag
        limits: Limits,
        *,
        rng: np.random.Generator,
    ) -> Column:
        """Draw the rows of the last period; see `FittedHistory.follow`."""
        rows = predictors.index.by_period[-1]
        return self._rows(predictors.take(rows), limits.of_rows(rows), rng)

    def _rows(self, predictors: Table, limits: Limits, rng: np.random.Generator) -> Column:
        drawn, bad = self.value.draw_allowed(predictors, limits, rng)
        if len(bad):
            raise RuleError(
                f"variable {drawn.name!r}: no allowed value is left for {len(bad)} synthetic rows; "
                f"relax the rules or the support, or put {drawn.name!r} earlier in the order"
            )
        return drawn


@options
class EachPeriod(WrappedHistory):
    """The value of every row given the earlier variables of the same period; no lag.

    For what follows from the period's other variables, such as pay from plan, grade and step.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> from synthesizer.data.panel.panel_table import PanelIndex
    >>> index = PanelIndex.of_presence(np.ones((50, 2), dtype=bool), np.arange(2.0))
    >>> pay = Variable(name="pay", kind=Kind.NUMERIC)
    >>> data = PanelTable((), index)
    >>> target = Column(pay, np.tile([100.0, 200.0], 50))
    >>> fitted = EachPeriod().fit(data, target, rng=np.random.default_rng(1))
    >>> sorted(set(fitted.sample(data, rng=np.random.default_rng(2)).data.tolist()))
    [100.0, 200.0]
    """

    fitted_type = FittedEachPeriod
    in_words = "a model of each period by itself"

    def rule_problems(self, variable: str, rules: PathRules) -> list[str]:
        """Refuse every rule; see `HistoryModel.rule_problems`."""
        return [
            f"variable {variable!r}: 'each_period' knows no earlier value and cannot keep the rule "
            f"{rule.text!r}; use 'lag_one'"
            for rule in rules
        ]

    def fit_history(
        self, predictors: PanelTable, target: Column, rules: PathRules, *, rng: np.random.Generator
    ) -> FittedEachPeriod:
        """Fit the base model to all rows; see `HistoryModel.fit_history`."""
        self.refuse_rules(target.name, rules)
        return FittedEachPeriod(fit_part(self.base, predictors, target, rng))

    def fit_last(
        self, predictors: PanelTable, target: Column, rules: PathRules, *, rng: np.random.Generator
    ) -> FittedEachPeriod:
        """Fit the base model to the rows of the last period; see `HistoryModel.fit_last`."""
        self.refuse_rules(target.name, rules)
        rows = predictors.index.by_period[-1]
        return FittedEachPeriod(fit_part(self.base, predictors.take(rows), target.take(rows), rng))
