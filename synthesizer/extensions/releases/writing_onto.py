"""Write a file that contains a published one byte for byte, with new rows or columns."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from synthesizer.data.csv_text import raw_rows
from synthesizer.data.files import create
from synthesizer.data.layout import CsvLayout, Layout, Quoting
from synthesizer.data.table import Table
from synthesizer.data.writing import (
    GZIP_LEVEL,
    CellWriter,
    csv_pieces,
    decode,
    encoded_pieces,
    following_encoding,
    header_cell,
    typed_layout,
)


def write_onto(
    published: Path, n_known: int, table: Table, path: Path, layout: Layout, source: Layout
) -> None:
    """Write a new file that contains a published one byte for byte, with new rows or columns.

    If ``table`` has the columns of the published file, its rows are appended. If it has more
    columns, its first ``n_known`` rows are those of the file: cells of new columns are inserted
    between the published ones, and the other rows are appended. Published bytes do not change.

    Parameters
    ----------
    published : Path
        CSV, CSV.gz or Parquet.
    n_known : int
        Rows of the published file.
    table : Table
        The new rows; or all rows, with new columns.
    path : Path
        The new file, of the same format.
    layout, source : Layout
        Layouts of the published file, and of the confidential one for new columns.
    """
    is_wider = set(table.names) != set(layout.names)
    with create(path) as file:
        if layout.form == "parquet":
            _onto_parquet(published, n_known, table, file, layout, source, is_wider=is_wider)
            return
        text = published.read_bytes()
        joined = _joined_layout(table, layout, source)
        csv = joined.csv or CsvLayout()
        if layout.compressed:
            text = gzip.decompress(text)
        if is_wider:
            rows = table.take(slice(0, n_known))
            text = _widened(text.decode(csv.encoding), rows, csv, layout.names)
        end = csv.line_end.encode(following_encoding(csv.encoding))
        after = table.take(slice(n_known, None)) if is_wider else table
        if after.n_rows and not text.endswith(end):
            text += end
        tail = b"".join(
            encoded_pieces(csv_pieces(after, csv, header=False), following_encoding(csv.encoding))
        )
        if layout.compressed:
            with gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0) as packed:
                packed.write(text + tail)
        else:
            file.write(text)
            file.write(tail)


def _joined_layout(table: Table, layout: Layout, source: Layout) -> Layout:
    """Return the layout of a published file with its new columns."""
    csv = layout.csv or CsvLayout()
    known = dict(zip(layout.names, csv.quoting, strict=True)) if csv.quoting else {}
    heads = dict(zip(layout.names, csv.header, strict=True)) if csv.header else {}
    theirs = source.csv or CsvLayout()
    if theirs.quoting:
        known = dict(zip(source.names, theirs.quoting, strict=True)) | known
        heads = dict(zip(source.names, theirs.header, strict=True)) | heads
    csv = replace(
        csv,
        header=tuple(heads.get(name, Quoting()) for name in table.names),
        quoting=tuple(known.get(name, Quoting()) for name in table.names),
    )
    return replace(layout, names=table.names, csv=csv, types=None, frame=())


def _widened(text: str, table: Table, csv: CsvLayout, names: tuple[str, ...]) -> bytes:
    """Return the text of a file with the new cells of the table in each row."""
    index = {name: k for k, name in enumerate(names)}
    header = [header_cell(csv, name, k, table) for k, name in enumerate(table.names)]
    new = [
        None
        if column.name in index
        else CellWriter(column, quoting, csv, alone=False).cells(0, table.n_rows).to_pylist()
        for column, quoting in zip(table.columns, csv.quoting, strict=True)
    ]
    order = [index.get(name, -1) for name in table.names]
    lines = []
    for i, (cells, end) in enumerate(raw_rows(text, csv.delimiter, csv.quote), -1):
        added = header if i < 0 else [None if column is None else column[i] for column in new]
        row = [cells[k] if k >= 0 else cell for k, cell in zip(order, added, strict=True)]
        lines.append(csv.delimiter.join(map(str, row)) + end)
    return "".join(lines).encode(csv.encoding)


def _onto_parquet(
    published: Path,
    n_known: int,
    table: Table,
    file: IO[bytes],
    layout: Layout,
    source: Layout,
    *,
    is_wider: bool,
) -> None:
    """Write the Parquet file of `write_onto`."""
    old = pq.read_table(published)
    fields = {field.name: field for field in old.schema}
    theirs = typed_layout(table, source.select(tuple(n for n in table.names if n in source.names)))
    types = theirs.types if theirs.types is not None else old.schema
    for field in types:
        fields.setdefault(field.name, field)
    schema = pa.schema([fields[name] for name in table.names])
    new = decode(table, replace(layout, names=table.names, types=schema, csv=None, frame=()))
    if is_wider:
        columns = [
            old[name] if name in old.column_names else new[name].slice(0, n_known)
            for name in table.names
        ]
        old, new = pa.Table.from_arrays(columns, names=list(table.names)), new.slice(n_known)
    new = new.select(old.column_names).cast(old.schema) if new.num_rows else new.slice(0, 0)
    parts = [old, new] if new.num_rows else [old]
    pq.write_table(pa.concat_tables(parts).unify_dictionaries(), file)
