"""The confidential file as the jobs of a server read it: what the public schema sees of each row.

What a job takes of time and memory must not reveal a person (Haeberlen, Pierce and Narayan 2011).
A text file cannot promise that: one person may have a million rows, or a cell of a gigabyte. So a
server reads the file once, before anybody asks, and keeps one number for each cell, of at most
``rows_per_person`` rows of each person. Jobs read this copy. Its rows are at most those that the
public schema declares, so the time and the memory of a job have a bound that is public, too.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from synthesizer.data.files import create, new_files
from synthesizer.data.table import Column, Table
from synthesizer.verification.public_schema import Encoded, PublicSchema
from synthesizer.verification.query import Query
from synthesizer.verification.questions import View, within

_KEY = b"sha256 of the key"


def rows_of(encoded: Encoded, schema: PublicSchema) -> int:
    """Return how many rows are left where each person keeps ``rows_per_person`` at most."""
    return int(np.minimum(np.bincount(encoded.owners), schema.rows_per_person).sum())


def write_prepared(path: Path, encoded: Encoded, schema: PublicSchema, key: bytes) -> None:
    """Write the rows that jobs may read into a file of its owner alone (mode 0600).

    Parameters
    ----------
    encoded : Encoded
        All variables of the public schema.
    key : bytes
        Secret of the version, by which the rows that a person keeps are chosen.
    """
    view = View.of(encoded.table, encoded.persons, encoded.owners, key)
    view = view.first_rows(schema.rows_per_person)
    arrays: dict[str, Any] = {"owner": view.owners, "number": view.numbers}
    for place, column in enumerate(view.table.columns):
        arrays[f"data {place}"] = column.data
        if not column.is_coded:
            arrays[f"state {place}"] = column.missing_state()
    table = pa.table({name: pa.array(array) for name, array in arrays.items()})
    table = table.replace_schema_metadata({_KEY: hashlib.sha256(key).digest()})
    with (
        new_files([path], overwrite=True, parents=True) as (work,),
        create(work) as file,
        pa.ipc.new_file(file, table.schema) as writer,
    ):
        writer.write_table(table, max_chunksize=max(1, table.num_rows))


def is_prepared(path: Path, key: bytes) -> bool:
    """Return whether a file is there and was written with this key."""
    table = _copy(path)
    return table is not None and table.schema.metadata.get(_KEY) == hashlib.sha256(key).digest()


def prepared_rows(path: Path) -> int | None:
    """Return the number of rows of a copy; None where there is none, or a damaged one."""
    table = _copy(path)
    return None if table is None else int(table.num_rows)


def _copy(path: Path) -> pa.Table | None:
    try:
        return pa.ipc.open_file(pa.memory_map(str(path))).read_all()  # mapped, not read
    except (OSError, pa.ArrowInvalid):
        return None


def prepared_view(path: Path, schema: PublicSchema, query: Query, key: bytes) -> View:
    """Return the rows that a query is about; only the columns that it names are read."""
    table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()

    def array(name: str) -> Any:
        chunks = table[name].chunks
        return chunks[0].to_numpy() if chunks else np.zeros(0, table[name].type.to_pandas_dtype())

    columns = []
    for place, variable in enumerate(schema.table_schema):
        if variable.name in query.names:
            states = None if variable.is_coded else array(f"state {place}")
            columns.append(Column(variable, array(f"data {place}"), states))
    owners = array("owner")
    persons = np.zeros(int(owners.max(initial=-1)) + 1, dtype=np.int64)
    persons[owners] = array("number")
    return within(View(Table(columns, table.num_rows), persons, owners, key), query)
