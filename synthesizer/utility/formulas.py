"""Formulas of models, ``pay ~ age + sex*region + I(age ** 2)``: read, never run.

============  ==================================================================================
``a + b``     both; the constant is always in the model (``y ~ 1`` holds nothing else)
``a:b``       their product: for categories the combinations of their levels
``a*b``       ``a + b + a:b``
``C(x)``      numbers as categories, one for each value
``I(...)``    a derived term in the expression language of `synthesizer.data.expressions`:
              numbers, conditions (1 or 0), or labels that are numbers, as in ``I(log(pay))``,
              ``I(age ** 2)``, ``I(region == 'north')``
names         as they are; in backticks where they are no plain words
============  ==================================================================================
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from synthesizer.data.expressions import Expression
from synthesizer.errors import ExpressionError

__all__ = ["Atom", "Formula", "parse_formula", "unknown_names"]

MAX_LENGTH = 5_000
MAX_STARS = 6
"""So many variables may be joined by ``*``: with more there are hundreds of interactions."""

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    | (?P<call>[^\W\d]\w*\s*\()
    | (?P<name>[^\W\d]\w*(?![\w.]) | `[^`]+`)
    | (?P<number>\d+(?![\w.]))
    | (?P<operator>[~+:]|\*(?!\*))
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


Term = tuple[Atom, ...]


@dataclass(frozen=True)
class Formula:
    """A response and the terms of its model, main effects first; the constant is not listed.

    Examples
    --------
    >>> formula = parse_formula("pay ~ age*sex + I(age ** 2)")
    >>> [":".join(map(str, term)) for term in formula.terms]
    ['age', 'sex', 'I(age ** 2)', 'age:sex']
    >>> formula.names
    ('pay', 'age', 'sex')
    """

    text: str
    response: Atom
    terms: tuple[Term, ...]

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """The response and everything on the right side, each once."""
        own = (atom for term in self.terms for atom in term)
        return tuple(dict.fromkeys((self.response, *own)))

    @property
    def names(self) -> tuple[str, ...]:
        """Variables that the formula mentions, each once."""
        return tuple(dict.fromkeys(name for atom in self.atoms for name in atom.names))


def parse_formula(text: str) -> Formula:
    """Read a formula.

    Raises
    ------
    ExpressionError
        With every problem, its position (counted from 1) and the remedy.
    """
    if not isinstance(text, str) or not text.strip():
        raise ExpressionError("the formula is empty; write for example 'pay ~ age + sex'")
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"the formula is longer than {MAX_LENGTH} characters: shorten it")
    return _Reader(text).formula()


def unknown_names(names: Iterable[str], known: Sequence[str]) -> Iterator[str]:
    """Yield a problem, with the nearest name, for each name that is not known."""
    for name in dict.fromkeys(names):
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            remedy = f"did you mean {close[0]!r}?" if close else "name a column of the data"
            yield f"unknown variable {name!r}; {remedy}"


@dataclass(frozen=True)
class _Token:
    """An atom, an operator or the constant ``1``."""

    value: Atom | str
    at: int


class _Reader:
    """Reads one text and gathers what is wrong with it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.problems: list[str] = []

    def note(self, at: int, what: str) -> None:
        shown = self.text if len(self.text) <= 80 else self.text[:77] + "..."
        self.problems.append(f"formula {shown!r}, position {at + 1}: {what}")

    def formula(self) -> Formula:
        tokens = list(self.tokens())
        sides = _split(tokens, "~")
        if self.problems:
            raise ExpressionError(self.problems)
        if len(sides) != 2:
            self.note(0, "write one '~' between the response and the terms, as in 'pay ~ age'")
            raise ExpressionError(self.problems)
        response = self.response(sides[0])
        terms = self.terms(sides[1], len(self.text))
        if response in {atom for term in terms for atom in term}:
            self.note(0, f"{response} is on both sides: remove it from the right one")
        if self.problems or response is None:
            raise ExpressionError(self.problems)
        return Formula(self.text.strip(), response, tuple(terms))

    def tokens(self) -> Iterator[_Token]:
        at = 0
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            if match is None:  # pragma: no cover - the last alternative takes any character
                break
            kind, found, start = match.lastgroup, match.group(), at
            at = match.end()
            if kind == "call":
                at = self.closing(at)
                yield from self.call(found[:-1].strip(), self.text[match.end() : at - 1], start)
            elif kind == "name":
                yield _Token(Atom("name", found.strip("`")), start)
            elif kind == "operator" or found == "1":
                yield _Token(found, start)
            elif kind != "space":
                self.wrong(found, start)

    def wrong(self, found: str, at: int) -> None:
        if found == "0":
            return self.note(at, "the constant cannot be left out: remove the 0")
        if found == "**":
            return self.note(at, "write powers in I(...), such as I(age ** 2)")
        default = "write names in backticks where they are no plain words, and numbers in I(...)"
        return self.note(at, f"{found!r} is not part of it; {_REMEDIES.get(found, default)}")

    def closing(self, at: int) -> int:
        """Return the position behind the parenthesis that closes the one before ``at``."""
        depth = 1
        for match in _SKIPPED.finditer(self.text, at):
            depth += {"(": 1, ")": -1}.get(match.group(), 0)
            if depth == 0:
                return match.end()
        self.note(at - 1, "close the parenthesis")
        return len(self.text) + 1

    def call(self, function: str, inner: str, at: int) -> Iterator[_Token]:
        inner = inner.strip()
        if function == "C":
            name = inner[1:-1] if re.fullmatch(r"`[^`]+`", inner) else inner
            if name != inner or re.fullmatch(r"[^\W\d]\w*", inner):
                yield _Token(Atom("C", name), at)
            else:
                self.note(at, "C(...) holds the name of one variable")
        elif function == "I":
            try:
                Expression.parse(inner)
                yield _Token(Atom("I", inner), at)
            except ExpressionError as error:
                for problem in error.problems:
                    self.note(at, f"in I(...): {problem}")
        else:
            self.note(at, f"{function}(...) stands inside I(...): write I({function}({inner}))")

    def response(self, tokens: list[_Token]) -> Atom | None:
        if len(tokens) == 1 and isinstance(tokens[0].value, Atom):
            return tokens[0].value
        self.note(0, "one variable, C(...) or I(...) stands before '~'")
        return None

    def terms(self, tokens: list[_Token], end: int) -> list[Term]:
        found: dict[frozenset[Atom], Term] = {}
        for summand in _split(tokens, "+"):
            if [token.value for token in summand] == ["1"]:
                continue
            for term in self.product(summand, summand[0].at if summand else end - 1):
                found.setdefault(frozenset(term), term)
        return sorted(found.values(), key=len)

    def product(self, tokens: list[_Token], at: int) -> list[Term]:
        """Return the terms of a summand: every choice of what ``*`` joins."""
        joined = [self.interaction(part, at) for part in _split(tokens, "*")]
        if len(joined) > MAX_STARS:
            self.note(at, f"more than {MAX_STARS} are joined by '*': write the terms out")
            return []
        sizes = range(1, len(joined) + 1)
        chosen = (choice for size in sizes for choice in combinations(joined, size))
        return [tuple(dict.fromkeys(a for part in own for a in part)) for own in chosen]

    def interaction(self, tokens: list[_Token], at: int) -> Term:
        parts = _split(tokens, ":")
        atoms = [part[0].value for part in parts if len(part) == 1]
        if len(atoms) < len(parts) or not all(isinstance(atom, Atom) for atom in atoms):
            where = tokens[0].at if tokens else at
            self.note(where, "a term is missing or not joined: put '+', ':' or '*' between two")
            return ()
        return tuple(atom for atom in atoms if isinstance(atom, Atom))


def _split(tokens: list[_Token], sign: str) -> list[list[_Token]]:
    """Return what stands between the signs."""
    parts: list[list[_Token]] = [[]]
    for token in tokens:
        if token.value == sign:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts
