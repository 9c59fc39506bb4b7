"""Layout of a source, so that a synthetic file has the same format.

A layout contains column names, types and separators, never a value of the data. A saved model
contains it and writes the same format without the data.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import pyarrow as pa

from synthesizer.data.codec import as_text

Form = str
"""``csv``, ``json``, ``parquet``, ``pandas``, ``arrow``, ``polars``, ``sql``, of an extension."""


@dataclass(frozen=True, kw_only=True)
class Quoting:
    """Quoting of one CSV column."""

    always: bool = False
    """Every cell is quoted (R quotes text so); otherwise only where needed."""
    empty: bool = False
    """An empty cell is written ``""``."""
    bare: tuple[str, ...] = ()
    """Texts without quotes in a quoted column, such as R's ``NA``."""


@dataclass(frozen=True, kw_only=True)
class CsvLayout:
    """Separators, encoding and quoting of a CSV file; the defaults are those of a new file."""

    delimiter: str = ","
    line_end: str = "\n"
    encoding: str = "utf-8"
    bom: bool = False
    final_newline: bool = True
    header: tuple[Quoting, ...] = ()
    quoting: tuple[Quoting, ...] = ()
    quote: str = '"'


@dataclass(frozen=True, kw_only=True)
class FrameLayout:
    """The dtype of one column of a pandas frame, for example ``Int64`` or ``category``.

    ``categories`` is the dtype of the categories of a categorical.
    """

    dtype: str
    categories: str | None = None
    ordered: bool = False


@dataclass(frozen=True, kw_only=True)
class Labelling:
    """Labels and attributes of a column in a file.

    Values are written as texts: ``98``, ``2020-01-31``, or ``.a`` for an extended missing value of
    Stata or SAS.
    """

    label: str = ""
    """Label of the variable."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of values, also of unused ones."""
    is_text: bool = False
    """Whether the values are texts, not numbers."""
    missing: tuple[str, ...] = ()
    """Missing codes: declared, or observed in the declared range."""
    missing_range: tuple[float, float] | None = None
    """SPSS: range of numbers that are missing values."""
    is_date: bool = False
    """Whether the numbers are dates, or dates with a time."""
    format: str = ""
    """Display format, such as F8.2 or %td."""
    measure: Literal["", "nominal", "ordinal", "scale"] = ""
    """SPSS: level of measurement."""
    width: int = 0
    """SPSS: display width in characters."""
    size: int = 0
    """SPSS: bytes of a text."""
    written: Mapping[str, str] = field(default_factory=dict)
    """Missing codes in another format: 98 of SPSS is .a in Stata."""


as_text(
    pa.Schema,
    lambda schema: base64.b64encode(schema.serialize().to_pybytes()).decode("ascii"),
    lambda text: pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text, validate=True))),
)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Layout of a source."""

    form: Form
    names: tuple[str, ...]
    compressed: bool = False
    """Whether a CSV file was compressed."""
    csv: CsvLayout | None = None
    types: pa.Schema | None = field(default=None)
    """For typed sources."""
    frame: tuple[FrameLayout, ...] = ()
    """For pandas frames, one per column."""
    labelled: tuple[Labelling, ...] = ()
    """For formats with labels, one per column."""

    @property
    def labellings(self) -> dict[str, Labelling]:
        """Labels and attributes by column."""
        return dict(zip(self.names, self.labelled, strict=True)) if self.labelled else {}

    def holds_numbers(self, name: str) -> bool:
        """Whether a column has a numeric type, so that it cannot contain words."""
        if self.labelled:
            return not self.labelled[self.names.index(name)].is_text
        if self.types is None:
            return False
        kind = self.types.field(name).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))

    def select(self, names: tuple[str, ...]) -> Layout:
        """Return the layout of the named columns in the given order."""
        where = [self.names.index(name) for name in names]
        csv = self.csv
        if csv is not None and csv.quoting:
            csv = replace(
                csv,
                header=tuple(csv.header[i] for i in where),
                quoting=tuple(csv.quoting[i] for i in where),
            )
        types = self.types
        if types is not None:
            types = pa.schema([types.field(i) for i in where], metadata=types.metadata)
        frame = tuple(self.frame[i] for i in where) if self.frame else ()
        labelled = tuple(self.labelled[i] for i in where) if self.labelled else ()
        return replace(self, names=names, csv=csv, types=types, frame=frame, labelled=labelled)
