"""Describe the synthetic datasets of a run by reading back the released files.

Nothing is learnt here from the confidential data. What is known of a variable (its kind, its
missing codes) only says how to read it; levels and codes are named because they are in the files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from synthesizer.data.dialects import RELEASED, FileOptions
from synthesizer.data.errors import DataError
from synthesizer.data.layout import Labelling
from synthesizer.data.missing_codes import missing_codes
from synthesizer.data.sources import RawTable, Texts, parquet_files, read_path
from synthesizer.data.spreadsheets import safe_texts
from synthesizer.data.table import BoolArray, FloatArray, Kind
from synthesizer.data.values import (
    MAX_DECIMALS,
    days_of,
    detect_format,
    is_number,
    parse,
    parse_dates,
    rounded,
)
from synthesizer.measures.figure import Result
from synthesizer.report.codebook.facts import Facts, VariableFacts

IDENTIFIER = VariableFacts(kind=Kind.ID)
"""A column that takes no part in the chain."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One variable in one or more datasets."""

    kind: Kind
    levels: Mapping[str, int] = field(default_factory=dict)
    """Records with each level that occurs; none of numbers."""
    missing: Mapping[str, int] = field(default_factory=dict)
    """Records with each missing code that occurs."""
    low: float | None = None
    """Smallest number, or day since 1970-01-01; None where there is none."""
    high: float | None = None
    decimals: int | None = None
    """Of the numbers, 0 for whole ones; None where they have no fixed precision."""
    date_format: str | None = None
    labelling: Labelling | None = None
    """What a file of SPSS or Stata says of it."""

    def with_(self, second: Seen) -> Seen:
        """Return both datasets together."""
        some = [seen for seen in (self, second) if seen.low is not None]
        fixed = [seen.decimals for seen in some if seen.decimals is not None]
        return Seen(
            kind=self.kind,
            levels=Counter(self.levels) + Counter(second.levels),
            missing=Counter(self.missing) + Counter(second.missing),
            low=min((seen.low for seen in some if seen.low is not None), default=None),
            high=max((seen.high for seen in some if seen.high is not None), default=None),
            decimals=max(fixed) if fixed and len(fixed) == len(some) else None,
            date_format=self.date_format or second.date_format,
            labelling=self.labelling,
        )


class FileFormat(Result):
    """How to open a dataset; delimiter, encoding and decimal mark are those of CSV files."""

    type: str
    delimiter: str | None = None
    encoding: str | None = None
    decimal_mark: str = "."


@dataclass(frozen=True, kw_only=True)
class Released:
    """What all datasets hold: file names, rows of each, format, and the variables in order.

    ``units`` are the persons of each where a person has several rows, else its rows.
    """

    files: tuple[str, ...]
    rows: tuple[int, ...]
    units: tuple[int, ...]
    format: FileFormat
    variables: Mapping[str, Seen]


def read_released(paths: Sequence[Path], facts: Facts) -> Released:
    """Read datasets one after the other, and parts of one, so that memory does not grow with them.

    Files that do not hold what the manifest says are one DataError with every problem.
    """
    csv = facts.config.data
    variables: dict[str, Seen] = {}
    rows, units, problems, form = [], [], [], FileFormat(type="csv")
    for path in paths:
        n_rows = n_units = 0
        for piece in parquet_files(path) or [path]:
            # a CSV source that was declared to be odd has datasets of the same kind
            how = FileOptions(delimiter=csv.delimiter, encoding=csv.encoding)
            raw = read_path(piece, min_rows=1, **(RELEASED | how))
            if variables and set(raw.names) != set(variables):
                problems.append(f"{piece}: has other columns than {paths[0].name}; run again")
                continue
            seen, faults = _dataset(raw, piece, facts)
            problems += faults
            n_rows += raw.n_rows
            n_units += _persons(raw, facts.person) or raw.n_rows
            form = _format(raw) if not variables else form
            variables = {n: variables[n].with_(s) if n in variables else s for n, s in seen.items()}
        rows.append(n_rows)
        units.append(n_units)
    if problems:
        raise DataError(dict.fromkeys(problems))
    names = tuple(path.name for path in paths)
    return Released(
        files=names, rows=tuple(rows), units=tuple(units), format=form, variables=variables
    )


def _persons(raw: RawTable, person: str) -> int:
    """Return the synthetic persons of a dataset; 0 where no column tells them."""
    return next((int(t.occurs.sum()) for t in raw.texts if t.name == person), 0)


def _format(raw: RawTable) -> FileFormat:
    csv = raw.layout.csv
    if csv is None:
        return FileFormat(type=raw.layout.form)
    marks = {texts.format.mark for texts in raw.texts}
    kind = "csv.gz" if raw.layout.compressed else "csv"
    mark = "," if "," in marks else "."
    return FileFormat(type=kind, delimiter=csv.delimiter, encoding=csv.encoding, decimal_mark=mark)


def _dataset(raw: RawTable, path: Path, facts: Facts) -> tuple[dict[str, Seen], list[str]]:
    """Describe every column, and report columns that contradict the manifest."""
    absent = [step.variable for step in facts.steps if step.variable not in raw.names]
    problems = [f"{path}: column {name!r} of the manifest is missing; run again" for name in absent]
    seen = {}
    for texts in raw.texts:
        try:
            found = look(texts, facts.variables.get(texts.name, IDENTIFIER))
            seen[texts.name] = replace(found, labelling=texts.labelling)
        except ValueError as error:
            problems.append(f"{path}: column {texts.name!r} {error}; run again")
    return seen, problems


def look(texts: Texts, variable: VariableFacts) -> Seen:
    """Describe one column of one dataset; raise ValueError if it does not hold its kind."""
    codes = _codes(texts, variable)
    missing = texts.among(codes)
    if variable.kind is Kind.NUMERIC:
        return _numeric(texts, missing, codes)
    counts = _counts(texts, missing)
    observed = texts.occurs & ~missing
    if variable.kind is Kind.ID:
        return Seen(kind=variable.kind, missing=counts)
    if variable.kind.is_coded:
        return Seen(kind=variable.kind, levels=_counts(texts, observed), missing=counts)
    if not observed.any():
        return Seen(kind=variable.kind, missing=counts)
    days, form = _days(texts, observed, variable.date_format)
    whole = bool((days == np.floor(days)).all())
    low, high = float(days.min()), float(days.max())
    decimals = 0 if whole else None
    return Seen(
        kind=variable.kind, missing=counts, low=low, high=high, decimals=decimals, date_format=form
    )


def _codes(texts: Texts, variable: VariableFacts) -> list[str]:
    """Return the missing codes to look for; an empty cell always is one."""
    codes = variable.codes
    if codes is None:
        codes = missing_codes(texts, variable.kind)
    in_file = () if texts.labelling is None else texts.labelling.missing
    nulls = [] if texts.null is None else [texts.null]
    return [*codes, *safe_texts(codes), *in_file, "", *nulls]


def _numeric(texts: Texts, missing: BoolArray, codes: Sequence[str]) -> Seen:
    observed = texts.occurs & ~missing
    try:
        numbers = parse(texts.values.filter(pa.array(observed)), texts.format)
    except pa.ArrowInvalid:
        raise ValueError("is numeric by the manifest and holds other texts") from None
    written = pa.array(codes, pa.string())
    numeric = parse(written.filter(pa.array(is_number(written, texts.format))), texts.format)
    same = np.isin(numbers, numeric)  # a typed file writes the code -8.0 as -8
    if same.any():
        missing, numbers = missing.copy(), numbers[~same]
        missing[np.flatnonzero(observed)[same]] = True
    counts = _counts(texts, missing)
    if not len(numbers):
        return Seen(kind=Kind.NUMERIC, missing=counts)
    low, high = float(numbers.min()), float(numbers.max())
    if not np.isfinite([low, high]).all():
        raise ValueError("holds infinite numbers")
    return Seen(kind=Kind.NUMERIC, missing=counts, low=low, high=high, decimals=_decimals(numbers))


def _counts(texts: Texts, mask: BoolArray) -> dict[str, int]:
    """Return the records of each text that occurs; an absent value is an empty text."""
    mask = mask & texts.occurs
    counts = texts.counts[mask].tolist()
    records: Counter[str] = Counter()
    for text, count in zip(texts.picked(mask), counts, strict=True):
        records["" if text == texts.null else text] += count
    return dict(records)


def _decimals(values: FloatArray) -> int | None:
    fits = (d for d in range(MAX_DECIMALS + 1) if (rounded(values, d) == values).all())
    return next(fits, None)


def _days(texts: Texts, observed: BoolArray, form: str | None) -> tuple[FloatArray, str | None]:
    """Return days since 1970-01-01, and how they are written in a text file."""
    native = texts.native
    if native is not None and (pa.types.is_date(native.type) or pa.types.is_timestamp(native.type)):
        return days_of(native.filter(pa.array(observed))), None
    values = texts.values.filter(pa.array(observed))
    if form is None or texts.labelling is not None:
        form = next(iter(detect_format(values)), "%Y-%m-%d")
    _, days, wrong = parse_dates(values, form)
    if wrong.any():
        raise ValueError("is a date by the manifest and holds other texts")
    return days, form.removeprefix("unpadded:")
