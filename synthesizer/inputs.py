"""Reading the confidential data of a run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from synthesizer.config import DataConfig
from synthesizer.data.encoding import data_notes, encode
from synthesizer.data.inference import Declaration
from synthesizer.data.layout import Layout
from synthesizer.data.table import Table
from synthesizer.output import sha256

if TYPE_CHECKING:
    from synthesizer.data.sources import RawTable

__all__ = ["Input", "read_input", "without_password"]


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
    return sources.read_sample(data.sample or "")


def read_input(data: DataConfig, declared: Mapping[str, Declaration]) -> Input:
    """Read and encode the source that a configuration names.

    Raises
    ------
    DataError
        With every problem of the data.
    """
    raw = read_raw(data)
    if data.sample is not None:
        declared = {**_sample_declarations(data.sample), **declared}
    table = encode(raw, declared)
    return Input(
        table=table,
        layout=raw.layout,
        origin=without_password(raw.origin),
        fingerprint=None if data.path is None else sha256(data.path),
        notes=tuple(data_notes(raw, table)),
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
