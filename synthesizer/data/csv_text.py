"""CSV text to columns of text, and how the text was laid out.

Arrow reads cells as dictionary-encoded text. It drops the quotes, so which
columns were quoted is learnt from the first megabytes of the text.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pcsv

from synthesizer.data.errors import DataError
from synthesizer.data.layout import CsvLayout, Quoting

BARE: Final = frozenset({"NA", "NaN", "N/A", "NULL", "null", "nan", "."})
"""Texts that stay unquoted where everything else is quoted."""
LF, CR = 10, 13
SAMPLE_BYTES: Final = 2 * 2**20
BLOCK_BYTES: Final = 4 * 2**20
DELIMITERS: Final = (",", ";", "\t", "|")
MAX_NAMED: Final = 5

Bytes = npt.NDArray[np.uint8]


def parse_csv(
    data: pa.Buffer, origin: str, *, delimiter: str | None = None, encoding: str | None = None
) -> tuple[pa.Table, CsvLayout]:
    """Read text as dictionary-encoded columns of text, and how it was written.

    Delimiter and encoding are found out when not given; the encoding is UTF-8 unless a byte order
    mark says otherwise.
    """
    data, encoding, bom = _as_utf8(data, origin, encoding)
    if not data.size or (data.size < SAMPLE_BYTES and not bytes(data).strip()):
        raise DataError(f"{origin}: the file is empty; it needs a header row and data rows")
    _refuse_nul(data, origin)
    data = _without_blank_lines(data)
    head = bytes(data.slice(0, min(SAMPLE_BYTES, data.size))).decode(errors="replace")
    delimiter = delimiter or _sniff(head)
    _refuse_open_quote(data, origin, delimiter)
    names, header, quoting = _learnt(head, delimiter)
    _refuse_names(names, origin)
    ends = re.search(r"\r?\n|\r", head)
    layout = CsvLayout(
        delimiter=delimiter,
        line_end=ends[0] if ends else "\n",
        encoding=encoding,
        bom=bom,
        final_newline=bytes(data.slice(data.size - 1)) in (b"\n", b"\r"),
        header=header,
        quoting=quoting,
    )
    return _read(data, origin, delimiter, names), layout


def _learnt(
    head: str, delimiter: str
) -> tuple[list[str], tuple[Quoting, ...], tuple[Quoting, ...]]:
    """Return the column names, their quoting, and when the cells of each column are quoted."""
    end = re.escape(delimiter)
    cell = re.compile(rf'("(?:[^"]|"")*"|[^{end}\r\n]*)({end}|\r?\n|\r|$)')
    row: list[str] = []
    rows = []
    for text, follows in cell.findall(head):
        row.append(text)
        if follows != delimiter:
            rows += [row] if any(row) or len(row) > 1 else []
            row = []
    names = next(csv.reader(io.StringIO(delimiter.join(rows[0]), newline=""), delimiter=delimiter))
    columns = list(zip(*(row for row in rows if len(row) == len(names)), strict=True))
    # A column without a filled cell follows the custom of the file.
    custom = any(_quoting(cells[1:], custom=False).always for cells in columns)
    return (
        names,
        tuple(Quoting(always=_is_quoted(cells[0])) for cells in columns),
        tuple(_quoting(cells[1:], custom=custom) for cells in columns),
    )


def _is_quoted(cell: str) -> bool:
    return cell.startswith('"') and len(cell) > 1


def _quoting(cells: Sequence[str], *, custom: bool) -> Quoting:
    texts = dict.fromkeys(cells)
    filled = [text for text in texts if text not in ("", '""')]
    bare = tuple(text for text in filled if not _is_quoted(text))
    always = len(bare) < len(filled) and set(bare) <= BARE
    return Quoting(
        always=always if filled else custom, empty='""' in texts, bare=bare if always else ()
    )


def _as_utf8(data: pa.Buffer, origin: str, encoding: str | None) -> tuple[pa.Buffer, str, bool]:
    start = data.slice(0, min(4, data.size)).to_pybytes()
    if encoding is None and start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    bom = start.startswith(b"\xef\xbb\xbf")
    if bom:
        data, encoding = data.slice(3), "utf-8"
    name = (encoding or "utf-8").lower()
    if name.replace("_", "-") not in ("utf-8", "utf8", "utf-8-sig", "ascii"):
        try:
            data = arrow_buffer(data.to_pybytes().decode(name).encode())
        except LookupError:
            raise DataError(f"{origin}: encoding {encoding!r} is unknown; try latin-1") from None
        except UnicodeDecodeError as error:
            raise DataError(
                f"{origin}: byte {error.start} cannot be read as {encoding}; "
                "set `encoding` to the file's own"
            ) from None
        return data, name, bom
    return data, "utf-8", bom


def arrow_buffer(data: bytes) -> pa.Buffer:
    """Copy bytes into memory of Arrow's own, which its threads can free without Python."""
    sink = pa.BufferOutputStream()
    sink.write(data)
    return sink.getvalue()


def _without_blank_lines(data: pa.Buffer) -> pa.Buffer:
    """Leave out empty lines before the header, which Arrow would take for the header."""
    start = data.slice(0, min(2**16, data.size)).to_pybytes()
    return data.slice(len(start) - len(start.lstrip(b"\r\n")))


def _refuse_nul(data: pa.Buffer, origin: str) -> None:
    text = np.frombuffer(data, dtype=np.uint8)
    count = int((text == 0).sum())
    if count:
        line = int((text[: int(np.argmax(text == 0))] == LF).sum()) + 1
        raise DataError(
            f"{origin}: {count} NUL bytes, the first on line {line}; the file is damaged or has "
            "another encoding (try `encoding: utf-16`)"
        )


def _refuse_open_quote(data: pa.Buffer, origin: str, delimiter: str) -> None:
    """Refuse a quote that is never closed; only an odd number of quotes needs the slow look."""
    if int((np.frombuffer(data, dtype=np.uint8) == ord('"')).sum()) % 2 == 0:
        return
    try:
        content = io.StringIO(bytes(data).decode(), newline="")
        for _ in csv.reader(content, delimiter=delimiter, strict=True):
            pass
    except csv.Error as error:
        if "unexpected end" in str(error):
            raise DataError(
                f"{origin}: a quoted cell is not closed before the end of the file; look for a "
                'row with a single quote character (") and double or remove it'
            ) from None
    except UnicodeDecodeError:
        return


def _sniff(head: str) -> str:
    """Choose the delimiter that occurs equally often in most lines."""
    lines = re.sub(r'"[^"]*("|$)', "", head).rstrip("\n").split("\n")
    best, chosen = (0.0, 0), ","
    for candidate in DELIMITERS:
        counts = [line.count(candidate) for line in lines]
        score = (counts.count(counts[0]) / len(counts), counts[0])
        if counts[0] and score > best:
            best, chosen = score, candidate
    return chosen


def _refuse_names(names: list[str], origin: str) -> None:
    problems = []
    empty = [str(i + 1) for i, name in enumerate(names) if not name.strip()]
    if empty:
        problems.append(
            f"{origin}: column {', '.join(empty)} has no name; name every column in the header row"
        )
    twice = sorted({name for name in names if name.strip() and names.count(name) > 1})
    problems += [f"{origin}: column {name!r} is in the file twice; rename one" for name in twice]
    if problems:
        raise DataError(problems)


def _read(data: pa.Buffer, origin: str, delimiter: str, names: list[str]) -> pa.Table:
    try:
        return _arrow(data, delimiter, names)
    except pa.ArrowInvalid as error:
        if "columns, got" in str(error) and (rows := _ragged_rows(data, delimiter, len(names))):
            raise DataError(_ragged(origin, rows, len(names))) from None
        raise DataError(_explained(data, origin, str(error))) from None


def _arrow(data: pa.Buffer, delimiter: str, names: list[str]) -> pa.Table:
    """Read with Arrow, from memory that does not belong to Python.

    Arrow's threads may free what they were handed (a Python buffer, a handler of invalid rows)
    after the table is there; if the interpreter ends just then, the process is aborted.
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
            newlines_in_values=True,
            ignore_empty_lines=len(names) > 1,  # a blank line is an empty cell of a lone column
        ),
        convert_options=pcsv.ConvertOptions(
            column_types=dict.fromkeys(names, text), strings_can_be_null=False
        ),
    )


def _ragged_rows(data: pa.Buffer, delimiter: str, width: int) -> list[int]:
    """Return which data rows (1 = first) have another number of cells than the header."""
    content = io.TextIOWrapper(
        io.BytesIO(data.to_pybytes()), encoding="utf-8", errors="replace", newline=""
    )
    try:
        rows = filter(None, csv.reader(content, delimiter=delimiter))
        return [number for number, row in enumerate(rows) if len(row) != width]
    except csv.Error:
        return []


def _explained(data: pa.Buffer, origin: str, message: str) -> str:
    """Say what is wrong without Arrow's message, which may quote a row."""
    try:
        bytes(data).decode("utf-8")
    except UnicodeDecodeError as error:
        line = bytes(data)[: error.start].count(b"\n") + 1
        return (
            f"{origin}: byte {error.start} (line {line}) is not UTF-8; set `encoding`, "
            "for example `encoding: latin-1`"
        )
    if "straddling" in message:
        return f"{origin}: a row is longer than {BLOCK_BYTES} bytes; look for an unclosed quote"
    return f"{origin}: the file cannot be read as CSV; check `delimiter` and the quotes"


def _ragged(origin: str, rows: list[int], width: int) -> str:
    named = ", ".join(str(row) for row in rows[:MAX_NAMED])
    more = ", ..." if len(rows) > MAX_NAMED else ""
    many = f"{len(rows)} rows do" if len(rows) > 1 else "1 row does"
    return (
        f"{origin}: {many} not have {width} cells as the header has "
        f"(data rows {named}{more}); check `delimiter` and quotes"
    )
