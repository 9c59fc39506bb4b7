"""Reading the confidential data of a run."""

from __future__ import annotations

import csv
import gzip
import hashlib
import re
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING

from synthesizer.config import DataConfig
from synthesizer.data.encoding import data_notes, encode
from synthesizer.data.inference import Declaration
from synthesizer.data.layout import Layout
from synthesizer.data.table import Column, Table
from synthesizer.errors import DataError, SynthesizerError
from synthesizer.output import sha256
from synthesizer.plan_names import Columns

if TYPE_CHECKING:
    from synthesizer.data.sources import RawTable

Declare = Callable[[Sequence[str]], Mapping[str, Declaration]]
"""Says, of the columns that a source has, what is declared."""

__all__ = [
    "Declare",
    "Encoded",
    "Input",
    "declared_for",
    "encode_sound",
    "read_input",
    "read_raw",
    "try_input",
    "without_password",
]


@dataclass(frozen=True, kw_only=True)
class Input:
    """The confidential data as a table of codes.

    Parameters
    ----------
    table : Table
        All columns of the source.
    layout : Layout
        How the source was written.
    origin : str
        Where it came from, without passwords.
    fingerprint : str or None
        SHA-256 of the file or files; None for a query.
    notes : tuple of str
        What is odd in the data and no error.
    """

    table: Table
    layout: Layout
    origin: str
    fingerprint: str | None
    notes: tuple[str, ...]


def read_raw(data: DataConfig) -> RawTable:
    """Read the source without deciding about kinds."""
    from synthesizer.data import sources

    if data.path is not None:
        return sources.read_path(data.path, delimiter=data.delimiter, encoding=data.encoding)
    if data.sql is not None:
        return sources.read_sql(data.sql.url, data.sql.query)
    return sources.read_sample(data.sample or "", data.persons)


def read_input(data: DataConfig, declared: Mapping[str, Declaration]) -> Input:
    """Read and encode the source that a configuration names.

    Raises
    ------
    DataError
        With every problem of the data.
    """
    source, encoded = try_input(data, lambda _: declared)
    if source is None:
        raise DataError(encoded.problems)
    return source


def try_input(
    data: DataConfig, declare: Declare, drop: Collection[str] = ()
) -> tuple[Input | None, Encoded]:
    """Return the source (None if it has faults), and what could be encoded of it."""
    try:
        raw = read_raw(data)
    except SynthesizerError as error:
        columns = Columns(names=_header(data), sound=frozenset())
        return None, Encoded(Table((), 0), columns, error.problems)
    encoded = encode_sound(raw, declared_for(data, raw, declare(raw.names)), drop)
    if encoded.problems:
        return None, encoded
    return _input(raw, data, encoded.table), encoded


@dataclass(frozen=True)
class Encoded:
    """What could be encoded of a source, all its columns, and the problems of the others."""

    table: Table
    columns: Columns
    problems: tuple[str, ...] = ()


def encode_sound(
    raw: RawTable, declared: Mapping[str, Declaration], drop: Collection[str]
) -> Encoded:
    """Encode a source, or the sound part of one with faults.

    So that a configuration can be checked against data with faults. Dropped columns are not
    looked into: their faults do not matter.
    """
    kept = raw.select([name for name in raw.names if name not in drop])
    declared = {name: said for name, said in declared.items() if name in kept.names}
    if not kept.names:  # the plan says that nothing is left
        return Encoded(Table((), raw.n_rows), Columns.of(raw.names))
    try:
        return Encoded(encode(kept, declared), Columns.of(raw.names))
    except SynthesizerError as error:
        sound = _sound_part(kept, declared)
        columns = Columns(names=raw.names, sound=frozenset(sound) | frozenset(drop))
        return Encoded(sound, columns, error.problems)


def _sound_part(raw: RawTable, declared: Mapping[str, Declaration]) -> Table:
    sound: list[Column] = []
    for name in raw.names:
        said = {name: declared[name]} if name in declared else {}
        try:
            sound += encode(raw.select([name]), said).columns
        except SynthesizerError:  # told by whoever encoded the whole source
            continue
    return Table(sound, raw.n_rows)


def _input(raw: RawTable, data: DataConfig, table: Table) -> Input:
    return Input(
        table=table,
        layout=raw.layout,
        origin=without_password(raw.origin),
        fingerprint=_fingerprint(data),
        notes=tuple(data_notes(raw.select(table.names), table)),
    )


def _fingerprint(data: DataConfig) -> str | None:
    if data.sample is not None:
        from synthesizer.samples import is_simulated, sample_path

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
    from synthesizer.samples import SAMPLES

    return SAMPLES[name].declarations


def without_password(text: str) -> str:
    """Hide the password of a database URL.

    Examples
    --------
    >>> without_password("postgresql://me:secret@host/db")
    'postgresql://me:***@host/db'
    """
    return re.sub(r"(://[^:/@\s]*):[^@\s]*@", r"\1:***@", text)
