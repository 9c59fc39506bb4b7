"""A small, safe expression language over tables: derived variables, rules, structural zeros.

==================  ============================================================================
names               ``age``; names that are no plain words stand in backticks: ```Jul.93```
literals            ``3``, ``0.5``, ``'label'``, ``True``, ``False``; dates are ``'2011-12-31'``
arithmetic          ``+ - * / // % **`` on numbers; date - date gives days, date + days a date
comparison          ``== != < <= > >=``, also chained (``15 <= age < 65``); ``in [..]``, ``not in``
conditions          ``and``, ``or``, ``not``; a variable of kind boolean is a condition itself
choice              ``a if condition else b``
functions           abs, round, floor, ceil, log, log10, exp, sqrt, min, max, missing, year, month,
                    day, and ``cut(x, [15, 65], ['child', 'adult', 'old'])``: interval j holds
                    ``break[j-1] <= x < break[j]``
==================  ============================================================================

Missing values. A missing number or date compares False with everything, also with ``!=``, and
makes arithmetic missing; ``missing(x)`` and ``missing(x, 'CODE')`` ask for it, and ``x == 'CODE'``
or ``x == -8`` (a declared code) mean the same. The missing codes of a coded variable are labels
like any other: ``MSP != 'A'`` is True where ``MSP`` is missing, and ``<`` is False there.

Coded variables. ``SEX == 1`` and ``SEX == '1'`` are the same. ``<`` goes by the order of the
levels of an ordered variable, and by number where every level spells a number.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from synthesizer.data.expression_comparisons import compare
from synthesizer.data.expression_functions import FUNCTIONS, Arguments, call
from synthesizer.data.expression_parser import parse_tree, quote_name
from synthesizer.data.expression_results import to_column
from synthesizer.data.expression_values import (
    UNKNOWN,
    Type,
    Value,
    arithmetic,
    as_numbers,
    defined,
    either,
    from_column,
    literal_value,
    truth,
)
from synthesizer.data.schema import Schema, Variable
from synthesizer.data.table import BoolArray, Column, Table
from synthesizer.errors import ExpressionError

__all__ = ["Expression", "quote_name"]

_SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">",
    ast.GtE: ">=",
}  # fmt: skip
_OTHER_WORDS = {"NA": "missing(x)", "TRUE": "True", "FALSE": "False", "true": "True",
                "false": "False", "null": "missing(x)"}  # fmt: skip


@dataclass(frozen=True)
class Expression:
    """A parsed expression; make it with `parse`.

    Parameters
    ----------
    text : str
        As it was written.
    names : frozenset of str
        Variables that it mentions.

    Examples
    --------
    >>> from synthesizer.data.schema import Kind
    >>> age = Variable(name="age", kind=Kind.NUMERIC, decimals=0)
    >>> table = Table([Column(age, np.array([12.0, 40.0]))])
    >>> Expression.parse("15 <= age < 65").condition(table).tolist()
    [False, True]
    >>> Expression.parse("2 * age + 1").derive(table, age).data.tolist()
    [25.0, 81.0]
    >>> Expression.parse("agee > 3").problems(table.schema, condition=True)
    ["unknown variable 'agee'; did you mean 'age'?"]
    """

    text: str
    names: frozenset[str]
    _tree: ast.expr = field(repr=False, compare=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a text; raises ExpressionError with the position and the remedy."""
        tree = parse_tree(text)
        names = frozenset(node.id for node in _variables(tree))
        return cls(text, names, tree)

    def __reduce__(self) -> tuple[Callable[[str], Expression], tuple[str]]:
        return type(self).parse, (self.text,)

    def problems(
        self, schema: Schema, *, condition: bool, target: Variable | None = None
    ) -> list[str]:
        """Say what is wrong with the expression for tables of ``schema``, without data.

        Parameters
        ----------
        schema : Schema
            Variables that the expression may use.
        condition : bool
            Whether it has to be a condition.
        target : Variable, optional
            The variable that the expression derives.
        """
        table = Table([_empty(variable) for variable in schema], 0)
        try:
            if condition:
                self.condition(table)
            elif target is not None:
                self.derive(table, target)
            else:
                self._value(table)
        except ExpressionError as error:
            return list(error.problems)
        return []

    def condition(self, table: Table) -> BoolArray:
        """Return where the condition holds, shape (n,)."""
        mask = truth(self._value(table))
        return np.broadcast_to(mask, table.n_rows).copy()

    def count(self, table: Table) -> int:
        """Count the rows where the condition holds."""
        return int(self.condition(table).sum())

    def derive(self, table: Table, variable: Variable) -> Column:
        """Return the value of each row as a column of ``variable``.

        Numbers are rounded to ``variable.decimals``. Where the result is undefined (a missing
        input, a division by zero, the logarithm of a negative number) it is the first missing
        code of ``variable``.

        Raises
        ------
        ExpressionError
            If types do not fit, a result is no level of ``variable``, or a result is undefined
            and ``variable`` has no missing code (with the number of rows).
        """
        return to_column(self._value(table), variable, table.n_rows)

    def _value(self, table: Table) -> Value:
        walker = _Evaluation(table)
        value = walker.visit(self._tree)
        if walker.problems:
            raise ExpressionError(dict.fromkeys(walker.problems))
        return value


def _variables(tree: ast.expr) -> list[ast.Name]:
    functions = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    return [node for node in nodes if id(node) not in functions]


def _empty(variable: Variable) -> Column:
    if variable.is_coded:
        return Column(variable, np.zeros(0, dtype=np.int32))
    states = np.zeros(0, dtype=np.int8) if variable.missing else None
    return Column(variable, np.zeros(0), states)


class _Evaluation:
    """Walks the tree once; a problem is noted and yields UNKNOWN, so that all are found."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.problems: list[str] = []

    def visit(self, node: ast.AST) -> Value:
        try:
            return _HANDLERS[type(node)](self, node)
        except ExpressionError as error:
            self.problems.extend(error.problems)
            return UNKNOWN

    def values(self, *nodes: ast.AST) -> list[Value]:
        """Evaluate all; if one is UNKNOWN stop silently, its problem is noted already."""
        values = [self.visit(node) for node in nodes]
        if any(value.type is Type.UNKNOWN for value in values):
            raise ExpressionError(())
        return values

    def name(self, node: ast.Name) -> Value:
        column = self.table.get(node.id)
        if column is None:
            raise ExpressionError(f"unknown variable {node.id!r}; {self.suggestion(node.id)}")
        return from_column(column)

    def suggestion(self, name: str) -> str:
        if name in _OTHER_WORDS:
            return f"write {_OTHER_WORDS[name]}"
        close = difflib.get_close_matches(name, self.table.names, n=1)
        if close:
            return f"did you mean {close[0]!r}?"
        return "labels stand in quotation marks, variables must be in the table"

    def constant(self, node: ast.Constant) -> Value:
        return literal_value(node.value)  # type: ignore[arg-type]

    def binary(self, node: ast.BinOp) -> Value:
        left, right = self.values(node.left, node.right)
        return arithmetic(_SYMBOLS[type(node.op)], left, right)

    def unary(self, node: ast.UnaryOp) -> Value:
        (value,) = self.values(node.operand)
        if isinstance(node.op, ast.Not):
            return Value(Type.CONDITION, ~truth(value))
        sign = -1.0 if isinstance(node.op, ast.USub) else 1.0
        if isinstance(value.literal, float):
            return literal_value(sign * value.literal)
        return Value(Type.NUMBER, defined(sign * as_numbers(value)))

    def logic(self, node: ast.BoolOp) -> Value:
        masks = [truth(value) for value in self.values(*node.values)]
        combine = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
        result = masks[0]
        for mask in masks[1:]:
            result = combine(result, mask)
        return Value(Type.CONDITION, result)

    def comparison(self, node: ast.Compare) -> Value:
        result: Any = True
        left = node.left
        for sign, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(sign, ast.In | ast.NotIn):
                part = self.membership(left, right, negated=isinstance(sign, ast.NotIn))
            else:
                part = compare(_SYMBOLS[type(sign)], *self.values(left, right))
            result, left = result & part, right
        return Value(Type.CONDITION, np.asarray(result))

    def membership(self, left: ast.AST, right: ast.AST, *, negated: bool) -> BoolArray:
        """``x in [a, b]`` is ``x == a or x == b``; ``not in`` is ``x != a and x != b``."""
        if not isinstance(right, ast.List | ast.Tuple) or not right.elts:
            raise ExpressionError("'in' needs a list on its right; write for example x in [1, 2]")
        value, *items = self.values(left, *right.elts)
        symbol, combine = ("!=", np.logical_and) if negated else ("==", np.logical_or)
        result = compare(symbol, value, items[0])
        for item in items[1:]:
            result = combine(result, compare(symbol, value, item))
        return result

    def choice(self, node: ast.IfExp) -> Value:
        condition, first, second = self.values(node.test, node.body, node.orelse)
        return either(truth(condition), first, second)

    def call(self, node: ast.Call) -> Value:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in FUNCTIONS:
            remedy = "lists are written [1, 2]" if name == "c" else f"use {', '.join(FUNCTIONS)}"
            raise ExpressionError(f"unknown function {name!r}; {remedy}")
        arguments: Arguments = [
            self.values(*item.elts) if isinstance(item, ast.List) else self.values(item)[0]
            for item in node.args
        ]
        return call(name, arguments)

    def sequence(self, node: ast.AST) -> Value:  # noqa: ARG002
        raise ExpressionError("a list stands only after 'in' or inside cut(); remove the brackets")


_HANDLERS: dict[type[ast.AST], Callable[[_Evaluation, Any], Value]] = {
    ast.Name: _Evaluation.name,
    ast.Constant: _Evaluation.constant,
    ast.BinOp: _Evaluation.binary,
    ast.UnaryOp: _Evaluation.unary,
    ast.BoolOp: _Evaluation.logic,
    ast.Compare: _Evaluation.comparison,
    ast.IfExp: _Evaluation.choice,
    ast.Call: _Evaluation.call,
    ast.List: _Evaluation.sequence,
    ast.Tuple: _Evaluation.sequence,
}
