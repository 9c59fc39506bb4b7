"""From tables of codes back to columns as a source has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from synthesizer.data.dates import format_dates, instants
from synthesizer.data.layout import Layout
from synthesizer.data.numbers import format_numbers, rounded
from synthesizer.data.schema import Kind, Variable
from synthesizer.data.table import Column, FloatArray, Table

__all__ = ["decode", "default_type", "number_texts"]


def decode(table: Table, layout: Layout) -> pa.Table:
    """Turn a table of codes into an Arrow table with the types of the source.

    Parameters
    ----------
    table : Table
        Synthetic or confidential; its columns may be a part of the layout's.
    layout : Layout
        Of the source. A CSV layout gives text columns (dictionaries where variables are coded).

    Examples
    --------
    >>> import pandas as pd
    >>> from synthesizer.data.encoding import encode
    >>> from synthesizer.data.sources import from_pandas
    >>> raw = from_pandas(pd.DataFrame({"a": [1.5, None, 2.0]}))
    >>> decode(encode(raw), raw.layout).to_pydict()
    {'a': [1.5, None, 2.0]}
    """
    arrays, fields = [], []
    for column in table.columns:
        kind = layout.type_of(column.name) if column.name in layout.names else None
        if layout.types is None:
            array = _as_text(column)
        else:
            array = _as_type(column, kind or default_type(column.variable))
        arrays.append(array)
        old = None
        if layout.types is not None and kind is not None:
            old = layout.types.field(column.name)
        fields.append(
            pa.field(column.name, array.type)
            if old is None
            else old.remove_metadata().with_nullable(old.nullable or array.null_count > 0)
        )
    # What the source says beside its data (attributes, numbers of rows and of categories) is
    # about confidential data and stays out.
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def default_type(variable: Variable) -> pa.DataType:
    """Return the type of a variable in a typed file when its source had none."""
    if variable.is_coded:
        if variable.kind is Kind.BOOLEAN and {x.lower() for x in variable.levels} == {
            "false",
            "true",
        }:
            return pa.bool_()
        return pa.dictionary(pa.int32(), pa.string(), ordered=variable.kind is Kind.ORDERED)
    if variable.kind is Kind.NUMERIC:
        return pa.int64() if variable.decimals == 0 else pa.float64()
    if variable.kind is Kind.DATE:
        return pa.date32() if variable.decimals == 0 else pa.timestamp("us")
    textual = variable.storage.get("prefix") or variable.storage.get("width")
    return pa.string() if textual else pa.int64()


def number_texts(variable: Variable, data: FloatArray) -> pa.Array:
    """Write the values of a numeric, date or id variable; NaN becomes null."""
    missing = np.isnan(data)
    filled = np.where(missing, 0.0, data)
    storage = variable.storage
    if variable.kind is Kind.NUMERIC:
        style = str(storage.get("style", "fixed" if variable.decimals == 0 else "plain"))
        texts = format_numbers(filled, variable.decimals, style, str(storage.get("mark", ".")))
    elif variable.kind is Kind.DATE:
        form = str(storage.get("date_format", "%Y-%m-%d"))
        texts = format_dates(filled, form, int(storage.get("resolution", 1)))
    else:
        texts = format_numbers(filled, 0, "fixed")
        if width := int(storage.get("width", 0)):
            texts = pc.utf8_lpad(texts, width, "0")
        texts = pc.binary_join_element_wise(str(storage.get("prefix", "")), texts, "")
    return pc.if_else(pa.array(missing), None, texts) if missing.any() else texts


def _as_text(column: Column) -> pa.Array:
    variable = column.variable
    if column.is_coded:
        codes = pa.array(np.asarray(column.data, dtype=np.int32))
        return pa.DictionaryArray.from_arrays(codes, pa.array(variable.labels, pa.string()))
    texts = number_texts(variable, np.asarray(column.data, dtype=np.float64))
    if column.states is None:
        return texts
    return pc.coalesce(texts, _of_state(column, pa.array(variable.missing, pa.string())))


def _of_state(column: Column, codes: pa.Array) -> pa.Array:
    """Return the value of the missing code of each row, null where it is observed."""
    state = column.missing_state().astype(np.int32)
    return codes.take(pa.array(state - 1, mask=state == 0))


def _as_type(column: Column, kind: pa.DataType) -> pa.Array:
    if column.is_coded:
        return _coded(column, kind)
    data = np.asarray(column.data, dtype=np.float64)
    variable = column.variable
    if pa.types.is_dictionary(kind):
        return pc.cast(_as_type(column, kind.value_type).dictionary_encode(), kind)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        array = number_texts(variable, data)
    elif pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        array = _instants(variable, data, kind)
    else:
        array = _number(variable, data, kind)
    if column.states is None or not variable.missing:
        return pc.cast(array, kind)
    codes = _labels_as(variable.missing, kind, variable.storage.get("null"))
    return pc.coalesce(pc.cast(array, kind), _of_state(column, codes))


def _instants(variable: Variable, data: FloatArray, kind: pa.DataType) -> pa.Array:
    missing = np.isnan(data)
    stamps = instants(np.where(missing, 0.0, data), int(variable.storage.get("resolution", 1)))
    stamps = pc.cast(pc.cast(stamps, pa.int64()), pa.timestamp("us", tz=getattr(kind, "tz", None)))
    return pc.cast(pc.if_else(pa.array(missing), None, stamps), kind, safe=False)


def _number(variable: Variable, data: FloatArray, kind: pa.DataType) -> pa.Array:
    missing = np.isnan(data)
    if variable.decimals is not None:
        data = rounded(data, variable.decimals)
    if pa.types.is_integer(kind):
        return pa.array(np.where(missing, 0, np.rint(data)).astype(np.int64), mask=missing)
    array = pa.array(data, mask=missing)
    return pc.cast(array, kind, safe=False) if pa.types.is_floating(kind) else array


def _coded(column: Column, kind: pa.DataType) -> pa.Array:
    variable = column.variable
    null = variable.storage.get("null")
    if not pa.types.is_dictionary(kind):
        labels = _labels_as(variable.labels, kind, null)
        return labels.take(pa.array(np.asarray(column.data, dtype=np.int32)))
    # Nulls of a dictionary column are nulls of its codes, not an entry of the dictionary; nor are
    # levels that do not occur: a level of one confidential person would be told without a record.
    occurs = np.bincount(column.data, minlength=len(variable.labels)) > 0
    listed = occurs & ~np.array([_is_null(x, null) for x in variable.labels], dtype=np.bool_)
    texts = [label for label, is_listed in zip(variable.labels, listed, strict=True) if is_listed]
    dictionary = _labels_as(texts, kind.value_type, None)
    lookup: npt.NDArray[np.int32] = np.cumsum(listed, dtype=np.int32) - np.int32(1)
    codes = pa.array(lookup[column.data], mask=~listed[column.data])
    array = pa.DictionaryArray.from_arrays(codes, dictionary, ordered=kind.ordered)
    return pc.cast(array, kind) if array.type != kind else array


def _is_null(label: str, null: Any) -> bool:
    return null is not None and label == null


def _labels_as(labels: Any, kind: pa.DataType, null: Any) -> pa.Array:
    """Turn labels into values of a type; the null's label, and what is no such value, to null."""
    texts = pa.array([None if _is_null(x, null) else x for x in labels], pa.string())
    if pa.types.is_boolean(kind):
        texts = pc.ascii_lower(texts)
    try:
        return pc.cast(texts, kind)
    except pa.ArrowInvalid:
        return pa.array([_one(x, kind) for x in texts.to_pylist()], kind)


def _one(text: str | None, kind: pa.DataType) -> Any:
    try:
        return pc.cast(pa.array([text], pa.string()), kind)[0].as_py()
    except pa.ArrowInvalid:
        return None
