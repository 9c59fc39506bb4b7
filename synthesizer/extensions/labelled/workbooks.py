"""Read sheets of Excel and OpenDocument by calamine."""

from __future__ import annotations

import datetime as dt
import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from synthesizer.data.dialects import (
    ELSEWHERE,
    MAX_TITLE_ROWS,
    SAMPLE_ROWS,
    FileOptions,
    find_header,
    refuse_data,
    unnamed,
)
from synthesizer.data.errors import DataError, Problems
from synthesizer.data.formats import Read
from synthesizer.data.layout import Labelling, Layout
from synthesizer.data.values import format_numbers
from synthesizer.data.workers import too_large, unpacked_limit
from synthesizer.extensions.labelled.labelled_reading import INSTALL

_SHEET: Final = "data.sheet: NAME"


def read_workbook(path: Path, options: FileOptions, most: int | None = None) -> Read:
    """Return a sheet as columns of texts; the cells determine numbers, dates and texts.

    Besides the layout, the row of the names is returned.

    Raises
    ------
    DataError
        If calamine is missing, the file is damaged or unpacks to more than the limit, the sheet
        is missing or ambiguous, the first row is data, or columns have no name.
    """
    if find_spec("python_calamine") is None:
        raise DataError(f"{path}: Excel files need python-calamine: {INSTALL}")
    _refuse_large(path, most)
    import python_calamine

    try:
        book = python_calamine.CalamineWorkbook.from_path(path)
        sheets = {name: book.get_sheet_by_name(name) for name in book.sheet_names}
        filled = [name for name, sheet in sheets.items() if sheet.height]
        chosen = sheets[
            _chosen(path, list(sheets), filled, (options.get("of_format") or {}).get("sheet"))
        ]
        rows: list[list[Any]] = chosen.to_python()
    except python_calamine.CalamineError:
        raise DataError(
            f"{path}: the file is damaged, locked by a password, or no workbook; save it again"
        ) from None
    return _table(path, rows, options, chosen.start[0] + 1 if chosen.start else 1)


def _refuse_large(path: Path, most: int | None) -> None:
    size = path.stat().st_size
    limit = unpacked_limit(size) if most is None else most
    try:
        with zipfile.ZipFile(path) as packed:
            unpacked = sum(member.file_size for member in packed.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):  # calamine reports the error
        return
    if unpacked > limit:
        raise DataError(too_large(path, size, limit))


def _chosen(path: Path, names: Sequence[str], filled: Sequence[str], wanted: str | None) -> str:
    """Return the named sheet, or the only one with data."""
    listed = ", ".join(map(repr, names))
    if wanted is not None:
        if wanted not in names:
            raise DataError(f"{path}: has no sheet {wanted!r}; name one of {listed} ({_SHEET})")
        return wanted
    if len(filled) != 1:
        what = "no sheet contains data" if not filled else f"has {len(filled)} sheets with data"
        raise DataError(f"{path}: {what}; name one of {listed} ({_SHEET})")
    return filled[0]


def _table(path: Path, rows: Sequence[Sequence[Any]], options: FileOptions, number: int) -> Read:
    """Return the columns below the names; the first of the rows has a number in the sheet."""
    if not rows:
        raise DataError(f"{path}: the sheet is empty; it needs a row of names and rows of data")
    some = [[_text(cell) or "" for cell in row] for row in rows[: SAMPLE_ROWS + MAX_TITLE_ROWS]]
    named, header_row = options.get("names"), options.get("header_row")
    header = find_header(some) if header_row is None else header_row - number
    if not 0 <= header < len(rows):
        raise DataError(f"{path}: has no row {header_row} with names; {ELSEWHERE}")
    names, data = [_text(cell) or "" for cell in rows[header]], rows[header + 1 :]
    if named is not None:
        names, data = [*named], data if header_row is not None else rows
        if len(names) != len(rows[0]):
            raise DataError(f"{path}: names has {len(names)} columns, the sheet {len(rows[0])}")
    elif header_row is None:
        refuse_data(names, some[header + 1 :], str(path), header + number)
    if len(names) > 1:
        data = [row for row in data if any(cell != "" for cell in row)]
    cells = list(zip(*data, strict=True)) or [()] * len(names)
    used = [j for j, name in enumerate(names) if name or any(cell != "" for cell in cells[j])]
    names = [names[j] for j in used]
    Problems(unnamed(names, str(path))).settle(DataError)
    columns = [_column(cells[j]) for j in used]
    arrays = [array for array, _ in columns]
    labelled = tuple(labelling for _, labelling in columns)
    return (
        pa.Table.from_arrays(arrays, names=names),
        Layout(form="excel", names=tuple(names), labelled=labelled),
        FileOptions(header_row=None if named and header_row is None else header + number),
    )


def _column(cells: Sequence[Any]) -> tuple[pa.DictionaryArray, Labelling]:
    """Return the cells as texts, and whether all are texts, or dates."""
    kinds = {type(cell) for cell in cells if cell != ""}
    is_date = bool(kinds) and kinds <= {dt.date, dt.datetime}
    if is_date:
        stamps = np.array([None if cell == "" else cell for cell in cells], "datetime64[us]")
        whole = (stamps == stamps.astype("datetime64[D]")) | np.isnat(stamps)
        written = np.datetime_as_string(stamps.astype(f"datetime64[{'D' if whole.all() else 's'}]"))
        texts = [None if np.isnat(s) else str(t) for s, t in zip(stamps, written, strict=True)]
    else:
        texts = [_text(cell) for cell in cells]
    array = pa.array(texts, pa.string()).dictionary_encode()
    # times are read as CSV has them
    is_text = bool(kinds) and kinds <= {str, dt.time, dt.timedelta}
    return array, Labelling(is_text=is_text, is_date=is_date)


def _text(cell: Any) -> str | None:
    """Return a cell as a text like in CSV; None if it is empty."""
    match cell:
        case "":
            return None
        case bool():
            return str(cell).lower()
        case int() | float():
            text: str = format_numbers(np.array([cell], np.float64), None)[0].as_py()
            return text
        case dt.date() | dt.time():
            return cell.isoformat()
        case dt.timedelta() if cell >= dt.timedelta(0):
            seconds = round(cell.total_seconds())
            return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return str(cell)
