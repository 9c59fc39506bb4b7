"""Group the rows of a source as configured, and those of other files in the same way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from synthesizer.config.keys import ChainConfig, Config, PanelConfig
from synthesizer.data.encoding import recoded
from synthesizer.data.errors import ConfigError, DataError, Problems, SynthesizerError, listed
from synthesizer.data.guessing import Declaration
from synthesizer.data.pairs import Data, column_names, read_like
from synthesizer.data.panel.arrangement import (
    PLAIN,
    Arrangement,
    Arranging,
    Frame,
    RowFrame,
    label_problems,
)
from synthesizer.data.panel.forms import long_form, wide_form
from synthesizer.data.panel.paths import OWN
from synthesizer.data.panel.view import PREFIX, View, constant_names, period_labels
from synthesizer.data.plugins import arranging_keys, guarded
from synthesizer.data.sources import RawTable, from_frame
from synthesizer.data.table import Column, Kind, Table
from synthesizer.measures.measure import Synthesis
from synthesizer.measures.settings import CheckSettings, LimitConfig
from synthesizer.plan.context import Arranged
from synthesizer.plan.findings import Draft, note, problem
from synthesizer.plan.inputs import declarations, declared_for, encoded


def arranged_source(config: ChainConfig, table: Table) -> Draft[Arranged | None]:
    """Return how the rows of a source are grouped; None if problems prevent it.

    Raises
    ------
    ConfigError
        With every problem of ``panel``.

    Examples
    --------
    >>> arranged_source(ChainConfig(), Table((), 2)).made.form == PLAIN
    True
    """
    key = config.arranged_by
    if key is not None and (hook := arranging_keys()[key].arrange) is not None:
        with guarded(f"extension {key!r}: arrange"):
            result: Draft[Arranged | None] = hook(getattr(config, key), table)
            if not (isinstance(result.made, Arranged) or result.problems):
                raise TypeError("returns nothing, and no problem")
        return result
    if config.panel is None:
        return Draft(Arranged())
    form, notes = arrange(config.panel, table)
    return Draft(Arranged(form=form), notes=notes)


_BESIDE = {"panel": "is of persons in periods", "survival": "orders variables of single persons"}
"""Keys that cannot be used with keys that arrange rows, with the reason."""


def _beside(config: ChainConfig) -> dict[str, str]:
    """Return keys that cannot be used with the key that arranges rows, with the reason."""
    others = (name for name in config.sections if name in arranging_keys())
    also = {name: "arranges rows, too" for name in others if name != config.arranged_by}
    return _BESIDE | also | config.apart


def beside_problems(config: ChainConfig) -> Iterator[str]:
    """Yield problems of keys that cannot be used with the key that arranges rows."""
    if config.arranged_by is None:
        return
    for key, why in _beside(config).items():
        if getattr(config, key) not in (None, ()):
            yield problem("not_with_arranged", own=config.arranged_by, key=key, why=why)


def without_beside(config: ChainConfig) -> ChainConfig:
    """Return a configuration without keys that cannot be used with the one that arranges rows."""
    if config.arranged_by is None:
        return config
    changes = {key: () if key == "survival" else None for key in _beside(config)}
    return config.model_copy(update=changes)


def arrange(config: PanelConfig, table: Table) -> tuple[Arrangement, tuple[str, ...]]:
    """Return the form of a panel's source, and notes about it.

    Raises
    ------
    ConfigError
        With every problem of ``panel``.
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
        if not variable.is_coded:
            problems.append(problem("career_is_number", name=career))
        problems += label_problems(variable, career=True, allowed=config.absent)
    if config.view:
        problems.append(problem("panel_view_wide"))
    problems.settle(ConfigError)
    return form, notes


def _career_problems(config: PanelConfig, table: Table, keys: tuple[str, str]) -> Iterator[str]:
    name = config.career
    if name in keys:
        yield problem("career_is_key")
    elif name is not None and table[name].variable.kind is Kind.ID:
        yield problem("career_is_id", name=name)
    elif name is not None and not table[name].is_coded:
        yield problem("career_is_number", name=name)


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparedData:
    """The original, the synthetic data and a control, as rows or as persons."""

    original: Data
    synthetic: Sequence[Data]
    """For a panel, the variables that all files have, as in ``original``."""
    control: Data | None = None
    declared: Mapping[str, Declaration] | None = None
    """Kinds and missing codes of variables; inferred if absent."""
    dropped: tuple[str, ...] = ()
    """Columns outside the synthesis, which are not compared."""
    frame: Frame | None = None
    """Periods and careers; None if records are counted."""
    person: str | None = None
    """The column of the persons of a panel."""
    form: Arrangement = PLAIN
    """How rows of the original are grouped into units."""
    notes: tuple[str, ...] = ()
    """Facts about the files that need no change."""

    @property
    def others(self) -> list[Data]:
        """All data except the original."""
        return [*self.synthetic, *([] if self.control is None else [self.control])]

    @property
    def counts_persons(self) -> bool:
        """Whether each row is one person."""
        return isinstance(self.original, View)


@dataclass(frozen=True, kw_only=True)
class FilesPlan:
    """The settings of a comparison of files; defaults without a configuration."""

    config: Config
    checks: CheckSettings
    """The checks to compute."""
    limits: LimitConfig
    """The limits of the figures."""
    named: Mapping[str, Any]
    """Settings of checks that were passed in addition to the configuration."""
    synthesis: Synthesis | None = None
    """How the data were made; None if unknown."""

    def compared(
        self, original: Data, synthetic: Sequence[Data], control: Data | None, names: Sequence[str]
    ) -> ComparedData:
        """Return all data, arranged like the original.

        Identifiers are not compared: persons of other files are other persons. ``names`` are the
        names of the files in this order, for messages.

        Raises
        ------
        DataError
            With every problem of every file, each with the file's name.
        """
        config = self.config
        if config.arranging is None or isinstance(original, View):
            return ComparedData(
                original=original,
                synthetic=synthetic,
                control=control,
                declared=declarations(config),
                dropped=config.dropped(column_names(original)),
            )
        every = (original, *synthetic, *([] if control is None else [control]))
        raws = [from_frame(one, min_rows=1) for one in every if not isinstance(one, Table)]
        if len(raws) < len(every):
            raise DataError(problem("needs_frames", key=config.arranged_by or "panel"))
        return _compared(config, config.arranging, raws, names, len(synthetic))


def _compared(
    config: Config,
    arranging: Arranging,
    raws: Sequence[RawTable],
    names: Sequence[str],
    n_synthetic: int,
) -> ComparedData:
    """Return files arranged as tables of persons."""
    needed = arranging.needed(raws[0].names)
    tables = _read(config, raws, names, needed, arranging.unit_column)
    first, *_ = tables = _joint(tables, None if config.panel is None else config.panel.time)
    form = form_of(config, first)
    problems, notes = Problems(), list[str]()
    for table, name in zip(tables[1:], names[1:], strict=True):
        problems.at(name, form.other_problems(table))
        notes += [f"{name}: {note}" for note in form.other_notes(table)]
    problems.settle(DataError)
    form = form.with_room(tables)
    views = [_viewed(form, table) for table in tables]
    synthetic = views[1 : 1 + n_synthetic]
    shared = [name for name in views[0].variables if all(name in v.variables for v in synthetic)]
    frame = form.frame if config.panel and isinstance(form.frame, Frame) else None
    if frame is not None:
        notes += _changing(dict(zip(names, views, strict=True)), frame.time)
    return ComparedData(
        original=views[0].with_variables(shared),
        synthetic=tuple(view.with_variables(shared) for view in synthetic),
        control=views[-1] if len(views) > 1 + n_synthetic else None,
        frame=frame,
        person=None if frame is None else form.person_column,
        form=form,
        notes=(*_new_columns(dict(zip(names[1:], raws[1:], strict=True)), raws[0].names), *notes),
    )


def form_of(config: ChainConfig, table: Table) -> Arrangement:
    """Return the form of a source; raises ConfigError with every problem."""
    result = arranged_source(config, table)
    if result.problems or result.made is None:
        raise ConfigError(result.problems)
    return result.made.form


def _read(
    config: Config,
    raws: Sequence[RawTable],
    names: Sequence[str],
    needed: Sequence[str],
    unit: str | None,
) -> list[Table]:
    """Return the original as a run reads it, and other files with its codes.

    Other files must have the columns ``needed``. Rows of a unit share the value of column ``unit``.
    """
    first, problems = _original(raws[0], config, names[0])
    tables = [first]
    for raw, name in zip(raws[1:], names[1:], strict=True):
        with problems.gathered(name):
            tables.append(_like_original(raw, first, needed, unit))
    problems.settle(DataError)
    return tables


def _original(raw: RawTable, config: Config, name: str) -> tuple[Table, Problems]:
    """Return the original as a run reads it, or its sound part, with its problems."""
    declared = declared_for(config.data, raw, declarations(config, raw.names))
    data = encoded(raw, declared, config.dropped(raw.names))
    faults = Problems(problem.removeprefix(f"{raw.origin}: ") for problem in data.problems)
    panel = config.panel
    if not faults:
        with faults.gathered():
            form_of(config, data.table)
    elif panel is not None and panel.person is not None and panel.person not in raw.names:
        faults.append(problem("unknown_person", name=panel.person))
    problems = Problems()
    problems.at(name, faults)
    return data.table, problems


def _like_original(
    raw: RawTable, original: Table, needed: Sequence[str], unit: str | None
) -> Table:
    """Return another file with the codes of the original."""
    problems = Problems(problem("column_missing", name=n) for n in needed if n not in raw.names)
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
    """Return tables with the same labels and missing codes, except in the time column."""
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
    return [Table(named.values(), t.n_rows) for named, t in zip(columns, tables, strict=True)]


def _union(parts: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(label for labels in parts for label in labels))


def _viewed(form: Arrangement, table: Table) -> View:
    view = form.viewed(form.modelled(table))
    if not isinstance(view, View):
        raise TypeError("needs a table of persons")
    return view


def _new_columns(raws: Mapping[str, RawTable], names: Sequence[str]) -> Iterator[str]:
    """Yield a note on columns of other files that the original does not have."""
    for file, raw in raws.items():
        if new := [name for name in raw.names if name not in names]:
            yield note("columns_not_compared", file=file, new=listed(new))


def _changing(views: Mapping[str, View], time: str) -> Iterator[str]:
    """Yield a note on variables that change within persons only in another file."""
    (_, original), *others = views.items()
    constant = constant_names(original.panel) - {time}
    for file, view in others:
        odd = sorted((constant & set(view.panel.names)) - constant_names(view.panel))
        if odd:
            yield note("changes_in_other_file", file=file, odd=listed(odd))
