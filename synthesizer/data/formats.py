"""File formats of extensions, from the entry-point group ``synthesizer.formats``.

A format reads files of its endings as columns with labels, and may write some of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa

from synthesizer.data.dialects import FileOptions
from synthesizer.data.errors import ConfigError, Problems
from synthesizer.data.layout import Layout
from synthesizer.data.packed import ARROW_SUFFIXES, TEXTS
from synthesizer.data.plugins import entries
from synthesizer.data.table import Table

GROUP: Final = "synthesizer.formats"
CORE_FORMS: Final = ("csv", "csv.gz", "parquet")
"""Forms that the core writes."""
Words = tuple[str, Mapping[str, str]]
"""Label of a variable, and of its values."""
Read = tuple[pa.Table, Layout, FileOptions]
"""Columns, their layout, and the detected options of the file."""


class FormatKey(NamedTuple):
    """A key under ``data`` for files of one format."""

    type: type
    """`str`, `int`, or `Path` of a file beside the source."""
    description: str


@dataclass(frozen=True, kw_only=True)
class Writing:
    """Writer of datasets in the forms of a format; a form is an ending and ``output.format``."""

    forms: Sequence[str]
    about: str
    """Text on the forms, for the description of ``output.format``."""
    laid_out: Callable[
        [Layout, Table, Mapping[str, Words], str], tuple[Layout, Sequence[str], Sequence[str]]
    ]
    """Called before any fit with the source's layout, table, labels and a form.

    Returns the layout in this form, problems and notes."""
    descriptions: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """By form: text for the codebook, and pandas code that opens ``file`` with missing values."""
    write: Callable[[Table, Path, Layout, str], None]
    """Writes a table to a new file; the same table gives the same bytes."""


@dataclass(frozen=True, kw_only=True)
class FileFormat:
    """Reader, and perhaps writer, of files with some endings."""

    endings: Sequence[str]
    read: Callable[[Path, FileOptions, int | None], Read]
    """Takes a file, its given options, and the most bytes that it may unpack to."""
    keys: Mapping[str, FormatKey] = field(default_factory=dict)
    writing: Writing | None = None

    def __post_init__(self) -> None:
        if isinstance(self.endings, str) or isinstance(self.forms, str):
            raise TypeError("endings and forms must be tuples of texts")

    @property
    def forms(self) -> Sequence[str]:
        """Forms that are written."""
        return () if self.writing is None else self.writing.forms


@cache
def formats() -> Sequence[FileFormat]:
    """Return the installed formats.

    Raises
    ------
    ConfigError
        If an ending is invalid, or the core or another format reads it.
    """
    problems, known = Problems(), {*TEXTS, *ARROW_SUFFIXES, ".parquet", ".pq"}
    by_name = entries(GROUP, FileFormat)
    keys = Counter(key for one in by_name.values() for key in one.keys)
    forms = Counter([*CORE_FORMS, *(form for one in by_name.values() for form in one.forms)])
    for what, times in (keys | forms).items():
        if times > 1 or what.startswith("_"):
            problems.append(f"formats: {what!r} is taken, or begins with _; remove a package")
    for name, one in by_name.items():
        for ending in one.endings:
            if ending in known or not re.fullmatch(r"\.[^.A-Z]+", ending):
                problems.append(
                    f"format {name!r}: ending {ending!r} belongs to another format, or is not a "
                    "dot and small letters; remove its package"
                )
            known.add(ending)
    problems.settle(ConfigError)
    return tuple(by_name.values())


def format_of(path: Path) -> FileFormat | None:
    """Return the format of a file by its ending; None if the core reads it."""
    ending = path.suffix.lower()
    return next((one for one in formats() if ending in one.endings), None)


def format_keys() -> dict[str, FormatKey]:
    """Return the keys under ``data`` of all formats."""
    return {key: about for one in formats() for key, about in one.keys.items()}


def keys_of(path: Path, options: FileOptions) -> dict[str, Any]:
    """Return the given options of the format of a file that this format has."""
    form = format_of(path)
    given = options.get("of_format") or {}
    return {key: given[key] for key in given if form is not None and key in form.keys}


def foreign_keys(path: Path | None, given: Mapping[str, Any]) -> Iterator[str]:
    """Yield a problem for each key of another format than that of the source."""
    form = None if path is None else format_of(path)
    for key in given:
        if form is None or key not in form.keys:
            endings = [end for one in formats() if key in one.keys for end in one.endings]
            yield f"{key} belongs to a {' or '.join(endings)} file; remove the key"


def beside(path: Path, options: FileOptions) -> list[Path]:
    """Return the additional files of a source, such as one with its labels."""
    return [value for value in keys_of(path, options).values() if isinstance(value, Path)]


def writing_of(form: str) -> Writing | None:
    """Return the writer of a form; None if the core writes it."""
    writings = (one.writing for one in formats() if one.writing is not None)
    return next((writing for writing in writings if form in writing.forms), None)
