"""Tables of codes, the form of all data between reading and writing.

Coded variables (categorical, ordered, boolean) are int32 codes into ``variable.labels``; numeric
variables and dates are float64 with a parallel int8 array of states for their missing codes.
Tables contain no strings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt


class Kind(StrEnum):
    """The kinds of variables."""

    CATEGORICAL = "categorical"
    ORDERED = "ordered"
    BOOLEAN = "boolean"
    NUMERIC = "numeric"
    DATE = "date"
    ID = "id"

    @property
    def is_coded(self) -> bool:
        """Whether columns of this kind contain level codes (otherwise numbers)."""
        return self in (Kind.CATEGORICAL, Kind.ORDERED, Kind.BOOLEAN)


@dataclass(frozen=True, kw_only=True)
class Variable:
    """One variable of a table.

    Examples
    --------
    >>> smoker = Variable(name="smoker", kind=Kind.CATEGORICAL, levels=("no", "yes"), missing=("",))
    >>> smoker.n_codes
    3
    >>> smoker.labels
    ('no', 'yes', '')
    """

    name: str
    kind: Kind
    """Kind of the values, which decides how they are stored and modelled."""
    levels: tuple[str, ...] = ()
    """Labels of a coded variable in code order, without missing codes."""
    missing: tuple[str, ...] = ()
    """Distinct missing codes as written in the source, such as ``""``, ``"N"`` or ``"-8"``."""
    decimals: int | None = None
    """Decimals of a numeric variable: 0 for integers, None without fixed precision."""
    storage: dict[str, Any] = field(default_factory=dict, compare=False, hash=False)
    """What writing needs beside the values (plain strings and numbers only)."""

    @property
    def is_coded(self) -> bool:
        """Whether columns of this variable contain level codes (otherwise numbers)."""
        return self.kind.is_coded

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of all codes of a coded variable: the levels, then the missing codes."""
        return self.levels + self.missing

    @property
    def n_codes(self) -> int:
        """Number of codes of a coded variable (levels and missing codes)."""
        return len(self.levels) + len(self.missing)

    def check(self) -> None:
        """Raise ValueError on impossible decimals, which only an altered file has."""
        if self.decimals is not None and not 0 <= self.decimals <= 15:
            raise ValueError("decimals must be 0 to 15")

    def observed(self) -> Variable:
        """Return the variable without its missing codes (the second stage of a numeric target)."""
        return replace(self, missing=())


@dataclass(frozen=True)
class Schema:
    """The variables of a table in column order."""

    variables: tuple[Variable, ...]

    def __post_init__(self) -> None:
        names = self.names
        if len(set(names)) != len(names):
            raise ValueError("names of variables must be distinct")

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(variable.name for variable in self.variables)

    def __getitem__(self, name: str) -> Variable:
        return {variable.name: variable for variable in self.variables}[name]

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[Variable]:
        return iter(self.variables)

    def __len__(self) -> int:
        return len(self.variables)


IntArray = npt.NDArray[np.integer]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.integer] | npt.NDArray[np.bool_] | slice


@dataclass(frozen=True, eq=False)
class Column:
    """The values of one variable, shape (n,).

    Examples
    --------
    >>> from synthesizer.data.table import Kind
    >>> income = Variable(name="income", kind=Kind.NUMERIC, missing=("-8",), decimals=0)
    >>> column = Column(income, np.array([900.0, np.nan]), np.array([0, 1], dtype=np.int8))
    >>> column.is_observed.tolist()
    [True, False]
    """

    variable: Variable
    data: npt.NDArray[np.int32] | npt.NDArray[np.float64]
    """int32 codes below variable.n_codes, or float64 (dates: days since 1970), NaN if missing."""
    states: npt.NDArray[np.int8] | None = None
    """Of numeric variables with missing codes: 0 where observed, k for code ``missing[k - 1]``."""

    @property
    def name(self) -> str:
        """Name of the variable."""
        return self.variable.name

    @property
    def is_coded(self) -> bool:
        """Whether ``data`` are codes."""
        return self.variable.is_coded

    @property
    def is_observed(self) -> BoolArray:
        """Which values are no missing codes, shape (n,)."""
        if self.is_coded:
            return np.asarray(self.data < len(self.variable.levels))
        if self.states is None:
            return np.ones(len(self.data), dtype=bool)
        return np.asarray(self.states == 0)

    def __len__(self) -> int:
        return len(self.data)

    def take(self, rows: Rows) -> Column:
        """Return the rows at integer positions, where a mask is true, or in a slice."""
        if isinstance(rows, np.ndarray) and rows.dtype.kind != "b":  # faster than an index
            states = None if self.states is None else self.states.take(rows)
            return Column(self.variable, self.data.take(rows), states)
        states = None if self.states is None else self.states[rows]
        return Column(self.variable, self.data[rows], states)

    def renamed(self, name: str) -> Column:
        """Return the column under another name."""
        return Column(replace(self.variable, name=name), self.data, self.states)

    def replaced(self, rows: Rows, other: Column) -> Column:
        """Return a copy with ``rows`` replaced by ``other`` (same variable)."""
        data = self.data.copy()
        data[rows] = other.data
        states = self.states
        if states is not None:
            states = states.copy()
            states[rows] = 0 if other.states is None else other.states
        return Column(self.variable, data, states)

    def equals(self, other: Column) -> bool:
        """Whether all values and missing codes are the same."""
        return np.array_equal(self.data, other.data, equal_nan=True) and np.array_equal(
            self.missing_state(), other.missing_state()
        )

    def missing_state(self) -> npt.NDArray[np.int8]:
        """Return 0 where observed and k for missing code k - 1, for every kind, shape (n,)."""
        if not self.is_coded:
            zeros = np.zeros(len(self), dtype=np.int8)
            return zeros if self.states is None else self.states
        state = self.data - len(self.variable.levels) + 1
        return np.maximum(state, 0).astype(np.int8)

    def check(self) -> None:
        """Raise ValueError if codes or states are out of range, as in an altered file."""
        name, shape = self.variable.name, self.data.shape
        codes = self.data if self.is_coded else self.states
        most = self.variable.n_codes - 1 if self.is_coded else len(self.variable.missing)
        if len(shape) != 1 or self.is_coded != (self.data.dtype.kind == "i"):
            raise ValueError(f"values of variable {name!r} must be a list of its type")
        if codes is not None and codes.shape != shape:
            raise ValueError(f"variable {name!r} must have a state for each value")
        if codes is not None and len(codes) and not 0 <= codes.min() <= codes.max() <= most:
            raise ValueError(f"codes of variable {name!r} are out of range")

    @staticmethod
    def zeros(variable: Variable, n: int) -> Column:
        """Return n zeros, or first labels, as placeholders."""
        if variable.is_coded:
            return Column(variable, np.zeros(n, dtype=np.int32))
        states = np.zeros(n, dtype=np.int8) if variable.missing else None
        return Column(variable, np.zeros(n), states)

    @staticmethod
    def concatenate(columns: Sequence[Column]) -> Column:
        """Return stacked columns of the same variable."""
        first = columns[0]
        states = None
        if first.states is not None:
            states = np.concatenate([c.missing_state() for c in columns])
        return Column(first.variable, np.concatenate([c.data for c in columns]), states)


Others = ParamSpec("Others")
Result = TypeVar("Result")


def once_a_column(
    function: Callable[Concatenate[Column, Others], Result],
) -> Callable[Concatenate[Column, Others], Result]:
    """Return a function that computes its result once for each column and further arguments.

    A column is a predictor of many variables. Results live as long as the column.
    """
    results: WeakKeyDictionary[Column, dict[Any, Result]] = WeakKeyDictionary()

    @wraps(function)
    def cached(column: Column, /, *others: Others.args, **named: Others.kwargs) -> Result:
        of_column = results.setdefault(column, {})
        key = (others, *named.items())
        if key not in of_column:
            of_column[key] = function(column, *others, **named)
        return of_column[key]

    return cached


class Table(Mapping[str, Column]):
    """Columns of equal length; immutable, operations return new tables that share arrays.

    Examples
    --------
    >>> from synthesizer.data.table import Kind
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> table = Table([Column(sex, np.array([0, 1, 1], dtype=np.int32))])
    >>> table.n_rows, table.names
    (3, ('sex',))
    """

    def __init__(self, columns: Iterable[Column], n_rows: int | None = None) -> None:
        self._columns = {column.name: column for column in columns}
        lengths = {len(column) for column in self._columns.values()}
        if n_rows is not None:
            lengths.add(n_rows)
        if len(lengths) != 1:
            raise ValueError(f"columns must have one length, got {sorted(lengths)}")
        self.n_rows = lengths.pop()

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(self._columns)

    @property
    def schema(self) -> Schema:
        """The variables in column order."""
        return Schema(tuple(column.variable for column in self.columns))

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns in order."""
        return tuple(self._columns.values())

    @property
    def n_units(self) -> int:
        """Number of sampling units: rows here, persons in a panel."""
        return self.n_rows

    @property
    def owners(self) -> IntArray | None:
        """Number of the person of each row, shape (n,); None where every row is a unit."""
        return None

    def take_units(self, units: IntArray) -> Table:
        """Return all rows of some units, at integer positions."""
        return self.take(units)

    def resampled(self, units: IntArray) -> Table:
        """Return units drawn with replacement, whose copies have one owner."""
        return OwnedRows(self.take(units).columns, units)

    @property
    def unit_table(self) -> Table:
        """Table with one row per unit."""
        return self

    @classmethod
    def _of(cls, columns: dict[str, Column], n_rows: int) -> Self:
        """Return a table of columns of equal length, unchecked."""
        table = cls.__new__(cls)
        table._columns, table.n_rows = columns, n_rows
        return table

    def _like(self, columns: dict[str, Column], rows: Rows | None = None) -> Any:
        """Return a table of this type with other columns of the same rows, or of some rows."""
        return Table._of(columns, self.n_rows if rows is None else _length(self.n_rows, rows))

    def select(self, names: Iterable[str]) -> Self:
        """Return the named columns in the given order."""
        return cast(Self, self._like({name: self._columns[name] for name in names}))

    def take(self, rows: Rows) -> Table:
        """Return the rows at integer positions, where a mask is true, or in a slice."""
        taken = {name: column.take(rows) for name, column in self._columns.items()}
        return cast(Table, self._like(taken, rows))

    def with_column(self, column: Column) -> Self:
        """Return the table with one column added or replaced."""
        return self.with_columns((column,))

    def with_columns(self, columns: Iterable[Column]) -> Self:
        """Return the table with some columns added or replaced."""
        added = {column.name: column for column in columns}
        lengths = {len(column) for column in added.values()} | {self.n_rows}
        if len(lengths) > 1:
            raise ValueError(f"columns must have one length, got {sorted(lengths)}")
        return cast(Self, self._like(self._columns | added))

    @staticmethod
    def concatenate(tables: Sequence[Table]) -> Table:
        """Return stacked tables with the same schema."""
        names = tables[0].names
        n_rows = sum(table.n_rows for table in tables)
        return Table((Column.concatenate([t[name] for t in tables]) for name in names), n_rows)


class OwnedRows(Table):
    """Rows, several of which may belong to one person: part of a panel, or a bootstrap sample."""

    def __init__(self, columns: Iterable[Column], owners: IntArray) -> None:
        super().__init__(columns, len(owners))
        self._owners = owners

    @property
    def owners(self) -> IntArray:
        """Number of the person of each row, shape (n,)."""
        return self._owners

    def _like(self, columns: dict[str, Column], rows: Rows | None = None) -> Table:
        return OwnedRows.of_rows(columns, self._owners if rows is None else self._owners[rows])

    @classmethod
    def of_rows(cls, columns: dict[str, Column], owners: IntArray) -> Self:
        """Return a table of columns, by name, of equal length, unchecked."""
        table = cls._of(columns, len(owners))
        table._owners = owners
        return table


def _length(n_rows: int, rows: Rows) -> int:
    """Return the number of selected rows."""
    if isinstance(rows, np.ndarray) and rows.dtype.kind != "b":
        return len(rows)
    return len(np.empty(n_rows, dtype=np.bool_)[rows])
