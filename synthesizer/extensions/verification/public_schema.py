"""The public schema: the public facts about the confidential file that queries may use.

Columns, levels, reference levels and ranges come from the codebook of a release, so from the
synthetic data, and from the steward's edits; never from a confidential row. Its digest is part of
every query. `PublicSchema.encoded` reads a confidential file cell by cell: a text that is no level
or no number is missing, numbers are clipped into their range, and no cell raises an error. So two
files that differ in the rows of one person have the same codes except in these rows.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from synthesizer.data.csv_text import as_utf8
from synthesizer.data.dialects import COMMON_FORM, FileOptions
from synthesizer.data.errors import ConfigError, DataError, did_you_mean
from synthesizer.data.files import parse_json, read_text
from synthesizer.data.number_formats import NumberFormat
from synthesizer.data.options import UNKNOWN, sentences, unwritable
from synthesizer.data.packed import CSV_SUFFIXES, PACKED
from synthesizer.data.sources import RawTable, Texts, csv_bytes, distinct_texts, read_path
from synthesizer.data.table import Column, FloatArray, Kind, Schema, Table, Variable
from synthesizer.data.values import is_number, parse
from synthesizer.data.yaml_text import read_yaml
from synthesizer.extensions.verification.messages import WORDS
from synthesizer.measures.figure import typed
from synthesizer.measures.utility.formulas import Atom
from synthesizer.report.codebook.words import Described
from synthesizer.report.codebook.write import ReleaseCodebook
from synthesizer.report.record import manifest_in

M = TypeVar("M", bound=BaseModel)
_MAX_FAULTS = 100
"""Further faults of one text are not reported."""
STRICT = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)


def read_strictly(kind: type[M], path: Path) -> M:
    """Read a YAML or JSON file into a frozen type; ConfigError has every problem."""
    return strictly(kind, read_yaml(path), origin=str(path))


def strictly(kind: type[M], content: Mapping[str, Any], *, origin: str = "") -> M:
    """Return plain values, as in JSON, as a frozen type.

    Raises
    ------
    ConfigError
        With every unknown key and wrong value.
    """
    prefix = f"{origin}: " if origin else ""
    if halves := list(unwritable(content)):
        raise ConfigError(f"{prefix}{half}" for half in halves)
    try:
        return kind.model_validate_json(json.dumps(content))
    except ValidationError as error:
        faults = error.errors(include_url=False)[:_MAX_FAULTS]
    misspelt = {fault["loc"][:-1] for fault in faults if fault["type"] in UNKNOWN}
    reported = [f for f in faults if f["type"] != "value_error" or f["loc"] not in misspelt]
    raise ConfigError(f"{prefix}{text}" for text in sentences(kind, content, reported))


class FileForm(BaseModel):
    """Form of confidential text files; nothing of it is inferred from their rows."""

    model_config = STRICT

    delimiter: str = Field(default=",", min_length=1, max_length=1)
    encoding: str = "utf-8"
    decimal_mark: Literal[".", ","] = "."


Name = Annotated[str, Field(min_length=1)]
CODED = ("categorical", "ordered", "boolean")
MAX_WHOLE_LEVELS = 1_000
"""Limit of whole numbers that may be levels."""


class SchemaVariable(BaseModel):
    """The public facts about a variable that queries may use."""

    model_config = STRICT

    kind: Literal["categorical", "ordered", "boolean", "numeric", "date"]
    levels: tuple[str, ...] = ()
    """Levels of a categorical variable, in order; other texts count as missing."""
    reference: str | None = None
    """Reference level in a model; the first level if absent."""
    low: float | str | None = None
    """Lower numbers are moved to it; for dates YYYY-MM-DD."""
    high: float | str | None = None
    """Higher numbers are moved to it."""
    whole: bool = False
    """Whether numbers are whole; ``C(x)`` then has a level for each number of the range."""
    date_format: str | None = None
    written: Mapping[Literal["thousands", "prefix", "suffix", "negative", "clock"], str] = {}
    """Number format: ``{prefix: $, thousands: ","}``. It is not inferred from the texts: an
    additional person must not change how others are read."""
    missing: tuple[str, ...] = Field(default=(), max_length=100)
    """Missing codes; ``missing(x, 'CODE')`` tests for them."""

    @property
    def is_coded(self) -> bool:
        """Whether it has levels."""
        return self.kind in CODED

    @property
    def ends(self) -> tuple[float, float]:
        """Lower and upper end of numbers, or of days since 1970-01-01."""
        low, high = (_end(self.kind, end) for end in (self.low, self.high))
        return low, high

    @property
    def categories(self) -> tuple[str, ...]:
        """Levels with the reference first; empty if there are none."""
        levels = self.levels
        if self.whole:
            low, high = self.ends
            levels = tuple(str(n) for n in range(math.ceil(low), math.floor(high) + 1))
        first = (self.reference,) if self.reference in levels else ()
        return (*first, *(level for level in levels if level not in first))

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if problems := list(self._level_problems() if self.is_coded else self._range_problems()):
            raise ValueError("; ".join(problems))
        if self.reference is not None and self.reference not in self.categories:
            hint = did_you_mean(self.reference, self.categories, "name one of them")
            raise ValueError(f"reference {self.reference!r} is none of the levels; {hint}")
        return self

    def _level_problems(self) -> Iterator[str]:
        if not self.levels:
            yield f"a variable of kind {self.kind} needs its levels"
        if len(set(self.levels)) < len(self.levels):
            yield "a level occurs twice; remove one"
        if set(self.levels) & set(self.missing):
            yield "a level is a missing code, too; remove one of the two"
        if self.whole or not self.low is self.high is self.date_format is None:
            yield "low, high, whole and date_format belong to numbers and dates; remove them"

    def _range_problems(self) -> Iterator[str]:
        if self.levels:
            yield f"levels belong to categories, not to kind {self.kind}; remove them"
        if (self.kind == "date") == (self.date_format is None):
            yield "a date needs a date_format, such as '%Y-%m-%d', and no other kind has one"
        if self.whole and self.kind == "date":
            yield "whole belongs to numbers; remove it"
        try:
            low, high = self.ends
        except ValueError:
            form = "YYYY-MM-DD" if self.kind == "date" else "numbers"
            yield f"low and high ({form}) are needed: the ends to which values are clipped"
            return
        if low >= high:
            yield f"low ({self.low}) must be below high ({self.high})"
        elif self.whole and high - low >= MAX_WHOLE_LEVELS:
            yield f"whole is for ranges of up to {MAX_WHOLE_LEVELS:,} numbers; remove it"


def _end(kind: str, end: float | str | None) -> float:
    if kind == "date" and isinstance(end, str):
        return float(np.datetime64(end, "D").astype(np.int64))
    if kind == "date" or not isinstance(end, float):
        raise ValueError("no number")
    return end


@dataclass(frozen=True, eq=False)
class Encoded:
    """A confidential file, encoded by the public schema."""

    table: Table
    persons: tuple[str, ...]
    """Identifiers of the persons, each once; row numbers from 0 if rows are persons."""
    owners: npt.NDArray[np.int64]
    """Index into ``persons`` of each row, shape (n,)."""


class PublicSchema(BaseModel):
    """The public facts about the confidential file.

    Examples
    --------
    >>> age = SchemaVariable(kind="numeric", low=15.0, high=90.0)
    >>> sex = SchemaVariable(kind="categorical", levels=("F", "M"), reference="M")
    >>> schema = PublicSchema(variables={"age": age, "sex": sex})
    >>> schema.levels(Atom("name", "sex")), len(schema.digest)
    (('M', 'F'), 64)
    """

    model_config = STRICT

    format: Literal[1] = 1
    person: str | None = None
    """Column that identifies the person of a row; if absent each row is a person."""
    period: str | None = None
    """Variable of time, for trends."""
    rows_per_person: int = Field(default=1, ge=1, le=10_000)
    """Limit of the rows of a person; further rows are left out."""
    rows: int | None = Field(default=None, ge=1)
    """Limit of the rows of the confidential file, which bounds the jobs of a server. If absent,
    twice the rows of the synthetic file."""
    file: FileForm = FileForm()
    variables: Mapping[Name, SchemaVariable] = Field(min_length=1)

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.person in self.variables:
            raise ValueError(f"person {self.person!r} is an identifier; remove it from variables")
        if self.period is not None and self.period not in self.variables:
            hint = did_you_mean(self.period, self.variables, "name one of the variables")
            raise ValueError(f"period {self.period!r} is no variable; {hint}")
        return self

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the content; the spelling of the file does not matter."""
        return digest_of(self.model_dump(mode="json"))

    @property
    def reading(self) -> str:
        """SHA-256 of all settings for reading a file, cell by cell."""
        others: Any = {"variables": {name: {"reference"} for name in self.variables}}
        others |= {"period": True, "rows": True}
        return digest_of(self.model_dump(mode="json", exclude=others))

    @cached_property
    def table_schema(self) -> Schema:
        """The schema of a table, for checks of expressions without data."""
        return Schema(tuple(_variable(name, v) for name, v in self.variables.items()))

    def levels(self, atom: Atom) -> tuple[str, ...]:
        """Return the levels of an atom of a formula, the reference first; empty for numbers."""
        if atom.kind == "I":
            return ()
        variable = self.variables[atom.text]
        return variable.categories if variable.is_coded or atom.kind == "C" else ()

    def read(self, path: Path) -> RawTable:
        """Return the texts of a confidential or a synthetic file, in the form of the schema.

        Each row of a text file must be one line, so that no quote or line end in a cell of one
        person changes which rows other persons have.

        Raises
        ------
        DataError
            If the file cannot be read, or a row is not one line.
        """
        form = FileOptions(delimiter=_delimiter(path, self.file), encoding=self.file.encoding)
        raw = read_path(path, min_rows=0, **(COMMON_FORM | form))
        if raw.layout.csv and (text := csv_bytes(path)):
            text, *_ = as_utf8(text, path.name, self.file.encoding)
            _check_lines(text.to_pybytes(), path.name, raw.layout.csv.line_end, raw.n_rows)
        return raw

    def column_problems(self, path: Path, names: Collection[str]) -> Iterator[str]:
        """Yield a problem for each missing column, including the person's; reads no row."""
        there = head_of(path, self.file)
        for name in [*([self.person] if self.person else []), *sorted(names)]:
            if name not in there:
                hint = did_you_mean(name, there, "the public schema belongs to another file")
                yield f"{path.name}: there is no column {name!r}; {hint}"

    def encoded(self, raw: RawTable, names: Collection[str] | None = None) -> Encoded:
        """Return the named variables of a file, cell by cell; values of absent columns are missing.

        No row raises an error or changes another row.
        """
        wanted = [name for name in self.variables if names is None or name in names]
        used = [name for name in (*wanted, self.person) if name in raw.names]
        texts = {name: distinct_texts(name, raw.select([name]).arrow.column(0)) for name in used}
        nothing = Texts("", pa.array([""]), np.zeros(raw.n_rows, np.int32), np.array([raw.n_rows]))
        mark = self.file.decimal_mark if raw.layout.csv else "."
        columns = [
            _column(name, self.variables[name], texts.get(name, nothing), mark) for name in wanted
        ]
        persons, owners = tuple(map(str, range(raw.n_rows))), np.arange(raw.n_rows)
        if self.person in texts:
            named = _all_texts(texts[self.person])  # a blank text and a null are the same person
            indices = {text: index for index, text in enumerate(dict.fromkeys(named))}
            persons = tuple(indices)
            owners = np.array([indices[text] for text in named], np.int64)[texts[self.person].codes]
        return Encoded(Table(columns, raw.n_rows), persons, owners)


def digest_of(content: Any) -> str:
    """Return the SHA-256 of plain values in canonical JSON.

    Examples
    --------
    >>> digest_of({"a": 1, "b": 2.0}) == digest_of({"b": 2.0, "a": 1})
    True
    """
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def head_of(path: Path, form: FileForm) -> list[str]:
    """Return the column names of a file; rows are not read."""
    try:
        if path.is_dir() or path.suffix.lower() in (".parquet", ".pq"):
            files = sorted(path.glob("**/*.parquet")) if path.is_dir() else [path]
            return list(pq.read_schema(files[0]).names)
        unpack = PACKED.get(path.suffix.lower())
        with path.open("rb") if unpack is None else unpack(path) as file:
            line = file.readline(1 << 20).decode(form.encoding).removeprefix("\ufeff")
        return next(csv.reader([line], delimiter=_delimiter(path, form)), [])
    except (OSError, EOFError, IndexError, LookupError, ValueError, csv.Error, pa.ArrowInvalid):
        raise DataError(WORDS["refused"]["no_names"].format(path)) from None


def _delimiter(path: Path, form: FileForm) -> str:
    ending = Path(path.stem).suffix if path.suffix.lower() == ".gz" else path.suffix
    return CSV_SUFFIXES.get(ending.lower()) or form.delimiter


def _variable(name: str, public: SchemaVariable) -> Variable:
    """Return a variable; its last missing code, "", stands for unreadable values."""
    codes = (*(code for code in public.missing if code), "")
    return Variable(name=name, kind=Kind(public.kind), levels=public.levels, missing=codes)


def _column(name: str, public: SchemaVariable, texts: Texts, mark: str) -> Column:
    """Return codes or numbers of a variable; each text is read by itself."""
    variable, values = _variable(name, public), _all_texts(texts)
    if variable.is_coded:
        codes = {label: code for code, label in enumerate(variable.labels)}
        whole = {f"{label}.0": code for label, code in codes.items() if label.isdigit()}
        codes = whole | codes  # programs write 1 as 1.0 if a column has a blank
        unread = variable.n_codes - 1
        by_text = np.array([codes.get(value, unread) for value in values] or [unread], np.int32)
        return Column(variable, by_text[texts.codes])
    form = NumberFormat.of_storage(dict(public.written) | {"mark": mark})
    numbers = _days(values, public) if public.kind == "date" else _numbers(texts, form)
    states = {code: state for state, code in enumerate(variable.missing, 1)}
    unread = len(variable.missing)
    read = np.where(np.isfinite(numbers), 0, unread).tolist()
    values_or_state = [states.get(value, known) for value, known in zip(values, read, strict=True)]
    state = np.array(values_or_state or [unread], np.int8)
    low, high = public.ends
    clipped = np.clip(np.rint(numbers) if public.whole else numbers, low, high)
    data = np.where(state[: len(clipped)] == 0, clipped, np.nan)
    return Column(variable, data[texts.codes], state[texts.codes])


def _all_texts(texts: Texts) -> list[str]:
    """Return the distinct texts, with "" for nulls."""
    texts_or_nulls = texts.values.to_pylist()
    return [
        text or ""
        for text in (texts_or_nulls if texts.null is None else [*texts_or_nulls[:-1], ""])
    ]


def _numbers(texts: Texts, form: NumberFormat) -> FloatArray:
    """Return the numbers in texts of a form; NaN for others, inf beyond float64."""
    numbers, spelt = np.full(len(texts.values), np.nan), is_number(texts.values, form)
    numbers[spelt] = parse(texts.values.filter(pa.array(spelt)), form)
    return numbers


def _check_lines(text: bytes, name: str, line_end: str, n_rows: int) -> None:
    """Raise DataError unless names and rows are one line each, and all lines end alike."""
    end = line_end.encode()
    n_ends = text.count(end)
    is_mixed = text.count(b"\r") + text.count(b"\n") != n_ends * len(end)
    if is_mixed or n_ends - text.endswith(end) != n_rows:
        lines = enumerate(text.removesuffix(end).split(end), 1)
        odd = (k for k, line in lines if line.count(b'"') % 2 or len(line.splitlines()) != 1)
        raise DataError(WORDS["refused"]["no_line"].format(name, next(odd, 1)))


def _days(values: Sequence[str], public: SchemaVariable) -> FloatArray:
    """Return days since 1970-01-01 of dates in the form of the schema, NaN for others."""
    days = np.full(len(values), np.nan)
    for row, value in enumerate(values):
        with suppress(ValueError):  # of years 1 to 9999; time zones are ignored
            when = datetime.strptime(value, public.date_format or "").replace(tzinfo=None)
            days[row] = (when - datetime(1970, 1, 1)) / timedelta(days=1)
    return days


_HEAD = """\
# Public schema: the public facts about the confidential file, and its form.
# Made from the codebook of a synthetic release: levels and ranges are those of the synthetic data.
# Check it: a level that is not listed counts as missing, a number outside low..high is moved to the
# limit. Never write here facts that only the confidential rows contain. An edit changes the digest,
# which is part of every query.
"""


def yaml_of(schema: PublicSchema) -> str:
    """Return the schema as YAML for the steward to edit, without defaults."""
    content = schema.model_dump(mode="json", exclude_defaults=True)
    return _HEAD + yaml.safe_dump(
        {"format": schema.format, **content},
        sort_keys=False,
        allow_unicode=True,
        width=100,
        default_flow_style=None,
    )


def schema_of_release(
    source: Path, *, person: str | None = None, period: str | None = None
) -> PublicSchema:
    """Return the public schema of a release: of the directory of a run, or of a ``codebook.json``.

    Parameters
    ----------
    source : Path
        Directory of a run, whose manifest names persons and periods, or a codebook.
    person : str, optional
        Column that identifies the person of a row; that of the codebook if absent.
    period : str, optional
        Variable of time.
    """
    panel = None
    if os.path.isdir(source):
        manifest = manifest_in(source)
        panel = manifest.panel if manifest else None
        source = source / "codebook.json"
    codebook = _codebook(source)
    ids = [entry.name for entry in codebook.variables if entry.kind is Kind.ID]
    person = person or (panel.person if panel else None) or (ids[0] if len(ids) == 1 else None)
    period = period or (panel.time if panel else None)
    usable = [
        entry
        for entry in codebook.variables
        if entry.name != person and entry.kind is not Kind.ID and _is_usable(entry)
    ]
    try:
        variables = {entry.name: _public(entry) for entry in usable}
    except ValueError:  # levels and ranges that this version does not write
        raise _no_codebook(source) from None
    known = variables.get(period or "")
    form = codebook.datasets.format
    content: dict[str, Any] = {
        "person": person,
        "period": period if known else None,
        "rows_per_person": max(len(known.categories), 1) if known and person else 1,
        "file": {
            "delimiter": form.delimiter or ",",
            "encoding": form.encoding or "utf-8",
            "decimal_mark": form.decimal_mark,
        },
        "variables": {
            name: variable.model_dump(mode="json") for name, variable in variables.items()
        },
    }
    released = source.parent / codebook.datasets.files[0]
    if released.exists():
        content |= _with_release(strictly(PublicSchema, content), released)
    return strictly(PublicSchema, content, origin=source.name)


def _with_release(schema: PublicSchema, released: Path) -> dict[str, Any]:
    """Return the schema with facts from the synthetic file: limits of rows, number formats and
    reference levels (the first level with a quarter of the records, else the most frequent).
    """
    raw = schema.read(released)
    encoded = schema.encoded(raw)
    most = int(np.bincount(encoded.owners, minlength=1).max())
    written = get_args(get_args(SchemaVariable.model_fields["written"].annotation)[0])
    variables = {name: one.model_dump(mode="json") for name, one in schema.variables.items()}
    for name, known in variables.items():
        if known["kind"] == "numeric" and name in raw.names:
            storage = raw.select([name]).texts[0].format.storage
            known["written"] = {key: storage[key] for key in written if key in storage}
        if schema.variables[name].is_coded:
            column = encoded.table[name]
            counts = np.bincount(column.data[column.is_observed], minlength=1)
            frequent = counts >= min(counts.max(), len(column.data) / 4)
            known["reference"] = known["levels"][int(frequent.argmax())]
    return {
        "rows_per_person": max(schema.rows_per_person, most) if schema.person else 1,
        "rows": 2 * raw.n_rows,
        "variables": variables,
    }


def _codebook(path: Path) -> ReleaseCodebook:
    try:
        return typed(ReleaseCodebook, parse_json(read_text(path)))
    except (OSError, ValueError, RecursionError):
        raise _no_codebook(path) from None


def _no_codebook(path: Path) -> DataError:
    return DataError(WORDS["refused"]["no_codebook"].format(path))


def _is_usable(entry: Described) -> bool:
    """Whether questions are possible: it has levels, or more than one number."""
    if entry.kind.is_coded:
        return bool(entry.levels)
    return entry.range is not None and entry.range.low != entry.range.high


def _public(entry: Described) -> SchemaVariable:
    known: dict[str, Any] = {
        "kind": entry.kind.value,
        "missing": tuple(code.code for code in entry.missing),
    }
    if entry.kind.is_coded or entry.range is None:
        return SchemaVariable(levels=tuple(level.level for level in entry.levels), **known)
    low, high = entry.range.low, entry.range.high
    if entry.kind is Kind.DATE:
        return SchemaVariable(low=str(low), high=str(high), date_format=entry.date_format, **known)
    low, high = float(low), float(high)
    whole = entry.decimals == 0 and high - low < MAX_WHOLE_LEVELS
    return SchemaVariable(low=low, high=high, whole=whole, **known)
