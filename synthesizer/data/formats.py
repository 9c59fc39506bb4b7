"""Formats of files that the core does not read by itself, found by entry point.

A format enters through the entry-point group ``synthesizer.formats``. It reads files of its
endings as columns of texts, with what they say of them, and may write some of them.
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
"""What the core writes itself."""
Words = tuple[str, Mapping[str, str]]
"""Label of a variable, and of its values."""
Read = tuple[pa.Table, Layout, FileOptions]
"""Columns, how they are laid out, and what was found out of how the file is written."""


class FormatKey(NamedTuple):
    """A key under ``data`` that files of one format have."""

    type: type
    """`str`, `int`, or `Path` of a file beside the source."""
    description: str


@dataclass(frozen=True, kw_only=True)
class Writing:
    """How datasets are written in forms of a format, each an ending and an ``output.format``."""

    forms: Sequence[str]
    about: str
    """What the forms are, for the description of ``output.format``."""
    laid_out: Callable[
        [Layout, Table, Mapping[str, Words], str], tuple[Layout, Sequence[str], Sequence[str]]
    ]
    """Takes the layout of the source, its table, labels and a form, before anything is fitted.
    Returns the layout in this form, sentences on what stands against it, and notes."""
    told: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """By form the sentence of the codebook, and how pandas opens ``file``, with its codes for
    missing values as missing."""
    write: Callable[[Table, Path, Layout, str], None]
    """Writes a table to a new file: the same table, the same bytes."""


@dataclass(frozen=True, kw_only=True)
class FileFormat:
    """How files of some endings are read, and written if they can be."""

    endings: Sequence[str]
    read: Callable[[Path, FileOptions, int | None], Read]
    """Takes a file, its declared properties, and the largest unpacked size in bytes."""
    keys: Mapping[str, FormatKey] = field(default_factory=dict)
    writing: Writing | None = None

    def __post_init__(self) -> None:
        if isinstance(self.endings, str) or isinstance(self.forms, str):
            raise TypeError("endings and forms must be tuples of texts")

    @property
    def forms(self) -> Sequence[str]:
        """The forms that are written."""
        return () if self.writing is None else self.writing.forms


@cache
def formats() -> Sequence[FileFormat]:
    """Return the formats that are installed.

    Raises
    ------
    ConfigError
        If one has an ending that the core or another one reads, or that no file can have.
    """
    problems, known = Problems(), {*TEXTS, *ARROW_SUFFIXES, ".parquet", ".pq"}
    found = entries(GROUP, FileFormat)
    keys = Counter(key for one in found.values() for key in one.keys)
    forms = Counter([*CORE_FORMS, *(form for one in found.values() for form in one.forms)])
    for what, times in (keys | forms).items():
        if times > 1 or what.startswith("_"):
            problems.append(f"formats: {what!r} is taken, or begins with _; remove a package")
    for name, one in found.items():
        for ending in one.endings:
            if ending in known or not re.fullmatch(r"\.[^.A-Z]+", ending):
                problems.append(
                    f"format {name!r}: ending {ending!r} is read by another one, or is no dot and "
                    "small letters; remove its package"
                )
            known.add(ending)
    problems.settle(ConfigError)
    return tuple(found.values())


def format_of(path: Path) -> FileFormat | None:
    """Return the format of a file by its ending; None of those that the core reads."""
    ending = path.suffix.lower()
    return next((one for one in formats() if ending in one.endings), None)


def format_keys() -> dict[str, FormatKey]:
    """Return the keys under ``data`` of all formats."""
    return {key: about for one in formats() for key, about in one.keys.items()}


def keys_of(path: Path, said: FileOptions) -> dict[str, Any]:
    """Return what is said of the format of a file, as far as this file has such keys."""
    found = format_of(path)
    given = said.get("of_format") or {}
    return {key: given[key] for key in given if found is not None and key in found.keys}


def foreign_keys(path: Path | None, given: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with keys of a format that the source does not have."""
    found = None if path is None else format_of(path)
    for key in given:
        if found is None or key not in found.keys:
            endings = [end for one in formats() if key in one.keys for end in one.endings]
            yield f"{key} belongs to a {' or '.join(endings)} file; take the key out"


def beside(path: Path, said: FileOptions) -> list[Path]:
    """Return the files that belong to a source, such as one with its labels."""
    return [value for value in keys_of(path, said).values() if isinstance(value, Path)]


def writing_of(form: str) -> Writing | None:
    """Return how a form is written; None of those that the core writes."""
    found = (one.writing for one in formats() if one.writing is not None)
    return next((writing for writing in found if form in writing.forms), None)
