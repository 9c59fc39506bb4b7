"""How a source was laid out: what writing needs so that a synthetic file looks like the source.

A layout holds column names, types and separators, never a value of the data, and turns into plain
dicts, so that a saved model writes the same format later without the data.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import pyarrow as pa

from synthesizer.data.codec import as_text

Form = str
"""``csv``, ``json``, ``parquet``, ``pandas``, ``arrow``, ``polars``, ``sql``, or that of a format
of `data.formats`."""


@dataclass(frozen=True, kw_only=True)
class Quoting:
    """When the cells of one CSV column are quoted."""

    always: bool = False
    """Every cell is quoted (R quotes text like this); otherwise only where it is needed."""
    empty: bool = False
    """An empty cell is written ``""``."""
    bare: tuple[str, ...] = ()
    """Texts that stay unquoted in a column that is otherwise quoted, such as R's ``NA``."""


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
    """Metadata of a column of a file.

    Values are named by their texts: ``98``, ``2020-01-31``, or ``.a`` for a missing value that
    Stata or SAS distinguish by a letter.
    """

    label: str = ""
    """What the variable is."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What values mean, whether they occur or not."""
    is_text: bool = False
    """Whether the program holds texts, not numbers."""
    missing: tuple[str, ...] = ()
    """Missing codes that are declared, or that occur in the range that is."""
    missing_range: tuple[float, float] | None = None
    """SPSS: from lowest to highest number that means that a value is missing."""
    is_date: bool = False
    """Whether the numbers are dates, or dates with a time."""
    format: str = ""
    """How the program shows the values, such as F8.2 or %td."""
    measure: Literal["", "nominal", "ordinal", "scale"] = ""
    """SPSS: the level of measurement."""
    width: int = 0
    """SPSS: letters of the column on the screen."""
    size: int = 0
    """SPSS: bytes of a text."""
    written: Mapping[str, str] = field(default_factory=dict)
    """Missing codes that another program needs in other words: 98 of SPSS is .a in Stata."""


as_text(
    pa.Schema,
    lambda schema: base64.b64encode(schema.serialize().to_pybytes()).decode("ascii"),
    lambda text: pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text, validate=True))),
)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How a source was laid out."""

    form: Form
    names: tuple[str, ...]
    compressed: bool = False
    """Whether a CSV file was packed."""
    csv: CsvLayout | None = None
    types: pa.Schema | None = field(default=None)
    """For sources with types of their own."""
    frame: tuple[FrameLayout, ...] = ()
    """For pandas frames, one per column."""
    labelled: tuple[Labelling, ...] = ()
    """Of formats that describe columns, one per column; also where such files are written."""

    @property
    def labellings(self) -> dict[str, Labelling]:
        """Metadata of the columns of a file, by name."""
        return dict(zip(self.names, self.labelled, strict=True)) if self.labelled else {}

    def holds_numbers(self, name: str) -> bool:
        """Whether the source holds numbers in a column, so that no word can be among them."""
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
