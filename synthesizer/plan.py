"""From a configuration and a table to a chain: order, models, predictors, all problems at once.

Nothing is fitted here. What the plan needs of the data is their schema, and counts for the
rules (`synthesizer.plan_rules`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from synthesizer.chain import ChainSpec, split_strata
from synthesizer.config import ChainConfig, VariableConfig
from synthesizer.data.expressions import Expression
from synthesizer.data.schema import Kind, Variable
from synthesizer.data.table import Table
from synthesizer.errors import ConfigError, ModelError, SynthesizerError
from synthesizer.models.base import ConditionalModel
from synthesizer.plan_names import Columns, unknown_models, unknown_variables
from synthesizer.plan_rules import plan_rules
from synthesizer.plan_scenario import Scenario, plan_scenario
from synthesizer.registry import DEFAULT_SETS, ROLES, Registry, default_method
from synthesizer.steps import Step, state_variable

__all__ = ["MIN_STRATUM_ROWS", "Plan", "make_plan", "try_plan"]

MIN_STRATUM_ROWS = 10
"""A chain fitted on fewer rows repeats persons more than it describes them."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What will be fitted, and what the checks will assume.

    Parameters
    ----------
    spec : ChainSpec
        The chain.
    scenario : Scenario or None
        Keys and target of the disclosure checks; None when there are none to be had.
    notes : tuple of str
        What a steward should know and need not change.
    """

    spec: ChainSpec
    scenario: Scenario | None
    notes: tuple[str, ...]


def make_plan(config: ChainConfig, table: Table, registry: Registry) -> Plan:
    """Plan a chain for the confidential ``table``.

    Raises
    ------
    ConfigError
        With every problem of the configuration in view of these data.
    """
    plan, problems = try_plan(config, table, registry)
    if plan is None:
        raise ConfigError(problems)
    return plan


def try_plan(
    config: ChainConfig, table: Table, registry: Registry, columns: Columns | None = None
) -> tuple[Plan | None, list[str]]:
    """Return a plan, or None and every problem.

    ``columns`` says which columns the source has, where ``table`` holds only those that could be
    read; the plan is then good for its problems only.
    """
    columns = columns or Columns.of(table.names)
    planner = _Planner(config, table, registry, columns)
    methods = planner.methods()
    order = planner.order(methods)
    steps = planner.steps(order, methods)
    problems = planner.problems
    problems += _row_problems(config, table, steps)
    used = table.select(name for name in table.names if name not in config.drop)
    fixed = {s.variable for s in steps if s.is_whole}
    rules, forbids, notes, found = plan_rules(config, used, order, fixed, columns)
    problems += found
    scenario, scenario_notes, found = plan_scenario(config, used, columns)
    problems += found
    if problems:
        return None, problems
    spec = ChainSpec(
        steps=tuple(steps),
        rules=rules,
        forbids=forbids,
        strata=config.strata,
        proper=config.proper,
    )
    notes = (*planner.notes, *notes, *scenario_notes)
    return Plan(spec=spec, scenario=scenario, notes=notes), []


@dataclass(frozen=True)
class _Method:
    """The model asked for one variable, before it is built."""

    name: str
    options: Mapping[str, object]
    told: bool
    inputs: frozenset[str] | None = None


class _Planner:
    """Collects problems while it decides order, models and predictors."""

    def __init__(
        self, config: ChainConfig, table: Table, registry: Registry, columns: Columns
    ) -> None:
        self.config = config
        self.table = table
        self.registry = registry
        self.columns = columns
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.names = [
            name
            for name in table.names
            if table[name].variable.kind is not Kind.ID and name not in config.drop
        ]
        self._check_names()
        self.options = self._model_options()

    def _check_names(self) -> None:
        """Report names of variables and models that are unknown, and variables out of place."""
        config = self.config
        self.problems += unknown_variables(config, self.columns)
        self.problems += unknown_models(config, self.registry, self.names)
        for place, names in (("keep", config.keep), ("strata", config.strata)):
            for name in names:
                if name in self.table and name not in self.names:
                    self.problems.append(
                        f"{place}: variable {name!r} is an id or dropped and takes no part in "
                        "the synthesis; take it out of the list"
                    )
        if not self.names and self.columns.is_complete:
            self.problems.append("no variable is left to synthesise; drop fewer or declare kinds")

    def _model_options(self) -> dict[str, dict[str, object]]:
        """Gather the options of every model under its registered name."""
        options: dict[str, dict[str, object]] = {}
        for name, given in self.config.models.items():
            try:
                canonical = self.registry.canonical(name)
                options.setdefault(canonical, {}).update(given)
                self.registry.build(canonical, given)
            except SynthesizerError as error:
                self.problems += [f"models.{name}: {problem}" for problem in error.problems]
        return options

    # -- methods

    def methods(self) -> dict[str, _Method]:
        """Return the model asked for every variable."""
        self._check_default()
        found = {name: self._method(name) for name in self.names}
        return {name: method for name, method in found.items() if method is not None}

    def _check_default(self) -> None:
        default = self.config.default_method
        names = [default] if isinstance(default, str) else list(default.values())
        if not isinstance(default, str):
            self.problems += [
                f"default_method.{kind}: unknown kind; known: {', '.join(list(Kind)[:-1])}"
                for kind in default
                if kind not in list(Kind)[:-1]
            ]
        for name in names:
            if name not in DEFAULT_SETS:
                try:
                    self.registry.canonical(name)
                except SynthesizerError as error:
                    self.problems += [f"default_method: {problem}" for problem in error.problems]

    def _method(self, name: str) -> _Method | None:
        own = self.config.variables.get(name, VariableConfig())
        told = {
            "keep": ROLES["keep"] if name in self.config.keep else None,
            f"variables.{name}.method": own.method,
            f"variables.{name}.derived": None if own.derived is None else f"~{own.derived}",
            f"method.{name}": self.config.method.get(name),
        }
        given = {place: value for place, value in told.items() if value is not None}
        if len(set(given.values())) > 1:
            self.problems.append(f"variable {name!r}: {' and '.join(given)} disagree; keep one")
            return None
        if not given:
            return _Method(self._default_for(self.table[name].variable), own.options, told=False)
        place, value = next(iter(given.items()))
        if value.startswith("~"):
            return self._derived(name, place, value[1:].strip())
        try:
            return _Method(self.registry.canonical(value), own.options, told=True)
        except SynthesizerError as error:
            self.problems += [f"{place}: {problem}" for problem in error.problems]
            return None

    def _default_for(self, variable: Variable) -> str:
        default = self.config.default_method
        if not isinstance(default, str):
            default = default.get(variable.kind.value, "cart")
        if default in DEFAULT_SETS:
            return default_method(default, variable)
        try:
            return self.registry.canonical(default)
        except SynthesizerError:  # told already
            return default_method("cart", variable)

    def _derived(self, name: str, place: str, text: str) -> _Method | None:
        try:
            expression = Expression.parse(text)
        except SynthesizerError as error:
            self.problems += [f"{place}: {problem}" for problem in error.problems]
            return None
        found = [f"{place}: {p}" for p in self._expression_problems(name, expression)]
        self.problems += found
        if found or self.columns.any_faulty(expression.names):
            return None
        options = {"expression": text}
        return _Method(ROLES["derived"], options, told=True, inputs=expression.names)

    def _expression_problems(self, name: str, expression: Expression) -> list[str]:
        outside = [other for other in sorted(expression.names) if other not in self.names]
        if outside:
            return [p for other in outside for p in self._outside(other)]
        variable = self.table[name].variable
        return expression.problems(self.table.schema, condition=False, target=variable)

    def _outside(self, name: str) -> list[str]:
        """Say why an expression cannot use a variable that takes no part in the synthesis."""
        if name in self.table:
            return [f"{name!r} is an id or dropped and cannot be used; declare another kind"]
        return self.columns.unknown("expression", name)

    # -- order

    def order(self, methods: Mapping[str, _Method]) -> list[str]:
        """Return the order of the chain: kept first, then as told, derived after their inputs."""
        kept = [n for n in self.names if n in methods and methods[n].name == ROLES["keep"]]
        listed = self._listed()
        rest = [n for n in self.names if n not in listed]
        order = [n for n in rest if n in kept] + listed + [n for n in rest if n not in kept]
        if listed and rest:
            self.notes.append(
                f"visit_sequence leaves out {len(rest)} variables; kept ones come first, "
                f"the others last, in file order: {', '.join(rest)}"
            )
        inputs = {
            n: set(methods[n].inputs or ()) for n in order if n in methods and methods[n].inputs
        }
        return self._after_inputs(order, inputs, set(listed))

    def _listed(self) -> list[str]:
        listed: list[str] = []
        for entry in self.config.visit_sequence or ():
            name = self._entry(entry)
            if name in listed:
                self.problems.append(f"visit_sequence: variable {name!r} is there twice")
            elif name in self.names:
                listed.append(name)
            elif name in self.table:
                self.notes.append(f"visit_sequence: {name!r} is an id or dropped, and left out")
            else:
                self.problems += self.columns.unknown("visit_sequence", name)
        return listed

    def _entry(self, entry: str) -> str:
        """Return the variable at a place of visit_sequence: a name, or a position from 1."""
        names = self.columns.names or ()
        if entry not in names and entry.isdecimal() and 1 <= int(entry) <= len(names):
            return names[int(entry) - 1]
        return entry

    def _after_inputs(
        self, order: list[str], inputs: Mapping[str, set[str]], listed: set[str]
    ) -> list[str]:
        """Move derived variables behind their inputs where nobody told their place."""
        placed: list[str] = []
        waiting = list(order)
        while waiting:
            ready = next((n for n in waiting if inputs.get(n, set()) <= set(placed)), None)
            if ready is None:
                self.problems.append(
                    f"derived variables {', '.join(waiting[:5])} depend on each other in a circle; "
                    "model one of them instead"
                )
                return order
            if ready != waiting[0] and waiting[0] in listed and ready in listed:
                late = sorted(inputs[waiting[0]] - set(placed))
                self.problems.append(
                    f"visit_sequence: derived variable {waiting[0]!r} comes before its inputs "
                    f"{', '.join(late)}; move it behind them"
                )
                return order
            placed.append(ready)
            waiting.remove(ready)
        return placed

    # -- steps

    def steps(self, order: list[str], methods: Mapping[str, _Method]) -> list[Step]:
        """Build the step of every variable."""
        steps = []
        first = True
        for position, name in enumerate(order):
            method = methods.get(name)
            if method is None:
                first = False
                continue
            if first and not method.told:
                method = _Method(ROLES["first"], {}, told=False)
            first = False
            step = self._step(name, method, order[:position])
            if step is not None:
                steps.append(step)
        return steps

    def _step(self, name: str, method: _Method, earlier: list[str]) -> Step | None:
        options = {**self.options.get(method.name, {}), **method.options}
        try:
            model = self.registry.build(method.name, options)
        except (ConfigError, ModelError) as error:
            if not set(options) <= set(self.options.get(method.name, {})):
                self.problems += [f"variable {name!r}: {problem}" for problem in error.problems]
            return None
        variable = self.table[name].variable
        self.problems += _kind_problems(variable, method.name, model)
        if method.inputs is not None:
            predictors: tuple[str, ...] = tuple(n for n in earlier if n in method.inputs)
        else:
            predictors = self._predictors(name, model, earlier)
        missing_method, missing_model = self._missing_model(variable, method.name, model)
        return Step(
            variable=name,
            method=method.name,
            model=model,
            predictors=predictors,
            missing_method=missing_method,
            missing_model=missing_model,
        )

    def _predictors(
        self, name: str, model: ConditionalModel, earlier: list[str]
    ) -> tuple[str, ...]:
        own = self.config.variables.get(name, VariableConfig())
        wanted = own.predictors
        if wanted is None:
            wanted = self.config.predictor_matrix.get(name)
        for other in wanted or ():
            if other == name:
                self.problems.append(f"variable {name!r}: cannot be its own predictor")
            elif other in self.names and other not in earlier:
                self.problems.append(
                    f"variable {name!r}: predictor {other!r} comes later in the order; "
                    f"put it before {name!r} in visit_sequence or take it out"
                )
            elif other in self.table and other not in self.names:
                self.problems.append(
                    f"variable {name!r}: predictor {other!r} is an id or dropped; take it out"
                )
        if not model.abilities.uses_predictors:
            return ()
        return tuple(n for n in earlier if (wanted is None or n in wanted) and n not in own.exclude)

    def _missing_model(
        self, variable: Variable, method: str, model: ConditionalModel
    ) -> tuple[str, ConditionalModel] | tuple[None, None]:
        """Return the model that draws the missing codes of a number, if not ``model`` itself."""
        abilities = model.abilities
        whole = abilities.copies_rows or abilities.deterministic
        if variable.is_coded or not variable.missing or whole:
            return None, None
        states = state_variable(variable)
        own = self.config.variables.get(variable.name, VariableConfig())
        able = Kind.CATEGORICAL in abilities.kinds and not _too_many(states, model)
        default = self.config.default_method
        usual = default_method(default if default == "parametric" else "cart", states)
        name = own.missing_method or (method if able else usual)
        try:
            name = self.registry.canonical(name)
            chosen = self.registry.build(name, self.options.get(name, {}))
        except SynthesizerError as error:
            place = f"variables.{variable.name}.missing_method"
            self.problems += [f"{place}: {problem}" for problem in error.problems]
            return None, None
        if own.missing_method is None and able:
            return None, None
        self.problems += _kind_problems(states, name, chosen)
        return name, chosen


def _too_many(variable: Variable, model: ConditionalModel) -> bool:
    limit = model.abilities.max_levels
    return limit is not None and variable.n_codes > limit


def _kind_problems(variable: Variable, name: str, model: ConditionalModel) -> list[str]:
    kinds = model.abilities.kinds
    if variable.kind not in kinds:
        takes = ", ".join(sorted(kinds))
        return [
            f"variable {variable.name!r}: model {name!r} cannot draw kind {variable.kind.value}; "
            f"it takes {takes}"
        ]
    if variable.is_coded and _too_many(variable, model):
        return [
            f"variable {variable.name!r}: model {name!r} takes at most "
            f"{model.abilities.max_levels} levels, it has {variable.n_codes} with missing codes; "
            "use 'multinomial' or 'cart'"
        ]
    return []


def _row_problems(config: ChainConfig, table: Table, steps: list[Step]) -> list[str]:
    """Check what concerns numbers of rows: kept variables, strata, workers."""
    problems = []
    keeps = any(step.model.abilities.copies_rows for step in steps)
    if keeps and config.rows not in (None, table.n_rows):
        problems.append(
            f"rows ({config.rows}) must be {table.n_rows} or absent: variables are kept row by "
            "row (partial synthesis)"
        )
    if config.workers == 0:
        problems.append("workers (0) must be at least 1, or -1 for all cores")
    if all(name in table for name in config.strata):
        sizes = np.array([len(rows) for rows in split_strata(table, config.strata)])
        small = int((sizes < MIN_STRATUM_ROWS).sum())
        if small and config.strata:
            problems.append(
                f"strata: {small} of {len(sizes)} strata have fewer than {MIN_STRATUM_ROWS} rows; "
                "use fewer or coarser variables"
            )
    return problems
