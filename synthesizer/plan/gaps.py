"""Plan which missing cells are filled, and by which models, given which variables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from synthesizer.config.keys import FULL, ChainConfig, VariableConfig
from synthesizer.data.code_lists import is_numbering
from synthesizer.data.derivations import needed
from synthesizer.data.errors import ConfigError, Problems
from synthesizer.data.expressions import Expression, quote_name
from synthesizer.data.missing_codes import guessed_codes
from synthesizer.data.relations import Relation, find_relations, skips
from synthesizer.data.roles import REPEATS
from synthesizer.data.table import BoolArray, Column, Kind, Table
from synthesizer.data.values import single_value
from synthesizer.data.writing import as_text
from synthesizer.engine.imputation import Disagrees, Imputation, Part, unguarded
from synthesizer.models.cart import Cart
from synthesizer.models.fixed import Derived, Follows
from synthesizer.models.limits import StructuralZeros
from synthesizer.models.step import Forbid, Rule, Step, Zero
from synthesizer.plan.findings import note, problem
from synthesizer.plan.plan import Plan
from synthesizer.plan.rules import with_bounds

Cells = Mapping[str, Sequence[str | float]] | Sequence[str | float]
"""Missing codes to fill: by variable, or of all variables."""
_UNUSED = ("conditions", "fidelity", "keep", "panel", "rows", "strata", "survival")
"""Keys of a synthesis that imputation refuses."""
_IGNORED = ("after", "checks", "limits", "proper", "random_key", "rare")
"""Keys of a synthesis without effect on imputation."""
MIN_OBSERVED = 10
"""Fewest observed values of a variable that is filled."""
MUCH_BLANK = 0.2
"""Largest share of filled cells of a variable without a note."""
MIN_COMPLETE = 100
"""Fewest complete rows in which relations are searched."""


@dataclass(frozen=True, kw_only=True)
class Gaps:
    """The missing cells of a table: those that are filled, and those that stay."""

    imputation: Imputation
    fill: Mapping[str, BoolArray]
    """Cells to fill, by variable in the order of the chain."""
    skipped: Mapping[str, int]
    """Cells that stay blank, because a rule determines it, by variable."""
    notes: tuple[str, ...] = ()
    """Sentences on guessed missing codes, and on cells that stay blank."""


def plan_gaps(plan: Plan, config: ChainConfig, cells: Cells | None) -> Gaps:
    """Return the cells to fill and how; raise ConfigError with all problems."""
    unused = {*config.sections, *_UNUSED} & config.model_fields_set
    keys = [key for key in sorted(unused) if getattr(config, key) not in ((), None, FULL)]
    problems = Problems(problem("imputes_without", key=key) for key in keys)
    table = plan.table.select(plan.spec.order)
    codes = _codes(table, cells, problems)
    problems.settle(ConfigError)
    named = codes if isinstance(cells, Mapping) else ()
    chosen = {column.name: _chosen(column, codes.get(column.name, ())) for column in table.columns}
    rules = (*plan.spec.rules, *_skip_rules(table))
    rules = tuple(rule for rule in rules if rule.is_firm or rule.variable not in named)
    fill, skipped = dict[str, BoolArray](), dict[str, int]()
    for column in table.columns:
        skip = _skipped(table, column, rules, chosen) & chosen[column.name]
        chosen[column.name] &= ~skip
        if chosen[column.name].any():
            fill[column.name] = chosen[column.name]
            if (observed := int(column.is_observed.sum())) < MIN_OBSERVED:
                facts = {"observed": observed, "needed": MIN_OBSERVED}
                problems.append(problem("few_observed", name=column.name, **facts))
        if skip.any():
            skipped[column.name] = int(skip.sum())
    if not fill:
        problems.append(problem("nothing_to_fill", skipped=sum(skipped.values())))
    problems.settle(ConfigError)
    chain = _Chain(plan, config, rules, fill)
    parts = {n: tuple(chain.parts(n)) for n in sorted(fill, key=lambda n: n in chain.formulas)}
    imputation = Imputation(table=plan.table, parts=parts, rules=rules)
    declared = {name for name, one in config.variables.items() if one.missing is not None}
    notes = list[str]()
    if guessed := guessed_codes(table.select(fill), declared):
        notes.append(note("guessed_codes", codes=guessed))
    if much := [name for name, cells in fill.items() if cells.mean() > MUCH_BLANK]:
        notes.append(note("much_blank", names=much))
    ids = [c for c in plan.table.columns if c.variable.kind is Kind.ID]
    if blank := [column.name for column in ids if not column.is_observed.all()]:
        notes.append(note("ids_stay_blank", names=blank))
    if skipped:
        notes.append(note("stay_blank", names=[*skipped], cells=sum(skipped.values())))
    return Gaps(imputation=imputation, fill=fill, skipped=skipped, notes=tuple(notes))


def usage_notes(plan: Plan, keys: Collection[str]) -> Iterator[str]:
    """Yield notes on numbers of persons that repeat, and on keys of the user without effect."""
    data = plan.data
    numbers = [c for c in data.table.columns if c.variable.kind is Kind.NUMERIC]
    units = [c.name for c in numbers if is_numbering(c.name, np.asarray(c.data))]
    units += [n for n in data.left_out if f"column {n!r} left out: {REPEATS}" in data.notes]
    if units:
        yield note("repeated_rows", names=units)
    if unused := [key for key in _IGNORED if key in keys]:
        yield note("unused_keys", keys=unused)


def _codes(table: Table, cells: Cells | None, problems: Problems) -> Mapping[str, Sequence[str]]:
    """Return the missing codes to fill, by variable."""
    known = {column.name: column.variable.missing for column in table.columns}
    if cells is None:
        return known
    if isinstance(cells, Mapping):
        codes = {str(name): _texts(of_one) for name, of_one in cells.items()}
        wrong = [name for name in codes if name not in known]
        wrong += [f"{n}: {x}" for n in codes if n in known for x in codes[n] if x not in known[n]]
    else:
        codes = dict.fromkeys(known, _texts(cells))
        wrong = [code for code in _texts(cells) if not any(code in one for one in known.values())]
    problems += (problem("cells_of_nothing", entry=entry) for entry in wrong)
    return codes


def _texts(codes: object) -> list[str]:
    return [*map(str, codes if isinstance(codes, list | tuple) else [codes])]


def _chosen(column: Column, codes: Sequence[str]) -> BoolArray:
    """Return the cells with some missing codes."""
    states = [state for state, code in enumerate(column.variable.missing, 1) if code in codes]
    return np.isin(column.missing_state(), states)


def _skip_rules(table: Table) -> Iterator[Rule]:
    """Yield the rules of questions that were not asked."""
    for relation in skips(table):
        value = single_value(table[relation.name].variable, relation.value)
        yield Rule(condition=Expression.parse(relation.text), value=value, is_firm=False)


def _skipped(
    table: Table, column: Column, rules: Sequence[Rule], chosen: Mapping[str, BoolArray]
) -> BoolArray:
    """Return the rows in which a rule blanks a variable, by cells that are not filled."""
    skipped, states = np.zeros(table.n_rows, dtype=bool), column.missing_state()
    for rule in rules:
        if rule.variable == column.name and not rule.value.is_observed[0]:
            rows = rule.condition.condition(table) & (states == rule.value.missing_state()[0])
            skipped |= rows & ~np.any([chosen[name] for name in rule.condition.names], axis=0)
    return skipped


class _Chain:
    """The models of a plan, each with all other variables as predictors."""

    def __init__(
        self, plan: Plan, config: ChainConfig, rules: Sequence[Rule], fill: Mapping[str, BoolArray]
    ) -> None:
        self.table, self.order, self.config = plan.table, plan.spec.order, config
        self.steps = {step.variable: step for step in plan.spec.steps}
        self.rules, self.fill, self.forbids = rules, fill, plan.spec.forbids
        models = {name: step.model for name, step in self.steps.items()}
        self.inputs = {n: _inputs(m) for n, m in models.items() if isinstance(m, Derived | Follows)}
        for relation in self._of_complete_rows():
            name, key, text = relation.name, relation.key, relation.text
            model = Derived(expression=text) if key == "derived" else Follows(of=text)
            if name not in needed(inputs := _inputs(model), self.inputs):
                known = tuple(sorted(inputs))
                self.steps[name] = Step(variable=name, method=key, model=model, predictors=known)
                self.inputs[name] = inputs
        steps = self.steps.values()
        self.formulas = {s.variable: s.model.parsed for s in steps if isinstance(s.model, Derived)}
        for rule in rules:
            self.inputs.setdefault(rule.variable, set()).update(rule.condition.names)

    def _of_complete_rows(self) -> Iterator[Relation]:
        """Yield formulas and labels that hold in complete rows, of variables without a model.

        The plan requires them in all rows, missing cells included. Variables with the most missing
        cells are left out until enough rows are complete.
        """
        config, names, whole = self.config, list[str](), np.ones(self.table.n_rows, dtype=bool)
        for name in sorted(self.order, key=lambda n: self.fill[n].sum() if n in self.fill else 0):
            rest = whole & ~self.fill.get(name, ~whole)
            if rest.sum() >= MIN_COMPLETE:
                names.append(name)
                whole = rest
        names = [name for name in self.order if name in names and config.relations == "auto"]
        chosen = {*self.inputs, *config.named_methods}
        chosen |= {name for name, one in config.variables.items() if one.method}
        for relation in find_relations(self.table.select(names).take(whole)) if names else ():
            if relation.name not in chosen and relation.key in ("derived", "follows"):
                yield relation

    def parts(self, name: str) -> Iterator[Part]:
        """Yield the cells of a variable: without, and with missing variables that follow from it.

        A variable that follows from the drawn one is its predictor only where it is observed, since
        its drawn value would keep the drawn one as it is.
        """
        rows, followers = self.fill[name], self._followers(name)
        if name in self.formulas:
            yield Part(rows=np.flatnonzero(rows), step=self.steps[name])
            return
        both = rows & np.any([self.fill[n] for n in followers & self.fill.keys()], axis=0)
        zeros, more = tuple(self._zeros(name, followers)), self._agreements(name, followers)
        kinds = ((rows & ~both, set[str](), (*zeros, *more)), (both, followers, zeros))
        for where, without, all_zeros in kinds:
            if where.any():
                (step,) = with_bounds([self._step(name, without)], zeros, self.table)
                yield Part(rows=np.flatnonzero(where), step=step, zeros=all_zeros)

    def _followers(self, name: str) -> set[str]:
        """Return the variables that are computed from a variable, or set by rules on it."""
        every = self.inputs.items()
        return {n for n, inputs in every if name in needed(inputs, self.inputs)} - {name}

    def _step(self, name: str, without: Collection[str]) -> Step:
        """Return the step of a variable with all other variables as predictors, or those chosen."""
        step, most = self.steps[name], self.config.max_predictors
        one = self.config.variables.get(name, VariableConfig())
        wanted = one.predictors or self.config.predictor_matrix.get(name) or self.order
        used = {*wanted, *step.needed} - {name, *without, *one.exclude}
        is_free = wanted is self.order and not step.is_whole
        abilities, is_named = step.model.abilities, one.method or name in self.config.named_methods
        unfit = abilities.copies_rows or not (abilities.uses_predictors or is_named)
        return replace(
            step,
            model=unguarded(Cart() if unfit else step.model),
            predictors=tuple(n for n in self.order if n in used),
            max_predictors=None if most == "all" or not is_free else most,
            bounds=None,
        )

    def _zeros(self, name: str, followers: set[str]) -> Iterator[Zero]:
        """Yield conditions with a variable, or one that is computed from it; none is firm."""
        computed = {n: self.formulas[n] for n in self.order if n in followers & {*self.formulas}}
        again = tuple((self.table[n].variable, formula) for n, formula in computed.items())
        for zero in self.forbids:
            if isinstance(zero, StructuralZeros):
                if name in zero.names:
                    yield replace(zero, variable=name, is_firm=False)
            elif zero.condition.names & {name, *computed}:
                yield replace(zero, variable=name, computed=again, is_firm=False)

    def _agreements(self, name: str, followers: Collection[str]) -> Iterator[Zero]:
        """Yield the conditions that observed followers of a variable keep their relation to it."""
        for other in sorted(followers):
            formula = self.formulas.get(other)
            if formula is not None and name in formula.names:
                yield Disagrees(condition=formula, variable=name, is_firm=False, derived=other)
            elif isinstance(self.steps[other].model, Follows) and name in self.inputs[other]:
                seen = self.table[name].is_observed & self.table[other].is_observed
                pairs = StructuralZeros.of(self.table.take(seen), (other, name), name)
                yield replace(pairs, is_firm=False)
        for rule in self.rules:
            if name in rule.condition.names and rule.variable in followers:
                yield Forbid(condition=_against(rule), variable=name, is_firm=False)


def _inputs(model: Derived | Follows) -> set[str]:
    return {*model.parsed.names} if isinstance(model, Derived) else {model.of}


def _against(rule: Rule) -> Expression:
    """Return the condition of rows in which a rule does not hold."""
    name, value = quote_name(rule.variable), rule.value
    differs = f"not missing({name})"
    if value.is_observed[0]:
        text, is_number = as_text(value)[0].as_py(), value.variable.kind is Kind.NUMERIC
        differs = f"{name} != {text if is_number else repr(text)}"
    return Expression.parse(f"({rule.condition.text}) and {differs}")
