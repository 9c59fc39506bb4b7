"""Read the confidential data of a run as a table of codes, and collect their problems."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from synthesizer.config.keys import ChainConfig, Config, DataConfig, PanelConfig
from synthesizer.config.section import Section, section_keys
from synthesizer.data.after import with_blank
from synthesizer.data.csv_text import header_names
from synthesizer.data.encoding import RARE, RareLevels, data_notes, encode, without_rare_codes
from synthesizer.data.errors import (
    DataError,
    Problem,
    SynthesizerError,
    did_you_mean,
    listed,
    plural,
)
from synthesizer.data.files import sha256
from synthesizer.data.formats import foreign_keys, writing_of
from synthesizer.data.guessing import Declaration
from synthesizer.data.layout import Layout
from synthesizer.data.panel.view import PREFIX
from synthesizer.data.plugins import extension_keys, guarded
from synthesizer.data.roles import roles_of
from synthesizer.data.sources import (
    RawTable,
    WholeSource,
    csv_bytes,
    read_path,
    read_sql,
    without_password,
)
from synthesizer.data.table import Column, Kind, Table
from synthesizer.data.values import finite_number
from synthesizer.plan.findings import note, problem

Value = TypeVar("Value")
MAX_SHOWN_VIEWS = 3


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns of a source, and which of them could be read.

    The plan of a faulty source uses its sound columns, so that problems of configuration and data
    are reported together. Settings of a faulty column are not checked.

    Examples
    --------
    >>> columns = Columns(names=("age", "sex"), sound=frozenset({"sex"}))
    >>> columns.unknown("keep", "agee")
    ["keep: unknown variable 'agee'; did you mean 'age'?"]
    >>> columns.is_faulty("age"), columns.is_faulty("sex"), columns.is_faulty("agee")
    (True, False, False)
    """

    names: tuple[str, ...] | None
    """All columns in order; None if the names could not be read."""
    sound: frozenset[str]
    """Columns that could be read."""
    owners: Mapping[str, str] = field(default_factory=dict)
    """Longitudinal variable of each column of a wide panel."""
    views: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of values in periods, by variable that changes within persons."""
    periods: tuple[str, ...] = ()
    """Periods of a long panel that ``panel.view`` may list."""

    @classmethod
    def of(cls, names: Iterable[str]) -> Self:
        """Return the columns of a source without faults."""
        names = tuple(names)
        return cls(names=names, sound=frozenset(names))

    def joined(self, names: Iterable[str]) -> Self:
        """Return the columns with further ones that are computed from them."""
        if self.names is None:
            return self
        more = tuple(name for name in names if name not in self.names)
        return replace(self, names=(*self.names, *more), sound=self.sound | set(more))

    def grouped(self, variables: Mapping[str, Sequence[str]]) -> Self:
        """Return the columns with their longitudinal variables as owners."""
        owners = {cell: v for v, cells in variables.items() for cell in cells}
        return replace(self, owners={c: v for c, v in owners.items() if c not in variables})

    def seen(self, table: Iterable[str], view: Iterable[str], periods: Sequence[str]) -> Self:
        """Return the columns that the checks of a panel use: one row for each person.

        ``table`` are the variables of the chain, ``view`` the columns of the table of persons.
        """
        view = tuple(view)
        views = {
            name: tuple(
                column
                for column in view
                if self.owners.get(column) == name or column.startswith(f"{name}@")
            )
            for name in table
            if name not in view
        }
        return replace(
            type(self).of(view),
            views={name: columns for name, columns in views.items() if columns},
            periods=() if self.owners else tuple(periods),
        )

    @property
    def is_complete(self) -> bool:
        """Whether every column could be read."""
        return self.names is not None and self.sound.issuperset(self.names)

    def is_known(self, name: str) -> bool:
        """Whether the source has, or may have, a column of this name."""
        return self.names is None or (name in self.names and name not in self.owners)

    def is_faulty(self, name: str) -> bool:
        """Whether the source has, or may have, a column of this name that could not be read."""
        return self.is_known(name) and name not in self.sound

    def any_faulty(self, names: Iterable[str]) -> bool:
        """Whether any of the columns could not be read."""
        return any(self.is_faulty(name) for name in names)

    def unknown(self, entry: str, name: str) -> list[Problem]:
        """Return the problem of an unknown name, with the nearest name; [] if it is a column."""
        if self.is_known(name):
            return []
        if owner := self.owners.get(name):
            return [problem("column_of_variable", name=name, entry=entry, owner=owner)]
        if views := self.views.get(name):
            return [
                problem(
                    "changes_within_persons", name=name, entry=entry, views=_in_periods(name, views)
                )
            ]
        if hint := self._in_period(name):
            return [problem("value_not_in_view", name=name, entry=entry, hint=hint)]
        writable = [column for column in self.names or () if column not in self.owners]
        return [unknown_variable(entry, name, writable)]

    def _in_period(self, name: str) -> str | None:
        """Return why a name like pay@2020 cannot be used; None for other names."""
        variable, _, period = name.rpartition("@")
        if variable in self.views and period in self.periods:
            return f"{name!r} is not available to the checks; add {period} to panel.view"
        if variable in self.views and self.periods:
            return (
                f"{period!r} is no period of the data, which have {self.periods[0]} to "
                f"{self.periods[-1]}; write one of {', '.join(self.views[variable])}"
            )
        if variable and variable in (self.names or ()) and variable not in self.views:
            return f"unknown variable {name!r}: {variable!r} never changes; write {variable!r}"
        return None


def unknown_variable(entry: str, name: str, names: Iterable[str]) -> Problem:
    """Return the problem of an unknown variable, with the nearest name, or its names in periods."""
    names = list(names)
    if views := values_in_periods(name, names):
        return problem("changes_within_persons", name=name, entry=entry, views=views)
    hint = did_you_mean(name, names, "it is no column of the data; take it out")
    careers = [other.removeprefix(PREFIX) for other in names if other.startswith(PREFIX)]
    short = name.removeprefix(PREFIX)
    if careers and short != name and not did_you_mean(short, careers):
        hint = f"variables of the careers: {', '.join(map(PREFIX.__add__, careers))}"
    return problem("unknown_variable", name=name, entry=entry, hint=hint)


def values_in_periods(name: str, names: Iterable[str]) -> str | None:
    """Return a hint with the columns of a variable in single periods; None without such columns.

    Examples
    --------
    >>> values_in_periods("pay", ["sex", "pay@first", "pay@last"])
    "'pay' changes within persons; name its value in a period: pay@first, pay@last"
    """
    views = [column for column in names if column.startswith(f"{name}@")]
    return _in_periods(name, views) if views else None


def _in_periods(name: str, views: Sequence[str]) -> str:
    shown = ", ".join(views if len(views) <= MAX_SHOWN_VIEWS else [*views[:2], "...", views[-1]])
    return f"{name!r} changes within persons; name its value in a period: {shown}"


@dataclass(frozen=True, kw_only=True)
class Input:
    """The confidential data, or the sound part of faulty data.

    The sound part serves to check the configuration, so that all problems are reported together.
    """

    table: Table
    """Columns that could be read, without dropped ones."""
    columns: Columns
    """All columns of the source."""
    layout: Layout = field(default_factory=partial(Layout, form="csv", names=()))
    """Format of the source."""
    origin: str = ""
    """Path, query or sample, without passwords."""
    path: Path | None = None
    """File or directory; None for other sources."""
    fingerprint: str | None = None
    """SHA-256 of all files of the source; None for a query."""
    notes: tuple[str, ...] = ()
    """Odd facts of the data that are no errors."""
    problems: tuple[Problem, ...] = ()
    """Errors of the data; each of them prevents the run."""
    whole: WholeSource | None = None
    """Size of the source, if ``table`` is a sample of it."""
    left_out: tuple[str, ...] = ()
    """Columns without a role, which are treated as dropped."""
    warned: tuple[str, ...] = ()
    """Important notes: columns left out, and levels of few persons."""
    unwritable: tuple[str, ...] = ()
    """Problems of values that the output format cannot store."""
    aside: Table | None = None
    """Numeric columns that extensions exclude from the synthesis."""

    @classmethod
    def of(cls, table: Table) -> Self:
        """Return the input of a table that is already encoded."""
        return cls(table=table, columns=Columns.of(table.names))


def read_input(config: Config) -> Input:
    """Return the encoded source of a configuration; its faults are in ``problems``."""
    data, whole, unit = config.data, None, config.unit_column
    try:
        sampled = None if data.path is None else _sampled(data.path, config.sections, unit)
        raw, whole = (read_raw(data), None) if sampled is None else sampled
    except SynthesizerError as error:
        columns = Columns(names=_header(data), sound=frozenset())
        return Input(table=Table((), 0), columns=columns, problems=error.problems)
    declared = declared_for(data, raw, declarations(config, raw.names))
    for name in () if whole is None else whole.numbered:
        declared.setdefault(name, Declaration(kind=Kind.ID))
    source = replace(
        _encoded(raw, declared, config),
        origin=without_password(raw.origin),
        path=data.path,
        fingerprint=_fingerprint(data),
        whole=whole,
    )
    try:
        if whole is not None:
            whole.check()
    except SynthesizerError as error:
        return replace(source, problems=(*source.problems, *error.problems))
    if source.problems:
        return source
    words = _words(config, source)
    source = replace(
        source,
        notes=(
            *source.notes,
            *_label_notes(source.table, {name: labels for name, (_, labels) in words.items()}),
        ),
    )
    return _laid_out(_blankable(_without_rare(source, config), config), words, config)


def _words(config: Config, source: Input) -> dict[str, tuple[str, Mapping[str, str]]]:
    """Return label and level labels of the variables under ``variables``, by column."""
    return {
        name: (one.label or "", one.level_labels)
        for name, one in by_column(config, config.variables, source.columns.names or ()).items()
    }


def _laid_out(
    source: Input, words: Mapping[str, tuple[str, Mapping[str, str]]], config: Config
) -> Input:
    """Return the input with the layout of a format that stores more than names and values."""
    wanted = config.output.format or source.layout.form
    writing = writing_of(wanted) or writing_of(source.layout.form)
    if writing is None:
        return source
    form = wanted if wanted in writing.forms else source.layout.form
    layout, problems, notes = writing.laid_out(source.layout, source.table, words, form)
    is_written = form == wanted
    return replace(
        source,
        layout=layout,
        unwritable=(*source.unwritable, *(problems if is_written else ())),
        notes=(*source.notes, *(notes if is_written else ())),
    )


def _label_notes(table: Table, words: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Yield notes on level labels of codes that never occur, and on equal labels of one variable.

    ``words`` maps variables to labels of their levels.
    """
    labelled = [(column, words[column.name]) for column in table.columns if column.name in words]
    never = [
        f"{column.name} {', '.join(map(repr, absent))}"
        for column, labels in labelled
        if (absent := [code for code in labels if not _occurs(column, code)])
    ]
    if never:
        yield note(
            "labels_of_no_record",
            variables=plural(len(never), "variable"),
            never=listed(never, between="; "),
        )
    alike = [c.name for c, labels in labelled if len({*labels.values()}) < len(labels)]
    if alike:
        yield note("labels_alike", alike=listed(alike))


def _occurs(column: Column, code: str) -> bool:
    """Whether a code, as written in a configuration, occurs in a column."""
    variable, number = column.variable, finite_number(code)
    if code in variable.missing:
        return bool((column.missing_state() == variable.missing.index(code) + 1).any())
    if code in variable.levels:
        return bool((column.data == variable.levels.index(code)).any())
    if variable.kind is Kind.NUMERIC and number is not None:
        return bool((column.data == number).any())
    return variable.kind in (Kind.DATE, Kind.ID)  # one value may have several spellings


def _sampled(
    path: Path, sections: Mapping[str, Any], unit: str | None
) -> tuple[RawTable, WholeSource] | None:
    """Return a sample of a source, if an extension samples it; None if it is read completely."""
    for name, section in sections.items():
        if isinstance(section, Section):
            with guarded(f"extension {name!r}: reading"):
                if (source := section.sampled(path, unit)) is not None:
                    return source
    return None


def suggestions(
    table: Table, labels: Mapping[str, str], configured: Container[str]
) -> Iterator[tuple[str, str, str]]:
    """Yield key, reason and setting of extensions that the file seems to need.

    Keys in ``configured`` are skipped.
    """
    for key, section in section_keys().items():
        if key not in configured:
            with guarded(f"key {key!r}: suggested"):
                suggested = list(section.suggested(table, labels))
            yield from ((key, what, setting) for what, setting in suggested)


def read_to_describe(
    path: Path, unit: str | None = None, **reading: Any
) -> tuple[RawTable, WholeSource | None]:
    """Return a source of any format; of a large one a sample of its units.

    ``reading`` are options of `read_path`.
    """
    sections = {name: key.type() for name, key in extension_keys().items() if key.placements}
    return _sampled(path, sections, unit) or (read_path(path, **reading), None)


def read_frame(raw: RawTable, config: ChainConfig, *, infer_missing: bool = True) -> Input:
    """Return the encoded form of a source that was read already.

    Without ``infer_missing`` only empty cells and declared codes are missing.
    """
    configured = declarations(config, raw.names)
    declared = dict(configured)
    for name in () if infer_missing else raw.names:
        declaration = configured.get(name, Declaration())
        declared[name] = replace(declaration, missing=declaration.missing or ())
    source = readable(raw, declared, config, configured)
    return _blankable(_without_rare(source, config), config)


def readable(
    raw: RawTable,
    declared: Mapping[str, Declaration],
    config: ChainConfig,
    configured: Collection[str],
) -> Input:
    """Return an encoded source, if necessary without columns that have no role."""
    source = _encoded(raw, declared, config)
    if source.problems or any(c.name not in configured for c in torn_ids(source.table, config)):
        with suppress(DataError):  # of declared columns: reported with all other problems
            source = _with_roles(raw, declared, config)
    return source


def _with_roles(raw: RawTable, declared: Mapping[str, Declaration], config: ChainConfig) -> Input:
    """Return an encoded source without columns that have no role, as `init` does, with notes.

    Columns that the configuration declares are not left out.
    """
    drop = config.dropped(raw.names)
    fixed = set(declarations(config, raw.names)) & set(raw.names)
    may_repeat = config.arranging is not None
    roles = roles_of(raw, declared, drop=drop, fixed=fixed, repeats=may_repeat)
    source = _encoded(raw, roles.declared, config, roles.dropped)
    odd = [n for n in raw.names if n in roles.dropped or roles.declared.get(n) != declared.get(n)]
    words = tuple(f"column {name!r} {look}" for name, look in roles.looks.items() if name in odd)
    left_out = tuple(name for name in roles.dropped if name not in drop)
    return replace(source, notes=(*source.notes, *words), warned=words, left_out=left_out)


def torn_ids(table: Table, config: ChainConfig) -> Iterator[Column]:
    """Yield identifiers that repeat, although rows are drawn independently; names may repeat."""
    formed = {name for name, one in config.variables.items() if one.form is not None}
    if config.arranging is None:
        for column in table.columns:
            if column.variable.kind is Kind.ID and column.name not in {*config.drop, *formed}:
                values = column.data[column.is_observed]
                if len(np.unique(values)) < len(values):
                    yield column


def _without_rare(source: Input, config: ChainConfig) -> Input:
    """Return the source with rare levels and rare missing codes grouped or blank."""
    if source.problems:
        return source
    from synthesizer.data.panel.forms import wide_columns

    panel, names = config.panel or PanelConfig.model_construct(), source.columns.names or ()
    unit = config.unit_column
    of_design = filter(None, (panel.time, *config.kinds))
    rare = RareLevels(
        columns={name: wide_columns(cells, names) for name, cells in panel.wide.items()},
        persons=unit if unit in source.table.names else None,
        public={*config.public_variables, *of_design},
        fixed=panel.absent,
        numbers=[] if _writes_text(config) else list(filter(source.layout.holds_numbers, names)),
        scope="many",
    )
    if config.rare is not None:
        chosen = config.rare
        rare = replace(rare, min_count=chosen.min_count, to=chosen.to, scope=chosen.levels)
    table, codes = without_rare_codes(source.table, rare)
    table, grouped = rare.grouped(table)
    remaining = tuple(rare.left_notes(table)) if table.n_rows >= _MIN_ROWS_PER_RARE * RARE else ()
    notes = (*codes, *grouped, *remaining)
    return replace(
        source, table=table, notes=(*source.notes, *notes), warned=(*source.warned, *notes)
    )


def _writes_text(config: ChainConfig) -> bool:
    """Whether datasets are written as text, where a column may mix words and numbers."""
    form = config.output.format if isinstance(config, Config) else None
    return (form or "").startswith("csv")


_MIN_ROWS_PER_RARE = 10
"""Files with fewer rows for each person of `RARE` have rare levels by chance."""


def _blankable(source: Input, config: ChainConfig) -> Input:
    """Return the source with a missing code for variables that ``after`` may blank."""
    if config.after is None or config.after.blank_rare is None or source.problems:
        return source
    wanted = dict.fromkeys(config.after.blank_rare.variables, True)
    names = [n for n in by_column(config, wanted, source.columns.names or ()) if n in source.table]
    columns = [source.table[name] for name in names if source.table[name].is_coded]
    changed = [replace(column, variable=with_blank(column.variable)) for column in columns]
    return replace(source, table=source.table.with_columns(changed))


def declarations(config: ChainConfig, columns: Sequence[str] = ()) -> dict[str, Declaration]:
    """Return the declarations of a configuration, by variable or by column of the source.

    The declaration of a longitudinal variable of a wide panel applies to all its columns.
    """
    declared = {name: variable.declaration() for name, variable in config.variables.items()}
    for column, kind in config.kinds.items():
        if column not in declared or declared[column].kind is None:
            declared[column] = replace(declared.get(column, Declaration()), kind=kind)
    for column in config.arranging.key_columns if config.arranging else ():
        declared[column] = replace(declared.get(column, Declaration()), every_row=True)
    return by_column(config, declared, columns)


def by_column(
    config: ChainConfig, words: Mapping[str, Value], columns: Sequence[str]
) -> dict[str, Value]:
    """Return settings by column: each column of a wide panel gets those of its variable."""
    settings = dict(words)
    if config.panel is None:
        return settings
    from synthesizer.data.panel.forms import wide_columns

    for name, patterns in config.panel.wide.items():
        if name in settings and columns and name not in columns:
            of_variable = settings.pop(name)
            cells = wide_columns(patterns, columns)
            settings |= {cell: of_variable for cell in cells if cell not in settings}
    return settings


def read_raw(data: DataConfig) -> RawTable:
    """Return the source as read, without kinds."""
    if data.path is not None:
        most = data.max_unpacked_mb
        return read_path(
            data.path, max_unpacked=None if most is None else most * 1_000_000, **data.reading
        )
    if foreign := [*foreign_keys(None, data.of_format)]:
        raise DataError(f"data.{problem}" for problem in foreign)
    if data.sql is not None:
        return read_sql(data.sql.url, data.sql.query)
    from synthesizer.data.samples.builtin import read_sample

    return read_sample(data.sample or "", data.persons)


def _encoded(
    raw: RawTable,
    declared: Mapping[str, Declaration],
    config: ChainConfig,
    drop: Collection[str] = (),
) -> Input:
    """Return the encoded source without dropped columns; excluded ones are in ``aside``."""
    source = encoded(raw, declared, {*config.dropped(raw.names), *drop})
    names = config.set_aside(raw.names)
    if not names:
        return source
    try:
        aside = encode(raw.select(names), dict.fromkeys(names, Declaration(kind=Kind.NUMERIC)))
    except SynthesizerError as error:
        return replace(source, problems=(*source.problems, *error.problems))
    return replace(source, aside=aside)


def encoded(raw: RawTable, declared: Mapping[str, Declaration], drop: Collection[str]) -> Input:
    """Return an encoded source, or its sound part; dropped columns are not checked."""
    used = raw.select([name for name in raw.names if name not in drop])
    declared = {name: declaration for name, declaration in declared.items() if name in used.names}
    if not used.names:  # the plan reports this
        return Input(table=Table((), raw.n_rows), columns=Columns.of(raw.names))
    try:
        table = encode(used, declared)
    except SynthesizerError as error:
        sound = _sound_part(used, declared)
        columns = Columns(names=raw.names, sound=frozenset(sound) | frozenset(drop))
        return Input(table=sound, columns=columns, problems=error.problems)
    return Input(
        table=table,
        columns=Columns.of(raw.names),
        layout=raw.layout,
        notes=tuple(data_notes(used, table)),
    )


def _sound_part(raw: RawTable, declared: Mapping[str, Declaration]) -> Table:
    sound: list[Column] = []
    for name in raw.names:
        declaration = {name: declared[name]} if name in declared else {}
        with suppress(SynthesizerError):  # the faults are reported for the whole source
            sound += encode(raw.select([name]), declaration).columns
    return Table(sound, raw.n_rows)


def _fingerprint(data: DataConfig) -> str | None:
    if data.sample is not None:
        from synthesizer.data.samples.builtin import is_simulated, sample_path

        if is_simulated(data.sample):
            text = f"{data.sample} {data.persons} {version('microdata-synthesizer')}"
            return hashlib.sha256(text.encode()).hexdigest()
        return sha256(sample_path(data.sample))
    return None if data.path is None else sha256(data.path, data.beside)


def _header(data: DataConfig) -> tuple[str, ...] | None:
    """Return the column names of a text file with unreadable rows; None without a header."""
    with suppress(SynthesizerError):  # the first row may contain data of a person
        content = None if data.path is None else csv_bytes(data.path)
        return None if content is None else header_names(content, "", data.reading)
    return None


def declared_for(
    data: DataConfig, raw: RawTable, declared: Mapping[str, Declaration]
) -> dict[str, Declaration]:
    """Return declarations with those of a built-in sample; the plan reports unknown names."""
    existing = {name: declaration for name, declaration in declared.items() if name in raw.names}
    if data.sample is None:
        return existing
    from synthesizer.data.samples.builtin import SAMPLES

    usual = dict(SAMPLES[data.sample].declarations)
    return usual | {name: _over(usual.get(name), one) for name, one in existing.items()}


def _over(usual: Declaration | None, declaration: Declaration) -> Declaration:
    """Return a declaration with gaps filled from the usual one of the sample."""
    if usual is None or declaration.kind is not None:
        return declaration
    return replace(
        declaration,
        kind=usual.kind,
        missing=usual.missing if declaration.missing is None else declaration.missing,
        levels=usual.levels if declaration.levels is None else declaration.levels,
    )
