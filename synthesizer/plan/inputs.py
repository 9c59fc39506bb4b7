"""Read the confidential data of a run as a table of codes, and gather its problems."""

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
from synthesizer.data.encoding import RARE, RareLevels, data_notes, encode, without_words
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
MOST_VIEWS = 3


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns of a source, and which of them could be read.

    A source with faults is planned with its sound columns, so that a steward sees the problems of
    configuration and data at once. Settings of a faulty column are not checked: the problem of
    the column is reported already.

    Examples
    --------
    >>> columns = Columns(names=("age", "sex"), sound=frozenset({"sex"}))
    >>> columns.unknown("keep", "agee")
    ["keep: unknown variable 'agee'; did you mean 'age'?"]
    >>> columns.is_faulty("age"), columns.is_faulty("sex"), columns.is_faulty("agee")
    (True, False, False)
    """

    names: tuple[str, ...] | None
    """All columns in order; None where not even the names could be read."""
    sound: frozenset[str]
    """Columns that are in the table."""
    owners: Mapping[str, str] = field(default_factory=dict)
    """Columns of the wide form of a panel, and the longitudinal variable that each belongs to: a
    configuration names the variable."""
    views: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What the checks call the values of variables that change within persons."""
    periods: tuple[str, ...] = ()
    """Periods of a long panel, any of which may be brought into view."""

    @classmethod
    def of(cls, names: Iterable[str]) -> Self:
        """Return the columns of a source without faults."""
        names = tuple(names)
        return cls(names=names, sound=frozenset(names))

    def joined(self, names: Iterable[str]) -> Self:
        """Return the columns with further ones that follow from them."""
        if self.names is None:
            return self
        more = tuple(name for name in names if name not in self.names)
        return replace(self, names=(*self.names, *more), sound=self.sound | set(more))

    def grouped(self, variables: Mapping[str, Sequence[str]]) -> Self:
        """Return the columns with the longitudinal variables that they are columns of."""
        owners = {cell: v for v, cells in variables.items() for cell in cells}
        return replace(self, owners={c: v for c, v in owners.items() if c not in variables})

    def seen(self, table: Iterable[str], view: Iterable[str], periods: Sequence[str]) -> Self:
        """Return what the checks see of a panel: one row a person.

        ``table`` are the variables of the chain, ``view`` the columns of the rows of persons.
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
        """Whether the source has, or may have, this column but it could not be read."""
        return self.is_known(name) and name not in self.sound

    def any_faulty(self, names: Iterable[str]) -> bool:
        """Whether any of the columns could not be read."""
        return any(self.is_faulty(name) for name in names)

    def unknown(self, place: str, name: str) -> list[Problem]:
        """Return the problem of a name that is no column, with the nearest name; else nothing."""
        if self.is_known(name):
            return []
        if owner := self.owners.get(name):
            return [problem("column_of_variable", name=name, place=place, owner=owner)]
        if views := self.views.get(name):
            return [
                problem(
                    "changes_within_persons", name=name, place=place, views=_in_periods(name, views)
                )
            ]
        if hint := self._in_period(name):
            return [problem("value_not_in_view", name=name, place=place, hint=hint)]
        writable = [column for column in self.names or () if column not in self.owners]
        return [unknown_variable(place, name, writable)]

    def _in_period(self, name: str) -> str | None:
        """Explain why the value of a variable in a period cannot be checked."""
        variable, _, period = name.rpartition("@")
        if variable in self.views and period in self.periods:
            return f"{name!r} is not in view; add {period} to panel.view"
        if variable in self.views and self.periods:
            return (
                f"{period!r} is no period of the data, which has {self.periods[0]} to "
                f"{self.periods[-1]}; of {variable!r} there are {', '.join(self.views[variable])}"
            )
        if variable and variable in (self.names or ()) and variable not in self.views:
            return f"unknown variable {name!r}: {variable!r} never changes; write {variable!r}"
        return None


def unknown_variable(place: str, name: str, names: Iterable[str]) -> Problem:
    """Say that a variable is not there, with the nearest name, or its values in periods."""
    names = list(names)
    if views := values_in_periods(name, names):
        return problem("changes_within_persons", name=name, place=place, views=views)
    hint = did_you_mean(name, names, "it is no column of the data; take it out")
    careers = [other.removeprefix(PREFIX) for other in names if other.startswith(PREFIX)]
    own = name.removeprefix(PREFIX)
    if careers and own != name and not did_you_mean(own, careers):
        hint = f"of the careers there are {', '.join(map(PREFIX.__add__, careers))}"
    return problem("unknown_variable", name=name, place=place, hint=hint)


def values_in_periods(name: str, names: Iterable[str]) -> str | None:
    """Name the columns that hold a variable in single periods; None where there are none.

    Examples
    --------
    >>> values_in_periods("pay", ["sex", "pay@first", "pay@last"])
    "'pay' changes within persons; name its value in a period: pay@first, pay@last"
    """
    views = [column for column in names if column.startswith(f"{name}@")]
    if not views:
        return None
    return _in_periods(name, views)


def _in_periods(name: str, views: Sequence[str]) -> str:
    shown = ", ".join(views if len(views) <= MOST_VIEWS else [*views[:2], "...", views[-1]])
    return f"{name!r} changes within persons; name its value in a period: {shown}"


@dataclass(frozen=True, kw_only=True)
class Input:
    """The confidential data, or the sound part of data with faults.

    With the sound part a configuration can be checked even if the data have faults, so that the
    problems of both are reported at once.
    """

    table: Table
    """The columns that could be read, without dropped ones."""
    columns: Columns
    """All columns of the source."""
    layout: Layout = field(default_factory=partial(Layout, form="csv", names=()))
    """How the source was written."""
    origin: str = ""
    """Where it came from, without passwords."""
    path: Path | None = None
    """The file or directory, where it came from one."""
    fingerprint: str | None = None
    """SHA-256 of the file or files, with those beside it; None for a query."""
    notes: tuple[str, ...] = ()
    """What is odd in the data and no error."""
    problems: tuple[Problem, ...] = ()
    """What is wrong with the data; nothing is made of them then."""
    whole: WholeSource | None = None
    """How much the source holds where ``table`` is a sample of it."""
    left_out: tuple[str, ...] = ()
    """Columns without a role, which are treated as dropped."""
    warned: tuple[str, ...] = ()
    """Those of the notes that nobody may miss: columns left out, and levels of few persons."""
    unwritable: tuple[str, ...] = ()
    """What the format of the output cannot hold."""
    aside: Table | None = None
    """Numbers that sections set aside: they take no part in the synthesis."""

    @classmethod
    def of(cls, table: Table) -> Self:
        """Return a table that was encoded already."""
        return cls(table=table, columns=Columns.of(table.names))


def read_input(config: Config) -> Input:
    """Read and encode the source that a configuration names; its faults are in ``problems``."""
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
    found = replace(
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
        return replace(found, problems=(*found.problems, *error.problems))
    if found.problems:
        return found
    words = _words(config, found)
    found = replace(
        found,
        notes=(
            *found.notes,
            *_label_notes(found.table, {name: labels for name, (_, labels) in words.items()}),
        ),
    )
    return _laid_out(_blankable(_without_rare(found, config), config), words, config)


def _words(config: Config, found: Input) -> dict[str, tuple[str, Mapping[str, str]]]:
    """Return label and labels of values of the variables that a configuration names."""
    return {
        name: (variable.label or "", variable.level_labels)
        for name, variable in by_column(config, config.variables, found.columns.names or ()).items()
    }


def _laid_out(
    found: Input, words: Mapping[str, tuple[str, Mapping[str, str]]], config: Config
) -> Input:
    """Return the input with the layout of a format that says more of columns than the core does."""
    wanted = config.output.format or found.layout.form
    writing = writing_of(wanted) or writing_of(found.layout.form)
    if writing is None:
        return found
    form = wanted if wanted in writing.forms else found.layout.form
    layout, problems, notes = writing.laid_out(found.layout, found.table, words, form)
    is_written = form == wanted
    return replace(
        found,
        layout=layout,
        unwritable=(*found.unwritable, *(problems if is_written else ())),
        notes=(*found.notes, *(notes if is_written else ())),
    )


def _label_notes(table: Table, words: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Yield what is odd in labels of a configuration: of codes that never occur, or of several.

    ``words`` are the labels of values of each variable.
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
    """Whether a code, written as in a configuration, is in a column."""
    variable, number = column.variable, finite_number(code)
    if code in variable.missing:
        return bool((column.missing_state() == variable.missing.index(code) + 1).any())
    if code in variable.levels:
        return bool((column.data == variable.levels.index(code)).any())
    if variable.kind is Kind.NUMERIC and number is not None:
        return bool((column.data == number).any())
    return variable.kind in (Kind.DATE, Kind.ID)  # these are written in many ways


def _sampled(
    path: Path, sections: Mapping[str, Any], unit: str | None
) -> tuple[RawTable, WholeSource] | None:
    """Return a sample of a source that one of the sections does not read whole."""
    for name, own in sections.items():
        if isinstance(own, Section):
            with guarded(f"extension {name!r}: reading"):
                if (found := own.sampled(path, unit)) is not None:
                    return found
    return None


def suggestions(
    table: Table, labels: Mapping[str, str], said: Container[str]
) -> Iterator[tuple[str, str, str]]:
    """Yield what a file looks like by keys that are not ``said``: key, words, setting to write."""
    for key, section in section_keys().items():
        if key not in said:
            with guarded(f"key {key!r}: suggested"):
                found = list(section.suggested(table, labels))
            yield from ((key, what, setting) for what, setting in found)


def read_to_describe(
    path: Path, unit: str | None = None, **reading: Any
) -> tuple[RawTable, WholeSource | None]:
    """Read a source of any kind, of one that is too large by default a sample of its units.

    ``reading`` are options of `read_path`.
    """
    sections = {name: key.type() for name, key in extension_keys().items() if key.placements}
    return _sampled(path, sections, unit) or (read_path(path, **reading), None)


def read_frame(raw: RawTable, config: ChainConfig, *, infer_missing: bool = True) -> Input:
    """Encode a source that was read already.

    Without ``infer_missing`` only empty cells and declared codes are missing.
    """
    said = declarations(config, raw.names)
    declared = dict(said)
    for name in () if infer_missing else raw.names:
        own = said.get(name, Declaration())
        declared[name] = replace(own, missing=own.missing or ())
    found = _encoded(raw, declared, config)
    if found.problems or any(c.name not in said for c in torn_ids(found.table, config)):
        with suppress(DataError):  # of columns that are declared: told with all other problems
            found = _readable(raw, declared, config)
    return _blankable(_without_rare(found, config), config)


def _readable(raw: RawTable, declared: Mapping[str, Declaration], config: ChainConfig) -> Input:
    """Encode a source as `init` would: columns without a role are left out, in words.

    Columns that the configuration declares are not left out.
    """
    drop = config.dropped(raw.names)
    fixed = set(declarations(config, raw.names)) & set(raw.names)
    may_repeat = config.arranging is not None
    roles = roles_of(raw, declared, drop=drop, fixed=fixed, repeats=may_repeat)
    found = _encoded(raw, roles.declared, config, roles.dropped)
    odd = [
        name
        for name in raw.names
        if name in roles.dropped or roles.declared.get(name) != declared.get(name)
    ]
    words = tuple(f"column {name!r} {look}" for name, look in roles.looks.items() if name in odd)
    left_out = tuple(name for name in roles.dropped if name not in drop)
    return replace(found, notes=(*found.notes, *words), warned=words, left_out=left_out)


def torn_ids(table: Table, config: ChainConfig) -> Iterator[Column]:
    """Yield identifiers that several rows share where nothing says what these rows are."""
    if config.arranging is None:
        for column in table.columns:
            if column.variable.kind is Kind.ID and column.name not in config.drop:
                values = column.data[column.is_observed]
                if len(np.unique(values)) < len(values):
                    yield column


def _without_rare(found: Input, config: ChainConfig) -> Input:
    """Group or blank levels, and words among numbers, that few persons have."""
    if found.problems:
        return found
    from synthesizer.data.panel.forms import wide_columns

    panel, names = config.panel or PanelConfig.model_construct(), found.columns.names or ()
    unit = config.unit_column
    of_design = filter(None, (panel.time, *config.kinds))
    rare = RareLevels(
        columns={name: wide_columns(cells, names) for name, cells in panel.wide.items()},
        persons=unit if unit in found.table.names else None,
        public={*config.public_variables, *of_design},
        fixed=panel.absent,
        numbers=[] if _writes_text(config) else list(filter(found.layout.holds_numbers, names)),
        scope="many",
    )
    if config.rare is not None:
        said = config.rare
        rare = replace(rare, min_count=said.min_count, to=said.to, scope=said.levels)
    table, words = without_words(found.table, rare)
    table, done = rare.grouped(table)
    open_ = tuple(rare.left_notes(table)) if table.n_rows >= _SMALLEST * RARE else ()
    told = (*words, *done, *open_)
    return replace(found, table=table, notes=(*found.notes, *told), warned=(*found.warned, *told))


def _writes_text(config: ChainConfig) -> bool:
    """Whether datasets are written as text, where a word may stand among numbers."""
    form = config.output.format if isinstance(config, Config) else None
    return (form or "").startswith("csv")


_SMALLEST = 10
"""Times the fewest persons of a level: smaller files have rare levels by chance."""


def _blankable(found: Input, config: ChainConfig) -> Input:
    """Give variables whose rare levels will be blanked a missing code without a reason."""
    if config.after is None or config.after.blank_rare is None or found.problems:
        return found
    wanted = dict.fromkeys(config.after.blank_rare.variables, True)
    names = [n for n in by_column(config, wanted, found.columns.names or ()) if n in found.table]
    columns = [found.table[name] for name in names if found.table[name].is_coded]
    changed = [replace(column, variable=with_blank(column.variable)) for column in columns]
    return replace(found, table=found.table.with_columns(changed))


def declarations(config: ChainConfig, columns: Sequence[str] = ()) -> dict[str, Declaration]:
    """Return the declarations of variables in a configuration, for reading the source.

    What it says of a longitudinal variable of a wide panel holds for all of its columns, if those
    of the source are known.
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
    """Return what a configuration says of variables, of a wide panel for each of its columns."""
    said = dict(words)
    if config.panel is None:
        return said
    from synthesizer.data.panel.forms import wide_columns

    for name, patterns in config.panel.wide.items():
        if name in said and columns and name not in columns:
            of_variable = said.pop(name)
            cells = wide_columns(patterns, columns)
            said |= {cell: of_variable for cell in cells if cell not in said}
    return said


def read_raw(data: DataConfig) -> RawTable:
    """Read the source without deciding about kinds."""
    if data.path is not None:
        most = data.max_unpacked_mb
        return read_path(
            data.path,
            max_unpacked=None if most is None else most * 1_000_000,
            **data.reading,
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
    """Encode a source without what is dropped, and what is set aside beside it."""
    found = encoded(raw, declared, {*config.dropped(raw.names), *drop})
    names = config.set_aside(raw.names)
    if not names:
        return found
    try:
        aside = encode(raw.select(names), dict.fromkeys(names, Declaration(kind=Kind.NUMERIC)))
    except SynthesizerError as error:
        return replace(found, problems=(*found.problems, *error.problems))
    return replace(found, aside=aside)


def encoded(raw: RawTable, declared: Mapping[str, Declaration], drop: Collection[str]) -> Input:
    """Encode a source, or its sound part.

    Dropped columns are not looked into: their faults do not matter.
    """
    kept = raw.select([name for name in raw.names if name not in drop])
    declared = {name: declaration for name, declaration in declared.items() if name in kept.names}
    if not kept.names:  # the plan says that nothing is left
        return Input(table=Table((), raw.n_rows), columns=Columns.of(raw.names))
    try:
        table = encode(kept, declared)
    except SynthesizerError as error:
        sound = _sound_part(kept, declared)
        columns = Columns(names=raw.names, sound=frozenset(sound) | frozenset(drop))
        return Input(table=sound, columns=columns, problems=error.problems)
    return Input(
        table=table,
        columns=Columns.of(raw.names),
        layout=raw.layout,
        notes=tuple(data_notes(kept, table)),
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
    """Return the column names of a text file whose rows are unreadable, None if they are, too."""
    with suppress(SynthesizerError):  # the first row may be of a person
        content = None if data.path is None else csv_bytes(data.path)
        return None if content is None else header_names(content, "", data.reading)
    return None


def declared_for(
    data: DataConfig, raw: RawTable, declared: Mapping[str, Declaration]
) -> dict[str, Declaration]:
    """Add the declarations of a built-in sample; the plan reports unknown names."""
    existing = {name: declaration for name, declaration in declared.items() if name in raw.names}
    if data.sample is None:
        return existing
    from synthesizer.data.samples.builtin import SAMPLES

    usual = dict(SAMPLES[data.sample].declarations)
    return usual | {
        name: _over(usual.get(name), declaration) for name, declaration in existing.items()
    }


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
