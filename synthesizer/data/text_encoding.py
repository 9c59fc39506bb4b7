"""How the bytes of a text file stand for letters: found out over the whole file, or refused.

UTF-8 and UTF-16 prove themselves: hardly any other text can be read as them. Files of one byte a
letter prove nothing, since every byte is some letter in most of their encodings, so theirs is a
guess: cp1252 of Western Europe, or latin-1 where cp1252 lacks a byte. Nobody but `init` uses the
guess, and says so.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from dataclasses import dataclass
from difflib import get_close_matches
from encodings.aliases import aliases
from typing import Final

import pyarrow as pa

from synthesizer.data.errors import DataError

UTF_8_MARK: Final = codecs.BOM_UTF8
UTF_16_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
DELIMITERS: Final = (",", ";", "\t", "|")
_NO_TEXT: Final = {"base64", "base64-codec", "bz2", "bz2-codec", "hex", "hex-codec", "quopri",
                   "quopri-codec", "rot13", "rot-13", "uu", "uu-codec", "zip", "zlib",
                   "zlib-codec"}  # fmt: skip
"""Codecs of Python that are no encodings of text."""
_USUAL: Final = "utf-8, cp1252, latin-1 and cp1250"
_NEAR: Final = 0.7
"""How alike a name must be to be offered, from 0 to 1."""
_BLOCK: Final = 1 << 24
_NOT_ASCII: Final = re.compile(rb"[\x80-\xff]+")


@dataclass(frozen=True)
class FoundEncoding:
    """The encoding of a file, and how it is known."""

    name: str
    """Name of Python's codec."""
    why: str
    is_marked: bool = True
    """Whether a file of this encoding is read without being told."""
    is_sure: bool = True
    """Whether the bytes prove it."""


def find_encoding(data: pa.Buffer, origin: str) -> FoundEncoding:
    """Find out how a text file is encoded, from all of its bytes.

    Raises
    ------
    DataError
        If most of the file is UTF-8, but not all, so that no encoding reads it.
    """
    start = data.slice(0, min(4, data.size)).to_pybytes()
    if start.startswith(UTF_8_MARK):
        return FoundEncoding("utf-8-sig", "it begins with a byte order mark")
    if start.startswith(UTF_16_MARKS):
        return FoundEncoding("utf-16", "it begins with a byte order mark")
    if (nul := half_empty(data)) is not None:
        return FoundEncoding(nul, "every second byte is NUL", is_marked=False)
    if failing_byte(data, "utf-8") is None:
        return FoundEncoding("utf-8", "all of it is")
    content = data.to_pybytes()
    runs = _NOT_ASCII.findall(content)
    if 2 * sum(_is_utf_8(run) for run in runs) > len(runs):
        raise DataError(not_readable(data, origin, "utf-8"))
    name = "latin-1" if failing_byte(data, "cp1252") is not None else "cp1252"
    return FoundEncoding(name, "it is not UTF-8", is_marked=False, is_sure=False)


def half_empty(data: pa.Buffer) -> str | None:
    """Return the byte order of UTF-16 without a mark: one half of all letters' bytes are NUL."""
    head = data.slice(0, min(1 << 16, data.size - data.size % 2)).to_pybytes()
    for name, high in (("utf-16-le", head[1::2]), ("utf-16-be", head[::2])):
        if high and 2 * high.count(0) > len(high) and failing_byte(data, name) is None:
            return name
    return None


def _is_utf_8(run: bytes) -> bool:
    try:
        run.decode()
    except UnicodeDecodeError:
        return False
    return True


def failing_byte(data: pa.Buffer, encoding: str) -> int | None:
    """Return the place of the first byte that an encoding cannot read; None where it reads all."""
    decoder = codecs.getincrementaldecoder(encoding)()
    for begin in range(0, max(data.size, 1), _BLOCK):
        block = data.slice(begin, min(_BLOCK, data.size - begin)).to_pybytes()
        waiting = len(decoder.getstate()[0])
        try:
            decoder.decode(block, final=begin + _BLOCK >= data.size)
        except UnicodeDecodeError as error:
            return begin - waiting + error.start
    return None


def as_utf8(data: pa.Buffer, origin: str, encoding: str | None) -> tuple[pa.Buffer, str, bool]:
    """Return text as UTF-8, the encoding that it had, and whether a mark of UTF-8 began it.

    Text that should be UTF-8 is returned as it is; whoever reads it finds out.
    """
    start = data.slice(0, min(4, data.size)).to_pybytes()
    if encoding is None and start.startswith(UTF_16_MARKS):
        encoding = "utf-16"
    if start.startswith(UTF_8_MARK):
        return data.slice(len(UTF_8_MARK)), "utf-8", True
    name = (encoding or "utf-8").lower()
    if name.replace("_", "-") in ("utf-8", "utf8", "utf-8-sig"):
        return data, "utf-8", False
    try:
        return arrow_buffer(data.to_pybytes().decode(name).encode()), name, False
    except UnicodeDecodeError:
        raise DataError(not_readable(data, origin, name)) from None
    except (LookupError, ValueError):
        raise DataError(f"{origin}: {unknown_encoding(encoding or name)}") from None


def unknown_encoding(name: str) -> str:
    """Say that an encoding is unknown, and which names are near.

    Examples
    --------
    >>> unknown_encoding("cp125X")
    "encoding 'cp125X' is unknown; near names are cp1258, cp1257, cp1256"
    >>> unknown_encoding("foo")
    "encoding 'foo' is unknown; usual ones are utf-8, cp1252, latin-1 and cp1250"
    """
    plain = name.lower().replace("_", "-")
    known = {alias.replace("_", "-") for alias in (*aliases, *aliases.values())}
    near = get_close_matches(plain, sorted(known - _NO_TEXT), 3, _NEAR)
    which = f"near names are {', '.join(near)}" if near else f"usual ones are {_USUAL}"
    return f"encoding {name!r} is unknown; {which}"


def arrow_buffer(data: bytes) -> pa.Buffer:
    """Copy bytes into memory of Arrow's own, which its threads can free without Python."""
    sink = pa.BufferOutputStream()
    sink.write(data)
    return sink.getvalue()


def not_readable(data: pa.Buffer, origin: str, encoding: str) -> str:
    """Say which byte an encoding cannot read, in which row and column, and what reads it."""
    place = failing_byte(data, encoding)
    if place is None:  # what begins with a mark, or ends in the middle of a letter
        return f"{origin}: cannot be read as {encoding}; set `encoding` to the file's own"
    content = data.to_pybytes()
    before = content[:place].decode(encoding, errors="replace")
    return (
        f"{origin}: byte {place:,}{_position(before)} is not {encoding.upper()}; "
        f"{_remedy(data, content, encoding)}"
    )


def _position(before: str) -> str:
    """Say in which line, row and column a text ends."""
    line = len(re.findall(r"\r\n?|\n", before)) + 1
    first = before.splitlines()[0] if before else ""
    delimiter = max(DELIMITERS, key=first.count)
    try:
        rows = [r for r in csv.reader(io.StringIO(before, newline=""), delimiter=delimiter) if r]
    except csv.Error:
        return f" (line {line:,})"
    if before.endswith(("\n", "\r")):
        rows.append([""])
    if len(rows) < 2 or len(rows[-1]) > len(rows[0]):
        return f" (line {line:,})"
    column = rows[0][len(rows[-1]) - 1].removeprefix("\ufeff")
    return f" (line {line:,}, data row {len(rows) - 1:,}, column {column!r})"


def _remedy(data: pa.Buffer, content: bytes, encoding: str) -> str:
    runs = _NOT_ASCII.findall(content)
    wrong = sum(not _is_utf_8(run) for run in runs)
    if encoding != "utf-8" and not wrong:
        return "all of the file is UTF-8: leave `encoding` out"
    if encoding == "utf-8" and 2 * wrong < len(runs):
        return (
            f"{len(runs) - wrong:,} other places are, so the file was damaged or put together: "
            "correct these bytes; in any other encoding the rest would come out wrong"
        )
    for name in ("cp1252", "latin-1"):
        if name != encoding and failing_byte(data, name) is None:
            return f"set `encoding: {name}`, which reads all of it; others may, too, such as cp1250"
    return "set `encoding` to the file's own"
