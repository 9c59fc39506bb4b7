"""The clauses of the contract for models that see persons and periods.

Models of histories (`synthesizer.histories.base.HistoryModel`) and of careers: what
`synthesizer.testing.check_model` asks of a model whose abilities name a panel.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from synthesizer.data.schema import Kind
from synthesizer.data.table import BoolArray, Column, IntArray
from synthesizer.errors import RuleError
from synthesizer.histories.base import (
    FittedCareerModel,
    FittedHistory,
    HistoryModel,
    Limits,
    reserve_of,
)
from synthesizer.models.base import ConditionalModel, FittedModel
from synthesizer.panel.index import PanelIndex
from synthesizer.panel.paths import PathRule, broken_steps
from synthesizer.panel.table import PanelTable
from synthesizer.testing_data import panel_predictors
from synthesizer.testing_tools import (
    check_column,
    copies,
    equal,
    read_only,
    rebuilt,
    require,
    require_no_frame,
    unchanged,
)

__all__ = ["PanelCase", "panel_clauses"]


@dataclasses.dataclass(frozen=True)
class PanelCase:
    """One model of a panel with the data to test it on."""

    model: ConditionalModel
    predictors: PanelTable
    target: Column

    def fit(self, seed: int = 1) -> FittedModel:
        """Fit to the whole case."""
        return self.model.fit(self.predictors, self.target, rng=np.random.default_rng(seed))

    def of_persons(self, persons: IntArray) -> PanelCase:
        """Return the case of some persons."""
        rows = self.predictors.index.rows_of(persons)
        own = self.predictors.take_units(persons)
        return dataclasses.replace(self, predictors=own, target=self.target.take(rows))

    def of_rows(self, index: PanelIndex) -> PanelCase:
        """Return the first values as rows of other persons."""
        rows = slice(0, index.n_rows)
        columns = [column.take(rows) for column in self.predictors.columns]
        own = PanelTable(columns, index)
        return dataclasses.replace(self, predictors=own, target=self.target.take(rows))


@dataclasses.dataclass(frozen=True)
class _Drawn:
    """What was drawn: for whom, when, and which values; None for presence only."""

    index: PanelIndex
    values: Column | None

    def equals(self, other: _Drawn) -> bool:
        one, two = self.index, other.index
        if not np.array_equal(one.person, two.person) or not np.array_equal(one.period, two.period):
            return False
        if self.values is None or other.values is None:
            return self.values is other.values
        return equal(self.values, other.values)


def _draw(fitted: FittedModel, table: PanelTable, seed: int = 2) -> _Drawn:
    rng = np.random.default_rng(seed)
    if isinstance(fitted, FittedCareerModel):
        persons = PanelTable(
            table.first_rows.columns, PanelIndex.of_persons(table.n_units, table.index.times)
        )
        return _Drawn(*fitted.open(persons, rng=rng))
    return _Drawn(table.index, fitted.sample(table, rng=rng))


def _check(drawn: _Drawn, case: PanelCase, table: PanelTable) -> None:
    """Require values of the target for the rows of a panel, or for those of careers."""
    index = drawn.index
    if case.model.abilities.career:
        require(index.n_persons == table.n_units, "careers of other persons were drawn")
        seen = np.bincount(index.person, minlength=index.n_persons)
        require((seen > 0).all(), "a person is there in no period")
        key = index.person * index.n_periods + index.period
        require((np.diff(key) > 0).all(), "rows are not in order of persons and periods")
        require(np.array_equal(index.times, table.index.times), "the periods are others")
    if drawn.values is None:
        require(case.model.abilities.career, "no values were drawn")
        return
    check_column(
        drawn.values,
        case.target.variable,
        index.n_rows,
        donors=case.target,
        abilities=case.model.abilities,
    )


Clause = Callable[[PanelCase], None]


def panel_clauses(model: ConditionalModel) -> tuple[Clause, ...]:
    """Return the clauses that apply to a model of a panel with its abilities."""
    always = (
        _inputs_unchanged, _read_only_inputs, _result, _same_draw, _other_draw, _saved,
        _keeps_no_frame, _few_persons, _one_period, _unseen_values, _no_predictors, _rules,
    )  # fmt: skip
    return always if model.abilities.career else (*always, _limits)


# The docstring of each clause is the sentence that a failure shows


def _inputs_unchanged(case: PanelCase) -> None:
    """Fit and draw must leave their inputs unchanged."""
    before = copies(case.predictors, case.target)
    _draw(case.fit(), case.predictors)
    unchanged(before, case.predictors, case.target)


def _read_only_inputs(case: PanelCase) -> None:
    """Fit and draw must accept read-only arrays, which parallel workers get."""
    read_only(case.predictors, case.target)
    _draw(case.fit(), case.predictors)


def _result(case: PanelCase) -> None:
    """A draw must return allowed values of the target, one for each row of a person."""
    fitted = case.fit()
    wanted = FittedCareerModel if case.model.abilities.career else FittedHistory
    require(isinstance(fitted, wanted), f"fit returned no {wanted.__name__}")
    _check(_draw(fitted, case.predictors), case, case.predictors)


def _same_draw(case: PanelCase) -> None:
    """The same generators must give the same fit and the same draw."""
    first, again = (_draw(case.fit(), case.predictors) for _ in range(2))
    require(first.equals(again), "two draws differ")


def _other_draw(case: PanelCase) -> None:
    """Another generator must give another draw."""
    if case.target.variable.n_codes == 1 and not case.model.abilities.career:
        return
    fitted = case.fit()
    first = _draw(fitted, case.predictors)
    others = [_draw(fitted, case.predictors, seed) for seed in (3, 4)]
    require(not all(first.equals(other) for other in others), "three draws are equal")


def _saved(case: PanelCase) -> None:
    """What to_dict returns must be plain, and rebuild a model that draws the same."""
    fitted = case.fit()
    again = rebuilt(case.model, fitted)
    same = _draw(fitted, case.predictors).equals(_draw(again, case.predictors))
    require(same, "the rebuilt model draws differently")


def _keeps_no_frame(case: PanelCase) -> None:
    """The fitted model must not hold the confidential predictors."""
    require_no_frame(case.fit(), case.predictors)


def _few_persons(case: PanelCase) -> None:
    """Fit must work on one person, a draw for one and for five persons."""
    for fitted in (case.fit(), case.of_persons(np.array([20])).fit()):
        for n in (1, 5):
            few = case.predictors.take_units(np.arange(20, 20 + n))
            _check(_draw(fitted, few), case, few)


def _one_period(case: PanelCase) -> None:
    """Fit and draw must work where every person is there once, in the only period."""
    one = case.of_rows(PanelIndex.of_presence(np.ones((30, 1), dtype=bool), np.array([1999.0])))
    _check(_draw(one.fit(), one.predictors), case, one.predictors)


def _unseen_values(case: PanelCase) -> None:
    """A draw must accept predictor levels and numbers that fit has not seen."""
    new = panel_predictors(unseen=True)
    _check(_draw(case.fit(), new), case, new)


def _no_predictors(case: PanelCase) -> None:
    """Fit and draw must work without any predictor."""
    bare = dataclasses.replace(case, predictors=case.predictors.select(()))
    _check(_draw(bare.fit(), bare.predictors), case, bare.predictors)


def _rules(case: PanelCase) -> None:
    """A draw must keep the rules from period to period; a fit that cannot raises RuleError."""
    if not isinstance(case.model, HistoryModel):
        return
    for rule in _path_rules(case):
        rng = np.random.default_rng(1)
        try:
            fitted = case.model.fit_history(case.predictors, case.target, (rule,), rng=rng)
            drawn = _draw(fitted, case.predictors)
        except RuleError:
            continue
        _check(drawn, case, case.predictors)
        if drawn.values is not None:
            broken = broken_steps(drawn.index, drawn.values, [rule])
            require(not broken.any(), f"{int(broken.sum())} rows break '{rule.text}'")


def _path_rules(case: PanelCase) -> list[PathRule]:
    variable, rules = case.target.variable, []
    if variable.is_coded:
        allowed = np.ones((variable.n_codes, variable.n_codes), dtype=bool)
        allowed[0, 1:] = False
        text = f"never leaves {variable.labels[0]!r}"
        rules.append(PathRule(variable=variable.name, allowed=allowed, text=text))
    ordered = variable.kind in (Kind.ORDERED, Kind.NUMERIC, Kind.DATE)
    if ordered and not case.model.abilities.career:
        rules.append(PathRule(variable=variable.name, non_decreasing=True, text="never falls"))
    return rules


def _limits(case: PanelCase) -> None:
    """A draw must keep structural zeros; where it cannot it raises RuleError."""
    fitted, table = case.fit(), case.predictors
    require(isinstance(fitted, FittedHistory), "fit returned no FittedHistory")
    first = _draw(fitted, table).values
    if first is None or not isinstance(fitted, FittedHistory):
        return

    def judge(rows: IntArray, values: Column) -> BoolArray:
        """Forbid in every other period what was drawn for the first row."""
        same = (values.data == first.data[0]) & (values.missing_state() == first.missing_state()[0])
        return np.asarray(same & (table.index.period[rows] % 2 == 1))

    limits = Limits(judge, reserve_of(case.target, np.random.default_rng(5)))
    try:
        drawn: Any = fitted.draw(table, limits, rng=np.random.default_rng(2))
    except RuleError:
        return
    _check(_Drawn(table.index, drawn), case, table)
    broken = judge(np.arange(table.n_rows), drawn)
    require(not broken.any(), f"{int(broken.sum())} rows hold what is forbidden")
