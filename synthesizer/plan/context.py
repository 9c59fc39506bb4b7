"""What the steps of the plan share: configuration, data and models."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from synthesizer.config.keys import ChainConfig, VariableConfig
from synthesizer.data.errors import Problem, Problems, SynthesizerError
from synthesizer.data.expressions import Expression
from synthesizer.data.panel.arrangement import PLAIN, Arrangement, Frame, RowFrame
from synthesizer.data.panel.paths import OWN, PathRule
from synthesizer.data.panel.view import PersonView, changers, groups_of, period_labels
from synthesizer.data.plugins import arranging_keys
from synthesizer.data.table import Kind, Table
from synthesizer.engine.registry import Registry
from synthesizer.models.histories.history import panel_of
from synthesizer.models.step import Forbid
from synthesizer.plan.findings import Found, problem
from synthesizer.plan.inputs import Columns, Input, torn_ids


@dataclass(frozen=True, kw_only=True)
class Arranged:
    """How rows of the source belong together, and what that asks of the plan.

    The defaults are those of single rows, and of persons in periods. A key with ``arrange`` returns
    others. A form may have *leads*: columns with the value of a unit's first row, which is drawn
    before the others.
    """

    form: Arrangement = PLAIN
    models: ClassVar[Mapping[str, str]] = {}
    """Models in place of those of `ROLES`."""

    def options(self, name: str, names: Container[str]) -> dict[str, Any]:  # noqa: ARG002
        """Return options of the model of a variable that changes; ``names`` are in the table."""
        return {}

    def computed(self, table: Table, names: Iterable[str]) -> Mapping[str, str]:  # noqa: ARG002
        """Return variables that equal what follows from the rows that there are, and what that is.

        ``table`` has both.
        """
        return {}

    def order(
        self,
        career: str,  # noqa: ARG002
        constant: Sequence[str],  # noqa: ARG002
        listed: Sequence[str],  # noqa: ARG002
        others: Sequence[str],  # noqa: ARG002
    ) -> list[str] | None:
        """Return the order of the variables: those that never change, listed ones, and others."""
        return None

    def last(self, context: Context, names: list[str]) -> list[str]:  # noqa: ARG002
        """Return which of some variables may be drawn behind all others."""
        return names

    def lead(self, name: str, names: Container[str]) -> str | None:  # noqa: ARG002
        """Return the lead of a variable, where it is among some names."""
        return None

    def of_leads(self, expression: Expression, names: Container[str]) -> Expression:  # noqa: ARG002
        """Return what an expression says of leads."""
        return expression

    def own_conditions(self, context: Context) -> Iterator[tuple[str, Expression]]:  # noqa: ARG002
        """Yield conditions that no row may satisfy, with their places."""
        yield from ()

    def conditions(
        self,
        condition: Expression,
        names: Container[str],  # noqa: ARG002
    ) -> Iterator[tuple[str, Expression]]:
        """Yield what a condition asks of whom, with the end of its place."""
        yield "", condition

    def left_problems(
        self,
        context: Context,  # noqa: ARG002
        forbids: Sequence[tuple[str, Forbid]],  # noqa: ARG002
        order: Sequence[str],  # noqa: ARG002
    ) -> Iterator[str]:
        """Report conditions that leave no value."""
        yield from ()

    def paths(self, context: Context) -> Found[tuple[PathRule, ...]]:  # noqa: ARG002
        """Plan rules from row to row beside those of ``panel``."""
        return Found(())


@dataclass(frozen=True, kw_only=True)
class Context:
    """What order, models and predictors are decided by."""

    config: ChainConfig
    """What the steward wants."""
    data: Input
    """The confidential data, or their sound part."""
    registry: Registry
    """The models that are known."""
    arranged: Arranged = field(default_factory=Arranged)
    """How the source holds its units."""

    @property
    def arrangement(self) -> Arrangement:
        """The form of the source."""
        return self.arranged.form

    @cached_property
    def options(self) -> dict[str, dict[str, object]]:
        """Options of the models by registered name; unknown models are left out."""
        options: dict[str, dict[str, object]] = {}
        for name, of_model in self.config.models.items():
            with suppress(SynthesizerError):
                options.setdefault(self.registry.canonical(name), {}).update(of_model)
        return options

    @cached_property
    def frame(self) -> Frame | RowFrame:
        """The periods of a panel; the rows of a plain table."""
        return self.arrangement.frame

    @cached_property
    def table(self) -> Table:
        """The confidential data as the chain models them; a `PanelTable` of a panel."""
        return self.arrangement.modelled(self.data.table)

    @cached_property
    def original(self) -> Table:
        """One row a unit, which the checks look at."""
        return self.arrangement.viewed(self.table)

    @cached_property
    def columns(self) -> Columns:
        """All columns of the source, and the variables of a panel that they belong to."""
        owned = {name: self.arrangement.columns_of(name) for name in self.table.names}
        return self.data.columns.joined(self.table.names).grouped(owned)

    @cached_property
    def completed(self) -> Table:
        """The chain's table with the variables that follow from careers, which rules may name."""
        return self.frame.completed(self.table)

    @cached_property
    def ruled(self) -> Columns:
        """The columns that rules and conditions may name, some of which follow from careers."""
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
        """Variables that take part in the synthesis: all but ids."""
        return [name for name in self.table.names if not self.takes_no_part(name)]

    def takes_no_part(self, name: str) -> bool:
        """Whether a variable is dropped or an id, as persons are."""
        panel = self.config.panel
        is_id = name in self.table and self.table[name].variable.kind is Kind.ID
        is_id = is_id or (panel is not None and name == panel.person)
        follows = self.frame.career is not None and name == self.frame.time
        return is_id or follows or name in self.config.drop

    def unusable(self, place: str, name: str) -> list[Problem]:
        """Return why a name is no variable of the synthesis; nothing where it is one."""
        unknown = self.columns.unknown(place, name)
        if unknown or not self.takes_no_part(name):
            return unknown
        return [problem("takes_no_part", name=name, place=place)]

    @property
    def career(self) -> str | None:
        """The variable that the careers draw; the time column where they draw presence only."""
        return self.frame.career or self.frame.time

    @property
    def is_panel(self) -> bool:
        """Whether units have several rows, such as persons in periods."""
        return self.career is not None

    @cached_property
    def has_groups(self) -> bool:
        """Whether rows are persons, who are drawn in groups."""
        return groups_of(self.original) is not None

    @cached_property
    def changing(self) -> Mapping[str, float]:
        """Share of persons who ever change each variable of a panel, in [0, 1]."""
        if not self.is_panel:
            return {}
        panel = panel_of(self.table)
        return {c.name: float(changers(panel.index, c).mean()) for c in panel.columns}

    def earlier(self, order: Sequence[str], position: int) -> list[str]:
        """Return the variables known when a variable is drawn: earlier ones, and what follows.

        Time and the attributes of the careers of a panel follow from the careers.
        """
        names = list(order[:position])
        if self.career not in names:
            return names
        place = names.index(str(self.career)) + 1
        derived = [name for name in self.frame.derived if name not in names]
        return [*names[:place], *derived, *names[place:]]

    def listed(self, entry: str) -> str:
        """Return the variable at a place of visit_sequence: a name, or a position from 1."""
        names = self.columns.names or ()
        if entry not in names and entry.isdecimal() and 1 <= int(entry) <= len(names):
            return names[int(entry) - 1]
        return entry

    def own(self, name: str) -> VariableConfig:
        """Return what the configuration says of one variable."""
        variables, about = self.config.variables, self.arrangement.about(name)
        if name in variables or name == about:
            return variables.get(name, VariableConfig())
        # leads are drawn as other rows are, unless said otherwise
        kept = ("method", "missing_method", "options")
        settings = variables.get(about, VariableConfig())
        return VariableConfig.model_construct(**{key: getattr(settings, key) for key in kept})

    def wanted(self, name: str) -> tuple[str, ...] | None:
        """Return the predictors that the configuration names for a variable, None for all."""
        named = self.own(name).predictors
        return self.config.predictor_matrix.get(name) if named is None else named


def unknown_variables(context: Context) -> Iterator[str]:
    """Yield a problem for each variable that is in the configuration but not in the source.

    Variables in expressions, in the order and under checks are reported where these are read.
    """
    config, columns = context.config, context.columns
    places: list[tuple[str, Iterable[str]]] = [
        ("variables", [name for name in config.variables if name not in columns.owners]),
        ("method", config.named_methods),
        ("keep", config.keep),
        ("drop", config.drop),
        ("strata", config.strata),
        ("predictor_matrix", config.predictor_matrix),
        ("survival", [name for pair in config.survival for name in (pair.event, pair.time)]),
    ]
    predictors = [(f"predictor_matrix.{k}", v) for k, v in config.predictor_matrix.items()]
    for name, settings in config.variables.items():
        predictors.append((f"variables.{name}.predictors", settings.predictors or ()))
        predictors.append((f"variables.{name}.exclude", settings.exclude))
        if name in columns.owners:
            keys = [f"variables.{name}.{key}" for key in settings.model_fields_set - _OF_COLUMNS]
            places += [(place, [name]) for place in sorted(keys)]
    for place, names in places:
        for name in names:
            yield from columns.unknown(place, name)
    following = columns.joined(context.frame.derived)
    for place, names in predictors:
        for name in names:
            if not (context.is_panel and name.startswith(OWN)):  # judged with the model
                yield from following.unknown(place, name)


def repeated_ids(context: Context) -> Iterator[str]:
    """Yield identifiers that several rows share where nothing says what these rows are.

    They would be numbered anew row by row, and what belongs together would fall apart.
    """
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


_OF_COLUMNS = frozenset(
    ("kind", "missing", "levels", "decimals", "date_format", "label", "unit", "level_labels")
)
"""What may be said of a single column of a wide variable: how it is read, and what it means."""


def models_without_use(context: Context) -> Iterator[str]:
    """Yield unknown models of variables that are not planned, and models of identifiers."""
    config = context.config
    models = [(name, f"method.{name}", method) for name, method in config.named_methods.items()]
    for name, settings in config.variables.items():
        models.append((name, f"variables.{name}.method", settings.method or ""))
        models.append((name, f"variables.{name}.missing_method", settings.missing_method or ""))
    for name, place, model in models:
        if not model or name in context.names:
            continue
        problems = Problems()
        if not model.startswith("~"):
            with problems.gathered(place):
                context.registry.canonical(model)
        column = None if name in config.drop else context.data.table.get(name)
        if not problems and column is not None and column.variable.kind is Kind.ID:
            problems.append(problem("model_of_identifier", name=name, place=place))
        yield from problems


def broken_findings(config: ChainConfig, broken: Iterable[str]) -> Found[None]:
    """Return where confidential rows break what synthetic rows keep, as ``on_violation`` says."""
    if config.on_violation == "error":
        return Found(None, tuple(problem("breaks_rule", text=text) for text in broken))
    return Found(None, notes=() if config.on_violation == "ignore" else tuple(broken))
