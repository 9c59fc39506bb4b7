"""Read files of SPSS, Stata and SAS: values as texts, with labels and missing codes.

pyreadstat reads them. A number is a text as in a CSV file, a date is an ISO date, and a missing
value with a letter of Stata or SAS is ``.a``. So every missing code stays a separate code, which
would be lost in a column of floats.
"""

from __future__ import annotations

import codecs
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from synthesizer.data.csv_text import unknown_encoding
from synthesizer.data.dialects import FileOptions
from synthesizer.data.errors import DataError
from synthesizer.data.formats import Read
from synthesizer.data.layout import Form, Labelling, Layout
from synthesizer.data.table import FloatArray
from synthesizer.data.values import format_numbers
from synthesizer.data.workers import too_large, unpacked_limit

LABELLED: Final[Mapping[str, Form]] = {
    ".sav": "sav",
    ".zsav": "zsav",
    ".dta": "dta",
    ".sas7bdat": "sas",
    ".xpt": "sas",
}
"""File name extensions."""
INSTALL: Final = "pip install 'microdata-synthesizer[labelled]'"
_READERS: Final = {"sav": "read_sav", "zsav": "read_sav", "dta": "read_dta"}
_DAY: Final = 86_400_000_000


@dataclass(frozen=True)
class Clock:
    """The time scale of a program: microseconds per unit, and origin."""

    unit: int
    origin: str

    @property
    def start(self) -> int:
        """Microseconds from 1970-01-01 to the origin."""
        return int(np.datetime64(self.origin, "us").astype(np.int64))


SPSS_CLOCK: Final = Clock(1_000_000, "1582-10-14")
_CLOCKS: Final[Mapping[Form, Mapping[tuple[str, ...], Clock]]] = {
    "dta": {
        ("%td", "%d"): Clock(_DAY, "1960-01-01"),
        ("%tc",): Clock(1_000, "1960-01-01"),
    },
    "sas": {
        ("DATETIME", "E8601DT", "DATEAMPM"): Clock(1_000_000, "1960-01-01"),
        ("DATE", "DDMMYY", "MMDDYY", "YYMMDD", "E8601DA", "WEEKDATE", "WORDDATE"): Clock(
            _DAY, "1960-01-01"
        ),
    },
    "sav": {
        ("DATE", "ADATE", "EDATE", "JDATE", "SDATE", "YMDHMS"): SPSS_CLOCK,
    },
}
"""By prefix of formats. Others count quarters, hours of a day etc. and stay numbers."""


def clock_of(form: Form, kind: str) -> Clock | None:
    """Return the time scale of a format; None if it has no dates.

    Examples
    --------
    >>> clock_of("dta", "%tdD_m_Y").unit == 86_400_000_000, clock_of("dta", "%tq"), clock_of(
    ...     "sav", "DATETIME20"
    ... ).origin
    (True, None, '1582-10-14')
    """
    clocks = _CLOCKS["sav" if form == "zsav" else form]
    kind = kind.lstrip("%-") if form != "dta" else kind.replace("%-", "%")
    matching = (clock for starts, clock in clocks.items() if kind.startswith(starts))
    return next(matching, None)


def read_labelled(path: Path, options: FileOptions, most: int | None = None) -> Read:
    """Return a file of SPSS, Stata or SAS as columns of texts, with labels and missing codes.

    A ``catalogue`` is the .sas7bcat file with the value labels of a .sas7bdat file.

    Raises
    ------
    DataError
        If pyreadstat is missing; if the file is damaged, cut short, of an unsupported version or
        encoding, or unpacks to more than the limit; if a catalogue cannot be read, or has labels
        for none of the formats.
    """
    if find_spec("pyreadstat") is None:
        raise DataError(f"{path}: files of SPSS, Stata and SAS need pyreadstat: {INSTALL}")
    form, encoding = LABELLED[path.suffix.lower()], options.get("encoding")
    catalogue = (options.get("of_format") or {}).get("catalogue")
    if path.stat().st_size == 0:
        raise DataError(f"{path}: the file is empty; write it again")
    limit = unpacked_limit(path.stat().st_size) if most is None else most
    _refuse_crashing(path, _reader(path, form), limit, _options(path, form, encoding))
    _, about = _read(path, form, encoding, metadataonly=True)
    if (about.number_rows or 0) * sum(about.variable_storage_width.values()) > limit:
        raise DataError(too_large(path, path.stat().st_size, limit))
    if _is_cut(path, form):
        raise DataError(f"{path}: the file is cut short; copy or write it again")
    cells, about = _read(path, form, encoding)
    if catalogue is not None:
        labels = _catalogue_labels(catalogue, encoding, about.variable_to_label)
        about.variable_value_labels = labels
    columns, labelled = [], []
    for name in about.column_names:
        column = _LabelledColumn(form, about, name, cells[name])
        columns.append(column.array)
        labelled.append(column.labelling)
    names = tuple(about.column_names)
    layout = Layout(form=form, names=names, labelled=tuple(labelled))
    return pa.Table.from_arrays(columns, names=list(names)), layout, FileOptions()


_PROBE: Final = """
import json, sys, pyreadstat
reader, path, limit, options = sys.argv[1:]
read, options = getattr(pyreadstat, reader), json.loads(options)
about = None if reader == "read_sas7bcat" else read(path, metadataonly=True, **options)[1]
if not about or (about.number_rows or 0) * sum(about.variable_storage_width.values()) <= int(limit):
    read(path, **options)
"""


def _refuse_crashing(path: Path, reader: str, limit: int, options: Mapping[str, Any]) -> None:
    """Raise DataError if reading a damaged file would crash this process.

    Another process reads it first, up to a limit of size. Other problems are raised by the reader.
    """
    words = [reader, str(path), str(limit), json.dumps(options)]
    tried = subprocess.run([sys.executable, "-c", _PROBE, *words], check=False, capture_output=True)
    if tried.returncode not in (0, 1):
        raise DataError(
            f"{path}: the file is damaged, and reading it crashes the program; save it again"
        )


def _catalogue_labels(
    path: Path, encoding: str | None, formats: Mapping[str, str]
) -> dict[str, Mapping[Any, str]]:
    """Return the value labels of the variables whose formats a catalogue has.

    pyreadstat's `catalog_file` would replace values by labels, which several values may share.
    """
    import pyreadstat

    where = f"catalogue: {path}"
    if not path.is_file():
        raise DataError(f"{where}: no such file; check its name and directory")
    _refuse_crashing(path, "read_sas7bcat", 0, {"encoding": encoding})
    try:
        _, about = pyreadstat.read_sas7bcat(str(path), encoding=encoding)
    except MemoryError:
        raise
    except Exception:  # pyreadstat raises its errors and those of Python
        raise DataError(
            f"{where}: cannot be read as a catalogue of SAS (.sas7bcat); name the one that PROC "
            "FORMAT wrote, its encoding (data: {encoding: ...}) where it does not state it, or "
            "take it out and name labels under `variables` (level_labels)"
        ) from None
    labels = {_format_name(name): labels for name, labels in about.value_labels.items()}
    names = {name: _format_name(kind) for name, kind in formats.items()}
    labels_of_formats: dict[str, Mapping[Any, str]] = {
        name: labels[kind] for name, kind in names.items() if kind in labels
    }
    if not labels_of_formats:
        raise DataError(
            f"{where}: has labels of none of the formats that the variables have; name their "
            "catalogue, or take it out"
        )
    return labels_of_formats


def _format_name(kind: str) -> str:
    """Return a format's name without width and decimals; no name of SAS ends in a digit.

    >>> _format_name("sexf8."), _format_name("$TOWN"), _format_name("Y2K_F12.2")
    ('SEXF', '$TOWN', 'Y2K_F')
    """
    return re.sub(r"\d*\.?\d*$", "", kind.strip()).upper()


def _reader(path: Path, form: Form) -> str:
    if form == "sas":
        return "read_xport" if path.suffix.lower() == ".xpt" else "read_sas7bdat"
    return _READERS[form]


def _options(path: Path, form: Form, encoding: str | None) -> dict[str, Any]:
    # a frame of pandas would hold 0 in place of a missing value among letters
    options = {"encoding": encoding, "disable_datetime_conversion": True, "output_format": "dict"}
    return options | ({} if _reader(path, form) == "read_xport" else {"user_missing": True})


def _read(path: Path, form: Form, encoding: str | None, **options: Any) -> tuple[Any, Any]:
    import pyreadstat

    options |= _options(path, form, encoding)
    try:
        cells, about = getattr(pyreadstat, _reader(path, form))(str(path), **options)
    except MemoryError:
        raise
    except Exception as error:  # pyreadstat raises its errors and those of Python
        reason = _other_format(path, form) or _reason(str(error), form)
        if encoding is not None and not _is_known(encoding):
            reason = unknown_encoding(encoding)
        raise DataError(f"{path}: {reason}") from None
    return cells, about


def _is_known(encoding: str) -> bool:
    try:
        return bool(codecs.lookup(encoding))
    except (LookupError, ValueError):
        return False


_BEGINNINGS: Final[Mapping[str, tuple[bytes, ...]]] = {
    ".sav": (b"$FL2",),
    ".zsav": (b"$FL3",),
    ".dta": (b"<stata_dta>",),
    ".sas7bdat": (bytes(12) + b"\xc2\xea\x81\x60",),
    ".xpt": (b"HEADER RECORD*******LIB",),
    ".xlsx or .ods": (b"PK\x03\x04",),
    ".parquet": (b"PAR1",),
    ".csv.gz": (b"\x1f\x8b",),
}
"""First bytes of files by extension."""


def _other_format(path: Path, form: Form) -> str:
    """Return which other format a file seems to have; empty if its own is possible."""
    with path.open("rb") as file:
        start = file.read(512)
    ending = next((e for e, starts in _BEGINNINGS.items() if start.startswith(starts)), None)
    if ending is None and start.isascii() and b"\0" not in start and b"\n" in start:
        ending = ".csv"
    if ending is None or LABELLED.get(ending) == form:
        return ""
    return f"the file is no {path.suffix}, but looks like a {ending} file; name it so"


_REASONS: Final = {
    "expected number of rows": "the file is cut short; copy or write it again",
    "Unable to read": "the file is cut short, or of another format; copy or write it again",
    "unsupported character set": "its encoding is unknown; name it (data: {encoding: ...})",
    "convert string": "its texts are not in the encoding that it states; name theirs (data: "
    "{encoding: windows-1252}, for example)",
    "codec can't decode": "its texts are not in the encoding that it states; name theirs (data: "
    "{encoding: windows-1252}, for example)",
    "version": "this version of the format cannot be read; save it as a current one",
}
_SAVED_AS: Final = {
    "dta": "Stata's, of the versions 104 to 119 that can be read; in Stata, `saveold` writes one",
    "sas": "SAS's; write it anew, as .sas7bdat or .xpt",
}


def _reason(message: str, form: Form) -> str:
    """Return a message of pyreadstat in our words; the original may quote a value."""
    for part, words in _REASONS.items():
        if part.lower() in message.lower():
            return words
    whose = _SAVED_AS.get(form, "SPSS's; save it anew")
    return f"the file is damaged, or not {whose}"


_NEW_STATA: Final = b"<stata_dta>"
_END: Final = b"</stata_dta>"


def _is_cut(path: Path, form: Form) -> bool:
    """Whether the end of a Stata file is missing, even if all rows exist."""
    if form != "dta":
        return False
    with path.open("rb") as file:
        is_new = file.read(len(_NEW_STATA)) == _NEW_STATA
        file.seek(0, 2)
        file.seek(max(0, file.tell() - len(_END)))
        return is_new and file.read() != _END


@dataclass(frozen=True)
class _LabelledColumn:
    """One column from pyreadstat: numbers, letters of missing values, None, or texts."""

    form: Form
    about: Any
    name: str
    cells: Sequence[Any]

    @cached_property
    def is_text(self) -> bool:
        return bool(self.about.readstat_variable_types[self.name].startswith("string"))

    @cached_property
    def format(self) -> str:
        return self.about.original_variable_types.get(self.name) or ""

    @cached_property
    def distinct(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
        """Code of each row, -1 if empty, and the distinct values."""
        cells: npt.NDArray[Any]
        try:
            cells = np.array(self.cells, dtype=object if self.is_text else np.float64)
        except ValueError:  # letters among numbers
            cells = np.array(self.cells, dtype=object)
        codes, values = pd.factorize(cells)
        return codes, np.asarray(values)

    @cached_property
    def clock(self) -> Clock | None:
        """The time scale of the numbers; None if some of them cannot be dates."""
        clock = None if self.is_text else clock_of(self.form, self.format)
        numbers = np.array([value for value in self.values if not isinstance(value, str)])
        if clock is None or _is_in_calendar(numbers.astype(np.float64), clock):
            return clock
        return None

    @cached_property
    def values(self) -> list[Any]:
        """Distinct values of the cells, then other values with labels or missing codes."""
        ranges = self.about.missing_ranges.get(self.name, ())
        single = [r["lo"] for r in ranges if r["lo"] == r["hi"]]
        letters = self.about.missing_user_values.get(self.name) or ()
        return [*self.distinct[1].tolist(), *self.labels, *single, *letters]

    @cached_property
    def labels(self) -> Mapping[Any, str]:
        labels = self.about.variable_value_labels.get(self.name, {})
        return {value: label for value, label in labels.items() if value == value}

    @cached_property
    def texts(self) -> Mapping[Any, str]:
        """The text of every value."""
        if self.is_text:
            return {value: str(value) for value in self.values}
        numbers = [value for value in self.values if not isinstance(value, str)]
        texts = _texts_of(np.array(numbers, dtype=np.float64), self._is_single, self.clock)
        letters = {value: f".{value}" for value in self.values if isinstance(value, str)}
        return dict(zip(numbers, texts, strict=True)) | letters

    @property
    def _is_single(self) -> bool:
        return bool(self.about.readstat_variable_types[self.name] == "float")

    @cached_property
    def array(self) -> pa.DictionaryArray:
        """The cells by their distinct texts, null if empty."""
        codes, values = self.distinct
        texts = [self.texts[value] for value in values.tolist()]
        cells = pa.array(codes.astype(np.int32), mask=codes < 0)
        return pa.DictionaryArray.from_arrays(cells, pa.array(texts, pa.string()))

    @property
    def labelling(self) -> Labelling:
        """Labels, missing codes and format of the column."""
        about, name = self.about, self.name
        spans = [(r["lo"], r["hi"]) for r in about.missing_ranges.get(name, ())]
        wide = [span for span in spans if span[0] != span[1]]
        measure: Any = about.variable_measure.get(name) or ""
        missing = [self.texts[value] for value in self.texts if self._is_missing(value, spans)]
        return Labelling(
            label=about.column_names_to_labels.get(name) or "",
            labels={self.texts[value]: label for value, label in self.labels.items()},
            is_text=self.is_text,
            missing=tuple(dict.fromkeys(missing)),
            missing_range=wide[0] if wide else None,
            is_date=self.clock is not None,
            format=self.format,
            measure="" if measure == "unknown" else measure,
            width=int(about.variable_display_width.get(name) or 0) if self.is_spss else 0,
            size=int(about.variable_storage_width.get(name) or 0) if self.is_text else 0,
        )

    @property
    def is_spss(self) -> bool:
        """Whether SPSS wrote the file."""
        return self.form in ("sav", "zsav")

    def _is_missing(self, value: Any, spans: Iterable[tuple[Any, Any]]) -> bool:
        if isinstance(value, str) and not self.is_text:
            return True
        return any(low <= value <= high for low, high in spans)


def _is_in_calendar(numbers: FloatArray, clock: Clock) -> bool:
    """Whether all numbers are dates of the years 1 to 9999."""
    micro = numbers * clock.unit + clock.start
    ends = (np.datetime64(day, "us").astype(np.int64) for day in ("0001-01-01", "9999-12-31"))
    low, high = map(float, ends)
    return bool(((micro >= low) & (micro <= high)).all())


def _texts_of(numbers: FloatArray, is_single: bool, clock: Clock | None) -> list[str]:
    """Return numbers as texts: dates by a clock, else the shortest text of the same number."""
    if clock is None:
        if is_single:  # in single precision 0.1 is the shortest text
            numbers = np.array([float(str(x)) for x in numbers.astype(np.float32)], np.float64)
        return list(format_numbers(numbers, None, "plain").to_pylist())
    micro = np.rint(numbers * clock.unit).astype(np.int64) + clock.start
    unit = "D" if not (micro % _DAY).any() else "us" if (micro % 1_000_000).any() else "s"
    stamps = micro.astype("datetime64[us]").astype(f"datetime64[{unit}]")
    return [str(text) for text in np.datetime_as_string(stamps)]
