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
``| f + g``   at the end: fixed effects, variables of many levels whose own constants are fitted
              but not shown (``pay ~ age | agency + year``)
============  ==================================================================================
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from synthesizer.errors import ExpressionError
from synthesizer.utility.formula_tokens import Atom, Token, Tokens, split

__all__ = ["Atom", "Formula", "parse_atom", "parse_formula", "unknown_names"]

MAX_LENGTH = 5_000
MAX_STARS = 6
"""So many variables may be joined by ``*``: with more there are hundreds of interactions."""

Term = tuple[Atom, ...]


@dataclass(frozen=True)
class Formula:
    """A response and the terms of its model, main effects first; the constant is not listed.

    Examples
    --------
    >>> formula = parse_formula("pay ~ age*sex + I(age ** 2) | agency + year")
    >>> [":".join(map(str, term)) for term in formula.terms]
    ['age', 'sex', 'I(age ** 2)', 'age:sex']
    >>> formula.names
    ('pay', 'age', 'sex', 'agency', 'year')
    >>> formula.effects
    ('agency', 'year')
    """

    text: str
    response: Atom
    terms: tuple[Term, ...]
    effects: tuple[str, ...] = ()

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """The response and everything in the terms, each once."""
        own = (atom for term in self.terms for atom in term)
        return tuple(dict.fromkeys((self.response, *own)))

    @property
    def names(self) -> tuple[str, ...]:
        """Variables that the formula mentions, each once."""
        return tuple(dict.fromkeys((*self.term_names, *self.effects)))

    @property
    def term_names(self) -> tuple[str, ...]:
        """Variables of the response and the terms, each once."""
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


def parse_atom(text: str, what: str) -> Atom:
    """Read one variable, ``C(...)`` or ``I(...)``; ``what`` names it in messages.

    Raises
    ------
    ExpressionError
        With every problem and the remedy.

    Examples
    --------
    >>> parse_atom("I(log(hours))", "offset").names
    ('hours',)
    """
    reader = _Reader(text)
    tokens = list(reader.tokens())
    if not reader.problems and len(tokens) == 1 and isinstance(tokens[0].value, Atom):
        return tokens[0].value
    # The reader's words are about formulas: only what is inside I(...) is told from there.
    inner = [problem.partition("in I(...): ")[2] for problem in reader.problems]
    raise ExpressionError(
        [f"{what}: {problem}" for problem in inner if problem]
        or [f"{what} ({text!r}) must be a variable or I(...), such as 'I(log(hours))'"]
    )


def unknown_names(names: Iterable[str], known: Sequence[str]) -> Iterator[str]:
    """Yield a problem, with the nearest name, for each name that is not known."""
    for name in dict.fromkeys(names):
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            remedy = f"did you mean {close[0]!r}?" if close else "name a column of the data"
            yield f"unknown variable {name!r}; {remedy}"


class _Reader(Tokens):
    """Reads one formula and gathers what is wrong with it."""

    def formula(self) -> Formula:
        tokens = list(self.tokens())
        sides = split(tokens, "~")
        if self.problems:
            raise ExpressionError(self.problems)
        if len(sides) != 2:
            self.note(0, "write one '~' between the response and the terms, as in 'pay ~ age'")
            raise ExpressionError(self.problems)
        right = split(sides[1], "|")
        if len(right) > 2:
            self.note(
                0, "write one '|' before all fixed effects, as in 'pay ~ age | agency + year'"
            )
        response = self.response(sides[0])
        terms = self.terms(right[0], len(self.text))
        effects = tuple(self.effects(right[1])) if len(right) > 1 else ()
        if response in {atom for term in terms for atom in term}:
            self.note(0, f"{response} is on both sides: remove it from the right one")
        self.check_effects(response, terms, effects)
        if self.problems or response is None:
            raise ExpressionError(self.problems)
        return Formula(self.text.strip(), response, tuple(terms), effects)

    def response(self, tokens: list[Token]) -> Atom | None:
        if len(tokens) == 1 and isinstance(tokens[0].value, Atom):
            return tokens[0].value
        self.note(0, "one variable, C(...) or I(...) stands before '~'")
        return None

    def terms(self, tokens: list[Token], end: int) -> list[Term]:
        found: dict[frozenset[Atom], Term] = {}
        for summand in split(tokens, "+"):
            if [token.value for token in summand] == ["1"]:
                continue
            for term in self.product(summand, summand[0].at if summand else end - 1):
                found.setdefault(frozenset(term), term)
        return sorted(found.values(), key=len)

    def effects(self, tokens: list[Token]) -> Iterator[str]:
        """Yield the variables behind '|', each once; ``C(x)`` is the same as ``x``."""
        seen = set()
        for summand in split(tokens, "+"):
            atom = summand[0].value if len(summand) == 1 else None
            if not isinstance(atom, Atom) or atom.kind == "I":
                where = summand[0].at if summand else len(self.text) - 1
                self.note(where, "behind '|' stand names of variables, joined by '+'")
            elif atom.text not in seen:
                seen.add(atom.text)
                yield atom.text

    def check_effects(
        self, response: Atom | None, terms: list[Term], effects: tuple[str, ...]
    ) -> None:
        if effects and not terms:
            self.note(
                0, "a model with fixed effects needs a term before '|', as in 'pay ~ age | f'"
            )
        own = [atom for atom in (response, *(term[0] for term in terms if len(term) == 1)) if atom]
        for atom in own:
            if atom.kind != "I" and atom.text in effects:
                self.note(0, f"{atom} is a fixed effect too: leave it in one place")

    def product(self, tokens: list[Token], at: int) -> list[Term]:
        """Return the terms of a summand: every choice of what ``*`` joins."""
        joined = [self.interaction(part, at) for part in split(tokens, "*")]
        if len(joined) > MAX_STARS:
            self.note(at, f"more than {MAX_STARS} are joined by '*': write the terms out")
            return []
        sizes = range(1, len(joined) + 1)
        chosen = (choice for size in sizes for choice in combinations(joined, size))
        return [tuple(dict.fromkeys(a for part in own for a in part)) for own in chosen]

    def interaction(self, tokens: list[Token], at: int) -> Term:
        parts = split(tokens, ":")
        atoms = [part[0].value for part in parts if len(part) == 1]
        if len(atoms) < len(parts) or not all(isinstance(atom, Atom) for atom in atoms):
            where = tokens[0].at if tokens else at
            self.note(where, "a term is missing or not joined: put '+', ':' or '*' between two")
            return ()
        return tuple(atom for atom in atoms if isinstance(atom, Atom))
