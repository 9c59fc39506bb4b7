"""What the parts of a formula are in a table: numbers, or codes of levels."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synthesizer.data.expressions import Expression
from synthesizer.data.schema import Kind, Variable
from synthesizer.data.table import BoolArray, Column, FloatArray, Table
from synthesizer.errors import ExpressionError
from synthesizer.utility.formulas import Atom

__all__ = ["AtomValues", "atom_values"]

_ASKS_FOR_MISSING = re.compile(r"\bmissing\s*\(")


@dataclass(frozen=True, eq=False)
class AtomValues:
    """The values of an atom: numbers (NaN where missing), or codes of labels (-1).

    Examples
    --------
    >>> age = Variable(name="age", kind=Kind.NUMERIC)
    >>> table = Table([Column(age, np.array([30.0, 70.0]))])
    >>> atom_values(Atom("I", "age > 60"), table).data.tolist()
    [0.0, 1.0]
    >>> atom_values(Atom("C", "age"), table).labels
    ('30', '70')
    """

    data: FloatArray | npt.NDArray[np.int64]
    labels: tuple[str, ...] | None = None

    @property
    def complete(self) -> BoolArray:
        """Where there is a value, shape (n,)."""
        return np.isfinite(self.data) if self.labels is None else np.asarray(self.data >= 0)


def atom_values(atom: Atom, table: Table) -> AtomValues:
    """Return an atom's values in a table; raises ExpressionError if it cannot have any."""
    if atom.kind == "I":
        return AtomValues(_derived(atom.text, table))
    column = table[atom.text]
    if column.variable.kind is Kind.ID:
        raise ExpressionError("it is an identifier: use another variable")
    if column.is_coded:
        codes = np.where(column.is_observed, column.data, -1).astype(np.int64)
        return AtomValues(codes, column.variable.levels)
    numbers = np.where(column.is_observed, column.data, np.nan).astype(np.float64)
    return AtomValues(numbers) if atom.kind == "name" else _categories(numbers, column)


def _derived(text: str, table: Table) -> FloatArray:
    """Return the numbers of an expression, NaN where one of its variables is missing.

    A comparison is False where a value is missing; a model must not take that for an answer,
    unless the expression itself asks for missing values.
    """
    expression = Expression.parse(text)
    number = Variable(name=text, kind=Kind.NUMERIC, missing=("",))
    column = expression.derive(table, number)
    known = column.is_observed
    if not _ASKS_FOR_MISSING.search(text):
        for name in expression.names:
            known = known & table[name].is_observed
    return np.where(known, column.data, np.nan).astype(np.float64)


def _categories(numbers: FloatArray, column: Column) -> AtomValues:
    """Return numbers or dates as codes of their distinct values."""
    finite = np.isfinite(numbers)
    distinct, inverse = np.unique(numbers[finite], return_inverse=True)
    codes = np.full(len(numbers), -1, dtype=np.int64)
    codes[finite] = inverse
    if column.variable.kind is Kind.DATE:
        return AtomValues(codes, tuple(str(np.datetime64(int(day), "D")) for day in distinct))
    return AtomValues(codes, tuple(str(value).removesuffix(".0") for value in distinct.tolist()))
