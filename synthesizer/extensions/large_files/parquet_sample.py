"""A random sample of the units of large Parquet files.

A unit is in the sample if a hash of its number, or of the person's identifier, is below a
threshold. So one pass over batches of rows is enough, for any order of rows and files, and the same
file gives the same sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from synthesizer.data.codes import GOLDEN, splitmix
from synthesizer.data.errors import DataError, Problems
from synthesizer.data.sources import (
    RawTable,
    WholeSource,
    as_dictionary,
    damaged_parquet,
    parquet_files,
    typed,
)

BATCH_ROWS = 131_072
"""Rows per decoded batch."""
_MAX_HASHES = 20_000_000
"""Hashes of persons before duplicates are dropped."""

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True)
class WholeFiles(WholeSource):
    """The size of Parquet files of which a sample was read."""

    states: tuple[tuple[Path, int, int], ...]
    """Every file with its size and modification time."""

    @property
    def n_bytes(self) -> int:
        """Bytes of all files on disk."""
        return sum(size for _, size, _ in self.states)

    def check(self) -> None:
        """Raise DataError with every changed file."""
        Problems(
            f"{file}: changed while it was read; wait until it is complete, and begin again"
            for file, *state in self.states
            if list(_state(file)) != state
        ).settle(DataError)


def parquet_rows(path: Path) -> int:
    """Return the number of rows of a Parquet source by its metadata; 0 for other sources.

    Raises
    ------
    DataError
        With every file of a directory that is damaged.
    """
    rows, problems = 0, []
    for file in parquet_files(path):
        try:
            rows += pq.read_metadata(file).num_rows
        except (pa.ArrowException, OSError):
            problems.append(f"{file}: {damaged_parquet(file)}")
    if problems and path.is_dir():
        raise DataError(problems)
    return rows


def read_sample(path: Path, rows: int, person: str | None = None) -> tuple[RawTable, WholeFiles]:
    """Return about ``rows`` rows of a Parquet source: a random sample of its units.

    Parameters
    ----------
    path : Path
        A file or a directory of files with the same columns.
    rows : int
        Rows of the sample, at least 1; all if the source has fewer.
    person : str, optional
        Column of the unit, a person or a household: all rows with one value are in the sample, or
        none. Without it every row is a unit.

    Raises
    ------
    DataError
        With every file that is damaged, has other columns than the first one, or changes while it
        is read.
    """
    files = parquet_files(path)
    states = tuple((file, *_state(file)) for file in files)
    schema = _common_schema(path, files)
    if person is not None and person not in schema.names:
        person = None  # the plan reports the missing column
    n_rows = sum(pq.read_metadata(file).num_rows for file in files)
    threshold = np.uint64(2**64 - 1 if rows >= n_rows else int(rows / n_rows * 2**64))
    taken: list[pa.Table] = []
    persons = _Distinct()
    for batch, hashes in _hashed(files, person):
        if person is not None:
            persons.add(hashes)
        chosen = pa.Table.from_batches([batch]).filter(pa.array(hashes <= threshold))
        if chosen.num_rows:
            taken.append(chosen.cast(schema))
    table = pa.concat_tables(taken).unify_dictionaries() if taken else schema.empty_table()
    whole = WholeFiles(
        n_rows=n_rows,
        n_units=n_rows if person is None else persons.count(),
        states=states,
    )
    whole.check()
    raw = typed(table, "parquet", path.name)
    return raw, replace(whole, numbered=tuple(numberings(raw, n_rows)))


def read_groups(
    path: Path, whole: WholeFiles, columns: Sequence[str], rows: int, person: str | None = None
) -> Iterator[RawTable]:
    """Yield some columns of all rows in groups of about ``rows`` rows, with whole persons.

    The files are read once for every group, to save memory.

    Raises
    ------
    DataError
        With every file that changed since the sample was read.
    """
    whole.check()
    files = [file for file, *_ in whole.states]
    schema = _common_schema(path, files)
    schema = pa.schema([schema.field(name) for name in columns])
    n_groups = max(1, -(-whole.n_rows // rows))
    for group in range(n_groups):
        whole.check()
        taken = []
        for batch, hashes in _hashed(files, person, columns):
            is_member = (hashes >> np.uint64(32)) * np.uint64(n_groups) >> np.uint64(32) == group
            chosen = pa.Table.from_batches([batch]).filter(pa.array(is_member))
            taken.append(chosen.select(list(columns)).cast(schema))
        whole.check()
        joined = pa.concat_tables(taken).unify_dictionaries()
        if joined.num_rows:
            yield typed(joined, "parquet", path.name, min_rows=1)


def _hashed(
    files: Sequence[Path], person: str | None, columns: Sequence[str] | None = None
) -> Iterator[tuple[pa.RecordBatch, Hashes]]:
    """Yield all rows in batches, with the hash of each row's unit."""
    first, names = 0, None if columns is None else list(columns)
    for file in files:
        try:
            for batch in pq.ParquetFile(file).iter_batches(BATCH_ROWS, columns=names):
                yield batch, _hashes(batch, person, first)
                first += batch.num_rows
        except (pa.ArrowException, OSError):
            raise DataError(f"{file}: {damaged_parquet(file)}") from None


class _Distinct:
    """Counts distinct hashes: 8 bytes a person."""

    def __init__(self) -> None:
        self._parts: list[Hashes] = []

    def add(self, hashes: Hashes) -> None:
        self._parts.append(np.unique(hashes))
        if sum(map(len, self._parts[1:])) > _MAX_HASHES:
            self._parts = [np.unique(np.concatenate(self._parts))]

    def count(self) -> int:
        return len(np.unique(np.concatenate(self._parts))) if self._parts else 0


def _state(file: Path) -> tuple[int, int]:
    """Return size and time of a file; zeros if it is missing."""
    try:
        about = file.stat()
    except OSError:
        return 0, 0
    return about.st_size, about.st_mtime_ns


def _common_schema(path: Path, files: Sequence[Path]) -> pa.Schema:
    """Return the common columns of all files; dictionaries may differ."""
    problems = Problems()
    schemas = []
    for file in files:
        try:
            schemas.append(pq.read_schema(file).remove_metadata())
        except (pa.ArrowException, OSError, UnicodeDecodeError):
            problems.append(f"{file}: {damaged_parquet(file)}")
    problems.settle(DataError)
    first = schemas[0]
    for file, schema in zip(files, schemas, strict=True):
        problems += [f"{file}: {what}" for what in _differences(first, schema)]
    partitions = sorted({part for file in files for part in _partitions(path, file)})
    if partitions:
        problems.append(
            f"{path}: the columns {', '.join(partitions)} stand in names of directories, not in "
            "the files; write them into the files, or leave the level of directories out"
        )
    elif problems:
        problems.append(
            f"{path}: the files must have the columns of {files[0].name}; write them alike, or "
            "name a directory for each kind"
        )
    problems.settle(DataError)
    return pa.schema([_joint(name, schemas) for name in first.names])


def _partitions(path: Path, file: Path) -> Iterator[str]:
    """Yield the columns in the directory names of a file, as in ``year=1999``."""
    if path.is_dir():
        folders = file.relative_to(path).parts[:-1]
        yield from (folder.partition("=")[0] for folder in folders if "=" in folder)


def _joint(name: str, schemas: Sequence[pa.Schema]) -> pa.Field:
    """Return the type of a column in all files, plain text if they differ."""
    kinds = {kind for schema in schemas if not pa.types.is_null(kind := schema.field(name).type)}
    if not kinds:
        return pa.field(name, pa.string())
    return pa.field(name, kinds.pop() if len(kinds) == 1 else _plain(kinds.pop()))


def _differences(first: pa.Schema, other: pa.Schema) -> Iterator[str]:
    if first.names != other.names:
        lacking = [name for name in first.names if name not in other.names]
        new = [name for name in other.names if name not in first.names]
        if lacking:
            yield f"lacks the columns {', '.join(lacking)}"
        if new:
            yield f"has the columns {', '.join(new)}, which the first file lacks"
        if not lacking and not new:
            yield "has the columns in another order"
        return
    for mine, theirs in zip(first, other, strict=True):
        is_empty = pa.types.is_null(mine.type) or pa.types.is_null(theirs.type)
        if not is_empty and _plain(mine.type) != _plain(theirs.type):
            yield f"column {mine.name!r} has type {theirs.type} in place of {mine.type}"


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values; large texts count as texts."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.string() if pa.types.is_large_string(kind) else kind


def _hashes(batch: pa.RecordBatch, person: str | None, first: int) -> Hashes:
    """Return a hash for every row; rows without a person are always included, to be refused."""
    if person is None:
        return splitmix(np.arange(first, first + batch.num_rows, dtype=np.uint64) + GOLDEN)
    encoded = as_dictionary(pa.chunked_array([batch.column(person)]))
    values = encoded.dictionary.to_numpy(zero_copy_only=False)
    of_values = splitmix(pd.util.hash_array(values, categorize=False) + GOLDEN)
    codes = encoded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
    return np.asarray(np.append(of_values, np.uint64(0))[codes], dtype=np.uint64)


def numberings(raw: RawTable, n_rows: int) -> list[str]:
    """Return the columns of a sample that number all rows: distinct, at most the number of rows."""
    names = []
    for name, column in zip(raw.names, raw.arrow.columns, strict=True):
        if not pa.types.is_integer(column.type) or column.null_count or raw.n_rows < 2:
            continue
        numbers = column.to_numpy()
        is_narrow = int(numbers.max()) - int(numbers.min()) < n_rows
        if is_narrow and len(np.unique(numbers)) == len(numbers):
            names.append(name)
    return names
