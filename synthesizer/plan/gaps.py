"""Plan which missing cells are filled, and by which models, given which variables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from synthesizer.config.keys import ChainConfig
from synthesizer.data.errors import ConfigError
from synthesizer.data.expressions import Expression, quote_name
from synthesizer.data.relations import skips
from synthesizer.data.table import BoolArray, Column, Table
from synthesizer.data.values import single_value
from synthesizer.engine.imputation import Disagrees, Imputation, Part, unguarded
from synthesizer.models.cart import Cart
from synthesizer.models.fixed import Derived, Follows
from synthesizer.models.limits import StructuralZeros
from synthesizer.models.step import Forbid, Rule, Step, Zero
from synthesizer.plan.findings import Findings, problem
from synthesizer.plan.plan import Plan
from synthesizer.plan.rules import with_bounds

Cells = Mapping[str, Sequence[str | float]] | Sequence[str | float]
"""Missing codes to fill: by variable, or of all variables."""
MIN_OBSERVED = 10
"""Fewest observed values of a variable that is filled."""


@dataclass(frozen=True, kw_only=True)
class Gaps:
    """The missing cells of a table: those that are filled, and those that stay."""

    imputation: Imputation
    fill: Mapping[str, BoolArray]
    """Cells to fill, by variable in the order of the chain."""
    skipped: Mapping[str, int]
    """Cells that stay blank, because a rule determines it, by variable."""


def plan_gaps(plan: Plan, config: ChainConfig, cells: Cells | None) -> Gaps:
    """Return the cells to fill and how; raise ConfigError with all problems."""
    findings = Findings()
    findings.problems += _unsuited(config)
    table, order = plan.table, plan.spec.order
    chosen = _chosen(table.select(order), cells, findings)
    findings.problems.settle(ConfigError)
    named = cells if isinstance(cells, Mapping) else ()
    rules = (*plan.spec.rules, *_skip_rules(table.select(order), named))
    fill, skipped = dict[str, BoolArray](), dict[str, int]()
    for name in order:
        skip = _skipped(table, name, rules, chosen) & chosen[name]
        chosen[name] &= ~skip
        if chosen[name].any():
            fill[name] = chosen[name]
        if skip.any():
            skipped[name] = int(skip.sum())
    if not fill:
        findings.problem("nothing_to_fill", skipped=sum(skipped.values()))
    for name in fill:
        observed = int(table[name].is_observed.sum())
        if not observed:
            findings.problem("all_missing", name=name)
        elif observed < MIN_OBSERVED:
            findings.problem("few_observed", name=name, observed=observed, needed=MIN_OBSERVED)
    findings.problems.settle(ConfigError)
    chain = _Chain(plan, config, rules, fill)
    parts = {name: tuple(chain.parts(name)) for name in fill}
    imputation = Imputation(table=table, parts=parts, rules=rules)
    return Gaps(imputation=imputation, fill=fill, skipped=skipped)


def _unsuited(config: ChainConfig) -> Iterator[str]:
    """Yield problems of keys that imputation cannot follow."""
    if config.panel is not None:
        yield problem("imputes_no_panel")
    keys = [key for key in config.sections if key in config.model_fields_set]
    keys += ["strata"] if config.strata else []
    yield from (problem("imputes_without", key=key) for key in keys)


def _chosen(table: Table, cells: Cells | None, findings: Findings) -> dict[str, BoolArray]:
    """Return the cells of the chosen missing codes, by variable."""
    by_name = dict(cells) if isinstance(cells, Mapping) else {}
    for name in by_name.keys() - {*table.names}:
        findings.problem("cells_of_no_variable", name=name)
    if isinstance(cells, Mapping):
        codes = {name: [*map(str, by_name.get(name, ()))] for name in table.names}
    else:
        codes = {c.name: [*map(str, cells or c.variable.missing)] for c in table.columns}
    every = {code for column in table.columns for code in column.variable.missing}
    if not isinstance(cells, Mapping):
        for code in dict.fromkeys(map(str, cells or ())):
            if code not in every:
                findings.problem("cells_of_no_code", code=code, entry="cells")
    chosen = {}
    for column in table.columns:
        known = column.variable.missing
        for code in codes[column.name] if by_name else ():
            if code not in known:
                findings.problem("cells_of_no_code", code=code, entry=f"cells.{column.name}")
        states = [known.index(code) + 1 for code in codes[column.name] if code in known]
        chosen[column.name] = np.isin(column.missing_state(), states)
    return chosen


def _skip_rules(table: Table, named: Collection[str]) -> Iterator[Rule]:
    """Yield the rules of questions that were not asked, except of ``named`` variables."""
    for relation in skips(table):
        if relation.name not in named:
            value = single_value(table[relation.name].variable, relation.value)
            condition = Expression.parse(relation.text)
            yield Rule(condition=condition, value=value, is_firm=False)


def _skipped(
    table: Table, name: str, rules: Sequence[Rule], chosen: Mapping[str, BoolArray]
) -> BoolArray:
    """Return the rows in which a rule blanks a variable, by cells that are not filled."""
    skipped = np.zeros(table.n_rows, dtype=bool)
    for rule in rules:
        if rule.variable == name and not rule.value.is_observed[0]:
            rows = rule.condition.condition(table)
            rows &= table[name].missing_state() == rule.value.missing_state()[0]
            for other in rule.condition.names:
                rows &= ~chosen.get(other, np.zeros_like(rows))
            skipped |= rows
    return skipped


class _Chain:
    """The models of a plan, each with all other variables as predictors."""

    def __init__(
        self, plan: Plan, config: ChainConfig, rules: Sequence[Rule], fill: Mapping[str, BoolArray]
    ) -> None:
        self.table, self.order, self.config = plan.table, plan.spec.order, config
        self.steps = {step.variable: step for step in plan.spec.steps}
        self.rules, self.fill, self.forbids = rules, fill, plan.spec.forbids
        self.formulas = {
            name: step.model.parsed
            for name, step in self.steps.items()
            if isinstance(step.model, Derived)
        }
        self.inputs = {name: {*expression.names} for name, expression in self.formulas.items()}
        for name, step in self.steps.items():
            if isinstance(step.model, Follows):
                self.inputs[name] = {step.model.of}
        for rule in rules:
            self.inputs.setdefault(rule.variable, set()).update(rule.condition.names)

    def parts(self, name: str) -> Iterator[Part]:
        """Yield the cells of a variable: without, and with missing variables that follow from it.

        A variable that follows from the drawn one is its predictor only where it is observed, since
        its drawn value would keep the drawn one as it is.
        """
        followers = self._followers(name)
        rows = self.fill[name]
        both = np.zeros(len(rows), dtype=bool)
        for other in followers & self.fill.keys():
            both |= self.fill[other]
        zeros = tuple(self._zeros(name, followers))
        for where, without, kept in ((rows & ~both, set(), True), (rows & both, followers, False)):
            if where.any():
                more = tuple(self._agreements(name, followers)) if kept else ()
                step = self._step(name, without)
                (step,) = with_bounds([step], zeros, self.table)
                yield Part(rows=np.flatnonzero(where), step=step, zeros=(*zeros, *more))

    def _followers(self, name: str) -> set[str]:
        """Return the variables that are computed from a variable, or set by rules on it."""
        followers, new = set[str](), {name}
        while new:
            new = {n for n, inputs in self.inputs.items() if inputs & new} - followers - {name}
            followers |= new
        return followers

    def _step(self, name: str, without: Collection[str]) -> Step:
        """Return the step of a variable with all other variables as predictors, or those chosen."""
        step, most = self.steps[name], self.config.max_predictors
        settings = self.config.variables.get(name)
        wanted = self.config.predictor_matrix.get(name)
        exclude: Collection[str] = ()
        if settings is not None:
            wanted = wanted if settings.predictors is None else settings.predictors
            exclude = settings.exclude
        needed = step.needed if isinstance(step.model, Follows) else ()
        predictors = tuple(
            n
            for n in self.order
            if n != name
            and n not in without
            and n not in exclude
            and (wanted is None or n in wanted or n in needed)
        )
        if not step.model.abilities.uses_predictors:
            predictors = ()
        is_chosen = wanted is not None or exclude or most == "all"
        copies = step.model.abilities.copies_rows
        return replace(
            step,
            model=unguarded(Cart() if copies else step.model),
            predictors=self.steps[name].predictors if name in self.formulas else predictors,
            max_predictors=None if is_chosen or step.is_whole or most == "all" else most,
            missing_model=None,
            bounds=None,
        )

    def _zeros(self, name: str, followers: Collection[str]) -> Iterator[Zero]:
        """Yield conditions with a variable, or one that is computed from it; none is firm."""
        if name in self.formulas:
            return
        for zero in self.forbids:
            if isinstance(zero, StructuralZeros):
                if name in zero.names:
                    yield replace(zero, variable=name, is_firm=False)
            elif name in zero.condition.names or followers & zero.condition.names:
                computed = tuple(
                    (self.table[n].variable, self.formulas[n])
                    for n in self.order
                    if n in self.formulas and n in followers and n in self._needed(zero)
                )
                again = replace(zero, variable=name, computed=computed, is_firm=False)
                if name in again.names:
                    yield again

    def _needed(self, zero: Forbid) -> set[str]:
        """Return the variables of a condition, with the inputs of computed ones."""
        needed, new = set[str](), set(zero.condition.names)
        while new:
            needed |= new
            new = {i for n in new if n in self.formulas for i in self.inputs[n]} - needed
        return needed

    def _agreements(self, name: str, followers: Collection[str]) -> Iterator[Zero]:
        """Yield the conditions that observed followers of a variable keep their relation to it."""
        if name in self.formulas:
            return
        for other in sorted(followers):
            if other in self.formulas and name in self.formulas[other].names:
                yield Disagrees(
                    condition=self.formulas[other],
                    variable=name,
                    always=f"{other} = {self.formulas[other].text}",
                    is_firm=False,
                    derived=other,
                )
            elif isinstance(self.steps[other].model, Follows) and name in self.inputs[other]:
                seen = self.table[name].is_observed & self.table[other].is_observed
                pairs = StructuralZeros.of(self.table.take(seen), (other, name), name)
                yield replace(pairs, is_firm=False)
        for rule in self.rules:
            if name in rule.condition.names and rule.variable in followers:
                yield Forbid(condition=_against(rule), variable=name, is_firm=False)


def _against(rule: Rule) -> Expression:
    """Return the condition of rows in which a rule does not hold."""
    value, name = rule.value, quote_name(rule.variable)
    differs = f"not missing({name})"
    if value.is_observed[0]:
        differs = f"{name} != {_literal(value)}"
    return Expression.parse(f"({rule.condition.text}) and {differs}")


def _literal(value: Column) -> str:
    if value.is_coded:
        return f"'{value.variable.levels[int(value.data[0])]}'"
    return repr(float(value.data[0]))
