"""Multiple imputation: missing cells drawn in rounds, each variable given all others.

Fully conditional specification: the models of a chain draw the missing cells of one variable after
the other, given observed and drawn cells of all other variables. The first round follows the chain:
a variable is drawn given complete and earlier ones. Models are fitted to observed cells of a
bootstrap sample of rows, one for each imputation, so that imputations are approximately proper.
Observed cells never change. Nothing protects single persons here, since the result contains the
data: numbers of few holders are drawn, and draws are independent (not spread evenly), because
Rubin's rules need their variance. Sources: Rubin (1987), Multiple imputation for nonresponse in
surveys; van Buuren (2007), Statistical Methods in Medical Research 16(3); Burgette and Reiter
(2010), American Journal of Epidemiology 172(9), for trees; Honaker and King (2010), American
Journal of Political Science 54(2), for the bootstrap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from joblib import delayed
from numpy.random import Generator

from synthesizer.data.randomness import Seed
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Table
from synthesizer.data.workers import one_blas_thread
from synthesizer.engine.chain import screened, streamed
from synthesizer.engine.drawing import draw_allowed
from synthesizer.engine.source import Progress
from synthesizer.models.base import ConditionalModel
from synthesizer.models.fixed import Derived, agreement
from synthesizer.models.step import Forbid, Rule, Step, Zero, rows_outside_rules

ROUNDS = 5
"""Rounds after the first one."""
_UNGUARDED = {"min_holders": 0, "even": False, "balanced": False, "proper": False}
"""Options of models without protection, with independent draws; the bootstrap makes them proper."""


def unguarded(model: ConditionalModel) -> ConditionalModel:
    """Return a model, and its base models, without protection and with independent draws.

    Examples
    --------
    >>> from synthesizer.models.cart import Cart
    >>> unguarded(Cart()).min_holders
    0
    """
    names = {field.name for field in fields(model)}
    named: dict[str, Any] = {n: value for n, value in _UNGUARDED.items() if n in names}
    if isinstance(base := getattr(model, "base", None), ConditionalModel):
        named["base"] = unguarded(base)
    return replace(model, **named)


@dataclass(frozen=True, kw_only=True)
class Disagrees(Forbid):
    """Forbids rows whose observed variable differs from its formula."""

    derived: str = ""
    """The computed variable; ``condition`` is its formula."""

    @property
    def names(self) -> frozenset[str]:
        """Variables of the formula, and the computed one."""
        return self.condition.names | {self.derived}

    def broken(self, table: Table) -> BoolArray:
        """Return the rows that differ; undefined and missing values do not."""
        column = table[self.derived]
        variable = replace(column.variable, missing=column.variable.missing or ("",))
        defined = self.condition.derive(table, variable).is_observed & column.is_observed
        return np.asarray(defined & ~agreement(self.condition, table, column))

    def solution(self, table: Table, target: Column) -> tuple[Column, BoolArray]:
        """Return the numbers of ``variable`` that solve the formula, and where only they do.

        The formula is taken for linear in the variable; each solution is checked, and that the next
        number does not agree, too.
        """
        goal, variable = table[self.derived], target.variable.observed()
        exact = replace(goal.variable, decimals=None, missing=("",))

        def at(numbers: FloatArray) -> Table:
            return table.with_column(Column(variable, numbers))

        zero, one = np.zeros(table.n_rows), np.ones(table.n_rows)
        first, second = (self.condition.derive(at(x), exact).data for x in (zero, one))
        with np.errstate(divide="ignore", invalid="ignore"):
            roots = (np.asarray(goal.data, dtype=np.float64) - first) / (second - first)
        sound = np.isfinite(roots) & goal.is_observed
        roots, unit = np.where(sound, roots, 0.0), 1e-6 * np.maximum(np.abs(roots), 1.0)
        if variable.decimals is not None:
            roots, unit = np.round(roots, variable.decimals), one * 10.0**-variable.decimals
        sound &= agreement(self.condition, at(roots), goal)
        sound &= ~agreement(self.condition, at(roots + unit), goal)
        return Column(variable, roots), np.asarray(sound)


@dataclass(frozen=True, kw_only=True)
class Part:
    """Missing cells of a variable that are drawn by one model."""

    rows: IntArray
    """Positions of the cells, rising."""
    step: Step
    zeros: tuple[Zero, ...] = ()
    """Conditions that no row may satisfy; none is firm."""


@dataclass(frozen=True, kw_only=True)
class Imputation:
    """Missing cells of a table, in the order in which their variables are drawn.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> from synthesizer.models.sample import Sample
    >>> age = Variable(name="age", kind=Kind.NUMERIC, missing=("",), decimals=0)
    >>> states = np.array([0, 0, 1], dtype=np.int8)
    >>> table = Table([Column(age, np.array([30.0, 30.0, np.nan]), states)])
    >>> step = Step(variable="age", method="sample", model=Sample(min_holders=0))
    >>> part = Part(rows=np.array([2]), step=step)
    >>> imputation = Imputation(table=table, parts={"age": (part,)})
    >>> [made["age"].data.tolist() for made in imputation.drawn(Seed(1), m=1)]
    [[30.0, 30.0, 30.0]]
    """

    table: Table
    """The data with missing cells."""
    parts: Mapping[str, Sequence[Part]]
    """Cells to fill, by variable."""
    rules: tuple[Rule, ...] = ()
    """Values that conditions set, such as blanks of questions that were not asked."""

    def drawn(
        self, seed: Seed, *, m: int, n_jobs: int | None = None, progress: Progress | None = None
    ) -> Iterator[Table]:
        """Yield ``m`` completed tables; number d depends only on seed, key and d."""
        tasks = (delayed(self._imputed)(seed.child("imputation", d)) for d in range(m))
        yield from streamed(n_jobs, tasks, progress)

    @one_blas_thread()
    def _imputed(self, seed: Seed) -> Table:
        table, n = self.table, self.table.n_rows
        sample = seed.generator("bootstrap").integers(n, size=n)
        steps = [part.step for parts in self.parts.values() for part in parts]
        chosen = iter(screened(steps, table, seed.generator("screen")))
        parts = {n: [replace(p, step=next(chosen)) for p in of_n] for n, of_n in self.parts.items()}
        waiting = set(parts)
        for number in range(ROUNDS + 1):
            for name, of_variable in parts.items():
                waiting.discard(name)
                for k, part in enumerate(of_variable):
                    rng = seed.generator("draw", number, name, k)
                    table = self._filled(table, part, waiting, sample, rng)
        return table

    def _filled(
        self, table: Table, part: Part, waiting: set[str], sample: IntArray, rng: Generator
    ) -> Table:
        """Return the table with the cells of a part drawn, given variables not in ``waiting``."""
        name = part.step.variable
        here, column = table.take(part.rows), table[name]
        rules = [rule for rule in self.rules if rule.variable == name]
        free = rows_outside_rules(rules, name, here)
        for rule in rules:
            column = column.replaced(part.rows, rule.apply(column.take(part.rows), here))
        for zero in part.zeros:
            if isinstance(zero, Disagrees) and not (column.is_coded or here[zero.derived].is_coded):
                roots, sound = zero.solution(here, column)
                column = column.replaced(part.rows[free & sound], roots.take(free & sound))
                free &= ~sound
        if free.any():
            known = tuple(n for n in part.step.predictors if n not in waiting)
            fitted = replace(part, step=replace(part.step, predictors=known))
            made = self._drawn_cells(table, fitted, here.take(free), sample, rng)
            column = column.replaced(part.rows[free], made)
        return table.with_column(column)

    def _drawn_cells(
        self, table: Table, part: Part, here: Table, sample: IntArray, rng: Generator
    ) -> Column:
        """Return a draw of the variable for some rows, by its model fitted to observed cells."""
        step, target = part.step, self.table[part.step.variable]
        if isinstance(step.model, Derived):
            return step.model.parsed.derive(here, target.variable)
        usable = target.is_observed & rows_outside_rules(self.rules, target.name, table)
        usable = usable if usable[sample].any() else target.is_observed
        rows = sample[usable[sample]] if usable[sample].any() else np.flatnonzero(usable)
        values = Column(target.variable.observed(), target.data[rows])
        fitted = step.fit(table.take(rows).with_column(values), (), rng)
        here = here.select(n for n in here.names if n != target.name)
        return draw_allowed(fitted, (), part.zeros, here, rng)
