"""Reading of compressed text, JSON lines, and Feather or Arrow IPC files.

A compressed file is unpacked block by block, up to the limit.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, Final

import pyarrow as pa
import pyarrow.json as pj

from synthesizer.data.errors import DataError
from synthesizer.data.workers import too_large, unpacked_limit

CSV_SUFFIXES: Final[Mapping[str, str | None]] = {
    ".csv": None, ".tsv": "\t", ".tab": "\t", ".txt": None,
}  # fmt: skip
"""Endings of CSV files, with their delimiters."""
JSON_SUFFIXES: Final = (".jsonl", ".ndjson")
ARROW_SUFFIXES: Final = (".feather", ".arrow")
UNREADABLE: Final = (
    OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError,
)  # fmt: skip
"""Errors of files that are damaged, absent, or compressed in an unknown way."""
_BLOCK: Final = 1 << 24
_MAX_JSON_BLOCK: Final = 2**31 - 1
_MIXED: Final = re.compile(r"Column\(/(?P<name>.*)\) changed from (?P<old>\w+) to (?P<new>\w+)")


def _open_zip(path: Path) -> IO[bytes]:
    packed = zipfile.ZipFile(path)
    return packed.open(_member(packed, path))


def _member(packed: zipfile.ZipFile, path: Path) -> zipfile.ZipInfo:
    """Return the only file of a zip file, without the hidden files of macOS."""
    members = [
        member
        for member in packed.infolist()
        if not member.is_dir() and not member.filename.startswith(("__MACOSX/", "."))
    ]
    if len(members) != 1:
        raise DataError(f"{path}: contains {len(members)} files; unpack it and name one of them")
    if members[0].flag_bits & 1:
        raise DataError(f"{path}: has a password; unpack it and name the file in it")
    return members[0]


PACKED: Final[Mapping[str, Callable[[Path], IO[bytes] | Any]]] = {
    ".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".zip": _open_zip,
}  # fmt: skip
"""Endings of compressed text, with the function that opens each."""
TEXTS: Final = (*CSV_SUFFIXES, *JSON_SUFFIXES, *PACKED)


def text_of(path: Path, most: int | None) -> tuple[str, pa.Buffer]:
    """Return the ending of a text file without that of the compression, and its bytes.

    Raises
    ------
    DataError
        If the file unpacks to more than ``most`` bytes, or contains several files.
    """
    packing = path.suffix.lower()
    if packing not in PACKED:
        if packing not in TEXTS or path.stat().st_size == 0:
            return packing, pa.py_buffer(b"")
        return packing, pa.memory_map(str(path)).read_buffer()
    ending = Path(path.stem).suffix.lower()
    if packing == ".zip":
        with zipfile.ZipFile(path) as packed:
            ending = Path(_member(packed, path).filename).suffix.lower()
    size = path.stat().st_size
    limit = unpacked_limit(size) if most is None else most
    sink = pa.BufferOutputStream()
    with PACKED[packing](path) as file:
        while block := file.read(_BLOCK):
            sink.write(block)
            if sink.tell() > limit:
                raise DataError(too_large(path, size, limit))
    return ending, sink.getvalue()


def parse_json(content: pa.Buffer, origin: str) -> pa.Table:
    """Return the table of JSON lines: one object per line, with column names as keys."""
    block = min(max(content.size + 1, 1 << 16), _MAX_JSON_BLOCK)
    options = pj.ReadOptions(use_threads=False, block_size=block)
    try:
        return pj.read_json(pa.BufferReader(content), options)
    except pa.ArrowInvalid as error:
        if mixed := _MIXED.search(str(error)):
            raise DataError(
                f"{origin}: column {mixed['name']!r} mixes {mixed['old']} and {mixed['new']} "
                "values; write all of them as text"
            ) from None
        raise DataError(
            f"{origin}: cannot be read as JSON lines; each line must be one object, such as "
            '{"age": 34, "sex": "f"}'
        ) from None


def read_arrow(path: Path, most: int | None) -> pa.Table:
    """Return the table of a Feather (version 2) or Arrow IPC file, read batch by batch."""
    size = path.stat().st_size
    limit = unpacked_limit(size) if most is None else most
    batches, total = [], 0
    try:
        with pa.memory_map(str(path)) as source:
            reader = pa.ipc.open_file(source)
            for number in range(reader.num_record_batches):
                batches.append(reader.get_batch(number))
                total += batches[-1].nbytes
                if total > limit:
                    raise DataError(too_large(path, size, limit))
            return with_common_types(pa.Table.from_batches(batches, reader.schema))
    except (pa.ArrowInvalid, pa.ArrowIndexError, UnicodeDecodeError):
        raise DataError(
            f"{path}: is damaged, or not a Feather (version 2) or Arrow IPC file; write it anew"
        ) from None


def with_common_types(table: pa.Table) -> pa.Table:
    """Return a table without the types that few functions of Arrow know, such as views of texts.

    Metadata of the source may list levels, and are left out.
    """
    types = pa.schema([(field.name, _common(field.type)) for field in table.schema])
    return pa.table([c.cast(f.type) for c, f in zip(table.columns, types, strict=True)], types)


def _common(kind: pa.DataType) -> pa.DataType:
    if isinstance(kind, pa.BaseExtensionType):
        return _common(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _common(kind.value_type), kind.ordered)
    return pa.large_string() if str(kind) == "string_view" else kind
