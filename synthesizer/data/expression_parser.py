"""Text of the expression language -> a checked syntax tree. Nothing is evaluated here.

The text is cut into tokens first. String literals and names in backticks become placeholders
of the same length (so that positions stay true) before ``ast.parse`` reads the rest; the tree
may hold only what the whitelist below names.
"""

from __future__ import annotations

import ast
import keyword
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from synthesizer.errors import ExpressionError

__all__ = ["MAX_DEPTH", "MAX_LENGTH", "parse_tree", "quote_name"]

MAX_LENGTH = 2_000
MAX_DEPTH = 100

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    | (?P<string>'(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*")
    | (?P<quoted>`[^`]+`)
    | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?!\w))
    | (?P<name>[^\W\d]\w*)
    | (?P<operator>\*\*|//|==|!=|<=|>=|[-+*/<>()\[\],]|%(?![%/]|in%))
    | (?P<wrong>&&?|\|\|?|%in%|%%|%/%|\^|=|!|\.|.)""",
    re.VERBOSE | re.DOTALL,
)
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
    ".": "write names that hold a dot in backticks, and missing(x) for is.na(x)",
    "'": "close the quotation mark",
    '"': "close the quotation mark",
    "`": "close the backtick",
}
_OPERATORS = (
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.USub, ast.UAdd,
    ast.Not, ast.And, ast.Or, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In,
    ast.NotIn, ast.Load,
)  # fmt: skip
_NODES = (
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.List, ast.Tuple,
    ast.Name, ast.Constant,
)  # fmt: skip


def quote_name(name: str) -> str:
    """Write a variable's name the way an expression needs it.

    Examples
    --------
    >>> quote_name("weight"), quote_name("Jul.93"), quote_name("class")
    ('weight', '`Jul.93`', '`class`')
    """
    plain = name.isascii() and name.isidentifier() and not keyword.iskeyword(name)
    return name if plain else f"`{name}`"


def parse_tree(text: str) -> ast.expr:
    """Parse ``text`` into a tree of whitelisted nodes.

    Names are `ast.Name` (backticks removed), literals are `ast.Constant` holding str, bool or a
    finite float.

    Raises
    ------
    ExpressionError
        With the position (counted from 1), what is wrong there, and the remedy.
    """
    if len(text) > MAX_LENGTH:
        raise ExpressionError(
            f"expression of {len(text)} characters is too long; the limit is {MAX_LENGTH}: "
            "split it into several derived variables or rules"
        )
    if not text.strip():
        raise ExpressionError("expression is empty; write for example 'weight / height ** 2'")
    return _Checker(text).tree()


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    at: int


class _Checker:
    """Reads one text; holds what messages and placeholders need."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.placeholders: dict[str, ast.Constant | ast.Name] = {}
        free = (chr(code) for code in range(0x4E00, 0x9000))
        self.free = (character for character in free if character not in text)

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
        return self.checked(root, 0)

    def sources(self) -> Iterator[str]:
        """Yield what stands for each token, of the same length as the token."""
        before = "space"
        for token in _tokens(self.text):
            operand = token.kind in ("string", "quoted", "number", "name")
            if operand and before in ("string", "quoted", "number", "name"):
                self.fail(token.at, "an operator or a space is missing here")
            before = token.kind
            yield self.source_of(token)

    def source_of(self, token: _Token) -> str:
        if token.kind == "wrong":
            self.refuse(token)
        if token.kind == "space":
            return " " * len(token.text)
        if token.kind == "string":
            value = re.sub(r"\\(['\"\\])", r"\1", token.text[1:-1])
            return self.placeholder(token, ast.Constant(value))
        if token.kind == "quoted":
            return self.placeholder(token, ast.Name(token.text[1:-1], ast.Load()))
        if token.kind == "name" and keyword.iskeyword(token.text) and token.text not in _WORDS:
            remedy = "write missing(x)" if token.text == "None" else f"write `{token.text}`"
            self.fail(token.at, f"{token.text!r} is a reserved word; {remedy}")
        return token.text

    def refuse(self, token: _Token) -> NoReturn:
        if token.text.isdigit():
            self.fail(token.at, "this is no number; write names that start with a digit in `...`")
        remedy = _REMEDIES.get(token.text, "remove it, or write the name in backticks")
        self.fail(token.at, f"{token.text!r} is not part of the language; {remedy}")

    def placeholder(self, token: _Token, node: ast.Constant | ast.Name) -> str:
        identifier = next(self.free) + "_" * (len(token.text) - 1)
        self.placeholders[identifier] = node
        return identifier

    def position(self, node: ast.AST) -> int:
        """Position of a node in characters; the tree counts bytes."""
        offset = getattr(node, "col_offset", 0)
        return len(self.source.encode()[:offset].decode(errors="ignore"))

    def checked(self, node: ast.expr, depth: int) -> ast.expr:
        """Return the node with placeholders resolved; refuse what is not on the whitelist."""
        if depth > MAX_DEPTH:
            self.fail(
                self.position(node),
                f"more than {MAX_DEPTH} operations nest here; split the expression into several",
            )
        if not isinstance(node, _NODES):
            self.fail(self.position(node), _unsupported(node))
        if isinstance(node, ast.Name):
            return self.name(node)
        if isinstance(node, ast.Constant):
            return self.number(node)
        if isinstance(node, ast.Call):
            return self.call(node, depth)
        return self.children(node, depth)

    def children(self, node: ast.expr, depth: int) -> ast.expr:
        for field, child in ast.iter_fields(node):
            if isinstance(child, list):
                setattr(node, field, [self.child(item, node, depth) for item in child])
            elif isinstance(child, ast.AST):
                setattr(node, field, self.child(child, node, depth))
        return node

    def child(self, child: ast.AST, parent: ast.expr, depth: int) -> ast.AST:
        if isinstance(child, ast.expr):
            return self.checked(child, depth + 1)
        if not isinstance(child, _OPERATORS):
            self.fail(self.position(parent), f"operator {type(child).__name__} is not supported")
        return child

    def name(self, node: ast.Name) -> ast.expr:
        found = self.placeholders.get(node.id)
        return node if found is None else ast.copy_location(found, node)

    def number(self, node: ast.Constant) -> ast.expr:
        if isinstance(node.value, bool):
            return node
        try:
            value = float(node.value)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            value = math.inf
        if not math.isfinite(value):
            self.fail(self.position(node), "the number is too large; the limit is about 1e308")
        return ast.copy_location(ast.Constant(value), node)

    def call(self, node: ast.Call, depth: int) -> ast.expr:
        if not isinstance(node.func, ast.Name) or node.func.id in self.placeholders:
            self.fail(self.position(node), "only functions can be called; an operator is missing")
        if node.keywords:
            self.fail(self.position(node), "arguments have no names; write them in order")
        node.args = [self.checked(argument, depth + 1) for argument in node.args]
        return node


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        yield _Token(str(match.lastgroup), match.group(), match.start())


def _unsupported(node: ast.expr) -> str:
    what = {
        "Subscript": "indexing is not part of the language; lists stand after 'in' only",
        "Starred": "'*' needs a value on both sides",
    }
    return what.get(
        type(node).__name__,
        f"{type(node).__name__} is not part of the language; use arithmetic, comparisons, "
        "and, or, not, in, 'a if condition else b' and the listed functions",
    )
