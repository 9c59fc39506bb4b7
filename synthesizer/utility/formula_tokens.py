"""The parts of a formula: variables, ``C(...)``, ``I(...)`` and the signs between them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from synthesizer.data.expressions import Expression
from synthesizer.errors import ExpressionError

__all__ = ["Atom", "Token", "Tokens", "split"]

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    | (?P<call>[^\W\d]\w*\s*\()
    | (?P<name>[^\W\d]\w*(?![\w.]) | `[^`]+`)
    | (?P<number>\d+(?![\w.]))
    | (?P<operator>[~+:|]|\*(?!\*))
    | (?P<wrong>\*\*|[^\W\d][\w.]*|.)""",
    re.VERBOSE | re.DOTALL,
)
_SKIPPED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|[()]")
_REMEDIES = {
    "-": "name only the terms that you want; the constant stays in the model",
    "(": "parentheses stand only in C(...) and I(...): write the terms out",
    ")": "parentheses stand only in C(...) and I(...): write the terms out",
    "/": "write quotients in I(...)",
    "^": "write powers in I(...), such as I(age ** 2)",
    "%": "write the terms out",
    "`": "close the backtick",
    "=": "write '~' between the response and the terms",
}


@dataclass(frozen=True)
class Atom:
    """A variable as it is, a variable as categories (``C``), or a derived term (``I``).

    Parameters
    ----------
    kind : str
        ``name``, ``C`` or ``I``.
    text : str
        Name of the variable, or the expression.
    """

    kind: Literal["name", "C", "I"]
    text: str

    def __str__(self) -> str:
        return self.text if self.kind == "name" else f"{self.kind}({self.text})"

    @property
    def names(self) -> tuple[str, ...]:
        """Variables that it mentions."""
        if self.kind == "I":
            return tuple(sorted(Expression.parse(self.text).names))
        return (self.text,)


@dataclass(frozen=True)
class Token:
    """An atom, an operator or the constant ``1``."""

    value: Atom | str
    at: int


class Tokens:
    """Cuts one text into tokens and gathers what is wrong with it in ``problems``.

    Examples
    --------
    >>> [str(token.value) for token in Tokens("pay ~ I(age ** 2)").tokens()]
    ['pay', '~', 'I(age ** 2)']
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.problems: list[str] = []

    def note(self, at: int, what: str) -> None:
        """Add a problem at a position, counted from 0."""
        shown = self.text if len(self.text) <= 80 else self.text[:77] + "..."
        self.problems.append(f"formula {shown!r}, position {at + 1}: {what}")

    def tokens(self) -> Iterator[Token]:
        """Yield the tokens, leaving out what is wrong."""
        at = 0
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            if match is None:  # pragma: no cover - the last alternative takes any character
                break
            kind, found, start = match.lastgroup, match.group(), at
            at = match.end()
            if kind == "call":
                at = self._closing(at)
                yield from self._call(found[:-1].strip(), self.text[match.end() : at - 1], start)
            elif kind == "name":
                yield Token(Atom("name", found.strip("`")), start)
            elif kind == "operator" or found == "1":
                yield Token(found, start)
            elif kind != "space":
                self._wrong(found, start)

    def _wrong(self, found: str, at: int) -> None:
        if found == "0":
            return self.note(at, "the constant cannot be left out: remove the 0")
        if found == "**":
            return self.note(at, "write powers in I(...), such as I(age ** 2)")
        default = "write names in backticks where they are no plain words, and numbers in I(...)"
        return self.note(at, f"{found!r} is not part of it; {_REMEDIES.get(found, default)}")

    def _closing(self, at: int) -> int:
        """Return the position behind the parenthesis that closes the one before ``at``."""
        depth = 1
        for match in _SKIPPED.finditer(self.text, at):
            depth += {"(": 1, ")": -1}.get(match.group(), 0)
            if depth == 0:
                return match.end()
        self.note(at - 1, "close the parenthesis")
        return len(self.text) + 1

    def _call(self, function: str, inner: str, at: int) -> Iterator[Token]:
        inner = inner.strip()
        if function == "C":
            name = inner[1:-1] if re.fullmatch(r"`[^`]+`", inner) else inner
            if name != inner or re.fullmatch(r"[^\W\d]\w*", inner):
                yield Token(Atom("C", name), at)
            else:
                self.note(at, "C(...) holds the name of one variable")
        elif function == "I":
            try:
                Expression.parse(inner)
                yield Token(Atom("I", inner), at)
            except ExpressionError as error:
                for problem in error.problems:
                    self.note(at, f"in I(...): {problem}")
        else:
            self.note(at, f"{function}(...) stands inside I(...): write I({function}({inner}))")


def split(tokens: list[Token], sign: str) -> list[list[Token]]:
    """Return what stands between the signs."""
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.value == sign:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts
