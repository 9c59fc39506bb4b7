"""Sheets of Excel and OpenDocument, read by calamine: the first row names the columns."""

from __future__ import annotations

import datetime as dt
import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from synthesizer.data.errors import DataError
from synthesizer.data.labelled import INSTALL
from synthesizer.data.layout import Labelling, Layout
from synthesizer.data.memory import in_bytes, unpacked_limit
from synthesizer.data.values import format_numbers

WORKBOOKS: Final = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
"""Endings of the files that are read."""


def read_workbook(
    path: Path, *, sheet: str | None = None, max_unpacked: int | None = None
) -> tuple[pa.Table, Layout]:
    """Read a sheet as columns of texts; numbers, dates and texts are told apart by their cells.

    Raises
    ------
    DataError
        If calamine is not there, the file is damaged or unpacks to more than the limit, there is
        no such sheet or more than one, or columns have no name.
    """
    if find_spec("python_calamine") is None:
        raise DataError(f"{path}: Excel files need python-calamine: {INSTALL}")
    _refuse_large(path, max_unpacked)
    import python_calamine

    try:
        book = python_calamine.CalamineWorkbook.from_path(path)
        sheets = {name: book.get_sheet_by_name(name) for name in book.sheet_names}
        filled = [name for name, found in sheets.items() if found.height]
        chosen = _chosen(path, list(sheets), filled, sheet)
        rows: list[list[Any]] = sheets[chosen].to_python()
    except python_calamine.CalamineError:
        raise DataError(
            f"{path}: the file is damaged, locked by a password, or no workbook; save it anew"
        ) from None
    return _table(path, rows)


def _refuse_large(path: Path, most: int | None) -> None:
    size = path.stat().st_size
    limit = unpacked_limit(size) if most is None else most
    try:
        with zipfile.ZipFile(path) as packed:
            unpacked = sum(member.file_size for member in packed.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):  # calamine says what it is
        return
    if unpacked > limit:
        raise DataError(
            f"{path}: {in_bytes(size)} that unpack to more than {in_bytes(limit)}, too much for "
            "such a file or for the free memory; if it is sound, allow it (data: "
            "{max_unpacked_mb: ...}), or take a part of it"
        )


def _chosen(path: Path, names: Sequence[str], filled: Sequence[str], wanted: str | None) -> str:
    """Return the sheet that is named, or the only one that holds something."""
    listed = ", ".join(map(repr, names))
    if wanted is not None:
        if wanted not in names:
            raise DataError(f"{path}: has no sheet {wanted!r}; name one of {listed} (data.sheet)")
        return wanted
    if len(filled) != 1:
        what = "no sheet holds anything" if not filled else f"has {len(filled)} sheets with data"
        raise DataError(f"{path}: {what}; name one of {listed} (data: {{sheet: ...}})")
    return filled[0]


def _table(path: Path, rows: Sequence[Sequence[Any]]) -> tuple[pa.Table, Layout]:
    if not rows:
        raise DataError(f"{path}: the sheet is empty; it needs a row of names and rows of data")
    names = [_text(cell) or "" for cell in rows[0]]
    if nameless := [str(place) for place, name in enumerate(names, 1) if not name]:
        raise DataError(
            f"{path}: columns without a name in the first row: {', '.join(nameless)} (from the "
            "left); name them, or delete them"
        )
    columns = [_column(cells) for cells in zip(*rows[1:], strict=True)] or [_column(())] * len(
        names
    )
    arrays = [array for array, _ in columns]
    labelled = tuple(labelling for _, labelling in columns)
    return (
        pa.Table.from_arrays(arrays, names=names),
        Layout(form="excel", names=tuple(names), labelled=labelled),
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
    return array, Labelling(is_text=kinds == {str}, is_date=is_date)


def _text(cell: Any) -> str | None:
    """Return a cell as a CSV file would have it; None where it is empty."""
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
    return str(cell)
