"""The confidential data of a run as a table of codes, with everything that is wrong with them."""

from __future__ import annotations

import csv
import gzip
import hashlib
import re
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from typing import Self

from synthesizer.config.keys import ChainConfig, Config, DataConfig, PanelConfig
from synthesizer.data.encoding import data_notes, encode
from synthesizer.data.errors import SynthesizerError
from synthesizer.data.files import sha256
from synthesizer.data.guessing import Declaration
from synthesizer.data.layout import Layout
from synthesizer.data.panel.arrangement import PLAIN, Arrangement
from synthesizer.data.sources import RawTable
from synthesizer.data.table import Column, Kind, Table
from synthesizer.plan.columns import Columns


@dataclass(frozen=True, kw_only=True)
class Input:
    """The confidential data, or the sound part of data with faults.

    So that a configuration can be checked against data with faults, and both told at once.
    """

    table: Table
    """The columns that could be read, without dropped ones."""
    columns: Columns
    """All columns of the source."""
    layout: Layout = field(default_factory=partial(Layout, form="csv", names=()))
    """How the source was written."""
    origin: str = ""
    """Where it came from, without passwords."""
    fingerprint: str | None = None
    """SHA-256 of the file or files; None for a query."""
    notes: tuple[str, ...] = ()
    """What is odd in the data and no error."""
    problems: tuple[str, ...] = ()
    """What is wrong with the data; nothing is made of them then."""

    @classmethod
    def of(cls, table: Table) -> Self:
        """Return a table that was encoded already."""
        return cls(table=table, columns=Columns.of(table.names))


def read_input(config: Config) -> Input:
    """Read and encode the source that a configuration names; its faults are in ``problems``."""
    data = config.data
    try:
        raw = read_raw(data)
    except SynthesizerError as error:
        columns = Columns(names=_header(data), sound=frozenset())
        return Input(table=Table((), 0), columns=columns, problems=error.problems)
    declared = declared_for(data, raw, declarations(config, raw.names))
    return replace(
        encoded(raw, declared, config.drop),
        origin=without_password(raw.origin),
        fingerprint=_fingerprint(data),
    )


def read_frame(raw: RawTable, config: ChainConfig) -> Input:
    """Encode a source that was read already."""
    return encoded(raw, declarations(config, raw.names), config.drop)


def declarations(config: ChainConfig, columns: Sequence[str] = ()) -> dict[str, Declaration]:
    """Return what a configuration says of the reading of each variable.

    What it says of a longitudinal variable of a wide panel holds for all of its columns, if those
    of the source are known.
    """
    said = {name: variable.declaration() for name, variable in config.variables.items()}
    if config.panel is None:
        return said
    from synthesizer.data.panel.forms import wide_columns

    person, time = config.panel.person, config.panel.time
    if person is not None and (person not in said or said[person].kind is None):
        said[person] = Declaration(kind=Kind.ID)
    for name in (person, time):
        if name is not None:
            said[name] = replace(said.get(name, Declaration()), every_row=True)
    for name, given in config.panel.wide.items():
        own = said.get(name)
        if own is not None and columns and name not in columns:
            del said[name]
            cells = wide_columns(given, columns)
            said |= {cell: own for cell in cells if cell not in said}
    return said


def arrangement_of(panel: PanelConfig | None, table: Table) -> tuple[Arrangement, tuple[str, ...]]:
    """Return how a source holds its units, and what a steward should know of it.

    Raises
    ------
    ConfigError
        With everything that stands against such a panel.

    Examples
    --------
    >>> arrangement_of(None, Table((), 2)) == (PLAIN, ())
    True
    """
    if panel is None:
        return PLAIN, ()
    from synthesizer.plan.arrange import arrange

    return arrange(panel, table)


def read_raw(data: DataConfig) -> RawTable:
    """Read the source without deciding about kinds."""
    from synthesizer.data import sources
    from synthesizer.data.samples.builtin import read_sample

    if data.path is not None:
        return sources.read_path(data.path, delimiter=data.delimiter, encoding=data.encoding)
    if data.sql is not None:
        return sources.read_sql(data.sql.url, data.sql.query)
    return read_sample(data.sample or "", data.persons)


def encoded(raw: RawTable, declared: Mapping[str, Declaration], drop: Collection[str]) -> Input:
    """Encode a source, or its sound part.

    Dropped columns are not looked into: their faults do not matter.
    """
    kept = raw.select([name for name in raw.names if name not in drop])
    declared = {name: said for name, said in declared.items() if name in kept.names}
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
        said = {name: declared[name]} if name in declared else {}
        try:
            sound += encode(raw.select([name]), said).columns
        except SynthesizerError:  # told by whoever encoded the whole source
            continue
    return Table(sound, raw.n_rows)


def _fingerprint(data: DataConfig) -> str | None:
    if data.sample is not None:
        from synthesizer.data.samples.builtin import is_simulated, sample_path

        if is_simulated(data.sample):
            text = f"{data.sample} {data.persons} {version('synthesizer')}"
            return hashlib.sha256(text.encode()).hexdigest()
        return sha256(sample_path(data.sample))
    return None if data.path is None else sha256(data.path)


def _header(data: DataConfig) -> tuple[str, ...] | None:
    """Return the column names of a text file whose rows cannot be read, None if they neither."""
    path = data.path
    if path is None or not path.is_file() or not {".csv", ".tsv", ".txt"} & set(path.suffixes):
        return None
    encoding = data.encoding or "utf-8-sig"
    try:
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rt", encoding=encoding, errors="replace") as file:
            line = file.readline(_LONGEST_HEADER)
    except (OSError, EOFError, LookupError, ValueError, zlib.error):
        return None
    delimiter = data.delimiter or max(",;\t|", key=line.count)
    names = next(csv.reader([line], delimiter=delimiter), [])
    return tuple(names) if any(names) and "\ufffd" not in line else None


_LONGEST_HEADER = 1 << 20


def declared_for(
    data: DataConfig, raw: RawTable, declared: Mapping[str, Declaration]
) -> dict[str, Declaration]:
    """Add what is known of a built-in sample; the plan reports names that are unknown."""
    known = {} if data.sample is None else dict(_sample_declarations(data.sample))
    told = {name: said for name, said in declared.items() if name in raw.names}
    return known | {name: _over(known.get(name), said) for name, said in told.items()}


def _over(known: Declaration | None, said: Declaration) -> Declaration:
    """Return what the configuration says, and what is known where it says nothing."""
    if known is None or said.kind is not None:
        return said
    return replace(
        said,
        kind=known.kind,
        missing=known.missing if said.missing is None else said.missing,
        levels=known.levels if said.levels is None else said.levels,
    )


def _sample_declarations(name: str) -> Mapping[str, Declaration]:
    from synthesizer.data.samples.builtin import SAMPLES

    return SAMPLES[name].declarations


def without_password(text: str) -> str:
    """Hide the password of a database URL.

    Examples
    --------
    >>> without_password("postgresql://me:secret@host/db")
    'postgresql://me:***@host/db'
    """
    return re.sub(r"(://[^:/@\s]*):[^@\s]*@", r"\1:***@", text)
