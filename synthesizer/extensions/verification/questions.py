"""Base of every question: the steps of an answer, one of which reads confidential data.

``prepare`` uses synthetic data alone: intervals, grids, coefficients. ``mechanisms`` lists the
noise and so the charge, before any confidential row is read. ``whole_numbers`` computes the numbers
from the confidential data, and ``release`` returns them with noise. ``conclude`` makes the answer
from the released and the prepared numbers. A dry run takes the same steps with the synthetic data
in place of the confidential data.

A question reads `QueryRows` of a file. The partition of a person is an HMAC-SHA256 of the person's
number under the secret key of the ledger, and depends on nothing else in the file: adding, removing
or changing a person moves no other person, and each person is in one partition. With remainders of
numbers, chunks of a shuffled file or the order of rows an attacker who adds rows could choose their
partition, or move all persons. Source: sub-sample and aggregate, Nissim, Raskhodnikova and Smith
(2007), as used by Barrientos et al. (2018).

The time and memory of a job must not reveal a person (Haeberlen, Pierce and Narayan 2011). With a
text file they could: one person may have a million rows, or a cell of a gigabyte. So a server reads
the file once, before any question, and stores one number for each cell, of at most
``rows_per_person`` rows of each person. Jobs read this copy. The public schema limits its rows, so
the time and memory of a job have a public limit, too.
"""

from __future__ import annotations

import hashlib
import hmac
from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field

from synthesizer.data.expressions import Expression
from synthesizer.data.files import create, new_file
from synthesizer.data.table import BoolArray, Column, IntArray, Table
from synthesizer.extensions.verification.answer import Answer
from synthesizer.extensions.verification.mechanisms import Mechanism, Noise, micro
from synthesizer.extensions.verification.public_schema import STRICT, Encoded, PublicSchema
from synthesizer.measures.utility.formulas import Model, model_of, parse_formula

Released = tuple[tuple[int, ...], ...]
"""Whole numbers with noise, a tuple for each mechanism."""
FAMILIES: dict[str, Literal["ols", "logit"]] = {"linear": "ols", "logit": "logit"}
"""Names of the families in formulas."""
_KEY = b"sha256 of the key"
LEAST_EPSILON, MOST_EPSILON = 0.001, 100.0
LEAST_PARTITIONS, MOST_PARTITIONS = 10, 500


@dataclass(frozen=True, eq=False)
class QueryRows:
    """The rows that a query is about.

    Examples
    --------
    >>> view = QueryRows.of(Table([], 3), ("ann", "bob"), np.array([0, 1, 0]), b"k" * 32)
    >>> partitions = view.partition(10)
    >>> bool(partitions[0] == partitions[2])
    True
    """

    table: Table
    """Encoded by the public schema."""
    persons: npt.NDArray[np.int64]
    """Numbers of the persons, from identifier and key alone, shape (persons,)."""
    owners: npt.NDArray[np.int64]
    """Index into ``persons`` of each row, shape (n,)."""
    key: bytes
    """Secret key of this version of the data."""
    is_rehearsal: bool = False
    """Whether the rows are made from public facts, for the longest job."""

    @classmethod
    def of(
        cls, table: Table, names: Sequence[str], owners: npt.NDArray[np.int64], key: bytes
    ) -> Self:
        """Return the view of rows whose persons have these names."""
        # 63 of the 256 bits: two of a million persons share a number in one of ten million files
        numbers = [_keyed(key, b"person", name.encode()) >> 193 for name in names]
        return cls(table, np.array(numbers, dtype=np.int64), owners, key)

    @cached_property
    def numbers(self) -> npt.NDArray[np.int64]:
        """Number of each row's person, shape (n,)."""
        return self.persons[self.owners]

    def partition(self, m: int) -> npt.NDArray[np.int64]:
        """Return the partition of each row's person, 0..m-1, shape (n,)."""
        return self.numbers % m

    def one_row(self) -> QueryRows:
        """Return one row of each person, chosen by the key and the content of the rows.

        The choice depends on this person's rows alone, not on their order.
        """
        return self.first_rows(1)

    def first_rows(self, k: int) -> QueryRows:
        """Return up to k rows of each person, chosen like `one_row`."""
        many = np.flatnonzero(np.bincount(self.owners, minlength=1)[self.owners] > k)
        if not len(many):
            return self
        numbers, contents = self.numbers[many].tolist(), self._contents(many)
        drawn = [
            _keyed(self.key, b"row", number.to_bytes(8, "big"), content)
            for number, content in zip(numbers, contents, strict=True)
        ]
        owners = self.owners[many]
        order = sorted(range(len(drawn)), key=lambda row: (owners[row], drawn[row]))
        starts = np.flatnonzero(np.diff(owners[order], prepend=-1))
        rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
        is_left = np.ones(len(self.owners), dtype=np.bool_)
        is_left[many[np.array(order)[rank >= k]]] = False
        return self.take(is_left)

    def take(self, rows: IntArray | BoolArray) -> QueryRows:
        """Return some rows."""
        return replace(self, table=self.table.take(rows), owners=self.owners[rows])

    def _contents(self, rows: IntArray) -> list[bytes]:
        """Return the content of some rows as bytes, without their position."""
        if not len(self.table):
            return [b""] * len(rows)
        parts = [
            np.ascontiguousarray(array[rows]).view(np.uint8).reshape(len(rows), -1)
            for column in self.table.columns
            for array in (column.data, column.missing_state())
        ]
        return [row.tobytes() for row in np.concatenate(parts, axis=1)]


def _keyed(key: bytes, *message: bytes) -> int:
    # lengths before the parts: different messages have different bytes
    joined = b"".join(len(part).to_bytes(8, "big") + part for part in message)
    return int.from_bytes(hmac.digest(key, joined, "sha256"), "big")


def view_of(path: Path, schema: PublicSchema, query: Terms, key: bytes) -> QueryRows:
    """Return the rows of a file that a query is about; no cell raises an error."""
    return within(read_view(path, schema, query.names, key), query)


def read_view(path: Path, schema: PublicSchema, names: Collection[str], key: bytes) -> QueryRows:
    """Return some variables of all rows of a file."""
    encoded = schema.encoded(schema.read(path), names)
    return QueryRows.of(encoded.table, encoded.persons, encoded.owners, key)


def within(view: QueryRows, query: Terms) -> QueryRows:
    """Return the rows of the subset of a query."""
    if query.subset is None:
        return view
    return view.take(Expression.parse(query.subset).condition(view.table))


def rows_of(encoded: Encoded, schema: PublicSchema) -> int:
    """Return the number of rows with at most ``rows_per_person`` per person."""
    return int(np.minimum(np.bincount(encoded.owners), schema.rows_per_person).sum())


def write_prepared(path: Path, encoded: Encoded, schema: PublicSchema, key: bytes) -> None:
    """Write the rows for jobs into a private file (mode 0600).

    Parameters
    ----------
    encoded : Encoded
        All variables of the public schema.
    key : bytes
        Secret key of the version; chooses the rows of each person.
    """
    view = QueryRows.of(encoded.table, encoded.persons, encoded.owners, key)
    view = view.first_rows(schema.rows_per_person)
    arrays: dict[str, Any] = {"owner": view.owners, "number": view.numbers}
    for index, column in enumerate(view.table.columns):
        arrays[f"data {index}"] = column.data
        if not column.is_coded:
            arrays[f"state {index}"] = column.missing_state()
    table = pa.table({name: pa.array(array) for name, array in arrays.items()})
    table = table.replace_schema_metadata({_KEY: hashlib.sha256(key).digest()})
    with (
        new_file(path, overwrite=True, parents=True) as work,
        create(work) as file,
        pa.ipc.new_file(file, table.schema) as writer,
    ):
        writer.write_table(table, max_chunksize=max(1, table.num_rows))


def is_prepared(path: Path, key: bytes) -> bool:
    """Return whether a file exists and was written with this key."""
    table = _copy(path)
    return table is not None and table.schema.metadata.get(_KEY) == hashlib.sha256(key).digest()


def prepared_rows(path: Path) -> int | None:
    """Return the number of rows of a copy; None if it is missing or damaged."""
    table = _copy(path)
    return None if table is None else int(table.num_rows)


def _copy(path: Path) -> pa.Table | None:
    try:
        return pa.ipc.open_file(pa.memory_map(str(path))).read_all()  # mapped, not read
    except (OSError, pa.ArrowInvalid):
        return None


def prepared_view(path: Path, schema: PublicSchema, query: Terms, key: bytes) -> QueryRows:
    """Return the rows that a query is about; only the columns that it names are read."""
    table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()

    def array(name: str) -> Any:
        chunks = table[name].chunks
        return chunks[0].to_numpy() if chunks else np.zeros(0, table[name].type.to_pandas_dtype())

    columns = []
    for index, variable in enumerate(schema.table_schema):
        if variable.name in query.names:
            states = None if variable.is_coded else array(f"state {index}")
            columns.append(Column(variable, array(f"data {index}"), states))
    owners = array("owner")
    persons = np.zeros(int(owners.max(initial=-1)) + 1, dtype=np.int64)
    persons[owners] = array("number")
    return within(QueryRows(Table(columns, table.num_rows), persons, owners, key), query)


class Question(BaseModel):
    """A question about the confidential data; ``measure`` names the kind."""

    model_config = STRICT

    measure: str

    asks_of_model: ClassVar[bool] = True
    """Whether it is about a model, so that the query needs a formula."""
    reports_errors: ClassVar[bool] = False
    """Whether partitions without a fit may be a category of the answer."""

    @property
    def names(self) -> frozenset[str]:
        """Variables besides those of the formula and of the subset."""
        return frozenset()

    def canonical(self) -> Self:
        """Return the question with canonical spelling of its texts and numbers; -0 is 0."""
        return self.model_copy(update={k: v + 0.0 for k, v in self if isinstance(v, float)})

    def problems(self, query: Terms, schema: PublicSchema) -> Iterator[str]:  # noqa: ARG002
        """Yield the problems from public facts, each with key and remedy.

        It is called only if formula and subset are valid.
        """
        yield from ()

    @abstractmethod
    def prepare(self, query: Terms, schema: PublicSchema, synthetic: QueryRows) -> Any:
        """Return the prepared numbers from the synthetic data; a DataError is free."""

    @abstractmethod
    def mechanisms(self, query: Terms, prepared: Any) -> tuple[Mechanism, ...]:
        """Return the noise of the answer; its total cost is at most that of the query."""

    @abstractmethod
    def whole_numbers(
        self, query: Terms, prepared: Any, view: QueryRows
    ) -> Sequence[Sequence[int]]:
        """Return the numbers of the confidential data, a list for each mechanism.

        The data raise no error: numbers that cannot be computed have a fixed value.
        """

    def release(self, query: Terms, prepared: Any, view: QueryRows, noise: Noise) -> Released:
        """Return the whole numbers of the confidential data with noise."""
        numbers = self.whole_numbers(query, prepared, view)
        return tuple(
            noise.draw(mechanism, values)
            for mechanism, values in zip(self.mechanisms(query, prepared), numbers, strict=True)
        )

    @abstractmethod
    def conclude(self, query: Terms, prepared: Any, released: Released) -> Answer:
        """Return the answer from the released and the prepared numbers."""


class Terms(BaseModel):
    """A question with its model, rows and cost."""

    model_config = ConfigDict(**STRICT, populate_by_name=True)

    formula: str | None = None
    """Model, in the grammar of `synthesizer.measures.utility.formulas`."""
    family: Literal["linear", "logit"] = "linear"
    subset: str | None = None
    """Condition on variables of the public schema; all rows if absent."""
    ask: Question
    """The kind of question, with its parameters."""
    epsilon: float = Field(default=1.0, ge=LEAST_EPSILON, le=MOST_EPSILON)
    """Limit of the total cost of the answer."""
    partitions: int = Field(default=50, ge=LEAST_PARTITIONS, le=MOST_PARTITIONS)
    """M, the number of disjoint groups of persons, each with a separate fit."""
    errors: Literal["out", "report"] = "out"
    """Partitions without a fit count as "no", or as a separate category."""

    @property
    def micro_epsilon(self) -> int:
        """Epsilon in millionths."""
        return micro(self.epsilon)

    @property
    def names(self) -> frozenset[str]:
        """All variables of the query."""
        in_formula = parse_formula(self.formula).names if self.formula else ()
        in_subset = Expression.parse(self.subset).names if self.subset else ()
        return frozenset((*in_formula, *in_subset)) | self.ask.names

    def model(self, schema: PublicSchema) -> Model:
        """Return columns and reference levels of its model, from the public schema alone."""
        formula = parse_formula(self.formula or "")
        levels = {atom: known for atom in formula.atoms if (known := schema.levels(atom))}
        return model_of(formula, FAMILIES[self.family], levels)
