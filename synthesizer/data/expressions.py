"""A small, safe expression language over tables: derived variables, rules, structural zeros.

==================  ============================================================================
names               ``age``; write names that are no plain words in backticks: ```Jul.93```
literals            ``3``, ``0.5``, ``'label'``, ``True``, ``False``; dates are ``'2011-12-31'``
arithmetic          ``+ - * / // % **`` on numbers; date - date gives days, date + days a date
comparison          ``== != < <= > >=``, also chained (``15 <= age < 65``); ``in [..]``, ``not in``
conditions          ``and``, ``or``, ``not``; a variable of kind boolean is a condition itself
choice              ``a if condition else b``
functions           abs, round, floor, ceil, log, log10, exp, sqrt, min, max, missing, year, month,
                    day, and ``cut(x, [15, 65], ['child', 'adult', 'old'])``: interval j holds
                    ``break[j-1] <= x < break[j]``
==================  ============================================================================

Missing values. A comparison with a missing number or date is False, also ``!=``, and arithmetic
with it is missing. ``missing(x)`` and ``missing(x, 'CODE')`` test for it, and so do ``x == 'CODE'``
and ``x == -8`` (a declared code). The missing codes of a coded variable are labels like any other:
``MSP != 'A'`` is True where ``MSP`` is missing, and ``<`` is False there.

Coded variables. ``SEX == 1`` and ``SEX == '1'`` are the same. ``<`` uses the order of the levels of
an ordered variable, and the numbers if every level is a number.
"""

from __future__ import annotations

import ast
import copy
import functools
import keyword
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, Self

import numpy as np

from synthesizer.data.codec import as_text
from synthesizer.data.errors import ExpressionError, did_you_mean
from synthesizer.data.expression_values import (
    FUNCTIONS,
    UNKNOWN,
    Arguments,
    Type,
    Value,
    arithmetic,
    as_numbers,
    call,
    compare,
    defined,
    either,
    from_column,
    literal_value,
    to_column,
    truth,
)
from synthesizer.data.table import BoolArray, Column, Schema, Table, Variable

MAX_LENGTH = 2_000
MAX_DEPTH = 100

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    | (?P<string>'(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*")
    | (?P<quoted>`[^`]+`)
    | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?!\w))
    | (?P<name>[^\W\d]\w*)
    | (?P<operator>\*\*|//|==|!=|<=|>=|[-+*/()\[\],]|<(?!<)|>(?!>)|%(?![%/]|in%))
    | (?P<wrong><<|>>|&&?|\|\|?|%in%|%%|%/%|\^|=|!|\.|.)""",
    re.VERBOSE | re.DOTALL,
)
_OPERANDS = frozenset({"string", "quoted", "number", "name"})
_WORDS = frozenset({"and", "or", "not", "in", "if", "else", "True", "False"})
_REMEDIES = {
    "&": "write 'and'",
    "&&": "write 'and'",
    "|": "write 'or'",
    "||": "write 'or'",
    "!": "write 'not'",
    "=": "write '==' to compare",
    "^": "write '**' for a power",
    "%in%": "write 'in [...]'",
    "%%": "write '%' for the remainder",
    "%/%": "write '//' for whole division",
    ".": "write names with a dot in backticks, and missing(x) for is.na(x)",
    "'": "close the quotation mark",
    '"': "close the quotation mark",
    "`": "close the backtick",
}
_NODES = (
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.List, ast.Tuple,
    ast.Name, ast.Constant,
)  # fmt: skip


def quote_name(name: str) -> str:
    """Return a variable's name as an expression needs it.

    Examples
    --------
    >>> quote_name("weight"), quote_name("Jul.93"), quote_name("class")
    ('weight', '`Jul.93`', '`class`')
    """
    plain = name.isascii() and name.isidentifier() and not keyword.iskeyword(name)
    return name if plain else f"`{name}`"


def parse_tree(text: str) -> ast.expr:
    """Return the tree of ``text``, with whitelisted nodes only.

    Names are `ast.Name` (without backticks), literals are `ast.Constant` with a str, a bool or a
    finite float.
    """
    if len(text) > MAX_LENGTH:
        raise ExpressionError(
            f"expression of {len(text)} characters is too long; the limit is {MAX_LENGTH}: "
            "split it into several derived variables or rules"
        )
    if not text.strip():
        raise ExpressionError("expression is empty; write for example 'weight / height ** 2'")
    return _Checker(text).tree()


class _Checker(ast.NodeTransformer):
    """Checker of one text, with what messages and placeholders need."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.placeholders: dict[str, ast.Constant | ast.Name] = {}
        free = (chr(code) for code in range(0x4E00, 0x9000))
        self.free = (character for character in free if character not in text)
        self.depth = 0

    def fail(self, at: int, what: str) -> NoReturn:
        shown = self.text if len(self.text) <= 80 else self.text[:77] + "..."
        raise ExpressionError(f"expression {shown!r}, position {at + 1}: {what}")

    def tree(self) -> ast.expr:
        self.source = "".join(self.sources())
        try:
            root = ast.parse(self.source, mode="eval").body
        except SyntaxError as error:
            at = min(max((error.offset or 1) - 1, 0), len(self.text) - 1)
            self.fail(at, f"cannot be read ({error.msg}); check operators and parentheses")
        except (ValueError, MemoryError, RecursionError):
            self.fail(0, "is nested too deeply; split it into several derived variables or rules")
        checked: ast.expr = self.visit(root)
        return checked

    def sources(self) -> Iterator[str]:
        """Yield a replacement of the same length for each token."""
        before = "space"
        for token in _TOKEN.finditer(self.text):
            if token.lastgroup in _OPERANDS and before in _OPERANDS:
                self.fail(token.start(), "an operator or a space is missing here")
            before = str(token.lastgroup)
            yield self.source_of(token)

    def source_of(self, token: re.Match[str]) -> str:
        kind, text = token.lastgroup, token.group()
        if kind == "wrong":
            self.refuse(token)
        if kind == "space":
            return " " * len(text)
        if kind == "string":
            return self.placeholder(text, ast.Constant(re.sub(r"\\(['\"\\])", r"\1", text[1:-1])))
        if kind == "quoted":
            return self.placeholder(text, ast.Name(text[1:-1], ast.Load()))
        if kind == "name" and keyword.iskeyword(text) and text not in _WORDS:
            remedy = "write missing(x)" if text == "None" else f"write `{text}`"
            self.fail(token.start(), f"{text!r} is a reserved word; {remedy}")
        return text

    def refuse(self, token: re.Match[str]) -> NoReturn:
        at, text = token.start(), token.group()
        if text.isdigit():
            self.fail(at, "this is not a number; write names that start with a digit in `...`")
        remedy = _REMEDIES.get(text, "remove it, or write the name in backticks")
        self.fail(at, f"{text!r} is not part of the language; {remedy}")

    def placeholder(self, text: str, node: ast.Constant | ast.Name) -> str:
        identifier = next(self.free) + "_" * (len(text) - 1)
        self.placeholders[identifier] = node
        return identifier

    def position(self, node: ast.AST) -> int:
        """Return the position of a node in characters; the tree counts bytes."""
        offset = getattr(node, "col_offset", 0)
        return len(self.source.encode()[:offset].decode(errors="ignore"))

    def visit(self, node: ast.AST) -> Any:
        """Return the node with placeholders resolved; refuse nodes outside the whitelist."""
        if not isinstance(node, ast.expr):  # an operator that was read
            return node
        if self.depth > MAX_DEPTH:
            self.fail(
                self.position(node),
                f"more than {MAX_DEPTH} operations nest here; split the expression into several",
            )
        if not isinstance(node, _NODES):
            self.fail(self.position(node), _unsupported(node))
        self.depth += 1
        checked = super().visit(node)
        self.depth -= 1
        return checked

    def visit_Name(self, node: ast.Name) -> ast.expr:
        replacement = self.placeholders.get(node.id)
        return node if replacement is None else ast.copy_location(replacement, node)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if isinstance(node.value, bool):
            return node
        try:
            value = float(node.value)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            value = math.inf
        if not math.isfinite(value):
            self.fail(self.position(node), "the number is too large; the limit is about 1e308")
        return ast.copy_location(ast.Constant(value), node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if not isinstance(node.func, ast.Name) or node.func.id in self.placeholders:
            self.fail(self.position(node), "only functions can be called; an operator is missing")
        if node.keywords:
            self.fail(self.position(node), "arguments have no names; write them in order")
        node.args = [self.visit(argument) for argument in node.args]
        return node


def _unsupported(node: ast.expr) -> str:
    reasons = {
        "Subscript": "indexing is not part of the language; write lists only after 'in'",
        "Starred": "'*' needs a value on both sides",
    }
    return reasons.get(
        type(node).__name__,
        f"{type(node).__name__} is not part of the language; use arithmetic, comparisons, "
        "and, or, not, in, 'a if condition else b' and the listed functions",
    )


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

    Examples
    --------
    >>> from synthesizer.data.table import Kind
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
    """Variables in the text."""
    _tree: ast.expr = field(repr=False, compare=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the expression of a text; raise ExpressionError with position and remedy."""
        tree = parse_tree(text)
        nodes = [*ast.walk(tree)]
        functions = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        names = [node for node in nodes if isinstance(node, ast.Name) and id(node) not in functions]
        return cls(text, frozenset(node.id for node in names), tree)

    @property
    def canonical(self) -> str:
        """The common text of all spellings of spaces, parentheses, quotes, numbers and lists.

        It means the same. Operands of ``and`` and ``or`` are sorted.

        Examples
        --------
        >>> Expression.parse("(x>0.50) and `a` in (2,1)").canonical
        'a in [1, 2] and x > 0.5'
        """
        return _spelt(self._tree)

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The conditions that ``and`` joins, or the expression itself.

        Examples
        --------
        >>> [part.text for part in Expression.parse("sex == 'f' and age>80").parts]
        ["sex == 'f'", 'age > 80']
        """
        nodes = _joined_by(self._tree, ast.And())
        return tuple(Expression.parse(_spelt(node)) for node in nodes) or (self,)

    @property
    def inequalities(self) -> tuple[tuple[str, str, str], ...]:
        """Names and signs of ``a <= b <= c``, pair by pair; empty for other expressions.

        Examples
        --------
        >>> Expression.parse("a <= b < c").inequalities, Expression.parse("a <= 3").inequalities
        ((('a', '<=', 'b'), ('b', '<', 'c')), ())
        """
        tree = self._tree
        if not isinstance(tree, ast.Compare):
            return ()
        names = [node.id for node in (tree.left, *tree.comparators) if isinstance(node, ast.Name)]
        signs = [_SYMBOLS.get(type(sign), "") for sign in tree.ops]
        if len(names) <= len(signs) or not set(signs) <= {"<", "<=", ">", ">="}:
            return ()
        return tuple(zip(names[:-1], signs, names[1:], strict=True))

    def renamed(self, texts: Mapping[str, str]) -> Expression:
        """Return the expression with some variables replaced by texts.

        Examples
        --------
        >>> Expression.parse("age > 15 or sex == 'age'").renamed({"age": "`head.age`"}).text
        "`head.age` > 15 or sex == 'age'"
        """
        parts = []
        for token in _TOKEN.finditer(self.text):
            name = token.group().strip("`") if token.lastgroup in ("name", "quoted") else ""
            is_call = token.lastgroup == "name" and self.text[token.end() :].lstrip()[:1] == "("
            known = name in self.names and not is_call
            parts.append(texts.get(name, token.group()) if known else token.group())
        return Expression.parse("".join(parts))

    def __reduce__(self) -> tuple[Callable[[str], Expression], tuple[str]]:
        return type(self).parse, (self.text,)

    def problems(
        self,
        schema: Schema,
        *,
        condition: bool,
        target: Variable | None = None,
        absent: Collection[str] = (),
    ) -> list[str]:
        """Return the problems as a condition, or as the derivation of ``target``, without data.

        ``absent`` are variables whose absence is already reported.
        """
        table = Table([Column.zeros(variable, 0) for variable in schema], 0)
        try:
            value = self._value(table, absent)
            if value.type is Type.UNKNOWN:
                return []
            if condition:
                truth(value)
            elif target is not None:
                to_column(value, target, 0)
        except ExpressionError as error:
            return list(error.problems)
        return []

    def condition(self, table: Table) -> BoolArray:
        """Return where the condition holds, shape (n,)."""
        mask = truth(self._value(table))
        return np.broadcast_to(mask, table.n_rows).copy()

    def count(self, table: Table) -> int:
        """Return the number of rows where the condition holds."""
        return int(self.condition(table).sum())

    def derive(self, table: Table, variable: Variable) -> Column:
        """Return the value of each row as a column of ``variable``.

        Numbers are rounded to ``variable.decimals``. An undefined result (a missing input, a
        division by zero, the logarithm of a negative number) becomes the first missing code of
        ``variable``.
        """
        return to_column(self._value(table), variable, table.n_rows)

    def _value(self, table: Table, absent: Collection[str] = ()) -> Value:
        walker = _Evaluation(table, absent)
        value = walker.visit(self._tree)
        if walker.problems:
            raise ExpressionError(dict.fromkeys(walker.problems))
        return value


as_text(Expression, lambda expression: expression.text, Expression.parse)


def _spelt(tree: ast.expr) -> str:
    return ast.unparse(_Speller().visit(copy.deepcopy(tree)))


class _Speller(ast.NodeTransformer):
    """Transformer to a tree that `ast.unparse` writes alike for all spellings."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Name(quote_name(node.id), node.ctx)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        value = node.value
        if isinstance(value, str):  # written as it is: the language knows three escapes only
            escaped = re.sub(r"(['\\])", r"\\\1", value)
            return ast.Name(f"'{escaped}'", ast.Load())
        is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
        return ast.Constant(int(value)) if is_whole else node  # type: ignore[arg-type]

    def visit_Tuple(self, node: ast.Tuple) -> ast.expr:
        return self.visit(ast.List(node.elts, node.ctx))  # type: ignore[no-any-return]

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        parts = _in_order(part for one in node.values for part in _joined_by(one, node.op) or [one])
        return ast.BoolOp(node.op, parts * 2 if len(parts) == 1 else parts)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        for sign, rhs in zip(node.ops, node.comparators, strict=True):
            if isinstance(sign, ast.In | ast.NotIn) and isinstance(rhs, ast.List):
                rhs.elts = _in_order(rhs.elts)
        return node


def _joined_by(node: ast.expr, joint: ast.boolop) -> list[ast.expr]:
    is_alike = isinstance(node, ast.BoolOp) and type(node.op) is type(joint)
    return node.values if is_alike else []  # type: ignore[attr-defined]


def _in_order(nodes: Iterable[ast.expr]) -> list[ast.expr]:
    """Return the distinct nodes, sorted by their texts."""
    distinct = {ast.unparse(node): node for node in nodes}
    return [distinct[text] for text in sorted(distinct)]


class _Evaluation(ast.NodeVisitor):
    """Evaluation of the tree; a problem is recorded and gives UNKNOWN, so that all are found."""

    def __init__(self, table: Table, absent: Collection[str]) -> None:
        self.table, self.absent = table, absent
        self.problems: list[str] = []

    def visit(self, node: ast.AST) -> Value:
        try:
            value: Value = super().visit(node)
            return value
        except ExpressionError as error:
            self.problems.extend(error.problems)
            return UNKNOWN

    def values(self, *nodes: ast.AST) -> list[Value]:
        """Return the values of all nodes; stop if one is UNKNOWN, whose problem is recorded."""
        values = [self.visit(node) for node in nodes]
        if any(value.type is Type.UNKNOWN for value in values):
            raise ExpressionError(())
        return values

    def visit_Name(self, node: ast.Name) -> Value:
        column = self.table.get(node.id)
        if node.id in self.absent:
            raise ExpressionError(())
        if column is None:
            raise ExpressionError(f"unknown variable {node.id!r}; {self.suggestion(node.id)}")
        return from_column(column)

    def suggestion(self, name: str) -> str:
        if name in _OTHER_WORDS:
            return f"write {_OTHER_WORDS[name]}"
        otherwise = "write labels in quotation marks, and only variables of the table"
        return did_you_mean(name, self.table.names, otherwise)

    def visit_Constant(self, node: ast.Constant) -> Value:
        return literal_value(node.value)  # type: ignore[arg-type]

    def visit_BinOp(self, node: ast.BinOp) -> Value:
        lhs, rhs = self.values(node.left, node.right)
        return arithmetic(_SYMBOLS[type(node.op)], lhs, rhs)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Value:
        (value,) = self.values(node.operand)
        if isinstance(node.op, ast.Not):
            return Value(Type.CONDITION, ~truth(value))
        sign = -1.0 if isinstance(node.op, ast.USub) else 1.0
        if isinstance(value.literal, float):
            return literal_value(sign * value.literal)
        return Value(Type.NUMBER, defined(sign * as_numbers(value)))

    def visit_BoolOp(self, node: ast.BoolOp) -> Value:
        masks = [truth(value) for value in self.values(*node.values)]
        combine = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
        return Value(Type.CONDITION, functools.reduce(combine, masks))

    def visit_Compare(self, node: ast.Compare) -> Value:
        result: Any = True
        lhs = node.left
        for sign, rhs in zip(node.ops, node.comparators, strict=True):
            if isinstance(sign, ast.In | ast.NotIn):
                pairwise = self.membership(lhs, rhs, negated=isinstance(sign, ast.NotIn))
            else:
                pairwise = compare(_SYMBOLS[type(sign)], *self.values(lhs, rhs))
            result, lhs = result & pairwise, rhs
        return Value(Type.CONDITION, np.asarray(result))

    def membership(self, lhs: ast.AST, rhs: ast.AST, *, negated: bool) -> BoolArray:
        """``x in [a, b]`` is ``x == a or x == b``; ``not in`` is ``x != a and x != b``."""
        if not isinstance(rhs, ast.List | ast.Tuple) or not rhs.elts:
            raise ExpressionError("'in' needs a list; write for example x in [1, 2]")
        value, *items = self.values(lhs, *rhs.elts)
        symbol, combine = ("!=", np.logical_and) if negated else ("==", np.logical_or)
        return functools.reduce(combine, (compare(symbol, value, item) for item in items))

    def visit_IfExp(self, node: ast.IfExp) -> Value:
        condition, first, second = self.values(node.test, node.body, node.orelse)
        return either(truth(condition), first, second)

    def visit_Call(self, node: ast.Call) -> Value:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in FUNCTIONS:
            remedy = "lists are written [1, 2]" if name == "c" else f"use {', '.join(FUNCTIONS)}"
            raise ExpressionError(f"unknown function {name!r}; {remedy}")
        arguments: Arguments = [
            self.values(*item.elts) if isinstance(item, ast.List) else self.values(item)[0]
            for item in node.args
        ]
        return call(name, arguments)

    def visit_List(self, node: ast.AST) -> Value:  # noqa: ARG002
        raise ExpressionError("a list is allowed only after 'in' or in cut(); remove the brackets")

    visit_Tuple = visit_List  # noqa: N815
