"""The input that all steps of the plan share: configuration, data and models."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from synthesizer.config.keys import WARNED, ChainConfig, RareConfig, VariableConfig
from synthesizer.data.errors import Problem, Problems, SynthesizerError
from synthesizer.data.expressions import Expression
from synthesizer.data.id_patterns import IdPattern
from synthesizer.data.panel.arrangement import PLAIN, Arrangement, DummySet, Frame, RowFrame
from synthesizer.data.panel.paths import OWN, PathRule
from synthesizer.data.panel.view import PersonView, changers, groups_of, period_labels
from synthesizer.data.plugins import arranging_keys
from synthesizer.data.relations import Relation, dummy_set, find_relations, relations_of_panel
from synthesizer.data.table import Kind, Table
from synthesizer.engine.registry import Registry
from synthesizer.models.histories.history import panel_of
from synthesizer.models.step import Forbid
from synthesizer.plan.findings import Draft, Findings, problem
from synthesizer.plan.inputs import Columns, Input, torn_ids

_ROWS_ALONE = {"stay_or_move": False, "first_apart": False, "changes": False}


@dataclass(frozen=True, kw_only=True)
class Arranged:
    """How rows of the source are grouped, and what the plan must do because of it.

    The defaults serve single rows, and persons in periods. A key with ``arrange`` returns a
    subclass. A form may have *leads*: columns with the value of the first row of a unit, which is
    drawn before the others.
    """

    form: Arrangement = PLAIN
    models: ClassVar[Mapping[str, str]] = {}
    """Models by role, instead of those of `ROLES`."""
    alone: ClassVar[Mapping[str, Any]] = _ROWS_ALONE
    """Options of the model of changing variables with which each row is drawn by itself."""

    def options(self, name: str, names: Container[str]) -> dict[str, Any]:
        """Return model options of a changing variable; ``names`` are the variables of the table."""
        return {}

    def computed(self, table: Table, names: Iterable[str]) -> Mapping[str, str]:
        """Map each variable to the column of ``table`` that it always equals, such as a count."""
        return {}

    def order(
        self, career: str, constant: Sequence[str], listed: Sequence[str], others: Sequence[str]
    ) -> list[str] | None:
        """Return the order of constant, listed and other variables; None for the usual one."""
        return None

    def last(self, context: Context, names: list[str]) -> list[str]:
        """Return the variables among ``names`` that may be drawn last."""
        return names

    def lead(self, name: str, names: Container[str]) -> str | None:
        """Return the lead of a variable; None if it is not among ``names``."""
        return None

    def of_leads(self, expression: Expression, names: Container[str]) -> Expression:
        """Return an expression about leads instead of their variables."""
        return expression

    def own_conditions(self, context: Context) -> Iterator[tuple[str, Expression]]:
        """Yield (location, condition) for each condition that no row may satisfy."""
        yield from ()

    def conditions(
        self, condition: Expression, names: Container[str]
    ) -> Iterator[tuple[str, Expression]]:
        """Yield (suffix of the location, condition) for each group of rows."""
        yield "", condition

    def left_problems(
        self, context: Context, forbids: Sequence[tuple[str, Forbid]], order: Sequence[str]
    ) -> Iterator[str]:
        """Yield problems of conditions that together forbid every value."""
        yield from ()

    def paths(self, context: Context) -> Draft[tuple[PathRule, ...]]:
        """Return rules from row to row, besides those of ``panel``."""
        return Draft(())


@dataclass(frozen=True, kw_only=True)
class Context:
    """Configuration, data and models, from which order and predictors follow."""

    config: ChainConfig
    data: Input
    """The confidential data, or their sound part."""
    registry: Registry
    """The available models."""
    arranged: Arranged = field(default_factory=Arranged)
    """How rows of the source are grouped into units."""

    @property
    def arrangement(self) -> Arrangement:
        """The form of the source."""
        return self.arranged.form

    @cached_property
    def options(self) -> dict[str, dict[str, object]]:
        """Options by registered model name, without unknown models."""
        options: dict[str, dict[str, object]] = {}
        for name, of_model in self.config.models.items():
            with suppress(SynthesizerError):
                options.setdefault(self.registry.canonical(name), {}).update(of_model)
        return options

    @cached_property
    def frame(self) -> Frame | RowFrame:
        """The periods of a panel; the rows of a plain table."""
        frame = self.arrangement.frame
        return replace(frame, sets=self.sets) if isinstance(frame, Frame) else frame

    @cached_property
    def table(self) -> Table:
        """The confidential data in the form that the chain models; a `PanelTable` for a panel."""
        return self.arrangement.modelled(self.data.table)

    @cached_property
    def original(self) -> Table:
        """The data as the checks use them: one row for each unit."""
        return self.arrangement.viewed(self.table)

    @cached_property
    def columns(self) -> Columns:
        """All columns of the source, with the panel variable of each."""
        owned = {name: self.arrangement.columns_of(name) for name in self.table.names}
        return self.data.columns.joined(self.table.names).grouped(owned)

    @cached_property
    def completed(self) -> Table:
        """The table with variables computed from careers, which rules may name."""
        return self.frame.completed(self.table)

    @cached_property
    def ruled(self) -> Columns:
        """The columns that rules and conditions may name."""
        return self.columns.joined(self.completed.names)

    @cached_property
    def seen(self) -> Columns:
        """The columns that checks may name; for a panel, those of the table of persons."""
        if isinstance(self.frame, RowFrame):
            return self.columns
        if not isinstance(self.original, PersonView):
            return self.columns.joined(self.original.names)
        periods = period_labels(self.frame.periods)
        return self.columns.seen(self.table.names, self.original.names, periods)

    @cached_property
    def names(self) -> list[str]:
        """The variables of the synthesis: all except identifiers and dropped ones."""
        return [name for name in self.table.names if not self.takes_no_part(name)]

    @cached_property
    def relations(self) -> tuple[Relation, ...]:
        """Relations that all rows keep, without those of dummies that are drawn as one variable."""
        return tuple(r for r in self._relations if r.whole not in {s.sentence for s in self.sets})

    @cached_property
    def sets(self) -> tuple[DummySet, ...]:
        """Sets of dummies of a panel that are drawn as one variable each."""
        if self.config.panel is None or not isinstance(self.config.method, dict):
            return ()
        wholes = dict.fromkeys(r.whole for r in self._relations if r.whole)
        names = {w: {n for r in self._relations if r.whole == w for n in r.names} for w in wholes}
        free = {whole: of_set for whole, of_set in names.items() if not of_set & self._chosen}
        return tuple(filter(None, (dummy_set(*one, self.table) for one in free.items())))

    @property
    def _chosen(self) -> set[str]:
        """Variables with a setting of their draws, or that are excluded from predictors."""
        config, variables = self.config, self.config.variables.items()
        names = {name for name, _ in (*needed_as_drawn(self), *set_or_redrawn(self))}
        names |= {*config.keep, *config.method, *config.section_methods, *config.predictor_matrix}
        names |= {n for n, one in variables if one.model_fields_set - _OF_COLUMNS - {"public"}}
        return names | {other for _, one in variables for other in one.exclude}

    @cached_property
    def _relations(self) -> tuple[Relation, ...]:
        """Relations that all rows keep, without those with a variable that is free."""
        config = self.config
        if config.relations == "none" or config.maker is not None:
            return ()
        free = () if isinstance(config.relations, str) else config.relations.free
        usable = {n for n in self.names if n not in free and not self.columns.any_faulty([n])}
        listed = [self.listed(entry) for entry in config.visit_sequence or ()]
        # in the order of draws, which decides what follows from what
        names = [n for n in dict.fromkeys((*config.keep, *listed, *self.names)) if n in usable]
        index = panel_of(self.table).index if self.is_panel else None
        names.sort(key=lambda name: index is not None and changers(index, self.table[name]).any())
        if not names:
            return ()
        table = Table(self.table[name] for name in names)
        joined = RareConfig().to if config.rare is None else config.rare.to
        drawn = set[str]() if config.design is None else {config.design.weight}
        if not self.is_panel:
            return find_relations(table, drawn=drawn, joined=joined)
        return relations_of_panel(table, panel_of(self.table).index, drawn=drawn, joined=joined)

    @cached_property
    def steps(self) -> Mapping[str, float]:
        """Change per period of numbers that change alike in all rows of a panel."""
        if self.config.panel is None:
            return {}
        named = {self.listed(entry) for entry in self.config.visit_sequence or ()}
        named |= {name for rule in self.config.rules for name in rule.then}
        steps = (r for r in self.relations if r.key == "steps" and r.name not in named)
        return {relation.name: float(relation.text) for relation in steps}

    def takes_no_part(self, name: str) -> bool:
        """Whether a variable is dropped, an identifier, or the time of careers."""
        panel = self.config.panel
        is_id = name in self.table and self.table[name].variable.kind is Kind.ID
        is_id = is_id or (panel is not None and name == panel.person)
        follows = name == self.arrangement.frame.time != self.career
        return is_id or follows or name in self.config.drop

    def unusable(self, entry: str, name: str) -> list[Problem]:
        """Return the problems of a name that is no variable of the synthesis."""
        unknown = self.columns.unknown(entry, name)
        if unknown or not self.takes_no_part(name):
            return unknown
        return [problem("takes_no_part", name=name, entry=entry)]

    @property
    def career(self) -> str | None:
        """The career variable; the time column if careers only draw presence."""
        return self.arrangement.frame.career or self.arrangement.frame.time

    @property
    def is_panel(self) -> bool:
        """Whether units have several rows, such as persons in periods."""
        return self.career is not None

    @cached_property
    def has_groups(self) -> bool:
        """Whether rows are persons that are drawn in groups."""
        return groups_of(self.original) is not None

    @cached_property
    def changing(self) -> Mapping[str, float]:
        """Share of persons with a change, in [0, 1], by variable of a panel."""
        if not self.is_panel:
            return {}
        panel = panel_of(self.completed)
        return {c.name: float(changers(panel.index, c).mean()) for c in panel.columns}

    def earlier(self, order: Sequence[str], position: int) -> list[str]:
        """Return earlier variables, with those computed from careers if these are earlier."""
        names = list(order[:position])
        if self.career not in names:
            return names
        after = names.index(str(self.career)) + 1
        derived = [name for name in self.frame.derived if name not in names]
        return [*names[:after], *derived, *names[after:]]

    def listed(self, entry: str) -> str:
        """Return the variable of an entry of visit_sequence: a name, or a position from 1."""
        names = self.columns.names or ()
        if entry not in names and entry.isdecimal() and 1 <= int(entry) <= len(names):
            return names[int(entry) - 1]
        return entry

    def settings_of(self, name: str) -> VariableConfig:
        """Return the settings of one variable; a lead shares those of its variable."""
        variables, about = self.config.variables, self.arrangement.about(name)
        if name in variables or name == about:
            return variables.get(name, VariableConfig())
        shared = ("method", "missing_method", "options")
        settings = variables.get(about, VariableConfig())
        return VariableConfig.model_construct(**{key: getattr(settings, key) for key in shared})

    def wanted(self, name: str) -> tuple[str, ...] | None:
        """Return the predictors that the configuration names for a variable; None for all."""
        named = self.settings_of(name).predictors
        return self.config.predictor_matrix.get(name) if named is None else named


def unknown_variables(context: Context) -> Iterator[str]:
    """Yield a problem for each variable of the configuration that the source does not have.

    Variables in expressions, in the order and under checks are checked elsewhere.
    """
    config, columns = context.config, context.columns
    entries: list[tuple[str, Iterable[str]]] = [
        ("variables", [name for name in config.variables if name not in columns.owners]),
        ("method", config.named_methods),
        ("keep", config.keep),
        ("drop", config.drop),
        ("strata", config.strata),
        ("predictor_matrix", config.predictor_matrix),
        ("relations.free", () if isinstance(config.relations, str) else config.relations.free),
        ("survival", [name for pair in config.survival for name in (pair.event, pair.time)]),
    ]
    predictors = [(f"predictor_matrix.{k}", v) for k, v in config.predictor_matrix.items()]
    for name, settings in config.variables.items():
        predictors.append((f"variables.{name}.predictors", settings.predictors or ()))
        predictors.append((f"variables.{name}.exclude", settings.exclude))
        if name in columns.owners:
            keys = [f"variables.{name}.{key}" for key in settings.model_fields_set - _OF_COLUMNS]
            entries += [(entry, [name]) for entry in sorted(keys)]
    for entry, names in entries:
        for name in names:
            yield from columns.unknown(entry, name)
    following = columns.joined(context.frame.derived)
    for entry, names in predictors:
        for name in names:
            if not (context.is_panel and name.startswith(OWN)):  # checked with the model
                yield from following.unknown(entry, name)


def computed_free_variables(context: Context) -> Iterator[str]:
    """Yield a problem for each free variable that the configuration computes from others."""
    relations = context.config.relations
    for name in () if isinstance(relations, str) else relations.free:
        settings = context.settings_of(name)
        for key in ("derived", "follows"):
            if getattr(settings, key) is not None:
                yield problem("free_is_computed", name=name, key=key)


def repeated_ids(context: Context) -> Iterator[str]:
    """Yield problems of identifiers that repeat, although rows are drawn independently."""
    further = "".join(
        f"if they are {key.type.unit}s, declare {name}: {{...}}; "
        for name, key in arranging_keys().items()
    )
    for column in torn_ids(context.data.table, context.config):
        values = column.data[column.is_observed]
        yield problem(
            "identifier_repeats",
            name=column.name,
            values=len(np.unique(values)),
            rows=len(values),
            further=further,
        )


def id_findings(context: Context) -> Draft[None]:
    """Return problems of forms that give too few identifiers, and notes on longer identifiers."""
    findings = Findings()
    whole, table = context.data.whole, context.data.table
    units = context.table.n_units
    drawn = context.config.rows or (units if whole is None else whole.n_units)
    for column in table.columns:
        pattern = IdPattern.of_storage(column.variable.storage)
        if pattern is not None:
            n_ids = len(np.unique(column.data[column.is_observed]))
            needed = -(-drawn * n_ids // units)
            if pattern.most is None and pattern.steps < needed:
                findings.note("longer_ids", name=column.name)
            elif pattern.most is not None and pattern.most < needed:
                facts = {"most": pattern.most, "needed": needed}
                findings.problem("scarce_ids", name=column.name, **facts)
    return findings.of(None)


_OF_COLUMNS = frozenset(
    ("kind", "missing", "levels", "decimals", "date_format", "label", "unit", "level_labels")
)
"""Settings that a single column of a wide variable may have: its reading and labels."""


def named_together(context: Context) -> Iterator[Iterable[str]]:
    """Yield the variables of each configured rule, condition and list of structural zeros."""
    config = context.config
    yield from config.structural_zero_lists
    texts: list[tuple[str, Iterable[str]]] = [(text, ()) for text in config.forbid]
    texts += [(rule.always or rule.condition, rule.then) for rule in config.rules]
    for text, others in texts:
        with suppress(SynthesizerError):  # reported with the rules
            yield {*Expression.parse(text).names, *others}


def needed_as_drawn(context: Context) -> Iterator[tuple[str, str]]:
    """Yield variables that other settings need as drawn ones, with the reason."""
    config = context.config
    yield from ((name, "because strata uses it") for name in config.strata)
    if context.career is not None:
        yield context.career, "because it is the career"
    if config.panel is not None:
        yield from ((rule.variable, "because panel.rules uses it") for rule in config.panel.rules)


def set_or_redrawn(context: Context) -> Iterator[tuple[str, str]]:
    """Yield variables that a rule sets or structural zeros redraw, with the location."""
    for number, rule in enumerate(context.config.rules, 1):
        yield from ((name, f"rule {number}") for name in rule.then)
    for number, names in enumerate(context.config.structural_zero_lists, 1):
        yield from ((name, f"structural_zeros {number}") for name in names)


def models_without_use(context: Context) -> Iterator[str]:
    """Yield problems of unknown models, and of models of identifiers."""
    config = context.config
    models = [(name, f"method.{name}", method) for name, method in config.named_methods.items()]
    for name, settings in config.variables.items():
        models.append((name, f"variables.{name}.method", settings.method or ""))
        models.append((name, f"variables.{name}.missing_method", settings.missing_method or ""))
    for name, entry, model in models:
        if not model or name in context.names:
            continue
        problems = Problems()
        if not model.startswith("~"):
            with problems.gathered(entry):
                context.registry.canonical(model)
        column = None if name in config.drop else context.data.table.get(name)
        if not problems and column is not None and column.variable.kind is Kind.ID:
            problems.append(problem("model_of_identifier", name=name, entry=entry))
        yield from problems


def broken_findings(config: ChainConfig, broken: Iterable[str]) -> Draft[None]:
    """Return violations by confidential rows as problems, notes or nothing (``on_violation``)."""
    if config.on_violation == "error":
        return Draft(None, tuple(problem("breaks_rule", text=text) for text in broken))
    warned = () if config.on_violation == "ignore" else broken
    return Draft(None, notes=tuple(f"{text} ({WARNED})" for text in warned))
