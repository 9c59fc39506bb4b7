"""Reading of sources (files, databases, frames), and the distinct texts of their columns."""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from synthesizer.data.csv_text import parse_csv
from synthesizer.data.dialects import FileOptions
from synthesizer.data.errors import DataError, Problems, SynthesizerError, plural
from synthesizer.data.formats import FileFormat, Read, foreign_keys, format_of, formats
from synthesizer.data.layout import Form, FrameLayout, Labelling, Layout
from synthesizer.data.number_formats import PLAIN, NumberFormat, find_format
from synthesizer.data.packed import (
    ARROW_SUFFIXES,
    CSV_SUFFIXES,
    JSON_SUFFIXES,
    PACKED,
    TEXTS,
    UNREADABLE,
    parse_json,
    read_arrow,
    text_of,
    with_common_types,
)
from synthesizer.data.table import BoolArray
from synthesizer.data.workers import too_large, unpacked_limit

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine


_NULL_LABELS: Final = ("", "NA", "<NA>", "null", "<null>")
MAX_POSITIONS: Final = 3


@dataclass(frozen=True, eq=False)
class Texts:
    """Distinct values of one column as text."""

    name: str
    values: pa.Array
    """Distinct texts, shape (k,)."""
    codes: npt.NDArray[np.int32]
    """Index into ``values`` of each row, shape (n,)."""
    counts: npt.NDArray[np.int64]
    """Rows of each text, shape (k,); 0 for unused categories of a typed source."""
    null: str | None = None
    """Text for a null of a typed source."""
    source: pa.DataType | None = None
    """Type of the values in a typed source (dictionaries: of their values)."""
    ordered: bool | None = None
    """Whether categories of a typed source are ordered; None without categories."""
    native: pa.Array | None = None
    """Distinct values of a typed source in their type."""
    format: NumberFormat = PLAIN
    """Format of its numbers."""
    labelling: Labelling | None = None
    """Labels and attributes of the column in a file."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @property
    def occurs(self) -> BoolArray:
        """Which texts occur, shape (k,)."""
        return np.asarray(self.counts > 0)

    @property
    def is_text(self) -> bool:
        """Whether the source contains text."""
        if self.labelling is not None:
            return self.labelling.is_text
        kind = self.source
        return kind is None or pa.types.is_string(kind) or pa.types.is_large_string(kind)

    def among(self, texts: Iterable[str]) -> BoolArray:
        """Return which distinct texts are in ``texts``, shape (k,)."""
        wanted = pa.array(list(texts), pa.string())
        return np.asarray(pc.is_in(self.values, wanted).to_numpy(zero_copy_only=False))

    def picked(self, mask: BoolArray) -> list[str]:
        """Return the distinct texts under a mask as Python strings."""
        return list(self.values.filter(pa.array(mask)).to_pylist())

    def where(self, mask: BoolArray) -> str:
        """Return in words the number of rows with masked texts, and the first (1 = first)."""
        count = int(self.counts[mask].sum())
        rows = np.flatnonzero(mask[self.codes])[:MAX_POSITIONS] + 1
        named = ", ".join(str(row) for row in rows)
        if count == 1:
            return f"1 value (data row {named})"
        return f"{count} values (data rows {named}{', ...' if count > len(rows) else ''})"


_SUPPORTED: Final = (
    "bool", "int", "uint", "halffloat", "float", "double", "decimal", "string", "large_string",
    "date", "timestamp", "null",
)  # fmt: skip
"""Beginnings of the names of types that can be converted to text."""
_REFUSED: Final = (
    (pa.types.is_struct, "records of several fields"),
    (pa.types.is_nested, "lists"),
    (lambda kind: "binary" in str(kind), "bytes"),
)
"""Names of other types."""


def distinct_texts(name: str, column: pa.ChunkedArray, **about: object) -> Texts:
    """Return a column encoded by its distinct values as text."""
    is_category = pa.types.is_dictionary(column.type)
    encoded = as_dictionary(column)
    native = encoded.dictionary
    values = pc.cast(native, pa.string())
    # the indices of polars have no sign
    codes = pc.fill_null(pc.cast(encoded.indices, pa.int32()), -1).to_numpy(zero_copy_only=False)
    null = None
    if encoded.null_count:
        labels = (*_NULL_LABELS, *(f"<null {k}>" for k in range(len(values))))
        null = next(text for text in labels if pc.index(values, text).as_py() < 0)
        codes = np.where(codes < 0, len(values), codes).astype(np.int32)
        values = pa.concat_arrays([values, pa.array([null], pa.string())])
        native = pa.concat_arrays([native, pa.nulls(1, native.type)])
    counts = np.bincount(codes, minlength=len(values)).astype(np.int64)
    typed = about.get("source") is not None
    return Texts(
        name=name,
        values=values,
        codes=codes,
        counts=counts,
        null=null,
        ordered=bool(column.type.ordered) if typed and is_category else None,
        native=native if typed else None,
        **about,  # type: ignore[arg-type]
    )


def as_dictionary(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """Return a column as one array of codes into its distinct values."""
    if pa.types.is_null(_value_type(column.type)):  # Arrow has no dictionary of nulls
        column = pa.chunked_array([pa.nulls(len(column), pa.string())])
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    combined = column.unify_dictionaries().combine_chunks()
    if isinstance(combined, pa.ChunkedArray):  # older Arrow keeps one chunk, or none at all
        combined = combined.chunk(0)
    return combined


_SKIPPED: Final = re.compile(
    r"--[^\n]*|/\*.*?\*/|(?P<text>'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")", re.DOTALL
)
_WRITES: Final = re.compile(r"\b(insert|update|delete|merge|into)\b(?!\s*\()", re.IGNORECASE)
_SQL_WORDS: Final = {
    "ArgumentError": "the URL cannot be read",
    "NoSuchModuleError": "the URL names no known kind of database",
    "OperationalError": "the database cannot be reached, or lacks what the query names",
}
_NOT_THERE: Final = re.compile(
    r"no such (?:table|column): (?P<lite>[\w.]+)"
    r"|(?:relation|column) \"?(?P<post>[\w.]+)\"? does not exist"
)


def read_sql(url: str, query: str) -> RawTable:
    """Return the result of one SELECT or WITH statement at an SQLAlchemy URL.

    For SQLite and PostgreSQL the connection is also set to read only. No transaction is committed.
    """
    if find_spec("sqlalchemy") is None:
        raise DataError("SQL sources need SQLAlchemy: pip install 'microdata-synthesizer[sql]'")
    import sqlalchemy
    from sqlalchemy.exc import SQLAlchemyError

    refuse_writing(query)
    origin = "the SQL query"
    try:
        engine = sqlalchemy.create_engine(_reading(sqlalchemy.make_url(url)))
        shown = sqlalchemy.make_url(url).render_as_string(hide_password=True)
        origin = f"query on {without_password(shown)}"
        names, rows = _fetch(engine, query)
    except SQLAlchemyError as error:
        raise DataError(f"{origin}: {_explained(error, query)}") from None
    except ImportError as error:
        raise DataError(f"{origin}: install the database driver ({error.name})") from None
    return typed(_from_rows(names, rows, origin), "sql", origin)


_PASSWORD: Final = re.compile(r"(://[^:/@\s]*):\S*@")
_PASSWORD_OPTION: Final = re.compile(
    r"([?&;]\w*(?:pass|pwd|token|secret|key|credential|auth|odbc_connect)\w*=)[^&;\s]*",
    re.IGNORECASE,
)


def without_password(text: str) -> str:
    """Return a database URL without passwords, also in its options.

    Examples
    --------
    >>> without_password("postgresql://me:secret@host/db?pwd=secret&sslmode=require")
    'postgresql://me:***@host/db?pwd=***&sslmode=require'
    """
    return _PASSWORD_OPTION.sub(r"\1***", _PASSWORD.sub(r"\1:***@", text))


def refuse_writing(query: str) -> None:
    """Refuse everything but one statement that reads.

    Databases write texts and comments in different ways, so a semicolon is allowed only at the end.
    """
    if ";" in query.strip().removesuffix(";"):
        raise DataError(
            "`query` must be one SELECT or WITH statement, with a semicolon only at the end, "
            "not in comments or texts"
        )
    bare = _SKIPPED.sub(lambda match: "''" if match["text"] else " ", query).lstrip(" \n\t\r(")
    if not re.match(r"(?i)(select|with)\b", bare) or _WRITES.search(bare):
        raise DataError("`query` must be one SELECT or WITH statement that only reads")


def _reading(url: URL) -> URL:
    """Return the URL; refuse an absent SQLite file, which connecting would create."""
    if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:":
        return url
    if url.database.startswith("file:"):
        return url.update_query_dict({"mode": "ro", "uri": "true"})
    if not os.path.isfile(url.database):
        raise DataError(f"{url.database}: no such SQLite file; check `url`")
    return url


def _fetch(engine: Engine, query: str) -> tuple[list[str], Any]:
    import sqlalchemy

    guards = {"sqlite": "PRAGMA query_only = ON", "postgresql": "SET TRANSACTION READ ONLY"}
    try:
        with engine.connect() as connection:  # never committed: closing rolls back
            if guard := guards.get(connection.dialect.name):
                connection.exec_driver_sql(guard)
            result = connection.execute(sqlalchemy.text(query))
            return list(result.keys()), result.fetchall()
    finally:
        engine.dispose()


def _explained(error: Exception, query: str) -> str:
    """Return the kind of error and the absent name; messages of databases may quote values."""
    match = _NOT_THERE.search(str(getattr(error, "orig", "")))
    name = (match["lite"] or match["post"]) if match else ""
    absent = f" (there is no {name})" if name and name in query else ""
    what = _SQL_WORDS.get(type(error).__name__, "the database refuses the query")
    return f"{what}{absent}; check the URL, the rights and the query"


def _from_rows(names: list[str], rows: Any, origin: str) -> pa.Table:
    columns, problems = [], Problems()
    cells = zip(*rows, strict=True) if rows else [()] * len(names)
    for name, values in zip(names, cells, strict=True):
        try:
            columns.append(pa.array(values))
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            problems.append(f"{origin}: column {name!r} mixes types; cast it in the query")
    problems.settle(DataError)
    return pa.Table.from_arrays(columns, names=names)


A_SECOND: Final = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
"""Ticks of Arrow's units of time."""
HALVES: Final = "half characters (lone surrogates), which no file can hold"
MIN_ROWS = 2
_CELL = 4  # bytes of a code


@dataclass(frozen=True, eq=False)
class RawTable:
    """A source after reading, before kinds are inferred."""

    arrow: pa.Table
    """Columns: text for CSV files, otherwise with the types of the source."""
    layout: Layout
    """Layout of the source."""
    origin: str
    """Name of the source, for messages."""
    file_options: FileOptions = field(default_factory=FileOptions)
    """Detected options of the file."""

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return self.layout.names

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.arrow.num_rows)

    def __len__(self) -> int:
        return self.n_rows

    @cached_property
    def texts(self) -> tuple[Texts, ...]:
        """Distinct texts of every column, computed once."""
        return tuple(self._texts(i) for i in range(self.arrow.num_columns))

    def _texts(self, i: int) -> Texts:
        column, csv = self.arrow.column(i), self.layout.csv
        about: dict[str, Any] = {}
        if self.layout.labelled:
            about["labelling"] = self.layout.labelled[i]
        elif csv is None:
            about["source"] = _value_type(column.type)
        texts = distinct_texts(self.names[i], column, **about)
        if not texts.is_text or texts.ordered is not None:
            return texts
        return replace(texts, format=find_format(texts.values, csv.delimiter if csv else ""))

    def select(self, names: tuple[str, ...] | list[str]) -> RawTable:
        """Return the named columns in the given order."""
        arrow = self.arrow.select([self.names.index(name) for name in names])
        return RawTable(arrow, self.layout.select(tuple(names)), self.origin)


@dataclass(frozen=True, kw_only=True)
class WholeSource:
    """Size of a source of which only a sample was read."""

    n_rows: int
    n_units: int
    """Number of units: rows, persons or households."""
    numbered: tuple[str, ...] = ()
    """Columns that number all rows."""

    def check(self) -> None:
        """Raise DataError if the source has changed."""

    def sentence(self, raw: RawTable) -> str:
        """Return the note on a sample."""
        return f"based on a random sample of {raw.n_rows:,} of {self.n_rows:,} rows"


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def read_path(
    path: str | Path,
    *,
    min_rows: int = MIN_ROWS,
    max_unpacked: int | None = None,
    **given: Unpack[FileOptions],
) -> RawTable:
    """Return a file as read: CSV, JSON lines (also compressed), Parquet, Feather, or other formats.

    A file that unpacks to more than ``max_unpacked`` bytes (`unpacked_limit` by default) is
    refused.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if foreign := [*foreign_keys(path, given.get("of_format") or {})]:
        raise DataError(f"{path}: {problem}" for problem in foreign)
    try:
        if not path.exists():
            raise DataError(f"{path}: no such file; check its name and directory")
        if path.is_dir() or ending in (".parquet", ".pq"):
            return _read_parquet(path, path.name, min_rows, max_unpacked)
        if ending in ARROW_SUFFIXES:
            return typed(read_arrow(path, max_unpacked), "parquet", path.name, min_rows=min_rows)
        if (form := format_of(path)) is None:
            return _read_text(path, given, min_rows, max_unpacked)
        table, layout, options = _read_format(form, path, given, max_unpacked)
    except UNREADABLE as error:
        reason = getattr(error, "strerror", None) or "the file is damaged or cut short"
        raise DataError(f"{path}: cannot be read: {reason}; name another file") from None
    return _checked(RawTable(table, layout, path.name, options), min_rows)


def _read_format(form: FileFormat, path: Path, given: FileOptions, most: int | None) -> Read:
    """Return what the reader of a format returns; unexpected errors are shown without values."""
    try:
        table, layout, options = form.read(path, given, most)
        why = "" if tuple(table.column_names) == layout.names else "its columns have other names"
    except (SynthesizerError, MemoryError, *UNREADABLE):
        raise
    except Exception as error:
        why = type(error).__name__
    if why:
        raise DataError(f"{path}: cannot be read ({why}); correct it, or name another file")
    return table, layout, options


def _read_text(path: Path, given: FileOptions, min_rows: int, most: int | None) -> RawTable:
    ending, content = text_of(path, most)
    if ending in JSON_SUFFIXES:
        return typed(parse_json(content, path.name), "json", path.name, min_rows=min_rows)
    if ending not in CSV_SUFFIXES:
        texts = ", ".join((*CSV_SUFFIXES, *JSON_SUFFIXES))
        more = (ending for form in formats() for ending in form.endings)
        others = ", ".join((".parquet", *ARROW_SUFFIXES, *more))
        raise DataError(
            f"{path}: type {ending!r} is unknown; use {texts} (also {', '.join(PACKED)}), "
            f"{others}, a directory of .parquet, or a format of an installed extension"
        )
    delimiter = given.get("delimiter") or CSV_SUFFIXES[ending]
    arrow, csv, options = parse_csv(content, path.name, {**given, "delimiter": delimiter})
    layout = Layout(
        form="csv",
        names=tuple(arrow.column_names),
        compressed=path.suffix.lower() in PACKED,
        csv=csv,
    )
    return _checked(RawTable(arrow, layout, path.name, options), min_rows)


def csv_bytes(path: Path) -> pa.Buffer | None:
    """Return the text of a CSV file; None for other or unreadable files."""
    try:
        if not path.is_file() or not path.stat().st_size or path.suffix.lower() not in TEXTS:
            return None
        ending, content = text_of(path, None)
    except UNREADABLE:
        return None  # `read_path` reports the reason
    return content if ending in CSV_SUFFIXES else None


def parquet_files(path: Path) -> list[Path]:
    """Return the files of a Parquet source in order; empty for other sources.

    As in Arrow and Spark, names that begin with a dot or an underscore are skipped.
    """
    if not os.path.isdir(path):  # also where the system refuses the name
        is_parquet = path.suffix.lower() in (".parquet", ".pq") and os.path.isfile(path)
        return [path] if is_parquet else []
    candidates = (file for file in path.glob("**/*.parquet") if file.is_file())
    return sorted(
        file
        for file in candidates
        if not any(part.startswith((".", "_")) for part in file.relative_to(path).parts)
    )


def _read_parquet(path: Path, origin: str, min_rows: int, most: int | None) -> RawTable:
    files = parquet_files(path) if path.is_dir() else [path]
    if not files:
        raise DataError(f"{path}: no Parquet file in this directory; the files end in .parquet")
    try:
        limit = unpacked_limit() if most is None else most
        if _unpacked_size(files, limit) > limit:
            size = sum(file.stat().st_size for file in files)
            raise DataError(too_large(path, size, limit))
        arrow = with_common_types(pq.read_table(path))
    except UnicodeDecodeError:
        raise DataError(f"{path}: a column name is not UTF-8; rename the columns") from None
    except (pa.ArrowInvalid, pa.ArrowIndexError):
        raise DataError(f"{path}: {damaged_parquet(path)}") from None
    return typed(arrow, "parquet", origin, min_rows=min_rows)


def _unpacked_size(files: Sequence[Path], limit: int) -> int:
    """Return the bytes of the columns of Parquet files in memory, with texts in full.

    Texts are measured by their dictionaries, which store a repeated value once. The metadata of
    single columns are not used: if they are damaged, pyarrow ends the process.
    """
    total = 0
    for file in files:
        about = pq.read_metadata(file)
        total += about.num_rows * about.num_columns * _CELL
        columns = map(about.schema.column, range(about.num_columns))
        texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
        if texts and total <= limit:
            read = pq.ParquetFile(file, read_dictionary=texts).read(columns=texts)
            total += sum(map(_text_size, read.columns))
    return total


def _text_size(column: pa.ChunkedArray) -> int:
    """Return the bytes of the texts of a dictionary column."""
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = (
        pc.binary_length(chunk.dictionary).take(chunk.indices)  # null stays null, which is no text
        for chunk in column.chunks
    )
    return sum(pc.sum(pc.cast(length, pa.int64())).as_py() or 0 for length in lengths)


def damaged_parquet(path: Path) -> str:
    """Return the problem of a Parquet file, or directory, that cannot be read."""
    if not path.is_dir():
        return "is damaged, or not a Parquet file; restore a copy or name another file"
    files = [file for file in path.rglob("*") if file.is_file() and file.name[0] not in "._"]
    others = sum(file.suffix.lower() != ".parquet" for file in files)
    if others:
        return f"{others} of {len(files)} files here are not Parquet files; name one file"
    return "one of the Parquet files is damaged, or their columns differ; name one file"


def typed(
    arrow: pa.Table,
    form: Any,
    origin: str,
    frame: tuple[FrameLayout, ...] = (),
    min_rows: int = MIN_ROWS,
) -> RawTable:
    """Return a typed table as a source."""
    layout = Layout(form=form, names=tuple(arrow.column_names), types=arrow.schema, frame=frame)
    return _checked(RawTable(_by_clocks(arrow), layout, origin), min_rows)


def _by_clocks(arrow: pa.Table) -> pa.Table:
    """Return times with a zone as local times of the zone: midnight stays midnight.

    Times of day become texts such as 10:30:00, durations seconds.
    """
    for position, column in enumerate(arrow.columns):
        kind, name = column.type, arrow.schema.names[position]
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            arrow = arrow.set_column(position, name, pc.local_timestamp(column))
        elif pa.types.is_time(kind):
            texts = pc.replace_substring_regex(pc.cast(column, pa.string()), r"\.0+$", "")
            arrow = arrow.set_column(position, name, texts)
        elif pa.types.is_duration(kind):
            ticks = pc.cast(column, pa.int64()).cast(pa.float64(), safe=False)
            arrow = arrow.set_column(position, name, pc.divide(ticks, A_SECOND[kind.unit]))
    return arrow


def _checked(raw: RawTable, min_rows: int) -> RawTable:
    """Return a source; refuse problems that no declared kind can solve."""
    names = raw.arrow.column_names
    problems = Problems(name_problems(names, raw.origin))
    if not names:
        problems.append(f"{raw.origin}: has no columns; name another file")
    elif raw.n_rows < min_rows:
        problems.append(
            f"{raw.origin}: {plural(raw.n_rows, 'data row')}; at least {min_rows} are needed"
        )
    for name, column in zip(names, raw.arrow.columns, strict=True):
        if not _is_text(column):
            problems.append(
                f"{raw.origin}: column {name!r} contains bytes that are not UTF-8; write its texts "
                "as UTF-8"
            )
        kind = _value_type(column.type)
        if not str(kind).startswith(_SUPPORTED):
            what = next((words for test, words in _REFUSED if test(kind)), f"values of type {kind}")
            problems.append(
                f"{raw.origin}: column {name!r} contains {what}, which cannot be synthesised; "
                "store it as text, numbers or dates, or remove it"
            )
    problems.settle(DataError)
    return raw


def _is_text(column: pa.ChunkedArray) -> bool:
    """Whether the texts of a column are UTF-8, which Parquet does not enforce."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def from_arrow(frame: Any, origin: str = "the frame") -> RawTable:
    """Return a source from any object that streams Arrow (PyCapsule): polars, Arrow, DuckDB.

    Nothing is refused yet: a measure checks only its columns, `from_frame` checks all.
    """
    kind, home = type(frame).__name__, type(frame).__module__.partition(".")[0].lstrip("_")
    try:
        arrow = pa.table(frame)
    except Exception as error:  # of any library; its text may quote a value
        raise DataError(
            f"{origin}: Arrow cannot read {home}.{kind} as a table ({type(error).__name__}); use "
            "a frame of texts, dates and numbers of at most 64 bits"
        ) from None
    arrow = with_common_types(arrow)
    form: Form = "polars" if home == "polars" else "arrow"
    layout = Layout(form=form, names=tuple(arrow.column_names), types=arrow.schema)
    return RawTable(_by_clocks(arrow), layout, origin)


def from_frame(frame: pd.DataFrame | RawTable, *, min_rows: int = MIN_ROWS) -> RawTable:
    """Return a pandas frame, or a result of `from_arrow`, as a source with ``min_rows`` or more."""
    if isinstance(frame, RawTable):
        return _checked(frame, min_rows)
    return from_pandas(frame, min_rows=min_rows)


def from_pandas(frame: pd.DataFrame, *, min_rows: int = MIN_ROWS) -> RawTable:
    """Return a source from a pandas frame with at least ``min_rows`` rows, without its index.

    Warns
    -----
    UserWarning
        If the index looks like data: it has a name or several levels, or other values than whole
        numbers. Unnamed whole numbers remain after a filter or a sort.
    """
    origin = "the frame"
    if not isinstance(frame, pd.DataFrame):
        raise DataError(
            f"a pandas DataFrame is needed, not {type(frame).__name__}; use pandas.DataFrame(...), "
            "or name a file in `data`"
        )
    if frame.index.names != [None] or not pd.api.types.is_integer_dtype(frame.index.dtype):
        warnings.warn(
            f"{origin}: its index{_index_names(frame.index)} is not a column and is left out; use "
            "frame.reset_index() if it contains data, frame.reset_index(drop=True) if not",
            stacklevel=2,
        )
    names = list(frame.columns)
    problems = Problems(name_problems(names, origin))
    problems.settle(DataError)
    columns: dict[str, pa.ChunkedArray] = {}
    series = [_plain(frame.iloc[:, i]) for i in range(len(names))]
    for name, values in zip(names, series, strict=True):
        try:
            array = pa.array(values, from_pandas=True)
            is_chunked = isinstance(array, pa.ChunkedArray)
            columns[name] = array if is_chunked else pa.chunked_array([array])
        except (pa.ArrowException, OverflowError, UnicodeEncodeError) as error:
            problems.append(f"{origin}: column {name!r} {_unreadable(values.dtype, error)}")
    layouts = tuple(map(_frame_layout, frame.dtypes))
    if problems and not columns:
        raise DataError(problems)
    with problems.gathered():  # with the problems of all other columns
        raw = typed(pa.table(columns), "pandas", origin, layouts, min_rows)
    problems.settle(DataError)
    return raw


def name_problems(names: Sequence[Any], origin: str) -> Iterator[str]:
    """Yield the problems of the column names of a frame."""
    if any(isinstance(name, tuple) for name in names):
        yield (
            f"{origin}: column names must be text, one level of them; use frame.columns = "
            "['_'.join(map(str, name)) for name in frame.columns]"
        )
        return
    if not all(isinstance(name, str) for name in names):
        yield f"{origin}: column names must be text; use frame.columns = frame.columns.astype(str)"
    for name in dict.fromkeys(names):
        if isinstance(name, str) and not _is_writable(name):
            yield f"{origin}: column {name!r} has {HALVES}; rename it"
    for name, count in Counter(names).items():
        if count > 1:
            yield f"{origin}: column {name!r} occurs twice; rename one"


def _index_names(index: pd.Index[Any]) -> str:
    names = [repr(name) for name in index.names if name is not None]
    return f" ({', '.join(names)})" if names else ""


def _is_writable(text: str) -> bool:
    """Whether a text can be written as UTF-8."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _plain(values: Any) -> Any:
    """Return values of pandas types that Arrow lacks in an equivalent type.

    Intervals (of ``pandas.cut``) become ordered categories, periods their first dates, durations
    seconds, and sparse columns ordinary ones.
    """
    dtype: Any = values.dtype
    if isinstance(dtype, pd.SparseDtype):
        return values.astype(dtype.subtype)
    if isinstance(dtype, pd.PeriodDtype):
        return values.dt.to_timestamp()
    if dtype.kind == "m":
        return values.dt.total_seconds()
    if isinstance(dtype, pd.IntervalDtype):
        values = values.astype(pd.CategoricalDtype(values.dropna().sort_values().unique()))
    if isinstance(getattr(values.dtype, "categories", None), pd.IntervalIndex):
        in_order = values.cat.categories.sort_values()
        values = values.cat.set_categories(in_order, ordered=True)
        return values.cat.rename_categories([str(interval) for interval in in_order])
    return values


def _unreadable(dtype: Any, error: Exception) -> str:
    if isinstance(error, OverflowError):
        return "has whole numbers beyond 64 bits; write them as text"
    if isinstance(error, UnicodeEncodeError):
        return f"has {HALVES}; write these texts anew"
    if pd.api.types.is_object_dtype(dtype):
        return "mixes types; convert it, for example with astype(str)"
    if isinstance(dtype, pd.CategoricalDtype):
        return "has categories of several types; convert it, for example with astype(str)"
    return f"has type {dtype}, which is not supported; drop it or store it as text or numbers"


def _frame_layout(dtype: Any) -> FrameLayout:
    if isinstance(dtype, pd.CategoricalDtype):
        return FrameLayout(
            dtype="category", categories=str(dtype.categories.dtype), ordered=bool(dtype.ordered)
        )
    return FrameLayout(dtype=str(dtype))
