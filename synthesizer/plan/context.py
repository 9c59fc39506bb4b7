"""What the steps of the plan share: configuration, data and models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from synthesizer.config.keys import ChainConfig, VariableConfig
from synthesizer.data.errors import Problem, Problems, SynthesizerError
from synthesizer.data.panel.arrangement import PLAIN, Arrangement, Frame, RowFrame
from synthesizer.data.panel.households import HEAD, HouseholdForm
from synthesizer.data.panel.paths import OWN
from synthesizer.data.panel.view import changers, period_labels
from synthesizer.data.table import Kind, Table
from synthesizer.engine.registry import Registry
from synthesizer.models.histories.history import panel_of
from synthesizer.plan.findings import problem
from synthesizer.plan.inputs import Columns, Input, torn_ids


@dataclass(frozen=True, kw_only=True)
class Context:
    """What order, models and predictors are decided by."""

    config: ChainConfig
    """What the steward wants."""
    data: Input
    """The confidential data, or their sound part."""
    registry: Registry
    """The models that are known."""
    arrangement: Arrangement = PLAIN
    """How the source holds its units."""

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
        if self.is_household:
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
        """Whether units have several rows: persons in periods, or households of persons."""
        return self.career is not None

    @property
    def is_household(self) -> bool:
        """Whether units are households, whose rows are persons."""
        return isinstance(self.arrangement, HouseholdForm)

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
        variables = self.config.variables
        if name in variables or not self.is_household:
            return variables.get(name, VariableConfig())
        # heads are drawn as other members are, unless said otherwise
        kept = ("method", "missing_method", "options")
        settings = variables.get(name.removeprefix(HEAD), VariableConfig())
        return VariableConfig.model_construct(**{key: getattr(settings, key) for key in kept})

    def plain_name(self, name: str) -> str:
        """Return the variable that a column of heads is about; others as they are."""
        return name.removeprefix(HEAD) if self.is_household else name

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
    for column in torn_ids(context.data.table, context.config):
        values = column.data[column.is_observed]
        yield problem(
            "identifier_repeats", name=column.name, values=len(np.unique(values)), rows=len(values)
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
