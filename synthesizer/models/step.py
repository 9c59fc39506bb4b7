"""One variable of the chain: before the fit (`Step`) and after it (`FittedStep`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from synthesizer.data.errors import ModelError, SynthesizerError
from synthesizer.data.expressions import Expression
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.panel.paths import OWN, PathRule
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Kind, Table, Variable
from synthesizer.models.base import ConditionalModel, FittedModel
from synthesizer.models.bounds import Bounded, Bounds, FittedBounds
from synthesizer.models.domains import Chances
from synthesizer.models.histories.history import HistoryModel, WrappedHistory, panel_of
from synthesizer.models.kit.numbers import SafeNumbers, min_holders_of
from synthesizer.models.limits import StructuralZeros, reserve_of


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Set ``value`` in rows with ``condition``; these rows do not enter the fit.

    ``value`` is a column with one row: a code, a number or a missing code.
    """

    condition: Expression
    value: Column
    is_firm: bool = True
    """Whether the configuration contains it; not for relations of the data."""

    @property
    def variable(self) -> str:
        """Name of the variable that is set."""
        return self.value.name

    def apply(self, drawn: Column, table: Table) -> Column:
        """Return ``drawn`` with the value set in rows of ``table`` with the condition."""
        rows = np.flatnonzero(self.condition.condition(table))
        if not len(rows):
            return drawn
        return drawn.replaced(rows, self.value.take(np.zeros(len(rows), dtype=np.intp)))


@dataclass(frozen=True, kw_only=True)
class Forbid:
    """A structural zero: no synthetic row may satisfy ``condition``.

    ``variable`` is its last variable in the order of the chain, which is redrawn.
    """

    condition: Expression
    variable: str
    always: str = ""
    """The opposite condition, if the configuration contains that."""
    computed: tuple[tuple[Variable, Expression], ...] = ()
    """Variables of the condition computed after ``variable``, with their expressions."""
    is_firm: bool = True
    """Whether a row without an allowed value is an error; not for relations of the data."""

    @property
    def names(self) -> frozenset[str]:
        """Variables of the condition; the inputs of those that are computed later."""
        names = set(self.condition.names)
        for variable, expression in reversed(self.computed):
            names = (names - {variable.name}) | expression.names
        return frozenset(names)

    @property
    def text(self) -> str:
        """The structural zero as in the configuration."""
        return f"rule {self.always!r}" if self.always else f"forbid {self.condition.text!r}"

    def broken(self, table: Table) -> BoolArray:
        """Return the rows that satisfy the condition, shape (n,)."""
        for variable, expression in self.computed:
            table = table.with_column(expression.derive(table, variable))
        return self.condition.condition(table)


Zero = Forbid | StructuralZeros
"""A condition that no synthetic row may satisfy; its ``variable`` is redrawn."""


def rows_outside_rules(rules: Sequence[Rule], variable: str, table: Table) -> BoolArray:
    """Return the rows in which no rule sets ``variable``, shape (n,)."""
    free = np.ones(table.n_rows, dtype=bool)
    for rule in rules:
        if rule.variable == variable:
            free &= ~rule.condition.condition(table)
    return free


def forbidden_rows(zeros: Sequence[Zero], table: Table) -> BoolArray:
    """Return the rows that are any of the structural zeros, shape (n,)."""
    bad = np.zeros(table.n_rows, dtype=bool)
    for zero in zeros:
        bad |= zero.broken(table)
    return bad


@dataclass(frozen=True, kw_only=True)
class Step:
    """One variable of the chain, its model and its predictors."""

    variable: str
    """Name of the variable that is drawn."""
    method: str
    """Name of the model in the registry."""
    model: ConditionalModel
    predictors: tuple[str, ...] = ()
    """Earlier variables of the chain."""
    max_predictors: int | None = None
    """Largest number of predictors, the most closely related ones; None for all."""
    missing_method: str | None = None
    """Name of ``missing_model``."""
    missing_model: ConditionalModel | None = None
    """Draws the missing codes of a number; None: ``model`` draws them."""
    paths: tuple[PathRule, ...] = ()
    """Rules about the variable from period to period, in a panel."""
    bounds: Bounds | None = None
    """Predictors that are bounds of the number in every row."""

    @property
    def n_predictors(self) -> int:
        """Number of predictors of the model."""
        most = max(self.max_predictors or len(self.predictors), len(self.needed))
        return min(len(self.predictors), most)

    @property
    def needed(self) -> tuple[str, ...]:
        """Predictors that models and bounds name; a screen includes them."""
        models = [m for one in (self.model, self.missing_model) if one for m in one.with_bases()]
        named = {name for model in models for name in (*model.needs, *model.mentions)}
        named |= {name.partition(" ")[2] for name in named if name.startswith(OWN)}
        named.update(() if self.bounds is None else self.bounds.names)
        return tuple(name for name in self.predictors if name in named)

    @property
    def is_whole(self) -> bool:
        """Whether the model accepts missing codes."""
        abilities = self.model.abilities
        return abilities.copies_rows or abilities.deterministic or abilities.panel

    @property
    def is_fixed(self) -> bool:
        """Whether rules and redraws must not change the variable."""
        abilities = self.model.abilities
        return abilities.copies_rows or abilities.deterministic or abilities.career

    def fit(
        self, table: Table, rules: Sequence[Rule], rng: np.random.Generator, *, last: bool = False
    ) -> FittedStep:
        """Fit the model to the rows of ``table`` that no rule sets.

        With ``last`` a model of histories learns the last period of a panel given those before it
        (`HistoryModel.fit_last`).
        """
        target = table[self.variable]
        fitted = FittedStep(
            variable=target.variable,
            method=self.method,
            predictors=self.predictors,
            missing_method=self.missing_method or self.method,
        )
        if self.model.abilities.copies_rows:
            index = table.index if isinstance(table, PanelTable) else None
            return replace(fitted, predictors=(), copied_column=target, careers=index)
        predictors = table.select(self.predictors)
        if isinstance(self.model, HistoryModel):  # rules replace drawn values later
            panel = panel_of(predictors)
            model = self.model
            if self.bounds is not None and isinstance(model, WrappedHistory):
                model = replace(
                    model, base=Bounded(base=model.base, variable=self.variable, bounds=self.bounds)
                )
                model = model.leaving_out(self.model.left_out)
            fit_history = model.fit_last if last else model.fit_history
            history = fit_history(panel, target, self.paths, rng=rng)
            if self.model.abilities.career:
                return replace(fitted, value_model=history)
            numbers = SafeNumbers.of(target, min_holders_of(self.model), panel.owners)
            if last and len(rows := panel.index.by_period[-1]):
                target = target.take(rows)
            return replace(fitted, value_model=history, reserve=reserve_of(target, rng, numbers))
        free = rows_outside_rules(rules, self.variable, table)
        if not free.all():
            predictors, target = predictors.take(free), target.take(free)
        if not len(target):
            return fitted
        if self.is_whole or target.states is None:
            return self._with_values(fitted, predictors, target, rng)
        # the missing codes first, then the value among the observed
        states = Column(state_variable(target.variable), target.missing_state().astype(np.int32))
        state_model = (self.missing_model or self.model).fit(predictors, states, rng=rng)
        observed = target.is_observed
        if not observed.any():
            return replace(fitted, state_model=state_model)
        values = Column(target.variable.observed(), target.data[observed])
        fitted = replace(fitted, state_model=state_model)
        return self._with_values(fitted, predictors.take(observed), values, rng)

    def _with_values(
        self, fitted: FittedStep, predictors: Table, values: Column, rng: np.random.Generator
    ) -> FittedStep:
        """Fit the model of observed values."""
        model, bounds = self.model, self.bounds
        if isinstance(model, Bounded):
            bounds = model.bounds if model.variable == self.variable else None
            model = model.base
        bounds = None if bounds is None else bounds.among(predictors.names)
        if bounds is None or values.variable.is_coded:
            return replace(fitted, value_model=model.fit(predictors, values, rng=rng))
        return replace(fitted, within=FittedBounds.of(model, bounds, predictors, values, rng))


@dataclass(frozen=True, kw_only=True)
class FittedStep:
    """A step after the fit: it draws one variable for a block of rows."""

    variable: Variable
    method: str
    predictors: tuple[str, ...]
    """Earlier variables that a draw needs."""
    missing_method: str
    value_model: FittedModel | None = None
    """Draws the value; None if no row outside the rules has one."""
    state_model: FittedModel | None = None
    """Draws the missing codes of a number."""
    copied_column: Column | None = None
    """The confidential variable, in a partial synthesis."""
    careers: PanelIndex | None = None
    """Persons and periods of ``copied_column`` in a panel."""
    reserve: Column | None = None
    """In a panel: values to search if the model draws no allowed one."""
    within: FittedBounds | None = None
    """Draws a value with bounds, instead of ``value_model``."""

    def copied(self, units: IntArray, *, by_person: bool) -> Column:
        """Return the copied values of some units: all their rows, or the first of each person."""
        if self.copied_column is None:
            raise TypeError("no column is copied")
        if self.careers is None:
            return self.copied_column.take(units)
        rows = self.careers.starts[units] if by_person else self.careers.rows_of(units)
        return self.copied_column.take(rows)

    def draw(self, predictors: Table, rng: np.random.Generator, *, widen: int = 0) -> Column:
        """Draw the variable for every row of ``predictors``; ``widen`` counts ancestors."""
        if self.state_model is None:
            return self._draw_value(predictors, rng, widen)
        drawn = self.state_model.sample_wider(predictors, steps=widen, rng=rng)
        states = drawn.data.astype(np.int8)
        data = np.full(len(states), np.nan)
        observed = np.flatnonzero(states == 0)
        if len(observed):
            data[observed] = self._draw_value(predictors.take(observed), rng, widen).data
        return Column(self.variable, data, states)

    def chances(self, predictors: Table, *, widen: int = 0) -> Chances | None:
        """Return the probability of each code in each row; see `FittedModel.chances`."""
        if not self.variable.is_coded or self.within is not None or self.value_model is None:
            return None
        return self.value_model.chances(predictors, steps=widen)

    def log_likelihood(self, table: Table, *, density: bool = False) -> FloatArray | None:
        """Return the log-probability of the variable in each row, shape (n,); see `FittedModel`.

        None if a model cannot compute it, and if the variable was not fitted. With ``density``
        see `FittedModel.log_density`.
        """
        if self.copied_column is not None or self.value_model is None:
            return None
        model = self.value_model
        likelihood = model.log_density if density else model.log_likelihood
        predictors, target = table.select(self.predictors), table[self.variable.name]
        if self.state_model is None:
            return likelihood(predictors, target)
        codes = target.missing_state().astype(np.int32)
        states = Column(state_variable(target.variable), codes)
        missing = self.state_model.log_likelihood(predictors, states)
        observed = np.flatnonzero(target.is_observed)
        values = Column(target.variable.observed(), target.data[observed])
        value = likelihood(predictors.take(observed), values)
        if missing is None or value is None:
            return None
        out = missing.copy()
        out[observed] += value
        return out

    def _draw_value(self, predictors: Table, rng: np.random.Generator, widen: int) -> Column:
        if self.within is not None:
            return self.within.draw(predictors, rng, widen=widen)
        if self.value_model is None:
            raise ModelError(
                f"variable {self.variable.name!r}: every confidential row with a value is set by "
                "a rule, so no row is left for the fit; narrow the rules or remove them"
            )
        return self.value_model.sample_wider(predictors, steps=widen, rng=rng)


def state_variable(variable: Variable) -> Variable:
    """Return the coded variable of a number's states: observed, or a missing code."""
    return Variable(
        name=variable.name, kind=Kind.CATEGORICAL, levels=("observed", *variable.missing)
    )


@contextmanager
def error_context(action: str, variable: str, method: str, stratum: int) -> Iterator[None]:
    """Add the variable, model and stratum to errors."""
    note = f"while {action} variable {variable!r} with model {method!r}, stratum {stratum + 1}"
    try:
        yield
    except SynthesizerError as error:
        named = [
            p if repr(variable) in p else f"variable {variable!r}: {p}" for p in error.problems
        ]
        again = type(error)(named)
        again.add_note(note)
        raise again from error
    except Exception as error:
        error.add_note(note)
        raise
