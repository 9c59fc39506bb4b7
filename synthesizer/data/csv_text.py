"""Reading of CSV text as columns of text, with layout and encoding of the file.

Arrow reads cells as dictionary-encoded text and drops the quotes. The first megabyte shows which
columns were quoted.

The encoding is detected from the whole file. UTF-8 and UTF-16 are certain: hardly any other text
is valid in them. Encodings with one byte per letter are a guess, since most bytes are valid in all
of them: cp1252 of Western Europe, or latin-1 where cp1252 lacks a byte. Only `init` uses the guess,
with a note.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from encodings.aliases import aliases
from itertools import islice
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv

from synthesizer.data.dialects import (
    DELIMITERS,
    ELSEWHERE,
    NO_NAMES,
    NOTHING,
    FileOptions,
    in_common_form,
    unnamed,
)
from synthesizer.data.errors import DataError, Problems
from synthesizer.data.layout import CsvLayout, Quoting

# How cells are written, and which columns are quoted.

BARE: Final = ("NA", "NaN", "N/A", "NULL", "null", "nan", ".")
"""Texts that stay unquoted where everything else is quoted."""


def raw_rows(text: str, delimiter: str, quote: str) -> Iterator[tuple[list[str], str]]:
    r"""Yield the cells of each row of a CSV file as written, and the end of the line.

    Examples
    --------
    >>> list(raw_rows('a,"b,c"\n1,', ",", '"'))
    [(['a', '"b,c"'], '\n'), (['1', ''], '')]
    """
    if quote not in text:  # ten times faster
        for line in re.finditer(r"([^\r\n]*)(\r\n|\n|\r|\Z)", text):
            if line.start() < len(text):
                yield line[1].split(delimiter), line[2]
        return
    gap, sign = re.escape(delimiter), re.escape(quote)
    quoted = rf"{sign}(?:[^{sign}]|{sign}{sign})*{sign}"
    cells: list[str] = []
    for match in re.finditer(rf"({quoted}|[^{gap}\r\n]*)({gap}|\r\n|\n|\r|\Z)", text):
        if match.start() == len(text) and not cells:
            return
        cells.append(match[1])
        if match[2] != delimiter:
            yield cells, match[2]
            cells = []


def _quoting_of(cells: Sequence[str], quote: str) -> Quoting:
    """Return the quoting of the cells of one column."""
    distinct = dict.fromkeys(cells)
    loose = [cell for cell in distinct if cell and not cell.startswith(quote)]
    is_quoted = any(cell.startswith(quote) and len(cell) > 2 for cell in distinct)
    always = is_quoted and set(loose) <= set(BARE)
    return Quoting(always=always, empty=2 * quote in distinct, bare=tuple(loose) if always else ())


def _quotings(rows: Sequence[list[str]], quote: str) -> tuple[Quoting, ...]:
    """Return the quoting of each column; empty columns are quoted like the others."""
    columns = [cells[1:] for cells in zip(*rows, strict=True)]
    quotings = [_quoting_of(cells, quote) for cells in columns]
    custom = any(quoting.always for quoting in quotings)
    return tuple(
        quoting if {*cells} - {"", 2 * quote} else replace(quoting, always=custom)
        for quoting, cells in zip(quotings, columns, strict=True)
    )


SAMPLE_BYTES: Final = 2**20
BLOCK_BYTES: Final = 4 * 2**20
MAX_NAMED: Final = 5
ROW_NAMES: Final = "row_names"
"""Name of a first column without a name: R and pandas write row names so."""


def parse_csv(
    data: pa.Buffer, origin: str, given: FileOptions
) -> tuple[pa.Table, CsvLayout, FileOptions]:
    """Return the columns as dictionary-encoded text, their layout, and the detected options.

    Without a given encoding, a byte order mark decides, otherwise UTF-8 is used.
    """
    data, encoding, bom = as_utf8(data, origin, given.get("encoding"))
    data, delimiter, options = _sound(data, origin, given)
    quote = options.get("quote") or '"'
    _refuse_open_quote(data, origin, delimiter, quote)
    rows, line_end = _first_rows(data, delimiter, quote)
    names = _names(data, rows[0], origin, delimiter, quote)
    table = _read(data, origin, delimiter, quote, names)
    # A delimiter that ends each line makes a last column without a name or a value.
    some = [j for j, name in enumerate(names) if name.strip() or not _is_empty(table.column(j))]
    Problems(unnamed([names[j] for j in some], origin)).settle(DataError)
    quoting = _quotings(rows, quote)
    layout = CsvLayout(
        delimiter=delimiter,
        line_end=line_end,
        encoding=encoding,
        bom=bom,
        final_newline=data[-1:].to_pybytes() in (b"\n", b"\r"),
        header=tuple(Quoting(always=rows[0][j].startswith(quote)) for j in some),
        quoting=tuple(quoting[j] for j in some),
        quote=quote,
    )
    return table.select(some), layout, options


def header_names(data: pa.Buffer, origin: str, given: FileOptions) -> tuple[str, ...]:
    """Return the names of the columns; rows need not be readable."""
    data, _, _ = as_utf8(data, origin, given.get("encoding"))
    data, delimiter, options = _sound(data, origin, given)
    quote = options.get("quote") or '"'
    rows, _ = _first_rows(data, delimiter, quote)
    return tuple(_names(data, rows[0], origin, delimiter, quote))


def _sound(data: pa.Buffer, origin: str, given: FileOptions) -> tuple[pa.Buffer, str, FileOptions]:
    """Return text in the common form, delimiter and options; refuse empty files and NUL bytes."""
    if not data.size or (data.size < SAMPLE_BYTES and not bytes(data).strip()):
        raise DataError(f"{origin}: {NOTHING}")
    _refuse_nul(data, origin)
    return in_common_form(data, origin, given)


def _first_rows(data: pa.Buffer, delimiter: str, quote: str) -> tuple[list[list[str]], str]:
    """Return the first rows that are as long as the header, and their line end."""
    head = data.slice(0, min(SAMPLE_BYTES, data.size)).to_pybytes()
    rows_and_ends = raw_rows(head.decode(errors="surrogateescape"), delimiter, quote)
    filled = ((cells, end) for cells, end in rows_and_ends if cells != [""])
    # without a quote the header shows all
    rows = [*(filled if quote.encode() in head else islice(filled, 1))]
    width, line_end = len(rows[0][0]), rows[0][1] or "\n"
    return [cells for cells, _ in rows if len(cells) == width], line_end


def _names(
    data: pa.Buffer, cells: Sequence[str], origin: str, delimiter: str, quote: str
) -> list[str]:
    try:
        line = delimiter.join(cells).encode(errors="surrogateescape").decode()
        names = next(csv.reader([line], delimiter=delimiter, quotechar=quote))
    except UnicodeDecodeError:
        raise DataError(_explained(data, origin, "")) from None
    except csv.Error:
        raise DataError(f"{origin}: {NO_NAMES}") from None
    if not names[0].strip() and len(names) > 1 and ROW_NAMES not in names:
        names[0] = ROW_NAMES
    return names


def _is_empty(column: pa.ChunkedArray) -> bool:
    return all(not text for chunk in column.chunks for text in chunk.dictionary.to_pylist())


def _refuse_nul(data: pa.Buffer, origin: str) -> None:
    text = np.frombuffer(data, dtype=np.uint8)
    if count := int((text == 0).sum()):
        line = int((text[: int(np.argmax(text == 0))] == ord("\n")).sum()) + 1
        wide = half_empty(data)
        remedy = (
            f"set `encoding: {wide}`, which reads all of it"
            if wide
            else "the file is damaged or has another encoding (try `encoding: utf-16`)"
        )
        raise DataError(f"{origin}: {count} NUL bytes, the first on line {line}; {remedy}")


def _refuse_open_quote(data: pa.Buffer, origin: str, delimiter: str, quote: str) -> None:
    """Refuse an open quote; only an odd number of quotes needs the slow search."""
    if int((np.frombuffer(data, dtype=np.uint8) == ord(quote)).sum()) % 2 == 0:
        return
    try:
        content = io.StringIO(bytes(data).decode(), newline="")
        for _ in csv.reader(content, delimiter=delimiter, quotechar=quote, strict=True):
            pass
    except csv.Error as error:
        if "unexpected end" in str(error):
            raise DataError(
                f"{origin}: a quoted cell is still open at the end of the file; find the "
                f"row with a single quote character ({quote}) and double or remove it"
            ) from None
    except UnicodeDecodeError:
        raise DataError(_explained(data, origin, "")) from None


def _read(data: pa.Buffer, origin: str, delimiter: str, quote: str, names: list[str]) -> pa.Table:
    try:
        return _arrow(data, delimiter, quote, names)
    except pa.ArrowInvalid as error:
        width = len(names)
        if "columns, got" in str(error) and (rows := _ragged_rows(data, delimiter, quote, width)):
            raise DataError(_ragged(origin, rows, width)) from None
        raise DataError(_explained(data, origin, str(error))) from None


def _arrow(data: pa.Buffer, delimiter: str, quote: str, names: list[str]) -> pa.Table:
    """Return the table that Arrow reads from memory of its own, without Python callbacks.

    Arrow's threads may release Python objects after the table is returned. If the interpreter ends
    at that moment, the process is aborted.
    """
    text = pa.dictionary(pa.int32(), pa.string())
    return pcsv.read_csv(
        pa.BufferReader(data),
        read_options=pcsv.ReadOptions(
            use_threads=data.size > BLOCK_BYTES,
            block_size=max(min(BLOCK_BYTES, data.size), 2**16),
            column_names=names,
            skip_rows_after_names=1,
        ),
        parse_options=pcsv.ParseOptions(
            delimiter=delimiter,
            quote_char=quote,
            newlines_in_values=True,
            ignore_empty_lines=len(names) > 1,  # a blank line is an empty cell of a lone column
        ),
        convert_options=pcsv.ConvertOptions(
            column_types=dict.fromkeys(names, text), strings_can_be_null=False
        ),
    )


def _ragged_rows(data: pa.Buffer, delimiter: str, quote: str, width: int) -> list[int]:
    """Return the data rows (1 = first) whose number of cells differs from the header's."""
    content = io.StringIO(data.to_pybytes().decode(errors="replace"), newline="")
    try:
        rows = filter(None, csv.reader(content, delimiter=delimiter, quotechar=quote))
        return [number for number, row in enumerate(rows) if len(row) != width]
    except csv.Error:
        return []


def _explained(data: pa.Buffer, origin: str, message: str) -> str:
    """Return the problem in words, without Arrow's message, which may quote a row."""
    if failing_byte(data, "utf-8") is not None:
        return not_readable(data, origin, "utf-8")
    if "straddling" in message:
        return f"{origin}: a row is longer than {BLOCK_BYTES} bytes; find the open quote"
    return f"{origin}: the file cannot be read as CSV; check `delimiter` and the quotes"


def _ragged(origin: str, rows: list[int], width: int) -> str:
    named = ", ".join(str(row) for row in rows[:MAX_NAMED])
    more = ", ..." if len(rows) > MAX_NAMED else ""
    many = f"{len(rows)} rows do" if len(rows) > 1 else "1 row does"
    return (
        f"{origin}: {many} not have {width} cells as the header has "
        f"(data rows {named}{more}); check `delimiter` and quotes, and delete "
        f"notes below the table; {ELSEWHERE}"
    )


# Encodings.

UTF_8_MARK: Final = codecs.BOM_UTF8
UTF_16_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_USUAL: Final = "utf-8, cp1252, latin-1 and cp1250"
_MIN_LIKENESS: Final = 0.7
"""Least similarity of a suggested name, from 0 to 1."""
_BLOCK: Final = 1 << 24
_NOT_ASCII: Final = re.compile(rb"[\x80-\xff]+")


@dataclass(frozen=True)
class FoundEncoding:
    """The detected encoding of a file."""

    name: str
    """Name of Python's codec."""
    why: str
    is_marked: bool = True
    """Whether files of this encoding need no `encoding` key."""
    is_sure: bool = True
    """Whether the bytes leave no other encoding."""


def find_encoding(data: pa.Buffer, origin: str) -> FoundEncoding:
    """Return the encoding of a text file, detected from all bytes.

    Raises
    ------
    DataError
        If most of the file, but not all, is UTF-8, so no encoding can read it.
    """
    start = data.slice(0, min(4, data.size)).to_pybytes()
    if start.startswith(UTF_8_MARK):
        return FoundEncoding("utf-8-sig", "it begins with a byte order mark")
    if start.startswith(UTF_16_MARKS):
        return FoundEncoding("utf-16", "it begins with a byte order mark")
    if (nul := half_empty(data)) is not None:
        return FoundEncoding(nul, "every second byte is NUL", is_marked=False)
    if failing_byte(data, "utf-8") is None:
        return FoundEncoding("utf-8", "found; every byte fits")
    content = data.to_pybytes()
    runs = _NOT_ASCII.findall(content)
    if 2 * sum(_is_utf_8(run) for run in runs) > len(runs):
        raise DataError(not_readable(data, origin, "utf-8"))
    name = "latin-1" if failing_byte(data, "cp1252") is not None else "cp1252"
    return FoundEncoding(name, "it is not UTF-8", is_marked=False, is_sure=False)


def half_empty(data: pa.Buffer) -> str | None:
    """Return the byte order of UTF-16 without a mark: every second byte is mostly NUL."""
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
    """Return the position of the first byte that an encoding cannot read; None if it reads all."""
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
    """Return text as UTF-8, its encoding, and whether it began with a mark of UTF-8.

    Text that should be UTF-8 is returned unchecked.
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
        return pa.py_buffer(data.to_pybytes().decode(name).encode()), name, False
    except UnicodeDecodeError:
        raise DataError(not_readable(data, origin, name)) from None
    except (LookupError, ValueError):
        raise DataError(f"{origin}: {unknown_encoding(encoding or name)}") from None


def unknown_encoding(name: str) -> str:
    """Return the problem of an unknown encoding, with similar names.

    Examples
    --------
    >>> unknown_encoding("cp125X")
    "encoding 'cp125X' is unknown; similar names are cp1258, cp1257, cp1256"
    >>> unknown_encoding("foo")
    "encoding 'foo' is unknown; usual ones are utf-8, cp1252, latin-1 and cp1250"
    """
    plain = name.lower().replace("_", "-")
    known = {alias.replace("_", "-") for alias in (*aliases, *aliases.values())}
    similar = get_close_matches(plain, sorted(known), 3, _MIN_LIKENESS)
    which = f"similar names are {', '.join(similar)}" if similar else f"usual ones are {_USUAL}"
    return f"encoding {name!r} is unknown; {which}"


def not_readable(data: pa.Buffer, origin: str, encoding: str) -> str:
    """Return the problem of the first unreadable byte: row, column and an encoding to set."""
    at = failing_byte(data, encoding)
    if at is None:  # what begins with a mark, or ends in the middle of a letter
        return f"{origin}: cannot be read as {encoding}; set `encoding` to that of the file"
    content = data.to_pybytes()
    before = content[:at].decode(encoding, errors="replace")
    return (
        f"{origin}: byte {at:,}{_position(before)} is not {encoding.upper()}; "
        f"{_remedy(data, content, encoding)}"
    )


def _position(before: str) -> str:
    """Return in words the line, row and column where a text ends."""
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
    return f" (line {line:,}, data row {len(rows) - 1:,}, column {len(rows[-1])})"


def _remedy(data: pa.Buffer, content: bytes, encoding: str) -> str:
    runs = _NOT_ASCII.findall(content)
    wrong = sum(not _is_utf_8(run) for run in runs)
    if encoding != "utf-8" and not wrong:
        return "all of the file is UTF-8: leave `encoding` out"
    if encoding == "utf-8" and 2 * wrong < len(runs):
        return (
            f"{len(runs) - wrong:,} other positions are, so the file is damaged or a mixture: "
            "correct these bytes; any other encoding would read the rest wrongly"
        )
    for name in ("cp1252", "latin-1"):
        if name != encoding and failing_byte(data, name) is None:
            return f"set `encoding: {name}`, which reads all of it; others may, too, such as cp1250"
    return "set `encoding` to that of the file"
