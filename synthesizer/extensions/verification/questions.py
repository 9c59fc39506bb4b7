"""What every question has in common: the steps of an answer, one of which sees confidential data.

``prepare`` looks at synthetic data alone: intervals, grids, coefficients. ``mechanisms`` lists the
noise and so the charge, before any confidential row is read. ``whole_numbers`` computes from the
confidential data what ``release`` hands to the noise; only what the noise returns leaves it.
``conclude`` makes the answer of released numbers and what was prepared. A dry run takes the same
steps with the synthetic data in place of the confidential ones.

What a question sees of a file is a `View`. A person falls into a partition by HMAC-SHA256 of the
number that names it, under the secret key of the ledger, so by nothing else in the file: whoever
comes, goes or changes moves nobody else, and one person touches one partition. Remainders of
numbers, chunks of a shuffled file or the order of rows would let one who can add rows choose where
they fall, or move everybody when a row is added. Source: sub-sample and aggregate, Nissim,
Raskhodnikova and Smith (2007), as used by Barrientos et al. (2018).

What a job takes of time and memory must not reveal a person (Haeberlen, Pierce and Narayan 2011).
A text file cannot promise that: one person may have a million rows, or a cell of a gigabyte. So a
server reads the file once, before anybody asks, and keeps one number for each cell, of at most
``rows_per_person`` rows of each person. Jobs read this copy. Its rows are at most those that the
public schema declares, so the time and the memory of a job have a bound that is public, too.
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
"""Whole numbers that the noise returned, a tuple for each mechanism."""
FAMILIES: dict[str, Literal["ols", "logit"]] = {"linear": "ols", "logit": "logit"}
"""What the formulas call each family."""
_KEY = b"sha256 of the key"
LEAST_EPSILON, MOST_EPSILON = 0.001, 100.0
LEAST_PARTITIONS, MOST_PARTITIONS = 10, 500


@dataclass(frozen=True, eq=False)
class View:
    """The rows that a query is about.

    Examples
    --------
    >>> view = View.of(Table([], 3), ("ann", "bob"), np.array([0, 1, 0]), b"k" * 32)
    >>> places = view.partition(10)
    >>> bool(places[0] == places[2])
    True
    """

    table: Table
    """Codes of the public schema."""
    persons: npt.NDArray[np.int64]
    """A number of each person that depends on her name and the key alone, shape (persons,)."""
    owners: npt.NDArray[np.int64]
    """Place in ``persons`` of each row, shape (n,)."""
    key: bytes
    """Secret of this version of the data."""
    is_rehearsal: bool = False
    """Whether the rows are drawn by public facts, so that a job takes longest."""

    @classmethod
    def of(
        cls, table: Table, names: Sequence[str], owners: npt.NDArray[np.int64], key: bytes
    ) -> Self:
        """Return the view of rows whose persons have these names."""
        # 63 of the 256 bits: two of a million persons share a number once in ten million files
        numbers = [_keyed(key, b"person", name.encode()) >> 193 for name in names]
        return cls(table, np.array(numbers, dtype=np.int64), owners, key)

    @cached_property
    def numbers(self) -> npt.NDArray[np.int64]:
        """Number of each row's person, shape (n,)."""
        return self.persons[self.owners]

    def partition(self, m: int) -> npt.NDArray[np.int64]:
        """Return the partition of each row's person, 0..m-1, shape (n,)."""
        return self.numbers % m

    def one_row(self) -> View:
        """Return one row of each person, chosen by the key and by what the row holds.

        Rows in another order are the same choice, and the choice hangs on this person's rows alone.
        """
        return self.first_rows(1)

    def first_rows(self, k: int) -> View:
        """Return up to k rows of each person, chosen in the same way."""
        many = np.flatnonzero(np.bincount(self.owners, minlength=1)[self.owners] > k)
        if not len(many):
            return self
        numbers, contents = self.numbers[many].tolist(), self._contents(many)
        drawn = [
            _keyed(self.key, b"row", number.to_bytes(8, "big"), content)
            for number, content in zip(numbers, contents, strict=True)
        ]
        owners = self.owners[many]
        order = sorted(range(len(drawn)), key=lambda place: (owners[place], drawn[place]))
        starts = np.flatnonzero(np.diff(owners[order], prepend=-1))
        rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
        is_left = np.ones(len(self.owners), dtype=np.bool_)
        is_left[many[np.array(order)[rank >= k]]] = False
        return self.take(is_left)

    def take(self, rows: IntArray | BoolArray) -> View:
        """Return some rows."""
        return replace(self, table=self.table.take(rows), owners=self.owners[rows])

    def _contents(self, rows: IntArray) -> list[bytes]:
        """Return what some rows hold as bytes, whatever their place."""
        if not len(self.table):
            return [b""] * len(rows)
        parts = [
            np.ascontiguousarray(array[rows]).view(np.uint8).reshape(len(rows), -1)
            for column in self.table.columns
            for array in (column.data, column.missing_state())
        ]
        return [row.tobytes() for row in np.concatenate(parts, axis=1)]


def _keyed(key: bytes, *message: bytes) -> int:
    # lengths before the parts: no two messages are the same bytes
    joined = b"".join(len(part).to_bytes(8, "big") + part for part in message)
    return int.from_bytes(hmac.digest(key, joined, "sha256"), "big")


def view_of(path: Path, schema: PublicSchema, query: Terms, key: bytes) -> View:
    """Read a file and return what a query asks about; no cell of it is an error."""
    return within(read_view(path, schema, query.names, key), query)


def read_view(path: Path, schema: PublicSchema, names: Collection[str], key: bytes) -> View:
    """Read some variables of all rows of a file."""
    encoded = schema.encoded(schema.read(path), names)
    return View.of(encoded.table, encoded.persons, encoded.owners, key)


def within(view: View, query: Terms) -> View:
    """Return the rows of the subset of a query."""
    if query.subset is None:
        return view
    return view.take(Expression.parse(query.subset).condition(view.table))


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
        new_file(path, overwrite=True, parents=True) as work,
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


def prepared_view(path: Path, schema: PublicSchema, query: Terms, key: bytes) -> View:
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


class Question(BaseModel):
    """What is asked about the confidential data; ``measure`` of each subclass names it."""

    model_config = STRICT

    measure: str

    asks_of_model: ClassVar[bool] = True
    """Whether it is about a model, so that the query needs a formula."""
    reports_errors: ClassVar[bool] = False
    """Whether partitions that cannot be fitted may be a category of the answer."""

    @property
    def names(self) -> frozenset[str]:
        """Variables that it needs beside those of the formula and of the subset."""
        return frozenset()

    def canonical(self) -> Self:
        """Return the question in the one spelling of its texts and numbers: -0 is 0."""
        return self.model_copy(update={k: v + 0.0 for k, v in self if isinstance(v, float)})

    def problems(self, query: Terms, schema: PublicSchema) -> Iterator[str]:  # noqa: ARG002
        """Yield what is wrong, from public facts only, each with key and remedy.

        It is asked only where formula and subset are in order.
        """
        yield from ()

    @abstractmethod
    def prepare(self, query: Terms, schema: PublicSchema, synthetic: View) -> Any:
        """Return what a view of the synthetic data says; DataError costs nothing yet."""

    @abstractmethod
    def mechanisms(self, query: Terms, prepared: Any) -> tuple[Mechanism, ...]:
        """Return the noise of the answer; together it costs what the query offers or less."""

    @abstractmethod
    def whole_numbers(self, query: Terms, prepared: Any, view: View) -> Sequence[Sequence[int]]:
        """Return what a view of confidential data is asked for, a list for each mechanism.

        Nothing about the data raises: what cannot be computed has a value that was fixed before.
        """

    def release(self, query: Terms, prepared: Any, view: View, noise: Noise) -> Released:
        """Return what the noise makes of the whole numbers of a view of confidential data."""
        numbers = self.whole_numbers(query, prepared, view)
        return tuple(
            noise.draw(mechanism, values)
            for mechanism, values in zip(self.mechanisms(query, prepared), numbers, strict=True)
        )

    @abstractmethod
    def conclude(self, query: Terms, prepared: Any, released: Released) -> Answer:
        """Return the answer, from released numbers and what was prepared."""


class Terms(BaseModel):
    """A question with the model, the rows and the price that it is asked with."""

    model_config = ConfigDict(**STRICT, populate_by_name=True)

    formula: str | None = None
    """Model, in the grammar of `synthesizer.measures.utility.formulas`."""
    family: Literal["linear", "logit"] = "linear"
    subset: str | None = None
    """Condition on variables of the public schema; all rows where absent."""
    ask: Question
    """What is asked of it."""
    epsilon: float = Field(default=1.0, ge=LEAST_EPSILON, le=MOST_EPSILON)
    """What the answer may cost, all of it."""
    partitions: int = Field(default=50, ge=LEAST_PARTITIONS, le=MOST_PARTITIONS)
    """M: so many disjoint groups of persons have a fit of their own."""
    errors: Literal["out", "report"] = "out"
    """A partition without a fit counts as one that says no, or as a category of its own."""

    @property
    def micro_epsilon(self) -> int:
        """Epsilon in millionths."""
        return micro(self.epsilon)

    @property
    def names(self) -> frozenset[str]:
        """Every variable that it needs."""
        in_formula = parse_formula(self.formula).names if self.formula else ()
        in_subset = Expression.parse(self.subset).names if self.subset else ()
        return frozenset((*in_formula, *in_subset)) | self.ask.names

    def model(self, schema: PublicSchema) -> Model:
        """Return columns and reference levels of its model, from the public schema alone."""
        formula = parse_formula(self.formula or "")
        levels = {atom: known for atom in formula.atoms if (known := schema.levels(atom))}
        return model_of(formula, FAMILIES[self.family], levels)
