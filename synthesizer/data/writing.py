"""Writing of tables of codes as files and frames, in the layout of their source."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Final, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from synthesizer.data.errors import DataError, OutputError
from synthesizer.data.files import create
from synthesizer.data.formats import writing_of
from synthesizer.data.id_patterns import IdPattern
from synthesizer.data.layout import CsvLayout, FrameLayout, Layout, Quoting
from synthesizer.data.number_formats import PLAIN, NumberFormat
from synthesizer.data.sources import A_SECOND, as_dictionary
from synthesizer.data.table import Column, FloatArray, Kind, Table, Variable
from synthesizer.data.values import (
    format_dates,
    format_numbers,
    instants,
    is_number,
    parse,
    rounded,
)


def decode(table: Table, layout: Layout) -> pa.Table:
    """Return a table of codes as an Arrow table with the types of the source."""
    arrays, fields = [], []
    for column in table.columns:
        if layout.types is None:
            array = as_text(column)
            field = pa.field(column.name, array.type)
        elif column.name in layout.names:
            old = layout.types.field(column.name)
            array = _as_type(column, old.type)
            field = old.remove_metadata().with_nullable(old.nullable or array.null_count > 0)
        else:
            array = _as_type(column, default_type(column.variable))
            field = pa.field(column.name, array.type)
        arrays.append(array)
        fields.append(field)
    # Metadata of the source (attributes, numbers of rows and categories) are confidential.
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def default_type(variable: Variable) -> pa.DataType:
    """Return the type of a variable in a typed file if its source had no types."""
    if variable.is_coded:
        words = {level.lower() for level in variable.levels}
        if variable.kind is Kind.BOOLEAN and words == {"false", "true"}:
            return pa.bool_()
        return pa.dictionary(pa.int32(), pa.string(), ordered=variable.kind is Kind.ORDERED)
    if variable.kind is Kind.NUMERIC:
        return pa.int64() if variable.decimals == 0 else pa.float64()
    if variable.kind is Kind.DATE:
        return pa.date32() if variable.decimals == 0 else pa.timestamp("us")
    return pa.string() if "pattern" in variable.storage else pa.int64()


def number_texts(variable: Variable, data: FloatArray) -> pa.Array:
    """Return the values of a numeric, date or id variable as texts; NaN becomes null."""
    missing = np.isnan(data)
    filled = np.where(missing, 0.0, data)
    storage = variable.storage
    if variable.kind is Kind.NUMERIC:
        style = str(storage.get("style", "fixed" if variable.decimals == 0 else "plain"))
        written = NumberFormat.of_storage(storage)
        texts = format_numbers(filled, variable.decimals, style, written)
    elif variable.kind is Kind.DATE:
        form = str(storage.get("date_format", "%Y-%m-%d"))
        texts = format_dates(filled, form, int(storage.get("resolution", 1)))
    elif pattern := IdPattern.of_storage(storage):
        texts = pattern.texts(np.where(missing, 1.0, data))
    else:
        texts = format_numbers(filled, 0, "fixed")
    return pc.if_else(pa.array(missing), None, texts) if missing.any() else texts


def as_text(column: Column) -> pa.Array:
    """Return the cells of a column as written in a CSV file, null where a cell is null."""
    variable = column.variable
    if column.is_coded:
        codes = pa.array(np.asarray(column.data, dtype=np.int32))
        return pa.DictionaryArray.from_arrays(codes, pa.array(variable.labels, pa.string()))
    texts = number_texts(variable, np.asarray(column.data, dtype=np.float64))
    if column.states is None:
        return texts
    return pc.coalesce(texts, _of_state(column, pa.array(variable.missing, pa.string())))


def _of_state(column: Column, codes: pa.Array) -> pa.Array:
    """Return the missing code of each row as a value, null where the row is observed."""
    state = column.missing_state().astype(np.int32)
    return codes.take(pa.array(state - 1, mask=state == 0))


def _as_type(column: Column, kind: pa.DataType) -> pa.Array:
    if column.is_coded:
        return _coded(column, kind)
    data = np.asarray(column.data, dtype=np.float64)
    variable = column.variable
    if pa.types.is_dictionary(kind):
        return pc.cast(_as_type(column, kind.value_type).dictionary_encode(), kind)
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    is_compact = is_number and (variable.kind is Kind.DATE or "pattern" in variable.storage)
    if is_compact or pa.types.is_string(kind) or pa.types.is_large_string(kind):
        array = number_texts(variable, data)  # 20191231 is a date
    elif pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        array = _instants(variable, data, kind)
    elif pa.types.is_time(kind) or pa.types.is_duration(kind):
        is_of_minutes = "%S" not in variable.storage.get("clock", "%S")
        array = _spans(data * 60 if is_of_minutes else data, kind)
    else:
        array = _number(variable, data, kind)
    if column.states is None or not variable.missing:
        return pc.cast(array, kind)
    codes = _labels_as(variable.missing, kind, variable.storage.get("null"))
    return pc.coalesce(pc.cast(array, kind), _of_state(column, codes))


def _instants(variable: Variable, data: FloatArray, kind: pa.DataType) -> pa.Array:
    missing = np.isnan(data)
    stamps = instants(np.where(missing, 0.0, data), int(variable.storage.get("resolution", 1)))
    stamps = pc.if_else(pa.array(missing), None, pc.cast(stamps, pa.timestamp("us")))
    zone = getattr(kind, "tz", None)
    if zone is not None:
        # at changes of clocks: a repeated hour is the first, a skipped hour the next
        stamps = pc.assume_timezone(stamps, zone, ambiguous="earliest", nonexistent="latest")
    return pc.cast(stamps, kind, safe=False)


def _spans(seconds: FloatArray, kind: pa.DataType) -> pa.Array:
    """Return seconds as times of day or durations, null where they are NaN."""
    missing = np.isnan(seconds)
    ticks = np.rint(np.where(missing, 0, seconds) * A_SECOND[kind.unit]).astype(np.int64)
    whole = pa.int32() if pa.types.is_time32(kind) else pa.int64()
    return pc.cast(pa.array(ticks, whole, mask=missing), kind)


def _number(variable: Variable, data: FloatArray, kind: pa.DataType) -> pa.Array:
    if variable.kind is Kind.DATE:  # whole numbers such as 20191231
        return pc.cast(number_texts(variable, data), kind)
    missing = np.isnan(data)
    if variable.decimals is not None:
        data = rounded(data, variable.decimals)
    if pa.types.is_integer(kind):
        return pa.array(np.where(missing, 0, np.rint(data)).astype(np.int64), mask=missing)
    array = pa.array(data, mask=missing)
    return pc.cast(array, kind, safe=False) if pa.types.is_floating(kind) else array


def _coded(column: Column, kind: pa.DataType) -> pa.Array:
    variable = column.variable
    null = variable.storage.get("null")
    if not pa.types.is_dictionary(kind):
        labels = _labels_as(variable.labels, kind, null)
        return labels.take(pa.array(np.asarray(column.data, dtype=np.int32)))
    # The dictionary contains no null and no unused level: that would reveal a confidential level.
    occurs = np.bincount(column.data, minlength=len(variable.labels)) > 0
    listed = occurs & ~np.array([_is_null(x, null) for x in variable.labels], dtype=np.bool_)
    texts = [label for label, is_listed in zip(variable.labels, listed, strict=True) if is_listed]
    dictionary = _labels_as(texts, kind.value_type, None)
    lookup: npt.NDArray[np.int32] = np.cumsum(listed, dtype=np.int32) - np.int32(1)
    codes = pa.array(lookup[column.data], mask=~listed[column.data])
    array = pa.DictionaryArray.from_arrays(codes, dictionary, ordered=kind.ordered)
    return pc.cast(array, kind) if array.type != kind else array


def _is_null(label: str, null: Any) -> bool:
    return null is not None and label == null


def _labels_as(labels: Any, kind: pa.DataType, null: Any) -> pa.Array:
    """Return labels as values of a type; the null's label and unreadable labels become null."""
    texts = pa.array([None if _is_null(x, null) else x for x in labels], pa.string())
    if pa.types.is_time(kind) or pa.types.is_duration(kind):
        form = NumberFormat(clock="%H:%M:%S") if pa.types.is_time(kind) else PLAIN
        spelt = is_number(texts, form)
        seconds = np.full(len(texts), np.nan)
        seconds[spelt] = parse(texts.filter(pa.array(spelt)), form)
        return _spans(seconds, kind)
    if pa.types.is_boolean(kind):
        texts = pc.ascii_lower(texts)
    try:
        return pc.cast(texts, kind)
    except pa.ArrowInvalid:
        return pa.array([_one(x, kind) for x in texts.to_pylist()], kind)


def _one(text: str | None, kind: pa.DataType) -> Any:
    try:
        return pc.cast(pa.array([text], pa.string()), kind)[0].as_py()
    except pa.ArrowInvalid:
        return None


Format = str
"""``csv``, ``csv.gz``, ``parquet``, or a form of a format of `data.formats`."""
ROWS_A_CHUNK: Final = 65_536
PLAIN_KEYS: Final = {"style", "null"}
"""Keys of a variable's storage that need no quotes in a CSV file."""
GZIP_LEVEL: Final = 6


def suffix(layout: Layout, format: Format | None = None) -> str:  # noqa: A002
    """Return the ending of a file name, such as ``.csv.gz``; .csv without a source file."""
    return f".{format or _source_format(layout)}"


def _source_format(layout: Layout) -> Format:
    if writing_of(layout.form) is not None:
        return layout.form
    if layout.form == "parquet":
        return "parquet"
    return "csv.gz" if layout.compressed else "csv"


def write(
    table: Table,
    path: Path,
    layout: Layout,
    *,
    format: Format | None = None,  # noqa: A002
) -> None:
    """Write a table to a new file in the layout of its source; equal tables give equal bytes."""
    format = format or _source_format(layout)  # noqa: A001
    layout = layout.select(tuple(name for name in table.names if name in layout.names))
    if (writing := writing_of(format)) is not None:
        if layout.form != format:  # not planned
            layout, problems, _ = writing.laid_out(layout, table, {}, format)
            if problems:
                raise OutputError(f"{path.name}: {problem}" for problem in problems)
        writing.write(table, Path(path), layout, format)
        return
    with create(Path(path)) as file:
        if format == "parquet":
            pq.write_table(decode(table, typed_layout(table, layout)), file)
        elif format == "csv":
            _write_csv(table, file, layout)
        else:
            # Neither the time nor the name goes into the file: the same table, the same bytes.
            with gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0) as packed:
                _write_csv(table, cast("IO[bytes]", packed), layout)


def typed_layout(table: Table, layout: Layout) -> Layout:
    """Return a layout with types: those of the source, or those that variables have by default."""
    if layout.types is not None:
        return layout
    types = pa.schema([(c.name, default_type(c.variable)) for c in table.columns])
    return Layout(form="parquet", names=table.names, types=types)


def header_cell(csv: CsvLayout, name: str, k: int, table: Table) -> str:
    """Return the quoted name of column number ``k``."""
    alone = len(table.names) == 1
    text: str = _quoted(pa.array([name]), csv.header[k], csv, alone=alone)[0].as_py()
    return text


def following_encoding(encoding: str) -> str:
    """Return the encoding after the start of a file, where utf-16 has no byte order mark."""
    return {"utf-16": "utf-16-le", "utf-32": "utf-32-le"}.get(encoding.lower(), encoding)


def encoded_pieces(pieces: Iterator[Any], encoding: str) -> Iterator[Any]:
    """Return pieces of UTF-8 in another encoding."""
    if encoding.lower().replace("_", "-") in ("utf-8", "ascii"):
        yield from pieces
        return
    for piece in pieces:
        yield bytes(piece).decode().encode(encoding)


def _write_csv(table: Table, file: IO[bytes], layout: Layout) -> None:
    csv = layout.csv or CsvLayout()
    if not csv.quoting or len(csv.quoting) != len(table.names):
        plain = tuple(Quoting() for _ in table.names)
        csv = replace(csv, header=plain, quoting=plain)
    if csv.bom:
        file.write(b"\xef\xbb\xbf")
    pieces = csv_pieces(table, csv)
    later = following_encoding(csv.encoding)
    for encoding, some in ((csv.encoding, [next(pieces)]), (later, pieces)):
        for piece in encoded_pieces(iter(some), encoding):
            file.write(piece)


def csv_pieces(table: Table, csv: CsvLayout, *, header: bool = True) -> Iterator[Any]:
    """Yield the header and then the rows, as UTF-8 bytes."""
    alone = len(table.names) == 1
    if header:
        names = [header_cell(csv, name, k, table) for k, name in enumerate(table.names)]
        yield (csv.delimiter.join(names) + csv.line_end).encode()
    writers = [
        CellWriter(column, quoting, csv, alone=alone)
        for column, quoting in zip(table.columns, csv.quoting, strict=True)
    ]
    for start in range(0, table.n_rows, ROWS_A_CHUNK):
        stop = min(start + ROWS_A_CHUNK, table.n_rows)
        cells = [writer.cells(start, stop) for writer in writers]
        rows = pc.binary_join_element_wise(*cells, csv.delimiter)
        end = pa.scalar(csv.line_end, rows.type)
        rows = pc.binary_join_element_wise(rows, end, pa.scalar("", rows.type))
        # the array's buffer is the text of the file: row after row
        size = pc.sum(pc.binary_length(rows)).as_py()
        text = rows.buffers()[2].slice(0, size)
        if stop == table.n_rows and not csv.final_newline:
            text = text.slice(0, size - len(csv.line_end))
        yield text


class CellWriter:
    """Writer of the cells of one column; each label is quoted once, not row by row."""

    def __init__(self, column: Column, quoting: Quoting, csv: CsvLayout, *, alone: bool) -> None:
        variable = column.variable
        labels = variable.labels if column.is_coded else variable.missing
        null = variable.storage.get("null")
        texts = pa.array(["" if label == null else label for label in labels], pa.string())
        self.labels = _quoted(texts, quoting, csv, alone=alone)
        self.column, self.quoting, self.csv = column, quoting, csv

    def cells(self, start: int, stop: int) -> pa.Array:
        """Return the quoted texts of some rows."""
        column = self.column.take(slice(start, stop))
        if column.is_coded:
            return self.labels.take(pa.array(np.asarray(column.data, dtype=np.int32)))
        texts = number_texts(column.variable, np.asarray(column.data, dtype=np.float64))
        plain = column.variable.decimals == 0 and not column.variable.storage.keys() - PLAIN_KEYS
        if not plain or self.quoting.always:
            texts = _quoted(texts, self.quoting, self.csv, alone=False)
        if column.states is None:
            return texts
        return pc.coalesce(_of_state(column, self.labels), texts)


def _quoted(texts: pa.Array, quoting: Quoting, csv: CsvLayout, *, alone: bool) -> pa.Array:
    """Return texts with quotes where the source always has them or reading needs them."""
    delimiter = "\\t" if csv.delimiter == "\t" else "\\" + csv.delimiter
    special = f"[\\{csv.quote}\\r\\n{delimiter}]"
    needs = pc.match_substring_regex(texts, special)
    is_empty = pc.equal(texts, "")
    if quoting.always:
        bare = pc.is_in(texts, pa.array(quoting.bare, pa.string()))
        needs = pc.or_(needs, pc.and_(pc.invert(bare), pc.invert(is_empty)))
    if quoting.empty or alone:
        needs = pc.or_(needs, is_empty)
    if not pc.any(needs).as_py():
        return texts
    doubled = pc.replace_substring(texts, csv.quote, 2 * csv.quote)
    return pc.if_else(needs, pc.binary_join_element_wise(csv.quote, doubled, csv.quote, ""), texts)


def to_frame(table: Table, layout: Layout) -> Any:
    """Return a frame of the library of the source, with the types of the source.

    Files become a pandas frame. A DuckDB relation becomes an Arrow table, which DuckDB can query.
    """
    if layout.form not in ("arrow", "polars"):
        return to_pandas(table, layout)
    layout = layout.select(tuple(name for name in table.names if name in layout.names))
    arrow = decode(table, layout)
    return _polars(arrow) if layout.form == "polars" else arrow


def to_pandas(table: Table, layout: Layout) -> pd.DataFrame:
    """Return a pandas frame with the dtypes of the source frame."""
    layout = layout.select(tuple(name for name in table.names if name in layout.names))
    arrow = decode(table, typed_layout(table, layout))
    if not layout.frame:
        frame: pd.DataFrame = arrow.to_pandas()
        return frame
    known = dict(zip(layout.names, layout.frame, strict=True))
    columns = {
        name: _series(arrow.column(name), known.get(name, FrameLayout(dtype="category")))
        for name in arrow.column_names
    }
    return pd.DataFrame(columns, index=pd.RangeIndex(table.n_rows))


def _polars(arrow: pa.Table) -> Any:
    """Return a frame of polars, whose ordered categories are an Enum."""
    if find_spec("polars") is None:
        raise DataError("the model was fitted to a frame of polars: pip install polars")
    polars = import_module("polars")
    levels = {
        field.name: polars.Enum(as_dictionary(arrow[field.name]).dictionary.to_pylist())
        for field in arrow.schema
        if pa.types.is_dictionary(field.type) and field.type.ordered
    }
    return polars.from_arrow(arrow).cast(levels)


def _series(column: pa.ChunkedArray, frame: FrameLayout) -> Any:
    if frame.dtype == "category":
        whole = as_dictionary(column)
        categories = _categories(whole.dictionary.to_pylist(), frame.categories)
        codes = pc.fill_null(whole.indices, -1).to_numpy(zero_copy_only=False)
        dtype = pd.CategoricalDtype(categories, ordered=frame.ordered)
        return pd.Categorical.from_codes(codes, dtype=dtype)
    if frame.dtype.startswith("interval"):
        whole = as_dictionary(column)
        intervals = _categories(whole.dictionary.to_pylist(), frame.dtype)
        return intervals.take(whole.indices.to_pandas().fillna(-1).astype(int), fill_value=np.nan)
    if frame.dtype == "object":
        return pd.Series(column.to_pylist(), dtype=object)
    if frame.dtype.startswith(("timedelta", "duration")):
        return pd.to_timedelta(column.to_pandas(), unit="s").astype(frame.dtype)
    if frame.dtype.endswith("[pyarrow]"):
        return pd.arrays.ArrowExtensionArray(column)
    if frame.dtype.startswith(("datetime", "float", "period")):
        return column.to_pandas().astype(frame.dtype)
    if frame.dtype[0].isupper() or frame.dtype == "boolean":  # nullable: integers stay exact
        return pd.array(column.to_pylist(), dtype=frame.dtype)
    blanked = bool(column.null_count) and frame.dtype.startswith(("int", "uint"))
    return pd.Series(column.to_pandas(), dtype=None if blanked else frame.dtype)  # then floats


def _categories(labels: Sequence[Any], dtype: str | None) -> pd.Index[Any]:
    """Return categories with their original type; intervals are read from their texts."""
    if not str(dtype).startswith("interval"):
        return pd.Index(labels, dtype=dtype)
    kind: Any = pd.IntervalDtype(dtype)
    ends = np.array([label[1:-1].split(", ") for label in labels], dtype=object).reshape(-1, 2)
    lows, highs = (pd.Index(ends[:, side]).astype(kind.subtype) for side in (0, 1))
    return pd.IntervalIndex.from_arrays(lows, highs, closed=kind.closed)
