"""The distinct texts of a column: what inference and encoding look at instead of rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from synthesizer.data.table import BoolArray

_NULL_LABELS: Final = ("", "NA", "<NA>", "null", "<null>")
MAX_POSITIONS: Final = 3


@dataclass(frozen=True, eq=False)
class Texts:
    """Distinct values of one column as text."""

    name: str
    values: pa.Array
    """Distinct texts, shape (k,)."""
    codes: npt.NDArray[np.int32]
    """Position in ``values`` of each row, shape (n,)."""
    counts: npt.NDArray[np.int64]
    """Rows of each text, shape (k,); 0 for categories of a typed source that do not occur."""
    null: str | None = None
    """The text that stands for a null of a typed source."""
    source: pa.DataType | None = None
    """Type of the values in a typed source (of the dictionary for dictionary columns)."""
    ordered: bool | None = None
    """Whether a typed source has ordered categories; None where it has no categories."""
    native: pa.Array | None = None
    """The distinct values of a typed source with their own type."""
    quoted: bool = False
    """Whether a CSV file quotes this column but not all columns."""
    mark: str = "."
    """Decimal mark to expect."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @property
    def occurs(self) -> BoolArray:
        """Which texts occur at all, shape (k,)."""
        return np.asarray(self.counts > 0)

    def among(self, texts: Iterable[str]) -> BoolArray:
        """Tell which distinct texts are in ``texts``, shape (k,)."""
        wanted = pa.array(list(texts), pa.string())
        return np.asarray(pc.is_in(self.values, wanted).to_numpy(zero_copy_only=False))

    def picked(self, mask: BoolArray) -> list[str]:
        """Return the distinct texts under a mask as Python strings."""
        return list(self.values.filter(pa.array(mask)).to_pylist())

    def where(self, mask: BoolArray) -> str:
        """Say in how many rows the masked texts are, and name the first few (1 = first)."""
        count = int(self.counts[mask].sum())
        rows = np.flatnonzero(mask[self.codes])[:MAX_POSITIONS] + 1
        named = ", ".join(str(row) for row in rows)
        if count == 1:
            return f"1 value (data row {named})"
        return f"{count} values (data rows {named}{', ...' if count > len(rows) else ''})"


def unsupported(kind: pa.DataType) -> bool:
    """Tell whether a column of this Arrow type cannot be turned into text."""
    if pa.types.is_dictionary(kind):
        return unsupported(kind.value_type)
    fine = (
        pa.types.is_boolean,
        pa.types.is_integer,
        pa.types.is_floating,
        pa.types.is_decimal,
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_date,
        pa.types.is_timestamp,
        pa.types.is_null,
    )
    return not any(test(kind) for test in fine)


def distinct_texts(name: str, column: pa.ChunkedArray, **about: object) -> Texts:
    """Encode a column by its distinct values and write these as text."""
    is_category = pa.types.is_dictionary(column.type)
    encoded = _as_dictionary(column)
    native = encoded.dictionary
    values = pc.cast(native, pa.string())
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False).astype(np.int32)
    null = None
    if encoded.null_count:
        null = next(text for text in _NULL_LABELS if pc.index(values, text).as_py() < 0)
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


def _as_dictionary(column: pa.ChunkedArray) -> pa.DictionaryArray:
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    combined = column.unify_dictionaries().combine_chunks()
    if isinstance(combined, pa.ChunkedArray):  # older Arrow keeps one chunk, or none at all
        combined = combined.chunk(0)
    return combined
