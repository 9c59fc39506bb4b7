"""Dialect of a CSV file: lines above the names, comments, quote sign and delimiter.

Options that are not given are detected in the first megabyte. The text is then brought into the
common form (names in the first line, no comments).
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from operator import methodcaller
from typing import Any, Final, TypedDict

import pyarrow as pa

from synthesizer.data.errors import DataError

NOTHING: Final = "the file is empty; it needs a header row and data rows"
NO_NAMES: Final = (
    "its first row cannot be read as column names; check `encoding`, `delimiter` and the quotes"
)
DELIMITERS: Final = (",", ";", "\t", "|")
_SAMPLE_BYTES: Final = 1 << 20
_SEPARATOR: Final = re.compile(rb'"?sep=([\x00-\x7f])"?', re.IGNORECASE)
"""A first line that sets the delimiter for Excel."""
_SINGLE_QUOTE: Final = re.compile(rb"(?:^|[,;\t|])'(?P<closed>(?:[^'\r\n]|'')*'(?=[,;\t|\r\n]|$))?")
_MIN_SHARE_QUOTED: Final = 0.8
"""Least share of lines with a cell in single quotes, if these are quotes."""


class FileOptions(TypedDict, total=False):
    """Given options of a file; absent or None: detected."""

    delimiter: str | None
    quote: str | None
    comment: str | None
    """Sign at the beginning of comment lines; "" without comments."""
    header_row: int | None
    """Line or row of the names; those above are skipped."""
    names: Sequence[str] | None
    """Names of the columns; without ``header_row`` no row contains names."""
    encoding: str | None
    of_format: Mapping[str, Any]
    """Values of the keys of the file's format; see `data.formats`."""


RELEASED: Final = FileOptions(comment="", header_row=1)
"""A file of this package: the first line contains the names."""
COMMON_FORM: Final = FileOptions(quote='"', comment="", header_row=1)
"""A file whose dialect must not depend on its rows."""


@dataclass(frozen=True)
class _Row:
    """A row of the sample, in the common form."""

    number: int
    """Line on which it begins, counted from 1 in the file."""
    cells: list[str]
    text: bytes


def in_common_form(
    data: pa.Buffer, origin: str, given: FileOptions
) -> tuple[pa.Buffer, str, FileOptions]:
    """Return the text in the common form, its delimiter, and the detected options.

    Raises
    ------
    DataError
        If the first row is data, the header line is absent, or the names do not fit the rows.
    """
    head = data.slice(0, min(_SAMPLE_BYTES, data.size)).to_pybytes().splitlines(keepends=True)
    if len(head) > 1 and data.size > _SAMPLE_BYTES:
        del head[-1]  # is cut
    row, names = given.get("header_row"), given.get("names")
    blank = next((k for k, line in enumerate(head) if line.strip(b"\r\n")), 0)
    sep = _SEPARATOR.fullmatch(head[blank].strip())
    skipped = blank + bool(sep) if row is None else row - 1
    if skipped >= len(head):
        raise DataError(f"{origin}: line {skipped + 1} for the names is absent; {ELSEWHERE}")
    lines = head[skipped:]
    quote = given.get("quote") or _quote_sign(lines)
    delimiter = given.get("delimiter") or (sep[1].decode() if sep else sniff(lines, quote))
    comment = given.get("comment")
    if comment is None:
        comment = "" if row else _comment_sign(lines, delimiter)
    body = data.slice(sum(map(len, head[:skipped])))
    if comment:
        body = _without_comments(body, quote, comment, delimiter)
    try:
        rows = _rows(lines, delimiter, quote, comment, skipped + 1)
    except csv.Error:
        raise DataError(f"{origin}: {NO_NAMES}") from None
    cells = [r.cells for r in rows]
    row_of_names = find_header(cells) if row is None and names is None else first_filled(cells)
    body, rows = body.slice(sum(len(r.text) for r in rows[:row_of_names])), rows[row_of_names:]
    if not rows:
        raise DataError(f"{origin}: {NOTHING}")
    if names is not None:
        line = _line_of(names, rows[row is not None :] or rows, delimiter, quote, origin)
        _, end = _parts(rows[0].text)
        body = _joined(line + end, body.slice(len(rows[0].text) * (row is not None)))
    else:
        if row is None:
            refuse_data(rows[0].cells, cells[row_of_names + 1 :], origin, rows[0].number)
        body = _mended(body, rows, delimiter)
    number = None if names is not None and row is None else rows[0].number
    return body, delimiter, FileOptions(quote=quote, comment=comment, header_row=number)


def _rows(
    lines: Sequence[bytes], delimiter: str, quote: str, comment: str, number: int
) -> list[_Row]:
    """Return the first rows without comments; ``number`` is that of the first line."""
    numbered: list[tuple[int, bytes]] = []  # those that the reader has taken

    def texts() -> Iterator[str]:
        for k, line in enumerate(lines, number):
            if not (comment and line.startswith(comment.encode())):
                numbered.append((k, line))
                yield line.decode(errors="replace")

    reader = csv.reader(texts(), delimiter=delimiter, quotechar=quote)
    rows: list[_Row] = []
    begin = 0
    try:
        for cells in islice(reader, SAMPLE_ROWS + MAX_TITLE_ROWS + 1):
            text = b"".join(line for _, line in numbered[begin : reader.line_num])
            rows.append(_Row(numbered[begin][0], cells, text))
            begin = reader.line_num
    except csv.Error:
        if not rows:
            raise
    return rows  # the whole file is read later, with a better message


def _width(rows: Sequence[_Row]) -> int:
    """Return the number of cells that most rows have."""
    widths = Counter(len(row.cells) for row in rows if row.cells)
    return widths.most_common(1)[0][0] if widths else 0


def _line_of(
    names: Sequence[str], rows: Sequence[_Row], delimiter: str, quote: str, origin: str
) -> bytes:
    """Return a line of names, one for each cell of the rows."""
    width, names = _width(rows), [*names]
    if width == len(names) + 1 and _is_delimited_twice(rows, width):
        names.append("")
    if width != len(names):
        raise DataError(
            f"{origin}: `names` has {len(names)} columns, but most rows have {width} cells; name "
            "each column"
        )
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, quotechar=quote, lineterminator="").writerow(names)
    return text.getvalue().encode()


def _mended(body: pa.Buffer, rows: Sequence[_Row], delimiter: str) -> pa.Buffer:
    """Return text with a name for R's row names, which R writes without one."""
    head, data = rows[0], rows[1:]
    if not data or (short := _width(data) - len(head.cells)) not in (1, -1):
        return body
    (line, end), sign = _parts(head.text), delimiter.encode()
    if short == -1 and not head.cells[-1]:
        line = line[: line.rindex(sign)]
    elif short == 1 and _is_delimited_twice(data, len(head.cells) + 1):
        line += sign
    elif short == 1 and all(row.cells[:1] == [str(k)] for k, row in enumerate(data, 1)):
        line = sign + line
    else:
        return body
    return _joined(line + end, body.slice(len(head.text)))


def _parts(line: bytes) -> tuple[bytes, bytes]:
    """Return a line and its end."""
    bare = line.rstrip(b"\r\n")
    return bare, line[len(bare) :] or b"\n"


def _is_delimited_twice(rows: Sequence[_Row], width: int) -> bool:
    """Whether each row ends in a delimiter that separates nothing."""
    return all(len(row.cells) == width and not row.cells[-1] for row in rows if row.cells)


def _joined(line: bytes, body: pa.Buffer) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    sink.write(line)
    sink.write(body)
    return sink.getvalue()


def _without_comments(body: pa.Buffer, quote: str, comment: str, delimiter: str) -> pa.Buffer:
    """Return the text without comment lines; signs in quoted cells do not count."""
    sign, mark, end = (re.escape(text.encode()) for text in (comment, quote, delimiter))
    quoted = rb"(?:(?<=[\r\n%b])|(?<![\s\S]))%b(?:[^%b]|%b%b)*%b" % (end, *[mark] * 5)
    begins = rb"(?:(?<=[\r\n])|(?<![\s\S]))"
    pattern = rb"(?P<quoted>%b)|%b%b[^\r\n]*(?:\r\n?|\n|$)" % (quoted, begins, sign)
    text = re.sub(pattern, lambda match: match["quoted"] or b"", body.to_pybytes())
    return _joined(text, pa.py_buffer(b""))


def _quote_sign(lines: Sequence[bytes]) -> str:
    """Return the single quote if it quotes cells in most lines and no line has a double one."""
    some = [line for line in lines[:SAMPLE_ROWS] if line.strip()]
    if any(re.search(rb'(?:^|[,;\t|])"', line) for line in some):
        return '"'
    cells = [[match["closed"] for match in _SINGLE_QUOTE.finditer(line)] for line in some]
    closed = sum(bool(signs) and None not in signs for signs in cells)
    return "'" if closed >= max(_MIN_SHARE_QUOTED * len(some), 2) else '"'


def _comment_sign(lines: Sequence[bytes], delimiter: str) -> str:
    """Return # if it begins the first line and no line that may be data."""
    if not lines[0].startswith(b"#"):
        return ""
    marked = [line for line in lines if line.startswith(b"#")]
    others = [line.count(delimiter.encode()) for line in lines if line[:1] != b"#"]
    if not others:
        return ""
    (usual, _), *_ = Counter(others).most_common(1)
    looks_like_data = any(
        line.count(delimiter.encode()) == usual and not re.match(rb"#+\s", line) for line in marked
    )
    return "" if looks_like_data else "#"


def sniff(lines: Sequence[bytes], quote: str = '"') -> str:
    """Return the delimiter that occurs equally often in most lines, outside of quotes."""
    sign = quote.encode()
    quoted = rb"(?m)(?:^|(?<=[,;\t|]))%b(?:[^%b]|%b%b)*(?:%b|\Z)" % ((sign,) * 5)
    text = b"".join(lines)
    rest = re.sub(quoted, b"", text).splitlines() if sign in text else lines
    best, chosen = (0.0, 0), ","
    for candidate in DELIMITERS:
        counts = Counter(map(methodcaller("count", candidate.encode()), rest))
        del counts[0]
        if counts:
            usual = min(counts, key=lambda n: (-counts[n], n))
            if (score := (counts[usual] / len(rest), usual)) > best:
                best, chosen = score, candidate
    return chosen


SAMPLE_ROWS: Final = 200
"""Rows compared with the first one."""
MAX_TITLE_ROWS: Final = 30
_YEARS: Final = range(1800, 2101)
_NUMBER: Final = re.compile(
    r"[-+(]?[€$£¥]?\s?[-+]?(?:\d[\d.,' \u00a0]*|[.,]\d+)(?:[eE][-+]?\d+)?\s?[)%€$£¥]?"
)
_DECIMAL: Final = re.compile(r"\d[.,]\d")
_EMPTY: Final = frozenset({"", "na", "n/a", "nan", "null", "none", ".", "-", "inf", "-inf"})
_REMEDY: Final = (
    "name the columns (data.names: [A, B, ...]), or, if this row is the "
    "header, write data.header_row: {row}"
)
ELSEWHERE: Final = "if the names are in another row, write its number (data.header_row: N)"

Row = Sequence[str]


def find_header(rows: Sequence[Row]) -> int:
    """Return the position of the header row, counted from 0.

    Rows above it are titles: at most half filled, or followed by a blank row. They are skipped only
    if a name is above numbers, or if a blank row ends the titles.

    Examples
    --------
    >>> find_header([["Table 3", "", ""], ["age", "sex", "pay"], ["34", "m", "9"], ["9", "f", "7"]])
    1
    """
    filled_rows = [row for row in rows if _filled(row)]
    if not filled_rows:
        return 0
    width = Counter(map(len, filled_rows)).most_common(1)[0][0]
    below = [row for row in filled_rows if len(row) == width]
    used = sum(any(row[j].strip() for row in below) for j in range(width))
    for i, row in enumerate(rows[:MAX_TITLE_ROWS] if used > 1 else ()):
        filled, after = _filled(row), [r for r in rows[i + 1 :] if len(r) == width]
        if 2 * filled <= used or _is_title(rows[i + 1 :]):
            continue
        is_full = filled == used or (filled == used - 1 and not row[0].strip())
        is_apart = i > 1 and not _filled(rows[i - 1])
        is_header = is_full and (is_apart or _votes(row, after)[1])
        return i if is_header else first_filled(rows)
    return first_filled(rows)


def _filled(row: Row) -> int:
    return sum(bool(cell.strip()) for cell in row)


def _is_title(after: Sequence[Row]) -> bool:
    """Whether a blank row follows, and then one of words alone above numbers."""
    if len(after) < 2 or _filled(after[0]):
        return False
    like, words = _votes(after[1], after[2:])
    return bool(words) and not like


def first_filled(rows: Sequence[Row]) -> int:
    """Return the position of the first row that is not empty; 0 if all are empty."""
    return next((i for i, row in enumerate(rows) if any(row)), 0)


def refuse_data(row: Row, below: Sequence[Row], origin: str, number: int) -> None:
    """Raise DataError if the header row, in line ``number``, looks like data."""
    like, words = _votes(row, below)
    names = [row[j].strip() for j in like]
    if words or not like or _may_be_names(names):
        return
    which = "the first row" if number == 1 else f"row {number}, the first full one,"
    raise DataError(
        f"{origin}: {which} looks like data, not like names ({len(like)} of {len(row)} cells are "
        f"like those below); {_REMEDY.format(row=number)}"
    )


def _votes(row: Row, below: Sequence[Row]) -> tuple[list[int], int]:
    """Return positions of cells that resemble those below, and the count of words above numbers."""
    like, words = [], 0
    for j, cell in enumerate(map(str.strip, row)):
        column = [r[j].strip() for r in below[:SAMPLE_ROWS] if j < len(r)]
        column = [text for text in column if text.lower() not in _EMPTY]
        if not column or cell.lower() in _EMPTY:
            continue
        numbers = [text for text in column if _NUMBER.fullmatch(text)]
        is_number = bool(_NUMBER.fullmatch(cell))
        if len(numbers) >= 0.9 * len(column) and (is_number or cell not in column):
            words += not is_number
            if is_number and _is_near(cell, numbers):
                like.append(j)
        elif cell in column or _is_alike(cell, column):
            like.append(j)
    return like, words


def _is_near(cell: str, numbers: Sequence[str]) -> bool:
    """Whether a number is within the range of those below, extended by its width on both sides.

    A number with decimals above such numbers is never a name.
    """
    if _DECIMAL.search(cell) and any(map(_DECIMAL.search, numbers)):
        return True
    try:
        value, values = float(cell), [*map(float, numbers)]
    except ValueError:
        return True
    low, high = min(values), max(values)
    return 2 * low - high <= value <= 2 * high - low


def _is_alike(cell: str, column: Sequence[str]) -> bool:
    """Whether half of a column has the cell's pattern of digits, or all are e-mail addresses."""
    if "@" in cell:
        return 2 * sum("@" in text for text in column) >= len(column)
    pattern = re.sub(r"\d", "9", cell)
    alike = sum(re.sub(r"\d", "9", text) == pattern for text in column)
    return "9" in pattern and 2 * alike >= len(column)


def _may_be_names(names: Sequence[str]) -> bool:
    """Whether numbers are years, or rise in equal steps, as names of periods or R columns do."""
    if len(names) < 2 or not all(name.isdecimal() for name in names):
        return False
    numbers = [*map(int, names)]
    steps = {after - before for before, after in pairwise(numbers)}
    is_years = all(number in _YEARS for number in numbers)
    return min(steps) > 0 and (is_years or (len(steps) == 1 and len(names) > 2))


def unnamed(names: Sequence[str | None], origin: str) -> Iterator[str]:
    """Yield problems of columns without a name or with the same name, by position.

    Names are not shown: they may be data.
    """
    if empty := [str(j) for j, name in enumerate(names, 1) if not (name or "").strip()]:
        yield f"{origin}: column {', '.join(empty)} has no name; name every column; {ELSEWHERE}"
    for name, count in Counter(filter(None, names)).items():
        if count > 1:
            positions = [str(j) for j, other in enumerate(names, 1) if other == name]
            yield f"{origin}: columns {', '.join(positions)} have the same name; rename all but one"
