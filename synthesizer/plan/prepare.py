"""Everything before the first fit: configuration, data, plan and output, all problems at once."""

from __future__ import annotations

import csv
import gzip
import hashlib
import re
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from synthesizer.config.keys import ChainConfig, Config, DataConfig
from synthesizer.config.reading import has_faulty_panel, try_file
from synthesizer.data.encoding import data_notes, encode
from synthesizer.data.errors import ConfigError, DataError, SynthesizerError
from synthesizer.data.files import check_output, sha256
from synthesizer.data.guessing import Declaration
from synthesizer.data.layout import Layout
from synthesizer.data.panel.arrangement import PLAIN, Arrangement
from synthesizer.data.sources import RawTable
from synthesizer.data.table import Column, Table
from synthesizer.engine.registry import Registry
from synthesizer.plan.arrange import arrange
from synthesizer.plan.columns import Columns
from synthesizer.plan.plan import Plan, try_plan

# Reading the confidential data of a run.

Declare = Callable[[Sequence[str]], Mapping[str, Declaration]]
"""Says, of the columns that a source has, what is declared."""


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


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A run that is ready to fit.

    Parameters
    ----------
    config : Config
        As read.
    source : Input
        The confidential data, without dropped variables.
    plan : Plan
        What will be fitted.
    arrangement : Arrangement
        How the source holds its units.
    table : Table
        The confidential data as the chain models them; a `PanelTable` of a panel.
    view : Table
        One row a unit, which the checks look at.
    registry : Registry
        The models that are known, those of the configuration's plug-ins among them.
    """

    config: Config
    source: Input
    plan: Plan
    arrangement: Arrangement
    table: Table
    view: Table
    registry: Registry


def prepare(
    config: Config | str | Path,
    registry: Registry,
    *,
    overrides: Mapping[str, Any] | None = None,
    check_directory: bool = True,
) -> Prepared:
    """Check a whole run and read its data.

    Parameters
    ----------
    config : Config or path
        A configuration or the file that holds one.
    registry : Registry
        The models that are known, without those of the plug-ins that the configuration names.
    overrides : mapping, optional
        Replace keys of the file.
    check_directory : bool
        Whether the output directory is checked as well.

    Raises
    ------
    ConfigError
        With every problem of the configuration, the data, the plan and the output.
    """
    problems: list[str] = []
    if isinstance(config, Config):
        sound: Config | None = config
    else:
        sound, problems = try_file(config, overrides)
    if sound is None:
        raise ConfigError(problems)
    if check_directory:
        output = sound.output
        problems += check_output(output.directory, overwrite=output.overwrite)
    source, encoded = try_input(sound.data, sound.declarations, sound.drop)
    registry, faulty = _plugged(registry, sound.plugins)
    if faulty or has_faulty_panel(problems):
        problems += faulty
        raise ConfigError(dict.fromkeys([*problems, *encoded.problems]))
    modelled = model_of(sound, encoded, registry)
    problems += [*encoded.problems, *modelled.problems]
    if problems or modelled.plan is None or source is None:
        raise ConfigError(dict.fromkeys(problems))
    return Prepared(
        config=sound,
        source=source,
        plan=modelled.plan,
        arrangement=modelled.arrangement,
        table=modelled.table,
        view=modelled.view,
        registry=registry,
    )


def _plugged(registry: Registry, plugins: Sequence[str]) -> tuple[Registry, tuple[str, ...]]:
    """Return the registry with plug-ins, and their problems."""
    try:
        return registry.with_plugins(plugins), ()
    except ConfigError as error:
        return registry, error.problems


@dataclass(frozen=True, kw_only=True)
class Modelled:
    """A source as the chain models it, with its plan; None where there are problems."""

    arrangement: Arrangement
    table: Table
    view: Table
    plan: Plan | None
    problems: tuple[str, ...] = ()


def model_of(config: ChainConfig, encoded: Encoded, registry: Registry) -> Modelled:
    """Bring an encoded source into the form that is modelled, and plan its synthesis."""
    source = encoded.table
    panel = config.panel if encoded.columns.is_complete or config.panel is None else None
    if config.panel is not None and panel is None:
        # without all columns persons and periods cannot be told apart: their problems come first
        return Modelled(arrangement=PLAIN, table=source, view=source, plan=None)
    found = arrange(panel, source)
    if found.arrangement is None:
        return Modelled(
            arrangement=PLAIN, table=source, view=source, plan=None, problems=found.problems
        )
    arrangement = found.arrangement
    table = arrangement.modelled(source)
    view = arrangement.viewed(table)
    columns = encoded.columns
    if panel is not None:
        columns = columns.joined(table.names).grouped(
            {name: arrangement.columns_of(name) for name in table.names}
        )
    plan, problems = try_plan(
        config,
        table,
        registry,
        columns,
        frame=found.frame,
        view=None if panel is None else view,
    )
    if plan is not None and found.notes:
        plan = replace(plan, notes=(*found.notes, *plan.notes))
    return Modelled(
        arrangement=arrangement, table=table, view=view, plan=plan, problems=tuple(problems)
    )


def plan_source(raw: RawTable, config: ChainConfig, registry: Registry) -> Modelled:
    """Encode a source that was read already and plan its synthesis.

    Raises
    ------
    DataError, ConfigError
        With every problem of the data, and of the configuration in view of them.
    """
    encoded = encode_sound(raw, config.declarations(raw.names), config.drop)
    modelled = model_of(config, encoded, registry)
    if encoded.problems:
        raise DataError([*encoded.problems, *modelled.problems])
    if modelled.plan is None:
        raise ConfigError(modelled.problems)
    return modelled
