"""Find the form of a panel's source from its configuration, and arrange other files alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from synthesizer.config.keys import Config, HouseholdConfig, PanelConfig
from synthesizer.data.encoding import recoded
from synthesizer.data.errors import ConfigError, DataError, Problems, SynthesizerError, listed
from synthesizer.data.expressions import Expression
from synthesizer.data.guessing import Declaration
from synthesizer.data.pairs import Data, read_like
from synthesizer.data.panel.arrangement import PLAIN, Arrangement, Frame, RowFrame, label_problems
from synthesizer.data.panel.forms import long_form, wide_columns, wide_form
from synthesizer.data.panel.households import TAKEN, HouseholdForm, MemberView, household_form
from synthesizer.data.panel.panel_table import missing_in
from synthesizer.data.panel.paths import OWN
from synthesizer.data.panel.view import PREFIX, PersonView, constant_names, period_labels
from synthesizer.data.sources import RawTable, from_frame
from synthesizer.data.table import Column, Kind, Table
from synthesizer.measures.measure import Synthesis
from synthesizer.measures.settings import CheckSettings, LimitConfig
from synthesizer.plan.findings import note, problem
from synthesizer.plan.inputs import declarations, declared_for, encoded


def arrangement_of(
    panel: PanelConfig | None, table: Table, household: HouseholdConfig | None = None
) -> tuple[Arrangement, tuple[str, ...]]:
    """Return the arrangement of a source's units, with notes for the steward.

    Raises
    ------
    ConfigError
        With everything that stands against such a panel.

    Examples
    --------
    >>> arrangement_of(None, Table((), 2)) == (PLAIN, ())
    True
    """
    if household is not None:
        return arrange_households(household, table)
    if panel is None:
        return PLAIN, ()
    return arrange(panel, table)


def arrange(config: PanelConfig, table: Table) -> tuple[Arrangement, tuple[str, ...]]:
    """Return the form of a source, and what a steward should know of it.

    Raises
    ------
    ConfigError
        With everything that stands against such a panel.
    """
    names = (*table.names, *config.wide)
    taken = [name for name in names if name.startswith((PREFIX, OWN))]
    if taken:
        raise ConfigError(problem("reserved_name", names=taken, prefix=PREFIX, own=OWN))
    form, notes = _wide(config, table) if config.wide else _long(config, table)
    if not isinstance(form.frame, RowFrame):
        cells = {cell for name in config.wide for cell in form.columns_of(name)}
        shown = ("first", "last", *period_labels(form.frame.periods))
        views = {f"{name}@{label}" for name in names for label in shown}
        if taken := sorted(views.intersection(names) - cells):
            raise ConfigError(problem("name_of_a_view", names=taken))
    return form, notes


def _long(config: PanelConfig, table: Table) -> tuple[Arrangement, tuple[str, ...]]:
    person, time = str(config.person), str(config.time)
    problems = Problems(
        problem("unknown_column", name=name, key=key)
        for key, name in (("person", person), ("time", time), ("career", config.career))
        if name is not None and name not in table
    )
    problems.settle(ConfigError)
    problems += _career_problems(config, table, (person, time))
    with problems.gathered():
        form, notes = long_form(
            table, person=person, time=time, career=config.career, view=config.view
        )
    problems.settle(ConfigError)
    return form, notes


def _wide(config: PanelConfig, table: Table) -> tuple[Arrangement, tuple[str, ...]]:
    problems, career = Problems(), config.career
    with problems.gathered():
        form, notes = wide_form(table, wide=config.wide, absent=config.absent, career=career)
    if career is not None and career not in config.wide:
        problems.append(problem("career_not_wide", name=career, variables=", ".join(config.wide)))
    elif career is not None and not problems:
        variable = form.variables[list(config.wide).index(career)]
        problems += _coded_problems(career, is_coded=variable.is_coded)
        problems += label_problems(variable, career=True, allowed=config.absent)
    if config.view:
        problems.append(problem("panel_view_wide"))
    problems.settle(ConfigError)
    return form, notes


def _career_problems(config: PanelConfig, table: Table, keys: tuple[str, str]) -> Iterator[str]:
    if config.career is None:
        return
    if config.career in keys:
        yield problem("career_is_key")
        return
    column = table[config.career]
    if column.variable.kind is Kind.ID:
        yield problem("career_is_id", name=config.career)
        return
    yield from _coded_problems(config.career, is_coded=column.is_coded)


def _coded_problems(career: str, *, is_coded: bool) -> Iterator[str]:
    if not is_coded:
        yield problem("career_is_number", name=career)


def arrange_households(
    config: HouseholdConfig, table: Table
) -> tuple[Arrangement, tuple[str, ...]]:
    """Return the form of a source with households, and what a steward should know of it.

    Raises
    ------
    ConfigError
        With everything that stands against such households.
    """
    problems = Problems()
    taken = [name for name in table.names if name.startswith((*TAKEN, OWN))]
    if taken:
        problems.append(
            problem("reserved_name_of_households", names=taken, own=", ".join((*TAKEN, OWN)))
        )
    problems += _unknown_columns(config, table)
    if config.head:
        with problems.gathered("household.head"):
            condition = Expression.parse(config.head)
            problems.at("household.head", condition.problems(table.schema, condition=True))
    problems.settle(ConfigError)
    with problems.gathered():
        form, notes = household_form(
            table,
            household=config.id,
            head=config.head,
            size=config.size,
            named=config.variables,
            order=config.order,
        )
    problems.settle(ConfigError)
    return form, notes


def _unknown_columns(config: HouseholdConfig, table: Table) -> Iterator[str]:
    named = [("id", config.id), ("size", config.size)]
    named += [("variables", name) for name in config.variables]
    named += [("order", name.removeprefix("-")) for name in config.order or ()]
    for key, name in named:
        if name is not None and name not in table:
            yield problem("unknown_column_of_households", name=name, key=key)
    size = None if config.size is None else table.get(config.size)
    if size is not None and size.is_coded:
        yield problem("size_has_labels", name=config.size)


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparedData:
    """The original, the synthetic data and a control, as rows or as persons."""

    original: Data
    synthetic: Sequence[Data]
    """Where there is a panel, the variables that all files have, as in ``original``."""
    control: Data | None = None
    declared: Mapping[str, Declaration] | None = None
    """Kinds and missing codes of variables, inferred where absent."""
    frame: Frame | None = None
    """Periods and careers; None where records count."""
    person: str | None = None
    """The column of the persons of a panel."""
    notes: tuple[str, ...] = ()
    """What should be known of the files."""

    @property
    def others(self) -> list[Data]:
        """All data but the original."""
        return [*self.synthetic, *([] if self.control is None else [self.control])]

    @property
    def counts_persons(self) -> bool:
        """Whether each row is a person, so that nobody has several."""
        return isinstance(self.original, PersonView | MemberView)


@dataclass(frozen=True, kw_only=True)
class FilesPlan:
    """What is configured of data that are compared; the defaults without a configuration."""

    config: Config
    checks: CheckSettings
    """The checks of the configuration that are computed."""
    limits: LimitConfig
    """The limits that the figures are held against."""
    asked: Mapping[str, Any]
    """Keys of the checks that were named beside the configuration."""
    synthesis: Synthesis | None = None
    """How such data are made; None where nothing says so."""

    def compared(
        self, original: Data, synthetic: Sequence[Data], control: Data | None, names: Sequence[str]
    ) -> ComparedData:
        """Arrange data by the panel or the households of the configuration, like the original.

        Persons of other files are other persons, whatever they are called: nothing is compared by
        their identifiers. ``names`` are those of the files in this order, for messages.

        Raises
        ------
        DataError
            With every problem of every file, each with the file's name.
        """
        config = self.config
        arranged: Callable[..., ComparedData] | None = None
        if config.household is not None:
            arranged = partial(_of_households, config, config.household)
        elif config.panel is not None:
            arranged = partial(_of_panel, config, config.panel)
        if arranged is None or isinstance(original, PersonView | MemberView):
            declared = declarations(config)
            return ComparedData(
                original=original, synthetic=synthetic, control=control, declared=declared
            )
        every = (original, *synthetic, *([] if control is None else [control]))
        raws = [from_frame(one, min_rows=1) for one in every if not isinstance(one, Table)]
        if len(raws) < len(every):
            raise DataError(problem("needs_frames"))
        return arranged(raws, names, len(synthetic))


def _of_panel(
    config: Config,
    panel: PanelConfig,
    raws: Sequence[RawTable],
    names: Sequence[str],
    n_synthetic: int,
) -> ComparedData:
    """Arrange files of a panel: persons are compared, who know their periods."""
    tables = _read(config, raws, names, _needed(panel, raws[0].names), panel.person)
    first, *_ = tables = _joint(tables, panel.time)
    problems = Problems()
    form, _ = arrange(panel, first)
    if isinstance(form.frame, RowFrame):
        raise ValueError("needs a panel")
    for table, name in zip(tables[1:], names[1:], strict=True):
        problems.at(name, form.other_problems(table))
    problems.settle(DataError)
    views = [_viewed(form, table) for table in tables]
    synthetic = views[1 : 1 + n_synthetic]
    shared = [
        name for name in views[0].panel.names if all(name in view.panel for view in synthetic)
    ]
    return ComparedData(
        original=views[0].with_variables(shared),
        synthetic=tuple(view.with_variables(shared) for view in synthetic),
        control=views[-1] if len(views) > 1 + n_synthetic else None,
        frame=form.frame,
        person=panel.person,
        notes=(
            *_new_columns(dict(zip(names[1:], raws[1:], strict=True)), raws[0].names),
            *_changing(dict(zip(names, views, strict=True)), form.frame.time),
        ),
    )


def _of_households(
    config: Config,
    household: HouseholdConfig,
    raws: Sequence[RawTable],
    names: Sequence[str],
    n_synthetic: int,
) -> ComparedData:
    """Arrange files of households: persons are compared, who know their households."""
    of_head = Expression.parse(household.head).names if household.head else frozenset[str]()
    needed = (household.id, *sorted(of_head))
    tables = _joint(_read(config, raws, names, needed, household.id), None)
    form, _ = arrangement_of(None, tables[0], household)
    if not isinstance(form, HouseholdForm):
        raise TypeError("needs households")
    problems, notes = Problems(), list[str]()
    for table, name in zip(tables[1:], names[1:], strict=True):
        problems.at(name, missing_in(table[household.id], "id", "household", "household"))
        notes += [f"{name}: {note}; its first member counts" for note in form.head_notes(table)]
    problems.settle(DataError)
    places = max(int(np.bincount(form.numbers(table)).max()) for table in tables)
    form = replace(form, places=places)
    views = [form.viewed(form.modelled(table)) for table in tables]
    shared = [name for name in views[0].names if all(name in view for view in views)]
    views = [view.with_variables(shared) for view in views]
    return ComparedData(
        original=views[0],
        synthetic=tuple(views[1 : 1 + n_synthetic]),
        control=views[-1] if len(views) > 1 + n_synthetic else None,
        notes=(*_new_columns(dict(zip(names[1:], raws[1:], strict=True)), raws[0].names), *notes),
    )


def _read(
    config: Config,
    raws: Sequence[RawTable],
    names: Sequence[str],
    needed: Sequence[str],
    unit: str | None,
) -> list[Table]:
    """Return the original as a run reads it, and other files in its codes.

    ``needed`` are columns that these must have, ``unit`` the one that rows of a unit share.
    """
    first, problems = _original(raws[0], config, names[0])
    tables = [first]
    for raw, name in zip(raws[1:], names[1:], strict=True):
        with problems.gathered(name):
            tables.append(_like_original(raw, first, needed, unit))
    problems.settle(DataError)
    return tables


def _original(raw: RawTable, config: Config, name: str) -> tuple[Table, Problems]:
    """Return the original as a run reads it, or its sound part and what is wrong with it."""
    declared = declared_for(config.data, raw, declarations(config, raw.names))
    data = encoded(raw, declared, config.dropped(raw.names))
    faults = Problems(problem.removeprefix(f"{raw.origin}: ") for problem in data.problems)
    panel = config.panel
    if not faults:
        with faults.gathered():
            arrangement_of(panel, data.table, config.household)
    elif panel is not None and panel.person is not None and panel.person not in raw.names:
        faults.append(problem("unknown_person", name=panel.person))
    problems = Problems()
    problems.at(name, faults)
    return data.table, problems


def _needed(panel: PanelConfig, names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that another file of this panel must have."""
    wide = [name for columns in panel.wide.values() for name in wide_columns(columns, names)]
    long = [name for name in (panel.person, panel.time, panel.career) if name is not None]
    return tuple(dict.fromkeys(wide if panel.wide else long))


def _like_original(
    raw: RawTable, original: Table, needed: Sequence[str], unit: str | None
) -> Table:
    """Return another file in the codes of the original."""
    problems = Problems(
        problem("column_missing", name=name) for name in needed if name not in raw.names
    )
    ids = [column.name for column in original.columns if column.variable.kind is Kind.ID]
    persons = [*ids, *([] if unit is None else [unit])]
    try:
        table = read_like(raw, original, original.names, persons)
    except SynthesizerError as error:
        problems += [problem.removeprefix(f"{raw.origin}: ") for problem in error.problems]
    if problems:
        raise DataError(problems)
    return table


def _joint(tables: Sequence[Table], time: str | None) -> list[Table]:
    """Give all tables the same labels and missing codes; the time column keeps its own."""
    columns: list[dict[str, Column]] = [dict(table) for table in tables]
    for name, column in tables[0].items():
        variable = column.variable
        variables = [table[name].variable for table in tables if name in table]
        same = all((v.levels, v.missing) == (variable.levels, variable.missing) for v in variables)
        if same or name == time or variable.kind is Kind.ID:
            continue
        joint = replace(
            variable,
            levels=_union(variable.levels for variable in variables),
            missing=_union(variable.missing for variable in variables),
        )
        for by_name in columns:
            if name in by_name:
                by_name[name] = recoded(by_name[name], joint)
    return [
        Table(by_name.values(), table.n_rows)
        for by_name, table in zip(columns, tables, strict=True)
    ]


def _union(parts: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(label for labels in parts for label in labels))


def _viewed(form: Arrangement, table: Table) -> PersonView:
    view = form.viewed(form.modelled(table))
    if not isinstance(view, PersonView):
        raise TypeError("a panel is seen as persons")
    return view


def _new_columns(raws: Mapping[str, RawTable], names: Sequence[str]) -> Iterator[str]:
    """Say which columns of other files the original does not have."""
    for file, raw in raws.items():
        if new := [name for name in raw.names if name not in names]:
            yield note("columns_not_compared", file=file, new=listed(new))


def _changing(views: Mapping[str, PersonView], time: str) -> Iterator[str]:
    """Say which variables change within persons of another file, but not of the original."""
    (_, original), *others = views.items()
    constant = constant_names(original.panel) - {time}
    for file, view in others:
        odd = sorted((constant & set(view.panel.names)) - constant_names(view.panel))
        if odd:
            yield note("changes_in_other_file", file=file, odd=listed(odd))
